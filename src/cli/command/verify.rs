//! `flipside verify`.

use std::path::PathBuf;

use super::Globals;
use super::record::{of_workspace, say};
use crate::cli::output::Outcome;
use crate::domain::escape::escape_os;
use crate::sighted::entry::record::{TrustFiles, VerifyRequest, verify_all};

/// Arguments of `flipside verify`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Beginning of a sign-off's or record's id, a version or a model name [default: everything]
    #[arg(value_name = "WHAT")]
    wanted: Option<String>,
    #[command(flatten)]
    trust: TrustArgs,
    /// Do not hash the pictures
    #[arg(long)]
    no_pictures: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Who may sign.
#[derive(Debug, clap::Args)]
pub(super) struct TrustArgs {
    /// Check signatures against this allowed-signers file of ssh-keygen
    #[arg(long, value_name = "FILE")]
    allowed_signers: Option<PathBuf>,
    /// Keys that no longer count, as ssh-keygen lists them
    #[arg(long, value_name = "FILE", requires = "allowed_signers")]
    revoked: Option<PathBuf>,
    /// Check signatures against this root of trust: who may sign, how many must, until when
    #[arg(long, value_name = "FILE", conflicts_with = "allowed_signers")]
    trust: Option<PathBuf>,
}

impl TrustArgs {
    /// The files, which must be there.
    pub(super) fn files(&self, now: &str) -> anyhow::Result<TrustFiles> {
        if let Some(root) = &self.trust {
            return TrustFiles::of_root(root, now);
        }
        for file in self.allowed_signers.iter().chain(&self.revoked) {
            anyhow::ensure!(file.is_file(), "{}: no such file", escape_os(file.as_os_str()));
        }
        Ok(TrustFiles {
            allowed_signers: self.allowed_signers.clone(),
            revoked: self.revoked.clone(),
            ..TrustFiles::default()
        })
    }
}

/// Runs the command.
///
/// # Errors
/// Whatever keeps it from an answer.
pub fn run(args: &Args, globals: &Globals) -> anyhow::Result<Outcome> {
    let places = of_workspace(&globals.workspace()?);
    let request = VerifyRequest {
        wanted: args.wanted.clone(),
        trust: args.trust.files(&globals.clock.stamp())?,
        pictures: !args.no_pictures,
    };
    say(&verify_all(&places, &request)?, args.json)
}
