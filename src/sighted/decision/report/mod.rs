//! The parity report: layout, building, bytes, checks, joining shards, comparing with a stored one.

pub(in crate::sighted) mod build;
mod layout;
pub(in crate::sighted) mod state;

pub(in crate::sighted) use layout::*;
