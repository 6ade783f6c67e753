//! Every event of a log in order, each checked against its hash and its predecessor.
//!
//! A row names the hash of the one before it. So whoever reads the rows compares neighbours, and whether a
//! row is what its own hash says can be told without the rows before it: that is done in batches, by
//! several threads. The first row that does not fit is the one that is named, whoever finds it.

use std::path::Path;

use rusqlite::{Connection, Rows};

use crate::domain::canonical::Json;
use crate::domain::digest::ChainHead;
use crate::store::sqlite::SqliteError;

use super::{ChainError, EMPTY_HEAD, Event, Row};

/// Rows of a batch; few in tests, so that all threads get some.
const BATCH: usize = if cfg!(test) { 16 } else { 1024 };

/// Most threads that check.
const MAX_THREADS: usize = 8;

const QUERY: &str = "SELECT seq, prev_hash, kind, actor, sitting, wall_utc, mono_ns, payload, hash
     FROM event ORDER BY seq";

/// What there is of a log, up to the first event that does not fit.
pub(super) struct Reading<T> {
    /// What the caller made of each event.
    pub meanings: Vec<T>,
    /// The last event, if there is one; or why not all of them could be read.
    pub end: Result<Option<Last>, ChainError>,
}

/// What the next event must know of the one before it.
pub(super) struct Last {
    /// Its hash.
    pub head: ChainHead,
    /// When it was.
    pub wall_utc: String,
}

/// Reads a log. `meaning` makes what the caller needs of an event that fits; no more than that is kept.
pub(super) fn read<T: Send>(
    connection: &Connection,
    path: &Path,
    meaning: &(impl Fn(Event) -> T + Sync),
) -> Reading<T> {
    let run = || -> rusqlite::Result<Reading<T>> {
        let mut statement = connection.prepare(QUERY)?;
        let rows = statement.query([])?;
        let batches = Batches { rows, path, length: 0, last: None, ended: false, fault: None };
        Ok(check_all(batches, meaning))
    };
    run().unwrap_or_else(|error| {
        let fault = ChainError::Database(SqliteError::at(path, &error));
        Reading { meanings: Vec::new(), end: Err(fault) }
    })
}

/// Shares the batches out among this thread and a few that help it.
fn check_all<T: Send>(
    mut batches: Batches<'_>,
    meaning: &(impl Fn(Event) -> T + Sync),
) -> Reading<T> {
    let path = batches.path;
    let check = |(at, rows): (usize, Vec<Stored>)| (at, checked(rows, path, meaning));
    let mut done = std::thread::scope(|scope| {
        let first = batches.next();
        let threads = if batches.ended {
            1
        } else {
            std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS)
        };
        let (hand_out, take) = crossbeam_channel::bounded(2 * threads);
        let mut helpers = Vec::new();
        for _ in 1..threads {
            let take = take.clone();
            let work = move || take.iter().map(check).collect::<Vec<_>>();
            // A thread that cannot be had makes it slower, nothing else.
            helpers.extend(std::thread::Builder::new().spawn_scoped(scope, work));
        }
        drop(take);
        let mut done = Vec::new();
        for batch in (0..).zip(first.into_iter().chain(&mut batches)) {
            if let Err(left) = hand_out.try_send(batch) {
                done.push(check(left.into_inner()));
            }
        }
        drop(hand_out);
        for helper in helpers {
            match helper.join() {
                Ok(batches) => done.extend(batches),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_by_key(|(at, _)| *at);
    let mut all = Vec::new();
    for (_, (meanings, fault)) in done {
        all.extend(meanings);
        if let Some(fault) = fault {
            return Reading { meanings: all, end: Err(fault) };
        }
    }
    Reading { meanings: all, end: batches.fault.map_or(Ok(batches.last), Err) }
}

/// A row that stands in its place, after the one before it.
struct Stored {
    seq: i64,
    prev: ChainHead,
    kind: String,
    actor: String,
    sitting: i64,
    wall_utc: String,
    mono_ns: i64,
    payload: String,
    hash: ChainHead,
}

/// The rows of a log in order.
struct Batches<'a> {
    rows: Rows<'a>,
    path: &'a Path,
    length: u64,
    /// The last row of the batch before.
    last: Option<Last>,
    ended: bool,
    /// Why it ended, when there may be more.
    fault: Option<ChainError>,
}

impl Iterator for Batches<'_> {
    type Item = Vec<Stored>;

    fn next(&mut self) -> Option<Vec<Stored>> {
        if self.ended {
            return None;
        }
        let mut batch: Vec<Stored> = Vec::with_capacity(BATCH);
        let mut head = self.last.as_ref().map_or(EMPTY_HEAD, |last| last.head);
        while batch.len() < BATCH && !self.ended {
            match self.next_row(head) {
                Ok(Some(row)) => {
                    head = row.hash;
                    self.length += 1;
                    batch.push(row);
                }
                Ok(None) => self.ended = true,
                Err(fault) => {
                    self.ended = true;
                    self.fault = Some(fault);
                }
            }
        }
        if let Some(row) = batch.last() {
            self.last = Some(Last { head, wall_utc: row.wall_utc.clone() });
        }
        Some(batch)
    }
}

impl Batches<'_> {
    fn next_row(&mut self, head: ChainHead) -> Result<Option<Stored>, ChainError> {
        let path = self.path;
        let at = |error: rusqlite::Error| ChainError::Database(SqliteError::at(path, &error));
        let seq = self.length + 1;
        let Some(row) = self.rows.next().map_err(at)? else { return Ok(None) };
        Stored::read(row, seq, head).map(Some).map_err(|reason| ChainError::Broken {
            path: path.to_owned(),
            seq,
            reason,
        })
    }
}

impl Stored {
    fn read(row: &rusqlite::Row<'_>, expected: u64, head: ChainHead) -> Result<Self, String> {
        let text = |column: usize| {
            row.get_ref(column)
                .ok()
                .and_then(|value| value.as_str().ok())
                .map(str::to_owned)
                .ok_or_else(|| format!("column {column} is not text"))
        };
        let number = |column: usize| row.get::<_, i64>(column).map_err(|error| error.to_string());
        let digest = |column: usize| {
            let bytes = row.get::<_, [u8; 32]>(column);
            bytes.map(ChainHead::from_bytes).map_err(|error| error.to_string())
        };
        let stored = Self {
            seq: number(0)?,
            prev: digest(1)?,
            kind: text(2)?,
            actor: text(3)?,
            sitting: number(4)?,
            wall_utc: text(5)?,
            mono_ns: number(6)?,
            payload: text(7)?,
            hash: digest(8)?,
        };
        if u64::try_from(stored.seq) != Ok(expected) {
            return Err(format!("found event {} in its place", stored.seq));
        }
        if stored.prev != head {
            return Err("it follows another event than the one before it".to_owned());
        }
        Ok(stored)
    }

    /// The event, when the row is what its hash says.
    fn check(self, text: &mut String) -> Result<Event, String> {
        let row = Row {
            seq: self.seq,
            kind: &self.kind,
            actor: &self.actor,
            sitting: self.sitting,
            wall_utc: &self.wall_utc,
            mono_ns: self.mono_ns,
            payload: &self.payload,
        };
        if row.hash(self.prev.as_bytes(), text) != *self.hash.as_bytes() {
            return Err("its content is not what its hash says".to_owned());
        }
        let payload = Json::parse(self.payload.as_bytes()).map_err(|error| error.reason)?;
        Ok(Event {
            seq: self.seq.unsigned_abs(),
            kind: self.kind,
            actor: self.actor,
            sitting: self.sitting.unsigned_abs(),
            wall_utc: self.wall_utc,
            mono_ns: self.mono_ns.unsigned_abs(),
            payload,
            hash: self.hash,
        })
    }
}

/// What the rows of a batch mean, up to the first that is not what its hash says.
fn checked<T>(
    rows: Vec<Stored>,
    path: &Path,
    meaning: &impl Fn(Event) -> T,
) -> (Vec<T>, Option<ChainError>) {
    let mut meanings = Vec::with_capacity(rows.len());
    let mut text = String::new();
    for row in rows {
        let seq = row.seq.unsigned_abs();
        match row.check(&mut text) {
            Ok(event) => meanings.push(meaning(event)),
            Err(reason) => {
                let fault = ChainError::Broken { path: path.to_owned(), seq, reason };
                return (meanings, Some(fault));
            }
        }
    }
    (meanings, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::event_chain::{EVENT_TABLE, NewEvent, append};
    use crate::store::sqlite::immediate;

    const LENGTH: u64 = 60 * BATCH as u64;

    /// A log of many batches and `more` events, each of which says its number.
    fn log(more: u64) -> Connection {
        let mut connection = Connection::open_in_memory().expect("opens");
        connection.execute_batch(EVENT_TABLE).expect("made");
        let filled: rusqlite::Result<()> = immediate(&mut connection, |transaction| {
            (1..=LENGTH + more).try_for_each(|number| {
                let event = NewEvent {
                    kind: "answer".to_owned(),
                    actor: "ada".to_owned(),
                    sitting: 1,
                    wall_utc: number.to_string(),
                    mono_ns: number,
                    payload: Json::int(number),
                };
                append(transaction, &event).map(drop)
            })
        });
        filled.expect("made");
        connection.execute_batch("DROP TRIGGER event_stays").expect("so that rows can be damaged");
        connection
    }

    fn damage(connection: &Connection, column: &str, seq: u64) {
        let statement = format!("UPDATE event SET {column} WHERE seq = {seq}");
        assert_eq!(connection.execute(&statement, []), Ok(1), "{statement}");
    }

    fn numbers(reading: &Reading<(u64, Json)>) -> bool {
        (1..)
            .zip(&reading.meanings)
            .all(|(number, (seq, payload))| *seq == number && *payload == Json::int(number))
    }

    fn read_numbers(connection: &Connection) -> Reading<(u64, Json)> {
        let reading = read(connection, Path::new("x"), &|event| (event.seq, event.payload));
        assert!(numbers(&reading), "out of order");
        reading
    }

    #[test]
    fn every_event_comes_in_its_place_however_many_there_are() {
        for more in [0, 1, BATCH as u64 - 1] {
            let connection = log(more);
            let reading = read_numbers(&connection);
            assert_eq!(reading.meanings.len() as u64, LENGTH + more);
            let last = reading.end.expect("whole").expect("not empty");
            let newest = "SELECT hash FROM event ORDER BY seq DESC LIMIT 1";
            let head: [u8; 32] = connection.query_row(newest, [], |row| row.get(0)).expect("there");
            assert_eq!(last.wall_utc, (LENGTH + more).to_string());
            assert_eq!(last.head, ChainHead::from_bytes(head));
        }
        let connection = Connection::open_in_memory().expect("opens");
        connection.execute_batch(EVENT_TABLE).expect("made");
        assert!(matches!(read_numbers(&connection).end, Ok(None)), "an empty log");
    }

    #[test]
    fn the_first_fault_is_named_whichever_thread_meets_it() {
        let batch = BATCH as u64;
        for seq in [1, 2, batch, batch + 1, 2 * batch + 7, LENGTH, LENGTH + 5] {
            for (column, reason) in [
                ("actor = 'bob'", "content"),
                ("hash = zeroblob(32)", "content"),
                ("prev_hash = zeroblob(32)", "another event"),
            ] {
                if seq == 1 && column.starts_with("prev") {
                    continue; // That is what the first event is chained to.
                }
                let connection = log(5);
                damage(&connection, column, seq);
                if seq < LENGTH + 5 {
                    damage(&connection, "kind = 'x'", LENGTH + 5);
                }
                let reading = read_numbers(&connection);
                assert_eq!(reading.meanings.len() as u64, seq - 1, "{column} of {seq}");
                match reading.end {
                    Err(ChainError::Broken { seq: found, reason: told, .. }) => {
                        assert_eq!(found, seq, "{column}");
                        assert!(told.contains(reason), "{column} of {seq}: {told}");
                    }
                    other => panic!("{column} of {seq}: {:?}", other.map(|_| ())),
                }
            }
        }
    }

    #[test]
    fn a_payload_that_is_not_json_is_named_though_its_hash_is_right() {
        let connection = log(0);
        let text = |column: &str| -> String {
            let query = format!("SELECT {column} FROM event WHERE seq = {LENGTH}");
            connection.query_row(&query, [], |row| row.get(0)).expect("there")
        };
        let prev: [u8; 32] = connection
            .query_row("SELECT prev_hash FROM event ORDER BY seq DESC LIMIT 1", [], |row| {
                row.get(0)
            })
            .expect("there");
        let row = Row {
            seq: LENGTH.cast_signed(),
            kind: "answer",
            actor: "ada",
            sitting: 1,
            wall_utc: &text("wall_utc"),
            mono_ns: LENGTH.cast_signed(),
            payload: "{",
        };
        let hash = row.hash(&prev, &mut String::new());
        let changed = connection
            .execute("UPDATE event SET payload = '{', hash = ?1 WHERE seq = ?2", (hash, row.seq));
        assert_eq!(changed, Ok(1));
        match read_numbers(&connection).end {
            Err(ChainError::Broken { seq: LENGTH, reason, .. }) => {
                assert!(reason.contains("expected a key"), "{reason}");
            }
            other => panic!("{:?}", other.map(|_| ())),
        }
    }
}
