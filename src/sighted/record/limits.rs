//! Acceptance limits: how much change a person tolerates, and whether evidence stays inside.
//!
//! A limit that is not set is shown as "not limited" and holds. A limit that cannot be judged on the
//! evidence is not held: nothing passes for want of data.

use crate::domain::canonical::{Json, float_text};
use crate::stats::paired::{PairedTable, tango_at};
use crate::stats::proportion::{Interval, normal_quantile};

/// Limits as a person set them; `None` is "not limited".
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct AcceptanceLimits {
    /// Threshold flips by slot.
    pub slot_flips: Option<u64>,
    /// Real flips: slot flips that no moved slot explains.
    pub real_flips: Option<u64>,
    /// Slots that survive on both sides with another class.
    pub class_flips: Option<u64>,
    /// How much recall may be lost: the lower end of the interval of candidate − reference stays above
    /// minus this. A share.
    pub recall_margin: Option<f64>,
    /// How much the false-positive rate may rise, likewise.
    pub false_positive_margin: Option<f64>,
    /// Of the intervals of both margins.
    pub confidence_level: f64,
    /// Images a person says contain litter.
    pub min_positives: Option<u64>,
    /// Images a person says are clean.
    pub min_negatives: Option<u64>,
}

/// Used when the owner names no level.
pub(in crate::sighted) const DEFAULT_LEVEL: f64 = 0.95;

impl AcceptanceLimits {
    /// Nothing is limited.
    pub(in crate::sighted) fn none() -> Self {
        Self {
            slot_flips: None,
            real_flips: None,
            class_flips: None,
            recall_margin: None,
            false_positive_margin: None,
            confidence_level: DEFAULT_LEVEL,
            min_positives: None,
            min_negatives: None,
        }
    }

    /// Whether anything is limited.
    pub(in crate::sighted) fn any(&self) -> bool {
        Self { confidence_level: DEFAULT_LEVEL, ..self.clone() } != Self::none()
    }

    /// Faults in the numbers themselves.
    ///
    /// # Errors
    /// A margin outside 0..=1, or a level outside 0.5..1.
    pub(in crate::sighted) fn check(&self) -> Result<(), String> {
        for (name, margin) in [
            ("recall margin", self.recall_margin),
            ("false-positive margin", self.false_positive_margin),
        ] {
            if let Some(margin) = margin
                && !(0.0..=1.0).contains(&margin)
            {
                return Err(format!("{name}: expected a share from 0 to 1, found {margin}"));
            }
        }
        if self.confidence_level >= 0.5 && self.confidence_level < 1.0 {
            Ok(())
        } else {
            Err(format!(
                "confidence level: expected from 0.5 to below 1, found {}",
                self.confidence_level
            ))
        }
    }

    /// As the payload holds it.
    pub(in crate::sighted) fn to_json(&self) -> Json {
        let count = |limit: Option<u64>| limit.map_or(Json::Null, Json::int);
        let share = |limit: Option<f64>| limit.map_or(Json::Null, Json::Float);
        Json::object([
            ("declared", Json::text(if self.any() { "limits" } else { "none" })),
            ("confidenceLevel", Json::Float(self.confidence_level)),
            ("fprMargin", share(self.false_positive_margin)),
            ("maxClassFlips", count(self.class_flips)),
            ("maxSetFlips", count(self.real_flips)),
            ("maxSlotFlips", count(self.slot_flips)),
            ("minNegatives", count(self.min_negatives)),
            ("minPositives", count(self.min_positives)),
            ("recallMargin", share(self.recall_margin)),
        ])
    }

    /// Reads the payload's form.
    ///
    /// # Errors
    /// A missing key, another type, or a faulty number.
    pub(in crate::sighted) fn from_json(tree: &Json) -> Result<Self, String> {
        let missing = |key: &str| format!("acceptance.{key}: expected a number or null");
        let get = |key: &str| tree.get(key).ok_or_else(|| missing(key));
        let count = |key: &str| match get(key)? {
            Json::Null => Ok(None),
            value => value
                .as_i64()
                .and_then(|value| u64::try_from(value).ok())
                .map(Some)
                .ok_or_else(|| missing(key)),
        };
        let share = |key: &str| match get(key)? {
            Json::Null => Ok(None),
            value => value.as_f64().map(Some).ok_or_else(|| missing(key)),
        };
        let limits = Self {
            slot_flips: count("maxSlotFlips")?,
            real_flips: count("maxSetFlips")?,
            class_flips: count("maxClassFlips")?,
            recall_margin: share("recallMargin")?,
            false_positive_margin: share("fprMargin")?,
            confidence_level: share("confidenceLevel")?
                .ok_or_else(|| missing("confidenceLevel"))?,
            min_positives: count("minPositives")?,
            min_negatives: count("minNegatives")?,
        };
        limits.check()?;
        let declared = if limits.any() { "limits" } else { "none" };
        if get("declared")?.as_str() != Some(declared) {
            return Err(format!("acceptance.declared: expected {declared:?}"));
        }
        Ok(limits)
    }
}

/// What the limits are held against, at the operating point.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Numbers {
    /// Threshold flips by slot.
    pub slot_flips: u64,
    /// Real flips; a report of another tool does not say.
    pub real_flips: Option<u64>,
    /// Class flips.
    pub class_flips: u64,
    /// What labels say; absent without labels.
    pub labelled: Option<Labelled>,
    /// Fixtures compared.
    pub compared: u64,
    /// Fixtures the manifest lists, when the report says.
    pub listed: Option<u64>,
    /// Values that are NaN or infinite, of both sides.
    pub non_finite: u64,
}

/// Labels joined with decisions, over all labelled fixtures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::sighted) struct Labelled {
    /// Fixtures a person says contain litter.
    pub recall: LabelledRate,
    /// Fixtures a person says are clean; a hit is a false positive.
    pub false_positives: LabelledRate,
}

/// One rate of both artifacts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(in crate::sighted) struct LabelledRate {
    /// `first` is the reference, `second` the candidate.
    pub table: PairedTable,
    /// 95 % interval of the difference that respects clusters, when fixtures have any.
    pub clustered: Option<Interval>,
}

impl LabelledRate {
    fn n(self) -> u64 {
        self.table.n()
    }

    /// Interval of candidate − reference: Tango's, or as far as the clustered one reaches past it.
    pub(super) fn difference(self, level: f64) -> Option<Interval> {
        let z = normal_quantile(0.5 + level / 2.0);
        let table = self.table;
        let plain = tango_at(table.only_first, table.only_second, table.n(), z)?;
        Some(self.clustered.map_or(plain, |clustered| Interval {
            low: plain.low.min(clustered.low),
            high: plain.high.max(clustered.high),
        }))
    }
}

/// Whether one limit holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct LimitFinding {
    /// Key of the payload.
    pub name: &'static str,
    /// The answer.
    pub holds: Holds,
    /// Limit and found value in words.
    pub detail: String,
}

impl LimitFinding {
    /// Its name for people.
    pub(in crate::sighted) fn words(&self) -> &'static str {
        match self.name {
            "maxSlotFlips" => "slot flips",
            "maxSetFlips" => "real flips",
            "maxClassFlips" => "mislabels",
            "minPositives" => "litter images",
            "minNegatives" => "clean images",
            "recallMargin" => "recall",
            "fprMargin" | "falsePositiveRate" => "false-positive rate",
            plain => plain,
        }
    }
}

/// An answer that may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) enum Holds {
    /// Inside the limit.
    Yes,
    /// Outside.
    No,
    /// The evidence does not say.
    CannotTell,
}

/// Fewest images for a rate to mean anything; below, it is unmeasured.
const MIN_MEASURED: u64 = 2;

/// Holds every limit against the numbers, in a fixed order. Limits that are not set are left out.
pub(in crate::sighted) fn judge(limits: &AcceptanceLimits, numbers: &Numbers) -> Vec<LimitFinding> {
    let mut findings = Vec::new();
    let counts = [
        ("maxSlotFlips", limits.slot_flips, Some(numbers.slot_flips)),
        ("maxSetFlips", limits.real_flips, numbers.real_flips),
        ("maxClassFlips", limits.class_flips, Some(numbers.class_flips)),
    ];
    for (name, limit, found) in counts {
        let Some(limit) = limit else { continue };
        findings.push(match found {
            Some(found) => finding(name, found <= limit, format!("{found}, at most {limit}")),
            None => unknown(name, "the report does not say"),
        });
    }
    let labelled = numbers.labelled;
    let tables = [
        ("minPositives", limits.min_positives, labelled.map(|found| found.recall.n())),
        ("minNegatives", limits.min_negatives, labelled.map(|found| found.false_positives.n())),
    ];
    for (name, limit, found) in tables {
        let Some(limit) = limit else { continue };
        findings.push(match found {
            Some(found) => finding(name, found >= limit, format!("{found}, at least {limit}")),
            None => unknown(name, "no labels"),
        });
    }
    let level = limits.confidence_level;
    if let Some(margin) = limits.recall_margin {
        let table = labelled.map(|found| found.recall);
        findings.push(judge_margin("recallMargin", margin, level, table, Direction::MayFall));
    }
    if let Some(margin) = limits.false_positive_margin {
        let table = labelled.map(|found| found.false_positives);
        findings.push(judge_margin("fprMargin", margin, level, table, Direction::MayRise));
    }
    findings
}

enum Direction {
    MayFall,
    MayRise,
}

fn judge_margin(
    name: &'static str,
    margin: f64,
    level: f64,
    table: Option<LabelledRate>,
    direction: Direction,
) -> LimitFinding {
    let Some(table) = table else { return unknown(name, "no labels") };
    if table.n() < MIN_MEASURED {
        return unknown(name, &format!("unmeasured: {} images", table.n()));
    }
    let Some(interval) = table.difference(level) else { return unknown(name, "no interval") };
    let shown = format!(
        "candidate − reference is between {} ({} % interval, {} images)",
        span(interval),
        float_text(level * 100.0).trim_end_matches(".0"),
        table.n()
    );
    let margin_shown = points(margin);
    match direction {
        Direction::MayFall => {
            finding(name, interval.low >= -margin, format!("{shown}; may fall by {margin_shown}"))
        }
        Direction::MayRise => {
            finding(name, interval.high <= margin, format!("{shown}; may rise by {margin_shown}"))
        }
    }
}

/// Whether evidence is enough to accept anything at all, whatever the limits.
pub(in crate::sighted) fn judge_basis(numbers: &Numbers) -> Vec<LimitFinding> {
    let mut findings = Vec::new();
    if numbers.compared == 0 {
        findings.push(unknown("fixtures", "nothing was compared"));
    }
    if let Some(listed) = numbers.listed.filter(|listed| *listed != numbers.compared) {
        let detail =
            format!("{} of the {listed} the manifest lists were compared", numbers.compared);
        findings.push(unknown("fixtures", &detail));
    }
    if numbers.non_finite > 0 {
        let detail = format!("{} output values are not finite", numbers.non_finite);
        findings.push(unknown("outputs", &detail));
    }
    let Some(labelled) = numbers.labelled else {
        findings.push(unknown("labels", "no labels: only labels tell what changed decisions cost"));
        return findings;
    };
    let tables = [
        ("recall", labelled.recall.n(), "contain litter"),
        ("falsePositiveRate", labelled.false_positives.n(), "are clean"),
    ];
    findings.extend(tables.into_iter().filter(|(_, n, _)| *n < MIN_MEASURED).map(
        |(name, n, which)| {
            unknown(name, &format!("unmeasured: people say that {n} images {which}"))
        },
    ));
    findings
}

fn finding(name: &'static str, holds: bool, detail: String) -> LimitFinding {
    LimitFinding { name, holds: if holds { Holds::Yes } else { Holds::No }, detail }
}

fn unknown(name: &'static str, detail: &str) -> LimitFinding {
    LimitFinding { name, holds: Holds::CannotTell, detail: detail.to_owned() }
}

/// `−2.40 and 2.41 points`
pub(super) fn span(interval: Interval) -> String {
    format!("{} and {} points", points(interval.low), points(interval.high))
}

/// Two decimals, so that a limit and what exceeds it do not print alike.
fn points(share: f64) -> String {
    format!("{:.2}", share * 100.0).replace('-', "\u{2212}")
}
