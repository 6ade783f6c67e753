//! `flipside` without a command: the overview, and from it every screen.
//!
//! Parity and review run in this process, parity behind the screens. Labelling never does: it must not
//! share memory with anything that saw what a model said, so it, like every other command, is started as
//! a process of its own.

use std::process::Command;

use anyhow::{Context as _, bail};

use super::Globals;
use super::parity::of_workspace;
use super::review::say_unsaved;
use super::runtime::ensure_for;
use crate::cli::output::{self, Outcome};
use crate::domain::shard::RaterName;
use crate::sighted::entry::background::{BackgroundRun, RunNext};
use crate::sighted::entry::overview::{Choice, Next, OverviewScreen};
use crate::sighted::entry::parity::ParityQuestion;
use crate::sighted::entry::review::{
    Place, ReviewEnd, ReviewQuestion, default_reviewer, review_on_screen,
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
    let session = Session::open(Options::from_environment(Graphics::Auto))?;
    let mut opened = Opened {
        workspace,
        globals,
        reviewer: default_reviewer(),
        session,
        run: None,
        place: None,
    };
    let ended = opened.until_left()?;
    let Opened { session, run, .. } = opened;
    drop(session);
    match ended {
        Ended::Signal(_) => {
            // Outputs are stored one picture at a time, so nothing has to be waited for.
            drop(run);
            terminal::finish(ended);
        }
        Ended::Finished | Ended::Left => {
            if let Some(run) = run.filter(BackgroundRun::is_going_on) {
                output::note("stopping the run after the picture it is at; the next one goes on");
                run.stop();
            }
        }
    }
    Ok(Outcome::Done)
}

/// An opened workspace.
struct Opened<'a> {
    workspace: &'a Workspace,
    globals: &'a Globals,
    reviewer: Option<RaterName>,
    session: Session,
    /// The last run that was started from here.
    run: Option<BackgroundRun>,
    /// Where the last review was left.
    place: Option<Place>,
}

/// Where to go after a screen.
enum Go {
    /// To the overview.
    Overview,
    /// Out of the program.
    Out(Ended),
}

impl Opened<'_> {
    fn until_left(&mut self) -> anyhow::Result<Ended> {
        let mut said = None;
        let mut overview = OverviewScreen::new(self.workspace, self.reviewer.as_ref());
        loop {
            let choice = match overview.show(self.run.as_ref(), said.take(), &mut self.session)? {
                Next::Open(choice) => choice,
                Next::Signal(number) => return Ok(Ended::Signal(number)),
            };
            match self.go(choice) {
                Ok(Go::Overview) => {}
                Ok(Go::Out(ended)) => return Ok(ended),
                Err(error) => said = Some(format!("{error:#}")),
            }
        }
    }

    fn go(&mut self, choice: Choice) -> anyhow::Result<Go> {
        let reviewer = self.reviewer.as_ref().map(|name| name.as_str().to_owned());
        match choice {
            Choice::Quit => return Ok(Go::Out(Ended::Finished)),
            Choice::Again => {}
            Choice::Review(file) => return self.review(&file, false),
            Choice::ReviewHidden(file) => return self.review(&file, true),
            Choice::Parity(candidate) => return self.parity(candidate),
            Choice::Label { rater, shard } => {
                self.child(&["label", "--rater", &rater, "--shard", &shard], After::WaitIfItFailed)?
            }
            Choice::Score => {
                let mut words = vec!["score", "--browse"];
                words.extend(reviewer.iter().flat_map(|name| ["--reviewer", name]));
                self.child(&words, After::WaitIfItFailed)?;
            }
            Choice::Sign => self.child(&["sign"], After::Wait)?,
            Choice::Records => self.child(&["record", "list"], After::Wait)?,
            Choice::Report => self.child(&["report"], After::Wait)?,
            Choice::Fixtures => self.child(&["fixtures"], After::Wait)?,
            Choice::Doctor => self.child(&["doctor"], After::Wait)?,
        }
        Ok(Go::Overview)
    }

    /// Reviews a report of the workspace, by file name.
    fn review(&mut self, file: &str, hidden_sides: bool) -> anyhow::Result<Go> {
        let question = ReviewQuestion {
            report: Some(self.workspace.reports_dir().join(file)),
            hidden_sides,
            ..self.review_question()?
        };
        let end =
            review_on_screen(&question, self.workspace, &mut self.session, self.globals.clock)?;
        self.after_review(end)
    }

    fn after_review(&mut self, end: ReviewEnd) -> anyhow::Result<Go> {
        // A review that had nothing to show yet says nothing about the one before.
        self.place = end.place.or(self.place.take());
        if let Ended::Signal(_) = end.ended {
            // Standard error is kept until the terminal was given back.
            say_unsaved(end.unsaved);
            return Ok(Go::Out(end.ended));
        }
        anyhow::ensure!(end.unsaved == 0, "{} events could not be saved", end.unsaved);
        Ok(Go::Overview)
    }

    fn review_question(&self) -> anyhow::Result<ReviewQuestion> {
        let reviewer = self.reviewer.clone().context(
            "the system gives no name for the reviewer: use `flipside review --reviewer NAME`",
        )?;
        Ok(ReviewQuestion {
            report: None,
            fixtures: None,
            reviewer,
            hidden_sides: false,
            at: None,
            place: self.place.clone(),
        })
    }

    /// Starts a run, or looks at the one that is going on.
    fn parity(&mut self, candidate: usize) -> anyhow::Result<Go> {
        let question = self.parity_question(candidate)?;
        if !self.run.as_ref().is_some_and(BackgroundRun::is_going_on) {
            self.run = Some(BackgroundRun::start(question.clone())?);
        }
        loop {
            let Some(run) = &self.run else { return Ok(Go::Overview) };
            match run.show(&mut self.session)? {
                RunNext::Back => return Ok(Go::Overview),
                RunNext::Signal(number) => return Ok(Go::Out(Ended::Signal(number))),
                RunNext::Review => {
                    let review = self.review_question()?;
                    let clock = self.globals.clock;
                    let end = run.review(&review, self.workspace, &mut self.session, clock)?;
                    if let Go::Out(ended) = self.after_review(end)? {
                        return Ok(Go::Out(ended));
                    }
                }
                RunNext::Again => self.run = Some(BackgroundRun::start(question.clone())?),
                RunNext::Install => {
                    let globals = self.globals;
                    self.session.outside(|| ensure_for(globals, true, ""))??;
                    self.run = Some(BackgroundRun::start(question.clone())?);
                }
            }
        }
    }

    fn parity_question(&self, candidate: usize) -> anyhow::Result<ParityQuestion> {
        let candidates = &self.workspace.config.compare.candidates;
        let candidate = candidates.get(candidate).context("flipside.toml names no candidate")?;
        let question = of_workspace(self.globals, self.workspace, candidate);
        // A person at the screens is not "nothing else running".
        Ok(ParityQuestion { latency: false, ..question })
    }

    /// Runs this program with other arguments, while the terminal is given to it.
    fn child(&mut self, arguments: &[&str], after: After) -> anyhow::Result<()> {
        let program = std::env::current_exe().context("this program's own file is not known")?;
        let (workspace, globals) = (self.workspace, self.globals);
        self.session.outside(|| {
            let mut command = Command::new(program);
            command.arg("-C").arg(&workspace.root);
            if let Some(library) = &globals.ort_lib {
                command.arg("--ort-lib").arg(library);
            }
            let status = command.args(arguments).status();
            let failed = !matches!(&status, Ok(status) if status.success());
            if failed {
                // What was typed when it was interrupted stands on the line.
                output::note("");
            }
            if after == After::Wait || failed {
                output::note("enter goes back to the overview");
                let mut line = String::new();
                // Whatever was typed, or the end of input: it is time to go back.
                let _ = std::io::stdin().read_line(&mut line);
            }
            status.map(drop).with_context(|| format!("cannot start {}", arguments.join(" ")))
        })?
    }
}

/// Whether what a command printed stays on the screen until it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// Always.
    Wait,
    /// Only when the command failed: else it had a screen of its own.
    WaitIfItFailed,
}
