//! The help page and the hint bar, both made from the live key map.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};

use super::keymap::{Binding, Code, Key, KeyMap, Modes, RESERVED};
use super::theme::{Role, Theme};
use super::widgets::text::{fit, width, wrap};

/// State of the help page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Help {
    open: bool,
    filter: String,
    first_row: usize,
}

impl Help {
    /// Whether it covers the screen.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Opens it with no filter.
    pub fn open(&mut self) {
        *self = Self { open: true, ..Self::default() };
    }

    /// A key while it is open: typing filters, arrows scroll, Esc, Enter or `?` closes.
    pub fn key(&mut self, key: Key) {
        match key.code {
            Code::Esc | Code::Enter | Code::Char('?') => self.open = false,
            Code::Down => self.first_row += 1,
            Code::Up => self.first_row = self.first_row.saturating_sub(1),
            Code::PageDown => self.first_row += 10,
            Code::PageUp => self.first_row = self.first_row.saturating_sub(10),
            Code::Backspace => {
                self.filter.pop();
                self.first_row = 0;
            }
            _ => {
                if let Some(character) = key.typed().filter(|_| self.filter.len() < 40) {
                    self.filter.push(character);
                    self.first_row = 0;
                }
            }
        }
    }

    /// Draws it over the screen, if it is open.
    pub fn render<M>(
        &self,
        map: &KeyMap<M>,
        mode: Modes,
        frame: &mut Frame<'_>,
        area: Rect,
        theme: Theme,
    ) {
        if !self.open {
            return;
        }
        let rows = rows(map, mode, &self.filter);
        let inner_height = usize::from(area.height.saturating_sub(2));
        let inner_width = usize::from(area.width.saturating_sub(4));
        let most = (inner_width / 3).min(24);
        let key_width = rows.iter().map(|row| width(&row.keys)).max().unwrap_or(0).min(most);
        let lines: Vec<Line<'_>> =
            rows.iter().flat_map(|row| row.lines(key_width, inner_width, theme)).collect();
        let first = self.first_row.min(lines.len().saturating_sub(inner_height));
        let shown: Vec<Line<'_>> = if rows.is_empty() {
            vec![Line::from("no action matches; backspace widens the filter")]
        } else {
            lines[first..].iter().take(inner_height).cloned().collect()
        };
        let title = if self.filter.is_empty() {
            " keys: type to filter, esc closes ".to_owned()
        } else {
            format!(" keys with \"{}\" ({} of {}) ", self.filter, rows.len(), total(map, mode))
        };
        let below = lines.len().saturating_sub(first + inner_height);
        let footer = if below > 0 { format!(" {below} more below ") } else { String::new() };
        let block = Block::bordered().title(title).title_bottom(footer);
        frame.render_widget(Clear, area);
        frame.render_widget(Paragraph::new(shown).block(block.clone()), {
            let mut inner = area;
            inner.width = inner.width.max(1);
            inner
        });
    }
}

struct HelpRow {
    keys: String,
    help: String,
}

impl HelpRow {
    /// The keys, and beside them the words on as many lines as they need.
    fn lines(&self, key_width: usize, columns: usize, theme: Theme) -> Vec<Line<'static>> {
        let keys = wrap(&self.keys, key_width);
        let words = wrap(&self.help, columns.saturating_sub(key_width + 2).max(1));
        (0..keys.len().max(words.len()))
            .map(|row| {
                let text = |lines: &[String]| lines.get(row).cloned().unwrap_or_default();
                let keys = format!("{:<key_width$}", text(&keys));
                Line::from(vec![
                    Span::styled(keys, theme.style(Role::Key)),
                    Span::raw("  "),
                    Span::raw(text(&words)),
                ])
            })
            .collect()
    }
}

fn total<M>(map: &KeyMap<M>, mode: Modes) -> usize {
    map.in_mode(mode).count() + RESERVED.len()
}

/// Rows of the page: the screen's actions, then the kit's own.
fn rows<M>(map: &KeyMap<M>, mode: Modes, filter: &str) -> Vec<HelpRow> {
    let wanted = filter.to_lowercase();
    let own = map.in_mode(mode).map(|binding| (keys_text(binding), binding.name, binding.help));
    let kit = RESERVED.iter().map(|(key, name, help)| ((*key).to_owned(), *name, *help));
    own.chain(kit)
        .filter(|(keys, name, help)| {
            wanted.is_empty()
                || [keys.as_str(), name, help]
                    .iter()
                    .any(|text| text.to_lowercase().contains(&wanted))
        })
        .map(|(keys, _, help)| HelpRow { keys, help: help.to_owned() })
        .collect()
}

fn keys_text<M>(binding: &Binding<M>) -> String {
    binding.keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Actions that the page of their mode does not list with all keys and words, and listed keys that do
/// something else.
#[cfg(test)]
pub(super) fn unlisted<M>(map: &KeyMap<M>) -> Vec<String> {
    let squeezed = |text: &str| {
        let plain = text.replace(['│', '┌', '└', '─', '┐', '┘'], " ");
        plain.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let mut missing = Vec::new();
    for mode in (0..32).map(Modes::only) {
        if map.in_mode(mode).next().is_none() {
            continue;
        }
        let mut help = Help::default();
        help.open();
        let page = super::headless::draw_with(80, 150, |frame| {
            help.render(map, mode, frame, frame.area(), Theme::MONO);
        });
        let page = squeezed(&page.text);
        for binding in map.in_mode(mode) {
            let row = format!("{} {}", keys_text(binding), binding.help);
            if !page.contains(&squeezed(&row)) {
                missing.push(format!("{} is not listed as {row:?}", binding.name));
            }
            for key in &binding.keys {
                let found = map.lookup(mode, *key).map(|found| found.name);
                if found != Some(binding.name) {
                    missing.push(format!("{key} is listed for {} and is {found:?}", binding.name));
                }
            }
        }
    }
    missing
}

/// One line of hints for the actions of `mode` that have one, as many as fit.
pub fn hint_bar<M>(map: &KeyMap<M>, mode: Modes, columns: u16, theme: Theme) -> Line<'static> {
    HintBar::new(map, mode).line(columns, theme)
}

/// Hints for the actions of a mode. How to leave and `? help` come last, and are there before any other. A
/// mode without actions is that of a text field.
#[derive(Debug)]
pub struct HintBar<'a, M> {
    map: &'a KeyMap<M>,
    hinted: Vec<&'a Binding<M>>,
    mode: Modes,
}

impl<'a, M> HintBar<'a, M> {
    /// Hints of all actions that have one.
    pub fn new(map: &'a KeyMap<M>, mode: Modes) -> Self {
        let hinted = map.in_mode(mode).filter(|binding| !binding.hint.is_empty()).collect();
        Self { map, hinted, mode }
    }

    /// Leaves out the actions whose names are `listed` elsewhere on the screen.
    #[must_use]
    pub fn without(mut self, listed: impl Fn(&str) -> bool) -> Self {
        self.hinted.retain(|binding| !listed(binding.name));
        self
    }

    /// As many as fit in one line.
    pub fn line(&self, columns: u16, theme: Theme) -> Line<'static> {
        let columns = usize::from(columns);
        if self.map.in_mode(self.mode).next().is_none() {
            return Line::from(fit("enter takes it  esc does not", columns));
        }
        let last = "? help";
        let is_way_out = |binding: &&&Binding<M>| binding.keys.contains(&Key::plain(Code::Esc));
        let way_out = self.hinted.iter().find(is_way_out);
        let mut spans = Vec::new();
        let needed = |binding: &Binding<M>| {
            let key = binding.keys.first().map_or(0, |key| width(&key.to_string()));
            key + 1 + width(binding.hint) + 2
        };
        let mut say = |binding: &Binding<M>| {
            if let Some(key) = binding.keys.first() {
                spans.push(Span::styled(key.to_string(), theme.style(Role::Key)));
                spans.push(Span::raw(format!(" {}  ", binding.hint)));
            }
        };
        let way_out = way_out.filter(|binding| needed(binding) + last.len() <= columns);
        let mut used = last.len() + way_out.map_or(0, |binding| needed(binding));
        for binding in self.hinted.iter().filter(|binding| !is_way_out(binding)) {
            if used + needed(binding) <= columns {
                used += needed(binding);
                say(binding);
            }
        }
        if let Some(binding) = way_out {
            say(binding);
        }
        if columns >= last.len() {
            spans.push(Span::styled("?", theme.style(Role::Key)));
            spans.push(Span::raw(" help"));
        }
        Line::from(spans)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::headless;

    fn map() -> KeyMap<u8> {
        KeyMap::new()
            .bind(Modes::ALL, "j down", "next", "next", "go to the next picture", 1)
            .bind(Modes::ALL, "u", "undo", "undo", "take back the last answer", 2)
            .bind(Modes::only(3), "x", "elsewhere", "", "not here", 3)
    }

    fn page(help: &Help) -> String {
        headless::draw_with(50, 14, |frame| {
            help.render(&map(), Modes::only(0), frame, frame.area(), Theme::MONO);
        })
        .text
    }

    #[test]
    fn every_binding_of_the_mode_is_listed_and_no_other() {
        let mut help = Help::default();
        help.open();
        let page = page(&help);
        for expected in ["j down", "go to the next picture", "take back", "ctrl-z"] {
            assert!(page.contains(expected), "{expected}\n{page}");
        }
        assert!(!page.contains("not here"));
    }

    #[test]
    fn typing_filters_and_escape_closes() {
        let mut help = Help::default();
        help.open();
        for character in "undo".chars() {
            help.key(Key::char(character));
        }
        let page = page(&help);
        assert!(page.contains("take back") && !page.contains("next picture"), "{page}");
        assert!(page.contains("1 of 8"), "{page}");
        help.key(Key::plain(Code::Esc));
        assert!(!help.is_open());
    }

    #[test]
    fn what_is_not_listed_is_found() {
        assert_eq!(unlisted(&map()), Vec::<String>::new());
        let twice = map().bind(Modes::only(3), "u", "other", "", "something else", 5);
        let found = unlisted(&twice).join("\n");
        assert!(found.contains("u is listed for other and is Some(\"undo\")"), "{found}");
    }

    #[test]
    fn hints_fit_any_width() {
        for columns in 0..60_u16 {
            let line = hint_bar(&map(), Modes::only(0), columns, Theme::MONO);
            assert!(line.width() <= usize::from(columns), "{columns}: {line}");
        }
        let line = hint_bar(&map(), Modes::only(0), 60, Theme::MONO).to_string();
        assert_eq!(line, "j next  u undo  ? help");
        let map = map().bind(Modes::only(0), "q esc", "quit", "quit", "leave", 4);
        let line = |columns| hint_bar(&map, Modes::only(0), columns, Theme::MONO).to_string();
        assert_eq!(line(30), "j next  u undo  q quit  ? help");
        assert_eq!(line(29), "j next  q quit  ? help", "leaving goes before the rest");
        assert_eq!(line(13), "? help");
    }
}
