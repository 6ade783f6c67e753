//! One step of the threshold screen's cursor: everything recounted, over 10,000 pictures.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is missing"
)]

use flipside::sighted::entry::probe_threshold::ThresholdProbe;

fn main() {
    divan::main();
}

#[divan::bench(args = [1_000, 10_000])]
fn one_hundredth(bencher: divan::Bencher<'_, '_>, pictures: u32) {
    let mut probe = ThresholdProbe::new(pictures);
    let mut up = true;
    bencher.bench_local(|| {
        up = !up;
        probe.step(if up { 1 } else { -1 })
    });
}
