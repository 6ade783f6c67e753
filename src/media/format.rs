//! What kind of file some bytes are, by their content. The name of a file is never asked.

/// A kind of picture this program opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// JPEG
    Jpeg,
    /// PNG
    Png,
    /// GIF
    Gif,
    /// WebP
    WebP,
    /// BMP
    Bmp,
    /// TIFF
    Tiff,
}

/// What was recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::media) enum Sniffed {
    /// A kind that is opened.
    Picture(Format),
    /// A kind of picture that is not opened.
    Unsupported(&'static str),
    /// Anything else.
    Other(&'static str),
}

impl Format {
    /// As people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jpeg => "JPEG",
            Self::Png => "PNG",
            Self::Gif => "GIF",
            Self::WebP => "WebP",
            Self::Bmp => "BMP",
            Self::Tiff => "TIFF",
        }
    }

    /// File name extensions of this kind, lower case.
    pub const fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Jpeg => &["jpg", "jpeg", "jpe", "jfif"],
            Self::Png => &["png", "apng"],
            Self::Gif => &["gif"],
            Self::WebP => &["webp"],
            Self::Bmp => &["bmp", "dib"],
            Self::Tiff => &["tif", "tiff"],
        }
    }

    /// Whether a file name extension, without its dot, promises this kind.
    pub fn matches_extension(self, extension: &str) -> bool {
        self.extensions().iter().any(|known| known.eq_ignore_ascii_case(extension))
    }
}

/// The kind of these bytes.
pub(in crate::media) fn sniff(bytes: &[u8]) -> Sniffed {
    let starts = |magic: &[u8]| bytes.starts_with(magic);
    let riff = starts(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    if starts(b"\xff\xd8\xff") {
        Sniffed::Picture(Format::Jpeg)
    } else if starts(b"\x89PNG\r\n\x1a\n") {
        Sniffed::Picture(Format::Png)
    } else if starts(b"GIF87a") || starts(b"GIF89a") {
        Sniffed::Picture(Format::Gif)
    } else if riff {
        Sniffed::Picture(Format::WebP)
    } else if starts(b"BM") {
        Sniffed::Picture(Format::Bmp)
    } else if starts(b"II*\0") || starts(b"MM\0*") {
        Sniffed::Picture(Format::Tiff)
    } else if starts(b"\xff\x0a") || starts(b"\0\0\0\x0cJXL ") {
        Sniffed::Unsupported("JPEG XL")
    } else if starts(b"\0\0\0\x0cjP  ") || starts(b"\xff\x4f\xff\x51") {
        Sniffed::Unsupported("JPEG 2000")
    } else if starts(b"\0\0\x01\0") {
        Sniffed::Unsupported("ICO")
    } else if starts(b"8BPS") {
        Sniffed::Unsupported("Photoshop")
    } else if bytes.get(4..8) == Some(b"ftyp") {
        box_file(bytes)
    } else {
        other(bytes)
    }
}

/// Files made of boxes tell their kind by a brand.
fn box_file(bytes: &[u8]) -> Sniffed {
    match bytes.get(8..12) {
        Some(b"avif" | b"avis") => Sniffed::Unsupported("AVIF"),
        Some(b"heic" | b"heix" | b"heim" | b"heis" | b"hevc" | b"hevx" | b"mif1" | b"msf1") => {
            // The general brand names the real one further on.
            let brands = bytes.get(12..64.min(bytes.len())).unwrap_or_default();
            if brands.windows(4).any(|brand| brand == b"avif") {
                Sniffed::Unsupported("AVIF")
            } else {
                Sniffed::Unsupported("HEIC")
            }
        }
        _ => Sniffed::Other("a video or another file made of boxes"),
    }
}

fn other(bytes: &[u8]) -> Sniffed {
    /// Bytes looked at for a telling word.
    const HEAD: usize = 512;
    let head = bytes.get(..HEAD.min(bytes.len())).unwrap_or_default().to_ascii_lowercase();
    let has = |word: &[u8]| head.windows(word.len()).any(|part| part == word);
    if has(b"<!doctype html") || has(b"<html") {
        Sniffed::Other("an HTML page")
    } else if has(b"<svg") {
        Sniffed::Unsupported("SVG")
    } else if head.starts_with(b"%pdf") {
        Sniffed::Other("a PDF document")
    } else if head.starts_with(b"version https://git-lfs") {
        Sniffed::Other("a Git LFS pointer, the picture itself is not here")
    } else if head.starts_with(b"pk\x03\x04") {
        Sniffed::Other("a ZIP archive")
    } else if head.len() < 12 {
        Sniffed::Other("only a few bytes")
    } else if head.iter().all(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e)) {
        Sniffed::Other("text")
    } else {
        Sniffed::Other("bytes of no known kind")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_their_first_bytes() {
        for (bytes, kind) in [
            (b"\xff\xd8\xff\xe0".as_slice(), Sniffed::Picture(Format::Jpeg)),
            (b"\x89PNG\r\n\x1a\n", Sniffed::Picture(Format::Png)),
            (b"GIF89a", Sniffed::Picture(Format::Gif)),
            (b"RIFF\0\0\0\0WEBPVP8 ", Sniffed::Picture(Format::WebP)),
            (b"BM", Sniffed::Picture(Format::Bmp)),
            (b"MM\0*", Sniffed::Picture(Format::Tiff)),
            (b"\0\0\0\x18ftypavif\0\0\0\0", Sniffed::Unsupported("AVIF")),
            (b"\0\0\0\x18ftypmif1\0\0\0\0avifmiaf", Sniffed::Unsupported("AVIF")),
            (b"\0\0\0\x18ftypheic\0\0\0\0", Sniffed::Unsupported("HEIC")),
            (
                b"\0\0\0\x18ftypmp42\0\0\0\0",
                Sniffed::Other("a video or another file made of boxes"),
            ),
            (b"RIFF\0\0\0\0WAVE", Sniffed::Other("bytes of no known kind")),
            (b"<!DOCTYPE HTML>", Sniffed::Other("an HTML page")),
            (b"\n <svg>", Sniffed::Unsupported("SVG")),
            (b"404: Not Found", Sniffed::Other("text")),
            (b"\xff\xd8", Sniffed::Other("only a few bytes")),
        ] {
            assert_eq!(sniff(bytes), kind, "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn extensions_are_matched_without_case() {
        assert!(Format::Jpeg.matches_extension("JPG"));
        assert!(!Format::Png.matches_extension("jpg"));
    }
}
