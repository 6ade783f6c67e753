//! Sign-off files on disk: `<folder>/<recordId, 12>/<signoffId, 12>.json`, a detached signature beside.
//!
//! Files are made once and never changed. Whatever in here is not as it must be is named as a fault;
//! an answer that depends on sign-offs is then no answer, because a fault may be the newest decision.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::signoff::{MAX_BYTES, SignOff, Signed};
use crate::domain::digest::{SignOffId, hex, sha256};
use crate::domain::escape::escape_os;
use crate::store::atomic::{self, WriteError};
use crate::store::file;

/// Ending of a detached signature.
const SIGNATURE: &str = "sig";

/// A folder of sign-offs.
#[derive(Debug, Clone)]
pub(in crate::sighted) struct SignOffStore {
    folder: PathBuf,
}

/// One sign-off file.
#[derive(Debug, Clone)]
pub(in crate::sighted) struct StoredSignOff {
    /// Where it lies.
    pub path: PathBuf,
    /// Its bytes: what a signature covers.
    pub bytes: Vec<u8>,
    /// What it says.
    pub signoff: SignOff,
    /// The signature beside it, when there is one.
    pub signature: Option<PathBuf>,
    /// Signatures of others over the same bytes, by file name.
    pub cosignatures: Vec<PathBuf>,
}

/// Something that is not as it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct SignOffFault {
    /// The file.
    pub path: PathBuf,
    /// What is wrong, escaped.
    pub reason: String,
}

/// Everything in the folder.
#[derive(Debug, Default)]
pub(in crate::sighted) struct SignOffs {
    /// By time of signing, then id.
    pub all: Vec<StoredSignOff>,
    /// Faults, by path.
    pub faults: Vec<SignOffFault>,
}

impl SignOffs {
    /// Sign-offs that no other takes the place of.
    pub(in crate::sighted) fn standing(&self) -> impl Iterator<Item = &StoredSignOff> {
        let replaced: BTreeSet<SignOffId> =
            self.all.iter().filter_map(|stored| stored.signoff.supersedes).collect();
        self.all.iter().filter(move |stored| !replaced.contains(&stored.signoff.id))
    }
}

impl SignOffStore {
    /// The store in `folder`, which need not exist yet.
    pub(in crate::sighted) fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Where a sign-off belongs.
    pub(in crate::sighted) fn path_of(&self, signoff: &SignOff) -> PathBuf {
        let record = signoff.record.record_id.short();
        self.folder.join(record).join(format!("{}.json", signoff.id.short()))
    }

    /// Reads everything. An absent folder holds nothing.
    pub(in crate::sighted) fn list(&self) -> SignOffs {
        let mut found = SignOffs::default();
        for folder in children(&self.folder, &mut found.faults) {
            if folder.is_dir() {
                self.list_record(&folder, &mut found);
            } else {
                found.faults.push(fault(&folder, "no sign-off belongs here"));
            }
        }
        found.all.sort_by(|left, right| {
            let key =
                |stored: &StoredSignOff| (stored.signoff.signed_at.clone(), stored.signoff.id);
            key(left).cmp(&key(right))
        });
        let ids: BTreeSet<SignOffId> = found.all.iter().map(|stored| stored.signoff.id).collect();
        for stored in &found.all {
            if let Some(earlier) = stored.signoff.supersedes
                && !ids.contains(&earlier)
            {
                let reason = format!("takes the place of sign-off {earlier}, which is not here");
                found.faults.push(SignOffFault { path: stored.path.clone(), reason });
            }
        }
        found.faults.sort_by(|left, right| left.path.cmp(&right.path));
        found
    }

    fn list_record(&self, folder: &Path, found: &mut SignOffs) {
        for path in children(folder, &mut found.faults) {
            let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
            match ending {
                "json" => match self.read(&path) {
                    Ok(stored) => found.all.push(stored),
                    Err(reason) => found.faults.push(SignOffFault { path, reason }),
                },
                SIGNATURE if !signed_by(&path).is_some_and(|signed| signed.exists()) => {
                    found.faults.push(fault(&path, "the sign-off of this signature is gone"));
                }
                SIGNATURE => {}
                _ => found.faults.push(fault(&path, "no sign-off belongs here")),
            }
        }
    }

    fn read(&self, path: &Path) -> Result<StoredSignOff, String> {
        let bytes = file::read(path, MAX_BYTES).map_err(|error| error.to_string())?;
        let signoff = SignOff::parse(&bytes)?;
        let expected = self.path_of(&signoff);
        if expected != path {
            let belongs = expected.strip_prefix(&self.folder).unwrap_or(&expected);
            return Err(format!(
                "belongs at {}: moved, or about another record",
                escape_os(belongs.as_os_str())
            ));
        }
        let beside = path.with_extension(SIGNATURE);
        let signature = beside.exists().then_some(beside);
        if let (Some(key), None) = (&signoff.signer.key_id, &signature) {
            return Err(format!("names key {key} and has no signature beside it"));
        }
        let cosignatures = cosignatures_of(path).map_err(|error| error.to_string())?;
        Ok(StoredSignOff { path: path.to_owned(), bytes, signoff, signature, cosignatures })
    }

    /// Writes one more signature over a stored sign-off, named by its key. Nothing is ever replaced.
    ///
    /// # Errors
    /// The disk, or a signature of this key that is there already.
    pub(in crate::sighted) fn add_signature(
        stored: &StoredSignOff,
        fingerprint: &str,
        signature: &[u8],
    ) -> Result<PathBuf, WriteError> {
        let key = hex(&sha256(fingerprint.as_bytes()));
        let path = stored.path.with_extension(format!("{}.{SIGNATURE}", &key[..8]));
        atomic::create_new(&path, signature)?;
        Ok(path)
    }

    /// Writes a sign-off and its signature. Nothing is ever replaced.
    ///
    /// # Errors
    /// The disk, or a file that is there already.
    pub(in crate::sighted) fn create(
        &self,
        signed: &Signed,
        signature: Option<&[u8]>,
    ) -> Result<PathBuf, WriteError> {
        let record = signed.record.record_id.short();
        let path = self.folder.join(record).join(format!("{}.json", signed.id.short()));
        atomic::create_new(&path, &signed.file)?;
        if let Some(signature) = signature {
            atomic::create_new(&path.with_extension(SIGNATURE), signature)?;
        }
        Ok(path)
    }
}

/// The sign-off a signature file is beside: what stands before the first dot names it.
fn signed_by(signature: &Path) -> Option<PathBuf> {
    let name = signature.file_name()?.to_str()?;
    Some(signature.with_file_name(format!("{}.json", name.split('.').next()?)))
}

fn cosignatures_of(signoff: &Path) -> io::Result<Vec<PathBuf>> {
    let (Some(folder), own) = (signoff.parent(), signoff.with_extension(SIGNATURE)) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_signature = path.extension().is_some_and(|ending| ending == SIGNATURE);
        if is_signature && path != own && signed_by(&path).as_deref() == Some(signoff) {
            found.push(path);
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn children(folder: &Path, faults: &mut Vec<SignOffFault>) -> Vec<PathBuf> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            faults.push(fault(folder, &error.to_string()));
            return Vec::new();
        }
    };
    let mut paths = Vec::new();
    for entry in entries {
        match entry {
            Ok(entry) if is_hidden(&entry.file_name()) => {}
            Ok(entry) => paths.push(entry.path()),
            Err(error) => faults.push(fault(folder, &error.to_string())),
        }
    }
    paths.sort_unstable();
    paths
}

/// Hidden files are other programs' (and temporary files of ours that a crash left behind).
fn is_hidden(name: &std::ffi::OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

fn fault(path: &Path, reason: &str) -> SignOffFault {
    SignOffFault { path: path.to_owned(), reason: reason.to_owned() }
}
