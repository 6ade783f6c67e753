//! How far the outputs of two artifacts lie apart, element by element, in the terms of report schema 2.
//!
//! Differences are taken in f64. An element that is NaN or infinite on either side is counted by name and
//! compared with nothing, so a mean over finite elements is never mistaken for a mean over all. One
//! fixture is a [`DeltaFold`]; folds add up to [`OutputTotals`], in any order and over any machines.

use serde::{Deserialize, Serialize};

use super::report::{CountFraction, Exceedance, MaxMeanMin, OutputDelta, Sides};
use crate::stats::quantile::{ExactSum, QuantileStream};

/// Relative differences are taken where the reference exceeds this.
pub(in crate::sighted) const REL_FLOOR: f64 = 1e-6;

/// The three tolerance pairs; `atol` and `rtol` are equal in each.
pub(in crate::sighted) const TOLERANCES: [f64; 3] = [1e-5, 1e-3, 1e-2];

/// The rules, in the order of [`DeltaSums::exceed`]: absolute, relative, combined, both, either.
const RULES: usize = 5;

/// Sums over elements that need no order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::sighted) struct DeltaSums {
    /// Name of the output.
    pub name: String,
    /// Elements that are NaN or infinite.
    pub non_finite: Sides<u64>,
    /// Elements that are finite on both sides.
    pub compared: u64,
    /// Largest absolute difference.
    pub max_abs: f64,
    /// Sum of absolute differences.
    pub abs_sum: ExactSum,
    /// Of the compared, those whose reference exceeds [`REL_FLOOR`].
    pub rel_compared: u64,
    /// Largest relative difference.
    pub max_rel: f64,
    /// Sum of relative differences.
    pub rel_sum: ExactSum,
    /// Elements beyond each tolerance, by rule.
    pub exceed: [[u64; RULES]; 3],
}

/// What one fixture adds to one output.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::sighted) struct DeltaFold {
    /// Sums.
    pub sums: DeltaSums,
    /// Every absolute difference, unordered.
    pub abs: Vec<f64>,
    /// Every relative difference, unordered.
    pub rel: Vec<f64>,
}

/// Largest, smallest and sum of one value over fixtures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::sighted) struct Spread {
    /// Values given.
    pub count: u64,
    /// Largest; 0 when there is none.
    pub max: f64,
    /// Smallest; 0 when there is none.
    pub min: f64,
    /// Sum.
    pub sum: ExactSum,
}

impl Spread {
    /// Takes in one finite value.
    pub(in crate::sighted) fn add(&mut self, value: f64) {
        (self.max, self.min) = match self.count {
            0 => (value, value),
            _ => (self.max.max(value), self.min.min(value)),
        };
        self.sum.add(value);
        self.count += 1;
    }

    /// Takes in everything `other` was given.
    pub(in crate::sighted) fn merge(&mut self, other: &Self) {
        (self.max, self.min) = match (self.count, other.count) {
            (_, 0) => (self.max, self.min),
            (0, _) => (other.max, other.min),
            _ => (self.max.max(other.max), self.min.min(other.min)),
        };
        self.sum.merge(other.sum);
        self.count = self.count.saturating_add(other.count);
    }

    /// Mean; 0 when there is no value.
    pub(in crate::sighted) fn mean(&self) -> f64 {
        self.sum.mean(self.count)
    }
}

impl DeltaSums {
    fn merge(&mut self, other: &Self) {
        // Counts of merged states come out of files: a forged one must not overflow.
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.non_finite.a, other.non_finite.a);
        add(&mut self.non_finite.b, other.non_finite.b);
        add(&mut self.compared, other.compared);
        self.max_abs = self.max_abs.max(other.max_abs);
        self.abs_sum.merge(other.abs_sum);
        add(&mut self.rel_compared, other.rel_compared);
        self.max_rel = self.max_rel.max(other.max_rel);
        self.rel_sum.merge(other.rel_sum);
        for (sums, others) in self.exceed.iter_mut().flatten().zip(other.exceed.iter().flatten()) {
            add(sums, *others);
        }
    }
}

impl DeltaFold {
    /// Compares the values of one output on both sides; both hold the same number of elements, or the
    /// longer one's surplus is not looked at.
    pub(in crate::sighted) fn of(name: &str, a: &[f32], b: &[f32]) -> Self {
        let mut fold = Self {
            sums: DeltaSums { name: name.to_owned(), ..DeltaSums::default() },
            abs: Vec::with_capacity(a.len()),
            rel: Vec::with_capacity(a.len()),
        };
        for (reference, candidate) in a.iter().zip(b) {
            let bad = (!reference.is_finite(), !candidate.is_finite());
            if bad.0 || bad.1 {
                fold.sums.non_finite.a += u64::from(bad.0);
                fold.sums.non_finite.b += u64::from(bad.1);
            } else {
                fold.compare(f64::from(*reference), f64::from(*candidate));
            }
        }
        fold.sums.compared = fold.abs.len() as u64;
        fold.sums.rel_compared = fold.rel.len() as u64;
        for value in &fold.abs {
            fold.sums.abs_sum.add(*value);
        }
        for value in &fold.rel {
            fold.sums.rel_sum.add(*value);
        }
        fold
    }

    fn compare(&mut self, reference: f64, candidate: f64) {
        let delta = (reference - candidate).abs();
        let magnitude = reference.abs();
        // 0/0 is no difference; anything else over 0 is infinitely far.
        let relative = if delta == 0.0 { 0.0 } else { delta / magnitude };
        self.abs.push(delta);
        self.sums.max_abs = self.sums.max_abs.max(delta);
        if magnitude > REL_FLOOR {
            self.rel.push(relative);
            self.sums.max_rel = self.sums.max_rel.max(relative);
        }
        for (tolerance, counts) in TOLERANCES.iter().zip(&mut self.sums.exceed) {
            let absolute = delta > *tolerance;
            let relatively = relative > *tolerance;
            let combined = delta > tolerance + tolerance * magnitude;
            let rules =
                [absolute, relatively, combined, absolute && relatively, absolute || relatively];
            for (count, exceeds) in counts.iter_mut().zip(rules) {
                *count += u64::from(exceeds);
            }
        }
    }
}

/// Share of the largest absolute differences that is kept: reports have their median and what lies above.
pub(in crate::sighted) const ABS_SHARE: f64 = 0.5;

/// Likewise of relative ones, for their 99th percentile.
pub(in crate::sighted) const REL_SHARE: f64 = 0.01;

/// One output over all fixtures.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct OutputTotals {
    /// Sums over elements.
    pub sums: DeltaSums,
    /// Largest absolute difference of each fixture.
    pub image_max: Spread,
    /// Absolute differences.
    pub abs: QuantileStream,
    /// Relative differences.
    pub rel: QuantileStream,
}

impl OutputTotals {
    /// Nothing compared yet.
    pub(in crate::sighted) fn new(name: &str) -> Self {
        let sums = DeltaSums { name: name.to_owned(), ..DeltaSums::default() };
        let (abs, rel) = (QuantileStream::keeping(ABS_SHARE), QuantileStream::keeping(REL_SHARE));
        Self { sums, image_max: Spread::default(), abs, rel }
    }

    /// Adds one fixture.
    pub(in crate::sighted) fn add(&mut self, fold: &DeltaFold) {
        self.sums.merge(&fold.sums);
        if fold.sums.compared > 0 {
            self.image_max.add(fold.sums.max_abs);
        }
        self.abs.extend(&fold.abs);
        self.rel.extend(&fold.rel);
    }

    /// Adds the totals of other fixtures.
    pub(in crate::sighted) fn merge(&mut self, other: &Self) {
        self.sums.merge(&other.sums);
        self.image_max.merge(&other.image_max);
        self.abs.merge(&other.abs);
        self.rel.merge(&other.rel);
    }

    /// The entry of a report. All zero when nothing was compared: the caller must refuse that.
    pub(in crate::sighted) fn summarise(&mut self) -> OutputDelta {
        let quantiles = self.abs.quantiles([0.5, 0.95, 0.99, 99.9 / 100.0]);
        let [rel_p99] = self.rel.quantiles([0.99]).unwrap_or_default();
        let sums = &self.sums;
        // A sketched quantile may lie past the largest value by the sketch's error.
        let [median, p95, p99, p999] =
            quantiles.unwrap_or_default().map(|value| value.min(sums.max_abs));
        OutputDelta {
            name: sums.name.clone(),
            elements_compared: sums.compared,
            max_abs_delta: sums.max_abs,
            mean_abs_delta: sums.abs_sum.mean(sums.compared),
            median_abs_delta: median,
            p95_abs_delta: p95,
            p99_abs_delta: p99,
            p999_abs_delta: p999,
            max_rel_delta: sums.max_rel,
            mean_rel_delta: sums.rel_sum.mean(sums.rel_compared),
            p99_rel_delta: rel_p99.min(sums.max_rel),
            rel_floor: REL_FLOOR,
            rel_elements_compared: sums.rel_compared,
            rel_elements_skipped_below_floor: sums.compared.saturating_sub(sums.rel_compared),
            per_image_max_abs_delta: MaxMeanMin {
                max: self.image_max.max,
                mean: self.image_max.mean(),
                min: self.image_max.min,
            },
            exceedance: sums.exceedance(),
        }
    }
}

impl DeltaSums {
    fn exceedance(&self) -> Vec<Exceedance> {
        let share = |count: u64| {
            let fraction =
                if self.compared == 0 { 0.0 } else { count as f64 / self.compared as f64 };
            CountFraction { count, fraction }
        };
        let row = |(tolerance, counts): (&f64, &[u64; RULES])| {
            let [abs_only, rel_only, combined_isclose, and, or] = counts.map(share);
            Exceedance {
                atol: *tolerance,
                rtol: *tolerance,
                abs_only,
                rel_only,
                combined_isclose,
                and,
                or,
            }
        };
        TOLERANCES.iter().zip(&self.exceed).map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn totals(fixtures: &[(Vec<f32>, Vec<f32>)]) -> OutputTotals {
        let mut totals = OutputTotals::new("labels");
        for (a, b) in fixtures {
            totals.add(&DeltaFold::of("labels", a, b));
        }
        totals
    }

    #[test]
    fn values_worked_out_by_hand() {
        // Powers of two, so every difference is exact: 0, 0.5, 1, 2 and one below the relative floor.
        let a = vec![1.0, 2.0, -4.0, 8.0, 0.0];
        let b = vec![1.0, 2.5, -3.0, 10.0, 0.25];
        let delta = totals(&[(a, b)]).summarise();
        assert_eq!((delta.elements_compared, delta.rel_elements_compared), (5, 4));
        assert_eq!(delta.rel_elements_skipped_below_floor, 1);
        assert_eq!((delta.max_abs_delta, delta.mean_abs_delta), (2.0, 0.75));
        assert_eq!(delta.median_abs_delta, 0.5);
        assert!((delta.p95_abs_delta - 1.8).abs() < 1e-12, "0.2 from 2 towards 1");
        assert_eq!((delta.max_rel_delta, delta.mean_rel_delta), (0.25, 0.1875));
        assert_eq!(delta.per_image_max_abs_delta, MaxMeanMin { max: 2.0, mean: 2.0, min: 2.0 });
        let widest = &delta.exceedance[2];
        assert_eq!((widest.atol, widest.rtol), (0.01, 0.01));
        // The element over a reference of 0 is infinitely far, relatively.
        for share in
            [widest.abs_only, widest.rel_only, widest.combined_isclose, widest.and, widest.or]
        {
            assert_eq!(share, CountFraction { count: 4, fraction: 0.8 });
        }
    }

    #[test]
    fn the_rules_differ_where_they_should() {
        // |d| = 0.015 on 100: absolutely far at 0.01, relatively near, near combined.
        // |d| = 0.000244 on 0.000977: absolutely near, relatively far.
        let a = vec![100.0, 0.000_976_562_5];
        let b = vec![100.015_625, 0.000_732_421_9];
        let delta = totals(&[(a, b)]).summarise();
        let row = &delta.exceedance[2];
        let counts = [row.abs_only, row.rel_only, row.combined_isclose, row.and, row.or];
        assert_eq!(counts.map(|share| share.count), [1, 1, 0, 0, 2]);
    }

    #[test]
    fn non_finite_elements_are_counted_apart() {
        let a = vec![1.0, f32::NAN, f32::INFINITY, 3.0];
        let b = vec![1.5, 2.0, f32::INFINITY, f32::NEG_INFINITY];
        let mut found = totals(&[(a, b)]);
        assert_eq!(found.sums.non_finite, Sides { a: 2, b: 2 });
        let delta = found.summarise();
        assert_eq!((delta.elements_compared, delta.max_abs_delta), (1, 0.5));
        let mut nothing = totals(&[(vec![f32::NAN; 3], vec![0.0; 3])]);
        assert_eq!((nothing.sums.compared, nothing.image_max.count), (0, 0));
        assert_eq!(nothing.summarise().exceedance[0].or, CountFraction::default());
    }

    fn fixtures() -> impl Strategy<Value = Vec<(Vec<f32>, Vec<f32>)>> {
        let value = values_of_all_kinds();
        let fixture = proptest::collection::vec((value.clone(), value), 1..20)
            .prop_map(|pairs| pairs.into_iter().unzip());
        proptest::collection::vec(fixture, 1..6)
    }

    fn values_of_all_kinds() -> impl Strategy<Value = f32> + Clone {
        prop_oneof![
            8 => -20.0_f32..20.0,
            1 => -1e-5_f32..1e-5,
            1 => Just(0.0_f32),
            1 => Just(f32::NAN),
        ]
    }

    proptest! {
        #[test]
        fn parts_add_up_to_the_whole(fixtures in fixtures(), cut in 0_usize..6) {
            let cut = cut.min(fixtures.len());
            let mut merged = totals(&fixtures[cut..]);
            merged.merge(&totals(&fixtures[..cut]));
            let (merged, whole) = (merged.summarise(), totals(&fixtures).summarise());
            let near = |one: f64, two: f64| (one - two).abs() <= 1e-12 * one.abs().max(two.abs());
            prop_assert!(near(merged.mean_abs_delta, whole.mean_abs_delta));
            prop_assert!(near(merged.mean_rel_delta, whole.mean_rel_delta));
            prop_assert!(near(merged.per_image_max_abs_delta.mean, whole.per_image_max_abs_delta.mean));
            let exact = OutputDelta {
                mean_abs_delta: whole.mean_abs_delta,
                mean_rel_delta: whole.mean_rel_delta,
                per_image_max_abs_delta: whole.per_image_max_abs_delta,
                ..merged
            };
            prop_assert_eq!(exact, whole);
        }

        #[test]
        fn absolute_statistics_do_not_care_which_side_is_which(fixtures in fixtures()) {
            let swapped: Vec<_> = fixtures.iter().map(|(a, b)| (b.clone(), a.clone())).collect();
            let (one, two) = (totals(&fixtures).summarise(), totals(&swapped).summarise());
            prop_assert_eq!(one.elements_compared, two.elements_compared);
            prop_assert_eq!(one.max_abs_delta, two.max_abs_delta);
            prop_assert_eq!(one.p99_abs_delta, two.p99_abs_delta);
            prop_assert_eq!(one.mean_abs_delta, two.mean_abs_delta);
            for (one, two) in one.exceedance.iter().zip(two.exceedance) {
                prop_assert_eq!(one.abs_only, two.abs_only);
            }
        }

        #[test]
        fn buckets_sum_and_every_element_is_accounted_for(fixtures in fixtures()) {
            let mut all = totals(&fixtures);
            let elements: usize = fixtures.iter().map(|(a, _)| a.len()).sum();
            let pairs = fixtures.iter().flat_map(|(a, b)| a.iter().zip(b));
            let bad = pairs.filter(|(a, b)| !(a.is_finite() && b.is_finite())).count();
            prop_assert_eq!(all.sums.compared + bad as u64, elements as u64);
            let delta = all.summarise();
            for row in &delta.exceedance {
                prop_assert_eq!(row.and.count + row.or.count, row.abs_only.count + row.rel_only.count);
                prop_assert!(row.combined_isclose.count <= row.and.count);
            }
            prop_assert!(delta.median_abs_delta <= delta.p95_abs_delta);
            prop_assert!(delta.p999_abs_delta <= delta.max_abs_delta);
        }
    }
}
