//! The root of trust: who may sign, how many must, and until when that holds.
//!
//! A small file that an owner keeps where few can write. A sign-off names the version it was made under,
//! so an older copy, in which a key that was withdrawn still counts, does not pass for the present one.
//!
//! ```toml
//! schema = 1
//! version = 3                                # one more at every change
//! expires = "2027-01-01T00:00:00+00:00"      # from then on nothing passes under it
//! signatures = 2                             # keys of so many different people
//! root_signatures = 2                        # as many for the next version; left out: as `signatures`
//! separation = true                          # somebody other than the only rater must have signed
//! allowed_signers = "allowed_signers"        # as ssh-keygen reads it, relative to this file
//! allowed_signers_sha256 = "…"               # needed from the second version in a chain on
//! revoked = "revoked_keys"                   # may be left out
//! revoked_sha256 = "…"
//! ```
//!
//! The next version is `trust.4.toml`. It takes the place of version 3 only when enough keys of version 3 and
//! enough of its own signed its bytes, each in a file `trust.4.NAME.sig`; then `trust.5.toml` is looked for.
//! So whoever holds one version by other means needs nobody's word for the later ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::ssh::{self, Namespace, SignedBy, SignerLists};
use crate::domain::digest::ContentHash;
use crate::domain::escape::{escape, escape_os};
use crate::store::file;

/// Largest file, in bytes.
const MAX_BYTES: u64 = 64 << 10;

/// Largest list of signers or of revoked keys, in bytes.
const MAX_LIST_BYTES: u64 = 4 << 20;

/// Most signatures that can be asked for.
const MAX_SIGNATURES: usize = 64;

/// Who may sign and how many must.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct Trust {
    /// Whose keys count.
    pub lists: SignerLists,
    /// Different people whose keys must have signed.
    pub signatures: usize,
    /// Of the root of trust, when there is one.
    pub version: Option<u64>,
    /// Whether somebody other than the only rater must have signed.
    pub separation: bool,
}

impl Trust {
    /// One signature of anybody the list allows.
    pub(in crate::sighted) fn of_lists(lists: SignerLists) -> Self {
        Self { lists, signatures: 1, version: None, separation: false }
    }

    /// The newest version that follows from the root of trust in `path`, which must hold at `now`.
    /// Later versions are looked for in `updates`, or beside the file.
    ///
    /// # Errors
    /// A file that cannot be read or is no such file, a version that does not follow from the one before,
    /// or a newest version that has expired.
    pub(in crate::sighted) fn of_root(
        path: &Path,
        updates: Option<&Path>,
        now: &str,
    ) -> Result<Self, TrustFault> {
        let mut root = Root::read(path)?;
        let beside = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = updates.or(beside).unwrap_or(Path::new("."));
        let later = versions_in(folder)?.split_off(&root.version.saturating_add(1));
        for (version, path) in later {
            let next = Root::read(&path)?;
            next.check_follows(&root, version)?;
            root = next;
        }
        // An earlier version may be over: that is one reason to make a later one.
        root.check_holds(now)?;
        Ok(Self {
            lists: root.lists,
            signatures: root.signatures,
            version: Some(root.version),
            separation: root.separation,
        })
    }
}

/// Why a root of trust is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", escape_os(.path.as_os_str()))]
pub(in crate::sighted) struct TrustFault {
    /// The file.
    pub path: PathBuf,
    /// What was expected and found, escaped.
    pub reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    schema: u32,
    version: u64,
    expires: String,
    signatures: usize,
    root_signatures: Option<usize>,
    #[serde(default)]
    separation: bool,
    allowed_signers: PathBuf,
    allowed_signers_sha256: Option<String>,
    revoked: Option<PathBuf>,
    revoked_sha256: Option<String>,
}

/// One version.
#[derive(Debug)]
struct Root {
    path: PathBuf,
    /// What signatures over it cover.
    bytes: Vec<u8>,
    version: u64,
    expires: String,
    signatures: usize,
    root_signatures: usize,
    separation: bool,
    lists: SignerLists,
    /// Whether each of its lists is named by hash, so that a signature over the file covers them.
    covers_lists: bool,
}

impl Root {
    fn read(path: &Path) -> Result<Self, TrustFault> {
        let fault = |reason: String| TrustFault { path: path.to_owned(), reason };
        let bytes = file::read(path, MAX_BYTES).map_err(|error| fault(error.to_string()))?;
        let text = std::str::from_utf8(&bytes).map_err(|_| fault("expected UTF-8".to_owned()))?;
        let written: Written =
            toml::from_str(text).map_err(|error| fault(escape(error.message()).into_owned()))?;
        if written.schema != 1 {
            return Err(fault(format!("schema {}, expected 1", written.schema)));
        }
        if written.version == 0 {
            return Err(fault("version 0, expected 1 or more".to_owned()));
        }
        let root_signatures = written.root_signatures.unwrap_or(written.signatures);
        for (key, found) in
            [("signatures", written.signatures), ("root_signatures", root_signatures)]
        {
            if !(1..=MAX_SIGNATURES).contains(&found) {
                return Err(fault(format!("{key} {found}, expected 1 to {MAX_SIGNATURES}")));
            }
        }
        if time(&written.expires).is_none() {
            let found = escape(&written.expires);
            return Err(fault(format!(
                "expires {found:?}, expected a time like 2027-01-01T00:00:00+00:00"
            )));
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let beside = |file: PathBuf, hash: Option<&str>| {
            let file = folder.join(file);
            check_list(&file, hash).map_err(fault)?;
            Ok(file)
        };
        let covers_lists = written.allowed_signers_sha256.is_some()
            && written.revoked.is_some() == written.revoked_sha256.is_some();
        let allowed = beside(written.allowed_signers, written.allowed_signers_sha256.as_deref())?;
        let revoked = written.revoked.map(|file| beside(file, written.revoked_sha256.as_deref()));
        Ok(Self {
            path: path.to_owned(),
            version: written.version,
            expires: written.expires,
            signatures: written.signatures,
            root_signatures,
            separation: written.separation,
            lists: SignerLists { allowed, revoked: revoked.transpose()? },
            covers_lists,
            bytes,
        })
    }

    fn fault(&self, reason: String) -> TrustFault {
        TrustFault { path: self.path.clone(), reason }
    }

    fn check_holds(&self, now: &str) -> Result<(), TrustFault> {
        if time(&self.expires) > time(now) {
            return Ok(());
        }
        Err(self.fault(format!("expired at {}", escape(&self.expires))))
    }

    /// Exactly one version more than the last, lists and all covered, signed by enough of both.
    fn check_follows(&self, last: &Self, named: u64) -> Result<(), TrustFault> {
        let (found, expected) = (self.version, last.version + 1);
        if named != expected {
            return Err(self.fault(format!("version {expected} is missing before it")));
        }
        if found != expected {
            return Err(self.fault(format!("version {found}, expected {expected}: one at a time")));
        }
        if !self.covers_lists {
            return Err(self.fault(
                "expected allowed_signers_sha256, and revoked_sha256 beside revoked: a signature covers this file alone"
                    .to_owned(),
            ));
        }
        let signatures = signatures_of(&self.path)?;
        for root in [last, self] {
            self.check_signed_under(root, &signatures)?;
        }
        Ok(())
    }

    /// A signature that does not count under `root` may still count under another: it is no fault in itself.
    fn check_signed_under(&self, root: &Self, signatures: &[PathBuf]) -> Result<(), TrustFault> {
        let mut signed: Vec<SignedBy> = Vec::new();
        let mut others: Vec<String> = Vec::new();
        for file in signatures {
            match ssh::signed_by(file, &self.bytes, Namespace::TrustRoot, &root.lists) {
                Ok(by) => signed.push(by),
                Err(fault) => {
                    let name = escape_os(file.file_name().unwrap_or_default());
                    others.push(format!("{name}: {fault}"));
                }
            }
        }
        let (found, needed) = (ssh::people(&signed), root.root_signatures);
        if found >= needed {
            return Ok(());
        }
        let mut reason =
            format!("signed by {found} of {needed} people of version {}", root.version);
        if !others.is_empty() {
            reason.push_str(&format!(" ({})", others.join("; ")));
        }
        Err(self.fault(reason))
    }
}

fn time(text: &str) -> Option<jiff::Timestamp> {
    text.parse().ok()
}

/// A list that is there, with the bytes it should have.
fn check_list(file: &Path, expected: Option<&str>) -> Result<(), String> {
    let shown = escape_os(file.as_os_str());
    if !file.is_file() {
        return Err(format!("{shown}: no such file"));
    }
    let Some(expected) = expected else { return Ok(()) };
    let bytes = file::read(file, MAX_LIST_BYTES).map_err(|error| format!("{shown}: {error}"))?;
    let found = ContentHash::of(&bytes).to_hex();
    if found == expected {
        return Ok(());
    }
    Err(format!("{shown}: expected sha256 {}, found {found}", escape(expected)))
}

/// Versions in a folder by number: `trust.4.toml`.
fn versions_in(folder: &Path) -> Result<BTreeMap<u64, PathBuf>, TrustFault> {
    let numbered = |name: &str| -> Option<u64> {
        let number = name.strip_prefix("trust.")?.strip_suffix(".toml")?.parse().ok()?;
        // One name a version: `trust.04.toml` is none.
        (name == format!("trust.{number}.toml")).then_some(number)
    };
    let paths = children(folder)?;
    let named = paths.into_iter().filter_map(|path| {
        let number = numbered(path.file_name()?.to_str()?)?;
        Some((number, path))
    });
    Ok(named.collect())
}

/// Signatures over a version, by name: `trust.4.ada.sig`.
fn signatures_of(root: &Path) -> Result<Vec<PathBuf>, TrustFault> {
    let folder = root.parent().unwrap_or(Path::new("."));
    let stem = root.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let start = format!("{stem}.");
    let mut paths = children(folder)?;
    paths.retain(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(&start) && name.ends_with(".sig")
    });
    paths.sort_unstable();
    Ok(paths)
}

fn children(folder: &Path) -> Result<Vec<PathBuf>, TrustFault> {
    let list = || -> std::io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
    };
    list().map_err(|error| TrustFault { path: folder.to_owned(), reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::atomic;

    const NOW: &str = "2026-02-03T04:05:06+00:00";
    const GOOD: &str = "schema = 1\nversion = 3\nexpires = \"2027-01-01T00:00:00+00:00\"\nsignatures = 2\nallowed_signers = \"allowed\"\n";

    #[test]
    fn what_is_no_present_root_is_refused_for_its_own_reason() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("trust.toml");
        atomic::write(&folder.path().join("allowed"), b"").expect("written");
        let read = |text: &str| {
            atomic::write(&path, text.as_bytes()).expect("written");
            Trust::of_root(&path, None, NOW)
        };
        for (from, to, reason) in [
            ("schema = 1", "schema = 2", "schema 2, expected 1"),
            ("version = 3", "version = 0", "version 0, expected 1 or more"),
            ("version = 3", "", "missing field `version`"),
            ("signatures = 2", "signatures = 0", "signatures 0, expected 1 to 64"),
            ("schema", "root_signatures = 65\nschema", "root_signatures 65, expected 1 to 64"),
            ("2027-01-01", "2026-01-01", "expired at 2026-01-01"),
            ("2027-01-01T00:00:00+00:00", NOW, "expired at"),
            ("2027-01-01T00:00:00+00:00", "never", "expected a time"),
            ("\"allowed\"", "\"gone\"", "no such file"),
            ("schema", "revoked = \"gone\"\nschema", "no such file"),
            ("schema", "allowed_signers_sha256 = \"0\"\nschema", "expected sha256 0, found e3b0c4"),
            ("schema", "more = 1\nschema", "unknown field `more`"),
        ] {
            assert_eq!(read(GOOD).expect("the good twin").version, Some(3), "{reason}");
            let fault = read(&GOOD.replacen(from, to, 1)).expect_err(reason).to_string();
            assert!(fault.contains(reason) && fault.contains("trust.toml"), "{fault}");
        }
        let gone = Trust::of_root(&folder.path().join("none.toml"), None, NOW);
        assert!(gone.expect_err("not there").to_string().contains("none.toml"));
    }
}
