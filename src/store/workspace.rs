//! The workspace: a folder with a `flipside.toml`, found by walking up from where we were started.
//!
//! This module names every place in it. It knows nothing of what lies there.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::domain::digest::ManifestHash;
use crate::domain::escape::{escape, escape_os};
use crate::store::file;

/// Name of the file that makes a folder a workspace.
pub const CONFIG_NAME: &str = "flipside.toml";

/// What writes the files, as they name it.
pub const PRODUCT: &str = concat!("flipside ", env!("CARGO_PKG_VERSION"));

/// Largest `flipside.toml`, in bytes.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// `flipside.toml`, paths as written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// Always 1.
    pub schema: u32,
    /// What is compared.
    pub compare: CompareConfig,
    /// On which pictures.
    pub fixtures: FixturesConfig,
    /// How they are labelled.
    pub labels: Option<LabelsConfig>,
}

/// `[compare]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompareConfig {
    /// Side A.
    pub reference: PathBuf,
    /// One or more sides B; the first is the default.
    pub candidates: Vec<PathBuf>,
    /// The reference's sidecar, used for both sides.
    pub sidecar: PathBuf,
}

/// `[fixtures]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FixturesConfig {
    /// The manifest.
    pub manifest: PathBuf,
    /// Optional CSV `path,source,pair`.
    pub groups: Option<PathBuf>,
}

/// `[labels]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LabelsConfig {
    /// The taxonomy file.
    pub taxonomy: PathBuf,
    /// Number of shards the manifest is cut into.
    pub shards: u32,
    /// Share of fixtures two raters see, 0..=1.
    #[serde(default = "default_overlap")]
    pub overlap: f64,
    /// Share shown twice to one rater, 0..=1.
    #[serde(default = "default_repeats")]
    pub repeats: f64,
    /// Seed of every shuffle.
    #[serde(default)]
    pub seed: u64,
}

fn default_overlap() -> f64 {
    0.20
}

fn default_repeats() -> f64 {
    0.05
}

/// A found workspace.
#[derive(Debug, Clone, PartialEq)]
pub struct Workspace {
    /// The folder that holds `flipside.toml`.
    pub root: PathBuf,
    /// Its content.
    pub config: Config,
}

/// Why there is no usable workspace.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// No `flipside.toml` here or above.
    #[error("no {CONFIG_NAME} in {} or any folder above it; `flipside init` makes one, `flipside demo DIR` lays out an example", escape_os(.start.as_os_str()))]
    NotFound {
        /// Where the search began.
        start: PathBuf,
    },
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
        /// Line, expectation and what was found.
        reason: String,
    },
}

impl Workspace {
    /// Finds the workspace `start` lies in.
    ///
    /// # Errors
    /// None found, unreadable or invalid.
    pub fn find(start: &Path) -> Result<Self, WorkspaceError> {
        let absolute = std::path::absolute(start).unwrap_or_else(|_| start.to_owned());
        absolute
            .ancestors()
            .find(|folder| folder.join(CONFIG_NAME).is_file())
            .map_or(Err(WorkspaceError::NotFound { start: absolute.clone() }), Self::open)
    }

    /// Opens the workspace at `root`.
    ///
    /// # Errors
    /// Unreadable or invalid.
    pub fn open(root: &Path) -> Result<Self, WorkspaceError> {
        let path = root.join(CONFIG_NAME);
        let text = file::read_text(&path, MAX_CONFIG_BYTES).map_err(|error| {
            WorkspaceError::Unreadable { path: path.clone(), source: error.into() }
        })?;
        let config = parse_config(&text)
            .map_err(|reason| WorkspaceError::Invalid { path: path.clone(), reason })?;
        Ok(Self { root: root.to_owned(), config })
    }

    /// A configured path, resolved against the root.
    pub fn resolve(&self, written: &Path) -> PathBuf {
        self.root.join(written)
    }

    /// Sealed label files.
    pub fn labels_dir(&self) -> PathBuf {
        self.root.join("labels")
    }

    /// Everything of this machine: databases and reports.
    pub fn sessions_dir(&self) -> PathBuf {
        self.root.join("sessions")
    }

    /// Raters' databases.
    pub fn rater_databases_dir(&self) -> PathBuf {
        self.sessions_dir().join("labels")
    }

    /// Verdicts and exposures.
    pub fn runs_database(&self) -> PathBuf {
        self.sessions_dir().join("runs.db")
    }

    /// Raw outputs of earlier runs; may be deleted.
    pub fn outputs_database(&self) -> PathBuf {
        self.sessions_dir().join("outputs.db")
    }

    /// Hashes of fixtures, by what their files look like from outside; may be deleted.
    pub fn fixture_index(&self) -> PathBuf {
        self.sessions_dir().join("fixture-index.json")
    }

    /// What was read off fixtures for the contact sheet; may be deleted.
    pub fn fixture_facts(&self) -> PathBuf {
        self.sessions_dir().join("fixture-facts.json")
    }

    /// Fixtures flagged in a manifest and not yet left out of a next version.
    pub fn fixture_flags(&self, manifest: ManifestHash) -> PathBuf {
        self.sessions_dir().join(format!("fixture-flags.{}.json", manifest.short()))
    }

    /// Parity reports.
    pub fn reports_dir(&self) -> PathBuf {
        self.sessions_dir().join("reports")
    }

    /// Release records.
    pub fn records_dir(&self) -> PathBuf {
        self.root.join("records")
    }

    /// Sign-offs, below the records.
    pub fn signoffs_dir(&self) -> PathBuf {
        self.records_dir().join("signoffs")
    }
}

/// What every layout says.
#[derive(Deserialize)]
struct Layout {
    schema: u32,
}

fn parse_config(text: &str) -> Result<Config, String> {
    let read = |error: toml::de::Error| {
        let line = error
            .span()
            .map_or(1, |span| 1 + text[..span.start.min(text.len())].matches('\n').count());
        format!("line {line}: {}", error.message())
    };
    // First, because a later layout may lack what this one asks for.
    let Layout { schema } = toml::from_str(text).map_err(read)?;
    if schema != 1 {
        return Err(format!("schema {schema}, expected 1"));
    }
    let config: Config = toml::from_str(text).map_err(read)?;
    if config.compare.candidates.is_empty() {
        return Err("[compare] candidates: expected at least one path, found none".to_owned());
    }
    if let Some(labels) = &config.labels {
        if labels.shards == 0 {
            return Err("[labels] shards: expected at least 1, found 0".to_owned());
        }
        for (name, share) in [("overlap", labels.overlap), ("repeats", labels.repeats)] {
            if !(0.0..=1.0).contains(&share) {
                return Err(format!(
                    "[labels] {name}: expected a share from 0 to 1, found {share}"
                ));
            }
        }
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "schema = 1\n[compare]\nreference = \"a.onnx\"\ncandidates = [\"b.onnx\"]\nsidecar = \"a.meta.json\"\n[fixtures]\nmanifest = \"m.txt\"\n[labels]\ntaxonomy = \"t.toml\"\nshards = 4\noverlap = 0.3\nfuture = true\n";

    #[test]
    fn found_from_a_folder_below() {
        let folder = tempfile::tempdir().expect("temporary folder");
        crate::store::atomic::write(&folder.path().join(CONFIG_NAME), TEXT.as_bytes())
            .expect("written");
        let below = folder.path().join("x/y");
        std::fs::create_dir_all(&below).expect("folders");
        let workspace = Workspace::find(&below).expect("found");
        assert_eq!(
            workspace.resolve(&workspace.config.fixtures.manifest),
            workspace.root.join("m.txt")
        );
        assert_eq!(workspace.config.labels.as_ref().map(|labels| labels.repeats), Some(0.05));
    }

    #[test]
    fn refusals_name_file_line_and_reason() {
        for (from, to, message) in [
            ("schema = 1", "schema = 9", "schema 9, expected 1"),
            ("schema = 1\n[compare]", "schema = 9\n[other]", "schema 9, expected 1"),
            ("[\"b.onnx\"]", "[]", "at least one path"),
            ("shards = 4", "shards = 0", "at least 1"),
            ("overlap = 0.3", "overlap = 1.5", "from 0 to 1"),
            ("sidecar", "sidekick", "line 2: missing field `sidecar`"),
            ("shards = 4", "shards = \"x\"", "line 10"),
        ] {
            let error = parse_config(&TEXT.replace(from, to)).expect_err(to);
            assert!(error.contains(message), "{to}: {error}");
        }
        assert!(parse_config(TEXT).is_ok());
        let folder = tempfile::tempdir().expect("temporary folder");
        assert!(matches!(Workspace::find(folder.path()), Err(WorkspaceError::NotFound { .. })));
    }
}
