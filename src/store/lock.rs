//! One process at a time, and who it is.
//!
//! The lock is the system's own, on an open file: it goes when its process does, however that ends. The
//! file's text only says who holds it, for people.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::domain::escape::{escape, escape_os};
use crate::store::atomic;

/// Longest owner text read, in bytes.
const MAX_OWNER_BYTES: u64 = 4096;

/// Who holds a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Process.
    pub pid: u32,
    /// Machine.
    pub host: String,
    /// Since when. UTC, RFC 3339.
    pub started: String,
}

impl Owner {
    /// This process, from `started` on.
    pub fn this_process(started: String) -> Self {
        Self { pid: std::process::id(), host: host_name(), started }
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "process {} on {} since {}",
            self.pid,
            escape(&self.host),
            escape(&self.started)
        )
    }
}

/// A held lock; released when dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Why a lock was not got.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody has it.
    #[error("{} is held by {}", escape_os(.path.as_os_str()), .owner.as_ref().map_or_else(|| "another process".to_owned(), ToString::to_string))]
    Held {
        /// The lock file.
        path: PathBuf,
        /// Who, when that could be read.
        owner: Option<Owner>,
    },
    /// It cannot be made.
    #[error("cannot lock {}: {source}", escape_os(.path.as_os_str()))]
    Failed {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl Lock {
    /// Takes the lock at `path` for `owner`, or says who has it. Does not wait.
    ///
    /// # Errors
    /// Held by another process, or the file cannot be made.
    pub fn acquire(path: &Path, owner: &Owner) -> Result<Self, LockError> {
        let failed = |source| LockError::Failed { path: path.to_owned(), source };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            atomic::make_folder(folder).map_err(failed)?;
        }
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::Held {
                    path: path.to_owned(),
                    owner: read_owner(&mut file),
                });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let text = serde_json::to_string(owner).map_err(|error| failed(error.into()))?;
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(text.as_bytes()))
            .map_err(failed)?;
        Ok(Self { _file: file })
    }
}

fn read_owner(file: &mut File) -> Option<Owner> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(MAX_OWNER_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(unix)]
fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn host_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_else(|_| "this machine".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_the_first_is() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("deep/ada.lock");
        let owner = Owner {
            pid: 12,
            host: "desk\u{1b}[2J".to_owned(),
            started: "2026-02-03T04:05:06+00:00".to_owned(),
        };
        let first = Lock::acquire(&path, &owner).expect("free");
        let error = Lock::acquire(&path, &Owner::this_process(String::new())).expect_err("held");
        assert!(
            error
                .to_string()
                .ends_with("is held by process 12 on desk\\x1b[2J since 2026-02-03T04:05:06+00:00"),
            "{error}"
        );
        drop(first);
        let next = Owner::this_process("later".to_owned());
        assert_eq!(next.pid, std::process::id());
        let _second = Lock::acquire(&path, &next).expect("free again");
        let text = std::fs::read_to_string(&path).expect("readable");
        assert_eq!(serde_json::from_str::<Owner>(&text).expect("an owner"), next);
    }

    #[test]
    fn a_place_that_cannot_hold_a_lock_is_named() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let error = Lock::acquire(folder.path(), &Owner::this_process(String::new()))
            .expect_err("a folder");
        assert!(error.to_string().starts_with("cannot lock "));
    }
}
