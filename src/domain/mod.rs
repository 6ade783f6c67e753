//! Words every zone shares: digests, canonical JSON, escaping, taxonomy, manifest, labels, shards.
//!
//! Pure values: nothing here touches a file, a clock or a terminal, and nothing here knows what a model
//! said.

pub mod canonical;
pub mod digest;
pub mod escape;
pub mod label;
pub mod manifest;
pub mod shard;
pub mod taxonomy;
