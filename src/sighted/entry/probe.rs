//! Single steps of a decision, for benchmarks: slices in, numbers out.

use crate::sighted::decision::decode::decode;
use crate::sighted::decision::report::DetectionRow;
use crate::sighted::decision::slot_match::match_sets;
use crate::sighted::decision::tensor_delta::{DeltaFold, OutputTotals};

/// Statistics of one output over fixtures, as they build up in a run.
#[derive(Debug)]
pub struct StatisticsProbe(OutputTotals);

impl Default for StatisticsProbe {
    fn default() -> Self {
        Self(OutputTotals::new("output"))
    }
}

impl StatisticsProbe {
    /// Adds one fixture; returns the largest absolute difference in it.
    pub fn add(&mut self, a: &[f32], b: &[f32]) -> f64 {
        let fold = DeltaFold::of("output", a, b);
        self.0.add(&fold);
        fold.sums.max_abs
    }

    /// Mean, median, 99.9th percentile and largest of all absolute differences.
    pub fn summary(&mut self) -> [f64; 4] {
        let delta = self.0.summarise();
        [delta.mean_abs_delta, delta.median_abs_delta, delta.p999_abs_delta, delta.max_abs_delta]
    }
}

/// Reads the outputs of one side; returns how many slots reach `threshold`, or none when the outputs do
/// not fit `classes`.
pub fn decoded(
    class_logits: &[f32],
    columns: usize,
    boxes: &[f32],
    classes: usize,
    threshold: f64,
) -> Option<usize> {
    let decoded = decode(class_logits, columns, boxes, classes).ok()?;
    Some(decoded.detections(threshold).len())
}

/// Matches two lists of detections, each `(slot, class, confidence, corners)` in slot order; returns how
/// many stayed, moved, were relabelled, vanished and appeared.
pub fn matched(
    a: &[(u32, u32, f64, [f64; 4])],
    b: &[(u32, u32, f64, [f64; 4])],
    threshold: f64,
) -> [usize; 5] {
    let rows = |side: &[(u32, u32, f64, [f64; 4])]| -> Vec<DetectionRow> {
        side.iter()
            .map(|(slot, class_index, confidence, corners)| DetectionRow {
                slot: *slot,
                class_index: *class_index,
                confidence: *confidence,
                corners: *corners,
            })
            .collect()
    };
    let matched = match_sets(&rows(a), &rows(b), threshold);
    [
        matched.stayed.len(),
        matched.moved.len(),
        matched.relabelled.len(),
        matched.vanished.len(),
        matched.appeared.len(),
    ]
}
