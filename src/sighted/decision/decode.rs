//! What a detector's outputs say, slot by slot, exactly as the serving path reads them.
//!
//! Everything is computed in f64. Of the class logits the columns 0..C are named; a background column
//! after them is ignored. The first of equal maxima wins. A slot with a NaN or infinity among its named
//! logits or box values is non-finite: it says nothing, never survives, and is counted apart.

use super::report::DetectionRow;

/// The serving path returns at most this many detections of one fixture.
pub(in crate::sighted) const MAX_DETECTIONS: usize = 100;

/// One slot read: before any threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::sighted) struct DecodedQuery {
    /// Column of the largest named logit.
    pub class: u32,
    /// Sigmoid of that logit.
    pub confidence: f64,
    /// `[x0, y0, x1, y1]`, clamped to 0..=1.
    pub corners: [f64; 4],
}

/// All slots of one side of one fixture, in slot order; none where a slot is non-finite.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct DecodedFixture {
    /// One per slot.
    pub queries: Vec<Option<DecodedQuery>>,
}

/// Outputs that are not those of a detector with these classes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::sighted) enum DecodeError {
    /// The class axis fits neither C nor C+1.
    #[error("expected {classes} class columns, or {} with background, found {columns}", classes + 1)]
    ClassAxis {
        /// Named classes.
        classes: usize,
        /// Columns found.
        columns: usize,
    },
    /// No class to decode.
    #[error("expected at least one class, found none")]
    NoClass,
    /// The last axis of the boxes is not 4.
    #[error("expected boxes of 4 values, found {found}")]
    BoxAxis {
        /// Length of the axis.
        found: usize,
    },
    /// Boxes and logits count different slots, or a tensor does not fill its shape.
    #[error("expected {expected} {what}, found {found}")]
    Length {
        /// What was counted.
        what: &'static str,
        /// As the other tensor or the shape says.
        expected: usize,
        /// Values there.
        found: usize,
    },
}

/// Reads `class_logits` of shape `[queries, columns]` and `boxes` of shape `[queries, 4]` (centre, width,
/// height).
///
/// # Errors
/// A class axis that is neither C nor C+1, or lengths that do not fit.
pub(in crate::sighted) fn decode(
    class_logits: &[f32],
    columns: usize,
    boxes: &[f32],
    classes: usize,
) -> Result<DecodedFixture, DecodeError> {
    if classes == 0 {
        return Err(DecodeError::NoClass);
    }
    if columns != classes && columns != classes + 1 {
        return Err(DecodeError::ClassAxis { classes, columns });
    }
    let queries = class_logits.len() / columns;
    if queries * columns != class_logits.len() {
        let expected = (queries + 1) * columns;
        let found = class_logits.len();
        return Err(DecodeError::Length { what: "class logits", expected, found });
    }
    if boxes.len() != queries * 4 {
        let (expected, found) = (queries * 4, boxes.len());
        return Err(DecodeError::Length { what: "box values", expected, found });
    }
    let rows = class_logits.chunks_exact(columns).zip(boxes.chunks_exact(4));
    Ok(DecodedFixture {
        queries: rows.map(|(logits, values)| decode_slot(&logits[..classes], values)).collect(),
    })
}

fn decode_slot(named_logits: &[f32], values: &[f32]) -> Option<DecodedQuery> {
    if !values.iter().chain(named_logits).all(|value| value.is_finite()) {
        return None;
    }
    let mut class = 0;
    for (column, logit) in named_logits.iter().enumerate() {
        if *logit > named_logits[class] {
            class = column;
        }
    }
    let [cx, cy, width, height] = [0, 1, 2, 3].map(|index| f64::from(values[index]));
    Some(DecodedQuery {
        class: u32::try_from(class).ok()?,
        confidence: sigmoid(f64::from(named_logits[class])),
        corners: [cx - width / 2.0, cy - height / 2.0, cx + width / 2.0, cy + height / 2.0]
            .map(|corner| corner.clamp(0.0, 1.0)),
    })
}

/// `1 / (1 + exp(-logit))`
fn sigmoid(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}

impl DecodedFixture {
    /// Detections at or above `confidence`, in slot order, uncapped.
    pub(in crate::sighted) fn detections(&self, confidence: f64) -> Vec<DetectionRow> {
        let slots = (0..).zip(&self.queries);
        slots
            .filter_map(|(slot, query)| {
                query.filter(|query| query.confidence >= confidence).map(|query| query.at(slot))
            })
            .collect()
    }

    /// Highest confidence of any finite slot.
    pub(in crate::sighted) fn best(&self) -> Option<f64> {
        self.queries.iter().flatten().map(|query| query.confidence).reduce(f64::max)
    }

    /// Slots that say nothing.
    pub(in crate::sighted) fn non_finite_slots(&self) -> u64 {
        self.queries.iter().filter(|query| query.is_none()).count() as u64
    }
}

impl DecodedQuery {
    /// The same, with its slot.
    pub(in crate::sighted) fn at(&self, slot: u32) -> DetectionRow {
        DetectionRow {
            slot,
            class_index: self.class,
            confidence: self.confidence,
            corners: self.corners,
        }
    }
}

/// What the serving path returns at a threshold: detections at or above it, most confident first, equal
/// confidences by slot, at most `cap`. No suppression of overlaps.
pub(in crate::sighted) fn serving_order(
    detections: &[DetectionRow],
    threshold: f64,
    cap: usize,
) -> Vec<&DetectionRow> {
    let mut served: Vec<&DetectionRow> =
        detections.iter().filter(|detection| detection.confidence >= threshold).collect();
    served.sort_by(|left, right| {
        right.confidence.total_cmp(&left.confidence).then(left.slot.cmp(&right.slot))
    });
    served.truncate(cap);
    served
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn logit(confidence: f64) -> f32 {
        #[expect(clippy::cast_possible_truncation, reason = "a test value")]
        let value = (confidence / (1.0 - confidence)).ln() as f32;
        value
    }

    #[test]
    fn the_winner_is_the_first_largest_named_column() {
        // Two classes and background; background is largest and must not win.
        let logits = [0.5, 0.5, 9.0, -1.0, 2.0, 0.0];
        let boxes = [0.5, 0.5, 0.2, 0.4, 0.0, 1.0, 0.5, 0.5];
        let decoded = decode(&logits, 3, &boxes, 2).expect("fits");
        let [Some(first), Some(second)] = decoded.queries[..] else { panic!("two finite slots") };
        assert_eq!((first.class, second.class), (0, 1));
        assert!((first.confidence - 0.622_459_331_201_854_6).abs() < 1e-15);
        let near = |found: [f64; 4], expected: [f64; 4]| {
            found.iter().zip(expected).all(|(one, two)| (one - two).abs() < 1e-7)
        };
        assert!(near(first.corners, [0.4, 0.3, 0.6, 0.7]));
        assert!(near(second.corners, [0.0, 0.75, 0.25, 1.0]), "clamped");
    }

    #[test]
    fn the_threshold_is_inclusive() {
        let decoded = decode(&[0.0, -0.0001], 1, &[0.5; 8], 1).expect("fits");
        let detections = decoded.detections(0.5);
        assert_eq!(detections.iter().map(|row| row.slot).collect::<Vec<_>>(), [0]);
        assert_eq!(serving_order(&detections, 0.5, 100).len(), 1);
        assert_eq!(serving_order(&detections, 0.500_000_1, 100).len(), 0);
    }

    #[test]
    fn class_axis_is_c_or_one_more() {
        let columns = |columns: usize| decode(&vec![0.0; columns * 2], columns, &[0.5; 8], 4);
        assert!(columns(4).is_ok());
        assert!(columns(5).is_ok());
        for wrong in [3, 6] {
            let error = columns(wrong).expect_err("refused");
            assert_eq!(error, DecodeError::ClassAxis { classes: 4, columns: wrong });
            assert!(error.to_string().contains(&format!("found {wrong}")));
        }
        assert_eq!(decode(&[], 1, &[], 0), Err(DecodeError::NoClass));
        assert!(matches!(decode(&[0.0; 5], 2, &[0.5; 8], 2), Err(DecodeError::Length { .. })));
        assert!(matches!(decode(&[0.0; 4], 2, &[0.5; 7], 2), Err(DecodeError::Length { .. })));
    }

    #[test]
    fn a_non_finite_slot_says_nothing() {
        let bad = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
        for value in bad {
            let decoded = decode(&[9.0, value, 9.0, 9.0], 2, &[0.5; 8], 2).expect("fits");
            assert_eq!(decoded.non_finite_slots(), 1);
            assert_eq!(decoded.detections(0.0).len(), 1);
            let decoded =
                decode(&[9.0; 4], 2, &[0.5, 0.5, value, 0.5, 0.5, 0.5, 0.5, 0.5], 2).expect("fits");
            assert_eq!(decoded.queries[0], None);
        }
        // The background column is not named: it may hold anything.
        let decoded = decode(&[9.0, f32::NAN], 2, &[0.5; 4], 1).expect("fits");
        assert_eq!(decoded.non_finite_slots(), 0);
        let decoded = decode(&[f32::NAN, 0.0], 2, &[0.5; 4], 1).expect("fits");
        assert_eq!((decoded.best(), decoded.detections(0.0)), (None, vec![]));
    }

    #[test]
    fn serving_order_is_by_confidence_then_slot_and_capped() {
        let logits: Vec<f32> =
            (0..150).map(|slot| logit(if slot % 2 == 0 { 0.6 } else { 0.7 })).collect();
        let decoded = decode(&logits, 1, &[0.5; 600], 1).expect("fits");
        let detections = decoded.detections(0.25);
        let served = serving_order(&detections, 0.25, MAX_DETECTIONS);
        assert_eq!(served.len(), 100);
        assert_eq!(served[..2].iter().map(|row| row.slot).collect::<Vec<_>>(), [1, 3]);
        assert_eq!(served[74].slot, 149);
        assert_eq!(served[75].slot, 0);
    }

    proptest! {
        #[test]
        fn decoded_values_are_in_range(
            logits in proptest::collection::vec(proptest::num::f32::ANY, 12),
            boxes in proptest::collection::vec(proptest::num::f32::ANY, 16),
        ) {
            let decoded = decode(&logits, 3, &boxes, 3).expect("fits");
            for query in decoded.queries.iter().flatten() {
                prop_assert!((0.0..=1.0).contains(&query.confidence));
                prop_assert!(query.corners.iter().all(|corner| (0.0..=1.0).contains(corner)));
                prop_assert!(query.class < 3);
            }
        }
    }
}
