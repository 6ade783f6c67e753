//! `flipside sign`.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;

use super::Globals;
use super::record::{StatementArgs, say};
use crate::cli::output::{self, Outcome};
use crate::sighted::entry::sign::{SignQuestion, Talk, sign};

/// Arguments of `flipside sign`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The artifact [default: the workspace's first candidate]
    #[arg(long, value_name = "FILE")]
    artifact: Option<PathBuf>,
    /// Its sidecar [default: the one beside it, or the workspace's]
    #[arg(long, value_name = "FILE")]
    sidecar: Option<PathBuf>,
    /// The parity report [default: the workspace's, at the point you type]
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Sealed label files [default: all of the workspace]
    #[arg(long, value_name = "FILE", num_args = 1..)]
    labels: Vec<PathBuf>,
    #[command(flatten)]
    statement: StatementArgs,
    /// Your name, as allowed-signers files know you [default: asked for]
    #[arg(long)]
    name: Option<String>,
    /// What you are to this release
    #[arg(long, default_value = "release owner")]
    role: String,
    /// Sign with this SSH key, through ssh-keygen
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Beginning of the id of the sign-off this one takes the place of [default: the standing one]
    #[arg(long, value_name = "ID")]
    supersedes: Option<String>,
    /// Stand beside earlier sign-offs on this artifact; the gate then needs all of them to accept
    #[arg(long, conflicts_with = "supersedes")]
    alongside: bool,
    /// Ask line by line, without the full-screen view
    #[arg(long)]
    plain: bool,
    /// Print JSON about what was written
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// Whatever keeps it from an answer.
pub fn run(args: &Args, globals: &Globals) -> anyhow::Result<Outcome> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        output::note(
            "flipside: sign needs a person at a terminal; there is no way to sign without one. \
             `flipside score --json` and `flipside record list --json` show what there is to decide on",
        );
        return Ok(Outcome::Unanswered);
    }
    let workspace = globals.workspace()?;
    let question = SignQuestion {
        artifact: args.artifact.clone(),
        sidecar: args.sidecar.clone(),
        report: args.report.clone(),
        labels: args.labels.clone(),
        statement: args.statement.statement(None),
        name: args.name.clone(),
        role: args.role.clone(),
        key: args.key.clone(),
        supersedes: args.supersedes.clone(),
        alongside: args.alongside,
        method: "typed".to_owned(),
        now: globals.clock.stamp(),
    };
    say(&sign(&question, &workspace, &mut Terminal)?, args.json)
}

/// The person at the terminal: questions on stderr, so that stdout holds the result alone.
struct Terminal;

impl Talk for Terminal {
    fn say(&mut self, text: &str) {
        for line in text.lines() {
            output::note(line);
        }
    }

    fn ask(&mut self, prompt: &str) -> io::Result<Option<String>> {
        let mut stderr = io::stderr().lock();
        stderr.write_all(prompt.as_bytes())?;
        stderr.flush()?;
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line)?;
        Ok((read > 0).then_some(line))
    }
}
