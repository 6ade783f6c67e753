//! Tells when a candidate seems to have its class columns in another order: every count is the same,
//! every box is in its place, and every name is another.

use std::collections::BTreeMap;

use crate::domain::escape::escape;
use crate::sighted::decision::report::{Extension, ItemKind, SetRow};

/// Fewer relabelled detections show no pattern.
const FEWEST: u64 = 5;

/// Mappings named in the sentence.
const SHOWN: usize = 4;

/// The sentence about it, escaped; none when there is no such pattern. `sets` is the row at the
/// recommended threshold.
pub(super) fn suspicion(ours: &Extension, sets: &SetRow) -> Option<String> {
    let (kept, relabelled) = (sets.stayed + sets.moved_slots, sets.relabelled);
    if relabelled < FEWEST || kept * 10 > relabelled {
        return None;
    }
    let mut pairs: BTreeMap<u32, BTreeMap<u32, u64>> = BTreeMap::new();
    for item in ours.items.iter().filter(|item| item.kind == ItemKind::Relabelled) {
        if let (Some(a), Some(b)) = (item.a, item.b) {
            *pairs.entry(a.class_index).or_default().entry(b.class_index).or_default() += 1;
        }
    }
    let usual: Vec<(u32, u32, u64)> = pairs
        .iter()
        .filter_map(|(from, into)| {
            let (into, count) = into.iter().max_by_key(|(_, count)| **count)?;
            Some((*from, *into, *count))
        })
        .collect();
    let explained: u64 = usual.iter().map(|(.., count)| count).sum();
    if explained * 10 < relabelled * 9 {
        return None;
    }
    let name = |class: u32| {
        let name = usize::try_from(class).ok().and_then(|class| ours.classes.get(class));
        name.map_or_else(|| class.to_string(), |name| escape(name).into_owned())
    };
    let shown: Vec<String> = usual
        .iter()
        .take(SHOWN)
        .map(|(from, into, _)| format!("{} as {}", name(*from), name(*into)))
        .collect();
    let more = usual.len().saturating_sub(SHOWN);
    let more = if more == 0 { String::new() } else { format!(", {more} more") };
    Some(format!(
        "{relabelled} of {} detections in the same place have another class, {explained} of them by one mapping ({}{more}): the candidate's class columns may be in another order",
        relabelled + kept,
        shown.join(", "),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sighted::decision::report::{DetectionRow, Item};
    use crate::sighted::decision::testing::made_report;

    fn found(classes: &[(u32, u32)], stayed: u64) -> Option<String> {
        let mut ours = made_report(20).flipside.expect("ours");
        let detection = |class_index| {
            Some(DetectionRow { slot: 0, class_index, confidence: 0.5, corners: [0.0; 4] })
        };
        ours.classes[2] = "\u{1b}can".to_owned();
        ours.items = classes
            .iter()
            .map(|(a, b)| Item {
                fixture: String::new(),
                slot: 0,
                kind: ItemKind::Relabelled,
                a: detection(*a),
                b: detection(*b),
                elsewhere_a: None,
                elsewhere_b: None,
            })
            .collect();
        let row = &ours.set_matching.by_threshold[0];
        let relabelled = classes.len() as u64;
        let sets = SetRow { stayed, moved_slots: 0, relabelled, ..row.clone() };
        suspicion(&ours, &sets)
    }

    #[test]
    fn one_mapping_of_nearly_everything_is_said() {
        let rolled = [(0, 1), (1, 2), (2, 0), (0, 1), (1, 2), (2, 0)];
        assert_eq!(
            found(&rolled, 0).as_deref(),
            Some(
                "6 of 6 detections in the same place have another class, 6 of them by one mapping (cup as bag, bag as \\x1bcan, \\x1bcan as cup): the candidate's class columns may be in another order"
            )
        );
    }

    #[test]
    fn ordinary_mislabels_are_no_pattern() {
        let rolled = [(0, 1), (1, 2), (2, 0), (0, 1), (1, 2), (2, 0)];
        assert_eq!(found(&rolled, 1), None, "one detection kept its class");
        assert_eq!(found(&rolled[..4], 0), None, "too few");
        let mixed = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)];
        assert_eq!(found(&mixed, 0), None, "no one mapping");
    }
}
