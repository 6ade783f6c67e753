//! Reads evidence from disk: report, label files, taxonomy, groups, margins.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::evidence::{Evidence, Exposure, JoinError, NamedLabelFile, Sources};
use super::margin::{Margin, MarginError};
use crate::domain::digest::{FixtureId, ReportHash};
use crate::domain::escape::{escape, escape_os};
use crate::domain::manifest::{self, FixtureGroup};
use crate::domain::taxonomy::Taxonomy;
use crate::sighted::decision::report::ParityReport;
use crate::store::label_file::{LabelFile, LabelFileError};

/// Largest report, in bytes.
const MAX_REPORT_BYTES: usize = 64 << 20;

/// Largest taxonomy or groups file, in bytes.
const MAX_SIDE_FILE_BYTES: usize = 16 << 20;

/// Where evidence lies.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::sighted) struct Places {
    /// The workspace, for paths relative to it.
    pub root: Option<PathBuf>,
    /// The parity report.
    pub report: PathBuf,
    /// Sealed label files.
    pub labels: Vec<PathBuf>,
    /// For categories.
    pub taxonomy: Option<PathBuf>,
    /// Sources and clusters.
    pub groups: Option<PathBuf>,
    /// Folder of registered margins.
    pub margins: Option<PathBuf>,
    /// Who saw what, and when.
    pub exposures: Vec<Exposure>,
    /// Flagged by an analyst.
    pub not_photographs: BTreeSet<FixtureId>,
}

/// Why evidence cannot be had.
#[derive(Debug, thiserror::Error)]
pub(in crate::sighted) enum GatherError {
    /// It cannot be read.
    #[error("cannot read {}: {source}", escape_os(.path.as_os_str()))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It does not say what it should.
    #[error("{}: {}", escape_os(.path.as_os_str()), escape(.reason))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What was expected and found.
        reason: String,
    },
    /// A label file.
    #[error(transparent)]
    Labels(#[from] LabelFileError),
    /// A margin.
    #[error(transparent)]
    Margin(#[from] MarginError),
    /// Files that do not belong together.
    #[error(transparent)]
    Join(#[from] JoinError),
}

/// Reads everything and joins it.
///
/// # Errors
/// The first file that cannot be used, or files that do not belong together.
pub(in crate::sighted) fn gather(places: &Places) -> Result<Evidence, GatherError> {
    let (report, report_hash) = read_report(&places.report)?;
    let mut label_files = Vec::new();
    for path in &places.labels {
        label_files.push(NamedLabelFile {
            path: shown(path, places.root.as_deref()),
            file: LabelFile::read(path)?,
        });
    }
    let taxonomy = places.taxonomy.as_deref().map(read_taxonomy).transpose()?;
    let groups = places.groups.as_deref().map(read_groups).transpose()?.unwrap_or_default();
    let margins = match &places.margins {
        Some(folder) => Margin::read_all(folder)?,
        None => Vec::new(),
    };
    Ok(Evidence::join(&Sources {
        report: &report,
        report_hash,
        label_files: &label_files,
        taxonomy: taxonomy.as_ref(),
        groups: &groups,
        exposures: &places.exposures,
        not_photographs: &places.not_photographs,
        margins: &margins,
    })?)
}

/// A report and the hash of its bytes.
///
/// # Errors
/// Unreadable, too large, or no report of schema 2.
pub(in crate::sighted) fn read_report(
    path: &Path,
) -> Result<(ParityReport, ReportHash), GatherError> {
    let bytes = read_bounded(path, MAX_REPORT_BYTES)?;
    let invalid = |reason: String| GatherError::Invalid { path: path.to_owned(), reason };
    let report: ParityReport = serde_json::from_slice(&bytes)
        .map_err(|error| invalid(format!("not a parity report: {error}")))?;
    if report.schema_version != 2 {
        return Err(invalid(format!("schemaVersion {}, expected 2", report.schema_version)));
    }
    Ok((report, ReportHash::of(&bytes)))
}

fn read_taxonomy(path: &Path) -> Result<Taxonomy, GatherError> {
    let invalid = |reason: String| GatherError::Invalid { path: path.to_owned(), reason };
    let text = String::from_utf8(read_bounded(path, MAX_SIDE_FILE_BYTES)?)
        .map_err(|_| invalid("expected UTF-8 text".to_owned()))?;
    Taxonomy::parse(&text).map_err(|error| invalid(error.to_string()))
}

fn read_groups(path: &Path) -> Result<BTreeMap<String, FixtureGroup>, GatherError> {
    let bytes = read_bounded(path, MAX_SIDE_FILE_BYTES)?;
    manifest::parse_groups(&bytes)
        .map_err(|error| GatherError::Invalid { path: path.to_owned(), reason: error.to_string() })
}

fn read_bounded(path: &Path, limit: usize) -> Result<Vec<u8>, GatherError> {
    let unreadable = |source| GatherError::Unreadable { path: path.to_owned(), source };
    let file = fs::File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > limit {
        let reason = format!("more than {limit} bytes");
        return Err(GatherError::Invalid { path: path.to_owned(), reason });
    }
    Ok(bytes)
}

/// A path as evidence names it: relative to the workspace when inside it, with forward slashes.
pub(in crate::sighted) fn shown(path: &Path, root: Option<&Path>) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let root = root.map(|root| std::path::absolute(root).unwrap_or_else(|_| root.to_owned()));
    let inside = root.as_deref().and_then(|root| absolute.strip_prefix(root).ok());
    inside.unwrap_or(path).to_string_lossy().replace('\\', "/")
}

/// Files with an extension in a folder, sorted by name; a folder that is not there holds none.
///
/// # Errors
/// The folder cannot be listed.
pub(in crate::sighted) fn files_in(
    folder: &Path,
    extension: &str,
) -> Result<Vec<PathBuf>, GatherError> {
    let unreadable = |source| GatherError::Unreadable { path: folder.to_owned(), source };
    let listing = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listing => listing.map_err(unreadable)?,
    };
    let mut paths = Vec::new();
    for entry in listing {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|found| found == extension) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// The newest report of a folder by the time it carries, then by name; `None` when there is none.
///
/// Files that are no reports of schema 2 with fixture hashes are passed over.
///
/// # Errors
/// The folder cannot be listed.
pub(in crate::sighted) fn newest_report(folder: &Path) -> Result<Option<PathBuf>, GatherError> {
    let mut newest: Option<(String, PathBuf)> = None;
    for path in files_in(folder, "json")? {
        let Ok((report, _)) = read_report(&path) else { continue };
        if report.flipside.is_none() {
            continue;
        }
        let key = (report.generated_at, path);
        if newest.as_ref().is_none_or(|found| *found < key) {
            newest = Some(key);
        }
    }
    Ok(newest.map(|(_, path)| path))
}
