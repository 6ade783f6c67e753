//! Lines for docs/PERFORMANCE.md: what a benchmark says beside divan's own table. See benches/README.md.

#![allow(dead_code, reason = "each benchmark uses a part of this")]
#![allow(clippy::print_stdout, reason = "these lines are what a benchmark is run for")]

use std::time::Instant;

/// Whether the whole benchmark runs, and not a test of it or a part somebody picked.
pub(crate) fn wanted() -> bool {
    let words: Vec<String> = std::env::args().skip(1).collect();
    words.iter().any(|word| word == "--bench") && words.iter().all(|word| word.starts_with("--"))
}

/// A number that must be at most `at_most`. The name may say anything but tabs.
pub(crate) fn bar(name: &str, value: f64, unit: &str, at_most: f64) {
    let met = if value <= at_most { "yes" } else { "no" };
    println!("bar\t{name}\t{}\t{unit}\t{}\t{met}", shown(value), shown(at_most));
}

/// A number nothing is demanded of.
pub(crate) fn number(name: &str, value: f64, unit: &str) {
    println!("bar\t{name}\t{}\t{unit}\t-\t-", shown(value));
}

/// Three significant digits.
fn shown(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        _ => 4,
    };
    format!("{value:.decimals$}")
}

/// Milliseconds of each of `samples` calls, ascending. One call before them warms up.
pub(crate) fn milliseconds(samples: usize, mut work: impl FnMut()) -> Vec<f64> {
    work();
    let mut times: Vec<f64> = (0..samples)
        .map(|_| {
            let begun = Instant::now();
            work();
            begun.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    times.sort_unstable_by(f64::total_cmp);
    times
}

/// The quantile of ascending values whose rank is nearest; 0.5 is the median.
pub(crate) fn quantile(ascending: &[f64], share: f64) -> f64 {
    let last = ascending.len().saturating_sub(1);
    ascending.get((share * last as f64).round() as usize).copied().unwrap_or(f64::NAN)
}
