//! One parity run, for the command line: from paths to a report that is written and summarised.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::Context as _;

pub use super::background::ParityProgress;
use super::background::{Follower, Numbers};
use crate::domain::canonical::Json;
use crate::domain::digest::ReportHash;
use crate::domain::escape::{escape, escape_os};
use crate::domain::manifest::{MAX_BYTES, Manifest};
use crate::sighted::artifact::contract::{Severity, boundary, of_two_sidecars};
use crate::sighted::artifact::file;
use crate::sighted::artifact::intake::{Artifact, ArtifactError};
use crate::sighted::artifact::sidecar::{Sidecar, path_beside};
use crate::sighted::decision::fold::DecisionRules;
use crate::sighted::decision::report::baseline::{GateOutcome, compare};
use crate::sighted::decision::report::build::{ReportBuilder, ReportContext};
use crate::sighted::decision::report::read::{MAX_REPORT_BYTES, read};
use crate::sighted::decision::report::write::to_bytes;
use crate::sighted::decision::report::{
    ArtifactEntry, Environment, Normalization, ParityReport, RecipeEntry, RuntimeEntry, ShardEntry,
    Sides,
};
use crate::sighted::export::summary::Summary;
use crate::sighted::harness::environment::{cpu_features, platform};
use crate::sighted::harness::latency::{LatencyPlan, measure};
use crate::sighted::harness::memory::{Memory, RunKey};
use crate::sighted::harness::prepare::{Line, Prepared, Tensor, prepare};
use crate::sighted::harness::recipe::{RECIPE_NAME, Recipe};
use crate::sighted::harness::run::{Finished, Lane, NoiseSample, RunError, RunPlan, Side, run};
use crate::sighted::harness::runner::{CPU, OPTIMISATION, OnnxRunner, Runner};
use crate::sighted::harness::runtime_library::{ManagedFolder, Runtime, load, locate};
use crate::sighted::review::material::{Header, SideName};
use crate::sighted::runs::outputs;
use crate::store::atomic;
use crate::store::workspace::PRODUCT;

/// On so many fixtures at the manifest's beginning the reference is compared with itself.
pub const NOISE_FIXTURES: u64 = 8;

/// A file, and how the user wrote its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// As typed, or as it stands in `flipside.toml`.
    pub written: PathBuf,
    /// What is opened.
    pub path: PathBuf,
}

impl Place {
    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or_else(|| Path::new(""))
    }
}

/// Where the report goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReportPlace {
    /// To this file; what was there is replaced.
    File(PathBuf),
    /// To a file in this folder, named after the two artifacts; nothing is ever replaced, because a
    /// sign-off may name it.
    Folder(PathBuf),
}

/// What is to be compared, and how.
#[derive(Debug, Clone)]
pub struct ParityQuestion {
    /// Side A.
    pub reference: Place,
    /// Side B.
    pub candidate: Place,
    /// Used for both sides.
    pub sidecar: Place,
    /// The manifest.
    pub manifest: Place,
    /// Where the report goes.
    pub report: ReportPlace,
    /// Where raw outputs are remembered.
    pub outputs: Option<PathBuf>,
    /// A stored report that must not get worse, and the margin.
    pub baseline: Option<(PathBuf, f64)>,
    /// Part of the manifest, counted from 1, and the number of parts.
    pub shard: (u32, u32),
    /// Only so many lines from the manifest's beginning.
    pub limit: Option<u64>,
    /// Threads inside one run of an artifact.
    pub threads: u32,
    /// Instead of the sidecar's recommended threshold.
    pub threshold: Option<f64>,
    /// A fixture that cannot be compared stops the run.
    pub strict: bool,
    /// Run the reference twice on every fixture, not only on the first few.
    pub noise_on_all: bool,
    /// Measure the latency ratio afterwards.
    pub latency: bool,
    /// A library to use instead of the installed one.
    pub ort_lib: Option<PathBuf>,
    /// When this is, as reports write it.
    pub generated_at: String,
}

/// What a run came to.
#[derive(Debug, Clone)]
pub enum ParityAnswer {
    /// Both sides ran.
    Compared(Box<Compared>),
    /// A side is not run at all; text and JSON have a row for it.
    Blocked {
        /// Lines for people, escaped.
        text: String,
        /// The same for programs.
        json: String,
    },
    /// Somebody asked to stop.
    Stopped {
        /// Fixtures gone through.
        done: u64,
        /// All of them.
        total: u64,
        /// They are remembered, so that the same command goes on.
        remembered: bool,
    },
}

/// A finished comparison.
#[derive(Debug, Clone)]
pub struct Compared {
    /// Lines for people, escaped.
    pub text: String,
    /// The same for programs.
    pub json: String,
    /// The sentence about counts and decisions.
    pub sentence: String,
    /// Where the report is.
    pub report: PathBuf,
    /// Something got worse than in the baseline.
    pub regressed: bool,
    /// What a person should know beside it, escaped.
    pub notes: Vec<String>,
}

/// Runs both artifacts over the fixtures and writes the report.
///
/// # Errors
/// Anything that keeps it from an answer; then no report was written.
pub fn compare_artifacts(
    question: &ParityQuestion,
    cancel: &AtomicBool,
    progress: &(dyn Fn(&ParityProgress) + Sync),
) -> anyhow::Result<ParityAnswer> {
    compare_followed(question, cancel, &Numbers(progress))
}

/// [`compare_artifacts`], with somebody who is told of every fixture.
pub(in crate::sighted) fn compare_followed(
    question: &ParityQuestion,
    cancel: &AtomicBool,
    follower: &dyn Follower,
) -> anyhow::Result<ParityAnswer> {
    let mut notes = Vec::new();
    let baseline = match &question.baseline {
        Some((path, margin)) => Some((read_report(path)?, *margin)),
        None => None,
    };
    let sidecar = Sidecar::open(&question.sidecar.path)?;
    let artifacts = match open_artifacts(question, &sidecar, &mut notes) {
        Ok(artifacts) => artifacts,
        Err(rows) => return Ok(blocked(&rows)),
    };
    let library = locate(question.ort_lib.as_deref(), ManagedFolder::of_this_user().as_ref())?;
    let runtime = load(&library)?;
    notes.extend(runtime.warning.clone());
    let setup = Setup::new(question, sidecar, artifacts, runtime)?;
    let memory = setup.memory(question, &mut notes);
    let remembered = question.outputs.is_some();
    let mut sides = match setup.lanes(question.threads, &memory) {
        Ok(sides) => sides,
        Err(row) => return Ok(blocked(&[*row])),
    };
    follower.ready(setup.header(question), question.manifest.folder());
    let finished = run(
        &setup.plan(question),
        &mut sides,
        memory,
        ReportBuilder::new(setup.rules.clone())?,
        cancel,
        follower,
    );
    let finished = match finished {
        Ok(finished) => finished,
        Err(RunError::Cancelled { done, total }) => {
            return Ok(ParityAnswer::Stopped { done, total, remembered });
        }
        Err(RunError::Runner { side, source }) => {
            let row = BlockedRow::new(side, question, setup.artifact(side), source.to_string());
            return Ok(blocked(&[row]));
        }
        Err(error) => return Err(error.into()),
    };
    notes.extend(
        finished.not_kept.iter().map(|why| format!("outputs are no longer remembered: {why}")),
    );
    report(question, &setup, sides, finished, baseline.as_ref(), cancel, notes)
}

/// Everything that is fixed before the first fixture.
struct Setup {
    artifacts: Sides<Artifact>,
    sidecar: Sidecar,
    recipe: Recipe,
    manifest: Manifest,
    lines: Vec<Line>,
    rules: DecisionRules,
    runtime: &'static Runtime,
    cpu_features: Vec<String>,
}

impl Setup {
    fn new(
        question: &ParityQuestion,
        sidecar: Sidecar,
        artifacts: Sides<Artifact>,
        runtime: &'static Runtime,
    ) -> anyhow::Result<Self> {
        let scale = sidecar.normalization;
        let recipe = Recipe::new(sidecar.width, sidecar.height, scale.mean, scale.std)
            .with_context(|| escape_os(question.sidecar.path.as_os_str()))?;
        let manifest = read_manifest(&question.manifest.path)?;
        let lines = lines_of(&manifest, question.shard, question.limit);
        let recommended = question.threshold.unwrap_or(sidecar.confidence_threshold);
        let rules = DecisionRules {
            classes: sidecar.classes.len(),
            recommended,
            logits_output: "labels".to_owned(),
            boxes_output: "dets".to_owned(),
        };
        rules.check()?;
        let cpu_features = cpu_features();
        Ok(Self { artifacts, sidecar, recipe, manifest, lines, rules, runtime, cpu_features })
    }

    /// What the comparison is called, and what its fixtures are named with.
    fn header(&self, question: &ParityQuestion) -> Header {
        let side = |place: &Place, artifact: &Artifact| {
            SideName::new(&place.written.to_string_lossy(), &artifact.hash().to_hex())
        };
        Header {
            sides: Sides {
                a: side(&question.reference, &self.artifacts.a),
                b: side(&question.candidate, &self.artifacts.b),
            },
            recipe: self.recipe.hash().to_hex(),
            threshold: self.rules.recommended,
            classes: self.sidecar.classes.clone(),
            input: (self.recipe.width(), self.recipe.height()),
        }
    }

    fn artifact(&self, side: Side) -> &Artifact {
        match side {
            Side::Reference => &self.artifacts.a,
            Side::Candidate => &self.artifacts.b,
        }
    }

    fn plan(&self, question: &ParityQuestion) -> RunPlan<'_> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        // One core is left to comparing, so many are busy running an artifact.
        let busy = usize::try_from(question.threads).unwrap_or(1);
        RunPlan {
            lines: &self.lines,
            recipe: &self.recipe,
            workers: cores.saturating_sub(busy + 1).clamp(1, 4),
            noise: match question.noise_on_all {
                true => NoiseSample::All,
                false => NoiseSample::First(NOISE_FIXTURES),
            },
            strict: question.strict,
        }
    }

    /// What earlier runs left. That it cannot be had costs time, nothing else.
    fn memory(&self, question: &ParityQuestion, notes: &mut Vec<String>) -> Memory {
        let Some(path) = &question.outputs else { return Memory::none() };
        let runtime = serde_json::json!({
            "name": "onnxruntime",
            "version": self.runtime.version,
            "library": self.runtime.library.sha256,
            "provider": CPU,
            "intraOpThreads": question.threads,
            "optimisation": OPTIMISATION,
            "cpuFeatures": self.cpu_features,
        });
        let circumstances = outputs::Circumstances {
            recipe: self.recipe.hash(),
            runtime: Json::from_value(&runtime).map(|json| json.to_canonical()).unwrap_or_default(),
        };
        let artifacts = [self.artifacts.a.hash(), self.artifacts.b.hash()];
        outputs::open_memory(path, &circumstances, &artifacts, outputs::MAX_BYTES).unwrap_or_else(
            |error| {
                notes.push(format!("outputs are not remembered: {error}"));
                Memory::none()
            },
        )
    }

    /// Both sides. The candidate is loaded now, so that one that does not load is said at once; so is the
    /// reference, unless earlier runs left something of it.
    fn lanes(&self, threads: u32, memory: &Memory) -> Result<Sides<Lane>, Box<BlockedRow>> {
        let lane = |artifact: &Artifact| {
            let (runtime, bytes) = (self.runtime, artifact.clone());
            Lane::new(
                artifact.hash(),
                Box::new(move || {
                    let runner = OnnxRunner::load(runtime, &bytes, threads)?;
                    Ok(Box::new(runner) as Box<dyn Runner>)
                }),
            )
        };
        let mut sides = Sides { a: lane(&self.artifacts.a), b: lane(&self.artifacts.b) };
        let reference = self.artifacts.a.hash();
        let remembered = memory.known.keys().any(|key: &RunKey| key.artifact == reference);
        let mut rows = Vec::new();
        if !remembered {
            rows.push((Side::Reference, sides.a.runner().err()));
        }
        rows.push((Side::Candidate, sides.b.runner().err()));
        for (side, error) in rows {
            if let Some(error) = error {
                let artifact = self.artifact(side);
                return Err(Box::new(BlockedRow {
                    side,
                    path: artifact.path().to_owned(),
                    sha256: Some(artifact.hash().to_hex()),
                    bytes: Some(artifact.size()),
                    reason: error.to_string(),
                }));
            }
        }
        Ok(sides)
    }
}

/// A side that is not run.
#[derive(Debug)]
struct BlockedRow {
    side: Side,
    path: PathBuf,
    sha256: Option<String>,
    bytes: Option<u64>,
    /// Escaped.
    reason: String,
}

impl BlockedRow {
    fn new(side: Side, question: &ParityQuestion, artifact: &Artifact, reason: String) -> Self {
        Self {
            side,
            path: place(question, side).written.clone(),
            sha256: Some(artifact.hash().to_hex()),
            bytes: Some(artifact.size()),
            reason,
        }
    }
}

fn place(question: &ParityQuestion, side: Side) -> &Place {
    match side {
        Side::Reference => &question.reference,
        Side::Candidate => &question.candidate,
    }
}

fn blocked(rows: &[BlockedRow]) -> ParityAnswer {
    let mut text = String::from("nothing was compared\n");
    let mut entries = Vec::new();
    for row in rows {
        let sha256 = row.sha256.as_deref().unwrap_or("-");
        text.push_str(&format!(
            "{:<10} {}  sha256 {}  {}\n",
            row.side.to_string(),
            escape_os(row.path.as_os_str()),
            sha256.get(..12).unwrap_or(sha256),
            row.reason
        ));
        entries.push(serde_json::json!({
            "side": row.side.to_string(),
            "path": row.path.to_string_lossy(),
            "sha256": row.sha256,
            "bytes": row.bytes,
            "status": "blocked",
            "reason": row.reason,
        }));
    }
    let json = serde_json::json!({ "schema": 1, "status": "blocked", "artifacts": entries });
    ParityAnswer::Blocked { text, json: format!("{json:#}") }
}

/// Reads and checks both artifacts; every one that is refused has a row.
fn open_artifacts(
    question: &ParityQuestion,
    sidecar: &Sidecar,
    notes: &mut Vec<String>,
) -> Result<Sides<Artifact>, Vec<BlockedRow>> {
    let mut rows = Vec::new();
    let mut open = |side: Side| -> Option<Artifact> {
        let place = place(question, side);
        let artifact = match Artifact::open(&place.path) {
            Ok(artifact) => artifact,
            Err(error) => {
                let (sha256, bytes, reason) = match error {
                    ArtifactError::Refused { hash, size, reason, .. } => {
                        (Some(hash.to_hex()), Some(size), format!("refused: {reason}"))
                    }
                    ArtifactError::Unreadable { source, .. } => {
                        (None, None, format!("cannot be read: {source}"))
                    }
                };
                let path = place.written.clone();
                rows.push(BlockedRow { side, path, sha256, bytes, reason });
                return None;
            }
        };
        let faults: Vec<String> = boundary(artifact.facts(), sidecar)
            .into_iter()
            .filter(|finding| finding.severity == Severity::Error)
            .map(|finding| finding.text)
            .collect();
        if !faults.is_empty() {
            let reason = format!("refused: {}", faults.join("; "));
            rows.push(BlockedRow::new(side, question, &artifact, reason));
            return None;
        }
        Some(artifact)
    };
    match (open(Side::Reference), open(Side::Candidate)) {
        (Some(a), Some(b)) => {
            notes.extend(candidate_sidecar(question, sidecar));
            Ok(Sides { a, b })
        }
        _ => Err(rows),
    }
}

/// What the candidate's own sidecar, where there is one, says otherwise. Both sides are decoded by the
/// reference's.
fn candidate_sidecar(question: &ParityQuestion, sidecar: &Sidecar) -> Vec<String> {
    let path = path_beside(&question.candidate.path);
    if path == question.sidecar.path || !path.is_file() {
        return Vec::new();
    }
    match Sidecar::open(&path) {
        Ok(own) => of_two_sidecars(sidecar, &own)
            .into_iter()
            .filter(|finding| finding.severity != Severity::Info)
            .map(|finding| format!("the candidate's own sidecar: {}", finding.text))
            .collect(),
        Err(error) => vec![format!("the candidate's own sidecar is not looked at: {error}")],
    }
}

fn read_manifest(path: &Path) -> anyhow::Result<Manifest> {
    let name = || escape_os(path.as_os_str());
    let bytes = file::read(path, MAX_BYTES as u64).with_context(name)?;
    let folder = path.parent().unwrap_or_else(|| Path::new(""));
    Manifest::parse(&bytes, folder).with_context(name)
}

/// The lines of one shard: every `of`-th, so that shards take equally long when the manifest is sorted by
/// source.
fn lines_of(manifest: &Manifest, (index, of): (u32, u32), limit: Option<u64>) -> Vec<Line> {
    let limit = limit.unwrap_or(u64::MAX);
    (0..)
        .zip(&manifest.entries)
        .filter(|(position, _)| {
            *position < limit && position % u64::from(of.max(1)) + 1 == u64::from(index)
        })
        .map(|(position, entry)| Line {
            position,
            written: entry.written.clone(),
            path: entry.path.clone(),
        })
        .collect()
}

fn read_report(path: &Path) -> anyhow::Result<ParityReport> {
    let name = || format!("baseline {}", escape_os(path.as_os_str()));
    let bytes = file::read(path, MAX_REPORT_BYTES).with_context(name)?;
    Ok(read(&bytes).with_context(name)?.report)
}

/// Measures, builds, writes, compares with the baseline, summarises.
fn report(
    question: &ParityQuestion,
    setup: &Setup,
    mut sides: Sides<Lane>,
    finished: Finished,
    baseline: Option<&(ParityReport, f64)>,
    cancel: &AtomicBool,
    mut notes: Vec<String>,
) -> anyhow::Result<ParityAnswer> {
    let latency = match (&finished.sample, question.latency) {
        (Some(sample), true) => match prepare(sample, &setup.recipe, &|_, _| None) {
            Prepared::Ready { tensor: Tensor::Made(input), .. } => {
                let sides = Sides { a: sides.a.runner()?, b: sides.b.runner()? };
                measure(LatencyPlan::default(), sides, &input, cancel)?
            }
            _ => None,
        },
        _ => None,
    };
    drop(sides);
    let path = report_path(question, setup)?;
    let state_path = path.with_extension("state");
    let mut context = context(question, setup, &finished)?;
    context.latency = latency;
    context.state_file = state_path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let built = finished.builder.finish(context)?;
    let bytes = to_bytes(&built.report)?;
    let gate = match baseline {
        Some((baseline, margin)) => Some(compare(&built.report, baseline, *margin)?),
        None => None,
    };
    if let Some(state) = &built.state {
        atomic::write(&state_path, state)?;
    }
    match question.report {
        ReportPlace::File(_) => atomic::write(&path, &bytes)?,
        ReportPlace::Folder(_) => atomic::create_new(&path, &bytes)?,
    }
    if question.limit.is_some() {
        notes.push("--limit: this report covers a part of the manifest".to_owned());
    }
    let hash = ReportHash::of(&bytes);
    let mut answer = answer(question, &built.report, &path, hash, gate.as_ref())?;
    answer.notes = notes;
    Ok(ParityAnswer::Compared(Box::new(answer)))
}

fn answer(
    question: &ParityQuestion,
    report: &ParityReport,
    path: &Path,
    hash: ReportHash,
    gate: Option<&GateOutcome>,
) -> anyhow::Result<Compared> {
    let summary = Summary::of(report).context("a report of ours has a summary")?;
    let mut text = summary.to_text();
    let mut line = |name: &str, value: String| text.push_str(&format!("\n{name:<12} {value}"));
    for (name, place) in [("reference", &question.reference), ("candidate", &question.candidate)] {
        line(name, escape_os(place.written.as_os_str()));
    }
    line("report", escape_os(path.as_os_str()));
    line("sha256", hash.to_hex());
    let regressed = gate.is_some_and(|gate| !gate.passed());
    if let Some(gate) = gate {
        for remark in &gate.remarks {
            line("baseline", escape(remark).into_owned());
        }
        for regression in &gate.regressions {
            let new = regression.new.map_or_else(|| "nothing".to_owned(), |new| new.to_string());
            line(
                "regression",
                format!(
                    "{}: {} before, {new} now, at most {} passes",
                    escape(&regression.what),
                    regression.old,
                    regression.limit
                ),
            );
        }
        let verdict = if regressed { "got worse" } else { "no regression" };
        line("baseline", format!("{verdict}; {} numbers compared", gate.compared));
    }
    let json = serde_json::json!({
        "schema": 1,
        "status": "compared",
        "report": { "path": path.to_string_lossy(), "sha256": hash },
        "summary": summary,
        "baseline": gate,
        "regressed": regressed,
    });
    Ok(Compared {
        text,
        json: format!("{json:#}"),
        sentence: summary.sentence,
        report: path.to_owned(),
        regressed,
        notes: Vec::new(),
    })
}

fn context(
    question: &ParityQuestion,
    setup: &Setup,
    finished: &Finished,
) -> anyhow::Result<ReportContext> {
    let entry = |place: &Place, artifact: &Artifact| ArtifactEntry {
        path: place.written.to_string_lossy().into_owned(),
        bytes: artifact.size(),
        sha256: artifact.hash().to_hex(),
    };
    let scale = setup.sidecar.normalization;
    let (height, width) = (setup.recipe.height(), setup.recipe.width());
    Ok(ReportContext {
        generated_at: question.generated_at.clone(),
        artifacts: Sides {
            a: entry(&question.reference, &setup.artifacts.a),
            b: entry(&question.candidate, &setup.artifacts.b),
        },
        environment: Environment {
            platform: platform(),
            machine: std::env::consts::ARCH.to_owned(),
            python: PRODUCT.to_owned(),
            onnxruntime: setup.runtime.version.clone(),
            execution_providers: vec![CPU.to_owned()],
            note: "No Python took part; that field names the program. Times are of this machine only."
                .to_owned(),
        },
        manifest: question.manifest.written.to_string_lossy().into_owned(),
        manifest_hash: setup.manifest.hash,
        manifest_count: setup.manifest.entries.len() as u64,
        input_shape: vec![1, 3, u64::from(height), u64::from(width)],
        normalization: Normalization { mean: scale.mean, std: scale.std },
        resize_note: "Lanczos-3 squash by the rules of Pillow 12; one tensor feeds both sides."
            .to_owned(),
        run_ms: finished.run_ms.clone(),
        latency_note: "Run calls alone, while other threads decoded and compared; remembered outputs have no time. Only the ratio under flipside.latency was measured with nothing else running."
            .to_owned(),
        product: PRODUCT.to_owned(),
        recipe: RecipeEntry {
            name: RECIPE_NAME.to_owned(),
            sha256: setup.recipe.hash().to_hex(),
        },
        runtime: RuntimeEntry {
            name: "onnxruntime".to_owned(),
            version: setup.runtime.version.clone(),
            provider: CPU.to_owned(),
            intra_op_threads: question.threads,
            optimisation: OPTIMISATION.to_owned(),
            cpu_features: setup.cpu_features.clone(),
        },
        classes: setup.sidecar.classes.clone(),
        latency: None,
        shard: ShardEntry { index: question.shard.0, of: question.shard.1 },
        state_file: String::new(),
    })
}

/// The file the report goes to. In a folder: the first name that is free.
fn report_path(question: &ParityQuestion, setup: &Setup) -> io::Result<PathBuf> {
    let folder = match &question.report {
        ReportPlace::File(path) => return Ok(path.clone()),
        ReportPlace::Folder(folder) => folder,
    };
    let mut stem =
        format!("{}-{}", setup.artifacts.a.hash().short(), setup.artifacts.b.hash().short());
    if let (index, of @ 2..) = question.shard {
        stem.push_str(&format!(".shard-{index}-of-{of}"));
    }
    if let Some(threshold) = question.threshold {
        stem.push_str(&format!(".at-{threshold}"));
    }
    if let Some(limit) = question.limit {
        stem.push_str(&format!(".first-{limit}"));
    }
    let mut path = folder.join(format!("{stem}.json"));
    let mut number = 2;
    while path.try_exists()? {
        path = folder.join(format!("{stem}.{number}.json"));
        number += 1;
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_take_turns_and_cover_the_manifest_once() {
        let text: String = (0..10).map(|line| format!("{line}.jpg\n")).collect();
        let manifest = Manifest::parse(text.as_bytes(), Path::new("/set")).expect("valid");
        let positions = |shard, limit| -> Vec<u64> {
            lines_of(&manifest, shard, limit).iter().map(|line| line.position).collect()
        };
        assert_eq!(positions((1, 1), None), (0..10).collect::<Vec<_>>());
        assert_eq!(positions((2, 3), None), [1, 4, 7]);
        assert_eq!(positions((2, 3), Some(5)), [1, 4]);
        let mut all: Vec<u64> = (1..=3).flat_map(|index| positions((index, 3), None)).collect();
        all.sort_unstable();
        assert_eq!(all, positions((1, 1), None));
    }
}
