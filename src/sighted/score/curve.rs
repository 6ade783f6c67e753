//! Rates and decisions as functions of the threshold.
//!
//! Confidences are sorted once; a reading is a few binary searches, and what a step changes is a stretch of
//! a sorted list. Decisions as sets are kept per picture and counted again only where a detection lies
//! between the old threshold and the new one.
//!
//! A threshold read off a curve was chosen on the same data, so bands here hold at every threshold at once
//! (DKW), half of α for each of the two rates.

use super::evidence::{DecisionRow, Evidence};
use super::presence::Measure;
use super::subset::{Selection, Truth};
use crate::sighted::decision::flip::slot_counts;
use crate::sighted::decision::report::{DetectionRow, Sides};
use crate::sighted::decision::slot_match::match_sets;
use crate::stats::estimate::INTERVAL_FROM;
use crate::stats::paired::PairedTable;
use crate::stats::proportion::{Interval, ratio};
use crate::stats::sample_size::dkw_half_width;

/// α of the joint band, halved between recall and false positives.
const JOINT_ALPHA: f64 = 0.05;

/// Index into [`Evidence::rows`].
pub(in crate::sighted) type RowIndex = usize;

/// Both artifacts' best confidences over one class of pictures, sorted so that counting is searching.
#[derive(Debug, Clone, Default)]
struct Sorted {
    a: Vec<f64>,
    b: Vec<f64>,
    /// The lower of both: at or above the threshold, both hit.
    lower: Vec<f64>,
}

impl Sorted {
    fn new(best: impl Iterator<Item = Sides<f64>>) -> Self {
        let mut sorted = Self::default();
        for best in best {
            sorted.a.push(best.a);
            sorted.b.push(best.b);
            sorted.lower.push(best.a.min(best.b));
        }
        for list in [&mut sorted.a, &mut sorted.b, &mut sorted.lower] {
            list.sort_by(f64::total_cmp);
        }
        sorted
    }

    fn table(&self, threshold: f64) -> PairedTable {
        let at_least = |list: &[f64]| (list.len() - below(list, threshold)) as u64;
        let (a, b, both) = (at_least(&self.a), at_least(&self.b), at_least(&self.lower));
        let n = self.a.len() as u64;
        PairedTable { both, only_first: a - both, only_second: b - both, neither: n + both - a - b }
    }
}

/// How many of a sorted list lie below `threshold`; a tie counts as not below, so it survives.
fn below(sorted: &[f64], threshold: f64) -> usize {
    sorted.partition_point(|value| *value < threshold)
}

/// Rates of one subset by threshold.
#[derive(Debug, Clone)]
pub(in crate::sighted) struct Curve {
    positives: Sorted,
    clean: Sorted,
    /// Best confidence of every picture with output, by side, ascending.
    all: Sides<Vec<(f64, RowIndex)>>,
}

/// One side's presence in one picture changed by a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::sighted) struct Change {
    /// Which picture.
    pub row: RowIndex,
    /// The candidate's; otherwise the reference's.
    pub candidate: bool,
    /// There is a detection now and was none before; otherwise the other way round.
    pub gained: bool,
    /// Best confidence of that side.
    pub best: f64,
}

impl Curve {
    /// The curve of a subset; steps list pictures of the whole report, labelled or not.
    pub(in crate::sighted) fn new(evidence: &Evidence, selection: &Selection<'_>) -> Self {
        let of = |truth: Truth| {
            Sorted::new(
                selection
                    .judged
                    .iter()
                    .filter(|judged| judged.truth == truth)
                    .filter_map(|judged| judged.row.best),
            )
        };
        let mut all: Sides<Vec<(f64, RowIndex)>> = Sides::default();
        for (index, row) in evidence.rows.iter().enumerate() {
            if let Some(best) = row.best {
                all.a.push((best.a, index));
                all.b.push((best.b, index));
            }
        }
        for list in [&mut all.a, &mut all.b] {
            list.sort_by(|left, right| left.0.total_cmp(&right.0).then(left.1.cmp(&right.1)));
        }
        Self { positives: of(Truth::Litter), clean: of(Truth::Clean), all }
    }

    /// Both artifacts' counts at a threshold.
    pub(in crate::sighted) fn table(&self, measure: Measure, threshold: f64) -> PairedTable {
        self.sorted(measure).table(threshold)
    }

    /// Pictures behind a rate.
    pub(in crate::sighted) fn n(&self, measure: Measure) -> u64 {
        self.sorted(measure).a.len() as u64
    }

    fn sorted(&self, measure: Measure) -> &Sorted {
        match measure {
            Measure::Recall => &self.positives,
            Measure::FalsePositives => &self.clean,
        }
    }

    /// Half-width of the band that holds at every threshold at once, for both rates jointly; `None` for
    /// fewer pictures than any interval needs.
    pub(in crate::sighted) fn band(&self, measure: Measure) -> Option<f64> {
        let n = self.n(measure);
        dkw_half_width(n, JOINT_ALPHA / 2.0).filter(|_| n >= INTERVAL_FROM)
    }

    /// One side's rate with its band.
    pub(in crate::sighted) fn rate(
        &self,
        measure: Measure,
        candidate: bool,
        threshold: f64,
    ) -> Option<(f64, Interval)> {
        let table = self.table(measure, threshold);
        let k = if candidate { table.second() } else { table.first() };
        let (rate, half) = (ratio(k, table.n()), self.band(measure)?);
        let interval = Interval { low: (rate - half).max(0.0), high: (rate + half).min(1.0) };
        Some((rate, interval))
    }

    /// What moving from one threshold to another changes, in the order the cursor passes it.
    pub(in crate::sighted) fn step(&self, from: f64, to: f64) -> Vec<Change> {
        let (low, high, gained) = if to < from { (to, from, true) } else { (from, to, false) };
        let mut changes: Vec<Change> = Vec::new();
        for (list, candidate) in [(&self.all.a, false), (&self.all.b, true)] {
            let start = list.partition_point(|(best, _)| *best < low);
            let end = list.partition_point(|(best, _)| *best < high);
            changes.extend(list[start..end.max(start)].iter().map(|(best, row)| Change {
                row: *row,
                candidate,
                gained,
                best: *best,
            }));
        }
        changes.sort_by(|left, right| {
            let order = left.best.total_cmp(&right.best);
            let order = if gained { order.reverse() } else { order };
            order.then(left.row.cmp(&right.row)).then(left.candidate.cmp(&right.candidate))
        });
        changes
    }

    /// Pictures in which exactly one side has a detection at `threshold`, in the order of the report.
    pub(in crate::sighted) fn differing(evidence: &Evidence, threshold: f64) -> Vec<Change> {
        let one = |(row, best): (RowIndex, Sides<f64>)| {
            let (a, b) = (best.a >= threshold, best.b >= threshold);
            let best = if b { best.b } else { best.a };
            (a != b).then_some(Change { row, candidate: b, gained: true, best })
        };
        let rows = evidence.rows.iter().enumerate();
        rows.filter_map(|(index, row)| Some((index, row.best?))).filter_map(one).collect()
    }

    /// The nearest threshold above (or below) at which some picture's presence differs from `threshold`.
    ///
    /// Upwards that is just above the next confidence, downwards the next confidence itself, since a tie
    /// survives.
    pub(in crate::sighted) fn next_change(&self, threshold: f64, up: bool) -> Option<f64> {
        let lists = [&self.all.a, &self.all.b];
        if up {
            lists
                .iter()
                .filter_map(|list| {
                    let index = list.partition_point(|(best, _)| *best < threshold);
                    list.get(index).map(|(best, _)| best.next_up())
                })
                .min_by(f64::total_cmp)
        } else {
            lists
                .iter()
                .filter_map(|list| {
                    let index = list.partition_point(|(best, _)| *best < threshold);
                    index.checked_sub(1).map(|index| list[index].0)
                })
                .max_by(f64::total_cmp)
        }
    }
}

/// Counts of one picture at one threshold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct PictureFlips {
    threshold_flips: u64,
    real_flips: u64,
    mislabels: u64,
    changed: u64,
    presence_changed: u64,
}

/// Decisions as sets, kept for one threshold and moved to others.
#[derive(Debug, Clone)]
pub(in crate::sighted) struct Flips {
    floor: f64,
    pictures: Vec<Sides<Vec<DetectionRow>>>,
    /// Every confidence with its picture, ascending.
    events: Vec<(f64, u32)>,
    counts: Vec<PictureFlips>,
    at: f64,
    total: PictureFlips,
    /// The move in which a picture was counted last, so that each is counted once.
    stamps: Vec<u64>,
    moves: u64,
}

impl Flips {
    /// Ready at a threshold above every confidence, where nothing is detected.
    pub(in crate::sighted) fn new(evidence: &Evidence) -> Self {
        let pictures: Vec<Sides<Vec<DetectionRow>>> = evidence
            .rows
            .iter()
            .map(|row| row.detections.clone())
            .filter(|sides| !(sides.a.is_empty() && sides.b.is_empty()))
            .collect();
        let mut events: Vec<(f64, u32)> = Vec::new();
        for (picture, sides) in (0..).zip(&pictures) {
            events.extend(
                sides.a.iter().chain(&sides.b).map(|detection| (detection.confidence, picture)),
            );
        }
        events.sort_by(|left, right| left.0.total_cmp(&right.0));
        let length = pictures.len();
        Self {
            floor: evidence.detection_floor,
            pictures,
            events,
            counts: vec![PictureFlips::default(); length],
            at: f64::INFINITY,
            total: PictureFlips::default(),
            stamps: vec![0; length],
            moves: 0,
        }
    }

    /// The counts at `threshold`; `None` below what the report lists.
    pub(in crate::sighted) fn move_to(&mut self, threshold: f64) -> Option<DecisionRow> {
        if threshold.is_nan() || threshold < self.floor {
            return None;
        }
        let (low, high) = (self.at.min(threshold), self.at.max(threshold));
        let start = self.events.partition_point(|(confidence, _)| *confidence < low);
        let end = self.events.partition_point(|(confidence, _)| *confidence < high);
        self.moves += 1;
        for index in start..end {
            let picture = usize::try_from(self.events[index].1).unwrap_or(usize::MAX);
            if self.stamps[picture] == self.moves {
                continue;
            }
            self.stamps[picture] = self.moves;
            let counts = count(&self.pictures[picture], threshold);
            let before = std::mem::replace(&mut self.counts[picture], counts);
            self.total = PictureFlips {
                threshold_flips: self.total.threshold_flips + counts.threshold_flips
                    - before.threshold_flips,
                real_flips: self.total.real_flips + counts.real_flips - before.real_flips,
                mislabels: self.total.mislabels + counts.mislabels - before.mislabels,
                changed: self.total.changed + counts.changed - before.changed,
                presence_changed: self.total.presence_changed + counts.presence_changed
                    - before.presence_changed,
            };
        }
        self.at = threshold;
        Some(DecisionRow {
            threshold,
            threshold_flips: self.total.threshold_flips,
            real_flips: self.total.real_flips,
            mislabels: self.total.mislabels,
            images_changed: self.total.changed,
            images_presence_changed: self.total.presence_changed,
        })
    }
}

fn count(found: &Sides<Vec<DetectionRow>>, threshold: f64) -> PictureFlips {
    let (a, b) = (found.a.as_slice(), found.b.as_slice());
    let slots = slot_counts(a, b, threshold);
    if slots.detections_a == 0 && slots.detections_b == 0 {
        return PictureFlips::default();
    }
    let matched = match_sets(a, b, threshold);
    let flips = slots.threshold_flips();
    PictureFlips {
        threshold_flips: flips,
        real_flips: flips - matched.moved_slot_flips(a, b, threshold).min(flips),
        mislabels: slots.class_flips,
        changed: u64::from(matched.changed()),
        presence_changed: u64::from(matched.presence_changed()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sighted::score::subset::{SubsetKind, select};
    use crate::sighted::score::testing::Set;

    fn curve(set: &Set) -> (Evidence, Curve) {
        let evidence = set.join();
        let curve = Curve::new(&evidence, &select(&evidence, SubsetKind::All));
        (evidence, curve)
    }

    /// The small check of the statistics notes.
    #[test]
    fn rates_at_three_thresholds() {
        let scores = [0.91, 0.77, 0.52, 0.41, 0.39, 0.12, 0.44, 0.21, 0.05, 0.03];
        let names: Vec<String> = (0..10).map(|index| format!("p{index}")).collect();
        let pictures: Vec<(&str, f64, f64)> =
            names.iter().zip(scores).map(|(name, score)| (name.as_str(), score, score)).collect();
        let mut set = Set::new(&pictures);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        set.labelled("ada", &names[..6], &names[6..]);
        let (_, curve) = curve(&set);
        for (threshold, recall, false_positives) in [(0.3, 5, 1), (0.4, 4, 1), (0.5, 3, 0)] {
            assert_eq!(curve.table(Measure::Recall, threshold).first(), recall);
            assert_eq!(curve.table(Measure::FalsePositives, threshold).second(), false_positives);
        }
        assert!(curve.rate(Measure::Recall, false, 0.4).is_some());
        assert_eq!(curve.rate(Measure::FalsePositives, false, 0.4), None, "four are too few");
    }

    #[test]
    fn a_step_lists_what_it_changes_and_a_tie_survives() {
        let mut set = Set::new(&[("p", 0.40, 0.45), ("q", 0.50, 0.38), ("r", 0.42, 0.42)]);
        set.labelled("ada", &["p", "q"], &["r"]);
        let (_, curve) = curve(&set);
        let named = |from, to| -> Vec<(usize, bool, bool)> {
            curve.step(from, to).iter().map(|it| (it.row, it.candidate, it.gained)).collect()
        };
        assert_eq!(named(0.40, 0.42), [(0, false, false)]);
        assert_eq!(named(0.40, 0.43), [(0, false, false), (2, false, false), (2, true, false)]);
        assert_eq!(named(0.42, 0.40), [(0, false, true)]);
        assert_eq!(named(0.40, 0.40), []);
        assert_eq!(curve.next_change(0.40, false), Some(0.38));
        let up = curve.next_change(0.40, true).expect("there is one");
        assert!(up > 0.40 && up < 0.40 + 1e-12);
        assert_eq!(curve.step(0.40, up).len(), 1);
        assert_eq!(curve.next_change(0.9, true), None);
        assert_eq!(curve.next_change(0.1, false), None);
    }

    #[test]
    fn pictures_only_one_side_finds_are_those_the_table_counts() {
        let mut set = Set::new(&[("p", 0.40, 0.45), ("q", 0.50, 0.38), ("r", 0.42, 0.42)]);
        set.labelled("ada", &["p", "q", "r"], &[]);
        let (evidence, curve) = curve(&set);
        let named = |threshold| -> Vec<(usize, bool)> {
            Curve::differing(&evidence, threshold).iter().map(|it| (it.row, it.candidate)).collect()
        };
        assert_eq!(named(0.40), [(1, false)], "a tie survives");
        assert_eq!(named(0.43), [(0, true), (1, false)]);
        assert_eq!(named(0.30), []);
        for threshold in [0.3, 0.38, 0.4, 0.41, 0.43, 0.46, 0.6] {
            let table = curve.table(Measure::Recall, threshold);
            assert_eq!(named(threshold).len() as u64, table.discordant(), "{threshold}");
        }
    }

    #[test]
    fn below_the_floor_nothing_is_said_of_flips() {
        let mut set = Set::new(&[("p", 0.40, 0.45)]);
        set.labelled("ada", &["p"], &[]);
        let mut flips = Flips::new(&set.join());
        assert_eq!(flips.move_to(0.19), None);
        assert_eq!(flips.move_to(0.42).expect("listed").real_flips, 1);
        assert_eq!(flips.move_to(0.40).expect("listed").real_flips, 0);
        assert_eq!(flips.move_to(f64::NAN), None);
    }

    proptest! {
        #[test]
        fn moving_step_by_step_is_counting_afresh(
            scores in proptest::collection::vec((0.0..1.0_f64, 0.0..1.0_f64, any::<bool>()), 1..30),
            path in proptest::collection::vec(0.2..1.0_f64, 1..12),
        ) {
            let names: Vec<String> = (0..scores.len()).map(|index| format!("p{index}")).collect();
            let pictures: Vec<(&str, f64, f64)> =
                names.iter().zip(&scores).map(|(name, it)| (name.as_str(), it.0, it.1)).collect();
            let mut set = Set::new(&pictures);
            let of = |litter: bool| -> Vec<&str> {
                names.iter().zip(&scores).filter(|(_, it)| it.2 == litter).map(|(name, _)| name.as_str()).collect()
            };
            set.labelled("ada", &of(true), &of(false));
            let (evidence, curve) = curve(&set);
            let mut flips = Flips::new(&evidence);
            let mut from = 0.2;
            for to in path {
                prop_assert_eq!(flips.move_to(to), Flips::new(&evidence).move_to(to));
                let recall = curve.table(Measure::Recall, to);
                let hit = |candidate: bool| {
                    let best = scores.iter().filter(|it| it.2).map(|it| if candidate { it.1 } else { it.0 });
                    best.filter(|best| *best >= to).count() as u64
                };
                prop_assert_eq!((recall.first(), recall.second()), (hit(false), hit(true)));
                let changed = curve.step(from, to).len();
                let expected = scores.iter().flat_map(|it| [it.0, it.1])
                    .filter(|best| (*best >= from) != (*best >= to)).count();
                prop_assert_eq!(changed, expected);
                from = to;
            }
        }
    }
}
