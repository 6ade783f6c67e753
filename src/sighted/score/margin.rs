//! A margin written down before the labels are known: within it, a difference will count as none.
//!
//! One immutable file per registration, `records/margins/<sha256, 12>.json`. It lists the label files that
//! were sealed already, so that a margin chosen after seeing labels shows as one. Claims of equivalence
//! need a margin registered before the first seal; when there are several, the narrowest binds, so that
//! registering many buys nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::domain::canonical::Json;
use crate::domain::digest::ContentHash;
use crate::domain::escape::{escape, escape_os};
use crate::domain::label::is_plain;
use crate::store::atomic;
use crate::store::file;

/// Largest margin file, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Longest question, in characters.
pub(in crate::sighted) const MAX_QUESTION: usize = 1000;

/// A registered margin.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Margin {
    /// Largest difference that counts as none, as a share: 0.05 for five points.
    pub margin: f64,
    /// What is to be decided, in the owner's words.
    pub question: String,
    /// Names of the subsets whose tests count as planned, beside `all`.
    pub subsets: Vec<String>,
    /// When. UTC, RFC 3339.
    pub registered_at: String,
    /// The fixture set it is about.
    pub manifest_sha256: String,
    /// Label files that were sealed already: file names.
    pub sealed_then: Vec<String>,
    /// `flipside <version>`
    pub product: String,
}

/// Why a margin is refused.
#[derive(Debug, thiserror::Error)]
pub(in crate::sighted) enum MarginError {
    /// Not between 0 and 1.
    #[error("margin {found}: expected a share above 0 and below 1, like 0.05 for five points")]
    OutOfRange {
        /// What was given.
        found: f64,
    },
    /// Empty, too long, or with hidden characters.
    #[error("the question: expected 1 to {MAX_QUESTION} visible characters, found {:?}", escape(.found))]
    Question {
        /// What was given.
        found: String,
    },
    /// Exactly this was registered already.
    #[error("{} exists: this margin is registered already", escape_os(.path.as_os_str()))]
    Exists {
        /// The file.
        path: PathBuf,
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
        /// What was expected and found.
        reason: String,
    },
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] atomic::WriteError),
}

impl Margin {
    /// Refuses what could not be meant.
    ///
    /// # Errors
    /// A margin that is no share, or a question that is empty, too long or not plain.
    pub(in crate::sighted) fn check(&self) -> Result<(), MarginError> {
        if !(self.margin > 0.0 && self.margin < 1.0) {
            return Err(MarginError::OutOfRange { found: self.margin });
        }
        let length = self.question.chars().count();
        if self.question.trim().is_empty() || length > MAX_QUESTION || !is_plain(&self.question) {
            return Err(MarginError::Question { found: self.question.clone() });
        }
        Ok(())
    }

    fn to_json(&self) -> Json {
        let texts = |list: &[String]| Json::Array(list.iter().map(Json::text).collect());
        Json::object([
            ("kind", Json::text("margin")),
            ("schema", Json::int(1)),
            ("product", Json::text(&self.product)),
            ("margin", Json::Float(self.margin)),
            ("question", Json::text(&self.question)),
            ("subsets", texts(&self.subsets)),
            ("registeredAt", Json::text(&self.registered_at)),
            ("manifestSha256", Json::text(&self.manifest_sha256)),
            ("sealedThen", texts(&self.sealed_then)),
        ])
    }

    fn from_json(tree: &Json) -> Result<Self, String> {
        let text = |key: &str| {
            tree.get(key)
                .and_then(Json::as_str)
                .map(str::to_owned)
                .ok_or_else(|| format!("{key:?}: expected a string"))
        };
        let texts = |key: &str| -> Result<Vec<String>, String> {
            let wrong = || format!("{key:?}: expected an array of strings");
            let items = tree.get(key).and_then(Json::as_array).ok_or_else(wrong)?;
            items
                .iter()
                .map(|item| item.as_str().map(str::to_owned))
                .collect::<Option<_>>()
                .ok_or_else(wrong)
        };
        if text("kind")? != "margin" || tree.get("schema").and_then(Json::as_i64) != Some(1) {
            return Err("expected \"kind\": \"margin\" and \"schema\": 1".to_owned());
        }
        let margin = Self {
            margin: tree
                .get("margin")
                .and_then(Json::as_f64)
                .ok_or("\"margin\": expected a number")?,
            question: text("question")?,
            subsets: texts("subsets")?,
            registered_at: text("registeredAt")?,
            manifest_sha256: text("manifestSha256")?,
            sealed_then: texts("sealedThen")?,
            product: text("product")?,
        };
        margin.check().map_err(|error| error.to_string())?;
        Ok(margin)
    }

    /// Of the file's bytes.
    pub(in crate::sighted) fn hash(&self) -> ContentHash {
        ContentHash::of(self.to_json().to_canonical().as_bytes())
    }

    /// Creates the file in `folder`; an existing one is never touched.
    ///
    /// # Errors
    /// A faulty margin, one that exists, or a failed write.
    pub(in crate::sighted) fn create_in(&self, folder: &Path) -> Result<PathBuf, MarginError> {
        self.check()?;
        let path = folder.join(format!("{}.json", self.hash().short()));
        match atomic::create_new(&path, self.to_json().to_canonical().as_bytes()) {
            Ok(()) => Ok(path),
            Err(error) if error.source.kind() == io::ErrorKind::AlreadyExists => {
                Err(MarginError::Exists { path })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Every margin of a folder, sorted by file name; a folder that is not there holds none.
    ///
    /// # Errors
    /// A file that cannot be read, is not a margin, or is not named by its content.
    pub(in crate::sighted) fn read_all(folder: &Path) -> Result<Vec<Self>, MarginError> {
        let unreadable = |path: &Path| {
            let path = path.to_owned();
            move |source| MarginError::Unreadable { path, source }
        };
        let listing = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            listing => listing.map_err(unreadable(folder))?,
        };
        let mut paths = Vec::new();
        for entry in listing {
            let path = entry.map_err(unreadable(folder))?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                paths.push(path);
            }
        }
        paths.sort();
        paths.iter().map(|path| Self::read(path)).collect()
    }

    fn read(path: &Path) -> Result<Self, MarginError> {
        let invalid = |reason: String| MarginError::Invalid { path: path.to_owned(), reason };
        let bytes = file::read(path, MAX_BYTES).map_err(|error| MarginError::Unreadable {
            path: path.to_owned(),
            source: error.into(),
        })?;
        let tree = Json::parse(&bytes).map_err(|error| invalid(error.to_string()))?;
        let margin = Self::from_json(&tree).map_err(invalid)?;
        let short = ContentHash::of(&bytes).short();
        if path.file_stem().is_none_or(|stem| stem != short.as_str()) {
            return Err(invalid(format!("its content has the hash {short}, not its name")));
        }
        Ok(margin)
    }
}

/// The margin claims are held against.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct AppliedMargin {
    /// It.
    pub margin: Margin,
    /// Registered before any label file was sealed.
    pub before_labels: bool,
    /// How many were registered in the same state, of which this is the narrowest.
    pub of: usize,
}

impl AppliedMargin {
    /// The narrowest margin for `manifest` among those registered before the first seal, or, when there is
    /// none, among the later ones.
    pub(in crate::sighted) fn choose(
        margins: &[Margin],
        first_seal: Option<&str>,
        manifest: &str,
    ) -> Option<Self> {
        let time = |text: &str| text.parse::<jiff::Timestamp>().ok();
        let before = |margin: &Margin| {
            margin.sealed_then.is_empty()
                && match (time(&margin.registered_at), first_seal.and_then(time)) {
                    (Some(registered), Some(sealed)) => registered < sealed,
                    _ => false,
                }
        };
        let (early, late): (Vec<&Margin>, Vec<&Margin>) = margins
            .iter()
            .filter(|margin| margin.manifest_sha256 == manifest)
            .partition(|margin| before(margin));
        let before_labels = !early.is_empty();
        let list = if before_labels { early } else { late };
        let of = list.len();
        list.into_iter()
            .min_by(|left, right| {
                left.margin.total_cmp(&right.margin).then(left.hash().cmp(&right.hash()))
            })
            .map(|margin| Self { margin: margin.clone(), before_labels, of })
    }

    /// How wide, when and for which question. Raw.
    pub(in crate::sighted) fn in_words(&self) -> String {
        let when = if self.before_labels { "before" } else { "AFTER" };
        let Margin { margin, question, .. } = &self.margin;
        format!("{:.1} points, registered {when} labels were known: {question}", margin * 100.0)
    }

    /// As a score holds it.
    pub(in crate::sighted) fn to_json(&self) -> Json {
        Json::object([
            ("sha256", Json::text(self.margin.hash().to_hex())),
            ("margin", Json::Float(self.margin.margin)),
            ("question", Json::text(&self.margin.question)),
            ("registeredAt", Json::text(&self.margin.registered_at)),
            ("beforeLabels", Json::Bool(self.before_labels)),
            ("narrowestOf", Json::int(self.of as u64)),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn margin(value: f64, registered_at: &str) -> Margin {
        Margin {
            margin: value,
            question: "may int8 replace fp32?".to_owned(),
            subsets: Vec::new(),
            registered_at: registered_at.to_owned(),
            manifest_sha256: "aa".repeat(32),
            sealed_then: Vec::new(),
            product: "flipside 0.1.0".to_owned(),
        }
    }

    #[test]
    fn a_margin_is_created_once_and_read_back() {
        let folder = tempfile::tempdir().expect("temporary folder");
        assert!(Margin::read_all(&folder.path().join("none")).expect("no folder").is_empty());
        let first = margin(0.05, "2026-01-01T00:00:00+00:00");
        let path = first.create_in(folder.path()).expect("new");
        assert!(matches!(first.create_in(folder.path()), Err(MarginError::Exists { .. })));
        assert_eq!(Margin::read_all(folder.path()).expect("readable"), [first]);
        let text = fs::read_to_string(&path).expect("readable").replace("0.05", "0.06");
        fs::remove_file(&path).expect("removable");
        atomic::write(&path, text.as_bytes()).expect("written");
        let error = Margin::read_all(folder.path()).expect_err("changed").to_string();
        assert!(error.contains("not its name"), "{error}");
    }

    #[test]
    fn what_could_not_be_meant_is_refused() {
        let good = margin(0.05, "2026-01-01T00:00:00+00:00");
        assert!(good.check().is_ok());
        for value in [0.0, 1.0, 5.0, -0.1, f64::NAN] {
            let bad = Margin { margin: value, ..good.clone() };
            assert!(matches!(bad.check(), Err(MarginError::OutOfRange { .. })), "{value}");
        }
        for question in ["", "  ", "a\u{202e}b"] {
            let bad = Margin { question: question.to_owned(), ..good.clone() };
            assert!(matches!(bad.check(), Err(MarginError::Question { .. })), "{question:?}");
        }
    }

    #[test]
    fn the_narrowest_margin_registered_before_the_first_seal_binds() {
        let seal = Some("2026-01-10T00:00:00+00:00");
        let early = margin(0.05, "2026-01-01T00:00:00+00:00");
        let narrow = margin(0.02, "2026-01-02T00:00:00+00:00");
        let late = margin(0.01, "2026-01-11T00:00:00+00:00");
        let knowing = Margin { sealed_then: vec!["x.jsonl".to_owned()], ..early.clone() };
        let manifest = "aa".repeat(32);
        let choose = |list: &[Margin]| {
            AppliedMargin::choose(list, seal, &manifest)
                .map(|it| (it.margin.margin, it.before_labels, it.of))
        };
        assert_eq!(choose(&[early.clone(), late.clone(), narrow]), Some((0.02, true, 2)));
        assert_eq!(choose(&[late]), Some((0.01, false, 1)));
        assert_eq!(choose(&[knowing]), Some((0.05, false, 1)));
        assert_eq!(choose(&[]), None);
        assert_eq!(AppliedMargin::choose(&[early], seal, "other"), None);
    }
}
