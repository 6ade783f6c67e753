//! A whole comparison of the demo's detectors against the bare calls of the runtime, a second candidate on a remembered reference, and peak memory at 40 and 400 pictures.
//!
//! One thread inside each call of the runtime. Whole and bare take turns, and the smallest of each is taken:
//! what is above it is this machine's other work.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a benchmark stops at the first thing that is missing"
)]

#[path = "bars/mod.rs"]
mod bars;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use flipside::sighted::entry::parity::{
    ParityAnswer, ParityQuestion, Place, ReportPlace, compare_artifacts,
};
use flipside::sighted::entry::probe_run::BareRuns;

/// Rounds of each measurement.
const ROUNDS: usize = 3;

fn main() {
    if !bars::wanted() {
        return;
    }
    let folder = tempfile::tempdir().expect("temporary folder");
    let bench = Bench { folder: folder.path() };
    bench.whole_against_bare();
    bench.second_candidate();
    bench.memory();
}

struct Bench<'a> {
    folder: &'a Path,
}

fn demo(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo").join(name)
}

fn model(kind: &str) -> PathBuf {
    demo(&format!("artifacts/demo-litter.{kind}"))
}

fn seconds(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64()
}

impl Bench<'_> {
    /// The demo's pictures over and over, `count` lines.
    fn manifest(&self, count: usize) -> PathBuf {
        let text = std::fs::read_to_string(demo("manifest.txt")).expect("the demo's manifest");
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let lines: Vec<String> = lines
            .filter(|line| !line.starts_with('#'))
            .map(|line| demo(line).display().to_string())
            .collect();
        let text: Vec<&str> = lines.iter().map(String::as_str).cycle().take(count).collect();
        let path = self.folder.join(format!("{count}.txt"));
        flipside::store::atomic::write(&path, text.join("\n").as_bytes()).expect("written");
        path
    }

    fn compare(&self, candidate: &str, manifest: &Path, outputs: Option<PathBuf>) {
        let place = |path: PathBuf| Place { written: path.clone(), path };
        let question = ParityQuestion {
            reference: place(model("fp32.onnx")),
            candidate: place(model(candidate)),
            sidecar: place(model("fp32.meta.json")),
            manifest: place(manifest.to_owned()),
            report: ReportPlace::File(self.folder.join("report.json")),
            outputs,
            baseline: None,
            shard: (1, 1),
            limit: None,
            threads: 1,
            threshold: None,
            strict: true,
            noise_on_all: false,
            latency: false,
            ort_lib: None,
            generated_at: "2026-01-01T00:00:00+00:00".to_owned(),
        };
        let answer = compare_artifacts(&question, &AtomicBool::new(false), &|_| {});
        assert!(matches!(answer.expect("compares"), ParityAnswer::Compared(_)));
    }

    /// A database nobody has written to.
    fn fresh(&self, name: &str) -> PathBuf {
        for ending in ["", "-wal", "-shm"] {
            let path = self.folder.join(format!("{name}.db{ending}"));
            if path.exists() {
                std::fs::remove_file(path).expect("removed");
            }
        }
        self.folder.join(format!("{name}.db"))
    }

    fn whole_against_bare(&self) {
        const COUNT: u32 = 240;
        let manifest = self.manifest(COUNT as usize);
        let paths = [&model("fp32.onnx"), &model("int8.onnx"), &model("fp32.meta.json")];
        let [a, b, sidecar] = paths.map(PathBuf::as_path);
        let mut bare = BareRuns::prepare([a, b, sidecar, &demo("manifest.txt")], 1).expect("loads");
        let (mut fewest, mut fewest_bare) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..ROUNDS {
            let outputs = self.fresh("whole");
            fewest = fewest.min(seconds(|| self.compare("int8.onnx", &manifest, Some(outputs))));
            let spent = bare.run(u64::from(COUNT)).expect("runs").as_secs_f64();
            fewest_bare = fewest_bare.min(spent);
        }
        let per_picture = 1000.0 / f64::from(COUNT);
        bars::number(
            "bare runtime calls, a picture on both sides",
            fewest_bare * per_picture,
            "ms",
        );
        bars::number("whole comparison, a picture", fewest * per_picture, "ms");
        let name = format!("whole comparison of {COUNT} pictures / its bare runtime calls");
        bars::bar(&name, fewest / fewest_bare, "times", 1.05);
    }

    /// The candidate is the same in both, so that only the remembered reference makes the difference; and it
    /// is the one that costs what the reference does (int8 costs several times as much on a processor without
    /// instructions for it).
    fn second_candidate(&self) {
        let manifest = self.manifest(96);
        let (mut alone, mut second) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..ROUNDS {
            let outputs = self.fresh("alone");
            alone = alone.min(seconds(|| self.compare("fp16.onnx", &manifest, Some(outputs))));
            let outputs = self.fresh("shared");
            self.compare("int8.onnx", &manifest, Some(outputs.clone()));
            second = second.min(seconds(|| self.compare("fp16.onnx", &manifest, Some(outputs))));
        }
        let name = "fp16 as a second candidate, the reference remembered / the same alone";
        bars::bar(name, second / alone, "times", 0.6);
    }

    #[cfg(not(target_os = "linux"))]
    fn memory(&self) {}

    /// Of the program itself, in a process of its own.
    #[cfg(target_os = "linux")]
    fn memory(&self) {
        let [small, large] = [40, 400].map(|count| self.peak_megabytes(count));
        bars::number("peak memory of a comparison, 40 pictures", small, "MB");
        bars::bar("peak memory, 400 pictures / 40 pictures", large / small, "times", 1.10);
    }

    #[cfg(target_os = "linux")]
    fn peak_megabytes(&self, count: usize) -> f64 {
        let manifest = self.manifest(count);
        let child = Command::new(env!("CARGO_BIN_EXE_flipside"))
            .current_dir(self.folder)
            .args(["parity", "--no-latency", "--report", "memory.json", "--reference"])
            .arg(model("fp32.onnx"))
            .arg("--candidate")
            .arg(model("int8.onnx"))
            .arg("--sidecar")
            .arg(model("fp32.meta.json"))
            .arg("--fixtures")
            .arg(&manifest)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut child: Child = child.expect("started");
        let status = format!("/proc/{}/status", child.id());
        let mut peak = 0.0_f64;
        let ended = loop {
            // The kernel keeps the peak, so only growth in the last moment can be missed.
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kilobytes =
                line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
            peak = peak.max(kilobytes.unwrap_or(0.0));
            if let Some(ended) = child.try_wait().expect("waits") {
                break ended;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        assert!(ended.success(), "{ended}");
        peak / 1024.0
    }
}
