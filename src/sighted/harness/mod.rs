//! Runs artifacts over fixtures. The only place that knows ONNX Runtime.

pub(in crate::sighted) mod environment;
pub(in crate::sighted) mod recipe;
pub(in crate::sighted) mod runtime_library;
