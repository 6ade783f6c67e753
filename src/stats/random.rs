//! A small random generator whose numbers are the same on every machine and in every version, because
//! intervals drawn from it are stored in files that are checked by drawing again.
//!
//! xoshiro256** (D. Blackman, S. Vigna, 2018), its state filled by SplitMix64 as its authors advise.
//! Not for secrets.

/// The generator.
#[derive(Debug, Clone)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// A generator for `seed`; equal seeds give equal numbers.
    pub fn new(seed: u64) -> Self {
        let mut counter = seed;
        Self {
            state: std::array::from_fn(|_| {
                counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
                mix(counter)
            }),
        }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let [s0, s1, s2, s3] = &mut self.state;
        let result = s1.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = *s1 << 17;
        *s2 ^= *s0;
        *s3 ^= *s1;
        *s1 ^= *s2;
        *s0 ^= *s3;
        *s2 ^= shifted;
        *s3 = s3.rotate_left(45);
        result
    }

    /// A number below `bound`, each equally likely; 0 when `bound` is 0.
    ///
    /// D. Lemire's method (2019): the high half of a product, the few biased products thrown away.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        let refused_below = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            let low = product & u128::from(u64::MAX);
            if low >= u128::from(refused_below) {
                return u64::try_from(product >> 64).unwrap_or(0);
            }
        }
    }

    /// A number in 0..1.
    pub fn unit(&mut self) -> f64 {
        super::proportion::count(self.next_u64() >> 11) / 9_007_199_254_740_992.0
    }
}

/// SplitMix64's output function.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_frozen() {
        // SplitMix64 of seed 0 begins 0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, as published.
        let random = Random::new(0);
        assert_eq!(random.state[0], 0xe220_a839_7b1d_cdaf);
        assert_eq!(random.state[1], 0x6e78_9e6a_a1b9_65f4);
        // xoshiro256** on the state 1, 2, 3, 4 begins 11520, 0, 1509978240, as published.
        let mut known = Random { state: [1, 2, 3, 4] };
        assert_eq!(
            [known.next_u64(), known.next_u64(), known.next_u64()],
            [11520, 0, 1_509_978_240]
        );
    }

    #[test]
    fn numbers_below_a_bound_are_even() {
        let mut random = Random::new(7);
        let mut seen = [0_u32; 6];
        for _ in 0..60_000 {
            seen[usize::try_from(random.below(6)).expect("small")] += 1;
        }
        assert!(seen.iter().all(|count| (9_500..10_500).contains(count)), "{seen:?}");
        assert_eq!(random.below(0), 0);
        assert!((0..1000).all(|_| (0.0..1.0).contains(&random.unit())));
    }
}
