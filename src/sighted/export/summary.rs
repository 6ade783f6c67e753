//! What a parity report says, in the lines people read first, and the same for programs.
//!
//! Slot numbers are called slot numbers; what was matched as sets is called decisions. Nothing is called
//! good or bad.

use serde::Serialize;

use super::class_order;
use crate::domain::escape::escape;
use crate::sighted::decision::report::{
    Extension, FixtureStatus, ParityReport, SetRow, ThresholdRow,
};

/// Longest list of fixtures that were left out; more are counted.
const MOST_LEFT_OUT: usize = 10;

/// The numbers of a report at its recommended threshold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(in crate::sighted) struct Summary {
    /// The sentence about counts and decisions.
    pub sentence: String,
    /// Operating point all numbers are at.
    pub threshold: f64,
    /// Fixtures compared.
    pub compared: u64,
    /// Lines of the whole manifest.
    pub manifest_count: u64,
    /// Fixtures named and not compared, with the reason.
    pub left_out: Vec<LeftOut>,
    /// By slot.
    pub slots: SlotNumbers,
    /// As sets.
    pub decisions: DecisionNumbers,
    /// The reference against itself.
    pub noise_floor: NoiseNumbers,
    /// NaN and infinite values of each output, reference then candidate.
    pub non_finite: Vec<(String, u64, u64)>,
    /// Largest difference of each output.
    pub max_abs_delta: Vec<(String, f64)>,
    /// Candidate / reference, with its interval and rounds.
    pub latency_ratio: Option<LatencyNumbers>,
    /// Says so when the candidate seems to have its classes in another order.
    pub class_order: Option<String>,
    /// `exact`, or how far quantiles may be off.
    pub quantiles: String,
    /// `1 of 1` for the whole.
    pub shard: [u32; 2],
}

/// A fixture that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::sighted) struct LeftOut {
    /// As the manifest writes it.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// Numbers by slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::sighted) struct SlotNumbers {
    pub detections_a: u64,
    pub detections_b: u64,
    pub threshold_flips: u64,
    pub flips_a_only: u64,
    pub flips_b_only: u64,
    pub class_flips: u64,
    pub images_with_a_threshold_flip: u64,
}

/// Numbers of matched sets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::sighted) struct DecisionNumbers {
    pub stayed: u64,
    pub moved_slots: u64,
    pub moved_slot_flips: u64,
    pub relabelled: u64,
    pub vanished: u64,
    pub appeared: u64,
    pub real_flips: u64,
    pub images_changed: u64,
    pub images_presence_changed: u64,
}

/// The noise floor.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(in crate::sighted) struct NoiseNumbers {
    pub fixtures: u64,
    pub max_abs_delta: f64,
    pub threshold_flips: u64,
    pub class_flips: u64,
}

/// The latency ratio.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(in crate::sighted) struct LatencyNumbers {
    pub p50: f64,
    pub interval: [f64; 2],
    pub rounds: u64,
}

impl Summary {
    /// The summary of a report; none for a report without our additions or without a recommended row.
    pub(in crate::sighted) fn of(report: &ParityReport) -> Option<Self> {
        let ours = report.flipside.as_ref()?;
        let rows = report.decode.by_threshold.iter().zip(&ours.set_matching.by_threshold);
        let (slots, sets) = rows.into_iter().find(|(row, _)| row.is_recommended)?;
        let noise = &ours.noise_floor;
        Some(Self {
            sentence: sentence(slots, sets, report.fixtures.count) + &not_finite(ours),
            threshold: slots.threshold,
            compared: report.fixtures.count,
            manifest_count: ours.manifest_count,
            left_out: left_out(ours),
            slots: SlotNumbers {
                detections_a: slots.detections_a,
                detections_b: slots.detections_b,
                threshold_flips: slots.threshold_flips,
                flips_a_only: slots.flips_a_only,
                flips_b_only: slots.flips_b_only,
                class_flips: slots.class_argmax_flips,
                images_with_a_threshold_flip: slots.images_with_any_flip,
            },
            decisions: DecisionNumbers {
                stayed: sets.stayed,
                moved_slots: sets.moved_slots,
                moved_slot_flips: sets.moved_slot_flips,
                relabelled: sets.relabelled,
                vanished: sets.vanished,
                appeared: sets.appeared,
                real_flips: sets.real_flips,
                images_changed: sets.images_changed,
                images_presence_changed: sets.images_presence_changed,
            },
            noise_floor: NoiseNumbers {
                fixtures: noise.fixtures,
                max_abs_delta: noise.max_abs_delta.values().copied().fold(0.0, f64::max),
                threshold_flips: noise.threshold_flips,
                class_flips: noise.class_flips,
            },
            non_finite: ours
                .non_finite
                .iter()
                .map(|(name, count)| (name.clone(), count.a, count.b))
                .collect(),
            max_abs_delta: report
                .raw_outputs
                .iter()
                .map(|output| (output.name.clone(), output.max_abs_delta))
                .collect(),
            latency_ratio: ours.latency.as_ref().map(|pass| LatencyNumbers {
                p50: pass.ratio_p50,
                interval: pass.interval,
                rounds: pass.rounds,
            }),
            class_order: class_order::suspicion(ours, sets),
            quantiles: ours.quantiles.clone(),
            shard: [ours.shard.index, ours.shard.of],
        })
    }

    /// Lines for people, escaped.
    pub(in crate::sighted) fn to_text(&self) -> String {
        let mut lines = vec![self.sentence.clone(), String::new()];
        let mut line = |name: &str, text: String| lines.push(format!("{name:<12} {text}"));
        let Self { slots, decisions, noise_floor: noise, .. } = self;
        let [shard, of] = self.shard;
        let part = if of > 1 { format!("shard {shard} of {of}: ") } else { String::new() };
        line(
            "pictures",
            format!(
                "{part}{} compared, {} left out, {} in the manifest; threshold {}",
                self.compared,
                self.left_out.len(),
                self.manifest_count,
                self.threshold
            ),
        );
        line(
            "by slot",
            format!(
                "{} threshold flips ({} only in the reference, {} only in the candidate), {} mislabels, {} pictures with a flip",
                slots.threshold_flips,
                slots.flips_a_only,
                slots.flips_b_only,
                slots.class_flips,
                slots.images_with_a_threshold_flip
            ),
        );
        line("", "slot numbers: a detection that only changed its slot counts twice".to_owned());
        line(
            "moved slots",
            format!(
                "{} of the flips: the detection is there on both sides, in another slot ({} detections)",
                decisions.moved_slot_flips, decisions.moved_slots
            ),
        );
        line(
            "decisions",
            format!(
                "{} real flips; as sets {} stayed, {} vanished, {} appeared, {} relabelled",
                decisions.real_flips,
                decisions.stayed,
                decisions.vanished,
                decisions.appeared,
                decisions.relabelled
            ),
        );
        if let Some(suspicion) = &self.class_order {
            line("class order", suspicion.clone());
        }
        line(
            "changed",
            format!(
                "{} of {} pictures; {} from some detection to none or back",
                decisions.images_changed, self.compared, decisions.images_presence_changed
            ),
        );
        line(
            "noise floor",
            format!(
                "the reference against itself on {} pictures: {} threshold flips, {} mislabels, largest difference {}",
                noise.fixtures,
                noise.threshold_flips,
                noise.class_flips,
                rounded(noise.max_abs_delta)
            ),
        );
        let deltas = self.max_abs_delta.iter();
        let deltas = deltas.map(|(name, delta)| format!("{} {}", escape(name), rounded(*delta)));
        line("largest", deltas.collect::<Vec<_>>().join(", "));
        line("non-finite", self.non_finite_text());
        line("latency", self.latency_text());
        if self.quantiles != "exact" {
            line("quantiles", escape(&self.quantiles).into_owned());
        }
        for left_out in self.left_out.iter().take(MOST_LEFT_OUT) {
            let LeftOut { path, reason } = left_out;
            line("left out", format!("{}: {}", escape(path), escape(reason)));
        }
        if self.left_out.len() > MOST_LEFT_OUT {
            let more = self.left_out.len() - MOST_LEFT_OUT;
            line("left out", format!("{more} more, all named in the report"));
        }
        lines.join("\n")
    }

    fn non_finite_text(&self) -> String {
        let found: Vec<String> = self
            .non_finite
            .iter()
            .filter(|(_, a, b)| a + b > 0)
            .map(|(name, a, b)| {
                format!("{}: {a} values in the reference, {b} in the candidate", escape(name))
            })
            .collect();
        if found.is_empty() { "none".to_owned() } else { found.join("; ") }
    }

    fn latency_text(&self) -> String {
        match &self.latency_ratio {
            Some(LatencyNumbers { p50, interval: [low, high], rounds }) => format!(
                "candidate / reference {p50:.2} (95 % interval {low:.2} to {high:.2}, {rounds} rounds, this machine only)"
            ),
            None => "not measured".to_owned(),
        }
    }
}

/// Equal counts are what most checks look at; the sentence sets what changed beside them.
fn sentence(slots: &ThresholdRow, sets: &SetRow, pictures: u64) -> String {
    let (a, b) = (slots.detections_a, slots.detections_b);
    let counts = if a == b {
        format!("{a} = {b} detections")
    } else {
        format!("{a} against {b} detections")
    };
    let (flips, classes) = (slots.threshold_flips, slots.class_argmax_flips);
    let changed = sets.images_changed;
    if flips == 0 && classes == 0 && changed == 0 {
        return format!("{counts}, and no decision changed in {pictures} pictures");
    }
    let by_slot = match (flips, classes) {
        (0, 0) => String::new(),
        (0, classes) => format!("{classes} mislabels by slot and "),
        (flips, _) => format!("{flips} decisions by slot and "),
    };
    let joint = if a == b { ", yet" } else { "," };
    format!("{counts}{joint} {by_slot}{changed} of {pictures} pictures changed")
}

/// A value that is no number takes part in no decision, so an unchanged count must not stand alone.
fn not_finite(ours: &Extension) -> String {
    let values: u64 = ours.non_finite.values().map(|count| count.a + count.b).sum();
    if values == 0 {
        String::new()
    } else {
        format!("; {values} output values are NaN or infinite")
    }
}

fn left_out(ours: &Extension) -> Vec<LeftOut> {
    ours.fixtures
        .iter()
        .filter(|row| row.status == FixtureStatus::LeftOut)
        .map(|row| LeftOut {
            path: row.path.clone(),
            reason: row.reason.clone().unwrap_or_default(),
        })
        .collect()
}

/// Three digits that matter.
fn rounded(value: f64) -> String {
    if value == 0.0 {
        "0".to_owned()
    } else if (1e-3..1e4).contains(&value) {
        format!("{value:.3}")
    } else {
        format!("{value:.2e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sighted::decision::testing::made_report;

    fn rows(a: u64, b: u64, flips: u64, classes: u64, changed: u64) -> (ThresholdRow, SetRow) {
        let report = made_report(20);
        let ours = report.flipside.expect("ours");
        let slots = ThresholdRow {
            detections_a: a,
            detections_b: b,
            threshold_flips: flips,
            class_argmax_flips: classes,
            ..report.decode.by_threshold[0].clone()
        };
        (slots, SetRow { images_changed: changed, ..ours.set_matching.by_threshold[0].clone() })
    }

    #[test]
    fn the_first_line_sets_decisions_beside_counts() {
        for (numbers, text) in [
            (
                (59, 59, 20, 4, 18),
                "59 = 59 detections, yet 20 decisions by slot and 18 of 48 pictures changed",
            ),
            (
                (56, 55, 13, 0, 6),
                "56 against 55 detections, 13 decisions by slot and 6 of 48 pictures changed",
            ),
            (
                (5, 5, 0, 2, 1),
                "5 = 5 detections, yet 2 mislabels by slot and 1 of 48 pictures changed",
            ),
            ((59, 59, 0, 0, 0), "59 = 59 detections, and no decision changed in 48 pictures"),
            ((3, 3, 0, 0, 1), "3 = 3 detections, yet 1 of 48 pictures changed"),
        ] {
            let (a, b, flips, classes, changed) = numbers;
            let (slots, sets) = rows(a, b, flips, classes, changed);
            assert_eq!(sentence(&slots, &sets, 48), text);
        }
    }

    #[test]
    fn a_report_is_summarised_and_hostile_names_are_inert() {
        let mut report = made_report(20);
        let ours = report.flipside.as_mut().expect("ours");
        ours.fixtures[5].path = "\u{1b}[2J.jpg".to_owned();
        let summary = Summary::of(&report).expect("a summary");
        assert_eq!((summary.compared, summary.left_out.len()), (17, 3));
        insta::assert_snapshot!(summary.to_text());
    }

    #[test]
    fn values_that_are_no_numbers_are_in_the_first_line() {
        let mut report = made_report(20);
        let before = Summary::of(&report).expect("a summary").sentence;
        let ours = report.flipside.as_mut().expect("ours");
        ours.non_finite.get_mut("labels").expect("counted").b = 3;
        let sentence = Summary::of(&report).expect("a summary").sentence;
        assert_eq!(sentence, format!("{before}; 3 output values are NaN or infinite"));
    }

    #[test]
    fn differences_keep_three_digits() {
        for (value, text) in [(0.0, "0"), (0.23384, "0.234"), (16.488, "16.488"), (1e-8, "1.00e-8")]
        {
            assert_eq!(rounded(value), text);
        }
    }
}
