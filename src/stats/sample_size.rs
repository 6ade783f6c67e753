//! How much could have been seen with this many items, and how many more it would take.
//!
//! All answers are "about": they come from normal approximations, to which the exact tests are a little
//! weaker. α is 0.05 two-sided, power 0.80, unless a parameter says otherwise.

use super::proportion::{Z95, bisect, count};

/// The 0.80 quantile of the standard normal distribution: power 80 %.
pub const Z_POWER: f64 = 0.841_621_233_572_914_2;

/// Half-width of a band around a distribution function that holds everywhere at once with probability
/// 1 − `alpha`: √(ln(2/α)/2n). `None` without items.
///
/// Source: Dvoretzky, Kiefer, Wolfowitz, Ann. Math. Stat. 27 (1956); constant by P. Massart, Ann. Prob. 18
/// (1990).
pub fn dkw_half_width(n: u64, alpha: f64) -> Option<f64> {
    (n > 0 && alpha > 0.0 && alpha < 1.0)
        .then(|| ((2.0 / alpha).ln() / (2.0 * count(n))).sqrt().min(1.0))
}

/// Items needed to see a paired difference of `difference` when a share `discordant` of items differs.
/// `None` when no table has that difference, i.e. |difference| > discordant.
///
/// Source: R. J. Connor, Biometrics 43 (1987).
pub fn paired_items_needed(discordant: f64, difference: f64) -> Option<f64> {
    let size = difference.abs();
    if size <= 0.0 || size > discordant || discordant > 1.0 {
        return None;
    }
    let spread = (discordant - size * size).max(0.0);
    let root = Z95 * discordant.sqrt() + Z_POWER * spread.sqrt();
    Some(root * root / (size * size))
}

/// The smallest paired difference `n` items show when a share `discordant` of them differs; `None` when
/// even the largest possible one would be missed.
pub fn smallest_visible_difference(n: u64, discordant: f64) -> Option<f64> {
    if n == 0 || discordant <= 0.0 || discordant > 1.0 {
        return None;
    }
    let seen = |difference: f64| {
        paired_items_needed(discordant, difference).is_some_and(|needed| needed <= count(n))
    };
    seen(discordant).then(|| bisect(0.0, discordant, |difference| !seen(difference)))
}

/// Items needed to show that a difference which is truly 0 lies within ±`margin`, one-sided 2.5 %.
pub fn equivalence_items_needed(discordant: f64, margin: f64) -> Option<f64> {
    let root = Z95 + Z_POWER;
    (margin > 0.0 && discordant > 0.0).then(|| root * root * discordant / (margin * margin))
}

/// Items needed for an interval of ±`half_width` around a share near `share`.
pub fn items_for_half_width(share: f64, half_width: f64) -> Option<f64> {
    (half_width > 0.0 && (0.0..=1.0).contains(&share))
        .then(|| Z95 * Z95 * share * (1.0 - share) / (half_width * half_width))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: Option<f64>, expected: f64, tolerance: f64) {
        let found = found.expect("reachable");
        assert!((found - expected).abs() <= tolerance, "{found} is not {expected}");
    }

    #[test]
    fn bands_agree_with_the_table() {
        for (n, width) in [(44, 0.2047), (81, 0.1509), (156, 0.1087), (200, 0.0960)] {
            close(dkw_half_width(n, 0.05), width, 5e-5);
        }
        close(dkw_half_width(156, 0.05), (40.0_f64.ln() / 312.0).sqrt(), 1e-15);
        close(dkw_half_width(156, 0.025), 0.1185, 5e-5);
        close(dkw_half_width(44, 0.025), 0.2231, 5e-5);
        assert_eq!(dkw_half_width(0, 0.05), None);
    }

    #[test]
    fn connor_agrees_with_the_table() {
        for (discordant, difference, items) in [
            (0.05, 0.01, 3923.0),
            (0.05, 0.05, 155.0),
            (0.10, 0.05, 312.0),
            (0.10, 0.10, 77.0),
            (0.20, 0.02, 3923.0),
            (0.20, 0.10, 155.0),
            (49.0 / 156.0, 0.10, 245.0),
        ] {
            let needed = paired_items_needed(discordant, difference).map(f64::ceil);
            close(needed, items, 0.0);
        }
        assert_eq!(paired_items_needed(0.05, 0.10), None);
        assert_eq!(paired_items_needed(0.05, 0.0), None);
    }

    #[test]
    fn smallest_differences_agree_with_the_table() {
        for (n, discordant, points) in [
            (156, 0.05, 4.98),
            (156, 0.10, 7.04),
            (156, 0.20, 9.96),
            (156, 0.314, 12.47),
            (81, 0.10, 9.70),
            (44, 0.20, 18.39),
            (400, 0.05, 3.12),
            (1000, 0.314, 4.96),
        ] {
            close(smallest_visible_difference(n, discordant).map(|d| 100.0 * d), points, 5e-3);
        }
        assert_eq!(smallest_visible_difference(81, 0.05), None);
        assert_eq!(smallest_visible_difference(44, 0.10), None);
        assert_eq!(smallest_visible_difference(0, 0.10), None);
    }

    #[test]
    fn equivalence_and_widths_agree_with_the_table() {
        for (discordant, margin, items) in
            [(0.05, 0.05, 157.0), (0.10, 0.05, 314.0), (0.20, 0.03, 1745.0), (0.05, 0.02, 982.0)]
        {
            close(equivalence_items_needed(discordant, margin).map(|n| n.ceil()), items, 1.0);
        }
        for (share, half, items) in
            [(0.53, 0.05, 383.0), (0.53, 0.03, 1064.0), (0.09, 0.05, 126.0), (0.09, 0.03, 350.0)]
        {
            close(items_for_half_width(share, half).map(f64::ceil), items, 0.0);
        }
    }
}
