//! How large a picture may be. Every limit is checked before the memory is asked for.
//!
//! A file of a few bytes can claim a picture of many gigabytes, so nothing here trusts a header: the
//! claim is compared first, and only then does a decoder see the file.

use std::fmt;

/// What may be at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Size of the file, in bytes.
    pub file_bytes: u64,
    /// Width and height, in pixels.
    pub side: u64,
    /// Width times height.
    pub pixels: u64,
    /// Any one buffer a decoder fills, in bytes.
    pub buffer_bytes: u64,
    /// Scans of one JPEG; each goes over the whole picture again.
    pub jpeg_scans: u64,
    /// Scans of one JPEG times its pixels: the work a small file can ask for.
    pub jpeg_scan_pixels: u64,
}

/// The limits of every picture this program opens.
pub const LIMITS: Limits = Limits {
    file_bytes: 256 << 20,
    side: 12_000,
    pixels: 64_000_000,
    buffer_bytes: 256 << 20,
    jpeg_scans: 100,
    jpeg_scan_pixels: 2_000_000_000,
};

/// Which limit a picture breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitKind {
    /// Size of the file.
    FileBytes,
    /// Width.
    Width,
    /// Height.
    Height,
    /// Width times height.
    Pixels,
    /// One buffer of the decoder.
    BufferBytes,
    /// Scans of a JPEG.
    JpegScans,
    /// Scans of a JPEG times its pixels.
    JpegScanPixels,
}

/// A picture past a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub struct LimitError {
    /// Which limit.
    pub kind: LimitKind,
    /// The most that is accepted.
    pub expected: u64,
    /// What the file has or claims; `None` when a decoder gave up without saying.
    pub found: Option<u64>,
}

impl fmt::Display for LimitError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, unit) = match self.kind {
            LimitKind::FileBytes => ("file", "bytes"),
            LimitKind::Width => ("width", "pixels"),
            LimitKind::Height => ("height", "pixels"),
            LimitKind::Pixels => ("picture", "pixels"),
            LimitKind::BufferBytes => ("memory to decode it", "bytes"),
            LimitKind::JpegScans => ("JPEG", "scans"),
            LimitKind::JpegScanPixels => ("JPEG scans times pixels", "pixels"),
        };
        write!(formatter, "{what}: expected at most {} {unit}, found ", self.expected)?;
        match self.found {
            Some(found) => write!(formatter, "{found}"),
            None => formatter.write_str("more"),
        }
    }
}

impl Limits {
    /// # Errors
    /// The file is too large.
    pub fn check_file(&self, bytes: u64) -> Result<(), LimitError> {
        at_most(LimitKind::FileBytes, self.file_bytes, bytes)
    }

    /// # Errors
    /// A side or the area is too large.
    pub fn check_size(&self, width: u64, height: u64) -> Result<(), LimitError> {
        at_most(LimitKind::Width, self.side, width)?;
        at_most(LimitKind::Height, self.side, height)?;
        at_most(LimitKind::Pixels, self.pixels, width.saturating_mul(height))
    }

    /// # Errors
    /// A buffer of this many bytes is too large.
    pub fn check_buffer(&self, bytes: u64) -> Result<(), LimitError> {
        at_most(LimitKind::BufferBytes, self.buffer_bytes, bytes)
    }

    /// # Errors
    /// Too many scans, or too many for so large a picture.
    pub fn check_jpeg_scans(&self, scans: u64, pixels: u64) -> Result<(), LimitError> {
        at_most(LimitKind::JpegScans, self.jpeg_scans, scans)?;
        at_most(LimitKind::JpegScanPixels, self.jpeg_scan_pixels, scans.saturating_mul(pixels))
    }
}

fn at_most(kind: LimitKind, expected: u64, found: u64) -> Result<(), LimitError> {
    if found <= expected { Ok(()) } else { Err(LimitError { kind, expected, found: Some(found) }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(result: Result<(), LimitError>) -> Option<LimitKind> {
        result.err().map(|error| error.kind)
    }

    #[test]
    fn each_limit_fires_one_past_its_value_and_not_at_it() {
        let limits = LIMITS;
        assert_eq!(kind(limits.check_file(256 << 20)), None);
        assert_eq!(kind(limits.check_file((256 << 20) + 1)), Some(LimitKind::FileBytes));
        assert_eq!(kind(limits.check_size(12_000, 5_333)), None);
        assert_eq!(kind(limits.check_size(12_001, 1)), Some(LimitKind::Width));
        assert_eq!(kind(limits.check_size(1, 12_001)), Some(LimitKind::Height));
        assert_eq!(kind(limits.check_size(12_000, 5_334)), Some(LimitKind::Pixels));
        assert_eq!(kind(limits.check_buffer(256 << 20)), None);
        assert_eq!(kind(limits.check_buffer((256 << 20) + 1)), Some(LimitKind::BufferBytes));
        assert_eq!(kind(limits.check_jpeg_scans(100, 20_000_000)), None);
        assert_eq!(kind(limits.check_jpeg_scans(101, 1)), Some(LimitKind::JpegScans));
        assert_eq!(kind(limits.check_jpeg_scans(100, 20_000_001)), Some(LimitKind::JpegScanPixels));
    }

    #[test]
    fn message_names_expected_and_found() {
        let error = LIMITS.check_size(100_000, 100_000).expect_err("too wide");
        assert_eq!(error.to_string(), "width: expected at most 12000 pixels, found 100000");
    }
}
