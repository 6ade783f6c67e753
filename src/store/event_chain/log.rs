//! A log with its pointer table, opened, appended to and read back.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use crate::domain::canonical::Json;
use crate::domain::digest::ChainHead;
use crate::store::failpoint;
use crate::store::sqlite::{self, Schema, SqliteError};

use super::read::read;
use super::{CLOCK_REGRESSED, ChainError, EMPTY_HEAD, Event, NewEvent, Receipt, append};

/// How far the clock may go back without a word, in seconds.
const CLOCK_TOLERANCE: i64 = 2;

/// How long [`EventLog::wait_briefly`] waits for another process's write.
const BRIEF_WAIT: std::time::Duration = std::time::Duration::from_millis(200);

/// Which event a row beside the log points to from now on, in the same transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pointer {
    /// The event being appended.
    ThisEvent,
    /// An earlier one.
    Event(u64),
    /// None: the row goes.
    Nothing,
}

/// A change of the pointer table that goes with an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointerChange {
    /// What the pointer is of.
    pub subject: String,
    /// Where it points.
    pub to: Pointer,
}

/// Table of what counts now: subject to event. A migration of every database opened as [`EventLog`].
pub const POINTER_TABLE: &str = "
CREATE TABLE current (
    subject TEXT PRIMARY KEY,
    seq INTEGER NOT NULL REFERENCES event (seq)
) STRICT, WITHOUT ROWID;
";

/// How a log is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// To append to; made when it is not there.
    Write,
    /// To read.
    Read,
    /// To read where nothing can be written, not even the lock a reader needs, so that nobody else writes
    /// either: what is opened is a copy.
    Copy,
}

/// A log with its pointer table. Owns the connection; there is one per process.
#[derive(Debug)]
pub struct EventLog {
    connection: Connection,
    path: PathBuf,
    last_wall: Option<jiff::Timestamp>,
    head: ChainHead,
    length: u64,
    writable: bool,
    /// Keeps the copy that is read, where the original cannot be opened.
    _copy: Option<tempfile::TempDir>,
}

/// A copy of a database in a folder of its own, which goes with the first value.
pub(super) fn copy_aside(path: &Path) -> Result<(tempfile::TempDir, PathBuf), ChainError> {
    let failed = |error: std::io::Error| {
        let reason = error.to_string();
        ChainError::Database(SqliteError::Other { path: path.to_owned(), reason })
    };
    let folder = tempfile::tempdir().map_err(failed)?;
    let copy = folder.path().join("copy.db");
    std::fs::copy(path, &copy).map_err(failed)?;
    let beside = |of: &Path| {
        let mut name = of.as_os_str().to_owned();
        name.push("-wal");
        PathBuf::from(name)
    };
    // Without a write-ahead log the main file is whole.
    if beside(path).exists() {
        std::fs::copy(beside(path), beside(&copy)).map_err(failed)?;
    }
    Ok((folder, copy))
}

impl EventLog {
    /// Opens or makes the log at `path`, and reads all of it.
    ///
    /// # Errors
    /// A database that cannot be used, or a chain that does not hold.
    pub fn open(path: &Path, schema: &Schema) -> Result<(Self, Vec<Event>), ChainError> {
        Self::open_as(path, schema, Access::Write, &|event| event)
    }

    /// Opens an existing log for reading.
    ///
    /// # Errors
    /// Likewise.
    pub fn open_read_only(path: &Path, schema: &Schema) -> Result<(Self, Vec<Event>), ChainError> {
        Self::open_as(path, schema, Access::Read, &|event| event)
    }

    /// Opens a log, and gives what `meaning` makes of each of its events. A long log's events take more
    /// room than what most callers need of them, and making that is shared out among threads.
    ///
    /// # Errors
    /// Likewise, or it cannot be copied.
    pub fn open_as<T: Send>(
        path: &Path,
        schema: &Schema,
        access: Access,
        meaning: &(impl Fn(Event) -> T + Sync),
    ) -> Result<(Self, Vec<T>), ChainError> {
        let (connection, copy) = match access {
            Access::Write => (sqlite::open(path, schema)?, None),
            Access::Read => (sqlite::open_read_only(path, schema)?, None),
            Access::Copy => {
                let (folder, copy) = copy_aside(path)?;
                (sqlite::open(&copy, schema)?, Some(folder))
            }
        };
        let reading = read(&connection, path, meaning);
        let last = reading.end?;
        let log = Self {
            connection,
            path: path.to_owned(),
            last_wall: last.as_ref().and_then(|last| last.wall_utc.parse().ok()),
            head: last.map_or(EMPTY_HEAD, |last| last.head),
            length: reading.meanings.len() as u64,
            writable: access == Access::Write,
            _copy: copy,
        };
        Ok((log, reading.meanings))
    }

    /// Hash of the newest event.
    pub fn head(&self) -> ChainHead {
        self.head
    }

    /// Number of events.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// May events be appended?
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// Answers sooner when another process is writing, for a caller that tries again by itself.
    pub fn wait_briefly(&self) {
        // Waiting longer is no harm.
        let _ = self.connection.busy_timeout(BRIEF_WAIT);
    }

    /// Appends an event and moves pointers in one transaction, synced to disk, then reads both back.
    /// When this returns, the event stays.
    ///
    /// # Errors
    /// Nothing was kept, unless the error is [`ChainError::ReadBack`] or the device's.
    pub fn append(
        &mut self,
        event: &NewEvent,
        changes: &[PointerChange],
    ) -> Result<Receipt, ChainError> {
        let regressed = self.clock_regressed(event);
        self.write(event, changes, regressed.as_ref())
    }

    /// Appends an event that happened before: its time is taken as told, not compared with the last one.
    ///
    /// # Errors
    /// As for [`Self::append`].
    pub fn append_past(
        &mut self,
        event: &NewEvent,
        changes: &[PointerChange],
    ) -> Result<Receipt, ChainError> {
        self.write(event, changes, None)
    }

    /// Appends events in one transaction, synced to disk, then reads the last of them back: all stay, or
    /// none does. They are of one time, which is not compared with the last event's.
    ///
    /// # Errors
    /// As for [`Self::append`].
    pub fn append_together(&mut self, events: &[NewEvent]) -> Result<(), ChainError> {
        let path = &self.path;
        let kept = sqlite::immediate(&mut self.connection, |transaction| {
            let mut last = None;
            for event in events {
                last = Some((append(transaction, event)?, event));
            }
            Ok(last)
        });
        let kept = kept.map_err(|error: rusqlite::Error| {
            ChainError::Database(SqliteError::at(path, &error))
        })?;
        let Some((receipt, event)) = kept else { return Ok(()) };
        self.read_back(receipt, event, &[])?;
        self.now_ends_with(receipt, event);
        Ok(())
    }

    fn now_ends_with(&mut self, receipt: Receipt, event: &NewEvent) {
        self.last_wall = event.wall_utc.parse().ok().or(self.last_wall);
        self.head = receipt.head;
        self.length = receipt.seq;
    }

    /// Copies events of another log into this one, which must be empty: the hashes stay what they were.
    ///
    /// # Errors
    /// The database's, or an event that does not get the hash it had. Nothing is kept then.
    pub fn copy(&mut self, events: &[Event]) -> Result<(), ChainError> {
        let path = self.path.clone();
        let read_back = |seq: u64| ChainError::ReadBack { path: path.clone(), seq };
        if self.length > 0 {
            return Err(read_back(self.length));
        }
        let mut odd = None;
        let copied = sqlite::immediate(&mut self.connection, |transaction| {
            for event in events {
                let receipt = append(transaction, &event.as_new())?;
                if (receipt.seq, receipt.head) != (event.seq, event.hash) {
                    odd = Some(event.seq);
                    return Err(rusqlite::Error::QueryReturnedNoRows);
                }
            }
            Ok(())
        });
        if let Some(seq) = odd {
            return Err(read_back(seq));
        }
        copied.map_err(|error| ChainError::Database(SqliteError::at(&path, &error)))?;
        if let Some(last) = events.last() {
            self.head = last.hash;
            self.length = last.seq;
            self.last_wall = last.wall_utc.parse().ok();
        }
        Ok(())
    }

    fn write(
        &mut self,
        event: &NewEvent,
        changes: &[PointerChange],
        regressed: Option<&NewEvent>,
    ) -> Result<Receipt, ChainError> {
        let path = &self.path;
        let at = |error: rusqlite::Error| ChainError::Database(SqliteError::at(path, &error));
        failpoint::pass("event: before the transaction");
        let receipt = sqlite::immediate(&mut self.connection, |transaction| {
            if let Some(regressed) = regressed {
                append(transaction, regressed)?;
            }
            failpoint::pass("event: locked");
            let receipt = append(transaction, event)?;
            failpoint::pass("event: inserted");
            for change in changes {
                change.apply(transaction, receipt.seq)?;
            }
            failpoint::pass("event: before commit");
            Ok(receipt)
        })
        .map_err(at)?;
        failpoint::pass("event: committed");
        self.read_back(receipt, event, changes)?;
        failpoint::pass("event: read back");
        self.now_ends_with(receipt, event);
        Ok(receipt)
    }

    /// Where every pointer stands.
    ///
    /// # Errors
    /// The database's.
    pub fn pointers(&self) -> Result<std::collections::BTreeMap<String, u64>, ChainError> {
        let at = |error: rusqlite::Error| ChainError::Database(SqliteError::at(&self.path, &error));
        self.connection
            .prepare("SELECT subject, seq FROM current")
            .and_then(|mut statement| {
                statement
                    .query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs())))?
                    .collect()
            })
            .map_err(at)
    }

    /// Makes the pointer table say `pointers`: it is only a view of the log.
    ///
    /// # Errors
    /// The database's.
    pub fn rebuild_pointers(
        &mut self,
        pointers: &std::collections::BTreeMap<String, u64>,
    ) -> Result<(), ChainError> {
        let path = &self.path;
        sqlite::immediate(&mut self.connection, |transaction| {
            transaction.execute("DELETE FROM current", [])?;
            for (subject, seq) in pointers {
                let change = PointerChange { subject: subject.clone(), to: Pointer::Event(*seq) };
                change.apply(transaction, *seq)?;
            }
            Ok(())
        })
        .map_err(|error: rusqlite::Error| ChainError::Database(SqliteError::at(path, &error)))
    }

    /// Moves what the write-ahead log holds into the main file, so that the main file alone is whole.
    pub fn fold_write_ahead_log(&self) {
        // Nothing is lost when it cannot be done now: the next opening reads both files.
        let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }

    fn clock_regressed(&self, event: &NewEvent) -> Option<NewEvent> {
        let now: jiff::Timestamp = event.wall_utc.parse().ok()?;
        let back = self.last_wall?.as_second() - now.as_second();
        (back > CLOCK_TOLERANCE).then(|| NewEvent {
            kind: CLOCK_REGRESSED.to_owned(),
            payload: Json::Object([("seconds".to_owned(), Json::Int(back.to_string()))].into()),
            ..event.clone()
        })
    }

    fn read_back(
        &self,
        receipt: Receipt,
        event: &NewEvent,
        changes: &[PointerChange],
    ) -> Result<(), ChainError> {
        let wrong = || ChainError::ReadBack { path: self.path.clone(), seq: receipt.seq };
        let at = |error: rusqlite::Error| ChainError::Database(SqliteError::at(&self.path, &error));
        let seq = i64::try_from(receipt.seq).unwrap_or(i64::MAX);
        let (payload, hash): (String, [u8; 32]) = self
            .connection
            .prepare_cached("SELECT payload, hash FROM event WHERE seq = ?1")
            .and_then(|mut statement| {
                statement.query_row([seq], |row| Ok((row.get(0)?, row.get(1)?)))
            })
            .map_err(at)?;
        if payload != event.payload.to_canonical() || hash != *receipt.head.as_bytes() {
            return Err(wrong());
        }
        for change in changes {
            let found: Option<i64> = self
                .connection
                .prepare_cached("SELECT seq FROM current WHERE subject = ?1")
                .and_then(|mut statement| {
                    statement.query_row([&change.subject], |row| row.get(0)).optional()
                })
                .map_err(at)?;
            if found.map(i64::unsigned_abs) != change.target(receipt.seq) {
                return Err(wrong());
            }
        }
        Ok(())
    }
}

impl PointerChange {
    fn target(&self, this: u64) -> Option<u64> {
        match self.to {
            Pointer::ThisEvent => Some(this),
            Pointer::Event(seq) => Some(seq),
            Pointer::Nothing => None,
        }
    }

    fn apply(&self, transaction: &Transaction<'_>, this: u64) -> rusqlite::Result<()> {
        match self.target(this) {
            Some(seq) => transaction
                .prepare_cached(
                    "INSERT INTO current (subject, seq) VALUES (?1, ?2)
                     ON CONFLICT (subject) DO UPDATE SET seq = excluded.seq",
                )?
                .execute(params![self.subject, i64::try_from(seq).unwrap_or(i64::MAX)])
                .map(drop),
            None => transaction
                .prepare_cached("DELETE FROM current WHERE subject = ?1")?
                .execute([&self.subject])
                .map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::EVENT_TABLE;
    use super::*;

    const SCHEMA: Schema = Schema {
        application_id: 0x464c_5402,
        user_version: 2,
        migrations: &[EVENT_TABLE, POINTER_TABLE],
    };

    fn event(text: &str) -> NewEvent {
        NewEvent {
            kind: "answer".to_owned(),
            actor: "ada".to_owned(),
            sitting: 1,
            wall_utc: "2026-02-03T04:05:06+00:00".to_owned(),
            mono_ns: 17,
            payload: Json::Object([("say".to_owned(), Json::Text(text.to_owned()))].into()),
        }
    }

    fn set(subject: &str) -> PointerChange {
        PointerChange { subject: subject.to_owned(), to: Pointer::ThisEvent }
    }

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("temporary folder")
    }

    #[test]
    fn events_and_pointers_survive_reopening() {
        let folder = folder();
        let path = folder.path().join("a.db");
        let (mut log, events) = EventLog::open(&path, &SCHEMA).expect("new");
        assert!(events.is_empty());
        assert_eq!(log.head(), EMPTY_HEAD);
        let first = log.append(&event("one"), &[set("x")]).expect("kept");
        let second = log.append(&event("two"), &[set("x"), set("y")]).expect("kept");
        let back = PointerChange { subject: "x".to_owned(), to: Pointer::Event(first.seq) };
        let gone = PointerChange { subject: "y".to_owned(), to: Pointer::Nothing };
        let third = log.append(&event("three"), &[back, gone]).expect("kept");
        assert_eq!((first.seq, second.seq, third.seq), (1, 2, 3));
        drop(log);
        let (log, events) = EventLog::open_read_only(&path, &SCHEMA).expect("again");
        assert_eq!(events.len(), 3);
        assert_eq!(log.head(), third.head);
        assert_eq!(events[1].payload, event("two").payload);
        assert_eq!(log.pointers().expect("readable"), [("x".to_owned(), 1)].into());
    }

    #[test]
    fn a_clock_that_goes_back_is_an_event_and_changes_no_order() {
        let folder = folder();
        let (mut log, _) = EventLog::open(&folder.path().join("a.db"), &SCHEMA).expect("new");
        log.append(&event("one"), &[]).expect("kept");
        let early = NewEvent { wall_utc: "2026-02-02T04:05:06+00:00".to_owned(), ..event("two") };
        log.append(&early, &[]).expect("kept");
        let same = NewEvent { wall_utc: "2026-02-02T04:05:05+00:00".to_owned(), ..event("three") };
        log.append(&same, &[]).expect("kept");
        let events = read(&log.connection, &log.path, &|event| event).meanings;
        let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
        assert_eq!(kinds, ["answer", CLOCK_REGRESSED, "answer", "answer"]);
        assert_eq!(events[1].payload.get("seconds").and_then(Json::as_i64), Some(86_400));
    }

    #[test]
    fn rows_cannot_be_changed_removed_or_inserted_out_of_turn() {
        let folder = folder();
        let (mut log, _) = EventLog::open(&folder.path().join("a.db"), &SCHEMA).expect("new");
        log.append(&event("one"), &[]).expect("kept");
        for (statement, message) in [
            ("UPDATE event SET payload = '{}'", "never changed"),
            ("DELETE FROM event", "never removed"),
            (
                "INSERT INTO event SELECT 9, prev_hash, kind, actor, sitting, wall_utc, mono_ns, payload, randomblob(32) FROM event",
                "out of turn",
            ),
        ] {
            let error = log.connection.execute(statement, []).expect_err(statement);
            assert!(error.to_string().contains(message), "{statement}: {error}");
        }
    }

    #[test]
    fn a_full_disk_keeps_what_was_acknowledged_and_takes_more_when_there_is_room() {
        let folder = folder();
        let path = folder.path().join("a.db");
        let (mut log, _) = EventLog::open(&path, &SCHEMA).expect("new");
        let limit = |log: &EventLog, pages: i64| {
            let set =
                log.connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()));
            set.expect("set");
        };
        limit(&log, 12);
        let mut acknowledged = Vec::new();
        let error = loop {
            match log.append(&event(&"x".repeat(300)), &[set("x")]) {
                Ok(receipt) => acknowledged.push(receipt),
                Err(error) => break error,
            }
        };
        assert!(acknowledged.len() > 10, "{}", acknowledged.len());
        assert!(!error.is_fatal() && !error.is_retryable(), "{error}");
        assert_eq!(error.without_path(), "the disk is full");
        limit(&log, 10_000);
        acknowledged.push(log.append(&event("room again"), &[set("x")]).expect("kept"));
        drop(log);
        let (_, events) = EventLog::open(&path, &SCHEMA).expect("whole");
        let found: Vec<Receipt> =
            events.iter().map(|event| Receipt { seq: event.seq, head: event.hash }).collect();
        assert_eq!(found, acknowledged);
    }

    #[test]
    fn many_writers_make_one_chain_without_gaps() {
        let folder = folder();
        let path = folder.path().join("a.db");
        drop(EventLog::open(&path, &SCHEMA).expect("new"));
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    let (mut log, _) = EventLog::open(path, &SCHEMA).expect("opens");
                    for number in 0..40 {
                        let subject = format!("{writer}:{number}");
                        log.append(&event(&subject), &[set(&subject)]).expect("kept");
                    }
                });
            }
        });
        let (log, events) = EventLog::open(&path, &SCHEMA).expect("whole");
        assert_eq!(events.len(), 160);
        assert_eq!(log.pointers().expect("readable").len(), 160);
    }

    /// Changes a stored row behind the log's back, as damage or a person would.
    fn tamper(path: &Path, statement: &str) {
        let connection = sqlite::open(path, &SCHEMA).expect("open");
        connection
            .execute_batch(&format!(
                "DROP TRIGGER event_stays; DROP TRIGGER event_is_kept; {statement};
                 CREATE TRIGGER event_stays BEFORE UPDATE ON event
BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
                 CREATE TRIGGER event_is_kept BEFORE DELETE ON event
BEGIN SELECT RAISE(ABORT, 'events are never removed'); END;"
            ))
            .expect("tampered");
    }

    #[test]
    fn any_changed_row_breaks_the_chain() {
        for (statement, seq, message) in [
            ("UPDATE event SET payload = '{\"say\":\"owt\"}' WHERE seq = 2", 2, "content"),
            ("UPDATE event SET actor = 'bob' WHERE seq = 1", 1, "content"),
            ("UPDATE event SET wall_utc = '' WHERE seq = 3", 3, "content"),
            ("UPDATE event SET hash = randomblob(32) WHERE seq = 2", 2, "content"),
            ("DELETE FROM event WHERE seq = 1", 1, "found event 2"),
            ("UPDATE event SET prev_hash = zeroblob(32) WHERE seq = 2", 2, "another event"),
        ] {
            let folder = folder();
            let path = folder.path().join("a.db");
            let (mut log, _) = EventLog::open(&path, &SCHEMA).expect("new");
            for text in ["one", "two", "three"] {
                log.append(&event(text), &[]).expect("kept");
            }
            drop(log);
            assert!(EventLog::open(&path, &SCHEMA).is_ok(), "the twin");
            tamper(&path, statement);
            let error = EventLog::open(&path, &SCHEMA).expect_err(statement);
            assert!(error.to_string().contains(message), "{statement}: {error}");
            assert!(
                matches!(&error, ChainError::Broken { seq: found, .. } if *found == seq),
                "{statement}: {error}"
            );
        }
    }

    #[test]
    fn pointers_are_made_again_from_the_log() {
        let folder = folder();
        let (mut log, _) = EventLog::open(&folder.path().join("a.db"), &SCHEMA).expect("new");
        log.append(&event("one"), &[set("x"), set("y")]).expect("kept");
        let wanted = [("z".to_owned(), 1)].into();
        log.rebuild_pointers(&wanted).expect("rebuilt");
        assert_eq!(log.pointers().expect("readable"), wanted);
    }
}
