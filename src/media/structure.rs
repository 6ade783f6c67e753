//! Questions about a file that need no pixels: does it hold more than one frame, is it whole.
//!
//! Each walks the blocks of its kind by their lengths and decompresses nothing.

use super::format::Format;

/// What the blocks of a file tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::media) struct Structure {
    /// More than one frame is announced or begun.
    pub(in crate::media) animated: bool,
    /// The first frame's blocks are all there. JPEG has its own check.
    pub(in crate::media) whole: bool,
    /// The file ends as its kind should.
    pub(in crate::media) ended: bool,
}

/// Walks the blocks of a file.
pub(in crate::media) fn read(bytes: &[u8], format: Format) -> Structure {
    match format {
        Format::Gif => gif(bytes),
        Format::Png => png(bytes),
        Format::WebP => webp(bytes),
        Format::Jpeg | Format::Bmp | Format::Tiff => {
            Structure { animated: false, whole: true, ended: true }
        }
    }
}

fn png(bytes: &[u8]) -> Structure {
    let mut structure = Structure { animated: false, whole: true, ended: false };
    let mut pixels_begun = false;
    for (kind, body) in png_chunks(bytes) {
        match &kind {
            b"IDAT" => pixels_begun = true,
            b"acTL" if !pixels_begun => {
                let frames = body.get(..4).and_then(|frames| frames.try_into().ok());
                structure.animated = frames.map(u32::from_be_bytes) > Some(1);
            }
            b"IEND" => structure.ended = true,
            _ => {}
        }
    }
    structure
}

/// Kind and body of each chunk that is there in full; its checksum may be missing.
fn png_chunks(bytes: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    let mut at = 8;
    std::iter::from_fn(move || {
        let head: [u8; 8] = bytes.get(at..at + 8)?.try_into().ok()?;
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
        let start = at + 8;
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        let body = bytes.get(start..end)?;
        at = end.checked_add(4)?;
        Some(([head[4], head[5], head[6], head[7]], body))
    })
}

fn webp(bytes: &[u8]) -> Structure {
    let size = bytes.get(4..8).and_then(|size| size.try_into().ok()).map_or(0, u32::from_le_bytes);
    let whole = bytes.len() as u64 >= 8 + u64::from(size);
    let extended = bytes.get(12..16) == Some(b"VP8X");
    let animated = extended && bytes.get(20).is_some_and(|flags| flags & 2 != 0);
    Structure { animated, whole, ended: whole }
}

fn gif(bytes: &[u8]) -> Structure {
    let mut structure = Structure { animated: false, whole: false, ended: false };
    // Running off the end is an answer: what was seen up to there.
    let _ = gif_walk(bytes, &mut structure);
    structure
}

fn gif_walk(bytes: &[u8], structure: &mut Structure) -> Option<()> {
    let table = |flags: u8| if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) };
    let mut at = 13 + table(*bytes.get(10)?);
    loop {
        match bytes.get(at)? {
            // An extension: label, then sub-blocks.
            0x21 => at = after_sub_blocks(bytes, at + 2)?,
            0x2c => {
                structure.animated |= structure.whole;
                // Place, size, flags, own table, code size, then sub-blocks.
                let own = table(*bytes.get(at + 9)?);
                at = after_sub_blocks(bytes, at + 10 + own + 1)?;
                structure.whole = true;
            }
            trailer => {
                structure.ended = *trailer == 0x3b;
                return Some(());
            }
        }
    }
}

fn after_sub_blocks(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match bytes.get(at) {
            Some(0) => return Some(at + 1),
            Some(length) => at += 1 + usize::from(*length),
            // The decoder knows whether the blocks held every pixel.
            None if at == bytes.len() => return Some(at),
            None => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A GIF of `frames` frames of one pixel.
    fn gif_of(frames: usize) -> Vec<u8> {
        let mut out = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff".to_vec();
        for _ in 0..frames {
            out.extend(b"!\xf9\x04\0\0\0\0\0");
            out.extend(b",\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0");
        }
        out.push(0x3b);
        out
    }

    #[test]
    fn frames_of_a_gif_are_told_apart() {
        let one = gif_of(1);
        let whole = Structure { animated: false, whole: true, ended: true };
        assert_eq!(read(&one, Format::Gif), whole);
        assert_eq!(read(&gif_of(2), Format::Gif), Structure { animated: true, ..whole });
        let no_trailer = &one[..one.len() - 1];
        assert_eq!(read(no_trailer, Format::Gif), Structure { ended: false, ..whole });
        let no_end_of_data = &one[..one.len() - 2];
        assert_eq!(read(no_end_of_data, Format::Gif), Structure { ended: false, ..whole });
        assert!(!read(&one[..one.len() - 3], Format::Gif).whole);
        assert!(!read(&gif_of(0), Format::Gif).whole);
    }

    #[test]
    fn a_webp_shorter_than_it_says_is_not_whole() {
        let mut bytes = b"RIFF\x0e\0\0\0WEBPVP8X\x0a\0\0\0\x02\0".to_vec();
        assert_eq!(
            read(&bytes, Format::WebP),
            Structure { animated: true, whole: true, ended: true }
        );
        bytes.pop();
        assert!(!read(&bytes, Format::WebP).whole);
    }

    #[test]
    fn an_announced_png_animation_of_one_frame_is_none() {
        let chunk = |kind: &[u8; 4], body: &[u8]| {
            [&(body.len() as u32).to_be_bytes(), kind.as_slice(), body, &[0; 4]].concat()
        };
        for (frames, animated) in [(0_u32, false), (1, false), (2, true), (u32::MAX, true)] {
            let control = [frames.to_be_bytes(), [0; 4]].concat();
            let parts = [chunk(b"acTL", &control), chunk(b"IDAT", b""), chunk(b"IEND", b"")];
            let bytes = [b"\x89PNG\r\n\x1a\n".as_slice(), &parts.concat()].concat();
            let expected = Structure { animated, whole: true, ended: true };
            assert_eq!(read(&bytes, Format::Png), expected);
            assert!(!read(&bytes[..bytes.len() - 12], Format::Png).ended);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_walked_without_a_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            frames in 0..3_usize,
            cut in 0..80_usize,
        ) {
            let mut bytes_after_gif = gif_of(frames);
            bytes_after_gif.truncate(cut);
            bytes_after_gif.extend(&bytes);
            for format in [Format::Gif, Format::Png, Format::WebP] {
                let _ = read(&bytes, format);
                let _ = read(&bytes_after_gif, format);
            }
        }
    }
}
