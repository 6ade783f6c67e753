//! The fixture set from the outside: the contact sheet on a terminal, flags from the command line, lines, and
//! what is hidden while people label.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is missing"
)]

use flipside::domain::manifest::Manifest;
use serde_json::Value;

mod support;

use support::pty::Pty;
use support::workspace::{Workspace, stderr, stdout};

fn text(workspace: &Workspace, name: &str) -> String {
    std::fs::read_to_string(workspace.path(name)).expect(name)
}

fn entries(manifest: &str) -> Vec<String> {
    let parsed =
        Manifest::parse(manifest.as_bytes(), std::path::Path::new("")).expect("a manifest");
    parsed.entries.into_iter().map(|entry| entry.written).collect()
}

#[test]
fn two_flags_on_a_terminal_become_a_new_manifest_beside_the_old() {
    let workspace = Workspace::new(6, 1, 0.0, 0.0);
    let old = text(&workspace, "manifest.txt");
    let command = workspace.command("fixtures --by ada --graphics blocks");
    let mut pty = Pty::start(&command, 80, 24);
    pty.wait_until("pictures", |screen| screen.contains('▀') && !screen.contains("looked at"));
    pty.keys("fs");
    pty.wait_for("screenshot, because:");
    pty.keys("\u{15}a phone menu\r");
    pty.wait_for("1 left out");
    pty.keys("\u{1b}[C\u{1b}[Cft");
    pty.wait_for("text, because:");
    pty.keys("\r");
    pty.wait_for("2 left out");
    // Somebody else would overwrite these flags.
    let other = workspace.run("fixtures --flag 03.png other");
    assert_eq!(other.status.code(), Some(2));
    assert!(stderr(&other).contains("is flagging these fixtures"), "{}", stderr(&other));
    // Killed without warning, it goes on with the flags it had.
    pty.kill("KILL");
    pty.end();
    let mut pty = Pty::start(&command, 80, 24);
    pty.wait_for("2 left out");
    pty.keys("u");
    pty.wait_for("taken back");
    pty.keys("r");
    pty.wait_for("restored");
    pty.keys("q");
    pty.wait_for("in no manifest yet");
    pty.keys("w");
    let (code, bytes) = pty.end();
    assert_eq!(code, 0);
    let said = String::from_utf8_lossy(&bytes);
    assert!(said.contains("manifest = \"manifest.2.txt\""), "{said}");
    assert_eq!(text(&workspace, "manifest.txt"), old, "the old one is as it was");
    let new = text(&workspace, "manifest.2.txt");
    assert_eq!(
        entries(&new),
        ["images/park 01.png", "images/park 03.png", "images/park 04.png", "images/park 05.png"]
    );
    for expected in [
        "\"kind\":\"screenshot\",\"paths\":[\"images/park 00.png\"],\"reason\":\"a phone menu\"",
        "\"kind\":\"text\",\"paths\":[\"images/park 02.png\"],\"reason\":\"mostly writing, not a scene\"",
        "\"by\":\"ada\"",
    ] {
        assert!(new.contains(expected), "{expected}\n{new}");
    }
    // The next version is made from this one, and the labelling takes it.
    let config = text(&workspace, "flipside.toml").replace("manifest.txt", "manifest.2.txt");
    workspace.write("flipside.toml", config.as_bytes());
    assert!(workspace.label("ada", "1/1", "n h\n").contains("1 done, 3 left"));
}

#[test]
fn flags_from_the_command_line_write_or_refuse_as_a_whole() {
    let workspace = Workspace::new(4, 1, 0.0, 0.0);
    let run = |arguments: &[&str]| {
        let mut command = workspace.command("fixtures");
        command.args(arguments).output().expect("runs")
    };
    let flag = ["--flag", "images/park 01.png", "game"];
    for (more, message) in [
        (&["--flag", "images/none.png", "text"][..], "no picture of the manifest is called"),
        (&["--flag", "images/park 02.png", "novel"], "expected screenshot, illustration"),
        (&["--reason", "a\u{202e}b"], "visible characters"),
        (&["--reason", "x", "--reason", "y", "--reason", "z"], "expected one for all"),
    ] {
        let output = run(&[&flag, more].concat());
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        assert!(stderr(&output).contains(message), "{more:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty());
    }
    assert!(!workspace.path("manifest.2.txt").exists(), "nothing was written");
    let output = run(&[&flag[..], &["--reason", "rendered", "--json", "--by", "ada"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let written: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&written["path"], &written["leftOut"]), (&"manifest.2.txt".into(), &1.into()));
    // Flags are kept, so the next version has both.
    let hash = {
        let listed: Value = serde_json::from_slice(&run(&["--json"]).stdout).expect("JSON");
        assert_eq!(listed["fixtures"][1]["flag"]["reason"], "rendered");
        listed["fixtures"][3]["fixture"].as_str().expect("a hash").to_owned()
    };
    let output = run(&["--flag", &hash[..10], "text"]);
    assert!(output.status.success(), "{}", stderr(&output));
    // The same again makes no second file.
    let again = run(&["--flag", &hash[..10], "text"]);
    assert_eq!(again.stdout, output.stdout);
    assert_eq!(stdout(&output).trim(), "manifest = \"manifest.3.txt\"");
    assert!(stderr(&output).contains("2 left out, 2 stay"), "{}", stderr(&output));
    assert_eq!(entries(&text(&workspace, "manifest.3.txt")).len(), 2);
    // A manifest that changed meanwhile is another one: its flags begin anew.
    workspace.write("manifest.txt", b"images/park 01.png\n");
    let output = run(&["--flag", "images/park 01.png", "text"]);
    assert!(stderr(&output).contains("all 1 pictures are flagged"), "{}", stderr(&output));
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("fixtures --plain"), "{}", stderr(&output));
}

#[test]
fn suggestions_come_only_when_nobody_has_still_to_label() {
    let workspace = Workspace::new(4, 2, 0.0, 0.0);
    let suggestions = || {
        let output = workspace.run("fixtures --json");
        assert!(output.status.success(), "{}", stderr(&output));
        let listed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let fixtures = listed["fixtures"].as_array().expect("a list").clone();
        let seen = fixtures.iter().filter(|it| !it["suggestions"].is_null()).count();
        (seen, listed["suggestionsHidden"]["because"].as_str().unwrap_or_default().to_owned())
    };
    let (seen, because) = suggestions();
    assert_eq!(seen, 0);
    assert!(
        because.contains("nobody has sealed shard 1/2; nobody has sealed shard 2/2"),
        "{because}"
    );
    workspace.label("ada", "1/2", "n h\nn h\n");
    assert!(workspace.run("seal --rater ada --shard 1/2").status.success());
    assert_eq!(suggestions().0, 2);
    workspace.label("bob", "2/2", "n h\nn h\n");
    assert!(workspace.run("seal --rater bob --shard 2/2").status.success());
    assert_eq!(suggestions(), (4, String::new()));
    // Somebody begins again.
    workspace.label("cyd", "1/2", "n h\n");
    let (seen, because) = suggestions();
    assert_eq!(seen, 2);
    assert!(because.contains("cyd has opened shard 1/2 and not sealed it"), "{because}");
    let said = stdout(&workspace.run_with("fixtures --plain", "list\nflag 1-2 other\nwrite\n"));
    assert!(said.contains("suggestions hidden: cyd has opened shard 1/2"), "{said}");
    assert!(said.contains("manifest = \"manifest.2.txt\""), "{said}");
}

#[test]
fn a_second_look_reads_what_the_first_one_found() {
    let workspace = Workspace::new(3, 1, 0.0, 0.0);
    let list = || -> Value {
        let output = workspace.run("fixtures --json");
        assert!(output.status.success(), "{}", stderr(&output));
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let first = list();
    assert_eq!(first["fixtures"][0]["size"], serde_json::json!([24, 18]));
    assert_eq!(list(), first);
    // What is kept is believed, by content.
    let kept = "sessions/fixture-facts.json";
    let planted = text(&workspace, kept).replace("[24,18]", "[25,18]");
    workspace.write(kept, planted.as_bytes());
    assert_eq!(list()["fixtures"][0]["size"], serde_json::json!([25, 18]));
    // It may be deleted.
    std::fs::remove_file(workspace.path(kept)).expect("removed");
    assert_eq!(list(), first);
}
