//! Pictures at the size of a screen. Fast and good to look at; never used for what a model sees.

use fast_image_resize::images::{Image, ImageRef};
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};

use super::pixels::RgbImage;

/// The largest size of the picture's shape inside `max_width` x `max_height`; at least 1x1.
pub fn fitted_size(width: u32, height: u32, max_width: u32, max_height: u32) -> (u32, u32) {
    let (width, height) = (u64::from(width.max(1)), u64::from(height.max(1)));
    let (max_width, max_height) = (u64::from(max_width.max(1)), u64::from(max_height.max(1)));
    let half_up = |dividend: u64, divisor: u64| (dividend + divisor / 2) / divisor;
    let (fitted_width, fitted_height) = if max_width * height <= max_height * width {
        (max_width, half_up(max_width * height, width).clamp(1, max_height))
    } else {
        (half_up(max_height * width, height).clamp(1, max_width), max_height)
    };
    // Both are at most a u32 that was given.
    (fitted_width as u32, fitted_height as u32)
}

/// The picture shrunk to fit; as it is when it fits already.
pub fn fit(picture: &RgbImage, max_width: u32, max_height: u32) -> RgbImage {
    if picture.width() <= max_width && picture.height() <= max_height {
        return picture.clone();
    }
    let (width, height) = fitted_size(picture.width(), picture.height(), max_width, max_height);
    scale(picture, width, height)
}

/// The picture at exactly this size, whatever its shape; a side of 0 is taken as 1.
pub fn scale(picture: &RgbImage, width: u32, height: u32) -> RgbImage {
    let (width, height) = (width.max(1), height.max(1));
    if (width, height) == (picture.width(), picture.height()) {
        return picture.clone();
    }
    let shrinks = width < picture.width() || height < picture.height();
    let filter = if shrinks { FilterType::Lanczos3 } else { FilterType::CatmullRom };
    let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(filter)).use_alpha(false);
    let mut scaled = Image::new(width, height, PixelType::U8x3);
    #[expect(clippy::expect_used, reason = "the buffer is as long as its size says, see RgbImage")]
    let source = ImageRef::new(picture.width(), picture.height(), picture.rgb(), PixelType::U8x3)
        .expect("three bytes a pixel");
    #[expect(clippy::expect_used, reason = "only differing pixel kinds and a crop can fail")]
    Resizer::new().resize(&source, &mut scaled, &options).expect("equal pixel kinds, no crop");
    RgbImage::trusted(width, height, scaled.into_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shape_is_kept_and_small_pictures_are_left_alone() {
        assert_eq!(fitted_size(4000, 3000, 200, 200), (200, 150));
        assert_eq!(fitted_size(3000, 4000, 200, 200), (150, 200));
        assert_eq!(fitted_size(10_000, 1, 50, 50), (50, 1));
        assert_eq!(fitted_size(2, 2, 0, 0), (1, 1));
        let picture = RgbImage::from_fn(30, 20, |x, y| [x as u8, y as u8, 9]);
        assert_eq!(fit(&picture, 30, 20), picture);
        let small = fit(&picture, 15, 15);
        assert_eq!((small.width(), small.height()), (15, 10));
    }

    #[test]
    fn flat_stays_flat_both_ways() {
        let flat = RgbImage::from_fn(31, 17, |_, _| [7, 90, 250]);
        for (width, height) in [(5, 5), (60, 40), (31, 40)] {
            let scaled = scale(&flat, width, height);
            assert_eq!((scaled.width(), scaled.height()), (width, height));
            assert!(scaled.rgb().chunks_exact(3).all(|pixel| pixel == [7, 90, 250]));
        }
    }

    proptest! {
        #[test]
        fn fitted_size_stays_inside_and_touches(
            width in 1..20_000_u32, height in 1..20_000_u32,
            max_width in 1..2_000_u32, max_height in 1..2_000_u32,
        ) {
            let (fitted_width, fitted_height) = fitted_size(width, height, max_width, max_height);
            prop_assert!((1..=max_width).contains(&fitted_width));
            prop_assert!((1..=max_height).contains(&fitted_height));
            prop_assert!(fitted_width == max_width || fitted_height == max_height);
        }
    }
}
