//! `flipside gate`.

use std::path::PathBuf;

use super::Globals;
use super::record::{SignersArgs, of_workspace, say};
use crate::cli::output::Outcome;
use crate::sighted::entry::record::{GateRequest, ask_gate};

/// Arguments of `flipside gate`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The artifact that is to be released
    #[arg(long, value_name = "FILE")]
    artifact: PathBuf,
    /// Only a sign-off at this operating point counts [default: every one must accept]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    threshold: Option<f64>,
    #[command(flatten)]
    signers: SignersArgs,
    /// Do not hash the pictures
    #[arg(long)]
    no_pictures: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// Whatever keeps it from an answer.
pub fn run(args: &Args, globals: &Globals) -> anyhow::Result<Outcome> {
    let places = of_workspace(&globals.workspace()?);
    let request = GateRequest {
        artifact: args.artifact.clone(),
        threshold: args.threshold,
        signers: args.signers.question(),
        pictures: !args.no_pictures,
        now: globals.clock.stamp(),
    };
    say(&ask_gate(&places, &request)?, args.json)
}
