//! How states look: glyph and word first, colour last.
//!
//! Mono is the first design, not the fallback: every role differs from its neighbours by a text
//! attribute, and every state by a glyph and a word. Colours are from the 256-colour table, blue and
//! orange instead of green and red, readable on light and on dark.

use ratatui::style::{Color, Modifier, Style};

/// Whether colours may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Palette {
    /// Text attributes only.
    Mono,
    /// Colours as well.
    Colour,
}

/// What a piece of text is on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Body text.
    Normal,
    /// Headings, names.
    Strong,
    /// Less important text.
    Faint,
    /// The cursor's row or the chosen item.
    Selected,
    /// A key in a hint or the help page.
    Key,
    /// The first of two things that are compared: blue.
    First,
    /// The second of two things that are compared: orange.
    Second,
    /// Done, saved, agreed.
    Good,
    /// Wrong, refused, lost.
    Bad,
    /// Needs attention.
    Warning,
}

/// A state as people see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// One cell wide.
    pub glyph: &'static str,
    /// The state's name.
    pub word: &'static str,
    /// Its look.
    pub role: Role,
}

/// The looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// Whether colours are used.
    pub palette: Palette,
}

/// Blue of the 256-colour table: at least 3:1 on white and on black.
pub const BLUE: Color = Color::Indexed(32);
/// Orange of the 256-colour table: at least 3:1 on white and on black.
pub const ORANGE: Color = Color::Indexed(166);
/// Grey of the 256-colour table: at least 3:1 on white and on black.
pub const GREY: Color = Color::Indexed(244);

impl Theme {
    /// Without colour.
    pub const MONO: Self = Self { palette: Palette::Mono };
    /// With colour.
    pub const COLOUR: Self = Self { palette: Palette::Colour };

    /// The theme the environment asks for: mono when `NO_COLOR` holds anything or the terminal is dumb.
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Self {
        let no_colour = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = variable("TERM").is_some_and(|value| value == "dumb");
        if no_colour || dumb { Self::MONO } else { Self::COLOUR }
    }

    /// The style of a role.
    pub fn style(self, role: Role) -> Style {
        let base = Style::new();
        let (attributes, colour) = match role {
            Role::Normal => (Modifier::empty(), None),
            Role::Strong => (Modifier::BOLD, None),
            Role::Faint => (Modifier::DIM, None),
            Role::Selected => (Modifier::REVERSED, None),
            Role::Key => (Modifier::BOLD, Some(BLUE)),
            Role::First => (Modifier::BOLD, Some(BLUE)),
            Role::Second => (Modifier::UNDERLINED, Some(ORANGE)),
            Role::Good => (Modifier::BOLD, Some(BLUE)),
            Role::Bad => (Modifier::BOLD.union(Modifier::UNDERLINED), Some(ORANGE)),
            Role::Warning => (Modifier::BOLD, Some(ORANGE)),
        };
        match (self.palette, colour, role) {
            // Dim is invisible on some light themes; grey is not.
            (Palette::Colour, _, Role::Faint) => base.fg(GREY),
            (Palette::Colour, Some(colour), Role::Second) => base.fg(colour),
            (Palette::Colour, Some(colour), _) => base.fg(colour).add_modifier(attributes),
            (Palette::Colour, None, _) | (Palette::Mono, ..) => base.add_modifier(attributes),
        }
    }

    /// Whether there is no colour.
    pub fn is_mono(self) -> bool {
        self.palette == Palette::Mono
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(colour: Color) -> f64 {
        let Color::Indexed(index) = colour else { panic!("not from the table") };
        let channels = if index >= 232 {
            [8.0 + 10.0 * (f64::from(index) - 232.0); 3]
        } else {
            let index = index - 16;
            let level = |step: u8| if step == 0 { 0.0 } else { 55.0 + 40.0 * f64::from(step) };
            [level(index / 36), level(index / 6 % 6), level(index % 6)]
        };
        let linear = channels.map(|value: f64| {
            let value = value / 255.0;
            if value <= 0.03928 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    }

    #[test]
    fn colours_are_readable_on_light_and_dark() {
        for colour in [BLUE, ORANGE, GREY] {
            let light = 1.05 / (luminance(colour) + 0.05);
            let dark = (luminance(colour) + 0.05) / 0.05;
            assert!(
                light >= 3.0 && dark >= 3.0,
                "{colour:?}: {light:.2} on white, {dark:.2} on black"
            );
        }
    }

    #[test]
    fn roles_that_stand_side_by_side_differ_without_colour() {
        let mono = |role| Theme::MONO.style(role);
        for (one, other) in [
            (Role::First, Role::Second),
            (Role::Selected, Role::Normal),
            (Role::Good, Role::Bad),
            (Role::Normal, Role::Strong),
            (Role::Normal, Role::Faint),
            (Role::Normal, Role::Warning),
        ] {
            assert_ne!(mono(one), mono(other), "{one:?} {other:?}");
        }
        for role in [Role::First, Role::Second, Role::Bad, Role::Key, Role::Selected] {
            assert_eq!((mono(role).fg, mono(role).bg), (None, None), "{role:?}");
        }
    }

    #[test]
    fn the_environment_chooses() {
        let theme = |name: &'static str, value: &'static str| {
            Theme::from_environment(move |asked| (asked == name).then(|| value.to_owned()))
        };
        assert_eq!(theme("NO_COLOR", "1"), Theme::MONO);
        assert_eq!(theme("NO_COLOR", ""), Theme::COLOUR);
        assert_eq!(theme("TERM", "dumb"), Theme::MONO);
        assert_eq!(theme("TERM", "xterm-256color"), Theme::COLOUR);
    }
}
