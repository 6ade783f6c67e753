//! What several tests share.

#![allow(dead_code, reason = "each test needs a part")]

pub(crate) mod pty;
pub(crate) mod sound_report;
pub(crate) mod workspace;
