//! A list with a cursor, a window and a filter. Only the rows in the window are ever made.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear};

use super::text::{fit_middle, popup, width};
use crate::tui::theme::{Role, Theme};

/// Cursor and window of a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ListState {
    /// The row the cursor is on.
    pub cursor: usize,
    /// Rows of the list.
    pub len: usize,
}

impl ListState {
    /// A list of `len` rows, the cursor on the first.
    pub fn new(len: usize) -> Self {
        Self { cursor: 0, len }
    }

    /// Another length; the cursor stays as near as it can.
    pub fn set_len(&mut self, len: usize) {
        self.len = len;
        self.cursor = self.cursor.min(len.saturating_sub(1));
    }

    /// Moves the cursor, stopping at the ends.
    pub fn step(&mut self, rows: isize) {
        let last = self.len.saturating_sub(1);
        self.cursor = self.cursor.saturating_add_signed(rows).min(last);
    }

    /// Moves the cursor to a row, or the nearest there is.
    pub fn go_to(&mut self, row: usize) {
        self.cursor = row.min(self.len.saturating_sub(1));
    }

    /// First row of a window of `height` rows in which the cursor is near the middle.
    pub fn first_row(&self, height: usize) -> usize {
        let wanted = self.cursor.saturating_sub(height / 2);
        wanted.min(self.len.saturating_sub(height))
    }

    /// The list row under a screen row of `area`.
    pub fn row_at(&self, area: Rect, screen_row: u16) -> Option<usize> {
        if screen_row < area.y || screen_row >= area.bottom() {
            return None;
        }
        let row = self.first_row(usize::from(area.height)) + usize::from(screen_row - area.y);
        (row < self.len).then_some(row)
    }

    /// Draws the rows in the window. `row` makes one; it is asked for visible rows only. The cursor's row
    /// begins with `>` and is reversed, so it is seen without colour.
    pub fn render<'a>(
        &self,
        area: Rect,
        buffer: &mut Buffer,
        theme: Theme,
        mut row: impl FnMut(usize) -> Line<'a>,
    ) {
        let height = usize::from(area.height);
        let first = self.first_row(height);
        for (offset, index) in (first..self.len).take(height).enumerate() {
            let y = area.y + u16::try_from(offset).unwrap_or(0);
            let is_cursor = index == self.cursor;
            let mark = if is_cursor { ">" } else { " " };
            buffer.set_stringn(area.x, y, mark, usize::from(area.width), Style::new());
            let room = area.width.saturating_sub(2);
            if room > 0 {
                buffer.set_line(area.x + 2, y, &row(index), room);
            }
            if is_cursor {
                let whole = Rect { y, height: 1, ..area };
                buffer.set_style(whole, theme.style(Role::Selected));
            }
        }
    }
}

/// A list to choose from, in a frame in the middle of `area`. Long rows are cut in the middle.
pub fn render_menu(
    list: &ListState,
    title: &str,
    rows: &[String],
    frame: &mut Frame<'_>,
    area: Rect,
    theme: Theme,
) {
    let cells = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
    let widest = rows.iter().map(|row| width(row)).max().unwrap_or(0).max(width(title));
    // Two for the frame and two for the mark of the cursor.
    let area = popup(area, cells(widest + 4), cells(rows.len() + 2));
    frame.render_widget(Clear, area);
    let block = Block::bordered().title(title.to_owned());
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let columns = usize::from(inner.width.saturating_sub(2));
    list.render(inner, frame.buffer_mut(), theme, |row| {
        Line::from(rows.get(row).map(|row| fit_middle(row, columns)).unwrap_or_default())
    });
}

/// Whether `text` holds every word of `filter`, in any order, upper and lower case alike.
pub fn matches(text: &str, filter: &str) -> bool {
    let text = text.to_lowercase();
    filter.to_lowercase().split_whitespace().all(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_stays_inside_list_and_window() {
        let mut list = ListState::new(100);
        list.step(-5);
        assert_eq!(list.cursor, 0);
        list.step(1000);
        assert_eq!(list.cursor, 99);
        assert_eq!(list.first_row(10), 90);
        list.go_to(50);
        assert_eq!(list.first_row(10), 45);
        list.set_len(3);
        assert_eq!((list.cursor, list.first_row(10)), (2, 0));
        list.set_len(0);
        assert_eq!((list.cursor, list.first_row(0)), (0, 0));
        assert_eq!(ListState::new(5).row_at(Rect::new(0, 2, 9, 3), 3), Some(1));
        assert_eq!(ListState::new(5).row_at(Rect::new(0, 2, 9, 3), 5), None);
    }

    #[test]
    fn only_visible_rows_are_made() {
        let mut list = ListState::new(10_000);
        list.go_to(5_000);
        let area = Rect::new(0, 0, 10, 4);
        let mut buffer = Buffer::empty(area);
        let mut made = Vec::new();
        list.render(area, &mut buffer, Theme::MONO, |index| {
            made.push(index);
            Line::from(format!("row {index}"))
        });
        assert_eq!(made, [4998, 4999, 5000, 5001]);
        assert_eq!(buffer.cell((0, 2)).map(ratatui::buffer::Cell::symbol), Some(">"));
    }

    #[test]
    fn filter_words_in_any_order() {
        assert!(matches("Plastic bottle, vanished", "VANISHED plastic"));
        assert!(matches("anything", ""));
        assert!(!matches("Plastic bottle", "can"));
    }
}
