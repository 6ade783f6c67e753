//! Boxes over a picture: as line characters where the picture is cells, as lines of pixels where it is
//! pixels. The two line kinds differ without colour, and where both run through the same cells they take
//! turns: two boxes at one place are seen as two.

use std::collections::{HashMap, HashSet};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

use super::viewport::UnitRect;
use crate::media::orientation::Orientation;
use crate::tui::theme::{BLUE, ORANGE, Theme};

/// How a box is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Line {
    /// Heavy and unbroken; blue.
    First,
    /// Double, or dashed in pixels; orange.
    Second,
}

/// One box.
#[derive(Debug, Clone, PartialEq)]
pub struct BoxOverlay {
    /// Where, in the stored picture.
    pub rect: UnitRect,
    /// How.
    pub line: Line,
    /// One to a few characters at its top left corner; cells only.
    pub tag: String,
    /// Less important: drawn thin.
    pub faint: bool,
}

/// Corners and edges: top left, top right, bottom left, bottom right, horizontal, vertical.
const HEAVY: [&str; 6] = ["┏", "┓", "┗", "┛", "━", "┃"];
const DOUBLE: [&str; 6] = ["╔", "╗", "╚", "╝", "═", "║"];
const LIGHT: [&str; 6] = ["┌", "┐", "└", "┘", "─", "│"];
const DASHED: [&str; 6] = ["┌", "┐", "└", "┘", "╌", "╎"];

/// Draws boxes over a picture of cells that shows `crop` in `area`.
pub fn render(
    boxes: &[BoxOverlay],
    orientation: Orientation,
    crop: UnitRect,
    area: Rect,
    buffer: &mut Buffer,
    theme: Theme,
) {
    let mut drawn = Drawn::default();
    for overlay in boxes {
        let rect = overlay.rect.upright(orientation);
        let place = |value: f64, start: f64, share: f64, origin: u16, length: u16| {
            let at = (value - start) / share * f64::from(length);
            i32::from(origin) + floor(at)
        };
        let left = place(rect.x0, crop.x0, crop.width(), area.x, area.width);
        let top = place(rect.y0, crop.y0, crop.height(), area.y, area.height);
        let right = place(rect.x1, crop.x0, crop.width(), area.x, area.width).max(left);
        let bottom = place(rect.y1, crop.y0, crop.height(), area.y, area.height).max(top);
        let mut pen = Pen { overlay, area, buffer, theme, drawn: &mut drawn };
        pen.frame(left, top, right, bottom);
    }
}

fn floor(value: f64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "clamped far inside i32")]
    let whole = value.floor().clamp(-1e6, 1e6) as i32;
    whole
}

/// What was drawn already.
#[derive(Default)]
struct Drawn {
    /// Cells of lines, by the kind drawn last.
    lines: HashMap<(i32, i32), Line>,
    /// Cells of tags, which nothing covers.
    tags: HashSet<(i32, i32)>,
}

struct Pen<'a> {
    overlay: &'a BoxOverlay,
    area: Rect,
    buffer: &'a mut Buffer,
    theme: Theme,
    drawn: &'a mut Drawn,
}

impl Pen<'_> {
    fn frame(&mut self, left: i32, top: i32, right: i32, bottom: i32) {
        let [top_left, top_right, bottom_left, bottom_right, across, down] =
            match (self.overlay.line, self.overlay.faint) {
                (Line::First, false) => HEAVY,
                (Line::Second, false) => DOUBLE,
                (Line::First, true) => LIGHT,
                (Line::Second, true) => DASHED,
            };
        // Far outside nothing is seen; the loops stay short.
        let columns =
            left.max(i32::from(self.area.left()) - 1)..=right.min(i32::from(self.area.right()));
        let rows =
            top.max(i32::from(self.area.top()) - 1)..=bottom.min(i32::from(self.area.bottom()));
        // Each cell once, the corners last.
        let mut cells = HashMap::new();
        for x in columns {
            cells.insert((x, top), across);
            cells.insert((x, bottom), across);
        }
        for y in rows {
            cells.insert((left, y), down);
            cells.insert((right, y), down);
        }
        cells.insert((left, top), top_left);
        cells.insert((right, top), top_right);
        cells.insert((left, bottom), bottom_left);
        cells.insert((right, bottom), bottom_right);
        for ((x, y), symbol) in cells {
            let line = self.overlay.line;
            let is_others = self.drawn.lines.get(&(x, y)).is_some_and(|drawn| *drawn != line);
            let its_turn = (x + y).rem_euclid(2) == 0;
            if !self.drawn.tags.contains(&(x, y)) && (!is_others || its_turn) {
                self.put(x, y, symbol);
                self.drawn.lines.insert((x, y), line);
            }
        }
        let tag_row = top.max(i32::from(self.area.top()));
        let mut tag_column = (left + 1).max(i32::from(self.area.left()));
        let tag: Vec<char> = self.overlay.tag.chars().collect();
        for character in tag {
            while self.drawn.tags.contains(&(tag_column, tag_row)) {
                tag_column += 1;
            }
            self.put(tag_column, tag_row, character.encode_utf8(&mut [0; 4]));
            self.drawn.tags.insert((tag_column, tag_row));
        }
    }

    fn put(&mut self, x: i32, y: i32, symbol: &str) {
        let (Ok(x), Ok(y)) = (u16::try_from(x), u16::try_from(y)) else { return };
        if !self.area.contains((x, y).into()) {
            return;
        }
        let Some(cell) = self.buffer.cell_mut((x, y)) else { return };
        if self.theme.is_mono() {
            cell.set_symbol(symbol);
            cell.modifier = if self.overlay.faint { Modifier::empty() } else { Modifier::BOLD };
            return;
        }
        let line = match self.overlay.line {
            Line::First => BLUE,
            Line::Second => ORANGE,
        };
        // A line on a ground of its own is seen on any picture: dark on light, light on dark.
        cell.bg = ground(cell.fg, cell.bg);
        cell.fg = line;
        cell.set_symbol(symbol);
    }
}

/// Black or white, whichever the picture below is nearer to, so that both blue and orange stand out.
fn ground(top: Color, bottom: Color) -> Color {
    let light = |colour| match colour {
        Color::Rgb(red, green, blue) => {
            Some((u32::from(red) * 3 + u32::from(green) * 6 + u32::from(blue)) / 10)
        }
        _ => None,
    };
    match (light(top), light(bottom)) {
        (Some(top), Some(bottom)) if top + bottom > 340 => Color::Rgb(255, 255, 255),
        (Some(_), Some(_)) => Color::Rgb(0, 0, 0),
        _ => Color::Reset,
    }
}

/// Draws boxes into RGB pixels that show `crop`.
pub fn draw_into(
    boxes: &[BoxOverlay],
    orientation: Orientation,
    crop: UnitRect,
    rgb: &mut [u8],
    width: u32,
    height: u32,
) {
    let thick = (width.min(height) / 240).clamp(1, 4);
    for overlay in boxes {
        let rect = overlay.rect.upright(orientation);
        let place = |value: f64, start: f64, share: f64, length: u32| {
            i64::from(floor((value - start) / share * f64::from(length)))
        };
        let left = place(rect.x0, crop.x0, crop.width(), width);
        let right = place(rect.x1, crop.x0, crop.width(), width);
        let top = place(rect.y0, crop.y0, crop.height(), height);
        let bottom = place(rect.y1, crop.y0, crop.height(), height);
        let thick = if overlay.faint { 1 } else { i64::from(thick) };
        let mut canvas = PixelPen { rgb, width, height, overlay };
        for layer in -1..=thick {
            let is_edge = layer == -1 || layer == thick;
            canvas.frame(left - layer, top - layer, right + layer, bottom + layer, is_edge);
        }
    }
}

struct PixelPen<'a> {
    rgb: &'a mut [u8],
    width: u32,
    height: u32,
    overlay: &'a BoxOverlay,
}

impl PixelPen<'_> {
    fn frame(&mut self, left: i64, top: i64, right: i64, bottom: i64, is_edge: bool) {
        for x in left.max(-1)..=right.min(i64::from(self.width)) {
            self.put(x, top, x - left, is_edge);
            self.put(x, bottom, x - left, is_edge);
        }
        for y in top.max(-1)..=bottom.min(i64::from(self.height)) {
            self.put(left, y, y - top, is_edge);
            self.put(right, y, y - top, is_edge);
        }
    }

    /// `along` is how far we are on the line, for the dashes. Edges are dark, so the line is seen on light.
    fn put(&mut self, x: i64, y: i64, along: i64, is_edge: bool) {
        let inside =
            (0..i64::from(self.width)).contains(&x) && (0..i64::from(self.height)).contains(&y);
        let gap = self.overlay.line == Line::Second && along.rem_euclid(14) >= 8;
        if !inside || gap {
            return;
        }
        let colour = match (is_edge, self.overlay.line) {
            (true, _) => [0, 0, 0],
            (false, Line::First) => [0x30, 0xa0, 0xff],
            (false, Line::Second) => [0xff, 0x87, 0x00],
        };
        let at = usize::try_from((y * i64::from(self.width) + x) * 3).unwrap_or(usize::MAX);
        if let Some(pixel) = self.rgb.get_mut(at..at.saturating_add(3)) {
            pixel.copy_from_slice(&colour);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxes() -> [BoxOverlay; 2] {
        [
            BoxOverlay {
                rect: UnitRect::from_corners([0.0, 0.0, 0.4, 0.45]),
                line: Line::First,
                tag: "R".to_owned(),
                faint: false,
            },
            BoxOverlay {
                rect: UnitRect::from_corners([0.5, 0.5, 0.95, 0.95]),
                line: Line::Second,
                tag: "C".to_owned(),
                faint: false,
            },
        ]
    }

    fn drawn(crop: UnitRect, theme: Theme) -> Vec<String> {
        drawn_of(&boxes(), crop, theme)
    }

    fn drawn_of(boxes: &[BoxOverlay], crop: UnitRect, theme: Theme) -> Vec<String> {
        let area = Rect::new(1, 1, 20, 8);
        let mut buffer = Buffer::empty(Rect::new(0, 0, 22, 10));
        render(boxes, Orientation::Upright, crop, area, &mut buffer, theme);
        (0..10)
            .map(|y| {
                (0..22).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned()
            })
            .collect()
    }

    #[test]
    fn the_two_sides_differ_without_colour() {
        let rows = drawn(UnitRect::WHOLE, Theme::MONO);
        assert_eq!(
            rows,
            [
                "",
                " ┏R━━━━━━┓",
                " ┃       ┃",
                " ┃       ┃",
                " ┗━━━━━━━┛",
                "           ╔C═══════╗",
                "           ║        ║",
                "           ║        ║",
                "           ╚════════╝",
                "",
            ]
        );
    }

    #[test]
    fn two_boxes_in_the_same_cells_are_seen_as_two() {
        let [first, mut second] = boxes();
        second.rect = first.rect;
        let rows = drawn_of(&[first.clone(), second.clone()], UnitRect::WHOLE, Theme::MONO);
        assert_eq!(rows[1..5], [" ╔RC━═━═━╗", " ┃       ┃", " ║       ║", " ┗═━═━═━═┛"]);
        second.faint = true;
        let rows = drawn_of(&[second, first], UnitRect::WHOLE, Theme::MONO);
        assert_eq!(rows[1..5], [" ┏CR╌━╌━╌┓", " ╎       ╎", " ┃       ┃", " └━╌━╌━╌━┘"]);
    }

    #[test]
    fn nothing_is_drawn_outside_the_picture() {
        let crop = UnitRect::from_corners([0.3, 0.3, 0.6, 0.6]);
        for (y, row) in drawn(crop, Theme::COLOUR).iter().enumerate() {
            assert!(row.chars().count() <= 21 && !row.starts_with('┃'), "{row}");
            assert!((1..9).contains(&y) || row.is_empty(), "{row}");
        }
    }

    #[test]
    fn pixels_are_drawn_inside_and_dashed_for_the_second() {
        let mut rgb = vec![77; 60 * 40 * 3];
        draw_into(&boxes(), Orientation::Upright, UnitRect::WHOLE, &mut rgb, 60, 40);
        let count = |colour: [u8; 3]| rgb.chunks(3).filter(|pixel| *pixel == colour).count();
        let (first, second) = (count([0x30, 0xa0, 0xff]), count([0xff, 0x87, 0x00]));
        assert!(first > second && second > 20, "{first} {second}");
        let mut tiny = vec![0; 3];
        draw_into(&boxes(), Orientation::NeedsClockwise, UnitRect::WHOLE, &mut tiny, 1, 1);
    }
}
