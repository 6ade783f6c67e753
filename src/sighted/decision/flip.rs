//! Decisions slot by slot: slot q of the reference against slot q of the candidate.
//!
//! Valid as decisions only while slots keep their meaning, which two-stage detectors do not promise; see
//! `slot_match` for what does not depend on numbering. These are the numbers of report schema 2.

use super::report::DetectionRow;

/// Counts of one fixture at one threshold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::sighted) struct SlotCounts {
    /// Slots of the reference at or above the threshold; uncapped.
    pub detections_a: u64,
    /// Slots of the candidate.
    pub detections_b: u64,
    /// Slots that survive in the reference only.
    pub a_only: u64,
    /// Slots that survive in the candidate only.
    pub b_only: u64,
    /// Slots that survive in both, as different classes.
    pub class_flips: u64,
}

impl SlotCounts {
    /// Slots that survive on exactly one side.
    pub(in crate::sighted) fn threshold_flips(&self) -> u64 {
        self.a_only + self.b_only
    }

    /// Whether the serving path would drop detections of either side.
    pub(in crate::sighted) fn truncation_binds(&self, cap: usize) -> bool {
        self.detections_a.max(self.detections_b) > cap as u64
    }
}

/// Compares the detections of two sides, each in slot order, at a threshold.
pub(in crate::sighted) fn slot_counts(
    a: &[DetectionRow],
    b: &[DetectionRow],
    threshold: f64,
) -> SlotCounts {
    let survivors = |side: &'_ [DetectionRow]| -> Vec<(u32, u32)> {
        side.iter()
            .filter(|row| row.confidence >= threshold)
            .map(|row| (row.slot, row.class_index))
            .collect()
    };
    let (a, b) = (survivors(a), survivors(b));
    let mut counts = SlotCounts {
        detections_a: a.len() as u64,
        detections_b: b.len() as u64,
        ..SlotCounts::default()
    };
    let (mut rest_a, mut rest_b) = (a.as_slice(), b.as_slice());
    while let ([(slot_a, class_a), after_a @ ..], [(slot_b, class_b), after_b @ ..]) =
        (rest_a, rest_b)
    {
        if slot_a == slot_b {
            counts.class_flips += u64::from(class_a != class_b);
        }
        counts.a_only += u64::from(slot_a < slot_b);
        counts.b_only += u64::from(slot_b < slot_a);
        if slot_a <= slot_b {
            rest_a = after_a;
        }
        if slot_b <= slot_a {
            rest_b = after_b;
        }
    }
    counts.a_only += rest_a.len() as u64;
    counts.b_only += rest_b.len() as u64;
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sighted::decision::testing::{detection, detections};
    use proptest::prelude::*;

    #[test]
    fn survivors_are_compared_slot_by_slot() {
        let a = [
            detection(0, 1, 0.62),
            detection(1, 2, 0.45),
            detection(3, 3, 0.41),
            detection(7, 1, 0.9),
        ];
        let b = [
            detection(1, 5, 0.46),
            detection(2, 1, 0.61),
            detection(3, 3, 0.39),
            detection(7, 1, 0.4),
        ];
        let counts = slot_counts(&a, &b, 0.4);
        assert_eq!((counts.detections_a, counts.detections_b), (4, 3));
        assert_eq!((counts.a_only, counts.b_only, counts.class_flips), (2, 1, 1));
        assert_eq!(counts.threshold_flips(), 3);
        assert!(!counts.truncation_binds(4));
        assert!(counts.truncation_binds(3));
        assert_eq!(slot_counts(&[], &[], 0.4), SlotCounts::default());
    }

    proptest! {
        #[test]
        fn flips_balance_and_swapping_sides_swaps_them(a in detections(), b in detections(), threshold in 0.2..0.9_f64) {
            let counts = slot_counts(&a, &b, threshold);
            prop_assert_eq!(counts.detections_a - counts.a_only, counts.detections_b - counts.b_only);
            let swapped = slot_counts(&b, &a, threshold);
            prop_assert_eq!((swapped.a_only, swapped.b_only), (counts.b_only, counts.a_only));
            prop_assert_eq!(swapped.class_flips, counts.class_flips);
            let same = slot_counts(&a, &a, threshold);
            prop_assert_eq!((same.threshold_flips(), same.class_flips), (0, 0));
        }
    }
}
