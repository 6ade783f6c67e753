//! One step of the threshold screen's cursor over 10,000 labelled images: rates, bands, decisions, lists, and the screen drawn at 200 x 60.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is missing"
)]

use flipside::sighted::entry::probe_threshold::ThresholdProbe;

#[path = "bars/mod.rs"]
mod bars;

/// Steps up before the cursor goes down again.
const SWEEP: u32 = 50;

fn main() {
    divan::main();
    if bars::wanted() {
        let mut step = stepper(10_000);
        let times = bars::milliseconds(4 * SWEEP as usize, &mut step);
        let name = "threshold screen, one step over 10,000 images, drawn";
        bars::bar(&format!("{name}, median"), bars::quantile(&times, 0.5), "ms", 16.0);
        bars::bar(&format!("{name}, 99 of 100"), bars::quantile(&times, 0.99), "ms", 16.0);
    }
}

/// One more step of a cursor that sweeps up and down, so that each step passes other images.
fn stepper(pictures: u32) -> impl FnMut() {
    let mut probe = ThresholdProbe::new(pictures);
    let mut steps = 0;
    move || {
        let up = (steps / SWEEP).is_multiple_of(2);
        steps += 1;
        probe.step(if up { 1 } else { -1 });
    }
}

#[divan::bench(args = [1_000, 10_000])]
fn one_hundredth(bencher: divan::Bencher<'_, '_>, pictures: u32) {
    bencher.bench_local(stepper(pictures));
}
