//! Screens that show what models said.

pub(in crate::sighted) mod review;
