//! The part of a picture around what changed, small enough to send, upright, boxes in its own pixels.

use image::ExtendedColorType;
use image::codecs::jpeg::JpegEncoder;

use super::dossier::{Crop, Pair};
use crate::media::orientation::Orientation;
use crate::media::pixels::RgbImage;
use crate::media::resample::{Kernel, resize};

/// Longest side of a crop, in pixels.
const LONGEST: u32 = 360;

/// JPEG quality.
const QUALITY: u8 = 80;

/// Share of the box's size added on each side, so that its surroundings show.
const MARGIN: f64 = 0.6;

/// Smallest part of the picture shown, as a share of each side.
const LEAST: f64 = 0.25;

/// Cuts an upright picture around `boxes`, which are shares of the picture as stored.
/// `None` without a box, or when the encoder fails.
pub(in crate::sighted) fn crop(
    picture: &RgbImage,
    orientation: Orientation,
    boxes: Pair<Option<[f64; 4]>>,
) -> Option<Crop> {
    let mut given = boxes.a.iter().chain(&boxes.b).flatten();
    if !given.all(|share| share.is_finite()) {
        return None;
    }
    let turn = |corners: [f64; 4]| orientation.box_to_upright(corners);
    let boxes = Pair { a: boxes.a.map(turn), b: boxes.b.map(turn) };
    let both: Vec<[f64; 4]> = boxes.a.into_iter().chain(boxes.b).collect();
    let least = |index: usize| both.iter().map(|corners| corners[index]).fold(1.0, f64::min);
    let most = |index: usize| both.iter().map(|corners| corners[index]).fold(0.0, f64::max);
    if both.is_empty() {
        return None;
    }
    let (width, height) = (picture.width(), picture.height());
    let (left, right) = span(least(0), most(2), width);
    let (top, bottom) = span(least(1), most(3), height);
    let part = picture.crop(left, top, right - left, bottom - top);
    let scale = (f64::from(LONGEST) / f64::from(part.width().max(part.height()))).min(1.0);
    let (small_width, small_height) =
        (pixels(f64::from(part.width()) * scale), pixels(f64::from(part.height()) * scale));
    let small = resize(&part, small_width, small_height, Kernel::Lanczos3);
    let mut jpeg = Vec::new();
    JpegEncoder::new_with_quality(&mut jpeg, QUALITY)
        .encode(small.rgb(), small.width(), small.height(), ExtendedColorType::Rgb8)
        .ok()?;
    let place = |[x0, y0, x1, y1]: [f64; 4]| {
        let across = |share: f64| (share * f64::from(width) - f64::from(left)) * scale;
        let down = |share: f64| (share * f64::from(height) - f64::from(top)) * scale;
        [across(x0), down(y0), across(x1), down(y1)]
    };
    Some(Crop {
        jpeg,
        width: small.width(),
        height: small.height(),
        boxes: Pair { a: boxes.a.map(place), b: boxes.b.map(place) },
        faint: Pair::default(),
    })
}

/// First and last pixel shown along one side, for a box from `low` to `high`.
fn span(low: f64, high: f64, size: u32) -> (u32, u32) {
    let (low, high) = (low.clamp(0.0, 1.0), high.clamp(0.0, 1.0));
    let middle = f64::midpoint(low, high);
    let half = ((high - low).max(0.0) * (0.5 + MARGIN)).max(LEAST / 2.0);
    let first = pixels((middle - half).max(0.0) * f64::from(size)).min(size - 1);
    let last = pixels((middle + half).min(1.0) * f64::from(size)).clamp(first + 1, size);
    (first, last)
}

/// Nearest whole number of pixels; negative and not finite become 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to the range of u32 just before"
)]
fn pixels(value: f64) -> u32 {
    value.round().clamp(0.0, f64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(width: u32, height: u32) -> RgbImage {
        RgbImage::from_fn(width, height, |x, y| [x.to_le_bytes()[0], y.to_le_bytes()[0], 0])
    }

    fn upright(picture: &RgbImage, a: [f64; 4]) -> Option<Crop> {
        crop(picture, Orientation::Upright, Pair { a: Some(a), b: None })
    }

    #[test]
    fn boxes_lie_inside_their_crop() {
        let picture = stored(1000, 800);
        let boxes = Pair { a: Some([0.4, 0.4, 0.5, 0.5]), b: Some([0.45, 0.4, 0.6, 0.55]) };
        let crop = crop(&picture, Orientation::Upright, boxes).expect("a crop");
        assert!(crop.width.max(crop.height) <= LONGEST);
        assert!(crop.jpeg.starts_with(&[0xff, 0xd8]));
        for [x0, y0, x1, y1] in [crop.boxes.a, crop.boxes.b].into_iter().flatten() {
            assert!(x0 >= 0.0 && y0 >= 0.0 && x1 > x0 && y1 > y0);
            assert!(x1 <= f64::from(crop.width) && y1 <= f64::from(crop.height));
        }
    }

    #[test]
    fn edges_whole_pictures_and_tiny_ones() {
        for (width, height) in [(1, 1), (3, 500), (640, 480)] {
            let picture = stored(width, height);
            for corners in [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]] {
                let made = upright(&picture, corners);
                assert!(made.is_some(), "{width}x{height} {corners:?}");
            }
        }
    }

    #[test]
    fn no_box_or_one_that_is_no_number_gives_no_crop() {
        let picture = stored(64, 64);
        assert_eq!(crop(&picture, Orientation::Upright, Pair::default()), None);
        assert_eq!(upright(&picture, [f64::NAN, 0.0, 1.0, 1.0]), None);
        assert!(upright(&picture, [0.0, 0.0, 1.0, 1.0]).is_some());
    }

    #[test]
    fn boxes_turn_with_the_picture() {
        let turned = Orientation::NeedsClockwise.apply(stored(400, 200));
        assert_eq!((turned.width(), turned.height()), (200, 400));
        // The left half as stored is the upper half upright.
        let boxes = Pair { a: Some([0.0, 0.0, 0.5, 1.0]), b: None };
        let made = crop(&turned, Orientation::NeedsClockwise, boxes).expect("a crop");
        let [x0, y0, x1, y1] = made.boxes.a.expect("a box");
        assert!(x0.abs() < 1.0 && y0.abs() < 1.0, "{x0} {y0}");
        assert!((x1 - f64::from(made.width)).abs() < 1.0, "{x1}");
        assert!(y1 < f64::from(made.height), "{y1}");
    }

    #[test]
    fn the_same_picture_gives_the_same_bytes() {
        let picture = stored(300, 200);
        let once = upright(&picture, [0.2, 0.2, 0.4, 0.4]);
        assert_eq!(once, upright(&picture, [0.2, 0.2, 0.4, 0.4]));
    }
}
