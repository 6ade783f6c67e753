//! A new database in the place of a damaged one, which is kept beside it.
//!
//! A database is several files, and no system renames several at once. So the new one is first announced
//! under a name of its own, in one step. From then on it is what counts: whoever opens the database takes
//! the steps that are left, however often a process died among them.

use std::io;
use std::path::{Path, PathBuf};

use super::atomic::{WriteError, move_to};

/// Ends of the names of the files that belong to a database.
const BESIDE: [&str; 2] = ["-wal", "-shm"];

/// What stands between stem and extension of a database that waits for its name.
const ANNOUNCED: &str = ".rebuilt";

/// Announces `fresh`, which must be whole and lie on the same disk, as what is to stand at `path`.
///
/// # Errors
/// Another one is announced already, or it cannot be moved.
pub fn announce(fresh: &Path, path: &Path) -> Result<(), WriteError> {
    name_new(fresh, &renamed(path, ANNOUNCED))
}

/// Takes the steps that are left for the database at `path`: the damaged one out of the way, to
/// `<stem>.damaged-<number>.<extension>`, then the new one to its name. Nothing is overwritten. Does nothing
/// when nothing was announced. The caller holds the database's lock.
///
/// Gives where the damaged one is kept, when it was moved now.
///
/// # Errors
/// The first step that fails; the next call goes on from there.
pub fn finish(path: &Path) -> Result<Option<PathBuf>, WriteError> {
    if !is_announced(path) {
        return Ok(None);
    }
    let fresh = renamed(path, ANNOUNCED);
    let aside = set_aside(path)?;
    name_new(&fresh, path)?;
    Ok(aside)
}

/// Whether a new database waits for the name `path`.
pub fn is_announced(path: &Path) -> bool {
    renamed(path, ANNOUNCED).exists()
}

/// Is `file` a database that waits for the name of another? That other's stem.
pub fn announced_for(file: &Path) -> Option<&str> {
    file.file_stem()?.to_str()?.strip_suffix(ANNOUNCED)
}

fn set_aside(path: &Path) -> Result<Option<PathBuf>, WriteError> {
    let is_taken = |to: &Path| {
        // Files beside it that moved before the process died stay with it.
        let both = |end: &str| with_end(path, end).exists() && with_end(to, end).exists();
        to.exists() || BESIDE.iter().any(|end| both(end))
    };
    let named = |number: u32| renamed(path, &format!(".damaged-{number}"));
    let Some(to) = (1..u32::MAX).map(named).find(|to| !is_taken(to)) else {
        let source = io::Error::new(io::ErrorKind::AlreadyExists, "every name is taken");
        return Err(WriteError { path: path.to_owned(), source });
    };
    for end in BESIDE.iter().filter(|end| with_end(path, end).exists()) {
        move_to(&with_end(path, end), &with_end(&to, end))?;
    }
    if !path.exists() {
        return Ok(None);
    }
    move_to(path, &to)?;
    Ok(Some(to))
}

/// Gives a file a name that must be free.
fn name_new(from: &Path, to: &Path) -> Result<(), WriteError> {
    if to.exists() {
        return Err(WriteError {
            path: to.to_owned(),
            source: io::ErrorKind::AlreadyExists.into(),
        });
    }
    move_to(from, to)
}

/// `path` with `word` between stem and extension.
fn renamed(path: &Path, word: &str) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(word);
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::super::atomic;
    use super::*;
    use std::collections::BTreeMap;

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn with(files: &[(&str, &str)]) -> Self {
            let folder = Self(tempfile::tempdir().expect("temporary folder"));
            for (name, text) in files {
                atomic::write(&folder.path(name), text.as_bytes()).expect("written");
            }
            folder
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn files(&self) -> BTreeMap<String, String> {
            let listing = std::fs::read_dir(self.0.path()).expect("listing");
            let read = |entry: io::Result<std::fs::DirEntry>| {
                let entry = entry.expect("listed");
                let text = std::fs::read_to_string(entry.path()).expect("readable");
                (entry.file_name().into_string().expect("text"), text)
            };
            listing.map(read).collect()
        }
    }

    fn named(files: &[(&str, &str)]) -> BTreeMap<String, String> {
        files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    const OLD: [(&str, &str); 3] = [("ada.db", "old"), ("ada.db-wal", "log"), ("new", "new")];
    const DONE: [(&str, &str); 3] =
        [("ada.db", "new"), ("ada.damaged-1.db", "old"), ("ada.damaged-1.db-wal", "log")];

    #[test]
    fn the_old_one_is_kept_and_the_new_one_takes_its_name() {
        let folder = Folder::with(&OLD);
        let path = folder.path("ada.db");
        assert_eq!(finish(&path).expect("nothing to do"), None);
        assert_eq!(folder.files(), named(&OLD));
        announce(&folder.path("new"), &path).expect("announced");
        assert_eq!(finish(&path).expect("done"), Some(folder.path("ada.damaged-1.db")));
        assert_eq!(folder.files(), named(&DONE));
        // The next one keeps the first.
        atomic::write(&folder.path("newer"), b"newer").expect("written");
        announce(&folder.path("newer"), &path).expect("announced");
        assert_eq!(finish(&path).expect("done"), Some(folder.path("ada.damaged-2.db")));
        assert_eq!(folder.files()["ada.damaged-1.db"], "old");
        assert_eq!(folder.files()["ada.damaged-2.db"], "new");
        assert_eq!(folder.files()["ada.db"], "newer");
    }

    #[test]
    fn whatever_step_it_was_interrupted_after_it_ends_the_same() {
        let states: [&[(&str, &str)]; 3] = [
            &[("ada.db", "old"), ("ada.db-wal", "log"), ("ada.rebuilt.db", "new")],
            &[("ada.db", "old"), ("ada.damaged-1.db-wal", "log"), ("ada.rebuilt.db", "new")],
            &[
                ("ada.damaged-1.db", "old"),
                ("ada.damaged-1.db-wal", "log"),
                ("ada.rebuilt.db", "new"),
            ],
        ];
        for state in states {
            let folder = Folder::with(state);
            finish(&folder.path("ada.db")).expect("done");
            assert_eq!(folder.files(), named(&DONE), "{state:?}");
        }
    }

    #[test]
    fn one_is_announced_at_a_time_and_known_by_its_name() {
        let folder = Folder::with(&OLD);
        let path = folder.path("ada.db");
        announce(&folder.path("new"), &path).expect("announced");
        atomic::write(&folder.path("second"), b"x").expect("written");
        let error = announce(&folder.path("second"), &path).expect_err("one is waiting");
        assert_eq!(error.source.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(announced_for(&folder.path("ada.rebuilt.db")), Some("ada"));
        assert_eq!(announced_for(&path), None);
    }
}
