//! The review screen: one picture, what moved in it, and what a person says of it.
//!
//! ```text
//! review  3 of 50 pictures  change 1 of 2  5 of 61 decided  worst first
//! Equal totals (202, 202) hide 112 changed decisions in 50 pictures.
//! ┌ picture ──────────────────────────────┐ list of the picture's changes
//! │                                       │ ────
//! │                                       │ both sides: class, confidence against the threshold
//! └───────────────────────────────────────┘ verdict, note
//! saved
//! a reference right  d candidate right  b both …  ? help
//! ```
//!
//! State and update are pure: reports are read, pictures made and verdicts written elsewhere, and come
//! back as messages.

mod act;
mod keys;
mod layout;
mod panel;
mod place;
mod view;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::Rect;

use crate::domain::shard::RaterName;
use crate::sighted::review::desk::Desk;
use crate::sighted::review::material::Material;
use crate::sighted::review::queue::Filter;
use crate::sighted::review::recorder::Reply;
use crate::sighted::review::tally::HELD_BACK;
use crate::sighted::review::verdict::ReviewEvent;
use crate::sighted::runs::verdicts::{LoggedEvent, ledger_of};
use crate::tui::keymap::{KeyMap, Modes};
use crate::tui::picture::PictureId;
use crate::tui::picture::view::PictureView;
use crate::tui::picture::worker::{Answer, Request};
use crate::tui::screen::{Input, Look, Mouse, Screen};
use crate::tui::theme::Role;
use crate::tui::widgets::input::TextInput;
use crate::tui::widgets::list::ListState;

pub(in crate::sighted) use act::Act;
pub use place::Place;

/// What can happen to the screen.
#[derive(Debug, Clone)]
pub(in crate::sighted) enum Msg {
    /// A key's action.
    Act(Act),
    /// A key or pasted text for the text field.
    Input(Input),
    /// The report was read, or cannot be. Its pictures can be asked for.
    Loaded(Box<Result<Material, String>>),
    /// The run that is going on found more. All its pictures can be asked for.
    Grown(Arc<Material>),
    /// The writer said something.
    Recorded(Reply),
    /// A picture is ready.
    Picture(Answer),
    /// A change was copied: whether the clipboard was offered it, and what became of the file.
    Copied(bool, Result<(), String>),
}

/// What others must do.
#[allow(clippy::large_enum_variant, reason = "few exist at a time, and most are the large one")]
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) enum Effect {
    /// Make these pictures.
    Pictures(Vec<Request>),
    /// Write this; the reply names the number.
    Write(u64, ReviewEvent),
    /// Give this text to the clipboard and to a file.
    Copy(String),
}

/// Whose boxes are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) enum Shows {
    /// Both sides' in one picture.
    Both,
    /// The reference's, or the left side's.
    First,
    /// The candidate's, or the right side's.
    Second,
    /// One after the other.
    Blink,
    /// Two pictures side by side.
    SideBySide,
}

/// What has the keyboard.
#[derive(Debug, Clone, PartialEq)]
enum Mode {
    Browse,
    /// A list to choose from.
    Menu(Menu, ListState),
    /// A text field.
    Prompt(Prompt, TextInput),
    /// The tally lies over the screen.
    Tally,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Menu {
    Verdict,
    Flag,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prompt {
    Note,
    Jump,
    Filter,
}

/// A line for the reviewer.
#[derive(Debug, Clone, PartialEq)]
struct Notice {
    text: String,
    role: Role,
}

/// How a review begins.
#[derive(Debug, Clone)]
pub(in crate::sighted) struct Start {
    /// Who reviews.
    pub reviewer: RaterName,
    /// New for every sitting.
    pub seed: u64,
    /// Which side is which is not shown.
    pub hidden_sides: bool,
    /// The picture to begin with: part of a name or hash.
    pub at: Option<String>,
    /// Where the person was when they left this review before.
    pub place: Option<Place>,
}

/// The state.
pub(in crate::sighted) struct ReviewScreen {
    start: Start,
    /// None until report and log were read.
    desk: Option<Desk>,
    material: Option<Result<Arc<Material>, String>>,
    log: Option<Vec<LoggedEvent>>,
    read_only: Option<String>,
    size: (u16, u16),
    pictures: [PictureView; 2],
    shows: Shows,
    blink_second: bool,
    model_input: bool,
    all_boxes: bool,
    /// The view follows the change under the cursor, which was last framed so.
    zoomed: bool,
    framed: Option<(PictureId, Option<usize>)>,
    mode: Mode,
    notice: Option<Notice>,
    next_ticket: u64,
    /// The verdict being written, and whether its ack moves on.
    saving: Option<(u64, bool)>,
    unsaved: Vec<(u64, ReviewEvent)>,
    /// Written since the start.
    saved: u64,
    drag_from: Option<(u16, u16)>,
    live: bool,
    warned_unsaved: bool,
    finished: bool,
    keys: KeyMap<Msg>,
}

impl ReviewScreen {
    /// A screen that waits for its report and its log.
    pub(in crate::sighted) fn new(start: Start) -> Self {
        let keys = keys::keymap(start.hidden_sides);
        Self {
            start,
            desk: None,
            material: None,
            log: None,
            read_only: None,
            size: (80, 24),
            pictures: [PictureView::default(), PictureView::default()],
            shows: Shows::Both,
            blink_second: false,
            model_input: false,
            all_boxes: false,
            zoomed: false,
            framed: None,
            mode: Mode::Browse,
            notice: None,
            next_ticket: 1,
            saving: None,
            unsaved: Vec::new(),
            saved: 0,
            drag_from: None,
            live: false,
            warned_unsaved: false,
            finished: false,
            keys,
        }
    }

    /// Whether the picture that is wanted is there, or that it cannot be.
    pub(in crate::sighted) fn shows_its_picture(&self) -> bool {
        let [first, _] = &self.pictures;
        first.unanswered().is_none() && first.id().is_some()
    }

    /// Events that never reached the disk.
    pub(in crate::sighted) fn unsaved(&self) -> usize {
        self.unsaved.len() + usize::from(self.saving.is_some())
    }

    /// Something lies over the picture.
    fn is_covered(&self) -> bool {
        let is_line = |prompt: &Prompt| *prompt != Prompt::Filter;
        !matches!(&self.mode, Mode::Browse)
            && !matches!(&self.mode, Mode::Prompt(prompt, _) if is_line(prompt))
    }

    fn say(&mut self, role: Role, text: impl Into<String>) {
        self.notice = Some(Notice { text: text.into(), role });
    }

    /// Sits down once both the report and the log are there.
    fn begin(&mut self) -> Vec<Effect> {
        if self.desk.is_some() {
            return Vec::new();
        }
        let (Some(Ok(material)), Some(log)) = (&self.material, &self.log) else {
            return Vec::new();
        };
        let ledger = ledger_of(log, &self.start.reviewer);
        let mut desk =
            Desk::new(Arc::clone(material), ledger, self.start.seed, self.start.hidden_sides);
        if let Some(place) = self.start.place.take() {
            self.go_back_to(&place, &mut desk);
        }
        let mut not_found = None;
        if let Some(at) = &self.start.at {
            if desk.queue.look_up(&desk.material, at).is_none() && !desk.queue.filter.is_empty() {
                // Who asks for a picture wants to see it, whatever was filtered before.
                desk.queue.filter = Filter::default();
                desk.rebuild();
            }
            match desk.queue.look_up(&desk.material, at) {
                Some(place) => desk.queue.go_to(place),
                None => not_found = Some(at.clone()),
            }
        }
        let opened = desk.opened();
        self.material = None;
        self.desk = Some(desk);
        if let Some(at) = not_found {
            let at = crate::domain::escape::escape(&at).into_owned();
            self.say(Role::Warning, format!("nothing in the queue is called {at}"));
        }
        let mut effects = self.write(opened);
        effects.extend(self.arrive());
        effects
    }

    fn loaded(&mut self, material: Result<Material, String>) -> Vec<Effect> {
        self.material = Some(material.map(Arc::new));
        self.begin()
    }

    /// The run found more: the queue grows, the place stays.
    fn grown(&mut self, material: Arc<Material>) -> Vec<Effect> {
        let was_live = std::mem::replace(&mut self.live, material.report.is_none());
        match &mut self.desk {
            Some(desk) => {
                let was_empty = desk.queue.item().is_none();
                desk.grow(material);
                if was_live && !self.live {
                    self.say(Role::Good, "the run is finished: this is its report");
                }
                if was_empty {
                    self.arrive()
                } else if was_live != self.live {
                    // The report's totals may bring a line above the picture, which moves it.
                    self.refresh()
                } else {
                    Vec::new()
                }
            }
            None => {
                self.material = Some(Ok(material));
                self.begin()
            }
        }
    }

    fn recorded(&mut self, reply: Reply) -> Vec<Effect> {
        match reply {
            Reply::Opened { events, read_only } => {
                if let Some(reason) = &read_only {
                    self.say(Role::Bad, format!("read only, nothing will be saved: {reason}"));
                }
                self.read_only = read_only;
                self.log = Some(events);
                self.begin()
            }
            Reply::Saved { ticket } => {
                self.saved += 1;
                self.unsaved.retain(|(other, _)| *other != ticket);
                match self.saving {
                    Some((saving, advance)) if saving == ticket => {
                        self.saving = None;
                        if advance { self.go_on() } else { Vec::new() }
                    }
                    _ => Vec::new(),
                }
            }
            Reply::Waiting { .. } => {
                self.say(Role::Warning, "waiting: another process is writing to runs.db");
                Vec::new()
            }
            Reply::Failed { ticket, reason, fatal } => {
                if self.saving.is_some_and(|(saving, _)| saving == ticket) {
                    self.saving = None;
                }
                if self.read_only.is_none() {
                    let retry = if fatal { "" } else { " (ctrl-s retries)" };
                    self.say(Role::Bad, format!("NOT SAVED{retry}: {reason}"));
                }
                if fatal {
                    self.read_only = Some(reason);
                }
                Vec::new()
            }
        }
    }

    /// Hands an event to the writer.
    fn write(&mut self, event: ReviewEvent) -> Vec<Effect> {
        if self.read_only.is_some() {
            return Vec::new();
        }
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.unsaved.push((ticket, event.clone()));
        vec![Effect::Write(ticket, event)]
    }

    /// After the cursor moved: the look is recorded, boxes and picture follow.
    fn arrive(&mut self) -> Vec<Effect> {
        let seen = self.seen_kind();
        let looked = self.desk.as_mut().and_then(|desk| {
            let fixture = desk.material.images[desk.queue.image()?].fixture;
            let is_new = desk.ledger.last_seen(desk.material.comparison) != Some(fixture)
                || !desk.ledger.has_seen(desk.material.comparison, fixture, seen);
            if is_new { desk.look(seen) } else { None }
        });
        let mut effects = looked.map_or_else(Vec::new, |event| self.write(event));
        effects.extend(self.refresh());
        effects
    }

    /// To the next open item, or to the tally when there is none.
    fn go_on(&mut self) -> Vec<Effect> {
        let Some(desk) = &mut self.desk else { return Vec::new() };
        let found = desk.queue.go_to_undecided(&desk.material, &desk.ledger, false);
        match (found, self.live) {
            (true, _) => {}
            (false, true) => {
                self.say(Role::Faint, "everything found so far has a verdict; the run goes on");
            }
            (false, false) => self.show_tally(),
        }
        self.arrive()
    }

    /// The tally, unless it would tell which side is which.
    fn show_tally(&mut self) {
        match self.desk.as_ref().map(Desk::tally) {
            Some(Some(_)) => self.mode = Mode::Tally,
            Some(None) => self.say(Role::Warning, HELD_BACK),
            None => {}
        }
    }
}

impl Screen for ReviewScreen {
    type Msg = Msg;
    type Effect = Effect;

    fn update(&mut self, msg: Msg, _now: Duration) -> Vec<Effect> {
        match msg {
            Msg::Loaded(material) => self.loaded(*material),
            Msg::Grown(material) => self.grown(material),
            Msg::Recorded(reply) => self.recorded(reply),
            Msg::Picture(answer) => {
                let [first, second] = &mut self.pictures;
                if !first.accept(answer.clone()) {
                    second.accept(answer);
                }
                // A turned picture puts the box it is zoomed to somewhere else.
                let viewport = first.viewport();
                second.set_viewport(viewport);
                self.ask_for_pictures()
            }
            Msg::Copied(offered, written) => {
                match written {
                    Ok(()) if offered => {
                        self.say(
                            Role::Good,
                            "copied, if the terminal lets us; also in sessions/copied-change.json",
                        );
                    }
                    Ok(()) => self.say(Role::Good, "written to sessions/copied-change.json"),
                    Err(reason) => self.say(Role::Bad, format!("not copied: {reason}")),
                }
                Vec::new()
            }
            Msg::Act(act) => self.act(act),
            Msg::Input(input) => self.take_input(input),
        }
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, look: &Look) {
        view::render(self, frame, area, look);
    }

    fn keymap(&self) -> &KeyMap<Msg> {
        &self.keys
    }

    fn mode(&self) -> Modes {
        match self.mode {
            Mode::Browse => match &self.desk {
                None => keys::WAITING,
                Some(desk) if desk.item().is_none() => keys::EMPTY,
                Some(_) => keys::BROWSE,
            },
            Mode::Menu(Menu::Verdict, _) => keys::MENU,
            Mode::Menu(Menu::Flag, _) => keys::FLAGS,
            Mode::Prompt(..) => keys::PROMPT,
            Mode::Tally => keys::TALLY,
        }
    }

    fn is_finished(&self) -> bool {
        self.finished
    }

    fn takes_text(&self) -> bool {
        matches!(self.mode, Mode::Prompt(..))
    }

    fn input(&self, input: Input) -> Option<Msg> {
        match input {
            // Pasted text goes into a text field and nowhere else.
            Input::Paste(_) if !self.takes_text() => None,
            Input::Tick if self.shows != Shows::Blink => None,
            other => Some(Msg::Input(other)),
        }
    }

    fn leave(&self) -> Option<Msg> {
        Some(Msg::Act(Act::Leave))
    }

    fn tick_every(&self) -> Option<Duration> {
        (self.shows == Shows::Blink).then_some(Duration::from_millis(700))
    }

    fn picture_token(&self) -> u64 {
        self.pictures[0]
            .token()
            .wrapping_mul(31)
            .wrapping_add(self.pictures[1].token())
            .wrapping_add(u64::from(self.is_covered()))
    }
}

/// A mouse event in a rectangle: its column and row.
fn inside(mouse: &Mouse, area: Rect) -> bool {
    area.contains((mouse.column, mouse.row).into())
}
