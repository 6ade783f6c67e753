//! Everything one fixture adds to a report, from the outputs of both sides. The outputs can be dropped
//! after that.

use serde::{Deserialize, Serialize};

use super::decode::{DecodeError, DecodedFixture, decode};
use super::report::{Item, SideFound, Sides};
use super::slot_match::{fill_elsewhere, match_sets};
use super::sweep::detection_floor;
use super::tensor_delta::DeltaFold;

/// What makes decisions out of outputs.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct DecisionRules {
    /// Named classes.
    pub classes: usize,
    /// The sidecar's threshold, or the one that was asked for instead.
    pub recommended: f64,
    /// Name of the output `[1, queries, C or C+1]`.
    pub logits_output: String,
    /// Name of the output `[1, queries, 4]`.
    pub boxes_output: String,
}

/// One output of one run.
#[derive(Debug, Clone, Copy)]
pub(in crate::sighted) struct OutputView<'a> {
    /// Its name in the graph.
    pub name: &'a str,
    /// Its axes.
    pub shape: &'a [usize],
    /// Its elements, in row-major order.
    pub values: &'a [f32],
}

/// What one fixture adds to a report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::sighted) struct FixtureFold {
    /// Slots on each side.
    pub queries: u64,
    /// Differences of each output, in the reference's order.
    pub deltas: Vec<DeltaFold>,
    /// Detections from the floor on, and the best confidence.
    pub found: Sides<SideFound>,
    /// Largest change of confidence in one slot; absent when no slot is finite on both sides.
    pub max_confidence_delta: Option<f64>,
    /// Largest change of one corner in one slot; absent likewise.
    pub max_box_delta: Option<f64>,
    /// What changed at the recommended threshold.
    pub items: Vec<Item>,
}

/// Outputs of two sides that cannot be compared, or not decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::sighted) enum FoldError {
    /// Not the same outputs, or in another order.
    #[error("expected the reference's outputs {a:?}, found {b:?} in the candidate")]
    Names {
        /// The reference's.
        a: Vec<String>,
        /// The candidate's.
        b: Vec<String>,
    },
    /// Not the same shape.
    #[error("output {name:?}: expected the reference's shape {a:?}, found {b:?} in the candidate")]
    Shapes {
        /// Which output.
        name: String,
        /// The reference's.
        a: Vec<usize>,
        /// The candidate's.
        b: Vec<usize>,
    },
    /// More or fewer elements than the shape says.
    #[error("output {name:?}: expected {expected} elements by its shape, found {found}")]
    Elements {
        /// Which output.
        name: String,
        /// Product of the shape.
        expected: usize,
        /// Elements there.
        found: usize,
    },
    /// An output that decoding needs is not there.
    #[error("expected an output named {name:?}, found {found:?}")]
    Missing {
        /// Its name.
        name: String,
        /// Those there.
        found: Vec<String>,
    },
    /// An output that decoding needs is not of the shape `[1, queries, columns]`.
    #[error("output {name:?}: expected shape [1, queries, columns], found {found:?}")]
    Axes {
        /// Which output.
        name: String,
        /// Its shape.
        found: Vec<usize>,
    },
    /// Logits or boxes that decoding refuses.
    #[error("{0}")]
    Decode(#[from] DecodeError),
    /// A threshold that no confidence can be compared with.
    #[error("expected a threshold above 0 and at most 1, found {found}")]
    Threshold {
        /// As text: it may be NaN.
        found: String,
    },
}

impl DecisionRules {
    /// Whether there is a threshold that means something.
    ///
    /// # Errors
    /// Not above 0, above 1, or not a number.
    pub(in crate::sighted) fn check(&self) -> Result<(), FoldError> {
        if self.recommended > 0.0 && self.recommended <= 1.0 {
            Ok(())
        } else {
            Err(FoldError::Threshold { found: self.recommended.to_string() })
        }
    }
}

impl FixtureFold {
    /// Compares the outputs of both sides for the fixture named `fixture`.
    ///
    /// # Errors
    /// Outputs of other names, order or shape, or outputs that decoding refuses.
    pub(in crate::sighted) fn of(
        rules: &DecisionRules,
        fixture: &str,
        a: &[OutputView<'_>],
        b: &[OutputView<'_>],
    ) -> Result<Self, FoldError> {
        rules.check()?;
        check_alike(a, b)?;
        let (decoded_a, decoded_b) = (decode_side(rules, a)?, decode_side(rules, b)?);
        let floor = detection_floor(rules.recommended);
        let found = Sides { a: side_found(&decoded_a, floor), b: side_found(&decoded_b, floor) };
        let matched = match_sets(&found.a.detections, &found.b.detections, rules.recommended);
        let mut items = matched.items(fixture);
        fill_elsewhere(&mut items, &decoded_a, &decoded_b);
        let (max_confidence_delta, max_box_delta) = slot_deltas(&decoded_a, &decoded_b);
        Ok(Self {
            queries: decoded_a.queries.len() as u64,
            deltas: a
                .iter()
                .zip(b)
                .map(|(one, two)| DeltaFold::of(one.name, one.values, two.values))
                .collect(),
            found,
            max_confidence_delta,
            max_box_delta,
            items,
        })
    }
}

fn check_alike(a: &[OutputView<'_>], b: &[OutputView<'_>]) -> Result<(), FoldError> {
    let names = |side: &[OutputView<'_>]| -> Vec<String> {
        side.iter().map(|output| output.name.to_owned()).collect()
    };
    if names(a) != names(b) {
        return Err(FoldError::Names { a: names(a), b: names(b) });
    }
    for (one, two) in a.iter().zip(b) {
        let name = || one.name.to_owned();
        if one.shape != two.shape {
            let (a, b) = (one.shape.to_vec(), two.shape.to_vec());
            return Err(FoldError::Shapes { name: name(), a, b });
        }
        let expected = one.shape.iter().product();
        for found in [one.values.len(), two.values.len()] {
            if found != expected {
                return Err(FoldError::Elements { name: name(), expected, found });
            }
        }
    }
    Ok(())
}

fn decode_side(
    rules: &DecisionRules,
    outputs: &[OutputView<'_>],
) -> Result<DecodedFixture, FoldError> {
    let named = |name: &str| {
        outputs.iter().find(|output| output.name == name).ok_or_else(|| FoldError::Missing {
            name: name.to_owned(),
            found: outputs.iter().map(|output| output.name.to_owned()).collect(),
        })
    };
    let last_axis = |output: &OutputView<'_>| match output.shape {
        [1, _, columns] | [_, columns] if *columns > 0 => Ok(*columns),
        other => Err(FoldError::Axes { name: output.name.to_owned(), found: other.to_vec() }),
    };
    let (logits, boxes) = (named(&rules.logits_output)?, named(&rules.boxes_output)?);
    let found = last_axis(boxes)?;
    if found != 4 {
        return Err(DecodeError::BoxAxis { found }.into());
    }
    Ok(decode(logits.values, last_axis(logits)?, boxes.values, rules.classes)?)
}

fn side_found(decoded: &DecodedFixture, floor: f64) -> SideFound {
    SideFound {
        best: decoded.best(),
        non_finite_slots: decoded.non_finite_slots(),
        detections: decoded.detections(floor),
    }
}

/// Largest change of confidence and of a corner, over slots that are finite on both sides.
pub(in crate::sighted) fn slot_deltas(
    a: &DecodedFixture,
    b: &DecodedFixture,
) -> (Option<f64>, Option<f64>) {
    let mut largest: (Option<f64>, Option<f64>) = (None, None);
    for (one, two) in a.queries.iter().zip(&b.queries) {
        let (Some(one), Some(two)) = (one, two) else { continue };
        let confidence = (one.confidence - two.confidence).abs();
        let corners = one.corners.iter().zip(&two.corners);
        let corner = corners.map(|(one, two)| (one - two).abs()).fold(0.0, f64::max);
        largest.0 = Some(largest.0.map_or(confidence, |most| most.max(confidence)));
        largest.1 = Some(largest.1.map_or(corner, |most| most.max(corner)));
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sighted::decision::report::ItemKind;

    fn rules() -> DecisionRules {
        DecisionRules {
            classes: 2,
            recommended: 0.4,
            logits_output: "labels".to_owned(),
            boxes_output: "dets".to_owned(),
        }
    }

    const LOGITS: [f32; 6] = [2.0, -3.0, 0.0, -3.0, -3.0, 0.0];
    const BOXES: [f32; 8] = [0.2, 0.2, 0.2, 0.2, 0.7, 0.7, 0.2, 0.2];

    fn outputs<'a>(logits: &'a [f32], boxes: &'a [f32]) -> [OutputView<'a>; 2] {
        [
            OutputView { name: "dets", shape: &[1, 2, 4], values: boxes },
            OutputView { name: "labels", shape: &[1, 2, 3], values: logits },
        ]
    }

    #[test]
    fn one_fixture_is_folded() {
        let mut other = LOGITS;
        other[0] = -9.0;
        let (a, b) = (outputs(&LOGITS, &BOXES), outputs(&other, &BOXES));
        let fold = FixtureFold::of(&rules(), "f", &a, &b).expect("comparable");
        assert_eq!(fold.queries, 2);
        let names: Vec<_> = fold.deltas.iter().map(|delta| delta.sums.name.as_str()).collect();
        assert_eq!(names, ["dets", "labels"]);
        assert_eq!((fold.deltas[0].sums.max_abs, fold.deltas[1].sums.max_abs), (0.0, 11.0));
        assert_eq!((fold.found.a.detections.len(), fold.found.b.detections.len()), (1, 0));
        assert_eq!(fold.items.len(), 1);
        assert_eq!((fold.items[0].kind, fold.items[0].elsewhere_b), (ItemKind::Vanished, None));
        assert_eq!(fold.max_box_delta, Some(0.0));
        assert!(fold.max_confidence_delta.expect("finite") > 0.8);
        let text = serde_json::to_string(&fold).expect("serialisable");
        assert_eq!(serde_json::from_str::<FixtureFold>(&text).expect("readable"), fold);
    }

    #[test]
    fn a_side_of_nothing_but_nan_loses_every_detection() {
        let (a, bad) = (outputs(&LOGITS, &BOXES), [f32::NAN; 6]);
        let fold = FixtureFold::of(&rules(), "f", &a, &outputs(&bad, &BOXES)).expect("comparable");
        assert_eq!(fold.items.len(), 1, "never `no flip`");
        assert_eq!(fold.found.b.non_finite_slots, 2);
        assert_eq!((fold.found.b.best, fold.max_confidence_delta), (None, None));
        assert_eq!(fold.deltas[1].sums.non_finite, Sides { a: 0, b: 6 });
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        let good = outputs(&LOGITS, &BOXES);
        let refused =
            |b: &[OutputView<'_>]| FixtureFold::of(&rules(), "f", &good, b).expect_err("refused");
        assert!(FixtureFold::of(&rules(), "f", &good, &good).is_ok());
        let mut swapped = good;
        swapped.reverse();
        assert!(matches!(refused(&swapped), FoldError::Names { .. }));
        assert!(matches!(refused(&good[..1]), FoldError::Names { .. }));
        assert!(matches!(refused(&[]), FoldError::Names { .. }));
        let mut reshaped = good;
        reshaped[1].shape = &[1, 3, 2];
        assert!(matches!(refused(&reshaped), FoldError::Shapes { .. }));
        let mut short = good;
        short[1].values = &LOGITS[..5];
        assert!(matches!(refused(&short), FoldError::Elements { expected: 6, found: 5, .. }));
    }

    #[test]
    fn what_cannot_be_decoded_is_refused() {
        let good = outputs(&LOGITS, &BOXES);
        let with = |rules: &DecisionRules| FixtureFold::of(rules, "f", &good, &good);
        assert!(with(&rules()).is_ok());
        let classes = with(&DecisionRules { classes: 5, ..rules() });
        assert_eq!(
            classes,
            Err(FoldError::Decode(DecodeError::ClassAxis { classes: 5, columns: 3 }))
        );
        let missing = with(&DecisionRules { logits_output: "scores".to_owned(), ..rules() });
        assert!(matches!(missing, Err(FoldError::Missing { .. })));
        let mixed = with(&DecisionRules { boxes_output: "labels".to_owned(), ..rules() });
        assert_eq!(mixed, Err(FoldError::Decode(DecodeError::BoxAxis { found: 3 })));
        for recommended in [0.0, -0.1, 1.1, f64::NAN] {
            let error = with(&DecisionRules { recommended, ..rules() });
            assert!(matches!(error, Err(FoldError::Threshold { .. })));
        }
        let flat = [OutputView { name: "dets", shape: &[2, 1, 4], values: &BOXES }, good[1]];
        let error = FixtureFold::of(&rules(), "f", &flat, &flat);
        assert!(matches!(error, Err(FoldError::Axes { .. })));
    }
}
