//! The parity report: layout of schema 2, and our additions under `flipside`.
//!
//! Old readers ignore the additions. Everything that review, scores, threshold and export need is in
//! this one file, so evidence is named by one hash: beside the totals it holds, per fixture, every
//! detection above [`Extension::detection_floor`] and the best confidence whatever its height.
//!
//! Types only. Every count of [`ThresholdRow`], [`SetRow`] and [`PerImage`] and every [`Item`] follows
//! from the detections listed in [`FixtureRow::found`]; `check` holds a report to that.

use serde::{Deserialize, Serialize};

/// One value for each side of a comparison; `a` is the reference.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::sighted) struct Sides<T> {
    /// The reference.
    pub a: T,
    /// The candidate.
    pub b: T,
}

/// A parity report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::sighted) struct ParityReport {
    /// Always 2.
    pub schema_version: u32,
    /// UTC, whole seconds, `+00:00`.
    pub generated_at: String,
    /// What was compared.
    pub artifacts: Sides<ArtifactEntry>,
    /// Where it ran.
    pub environment: Environment,
    /// On what it ran.
    pub fixtures: FixtureSet,
    /// One per graph output, in the reference's order.
    pub raw_outputs: Vec<OutputDelta>,
    /// What the outputs decide, by slot.
    pub decode: DecodeSummary,
    /// Times of the `run` calls alone.
    pub latency_ms: Latency,
    /// One per fixture that was compared, in manifest order.
    pub per_image: Vec<PerImage>,
    /// Our additions; absent in reports of other tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flipside: Option<Extension>,
}

/// One artifact of a report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::sighted) struct ArtifactEntry {
    /// As typed.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// 64 hex digits.
    pub sha256: String,
}

/// Circumstances, in the words of schema 2.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::sighted) struct Environment {
    /// Operating system and version.
    pub platform: String,
    /// Processor architecture.
    pub machine: String,
    /// Version of the interpreter that ran the harness; ours names the product.
    pub python: String,
    /// Version of the runtime.
    pub onnxruntime: String,
    /// Providers of the reference's runner.
    pub execution_providers: Vec<String>,
    /// For people.
    pub note: String,
}

/// The fixture set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::sighted) struct FixtureSet {
    /// Fixtures compared.
    pub count: u64,
    /// `[1, 3, H, W]`
    pub input_shape: Vec<u64>,
    /// As typed.
    pub manifest: String,
    /// 64 hex digits.
    pub manifest_sha256: String,
    /// Channel mean and deviation.
    pub normalization: Normalization,
    /// The resize in words.
    pub resize_note: String,
}

/// Channel statistics of the recipe, RGB.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::sighted) struct Normalization {
    /// Means.
    pub mean: [f64; 3],
    /// Deviations.
    pub std: [f64; 3],
}

/// How far one output moved, element by element.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::sighted) struct OutputDelta {
    pub name: String,
    pub elements_compared: u64,
    pub max_abs_delta: f64,
    pub mean_abs_delta: f64,
    pub median_abs_delta: f64,
    pub p95_abs_delta: f64,
    pub p99_abs_delta: f64,
    pub p999_abs_delta: f64,
    pub max_rel_delta: f64,
    pub mean_rel_delta: f64,
    pub p99_rel_delta: f64,
    pub rel_floor: f64,
    pub rel_elements_compared: u64,
    pub rel_elements_skipped_below_floor: u64,
    pub per_image_max_abs_delta: MaxMeanMin,
    pub exceedance: Vec<Exceedance>,
}

/// Spread of one value over fixtures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(in crate::sighted) struct MaxMeanMin {
    pub max: f64,
    pub mean: f64,
    pub min: f64,
}

/// How many elements exceed one tolerance pair, by five rules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::sighted) struct Exceedance {
    pub atol: f64,
    pub rtol: f64,
    pub abs_only: CountFraction,
    pub rel_only: CountFraction,
    pub combined_isclose: CountFraction,
    pub and: CountFraction,
    pub or: CountFraction,
}

/// A count and its share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::sighted) struct CountFraction {
    pub count: u64,
    pub fraction: f64,
}

/// Decisions, slot by slot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::sighted) struct DecodeSummary {
    pub conf_threshold_recommended: f64,
    pub max_detections: u64,
    pub class_count: u64,
    pub queries_per_image: u64,
    pub max_confidence_delta_any_query: f64,
    pub mean_per_image_max_confidence_delta: f64,
    pub max_box_coord_delta_any_query: f64,
    pub by_threshold: Vec<ThresholdRow>,
}

/// Decisions at one threshold, slot by slot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::sighted) struct ThresholdRow {
    pub threshold: f64,
    pub is_recommended: bool,
    pub detections_a: u64,
    pub detections_b: u64,
    pub threshold_flips: u64,
    pub flips_a_only: u64,
    pub flips_b_only: u64,
    pub class_argmax_flips: u64,
    pub images_with_any_flip: u64,
    #[serde(rename = "imagesWhereTopKTruncationBinds")]
    pub images_where_top_k_truncation_binds: u64,
}

/// Times of the `run` calls, in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::sighted) struct Latency {
    pub a: LatencySide,
    pub b: LatencySide,
    pub note: String,
}

/// Times of one side, in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::sighted) struct LatencySide {
    pub p50: f64,
    pub p95: f64,
    pub n: u64,
}

/// Threshold flips of one fixture, keyed by the threshold as Python prints it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::sighted) struct PerImage {
    pub image: String,
    pub flips: std::collections::BTreeMap<String, u64>,
}

/// Our additions to schema 2.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::sighted) struct Extension {
    /// Always 1.
    pub schema: u32,
    /// `flipside <version>`
    pub product: String,
    /// Preprocessing.
    pub recipe: RecipeEntry,
    /// What ran the artifacts.
    pub runtime: RuntimeEntry,
    /// Leaf classes in logit order.
    pub classes: Vec<String>,
    /// Detections at or above this confidence are listed below.
    pub detection_floor: f64,
    /// Entries of the whole manifest, of which a shard covers a part.
    pub manifest_count: u64,
    /// Every fixture of the manifest (or shard), in manifest order, left-out ones too.
    pub fixtures: Vec<FixtureRow>,
    /// NaN and infinite values, by output name.
    pub non_finite: std::collections::BTreeMap<String, Sides<u64>>,
    /// Decisions as sets.
    pub set_matching: SetMatching,
    /// What changed at the recommended threshold, in manifest order, then slot order.
    pub items: Vec<Item>,
    /// The reference against itself.
    pub noise_floor: NoiseFloor,
    /// Times measured in a pass of their own; absent when that pass did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencyPass>,
    /// Which part of the manifest this is.
    pub shard: ShardEntry,
    /// `exact`, or the stated error of the quantiles.
    pub quantiles: String,
    /// The companion file that makes a shard's report mergeable; absent when the shard is the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_state: Option<MergeStateEntry>,
}

/// The preprocessing recipe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::sighted) struct RecipeEntry {
    pub name: String,
    pub sha256: String,
}

/// The runtime and its options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::sighted) struct RuntimeEntry {
    pub name: String,
    pub version: String,
    pub provider: String,
    pub intra_op_threads: u32,
    pub optimisation: String,
    pub cpu_features: Vec<String>,
}

/// One fixture of a report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::sighted) struct FixtureRow {
    /// Position in the whole manifest, from 0.
    pub position: u64,
    /// As the manifest writes it.
    pub path: String,
    /// Of the file's bytes: the fixture's id. Empty when the file could not be read.
    pub sha256: String,
    /// Of the input tensor; absent when left out.
    pub tensor_sha256: Option<String>,
    /// `ok` or `left-out`
    pub status: FixtureStatus,
    /// Why it was left out.
    pub reason: Option<String>,
    /// What each side found; absent when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Sides<SideFound>>,
}

/// Whether a fixture took part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::sighted) enum FixtureStatus {
    /// Compared.
    Ok,
    /// Named, counted, not compared.
    LeftOut,
}

/// What one side found in one fixture.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::sighted) struct SideFound {
    /// Highest finite confidence of any slot, whatever its height; absent when no slot was finite.
    pub best: Option<f64>,
    /// Slots that hold a NaN or infinity, so say nothing.
    #[serde(default)]
    pub non_finite_slots: u64,
    /// Detections at or above the floor, in slot order.
    pub detections: Vec<DetectionRow>,
}

/// One detection: which slot, what, how sure, where.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(in crate::sighted) struct DetectionRow {
    pub slot: u32,
    /// Index into [`Extension::classes`].
    #[serde(rename = "class")]
    pub class_index: u32,
    pub confidence: f64,
    /// `[x0, y0, x1, y1]` in 0..=1 of the picture as stored (not turned upright).
    #[serde(rename = "box")]
    pub corners: [f64; 4],
}

/// Decisions as sets: see `decision::slot_match`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::sighted) struct SetMatching {
    pub iou: f64,
    pub by_threshold: Vec<SetRow>,
}

/// Set changes at one threshold. A pair counts once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::sighted) struct SetRow {
    pub threshold: f64,
    pub stayed: u64,
    pub moved_slots: u64,
    pub relabelled: u64,
    pub vanished: u64,
    pub appeared: u64,
    pub moved_slot_flips: u64,
    pub real_flips: u64,
    /// Images in which anything vanished, appeared or was relabelled; moving alone changes nothing.
    pub images_changed: u64,
    /// Images that went from no detection to some, or back.
    pub images_presence_changed: u64,
    /// Vanished or appeared detections whose best match on the other side (same class, IoU ≥ 0.5)
    /// lies less than 0.05 below the threshold.
    #[serde(default)]
    pub near_threshold: u64,
    /// Vanished or appeared detections that the other side still has at or above the threshold: a
    /// duplicate went or came.
    #[serde(default)]
    pub still_found: u64,
    /// Detections of both sides by their distance above the threshold.
    #[serde(default)]
    pub churn: Vec<ChurnRow>,
}

/// How many detections at most this far above the threshold, and farther than the row before, changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::sighted) struct ChurnRow {
    pub within: f64,
    /// Detections of both sides.
    pub detections: u64,
    /// Of those, vanished, appeared or relabelled.
    pub changed: u64,
}

/// One changed decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::sighted) struct Item {
    /// Fixture id, 64 hex digits.
    pub fixture: String,
    /// Slot of the reference's detection, or of the candidate's when it stands alone.
    pub slot: u32,
    pub kind: ItemKind,
    /// The reference's detection, when this item has one.
    pub a: Option<DetectionRow>,
    /// The candidate's detection, when this item has one.
    pub b: Option<DetectionRow>,
    /// What the reference has of the candidate's unmatched detection: its most confident query of the
    /// same class with IoU ≥ 0.5, however low.
    #[serde(default, rename = "elsewhereA", skip_serializing_if = "Option::is_none")]
    pub elsewhere_a: Option<DetectionRow>,
    /// What the candidate has of the reference's unmatched detection.
    #[serde(default, rename = "elsewhereB", skip_serializing_if = "Option::is_none")]
    pub elsewhere_b: Option<DetectionRow>,
}

/// What became of a decision. Each change is one item: a pair once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::sighted) enum ItemKind {
    /// Only the reference has it.
    Vanished,
    /// Only the candidate has it.
    Appeared,
    /// Both have it, as another class; the slots may differ too.
    Relabelled,
    /// Both have it, in another slot. Nothing changed for the user.
    MovedSlot,
    /// One slot, two different objects, neither of which the other side has: one vanished, one appeared.
    Replaced,
}

/// The reference compared with itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::sighted) struct NoiseFloor {
    /// Fixtures run twice.
    pub fixtures: u64,
    /// Largest difference per output name.
    pub max_abs_delta: std::collections::BTreeMap<String, f64>,
    /// Slot flips at the recommended threshold.
    pub threshold_flips: u64,
    /// Class flips at the recommended threshold.
    pub class_flips: u64,
}

/// Latency, measured with nothing else running, the sides alternating.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::sighted) struct LatencyPass {
    /// Pairs of runs.
    pub rounds: u64,
    /// Median of candidate / reference within a round.
    pub ratio_p50: f64,
    /// 95 % interval of that median.
    pub interval: [f64; 2],
}

/// The companion file of a shard's report: what sums and quantiles need to be joined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::sighted) struct MergeStateEntry {
    /// Name of the file, in the report's folder.
    pub file: String,
    /// Size in bytes.
    pub bytes: u64,
    /// 64 hex digits.
    pub sha256: String,
}

/// Part `index` of `of`, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::sighted) struct ShardEntry {
    pub index: u32,
    pub of: u32,
}
