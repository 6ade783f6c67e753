//! A log of events, each chained to the one before by hash. The log is the truth; whatever else the
//! database holds can be made again from it.
//!
//! `hash = sha256("flipside-event-v1" ‖ previous hash ‖ canonical(row))`, `seq` has no gaps, rows are
//! never changed or removed. What an event means belongs to the caller. No type of the database library
//! shows here but in [`append`], which is for callers that own a connection.

mod log;
mod read;
mod salvage;

use std::fmt::Write as _;
use std::path::PathBuf;

use rusqlite::{OptionalExtension as _, Transaction, params};

use crate::domain::canonical::{Json, write_text};
use crate::domain::digest::{ChainHead, sha256_of_parts};
use crate::domain::escape::{escape, escape_os};
use crate::store::sqlite::SqliteError;

pub use log::{Access, EventLog, POINTER_TABLE, Pointer, PointerChange};
pub use salvage::{Salvage, salvage};

/// Table and triggers of the log; a migration of every database that has one.
pub const EVENT_TABLE: &str = "
CREATE TABLE event (
    seq INTEGER PRIMARY KEY,
    prev_hash BLOB NOT NULL CHECK (length(prev_hash) = 32),
    kind TEXT NOT NULL,
    actor TEXT NOT NULL,
    sitting INTEGER NOT NULL,
    wall_utc TEXT NOT NULL,
    mono_ns INTEGER NOT NULL,
    payload TEXT NOT NULL,
    hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32)
) STRICT;
CREATE TRIGGER event_has_no_gap BEFORE INSERT ON event
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM event)
BEGIN SELECT RAISE(ABORT, 'an event out of turn'); END;
CREATE TRIGGER event_stays BEFORE UPDATE ON event
BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
CREATE TRIGGER event_is_kept BEFORE DELETE ON event
BEGIN SELECT RAISE(ABORT, 'events are never removed'); END;
";

/// The event that says the clock went back.
pub const CLOCK_REGRESSED: &str = "clock_regressed";

/// An event to be appended.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// What happened.
    pub kind: String,
    /// Who did it.
    pub actor: String,
    /// In which stretch of work, counted from 1.
    pub sitting: u64,
    /// The wall clock: information, never order. UTC, RFC 3339.
    pub wall_utc: String,
    /// Nanoseconds since the sitting began.
    pub mono_ns: u64,
    /// The rest.
    pub payload: Json,
}

/// An event of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its place, from 1.
    pub seq: u64,
    /// What happened.
    pub kind: String,
    /// Who did it.
    pub actor: String,
    /// In which stretch of work.
    pub sitting: u64,
    /// The wall clock.
    pub wall_utc: String,
    /// Nanoseconds since the sitting began.
    pub mono_ns: u64,
    /// The rest.
    pub payload: Json,
    /// The hash that chains it.
    pub hash: ChainHead,
}

impl Event {
    /// What it was made from.
    pub fn as_new(&self) -> NewEvent {
        NewEvent {
            kind: self.kind.clone(),
            actor: self.actor.clone(),
            sitting: self.sitting,
            wall_utc: self.wall_utc.clone(),
            mono_ns: self.mono_ns,
            payload: self.payload.clone(),
        }
    }
}

/// What an acknowledged event got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// Its place.
    pub seq: u64,
    /// The new head of the chain.
    pub head: ChainHead,
}

/// Why a log cannot be used, or an event was not written.
#[derive(Debug, thiserror::Error)]
pub enum ChainError {
    /// The database.
    #[error(transparent)]
    Database(#[from] SqliteError),
    /// A row that is not what its hash says.
    #[error("{}: the chain of events breaks at event {seq}: {}", escape_os(.path.as_os_str()), escape(.reason))]
    Broken {
        /// The file.
        path: PathBuf,
        /// Where.
        seq: u64,
        /// What does not fit.
        reason: String,
    },
    /// What was read back is not what was written.
    #[error("{}: event {seq} reads back other than it was written", escape_os(.path.as_os_str()))]
    ReadBack {
        /// The file.
        path: PathBuf,
        /// Which.
        seq: u64,
    },
}

impl ChainError {
    /// May the same write succeed when it is simply tried again?
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_retryable())
    }

    /// What is wrong, without the name of the file.
    pub fn without_path(&self) -> String {
        match self {
            Self::Database(error) => error.without_path(),
            other => other.to_string(),
        }
    }

    /// Is the file itself what is wrong, so that only another file helps?
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::Broken { .. }
                | Self::Database(SqliteError::Foreign { .. } | SqliteError::Damaged { .. })
        )
    }

    /// Is nothing after the last acknowledged event to be trusted? A full or locked disk is no such
    /// case: the transaction was rolled back.
    pub fn is_fatal(&self) -> bool {
        !matches!(
            self,
            Self::Database(
                SqliteError::Busy { .. } | SqliteError::Full { .. } | SqliteError::ReadOnly { .. }
            )
        )
    }
}

/// Head of a log without events: what the first event is chained to.
pub const EMPTY_HEAD: ChainHead = ChainHead::from_bytes([0; 32]);

/// Appends an event within a transaction of the caller, which must be an immediate one.
///
/// # Errors
/// Whatever the database returns.
pub fn append(transaction: &Transaction<'_>, event: &NewEvent) -> rusqlite::Result<Receipt> {
    let last: Option<(i64, [u8; 32])> = transaction
        .prepare_cached("SELECT seq, hash FROM event ORDER BY seq DESC LIMIT 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (last_seq, prev) = last.unwrap_or((0, *EMPTY_HEAD.as_bytes()));
    let seq = last_seq + 1;
    let sitting = i64::try_from(event.sitting).unwrap_or(i64::MAX);
    let mono_ns = i64::try_from(event.mono_ns).unwrap_or(i64::MAX);
    let row = Row {
        seq,
        kind: &event.kind,
        actor: &event.actor,
        sitting,
        wall_utc: &event.wall_utc,
        mono_ns,
        payload: &event.payload.to_canonical(),
    };
    let hash = row.hash(&prev, &mut String::new());
    transaction
        .prepare_cached(
            "INSERT INTO event (seq, prev_hash, kind, actor, sitting, wall_utc, mono_ns, payload, hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            seq, prev, row.kind, row.actor, sitting, row.wall_utc, mono_ns, row.payload, hash
        ])?;
    Ok(Receipt { seq: seq.unsigned_abs(), head: ChainHead::from_bytes(hash) })
}

/// What is hashed.
struct Row<'a> {
    seq: i64,
    kind: &'a str,
    actor: &'a str,
    sitting: i64,
    wall_utc: &'a str,
    mono_ns: i64,
    payload: &'a str,
}

impl Row<'_> {
    /// `text` is room to write in.
    fn hash(&self, prev: &[u8; 32], text: &mut String) -> [u8; 32] {
        text.clear();
        self.write_canonical(text);
        sha256_of_parts(&[b"flipside-event-v1", prev, text.as_bytes()])
    }

    /// Canonical JSON of the row: keys sorted, the payload's canonical text as it stands.
    fn write_canonical(&self, out: &mut String) {
        out.push_str("{\"actor\":");
        write_text(out, self.actor);
        out.push_str(",\"kind\":");
        write_text(out, self.kind);
        // Writing to a String cannot fail.
        let _ = write!(
            out,
            ",\"mono_ns\":{},\"payload\":{},\"seq\":{},\"sitting\":{},\"wall_utc\":",
            self.mono_ns, self.payload, self.seq, self.sitting
        );
        write_text(out, self.wall_utc);
        out.push('}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_of_a_row_is_pinned() {
        // Sealed files name heads made of these; do not change them.
        let row = Row {
            seq: 1,
            kind: "answer",
            actor: "ada",
            sitting: 1,
            wall_utc: "2026-02-03T04:05:06+00:00",
            mono_ns: 17,
            payload: "{\"say\":\"a \\\"b\\\"\"}",
        };
        let mut text = String::new();
        row.write_canonical(&mut text);
        assert_eq!(
            text,
            r#"{"actor":"ada","kind":"answer","mono_ns":17,"payload":{"say":"a \"b\""},"seq":1,"sitting":1,"wall_utc":"2026-02-03T04:05:06+00:00"}"#
        );
        assert!(Json::parse(text.as_bytes()).expect("JSON").to_canonical() == text);
        assert_eq!(
            ChainHead::from_bytes(row.hash(&[0; 32], &mut text)).to_hex(),
            "abc6fe3248b6fc95055a709912085b30b04277e65936c64f69bba0d82cb5e2f8"
        );
    }
}
