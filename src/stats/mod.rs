//! Counts in, intervals out. Knows no product word: images, raters and artifacts are somebody else's.
//!
//! Every formula names its source, and is checked digit by digit against independent implementations.

pub mod agreement;
pub mod assignment;
pub mod cluster;
pub mod estimate;
pub mod exact;
pub mod paired;
pub mod proportion;
pub mod quantile;
pub mod random;
pub mod sample_size;

#[cfg(test)]
mod golden;
