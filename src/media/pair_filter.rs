//! Weighted sums of 8-bit samples with 22-bit weights, exact, for many outputs at once.
//!
//! A weight is split into `high * 4096 + low`, both 16 bits, and samples come in pairs: multiplying 16 by 16
//! bits and adding neighbours is one instruction for four pairs. Sums wrap, and wrapping sums of the two
//! halves recombine exactly.

/// Bits behind the point of a weight.
pub(super) const PRECISION: u32 = 22;
/// Bits of the low half of a weight.
const LOW_BITS: u32 = 12;
/// Pairs beside each other that are filtered by the same weights.
pub(super) const LANES: usize = 4;
/// Groups of lanes filtered together, so that each weight is loaded once for all of them.
pub(super) const STREAMS: usize = 4;

/// Two samples, the first in the lower half.
pub(super) type Pair = u32;
/// A pair for each lane.
pub(super) type Lanes = [Pair; LANES];

/// The pair of two samples.
pub(super) fn pair(one: u8, two: u8) -> Pair {
    one as u32 | (two as u32) << 16
}

/// What the two samples of a pair count, each in two halves, which lie as in a [`Pair`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Weight {
    low: u32,
    high: u32,
}

impl Weight {
    /// Of two weights in multiples of 2^-22.
    pub(super) fn new(one: i32, two: i32) -> Self {
        let low_half = |fixed: i32| (fixed << (32 - LOW_BITS)) >> (32 - LOW_BITS);
        let high_half = |fixed: i32| (fixed - low_half(fixed)) >> LOW_BITS;
        let both = |one: i32, two: i32| one as u32 & 0xffff | (two as u32) << 16;
        Self { low: both(low_half(one), low_half(two)), high: both(high_half(one), high_half(two)) }
    }
}

/// Where what a filter reads lies, counted in [`Lanes`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Path {
    /// The first pairs of the first stream.
    pub first: usize,
    /// From there to the next pairs of the same stream.
    pub step: usize,
    /// From a stream to the next.
    pub distance: usize,
}

/// One output for each lane of each stream: the sums, rounded half up and clamped to 0..=255.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "vector instructions; the call says why it is sound")]
#[inline]
pub(super) fn filter(pairs: &[Lanes], path: Path, weights: &[Weight]) -> [u8; STREAMS * LANES] {
    // SAFETY: the only demand is that the processor has SSE2, and every x86_64 has it.
    unsafe { with_sse2(pairs, path, weights) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn with_sse2(pairs: &[Lanes], path: Path, weights: &[Weight]) -> [u8; STREAMS * LANES] {
    use std::arch::x86_64::{
        __m128i, _mm_add_epi32, _mm_cvtsi128_si64, _mm_madd_epi16, _mm_packs_epi32,
        _mm_packus_epi16, _mm_set_epi32, _mm_set1_epi32, _mm_slli_epi32, _mm_srai_epi32,
        _mm_srli_si128,
    };
    let mut low_sums = [_mm_set1_epi32(1 << (PRECISION - 1)); STREAMS];
    let mut high_sums = [_mm_set1_epi32(0); STREAMS];
    let mut at = path.first;
    // Counted by hand: in a build without optimisation, where the tests run, iterators and slices take three
    // times as long, and this is where decoding spends its time. Optimised, both are the same.
    let mut number = 0;
    while number < weights.len() {
        let weight = weights[number];
        let (low, high) = (_mm_set1_epi32(weight.low as i32), _mm_set1_epi32(weight.high as i32));
        let (mut stream, mut from) = (0, at);
        while stream < STREAMS {
            let [one, two, three, four] = pairs[from];
            let lanes = _mm_set_epi32(four as i32, three as i32, two as i32, one as i32);
            low_sums[stream] = _mm_add_epi32(low_sums[stream], _mm_madd_epi16(lanes, low));
            high_sums[stream] = _mm_add_epi32(high_sums[stream], _mm_madd_epi16(lanes, high));
            from += path.distance;
            stream += 1;
        }
        at += path.step;
        number += 1;
    }
    let sum = |stream: usize| -> __m128i {
        let high = _mm_slli_epi32::<{ LOW_BITS as i32 }>(high_sums[stream]);
        _mm_srai_epi32::<{ PRECISION as i32 }>(_mm_add_epi32(low_sums[stream], high))
    };
    // Packing clamps.
    let sums = _mm_packus_epi16(_mm_packs_epi32(sum(0), sum(1)), _mm_packs_epi32(sum(2), sum(3)));
    let mut bytes = [0; STREAMS * LANES];
    let (one, two) = bytes.split_at_mut(8);
    one.copy_from_slice(&_mm_cvtsi128_si64(sums).to_le_bytes());
    two.copy_from_slice(&_mm_cvtsi128_si64(_mm_srli_si128::<8>(sums)).to_le_bytes());
    bytes
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) use portable::filter;

/// The same in plain words.
#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable {
    use super::{LANES, LOW_BITS, Lanes, PRECISION, Path, STREAMS, Weight};

    /// One output for each lane of each stream.
    #[inline]
    pub(in super::super) fn filter(
        pairs: &[Lanes],
        path: Path,
        weights: &[Weight],
    ) -> [u8; STREAMS * LANES] {
        std::array::from_fn(|output| {
            let (stream, lane) = (output / LANES, output % LANES);
            let first = path.first + stream * path.distance;
            let (mut low, mut high) = (1_i32 << (PRECISION - 1), 0_i32);
            for (number, weight) in weights.iter().enumerate() {
                let pair = pairs[first + number * path.step][lane];
                low = low.wrapping_add(dot(pair, weight.low));
                high = high.wrapping_add(dot(pair, weight.high));
            }
            (low.wrapping_add(high << LOW_BITS) >> PRECISION).clamp(0, 255) as u8
        })
    }

    /// The sum of both products.
    fn dot(one: u32, two: u32) -> i32 {
        let half = |both: u32, at: u32| (both >> (16 * at)) as u16 as i16 as i32;
        half(one, 0) * half(two, 0) + half(one, 1) * half(two, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// As in use, where weights sum to about one, the whole sum fits 32 bits.
        #[test]
        fn sums_are_those_of_whole_weights(
            taps in proptest::collection::vec(
                (any::<[u8; 2 * STREAMS * LANES]>(), -200_000..800_000_i32, -200_000..800_000_i32),
                1..6,
            ),
            before in 0..5_usize,
        ) {
            let weights: Vec<Weight> =
                taps.iter().map(|(_, one, two)| Weight::new(*one, *two)).collect();
            let expected: [u8; STREAMS * LANES] = std::array::from_fn(|output| {
                let sum: i64 = taps
                    .iter()
                    .map(|(samples, one, two)| {
                        let sample = |at: usize| i64::from(samples[2 * output + at]);
                        sample(0) * i64::from(*one) + sample(1) * i64::from(*two)
                    })
                    .sum();
                ((sum + (1 << (PRECISION - 1))) >> PRECISION).clamp(0, 255) as u8
            });
            let lanes = |samples: &[u8], stream: usize| -> Lanes {
                std::array::from_fn(|lane| {
                    let at = 2 * (LANES * stream + lane);
                    pair(samples[at], samples[at + 1])
                })
            };
            // Streams one after the other, then all first pairs, all second ones, and so on.
            let streams = || 0..STREAMS;
            let (mut long, mut wide) = (vec![[7; LANES]; before], vec![[7; LANES]; before]);
            for stream in streams() {
                long.extend(taps.iter().map(|(samples, ..)| lanes(samples, stream)));
            }
            for (samples, ..) in &taps {
                wide.extend(streams().map(|stream| lanes(samples, stream)));
            }
            let along = Path { first: before, step: 1, distance: taps.len() };
            let across = Path { first: before, step: STREAMS, distance: 1 };
            for (pairs, path) in [(&long, along), (&wide, across)] {
                prop_assert_eq!(filter(pairs, path, &weights), expected);
                prop_assert_eq!(portable::filter(pairs, path, &weights), expected);
            }
        }
    }
}
