//! Runs the real program apart from the user's own files. Only the runtime library is shared: it is
//! installed once, where the user's is.

#![allow(clippy::expect_used, reason = "a test stops at the first thing that is not as it must be")]
#![allow(dead_code, reason = "each test file uses a part of this")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

#[path = "../support/shared_dir.rs"]
pub(crate) mod shared;

/// The runtime library, installed if it is missing.
pub(crate) fn runtime_library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let named = std::env::var_os("ORT_DYLIB_PATH").map(PathBuf::from);
        flipside::sighted::entry::runtime::ensure_runtime(named.as_deref(), &|_| {})
            .expect("ONNX Runtime is there or can be installed")
    })
}

/// The program with a home, a clock and a folder of its own.
pub(crate) fn flipside(home: &Path, folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flipside"));
    command.args(words).current_dir(folder).env_clear();
    for name in ["PATH", "LD_LIBRARY_PATH", "SYSTEMROOT"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
        .env("HOME", home)
        .env("XDG_DATA_HOME", home.join("data"))
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env("XDG_CACHE_HOME", home.join("cache"))
        .env("FLIPSIDE_NOW", "2026-05-06T07:08:09Z")
        .env("ORT_DYLIB_PATH", runtime_library());
    command
}

/// Runs it to its end: exit code, stdout, stderr.
#[must_use]
pub(crate) fn run(home: &Path, folder: &Path, words: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } =
        flipside(home, folder, words).output().expect("started");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (status.code().unwrap_or(-1), text(stdout), text(stderr))
}
