//! The first frame of a GIF on its canvas, as Pillow lays it there.
//!
//! Pillow fills what the frame leaves free with the colour of the transparent index, or of index 0, and
//! makes the canvas larger when the frame sticks out. `image` leaves it black and cuts, so the frame is
//! read through `gif` itself.

use std::num::NonZeroU64;

use gif::{ColorOutput, DecodeOptions, MemoryLimit};

use super::decode::{Damage, DecodeError};
use super::format::Format;
use super::limits::Limits;
use super::pixels::RgbImage;

/// The picture, and whether any pixel of it is transparent.
pub(in crate::media) fn decode(
    bytes: &[u8],
    limits: &Limits,
) -> Result<(RgbImage, bool), DecodeError> {
    let damaged = |error: gif::DecodingError| Damage::new(Format::Gif, &error.to_string());
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::Indexed);
    if let Some(most) = NonZeroU64::new(limits.buffer_bytes) {
        options.set_memory_limit(MemoryLimit::Bytes(most));
    }
    let mut decoder = options.read_info(bytes).map_err(damaged)?;
    let screen = (usize::from(decoder.width()), usize::from(decoder.height()));
    let Some(frame) = decoder.next_frame_info().map_err(damaged)? else {
        return Err(Damage::new(Format::Gif, "it has no frame").into());
    };
    let (left, top) = (usize::from(frame.left), usize::from(frame.top));
    let (columns, rows) = (usize::from(frame.width), usize::from(frame.height));
    let transparent = frame.transparent;
    let own_palette = frame.palette.clone();
    let width = screen.0.max(left + columns);
    let height = screen.1.max(top + rows);
    limits.check_size(width as u64, height as u64)?;
    if columns == 0 || rows == 0 {
        return Err(Damage::new(Format::Gif, "a side is 0").into());
    }
    let mut indices = vec![0; columns * rows];
    decoder.read_into_buffer(&mut indices).map_err(damaged)?;

    let palette = own_palette.as_deref().or_else(|| decoder.global_palette()).unwrap_or_default();
    let colors = full_palette(palette);
    let fill = colors[usize::from(transparent.unwrap_or(0))];
    let mut rgb = fill.repeat(width * height);
    for (row, line) in indices.chunks_exact(columns).enumerate() {
        let start = 3 * ((top + row) * width + left);
        let target = rgb[start..start + 3 * columns].chunks_exact_mut(3);
        for (pixel, index) in target.zip(line) {
            pixel.copy_from_slice(&colors[usize::from(*index)]);
        }
    }
    let covers = columns == width && rows == height;
    let has_transparent = transparent.is_some_and(|index| !covers || indices.contains(&index));
    let side = |length: usize| u32::try_from(length).unwrap_or(0);
    let picture = RgbImage::new(side(width), side(height), rgb)
        .map_err(|error| Damage::new(Format::Gif, &error.to_string()))?;
    Ok((picture, has_transparent))
}

/// All 256 colours; those a short palette lacks are black, as in Pillow.
fn full_palette(palette: &[u8]) -> [[u8; 3]; 256] {
    let mut colors = [[0; 3]; 256];
    for (color, bytes) in colors.iter_mut().zip(palette.chunks_exact(3)) {
        color.copy_from_slice(bytes);
    }
    colors
}
