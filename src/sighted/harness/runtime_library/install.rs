//! Fetches the pinned library with the Python that is there, checks it, and puts it in place.
//!
//! Processes that start at once wait for one install. The library is written last, so a folder that has
//! it has everything.
//!
//! There is no second source. The only other one that holds the library is the package of another
//! language, one archive of 113 MB for all platforms at once, four times as much, and of an older release
//! than the pinned one: reports would name two runtimes for the same command. Who has it already names
//! its library with `--ort-lib`.

use std::fs::{self, File};
use std::io::{self, Cursor, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Library, ManagedFolder, PINNED_VERSION, Pin, RuntimeError, locate_managed};
use crate::domain::digest::{hex, sha256};
use crate::domain::escape::escape;
use crate::store::atomic;

/// What Python may be called.
const PYTHONS: &[&str] = &["python3", "python", "py"];

/// Texts that come with the library and stay with it.
const NOTICES: &[(&str, &str)] = &[
    ("onnxruntime/LICENSE", "LICENSE"),
    ("onnxruntime/ThirdPartyNotices.txt", "ThirdPartyNotices.txt"),
];

/// Largest text taken from the download, in bytes.
const MAX_NOTICE_BYTES: u64 = 4 << 20;

/// Installs the library of `pin`, unless another process has done so meanwhile.
///
/// # Errors
/// No Python with pip, no network, other bytes than the pinned ones, or a folder that cannot be written.
pub(in crate::sighted) fn install(
    pin: &Pin,
    managed: &ManagedFolder,
    say: &dyn Fn(&str),
) -> Result<Library, RuntimeError> {
    let failed = |reason: String| RuntimeError::Install { reason, manual: manual(pin, managed) };
    let at = |what: &str| {
        let what = what.to_owned();
        move |error: io::Error| format!("{what}: {error}")
    };
    fs::create_dir_all(&managed.folder).map_err(at("cannot make its folder")).map_err(failed)?;
    let lock = File::create(managed.folder.join("install.lock"))
        .map_err(at("cannot make its lock"))
        .map_err(failed)?;
    if lock.try_lock().is_err() {
        say("another process is installing ONNX Runtime; waiting for it");
        lock.lock().map_err(at("cannot take its lock")).map_err(failed)?;
    }
    if let Ok(library) = locate_managed(pin, managed) {
        return Ok(library);
    }
    let work = tempfile::Builder::new()
        .prefix(".download-")
        .tempdir_in(&managed.folder)
        .map_err(at("cannot make a folder to download to"))
        .map_err(failed)?;
    download(pin, work.path()).map_err(failed)?;
    unpack(pin, work.path(), &managed.folder).map_err(failed)?;
    locate_managed(pin, managed)
}

/// Lets pip put the wheel into `folder`.
fn download(pin: &Pin, folder: &Path) -> Result<(), String> {
    let requirements = folder.join("requirements.txt");
    atomic::write(&requirements, pin.requirement().as_bytes()).map_err(|e| e.to_string())?;
    let mut attempts = Vec::new();
    for python in PYTHONS {
        let output = Command::new(python)
            .args(pin.pip_arguments(&requirements, folder))
            .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
            .stdin(Stdio::null())
            .output();
        match output {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                attempts.push(format!("no {python}"));
            }
            Err(error) => attempts.push(format!("{python}: {error}")),
            Ok(output) if output.status.success() => return Ok(()),
            Ok(output) => attempts.push(format!("{python}: {}", last_line(&output.stderr))),
        }
    }
    Err(attempts.join("; "))
}

/// The last line a program said, fit to show.
fn last_line(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("failed");
    escape(&line.trim().chars().take(400).collect::<String>()).into_owned()
}

/// Checks the wheel in `from` and writes what is wanted of it into `to`, the library last.
fn unpack(pin: &Pin, from: &Path, to: &Path) -> Result<(), String> {
    let wheel = fs::read_dir(from)
        .and_then(|entries| entries.collect::<io::Result<Vec<_>>>())
        .map_err(|error| error.to_string())?
        .into_iter()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .ok_or("pip left no wheel")?;
    let bytes = read_exactly(&wheel, pin.wheel_bytes)?;
    expect_hash("the download", &bytes, pin.wheel_sha256)?;
    let mut archive =
        zip::ZipArchive::new(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    for (member, name) in NOTICES {
        let text = read_member(&mut archive, member, MAX_NOTICE_BYTES)?;
        atomic::write(&to.join(name), &text).map_err(|error| error.to_string())?;
    }
    let library = read_member(&mut archive, pin.member, pin.library_bytes)?;
    expect_hash("the library", &library, pin.library_sha256)?;
    atomic::write(&to.join(pin.library_name()), &library).map_err(|error| error.to_string())
}

fn read_exactly(path: &Path, expected: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(expected + 1).read_to_end(&mut bytes))
        .map_err(|error| error.to_string())?;
    if bytes.len() as u64 == expected {
        Ok(bytes)
    } else {
        Err(format!("the download: expected {expected} bytes, found {} or more", bytes.len()))
    }
}

fn read_member(
    archive: &mut zip::ZipArchive<Cursor<Vec<u8>>>,
    name: &str,
    most: u64,
) -> Result<Vec<u8>, String> {
    let member = archive.by_name(name).map_err(|error| format!("{name}: {error}"))?;
    let mut bytes = Vec::new();
    member.take(most + 1).read_to_end(&mut bytes).map_err(|error| format!("{name}: {error}"))?;
    if bytes.len() as u64 > most {
        return Err(format!("{name}: more than {most} bytes"));
    }
    Ok(bytes)
}

fn expect_hash(what: &str, bytes: &[u8], expected: &str) -> Result<(), String> {
    let found = hex(&sha256(bytes));
    if found == expected {
        Ok(())
    } else {
        Err(format!("{what}: sha256 is {found}, expected {expected}"))
    }
}

/// What a person can do by hand.
fn manual(pin: &Pin, managed: &ManagedFolder) -> String {
    let folder = crate::domain::escape::escape_os(managed.folder.as_os_str());
    format!(
        "By hand, on any machine with Python: pip download --no-deps --only-binary=:all: --implementation cp --python-version 3.13 --abi cp313 --platform {} onnxruntime=={PINNED_VERSION} (sha256 {}); then unzip {} from it into {folder}, or name any libonnxruntime of 1.23 or newer, such as that of the npm package onnxruntime-node, with --ort-lib FILE",
        pin.platform, pin.wheel_sha256, pin.member
    )
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// A wheel in a folder of its own, and the pin that fits it.
    fn wheel(folder: &Path, member: &str, library: &[u8]) -> Pin {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default();
        for (name, text) in [
            ("onnxruntime/LICENSE", &b"licence"[..]),
            ("onnxruntime/ThirdPartyNotices.txt", b"notices"),
            (member, library),
        ] {
            writer.start_file(name, options).expect("a member");
            writer.write_all(text).expect("written");
        }
        let bytes = writer.finish().expect("finished").into_inner();
        let leak = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
        let pin = Pin {
            wheel_bytes: bytes.len() as u64,
            wheel_sha256: leak(hex(&sha256(&bytes))),
            library_bytes: library.len() as u64,
            library_sha256: leak(hex(&sha256(library))),
            ..super::super::PINS[0]
        };
        atomic::write(&folder.join("some.whl"), &bytes).expect("written");
        pin
    }

    #[test]
    fn a_wheel_that_is_the_pinned_one_is_unpacked() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let managed = ManagedFolder { folder: folder.path().join("to") };
        let pin = wheel(folder.path(), super::super::PINS[0].member, b"library");
        unpack(&pin, folder.path(), &managed.folder).expect("unpacked");
        let library = locate_managed(&pin, &managed).expect("there");
        assert_eq!(fs::read(&library.path).expect("readable"), b"library");
        assert_eq!(fs::read(managed.folder.join("LICENSE")).expect("readable"), b"licence");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(&library.path).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o644);
        }
        // A second install finds it done and asks nobody.
        let nobody = |text: &str| panic!("{text}");
        assert_eq!(install(&pin, &managed, &nobody).expect("there"), library);
    }

    #[test]
    fn other_bytes_are_refused_and_leave_no_library() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let to = folder.path().join("to");
        let member = super::super::PINS[0].member;
        let pin = wheel(folder.path(), member, b"library");
        let zeros = "0000000000000000000000000000000000000000000000000000000000000000";
        for (wrong, expected) in [
            (Pin { wheel_sha256: zeros, ..pin }, "the download: sha256"),
            (Pin { wheel_bytes: 10, ..pin }, "expected 10 bytes"),
            (Pin { library_sha256: zeros, ..pin }, "the library: sha256"),
            (Pin { library_bytes: 2, ..pin }, "more than 2 bytes"),
            (Pin { member: "onnxruntime/capi/other.so", ..pin }, "other.so"),
        ] {
            let error = unpack(&wrong, folder.path(), &to).expect_err("refused");
            assert!(error.contains(expected), "{error}");
            assert!(!to.join(pin.library_name()).exists());
        }
    }

    #[test]
    fn what_failed_comes_with_what_to_do() {
        let pin = &super::super::PINS[0];
        let managed = ManagedFolder { folder: "/data/x".into() };
        let text =
            RuntimeError::Install { reason: "no python3".into(), manual: manual(pin, &managed) }
                .to_string();
        for part in ["no python3", "pip download", pin.platform, pin.wheel_sha256, "--ort-lib"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(last_line(b"one\nERROR: \x1b[31mtwo\n\n"), "ERROR: \\x1b[31mtwo");
    }
}
