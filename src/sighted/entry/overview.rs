//! The overview, for the command line: shows what lies in a workspace, and says what to open next.

use std::time::Duration;

use crossbeam_channel::Sender;

use super::background::BackgroundRun;
use crate::domain::shard::RaterName;
pub use crate::sighted::screen::overview::Choice;
use crate::sighted::screen::overview::facts::gather;
use crate::sighted::screen::overview::{Msg, Overview, RunLine};
use crate::store::workspace::Workspace;
use crate::tui::event_loop::Ended;
use crate::tui::session::Session;

/// Pieces that may wait for the screen.
const QUEUE: usize = 64;
/// Between two lines about a run.
const PACE: Duration = Duration::from_millis(200);

/// What comes after the overview.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// This was chosen.
    Open(Choice),
    /// A signal came; the number is the system's.
    Signal(i32),
}

/// The overview of a workspace. Shown again, it is as it was left.
pub struct OverviewScreen {
    workspace: Workspace,
    reviewer: Option<RaterName>,
    screen: Overview,
}

impl OverviewScreen {
    /// The overview as `reviewer` sees it.
    pub fn new(workspace: &Workspace, reviewer: Option<&RaterName>) -> Self {
        let root = workspace.root.to_string_lossy();
        let candidates = workspace.config.compare.candidates.iter();
        let candidates = candidates.map(|path| path.to_string_lossy().into_owned()).collect();
        let screen = Overview::new(&root, reviewer.map_or("", RaterName::as_str), candidates);
        Self { workspace: workspace.clone(), reviewer: reviewer.cloned(), screen }
    }

    /// Shows it until something is chosen, and reads the workspace meanwhile. `said` is shown at first; how
    /// `run` stands is shown as long as nothing else has to be said.
    ///
    /// # Errors
    /// The terminal failed, or the system gives no thread.
    pub fn show(
        &mut self,
        run: Option<&BackgroundRun>,
        said: Option<String>,
        session: &mut Session,
    ) -> anyhow::Result<Next> {
        let (sender, answers) = crossbeam_channel::bounded(QUEUE);
        let tell = {
            let (workspace, reviewer) = (self.workspace.clone(), self.reviewer.clone());
            // The screen may have been left: nobody needs the rest then.
            move |sender: &Sender<Msg>| {
                gather(&workspace, reviewer.as_ref(), &mut |fact| {
                    drop(sender.send(Msg::Fact(fact)));
                });
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
        std::thread::Builder::new().name("overview".to_owned()).spawn(move || tell(&sender))?;
        self.screen.come_back(said);
        let ended = session.run(&mut self.screen, &answers, |()| {})?;
        Ok(match ended {
            Ended::Signal(number) => Next::Signal(number),
            Ended::Left => Next::Open(Choice::Quit),
            Ended::Finished => Next::Open(self.screen.take_choice()),
        })
    }
}
