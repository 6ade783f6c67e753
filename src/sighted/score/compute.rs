//! The score: every number about one operating point, from joined evidence.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::category::{CategoryScore, categories};
use super::claim::{Claim, licensed};
use super::curve::Flips;
use super::evidence::{DecisionRow, Evidence, Unjoined};
use super::presence::{Measure, Rates, rates};
use super::subset::{Selection, SubsetKind, Truth, offered};
use crate::domain::canonical::Json;
use crate::domain::digest::{ContentHash, FixtureId};
use crate::sighted::decision::report::Sides;
use crate::stats::estimate::Estimate;
use crate::stats::exact::holm;
use crate::stats::proportion::ratio;
use crate::store::atomic::{self, WriteError};
use crate::store::label_file::BlindStatus;

/// Prevalences precision is re-based to.
pub(in crate::sighted) const REBASED_TO: [f64; 3] = [0.50, 0.20, 0.05];

/// Shares of wrong "litter" labels the sensitivity line assumes.
pub(in crate::sighted) const WRONG_LABELS: [f64; 3] = [0.02, 0.05, 0.10];

/// Fewest pictures of one source for rates; below, counts stand alone, since rates of a handful would be
/// read as a ranking of sources.
pub(in crate::sighted) const SOURCE_RATES_FROM: u64 = 30;

/// A score.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Score {
    /// In force.
    pub operating_point: f64,
    /// What names the evidence.
    pub evidence: Json,
    /// Shown as A and B: artifact hashes.
    pub artifacts: Sides<String>,
    /// File names of the artifacts; not escaped, and part of no hash.
    pub names: Sides<String>,
    /// What it was made of, a line each; not escaped, and part of no hash.
    pub made_of: Vec<String>,
    /// Decisions at the operating point; absent below what the report lists.
    pub decisions: Option<DecisionRow>,
    /// Numbers by subset; `all` first.
    pub subsets: Vec<SubsetScore>,
    /// What may be said.
    pub sentences: Vec<String>,
    /// What takes no part.
    pub unjoined: Vec<Unjoined>,
    /// Why there are no categories, when there are none.
    pub no_categories: Option<String>,
}

/// All numbers of one subset.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct SubsetScore {
    /// Which.
    pub kind: SubsetKind,
    /// Declared before labels were sealed; p-values of others are exploratory.
    pub planned: bool,
    /// Pictures with litter.
    pub positives: u64,
    /// Clean pictures.
    pub clean: u64,
    /// Pictures raters disagree on.
    pub disputed: u64,
    /// Pictures everybody asked has skipped.
    pub skipped: u64,
    /// Pictures nobody was asked about.
    pub unlabelled: u64,
    /// Pictures labelled only after exposure.
    pub exposed_left_out: u64,
    /// Labelled pictures without model output.
    pub without_output: u64,
    /// The weakest status of the labels.
    pub blind: Option<BlindStatus>,
    /// Over pictures with litter.
    pub recall: Rates,
    /// Over clean pictures.
    pub false_positives: Rates,
    /// Precision on presence.
    pub precision: Precision,
    /// Recall if some "litter" labels were wrong, by share wrong.
    pub sensitivity: Vec<(f64, Sides<Option<f64>>)>,
    /// By category.
    pub categories: Vec<CategoryScore>,
    /// Pictures on which the artifacts differ, in the order of the report.
    pub differing: Vec<Differing>,
}

/// Precision on presence: how many of the pictures reported do hold litter. Depends on how many do in
/// the set, so it is shown with that share and re-based to others.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Precision {
    /// TP of TP + FP, by side.
    pub sides: Sides<Estimate>,
    /// By assumed share of pictures with litter.
    pub rebased: Vec<(f64, Sides<Option<f64>>)>,
}

/// A picture on which exactly one artifact has a detection.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Differing {
    /// Which.
    pub fixture: FixtureId,
    /// As the manifest writes it.
    pub path: String,
    /// What raters say.
    pub truth: Truth,
    /// Only the candidate has a detection; otherwise only the reference.
    pub gained: bool,
    /// Best confidence by side.
    pub best: Sides<f64>,
}

/// Scores `evidence` at `operating_point`. The same evidence and point give the same score.
pub(in crate::sighted) fn score(evidence: &Evidence, operating_point: f64) -> Score {
    let planned = |kind: &SubsetKind| {
        *kind == SubsetKind::All
            || evidence.margin.as_ref().is_some_and(|applied| {
                applied.before_labels && applied.margin.subsets.contains(&kind.name())
            })
    };
    let mut subsets: Vec<SubsetScore> = offered(evidence)
        .iter()
        .map(|selection| one_subset(evidence, selection, operating_point, planned(&selection.kind)))
        .collect();
    correct_planned(&mut subsets);
    let decisions = decisions_at(evidence, operating_point);
    Score {
        operating_point,
        evidence: evidence.to_json(),
        artifacts: evidence.artifacts.clone(),
        names: evidence.names.clone(),
        made_of: evidence.in_words(),
        sentences: sentences(evidence, &subsets, decisions.as_ref()),
        decisions,
        subsets,
        unjoined: evidence.unjoined.clone(),
        no_categories: no_categories(evidence, operating_point),
    }
}

impl Score {
    /// Sha256 of the canonical JSON: how a sign-off names it.
    pub(in crate::sighted) fn hash(&self) -> ContentHash {
        ContentHash::of(self.to_json().to_canonical().as_bytes())
    }

    /// Stores the canonical JSON as `<hash, 12>.json` in `folder`, where whoever verifies a sign-off finds
    /// what the score was made of. Storing it again changes nothing.
    ///
    /// # Errors
    /// A failed write.
    pub(in crate::sighted) fn store_in(&self, folder: &Path) -> Result<PathBuf, WriteError> {
        let path = folder.join(format!("{}.json", self.hash().short()));
        match atomic::create_new(&path, self.to_json().to_canonical().as_bytes()) {
            Err(error) if error.source.kind() == ErrorKind::AlreadyExists => Ok(path),
            outcome => outcome.map(|()| path),
        }
    }

    /// Every blind answer as first sealed: the numbers a decision is made on.
    pub(in crate::sighted) fn all(&self) -> Option<&SubsetScore> {
        self.subsets.first()
    }
}

/// The report's own counts, or, between its thresholds, the same counts made here.
fn decisions_at(evidence: &Evidence, threshold: f64) -> Option<DecisionRow> {
    let mut listed = evidence.decisions.iter();
    listed.find(|row| row.threshold.total_cmp(&threshold).is_eq()).cloned().or_else(|| {
        let mut flips = Flips::new(evidence);
        flips.move_to(threshold)
    })
}

fn no_categories(evidence: &Evidence, operating_point: f64) -> Option<String> {
    if evidence.categories.is_empty() {
        Some("no taxonomy given: categories are unmeasured".to_owned())
    } else if operating_point < evidence.detection_floor {
        Some(format!(
            "the report lists detections from {} on, above the operating point {operating_point}: categories are unmeasured",
            evidence.detection_floor
        ))
    } else {
        None
    }
}

fn one_subset(
    evidence: &Evidence,
    selection: &Selection<'_>,
    operating_point: f64,
    planned: bool,
) -> SubsetScore {
    let margin = evidence.margin.as_ref().map(|applied| applied.margin.margin);
    let mut recall = rates(selection, Measure::Recall, operating_point, margin);
    let mut false_positives = rates(selection, Measure::FalsePositives, operating_point, margin);
    let counts_only = matches!(selection.kind, SubsetKind::Source(_))
        && recall.table.n() + false_positives.table.n() < SOURCE_RATES_FROM;
    if counts_only {
        recall.keep_counts_only();
        false_positives.keep_counts_only();
    }
    SubsetScore {
        kind: selection.kind.clone(),
        planned,
        positives: selection.count(Truth::Litter),
        clean: selection.count(Truth::Clean),
        disputed: selection.count(Truth::Disputed),
        skipped: selection.count(Truth::Skipped),
        unlabelled: selection.unlabelled,
        exposed_left_out: selection.exposed_left_out,
        without_output: selection.without_output,
        blind: selection.blind,
        precision: precision(&recall, &false_positives, counts_only),
        sensitivity: sensitivity(&recall, &false_positives),
        recall,
        false_positives,
        categories: categories(
            selection,
            &evidence.categories,
            operating_point,
            evidence.detection_floor,
        ),
        differing: differing(selection, operating_point),
    }
}

/// Holm's correction over the tests of planned subsets.
fn correct_planned(subsets: &mut [SubsetScore]) {
    let mut family: Vec<&mut Rates> = subsets
        .iter_mut()
        .filter(|subset| subset.planned)
        .flat_map(|subset| [&mut subset.recall, &mut subset.false_positives])
        .filter(|rates| rates.mcnemar.is_some())
        .collect();
    let raw: Vec<f64> = family.iter().filter_map(|rates| rates.mcnemar).collect();
    for (rates, adjusted) in family.iter_mut().zip(holm(&raw)) {
        rates.holm = Some(adjusted);
    }
}

/// Each side's point estimates, when both rates have enough pictures for an interval.
fn points_of(recall: &Rates, false_positives: &Rates) -> Sides<Option<(f64, f64)>> {
    let both = |recall: Estimate, false_positives: Estimate| {
        let (recall, other) = (recall.rate()?, false_positives.rate()?);
        Some((ratio(recall.k, recall.n), ratio(other.k, other.n)))
    };
    Sides {
        a: both(recall.sides.a, false_positives.sides.a),
        b: both(recall.sides.b, false_positives.sides.b),
    }
}

fn precision(recall: &Rates, false_positives: &Rates, counts_only: bool) -> Precision {
    let side = |true_hits: u64, false_hits: u64| {
        let n = true_hits + false_hits;
        if counts_only { Estimate::counts(true_hits, n) } else { Estimate::of(true_hits, n) }
    };
    let points = points_of(recall, false_positives);
    let rebase = |share: f64, point: Option<(f64, f64)>| {
        let (recall, false_rate) = point?;
        let reported = share * recall + (1.0 - share) * false_rate;
        (reported > 0.0).then(|| share * recall / reported)
    };
    Precision {
        sides: Sides {
            a: side(recall.table.first(), false_positives.table.first()),
            b: side(recall.table.second(), false_positives.table.second()),
        },
        rebased: REBASED_TO
            .iter()
            .map(|share| {
                (*share, Sides { a: rebase(*share, points.a), b: rebase(*share, points.b) })
            })
            .collect(),
    }
}

/// True recall if a share of the "litter" labels were wrong and those pictures behave like clean ones:
/// (R − F·x)/(1 − x).
fn sensitivity(recall: &Rates, false_positives: &Rates) -> Vec<(f64, Sides<Option<f64>>)> {
    let points = points_of(recall, false_positives);
    let corrected = |wrong: f64, point: Option<(f64, f64)>| {
        point.map(|(recall, other)| ((recall - other * wrong) / (1.0 - wrong)).clamp(0.0, 1.0))
    };
    WRONG_LABELS
        .iter()
        .map(|wrong| {
            (*wrong, Sides { a: corrected(*wrong, points.a), b: corrected(*wrong, points.b) })
        })
        .collect()
}

fn differing(selection: &Selection<'_>, operating_point: f64) -> Vec<Differing> {
    selection
        .judged
        .iter()
        .filter_map(|judged| {
            let best = judged.row.best?;
            let (a, b) = (best.a >= operating_point, best.b >= operating_point);
            (a != b).then(|| Differing {
                fixture: judged.row.fixture,
                path: judged.row.path.clone(),
                truth: judged.truth,
                gained: b,
                best,
            })
        })
        .collect()
}

fn sentences(
    evidence: &Evidence,
    subsets: &[SubsetScore],
    decisions: Option<&DecisionRow>,
) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(row) = decisions {
        let claim = Claim::Instability {
            flips: row.threshold_flips,
            real_flips: row.real_flips,
            mislabels: row.mislabels,
            images: row.images_changed,
        };
        out.push(claim.text());
    }
    for subset in subsets.iter().filter(|subset| subset.planned) {
        let prefix = match subset.kind {
            SubsetKind::All => String::new(),
            _ => format!("[{}] ", subset.kind.name()),
        };
        for rates in [&subset.recall, &subset.false_positives] {
            for claim in licensed(rates, evidence.margin.as_ref()) {
                out.push(format!("{prefix}{}", claim.text()));
            }
        }
        if subset.kind == SubsetKind::All {
            out.push(Claim::Blindness { status: subset.blind }.text());
        }
    }
    out
}
