//! Builds a report, one fixture at a time.
//!
//! Memory grows with a fixture only by its row: its detections above the floor and what changed. A report
//! is never made of nothing: without a compared fixture, or with an output that has no finite element,
//! there is no report. A shard may be empty, because only the whole is an answer.

use std::collections::BTreeMap;

use super::layout::*;
use super::state::{MergeState, StateError};
use crate::domain::digest::{ContentHash, FixtureId, ManifestHash, TensorHash};
use crate::domain::escape::escape;
use crate::sighted::decision::decode::MAX_DETECTIONS;
use crate::sighted::decision::fold::{DecisionRules, FixtureFold, FoldError, OutputView};
use crate::sighted::decision::slot_match::SAME_OBJECT_IOU;
use crate::sighted::decision::sweep::{Sweep, detection_floor};
use crate::sighted::decision::tensor_delta::OutputTotals;
use crate::stats::quantile::{SKETCH_ERROR, of_values};

/// Which fixture is pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct FixtureSeen {
    /// Position in the whole manifest, from 0.
    pub position: u64,
    /// As the manifest writes it.
    pub path: String,
    /// Of the file's bytes.
    pub id: FixtureId,
    /// Of the input tensor.
    pub tensor: TensorHash,
}

/// What a report says beside what was pushed.
#[derive(Debug, Clone)]
pub(in crate::sighted) struct ReportContext {
    /// UTC, whole seconds, `+00:00`.
    pub generated_at: String,
    /// What was compared.
    pub artifacts: Sides<ArtifactEntry>,
    /// Where it ran.
    pub environment: Environment,
    /// The manifest's path, as typed.
    pub manifest: String,
    /// Of its bytes.
    pub manifest_hash: ManifestHash,
    /// Its entries, all of them.
    pub manifest_count: u64,
    /// `[1, 3, H, W]`
    pub input_shape: Vec<u64>,
    /// Of the recipe.
    pub normalization: Normalization,
    /// The resize in words.
    pub resize_note: String,
    /// Times of the `run` calls of this run, in milliseconds; a cached output has none.
    pub run_ms: Sides<Vec<f64>>,
    /// What these times mean.
    pub latency_note: String,
    /// `flipside <version>`
    pub product: String,
    /// Preprocessing.
    pub recipe: RecipeEntry,
    /// What ran the artifacts.
    pub runtime: RuntimeEntry,
    /// Leaf classes in logit order.
    pub classes: Vec<String>,
    /// The pass that measures time alone, when it ran.
    pub latency: Option<LatencyPass>,
    /// Which part of the manifest this is.
    pub shard: ShardEntry,
    /// Name of the file beside a shard's report that holds its merge state.
    pub state_file: String,
}

/// A finished report.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct BuiltReport {
    /// The report.
    pub report: ParityReport,
    /// Bytes of the companion file named in it: a shard's report has one, the whole has none.
    pub state: Option<Vec<u8>>,
}

/// Why there is no report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::sighted) enum BuildError {
    /// Outputs that cannot be compared or decoded.
    #[error("{0}")]
    Fold(#[from] FoldError),
    /// Outputs or slots that the first fixture did not have.
    #[error("expected {expected} as in the first fixture, found {found}")]
    Changed {
        /// Of the first fixture.
        expected: String,
        /// Of this one.
        found: String,
    },
    /// No fixture was compared.
    #[error("nothing was compared: {left_out} fixtures were left out{}", first_of(.first.as_ref()))]
    NothingCompared {
        /// Fixtures named but not compared.
        left_out: u64,
        /// The first of them, as the manifest writes it, and why.
        first: Option<(String, String)>,
    },
    /// An output without one element that is finite on both sides.
    #[error("output {output:?}: no element is finite on both sides")]
    NothingFinite {
        /// Its name.
        output: String,
    },
    /// A position outside the manifest, or one pushed twice.
    #[error("position {position}: {reason}")]
    Position {
        /// Counted from 0.
        position: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// Something in the context that contradicts the rest.
    #[error("{0}")]
    Context(String),
    /// A merge state that cannot be written.
    #[error("{0}")]
    State(#[from] StateError),
}

/// One fixture of the report to be.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) row: FixtureRow,
    /// Present when compared.
    pub(super) flips: Option<BTreeMap<String, u64>>,
    pub(super) items: Vec<Item>,
}

/// Collects fixtures.
#[derive(Debug, Clone)]
pub(in crate::sighted) struct ReportBuilder {
    rules: DecisionRules,
    pub(super) queries: Option<u64>,
    pub(super) entries: Vec<Entry>,
    pub(super) sweep: Sweep,
    pub(super) state: MergeState,
    pub(super) max_box_delta: f64,
    pub(super) noise: NoiseFloor,
}

fn first_of(first: Option<&(String, String)>) -> String {
    first.map_or_else(String::new, |(path, reason)| {
        format!(", the first is {}: {}", escape(path), escape(reason))
    })
}

impl ReportBuilder {
    /// Nothing pushed yet.
    ///
    /// # Errors
    /// A recommended threshold that no confidence can be compared with.
    pub(in crate::sighted) fn new(rules: DecisionRules) -> Result<Self, BuildError> {
        rules.check()?;
        Ok(Self {
            sweep: Sweep::new(rules.recommended),
            rules,
            queries: None,
            entries: Vec::new(),
            state: MergeState::default(),
            max_box_delta: 0.0,
            noise: NoiseFloor {
                fixtures: 0,
                max_abs_delta: BTreeMap::new(),
                threshold_flips: 0,
                class_flips: 0,
            },
        })
    }

    /// Adds a fixture from the outputs of both sides.
    ///
    /// # Errors
    /// Outputs that cannot be compared or decoded; nothing was added then.
    pub(in crate::sighted) fn push(
        &mut self,
        seen: FixtureSeen,
        a: &[OutputView<'_>],
        b: &[OutputView<'_>],
    ) -> Result<(), BuildError> {
        let fold = FixtureFold::of(&self.rules, &seen.id.to_hex(), a, b)?;
        self.push_fold(seen, fold)
    }

    /// Adds a fixture that was folded before.
    ///
    /// # Errors
    /// Other outputs or another number of slots than the first fixture; nothing was added then.
    pub(in crate::sighted) fn push_fold(
        &mut self,
        seen: FixtureSeen,
        fold: FixtureFold,
    ) -> Result<(), BuildError> {
        if let Some(expected) = self.queries.filter(|queries| *queries != fold.queries) {
            return Err(changed(format!("{expected} slots"), fold.queries.to_string()));
        }
        let names: Vec<&str> = fold.deltas.iter().map(|delta| delta.sums.name.as_str()).collect();
        if self.queries.is_none() {
            self.state.outputs = names.into_iter().map(OutputTotals::new).collect();
        } else if self
            .state
            .outputs
            .iter()
            .map(|output| output.sums.name.as_str())
            .ne(names.iter().copied())
        {
            let expected = self.state.outputs.iter().map(|output| &output.sums.name);
            let expected: Vec<_> = expected.collect();
            return Err(changed(format!("outputs {expected:?}"), format!("{names:?}")));
        }
        self.queries = Some(fold.queries);
        for (total, delta) in self.state.outputs.iter_mut().zip(&fold.deltas) {
            total.add(delta);
        }
        if let Some(delta) = fold.max_confidence_delta {
            self.state.confidence.add(delta);
        }
        self.max_box_delta = self.max_box_delta.max(fold.max_box_delta.unwrap_or_default());
        let flips = self.sweep.add(&fold.found);
        let row = FixtureRow {
            position: seen.position,
            path: seen.path,
            sha256: seen.id.to_hex(),
            tensor_sha256: Some(seen.tensor.to_hex()),
            status: FixtureStatus::Ok,
            reason: None,
            found: Some(fold.found),
        };
        self.entries.push(Entry { row, flips: Some(flips), items: fold.items });
        Ok(())
    }

    /// Names a fixture that could not be compared.
    pub(in crate::sighted) fn push_left_out(
        &mut self,
        position: u64,
        path: String,
        id: Option<FixtureId>,
        reason: String,
    ) {
        let row = FixtureRow {
            position,
            path,
            sha256: id.map(FixtureId::to_hex).unwrap_or_default(),
            tensor_sha256: None,
            status: FixtureStatus::LeftOut,
            reason: Some(reason),
            found: None,
        };
        self.entries.push(Entry { row, flips: None, items: Vec::new() });
    }

    /// Adds one fixture to the noise floor: the reference's outputs and those of running it again.
    ///
    /// # Errors
    /// Outputs that cannot be compared or decoded.
    pub(in crate::sighted) fn push_noise(
        &mut self,
        first: &[OutputView<'_>],
        again: &[OutputView<'_>],
    ) -> Result<(), BuildError> {
        let fold = FixtureFold::of(&self.rules, "", first, again)?;
        for delta in &fold.deltas {
            let largest = self.noise.max_abs_delta.entry(delta.sums.name.clone()).or_default();
            *largest = largest.max(delta.sums.max_abs);
        }
        let mut sweep = Sweep::new(self.rules.recommended);
        sweep.add(&fold.found);
        for row in sweep.threshold_rows().iter().filter(|row| row.is_recommended) {
            self.noise.threshold_flips += row.threshold_flips;
            self.noise.class_flips += row.class_argmax_flips;
        }
        self.noise.fixtures += 1;
        Ok(())
    }

    /// Fixtures pushed so far, left-out ones too.
    pub(in crate::sighted) fn fixtures(&self) -> usize {
        self.entries.len()
    }

    /// The fixture pushed last: its row, and what changed in it.
    pub(in crate::sighted) fn latest(&self) -> Option<(&FixtureRow, &[Item])> {
        self.entries.last().map(|entry| (&entry.row, entry.items.as_slice()))
    }

    /// Decisions of the fixtures pushed so far.
    pub(in crate::sighted) fn so_far(&self) -> &Sweep {
        &self.sweep
    }

    /// The report of everything pushed, in manifest order.
    ///
    /// # Errors
    /// Nothing to report on, positions that do not fit the manifest, or a context that contradicts itself.
    pub(in crate::sighted) fn finish(
        mut self,
        context: ReportContext,
    ) -> Result<BuiltReport, BuildError> {
        self.check(&context)?;
        self.entries.sort_by_key(|entry| entry.row.position);
        self.check_positions(context.manifest_count)?;
        let raw_outputs: Vec<OutputDelta> =
            self.state.outputs.iter_mut().map(OutputTotals::summarise).collect();
        self.state.run_ms = context.run_ms;
        let latency_ms = Latency {
            a: latency_side(&self.state.run_ms.a),
            b: latency_side(&self.state.run_ms.b),
            note: context.latency_note,
        };
        let whole = context.shard.of == 1;
        let state = if whole { None } else { Some(self.state.to_bytes()?) };
        let merge_state = state.as_ref().map(|bytes| MergeStateEntry {
            file: context.state_file,
            bytes: bytes.len() as u64,
            sha256: ContentHash::of(bytes).to_hex(),
        });
        let quantiles = quantiles_text(&self.state.outputs);
        let non_finite = self.state.outputs.iter();
        let non_finite =
            non_finite.map(|output| (output.sums.name.clone(), output.sums.non_finite)).collect();
        let decode = self.decode_summary();
        let (mut fixtures, mut per_image, mut items) = (Vec::new(), Vec::new(), Vec::new());
        for entry in self.entries {
            if let Some(flips) = entry.flips {
                per_image.push(PerImage { image: entry.row.path.clone(), flips });
            }
            items.extend(entry.items);
            fixtures.push(entry.row);
        }
        let report = ParityReport {
            schema_version: 2,
            generated_at: context.generated_at,
            artifacts: context.artifacts,
            environment: context.environment,
            fixtures: FixtureSet {
                count: per_image.len() as u64,
                input_shape: context.input_shape,
                manifest: context.manifest,
                manifest_sha256: context.manifest_hash.to_hex(),
                normalization: context.normalization,
                resize_note: context.resize_note,
            },
            raw_outputs,
            decode,
            latency_ms,
            per_image,
            flipside: Some(Extension {
                schema: 1,
                product: context.product,
                recipe: context.recipe,
                runtime: context.runtime,
                classes: context.classes,
                detection_floor: detection_floor(self.rules.recommended),
                manifest_count: context.manifest_count,
                fixtures,
                non_finite,
                set_matching: SetMatching {
                    iou: SAME_OBJECT_IOU,
                    by_threshold: self.sweep.set_rows(),
                },
                items,
                noise_floor: self.noise,
                latency: context.latency,
                shard: context.shard,
                quantiles,
                merge_state,
            }),
        };
        Ok(BuiltReport { report, state })
    }

    fn decode_summary(&self) -> DecodeSummary {
        DecodeSummary {
            conf_threshold_recommended: self.rules.recommended,
            max_detections: MAX_DETECTIONS as u64,
            class_count: self.rules.classes as u64,
            queries_per_image: self.queries.unwrap_or_default(),
            max_confidence_delta_any_query: self.state.confidence.max,
            mean_per_image_max_confidence_delta: self.state.confidence.mean(),
            max_box_coord_delta_any_query: self.max_box_delta,
            by_threshold: self.sweep.threshold_rows(),
        }
    }

    fn check(&self, context: &ReportContext) -> Result<(), BuildError> {
        let ShardEntry { index, of } = context.shard;
        if of == 0 || index == 0 || index > of {
            return Err(BuildError::Context(format!("there is no shard {index} of {of}")));
        }
        if context.classes.len() != self.rules.classes {
            let (expected, found) = (self.rules.classes, context.classes.len());
            let text = format!("expected the names of {expected} classes, found {found}");
            return Err(BuildError::Context(text));
        }
        let mut times = context.run_ms.a.iter().chain(&context.run_ms.b);
        if let Some(time) = times.find(|time| !(time.is_finite() && **time >= 0.0)) {
            return Err(BuildError::Context(format!("expected times from 0 on, found {time}")));
        }
        if of > 1 {
            return Ok(());
        }
        let compared = self.entries.iter().filter(|entry| entry.flips.is_some()).count();
        if compared == 0 {
            let first = self.entries.first().map(|entry| {
                (entry.row.path.clone(), entry.row.reason.clone().unwrap_or_default())
            });
            return Err(BuildError::NothingCompared { left_out: self.entries.len() as u64, first });
        }
        match self.state.outputs.iter().find(|output| output.sums.compared == 0) {
            Some(output) => Err(BuildError::NothingFinite { output: output.sums.name.clone() }),
            None => Ok(()),
        }
    }

    fn check_positions(&self, manifest_count: u64) -> Result<(), BuildError> {
        let mut before = None;
        for Entry { row, .. } in &self.entries {
            let position = row.position;
            let reason = if position >= manifest_count {
                format!("the manifest has {manifest_count} entries")
            } else if before == Some(position) {
                "it was pushed twice".to_owned()
            } else {
                before = Some(position);
                continue;
            };
            return Err(BuildError::Position { position, reason });
        }
        Ok(())
    }
}

fn changed(expected: String, found: String) -> BuildError {
    BuildError::Changed { expected, found }
}

fn latency_side(run_ms: &[f64]) -> LatencySide {
    let mut sorted = run_ms.to_vec();
    let mut at = |q: f64| of_values(&mut sorted, q).unwrap_or_default();
    LatencySide { p50: at(0.5), p95: at(0.95), n: run_ms.len() as u64 }
}

/// `exact`, or which quantiles are not and how far they may be off.
fn quantiles_text(outputs: &[OutputTotals]) -> String {
    let mut sketched = Vec::new();
    for output in outputs {
        for (stream, what) in [(&output.abs, "absolute"), (&output.rel, "relative")] {
            if !stream.is_exact() {
                sketched.push(format!("{} {what}", output.sums.name));
            }
        }
    }
    if sketched.is_empty() {
        return "exact".to_owned();
    }
    let percent = SKETCH_ERROR * 100.0;
    format!("within {percent} % of their value: {}; all others exact", sketched.join(", "))
}
