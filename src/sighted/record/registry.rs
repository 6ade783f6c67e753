//! A folder of release records: list, find, register. Files in it are made once and never changed.
//!
//! Only `*.json` directly inside the folder are records; what lies below (sign-offs) is none of them.
//! A file that cannot be read is named and left out, and the others still stand. `SHA256SUMS` beside
//! the records remembers the bytes of whole files, because a record's id covers its identity alone; it
//! has the format of the tool of that name.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::refusal::Refusal;
use super::release::{MAX_BYTES, ReleaseRecord};
use crate::domain::digest::ContentHash;
use crate::domain::escape::escape_os;
use crate::store::atomic;
use crate::store::file;

/// Name of the list of file hashes.
pub(in crate::sighted) const INDEX_NAME: &str = "SHA256SUMS";

/// Largest index, in bytes.
const MAX_INDEX_BYTES: u64 = 16 << 20;

/// A folder of records.
#[derive(Debug, Clone)]
pub(in crate::sighted) struct Registry {
    folder: PathBuf,
}

/// Everything in a registry.
#[derive(Debug)]
pub(in crate::sighted) struct Listing {
    /// Records, by file name.
    pub records: Vec<Entry>,
    /// Files that are no acceptable record.
    pub quarantined: Vec<Quarantined>,
    /// Files the index names that are not there.
    pub gone: Vec<String>,
}

/// One record file.
#[derive(Debug)]
pub(in crate::sighted) struct Entry {
    /// Where it lies.
    pub path: PathBuf,
    /// Its name.
    pub file_name: String,
    /// Sha256 of its bytes.
    pub file_hash: ContentHash,
    /// What it says.
    pub record: ReleaseRecord,
    /// Whether its bytes are those that were registered.
    pub bytes: FileBytes,
}

/// What the index says about a file's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) enum FileBytes {
    /// The bytes that were registered.
    AsRegistered,
    /// Other bytes that say the same.
    SameContent {
        /// Hash of the registered bytes.
        registered: ContentHash,
    },
    /// Another content.
    Changed {
        /// Hash of the registered bytes.
        registered: ContentHash,
    },
    /// The index does not name it: it came from elsewhere.
    NotIndexed,
}

/// A file that is not listed, and why.
#[derive(Debug)]
pub(in crate::sighted) struct Quarantined {
    /// Its name.
    pub file_name: String,
    /// The reason, escaped.
    pub reason: String,
}

/// What registering did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) enum Stored {
    /// The file was made.
    Created {
        /// Where.
        path: PathBuf,
    },
    /// The same record is there already; nothing was written.
    Idempotent {
        /// Where.
        path: PathBuf,
        /// When it was registered, as written.
        registered_at: String,
    },
}

impl Stored {
    /// Where the record lies.
    pub(in crate::sighted) fn path(&self) -> &Path {
        match self {
            Self::Created { path } | Self::Idempotent { path, .. } => path,
        }
    }
}

/// Why a registry gave no answer.
#[derive(Debug, thiserror::Error)]
pub(in crate::sighted) enum RegistryFault {
    /// A rule fired.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The disk.
    #[error("{}: {source}", escape_os(.path.as_os_str()))]
    Io {
        /// What was touched.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A write.
    #[error(transparent)]
    Write(#[from] atomic::WriteError),
    /// The index cannot be read.
    #[error("{}: line {line}: expected 64 hex digits, two spaces and a file name", escape_os(.path.as_os_str()))]
    Index {
        /// The index.
        path: PathBuf,
        /// 1-based line.
        line: usize,
    },
}

impl Registry {
    /// The registry in `folder`, which need not exist yet.
    pub(in crate::sighted) fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Reads every record. An absent folder holds none.
    ///
    /// # Errors
    /// The folder or its index cannot be read; a bad record is no error.
    pub(in crate::sighted) fn list(&self) -> Result<Listing, RegistryFault> {
        let mut index = self.read_index()?;
        let mut listing =
            Listing { records: Vec::new(), quarantined: Vec::new(), gone: Vec::new() };
        for (file_name, path) in self.record_files()? {
            let registered = index.remove(&file_name);
            match load(path, &file_name, registered) {
                Ok(entry) => listing.records.push(entry),
                Err(reason) => listing.quarantined.push(Quarantined { file_name, reason }),
            }
        }
        listing.gone = index.into_keys().collect();
        Ok(listing)
    }

    /// Reads one file of this folder, whatever its name.
    ///
    /// # Errors
    /// The index cannot be read. The inner error says why the file is no acceptable record.
    pub(in crate::sighted) fn read(
        &self,
        file_name: &str,
    ) -> Result<Result<Entry, String>, RegistryFault> {
        let registered = self.read_index()?.remove(file_name);
        Ok(load(self.folder.join(file_name), file_name, registered))
    }

    /// Registers a record: makes its file, or finds that it is there already.
    ///
    /// # Errors
    /// A name that cannot be a file's, another artifact under the same name, version and recipe, the
    /// same id with another body, or the disk.
    pub(in crate::sighted) fn register(
        &self,
        record: &ReleaseRecord,
    ) -> Result<Stored, RegistryFault> {
        check_model_name(&record.identity.model_name)?;
        let _lock = self.lock()?;
        let listing = self.list()?;
        for entry in &listing.records {
            let existing = &entry.record;
            if existing.identity.model_name == record.identity.model_name
                && existing.version == record.version
                && existing.identity.release_key() == record.identity.release_key()
                && existing.identity.artifact != record.identity.artifact
            {
                return Err(RegistryFault::Refused(Refusal::VersionCollision {
                    model_name: record.identity.model_name.clone(),
                    version: record.version.clone(),
                    existing: existing.identity.artifact.to_hex(),
                    new: record.identity.artifact.to_hex(),
                }));
            }
        }
        if let Some(entry) =
            listing.records.into_iter().find(|entry| entry.record.record_id == record.record_id)
        {
            let differing = entry.record.differing_keys(record);
            if differing.is_empty() {
                let registered_at = entry.record.registered_at().to_owned();
                return Ok(Stored::Idempotent { path: entry.path, registered_at });
            }
            let record_id = record.record_id.to_hex();
            return Err(RegistryFault::Refused(Refusal::Immutable { record_id, differing }));
        }
        let file_name = record.file_name();
        let path = self.folder.join(&file_name);
        let text = record.file_text();
        atomic::create_new(&path, text.as_bytes())?;
        let mut index = self.read_index()?;
        index.insert(file_name, ContentHash::of(text.as_bytes()));
        self.write_index(&index)?;
        Ok(Stored::Created { path })
    }

    /// Writers take turns; readers never wait.
    fn lock(&self) -> Result<File, RegistryFault> {
        let path = self.folder.join(".lock");
        let open = || -> io::Result<File> {
            atomic::make_folder(&self.folder)?;
            let file = File::options().create(true).truncate(false).write(true).open(&path)?;
            file.lock()?;
            Ok(file)
        };
        open().map_err(|source| RegistryFault::Io { path, source })
    }

    fn record_files(&self) -> Result<BTreeMap<String, PathBuf>, RegistryFault> {
        let fault = |source| RegistryFault::Io { path: self.folder.clone(), source };
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(fault(error)),
        };
        let mut files = BTreeMap::new();
        for entry in entries {
            let path = entry.map_err(fault)?.path();
            let is_json = path.extension().is_some_and(|extension| extension == "json");
            if is_json && path.is_file() {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                files.insert(name, path);
            }
        }
        Ok(files)
    }

    fn index_path(&self) -> PathBuf {
        self.folder.join(INDEX_NAME)
    }

    fn read_index(&self) -> Result<BTreeMap<String, ContentHash>, RegistryFault> {
        let path = self.index_path();
        let bytes = match file::read(&path, MAX_INDEX_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.is_missing() => return Ok(BTreeMap::new()),
            Err(error) => return Err(RegistryFault::Io { path, source: error.into() }),
        };
        let mut index = BTreeMap::new();
        for (number, line) in String::from_utf8_lossy(&bytes).lines().enumerate() {
            let row = line
                .split_once("  ")
                .and_then(|(hash, name)| Some((name.to_owned(), hash.parse().ok()?)));
            let (name, hash) =
                row.ok_or_else(|| RegistryFault::Index { path: path.clone(), line: number + 1 })?;
            index.insert(name, hash);
        }
        Ok(index)
    }

    fn write_index(&self, index: &BTreeMap<String, ContentHash>) -> Result<(), RegistryFault> {
        let text: String = index.iter().map(|(name, hash)| format!("{hash}  {name}\n")).collect();
        Ok(atomic::write(&self.index_path(), text.as_bytes())?)
    }
}

fn load(path: PathBuf, file_name: &str, registered: Option<ContentHash>) -> Result<Entry, String> {
    let bytes = file::read(&path, MAX_BYTES).map_err(|error| error.to_string())?;
    let record = ReleaseRecord::parse(&bytes).map_err(|refusal| refusal.to_string())?;
    let file_hash = ContentHash::of(&bytes);
    let bytes = compare_bytes(&record, file_hash, registered);
    Ok(Entry { path, file_name: file_name.to_owned(), file_hash, record, bytes })
}

fn compare_bytes(
    record: &ReleaseRecord,
    found: ContentHash,
    registered: Option<ContentHash>,
) -> FileBytes {
    match registered {
        None => FileBytes::NotIndexed,
        Some(registered) if registered == found => FileBytes::AsRegistered,
        // What we register is always laid out our way, so laying it out again shows the same bytes.
        Some(registered) if ContentHash::of(record.file_text().as_bytes()) == registered => {
            FileBytes::SameContent { registered }
        }
        Some(registered) => FileBytes::Changed { registered },
    }
}

fn check_model_name(name: &str) -> Result<(), Refusal> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if !name.is_empty() && name.len() <= 120 && !name.starts_with('.') && name.bytes().all(plain) {
        Ok(())
    } else {
        Err(Refusal::ModelName { found: name.to_owned() })
    }
}
