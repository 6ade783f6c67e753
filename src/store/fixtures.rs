//! Fixtures as files: which they are, what their bytes hash to, and their bytes by id.
//!
//! Hashes of files that have not changed since they were last read are remembered in an index, so that
//! ten thousand fixtures are listed without reading them. The index is never trusted with pixels:
//! [`PixelSource::bytes`] opens once, reads once, and hashes what it hands out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};

use crate::domain::digest::{FixtureId, sha256_of_reader};
use crate::domain::escape::{escape, escape_os};
use crate::domain::manifest;
use crate::domain::manifest::{FixtureGroup, Manifest, ManifestError, parse_groups};
use crate::media::decode::{Upright, decode_for_people};
use crate::media::limits::LIMITS;
use crate::store::atomic;
use crate::store::file::{self, ReadError};

/// Largest index read, in bytes.
const MAX_INDEX_BYTES: u64 = 64 << 20;

/// Most threads that hash.
const MAX_THREADS: usize = 8;

/// One line of the manifest, with what lies behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixture {
    /// Sha256 of the file.
    pub id: FixtureId,
    /// The path as the manifest writes it.
    pub written: String,
    /// The file.
    pub path: PathBuf,
    /// Source and cluster.
    pub group: FixtureGroup,
}

/// A line of the manifest whose file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The path as the manifest writes it.
    pub written: String,
    /// What the system said.
    pub reason: String,
}

/// All fixtures of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixtureSet {
    /// The manifest.
    pub manifest: Manifest,
    /// Readable lines, in manifest order. One fixture may stand on several lines.
    pub fixtures: Vec<Fixture>,
    /// The others.
    pub unreadable: Vec<Unreadable>,
}

/// Why there is no fixture set.
#[derive(Debug, thiserror::Error)]
pub enum FixtureSetError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", escape_os(.path.as_os_str()))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Manifest or groups file.
    #[error("{}: {source}", escape_os(.path.as_os_str()))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: ManifestError,
    },
}

/// Why the bytes of a fixture cannot be had. Says nothing of where they lie.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FixtureError {
    /// Not one of the set.
    #[error("this fixture is not in the set")]
    Unknown,
    /// The file cannot be read.
    #[error("the file cannot be read: {}", escape(.reason))]
    Unreadable {
        /// What the system said.
        reason: String,
    },
    /// Too large to open.
    #[error("the file has more than {} bytes", LIMITS.file_bytes)]
    TooLarge,
    /// Not the file it was.
    #[error("the file has changed: its sha256 is {found}")]
    Changed {
        /// What it is now.
        found: FixtureId,
    },
}

/// Bytes by fixture. Holds places, and shows none.
#[derive(Clone)]
pub struct PixelSource {
    files: Arc<BTreeMap<FixtureId, PathBuf>>,
}

impl std::fmt::Debug for PixelSource {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "PixelSource({} fixtures)", self.files.len())
    }
}

impl PixelSource {
    /// The fixture's bytes: opened once, read once, hashed.
    ///
    /// # Errors
    /// See [`FixtureError`].
    pub fn bytes(&self, id: FixtureId) -> Result<Vec<u8>, FixtureError> {
        let path = self.files.get(&id).ok_or(FixtureError::Unknown)?;
        let bytes = file::read(path, LIMITS.file_bytes).map_err(|error| match error {
            ReadError::TooLarge { .. } => FixtureError::TooLarge,
            other => FixtureError::Unreadable { reason: other.to_string() },
        })?;
        let found = FixtureId::of(&bytes);
        if found == id { Ok(bytes) } else { Err(FixtureError::Changed { found }) }
    }

    /// The fixture as people see it.
    ///
    /// # Errors
    /// Why there are no pixels: one line, escaped.
    pub fn picture(&self, id: FixtureId) -> Result<Upright, String> {
        let bytes = self.bytes(id).map_err(|error| error.to_string())?;
        decode_for_people(&bytes).map_err(|error| escape(&error.to_string()).into_owned())
    }
}

impl FixtureSet {
    /// Reads a manifest and, when given, its groups, and hashes every file. `index` remembers hashes; it
    /// is made and renewed as needed, and a place where that cannot be done is no error.
    ///
    /// # Errors
    /// Manifest or groups that cannot be used. A fixture that cannot be read is only listed.
    pub fn open(
        manifest_path: &Path,
        groups_path: Option<&Path>,
        index: Option<&Path>,
    ) -> Result<Self, FixtureSetError> {
        let bytes = read(manifest_path)?;
        let folder = manifest_path.parent().unwrap_or_else(|| Path::new(""));
        let manifest = Manifest::parse(&bytes, folder).map_err(|source| {
            FixtureSetError::Invalid { path: manifest_path.to_owned(), source }
        })?;
        let groups = match groups_path {
            None => BTreeMap::new(),
            Some(path) => parse_groups(&read(path)?)
                .map_err(|source| FixtureSetError::Invalid { path: path.to_owned(), source })?,
        };
        let paths: Vec<&Path> = manifest.entries.iter().map(|entry| entry.path.as_path()).collect();
        let hashed = hash_all(&paths, index);
        let mut fixtures = Vec::new();
        let mut unreadable = Vec::new();
        for (entry, hashed) in manifest.entries.iter().zip(hashed) {
            match hashed {
                Ok(id) => fixtures.push(Fixture {
                    id,
                    written: entry.written.clone(),
                    path: entry.path.clone(),
                    group: groups.get(&entry.written).cloned().unwrap_or_default(),
                }),
                Err(reason) => {
                    unreadable.push(Unreadable { written: entry.written.clone(), reason });
                }
            }
        }
        Ok(Self { manifest, fixtures, unreadable })
    }

    /// Ids, each once.
    pub fn ids(&self) -> BTreeSet<FixtureId> {
        self.fixtures.iter().map(|fixture| fixture.id).collect()
    }

    /// The first line of each fixture.
    pub fn by_id(&self) -> BTreeMap<FixtureId, &Fixture> {
        self.fixtures.iter().rev().map(|fixture| (fixture.id, fixture)).collect()
    }

    /// Bytes of these fixtures, and of no others.
    pub fn pixels(&self, wanted: &BTreeSet<FixtureId>) -> PixelSource {
        let files = self
            .fixtures
            .iter()
            .rev()
            .filter(|fixture| wanted.contains(&fixture.id))
            .map(|fixture| (fixture.id, fixture.path.clone()))
            .collect();
        PixelSource { files: Arc::new(files) }
    }

    /// Files of these fixtures.
    pub fn files(&self, wanted: &BTreeSet<FixtureId>) -> Vec<PathBuf> {
        self.pixels(wanted).files.values().cloned().collect()
    }
}

fn read(path: &Path) -> Result<Vec<u8>, FixtureSetError> {
    file::read(path, manifest::MAX_BYTES).map_err(|error| FixtureSetError::Unreadable {
        path: path.to_owned(),
        source: error.into(),
    })
}

/// What a file looks like from outside; a file that looks the same is taken to be the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    size: u64,
    modified_ns: u64,
    changed_ns: i64,
}

impl Stamp {
    fn of(metadata: &fs::Metadata) -> Option<Self> {
        let modified = metadata.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(Self {
            size: metadata.len(),
            modified_ns: u64::try_from(modified.as_nanos()).ok()?,
            changed_ns: changed_ns(metadata),
        })
    }
}

/// Time of the last change of the file's entry, which a program cannot set at will.
#[cfg(unix)]
fn changed_ns(metadata: &fs::Metadata) -> i64 {
    use std::os::unix::fs::MetadataExt as _;
    metadata.ctime().saturating_mul(1_000_000_000).saturating_add(metadata.ctime_nsec())
}

#[cfg(not(unix))]
fn changed_ns(_metadata: &fs::Metadata) -> i64 {
    0
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct IndexEntry {
    #[serde(flatten)]
    stamp: Stamp,
    sha256: FixtureId,
}

type Index = BTreeMap<String, IndexEntry>;

fn read_index(path: &Path) -> Index {
    let read = || -> Option<Index> {
        let bytes = file::read(path, MAX_INDEX_BYTES).ok()?;
        serde_json::from_slice(&bytes).ok()
    };
    // A damaged index costs time, nothing else.
    read().unwrap_or_default()
}

fn hash_all(paths: &[&Path], index_path: Option<&Path>) -> Vec<Result<FixtureId, String>> {
    let index = index_path.map(read_index).unwrap_or_default();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done: Vec<(usize, Result<IndexEntry, String>)> = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = paths.get(at) else { return done };
            done.push((at, hash_one(path, &index)));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let mut results: Vec<(usize, Result<IndexEntry, String>)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut results = work();
        for other in others {
            // A thread that panicked leaves its files out; they are done below.
            results.extend(other.join().unwrap_or_default());
        }
        results
    });
    results.sort_by_key(|(at, _)| *at);
    let mut by_place: BTreeMap<usize, Result<IndexEntry, String>> = results.into_iter().collect();
    let mut renewed = index.clone();
    let hashed = (0..paths.len())
        .map(|at| {
            let entry = by_place.remove(&at).unwrap_or_else(|| hash_one(paths[at], &index))?;
            let id = entry.sha256;
            if let Some(key) = paths[at].to_str() {
                renewed.insert(key.to_owned(), entry);
            }
            Ok(id)
        })
        .collect();
    if let Some(path) = index_path.filter(|_| renewed != index)
        && let Ok(text) = serde_json::to_string(&renewed)
    {
        // Without an index everything works, only slower.
        let _ = atomic::write(path, text.as_bytes());
    }
    hashed
}

fn hash_one(path: &Path, index: &Index) -> Result<IndexEntry, String> {
    let metadata = fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("not a file".to_owned());
    }
    let stamp = Stamp::of(&metadata);
    let known = path.to_str().and_then(|key| index.get(key));
    if let (Some(known), Some(stamp)) = (known, &stamp)
        && known.stamp == *stamp
    {
        return Ok(known.clone());
    }
    let mut file = File::open(path).map_err(|error| error.to_string())?;
    let sha256 = sha256_of_reader(&mut file).map_err(|error| error.to_string())?;
    let stamp = stamp.unwrap_or(Stamp { size: metadata.len(), modified_ns: 0, changed_ns: 0 });
    Ok(IndexEntry { stamp, sha256: FixtureId::from_bytes(sha256) })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Set {
        folder: tempfile::TempDir,
    }

    impl Set {
        fn new(manifest: &str, files: &[(&str, &str)]) -> Self {
            let folder = tempfile::tempdir().expect("temporary folder");
            let set = Self { folder };
            set.write("manifest.txt", manifest);
            for (name, content) in files {
                set.write(name, content);
            }
            set
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn write(&self, name: &str, content: &str) {
            atomic::write(&self.path(name), content.as_bytes()).expect("written");
        }

        fn open(&self) -> FixtureSet {
            let groups = self.path("groups.csv");
            FixtureSet::open(
                &self.path("manifest.txt"),
                groups.exists().then_some(groups.as_path()),
                Some(&self.path("index.json")),
            )
            .expect("a set")
        }
    }

    #[test]
    fn lines_become_fixtures_named_by_content() {
        let set = Set::new(
            "a.jpg\nb.jpg\nnone.jpg\nc.jpg\n",
            &[("a.jpg", "1"), ("b.jpg", "2"), ("c.jpg", "1")],
        );
        set.write("groups.csv", "path,source,pair\nb.jpg,one,p1\n");
        let found = set.open();
        assert_eq!(found.fixtures.len(), 3);
        assert_eq!(found.ids().len(), 2);
        assert_eq!(found.fixtures[0].id, FixtureId::of(b"1"));
        assert_eq!(found.fixtures[1].group.pair, "p1");
        assert_eq!(found.by_id()[&FixtureId::of(b"1")].written, "a.jpg");
        assert_eq!(found.unreadable[0].written, "none.jpg");
    }

    #[test]
    fn the_index_saves_reading_and_notices_changes() {
        let set = Set::new("a.jpg\n", &[("a.jpg", "1")]);
        assert_eq!(set.open().fixtures[0].id, FixtureId::of(b"1"));
        let index = read_index(&set.path("index.json"));
        assert_eq!(index.len(), 1);
        // What the index says is believed while the file looks the same.
        let mut planted = index.clone();
        for entry in planted.values_mut() {
            entry.sha256 = FixtureId::of(b"planted");
        }
        set.write("index.json", &serde_json::to_string(&planted).expect("JSON"));
        assert_eq!(set.open().fixtures[0].id, FixtureId::of(b"planted"));
        set.write("a.jpg", "changed");
        assert_eq!(set.open().fixtures[0].id, FixtureId::of(b"changed"));
        set.write("index.json", "not an index");
        assert_eq!(set.open().fixtures[0].id, FixtureId::of(b"changed"));
    }

    #[test]
    fn bytes_are_checked_whatever_the_index_says() {
        let set = Set::new("a.jpg\nb.jpg\n", &[("a.jpg", "1"), ("b.jpg", "2")]);
        let (one, two) = (FixtureId::of(b"1"), FixtureId::of(b"2"));
        let pixels = set.open().pixels(&[one].into());
        assert_eq!(pixels.bytes(one), Ok(b"1".to_vec()));
        assert_eq!(pixels.bytes(two), Err(FixtureError::Unknown));
        set.write("a.jpg", "other");
        let changed = pixels.bytes(one).expect_err("changed");
        assert_eq!(changed, FixtureError::Changed { found: FixtureId::of(b"other") });
        fs::remove_file(set.path("a.jpg")).expect("removed");
        let missing = pixels.bytes(one).expect_err("missing");
        for error in [&changed, &missing] {
            assert!(!error.to_string().contains("a.jpg"), "{error}");
        }
        assert_eq!(format!("{pixels:?}"), "PixelSource(1 fixtures)");
    }

    #[test]
    fn unusable_manifests_and_groups_are_named() {
        let set = Set::new("# nothing\n", &[]);
        let open =
            |groups: Option<&Path>| FixtureSet::open(&set.path("manifest.txt"), groups, None);
        assert!(open(None).expect_err("empty").to_string().contains("manifest.txt"));
        set.write("manifest.txt", "a.jpg\n");
        assert!(open(None).is_ok());
        set.write("groups.csv", "nonsense\n");
        let error = open(Some(&set.path("groups.csv"))).expect_err("no header");
        assert!(error.to_string().contains("groups.csv"));
    }
}
