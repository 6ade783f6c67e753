//! Counts in, intervals out. Knows no product word: images, raters and artifacts are somebody else's.
//!
//! Every formula names its source, and is checked digit by digit against independent implementations.

pub mod proportion;
