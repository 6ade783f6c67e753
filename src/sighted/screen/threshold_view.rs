//! Draws the threshold screen. Reads state only.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::threshold::{Band, Listed, RANGE, Shown, ThresholdScreen};
use crate::domain::canonical::float_text;
use crate::domain::escape::escape;
use crate::sighted::decision::report::Sides;
use crate::sighted::score::claim::counted;
use crate::sighted::score::curve::Change;
use crate::sighted::score::presence::Measure;
use crate::sighted::score::text::badge;
use crate::stats::estimate::{Estimate, points};
use crate::stats::paired::FEWEST_DECIDABLE;
use crate::tui::help::hint_bar;
use crate::tui::screen::{Look, Screen as _};
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::plot::{Pattern, Plot, Series};
use crate::tui::widgets::text::{fit, fit_line, fit_middle, fit_parts, pad, width, wrap};

/// Rows of the numbers under the plot.
const NUMBER_ROWS: u16 = 9;

/// Rows of the same numbers where there is little room.
const FEW_ROWS: u16 = 8;

/// Below this width numbers are written short.
const NARROW: u16 = 72;

/// Lowest plot that shows a shape.
const PLOT_ROWS: u16 = 5;

/// Below this width a change is written with signs only.
const SHORT_ROW: usize = 60;

/// Columns of the field a threshold is typed in.
const FIELD_COLUMNS: u16 = 40;

/// Longest name of an artifact in the title.
const NAME_COLUMNS: usize = 28;

/// From this width on the list and a picture stand beside the curves.
const WIDE: u16 = 110;

/// Where everything is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Places {
    /// First row.
    pub title: Rect,
    /// Curves, when there is room.
    pub plot: Option<Rect>,
    /// Rates and decisions.
    pub numbers: Rect,
    /// What the last step did.
    pub step: Rect,
    /// Pictures it changed.
    pub list: Rect,
    /// One of them, when there is room.
    pub picture: Option<Rect>,
    /// Last row.
    pub hints: Rect,
}

impl Places {
    /// Divides `area`. When `looking`, a terminal too narrow for both shows the image in place of curves and
    /// numbers.
    pub(super) fn of(area: Rect, looking: bool) -> Self {
        let row = |y: u16, height: u16| Rect { y: area.y + y, height, ..area };
        let title = row(0, 1);
        let hints = row(area.height.saturating_sub(1), 1);
        let body = Rect { y: area.y + 1, height: area.height.saturating_sub(2), ..area };
        if area.width >= WIDE && area.height >= 24 {
            let left = Rect { width: body.width * 2 / 3, ..body };
            let right = Rect {
                x: left.right() + 1,
                width: body.width.saturating_sub(left.width + 1),
                ..body
            };
            let plot = Rect { height: left.height.saturating_sub(NUMBER_ROWS), ..left };
            let numbers = Rect { y: plot.bottom(), height: left.height - plot.height, ..left };
            let step = Rect { height: 2, ..right };
            let rest = right.height.saturating_sub(2);
            let list = Rect { y: step.bottom(), height: rest / 3, ..right };
            let picture = Rect { y: list.bottom(), height: rest - list.height, ..right };
            return Self {
                title,
                plot: Some(plot),
                numbers,
                step,
                list,
                picture: Some(picture),
                hints,
            };
        }
        let number_rows = if area.width < NARROW { FEW_ROWS } else { NUMBER_ROWS };
        let spare = body.height.saturating_sub(number_rows + 1 + 3);
        let plot_rows = if spare >= PLOT_ROWS { spare } else { 0 };
        let plot = (plot_rows > 0).then_some(Rect { height: plot_rows, ..body });
        let numbers_rows = number_rows.min(body.height.saturating_sub(plot_rows + 2));
        let numbers = Rect { y: body.y + plot_rows, height: numbers_rows, ..body };
        let step = Rect { y: numbers.bottom(), height: 1, ..body };
        let list =
            Rect { y: step.bottom(), height: body.bottom().saturating_sub(step.bottom()), ..body };
        let inside = |rect: Rect| rect.intersection(area);
        if looking {
            let picture = inside(Rect { height: step.y.saturating_sub(body.y), ..body });
            let none = Rect { height: 0, ..body };
            let (step, list) = (inside(step), inside(list));
            return Self {
                title,
                plot: None,
                numbers: none,
                step,
                list,
                picture: Some(picture),
                hints,
            };
        }
        Self {
            title,
            plot,
            numbers: inside(numbers),
            step: inside(step),
            list: inside(list),
            picture: None,
            hints,
        }
    }
}

fn plot_of<'a>(series: &'a [Series<'a>], cursor: f64, marks: &'a [(f64, char)]) -> Plot<'a> {
    Plot {
        x: RANGE,
        y: (0.0, 1.0),
        series,
        cursor: Some(cursor),
        marks,
        x_label: |x| format!("{x:.2}"),
        y_label: |y| format!("{:.0} %", 100.0 * y),
    }
}

/// The threshold under a column of the plot.
pub(super) fn x_at(plot: Rect, column: u16) -> Option<f64> {
    plot_of(&[], 0.0, &[]).x_at(without_legend(plot), column)
}

/// The last row of a plot says which line is which.
fn without_legend(plot: Rect) -> Rect {
    Rect { height: plot.height.saturating_sub(1), ..plot }
}

/// Draws everything.
pub(super) fn view(screen: &ThresholdScreen, frame: &mut Frame<'_>, area: Rect, look: &Look) {
    let places = Places::of(area, screen.looking);
    let theme = look.theme;
    let buffer = frame.buffer_mut();
    if area.is_empty() {
        return;
    }
    title(screen, places.title, buffer, theme);
    if let Some(plot) = places.plot {
        curves(screen, plot, buffer, theme);
    }
    numbers(screen, places.numbers, buffer, theme);
    step(screen, places.step, buffer, theme);
    list(screen, places.list, buffer, theme);
    if let Some(place) = places.picture {
        screen.picture.render(place, buffer, look);
    }
    bottom(screen, places.hints, buffer, theme);
}

/// A threshold, without the digits a step to just above a confidence adds.
fn threshold_text(value: f64) -> String {
    let rounded = (value * 1e6).round() / 1e6;
    let text = float_text(rounded);
    if rounded.total_cmp(&value).is_eq() { text } else { format!("{text}+") }
}

/// Which side is A and which is B, and, where there is room, which file with which hash.
pub(super) fn side_names(
    names: &Sides<String>,
    hashes: &Sides<String>,
    columns: u16,
    theme: Theme,
) -> Vec<Span<'static>> {
    let side = |word: &str, name: &str, hash: &str| {
        if columns < WIDE || name.is_empty() {
            return format!(" {word}");
        }
        let hash = escape(hash.get(..8).unwrap_or(hash));
        format!(" {word} {} {hash} ", fit_middle(&escape(name), NAME_COLUMNS))
    };
    vec![
        Span::styled("  A", theme.style(Role::First)),
        Span::raw(side("reference", &names.a, &hashes.a)),
        Span::styled(" B", theme.style(Role::Second)),
        Span::raw(side("candidate", &names.b, &hashes.b)),
    ]
}

fn title(screen: &ThresholdScreen, area: Rect, buffer: &mut Buffer, theme: Theme) {
    let shown = screen.shown();
    let line = Line::from(vec![
        Span::styled("Threshold ", theme.style(Role::Strong)),
        Span::styled(threshold_text(screen.at), theme.style(Role::Strong)),
        Span::raw(" "),
        Span::styled(badge(shown.blind), theme.style(Role::Warning)),
        Span::raw(format!(" {}", shown.name)),
    ]);
    let others = [
        vec![Span::raw(format!("  sidecar {}", float_text(screen.evidence.recommended)))],
        side_names(&screen.evidence.names, &screen.evidence.artifacts, area.width, theme),
    ];
    let line = fit_parts(line, others, usize::from(area.width));
    buffer.set_line(area.x, area.y, &line, area.width);
}

fn curves(screen: &ThresholdScreen, area: Rect, buffer: &mut Buffer, theme: Theme) {
    let sampled = &screen.shown().sampled;
    let none: &[(f64, f64, f64)] = &[];
    let banded = |side: usize| match (screen.band, side) {
        (Band::Recall, 0 | 1) | (Band::FalsePositives, 2 | 3) => sampled.bands[side].as_slice(),
        _ => none,
    };
    let looks = [
        (Role::First, Pattern::Solid),
        (Role::Second, Pattern::Dashed),
        (Role::First, Pattern::Dotted),
        (Role::Second, Pattern::Sparse),
    ];
    let series: Vec<Series<'_>> = looks
        .iter()
        .enumerate()
        .map(|(side, (role, pattern))| Series {
            points: &sampled.lines[side],
            band: banded(side),
            role: *role,
            pattern: *pattern,
        })
        .collect();
    let marks = [(screen.evidence.recommended, '^')];
    plot_of(&series, screen.at, &marks).render(without_legend(area), buffer, theme);
    let legend = Line::from(vec![
        Span::raw("recall "),
        Span::styled("A solid", theme.style(Role::First)),
        Span::raw(" "),
        Span::styled("B dashed", theme.style(Role::Second)),
        Span::raw(", false pos. "),
        Span::styled("A dots", theme.style(Role::First)),
        Span::raw(" "),
        Span::styled("B sparse", theme.style(Role::Second)),
        Span::raw("; ^ sidecar"),
        Span::raw(match screen.band {
            Band::Recall => "; band recall",
            Band::FalsePositives => "; band false pos.",
            Band::Off => "",
        }),
    ]);
    buffer.set_line(area.x, area.bottom().saturating_sub(1), &legend, area.width);
    if sampled.lines.iter().all(Vec::is_empty) {
        let text = "too few labelled images for a curve";
        buffer.set_stringn(area.x + 8, area.y + area.height / 2, text, text.len(), Style::new());
    }
}

/// One side's rate with the band that holds at any threshold.
fn rate_text(shown: &Shown, measure: Measure, candidate: bool, at: f64) -> String {
    let table = shown.curve.table(measure, at);
    let k = if candidate { table.second() } else { table.first() };
    let estimate = Estimate::of(k, table.n());
    match (estimate.rate(), shown.curve.rate(measure, candidate, at)) {
        (Some(rate), Some((_, band))) => format!(
            "{}/{} = {} (any t: {:.0} to {:.0} %)",
            rate.k,
            rate.n,
            crate::stats::estimate::percent(rate.k, rate.n),
            100.0 * band.low,
            100.0 * band.high
        ),
        _ => estimate.text(),
    }
}

/// Candidate − reference at the cursor.
fn difference_text(shown: &Shown, measure: Measure, at: f64) -> String {
    let table = shown.curve.table(measure, at);
    let changed = table.discordant();
    match (table.difference(), table.tango()) {
        (Some(difference), Some(interval))
            if table.n() >= crate::stats::estimate::INTERVAL_FROM =>
        {
            let test = if changed < FEWEST_DECIDABLE {
                format!("{changed} changed, cannot be decided")
            } else {
                format!("{changed} changed, {}", crate::stats::estimate::p_text(table.mcnemar()))
            };
            format!(
                "difference {} points ({} to {}); {test}",
                points(difference),
                points(interval.low),
                points(interval.high)
            )
        }
        _ => "too few images to compare".to_owned(),
    }
}

fn numbers(screen: &ThresholdScreen, area: Rect, buffer: &mut Buffer, theme: Theme) {
    let short = area.width < NARROW && area.height <= FEW_ROWS;
    let shown = screen.shown();
    let at = screen.at;
    let mut lines: Vec<Line<'_>> = Vec::new();
    let names = if short { ["recall", "f.pos."] } else { ["recall", "false pos."] };
    let column = if short { 7 } else { 11 };
    for (measure, name) in [Measure::Recall, Measure::FalsePositives].into_iter().zip(names) {
        for (side, role, candidate) in [("A ", Role::First, false), ("B ", Role::Second, true)] {
            let name = if candidate { "" } else { name };
            let text = if short {
                short_rate_text(shown, measure, candidate, at)
            } else {
                rate_text(shown, measure, candidate, at)
            };
            lines.push(Line::from(vec![
                Span::styled(pad(name, column), theme.style(Role::Strong)),
                Span::styled(side, theme.style(role)),
                Span::raw(text),
            ]));
        }
        if !short {
            let difference = difference_text(shown, measure, at);
            lines.push(Line::from(vec![Span::raw(pad("", column)), Span::raw(difference)]));
        }
    }
    if short {
        for (measure, name) in [Measure::Recall, Measure::FalsePositives].into_iter().zip(names) {
            let text = short_difference_text(shown, measure, at);
            lines.push(Line::raw(format!("{name} B\u{2212}A {text}")));
        }
    }
    lines.push(Line::from(vec![
        Span::styled(pad(if short { "" } else { "decisions" }, column), theme.style(Role::Strong)),
        Span::raw(decisions_text(screen, short)),
    ]));
    let warning = if short { short_same_data_text(shown) } else { same_data_text(shown) };
    lines.extend(
        wrap(&warning, usize::from(area.width))
            .into_iter()
            .map(|line| Line::styled(line, theme.style(Role::Warning))),
    );
    for (y, line) in (area.top()..area.bottom()).zip(&lines) {
        buffer.set_line(area.x, y, line, area.width);
    }
}

fn decisions_text(screen: &ThresholdScreen, short: bool) -> String {
    let Some(row) = &screen.decisions else {
        let floor = float_text(screen.evidence.detection_floor);
        if short {
            return format!("not known below {floor}");
        }
        return format!("not known below {floor}: the report keeps detections from there on");
    };
    if short {
        return format!(
            "{} ({} real) {} misl. {} img",
            counted(row.threshold_flips, "flip"),
            row.real_flips,
            row.mislabels,
            row.images_changed
        );
    }
    format!(
        "{} ({} real), {}, {} changed, {} in presence",
        counted(row.threshold_flips, "flip"),
        row.real_flips,
        counted(row.mislabels, "mislabel"),
        counted(row.images_changed, "image"),
        row.images_presence_changed
    )
}

fn short_rate_text(shown: &Shown, measure: Measure, candidate: bool, at: f64) -> String {
    let table = shown.curve.table(measure, at);
    let k = if candidate { table.second() } else { table.first() };
    let estimate = Estimate::of(k, table.n());
    match (estimate.rate(), shown.curve.band(measure)) {
        (Some(rate), Some(half)) => format!(
            "{}/{} = {} \u{b1}{:.0} at any t",
            rate.k,
            rate.n,
            crate::stats::estimate::percent(rate.k, rate.n),
            100.0 * half
        ),
        _ => estimate.text(),
    }
}

fn short_difference_text(shown: &Shown, measure: Measure, at: f64) -> String {
    let table = shown.curve.table(measure, at);
    match (table.difference(), table.tango()) {
        (Some(difference), Some(interval))
            if table.n() >= crate::stats::estimate::INTERVAL_FROM =>
        {
            format!(
                "{} ({} to {})",
                points(difference),
                points(interval.low),
                points(interval.high)
            )
        }
        _ => "too few images".to_owned(),
    }
}

fn short_same_data_text(shown: &Shown) -> String {
    let half = |measure| {
        let half = shown.curve.band(measure);
        half.map_or_else(|| "?".to_owned(), |half| format!("\u{b1}{:.0}", 100.0 * half))
    };
    format!("chosen on same data: {} / {}", half(Measure::Recall), half(Measure::FalsePositives))
}

/// What a threshold read off this plot costs in certainty, in words.
pub(super) fn same_data_text(shown: &Shown) -> String {
    let half = |measure| {
        shown.curve.band(measure).map_or_else(
            || "unmeasured".to_owned(),
            |half| format!("\u{b1}{:.1} points", 100.0 * half),
        )
    };
    let unresolved = if shown.unresolved == 0 {
        String::new()
    } else {
        format!("; {} unresolved left out", shown.unresolved)
    };
    format!(
        "a point picked here is chosen on the same data that judges it; \"any t\" allows for that: recall {}, false pos. {}{unresolved}",
        half(Measure::Recall),
        half(Measure::FalsePositives)
    )
}

fn step(screen: &ThresholdScreen, area: Rect, buffer: &mut Buffer, theme: Theme) {
    if area.is_empty() {
        return;
    }
    let columns = usize::from(area.width);
    let (text, parts) = match screen.listed {
        Listed::Differing => {
            let text = format!("{}: only one side finds something", threshold_text(screen.at));
            (text, by_label(screen, |change| if change.candidate { "only B" } else { "only A" }))
        }
        Listed::Step if screen.from.total_cmp(&screen.at).is_eq() => {
            ("move the cursor to see which images change".to_owned(), String::new())
        }
        Listed::Step => {
            let gained = screen.changes.iter().filter(|change| change.gained).count();
            let text = format!(
                "{} \u{2192} {}: {} lost, {gained} gained",
                threshold_text(screen.from),
                threshold_text(screen.at),
                screen.changes.len() - gained
            );
            (text, by_label(screen, |change| if change.candidate { "B" } else { "A" }))
        }
    };
    // What it costs stands below where there is a row for it, else behind as far as there is room.
    let (first, second) =
        if area.height > 1 { (text, parts) } else { (format!("{text}  {parts}"), String::new()) };
    let style = theme.style(Role::Strong);
    buffer.set_stringn(area.x, area.y, fit(first.trim_end(), columns), columns, style);
    if area.height > 1 {
        buffer.set_stringn(area.x, area.y + 1, fit(&second, columns), columns, Style::new());
    }
}

/// Listed images by what people say of them and by side: `litter A 3 B 4; clean B 1`.
fn by_label(screen: &ThresholdScreen, side: impl Fn(&Change) -> &'static str) -> String {
    let mut groups: Vec<(&'static str, Vec<(&'static str, u64)>)> = Vec::new();
    for change in &screen.changes {
        let (label, side) = (screen.label_word(change), side(change));
        let at = groups.iter().position(|(word, _)| *word == label).unwrap_or(groups.len());
        if at == groups.len() {
            groups.push((label, Vec::new()));
        }
        let sides = &mut groups[at].1;
        match sides.iter_mut().find(|(word, _)| *word == side) {
            Some((_, count)) => *count += 1,
            None => sides.push((side, 1)),
        }
    }
    // In an order that does not depend on the list's.
    let order = ["litter", "clean", "disputed", "skipped", "unlabelled"];
    groups.sort_by_key(|(label, _)| order.iter().position(|word| word == label));
    let parts = groups.iter_mut().map(|(label, sides)| {
        sides.sort_unstable();
        let sides: Vec<String> =
            sides.iter().map(|(side, count)| format!("{side} {count}")).collect();
        format!("{label} {}", sides.join(" "))
    });
    parts.collect::<Vec<_>>().join("; ")
}

fn list(screen: &ThresholdScreen, area: Rect, buffer: &mut Buffer, theme: Theme) {
    let columns = usize::from(area.width.saturating_sub(2));
    if screen.changes.is_empty() && !area.is_empty() {
        let text = match screen.listed {
            Listed::Differing => "on no image does only one side find something",
            Listed::Step => "no image went from something to nothing, or back",
        };
        let text = fit(text, columns);
        buffer.set_stringn(area.x + 2, area.y, text, columns, theme.style(Role::Faint));
    }
    screen.list.render(area, buffer, theme, |index| {
        screen
            .changes
            .get(index)
            .map_or_else(Line::default, |change| change_line(screen, change, columns, theme))
    });
}

fn change_line(
    screen: &ThresholdScreen,
    change: &Change,
    columns: usize,
    theme: Theme,
) -> Line<'static> {
    let (side, role) = if change.candidate { ("B", Role::Second) } else { ("A", Role::First) };
    let verb = match (screen.listed, change.gained, columns < SHORT_ROW) {
        (Listed::Differing, ..) => "only",
        (Listed::Step, true, true) => "+",
        (Listed::Step, true, false) => "+ gained",
        (Listed::Step, false, true) => "-",
        (Listed::Step, false, false) => "- lost  ",
    };
    let tail = format!(" {:<10} {:.4}", screen.label_word(change), change.best);
    let head = 2 + width(verb) + 1;
    let room = columns.saturating_sub(head + width(&tail));
    let path = escape(&screen.row(change).path).into_owned();
    // Folders are the part that tells pictures apart least.
    let path = match path.rsplit_once('/') {
        Some((_, name)) if width(&path) > room => format!("\u{2026}/{name}"),
        _ => path,
    };
    Line::from(vec![
        Span::styled(side, theme.style(role)),
        Span::raw(format!(" {verb} ")),
        Span::raw(pad(&fit_middle(&path, room), room)),
        Span::raw(tail),
    ])
}

fn bottom(screen: &ThresholdScreen, area: Rect, buffer: &mut Buffer, theme: Theme) {
    let columns = usize::from(area.width);
    let hints = hint_bar(screen.keymap(), screen.mode(), area.width, theme);
    if let Some(input) = &screen.typing {
        let said = if screen.notice.is_some() { "expected" } else { "threshold" };
        let prompt = format!("{said} {} to {}: ", float_text(RANGE.0), float_text(RANGE.1));
        let field = Rect { width: area.width.min(FIELD_COLUMNS), ..area };
        input.render(&prompt, field, buffer);
        let rest = area.width - field.width;
        if hints.width() <= usize::from(rest) {
            buffer.set_line(field.right(), area.y, &hints, rest);
        }
        return;
    }
    let line = if screen.asking {
        let at = threshold_text(screen.at);
        let long = format!("Choose {at}? Its numbers were chosen on the same data. ");
        let short = format!("Same data: choose {at}? ");
        let answers = hints.width();
        let question = if width(&long) + answers <= columns { long } else { short };
        let mut line = Line::styled(question, theme.style(Role::Warning));
        line.spans.extend(hints.spans);
        line
    } else if let Some(notice) = &screen.notice {
        Line::styled(notice.clone(), theme.style(Role::Warning))
    } else {
        hints
    };
    buffer.set_line(area.x, area.y, &fit_line(line, columns), area.width);
}
