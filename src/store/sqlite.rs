//! Opening a database so that what it acknowledges stays, and so that a foreign, newer or damaged file
//! is refused with its reason and left as it was.
//!
//! Every connection of the program is made here. What the tables mean belongs to the callers.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use crate::domain::escape::{escape, escape_os};
use crate::store::atomic;

/// SQLite before this can damage a write-ahead log that two connections use.
const VERSION_FLOOR: i32 = 3_051_003;

/// How long a statement waits for another process's write.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Largest string, blob or row read from a file, in bytes.
const MAX_VALUE_BYTES: i32 = 64 << 20;

/// First bytes of every SQLite database.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// What a database of ours looks like.
#[derive(Debug, Clone, Copy)]
pub struct Schema {
    /// Tells our databases from others, and from each other.
    pub application_id: i32,
    /// The version the newest migration leads to; always the number of migrations.
    pub user_version: u32,
    /// Statements that lead from each version to the next. Appended to, never edited.
    pub migrations: &'static [&'static str],
}

/// Why a database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SqliteError {
    /// The library is too old.
    #[error("SQLite {found} is linked, 3.51.3 or newer expected")]
    Library {
        /// Its version.
        found: String,
    },
    /// Not ours.
    #[error("{}: not a database of this kind: {}", escape_os(.path.as_os_str()), escape(.reason))]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What was expected and found.
        reason: String,
    },
    /// From a later version of the program.
    #[error("{}: schema version {found}, this program knows up to {known}; use a newer flipside", escape_os(.path.as_os_str()))]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest known here.
        known: u32,
    },
    /// Its content does not hold together.
    #[error("{}: damaged: {}", escape_os(.path.as_os_str()), escape(.reason))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What the check said.
        reason: String,
    },
    /// The folder cannot carry a write-ahead log.
    #[error("{}: expected a write-ahead log, the system gave journal mode {}; keep the workspace on a local disk", escape_os(.path.as_os_str()), escape(.found))]
    NoWriteAheadLog {
        /// The file.
        path: PathBuf,
        /// The mode it stayed in.
        found: String,
    },
    /// Another process holds it.
    #[error("{}: another process is writing to it", escape_os(.path.as_os_str()))]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The place cannot be written to.
    #[error("{}: cannot be written to (read-only file or folder)", escape_os(.path.as_os_str()))]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// No room.
    #[error("{}: the disk is full", escape_os(.path.as_os_str()))]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The device failed. Nothing written since the last success can be trusted.
    #[error("{}: the disk failed: {}", escape_os(.path.as_os_str()), escape(.reason))]
    Device {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// Anything else.
    #[error("{}: {}", escape_os(.path.as_os_str()), escape(.reason))]
    Other {
        /// The file.
        path: PathBuf,
        /// What the library said.
        reason: String,
    },
}

impl SqliteError {
    /// What an error of the library means for the file at `path`.
    pub fn at(path: &Path, error: &rusqlite::Error) -> Self {
        let path = path.to_owned();
        let reason = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::Foreign { path, reason },
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, reason },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly { path },
            Some(ErrorCode::DiskFull) => Self::Full { path },
            Some(ErrorCode::SystemIoFailure) => Self::Device { path, reason },
            _ => Self::Other { path, reason },
        }
    }

    /// What is wrong, without the name of the file.
    pub fn without_path(&self) -> String {
        let whole = self.to_string();
        let path = match self {
            Self::Library { .. } => return whole,
            Self::Foreign { path, .. }
            | Self::Newer { path, .. }
            | Self::Damaged { path, .. }
            | Self::NoWriteAheadLog { path, .. }
            | Self::Busy { path }
            | Self::ReadOnly { path }
            | Self::Full { path }
            | Self::Device { path, .. }
            | Self::Other { path, .. } => escape_os(path.as_os_str()),
        };
        whole.strip_prefix(&format!("{path}: ")).map_or(whole.clone(), str::to_owned)
    }

    /// May the same write succeed when it is simply tried again?
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Busy { .. })
    }
}

/// Opens the database at `path`, making or migrating it as needed.
///
/// # Errors
/// See [`SqliteError`]. A file that is refused is not changed.
pub fn open(path: &Path, schema: &Schema) -> Result<Connection, SqliteError> {
    check_library()?;
    report_size_limit_as_error();
    check_magic(path)?;
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        atomic::make_folder(folder).map_err(|error| match error.kind() {
            std::io::ErrorKind::ReadOnlyFilesystem | std::io::ErrorKind::PermissionDenied => {
                SqliteError::ReadOnly { path: path.to_owned() }
            }
            _ => SqliteError::Other { path: path.to_owned(), reason: error.to_string() },
        })?;
    }
    let at = |error: rusqlite::Error| SqliteError::at(path, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(at)?;
    guard(&connection).map_err(at)?;
    if connection.is_readonly("main").map_err(at)? {
        return Err(SqliteError::ReadOnly { path: path.to_owned() });
    }
    let found = check_identity(&connection, path, schema)?;
    write_ahead(&connection, path)?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(at)?;
    if found < schema.user_version {
        back_up_before_migration(&connection, path, found).map_err(at)?;
        migrate(&mut connection, schema).map_err(at)?;
    }
    check_content(&connection, path)?;
    Ok(connection)
}

/// Opens an existing database for reading only.
///
/// # Errors
/// See [`SqliteError`]; also when it does not exist or has an older schema version.
pub fn open_read_only(path: &Path, schema: &Schema) -> Result<Connection, SqliteError> {
    check_library()?;
    check_magic(path)?;
    let at = |error: rusqlite::Error| SqliteError::at(path, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(at)?;
    guard(&connection).map_err(at)?;
    let found = check_identity(&connection, path, schema)?;
    if found < schema.user_version {
        return Err(SqliteError::Foreign {
            path: path.to_owned(),
            reason: format!("schema version {found}, expected {}", schema.user_version),
        });
    }
    check_content(&connection, path)?;
    Ok(connection)
}

/// Opens a file whose content is not to be believed, to read what can be read of it. Only ever of a copy.
///
/// # Errors
/// The library cannot open it at all.
pub(in crate::store) fn open_unchecked(path: &Path) -> Result<Connection, SqliteError> {
    check_library()?;
    check_magic(path)?;
    let at = |error: rusqlite::Error| SqliteError::at(path, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(at)?;
    guard(&connection).map_err(at)?;
    Ok(connection)
}

/// Runs `work` in a transaction that takes the write lock at once, and commits when it succeeds.
///
/// # Errors
/// Whatever `work` or the library returns; nothing is kept then.
pub fn immediate<T, E: From<rusqlite::Error>>(
    connection: &mut Connection,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let value = work(&transaction)?;
    transaction.commit()?;
    Ok(value)
}

fn check_library() -> Result<(), SqliteError> {
    if rusqlite::version_number() < VERSION_FLOOR {
        return Err(SqliteError::Library { found: rusqlite::version().to_owned() });
    }
    Ok(())
}

/// A process that reaches its limit of file size is killed by a signal unless it takes that signal. Taken,
/// the write fails instead, and can be reported.
fn report_size_limit_as_error() {
    #[cfg(unix)]
    {
        static TAKEN: std::sync::Once = std::sync::Once::new();
        TAKEN.call_once(|| {
            let flag = std::sync::Arc::default();
            // Without it everything works but for that one report.
            let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, flag);
        });
    }
}

/// Refuses a file that is no database before the library touches it. An empty file is a new one.
fn check_magic(path: &Path) -> Result<(), SqliteError> {
    let Ok(file) = fs::File::open(path) else { return Ok(()) };
    let mut start = Vec::with_capacity(MAGIC.len());
    let read = file.take(MAGIC.len() as u64).read_to_end(&mut start);
    if read.is_ok() && !start.is_empty() && start != MAGIC {
        return Err(SqliteError::Foreign {
            path: path.to_owned(),
            reason: "the file is not an SQLite database".to_owned(),
        });
    }
    Ok(())
}

/// Settings that hold before anything of the file is believed.
fn guard(connection: &Connection) -> rusqlite::Result<()> {
    use rusqlite::limits::Limit;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    // The answer of this one is the size in force.
    connection.pragma_update_and_check(None, "mmap_size", 0, |_| Ok(()))?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "temp_store", "MEMORY")
}

/// The schema version of a file that is ours, 0 for an empty one.
fn check_identity(
    connection: &Connection,
    path: &Path,
    schema: &Schema,
) -> Result<u32, SqliteError> {
    let at = |error: rusqlite::Error| SqliteError::at(path, &error);
    let number = |name: &str| {
        connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(at)
    };
    let application_id = number("application_id")?;
    let version = number("user_version")?;
    let objects = schema_objects(connection).map_err(at)?;
    if application_id == 0 && version == 0 && objects.is_empty() {
        return Ok(0);
    }
    let foreign = |reason: String| SqliteError::Foreign { path: path.to_owned(), reason };
    if application_id != i64::from(schema.application_id) {
        return Err(foreign(format!(
            "application id {application_id:#x}, expected {:#x}",
            schema.application_id
        )));
    }
    if version > i64::from(schema.user_version) {
        return Err(SqliteError::Newer {
            path: path.to_owned(),
            found: version,
            known: schema.user_version,
        });
    }
    let version = u32::try_from(version)
        .ok()
        .filter(|version| *version > 0)
        .ok_or_else(|| foreign(format!("schema version {version}")))?;
    let expected = expected_objects(schema, version).map_err(at)?;
    if objects != expected {
        let name = objects
            .iter()
            .chain(&expected)
            .find(|object| objects.contains(object) != expected.contains(object))
            .map_or("?", |object| object.1.as_str());
        return Err(foreign(format!(
            "{name:?} is not what schema version {version} has under that name"
        )));
    }
    Ok(version)
}

/// Kind, name and text of everything a schema holds.
type Object = (String, String, Option<String>);

fn schema_objects(connection: &Connection) -> rusqlite::Result<Vec<Object>> {
    connection
        .prepare("SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%' ORDER BY name, type")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect()
}

/// What the schema looks like after the first `version` migrations.
fn expected_objects(schema: &Schema, version: u32) -> rusqlite::Result<Vec<Object>> {
    let fresh = Connection::open_in_memory()?;
    let count = usize::try_from(version).unwrap_or(usize::MAX);
    for migration in schema.migrations.iter().take(count) {
        fresh.execute_batch(migration)?;
    }
    schema_objects(&fresh)
}

/// Switches to the write-ahead log. Two processes that do this at once fail at once, whatever the
/// timeout, so it is tried until the timeout is over.
fn write_ahead(connection: &Connection, path: &Path) -> Result<(), SqliteError> {
    let begun = Instant::now();
    loop {
        let mode = connection
            .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0));
        match mode {
            Ok(mode) if mode.eq_ignore_ascii_case("wal") => return Ok(()),
            Ok(found) => {
                return Err(SqliteError::NoWriteAheadLog { path: path.to_owned(), found });
            }
            Err(error) => {
                let error = SqliteError::at(path, &error);
                if !error.is_retryable() || begun.elapsed() > BUSY_TIMEOUT {
                    return Err(error);
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

fn migrate(connection: &mut Connection, schema: &Schema) -> rusqlite::Result<()> {
    immediate(connection, |transaction| {
        // Another process may have done it while we waited for the lock.
        let found: u32 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
        let done = usize::try_from(found).unwrap_or(usize::MAX);
        for migration in schema.migrations.iter().skip(done) {
            transaction.execute_batch(migration)?;
        }
        transaction.pragma_update(None, "application_id", schema.application_id)?;
        transaction.pragma_update(None, "user_version", schema.user_version)
    })
}

/// Keeps a copy `<name>.v<version>.bak` of a file that is about to change its schema.
fn back_up_before_migration(
    connection: &Connection,
    path: &Path,
    found: u32,
) -> rusqlite::Result<()> {
    if found == 0 {
        return Ok(());
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".v{found}.bak"));
    connection.backup("main", PathBuf::from(name), None::<fn(rusqlite::backup::Progress)>)
}

fn check_content(connection: &Connection, path: &Path) -> Result<(), SqliteError> {
    let answer: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|error| SqliteError::at(path, &error))?;
    if answer == "ok" {
        Ok(())
    } else {
        Err(SqliteError::Damaged { path: path.to_owned(), reason: answer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: Schema = Schema {
        application_id: 0x464c_5401,
        user_version: 1,
        migrations: &[
            "CREATE TABLE answer (number INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT",
        ],
    };

    const NEXT: Schema = Schema {
        application_id: 0x464c_5401,
        user_version: 2,
        migrations: &[
            "CREATE TABLE answer (number INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT",
            "ALTER TABLE answer ADD COLUMN note TEXT NOT NULL DEFAULT ''",
        ],
    };

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("temporary folder")
    }

    fn insert(connection: &mut Connection, text: &str) {
        immediate(connection, |transaction| {
            transaction.execute("INSERT INTO answer (text) VALUES (?1)", [text]).map(drop)
        })
        .expect("inserted");
    }

    fn setting(connection: &Connection, name: &str) -> String {
        connection
            .pragma_query_value(None, name, |row| {
                row.get::<_, rusqlite::types::Value>(0).map(|value| format!("{value:?}"))
            })
            .expect("a setting")
    }

    #[test]
    fn settings_hold_and_rows_stay() {
        let folder = folder();
        let path = folder.path().join("deep/a b.db");
        let mut connection = open(&path, &SCHEMA).expect("new");
        for (name, value) in [
            ("journal_mode", "Text(\"wal\")"),
            ("synchronous", "Integer(2)"),
            ("foreign_keys", "Integer(1)"),
            ("trusted_schema", "Integer(0)"),
            ("cell_size_check", "Integer(1)"),
            ("busy_timeout", "Integer(5000)"),
            ("user_version", "Integer(1)"),
        ] {
            assert_eq!(setting(&connection, name), value, "{name}");
        }
        assert_eq!(connection.db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE), Ok(true));
        insert(&mut connection, "kept");
        drop(connection);
        let connection = open_read_only(&path, &SCHEMA).expect("again");
        let text: String =
            connection.query_row("SELECT text FROM answer", [], |row| row.get(0)).expect("the row");
        assert_eq!(text, "kept");
        assert!(connection.execute("DELETE FROM answer", []).is_err());
    }

    #[test]
    fn migrations_run_once_and_leave_a_copy() {
        let folder = folder();
        let path = folder.path().join("x.db");
        insert(&mut open(&path, &SCHEMA).expect("version 1"), "old");
        let connection = open(&path, &NEXT).expect("version 2");
        let row: (String, String) = connection
            .query_row("SELECT text, note FROM answer", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .expect("the row");
        assert_eq!(row, ("old".to_owned(), String::new()));
        drop(connection);
        assert!(open(&path, &NEXT).is_ok());
        assert!(open_read_only(&folder.path().join("x.db.v1.bak"), &SCHEMA).is_ok());
        let refused = open(&path, &SCHEMA).expect_err("newer");
        assert!(refused.to_string().contains("schema version 2, this program knows up to 1"));
        let old = folder.path().join("x.db.v1.bak");
        assert!(open_read_only(&old, &NEXT).expect_err("older").to_string().contains("expected 2"));
    }

    #[test]
    fn foreign_files_are_refused_and_left_as_they_were() {
        let folder = folder();
        let text = folder.path().join("text.db");
        crate::store::atomic::write(&text, b"not a database at all, just text").expect("written");
        assert!(open(&text, &SCHEMA).expect_err("text").to_string().contains("not an SQLite"));
        assert_eq!(fs::read(&text).expect("readable").len(), 32);

        let other = folder.path().join("other.db");
        open(&other, &Schema { application_id: 7, ..SCHEMA }).expect("another program's");
        let before = fs::read(&other).expect("readable");
        let refused = open(&other, &SCHEMA).expect_err("another id");
        assert!(refused.to_string().contains("application id 0x7, expected 0x464c5401"));
        assert_eq!(fs::read(&other).expect("readable"), before);
    }

    #[test]
    fn a_changed_schema_is_refused() {
        let folder = folder();
        let path = folder.path().join("x.db");
        let connection = open(&path, &SCHEMA).expect("new");
        connection.execute_batch("CREATE VIEW planted AS SELECT * FROM answer").expect("a view");
        drop(connection);
        let refused = open(&path, &SCHEMA).expect_err("a planted view").to_string();
        assert!(refused.contains("planted"), "{refused}");
    }

    #[test]
    fn damage_is_noticed() {
        let folder = folder();
        let path = folder.path().join("x.db");
        let mut connection = open(&path, &SCHEMA).expect("new");
        for number in 0..2000 {
            insert_quickly(&mut connection, number);
        }
        drop(connection);
        let whole = fs::read(&path).expect("readable");
        assert!(open(&path, &SCHEMA).is_ok());
        // Pages past the first, and a file cut short.
        for (name, bytes) in [
            ("garbage", {
                let mut bytes = whole.clone();
                bytes[4096..8192].fill(0x5a);
                bytes
            }),
            ("cut", whole[..whole.len() - 5000].to_vec()),
        ] {
            let path = folder.path().join(name);
            crate::store::atomic::write(&path, &bytes).expect("written");
            let error = open(&path, &SCHEMA).expect_err(name);
            assert!(matches!(error, SqliteError::Damaged { .. }), "{name}: {error}");
        }
    }

    fn insert_quickly(connection: &mut Connection, number: u32) {
        connection
            .execute("INSERT INTO answer (text) VALUES (?1)", [format!("row {number:>60}")])
            .expect("inserted");
    }

    #[test]
    fn a_write_lock_elsewhere_is_said_to_be_one() {
        let folder = folder();
        let path = folder.path().join("x.db");
        let mut first = open(&path, &SCHEMA).expect("new");
        let mut second = open(&path, &SCHEMA).expect("again");
        second.busy_timeout(Duration::from_millis(1)).expect("set");
        let held = first.transaction_with_behavior(TransactionBehavior::Immediate).expect("held");
        let refused: rusqlite::Result<()> = immediate(&mut second, |_| Ok(()));
        let error = SqliteError::at(&path, &refused.expect_err("locked"));
        assert!(error.is_retryable(), "{error}");
        assert_eq!(error.without_path(), "another process is writing to it");
        drop(held);
        assert!(immediate::<_, rusqlite::Error>(&mut second, |_| Ok(())).is_ok());
    }
}
