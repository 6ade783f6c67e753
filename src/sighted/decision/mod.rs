//! What the outputs of two artifacts decide. Pure; f64; no input or output.

pub(in crate::sighted) mod report;
