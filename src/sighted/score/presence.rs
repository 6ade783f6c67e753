//! Recall and false-positive rate: is there a detection at all, in pictures with and without litter.

use std::collections::BTreeMap;

use super::subset::{Judged, Selection, Truth};
use crate::sighted::decision::report::Sides;
use crate::stats::cluster::{
    Tally, adjusted_mcnemar, bootstrap, effective_n, intraclass_correlation,
};
use crate::stats::estimate::{Estimate, INTERVAL_FROM};
use crate::stats::paired::{FEWEST_DECIDABLE, PairedTable, mcnemar_mid_p, newcombe};
use crate::stats::proportion::{Interval, count, ratio, wilson};
use crate::stats::sample_size::{
    equivalence_items_needed, paired_items_needed, smallest_visible_difference,
};

/// Seed of every bootstrap in a score: the bytes of `flipside`.
pub(in crate::sighted) const BOOTSTRAP_SEED: u64 = 0x666c_6970_7369_6465;

/// Differences whose price in labels is always listed.
pub(in crate::sighted) const PRICED_DIFFERENCES: [f64; 5] = [0.01, 0.02, 0.03, 0.05, 0.10];

/// Which of the two rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) enum Measure {
    /// Over pictures with litter.
    Recall,
    /// Over clean pictures.
    FalsePositives,
}

impl Measure {
    /// In sentences.
    pub(in crate::sighted) fn name(self) -> &'static str {
        match self {
            Self::Recall => "recall",
            Self::FalsePositives => "false-positive rate",
        }
    }

    fn truth(self) -> Truth {
        match self {
            Self::Recall => Truth::Litter,
            Self::FalsePositives => Truth::Clean,
        }
    }
}

/// One rate for both artifacts, and their difference (candidate − reference).
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Rates {
    /// Which rate.
    pub measure: Measure,
    /// Both artifacts on the same pictures; first is the reference.
    pub table: PairedTable,
    /// Each side's rate.
    pub sides: Sides<Estimate>,
    /// Tango's interval; absent when there are too few pictures for any interval.
    pub tango: Option<Interval>,
    /// Newcombe's, as a second opinion.
    pub newcombe: Option<Interval>,
    /// Exact McNemar p; absent when too few pictures differ for it to decide anything.
    pub mcnemar: Option<f64>,
    /// Mid-p, likewise.
    pub mid_p: Option<f64>,
    /// Exact p after Holm's correction over the planned family.
    pub holm: Option<f64>,
    /// When pictures come in clusters.
    pub clustered: Option<Clustered>,
    /// What disputed and skipped pictures could change.
    pub bounds: Option<Bounds>,
    /// What this many pictures could show.
    pub reach: Option<Reach>,
}

/// Intervals that respect clusters.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Clustered {
    /// Clusters among these pictures.
    pub clusters: u64,
    /// Bootstrap interval of each side.
    pub sides: Sides<Option<Interval>>,
    /// Of the difference.
    pub difference: Option<Interval>,
    /// Adjusted McNemar p; absent below twenty clusters with a surplus.
    pub mcnemar: Option<f64>,
    /// Correlation within clusters, by side.
    pub correlation: Sides<Option<f64>>,
    /// How many independent pictures these are worth, by side.
    pub effective: Sides<Option<f64>>,
}

/// Lowest and highest values over everything the unresolved pictures could be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::sighted) struct Bounds {
    /// Disputed and skipped pictures.
    pub unresolved: u64,
    /// Each side's rate.
    pub sides: Sides<Interval>,
    /// Of the difference.
    pub difference: Interval,
}

/// What so many pictures could show, and what more would take. All of it is "about".
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Reach {
    /// Upper end of the interval of the share of pictures that differ: planned with, not the point.
    pub discordant: f64,
    /// Smallest difference seen in four of five repetitions; absent when none would be.
    pub smallest_visible: Option<f64>,
    /// Pictures still to be labelled, ten in a hundred added, by difference to be seen.
    pub more_for: Vec<(f64, Option<u64>)>,
    /// Likewise to show that a true difference of zero lies within a margin.
    pub more_for_margin: Option<(f64, u64)>,
}

impl Rates {
    /// The interval of the difference that is shown first: the widest there is.
    pub(in crate::sighted) fn headline(&self) -> Option<Interval> {
        let clustered = self.clustered.as_ref().and_then(|clustered| clustered.difference);
        wider(self.tango, clustered)
    }

    /// Takes back everything but the counts.
    pub(in crate::sighted) fn keep_counts_only(&mut self) {
        let n = self.table.n();
        self.sides = Sides {
            a: Estimate::counts(self.table.first(), n),
            b: Estimate::counts(self.table.second(), n),
        };
        (self.tango, self.newcombe, self.mcnemar, self.mid_p) = (None, None, None, None);
        (self.clustered, self.reach) = (None, None);
    }

    /// The interval of one side's rate that is shown first.
    pub(in crate::sighted) fn side_headline(&self, candidate: bool) -> Option<Interval> {
        let estimate = if candidate { self.sides.b } else { self.sides.a };
        let clustered = self
            .clustered
            .as_ref()
            .and_then(|clustered| if candidate { clustered.sides.b } else { clustered.sides.a });
        wider(estimate.rate().map(|rate| rate.interval), clustered)
    }
}

/// The wider of two intervals; nothing when the first is absent, since then n is too small for any.
fn wider(plain: Option<Interval>, other: Option<Interval>) -> Option<Interval> {
    let plain = plain?;
    Some(other.filter(|other| other.width() > plain.width()).unwrap_or(plain))
}

/// Does a side have a detection at `threshold`? Inclusive.
fn hits(judged: &Judged<'_>, threshold: f64) -> Option<(bool, bool)> {
    judged.row.best.map(|best| (best.a >= threshold, best.b >= threshold))
}

/// Counts one rate in a subset.
pub(in crate::sighted) fn rates(
    selection: &Selection<'_>,
    measure: Measure,
    threshold: f64,
    margin: Option<f64>,
) -> Rates {
    let mut table = PairedTable::default();
    let mut unresolved = Vec::new();
    for judged in &selection.judged {
        let Some((a, b)) = hits(judged, threshold) else { continue };
        match judged.truth {
            truth if truth == measure.truth() => table.add(a, b),
            Truth::Disputed | Truth::Skipped => unresolved.push((a, b)),
            Truth::Litter | Truth::Clean => {}
        }
    }
    let n = table.n();
    let enough = n >= INTERVAL_FROM;
    let decidable = table.discordant() >= FEWEST_DECIDABLE;
    Rates {
        measure,
        table,
        sides: Sides { a: Estimate::of(table.first(), n), b: Estimate::of(table.second(), n) },
        tango: enough.then(|| table.tango()).flatten(),
        newcombe: enough.then(|| newcombe(table)).flatten(),
        mcnemar: decidable.then(|| table.mcnemar()),
        mid_p: decidable.then(|| mcnemar_mid_p(table.only_first, table.only_second)),
        holm: None,
        clustered: enough.then(|| clustered(selection, measure, threshold)).flatten(),
        bounds: bounds(table, &unresolved),
        reach: reach(table, margin),
    }
}

/// Bootstrap over clusters; `None` when every picture stands alone.
fn clustered(selection: &Selection<'_>, measure: Measure, threshold: f64) -> Option<Clustered> {
    // Sorted by name, and lone pictures by their id, so the draws do not depend on the manifest's order.
    let mut clusters: BTreeMap<(String, String), [Tally; 3]> = BTreeMap::new();
    for judged in selection.judged.iter().filter(|judged| judged.truth == measure.truth()) {
        let Some((a, b)) = hits(judged, threshold) else { continue };
        let pair = judged.row.group.pair.clone();
        let alone = if pair.is_empty() { judged.row.fixture.to_hex() } else { String::new() };
        let tallies = clusters.entry((pair, alone)).or_default();
        for (tally, hit) in
            tallies.iter_mut().zip([i64::from(a), i64::from(b), i64::from(b) - i64::from(a)])
        {
            tally.hits += hit;
            tally.items += 1;
        }
    }
    if clusters.values().all(|tallies| tallies[0].items < 2) {
        return None;
    }
    let list: Vec<[Tally; 3]> = clusters.into_values().collect();
    let [a, b, difference] = bootstrap(&list, BOOTSTRAP_SEED);
    let side = |index: usize| list.iter().map(|tallies| tallies[index]).collect::<Vec<Tally>>();
    let surplus: Vec<i64> = list.iter().map(|tallies| tallies[2].hits).collect();
    let n: u64 = list.iter().map(|tallies| tallies[0].items).sum();
    let count = list.len() as u64;
    let correlation =
        Sides { a: intraclass_correlation(&side(0)), b: intraclass_correlation(&side(1)) };
    let effective = |rho: Option<f64>| rho.map(|rho| effective_n(n, count, rho));
    Some(Clustered {
        clusters: count,
        sides: Sides { a, b },
        difference,
        mcnemar: adjusted_mcnemar(&surplus),
        correlation,
        effective: Sides { a: effective(correlation.a), b: effective(correlation.b) },
    })
}

/// What `unresolved` pictures, given by the two sides' hits, could do to a table.
fn bounds(table: PairedTable, unresolved: &[(bool, bool)]) -> Option<Bounds> {
    if unresolved.is_empty() {
        return None;
    }
    let mut open = PairedTable::default();
    for (a, b) in unresolved {
        open.add(*a, *b);
    }
    let (n, more) = (table.n(), open.n());
    // Lowest when every miss counts and no hit does; highest the other way round.
    let side = |k: u64, hits: u64| Interval {
        low: ratio(k, n + more - hits),
        high: if n + hits == 0 { 1.0 } else { ratio(k + hits, n + hits) },
    };
    let surplus = count(table.only_second) - count(table.only_first);
    let concordant = open.both + open.neither;
    let share = |surplus: f64, n: u64| if n == 0 { 0.0 } else { surplus / count(n) };
    // Pictures on which the sides agree only dilute, so one of the two ends has all or none of them.
    let ends = |surplus: f64, n: u64| (share(surplus, n), share(surplus, n + concordant));
    let gained = ends(surplus + count(open.only_second), n + open.only_second);
    let lost = ends(surplus - count(open.only_first), n + open.only_first);
    Some(Bounds {
        unresolved: more,
        sides: Sides {
            a: side(table.first(), open.first()),
            b: side(table.second(), open.second()),
        },
        difference: Interval { low: lost.0.min(lost.1), high: gained.0.max(gained.1) },
    })
}

fn reach(table: PairedTable, margin: Option<f64>) -> Option<Reach> {
    let n = table.n();
    let discordant = wilson(table.discordant(), n).filter(|_| n >= INTERVAL_FROM)?.high;
    Some(Reach {
        discordant,
        smallest_visible: smallest_visible_difference(n, discordant),
        more_for: PRICED_DIFFERENCES
            .iter()
            .map(|difference| {
                (*difference, paired_items_needed(discordant, *difference).map(|all| more(all, n)))
            })
            .collect(),
        more_for_margin: margin.and_then(|margin| {
            equivalence_items_needed(discordant, margin).map(|all| (margin, more(all, n)))
        }),
    })
}

/// Pictures still missing to `needed` and a tenth more, since the exact test is a little weaker.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive, and a price beyond 2^64 labels stays one"
)]
fn more(needed: f64, n: u64) -> u64 {
    ((needed * 1.1).ceil() as u64).saturating_sub(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_the_extremes_over_every_assignment() {
        let table = PairedTable { both: 3, only_first: 1, only_second: 2, neither: 2 };
        let open = [(true, false), (false, true), (true, true), (false, false), (false, true)];
        let found = bounds(table, &open).expect("some are open");
        let (mut low, mut high) = (f64::MAX, f64::MIN);
        let (mut a_low, mut a_high) = (f64::MAX, f64::MIN);
        for mask in 0..1_u32 << open.len() {
            let mut with = table;
            for (bit, (a, b)) in open.iter().enumerate() {
                if mask >> bit & 1 == 1 {
                    with.add(*a, *b);
                }
            }
            let difference = with.difference().expect("not empty");
            (low, high) = (low.min(difference), high.max(difference));
            let side = ratio(with.first(), with.n());
            (a_low, a_high) = (a_low.min(side), a_high.max(side));
        }
        assert!((found.difference.low - low).abs() < 1e-12, "{found:?} {low}");
        assert!((found.difference.high - high).abs() < 1e-12, "{found:?} {high}");
        assert!((found.sides.a.low - a_low).abs() < 1e-12);
        assert!((found.sides.a.high - a_high).abs() < 1e-12);
        assert_eq!(bounds(table, &[]), None);
    }

    #[test]
    fn reach_uses_the_upper_end_of_what_differs() {
        let table = PairedTable { both: 77, only_first: 5, only_second: 6, neither: 68 };
        let reach = reach(table, Some(0.05)).expect("enough");
        let upper = wilson(11, 156).expect("n > 0").high;
        assert!((reach.discordant - upper).abs() < 1e-15);
        let five =
            reach.more_for.iter().find(|(difference, _)| *difference > 0.04).expect("listed");
        assert!(five.1.is_some_and(|more| more > 156), "{reach:?}");
        assert!(reach.more_for_margin.is_some());
        assert_eq!(super::reach(PairedTable { both: 4, ..PairedTable::default() }, None), None);
    }
}
