//! Pictures on a terminal: half blocks always, kitty, iTerm2 and sixel where the terminal said it can.
//!
//! Decoding, cropping, scaling and encoding happen on [`worker`] threads; a view only copies cells. Where
//! pixels come from is a [`PictureSource`]: this module knows pictures by an opaque id.

pub mod blocks;
pub mod overlay;
pub mod pixels;
pub mod print;
pub mod probe;
pub mod view;
pub mod viewport;
pub mod worker;

use std::sync::Arc;

use crate::media::orientation::Orientation;
use crate::media::pixels::RgbImage;

/// A way of drawing pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// The kitty protocol with placeholders.
    Kitty,
    /// The iTerm2 protocol.
    Iterm,
    /// Sixel.
    Sixel,
    /// Half blocks in two colours, or shades without colour.
    Blocks,
    /// A line of facts instead of a picture.
    None,
}

impl Method {
    /// Its name, as options and stamps write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kitty => "kitty",
            Self::Iterm => "iterm",
            Self::Sixel => "sixel",
            Self::Blocks => "blocks",
            Self::None => "none",
        }
    }

    /// Whether its pixels stay on the screen when the cells below them are written.
    pub const fn leaves_pixels(self) -> bool {
        matches!(self, Self::Iterm | Self::Sixel)
    }

    /// Whether it sends pixels, not characters.
    pub const fn has_pixels(self) -> bool {
        matches!(self, Self::Kitty | Self::Iterm | Self::Sixel)
    }

    /// The method after this one among `possible`, blocks and none.
    pub fn next(self, possible: &[Self]) -> Self {
        let mut order = possible.to_vec();
        order.extend([Self::Blocks, Self::None].iter().filter(|method| !possible.contains(method)));
        let place = order.iter().position(|method| *method == self).unwrap_or(order.len() - 1);
        order[(place + 1) % order.len()]
    }
}

/// How many colours a cell may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Depth {
    /// None: shades.
    Mono,
    /// The 256-colour table.
    Table,
    /// All.
    True,
}

/// What pictures are drawn on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Canvas {
    /// How.
    pub method: Method,
    /// Colours of a cell.
    pub depth: Depth,
    /// Width and height of a cell in pixels; a guess of 1:2 where nothing better is known.
    pub cell: (u16, u16),
    /// Sequences are wrapped for tmux.
    pub tmux: bool,
    /// Changes when everything that was sent to the terminal must be sent again.
    pub epoch: u32,
}

impl Canvas {
    /// Half blocks in all colours, as tests and dumps draw.
    pub const PLAIN: Self =
        Self { method: Method::Blocks, depth: Depth::True, cell: (10, 20), tmux: false, epoch: 0 };
    /// Shades.
    pub const MONO: Self = Self { depth: Depth::Mono, ..Self::PLAIN };
}

/// Names a picture: what it is and in which rendition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PictureId {
    /// Digest of its content.
    pub content: [u8; 32],
    /// Which rendition of it; the source knows what the numbers mean.
    pub rendition: u8,
}

/// A decoded picture as people see it: upright.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// The pixels.
    pub pixels: RgbImage,
    /// How the stored picture was turned: boxes given for it are turned likewise.
    pub orientation: Orientation,
}

/// Where pixels come from. Called on worker threads.
pub trait PictureSource: Send + Sync + 'static {
    /// Opens, checks and decodes one picture.
    ///
    /// # Errors
    /// One line for people, escaped already.
    fn load(&self, id: &PictureId) -> Result<Picture, String>;
}

impl<S: PictureSource + ?Sized> PictureSource for Arc<S> {
    fn load(&self, id: &PictureId) -> Result<Picture, String> {
        (**self).load(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_cycled_through_what_is_possible() {
        let possible = [Method::Sixel, Method::Blocks];
        assert_eq!(Method::Sixel.next(&possible), Method::Blocks);
        assert_eq!(Method::Blocks.next(&possible), Method::None);
        assert_eq!(Method::None.next(&possible), Method::Sixel);
        assert_eq!(Method::None.next(&[]), Method::Blocks);
        assert_eq!(Method::Kitty.next(&[]), Method::Blocks);
    }
}
