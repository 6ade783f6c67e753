//! Records: pinned hashes, every refusal with its good twin, every edit noticed.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use super::comparison::{self, ReportShape, first_difference};
use super::identity::Identity;
use super::refusal::Refusal;
use super::registry::{FileBytes, INDEX_NAME, Registry, RegistryFault, Stored};
use super::release::{NewRecord, ReleaseRecord, Role};
use super::testing::{
    CANDIDATE, IDENTITY, REFERENCE, new_record, record, report, tree, with, without,
};
use crate::domain::canonical::Json;
use crate::domain::digest::{ContentHash, ReportHash};
use crate::shared_dir::shared_dir;
use crate::store::atomic;

#[test]
fn hashes_are_those_another_program_computed() {
    let record = record();
    assert_eq!(record.identity.tree.to_canonical(), IDENTITY);
    assert_eq!(
        record.record_id.to_hex(),
        "cfcf00c4385bbadaa06f0cc7620dfa37353f17ce5ee3c829d7a495a82bb36935"
    );
    assert_eq!(
        record.identity.release_key().to_hex(),
        "4c0f69803d0d989ea1a04570bfb00bdf735697a767d3c513a9302f015be00dd9"
    );
    assert_eq!(
        record.identity.target_digest().to_hex(),
        "ee409cf572f3c69d7738326b4264f1e06d4205ca659dc132046312d587ca67f6"
    );
    assert_eq!(record.file_name(), "probe.v1.2.3-int8.cfcf00c4385b.json");
    assert!(record.measured_on_target());
    assert_eq!(ReleaseRecord::parse(record.file_text().as_bytes()), Ok(record));
}

#[test]
fn whole_number_and_float_are_two_identities() {
    let float = with(tree(IDENTITY), &["thresholds", "iouRecommended"], Json::Float(1.0));
    let float = Identity::from_tree(float).expect("readable");
    assert_ne!(float.record_id(), record().record_id);
}

#[test]
fn the_file_is_ascii_sorted_and_ends_in_one_newline() {
    let text = record().file_text();
    assert!(text.is_ascii() && text.contains("caf\\u00e9 \\ud83d\\ude00"), "{text}");
    assert!(text.starts_with("{\n  \"artifactPath\"") && text.ends_with("\n}\n"));
}

#[test]
fn unknown_keys_are_kept() {
    let odd = with(record().tree().clone(), &["later"], Json::Float(1e16));
    let odd = ReleaseRecord::from_tree(odd).expect("unknown keys are no fault");
    assert!(odd.file_text().contains("\"later\": 1e+16"));
}

/// One edit per rule that fires while reading, in the peer's order.
#[allow(clippy::type_complexity, reason = "named once, read once")]
fn edits() -> Vec<(u8, Box<dyn Fn(Json) -> Json>)> {
    let at = |path: &'static [&'static str], value: Json| {
        Box::new(move |tree: Json| with(tree, path, value.clone())) as Box<dyn Fn(Json) -> Json>
    };
    vec![
        (1, at(&["parity"], Json::Null)),
        (2, at(&["parity"], Json::text("a report"))),
        (3, at(&["parity", "role"], Json::text("judge"))),
        (4, at(&["identity", "precision"], Json::text("int4"))),
        (5, at(&["version"], Json::text("1.2.3-int8"))),
        (6, at(&["version"], Json::text("v1.2.3-fp16"))),
        (7, at(&["precisionEvidence", "impliedPrecision"], Json::text("fp32"))),
        (8, at(&["identity", "conversion", "sourceSha256"], Json::Null)),
        (9, at(&["identity", "classes", "count"], Json::int(0))),
        (10, at(&["identity", "io", "outputs"], Json::Array(Vec::new()))),
        (11, at(&["identity", "artifact", "bytes"], Json::int(0))),
        (12, at(&["parity", "artifactSha256"], Json::text(REFERENCE))),
        (13, at(&["parity", "confThreshold"], Json::Float(0.400_000_002))),
        (14, at(&["parity", "comparedAgainstSha256"], Json::text(CANDIDATE))),
        (15, at(&["recordId"], Json::text(REFERENCE))),
    ]
}

#[test]
fn every_refusal_fires_and_the_unedited_record_passes() {
    let good = record().tree().clone();
    assert!(ReleaseRecord::from_tree(good.clone()).is_ok());
    for (row, edit) in edits() {
        let refusal = ReleaseRecord::from_tree(edit(good.clone())).expect_err("an edit");
        assert_eq!(refusal.peer_row(), Some(row), "{refusal}");
    }
    let gone = ReleaseRecord::from_tree(without(good.clone(), &["parity"]));
    assert_eq!(gone, Err(Refusal::ParityAbsent));
    for missing in [Json::Null, Json::text("")] {
        let refusal = ReleaseRecord::from_tree(with(good.clone(), &["recordId"], missing));
        assert!(matches!(refusal, Err(Refusal::RecordIdMissing { .. })), "{refusal:?}");
    }
    let gone = ReleaseRecord::from_tree(without(good, &["recordId"]));
    assert!(matches!(gone, Err(Refusal::RecordIdMissing { .. })), "{gone:?}");
}

#[test]
fn of_two_faults_the_earlier_rule_fires() {
    let edits = edits();
    for (index, (first, edit)) in edits.iter().enumerate() {
        for (second, other) in &edits[index + 1..] {
            // One edit must not undo or hide the other.
            let same_place = (*first <= 2 && *second > 2 && [3, 12, 13, 14].contains(second))
                || (*first == 1 && *second == 2)
                || (*first == 5 && *second == 6);
            if same_place {
                continue;
            }
            let both = other(edit(record().tree().clone()));
            let refusal = ReleaseRecord::from_tree(both).expect_err("two edits");
            // Without a source, rule 14 has nothing to compare with; 8 stands before it anyway.
            assert_eq!(refusal.peer_row(), Some(*first), "{first} and {second}: {refusal}");
        }
    }
}

#[test]
fn limits_of_the_rules() {
    let good = record().tree().clone();
    let near = with(good.clone(), &["parity", "confThreshold"], Json::Float(0.400_000_000_5));
    assert!(ReleaseRecord::from_tree(near).is_ok());
    let nothing = with(good.clone(), &["precisionEvidence", "impliedPrecision"], Json::Null);
    assert!(ReleaseRecord::from_tree(nothing).is_ok(), "null implied is no objection");
    let nobody = with(good.clone(), &["precisionEvidence"], Json::Null);
    assert!(ReleaseRecord::from_tree(nobody).is_ok(), "nobody looked");
    let reference = with(good.clone(), &["parity", "role"], Json::text("reference"));
    let other = with(reference, &["parity", "comparedAgainstSha256"], Json::text(CANDIDATE));
    assert!(ReleaseRecord::from_tree(other).is_ok(), "only a candidate has a source to match");
    for schema in [Json::int(2), Json::text("1"), Json::Float(1.0), Json::Null] {
        let refused = ReleaseRecord::from_tree(with(good.clone(), &["schemaVersion"], schema));
        assert!(matches!(refused, Err(Refusal::Unreadable(_))), "{refused:?}");
    }
}

#[test]
fn native_exports_need_no_source() {
    let native = with(tree(IDENTITY), &["conversion", "sourceSha256"], Json::Null);
    let native = with(native, &["conversion", "mechanism"], Json::text("native-export"));
    let made = ReleaseRecord::assemble(NewRecord { identity: native, ..new_record() });
    assert!(made.is_ok(), "{made:?}");
}

#[test]
fn measured_on_target_is_derived_whatever_the_file_says() {
    let elsewhere = with(tree(IDENTITY), &["target", "hostClass"], Json::text("a robot"));
    let made =
        ReleaseRecord::assemble(NewRecord { identity: elsewhere, ..new_record() }).expect("good");
    assert!(!made.measured_on_target());
    assert_eq!(made.stored_measured_on_target(), Some(false));
    let lie = with(made.tree().clone(), &["measuredOnTarget"], Json::Bool(true));
    let lie = ReleaseRecord::from_tree(lie).expect("the peer does not refuse it either");
    assert!(!lie.measured_on_target());
}

#[test]
fn a_report_is_transcribed_for_the_side_the_artifact_is_on() {
    let hash = ReportHash::of(b"r");
    let candidate = comparison::transcribe(&report(), "r.json", hash, CANDIDATE, None).expect("b");
    let reference = comparison::transcribe(&report(), "r.json", hash, REFERENCE, None).expect("a");
    let text = |tree: &Json, key| tree.get(key).and_then(Json::as_str).map(str::to_owned);
    assert_eq!(text(&candidate, "role").as_deref(), Some("candidate"));
    assert_eq!(text(&reference, "role").as_deref(), Some("reference"));
    assert_eq!(text(&reference, "artifactSha256").as_deref(), Some(REFERENCE));
    let at = |tree: &Json, path: &[&str]| tree.at(path).expect("present").to_canonical();
    assert_eq!(at(&candidate, &["comparison", "latencyMsThisArtifact", "p50"]), "1.0");
    assert_eq!(at(&reference, &["comparison", "latencyMsThisArtifact", "p50"]), "2.0");
    assert_eq!(at(&candidate, &["comparison", "maxAbsDeltaByOutput", "labels"]), "1e-05");
    assert_eq!(at(&candidate, &["comparison", "maxRelDeltaByOutput", "labels"]), "3");
    assert_eq!(at(&candidate, &["comparison", "atRecommendedThreshold", "thresholdFlips"]), "2");
}

#[test]
fn engine_reports_are_known_by_shape_and_not_transcribed() {
    let version = with(report(), &["schemaVersion"], Json::int(1));
    let engine = with(version.clone(), &["environment", "tensorrt"], Json::text("11.2"));
    assert_eq!(ReportShape::of(&engine), Some(ReportShape::Engine));
    assert!(engine.at(&["environment", "onnxruntime"]).is_some(), "which is why no key decides");
    let refused = comparison::derive(&engine, Role::Candidate);
    assert!(matches!(refused, Err(ref refusal) if refusal.peer_row() == Some(18)), "{refused:?}");
    let role = with(version.clone(), &["artifacts", "b", "role"], Json::text("tensorrt-engine"));
    assert_eq!(ReportShape::of(&role), Some(ReportShape::Engine));
    assert_eq!(ReportShape::of(&version), None);
    assert_eq!(ReportShape::of(&without(report(), &["environment", "onnxruntime"])), None);
    assert_eq!(ReportShape::of(&report()), Some(ReportShape::Onnx));
    let short = without(report(), &["latencyMs"]);
    let refused = comparison::derive(&short, Role::Candidate).expect_err("a field is missing");
    assert!(refused.to_string().contains("latencyMs.b"), "{refused}");
}

#[test]
fn a_comparison_is_checked_against_its_report_in_either_shape() {
    let stored = record().parity.comparison;
    assert_eq!(first_difference(&stored, &report(), Role::Candidate), Ok(None));
    let edited = with(stored, &["atRecommendedThreshold", "thresholdFlips"], Json::int(1));
    let found = first_difference(&edited, &report(), Role::Candidate).expect("readable");
    let found = found.expect("a difference");
    assert_eq!(
        (found.path.as_str(), found.expected.as_str(), found.found.as_str()),
        ("parity.comparison.atRecommendedThreshold.thresholdFlips", "2", "1")
    );
    let by_hand = tree(
        r#"{"atRecommendedThreshold":{"classFlips":1,"detectionsA":5,"detectionsB":7,"threshold":0.4,
            "thresholdFlips":2},"maxAbsDeltaByOutput":{"dets":0.5,"labels":1e-05}}"#,
    );
    assert_eq!(first_difference(&by_hand, &report(), Role::Candidate), Ok(None));
    let extra = with(by_hand, &["maxAbsDeltaByOutput", "masks"], Json::Float(0.0));
    let found = first_difference(&extra, &report(), Role::Candidate).expect("readable");
    assert_eq!(found.map(|found| found.expected), Some("nothing".to_owned()));
}

#[test]
fn registering_creates_then_finds_then_refuses() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let registry = Registry::at(folder.path().join("records"));
    assert!(registry.list().expect("absent folder").records.is_empty());
    let created = registry.register(&record()).expect("created");
    let Stored::Created { path } = &created else { panic!("{created:?}") };
    assert_eq!(fs::read(path).expect("readable"), record().file_text().as_bytes());

    let later = NewRecord { registered_at: "2030-01-01T00:00:00+00:00".to_owned(), ..new_record() };
    let again = registry.register(&ReleaseRecord::assemble(later).expect("good")).expect("same");
    let Stored::Idempotent { registered_at, .. } = &again else { panic!("{again:?}") };
    assert_eq!(registered_at, "2026-01-02T04:00:00+00:00");

    let noted = NewRecord { notes: vec!["other".to_owned()], ..new_record() };
    let refused = registry.register(&ReleaseRecord::assemble(noted).expect("good"));
    let Err(RegistryFault::Refused(Refusal::Immutable { differing, .. })) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(differing, ["notes"]);

    let other = REFERENCE.replace('a', "c");
    let identity = with(tree(IDENTITY), &["artifact", "sha256"], Json::text(&other));
    let parity = with(new_record().parity, &["artifactSha256"], Json::text(&other));
    let twin = NewRecord { identity: identity.clone(), parity: parity.clone(), ..new_record() };
    let refused = registry.register(&ReleaseRecord::assemble(twin.clone()).expect("good"));
    assert!(
        matches!(refused, Err(RegistryFault::Refused(Refusal::VersionCollision { .. }))),
        "{refused:?}"
    );
    let next = NewRecord { version: "v1.2.4-int8".to_owned(), ..twin };
    registry.register(&ReleaseRecord::assemble(next).expect("good")).expect("another version");
    let listing = registry.list().expect("readable");
    assert_eq!(listing.records.len(), 2);
    assert!(listing.records.iter().all(|entry| entry.bytes == FileBytes::AsRegistered));
}

#[test]
fn names_that_would_leave_the_folder_are_refused() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let registry = Registry::at(folder.path());
    for name in ["../up", "a/b", "", ".hidden", "a\nb", "caf\u{e9}"] {
        let identity = with(tree(IDENTITY), &["modelName"], Json::text(name));
        let record =
            ReleaseRecord::assemble(NewRecord { identity, ..new_record() }).expect("readable");
        let refused = registry.register(&record);
        assert!(
            matches!(refused, Err(RegistryFault::Refused(Refusal::ModelName { .. }))),
            "{refused:?}"
        );
    }
    assert!(registry.register(&record()).is_ok());
}

#[test]
fn a_bad_file_is_named_and_the_others_are_listed() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let registry = Registry::at(folder.path());
    registry.register(&record()).expect("created");
    let text = record().file_text();
    for (name, bytes) in [
        ("half.json", &text.as_bytes()[..text.len() / 2]),
        ("twice.json", br#"{"schemaVersion":1,"schemaVersion":1}"#),
        ("nan.json", br#"{"schemaVersion":NaN}"#),
        ("surrogate.json", br#"{"schemaVersion":"\ud800"}"#),
        ("empty.json", b""),
    ] {
        atomic::write(&folder.path().join(name), bytes).expect("written");
    }
    atomic::write(&folder.path().join("signoffs/x.json"), b"{}").expect("written");
    let listing = registry.list().expect("readable");
    assert_eq!(listing.records.len(), 1);
    assert_eq!(listing.quarantined.len(), 5, "{:?}", listing.quarantined);
    let twice = listing.quarantined.iter().find(|bad| bad.file_name == "twice.json");
    assert!(twice.expect("named").reason.contains("occurs twice"));
}

#[test]
fn a_removed_record_is_missed_and_a_foreign_one_is_marked() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let registry = Registry::at(folder.path());
    registry.register(&record()).expect("created");
    fs::remove_file(folder.path().join(record().file_name())).expect("removed");
    assert_eq!(registry.list().expect("readable").gone, [record().file_name()]);
    let foreign = folder.path().join("foreign.json");
    atomic::write(&foreign, record().file_text().as_bytes()).expect("written");
    let listing = registry.list().expect("readable");
    assert_eq!(listing.records[0].bytes, FileBytes::NotIndexed);
    assert_ne!(listing.records[0].file_name, listing.records[0].record.file_name());
    atomic::write(&folder.path().join(INDEX_NAME), b"not an index\n").expect("written");
    assert!(matches!(registry.list(), Err(RegistryFault::Index { line: 1, .. })));
}

/// Every leaf of a tree, as a path of keys and indexes.
fn leaves(tree: &Json, here: &mut Vec<String>, out: &mut Vec<Vec<String>>) {
    match tree {
        Json::Object(fields) => {
            for (key, value) in fields {
                here.push(key.clone());
                leaves(value, here, out);
                here.pop();
            }
        }
        Json::Array(items) if !items.is_empty() => {
            for (index, value) in items.iter().enumerate() {
                here.push(index.to_string());
                leaves(value, here, out);
                here.pop();
            }
        }
        _ => out.push(here.clone()),
    }
}

fn leaf_mut<'a>(tree: &'a mut Json, path: &[String]) -> &'a mut Json {
    path.iter().fold(tree, |tree, key| match tree {
        Json::Object(fields) => fields.get_mut(key).expect("a field"),
        Json::Array(items) => &mut items[key.parse::<usize>().expect("an index")],
        _ => panic!("no leaf at {path:?}"),
    })
}

/// Other values one leaf may be edited to.
fn other_values(leaf: &Json) -> Vec<Json> {
    let mut values = match leaf {
        Json::Null => vec![Json::text("x")],
        Json::Bool(flag) => vec![Json::Bool(!flag)],
        Json::Int(digits) => {
            let number: f64 = digits.parse().expect("a number");
            vec![Json::Int(format!("{digits}0")), Json::Int("1".to_owned()), Json::Float(number)]
        }
        Json::Float(value) => vec![Json::Float(value * 1.000_000_1), Json::int(1)],
        Json::Text(text) => {
            let first = text.chars().next();
            let flipped: String = first
                .map(|first| if first == 'a' { 'b' } else { 'a' })
                .into_iter()
                .chain(text.chars().skip(1))
                .collect();
            vec![Json::text(flipped), Json::text(format!("{text} "))]
        }
        Json::Array(_) | Json::Object(_) => vec![Json::Null],
    };
    values.push(Json::Null);
    values.retain(|value| value.to_canonical() != leaf.to_canonical());
    values
}

/// Edits everything in one record, one place at a time, and sees every edit noticed.
fn every_edit_is_noticed(record: &ReleaseRecord) {
    let folder = tempfile::tempdir().expect("temporary folder");
    let registry = Registry::at(folder.path());
    let path = registry.register(record).expect("created").path().to_owned();
    let noticed = |text: &str| -> String {
        // Without syncs: there are hundreds of these.
        fs::File::create(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .expect("written");
        let mut listing = registry.list().expect("readable");
        match (listing.records.pop(), listing.quarantined.pop()) {
            (Some(entry), None) => match entry.bytes {
                FileBytes::AsRegistered => "nothing".to_owned(),
                FileBytes::SameContent { .. } => "same content".to_owned(),
                FileBytes::Changed { .. } => "changed".to_owned(),
                FileBytes::NotIndexed => "not indexed".to_owned(),
            },
            (None, Some(bad)) => bad.reason,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(noticed(&record.file_text()), "nothing", "the unedited twin");
    let mut paths = Vec::new();
    leaves(record.tree(), &mut Vec::new(), &mut paths);
    assert!(paths.len() > 40);
    for leaf in paths {
        let mut tree = record.tree().clone();
        let values = other_values(leaf_mut(&mut tree, &leaf));
        for value in values {
            *leaf_mut(&mut tree, &leaf) = value;
            let seen = noticed(&format!("{}\n", tree.to_file()));
            assert!(seen != "nothing" && seen != "same content", "{leaf:?}: {seen}");
            if leaf[0] == "identity" {
                assert_ne!(seen, "changed", "{leaf:?} is covered by the id itself");
            }
        }
    }
    let added = with(record.tree().clone(), &["identity", "later"], Json::Null);
    assert!(noticed(&added.to_file()).starts_with("RegistryError"));
    let added = with(record.tree().clone(), &["later"], Json::Null);
    assert_eq!(noticed(&added.to_file()), "changed");
    let bare = without(record.tree().clone(), &["recordId"]);
    assert!(noticed(&bare.to_file()).starts_with("RegistryError: recordId is missing"));
    assert_eq!(noticed(&record.tree().to_canonical()), "same content", "indentation");
    let reversed = record.file_text().replace("  ", "\t");
    assert_eq!(noticed(&reversed), "same content", "white space");
    fs::hard_link(&path, path.with_file_name("renamed.json")).expect("linked");
    fs::remove_file(&path).expect("removed");
    let listing = registry.list().expect("readable");
    assert_eq!(listing.gone.len(), 1);
    assert_ne!(listing.records[0].file_name, listing.records[0].record.file_name());
}

#[test]
fn every_edit_of_a_record_is_noticed() {
    every_edit_is_noticed(&record());
}

/// The five records of the peer, with their published numbers.
const SHARED: [(&str, &str, usize, &str, &str, bool); 5] = [
    (
        "rfdetr-s-litter.v2.0.1-int8.c02f95d84568.json",
        "c02f95d84568e376cbd223be81ecac4b53c969e33a9cfa5bceb0b84394fca04e",
        964,
        "ff5155204729f232d9a05b5231ea7e4388860909a59a382c52749f331ffa21ab",
        "7e5d33534fad",
        true,
    ),
    (
        "rfdetr-s-litter.v2.0.1-fp16.61538e6fbff6.json",
        "61538e6fbff6bd3879b933a203f3f3ef7a418bf2bf931f04d5fd6a23d8d12c63",
        1041,
        "9bf3891233e20b424b1c9010e1a5135ae76f0cf8e459e0c7512cccffd27d69b5",
        "b93adbc236f5",
        true,
    ),
    (
        "rfdetr-s-litter.v2.0.1-fp32.31486ca5ebe0.json",
        "31486ca5ebe0ee190b043d8bf723961a3f55d6c0b3cf2e1c86c48b27ac91ea4f",
        881,
        "c0ef539c2ae88ff041f073bfbfd0b7051bf63b68e9bbcfbd03554063d5f98a34",
        "ea3f9a47c4ac",
        false,
    ),
    (
        "rfdetr-s-litter.v2.0.1-fp32.357df9832c8d.json",
        "357df9832c8da5ad68afe9cba2b05509b11ffa87399d9888bce73b95c344b95a",
        965,
        "dc34b7424e47fa3d30ddc3311ecd925239359d141df5cfa4bf1f7054ca055773",
        "03f57c990e9a",
        false,
    ),
    (
        "rfdetr-s-litter.v2.0.1-fp32.644e1873370d.json",
        "644e1873370d8fd2215096cb4363927d49a22bdec30c06d22c0c613c77b5ebdc",
        964,
        "084388992de6e8609e1ac24bdbb7a9361e85a3b86a639022ca108925c487d16b",
        "03f57c990e9a",
        false,
    ),
];

fn shared_record(folder: &Path, name: &str) -> ReleaseRecord {
    let bytes = fs::read(folder.join("seed-data/registry").join(name)).expect("readable");
    let record = ReleaseRecord::parse(&bytes).expect("a good record");
    assert_eq!(record.file_text().as_bytes(), bytes, "{name}: byte for byte");
    record
}

#[test]
fn shared_records_recompute_to_their_own_ids() {
    let Some(folder) = shared_dir() else { return };
    for (name, id, length, key, target, on_target) in SHARED {
        let record = shared_record(&folder, name);
        assert_eq!(record.record_id.to_hex(), id);
        assert_eq!(record.identity.tree.to_canonical().len(), length);
        assert_eq!(record.identity.release_key().to_hex(), key);
        assert_eq!(record.identity.target_digest().short(), target);
        assert_eq!(record.measured_on_target(), on_target);
        assert_eq!(record.stored_measured_on_target(), Some(on_target));
        assert_eq!(record.file_name(), name);
    }
}

#[test]
fn shared_records_every_edit_is_noticed() {
    let Some(folder) = shared_dir() else { return };
    for (name, ..) in SHARED {
        every_edit_is_noticed(&shared_record(&folder, name));
    }
}

#[test]
fn shared_comparisons_are_those_of_the_reports() {
    let Some(folder) = shared_dir() else { return };
    for (name, ..) in SHARED {
        let record = shared_record(&folder, name);
        let bytes = fs::read(folder.join("seed-data").join(&record.parity.report)).expect("report");
        let report = Json::parse(&bytes).expect("JSON");
        let found = first_difference(&record.parity.comparison, &report, record.parity.role);
        assert_eq!(found, Ok(None), "{name}");
        // Three of the five reports had a private path taken out of them.
        let same = ReportHash::of(&bytes) == record.parity.report_hash;
        assert_eq!(same, record.identity.target.runtime == "tensorrt", "{name}");
        if !same {
            let parity = comparison::transcribe(
                &report,
                &record.parity.report,
                record.parity.report_hash,
                &record.identity.artifact.to_hex(),
                Some(record.parity.role),
            );
            assert_eq!(parity.as_ref().ok(), record.tree().get("parity"), "{name}");
        }
        let weights = &record.evidence.as_ref().expect("somebody looked").weights;
        let implied = super::identity::Precision::implied_by(weights).map(|word| word.word());
        assert_eq!(implied, record.evidence.as_ref().and_then(|found| found.implied.as_deref()));
    }
}

#[test]
fn shared_class_list_hashes_to_the_records_class_hash() {
    let Some(folder) = shared_dir() else { return };
    let bytes = fs::read(folder.join("seed-data/classes-43.json")).expect("readable");
    let tree = Json::parse(&bytes).expect("JSON");
    let classes: Vec<String> = tree.to_typed().expect("a list of names");
    let record = shared_record(&folder, SHARED[0].0);
    let stored = record.identity.tree.at(&["classes", "sha256"]).and_then(Json::as_str);
    assert_eq!(stored, Some(super::identity::class_hash(&classes).to_hex().as_str()));
    assert_eq!(ContentHash::of(&bytes), super::identity::class_hash(&classes));
}
