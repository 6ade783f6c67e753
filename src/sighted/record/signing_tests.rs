//! Signing from question to gate, in a workspace with the demo's models, made-up outputs and sealed labels.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::again;
use super::gate::{self, GateAnswer};
use super::limits::Holds;
use super::make::Stated;
use super::registry::Registry;
use super::signing::{Request, SigningFault, Written, sign};
use super::signoff::{Product, SIGNER_LABELLED, SignRefusal};
use super::signoff_store::SignOffStore;
use super::statement::Person;
use super::testing::{have_ssh, new_key, trust_in};
use super::trust::Trust;
use crate::domain::digest::{ArtifactHash, ManifestHash};
use crate::domain::label::{Certainty, Label, Presence};
use crate::domain::shard::Shard;
use crate::domain::taxonomy::Taxonomy;
use crate::sighted::decision::report::build::ReportBuilder;
use crate::sighted::decision::report::write::to_bytes;
use crate::sighted::decision::testing::{Outputs, WHOLE, context, rules, seen};
use crate::sighted::score::gather::Places;
use crate::store::atomic;
use crate::store::label_file::{BlindStatus, Confinement, LabelFile, LabelHeader, LabelLine};

const PICTURES: u64 = 24;
const TAXONOMY: &str = "schema = 1\n[groups]\ndrink = [\"cup\", \"can\"]\nbags = [\"bag\"]\n";

/// Somebody with answers written down; `<digits>` types what the prompt shows.
struct Script {
    answers: VecDeque<String>,
    heard: String,
}

impl Script {
    fn new(answers: &[&str]) -> Self {
        let answers = answers.iter().map(|answer| (*answer).to_owned()).collect();
        Self { answers, heard: String::new() }
    }
}

impl Person for Script {
    fn say(&mut self, text: &str) {
        self.heard.push_str(text);
        self.heard.push('\n');
    }

    fn ask(&mut self, prompt: &str) -> io::Result<Option<String>> {
        self.heard.push_str(prompt);
        self.heard.push('\n');
        let answer = self.answers.pop_front();
        Ok(answer.map(|answer| match answer.as_str() {
            "<digits>" => prompt.split_whitespace().nth(1).unwrap_or_default().to_owned(),
            _ => answer,
        }))
    }
}

/// Answers that accept at `point`.
fn accepting(point: &str) -> Vec<&str> {
    vec![
        point,
        "none",
        "none",
        "none",
        "none",
        "none",
        "5",
        "none",
        "yes",
        "accept",
        "good enough for the pilot",
        "",
        "",
        "<digits>",
    ]
}

struct Desk {
    folder: tempfile::TempDir,
    request: RefCell<Request>,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("temporary folder");
        let root = folder.path().to_owned();
        let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo/artifacts");
        for name in ["demo-litter.int8.onnx", "demo-litter.int8.meta.json"] {
            let bytes = fs::read(demo.join(name)).expect("the demo set");
            atomic::write(&root.join("models").join(name), &bytes).expect("written");
        }
        let mut manifest = String::new();
        for position in 0..PICTURES {
            let path = seen(position).path;
            // Made-up fixtures are named by the hash of their path.
            atomic::write(&root.join("fixtures").join(&path), path.as_bytes()).expect("written");
            manifest.push_str(&path);
            manifest.push('\n');
        }
        atomic::write(&root.join("fixtures/manifest.txt"), manifest.as_bytes()).expect("written");
        atomic::write(&root.join("taxonomy.toml"), TAXONOMY.as_bytes()).expect("written");
        let request = Request {
            records: root.join("records"),
            signoffs: root.join("records/signoffs"),
            reports: root.join("sessions/reports"),
            artifact: root.join("models/demo-litter.int8.onnx"),
            sidecar: root.join("models/demo-litter.int8.meta.json"),
            manifest: root.join("fixtures/manifest.txt"),
            report: None,
            score: Places {
                root: Some(root.clone()),
                taxonomy: Some(root.join("taxonomy.toml")),
                margins: Some(root.join("records/margins")),
                ..Places::default()
            },
            stated: Stated::default(),
            name: Some("ada".to_owned()),
            role: "release owner".to_owned(),
            key: None,
            supersedes: None,
            alongside: false,
            method: "typed".to_owned(),
            now: "2026-03-04T05:06:07+00:00".to_owned(),
            product: Product { name: "flipside test".to_owned(), build: None },
            trust: None,
            root,
        };
        let desk = Self { folder, request: RefCell::new(request) };
        desk.measure(0.4);
        desk.seal("ada", 0..16);
        desk.seal("bob", 12..24);
        desk
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Makes a parity report at a point.
    fn measure(&self, point: f64) {
        let mut rules = rules();
        rules.recommended = point;
        let mut builder = ReportBuilder::new(rules).expect("rules");
        for position in 0..PICTURES {
            let outputs = Outputs::made(position);
            builder.push(seen(position), &outputs.side(0), &outputs.side(1)).expect("comparable");
            builder.push_noise(&outputs.side(0), &outputs.side(0)).expect("comparable");
        }
        let mut context = context(PICTURES, WHOLE);
        let bytes = fs::read(self.request.borrow().artifact.clone()).expect("readable");
        context.artifacts.b.sha256 = ArtifactHash::of(&bytes).to_hex();
        let manifest = fs::read(self.root().join("fixtures/manifest.txt")).expect("readable");
        context.manifest_hash = ManifestHash::of(&manifest);
        let built = builder.finish(context).expect("a report");
        let bytes = to_bytes(&built.report).expect("finite");
        let path = self.root().join(format!("sessions/reports/at-{point}.json"));
        atomic::write(&path, &bytes).expect("written");
    }

    /// Seals labels of a rater: every third picture is clean.
    fn seal(&self, rater: &str, positions: std::ops::Range<u64>) {
        let manifest = fs::read(self.root().join("fixtures/manifest.txt")).expect("readable");
        let taxonomy = Taxonomy::parse(TAXONOMY).expect("valid");
        let lines = positions.map(|position| LabelLine {
            fixture: seen(position).id,
            pass: 1,
            label: Label {
                presence: if position % 3 == 0 { Presence::Clean } else { Presence::Litter },
                categories: BTreeMap::new(),
                certainty: Certainty::High,
                not_photograph: None,
                note: String::new(),
            },
            labelled_at: "2026-01-05T00:00:00+00:00".to_owned(),
            seconds: None,
            exposed: false,
            seen_as: None,
            amended: None,
        });
        let header = LabelHeader {
            product: "flipside test".to_owned(),
            manifest: ManifestHash::of(&manifest),
            fixture_count: PICTURES,
            taxonomy: taxonomy.hash(),
            groups: taxonomy.groups().iter().map(|group| group.name.clone()).collect(),
            shard: Shard::new(if rater == "ada" { 1 } else { 2 }, 2).expect("a shard"),
            seed: 0,
            overlap: 0.2,
            repeats: 0.0,
            rater: rater.parse().expect("a name"),
            opened_at: "2026-01-05T00:00:00+00:00".to_owned(),
            sealed_at: "2026-01-06T00:00:00+00:00".to_owned(),
            chain_head: None,
            blind: BlindStatus::Enforced,
            confinement: Confinement::None,
            supersedes: None,
        };
        let file = LabelFile::new(header, lines.collect(), Vec::new());
        let path = file.create_in(&self.root().join("labels")).expect("created");
        self.request.borrow_mut().score.labels.push(path);
    }

    fn sign(&self, answers: &[&str]) -> (Result<Written, SigningFault>, String) {
        let mut script = Script::new(answers);
        let outcome = sign(&self.request.borrow(), &mut script);
        (outcome, script.heard)
    }

    fn gate_at(&self, threshold: Option<f64>) -> GateAnswer {
        let request = self.request.borrow();
        let means = again::means(self.root(), Some(&request.artifact), None, true);
        let signoffs = SignOffStore::at(&request.signoffs).list();
        let listing = Registry::at(&request.records).list().expect("readable");
        gate::ask(&request.artifact, threshold, &signoffs, &listing, &means)
    }

    fn files(&self) -> Vec<PathBuf> {
        fn walk(folder: &Path, out: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.path().is_dir() {
                    walk(&entry.path(), out);
                } else {
                    out.push(entry.path());
                }
            }
        }
        let mut out = Vec::new();
        walk(&self.root().join("records"), &mut out);
        out.sort();
        out
    }
}

#[test]
fn from_question_to_gate() {
    let desk = Desk::new();
    assert_eq!(desk.gate_at(None).holds, Holds::No, "nothing is signed yet");
    let (outcome, heard) = desk.sign(&accepting("0.4"));
    let written = outcome.expect("signed");
    assert!(written.record.exists() && written.signoff.exists());
    for shown in [
        "measured at 0.4",
        "slot flips",
        "Recall:",
        "recall candidate ",
        "by nobody",
        "It does not license",
    ] {
        assert!(heard.contains(shown), "{shown} in {heard}");
    }
    assert!(heard.contains("Limits: litter images at least 5"), "{heard}");
    let answer = desk.gate_at(None);
    assert_eq!(answer.holds, Holds::Yes, "{}", answer.reason);
    assert_eq!(desk.gate_at(Some(0.4)).holds, Holds::Yes);
    assert_eq!(desk.gate_at(Some(0.35)).holds, Holds::No);

    let text = fs::read_to_string(&written.record).expect("readable");
    for honest in ["mechanism of the conversion was not stated", "true by construction"] {
        assert!(text.contains(honest), "{honest} in {text}");
    }
}

#[test]
fn another_point_needs_its_own_measurement_and_takes_the_place() {
    let desk = Desk::new();
    desk.sign(&accepting("0.4")).0.expect("signed");
    let (outcome, _) = desk.sign(&accepting("0.35"));
    let Err(SigningFault::Refused(SignRefusal::NotMeasured { .. })) = &outcome else {
        panic!("{outcome:?}")
    };
    let message = outcome.expect_err("refused").to_string();
    assert!(message.contains("flipside parity --threshold 0.35"), "{message}");
    desk.measure(0.35);
    desk.request.borrow_mut().now = "2026-03-05T00:00:00+00:00".to_owned();
    let (outcome, heard) = desk.sign(&accepting("0.35"));
    outcome.expect("signed");
    assert!(heard.contains("This takes the place of sign-off"), "{heard}");
    assert_eq!(desk.gate_at(None).holds, Holds::Yes, "{}", desk.gate_at(None).reason);
    assert_eq!(desk.gate_at(Some(0.35)).holds, Holds::Yes);
    assert_eq!(desk.gate_at(Some(0.4)).holds, Holds::No, "it was superseded");
    assert_eq!(
        Registry::at(desk.root().join("records")).list().expect("readable").records.len(),
        2
    );
}

#[test]
fn a_second_decision_on_one_record_makes_no_second_record() {
    let desk = Desk::new();
    let first = desk.sign(&accepting("0.4")).0.expect("signed");
    desk.request.borrow_mut().now = "2026-03-05T00:00:00+00:00".to_owned();
    let mut answers = accepting("0.4");
    answers[9] = "reject";
    let second = desk.sign(&answers).0.expect("signed");
    assert_eq!(first.record, second.record);
    assert_ne!(first.signoff, second.signoff);
    assert!(desk.gate_at(None).reason.contains("reject"), "{}", desk.gate_at(None).reason);
}

#[test]
fn nothing_is_written_without_the_digits() {
    let desk = Desk::new();
    for last in ["", "yes", "00000000"] {
        let mut answers = accepting("0.4");
        *answers.last_mut().expect("some") = last;
        let (outcome, _) = desk.sign(&answers);
        assert!(outcome.is_err(), "{last}");
        assert_eq!(desk.files(), Vec::<PathBuf>::new(), "{last}");
    }
    let answers = accepting("0.4");
    for gone_after in [0, 1, 7, answers.len() - 1] {
        let (outcome, _) = desk.sign(&answers[..gone_after]);
        assert!(matches!(outcome, Err(SigningFault::Gone(_))), "{outcome:?}");
    }
    assert_eq!(desk.files(), Vec::<PathBuf>::new());
    desk.sign(&answers).0.expect("the good twin");
}

#[test]
fn answers_that_make_no_sense_are_asked_again() {
    let desk = Desk::new();
    let (outcome, heard) = desk.sign(&[
        "",
        "zero",
        "1.5",
        "nan",
        "0.4",
        "-1",
        "some",
        "99",
        "none",
        "none",
        "2",
        "none",
        "none",
        "none",
        "none",
        "maybe",
        "no",
        "y",
        "accepted",
        "defer",
        "",
        "not yet",
        "",
        "weather too",
        "",
        "<digits>",
    ]);
    let written = outcome.expect("signed");
    assert!(heard.contains("expected accept, reject or defer, spelled out"), "{heard}");
    let text = fs::read_to_string(&written.signoff).expect("readable");
    assert!(text.contains("\"maxSlotFlips\":99") && text.contains("weather too"), "{text}");
    assert!(text.contains("\"chosenOnSameData\":false"), "{text}");
}

#[test]
fn without_labels_nothing_can_be_accepted() {
    let desk = Desk::new();
    desk.request.borrow_mut().score.labels.clear();
    let (outcome, heard) = desk.sign(&accepting("0.4"));
    let message = outcome.expect_err("refused").to_string();
    assert!(message.contains("cannot accept: labels: no labels"), "{message}");
    assert!(heard.contains("what these changes cost is not known"), "{heard}");
    let mut answers = accepting("0.4");
    answers[9] = "defer";
    desk.sign(&answers).0.expect("deferring needs none");
    assert_eq!(desk.gate_at(None).holds, Holds::No);
}

#[test]
fn a_limit_that_does_not_hold_cannot_be_accepted() {
    let desk = Desk::new();
    let mut answers = accepting("0.4");
    answers[1] = "0";
    let message = desk.sign(&answers).0.expect_err("refused").to_string();
    assert!(message.contains("cannot accept: slot flips"), "{message}");
    assert_eq!(desk.files(), Vec::<PathBuf>::new());
}

#[test]
fn every_input_changed_by_one_byte_closes_the_gate_and_is_named() {
    let changes: [(&str, &str); 10] = [
        ("models/demo-litter.int8.onnx", "in this place: the file has changed"),
        ("models/demo-litter.int8.meta.json", "sidecar"),
        ("sessions/reports/at-0.4.json", "parity-report"),
        ("fixtures/manifest.txt", "manifest"),
        ("fixtures/images/3.jpg", "pictures images/3.jpg"),
        ("taxonomy.toml", "taxonomy"),
        ("labels", "label-file"),
        ("records/scores", "score-file"),
        ("records", "record"),
        ("records/signoffs", "signoffs"),
    ];
    let desk = Desk::new();
    let written = desk.sign(&accepting("0.4")).0.expect("signed");
    for (place, cause) in changes {
        assert_eq!(desk.gate_at(None).holds, Holds::Yes, "the good twin of {place}");
        let path = match place {
            "records" => written.record.clone(),
            "records/signoffs" => written.signoff.clone(),
            "labels" | "records/scores" => {
                let folder = fs::read_dir(desk.root().join(place)).expect("listing");
                folder.flatten().next().expect("a file").path()
            }
            file => desk.root().join(file),
        };
        let before = fs::read(&path).expect("readable");
        let mut bytes = before.clone();
        // In the middle of a text, so that what is changed still reads as one.
        let at = bytes.len() / 2;
        bytes[at] = if bytes[at] == b'1' { b'2' } else { b'1' };
        atomic::write(&path, &bytes).expect("written");
        let answer = desk.gate_at(None);
        assert_ne!(answer.holds, Holds::Yes, "{place}");
        assert!(answer.reason.contains(cause), "{place}: {}", answer.reason);
        atomic::write(&path, &before).expect("restored");
    }
}

#[test]
fn signed_with_a_key() {
    if !have_ssh() {
        return;
    }
    let desk = Desk::new();
    let key = new_key(desk.root(), "key");
    desk.request.borrow_mut().key = Some(key.clone());
    let written = desk.sign(&accepting("0.4")).0.expect("signed");
    assert!(written.signature.expect("made").exists());
    let text = fs::read_to_string(&written.signoff).expect("readable");
    assert!(text.contains("\"keyId\":\"SHA256:"), "{text}");
    desk.request.borrow_mut().key = Some(desk.root().join("nothing"));
    let other = Desk::new();
    other.request.borrow_mut().key = Some(desk.root().join("nothing"));
    assert!(matches!(other.sign(&accepting("0.4")).0, Err(SigningFault::Key(_))));
    assert_eq!(other.files(), Vec::<PathBuf>::new());
}

#[test]
fn a_key_that_the_root_of_trust_does_not_know_signs_nothing() {
    if !have_ssh() {
        return;
    }
    let desk = Desk::new();
    let (key, other) = (new_key(desk.root(), "key"), new_key(desk.root(), "other"));
    let allow = |key: &Path| {
        let public = fs::read_to_string(key.with_extension("pub")).expect("readable");
        let list = desk.root().join("allowed");
        atomic::write(&list, format!("ada {public}").as_bytes()).expect("written");
        let mut request = desk.request.borrow_mut();
        request.trust = Some(Trust { version: Some(2), ..trust_in(list) });
    };
    allow(&key);
    let without = desk.sign(&accepting("0.4")).0.expect_err("no key");
    assert!(without.to_string().contains("name yours with --key"), "{without}");
    desk.request.borrow_mut().key = Some(key.clone());
    allow(&other);
    let unknown = desk.sign(&accepting("0.4")).0.expect_err("another's key");
    assert!(unknown.to_string().contains("no valid entry for \"ada\" with this key"), "{unknown}");
    assert_eq!(desk.files(), Vec::<PathBuf>::new());
    allow(&key);
    let written = desk.sign(&accepting("0.4")).0.expect("the good twin");
    let text = fs::read_to_string(&written.signoff).expect("readable");
    assert!(text.contains("\"trustVersion\":2"), "{text}");
}

#[test]
fn who_labelled_alone_and_signs_says_so_in_what_is_signed() {
    let desk = Desk::new();
    let (_, heard) = desk.sign(&accepting("0.4"));
    assert!(!heard.contains(SIGNER_LABELLED), "bob labelled too: {heard}");
    let desk = Desk::new();
    desk.request.borrow_mut().score.labels.truncate(1);
    desk.request.borrow_mut().name = Some("bob".to_owned());
    let (_, heard) = desk.sign(&accepting("0.4"));
    assert!(!heard.contains(SIGNER_LABELLED), "ada labelled, bob signs: {heard}");
    desk.request.borrow_mut().name = Some("ada@example.org".to_owned());
    desk.request.borrow_mut().alongside = true;
    let (outcome, heard) = desk.sign(&accepting("0.4"));
    assert!(heard.contains("You made every label yourself"), "{heard}");
    let text = fs::read_to_string(outcome.expect("signed").signoff).expect("readable");
    assert!(text.contains(SIGNER_LABELLED), "{text}");
    let answer = desk.gate_at(None);
    assert!(answer.reason.contains("ada made every label"), "{}", answer.reason);
}
