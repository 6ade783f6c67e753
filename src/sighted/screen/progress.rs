//! A parity run as it goes on: how far, how fast, what moved so far. It can be cancelled, and what was
//! found can be reviewed at any time.
//!
//! ```text
//! parity  detector.fp32.onnx against detector.int8.onnx
//! running both artifacts
//! ██████████████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  31%
//! 15 of 48 pictures, 3 from an earlier run
//! 4.2 pictures/s, 0:08 left
//!
//! 12 decisions changed so far in 9 pictures
//! 40 detections only moved to another slot
//!
//! r review  c cancel  q back  ? help
//! ```

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::sighted::score::claim::counted;
use crate::tui::help::hint_bar;
use crate::tui::keymap::{KeyMap, Modes};
use crate::tui::screen::{Look, Screen};
use crate::tui::theme::Role;
use crate::tui::widgets::text::{fit, fit_middle, wrap};

/// How a run stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::sighted) struct Standing {
    /// File names of reference and candidate; escaped.
    pub sides: [String; 2],
    /// What is being done, in words.
    pub phase: &'static str,
    /// Fixtures in all.
    pub total: u64,
    /// Fixtures done, left-out ones too.
    pub done: u64,
    /// Of those, taken from an earlier run.
    pub remembered: u64,
    /// Of those, left out.
    pub left_out: u64,
    /// Why the last one was left out; escaped.
    pub last_left_out: Option<String>,
    /// Changes that need a verdict.
    pub changes: usize,
    /// Detections that only moved to another slot.
    pub moved: usize,
    /// Pictures in which something changed.
    pub images_changed: usize,
    /// Pictures a second, lately.
    pub per_second: Option<f64>,
    /// Time that is left at that pace.
    pub remaining: Option<Duration>,
    /// How it ended.
    pub ended: Option<RunEnd>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) enum RunEnd {
    /// The report was written.
    Finished {
        /// Its file name; escaped.
        report: String,
        /// What it says about counts and decisions.
        sentence: String,
        /// What a person should know beside it; escaped.
        notes: Vec<String>,
    },
    /// It was cancelled; what was done stays.
    Cancelled,
    /// There is no runtime.
    NoRuntime {
        /// What was looked for, and where; escaped.
        problem: String,
        /// What could be fetched; escaped.
        offer: String,
    },
    /// It could not go on; why, escaped.
    Failed(String),
}

impl Standing {
    /// One line for other screens.
    pub(in crate::sighted) fn line(&self) -> String {
        match &self.ended {
            Some(RunEnd::Finished { sentence, .. }) => format!("run finished: {sentence}"),
            Some(RunEnd::Cancelled) => {
                let (done, total) = (self.done, self.total);
                format!("run cancelled after {done} of {total} pictures: p goes on")
            }
            Some(RunEnd::NoRuntime { .. }) => {
                "no run: ONNX Runtime is missing: p fetches it".to_owned()
            }
            Some(RunEnd::Failed(reason)) => format!("run failed: {reason}"),
            None if self.total == 0 => format!("run (p looks): {}", self.phase),
            None => {
                format!("run (p looks): {} of {}, {} changed", self.done, self.total, self.changes)
            }
        }
    }

    /// How the line looks.
    pub(in crate::sighted) const fn role(&self) -> Role {
        match self.ended {
            None => Role::Strong,
            Some(RunEnd::Finished { .. }) => Role::Good,
            Some(RunEnd::Cancelled | RunEnd::NoRuntime { .. }) => Role::Warning,
            Some(RunEnd::Failed(_)) => Role::Bad,
        }
    }
}

/// What was chosen when the screen was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) enum Leave {
    /// Back to the overview; the run goes on.
    Back,
    /// Review what was found.
    Review,
    /// Fetch the runtime.
    Install,
    /// Run again.
    Again,
}

/// What can happen.
#[derive(Debug, Clone)]
pub(in crate::sighted) enum Msg {
    /// News of the run.
    Standing(Box<Standing>),
    /// A key.
    Leave(Leave),
    /// A key.
    Cancel,
    /// A key, after the question.
    CancelYes,
    /// A key, after the question.
    CancelNo,
}

/// What others must do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) enum Effect {
    /// Stop the run after the fixture it is at.
    Cancel,
}

const RUNNING: Modes = Modes::only(0);
const ASKING: Modes = Modes::only(1);
const ENDED: Modes = Modes::only(2);
const NO_RUNTIME: Modes = Modes::only(3);
const STOPPING: Modes = Modes::only(4);

/// The state.
pub(in crate::sighted) struct Progress {
    standing: Standing,
    asking: bool,
    cancelling: bool,
    leave: Option<Leave>,
    keys: KeyMap<Msg>,
}

impl Progress {
    /// The screen of a run that stands so.
    pub(in crate::sighted) fn new(standing: Standing) -> Self {
        Self { standing, asking: false, cancelling: false, leave: None, keys: keymap() }
    }

    /// What was chosen.
    pub(in crate::sighted) fn left(&self) -> Leave {
        self.leave.unwrap_or(Leave::Back)
    }

    fn lines(&self, columns: usize) -> Vec<(Role, String)> {
        let standing = &self.standing;
        let mut lines = Vec::new();
        let mut say = |role: Role, text: &str| {
            lines.extend(wrap(text, columns).into_iter().map(|line| (role, line)));
        };
        match &standing.ended {
            None => say(Role::Normal, standing.phase),
            Some(RunEnd::Finished { .. }) => say(Role::Good, "finished"),
            Some(RunEnd::Cancelled) => {
                say(Role::Warning, "cancelled: the next run goes on from here")
            }
            Some(RunEnd::NoRuntime { problem, offer }) => {
                say(Role::Warning, problem);
                say(Role::Normal, "");
                say(Role::Normal, &format!("i fetches {offer}"));
                return lines;
            }
            Some(RunEnd::Failed(reason)) => say(Role::Bad, &format!("failed: {reason}")),
        }
        if standing.total > 0 {
            say(Role::Normal, &bar(standing.done, standing.total, columns));
            let mut counts = format!("{} of {} pictures", standing.done, standing.total);
            if standing.remembered > 0 {
                counts.push_str(&format!(", {} from an earlier run", standing.remembered));
            }
            say(Role::Normal, &counts);
        }
        match (standing.per_second, standing.remaining, &standing.ended) {
            (Some(rate), Some(left), None) if standing.done < standing.total => {
                say(Role::Normal, &format!("{rate:.1} pictures/s, {} left", clock(left)));
            }
            (_, _, None) if standing.total > 0 && standing.done == 0 => {
                say(Role::Faint, "measuring the speed…");
            }
            _ => {}
        }
        match (&standing.ended, self.asking, self.cancelling) {
            (None, true, _) => {
                let text = "Stop the run? What is done stays, and the next run goes on from there.";
                say(Role::Normal, "");
                say(Role::Warning, text);
                // The question must be seen even where little else fits.
                return lines;
            }
            (None, _, true) => say(Role::Warning, "stopping after this picture…"),
            _ => {}
        }
        say(Role::Normal, "");
        if let Some(RunEnd::Finished { report, sentence, notes }) = &standing.ended {
            say(Role::Strong, sentence);
            say(Role::Normal, &format!("report {report}"));
            notes.iter().for_each(|note| say(Role::Warning, note));
        } else if standing.total > 0 {
            let counted = |count: usize, what| counted(count as u64, what);
            let changes = counted(standing.changes, "decision");
            let pictures = counted(standing.images_changed, "picture");
            say(Role::Strong, &format!("{changes} changed so far, in {pictures}"));
            if standing.moved > 0 {
                let detections = counted(standing.moved, "detection");
                say(Role::Normal, &format!("{detections} only moved to another slot"));
            }
        }
        if standing.left_out > 0 {
            let why = standing.last_left_out.as_deref().unwrap_or_default();
            say(Role::Warning, &format!("{} left out; last: {why}", standing.left_out));
        }
        lines
    }
}

fn keymap() -> KeyMap<Msg> {
    KeyMap::new()
        .bind(
            RUNNING | STOPPING,
            "r enter",
            "review",
            "review",
            "review what was found so far; the run goes on",
            Msg::Leave(Leave::Review),
        )
        .bind(RUNNING, "c", "cancel", "cancel", "stop the run; what is done stays", Msg::Cancel)
        .bind(
            RUNNING | STOPPING,
            "q esc",
            "back",
            "back",
            "to the overview; the run goes on",
            Msg::Leave(Leave::Back),
        )
        .bind(ASKING, "y", "cancel-yes", "stop it", "stop the run", Msg::CancelYes)
        .bind(ASKING, "n q esc", "cancel-no", "go on", "let it go on", Msg::CancelNo)
        .bind(
            ENDED,
            "r enter",
            "review-found",
            "review",
            "review what was found",
            Msg::Leave(Leave::Review),
        )
        .bind(
            ENDED,
            "p",
            "run-again",
            "run again",
            "run again; what was done is remembered",
            Msg::Leave(Leave::Again),
        )
        .bind(ENDED, "q esc", "leave", "back", "to the overview", Msg::Leave(Leave::Back))
        .bind(
            NO_RUNTIME,
            "i",
            "install",
            "fetch it",
            "fetch ONNX Runtime with pip, check its hash, then run",
            Msg::Leave(Leave::Install),
        )
        .bind(
            NO_RUNTIME,
            "q esc",
            "leave-unfetched",
            "back",
            "to the overview; nothing is fetched",
            Msg::Leave(Leave::Back),
        )
}

/// A bar with a share behind it.
fn bar(done: u64, total: u64, columns: usize) -> String {
    let room = columns.saturating_sub(6).min(60) as u64;
    let filled = (done * room).checked_div(total).unwrap_or(0).min(room);
    let percent = (done * 100).checked_div(total).unwrap_or(0).min(100);
    let cells = |cell: &str, count: u64| cell.repeat(usize::try_from(count).unwrap_or(0));
    format!("{}{} {percent:>3}%", cells("█", filled), cells("░", room - filled))
}

/// `4:05` or `1:04:05`.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

impl Screen for Progress {
    type Msg = Msg;
    type Effect = Effect;

    fn update(&mut self, msg: Msg, _now: Duration) -> Vec<Effect> {
        match msg {
            Msg::Standing(standing) => {
                self.asking &= standing.ended.is_none();
                self.standing = *standing;
            }
            Msg::Leave(leave) => self.leave = Some(leave),
            Msg::Cancel => self.asking = self.standing.ended.is_none() && !self.cancelling,
            Msg::CancelNo => self.asking = false,
            Msg::CancelYes => {
                (self.asking, self.cancelling) = (false, true);
                return vec![Effect::Cancel];
            }
        }
        Vec::new()
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, look: &Look) {
        let columns = usize::from(area.width);
        let [reference, candidate] = &self.standing.sides;
        // Both names are cut alike, rather than the end of the one and the beginning of the other.
        let room = columns.saturating_sub("parity   against ".len()) / 2;
        let [reference, candidate] = [reference, candidate].map(|name| fit_middle(name, room));
        let title = format!("parity  {reference} against {candidate}");
        let title = Line::styled(title, look.theme.style(Role::Strong));
        frame.buffer_mut().set_line(area.x, area.y, &title, area.width);
        let rows = area.y + 1..area.bottom().saturating_sub(1);
        let mut lines = self.lines(columns);
        if lines.len() > rows.len() {
            lines.retain(|(_, text)| !text.is_empty());
        }
        if lines.len() > rows.len()
            && let Some((_, last)) = lines.get_mut(rows.len().saturating_sub(1))
        {
            last.push_str(" …");
        }
        for (row, (role, text)) in rows.zip(lines) {
            let style = look.theme.style(role);
            frame.buffer_mut().set_stringn(area.x, row, fit(&text, columns), columns, style);
        }
        let hints = Rect { y: area.bottom().saturating_sub(1), height: 1, ..area };
        frame.render_widget(hint_bar(&self.keys, self.mode(), area.width, look.theme), hints);
    }

    fn keymap(&self) -> &KeyMap<Msg> {
        &self.keys
    }

    fn mode(&self) -> Modes {
        match &self.standing.ended {
            Some(RunEnd::NoRuntime { .. }) => NO_RUNTIME,
            Some(_) => ENDED,
            None if self.asking => ASKING,
            None if self.cancelling => STOPPING,
            None => RUNNING,
        }
    }

    fn is_finished(&self) -> bool {
        self.leave.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::headless::Shot;

    fn standing(done: u64) -> Standing {
        Standing {
            sides: ["detector.fp32.onnx".to_owned(), "detector.int8.onnx".to_owned()],
            phase: "running both artifacts",
            total: 200,
            done,
            remembered: 3,
            left_out: 1,
            last_left_out: Some("images/x.jpg: it is cut off".to_owned()),
            changes: 12,
            moved: 40,
            images_changed: 9,
            per_second: Some(2.04),
            remaining: Some(Duration::from_secs(83)),
            ended: None,
        }
    }

    fn ended(end: RunEnd) -> Standing {
        Standing { ended: Some(end), ..standing(200) }
    }

    fn ends() -> [(&'static str, RunEnd); 4] {
        let sentence = "59 = 59 detections, yet 20 decisions by slot and 18 of 48 pictures changed";
        [
            (
                "finished",
                RunEnd::Finished {
                    report: "a-b.json".to_owned(),
                    sentence: sentence.to_owned(),
                    notes: vec!["outputs are no longer remembered: the disk is full".to_owned()],
                },
            ),
            ("cancelled", RunEnd::Cancelled),
            ("failed", RunEnd::Failed("nothing was compared; reference: refused".to_owned())),
            (
                "no_runtime",
                RunEnd::NoRuntime {
                    problem: "ONNX Runtime is not installed".to_owned(),
                    offer: "ONNX Runtime 1.2 from the Python package index, 20 MB".to_owned(),
                },
            ),
        ]
    }

    #[test]
    fn frames() {
        for shot in Shot::all() {
            let early = Standing { phase: "reading both artifacts", ..Standing::default() };
            let early = Standing { sides: standing(0).sides, ..early };
            insta::assert_snapshot!(shot.name("reading"), shot.of(&Progress::new(early)));
            let first = Standing { per_second: None, changes: 0, moved: 0, ..standing(0) };
            let first = Standing { remembered: 0, left_out: 0, images_changed: 0, ..first };
            insta::assert_snapshot!(shot.name("measuring"), shot.of(&Progress::new(first)));
            let mut progress = Progress::new(standing(31));
            insta::assert_snapshot!(shot.name("progress"), shot.of(&progress));
            insta::assert_snapshot!(shot.name("help"), shot.of_help(&progress, ""));
            progress.update(Msg::Cancel, Duration::ZERO);
            insta::assert_snapshot!(shot.name("progress_asking"), shot.of(&progress));
            progress.update(Msg::CancelYes, Duration::ZERO);
            insta::assert_snapshot!(shot.name("progress_stopping"), shot.of(&progress));
            for (name, end) in ends() {
                let progress = Progress::new(ended(end));
                insta::assert_snapshot!(shot.name(&format!("progress_{name}")), shot.of(&progress));
            }
        }
    }

    #[test]
    fn a_bar_and_a_clock_never_divide_by_nothing() {
        assert_eq!(bar(0, 0, 40).trim_start_matches('░'), "   0%");
        assert_eq!(bar(300, 200, 10), "████ 100%");
        assert_eq!(clock(Duration::from_secs(3845)), "1:04:05");
        assert_eq!(clock(Duration::from_secs(39)), "0:39");
    }

    #[test]
    fn cancelling_asks_first_and_leaving_does_not_cancel() {
        let mut progress = Progress::new(standing(1));
        let mut tell = |msg: Msg| (progress.update(msg, Duration::ZERO), progress.mode());
        assert_eq!(tell(Msg::Cancel), (Vec::new(), ASKING));
        assert_eq!(tell(Msg::CancelNo), (Vec::new(), RUNNING));
        tell(Msg::Cancel);
        assert_eq!(tell(Msg::CancelYes), (vec![Effect::Cancel], STOPPING));
        assert_eq!(tell(Msg::Cancel), (Vec::new(), STOPPING), "it is being cancelled already");
        assert_eq!(tell(Msg::Standing(Box::new(ended(RunEnd::Cancelled)))), (Vec::new(), ENDED));
        assert_eq!(tell(Msg::Cancel).1, ENDED, "nothing to cancel any more");
        assert!(tell(Msg::Leave(Leave::Review)).0.is_empty());
        assert!(progress.is_finished() && progress.left() == Leave::Review);
    }

    #[test]
    fn what_can_be_done_follows_the_end_and_every_key_is_listed() {
        assert_eq!(keymap().problems(), Vec::<String>::new());
        let can = |standing: Standing, name: &str| {
            let progress = Progress::new(standing);
            progress.keys.in_mode(progress.mode()).any(|binding| binding.name == name)
        };
        assert!(can(standing(1), "cancel") && !can(standing(1), "run-again"));
        assert!(can(ended(RunEnd::Cancelled), "run-again"));
        let missing = RunEnd::NoRuntime { problem: String::new(), offer: String::new() };
        assert!(can(ended(missing.clone()), "install") && !can(ended(missing), "review-found"));
    }
}
