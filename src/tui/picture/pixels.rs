//! Pictures as pixels: kitty, iTerm2 and sixel, encoded by `ratatui-image` behind our own type.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use image::{DynamicImage, RgbImage};
use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};
use ratatui::widgets::Widget as _;
use ratatui_image::protocol::iterm2::Iterm2;
use ratatui_image::protocol::kitty::Kitty;
use ratatui_image::protocol::sixel::Sixel;
use ratatui_image::{Image, protocol::Protocol};

use super::{Canvas, Method};

/// Kitty pictures nobody will draw again; their data is deleted with the next picture that is sent.
static RETIRED: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// An encoded picture.
pub struct PixelImage {
    protocol: Protocol,
    size: (u16, u16),
    bytes: usize,
    kitty: Option<(u32, bool)>,
}

impl std::fmt::Debug for PixelImage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "PixelImage({}x{} cells)", self.size.0, self.size.1)
    }
}

impl PixelImage {
    /// Encodes RGB pixels for `cells` of `canvas`.
    ///
    /// # Errors
    /// The encoder refused; one line.
    pub fn encode(
        rgb: Vec<u8>,
        width: u32,
        height: u32,
        cells: (u16, u16),
        canvas: Canvas,
    ) -> Result<Self, String> {
        let picture = RgbImage::from_raw(width, height, rgb)
            .map(DynamicImage::ImageRgb8)
            .ok_or("the pixels do not fill the picture")?;
        let size = Size::new(cells.0, cells.1);
        let said = |error: ratatui_image::errors::Errors| error.to_string();
        let pixels = usize::try_from(u64::from(width) * u64::from(height)).unwrap_or(usize::MAX);
        let (protocol, kitty) = match canvas.method {
            Method::Kitty => {
                let id = next_kitty_id();
                let kitty = Kitty::new(picture, size, id, canvas.tmux, false).map_err(said)?;
                (Protocol::Kitty(kitty), Some((id, canvas.tmux)))
            }
            Method::Iterm => {
                (Protocol::ITerm2(Iterm2::new(picture, size, canvas.tmux).map_err(said)?), None)
            }
            // tmux draws sixel itself; going around it would scroll its status line.
            Method::Sixel => {
                (Protocol::Sixel(Sixel::new(picture, size, false).map_err(said)?), None)
            }
            Method::Blocks | Method::None => return Err("not a method of pixels".to_owned()),
        };
        Ok(Self { protocol, size: cells, bytes: pixels.saturating_mul(6), kitty })
    }

    /// Draws it at the top left of `area`, if it fits.
    pub fn render(&self, area: Rect, buffer: &mut Buffer) {
        if area.width < self.size.0 || area.height < self.size.1 {
            return;
        }
        let area = Rect { width: self.size.0, height: self.size.1, ..area };
        Image::new(&self.protocol).render(area, buffer);
        if let Some((_, tmux)) = self.kitty
            && let Some(cell) = buffer.cell_mut((area.x, area.y))
            && cell.symbol().len() > 64
        {
            // It is being sent now: the right moment to delete those that went.
            let retired =
                std::mem::take(&mut *RETIRED.lock().unwrap_or_else(PoisonError::into_inner));
            if !retired.is_empty() {
                let with = format!("{}{}", delete(&retired, tmux), cell.symbol());
                cell.set_symbol(&with);
            }
        }
    }

    /// Memory it takes, roughly, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for PixelImage {
    fn drop(&mut self) {
        if let Some((id, _)) = self.kitty {
            RETIRED.lock().unwrap_or_else(PoisonError::into_inner).push(id);
        }
    }
}

fn delete(ids: &[u32], tmux: bool) -> String {
    ids.iter()
        .map(|id| {
            if tmux {
                format!("\x1bPtmux;\x1b\x1b_Ga=d,d=I,i={id},q=2\x1b\x1b\\\x1b\\")
            } else {
                format!("\x1b_Ga=d,d=I,i={id},q=2\x1b\\")
            }
        })
        .collect()
}

/// Ids other programs on the same terminal are unlikely to use: the process number in the upper part.
fn next_kitty_id() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let own = std::process::id() & 0xfff;
    (own << 12 | (NEXT.fetch_add(1, Ordering::Relaxed) & 0xfff)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(method: Method) -> PixelImage {
        let canvas = Canvas { method, ..Canvas::PLAIN };
        PixelImage::encode(vec![200; 20 * 20 * 3], 20, 20, (2, 1), canvas).expect("encoded")
    }

    fn first_cell(image: &PixelImage) -> String {
        let area = Rect::new(0, 0, 4, 2);
        let mut buffer = Buffer::empty(area);
        image.render(area, &mut buffer);
        buffer[(0, 0)].symbol().to_owned()
    }

    #[test]
    fn each_protocol_sends_its_own_sequence() {
        assert!(first_cell(&image(Method::Kitty)).contains("\x1b_Gq=2"));
        assert!(first_cell(&image(Method::Iterm)).contains("\x1b]1337;File=inline=1"));
        assert!(first_cell(&image(Method::Sixel)).contains("\x1bP"));
    }

    #[test]
    fn a_kitty_picture_is_sent_once_and_deleted_when_it_goes() {
        let gone = image(Method::Kitty);
        let (id, _) = gone.kitty.expect("kitty");
        assert!(first_cell(&gone).contains("\x1b_G"));
        assert!(!first_cell(&gone).contains("\x1b_G"), "sent once");
        drop(gone);
        let next = first_cell(&image(Method::Kitty));
        // Another test may have sent a picture in between and taken the deletion with it.
        let waits = RETIRED.lock().expect("no panic").contains(&id);
        assert!(!waits, "deleted with a later picture");
        assert!(next.contains("a=d,d=I") || !waits);
    }

    #[test]
    fn too_small_an_area_draws_nothing() {
        let area = Rect::new(0, 0, 1, 1);
        let mut buffer = Buffer::empty(area);
        image(Method::Sixel).render(area, &mut buffer);
        assert_eq!(buffer[(0, 0)].symbol(), " ");
    }
}
