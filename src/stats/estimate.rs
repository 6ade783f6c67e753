//! What may be said of k of n, and how a number is written for people.
//!
//! A denominator too small to say anything is a state of its own, never 0 % or 100 %. Percentages are
//! rounded half to even on the exact ratio of the two counts, so no double's last bit decides a digit.

use super::proportion::{Interval, wilson};

/// Smallest denominator that is shown as counts.
pub const COUNTS_FROM: u64 = 2;
/// Smallest denominator that is shown with an interval.
pub const INTERVAL_FROM: u64 = 5;
/// Smallest denominator whose interval is not called wide.
pub const NARROW_FROM: u64 = 20;

/// k of n, with its 95 % Wilson interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Hits.
    pub k: u64,
    /// Out of.
    pub n: u64,
    /// Wilson's interval.
    pub interval: Interval,
}

/// k of n, as far as n lets one speak of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Estimate {
    /// n is 0 or 1: no number at all.
    Unmeasured {
        /// 0 or 1.
        n: u64,
    },
    /// n is 2, 3 or 4, or the counts alone were asked for: the counts and nothing else.
    TooFew {
        /// Hits.
        k: u64,
        /// Out of.
        n: u64,
    },
    /// n is 5 to 19: an interval, marked as wide.
    Wide(Rate),
    /// n is 20 or more.
    Measured(Rate),
}

impl Estimate {
    /// What k of n licenses. `k` above `n` is not a share of anything: unmeasured.
    pub fn of(k: u64, n: u64) -> Self {
        match wilson(k, n) {
            Some(interval) if n >= NARROW_FROM => Self::Measured(Rate { k, n, interval }),
            Some(interval) if n >= INTERVAL_FROM => Self::Wide(Rate { k, n, interval }),
            Some(_) if n >= COUNTS_FROM => Self::TooFew { k, n },
            Some(_) => Self::Unmeasured { n },
            None => Self::Unmeasured { n: 0 },
        }
    }

    /// k of n as counts alone, where a rate would say too much however many there are.
    pub fn counts(k: u64, n: u64) -> Self {
        match Self::of(k, n) {
            Self::Wide(_) | Self::Measured(_) => Self::TooFew { k, n },
            few => few,
        }
    }

    /// Rate and interval, when there are enough to give one.
    pub fn rate(self) -> Option<Rate> {
        match self {
            Self::Wide(rate) | Self::Measured(rate) => Some(rate),
            Self::Unmeasured { .. } | Self::TooFew { .. } => None,
        }
    }

    /// The word of files: `unmeasured`, `too-few`, `wide` or `ok`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unmeasured { .. } => "unmeasured",
            Self::TooFew { .. } => "too-few",
            Self::Wide(_) => "wide",
            Self::Measured(_) => "ok",
        }
    }

    /// One line for people: `82/156 = 52.6 % (44.8 to 60.2 %)`.
    pub fn text(self) -> String {
        match self {
            Self::Unmeasured { n: 0 } => "unmeasured".to_owned(),
            Self::Unmeasured { n } => format!("unmeasured ({n} image)"),
            Self::TooFew { k, n } => format!("{k}/{n}, too few"),
            Self::Wide(rate) => format!("{}, wide", rate_text(rate)),
            Self::Measured(rate) => rate_text(rate),
        }
    }
}

fn rate_text(rate: Rate) -> String {
    format!(
        "{}/{} = {} ({} to {})",
        rate.k,
        rate.n,
        percent(rate.k, rate.n),
        one_decimal(100.0 * rate.interval.low),
        percent_of(rate.interval.high),
    )
}

/// k/n as `52.6 %`: one decimal, half to even on the exact ratio. Empty when `n` is 0.
pub fn percent(k: u64, n: u64) -> String {
    if n == 0 {
        return String::new();
    }
    let (scaled, n) = (u128::from(k) * 1000, u128::from(n));
    let (floor, rest) = (scaled / n, scaled % n);
    let up = match (rest * 2).cmp(&n) {
        std::cmp::Ordering::Less => 0,
        std::cmp::Ordering::Equal => floor % 2,
        std::cmp::Ordering::Greater => 1,
    };
    let tenths = floor + up;
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// A share between 0 and 1 as `52.6 %`.
pub fn percent_of(share: f64) -> String {
    format!("{} %", one_decimal(100.0 * share))
}

/// A difference of shares in points, always signed: `+2.4`, `−0.3`, and `0.0` without a sign.
pub fn points(difference: f64) -> String {
    let text = one_decimal(100.0 * difference.abs());
    match (text.as_str(), difference < 0.0) {
        ("0.0", _) => text,
        (_, true) => format!("\u{2212}{text}"),
        (_, false) => format!("+{text}"),
    }
}

/// A p-value: three decimals, and `< 0.001` below that.
pub fn p_text(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") }
}

fn one_decimal(value: f64) -> String {
    let text = format!("{value:.1}");
    if text == "-0.0" { "0.0".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_denominator_decides_what_is_said() {
        for (k, n, word, text) in [
            (0, 0, "unmeasured", "unmeasured"),
            (0, 1, "unmeasured", "unmeasured (1 image)"),
            (1, 1, "unmeasured", "unmeasured (1 image)"),
            (0, 2, "too-few", "0/2, too few"),
            (4, 4, "too-few", "4/4, too few"),
            (2, 5, "wide", "2/5 = 40.0 % (11.8 to 76.9 %), wide"),
            (10, 19, "wide", "10/19 = 52.6 % (31.7 to 72.7 %), wide"),
            (0, 20, "ok", "0/20 = 0.0 % (0.0 to 16.1 %)"),
            (82, 156, "ok", "82/156 = 52.6 % (44.8 to 60.2 %)"),
            (3, 2, "unmeasured", "unmeasured"),
        ] {
            let estimate = Estimate::of(k, n);
            assert_eq!((estimate.word(), estimate.text().as_str()), (word, text), "{k}/{n}");
            assert_eq!(estimate.rate().is_some(), (5..).contains(&n) && k <= n);
        }
    }

    #[test]
    fn counts_alone_give_no_rate() {
        for (k, n, word, text) in [
            (1, 1, "unmeasured", "unmeasured (1 image)"),
            (2, 5, "too-few", "2/5, too few"),
            (0, 29, "too-few", "0/29, too few"),
        ] {
            let estimate = Estimate::counts(k, n);
            assert_eq!((estimate.word(), estimate.text().as_str()), (word, text), "{k}/{n}");
            assert_eq!(estimate.rate(), None);
        }
    }

    #[test]
    fn percentages_round_half_to_even_on_the_exact_ratio() {
        for (k, n, text) in [
            (82, 156, "52.6 %"),
            (83, 156, "53.2 %"),
            (4, 44, "9.1 %"),
            (38, 81, "46.9 %"),
            (41, 81, "50.6 %"),
            (1, 2000, "0.0 %"),
            (3, 2000, "0.2 %"),
            (5, 2000, "0.2 %"),
            (7, 2000, "0.4 %"),
            (1, 80, "1.2 %"),
            (3, 80, "3.8 %"),
            (1999, 2000, "100.0 %"),
            (0, 7, "0.0 %"),
            (7, 7, "100.0 %"),
            (1, 0, ""),
        ] {
            assert_eq!(percent(k, n), text, "{k}/{n}");
        }
    }

    #[test]
    fn differences_are_signed_and_nothing_is_minus_zero() {
        assert_eq!(points(0.024_03), "+2.4");
        assert_eq!(points(-0.024_03), "\u{2212}2.4");
        assert_eq!(points(-0.000_01), "0.0");
        assert_eq!(percent_of(-0.000_01), "0.0 %");
        assert_eq!(p_text(1.0), "p = 1.000");
        assert_eq!(p_text(0.000_2), "p < 0.001");
    }
}
