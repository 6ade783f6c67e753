//! The fixture manifest: which pictures are compared and labelled.
//!
//! One path a line, relative to the manifest's folder or absolute; blank lines and lines that start
//! with `#` are skipped. The manifest is named by the sha256 of its bytes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::digest::ManifestHash;

/// Largest manifest, in bytes.
pub const MAX_BYTES: u64 = 64 << 20;

/// One line of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestEntry {
    /// The path as written.
    pub written: String,
    /// The path to open.
    pub path: PathBuf,
}

/// A parsed manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Entries in the order of the file. A path may occur more than once.
    pub entries: Vec<ManifestEntry>,
    /// Sha256 of the file's bytes.
    pub hash: ManifestHash,
}

/// Where a fixture comes from and which others it belongs with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FixtureGroup {
    /// Name of the source, empty when not given.
    pub source: String,
    /// Name of the cluster (a before/after pair, say), empty when it stands alone.
    pub pair: String,
}

/// Why a manifest or groups file is refused.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// Not UTF-8.
    #[error("line {line}: expected UTF-8 text")]
    NotText {
        /// 1-based line.
        line: usize,
    },
    /// No entries.
    #[error("expected at least one path, found none")]
    Empty,
    /// Too large.
    #[error("expected at most {MAX_BYTES} bytes, found {found}")]
    TooLarge {
        /// Size found.
        found: usize,
    },
    /// A groups file that is not the expected CSV.
    #[error("line {line}: {reason}")]
    Groups {
        /// 1-based line.
        line: usize,
        /// What was expected and found.
        reason: String,
    },
}

impl Manifest {
    /// Parses the bytes of a manifest that lies in `folder`.
    ///
    /// # Errors
    /// Not UTF-8, too large, or no entry.
    pub fn parse(bytes: &[u8], folder: &Path) -> Result<Self, ManifestError> {
        if bytes.len() as u64 > MAX_BYTES {
            return Err(ManifestError::TooLarge { found: bytes.len() });
        }
        let text = std::str::from_utf8(bytes).map_err(|error| ManifestError::NotText {
            line: 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count(),
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let entries: Vec<ManifestEntry> = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(|line| ManifestEntry { written: line.to_owned(), path: folder.join(line) })
            .collect();
        if entries.is_empty() {
            return Err(ManifestError::Empty);
        }
        Ok(Self { entries, hash: ManifestHash::of(bytes) })
    }
}

/// Parses a groups file (CSV with the header `path,source,pair`), keyed by the path as the manifest
/// writes it.
///
/// # Errors
/// Another header, a row of another length, or a path that occurs twice.
pub fn parse_groups(bytes: &[u8]) -> Result<BTreeMap<String, FixtureGroup>, ManifestError> {
    let fault = |line: usize, reason: String| ManifestError::Groups { line, reason };
    let mut reader = csv::ReaderBuilder::new().from_reader(bytes);
    let headers = reader.headers().map_err(|error| fault(1, error.to_string()))?;
    if headers.iter().map(str::trim).ne(["path", "source", "pair"]) {
        return Err(fault(1, "expected the header `path,source,pair`".to_owned()));
    }
    let mut groups = BTreeMap::new();
    for (index, row) in reader.records().enumerate() {
        let line = index + 2;
        let row = row.map_err(|error| fault(line, error.to_string()))?;
        let field = |column: usize| row.get(column).unwrap_or_default().trim().to_owned();
        let group = FixtureGroup { source: field(1), pair: field(2) };
        if groups.insert(field(0), group).is_some() {
            return Err(fault(line, format!("path {:?} occurs twice", field(0))));
        }
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_blank_lines_are_skipped_and_paths_resolve() {
        let text = "# heading\n\n images/a b.jpg \n/abs/c.png\nimages/a b.jpg\n";
        let manifest = Manifest::parse(text.as_bytes(), Path::new("/set")).expect("valid");
        let paths: Vec<_> = manifest.entries.iter().map(|entry| entry.path.clone()).collect();
        assert_eq!(
            paths,
            [
                Path::new("/set/images/a b.jpg"),
                Path::new("/abs/c.png"),
                Path::new("/set/images/a b.jpg")
            ]
        );
        assert_eq!(manifest.entries[0].written, "images/a b.jpg");
        assert_eq!(manifest.hash, ManifestHash::of(text.as_bytes()));
    }

    #[test]
    fn refusals() {
        let parse = |bytes: &[u8]| Manifest::parse(bytes, Path::new("."));
        assert!(matches!(parse(b"# only\n\n"), Err(ManifestError::Empty)));
        assert!(matches!(parse(b"a.jpg\n\xff\n"), Err(ManifestError::NotText { line: 2 })));
        assert!(parse(b"a.jpg").is_ok());
    }

    #[test]
    fn groups_are_keyed_by_path() {
        let groups = parse_groups(b"path,source,pair\na.jpg,one,p1\nb.jpg,two,\n").expect("valid");
        assert_eq!(
            groups["a.jpg"],
            FixtureGroup { source: "one".to_owned(), pair: "p1".to_owned() }
        );
        assert!(parse_groups(b"path,src,pair\n").is_err());
        assert!(parse_groups(b"path,source,pair\na,,\na,,\n").is_err());
        assert!(parse_groups(b"path,source,pair\na,b\n").is_err());
    }
}
