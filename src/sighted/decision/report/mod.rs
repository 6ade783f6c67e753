//! The parity report: layout, building, bytes, checks, joining shards, comparing with a stored one.

pub(in crate::sighted) mod baseline;
pub(in crate::sighted) mod build;
pub(in crate::sighted) mod check;
mod layout;
pub(in crate::sighted) mod merge;
pub(in crate::sighted) mod read;
pub(in crate::sighted) mod state;
pub(in crate::sighted) mod write;

pub(in crate::sighted) use layout::*;

#[cfg(test)]
mod tests;
