//! Quantiles: exact with linear interpolation, and a mergeable sketch for streams too long to keep.
//!
//! A [`QuantileStream`] counts every value in a bucket whose width is [`SKETCH_ERROR`] of the value, and
//! up to [`EXACT_LIMIT`] values it also keeps the largest share of them: an upper quantile is a value
//! counted from the top, so the rest need not be kept. What it holds depends only on the values it was
//! given, not on their order or on how they were split, so streams of parts merge into the stream of the
//! whole.
//!
//! Values are finite and at least 0. Sums are here too ([`ExactSum`]), because they have the same duty.

/// A stream of at most this many values gives exact quantiles.
pub const EXACT_LIMIT: usize = 1 << 20;

/// Values kept beyond those that matter, before the surplus goes: this part of the limit, 256 KiB.
const SLACK: usize = 32;

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

/// A stream of values: all of them counted, the largest of them kept.
#[derive(Debug, Clone)]
pub struct QuantileStream {
    /// Share of the limit that is kept.
    share: f64,
    /// [`EXACT_LIMIT`]; tests have smaller ones.
    limit: usize,
    counts: Sketch,
    /// The largest values and some more than needed; none past the limit.
    largest: Kept,
    /// Values below this are not among the largest any more.
    floor: f64,
}

impl QuantileStream {
    /// An empty stream whose quantiles from `1 - share` on are exact up to [`EXACT_LIMIT`] values.
    pub fn keeping(share: f64) -> Self {
        Self::limited(share, EXACT_LIMIT)
    }

    fn limited(share: f64, limit: usize) -> Self {
        Self { share, limit, counts: Sketch::default(), largest: Kept::default(), floor: 0.0 }
    }

    /// A stream from its parts, or none when they do not fit together.
    pub fn from_parts(share: f64, counts: Sketch, largest: &[f64]) -> Option<Self> {
        Self::keeping(share).filled(counts, largest)
    }

    fn filled(self, counts: Sketch, largest: &[f64]) -> Option<Self> {
        let mut made = Self { counts, ..self };
        let count = if made.is_exact() { made.count().min(made.most() as u64) } else { 0 };
        let fits = largest.len() as u64 == count
            && largest.iter().all(|value| value.is_finite() && *value >= 0.0)
            && (!made.is_exact() || made.counts.has_on_top(largest));
        made.keep(largest);
        fits.then_some(made)
    }

    /// Counts of all values, and the largest in descending order.
    pub fn parts(&self) -> (&Sketch, Vec<f64>) {
        let mut largest = self.largest.all();
        largest.sort_unstable_by(|one, two| two.total_cmp(one));
        largest.truncate(self.most());
        (&self.counts, largest)
    }

    /// How many of the largest values are needed: all ranks from `1 - share` on, and the one below.
    fn most(&self) -> usize {
        (self.share * self.limit as f64).ceil() as usize + 2
    }

    /// Takes in `values`, finite and at least 0.
    pub fn extend(&mut self, values: &[f64]) {
        self.counts.extend(values);
        self.keep(values);
    }

    /// Takes in everything `other` was given; both keep the same share.
    pub fn merge(&mut self, other: &Self) {
        self.counts.merge(&other.counts);
        self.keep(&other.largest.all());
    }

    /// Keeps those of `values`, which are counted already, that may be among the largest.
    fn keep(&mut self, values: &[f64]) {
        if !self.is_exact() {
            self.largest = Kept::default();
            return;
        }
        let slack = (self.limit / SLACK).max(1);
        for part in values.chunks(slack) {
            self.largest.extend(part, self.floor, slack);
            if self.largest.len() >= self.most() + slack {
                self.floor = self.counts.floor_of_largest(self.most() as u64);
                self.largest.drop_below(self.floor);
            }
        }
    }

    /// How many values it was given.
    pub fn count(&self) -> u64 {
        self.counts.count()
    }

    /// Whether the quantiles it is for are exact; else they are within [`SKETCH_ERROR`].
    pub fn is_exact(&self) -> bool {
        self.count() <= self.limit as u64
    }

    /// The quantiles at each of `at`, or none when there is no value. Sorts the values it keeps.
    pub fn quantiles<const N: usize>(&mut self, at: [f64; N]) -> Option<[f64; N]> {
        let last = usize::try_from(self.count().checked_sub(1)?).ok()?;
        self.largest.sort();
        // Below what is needed the values kept have holes.
        let most = self.most();
        let value_of_rank = |rank: usize| {
            let place = last - rank;
            let kept = if place < most { self.largest.at(place) } else { None };
            kept.unwrap_or_else(|| self.counts.value_of_rank(rank as u64))
        };
        Some(at.map(|q| interpolate(last, q, value_of_rank).unwrap_or_default()))
    }
}

impl PartialEq for QuantileStream {
    fn eq(&self, other: &Self) -> bool {
        self.share == other.share && self.parts() == other.parts()
    }
}

/// Values, in half the space where f32 holds them exactly: most differences of f32 numbers that lie close
/// together are such.
#[derive(Debug, Clone, Default)]
struct Kept {
    singles: Vec<f32>,
    doubles: Vec<f64>,
}

impl Kept {
    fn len(&self) -> usize {
        self.singles.len() + self.doubles.len()
    }

    /// Takes in the values from `floor` on. Room is made in steps: doubling would cost more than is saved.
    fn extend(&mut self, values: &[f64], floor: f64, step: usize) {
        for value in values.iter().filter(|value| **value >= floor) {
            let single = *value as f32;
            if f64::from(single) == *value {
                if self.singles.len() == self.singles.capacity() {
                    self.singles.reserve_exact(step);
                }
                self.singles.push(single);
            } else {
                if self.doubles.len() == self.doubles.capacity() {
                    self.doubles.reserve_exact(step);
                }
                self.doubles.push(*value);
            }
        }
    }

    fn drop_below(&mut self, floor: f64) {
        self.singles.retain(|value| f64::from(*value) >= floor);
        self.doubles.retain(|value| *value >= floor);
    }

    fn all(&self) -> Vec<f64> {
        let singles = self.singles.iter().map(|value| f64::from(*value));
        singles.chain(self.doubles.iter().copied()).collect()
    }

    /// Descending, each kind for itself.
    fn sort(&mut self) {
        self.singles.sort_unstable_by(|one, two| two.total_cmp(one));
        self.doubles.sort_unstable_by(|one, two| two.total_cmp(one));
    }

    /// The value at `place` of all in descending order, from 0, once each kind is sorted.
    fn at(&self, place: usize) -> Option<f64> {
        // How many of the first `place` values are singles: as many as are larger than the doubles that
        // would fill the rest.
        let (mut low, mut high) =
            (place.saturating_sub(self.doubles.len()), place.min(self.singles.len()));
        while low < high {
            let singles = low + (high - low) / 2;
            // One more single belongs to them when it is larger than the last double among them.
            if f64::from(self.singles[singles]) > self.doubles[place - singles - 1] {
                low = singles + 1;
            } else {
                high = singles;
            }
        }
        let single = self.singles.get(low).map(|value| f64::from(*value));
        let double = place.checked_sub(low).and_then(|at| self.doubles.get(at)).copied();
        match (single, double) {
            (Some(single), Some(double)) => Some(single.max(double)),
            (one, two) => one.or(two),
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

    /// A value that no fewer than `most` of the values counted reach, when there are so many.
    fn floor_of_largest(&self, most: u64) -> f64 {
        let mut seen = 0;
        for (offset, count) in self.counts.iter().enumerate().rev() {
            seen += count;
            if seen >= most {
                return f64::from_bits((FIRST_BUCKET + (self.first + offset) as u64) << SHIFT);
            }
        }
        0.0
    }

    /// Whether these are the largest of the values counted, as far as buckets tell.
    fn has_on_top(&self, largest: &[f64]) -> bool {
        let mut theirs = Self::default();
        theirs.extend(largest);
        let mut left = largest.len() as u64;
        let all = (0..self.counts.len()).rev().all(|offset| {
            let bucket = self.first + offset;
            let expected = self.counts[offset].min(left);
            left -= expected;
            let at = bucket.checked_sub(theirs.first).and_then(|at| theirs.counts.get(at));
            at.copied().unwrap_or(0) == expected
        });
        all && theirs.zeros == left && left <= self.zeros
    }

    #[cfg(test)]
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
        assert_eq!(QuantileStream::keeping(0.5).quantiles([0.5]), None);
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

    /// Small, so that both sides of it are soon reached.
    const LIMIT: usize = 10_000;

    fn stream(share: f64) -> QuantileStream {
        QuantileStream::limited(share, LIMIT)
    }

    #[test]
    fn upper_quantiles_are_exact_up_to_the_limit_and_close_past_it() {
        let mut values = noise(7, LIMIT);
        let mut streams = [0.5, 0.01].map(stream);
        for part in values.chunks(700) {
            streams.iter_mut().for_each(|stream| stream.extend(part));
        }
        let mut sorted = values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let exact = |q| of_sorted(&sorted, q).expect("values");
        assert!(streams.iter().all(QuantileStream::is_exact));
        let upper = [0.5, 0.95, 0.99, 0.999, 1.0];
        assert_eq!(streams[0].quantiles(upper), Some(upper.map(exact)));
        assert_eq!(streams[1].quantiles([0.99, 0.999]), Some([0.99, 0.999].map(exact)));
        let kept = streams[0].largest.len();
        assert!(kept < LIMIT / 2 + LIMIT / 16, "half is what it keeps, not {kept}");
        let near = |found: f64, q| (found - exact(q)).abs() <= SKETCH_ERROR * exact(q);
        let [low] = streams[1].quantiles([0.5]).expect("values");
        assert!(near(low, 0.5), "what is not kept is counted");
        let [mut stream, _] = streams;
        stream.extend(&[0.0]);
        values.push(0.0);
        assert!(!stream.is_exact() && stream.largest.len() == 0);
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
        let values = noise(3, LIMIT + 10);
        for (count, cut) in [(LIMIT, LIMIT / 3), (LIMIT + 10, LIMIT - 5), (1000, 1)] {
            let mut whole = stream(0.5);
            whole.extend(&values[..count]);
            let (left, right) = values[..count].split_at(cut);
            let mut parts = [0.5, 0.5].map(stream);
            parts[0].extend(left);
            parts[1].extend(right);
            let [mut one, two] = parts.clone();
            one.merge(&two);
            assert_eq!(one, whole);
            let [one, mut two] = parts;
            two.merge(&one);
            assert_eq!(two, whole);
            assert_eq!(two.quantiles([0.5, 0.99]), whole.quantiles([0.5, 0.99]));
            let (counts, largest) = whole.parts();
            let again = stream(0.5).filled(counts.clone(), &largest);
            assert_eq!(again.as_ref(), Some(&whole));
        }
    }

    proptest! {
        #[test]
        fn kept_values_of_both_kinds_are_in_one_order(
            // Halves fit into f32, thirds do not.
            values in proptest::collection::vec((0_u32..20, 2_u32..4), 0..40),
        ) {
            let mut values: Vec<f64> =
                values.iter().map(|(top, under)| f64::from(*top) / f64::from(*under)).collect();
            let mut kept = Kept::default();
            kept.extend(&values, 0.0, 1);
            kept.sort();
            values.sort_unstable_by(|one, two| two.total_cmp(one));
            let found: Vec<f64> = (0..).map_while(|place| kept.at(place)).collect();
            prop_assert_eq!(found, values);
        }
    }

    #[test]
    fn parts_of_a_stream_that_do_not_fit_are_refused() {
        let mut stream = QuantileStream::keeping(0.5);
        stream.extend(&[0.0, 1.0, 2.0, 2.0, 4.0]);
        let (counts, largest) = stream.parts();
        let with = |largest: Vec<f64>| QuantileStream::from_parts(0.5, counts.clone(), &largest);
        assert_eq!(largest, [4.0, 2.0, 2.0, 1.0, 0.0]);
        assert!(with(largest).is_some());
        for wrong in [
            vec![],
            vec![4.0, 2.0, 2.0, 1.0],
            vec![4.0, 2.0, 2.0, 1.0, 0.5],
            vec![4.0, 4.0, 2.0, 1.0, 0.0],
            vec![4.0, 2.0, 2.0, 1.0, -1.0],
            vec![f64::NAN, 2.0, 2.0, 1.0, 0.0],
        ] {
            assert!(with(wrong.clone()).is_none(), "{wrong:?}");
        }
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
