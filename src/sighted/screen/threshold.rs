//! The threshold screen: recall and false positives of both artifacts by threshold, what the decisions do
//! there, and a cursor. Moving it recounts everything and lists the pictures it gains and loses.
//!
//! It recommends nothing: there is no best point, no sorting by one, no colour for one. It hands back the
//! threshold a person chose, or nothing.
//!
//! ```text
//! Threshold 0.41   recommended 0.4   all   [enforced]
//! 1.0 ┤ curves of both artifacts, a band that      │ recall  reference 26/30 = 86.7 %
//!     │ holds at every threshold at once           │         candidate 25/30 = 83.3 %
//!     │                 │ cursor                   │ …
//! 0.0 ┤─────────────────┼─────────────────────────│ flips, mislabels, images changed
//! 0.40 → 0.41: 2 lost, 0 gained
//! > images/a.jpg  litter  reference lost it  0.4012
//! ←→ move  enter choose  ? help
//! ```

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::Rect;

use super::threshold_view;
use crate::domain::canonical::float_text;
use crate::domain::digest::FixtureId;
use crate::sighted::decision::report::DetectionRow;
use crate::sighted::review::pictures::{Rendition, picture_id};
use crate::sighted::score::curve::{Change, Curve, Flips};
use crate::sighted::score::evidence::{DecisionRow, Evidence, Row};
use crate::sighted::score::presence::Measure;
use crate::sighted::score::subset::{SubsetKind, Truth, select};
use crate::stats::proportion::Interval;
use crate::store::label_file::BlindStatus;
use crate::tui::event_loop::Ended;
use crate::tui::keymap::{Key, KeyMap, Modes};
use crate::tui::picture::PictureSource;
use crate::tui::picture::overlay::{BoxOverlay, Line};
use crate::tui::picture::view::PictureView;
use crate::tui::picture::viewport::UnitRect;
use crate::tui::picture::worker::{Answer, PictureWorker, Request};
use crate::tui::screen::{Input, Look, Mouse, MouseKind, Screen};
use crate::tui::session::Session;
use crate::tui::widgets::input::{Edit, TextInput};
use crate::tui::widgets::list::ListState;

/// Left and right end of the plot, and how far the cursor goes.
pub(in crate::sighted) const RANGE: (f64, f64) = (0.05, 0.95);

/// Places at which curves are sampled for the plot.
const SAMPLES: u32 = 360;

/// How the screen ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::sighted) enum ThresholdExit {
    /// This threshold was chosen.
    Chosen(f64),
    /// Nothing was chosen.
    Left,
    /// This picture is to be opened in review.
    Review(FixtureId),
}

/// Which band is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) enum Band {
    /// Around recall.
    Recall,
    /// Around the false-positive rate.
    FalsePositives,
    /// None.
    Off,
}

/// What can happen.
#[derive(Debug, Clone)]
pub(in crate::sighted) enum Msg {
    /// So many hundredths.
    Hundredths(i32),
    /// To the nearest threshold at which a picture changes.
    NextChange { up: bool },
    /// To the recommended threshold of the sidecar.
    Recommended,
    /// Another subset.
    Subset,
    /// Another band.
    Band,
    /// Rows in the list of changes.
    Rows(isize),
    /// The other list: what the last step changed, or what only one artifact finds here.
    List,
    /// The image in place of the curves, where there is no room for both.
    Look,
    /// Begin typing a threshold.
    Type,
    /// A key while typing.
    Key(Key),
    /// Pasted while typing.
    Paste(String),
    /// Choose the threshold under the cursor: asks once.
    Choose,
    /// Yes, that one.
    Confirm,
    /// No.
    Refuse,
    /// Open the picture under the list's cursor in review.
    Open,
    /// Leave without choosing.
    Leave,
    /// The mouse.
    Mouse(Mouse),
    /// Another size.
    Resize(u16, u16),
    /// Another way of drawing pictures.
    Graphics(crate::tui::picture::Canvas),
    /// A picture came.
    Picture(Box<Answer>),
}

/// What the screen wants done.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) enum Effect {
    /// A picture.
    Picture(Box<Request>),
}

const MOVING: Modes = Modes::only(0);
const TYPING: Modes = Modes::only(1);
const ASKING: Modes = Modes::only(2);

/// Points of the four curves of one subset.
#[derive(Debug, Clone)]
pub(in crate::sighted) struct Sampled {
    /// Recall of the reference, of the candidate, false positives of the reference, of the candidate.
    pub lines: [Vec<(f64, f64)>; 4],
    /// Bands, likewise; empty where there are too few pictures.
    pub bands: [Vec<(f64, f64, f64)>; 4],
}

/// Which pictures are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) enum Listed {
    /// Those the last step gained or lost.
    Step,
    /// Those in which only one artifact finds something, at the cursor.
    Differing,
}

/// One subset on the screen.
#[derive(Debug, Clone)]
pub(in crate::sighted) struct Shown {
    /// Its name.
    pub name: String,
    /// The weakest status of its labels.
    pub blind: Option<BlindStatus>,
    /// Its rates.
    pub curve: Curve,
    /// For the plot.
    pub sampled: Sampled,
    /// Disputed and skipped pictures.
    pub unresolved: u64,
}

/// The state.
#[derive(Debug)]
pub(in crate::sighted) struct ThresholdScreen {
    pub(super) evidence: Evidence,
    pub(super) subsets: Vec<Shown>,
    pub(super) subset: usize,
    flips: Flips,
    /// The cursor.
    pub(super) at: f64,
    /// Where it was before the last move.
    pub(super) from: f64,
    pub(super) decisions: Option<DecisionRow>,
    pub(super) changes: Vec<Change>,
    /// What `changes` are: of the last step, or between the artifacts at the cursor.
    pub(super) listed: Listed,
    /// The image stands in place of the curves.
    pub(super) looking: bool,
    pub(super) list: ListState,
    pub(super) band: Band,
    pub(super) typing: Option<TextInput>,
    pub(super) asking: bool,
    pub(super) notice: Option<String>,
    pub(super) picture: PictureView,
    seen: BTreeSet<FixtureId>,
    size: (u16, u16),
    exit: Option<ThresholdExit>,
    keymap: KeyMap<Msg>,
}

impl ThresholdScreen {
    /// The screen over `evidence`, the cursor at `start`.
    pub(in crate::sighted) fn new(evidence: Evidence, start: f64) -> Self {
        let subsets = [SubsetKind::All, SubsetKind::Photographs]
            .into_iter()
            .map(|kind| {
                let selection = select(&evidence, kind);
                let curve = Curve::new(&evidence, &selection);
                Shown {
                    name: selection.kind.name(),
                    blind: selection.blind,
                    sampled: sample(&curve),
                    curve,
                    unresolved: selection.count(Truth::Disputed) + selection.count(Truth::Skipped),
                }
            })
            .collect();
        let flips = Flips::new(&evidence);
        let start = start.clamp(RANGE.0, RANGE.1);
        let mut screen = Self {
            evidence,
            subsets,
            subset: 0,
            flips,
            at: start,
            from: start,
            decisions: None,
            changes: Vec::new(),
            listed: Listed::Differing,
            looking: false,
            list: ListState::default(),
            band: Band::Recall,
            typing: None,
            asking: false,
            notice: None,
            picture: PictureView::default(),
            seen: BTreeSet::new(),
            size: (80, 24),
            exit: None,
            keymap: keys(),
        };
        screen.decisions = screen.flips.move_to(start);
        screen.fill_list(Listed::Differing);
        screen
    }

    /// How it ended; `None` when a signal ended it. It can be run again then, and is where it was.
    pub(in crate::sighted) fn take_exit(&mut self) -> Option<ThresholdExit> {
        self.asking = false;
        self.exit.take()
    }

    /// Pictures it has listed with what models and raters said: whoever looked is exposed to them.
    pub(in crate::sighted) fn seen(&self) -> &BTreeSet<FixtureId> {
        &self.seen
    }

    /// The subset that is shown.
    pub(super) fn shown(&self) -> &Shown {
        &self.subsets[self.subset]
    }

    /// The row of a change.
    pub(super) fn row(&self, change: &Change) -> &Row {
        &self.evidence.rows[change.row]
    }

    /// What raters say of a change's picture, in the subset of all.
    pub(super) fn label_word(&self, change: &Change) -> &'static str {
        let row = self.row(change);
        let mut answers = row.said.values().filter_map(|said| said.sealed.as_ref());
        let Some(first) = answers.next() else {
            let skipped = row.said.values().any(|said| said.skipped);
            return if skipped { "skipped" } else { "unlabelled" };
        };
        if answers.any(|answer| answer.label.presence != first.label.presence) {
            return "disputed";
        }
        first.label.presence.word()
    }

    fn move_to(&mut self, to: f64) {
        let to = to.clamp(RANGE.0, RANGE.1);
        if to.total_cmp(&self.at).is_eq() {
            return;
        }
        self.from = self.at;
        self.at = to;
        self.decisions = self.flips.move_to(to);
        self.notice = None;
        self.fill_list(Listed::Step);
    }

    fn fill_list(&mut self, listed: Listed) {
        self.listed = listed;
        self.changes = match listed {
            Listed::Step => self.shown().curve.step(self.from, self.at),
            Listed::Differing => Curve::differing(&self.evidence, self.at),
        };
        self.list = ListState::new(self.changes.len());
        self.seen.extend(self.changes.iter().map(|change| self.evidence.rows[change.row].fixture));
        self.show_picture();
    }

    fn show_picture(&mut self) {
        let id = |change: &Change| {
            picture_id(self.evidence.rows[change.row].fixture, Rendition::Upright)
        };
        match self.changes.get(self.list.cursor) {
            Some(change) => {
                let next = self.changes.iter().skip(self.list.cursor + 1).take(2).map(id).collect();
                let (id, facts) = (id(change), self.row(change).path.clone());
                let boxes = surest_boxes(self.row(change), self.at);
                self.picture.show(id, &facts, next);
                self.picture.set_boxes(boxes);
            }
            None => self.picture.clear(),
        }
    }

    fn step(&mut self, hundredths: i32) {
        // From wherever the cursor is to the next whole hundredth in that direction.
        let scaled = self.at * 100.0;
        let nearest = scaled.round();
        let on_grid = (nearest / 100.0).total_cmp(&self.at).is_eq();
        let base = match (on_grid, hundredths > 0) {
            (true, _) => nearest,
            (false, true) => scaled.floor(),
            (false, false) => scaled.ceil(),
        };
        self.move_to((base + f64::from(hundredths)) / 100.0);
    }

    fn typed(&mut self, key: Key) {
        let Some(input) = &mut self.typing else { return };
        match input.key(key) {
            Edit::Going => {}
            Edit::Cancelled => self.typing = None,
            Edit::Done => {
                let text = input.text();
                match text.trim().parse::<f64>() {
                    Ok(value) if (RANGE.0..=RANGE.1).contains(&value) => {
                        self.typing = None;
                        self.move_to(value);
                    }
                    _ => {
                        self.notice = Some(format!(
                            "expected a number from {} to {}",
                            float_text(RANGE.0),
                            float_text(RANGE.1)
                        ));
                    }
                }
            }
        }
    }

    fn mouse(&mut self, mouse: Mouse) {
        let area = Rect::new(0, 0, self.size.0, self.size.1);
        match mouse.kind {
            MouseKind::ScrollUp => self.list.step(-1),
            MouseKind::ScrollDown => self.list.step(1),
            MouseKind::Press | MouseKind::Drag => {
                let places = threshold_view::Places::of(area, self.looking);
                if let Some(plot) = places.plot.filter(|plot| plot.contains(mouse.into_position()))
                    && let Some(x) = threshold_view::x_at(plot, mouse.column)
                {
                    self.move_to((x * 100.0).round() / 100.0);
                } else if let Some(row) = self.list.row_at(places.list, mouse.row) {
                    self.list.go_to(row);
                }
            }
        }
        self.show_picture();
    }

    fn pictures(&mut self) -> Vec<Effect> {
        let area = Rect::new(0, 0, self.size.0, self.size.1);
        let places = threshold_view::Places::of(area, self.looking);
        let Some(place) = places.picture else { return Vec::new() };
        self.picture.set_area(place);
        self.picture
            .request()
            .map(|request| Effect::Picture(Box::new(request)))
            .into_iter()
            .collect()
    }
}

/// What each side is surest of in a picture: thin where that is below the threshold, so counts for nothing.
fn surest_boxes(row: &Row, threshold: f64) -> Vec<BoxOverlay> {
    let surest = |found: &[DetectionRow]| {
        found.iter().copied().max_by(|left, right| left.confidence.total_cmp(&right.confidence))
    };
    [(&row.detections.a, Line::First, "A"), (&row.detections.b, Line::Second, "B")]
        .into_iter()
        .filter_map(|(found, line, tag)| {
            let surest = surest(found)?;
            Some(BoxOverlay {
                rect: UnitRect::from_corners(surest.corners),
                line,
                tag: tag.to_owned(),
                faint: surest.confidence < threshold,
            })
        })
        .collect()
}

/// Runs the screen until something is chosen or left; [`ThresholdScreen::take_exit`] tells what. Pictures come
/// from `pictures`, if any.
///
/// # Errors
/// Drawing failed, or the system gives no thread.
pub(in crate::sighted) fn run(
    session: &mut Session,
    screen: &mut ThresholdScreen,
    pictures: Option<Arc<dyn PictureSource>>,
) -> io::Result<Ended> {
    let (sender, answers) = crossbeam_channel::unbounded();
    let answer = move |answer: Answer| {
        // The screen has gone when nobody listens.
        let _ = sender.send(Msg::Picture(Box::new(answer)));
    };
    let worker = pictures.map(|source| PictureWorker::start(source, answer)).transpose()?;
    session.run(screen, &answers, |effect| {
        let Effect::Picture(request) = effect;
        if let Some(worker) = &worker {
            worker.request(*request);
        }
    })
}

/// Where the mouse is, as a place in cells.
trait IntoPosition {
    fn into_position(self) -> ratatui::layout::Position;
}

impl IntoPosition for Mouse {
    fn into_position(self) -> ratatui::layout::Position {
        ratatui::layout::Position::new(self.column, self.row)
    }
}

impl Screen for ThresholdScreen {
    type Msg = Msg;
    type Effect = Effect;

    fn update(&mut self, msg: Msg, _now: Duration) -> Vec<Effect> {
        match msg {
            Msg::Hundredths(count) => self.step(count),
            Msg::NextChange { up } => match self.shown().curve.next_change(self.at, up) {
                Some(to) => self.move_to(to),
                None => self.notice = Some("no picture changes beyond here".to_owned()),
            },
            Msg::Recommended => self.move_to(self.evidence.recommended),
            Msg::Subset => self.subset = (self.subset + 1) % self.subsets.len(),
            Msg::Band => {
                self.band = match self.band {
                    Band::Recall => Band::FalsePositives,
                    Band::FalsePositives => Band::Off,
                    Band::Off => Band::Recall,
                }
            }
            Msg::Rows(rows) => {
                self.list.step(rows);
                self.show_picture();
            }
            Msg::List => self.fill_list(match self.listed {
                Listed::Step => Listed::Differing,
                Listed::Differing => Listed::Step,
            }),
            Msg::Look => self.looking = !self.looking,
            Msg::Type => self.typing = Some(TextInput::default()),
            Msg::Key(key) => self.typed(key),
            Msg::Paste(text) => {
                if let Some(input) = &mut self.typing {
                    input.paste(&text);
                }
            }
            Msg::Choose => self.asking = true,
            Msg::Refuse => self.asking = false,
            Msg::Confirm => self.exit = Some(ThresholdExit::Chosen(self.at)),
            Msg::Open => {
                if let Some(change) = self.changes.get(self.list.cursor) {
                    self.exit = Some(ThresholdExit::Review(self.row(change).fixture));
                }
            }
            Msg::Leave => self.exit = Some(ThresholdExit::Left),
            Msg::Mouse(mouse) => self.mouse(mouse),
            Msg::Resize(width, height) => self.size = (width, height),
            Msg::Graphics(canvas) => self.picture.set_canvas(canvas),
            Msg::Picture(answer) => {
                self.picture.accept(*answer);
            }
        }
        self.pictures()
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, look: &Look) {
        threshold_view::view(self, frame, area, look);
    }

    fn keymap(&self) -> &KeyMap<Msg> {
        &self.keymap
    }

    fn mode(&self) -> Modes {
        match (self.typing.is_some(), self.asking) {
            (true, _) => TYPING,
            (_, true) => ASKING,
            _ => MOVING,
        }
    }

    fn is_finished(&self) -> bool {
        self.exit.is_some()
    }

    fn takes_text(&self) -> bool {
        self.typing.is_some()
    }

    fn input(&self, input: Input) -> Option<Msg> {
        match input {
            Input::Text(key) => Some(Msg::Key(key)),
            Input::Paste(text) => self.typing.is_some().then_some(Msg::Paste(text)),
            Input::Mouse(mouse) => (!self.asking).then_some(Msg::Mouse(mouse)),
            Input::Resize { width, height } => Some(Msg::Resize(width, height)),
            Input::Graphics(canvas) => Some(Msg::Graphics(canvas)),
            Input::Tick => None,
        }
    }

    fn picture_token(&self) -> u64 {
        self.picture.token()
    }
}

fn keys() -> KeyMap<Msg> {
    KeyMap::new()
        .bind(
            MOVING,
            "right l",
            "raise",
            "+0.01",
            "raise the threshold by 0.01",
            Msg::Hundredths(1),
        )
        .bind(
            MOVING,
            "left h",
            "lower",
            "-0.01",
            "lower the threshold by 0.01",
            Msg::Hundredths(-1),
        )
        .bind(MOVING, "enter", "choose", "choose", "choose this threshold; asks first", Msg::Choose)
        .bind(MOVING, "page-up L", "raise-more", "", "raise it by 0.05", Msg::Hundredths(5))
        .bind(MOVING, "page-down H", "lower-more", "", "lower it by 0.05", Msg::Hundredths(-5))
        .bind(
            MOVING,
            "n ]",
            "next-change",
            "next change",
            "raise it to where the next image changes",
            Msg::NextChange { up: true },
        )
        .bind(
            MOVING,
            "p [",
            "previous-change",
            "",
            "lower it to where the next image changes",
            Msg::NextChange { up: false },
        )
        .bind(MOVING, "t =", "type", "type", "type a threshold", Msg::Type)
        .bind(
            MOVING,
            "home r",
            "recommended",
            "",
            "back to the sidecar's threshold",
            Msg::Recommended,
        )
        .bind(MOVING, "down j", "next-row", "", "next image of the list", Msg::Rows(1))
        .bind(MOVING, "up k", "previous-row", "", "image before it", Msg::Rows(-1))
        .bind(
            MOVING,
            "d",
            "list",
            "differing",
            "list what only one artifact finds here, or what the last step changed",
            Msg::List,
        )
        .bind(
            MOVING,
            "v",
            "look",
            "view",
            "the image in place of the curves; a wide terminal shows both",
            Msg::Look,
        )
        .bind(MOVING, "s", "subset", "subset", "all images, or photographs only", Msg::Subset)
        .bind(MOVING, "b", "band", "band", "band of recall, of false positives, or none", Msg::Band)
        .bind(MOVING, "o", "open", "open", "open the image in review", Msg::Open)
        .bind(MOVING, "q esc", "leave", "leave", "leave without choosing", Msg::Leave)
        .bind(ASKING, "y", "confirm", "yes", "yes, this threshold", Msg::Confirm)
        .bind(ASKING, "n esc q", "refuse", "no", "no, back to the curves", Msg::Refuse)
        // The field takes these itself; they stand here for the help page.
        .bind(TYPING, "enter", "take", "take", "move to the number typed", Msg::Confirm)
        .bind(TYPING, "esc", "forget", "forget", "forget what was typed", Msg::Refuse)
}

fn sample(curve: &Curve) -> Sampled {
    let sides = [
        (Measure::Recall, false),
        (Measure::Recall, true),
        (Measure::FalsePositives, false),
        (Measure::FalsePositives, true),
    ];
    let threshold =
        |index: u32| RANGE.0 + (RANGE.1 - RANGE.0) * f64::from(index) / f64::from(SAMPLES);
    let read = |(measure, candidate): (Measure, bool)| -> Vec<(f64, f64, Interval)> {
        (0..=SAMPLES)
            .filter_map(|index| {
                let x = threshold(index);
                curve.rate(measure, candidate, x).map(|(rate, band)| (x, rate, band))
            })
            .collect()
    };
    let all = sides.map(read);
    Sampled {
        lines: std::array::from_fn(|side| all[side].iter().map(|it| (it.0, it.1)).collect()),
        bands: std::array::from_fn(|side| {
            all[side].iter().map(|it| (it.0, it.2.low, it.2.high)).collect()
        }),
    }
}

#[cfg(test)]
#[path = "threshold_tests.rs"]
mod tests;
