//! Items that come in groups: two pictures of one place say less than two pictures of two places.
//!
//! Intervals are drawn by resampling whole clusters, never single items. The draws depend on the seed
//! and on the order of the clusters alone, so a caller that sorts its clusters gets the same interval
//! from the same data, whatever order the data came in.

use statrs::function::erf::erfc;

use super::proportion::{Interval, count, ratio};
use super::random::Random;

/// Resamples behind every interval here.
pub const DRAWS: usize = 10_000;

/// Fewest clusters with a surplus of one answer from which the adjusted test is computed.
pub const FEWEST_INFORMATIVE: usize = 20;

/// One share within a cluster: `hits` of `items`; hits may be negative when they are differences.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Hits, or the surplus of one kind of hit over the other.
    pub hits: i64,
    /// Items.
    pub items: u64,
}

/// Percentile bootstrap over clusters, 95 %, of `N` ratios Σ hits / Σ items drawn together.
///
/// Source: B. Efron, R. Tibshirani, An Introduction to the Bootstrap (1993), ch. 13, with whole clusters
/// as the units. A draw that holds no item of a ratio says nothing of it and is left out of that ratio;
/// `None` when that is more than one draw in twenty, or when there are fewer than two clusters.
pub fn bootstrap<const N: usize>(clusters: &[[Tally; N]], seed: u64) -> [Option<Interval>; N] {
    if clusters.len() < 2 {
        return [None; N];
    }
    let bound = clusters.len() as u64;
    let mut random = Random::new(seed);
    let mut drawn: [Vec<f64>; N] = std::array::from_fn(|_| Vec::with_capacity(DRAWS));
    for _ in 0..DRAWS {
        let mut sums = [Tally::default(); N];
        for _ in 0..clusters.len() {
            let index = usize::try_from(random.below(bound)).unwrap_or(0);
            for (sum, tally) in sums.iter_mut().zip(&clusters[index]) {
                sum.hits += tally.hits;
                sum.items += tally.items;
            }
        }
        for (values, sum) in drawn.iter_mut().zip(&sums) {
            if sum.items > 0 {
                values.push(signed(sum.hits) / count(sum.items));
            }
        }
    }
    drawn.map(|mut values| {
        if values.len() * 20 < DRAWS * 19 {
            return None;
        }
        values.sort_by(f64::total_cmp);
        Some(Interval {
            low: order_statistic(&values, 0.025),
            high: order_statistic(&values, 0.975),
        })
    })
}

/// Linear interpolation between order statistics of sorted values.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a position within a short list"
)]
fn order_statistic(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let position = share * count(last as u64);
    let below = (position.floor() as usize).min(last);
    let above = (below + 1).min(last);
    sorted[below] + (position - position.floor()) * (sorted[above] - sorted[below])
}

/// McNemar's test adjusted for clusters: p of (Σ d)² / Σ d² on one degree of freedom, where `d` is the
/// surplus of one discordant kind within a cluster.
///
/// Source: N. A. Obuchowski, Stat. Med. 17 (1998), in the form of Z. Yang and others, Biometrical J. 52
/// (2010). Refused, as `None`, below [`FEWEST_INFORMATIVE`] clusters with a surplus.
pub fn adjusted_mcnemar(surplus: &[i64]) -> Option<f64> {
    let informative = surplus.iter().filter(|value| **value != 0).count();
    if informative < FEWEST_INFORMATIVE {
        return None;
    }
    let sum: f64 = surplus.iter().map(|value| signed(*value)).sum();
    let squares: f64 = surplus.iter().map(|value| signed(*value) * signed(*value)).sum();
    let statistic = sum * sum / squares;
    Some(erfc((statistic / 2.0).sqrt()))
}

/// The correlation of yes/no answers within clusters, by analysis of variance, kept within 0 to 1.
///
/// Source: A. Donner, Int. Stat. Rev. 54 (1986). `None` without at least two clusters, one of which holds
/// two items.
pub fn intraclass_correlation(clusters: &[Tally]) -> Option<f64> {
    let kept: Vec<&Tally> = clusters.iter().filter(|tally| tally.items > 0).collect();
    let groups = kept.len() as u64;
    let items: u64 = kept.iter().map(|tally| tally.items).sum();
    if groups < 2 || items <= groups {
        return None;
    }
    let hits: f64 = kept.iter().map(|tally| signed(tally.hits)).sum();
    let (n, k) = (count(items), count(groups));
    let overall = hits / n;
    let (mut between, mut within, mut squares) = (0.0, 0.0, 0.0);
    for tally in kept {
        let (size, yes) = (count(tally.items), signed(tally.hits));
        let share = yes / size;
        between += size * (share - overall) * (share - overall);
        within += yes * (1.0 - share);
        squares += size * size;
    }
    let (between, within) = (between / (k - 1.0), within / (n - k));
    let typical = (n - squares / n) / (k - 1.0);
    let denominator = between + (typical - 1.0) * within;
    if denominator <= 0.0 {
        return Some(0.0);
    }
    Some(((between - within) / denominator).clamp(0.0, 1.0))
}

/// How many independent items `n` clustered ones are worth: n / (1 + (mean size − 1) ρ).
///
/// Source: L. Kish, Survey Sampling (1965). Mean size is items per cluster.
pub fn effective_n(n: u64, clusters: u64, correlation: f64) -> f64 {
    if clusters == 0 {
        return 0.0;
    }
    count(n) / (1.0 + (ratio(n, clusters) - 1.0).max(0.0) * correlation)
}

#[expect(clippy::cast_precision_loss, reason = "counts of pictures are far below 2^53")]
fn signed(value: i64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::proportion::wilson;

    fn singles(hits: usize, items: usize) -> Vec<[Tally; 1]> {
        (0..items).map(|index| [Tally { hits: i64::from(index < hits), items: 1 }]).collect()
    }

    #[test]
    fn singletons_give_about_the_plain_interval() {
        let [interval] = bootstrap(&singles(82, 156), 1);
        let (drawn, plain) = (interval.expect("drawn"), wilson(82, 156).expect("n > 0"));
        assert!((drawn.low - plain.low).abs() < 0.01, "{drawn:?} {plain:?}");
        assert!((drawn.high - plain.high).abs() < 0.01, "{drawn:?} {plain:?}");
    }

    #[test]
    fn doubling_every_item_within_its_cluster_changes_nothing() {
        let doubled: Vec<[Tally; 1]> = singles(30, 90)
            .into_iter()
            .map(|[tally]| [Tally { hits: tally.hits * 2, items: tally.items * 2 }])
            .collect();
        assert_eq!(bootstrap(&doubled, 5), bootstrap(&singles(30, 90), 5));
    }

    #[test]
    fn same_seed_same_interval_and_clusters_widen_it() {
        let alone = singles(60, 120);
        let paired: Vec<[Tally; 1]> = (0..60)
            .map(|index| [Tally { hits: if index < 30 { 2 } else { 0 }, items: 2 }])
            .collect();
        let [plain] = bootstrap(&alone, 3);
        let [wide] = bootstrap(&paired, 3);
        assert_eq!(bootstrap(&alone, 3), [plain]);
        assert!(wide.expect("drawn").width() > 1.2 * plain.expect("drawn").width());
    }

    #[test]
    fn too_little_to_resample() {
        assert_eq!(bootstrap::<1>(&[], 0), [None]);
        assert_eq!(bootstrap(&[[Tally { hits: 1, items: 2 }]], 0), [None]);
        let mostly_empty: Vec<[Tally; 1]> =
            (0..10).map(|index| [Tally { hits: 0, items: u64::from(index == 0) }]).collect();
        assert_eq!(bootstrap(&mostly_empty, 0), [None]);
    }

    #[test]
    fn adjusted_test_needs_twenty_clusters_and_equals_the_plain_one_on_singletons() {
        let surplus: Vec<i64> = [vec![1; 30], vec![-1; 10], vec![0; 50]].concat();
        // (30 − 10)² / 40 = 10 on one degree of freedom.
        let p = adjusted_mcnemar(&surplus).expect("enough");
        assert!((p - 0.001_565_402_258_002_55).abs() < 1e-12, "{p}");
        assert_eq!(adjusted_mcnemar(&[1; 19]), None);
        assert!(adjusted_mcnemar(&[1; 20]).is_some());
    }

    #[test]
    fn correlation_runs_from_none_to_full_and_shrinks_n() {
        let alike: Vec<Tally> =
            (0..20).map(|index| Tally { hits: if index < 10 { 2 } else { 0 }, items: 2 }).collect();
        let apart = vec![Tally { hits: 1, items: 2 }; 20];
        assert!((intraclass_correlation(&alike).expect("enough") - 1.0).abs() < 1e-12);
        assert!(intraclass_correlation(&apart).expect("enough").abs() < 1e-12);
        assert_eq!(intraclass_correlation(&[Tally { hits: 1, items: 1 }; 9]), None);
        for (n, clusters, correlation, expected) in [
            (156, 100, 0.3, 133.6),
            (156, 100, 0.5, 121.9),
            (156, 78, 0.3, 120.0),
            (156, 78, 0.5, 104.0),
        ] {
            assert!((effective_n(n, clusters, correlation) - expected).abs() < 0.05);
        }
    }
}
