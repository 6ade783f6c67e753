//! The whole road on the demo set: real detectors run, two raters' labels are scored, the release owner
//! moves the threshold, types the decision and signs it with a key; then one byte of each file it stands on
//! is changed, and the gate says which.

#![allow(clippy::expect_used, reason = "a test stops at the first thing that is not as it must be")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use flipside::domain::digest::{hex, sha256};
use flipside::store::atomic;
use serde_json::{Value, json};

mod common;
#[path = "support/demo_labels.rs"]
mod demo_labels;
#[path = "support/demo_workspace.rs"]
mod demo_workspace;
#[path = "support/pty.rs"]
#[allow(dead_code, reason = "shared by several tests, each of which needs a part")]
mod pty;

use common::{flipside, run};
use demo_workspace::{CANDIDATE, lay_out};
use pty::Pty;

const SIDECAR: &str = "models/demo-litter.int8.meta.json";

/// A key of the owner's and the root of trust that allows it; a build server must be able to make one.
fn new_key(root: &Path) -> Option<PathBuf> {
    let key = root.join("key");
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"])
        .arg(&key)
        .status();
    let made = made.is_ok_and(|status| status.success());
    assert!(made || std::env::var("CI").as_deref() != Ok("true"), "ssh-keygen is missing");
    if !made {
        return None;
    }
    let public = fs::read_to_string(key.with_extension("pub")).expect("readable");
    atomic::write(&root.join("allowed_signers"), format!("olga {public}").as_bytes())
        .expect("written");
    let trust = "schema = 1\nversion = 1\nexpires = \"2027-01-01T00:00:00+00:00\"\nsignatures = 1\n\
                 allowed_signers = \"allowed_signers\"\n";
    atomic::write(&root.join("trust.toml"), trust.as_bytes()).expect("written");
    Some(key)
}

/// Signs at a terminal: moves the cursor, chooses, types the point, limits, reason, name and digits.
fn sign(root: &Path, key: Option<&Path>, counts: [u64; 3]) {
    let root_text = root.to_str().expect("a path");
    let trust = format!("{root_text}/trust.toml");
    let mut words = vec!["sign", "-C", root_text];
    if let Some(key) = key {
        words.extend(["--key", key.to_str().expect("a path"), "--trust", &trust]);
    }
    let mut command = flipside(root, root, &words);
    command.env("TERM", "xterm-256color").env("USER", "olga");
    let mut terminal = Pty::start(&command, 120, 40);
    terminal.wait_for("same data");
    terminal.keys("l");
    terminal.wait_for("0.4 \u{2192} 0.41");
    terminal.keys("h");
    terminal.wait_for("0.41 \u{2192} 0.4");
    terminal.keys("\r");
    terminal.wait_for("Choose 0.4?");
    terminal.keys("y");
    let [slot, real, mislabels] = counts;
    let now = |what: &str, count: u64| format!("{what} at most (now {count})");
    for (prompt, answer) in [
        ("Operating point", "0.4"),
        // As many as there are: a limit holds on its edge.
        (&now("slot flips", slot), &slot.to_string()),
        (&now("real flips", real), &real.to_string()),
        (&now("mislabels", mislabels), &mislabels.to_string()),
        ("recall may fall by", "0.6"),
        ("rate may rise by", "0.7"),
        ("with litter at least", "5"),
        ("clean images at least", "3"),
        ("Decision (", "accept"),
        ("Reason:", "inside the limits of the pilot"),
        ("It licenses", "the pilot"),
        ("Nor (Enter", ""),
        ("Your name", "olga"),
    ] {
        terminal.wait_for(prompt);
        terminal.keys(&format!("{answer}\r"));
    }
    let screen = terminal.wait_for("to sign, anything else to stop");
    let digits = screen.rsplit("Type ").next().and_then(|rest| rest.split(' ').next());
    let digits = digits.expect("shown");
    assert!(digits.len() == 8 && digits.bytes().all(|it| it.is_ascii_hexdigit()), "{digits}");
    terminal.keys(&format!("{digits}\r"));
    let screen = terminal.wait_for("signed: accept at 0.4");
    let (code, _) = terminal.end();
    assert_eq!(code, 0, "{screen}");
}

/// The only file of a folder, or of the only folder in it, that has an ending.
fn only(root: &Path, folder: &str, ending: &str) -> PathBuf {
    let mut folders = vec![root.join(folder)];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("listing") {
            let path = entry.expect("listed").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if path.is_dir() && folder_is_searched(&name) {
                folders.push(path);
            } else if name.ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found.into_iter().next().expect(ending)
}

/// Scores, margins and sign-offs lie in folders of their own below the records.
fn folder_is_searched(name: &str) -> bool {
    !["scores", "margins", "signoffs"].contains(&name)
}

/// Changes one byte: the last letter of `needle`, or the file's last byte.
fn change(path: &Path, needle: &str) {
    let mut bytes = fs::read(path).expect("readable");
    let at = if needle.is_empty() {
        bytes.len() - 1
    } else {
        let mut windows = bytes.windows(needle.len());
        let start = windows.position(|window| window == needle.as_bytes()).expect(needle);
        start + needle.len() - 1
    };
    bytes[at] ^= 1;
    atomic::write(path, &bytes).expect("written");
}

#[test]
fn from_real_outputs_to_a_gate_that_names_what_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    lay_out(root);
    let (code, stdout, stderr) = run(root, root, &["parity", "--no-latency"]);
    assert_eq!(code, 0, "{stderr}");
    let report = only(root, "sessions/reports", ".json");
    let measured: Value =
        serde_json::from_slice(&fs::read(&report).expect("readable")).expect("JSON");
    let at_point = |rows: &Value, key: &str| {
        let rows = rows.as_array().expect("rows");
        let row = rows.iter().find(|row| row["threshold"] == json!(0.4)).expect("a row at 0.4");
        row[key].as_u64().expect(key)
    };
    let slots = &measured["decode"]["byThreshold"];
    let sets = &measured["flipside"]["setMatching"]["byThreshold"];
    let counts = [
        at_point(slots, "thresholdFlips"),
        at_point(sets, "realFlips"),
        at_point(slots, "classArgmaxFlips"),
    ];
    assert!(counts[0] > 0 && stdout.contains(&format!("{} real flips", counts[1])), "{stdout}");

    let (code, stdout, stderr) = run(root, root, &["score", "--json"]);
    assert_eq!(code, 0, "{stderr}");
    let score: Value = serde_json::from_str(&stdout).expect("JSON");
    let all = &score["subsets"][0];
    let count = |key: &str| all[key].as_u64().expect(key);
    assert_eq!(count("positives") + count("clean") + count("disputed") + count("skipped"), 12);
    assert_eq!(all["recall"]["a"]["n"], all["positives"]);
    assert_eq!(score["evidence"]["labelFiles"].as_array().map(Vec::len), Some(2));

    let key = new_key(root);
    sign(root, key.as_deref(), counts);
    let trusted: &[&str] = if key.is_some() { &["--trust", "trust.toml"] } else { &[] };
    let gate = |more: &[&str]| {
        let words = [&["gate", "--artifact", CANDIDATE, "--json"], trusted, more].concat();
        let (code, stdout, stderr) = run(root, root, &words);
        let answer: Value = serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stderr}"));
        (code, answer)
    };
    let (code, stdout, _) = run(root, root, &[&["verify"], trusted].concat());
    assert_eq!(code, 0, "{stdout}");
    let (code, answer) = gate(&[]);
    assert_eq!(code, 0, "{answer}");
    the_page_says_it_all(root, trusted);

    let record = only(root, "records", ".json");
    let label_folder = fs::read_dir(root.join("labels")).expect("listing");
    let labels: Vec<PathBuf> = label_folder.map(|entry| entry.expect("listed").path()).collect();
    assert_eq!(labels.len(), 2);
    let signoff = only(root, "records/signoffs", ".json");
    let mut rows = vec![
        (root.join(SIDECAR), "", "sidecar"),
        (report, "\"generatedAt\": \"2026", "parity-report"),
        (root.join("fixtures/manifest.txt"), "", "manifest"),
        (only(root, "fixtures/images", ".jpg"), "", "pictures"),
        (root.join("coarse10.toml"), "", "taxonomy"),
        (record, "\"registeredAt\": \"2026", "record"),
        (only(root, "records/scores", ".json"), "", "score-file"),
    ];
    rows.extend(labels.into_iter().map(|path| (path, "", "label-file")));
    for (path, needle, cause) in rows {
        let before = fs::read(&path).expect("readable");
        let recorded = hex(&sha256(&before));
        change(&path, needle);
        let changed = hex(&sha256(&fs::read(&path).expect("readable")));
        let (code, answer) = gate(if cause == "pictures" { &[] } else { &["--no-pictures"] });
        assert_eq!(code, 1, "{cause}: {answer}");
        let first = &answer["signoffs"][0]["verified"]["firstCause"];
        assert_eq!(first["name"], cause, "{answer}");
        assert_eq!((&first["expected"], &first["found"]), (&recorded.into(), &changed.into()));
        atomic::write(&path, &before).expect("restored");
    }

    // What stops the gate before it can go through the evidence says both hashes in its reason.
    let artifact = root.join(CANDIDATE);
    let before = fs::read(&artifact).expect("readable");
    change(&artifact, "");
    let (code, answer) = gate(&["--no-pictures"]);
    let reason = answer["reason"].as_str().expect("text").to_owned();
    assert_eq!(code, 1, "{reason}");
    let changed = fs::read(&artifact).expect("readable");
    for bytes in [&before, &changed] {
        assert!(reason.contains(&hex(&sha256(bytes))), "{reason}");
    }
    atomic::write(&artifact, &before).expect("restored");

    let before = fs::read(&signoff).expect("readable");
    change(&signoff, "limits of the pilot");
    let (code, answer) = gate(&["--no-pictures"]);
    let reason = answer["reason"].as_str().expect("text").to_owned();
    assert_eq!(code, 2, "{reason}");
    assert!(reason.contains("signoffId is") && reason.contains("recomputed"), "{reason}");
    atomic::write(&signoff, &before).expect("restored");

    if key.is_some() {
        let trust = root.join("trust.toml");
        let before = fs::read(&trust).expect("readable");
        // 2027 becomes 2026, which is over.
        change(&trust, "expires = \"2027");
        let (code, _, stderr) =
            run(root, root, &["gate", "--artifact", CANDIDATE, "--trust", "trust.toml"]);
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.contains("trust.toml: expired at 2026"), "{stderr}");
        atomic::write(&trust, &before).expect("restored");
        let signature = signoff.with_extension("sig");
        let before = fs::read(&signature).expect("readable");
        change(&signature, "-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAQAAADMAAAALc3");
        let (code, answer) = gate(&["--no-pictures"]);
        assert_eq!(code, 1, "{answer}");
        assert_eq!(answer["signoffs"][0]["verified"]["firstCause"]["name"], "signature");
        atomic::write(&signature, &before).expect("restored");
    }
    let (code, answer) = gate(&[]);
    assert_eq!(code, 0, "everything is as it was: {answer}");
}

/// One self-contained page, the same bytes each time, with every part of the evidence.
fn the_page_says_it_all(root: &Path, trusted: &[&str]) {
    let page = |more: &[&str]| {
        let (code, page, stderr) = run(root, root, &[&["report", "--html", "-"], more].concat());
        assert_eq!(code, 0, "{stderr}");
        page
    };
    let once = page(&[]);
    assert!(once == page(&[]), "the same evidence gives the same bytes");
    if !trusted.is_empty() {
        assert!(once.contains("whose key it is was NOT checked"), "nobody said who may sign");
        let checked = page(trusted);
        assert!(checked.contains("olga, key SHA256:") && checked.contains(": verified"), "by name");
    }
    for part in [
        "Decision: <strong>accept</strong>",
        "inside the limits of the pilot",
        "It does not license",
        "Agreement between raters",
        "ada and ben",
        "Rates against the threshold",
        "class=\"crop\"",
        "this is instability, and only labels tell what it costs",
    ] {
        assert!(once.contains(part), "{part}");
    }
    assert!(!once.contains("<script") && !once.contains(" href=\"http"), "it asks for nothing");
}
