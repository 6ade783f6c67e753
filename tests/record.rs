//! The record commands as a person or a script calls them: text, JSON and exit codes.

#![allow(clippy::expect_used, reason = "a test stops at the first thing that is not as it must be")]

#[path = "support/shared_dir.rs"]
mod shared_dir;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use shared_dir::shared_dir;

fn flipside(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flipside"));
    command.args(words).env("FLIPSIDE_NOW", "2026-05-06T07:08:09Z").env_remove("ORT_DYLIB_PATH");
    command.output().expect("started")
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).expect("JSON on stdout")
}

fn demo(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo/artifacts").join(name);
    path.to_str().expect("a path").to_owned()
}

#[test]
fn an_empty_registry_is_listed_and_finds_nothing() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let place = folder.path().join("records");
    let place = place.to_str().expect("a path");
    let output = flipside(&["record", "list", "--folder", place]);
    assert_eq!((output.status.code(), text(&output).as_str()), (Some(0), "no records\n"));
    let output = flipside(&["record", "list", "--folder", place, "--json"]);
    assert_eq!(json(&output)["records"], serde_json::json!([]));
    let output = flipside(&["record", "show", "v1.0.0-fp32", "--folder", place]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no record is named"));
}

#[test]
fn what_cannot_be_read_is_no_answer() {
    for words in [
        &["record", "check", "nothing.json"][..],
        &[
            "record",
            "new",
            "--artifact",
            "nothing.onnx",
            "--report",
            "r.json",
            "--folder",
            "records",
        ],
        &["verify", "-C", "/"],
        &["gate", "-C", "/", "--artifact", "nothing.onnx"],
        &["sign", "-C", "/"],
        &["record"],
    ] {
        let output = flipside(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{words:?}");
    }
}

#[test]
fn sign_needs_a_person_and_says_what_to_use_instead() {
    let output = flipside(&["sign"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("needs a person at a terminal") && said.contains("score --json"),
        "{said}"
    );
}

#[test]
fn a_bad_record_file_is_a_no_with_the_rule_that_fired() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let file = folder.path().join("x.json");
    fs::File::create(&file)
        .and_then(|mut file| {
            std::io::Write::write_all(&mut file, br#"{"schemaVersion":1,"parity":null}"#)
        })
        .expect("written");
    let output = flipside(&["record", "check", file.to_str().expect("a path"), "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let cause = &json(&output)["files"][0]["result"]["firstCause"];
    assert!(cause["detail"].as_str().expect("text").starts_with("MissingParityError"), "{cause}");
}

#[test]
fn a_report_about_something_else_makes_no_record() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let report = folder.path().join("r.json");
    fs::File::create(&report)
        .and_then(|mut file| std::io::Write::write_all(&mut file, b"{\"schemaVersion\": 2}"))
        .expect("written");
    let place = folder.path().join("records");
    let output = flipside(&[
        "record",
        "new",
        "--artifact",
        &demo("demo-litter.int8.onnx"),
        "--report",
        report.to_str().expect("a path"),
        "--folder",
        place.to_str().expect("a path"),
        "--json",
    ]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(json(&output)["outcome"], "refused");
    assert!(!place.exists(), "nothing is written");
}

#[test]
fn shared_records_are_listed_shown_and_checked() {
    let Some(shared) = shared_dir() else { return };
    let folder = shared.join("seed-data/registry");
    let place = folder.to_str().expect("a path");
    let output = flipside(&["record", "list", "--folder", place]);
    assert_eq!(output.status.code(), Some(0));
    let listed = text(&output);
    assert_eq!(listed.lines().count(), 5, "{listed}");
    assert!(listed.contains("112 slot flips, 19 class flips, measured on target"), "{listed}");
    let output = flipside(&["record", "show", "c02f95d8", "--folder", place]);
    let shown = text(&output);
    assert!(shown.contains("equal totals hide 112 changed slots"), "{shown}");
    let output = flipside(&["record", "show", "v2.0.1-fp32", "--folder", place, "--json"]);
    assert_eq!(json(&output).as_array().expect("a list").len(), 3);

    for (name, report, sums) in [
        ("rfdetr-s-litter.v2.0.1-int8.c02f95d84568.json", "changed", "ok"),
        ("rfdetr-s-litter.v2.0.1-fp16.61538e6fbff6.json", "changed", "ok"),
        ("rfdetr-s-litter.v2.0.1-fp32.31486ca5ebe0.json", "changed", "ok"),
        ("rfdetr-s-litter.v2.0.1-fp32.357df9832c8d.json", "ok", "ok"),
        ("rfdetr-s-litter.v2.0.1-fp32.644e1873370d.json", "ok", "ok"),
    ] {
        let file = folder.join(name);
        let file = file.to_str().expect("a path");
        let output = flipside(&["record", "check", file, "--identity-only"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        let output = flipside(&["record", "check", file, "--json"]);
        assert_eq!(output.status.code(), Some(1), "the artifact is not retained");
        let answer = json(&output);
        let checks = answer["files"][0]["result"]["checks"].as_array().expect("a list").clone();
        let status = |wanted: &str| {
            let check = checks.iter().find(|check| check["name"] == wanted);
            check.expect(wanted)["status"].as_str().expect("a word").to_owned()
        };
        assert_eq!(status("record-id"), "ok", "{name}");
        assert_eq!(status("artifact"), "missing", "{name}");
        assert_eq!(status("parity-report"), report, "{name}");
        assert_eq!(status("report-sums"), sums, "{name}");
        assert_eq!(status("comparison"), "ok", "{name}");
    }
}

/// The job people copy must call this program as it is.
#[test]
fn the_gate_job_uses_commands_and_options_that_exist() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/gate-workflow.yml");
    let job = fs::read_to_string(path).expect("readable");
    assert!(!job.contains('\t'), "YAML knows no tabs");
    let mut commands = Vec::new();
    for line in job.lines().filter_map(|line| line.trim().strip_prefix("run: flipside ")) {
        let mut words =
            line.split_whitespace().take_while(|word| !["&&", "||", "|"].contains(word));
        let command = words.next().expect("a command");
        let help = text(&flipside(&[command, "--help"]));
        for option in words.filter(|word| word.starts_with("--")) {
            assert!(help.contains(option), "{command} {option}");
        }
        commands.push(command);
    }
    assert_eq!(commands, ["verify", "gate", "report"]);
    assert!(!text(&flipside(&["gate", "--help"])).contains("--no-such-option"));
}

#[test]
fn shared_engine_reports_are_shown_and_held_to_their_sums() {
    let Some(shared) = shared_dir() else { return };
    let folder = tempfile::tempdir().expect("temporary folder");
    for (name, flips) in [("tf32on", [8, 2, 2, 2, 2]), ("tf32off", [0; 5])] {
        let file = format!("seed-data/reports/trt-parity-fp32-vs-engine-{name}.json");
        let path = shared.join(file);
        let output = flipside(&["report", "--report", path.to_str().expect("a path"), "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let answer = json(&output);
        let rows = answer["thresholds"].as_array().expect("rows");
        let count = |row: &serde_json::Value, key: &str| row[key].as_u64().expect("a count");
        let found: Vec<u64> = rows
            .iter()
            .map(|row| count(row, "flipsReferenceOnly") + count(row, "flipsCandidateOnly"))
            .collect();
        assert_eq!(found, flips, "{name}");
        let detections: Vec<u64> =
            rows.iter().map(|row| count(row, "detectionsReference")).collect();
        assert_eq!(detections, [242, 207, 183, 149, 121], "{name}");

        let sound = fs::read_to_string(&path).expect("readable");
        let wrong = folder.path().join("wrong.json");
        for (from, to, field) in [
            ("\"detectionsA\": 207", "\"detectionsA\": 208", "detectionsA"),
            ("\"schemaVersion\": 1", "\"schemaVersion\": 3", "schemaVersion 3"),
            ("\"role\": \"tensorrt-engine\"", "\"roll\": \"tensorrt-engine\"", "schemaVersion 1"),
        ] {
            let edited = sound.replacen(from, to, 1);
            assert!(edited != sound, "{from}");
            fs::File::create(&wrong)
                .and_then(|mut file| std::io::Write::write_all(&mut file, edited.as_bytes()))
                .expect("written");
            let output = flipside(&["report", "--report", wrong.to_str().expect("a path")]);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{field}: {said}");
            assert!(said.contains(field) && said.contains("wrong.json"), "{field}: {said}");
        }
    }
}
