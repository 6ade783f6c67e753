//! The score screen: what moved, what it cost, how sure that is, who decided and on what; then the numbers
//! of `flipside score`, page by page and subset by subset, and the pictures the artifacts differ on, each of
//! which opens in review.
//!
//! ```text
//! Score at 0.4 [enforced] all 1/6   summary  numbers  categories  differing
//! moved         Decisions changed: 20 threshold flips (14 real), …
//! cost          recall reference 26/30 = 86.7 % (70.3 to 94.7 %) [enforced]
//! …
//! tab page  → subset  enter open  q leave  ? help
//! ```

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::threshold_view::side_names;
use crate::domain::canonical::float_text;
use crate::domain::digest::FixtureId;
use crate::domain::escape::escape;
use crate::sighted::score::compute::{Differing, Score, SubsetScore};
use crate::sighted::score::summary::{COLUMNS, summary_text};
use crate::sighted::score::text::{badge, category_lines, subset_lines};
use crate::sighted::score::wire::truth_word;
use crate::tui::event_loop::Ended;
use crate::tui::help::hint_bar;
use crate::tui::keymap::{KeyMap, Modes};
use crate::tui::screen::{Input, Look, Mouse, MouseKind, Screen};
use crate::tui::session::Session;
use crate::tui::theme::Role;
use crate::tui::widgets::list::ListState;
use crate::tui::widgets::text::{fit_middle, fit_parts, pad, wrap};

/// How the screen ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) enum ScoreExit {
    /// Nothing more.
    Left,
    /// This picture is to be opened in review.
    Review(FixtureId),
    /// The threshold screen is wanted.
    Threshold,
}

/// What is shown of a subset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Page {
    Summary,
    Numbers,
    Categories,
    Differing,
}

const PAGES: [(Page, &str); 4] = [
    (Page::Summary, "summary"),
    (Page::Numbers, "numbers"),
    (Page::Categories, "categories"),
    (Page::Differing, "differing"),
];

/// Below so many columns the name of an answer stands in its own line's text.
const SUMMARY_COLUMNS_FROM: usize = 60;

/// What can happen.
#[derive(Debug, Clone)]
pub(in crate::sighted) enum Msg {
    /// Another page.
    Page(isize),
    /// Another subset.
    Subset(isize),
    /// Rows.
    Rows(isize),
    /// Open the picture under the cursor.
    Open,
    /// To the threshold screen.
    Threshold,
    /// Leave.
    Leave,
    /// The mouse.
    Mouse(Mouse),
    /// Another size.
    Resize(u16, u16),
}

/// The state.
#[derive(Debug)]
pub(in crate::sighted) struct ScoreScreen {
    score: Score,
    decided: Vec<String>,
    subset: usize,
    page: usize,
    lines: Vec<String>,
    list: ListState,
    differences_shown: BTreeSet<FixtureId>,
    size: (u16, u16),
    exit: Option<ScoreExit>,
    keymap: KeyMap<Msg>,
}

impl ScoreScreen {
    /// The screen over a score; `decided` says, a line each, who signed what about the candidate.
    pub(in crate::sighted) fn new(score: Score, decided: Vec<String>) -> Self {
        let mut screen = Self {
            score,
            decided,
            subset: 0,
            page: 0,
            lines: Vec::new(),
            list: ListState::default(),
            differences_shown: BTreeSet::new(),
            size: (80, 24),
            exit: None,
            keymap: keys(),
        };
        screen.lay_out();
        screen
    }

    /// How it ended; `None` when a signal ended it. It can be run again then, and is where it was.
    pub(in crate::sighted) fn take_exit(&mut self) -> Option<ScoreExit> {
        self.exit.take()
    }

    /// Shows another score of the same evidence; page, subset and row stay as far as they are there.
    pub(in crate::sighted) fn rescore(&mut self, score: Score) {
        self.score = score;
        self.subset = self.subset.min(self.score.subsets.len().saturating_sub(1));
        self.lay_out();
    }

    /// Pictures whoever looks is exposed to: the page of differences lists what models and raters said.
    pub(in crate::sighted) fn seen(&self) -> impl Iterator<Item = FixtureId> {
        self.differences_shown.iter().copied()
    }

    fn subset(&self) -> Option<&SubsetScore> {
        self.score.subsets.get(self.subset)
    }

    fn page(&self) -> Page {
        PAGES[self.page].0
    }

    fn differing(&self) -> &[Differing] {
        match (self.page(), self.subset()) {
            (Page::Differing, Some(subset)) => &subset.differing,
            _ => &[],
        }
    }

    /// Makes the lines of the page for the present width.
    fn lay_out(&mut self) {
        let columns = usize::from(self.size.0.saturating_sub(2)).max(10);
        let raw = match (self.page(), self.subset()) {
            (_, None) | (Page::Differing, _) => Vec::new(),
            (Page::Numbers, Some(subset)) => subset_lines(subset),
            (Page::Categories, Some(subset)) => {
                let lines = category_lines(subset);
                let reason = self.score.no_categories.clone();
                if lines.is_empty() { reason.into_iter().collect() } else { lines }
            }
            (Page::Summary, _) => Vec::new(),
        };
        self.lines = match self.page() {
            Page::Summary => self.summary(columns),
            _ => raw.iter().flat_map(|line| indented(line, columns)).collect(),
        };
        let rows =
            if self.page() == Page::Differing { self.differing().len() } else { self.lines.len() };
        self.list.set_len(rows);
        let listed: Vec<FixtureId> = self.differing().iter().map(|it| it.fixture).collect();
        self.differences_shown.extend(listed);
    }

    /// Each answer beside its name, or behind it where there is no room beside.
    fn summary(&self, columns: usize) -> Vec<String> {
        let mut answers = self.score.summary(&self.decided);
        answers.extend(self.score.unjoined.iter().map(|it| {
            ("not joined", format!("{} {}: {}", it.kind, escape(&it.name), escape(&it.reason)))
        }));
        if columns < SUMMARY_COLUMNS_FROM {
            let lines = answers.iter().map(|(name, line)| format!("{name}: {line}"));
            return lines.flat_map(|line| wrap(&line, columns)).collect();
        }
        let broken = answers.into_iter().flat_map(|(name, line)| {
            wrap(&line, columns - COLUMNS).into_iter().map(move |part| (name, part))
        });
        let text = summary_text(&broken.collect::<Vec<_>>());
        text.lines().map(str::to_owned).collect()
    }

    fn turn(count: usize, at: usize, by: isize) -> usize {
        let count = isize::try_from(count.max(1)).unwrap_or(1);
        let at = isize::try_from(at).unwrap_or(0);
        usize::try_from((at + by).rem_euclid(count)).unwrap_or(0)
    }

    /// Rows between tabs and hints; the list of images has a head of its own.
    fn body(&self) -> Rect {
        let head = u16::from(!self.differing().is_empty());
        Rect::new(0, 2 + head, self.size.0, self.size.1.saturating_sub(3 + head))
    }
}

/// Columns below which the list of images is written with few words.
const NARROW: usize = 60;

/// The head of what follows an image in its list.
const COLUMNS_HEAD: &str = " people   best A best B";

/// The first column of that list: who finds something in the image; without a side, its head.
fn found_by(narrow: bool, side: &str) -> String {
    match (side, narrow) {
        ("", true) => "only ".to_owned(),
        ("", false) => "only found by ".to_owned(),
        ("A", false) => "A reference   ".to_owned(),
        (_, false) => "B candidate   ".to_owned(),
        (side, true) => format!("{side:<5}"),
    }
}

/// A line broken to `columns`; what follows its first row is indented as the line is.
fn indented(line: &str, columns: usize) -> Vec<String> {
    let text = line.trim_start();
    let indent = (line.len() - text.len()).min(columns / 3);
    wrap(text, columns.saturating_sub(indent).max(10))
        .into_iter()
        .map(|part| format!("{}{part}", " ".repeat(indent)))
        .collect()
}

impl Screen for ScoreScreen {
    type Msg = Msg;
    type Effect = std::convert::Infallible;

    fn update(&mut self, msg: Msg, _now: Duration) -> Vec<Self::Effect> {
        match msg {
            Msg::Page(by) => {
                self.page = Self::turn(PAGES.len(), self.page, by);
                self.list = ListState::default();
            }
            Msg::Subset(by) => {
                self.subset = Self::turn(self.score.subsets.len(), self.subset, by);
                self.list = ListState::default();
            }
            Msg::Rows(rows) => self.list.step(rows),
            Msg::Open => {
                self.exit = self
                    .differing()
                    .get(self.list.cursor)
                    .map(|differing| ScoreExit::Review(differing.fixture));
            }
            Msg::Threshold => self.exit = Some(ScoreExit::Threshold),
            Msg::Leave => self.exit = Some(ScoreExit::Left),
            Msg::Mouse(mouse) => match mouse.kind {
                MouseKind::ScrollUp => self.list.step(-1),
                MouseKind::ScrollDown => self.list.step(1),
                MouseKind::Press | MouseKind::Drag => {
                    if let Some(row) = self.list.row_at(self.body(), mouse.row) {
                        self.list.go_to(row);
                    }
                }
            },
            Msg::Resize(width, height) => self.size = (width, height),
        }
        self.lay_out();
        Vec::new()
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, look: &Look) {
        if area.height < 3 {
            return;
        }
        let theme = look.theme;
        let blind = self.subset().and_then(|subset| subset.blind);
        let name = self.subset().map_or_else(String::new, |subset| subset.kind.name());
        let planned = self.subset().is_some_and(|subset| subset.planned);
        let title = Line::from(vec![
            Span::styled("Score at ", theme.style(Role::Strong)),
            Span::styled(float_text(self.score.operating_point), theme.style(Role::Strong)),
            Span::raw(" "),
            Span::styled(badge(blind), theme.style(Role::Warning)),
            Span::raw(format!(
                " {}, subset {}/{}{}",
                escape(&name),
                self.subset + 1,
                self.score.subsets.len(),
                if planned { "" } else { " exploratory" }
            )),
        ]);
        let sides = side_names(&self.score.names, &self.score.artifacts, area.width, theme);
        let mut tabs = Vec::new();
        for (index, (_, word)) in PAGES.iter().enumerate() {
            let chosen = index == self.page;
            let role = if chosen { Role::Selected } else { Role::Faint };
            tabs.push(Span::styled(format!(" {word} "), theme.style(role)));
        }
        let buffer = frame.buffer_mut();
        let title = fit_parts(title, [sides], usize::from(area.width));
        buffer.set_line(area.x, area.y, &title, area.width);
        buffer.set_line(area.x, area.y + 1, &Line::from(tabs), area.width);
        let columns = usize::from(area.width.saturating_sub(2));
        let head = u16::from(!self.differing().is_empty());
        let body =
            Rect { y: area.y + 2 + head, height: area.height.saturating_sub(3 + head), ..area };
        let narrow = columns < NARROW;
        if head > 0 {
            let (found, room) = (found_by(narrow, ""), columns - found_by(narrow, "").len());
            let text = pad("image", room.saturating_sub(COLUMNS_HEAD.len()));
            let text = format!("{found}{text}{COLUMNS_HEAD}");
            buffer.set_stringn(body.x + 2, body.y - 1, text, columns, theme.style(Role::Faint));
        }
        if self.list.len == 0 {
            let text = match self.page() {
                Page::Differing => "no image differs in this subset",
                _ => "nothing to show",
            };
            buffer.set_stringn(body.x + 2, body.y, text, columns, theme.style(Role::Faint));
        }
        let differing = self.differing();
        self.list.render(body, buffer, theme, |index| {
            if self.page() != Page::Differing {
                return Line::raw(self.lines.get(index).cloned().unwrap_or_default());
            }
            differing.get(index).map_or_else(Line::default, |it| {
                let (side, role) = if it.gained { ("B", Role::Second) } else { ("A", Role::First) };
                let side = found_by(narrow, side);
                let tail =
                    format!(" {:<8} {:.4} {:.4}", truth_word(it.truth), it.best.a, it.best.b);
                let room = columns.saturating_sub(side.len() + tail.len());
                Line::from(vec![
                    Span::styled(side, theme.style(role)),
                    Span::raw(pad(&fit_middle(&escape(&it.path), room), room)),
                    Span::raw(tail),
                ])
            })
        });
        let hints = hint_bar(&self.keymap, self.mode(), area.width, theme);
        buffer.set_line(area.x, area.bottom() - 1, &hints, area.width);
    }

    fn keymap(&self) -> &KeyMap<Msg> {
        &self.keymap
    }

    fn is_finished(&self) -> bool {
        self.exit.is_some()
    }

    fn input(&self, input: Input) -> Option<Msg> {
        match input {
            Input::Mouse(mouse) => Some(Msg::Mouse(mouse)),
            Input::Resize { width, height } => Some(Msg::Resize(width, height)),
            Input::Text(_) | Input::Paste(_) | Input::Tick | Input::Graphics(_) => None,
        }
    }
}

fn keys() -> KeyMap<Msg> {
    KeyMap::new()
        .bind(Modes::ALL, "tab", "next-page", "page", "next page", Msg::Page(1))
        .bind(Modes::ALL, "shift-tab", "previous-page", "", "page before", Msg::Page(-1))
        .bind(Modes::ALL, "right l", "next-subset", "subset", "next subset", Msg::Subset(1))
        .bind(Modes::ALL, "left h", "previous-subset", "", "subset before", Msg::Subset(-1))
        .bind(Modes::ALL, "down j", "next-row", "", "next row", Msg::Rows(1))
        .bind(Modes::ALL, "up k", "previous-row", "", "row before", Msg::Rows(-1))
        .bind(Modes::ALL, "page-down", "rows-down", "", "ten rows down", Msg::Rows(10))
        .bind(Modes::ALL, "page-up", "rows-up", "", "ten rows up", Msg::Rows(-10))
        .bind(
            Modes::ALL,
            "o enter",
            "open",
            "open",
            "open the image in review (page: differing)",
            Msg::Open,
        )
        .bind(Modes::ALL, "t", "threshold", "threshold", "to the threshold screen", Msg::Threshold)
        .bind(Modes::ALL, "q esc", "leave", "leave", "leave", Msg::Leave)
}

/// Runs the screen; [`ScoreScreen::take_exit`] tells what is wanted next.
///
/// # Errors
/// Drawing failed.
pub(in crate::sighted) fn run(
    session: &mut Session,
    screen: &mut ScoreScreen,
) -> io::Result<Ended> {
    session.run(screen, &crossbeam_channel::never(), |never| match never {})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sighted::score::compute::score;
    use crate::sighted::score::evidence::Evidence;
    use crate::sighted::score::testing::Set;
    use crate::tui::headless::{self, Shot};
    use crate::tui::keymap::Key;
    use crate::tui::theme::Theme;

    fn evidence() -> Evidence {
        let names: Vec<String> = (0..30).map(|index| format!("{index:02}-path")).collect();
        let pictures: Vec<(&str, f64, f64)> = names
            .iter()
            .enumerate()
            .map(|(index, name)| (name.as_str(), 0.9, if index % 9 == 0 { 0.1 } else { 0.9 }))
            .collect();
        let mut set = Set::new(&pictures);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        set.labelled("ada", &names[..20], &names[20..]);
        set.join()
    }

    fn screen() -> ScoreScreen {
        ScoreScreen::new(score(&evidence(), 0.4), vec!["nobody: no sign-off".to_owned()])
    }

    fn press(screen: &mut ScoreScreen, keys: &str) {
        for key in keys.split(' ') {
            let key = Key::parse(key).expect(key);
            let binding = screen.keymap().lookup(screen.mode(), key).expect("bound");
            let msg = binding.msg.clone();
            screen.update(msg, Duration::ZERO);
        }
    }

    #[test]
    fn keys_are_sound() {
        assert_eq!(screen().keymap().problems(), Vec::<String>::new());
    }

    #[test]
    fn a_differing_image_opens_in_review_and_nothing_opens_elsewhere() {
        let mut screen = screen();
        press(&mut screen, "enter");
        assert_eq!(screen.take_exit(), None, "a summary does not open");
        press(&mut screen, "tab tab tab j enter");
        let wanted = screen.score.subsets[0].differing[1].fixture;
        assert_eq!(screen.take_exit(), Some(ScoreExit::Review(wanted)));
        assert_eq!(screen.seen().count(), screen.score.subsets[0].differing.len());
        let mut other = self::screen();
        press(&mut other, "t");
        assert_eq!(other.take_exit(), Some(ScoreExit::Threshold));
        press(&mut other, "q");
        assert_eq!(other.take_exit(), Some(ScoreExit::Left));
    }

    #[test]
    fn who_comes_back_is_where_they_were_also_at_another_threshold() {
        let mut screen = screen();
        press(&mut screen, "right tab tab tab j o");
        let place = |screen: &ScoreScreen| (screen.subset, screen.page(), screen.list.cursor);
        let left = place(&screen);
        assert_eq!(left, (1, Page::Differing, 1));
        assert!(screen.is_finished() && screen.take_exit().is_some());
        assert!(!screen.is_finished(), "it can be shown again");
        assert_eq!(place(&screen), left);
        let (other, at) = (evidence(), 0.5);
        screen.rescore(score(&other, at));
        assert_eq!(place(&screen), left);
        assert!(screen.score.operating_point.total_cmp(&at).is_eq());
        // There, no picture differs.
        screen.rescore(score(&other, 0.95));
        assert_eq!(place(&screen), (1, Page::Differing, 0));
    }

    #[test]
    fn pages_and_subsets_go_round() {
        let mut screen = screen();
        press(&mut screen, "shift-tab");
        assert_eq!(screen.page(), Page::Differing);
        press(&mut screen, "tab left");
        assert_eq!((screen.page(), screen.subset), (Page::Summary, screen.score.subsets.len() - 1));
        press(&mut screen, "right");
        assert_eq!(screen.subset, 0);
    }

    #[test]
    fn frames() {
        for (page, keys) in [
            ("summary", ""),
            ("numbers", "tab"),
            ("exploratory", "tab right"),
            ("categories", "tab tab"),
            ("differing", "tab tab tab j"),
        ] {
            for shot in Shot::all() {
                let mut screen = screen();
                screen.update(Msg::Resize(shot.size.0, shot.size.1), Duration::ZERO);
                if !keys.is_empty() {
                    press(&mut screen, keys);
                }
                insta::assert_snapshot!(shot.name(page), shot.of(&screen));
            }
        }
        for shot in Shot::all() {
            insta::assert_snapshot!(shot.name("help"), shot.of_help(&screen(), ""));
            let mut same = ScoreScreen::new(score(&evidence(), 0.95), Vec::new());
            press(&mut same, "tab tab tab");
            insta::assert_snapshot!(shot.name("nothing_differs"), shot.of(&same));
        }
    }

    #[test]
    fn no_size_panics() {
        let screen = screen();
        for columns in 1..60 {
            for rows in 1..20 {
                headless::draw_with(columns, rows, |frame| {
                    screen.view(frame, frame.area(), &Look::plain(Theme::MONO));
                });
            }
        }
    }
}
