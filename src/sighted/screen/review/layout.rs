//! Where everything lies, from the size alone: update asks for pictures of the area view draws in.

use ratatui::layout::Rect;

use super::Shows;
use crate::sighted::review::desk::Desk;
use crate::sighted::review::tally::{parity_warning, short_parity_warning};
use crate::tui::widgets::text::wrap;

/// Narrowest picture that is worth being split in two.
const MIN_SPLIT: u16 = 60;
/// Columns of the panel beside the picture.
const PANEL: u16 = 34;
/// From this width on the panel stands beside the picture.
const WIDE: u16 = 76;

/// The parts of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) header: Rect,
    pub(super) warning: Rect,
    /// The second is empty unless two pictures stand side by side.
    pub(super) pictures: [Rect; 2],
    pub(super) panel: Rect,
    pub(super) status: Rect,
    pub(super) hints: Rect,
}

/// Lines of the warning about equal totals; none when there is nothing to warn of. On a low screen each row
/// is needed for the picture, so there a narrow one says it in fewer words.
pub(super) fn warning(desk: &Desk, (width, height): (u16, u16)) -> Vec<String> {
    let totals = &desk.material.totals;
    let lines = |text: String| wrap(&text, usize::from(width).max(1));
    let rows = if height < 16 { 1 } else { 2 };
    let long = parity_warning(totals).map(lines).filter(|lines| lines.len() <= rows);
    let mut lines = long.or_else(|| short_parity_warning(totals).map(lines)).unwrap_or_default();
    lines.truncate(rows);
    lines
}

/// The parts for a size, lines of warning and a way of showing boxes.
pub(super) fn layout(size: (u16, u16), warning: usize, shows: Shows) -> Layout {
    let (width, height) = size;
    let row = |y: u16, rows: u16| Rect { x: 0, y: y.min(height), width, height: rows };
    let warning_rows = u16::try_from(warning).unwrap_or(0);
    let top = 1 + warning_rows;
    let middle = height.saturating_sub(top + 2);
    let (picture, panel) = if width >= WIDE {
        let left = width - PANEL - 1;
        (
            Rect { x: 0, y: top, width: left, height: middle },
            Rect { x: left + 1, y: top, width: PANEL, height: middle },
        )
    } else {
        let panel = match middle {
            16.. => 8,
            10..16 => 5,
            _ => (middle / 2).min(3),
        };
        (
            Rect { x: 0, y: top, width, height: middle - panel },
            Rect { x: 0, y: top + middle - panel, width, height: panel },
        )
    };
    Layout {
        header: row(0, 1.min(height)),
        warning: row(1, warning_rows.min(height.saturating_sub(1))),
        pictures: split(picture, shows),
        panel,
        status: row(height.saturating_sub(2), 1.min(height)),
        hints: row(height.saturating_sub(1), 1.min(height)),
    }
}

/// Whether two pictures fit side by side.
pub(super) fn can_split(size: (u16, u16)) -> bool {
    let whole = layout(size, 0, Shows::Both).pictures[0];
    whole.width >= MIN_SPLIT
}

fn split(picture: Rect, shows: Shows) -> [Rect; 2] {
    if shows != Shows::SideBySide || picture.width < MIN_SPLIT {
        return [picture, Rect::default()];
    }
    let half = (picture.width - 1) / 2;
    [Rect { width: half, ..picture }, Rect { x: picture.x + half + 1, width: half, ..picture }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_never_overlap_and_never_leave_the_screen() {
        for width in 40..240 {
            for height in 12..70 {
                for shows in [Shows::Both, Shows::SideBySide] {
                    let parts = layout((width, height), if height < 16 { 1 } else { 2 }, shows);
                    let all = [
                        parts.header,
                        parts.warning,
                        parts.pictures[0],
                        parts.pictures[1],
                        parts.panel,
                        parts.status,
                        parts.hints,
                    ];
                    let screen = Rect::new(0, 0, width, height);
                    for (index, part) in all.iter().enumerate() {
                        assert_eq!(part.intersection(screen), *part, "{width}x{height} {part:?}");
                        for other in &all[..index] {
                            let both = part.intersection(*other);
                            assert!(both.is_empty(), "{width}x{height}: {part:?} {other:?}");
                        }
                    }
                    assert!(parts.pictures[0].height >= 3 && parts.panel.height >= 3);
                }
            }
        }
    }

    #[test]
    fn two_pictures_are_of_equal_size() {
        let [left, right] = layout((200, 60), 0, Shows::SideBySide).pictures;
        assert_eq!((left.width, left.height), (right.width, right.height));
        assert!(can_split((200, 60)) && !can_split((50, 20)));
    }
}
