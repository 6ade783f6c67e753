//! What happens to answers when the disk, another process or a damaged file is in the way.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is missing"
)]

use std::path::Path;
use std::process::{Command, Output};

use flipside::store::label_schema::SCHEMA;
use flipside::store::sqlite;

mod support;

use support::pty::Pty;
use support::workspace::{NOW, Workspace, stderr, stdout};

const DATABASE: &str = "sessions/labels/ada.db";

fn acknowledged(text: &str) -> Vec<u64> {
    text.lines()
        .filter_map(|line| line.strip_prefix("saved ")?.split(' ').next()?.parse().ok())
        .collect()
}

/// `sh` with a script; the program is `$F`, the workspace `$W`, `script.txt` holds many answers.
fn shell(workspace: &Workspace, before: &[&str], script: &str) -> Output {
    workspace.write("script.txt", "n h\nundo\n".repeat(400).as_bytes());
    let mut words = before.to_vec();
    words.extend(["sh", "-c", script]);
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .env("F", env!("CARGO_BIN_EXE_flipside"))
        .env("W", workspace.root())
        .env("FLIPSIDE_NOW", NOW);
    command.output().expect("sh runs")
}

#[test]
#[cfg(unix)]
fn a_limit_of_file_size_is_reported_and_loses_nothing() {
    let workspace = Workspace::new(3, 1, 0.0, 0.0);
    let script = "ulimit -f 300; $F -C $W label --rater ada --shard 1/1 --plain < $W/script.txt";
    let output = shell(&workspace, &[], script);
    let text = stdout(&output);
    assert!(text.contains("NOT SAVED: "), "{text}{}", stderr(&output));
    assert!(text.contains("nothing more can be saved"), "{text}");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let acknowledged = acknowledged(&text);
    assert!(acknowledged.len() > 5, "{text}");
    let there: Vec<u64> = workspace.events("ada").iter().map(|event| event.seq).collect();
    assert!(acknowledged.iter().all(|seq| there.contains(seq)));
    assert!(there.len() <= acknowledged.len() + 3, "opening, sitting, and one more at most");
    assert!(workspace.label("ada", "1/1", "n l\n").contains("saved "), "it goes on elsewhere");
}

/// Whether this system lets a test mount a small disk of its own.
#[cfg(target_os = "linux")]
fn can_mount() -> bool {
    Command::new("unshare")
        .args(["-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"])
        .output()
        .is_ok_and(|output| output.status.success())
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_reported_and_loses_nothing() {
    if !can_mount() {
        // Within one process the same is tried everywhere: see the event chain's own tests.
        return;
    }
    let workspace = Workspace::new(3, 1, 0.0, 0.0);
    let script = "mkdir -p $W/sessions && mount -t tmpfs -o size=700k tmpfs $W/sessions || exit 9
        L='label --rater ada --shard 1/1 --plain'
        printf '' | $F -C $W $L > $W/open.txt 2>&1
        dd if=/dev/zero of=$W/sessions/filler bs=1k count=250 2>/dev/null
        $F -C $W $L < $W/script.txt > $W/full.txt 2> $W/full.err; echo $? > $W/code.txt
        rm $W/sessions/filler
        printf 'n h\\nundo\\n' | $F -C $W $L > $W/room.txt 2>&1
        mkdir $W/kept && cp $W/sessions/labels/ada.db* $W/kept/";
    let output = shell(&workspace, &["unshare", "-rm"], script);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = |name: &str| std::fs::read_to_string(workspace.path(name)).expect(name);
    let full = text("full.txt");
    assert!(full.contains("NOT SAVED: the disk is full"), "{full}{}", text("full.err"));
    let mut all = acknowledged(&full);
    assert!(all.len() > 3, "{full}");
    let later = acknowledged(&text("room.txt"));
    assert_eq!(later.len(), 2, "{}", text("room.txt"));
    all.extend(later);
    let kept = workspace.path("kept/ada.db");
    let (_, events) =
        flipside::store::event_chain::EventLog::open(&kept, &SCHEMA).expect("a whole chain");
    assert!(all.iter().all(|seq| events.iter().any(|event| event.seq == *seq)));
}

#[test]
#[cfg(target_os = "linux")]
fn a_read_only_place_can_be_looked_at_and_says_so() {
    if !can_mount() {
        return;
    }
    let workspace = Workspace::new(3, 1, 0.0, 0.0);
    workspace.label("ada", "1/1", "n h\n");
    let script = "mount -t tmpfs tmpfs /mnt && cp -r $W/. /mnt/ && mount -o remount,ro /mnt || exit 9
        printf 'back\\nn h\\n' | $F -C /mnt label --rater ada --shard 1/1 --plain > $W/ro.txt 2> $W/ro.err
        echo $? > $W/code.txt";
    let output = shell(&workspace, &["unshare", "-rm"], script);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = |name: &str| std::fs::read_to_string(workspace.path(name)).expect(name);
    assert_eq!(text("code.txt").trim(), "2");
    assert!(text("ro.err").contains("the workspace is read-only"), "{}", text("ro.err"));
    assert!(text("ro.txt").contains("1 done, 2 left"), "{}", text("ro.txt"));
    assert!(!text("ro.txt").contains("saved "), "{}", text("ro.txt"));
}

#[test]
fn a_locked_database_does_not_freeze_the_screen() {
    let workspace = Workspace::new(3, 1, 0.0, 0.0);
    let command = workspace.command("label --rater ada --shard 1/1 --graphics blocks");
    let mut pty = Pty::start(&command, 80, 24);
    pty.wait_until("a picture", |screen| screen.contains("left 3") && screen.contains('▀'));
    let other = sqlite::open(&workspace.path(DATABASE), &SCHEMA).expect("opens");
    other.execute_batch("BEGIN IMMEDIATE").expect("locked");
    pty.keys("nh\r");
    pty.wait_for("waiting for another process's lock");
    // Keys are still answered.
    pty.keys("?");
    pty.wait_for("type to filter");
    pty.keys("\u{1b}");
    pty.wait_for("done 0  left 3");
    other.execute_batch("ROLLBACK").expect("free");
    pty.wait_for("done 1  left 2");
    pty.keys("q");
    assert_eq!(pty.end().0, 0);
    assert_eq!(
        workspace.events("ada").last().map(|event| event.kind.clone()).as_deref(),
        Some("answer")
    );
}

/// Replaces bytes of a file in place.
fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).expect("readable");
    change(&mut bytes);
    flipside::store::atomic::write(path, &bytes).expect("written");
}

fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    let at = bytes.windows(from.len()).position(|window| window == from).expect("it is there");
    bytes[at..at + to.len()].copy_from_slice(to);
}

#[test]
fn a_damaged_database_is_refused_with_its_reason() {
    type Damage = fn(&mut Vec<u8>);
    let cases: [(&str, Damage); 7] = [
        ("not an SQLite database", |bytes| bytes[0] = b'X'),
        ("application id", |bytes| bytes[68..72].fill(0x11)),
        ("schema version 9", |bytes| bytes[60..64].copy_from_slice(&[0, 0, 0, 9])),
        ("damaged", |bytes| bytes.truncate(9000)),
        ("damaged", |bytes| {
            let (one, two) = bytes[4096..12288].split_at_mut(4096);
            one.swap_with_slice(two);
        }),
        // Such a byte passes every check of the database itself.
        ("chain of events breaks at event 3", |bytes| replace(bytes, b"too dark", b"too dork")),
        ("chain of events breaks at event 3", |bytes| {
            replace(bytes, b"\"pass\":1,\"reason\"", b"\"pass\":2,\"reason\"")
        }),
    ];
    for (message, damage) in cases {
        let workspace = Workspace::new(2, 1, 0.0, 0.0);
        workspace.label("ada", "1/1", "skip too dark\nn h\n");
        let path = workspace.path(DATABASE);
        drop(sqlite::open(&path, &SCHEMA).expect("folds the write-ahead log"));
        let whole = std::fs::read(&path).expect("readable");
        change(&path, damage);
        let damaged = std::fs::read(&path).expect("readable");
        for command in ["label --rater ada --shard 1/1 --plain", "seal --rater ada --shard 1/1"] {
            let output = workspace.run(command);
            assert_eq!(output.status.code(), Some(2), "{message}: {}", stdout(&output));
            assert!(stderr(&output).contains(message), "{message}: {}", stderr(&output));
        }
        assert_eq!(std::fs::read(&path).expect("readable"), damaged, "it is left as it was");
        flipside::store::atomic::write(&path, &whole).expect("written");
        assert!(workspace.label("ada", "1/1", "n h\n").contains("0 left"), "the twin");
    }
}

#[test]
fn a_damaged_label_file_stops_every_number() {
    let workspace = Workspace::new(2, 1, 0.0, 0.0);
    workspace.label("ada", "1/1", "n h\nn m\n");
    assert!(workspace.run("seal --rater ada --shard 1/1").status.success());
    let (name, _) = workspace.label_files().remove(0);
    let path = workspace.path(&format!("labels/{name}"));
    change(&path, |bytes| replace(bytes, b"\"clean\"", b"\"klean\""));
    for command in ["agreement", "labels --csv"] {
        let output = workspace.run(command);
        assert_eq!(output.status.code(), Some(2));
        let said = stderr(&output);
        assert!(said.contains(&name) && said.contains("line 2"), "{said}");
        assert!(output.stdout.is_empty());
    }
}

/// What a rater who only looks in is told at the end.
fn progress(workspace: &Workspace) -> String {
    stderr(&workspace.run_with("label --rater ada --shard 1/1 --plain", ""))
}

#[test]
fn a_damaged_database_is_made_again_in_a_new_file_and_kept() {
    type Damage = fn(&mut Vec<u8>);
    // What can still be read of it, in events.
    let cases: [(Damage, usize); 3] = [
        (|bytes| bytes[0] = b'X', 0),
        (|bytes| replace(bytes, b"too dark", b"too dork"), 3),
        (|bytes| replace(bytes, b"blurry", b"blurri"), 7),
    ];
    for (damage, kept) in cases {
        let workspace = Workspace::new(3, 1, 0.0, 0.0);
        workspace.label("ada", "1/1", "n m\nskip too dark\nn l\n");
        assert!(workspace.run("seal --rater ada --shard 1/1").status.success());
        let amend = "label --rater ada --shard 1/1 --plain --amend blurry";
        assert!(workspace.run_with(amend, "n h\n").status.success());
        let path = workspace.path(DATABASE);
        drop(sqlite::open(&path, &SCHEMA).expect("folds the write-ahead log"));
        let whole = workspace.run("labels --rebuild ada");
        assert_eq!(whole.status.code(), Some(1), "{}", stderr(&whole));
        assert!(stderr(&whole).contains("is whole"), "{}", stderr(&whole));
        let events = workspace.events("ada");
        change(&path, damage);
        let damaged = std::fs::read(&path).expect("readable");
        let refused = workspace.run("label --rater ada --shard 1/1 --plain");
        assert_eq!(refused.status.code(), Some(2));
        assert!(stderr(&refused).contains("labels --rebuild ada"), "{}", stderr(&refused));
        let output = workspace.run("labels --rebuild ada");
        assert!(output.status.success(), "{}", stderr(&output));
        let said = stdout(&output);
        assert!(said.contains(&format!("{kept} events taken over as they were")), "{said}");
        let aside = std::fs::read(workspace.path("sessions/labels/ada.damaged-1.db"));
        assert_eq!(aside.expect("kept"), damaged, "as it was");
        let again = workspace.events("ada");
        assert_eq!(again[..kept], events[..kept]);
        let head = again.last().expect("events").hash.to_hex();
        assert!(said.contains(&head), "{said}");
        // Nothing sealed is lost, and work goes on.
        assert!(progress(&workspace).contains("0 left; sealed"), "{}", progress(&workspace));
        let sealed = workspace.run("seal --rater ada --shard 1/1");
        assert!(stdout(&sealed).starts_with("unchanged"), "{}", stdout(&sealed));
        assert!(workspace.run_with(amend, "n h\n").status.success());
        let second = workspace.run("seal --rater ada --shard 1/1");
        assert!(stdout(&second).contains(".ada.2.jsonl"), "{}", stdout(&second));
    }
}

#[test]
fn nothing_is_made_again_from_nothing() {
    let workspace = Workspace::new(2, 1, 0.0, 0.0);
    let missing = workspace.run("labels --rebuild ada");
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).contains("no sealed file"), "{}", stderr(&missing));
    workspace.label("ada", "1/1", "n h\n");
    let path = workspace.path(DATABASE);
    change(&path, |bytes| bytes[0] = b'X');
    let damaged = std::fs::read(&path).expect("readable");
    let refused = workspace.run("labels --rebuild ada");
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("nothing of it can be read"), "{}", stderr(&refused));
    assert_eq!(std::fs::read(&path).expect("readable"), damaged, "it is left as it was");
    let held = workspace.talk("label --rater bob --shard 1/1 --plain");
    let mut held = held;
    held.send("n h\n");
    assert!(held.saved().is_some());
    let refused = workspace.run("labels --rebuild bob");
    assert!(stderr(&refused).contains("is held by process"), "{}", stderr(&refused));
}

#[test]
fn a_log_of_somebody_else_is_not_taken_for_one_s_own() {
    let workspace = Workspace::new(2, 1, 0.0, 0.0);
    for rater in ["ada", "bob"] {
        workspace.label(rater, "1/1", "n h\n");
    }
    let bob = std::fs::read(workspace.path("sessions/labels/bob.db")).expect("readable");
    let own = std::fs::read(workspace.path(DATABASE)).expect("readable");
    flipside::store::atomic::write(&workspace.path(DATABASE), &bob).expect("written");
    for command in ["label --rater ada --shard 1/1 --plain", "seal --rater ada --shard 1/1"] {
        let output = workspace.run(command);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("event 1 is by bob"), "{}", stderr(&output));
    }
    assert_eq!(std::fs::read(workspace.path(DATABASE)).expect("readable"), bob);
    flipside::store::atomic::write(&workspace.path(DATABASE), &own).expect("written");
    assert!(
        workspace.label("ada", "1/1", "n h\n").contains("every picture is answered"),
        "the twin"
    );
}
