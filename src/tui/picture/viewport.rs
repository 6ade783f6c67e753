//! Zoom and pan: which part of a picture is shown, and where a point of it lies on the screen. Pure.

use crate::media::orientation::Orientation;

/// A rectangle in a picture, 0..=1 each way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnitRect {
    /// Left.
    pub x0: f64,
    /// Top.
    pub y0: f64,
    /// Right.
    pub x1: f64,
    /// Bottom.
    pub y1: f64,
}

impl UnitRect {
    /// All of it.
    pub const WHOLE: Self = Self { x0: 0.0, y0: 0.0, x1: 1.0, y1: 1.0 };

    /// From corners `[x0, y0, x1, y1]`, in any order; values that are not numbers become 0.
    pub fn from_corners(corners: [f64; 4]) -> Self {
        let [x0, y0, x1, y1] =
            corners.map(|value| if value.is_finite() { value.clamp(0.0, 1.0) } else { 0.0 });
        Self { x0: x0.min(x1), y0: y0.min(y1), x1: x0.max(x1), y1: y0.max(y1) }
    }

    /// Width.
    pub fn width(self) -> f64 {
        self.x1 - self.x0
    }

    /// Height.
    pub fn height(self) -> f64 {
        self.y1 - self.y0
    }

    /// The smallest rectangle around both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self {
            x0: self.x0.min(other.x0),
            y0: self.y0.min(other.y0),
            x1: self.x1.max(other.x1),
            y1: self.y1.max(other.y1),
        }
    }

    /// Where this rectangle of the stored picture lies in the upright one.
    #[must_use]
    pub fn upright(self, orientation: Orientation) -> Self {
        Self::from_corners(orientation.box_to_upright([self.x0, self.y0, self.x1, self.y1]))
    }
}

/// Most a picture can be enlarged.
pub const MAX_ZOOM: f64 = 64.0;
/// One step of the zoom keys.
pub const ZOOM_STEP: f64 = 1.5;

/// What a person looks at: how much enlarged, around which point. Independent of any picture's size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Viewport {
    /// 1 shows everything, 2 half of each side.
    pub zoom: f64,
    /// Middle of the view, 0..=1.
    pub centre: (f64, f64),
}

impl Default for Viewport {
    fn default() -> Self {
        Self { zoom: 1.0, centre: (0.5, 0.5) }
    }
}

impl Viewport {
    /// Around `target`, with half as much again on each side.
    pub fn around(target: UnitRect) -> Self {
        let longest = target.width().max(target.height()).max(1e-3);
        let zoom = (1.0 / (longest * 2.0)).clamp(1.0, MAX_ZOOM / 4.0);
        let centre = ((target.x0 + target.x1) / 2.0, (target.y0 + target.y1) / 2.0);
        Self { zoom, centre }.clamped()
    }

    /// Enlarged by `factor` around its middle.
    #[must_use]
    pub fn zoomed(self, factor: f64) -> Self {
        Self { zoom: (self.zoom * factor).clamp(1.0, MAX_ZOOM), ..self }.clamped()
    }

    /// Moved by shares of what is visible.
    #[must_use]
    pub fn panned(self, across: f64, down: f64) -> Self {
        let centre = (self.centre.0 + across / self.zoom, self.centre.1 + down / self.zoom);
        Self { centre, ..self }.clamped()
    }

    /// Keeps the view inside the picture.
    fn clamped(self) -> Self {
        let half = 0.5 / self.zoom;
        let clamp = |value: f64| value.clamp(half.min(0.5), (1.0 - half).max(0.5));
        Self { centre: (clamp(self.centre.0), clamp(self.centre.1)), ..self }
    }

    /// The part of a picture of `size` pixels that fills a screen of `screen` pixels. When it is enlarged,
    /// room that the picture's shape leaves free is filled with more picture.
    pub fn crop(self, size: (u32, u32), screen: (f64, f64)) -> UnitRect {
        let (width, height) = (f64::from(size.0.max(1)), f64::from(size.1.max(1)));
        // Screen pixels per picture pixel when everything is shown.
        let fit = (screen.0 / width).min(screen.1 / height).max(f64::MIN_POSITIVE);
        let scale = fit * self.zoom;
        let share = |screen: f64, length: f64| (screen / scale / length).clamp(1e-6, 1.0);
        let (across, down) = (share(screen.0, width), share(screen.1, height));
        let start = |centre: f64, share: f64| (centre - share / 2.0).clamp(0.0, 1.0 - share);
        let (x0, y0) = (start(self.centre.0, across), start(self.centre.1, down));
        UnitRect { x0, y0, x1: x0 + across, y1: y0 + down }
    }
}

/// Cells a crop of a picture takes in `area` cells, at least one each way.
pub fn cells_for(
    size: (u32, u32),
    crop: UnitRect,
    area: (u16, u16),
    cell: (u16, u16),
) -> (u16, u16) {
    let (cell_width, cell_height) = (f64::from(cell.0.max(1)), f64::from(cell.1.max(1)));
    let (room_width, room_height) =
        (f64::from(area.0) * cell_width, f64::from(area.1) * cell_height);
    let width = (f64::from(size.0) * crop.width()).max(f64::MIN_POSITIVE);
    let height = (f64::from(size.1) * crop.height()).max(f64::MIN_POSITIVE);
    let scale = (room_width / width).min(room_height / height);
    let cells = |pixels: f64, cell: f64, limit: u16| {
        let wanted = (pixels * scale / cell).round().clamp(1.0, f64::from(limit.max(1)));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to a u16's range above"
        )]
        let whole = wanted as u16;
        whole
    };
    (cells(width, cell_width, area.0), cells(height, cell_height, area.1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn everything_is_shown_at_first() {
        let crop = Viewport::default().crop((4000, 3000), (880.0, 720.0));
        assert_eq!(crop, UnitRect::WHOLE);
        assert_eq!(cells_for((4000, 3000), crop, (88, 36), (10, 20)), (88, 33));
        assert_eq!(cells_for((3000, 4000), crop, (88, 36), (10, 20)), (54, 36));
    }

    #[test]
    fn zooming_to_a_box_shows_the_box() {
        let target = UnitRect::from_corners([0.8, 0.1, 0.9, 0.2]);
        let crop = Viewport::around(target).crop((4000, 3000), (880.0, 720.0));
        assert!(crop.x0 <= target.x0 && crop.x1 >= target.x1, "{crop:?}");
        assert!(crop.y0 <= target.y0 && crop.y1 >= target.y1, "{crop:?}");
        assert!(crop.width() < 0.5);
    }

    #[test]
    fn a_box_is_turned_with_its_picture() {
        let mark = UnitRect::from_corners([0.0, 0.0, 0.2, 0.1]);
        let turned = mark.upright(Orientation::NeedsClockwise);
        assert!((turned.x0 - 0.9).abs() < 1e-12 && turned.y0.abs() < 1e-12, "{turned:?}");
        assert!((turned.width() - 0.1).abs() < 1e-12 && (turned.height() - 0.2).abs() < 1e-12);
        assert_eq!(mark.upright(Orientation::Upright), mark);
    }

    proptest! {
        #[test]
        fn a_crop_lies_in_the_picture(
            zoom in 1.0_f64..64.0, x in -1.0_f64..2.0, y in -1.0_f64..2.0,
            width in 1_u32..5000, height in 1_u32..5000,
            columns in 1_u16..300, rows in 1_u16..100,
        ) {
            let viewport = Viewport { zoom, centre: (x, y) }.clamped().panned(0.3, -0.2).zoomed(1.5);
            let crop = viewport.crop((width, height), (f64::from(columns), f64::from(rows) * 2.0));
            prop_assert!(crop.x0 >= 0.0 && crop.y0 >= 0.0);
            prop_assert!(crop.x1 <= 1.0 + 1e-9 && crop.y1 <= 1.0 + 1e-9);
            prop_assert!(crop.width() > 0.0 && crop.height() > 0.0);
            let cells = cells_for((width, height), crop, (columns, rows), (10, 20));
            prop_assert!((1..=columns).contains(&cells.0) && (1..=rows).contains(&cells.1));
        }

        #[test]
        fn corners_in_any_order_make_a_rectangle(corners in prop::array::uniform4(prop::num::f64::ANY)) {
            let rect = UnitRect::from_corners(corners);
            prop_assert!(rect.x0 <= rect.x1 && rect.y0 <= rect.y1);
        }
    }
}
