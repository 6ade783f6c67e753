//! The sealed label file: header, one line per answer, trailer. Text made to be reviewed in a pull
//! request, complete or refused.
//!
//! Each line is canonical JSON and ends with a line feed; the trailer holds the count and the sha256 of
//! everything before it. Files are created, never replaced. Knows nothing of databases, or of why a
//! label was given.

mod read;
mod write;

use std::fs;
use std::path::{Path, PathBuf};

use crate::domain::canonical::Json;
use crate::domain::digest::{ChainHead, FixtureId, LabelFileHash, ManifestHash, TaxonomyHash};
use crate::domain::escape::escape_os;
use crate::domain::label::Label;
use crate::domain::shard::{RaterName, Shard};
use crate::store::atomic::{self, WriteError};
use crate::store::file;

use read::parse;
use write::to_bytes;

/// Largest label file, in bytes.
pub const MAX_BYTES: u64 = 64 << 20;

/// Longest line, in bytes.
pub const MAX_LINE: usize = 1 << 20;

macro_rules! file_words {
    ($(#[$doc:meta])* $name:ident { $($(#[$item_doc:meta])* $item:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$item_doc])* $item),*
        }

        impl $name {
            /// The word in the file.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$item => $word),*
                }
            }

            /// The value a word stands for.
            pub fn from_word(word: &str) -> Option<Self> {
                [$(Self::$item),*].into_iter().find(|value| value.word() == word)
            }
        }
    };
}

file_words! {
    /// How far the labels are known to have been given blind. The order is from best to worst.
    BlindStatus {
        /// Sealed before there was anything to see.
        Proven = "proven",
        /// The program kept model output away; it existed.
        Enforced = "enforced",
        /// Somebody says so.
        Asserted = "asserted",
        /// Something was seen.
        Broken = "broken",
    }
}

file_words! {
    /// What kept the labelling process from opening other files.
    Confinement {
        /// The kernel did.
        Landlock = "landlock",
        /// Nothing but the program itself.
        None = "none",
    }
}

/// Who labelled what, on which terms.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelHeader {
    /// `flipside <version>`
    pub product: String,
    /// The fixture manifest.
    pub manifest: ManifestHash,
    /// Different fixtures in the whole manifest.
    pub fixture_count: u64,
    /// The taxonomy.
    pub taxonomy: TaxonomyHash,
    /// Categories that were asked for, in the order shown. Empty when only presence was.
    pub groups: Vec<String>,
    /// Which part of the manifest.
    pub shard: Shard,
    /// Seed of the plan.
    pub seed: u64,
    /// Share of fixtures in two shards.
    pub overlap: f64,
    /// Share of fixtures shown twice.
    pub repeats: f64,
    /// Who.
    pub rater: RaterName,
    /// First opening of the shard. UTC, RFC 3339.
    pub opened_at: String,
    /// When it was sealed.
    pub sealed_at: String,
    /// Newest event of the rater's log when it was sealed; absent for imported labels.
    pub chain_head: Option<ChainHead>,
    /// How far blindness is known.
    pub blind: BlindStatus,
    /// What enforced it.
    pub confinement: Confinement,
    /// The file this one amends.
    pub supersedes: Option<LabelFileHash>,
}

/// How a picture was seen.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenAs {
    /// `kitty`, `iterm`, `sixel`, `blocks`, `text` or another word.
    pub protocol: String,
    /// Columns and rows the picture had.
    pub cells: [u32; 2],
    /// Pixels it had in effect.
    pub pixels: [u32; 2],
    /// Largest magnification used.
    pub zoom: f64,
}

/// One answer.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelLine {
    /// Of which fixture.
    pub fixture: FixtureId,
    /// 1, or 2 for a hidden repeat.
    pub pass: u8,
    /// What was said.
    pub label: Label,
    /// When. UTC, RFC 3339.
    pub labelled_at: String,
    /// How long it took, when known.
    pub seconds: Option<f64>,
    /// Model output, or another's label, was known to the rater.
    pub exposed: bool,
    /// How the picture was seen, when known.
    pub seen_as: Option<SeenAs>,
    /// Why it differs from the file it supersedes; absent when it does not.
    pub amended: Option<String>,
}

/// A fixture left out by the rater.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedLine {
    /// Which.
    pub fixture: FixtureId,
    /// Which showing.
    pub pass: u8,
    /// Why.
    pub reason: String,
}

/// A sealed label file.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelFile {
    /// Who labelled what.
    pub header: LabelHeader,
    /// Answers, sorted by fixture, then pass.
    pub labels: Vec<LabelLine>,
    /// What was left out, sorted likewise.
    pub skipped: Vec<SkippedLine>,
    /// Of all bytes of the file: what evidence names.
    pub sha256: LabelFileHash,
}

/// Why bytes are no label file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct LabelFileFault {
    /// 1-based.
    pub line: usize,
    /// What was expected and found.
    pub reason: String,
}

/// Why a label file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LabelFileError {
    /// It cannot be read.
    #[error("cannot read {}: {source}", escape_os(.path.as_os_str()))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// It does not say what it should.
    #[error("{}: {fault}", escape_os(.path.as_os_str()))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Where and why.
        fault: LabelFileFault,
    },
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// The name of a label file; `revision` 1 is the first seal.
pub fn file_name(manifest: ManifestHash, shard: Shard, rater: &RaterName, revision: u32) -> String {
    let end = if revision <= 1 { String::new() } else { format!(".{revision}") };
    format!("{}.shard-{}-of-{}.{rater}{end}.jsonl", manifest.short(), shard.index, shard.of)
}

impl LabelFile {
    /// A file of these lines. Sorts them and computes the hash.
    pub fn new(
        header: LabelHeader,
        mut labels: Vec<LabelLine>,
        mut skipped: Vec<SkippedLine>,
    ) -> Self {
        labels.sort_by_key(|line| (line.fixture, line.pass));
        skipped.sort_by_key(|line| (line.fixture, line.pass));
        let bytes = to_bytes(&header, &labels, &skipped);
        Self { header, labels, skipped, sha256: LabelFileHash::of(&bytes) }
    }

    /// The bytes of the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        to_bytes(&self.header, &self.labels, &self.skipped)
    }

    /// Reads the bytes of a file; all of it or nothing.
    ///
    /// # Errors
    /// The first line that is not as it should be.
    pub fn parse(bytes: &[u8]) -> Result<Self, LabelFileFault> {
        parse(bytes)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Unreadable, too large, or not a label file.
    pub fn read(path: &Path) -> Result<Self, LabelFileError> {
        let bytes = file::read(path, MAX_BYTES).map_err(|error| LabelFileError::Unreadable {
            path: path.to_owned(),
            source: error.into(),
        })?;
        Self::parse(&bytes)
            .map_err(|fault| LabelFileError::Invalid { path: path.to_owned(), fault })
    }

    /// Creates the file in `folder` under its own name, never replacing another: as the first seal, or
    /// under the next free number when it supersedes one.
    ///
    /// # Errors
    /// A first seal that exists already, or any failed write.
    pub fn create_in(&self, folder: &Path) -> Result<PathBuf, LabelFileError> {
        let header = &self.header;
        let named = |revision| {
            folder.join(file_name(header.manifest, header.shard, &header.rater, revision))
        };
        let revision = if header.supersedes.is_none() {
            1
        } else {
            (2..=u32::MAX).find(|revision| !named(*revision).exists()).unwrap_or(u32::MAX)
        };
        let path = named(revision);
        atomic::create_new(&path, &self.to_bytes())?;
        Ok(path)
    }
}

/// Every file of one rater in a folder, by shard, then in the order they were sealed. A folder that is not
/// there holds none.
///
/// # Errors
/// The folder, or the first file that cannot be used.
pub fn files_of(
    folder: &Path,
    rater: &RaterName,
) -> Result<Vec<(PathBuf, LabelFile)>, LabelFileError> {
    let unreadable = |source| LabelFileError::Unreadable { path: folder.to_owned(), source };
    let listing = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        listing => listing.map_err(unreadable)?,
    };
    let mut found = Vec::new();
    for entry in listing {
        let path = entry.map_err(unreadable)?.path();
        // Names end in `.<rater>.jsonl` or `.<rater>.<revision>.jsonl`.
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(stem) = name.strip_suffix(".jsonl") else { continue };
        let (base, revision) = match stem.rsplit_once('.') {
            Some((base, digits)) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                (base, digits.parse::<u32>().unwrap_or(u32::MAX))
            }
            _ => (stem, 1),
        };
        let is_first = base.ends_with(&format!(".{rater}"));
        // A rater may be called `2`.
        let is_named = is_first || stem.ends_with(&format!(".{rater}"));
        if is_named {
            let file = LabelFile::read(&path)?;
            if file.header.rater == *rater {
                found.push((if is_first { revision } else { 1 }, path, file));
            }
        }
    }
    let order = |one: &(u32, PathBuf, LabelFile)| {
        (one.2.header.manifest, one.2.header.shard, one.0, one.1.clone())
    };
    found.sort_by_key(order);
    Ok(found.into_iter().map(|(_, path, file)| (path, file)).collect())
}

/// Where one rater's files of one shard lie. Can name no other file.
#[derive(Debug, Clone)]
pub struct SealPlace {
    folder: PathBuf,
    manifest: ManifestHash,
    shard: Shard,
    rater: RaterName,
}

impl SealPlace {
    /// The place in `folder`.
    pub fn new(folder: PathBuf, manifest: ManifestHash, shard: Shard, rater: RaterName) -> Self {
        Self { folder, manifest, shard, rater }
    }

    /// The files there are, first seal first.
    ///
    /// # Errors
    /// One that cannot be read.
    pub fn existing(&self) -> Result<Vec<(PathBuf, LabelFile)>, LabelFileError> {
        let mut found = Vec::new();
        for revision in 1.. {
            let name = file_name(self.manifest, self.shard, &self.rater, revision);
            let path = self.folder.join(name);
            if !path.exists() {
                break;
            }
            let file = LabelFile::read(&path)?;
            found.push((path, file));
        }
        Ok(found)
    }

    /// Creates the next file.
    ///
    /// # Errors
    /// See [`LabelFile::create_in`].
    pub fn create(&self, file: &LabelFile) -> Result<PathBuf, LabelFileError> {
        file.create_in(&self.folder)
    }
}

impl SeenAs {
    /// The fields in a file.
    pub fn to_json(&self) -> Json {
        let pair = |pair: [u32; 2]| Json::Array(pair.map(Json::int).to_vec());
        Json::object([
            ("protocol", Json::text(&self.protocol)),
            ("cells", pair(self.cells)),
            ("pixels", pair(self.pixels)),
            ("zoom", Json::Float(self.zoom)),
        ])
    }

    /// Reads the fields.
    ///
    /// # Errors
    /// What was expected.
    pub fn from_json(value: &Json) -> Result<Self, String> {
        let pair = |key: &str| -> Result<[u32; 2], String> {
            let items: Vec<u32> = value
                .get(key)
                .and_then(Json::as_array)
                .unwrap_or_default()
                .iter()
                .filter_map(|item| item.as_i64().and_then(|number| u32::try_from(number).ok()))
                .collect();
            items.try_into().map_err(|_| format!("\"seenAs\": {key:?}: expected two whole numbers"))
        };
        Ok(Self {
            protocol: value
                .get("protocol")
                .and_then(Json::as_str)
                .ok_or("\"seenAs\": \"protocol\": expected a string")?
                .to_owned(),
            cells: pair("cells")?,
            pixels: pair("pixels")?,
            zoom: value
                .get("zoom")
                .and_then(Json::as_f64)
                .ok_or("\"seenAs\": \"zoom\": expected a number")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::digest::{hex, sha256};
    use crate::domain::label::{CategoryState, Certainty, NotPhotograph, Presence};
    use proptest::prelude::*;

    fn header() -> LabelHeader {
        LabelHeader {
            product: "flipside 0.1.0".to_owned(),
            manifest: ManifestHash::of(b"manifest"),
            fixture_count: 48,
            taxonomy: TaxonomyHash::of(b"taxonomy"),
            groups: vec!["bottles".to_owned(), "cans".to_owned()],
            shard: Shard { index: 1, of: 4 },
            seed: 0,
            overlap: 0.3,
            repeats: 0.05,
            rater: "ada".parse().expect("a name"),
            opened_at: "2026-02-03T04:05:06+00:00".to_owned(),
            sealed_at: "2026-02-03T05:05:06+00:00".to_owned(),
            chain_head: Some(ChainHead::of(b"head")),
            blind: BlindStatus::Enforced,
            confinement: Confinement::Landlock,
            supersedes: None,
        }
    }

    fn line(name: &str, pass: u8) -> LabelLine {
        LabelLine {
            fixture: FixtureId::of(name.as_bytes()),
            pass,
            label: Label {
                presence: Presence::Litter,
                categories: [("bottles".to_owned(), CategoryState::Unsure)].into(),
                certainty: Certainty::Medium,
                not_photograph: (pass == 2).then_some(NotPhotograph::Game),
                note: "a \"note\", été".to_owned(),
            },
            labelled_at: "2026-02-03T04:15:06+00:00".to_owned(),
            seconds: Some(12.4),
            exposed: false,
            seen_as: (pass == 1).then(|| SeenAs {
                protocol: "kitty".to_owned(),
                cells: [120, 40],
                pixels: [960, 720],
                zoom: 2.0,
            }),
            amended: None,
        }
    }

    fn file() -> LabelFile {
        LabelFile::new(
            header(),
            vec![line("b", 1), line("a", 2), line("a", 1)],
            vec![SkippedLine {
                fixture: FixtureId::of(b"c"),
                pass: 1,
                reason: "cannot be decoded".to_owned(),
            }],
        )
    }

    /// The file with one text replaced and, unless told otherwise, its trailer made right again.
    fn changed(from: &str, to: &str, mend: bool) -> Result<LabelFile, LabelFileFault> {
        let bytes = String::from_utf8(file().to_bytes()).expect("text");
        assert!(bytes.contains(from), "{from}");
        let edited = bytes.replacen(from, to, 1);
        if !mend {
            return LabelFile::parse(edited.as_bytes());
        }
        let body = &edited[..edited.rfind("{\"kind\":\"trailer\"").expect("a trailer")];
        let trailer = format!(
            "{{\"kind\":\"trailer\",\"labels\":3,\"sha256\":\"{}\",\"skipped\":1}}\n",
            hex(&sha256(body.as_bytes()))
        );
        LabelFile::parse(format!("{body}{trailer}").as_bytes())
    }

    #[test]
    fn bytes_are_pinned_and_read_back() {
        let file = file();
        // Evidence names these bytes; do not change them.
        insta::assert_snapshot!(String::from_utf8(file.to_bytes()).expect("text"));
        assert_eq!(LabelFile::parse(&file.to_bytes()), Ok(file));
    }

    #[test]
    fn unknown_keys_are_kept_out_of_the_way() {
        assert!(changed("{\"blind\"", "{\"a\":[{}],\"blind\"", true).is_ok());
    }

    #[test]
    fn every_refusal_names_the_line() {
        for (from, to, line, message) in [
            ("\"schema\":1", "\"schema\":2", 1, "schema 2, expected 1"),
            ("\"index\":1", "\"index\":5", 1, "shard 5 of 4"),
            ("\"rater\":\"ada\"", "\"rater\":\"../x\"", 1, "expected a rater name"),
            ("\"bottles\",\"cans\"", "\"cans\",\"cans\"", 1, "twice"),
            ("\"overlap\":0.3", "\"overlap\":3.0", 1, "share"),
            ("\"enforced\"", "\"sure\"", 1, "expected proven"),
            ("\"openedAt\":\"2026", "\"openedAt\":\"soon", 1, "RFC 3339"),
            ("\"pass\":1", "\"pass\":3", 2, "expected 1 or 2"),
            ("\"bottles\":\"unsure\"", "\"tins\":\"unsure\"", 2, "no category is called"),
            ("\"presence\":\"litter\"", "\"presence\":\"maybe\"", 2, "litter, clean"),
            ("\"seconds\":12.4", "\"seconds\":-1.0", 2, "at least 0"),
            ("\"pass\":2", "\"pass\":1", 4, "sorted"),
            ("\"cannot be decoded\"", "\" \"", 5, "1 to 500"),
            ("{\"fixture\"", "{ \"fixture\"", 5, "canonical"),
        ] {
            let error = changed(from, to, true).expect_err(to);
            assert_eq!(error.line, line, "{to}: {error}");
            assert!(error.reason.contains(message), "{to}: {error}");
        }
        let clean = "\"presence\":\"clean\"";
        assert!(changed("\"presence\":\"litter\"", clean, true).is_ok());
        let error = changed("12.4", "12.5", false).expect_err("edited");
        assert_eq!(error.line, 6);
        assert!(error.reason.contains("trailer names sha256"));
        let error = changed("\"labels\":3", "\"labels\":2", false).expect_err("another count");
        assert!(error.reason.contains("counts 2 labels, there are 3"));
    }

    #[test]
    fn foreign_line_ends_and_marks_are_refused() {
        let text = String::from_utf8(file().to_bytes()).expect("text");
        for bad in [
            text.replace('\n', "\r\n"),
            format!("\u{feff}{text}"),
            format!("{text}\n"),
            format!("{text}{text}"),
            String::new(),
            "[".repeat(5000) + "\n",
            format!("\"{}\"\n", "x".repeat(MAX_LINE)),
        ] {
            assert!(LabelFile::parse(bad.as_bytes()).is_err());
        }
    }

    #[test]
    fn a_cut_at_any_byte_is_noticed() {
        let bytes = file().to_bytes();
        for length in 0..bytes.len() {
            assert!(LabelFile::parse(&bytes[..length]).is_err(), "cut at {length}");
        }
    }

    #[test]
    fn files_are_created_under_their_own_name_and_never_replaced() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let first = file();
        let path = first.create_in(folder.path()).expect("created");
        assert!(path.to_string_lossy().ends_with(".shard-1-of-4.ada.jsonl"));
        assert!(first.create_in(folder.path()).is_err());
        let mut second = LabelFile::new(
            LabelHeader { supersedes: Some(first.sha256), ..header() },
            vec![line("a", 1)],
            vec![],
        );
        second.labels[0].amended = Some("looked again".to_owned());
        let second = LabelFile::new(second.header, second.labels, second.skipped);
        let next = second.create_in(folder.path()).expect("created");
        assert!(next.to_string_lossy().ends_with(".shard-1-of-4.ada.2.jsonl"));
        assert_eq!(LabelFile::read(&next).expect("reads back"), second);
        assert_eq!(LabelFile::read(&path).expect("untouched"), first);
        let missing = LabelFile::read(&folder.path().join("none")).expect_err("missing");
        assert!(missing.to_string().contains("cannot read"));
    }

    proptest! {
        #[test]
        fn a_flipped_bit_is_noticed(at in 0_usize..100_000, bit in 0_u8..8) {
            let mut bytes = file().to_bytes();
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            prop_assert!(LabelFile::parse(&bytes).is_err());
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = LabelFile::parse(&bytes);
        }
    }
}
