//! Plain numbers of a picture that tell photographs from drawings, screenshots and text.
//!
//! They suggest; a person decides. Every number is taken from at most `GRID` x `GRID` places spread
//! evenly over the picture, so that size does not matter and a large picture costs no more.

use std::collections::HashMap;

use super::exif::ExifFacts;
use super::pixels::RgbImage;

/// Places looked at along a side.
const GRID: u32 = 256;
/// Levels of a channel by which neighbours of a flat place differ at most: what JPEG leaves of flatness.
const FLAT_LEVELS: u8 = 2;

/// What a picture looks like, in numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PictureStatistics {
    /// Distinct colours at 5 bits a channel, 1..=32768.
    pub colors: u32,
    /// Share of the most frequent of them, 0..=1.
    pub commonest_share: f64,
    /// Share of places whose right and lower neighbours have nearly the same colour, 0..=1.
    pub flat_share: f64,
    /// Width by height.
    pub aspect: f64,
    /// The file names a camera.
    pub names_camera: bool,
}

impl PictureStatistics {
    /// The numbers of a decoded picture.
    pub fn of(picture: &RgbImage, exif: ExifFacts) -> Self {
        let mut counts: HashMap<u16, u32> = HashMap::new();
        let (mut places, mut flat) = (0_u32, 0_u32);
        for y in spread(picture.height()) {
            for x in spread(picture.width()) {
                let here = picture.pixel(x, y);
                let [red, green, blue] = here.map(|value| u16::from(value >> 3));
                *counts.entry(red << 10 | green << 5 | blue).or_default() += 1;
                places += 1;
                // At the far edges a place is its own neighbour there.
                let right = picture.pixel(x.saturating_add(1), y);
                let below = picture.pixel(x, y.saturating_add(1));
                flat += u32::from(is_close(here, right) && is_close(here, below));
            }
        }
        let commonest = counts.values().copied().max().unwrap_or(0);
        let share = |count: u32| f64::from(count) / f64::from(places.max(1));
        Self {
            // At most one for each place.
            colors: counts.len() as u32,
            commonest_share: share(commonest),
            flat_share: share(flat),
            aspect: f64::from(picture.width()) / f64::from(picture.height()),
            names_camera: exif.names_camera,
        }
    }
}

/// Middles of at most `GRID` equal parts of a side.
fn spread(side: u32) -> impl Iterator<Item = u32> {
    let parts = side.min(GRID);
    (0..parts).map(move |part| {
        ((2 * u64::from(part) + 1) * u64::from(side) / (2 * u64::from(parts))) as u32
    })
}

fn is_close(one: [u8; 3], other: [u8; 3]) -> bool {
    one.into_iter().zip(other).all(|(one, other)| one.abs_diff(other) <= FLAT_LEVELS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(picture: &RgbImage) -> PictureStatistics {
        PictureStatistics::of(picture, ExifFacts::default())
    }

    #[test]
    fn a_sign_is_flat_and_noise_is_not() {
        let sign = of(&RgbImage::from_fn(600, 300, |x, _| if x < 150 { [0; 3] } else { [255; 3] }));
        assert_eq!(sign.colors, 2);
        assert!((sign.commonest_share - 0.75).abs() < 0.01);
        assert!(sign.flat_share > 0.98);
        assert!((sign.aspect - 2.0).abs() < 1e-12);
        let mut state = 1_u32;
        let noise = of(&RgbImage::from_fn(300, 300, |_, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            [(state >> 24) as u8, (state >> 16) as u8, (state >> 8) as u8]
        }));
        assert!(noise.colors > 10_000 && noise.flat_share < 0.01 && noise.commonest_share < 0.01);
    }

    #[test]
    fn one_pixel_and_a_huge_side_are_measured() {
        assert_eq!(of(&RgbImage::from_fn(1, 1, |_, _| [5; 3])).colors, 1);
        let long = of(&RgbImage::from_fn(12_000, 2, |x, _| [(x >> 6) as u8; 3]));
        assert_eq!(long.colors, 24);
        assert_eq!(spread(12_000).count(), 256);
        assert_eq!(spread(12_000).last(), Some(11_976));
        assert_eq!(spread(5).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn camera_comes_from_exif() {
        let exif = ExifFacts { orientation: None, names_camera: true };
        let picture = RgbImage::from_fn(2, 2, |_, _| [0; 3]);
        assert!(PictureStatistics::of(&picture, exif).names_camera);
    }
}
