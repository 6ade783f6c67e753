//! Bytes to the first frame of a picture, by the rules of the recipe.
//!
//! The rules are those of a service that opens a picture with Pillow and converts it to RGB:
//! * the kind is told by content, never by name;
//! * animations give their first frame;
//! * alpha is dropped, not composited: the colour stored under a transparent pixel shows;
//! * 16-bit colour keeps its high byte, but 16-bit grey is *clipped* at 255, which leaves most such
//!   pictures white; for people it keeps its high byte;
//! * EXIF orientation is applied for people and not for the model, except that of TIFF, which Pillow applies
//!   when it opens the file, so it is applied for both;
//! * colour profiles are ignored.
//!
//! No input makes this module panic or allocate past [`LIMITS`]; a file that is cut off is refused.

use std::fmt;
use std::io::{Cursor, ErrorKind};

use image::{ColorType, ExtendedColorType, ImageDecoder, ImageFormat, ImageReader};

use super::contain::contain;
use super::exif::{self, ExifFacts};
use super::format::{Format, Sniffed, sniff};
use super::limits::{LIMITS, LimitError, LimitKind, Limits};
use super::orientation::Orientation;
use super::pixels::RgbImage;
use super::structure;
use super::{gif, jpeg};

const MOZJPEG_VERSION: &str = "0.10.13";
const GIF_VERSION: &str = "0.14.2";
const IMAGE_VERSION: &str = "0.25.10";

/// The libraries that decide the value of a pixel, and their versions; a test holds them to the lock file.
pub const DECODER_VERSIONS: [(&str, &str); 7] = [
    ("gif", GIF_VERSION),
    ("image", IMAGE_VERSION),
    ("image-webp", "0.2.4"),
    ("mozjpeg", MOZJPEG_VERSION),
    ("mozjpeg-sys", "2.2.3"),
    ("png", "0.18.1"),
    ("tiff", "0.11.3"),
];

/// Which library made the pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecoderUsed {
    /// JPEG.
    Mozjpeg,
    /// GIF.
    Gif,
    /// Any other kind.
    Image(Format),
}

impl fmt::Display for DecoderUsed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mozjpeg => write!(formatter, "mozjpeg {MOZJPEG_VERSION}"),
            Self::Gif => write!(formatter, "gif {GIF_VERSION}"),
            Self::Image(format) => write!(formatter, "image {IMAGE_VERSION} {}", format.name()),
        }
    }
}

/// What a person should know about how the pixels came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodeWarning {
    /// Some pixels are not opaque; their stored colour is used as it is.
    AlphaDropped,
    /// 16-bit grey went to white above 255.
    GreyClipped,
    /// Only the high byte of 16-bit samples is used.
    HighByteKept,
    /// The file holds further frames.
    FirstFrameOnly,
    /// The picture is stored turned; the model sees it as stored.
    StoredTurned(Orientation),
    /// The pixels are whole but the file does not end as its kind should.
    EndMissing,
}

impl fmt::Display for DecodeWarning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlphaDropped => formatter
                .write_str("has transparency: dropped, the colour stored under it is what counts"),
            Self::GreyClipped => formatter.write_str(
                "16-bit grey: the model's side clips values above 255 to white, as Pillow does",
            ),
            Self::HighByteKept => formatter.write_str("16-bit samples: the high byte is used"),
            Self::FirstFrameOnly => formatter.write_str("animated: the first frame is used"),
            Self::StoredTurned(orientation) => write!(
                formatter,
                "EXIF orientation {}: shown upright to people, left as stored for the model",
                orientation.exif()
            ),
            Self::EndMissing => {
                formatter.write_str("the file's end is missing, though its pixels are whole")
            }
        }
    }
}

/// A decoded first frame, as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// The pixels.
    pub picture: RgbImage,
    /// What the file is.
    pub format: Format,
    /// Who made the pixels.
    pub decoder: DecoderUsed,
    /// The file holds more than one frame.
    pub animated: bool,
    /// What the file says of its making.
    pub exif: ExifFacts,
    /// In the order of [`DecodeWarning`].
    pub warnings: Vec<DecodeWarning>,
}

/// A decoded first frame, upright.
#[derive(Debug, Clone, PartialEq)]
pub struct Upright {
    /// The pixels, turned as the file asks.
    pub picture: RgbImage,
    /// How the stored picture was turned; maps boxes between the two.
    pub orientation: Orientation,
    /// What the file is.
    pub format: Format,
    /// The file holds more than one frame.
    pub animated: bool,
    /// What the file says of its making.
    pub exif: ExifFacts,
    /// As for the model.
    pub warnings: Vec<DecodeWarning>,
}

/// A picture whose bytes are not what they should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("damaged {}: {reason}", format.name())]
pub struct Damage {
    /// What the file claims to be.
    pub format: Format,
    /// What is wrong. May hold a library's words: escape before showing.
    pub reason: String,
}

impl Damage {
    pub(in crate::media) fn new(format: Format, reason: &str) -> Self {
        Self { format, reason: reason.to_owned() }
    }
}

/// Why there are no pixels.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// No bytes at all.
    #[error("expected a picture, found an empty file")]
    Empty,
    /// Not a picture.
    #[error("expected a JPEG, PNG, GIF, WebP, BMP or TIFF picture, found {found}")]
    NotAPicture {
        /// What it looks like.
        found: &'static str,
    },
    /// A picture of a kind that is not opened.
    #[error(
        "expected a JPEG, PNG, GIF, WebP, BMP or TIFF picture, found {format}: convert it first"
    )]
    Unsupported {
        /// Its kind.
        format: &'static str,
    },
    /// A rare variant of a kind that is opened.
    #[error("{} of a kind that is not opened: {found}", format.name())]
    Variant {
        /// Its kind.
        format: Format,
        /// What is unusual. May hold a library's words: escape before showing.
        found: String,
    },
    /// Past a limit.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// Cut off or corrupt.
    #[error(transparent)]
    Damaged(#[from] Damage),
}

/// The first frame as the recipe wants it.
///
/// # Errors
/// See [`DecodeError`].
pub fn decode_for_model(bytes: &[u8]) -> Result<Decoded, DecodeError> {
    decode(bytes, &LIMITS, GreyRule::Clip)
}

/// The first frame as people should see it: upright, and 16-bit grey as grey.
///
/// # Errors
/// The same as for the model: a picture the model cannot have is not shown either.
pub fn decode_for_people(bytes: &[u8]) -> Result<Upright, DecodeError> {
    let decoded = decode(bytes, &LIMITS, GreyRule::HighByte)?;
    let orientation = decoded.exif.orientation.unwrap_or_default();
    Ok(Upright {
        picture: orientation.apply(decoded.picture),
        orientation,
        format: decoded.format,
        animated: decoded.animated,
        exif: decoded.exif,
        warnings: decoded.warnings,
    })
}

/// What becomes of 16-bit grey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GreyRule {
    /// Values above 255 are white.
    Clip,
    HighByte,
}

fn decode(bytes: &[u8], limits: &Limits, grey: GreyRule) -> Result<Decoded, DecodeError> {
    if bytes.is_empty() {
        return Err(DecodeError::Empty);
    }
    limits.check_file(bytes.len() as u64)?;
    let format = match sniff(bytes) {
        Sniffed::Picture(format) => format,
        Sniffed::Unsupported(format) => return Err(DecodeError::Unsupported { format }),
        Sniffed::Other(found) => return Err(DecodeError::NotAPicture { found }),
    };
    let mut warnings = Vec::new();
    let structure = structure::read(bytes, format);
    if !structure.whole {
        return Err(Damage::new(format, "it is cut off").into());
    }
    let contained = |said: String| Damage::new(format, &said);
    let (picture, decoder, exif) = match format {
        Format::Jpeg => {
            let (picture, exif) = jpeg::decode(bytes, limits)?;
            (picture, DecoderUsed::Mozjpeg, exif)
        }
        Format::Gif => {
            let (picture, transparent) =
                contain(|| gif::decode(bytes, limits)).map_err(contained)??;
            if transparent {
                warnings.push(DecodeWarning::AlphaDropped);
            }
            (picture, DecoderUsed::Gif, ExifFacts::default())
        }
        _ => {
            let samples = contain(|| read_other(bytes, format, limits)).map_err(contained)??;
            let (mut picture, mut exif) = samples.into_rgb(format, grey, &mut warnings)?;
            if format == Format::Tiff {
                let turned = exif.orientation.take().unwrap_or_default();
                picture = turned.apply(picture);
            }
            (picture, DecoderUsed::Image(format), exif)
        }
    };
    if structure.animated {
        warnings.push(DecodeWarning::FirstFrameOnly);
    }
    if let Some(orientation) = exif.orientation.filter(|found| *found != Orientation::Upright) {
        warnings.push(DecodeWarning::StoredTurned(orientation));
    }
    if !structure.ended {
        warnings.push(DecodeWarning::EndMissing);
    }
    Ok(Decoded { picture, format, decoder, animated: structure.animated, exif, warnings })
}

/// Samples as `image` gives them.
struct Samples {
    width: u32,
    height: u32,
    color: ColorType,
    /// 16-bit samples in the machine's byte order.
    bytes: Vec<u8>,
    exif: ExifFacts,
}

fn read_other(bytes: &[u8], format: Format, limits: &Limits) -> Result<Samples, DecodeError> {
    let failed = |error: image::ImageError| from_image_error(format, limits, &error);
    let kind = match format {
        Format::Jpeg => ImageFormat::Jpeg,
        Format::Png => ImageFormat::Png,
        Format::Gif => ImageFormat::Gif,
        Format::WebP => ImageFormat::WebP,
        Format::Bmp => ImageFormat::Bmp,
        Format::Tiff => ImageFormat::Tiff,
    };
    let mut reader = ImageReader::with_format(Cursor::new(bytes), kind);
    reader.limits(for_image(limits));
    let mut decoder = reader.into_decoder().map_err(failed)?;
    let (width, height) = decoder.dimensions();
    limits.check_size(width.into(), height.into())?;
    if width == 0 || height == 0 {
        return Err(Damage::new(format, "a side is 0").into());
    }
    // `into_decoder` does not look at this.
    let total = decoder.total_bytes();
    limits.check_buffer(total)?;
    let color = decoder.color_type();
    refuse_unequal(bytes, format, decoder.original_color_type())?;
    let exif = if format == Format::Tiff {
        exif::read(bytes)
    } else {
        let block = decoder.exif_metadata().ok().flatten();
        block.map(|block| exif::read(&block)).unwrap_or_default()
    };
    let mut samples = vec![0; usize::try_from(total).unwrap_or(0)];
    decoder.read_image(&mut samples).map_err(failed)?;
    Ok(Samples { width, height, color, bytes: samples, exif })
}

/// Variants that `image` opens with other pixels than Pillow: better no tensor than another one.
fn refuse_unequal(
    bytes: &[u8],
    format: Format,
    color: ExtendedColorType,
) -> Result<(), DecodeError> {
    const TAG_COMPRESSION: u16 = 0x0103;
    const JPEG_OLD: u32 = 6;
    const JPEG: u32 = 7;
    let refuse = |found: &str| Err(DecodeError::Variant { format, found: found.to_owned() });
    match format {
        // The bits of a pixel stand at a fixed place in all headers but the oldest.
        Format::Bmp if bytes.get(14) >= Some(&40) && bytes.get(28) == Some(&16) => {
            refuse("16 bits a pixel")
        }
        Format::Tiff => {
            let compression = exif::first_directory(bytes)
                .find(|entry| entry.tag == TAG_COMPRESSION)
                .map(|entry| entry.value);
            match (compression, color) {
                (Some(JPEG_OLD | JPEG), _) => refuse("compressed as JPEG"),
                (_, ExtendedColorType::Cmyk8 | ExtendedColorType::Cmyk16) => refuse("four inks"),
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn for_image(limits: &Limits) -> image::Limits {
    let mut out = image::Limits::default();
    out.max_image_width = u32::try_from(limits.side).ok();
    out.max_image_height = u32::try_from(limits.side).ok();
    // The picture itself and one working buffer as large.
    out.max_alloc = Some(2 * limits.buffer_bytes);
    out
}

fn from_image_error(format: Format, limits: &Limits, error: &image::ImageError) -> DecodeError {
    match error {
        image::ImageError::Limits(limit) => {
            let kind = match limit.kind() {
                image::error::LimitErrorKind::DimensionError => LimitKind::Width,
                _ => LimitKind::BufferBytes,
            };
            let expected = match kind {
                LimitKind::Width => limits.side,
                _ => limits.buffer_bytes,
            };
            LimitError { kind, expected, found: None }.into()
        }
        image::ImageError::Unsupported(_) => {
            DecodeError::Variant { format, found: error.to_string() }
        }
        image::ImageError::IoError(error) if error.kind() == ErrorKind::UnexpectedEof => {
            Damage::new(format, "it is cut off").into()
        }
        _ => Damage::new(format, &error.to_string()).into(),
    }
}

impl Samples {
    fn into_rgb(
        self,
        format: Format,
        grey: GreyRule,
        warnings: &mut Vec<DecodeWarning>,
    ) -> Result<(RgbImage, ExifFacts), DecodeError> {
        let (channels, wide) = match self.color {
            ColorType::L8 => (1, false),
            ColorType::La8 => (2, false),
            ColorType::Rgb8 => (3, false),
            ColorType::Rgba8 => (4, false),
            ColorType::L16 => (1, true),
            ColorType::La16 => (2, true),
            ColorType::Rgb16 => (3, true),
            ColorType::Rgba16 => (4, true),
            other => {
                let found = format!("samples of kind {other:?}");
                return Err(DecodeError::Variant { format, found });
            }
        };
        let mut bytes = self.bytes;
        if wide {
            let clips = channels == 1 && grey == GreyRule::Clip;
            narrow(&mut bytes, clips);
            warnings.push(if channels == 1 {
                DecodeWarning::GreyClipped
            } else {
                DecodeWarning::HighByteKept
            });
        }
        let has_alpha = matches!(channels, 2 | 4);
        if has_alpha && bytes.chunks_exact(channels).any(|pixel| pixel[channels - 1] != 255) {
            warnings.insert(0, DecodeWarning::AlphaDropped);
        }
        let rgb = match channels {
            1 | 2 => spread(&bytes, channels),
            4 => {
                drop_fourth(&mut bytes);
                bytes
            }
            _ => bytes,
        };
        let picture = RgbImage::new(self.width, self.height, rgb)
            .map_err(|error| Damage::new(format, &error.to_string()))?;
        Ok((picture, self.exif))
    }
}

/// 16-bit samples to 8 bits, in place.
fn narrow(bytes: &mut Vec<u8>, clips: bool) {
    let count = bytes.len() / 2;
    for index in 0..count {
        let value = u16::from_ne_bytes([bytes[2 * index], bytes[2 * index + 1]]);
        bytes[index] = if clips { value.min(255) as u8 } else { (value >> 8) as u8 };
    }
    bytes.truncate(count);
}

/// Grey to three equal channels.
fn spread(bytes: &[u8], channels: usize) -> Vec<u8> {
    let mut rgb = Vec::with_capacity(3 * bytes.len() / channels);
    for pixel in bytes.chunks_exact(channels) {
        rgb.extend_from_slice(&[pixel[0]; 3]);
    }
    rgb
}

fn drop_fourth(bytes: &mut Vec<u8>) {
    let count = bytes.len() / 4;
    for index in 0..count {
        bytes.copy_within(4 * index..4 * index + 3, 3 * index);
    }
    bytes.truncate(3 * count);
}

#[cfg(test)]
mod tests;
