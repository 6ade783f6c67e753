//! What a document about evidence says. Values only; texts in here are raw and escaped by the writers.

/// One value a side: reference, candidate.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(in crate::sighted) struct Pair<T> {
    /// The reference.
    pub a: T,
    /// The candidate.
    pub b: T,
}

/// Everything a document says.
#[derive(Debug, Clone, Default)]
pub(in crate::sighted) struct Dossier {
    /// What it is about, in a few words.
    pub title: String,
    /// When the evidence was made, as it says itself.
    pub generated_at: String,
    /// The operating point of everything that has one.
    pub operating_point: f64,
    /// The two artifacts.
    pub artifacts: Pair<ArtifactLine>,
    /// What the evidence licenses, sentence by sentence.
    pub sentences: Vec<String>,
    /// What stands in the way of reading more into it.
    pub warnings: Vec<String>,
    /// Counts at every threshold.
    pub thresholds: Vec<ThresholdLine>,
    /// Rates against threshold; empty without labels.
    pub curves: Vec<Curve>,
    /// Rates at the operating point; empty without labels.
    pub rates: Vec<RateLine>,
    /// Categories at the operating point.
    pub categories: Vec<CategoryLine>,
    /// Pictures in which exactly one side finds something.
    pub differing: Vec<DifferingLine>,
    /// What changed, one card each.
    pub changes: Vec<Change>,
    /// Changes not shown as cards, when there are too many.
    pub changes_left_out: usize,
    /// How far the labels go.
    pub coverage: Vec<Fact>,
    /// How far raters agree.
    pub agreement: Vec<Fact>,
    /// How far outputs moved.
    pub outputs: Vec<OutputLine>,
    /// Circumstances of the run.
    pub circumstances: Vec<Fact>,
    /// The record, when there is one.
    pub record: Vec<Fact>,
    /// Decisions on the record, the standing one first.
    pub signoffs: Vec<SignOffBlock>,
    /// Fixtures and labels that take no part, with the reason.
    pub left_out: Vec<Fact>,
    /// Every file this is made from, by hash.
    pub evidence: Vec<Fact>,
}

/// A name and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct Fact {
    /// Name.
    pub name: String,
    /// Value.
    pub value: String,
}

impl Fact {
    /// A fact.
    pub(in crate::sighted) fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

/// One artifact.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::sighted) struct ArtifactLine {
    /// File name.
    pub name: String,
    /// Size.
    pub bytes: u64,
    /// 64 hex digits.
    pub sha256: String,
}

/// Counts at one threshold.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::sighted) struct ThresholdLine {
    /// The threshold.
    pub threshold: f64,
    /// Whether it is the operating point.
    pub in_force: bool,
    /// Detections a side.
    pub detections: Pair<u64>,
    /// Threshold flips by slot: only the reference, only the candidate.
    pub flips: Pair<u64>,
    /// Class flips by slot.
    pub class_flips: u64,
    /// Images with a threshold flip by slot.
    pub images_with_flip: u64,
    /// The same decisions compared as sets; other tools' reports have none.
    pub sets: Option<SetLine>,
}

/// Set changes at one threshold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::sighted) struct SetLine {
    /// Slot flips that no moved slot explains.
    pub real_flips: u64,
    /// Detections found in another slot.
    pub moved: u64,
    /// Detections with another class.
    pub relabelled: u64,
    /// Detections only the reference has.
    pub vanished: u64,
    /// Detections only the candidate has.
    pub appeared: u64,
    /// Images with any set change.
    pub images_changed: u64,
    /// Images that went from nothing to something, or back.
    pub images_presence_changed: u64,
}

/// One rate against the threshold.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Curve {
    /// What it is the rate of.
    pub name: String,
    /// Images in the denominator.
    pub n: u64,
    /// By threshold, ascending.
    pub points: Vec<CurvePoint>,
}

/// A rate at one threshold; shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::sighted) struct CurvePoint {
    /// The threshold.
    pub threshold: f64,
    /// The rate a side.
    pub rate: Pair<f64>,
    /// Its interval a side, when there is one.
    pub band: Option<Pair<[f64; 2]>>,
}

/// One rate at the operating point, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct RateLine {
    /// Which images.
    pub subset: String,
    /// Which rate.
    pub measure: String,
    /// `82/156 52.6 % (44.8–60.2)` a side.
    pub sides: [String; 2],
    /// Images only one side hits: reference, candidate.
    pub discordant: [u64; 2],
    /// Candidate − reference with its interval, or why there is none.
    pub difference: String,
    /// Exact test, or why there is none.
    pub test: String,
    /// How far the labels behind it are known to be blind.
    pub blind: String,
}

/// One category, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct CategoryLine {
    /// Its name.
    pub name: String,
    /// A side.
    pub sides: [String; 2],
    /// Pairs left out as unsure.
    pub unsure: u64,
    /// How much the number carries: `ok`, `wide`, `too few`, `unmeasured`.
    pub verdict: String,
    /// How far the labels behind it are known to be blind.
    pub blind: String,
}

/// A picture in which exactly one side finds something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct DifferingLine {
    /// As the manifest writes it.
    pub path: String,
    /// What people say.
    pub truth: String,
    /// Who finds something: `reference` or `candidate`.
    pub found_by: String,
    /// Best confidence a side.
    pub best: [String; 2],
}

/// One changed decision.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Change {
    /// Kind, in a word.
    pub kind: String,
    /// As the manifest writes it.
    pub path: String,
    /// Fixture id, 64 hex digits.
    pub fixture: String,
    /// What each side has.
    pub sides: Pair<Option<Found>>,
    /// What a side has of it below the threshold or in another slot.
    pub elsewhere: Pair<Option<Found>>,
    /// The picture around it, when it could be read.
    pub crop: Option<Crop>,
    /// Why there is no picture.
    pub no_crop: String,
    /// What reviewers said, in words.
    pub verdicts: Vec<String>,
}

/// One detection.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Found {
    /// Name of its class.
    pub class: String,
    /// Its confidence.
    pub confidence: f64,
    /// Its slot.
    pub slot: u32,
}

/// A part of a picture, with the boxes in its own pixels.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Crop {
    /// JPEG.
    pub jpeg: Vec<u8>,
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// `[x0, y0, x1, y1]` in pixels of the crop, a side.
    pub boxes: Pair<Option<[f64; 4]>>,
    /// The side's box is of a detection that does not count there: below the threshold, or a duplicate.
    pub faint: Pair<bool>,
}

/// One sign-off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct SignOffBlock {
    /// `accept`, `reject` or `defer`.
    pub decision: String,
    /// Whether no later one takes its place.
    pub standing: bool,
    /// Who, when, why, limits, evidence.
    pub facts: Vec<Fact>,
    /// What it licenses.
    pub licenses: Vec<String>,
    /// What it does not.
    pub does_not_license: Vec<String>,
}

/// How far one output moved.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct OutputLine {
    /// Its name in the graph.
    pub name: String,
    /// Values compared.
    pub elements: u64,
    /// Largest absolute difference.
    pub max: f64,
    /// Mean absolute difference.
    pub mean: f64,
    /// 99th percentile of absolute differences.
    pub p99: f64,
    /// Values that are not finite, a side.
    pub non_finite: Pair<u64>,
}
