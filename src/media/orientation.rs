//! EXIF orientation: how a stored picture is turned for people, and where a box goes when it is.
//!
//! Two frames: *stored* is how the pixels lie in the file and what a model sees; *upright* is what a
//! person sees. Points are shares of width and height, 0..=1, from the top left corner.

use super::pixels::RgbImage;

/// The eight values of EXIF tag 0x0112.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Orientation {
    /// 1: stored upright.
    #[default]
    Upright,
    /// 2: left and right swapped.
    MirroredLeftRight,
    /// 3: upside down.
    Turned180,
    /// 4: top and bottom swapped.
    MirroredTopBottom,
    /// 5: rows and columns swapped.
    Transposed,
    /// 6: shown after a quarter turn clockwise.
    NeedsClockwise,
    /// 7: rows and columns swapped, then turned upside down.
    Transversed,
    /// 8: shown after a quarter turn counter-clockwise.
    NeedsCounterClockwise,
}

/// A box by its corners: x of the left, y of the top, x of the right, y of the bottom.
pub type Corners = [f64; 4];

impl Orientation {
    /// All eight, in the order of their EXIF values.
    pub const ALL: [Self; 8] = [
        Self::Upright,
        Self::MirroredLeftRight,
        Self::Turned180,
        Self::MirroredTopBottom,
        Self::Transposed,
        Self::NeedsClockwise,
        Self::Transversed,
        Self::NeedsCounterClockwise,
    ];

    /// The orientation of an EXIF value, if it is one.
    pub fn from_exif(value: u16) -> Option<Self> {
        Self::ALL.get(usize::from(value).checked_sub(1)?).copied()
    }

    /// Its EXIF value, 1..=8.
    pub const fn exif(self) -> u16 {
        self as u16 + 1
    }

    /// Whether width and height change places.
    pub const fn swaps_sides(self) -> bool {
        matches!(
            self,
            Self::Transposed
                | Self::NeedsClockwise
                | Self::Transversed
                | Self::NeedsCounterClockwise
        )
    }

    /// The orientation that undoes this one.
    #[must_use]
    pub const fn inverse(self) -> Self {
        match self {
            Self::NeedsClockwise => Self::NeedsCounterClockwise,
            Self::NeedsCounterClockwise => Self::NeedsClockwise,
            other => other,
        }
    }

    /// Width and height of the upright picture.
    pub const fn upright_size(self, width: u32, height: u32) -> (u32, u32) {
        if self.swaps_sides() { (height, width) } else { (width, height) }
    }

    /// Where a point of the stored picture is in the upright one.
    pub fn point_to_upright(self, [x, y]: [f64; 2]) -> [f64; 2] {
        match self {
            Self::Upright => [x, y],
            Self::MirroredLeftRight => [1.0 - x, y],
            Self::Turned180 => [1.0 - x, 1.0 - y],
            Self::MirroredTopBottom => [x, 1.0 - y],
            Self::Transposed => [y, x],
            Self::NeedsClockwise => [1.0 - y, x],
            Self::Transversed => [1.0 - y, 1.0 - x],
            Self::NeedsCounterClockwise => [y, 1.0 - x],
        }
    }

    /// Where a point of the upright picture is in the stored one.
    pub fn point_to_stored(self, point: [f64; 2]) -> [f64; 2] {
        self.inverse().point_to_upright(point)
    }

    /// Where a box of the stored picture is in the upright one; its corners stay in order.
    pub fn box_to_upright(self, [left, top, right, bottom]: Corners) -> Corners {
        let [x0, y0] = self.point_to_upright([left, top]);
        let [x1, y1] = self.point_to_upright([right, bottom]);
        [x0.min(x1), y0.min(y1), x0.max(x1), y0.max(y1)]
    }

    /// Where a box of the upright picture is in the stored one; its corners stay in order.
    pub fn box_to_stored(self, corners: Corners) -> Corners {
        self.inverse().box_to_upright(corners)
    }

    /// Where a pixel of a stored picture of this size is in the upright one.
    ///
    /// Exact; the pixel must lie inside the picture.
    pub const fn pixel_to_upright(self, [x, y]: [u32; 2], width: u32, height: u32) -> [u32; 2] {
        let (from_right, from_bottom) = (width - 1 - x, height - 1 - y);
        match self {
            Self::Upright => [x, y],
            Self::MirroredLeftRight => [from_right, y],
            Self::Turned180 => [from_right, from_bottom],
            Self::MirroredTopBottom => [x, from_bottom],
            Self::Transposed => [y, x],
            Self::NeedsClockwise => [from_bottom, x],
            Self::Transversed => [from_bottom, from_right],
            Self::NeedsCounterClockwise => [y, from_right],
        }
    }

    /// The upright picture of a stored one.
    pub fn apply(self, stored: RgbImage) -> RgbImage {
        /// Pixels of a tile side: two tiles stay in the nearest cache.
        const TILE: u32 = 32;
        if self == Self::Upright {
            return stored;
        }
        let (width, height) = self.upright_size(stored.width(), stored.height());
        let source = stored.rgb();
        let mut upright = vec![0; source.len()];
        for tile_y in (0..height).step_by(TILE as usize) {
            for tile_x in (0..width).step_by(TILE as usize) {
                for y in tile_y..height.min(tile_y + TILE) {
                    for x in tile_x..width.min(tile_x + TILE) {
                        let [from_x, from_y] =
                            self.inverse().pixel_to_upright([x, y], width, height);
                        let from =
                            3 * (from_y as usize * stored.width() as usize + from_x as usize);
                        let to = 3 * (y as usize * width as usize + x as usize);
                        upright[to..to + 3].copy_from_slice(&source[from..from + 3]);
                    }
                }
            }
        }
        RgbImage::trusted(width, height, upright)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An `F` that no turn maps onto itself, as stored upright.
    const F: [&str; 5] = ["####", "#...", "###.", "#...", "#..."];

    fn picture(rows: &[&str]) -> RgbImage {
        let lit = |x: u32, y: u32| rows[y as usize].as_bytes()[x as usize] == b'#';
        RgbImage::from_fn(rows[0].len() as u32, rows.len() as u32, |x, y| {
            if lit(x, y) { [255; 3] } else { [0; 3] }
        })
    }

    #[test]
    fn all_eight_stored_forms_of_a_letter_come_out_upright() {
        // The eight drawings every EXIF reference shows, in the order of their values.
        let stored: [&[&str]; 8] = [
            &F,
            &["####", "...#", ".###", "...#", "...#"],
            &["...#", "...#", ".###", "...#", "####"],
            &["#...", "#...", "###.", "#...", "####"],
            &["#####", "#.#..", "#.#..", "#...."],
            &["#....", "#.#..", "#.#..", "#####"],
            &["....#", "..#.#", "..#.#", "#####"],
            &["#####", "..#.#", "..#.#", "....#"],
        ];
        for (orientation, rows) in Orientation::ALL.into_iter().zip(stored) {
            assert_eq!(orientation.apply(picture(rows)), picture(&F), "{orientation:?}");
        }
    }

    #[test]
    fn values_outside_one_to_eight_are_no_orientation() {
        for orientation in Orientation::ALL {
            assert_eq!(Orientation::from_exif(orientation.exif()), Some(orientation));
        }
        for value in [0, 9, u16::MAX] {
            assert_eq!(Orientation::from_exif(value), None);
        }
    }

    #[test]
    fn a_box_follows_what_it_surrounds() {
        // The top left quarter of a phone picture stored on its side lies at the top right.
        let corners = Orientation::NeedsClockwise.box_to_upright([0.0, 0.0, 0.5, 0.25]);
        assert_eq!(corners, [0.75, 0.0, 1.0, 0.5]);
        assert_eq!(Orientation::NeedsClockwise.box_to_stored(corners), [0.0, 0.0, 0.5, 0.25]);
    }

    fn any_orientation() -> impl Strategy<Value = Orientation> {
        (0..8_usize).prop_map(|index| Orientation::ALL[index])
    }

    proptest! {
        #[test]
        fn there_and_back_is_where_it_was(
            orientation in any_orientation(),
            corners in proptest::array::uniform4(0.0..=1.0_f64),
        ) {
            let [a, b, c, d] = corners;
            let corners = [a.min(c), b.min(d), a.max(c), b.max(d)];
            let upright = orientation.box_to_upright(corners);
            prop_assert!(upright[0] <= upright[2] && upright[1] <= upright[3]);
            for (back, was) in orientation.box_to_stored(upright).into_iter().zip(corners) {
                // 1 - (1 - x) rounds once.
                prop_assert!((back - was).abs() <= f64::EPSILON / 2.0);
            }
        }

        #[test]
        fn points_and_pixels_agree_and_pixels_are_exact(
            orientation in any_orientation(),
            (width, height) in (1..40_u32, 1..40_u32),
            (x, y) in (any::<u32>(), any::<u32>()),
        ) {
            let pixel = [x % width, y % height];
            let [u, v] = orientation.pixel_to_upright(pixel, width, height);
            let (upright_width, upright_height) = orientation.upright_size(width, height);
            prop_assert!(u < upright_width && v < upright_height);
            let back = orientation.inverse().pixel_to_upright([u, v], upright_width, upright_height);
            prop_assert_eq!(back, pixel);
            let middle = |at: u32, side: u32| (f64::from(at) + 0.5) / f64::from(side);
            let point = orientation
                .point_to_upright([middle(pixel[0], width), middle(pixel[1], height)]);
            prop_assert!((point[0] - middle(u, upright_width)).abs() < 1e-12);
            prop_assert!((point[1] - middle(v, upright_height)).abs() < 1e-12);
        }

        #[test]
        fn undoing_gives_the_stored_picture_back(
            orientation in any_orientation(),
            (width, height) in (1..70_u32, 1..70_u32),
        ) {
            let stored = RgbImage::from_fn(width, height, |x, y| [x as u8, y as u8, (x ^ y) as u8]);
            let upright = orientation.apply(stored.clone());
            prop_assert_eq!(orientation.inverse().apply(upright), stored);
        }
    }
}
