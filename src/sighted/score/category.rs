//! Recovery of coarse categories: in pictures that surely hold one, does the artifact report any of its
//! classes anywhere?
//!
//! A hit can be right for the wrong object: this is presence of a category, not where it lies.

use super::subset::{CategoryTruth, Selection};
use crate::sighted::decision::report::Sides;
use crate::stats::estimate::{Estimate, INTERVAL_FROM};
use crate::stats::exact::holm;
use crate::stats::paired::{FEWEST_DECIDABLE, PairedTable};
use crate::stats::proportion::{Interval, ratio};

/// Smallest denominator on which finding nothing is a finding.
const FINDING_FROM: u64 = 20;

/// One category in one subset.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct CategoryScore {
    /// Its name.
    pub name: String,
    /// Pictures somebody is unsure about; they count for neither artifact.
    pub unsure: u64,
    /// Pictures raters disagree on, likewise.
    pub disputed: u64,
    /// Both artifacts on the pictures that surely hold it.
    pub table: PairedTable,
    /// Each side's recovery.
    pub sides: Sides<Estimate>,
    /// Each side's recovery over everything unsure and disputed pictures could be.
    pub bounds: Option<Sides<Interval>>,
    /// Tango's interval of candidate − reference.
    pub tango: Option<Interval>,
    /// Exact McNemar p; absent when too few pictures differ.
    pub mcnemar: Option<f64>,
    /// After Holm's correction over the categories that have a p.
    pub holm: Option<f64>,
    /// Sides that recover none of twenty pictures or more.
    pub none_found: Sides<bool>,
}

/// Scores every category of the taxonomy. Empty without one, and when `threshold` lies below what the
/// report lists.
pub(in crate::sighted) fn categories(
    selection: &Selection<'_>,
    names: &[String],
    threshold: f64,
    floor: f64,
) -> Vec<CategoryScore> {
    if threshold < floor {
        return Vec::new();
    }
    let mut scores: Vec<CategoryScore> =
        names.iter().map(|name| one(selection, name, threshold)).collect();
    let tested: Vec<usize> =
        (0..scores.len()).filter(|index| scores[*index].mcnemar.is_some()).collect();
    let raw: Vec<f64> = tested.iter().filter_map(|index| scores[*index].mcnemar).collect();
    for (index, adjusted) in tested.into_iter().zip(holm(&raw)) {
        scores[index].holm = Some(adjusted);
    }
    scores
}

fn one(selection: &Selection<'_>, name: &str, threshold: f64) -> CategoryScore {
    let mut table = PairedTable::default();
    let mut open = PairedTable::default();
    let (mut unsure, mut disputed) = (0, 0);
    for judged in &selection.judged {
        let (a, b) = judged
            .row
            .category_best
            .get(name)
            .map_or((false, false), |best| (best.a >= threshold, best.b >= threshold));
        match judged.category(name) {
            Some(CategoryTruth::Present) => table.add(a, b),
            Some(CategoryTruth::Unsure) => {
                unsure += 1;
                open.add(a, b);
            }
            Some(CategoryTruth::Disputed) => {
                disputed += 1;
                open.add(a, b);
            }
            Some(CategoryTruth::Absent) | None => {}
        }
    }
    let n = table.n();
    let bound = |k: u64, hits: u64| Interval {
        low: ratio(k, n + open.n() - hits),
        high: if n + hits == 0 { 1.0 } else { ratio(k + hits, n + hits) },
    };
    let none = |k: u64| k == 0 && n >= FINDING_FROM;
    CategoryScore {
        name: name.to_owned(),
        unsure,
        disputed,
        table,
        sides: Sides { a: Estimate::of(table.first(), n), b: Estimate::of(table.second(), n) },
        bounds: (open.n() > 0).then(|| Sides {
            a: bound(table.first(), open.first()),
            b: bound(table.second(), open.second()),
        }),
        tango: (n >= INTERVAL_FROM).then(|| table.tango()).flatten(),
        mcnemar: (table.discordant() >= FEWEST_DECIDABLE).then(|| table.mcnemar()),
        holm: None,
        none_found: Sides { a: none(table.first()), b: none(table.second()) },
    }
}
