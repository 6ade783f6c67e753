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

const NOW: &str = "2026-05-06T07:08:09Z";

fn put(root: &Path, path: &str, bytes: &[u8]) -> String {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
    fs::File::create(&path).and_then(|mut file| file.write_all(bytes)).expect("written");
    hex(&sha256(bytes))
}

/// A report of the peer's layout over one picture on which nothing differs.
fn report(candidate: &str, manifest: &str) -> Value {
    let rows: Vec<Value> = [0.25, 0.3, 0.4, 0.5, 0.6]
        .iter()
        .map(|threshold| {
            json!({"threshold": threshold, "isRecommended": *threshold == 0.4, "detectionsA": 1,
                "detectionsB": 1, "thresholdFlips": 0, "flipsAOnly": 0, "flipsBOnly": 0,
                "classArgmaxFlips": 0, "imagesWithAnyFlip": 0, "imagesWhereTopKTruncationBinds": 0})
        })
        .collect();
    let none = json!({"count": 0, "fraction": 0.0});
    let exceedance: Vec<Value> = [1e-5, 1e-3, 1e-2]
        .iter()
        .map(|tolerance| {
            json!({"atol": tolerance, "rtol": tolerance, "absOnly": none, "relOnly": none,
                "combinedIsclose": none, "and": none, "or": none})
        })
        .collect();
    let output = |name: &str, elements: u64| {
        json!({"name": name, "elementsCompared": elements, "maxAbsDelta": 0.0, "meanAbsDelta": 0.0,
            "medianAbsDelta": 0.0, "p95AbsDelta": 0.0, "p99AbsDelta": 0.0, "p999AbsDelta": 0.0,
            "maxRelDelta": 0.0, "meanRelDelta": 0.0, "p99RelDelta": 0.0, "relFloor": 1e-6,
            "relElementsCompared": elements, "relElementsSkippedBelowFloor": 0,
            "perImageMaxAbsDelta": {"max": 0.0, "mean": 0.0, "min": 0.0}, "exceedance": exceedance})
    };
    let times = json!({"p50": 1.0, "p95": 1.0, "n": 1});
    json!({
        "schemaVersion": 2, "generatedAt": "2026-05-01T00:00:00+00:00",
        "artifacts": {"a": {"path": "a.onnx", "bytes": 1, "sha256": "a".repeat(64)},
                      "b": {"path": "b.onnx", "bytes": 1, "sha256": candidate}},
        "environment": {"platform": "Linux", "machine": "x86_64", "python": "3", "onnxruntime": "1.32.0",
            "executionProviders": ["CPUExecutionProvider"], "note": ""},
        "fixtures": {"count": 1, "inputShape": [1, 3, 320, 320], "manifest": "m.txt",
            "manifestSha256": manifest, "resizeNote": "",
            "normalization": {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}},
        "rawOutputs": [output("dets", 1200), output("labels", 13_200)],
        "decode": {"confThresholdRecommended": 0.4, "maxDetections": 100, "classCount": 43,
            "queriesPerImage": 300, "maxConfidenceDeltaAnyQuery": 0.0,
            "meanPerImageMaxConfidenceDelta": 0.0, "maxBoxCoordDeltaAnyQuery": 0.0,
            "byThreshold": rows},
        "latencyMs": {"a": times, "b": times, "note": ""},
        "perImage": [{"image": "one.jpg", "flips": {"0.25": 0, "0.3": 0, "0.4": 0, "0.5": 0, "0.6": 0}}],
    })
}

fn workspace(root: &Path) {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo/artifacts");
    let model = fs::read(demo.join("demo-litter.int8.onnx")).expect("the demo set");
    let sidecar = fs::read(demo.join("demo-litter.int8.meta.json")).expect("the demo set");
    let candidate = put(root, "b.onnx", &model);
    put(root, "b.meta.json", &sidecar);
    put(root, "fixtures/one.jpg", b"a picture");
    let manifest = put(root, "fixtures/m.txt", b"one.jpg\n");
    put(root, "sessions/reports/r.json", report(&candidate, &manifest).to_string().as_bytes());
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
