//! Draws the contact sheet. State is told by glyph and word; colour only repeats it.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::domain::escape::escape;
use crate::sighted::fixtures::sheet::Suggestion;
use crate::tui::help::hint_bar;
use crate::tui::screen::{Look, Screen as _};
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::text::{fit, fit_middle, pad, width, wrap};

use super::keys::{CHOOSING, LEAVING};
use super::{ContactSheet, ORDERS, SHOWN, SMALL, Shown, Text, Tone, WHOLE, picture_id};

/// From this width on the question is asked in full.
const WIDE: u16 = 60;

/// The keys of the kinds, in two lines where it is narrow.
const KINDS: [&str; 2] = ["s screenshot  i illustration  t text", "g game  o other  p photograph"];

pub(super) fn draw(screen: &ContactSheet, frame: &mut Frame<'_>, area: Rect, look: &Look) {
    let layout =
        super::Layout::new(area, screen.size, screen.alone, screen.shown.len(), screen.first_row);
    let theme = look.theme;
    let buffer = frame.buffer_mut();
    put(buffer, layout.title, &title(screen, layout.title.width, theme));
    let rendition = if screen.alone { WHOLE } else { SMALL };
    for (at, cell) in layout.cells(screen.cursor) {
        let Some(place) = screen.shown.get(at).copied() else { continue };
        let id = picture_id(screen.sheet.entries()[place].id, rendition);
        if let Some(view) = screen.pictures.get(&id) {
            view.render(cell.picture, buffer, look);
        }
        let here = at == screen.cursor;
        put(buffer, cell.caption, &caption(screen, place, here, cell.caption.width, theme));
        if here {
            buffer.set_style(cell.caption, theme.style(Role::Selected));
        }
    }
    if screen.shown.is_empty() {
        let text = format!("{}. tab shows others.", nothing(screen));
        let row = Rect { height: layout.body.height.min(1), ..layout.body };
        put(buffer, row, &Line::from(Span::styled(text, theme.style(Role::Faint))));
    }
    let hints = hint_bar(screen.keymap(), screen.mode(), layout.hints.width, theme);
    put(buffer, layout.hints, &hints);
    detail(screen, layout.detail, layout.hints, buffer, theme);
}

/// Why no picture is shown.
fn nothing(screen: &ContactSheet) -> String {
    if !screen.wanted_name.is_empty() {
        return format!("no name here holds \"{}\"", escape(&screen.wanted_name));
    }
    let hidden = screen.sheet.hidden_count();
    match SHOWN[screen.filter].0 {
        Shown::All => "the manifest lists no picture".to_owned(),
        Shown::Suggested if hidden > 0 => {
            format!("nothing is suggested, and of {hidden} it is hidden until they are labelled")
        }
        Shown::Suggested => "nothing is suggested".to_owned(),
        Shown::Groups => "there are no near copies".to_owned(),
        Shown::LeftOut => "nothing is left out".to_owned(),
        Shown::Marked => "nothing is marked".to_owned(),
    }
}

fn put(buffer: &mut Buffer, rect: Rect, line: &Line<'_>) {
    if !rect.is_empty() {
        buffer.set_line(rect.x, rect.y, line, rect.width);
    }
}

fn title(screen: &ContactSheet, columns: u16, theme: Theme) -> Line<'static> {
    let sheet = &screen.sheet;
    let mut counts = Vec::new();
    if screen.shown.len() == sheet.len() {
        counts.push(format!("{} pictures", sheet.len()));
    } else {
        counts.push(format!("{} of {} pictures", screen.shown.len(), sheet.len()));
    }
    if !screen.marked.is_empty() {
        counts.push(format!("{} marked", screen.marked.len()));
    }
    if !sheet.flags.now().is_empty() {
        counts.push(format!("{} left out", sheet.flags.now().len()));
    }
    if sheet.known() < sheet.len() {
        counts.push(format!("looked at {}", sheet.known()));
    }
    let mut right = vec![ORDERS[screen.order].1.to_owned(), SHOWN[screen.filter].1.to_owned()];
    if !screen.wanted_name.is_empty() {
        right.push(format!("\"{}\"", escape(&screen.wanted_name)));
    }
    let right = right.join(", ");
    let left = format!("{}  {}", fit_middle(&screen.name, 24), counts.join("  "));
    let columns = usize::from(columns);
    // The counts matter more than how the list is made.
    let right = if width(&left) + 2 + width(&right) <= columns { right } else { String::new() };
    let room = columns.saturating_sub(width(&right));
    Line::from(vec![
        Span::styled(pad(&left, room), theme.style(Role::Strong)),
        Span::styled(right, theme.style(Role::Faint)),
    ])
}

fn caption(
    screen: &ContactSheet,
    place: usize,
    here: bool,
    columns: u16,
    theme: Theme,
) -> Line<'static> {
    let sheet = &screen.sheet;
    let mark = match (here, screen.marked.contains(&place)) {
        (true, true) => "»",
        (true, false) => ">",
        (false, true) => "*",
        (false, false) => " ",
    };
    let mut right = String::new();
    if let Some(group) = sheet.groups().of(place) {
        right.push_str(&format!(" g{group}"));
    }
    if sheet.suggestion(place).is_any() {
        right.push_str(" ?");
    }
    let room = usize::from(columns).saturating_sub(width(mark) + width(&right));
    let (text, role) = match sheet.flag(place) {
        Some(flag) => (format!("out: {}", flag.kind), Role::Warning),
        None => {
            let path = sheet.entries()[place].shown();
            let file = path.rsplit('/').next().unwrap_or_default().to_owned();
            (fit_middle(&file, room), Role::Normal)
        }
    };
    Line::from(vec![
        Span::styled(mark, theme.style(Role::Strong)),
        Span::styled(pad(&text, room), theme.style(role)),
        Span::styled(right, theme.style(Role::Faint)),
    ])
}

/// What is asked, what happened, or what is known of the picture under the cursor.
fn detail(screen: &ContactSheet, area: Rect, hints: Rect, buffer: &mut Buffer, theme: Theme) {
    if area.is_empty() {
        return;
    }
    if let Some((text, input)) = &screen.text {
        let prompt = match text {
            Text::Reason(kind) => format!("{kind}, because: "),
            Text::Name => "names that hold: ".to_owned(),
        };
        input.render(&prompt, area, buffer);
        if let (Some((_, said)), true) = (&screen.notice, area.height > 1) {
            let style = theme.style(Role::Warning);
            buffer.set_stringn(area.x, area.y + 1, said, usize::from(area.width), style);
        }
        return;
    }
    let count = screen.chosen().len();
    let (text, role) = match (screen.mode(), &screen.notice) {
        (CHOOSING, _) => {
            let asked = match (area.width < WIDE, count) {
                (true, _) => String::new(),
                (false, 1) => "what is it? ".to_owned(),
                (false, count) => format!("what are these {count}? "),
            };
            (format!("{asked}{}", KINDS.join("  ")), Role::Strong)
        }
        (LEAVING, _) if screen.writing => ("writing …".to_owned(), Role::Strong),
        (LEAVING, _) => (
            format!(
                "{} left out, in no manifest yet: w write and leave  k keep for later  esc stay",
                screen.sheet.flags.now().len()
            ),
            Role::Strong,
        ),
        (_, Some((Tone::Done, text))) => (text.clone(), Role::Good),
        (_, Some((Tone::Refused, text))) => (text.clone(), Role::Warning),
        (_, Some((Tone::Lost, text))) => (text.clone(), Role::Bad),
        (_, None) => (about(screen), Role::Normal),
    };
    let lines = if screen.mode() == CHOOSING && area.width < WIDE {
        KINDS.map(str::to_owned).to_vec()
    } else {
        wrap(&text, usize::from(area.width))
    };
    let mut area = area;
    if lines.len() > usize::from(area.height) && screen.mode() == CHOOSING {
        // The keys are in the question.
        buffer.set_string(hints.x, hints.y, " ".repeat(usize::from(hints.width)), Style::reset());
        area.height += hints.height;
    }
    let rows = usize::from(area.height);
    for (place, y) in (area.y..area.bottom()).enumerate() {
        let Some(line) = lines.get(place) else { break };
        let line = if place + 1 == rows && lines.len() > rows {
            fit(&lines[place..].join(" "), usize::from(area.width))
        } else {
            line.clone()
        };
        buffer.set_stringn(area.x, y, &line, usize::from(area.width), theme.style(role));
    }
}

/// Everything known of the picture under the cursor, what matters first.
fn about(screen: &ContactSheet) -> String {
    let sheet = &screen.sheet;
    let Some(place) = screen.here() else { return String::new() };
    let entry = &sheet.entries()[place];
    let mut parts = vec![entry.shown()];
    if let Some(flag) = sheet.flag(place) {
        parts.push(format!("left out, {}: {}", flag.kind, escape(&flag.reason)));
    }
    match sheet.facts(place) {
        Some(Ok(facts)) => parts.push(format!("{}x{}", facts.size.0, facts.size.1)),
        Some(Err(reason)) => parts.push(reason.clone()),
        None => {}
    }
    if let Some(group) = sheet.groups().of(place) {
        let count = sheet.groups().members(group).len();
        parts.push(format!("one of {count} near copies (g{group})"));
    }
    match sheet.suggestion(place) {
        Suggestion::Hidden(why) => parts.push(format!("suggestions hidden: {why}")),
        _ => parts.push(sheet.suggestion_text(place)),
    }
    if entry.paths.len() > 1 {
        parts.push(format!("listed {} times", entry.paths.len()));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("  ")
}
