//! Keys as data: which keys do what, when, and in which words.
//!
//! A binding has several keys, a stable kebab-case name, words for the help page, and the modes it works
//! in. A screen is in one mode at a time, so two bindings clash exactly when they share a key and a
//! mode; [`KeyMap::problems`] finds that, digit-only actions and reserved keys before anybody else does.

use std::fmt;
use std::ops::BitOr;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// One key with its modifiers. Shift is part of the character, as it is on the keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Which key.
    pub code: Code,
    /// Control is held.
    pub ctrl: bool,
    /// Alt is held.
    pub alt: bool,
}

/// A key without modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "named after the key caps")]
pub enum Code {
    Char(char),
    Enter,
    Esc,
    Tab,
    BackTab,
    Backspace,
    Delete,
    Insert,
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    PageUp,
    PageDown,
    F(u8),
}

/// Names of keys that are not characters.
const NAMES: [(&str, Code); 17] = [
    ("space", Code::Char(' ')),
    ("enter", Code::Enter),
    ("esc", Code::Esc),
    ("tab", Code::Tab),
    ("shift-tab", Code::BackTab),
    ("backspace", Code::Backspace),
    ("delete", Code::Delete),
    ("insert", Code::Insert),
    ("left", Code::Left),
    ("right", Code::Right),
    ("up", Code::Up),
    ("down", Code::Down),
    ("home", Code::Home),
    ("end", Code::End),
    ("page-up", Code::PageUp),
    ("page-down", Code::PageDown),
    ("f1", Code::F(1)),
];

impl Key {
    /// A key without modifiers.
    pub const fn plain(code: Code) -> Self {
        Self { code, ctrl: false, alt: false }
    }

    /// A character key.
    pub const fn char(character: char) -> Self {
        Self::plain(Code::Char(character))
    }

    /// A character key with control held.
    pub const fn ctrl(character: char) -> Self {
        Self { code: Code::Char(character), ctrl: true, alt: false }
    }

    /// Reads `j`, `?`, `space`, `ctrl-r`, `alt-left`, `f5`.
    pub fn parse(text: &str) -> Option<Self> {
        let (mut rest, mut ctrl, mut alt) = (text, false, false);
        loop {
            if let Some(after) = rest.strip_prefix("ctrl-").filter(|after| !after.is_empty()) {
                (rest, ctrl) = (after, true);
            } else if let Some(after) = rest.strip_prefix("alt-").filter(|after| !after.is_empty())
            {
                (rest, alt) = (after, true);
            } else {
                break;
            }
        }
        let mut characters = rest.chars();
        let code = match (characters.next(), characters.next()) {
            (Some(character), None) if !character.is_whitespace() && !character.is_control() => {
                Code::Char(character)
            }
            _ => match NAMES.iter().find(|(name, _)| *name == rest) {
                Some((_, code)) => *code,
                None => {
                    Code::F(rest.strip_prefix('f')?.parse().ok().filter(|n| (1..=24).contains(n))?)
                }
            },
        };
        Some(Self { code, ctrl, alt })
    }

    /// The key of a terminal event; `None` for releases and keys no binding can name.
    pub fn from_event(event: &KeyEvent) -> Option<Self> {
        if event.kind == KeyEventKind::Release {
            return None;
        }
        let shift = event.modifiers.contains(KeyModifiers::SHIFT);
        let code = match event.code {
            KeyCode::Char(character) if shift => {
                Code::Char(character.to_uppercase().next().unwrap_or(character))
            }
            KeyCode::Char(character) => Code::Char(character),
            KeyCode::Enter => Code::Enter,
            KeyCode::Esc => Code::Esc,
            KeyCode::Tab if shift => Code::BackTab,
            KeyCode::Tab => Code::Tab,
            KeyCode::BackTab => Code::BackTab,
            KeyCode::Backspace => Code::Backspace,
            KeyCode::Delete => Code::Delete,
            KeyCode::Insert => Code::Insert,
            KeyCode::Left => Code::Left,
            KeyCode::Right => Code::Right,
            KeyCode::Up => Code::Up,
            KeyCode::Down => Code::Down,
            KeyCode::Home => Code::Home,
            KeyCode::End => Code::End,
            KeyCode::PageUp => Code::PageUp,
            KeyCode::PageDown => Code::PageDown,
            KeyCode::F(number) => Code::F(number),
            _ => return None,
        };
        Some(Self {
            code,
            ctrl: event.modifiers.contains(KeyModifiers::CONTROL),
            alt: event.modifiers.contains(KeyModifiers::ALT),
        })
    }

    /// The character this key types, if it types one.
    pub fn typed(self) -> Option<char> {
        match self.code {
            Code::Char(character) if !self.ctrl && !self.alt => Some(character),
            _ => None,
        }
    }

    fn is_digit(self) -> bool {
        matches!(self.code, Code::Char('0'..='9'))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ctrl {
            formatter.write_str("ctrl-")?;
        }
        if self.alt {
            formatter.write_str("alt-")?;
        }
        if let Some((name, _)) = NAMES.iter().find(|(_, code)| *code == self.code) {
            return formatter.write_str(name);
        }
        match self.code {
            Code::Char(character) => write!(formatter, "{character}"),
            Code::F(number) => write!(formatter, "f{number}"),
            // Every other code has a name above.
            _ => Ok(()),
        }
    }
}

/// A set of modes of a screen. A screen is in exactly one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modes(u32);

impl Modes {
    /// Every mode.
    pub const ALL: Self = Self(u32::MAX);

    /// Mode number `index`, 0..=31.
    pub const fn only(index: u8) -> Self {
        Self(1 << index)
    }

    /// Whether the two sets share a mode.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Modes {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// One action and its keys.
#[derive(Debug, Clone)]
pub struct Binding<M> {
    /// The keys, most natural first.
    pub keys: Vec<Key>,
    /// Stable name, kebab case; what a configuration or a test calls it.
    pub name: &'static str,
    /// What it does, for the help page.
    pub help: &'static str,
    /// One or two words for the hint bar; empty keeps it out of there.
    pub hint: &'static str,
    /// Modes it works in.
    pub modes: Modes,
    /// What the screen is told.
    pub msg: M,
}

/// Keys that belong to the kit in every screen.
pub const RESERVED: [(&str, &str, &str); 6] = [
    ("?", "help", "show or hide this page; type to filter it"),
    ("ctrl-g", "graphics", "draw pictures in the next possible way"),
    ("f10", "mouse", "mouse on or off; off lets the terminal select text"),
    ("ctrl-l", "redraw", "draw everything again"),
    ("ctrl-z", "suspend", "back to the shell; `fg` returns"),
    ("ctrl-c", "leave", "leave; nothing that was saved is lost"),
];

/// The keys of one screen.
#[derive(Debug, Clone)]
pub struct KeyMap<M> {
    bindings: Vec<Binding<M>>,
    faults: Vec<String>,
}

impl<M> Default for KeyMap<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M> KeyMap<M> {
    /// No keys yet.
    pub const fn new() -> Self {
        Self { bindings: Vec::new(), faults: Vec::new() }
    }

    /// Adds an action. `keys` is a list separated by spaces, as in `"j down"`; `hint` may be empty.
    #[must_use]
    pub fn bind(
        mut self,
        modes: Modes,
        keys: &str,
        name: &'static str,
        hint: &'static str,
        help: &'static str,
        msg: M,
    ) -> Self {
        let keys = self.parse(keys, name);
        self.bindings.push(Binding { keys, name, help, hint, modes, msg });
        self
    }

    /// Gives an action other keys. An unknown name or key becomes one of [`Self::problems`].
    #[must_use]
    pub fn rebind(mut self, name: &str, keys: &str) -> Self {
        let keys = self.parse(keys, name);
        match self.bindings.iter_mut().find(|binding| binding.name == name) {
            Some(binding) => binding.keys = keys,
            None => self.faults.push(format!("no action is called {name}")),
        }
        self
    }

    fn parse(&mut self, keys: &str, name: &str) -> Vec<Key> {
        keys.split_whitespace()
            .filter_map(|text| {
                let key = Key::parse(text);
                if key.is_none() {
                    self.faults.push(format!("{name}: {text} is not a key"));
                }
                key
            })
            .collect()
    }

    /// The action `key` has in `mode`.
    pub fn lookup(&self, mode: Modes, key: Key) -> Option<&Binding<M>> {
        self.bindings
            .iter()
            .find(|binding| binding.modes.meets(mode) && binding.keys.contains(&key))
    }

    /// The action of that name.
    pub fn by_name(&self, name: &str) -> Option<&Binding<M>> {
        self.bindings.iter().find(|binding| binding.name == name)
    }

    /// Actions that work in `mode`, in the order they were bound.
    pub fn in_mode(&self, mode: Modes) -> impl Iterator<Item = &Binding<M>> {
        self.bindings.iter().filter(move |binding| binding.modes.meets(mode))
    }

    /// All actions.
    pub fn all(&self) -> &[Binding<M>] {
        &self.bindings
    }

    /// Everything wrong with the map, one sentence each; a test asserts that there is nothing.
    pub fn problems(&self) -> Vec<String> {
        let mut found = self.faults.clone();
        let reserved: Vec<Key> =
            RESERVED.iter().filter_map(|(text, ..)| Key::parse(text)).collect();
        for (index, binding) in self.bindings.iter().enumerate() {
            let name = binding.name;
            if binding.keys.is_empty() {
                found.push(format!("{name} has no key"));
            } else if binding.keys.iter().all(|key| key.is_digit()) {
                found.push(format!("{name} can be reached by digits only"));
            }
            if binding.help.is_empty() {
                found.push(format!("{name} has no help"));
            }
            if !name.chars().all(|character| character.is_ascii_lowercase() || character == '-') {
                found.push(format!("{name} is not kebab case"));
            }
            for key in &binding.keys {
                if reserved.contains(key) {
                    found.push(format!("{name} takes {key}, which is reserved"));
                }
            }
            for other in &self.bindings[..index] {
                if other.name == name {
                    found.push(format!("two actions are called {name}"));
                }
                if !other.modes.meets(binding.modes) {
                    continue;
                }
                for key in binding.keys.iter().filter(|key| other.keys.contains(key)) {
                    found.push(format!("{key} means both {} and {name}", other.name));
                }
            }
        }
        #[cfg(test)]
        found.extend(super::help::unlisted(self));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Key {
        Key::parse(text).expect(text)
    }

    #[test]
    fn keys_print_and_parse_back() {
        for text in
            ["j", "?", "G", "space", "ctrl-r", "alt-left", "f5", "page-down", "shift-tab", "-"]
        {
            assert_eq!(key(text).to_string(), text);
        }
        for bad in ["", "jj", "ctrl-", "f0", "f99", "\u{1b}", "hyper-x"] {
            assert_eq!(Key::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn shift_is_part_of_the_character() {
        let event = |code, modifiers| Key::from_event(&KeyEvent::new(code, modifiers));
        assert_eq!(event(KeyCode::Char('g'), KeyModifiers::SHIFT), Some(key("G")));
        assert_eq!(event(KeyCode::Char('G'), KeyModifiers::SHIFT), Some(key("G")));
        assert_eq!(event(KeyCode::Tab, KeyModifiers::SHIFT), Some(key("shift-tab")));
        let release =
            KeyEvent::new_with_kind(KeyCode::Char('a'), KeyModifiers::NONE, KeyEventKind::Release);
        assert_eq!(Key::from_event(&release), None);
    }

    #[test]
    fn a_binding_works_in_its_modes_only() {
        let (list, zoom) = (Modes::only(0), Modes::only(1));
        let map = KeyMap::new()
            .bind(list, "j down", "next", "next", "next row", 1)
            .bind(zoom, "j down", "pan-down", "", "pan down", 2)
            .bind(list | zoom, "q", "quit", "quit", "quit", 3);
        assert_eq!(map.lookup(list, key("down")).map(|binding| binding.msg), Some(1));
        assert_eq!(map.lookup(zoom, key("j")).map(|binding| binding.msg), Some(2));
        assert_eq!(map.lookup(zoom, key("q")).map(|binding| binding.msg), Some(3));
        assert_eq!(map.problems(), Vec::<String>::new());
    }

    #[test]
    fn every_problem_is_found() {
        let (a, b) = (Modes::only(0), Modes::only(1));
        let map = KeyMap::new()
            .bind(a, "j", "one", "", "one", ())
            .bind(a | b, "k j", "two", "", "two", ())
            .bind(b, "1 2", "digits", "", "digits", ())
            .bind(b, "jj", "Bad_Name", "", "", ())
            .bind(b, "?", "mine", "", "mine", ())
            .bind(b, "x", "one", "", "again", ())
            .rebind("nobody", "y");
        let problems = map.problems().join("\n");
        for expected in [
            "j means both one and two",
            "digits can be reached by digits only",
            "Bad_Name: jj is not a key",
            "Bad_Name has no key",
            "Bad_Name has no help",
            "Bad_Name is not kebab case",
            "mine takes ?, which is reserved",
            "two actions are called one",
            "no action is called nobody",
        ] {
            assert!(problems.contains(expected), "{expected} not in:\n{problems}");
        }
    }

    #[test]
    fn other_keys_can_be_given() {
        let map =
            KeyMap::new().bind(Modes::ALL, "j", "next", "", "next", 1).rebind("next", "n down");
        assert!(map.lookup(Modes::ALL, key("j")).is_none());
        assert_eq!(map.lookup(Modes::ALL, key("n")).map(|binding| binding.msg), Some(1));
        assert_eq!(map.problems(), Vec::<String>::new());
    }
}
