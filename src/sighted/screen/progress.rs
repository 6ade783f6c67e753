//! A parity run as it goes on: how far, how fast, what moved so far. It can be cancelled, and what was
//! found can be reviewed at any time.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::tui::help::hint_bar;
use crate::tui::keymap::{KeyMap, Modes};
use crate::tui::screen::{Input, Look, Screen};
use crate::tui::theme::Role;
use crate::tui::widgets::text::{fit, wrap};

/// How a run stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::sighted) struct Standing {
    /// What is being done, in words; escaped.
    pub phase: String,
    /// Fixtures in all.
    pub total: usize,
    /// Fixtures done, left-out ones too.
    pub done: usize,
    /// Of those, taken from an earlier run.
    pub resumed: usize,
    /// Of those, left out, and why the last one was; escaped.
    pub left_out: usize,
    /// Why the last one was left out; escaped.
    pub last_left_out: Option<String>,
    /// Changes that need a verdict.
    pub changes: usize,
    /// Detections that only moved to another slot.
    pub moved: usize,
    /// Pictures in which something changed.
    pub images_changed: usize,
    /// How it ended.
    pub ended: Option<RunEnd>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) enum RunEnd {
    /// The report was written; its name, escaped.
    Finished(String),
    /// It was cancelled; what was done stays.
    Cancelled,
    /// It could not go on; why, escaped.
    Failed(String),
}

impl Standing {
    /// One line for other screens.
    pub(in crate::sighted) fn line(&self) -> String {
        match &self.ended {
            Some(RunEnd::Finished(report)) => format!("finished: {report}"),
            Some(RunEnd::Cancelled) => "cancelled".to_owned(),
            Some(RunEnd::Failed(reason)) => format!("failed: {reason}"),
            None => format!("{}/{} pictures, {} changed", self.done, self.total, self.changes),
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
    /// Time passed.
    Tick,
}

/// What others must do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) enum Effect {
    /// Stop the run after the fixture it is at.
    Cancel,
}

const RUNNING: Modes = Modes::only(0);
const ASKING: Modes = Modes::only(1);

/// The state.
pub(in crate::sighted) struct Progress {
    standing: Standing,
    /// Time and count when the first fixture of this sitting was done.
    first: Option<(Duration, usize)>,
    now: Duration,
    asking: bool,
    cancelling: bool,
    leave: Option<Leave>,
    keys: KeyMap<Msg>,
}

impl Progress {
    /// The screen of a run that stands so.
    pub(in crate::sighted) fn new(standing: Standing) -> Self {
        let keys = KeyMap::new()
            .bind(
                RUNNING,
                "r enter",
                "review",
                "review",
                "review what was found so far",
                Msg::Leave(Leave::Review),
            )
            .bind(RUNNING, "c", "cancel", "cancel", "stop the run; what is done stays", Msg::Cancel)
            .bind(
                RUNNING,
                "q esc",
                "back",
                "back",
                "to the overview; the run goes on",
                Msg::Leave(Leave::Back),
            )
            .bind(ASKING, "y", "cancel-yes", "stop it", "stop the run", Msg::CancelYes)
            .bind(ASKING, "n q esc", "cancel-no", "go on", "let it go on", Msg::CancelNo);
        Self {
            standing,
            first: None,
            now: Duration::ZERO,
            asking: false,
            cancelling: false,
            leave: None,
            keys,
        }
    }

    /// What was chosen.
    pub(in crate::sighted) fn left(&self) -> Leave {
        self.leave.unwrap_or(Leave::Back)
    }

    /// Pictures a second since this screen was opened, once two are done.
    fn rate(&self) -> Option<f64> {
        let (since, count) = self.first?;
        let pictures = self.standing.done.checked_sub(count).filter(|done| *done > 0)?;
        let seconds = (self.now.checked_sub(since)?).as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "a count of pictures")]
        let rate = pictures as f64 / seconds;
        (seconds > 0.0 && rate.is_finite()).then_some(rate)
    }

    fn eta(&self) -> Option<Duration> {
        let left = self.standing.total.checked_sub(self.standing.done)?;
        #[expect(clippy::cast_precision_loss, reason = "a count of pictures")]
        let seconds = left as f64 / self.rate()?;
        Duration::try_from_secs_f64(seconds).ok()
    }

    fn lines(&self, columns: usize) -> Vec<(Role, String)> {
        let standing = &self.standing;
        let mut lines = vec![(Role::Strong, standing.phase.clone())];
        lines.push((Role::Normal, bar(standing.done, standing.total, columns)));
        let mut counts = format!("{} of {} pictures", standing.done, standing.total);
        if standing.resumed > 0 {
            counts.push_str(&format!(", {} from an earlier run", standing.resumed));
        }
        lines.push((Role::Normal, counts));
        let speed = match (self.rate(), self.eta(), &standing.ended) {
            (_, _, Some(_)) => None,
            (Some(rate), Some(eta), None) => {
                Some(format!("{rate:.1} pictures/s, {} left", clock(eta)))
            }
            _ => Some("measuring the speed…".to_owned()),
        };
        lines.extend(speed.map(|speed| (Role::Normal, speed)));
        lines.push((Role::Normal, String::new()));
        let changed = format!(
            "{} decisions changed so far in {} pictures; {} only moved to another slot",
            standing.changes, standing.images_changed, standing.moved
        );
        lines.extend(wrap(&changed, columns).into_iter().map(|line| (Role::Strong, line)));
        if standing.left_out > 0 {
            let why = standing.last_left_out.as_deref().unwrap_or_default();
            let text = format!("{} left out; last: {why}", standing.left_out);
            lines
                .extend(wrap(&text, columns).into_iter().take(3).map(|line| (Role::Warning, line)));
        }
        lines.push((Role::Normal, String::new()));
        match (&standing.ended, self.asking, self.cancelling) {
            (Some(RunEnd::Finished(report)), ..) => {
                lines.push((Role::Good, format!("finished: {report}")));
            }
            (Some(RunEnd::Cancelled), ..) => {
                let text = "cancelled; the next run goes on from here".to_owned();
                lines.push((Role::Warning, text));
            }
            (Some(RunEnd::Failed(reason)), ..) => {
                let text = format!("failed: {reason}");
                lines.extend(wrap(&text, columns).into_iter().map(|line| (Role::Bad, line)));
            }
            (None, true, _) => {
                let text = "Stop the run? What is done stays, and the next run goes on from there.";
                lines.extend(wrap(text, columns).into_iter().map(|line| (Role::Warning, line)));
            }
            (None, _, true) => lines.push((Role::Warning, "stopping…".to_owned())),
            _ => {}
        }
        lines
    }
}

/// A bar with a share behind it.
fn bar(done: usize, total: usize, columns: usize) -> String {
    let room = columns.saturating_sub(6).min(60);
    let filled = (done * room).checked_div(total).unwrap_or(0).min(room);
    let percent = (done * 100).checked_div(total).unwrap_or(0).min(100);
    format!("{}{} {percent:>3}%", "█".repeat(filled), "░".repeat(room - filled))
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

    fn update(&mut self, msg: Msg, now: Duration) -> Vec<Effect> {
        self.now = now;
        match msg {
            Msg::Standing(standing) => {
                if self.first.is_none() && standing.done > self.standing.done {
                    self.first = Some((now, standing.done));
                }
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
            Msg::Tick => {}
        }
        Vec::new()
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, look: &Look) {
        let columns = usize::from(area.width);
        let title = Line::styled("parity", look.theme.style(Role::Strong));
        frame.buffer_mut().set_line(area.x, area.y, &title, area.width);
        let rows = area.y + 1..area.bottom().saturating_sub(1);
        for (row, (role, text)) in rows.zip(self.lines(columns)) {
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
        if self.asking { ASKING } else { RUNNING }
    }

    fn is_finished(&self) -> bool {
        self.leave.is_some()
    }

    fn input(&self, input: Input) -> Option<Msg> {
        matches!(input, Input::Tick).then_some(Msg::Tick)
    }

    fn tick_every(&self) -> Option<Duration> {
        self.standing.ended.is_none().then_some(Duration::from_secs(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::headless;
    use crate::tui::theme::Theme;

    fn standing(done: usize) -> Standing {
        Standing {
            phase: "running both artifacts".to_owned(),
            total: 200,
            done,
            resumed: 3,
            left_out: 1,
            last_left_out: Some("images/x.jpg: it is cut off".to_owned()),
            changes: 12,
            moved: 40,
            images_changed: 9,
            ended: None,
        }
    }

    fn tell(progress: &mut Progress, standing: Standing, seconds: u64) -> Vec<Effect> {
        progress.update(Msg::Standing(Box::new(standing)), Duration::from_secs(seconds))
    }

    #[test]
    fn frames() {
        for (columns, rows) in [(40, 12), (80, 24), (120, 40)] {
            for theme in [Theme::MONO, Theme::COLOUR] {
                let mut progress = Progress::new(standing(10));
                tell(&mut progress, standing(11), 10);
                tell(&mut progress, standing(31), 20);
                let palette = if theme.is_mono() { "mono" } else { "colour" };
                let dump = headless::draw(&progress, columns, rows, &Look::plain(theme));
                let text = if theme.is_mono() { dump.text } else { dump.with_styles() };
                insta::assert_snapshot!(format!("progress_{columns}x{rows}_{palette}"), text);
            }
        }
    }

    #[test]
    fn speed_is_of_this_sitting_and_never_divides_by_nothing() {
        let mut progress = Progress::new(standing(100));
        assert_eq!((progress.rate(), progress.eta()), (None, None));
        tell(&mut progress, standing(101), 5);
        assert_eq!(progress.rate(), None);
        tell(&mut progress, standing(121), 15);
        assert_eq!(progress.rate(), Some(2.0));
        assert_eq!(progress.eta().map(clock), Some("0:39".to_owned()));
        assert_eq!(bar(0, 0, 40).trim_start_matches('░'), "   0%");
        assert_eq!(clock(Duration::from_secs(3845)), "1:04:05");
    }

    #[test]
    fn cancelling_asks_first_and_leaving_does_not_cancel() {
        let mut progress = Progress::new(standing(1));
        assert!(progress.update(Msg::Cancel, Duration::ZERO).is_empty());
        assert_eq!(progress.mode(), ASKING);
        progress.update(Msg::CancelNo, Duration::ZERO);
        assert_eq!(progress.mode(), RUNNING);
        progress.update(Msg::Cancel, Duration::ZERO);
        assert_eq!(progress.update(Msg::CancelYes, Duration::ZERO), [Effect::Cancel]);
        let mut ended = standing(5);
        ended.ended = Some(RunEnd::Cancelled);
        tell(&mut progress, ended, 1);
        progress.update(Msg::Cancel, Duration::ZERO);
        assert_eq!(progress.mode(), RUNNING, "nothing to cancel any more");
        progress.update(Msg::Leave(Leave::Review), Duration::ZERO);
        assert!(progress.is_finished() && progress.left() == Leave::Review);
        assert_eq!(progress.keymap().problems(), Vec::<String>::new());
    }
}
