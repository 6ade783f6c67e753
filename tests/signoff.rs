//! Signing at a real terminal: the program is started in a pseudo-terminal and answered line by line, then
//! verified and gated from outside.

#![allow(clippy::expect_used, reason = "a test stops at the first thing that is not as it must be")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use flipside::domain::digest::{hex, sha256};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use serde_json::{Value, json};

#[path = "support/sound_report.rs"]
mod sound_report;

const NOW: &str = "2026-05-06T07:08:09Z";

fn put(root: &Path, path: &str, bytes: &[u8]) -> String {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
    fs::File::create(&path).and_then(|mut file| file.write_all(bytes)).expect("written");
    hex(&sha256(bytes))
}

/// A report of the peer's layout over one picture on which nothing differs.
fn report(candidate: &str, manifest: &str, classes: &[&str]) -> Value {
    let picture = sound_report::Seen {
        path: "one.jpg".to_owned(),
        sha256: "0".repeat(64),
        class: 0,
        a: 0.9,
        b: 0.9,
    };
    let mut report = sound_report::report(&[picture], classes, manifest);
    report["artifacts"]["b"]["sha256"] = json!(candidate);
    report.as_object_mut().expect("an object").remove("flipside");
    report
}

fn workspace(root: &Path) {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo/artifacts");
    let model = fs::read(demo.join("demo-litter.int8.onnx")).expect("the demo set");
    let sidecar = fs::read(demo.join("demo-litter.int8.meta.json")).expect("the demo set");
    let candidate = put(root, "b.onnx", &model);
    put(root, "b.meta.json", &sidecar);
    put(root, "fixtures/one.jpg", b"a picture");
    let manifest = put(root, "fixtures/m.txt", b"one.jpg\n");
    let classes: Value = serde_json::from_slice(&sidecar).expect("JSON");
    let classes: Vec<&str> = classes["classes"]
        .as_array()
        .expect("classes")
        .iter()
        .map(|name| name.as_str().expect("a name"))
        .collect();
    let report = report(&candidate, &manifest, &classes);
    put(root, "sessions/reports/r.json", report.to_string().as_bytes());
    put(
        root,
        "flipside.toml",
        b"schema = 1\n[compare]\nreference = \"a.onnx\"\ncandidates = [\"b.onnx\"]\nsidecar = \"b.meta.json\"\n[fixtures]\nmanifest = \"fixtures/m.txt\"\n",
    );
}

/// Starts `flipside sign` in a pseudo-terminal and answers each prompt; `<digits>` types those shown.
/// Returns the exit code and everything the terminal saw.
fn sign_at_terminal(root: &Path, answers: &[(&str, &str)]) -> (u32, String) {
    let size = PtySize { rows: 40, cols: 200, pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size).expect("a pseudo-terminal");
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_flipside"));
    command.args(["sign", "--plain", "--name", "ada", "-C"]);
    command.arg(root);
    command.env("FLIPSIDE_NOW", NOW);
    let mut child = pair.slave.spawn_command(command).expect("started");
    drop(pair.slave);
    let seen = Arc::new(Mutex::new(String::new()));
    let mut reader = pair.master.try_clone_reader().expect("a reader");
    let sink = Arc::clone(&seen);
    let reading = std::thread::spawn(move || {
        let mut buffer = [0_u8; 4096];
        while let Ok(read) = reader.read(&mut buffer) {
            if read == 0 {
                break;
            }
            sink.lock().expect("unpoisoned").push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
    });
    let mut writer = pair.master.take_writer().expect("a writer");
    let deadline = Instant::now() + Duration::from_secs(120);
    let mut from = 0;
    'answers: for (prompt, answer) in answers {
        loop {
            let text = seen.lock().expect("unpoisoned").clone();
            if let Some(at) = text[from..].find(prompt) {
                from += at + prompt.len();
                let shown = text[from..].split_whitespace().next().unwrap_or_default();
                let typed = if *answer == "<digits>" {
                    // The prompt may still be coming in.
                    if shown.len() < 8 || !text[from..].contains("stop: ") {
                        from -= prompt.len();
                        std::thread::yield_now();
                        continue;
                    }
                    shown.to_owned()
                } else {
                    (*answer).to_owned()
                };
                writer.write_all(format!("{typed}\n").as_bytes()).expect("typed");
                writer.flush().expect("typed");
                break;
            }
            if child.try_wait().expect("a state").is_some() {
                break 'answers;
            }
            assert!(Instant::now() < deadline, "waiting for {prompt:?} in {text}");
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }
    let code = child.wait().expect("ended").exit_code();
    drop(writer);
    drop(pair.master);
    let _ = reading.join();
    let text = seen.lock().expect("unpoisoned").clone();
    (code, text)
}

fn answers<'a>(decision: &'a str, digits: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("Operating point", "0.4"),
        ("slot flips at most", "none"),
        ("real flips at most", "none"),
        ("mislabels at most", "none"),
        ("recall may fall by", "none"),
        ("rate may rise by", "none"),
        ("with litter at least", "none"),
        ("clean images at least", "none"),
        ("these same fixtures?", "no"),
        ("Decision", decision),
        ("Reason: ", "no labels yet"),
        ("It licenses", ""),
        ("Nor ", ""),
        ("Type ", digits),
    ]
}

fn flipside(root: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flipside"));
    command.arg("-C").arg(root).args(words).env("FLIPSIDE_NOW", NOW);
    command.output().expect("started")
}

#[test]
fn a_person_signs_and_the_gate_goes_by_it() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let root = folder.path();
    workspace(root);
    let artifact = root.join("b.onnx");
    let artifact = artifact.to_str().expect("a path");

    let report = root.join("sessions/reports/r.json");
    let report = report.to_str().expect("a path");
    let page = || {
        let page = flipside(root, &["report", "--report", report, "--html", "-"]);
        assert_eq!(page.status.code(), Some(0), "{}", String::from_utf8_lossy(&page.stderr));
        String::from_utf8_lossy(&page.stdout).into_owned()
    };
    assert!(page().contains("Nobody has decided"));

    // Other digits than those shown: nothing is written.
    let (code, seen) = sign_at_terminal(root, &answers("defer", "12345678"));
    assert_eq!(code, 2, "{seen}");
    assert!(seen.contains("nothing was written"), "{seen}");
    assert!(!root.join("records").exists(), "{seen}");

    // Nothing can be accepted without labels.
    let (code, seen) = sign_at_terminal(root, &answers("accept", "<digits>"));
    assert_eq!(code, 2, "{seen}");
    assert!(seen.contains("cannot accept: labels"), "{seen}");

    let (code, seen) = sign_at_terminal(root, &answers("defer", "<digits>"));
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("signed: defer at 0.4"), "{seen}");

    let verified = flipside(root, &["verify"]);
    let text = String::from_utf8_lossy(&verified.stdout).into_owned();
    assert_eq!(verified.status.code(), Some(0), "{text}");
    let gated = flipside(root, &["gate", "--artifact", artifact]);
    assert_eq!(gated.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&gated.stdout).contains("defer: no labels yet"));

    let page = page();
    assert!(
        !page.contains("Nobody has decided")
            && page.contains("a name that anybody could have typed")
    );
    assert!(page.contains("no labels yet") && page.contains("It does not license"), "{page}");

    put(root, "fixtures/m.txt", b"other.jpg\n");
    let verified = flipside(root, &["verify", "--json"]);
    assert_eq!(verified.status.code(), Some(1));
    let answer: Value = serde_json::from_slice(&verified.stdout).expect("JSON");
    assert_eq!(answer["subjects"][0]["result"]["firstCause"]["name"], "manifest");
}
