//! What a rater sees, and what its keys do. Shows the picture, the questions, and how many are left.
//!
//! It has no name, path, source or number of a picture to show, and none is drawn.

use std::time::Duration;

use crossbeam_channel::unbounded;
use ratatui::Frame;
use ratatui::layout::Rect;

use crate::domain::digest::FixtureId;
use crate::domain::shard::Showing;
use crate::media::orientation::Orientation;
use crate::store::clock::Clock;
use crate::store::fixtures::PixelSource;
use crate::store::label_file::SeenAs;
use crate::tui::event_loop;
use crate::tui::keymap::{Key, KeyMap, Modes};
use crate::tui::picture::view::PictureView;
use crate::tui::picture::worker::{Answer, PictureWorker, Request};
use crate::tui::picture::{Canvas, Method, Picture, PictureId, PictureSource};
use crate::tui::screen::{Input, Look, Mouse, MouseKind, Screen};
use crate::tui::session::{Options, Session};
use crate::tui::widgets::input::{Edit, TextInput};

use super::journal::{Journal, News};
use super::screen_keys::{CHOOSING, MARKING, change, keymap};
use super::screen_layout::Layout;
use super::screen_view;
use super::sitting::{Ask, Order, Sitting};

/// A question the cursor can be on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// Litter or clean.
    Presence,
    /// One category.
    Category(usize),
    /// How sure.
    Certainty,
    /// What kind of picture.
    Photograph,
    /// Free text.
    Note,
}

/// A text that can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Text {
    /// The note.
    Note,
    /// The reason for leaving a picture out.
    Skip,
}

/// What can happen to the screen.
#[derive(Debug, Clone)]
pub(super) enum Msg {
    Ask(Ask),
    Choose(bool),
    Change(Option<Field>),
    Cursor(isize),
    Edit(Text),
    Input(Input),
    Zoom(bool),
    ZoomAll,
    Pan(f64, f64),
    Alone,
    Picture(Answer),
    News(News),
    Leave,
}

/// What it wants done.
#[derive(Debug)]
pub(super) enum Effect {
    Append(Order),
    Picture(Request),
}

/// The state.
pub(super) struct LabelScreen<'a> {
    sitting: &'a mut Sitting,
    rater: String,
    leaves: Vec<Vec<String>>,
    keys: KeyMap<Msg>,
    picture: PictureView,
    canvas: Canvas,
    area: Rect,
    cursor: Field,
    choosing: bool,
    alone: bool,
    text: Option<(Text, TextInput)>,
    drag: Option<(u16, u16)>,
    nearest: f64,
    now: Duration,
    still: bool,
}

impl<'a> LabelScreen<'a> {
    pub(super) fn new(
        sitting: &'a mut Sitting,
        rater: String,
        leaves: Vec<Vec<String>>,
        clock: Clock,
    ) -> Self {
        let keys = keymap(sitting.groups().len());
        let mut screen = Self {
            sitting,
            rater,
            leaves,
            keys,
            picture: PictureView::default(),
            canvas: Canvas::PLAIN,
            area: Rect::ZERO,
            cursor: Field::Presence,
            choosing: false,
            alone: false,
            text: None,
            drag: None,
            nearest: 1.0,
            now: Duration::ZERO,
            still: matches!(clock, Clock::Fixed(_)),
        };
        screen.show();
        screen
    }

    pub(super) fn sitting(&self) -> &Sitting {
        self.sitting
    }

    pub(super) fn rater(&self) -> &str {
        &self.rater
    }

    pub(super) fn leaves(&self) -> &[Vec<String>] {
        &self.leaves
    }

    pub(super) fn keys(&self) -> &KeyMap<Msg> {
        &self.keys
    }

    pub(super) fn picture(&self) -> &PictureView {
        &self.picture
    }

    pub(super) fn cursor(&self) -> Field {
        self.cursor
    }

    pub(super) fn editing(&self) -> Option<&(Text, TextInput)> {
        self.text.as_ref()
    }

    pub(super) fn now(&self) -> Duration {
        self.now
    }

    pub(super) fn mode_now(&self) -> Modes {
        if self.choosing { CHOOSING } else { MARKING }
    }

    pub(super) fn layout(&self, area: Rect) -> Layout {
        Layout::new(area, self.sitting.groups().len(), self.alone, self.cursor)
    }

    /// Puts the sitting's picture into the view.
    fn show(&mut self) {
        let Some(showing) = self.sitting.showing() else { return };
        let id = picture_id(showing);
        if self.picture.id() != Some(id) {
            self.nearest = 1.0;
            self.drag = None;
            self.cursor = Field::Presence;
        }
        let next = self.sitting.upcoming().into_iter().map(picture_id).collect();
        self.picture.show(id, "the picture", next);
    }

    /// Is there something to judge: the picture, or the reason why there is none?
    fn is_seen(&self) -> bool {
        self.canvas.method == Method::None
            || self.picture.shown().is_some()
            || self.picture.refusal().is_some()
    }

    fn seen_as(&self) -> Option<SeenAs> {
        let stamp = self.picture.stamp()?;
        Some(SeenAs {
            protocol: stamp.method.name().to_owned(),
            cells: [stamp.cells.0.into(), stamp.cells.1.into()],
            pixels: [stamp.pixels.0, stamp.pixels.1],
            zoom: self.nearest.max(stamp.zoom),
        })
    }

    fn ask(&mut self, ask: Ask) -> Vec<Effect> {
        self.choosing = false;
        // An answer to a picture that is not there yet would be an answer to the one before.
        let marks =
            !matches!(ask, Ask::Back | Ask::Forward | Ask::FirstUnanswered | Ask::Undo | Ask::Redo);
        if marks && !self.is_seen() {
            return Vec::new();
        }
        let order = self.sitting.ask(ask, self.seen_as(), self.now);
        self.show();
        order.map(Effect::Append).into_iter().collect()
    }

    fn fields(&self) -> Vec<Field> {
        let categories = (0..self.sitting.groups().len()).map(Field::Category);
        std::iter::once(Field::Presence)
            .chain(categories)
            .chain([Field::Certainty, Field::Photograph, Field::Note])
            .collect()
    }

    fn move_cursor(&mut self, rows: isize) {
        let fields = self.fields();
        let at = fields.iter().position(|field| *field == self.cursor).unwrap_or(0);
        let to = at.saturating_add_signed(rows).min(fields.len() - 1);
        self.cursor = fields[to];
        self.sitting.clear_notice();
    }

    fn typed(&mut self, key: Key) -> Vec<Effect> {
        let Some((text, input)) = &mut self.text else { return Vec::new() };
        let (text, edit, written) = (*text, input.key(key), input.text());
        match edit {
            Edit::Going => return Vec::new(),
            Edit::Cancelled => self.text = None,
            Edit::Done => {
                self.text = None;
                return self.ask(match text {
                    Text::Note => Ask::Note(written),
                    Text::Skip => Ask::Skip(written),
                });
            }
        }
        Vec::new()
    }

    fn mouse(&mut self, mouse: Mouse) -> Vec<Effect> {
        let layout = self.layout(self.area);
        let at = (mouse.column, mouse.row);
        let over_picture = layout.picture.contains(at.into());
        match mouse.kind {
            MouseKind::ScrollUp if over_picture => self.zoom(true),
            MouseKind::ScrollDown if over_picture => self.zoom(false),
            MouseKind::Press if over_picture => self.drag = Some(at),
            MouseKind::Press => {
                self.drag = None;
                if let Some((field, rect)) = layout.field_at(mouse.column, mouse.row) {
                    return self.click(field, rect, mouse.column);
                }
            }
            MouseKind::Drag => {
                if let (Some(from), Some(placed)) = (self.drag, self.picture.placed(layout.picture))
                {
                    let share = |from: u16, to: u16, length: u16| {
                        (f64::from(from) - f64::from(to)) / f64::from(length.max(1))
                    };
                    let across = share(from.0, at.0, placed.width);
                    let down = share(from.1, at.1, placed.height);
                    self.picture.pan(across, down);
                    self.drag = Some(at);
                }
            }
            MouseKind::ScrollUp | MouseKind::ScrollDown => {}
        }
        Vec::new()
    }

    /// A click on one of several choices takes that one; on anything else it changes the answer.
    fn click(&mut self, field: Field, rect: Rect, column: u16) -> Vec<Effect> {
        use crate::domain::label::{Certainty, Presence};
        self.cursor = field;
        let third = (column - rect.x) * 3 / rect.width.max(1);
        match field {
            Field::Presence => {
                let litter = (column - rect.x) * 2 < rect.width;
                let chosen = if litter { Presence::Litter } else { Presence::Clean };
                self.ask(Ask::Presence(chosen))
            }
            Field::Certainty => {
                let chosen = Certainty::ALL[usize::from(third.min(2))];
                self.ask(Ask::Certainty(chosen))
            }
            other => self.change(other),
        }
    }

    fn change(&mut self, field: Field) -> Vec<Effect> {
        match change(field, self.sitting.draft()) {
            Some(msg) => self.apply(msg),
            None => Vec::new(),
        }
    }

    fn zoom(&mut self, nearer: bool) {
        self.picture.zoom(nearer);
        self.nearest = self.nearest.max(self.picture.viewport().zoom);
    }

    fn edit(&mut self, text: Text) {
        if self.sitting.closed().is_some() || !self.is_seen() {
            return;
        }
        let written = match text {
            Text::Note => self.sitting.draft().note.clone(),
            Text::Skip => String::new(),
        };
        self.text = Some((text, TextInput::new(&written)));
    }

    fn apply(&mut self, msg: Msg) -> Vec<Effect> {
        match msg {
            Msg::Ask(ask) => return self.ask(ask),
            Msg::Choose(choosing) => {
                self.choosing = choosing && self.sitting.closed().is_none() && self.is_seen();
            }
            Msg::Change(field) => return self.change(field.unwrap_or(self.cursor)),
            Msg::Cursor(rows) => self.move_cursor(rows),
            Msg::Edit(text) => self.edit(text),
            Msg::Input(Input::Text(key)) => return self.typed(key),
            Msg::Input(Input::Paste(text)) => {
                if let Some((_, input)) = &mut self.text {
                    input.paste(&text);
                }
            }
            Msg::Zoom(nearer) => self.zoom(nearer),
            Msg::ZoomAll => self.picture.set_viewport(Default::default()),
            Msg::Pan(across, down) => self.picture.pan(across, down),
            Msg::Alone => self.alone = !self.alone,
            Msg::Input(Input::Mouse(mouse)) => return self.mouse(mouse),
            Msg::Input(Input::Resize { width, height }) => {
                self.area = Rect::new(0, 0, width, height);
            }
            Msg::Input(Input::Graphics(canvas)) => {
                self.canvas = canvas;
                self.picture.set_canvas(canvas);
            }
            Msg::Picture(answer) => {
                self.picture.accept(answer);
            }
            Msg::News(news) => {
                self.sitting.hear(news, self.now);
                self.show();
            }
            Msg::Input(Input::Tick) => {}
            Msg::Leave => self.sitting.leave(),
        }
        Vec::new()
    }
}

fn picture_id(showing: Showing) -> PictureId {
    PictureId { content: *showing.fixture.as_bytes(), rendition: 0 }
}

impl Screen for LabelScreen<'_> {
    type Msg = Msg;
    type Effect = Effect;

    fn update(&mut self, msg: Msg, now: Duration) -> Vec<Effect> {
        self.now = if self.still { Duration::ZERO } else { now };
        let mut effects = self.apply(msg);
        let layout = self.layout(self.area);
        self.picture.set_area(layout.picture);
        effects.extend(self.picture.request().map(Effect::Picture));
        effects
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, look: &Look) {
        screen_view::draw(self, frame, area, look);
    }

    fn keymap(&self) -> &KeyMap<Msg> {
        &self.keys
    }

    fn mode(&self) -> Modes {
        self.mode_now()
    }

    fn is_finished(&self) -> bool {
        self.sitting.is_over()
    }

    fn takes_text(&self) -> bool {
        self.text.is_some()
    }

    fn input(&self, input: Input) -> Option<Msg> {
        Some(Msg::Input(input))
    }

    fn leave(&self) -> Option<Msg> {
        Some(Msg::Leave)
    }

    fn tick_every(&self) -> Option<Duration> {
        // Only the words about a slow save change by themselves.
        self.sitting.is_saving().then_some(Duration::from_millis(500))
    }

    fn picture_token(&self) -> u64 {
        self.picture.token()
    }
}

/// Pixels by id for the picture worker.
struct Pixels(PixelSource);

impl PictureSource for Pixels {
    fn load(&self, id: &PictureId) -> Result<Picture, String> {
        let upright = self.0.picture(FixtureId::from_bytes(id.content))?;
        Ok(Picture {
            pixels: upright.picture,
            // No box is ever drawn here, so nothing needs to be turned with it.
            orientation: Orientation::default(),
        })
    }
}

/// Takes the terminal and labels until the rater leaves; the signal that ended it, if one did.
pub(super) fn run(
    sitting: &mut Sitting,
    rater: String,
    options: Options,
    leaves: Vec<Vec<String>>,
    pixels: PixelSource,
    clock: Clock,
    start: impl FnOnce(Box<dyn Fn(News) + Send>) -> std::io::Result<Option<Journal>>,
) -> std::io::Result<Option<i32>> {
    let mut session = Session::open(options)?;
    let (sender, answers) = unbounded();
    let (news, refused) = (sender.clone(), sender.clone());
    let journal = start(Box::new(move |told| drop(news.send(Msg::News(told)))))?;
    let worker = PictureWorker::start(Pixels(pixels), move |answer| {
        // After the end nobody listens.
        let _ = sender.send(Msg::Picture(answer));
    })?;
    let mut screen = LabelScreen::new(sitting, rater, leaves, clock);
    let ended = session.run(&mut screen, &answers, |effect| match effect {
        Effect::Picture(request) => worker.request(request),
        Effect::Append(order) => {
            let ticket = order.ticket;
            let taken = journal
                .as_ref()
                .is_some_and(|journal| journal.append(ticket, order.event, order.changes));
            if !taken {
                let reason = "the writer has ended".to_owned();
                let _ = refused.send(Msg::News(News::Failed { ticket, reason, fatal: true }));
            }
        }
    })?;
    drop(session);
    // What was still on its way is finished or given up now; either is heard.
    drop(journal);
    for msg in answers.try_iter() {
        if let Msg::News(news) = msg {
            sitting.hear(news, Duration::ZERO);
        }
    }
    Ok(match ended {
        event_loop::Ended::Signal(number) => Some(number),
        event_loop::Ended::Finished | event_loop::Ended::Left => None,
    })
}
