//! Bytes to pixels: limits, decoding, orientation, the resize kernel of the recipe. Pure.

pub mod contain;
pub mod decode;
pub mod exif;
pub mod fingerprint;
pub mod fit;
pub mod format;
mod gif;
mod jpeg;
pub mod limits;
pub mod orientation;
mod pair_filter;
pub mod pixels;
pub mod resample;
pub mod statistics;
mod structure;
