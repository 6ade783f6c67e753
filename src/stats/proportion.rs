//! One proportion: k of n, with an interval.
//!
//! Owns Wilson's interval, which is the one shown everywhere, and Clopper and Pearson's, which only
//! checks it. A share of nothing has no interval: both answer `None` when `n` is 0 or `k > n`.

use statrs::distribution::{ContinuousCDF as _, Normal};
use statrs::function::beta::beta_reg;

/// The 0.975 quantile of the standard normal distribution: a two-sided 95 % interval.
pub const Z95: f64 = 1.959_963_984_540_054;

/// A closed interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Distance between the ends.
    pub fn width(self) -> f64 {
        self.high - self.low
    }

    /// Whether `value` lies in it, ends included.
    pub fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// The interval of the value with the other sign.
    #[must_use]
    pub fn negated(self) -> Self {
        Self { low: -self.high, high: -self.low }
    }
}

/// The quantile of the standard normal distribution at `probability`, which lies between 0 and 1.
pub fn normal_quantile(probability: f64) -> f64 {
    Normal::standard().inverse_cdf(probability.clamp(0.0, 1.0))
}

/// Wilson's score interval at 95 %, without continuity correction.
///
/// Source: E. B. Wilson, J. Am. Stat. Assoc. 22 (1927). Assumes independent trials. The lower end is
/// exactly 0 when `k` is 0 and the upper exactly 1 when `k` is `n`, where rounding would miss by 1e-17.
pub fn wilson(k: u64, n: u64) -> Option<Interval> {
    wilson_at(k, n, Z95)
}

/// [`wilson`] at the normal quantile `z`.
pub fn wilson_at(k: u64, n: u64, z: f64) -> Option<Interval> {
    if n == 0 || k > n {
        return None;
    }
    let (trials, share) = (count(n), ratio(k, n));
    let z2 = z * z;
    let denominator = 1.0 + z2 / trials;
    let centre = (share + z2 / (2.0 * trials)) / denominator;
    let half =
        z / denominator * (share * (1.0 - share) / trials + z2 / (4.0 * trials * trials)).sqrt();
    let low = if k == 0 { 0.0 } else { (centre - half).clamp(0.0, share) };
    let high = if k == n { 1.0 } else { (centre + half).clamp(share, 1.0) };
    Some(Interval { low, high })
}

/// Clopper and Pearson's interval at 95 %: never too narrow, so a check on [`wilson`], not shown alone.
///
/// Source: Biometrika 26 (1934); the ends are quantiles of Beta(k, n−k+1) and Beta(k+1, n−k), found by
/// bisection on the distribution function, which is good to the last digits where a quantile routine
/// need not be.
pub fn clopper_pearson(k: u64, n: u64) -> Option<Interval> {
    if n == 0 || k > n {
        return None;
    }
    let beta_quantile = |a: f64, b: f64, probability: f64| {
        bisect(0.0, 1.0, |x| beta_reg(a, b, x.clamp(0.0, 1.0)) < probability)
    };
    let (hits, misses) = (count(k), count(n - k));
    let low = if k == 0 { 0.0 } else { beta_quantile(hits, misses + 1.0, 0.025) };
    let high = if k == n { 1.0 } else { beta_quantile(hits + 1.0, misses, 0.975) };
    Some(Interval { low, high })
}

/// The point in `low..=high` where `below` turns from true to false, to the last bit a double has.
pub(super) fn bisect(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> f64 {
    // 1100 halvings reach any double from any interval; the loop ends when the middle is an end.
    for _ in 0..1100 {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low + (high - low) / 2.0
}

/// k/n as a double; 0 when `n` is 0, which callers exclude before they show it.
pub fn ratio(k: u64, n: u64) -> f64 {
    if n == 0 { 0.0 } else { count(k) / count(n) }
}

/// A count as a double: exact below 2^53, and no count of pictures comes near.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub fn count(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found} is not {expected}");
    }

    #[test]
    fn wilson_agrees_with_the_published_table() {
        for (k, n, low, high) in [
            (82, 156, 44.7612, 60.2438),
            (83, 156, 45.3924, 60.8638),
            (4, 44, 3.5922, 21.1592),
            (38, 81, 36.4334, 57.6733),
            (41, 81, 39.9508, 61.2279),
            (50, 200, 19.5082, 31.4341),
            (10, 200, 2.7383, 8.9578),
            (1, 200, 0.0883, 2.7774),
            (0, 200, 0.0, 1.8845),
            (6, 200, 1.3820, 6.3894),
            (0, 8, 0.0, 32.4408),
            (3, 8, 13.68, 69.43),
            (6, 12, 25.38, 74.62),
            (2, 16, 3.50, 36.02),
            (10, 19, 31.71, 72.67),
        ] {
            let interval = wilson(k, n).expect("n > 0");
            close(100.0 * interval.low, low, 0.005);
            close(100.0 * interval.high, high, 0.005);
        }
    }

    #[test]
    fn wilson_is_inside_zero_and_one_holds_its_estimate_and_has_exact_ends() {
        for n in 1..=60 {
            let mut before = Interval { low: -1.0, high: -1.0 };
            for k in 0..=n {
                let interval = wilson(k, n).expect("n > 0");
                assert!(interval.low >= 0.0 && interval.high <= 1.0, "{k}/{n}");
                assert!(interval.contains(ratio(k, n)), "{k}/{n}");
                assert_eq!(interval.low.to_bits() == 0, k == 0, "{k}/{n}");
                assert_eq!(interval.high.to_bits() == 1.0_f64.to_bits(), k == n, "{k}/{n}");
                assert!(interval.low > before.low && interval.high > before.high, "{k}/{n}");
                let mirror = wilson(n - k, n).expect("n > 0");
                close(interval.low, 1.0 - mirror.high, 1e-12);
                let exact = clopper_pearson(k, n).expect("n > 0");
                assert!(exact.contains(ratio(k, n)), "{k}/{n}");
                assert!(exact.width() > interval.width() - 1e-9 || k == 0 || k == n, "{k}/{n}");
                before = interval;
            }
        }
    }

    #[test]
    fn a_share_of_nothing_has_no_interval() {
        assert_eq!(wilson(0, 0), None);
        assert_eq!(wilson(2, 1), None);
        assert_eq!(clopper_pearson(0, 0), None);
        assert!(wilson(0, 1).is_some());
    }

    #[test]
    fn quantiles() {
        close(normal_quantile(0.975), Z95, 1e-12);
        close(normal_quantile(0.8), 0.841_621_233_572_914_2, 1e-12);
        let exact = clopper_pearson(4, 44).expect("n > 0");
        close(exact.low, 0.025_328_421_703_450_763, 1e-12);
        close(exact.high, 0.216_686_589_465_274_53, 1e-12);
    }
}
