//! Reading a whole file that somebody else may be changing: one open, one read, and a look at the open
//! file before and after.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system said no.
    #[error("{0}")]
    System(#[from] io::Error),
    /// A folder, a pipe or a device.
    #[error("expected a regular file, found {found}")]
    NotRegular {
        /// What it is.
        found: &'static str,
    },
    /// Over the limit.
    #[error("expected at most {limit} bytes, found {found}")]
    TooLarge {
        /// Its size.
        found: u64,
        /// The most that is read.
        limit: u64,
    },
    /// Size or time of change moved while it was read.
    #[error("changed while it was read; nothing was taken from it")]
    Changed,
    /// Not UTF-8.
    #[error("expected UTF-8 text")]
    NotText,
}

impl ReadError {
    /// Nothing is there.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::System(error) if error.kind() == io::ErrorKind::NotFound)
    }
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> Self {
        let kind = match &error {
            ReadError::System(_) | ReadError::Changed => io::ErrorKind::Other,
            ReadError::NotRegular { .. } => io::ErrorKind::InvalidInput,
            ReadError::TooLarge { .. } => io::ErrorKind::FileTooLarge,
            ReadError::NotText => io::ErrorKind::InvalidData,
        };
        match error {
            ReadError::System(error) => error,
            other => Self::new(kind, other),
        }
    }
}

/// All bytes of the regular file at `path`.
///
/// # Errors
/// See [`ReadError`].
///
/// A symbolic link is followed: what counts is named by the bytes read, not by the path. Opening does
/// not wait for a pipe's other end.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // Bits of flags are small: the cast cannot lose any.
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let mut file = options.open(path)?;
    let before = file.metadata()?;
    if !before.is_file() {
        return Err(ReadError::NotRegular { found: kind(&before) });
    }
    if before.len() > limit {
        return Err(ReadError::TooLarge { found: before.len(), limit });
    }
    let bytes = read_exactly(&mut file, before.len())?;
    let after = file.metadata()?;
    if bytes.len() as u64 != after.len() || before.modified().ok() != after.modified().ok() {
        return Err(ReadError::Changed);
    }
    Ok(bytes)
}

/// All bytes of what `path` names, which may be a pipe: for what a person hands over once.
///
/// # Errors
/// As for [`read`], but never [`ReadError::NotRegular`] for a pipe or device.
pub fn read_once(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    let found = File::open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    match found as u64 {
        found if found > limit => Err(ReadError::TooLarge { found, limit }),
        _ => Ok(bytes),
    }
}

/// The text of the regular file at `path`, as [`read`].
///
/// # Errors
/// As for [`read`], or it is not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> Result<String, ReadError> {
    String::from_utf8(read(path, limit)?).map_err(|_| ReadError::NotText)
}

/// At most one byte more than expected, so that a growing file is noticed and not followed.
fn read_exactly(file: &mut File, expected: u64) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    let capacity = usize::try_from(expected).unwrap_or(usize::MAX);
    bytes.try_reserve_exact(capacity).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    file.take(expected.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == expected { Ok(bytes) } else { Err(ReadError::Changed) }
}

fn kind(metadata: &Metadata) -> &'static str {
    if metadata.is_dir() { "a folder" } else { "a pipe, socket or device" }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn written(folder: &Path, bytes: &[u8]) -> std::path::PathBuf {
        let path = folder.join("file");
        crate::store::atomic::write(&path, bytes).expect("written");
        path
    }

    #[test]
    fn a_regular_file_is_read_whole_and_up_to_its_limit() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = written(folder.path(), b"12345");
        assert_eq!(read(&path, 5).expect("fits"), b"12345");
        let error = read(&path, 4).expect_err("too large").to_string();
        assert_eq!(error, "expected at most 4 bytes, found 5");
        assert!(matches!(read(&folder.path().join("none"), 9), Err(ReadError::System(_))));
    }

    #[test]
    fn a_folder_is_not_a_file() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let error = read(folder.path(), 9).expect_err("a folder").to_string();
        assert!(error.contains("expected a regular file, found a folder"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_without_a_writer_is_refused_at_once() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
        assert!(made.success());
        assert!(matches!(read(&path, 9), Err(ReadError::NotRegular { .. })));
        // Somebody writes to it: what is handed over once may come through a pipe.
        let writing = std::thread::spawn({
            let path = path.clone();
            move || std::fs::OpenOptions::new().write(true).open(path)?.write_all(b"12345")
        });
        assert_eq!(read_once(&path, 5).expect("through the pipe"), b"12345");
        writing.join().expect("no panic").expect("written");
    }

    #[test]
    fn what_is_read_once_has_a_limit_too() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = written(folder.path(), b"12345");
        assert_eq!(read_once(&path, 5).expect("fits"), b"12345");
        assert!(matches!(read_once(&path, 4), Err(ReadError::TooLarge { found: 5, limit: 4 })));
    }

    #[test]
    fn text_is_utf_8_and_a_missing_file_is_known_as_such() {
        let folder = tempfile::tempdir().expect("temporary folder");
        assert_eq!(
            read_text(&written(folder.path(), "\u{e9}".as_bytes()), 9).expect("text"),
            "\u{e9}"
        );
        let bad = read_text(&written(folder.path(), b"\xe9"), 9).expect_err("no text");
        assert_eq!(bad.to_string(), "expected UTF-8 text");
        assert!(!bad.is_missing());
        assert!(read(&folder.path().join("none"), 9).expect_err("missing").is_missing());
        assert_eq!(io::Error::from(bad).kind(), io::ErrorKind::InvalidData);
    }

    #[cfg(unix)]
    #[test]
    fn a_symbolic_link_is_followed() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = written(folder.path(), b"x");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).expect("linked");
        assert_eq!(read(&link, 9).expect("read"), b"x");
    }

    #[test]
    fn a_file_that_grows_or_shrinks_is_noticed() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = written(folder.path(), b"12345");
        for expected in [4, 6] {
            let mut file = File::open(&path).expect("open");
            assert!(matches!(read_exactly(&mut file, expected), Err(ReadError::Changed)));
        }
        let mut file = File::open(&path).expect("open");
        assert_eq!(read_exactly(&mut file, 5).expect("whole"), b"12345");
    }
}
