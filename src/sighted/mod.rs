//! Everything that knows what a model said: artifacts, the harness, decisions, review, scores, records.
//!
//! Every item in here is visible inside this folder only. What the command line may call lies in
//! [`entry`]: plain arguments in, plain outcomes out.

pub mod entry;

mod artifact;
mod decision;
mod export;
mod fixtures;
mod harness;
mod labels;
mod record;
mod review;
mod runs;
mod score;
mod screen;
