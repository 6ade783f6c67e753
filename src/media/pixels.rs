//! An 8-bit RGB picture in memory. Knows nothing of files.

/// Pixels, row after row, three bytes each. Never empty, and always as long as its size says.
#[derive(Clone, PartialEq, Eq)]
pub struct RgbImage {
    width: u32,
    height: u32,
    rgb: Vec<u8>,
}

/// Bytes and size do not go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a picture of {width}x{height} pixels: expected {expected} bytes and no empty side, found {found} bytes"
)]
pub struct SizeError {
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// Three bytes for each pixel.
    pub expected: u64,
    /// Length of what was given.
    pub found: u64,
}

impl RgbImage {
    /// # Errors
    /// A side is 0, or the bytes are not three for each pixel.
    pub fn new(width: u32, height: u32, rgb: Vec<u8>) -> Result<Self, SizeError> {
        let expected = 3 * u64::from(width) * u64::from(height);
        let found = rgb.len() as u64;
        if expected == 0 || expected != found {
            return Err(SizeError { width, height, expected, found });
        }
        Ok(Self { width, height, rgb })
    }

    /// A picture made pixel by pixel; a side of 0 is taken as 1.
    pub fn from_fn(width: u32, height: u32, mut pixel: impl FnMut(u32, u32) -> [u8; 3]) -> Self {
        let (width, height) = (width.max(1), height.max(1));
        let mut rgb = Vec::with_capacity(3 * width as usize * height as usize);
        for y in 0..height {
            for x in 0..width {
                rgb.extend_from_slice(&pixel(x, y));
            }
        }
        Self { width, height, rgb }
    }

    /// For code in this folder that has made the length right by construction.
    pub(in crate::media) fn trusted(width: u32, height: u32, rgb: Vec<u8>) -> Self {
        debug_assert_eq!(rgb.len(), 3 * width as usize * height as usize);
        Self { width, height, rgb }
    }

    /// In pixels, at least 1.
    pub const fn width(&self) -> u32 {
        self.width
    }

    /// In pixels, at least 1.
    pub const fn height(&self) -> u32 {
        self.height
    }

    /// All bytes, row after row.
    pub fn rgb(&self) -> &[u8] {
        &self.rgb
    }

    /// The bytes, without a copy.
    pub fn into_rgb(self) -> Vec<u8> {
        self.rgb
    }

    /// The pixel at a place inside the picture; the nearest one otherwise.
    pub fn pixel(&self, x: u32, y: u32) -> [u8; 3] {
        let x = x.min(self.width - 1) as usize;
        let y = y.min(self.height - 1) as usize;
        let at = 3 * (y * self.width as usize + x);
        [self.rgb[at], self.rgb[at + 1], self.rgb[at + 2]]
    }

    /// The rows, top first.
    pub fn rows(&self) -> std::slice::ChunksExact<'_, u8> {
        self.rgb.chunks_exact(3 * self.width as usize)
    }

    /// The part that starts at (x, y), cut where the picture ends; at least one pixel.
    #[must_use]
    pub fn crop(&self, x: u32, y: u32, width: u32, height: u32) -> Self {
        let (x, y) = (x.min(self.width - 1), y.min(self.height - 1));
        let width = width.clamp(1, self.width - x);
        let height = height.clamp(1, self.height - y);
        let columns = 3 * x as usize..3 * (x + width) as usize;
        let mut rgb = Vec::with_capacity(3 * width as usize * height as usize);
        for row in self.rows().skip(y as usize).take(height as usize) {
            rgb.extend_from_slice(&row[columns.clone()]);
        }
        Self::trusted(width, height, rgb)
    }
}

impl std::fmt::Debug for RgbImage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "RgbImage({}x{})", self.width, self.height)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_size_must_agree() {
        assert!(RgbImage::new(2, 1, vec![0; 6]).is_ok());
        for (width, height, length) in [(2, 1, 5), (2, 1, 7), (0, 1, 0), (1, 0, 0)] {
            assert!(RgbImage::new(width, height, vec![0; length]).is_err());
        }
        let error = RgbImage::new(2, 1, vec![0; 5]).expect_err("one byte short");
        assert_eq!((error.expected, error.found), (6, 5));
    }

    #[test]
    fn crop_is_cut_at_the_edges() {
        let picture = RgbImage::from_fn(4, 3, |x, y| [x as u8, y as u8, 0]);
        let part = picture.crop(2, 1, 10, 10);
        assert_eq!((part.width(), part.height()), (2, 2));
        assert_eq!(part.pixel(0, 0), [2, 1, 0]);
        assert_eq!(part.pixel(1, 1), [3, 2, 0]);
        let nothing = picture.crop(9, 9, 0, 0);
        assert_eq!((nothing.width(), nothing.height(), nothing.pixel(0, 0)), (1, 1, [3, 2, 0]));
        assert_eq!(picture.crop(0, 0, 4, 3), picture);
    }
}
