//! A test card: what a person must be able to see and tell apart before they judge pictures here.
//!
//! It is printed like any other output, in the terminal's own scroll-back, and asks the terminal nothing
//! that a session does not ask. Without a terminal it is the same in plain characters.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};

use ratatui::style::{Color, Modifier, Style};

use super::picture::overlay::{BoxOverlay, Line};
use super::picture::probe::{self, Graphics, Probe};
use super::picture::viewport::UnitRect;
use super::picture::{Depth, Method, Picture, print};
use super::theme::{Role, Theme};
use super::widgets::text::wrap;
use crate::media::orientation::Orientation;
use crate::media::pixels::RgbImage;

/// Columns and rows of the test picture.
const PICTURE: (u16, u16) = (32, 7);

/// Glyph, word and role of every state that is told apart on the screens.
const STATES: [(&str, &str, Role); 7] = [
    ("┃", "first", Role::First),
    ("║", "second", Role::Second),
    ("=", "good", Role::Good),
    ("×", "bad", Role::Bad),
    ("!", "warning", Role::Warning),
    (">", "chosen", Role::Selected),
    ("·", "less important", Role::Faint),
];

/// Prints the card on standard output.
///
/// # Errors
/// Standard output is gone.
pub fn print() -> io::Result<()> {
    let theme = Theme::from_environment(|name| std::env::var(name).ok());
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    let probe = is_terminal.then(|| probe::run_once(Graphics::Auto));
    let size = if is_terminal { probe::terminal_size() } else { None };
    write(&facts(probe.as_ref(), size))?;
    picture(probe.as_ref(), theme)?;
    let columns = size.map_or(80, |(columns, _)| usize::from(columns));
    write(&states(is_terminal.then_some(theme), columns))
}

fn write(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// What was found out, in words.
fn facts(probe: Option<&Probe>, size: Option<(u16, u16)>) -> String {
    let mut text = String::new();
    let Some(probe) = probe else {
        text.push_str(
            "terminal   none here, so nothing was asked; the card is in plain characters\n",
        );
        return text;
    };
    let cells =
        size.map_or("size unknown".to_owned(), |(columns, rows)| format!("{columns}x{rows} cells"));
    let cell = probe.cell.map_or("size of a cell unknown".to_owned(), |(width, height)| {
        format!("a cell is {width}x{height} pixels")
    });
    let possible: Vec<&str> = probe.possible.iter().map(|method| method.name()).collect();
    let others = match possible.len() {
        0 | 1 => String::new(),
        _ => format!("; possible: {}", possible.join(", ")),
    };
    let colours = match probe.depth {
        Depth::Mono => "none",
        Depth::Table => "256",
        Depth::True => "all",
    };
    // Writing to a String cannot fail.
    let _ = writeln!(text, "terminal {cells}, {cell}");
    let _ = writeln!(text, "pictures {}: {}{others}", probe.method.name(), probe.why);
    let _ = writeln!(text, "colours  {colours}");
    text
}

/// A picture with a box of each kind, drawn as pictures are drawn here.
fn picture(probe: Option<&Probe>, theme: Theme) -> io::Result<()> {
    let channel = |value: u32| u8::try_from(value.min(255)).unwrap_or(u8::MAX);
    let pixels = RgbImage::from_fn(256, 128, |x, y| [channel(x), channel(y * 2), channel(255 - x)]);
    let picture = Picture { pixels, orientation: Orientation::Upright };
    let overlay = |corners, line, tag: &str| BoxOverlay {
        rect: UnitRect::from_corners(corners),
        line,
        tag: tag.to_owned(),
        faint: false,
    };
    let boxes = [
        overlay([0.05, 0.15, 0.42, 0.85], Line::First, "1"),
        overlay([0.55, 0.15, 0.92, 0.85], Line::Second, "2"),
    ];
    match probe {
        Some(probe) if probe.depth != Depth::Mono && !theme.is_mono() => {
            if probe.method == Method::None {
                return Ok(());
            }
            print::print(&picture, &boxes, PICTURE, probe)
        }
        _ => write(&print::as_text(&picture, &boxes, PICTURE).map_err(io::Error::other)?),
    }
}

/// States, lines, widths, and what to do when something looks wrong. Without a theme nothing is styled.
fn states(theme: Option<Theme>, columns: usize) -> String {
    let mut text = String::new();
    for (row, states) in STATES.chunks(4).enumerate() {
        text.push_str(if row == 0 { "states   " } else { "         " });
        for (glyph, word, role) in states {
            let state = format!("{glyph} {word}");
            text.push_str(&theme.map_or(state.clone(), |theme| styled(&state, theme.style(*role))));
            text.push_str("  ");
        }
        text.push('\n');
    }
    text.push_str("lines    ┏━━┓ ╔══╗ ┌──┐ ┌╌╌┐   1234|\n");
    text.push_str("         ┃  ┃ ║  ║ │  │ ╎  ╎   垃圾|\n");
    text.push_str("         ┗━━┛ ╚══╝ └──┘ └╌╌┘   e\u{301}日n|\n");
    text.push_str("square   ██████   ░░▒▒▓▓██\n         ██████   ▀▄▀▄▀▄▀▄\n         ██████\n");
    for sentence in [
        "It is right when states differ from their neighbours, lines join, the three bars stand below each other, the square is one, and the picture has both boxes.",
        "If not: --graphics blocks or none, NO_COLOR=1, or the --plain twin of a command.",
    ] {
        for line in wrap(sentence, columns.clamp(20, 80)) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

/// `text` in the style of a role, for a terminal that scrolls.
fn styled(text: &str, style: Style) -> String {
    let mut codes = Vec::new();
    if let Some(Color::Indexed(index)) = style.fg {
        codes.push(format!("38;5;{index}"));
    }
    for (modifier, code) in [
        (Modifier::BOLD, "1"),
        (Modifier::DIM, "2"),
        (Modifier::UNDERLINED, "4"),
        (Modifier::REVERSED, "7"),
    ] {
        if style.add_modifier.contains(modifier) {
            codes.push(code.to_owned());
        }
    }
    if codes.is_empty() {
        return text.to_owned();
    }
    format!("\u{1b}[{}m{text}\u{1b}[0m", codes.join(";"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::picture::probe::{Surroundings, decide, parse};
    use crate::tui::widgets::text::width;

    #[test]
    fn facts_are_what_the_terminal_answered() {
        let surroundings =
            Surroundings { term: "xterm-256color".to_owned(), ..Surroundings::default() };
        let kitty = b"\x1b_Gi=31;OK\x1b\\\x1b[6;18;9t\x1b[?62;4c";
        let probe = decide(Graphics::Auto, &surroundings, &parse(kitty));
        assert_eq!(
            facts(Some(&probe), Some((80, 24))),
            "terminal 80x24 cells, a cell is 9x18 pixels\n\
             pictures kitty: the terminal answered that it can; possible: kitty, sixel\n\
             colours  256\n"
        );
        let mute = decide(Graphics::Auto, &surroundings, &parse(b""));
        assert!(facts(Some(&mute), None).contains("blocks: the terminal did not answer"));
        assert!(facts(None, None).contains("nothing was asked"));
    }

    #[test]
    fn every_state_differs_without_colour_and_bars_stand_in_one_column() {
        let mono = states(Some(Theme::MONO), 40);
        assert!(!mono.contains("38;5"), "no colour was asked for");
        let glyphs: std::collections::BTreeSet<_> = STATES.iter().map(|state| state.0).collect();
        assert_eq!(glyphs.len(), STATES.len());
        let bars: Vec<usize> =
            mono.lines().filter_map(|line| line.strip_suffix('|')).map(width).collect();
        assert_eq!(bars, [35, 35, 35]);
        assert!(mono.lines().skip(2).all(|line| width(line) <= 40), "{mono}");
        let bare = states(None, 40);
        assert!(!bare.contains('\u{1b}'), "nothing acts on what is no terminal");
        assert_eq!(mono.lines().map(plain).collect::<Vec<_>>(), bare.lines().collect::<Vec<_>>());
    }

    fn plain(line: &str) -> String {
        let mut out = String::new();
        let mut parts = line.split('\u{1b}');
        out.push_str(parts.next().unwrap_or_default());
        for part in parts {
            out.push_str(part.split_once('m').map_or("", |(_, text)| text));
        }
        out
    }
}
