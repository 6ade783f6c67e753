//! What moved decisions cost: recall, false positives and categories, joined from a parity report and
//! sealed label files.
//!
//! [`evidence`] joins, [`compute`] counts, [`claim`] says what the counts license and nothing more.
//! Nothing here reads a clock or draws from anything but a fixed seed, so the same files give the same
//! score, byte for byte, and whoever verifies a sign-off computes it again.

pub(in crate::sighted) mod category;
pub(in crate::sighted) mod claim;
pub(in crate::sighted) mod compute;
pub(in crate::sighted) mod curve;
pub(in crate::sighted) mod evidence;
pub(in crate::sighted) mod gather;
pub(in crate::sighted) mod margin;
pub(in crate::sighted) mod presence;
pub(in crate::sighted) mod subset;
pub(in crate::sighted) mod summary;
pub(in crate::sighted) mod text;
pub(in crate::sighted) mod wire;

#[cfg(test)]
mod score_tests;
#[cfg(test)]
pub(in crate::sighted) mod testing;
