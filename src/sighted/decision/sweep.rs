//! Decisions at every threshold of the sweep, summed over fixtures.
//!
//! Everything here follows from the detections listed per fixture, so a report can be checked against
//! itself, and reports of shards can be joined by adding their fixtures again.

use std::collections::BTreeMap;

use super::decode::MAX_DETECTIONS;
use super::flip::{SlotCounts, slot_counts};
use super::report::{ChurnRow, DetectionRow, SetRow, SideFound, Sides, ThresholdRow};
use super::slot_match::{SetMatch, best_elsewhere, match_sets};
use crate::domain::canonical::float_text;

/// Thresholds every report has; the recommended one is added.
pub(in crate::sighted) const SWEEP: [f64; 5] = [0.25, 0.3, 0.4, 0.5, 0.6];

/// A match on the other side this little below the threshold is a near miss.
pub(in crate::sighted) const NEAR: f64 = 0.05;

/// Upper bounds of the distance above the threshold, by which churn is told.
const CHURN_BOUNDS: [f64; 6] = [0.01, 0.02, 0.05, 0.1, 0.2, 1.0];

/// The thresholds of a report, ascending.
pub(in crate::sighted) fn thresholds(recommended: f64) -> Vec<f64> {
    let mut all = SWEEP.to_vec();
    if !all.contains(&recommended) {
        all.push(recommended);
        all.sort_by(f64::total_cmp);
    }
    all
}

/// The confidence from which detections must be listed for a sweep around `recommended`.
pub(in crate::sighted) fn detection_floor(recommended: f64) -> f64 {
    (recommended.min(SWEEP[0]) - NEAR).max(0.0)
}

/// Sums over fixtures, one entry for each threshold.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Sweep {
    recommended: f64,
    rows: Vec<SweepRow>,
}

#[derive(Debug, Clone, PartialEq)]
struct SweepRow {
    threshold: f64,
    slots: SlotCounts,
    images_with_any_flip: u64,
    images_truncated: u64,
    sets: SetRow,
}

impl Sweep {
    /// Nothing summed yet.
    pub(in crate::sighted) fn new(recommended: f64) -> Self {
        let row = |threshold: f64| SweepRow {
            threshold,
            slots: SlotCounts::default(),
            images_with_any_flip: 0,
            images_truncated: 0,
            sets: empty_set_row(threshold),
        };
        Self { recommended, rows: thresholds(recommended).into_iter().map(row).collect() }
    }

    /// Adds one fixture; says how many threshold flips it has, keyed as a report keys them.
    pub(in crate::sighted) fn add(&mut self, found: &Sides<SideFound>) -> BTreeMap<String, u64> {
        let (a, b) = (found.a.detections.as_slice(), found.b.detections.as_slice());
        let mut flips = BTreeMap::new();
        for row in &mut self.rows {
            let slots = slot_counts(a, b, row.threshold);
            flips.insert(float_text(row.threshold), slots.threshold_flips());
            row.images_with_any_flip += u64::from(slots.threshold_flips() > 0);
            row.images_truncated += u64::from(slots.truncation_binds(MAX_DETECTIONS));
            for (sum, value) in [
                (&mut row.slots.detections_a, slots.detections_a),
                (&mut row.slots.detections_b, slots.detections_b),
                (&mut row.slots.a_only, slots.a_only),
                (&mut row.slots.b_only, slots.b_only),
                (&mut row.slots.class_flips, slots.class_flips),
            ] {
                *sum += value;
            }
            let matched = match_sets(a, b, row.threshold);
            let moved_slot_flips = matched.moved_slot_flips(a, b, row.threshold);
            row.sets.moved_slot_flips += moved_slot_flips;
            row.sets.real_flips += slots.threshold_flips() - moved_slot_flips;
            add_sets(&mut row.sets, &matched, a, b);
        }
        flips
    }

    /// The rows of `decode.byThreshold`.
    pub(in crate::sighted) fn threshold_rows(&self) -> Vec<ThresholdRow> {
        let row = |row: &SweepRow| ThresholdRow {
            threshold: row.threshold,
            is_recommended: row.threshold == self.recommended,
            detections_a: row.slots.detections_a,
            detections_b: row.slots.detections_b,
            threshold_flips: row.slots.threshold_flips(),
            flips_a_only: row.slots.a_only,
            flips_b_only: row.slots.b_only,
            class_argmax_flips: row.slots.class_flips,
            images_with_any_flip: row.images_with_any_flip,
            images_where_top_k_truncation_binds: row.images_truncated,
        };
        self.rows.iter().map(row).collect()
    }

    /// The rows of `flipside.setMatching`.
    pub(in crate::sighted) fn set_rows(&self) -> Vec<SetRow> {
        self.rows.iter().map(|row| row.sets.clone()).collect()
    }
}

fn empty_set_row(threshold: f64) -> SetRow {
    SetRow {
        threshold,
        stayed: 0,
        moved_slots: 0,
        relabelled: 0,
        vanished: 0,
        appeared: 0,
        moved_slot_flips: 0,
        real_flips: 0,
        images_changed: 0,
        images_presence_changed: 0,
        near_threshold: 0,
        still_found: 0,
        churn: CHURN_BOUNDS.map(|within| ChurnRow { within, detections: 0, changed: 0 }).to_vec(),
    }
}

fn add_sets(row: &mut SetRow, matched: &SetMatch, a: &[DetectionRow], b: &[DetectionRow]) {
    row.stayed += matched.stayed.len() as u64;
    row.moved_slots += matched.moved.len() as u64;
    row.relabelled += matched.relabelled.len() as u64;
    row.vanished += matched.vanished.len() as u64;
    row.appeared += matched.appeared.len() as u64;
    row.images_changed += u64::from(matched.changed());
    row.images_presence_changed += u64::from(matched.presence_changed());
    for (unmatched, other_side) in [(&matched.vanished, b), (&matched.appeared, a)] {
        for detection in unmatched {
            churn(row, detection, true);
            let best = best_elsewhere(detection, other_side.iter().copied());
            let best = best.map_or(f64::NEG_INFINITY, |other| other.confidence);
            row.still_found += u64::from(best >= row.threshold);
            row.near_threshold += u64::from(best >= row.threshold - NEAR && best < row.threshold);
        }
    }
    for (pairs, changed) in
        [(&matched.stayed, false), (&matched.moved, false), (&matched.relabelled, true)]
    {
        for pair in pairs {
            churn(row, &pair.a, changed);
            churn(row, &pair.b, changed);
        }
    }
}

fn churn(row: &mut SetRow, detection: &DetectionRow, changed: bool) {
    let distance = detection.confidence - row.threshold;
    if let Some(bucket) = row.churn.iter_mut().find(|bucket| distance <= bucket.within) {
        bucket.detections += 1;
        bucket.changed += u64::from(changed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sighted::decision::testing::{at, detection, detections};
    use proptest::prelude::*;

    fn found(a: &[DetectionRow], b: &[DetectionRow]) -> Sides<SideFound> {
        let side =
            |rows: &[DetectionRow]| SideFound { detections: rows.to_vec(), ..SideFound::default() };
        Sides { a: side(a), b: side(b) }
    }

    fn swept(fixtures: &[Sides<SideFound>]) -> Sweep {
        let mut sweep = Sweep::new(0.4);
        for fixture in fixtures {
            sweep.add(fixture);
        }
        sweep
    }

    #[test]
    fn the_recommended_threshold_joins_the_sweep_once() {
        assert_eq!(thresholds(0.4), SWEEP);
        assert_eq!(thresholds(0.35), [0.25, 0.3, 0.35, 0.4, 0.5, 0.6]);
        assert_eq!(thresholds(0.1), [0.1, 0.25, 0.3, 0.4, 0.5, 0.6]);
        assert_eq!(detection_floor(0.4), 0.2);
        assert_eq!(detection_floor(0.01), 0.0);
        let rows = Sweep::new(0.35).threshold_rows();
        let recommended = rows.iter().filter(|row| row.is_recommended).map(|row| row.threshold);
        assert_eq!(recommended.collect::<Vec<_>>(), [0.35]);
    }

    #[test]
    fn near_misses_and_duplicates_are_told_apart() {
        let place = [0.1, 0.1, 0.3, 0.3];
        let far = [0.6, 0.6, 0.8, 0.8];
        // Slot 0: a near miss. Slots 1 and 2: two of one object, of which the candidate keeps one.
        let a = [at(0, 1, 0.41, place), at(1, 2, 0.9, far), at(2, 2, 0.8, far)];
        let b = [at(0, 1, 0.36, place), at(1, 2, 0.9, far)];
        let rows = swept(&[found(&a, &b)]).set_rows();
        let row = rows.iter().find(|row| row.threshold == 0.4).expect("there");
        assert_eq!((row.vanished, row.near_threshold, row.still_found), (2, 1, 1));
        let changed: Vec<u64> = row.churn.iter().map(|bucket| bucket.changed).collect();
        assert_eq!(changed, [1, 0, 0, 0, 0, 1], "0.41 is 0.01 above, 0.8 far above");
    }

    #[test]
    fn flips_are_keyed_as_python_prints_them() {
        let flips = Sweep::new(0.4).add(&found(&[detection(0, 1, 0.45)], &[]));
        let listed: Vec<_> = flips.iter().map(|(key, count)| (key.as_str(), *count)).collect();
        assert_eq!(listed, [("0.25", 1), ("0.3", 1), ("0.4", 1), ("0.5", 0), ("0.6", 0)]);
    }

    fn fixture() -> impl Strategy<Value = Sides<SideFound>> {
        (detections(), detections()).prop_map(|(a, b)| found(&a, &b))
    }

    /// Well separated detections, then each side's slots renumbered on its own.
    fn permuted() -> impl Strategy<Value = (Sides<SideFound>, Sides<SideFound>)> {
        let rows = proptest::collection::vec((0_u32..4, 0.2..1.0_f64, 0_u32..4, 0.2..1.0_f64), 12);
        let order = Just((0..12_u32).collect::<Vec<_>>()).prop_shuffle();
        let other = Just((0..12_u32).collect::<Vec<_>>()).prop_shuffle();
        (rows, order, other).prop_map(|(rows, order, other)| {
            let side = |which: usize, slots: &[u32]| {
                let mut side: Vec<DetectionRow> = (0..)
                    .zip(&rows)
                    .map(|(place, (class_a, conf_a, class_b, conf_b))| {
                        let (class, confidence) =
                            if which == 0 { (*class_a, *conf_a) } else { (*class_b, *conf_b) };
                        DetectionRow {
                            slot: slots[place],
                            ..detection(place as u32, class, confidence)
                        }
                    })
                    .collect();
                side.sort_by_key(|row| row.slot);
                side
            };
            let straight: Vec<u32> = (0..12).collect();
            (
                found(&side(0, &straight), &side(1, &straight)),
                found(&side(0, &order), &side(1, &other)),
            )
        })
    }

    #[test]
    fn renumbering_one_side_changes_slot_flips_and_no_set() {
        let a: Vec<DetectionRow> = (0..6).map(|slot| detection(slot, 1, 0.9)).collect();
        let mut b = a.clone();
        for row in &mut b {
            row.slot = row.slot * 7 % 6 + 6;
        }
        b.sort_by_key(|row| row.slot);
        let sweep = swept(&[found(&a, &b)]);
        let (slots, sets) = (&sweep.threshold_rows()[2], &sweep.set_rows()[2]);
        assert_eq!((slots.threshold_flips, slots.class_argmax_flips), (12, 0));
        assert_eq!((sets.moved_slots, sets.moved_slot_flips, sets.real_flips), (6, 12, 0));
        assert_eq!(sets.images_changed, 0);
    }

    proptest! {
        #[test]
        fn sums_hold(fixtures in proptest::collection::vec(fixture(), 0..5)) {
            let sweep = swept(&fixtures);
            for (slots, sets) in sweep.threshold_rows().iter().zip(sweep.set_rows()) {
                prop_assert_eq!(slots.threshold_flips, slots.flips_a_only + slots.flips_b_only);
                prop_assert_eq!(slots.detections_a - slots.flips_a_only, slots.detections_b - slots.flips_b_only);
                prop_assert_eq!(sets.real_flips + sets.moved_slot_flips, slots.threshold_flips);
                let kept = sets.stayed + sets.moved_slots + sets.relabelled;
                prop_assert_eq!(kept + sets.vanished, slots.detections_a);
                prop_assert_eq!(kept + sets.appeared, slots.detections_b);
                let sum = |of: fn(&ChurnRow) -> u64| sets.churn.iter().map(of).sum::<u64>();
                prop_assert_eq!(sum(|row| row.detections), slots.detections_a + slots.detections_b);
                prop_assert_eq!(sum(|row| row.changed), sets.vanished + sets.appeared + 2 * sets.relabelled);
                prop_assert!(sets.near_threshold + sets.still_found <= sets.vanished + sets.appeared);
                prop_assert!(sets.images_presence_changed <= sets.images_changed);
            }
        }

        #[test]
        fn a_fixture_twice_counts_twice(fixture in fixture()) {
            let (once, twice) = (swept(std::slice::from_ref(&fixture)), swept(&[fixture.clone(), fixture]));
            for (one, two) in once.threshold_rows().iter().zip(twice.threshold_rows()) {
                prop_assert_eq!(2 * one.threshold_flips, two.threshold_flips);
                prop_assert_eq!(2 * one.images_with_any_flip, two.images_with_any_flip);
            }
            for (one, two) in once.set_rows().iter().zip(twice.set_rows()) {
                prop_assert_eq!(2 * one.vanished, two.vanished);
                prop_assert_eq!(2 * one.images_changed, two.images_changed);
            }
        }

        #[test]
        fn swapping_sides_swaps_lost_and_gained(fixture in fixture()) {
            let swapped = Sides { a: fixture.b.clone(), b: fixture.a.clone() };
            let (straight, swapped) = (swept(&[fixture]).set_rows(), swept(&[swapped]).set_rows());
            for (one, two) in straight.iter().zip(swapped) {
                prop_assert_eq!((one.vanished, one.appeared), (two.appeared, two.vanished));
                prop_assert_eq!((one.real_flips, one.relabelled), (two.real_flips, two.relabelled));
                prop_assert_eq!((one.near_threshold, one.still_found), (two.near_threshold, two.still_found));
                prop_assert_eq!(&one.churn, &two.churn);
            }
        }

        #[test]
        fn renumbering_slots_leaves_sets_alone((straight, renumbered) in permuted()) {
            let (one, two) = (swept(&[straight]).set_rows(), swept(&[renumbered]).set_rows());
            for (one, two) in one.iter().zip(two) {
                prop_assert_eq!(one.stayed + one.moved_slots, two.stayed + two.moved_slots);
                prop_assert_eq!((one.relabelled, one.vanished, one.appeared), (two.relabelled, two.vanished, two.appeared));
                prop_assert_eq!((one.images_changed, one.near_threshold, one.still_found), (two.images_changed, two.near_threshold, two.still_found));
                prop_assert_eq!(&one.churn, &two.churn);
            }
        }
    }
}
