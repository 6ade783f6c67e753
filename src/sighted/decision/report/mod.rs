//! The parity report: layout, building, bytes, checks, joining shards, comparing with a stored one.

mod layout;

pub(in crate::sighted) use layout::*;
