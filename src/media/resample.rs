//! The resize kernels of the recipe, equal byte for byte to what Pillow up to version 12 computes.
//!
//! What makes them equal: the filter is widened by the shrink factor; weights are computed and normalised
//! in f64, then rounded (half away from zero) to whole multiples of 2^-22; a pass sums 8-bit samples
//! times weights from one half upward and rounds down; the result is 8 bits again before the second
//! pass; width comes first, height second, except when a picture more than a hundred times as high as
//! wide becomes less high. The order matters because of the rounding in between.
//!
//! What makes them fast: a weight is split into `high * 4096 + low`, both 16 bits, so that the inner
//! loop multiplies 16 by 16 bits, which every processor does for eight samples at once. Sums wrap, and
//! wrapping sums of the two halves recombine exactly. Each pass writes its result turned by a quarter,
//! so that both passes run along consecutive samples.

use super::orientation::Orientation;
use super::pixels::RgbImage;

/// Bits behind the point of a weight.
const PRECISION: u32 = 22;
/// Bits of the low half of a weight.
const LOW_BITS: u32 = 12;
/// Lines filtered together, so that each weight is loaded once for all of them.
const GROUP: usize = 8;
/// The number of weights is made a multiple of this.
const LANES: usize = 8;

/// A filter kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// Windowed sinc of three lobes.
    Lanczos3,
    /// A triangle.
    Bilinear,
}

impl Kernel {
    const fn support(self) -> f64 {
        match self {
            Self::Lanczos3 => 3.0,
            Self::Bilinear => 1.0,
        }
    }

    fn weight(self, x: f64) -> f64 {
        match self {
            Self::Lanczos3 if (-3.0..3.0).contains(&x) => sinc(x) * sinc(x / 3.0),
            Self::Bilinear if x.abs() < 1.0 => 1.0 - x.abs(),
            _ => 0.0,
        }
    }
}

fn sinc(x: f64) -> f64 {
    if x == 0.0 {
        return 1.0;
    }
    let x = x * std::f64::consts::PI;
    x.sin() / x
}

/// The picture squashed or stretched to `width` x `height`; a side of 0 is taken as 1.
pub fn resize(picture: &RgbImage, width: u32, height: u32, kernel: Kernel) -> RgbImage {
    let (width, height) = (width.max(1), height.max(1));
    if (width, height) == (picture.width(), picture.height()) {
        return picture.clone();
    }
    if picture.height() > 100 * picture.width() && height < picture.height() {
        let turn = Orientation::Transposed;
        return turn.apply(width_first(&turn.apply(picture.clone()), height, width, kernel));
    }
    width_first(picture, width, height, kernel)
}

fn width_first(picture: &RgbImage, width: u32, height: u32, kernel: Kernel) -> RgbImage {
    let (rows, columns) = (picture.height() as usize, picture.width() as usize);
    let across = Weights::new(columns, width as usize, kernel);
    let turned = pass(rows, columns, &across, |row, lines| {
        let pixels = &picture.rgb()[3 * columns * row..3 * columns * (row + 1)];
        let [red, green, blue] = lines;
        let (red, green, blue) = (&mut red[..columns], &mut green[..columns], &mut blue[..columns]);
        let mut at = 0;
        while at < columns {
            red[at] = pixels[3 * at] as i16;
            green[at] = pixels[3 * at + 1] as i16;
            blue[at] = pixels[3 * at + 2] as i16;
            at += 1;
        }
    });
    let down = Weights::new(rows, height as usize, kernel);
    let planes = pass(width as usize, rows, &down, |column, lines| {
        for (line, plane) in lines.into_iter().zip(&turned) {
            line[..rows].copy_from_slice(&plane[rows * column..rows * (column + 1)]);
        }
    });
    let [red, green, blue] = &planes;
    let mut rgb = Vec::with_capacity(3 * red.len());
    for ((red, green), blue) in red.iter().zip(green).zip(blue) {
        // The three are clamped to 0..=255.
        rgb.extend_from_slice(&[*red as u8, *green as u8, *blue as u8]);
    }
    RgbImage::trusted(width, height, rgb)
}

/// Filters `lines` lines of `samples` samples in three channels. Sample `o` of line `l` of the result
/// lies at `o * lines + l` of its channel: the result is turned.
fn pass(
    lines: usize,
    samples: usize,
    weights: &Weights,
    mut fill: impl FnMut(usize, [&mut [i16]; 3]),
) -> [Vec<i16>; 3] {
    // Weights past the last sample are 0; they still need something to be multiplied with.
    let padded = samples + weights.taps;
    let mut buffer = vec![0_i16; 3 * GROUP * padded];
    let outputs = weights.starts.len();
    let mut turned = [(); 3].map(|()| vec![0_i16; outputs * lines]);
    for first in (0..lines).step_by(GROUP) {
        let count = GROUP.min(lines - first);
        for (line, channels) in buffer.chunks_exact_mut(3 * padded).take(count).enumerate() {
            let (red, rest) = channels.split_at_mut(padded);
            let (green, blue) = rest.split_at_mut(padded);
            let [red, green, blue] = [red, green, blue].map(|channel| &mut channel[..samples]);
            fill(first + line, [red, green, blue]);
        }
        for (output, (start, (low, high))) in weights.outputs().enumerate() {
            let at = output * lines + first;
            for (channel, plane) in turned.iter_mut().enumerate() {
                for (line, result) in plane[at..at + count].iter_mut().enumerate() {
                    let from = (3 * line + channel) * padded + start;
                    *result = filter(&buffer[from..from + weights.taps], low, high);
                }
            }
        }
    }
    turned
}

/// One output sample, 0..=255.
///
/// Counted by hand: in a build without optimisation, where the tests run, iterators take three times as
/// long, and this is where decoding spends its time. Optimised, both are the same.
#[inline]
fn filter(samples: &[i16], low: &[i16], high: &[i16]) -> i16 {
    let taps = samples.len();
    let (low, high) = (&low[..taps], &high[..taps]);
    let (mut low_sum, mut high_sum) = (0_i32, 0_i32);
    let mut tap = 0;
    while tap < taps {
        let sample = samples[tap] as i32;
        low_sum = low_sum.wrapping_add(sample * low[tap] as i32);
        high_sum = high_sum.wrapping_add(sample * high[tap] as i32);
        tap += 1;
    }
    let sum = low_sum.wrapping_add(high_sum << LOW_BITS).wrapping_add(1 << (PRECISION - 1));
    (sum >> PRECISION).clamp(0, 255) as i16
}

/// Which input samples make each output sample, and how much of each.
struct Weights {
    /// First input sample of each output.
    starts: Vec<usize>,
    /// Weights stored for each output, the unused ones 0.
    taps: usize,
    low: Vec<i16>,
    high: Vec<i16>,
}

impl Weights {
    fn new(input: usize, output: usize, kernel: Kernel) -> Self {
        let scale = input as f64 / output as f64;
        let stretch = scale.max(1.0);
        let narrow = 1.0 / stretch;
        let support = kernel.support() * stretch;
        let mut exact = Vec::with_capacity(output);
        for index in 0..output {
            let centre = (index as f64 + 0.5) * scale;
            // `as` cuts towards zero and stops at zero, which is what the method asks for.
            let start = (centre - support + 0.5) as usize;
            let end = ((centre + support + 0.5) as usize).min(input);
            let mut weights: Vec<f64> = (start..end)
                .map(|sample| kernel.weight((sample as f64 - centre + 0.5) * narrow))
                .collect();
            let sum: f64 = weights.iter().sum();
            if sum != 0.0 {
                weights.iter_mut().for_each(|weight| *weight /= sum);
            }
            exact.push((start, weights));
        }
        let most = exact.iter().map(|(_, weights)| weights.len()).max().unwrap_or(0);
        let taps = most.next_multiple_of(LANES);
        let mut low = vec![0; taps * output];
        let mut high = vec![0; taps * output];
        for (index, (_, weights)) in exact.iter().enumerate() {
            for (tap, weight) in weights.iter().enumerate() {
                let fixed = (weight * f64::from(1_u32 << PRECISION)).round() as i32;
                let low_half = (fixed << (32 - LOW_BITS)) >> (32 - LOW_BITS);
                low[index * taps + tap] = low_half as i16;
                high[index * taps + tap] = ((fixed - low_half) >> LOW_BITS) as i16;
            }
        }
        Self { starts: exact.into_iter().map(|(start, _)| start).collect(), taps, low, high }
    }

    fn outputs(&self) -> impl Iterator<Item = (usize, (&[i16], &[i16]))> {
        let halves = self.low.chunks_exact(self.taps).zip(self.high.chunks_exact(self.taps));
        self.starts.iter().copied().zip(halves)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::digest::{hex, sha256};
    use proptest::prelude::*;

    /// The same formula stands in `tests/data/media/make.py`.
    fn pattern(width: u32, height: u32) -> RgbImage {
        RgbImage::from_fn(width, height, |x, y| {
            [0, 1, 2].map(|channel| {
                let stripe = if x % 7 == 0 { 60 * channel } else { 0 };
                (x * x * 3 + y * (5 + 2 * channel) + ((x * y) >> 2) + stripe) as u8
            })
        })
    }

    #[test]
    fn every_shape_gives_the_bytes_pillow_gives() {
        let table = include_str!("../../tests/data/media/resized.tsv");
        assert_eq!(table.lines().count(), 40);
        for line in table.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let side = |at: usize| fields[at].parse().expect("number");
            let kernel = match fields[4] {
                "lanczos3" => Kernel::Lanczos3,
                "bilinear" => Kernel::Bilinear,
                other => panic!("kernel {other}"),
            };
            let resized = resize(&pattern(side(0), side(1)), side(2), side(3), kernel);
            assert_eq!((resized.width(), resized.height()), (side(2), side(3)));
            assert_eq!(hex(&sha256(resized.rgb())), fields[5], "{line}");
        }
    }

    #[test]
    fn a_flat_picture_stays_flat_and_an_edge_does_not_wrap() {
        let flat = RgbImage::from_fn(37, 23, |_, _| [0, 128, 255]);
        for (width, height) in [(5, 90), (90, 5), (1, 1)] {
            let resized = resize(&flat, width, height, Kernel::Lanczos3);
            assert!(resized.rgb().chunks_exact(3).all(|pixel| pixel == [0, 128, 255]));
        }
        // Lanczos overshoots at an edge; the sums are clamped, so black stays black beside white.
        let edge = RgbImage::from_fn(64, 1, |x, _| if x < 32 { [0; 3] } else { [255; 3] });
        let resized = resize(&edge, 40, 1, Kernel::Lanczos3);
        assert!(resized.pixel(18, 0)[0] < 64 && resized.pixel(21, 0)[0] > 192);
    }

    proptest! {
        #[test]
        fn split_weights_sum_like_whole_ones(
            taps in proptest::collection::vec((0..=255_i16, -200_000..800_000_i32), 1..11),
        ) {
            let halves = |fixed: i32| {
                let low = (fixed << (32 - LOW_BITS)) >> (32 - LOW_BITS);
                (low as i16, ((fixed - low) >> LOW_BITS) as i16)
            };
            let samples: Vec<i16> = taps.iter().map(|(sample, _)| *sample).collect();
            let (low, high): (Vec<i16>, Vec<i16>) =
                taps.iter().map(|(_, weight)| halves(*weight)).unzip();
            let exact: i64 = taps.iter().map(|(sample, weight)| i64::from(*sample) * i64::from(*weight)).sum();
            // As in use, where weights sum to about one, the whole fits 32 bits.
            let expected = ((exact + (1 << (PRECISION - 1))) >> PRECISION).clamp(0, 255);
            prop_assert_eq!(i64::from(filter(&samples, &low, &high)), expected);
        }
    }
}
