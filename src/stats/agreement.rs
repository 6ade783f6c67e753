//! How far people, or one person twice, give the same answer to the same item.
//!
//! Answers are small numbers, one list per rater, `None` where that rater gave none. Three coefficients
//! are computed together because each alone misleads: with four items in five of one kind the same 90 %
//! of equal answers reads as κ 0.80 or 0.44. No words such as "substantial" are attached to them.
//! An undefined coefficient is `None`, never 0 or 1.

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF as _, StudentsT};

use super::proportion::{Interval, count, ratio, wilson};
use super::random::Random;

/// Most resamples behind an interval.
const DRAWS: u64 = 10_000;
/// Fewest resamples behind an interval, however many items there are.
const FEWEST_DRAWS: u64 = 1_000;
/// Resamples times items, about.
const EFFORT: u64 = 20_000_000;
/// Fewest items of which an interval is given.
const INTERVAL_FROM: usize = 5;

/// One answer of one rater to one item.
pub type Answer = Option<u8>;

/// A coefficient with its 95 % interval, each as far as it is defined.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Coefficient {
    /// The value; `None` when it is undefined.
    pub value: Option<f64>,
    /// `None` when undefined, with fewer than five items, or when resampling never gives another value:
    /// equal answers throughout say nothing of how sure the coefficient is.
    pub interval: Option<Interval>,
}

/// Agreement of two lists of answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairAgreement {
    /// Items both answered.
    pub items: u64,
    /// Of these, answered equally.
    pub agreed: u64,
    /// Wilson's interval of agreed/items.
    pub interval: Option<Interval>,
    /// Cohen's κ, unweighted.
    pub kappa: Coefficient,
    /// Krippendorff's α, nominal.
    pub alpha: Coefficient,
    /// Gwet's AC1.
    pub ac1: Coefficient,
}

/// Everything about two raters whose answers can take `categories` values.
pub fn pair(first: &[Answer], second: &[Answer], categories: usize, seed: u64) -> PairAgreement {
    let both = answered_by_both(first, second);
    let table = Table::of(&both);
    let [kappa_interval, alpha_interval] = bootstrap(both.len(), seed, |sample| {
        let mut drawn = Table::empty(table.size);
        for index in sample {
            drawn.add(both[*index]);
        }
        [drawn.kappa(), drawn.alpha()]
    });
    let units: Vec<Vec<u8>> = both.iter().map(|(a, b)| vec![*a, *b]).collect();
    PairAgreement {
        items: table.items(),
        agreed: table.agreed(),
        interval: wilson(table.agreed(), table.items()),
        kappa: Coefficient { value: table.kappa(), interval: kappa_interval },
        alpha: Coefficient { value: table.alpha(), interval: alpha_interval },
        ac1: Coefficient {
            value: gwet_ac1(&units, Some(categories)),
            interval: ac1_interval(&both, categories),
        },
    }
}

/// Cohen's κ of two raters over the items both answered.
///
/// Source: J. Cohen, Educ. Psychol. Meas. 20 (1960). Undefined without such an item, and when chance
/// alone would make every answer equal.
pub fn cohen_kappa(first: &[Answer], second: &[Answer]) -> Option<f64> {
    Table::of(&answered_by_both(first, second)).kappa()
}

fn answered_by_both(first: &[Answer], second: &[Answer]) -> Vec<(u8, u8)> {
    first.iter().zip(second).filter_map(|(a, b)| Some(((*a)?, (*b)?))).collect()
}

/// How often each pair of answers occurs. Two raters' coefficients need no more, which is what makes
/// ten thousand resamples cheap.
struct Table {
    size: usize,
    cells: Vec<u64>,
}

impl Table {
    fn empty(size: usize) -> Self {
        Self { size, cells: vec![0; size * size] }
    }

    fn of(pairs: &[(u8, u8)]) -> Self {
        let largest = pairs.iter().map(|(a, b)| usize::from(*a.max(b)) + 1).max().unwrap_or(0);
        let mut table = Self::empty(largest);
        pairs.iter().for_each(|pair| table.add(*pair));
        table
    }

    fn add(&mut self, (a, b): (u8, u8)) {
        self.cells[usize::from(a) * self.size + usize::from(b)] += 1;
    }

    fn items(&self) -> u64 {
        self.cells.iter().sum()
    }

    fn agreed(&self) -> u64 {
        (0..self.size).map(|value| self.cells[value * self.size + value]).sum()
    }

    /// How often the first and the second rater gave each value.
    fn margins(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        (0..self.size).map(|value| {
            let row = self.cells[value * self.size..(value + 1) * self.size].iter().sum();
            let column = self.cells.iter().skip(value).step_by(self.size).sum();
            (row, column)
        })
    }

    fn kappa(&self) -> Option<f64> {
        // In whole numbers, so that "chance makes all equal" is exact.
        let expected: u64 = self.margins().map(|(a, b)| a * b).sum();
        let square = self.items() * self.items();
        (expected != square).then(|| {
            let chance = ratio(expected, square);
            (ratio(self.agreed(), self.items()) - chance) / (1.0 - chance)
        })
    }

    /// [`nominal_alpha`] of the pairs as units.
    fn alpha(&self) -> Option<f64> {
        let answers = 2 * self.items();
        let unequal = 2 * (self.items() - self.agreed());
        let alike: u64 = self.margins().map(|(a, b)| (a + b) * (a + b).saturating_sub(1)).sum();
        let all = answers * answers.saturating_sub(1);
        (all != alike).then(|| 1.0 - count(unequal) * count(answers - 1) / count(all - alike))
    }
}

/// The answers to each item, for the coefficients that take any number of raters.
pub fn units(ratings: &[Vec<Answer>]) -> Vec<Vec<u8>> {
    let items = ratings.iter().map(Vec::len).max().unwrap_or(0);
    (0..items)
        .map(|item| ratings.iter().filter_map(|rater| rater.get(item).copied().flatten()).collect())
        .collect()
}

/// Krippendorff's α for nominal answers, any number of raters, missing answers allowed.
pub fn nominal_alpha(units: &[Vec<u8>]) -> Option<f64> {
    krippendorff_alpha(units, |a, b| if a == b { 0.0 } else { 1.0 })
}

/// Krippendorff's α with any distance between two answers.
///
/// Source: K. Krippendorff, Content Analysis (2004), ch. 11: 1 − observed / expected disagreement, from
/// the pairs within units and the pairs over all units. Units with fewer than two answers are left out.
/// Undefined when nothing is left, or no two answers that are left differ.
pub fn krippendorff_alpha<T: Ord + Copy>(
    units: &[Vec<T>],
    distance: impl Fn(T, T) -> f64,
) -> Option<f64> {
    let mut totals: BTreeMap<T, u64> = BTreeMap::new();
    let mut observed = 0.0;
    for unit in units.iter().filter(|unit| unit.len() >= 2) {
        let mut within: BTreeMap<T, u64> = BTreeMap::new();
        for answer in unit {
            *within.entry(*answer).or_default() += 1;
            *totals.entry(*answer).or_default() += 1;
        }
        observed += pairwise(&within, &distance) / count(unit.len() as u64 - 1);
    }
    let answers: u64 = totals.values().sum();
    if answers < 2 {
        return None;
    }
    let expected = pairwise(&totals, &distance) / count(answers - 1);
    (expected > 0.0).then(|| 1.0 - observed / expected)
}

/// Sum of the distance over all ordered pairs of different answers.
fn pairwise<T: Ord + Copy>(counts: &BTreeMap<T, u64>, distance: &impl Fn(T, T) -> f64) -> f64 {
    let mut sum = 0.0;
    for (a, count_a) in counts {
        for (b, count_b) in counts {
            let pairs = if a == b { count_a * (count_a - 1) } else { count_a * count_b };
            sum += count(pairs) * distance(*a, *b);
        }
    }
    sum
}

/// How unlike two sets are, each given as the bits of a number: 1 − Jaccard; two empty sets are equal.
pub fn jaccard_distance(first: u64, second: u64) -> f64 {
    let union = u64::from((first | second).count_ones());
    let shared = u64::from((first & second).count_ones());
    if union == 0 { 0.0 } else { 1.0 - ratio(shared, union) }
}

/// Gwet's AC1, any number of raters, missing answers allowed.
///
/// Source: K. L. Gwet, Br. J. Math. Stat. Psychol. 61 (2008). `categories` is how many values an answer
/// can take; without it, those that occur. Undefined when no unit has two answers, or there is but one
/// value.
pub fn gwet_ac1(units: &[Vec<u8>], categories: Option<usize>) -> Option<f64> {
    let terms = ac1_terms(units, categories)?;
    Some((terms.observed - terms.chance) / (1.0 - terms.chance))
}

struct Ac1Terms {
    observed: f64,
    chance: f64,
    shares: BTreeMap<u8, f64>,
    categories: f64,
}

fn ac1_terms(units: &[Vec<u8>], categories: Option<usize>) -> Option<Ac1Terms> {
    let answered: Vec<&Vec<u8>> = units.iter().filter(|unit| !unit.is_empty()).collect();
    let mut shares: BTreeMap<u8, f64> = BTreeMap::new();
    let mut observed = 0.0;
    let mut doubled = 0_u64;
    for unit in &answered {
        let answers = unit.len() as u64;
        let mut within: BTreeMap<u8, u64> = BTreeMap::new();
        for answer in *unit {
            *within.entry(*answer).or_default() += 1;
        }
        for (answer, number) in &within {
            *shares.entry(*answer).or_default() += ratio(*number, answers);
        }
        if answers >= 2 {
            doubled += 1;
            let agreeing: u64 = within.values().map(|number| number * (number - 1)).sum();
            observed += ratio(agreeing, answers * (answers - 1));
        }
    }
    let categories = categories.unwrap_or(0).max(shares.len());
    if doubled == 0 || categories < 2 {
        return None;
    }
    let total = count(answered.len() as u64);
    shares.values_mut().for_each(|share| *share /= total);
    let categories = count(categories as u64);
    let spread: f64 = shares.values().map(|share| share * (1.0 - share)).sum();
    Some(Ac1Terms {
        observed: observed / count(doubled),
        chance: spread / (categories - 1.0),
        shares,
        categories,
    })
}

/// 95 % interval of AC1 for two raters who both answered every item: Gwet's variance over items, t with
/// n − 1 degrees of freedom, cut at ±1.
fn ac1_interval(pairs: &[(u8, u8)], categories: usize) -> Option<Interval> {
    if pairs.len() < INTERVAL_FROM {
        return None;
    }
    let units: Vec<Vec<u8>> = pairs.iter().map(|(a, b)| vec![*a, *b]).collect();
    let terms = ac1_terms(&units, Some(categories))?;
    let ac1 = (terms.observed - terms.chance) / (1.0 - terms.chance);
    let items = count(pairs.len() as u64);
    let squares: f64 = pairs
        .iter()
        .map(|(a, b)| {
            let agreed = if a == b { 1.0 } else { 0.0 };
            let missing = |answer: &u8| 1.0 - terms.shares.get(answer).copied().unwrap_or(0.0);
            // Answers this item has, each with the share of the other values.
            let own_chance = (missing(a) + missing(b)) / 2.0 / (terms.categories - 1.0);
            let own = (agreed - terms.chance) / (1.0 - terms.chance);
            let corrected =
                own - 2.0 * (1.0 - ac1) * (own_chance - terms.chance) / (1.0 - terms.chance);
            (corrected - ac1).powi(2)
        })
        .sum();
    let deviation = (squares / (items * (items - 1.0))).sqrt();
    let quantile = StudentsT::new(0.0, 1.0, items - 1.0).ok()?.inverse_cdf(0.975);
    (deviation > 0.0).then(|| Interval {
        low: (ac1 - quantile * deviation).max(-1.0),
        high: (ac1 + quantile * deviation).min(1.0),
    })
}

/// 95 % interval of a statistic of any number of raters, by resampling units.
pub fn units_interval(
    units: &[Vec<u8>],
    seed: u64,
    statistic: impl Fn(&[Vec<u8>]) -> Option<f64>,
) -> Option<Interval> {
    let doubled: Vec<&Vec<u8>> = units.iter().filter(|unit| unit.len() >= 2).collect();
    let [interval] = bootstrap(doubled.len(), seed, |sample| {
        let drawn: Vec<Vec<u8>> = sample.iter().map(|index| doubled[*index].clone()).collect();
        [statistic(&drawn)]
    });
    interval
}

/// Percentile bootstrap over items, of `N` statistics drawn together.
///
/// Source: B. Efron, R. Tibshirani, An Introduction to the Bootstrap (1993), ch. 13. A draw of which a
/// statistic is undefined says nothing of it and is left out; with more than one such draw in twenty
/// there is no interval.
fn bootstrap<const N: usize>(
    items: usize,
    seed: u64,
    statistics: impl Fn(&[usize]) -> [Option<f64>; N],
) -> [Option<Interval>; N] {
    if items < INTERVAL_FROM {
        return [None; N];
    }
    let draws = (EFFORT / items as u64).clamp(FEWEST_DRAWS, DRAWS);
    let mut random = Random::new(seed);
    let mut sample = vec![0_usize; items];
    let mut drawn: [Vec<f64>; N] = std::array::from_fn(|_| Vec::new());
    for _ in 0..draws {
        for place in &mut sample {
            *place = usize::try_from(random.below(items as u64)).unwrap_or(0);
        }
        for (values, value) in drawn.iter_mut().zip(statistics(&sample)) {
            values.extend(value);
        }
    }
    drawn.map(|mut values| {
        if (values.len() as u64) * 20 < draws * 19 {
            return None;
        }
        values.sort_by(f64::total_cmp);
        let low = order_statistic(&values, 0.025)?;
        let high = order_statistic(&values, 0.975)?;
        (low < high).then_some(Interval { low, high })
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a position within a list of at most 10,000"
)]
fn order_statistic(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = share * count(last as u64);
    let below = (position.floor() as usize).min(last);
    let above = (below + 1).min(last);
    Some(sorted[below] + (position - position.floor()) * (sorted[above] - sorted[below]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Two lists with `a` yes/yes, `b` yes/no, `c` no/yes and `d` no/no.
    fn table(a: usize, b: usize, c: usize, d: usize) -> (Vec<Answer>, Vec<Answer>) {
        let list = |values: [u8; 4]| -> Vec<Answer> {
            [a, b, c, d]
                .iter()
                .zip(values)
                .flat_map(|(number, value)| std::iter::repeat_n(Some(value), *number))
                .collect()
        };
        (list([1, 1, 0, 0]), list([1, 0, 1, 0]))
    }

    fn near(found: Option<f64>, expected: Option<f64>, tolerance: f64, what: &str) {
        match (found, expected) {
            (Some(found), Some(expected)) => {
                assert!((found - expected).abs() <= tolerance, "{what}: {found}, not {expected}");
            }
            (found, expected) => assert_eq!(found, expected, "{what}"),
        }
    }

    #[test]
    fn published_table() {
        for (cells, observed, kappa, alpha, ac1) in [
            ((18, 2, 2, 18), 0.9, Some(0.8), Some(0.8025), Some(0.8)),
            ((34, 2, 2, 2), 0.9, Some(0.4444), Some(0.4514), Some(0.8780)),
            ((36, 2, 1, 1), 0.925, Some(0.3617), Some(0.3680), Some(0.9150)),
            ((39, 1, 0, 0), 0.975, Some(0.0), Some(0.0), Some(0.9744)),
            ((40, 0, 0, 0), 1.0, None, None, Some(1.0)),
        ] {
            let (first, second) = table(cells.0, cells.1, cells.2, cells.3);
            let found = pair(&first, &second, 2, 1);
            near(Some(ratio(found.agreed, found.items)), Some(observed), 1e-12, "observed");
            near(found.kappa.value, kappa, 5e-5, "kappa");
            near(found.alpha.value, alpha, 5e-5, "alpha");
            near(found.ac1.value, ac1, 5e-5, "AC1");
        }
    }

    #[test]
    fn intervals_are_those_published_or_absent() {
        let of = |cells: (usize, usize, usize, usize)| {
            let (first, second) = table(cells.0, cells.1, cells.2, cells.3);
            pair(&first, &second, 2, 1)
        };
        let balanced = of((18, 2, 2, 18)).ac1.interval.expect("defined");
        near(Some(balanced.low), Some(0.6057), 5e-5, "low");
        near(Some(balanced.high), Some(0.9943), 5e-5, "high");
        let skewed = of((34, 2, 2, 2));
        let ac1 = skewed.ac1.interval.expect("defined");
        near(Some(ac1.low), Some(0.7482), 5e-5, "low");
        near(Some(ac1.high), Some(1.0), 0.0, "high");
        // A bootstrap of 20,000 draws gave κ −0.07 to 0.84.
        let kappa = skewed.kappa.interval.expect("defined");
        near(Some(kappa.low), Some(-0.07), 0.02, "low");
        near(Some(kappa.high), Some(0.84), 0.02, "high");
        let same = of((40, 0, 0, 0));
        assert_eq!(
            (same.kappa.interval, same.alpha.interval, same.ac1.interval),
            (None, None, None)
        );
        let mixed = of((20, 0, 0, 20));
        assert_eq!(mixed.kappa, Coefficient { value: Some(1.0), interval: None });
        assert!(mixed.interval.expect("defined").low > 0.9);
        assert_eq!(of((2, 1, 0, 1)).kappa.interval, None, "four items");
    }

    #[test]
    fn without_a_common_item_nothing_is_defined() {
        let found = pair(&[Some(1), None], &[None, Some(0)], 2, 1);
        assert_eq!((found.items, found.interval), (0, None));
        for coefficient in [found.kappa, found.alpha, found.ac1] {
            assert_eq!(coefficient, Coefficient::default());
        }
    }

    #[test]
    fn sets_are_compared_by_what_they_share() {
        near(Some(jaccard_distance(0b11, 0b01)), Some(0.5), 1e-12, "half");
        near(Some(jaccard_distance(0, 0)), Some(0.0), 0.0, "empty");
        near(Some(jaccard_distance(0b10, 0b01)), Some(1.0), 0.0, "apart");
        // By hand: units {ab,a} {c,c}: observed (1/2 + 1/2)/4, expected over 12 ordered pairs:
        // ab-a 2·½, ab-c 4·1, a-c 4·1, c-c 0 → 9/12.
        let alpha = krippendorff_alpha(&[vec![0b011, 0b001], vec![0b100, 0b100]], jaccard_distance);
        near(alpha, Some(1.0 - 0.25 / 0.75), 1e-12, "alpha");
    }

    #[test]
    fn intervals_of_many_raters_come_from_units_with_two_answers() {
        let ratings: Vec<Vec<Answer>> = vec![
            (0..30).map(|item| Some(u8::from(item % 3 == 0))).collect(),
            (0..30).map(|item| Some(u8::from(item % 3 == 0 || item == 5))).collect(),
            (0..30).map(|item| (item < 20).then(|| u8::from(item % 4 == 0))).collect(),
        ];
        let units = units(&ratings);
        let alpha = nominal_alpha(&units).expect("defined");
        let interval = units_interval(&units, 3, nominal_alpha).expect("defined");
        assert!(interval.contains(alpha), "{alpha} {interval:?}");
        assert_eq!(units_interval(&units[..4], 3, nominal_alpha), None);
    }

    proptest! {
        #[test]
        fn coefficients_do_not_depend_on_who_is_first_or_on_names_of_values(
            pairs in proptest::collection::vec((0_u8..3, 0_u8..3), 5..40)
        ) {
            let list = |f: &dyn Fn(&(u8, u8)) -> u8| -> Vec<Answer> {
                pairs.iter().map(|pair| Some(f(pair))).collect()
            };
            let (first, second) = (list(&|p| p.0), list(&|p| p.1));
            let of = |first: &[Answer], second: &[Answer]| {
                let units = units(&[first.to_vec(), second.to_vec()]);
                let table = Table::of(&answered_by_both(first, second));
                near(table.alpha(), nominal_alpha(&units), 1e-9, "two ways to alpha");
                [cohen_kappa(first, second), nominal_alpha(&units), gwet_ac1(&units, Some(3))]
            };
            let forward = of(&first, &second);
            let backward = of(&second, &first);
            let renamed = of(&list(&|p| 2 - p.0), &list(&|p| 2 - p.1));
            for other in [backward, renamed] {
                for (one, other) in forward.iter().zip(other) {
                    near(*one, other, 1e-9, "another way round");
                }
            }
            for value in forward {
                prop_assert!(value.is_none_or(|v| (-1.0..=1.0 + 1e-12).contains(&v)));
            }
        }
    }
}
