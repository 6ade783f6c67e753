//! Draws the review screen.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};

use super::layout::{Layout, layout};
use super::{Menu, Mode, Notice, Prompt, ReviewScreen, Shows, panel};
use crate::domain::escape::escape;
use crate::domain::label::NotPhotograph;
use crate::sighted::review::desk::Desk;
use crate::sighted::review::queue::FILTER_WORDS;
use crate::sighted::review::tally::{Tally, parity_warning};
use crate::sighted::review::verdict::Verdict;
use crate::tui::help::hint_bar;
use crate::tui::screen::{Look, Screen as _};
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::text::{fit, pad, popup, width, wrap};

pub(super) fn render(screen: &ReviewScreen, frame: &mut Frame<'_>, area: Rect, look: &Look) {
    let theme = look.theme;
    let Some(desk) = &screen.desk else { return waiting(screen, frame, area, theme) };
    let warning = parity_warning(&desk.material.totals);
    let parts = layout((area.width, area.height), warning.as_deref(), screen.shows);
    header(screen, desk, frame, parts.header, theme);
    if let Some(warning) = warning {
        let lines = wrap(&warning, usize::from(parts.warning.width).max(1));
        for (row, line) in (parts.warning.top()..parts.warning.bottom()).zip(lines) {
            let style = theme.style(Role::Warning);
            frame.buffer_mut().set_stringn(0, row, line, usize::from(area.width), style);
        }
    }
    let covered = look.covered || screen.is_covered();
    let under = Look { covered, ..*look };
    if desk.queue.item().is_some() {
        pictures(screen, frame, &parts, &under);
        panel::render(desk, frame, parts.panel, theme);
    } else {
        nothing(screen, desk, frame, parts.pictures[0], theme);
    }
    status(screen, desk, frame, parts.status, theme);
    let hints = hint_bar(screen.keymap(), screen.mode(), parts.hints.width, theme);
    frame.render_widget(hints, parts.hints);
    match &screen.mode {
        Mode::Menu(menu, list) => {
            let rows = menu_rows(desk, *menu);
            let area = popup(area, 40, u16::try_from(rows.len()).unwrap_or(9) + 2);
            let title = match menu {
                Menu::Verdict => " verdict ",
                Menu::Flag => " what is the picture? ",
            };
            frame.render_widget(Clear, area);
            let block = Block::bordered().title(title);
            let inner = block.inner(area);
            frame.render_widget(block, area);
            list.render(inner, frame.buffer_mut(), theme, |row| {
                Line::from(rows.get(row).cloned().unwrap_or_default())
            });
        }
        Mode::Tally => tally(desk, frame, area, theme),
        Mode::Prompt(Prompt::Filter, _) => filter_words(frame, parts.status, theme),
        Mode::Browse | Mode::Prompt(..) => {}
    }
}

/// Before report and log were read.
fn waiting(screen: &ReviewScreen, frame: &mut Frame<'_>, area: Rect, theme: Theme) {
    let (text, role) = match &screen.material {
        Some(Err(reason)) => (format!("{reason}\n\nq leaves"), Role::Bad),
        Some(Ok(_)) => ("reading verdicts…".to_owned(), Role::Faint),
        None => ("reading the report…".to_owned(), Role::Faint),
    };
    let paragraph = Paragraph::new(text).style(theme.style(role)).wrap(Wrap { trim: true });
    frame.render_widget(paragraph, area);
}

fn header(screen: &ReviewScreen, desk: &Desk, frame: &mut Frame<'_>, area: Rect, theme: Theme) {
    let queue = &desk.queue;
    let (decided, all) = queue.progress(&desk.material, &desk.ledger);
    let place = if queue.entries().is_empty() { 0 } else { queue.place() + 1 };
    let items = queue.entry().map_or(0, |entry| entry.items.len());
    let mut parts = vec![format!("{place}/{} pictures", queue.entries().len())];
    if items > 1 {
        parts.push(format!("change {}/{items}", queue.item_place() + 1));
    }
    parts.push(format!("{decided}/{all} decided"));
    if screen.live {
        parts.push("run going on".to_owned());
    }
    if desk.hides_sides() {
        parts.push("sides hidden".to_owned());
    }
    if !queue.filter.is_empty() {
        parts.push(format!("filter: {}", escape(&queue.filter.text)));
    }
    if queue.moved_left_out() > 0 {
        parts.push(format!("{} moved slots left out (m)", queue.moved_left_out()));
    }
    parts.push(queue.order.says().to_owned());
    let shows = match (screen.shows, desk.hides_sides()) {
        (Shows::Both, _) => "",
        (Shows::First, false) => "reference's boxes",
        (Shows::First, true) => "left boxes",
        (Shows::Second, false) => "candidate's boxes",
        (Shows::Second, true) => "right boxes",
        (Shows::Blink, false) if screen.blink_second => "blink: candidate",
        (Shows::Blink, false) => "blink: reference",
        (Shows::Blink, true) if screen.blink_second => "blink: right",
        (Shows::Blink, true) => "blink: left",
        (Shows::SideBySide, _) => "side by side",
    };
    if !shows.is_empty() {
        parts.insert(0, shows.to_owned());
    }
    if screen.model_input {
        parts.insert(0, "what the model saw".to_owned());
    }
    let text = format!("review  {}", parts.join("  "));
    let columns = usize::from(area.width);
    let style = theme.style(Role::Strong);
    frame.buffer_mut().set_stringn(area.x, area.y, fit(&text, columns), columns, style);
}

fn pictures(screen: &ReviewScreen, frame: &mut Frame<'_>, parts: &Layout, look: &Look) {
    for (view, area) in screen.pictures.iter().zip(parts.pictures) {
        if !area.is_empty() {
            view.render(area, frame.buffer_mut(), look);
        }
    }
}

fn nothing(screen: &ReviewScreen, desk: &Desk, frame: &mut Frame<'_>, area: Rect, theme: Theme) {
    let moved = desk.queue.moved_left_out();
    let text = if !desk.queue.filter.is_empty() {
        "No change passes the filter: / changes it, \\ takes it away.".to_owned()
    } else if screen.live {
        let seen = desk.material.images.len();
        format!("No decision changed in the first {seen} pictures compared. The run goes on.")
    } else if moved > 0 {
        format!(
            "No decision changed at {}: {moved} detections only moved to another slot (m shows them).",
            desk.material.threshold
        )
    } else {
        format!("No decision changed at {}.", desk.material.threshold)
    };
    let paragraph = Paragraph::new(text).style(theme.style(Role::Normal)).wrap(Wrap { trim: true });
    frame.render_widget(paragraph, area);
}

fn status(screen: &ReviewScreen, desk: &Desk, frame: &mut Frame<'_>, area: Rect, theme: Theme) {
    if let Mode::Prompt(prompt, field) = &screen.mode {
        let label = match prompt {
            Prompt::Note => "note: ".to_owned(),
            Prompt::Jump => "jump to (number, name, hash): ".to_owned(),
            Prompt::Filter => "filter: ".to_owned(),
        };
        let warning = screen.notice.as_ref().filter(|notice| notice.role == Role::Warning);
        let label = warning.map_or(label, |notice| format!("{}: ", notice.text));
        return field.render(&label, area, frame.buffer_mut());
    }
    let stamp = screen.pictures[0].stamp().map(|stamp| {
        format!(
            "{} {}x{} px, zoom {:.1}",
            stamp.method.name(),
            stamp.pixels.0,
            stamp.pixels.1,
            stamp.zoom
        )
    });
    let (text, role) = match (&screen.notice, screen.saving) {
        (Some(Notice { text, role }), _) => (text.clone(), *role),
        (None, Some(_)) => ("saving…".to_owned(), Role::Faint),
        (None, None) => {
            let image = desk.queue.image().map(|image| &desk.material.images[image]);
            let name = image.map_or(String::new(), |image| {
                format!("{}  {}", image.fixture.short(), escape(&image.written))
            });
            (name, Role::Faint)
        }
    };
    let columns = usize::from(area.width);
    let stamp =
        stamp.filter(|stamp| screen.notice.is_none() && width(&text) + width(stamp) + 2 <= columns);
    let room = columns.saturating_sub(stamp.as_ref().map_or(0, |stamp| width(stamp) + 2));
    frame.buffer_mut().set_stringn(area.x, area.y, fit(&text, room), room, theme.style(role));
    if let Some(stamp) = stamp {
        let x = area.right() - u16::try_from(width(&stamp)).unwrap_or(0);
        frame.buffer_mut().set_stringn(x, area.y, &stamp, columns, theme.style(Role::Faint));
    }
}

/// What a filter may say, above the line it is typed in.
fn filter_words(frame: &mut Frame<'_>, prompt: Rect, theme: Theme) {
    let rows = u16::try_from(FILTER_WORDS.len()).unwrap_or(u16::MAX).min(prompt.y);
    let area = Rect { y: prompt.y - rows, height: rows, ..prompt };
    frame.render_widget(Clear, area);
    let columns = FILTER_WORDS.iter().map(|(words, _)| width(words)).max().unwrap_or(0);
    for (row, (words, meaning)) in (area.top()..area.bottom()).zip(FILTER_WORDS) {
        let line = Line::from(vec![
            Span::styled(pad(words, columns + 2), theme.style(Role::Key)),
            Span::raw(meaning),
        ]);
        frame.buffer_mut().set_line(area.x, row, &line, area.width);
    }
}

fn menu_rows(desk: &Desk, menu: Menu) -> Vec<String> {
    match menu {
        Menu::Verdict => {
            let Some(item) = desk.item() else { return Vec::new() };
            let fixture = item.key.fixture;
            let letters = ["a", "d", "b", "n", "t"];
            let verdicts = [
                desk.meant(fixture, true),
                desk.meant(fixture, false),
                Verdict::Both,
                Verdict::Neither,
                Verdict::CannotTell,
            ];
            letters
                .iter()
                .zip(verdicts)
                .map(|(letter, verdict)| {
                    let stands = if desk.verdict_of(item) == Some(verdict) { " *" } else { "" };
                    format!("{letter}  {}{stands}", desk.says(fixture, verdict))
                })
                .collect()
        }
        Menu::Flag => std::iter::once("a photograph".to_owned())
            .chain(
                NotPhotograph::ALL.iter().map(|kind| format!("not a photograph: {}", kind.word())),
            )
            .collect(),
    }
}

fn tally(desk: &Desk, frame: &mut Frame<'_>, area: Rect, theme: Theme) {
    let tally = Tally::of(&desk.material, &desk.ledger);
    let columns = area.width.min(64);
    let inner = usize::from(columns.saturating_sub(4)).max(1);
    let mut lines: Vec<Line<'_>> = Verdict::ALL
        .iter()
        .map(|verdict| {
            Line::from(vec![
                Span::styled(format!("{:>5} ", tally.count(*verdict)), theme.style(Role::Strong)),
                Span::raw(verdict.says()),
            ])
        })
        .collect();
    lines.push(Line::from(format!("{:>5} open", tally.items - tally.decided())));
    lines.push(Line::default());
    lines.extend(wrap(&tally.sentence(), inner).into_iter().map(Line::from));
    let left_out = desk.queue.moved_left_out();
    if left_out > 0 {
        lines.push(Line::default());
        lines.push(Line::from(format!("{left_out} moved slots need no verdict")));
    }
    let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2);
    let area = popup(area, columns, rows);
    frame.render_widget(Clear, area);
    let title = if tally.is_done() { " every change has a verdict " } else { " so far " };
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(title)), area);
}
