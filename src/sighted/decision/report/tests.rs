//! Reports as a whole: built, written, read, tampered with, joined, compared.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use proptest::prelude::*;

use super::baseline::{BaselineError, compare};
use super::build::{BuildError, ReportBuilder};
use super::merge::{MergeError, ShardReport, merge};
use super::read::{AnyReport, MAX_REPORT_BYTES, ReadReportError, read, read_any};
use super::write::to_bytes;
use super::*;
use crate::domain::canonical::Json;
use crate::domain::digest::{ContentHash, ManifestHash};
use crate::shared_dir::shared_dir;
use crate::sighted::decision::fold::FixtureFold;
use crate::sighted::decision::testing::*;

#[test]
fn a_report_reads_back_equal_and_holds_together() {
    let report = made_report(20);
    let bytes = to_bytes(&report).expect("finite");
    assert_ne!(bytes.last(), Some(&b'\n'));
    assert!(bytes.is_ascii());
    let again = read(&bytes).expect("holds together");
    assert_eq!(again.report, report);
    let ours = report.flipside.expect("ours");
    assert_eq!((report.fixtures.count, ours.fixtures.len()), (17, 20));
    assert!(ours.items.len() > 10, "the made-up outputs differ: {}", ours.items.len());
    assert!(ours.items.iter().any(|item| item.kind == ItemKind::MovedSlot));
    assert!(ours.items.iter().any(|item| item.kind == ItemKind::Relabelled));
    assert_eq!(ours.quantiles, "exact");
    assert_eq!(ours.noise_floor.fixtures, 17);
    assert_eq!(ours.noise_floor.max_abs_delta["labels"], 0.0);
    assert_eq!(report.latency_ms.b, LatencySide { p50: 1.5, p95: 2.4, n: 3 });
}

#[test]
fn a_number_json_cannot_hold_is_not_written() {
    let mut report = made_report(3);
    assert!(to_bytes(&report).is_ok());
    report.latency_ms.a.p50 = f64::NAN;
    assert!(to_bytes(&report).is_err());
    let mut report = made_report(3);
    let ours = report.flipside.as_mut().expect("ours");
    ours.fixtures[0].found.as_mut().expect("compared").a.best = Some(f64::INFINITY);
    assert!(to_bytes(&report).is_err(), "an optional number is not lost either");
}

#[test]
fn the_outcome_does_not_depend_on_how_fixtures_came_in() {
    let whole = made_report(10);
    let mut builder = ReportBuilder::new(rules()).expect("rules");
    for position in (0..10).rev() {
        if position % 7 == 5 {
            let path = format!("images/{position}.jpg");
            builder.push_left_out(position, path, None, "not a picture".to_owned());
            continue;
        }
        // As if the fold had been kept on disk by an interrupted run.
        let outputs = Outputs::made(position);
        let id = seen(position).id.to_hex();
        let fold = FixtureFold::of(&rules(), &id, &outputs.side(0), &outputs.side(1));
        let kept = serde_json::to_string(&fold.expect("comparable")).expect("serialisable");
        let fold = serde_json::from_str(&kept).expect("readable");
        builder.push_fold(seen(position), fold).expect("alike");
        builder.push_noise(&outputs.side(0), &outputs.side(0)).expect("comparable");
    }
    assert_eq!(builder.fixtures(), 10);
    assert_eq!(builder.so_far().threshold_rows(), whole.decode.by_threshold);
    let built = builder.finish(context(10, WHOLE)).expect("a report");
    assert_eq!(to_bytes(&built.report), to_bytes(&whole));
    assert_eq!(built.state, None);
}

#[test]
fn nothing_is_never_a_report() {
    let finish = |builder: ReportBuilder, shard| builder.finish(context(9, shard));
    let mut builder = ReportBuilder::new(rules()).expect("rules");
    let nothing = |left_out, first| Err(BuildError::NothingCompared { left_out, first });
    assert_eq!(finish(builder.clone(), WHOLE), nothing(0, None));
    builder.push_left_out(0, "a.jpg".to_owned(), None, "gone".to_owned());
    assert_eq!(
        finish(builder.clone(), WHOLE),
        nothing(1, Some(("a.jpg".to_owned(), "gone".to_owned())))
    );
    // A shard may be empty; it is no answer by itself.
    let shard = finish(builder, ShardEntry { index: 1, of: 9 }).expect("a part");
    assert!(read(&to_bytes(&shard.report).expect("finite")).is_ok());

    let mut flooded = Outputs::made(1);
    flooded.flood(f32::NAN);
    let mut builder = ReportBuilder::new(rules()).expect("rules");
    builder.push(seen(0), &flooded.side(0), &flooded.side(1)).expect("comparable");
    let error = finish(builder.clone(), WHOLE).expect_err("all NaN");
    assert_eq!(error, BuildError::NothingFinite { output: "labels".to_owned() });
    // With one good fixture beside it, it is a report, and the lost detections are in it.
    let good = Outputs::unchanged(2);
    builder.push(seen(1), &good.side(0), &good.side(1)).expect("comparable");
    let report = finish(builder, WHOLE).expect("a report").report;
    let ours = report.flipside.as_ref().expect("ours");
    assert_eq!(ours.non_finite["labels"], Sides { a: 0, b: 32 });
    let row = &ours.set_matching.by_threshold[2];
    assert!(row.vanished > 0 && row.images_presence_changed == 1);
    let found = ours.fixtures[0].found.as_ref().expect("compared");
    assert_eq!((found.b.best, found.b.non_finite_slots), (None, QUERIES as u64));
    assert!(read(&to_bytes(&report).expect("finite")).is_ok());
}

#[test]
fn what_does_not_fit_is_refused_and_leaves_nothing_behind() {
    let mut builder = pushed(3, WHOLE);
    let before = builder.clone().finish(context(3, WHOLE));
    let outputs = Outputs::made(1);
    let only_one = &outputs.side(0)[..1];
    assert!(builder.push(seen(3), only_one, only_one).is_err());
    let mut fold =
        FixtureFold::of(&rules(), "f", &outputs.side(0), &outputs.side(1)).expect("good");
    fold.queries = 7;
    assert!(matches!(builder.push_fold(seen(3), fold.clone()), Err(BuildError::Changed { .. })));
    fold.queries = 8;
    fold.deltas[0].sums.name = "boxes".to_owned();
    assert!(matches!(builder.push_fold(seen(3), fold), Err(BuildError::Changed { .. })));
    assert_eq!(builder.clone().finish(context(3, WHOLE)), before);

    let error = builder.clone().finish(context(2, WHOLE)).expect_err("outside");
    assert!(matches!(error, BuildError::Position { position: 2, .. }));
    builder.push(seen(1), &outputs.side(0), &outputs.side(1)).expect("good");
    let error = builder.clone().finish(context(3, WHOLE)).expect_err("twice");
    assert!(matches!(error, BuildError::Position { position: 1, .. }));

    for (index, of) in [(0, 1), (2, 1), (1, 0)] {
        let error = pushed(3, WHOLE).finish(context(3, ShardEntry { index, of }));
        assert!(matches!(error, Err(BuildError::Context(_))), "{index} of {of}");
    }
    let mut wrong = context(3, WHOLE);
    wrong.classes.pop();
    assert!(matches!(pushed(3, WHOLE).finish(wrong), Err(BuildError::Context(_))));
    let mut wrong = context(3, WHOLE);
    wrong.run_ms.a.push(f64::NAN);
    assert!(matches!(pushed(3, WHOLE).finish(wrong), Err(BuildError::Context(_))));
}

/// Every field that follows from others is changed once; each change is seen, at its field.
#[test]
fn a_report_that_contradicts_itself_is_refused() {
    type Change = fn(&mut ParityReport);
    fn ours(report: &mut ParityReport) -> &mut Extension {
        report.flipside.as_mut().expect("ours")
    }
    let good = made_report(20);
    let changes: [(&str, Change); 31] = [
        ("artifacts.b.sha256", |report| report.artifacts.b.sha256.push('0')),
        ("fixtures.manifestSha256", |report| report.fixtures.manifest_sha256.clear()),
        ("fixtures.count", |report| report.fixtures.count += 1),
        ("fixtures.count", |report| report.fixtures.count = 0),
        ("rawOutputs", |report| report.raw_outputs.clear()),
        ("rawOutputs[0].relElements", |report| report.raw_outputs[0].rel_elements_compared -= 1),
        ("exceedance[0].absOnly.count", |report| {
            report.raw_outputs[0].exceedance[0].abs_only.count = u64::MAX;
        }),
        ("exceedance[1].or.fraction", |report| {
            report.raw_outputs[1].exceedance[1].or.fraction += 0.1;
        }),
        ("decode.byThreshold", |report| report.decode.conf_threshold_recommended = 0.41),
        ("decode.byThreshold", |report| report.decode.by_threshold[0].is_recommended = true),
        ("decode.byThreshold", |report| report.decode.by_threshold.reverse()),
        ("[2].thresholdFlips", |report| report.decode.by_threshold[2].threshold_flips += 1),
        ("[2].detectionsA - flipsAOnly", |report| {
            report.decode.by_threshold[2].detections_a += 1;
        }),
        ("[2].classArgmaxFlips", |report| {
            report.decode.by_threshold[2].class_argmax_flips = 100_000;
        }),
        ("[2].imagesWithAnyFlip", |report| {
            report.decode.by_threshold[2].images_with_any_flip += 1;
        }),
        ("perImage[1].flips", |report| {
            report.per_image[1].flips.remove("0.4");
        }),
        ("[2].thresholdFlips", |report| {
            *report.per_image[1].flips.get_mut("0.4").expect("there") += 1;
        }),
        // From here on only our own reports can tell.
        ("perImage[0].image", |report| report.per_image[0].image = "other.jpg".to_owned()),
        ("classArgmaxFlips", |report| report.decode.by_threshold[0].class_argmax_flips += 1),
        ("flipside.schema", |report| ours(report).schema = 2),
        ("flipside.classes", |report| {
            ours(report).classes.pop();
        }),
        ("flipside.detectionFloor", |report| ours(report).detection_floor = 0.25),
        ("flipside.fixtures[1].position", |report| ours(report).fixtures[1].position = 0),
        ("flipside.fixtures[0].status", |report| {
            ours(report).fixtures[0].reason = Some("why".to_owned());
        }),
        ("flipside.items", |report| {
            ours(report).items.pop();
        }),
        ("flipside.items", |report| {
            let item = ours(report).items[0].clone();
            ours(report).items.push(item);
        }),
        ("flipside.items", |report| ours(report).items[0].kind = ItemKind::Replaced),
        ("byThreshold[2].vanished", |report| {
            ours(report).set_matching.by_threshold[2].vanished += 1;
        }),
        ("byThreshold[2].churn", |report| {
            ours(report).set_matching.by_threshold[2].churn[0].changed += 1;
        }),
        ("flipside.shard", |report| ours(report).shard.index = 2),
        ("flipside.mergeState", |report| ours(report).shard.of = 2),
    ];
    for (index, (at, change)) in changes.into_iter().enumerate() {
        let mut report = good.clone();
        change(&mut report);
        let bytes = to_bytes(&report).expect("finite");
        match read(&bytes).expect_err(at) {
            ReadReportError::Check(error) => {
                assert!(error.at.contains(at), "change {index}: {error}, expected at {at}");
            }
            other => panic!("change {index}: {other}"),
        }
    }
    let mut moved = good.clone();
    let first = ours(&mut moved).fixtures[0].found.as_mut().expect("compared");
    assert!(!first.a.detections.is_empty());
    first.a.detections[0].confidence = 0.1;
    assert!(read(&to_bytes(&moved).expect("finite")).is_err());
}

#[test]
fn bytes_that_are_no_report_are_refused_by_their_shape() {
    let good = Json::from_value(&made_report(3)).expect("a tree");
    let Json::Object(fields) = &good else { panic!("an object") };
    let with = |key: &str, value: &str| {
        let mut fields = fields.clone();
        fields.insert(key.to_owned(), Json::parse(value.as_bytes()).expect("JSON"));
        read(Json::Object(fields).to_file().as_bytes())
    };
    assert!(with("somethingNew", "{\"kept\":1}").is_ok(), "unknown keys are kept and ignored");
    for (key, value) in [("schemaVersion", "1"), ("schemaVersion", "\"2\""), ("decode", "{}")] {
        assert!(matches!(with(key, value), Err(ReadReportError::Shape { .. })), "{key}");
    }
    // One foreign mark is enough to doubt it.
    assert!(matches!(
        with("environment", r#"{"tensorrt":"11"}"#),
        Err(ReadReportError::Shape { .. })
    ));
    assert!(matches!(with("latencyMs", "{}"), Err(ReadReportError::Json(_))));
    assert!(matches!(read(b"{"), Err(ReadReportError::Json(_))));
    assert!(matches!(read(b"[]"), Err(ReadReportError::Shape { .. })));
    let huge = vec![b' '; usize::try_from(MAX_REPORT_BYTES).expect("fits") + 1];
    assert!(matches!(read(&huge), Err(ReadReportError::TooLarge { .. })));
}

proptest! {
    #[test]
    fn reading_never_panics(cut in 0_usize..20_000, byte in any::<u8>()) {
        static BYTES: LazyLock<Vec<u8>> =
            LazyLock::new(|| to_bytes(&made_report(2)).expect("finite"));
        let mut bytes = BYTES.clone();
        let at = cut % bytes.len();
        bytes[at] = byte;
        let _ = read_any(&bytes);
        let _ = read_any(&bytes[..at]);
    }
}

// ---- reports of other tools

#[test]
fn shared_reports_of_the_peer_read_and_write_back_to_their_bytes() {
    let Some(shared) = shared_dir() else { return };
    for (file, sha256, flips) in [
        (
            "parity-rfdetr-v2.0.1-fp32-vs-int8-dyn.json",
            "d8a19304ee12df59fbf3fadd6d5e63c3e4a341e2c94a34c8c197064ced23a3d1",
            [166, 155, 112, 81, 66],
        ),
        (
            "parity-rfdetr-v2.0.1-fp32-vs-fp16.json",
            "4c62ca320a3045de9f19855806f78f9f16f7fc8b86f6b608be868c591e51ae37",
            [36, 29, 19, 15, 11],
        ),
        (
            "parity-rfdetr-v2.0.1-fp32-vs-fp16-blocked.json",
            "a5ef52ad512c1a3db3337c1d42a0220279df1e135224c5a45eebb4993a9fce24",
            [35, 29, 19, 15, 10],
        ),
    ] {
        let bytes = std::fs::read(shared.join("seed-data/reports").join(file)).expect("readable");
        let read = read(&bytes).expect(file);
        assert_eq!(read.hash.to_hex(), sha256);
        assert_eq!(to_bytes(&read.report).expect("finite"), bytes, "{file}");
        let rows = &read.report.decode.by_threshold;
        assert_eq!(rows.iter().map(|row| row.threshold_flips).collect::<Vec<_>>(), flips);
        assert_eq!(read.report.flipside, None);
    }
    for name in ["demo-fp32-vs-int8", "realset-fp32-vs-int8naive"] {
        let path = shared.join(format!("golden/parity-{name}.json"));
        read(&std::fs::read(path).expect("readable")).expect(name);
    }
}

#[test]
fn shared_reports_of_engines_are_told_by_shape() {
    let Some(shared) = shared_dir() else { return };
    for (file, sha256, flips) in [
        (
            "trt-parity-fp32-vs-engine-tf32off.json",
            "7f603445d9d489e2f4ba1b0993d62c559b4679a327db119e70c0bc2eec0fef4d",
            [0, 0, 0, 0, 0],
        ),
        (
            "trt-parity-fp32-vs-engine-tf32on.json",
            "0cd85be03e47adcbb8d7ef2808f0a1433a27d38f3d268853b32865cbdb8d10e7",
            [8, 2, 2, 2, 2],
        ),
    ] {
        let bytes = std::fs::read(shared.join("seed-data/reports").join(file)).expect("readable");
        let AnyReport::Foreign(report, hash) = read_any(&bytes).expect(file) else {
            panic!("{file} is an engine's report although it names an ONNX Runtime");
        };
        assert_eq!(hash.to_hex(), sha256);
        assert_eq!(read(&bytes), Err(ReadReportError::Foreign));
        let rows = report.threshold_rows();
        assert_eq!(rows.iter().map(|row| row.threshold_flips).collect::<Vec<_>>(), flips);
        assert_eq!(rows.iter().filter(|row| row.is_recommended).count(), 1);
        assert_eq!(report.limits().len(), 3);
        // A change of one count is seen here too.
        let text = String::from_utf8(bytes).expect("text");
        let forged = text.replacen("\"flipsAOnly\": ", "\"flipsAOnly\": 1", 1);
        assert!(matches!(read_any(forged.as_bytes()), Err(ReadReportError::Check(_))));
    }
}

// ---- joining shards

fn shards(manifest_count: u64, of: u32) -> Vec<ShardReport> {
    let shard = |index: u32| {
        let shard = ShardEntry { index, of };
        let built = pushed(manifest_count, shard).finish(context(manifest_count, shard));
        let built = built.expect("a part");
        // Through bytes, as it happens.
        let bytes = to_bytes(&built.report).expect("finite");
        ShardReport {
            name: format!("shard-{index}.json"),
            report: read(&bytes).expect("holds together").report,
            state: built.state.expect("a shard has one"),
        }
    };
    (1..=of).map(shard).collect()
}

fn joined(shards: Vec<ShardReport>) -> Result<ParityReport, MergeError> {
    merge(shards, "2026-01-02T03:04:05+00:00".to_owned())
}

#[test]
fn joined_shards_are_the_report_of_one_run() {
    for of in [2, 3, 12] {
        // With 12 shards of 10 fixtures two are empty, and one holds but a left-out file.
        let mut parts = shards(10, of);
        parts.reverse();
        let report = joined(parts).expect("complete");
        let whole = made_report(10);
        // Times differ, because every shard took its own.
        let mut expected = ParityReport { latency_ms: report.latency_ms.clone(), ..whole };
        assert_eq!(report.latency_ms.a.n, 2 * u64::from(of));
        for (expected, found) in expected.raw_outputs.iter_mut().zip(&report.raw_outputs) {
            for (expected, found) in [
                (&mut expected.mean_abs_delta, found.mean_abs_delta),
                (&mut expected.mean_rel_delta, found.mean_rel_delta),
                (&mut expected.per_image_max_abs_delta.mean, found.per_image_max_abs_delta.mean),
            ] {
                assert!((*expected - found).abs() <= 1e-12 * found.abs());
                *expected = found;
            }
        }
        let mean = report.decode.mean_per_image_max_confidence_delta;
        let single = &mut expected.decode.mean_per_image_max_confidence_delta;
        assert!((*single - mean).abs() <= 1e-12 * mean);
        *single = mean;
        assert_eq!(report, expected, "{of} shards");
        assert!(read(&to_bytes(&report).expect("finite")).is_ok());
    }
}

#[test]
fn shards_that_do_not_belong_together_are_refused_by_name() {
    type Change = fn(&mut ParityReport);
    fn ours(report: &mut ParityReport) -> &mut Extension {
        report.flipside.as_mut().expect("ours")
    }
    let good = shards(10, 3);
    let changes: [(&str, Change); 13] = [
        ("fixture manifest", |report| {
            report.fixtures.manifest_sha256 = ManifestHash::of(b"other").to_hex();
        }),
        ("entries of the manifest", |report| ours(report).manifest_count = 11),
        ("reference", |report| report.artifacts.a.sha256 = ContentHash::of(b"x").to_hex()),
        ("candidate", |report| report.artifacts.b.sha256 = ContentHash::of(b"x").to_hex()),
        ("recipe", |report| ours(report).recipe.sha256 = ContentHash::of(b"x").to_hex()),
        ("runtime version", |report| ours(report).runtime.version = "2".to_owned()),
        ("threads", |report| ours(report).runtime.intra_op_threads = 2),
        ("cpu features", |report| ours(report).runtime.cpu_features.clear()),
        ("machine", |report| report.environment.machine = "arm64".to_owned()),
        ("recommended threshold", |report| report.decode.conf_threshold_recommended = 0.5),
        ("classes", |report| ours(report).classes[0] = "jug".to_owned()),
        ("input", |report| report.fixtures.input_shape[2] = 32),
        ("number of shards", |report| ours(report).shard.of = 4),
    ];
    for (expected, change) in changes {
        let mut parts = good.clone();
        change(&mut parts[1].report);
        match joined(parts) {
            Err(MergeError::Differs { name, what, .. }) => {
                assert_eq!((name.as_str(), what), ("shard-2.json", expected));
            }
            other => panic!("{expected}: {other:?}"),
        }
    }
    let mut parts = good.clone();
    parts[2].report.raw_outputs[0].name = "boxes".to_owned();
    assert!(matches!(joined(parts), Err(MergeError::Differs { what: "outputs", .. })));
    assert!(joined(good).is_ok());
}

#[test]
fn shards_missing_twice_or_overlapping_are_refused() {
    let good = shards(10, 3);
    assert!(matches!(joined(vec![]), Err(MergeError::Nothing)));
    let error = joined(good[..1].to_vec()).expect_err("two are missing").to_string();
    assert_eq!(error, "expected all 3 shards, missing 2, 3");
    let mut twice = good.clone();
    twice[2] = good[0].clone();
    assert!(matches!(joined(twice), Err(MergeError::Twice { index: 1, .. })));
    let mut overlapping = good.clone();
    let row = good[0].report.flipside.as_ref().expect("ours").fixtures[0].clone();
    overlapping[1].report.flipside.as_mut().expect("ours").fixtures.insert(0, row);
    assert!(matches!(joined(overlapping), Err(MergeError::Overlap { position: 0, .. })));
    let mut gap = good.clone();
    gap[0].report.flipside.as_mut().expect("ours").fixtures.remove(1);
    assert!(matches!(joined(gap), Err(MergeError::Gap { position: 3, count: 10 })));
    let mut short = good.clone();
    for part in &mut short {
        part.report.flipside.as_mut().expect("ours").manifest_count = 11;
    }
    assert!(matches!(joined(short), Err(MergeError::Gap { position: 10, count: 11 })));

    let whole =
        ShardReport { name: "whole.json".to_owned(), report: made_report(10), state: Vec::new() };
    assert!(matches!(joined(vec![whole.clone()]), Err(MergeError::NotAShard { .. })));
    let peer = ShardReport { report: ParityReport { flipside: None, ..whole.report }, ..whole };
    assert!(matches!(joined(vec![peer]), Err(MergeError::NotAShard { .. })));
}

#[test]
fn a_merge_state_of_another_report_is_refused() {
    let good = shards(10, 2);
    let mut damaged = good.clone();
    damaged[0].state.push(0);
    let error = joined(damaged).expect_err("other bytes").to_string();
    assert!(error.contains("shard-1.json") && error.contains("sha256"), "{error}");
    let mut exchanged = good.clone();
    exchanged[0].state = good[1].state.clone();
    exchanged[0].report.flipside.as_mut().expect("ours").merge_state =
        good[1].report.flipside.as_ref().expect("ours").merge_state.clone();
    let error = joined(exchanged).expect_err("other totals").to_string();
    assert!(error.contains("totals"), "{error}");
}

#[test]
fn forged_counts_do_not_overflow() {
    let mut parts = shards(10, 2);
    for part in &mut parts {
        let noise = &mut part.report.flipside.as_mut().expect("ours").noise_floor;
        (noise.fixtures, noise.threshold_flips) = (u64::MAX, u64::MAX);
    }
    let report = joined(parts).expect("complete");
    assert_eq!(report.flipside.expect("ours").noise_floor.fixtures, u64::MAX);
}

#[test]
fn empty_shards_join_to_no_report() {
    let empty = |index: u32| {
        let shard = ShardEntry { index, of: 2 };
        let mut builder = ReportBuilder::new(rules()).expect("rules");
        builder.push_left_out(u64::from(index) - 1, "x".to_owned(), None, "gone".to_owned());
        let built = builder.finish(context(2, shard)).expect("a part");
        ShardReport {
            name: format!("{index}"),
            report: built.report,
            state: built.state.expect("one"),
        }
    };
    let error = joined(vec![empty(1), empty(2)]).expect_err("nothing compared");
    assert!(matches!(error, MergeError::Build(BuildError::NothingCompared { left_out: 2, .. })));
}

// ---- the gate

#[test]
fn a_report_passes_against_itself_and_a_worse_one_does_not() {
    let old = made_report(20);
    let outcome = compare(&old, &old, 0.0).expect("comparable");
    assert!(outcome.passed());
    assert_eq!(outcome.compared, 2 * 3 + 5 * 2 + 2 * 2);
    assert!(outcome.remarks.is_empty());

    // int(old * 1.1) + 1 passes, one more does not.
    let mut new = old.clone();
    let flips = old.decode.by_threshold[2].threshold_flips;
    let limit = (flips as f64 * 1.1).floor() as u64 + 1;
    new.decode.by_threshold[2].threshold_flips = limit;
    assert!(compare(&new, &old, 0.10).expect("comparable").passed());
    new.decode.by_threshold[2].threshold_flips = limit + 1;
    let outcome = compare(&new, &old, 0.10).expect("comparable");
    assert_eq!(outcome.regressions.len(), 1);
    assert_eq!(outcome.regressions[0].what, "decode.byThreshold.0.4.thresholdFlips");
    assert_eq!(outcome.regressions[0].limit, limit as f64);

    let mut new = old.clone();
    new.raw_outputs[1].mean_abs_delta *= 1.09;
    assert!(compare(&new, &old, 0.10).expect("comparable").passed());
    new.raw_outputs[1].mean_abs_delta *= 1.09;
    let outcome = compare(&new, &old, 0.10).expect("comparable");
    assert_eq!(outcome.regressions[0].what, "rawOutputs.labels.meanAbsDelta");
    // Getting better is never a regression.
    assert!(compare(&old, &new, 0.0).expect("comparable").passed());
}

#[test]
fn the_gate_fails_closed() {
    let old = made_report(10);
    let failing = |new: &ParityReport| {
        let outcome = compare(new, &old, 0.10).expect("comparable");
        assert!(!outcome.passed());
        outcome.regressions.into_iter().map(|regression| regression.what).collect::<Vec<_>>()
    };
    let mut missing = old.clone();
    missing.raw_outputs.remove(0);
    assert!(failing(&missing).iter().any(|what| what.contains("rawOutputs.dets")));
    let mut unfilled = old.clone();
    unfilled.raw_outputs[0].elements_compared = 0;
    assert_eq!(failing(&unfilled).len(), 3);
    let mut surplus = old.clone();
    surplus
        .raw_outputs
        .push(OutputDelta { name: "extra".to_owned(), ..old.raw_outputs[0].clone() });
    assert!(failing(&surplus)[0].contains("extra"));
    let mut shorter = old.clone();
    shorter.decode.by_threshold.pop();
    assert_eq!(failing(&shorter).len(), 2);
    let mut silent = old.clone();
    for row in &mut silent.decode.by_threshold {
        *row = ThresholdRow {
            threshold: row.threshold,
            is_recommended: row.is_recommended,
            detections_a: 0,
            detections_b: 0,
            threshold_flips: 0,
            flips_a_only: 0,
            flips_b_only: 0,
            class_argmax_flips: 0,
            images_with_any_flip: 0,
            images_where_top_k_truncation_binds: 0,
        };
    }
    assert!(failing(&silent)[0].contains("neither side"));
    let mut poisoned = old.clone();
    let non_finite = BTreeMap::from([("dets".to_owned(), Sides { a: 0, b: 1 })]);
    poisoned.flipside.as_mut().expect("ours").non_finite = non_finite;
    assert_eq!(failing(&poisoned), ["flipside.nonFinite.dets.b"]);
}

#[test]
fn a_baseline_of_another_comparison_is_refused() {
    type Change = fn(&mut ParityReport);
    fn ours(report: &mut ParityReport) -> &mut Extension {
        report.flipside.as_mut().expect("ours")
    }
    let report = made_report(10);
    let changes: [(&str, Change); 10] = [
        ("fixture manifest", |old| {
            old.fixtures.manifest_sha256 = ManifestHash::of(b"other").to_hex();
        }),
        ("number of fixtures", |old| old.fixtures.count = 199),
        ("fixture", |old| old.per_image[0].image = "other.jpg".to_owned()),
        ("fixture", |old| ours(old).fixtures[0].sha256 = ContentHash::of(b"x").to_hex()),
        ("recipe", |old| ours(old).recipe.sha256 = ContentHash::of(b"x").to_hex()),
        ("reference", |old| old.artifacts.a.sha256 = ContentHash::of(b"x").to_hex()),
        ("order of sides", |old| std::mem::swap(&mut old.artifacts.a, &mut old.artifacts.b)),
        ("normalisation", |old| old.fixtures.normalization.mean[0] = 0.5),
        ("recommended threshold", |old| old.decode.conf_threshold_recommended = 0.5),
        ("list of classes", |old| ours(old).classes.reverse()),
    ];
    for (expected, change) in changes {
        let mut old = report.clone();
        change(&mut old);
        match compare(&report, &old, 0.10) {
            Err(BaselineError::Differs { what, .. }) => assert_eq!(what, expected),
            other => panic!("{expected}: {other:?}"),
        }
    }
    for margin in [-0.1, f64::NAN, f64::INFINITY] {
        assert!(matches!(compare(&report, &report, margin), Err(BaselineError::Margin { .. })));
    }
    let shard = shards(10, 2).remove(0).report;
    assert!(matches!(compare(&shard, &shard, 0.1), Err(BaselineError::Shard { .. })));
}

#[test]
fn what_was_not_compared_is_said() {
    let report = made_report(10);
    let mut old = report.clone();
    old.artifacts.b.sha256 = ContentHash::of(b"the build before").to_hex();
    old.flipside.as_mut().expect("ours").runtime.version = "1.31.0".to_owned();
    let outcome = compare(&report, &old, 0.10).expect("comparable");
    assert!(outcome.passed());
    assert_eq!(outcome.remarks.len(), 2);
    let peer = ParityReport { flipside: None, ..report.clone() };
    let outcome = compare(&report, &peer, 0.10).expect("comparable");
    assert!(outcome.passed());
    assert!(outcome.remarks[0].contains("the baseline names no recipe"));
}
