//! JPEG through `mozjpeg`, whose pixels equal those of libjpeg-turbo and so of Pillow.
//!
//! The library fills what is missing with grey and says nothing, so completeness is checked here first:
//! the file must have an end-of-image marker after its first scan. What follows that marker is ignored,
//! as in the many files that carry a second picture or rubbish there.
//!
//! Equal means: for intact files. What a scan with flipped bits decodes to may leave the range a decoder is
//! made for, and there even builds of one library differ, with vector code and without.

use mozjpeg::ColorSpace;

use super::contain::contain;
use super::decode::{Damage, DecodeError};
use super::exif::{self, ExifFacts};
use super::format::Format;
use super::limits::Limits;
use super::pixels::RgbImage;

/// What a walk over the markers of a JPEG tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Header {
    width: u64,
    height: u64,
    components: u8,
    /// Bits of a sample.
    precision: u8,
    /// Second byte of the frame marker.
    frame: u8,
    /// Samples of all components, rounded up to whole blocks.
    samples: u64,
    scans: u64,
    ended: bool,
    exif: ExifFacts,
}

const MARKER_EOI: u8 = 0xd9;
const MARKER_SOS: u8 = 0xda;
const MARKER_APP1: u8 = 0xe1;

/// Decodes the picture as it is stored.
pub(in crate::media) fn decode(
    bytes: &[u8],
    limits: &Limits,
) -> Result<(RgbImage, ExifFacts), DecodeError> {
    let header = read_header(bytes);
    check(&header, limits)?;
    let picture = contain(|| pixels(bytes, limits)).map_err(|said| {
        Damage::new(Format::Jpeg, said.trim_start_matches("libjpeg fatal error: "))
    })??;
    Ok((picture, header.exif))
}

fn check(header: &Header, limits: &Limits) -> Result<(), DecodeError> {
    let damaged = |reason: &str| Err(DecodeError::from(Damage::new(Format::Jpeg, reason)));
    if header.frame == 0 {
        return damaged("it ends before its header does");
    }
    let unsupported = |found: String| Err(DecodeError::Variant { format: Format::Jpeg, found });
    if header.precision != 8 {
        return unsupported(format!("{} bits a sample, expected 8", header.precision));
    }
    if !matches!(header.components, 1 | 3 | 4) {
        return unsupported(format!("{} components, expected 1, 3 or 4", header.components));
    }
    limits.check_size(header.width, header.height)?;
    if header.width == 0 || header.height == 0 {
        return damaged("a side is 0");
    }
    limits.check_jpeg_scans(header.scans, header.width * header.height)?;
    // Baseline with one scan is decoded row by row; else all coefficients, 2 bytes each, are kept.
    if header.frame == 0xc2 || header.frame == 0xca || header.scans > 1 {
        limits.check_buffer(2 * header.samples)?;
    }
    if !header.ended {
        return damaged("it is cut off: no end-of-image marker");
    }
    Ok(())
}

fn pixels(bytes: &[u8], limits: &Limits) -> Result<RgbImage, DecodeError> {
    let damaged = |error: std::io::Error| Damage::new(Format::Jpeg, &error.to_string());
    let decoder = mozjpeg::Decompress::new_mem(bytes).map_err(damaged)?;
    let (width, height) = (decoder.width(), decoder.height());
    // The library's own reading of the header has the last word on how much will be asked for.
    limits.check_size(width as u64, height as u64)?;
    let ink = matches!(decoder.color_space(), ColorSpace::JCS_CMYK | ColorSpace::JCS_YCCK);
    let channels = if ink { 4 } else { 3 };
    limits.check_buffer(channels * width as u64 * height as u64)?;
    let target = if ink { ColorSpace::JCS_CMYK } else { ColorSpace::JCS_RGB };
    let mut started = decoder.to_colorspace(target).map_err(damaged)?;
    let mut pixels: Vec<u8> = started.read_scanlines().map_err(damaged)?;
    started.finish().map_err(damaged)?;
    if ink {
        ink_to_rgb(&mut pixels);
    }
    let side = |length: usize| u32::try_from(length).unwrap_or(0);
    RgbImage::new(side(width), side(height), pixels)
        .map_err(|error| Damage::new(Format::Jpeg, &error.to_string()).into())
}

/// Four inks to RGB in place, as Pillow does it: inks are taken as stored inverted, whether or not the
/// file says so, and multiplied by what the black ink leaves.
fn ink_to_rgb(pixels: &mut Vec<u8>) {
    let count = pixels.len() / 4;
    for index in 0..count {
        let [cyan, magenta, yellow, black] = [0, 1, 2, 3].map(|at| pixels[4 * index + at]);
        for (at, ink) in [cyan, magenta, yellow].into_iter().enumerate() {
            let product = u32::from(255 - ink) * u32::from(black) + 128;
            // Division by 255, rounded.
            let covered = ((product >> 8) + product) >> 8;
            pixels[3 * index + at] = (u32::from(black).saturating_sub(covered)) as u8;
        }
    }
    pixels.truncate(3 * count);
}

/// Walks the markers up to the end of the first picture. Never fails: what is missing stays zero.
fn read_header(bytes: &[u8]) -> Header {
    let mut header = Header::default();
    let mut at = 2;
    while let Some((marker, after)) = next_marker(bytes, at) {
        match marker {
            MARKER_EOI if header.scans > 0 => {
                header.ended = true;
                break;
            }
            // Markers that stand alone, and, among entropy-coded data, bytes that are none.
            0x01 | 0xd0..=0xd9 => at = after,
            0x02..=0xbf if header.scans > 0 => at = after,
            _ => {
                let Some(length) = be16(bytes, after) else { break };
                let end = after + usize::from(length).max(2);
                if end > bytes.len() && header.scans > 0 {
                    at = after;
                    continue;
                }
                let body = bytes.get(after + 2..end.min(bytes.len())).unwrap_or_default();
                read_segment(&mut header, marker, body);
                at = end;
            }
        }
    }
    header
}

fn read_segment(header: &mut Header, marker: u8, body: &[u8]) {
    match marker {
        // Every frame marker; c4, c8 and cc are other things.
        0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf if header.frame == 0 => {
            let (Some(height), Some(width)) = (be16(body, 1), be16(body, 3)) else { return };
            header.frame = marker;
            header.precision = body[0];
            header.height = height.into();
            header.width = width.into();
            header.components = body.get(5).copied().unwrap_or(0);
            header.samples = samples(body, header.width, header.height);
        }
        MARKER_SOS => header.scans += 1,
        MARKER_APP1 if body.starts_with(b"Exif\0\0") && header.exif == ExifFacts::default() => {
            header.exif = exif::read(body);
        }
        _ => {}
    }
}

/// Samples of all components in whole blocks: an upper bound, within one row and column of blocks.
fn samples(frame: &[u8], width: u64, height: u64) -> u64 {
    let factors: Vec<(u64, u64)> = frame
        .get(6..)
        .unwrap_or_default()
        .chunks_exact(3)
        .map(|component| (u64::from(component[1] >> 4), u64::from(component[1] & 15)))
        .collect();
    let widest = factors.iter().map(|factor| factor.0).max().unwrap_or(1).max(1);
    let highest = factors.iter().map(|factor| factor.1).max().unwrap_or(1).max(1);
    let columns = width.div_ceil(8 * widest);
    let rows = height.div_ceil(8 * highest);
    factors.iter().map(|(across, down)| 64 * columns * across * rows * down).sum()
}

/// The next marker at or after `at`, and where the byte after it lies. Skips entropy-coded data, its
/// stuffed zeros and restart markers, fill bytes and rubbish alike.
fn next_marker(bytes: &[u8], mut at: usize) -> Option<(u8, usize)> {
    loop {
        at += bytes.get(at..)?.iter().position(|byte| *byte == 0xff)?;
        match bytes.get(at + 1)? {
            0x00 | 0xd0..=0xd7 => at += 2,
            0xff => at += 1,
            marker => return Some((*marker, at + 2)),
        }
    }
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    let pair = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_be_bytes([pair[0], pair[1]]))
}
