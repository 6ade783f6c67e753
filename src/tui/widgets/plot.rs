//! A line plot with bands, drawn in braille dots; series differ by pattern as well as by colour.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::text::{fit, pad_left, width};
use crate::tui::theme::{Role, Theme};

/// How the dots of a line follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Every dot.
    Solid,
    /// Two on, two off.
    Dashed,
    /// One on, two off.
    Dotted,
    /// One on, five off.
    Sparse,
}

/// One curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Series<'a> {
    /// Points with rising x; a NaN in y is a gap.
    pub points: &'a [(f64, f64)],
    /// Lower and upper edge of a band around it, by x.
    pub band: &'a [(f64, f64, f64)],
    /// Colour.
    pub role: Role,
    /// Pattern.
    pub pattern: Pattern,
}

/// A plot.
#[derive(Debug, Clone)]
pub struct Plot<'a> {
    /// Left and right end.
    pub x: (f64, f64),
    /// Lower and upper end.
    pub y: (f64, f64),
    /// The curves, the last one on top.
    pub series: &'a [Series<'a>],
    /// A vertical line through everything.
    pub cursor: Option<f64>,
    /// Places marked on the lower edge, each with one character.
    pub marks: &'a [(f64, char)],
    /// How an x is written.
    pub x_label: fn(f64) -> String,
    /// How a y is written.
    pub y_label: fn(f64) -> String,
}

/// Bits of a braille cell by column and row.
const DOTS: [[u32; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

impl Plot<'_> {
    /// Where x lies on the screen: its column, as drawn in `area`.
    pub fn column_of(&self, area: Rect, x: f64) -> Option<u16> {
        let inside = self.inside(area);
        let share = (x - self.x.0) / (self.x.1 - self.x.0);
        let columns = f64::from(inside.width.checked_sub(1)?);
        (0.0..=1.0).contains(&share).then(|| inside.x + to_cells(share * columns))
    }

    /// The x under a column of the screen, as drawn in `area`.
    pub fn x_at(&self, area: Rect, column: u16) -> Option<f64> {
        let inside = self.inside(area);
        if inside.width < 2 || column < inside.x || column >= inside.right() {
            return None;
        }
        let share = f64::from(column - inside.x) / f64::from(inside.width - 1);
        Some(self.x.0 + share * (self.x.1 - self.x.0))
    }

    fn inside(&self, area: Rect) -> Rect {
        let labels = [self.y.0, self.y.1].map(|y| width(&(self.y_label)(y)));
        let margin = u16::try_from(labels[0].max(labels[1]) + 1).unwrap_or(0).min(area.width);
        Rect {
            x: area.x + margin,
            y: area.y,
            width: area.width - margin,
            height: area.height.saturating_sub(1),
        }
    }

    /// Draws it.
    pub fn render(&self, area: Rect, buffer: &mut Buffer, theme: Theme) {
        let inside = self.inside(area);
        if inside.width < 2 || inside.height < 2 {
            return;
        }
        self.axes(area, inside, buffer, theme);
        for series in self.series {
            self.band(series, inside, buffer, theme);
        }
        if let Some(column) = self.cursor.and_then(|x| self.column_of(area, x)) {
            for y in inside.top()..inside.bottom() {
                buffer.set_string(column, y, "│", theme.style(Role::Strong));
            }
        }
        for series in self.series {
            self.line(series, inside, buffer, theme);
        }
        for (x, mark) in self.marks {
            if let Some(column) = self.column_of(area, *x) {
                let text = mark.to_string();
                buffer.set_string(column, inside.bottom(), text, theme.style(Role::Strong));
            }
        }
    }

    fn axes(&self, area: Rect, inside: Rect, buffer: &mut Buffer, theme: Theme) {
        let faint = theme.style(Role::Faint);
        let margin = usize::from(inside.x - area.x).saturating_sub(1);
        let middle = (self.y.0 + self.y.1) / 2.0;
        let rows = [
            (inside.top(), self.y.1),
            (inside.top() + (inside.height - 1) / 2, middle),
            (inside.bottom() - 1, self.y.0),
        ];
        for (row, value) in rows {
            let text = pad_left(&(self.y_label)(value), margin);
            buffer.set_string(area.x, row, text, faint);
        }
        let left = (self.x_label)(self.x.0);
        let right = (self.x_label)(self.x.1);
        let room = usize::from(inside.width);
        if width(&left) + width(&right) < room {
            buffer.set_string(inside.x, inside.bottom(), fit(&left, room), faint);
            let start = inside.right() - u16::try_from(width(&right)).unwrap_or(0);
            buffer.set_string(start, inside.bottom(), right, faint);
        }
    }

    /// Shades the cells whose middle lies in the band.
    fn band(&self, series: &Series<'_>, inside: Rect, buffer: &mut Buffer, theme: Theme) {
        let style = theme.style(series.role);
        for column in inside.left()..inside.right() {
            let Some(x) = self.x_of_column(inside, column) else { continue };
            let Some((low, high)) = band_at(series.band, x) else { continue };
            for row in inside.top()..inside.bottom() {
                let share = 1.0 - (f64::from(row - inside.y) + 0.5) / f64::from(inside.height);
                let y = self.y.0 + share * (self.y.1 - self.y.0);
                if (low..=high).contains(&y)
                    && let Some(cell) = buffer.cell_mut((column, row))
                {
                    let both = cell.symbol() == "░";
                    let symbol = if both { "▒" } else { "░" };
                    let style = if both { theme.style(Role::Faint) } else { plain(style) };
                    cell.set_symbol(symbol).set_style(style);
                }
            }
        }
    }

    fn x_of_column(&self, inside: Rect, column: u16) -> Option<f64> {
        let share = f64::from(column - inside.x) / f64::from(inside.width.checked_sub(1)?);
        Some(self.x.0 + share * (self.x.1 - self.x.0))
    }

    fn line(&self, series: &Series<'_>, inside: Rect, buffer: &mut Buffer, theme: Theme) {
        let (columns, rows) = (i64::from(inside.width) * 2, i64::from(inside.height) * 4);
        let place = |x: f64, y: f64| {
            let across = (x - self.x.0) / (self.x.1 - self.x.0);
            let up = (y - self.y.0) / (self.y.1 - self.y.0);
            (across.is_finite() && up.is_finite()).then(|| {
                let dots = |count: i64, share: f64| to_dots(share * to_f64(count - 1));
                (dots(columns, across), rows - 1 - dots(rows, up))
            })
        };
        let mut step = 0_u32;
        let mut previous: Option<(i64, i64)> = None;
        for (x, y) in series.points {
            let here = place(*x, *y);
            if let (Some(from), Some(to)) = (previous, here) {
                let length = (to.0 - from.0).abs().max((to.1 - from.1).abs()).max(1);
                for at in 0..length {
                    let dot = (
                        from.0 + (to.0 - from.0) * at / length,
                        from.1 + (to.1 - from.1) * at / length,
                    );
                    if is_on(series.pattern, step) {
                        set_dot(dot, inside, buffer, plain(theme.style(series.role)));
                    }
                    step += 1;
                }
            }
            previous = here;
        }
        if let Some(last) = previous {
            set_dot(last, inside, buffer, plain(theme.style(series.role)));
        }
    }
}

/// Dots under an underline or in bold look like another pattern.
fn plain(style: Style) -> Style {
    Style { add_modifier: ratatui::style::Modifier::empty(), ..style }
}

fn is_on(pattern: Pattern, step: u32) -> bool {
    match pattern {
        Pattern::Solid => true,
        Pattern::Dashed => step % 4 < 2,
        Pattern::Dotted => step.is_multiple_of(3),
        Pattern::Sparse => step.is_multiple_of(6),
    }
}

fn set_dot((x, y): (i64, i64), inside: Rect, buffer: &mut Buffer, style: Style) {
    let inside_columns = 0..i64::from(inside.width) * 2;
    let inside_rows = 0..i64::from(inside.height) * 4;
    if !inside_columns.contains(&x) || !inside_rows.contains(&y) {
        return;
    }
    let column = inside.x + u16::try_from(x / 2).unwrap_or(0);
    let row = inside.y + u16::try_from(y / 4).unwrap_or(0);
    let Some(cell) = buffer.cell_mut((column, row)) else { return };
    let bit = DOTS[usize::from(x % 2 == 1)][usize::try_from(y % 4).unwrap_or(0)];
    let before = cell.symbol().chars().next().map_or(0, u32::from);
    let dots = if (0x2800..=0x28ff).contains(&before) { before - 0x2800 } else { 0 };
    if let Some(symbol) = char::from_u32(0x2800 + (dots | bit)) {
        cell.set_char(symbol).set_style(style);
    }
}

/// Lower and upper edge at x, straight between the given places.
fn band_at(band: &[(f64, f64, f64)], x: f64) -> Option<(f64, f64)> {
    let after = band.partition_point(|(at, ..)| *at < x);
    let right = band.get(after)?;
    if after == 0 {
        return (right.0 <= x).then_some((right.1, right.2));
    }
    let left = &band[after - 1];
    let share = (x - left.0) / (right.0 - left.0);
    let between = |from: f64, to: f64| from + share * (to - from);
    Some((between(left.1, right.1), between(left.2, right.2)))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a screen is at most 65535 cells wide, and the value was checked to lie on it"
)]
fn to_cells(value: f64) -> u16 {
    value.round().clamp(0.0, f64::from(u16::MAX)) as u16
}

#[expect(clippy::cast_possible_truncation, reason = "clamped far inside i64")]
fn to_dots(value: f64) -> i64 {
    value.round().clamp(-1e9, 1e9) as i64
}

#[expect(clippy::cast_precision_loss, reason = "at most four times a screen's height")]
fn to_f64(value: i64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::headless;

    fn percent(value: f64) -> String {
        format!("{:.0}%", value * 100.0)
    }

    fn number(value: f64) -> String {
        format!("{value:.2}")
    }

    const AREA: Rect = Rect { x: 0, y: 0, width: 44, height: 12 };

    fn with_plot<T>(work: impl FnOnce(&Plot<'_>) -> T) -> T {
        let falling: Vec<_> =
            (0..=20).map(|x| (f64::from(x) / 20.0, 1.0 - f64::from(x) / 25.0)).collect();
        let lower: Vec<_> = falling.iter().map(|(x, y)| (*x, y - 0.3)).collect();
        let band: Vec<_> = falling.iter().map(|(x, y)| (*x, y - 0.1, y + 0.1)).collect();
        let series = [
            Series { points: &falling, band: &band, role: Role::First, pattern: Pattern::Solid },
            Series { points: &lower, band: &[], role: Role::Second, pattern: Pattern::Dashed },
        ];
        work(&Plot {
            x: (0.0, 1.0),
            y: (0.0, 1.0),
            series: &series,
            cursor: Some(0.4),
            marks: &[(0.25, '^')],
            x_label: number,
            y_label: percent,
        })
    }

    #[test]
    fn frame() {
        let dump = with_plot(|plot| {
            headless::draw_with(AREA.width, AREA.height, |frame| {
                plot.render(AREA, frame.buffer_mut(), Theme::COLOUR);
            })
        });
        insta::assert_snapshot!(dump.with_styles());
    }

    #[test]
    fn columns_and_values_are_each_other_s_inverse() {
        with_plot(|plot| {
            for column in 5..44 {
                let x = plot.x_at(AREA, column).expect("inside");
                assert_eq!(plot.column_of(AREA, x), Some(column));
            }
            assert_eq!(plot.x_at(AREA, 0), None);
            assert_eq!(plot.column_of(AREA, 1.5), None);
        });
    }

    #[test]
    fn no_size_and_no_value_makes_it_panic() {
        let points = [(0.0, f64::NAN), (0.5, f64::INFINITY), (1.0, -1e300), (2.0, 0.5)];
        let band = [(0.0, f64::NAN, f64::NAN), (1.0, 0.0, 1.0)];
        let series =
            [Series { points: &points, band: &band, role: Role::First, pattern: Pattern::Dotted }];
        for (columns, rows) in [(0, 0), (1, 1), (3, 2), (7, 3), (80, 24)] {
            let plot = Plot {
                x: (0.0, 0.0),
                y: (1.0, 0.0),
                series: &series,
                cursor: Some(f64::NAN),
                marks: &[(9.0, 'x')],
                x_label: number,
                y_label: percent,
            };
            let area = Rect::new(0, 0, columns, rows);
            plot.render(area, &mut Buffer::empty(area), Theme::MONO);
        }
    }
}
