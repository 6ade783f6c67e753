//! The resize kernels of the recipe, equal byte for byte to what Pillow up to version 12 computes.
//!
//! What makes them equal: the filter is widened by the shrink factor; weights are computed and normalised
//! in f64, then rounded (half away from zero) to whole multiples of 2^-22; a pass sums 8-bit samples
//! times weights from one half upward and rounds down; the result is 8 bits again before the second
//! pass; width comes first, height second, except when a picture more than a hundred times as high as
//! wide becomes less high. The order matters because of the rounding in between.
//!
//! Both passes run the same filter over pairs of samples: two neighbours of a row in the first, two of a
//! column in the second.

use super::orientation::Orientation;
use super::pair_filter::{LANES, Lanes, PRECISION, Path, STREAMS, Weight, filter, pair};
use super::pixels::RgbImage;

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
    let down = Weights::new(rows, height as usize, kernel);
    let narrowed = narrow(picture, &across, down.span(rows));
    RgbImage::trusted(width, height, lower(&narrowed, 3 * width as usize, &down))
}

/// The first pass. The result lies as the second one reads it: `span` rows, each of pairs of bytes that lie
/// below each other.
fn narrow(picture: &RgbImage, across: &Weights, span: usize) -> Vec<Lanes> {
    let stride = stride(3 * across.outputs());
    let mut narrowed = vec![Lanes::default(); span * stride];
    let distance = across.span(picture.width() as usize);
    let mut lines = vec![Lanes::default(); STREAMS * distance];
    let rows: Vec<&[u8]> = picture.rows().collect();
    for (group, rows) in rows.chunks(STREAMS).enumerate() {
        for (line, row) in lines.chunks_exact_mut(distance).zip(rows) {
            pair_up(row, line);
        }
        // The lines of a group are two rows of pairs; lines past the last row hold what no weight counts.
        let (upper, rest) = narrowed[STREAMS / 2 * group * stride..].split_at_mut(stride);
        let upper = upper.as_flattened_mut();
        let lower = rest.get_mut(..stride).unwrap_or_default().as_flattened_mut();
        for (output, (start, weights)) in across.each() {
            let made = filter(&lines, Path { first: start, step: 1, distance }, weights);
            let of_lines = |line: usize, channel: usize| {
                pair(made[line * LANES + channel], made[(line + 1) * LANES + channel])
            };
            for channel in 0..3 {
                let at = 3 * output + channel;
                upper[at] = of_lines(0, channel);
                if let Some(lower) = lower.get_mut(at) {
                    *lower = of_lines(2, channel);
                }
            }
        }
    }
    narrowed
}

/// Pairs of neighbours of a row; lanes are the channels, and one to spare. Counted by hand, as the filter is.
fn pair_up(row: &[u8], pairs: &mut [Lanes]) {
    let (twos, last) = row.as_chunks::<6>();
    let mut at = 0;
    while at < twos.len() {
        let [red, green, blue, next_red, next_green, next_blue] = twos[at];
        pairs[at] = [pair(red, next_red), pair(green, next_green), pair(blue, next_blue), 0];
        at += 1;
    }
    if let [red, green, blue] = *last {
        pairs[at] = [pair(red, 0), pair(green, 0), pair(blue, 0), 0];
    }
}

/// The second pass: rows of `bytes` bytes out of what [`narrow`] made.
fn lower(narrowed: &[Lanes], bytes: usize, down: &Weights) -> Vec<u8> {
    let stride = stride(bytes);
    let mut made = Vec::with_capacity(bytes * down.outputs() + STREAMS * LANES);
    for (output, (start, weights)) in down.each() {
        for first in (0..stride).step_by(STREAMS) {
            let path = Path { first: start * stride + first, step: stride, distance: 1 };
            made.extend_from_slice(&filter(narrowed, path, weights));
        }
        // The last streams reach past the row.
        made.truncate(bytes * (output + 1));
    }
    made
}

/// [`Lanes`] that a row of `bytes` bytes takes: a whole number of what is filtered together.
fn stride(bytes: usize) -> usize {
    bytes.div_ceil(LANES).next_multiple_of(STREAMS)
}

/// Which pairs of input samples make each output sample, and how much of each.
struct Weights {
    /// First pair of each output.
    starts: Vec<usize>,
    /// Weights stored for each output, the unused ones 0.
    pairs: usize,
    weights: Vec<Weight>,
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
            let weights: Vec<f64> = (start..end)
                .map(|sample| kernel.weight((sample as f64 - centre + 0.5) * narrow))
                .collect();
            let sum: f64 = weights.iter().sum();
            let sum = if sum == 0.0 { 1.0 } else { sum };
            let fixed = weights
                .iter()
                .map(|weight| (weight / sum * f64::from(1_u32 << PRECISION)).round() as i32);
            // A pair begins at an even sample.
            let fixed: Vec<i32> = std::iter::repeat_n(0, start % 2).chain(fixed).collect();
            exact.push((start / 2, fixed));
        }
        let pairs = exact.iter().map(|(_, fixed)| fixed.len().div_ceil(2)).max().unwrap_or(0);
        let mut weights = vec![Weight::default(); pairs * output];
        for ((_, fixed), weights) in exact.iter().zip(weights.chunks_exact_mut(pairs.max(1))) {
            for (two, weight) in fixed.chunks(2).zip(weights) {
                *weight = Weight::new(two[0], two.get(1).copied().unwrap_or(0));
            }
        }
        Self { starts: exact.into_iter().map(|(start, _)| start).collect(), pairs, weights }
    }

    fn outputs(&self) -> usize {
        self.starts.len()
    }

    /// Pairs that can be read when there are `samples` samples: weights past the last of them are 0, and
    /// still need something to be multiplied with.
    fn span(&self, samples: usize) -> usize {
        samples.div_ceil(2) + self.pairs
    }

    /// Each output's number, first pair and weights.
    fn each(&self) -> impl Iterator<Item = (usize, (usize, &[Weight]))> {
        self.starts.iter().copied().zip(self.weights.chunks_exact(self.pairs.max(1))).enumerate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::digest::{hex, sha256};

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
}
