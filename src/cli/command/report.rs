//! `flipside report`.

use std::path::{Path, PathBuf};

use super::Globals;
use super::record::SignersArgs;
use crate::cli::output::{self, Outcome};
use crate::domain::escape::escape_os;
use crate::sighted::entry::export::{ReportQuestion, documents};
use crate::store::atomic;
use crate::store::workspace::{Workspace, WorkspaceError};

/// Arguments of `flipside report`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Write one self-contained HTML file; `-` for stdout
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,
    /// Write Markdown, for a pull request; `-` for stdout
    #[arg(long, value_name = "OUT", num_args = 0..=1, default_missing_value = "-")]
    markdown: Option<PathBuf>,
    /// Write the changes, one a row; `-` for stdout
    #[arg(long, value_name = "OUT", num_args = 0..=1, default_missing_value = "-")]
    csv: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Parity report [default: the newest about the first candidate]
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Sealed label files [default: all of the workspace]
    #[arg(long, value_name = "FILE", num_args = 1..)]
    labels: Vec<PathBuf>,
    /// Operating point [default: the report's]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    threshold: Option<f64>,
    /// Fixture manifest, for the pictures [default: the workspace's]
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    /// Put no pictures in
    #[arg(long)]
    no_pictures: bool,
    /// Most changes shown one by one
    #[arg(long, value_name = "N", default_value_t = 300)]
    most_changes: usize,
    #[command(flatten)]
    signers: SignersArgs,
}

/// Runs the command.
///
/// # Errors
/// Whatever keeps it from an answer.
pub fn run(args: &Args, globals: &Globals) -> anyhow::Result<Outcome> {
    let workspace = workspace_if_any(globals)?;
    let question = ReportQuestion {
        report: args.report.clone(),
        labels: args.labels.clone(),
        threshold: args.threshold,
        manifest: args.manifest.clone(),
        pictures: !args.no_pictures,
        most_changes: args.most_changes,
        signers: args.signers.question(),
        now: globals.clock.stamp(),
    };
    let made = documents(&question, workspace.as_ref())?;
    for note in &made.notes {
        output::note(note);
    }
    let outputs =
        [(&args.html, &made.html), (&args.markdown, &made.markdown), (&args.csv, &made.csv)];
    let mut written = false;
    for (place, text) in outputs {
        if let Some(place) = place {
            write(place, text)?;
            written = true;
        }
    }
    if args.json {
        output::result(&made.json)?;
    } else if !written {
        output::result(&made.markdown)?;
    }
    Ok(Outcome::Done)
}

fn write(place: &Path, text: &str) -> anyhow::Result<()> {
    if place == Path::new("-") {
        return output::result(text);
    }
    atomic::write(place, text.as_bytes())?;
    output::note(&format!("written: {}", escape_os(place.as_os_str())));
    Ok(())
}

/// A report given by name needs no workspace.
fn workspace_if_any(globals: &Globals) -> anyhow::Result<Option<Workspace>> {
    match globals.workspace() {
        Ok(workspace) => Ok(Some(workspace)),
        Err(WorkspaceError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
