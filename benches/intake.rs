//! Looking into a model file: the hash of its bytes, and everything `flipside inspect` says of it.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a benchmark stops at the first thing that is missing"
)]

#[path = "bars/mod.rs"]
mod bars;

use std::path::{Path, PathBuf};

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use flipside::domain::digest::sha256;
use flipside::sighted::entry::inspect::inspect;

/// Bytes that are hashed.
const SIZE: usize = 64 << 20;

fn main() {
    divan::main();
    if bars::wanted() {
        let bytes = vec![7_u8; SIZE];
        let times = bars::milliseconds(10, || {
            black_box(sha256(black_box(&bytes)));
        });
        let name = "hash of a model of 64 MiB, median";
        bars::number(name, bars::quantile(&times, 0.5), "ms");
        let model = [model()];
        let size = std::fs::metadata(&model[0]).expect("the demo's model").len();
        let times = bars::milliseconds(20, || {
            black_box(inspect(&model, None)).expect("inspected");
        });
        let name = format!("inspect the demo's fp32 model ({:.1} MB), median", size as f64 / 1e6);
        bars::number(&name, bars::quantile(&times, 0.5), "ms");
    }
}

fn model() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo/artifacts/demo-litter.fp32.onnx")
}

#[divan::bench(sample_count = 10)]
fn hash(bencher: Bencher<'_, '_>) {
    let bytes = vec![7_u8; SIZE];
    bencher.counter(BytesCount::new(SIZE)).bench(|| sha256(black_box(&bytes)));
}

#[divan::bench(sample_count = 20)]
fn inspect_the_demo_model() {
    inspect(&[model()], None).expect("inspected");
}
