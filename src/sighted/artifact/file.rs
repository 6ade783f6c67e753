//! Reading a whole file that somebody else may be changing: one open, one read, and a look at the open
//! file before and after.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub(in crate::sighted) enum ReadError {
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
    #[error("{found} bytes, at most {limit} expected")]
    TooLarge {
        /// Its size.
        found: u64,
        /// The most that is read.
        limit: u64,
    },
    /// Size or time of change moved while it was read.
    #[error("changed while it was read; nothing was taken from it")]
    Changed,
}

/// All bytes of the regular file at `path`.
///
/// A symbolic link is followed: what counts is named by the bytes read, not by the path. Opening does
/// not wait for a pipe's other end.
pub(in crate::sighted) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
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
        assert_eq!(error, "5 bytes, at most 4 expected");
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
