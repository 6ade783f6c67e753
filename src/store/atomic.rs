//! Writing files so that a reader sees the old bytes or the new ones, never a part.
//!
//! Temporary file in the same folder, sync, rename, sync of the folder. Everything in the product that
//! writes a file goes through here.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::store::failpoint;

/// A failed write, with the path.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}", crate::domain::escape::escape_os(path.as_os_str()))]
pub struct WriteError {
    /// The file that was to be written.
    pub path: PathBuf,
    /// What the system said.
    #[source]
    pub source: io::Error,
}

/// Replaces `path` by `bytes`, or creates it. Missing folders are made.
///
/// # Errors
/// Any failure leaves the old file, if there was one, as it was.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    with_temporary(path, bytes, |temporary| {
        temporary.persist(path).map(drop).map_err(|error| error.error)
    })
}

/// Creates `path` with `bytes`; an existing file is never touched.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] when something is there, or any other failure.
pub fn create_new(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    with_temporary(path, bytes, |temporary| {
        temporary.persist_noclobber(path).map(drop).map_err(|error| error.error)
    })
}

/// Moves a file out of the way, together with those of the same name and one of `ends` after it: to
/// `<stem>.damaged-<number>.<extension>`. Nothing is overwritten; the file's new path comes back.
///
/// # Errors
/// The first that cannot be moved.
pub fn set_aside(path: &Path, ends: &[&str]) -> Result<PathBuf, WriteError> {
    let failed = |source| WriteError { path: path.to_owned(), source };
    let with_end = |path: &Path, end: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    };
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
    let named = |number: u32| path.with_file_name(format!("{stem}.damaged-{number}.{extension}"));
    let is_free = |to: &PathBuf| !to.exists() && ends.iter().all(|end| !with_end(to, end).exists());
    let to = (1..u32::MAX).map(named).find(is_free).ok_or_else(|| {
        failed(io::Error::new(io::ErrorKind::AlreadyExists, "every name is taken"))
    })?;
    for end in ends.iter().filter(|end| with_end(path, end).exists()) {
        move_to(&with_end(path, end), &with_end(&to, end)).map_err(failed)?;
    }
    move_to(path, &to).map_err(failed)?;
    Ok(to)
}

/// Gives a finished file its name; a file that has the name is never touched.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] when something is there, or any other failure.
pub fn put_in_place(from: &Path, to: &Path) -> Result<(), WriteError> {
    let failed = |source| WriteError { path: to.to_owned(), source };
    if to.exists() {
        return Err(failed(io::ErrorKind::AlreadyExists.into()));
    }
    move_to(from, to).map_err(failed)
}

#[expect(clippy::disallowed_methods, reason = "this is where the syncs are")]
fn move_to(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    failpoint::pass("file: moved");
    match to.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => sync_folder(folder),
        _ => sync_folder(Path::new(".")),
    }
}

fn with_temporary(
    path: &Path,
    bytes: &[u8],
    persist: impl FnOnce(tempfile::NamedTempFile) -> io::Result<()>,
) -> Result<(), WriteError> {
    let attempt = || {
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        fs::create_dir_all(folder)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".flipside-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(fs::Permissions::from_mode(0o644));
        }
        failpoint::pass("file: before it is made");
        let mut temporary = builder.tempfile_in(folder)?;
        failpoint::pass("file: made");
        temporary.write_all(bytes)?;
        failpoint::pass("file: written");
        temporary.as_file().sync_all()?;
        failpoint::pass("file: synced");
        persist(temporary)?;
        failpoint::pass("file: named");
        sync_folder(folder)?;
        failpoint::pass("file: folder synced");
        Ok(())
    };
    attempt().map_err(|source| WriteError { path: path.to_owned(), source })
}

/// Makes a rename in `folder` durable. Windows has no such call and needs none.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_replaces_and_create_new_does_not() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("deep/er/file.json");
        write(&path, b"one").expect("new file");
        write(&path, b"two").expect("replaced");
        assert_eq!(fs::read(&path).expect("readable"), b"two");
        let error = create_new(&path, b"three").expect_err("exists");
        assert_eq!(error.source.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).expect("readable"), b"two");
        create_new(&folder.path().join("other"), b"x").expect("new file");
        let left: Vec<_> =
            fs::read_dir(path.parent().expect("has one")).expect("listing").collect();
        assert_eq!(left.len(), 1, "no temporary file stays behind");
    }

    #[test]
    fn a_failed_write_names_the_file_and_leaves_nothing() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let blocked = folder.path().join("is-a-folder");
        fs::create_dir(&blocked).expect("folder");
        let error = write(&blocked, b"x").expect_err("a folder is in the way");
        assert!(error.to_string().contains("is-a-folder"));
        assert_eq!(fs::read_dir(folder.path()).expect("listing").count(), 1);
    }
}
