//! `flipside labels`.

use super::Globals;
use crate::cli::output::{self, Outcome};
use crate::sighted::entry::labels::{LabelsFormat, export_labels};

/// Arguments of `flipside labels`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print as JSON (the default)
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,

    /// Print as CSV, with the columns `import-labels` reads
    #[arg(long)]
    pub csv: bool,
}

/// Runs the command.
///
/// # Errors
/// Whatever keeps it from an answer.
pub fn run(args: &Args, globals: &Globals) -> anyhow::Result<Outcome> {
    let format = if args.csv { LabelsFormat::Csv } else { LabelsFormat::Json };
    output::result(&export_labels(&globals.workspace()?, format)?)?;
    Ok(Outcome::Done)
}
