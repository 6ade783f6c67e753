//! The screens as a person meets them: the next picture, the first frame of a large workspace, and turns of the screen's thread during a run.
//!
//! Pictures are 12-megapixel JPEGs on a terminal of 120x40 with half blocks. The program is started on a
//! pseudo-terminal that answers at once, as terminals on the same machine do.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a benchmark stops at the first thing that is missing"
)]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use flipside::domain::digest::FixtureId;
use flipside::sighted::entry::probe_screens::{ReviewProbe, large_report};
use flipside::store::atomic;

#[path = "bars/mod.rs"]
mod bars;
#[path = "../tests/support/pty.rs"]
#[allow(dead_code, reason = "shared with tests, each of which needs a part")]
mod pty;

use pty::Pty;

/// Terminal the pictures are drawn on.
const SIZE: (u16, u16) = (120, 40);

/// Pictures to walk through.
const PICTURES: u32 = 8;

/// Fixtures of the large workspace.
const FIXTURES: u32 = 10_000;

/// JPEGs of 4000x3000 that differ, with detail in them; path and hash of each.
fn pictures(folder: &Path) -> Vec<(String, String)> {
    (0..PICTURES)
        .map(|number| {
            let picture = image::RgbImage::from_fn(4000, 3000, |x, y| {
                let wave = |value: u32| (value % 256) as u8;
                image::Rgb([wave(x / 3 + number * 20), wave(y / 2), wave((x * y) >> 9)])
            });
            let mut bytes = Vec::new();
            image::codecs::jpeg::JpegEncoder::new_with_quality(&mut bytes, 90)
                .encode_image(&picture)
                .expect("encoded");
            let name = format!("{number}.jpg");
            atomic::write(&folder.join(&name), &bytes).expect("written");
            (name, FixtureId::of(&bytes).to_hex())
        })
        .collect()
}

fn milliseconds(times: Vec<Duration>) -> Vec<f64> {
    let mut times: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1000.0).collect();
    times.sort_unstable_by(f64::total_cmp);
    times
}

fn next_picture(folder: &Path, pictures: &[(String, String)]) {
    let mut probe = ReviewProbe::new(folder, pictures, SIZE).expect("a screen");
    let begun = Instant::now();
    probe.until_shown().expect("a picture");
    bars::number(
        "first 12-megapixel picture, nothing prepared",
        milliseconds(vec![begun.elapsed()])[0],
        "ms",
    );
    let mut times = Vec::new();
    for _ in 1..PICTURES {
        // A person looks at a picture for longer than the next one takes to be prepared.
        std::thread::sleep(Duration::from_millis(1500));
        times.push(probe.press_until_shown("l").expect("the next picture"));
    }
    let times = milliseconds(times);
    bars::bar(
        "next picture on screen when prepared, median",
        bars::quantile(&times, 0.5),
        "ms",
        50.0,
    );
    bars::bar(
        "next picture on screen when prepared, slowest",
        bars::quantile(&times, 1.0),
        "ms",
        50.0,
    );
}

fn while_a_run_goes_on(folder: &Path, pictures: &[(String, String)]) {
    let mut probe = ReviewProbe::new(folder, pictures, SIZE).expect("a screen");
    probe.until_shown().expect("a picture");
    probe.longest();
    // One core is kept busy, as a run does.
    let over = Arc::new(AtomicBool::new(false));
    let busy = std::thread::spawn({
        let over = Arc::clone(&over);
        move || {
            let mut sum = 0_u64;
            while !over.load(Ordering::Relaxed) {
                sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(7));
            }
        }
    });
    let keys = ["j", "k", "v", "o", "a", "u", "x", "z", "Z", "s", "s", "s", "s", "y", "esc"];
    let mut grown = Vec::new();
    for round in 0..40 {
        grown.push(probe.grow(FIXTURES as usize / 40).expect("grown"));
        for key in keys {
            probe.press(key).expect("a key of the screen");
        }
        if round % 8 == 0 {
            probe.until_shown().expect("a picture or a refusal");
        }
    }
    over.store(true, Ordering::Relaxed);
    busy.join().expect("no panic");
    let grown = milliseconds(grown);
    bars::number("a queue of 10,000 pictures grown, median", bars::quantile(&grown, 0.5), "ms");
    let longest = probe.longest().as_secs_f64() * 1000.0;
    bars::bar("longest turn of the screen's thread while a run goes on", longest, "ms", 16.0);
}

/// Starts the program until the terminal shows `wanted`.
fn started(root: &Path, words: &[&str], wanted: &str) -> Duration {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flipside"));
    command
        .args(["-C".as_ref(), root.as_os_str()])
        .args(words)
        .env_clear()
        .env("TERM", "xterm-256color")
        .env("USER", "ada")
        .env("TMPDIR", std::env::temp_dir());
    let begun = Instant::now();
    let mut pty = Pty::start(&command, SIZE.0, SIZE.1);
    let mut answered = false;
    let took = loop {
        let bytes = pty.bytes();
        if !answered && bytes.windows(3).any(|window| window == b"\x1b[c") {
            pty.keys("\x1b[?62;c");
            answered = true;
        }
        if pty.screen().contains(wanted) {
            break begun.elapsed();
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", pty.screen());
        std::thread::sleep(Duration::from_millis(1));
    };
    pty.keys("q");
    assert_eq!(pty.ended_within(Duration::from_secs(10)), Some(Ok(0)));
    took
}

fn starts() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let (report, manifest) = large_report(FIXTURES).expect("a report");
    let toml = "schema = 1\n[compare]\nreference = \"reference.onnx\"\ncandidates = [\"candidate.onnx\"]\nsidecar = \"s.json\"\n[fixtures]\nmanifest = \"manifest.txt\"\n";
    for (name, bytes) in [
        ("flipside.toml", toml.as_bytes()),
        ("manifest.txt", manifest.as_bytes()),
        ("sessions/reports/large.json", report.as_slice()),
    ] {
        atomic::write(&root.join(name), bytes).expect("written");
    }
    let median = |words: &[&str], wanted: &str| {
        let times = (0..9).map(|_| started(root, words, wanted)).collect();
        bars::quantile(&milliseconds(times), 0.5)
    };
    bars::bar(
        "overview of 10,000 fixtures: start to first frame",
        median(&[], "ARTIFACTS"),
        "ms",
        300.0,
    );
    bars::number(
        "overview of 10,000 fixtures: start to its report listed",
        median(&[], "1000 changed"),
        "ms",
    );
    bars::bar(
        "review of 10,000 fixtures: start to first frame",
        median(&["review"], "reading the report"),
        "ms",
        300.0,
    );
    bars::number(
        "review of 10,000 fixtures: start to the worst change",
        median(&["review"], "1/1000 pictures"),
        "ms",
    );
}

fn main() {
    if bars::wanted() {
        let folder = tempfile::tempdir().expect("a folder");
        let pictures = pictures(folder.path());
        next_picture(folder.path(), &pictures);
        while_a_run_goes_on(folder.path(), &pictures);
        starts();
    }
}
