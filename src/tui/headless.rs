//! Draws without a terminal: for tests, for `--render WxH`, for documents and bug reports.
//!
//! The text shows what a mono terminal shows; the style grid below it makes attributes and colours
//! visible, one letter a cell, with a legend.

use std::fmt::Write as _;

use ratatui::Frame;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

use super::help::Help;
use super::screen::{self, Look, Screen};
use super::widgets::text::width;

/// A drawn frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dump {
    /// The characters, one line a row, without trailing spaces.
    pub text: String,
    /// One letter a cell for its style, then a legend. `.` is the terminal's own style, `#` a cell of a
    /// picture.
    pub styles: String,
    /// The cells themselves.
    pub buffer: Buffer,
}

impl Dump {
    /// Text and styles in one, for a snapshot in colour.
    pub fn with_styles(&self) -> String {
        format!("{}\n{}", self.text, self.styles)
    }
}

/// Draws a screen at `columns` x `rows`.
pub fn draw<S: Screen>(screen: &S, columns: u16, rows: u16, look: &Look) -> Dump {
    draw_with(columns, rows, |frame| screen::draw(screen, &Help::default(), frame, look))
}

/// Draws anything at `columns` x `rows`.
pub fn draw_with(columns: u16, rows: u16, view: impl FnOnce(&mut Frame<'_>)) -> Dump {
    let mut terminal = match Terminal::new(TestBackend::new(columns, rows)) {
        Ok(terminal) => terminal,
        Err(impossible) => match impossible {},
    };
    match terminal.draw(view) {
        Ok(_) => {}
        Err(impossible) => match impossible {},
    }
    dump(terminal.backend().buffer())
}

/// A buffer as text and styles.
pub fn dump(buffer: &Buffer) -> Dump {
    let area = buffer.area;
    let mut text = String::new();
    let mut grid = String::new();
    let mut legend: Vec<String> = Vec::new();
    for y in area.top()..area.bottom() {
        let mut line = String::new();
        let mut styles = String::new();
        let mut covered = 0;
        for x in area.left()..area.right() {
            let Some(cell) = buffer.cell((x, y)) else { continue };
            styles.push(letter(cell, &mut legend));
            if covered > 0 {
                covered -= 1;
                continue;
            }
            line.push_str(cell.symbol());
            covered = width(cell.symbol()).saturating_sub(1);
        }
        let _ = writeln!(text, "{}", line.trim_end());
        let _ = writeln!(grid, "{}", styles.trim_end_matches('.'));
    }
    for (index, style) in legend.iter().enumerate() {
        let _ = writeln!(grid, "{} {style}", name(index));
    }
    Dump { text, styles: grid, buffer: buffer.clone() }
}

fn letter(cell: &Cell, legend: &mut Vec<String>) -> char {
    let is_rgb = |colour| matches!(colour, Color::Rgb(..));
    if is_rgb(cell.fg) || is_rgb(cell.bg) {
        return '#';
    }
    let mut words = Vec::new();
    if cell.fg != Color::Reset {
        words.push(format!("fg {}", cell.fg));
    }
    if cell.bg != Color::Reset {
        words.push(format!("bg {}", cell.bg));
    }
    if cell.modifier != Modifier::empty() {
        words.push(format!("{:?}", cell.modifier).to_lowercase());
    }
    if words.is_empty() {
        return '.';
    }
    let description = words.join(", ");
    let index = legend.iter().position(|known| *known == description).unwrap_or_else(|| {
        legend.push(description);
        legend.len() - 1
    });
    name(index)
}

fn name(index: usize) -> char {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    LETTERS.get(index).map_or('?', |letter| char::from(*letter))
}

/// A size and a palette in which every screen is looked at, for snapshots.
#[cfg(test)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shot {
    /// Columns and rows.
    pub(crate) size: (u16, u16),
    /// Colours or none.
    pub(crate) look: Look,
}

#[cfg(test)]
impl Shot {
    /// All of them.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        use super::theme::Theme;
        let sizes = [(40, 12), (80, 24), (120, 40)];
        sizes.into_iter().flat_map(|size| {
            [Theme::MONO, Theme::COLOUR].map(|theme| Self { size, look: Look::plain(theme) })
        })
    }

    /// What a screen is told first: the size, and what pictures are drawn on.
    pub(crate) fn inputs(self) -> [screen::Input; 2] {
        use super::picture::Canvas;
        let (width, height) = self.size;
        let canvas = if self.look.theme.is_mono() { Canvas::MONO } else { Canvas::PLAIN };
        [screen::Input::Resize { width, height }, screen::Input::Graphics(canvas)]
    }

    /// The name of a snapshot of `what`.
    pub(crate) fn name(self, what: &str) -> String {
        let palette = if self.look.theme.is_mono() { "mono" } else { "colour" };
        format!("{what}_{}x{}_{palette}", self.size.0, self.size.1)
    }

    /// The screen, with styles where there are colours.
    pub(crate) fn of<S: Screen>(self, screen: &S) -> String {
        self.text(draw(screen, self.size.0, self.size.1, &self.look))
    }

    /// The screen under its help, in which `filter` was typed.
    pub(crate) fn of_help<S: Screen>(self, screen: &S, filter: &str) -> String {
        let mut help = Help::default();
        help.open();
        filter.chars().for_each(|letter| help.key(super::keymap::Key::char(letter)));
        let (columns, rows) = self.size;
        self.text(draw_with(columns, rows, |frame| screen::draw(screen, &help, frame, &self.look)))
    }

    fn text(self, dump: Dump) -> String {
        if self.look.theme.is_mono() { dump.text } else { dump.with_styles() }
    }
}

/// The message of a key, as the loop finds it: a text field's, or the key map's.
#[cfg(test)]
pub(crate) fn msg_of<S: Screen>(screen: &S, name: &str) -> S::Msg {
    use super::keymap::Key;
    let key = Key::parse(name).expect(name);
    let msg = if screen.takes_text() {
        screen.input(screen::Input::Text(key))
    } else {
        screen.keymap().lookup(screen.mode(), key).map(|binding| binding.msg.clone())
    };
    msg.unwrap_or_else(|| panic!("{name} does nothing"))
}

/// A picture as a worker would send it: made up, and another for every id.
#[cfg(test)]
pub(crate) fn made_up(request: &super::picture::worker::Request) -> super::picture::worker::Answer {
    use super::picture::{Picture, worker};
    use crate::media::{orientation::Orientation, pixels::RgbImage};
    let shade = request.id.content[0];
    let pixels = RgbImage::from_fn(64, 48, |_, y| {
        [shade.wrapping_add(u8::try_from(y * 3).expect("small")); 3]
    });
    let picture = Picture { pixels, orientation: Orientation::default() };
    let shown = worker::encode(&picture, request).map(std::sync::Arc::new);
    worker::Answer { generation: request.generation, id: request.id, shown }
}

#[cfg(test)]
mod tests {
    use ratatui::style::Style;
    use ratatui::text::{Line, Span};

    use super::*;

    #[test]
    fn text_and_styles_are_both_visible() {
        let dump = draw_with(8, 2, |frame| {
            let line = Line::from(vec![
                Span::raw("a"),
                Span::styled("b", Style::new().reversed()),
                Span::raw("垃c"),
            ]);
            frame.render_widget(line, frame.area());
        });
        assert_eq!(dump.text, "ab垃c\n\n");
        assert_eq!(dump.styles, ".a\n\na reversed\n");
    }
}
