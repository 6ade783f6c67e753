//! Model files: hash, graph facts, refusals, sidecar, contract checks. Nothing here runs a model, and
//! nothing here knows a runtime.

pub(in crate::sighted) mod contract;
pub(in crate::sighted) mod element;
pub(in crate::sighted) mod graph;
pub(in crate::sighted) mod intake;
pub(in crate::sighted) mod sidecar;
pub(in crate::sighted) mod slots;

mod fingerprint;
mod onnx;
mod walk;
mod wire;

#[cfg(test)]
mod intake_tests;
#[cfg(test)]
pub(in crate::sighted) mod testing;
