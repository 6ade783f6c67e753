//! The root of trust: who may sign, how many must, and until when that holds.
//!
//! A small file that an owner keeps where few can write. Each version replaces the one before it, and a
//! sign-off names the version it was made under, so an older copy, in which a key that was withdrawn still
//! counts, does not pass for the present one.
//!
//! ```toml
//! schema = 1
//! version = 3                                # one more at every change
//! expires = "2027-01-01T00:00:00+00:00"      # from then on nothing passes under it
//! signatures = 2                             # keys of so many different people
//! allowed_signers = "allowed_signers"        # as ssh-keygen reads it, relative to this file
//! revoked = "revoked_keys"                   # may be left out
//! ```

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::registry::read_bounded;
use crate::domain::escape::{escape, escape_os};

/// Largest file, in bytes.
const MAX_BYTES: usize = 64 << 10;

/// Most signatures that can be asked for.
const MAX_SIGNATURES: usize = 64;

/// A root of trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct TrustRoot {
    /// Grows with every change.
    pub version: u64,
    /// Different people whose keys must have signed.
    pub signatures: usize,
    /// Allowed signers.
    pub allowed_signers: PathBuf,
    /// Revoked keys.
    pub revoked: Option<PathBuf>,
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
    allowed_signers: PathBuf,
    revoked: Option<PathBuf>,
}

impl TrustRoot {
    /// Reads a root of trust that holds at `now`.
    ///
    /// # Errors
    /// Unreadable, not such a file, one that asks for nothing, or one that has expired.
    pub(in crate::sighted) fn read(path: &Path, now: &str) -> Result<Self, TrustFault> {
        let fault = |reason: String| TrustFault { path: path.to_owned(), reason };
        let bytes = read_bounded(path, MAX_BYTES).map_err(|error| fault(error.to_string()))?;
        let text = std::str::from_utf8(&bytes).map_err(|_| fault("expected UTF-8".to_owned()))?;
        let written: Written =
            toml::from_str(text).map_err(|error| fault(escape(error.message()).into_owned()))?;
        if written.schema != 1 {
            return Err(fault(format!("schema {}, expected 1", written.schema)));
        }
        if written.version == 0 {
            return Err(fault("version 0, expected 1 or more".to_owned()));
        }
        if !(1..=MAX_SIGNATURES).contains(&written.signatures) {
            let found = written.signatures;
            return Err(fault(format!("signatures {found}, expected 1 to {MAX_SIGNATURES}")));
        }
        let time = |text: &str| text.parse::<jiff::Timestamp>().ok();
        let (Some(expires), Some(now)) = (time(&written.expires), time(now)) else {
            let found = escape(&written.expires);
            return Err(fault(format!(
                "expires {found:?}, expected a time like 2027-01-01T00:00:00+00:00"
            )));
        };
        if expires <= now {
            return Err(fault(format!("expired at {}", escape(&written.expires))));
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let beside = |file: PathBuf| -> Result<PathBuf, TrustFault> {
            let file = folder.join(file);
            if file.is_file() {
                Ok(file)
            } else {
                Err(fault(format!("{}: no such file", escape_os(file.as_os_str()))))
            }
        };
        Ok(Self {
            version: written.version,
            signatures: written.signatures,
            allowed_signers: beside(written.allowed_signers)?,
            revoked: written.revoked.map(beside).transpose()?,
        })
    }
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
            TrustRoot::read(&path, NOW)
        };
        for (from, to, reason) in [
            ("schema = 1", "schema = 2", "schema 2, expected 1"),
            ("version = 3", "version = 0", "version 0, expected 1 or more"),
            ("version = 3", "", "missing field `version`"),
            ("signatures = 2", "signatures = 0", "signatures 0, expected 1 to 64"),
            ("2027-01-01", "2026-01-01", "expired at 2026-01-01"),
            ("2027-01-01T00:00:00+00:00", NOW, "expired at"),
            ("2027-01-01T00:00:00+00:00", "never", "expected a time"),
            ("\"allowed\"", "\"gone\"", "no such file"),
            ("schema", "revoked = \"gone\"\nschema", "no such file"),
            ("schema", "more = 1\nschema", "unknown field `more`"),
        ] {
            assert_eq!(read(GOOD).expect("the good twin").version, 3, "{reason}");
            let fault = read(&GOOD.replace(from, to)).expect_err(reason).to_string();
            assert!(fault.contains(reason) && fault.contains("trust.toml"), "{fault}");
        }
        let gone = TrustRoot::read(&folder.path().join("none.toml"), NOW).expect_err("not there");
        assert!(gone.to_string().contains("none.toml"));
    }
}
