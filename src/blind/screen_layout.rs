//! Where things are on the label screen. Pure: drawing and the mouse ask the same function.
//!
//! ```text
//! ada  shard 1/4                        done 3  left 14
//! ┌ picture ──────────────────────┐ litter?  y yes  n no
//! │                               │ a x bottles
//! │                               │ b . caps lids
//! │                               │ …
//! │                               │ sure?  h high m medium l low
//! │                               │ p a photograph
//! └───────────────────────────────┘ t note
//! notice, or what the category under the cursor holds
//! hints
//! ```

use ratatui::layout::Rect;

use super::screen::Field;

/// Widest and narrowest column of questions.
const PANEL: (u16, u16) = (34, 22);

/// Rows a roomy screen has at least.
const ROOMY: u16 = 24;

/// The places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// Who, what, how far.
    pub(super) title: Rect,
    /// The picture.
    pub(super) picture: Rect,
    /// One place per question, in the cursor's order.
    pub(super) fields: Vec<(Field, Rect)>,
    /// What the picture has: an answer, a skip, nothing. Empty where there is no room; the title says it
    /// then.
    pub(super) state: Rect,
    /// Notice or text field.
    pub(super) notice: Rect,
    /// Keys.
    pub(super) hints: Rect,
}

impl Layout {
    /// The places in `area` for `groups` categories; `alone` gives the picture all of it. The category
    /// under `cursor` is always among those that fit.
    pub(super) fn new(area: Rect, groups: usize, alone: bool, cursor: Field) -> Self {
        let row = |y: u16, height: u16| {
            let y = area.y + y.min(area.height);
            Rect { x: area.x, y, width: area.width, height: height.min(area.bottom() - y) }
        };
        let roomy = area.height >= ROOMY;
        let notice_rows = if roomy { 2 } else { 1 };
        let bottom = area.height.saturating_sub(notice_rows + 1);
        let body = row(1, bottom.saturating_sub(1));
        let panel_width = if alone { 0 } else { (area.width * 2 / 5).clamp(PANEL.1, PANEL.0) };
        let panel_width = panel_width.min(body.width);
        let gap = u16::from(panel_width > 0);
        let picture = Rect { width: body.width.saturating_sub(panel_width + gap), ..body };
        let panel = Rect { x: body.right() - panel_width, width: panel_width, ..body };
        let (fields, state) =
            if alone { (Vec::new(), Rect::ZERO) } else { panel_rows(panel, groups, cursor) };
        Self {
            title: row(0, 1),
            picture,
            fields,
            state,
            notice: row(bottom, notice_rows),
            hints: row(area.height.saturating_sub(1), 1),
        }
    }

    /// The question at a place.
    pub(super) fn field_at(&self, column: u16, row: u16) -> Option<(Field, Rect)> {
        self.fields.iter().find(|(_, rect)| rect.contains((column, row).into())).copied()
    }
}

/// Presence, categories in as few columns as their number needs, certainty, kind, note, state. Blank
/// rows stand between the questions where there is room.
fn panel_rows(panel: Rect, groups: usize, cursor: Field) -> (Vec<(Field, Rect)>, Rect) {
    const OTHER_ROWS: u16 = 4;
    let line = |y: u16| Rect {
        y: panel.y + y.min(panel.height),
        height: u16::from(y < panel.height),
        ..panel
    };
    let count = u16::try_from(groups).unwrap_or(u16::MAX);
    let for_groups = panel.height.saturating_sub(OTHER_ROWS).max(1);
    let columns = if count <= for_groups { 1 } else { 2 };
    let rows = count.div_ceil(columns).min(for_groups);
    let spare = panel.height.saturating_sub(rows + OTHER_ROWS);
    // The first spare row is the state's.
    let blank = |wanted: u16| u16::from(spare > wanted);
    let first_row = 1 + blank(1);
    let shown = usize::from(rows) * usize::from(columns);
    let first = match cursor {
        Field::Category(index) if index >= shown => index + 1 - shown,
        _ => 0,
    };
    let mut fields = vec![(Field::Presence, line(0))];
    let width = panel.width / columns;
    for (place, index) in (first..groups).take(shown).enumerate() {
        let place = u16::try_from(place).unwrap_or(0);
        let whole = line(first_row + place % rows);
        let x = whole.x + place / rows * width;
        fields.push((
            Field::Category(index),
            Rect { x, width: width.min(whole.right() - x), ..whole },
        ));
    }
    let after = first_row + rows + blank(2);
    fields.push((Field::Certainty, line(after)));
    let after = after + 1 + blank(3);
    fields.push((Field::Photograph, line(after)));
    fields.push((Field::Note, line(after + 1)));
    let state = if spare > 0 { line(after + 2 + blank(4)) } else { Rect::ZERO };
    (fields, state)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(width: u16, height: u16, groups: usize, cursor: Field) -> Layout {
        Layout::new(Rect::new(0, 0, width, height), groups, false, cursor)
    }

    #[test]
    fn ten_categories_are_all_there_from_40_by_12_on() {
        for (width, height) in [(40, 12), (80, 24), (120, 40), (200, 60)] {
            let layout = layout(width, height, 10, Field::Presence);
            let seen = layout.fields.iter().filter(|(_, rect)| !rect.is_empty()).count();
            assert_eq!(seen, 14, "{width}x{height}");
        }
        let fields = layout(80, 24, 10, Field::Presence).fields;
        assert!(fields.iter().all(|(_, rect)| rect.width >= 30 && rect.height == 1), "{fields:?}");
    }

    #[test]
    fn places_never_overlap_and_stay_inside() {
        for width in [0, 1, 39, 40, 63, 80, 250] {
            for height in [0, 1, 5, 11, 12, 24, 90] {
                for groups in [0, 1, 10, 14, 40] {
                    for alone in [false, true] {
                        let area = Rect::new(3, 2, width, height);
                        let layout = Layout::new(area, groups, alone, Field::Presence);
                        let mut rects = vec![layout.title, layout.picture, layout.hints];
                        rects.extend(layout.fields.iter().map(|(_, rect)| *rect));
                        rects.retain(|rect| !rect.is_empty());
                        for (index, rect) in rects.iter().enumerate() {
                            assert_eq!(rect.intersection(area), *rect, "{area:?} {rect:?}");
                            if width >= 40 && height >= 12 {
                                for other in &rects[..index] {
                                    assert!(
                                        !rect.intersects(*other),
                                        "{area:?}: {rect:?} {other:?}"
                                    );
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_cursor_s_category_is_always_in_view() {
        for groups in [1, 10, 40] {
            for index in 0..groups {
                let field = Field::Category(index);
                let layout = layout(40, 12, groups, field);
                let found = layout.fields.iter().find(|(other, _)| *other == field);
                assert!(found.is_some_and(|(_, rect)| !rect.is_empty()), "{index} of {groups}");
            }
        }
        let layout = layout(80, 24, 10, Field::Presence);
        let (field, rect) = layout.fields[3];
        assert_eq!(layout.field_at(rect.x, rect.y), Some((field, rect)));
        assert_eq!(layout.field_at(0, 5), None);
    }
}
