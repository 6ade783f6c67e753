//! The panel beside the picture: the picture's changes, and both sides of the one under the cursor.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{Msg, keys};
use crate::domain::escape::escape;
use crate::sighted::decision::report::{DetectionRow, ItemKind};
use crate::sighted::review::desk::Desk;
use crate::sighted::review::material::ReviewItem;
use crate::sighted::review::plain::{kind_says, kind_says_hidden};
use crate::sighted::review::verdict::{LeftSide, Verdict, kind_word};
use crate::tui::keymap::KeyMap;
use crate::tui::theme::{Mark, Role, Theme};
use crate::tui::widgets::list::ListState;
use crate::tui::widgets::text::{fit, pad, width, wrap};

/// Rows below the list in the panel that has room.
const DETAIL_ROWS: u16 = 11;
/// Rows of the list of verdicts, with one that is free for a note.
const VERDICT_ROWS: u16 = 6;

/// Rows below which a list of keys would not be worth reading.
const FEWEST_KEY_ROWS: u16 = 9;
/// Columns of a key in that list.
const KEY_COLUMNS: usize = 7;

/// A verdict as a mark. Left and right instead of the sides while those are hidden.
pub(super) fn mark(desk: &Desk, item: &ReviewItem) -> Mark {
    let verdict = desk.verdict_of(item);
    let (glyph, role) = match verdict {
        None if item.is_moved() => ("~", Role::Faint),
        None => ("\u{b7}", Role::Normal),
        Some(Verdict::Both) => ("=", Role::Good),
        Some(Verdict::Neither) => ("\u{d7}", Role::Bad),
        Some(Verdict::CannotTell) => ("?", Role::Warning),
        Some(side) => {
            if side == desk.meant(item.key.fixture, true) {
                ("\u{25c2}", Role::First)
            } else {
                ("\u{25b8}", Role::Second)
            }
        }
    };
    let word = verdict.map_or("open", |verdict| desk.says(item.key.fixture, verdict));
    Mark { glyph, word, role }
}

/// The five verdicts with their keys, a star behind the one that stands.
pub(super) fn verdict_rows(desk: &Desk) -> Vec<String> {
    let Some(item) = desk.item() else { return Vec::new() };
    let fixture = item.key.fixture;
    let row = |(letter, verdict): (&str, Verdict)| {
        let stands = if desk.verdict_of(item) == Some(verdict) { " *" } else { "" };
        format!("{letter}  {}{stands}", desk.says(fixture, verdict))
    };
    ["a", "d", "b", "n", "t"].into_iter().zip(desk.verdicts(fixture)).map(row).collect()
}

/// Whether there is room for all verdicts below what is said of the change.
pub(super) fn lists_verdicts(desk: &Desk, panel: Rect) -> bool {
    desk.item().is_some() && panel.height >= list_height(desk, panel) + DETAIL_ROWS + VERDICT_ROWS
}

/// Height of the list in the panel; the rest is for the details.
fn list_height(desk: &Desk, panel: Rect) -> u16 {
    let items = desk.queue.entry().map_or(0, |entry| entry.items.len());
    let room = panel.height.saturating_sub(DETAIL_ROWS);
    // A single change needs no list.
    if items < 2 { 0 } else { u16::try_from(items).unwrap_or(u16::MAX).min(room) }
}

/// The picture's change under a row of the screen.
pub(super) fn item_at(desk: &Desk, panel: Rect, row: u16) -> Option<usize> {
    let area = Rect { height: list_height(desk, panel), ..panel };
    list_state(desk).row_at(area, row)
}

fn list_state(desk: &Desk) -> ListState {
    ListState {
        cursor: desk.queue.item_place(),
        len: desk.queue.entry().map_or(0, |entry| entry.items.len()),
    }
}

/// Draws it; what is left of it below.
pub(super) fn render(desk: &Desk, frame: &mut Frame<'_>, area: Rect, theme: Theme) -> Rect {
    let Some(item) = desk.item() else { return area };
    if area.height < DETAIL_ROWS {
        compact(desk, item, frame, area, theme);
        return Rect { height: 0, ..area };
    }
    let rows = list_height(desk, area);
    let list = Rect { height: rows, ..area };
    let entry_items = desk.queue.entry().map_or(&[][..], |entry| &entry.items);
    list_state(desk).render(list, frame.buffer_mut(), theme, |place| {
        let item = &desk.material.items[entry_items[place]];
        let mark = mark(desk, item);
        let kind = kind_name(desk, item);
        let text = format!("{} {kind} {}", mark.glyph, class_text(desk, item));
        Line::from(text)
    });
    let mut lines: Vec<Line<'_>> = Vec::new();
    let columns = usize::from(area.width);
    if rows > 0 {
        lines.push(Line::styled("─".repeat(columns), theme.style(Role::Faint)));
    }
    lines.push(Line::styled(kind_name(desk, item), theme.style(Role::Strong)));
    let says = if desk.hides_sides() { kind_says_hidden(item.kind) } else { kind_says(item.kind) };
    for line in wrap(says, columns).into_iter().take(2) {
        lines.push(Line::styled(line, theme.style(Role::Faint)));
    }
    for side in sides(desk, item) {
        lines.extend(side.lines(desk.material.threshold, columns, theme));
    }
    let mark = mark(desk, item);
    lines.push(Line::from(vec![
        Span::raw("verdict "),
        Span::styled(format!("{} {}", mark.glyph, mark.word), theme.style(mark.role)),
    ]));
    if lists_verdicts(desk, area) {
        lines.extend(verdict_rows(desk).into_iter().map(|row| Line::from(format!("  {row}"))));
    }
    if let Some(kind) = desk.ledger.flag(item.key.fixture) {
        lines.push(Line::styled(
            format!("! not a photograph: {}", kind.word()),
            theme.style(Role::Warning),
        ));
    }
    let note = desk.note_of(item);
    if !note.is_empty() {
        let room = usize::from(area.height - rows).saturating_sub(lines.len()).max(1);
        let note = format!("note {}", escape(note));
        lines.extend(wrap(&note, columns).into_iter().take(room).map(Line::from));
    }
    let used = rows + u16::try_from(lines.len()).unwrap_or(u16::MAX).min(area.height - rows);
    draw_lines(lines, frame, Rect { y: area.y + rows, height: area.height - rows, ..area });
    Rect { y: area.y + used, height: area.height - used, ..area }
}

/// Keys and what they do, as many as there are rows for, where there are rows for a few.
pub(super) fn other_keys(map: &KeyMap<Msg>, frame: &mut Frame<'_>, area: Rect, theme: Theme) {
    if area.height < FEWEST_KEY_ROWS {
        return;
    }
    let columns = usize::from(area.width);
    let others = map.in_mode(keys::BROWSE).filter(|it| !keys::VERDICTS.contains(&it.name));
    let lines = others.filter_map(|binding| {
        let key = pad(&binding.keys.first()?.to_string(), KEY_COLUMNS);
        // What follows is detail; the help page has it.
        let help = binding.help.split([':', ',']).next().unwrap_or_default();
        let help = fit(help, columns.saturating_sub(KEY_COLUMNS));
        Some(Line::from(vec![Span::styled(key, theme.style(Role::Key)), Span::raw(help)]))
    });
    let area = Rect { y: area.y + 1, height: area.height - 1, ..area };
    draw_lines(lines.collect(), frame, area);
}

/// Three rows: what it is and the verdict, and one line a side.
fn compact(desk: &Desk, item: &ReviewItem, frame: &mut Frame<'_>, area: Rect, theme: Theme) {
    let columns = usize::from(area.width);
    let mark = mark(desk, item);
    let verdict = format!("{} {}", mark.glyph, mark.word);
    let flag = desk.ledger.flag(item.key.fixture).map_or("", |_| "! ");
    let note = if desk.note_of(item).is_empty() { "" } else { " \u{270e}" };
    let what = format!("{flag}{}{note}", kind_name(desk, item));
    let room = columns.saturating_sub(width(&verdict) + 1);
    let mut lines = vec![Line::from(vec![
        Span::styled(pad(&what, room), theme.style(Role::Strong)),
        Span::raw(" "),
        Span::styled(verdict, theme.style(mark.role)),
    ])];
    for side in sides(desk, item) {
        lines.push(side.one_line(desk.material.threshold, columns, theme));
    }
    let note = desk.note_of(item);
    if !note.is_empty() {
        lines.push(Line::from(fit(&format!("note {}", escape(note)), columns)));
    }
    draw_lines(lines, frame, area);
}

fn draw_lines(lines: Vec<Line<'_>>, frame: &mut Frame<'_>, area: Rect) {
    for (row, line) in (area.top()..area.bottom()).zip(lines) {
        frame.buffer_mut().set_line(area.x, row, &line, area.width);
    }
}

fn kind_name(desk: &Desk, item: &ReviewItem) -> &'static str {
    match item.kind {
        ItemKind::MovedSlot => "moved slot",
        ItemKind::Vanished | ItemKind::Appeared if desk.hides_sides() => "on one side",
        other => kind_word(other),
    }
}

fn class_text(desk: &Desk, item: &ReviewItem) -> String {
    escape(&desk.material.class_names(item).join(" / ")).into_owned()
}

/// One side of a change, as it is shown.
struct SideLines {
    name: &'static str,
    role: Role,
    /// The line of its box.
    stroke: &'static str,
    row: Option<DetectionRow>,
    elsewhere: Option<DetectionRow>,
    class: String,
}

/// First and second: reference and candidate, or left and right.
fn sides(desk: &Desk, item: &ReviewItem) -> [SideLines; 2] {
    let left = desk.left_side(item.key.fixture);
    let names = if left.is_some() { ["left", "right"] } else { ["reference", "candidate"] };
    let mut found = [(item.a, item.elsewhere_a), (item.b, item.elsewhere_b)];
    if left == Some(LeftSide::Candidate) {
        found.reverse();
    }
    let class = |rows: &(Option<DetectionRow>, Option<DetectionRow>)| {
        rows.0
            .or(rows.1)
            .map(|row| escape(&desk.material.class_name(row.class_index)).into_owned())
            .unwrap_or_default()
    };
    let side = |at: usize, role: Role, stroke: &'static str| SideLines {
        name: names[at],
        role,
        stroke,
        row: found[at].0,
        elsewhere: found[at].1,
        class: class(&found[at]),
    };
    [side(0, Role::First, "┃"), side(1, Role::Second, "║")]
}

impl SideLines {
    fn shown(&self) -> Option<DetectionRow> {
        self.row.or(self.elsewhere)
    }

    /// Name and class; bar; numbers.
    fn lines(&self, threshold: f64, columns: usize, theme: Theme) -> Vec<Line<'static>> {
        let style = theme.style(self.role);
        let below = match (self.row, self.elsewhere) {
            (None, Some(row)) if row.confidence < threshold => "low: ",
            (None, Some(_)) => "other: ",
            _ => "",
        };
        let class = if self.shown().is_none() { "nothing there" } else { &self.class };
        let head = format!("{} {:<9} ", self.stroke, self.name);
        let room = columns.saturating_sub(width(&head));
        let mut lines = vec![Line::from(vec![
            Span::styled(head, style),
            Span::raw(fit(&format!("{below}{class}"), room)),
        ])];
        let confidence = self.shown().map(|row| row.confidence);
        lines.push(Line::from(vec![
            Span::raw("  "),
            Span::styled(bar(confidence, threshold, columns.saturating_sub(2)), style),
        ]));
        let numbers = self.shown().map_or_else(
            || "  \u{2013}".to_owned(),
            |row| {
                format!(
                    "  {:.3}  {} to {threshold}  slot {}",
                    row.confidence,
                    signed(row.confidence - threshold),
                    row.slot
                )
            },
        );
        lines.push(Line::from(fit(&numbers, columns)));
        lines
    }

    fn one_line(&self, threshold: f64, columns: usize, theme: Theme) -> Line<'static> {
        let style = theme.style(self.role);
        let initial: String = self.name.chars().take(1).collect::<String>().to_uppercase();
        let text = match self.shown() {
            Some(row) => format!(
                "{:.2} {} {} s{}",
                row.confidence,
                signed2(row.confidence - threshold),
                self.class,
                row.slot
            ),
            None => "nothing there".to_owned(),
        };
        let confidence = self.shown().map(|row| row.confidence);
        let bar = bar(confidence, threshold, 10);
        let room = columns.saturating_sub(14);
        Line::from(vec![
            Span::styled(format!("{}{initial} {bar} ", self.stroke), style),
            Span::raw(fit(&text, room)),
        ])
    }
}

/// A number with its sign, a real minus.
fn signed(value: f64) -> String {
    let sign = if value < 0.0 { '\u{2212}' } else { '+' };
    format!("{sign}{:.3}", value.abs())
}

fn signed2(value: f64) -> String {
    let sign = if value < 0.0 { '\u{2212}' } else { '+' };
    format!("{sign}{:.2}", value.abs())
}

/// Confidence as a bar from 0 to 1, with the threshold as a line through it.
fn bar(confidence: Option<f64>, threshold: f64, columns: usize) -> String {
    let cells = |share: f64| -> usize {
        #[expect(clippy::cast_precision_loss, reason = "a screen's width")]
        let wanted = share.clamp(0.0, 1.0) * columns as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "from 0 to a screen's width; NaN becomes 0"
        )]
        let whole = wanted.round() as usize;
        whole
    };
    let filled = confidence.map_or(0, cells);
    let mark = cells(threshold).min(columns.saturating_sub(1));
    (0..columns)
        .map(|at| match (at == mark, at < filled) {
            (true, _) => '│',
            (false, true) => '█',
            (false, false) => '░',
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_shows_the_threshold_whatever_the_confidence() {
        assert_eq!(bar(Some(0.62), 0.4, 10), "████│█░░░░");
        assert_eq!(bar(Some(0.2), 0.4, 10), "██░░│░░░░░");
        assert_eq!(bar(None, 1.0, 4), "░░░│");
        assert_eq!(bar(Some(f64::NAN), 0.5, 2), "░│");
        assert_eq!(bar(Some(1.0), 0.5, 0), "");
    }

    #[test]
    fn signs_are_always_shown() {
        assert_eq!(signed(-0.02), "\u{2212}0.020");
        assert_eq!(signed2(0.3), "+0.30");
    }
}
