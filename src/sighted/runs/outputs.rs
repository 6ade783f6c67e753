//! Raw outputs of earlier runs, by content: artifact, recipe, runtime with its options, fixture; and what
//! pictures were squashed to, by recipe and fixture.
//!
//! Because of this a second candidate neither runs the reference nor decodes a picture again, and an
//! interrupted run goes on. The file may be deleted at any time: it costs time, never a result. So its rows are not synced one by
//! one, and when it grows past its limit, the runs used longest ago go.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::domain::digest::{ArtifactHash, FixtureId, RecipeHash, TensorHash, sha256};
use crate::domain::escape::escape;
use crate::media::pixels::RgbImage;
use crate::sighted::harness::memory::{Fresh, Keep, Known, Memory, Pictures, Recall, RunKey, Turn};
use crate::sighted::harness::runner::{Output, Outputs};
use crate::store::sqlite::{Schema, SqliteError, immediate, open};

const SCHEMA: Schema = Schema {
    application_id: 0x464C_4F55,
    user_version: 2,
    migrations: &[
        "
        CREATE TABLE run (
            id INTEGER PRIMARY KEY,
            artifact BLOB NOT NULL,
            recipe BLOB NOT NULL,
            runtime TEXT NOT NULL,
            used INTEGER NOT NULL,
            UNIQUE (artifact, recipe, runtime)
        ) STRICT;
        CREATE TABLE output (
            id INTEGER PRIMARY KEY,
            run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
            fixture BLOB NOT NULL,
            turn INTEGER NOT NULL,
            tensor BLOB NOT NULL,
            sha256 BLOB NOT NULL,
            tensors BLOB NOT NULL,
            UNIQUE (run, fixture, turn)
        ) STRICT;
        ",
        "
        CREATE TABLE picture (
            id INTEGER PRIMARY KEY,
            recipe BLOB NOT NULL,
            fixture BLOB NOT NULL,
            tensor BLOB NOT NULL,
            squashed BLOB NOT NULL,
            UNIQUE (recipe, fixture)
        ) STRICT;
        ",
    ],
};

/// The file is kept at most this large, in bytes.
pub(in crate::sighted) const MAX_BYTES: u64 = 4 << 30;

/// Squashed pictures take at most this part of the file: they save less time than outputs.
const PICTURES_PART: u64 = 8;

/// Most axes of a stored tensor; more would be nonsense.
const MAX_AXES: usize = 16;

/// Under which circumstances outputs are the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct Circumstances {
    /// Preprocessing.
    pub recipe: RecipeHash,
    /// Runtime, its library, provider, options and processor, as canonical JSON.
    pub runtime: String,
}

/// Opens the database for two artifacts.
///
/// # Errors
/// It cannot be opened or read.
pub(in crate::sighted) fn open_memory(
    path: &Path,
    circumstances: &Circumstances,
    artifacts: &[ArtifactHash],
    max_bytes: u64,
) -> Result<Memory, SqliteError> {
    let at = |error: rusqlite::Error| SqliteError::at(path, &error);
    let mut connection = open(path, &SCHEMA)?;
    // A lost tail is computed again; a sync per fixture would cost more than that.
    connection.pragma_update(None, "synchronous", "NORMAL").map_err(at)?;
    let runs = immediate(&mut connection, |transaction| {
        let used: i64 =
            transaction
                .query_row("SELECT coalesce(max(used), 0) + 1 FROM run", [], |row| row.get(0))?;
        artifacts
            .iter()
            .map(|artifact| {
                let id = transaction.query_row(
                    "INSERT INTO run (artifact, recipe, runtime, used) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT DO UPDATE SET used = excluded.used RETURNING id",
                    params![
                        artifact.as_bytes(),
                        circumstances.recipe.as_bytes(),
                        circumstances.runtime,
                        used
                    ],
                    |row| row.get::<_, i64>(0),
                )?;
                Ok((*artifact, id))
            })
            .collect::<rusqlite::Result<Vec<_>>>()
    })
    .map_err(at)?;
    let known = known(&connection, &runs).map_err(at)?;
    let recipe = circumstances.recipe;
    let pictures = Squashed::open(open(path, &SCHEMA)?, recipe).map_err(at)?;
    let pictures_left =
        (max_bytes / PICTURES_PART).saturating_sub(picture_bytes(&connection).map_err(at)?);
    let reader = open(path, &SCHEMA)?;
    Ok(Memory {
        known,
        pictures: Box::new(pictures),
        recall: Box::new(Reader { connection: reader, runs: runs.clone() }),
        keep: Box::new(Writer { connection, runs, recipe, max_bytes, pictures_left }),
    })
}

/// Bytes that squashed pictures of all recipes take.
fn picture_bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let sum = "SELECT coalesce(sum(length(squashed)), 0) FROM picture";
    connection
        .query_row(sum, [], |row| row.get::<_, i64>(0))
        .map(|sum| u64::try_from(sum).unwrap_or(0))
}

/// Squashed pictures of one recipe.
struct Squashed {
    connection: Mutex<Connection>,
    recipe: RecipeHash,
    /// Which are there, so that the others are not asked for.
    there: HashSet<FixtureId>,
}

impl Squashed {
    fn open(connection: Connection, recipe: RecipeHash) -> rusqlite::Result<Self> {
        let there = connection
            .prepare("SELECT fixture FROM picture WHERE recipe = ?1")?
            .query_map([recipe.as_bytes()], |row| row.get(0).map(FixtureId::from_bytes))?
            .collect::<rusqlite::Result<_>>()?;
        Ok(Self { connection: Mutex::new(connection), recipe, there })
    }
}

impl Pictures for Squashed {
    fn squashed(&self, fixture: FixtureId) -> Option<(Vec<u8>, TensorHash)> {
        if !self.there.contains(&fixture) {
            return None;
        }
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let mut statement = connection
            .prepare_cached(
                "SELECT squashed, tensor FROM picture WHERE recipe = ?1 AND fixture = ?2",
            )
            .ok()?;
        let (bytes, tensor) = statement
            .query_row(params![self.recipe.as_bytes(), fixture.as_bytes()], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()
            .ok()??;
        Some((bytes, TensorHash::from_bytes(tensor)))
    }
}

type Runs = Vec<(ArtifactHash, i64)>;

fn run_of(runs: &Runs, artifact: ArtifactHash) -> Option<i64> {
    runs.iter().find(|(hash, _)| *hash == artifact).map(|(_, id)| *id)
}

fn turn_number(turn: Turn) -> i64 {
    match turn {
        Turn::First => 0,
        Turn::Again => 1,
    }
}

fn known(connection: &Connection, runs: &Runs) -> rusqlite::Result<Known> {
    let mut known = Known::new();
    let mut statement =
        connection.prepare("SELECT fixture, turn, tensor FROM output WHERE run = ?1")?;
    for (artifact, run) in runs {
        let mut rows = statement.query([run])?;
        while let Some(row) = rows.next()? {
            let (fixture, turn, tensor): ([u8; 32], i64, [u8; 32]) =
                (row.get(0)?, row.get(1)?, row.get(2)?);
            let turn = if turn == 0 { Turn::First } else { Turn::Again };
            let fixture = FixtureId::from_bytes(fixture);
            let key = RunKey { artifact: *artifact, fixture, turn };
            known.insert(key, TensorHash::from_bytes(tensor));
        }
    }
    Ok(known)
}

struct Reader {
    connection: Connection,
    runs: Runs,
}

impl Recall for Reader {
    fn outputs(&mut self, key: &RunKey) -> Option<Outputs> {
        let run = run_of(&self.runs, key.artifact)?;
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT sha256, tensors FROM output WHERE run = ?1 AND fixture = ?2 AND turn = ?3",
            )
            .ok()?;
        let (hash, bytes): ([u8; 32], Vec<u8>) = statement
            .query_row(params![run, key.fixture.as_bytes(), turn_number(key.turn)], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()
            .ok()??;
        // A flipped bit passes every check of the database itself.
        (sha256(&bytes) == hash).then(|| decode(&bytes)).flatten()
    }
}

struct Writer {
    connection: Connection,
    runs: Runs,
    recipe: RecipeHash,
    max_bytes: u64,
    /// How many bytes of squashed pictures may still be kept.
    pictures_left: u64,
}

impl Keep for Writer {
    fn keep(&mut self, fresh: &Fresh<'_>) -> Result<(), String> {
        let Fresh { tensor, runs: outputs, squashed } = *fresh;
        let said = |error: rusqlite::Error| escape(&error.to_string()).into_owned();
        let encoded: Vec<(RunKey, Vec<u8>)> =
            outputs.iter().map(|(key, outputs)| (*key, encode(outputs))).collect();
        let size: u64 = encoded.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        self.make_room(size)?;
        let squashed = match squashed {
            Some((_, picture)) if !self.has_room_for(picture).map_err(said)? => None,
            squashed => squashed,
        };
        let (runs, recipe) = (&self.runs, self.recipe);
        immediate(&mut self.connection, |transaction| {
            let mut insert = transaction.prepare_cached(
                "INSERT INTO output (run, fixture, turn, tensor, sha256, tensors)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT DO UPDATE SET
                 tensor = excluded.tensor, sha256 = excluded.sha256, tensors = excluded.tensors",
            )?;
            for (key, bytes) in &encoded {
                insert.execute(params![
                    run_of(runs, key.artifact),
                    key.fixture.as_bytes(),
                    turn_number(key.turn),
                    tensor.as_bytes(),
                    sha256(bytes),
                    bytes
                ])?;
            }
            if let Some((fixture, picture)) = squashed {
                transaction
                    .prepare_cached(
                        "INSERT INTO picture (recipe, fixture, tensor, squashed)
                         VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET
                         tensor = excluded.tensor, squashed = excluded.squashed",
                    )?
                    .execute(params![
                        recipe.as_bytes(),
                        fixture.as_bytes(),
                        tensor.as_bytes(),
                        picture.rgb()
                    ])?;
            }
            Ok(())
        })
        .map_err(said)
    }
}

impl Writer {
    /// Takes room for one more squashed picture, if need be that of other recipes. What this recipe has
    /// stays: in a set that does not fit, letting the oldest go would let each go just before it is needed.
    fn has_room_for(&mut self, picture: &RgbImage) -> rusqlite::Result<bool> {
        let size = picture.rgb().len() as u64;
        if size > self.pictures_left {
            let others = "DELETE FROM picture WHERE recipe <> ?1";
            if self.connection.execute(others, [self.recipe.as_bytes()])? > 0 {
                let taken = picture_bytes(&self.connection)?;
                self.pictures_left = (self.max_bytes / PICTURES_PART).saturating_sub(taken);
            }
        }
        let fits = size <= self.pictures_left;
        if fits {
            self.pictures_left -= size;
        }
        Ok(fits)
    }

    /// Lets squashed pictures, and then the runs used longest ago, go until there is room for `size` more bytes. Pages they leave are
    /// used again, so the file itself stops growing.
    fn make_room(&mut self, size: u64) -> Result<(), String> {
        let said = |error: rusqlite::Error| escape(&error.to_string()).into_owned();
        if self.is_full(size)?
            && self.connection.execute("DELETE FROM picture", []).map_err(said)? > 0
        {
            self.pictures_left = 0;
        }
        while self.is_full(size)? {
            let mine: Vec<i64> = self.runs.iter().map(|(_, id)| *id).collect();
            let gone = immediate(&mut self.connection, |transaction| {
                let oldest: Option<i64> = transaction
                    .prepare("SELECT id FROM run ORDER BY used, id")?
                    .query_map([], |row| row.get(0))?
                    .filter_map(Result::ok)
                    .find(|id| !mine.contains(id));
                match oldest {
                    Some(id) => transaction.execute("DELETE FROM run WHERE id = ?1", [id]),
                    None => Ok(0),
                }
            })
            .map_err(said)?;
            if gone == 0 {
                return Err(format!("this run alone needs more than {} bytes", self.max_bytes));
            }
        }
        Ok(())
    }

    /// Whether `size` more bytes would be too many.
    fn is_full(&self, size: u64) -> Result<bool, String> {
        let used = self.used_bytes().map_err(|error| escape(&error.to_string()).into_owned())?;
        Ok(used.saturating_add(size) > self.max_bytes)
    }

    fn used_bytes(&self) -> rusqlite::Result<u64> {
        let number = |name: &str| -> rusqlite::Result<u64> {
            self.connection
                .pragma_query_value(None, name, |row| row.get::<_, i64>(0))
                .map(|value| u64::try_from(value).unwrap_or(0))
        };
        let pages = number("page_count")?.saturating_sub(number("freelist_count")?);
        Ok(pages.saturating_mul(number("page_size")?))
    }
}

/// Outputs as bytes: their number, then of each the length of its name, the name, the number of axes, the
/// axes, and its values; all numbers little-endian, 8 bytes, values f32.
fn encode(outputs: &Outputs) -> Vec<u8> {
    let mut bytes = Vec::new();
    let number = |bytes: &mut Vec<u8>, value: usize| {
        bytes.extend_from_slice(&(value as u64).to_le_bytes());
    };
    number(&mut bytes, outputs.0.len());
    for Output { name, shape, values } in &outputs.0 {
        number(&mut bytes, name.len());
        bytes.extend_from_slice(name.as_bytes());
        number(&mut bytes, shape.len());
        for axis in shape {
            number(&mut bytes, *axis);
        }
        number(&mut bytes, values.len());
        bytes.reserve(4 * values.len());
        for value in values {
            bytes.extend_from_slice(&value.to_le_bytes());
        }
    }
    bytes
}

/// The outputs, unless the bytes are not those of [`encode`].
fn decode(bytes: &[u8]) -> Option<Outputs> {
    let mut rest = bytes;
    let count = take_number(&mut rest)?;
    let mut outputs = Vec::new();
    for _ in 0..count {
        let length = take_number(&mut rest)?;
        let name = std::str::from_utf8(take(&mut rest, length)?).ok()?.to_owned();
        let axes = take_number(&mut rest).filter(|axes| *axes <= MAX_AXES)?;
        let shape = (0..axes).map(|_| take_number(&mut rest)).collect::<Option<Vec<_>>>()?;
        let length = take_number(&mut rest)?.checked_mul(4)?;
        let (values, _) = take(&mut rest, length)?.as_chunks::<4>();
        let values = values.iter().map(|value| f32::from_le_bytes(*value)).collect();
        outputs.push(Output { name, shape, values });
    }
    rest.is_empty().then_some(Outputs(outputs))
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken)
}

fn take_number(rest: &mut &[u8]) -> Option<usize> {
    let number = take(rest, 8)?.first_chunk::<8>()?;
    usize::try_from(u64::from_le_bytes(*number)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs(seed: u8) -> Outputs {
        let values = vec![f32::from(seed), f32::NAN, -0.0, f32::INFINITY];
        Outputs(vec![
            Output { name: "dets".to_owned(), shape: vec![1, 1, 4], values },
            Output { name: "labels".to_owned(), shape: vec![1, 1, 0], values: Vec::new() },
        ])
    }

    fn same(one: &Outputs, two: &Outputs) -> bool {
        encode(one) == encode(two)
    }

    fn here() -> Circumstances {
        Circumstances { recipe: RecipeHash::of(b"r"), runtime: "one thread".to_owned() }
    }

    fn key(artifact: &[u8], fixture: u8, turn: Turn) -> RunKey {
        RunKey { artifact: ArtifactHash::of(artifact), fixture: FixtureId::of(&[fixture]), turn }
    }

    const TENSOR: TensorHash = TensorHash::from_bytes([7; 32]);

    fn fresh<'a>(runs: &'a [(RunKey, &'a Outputs)]) -> Fresh<'a> {
        Fresh { tensor: TENSOR, runs, squashed: None }
    }

    fn memory(path: &Path, circumstances: &Circumstances) -> Memory {
        let artifacts = [ArtifactHash::of(b"a"), ArtifactHash::of(b"b")];
        open_memory(path, circumstances, &artifacts, MAX_BYTES).expect("opened")
    }

    #[test]
    fn what_was_kept_comes_back_bit_for_bit() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("sessions/outputs.db");
        let (first, again) = (key(b"a", 1, Turn::First), key(b"a", 1, Turn::Again));
        let mut one = memory(&path, &here());
        assert!(one.known.is_empty());
        one.keep.keep(&fresh(&[(first, &outputs(1)), (again, &outputs(2))])).expect("kept");
        // What a run kept is there for the same run's reader too.
        assert!(one.recall.outputs(&first).is_some_and(|found| same(&found, &outputs(1))));
        drop(one);
        let mut two = memory(&path, &here());
        assert_eq!(two.known, Known::from([(first, TENSOR), (again, TENSOR)]));
        assert!(two.recall.outputs(&again).is_some_and(|found| same(&found, &outputs(2))));
        assert_eq!(two.recall.outputs(&key(b"b", 1, Turn::First)), None);
    }

    #[test]
    fn other_circumstances_know_nothing_of_it() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("outputs.db");
        let key = key(b"a", 1, Turn::First);
        memory(&path, &here()).keep.keep(&fresh(&[(key, &outputs(1))])).expect("kept");
        for other in [
            Circumstances { recipe: RecipeHash::of(b"other"), ..here() },
            Circumstances { runtime: "two threads".to_owned(), ..here() },
        ] {
            let mut memory = memory(&path, &other);
            assert!(memory.known.is_empty());
            assert_eq!(memory.recall.outputs(&key), None);
        }
    }

    #[test]
    fn a_flipped_bit_is_not_an_output() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("outputs.db");
        let key = key(b"a", 1, Turn::First);
        memory(&path, &here()).keep.keep(&fresh(&[(key, &outputs(1))])).expect("kept");
        let connection = open(&path, &SCHEMA).expect("opened");
        let mut bytes = encode(&outputs(1));
        bytes[40] ^= 1;
        connection.execute("UPDATE output SET tensors = ?1", [bytes]).expect("flipped");
        drop(connection);
        assert_eq!(memory(&path, &here()).recall.outputs(&key), None);
    }

    #[test]
    fn squashed_pictures_come_back_for_their_recipe_and_make_way_first() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("outputs.db");
        let picture = RgbImage::from_fn(100, 50, |x, y| [x as u8, y as u8, 7]);
        let fixture = |number: u8| FixtureId::of(&[number]);
        let artifacts = [ArtifactHash::of(b"a")];
        let other = Circumstances { recipe: RecipeHash::of(b"other"), ..here() };
        // Room for four such pictures.
        let limit = 8 * 64_000;
        let open =
            |here: &Circumstances| open_memory(&path, here, &artifacts, limit).expect("opened");
        let keep = |memory: &mut Memory, number: u8| {
            let squashed = Some((fixture(number), &picture));
            memory.keep.keep(&Fresh { squashed, ..fresh(&[]) }).expect("kept");
        };
        let there = |here: &Circumstances| -> Vec<u8> {
            let memory = open(here);
            (0..9).filter(|number| memory.pictures.squashed(fixture(*number)).is_some()).collect()
        };
        keep(&mut open(&other), 1);
        assert_eq!((there(&here()), there(&other)), (vec![], vec![1]));
        let mut memory = open(&here());
        (2..6).for_each(|number| keep(&mut memory, number));
        assert!(there(&other).is_empty(), "made way for those of this recipe");
        keep(&mut memory, 6);
        assert_eq!(
            there(&here()),
            [2, 3, 4, 5],
            "what is there stays, what does not fit is not kept"
        );
        let found = open(&here()).pictures.squashed(fixture(2));
        assert_eq!(found, Some((picture.rgb().to_vec(), TENSOR)));
        // Outputs are worth more.
        let values = vec![0.5; 108_000];
        let large = Outputs(vec![Output { name: "x".to_owned(), shape: vec![108_000], values }]);
        memory.keep.keep(&fresh(&[(key(b"a", 2, Turn::First), &large)])).expect("room");
        keep(&mut memory, 7);
        assert!(there(&here()).is_empty());
    }

    #[test]
    fn a_file_of_before_squashed_pictures_keeps_its_outputs() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("outputs.db");
        let key = key(b"a", 1, Turn::First);
        memory(&path, &here()).keep.keep(&fresh(&[(key, &outputs(1))])).expect("kept");
        let connection = open(&path, &SCHEMA).expect("opened");
        connection.execute_batch("DROP TABLE picture; PRAGMA user_version = 1").expect("as before");
        drop(connection);
        assert!(memory(&path, &here()).recall.outputs(&key).is_some());
    }

    #[test]
    fn bytes_that_are_not_outputs_are_none() {
        let bytes = encode(&outputs(3));
        assert!(decode(&bytes).is_some_and(|found| same(&found, &outputs(3))));
        for end in 0..bytes.len() {
            assert_eq!(decode(&bytes[..end]), None, "cut at {end}");
        }
        let longer = [bytes.as_slice(), &[0]].concat();
        assert_eq!(decode(&longer), None);
        assert_eq!(decode(&[0xFF; 64]), None);
    }

    #[test]
    fn the_runs_used_longest_ago_go_first_and_this_run_never() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("outputs.db");
        let large = Outputs(vec![Output {
            name: "x".to_owned(),
            shape: vec![50_000],
            values: vec![0.5; 50_000],
        }]);
        let fill = |artifact: &[u8], count: u8, limit: u64| {
            let hash = ArtifactHash::of(artifact);
            let mut memory = open_memory(&path, &here(), &[hash], limit).expect("opened");
            (0..count)
                .try_for_each(|index| {
                    memory.keep.keep(&fresh(&[(key(artifact, index, Turn::First), &large)]))
                })
                .map(|()| memory.known.len())
        };
        let limit = 1_500_000;
        fill(b"old", 3, limit).expect("room");
        fill(b"newer", 2, limit).expect("room");
        fill(b"now", 3, limit).expect("room was made");
        let left = |artifact: &[u8]| fill(artifact, 0, limit).expect("opened");
        assert_eq!((left(b"old"), left(b"newer"), left(b"now")), (0, 2, 3));
        let size = std::fs::metadata(&path).expect("there").len();
        assert!(size < 2 * limit, "{size}");
        let error = fill(b"huge", 9, limit).expect_err("too much");
        assert!(error.contains("this run alone"), "{error}");
    }
}
