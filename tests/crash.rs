//! The process dies; every acknowledged answer is there, at most one more, and the chain holds.
//!
//! A kill proves atomicity only: the page cache survives it. A power cut is another test's affair.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is missing"
)]

use std::collections::BTreeSet;

use flipside::stats::random::Random;
use flipside::store::label_file::LabelFile;

mod support;

use support::workspace::{Workspace, stderr, stdout};

/// Kinds of events that are acknowledged one by one.
const ACKNOWLEDGED: [&str; 4] = ["answer", "skip", "undo", "redo"];

/// What the log must show after `acknowledged` numbers were read.
fn check(workspace: &Workspace, acknowledged: &[u64], before: usize, what: &str) -> usize {
    let events = workspace.events("ada");
    let there: BTreeSet<u64> = events
        .iter()
        .filter(|event| ACKNOWLEDGED.contains(&event.kind.as_str()))
        .map(|event| event.seq)
        .collect();
    for seq in acknowledged {
        assert!(there.contains(seq), "{what}: event {seq} was acknowledged and is gone");
    }
    let new = there.iter().filter(|seq| **seq > before as u64).count();
    assert!(
        new <= acknowledged.len() + 1,
        "{what}: {new} events, {} acknowledged",
        acknowledged.len()
    );
    events.len()
}

#[test]
fn killed_at_every_write_point_while_labelling() {
    let mut deaths = 0;
    for point in 1.. {
        let workspace = Workspace::new(3, 1, 0.0, 0.0);
        let mut command = workspace.command("label --rater ada --shard 1/1 --plain");
        command.env("FLIPSIDE_DIE_AT", point.to_string());
        let output = {
            use std::io::Write as _;
            use std::process::Stdio;
            let mut child = command
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("runs");
            let mut stdin = child.stdin.take().expect("piped");
            let _ = stdin.write_all(b"n h\ny a m\nundo\nredo\nskip dark\n");
            drop(stdin);
            child.wait_with_output().expect("ends")
        };
        let text = stdout(&output);
        let acknowledged: Vec<u64> = text
            .lines()
            .filter_map(|line| line.strip_prefix("saved ")?.split(' ').next()?.parse().ok())
            .collect();
        if output.status.success() {
            assert_eq!(acknowledged.len(), 5, "{text}");
            check(&workspace, &acknowledged, 0, "the run that lived");
            break;
        }
        deaths += 1;
        assert!(stderr(&output).contains("dying at point"), "{}", stderr(&output));
        if workspace.path("sessions/labels/ada.db").exists() {
            check(&workspace, &acknowledged, 0, &format!("point {point}"));
        }
        // And it goes on from there.
        let again = workspace.label("ada", "1/1", "");
        assert!(again.contains(" left"), "{again}");
    }
    // Seven events with six points each, and the index of fixtures.
    assert!(deaths > 40, "only {deaths} points were met");
}

#[test]
fn killed_at_every_write_point_while_sealing() {
    let mut deaths = 0;
    for point in 1.. {
        let workspace = Workspace::new(2, 1, 0.0, 0.0);
        workspace.label("ada", "1/1", "n h\ny b m\n");
        let mut command = workspace.command("seal --rater ada --shard 1/1");
        let output = command.env("FLIPSIDE_DIE_AT", point.to_string()).output().expect("runs");
        let files = workspace.label_files();
        for (name, text) in &files {
            if name.ends_with(".jsonl") {
                LabelFile::parse(text.as_bytes()).expect("no half file");
            }
        }
        if output.status.success() {
            break;
        }
        deaths += 1;
        let again = workspace.run("seal --rater ada --shard 1/1");
        assert!(again.status.success(), "point {point}: {}", stderr(&again));
        let files = workspace.label_files();
        let sealed: Vec<_> = files.iter().filter(|(name, _)| name.ends_with(".jsonl")).collect();
        assert_eq!(sealed.len(), 1, "point {point}: {files:?}");
        let file = LabelFile::parse(sealed[0].1.as_bytes()).expect("whole");
        assert_eq!(file.labels.len(), 2);
        let kinds: Vec<String> =
            workspace.events("ada").into_iter().map(|event| event.kind).collect();
        assert_eq!(kinds.iter().filter(|kind| *kind == "seal").count(), 1, "{kinds:?}");
    }
    assert!(deaths > 8, "only {deaths} points were met");
}

/// A file among the raters' logs.
fn bytes(workspace: &Workspace, name: &str) -> Option<Vec<u8>> {
    std::fs::read(workspace.path(&format!("sessions/labels/{name}"))).ok()
}

#[test]
fn killed_at_every_write_point_while_making_a_log_again() {
    let mut deaths = 0;
    for point in 1.. {
        let workspace = Workspace::new(2, 1, 0.0, 0.0);
        workspace.label("ada", "1/1", "n h\nskip too dark\n");
        assert!(workspace.run("seal --rater ada --shard 1/1").status.success());
        // A process that died leaves a write-ahead log.
        let mut talk = workspace.talk("label --rater ada --shard 1/1 --plain --amend again");
        talk.send("n m\n");
        assert!(talk.saved().is_some());
        talk.kill();
        drop(talk);
        let mut damaged = bytes(&workspace, "ada.db").expect("there");
        damaged[0] = b'X';
        let wal = bytes(&workspace, "ada.db-wal").expect("there");
        let path = workspace.path("sessions/labels/ada.db");
        flipside::store::atomic::write(&path, &damaged).expect("written");
        let mut command = workspace.command("labels --rebuild ada");
        let output = command.env("FLIPSIDE_DIE_AT", point.to_string()).output().expect("runs");
        let lived = output.status.success();
        // Whatever it came to, nobody begins an empty log, and nothing of the damaged one is lost.
        let looked = workspace.run("label --rater ada --shard 1/1 --plain");
        let said = stderr(&looked);
        assert!(
            said.contains("labels --rebuild ada") || said.contains("0 left; sealed"),
            "point {point}: {said}"
        );
        if !lived {
            deaths += 1;
            let again = workspace.run("labels --rebuild ada");
            let code = if said.contains("0 left; sealed") { 1 } else { 0 };
            assert_eq!(again.status.code(), Some(code), "point {point}: {}", stderr(&again));
        }
        let looked = workspace.run("label --rater ada --shard 1/1 --plain");
        assert!(stderr(&looked).contains("0 left; sealed"), "point {point}: {}", stderr(&looked));
        assert_eq!(bytes(&workspace, "ada.damaged-1.db"), Some(damaged), "point {point}");
        assert_eq!(bytes(&workspace, "ada.damaged-1.db-wal"), Some(wal), "point {point}");
        let left: Vec<String> = std::fs::read_dir(workspace.path("sessions/labels"))
            .expect("listing")
            .map(|entry| entry.expect("listed").file_name().to_string_lossy().into_owned())
            .filter(|name| name.contains("rebuil") || name.contains("damaged-2"))
            .collect();
        // A scratch folder goes with the next rebuild that needs one.
        assert!(left.iter().all(|name| name.starts_with(".rebuild.")), "point {point}: {left:?}");
        if lived {
            break;
        }
    }
    // Six events of six points each, and three moves.
    assert!(deaths > 25, "only {deaths} points were met");
}

#[test]
fn killed_two_hundred_times_while_labelling() {
    let workspace = Workspace::new(4, 1, 0.0, 0.0);
    let mut random = Random::new(20_260_203);
    let script = "n h\nundo\nn m\nundo\nredo\nundo\n".repeat(40);
    let mut length = 0;
    let mut total = 0;
    for round in 0..200 {
        let mut talk = workspace.talk("label --rater ada --shard 1/1 --plain");
        talk.send(&script);
        let mut acknowledged = Vec::new();
        for _ in 0..random.below(12) {
            acknowledged.extend(talk.saved());
        }
        talk.kill();
        // What it had said before it died counts too.
        while let Some(seq) = talk.saved() {
            acknowledged.push(seq);
        }
        drop(talk);
        total += acknowledged.len();
        if workspace.path("sessions/labels/ada.db").exists() {
            length = check(&workspace, &acknowledged, length, &format!("round {round}"));
        }
    }
    assert!(total > 500, "only {total} answers were acknowledged");
}
