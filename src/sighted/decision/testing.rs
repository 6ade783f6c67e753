//! Made-up detections, outputs and reports for tests.

use proptest::prelude::*;

use super::fold::{DecisionRules, OutputView};
use super::report::build::{FixtureSeen, ReportBuilder, ReportContext};
use super::report::*;
use crate::domain::digest::{ArtifactHash, FixtureId, ManifestHash, RecipeHash, TensorHash};

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

/// Slots, classes and logit columns of made-up outputs.
pub(in crate::sighted) const QUERIES: usize = 8;
const CLASSES: usize = 3;
const COLUMNS: usize = CLASSES + 1;

/// Rules for made-up outputs.
pub(in crate::sighted) fn rules() -> DecisionRules {
    DecisionRules {
        classes: CLASSES,
        recommended: 0.4,
        logits_output: "labels".to_owned(),
        boxes_output: "dets".to_owned(),
    }
}

/// Outputs of both sides for one fixture: `[dets, labels]` of the reference, then of the candidate.
pub(in crate::sighted) struct Outputs {
    values: [[Vec<f32>; 2]; 2],
}

impl Outputs {
    /// Made from a seed: a few confident slots, the candidate a little off, sometimes another slot.
    pub(in crate::sighted) fn made(seed: u64) -> Self {
        let mut state = seed.wrapping_mul(2).wrapping_add(99);
        let mut unit = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as f32 / (1_u64 << 24) as f32
        };
        let logits: Vec<f32> = (0..QUERIES * COLUMNS).map(|_| unit() * 6.0 - 4.5).collect();
        let boxes: Vec<f32> = (0..QUERIES * 4).map(|_| 0.3 + unit() * 0.3).collect();
        let mut off = |values: &[f32], by: f32| {
            values.iter().map(|value| value + (unit() - 0.5) * by).collect()
        };
        let mut other: [Vec<f32>; 2] = [off(&boxes, 0.05), off(&logits, 0.8)];
        if seed.is_multiple_of(3) {
            other[0].rotate_left(4);
            other[1].rotate_left(COLUMNS);
        }
        Self { values: [[boxes, logits], other] }
    }

    /// The same, with the reference's outputs on both sides.
    pub(in crate::sighted) fn unchanged(seed: u64) -> Self {
        let [reference, _] = Self::made(seed).values;
        Self { values: [reference.clone(), reference] }
    }

    /// Every element of the candidate's logits replaced.
    pub(in crate::sighted) fn flood(&mut self, value: f32) {
        self.values[1][1].fill(value);
    }

    /// The outputs of one side.
    pub(in crate::sighted) fn side(&self, side: usize) -> [OutputView<'_>; 2] {
        let [boxes, logits] = &self.values[side];
        [
            OutputView { name: "dets", shape: &[1, QUERIES, 4], values: boxes },
            OutputView { name: "labels", shape: &[1, QUERIES, COLUMNS], values: logits },
        ]
    }
}

/// A made-up fixture.
pub(in crate::sighted) fn seen(position: u64) -> FixtureSeen {
    let path = format!("images/{position}.jpg");
    FixtureSeen {
        position,
        id: FixtureId::of(path.as_bytes()),
        tensor: TensorHash::of(path.as_bytes()),
        path,
    }
}

/// The rest of a made-up report.
pub(in crate::sighted) fn context(manifest_count: u64, shard: ShardEntry) -> ReportContext {
    let artifact = |name: &str| ArtifactEntry {
        path: format!("{name}.onnx"),
        bytes: 1000,
        sha256: ArtifactHash::of(name.as_bytes()).to_hex(),
    };
    ReportContext {
        generated_at: "2026-01-02T03:04:05+00:00".to_owned(),
        artifacts: Sides { a: artifact("fp32"), b: artifact("int8") },
        environment: Environment {
            platform: "Linux".to_owned(),
            machine: "x86_64".to_owned(),
            python: "flipside 0.1.0".to_owned(),
            onnxruntime: "1.32.0".to_owned(),
            execution_providers: vec!["CPUExecutionProvider".to_owned()],
            note: "A test.".to_owned(),
        },
        manifest: "manifest.txt".to_owned(),
        manifest_hash: ManifestHash::of(b"manifest"),
        manifest_count,
        input_shape: vec![1, 3, 64, 64],
        normalization: Normalization { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] },
        resize_note: "squash".to_owned(),
        run_ms: Sides { a: vec![2.0, 3.0], b: vec![1.0, 1.5, 2.5] },
        latency_note: "run calls only.".to_owned(),
        product: "flipside 0.1.0".to_owned(),
        recipe: RecipeEntry {
            name: "squash/1".to_owned(),
            sha256: RecipeHash::of(b"squash").to_hex(),
        },
        runtime: RuntimeEntry {
            name: "onnxruntime".to_owned(),
            version: "1.32.0".to_owned(),
            provider: "CPUExecutionProvider".to_owned(),
            intra_op_threads: 1,
            optimisation: "all".to_owned(),
            cpu_features: vec!["avx2".to_owned()],
        },
        classes: vec!["cup".to_owned(), "bag".to_owned(), "can".to_owned()],
        latency: None,
        shard,
        state_file: format!("shard-{}.state", shard.index),
    }
}

/// All of one shard's positions, pushed: positions `index - 1`, `index - 1 + of` and so on.
pub(in crate::sighted) fn pushed(manifest_count: u64, shard: ShardEntry) -> ReportBuilder {
    let mut builder = ReportBuilder::new(rules()).expect("rules");
    for position in 0..manifest_count {
        if position % u64::from(shard.of) + 1 != u64::from(shard.index) {
            continue;
        }
        if position % 7 == 5 {
            let path = format!("images/{position}.jpg");
            builder.push_left_out(position, path, None, "not a picture".to_owned());
            continue;
        }
        let outputs = Outputs::made(position);
        builder.push(seen(position), &outputs.side(0), &outputs.side(1)).expect("comparable");
        builder.push_noise(&outputs.side(0), &outputs.side(0)).expect("comparable");
    }
    builder
}

/// One run over a made-up manifest.
pub(in crate::sighted) const WHOLE: ShardEntry = ShardEntry { index: 1, of: 1 };

/// The report of one run over a made-up manifest.
pub(in crate::sighted) fn made_report(manifest_count: u64) -> ParityReport {
    let built = pushed(manifest_count, WHOLE).finish(context(manifest_count, WHOLE));
    built.expect("a report").report
}
