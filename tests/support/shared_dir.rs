//! Where data lies that tests use and the repository does not hold: real pictures, models and records.

use std::path::{Path, PathBuf};

/// The folder beside the repository, or the one named by `FLIPSIDE_SHARED`. Without it a test has nothing to
/// do; a build server must have it.
pub(crate) fn shared_dir() -> Option<PathBuf> {
    let folder = std::env::var_os("FLIPSIDE_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let found = folder.is_dir();
    assert!(
        found || std::env::var("CI").as_deref() != Ok("true"),
        "{} is missing",
        folder.display()
    );
    found.then_some(folder)
}
