//! Exact tests on small counts, and the correction for asking several questions.

use statrs::function::factorial::ln_factorial;

/// Above this many trials the smallest term of Bin(m, 1/2) is too small for a double.
const DIRECT_UP_TO: u64 = 1000;

/// P(X = k) and P(X ≤ k) for X ~ Bin(m, 1/2).
pub(super) fn half_binomial(k: u64, m: u64) -> (f64, f64) {
    use super::proportion::count;
    if k >= m {
        let all = if k == m { half_to_the(m) } else { 0.0 };
        return (all, 1.0);
    }
    if m <= DIRECT_UP_TO {
        let mut term = half_to_the(m);
        let mut sum = term;
        for j in 0..k {
            term *= count(m - j) / count(j + 1);
            sum += term;
        }
        return (term, sum.min(1.0));
    }
    // Every term relative to the middle one; their sum stands for 2^m. Far terms vanish, as they should.
    let middle = m / 2;
    let (mut at, mut up_to, mut total) = (0.0, 0.0, 0.0);
    let mut visit = |j: u64, term: f64| {
        total += term;
        if j <= k {
            up_to += term;
        }
        if j == k {
            at = term;
        }
    };
    let mut term = 1.0;
    for j in (0..=middle).rev() {
        visit(j, term);
        term *= count(j) / count(m - j + 1);
    }
    term = 1.0;
    for j in middle + 1..=m {
        term *= count(m - j + 1) / count(j);
        visit(j, term);
    }
    (at / total, (up_to / total).min(1.0))
}

/// 2^−m, exact: a power of two by squaring, not by a logarithm.
fn half_to_the(m: u64) -> f64 {
    0.5_f64.powi(i32::try_from(m).unwrap_or(i32::MAX))
}

/// Exact two-sided sign test: are `plus` and `minus` equally likely? No observation gives 1.
pub fn sign_test(plus: u64, minus: u64) -> f64 {
    let trials = plus + minus;
    if trials == 0 {
        return 1.0;
    }
    (2.0 * half_binomial(plus.min(minus), trials).1).min(1.0)
}

/// Fisher's exact test of a 2×2 table `[[a, b], [c, d]]`, two-sided: the sum over all tables with the
/// same margins that are no likelier than this one, with a relative slack of 1e-7 for rounding.
pub fn fisher(table: [[u64; 2]; 2]) -> f64 {
    let [[a, b], [c, d]] = table;
    let (row, column, n) = (a + b, a + c, a + b + c + d);
    let choose = |n: u64, k: u64| ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k);
    let log_p = |x: u64| choose(column, x) + choose(n - column, row - x) - choose(n, row);
    let observed = log_p(a);
    let lowest = (row + column).saturating_sub(n);
    (lowest..=row.min(column))
        .map(log_p)
        .filter(|log| *log <= observed + 1e-7)
        .map(f64::exp)
        .sum::<f64>()
        .min(1.0)
}

/// Holm's step-down adjustment of a family of p-values, in the order given.
///
/// Source: S. Holm, Scand. J. Stat. 6 (1979). Not a number counts as 1.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let clean = |p: f64| if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) };
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|left, right| clean(p_values[*left]).total_cmp(&clean(p_values[*right])));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut floor = 0.0_f64;
    let mut left = super::proportion::count(p_values.len() as u64);
    for index in order {
        floor = floor.max((clean(p_values[index]) * left).min(1.0));
        adjusted[index] = floor;
        left -= 1.0;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sign_test_of_known_tables() {
        for (plus, minus, p) in
            [(0, 0, 1.0), (0, 6, 0.03125), (5, 0, 0.0625), (24, 25, 1.0), (10, 1, 0.011_718_75)]
        {
            assert!((sign_test(plus, minus) - p).abs() < 1e-15, "{plus} {minus}");
            assert!((sign_test(minus, plus) - p).abs() < 1e-15, "{plus} {minus}");
        }
    }

    #[test]
    fn both_ways_of_summing_agree() {
        // 1000 trials are summed from the smallest term, 1002 from the middle; symmetry gives P(X ≤ m/2).
        for m in [1000, 1002, 20_000] {
            let (middle, sum) = half_binomial(m / 2, m);
            assert!((sum - (0.5 + middle / 2.0)).abs() < 1e-11, "{m}: {sum}");
        }
        assert!((half_binomial(3, 3).1 - 1.0).abs() < 1e-15);
    }

    #[test]
    fn holm_keeps_order_and_never_falls() {
        assert_eq!(holm(&[0.04, 0.01, 0.03]), [0.06, 0.03, 0.06]);
        assert_eq!(holm(&[0.5, f64::NAN]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn fisher_of_known_tables() {
        for (table, p) in [([[8, 2], [1, 9]], 0.005_477_494_641_581_329), ([[0, 8], [3, 5]], 0.2)] {
            assert!((fisher(table) - p).abs() < 1e-12, "{table:?}");
        }
        assert!((fisher([[0, 0], [3, 5]]) - 1.0).abs() < 1e-12);
    }
}
