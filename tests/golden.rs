//! Parity of real detectors over real pictures, against an independent implementation's numbers.

#![allow(clippy::expect_used, reason = "a test stops at the first thing that is missing")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// Pixels, tensors and sums agree to this, relative.
const RELATIVE: f64 = 1e-6;

/// Real pictures and detectors beside the checkout. Only without `CI=true` may they be missing.
fn shared_dir() -> Option<PathBuf> {
    let folder = std::env::var_os("FLIPSIDE_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    if folder.join("realset").is_dir() {
        return Some(folder.canonicalize().expect("a folder that is there"));
    }
    assert!(std::env::var("CI").is_err(), "{} is missing", folder.display());
    None
}

fn flipside(workspace: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_flipside"))
        .arg("-C")
        .arg(workspace)
        .args(arguments)
        .output()
        .expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).expect("JSON")
}

/// A workspace whose reference, sidecar and manifest are those of the real set.
fn real_workspace(shared: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("temporary folder");
    let models = shared.join("realset/models");
    let config = format!(
        "schema = 1\n[compare]\nreference = {:?}\ncandidates = [{:?}]\nsidecar = {:?}\n[fixtures]\nmanifest = {:?}\n",
        models.join("yolox-nano-coco-v1.0.0-fp32.onnx"),
        models.join("yolox-nano-coco-v1.0.0-int8.onnx"),
        models.join("yolox-nano-coco-v1.0.0-fp32.meta.json"),
        shared.join("realset/fixtures.txt"),
    );
    #[expect(clippy::disallowed_methods, reason = "a fresh folder of this test alone")]
    fs::write(folder.path().join("flipside.toml"), config).expect("written");
    folder
}

fn compare(workspace: &Path, candidate: &Path, report: &Path) -> Output {
    let [candidate, report] = [candidate, report].map(|path| path.to_str().expect("plain path"));
    flipside(workspace, &["parity", "--candidate", candidate, "--report", report, "--no-latency"])
}

fn by_number(rows: &Value, threshold: f64) -> &Value {
    rows.as_array()
        .expect("rows")
        .iter()
        .find(|row| row["threshold"].as_f64() == Some(threshold))
        .unwrap_or_else(|| panic!("no row for {threshold}"))
}

fn assert_close(name: &str, ours: &Value, golden: &Value) {
    let (ours, golden) = (ours.as_f64().expect("a number"), golden.as_f64().expect("a number"));
    let scale = golden.abs().max(1e-12);
    assert!((ours - golden).abs() <= RELATIVE * scale, "{name}: {ours}, golden {golden}");
}

fn assert_equals_golden(report: &Value, golden: &Value) {
    assert_eq!(
        report["decode"]["byThreshold"], golden["decode"]["byThreshold"],
        "decisions by slot"
    );
    assert_eq!(report["fixtures"]["count"], golden["fixtures"]["count"]);
    assert_eq!(report["fixtures"]["manifestSha256"], golden["fixtures"]["manifestSha256"]);
    let ours = &report["flipside"]["setMatching"]["byThreshold"];
    for row in golden["extra"]["setByThreshold"].as_array().expect("rows") {
        let threshold = row["threshold"].as_f64().expect("a number");
        let mine = by_number(ours, threshold);
        for (key, name) in [
            ("stayed", "stayed"),
            ("moved", "movedSlots"),
            ("relabelled", "relabelled"),
            ("vanished", "vanished"),
            ("appeared", "appeared"),
            ("imagesChanged", "imagesChanged"),
            ("imagesPresenceChanged", "imagesPresenceChanged"),
        ] {
            assert_eq!(mine[name], row[key], "{name} at {threshold}");
        }
    }
    let recommended = golden["decode"]["confThresholdRecommended"].as_f64().expect("a number");
    let mine = by_number(ours, recommended);
    assert_eq!(mine["movedSlotFlips"], golden["extra"]["summary"]["movedSlotFlips"]);
    assert_eq!(mine["realFlips"], golden["extra"]["summary"]["realFlips"]);
    let items = |tree: &Value| tree.as_array().map_or(0, Vec::len);
    assert_eq!(items(&report["flipside"]["items"]), items(&golden["extra"]["items"]), "items");
    for (mine, theirs) in report["perImage"]
        .as_array()
        .expect("rows")
        .iter()
        .zip(golden["perImage"].as_array().expect("rows"))
    {
        assert_eq!(mine["flips"], theirs["flips"], "{}", theirs["image"]);
    }
    for (mine, theirs) in report["rawOutputs"]
        .as_array()
        .expect("outputs")
        .iter()
        .zip(golden["rawOutputs"].as_array().expect("outputs"))
    {
        assert_eq!(mine["name"], theirs["name"]);
        assert_eq!(mine["elementsCompared"], theirs["elementsCompared"]);
        for key in [
            "maxAbsDelta",
            "meanAbsDelta",
            "medianAbsDelta",
            "p95AbsDelta",
            "p99AbsDelta",
            "p999AbsDelta",
        ] {
            assert_close(&format!("{} {key}", mine["name"]), &mine[key], &theirs[key]);
        }
    }
}

#[test]
fn shared_real_detector_gives_the_golden_numbers_in_every_precision() {
    let Some(shared) = shared_dir() else { return };
    let workspace = real_workspace(&shared);
    for precision in ["fp16", "int8", "int8naive"] {
        let candidate =
            shared.join(format!("realset/models/yolox-nano-coco-v1.0.0-{precision}.onnx"));
        let report = workspace.path().join(format!("{precision}.json"));
        let output = compare(workspace.path(), &candidate, &report);
        assert!(output.status.success(), "{precision}: {}", text(&output.stderr));
        let golden = shared.join(format!("golden/parity-realset-fp32-vs-{precision}.json"));
        assert_equals_golden(&json(&report), &json(&golden));
    }
}

#[test]
fn shared_artifact_the_runtime_refuses_is_a_named_row_and_not_a_report() {
    let Some(shared) = shared_dir() else { return };
    let workspace = real_workspace(&shared);
    let refused = shared.join("realset/models/refused/yolox-nano-coco-v1.0.0-fp16-unrepaired.onnx");
    let report = workspace.path().join("refused.json");
    let output = compare(workspace.path(), &refused, &report);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(said.contains("yolox-nano-coco-v1.0.0-fp16-unrepaired.onnx"), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    assert!(!report.exists());
}

#[test]
fn shared_demo_equals_the_golden_numbers() {
    let Some(shared) = shared_dir() else { return };
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo");
    for precision in ["int8", "fp16"] {
        let folder = tempfile::tempdir().expect("temporary folder");
        let report = folder.path().join("report.json");
        let path = |name: &str| demo.join(name).to_str().expect("plain path").to_owned();
        let output = flipside(
            folder.path(),
            &[
                "parity",
                "--reference",
                &path("artifacts/demo-litter.fp32.onnx"),
                "--candidate",
                &path(&format!("artifacts/demo-litter.{precision}.onnx")),
                "--sidecar",
                &path("artifacts/demo-litter.fp32.meta.json"),
                "--fixtures",
                &path("manifest.txt"),
                "--report",
                report.to_str().expect("plain path"),
                "--no-latency",
            ],
        );
        assert!(output.status.success(), "{precision}: {}", text(&output.stderr));
        let golden = shared.join(format!("golden/parity-demo-fp32-vs-{precision}.json"));
        assert_equals_golden(&json(&report), &json(&golden));
    }
}
