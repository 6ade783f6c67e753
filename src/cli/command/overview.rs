//! `flipside` without a command: the overview, and from it every screen.
//!
//! Review runs in this process. Labelling never does: it must not share memory with anything that saw
//! what a model said, so it, like every other command, is started as a process of its own.

use std::process::Command;

use anyhow::{Context as _, bail};

use super::Globals;
use super::review::say_end;
use crate::cli::output::Outcome;
use crate::domain::shard::RaterName;
use crate::sighted::entry::overview::{Next, show_overview};
use crate::sighted::entry::review::{
    ReviewEnd, ReviewQuestion, default_reviewer, review_on_screen,
};
use crate::store::workspace::Workspace;
use crate::tui::event_loop::Ended;
use crate::tui::picture::probe::Graphics;
use crate::tui::session::{self, Options, Session};
use crate::tui::terminal;

/// Opens the workspace in the terminal.
///
/// # Errors
/// No workspace, no terminal, or it failed.
pub fn run(globals: &Globals) -> anyhow::Result<Outcome> {
    let workspace = globals.workspace()?;
    if !session::is_possible() {
        bail!(
            "a screen needs a terminal; every screen has a twin: `flipside review --json`, `flipside score --json`, `flipside record list --json` and so on; see `flipside --help`"
        );
    }
    open(&workspace, globals)
}

/// Opens `workspace` in the terminal that is there.
///
/// # Errors
/// The terminal failed.
pub fn open(workspace: &Workspace, globals: &Globals) -> anyhow::Result<Outcome> {
    let reviewer = default_reviewer();
    let mut session = Session::open(Options::from_environment(Graphics::Auto))?;
    let mut said = None;
    loop {
        let next = show_overview(workspace, reviewer.as_ref(), said.take(), &mut session)?;
        let outcome = match next {
            Next::Quit => {
                drop(session);
                return Ok(Outcome::Done);
            }
            Next::Signal(number) => {
                drop(session);
                terminal::finish(Ended::Signal(number));
                return Ok(Outcome::Done);
            }
            Next::Again => Ok(()),
            Next::Review(file) => {
                let end = review(&file, reviewer.as_ref(), workspace, &mut session, globals);
                match end {
                    Ok(end @ ReviewEnd { ended: Ended::Signal(_), .. }) => {
                        drop(session);
                        return say_end(end);
                    }
                    Ok(end) if end.unsaved > 0 => {
                        Err(anyhow::anyhow!("{} events could not be saved", end.unsaved))
                    }
                    Ok(_) => Ok(()),
                    Err(error) => Err(error),
                }
            }
            Next::Parity => child(&["parity"], After::Wait, workspace, &mut session, globals),
            Next::Label { rater, shard } => child(
                &["label", "--rater", &rater, "--shard", &shard],
                After::WaitIfItFailed,
                workspace,
                &mut session,
                globals,
            ),
            Next::Score => child(&["score"], After::Wait, workspace, &mut session, globals),
            Next::Sign => child(&["sign"], After::WaitIfItFailed, workspace, &mut session, globals),
            Next::Records => {
                child(&["record", "list"], After::Wait, workspace, &mut session, globals)
            }
            Next::Report => child(&["report"], After::Wait, workspace, &mut session, globals),
            Next::Doctor => child(&["doctor"], After::Wait, workspace, &mut session, globals),
        };
        said = outcome.err().map(|error| format!("{error:#}"));
    }
}

fn review(
    file: &str,
    reviewer: Option<&RaterName>,
    workspace: &Workspace,
    session: &mut Session,
    globals: &Globals,
) -> anyhow::Result<ReviewEnd> {
    let reviewer = reviewer.cloned().context(
        "the system gives no name for the reviewer: use `flipside review --reviewer NAME`",
    )?;
    let question = ReviewQuestion {
        report: Some(workspace.reports_dir().join(file)),
        fixtures: None,
        reviewer,
        hidden_sides: false,
        at: None,
    };
    review_on_screen(&question, workspace, session, globals.clock)
}

/// Whether what a command printed stays on the screen until it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// Always.
    Wait,
    /// Only when the command failed: else it had a screen of its own.
    WaitIfItFailed,
}

/// Runs this program with other arguments, while the terminal is given to it.
fn child(
    arguments: &[&str],
    after: After,
    workspace: &Workspace,
    session: &mut Session,
    globals: &Globals,
) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("this program's own file is not known")?;
    session.outside(|| {
        let mut command = Command::new(program);
        command.arg("-C").arg(&workspace.root);
        if let Some(library) = &globals.ort_lib {
            command.arg("--ort-lib").arg(library);
        }
        let status = command.args(arguments).status();
        let failed = !matches!(&status, Ok(status) if status.success());
        if after == After::Wait || failed {
            crate::cli::output::note("enter goes back to the overview");
            let mut line = String::new();
            // Whatever was typed, or the end of input: it is time to go back.
            let _ = std::io::stdin().read_line(&mut line);
        }
        status.map(drop).with_context(|| format!("cannot start {}", arguments.join(" ")))
    })?
}
