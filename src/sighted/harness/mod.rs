//! Runs artifacts over fixtures. The only place that knows ONNX Runtime.

mod recipe;
