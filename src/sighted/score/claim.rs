//! Which sentence the data licenses. Every statement about a result that a person reads is made here, from
//! one list, and each has a test for when it may be said and when not.
//!
//! What is never said: that two artifacts are the same, or equal, or that nothing was lost, because no
//! number of pictures shows that; a p-value when too few pictures differ for one to decide anything; a
//! percentage of one picture; that a flip is an error.

use super::margin::AppliedMargin;
use super::presence::{Measure, Rates};
use crate::stats::estimate::{Estimate, p_text, percent_of, points};
use crate::stats::paired::FEWEST_DECIDABLE;
use crate::stats::proportion::Interval;
use crate::store::label_file::BlindStatus;

/// What no score licenses, whatever its numbers: up to the colon in a few words.
pub(in crate::sighted) const NOT_LICENSED: [&str; 3] = [
    "the distribution of pictures in production: the numbers are about these fixtures",
    "localisation: presence in a picture is not a box in the right place",
    "independence of images: fixtures may show one place more than once",
];

/// A sentence that may be said.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) enum Claim {
    /// No picture, or one.
    Unmeasured {
        /// Which rate.
        measure: Measure,
        /// 0 or 1.
        n: u64,
    },
    /// Two to four pictures.
    TooFew {
        /// Which rate.
        measure: Measure,
        /// Pictures.
        n: u64,
    },
    /// Too few pictures differ for any test.
    Undecidable {
        /// Which rate.
        measure: Measure,
        /// Pictures that differ.
        changed: u64,
        /// Of the difference.
        interval: Interval,
    },
    /// The interval holds zero.
    NoMeasurableDifference {
        /// Which rate.
        measure: Measure,
        /// Of the difference.
        interval: Interval,
        /// Exact McNemar.
        p: f64,
        /// Pictures that differ.
        changed: u64,
    },
    /// The interval lies on one side of zero.
    Differs {
        /// Which rate.
        measure: Measure,
        /// Candidate − reference.
        difference: f64,
        /// Of the difference.
        interval: Interval,
        /// Exact McNemar.
        p: f64,
    },
    /// The whole interval lies within a margin registered before any label was sealed.
    Equivalent {
        /// Which rate.
        measure: Measure,
        /// As a share.
        margin: f64,
    },
    /// Within a margin chosen later.
    WouldBeWithin {
        /// Which rate.
        measure: Measure,
        /// As a share.
        margin: f64,
    },
    /// A registered margin that the interval does not stay within.
    NotShownWithin {
        /// Which rate.
        measure: Measure,
        /// As a share.
        margin: f64,
        /// Registered before any label was sealed.
        before_labels: bool,
    },
    /// What changed in the decisions, by the report.
    Instability {
        /// Slots that flipped.
        flips: u64,
        /// Of those, real.
        real_flips: u64,
        /// Slots with another class.
        mislabels: u64,
        /// Pictures with any change.
        images: u64,
    },
    /// How far the labels are known to be blind.
    Blindness {
        /// The weakest status; absent without labels.
        status: Option<BlindStatus>,
    },
}

impl Claim {
    /// The sentence.
    pub(in crate::sighted) fn text(&self) -> String {
        match self {
            Self::Unmeasured { measure, n: 0 } => {
                format!("{}: unmeasured (no image)", capital(*measure))
            }
            Self::Unmeasured { measure, n } => {
                format!("{}: unmeasured ({n} image)", capital(*measure))
            }
            Self::TooFew { measure, n } => {
                format!("{}: too few images to say anything ({n})", capital(*measure))
            }
            Self::Undecidable { measure, changed, interval } => format!(
                "{}: cannot be decided with {} (fewer than {FEWEST_DECIDABLE}); the candidate could be {} points",
                capital(*measure),
                changed_images(*changed),
                span(*interval),
            ),
            Self::NoMeasurableDifference { measure, interval, p, changed } => format!(
                "{}: no measurable difference; the candidate could be {} points ({}, {})",
                capital(*measure),
                span(*interval),
                changed_images(*changed),
                p_text(*p),
            ),
            Self::Differs { measure, difference, interval, p } => format!(
                "{}: the candidate is {} by {} points ({}; {})",
                capital(*measure),
                if *difference > 0.0 { "higher" } else { "lower" },
                points(difference.abs()).trim_start_matches('+'),
                span(*interval),
                p_text(*p),
            ),
            Self::Equivalent { measure, margin } => format!(
                "{}: equivalent within {} points, the margin registered before any label was sealed",
                capital(*measure),
                plain_points(*margin),
            ),
            Self::WouldBeWithin { measure, margin } => format!(
                "{}: would be within {} points (margin chosen after labels were sealed)",
                capital(*measure),
                plain_points(*margin),
            ),
            Self::NotShownWithin { measure, margin, before_labels } => format!(
                "{}: not shown to be within {} points{}; more labels could show it",
                capital(*measure),
                plain_points(*margin),
                if *before_labels { "" } else { " (margin chosen after labels were sealed)" },
            ),
            Self::Instability { flips: 0, mislabels: 0, images: 0, .. } => {
                "No decision changed at this point, on these images".to_owned()
            }
            Self::Instability { flips, real_flips, mislabels, images } => format!(
                "Decisions changed: {} ({real_flips} real), {}, {}; this is instability, and only labels tell what it costs",
                counted(*flips, "threshold flip"),
                counted(*mislabels, "mislabel"),
                counted(*images, "image"),
            ),
            Self::Blindness { status: None } => "No label counts here".to_owned(),
            Self::Blindness { status: Some(status) } => match status {
                BlindStatus::Proven => {
                    "Labels: blind, proven (sealed before there was model output)".to_owned()
                }
                BlindStatus::Enforced => {
                    "Labels: blind, enforced (the program kept model output away; it existed)"
                        .to_owned()
                }
                BlindStatus::Asserted => {
                    "Labels: blind only by assertion (made elsewhere, or not enforced)".to_owned()
                }
                BlindStatus::Broken => {
                    "Labels: not blind (given after model output was seen)".to_owned()
                }
            },
        }
    }
}

/// Everything that may be said of one rate.
pub(in crate::sighted) fn licensed(rates: &Rates, margin: Option<&AppliedMargin>) -> Vec<Claim> {
    let measure = rates.measure;
    let n = rates.table.n();
    match rates.sides.a {
        Estimate::Unmeasured { n } => return vec![Claim::Unmeasured { measure, n }],
        Estimate::TooFew { .. } => return vec![Claim::TooFew { measure, n }],
        Estimate::Wide(_) | Estimate::Measured(_) => {}
    }
    let (Some(interval), Some(difference)) = (rates.headline(), rates.table.difference()) else {
        return vec![Claim::TooFew { measure, n }];
    };
    let changed = rates.table.discordant();
    let mut claims = vec![match rates.mcnemar {
        None => Claim::Undecidable { measure, changed, interval },
        Some(p) if interval.contains(0.0) => {
            Claim::NoMeasurableDifference { measure, interval, p, changed }
        }
        Some(p) => Claim::Differs { measure, difference, interval, p },
    }];
    if let Some(applied) = margin {
        let margin = applied.margin.margin;
        let inside = interval.low > -margin && interval.high < margin;
        claims.push(match (inside, applied.before_labels) {
            (true, true) => Claim::Equivalent { measure, margin },
            (true, false) => Claim::WouldBeWithin { measure, margin },
            (false, before_labels) => Claim::NotShownWithin { measure, margin, before_labels },
        });
    }
    claims
}

/// `−2.4 to +2.4`
fn span(interval: Interval) -> String {
    format!("{} to {}", points(interval.low), points(interval.high))
}

fn plain_points(margin: f64) -> String {
    let text = percent_of(margin);
    let number = text.trim_end_matches(" %");
    number.strip_suffix(".0").unwrap_or(number).to_owned()
}

fn changed_images(changed: u64) -> String {
    counted(changed, "changed image")
}

/// `1 image`, `2 images`
pub(in crate::sighted) fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn capital(measure: Measure) -> String {
    let name = measure.name();
    let mut characters = name.chars();
    characters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + characters.as_str()
    })
}
