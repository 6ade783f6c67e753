//! A one-line text field. While it has the keyboard the key map is not asked.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::text::{fit, width};
use crate::domain::escape::escape;
use crate::tui::keymap::{Code, Key};

/// Longest text, in characters.
const MAX_LENGTH: usize = 2000;

/// Text with a cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextInput {
    text: Vec<char>,
    cursor: usize,
}

/// What a key did to a text field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edit {
    /// The text or the cursor changed, or nothing happened.
    Going,
    /// Enter: the text is meant.
    Done,
    /// Esc: forget it.
    Cancelled,
}

impl TextInput {
    /// A field holding `text`, the cursor at its end.
    pub fn new(text: &str) -> Self {
        let text: Vec<char> = text.chars().take(MAX_LENGTH).collect();
        Self { cursor: text.len(), text }
    }

    /// The text.
    pub fn text(&self) -> String {
        self.text.iter().collect()
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Applies a key.
    pub fn key(&mut self, key: Key) -> Edit {
        match key.code {
            Code::Enter => return Edit::Done,
            Code::Esc => return Edit::Cancelled,
            Code::Left => self.cursor = self.cursor.saturating_sub(1),
            Code::Right => self.cursor = (self.cursor + 1).min(self.text.len()),
            Code::Home => self.cursor = 0,
            Code::End => self.cursor = self.text.len(),
            Code::Char('a') if key.ctrl => self.cursor = 0,
            Code::Char('e') if key.ctrl => self.cursor = self.text.len(),
            Code::Char('u') if key.ctrl => {
                self.text.drain(..self.cursor);
                self.cursor = 0;
            }
            Code::Char('w') if key.ctrl => self.delete_word(),
            Code::Backspace if self.cursor > 0 => {
                self.cursor -= 1;
                self.text.remove(self.cursor);
            }
            Code::Delete if self.cursor < self.text.len() => {
                self.text.remove(self.cursor);
            }
            _ => {
                if let Some(character) = key.typed() {
                    self.insert(character);
                }
            }
        }
        Edit::Going
    }

    /// Takes pasted text: line ends become spaces, other control characters go.
    pub fn paste(&mut self, text: &str) {
        for character in text.chars() {
            if matches!(character, '\n' | '\r' | '\t') {
                self.insert(' ');
            } else if !character.is_control() {
                self.insert(character);
            }
        }
    }

    fn insert(&mut self, character: char) {
        if self.text.len() < MAX_LENGTH {
            self.text.insert(self.cursor, character);
            self.cursor += 1;
        }
    }

    fn delete_word(&mut self) {
        let end = self.cursor;
        while self.cursor > 0 && self.text[self.cursor - 1] == ' ' {
            self.cursor -= 1;
        }
        while self.cursor > 0 && self.text[self.cursor - 1] != ' ' {
            self.cursor -= 1;
        }
        self.text.drain(self.cursor..end);
    }

    /// Draws it on the first row of `area`, scrolled so that the cursor is seen. `prompt` comes before it.
    pub fn render(&self, prompt: &str, area: Rect, buffer: &mut Buffer) {
        if area.width == 0 || area.height == 0 {
            return;
        }
        let row = Rect { height: 1, ..area };
        let blank = " ".repeat(usize::from(area.width));
        buffer.set_stringn(row.x, row.y, &blank, blank.len(), Style::new());
        let columns = usize::from(area.width);
        // What is typed matters more than what was asked, once there is room for a word of it.
        let prompt = fit(prompt, (columns / 2).max(columns.saturating_sub(12)));
        let prompt_columns = width(&prompt);
        buffer.set_stringn(
            row.x,
            row.y,
            prompt,
            prompt_columns,
            Style::new().add_modifier(Modifier::BOLD),
        );
        let room = columns - prompt_columns;
        let shown: Vec<String> = self
            .text
            .iter()
            .map(|character| escape(character.encode_utf8(&mut [0; 4])).into_owned())
            .collect();
        let mut first = self.cursor;
        let mut used = 1;
        while first > 0 && used + width(&shown[first - 1]) <= room {
            first -= 1;
            used += width(&shown[first]);
        }
        let mut x = row.x + u16::try_from(prompt_columns).unwrap_or(0);
        for (index, text) in shown[first..].iter().chain([&" ".to_owned()]).enumerate() {
            let columns = u16::try_from(width(text)).unwrap_or(0);
            if x + columns > row.right() {
                break;
            }
            let style = if first + index == self.cursor {
                Style::new().add_modifier(Modifier::REVERSED)
            } else {
                Style::new()
            };
            buffer.set_string(x, row.y, text, style);
            x += columns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(input: &mut TextInput, keys: &str) -> Edit {
        keys.split_whitespace()
            .map(|text| input.key(Key::parse(text).expect(text)))
            .last()
            .unwrap_or(Edit::Going)
    }

    #[test]
    fn editing() {
        let mut input = TextInput::default();
        keys(&mut input, "h e l o left l end space y o u");
        assert_eq!(input.text(), "hello you");
        keys(&mut input, "ctrl-w");
        assert_eq!(input.text(), "hello ");
        keys(&mut input, "home delete backspace ctrl-e backspace");
        assert_eq!(input.text(), "ello");
        assert_eq!(keys(&mut input, "enter"), Edit::Done);
        assert_eq!(keys(&mut input, "esc"), Edit::Cancelled);
        keys(&mut input, "ctrl-u");
        assert!(input.is_empty());
    }

    #[test]
    fn paste_cannot_act_and_cannot_hide() {
        let mut input = TextInput::new("a");
        input.paste("y\n\u{1b}[2J\u{7f}z");
        assert_eq!(input.text(), "ay [2Jz");
    }

    #[test]
    fn the_cursor_is_always_seen() {
        for columns in 0..12_u16 {
            for cursor in 0..8 {
                let mut input = TextInput::new("abc垃\u{202e}fg");
                input.cursor = cursor.min(input.text.len());
                let area = Rect::new(0, 0, columns, 1);
                let mut buffer = Buffer::empty(area);
                input.render("note ", area, &mut buffer);
                if columns >= 4 && cursor != 3 && cursor != 4 {
                    assert!(
                        buffer
                            .content
                            .iter()
                            .any(|cell| cell.modifier.contains(Modifier::REVERSED)),
                        "{columns} columns, cursor {cursor}"
                    );
                }
            }
        }
    }
}
