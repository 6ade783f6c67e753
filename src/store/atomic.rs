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

/// Renames a file; what has the new name goes.
///
/// # Errors
/// It cannot be renamed, or that cannot be made to stay.
#[expect(clippy::disallowed_methods, reason = "this is where the syncs are")]
pub(in crate::store) fn move_to(from: &Path, to: &Path) -> Result<(), WriteError> {
    let attempt = || {
        failpoint::pass("file: before it is moved");
        fs::rename(from, to)?;
        failpoint::pass("file: moved");
        sync_folder(folder_of(to))?;
        failpoint::pass("file: move synced");
        Ok(())
    };
    attempt().map_err(|source| WriteError { path: to.to_owned(), source })
}

/// Makes a folder, and those it lies in, so that they stay. One that is there is no error.
///
/// # Errors
/// Any failure but that.
pub fn make_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = folder_of(path);
    make_folder(parent)?;
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        made => made?,
    }
    sync_folder(parent)
}

/// The folder a file lies in.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn with_temporary(
    path: &Path,
    bytes: &[u8],
    persist: impl FnOnce(tempfile::NamedTempFile) -> io::Result<()>,
) -> Result<(), WriteError> {
    let attempt = || {
        let folder = folder_of(path);
        make_folder(folder)?;
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
    fn folders_are_made_once_and_a_file_in_the_way_is_named() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let deep = folder.path().join("deep/er");
        make_folder(&deep).expect("made");
        make_folder(&deep).expect("there");
        assert!(deep.is_dir());
        write(&deep.join("file"), b"x").expect("written");
        assert!(
            make_folder(&deep.join("file")).is_err() && make_folder(&deep.join("file/x")).is_err()
        );
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
