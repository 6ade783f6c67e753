//! How long a picture takes from bytes to the model's input size and to the screen.
//!
//! Pictures are made here, so the numbers compare machines and changes, not collections.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is missing"
)]

#[path = "bars/mod.rs"]
mod bars;

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use flipside::media::decode::{decode_for_model, decode_for_people};
use flipside::media::fingerprint::Fingerprint;
use flipside::media::fit::fit;
use flipside::media::orientation::Orientation;
use flipside::media::pixels::RgbImage;
use flipside::media::resample::{Kernel, resize};

fn main() {
    divan::main();
    if bars::wanted() {
        for (width, height) in SIZES {
            let bytes = jpeg(&picture(width, height));
            let median =
                |work: &mut dyn FnMut()| bars::quantile(&bars::milliseconds(15, work), 0.5);
            let for_model = median(&mut || {
                let decoded = decode_for_model(black_box(&bytes)).expect("decodes");
                black_box(resize(&decoded.picture, 512, 512, Kernel::Lanczos3));
            });
            let name = format!("JPEG of {width}x{height} to a model's 512x512, median");
            bars::number(&name, for_model, "ms");
            let for_people = median(&mut || {
                let upright = decode_for_people(black_box(&bytes)).expect("decodes");
                black_box(fit(&upright.picture, 800, 600));
            });
            let name = format!("JPEG of {width}x{height} to a screen's 800x600, median");
            bars::number(&name, for_people, "ms");
        }
    }
}

const SIZES: [(u32, u32); 3] = [(640, 480), (1920, 1080), (4000, 3000)];

/// Smooth shapes with some grain, so that a JPEG of it has a usual size.
fn picture(width: u32, height: u32) -> RgbImage {
    let mut state = 7_u32;
    RgbImage::from_fn(width, height, |x, y| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let grain = state >> 28;
        [x / 9 + y / 5, (x ^ y) / 3, x * y / 4000].map(|value| (value + grain) as u8)
    })
}

fn jpeg(picture: &RgbImage) -> Vec<u8> {
    let mut encoder = mozjpeg::Compress::new(mozjpeg::ColorSpace::JCS_RGB);
    encoder.set_size(picture.width() as usize, picture.height() as usize);
    encoder.set_quality(85.0);
    encoder.set_fastest_defaults();
    let mut encoder = encoder.start_compress(Vec::new()).expect("memory");
    encoder.write_scanlines(picture.rgb()).expect("memory");
    encoder.finish().expect("memory")
}

#[divan::bench(args = SIZES)]
fn decode_jpeg_for_model(bencher: Bencher<'_, '_>, (width, height): (u32, u32)) {
    let bytes = jpeg(&picture(width, height));
    bencher.counter(ItemsCount::new(1_u32)).bench(|| decode_for_model(black_box(&bytes)));
}

#[divan::bench(args = SIZES)]
fn resize_to_512(bencher: Bencher<'_, '_>, (width, height): (u32, u32)) {
    let picture = picture(width, height);
    bencher.bench(|| resize(black_box(&picture), 512, 512, Kernel::Lanczos3));
}

#[divan::bench(args = SIZES)]
fn decode_and_resize_to_512(bencher: Bencher<'_, '_>, (width, height): (u32, u32)) {
    let bytes = jpeg(&picture(width, height));
    bencher.bench(|| {
        decode_for_model(black_box(&bytes))
            .map(|decoded| resize(&decoded.picture, 512, 512, Kernel::Lanczos3))
    });
}

#[divan::bench(args = SIZES)]
fn decode_and_fit_to_a_screen(bencher: Bencher<'_, '_>, (width, height): (u32, u32)) {
    let bytes = jpeg(&picture(width, height));
    bencher.bench(|| {
        decode_for_people(black_box(&bytes)).map(|upright| fit(&upright.picture, 800, 600))
    });
}

#[divan::bench]
fn turn_by_a_quarter(bencher: Bencher<'_, '_>) {
    let picture = picture(4000, 3000);
    bencher
        .with_inputs(|| picture.clone())
        .bench_values(|picture| Orientation::NeedsClockwise.apply(picture));
}

#[divan::bench]
fn fingerprint(bencher: Bencher<'_, '_>) {
    let picture = picture(4000, 3000);
    bencher.bench(|| Fingerprint::of(black_box(&picture)));
}
