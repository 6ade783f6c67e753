//! Blind means blind: nothing that another part of the program found out reaches the person who labels,
//! by any channel. Each check is shown to fire on a leak that was planted.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is missing"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use flipside::store::event_chain::Event;
use proptest::prelude::*;

mod support;

use support::pty::Pty;
use support::workspace::{Workspace, stderr, stdout};

/// Everything in a workspace that a rater must not learn from.
const SIGHTED: [&str; 11] = [
    "a.onnx",
    "b.onnx",
    "a.meta.json",
    "sessions/reports/parity.json",
    "sessions/runs.db",
    "sessions/fixture-facts.json",
    "sessions/labels/bob.db",
    "records/record.json",
    "records/signoffs/a/b.json",
    "labels/0123456789ab.shard-1-of-2.bob.jsonl",
    "groups.csv",
];

const KEYS: &str = "list\ny b h\nn m\nundo\nredo\nback\nstatus\nnext\nskip dark\ny c? l\nfirst\n";

fn workspace(sighted: &[(&str, Vec<u8>)]) -> Workspace {
    let workspace = Workspace::new(10, 2, 0.4, 0.1);
    for (name, content) in sighted {
        workspace.write(name, content);
    }
    workspace
}

/// What one run shows and keeps.
#[derive(Debug, PartialEq)]
struct Trace {
    lines: String,
    beside: String,
    events: Vec<Event>,
}

/// Labels by lines in the same way.
fn trace(workspace: &Workspace) -> Trace {
    let output = workspace.run_with("label --rater ada --shard 1/2 --plain", KEYS);
    assert!(output.status.success(), "{}", stderr(&output));
    Trace { lines: stdout(&output), beside: stderr(&output), events: workspace.events("ada") }
}

/// B4, lines: whatever lies in the sighted files, the same keys give the same bytes and events.
#[test]
fn what_others_found_out_changes_nothing() {
    let bare = trace(&workspace(&[]));
    assert!(bare.lines.contains("saved "));
    let strategy = proptest::collection::vec(
        proptest::option::of(proptest::collection::vec(any::<u8>(), 0..200)),
        SIGHTED.len(),
    );
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(12));
    runner
        .run(&strategy, |contents| {
            let planted: Vec<(&str, Vec<u8>)> = SIGHTED
                .into_iter()
                .zip(contents)
                .filter_map(|(name, content)| Some((name, content?)))
                .collect();
            prop_assert_eq!(&trace(&workspace(&planted)), &bare);
            Ok(())
        })
        .expect("no difference");
    // The comparison can fail: another taxonomy is meant to be seen.
    let other = workspace(&[(
        "coarse.toml",
        b"schema = 1\n[groups]\nbottles = [\"a.bottle\"]\ntins = [\"a.can\"]\npaper = [\"a.paper\"]\n".to_vec(),
    )]);
    assert_ne!(trace(&other), bare);
}

/// Screens of a sitting, one per step, and every byte that reached the terminal.
fn screens(workspace: &Workspace) -> (Vec<String>, Vec<u8>) {
    let command = workspace.command("label --rater ada --shard 1/2 --graphics blocks");
    let mut pty = Pty::start(&command, 80, 24);
    let mut screens = Vec::new();
    let shown = |screen: &str| {
        screen.contains('▀') && !screen.contains("saving") && !screen.contains("the picture")
    };
    screens.push(pty.wait_until("a picture", shown));
    for (keys, expected) in [
        ("yb", "[x] cans"),
        ("h\r", "done 1"),
        ("n", "[x]no"),
        ("m\r", "done 2"),
        ("u", "undone"),
        ("r", "restored"),
        ("\u{1b}[B\u{1b}[B", "a.can"),
        ("+", "a.can"),
        ("-", "a.can"),
        (".", "no answer"),
        ("sdark\r", "done 3"),
    ] {
        pty.keys(keys);
        screens.push(pty.wait_until(expected, |screen| screen.contains(expected) && shown(screen)));
    }
    pty.keys("q");
    let (code, bytes) = pty.end();
    assert_eq!(code, 0);
    (screens, bytes)
}

/// A text no honest byte contains, one for each sighted file.
fn canary(number: usize) -> String {
    format!("CANARY{number:02}7163")
}

fn canaries() -> Vec<(&'static str, Vec<u8>)> {
    SIGHTED
        .into_iter()
        .enumerate()
        .map(|(number, name)| {
            let token = canary(number);
            let text = format!("{{\"{token}\": 0.{token}, \"class\": \"{token}\"}}\n");
            (name, text.into_bytes())
        })
        .collect()
}

/// The canaries that sing in some bytes.
fn heard(bytes: &[u8]) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(bytes);
    (0..SIGHTED.len() + 1).map(canary).filter(|token| text.contains(token)).collect()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(listing) = std::fs::read_dir(folder) else { return Vec::new() };
    listing
        .flat_map(|entry| {
            let path = entry.expect("listed").path();
            if path.is_dir() { files_below(&path) } else { vec![path] }
        })
        .collect()
}

/// B4 and B5 on a terminal: the same screens, and no canary in any byte of terminal, log or temporary
/// folder.
#[test]
fn no_canary_sings_on_the_terminal() {
    let (bare, _) = screens(&workspace(&[]));
    let planted = workspace(&canaries());
    let (same, bytes) = screens(&planted);
    assert_eq!(same, bare);
    assert_eq!(heard(&bytes), BTreeSet::new());
    for file in
        ["sessions/labels/ada.db", "sessions/labels/ada.db-wal", "sessions/fixture-index.json"]
    {
        let bytes = std::fs::read(planted.path(file)).unwrap_or_default();
        assert_eq!(heard(&bytes), BTreeSet::new(), "{file}");
    }
    // Nor in lines, nor in what is left in a temporary folder.
    let temporary = tempfile::tempdir().expect("temporary folder");
    let mut command = planted.command("label --rater ada --shard 1/2 --plain");
    command.env("TMPDIR", temporary.path());
    use std::io::Write as _;
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("runs");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(b"view\nstatus\nlist\nhelp\n").expect("sent");
    drop(stdin);
    let output = child.wait_with_output().expect("ends");
    assert!(stdout(&output).contains("look at "), "{}", stdout(&output));
    assert_eq!(heard(&output.stdout), BTreeSet::new());
    assert_eq!(heard(&output.stderr), BTreeSet::new());
    assert_eq!(files_below(temporary.path()), Vec::<PathBuf>::new(), "nothing stays behind");
}

/// The canaries can sing: one in the taxonomy, which is meant to be seen, is heard.
#[test]
fn a_planted_canary_is_heard() {
    let token = canary(SIGHTED.len());
    let taxonomy = format!(
        "schema = 1\n[groups]\nbottles = [\"a.bottle\"]\ncans = [\"a.can\", \"{token}\"]\npaper = [\"a.paper\"]\n"
    );
    let workspace = workspace(&[("coarse.toml", taxonomy.into_bytes())]);
    let (_, bytes) = screens(&workspace);
    assert_eq!(heard(&bytes), [token].into());
}

/// No frame shows a path, a file name, a folder or a source.
#[test]
fn no_frame_names_a_file() {
    let workspace = workspace(&[(
        "groups.csv",
        b"path,source,pair\nimages/park 01.png,SOURCEPARK,PAIR1\n".to_vec(),
    )]);
    let config = std::fs::read_to_string(workspace.path("flipside.toml")).expect("text");
    let with_groups =
        config.replace("manifest.txt\"\n", "manifest.txt\"\ngroups = \"groups.csv\"\n");
    assert_ne!(with_groups, config);
    workspace.write("flipside.toml", with_groups.as_bytes());
    let (screens, bytes) = screens(&workspace);
    let text = String::from_utf8_lossy(&bytes);
    for word in ["park", "images", ".png", "manifest", "SOURCEPARK", "PAIR1"] {
        assert!(!text.contains(word), "{word}");
        assert!(screens.iter().all(|screen| !screen.contains(word)), "{word}");
    }
    // The search can find something.
    assert!(text.contains("bottles"));
}

/// B6: while labelling, no sighted file is opened; another command does open one.
#[test]
#[cfg(target_os = "linux")]
fn no_sighted_file_is_opened() {
    use rustix::fs::inotify;

    let workspace = workspace(&canaries());
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK).expect("inotify");
    for name in SIGHTED {
        let wanted = inotify::WatchFlags::OPEN | inotify::WatchFlags::ACCESS;
        inotify::add_watch(&watch, workspace.path(name), wanted).expect(name);
    }
    let opened = || {
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&watch, &mut buffer);
        let mut count = 0;
        while reader.next().is_ok() {
            count += 1;
        }
        count
    };
    assert_eq!(opened(), 0);
    screens(&workspace);
    let lines = workspace.label("ada", "1/2", KEYS);
    assert!(lines.contains("saved "), "{lines}");
    assert_eq!(opened(), 0, "labelling opened a sighted file");
    let _ = workspace.run("agreement");
    assert!(opened() > 0, "the watch works");
}

/// B7: the order shown is a function of manifest, rater and seed, and of nothing else.
#[test]
fn order_depends_on_manifest_rater_and_seed_alone() {
    let shown = |workspace: &Workspace, rater: &str| -> Vec<String> {
        let lines = workspace.label(rater, "1/2", &"n h\n".repeat(12));
        lines
            .lines()
            .filter_map(|line| line.strip_prefix("picture ")?.get(..10).map(str::to_owned))
            .collect()
    };
    let bare = shown(&workspace(&[]), "ada");
    let planted = workspace(&canaries());
    assert_eq!(shown(&planted, "ada"), bare);
    assert_ne!(shown(&planted, "cyd"), bare);
    let other = workspace(&[]);
    let config = std::fs::read_to_string(other.path("flipside.toml")).expect("text");
    other.write("flipside.toml", config.replace("seed = 3", "seed = 4").as_bytes());
    assert_ne!(shown(&other, "ada"), bare);
}

/// B8: what another rater has answered changes nothing for this one.
#[test]
fn other_raters_are_not_seen() {
    let alone = trace(&workspace(&[]));
    let together = workspace(&[]);
    together.label("bob", "1/2", "y b h\ny c m\nn l\n");
    together.label("cyd", "2/2", &"y b h\n".repeat(12));
    assert!(together.run("seal --rater cyd --shard 2/2").status.success());
    assert_eq!(trace(&together), alone);
    assert!(together.events("ada").iter().all(|event| event.actor == "ada"));
}
