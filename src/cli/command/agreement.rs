//! `flipside agreement`.

use super::Globals;
use crate::cli::output::{self, Outcome};
use crate::sighted::entry::labels::label_agreement;

/// Arguments of `flipside agreement`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs the command. No is the answer when no picture was labelled by two raters.
///
/// # Errors
/// Whatever keeps it from an answer.
pub fn run(args: &Args, globals: &Globals) -> anyhow::Result<Outcome> {
    let answer = label_agreement(&globals.workspace()?, args.json)?;
    output::result(&answer.text)?;
    Ok(if answer.has_inter_rater { Outcome::Done } else { Outcome::No })
}
