//! Reads evidence from disk: report, label files, taxonomy, groups, margins.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::evidence::{Evidence, Exposure, JoinError, NamedLabelFile, Sources};
use super::margin::{Margin, MarginError};
use crate::domain::canonical::Json;
use crate::domain::digest::{ContentHash, FixtureId, ReportHash};
use crate::domain::escape::{escape, escape_os};
use crate::domain::manifest::{self, FixtureGroup};
use crate::domain::taxonomy::Taxonomy;
use crate::sighted::decision::report::read::MAX_REPORT_BYTES;
use crate::sighted::decision::report::{self, ParityReport, Sides};
use crate::sighted::runs::verdicts::{self, Sighting, VerdictError};
use crate::store::file;
use crate::store::label_file::{LabelFile, LabelFileError};

/// Largest taxonomy or groups file, in bytes.
const MAX_SIDE_FILE_BYTES: u64 = 16 << 20;

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
    /// The database of runs: who saw what and when, and what reviewers flagged. Not there: nothing seen.
    pub runs: Option<PathBuf>,
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
    /// The database of runs.
    #[error(transparent)]
    Runs(#[from] VerdictError),
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
    let (groups, groups_hash) = match &places.groups {
        Some(path) => read_groups(path).map(|(groups, hash)| (groups, Some(hash)))?,
        None => (BTreeMap::new(), None),
    };
    let margins = match &places.margins {
        Some(folder) => Margin::read_all(folder)?,
        None => Vec::new(),
    };
    let events = places.runs.as_deref().map(verdicts::read).transpose()?.unwrap_or_default();
    let exposures = verdicts::sightings(&events).into_iter().map(exposure_of).collect::<Vec<_>>();
    let not_photographs = verdicts::not_photographs(&events).into_keys().collect();
    Ok(Evidence::join(&Sources {
        report: &report,
        report_hash,
        label_files: &label_files,
        taxonomy: taxonomy.as_ref(),
        groups: &groups,
        groups_hash,
        exposures: &exposures,
        not_photographs: &not_photographs,
        margins: &margins,
    })?)
}

/// A time that cannot be read counts as before everything: nothing is called blind on its account.
fn exposure_of(sighting: Sighting) -> Exposure {
    Exposure {
        rater: sighting.who,
        fixture: sighting.fixture,
        seen_at: sighting.seen_at.parse().unwrap_or(jiff::Timestamp::UNIX_EPOCH),
    }
}

/// A report that holds together, and the hash of its bytes.
///
/// # Errors
/// Unreadable, too large, no report of schema 2, or one that contradicts itself.
pub(in crate::sighted) fn read_report(
    path: &Path,
) -> Result<(ParityReport, ReportHash), GatherError> {
    let bytes = bytes_of(path, MAX_REPORT_BYTES)?;
    parse_report(&bytes).map_err(|reason| GatherError::Invalid { path: path.to_owned(), reason })
}

fn parse_report(bytes: &[u8]) -> Result<(ParityReport, ReportHash), String> {
    let read = report::read::read(bytes).map_err(|error| error.to_string())?;
    Ok((read.report, read.hash))
}

/// What a stored score was made of beside its files: read from it, so that computing it again elsewhere
/// does not depend on what that machine has seen since.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::sighted) struct Pinned {
    /// Exposures that came before an answer.
    pub exposures: Vec<Exposure>,
    /// Flagged by an analyst.
    pub not_photographs: BTreeSet<FixtureId>,
    /// The margin: hash of its file, and of how many it was the narrowest.
    pub margin: Option<(ContentHash, usize)>,
    /// Whether a groups file was used.
    pub groups: bool,
}

impl Pinned {
    /// Reads it from a stored score.
    ///
    /// # Errors
    /// The field that is not as expected.
    pub(in crate::sighted) fn of(score: &Json) -> Result<Self, String> {
        let list = |key: &str| {
            let found = score.at(&["evidence", key]).and_then(Json::as_array);
            found.ok_or_else(|| format!("evidence.{key}: expected an array"))
        };
        let mut exposures = Vec::new();
        for item in list("exposures")? {
            let text = |key: &str| {
                let found = item.get(key).and_then(Json::as_str);
                found.ok_or_else(|| format!("evidence.exposures: {key}: expected a string"))
            };
            exposures.push(Exposure {
                rater: text("rater")?.parse().map_err(|error| format!("{error}"))?,
                fixture: text("fixture")?.parse().map_err(|error| format!("{error}"))?,
                seen_at: text("seenAt")?.parse().map_err(|error| format!("{error}"))?,
            });
        }
        let mut not_photographs = BTreeSet::new();
        for item in list("notPhotographs")? {
            let id = item.as_str().and_then(|text| text.parse().ok());
            not_photographs.insert(id.ok_or("evidence.notPhotographs: expected fixture hashes")?);
        }
        let margin = match score.at(&["evidence", "margin"]) {
            Some(Json::Null) => None,
            Some(margin) => {
                let hash = margin.get("sha256").and_then(Json::as_str);
                let of = margin.get("narrowestOf").and_then(Json::as_i64);
                let read = hash
                    .and_then(|hash| hash.parse().ok())
                    .zip(of.and_then(|of| usize::try_from(of).ok()));
                Some(read.ok_or("evidence.margin: expected sha256 and narrowestOf")?)
            }
            None => return Err("evidence.margin: expected an object or null".to_owned()),
        };
        let groups = score.at(&["evidence", "groupsSha256"]).and_then(Json::as_str).is_some();
        Ok(Self { exposures, not_photographs, margin, groups })
    }
}

/// Files of a score that is computed again.
#[derive(Debug, Clone, Copy)]
pub(in crate::sighted) struct Again<'a> {
    /// The workspace; relative paths are relative to it.
    pub root: &'a Path,
    /// Bytes of the report.
    pub report: &'a [u8],
    /// Label files: path and bytes.
    pub labels: &'a [(PathBuf, Vec<u8>)],
    /// For categories.
    pub taxonomy: Option<&'a Path>,
    /// Sources and clusters; read only when the stored score names a groups file.
    pub groups: Option<&'a Path>,
    /// Folder of registered margins.
    pub margins: &'a Path,
    /// What the stored score says it was made of.
    pub pinned: &'a Pinned,
}

/// Joins the evidence of a stored score again.
///
/// # Errors
/// The first file that cannot be used, or files that do not belong together.
pub(in crate::sighted) fn gather_again(again: &Again<'_>) -> Result<Evidence, GatherError> {
    let inside = |path: &Path| again.root.join(path);
    let (report, report_hash) = parse_report(again.report)
        .map_err(|reason| GatherError::Invalid { path: "parity report".into(), reason })?;
    let mut label_files = Vec::new();
    for (path, bytes) in again.labels {
        let path = inside(path);
        let file = LabelFile::parse(bytes)
            .map_err(|fault| LabelFileError::Invalid { path: path.clone(), fault })?;
        label_files.push(NamedLabelFile { path: shown(&path, Some(again.root)), file });
    }
    let taxonomy = again.taxonomy.map(inside).as_deref().map(read_taxonomy).transpose()?;
    let (groups, groups_hash) = match again.groups.filter(|_| again.pinned.groups) {
        Some(path) => read_groups(&inside(path)).map(|(groups, hash)| (groups, Some(hash)))?,
        None => (BTreeMap::new(), None),
    };
    let margins: Vec<Margin> = Margin::read_all(&inside(again.margins))?
        .into_iter()
        .filter(|margin| again.pinned.margin.is_some_and(|(hash, _)| hash == margin.hash()))
        .collect();
    let mut evidence = Evidence::join(&Sources {
        report: &report,
        report_hash,
        label_files: &label_files,
        taxonomy: taxonomy.as_ref(),
        groups: &groups,
        groups_hash,
        exposures: &again.pinned.exposures,
        not_photographs: &again.pinned.not_photographs,
        margins: &margins,
    })?;
    if let (Some(applied), Some((_, of))) = (&mut evidence.margin, again.pinned.margin) {
        applied.of = of;
    }
    Ok(evidence)
}

fn read_taxonomy(path: &Path) -> Result<Taxonomy, GatherError> {
    let invalid = |reason: String| GatherError::Invalid { path: path.to_owned(), reason };
    let text = String::from_utf8(bytes_of(path, MAX_SIDE_FILE_BYTES)?)
        .map_err(|_| invalid("expected UTF-8 text".to_owned()))?;
    Taxonomy::parse(&text).map_err(|error| invalid(error.to_string()))
}

fn read_groups(path: &Path) -> Result<(BTreeMap<String, FixtureGroup>, ContentHash), GatherError> {
    let bytes = bytes_of(path, MAX_SIDE_FILE_BYTES)?;
    let groups = manifest::parse_groups(&bytes).map_err(|error| GatherError::Invalid {
        path: path.to_owned(),
        reason: error.to_string(),
    })?;
    Ok((groups, ContentHash::of(&bytes)))
}

fn bytes_of(path: &Path, limit: u64) -> Result<Vec<u8>, GatherError> {
    file::read(path, limit)
        .map_err(|error| GatherError::Unreadable { path: path.to_owned(), source: error.into() })
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

/// A report as it says itself: enough to choose one among many, not to count on.
#[derive(Debug, Clone)]
pub(in crate::sighted) struct ReportGlance {
    /// The file.
    pub path: PathBuf,
    /// When it was made, as it writes it.
    pub generated_at: String,
    /// Sha256 of the artifacts.
    pub artifacts: Sides<String>,
}

/// The reports of a folder, oldest first by the time they carry, then by name.
///
/// Files that are no reports of schema 2 with fixture hashes are passed over.
///
/// # Errors
/// The folder cannot be listed.
pub(in crate::sighted) fn reports_in(folder: &Path) -> Result<Vec<ReportGlance>, GatherError> {
    let mut found: Vec<ReportGlance> =
        files_in(folder, "json")?.into_iter().filter_map(glance).collect();
    found.sort_by(|left, right| {
        (&left.generated_at, &left.path).cmp(&(&right.generated_at, &right.path))
    });
    Ok(found)
}

fn glance(path: PathBuf) -> Option<ReportGlance> {
    let bytes = bytes_of(&path, MAX_REPORT_BYTES).ok()?;
    let report: ParityReport = serde_json::from_slice(&bytes).ok()?;
    let is_ours = report.schema_version == 2 && report.flipside.is_some();
    let Sides { a, b } = report.artifacts;
    is_ours.then_some(ReportGlance {
        path,
        generated_at: report.generated_at,
        artifacts: Sides { a: a.sha256, b: b.sha256 },
    })
}
