//! What deciding costs beside running a model, with 300 slots and 43 classes: statistics, decoding, set matching.
//!
//! Compare ratios on one machine.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is missing"
)]

#[path = "bars/mod.rs"]
mod bars;

use divan::{Bencher, black_box};
use flipside::sighted::entry::probe::{StatisticsProbe, decoded, matched};

const QUERIES: usize = 300;
const CLASSES: usize = 43;
const COLUMNS: usize = CLASSES + 1;

type Detection = (u32, u32, f64, [f64; 4]);

fn main() {
    divan::main();
    if bars::wanted() {
        let a = values(1, QUERIES * (COLUMNS + 4), -8.0, 2.0);
        let b = values(2, QUERIES * (COLUMNS + 4), -8.0, 2.0);
        let mut probe = StatisticsProbe::default();
        median("statistics of one picture", || {
            black_box(probe.add(black_box(&a), black_box(&b)));
        });
        let logits = values(3, QUERIES * COLUMNS, -8.0, 2.0);
        let boxes = values(4, QUERIES * 4, 0.1, 0.9);
        median("decode of one side of a picture", || {
            black_box(decoded(black_box(&logits), COLUMNS, black_box(&boxes), CLASSES, 0.25));
        });
        for (name, count, places) in [
            ("set matching, 5 detections a side", 5, 5),
            ("set matching, 100 crowded detections a side", 100, 8),
        ] {
            let [a, b] = sides(count, places);
            median(name, || {
                black_box(matched(black_box(&a), black_box(&b), 0.25));
            });
        }
    }
}

fn median(name: &str, work: impl FnMut()) {
    let times = bars::milliseconds(300, work);
    bars::number(&format!("{name}, median"), bars::quantile(&times, 0.5), "ms");
}

/// Evenly spread numbers from 0 up to 1, the same in every run.
fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn values(seed: u64, count: usize, low: f64, high: f64) -> Vec<f32> {
    let mut unit = noise(seed);
    (0..count).map(|_| (low + unit() * (high - low)) as f32).collect()
}

/// One fixture's logits and boxes folded into the statistics of a run.
#[divan::bench]
fn statistics_of_one_fixture(bencher: Bencher<'_, '_>) {
    let a = values(1, QUERIES * (COLUMNS + 4), -8.0, 2.0);
    let b = values(2, QUERIES * (COLUMNS + 4), -8.0, 2.0);
    bencher
        .with_inputs(StatisticsProbe::default)
        .bench_local_values(|mut probe| black_box(probe.add(black_box(&a), black_box(&b))));
}

/// The quantiles of 200 fixtures, exact.
#[divan::bench(sample_count = 10)]
fn summary_of_two_hundred_fixtures(bencher: Bencher<'_, '_>) {
    bencher
        .with_inputs(|| {
            let mut probe = StatisticsProbe::default();
            for fixture in 0..200 {
                let a = values(fixture, QUERIES * COLUMNS, -8.0, 2.0);
                let b = values(fixture + 1000, QUERIES * COLUMNS, -8.0, 2.0);
                probe.add(&a, &b);
            }
            probe
        })
        .bench_local_values(|mut probe| black_box(probe.summary()));
}

/// One side of one fixture.
#[divan::bench]
fn decode_of_one_side(bencher: Bencher<'_, '_>) {
    let logits = values(3, QUERIES * COLUMNS, -8.0, 2.0);
    let boxes = values(4, QUERIES * 4, 0.1, 0.9);
    bencher.bench_local(|| decoded(black_box(&logits), COLUMNS, black_box(&boxes), CLASSES, 0.25));
}

/// Detections of both sides; the candidate has another order and moved boxes.
fn sides(count: u32, places: u32) -> [Vec<Detection>; 2] {
    let mut unit = noise(5);
    let mut side = |turn: u32| {
        let mut rows: Vec<Detection> = (0..count)
            .map(|index| {
                let place = f64::from(index % places) / f64::from(places) * 0.7;
                let (x, y) = (place + unit() * 0.03, place + unit() * 0.03);
                let slot = (index + turn) % count;
                (slot, index % 3, 0.4 + unit() * 0.5, [x, y, x + 0.2, y + 0.2])
            })
            .collect();
        rows.sort_by_key(|row| row.0);
        rows
    };
    [side(0), side(7)]
}

/// The usual picture: five detections a side.
#[divan::bench]
fn sets_of_five(bencher: Bencher<'_, '_>) {
    let [a, b] = sides(5, 5);
    bencher.bench_local(|| matched(black_box(&a), black_box(&b), 0.25));
}

/// The cap: a hundred detections a side, crowded so that most may be most others.
#[divan::bench]
fn sets_of_a_hundred_crowded(bencher: Bencher<'_, '_>) {
    let [a, b] = sides(100, 8);
    bencher.bench_local(|| matched(black_box(&a), black_box(&b), 0.25));
}
