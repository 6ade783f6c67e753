//! Half blocks: two pixels a cell, drawn with characters. Works everywhere and is the same everywhere.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

use super::Depth;

/// A picture as cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockImage {
    /// Columns.
    pub columns: u16,
    /// Rows.
    pub rows: u16,
    cells: Vec<BlockCell>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BlockCell {
    symbol: char,
    top: Option<Color>,
    bottom: Option<Color>,
}

/// From dark to light.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];

impl BlockImage {
    /// Pixels a picture must have for that many cells.
    pub fn pixels_for(columns: u16, rows: u16) -> (u32, u32) {
        (u32::from(columns), u32::from(rows) * 2)
    }

    /// Cells from RGB pixels, `columns` wide and twice `rows` high.
    pub fn from_rgb(rgb: &[u8], columns: u16, rows: u16, depth: Depth) -> Self {
        let pixel = |x: usize, y: usize| {
            let at = (y * usize::from(columns) + x) * 3;
            rgb.get(at..at + 3).map_or([0; 3], |bytes| [bytes[0], bytes[1], bytes[2]])
        };
        let mut cells = Vec::with_capacity(usize::from(columns) * usize::from(rows));
        for row in 0..usize::from(rows) {
            for column in 0..usize::from(columns) {
                let (top, bottom) = (pixel(column, row * 2), pixel(column, row * 2 + 1));
                cells.push(match depth {
                    Depth::Mono => {
                        BlockCell { symbol: shade(top, bottom), top: None, bottom: None }
                    }
                    Depth::Table | Depth::True => BlockCell {
                        symbol: '▀',
                        top: Some(colour(top, depth)),
                        bottom: Some(colour(bottom, depth)),
                    },
                });
            }
        }
        Self { columns, rows, cells }
    }

    /// Copies the cells to the top left of `area`, as many as fit.
    pub fn render(&self, area: Rect, buffer: &mut Buffer) {
        let columns = usize::from(self.columns);
        for row in 0..self.rows.min(area.height) {
            let line = usize::from(row) * columns;
            for column in 0..self.columns.min(area.width) {
                let Some(block) = self.cells.get(line + usize::from(column)) else { return };
                if let Some(cell) = buffer.cell_mut((area.x + column, area.y + row)) {
                    cell.reset();
                    cell.set_char(block.symbol);
                    let mut style = Style::new();
                    style.fg = block.top;
                    style.bg = block.bottom;
                    cell.set_style(style);
                }
            }
        }
    }

    /// Memory it takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.cells.len() * size_of::<BlockCell>()
    }
}

fn luminance([red, green, blue]: [u8; 3]) -> u32 {
    // Rec. 601 in parts of 1000.
    299 * u32::from(red) + 587 * u32::from(green) + 114 * u32::from(blue)
}

fn shade(top: [u8; 3], bottom: [u8; 3]) -> char {
    let light = (luminance(top) + luminance(bottom)) / 2;
    let index = usize::try_from(light * 5 / 255_001).unwrap_or(0);
    SHADES[index.min(4)]
}

fn colour([red, green, blue]: [u8; 3], depth: Depth) -> Color {
    if depth == Depth::True {
        return Color::Rgb(red, green, blue);
    }
    // The nearest of the cube's 6x6x6 colours or the 24 greys.
    let step = |value: u8| -> u8 {
        match value {
            0..=47 => 0,
            48..=114 => 1,
            _ => (value - 35) / 40,
        }
    };
    let level = |step: u8| -> i32 { if step == 0 { 0 } else { 55 + 40 * i32::from(step) } };
    let steps = [step(red), step(green), step(blue)];
    let distance = |other: [i32; 3]| -> i32 {
        [red, green, blue]
            .iter()
            .zip(other)
            .map(|(value, other)| (i32::from(*value) - other).pow(2))
            .sum()
    };
    let mean = (u16::from(red) + u16::from(green) + u16::from(blue)) / 3;
    let grey_step = u8::try_from(mean.saturating_sub(3) / 10).unwrap_or(23).min(23);
    let grey = 8 + 10 * i32::from(grey_step);
    if distance([grey; 3]) < distance(steps.map(level)) {
        Color::Indexed(232 + grey_step)
    } else {
        Color::Indexed(16 + 36 * steps[0] + 6 * steps[1] + steps[2])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_pixels_a_cell() {
        let rgb = [255, 0, 0, 0, 0, 255, 0, 255, 0, 9, 9, 9];
        let image = BlockImage::from_rgb(&rgb, 2, 1, Depth::True);
        let area = Rect::new(0, 0, 2, 1);
        let mut buffer = Buffer::empty(area);
        image.render(area, &mut buffer);
        let cell = &buffer[(0, 0)];
        assert_eq!(
            (cell.symbol(), cell.fg, cell.bg),
            ("▀", Color::Rgb(255, 0, 0), Color::Rgb(0, 255, 0))
        );
    }

    #[test]
    fn mono_is_shades_without_colour() {
        let ramp: Vec<u8> = [0_u8, 60, 120, 180, 255, 0, 60, 120, 180, 255]
            .iter()
            .flat_map(|value| [*value; 3])
            .collect();
        let image = BlockImage::from_rgb(&ramp, 5, 1, Depth::Mono);
        let area = Rect::new(0, 0, 5, 1);
        let mut buffer = Buffer::empty(area);
        image.render(area, &mut buffer);
        let text: String = buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect();
        assert_eq!(text, " ░▒▓█");
        assert!(
            buffer.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset)
        );
    }

    #[test]
    fn the_table_has_a_near_colour_for_everything() {
        for (rgb, index) in
            [([0, 0, 0], 16), ([255, 255, 255], 231), ([128, 128, 128], 244), ([255, 0, 0], 196)]
        {
            assert_eq!(colour(rgb, Depth::Table), Color::Indexed(index), "{rgb:?}");
        }
    }

    #[test]
    fn any_area_and_too_few_bytes_are_harmless() {
        let image = BlockImage::from_rgb(&[1, 2, 3], 40, 20, Depth::True);
        for (width, height) in [(0, 0), (1, 1), (100, 100)] {
            let area = Rect::new(0, 0, width, height);
            image.render(area, &mut Buffer::empty(area));
        }
    }
}
