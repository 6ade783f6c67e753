//! Rules of the join, of several raters on one picture, of what may be said; and the algebra a score obeys.

use proptest::prelude::*;

use super::claim::{Claim, licensed};
use super::compute::{Score, SubsetScore, score};
use super::evidence::{Evidence, Exposure, JoinError};
use super::margin::Margin;
use super::presence::Rates;
use super::subset::{SubsetKind, Truth, select};
use super::testing::{Set, bottles, drawing, fixture, label, line, manifest};
use crate::domain::label::{CategoryState, Certainty, Presence};
use crate::domain::manifest::FixtureGroup;
use crate::stats::paired::PairedTable;
use crate::store::label_file::{BlindStatus, LabelFile};

fn subset<'s>(score: &'s Score, name: &str) -> &'s SubsetScore {
    let found = score.subsets.iter().find(|subset| subset.kind.name() == name);
    found.unwrap_or_else(|| panic!("no subset {name}"))
}

fn has(evidence: &Evidence, kind: &str, name: &str, reason: &str) -> bool {
    evidence
        .unjoined
        .iter()
        .any(|it| it.kind == kind && it.name.contains(name) && it.reason.contains(reason))
}

fn table(both: u64, only_first: u64, only_second: u64, neither: u64) -> PairedTable {
    PairedTable { both, only_first, only_second, neither }
}

/// Pictures for a table of positives and one of clean ones, labelled by one rater.
fn set_of(recall: PairedTable, clean: PairedTable) -> Set {
    let mut names: Vec<(String, f64, f64, bool)> = Vec::new();
    for (counts, litter) in [(recall, true), (clean, false)] {
        for (count, a, b) in [
            (counts.both, 0.9, 0.9),
            (counts.only_first, 0.9, 0.1),
            (counts.only_second, 0.1, 0.9),
            (counts.neither, 0.1, 0.1),
        ] {
            for _ in 0..count {
                names.push((format!("p{}", names.len()), a, b, litter));
            }
        }
    }
    let pictures: Vec<(&str, f64, f64)> =
        names.iter().map(|(name, a, b, _)| (name.as_str(), *a, *b)).collect();
    let mut set = Set::new(&pictures);
    let named = |wanted: bool| -> Vec<&str> {
        names.iter().filter(|it| it.3 == wanted).map(|it| it.0.as_str()).collect()
    };
    set.labelled("ada", &named(true), &named(false));
    set
}

#[test]
fn the_published_totals_come_out() {
    let set = set_of(table(77, 5, 6, 68), table(4, 0, 0, 40));
    let found = score(&set.join(), 0.4);
    let all = found.all().expect("there is one");
    assert_eq!(all.recall.sides.a.text(), "82/156 = 52.6 % (44.8 to 60.2 %)");
    assert_eq!(all.recall.sides.b.text(), "83/156 = 53.2 % (45.4 to 60.9 %)");
    assert_eq!(all.false_positives.sides.b.text(), "4/44 = 9.1 % (3.6 to 21.2 %)");
    assert_eq!(all.recall.mcnemar, Some(1.0));
    assert_eq!(all.false_positives.mcnemar, None, "nothing differs, so no p is given");
    assert_eq!(all.differing.len(), 11);
    let rebased = all.precision.rebased[0].1;
    assert!((rebased.a.expect("measured") - 0.8526).abs() < 5e-5);
    assert!((all.sensitivity[1].1.a.expect("measured") - 0.5485).abs() < 5e-5);
    insta::assert_snapshot!(found.sentences.join("\n"), @"
    Decisions changed: 11 threshold flips (11 real), 0 mislabels, 11 images; this is instability, and only labels tell what it costs
    Recall: no measurable difference; the candidate could be −4.0 to +5.4 points (11 changed images, p = 1.000)
    False-positive rate: cannot be decided with 0 changed images (fewer than 6); the candidate could be −8.0 to +8.0 points
    Labels: blind, enforced (the program kept model output away; it existed)
    ");
}

#[test]
fn the_operating_point_is_inclusive() {
    let mut set = Set::new(&[("a", 0.4, 0.399_999_999_999)]);
    set.labelled("ada", &["a"], &[]);
    let found = score(&set.join(), 0.4);
    assert_eq!(found.all().expect("one").recall.table, table(0, 1, 0, 0));
}

#[test]
fn whatever_does_not_join_is_listed() {
    let mut set = Set::new(&[("a", 0.9, 0.9), ("b", 0.1, 0.1), ("c", 0.9, 0.9), ("a", 0.9, 0.9)]);
    let rows = &mut set.report.flipside.as_mut().expect("ours").fixtures;
    rows[2].found = None;
    rows[2].reason = Some("truncated".to_owned());
    set.report.flipside.as_mut().expect("ours").classes.push("odd.thing".to_owned());
    set.labelled("ada", &["a", "stranger"], &["b", "c"]);
    let again = set.files[0].clone();
    set.files.push(again);
    set.groups.insert("gone.jpg".to_owned(), FixtureGroup::default());
    let other = set.header("eve");
    let mut foreign = other.clone();
    foreign.manifest = crate::domain::digest::ManifestHash::of(b"other");
    foreign.taxonomy = crate::domain::digest::TaxonomyHash::of(b"other");
    let file = LabelFile::new(foreign, vec![line("a", bottles())], Vec::new());
    set.files.push(super::evidence::NamedLabelFile { path: "labels/eve.jsonl".to_owned(), file });
    let evidence = set.join();
    let stranger = fixture("stranger").to_hex();
    for (kind, name, reason) in [
        ("fixture", "a.jpg", "counts once"),
        ("fixture", "c.jpg", "truncated"),
        ("label", stranger.as_str(), "not in the report"),
        ("label-file", "ada", "same bytes"),
        ("label-file", "eve", "made for manifest"),
        ("label-file", "eve", "presence only"),
        ("class", "odd.thing", "no category"),
        ("group", "gone.jpg", "not in the report"),
    ] {
        assert!(
            has(&evidence, kind, name, reason),
            "{kind} {name} {reason}: {:?}",
            evidence.unjoined
        );
    }
    let all = select(&evidence, SubsetKind::All);
    assert_eq!((all.judged.len(), all.without_output, all.unlabelled), (2, 1, 0));
}

#[test]
fn files_that_have_nothing_in_common_are_refused() {
    let set = Set::new(&[("a", 0.9, 0.9)]);
    assert_eq!(set.try_join(), Err(JoinError::NoLabels));
    let mut strangers = Set::new(&[("a", 0.9, 0.9)]);
    strangers.labelled("ada", &["x"], &["y"]);
    assert_eq!(strangers.try_join(), Err(JoinError::NothingJoins { labels: 2, fixtures: 1 }));
    let mut foreign = Set::new(&[("a", 0.9, 0.9)]);
    foreign.labelled("ada", &["a"], &[]);
    assert!(foreign.try_join().is_ok());
    foreign.report.flipside = None;
    assert_eq!(foreign.try_join(), Err(JoinError::ForeignReport));
}

#[test]
fn raters_who_disagree_make_a_picture_disputed() {
    let mut set = Set::new(&[("a", 0.9, 0.9), ("b", 0.9, 0.1), ("c", 0.1, 0.1), ("d", 0.9, 0.9)]);
    set.labelled("ada", &["a", "b"], &["c"]);
    set.labelled("ben", &["a"], &["b"]);
    set.file("cyd", vec![line("b", label(Presence::Litter))], &["d"]);
    let evidence = set.join();
    let all = select(&evidence, SubsetKind::All);
    let truths: Vec<Truth> = all.judged.iter().map(|judged| judged.truth).collect();
    assert_eq!(truths, [Truth::Litter, Truth::Disputed, Truth::Clean, Truth::Skipped]);
    let found = score(&evidence, 0.4);
    let all = subset(&found, "all");
    assert_eq!((all.positives, all.clean, all.disputed, all.skipped), (1, 1, 1, 1));
    let bounds = all.recall.bounds.expect("two are open");
    assert_eq!(bounds.unresolved, 2);
    assert!((bounds.difference.low - -0.5).abs() < 1e-12, "{bounds:?}");
    assert_eq!(subset(&found, "labelled-twice-agreed").positives, 1);
    assert_eq!(subset(&found, "rater:ben").clean, 1);
    assert_eq!(subset(&found, "rater:ada").positives, 2);
}

#[test]
fn an_answer_after_exposure_is_kept_and_left_out_of_blind_numbers() {
    let at = |text: &str| text.parse().expect("a time");
    let mut set = Set::new(&[("a", 0.9, 0.9), ("b", 0.9, 0.9), ("c", 0.9, 0.9)]);
    let mut told = line("c", bottles());
    told.exposed = true;
    set.file("ada", vec![line("a", bottles()), line("b", bottles()), told], &[]);
    for (name, time) in [("a", "2026-01-04T00:00:00+00:00"), ("b", "2026-01-05T00:00:01+00:00")] {
        set.exposures.push(Exposure {
            rater: "ada".parse().expect("a rater"),
            fixture: fixture(name),
            seen_at: at(time),
        });
    }
    let evidence = set.join();
    assert_eq!(evidence.exposures.len(), 1, "only what came before the answer matters");
    let found = score(&evidence, 0.4);
    let all = subset(&found, "all");
    assert_eq!((all.positives, all.exposed_left_out), (1, 2));
    assert_eq!(all.blind, Some(BlindStatus::Enforced));
    let with = subset(&found, "with-exposed");
    assert_eq!((with.positives, with.blind), (3, Some(BlindStatus::Broken)));
}

#[test]
fn blindness_is_the_weakest_of_the_inputs_and_proof_needs_an_older_seal() {
    let mut set = Set::new(&[("a", 0.9, 0.9), ("b", 0.9, 0.9)]);
    for (rater, name, status) in
        [("ada", "a", BlindStatus::Proven), ("ben", "b", BlindStatus::Asserted)]
    {
        let mut header = set.header(rater);
        header.blind = status;
        let file = LabelFile::new(header, vec![line(name, bottles())], Vec::new());
        set.files.push(super::evidence::NamedLabelFile { path: rater.to_owned(), file });
    }
    let blind = |set: &Set, name: &str| subset(&score(&set.join(), 0.4), name).blind;
    assert_eq!(blind(&set, "all"), Some(BlindStatus::Asserted));
    assert_eq!(blind(&set, "rater:ada"), Some(BlindStatus::Enforced), "the report was there first");
    set.report.generated_at = "2026-02-01T00:00:00+00:00".to_owned();
    assert_eq!(blind(&set, "rater:ada"), Some(BlindStatus::Proven));
}

#[test]
fn an_amended_answer_stands_beside_the_first_never_instead() {
    let mut set = Set::new(&[("a", 0.9, 0.9), ("b", 0.9, 0.9)]);
    set.labelled("ada", &["a", "b"], &[]);
    let first = set.files[0].file.sha256;
    let mut header = set.header("ada");
    header.supersedes = Some(first);
    header.sealed_at = "2026-01-07T00:00:00+00:00".to_owned();
    let mut amended = line("b", label(Presence::Clean));
    amended.amended = Some("looked again".to_owned());
    let file = LabelFile::new(header, vec![line("a", bottles()), amended], Vec::new());
    set.files.insert(0, super::evidence::NamedLabelFile { path: "second".to_owned(), file });
    let found = score(&set.join(), 0.4);
    assert_eq!((subset(&found, "all").positives, subset(&found, "all").clean), (2, 0));
    let with = subset(&found, "with-amendments");
    assert_eq!((with.positives, with.clean), (1, 1));
    set.files.pop();
    assert!(has(&set.join(), "label-file", "second", "not given"), "the first is missing");
}

#[test]
fn subsets_drop_drawings_flags_and_doubts() {
    let mut set = Set::new(&[("a", 0.9, 0.9), ("b", 0.9, 0.9), ("c", 0.9, 0.9), ("d", 0.1, 0.9)]);
    let mut doubtful = bottles();
    doubtful.certainty = Certainty::Medium;
    set.file(
        "ada",
        vec![
            line("a", bottles()),
            line("b", drawing(bottles())),
            line("c", bottles()),
            line("d", doubtful),
        ],
        &[],
    );
    set.flagged.insert(fixture("c"));
    for (name, source) in [("a", "one"), ("b", "one"), ("c", "two"), ("d", "two")] {
        let group = FixtureGroup { source: source.to_owned(), pair: String::new() };
        set.groups.insert(format!("{name}.jpg"), group);
    }
    let found = score(&set.join(), 0.4);
    let positives = |name: &str| subset(&found, name).positives;
    assert_eq!(
        [positives("all"), positives("photographs"), positives("high-confidence")],
        [4, 2, 3]
    );
    assert_eq!([positives("source:one"), positives("source:two")], [2, 2]);
    assert!(subset(&found, "all").planned && !subset(&found, "photographs").planned);
}

#[test]
fn a_source_of_fewer_than_thirty_pictures_is_counted_and_not_rated() {
    let sources = |first: usize| {
        let names: Vec<String> = (0..60).map(|index| format!("p{index}")).collect();
        let pictures: Vec<(&str, f64, f64)> =
            names.iter().map(|name| (name.as_str(), 0.9, 0.9)).collect();
        let mut set = Set::new(&pictures);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        set.labelled("ada", &names, &[]);
        for (index, name) in names.iter().enumerate() {
            let source = if index < first { "few" } else { "more" };
            let group = FixtureGroup { source: source.to_owned(), pair: String::new() };
            set.groups.insert(format!("{name}.jpg"), group);
        }
        score(&set.join(), 0.4)
    };
    let found = sources(29);
    let few = subset(&found, "source:few");
    assert_eq!(few.recall.sides.b.text(), "29/29, too few");
    assert!(few.recall.tango.is_none() && few.recall.reach.is_none());
    assert_eq!(few.precision.sides.a.word(), "too-few");
    for enough in [subset(&found, "source:more"), subset(&sources(30), "source:few")] {
        assert!(enough.recall.sides.b.rate().is_some() && enough.recall.tango.is_some());
        assert!(enough.precision.sides.a.rate().is_some());
    }
}

#[test]
fn an_unsure_category_counts_for_neither_and_bounds_both() {
    let mut pictures: Vec<(String, f64, f64)> =
        (0..6).map(|i| (format!("p{i}"), 0.9, 0.9)).collect();
    pictures.push(("open".to_owned(), 0.9, 0.1));
    let named: Vec<(&str, f64, f64)> =
        pictures.iter().map(|(name, a, b)| (name.as_str(), *a, *b)).collect();
    let mut set = Set::new(&named);
    let mut unsure = bottles();
    unsure.categories.insert("bottles".to_owned(), CategoryState::Unsure);
    let mut lines: Vec<_> = (0..6).map(|i| line(&format!("p{i}"), bottles())).collect();
    lines.push(line("open", unsure));
    set.file("ada", lines, &[]);
    let found = score(&set.join(), 0.4);
    let [first, second] = &subset(&found, "all").categories[..] else { panic!("two categories") };
    assert_eq!((first.name.as_str(), first.unsure, first.table), ("bottles", 1, table(6, 0, 0, 0)));
    let bounds = first.bounds.expect("one is open");
    assert!((bounds.b.low - 6.0 / 7.0).abs() < 1e-12 && (bounds.b.high - 1.0).abs() < 1e-12);
    assert_eq!((second.name.as_str(), second.sides.a.word()), ("cans", "unmeasured"));
    assert_eq!(score(&set.join(), 0.1).all().expect("one").categories.len(), 0);
    assert!(score(&set.join(), 0.1).no_categories.expect("said").contains("0.2"));
}

#[test]
fn clusters_widen_the_interval_that_is_shown() {
    let mut set = set_of(table(20, 8, 2, 10), table(0, 0, 0, 0));
    let plain = score(&set.join(), 0.4);
    assert_eq!(plain.all().expect("one").recall.clustered, None);
    for index in 0..40 {
        // Alike within a cluster: 20 both, then the 8, the 2 and the 10, two by two.
        let group = FixtureGroup { source: String::new(), pair: format!("place{:02}", index / 2) };
        set.groups.insert(format!("p{index}.jpg"), group);
    }
    let evidence = set.join();
    let found = score(&evidence, 0.4);
    let recall = &found.all().expect("one").recall;
    let clustered = recall.clustered.as_ref().expect("clusters");
    assert_eq!((clustered.clusters, clustered.mcnemar), (20, None));
    assert!(clustered.correlation.a.expect("enough") > 0.9);
    assert!((clustered.effective.a.expect("enough") - 20.0).abs() < 2.0);
    let headline = recall.headline().expect("enough");
    assert!(headline.width() >= recall.tango.expect("enough").width());
    assert!(recall.side_headline(false).expect("enough").width() > 0.35);
    assert_eq!(score(&evidence, 0.4), found, "the draws are seeded");
}

fn margin(value: f64, registered_at: &str) -> Margin {
    Margin {
        margin: value,
        question: "may it replace the reference?".to_owned(),
        subsets: vec!["photographs".to_owned()],
        registered_at: registered_at.to_owned(),
        manifest_sha256: manifest().to_hex(),
        sealed_then: Vec::new(),
        product: "flipside 0.1.0".to_owned(),
    }
}

/// Claims about recall on a table, with a margin registered before or after the seal.
fn claims(recall: PairedTable, registered: Option<(f64, bool)>) -> Vec<Claim> {
    let mut set = set_of(recall, table(0, 0, 0, 0));
    if let Some((value, early)) = registered {
        let when = if early { "2026-01-02T00:00:00+00:00" } else { "2026-01-09T00:00:00+00:00" };
        set.margins.push(margin(value, when));
    }
    let evidence = set.join();
    let found = score(&evidence, 0.4);
    licensed(&found.all().expect("one").recall, evidence.margin.as_ref())
}

#[test]
fn each_sentence_is_said_when_the_data_licenses_it_and_not_otherwise() {
    let one = |table| claims(table, None).remove(0);
    assert!(matches!(one(table(1, 0, 0, 0)), Claim::Unmeasured { n: 1, .. }));
    assert!(matches!(one(table(2, 1, 0, 0)), Claim::TooFew { n: 3, .. }));
    assert!(matches!(one(table(30, 2, 3, 5)), Claim::Undecidable { changed: 5, .. }));
    // Five one-sided changes put the interval above zero, and still decide nothing.
    assert!(matches!(one(table(30, 0, 5, 6)), Claim::Undecidable { changed: 5, .. }));
    assert!(matches!(one(table(30, 4, 4, 5)), Claim::NoMeasurableDifference { .. }));
    assert!(
        matches!(one(table(30, 0, 12, 5)), Claim::Differs { difference, .. } if difference > 0.0)
    );
    assert!(
        matches!(one(table(30, 12, 0, 5)), Claim::Differs { difference, .. } if difference < 0.0)
    );
    let second = |registered| claims(table(300, 3, 4, 100), Some(registered)).remove(1);
    assert!(matches!(second((0.05, true)), Claim::Equivalent { .. }));
    assert!(matches!(second((0.05, false)), Claim::WouldBeWithin { .. }));
    assert!(matches!(second((0.005, true)), Claim::NotShownWithin { .. }));
    assert_eq!(claims(table(300, 3, 4, 100), None).len(), 1, "no margin, no word of one");
}

#[test]
fn a_margin_registered_early_makes_its_subsets_planned_and_corrected() {
    let mut set = set_of(table(40, 9, 1, 10), table(20, 0, 6, 20));
    set.margins.push(margin(0.05, "2026-01-02T00:00:00+00:00"));
    let found = score(&set.join(), 0.4);
    let photographs = subset(&found, "photographs");
    assert!(photographs.planned);
    let holm = photographs.recall.holm.expect("planned");
    assert!(holm > photographs.recall.mcnemar.expect("ten differ"));
    assert_eq!(subset(&found, "high-confidence").recall.holm, None);
    let mut other = set_of(table(40, 9, 1, 10), table(20, 0, 6, 20));
    let mut elsewhere = margin(0.05, "2026-01-02T00:00:00+00:00");
    elsewhere.manifest_sha256 = "cc".repeat(32);
    other.margins.push(elsewhere);
    assert!(has(&other.join(), "margin", "", "registered for manifest"));
}

#[test]
fn the_words_that_are_never_said_are_in_no_output() {
    for (recall, clean) in [
        (table(77, 5, 6, 68), table(4, 0, 0, 40)),
        (table(300, 0, 0, 0), table(0, 0, 0, 300)),
        (table(1, 0, 0, 0), table(0, 0, 0, 1)),
        (table(30, 0, 20, 5), table(0, 12, 0, 30)),
        (table(0, 0, 0, 0), table(0, 0, 0, 3)),
    ] {
        for early in [true, false] {
            let mut set = set_of(recall, clean);
            let when =
                if early { "2026-01-02T00:00:00+00:00" } else { "2026-01-09T00:00:00+00:00" };
            set.margins.push(margin(0.05, when));
            let found = score(&set.join(), 0.4);
            let said =
                [found.to_text(&[]), found.to_markdown(&[]), found.sentences.join(" ")].join(" ");
            let said = said.to_lowercase();
            for word in
                ["no loss", "the same accuracy", "equally", "identical", "significant", "degrad"]
            {
                assert!(!said.contains(word), "{word:?} in {said}");
            }
            assert!(!said.contains("equivalent") || early, "{said}");
        }
    }
    let few = score(&set_of(table(1, 0, 0, 0), table(0, 0, 0, 1)).join(), 0.4).to_text(&[]);
    assert!(!few.contains("100.0 %") && few.contains("unmeasured (1 image)"), "{few}");
}

#[test]
fn every_number_carries_how_blind_its_labels_are() {
    let found = score(&set_of(table(77, 5, 6, 68), table(4, 0, 0, 40)).join(), 0.4);
    let text = found.to_text(&[]);
    let numbers = text.lines().filter(|line| line.contains(" = ") || line.contains("points ("));
    assert!(numbers.clone().count() > 12, "{text}");
    for line in numbers.filter(|line| line.starts_with(' ')) {
        assert!(line.contains("[enforced]"), "{line}");
    }
    let json = found.to_json().to_canonical();
    assert!(json.matches("\"wilson\"").count() < json.matches("\"blind\"").count());
}

#[test]
fn text_of_a_small_score() {
    let mut set =
        Set::new(&[("a", 0.9, 0.9), ("b\u{202e}", 0.9, 0.1), ("c", 0.1, 0.1), ("d", 0.9, 0.9)]);
    set.labelled("ada", &["a", "b\u{202e}"], &["c"]);
    set.file("cyd", vec![], &["d"]);
    let found = score(&set.join(), 0.4);
    insta::assert_snapshot!("small-text", found.to_text(&[]));
    insta::assert_snapshot!("small-markdown", found.to_markdown(&[]));
    insta::assert_snapshot!("small-csv", found.to_csv().expect("in memory"));
    insta::assert_snapshot!("small-json", found.to_json().to_file());
}

fn small_table() -> impl Strategy<Value = PairedTable> {
    (0..12_u64, 0..9_u64, 0..9_u64, 0..12_u64).prop_map(|(a, b, c, d)| table(a, b, c, d))
}

fn recall_of(set: &Set) -> Rates {
    score(&set.join(), 0.4).all().expect("one").recall.clone()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn swapping_the_artifacts_negates_intervals_and_keeps_p(recall in small_table(), clean in small_table()) {
        prop_assume!(recall.n() + clean.n() > 0);
        let plain = score(&set_of(recall, clean).join(), 0.4);
        let swapped = score(&set_of(recall.swapped(), clean.swapped()).join(), 0.4);
        let (plain, swapped) = (plain.all().expect("one"), swapped.all().expect("one"));
        for (one, two) in [(&plain.recall, &swapped.recall), (&plain.false_positives, &swapped.false_positives)] {
            prop_assert_eq!(one.mcnemar, two.mcnemar);
            prop_assert_eq!(one.tango.is_some(), two.tango.is_some());
            if let (Some(one), Some(two)) = (one.tango, two.tango) {
                prop_assert!((one.low + two.high).abs() < 1e-9 && (one.high + two.low).abs() < 1e-9);
            }
            prop_assert_eq!(one.sides.a, two.sides.b);
        }
    }

    #[test]
    fn pictures_on_which_both_agree_never_change_p(recall in small_table(), both in 0..20_u64, neither in 0..20_u64) {
        prop_assume!(recall.n() > 0);
        let more = table(recall.both + both, recall.only_first, recall.only_second, recall.neither + neither);
        let none = table(0, 0, 0, 1);
        prop_assert_eq!(recall_of(&set_of(recall, none)).mcnemar, recall_of(&set_of(more, none)).mcnemar);
    }

    #[test]
    fn the_order_of_pictures_and_files_changes_nothing(recall in small_table(), turn in 0..40_usize) {
        prop_assume!(recall.n() > 1);
        let mut set = set_of(recall, table(1, 1, 1, 1));
        set.labelled("ben", &["p0"], &["p1"]);
        for index in 0..recall.n() {
            let group = FixtureGroup { source: String::new(), pair: format!("place{}", index % 7) };
            set.groups.insert(format!("p{index}.jpg"), group);
        }
        let before = score(&set.join(), 0.4);
        let rows = &mut set.report.flipside.as_mut().expect("ours").fixtures;
        let length = rows.len();
        rows.rotate_left(turn % length);
        set.files.reverse();
        let after = score(&set.join(), 0.4);
        for (one, two) in before.subsets.iter().zip(&after.subsets) {
            prop_assert_eq!(&one.recall, &two.recall);
            prop_assert_eq!(&one.false_positives, &two.false_positives);
            prop_assert_eq!(&one.categories, &two.categories);
            prop_assert_eq!(one.differing.len(), two.differing.len());
        }
        prop_assert_eq!(before.sentences, after.sentences);
    }

    #[test]
    fn twice_the_pictures_is_twice_the_counts(recall in small_table()) {
        prop_assume!(recall.n() > 0);
        let double = table(2 * recall.both, 2 * recall.only_first, 2 * recall.only_second, 2 * recall.neither);
        let none = table(0, 0, 0, 1);
        let (one, two) = (recall_of(&set_of(recall, none)), recall_of(&set_of(double, none)));
        prop_assert_eq!(one.table.n() * 2, two.table.n());
        if let (Some(one), Some(two)) = (one.tango, two.tango) {
            prop_assert!(two.width() <= one.width() + 1e-12);
        }
    }

    #[test]
    fn when_nobody_answers_everything_is_unmeasured(count in 1..30_usize) {
        let names: Vec<String> = (0..count).map(|index| format!("p{index}")).collect();
        let pictures: Vec<(&str, f64, f64)> =
            names.iter().map(|name| (name.as_str(), 0.9, 0.1)).collect();
        let mut set = Set::new(&pictures);
        let skipped: Vec<&str> = names.iter().map(String::as_str).collect();
        set.file("ada", vec![], &skipped);
        let found = score(&set.join(), 0.4);
        for subset in &found.subsets {
            for rates in [&subset.recall, &subset.false_positives] {
                prop_assert_eq!(rates.sides.a.word(), "unmeasured");
                prop_assert_eq!(rates.sides.b.word(), "unmeasured");
                prop_assert!(rates.tango.is_none() && rates.mcnemar.is_none());
            }
            for category in &subset.categories {
                prop_assert_eq!(category.sides.a.word(), "unmeasured");
            }
        }
        prop_assert!(!found.to_text(&[]).contains(" %"), "{}", found.to_text(&[]));
    }
}
