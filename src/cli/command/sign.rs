//! `flipside sign`.

use super::Globals;
use crate::cli::output::Outcome;

/// Arguments of `flipside sign`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
///
/// # Errors
/// Whatever keeps it from an answer.
pub fn run(_args: &Args, _globals: &Globals) -> anyhow::Result<Outcome> {
    anyhow::bail!("not built yet")
}
