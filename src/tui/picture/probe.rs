//! What the terminal can draw: asked once, after raw mode and before the event thread.
//!
//! Only positive answers count, and waiting ends after 0.3 s: names in the environment are hints that a
//! terminal was right once, not what shows our bytes now. Inside tmux the outer terminal is asked for
//! through tmux itself; inside zellij and in a tmux popup pictures are blocks.

use std::time::Duration;

use super::{Canvas, Depth, Method};

/// How long the terminal has to answer.
const PATIENCE: Duration = Duration::from_millis(300);

/// What the person wants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Graphics {
    /// Whatever the terminal says it can.
    #[default]
    Auto,
    /// This, without asking.
    Only(Method),
}

/// Words `--graphics` takes.
pub const WORDS: [&str; 6] = ["auto", "kitty", "iterm", "sixel", "blocks", "none"];

impl std::str::FromStr for Graphics {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "auto" => Self::Auto,
            "kitty" => Self::Only(Method::Kitty),
            "iterm" => Self::Only(Method::Iterm),
            "sixel" => Self::Only(Method::Sixel),
            "blocks" => Self::Only(Method::Blocks),
            "none" => Self::Only(Method::None),
            _ => return Err(format!("expected one of {}", WORDS.join(", "))),
        })
    }
}

/// What was found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The method to begin with.
    pub method: Method,
    /// Methods the terminal can, or the person asked for.
    pub possible: Vec<Method>,
    /// Width and height of a cell in pixels, when known.
    pub cell: Option<(u16, u16)>,
    /// Sequences for the outer terminal must be wrapped for tmux.
    pub tmux: bool,
    /// Colours a cell can have.
    pub depth: Depth,
    /// Why this method, in one line for people.
    pub why: String,
    /// What was typed while we waited.
    pub typed_meanwhile: String,
}

impl Probe {
    /// What to draw on at the start.
    pub fn canvas(&self) -> Canvas {
        Canvas {
            method: self.method,
            depth: self.depth,
            cell: self.cell.unwrap_or((10, 20)),
            tmux: self.tmux,
            epoch: 0,
        }
    }
}

/// What matters of the surroundings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// `TERM`
    pub term: String,
    /// `COLORTERM`
    pub colorterm: String,
    /// `NO_COLOR` holds something.
    pub no_color: bool,
    /// Inside tmux.
    pub tmux: bool,
    /// Inside a tmux popup: tmux, but no pane.
    pub tmux_popup: bool,
    /// Inside zellij.
    pub zellij: bool,
    /// tmux hands sequences through to the outer terminal.
    pub passthrough: bool,
    /// What tmux knows of the outer terminal: its name and features.
    pub outer: String,
}

impl Surroundings {
    /// Reads the environment, and asks tmux about the terminal around it.
    pub fn read() -> Self {
        let text =
            |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let present = |name: &str| text(name).is_some_and(|value| !value.is_empty());
        let mut found = Self {
            term: text("TERM").unwrap_or_default(),
            colorterm: text("COLORTERM").unwrap_or_default(),
            no_color: present("NO_COLOR"),
            tmux: present("TMUX"),
            tmux_popup: present("TMUX") && !present("TMUX_PANE"),
            zellij: present("ZELLIJ"),
            passthrough: false,
            outer: String::new(),
        };
        if found.tmux && !found.tmux_popup {
            let say = |arguments: &[&str]| tmux(arguments).unwrap_or_default();
            let passthrough = say(&["show-options", "-Apv", "allow-passthrough"]);
            found.passthrough = matches!(passthrough.trim(), "on" | "all");
            found.outer =
                say(&["display-message", "-p", "#{client_termname} #{client_termfeatures}"]);
        }
        found
    }

    fn depth(&self) -> Depth {
        let truecolour = matches!(self.colorterm.as_str(), "truecolor" | "24bit")
            || ["direct", "kitty", "ghostty", "alacritty", "wezterm", "foot"]
                .iter()
                .any(|name| self.term.contains(name));
        if self.no_color || self.term == "dumb" {
            Depth::Mono
        } else if truecolour {
            Depth::True
        } else {
            Depth::Table
        }
    }
}

/// Runs tmux for at most half a second.
fn tmux(arguments: &[&str]) -> Option<String> {
    let mut child = std::process::Command::new("tmux")
        .args(arguments)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .ok()?;
    let deadline = std::time::Instant::now() + Duration::from_millis(500);
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => break,
            Ok(None) if std::time::Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(2));
            }
            _ => {
                // It may have ended by itself meanwhile.
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take()?, &mut said).ok()?;
    Some(said)
}

/// Asks the terminal that standard input and output are. Raw mode must be on.
pub fn run(wanted: Graphics) -> Probe {
    let surroundings = Surroundings::read();
    let asked = question(wanted, &surroundings);
    let answer = asked.map(|question| ask(&question, PATIENCE)).unwrap_or_default();
    let mut probe = decide(wanted, &surroundings, &answer);
    probe.cell = probe.cell.or_else(cell_size);
    probe
}

/// Asks a terminal that no session has taken: raw mode is on only while it answers.
pub fn run_once(wanted: Graphics) -> Probe {
    let raw = crossterm::terminal::enable_raw_mode().is_ok();
    let probe = run(wanted);
    if raw {
        // It was off before; a terminal that is gone cannot be helped.
        let _ = crossterm::terminal::disable_raw_mode();
    }
    probe
}

/// Columns and rows of the terminal.
pub fn terminal_size() -> Option<(u16, u16)> {
    crossterm::terminal::size().ok().filter(|size| size.0 > 0 && size.1 > 0)
}

/// The cell size the system knows, in pixels.
pub fn cell_size() -> Option<(u16, u16)> {
    let size = crossterm::terminal::window_size().ok()?;
    let cell = (size.width.checked_div(size.columns)?, size.height.checked_div(size.rows)?);
    is_sane(cell).then_some(cell)
}

fn is_sane((width, height): (u16, u16)) -> bool {
    (3..=100).contains(&width) && (5..=200).contains(&height)
}

const KITTY_QUESTION: &str = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\";
const KITTY_QUESTION_TMUX: &str =
    "\x1bPtmux;\x1b\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\x1b\\\x1b\\";
/// Name and version, cell size; last what every terminal answers, so that waiting can end.
const OTHER_QUESTIONS: &str = "\x1b[>q\x1b[16t\x1b[c";

/// What to send; nothing when the answer would change nothing.
fn question(wanted: Graphics, surroundings: &Surroundings) -> Option<String> {
    let is_useless = surroundings.term == "dumb" || surroundings.tmux_popup;
    if wanted != Graphics::Auto || is_useless || surroundings.zellij {
        return None;
    }
    let kitty = match (surroundings.tmux, surroundings.passthrough) {
        (false, _) => KITTY_QUESTION,
        (true, true) => KITTY_QUESTION_TMUX,
        (true, false) => "",
    };
    Some(format!("{kitty}{OTHER_QUESTIONS}"))
}

/// What came back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answers {
    /// The kitty question was answered with OK.
    pub kitty: bool,
    /// Device attributes name sixel.
    pub sixel: bool,
    /// Name and version of the terminal.
    pub name: String,
    /// Cell size in pixels.
    pub cell: Option<(u16, u16)>,
    /// The last question was answered: nothing more will come.
    pub complete: bool,
    /// Bytes that were no answer: somebody typed.
    pub typed: String,
}

/// Reads answers out of the bytes a terminal sent.
pub fn parse(bytes: &[u8]) -> Answers {
    let mut found = Answers::default();
    let mut rest = bytes;
    while let Some((&first, after)) = rest.split_first() {
        if first != 0x1b {
            if (0x20..0x7f).contains(&first) {
                found.typed.push(char::from(first));
            }
            rest = after;
            continue;
        }
        let (body, next) = match after.first() {
            Some(b'_' | b'P' | b']') => until_terminator(&after[1..]),
            Some(b'[') => until_final(&after[1..]),
            _ => (&after[..0], after),
        };
        let text = String::from_utf8_lossy(body);
        match after.first() {
            Some(b'_') if text.starts_with("Gi=31") => found.kitty = text.ends_with(";OK"),
            Some(b'P') => {
                if let Some(name) = text.strip_prefix(">|") {
                    found.name = name.to_owned();
                }
            }
            Some(b'[') => match (text.strip_prefix("6;"), text.strip_prefix('?')) {
                (Some(size), _) if text.ends_with('t') => found.cell = cell_answer(size),
                (_, Some(attributes)) if text.ends_with('c') => {
                    found.complete = true;
                    found.sixel =
                        attributes.trim_end_matches('c').split(';').any(|number| number == "4");
                }
                _ => {}
            },
            _ => {}
        }
        rest = next;
    }
    found
}

fn cell_answer(text: &str) -> Option<(u16, u16)> {
    let (height, width) = text.strip_suffix('t')?.split_once(';')?;
    let cell = (width.parse().ok()?, height.parse().ok()?);
    is_sane(cell).then_some(cell)
}

/// Up to ESC `\` or BEL.
fn until_terminator(bytes: &[u8]) -> (&[u8], &[u8]) {
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            0x07 => return (&bytes[..at], &bytes[at + 1..]),
            0x1b => {
                let skip = if bytes.get(at + 1) == Some(&b'\\') { 2 } else { 0 };
                return (&bytes[..at], &bytes[(at + skip).max(1)..]);
            }
            _ => {}
        }
    }
    (bytes, &[])
}

/// Up to and with the final byte of a control sequence.
fn until_final(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.iter().position(|byte| (0x40..=0x7e).contains(byte)) {
        Some(at) => (&bytes[..=at], &bytes[at + 1..]),
        None => (bytes, &[]),
    }
}

/// Terminals that answer the kitty question and do not know placeholders.
const NO_PLACEHOLDERS: [&str; 3] = ["WezTerm", "Konsole", "iTerm2"];
/// Terminals that know the iTerm2 protocol.
const ITERM: [&str; 3] = ["iTerm2", "WezTerm", "mintty"];

/// The choice, from what is known. Pure.
pub fn decide(wanted: Graphics, surroundings: &Surroundings, answers: &Answers) -> Probe {
    let named = |names: &[&str]| names.iter().any(|name| answers.name.starts_with(name));
    let mut possible = Vec::new();
    if answers.kitty && !named(&NO_PLACEHOLDERS) {
        possible.push(Method::Kitty);
    }
    if named(&ITERM) && !surroundings.tmux {
        possible.push(Method::Iterm);
    }
    if answers.sixel {
        possible.push(Method::Sixel);
    }
    let place = if surroundings.tmux { " through tmux" } else { "" };
    let (method, why) = match (wanted, possible.first()) {
        (Graphics::Only(method), _) => {
            if !possible.contains(&method) {
                possible.insert(0, method);
            }
            (method, "asked for with --graphics".to_owned())
        }
        (Graphics::Auto, Some(method)) => {
            (*method, format!("the terminal answered that it can{place}"))
        }
        (Graphics::Auto, None) => (Method::Blocks, why_blocks(surroundings, answers)),
    };
    Probe {
        method,
        possible,
        cell: answers.cell,
        tmux: surroundings.tmux && surroundings.passthrough,
        depth: surroundings.depth(),
        why,
        typed_meanwhile: answers.typed.clone(),
    }
}

fn why_blocks(surroundings: &Surroundings, answers: &Answers) -> String {
    let knows_pictures = ["kitty", "ghostty"].iter().any(|name| surroundings.outer.contains(name));
    if surroundings.term == "dumb" {
        "TERM is dumb".to_owned()
    } else if surroundings.tmux_popup {
        "a tmux popup shows no pictures".to_owned()
    } else if surroundings.zellij {
        "zellij shows pictures unreliably; --graphics sixel tries".to_owned()
    } else if surroundings.tmux && !surroundings.passthrough && knows_pictures {
        "tmux keeps pictures back; `tmux set -p allow-passthrough on` lets them through".to_owned()
    } else if answers.complete {
        "the terminal names no picture protocol".to_owned()
    } else {
        "the terminal did not answer within 0.3 s".to_owned()
    }
}

#[cfg(unix)]
fn ask(question: &str, patience: Duration) -> Answers {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use std::io::{IsTerminal as _, Write as _};

    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Answers::default();
    }
    let mut stdout = std::io::stdout().lock();
    if stdout.write_all(question.as_bytes()).and_then(|()| stdout.flush()).is_err() {
        return Answers::default();
    }
    drop(stdout);
    let stdin = rustix::stdio::stdin();
    let deadline = std::time::Instant::now() + patience;
    let mut bytes = Vec::new();
    let mut chunk = [0_u8; 512];
    loop {
        let answers = parse(&bytes);
        let left = deadline.saturating_duration_since(std::time::Instant::now());
        if answers.complete || left.is_zero() || bytes.len() > 1 << 16 {
            return answers;
        }
        let mut ready = [PollFd::from_borrowed_fd(stdin, PollFlags::IN)];
        let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(left.subsec_nanos()) };
        if !matches!(poll(&mut ready, Some(&wait)), Ok(1..)) {
            continue;
        }
        match rustix::io::read(stdin, &mut chunk) {
            Ok(0) | Err(_) => return answers,
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
        }
    }
}

#[cfg(not(unix))]
fn ask(_question: &str, _patience: Duration) -> Answers {
    Answers::default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KITTY: &[u8] = b"\x1b_Gi=31;OK\x1b\\\x1bP>|kitty(0.35.2)\x1b\\\x1b[6;18;9t\x1b[?62;c";

    fn decided(surroundings: &Surroundings, bytes: &[u8]) -> Probe {
        decide(Graphics::Auto, surroundings, &parse(bytes))
    }

    #[test]
    fn answers_choose_the_method() {
        let plain = Surroundings { term: "xterm-256color".to_owned(), ..Surroundings::default() };
        let kitty = decided(&plain, KITTY);
        assert_eq!((kitty.method, kitty.cell), (Method::Kitty, Some((9, 18))));
        for (bytes, method) in [
            (&b"\x1bP>|WezTerm 2024\x1b\\\x1b_Gi=31;OK\x1b\\\x1b[?65;4;6c"[..], Method::Iterm),
            (b"\x1bP>|Konsole 24\x1b\\\x1b_Gi=31;OK\x1b\\\x1b[?62;1;4c", Method::Sixel),
            (b"\x1bP>|foot(1.16)\x1b\\\x1b[?62;4;22c", Method::Sixel),
            (b"\x1b_Gi=31;EINVAL\x1b\\\x1b[?62;c", Method::Blocks),
            (b"", Method::Blocks),
        ] {
            assert_eq!(decided(&plain, bytes).method, method, "{}", bytes.escape_ascii());
        }
        assert!(decided(&plain, b"").why.contains("did not answer"));
    }

    #[test]
    fn what_the_person_asked_for_wins_and_is_not_probed() {
        let here = Surroundings::default();
        let only = Graphics::Only(Method::Sixel);
        assert_eq!(question(only, &here), None);
        let probe = decide(only, &here, &Answers::default());
        assert_eq!((probe.method, probe.possible), (Method::Sixel, vec![Method::Sixel]));
        for word in WORDS {
            assert!(word.parse::<Graphics>().is_ok(), "{word}");
        }
        assert!("vga".parse::<Graphics>().is_err());
    }

    #[test]
    fn tmux_and_zellij_rules() {
        let tmux = Surroundings {
            term: "tmux-256color".to_owned(),
            tmux: true,
            outer: "xterm-kitty".to_owned(),
            ..Surroundings::default()
        };
        let sent = question(Graphics::Auto, &tmux).expect("asks tmux itself");
        assert!(!sent.contains("_G"), "nothing goes around tmux without passthrough");
        let blocks = decided(&tmux, b"\x1b[?1;2c");
        assert_eq!(blocks.method, Method::Blocks);
        assert!(blocks.why.contains("allow-passthrough"));
        let through = Surroundings { passthrough: true, ..tmux.clone() };
        assert!(question(Graphics::Auto, &through).expect("asks").contains("Ptmux"));
        assert!(decided(&through, KITTY).tmux);
        for quiet in [
            Surroundings { zellij: true, ..Surroundings::default() },
            Surroundings { tmux_popup: true, ..tmux },
            Surroundings { term: "dumb".to_owned(), ..Surroundings::default() },
        ] {
            assert_eq!(question(Graphics::Auto, &quiet), None);
            assert_eq!(decided(&quiet, b"").method, Method::Blocks);
        }
    }

    #[test]
    fn keys_typed_meanwhile_are_kept() {
        let answers = parse(b"j\x1b_Gi=31;OK\x1b\\q\x1b[?62;c");
        assert_eq!(answers.typed, "jq");
        assert!(answers.kitty && answers.complete);
    }

    #[test]
    fn colours_follow_the_environment() {
        let with = |term: &str, colorterm: &str, no_color| {
            Surroundings {
                term: term.to_owned(),
                colorterm: colorterm.to_owned(),
                no_color,
                ..Surroundings::default()
            }
            .depth()
        };
        assert_eq!(with("xterm-256color", "", false), Depth::Table);
        assert_eq!(with("xterm-256color", "truecolor", false), Depth::True);
        assert_eq!(with("xterm-kitty", "", false), Depth::True);
        assert_eq!(with("xterm-kitty", "truecolor", true), Depth::Mono);
        assert_eq!(with("dumb", "truecolor", false), Depth::Mono);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_the_end(bytes in prop::collection::vec(prop_oneof![Just(0x1b_u8), Just(b'['), Just(b'_'), Just(b'\\'), any::<u8>()], 0..60)) {
            let _ = parse(&bytes);
        }
    }
}
