//! Release records, sign-offs, verification and the gate.

pub(in crate::sighted) mod comparison;
pub(in crate::sighted) mod identity;
pub(in crate::sighted) mod refusal;
pub(in crate::sighted) mod registry;
pub(in crate::sighted) mod release;

#[cfg(test)]
mod record_tests;
#[cfg(test)]
pub(in crate::sighted) mod testing;
