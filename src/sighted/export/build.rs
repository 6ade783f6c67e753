//! The dossier from evidence: a parity report, and whatever else there is.

use std::collections::BTreeMap;

use super::dossier::{
    ArtifactLine, CategoryLine, Change, Crop, Curve, CurvePoint, DifferingLine, Dossier, Fact,
    Found, OutputLine, Pair, RateLine, SetLine, SignOffBlock, ThresholdLine,
};
use super::picture;
use crate::domain::canonical::float_text;
use crate::domain::digest::ReportHash;
use crate::media::decode::Upright;
use crate::sighted::decision::report::{
    DetectionRow, Extension, FixtureStatus, Item, ItemKind, OutputDelta, ParityReport, Sides,
};
use crate::sighted::record::present::limits_text;
use crate::sighted::record::registry::Entry;
use crate::sighted::record::signature::Signature;
use crate::sighted::record::signoff::SignOff;
use crate::sighted::score::claim::Claim;
use crate::sighted::score::compute::{Score, SubsetScore};
use crate::sighted::score::curve::Curve as RateCurve;
use crate::sighted::score::evidence::{Evidence, file_name};
use crate::sighted::score::presence::{Measure, Rates};
use crate::sighted::score::subset::{SubsetKind, select};
use crate::sighted::score::text::side_text;
use crate::sighted::score::wire::truth_word;
use crate::stats::estimate::{p_text, points};
use crate::store::label_file::BlindStatus;

/// Thresholds a curve is drawn at, in hundredths.
const CURVE_STEPS: std::ops::RangeInclusive<u32> = 2..=98;

/// What a dossier is made of.
pub(in crate::sighted) struct Sources<'a> {
    /// The report.
    pub report: &'a ParityReport,
    /// Sha256 of its bytes.
    pub report_hash: ReportHash,
    /// Where it lies, as named in the document.
    pub report_path: &'a str,
    /// The operating point.
    pub operating_point: f64,
    /// Labels joined with it.
    pub joined: Option<&'a Evidence>,
    /// Their score at the operating point.
    pub score: Option<&'a Score>,
    /// The record about the candidate at this point.
    pub record: Option<&'a Entry>,
    /// Decisions about the candidate.
    pub signoffs: &'a [Decided<'a>],
    /// A fixture's picture, upright, by its id.
    pub picture: &'a PictureOf<'a>,
    /// What reviewers said of an item, in words.
    pub verdicts: &'a VerdictsOf<'a>,
    /// Agreement between raters, in words.
    pub agreement: &'a [(String, String)],
    /// Most changes shown as cards.
    pub most_changes: usize,
}

/// A decision and how it stands.
pub(in crate::sighted) struct Decided<'a> {
    /// What was decided.
    pub signoff: &'a SignOff,
    /// Whether no later one takes its place.
    pub standing: bool,
    /// Who put a key to it.
    pub signatures: Vec<Signature>,
}

/// A fixture's picture, upright, by its id; or why there is none.
pub(in crate::sighted) type PictureOf<'a> = dyn Fn(&str) -> Result<Upright, String> + 'a;

/// What reviewers said of an item, in words.
pub(in crate::sighted) type VerdictsOf<'a> = dyn Fn(&Item) -> Vec<String> + 'a;

/// Builds it.
pub(in crate::sighted) fn dossier(sources: &Sources<'_>) -> Dossier {
    let report = sources.report;
    let extension = report.flipside.as_ref();
    let artifact = |side: &crate::sighted::decision::report::ArtifactEntry| ArtifactLine {
        name: file_name(&side.path),
        bytes: side.bytes,
        sha256: side.sha256.clone(),
    };
    let artifacts = Pair { a: artifact(&report.artifacts.a), b: artifact(&report.artifacts.b) };
    let all = sources.score.and_then(Score::all);
    let (changes, changes_left_out) = changes(sources);
    Dossier {
        title: format!("{} against {}", artifacts.b.name, artifacts.a.name),
        generated_at: report.generated_at.clone(),
        operating_point: sources.operating_point,
        artifacts,
        sentences: sentences(sources),
        warnings: warnings(sources),
        thresholds: thresholds(sources),
        curves: sources.joined.map(curves).unwrap_or_default(),
        rates: rate_lines(sources.score),
        categories: all.map(categories).unwrap_or_default(),
        differing: all.map(differing).unwrap_or_default(),
        changes,
        changes_left_out,
        coverage: coverage(sources),
        agreement: sources.agreement.iter().map(|(name, value)| Fact::new(name, value)).collect(),
        outputs: output_lines(&report.raw_outputs, &|name| {
            let found = extension.and_then(|it| it.non_finite.get(name));
            found.map_or(Pair::default(), |sides| Pair { a: sides.a, b: sides.b })
        }),
        circumstances: circumstances(report),
        record: sources.record.map(record_facts).unwrap_or_default(),
        signoffs: sources.signoffs.iter().map(signoff_block).collect(),
        left_out: left_out(extension, sources.score),
        evidence: evidence(sources),
    }
}

fn sentences(sources: &Sources<'_>) -> Vec<String> {
    if let Some(score) = sources.score {
        return score.sentences.clone();
    }
    let rows = &sources.report.decode.by_threshold;
    let here = |threshold: f64| threshold.total_cmp(&sources.operating_point).is_eq();
    let Some(row) = rows.iter().find(|row| here(row.threshold)) else { return Vec::new() };
    let sets = sources.report.flipside.as_ref().and_then(|extension| {
        extension.set_matching.by_threshold.iter().find(|row| here(row.threshold))
    });
    match sets {
        Some(sets) => vec![
            Claim::Instability {
                flips: row.threshold_flips,
                real_flips: sets.real_flips,
                mislabels: row.class_argmax_flips,
                images: sets.images_changed,
            }
            .text(),
        ],
        None => vec![format!(
            "{} slot flips and {} class flips in {} images; this report does not tell how many are real.",
            row.threshold_flips, row.class_argmax_flips, row.images_with_any_flip
        )],
    }
}

fn warnings(sources: &Sources<'_>) -> Vec<String> {
    let mut out = Vec::new();
    let report = sources.report;
    if sources.score.is_none() {
        out.push("No labels were joined: what these changes cost is not known.".to_owned());
    }
    if !sources.signoffs.iter().any(|decided| decided.standing) {
        out.push("Nobody has decided: no sign-off stands on this evidence.".to_owned());
    }
    if sources.record.is_some_and(|entry| !entry.record.measured_on_target()) {
        out.push(
            "Not measured on the target: the numbers are about the conversion, not about the deployment."
                .to_owned(),
        );
    }
    let here = |row: &&crate::sighted::decision::report::ThresholdRow| {
        row.threshold.total_cmp(&sources.operating_point).is_eq()
    };
    let recommended = report.decode.conf_threshold_recommended;
    if !recommended.total_cmp(&sources.operating_point).is_eq() {
        out.push(format!(
            "What changed one by one is listed at {}, where the report was measured, not at {}.",
            float_text(recommended),
            float_text(sources.operating_point)
        ));
    }
    if let Some(row) = report.decode.by_threshold.iter().find(here)
        && row.detections_a == row.detections_b
        && row.threshold_flips > 0
    {
        out.push(format!(
            "Both artifacts have {} detections, and yet {} slots decide otherwise: equal totals hide changes.",
            row.detections_a, row.threshold_flips
        ));
    }
    let Some(extension) = &report.flipside else {
        out.push(
            "The report names no pictures by hash: changes cannot be shown one by one.".to_owned(),
        );
        return out;
    };
    if extension.shard.of > 1 {
        out.push(format!(
            "This is part {} of {}, not the whole fixture set.",
            extension.shard.index, extension.shard.of
        ));
    }
    let gone = extension.fixtures.iter().filter(|row| row.status == FixtureStatus::LeftOut).count();
    if gone > 0 {
        out.push(format!("{gone} fixtures took no part; they are listed below."));
    }
    let odd: u64 = extension.non_finite.values().map(|sides| sides.a + sides.b).sum();
    if odd > 0 {
        out.push(format!("{odd} output values are NaN or infinite."));
    }
    let floor = &extension.noise_floor;
    if floor.threshold_flips + floor.class_flips > 0 {
        out.push(format!(
            "The reference does not repeat itself: {} slot flips and {} class flips against itself over {} fixtures.",
            floor.threshold_flips, floor.class_flips, floor.fixtures
        ));
    }
    out
}

fn thresholds(sources: &Sources<'_>) -> Vec<ThresholdLine> {
    let sets = sources.report.flipside.as_ref().map(|it| &it.set_matching.by_threshold);
    let set_at = |threshold: f64| {
        let rows = sets?;
        let row = rows.iter().find(|row| row.threshold.total_cmp(&threshold).is_eq())?;
        Some(SetLine {
            real_flips: row.real_flips,
            moved: row.moved_slots,
            relabelled: row.relabelled,
            vanished: row.vanished,
            appeared: row.appeared,
            images_changed: row.images_changed,
            images_presence_changed: row.images_presence_changed,
        })
    };
    let rows = &sources.report.decode.by_threshold;
    rows.iter()
        .map(|row| ThresholdLine {
            threshold: row.threshold,
            in_force: row.threshold.total_cmp(&sources.operating_point).is_eq(),
            detections: Pair { a: row.detections_a, b: row.detections_b },
            flips: Pair { a: row.flips_a_only, b: row.flips_b_only },
            class_flips: row.class_argmax_flips,
            images_with_flip: row.images_with_any_flip,
            sets: set_at(row.threshold),
        })
        .collect()
}

fn curves(joined: &Evidence) -> Vec<Curve> {
    let selection = select(joined, SubsetKind::All);
    let curve = RateCurve::new(joined, &selection);
    let names = [
        ("Recall: images with litter in which something is found", Measure::Recall),
        ("False positives: clean images in which something is found", Measure::FalsePositives),
    ];
    let mut out = Vec::new();
    for (name, measure) in names {
        let corners: Vec<CurvePoint> = CURVE_STEPS
            .filter_map(|step| {
                let threshold = f64::from(step) / 100.0;
                let (a, a_band) = curve.rate(measure, false, threshold)?;
                let (b, b_band) = curve.rate(measure, true, threshold)?;
                let band = Pair { a: [a_band.low, a_band.high], b: [b_band.low, b_band.high] };
                Some(CurvePoint { threshold, rate: Pair { a, b }, band: Some(band) })
            })
            .collect();
        if !corners.is_empty() {
            out.push(Curve { name: name.to_owned(), n: curve.n(measure), points: corners });
        }
    }
    out
}

fn rate_lines(score: Option<&Score>) -> Vec<RateLine> {
    let line = |subset: &SubsetScore, name: &str, rates: &Rates| RateLine {
        subset: format!(
            "{}{}",
            subset.kind.name(),
            if subset.planned { "" } else { " (exploratory)" }
        ),
        measure: name.to_owned(),
        sides: [side_text(rates, false), side_text(rates, true)],
        discordant: [rates.table.only_first, rates.table.only_second],
        difference: match (rates.table.difference(), rates.headline()) {
            (Some(difference), Some(interval)) => format!(
                "{} points ({} to {})",
                points(difference),
                points(interval.low),
                points(interval.high)
            ),
            _ => "too few images to compare".to_owned(),
        },
        test: rates.mcnemar.map_or_else(|| "too few differ".to_owned(), p_text),
        blind: blind_word(subset.blind),
    };
    let subsets = score.map(|score| score.subsets.as_slice()).unwrap_or_default();
    subsets
        .iter()
        .flat_map(|subset| {
            [
                line(subset, "recall", &subset.recall),
                line(subset, "false positives", &subset.false_positives),
            ]
        })
        .collect()
}

fn blind_word(blind: Option<BlindStatus>) -> String {
    blind.map_or("none", BlindStatus::word).to_owned()
}

fn categories(all: &SubsetScore) -> Vec<CategoryLine> {
    let line = |category: &crate::sighted::score::category::CategoryScore| CategoryLine {
        name: category.name.clone(),
        sides: [category.sides.a.text(), category.sides.b.text()],
        unsure: category.unsure,
        verdict: category.sides.a.word().replace('-', " "),
        blind: blind_word(all.blind),
    };
    all.categories.iter().map(line).collect()
}

fn differing(all: &SubsetScore) -> Vec<DifferingLine> {
    let line = |row: &crate::sighted::score::compute::Differing| DifferingLine {
        path: row.path.clone(),
        truth: truth_word(row.truth).to_owned(),
        found_by: if row.gained { "candidate" } else { "reference" }.to_owned(),
        best: [format!("{:.3}", row.best.a), format!("{:.3}", row.best.b)],
    };
    all.differing.iter().map(line).collect()
}

fn changes(sources: &Sources<'_>) -> (Vec<Change>, usize) {
    let Some(extension) = &sources.report.flipside else { return (Vec::new(), 0) };
    // A detection that only changed its slot is no change to anybody.
    let shown: Vec<&Item> =
        extension.items.iter().filter(|item| item.kind != ItemKind::MovedSlot).collect();
    let paths: BTreeMap<&str, &str> =
        extension.fixtures.iter().map(|row| (row.sha256.as_str(), row.path.as_str())).collect();
    let mut last: Option<(&str, Result<Upright, String>)> = None;
    let mut out = Vec::new();
    for item in shown.iter().take(sources.most_changes) {
        if last.as_ref().is_none_or(|(fixture, _)| *fixture != item.fixture) {
            last = Some((item.fixture.as_str(), (sources.picture)(&item.fixture)));
        }
        let picture = last.as_ref().map(|(_, picture)| picture);
        let path = paths.get(item.fixture.as_str()).copied().unwrap_or_default();
        out.push(change(item, path, extension, picture, sources.verdicts));
    }
    (out, shown.len().saturating_sub(sources.most_changes))
}

fn change(
    item: &Item,
    path: &str,
    extension: &Extension,
    picture: Option<&Result<Upright, String>>,
    verdicts: &VerdictsOf<'_>,
) -> Change {
    let found = |row: &DetectionRow| Found {
        class: usize::try_from(row.class_index)
            .ok()
            .and_then(|index| extension.classes.get(index))
            .cloned()
            .unwrap_or_else(|| format!("class {}", row.class_index)),
        confidence: row.confidence,
        slot: row.slot,
    };
    // What a side has there without counting it shows how near the decision was.
    let corners = |own: &Option<DetectionRow>, elsewhere: &Option<DetectionRow>| {
        own.as_ref().or(elsewhere.as_ref()).map(|row| row.corners)
    };
    let boxes =
        Pair { a: corners(&item.a, &item.elsewhere_a), b: corners(&item.b, &item.elsewhere_b) };
    let faint = Pair { a: item.a.is_none(), b: item.b.is_none() };
    let (crop, no_crop) = match picture {
        Some(Ok(upright)) => match picture::crop(&upright.picture, upright.orientation, boxes) {
            Some(crop) => (Some(Crop { faint, ..crop }), String::new()),
            None => (None, "no box to show".to_owned()),
        },
        Some(Err(reason)) => (None, reason.clone()),
        None => (None, "no picture".to_owned()),
    };
    Change {
        kind: kind_words(item.kind).to_owned(),
        path: path.to_owned(),
        fixture: item.fixture.clone(),
        sides: Pair { a: item.a.as_ref().map(found), b: item.b.as_ref().map(found) },
        elsewhere: Pair {
            a: item.elsewhere_a.as_ref().map(found),
            b: item.elsewhere_b.as_ref().map(found),
        },
        crop,
        no_crop,
        verdicts: verdicts(item),
    }
}

fn kind_words(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Vanished => "vanished: only the reference has it",
        ItemKind::Appeared => "appeared: only the candidate has it",
        ItemKind::Relabelled => "relabelled: another class",
        ItemKind::MovedSlot => "moved to another slot",
        ItemKind::Replaced => "replaced: one slot, two different objects",
    }
}

fn coverage(sources: &Sources<'_>) -> Vec<Fact> {
    let (Some(joined), Some(all)) = (sources.joined, sources.score.and_then(Score::all)) else {
        return Vec::new();
    };
    let mut out = vec![
        Fact::new("images with litter", all.positives.to_string()),
        Fact::new("clean images", all.clean.to_string()),
    ];
    for (name, count) in [
        ("raters disagree on", all.disputed),
        ("skipped", all.skipped),
        ("not labelled", all.unlabelled),
        ("labelled after exposure, left out", all.exposed_left_out),
        ("labelled, without model output", all.without_output),
    ] {
        if count > 0 {
            out.push(Fact::new(name, count.to_string()));
        }
    }
    let blind = all.blind.map_or("no labels", |blind| blind.word());
    out.push(Fact::new("blind", blind));
    for file in &joined.label_files {
        let value =
            format!("shard {}, sealed {}, {}", file.shard, file.sealed_at, file.blind.word());
        out.push(Fact::new(file.rater.as_str(), value));
    }
    out.extend(joined.margin.as_ref().map(|applied| Fact::new("margin", applied.in_words())));
    out
}

/// How far each output moved; `non_finite` counts what is no number, by output.
pub(super) fn output_lines(
    deltas: &[OutputDelta],
    non_finite: &dyn Fn(&str) -> Pair<u64>,
) -> Vec<OutputLine> {
    deltas
        .iter()
        .map(|output| OutputLine {
            name: output.name.clone(),
            elements: output.elements_compared,
            max: output.max_abs_delta,
            mean: output.mean_abs_delta,
            p99: output.p99_abs_delta,
            non_finite: non_finite(&output.name),
        })
        .collect()
}

fn circumstances(report: &ParityReport) -> Vec<Fact> {
    let environment = &report.environment;
    let mut out = vec![
        Fact::new("fixtures compared", report.fixtures.count.to_string()),
        Fact::new("host", format!("{} ({})", environment.platform, environment.machine)),
        Fact::new("ONNX Runtime", environment.onnxruntime.clone()),
        Fact::new("providers", environment.execution_providers.join(", ")),
    ];
    if let Some(extension) = &report.flipside {
        let runtime = &extension.runtime;
        let floor = &extension.noise_floor;
        let largest: Vec<String> =
            floor.max_abs_delta.iter().map(|(name, delta)| format!("{name} {delta:.3e}")).collect();
        out.extend([
            Fact::new("threads", runtime.intra_op_threads.to_string()),
            Fact::new("optimisation", runtime.optimisation.clone()),
            Fact::new("processor features", runtime.cpu_features.join(" ")),
            Fact::new("recipe", extension.recipe.name.clone()),
            Fact::new(
                "reference against itself",
                format!(
                    "{} slot flips, {} class flips over {} fixtures; largest difference {}",
                    floor.threshold_flips,
                    floor.class_flips,
                    floor.fixtures,
                    largest.join(", ")
                ),
            ),
        ]);
        if let Some(latency) = &extension.latency {
            let [low, high] = latency.interval;
            let value = format!(
                "candidate takes {:.2} times as long as the reference ({low:.2} to {high:.2}, {} rounds, this machine only)",
                latency.ratio_p50, latency.rounds
            );
            out.push(Fact::new("latency", value));
        }
    }
    out.retain(|fact| !fact.value.is_empty());
    out
}

/// A record in a few facts.
pub(super) fn record_facts(entry: &Entry) -> Vec<Fact> {
    let record = &entry.record;
    vec![
        Fact::new("record", record.record_id.to_hex()),
        Fact::new("model", format!("{} {}", record.identity.model_name, record.version)),
        Fact::new("precision", record.identity.precision.clone()),
        Fact::new("mechanism", record.identity.mechanism.clone()),
        Fact::new("operating point", float_text(record.identity.confidence)),
        Fact::new("measured on target", if record.measured_on_target() { "yes" } else { "NO" }),
        Fact::new("file sha256", entry.file_hash.to_hex()),
    ]
}

fn signoff_block(decided: &Decided<'_>) -> SignOffBlock {
    let Decided { signoff, standing, signatures } = decided;
    let mut facts = vec![
        Fact::new("operating point", float_text(signoff.operating_point)),
        Fact::new("by", format!("{} ({})", signoff.signer.name, signoff.signer.role)),
        Fact::new("on", signoff.signed_at.clone()),
        Fact::new("reason", signoff.reason.clone()),
        Fact::new("limits", limits_text(&signoff.limits)),
        Fact::new("labels", signoff.evidence.blind_status.clone()),
        Fact::new("sign-off", signoff.id.to_hex()),
    ];
    if signoff.chosen_on_same_data {
        facts.push(Fact::new("threshold", "chosen on the same fixtures that judge it"));
    }
    if signatures.is_empty() {
        facts.push(Fact::new("signature", "none: a name that anybody could have typed"));
    }
    facts.extend(signatures.iter().map(|one| Fact::new("signature", one.text())));
    if *standing {
        facts.push(Fact::new("still holds", "not checked for this page: `flipside gate` answers"));
    }
    SignOffBlock {
        decision: signoff.decision.word().to_owned(),
        standing: *standing,
        facts,
        licenses: signoff.licenses.clone(),
        does_not_license: signoff.does_not_license.clone(),
    }
}

fn left_out(extension: Option<&Extension>, score: Option<&Score>) -> Vec<Fact> {
    let mut out: Vec<Fact> = extension
        .map(|extension| extension.fixtures.as_slice())
        .unwrap_or_default()
        .iter()
        .filter(|row| row.status == FixtureStatus::LeftOut)
        .map(|row| Fact::new(row.path.clone(), row.reason.clone().unwrap_or_default()))
        .collect();
    let unjoined = score.map(|score| score.unjoined.as_slice()).unwrap_or_default();
    out.extend(
        unjoined
            .iter()
            .map(|item| Fact::new(format!("{} {}", item.kind, item.name), &*item.reason)),
    );
    out
}

fn evidence(sources: &Sources<'_>) -> Vec<Fact> {
    let report = sources.report;
    let Sides { a, b } = &report.artifacts;
    let mut out = vec![
        Fact::new("reference", a.sha256.clone()),
        Fact::new("candidate", b.sha256.clone()),
        Fact::new(format!("report {}", sources.report_path), sources.report_hash.to_hex()),
        Fact::new("manifest", report.fixtures.manifest_sha256.clone()),
    ];
    if let Some(extension) = &report.flipside {
        out.push(Fact::new("recipe", extension.recipe.sha256.clone()));
        out.push(Fact::new("made with", extension.product.clone()));
    }
    for file in sources.joined.iter().flat_map(|joined| &joined.label_files) {
        out.push(Fact::new(file.path.clone(), file.hash.to_hex()));
    }
    if let Some(score) = sources.score {
        out.push(Fact::new("score", score.hash().to_hex()));
    }
    out
}
