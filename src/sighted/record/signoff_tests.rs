//! Sign-offs: what is refused before signing, what is noticed after, and that the gate fails closed.
//! Every row has its good twin: the same world without the one change.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::limits::{AcceptanceLimits, Holds, Labelled, LabelledRate, Numbers, judge, judge_basis};
use super::registry::INDEX_NAME;
use super::signoff::{Decision, Draft, SignOff, SignRefusal};
use super::ssh;
use super::testing::{World, have_ssh, new_key, trust_in, with};
use crate::domain::canonical::Json;
use crate::domain::digest::SignOffId;
use crate::stats::paired::PairedTable;
use crate::store::atomic;

#[test]
fn a_signed_world_passes_the_gate() {
    let world = World::new();
    let path = world.sign(world.draft());
    let answer = world.gate();
    assert_eq!(answer.holds, Holds::Yes, "{}", answer.reason);
    assert!(answer.reason.contains("by ada: accepted at 0.4 on 2026-02-03"), "{}", answer.reason);
    let names: Vec<&str> = answer.looked_at[0].checks.iter().map(|check| check.name).collect();
    assert_eq!(
        names,
        [
            "sign-off",
            "signature",
            "record",
            "record-id",
            "file-name",
            "file-bytes",
            "measured-on-target",
            "implied-precision",
            "operating-point",
            "artifact",
            "precision-evidence",
            "sidecar",
            "parity-report",
            "report-sums",
            "comparison",
            "manifest",
            "report-manifest",
            "pictures",
            "taxonomy",
            "label-file",
            "label-file",
            "separation",
            "score-file",
            "score"
        ]
    );
    let bytes = fs::read(&path).expect("readable");
    let tree = Json::parse(&bytes).expect("JSON");
    assert_eq!(tree.to_canonical().as_bytes(), bytes, "canonical, nothing after it");
    let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
    assert!(tree.get("signoffId").and_then(Json::as_str).expect("an id").starts_with(stem));
}

#[test]
fn the_payload_is_pinned() {
    let world = World::new();
    let bytes = fs::read(world.sign(world.draft())).expect("readable");
    // Do not change this test: signed files are read for ever.
    insta::assert_snapshot!(Json::parse(&bytes).expect("JSON").to_file());
}

#[test]
fn drafts_are_refused_one_reason_at_a_time() {
    let world = World::new();
    assert!(world.draft().check().is_ok(), "the good twin");
    type Edit = fn(&mut Draft);
    let rows: [(&str, Edit); 16] = [
        ("the record is at 0.4, you typed 0.35", |draft| draft.operating_point = 0.35),
        ("you typed 0.400000002", |draft| draft.operating_point = 0.400_000_002),
        ("the evidence is report", |draft| {
            draft.evidence.report.hash = crate::domain::digest::ReportHash::of(b"other")
        }),
        ("visible characters", |draft| draft.signer.name = "ad\u{202e}a".to_owned()),
        ("visible characters", |draft| draft.licenses = vec!["a\u{1b}[2J".to_owned()]),
        ("a reason is needed", |draft| draft.reason = "  ".to_owned()),
        ("a name is needed", |draft| draft.signer.name = String::new()),
        ("does not license", |draft| draft.does_not_license.clear()),
        ("recall margin: expected a share", |draft| draft.limits.recall_margin = Some(-0.1)),
        ("recall margin: expected a share", |draft| draft.limits.recall_margin = Some(f64::NAN)),
        ("confidence level", |draft| draft.limits.confidence_level = 1.0),
        ("cannot accept: slot flips: 2, at most 1", |draft| draft.limits.slot_flips = Some(1)),
        ("cannot accept: real flips: 1, at most 0", |draft| draft.limits.real_flips = Some(0)),
        ("cannot accept: real flips: the report does not", |draft| draft.numbers.real_flips = None),
        ("cannot accept: recall", |draft| draft.limits.recall_margin = Some(0.02)),
        ("cannot accept: labels: no labels", |draft| draft.numbers.labelled = None),
    ];
    for (message, edit) in rows {
        let mut draft = world.draft();
        edit(&mut draft);
        let refusal = draft.check().expect_err(message).to_string();
        assert!(refusal.contains(message), "{message}: {refusal}");
    }
}

#[test]
fn another_point_names_the_command_that_measures_there() {
    let world = World::new();
    let mut draft = world.draft();
    let tree = with(draft.record.tree().clone(), &["parity", "confThreshold"], Json::Float(0.35));
    assert!(super::release::ReleaseRecord::from_tree(tree).is_err(), "no such record can be");
    draft.record.parity.confidence = 0.35;
    let refusal = draft.check().expect_err("measured elsewhere");
    assert!(refusal.to_string().contains("flipside parity --threshold 0.4"), "{refusal}");
}

#[test]
fn what_fails_may_still_be_rejected_or_deferred() {
    let world = World::new();
    for decision in [Decision::Reject, Decision::Defer, Decision::Accept] {
        let mut draft = world.draft();
        draft.decision = decision;
        draft.limits.slot_flips = Some(0);
        draft.numbers.labelled = None;
        let found = judge(&draft.limits, &draft.numbers);
        assert!(found.iter().any(|finding| finding.holds != Holds::Yes));
        assert_eq!(draft.check().is_ok(), decision != Decision::Accept, "{decision:?}");
    }
}

#[test]
fn only_the_digits_shown_confirm() {
    let world = World::new();
    let checked = world.draft().check().expect("good");
    let digits = checked.digits();
    assert_eq!(digits.len(), 8);
    for wrong in ["", "y", "yes", "00000000", &digits[..7], &format!("{digits}0")] {
        if wrong == digits {
            continue;
        }
        let refused = checked.clone().confirm(wrong);
        assert!(matches!(refused, Err(SignRefusal::NotConfirmed { .. })), "{wrong}");
    }
    assert!(checked.confirm(&format!(" {digits}\n")).is_ok());
}

#[test]
fn limits_hold_on_the_edge_and_fail_one_past_it() {
    let table = |both, only_first, only_second, neither| PairedTable {
        both,
        only_first,
        only_second,
        neither,
    };
    let rate = |table| LabelledRate { table, clustered: None };
    let numbers = Numbers {
        slot_flips: 5,
        real_flips: Some(4),
        class_flips: 3,
        labelled: Some(Labelled {
            recall: rate(table(150, 3, 1, 2)),
            false_positives: rate(table(2, 0, 4, 34)),
        }),
        compared: 3,
        listed: Some(3),
        non_finite: 0,
    };
    let holds = |limits: AcceptanceLimits| judge(&limits, &numbers)[0].holds;
    let none = AcceptanceLimits::none;
    assert!(judge(&none(), &numbers).is_empty());
    assert!(judge_basis(&numbers).is_empty());
    assert_eq!(holds(AcceptanceLimits { slot_flips: Some(5), ..none() }), Holds::Yes);
    assert_eq!(holds(AcceptanceLimits { slot_flips: Some(4), ..none() }), Holds::No);
    assert_eq!(holds(AcceptanceLimits { class_flips: Some(3), ..none() }), Holds::Yes);
    assert_eq!(holds(AcceptanceLimits { class_flips: Some(2), ..none() }), Holds::No);
    assert_eq!(holds(AcceptanceLimits { min_positives: Some(156), ..none() }), Holds::Yes);
    assert_eq!(holds(AcceptanceLimits { min_positives: Some(157), ..none() }), Holds::No);
    assert_eq!(holds(AcceptanceLimits { min_negatives: Some(41), ..none() }), Holds::No);
    // The whole interval must stay inside, not the middle of it.
    let recall = |margin| AcceptanceLimits { recall_margin: Some(margin), ..none() };
    let interval = crate::stats::paired::tango(3, 1, 156).expect("an interval");
    assert_eq!(holds(recall(-interval.low + 1e-9)), Holds::Yes);
    assert_eq!(holds(recall(-interval.low - 1e-9)), Holds::No);
    let rise = |margin| AcceptanceLimits { false_positive_margin: Some(margin), ..none() };
    let interval = crate::stats::paired::tango(0, 4, 40).expect("an interval");
    assert_eq!(holds(rise(interval.high + 1e-9)), Holds::Yes);
    assert_eq!(holds(rise(interval.high - 1e-9)), Holds::No);
    let narrower = AcceptanceLimits { confidence_level: 0.9, ..rise(interval.high - 1e-3) };
    assert_eq!(holds(narrower), Holds::Yes, "a lower level gives a narrower interval");
}

#[test]
fn nothing_passes_for_want_of_data() {
    let rate = |both| LabelledRate {
        table: PairedTable { both, ..PairedTable::default() },
        clustered: None,
    };
    let (empty, one, some) = (rate(0), rate(1), rate(9));
    let full = Numbers {
        slot_flips: 0,
        real_flips: Some(0),
        class_flips: 0,
        labelled: Some(Labelled { recall: some, false_positives: some }),
        compared: 9,
        listed: Some(9),
        non_finite: 0,
    };
    assert!(judge_basis(&full).is_empty());
    for (bad, reason) in [
        (Numbers { compared: 0, listed: None, ..full.clone() }, "nothing was compared"),
        (Numbers { listed: Some(12), ..full.clone() }, "9 of the 12"),
        (Numbers { non_finite: 2, ..full.clone() }, "2 output values are not finite"),
        (Numbers { labelled: None, ..full.clone() }, "no labels"),
    ] {
        let basis = judge_basis(&bad);
        assert!(basis[0].detail.contains(reason), "{basis:?}");
        assert_eq!(basis[0].holds, Holds::CannotTell);
    }
    for (recall, false_positives, reason) in [
        (empty, some, "0 images contain"),
        (one, some, "1 images contain"),
        (some, empty, "0 images are clean"),
    ] {
        let labelled = Some(Labelled { recall, false_positives });
        let numbers = Numbers { labelled, ..full.clone() };
        let basis = judge_basis(&numbers);
        assert!(basis[0].detail.contains(reason), "{basis:?}");
        assert_eq!(basis[0].holds, Holds::CannotTell);
        let limits = AcceptanceLimits {
            recall_margin: Some(1.0),
            false_positive_margin: Some(1.0),
            ..AcceptanceLimits::none()
        };
        assert!(judge(&limits, &numbers).iter().any(|found| found.holds == Holds::CannotTell));
    }
}

/// Changes one byte of a file.
fn flip(path: &Path) {
    let mut bytes = fs::read(path).expect("readable");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    replace(path, &bytes);
}

fn replace(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).expect("removed");
    atomic::write(path, bytes).expect("written");
}

/// Signs again what an edited payload says, as a forger without a key would.
fn forge(path: &Path, edit: impl FnOnce(Json) -> Json) {
    let tree = Json::parse(&fs::read(path).expect("readable")).expect("JSON");
    let bare = super::testing::without(edit(tree), &["signoffId"]);
    let id = SignOffId::of(bare.to_canonical().as_bytes());
    let whole = with(bare, &["signoffId"], Json::text(id.to_hex()));
    fs::remove_file(path).expect("removed");
    let folder = path.parent().expect("a folder");
    let path = folder.join(format!("{}.json", id.short()));
    atomic::write(&path, whole.to_canonical().as_bytes()).expect("written");
}

#[test]
fn the_gate_fails_closed() {
    type Change = fn(&World, &Path);
    let rows: Vec<(&str, Holds, &str, Change)> = vec![
        ("no sign-off at all", Holds::No, "no sign-off for artifact", |_, path| {
            fs::remove_file(path).expect("removed");
        }),
        ("artifact changed", Holds::No, "in this place: the file has changed", |world, _| {
            flip(&world.artifact());
        }),
        ("sidecar changed", Holds::No, "sidecar models/b.meta.json", |world, _| {
            flip(&world.root().join("models/b.meta.json"));
        }),
        ("sidecar gone", Holds::CannotTell, "sidecar models/b.meta.json", |world, _| {
            fs::remove_file(world.root().join("models/b.meta.json")).expect("removed");
        }),
        (
            "sidecar's hash dropped",
            Holds::CannotTell,
            "does not follow from the rest",
            |_, path| {
                forge(path, |tree| with(tree, &["evidence", "sidecar"], Json::Null));
            },
        ),
        ("artifact gone", Holds::CannotTell, "cannot read", |world, _| {
            fs::remove_file(world.artifact()).expect("removed");
        }),
        ("sign-off truncated", Holds::CannotTell, "line 1", |_, path| {
            let bytes = fs::read(path).expect("readable");
            replace(path, &bytes[..bytes.len() / 2]);
        }),
        ("sign-off empty", Holds::CannotTell, "ends where a value", |_, path| replace(path, b"")),
        ("sign-off edited", Holds::CannotTell, "signoffId is", |_, path| {
            let text = String::from_utf8(fs::read(path).expect("readable")).expect("text");
            replace(path, text.replace("inside the limits", "outside").as_bytes());
        }),
        ("sign-off laid out anew", Holds::CannotTell, "not in canonical form", |_, path| {
            let tree = Json::parse(&fs::read(path).expect("readable")).expect("JSON");
            replace(path, tree.to_file().as_bytes());
        }),
        ("unknown schema", Holds::CannotTell, "schema 2, expected 1", |_, path| {
            forge(path, |tree| with(tree, &["schema"], Json::int(2)));
        }),
        ("other payload type", Holds::CannotTell, "type is", |_, path| {
            forge(path, |tree| with(tree, &["type"], Json::text("text/plain")));
        }),
        ("disclaims nothing", Holds::CannotTell, "at least one line", |_, path| {
            forge(path, |tree| with(tree, &["doesNotLicense"], Json::Array(Vec::new())));
        }),
        ("moved to another record", Holds::CannotTell, "belongs at", |world, path| {
            let folder = world.root().join("records/signoffs/000000000000");
            fs::create_dir(&folder).expect("folder");
            let bytes = fs::read(path).expect("readable");
            atomic::write(&folder.join("x.json"), &bytes).expect("written");
        }),
        ("about another record", Holds::CannotTell, "belongs at", |_, path| {
            let other = Json::text(SignOffId::of(b"other").to_hex());
            forge(path, |tree| with(tree, &["record", "recordId"], other));
        }),
        (
            "something else in the folder",
            Holds::CannotTell,
            "no sign-off belongs here",
            |world, _| {
                let stray = world.root().join("records/signoffs/note.txt");
                atomic::write(&stray, b"x").expect("written");
            },
        ),
        (
            "key named, signature gone",
            Holds::CannotTell,
            "has no signature beside it",
            |_, path| {
                let key = Json::text("SHA256:x");
                forge(path, |tree| with(tree, &["signer", "keyId"], key));
            },
        ),
        (
            "sign-off gone, signature left",
            Holds::CannotTell,
            "of this signature is gone",
            |_, path| {
                atomic::write(&path.with_extension("sig"), b"x").expect("written");
                fs::remove_file(path).expect("removed");
            },
        ),
        ("earlier sign-off gone", Holds::CannotTell, "which is not here", |_, path| {
            let gone = Json::text(SignOffId::of(b"gone").to_hex());
            forge(path, |tree| with(tree, &["supersedes"], gone));
        }),
        ("rejected", Holds::No, "reject: inside", |_, path| {
            forge(path, |tree| with(tree, &["decision"], Json::text("reject")));
        }),
        ("deferred", Holds::No, "defer: inside", |_, path| {
            forge(path, |tree| with(tree, &["decision"], Json::text("defer")));
        }),
        ("unknown decision", Holds::CannotTell, "decision is", |_, path| {
            forge(path, |tree| with(tree, &["decision"], Json::text("yes")));
        }),
        ("record gone", Holds::CannotTell, "no such record here", |world, _| {
            let name = world.record.file_name();
            fs::remove_file(world.root().join("records").join(name)).expect("removed");
        }),
        ("record broken", Holds::No, "not a release record", |world, _| {
            let name = world.record.file_name();
            replace(&world.root().join("records").join(name), b"{");
        }),
        ("record edited outside its id", Holds::No, "record ", |world, _| {
            let name = world.root().join("records").join(world.record.file_name());
            let edited = with(world.record.tree().clone(), &["notes"], Json::Array(Vec::new()));
            replace(&name, format!("{}\n", edited.to_file()).as_bytes());
        }),
        ("index broken", Holds::CannotTell, "expected 64 hex digits", |world, _| {
            replace(&world.root().join("records").join(INDEX_NAME), b"x\n");
        }),
        ("report changed", Holds::No, "parity-report", |world, _| {
            flip(&world.root().join("sessions/reports/r.json"));
        }),
        ("report gone", Holds::CannotTell, "parity-report", |world, _| {
            fs::remove_file(world.root().join("sessions/reports/r.json")).expect("removed");
        }),
        ("manifest changed", Holds::No, "manifest", |world, _| {
            flip(&world.root().join("fixtures/manifest.txt"));
        }),
        ("picture changed", Holds::No, "pictures one.jpg", |world, _| {
            flip(&world.root().join("fixtures/one.jpg"));
        }),
        ("picture gone", Holds::CannotTell, "pictures one.jpg", |world, _| {
            fs::remove_file(world.root().join("fixtures/one.jpg")).expect("removed");
        }),
        ("taxonomy changed", Holds::No, "taxonomy", |world, _| {
            flip(&world.root().join("taxonomy.toml"));
        }),
        ("label file changed", Holds::No, "label-file labels/bob.jsonl", |world, _| {
            flip(&world.root().join("labels/bob.jsonl"));
        }),
        ("label file gone", Holds::CannotTell, "label-file labels/ada.jsonl", |world, _| {
            fs::remove_file(world.root().join("labels/ada.jsonl")).expect("removed");
        }),
        (
            "other label files named",
            Holds::CannotTell,
            "does not follow from the rest",
            |_, path| {
                let hash = Json::text(SignOffId::of(b"other").to_hex());
                forge(path, |tree| with(tree, &["evidence", "labelSetSha256"], hash));
            },
        ),
        ("no label files named", Holds::CannotTell, "labels: no labels", |_, path| {
            forge(path, |tree| {
                let tree = with(tree, &["evidence", "labelFiles"], Json::Array(Vec::new()));
                with(tree, &["evidence", "labelSetSha256"], Json::Null)
            });
        }),
        ("other score named", Holds::No, "score-file records/scores/", |_, path| {
            let hash = Json::text(SignOffId::of(b"other").to_hex());
            forge(path, |tree| with(tree, &["evidence", "metricsSha256"], hash));
        }),
        ("score gone", Holds::CannotTell, "score-file", |world, _| {
            fs::remove_dir_all(world.root().join("records/scores")).expect("removed");
        }),
        ("score changed", Holds::No, "score-file", |world, _| {
            let folder = world.root().join("records/scores");
            let entry = fs::read_dir(folder).expect("listing").next().expect("one");
            flip(&entry.expect("readable").path());
        }),
        ("no score named", Holds::No, "names no score", |_, path| {
            forge(path, |tree| {
                let tree = with(tree, &["evidence", "metrics"], Json::Null);
                with(tree, &["evidence", "metricsSha256"], Json::Null)
            });
        }),
        ("score cannot be computed", Holds::No, "no label joins", |world, _| {
            world.labelled.set(None);
        }),
        ("no clean image", Holds::CannotTell, "false-positive rate: unmeasured", |world, _| {
            let labelled = world.labelled.get().expect("set");
            let false_positives = LabelledRate::default();
            world.labelled.set(Some(Labelled { false_positives, ..labelled }));
        }),
        ("no litter", Holds::CannotTell, "recall: unmeasured", |world, _| {
            let labelled = world.labelled.get().expect("set");
            world.labelled.set(Some(Labelled { recall: LabelledRate::default(), ..labelled }));
        }),
        ("limit does not hold", Holds::No, "slot flips: 2, at most 1", |_, path| {
            forge(path, |tree| with(tree, &["acceptance", "maxSlotFlips"], Json::int(1)));
        }),
        ("limit of nonsense", Holds::CannotTell, "acceptance.maxSlotFlips", |_, path| {
            forge(path, |tree| with(tree, &["acceptance", "maxSlotFlips"], Json::int(-1)));
        }),
        ("limit missing", Holds::CannotTell, "acceptance.recallMargin", |_, path| {
            forge(path, |tree| super::testing::without(tree, &["acceptance", "recallMargin"]));
        }),
        ("limits that say none", Holds::CannotTell, "acceptance.declared", |_, path| {
            forge(path, |tree| with(tree, &["acceptance", "declared"], Json::text("none")));
        }),
        ("another point", Holds::No, "operating-point", |_, path| {
            let point = Json::text("0.3");
            forge(path, |tree| with(tree, &["operatingPoint", "confidence"], point));
        }),
    ];
    for (name, holds, reason, change) in rows {
        let world = World::new();
        let path = world.sign(world.draft());
        assert_eq!(world.gate().holds, Holds::Yes, "{name}: the good twin");
        change(&world, &path);
        let answer = world.gate();
        assert_eq!(answer.holds, holds, "{name}: {}", answer.reason);
        assert!(answer.reason.contains(reason), "{name}: {}", answer.reason);
    }
}

#[test]
fn a_later_decision_takes_the_place_of_an_earlier_one() {
    let world = World::new();
    let first = world.sign(world.draft());
    let id = SignOff::parse(&fs::read(&first).expect("readable")).expect("a sign-off").id;
    let mut draft = world.draft();
    draft.decision = Decision::Reject;
    draft.reason = "the pictures were of another city".to_owned();
    draft.supersedes = Some(id);
    let second = world.sign(draft);
    let answer = world.gate();
    assert_eq!(answer.holds, Holds::No);
    assert!(answer.reason.contains("another city"), "{}", answer.reason);
    let id = SignOff::parse(&fs::read(&second).expect("readable")).expect("a sign-off").id;
    let mut draft = world.draft();
    draft.supersedes = Some(id);
    draft.reason = "they were not".to_owned();
    world.sign(draft);
    assert_eq!(world.gate().holds, Holds::Yes);
    assert_eq!(world.gate().looked_at.len(), 1);
}

#[test]
fn two_decisions_side_by_side_must_both_accept() {
    let world = World::new();
    world.sign(world.draft());
    let mut draft = world.draft();
    draft.decision = Decision::Defer;
    draft.reason = "wait".to_owned();
    world.sign(draft);
    assert_eq!(world.gate().holds, Holds::No);
}

#[test]
fn a_sign_off_is_never_overwritten() {
    let world = World::new();
    let path = world.sign(world.draft());
    let checked = world.draft().check().expect("good");
    let digits = checked.digits();
    let again = world.store().create(&checked.confirm(&digits).expect("confirmed"), None);
    let error = again.expect_err("it is there already");
    assert_eq!(error.source.kind(), std::io::ErrorKind::AlreadyExists);
    assert!(path.exists());
}

/// A world signed with a key, whose allowed-signers file lists it for `ada`.
fn signed_with_key() -> (World, PathBuf, PathBuf) {
    let mut world = World::new();
    let key = new_key(world.root(), "key");
    let public = fs::read_to_string(key.with_extension("pub")).expect("readable");
    let allowed = world.root().join("allowed");
    atomic::write(&allowed, format!("ada {public}").as_bytes()).expect("written");
    let mut draft = world.draft();
    draft.signer.key_id = Some(ssh::fingerprint(&key).expect("a fingerprint"));
    let checked = draft.check().expect("good");
    let digits = checked.digits();
    let signed = checked.confirm(&digits).expect("confirmed");
    let signature = ssh::sign(&key, &signed.file).expect("signed");
    let path = world.store().create(&signed, Some(&signature)).expect("stored");
    world.trust = Some(trust_in(allowed));
    (world, path, key)
}

#[test]
fn a_signature_is_one_that_ssh_keygen_accepts() {
    if !have_ssh() {
        return;
    }
    let (world, path, _key) = signed_with_key();
    assert_eq!(world.gate().holds, Holds::Yes, "{}", world.gate().reason);
    let allowed = &world.trust.as_ref().expect("set").lists.allowed;
    let verified = Command::new("ssh-keygen")
        .args(["-Y", "verify", "-n", "signoff@flipside", "-I", "ada", "-f"])
        .arg(allowed)
        .arg("-s")
        .arg(path.with_extension("sig"))
        .stdin(fs::File::open(&path).expect("readable"))
        .output();
    assert!(verified.expect("started").status.success());
}

#[test]
fn forged_moved_and_replayed_signatures_do_not_count() {
    if !have_ssh() {
        return;
    }
    type Change = fn(&mut World, &Path, &Path);
    fn sign_again(key: &Path, namespace: &str, path: &Path) {
        let beside = path.with_extension("sig");
        fs::remove_file(&beside).expect("removed");
        let output = Command::new("ssh-keygen")
            .args(["-q", "-Y", "sign", "-n", namespace, "-f"])
            .arg(key)
            .stdin(fs::File::open(path).expect("readable"))
            .output();
        atomic::write(&beside, &output.expect("started").stdout).expect("written");
    }
    fn allow(world: &World, line: &str) {
        replace(&world.root().join("allowed"), line.as_bytes());
    }
    fn public(key: &Path) -> String {
        fs::read_to_string(key.with_extension("pub")).expect("readable")
    }
    let rows: [(&str, &str, Change); 12] = [
        ("another namespace", "does not cover these bytes", |_, path, key| {
            sign_again(key, "file", path);
        }),
        ("another key", "has no valid entry for \"ada\"", |world, path, _| {
            let other = new_key(world.root(), "other");
            sign_again(&other, "signoff@flipside", path);
        }),
        ("another allowed key", "the sign-off names", |world, path, key| {
            let other = new_key(world.root(), "other");
            sign_again(&other, "signoff@flipside", path);
            allow(world, &format!("ada {}ada {}", public(key), public(&other)));
        }),
        ("truncated", "does not cover these bytes", |_, path, _| {
            let beside = path.with_extension("sig");
            let bytes = fs::read(&beside).expect("readable");
            replace(&beside, &bytes[..bytes.len() / 2]);
        }),
        ("of another sign-off", "does not cover these bytes", |_, path, key| {
            let beside = path.with_extension("sig");
            replace(&beside, &ssh::sign(key, b"something else").expect("signed"));
        }),
        ("payload changed under it", "does not cover these bytes", |_, path, _| {
            let beside = path.with_extension("sig");
            let signature = fs::read(&beside).expect("readable");
            fs::remove_file(&beside).expect("removed");
            forge(path, |tree| with(tree, &["reason"], Json::text("other")));
            let folder = path.parent().expect("a folder");
            let forged = fs::read_dir(folder).expect("listing").next().expect("one file");
            let beside = forged.expect("readable").path().with_extension("sig");
            atomic::write(&beside, &signature).expect("written");
        }),
        ("taken away", "has no signature beside it", |_, path, _| {
            fs::remove_file(path.with_extension("sig")).expect("removed");
        }),
        ("taken away with the name of its key", "not signed with a key", |_, path, _| {
            fs::remove_file(path.with_extension("sig")).expect("removed");
            forge(path, |tree| with(tree, &["signer", "keyId"], Json::Null));
        }),
        ("in another's name", "has no valid entry for \"ada\"", |world, _, key| {
            allow(world, &format!("bob {}", public(key)));
        }),
        ("expired", "key has expired", |world, _, key| {
            allow(world, &format!("ada valid-before=\"20200101\" {}", public(key)));
        }),
        ("allowed for something else", "not permitted for use", |world, _, key| {
            allow(world, &format!("ada namespaces=\"git\" {}", public(key)));
        }),
        ("revoked", "has no valid entry for \"ada\"", |world, _, key| {
            let list = world.root().join("revoked");
            atomic::write(&list, public(key).as_bytes()).expect("written");
            world.trust.as_mut().expect("set").lists.revoked = Some(list);
        }),
    ];
    for (name, reason, change) in rows {
        let (mut world, path, key) = signed_with_key();
        assert_eq!(world.gate().holds, Holds::Yes, "{name}: the good twin");
        change(&mut world, &path, &key);
        let answer = world.gate();
        assert_ne!(answer.holds, Holds::Yes, "{name}");
        assert!(answer.reason.contains(reason), "{name}: {}", answer.reason);
    }
}

#[test]
fn a_key_listed_twice_is_one_key() {
    if !have_ssh() {
        return;
    }
    let (world, _path, key) = signed_with_key();
    let public = fs::read_to_string(key.with_extension("pub")).expect("readable");
    replace(&world.root().join("allowed"), format!("ada {public}ada {public}").as_bytes());
    assert_eq!(world.gate().holds, Holds::Yes);
}
