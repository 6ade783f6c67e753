//! Quantiles: exact with linear interpolation, and a mergeable sketch for streams too long to keep.
//!
//! A [`QuantileStream`] keeps every value up to [`EXACT_LIMIT`]; past that it counts values in buckets
//! whose width is [`SKETCH_ERROR`] of their value. What it holds depends only on the values it was given,
//! not on their order or on how they were split, so streams of parts merge into the stream of the whole.
//!
//! Values are finite and at least 0. Sums are here too ([`ExactSum`]), because they have the same duty.

/// A stream of at most this many values gives exact quantiles (32 MiB of memory).
pub const EXACT_LIMIT: usize = 1 << 22;

/// Largest relative error of a quantile past [`EXACT_LIMIT`].
pub const SKETCH_ERROR: f64 = 0.001;

/// Values below this count as 0 in a sketch: 2^-64.
const SMALLEST: f64 = 5.421_010_862_427_522e-20;

/// Bits of the mantissa that a bucket ignores: 2^9 buckets in each octave, so the middle of a bucket is
/// at most 2^-10 < 0.1 % away from any value in it.
const SHIFT: u32 = 52 - 9;

/// First bucket: that of [`SMALLEST`].
const FIRST_BUCKET: u64 = SMALLEST.to_bits() >> SHIFT;

/// Most buckets a sketch can have, up to the largest finite number.
const MAX_BUCKETS: usize = ((f64::MAX.to_bits() >> SHIFT) - FIRST_BUCKET + 1) as usize;

/// The quantile `q` of `sorted` values: numpy's `percentile(values, 100 * q)`, method `linear`.
///
/// With n values the position is `q * (n - 1)`; between two values it interpolates, from the nearer one.
/// None when there is no value. `q` lies in 0..=1; the values are in ascending order.
pub fn of_sorted(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    interpolate(last, q, |rank| sorted[rank])
}

/// [`of_sorted`] at several `q` of values in any order, which it sorts.
pub fn of_values(values: &mut [f64], q: f64) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    of_sorted(values, q)
}

fn interpolate(last: usize, q: f64, value_of_rank: impl Fn(usize) -> f64) -> Option<f64> {
    let position = q.clamp(0.0, 1.0) * last as f64;
    let below = (position.floor() as usize).min(last);
    let above = (below + 1).min(last);
    let share = position - position.floor();
    let (low, high) = (value_of_rank(below), value_of_rank(above));
    Some(if share < 0.5 { low + (high - low) * share } else { high - (high - low) * (1.0 - share) })
}

/// Values of a stream, all of them or counted in buckets.
#[derive(Debug, Clone, PartialEq)]
pub enum QuantileStream {
    /// Every value, in any order; at most [`EXACT_LIMIT`].
    Exact(Vec<f64>),
    /// Counts of values in buckets.
    Sketch(Sketch),
}

impl Default for QuantileStream {
    fn default() -> Self {
        Self::Exact(Vec::new())
    }
}

impl QuantileStream {
    /// Takes in `values`, finite and at least 0.
    pub fn extend(&mut self, values: &[f64]) {
        if let Self::Exact(kept) = self {
            if kept.len() + values.len() <= EXACT_LIMIT {
                kept.extend_from_slice(values);
                return;
            }
            let mut sketch = Sketch::default();
            sketch.extend(kept);
            *self = Self::Sketch(sketch);
        }
        if let Self::Sketch(sketch) = self {
            sketch.extend(values);
        }
    }

    /// Takes in everything `other` was given.
    pub fn merge(&mut self, other: &Self) {
        match other {
            Self::Exact(values) => self.extend(values),
            Self::Sketch(theirs) => {
                let mut merged = theirs.clone();
                match self {
                    Self::Exact(values) => merged.extend(values),
                    Self::Sketch(ours) => merged.merge(ours),
                }
                *self = Self::Sketch(merged);
            }
        }
    }

    /// How many values it was given.
    pub fn count(&self) -> u64 {
        match self {
            Self::Exact(values) => values.len() as u64,
            Self::Sketch(sketch) => sketch.count(),
        }
    }

    /// Whether quantiles are exact; else they are within [`SKETCH_ERROR`].
    pub fn is_exact(&self) -> bool {
        matches!(self, Self::Exact(_))
    }

    /// The quantiles at each of `at`, or none when there is no value. Sorts the values it keeps.
    pub fn quantiles<const N: usize>(&mut self, at: [f64; N]) -> Option<[f64; N]> {
        if self.count() == 0 {
            return None;
        }
        match self {
            Self::Exact(values) => {
                values.sort_unstable_by(f64::total_cmp);
                Some(at.map(|q| of_sorted(values, q).unwrap_or_default()))
            }
            Self::Sketch(sketch) => Some(at.map(|q| sketch.quantile(q).unwrap_or_default())),
        }
    }
}

/// Counts of values in buckets of equal relative width.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sketch {
    /// Values below 2^-64.
    zeros: u64,
    /// Bucket of the first entry of `counts`, counted from that of 2^-64.
    first: usize,
    /// Counts from `first` on. It grows only to hold a value, so neither end is ever 0.
    counts: Vec<u64>,
}

impl Sketch {
    /// A sketch from its parts, or none when they do not fit together.
    pub fn from_parts(zeros: u64, first: usize, counts: Vec<u64>) -> Option<Self> {
        let fits = first.checked_add(counts.len()).is_some_and(|end| end <= MAX_BUCKETS);
        let trimmed = counts.first() != Some(&0) && counts.last() != Some(&0);
        let total = counts.iter().try_fold(zeros, |sum, count| sum.checked_add(*count));
        (fits && trimmed && total.is_some() && (first == 0 || !counts.is_empty())).then_some(Self {
            zeros,
            first,
            counts,
        })
    }

    /// Values below 2^-64, number of the first bucket, counts from there on.
    pub fn parts(&self) -> (u64, usize, &[u64]) {
        (self.zeros, self.first, &self.counts)
    }

    fn count(&self) -> u64 {
        self.counts.iter().fold(self.zeros, |sum, count| sum.saturating_add(*count))
    }

    fn extend(&mut self, values: &[f64]) {
        for value in values {
            if *value < SMALLEST {
                self.zeros += 1;
            } else {
                let bucket = ((value.to_bits() >> SHIFT) - FIRST_BUCKET) as usize;
                *self.slot(bucket.min(MAX_BUCKETS - 1)) += 1;
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        // Counts may come out of a file; a forged one must not overflow.
        self.zeros = self.zeros.saturating_add(other.zeros);
        for (offset, count) in other.counts.iter().enumerate() {
            if *count > 0 {
                let slot = self.slot(other.first + offset);
                *slot = slot.saturating_add(*count);
            }
        }
    }

    /// The count of one bucket, making room for it.
    fn slot(&mut self, bucket: usize) -> &mut u64 {
        if self.counts.is_empty() {
            self.first = bucket;
        }
        if bucket < self.first {
            let missing = self.first - bucket;
            self.counts.splice(0..0, std::iter::repeat_n(0, missing));
            self.first = bucket;
        }
        let at = bucket - self.first;
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        &mut self.counts[at]
    }

    fn quantile(&self, q: f64) -> Option<f64> {
        let last = usize::try_from(self.count().checked_sub(1)?).ok()?;
        interpolate(last, q, |rank| self.value_of_rank(rank as u64))
    }

    /// The middle of the bucket that holds the value of this rank, from 0.
    fn value_of_rank(&self, rank: u64) -> f64 {
        let mut seen = self.zeros;
        if rank < seen {
            return 0.0;
        }
        for (offset, count) in self.counts.iter().enumerate() {
            seen = seen.saturating_add(*count);
            if rank < seen {
                let low = FIRST_BUCKET + (self.first + offset) as u64;
                let middle = (low << SHIFT) | (1 << (SHIFT - 1));
                return f64::from_bits(middle);
            }
        }
        0.0
    }
}

/// A sum that keeps what rounding loses: the unevaluated sum of two numbers, some 106 bits.
///
/// Knuth's two-sum at each step, so the order of the summands does not show in the 53 bits of
/// [`ExactSum::value`] but in rare last-digit ties.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ExactSum {
    /// The sum, rounded.
    pub high: f64,
    /// What rounding took away.
    pub low: f64,
}

impl ExactSum {
    /// Adds one finite number.
    pub fn add(&mut self, value: f64) {
        let sum = self.high + value;
        let part = sum - self.high;
        let lost = (self.high - (sum - part)) + (value - part);
        let low = self.low + lost;
        self.high = sum + low;
        self.low = low - (self.high - sum);
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: Self) {
        self.add(other.high);
        self.add(other.low);
    }

    /// The sum as one number.
    pub fn value(self) -> f64 {
        self.high + self.low
    }

    /// The sum divided by `count`, or 0 when there is nothing to divide by.
    pub fn mean(self, count: u64) -> f64 {
        let divisor = count as f64;
        if count == 0 { 0.0 } else { self.value() / divisor }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn exact_quantiles_are_those_of_linear_interpolation() {
        // Expected values worked out by hand from position = q (n - 1).
        let sorted = [1.0, 2.0, 4.0, 8.0];
        assert_eq!(of_sorted(&sorted, 0.0), Some(1.0));
        assert_eq!(of_sorted(&sorted, 0.5), Some(3.0));
        assert_eq!(of_sorted(&sorted, 0.25), Some(1.75));
        assert_eq!(of_sorted(&sorted, 1.0), Some(8.0));
        assert!((of_sorted(&sorted, 0.9).expect("some") - 6.8).abs() < 1e-12);
        assert_eq!(of_sorted(&[3.5], 0.999), Some(3.5));
        assert_eq!(of_sorted(&[], 0.5), None);
        assert_eq!(of_values(&mut [8.0, 1.0, 4.0, 2.0], 0.5), Some(3.0));
    }

    #[test]
    fn an_empty_stream_has_no_quantile() {
        assert_eq!(QuantileStream::default().quantiles([0.5]), None);
        assert_eq!(Sketch::default().quantile(0.5), None);
    }

    fn noise(seed: u64, count: usize) -> Vec<f64> {
        let mut state = seed.wrapping_mul(2).wrapping_add(1);
        (0..count)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let unit = (state >> 11) as f64 / (1_u64 << 53) as f64;
                (unit * 30.0 - 20.0).exp()
            })
            .collect()
    }

    #[test]
    fn past_the_limit_the_error_is_within_what_is_stated() {
        let mut values = noise(7, EXACT_LIMIT);
        let mut stream = QuantileStream::default();
        stream.extend(&values);
        assert!(stream.is_exact());
        stream.extend(&[0.0]);
        values.push(0.0);
        assert!(!stream.is_exact());
        assert_eq!(stream.count(), values.len() as u64);
        values.sort_unstable_by(f64::total_cmp);
        for q in [0.0, 0.001, 0.5, 0.95, 0.99, 0.999, 1.0] {
            let exact = of_sorted(&values, q).expect("values");
            let [sketched] = stream.quantiles([q]).expect("values");
            assert!((sketched - exact).abs() <= SKETCH_ERROR * exact, "{q}: {sketched} {exact}");
        }
    }

    #[test]
    fn streams_of_parts_merge_into_that_of_the_whole_on_both_sides_of_the_limit() {
        let values = noise(3, EXACT_LIMIT + 10);
        let mut whole = QuantileStream::default();
        whole.extend(&values);
        let (left, right) = values.split_at(EXACT_LIMIT - 5);
        let mut parts = [QuantileStream::default(), QuantileStream::default()];
        parts[0].extend(left);
        parts[1].extend(right);
        let [mut one, two] = parts.clone();
        one.merge(&two);
        assert_eq!(one, whole);
        let [one, mut two] = parts;
        two.merge(&one);
        assert_eq!(two, whole);
        let mut twice = whole.clone();
        twice.merge(&whole);
        assert_eq!(twice.count(), 2 * whole.count());
    }

    #[test]
    fn parts_of_a_sketch_that_do_not_fit_are_refused() {
        assert!(Sketch::from_parts(3, 0, vec![]).is_some());
        assert!(Sketch::from_parts(0, 10, vec![1, 0, 2]).is_some());
        for (zeros, first, counts) in [
            (0, MAX_BUCKETS, vec![1]),
            (0, usize::MAX, vec![1]),
            (0, 5, vec![]),
            (0, 5, vec![0, 1]),
            (0, 5, vec![1, 0]),
            (1, 5, vec![u64::MAX]),
        ] {
            assert!(Sketch::from_parts(zeros, first, counts).is_none());
        }
    }

    proptest! {
        #[test]
        fn sketch_buckets_sum_to_n_and_hold_the_error(
            values in proptest::collection::vec(
                prop_oneof![Just(0.0), 1e-19..1e-3_f64, 1e-3..1e3_f64, 1e3..1e44_f64], 1..200),
            q in 0.0..1.0_f64,
        ) {
            let mut sketch = Sketch::default();
            sketch.extend(&values);
            prop_assert_eq!(sketch.count(), values.len() as u64);
            let (zeros, first, counts) = sketch.parts();
            let again = Sketch::from_parts(zeros, first, counts.to_vec());
            prop_assert_eq!(again.as_ref(), Some(&sketch));
            let mut sorted = values.clone();
            let exact = of_values(&mut sorted, q).expect("values");
            let found = sketch.quantile(q).expect("values");
            prop_assert!((found - exact).abs() <= SKETCH_ERROR * exact);
            let (left, right) = values.split_at(values.len() / 2);
            let (mut a, mut b) = (Sketch::default(), Sketch::default());
            a.extend(left);
            b.extend(right);
            b.merge(&a);
            prop_assert_eq!(b, sketch);
        }

        #[test]
        fn sums_do_not_depend_on_the_split(values in proptest::collection::vec(0.0..1e6_f64, 0..300), cut in 0_usize..300) {
            let sum = |values: &[f64]| {
                let mut sum = ExactSum::default();
                values.iter().for_each(|value| sum.add(*value));
                sum
            };
            let cut = cut.min(values.len());
            let mut merged = sum(&values[cut..]);
            merged.merge(sum(&values[..cut]));
            let whole = sum(&values).value();
            prop_assert!((merged.value() - whole).abs() <= 1e-15 * whole);
        }
    }

    #[test]
    fn a_sum_keeps_what_plain_addition_loses() {
        let mut sum = ExactSum::default();
        sum.add(1e16);
        for _ in 0..10 {
            sum.add(1.0);
        }
        sum.add(-1e16);
        assert_eq!(sum.value(), 10.0);
        assert_eq!(sum.mean(4), 2.5);
        assert_eq!(sum.mean(0), 0.0);
    }
}
