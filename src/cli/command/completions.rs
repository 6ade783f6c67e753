//! `flipside completions`.

use clap::CommandFactory as _;

use crate::cli::output::{self, Outcome};

/// Arguments of `flipside completions`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Shell to write for
    shell: clap_complete::Shell,
}

/// Writes the script to stdout.
///
/// # Errors
/// Stdout cannot be written.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(
        args.shell,
        &mut crate::cli::args::Args::command(),
        "flipside",
        &mut script,
    );
    output::result(&String::from_utf8(script)?)?;
    Ok(Outcome::Done)
}
