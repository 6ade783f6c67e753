//! Release records, sign-offs, verification and the gate.

pub(in crate::sighted) mod again;
pub(in crate::sighted) mod comparison;
pub(in crate::sighted) mod cosign;
pub(in crate::sighted) mod gate;
pub(in crate::sighted) mod identity;
pub(in crate::sighted) mod limits;
pub(in crate::sighted) mod make;
pub(in crate::sighted) mod present;
pub(in crate::sighted) mod refusal;
pub(in crate::sighted) mod registry;
pub(in crate::sighted) mod release;
pub(in crate::sighted) mod signature;
pub(in crate::sighted) mod signing;
pub(in crate::sighted) mod signoff;
pub(in crate::sighted) mod signoff_store;
pub(in crate::sighted) mod ssh;
pub(in crate::sighted) mod statement;
pub(in crate::sighted) mod trust;
pub(in crate::sighted) mod verify;

#[cfg(test)]
mod record_tests;
#[cfg(test)]
mod root_tests;
#[cfg(test)]
mod signing_tests;
#[cfg(test)]
mod signoff_tests;
#[cfg(test)]
pub(in crate::sighted) mod testing;
#[cfg(test)]
mod trust_tests;
