//! The one gate on a report: no regression against a stored one, within a margin.
//!
//! It fails closed. A baseline of other fixtures, another recipe, another reference or swapped sides is
//! refused, because a comparison with it answers nothing. A missing output, a report without a single
//! detection and new non-finite values fail. The candidate may differ: that is what is gated.

use super::layout::*;

/// One thing that got worse.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub(in crate::sighted) struct Regression {
    /// Path of the number.
    pub what: String,
    /// In the baseline.
    pub old: f64,
    /// Now; absent when it is not there at all.
    pub new: Option<f64>,
    /// The largest that would have passed.
    pub limit: f64,
}

/// What the comparison found.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub(in crate::sighted) struct GateOutcome {
    /// Numbers compared.
    pub compared: u64,
    /// Those that got worse.
    pub regressions: Vec<Regression>,
    /// What was not compared, and why.
    pub remarks: Vec<String>,
}

/// Why a baseline cannot be compared with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::sighted) enum BaselineError {
    /// Not a share.
    #[error("expected a margin from 0 on, found {found}")]
    Margin {
        /// As text: it may be NaN.
        found: String,
    },
    /// Another comparison.
    #[error("the baseline has another {what}: expected {expected}, found {found} in it")]
    Differs {
        /// What differs.
        what: &'static str,
        /// In the new report.
        expected: String,
        /// In the baseline.
        found: String,
    },
    /// A part of the fixtures.
    #[error("{which} is the report of shard {index} of {of}: join the shards first")]
    Shard {
        /// Which report.
        which: &'static str,
        /// Counted from 1.
        index: u32,
        /// Number of shards.
        of: u32,
    },
}

impl GateOutcome {
    /// Whether something was compared and nothing got worse.
    pub(in crate::sighted) fn passed(&self) -> bool {
        self.compared > 0 && self.regressions.is_empty()
    }
}

/// Compares a new report with a stored one.
///
/// # Errors
/// A margin that is not a number from 0 on, or a baseline of another comparison.
pub(in crate::sighted) fn compare(
    report: &ParityReport,
    baseline: &ParityReport,
    margin: f64,
) -> Result<GateOutcome, BaselineError> {
    if !(margin.is_finite() && margin >= 0.0) {
        return Err(BaselineError::Margin { found: margin.to_string() });
    }
    let mut outcome = GateOutcome::default();
    check_same_comparison(report, baseline, &mut outcome)?;
    compare_outputs(report, baseline, margin, &mut outcome);
    compare_decisions(report, baseline, margin, &mut outcome);
    compare_non_finite(report, baseline, &mut outcome);
    Ok(outcome)
}

fn check_same_comparison(
    report: &ParityReport,
    baseline: &ParityReport,
    outcome: &mut GateOutcome,
) -> Result<(), BaselineError> {
    let (new, old) = (&report.fixtures, &baseline.fixtures);
    let (new_decode, old_decode) = (&report.decode, &baseline.decode);
    same("fixture manifest", &new.manifest_sha256, &old.manifest_sha256)?;
    same("number of fixtures", new.count, old.count)?;
    let images = |report: &ParityReport| -> Vec<String> {
        report.per_image.iter().map(|image| image.image.clone()).collect()
    };
    let other = images(report).into_iter().zip(images(baseline)).find(|(one, two)| one != two);
    if let Some((expected, found)) = other {
        return differs("fixture", format!("{expected:?}"), format!("{found:?}"));
    }
    same("input shape", format!("{:?}", new.input_shape), format!("{:?}", old.input_shape))?;
    let normalization = |set: &FixtureSet| format!("{:?}", set.normalization);
    same("normalisation", normalization(new), normalization(old))?;
    let (ours, theirs) = (&report.artifacts, &baseline.artifacts);
    let swapped = ours.a.sha256 == theirs.b.sha256 && ours.b.sha256 == theirs.a.sha256;
    if swapped && ours.a.sha256 != ours.b.sha256 {
        return differs("order of sides", ours.a.sha256.clone(), theirs.a.sha256.clone());
    }
    same("reference", &ours.a.sha256, &theirs.a.sha256)?;
    same("number of classes", new_decode.class_count, old_decode.class_count)?;
    same("number of slots", new_decode.queries_per_image, old_decode.queries_per_image)?;
    let recommended = |decode: &DecodeSummary| decode.conf_threshold_recommended.to_string();
    same("recommended threshold", recommended(new_decode), recommended(old_decode))?;
    if ours.b.sha256 != theirs.b.sha256 {
        outcome.remarks.push("the candidate is another file than the baseline's".to_owned());
    }
    match (&report.flipside, &baseline.flipside) {
        (Some(new), Some(old)) => check_same_circumstances(new, old, outcome),
        (one, two) => {
            for (which, extension) in [("the report", one), ("the baseline", two)] {
                if let Some(extension) = extension {
                    whole(which, extension)?;
                } else {
                    let text = format!(
                        "{which} names no recipe, no fixture hashes and no set changes: only input \
                         shape, normalisation, manifest and slot numbers were compared"
                    );
                    outcome.remarks.push(text);
                }
            }
            Ok(())
        }
    }
}

fn check_same_circumstances(
    new: &Extension,
    old: &Extension,
    outcome: &mut GateOutcome,
) -> Result<(), BaselineError> {
    whole("the report", new)?;
    whole("the baseline", old)?;
    same("recipe", &new.recipe.sha256, &old.recipe.sha256)?;
    let classes = |extension: &Extension| format!("{:?}", extension.classes);
    same("list of classes", classes(new), classes(old))?;
    let compared = |extension: &Extension| -> Vec<FixtureRow> {
        let rows = extension.fixtures.iter();
        rows.filter(|row| row.status == FixtureStatus::Ok).cloned().collect()
    };
    for (new, old) in compared(new).iter().zip(compared(old)) {
        same("fixture", &new.sha256, &old.sha256)?;
        let tensor = |row: &FixtureRow| row.tensor_sha256.clone().unwrap_or_default();
        if tensor(new) != tensor(&old) {
            let which = format!("input tensor of {:?}", new.path);
            outcome.remarks.push(format!("{which}: another than in the baseline"));
        }
    }
    if new.runtime != old.runtime {
        let text = |runtime: &RuntimeEntry| {
            format!(
                "{} {}, {}, {} threads, {}",
                runtime.name,
                runtime.version,
                runtime.provider,
                runtime.intra_op_threads,
                runtime.optimisation
            )
        };
        let (new, old) = (text(&new.runtime), text(&old.runtime));
        let same = if new == old { " on another processor" } else { "" };
        outcome.remarks.push(format!("runtime {new}{same}; the baseline's was {old}"));
    }
    Ok(())
}

fn whole(which: &'static str, extension: &Extension) -> Result<(), BaselineError> {
    let ShardEntry { index, of } = extension.shard;
    if of > 1 { Err(BaselineError::Shard { which, index, of }) } else { Ok(()) }
}

fn same<T: PartialEq + std::fmt::Display>(
    what: &'static str,
    expected: T,
    found: T,
) -> Result<(), BaselineError> {
    if expected == found { Ok(()) } else { differs(what, expected.to_string(), found.to_string()) }
}

fn differs(what: &'static str, expected: String, found: String) -> Result<(), BaselineError> {
    Err(BaselineError::Differs { what, expected, found })
}

/// A number of a row, by the name it has in a report.
type Key<Row, Number> = (&'static str, fn(&Row) -> Number);

/// Raw differences: worse past `old * (1 + margin) + 1e-12`.
fn compare_outputs(
    report: &ParityReport,
    baseline: &ParityReport,
    margin: f64,
    outcome: &mut GateOutcome,
) {
    for old in &baseline.raw_outputs {
        let new = report.raw_outputs.iter().find(|output| output.name == old.name);
        let new = new.filter(|output| output.elements_compared > 0);
        let keys: [Key<OutputDelta, f64>; 3] = [
            ("maxAbsDelta", |output| output.max_abs_delta),
            ("meanAbsDelta", |output| output.mean_abs_delta),
            ("p99AbsDelta", |output| output.p99_abs_delta),
        ];
        for (key, value) in keys {
            let limit = value(old) * (1.0 + margin) + 1e-12;
            let what = format!("rawOutputs.{}.{key}", old.name);
            outcome.hold(what, value(old), new.map(value), limit);
        }
    }
    for new in &report.raw_outputs {
        if !baseline.raw_outputs.iter().any(|old| old.name == new.name) {
            outcome.fail(format!("rawOutputs.{} is not in the baseline", new.name));
        }
    }
}

/// Counts: worse past `int(old * (1 + margin)) + 1`.
fn compare_decisions(
    report: &ParityReport,
    baseline: &ParityReport,
    margin: f64,
    outcome: &mut GateOutcome,
) {
    for old in &baseline.decode.by_threshold {
        let rows = &report.decode.by_threshold;
        let new = rows.iter().find(|row| row.threshold == old.threshold);
        let keys: [Key<ThresholdRow, u64>; 2] = [
            ("thresholdFlips", |row| row.threshold_flips),
            ("classArgmaxFlips", |row| row.class_argmax_flips),
        ];
        for (key, value) in keys {
            let what = format!("decode.byThreshold.{}.{key}", old.threshold);
            let limit = (value(old) as f64 * (1.0 + margin)).floor() + 1.0;
            outcome.hold(what, value(old) as f64, new.map(|row| value(row) as f64), limit);
        }
    }
    for new in &report.decode.by_threshold {
        if !baseline.decode.by_threshold.iter().any(|old| old.threshold == new.threshold) {
            let text = format!("threshold {} is not in the baseline: not compared", new.threshold);
            outcome.remarks.push(text);
        }
    }
    let mut rows = report.decode.by_threshold.iter();
    if rows.all(|row| row.detections_a == 0 && row.detections_b == 0) {
        outcome.fail("neither side detects anything at any threshold".to_owned());
    }
}

/// NaN and infinity never pass as small differences.
fn compare_non_finite(report: &ParityReport, baseline: &ParityReport, outcome: &mut GateOutcome) {
    let Some(new) = &report.flipside else { return };
    for (name, new) in &new.non_finite {
        let old = baseline.flipside.as_ref().and_then(|old| old.non_finite.get(name));
        let old = old.copied().unwrap_or_default();
        for (side, old, new) in [("a", old.a, new.a), ("b", old.b, new.b)] {
            let what = format!("flipside.nonFinite.{name}.{side}");
            outcome.hold(what, old as f64, Some(new as f64), old as f64);
        }
    }
}

impl GateOutcome {
    fn hold(&mut self, what: String, old: f64, new: Option<f64>, limit: f64) {
        self.compared += 1;
        if !new.is_some_and(|new| new <= limit) {
            self.regressions.push(Regression { what, old, new, limit });
        }
    }

    fn fail(&mut self, what: String) {
        self.regressions.push(Regression { what, old: 0.0, new: None, limit: 0.0 });
    }
}
