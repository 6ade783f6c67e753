//! The overview, for the command line: shows what lies in a workspace, and says what to open next.

use std::time::Duration;

use crossbeam_channel::Sender;

use super::background::BackgroundRun;
use crate::domain::shard::RaterName;
use crate::sighted::screen::overview::facts::gather;
use crate::sighted::screen::overview::{self, Msg, Overview, RunLine};
use crate::store::workspace::Workspace;
use crate::tui::event_loop::Ended;
use crate::tui::session::Session;

/// Pieces that may wait for the screen.
const QUEUE: usize = 64;
/// Between two lines about a run.
const PACE: Duration = Duration::from_millis(200);

/// What to open next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Leave the program.
    Quit,
    /// A signal came; the number is the system's.
    Signal(i32),
    /// Review a report, by file name in the workspace's folder of reports.
    Review(String),
    /// Run parity with this candidate, counted from 0 as configured, or look at the run that is going on.
    Parity(usize),
    /// Label: rater and shard as typed.
    Label {
        /// Who.
        rater: String,
        /// Which part.
        shard: String,
    },
    /// Scores.
    Score,
    /// The threshold screen.
    Sign,
    /// Records.
    Records,
    /// The HTML report.
    Report,
    /// The sheet of all fixtures.
    Fixtures,
    /// The doctor.
    Doctor,
    /// The overview, read again.
    Again,
}

/// Shows the overview until something is chosen. `said` is shown at first; how `run` stands is shown as
/// long as nothing else has to be said.
///
/// # Errors
/// The terminal failed, or the system gives no thread.
pub fn show_overview(
    workspace: &Workspace,
    reviewer: Option<&RaterName>,
    run: Option<&BackgroundRun>,
    said: Option<String>,
    session: &mut Session,
) -> anyhow::Result<Next> {
    let (sender, answers) = crossbeam_channel::bounded(QUEUE);
    let tell = {
        let (workspace, reviewer) = (workspace.clone(), reviewer.cloned());
        // The screen may have been left: nobody needs the rest then.
        move |sender: &Sender<Msg>| {
            gather(&workspace, reviewer.as_ref(), &mut |fact| drop(sender.send(Msg::Fact(fact))));
            drop(sender.send(Msg::Complete));
        }
    };
    let following = run.map(|run| {
        let (sender, tell) = (sender.clone(), tell.clone());
        let mut was_going = run.is_going_on();
        run.follow(PACE, move |standing, _| {
            let going = standing.ended.is_none();
            let line = RunLine { text: standing.line(), role: standing.role(), going };
            let told = sender.send(Msg::Run(line)).is_ok();
            if std::mem::replace(&mut was_going, going) && !going {
                // There may be a report more than when the screen was opened.
                tell(&sender);
            }
            told
        })
    });
    let _following = following.transpose()?;
    let root = workspace.root.to_string_lossy().into_owned();
    let rater = reviewer.map_or("", RaterName::as_str).to_owned();
    std::thread::Builder::new().name("overview".to_owned()).spawn(move || tell(&sender))?;
    let candidates = workspace.config.compare.candidates.iter();
    let candidates = candidates.map(|path| path.to_string_lossy().into_owned()).collect();
    let mut screen = Overview::new(&root, &rater, candidates, said);
    let ended = session.run(&mut screen, &answers, |()| {})?;
    Ok(match ended {
        Ended::Signal(number) => Next::Signal(number),
        Ended::Left => Next::Quit,
        Ended::Finished => next(screen.choice()),
    })
}

fn next(choice: overview::Choice) -> Next {
    match choice {
        overview::Choice::Quit => Next::Quit,
        overview::Choice::Review(file) => Next::Review(file),
        overview::Choice::Parity(candidate) => Next::Parity(candidate),
        overview::Choice::Label { rater, shard } => Next::Label { rater, shard },
        overview::Choice::Score => Next::Score,
        overview::Choice::Sign => Next::Sign,
        overview::Choice::Records => Next::Records,
        overview::Choice::Report => Next::Report,
        overview::Choice::Fixtures => Next::Fixtures,
        overview::Choice::Doctor => Next::Doctor,
        overview::Choice::Again => Next::Again,
    }
}
