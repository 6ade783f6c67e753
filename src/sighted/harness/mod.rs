//! Runs artifacts over fixtures. The only place that knows ONNX Runtime.

pub(in crate::sighted) mod environment;
pub(in crate::sighted) mod latency;
pub(in crate::sighted) mod memory;
pub(in crate::sighted) mod prepare;
pub(in crate::sighted) mod recipe;
pub(in crate::sighted) mod run;
pub(in crate::sighted) mod runner;
pub(in crate::sighted) mod runtime_library;

#[cfg(test)]
mod run_tests;
