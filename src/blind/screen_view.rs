//! Draws the label screen. State is told by glyph and word; colour only repeats it.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::domain::escape::escape;
use crate::domain::label::{CategoryState, Certainty, Presence};
use crate::tui::help::hint_bar;
use crate::tui::screen::Look;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::text::{fit, pad, width, wrap};

use super::history::Given;
use super::screen::{Field, LabelScreen, Text};
use super::screen_keys::MARKING;
use super::sitting::{Closed, Notice};
use super::{CATEGORY_KEYS, shown_name};

pub(super) fn draw(screen: &LabelScreen<'_>, frame: &mut Frame<'_>, area: Rect, look: &Look) {
    let layout = screen.layout(area);
    let theme = look.theme;
    let buffer = frame.buffer_mut();
    screen.picture().render(layout.picture, buffer, look);
    let title = title(screen, layout.title.width, layout.state.is_empty(), theme);
    put(buffer, layout.title, &title);
    for (field, rect) in &layout.fields {
        if rect.is_empty() {
            continue;
        }
        put(buffer, *rect, &question(screen, *field, rect.width, theme));
        if *field == screen.cursor() {
            buffer.set_style(*rect, theme.style(Role::Selected));
        }
    }
    let (text, role) = state(screen);
    put(buffer, layout.state, &Line::from(Span::styled(text, theme.style(role))));
    let hints = hint_bar(screen.keys(), screen.mode_now(), layout.hints.width, theme);
    put(buffer, layout.hints, &hints);
    notice(screen, layout.notice, layout.hints, buffer, theme);
}

fn put(buffer: &mut ratatui::buffer::Buffer, rect: Rect, line: &Line<'_>) {
    if !rect.is_empty() {
        buffer.set_line(rect.x, rect.y, line, rect.width);
    }
}

fn title(screen: &LabelScreen<'_>, columns: u16, with_state: bool, theme: Theme) -> Line<'static> {
    let sitting = screen.sitting();
    let history = sitting.history();
    let closed = match sitting.closed() {
        None => "",
        Some(Closed::Sealed) => "  SEALED",
        Some(Closed::ReadOnly(_)) => "  TO LOOK AT",
        Some(Closed::Failed(_)) => "  NOTHING IS SAVED",
    };
    let shard = history.opening.shard;
    let left = if with_state {
        format!("{} {shard}{closed}  {}", screen.rater(), state(screen).0)
    } else {
        format!("{}  shard {shard}{closed}", screen.rater())
    };
    let right = format!("done {}  left {}", history.done_count(), history.left_count());
    let room = usize::from(columns).saturating_sub(width(&right) + 1);
    Line::from(vec![
        Span::styled(pad(&left, room), theme.style(Role::Strong)),
        Span::raw(" "),
        Span::styled(right, theme.style(Role::Strong)),
    ])
}

/// One choice among several: its key, and a mark when it is chosen.
fn choice(key: &str, word: &str, chosen: bool, theme: Theme) -> [Span<'static>; 3] {
    let mark = if chosen { "[x]" } else { "[ ]" };
    let role = if chosen { Role::Strong } else { Role::Normal };
    [
        Span::styled(format!("{key} "), theme.style(Role::Key)),
        Span::styled(mark.to_owned(), theme.style(role)),
        Span::styled(format!("{word} "), theme.style(role)),
    ]
}

fn question(screen: &LabelScreen<'_>, field: Field, columns: u16, theme: Theme) -> Line<'static> {
    let draft = screen.sitting().draft();
    let narrow = columns < 30;
    let mut spans: Vec<Span<'static>> = Vec::new();
    match field {
        Field::Presence => {
            let lead = if narrow { "" } else { "litter?  " };
            spans.push(Span::styled(lead, theme.style(Role::Strong)));
            let words = if narrow { ["litter", "clean"] } else { ["yes ", "no "] };
            let presence = draft.presence;
            spans.extend(choice("y", words[0], presence == Some(Presence::Litter), theme));
            spans.extend(choice("n", words[1], presence == Some(Presence::Clean), theme));
        }
        Field::Category(index) => spans = category(screen, index, columns, theme),
        Field::Certainty => {
            let lead = if narrow { "" } else { "sure " };
            spans.push(Span::styled(lead, theme.style(Role::Strong)));
            for (key, certainty) in ["h", "m", "l"].iter().zip(Certainty::ALL) {
                let word = match (narrow, certainty) {
                    (true, _) => "",
                    (false, Certainty::Medium) => "mid",
                    (false, other) => other.word(),
                };
                spans.extend(choice(key, word, draft.certainty == Some(*certainty), theme));
            }
        }
        Field::Photograph => {
            spans.push(Span::styled("p ", theme.style(Role::Key)));
            spans.push(match draft.not_photograph {
                None => Span::raw("a photograph"),
                Some(kind) => {
                    let lead = if narrow { "no photo: " } else { "not a photograph: " };
                    Span::styled(format!("{lead}{kind}"), theme.style(Role::Warning))
                }
            });
        }
        Field::Note => {
            spans.push(Span::styled("t ", theme.style(Role::Key)));
            let note = escape(&draft.note).into_owned();
            spans.push(Span::raw(if note.is_empty() {
                "no note".to_owned()
            } else {
                fit(&format!("note: {note}"), usize::from(columns.saturating_sub(2)))
            }));
        }
    }
    Line::from(spans)
}

fn category(
    screen: &LabelScreen<'_>,
    index: usize,
    columns: u16,
    theme: Theme,
) -> Vec<Span<'static>> {
    let sitting = screen.sitting();
    let name = sitting.groups().get(index).map(|name| shown_name(name)).unwrap_or_default();
    let state = sitting.draft().categories.get(index).copied().unwrap_or(CategoryState::Absent);
    let key = CATEGORY_KEYS.get(index).copied().unwrap_or(' ');
    let (mark, word, role) = match state {
        CategoryState::Present => ("[x]", "present", Role::Strong),
        CategoryState::Unsure => ("[?]", "unsure", Role::Warning),
        CategoryState::Absent => ("[ ]", "", Role::Normal),
    };
    let room = usize::from(columns).saturating_sub(6);
    let with_word = width(&name) + 1 + width(word) <= room;
    let text = if with_word {
        format!("{}{word}", pad(&name, room - width(word)))
    } else {
        fit(&name, room)
    };
    vec![
        Span::styled(format!("{key} "), theme.style(Role::Key)),
        Span::styled(format!("{mark} "), theme.style(role)),
        Span::styled(text, theme.style(role)),
    ]
}

fn state(screen: &LabelScreen<'_>) -> (String, Role) {
    let sitting = screen.sitting();
    match (sitting.is_saving(), sitting.is_marked(), sitting.answered()) {
        (true, ..) => ("saving".to_owned(), Role::Warning),
        (_, true, _) => ("not saved".to_owned(), Role::Warning),
        (_, _, Some(Given::Answer(_))) => ("answered".to_owned(), Role::Good),
        (_, _, Some(Given::Skip(reason))) => (format!("skipped: {}", escape(reason)), Role::Good),
        (_, _, None) => ("no answer".to_owned(), Role::Faint),
    }
}

/// One or two lines for the rater; a longer one covers the hints.
fn notice(
    screen: &LabelScreen<'_>,
    area: Rect,
    hints: Rect,
    buffer: &mut ratatui::buffer::Buffer,
    theme: Theme,
) {
    if area.is_empty() {
        return;
    }
    if let Some((text, input)) = screen.editing() {
        let prompt = match text {
            Text::Note => "note (enter keeps it): ",
            Text::Skip => "skip, because: ",
        };
        input.render(prompt, area, buffer);
        return;
    }
    let sitting = screen.sitting();
    let (text, style) = if screen.mode_now() != MARKING {
        let text =
            "what is it? s screenshot  i illustration  t text  g game  o other  p photograph";
        (text.to_owned(), theme.style(Role::Strong))
    } else if let Some(text) = sitting.saving_text(screen.now()) {
        (text, theme.style(Role::Bad))
    } else {
        match sitting.notice() {
            Some(Notice::Done(text)) => (text.clone(), theme.style(Role::Good)),
            Some(Notice::Refused(text)) => (text.clone(), theme.style(Role::Warning)),
            Some(Notice::NotSaved(text)) => (text.clone(), theme.style(Role::Bad)),
            None => (fit(&meaning(screen), rows_of(area)), theme.style(Role::Faint)),
        }
    };
    let lines = wrap(&text, usize::from(area.width));
    let mut area = area;
    if lines.len() > usize::from(area.height) {
        frame_clear(hints, buffer);
        area.height += hints.height;
    }
    let rows = usize::from(area.height);
    for (place, y) in (area.y..area.bottom()).enumerate() {
        let Some(line) = lines.get(place) else { break };
        // What does not fit is cut where it can be seen.
        let line = if place + 1 == rows && lines.len() > rows {
            fit(&lines[place..].join(" "), usize::from(area.width))
        } else {
            line.clone()
        };
        buffer.set_stringn(area.x, y, &line, usize::from(area.width), Style::new().patch(style));
    }
}

/// Columns of all its rows.
fn rows_of(area: Rect) -> usize {
    usize::from(area.width) * usize::from(area.height)
}

fn frame_clear(area: Rect, buffer: &mut ratatui::buffer::Buffer) {
    let blank = " ".repeat(usize::from(area.width));
    for y in area.y..area.bottom() {
        buffer.set_string(area.x, y, &blank, Style::reset());
    }
}

/// What the category under the cursor holds; before any is, how categories are marked, or why none can be.
fn meaning(screen: &LabelScreen<'_>) -> String {
    match screen.cursor() {
        Field::Presence if screen.sitting().closed().is_some() => {
            screen.sitting().closed().map(Closed::text).unwrap_or_default()
        }
        Field::Category(index) => {
            let leaves = screen.leaves().get(index).map(|leaves| leaves.join(", "));
            escape(&leaves.unwrap_or_default()).into_owned()
        }
        Field::Presence if !screen.sitting().groups().is_empty() => {
            "a present  A unsure  again takes it back".to_owned()
        }
        _ => String::new(),
    }
}
