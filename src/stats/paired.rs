//! Two yes/no answers about the same items: how often they differ, which way, and what that can mean.
//!
//! `first` and `second` are the two answers; differences are always second − first.

use super::exact::{half_binomial, sign_test};
use super::proportion::{Interval, Z95, bisect, count, ratio, wilson};

/// Fewest discordant items that can reach p < 0.05 even when all point one way: 2^(1−6) = 0.031.
pub const FEWEST_DECIDABLE: u64 = 6;

/// Counts of the four answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PairedTable {
    /// Both say yes.
    pub both: u64,
    /// Only the first says yes.
    pub only_first: u64,
    /// Only the second says yes.
    pub only_second: u64,
    /// Both say no.
    pub neither: u64,
}

impl PairedTable {
    /// Counts one item.
    pub fn add(&mut self, first: bool, second: bool) {
        match (first, second) {
            (true, true) => self.both += 1,
            (true, false) => self.only_first += 1,
            (false, true) => self.only_second += 1,
            (false, false) => self.neither += 1,
        }
    }

    /// All items.
    pub fn n(&self) -> u64 {
        self.both + self.only_first + self.only_second + self.neither
    }

    /// Items on which the answers differ.
    pub fn discordant(&self) -> u64 {
        self.only_first + self.only_second
    }

    /// Items the first says yes to.
    pub fn first(&self) -> u64 {
        self.both + self.only_first
    }

    /// Items the second says yes to.
    pub fn second(&self) -> u64 {
        self.both + self.only_second
    }

    /// Share of the second minus share of the first; `None` for an empty table.
    pub fn difference(&self) -> Option<f64> {
        let n = self.n();
        (n > 0).then(|| ratio(self.only_second, n) - ratio(self.only_first, n))
    }

    /// The same table with the answers exchanged.
    #[must_use]
    pub fn swapped(&self) -> Self {
        Self { only_first: self.only_second, only_second: self.only_first, ..*self }
    }

    /// Exact McNemar p, two-sided.
    pub fn mcnemar(&self) -> f64 {
        mcnemar_exact(self.only_first, self.only_second)
    }

    /// Tango's interval of the difference.
    pub fn tango(&self) -> Option<Interval> {
        tango(self.only_first, self.only_second, self.n())
    }
}

/// Exact McNemar test, two-sided: the smaller of the discordant counts under Bin(b + c, 1/2), doubled.
/// No discordant item gives 1.
pub fn mcnemar_exact(b: u64, c: u64) -> f64 {
    sign_test(b, c)
}

/// McNemar with half the probability of the observed split: less conservative, secondary.
pub fn mcnemar_mid_p(b: u64, c: u64) -> f64 {
    let discordant = b + c;
    if discordant == 0 {
        return 1.0;
    }
    let (at, up_to) = half_binomial(b.min(c), discordant);
    if b == c { 1.0 - at / 2.0 } else { 2.0 * up_to - at }
}

/// Tango's 95 % score interval of (c − b)/n.
///
/// Source: T. Tango, Stat. Med. 17 (1998): the values whose score statistic lies within ±z, found by
/// bisection on (−1, 1), where the statistic falls. `b` and `c` are the discordant counts of `n` items.
/// `None` when there is no item, or fewer items than discordant ones.
pub fn tango(b: u64, c: u64, n: u64) -> Option<Interval> {
    tango_at(b, c, n, Z95)
}

/// [`tango`] at the normal quantile `z`.
pub fn tango_at(b: u64, c: u64, n: u64, z: f64) -> Option<Interval> {
    if n == 0 || b + c > n {
        return None;
    }
    let difference = (count(c) - count(b)) / count(n);
    let score = |delta: f64| tango_score(count(b), count(c), count(n), delta);
    // The statistic is positive below the estimate and negative above it.
    let low = bisect(-1.0, difference, |delta| score(delta) > z);
    let high = bisect(difference, 1.0, |delta| score(delta) > -z);
    Some(Interval { low: low.min(difference), high: high.max(difference) })
}

/// Tango's statistic for the hypothesis that the true difference is `delta`.
fn tango_score(b: f64, c: f64, n: f64, delta: f64) -> f64 {
    let numerator = c - b - n * delta;
    let a = 2.0 * n;
    let linear = -c - b + (2.0 * n - c + b) * delta;
    let constant = -b * delta * (1.0 - delta);
    let root = (linear * linear - 4.0 * a * constant).max(0.0).sqrt();
    let q = (root - linear) / (2.0 * a);
    let variance = n * (2.0 * q + delta * (1.0 - delta));
    if variance > 0.0 {
        numerator / variance.sqrt()
    } else if numerator.abs() > 0.0 {
        f64::INFINITY.copysign(numerator)
    } else {
        0.0
    }
}

/// Newcombe's method 10 for second − first: a second opinion beside [`tango`].
///
/// Source: R. G. Newcombe, Stat. Med. 17 (1998) 2635: Wilson's intervals of the two margins, joined
/// with a correlation that carries a continuity correction.
pub fn newcombe(table: PairedTable) -> Option<Interval> {
    let PairedTable { both, only_first, only_second, neither } = table;
    let n = table.n();
    let (first, second) = (wilson(table.first(), n)?, wilson(table.second(), n)?);
    let (p1, p2) = (ratio(table.second(), n), ratio(table.first(), n));
    // In the source's order: 1 is what the difference adds, 2 what it subtracts.
    let (one, two) = (second, first);
    let (a, b, c, d) = (count(both), count(only_second), count(only_first), count(neither));
    let product = (a + b) * (c + d) * (a + c) * (b + d);
    let plain = a * d - b * c;
    let half = count(n) / 2.0;
    let corrected = if plain > half {
        plain - half
    } else if plain >= 0.0 {
        0.0
    } else {
        plain
    };
    let phi = if product > 0.0 { corrected / product.sqrt() } else { 0.0 };
    let reach = |x: f64, y: f64| (x * x - 2.0 * phi * x * y + y * y).max(0.0).sqrt();
    let difference = p1 - p2;
    Some(Interval {
        low: (difference - reach(p1 - one.low, two.high - p2)).max(-1.0),
        high: (difference + reach(one.high - p1, p2 - two.low)).min(1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found} is not {expected}");
    }

    #[test]
    fn tango_agrees_with_published_values() {
        for (b, c, n, low, high, tolerance) in [
            (20, 40, 160, 0.030_864_533_133, 0.218_064_244_167, 1e-12),
            (0, 0, 156, -0.024_032_931_437, 0.024_032_931_437, 1e-12),
            (24, 25, 156, -0.082_716_532_399, 0.095_540_926_794, 1e-12),
            (0, 5, 41, 0.025_836, 0.255_442, 5e-7),
            (0, 0, 44, -0.080_296, 0.080_296, 5e-7),
            (0, 1, 156, -0.0178, 0.0354, 5e-5),
            (73, 74, 156, -0.1443, 0.1569, 5e-5),
            (5, 8, 81, -0.0555, 0.1331, 5e-5),
            (0, 3, 81, -0.0099, 0.1033, 5e-5),
        ] {
            let interval = tango(b, c, n).expect("has items");
            close(interval.low, low, tolerance);
            close(interval.high, high, tolerance);
        }
        let ninety = tango_at(5, 6, 156, crate::stats::proportion::normal_quantile(0.95));
        close(ninety.expect("has items").low, -0.0315, 5e-5);
    }

    #[test]
    fn newcombe_agrees_with_the_textbook() {
        // first − second of the textbook is second − first of a table with the names exchanged.
        let table = PairedTable { both: 14, only_first: 0, only_second: 5, neither: 22 };
        let interval = newcombe(table).expect("has items");
        close(interval.low, 0.011_483_241_383, 1e-12);
        close(interval.high, 0.226_492_684_351, 1e-12);
        for (b, c, low, high) in [(0, 1, -0.0112, 0.0240), (24, 25, -0.0814, 0.0941)] {
            let table =
                PairedTable { both: 82 - b, only_first: b, only_second: c, neither: 74 - c };
            let interval = newcombe(table).expect("has items");
            close(interval.low, low, 5e-5);
            close(interval.high, high, 5e-5);
        }
        assert_eq!(newcombe(PairedTable::default()), None);
    }

    #[test]
    fn mid_p_of_known_splits() {
        for (b, c, p) in
            [(0, 1, 0.5), (5, 6, 0.7744), (10, 11, 0.8318), (73, 74, 0.9345), (5, 8, 0.4240)]
        {
            close(mcnemar_mid_p(b, c), p, 5e-5);
        }
        close(mcnemar_mid_p(0, 0), 1.0, 0.0);
        close(mcnemar_mid_p(1, 1), 0.75, 1e-15);
    }

    #[test]
    fn fewer_than_six_one_sided_items_never_reach_five_percent() {
        assert!(mcnemar_exact(0, FEWEST_DECIDABLE) < 0.05);
        assert!(mcnemar_exact(0, FEWEST_DECIDABLE - 1) > 0.05);
    }

    #[test]
    fn intervals_hold_their_estimate_and_stay_in_range_for_every_small_table() {
        for n in 1..=60_u64 {
            for b in 0..=n {
                for c in 0..=(n - b) {
                    let interval = tango(b, c, n).expect("has items");
                    let difference = (count(c) - count(b)) / count(n);
                    assert!(interval.contains(difference), "{b} {c} {n}: {interval:?}");
                    assert!(interval.low >= -1.0 && interval.high <= 1.0, "{b} {c} {n}");
                    if b > c {
                        let swapped = tango(c, b, n).expect("has items").negated();
                        close(interval.low, swapped.low, 1e-9);
                        close(interval.high, swapped.high, 1e-9);
                    }
                }
            }
        }
        assert_eq!(tango(0, 0, 0), None);
        assert_eq!(tango(2, 2, 3), None);
    }

    proptest! {
        #[test]
        fn exchanging_the_answers_negates_every_interval_and_keeps_p(
            both in 0..500_u64, only_first in 0..80_u64, only_second in 0..80_u64, neither in 0..500_u64,
        ) {
            let table = PairedTable { both, only_first, only_second, neither };
            prop_assume!(table.n() > 0);
            let swapped = table.swapped();
            close(table.mcnemar(), swapped.mcnemar(), 0.0);
            close(mcnemar_mid_p(only_first, only_second), mcnemar_mid_p(only_second, only_first), 0.0);
            for (plain, other) in [(table.tango(), swapped.tango()), (newcombe(table), newcombe(swapped))] {
                let (plain, other) = (plain.expect("items"), other.expect("items").negated());
                close(plain.low, other.low, 1e-9);
                close(plain.high, other.high, 1e-9);
                prop_assert!(plain.low >= -1.0 && plain.high <= 1.0);
            }
            let more = PairedTable { both: both + 7, neither: neither + 3, ..table };
            close(more.mcnemar(), table.mcnemar(), 0.0);
        }
    }
}
