//! What this machine remembers of comparisons.
//!
//! `sessions/runs.db` is evidence. Its first tables are a hash-chained log of events: verdicts and exposures are in there, and they are
//! evidence. Whatever is added later is a further migration; the log is never rebuilt from it.
//! `sessions/outputs.db` is large and may be deleted: raw outputs, so that nothing runs twice.

pub(in crate::sighted) mod outputs;
pub(in crate::sighted) mod verdicts;

use crate::store::event_chain::{EVENT_TABLE, POINTER_TABLE};
use crate::store::sqlite::Schema;

/// The database. Migrations are appended, never edited.
pub(in crate::sighted) const SCHEMA: Schema = Schema {
    // "FLRN"
    application_id: 0x464c_524e,
    user_version: 2,
    migrations: &[EVENT_TABLE, POINTER_TABLE],
};
