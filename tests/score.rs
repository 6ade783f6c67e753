//! `flipside score` from the outside: files in, numbers out, exit codes, refusals.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test stops at the first thing that is missing"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use flipside::domain::digest::ManifestHash;
use flipside::domain::shard::Shard;
use flipside::domain::taxonomy::Taxonomy;
use flipside::store::atomic;
use serde_json::Value;

#[path = "support/demo_labels.rs"]
mod demo_labels;
#[path = "support/sound_report.rs"]
mod sound_report;

use demo_labels::{ATTENTIVE, label_files, plan, read_truth};

/// A folder with a report over the demo's pictures and labels of three made-up raters.
struct Bench {
    folder: tempfile::TempDir,
    labels: Vec<PathBuf>,
}

fn demo(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(demo(name)).expect(name)
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("temporary folder");
        let truth = read_truth(&read("truth.json"));
        let manifest = ManifestHash::of(read("manifest.txt").as_bytes());
        let taxonomy = Taxonomy::parse(&read("coarse10.toml")).expect("valid");
        let classes: Vec<&str> =
            taxonomy.groups().iter().map(|group| group.leaves[0].as_str()).collect();
        let seen: Vec<sound_report::Seen> = truth
            .iter()
            .enumerate()
            .map(|(index, it)| {
                // Found by the reference in four of five; the candidate is a little less sure.
                let sure = if it.litter { 0.3 + 0.012 * f64::from(index as u32) } else { 0.25 };
                let class = it.categories.first().and_then(|name| {
                    taxonomy.groups().iter().position(|group| group.name == *name)
                });
                sound_report::Seen {
                    path: format!("images/{index:02}.jpg"),
                    sha256: it.fixture.to_hex(),
                    class: class.unwrap_or(0),
                    a: sure,
                    b: sure - 0.04,
                }
            })
            .collect();
        let report = sound_report::report(&seen, &classes, &manifest.to_hex());
        atomic::write(&folder.path().join("report.json"), report.to_string().as_bytes())
            .expect("written");
        let plan = plan(manifest, 3);
        let raters: Vec<_> = ["ada", "ben", "cyd"]
            .iter()
            .zip(1..)
            .map(|(name, index)| {
                (Shard::new(index, 3).expect("a shard"), name.parse().expect("a rater"))
            })
            .collect();
        let labels =
            label_files(&truth, &taxonomy, &plan, &raters, ATTENTIVE, "2026-02-04T00:00:00+00:00")
                .iter()
                .map(|file| file.create_in(&folder.path().join("labels")).expect("new"))
                .collect();
        Self { folder, labels }
    }

    fn report(&self) -> PathBuf {
        self.folder.path().join("report.json")
    }

    fn run(&self, more: &[&str]) -> Output {
        let mut command = flipside(self.folder.path());
        command.arg("score").arg("--report").arg(self.report()).arg("--labels").args(&self.labels);
        command.arg("--taxonomy").arg(demo("coarse10.toml")).args(more);
        command.output().expect("runs")
    }

    fn json(&self, more: &[&str]) -> Value {
        let output = self.run(&[&["--json"], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }
}

fn flipside(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flipside"));
    command.current_dir(folder).env_clear().env("FLIPSIDE_NOW", "2026-02-05T00:00:00Z");
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn works_from_a_report_and_label_files_alone() {
    let bench = Bench::new();
    let score = bench.json(&[]);
    assert_eq!(score["operatingPoint"], 0.4);
    let all = &score["subsets"][0];
    assert_eq!(all["name"], "all");
    let (n, positives) = (all["n"].as_u64().expect("n"), all["positives"].as_u64().expect("P"));
    assert_eq!(n + all["disputed"].as_u64().expect("disputed"), 48);
    assert!((25..=35).contains(&positives), "{positives}");
    let recall = &all["recall"];
    assert_eq!(recall["a"]["n"], positives);
    assert_eq!(recall["a"]["blind"], "asserted");
    let paired = &recall["paired"];
    let sum: u64 = ["both", "onlyA", "onlyB", "neither"]
        .iter()
        .map(|key| paired[key].as_u64().expect("a count"))
        .sum();
    assert_eq!(sum, positives);
    assert!(paired["onlyA"].as_u64() > Some(0) && paired["onlyB"] == 0);
    let names: Vec<&str> = all["categories"]
        .as_array()
        .expect("ten")
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    assert_eq!(names.len(), 10);
    assert!(
        score["subsets"].as_array().expect("list").iter().any(|it| it["name"] == "photographs")
    );
    assert!(score["subsets"].as_array().expect("list").iter().any(|it| it["name"] == "rater:ada"));
    assert_eq!(all["differing"][0]["only"], "a");
}

#[test]
fn the_same_files_give_the_same_bytes_in_any_order() {
    let mut bench = Bench::new();
    let first = bench.run(&["--json"]).stdout;
    bench.labels.reverse();
    assert_eq!(text(&bench.run(&["--json"]).stdout), text(&first));
}

#[test]
fn another_threshold_is_another_score() {
    let bench = Bench::new();
    let low = bench.json(&["--threshold", "0.21"]);
    assert_eq!(low["subsets"][0]["recall"]["a"]["k"], low["subsets"][0]["positives"]);
    let below = bench.json(&["--threshold", "0.1"]);
    assert!(below["noCategories"].as_str().expect("said").contains("0.2"));
    for bad in ["0", "1", "7", "-0.2"] {
        let output = bench.run(&[&format!("--threshold={bad}")]);
        assert_eq!(output.status.code(), Some(2), "{bad}");
        assert!(text(&output.stderr).contains("expected a confidence"), "{}", text(&output.stderr));
    }
}

#[test]
fn four_forms() {
    let bench = Bench::new();
    let plain = text(&bench.run(&[]).stdout);
    assert!(plain.contains("recall") && plain.contains("[asserted]"), "{plain}");
    assert!(plain.contains("blind only by assertion"), "{plain}");
    let csv = text(&bench.run(&["--csv"]).stdout);
    assert!(csv.starts_with("subset,planned,measure,side,k,n,"), "{csv}");
    let markdown = text(&bench.run(&["--markdown"]).stdout);
    assert!(markdown.starts_with("## Score at operating point 0.4"), "{markdown}");
    assert_eq!(bench.run(&["--csv", "--json"]).status.code(), Some(2));
}

#[test]
fn a_report_that_contradicts_itself_is_not_scored() {
    let bench = Bench::new();
    let sound = std::fs::read_to_string(bench.report()).expect("readable");
    // One confidence raised over the threshold, and nothing else.
    let raised = sound.replacen("\"confidence\":0.312,", "\"confidence\":0.45,", 1);
    assert!(sound != raised, "there is such a confidence");
    atomic::write(&bench.report(), raised.as_bytes()).expect("written");
    let output = bench.run(&["--json"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("report.json") && said.contains("expected"), "{said}");
}

#[test]
fn what_cannot_be_answered_exits_with_2_and_names_the_file() {
    let bench = Bench::new();
    let outside = flipside(bench.folder.path()).arg("score").output().expect("runs");
    assert_eq!(outside.status.code(), Some(2));
    assert!(text(&outside.stderr).contains("--report"), "{}", text(&outside.stderr));
    let broken = bench.folder.path().join("broken.jsonl");
    atomic::write(&broken, b"{}\n").expect("written");
    for (path, reason) in [(broken.as_path(), "line 1"), (Path::new("gone.jsonl"), "cannot read")] {
        let output = flipside(bench.folder.path())
            .arg("score")
            .arg("--report")
            .arg(bench.report())
            .arg("--labels")
            .arg(path)
            .output()
            .expect("runs");
        assert_eq!(output.status.code(), Some(2));
        let said = text(&output.stderr);
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        assert!(said.contains(reason) && said.contains(&name), "{said}");
    }
}

/// A workspace of the demo with the bench's files in it.
fn workspace(bench: &Bench) {
    let config = format!(
        "schema = 1\n[compare]\nreference = \"a.onnx\"\ncandidates = [\"b.onnx\"]\nsidecar = \"a.json\"\n\
         [fixtures]\nmanifest = {:?}\n[labels]\ntaxonomy = {:?}\nshards = 3\n",
        demo("manifest.txt"),
        demo("coarse10.toml")
    );
    let root = bench.folder.path();
    atomic::write(&root.join("flipside.toml"), config.as_bytes()).expect("written");
    let report = std::fs::read(bench.report()).expect("readable");
    atomic::write(&root.join("sessions/reports/one.json"), &report).expect("written");
}

#[test]
fn in_a_workspace_nothing_needs_naming() {
    let bench = Bench::new();
    workspace(&bench);
    let output = flipside(bench.folder.path()).args(["score", "--json"]).output().expect("runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let score: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(score["evidence"]["labelFiles"].as_array().map(Vec::len), Some(3));
    let path = score["evidence"]["labelFiles"][0]["path"].as_str().expect("a path");
    assert!(path.starts_with("labels/"), "{path}");
    assert!(text(&output.stderr).contains("one.json"), "which report is said");
}

#[test]
fn a_margin_counts_only_when_registered_before_the_first_seal() {
    let bench = Bench::new();
    workspace(&bench);
    let register = |now: &str, margin: &str| {
        let output = flipside(bench.folder.path())
            .env("FLIPSIDE_NOW", now)
            .args(["score", "--register-margin", margin, "--question", "May int8 go out?"])
            .output()
            .expect("runs");
        (output.status.code(), text(&output.stderr))
    };
    let (code, said) = register("2026-02-05T00:00:00Z", "0.5");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("3 label files are sealed already"), "{said}");
    let after = bench.run(&["--json"]).stdout;
    assert!(text(&after).contains("margin chosen after"), "{}", text(&after));
    assert!(!text(&after).contains("equivalent"), "{}", text(&after));
    // As if it had been registered in time: before there were labels, by the clock too.
    std::fs::rename(bench.folder.path().join("labels"), bench.folder.path().join("aside"))
        .expect("moved");
    assert_eq!(register("2026-02-01T00:00:00Z", "0.5").0, Some(0));
    std::fs::rename(bench.folder.path().join("aside"), bench.folder.path().join("labels"))
        .expect("moved");
    let before = bench.run(&["--json"]).stdout;
    assert!(text(&before).contains("equivalent within 50 points"), "{}", text(&before));
    let (code, said) = register("2026-02-01T00:00:00Z", "5");
    assert_eq!(code, Some(2));
    assert!(said.contains("like 0.05"), "{said}");
}
