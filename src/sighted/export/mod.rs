//! Self-contained documents made from evidence.
//!
//! [`dossier`] is everything such a document says, as values; the writers lay it out and compute nothing.
//! The same evidence gives the same bytes: no clock, no random order, no path of this machine.

pub(in crate::sighted) mod build;
mod class_order;
pub(in crate::sighted) mod dossier;
pub(in crate::sighted) mod foreign;
pub(in crate::sighted) mod html;
pub(in crate::sighted) mod markdown;
pub(in crate::sighted) mod picture;
mod style;
pub(in crate::sighted) mod summary;
pub(in crate::sighted) mod svg;
pub(in crate::sighted) mod wire;

#[cfg(test)]
mod export_tests;
