//! Whoever opens a picture in review from another screen and comes back finds that screen as they left it.

#![cfg(unix)]
#![allow(clippy::expect_used, reason = "a test stops at the first thing that is missing")]

use std::path::Path;
use std::time::Duration;

mod common;
#[path = "support/demo_labels.rs"]
mod demo_labels;
#[path = "support/demo_workspace.rs"]
mod demo_workspace;
#[path = "support/pty.rs"]
#[allow(dead_code, reason = "shared by several tests, each of which needs a part")]
mod pty;

use pty::Pty;

/// How long an end may take on a machine that does other things besides.
const PATIENCE: Duration = Duration::from_secs(60);

/// A workspace with labels and a report.
fn compared() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    demo_workspace::lay_out(root);
    let (code, _, said) = common::run(root, root, &["parity", "--no-latency"]);
    assert_eq!(code, 0, "{said}");
    folder
}

fn open(root: &Path, words: &[&str]) -> Pty {
    let mut command = common::flipside(root, root, words);
    command.env("TERM", "xterm-256color").env("USER", "ada").env("TMPDIR", std::env::temp_dir());
    Pty::start(&command, 100, 30)
}

/// A cell that was written with a space looks like one that never was.
fn lines(screen: &str) -> Vec<String> {
    screen.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// Presses keys, which must change the screen; what it shows then.
fn press(pty: &mut Pty, keys: &str, expected: &str) -> Vec<String> {
    let before = pty.screen();
    pty.keys(keys);
    lines(&pty.wait_until(&format!("{expected:?} after {keys:?}"), |screen| {
        screen != before && screen.contains(expected)
    }))
}

/// Opens the listed picture in review and comes back: it must be where it was.
fn there_and_back(pty: &mut Pty, left: &[String], title: &str) {
    press(pty, "o", "decided");
    assert_eq!(press(pty, "q", title), left);
}

#[test]
fn score_and_threshold_are_as_they_were_after_a_review() {
    let folder = compared();
    let mut pty = open(folder.path(), &["score", "--browse", "--threshold", "0.4"]);
    pty.wait_for("Score at 0.4");
    press(&mut pty, "l", "2/6");
    press(&mut pty, "\t", "candidate − reference");
    press(&mut pty, "\t", "categories recovered");
    let score = press(&mut pty, "\t", "> A reference");
    there_and_back(&mut pty, &score, "Score at");

    press(&mut pty, "t", "Threshold 0.4");
    press(&mut pty, "b", "band false pos.");
    press(&mut pty, "s", "photographs");
    press(&mut pty, "L", "Threshold 0.45");
    let curves = press(&mut pty, "L", "Threshold 0.5");
    assert!(curves.iter().any(|line| line.starts_with("> ")), "{curves:?}");
    there_and_back(&mut pty, &curves, "Threshold 0.5");

    // From the one to the other, nothing is forgotten either.
    assert_eq!(press(&mut pty, "q", "Score at"), score);
    assert_eq!(press(&mut pty, "t", "Threshold"), curves);
    press(&mut pty, "q", "Score at");
    pty.keys("q");
    assert_eq!(pty.ended_within(PATIENCE), Some(Ok(0)));
}

#[test]
fn who_signs_looks_at_a_picture_and_goes_on_choosing() {
    let folder = compared();
    let mut pty = open(folder.path(), &["sign"]);
    pty.wait_for("Threshold 0.4");
    let curves = press(&mut pty, "n", "lost");
    assert!(curves.iter().any(|line| line.starts_with("> ")), "{curves:?}");
    there_and_back(&mut pty, &curves, "Threshold");
    pty.keys("q");
    assert_eq!(pty.ended_within(PATIENCE), Some(Ok(2)));
    assert!(pty.screen().contains("nothing is signed"), "{}", pty.screen());
}

#[test]
fn the_overview_keeps_its_cursor_and_a_review_its_filter() {
    let folder = compared();
    let root = folder.path();
    let older = ["parity", "--no-latency", "--limit", "6", "--report", "sessions/reports/six.json"];
    let (code, _, said) = common::run(root, root, &older);
    assert_eq!(code, 0, "{said}");
    let mut pty = open(root, &[]);
    pty.wait_until("all of it", |screen| {
        screen.contains("\n> ") && screen.contains("candidate ") && !screen.contains('…')
    });
    // Sealed files that came with the labels folder count without anybody's database.
    let first = pty.screen();
    assert!(first.contains("1/2    ada sealed") && first.contains("2/2    ben sealed"), "{first}");
    let left = press(&mut pty, "j", "> ");
    press(&mut pty, "r", "decided");
    press(&mut pty, "s", "nearest first");
    press(&mut pty, "/", "filter:");
    press(&mut pty, "open\r", "filter: open");
    // Until its picture is there.
    let review = lines(&pty.wait_for(" px, zoom"));
    assert_eq!(press(&mut pty, "q", "RECORDS"), left);
    assert_eq!(press(&mut pty, "r", " px, zoom"), review);
    press(&mut pty, "q", "RECORDS");
    pty.keys("q");
    assert_eq!(pty.ended_within(PATIENCE), Some(Ok(0)));
}
