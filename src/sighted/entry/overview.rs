//! The overview, for the command line: shows what lies in a workspace, and says what to open next.

use crate::domain::shard::RaterName;
use crate::sighted::screen::overview::facts::gather;
use crate::sighted::screen::overview::{self, Msg, Overview};
use crate::store::workspace::Workspace;
use crate::tui::event_loop::Ended;
use crate::tui::session::Session;

/// Pieces that may wait for the screen.
const QUEUE: usize = 64;

/// What to open next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Leave the program.
    Quit,
    /// A signal came; the number is the system's.
    Signal(i32),
    /// Review a report, by file name in the workspace's folder of reports.
    Review(String),
    /// Run parity, or look at the run that is going on.
    Parity,
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
    /// The doctor.
    Doctor,
    /// The overview, read again.
    Again,
}

/// Shows the overview until something is chosen. `said` is shown at first.
///
/// # Errors
/// The terminal failed, or the system gives no thread.
pub fn show_overview(
    workspace: &Workspace,
    reviewer: Option<&RaterName>,
    said: Option<String>,
    session: &mut Session,
) -> anyhow::Result<Next> {
    let (sender, answers) = crossbeam_channel::bounded(QUEUE);
    let root = workspace.root.to_string_lossy().into_owned();
    let rater = reviewer.map_or("", RaterName::as_str).to_owned();
    std::thread::Builder::new().name("overview".to_owned()).spawn({
        let (workspace, reviewer) = (workspace.clone(), reviewer.cloned());
        move || {
            // The screen may have been left: nobody needs the rest then.
            gather(&workspace, reviewer.as_ref(), &mut |fact| drop(sender.send(Msg::Fact(fact))));
            drop(sender.send(Msg::Complete));
        }
    })?;
    let mut screen = Overview::new(&root, &rater, said);
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
        overview::Choice::Parity => Next::Parity,
        overview::Choice::Label { rater, shard } => Next::Label { rater, shard },
        overview::Choice::Score => Next::Score,
        overview::Choice::Sign => Next::Sign,
        overview::Choice::Records => Next::Records,
        overview::Choice::Report => Next::Report,
        overview::Choice::Doctor => Next::Doctor,
        overview::Choice::Again => Next::Again,
    }
}
