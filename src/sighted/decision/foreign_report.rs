//! Reports of other tools, read only. One so far: a TensorRT engine against an ONNX graph, schema 1.
//!
//! Such a report says less: its fixture set is not pinned by a hash, its two latencies are different
//! measurements, and it lists neither classes nor detections.

use serde::{Deserialize, Serialize};

use super::report::{OutputDelta, PerImage, Sides, ThresholdRow};

/// A TensorRT report of schema 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::sighted) struct ForeignReport {
    /// Always 1.
    pub schema_version: u32,
    /// UTC, whole seconds, `+00:00`.
    pub generated_at: String,
    /// What was compared, in words.
    pub comparison: String,
    /// What was compared.
    pub artifacts: Sides<ForeignArtifact>,
    /// Where it ran.
    pub environment: ForeignEnvironment,
    /// On what it ran; not pinned by a hash.
    pub fixtures: ForeignFixtures,
    /// As in schema 2.
    pub raw_outputs: Vec<OutputDelta>,
    /// What the outputs decide, by slot.
    pub decode: ForeignDecode,
    /// Two different measurements.
    pub latency_ms: ForeignLatency,
    /// As in schema 2.
    pub per_image: Vec<PerImage>,
}

/// One side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::sighted) struct ForeignArtifact {
    /// `onnx` or `tensorrt-engine`
    pub role: String,
    /// As typed.
    pub path: String,
    /// 64 hex digits.
    pub sha256: String,
    /// Size in bytes.
    pub bytes: u64,
}

/// Circumstances.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::sighted) struct ForeignEnvironment {
    /// Operating system and version.
    pub platform: String,
    /// Processor architecture.
    pub machine: String,
    /// Version of the interpreter.
    pub python: String,
    /// Version of ONNX Runtime, which ran side A.
    pub onnxruntime: String,
    /// Its providers.
    pub onnxruntime_providers: Vec<String>,
    /// Version of TensorRT, which ran side B.
    pub tensorrt: String,
    /// For people.
    pub note: String,
}

/// Fixtures by count and first path alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::sighted) struct ForeignFixtures {
    /// How many.
    pub count: u64,
    /// Path of the first.
    pub first: String,
}

/// Decisions by slot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::sighted) struct ForeignDecode {
    /// Recommended threshold.
    pub conf_threshold_recommended: f64,
    /// The serving path's cap.
    pub max_detections: u64,
    /// Largest change of confidence in one slot.
    pub max_abs_confidence_delta: f64,
    /// Its mean over images.
    pub mean_per_image_max_abs_confidence_delta: f64,
    /// Largest change of a corner in one slot.
    pub max_abs_box_delta: f64,
    /// One for each threshold.
    pub thresholds: Vec<ForeignThreshold>,
}

/// Decisions at one threshold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::sighted) struct ForeignThreshold {
    /// The threshold.
    pub threshold: f64,
    /// Slots of the graph that survive.
    pub detections_a: u64,
    /// Slots of the engine that survive.
    pub detections_b: u64,
    /// Sum of the next two.
    pub threshold_flips: u64,
    /// Survive in the graph only.
    pub flips_a_only: u64,
    /// Survive in the engine only.
    pub flips_b_only: u64,
    /// Survive in both, as different classes.
    pub class_flips: u64,
    /// Images with a threshold flip.
    pub images_affected: u64,
    /// Images in which the cap binds.
    pub top_k_truncation_hits: u64,
}

/// Two different measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::sighted) struct ForeignLatency {
    /// Wall time of `run`.
    pub onnx_runtime: ForeignLatencySide,
    /// Device time without copies.
    pub tensorrt_execute: ForeignLatencySide,
}

/// Times in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::sighted) struct ForeignLatencySide {
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// Smallest.
    pub min: f64,
    /// Runs.
    pub n: u64,
}

impl ForeignReport {
    /// Its decisions in the rows of schema 2.
    pub(in crate::sighted) fn threshold_rows(&self) -> Vec<ThresholdRow> {
        let row = |row: &ForeignThreshold| ThresholdRow {
            threshold: row.threshold,
            is_recommended: row.threshold == self.decode.conf_threshold_recommended,
            detections_a: row.detections_a,
            detections_b: row.detections_b,
            threshold_flips: row.threshold_flips,
            flips_a_only: row.flips_a_only,
            flips_b_only: row.flips_b_only,
            class_argmax_flips: row.class_flips,
            images_with_any_flip: row.images_affected,
            images_where_top_k_truncation_binds: row.top_k_truncation_hits,
        };
        self.decode.thresholds.iter().map(row).collect()
    }

    /// What this report cannot say, for people.
    pub(in crate::sighted) fn limits(&self) -> [&'static str; 3] {
        [
            "fixtures are not pinned by a hash",
            "the two latencies are different measurements and not comparable",
            "no detections are listed, so decisions cannot be set-matched",
        ]
    }
}
