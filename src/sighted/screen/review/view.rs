//! Draws the review screen.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};

use super::layout::{Layout, layout, warning};
use super::{Menu, Mode, Notice, Prompt, ReviewScreen, Shows, keys, panel};
use crate::domain::escape::escape;
use crate::domain::label::NotPhotograph;
use crate::sighted::review::desk::Desk;
use crate::sighted::review::queue::FILTER_WORDS;
use crate::sighted::review::tally::Tally;
use crate::sighted::review::verdict::Verdict;
use crate::tui::help::{HintBar, hint_bar};
use crate::tui::screen::{Look, Screen as _};
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::list::render_menu;
use crate::tui::widgets::text::{fit, pad, popup, width, wrap};

/// Columns from which on there is room to say which screen this is.
const WITH_NAME: u16 = 60;

pub(super) fn render(screen: &ReviewScreen, frame: &mut Frame<'_>, area: Rect, look: &Look) {
    let theme = look.theme;
    let Some(desk) = &screen.desk else { return waiting(screen, frame, area, theme) };
    let size = (area.width, area.height);
    let warned = warning(desk, size);
    let parts = layout(size, warned.len(), screen.shows);
    header(screen, desk, frame, parts.header, theme);
    for (row, line) in (parts.warning.top()..parts.warning.bottom()).zip(warned) {
        let style = theme.style(Role::Warning);
        frame.buffer_mut().set_stringn(0, row, line, usize::from(area.width), style);
    }
    let mut verdicts_listed = false;
    let covered = look.covered || screen.is_covered();
    let under = Look { covered, ..*look };
    if desk.queue.item().is_some() {
        pictures(screen, frame, &parts, &under);
        let rest = panel::render(desk, frame, parts.panel, theme);
        panel::other_keys(screen.keymap(), frame, rest, theme);
        verdicts_listed = panel::lists_verdicts(desk, parts.panel);
    } else {
        nothing(screen, desk, frame, parts.pictures[0], theme);
    }
    status(screen, desk, frame, parts.status, theme);
    let bar = HintBar::new(screen.keymap(), screen.mode());
    // What stands in the panel leaves room for other keys.
    let listed = |name: &str| verdicts_listed && keys::VERDICTS.contains(&name);
    frame.render_widget(bar.without(listed).line(parts.hints.width, theme), parts.hints);
    match &screen.mode {
        Mode::Menu(menu, list) => {
            let rows = menu_rows(desk, *menu);
            let title = match menu {
                Menu::Verdict => " verdict ",
                Menu::Flag => " what is the picture? ",
            };
            render_menu(list, title, &rows, frame, area, theme);
        }
        Mode::Tally => tally(desk, frame, area, theme),
        Mode::Prompt(Prompt::Filter, _) => filter_words(frame, parts.status, theme),
        Mode::Browse | Mode::Prompt(..) => {}
    }
}

/// Before report and log were read.
fn waiting(screen: &ReviewScreen, frame: &mut Frame<'_>, area: Rect, theme: Theme) {
    let (text, role) = match &screen.material {
        Some(Err(reason)) => (reason.clone(), Role::Bad),
        Some(Ok(_)) => ("reading verdicts…".to_owned(), Role::Faint),
        None => ("reading the report…".to_owned(), Role::Faint),
    };
    let paragraph = Paragraph::new(text).style(theme.style(role)).wrap(Wrap { trim: true });
    let body = Rect { height: area.height.saturating_sub(1), ..area };
    frame.render_widget(paragraph, body);
    let hints = Rect { y: body.bottom(), height: area.height - body.height, ..area };
    frame.render_widget(hint_bar(screen.keymap(), screen.mode(), area.width, theme), hints);
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
    let columns = usize::from(area.width);
    if area.width >= WITH_NAME {
        parts.insert(0, "review".to_owned());
    }
    let text = parts.join("  ");
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
            Prompt::Jump if area.width < WITH_NAME => "jump to: ".to_owned(),
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

/// What a filter may say, above the line it is typed in; without what it means where there is no room.
fn filter_words(frame: &mut Frame<'_>, prompt: Rect, theme: Theme) {
    let columns = usize::from(prompt.width);
    let column = FILTER_WORDS.iter().map(|(words, _)| width(words)).max().unwrap_or(0) + 2;
    let widest = FILTER_WORDS.iter().map(|(_, meaning)| column + width(meaning)).max();
    let key = theme.style(Role::Key);
    let lines: Vec<Line<'_>> = if widest.is_some_and(|widest| widest <= columns) {
        let line = |(words, meaning): &(&str, &'static str)| {
            Line::from(vec![Span::styled(pad(words, column), key), Span::raw(*meaning)])
        };
        FILTER_WORDS.iter().map(line).collect()
    } else {
        let words = FILTER_WORDS.iter().flat_map(|(words, _)| wrap(words, columns));
        words.map(|words| Line::styled(words, key)).collect()
    };
    let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(prompt.y);
    let area = Rect { y: prompt.y - rows, height: rows, ..prompt };
    frame.render_widget(Clear, area);
    for (row, line) in (area.top()..area.bottom()).zip(lines) {
        frame.buffer_mut().set_line(area.x, row, &line, area.width);
    }
}

fn menu_rows(desk: &Desk, menu: Menu) -> Vec<String> {
    match menu {
        Menu::Verdict => panel::verdict_rows(desk),
        Menu::Flag => std::iter::once("a photograph".to_owned())
            .chain(
                NotPhotograph::ALL.iter().map(|kind| format!("not a photograph: {}", kind.word())),
            )
            .collect(),
    }
}

fn tally(desk: &Desk, frame: &mut Frame<'_>, area: Rect, theme: Theme) {
    let tally = Tally::of(&desk.material, &desk.ledger);
    // The hints stay in sight: they say how to leave.
    let area = Rect { height: area.height.saturating_sub(1), ..area };
    let columns = area.width.min(64);
    let inner = usize::from(columns.saturating_sub(4)).max(1);
    let counts: Vec<(u64, &str)> = Verdict::ALL
        .iter()
        .map(|verdict| (tally.count(*verdict), verdict.says()))
        .chain([(tally.items - tally.decided(), "open")])
        .collect();
    let mut lines: Vec<Line<'_>> = counts
        .iter()
        .map(|(count, what)| {
            Line::from(vec![
                Span::styled(format!("{count:>5} "), theme.style(Role::Strong)),
                Span::raw(*what),
            ])
        })
        .collect();
    lines.push(Line::default());
    let sentence: Vec<_> = wrap(&tally.sentence(), inner).into_iter().map(Line::from).collect();
    if lines.len() + sentence.len() + 2 > usize::from(area.height) {
        let counts: Vec<_> = counts.iter().map(|(count, what)| format!("{count} {what}")).collect();
        lines = wrap(&counts.join(", "), inner).into_iter().map(Line::from).collect();
    }
    lines.extend(sentence);
    let left_out = desk.queue.moved_left_out();
    if left_out > 0 && lines.len() + 4 <= usize::from(area.height) {
        lines.push(Line::default());
        lines.push(Line::from(format!("{left_out} moved slots need no verdict")));
    }
    let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2);
    let area = popup(area, columns, rows);
    frame.render_widget(Clear, area);
    let title = if tally.is_done() { " every change has a verdict " } else { " so far " };
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(title)), area);
}
