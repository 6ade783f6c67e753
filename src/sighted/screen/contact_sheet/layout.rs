//! Where things are on the contact sheet. Pure: drawing and the mouse ask the same function.

use ratatui::layout::Rect;

/// Least width and height of a cell, small to large, its caption included.
pub(super) const SIZES: [(u16, u16); 3] = [(13, 6), (19, 9), (32, 14)];

/// Rows from which on there are two lines about the picture under the cursor.
const ROOMY: u16 = 20;

/// One cell of the sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    /// The picture.
    pub(super) picture: Rect,
    /// The line below it.
    pub(super) caption: Rect,
}

/// The places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// What, how many, how chosen.
    pub(super) title: Rect,
    /// Where the cells are.
    pub(super) body: Rect,
    /// About the picture under the cursor, or a notice.
    pub(super) detail: Rect,
    /// Keys.
    pub(super) hints: Rect,
    /// Cells in a row.
    pub(super) columns: usize,
    /// Rows of cells.
    pub(super) rows: usize,
    first: usize,
    count: usize,
    alone: bool,
}

impl Layout {
    /// The places in `area` for `count` pictures of which those from row `first_row` on are seen; `alone`
    /// gives one picture all of the body.
    pub(super) fn new(
        area: Rect,
        size: usize,
        alone: bool,
        count: usize,
        first_row: usize,
    ) -> Self {
        let row = |y: u16, height: u16| {
            let y = area.y + y.min(area.height);
            Rect { x: area.x, y, width: area.width, height: height.min(area.bottom() - y) }
        };
        let detail_rows = if area.height >= ROOMY { 2 } else { 1 };
        let bottom = area.height.saturating_sub(detail_rows + 1);
        let body = row(1, bottom.saturating_sub(1));
        let (width, height) = SIZES[size.min(SIZES.len() - 1)];
        let fits = |room: u16, cell: u16| if alone { 1 } else { usize::from(room / cell).max(1) };
        let columns = fits(body.width, width);
        Self {
            title: row(0, 1),
            body,
            detail: row(bottom, detail_rows),
            hints: row(area.height.saturating_sub(1), 1),
            columns,
            rows: fits(body.height, height),
            first: first_row * columns,
            count,
            alone,
        }
    }

    fn cell(&self, index: usize) -> Cell {
        let small = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
        let (columns, rows) = (small(self.columns).max(1), small(self.rows).max(1));
        let (width, height) = (self.body.width / columns, self.body.height / rows);
        let (column, row) = (small(index % self.columns), small(index / self.columns));
        let whole =
            Rect { x: self.body.x + column * width, y: self.body.y + row * height, width, height };
        // A blank column parts a cell from the next.
        let inner = Rect { width: whole.width.saturating_sub(1), ..whole };
        let caption_rows = u16::from(inner.height > 1);
        Cell {
            picture: Rect { height: inner.height - caption_rows, ..inner },
            caption: Rect { y: inner.bottom() - caption_rows, height: caption_rows, ..inner },
        }
    }

    /// The cells that are seen, each with its place in the list. `cursor` is the one seen alone.
    pub(super) fn cells(&self, cursor: usize) -> Vec<(usize, Cell)> {
        if self.alone {
            return if cursor < self.count { vec![(cursor, self.cell(0))] } else { Vec::new() };
        }
        let last = self.count.min(self.first + self.columns * self.rows);
        (self.first..last).map(|at| (at, self.cell(at - self.first))).collect()
    }

    /// The place in the list of what lies under a cell of the terminal.
    pub(super) fn cell_at(&self, column: u16, row: u16) -> Option<usize> {
        let hit = |rect: Rect| rect.contains((column, row).into());
        let cells = if self.alone { Vec::new() } else { self.cells(0) };
        cells.into_iter().find(|(_, cell)| hit(cell.picture) || hit(cell.caption)).map(|(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_pictures_fit_at_once() {
        let cells = |width, height, size| {
            let area = Rect::new(0, 0, width, height);
            Layout::new(area, size, false, 500, 0).cells(0).len()
        };
        assert_eq!((cells(40, 12, 0), cells(80, 24, 0), cells(200, 60, 0)), (3, 18, 135));
        assert_eq!((cells(40, 12, 1), cells(80, 24, 1), cells(120, 40, 1)), (2, 8, 24));
        assert_eq!(cells(80, 24, 2), 2);
    }

    #[test]
    fn places_never_overlap_and_stay_inside() {
        for width in [0, 1, 39, 40, 80, 250] {
            for height in [0, 1, 2, 3, 11, 12, 24, 90] {
                for size in 0..SIZES.len() {
                    for alone in [false, true] {
                        let area = Rect::new(3, 2, width, height);
                        let layout = Layout::new(area, size, alone, 700, 1);
                        let mut rects = vec![layout.title, layout.detail, layout.hints];
                        for (_, cell) in layout.cells(5) {
                            rects.extend([cell.picture, cell.caption]);
                        }
                        rects.retain(|rect| !rect.is_empty());
                        for (index, rect) in rects.iter().enumerate() {
                            assert_eq!(rect.intersection(area), *rect, "{area:?} {rect:?}");
                            if width >= 40 && height >= 12 {
                                assert!(
                                    rects[..index].iter().all(|other| !rect.intersects(*other))
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_mouse_finds_the_cell_it_is_on() {
        let layout = Layout::new(Rect::new(0, 0, 80, 24), 1, false, 10, 1);
        let (at, cell) = layout.cells(0)[3];
        assert_eq!(at, 7);
        assert_eq!(layout.cell_at(cell.picture.x, cell.picture.y), Some(7));
        assert_eq!(layout.cell_at(cell.caption.x, cell.caption.y), Some(7));
        assert_eq!(layout.cell_at(0, 0), None);
        assert_eq!(layout.cells(0).len(), 6, "the last four of ten, and two rows of four at most");
    }
}
