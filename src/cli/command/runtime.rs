//! `flipside runtime`, and the question that other commands ask when the library is missing.

use std::io::{self, IsTerminal as _, Write as _};

use super::Globals;
use crate::cli::output::{self, Outcome};
use crate::sighted::entry::runtime::{
    RuntimeOffer, RuntimeState, ensure_runtime, runtime_facts, runtime_state,
};

/// Arguments of `flipside runtime`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Fetch the pinned ONNX Runtime with pip, check its hash, keep it for this user
    Install {
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Which library is used, its version, its providers
    Show {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Runs the command.
///
/// # Errors
/// Whatever keeps it from an answer.
pub fn run(args: &Args, globals: &Globals) -> anyhow::Result<Outcome> {
    match args.action {
        Action::Install { yes } => {
            let installed = ensure_for(globals, yes, "flipside runtime install --yes")?;
            let facts = runtime_facts(globals.ort_lib.as_deref())?;
            if !installed {
                output::note("there already; nothing was fetched");
            }
            output::result(&facts.to_text())?;
        }
        Action::Show { json } => {
            let facts = runtime_facts(globals.ort_lib.as_deref())?;
            output::result(&if json {
                serde_json::to_string_pretty(&facts.to_json())?
            } else {
                facts.to_text()
            })?;
        }
    }
    Ok(Outcome::Done)
}

/// Makes sure that a library is there: asks once on a terminal, needs `yes` elsewhere. Says whether it
/// was installed now; `how` is the command that does not ask.
///
/// # Errors
/// It is not there, and nobody agreed to fetch it or it cannot be fetched.
pub fn ensure_for(globals: &Globals, yes: bool, how: &str) -> anyhow::Result<bool> {
    let named = globals.ort_lib.as_deref();
    let RuntimeState::CanInstall { problem, offer } = runtime_state(named)? else {
        return Ok(false);
    };
    if !yes {
        if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
            anyhow::bail!("{problem}; unasked, since there is no terminal to ask on: `{how}`");
        }
        output::note(&problem);
        if !agreed(&offer)? {
            anyhow::bail!("nothing was fetched");
        }
    }
    output::note(&format!(
        "fetching ONNX Runtime {} ({:.1} MB) with pip",
        offer.version,
        offer.bytes as f64 / 1e6
    ));
    ensure_runtime(named, &output::note)?;
    Ok(true)
}

fn agreed(offer: &RuntimeOffer) -> anyhow::Result<bool> {
    output::note(&format!(
        "Fetch ONNX Runtime {} from the Python package index? {:.1} MB, sha256 {}, into {}",
        offer.version,
        offer.bytes as f64 / 1e6,
        offer.sha256,
        crate::domain::escape::escape_os(offer.folder.as_os_str())
    ));
    let mut stderr = io::stderr().lock();
    stderr.write_all(b"[y/N] ")?;
    stderr.flush()?;
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes" | "Yes"))
}
