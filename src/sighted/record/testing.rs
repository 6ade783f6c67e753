//! A made-up record and report, small enough to read, for tests of this folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::comparison;
use super::gate::{self, GateAnswer};
use super::limits::{AcceptanceLimits, Holds, Labelled, LabelledRate};
use super::registry::Registry;
use super::release::{NewRecord, ReleaseRecord, evidence_json};
use super::signoff::{
    Decision, Draft, Evidence, LabelFile, NamedFile, Product, Signer, disclaimers,
};
use super::signoff_store::SignOffStore;
use super::ssh::SignerLists;
use super::trust::Trust;
use super::verify::{self, Means, Score, ScoreInputs};
use crate::domain::canonical::Json;
use crate::domain::digest::{ContentHash, LabelFileHash, ManifestHash, ReportHash};
use crate::stats::paired::PairedTable;
use crate::store::atomic;

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

/// A workspace on disk with everything a sign-off names, and a score that is a function of its inputs.
pub(in crate::sighted) struct World {
    folder: tempfile::TempDir,
    /// The record, registered.
    pub record: ReleaseRecord,
    /// Counts the made-up score reports.
    pub labelled: std::cell::Cell<Option<Labelled>>,
    /// When signatures are checked.
    pub trust: Option<Trust>,
}

const LABELS: [&str; 2] = ["ada", "bob"];
const ARTIFACT_PATH: &str = "models/b.onnx";
const REPORT_PATH: &str = "sessions/reports/r.json";
const SIDECAR_PATH: &str = "models/b.meta.json";

impl World {
    pub(in crate::sighted) fn new() -> Self {
        Self::labelled_by(["ada", "bob"])
    }

    /// With label files of these raters.
    pub(in crate::sighted) fn labelled_by(raters: [&str; 2]) -> Self {
        let folder = tempfile::tempdir().expect("temporary folder");
        let root = folder.path();
        let put = |path: &str, bytes: &[u8]| {
            atomic::write(&root.join(path), bytes).expect("written");
            crate::domain::digest::hex(&crate::domain::digest::sha256(bytes))
        };
        let artifact = put(ARTIFACT_PATH, b"candidate weights");
        let manifest = put("fixtures/manifest.txt", b"one.jpg\n");
        let picture = put("fixtures/one.jpg", b"a picture");
        put("taxonomy.toml", b"schema = 1\n");
        put(SIDECAR_PATH, b"{}\n");
        for (name, rater) in LABELS.iter().zip(raters) {
            put(&format!("labels/{name}.jsonl"), rater.as_bytes());
        }
        let report = with(report(), &["artifacts", "b", "sha256"], Json::text(&artifact));
        let report = with(report, &["fixtures", "manifestSha256"], Json::text(manifest));
        let additions = format!(
            r#"{{"fixtures":[{{"path":"one.jpg","sha256":"{picture}"}},{{"path":"gone.jpg","sha256":""}}],
                "setMatching":{{"byThreshold":[{{"threshold":0.4,"realFlips":1}}]}}}}"#
        );
        let report = with(report, &["flipside"], tree(&additions));
        let bytes = report.to_file();
        put(REPORT_PATH, bytes.as_bytes());
        let identity = with(tree(IDENTITY), &["artifact", "sha256"], Json::text(&artifact));
        let identity = with(identity, &["artifact", "bytes"], Json::int(17));
        let parity = comparison::transcribe(
            &report,
            REPORT_PATH,
            ReportHash::of(bytes.as_bytes()),
            &artifact,
            None,
        );
        let record = ReleaseRecord::assemble(NewRecord {
            identity,
            parity: parity.expect("transcribed"),
            artifact_path: ARTIFACT_PATH.to_owned(),
            ..new_record()
        });
        let record = record.expect("a good record");
        Registry::at(root.join("records")).register(&record).expect("registered");
        let table = |n: u64| PairedTable { both: n, only_first: 1, only_second: 1, neither: 1 };
        let rate = |n| LabelledRate { table: table(n), clustered: None };
        let labelled = Labelled { recall: rate(150), false_positives: rate(40) };
        let labelled = std::cell::Cell::new(Some(labelled));
        Self { record, labelled, trust: None, folder }
    }

    pub(in crate::sighted) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(in crate::sighted) fn artifact(&self) -> PathBuf {
        self.root().join(ARTIFACT_PATH)
    }

    pub(in crate::sighted) fn store(&self) -> SignOffStore {
        SignOffStore::at(self.root().join("records/signoffs"))
    }

    fn bytes(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.root().join(path)).expect("readable")
    }

    /// Canonical score and counts: a function of the files it is made of.
    fn score(&self, report: &[u8]) -> Result<(String, Labelled), String> {
        let mut all = report.to_vec();
        for path in ["labels/ada.jsonl", "labels/bob.jsonl", "taxonomy.toml"] {
            all.extend(self.bytes(path));
        }
        let hash = ContentHash::of(&all).to_hex();
        let score = Json::object([("of", Json::Text(hash))]).to_canonical();
        let labelled = self.labelled.get().ok_or("no label joins")?;
        Ok((score, labelled))
    }

    /// What the sign-off of this world stands on.
    pub(in crate::sighted) fn evidence(&self) -> Evidence {
        let label = |name: &str| {
            let path = format!("labels/{name}.jsonl");
            let hash = LabelFileHash::of(&self.bytes(&path));
            let file = NamedFile { path, hash };
            LabelFile { file, blind: "enforced".to_owned(), chain_head: None }
        };
        let labels = LABELS.map(label).to_vec();
        let report = self.bytes(REPORT_PATH);
        let metrics = self.score(&report).ok().map(|(score, _)| {
            let hash = ContentHash::of(score.as_bytes());
            let path = format!("records/scores/{}.json", hash.short());
            let file = self.root().join(&path);
            if !file.exists() {
                atomic::write(&file, score.as_bytes()).expect("written");
            }
            NamedFile { path, hash }
        });
        Evidence {
            report: NamedFile { path: REPORT_PATH.to_owned(), hash: ReportHash::of(&report) },
            manifest: NamedFile {
                path: "fixtures/manifest.txt".to_owned(),
                hash: ManifestHash::of(&self.bytes("fixtures/manifest.txt")),
            },
            sidecar: Some(NamedFile {
                path: SIDECAR_PATH.to_owned(),
                hash: ContentHash::of(&self.bytes(SIDECAR_PATH)),
            }),
            taxonomy: Some(NamedFile {
                path: "taxonomy.toml".to_owned(),
                hash: ContentHash::of(&self.bytes("taxonomy.toml")),
            }),
            labels,
            groups: None,
            margin: None,
            metrics,
            blind_status: "enforced".to_owned(),
            exclusions: Vec::new(),
            subsets: vec!["all".to_owned()],
        }
    }

    /// A draft that can be signed.
    pub(in crate::sighted) fn draft(&self) -> Draft {
        let report = Json::parse(&self.bytes(REPORT_PATH)).expect("JSON");
        let mut numbers = verify::numbers_of(&report, 0.4).expect("counted");
        numbers.labelled = self.labelled.get();
        Draft {
            record: self.record.clone(),
            record_file: self.record.file_text().into_bytes(),
            operating_point: 0.4,
            method: "typed".to_owned(),
            chosen_on_same_data: true,
            limits: AcceptanceLimits {
                slot_flips: Some(2),
                real_flips: Some(1),
                class_flips: Some(1),
                recall_margin: Some(0.05),
                false_positive_margin: Some(0.15),
                min_positives: Some(100),
                ..AcceptanceLimits::none()
            },
            evidence: self.evidence(),
            numbers,
            decision: Decision::Accept,
            reason: "inside the limits".to_owned(),
            licenses: vec!["release at this point".to_owned()],
            does_not_license: disclaimers(&self.record),
            supersedes: None,
            signer: Signer { name: "ada".to_owned(), key_id: None, role: "owner".to_owned() },
            signed_at: "2026-02-03T04:05:06+00:00".to_owned(),
            product: Product { name: "flipside test".to_owned(), build: None },
            trust_version: None,
        }
    }

    /// Signs a draft and stores it, unsigned by any key.
    pub(in crate::sighted) fn sign(&self, draft: Draft) -> PathBuf {
        let checked = draft.check().expect("a draft that can be signed");
        let digits = checked.digits();
        let signed = checked.confirm(&digits).expect("confirmed");
        self.store().create(&signed, None).expect("stored")
    }

    /// Asks the gate.
    pub(in crate::sighted) fn gate(&self) -> GateAnswer {
        let weigh = |path: &Path| -> Result<BTreeMap<String, u64>, String> {
            std::fs::metadata(path).map_err(|error| error.to_string())?;
            Ok([("INT8".to_owned(), 900), ("FLOAT".to_owned(), 100)].into())
        };
        let score = |inputs: &ScoreInputs<'_>| {
            let (score, labelled) = self.score(inputs.report)?;
            Ok(Score { metrics: ContentHash::of(score.as_bytes()), labelled })
        };
        let artifact = self.artifact();
        let means = Means {
            root: self.root(),
            artifact: Some(&artifact),
            weigh: &weigh,
            score: &score,
            audit: &|_| Ok(()),
            // A made-up label file holds the name of its rater.
            rater: &|bytes| Ok(String::from_utf8_lossy(bytes).into_owned()),
            trust: self.trust.as_ref(),
            pictures: true,
        };
        let listing = Registry::at(self.root().join("records")).list();
        match listing {
            Ok(listing) => gate::ask(&artifact, None, &self.store().list(), &listing, &means),
            Err(fault) => GateAnswer {
                holds: Holds::CannotTell,
                reason: fault.to_string(),
                looked_at: Vec::new(),
            },
        }
    }
}

/// Whether `ssh-keygen` is here; a build server without it fails.
pub(in crate::sighted) fn have_ssh() -> bool {
    let here = std::process::Command::new("ssh-keygen").arg("-?").output().is_ok();
    assert!(here || std::env::var("CI").as_deref() != Ok("true"), "ssh-keygen is missing");
    here
}

/// One signature of anybody a list allows.
pub(in crate::sighted) fn trust_in(allowed: PathBuf) -> Trust {
    Trust::of_lists(SignerLists { allowed, revoked: None })
}

pub(in crate::sighted) fn new_key(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    let made = std::process::Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"])
        .arg(&path)
        .status();
    assert!(made.expect("started").success());
    path
}
