//! Flipside: human review of model-conversion parity and ground truth.
//!
//! # Zones
//! Three zones come first, layers second.
//!
//! | zone | may know | may not know |
//! |---|---|---|
//! | shared: [`domain`] [`stats`] [`media`] [`store`] [`tui`] | fixtures, labels as values, pixels, files, the terminal | anything a model said |
//! | [`blind`] | shared | [`sighted`], raw files, the network, another rater's rows |
//! | [`sighted`] | shared, and, through files only, what `blind` wrote | nothing of `blind` by name |
//! | [`cli`] | all three, through each zone's few entry functions | their inner types |
//!
//! Every item below [`sighted`] is visible inside that folder only, so the labelling code cannot name a
//! decoded query, a flip, a report or a score. `tests/architecture.rs` proves what the compiler cannot.

pub mod blind;
pub mod cli;
pub mod domain;
pub mod media;
pub mod sighted;
pub mod stats;
pub mod store;
pub mod tui;

#[cfg(test)]
#[path = "../tests/support/shared_dir.rs"]
mod shared_dir;
