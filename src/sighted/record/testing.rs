//! A made-up record and report, small enough to read, for tests of this folder.

use super::comparison;
use super::release::{NewRecord, ReleaseRecord, evidence_json};
use crate::domain::canonical::Json;
use crate::domain::digest::ReportHash;

pub(in crate::sighted) const REFERENCE: &str =
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
pub(in crate::sighted) const CANDIDATE: &str =
    "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

/// The canonical identity whose hashes are pinned in the tests; computed with another program.
pub(in crate::sighted) const IDENTITY: &str = r#"{"architecture":"rfdetr","artifact":{"bytes":1234,"sha256":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"},"classes":{"count":2,"sha256":"8a6134734aca5328b14378054e3df3a597051f5af2d77e396bf8a124f08592b0"},"conversion":{"exporter":"made by hand","mechanism":"dynamic-quant","opset":17,"sourceCheckpointSha256":null,"sourceSha256":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},"io":{"input":{"dtype":"FLOAT","name":"input","shape":["batch",3,32,32]},"outputs":[{"dtype":"FLOAT","name":"dets","shape":[1,4,4]},{"dtype":"FLOAT","name":"labels","shape":[1,4,3]}]},"modelName":"probe","precision":"int8","target":{"cudaVersion":"13.1","executionProvider":"CPUExecutionProvider","hostClass":"Linux-6.1-x86_64","runtime":"onnxruntime","runtimeVersion":"1.30.0"},"thresholds":{"confRecommended":0.4,"iouRecommended":1}}"#;

/// A tree from text that is known to be JSON.
pub(in crate::sighted) fn tree(text: &str) -> Json {
    Json::parse(text.as_bytes()).expect("valid JSON in a test")
}

/// The value at a path, replaced or added.
pub(in crate::sighted) fn with(mut tree: Json, path: &[&str], value: Json) -> Json {
    fn set(tree: &mut Json, path: &[&str], value: Json) {
        let Json::Object(fields) = tree else { panic!("no object at {path:?}") };
        match path {
            [key] => drop(fields.insert((*key).to_owned(), value)),
            [key, rest @ ..] => set(fields.get_mut(*key).expect("a field"), rest, value),
            [] => {}
        }
    }
    set(&mut tree, path, value);
    tree
}

/// The value at a path, taken away.
pub(in crate::sighted) fn without(mut tree: Json, path: &[&str]) -> Json {
    fn remove(tree: &mut Json, path: &[&str]) {
        let Json::Object(fields) = tree else { panic!("no object at {path:?}") };
        match path {
            [key] => drop(fields.remove(*key)),
            [key, rest @ ..] => remove(fields.get_mut(*key).expect("a field"), rest),
            [] => {}
        }
    }
    remove(&mut tree, path);
    tree
}

/// A parity report of schema 2, as far as a record looks at one.
pub(in crate::sighted) fn report() -> Json {
    tree(&format!(
        r#"{{"schemaVersion":2,"generatedAt":"2026-01-02T03:04:05+00:00",
        "artifacts":{{"a":{{"path":"a.onnx","bytes":4321,"sha256":"{REFERENCE}"}},
                      "b":{{"path":"b.onnx","bytes":1234,"sha256":"{CANDIDATE}"}}}},
        "environment":{{"platform":"Linux-6.1-x86_64","machine":"x86_64","python":"3","onnxruntime":"1.30.0",
                        "executionProviders":["CPUExecutionProvider"],"note":""}},
        "fixtures":{{"count":3,"manifest":"m.txt","manifestSha256":"{REFERENCE}"}},
        "rawOutputs":[{{"name":"dets","maxAbsDelta":0.5,"maxRelDelta":2.0}},{{"name":"labels","maxAbsDelta":1e-05,"maxRelDelta":3}}],
        "decode":{{"confThresholdRecommended":0.4,"byThreshold":[
          {{"threshold":0.25,"thresholdFlips":9,"classArgmaxFlips":9,"detectionsA":9,"detectionsB":9,"imagesWithAnyFlip":9,"isRecommended":false}},
          {{"threshold":0.4,"thresholdFlips":2,"classArgmaxFlips":1,"detectionsA":5,"detectionsB":7,"imagesWithAnyFlip":2,"isRecommended":true}}]}},
        "latencyMs":{{"a":{{"p50":2.0,"p95":3.0,"n":3}},"b":{{"p50":1.0,"p95":1.5,"n":3}},"note":""}}}}"#
    ))
}

/// The report's bytes.
pub(in crate::sighted) fn report_bytes() -> Vec<u8> {
    report().to_file().into_bytes()
}

/// What the record is made of.
pub(in crate::sighted) fn new_record() -> NewRecord {
    let parity = comparison::transcribe(
        &report(),
        "sessions/reports/r.json",
        ReportHash::of(&report_bytes()),
        CANDIDATE,
        None,
    );
    NewRecord {
        version: "v1.2.3-int8".to_owned(),
        artifact_path: "b.onnx".to_owned(),
        identity: tree(IDENTITY),
        parity: parity.expect("a report that can be transcribed"),
        evidence: evidence_json(&[("INT8".to_owned(), 900), ("FLOAT".to_owned(), 100)].into()),
        notes: vec!["caf\u{e9} \u{1f600} </script>".to_owned()],
        registered_at: "2026-01-02T04:00:00+00:00".to_owned(),
    }
}

/// The record.
pub(in crate::sighted) fn record() -> ReleaseRecord {
    ReleaseRecord::assemble(new_record()).expect("a good record")
}

/// The folder of data shared between worktrees; a test that needs it fails without it on a build server
/// and has nothing to do elsewhere.
pub(in crate::sighted) fn shared_dir() -> Option<std::path::PathBuf> {
    let folder = std::env::var_os("FLIPSIDE_SHARED").map_or_else(
        || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        std::path::PathBuf::from,
    );
    let found = folder.is_dir();
    assert!(
        found || std::env::var("CI").as_deref() != Ok("true"),
        "{} is missing",
        folder.display()
    );
    found.then_some(folder)
}
