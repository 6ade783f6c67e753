//! What a screen is: state with a pure update, a view that only reads, and its keys.
//!
//! Message and effect types belong to each screen, so nothing can travel from one screen to another
//! through a shared enum.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Alignment, Rect};
use ratatui::widgets::{Clear, Paragraph, Wrap};

use super::help::Help;
use super::keymap::{Key, KeyMap, Modes};
use super::picture::Canvas;
use super::theme::Theme;

/// Narrowest and lowest terminal a screen is drawn in.
pub const MIN_SIZE: (u16, u16) = (40, 12);

/// How to draw: given to every view, owned by the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Colours or not.
    pub theme: Theme,
    /// What pictures are drawn on.
    pub canvas: Canvas,
    /// Something lies over the screen: pictures made of pixels must not be drawn.
    pub covered: bool,
}

impl Look {
    /// Blocks, as tests and dumps draw.
    pub fn plain(theme: Theme) -> Self {
        let canvas = if theme.is_mono() { Canvas::MONO } else { Canvas::PLAIN };
        Self { theme, canvas, covered: false }
    }
}

/// What reaches a screen besides its own messages: everything the key map does not handle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A key while [`Screen::takes_text`]; the key map is not asked then.
    Text(Key),
    /// Pasted text. It never acts: only a text field may take it.
    Paste(String),
    /// The mouse.
    Mouse(Mouse),
    /// The terminal has another size now.
    Resize {
        /// Columns.
        width: u16,
        /// Rows.
        height: u16,
    },
    /// [`Screen::tick_every`] has passed.
    Tick,
    /// What pictures are drawn on, at the start and whenever it changes.
    Graphics(Canvas),
}

/// A mouse event in cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mouse {
    /// What happened.
    pub kind: MouseKind,
    /// Column, from 0.
    pub column: u16,
    /// Row, from 0.
    pub row: u16,
}

/// What the mouse did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MouseKind {
    /// Left button down.
    Press,
    /// Moved with the left button down.
    Drag,
    /// Wheel away from the person.
    ScrollUp,
    /// Wheel towards the person.
    ScrollDown,
}

/// One screen.
pub trait Screen {
    /// What can happen to it. Key bindings carry values of this.
    type Msg: Clone;
    /// What it wants done by somebody else: reads, writes, pictures.
    type Effect;

    /// Applies a message. Pure but for `self`: no clock, no file, no terminal. `now` is the time since the
    /// program began, and never goes back.
    fn update(&mut self, msg: Self::Msg, now: Duration) -> Vec<Self::Effect>;

    /// Draws the state into `area`. Must not panic at any size.
    fn view(&self, frame: &mut Frame<'_>, area: Rect, look: &Look);

    /// The keys.
    fn keymap(&self) -> &KeyMap<Self::Msg>;

    /// The one mode it is in: decides which bindings work.
    fn mode(&self) -> Modes {
        Modes::only(0)
    }

    /// True once the loop should end.
    fn is_finished(&self) -> bool;

    /// True while a text field has the keyboard.
    fn takes_text(&self) -> bool {
        false
    }

    /// The message for something that is not in the key map; `None` ignores it.
    fn input(&self, _input: Input) -> Option<Self::Msg> {
        None
    }

    /// The message for control-C and for a signal that ends the program, sent before the loop ends.
    /// `None` ends it at once.
    fn leave(&self) -> Option<Self::Msg> {
        None
    }

    /// How often [`Input::Tick`] comes; `None` for never, which costs nothing while idle.
    fn tick_every(&self) -> Option<Duration> {
        None
    }

    /// Changes whenever pixels that a former picture left on the screen must be wiped.
    fn picture_token(&self) -> u64 {
        0
    }
}

/// Draws a screen as the loop does: too small, view, help on top.
pub fn draw<S: Screen>(screen: &S, help: &Help, frame: &mut Frame<'_>, look: &Look) {
    let area = frame.area();
    if area.width < MIN_SIZE.0 || area.height < MIN_SIZE.1 {
        too_small(frame, area);
        return;
    }
    let look = Look { covered: look.covered || help.is_open(), ..*look };
    screen.view(frame, area, &look);
    help.render(screen.keymap(), screen.mode(), frame, area, look.theme);
}

fn too_small(frame: &mut Frame<'_>, area: Rect) {
    let text = format!(
        "{}x{} is too small: {}x{} needed. Keys still work.",
        area.width, area.height, MIN_SIZE.0, MIN_SIZE.1
    );
    frame.render_widget(Clear, area);
    frame.render_widget(
        Paragraph::new(text).wrap(Wrap { trim: true }).alignment(Alignment::Left),
        area,
    );
}
