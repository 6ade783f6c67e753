//! Made-up detections for tests.

use proptest::prelude::*;

use super::report::DetectionRow;

/// A detection in a place of its own: slots do not overlap.
pub(super) fn detection(slot: u32, class_index: u32, confidence: f64) -> DetectionRow {
    let left = f64::from(slot % 20) / 20.0;
    let top = f64::from(slot / 20 % 20) / 20.0;
    at(slot, class_index, confidence, [left, top, left + 0.04, top + 0.04])
}

/// A detection anywhere.
pub(super) fn at(slot: u32, class_index: u32, confidence: f64, corners: [f64; 4]) -> DetectionRow {
    DetectionRow { slot, class_index, confidence, corners }
}

/// Detections in slot order, on few places and of few classes, so that everything happens.
pub(super) fn detections() -> impl Strategy<Value = Vec<DetectionRow>> {
    let row = (0_u32..3, 0.2..1.0_f64, 0_u32..6, 0.0..0.08_f64, 0.0..0.08_f64);
    proptest::collection::btree_map(0_u32..12, row, 0..8).prop_map(|rows| {
        rows.into_iter()
            .map(|(slot, (class_index, confidence, place, dx, dy))| {
                let (x, y) = (f64::from(place % 3) * 0.15 + dx, f64::from(place / 3) * 0.15 + dy);
                at(slot, class_index, confidence, [x, y, x + 0.25, y + 0.25])
            })
            .collect()
    })
}
