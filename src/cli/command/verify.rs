//! `flipside verify`.

use super::Globals;
use super::record::{SignersArgs, of_workspace, say};
use crate::cli::output::Outcome;
use crate::sighted::entry::record::{VerifyRequest, verify_all};

/// Arguments of `flipside verify`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Beginning of a sign-off's or record's id, a version or a model name [default: everything]
    #[arg(value_name = "WHAT")]
    wanted: Option<String>,
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
    let request = VerifyRequest {
        wanted: args.wanted.clone(),
        signers: args.signers.question(),
        pictures: !args.no_pictures,
        now: globals.clock.stamp(),
    };
    say(&verify_all(&places, &request)?, args.json)
}
