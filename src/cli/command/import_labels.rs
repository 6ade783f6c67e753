//! `flipside import-labels`.

use std::path::PathBuf;

use super::Globals;
use crate::cli::output::{self, Outcome};
use crate::domain::label::Certainty;
use crate::sighted::entry::labels::import_labels;

/// Arguments of `flipside import-labels`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// CSV with fixture (sha256) or path, rater, presence; and, if known, present, unsure (names
    /// separated by ;), confidence, not_photograph, note, labelled_at, shard, pass, skipped
    #[arg(value_name = "FILE.csv")]
    pub file: PathBuf,

    /// Confidence of rows that say none: high, medium or low
    #[arg(long, value_name = "HOW", value_parser = certainty)]
    pub confidence: Option<Certainty>,
}

fn certainty(text: &str) -> Result<Certainty, String> {
    Certainty::from_word(text).ok_or_else(|| "expected high, medium or low".to_owned())
}

/// Runs the command.
///
/// # Errors
/// Whatever keeps it from an answer.
pub fn run(args: &Args, globals: &Globals) -> anyhow::Result<Outcome> {
    let workspace = globals.workspace()?;
    let written = import_labels(&workspace, &args.file, args.confidence, globals.clock)?;
    output::result(&written.join("\n"))?;
    output::note("their blindness is asserted, not enforced: every score of them says so");
    Ok(Outcome::Done)
}
