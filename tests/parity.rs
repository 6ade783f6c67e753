//! The harness as a person or a script calls it: the demo set, real detectors and pictures, hostile
//! input, shards, resuming.

#![allow(clippy::expect_used, reason = "a test stops at the first thing that is not as it must be")]

mod common;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

use common::shared::shared_dir;
use common::{flipside, run};
use serde_json::{Value, json};

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a report")).expect("JSON")
}

/// A report without what differs between two runs of the same thing.
fn timeless(path: &Path) -> Value {
    let mut report = read(path);
    report.as_object_mut().expect("an object").remove("latencyMs");
    report
}

const DEMO: &str = "fixtures/demo/artifacts/demo-litter";

#[test]
fn the_demo_says_what_a_count_would_hide() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path();
    let (code, stdout, stderr) = run(home, home, &["demo", "ws", "--candidate", "int8"]);
    assert_eq!(code, 0, "{stderr}");
    let first = "59 = 59 detections, yet 20 decisions by slot and 18 of 48 pictures changed";
    assert_eq!(stdout.lines().next(), Some(first));
    for part in [
        "20 threshold flips (10 only in the reference, 10 only in the candidate), 4 mislabels",
        "6 of the flips: the detection is there on both sides, in another slot",
        "14 real flips",
        "the reference against itself on 8 pictures: 0 threshold flips, 0 mislabels",
        "candidate / reference",
        "flipside -C ws review",
    ] {
        assert!(stdout.contains(part), "{part}\n{stdout}");
    }
    let workspace = home.join("ws");
    shards_give_what_one_run_gives(home, &workspace);
    a_baseline_gates(home, &workspace);
    a_model_the_runtime_refuses_is_a_row(home, &workspace);
}

/// Everything runs on outputs the demo remembered.
fn shards_give_what_one_run_gives(home: &Path, workspace: &Path) {
    let one = workspace.join("one.json");
    let words = ["parity", "--no-latency", "--report", "one.json"];
    let (code, _, stderr) = run(home, workspace, &words);
    assert_eq!(code, 0, "{stderr}");
    // Nothing ran again: both sides are remembered.
    assert_eq!(read(&one)["latencyMs"]["a"]["n"], json!(0));
    for shard in ["1", "2", "3"] {
        let (part, report) = (format!("{shard}/3"), format!("part-{shard}.json"));
        let words = ["parity", "--no-latency", "--shard", &part, "--report", &report];
        let (code, _, stderr) = run(home, workspace, &words);
        assert_eq!(code, 0, "{stderr}");
    }
    let words = ["merge", "part-3.json", "part-1.json", "part-2.json", "--out", "whole.json"];
    let (code, _, stderr) = run(home, workspace, &words);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(timeless(&workspace.join("whole.json")), timeless(&one));
}

fn a_baseline_gates(home: &Path, workspace: &Path) {
    let gate = |baseline: &str| {
        let words =
            ["parity", "--no-latency", "--report", "again.json", "--baseline", baseline, "--json"];
        let (code, stdout, stderr) = run(home, workspace, &words);
        (code, stdout, stderr)
    };
    let (code, stdout, stderr) = gate("one.json");
    assert_eq!(code, 0, "{stderr}");
    let answer: Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!(answer["summary"]["decisions"]["images_changed"], json!(18));
    let (code, _, stderr) = gate("part-1.json");
    assert_eq!(code, 2);
    assert!(stderr.contains("another number of fixtures"), "{stderr}");
    let (code, _, stderr) = gate("nowhere.json");
    assert_eq!(code, 2);
    assert!(stderr.contains("nowhere.json"), "{stderr}");
}

fn a_model_the_runtime_refuses_is_a_row(home: &Path, workspace: &Path) {
    let candidate = format!("{DEMO}.fp16-raw.onnx");
    let words = ["parity", "--candidate", &candidate, "--report", "none.json"];
    let (code, stdout, _) = run(home, workspace, &words);
    assert_eq!(code, 2);
    assert!(stdout.contains(&candidate) && stdout.contains("blocked: ONNX Runtime 1."), "{stdout}");
    assert!(!workspace.join("none.json").exists());
    fs::copy(workspace.join(format!("{DEMO}.fp32.meta.json")), workspace.join("x.meta.json"))
        .expect("copied");
    let text = fs::read_to_string(workspace.join("x.meta.json")).expect("read");
    let one_more = text.replace("    \"softdrinks.straw\"\n", "    \"x\", \"y\"\n");
    let one_more = one_more.replace("\"classCount\": 43", "\"classCount\": 44");
    #[expect(clippy::disallowed_methods, reason = "a test's own file")]
    fs::write(workspace.join("x.meta.json"), one_more).expect("written");
    let words = ["parity", "--sidecar", "x.meta.json", "--report", "none.json", "--limit", "1"];
    let (code, stdout, stderr) = run(home, workspace, &words);
    // 44 classes fit the 44 columns: the graph has one more than the 43 of the demo.
    assert_eq!(code, 0, "{stdout}{stderr}");
    let more = text.replace("    \"softdrinks.straw\"\n", "    \"x\", \"y\", \"z\"\n");
    let more = more.replace("\"classCount\": 43", "\"classCount\": 45");
    #[expect(clippy::disallowed_methods, reason = "a test's own file")]
    fs::write(workspace.join("x.meta.json"), more).expect("written");
    let (code, stdout, _) = run(home, workspace, &words);
    assert_eq!(code, 2);
    assert!(stdout.contains("44 columns and 45 classes"), "{stdout}");
}

#[test]
fn bad_pictures_are_named_and_a_stopped_run_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path();
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo");
    let write = |name: &str, bytes: &[u8]| {
        #[expect(clippy::disallowed_methods, reason = "a test's own file")]
        fs::write(home.join(name), bytes).expect("written");
    };
    let whole = fs::read(demo.join("images/01f4376df2.jpg")).expect("a picture");
    write("empty.jpg", b"");
    write("cut.jpg", &whole[..whole.len() / 2]);
    write("whole.jpg", &whole);
    let picture = |name: &str| demo.join("images").join(name).display().to_string();
    let lines = [
        "whole.jpg".to_owned(),
        "missing.jpg".to_owned(),
        "empty.jpg".to_owned(),
        "cut.jpg".to_owned(),
        picture("070371c172.jpg"),
        picture("130bc91950.jpg"),
        picture("174811504c.jpg"),
    ];
    write("manifest.txt", lines.join("\n").as_bytes());
    let toml = format!(
        "schema = 1\n[compare]\nreference = {0:?}\ncandidates = [{1:?}]\nsidecar = {2:?}\n[fixtures]\nmanifest = \"manifest.txt\"\n",
        demo.join("artifacts/demo-litter.fp32.onnx"),
        demo.join("artifacts/demo-litter.int8.onnx"),
        demo.join("artifacts/demo-litter.fp32.meta.json"),
    );
    write("flipside.toml", toml.as_bytes());

    // Stopped as soon as it has begun, then continued.
    let mut command = flipside(home, home, &["parity", "--no-latency", "--report", "first.json"]);
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("started");
    let stderr = child.stderr.take().expect("piped");
    let begun =
        BufReader::new(stderr).lines().map_while(Result::ok).any(|line| line.contains("0/7"));
    assert!(begun, "it says that it begins");
    child.kill().expect("killed");
    child.wait().expect("gone");
    assert!(!home.join("first.json").exists(), "no report of a stopped run");
    let (code, stdout, stderr) =
        run(home, home, &["parity", "--no-latency", "--report", "resumed.json"]);
    assert_eq!(code, 0, "{stderr}");
    for part in [
        "4 compared, 3 left out, 7 in the manifest",
        "missing.jpg: cannot be read",
        "empty.jpg: expected a picture, found an empty file",
        "cut.jpg: damaged JPEG",
    ] {
        assert!(stdout.contains(part), "{part}\n{stdout}");
    }
    let (code, _, stderr) =
        run(home, home, &["parity", "--no-latency", "--no-cache", "--report", "fresh.json"]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(timeless(&home.join("resumed.json")), timeless(&home.join("fresh.json")));

    let (code, _, stderr) =
        run(home, home, &["parity", "--no-latency", "--strict", "--report", "strict.json"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("missing.jpg"), "{stderr}");
    assert!(!home.join("strict.json").exists());
}

/// Two values are the same up to the order sums were made in.
fn near(found: &Value, expected: &Value) -> bool {
    match (found.as_f64(), expected.as_f64()) {
        (Some(found), Some(expected)) => {
            (found - expected).abs() <= 1e-6 * expected.abs().max(1e-9)
        }
        _ => found == expected,
    }
}

#[test]
fn shared_real_detectors_give_the_golden_numbers() {
    let Some(shared) = shared_dir() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path();
    let model = |kind: &str, ending: &str| {
        let name = format!("realset/models/yolox-nano-coco-v1.0.0-{kind}.{ending}");
        shared.join(name).canonicalize().expect("there").display().to_string()
    };
    let manifest = shared.join("realset/fixtures.txt").canonicalize().expect("there");
    let toml = format!(
        "schema = 1\n[compare]\nreference = {:?}\ncandidates = [{:?}]\nsidecar = {:?}\n[fixtures]\nmanifest = {:?}\n",
        model("fp32", "onnx"),
        model("int8", "onnx"),
        model("fp32", "meta.json"),
        manifest,
    );
    #[expect(clippy::disallowed_methods, reason = "a test's own file")]
    fs::write(home.join("flipside.toml"), toml).expect("written");
    let check = |kind: &str| {
        let (candidate, report) = (model(kind, "onnx"), format!("{kind}.json"));
        let words = ["parity", "--no-latency", "--candidate", &candidate, "--report", &report];
        let (code, _, stderr) = run(home, home, &words);
        assert_eq!(code, 0, "{kind}: {stderr}");
        let golden = read(&shared.join(format!("golden/parity-realset-fp32-vs-{kind}.json")));
        equals_golden(kind, &read(&home.join(report)), &golden);
    };
    check("fp16");
    // Two at once, both on the remembered reference.
    std::thread::scope(|scope| {
        for kind in ["int8", "int8naive"] {
            scope.spawn(move || check(kind));
        }
    });
}

/// On the golden file's kind of processor every number is that of the file. On another the runtime's own
/// arithmetic differs in the last bits, which moves single queries over a threshold: then a count may be
/// off by two, and differences are alike on average.
fn equals_golden(kind: &str, found: &Value, golden: &Value) {
    let pairs = || {
        let outputs = found["rawOutputs"].as_array().expect("outputs").iter();
        outputs.zip(golden["rawOutputs"].as_array().expect("outputs"))
    };
    let same_processor = pairs().all(|(output, expected)| {
        let same = |key: &str| near(&output[key], &expected[key]);
        same("meanAbsDelta") && same("meanRelDelta") && same("p999AbsDelta")
    });
    let off = if same_processor { 0 } else { 2 };
    let count = |what: &str, ours: &Value, theirs: &Value| {
        let same = match (ours.as_u64(), theirs.as_u64()) {
            (Some(ours), Some(theirs)) => ours.abs_diff(theirs) <= off,
            _ => ours == theirs,
        };
        assert!(same, "{kind}: {what}: {ours}, expected {theirs}");
    };
    let rows = found["decode"]["byThreshold"].as_array().expect("rows");
    let golden_rows = golden["decode"]["byThreshold"].as_array().expect("rows");
    assert_eq!(rows.len(), golden_rows.len());
    for (row, expected) in rows.iter().zip(golden_rows) {
        for (key, value) in expected.as_object().expect("an object") {
            count(key, &row[key], value);
        }
    }
    let sets = found["flipside"]["setMatching"]["byThreshold"].as_array().expect("rows");
    let golden_sets = golden["extra"]["setByThreshold"].as_array().expect("rows");
    assert_eq!(sets.len(), golden_sets.len());
    for (row, expected) in sets.iter().zip(golden_sets) {
        for (ours, theirs) in [
            ("threshold", "threshold"),
            ("stayed", "stayed"),
            ("movedSlots", "moved"),
            ("relabelled", "relabelled"),
            ("vanished", "vanished"),
            ("appeared", "appeared"),
            ("imagesChanged", "imagesChanged"),
            ("imagesPresenceChanged", "imagesPresenceChanged"),
        ] {
            count(ours, &row[ours], &expected[theirs]);
        }
    }
    let recommended = sets.iter().find(|row| row["threshold"] == json!(0.4)).expect("0.4");
    for key in ["movedSlotFlips", "realFlips"] {
        count(key, &recommended[key], &golden["extra"]["summary"][key]);
    }
    for (output, expected) in pairs() {
        assert_eq!(output["elementsCompared"], expected["elementsCompared"], "{kind}");
        let mean = |output: &Value| output["meanAbsDelta"].as_f64().expect("a number");
        assert!((mean(output) / mean(expected) - 1.0).abs() < 0.05, "{kind}: {output}");
        if !same_processor {
            continue;
        }
        for (key, value) in expected.as_object().expect("an object") {
            let ours = &output[key];
            let same = match (ours, value) {
                (Value::Object(ours), Value::Object(value)) => {
                    value.iter().all(|(key, value)| near(&ours[key], value))
                }
                (ours, value) if value.is_number() => near(ours, value),
                (ours, value) => ours == value,
            };
            assert!(same, "{kind}: {} {key}: {ours}, expected {value}", output["name"]);
        }
    }
}
