//! The disk: where things lie, how they are written so that nothing is half there, and databases.
//!
//! Mechanisms only. What a row means belongs to the zone that writes it, because a type here could be
//! named by the labelling code.

pub mod atomic;
pub mod clock;
pub mod event_chain;
pub mod failpoint;
pub mod file;
pub mod fixtures;
pub mod label_file;
pub mod label_schema;
pub mod lock;
pub mod place;
pub mod replacement;
pub mod sandbox;
pub mod sqlite;
pub mod viewing;
pub mod workspace;
