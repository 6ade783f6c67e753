//! Bytes to pixels: limits, decoding, orientation, the resize kernel of the recipe. Pure.

pub mod contain;
pub mod decode;
pub mod exif;
pub mod format;
mod jpeg;
pub mod limits;
pub mod orientation;
pub mod pixels;
pub mod resample;
mod structure;
