//! One picture printed to a plain terminal, where it scrolls away like any other output.
//!
//! `viuer` does that well and is used for it; its own question to the terminal never ends on one that
//! does not answer, so it is told what [`super::probe`] found out. Nothing here is for use inside a screen.

use std::io;

use image::{DynamicImage, RgbImage};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::overlay::BoxOverlay;
use super::probe::Probe;
use super::viewport::{UnitRect, Viewport, cells_for};
use super::worker::{Body, Request, encode, prepare_pixels};
use super::{Canvas, Depth, Method, Picture, PictureId, overlay};
use crate::tui::headless;
use crate::tui::theme::Theme;

/// The way `viuer` prints what the probe found: sixel has no home there, and blocks always work.
fn method(probe: &Probe) -> Method {
    match probe.method {
        Method::Sixel => Method::Blocks,
        other => other,
    }
}

/// Prints a picture with boxes, at most `columns` x `rows` cells large.
///
/// # Errors
/// It cannot be scaled, or standard output is gone.
pub fn print(
    picture: &Picture,
    boxes: &[BoxOverlay],
    (columns, rows): (u16, u16),
    probe: &Probe,
) -> io::Result<()> {
    let method = method(probe);
    let canvas = Canvas { method, ..probe.canvas() };
    let size = (picture.pixels.width(), picture.pixels.height());
    let cells = cells_for(size, UnitRect::WHOLE, (columns.max(1), rows.max(1)), canvas.cell);
    let target = if method == Method::Blocks {
        (u32::from(cells.0), u32::from(cells.1) * 2)
    } else {
        (
            u32::from(cells.0) * u32::from(canvas.cell.0),
            u32::from(cells.1) * u32::from(canvas.cell.1),
        )
    };
    let rgb = prepare_pixels(picture, UnitRect::WHOLE, target, boxes).map_err(io::Error::other)?;
    let image = RgbImage::from_raw(target.0, target.1, rgb)
        .map(DynamicImage::ImageRgb8)
        .ok_or_else(|| io::Error::other("the pixels do not fill the picture"))?;
    let config = viuer::Config {
        transparent: true,
        absolute_offset: false,
        restore_cursor: false,
        width: Some(u32::from(cells.0)),
        height: Some(u32::from(cells.1)),
        truecolor: probe.depth == Depth::True,
        use_kitty: method == Method::Kitty,
        use_iterm: method == Method::Iterm,
        ..viuer::Config::default()
    };
    viuer::print(&image, &config).map(drop).map_err(io::Error::other)
}

/// The same as plain characters, for terminals without colours.
///
/// # Errors
/// It cannot be scaled; one line.
pub fn as_text(
    picture: &Picture,
    boxes: &[BoxOverlay],
    (columns, rows): (u16, u16),
) -> Result<String, String> {
    let shown = encode(
        picture,
        &Request {
            generation: 0,
            id: PictureId { content: [0; 32], rendition: 0 },
            viewport: Viewport::default(),
            area: (columns.max(1), rows.max(1)),
            canvas: Canvas::MONO,
            boxes: Vec::new(),
            next: Vec::new(),
        },
    )?;
    let area = Rect::new(0, 0, shown.cells.0, shown.cells.1);
    let mut buffer = Buffer::empty(area);
    if let Body::Cells(image) = &shown.body {
        image.render(area, &mut buffer);
    }
    overlay::render(boxes, shown.orientation, shown.crop, area, &mut buffer, Theme::MONO);
    Ok(headless::dump(&buffer).text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::picture::overlay::Line;
    use crate::tui::picture::worker::tests::plain;

    #[test]
    fn a_picture_as_characters_has_its_boxes() {
        let boxes = [BoxOverlay {
            rect: UnitRect::from_corners([0.1, 0.1, 0.8, 0.8]),
            line: Line::Second,
            tag: "C".to_owned(),
            faint: false,
        }];
        let text = as_text(&plain(60, 40, |_, _| [255; 3]), &boxes, (20, 20)).expect("text");
        assert_eq!(text.lines().count(), 7);
        assert!(text.contains("╔C") && text.contains('█') && text.is_ascii() == text.is_empty());
    }
}
