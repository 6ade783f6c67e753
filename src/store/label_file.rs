//! The sealed label file: header, one line per answer, trailer. Text made to be reviewed in a pull
//! request, complete or refused.
//!
//! Each line is canonical JSON and ends with a line feed; the trailer holds the count and the sha256 of
//! everything before it. Files are created, never replaced. Knows nothing of databases, or of why a
//! label was given.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::domain::canonical::Json;
use crate::domain::digest::{
    ChainHead, FixtureId, LabelFileHash, ManifestHash, TaxonomyHash, hex, sha256,
};
use crate::domain::escape::{escape, escape_os};
use crate::domain::label::{Label, MAX_REASON, is_plain};
use crate::domain::shard::{RaterName, Shard};
use crate::store::atomic::{self, WriteError};

/// Largest label file, in bytes.
pub const MAX_BYTES: usize = 64 << 20;

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
        let unreadable = |source| LabelFileError::Unreadable { path: path.to_owned(), source };
        let file = fs::File::open(path).map_err(unreadable)?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
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

fn text(value: impl ToString) -> Json {
    Json::Text(value.to_string())
}

fn int(value: impl ToString) -> Json {
    Json::Int(value.to_string())
}

fn object<const N: usize>(fields: [(&str, Json); N]) -> BTreeMap<String, Json> {
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn header_fields(header: &LabelHeader) -> BTreeMap<String, Json> {
    let shard = object([
        ("index", int(header.shard.index)),
        ("of", int(header.shard.of)),
        ("seed", int(header.seed)),
        ("overlap", Json::Float(header.overlap)),
        ("repeats", Json::Float(header.repeats)),
    ]);
    let mut fields = object([
        ("kind", text("header")),
        ("schema", int(1)),
        ("product", text(&header.product)),
        ("manifestSha256", text(header.manifest)),
        ("fixtureCount", int(header.fixture_count)),
        ("taxonomySha256", text(header.taxonomy)),
        ("groups", Json::Array(header.groups.iter().map(text).collect())),
        ("shard", Json::Object(shard)),
        ("rater", text(&header.rater)),
        ("openedAt", text(&header.opened_at)),
        ("sealedAt", text(&header.sealed_at)),
        ("chainHead", header.chain_head.map_or(Json::Null, text)),
        ("blind", text(header.blind.word())),
        ("confinement", text(header.confinement.word())),
    ]);
    if let Some(supersedes) = header.supersedes {
        fields.insert("supersedes".to_owned(), text(supersedes));
    }
    fields
}

impl SeenAs {
    /// The fields in a file.
    pub fn to_json(&self) -> Json {
        let pair = |pair: [u32; 2]| Json::Array(pair.iter().map(int).collect());
        Json::Object(object([
            ("protocol", text(&self.protocol)),
            ("cells", pair(self.cells)),
            ("pixels", pair(self.pixels)),
            ("zoom", Json::Float(self.zoom)),
        ]))
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

fn label_fields(line: &LabelLine) -> BTreeMap<String, Json> {
    let mut fields = line.label.to_fields();
    fields.extend(object([
        ("kind", text("label")),
        ("fixture", text(line.fixture)),
        ("pass", int(line.pass)),
        ("labelledAt", text(&line.labelled_at)),
        (
            "seconds",
            line.seconds.filter(|seconds| seconds.is_finite()).map_or(Json::Null, Json::Float),
        ),
        ("exposed", Json::Bool(line.exposed)),
        ("seenAs", line.seen_as.as_ref().map_or(Json::Null, SeenAs::to_json)),
    ]));
    if let Some(reason) = &line.amended {
        fields.insert("amended".to_owned(), text(reason));
    }
    fields
}

fn to_bytes(header: &LabelHeader, labels: &[LabelLine], skipped: &[SkippedLine]) -> Vec<u8> {
    let mut out = String::new();
    let mut push = |fields: BTreeMap<String, Json>| {
        out.push_str(&Json::Object(fields).to_canonical());
        out.push('\n');
    };
    push(header_fields(header));
    for line in labels {
        push(label_fields(line));
    }
    for line in skipped {
        push(object([
            ("kind", text("skipped")),
            ("fixture", text(line.fixture)),
            ("pass", int(line.pass)),
            ("reason", text(&line.reason)),
        ]));
    }
    let trailer = object([
        ("kind", text("trailer")),
        ("labels", int(labels.len())),
        ("skipped", int(skipped.len())),
        ("sha256", text(hex(&sha256(out.as_bytes())))),
    ]);
    out.push_str(&Json::Object(trailer).to_canonical());
    out.push('\n');
    out.into_bytes()
}

fn parse(bytes: &[u8]) -> Result<LabelFile, LabelFileFault> {
    let fault = |line: usize, reason: String| LabelFileFault { line, reason };
    if bytes.len() > MAX_BYTES {
        return Err(fault(1, format!("more than {MAX_BYTES} bytes")));
    }
    let content = std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
        fault(line, "expected UTF-8".to_owned())
    })?;
    let lines: Vec<&str> = content.split_inclusive('\n').collect();
    let mut reader = Reader::default();
    let mut offset = 0;
    for (index, line) in lines.iter().enumerate() {
        let number = index + 1;
        let value = read_line(line).map_err(|reason| fault(number, reason))?;
        reader.line(&value, &content[..offset]).map_err(|reason| fault(number, reason))?;
        offset += line.len();
    }
    match reader {
        Reader { header: Some(header), labels, skipped, closed: true } => {
            Ok(LabelFile { header, labels, skipped, sha256: LabelFileHash::of(bytes) })
        }
        _ => {
            Err(fault(lines.len() + 1, "ends without a trailer: the file is cut short".to_owned()))
        }
    }
}

/// One line as a value; its bytes must be the canonical ones.
fn read_line(line: &str) -> Result<Json, String> {
    if line.len() > MAX_LINE {
        return Err(format!("{} bytes, at most {MAX_LINE} expected", line.len()));
    }
    let body = line.strip_suffix('\n').ok_or("the line does not end: the file is cut short")?;
    let value = Json::parse(body.as_bytes()).map_err(|error| error.reason)?;
    if value.to_canonical() == body {
        Ok(value)
    } else {
        Err("not canonical JSON (keys sorted, no space): written by another program, or edited"
            .to_owned())
    }
}

#[derive(Default)]
struct Reader {
    header: Option<LabelHeader>,
    labels: Vec<LabelLine>,
    skipped: Vec<SkippedLine>,
    closed: bool,
}

impl Reader {
    fn line(&mut self, value: &Json, before: &str) -> Result<(), String> {
        let kind = required_text(value, "kind")?;
        if self.closed {
            return Err("something follows the trailer".to_owned());
        }
        match (kind, &self.header) {
            ("header", None) => self.header = Some(read_header(value)?),
            ("header", Some(_)) => return Err("a second header".to_owned()),
            (_, None) => return Err(format!("expected the header, found {:?}", escape(kind))),
            ("label", Some(header)) => {
                let line = read_label(value, &header.groups)?;
                let last = self.labels.last().map(|last| (last.fixture, last.pass));
                if !self.skipped.is_empty() || last >= Some((line.fixture, line.pass)) {
                    return Err("labels are not sorted by fixture and pass, each once".to_owned());
                }
                self.labels.push(line);
            }
            ("skipped", Some(_)) => {
                let line = read_skipped(value)?;
                let last = self.skipped.last().map(|last| (last.fixture, last.pass));
                if last >= Some((line.fixture, line.pass)) {
                    return Err("skipped fixtures are not sorted, each once".to_owned());
                }
                self.skipped.push(line);
            }
            ("trailer", Some(_)) => self.trailer(value, before)?,
            (other, Some(_)) => {
                return Err(format!(
                    "kind {:?}, expected label, skipped or trailer",
                    escape(other)
                ));
            }
        }
        Ok(())
    }

    fn trailer(&mut self, value: &Json, before: &str) -> Result<(), String> {
        for (key, found) in [("labels", self.labels.len()), ("skipped", self.skipped.len())] {
            let said = required_int(value, key)?;
            if usize::try_from(said).ok() != Some(found) {
                return Err(format!("the trailer counts {said} {key}, there are {found}"));
            }
        }
        let said = required_text(value, "sha256")?;
        let found = hex(&sha256(before.as_bytes()));
        if said != found {
            return Err(format!(
                "the trailer names sha256 {}, the lines before it have {found}",
                escape(said)
            ));
        }
        let labelled: BTreeSet<_> =
            self.labels.iter().map(|line| (line.fixture, line.pass)).collect();
        if let Some(both) =
            self.skipped.iter().find(|line| labelled.contains(&(line.fixture, line.pass)))
        {
            return Err(format!("fixture {} is labelled and skipped", both.fixture.short()));
        }
        self.closed = true;
        Ok(())
    }
}

fn required_text<'a>(value: &'a Json, key: &str) -> Result<&'a str, String> {
    value.get(key).and_then(Json::as_str).ok_or_else(|| format!("{key:?}: expected a string"))
}

fn required_int(value: &Json, key: &str) -> Result<i64, String> {
    value.get(key).and_then(Json::as_i64).ok_or_else(|| format!("{key:?}: expected a whole number"))
}

fn required_unsigned<T: TryFrom<i64>>(value: &Json, key: &str) -> Result<T, String> {
    T::try_from(required_int(value, key)?).map_err(|_| format!("{key:?}: out of range"))
}

fn required_digest<T: std::str::FromStr<Err: std::fmt::Display>>(
    value: &Json,
    key: &str,
) -> Result<T, String> {
    required_text(value, key)?.parse().map_err(|error: T::Err| format!("{key:?}: {error}"))
}

fn required_time(value: &Json, key: &str) -> Result<String, String> {
    let written = required_text(value, key)?;
    match written.parse::<jiff::Timestamp>() {
        Ok(_) => Ok(written.to_owned()),
        Err(_) => Err(format!("{key:?}: expected an RFC 3339 time, found {:?}", escape(written))),
    }
}

fn optional<'a>(value: &'a Json, key: &str) -> Option<&'a Json> {
    value.get(key).filter(|found| **found != Json::Null)
}

fn share(value: &Json, key: &str) -> Result<f64, String> {
    value
        .get(key)
        .and_then(Json::as_f64)
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| format!("{key:?}: expected a share from 0 to 1"))
}

fn read_header(value: &Json) -> Result<LabelHeader, String> {
    let schema = required_int(value, "schema")?;
    if schema != 1 {
        return Err(format!("schema {schema}, expected 1"));
    }
    let groups =
        value.get("groups").and_then(Json::as_array).ok_or("\"groups\": expected an array")?;
    let groups: Vec<String> = groups
        .iter()
        .map(|name| name.as_str().map(str::to_owned))
        .collect::<Option<_>>()
        .ok_or("\"groups\": expected names")?;
    if groups.iter().collect::<BTreeSet<_>>().len() != groups.len() {
        return Err("\"groups\": a name occurs twice".to_owned());
    }
    let part = value.get("shard").ok_or("\"shard\": expected an object")?;
    let (index, of) = (required_unsigned(part, "index")?, required_unsigned(part, "of")?);
    let word = |key: &str| required_text(value, key);
    Ok(LabelHeader {
        product: word("product")?.to_owned(),
        manifest: required_digest(value, "manifestSha256")?,
        fixture_count: required_unsigned(value, "fixtureCount")?,
        taxonomy: required_digest(value, "taxonomySha256")?,
        groups,
        shard: Shard::new(index, of)
            .ok_or_else(|| format!("shard {index} of {of}, expected 1 <= index <= of"))?,
        seed: required_unsigned(part, "seed")?,
        overlap: share(part, "overlap")?,
        repeats: share(part, "repeats")?,
        rater: required_digest(value, "rater")?,
        opened_at: required_time(value, "openedAt")?,
        sealed_at: required_time(value, "sealedAt")?,
        chain_head: match optional(value, "chainHead") {
            None => None,
            Some(_) => Some(required_digest(value, "chainHead")?),
        },
        blind: BlindStatus::from_word(word("blind")?)
            .ok_or("\"blind\": expected proven, enforced, asserted or broken")?,
        confinement: Confinement::from_word(word("confinement")?)
            .ok_or("\"confinement\": expected landlock or none")?,
        supersedes: match optional(value, "supersedes") {
            None => None,
            Some(_) => Some(required_digest(value, "supersedes")?),
        },
    })
}

fn read_pass(value: &Json) -> Result<u8, String> {
    required_unsigned::<u8>(value, "pass")?
        .checked_sub(1)
        .filter(|repeat| *repeat <= 1)
        .map(|repeat| repeat + 1)
        .ok_or_else(|| "\"pass\": expected 1 or 2".to_owned())
}

fn read_reason(value: &Json, key: &str) -> Result<String, String> {
    let reason = required_text(value, key)?;
    if reason.trim().is_empty() || reason.chars().count() > MAX_REASON || !is_plain(reason) {
        return Err(format!("{key:?}: expected 1 to {MAX_REASON} visible characters"));
    }
    Ok(reason.to_owned())
}

fn read_label(value: &Json, groups: &[String]) -> Result<LabelLine, String> {
    let label = Label::from_json(value)?;
    if let Some(contradiction) = label.contradiction(groups) {
        return Err(contradiction.to_string());
    }
    let seconds = match optional(value, "seconds") {
        None => None,
        Some(found) => Some(
            found
                .as_f64()
                .filter(|seconds| *seconds >= 0.0)
                .ok_or("\"seconds\": expected a number of at least 0")?,
        ),
    };
    Ok(LabelLine {
        fixture: required_digest(value, "fixture")?,
        pass: read_pass(value)?,
        label,
        labelled_at: required_time(value, "labelledAt")?,
        seconds,
        exposed: match value.get("exposed") {
            Some(Json::Bool(exposed)) => *exposed,
            _ => return Err("\"exposed\": expected true or false".to_owned()),
        },
        seen_as: optional(value, "seenAs").map(SeenAs::from_json).transpose()?,
        amended: match optional(value, "amended") {
            None => None,
            Some(_) => Some(read_reason(value, "amended")?),
        },
    })
}

fn read_skipped(value: &Json) -> Result<SkippedLine, String> {
    Ok(SkippedLine {
        fixture: required_digest(value, "fixture")?,
        pass: read_pass(value)?,
        reason: read_reason(value, "reason")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
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
