//! The contact sheet: many pictures at once, to see which are no photographs and which are near copies, and
//! to leave them out of the next manifest version with a reason.
//!
//! ```text
//! manifest.txt  48 pictures  2 marked  1 left out    by manifest, all
//! ┌──────┐ ┌──────┐ ┌──────┐ ┌──────┐
//! │      │ │      │ │      │ │      │
//! └──────┘ └──────┘ └──────┘ └──────┘
//!  a.jpg   *b.jpg g1 out: text  d.jpg ?
//! what is known of the picture under the cursor, or a notice
//! hints
//! ```
//!
//! No model output is shown. What hints at an answer is hidden of pictures that wait for a blind label.

mod choice;
pub(in crate::sighted) mod keys;
mod layout;
#[cfg(test)]
mod tests;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::Rect;

use crate::domain::digest::FixtureId;
use crate::domain::label::NotPhotograph;
use crate::sighted::fixtures::facts::Facts;
use crate::sighted::fixtures::flags::{Flag, Flags};
use crate::sighted::fixtures::sheet::Sheet;
use crate::sighted::fixtures::version::LeftOut;
use crate::tui::keymap::{Key, KeyMap, Modes};
use crate::tui::picture::view::PictureView;
use crate::tui::picture::worker::{Answer, Request};
use crate::tui::picture::{Canvas, PictureId};
use crate::tui::screen::{Input, Look, Mouse, MouseKind, Screen};
use crate::tui::widgets::input::{Edit, TextInput};
use crate::tui::widgets::list::matches;

pub(in crate::sighted) use choice::{Order, Shown};

use choice::{ORDERS, SHOWN};
use keys::{BROWSING, CHOOSING, LEAVING, keymap};
use layout::Layout;

/// Renditions: small for the sheet, whole for one picture alone.
pub(in crate::sighted) const SMALL: u8 = 0;
/// The whole picture.
pub(in crate::sighted) const WHOLE: u8 = 1;

/// What a text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Text {
    Reason(NotPhotograph),
    Name,
}

/// What can happen.
#[derive(Debug, Clone)]
pub(in crate::sighted) enum Msg {
    /// The cursor, in columns and rows of the sheet.
    Move(isize, isize),
    /// The cursor, in pages.
    Page(isize),
    /// To the first or the last picture.
    End(bool),
    /// Mark the picture under the cursor, or take its mark away, and go on.
    Mark,
    /// Mark all between the last mark and the cursor.
    Range,
    /// Mark all near copies of the picture under the cursor.
    Group,
    /// Mark all that are shown.
    All,
    /// Take all marks away.
    Unmark,
    /// Ask what the marked pictures are, or stop asking.
    Choose(bool),
    /// They are this; `None` for photographs after all.
    Kind(Option<NotPhotograph>),
    /// Take the last decision back, or restore it.
    Undo(bool),
    /// The next order.
    Order,
    /// The next choice of what is shown.
    Shown,
    /// Show names that hold a text.
    Name,
    /// Larger or smaller pictures.
    Size(bool),
    /// The picture under the cursor alone, or the sheet again.
    Alone,
    /// Write the manifest version.
    Write,
    /// Leave; asks first when flags are in no manifest.
    Leave,
    /// Leave with the flags kept for the next time.
    LeaveAnyway,
    /// Not leaving after all.
    Stay,
    /// What is no key of the map.
    Input(Input),
    /// A picture.
    Picture(Answer),
    /// What was read off some pictures.
    Learned(Vec<(usize, Result<Facts, String>)>),
    /// The flags are on the disk, or why not.
    Kept(Result<(), String>),
    /// The manifest version is there: its name and the line for `flipside.toml`; or why not.
    Written(Result<(String, String), String>),
}

/// What the screen wants done.
#[derive(Debug)]
pub(in crate::sighted) enum Effect {
    /// Pictures to be made; those asked for before are not wanted unless named again.
    Pictures(Vec<Request>),
    /// Keep the flags for the next time.
    Keep(Flags),
    /// Write the manifest version.
    Write(Vec<LeftOut>),
}

/// How a line for the person is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tone {
    Done,
    Refused,
    Lost,
}

/// The state.
#[derive(Debug)]
pub(in crate::sighted) struct ContactSheet {
    sheet: Sheet,
    name: String,
    /// Places that are shown, in order.
    shown: Vec<usize>,
    cursor: usize,
    first_row: usize,
    marked: BTreeSet<usize>,
    anchor: Option<usize>,
    order: usize,
    filter: usize,
    wanted_name: String,
    size: usize,
    alone: bool,
    choosing: bool,
    leaving: bool,
    over: bool,
    writing: bool,
    unkept: bool,
    text: Option<(Text, TextInput)>,
    notice: Option<(Tone, String)>,
    pictures: BTreeMap<PictureId, PictureView>,
    canvas: Canvas,
    area: Rect,
    written: Vec<(String, String)>,
    keys: KeyMap<Msg>,
}

impl ContactSheet {
    /// The screen over a sheet; `name` is the manifest's, not escaped.
    pub(in crate::sighted) fn new(sheet: Sheet, name: &str) -> Self {
        let notice = sheet.hidden_sentence().map(|sentence| (Tone::Refused, sentence));
        let mut screen = Self {
            shown: Vec::new(),
            sheet,
            name: crate::domain::escape::escape(name).into_owned(),
            cursor: 0,
            first_row: 0,
            marked: BTreeSet::new(),
            anchor: None,
            order: 0,
            filter: 0,
            wanted_name: String::new(),
            size: 1,
            alone: false,
            choosing: false,
            leaving: false,
            over: false,
            writing: false,
            unkept: false,
            text: None,
            notice,
            pictures: BTreeMap::new(),
            canvas: Canvas::PLAIN,
            area: Rect::ZERO,
            written: Vec::new(),
            keys: keymap(),
        };
        screen.select();
        screen
    }

    /// The flags as they are.
    pub(in crate::sighted) fn sheet(&self) -> &Sheet {
        &self.sheet
    }

    /// Manifest versions written in this sitting: name, and line for `flipside.toml`.
    pub(in crate::sighted) fn written(&self) -> &[(String, String)] {
        &self.written
    }

    /// Were the last flags not kept?
    pub(in crate::sighted) fn is_unkept(&self) -> bool {
        self.unkept
    }

    fn layout(&self) -> Layout {
        Layout::new(self.area, self.size, self.alone, self.shown.len(), self.first_row)
    }

    /// The place under the cursor.
    fn here(&self) -> Option<usize> {
        self.shown.get(self.cursor).copied()
    }

    /// What a decision is about: the marked pictures, or the one under the cursor.
    fn chosen(&self) -> Vec<usize> {
        if self.marked.is_empty() {
            self.here().into_iter().collect()
        } else {
            self.marked.iter().copied().collect()
        }
    }

    fn say(&mut self, tone: Tone, text: impl Into<String>) {
        self.notice = Some((tone, text.into()));
    }

    /// Makes the list of what is shown again; the cursor stays on its picture where that is still there.
    fn select(&mut self) {
        let here = self.here();
        let sheet = &self.sheet;
        let wanted = |place: &usize| {
            let kept = match SHOWN[self.filter].0 {
                Shown::All => true,
                Shown::Suggested => sheet.suggestion(*place).is_any(),
                Shown::Groups => sheet.groups().of(*place).is_some(),
                Shown::LeftOut => sheet.flag(*place).is_some(),
                Shown::Marked => self.marked.contains(place),
            };
            let all_names = self.wanted_name.is_empty();
            kept && (all_names
                || sheet.entries()[*place].paths.iter().any(|it| matches(it, &self.wanted_name)))
        };
        let mut shown: Vec<usize> = (0..sheet.len()).filter(wanted).collect();
        match ORDERS[self.order].0 {
            Order::Manifest => {}
            Order::Groups => {
                shown.sort_by_key(|place| sheet.groups().of(*place).unwrap_or(u32::MAX));
            }
            Order::Suggested => shown.sort_by_key(|place| match sheet.suggestion(*place) {
                crate::sighted::fixtures::sheet::Suggestion::Signs(signs) => {
                    usize::MAX - signs.len()
                }
                _ => usize::MAX,
            }),
            Order::Size => shown.sort_by_key(|place| match sheet.facts(*place) {
                Some(Ok(facts)) => u64::from(facts.size.0) * u64::from(facts.size.1),
                Some(Err(_)) => 0,
                None => u64::MAX,
            }),
        }
        self.shown = shown;
        let kept = here.and_then(|here| self.shown.iter().position(|place| *place == here));
        self.cursor = kept.unwrap_or(self.cursor.min(self.shown.len().saturating_sub(1)));
        self.follow();
    }

    /// Scrolls so that the cursor is seen.
    fn follow(&mut self) {
        let layout = self.layout();
        let row = self.cursor / layout.columns;
        if row < self.first_row {
            self.first_row = row;
        } else if row >= self.first_row + layout.rows {
            self.first_row = row + 1 - layout.rows;
        }
    }

    fn step(&mut self, by: isize) {
        let last = self.shown.len().saturating_sub(1);
        self.cursor = self.cursor.saturating_add_signed(by).min(last);
        self.follow();
    }

    fn page(&mut self, by: isize) {
        let layout = self.layout();
        let cells = isize::try_from(layout.columns * layout.rows).unwrap_or(1);
        self.step(by.saturating_mul(cells));
    }

    fn mark(&mut self) {
        let Some(here) = self.here() else { return };
        if !self.marked.remove(&here) {
            self.marked.insert(here);
        }
        self.anchor = Some(here);
        if !self.alone {
            self.step(1);
        }
    }

    fn range(&mut self) {
        let place_of = |wanted: usize| self.shown.iter().position(|place| *place == wanted);
        let Some(from) = self.anchor.and_then(place_of) else {
            return self.say(Tone::Refused, "mark one end with space first, then v at the other");
        };
        let (from, to) = (from.min(self.cursor), from.max(self.cursor));
        let last = to.min(self.shown.len().saturating_sub(1));
        self.marked.extend(self.shown.get(from..=last).unwrap_or_default());
        self.say(Tone::Done, format!("{} marked", self.marked.len()));
    }

    fn group(&mut self) {
        let Some(here) = self.here() else { return };
        let Some(group) = self.sheet.groups().of(here) else {
            let looked = self.sheet.known() == self.sheet.len();
            let text = if looked {
                "no near copy of this one"
            } else {
                "no near copy of this one so far; the pictures are still being looked at"
            };
            return self.say(Tone::Refused, text);
        };
        let members = self.sheet.groups().members(group);
        self.say(Tone::Done, format!("{} near copies of group g{group} marked", members.len()));
        self.marked.extend(members);
    }

    /// Flags what is chosen, or takes the flags away.
    fn decide(&mut self, flag: Option<&Flag>) -> Vec<Effect> {
        let chosen = self.chosen();
        let count = self.sheet.set_flag(&chosen, flag);
        if count == 0 {
            self.say(Tone::Refused, "nothing changes by that");
            return Vec::new();
        }
        let text = match flag {
            Some(flag) => format!("{count} left out as {}: u takes it back", flag.kind),
            None => format!("{count} stay in: u takes it back"),
        };
        self.say(Tone::Done, text);
        self.marked.clear();
        self.anchor = None;
        self.select();
        vec![Effect::Keep(self.sheet.flags.clone())]
    }

    fn choose(&mut self, kind: Option<NotPhotograph>) -> Vec<Effect> {
        self.choosing = false;
        match kind {
            None => self.decide(None),
            Some(kind) => {
                self.text = Some((Text::Reason(kind), TextInput::new(&Flag::default_reason(kind))));
                Vec::new()
            }
        }
    }

    fn undo(&mut self, back: bool) -> Vec<Effect> {
        let flags = &mut self.sheet.flags;
        let first = if back { flags.undo() } else { flags.redo() };
        let Some(first) = first else {
            self.say(
                Tone::Refused,
                if back { "nothing to take back" } else { "nothing to restore" },
            );
            return Vec::new();
        };
        self.say(Tone::Done, if back { "taken back" } else { "restored" });
        self.select();
        let place = self.sheet.place_of(first);
        if let Some(at) = self.shown.iter().position(|shown| Some(*shown) == place) {
            self.cursor = at;
            self.follow();
        }
        vec![Effect::Keep(self.sheet.flags.clone())]
    }

    fn typed(&mut self, key: Key) -> Vec<Effect> {
        let Some((text, input)) = &mut self.text else { return Vec::new() };
        let (text, edit, written) = (*text, input.key(key), input.text());
        match (edit, text) {
            (Edit::Going, _) => {}
            (Edit::Cancelled, _) => self.text = None,
            (Edit::Done, Text::Name) => {
                self.text = None;
                self.wanted_name = written.trim().to_owned();
                self.select();
            }
            (Edit::Done, Text::Reason(kind)) => match Flag::new(kind, &written) {
                Ok(flag) => {
                    self.text = None;
                    return self.decide(Some(&flag));
                }
                // The field stays open, with what was typed.
                Err(reason) => self.say(Tone::Refused, reason),
            },
        }
        Vec::new()
    }

    fn write(&mut self) -> Vec<Effect> {
        if self.writing {
            return Vec::new();
        }
        if let Some(name) = self.sheet.flags.written() {
            let name = crate::domain::escape::escape(name).into_owned();
            self.leaving = false;
            self.say(Tone::Refused, format!("{name} holds exactly these already"));
            return Vec::new();
        }
        self.writing = true;
        vec![Effect::Write(self.sheet.left_out())]
    }

    fn wrote(&mut self, found: Result<(String, String), String>) -> Vec<Effect> {
        self.writing = false;
        match found {
            Ok((name, line)) => {
                self.sheet.flags.set_written(&name);
                let shown = crate::domain::escape::escape(&name).into_owned();
                self.say(
                    Tone::Done,
                    format!("written {shown}; to use it, in flipside.toml: {line}"),
                );
                self.written.push((name, line));
                self.over |= self.leaving;
                vec![Effect::Keep(self.sheet.flags.clone())]
            }
            Err(reason) => {
                self.leaving = false;
                self.say(Tone::Lost, format!("NOT WRITTEN: {reason}"));
                Vec::new()
            }
        }
    }

    fn mouse(&mut self, mouse: Mouse) {
        let layout = self.layout();
        match mouse.kind {
            MouseKind::ScrollUp => self.step(-isize::try_from(layout.columns).unwrap_or(1)),
            MouseKind::ScrollDown => self.step(isize::try_from(layout.columns).unwrap_or(1)),
            MouseKind::Press => {
                let Some(at) = layout.cell_at(mouse.column, mouse.row) else { return };
                if at == self.cursor {
                    self.mark();
                    self.cursor = at;
                } else {
                    self.cursor = at;
                }
            }
            MouseKind::Drag => {}
        }
    }

    fn leave(&mut self) {
        if self.sheet.flags.is_unwritten() && !self.leaving {
            self.leaving = true;
        } else {
            self.over = true;
        }
    }

    fn apply(&mut self, msg: Msg) -> Vec<Effect> {
        if !matches!(
            msg,
            Msg::Picture(_)
                | Msg::Learned(_)
                | Msg::Kept(_)
                | Msg::Written(_)
                | Msg::Input(
                    Input::Graphics(_) | Input::Resize { .. } | Input::Text(_) | Input::Tick
                )
        ) {
            self.notice = self.notice.take().filter(|(tone, _)| *tone == Tone::Lost);
        }
        match msg {
            Msg::Move(columns, rows) => {
                let wide = isize::try_from(self.layout().columns).unwrap_or(1);
                self.step(columns + rows * wide);
            }
            Msg::Page(by) => self.page(by),
            Msg::End(last) => self.step(if last { isize::MAX } else { isize::MIN }),
            Msg::Mark => self.mark(),
            Msg::Range => self.range(),
            Msg::Group => self.group(),
            Msg::All => {
                self.marked.extend(self.shown.iter().copied());
                self.say(Tone::Done, format!("{} marked", self.marked.len()));
            }
            Msg::Unmark => {
                self.marked.clear();
                self.anchor = None;
            }
            Msg::Choose(choosing) => self.choosing = choosing && !self.chosen().is_empty(),
            Msg::Kind(kind) => return self.choose(kind),
            Msg::Undo(back) => return self.undo(back),
            Msg::Order => {
                self.order = (self.order + 1) % ORDERS.len();
                self.select();
            }
            Msg::Shown => {
                self.filter = (self.filter + 1) % SHOWN.len();
                self.select();
            }
            Msg::Name => self.text = Some((Text::Name, TextInput::new(&self.wanted_name))),
            Msg::Size(larger) => {
                let last = layout::SIZES.len() - 1;
                self.size =
                    if larger { (self.size + 1).min(last) } else { self.size.saturating_sub(1) };
                self.alone = false;
                self.follow();
            }
            Msg::Alone => {
                self.alone = !self.alone && self.here().is_some();
                self.follow();
            }
            Msg::Write => return self.write(),
            Msg::Leave => self.leave(),
            Msg::LeaveAnyway => self.over = true,
            Msg::Stay => self.leaving = false,
            Msg::Input(Input::Text(key)) => return self.typed(key),
            Msg::Input(Input::Paste(text)) => {
                if let Some((_, input)) = &mut self.text {
                    input.paste(&text);
                }
            }
            Msg::Input(Input::Mouse(mouse)) => self.mouse(mouse),
            Msg::Input(Input::Resize { width, height }) => {
                self.area = Rect::new(0, 0, width, height);
                self.follow();
            }
            Msg::Input(Input::Tick) => {}
            Msg::Input(Input::Graphics(canvas)) => {
                self.canvas = canvas;
                for view in self.pictures.values_mut() {
                    view.set_canvas(canvas);
                }
            }
            Msg::Picture(answer) => {
                if let Some(view) = self.pictures.get_mut(&answer.id) {
                    view.accept(answer);
                }
            }
            Msg::Learned(found) => {
                self.sheet.learn(found);
                self.select();
            }
            Msg::Kept(kept) => {
                self.unkept = kept.is_err();
                if let Err(reason) = kept {
                    self.say(Tone::Lost, format!("NOT KEPT: {reason}"));
                }
            }
            Msg::Written(found) => return self.wrote(found),
        }
        Vec::new()
    }

    /// Views of exactly the pictures on the screen, and requests for those that are not there yet, in the
    /// order in which they stand.
    fn ask_for_pictures(&mut self) -> Option<Effect> {
        let layout = self.layout();
        let rendition = if self.alone { WHOLE } else { SMALL };
        let mut wanted = Vec::new();
        for (at, cell) in layout.cells(self.cursor) {
            let Some(place) = self.shown.get(at) else { continue };
            let id = picture_id(self.sheet.entries()[*place].id, rendition);
            wanted.push((id, cell.picture));
        }
        let ids: BTreeSet<PictureId> = wanted.iter().map(|(id, ..)| *id).collect();
        self.pictures.retain(|id, _| ids.contains(id));
        let mut asks = false;
        for (id, area) in &wanted {
            let canvas = self.canvas;
            let view = self.pictures.entry(*id).or_insert_with(|| {
                let mut view = PictureView::default();
                view.set_canvas(canvas);
                view
            });
            // Its name is in the caption.
            view.show(*id, "picture", Vec::new());
            view.set_area(*area);
            asks |= view.request().is_some();
        }
        asks.then(|| {
            let views = wanted.iter().filter_map(|(id, ..)| self.pictures.get(id));
            Effect::Pictures(views.filter_map(|view| view.unanswered().cloned()).collect())
        })
    }
}

/// The kit's name of a picture.
pub(in crate::sighted) fn picture_id(id: FixtureId, rendition: u8) -> PictureId {
    PictureId { content: *id.as_bytes(), rendition }
}

impl Screen for ContactSheet {
    type Msg = Msg;
    type Effect = Effect;

    fn update(&mut self, msg: Msg, _now: Duration) -> Vec<Effect> {
        let mut effects = self.apply(msg);
        effects.extend(self.ask_for_pictures());
        effects
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, look: &Look) {
        view::draw(self, frame, area, look);
    }

    fn keymap(&self) -> &KeyMap<Msg> {
        &self.keys
    }

    fn mode(&self) -> Modes {
        match (self.leaving, self.choosing) {
            (true, _) => LEAVING,
            (_, true) => CHOOSING,
            _ => BROWSING,
        }
    }

    fn is_finished(&self) -> bool {
        self.over
    }

    fn takes_text(&self) -> bool {
        self.text.is_some()
    }

    fn input(&self, input: Input) -> Option<Msg> {
        Some(Msg::Input(input))
    }

    fn leave(&self) -> Option<Msg> {
        // The flags are kept already.
        None
    }

    fn picture_token(&self) -> u64 {
        // A picture lies where the one before it lay, unless the page is another.
        let alone = if self.alone { self.cursor + 1 } else { 0 };
        let page = (self.first_row * 31 + self.size) * 31 + alone;
        let list = (self.order * 31 + self.filter) * 31 + self.shown.len();
        (page as u64).wrapping_mul(1_000_003).wrapping_add(list as u64)
    }
}
