//! The ONNX Runtime library: where it is looked for, how it is installed, and how it is loaded once.
//!
//! A build never needs the network or the library. What is installed is one pinned release, checked by
//! the sha256 of the download and of the library inside; a library the user names is taken as it is.

mod install;
mod load;

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

pub(in crate::sighted) use install::install;
pub(in crate::sighted) use load::{Runtime, load};

use crate::domain::digest::{ContentHash, sha256_of_reader};
use crate::domain::escape::{escape, escape_os};

/// The pinned release.
pub(in crate::sighted) const PINNED_VERSION: &str = "1.32.0";

/// Oldest release that can run what this program hands it: 1.22 lacks calls we use, 1.23 has them.
pub(in crate::sighted) const OLDEST: (u32, u32) = (1, 23);

/// Since this release the runtime itself refuses files a graph names outside its folder. Older ones are
/// loaded with a warning; every graph passes our own scan first.
pub(in crate::sighted) const CONTAINED_SINCE: (u32, u32) = (1, 26);

/// One published build of the pinned release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) struct Pin {
    os: &'static str,
    arch: &'static str,
    /// What pip calls the platform.
    pub platform: &'static str,
    /// Size of the download.
    pub wheel_bytes: u64,
    /// Sha256 of the download.
    pub wheel_sha256: &'static str,
    /// The library inside the download.
    member: &'static str,
    /// Its size.
    pub library_bytes: u64,
    /// Its sha256.
    pub library_sha256: &'static str,
}

const PINS: &[Pin] = &[
    Pin {
        os: "linux",
        arch: "x86_64",
        platform: "manylinux_2_28_x86_64",
        wheel_bytes: 27_780_404,
        wheel_sha256: "02ea12a28c069ea8510093d95a7f6ff8126bfd9fc5c0d3381c03b80fb2b424ba",
        member: "onnxruntime/capi/libonnxruntime.so.1.32.0",
        library_bytes: 34_824_680,
        library_sha256: "6c1585d1bbf45b0712ea4a21b705c5fcb4ba04ff2e30f1fbf81a49faf658638f",
    },
    Pin {
        os: "linux",
        arch: "aarch64",
        platform: "manylinux_2_28_aarch64",
        wheel_bytes: 23_195_811,
        wheel_sha256: "54d02baff2df38777b4c3cc7af326406fe8b8a48f54720f4c446d2d327920a79",
        member: "onnxruntime/capi/libonnxruntime.so.1.32.0",
        library_bytes: 27_165_936,
        library_sha256: "49852228a93995158b2a813d4df487d47a1b76b0eaa894507ef49e91b6d7954a",
    },
    Pin {
        os: "macos",
        arch: "aarch64",
        platform: "macosx_14_0_arm64",
        wheel_bytes: 22_518_865,
        wheel_sha256: "27bf5dad46355a8a435c9c4e1556464d99ca834ea44e0f452909712068b8821b",
        member: "onnxruntime/capi/libonnxruntime.1.32.0.dylib",
        library_bytes: 35_272_344,
        library_sha256: "fa585fabbea65b823b9a8f7e27d46aee3989d1be7e36b528203d3a1fd613aae7",
    },
    Pin {
        os: "windows",
        arch: "x86_64",
        platform: "win_amd64",
        wheel_bytes: 16_697_937,
        wheel_sha256: "c7f9aa98036ba2a47aa041a4a8c6d0a1f7bfe1bde44c131dcd15ce334f2f148d",
        member: "onnxruntime/capi/onnxruntime.dll",
        library_bytes: 22_668_600,
        library_sha256: "bf0927ca8efb68ad67f6cad3851641dc78e21a687a3fd959ae262d3252e9fa0a",
    },
    Pin {
        os: "windows",
        arch: "aarch64",
        platform: "win_arm64",
        wheel_bytes: 16_030_922,
        wheel_sha256: "29e4b0fdd3bea834ace358bd8c48641266ec327f730363ab0ab5d0ca574d38fe",
        member: "onnxruntime/capi/onnxruntime.dll",
        library_bytes: 20_798_776,
        library_sha256: "c8121a5c99f7b07f3f9b4fd0ce0843d27a3446763644b1e9860b797bb2ded94f",
    },
];

impl Pin {
    /// The build for this machine; none is published for some, and none works with musl.
    pub(in crate::sighted) fn for_this_machine() -> Option<&'static Self> {
        if cfg!(target_env = "musl") {
            return None;
        }
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        PINS.iter().find(|pin| pin.os == os && pin.arch == arch)
    }

    /// File name of the library.
    fn library_name(&self) -> &'static str {
        self.member.rsplit('/').next().unwrap_or(self.member)
    }

    /// The line that names the download to pip, with its hash.
    fn requirement(&self) -> String {
        format!("onnxruntime=={PINNED_VERSION} --hash=sha256:{}\n", self.wheel_sha256)
    }

    /// What pip is asked for, given the file that holds [`Self::requirement`] and a folder.
    fn pip_arguments(&self, requirements: &Path, folder: &Path) -> Vec<OsString> {
        let fixed = [
            "-m",
            "pip",
            "download",
            "--no-deps",
            "--only-binary=:all:",
            "--require-hashes",
            "--implementation",
            "cp",
            "--python-version",
            "3.13",
            "--abi",
            "cp313",
            "--platform",
            self.platform,
        ];
        let mut arguments: Vec<OsString> = fixed.into_iter().map(OsString::from).collect();
        arguments.extend(["-r".into(), requirements.into(), "-d".into(), folder.into()]);
        arguments
    }
}

/// Where the installed library lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct ManagedFolder {
    /// `<data folder>/ort/<version>/<os>-<arch>`
    pub folder: PathBuf,
}

impl ManagedFolder {
    /// The folder of this user: below `XDG_DATA_HOME` on every system when that is set, else where the
    /// system keeps an application's data. None when there is no home.
    pub(in crate::sighted) fn of_this_user() -> Option<Self> {
        let data = std::env::var_os("XDG_DATA_HOME")
            .map(PathBuf::from)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join("flipside"))
            .or_else(|| {
                directories::ProjectDirs::from("", "", "flipside")
                    .map(|folders| folders.data_dir().to_owned())
            })?;
        Some(Self::below(&data))
    }

    /// The folder below an application's data folder.
    pub(in crate::sighted) fn below(data: &Path) -> Self {
        let machine = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
        Self { folder: data.join("ort").join(PINNED_VERSION).join(machine) }
    }
}

/// A library file that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct Library {
    /// The file.
    pub path: PathBuf,
    /// Of its bytes.
    pub sha256: ContentHash,
    /// Installed by this program; otherwise named by the user.
    pub managed: bool,
}

/// Why there is no runtime.
#[derive(Debug, thiserror::Error)]
pub(in crate::sighted) enum RuntimeError {
    /// The named file cannot be read.
    #[error("no ONNX Runtime: cannot read {} (--ort-lib or ORT_DYLIB_PATH): {source}", escape_os(.path.as_os_str()))]
    Named {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// Not installed.
    #[error("no ONNX Runtime: none was named (--ort-lib FILE, ORT_DYLIB_PATH) and none is in {}; `flipside runtime install` fetches release {PINNED_VERSION}", escape_os(.folder.as_os_str()))]
    Missing {
        /// Where it was looked for.
        folder: PathBuf,
    },
    /// Neither named, nor can it be installed here.
    #[error(
        "no ONNX Runtime: none was named, and no build of {PINNED_VERSION} is known for {machine}; name a library with --ort-lib FILE or ORT_DYLIB_PATH"
    )]
    NoBuild {
        /// Operating system and processor.
        machine: String,
    },
    /// There is no place to install to.
    #[error(
        "no ONNX Runtime: none was named, and this user has no data folder; set XDG_DATA_HOME or name a library with --ort-lib FILE"
    )]
    NoFolder,
    /// The installed file is not the one that was installed.
    #[error("{}: sha256 is {found}, expected {expected}; `flipside runtime install --yes` replaces it", escape_os(.path.as_os_str()))]
    Altered {
        /// The file.
        path: PathBuf,
        /// The pinned hash.
        expected: String,
        /// Of the file.
        found: ContentHash,
    },
    /// It could not be fetched or unpacked.
    #[error("cannot install ONNX Runtime {PINNED_VERSION}: {reason}\n{manual}")]
    Install {
        /// What failed.
        reason: String,
        /// What a person can do instead.
        manual: String,
    },
    /// The system cannot load it.
    #[error("cannot load {} as ONNX Runtime: {}", escape_os(.path.as_os_str()), escape(.reason))]
    Unloadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// Too old.
    #[error("{}: ONNX Runtime {}, expected {}.{} or newer", escape_os(.path.as_os_str()), escape(.found), OLDEST.0, OLDEST.1)]
    TooOld {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: String,
    },
}

/// The library to load: the one that was named, else the installed one, its hash checked.
///
/// # Errors
/// None is there, or the installed one was altered.
pub(in crate::sighted) fn locate(
    named: Option<&Path>,
    managed: Option<&ManagedFolder>,
) -> Result<Library, RuntimeError> {
    if let Some(path) = named {
        return match hash_file(path) {
            Ok(sha256) => Ok(Library { path: path.to_owned(), sha256, managed: false }),
            Err(source) => Err(RuntimeError::Named { path: path.to_owned(), source }),
        };
    }
    let pin = Pin::for_this_machine().ok_or_else(no_build)?;
    let managed = managed.ok_or(RuntimeError::NoFolder)?;
    locate_managed(pin, managed)
}

fn locate_managed(pin: &Pin, managed: &ManagedFolder) -> Result<Library, RuntimeError> {
    let path = managed.folder.join(pin.library_name());
    let Ok(sha256) = hash_file(&path) else {
        return Err(RuntimeError::Missing { folder: managed.folder.clone() });
    };
    if sha256.to_hex() != pin.library_sha256 {
        let expected = pin.library_sha256.to_owned();
        return Err(RuntimeError::Altered { path, expected, found: sha256 });
    }
    Ok(Library { path, sha256, managed: true })
}

/// The library to load, installed first when it is missing or altered and none was named.
///
/// # Errors
/// It is not there and cannot be installed.
pub(in crate::sighted) fn ensure(
    named: Option<&Path>,
    managed: Option<&ManagedFolder>,
    say: &dyn Fn(&str),
) -> Result<Library, RuntimeError> {
    match (locate(named, managed), managed) {
        (Err(RuntimeError::Missing { .. } | RuntimeError::Altered { .. }), Some(managed)) => {
            let pin = Pin::for_this_machine().ok_or_else(no_build)?;
            install(pin, managed, say)
        }
        (outcome, _) => outcome,
    }
}

fn no_build() -> RuntimeError {
    let musl = if cfg!(target_env = "musl") { " with musl" } else { "" };
    RuntimeError::NoBuild {
        machine: format!("{} on {}{musl}", std::env::consts::OS, std::env::consts::ARCH),
    }
}

fn hash_file(path: &Path) -> std::io::Result<ContentHash> {
    sha256_of_reader(&mut File::open(path)?).map(ContentHash::from_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::atomic;

    #[test]
    fn a_named_library_goes_first_and_must_be_there() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let managed = ManagedFolder::below(folder.path());
        let path = folder.path().join("mine.so");
        let error = locate(Some(&path), Some(&managed)).expect_err("missing").to_string();
        assert!(error.contains("mine.so") && error.contains("--ort-lib"), "{error}");
        atomic::write(&path, b"x").expect("written");
        let library = locate(Some(&path), Some(&managed)).expect("there");
        assert_eq!((library.path, library.managed), (path, false));
    }

    #[test]
    fn a_missing_or_altered_installed_library_is_said_with_its_place() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let managed = ManagedFolder::below(folder.path());
        let pin = &PINS[0];
        let error = locate_managed(pin, &managed).expect_err("missing").to_string();
        assert!(error.contains("runtime install") && error.contains(PINNED_VERSION), "{error}");
        atomic::write(&managed.folder.join(pin.library_name()), b"x").expect("written");
        let error = locate_managed(pin, &managed).expect_err("altered").to_string();
        assert!(error.contains(pin.library_sha256) && error.contains("replaces it"), "{error}");
        let good = Pin {
            library_sha256: "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",
            ..*pin
        };
        assert!(locate_managed(&good, &managed).expect("the twin that passes").managed);
    }

    #[test]
    fn pins_are_well_formed_and_their_machines_differ() {
        for (index, pin) in PINS.iter().enumerate() {
            for text in [pin.wheel_sha256, pin.library_sha256] {
                assert!(text.parse::<ContentHash>().is_ok(), "{text}");
            }
            assert!(pin.member.ends_with(pin.library_name()));
            assert!(PINS[..index].iter().all(|other| (other.os, other.arch) != (pin.os, pin.arch)));
        }
    }
}
