//! `flipside merge`.

use std::path::PathBuf;

use super::Globals;
use crate::cli::output::{self, Outcome};
use crate::domain::escape::escape;
use crate::sighted::entry::merge::{MergeAnswer, merge_reports};

/// Arguments of `flipside merge`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Reports of all shards, in any order; the merge state of each lies beside it
    #[arg(value_name = "REPORT", required = true)]
    reports: Vec<PathBuf>,
    /// Report to write; an existing file is never replaced
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Write what was joined as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// Whatever keeps it from an answer.
pub fn run(args: &Args, globals: &Globals) -> anyhow::Result<Outcome> {
    let answer = merge_reports(&args.reports, &args.out, globals.clock.stamp())?;
    output::result(&if args.json {
        serde_json::to_string_pretty(&answer)?
    } else {
        text(&answer)
    })?;
    Ok(Outcome::Done)
}

fn text(answer: &MergeAnswer) -> String {
    let MergeAnswer { shards, fixtures, left_out, threshold, .. } = answer;
    format!(
        "{}\nsha256 {}\n{shards} shards, {fixtures} fixtures compared, {left_out} left out\n\
         at {threshold}: {} threshold flips by slot, {} of them real, {} class flips, {} images \
         changed\nquantiles: {}",
        escape(&answer.report),
        answer.sha256,
        answer.threshold_flips,
        answer.real_flips,
        answer.class_flips,
        answer.images_changed,
        escape(&answer.quantiles),
    )
}
