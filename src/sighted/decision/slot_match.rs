//! Decisions as sets: which detections of one side the other side has too, wherever they are numbered.
//!
//! Among survivors in serving order, at most [`MAX_DETECTIONS`] a side:
//! 1. same slot, same class, IoU ≥ [`SAME_OBJECT_IOU`]: stayed;
//! 2. of the rest, same class, one to one, largest sum of IoU: moved to another slot;
//! 3. of the rest, other class, likewise: relabelled;
//! 4. the rest vanished (reference) or appeared (candidate).
//!
//! Slots of two-stage detectors are filled by rank, so rounding permutes them; these numbers do not
//! depend on that.

use super::decode::{DecodedFixture, MAX_DETECTIONS, serving_order};
use super::report::{DetectionRow, Item, ItemKind};
use crate::stats::assignment::{Candidate, best_pairs};

/// Two boxes that overlap at least this much may be one object.
pub(in crate::sighted) const SAME_OBJECT_IOU: f64 = 0.5;

/// Two detections of one object.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::sighted) struct Pair {
    /// The reference's.
    pub a: DetectionRow,
    /// The candidate's.
    pub b: DetectionRow,
}

/// What became of every detection of one fixture at one threshold.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::sighted) struct SetMatch {
    /// Same slot, same class.
    pub stayed: Vec<Pair>,
    /// Another slot, same class.
    pub moved: Vec<Pair>,
    /// Another class.
    pub relabelled: Vec<Pair>,
    /// Only the reference has it; serving order.
    pub vanished: Vec<DetectionRow>,
    /// Only the candidate has it; serving order.
    pub appeared: Vec<DetectionRow>,
}

/// Area of overlap over area of union; 0 for boxes without area.
pub(in crate::sighted) fn iou(one: &[f64; 4], two: &[f64; 4]) -> f64 {
    let side = |low: usize| (one[low + 2].min(two[low + 2]) - one[low].max(two[low])).max(0.0);
    let area = |corners: &[f64; 4]| {
        (corners[2] - corners[0]).max(0.0) * (corners[3] - corners[1]).max(0.0)
    };
    let overlap = side(0) * side(1);
    let union = area(one) + area(two) - overlap;
    if union > 0.0 { overlap / union } else { 0.0 }
}

fn same_place(one: &DetectionRow, two: &DetectionRow) -> bool {
    iou(&one.corners, &two.corners) >= SAME_OBJECT_IOU
}

/// Matches the detections of two sides, listed from some floor on, at a threshold not below that floor.
pub(in crate::sighted) fn match_sets(
    a: &[DetectionRow],
    b: &[DetectionRow],
    threshold: f64,
) -> SetMatch {
    let mut rest_a = serving_order(a, threshold, MAX_DETECTIONS);
    let mut rest_b = serving_order(b, threshold, MAX_DETECTIONS);
    let mut matched = SetMatch::default();
    rest_a.retain(|one| {
        let partner = rest_b.iter().position(|two| {
            one.slot == two.slot && one.class_index == two.class_index && same_place(one, two)
        });
        match partner {
            Some(index) => {
                matched.stayed.push(Pair { a: **one, b: *rest_b.remove(index) });
                false
            }
            None => true,
        }
    });
    matched.moved = take_pairs(&mut rest_a, &mut rest_b, true);
    matched.relabelled = take_pairs(&mut rest_a, &mut rest_b, false);
    matched.vanished = rest_a.into_iter().copied().collect();
    matched.appeared = rest_b.into_iter().copied().collect();
    matched
}

/// Takes the best one-to-one pairs of equal (or of different) class out of both lists.
fn take_pairs(
    rest_a: &mut Vec<&DetectionRow>,
    rest_b: &mut Vec<&DetectionRow>,
    same_class: bool,
) -> Vec<Pair> {
    let mut candidates = Vec::new();
    for (left, one) in rest_a.iter().enumerate() {
        for (right, two) in rest_b.iter().enumerate() {
            if (one.class_index == two.class_index) != same_class {
                continue;
            }
            let weight = iou(&one.corners, &two.corners);
            if weight >= SAME_OBJECT_IOU {
                candidates.push(Candidate { left, right, weight });
            }
        }
    }
    let pairs = best_pairs(&candidates);
    let found = pairs.iter().map(|(left, right)| Pair { a: *rest_a[*left], b: *rest_b[*right] });
    let found: Vec<Pair> = found.collect();
    let keep = |rest: &mut Vec<&DetectionRow>, taken: &[usize]| {
        let mut index = 0;
        rest.retain(|_| {
            index += 1;
            !taken.contains(&(index - 1))
        });
    };
    keep(rest_a, &pairs.iter().map(|pair| pair.0).collect::<Vec<_>>());
    keep(rest_b, &pairs.iter().map(|pair| pair.1).collect::<Vec<_>>());
    found
}

impl SetMatch {
    /// Whether anything changed that a user could see. A detection that only moved slot did not.
    pub(in crate::sighted) fn changed(&self) -> bool {
        !(self.relabelled.is_empty() && self.vanished.is_empty() && self.appeared.is_empty())
    }

    /// Whether one side finds something and the other nothing.
    pub(in crate::sighted) fn presence_changed(&self) -> bool {
        let paired = self.stayed.len() + self.moved.len() + self.relabelled.len();
        paired == 0 && self.vanished.is_empty() != self.appeared.is_empty()
    }

    /// Threshold flips by slot that moved detections explain. `a` and `b` are all detections, in slot
    /// order, from which this was matched at `threshold`.
    pub(in crate::sighted) fn moved_slot_flips(
        &self,
        a: &[DetectionRow],
        b: &[DetectionRow],
        threshold: f64,
    ) -> u64 {
        let survives = |side: &[DetectionRow], slot: u32| {
            side.binary_search_by_key(&slot, |row| row.slot)
                .is_ok_and(|index| side[index].confidence >= threshold)
        };
        let flips = |pair: &Pair| {
            u64::from(!survives(b, pair.a.slot)) + u64::from(!survives(a, pair.b.slot))
        };
        self.moved.iter().map(flips).sum()
    }

    /// One item for each change, in slot order. What the other side has elsewhere is left open.
    pub(in crate::sighted) fn items(&self, fixture: &str) -> Vec<Item> {
        let item = |kind: ItemKind, a: Option<DetectionRow>, b: Option<DetectionRow>| Item {
            fixture: fixture.to_owned(),
            slot: a.or(b).map_or(0, |row| row.slot),
            kind,
            a,
            b,
            elsewhere_a: None,
            elsewhere_b: None,
        };
        let mut items: Vec<Item> = Vec::new();
        for (kind, pairs) in
            [(ItemKind::MovedSlot, &self.moved), (ItemKind::Relabelled, &self.relabelled)]
        {
            items.extend(pairs.iter().map(|pair| item(kind, Some(pair.a), Some(pair.b))));
        }
        let in_slot =
            |rows: &[DetectionRow], slot: u32| rows.iter().copied().find(|row| row.slot == slot);
        for lost in &self.vanished {
            let gained = in_slot(&self.appeared, lost.slot);
            let kind = if gained.is_some() { ItemKind::Replaced } else { ItemKind::Vanished };
            items.push(item(kind, Some(*lost), gained));
        }
        for gained in &self.appeared {
            if in_slot(&self.vanished, gained.slot).is_none() {
                items.push(item(ItemKind::Appeared, None, Some(*gained)));
            }
        }
        items.sort_by_key(|item| (item.slot, item.kind));
        items
    }
}

/// Of `others`, the most confident that could be `row`'s object: same class, same place.
pub(in crate::sighted) fn best_elsewhere(
    row: &DetectionRow,
    others: impl Iterator<Item = DetectionRow>,
) -> Option<DetectionRow> {
    others
        .filter(|other| other.class_index == row.class_index && same_place(row, other))
        .reduce(|best, other| if other.confidence > best.confidence { other } else { best })
}

/// Fills in what the other side has of each item's unmatched detections, however unsure.
pub(in crate::sighted) fn fill_elsewhere(
    items: &mut [Item],
    a: &DecodedFixture,
    b: &DecodedFixture,
) {
    let rows = |side: &DecodedFixture| {
        let slots = (0..).zip(side.queries.clone());
        slots.filter_map(|(slot, query)| query.map(|query| query.at(slot)))
    };
    let unmatched = [ItemKind::Vanished, ItemKind::Appeared, ItemKind::Replaced];
    for item in items.iter_mut().filter(|item| unmatched.contains(&item.kind)) {
        item.elsewhere_b = item.a.and_then(|row| best_elsewhere(&row, rows(b)));
        item.elsewhere_a = item.b.and_then(|row| best_elsewhere(&row, rows(a)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sighted::decision::testing::{at, detection, detections};
    use proptest::prelude::*;

    fn counts(matched: &SetMatch) -> [usize; 5] {
        [
            matched.stayed.len(),
            matched.moved.len(),
            matched.relabelled.len(),
            matched.vanished.len(),
            matched.appeared.len(),
        ]
    }

    /// The worked example of the statistics notes.
    #[test]
    fn worked_example() {
        let a = [
            at(0, 1, 0.62, [0.10, 0.10, 0.30, 0.30]),
            at(1, 2, 0.45, [0.60, 0.60, 0.80, 0.80]),
            at(3, 3, 0.41, [0.2, 0.7, 0.3, 0.9]),
        ];
        let b = [
            at(1, 2, 0.46, [0.60, 0.60, 0.80, 0.81]),
            at(2, 1, 0.61, [0.10, 0.10, 0.30, 0.31]),
            at(3, 3, 0.39, [0.2, 0.7, 0.3, 0.9]),
        ];
        let matched = match_sets(&a, &b, 0.4);
        assert_eq!(counts(&matched), [1, 1, 0, 1, 0]);
        let Pair { a: from, b: to } = matched.moved[0];
        assert_eq!((from.slot, to.slot), (0, 2));
        assert!((iou(&from.corners, &to.corners) - 0.952).abs() < 5e-4);
        assert_eq!(matched.moved_slot_flips(&a, &b, 0.4), 2);
        let mut items = matched.items("f");
        assert_eq!(
            items.iter().map(|item| (item.slot, item.kind)).collect::<Vec<_>>(),
            [(0, ItemKind::MovedSlot), (3, ItemKind::Vanished)]
        );
        let decoded = |side: &[DetectionRow]| DecodedFixture {
            queries: (0..4)
                .map(|slot| {
                    side.iter().find(|row| row.slot == slot).map(|row| {
                        super::super::decode::DecodedQuery {
                            class: row.class_index,
                            confidence: row.confidence,
                            corners: row.corners,
                        }
                    })
                })
                .collect(),
        };
        fill_elsewhere(&mut items, &decoded(&a), &decoded(&b));
        assert_eq!(items[0].elsewhere_b, None, "a moved detection is found already");
        assert_eq!(items[1].elsewhere_b.map(|row| (row.slot, row.confidence)), Some((3, 0.39)));
        assert!(matched.changed());
        assert!(!matched.presence_changed());
    }

    #[test]
    fn the_same_slot_comes_before_a_better_overlap() {
        let a = [at(0, 1, 0.9, [0.0, 0.0, 0.4, 0.4]), at(1, 1, 0.8, [0.0, 0.0, 0.4, 0.5])];
        let b = [at(0, 1, 0.9, [0.0, 0.0, 0.4, 0.5]), at(1, 1, 0.8, [0.0, 0.0, 0.4, 0.4])];
        assert_eq!(counts(&match_sets(&a, &b, 0.5)), [2, 0, 0, 0, 0]);
    }

    #[test]
    fn a_moved_detection_beats_a_relabelling_in_place() {
        // Two objects exchange their slots: by slot two class flips, as a set nothing.
        let (left, right) = ([0.0, 0.0, 0.2, 0.2], [0.7, 0.7, 0.9, 0.9]);
        let a = [at(0, 1, 0.9, left), at(1, 2, 0.8, right)];
        let b = [at(0, 2, 0.8, right), at(1, 1, 0.9, left)];
        let matched = match_sets(&a, &b, 0.5);
        assert_eq!(counts(&matched), [0, 2, 0, 0, 0]);
        assert!(!matched.changed());
        assert_eq!(matched.moved_slot_flips(&a, &b, 0.5), 0, "no threshold flip to explain");
    }

    #[test]
    fn one_slot_with_two_objects_is_replaced_and_counts_as_both() {
        let a = [at(4, 1, 0.9, [0.0, 0.0, 0.2, 0.2])];
        let b = [at(4, 2, 0.8, [0.7, 0.7, 0.9, 0.9])];
        let matched = match_sets(&a, &b, 0.5);
        assert_eq!(counts(&matched), [0, 0, 0, 1, 1]);
        let items = matched.items("f");
        assert_eq!(items.len(), 1);
        assert_eq!((items[0].kind, items[0].slot), (ItemKind::Replaced, 4));
        assert!(items[0].a.is_some() && items[0].b.is_some());
        assert!(!matched.presence_changed());
    }

    #[test]
    fn presence_changes_only_between_none_and_some() {
        let one = [detection(0, 1, 0.9)];
        assert!(match_sets(&one, &[], 0.5).presence_changed());
        assert!(match_sets(&[], &one, 0.5).presence_changed());
        assert!(!match_sets(&[], &[], 0.5).presence_changed());
        assert!(!match_sets(&one, &one, 0.5).presence_changed());
    }

    #[test]
    fn only_the_hundred_most_confident_take_part() {
        let side: Vec<DetectionRow> = (0..150)
            .map(|slot| at(slot, slot, 0.9 - f64::from(slot) * 1e-3, [0.1, 0.1, 0.2, 0.2]))
            .collect();
        assert_eq!(counts(&match_sets(&side, &side, 0.5)), [100, 0, 0, 0, 0]);
    }

    #[test]
    fn boxes_without_area_overlap_nothing() {
        assert_eq!(iou(&[0.1, 0.1, 0.1, 0.5], &[0.1, 0.1, 0.1, 0.5]), 0.0);
        assert_eq!(iou(&[0.0, 0.0, 0.5, 0.5], &[0.5, 0.5, 1.0, 1.0]), 0.0);
        assert_eq!(iou(&[0.0, 0.0, 0.5, 0.5], &[0.0, 0.0, 0.5, 0.5]), 1.0);
    }

    proptest! {
        #[test]
        fn every_detection_is_counted_once(a in detections(), b in detections(), threshold in 0.2..0.9_f64) {
            let matched = match_sets(&a, &b, threshold);
            let [stayed, moved, relabelled, vanished, appeared] = counts(&matched);
            prop_assert_eq!(stayed + moved + relabelled + vanished, serving_order(&a, threshold, 100).len());
            prop_assert_eq!(stayed + moved + relabelled + appeared, serving_order(&b, threshold, 100).len());
            let items = matched.items("f");
            let of = |kind| items.iter().filter(|item| item.kind == kind).count();
            prop_assert_eq!(of(ItemKind::MovedSlot), moved);
            prop_assert_eq!(of(ItemKind::Relabelled), relabelled);
            prop_assert_eq!(of(ItemKind::Vanished) + of(ItemKind::Replaced), vanished);
            prop_assert_eq!(of(ItemKind::Appeared) + of(ItemKind::Replaced), appeared);
        }

        #[test]
        fn swapping_sides_swaps_vanished_and_appeared(a in detections(), b in detections(), threshold in 0.2..0.9_f64) {
            let [stayed, moved, relabelled, vanished, appeared] = counts(&match_sets(&a, &b, threshold));
            prop_assert_eq!(
                counts(&match_sets(&b, &a, threshold)),
                [stayed, moved, relabelled, appeared, vanished]
            );
        }

        #[test]
        fn a_side_against_itself_stays(a in detections(), threshold in 0.2..0.9_f64) {
            let matched = match_sets(&a, &a, threshold);
            prop_assert_eq!(matched.items("f"), vec![]);
            prop_assert!(!matched.changed());
        }
    }
}
