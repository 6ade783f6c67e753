//! `flipside parity`.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::AtomicBool;

use super::Globals;
use super::runtime::ensure_for;
use crate::cli::interrupt::stop_flag;
use crate::cli::output::{self, Outcome};
use crate::cli::progress::RunBar;
use crate::domain::escape::escape_os;
use crate::sighted::entry::parity::{
    Compared, ParityAnswer, ParityQuestion, Place, ReportPlace, compare_artifacts,
};
use crate::store::workspace::{Workspace, WorkspaceError};

/// Arguments of `flipside parity`.
///
/// What is not given comes from flipside.toml. Without a workspace, name all four files and --report.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Artifact everything is compared with
    #[arg(long, value_name = "MODEL")]
    reference: Option<PathBuf>,
    /// Artifact that is compared [default: the first of flipside.toml]
    #[arg(long, value_name = "MODEL")]
    candidate: Option<PathBuf>,
    /// Classes, input size, normalisation and threshold of both sides
    #[arg(long, value_name = "JSON")]
    sidecar: Option<PathBuf>,
    /// Manifest: one picture a line
    #[arg(long, value_name = "MANIFEST")]
    fixtures: Option<PathBuf>,
    /// Where the report goes [default: a new file in sessions/reports]
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Exit 1 if anything got worse than in this stored report
    #[arg(long, value_name = "REPORT")]
    baseline: Option<PathBuf>,
    /// How much worse than the baseline still passes, as a share
    #[arg(long, value_name = "SHARE", default_value_t = 0.10, allow_negative_numbers = true)]
    margin: f64,
    /// Only part I of N, for `flipside merge`; `auto/N` takes I from SLURM_ARRAY_TASK_ID (counted from
    /// SLURM_ARRAY_TASK_MIN) or JOB_COMPLETION_INDEX (counted from 0)
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Only the first N lines of the manifest
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Threads inside one run; reports of another number are of another setting
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: u32,
    /// Decide at this threshold instead of the sidecar's
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    threshold: Option<f64>,
    /// Do not remember raw outputs, and use none that are remembered
    #[arg(long)]
    no_cache: bool,
    /// Stop at a picture that cannot be compared instead of leaving it out
    #[arg(long)]
    strict: bool,
    /// Do not measure the latency ratio
    #[arg(long)]
    no_latency: bool,
    /// Run the reference twice on every picture for the noise floor, not on the first 8 only
    #[arg(long)]
    noise_all: bool,
}

/// Which part of the manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shard {
    /// Counted from 1; none when the scheduler says it.
    index: Option<u32>,
    of: u32,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = || "expected I/N with I from 1 to N, or auto/N".to_owned();
        let (index, of) = text.split_once('/').ok_or_else(refuse)?;
        let of: u32 = of.parse().map_err(|_| refuse())?;
        let index = match index {
            "auto" => None,
            number => Some(number.parse().map_err(|_| refuse())?),
        };
        let fits = index.is_none_or(|index| (1..=of).contains(&index));
        if fits && of > 0 { Ok(Self { index, of }) } else { Err(refuse()) }
    }
}

impl Shard {
    /// Index and number of shards; `variable` reads the scheduler's environment.
    fn resolve(self, variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<(u32, u32)> {
        if let Some(index) = self.index {
            return Ok((index, self.of));
        }
        let number = |name: &str| -> anyhow::Result<Option<u32>> {
            variable(name)
                .map(|text| {
                    text.parse()
                        .map_err(|_| anyhow::anyhow!("{name}: expected a number, found {text:?}"))
                })
                .transpose()
        };
        let before = match (number("SLURM_ARRAY_TASK_ID")?, number("JOB_COMPLETION_INDEX")?) {
            (Some(task), _) => {
                let first = number("SLURM_ARRAY_TASK_MIN")?.unwrap_or(1);
                task.checked_sub(first).unwrap_or(u32::MAX)
            }
            (None, Some(index)) => index,
            (None, None) => anyhow::bail!(
                "--shard auto/{}: neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX is set",
                self.of
            ),
        };
        let index = before.saturating_add(1);
        anyhow::ensure!(
            index <= self.of,
            "--shard auto/{}: the scheduler says this is part {index}",
            self.of
        );
        Ok((index, self.of))
    }
}

/// Runs the command.
///
/// # Errors
/// Whatever keeps it from an answer.
pub fn run(args: &Args, globals: &Globals) -> anyhow::Result<Outcome> {
    let workspace = match globals.workspace() {
        Ok(workspace) => Some(workspace),
        Err(WorkspaceError::NotFound { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let question = question(args, globals, workspace.as_ref())?;
    ensure_for(globals, false, "flipside runtime install --yes")?;
    let stop = stop_flag()?;
    match ask(&question, "comparing", &stop)? {
        ParityAnswer::Compared(compared) => {
            let Compared { text, json, regressed, .. } = *compared;
            output::result(if args.json { &json } else { &text })?;
            Ok(if regressed { Outcome::No } else { Outcome::Done })
        }
        ParityAnswer::Blocked { text, json } => {
            output::result(if args.json { &json } else { &text })?;
            Ok(Outcome::Unanswered)
        }
        ParityAnswer::Stopped { done, total, remembered } => {
            let on = match remembered {
                true => "the same command goes on from there",
                false => "nothing was remembered",
            };
            output::note(&format!("stopped after {done} of {total} pictures; {on}"));
            Ok(Outcome::Unanswered)
        }
    }
}

/// Runs one comparison with its progress and notes on stderr.
///
/// # Errors
/// Whatever keeps it from an answer.
pub fn ask(
    question: &ParityQuestion,
    name: &str,
    stop: &AtomicBool,
) -> anyhow::Result<ParityAnswer> {
    let bar = RunBar::new(name);
    let answer = compare_artifacts(question, stop, &|progress| bar.show(progress));
    bar.finish();
    if let Ok(ParityAnswer::Compared(compared)) = &answer {
        compared.notes.iter().for_each(|note| output::note(note));
    }
    answer
}

/// What `flipside parity` compares in a workspace when nothing else is asked for, with one of its
/// candidates.
pub fn of_workspace(globals: &Globals, workspace: &Workspace, candidate: &Path) -> ParityQuestion {
    let place = |path: &Path| Place { written: path.to_owned(), path: workspace.resolve(path) };
    let compare = &workspace.config.compare;
    ParityQuestion {
        reference: place(&compare.reference),
        candidate: place(candidate),
        sidecar: place(&compare.sidecar),
        manifest: place(&workspace.config.fixtures.manifest),
        report: ReportPlace::Folder(workspace.reports_dir()),
        outputs: Some(workspace.outputs_database()),
        baseline: None,
        shard: (1, 1),
        limit: None,
        threads: 1,
        threshold: None,
        strict: false,
        noise_on_all: false,
        latency: true,
        ort_lib: globals.ort_lib.clone(),
        generated_at: globals.clock.stamp(),
    }
}

fn question(
    args: &Args,
    globals: &Globals,
    workspace: Option<&Workspace>,
) -> anyhow::Result<ParityQuestion> {
    let compare = workspace.map(|workspace| &workspace.config.compare);
    let place = |typed: &Option<PathBuf>, configured: Option<&PathBuf>, flag: &str| {
        place(typed.as_deref(), workspace.zip(configured.map(PathBuf::as_path)), flag)
    };
    let first = compare.and_then(|compare| compare.candidates.first());
    let report = match (&args.report, workspace) {
        (Some(path), _) => ReportPlace::File(path.clone()),
        (None, Some(workspace)) => ReportPlace::Folder(workspace.reports_dir()),
        (None, None) => anyhow::bail!(
            "no workspace in {} or above: say where the report goes with --report FILE",
            escape_os(globals.start.as_os_str())
        ),
    };
    let shard = match args.shard {
        Some(shard) => shard.resolve(|name| std::env::var(name).ok())?,
        None => (1, 1),
    };
    Ok(ParityQuestion {
        reference: place(&args.reference, compare.map(|it| &it.reference), "--reference")?,
        candidate: place(&args.candidate, first, "--candidate")?,
        sidecar: place(&args.sidecar, compare.map(|it| &it.sidecar), "--sidecar")?,
        manifest: place(
            &args.fixtures,
            workspace.map(|workspace| &workspace.config.fixtures.manifest),
            "--fixtures",
        )?,
        report,
        outputs: workspace.filter(|_| !args.no_cache).map(Workspace::outputs_database),
        baseline: args.baseline.clone().map(|path| (path, args.margin)),
        shard,
        limit: args.limit,
        threads: args.threads,
        threshold: args.threshold,
        strict: args.strict,
        noise_on_all: args.noise_all,
        latency: !args.no_latency,
        ort_lib: globals.ort_lib.clone(),
        generated_at: globals.clock.stamp(),
    })
}

/// A path as typed, else as the workspace has it.
fn place(
    typed: Option<&Path>,
    configured: Option<(&Workspace, &Path)>,
    flag: &str,
) -> anyhow::Result<Place> {
    match (typed, configured) {
        (Some(path), _) => Ok(Place { written: path.to_owned(), path: path.to_owned() }),
        (None, Some((workspace, path))) => {
            Ok(Place { written: path.to_owned(), path: workspace.resolve(path) })
        }
        (None, None) => {
            anyhow::bail!("{flag} is not given, and there is no workspace to take it from")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(text: &str, environment: &[(&str, &str)]) -> Result<(u32, u32), String> {
        let shard: Shard = text.parse()?;
        let variable = |name: &str| {
            environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        shard.resolve(variable).map_err(|error| error.to_string())
    }

    #[test]
    fn shards_are_typed_or_come_from_the_scheduler() {
        assert_eq!(resolved("2/5", &[]), Ok((2, 5)));
        for bad in ["0/5", "6/5", "1", "a/5", "1/0", "auto/0", "1/x"] {
            assert!(resolved(bad, &[]).is_err(), "{bad}");
        }
        assert_eq!(resolved("auto/4", &[("JOB_COMPLETION_INDEX", "0")]), Ok((1, 4)));
        assert_eq!(resolved("auto/4", &[("SLURM_ARRAY_TASK_ID", "4")]), Ok((4, 4)));
        let from_zero = [("SLURM_ARRAY_TASK_ID", "3"), ("SLURM_ARRAY_TASK_MIN", "0")];
        assert_eq!(resolved("auto/4", &from_zero), Ok((4, 4)));
        for (environment, part) in [
            (&[][..], "neither"),
            (&[("JOB_COMPLETION_INDEX", "4")], "part 5"),
            (&[("SLURM_ARRAY_TASK_ID", "x")], "expected a number"),
            (&[("SLURM_ARRAY_TASK_ID", "0")], "the scheduler says"),
        ] {
            let error = resolved("auto/4", environment).expect_err("refused");
            assert!(error.contains(part), "{error}");
        }
    }
}
