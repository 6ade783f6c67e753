//! One parity run, for the command line: from paths to a report that is written and summarised.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::Context as _;

mod answer;
mod setup;

use self::answer::{BlockedRow, answer, blocked, context, report_path};
use self::setup::{Setup, open_artifacts};
pub use super::background::ParityProgress;
use super::background::{Follower, Numbers};
use crate::domain::digest::ReportHash;
use crate::domain::escape::escape_os;
use crate::sighted::artifact::sidecar::Sidecar;
use crate::sighted::decision::report::baseline::compare;
use crate::sighted::decision::report::build::ReportBuilder;
use crate::sighted::decision::report::read::{MAX_REPORT_BYTES, read};
use crate::sighted::decision::report::write::to_bytes;
use crate::sighted::decision::report::{ParityReport, Sides};
use crate::sighted::harness::latency::{LatencyPlan, measure};
use crate::sighted::harness::prepare::{Preparation, Prepared, Tensor};
use crate::sighted::harness::run::{Finished, Lane, RunError, Side, run};
use crate::sighted::harness::runtime_library::{ManagedFolder, load, locate};
use crate::store::atomic;
use crate::store::file;

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

impl ParityQuestion {
    fn place(&self, side: Side) -> &Place {
        match side {
            Side::Reference => &self.reference,
            Side::Candidate => &self.candidate,
        }
    }
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
    let mut sides = match setup.lanes(question, &memory) {
        Ok(sides) => sides,
        Err(row) => return Ok(blocked(&[row])),
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

fn read_report(path: &Path) -> anyhow::Result<ParityReport> {
    let name = || format!("baseline {}", escape_os(path.as_os_str()));
    let bytes = file::read(path, MAX_REPORT_BYTES).with_context(name)?;
    Ok(read(&bytes).with_context(name)?.report)
}

/// Fixtures whose picture an earlier one has, byte for byte.
fn repeated(report: &ParityReport) -> usize {
    let rows = report.flipside.iter().flat_map(|extension| &extension.fixtures);
    let mut seen = HashSet::new();
    rows.filter(|row| !row.sha256.is_empty() && !seen.insert(&row.sha256)).count()
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
        (Some(sample), true) => match Preparation::anew(&setup.recipe).prepare(sample) {
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
    match repeated(&built.report) {
        0 => {}
        1 => {
            notes.push("one line of the manifest repeats a picture, which counts again".to_owned())
        }
        lines => notes
            .push(format!("{lines} lines of the manifest repeat pictures, which count each time")),
    }
    let hash = ReportHash::of(&bytes);
    let mut answer = answer(question, &built.report, &path, hash, gate.as_ref())?;
    answer.notes = notes;
    Ok(ParityAnswer::Compared(Box::new(answer)))
}
