//! What the outputs of two artifacts decide. Pure; f64; no input or output.

pub(in crate::sighted) mod decode;
pub(in crate::sighted) mod flip;
pub(in crate::sighted) mod fold;
pub(in crate::sighted) mod foreign_report;
pub(in crate::sighted) mod report;
pub(in crate::sighted) mod slot_match;
pub(in crate::sighted) mod sweep;
pub(in crate::sighted) mod tensor_delta;

#[cfg(test)]
mod golden;
#[cfg(test)]
pub(in crate::sighted) mod testing;
