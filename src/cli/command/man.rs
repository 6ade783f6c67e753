//! `flipside man`.

use clap::CommandFactory as _;

use crate::cli::output::{self, Outcome};

/// Arguments of `flipside man`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Writes the manual page, roff, to stdout.
///
/// # Errors
/// Stdout cannot be written.
pub fn run(_args: &Args) -> anyhow::Result<Outcome> {
    let mut page = Vec::new();
    clap_mangen::Man::new(crate::cli::args::Args::command()).render(&mut page)?;
    output::result(&String::from_utf8(page)?)?;
    Ok(Outcome::Done)
}
