//! Hash again everything a record or a sign-off names, and derive its numbers again.
//!
//! Checks run in one fixed order, from what others depend on to what depends on them, so the first that
//! fails names the cause and not a consequence. Reading is bounded; nothing is written.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::comparison;
use super::identity::Precision;
use super::limits::{Labelled, Numbers};
use super::registry::{Entry, FileBytes, Listing};
use super::release::{ReleaseRecord, same_point};
use super::signature::{alone, alone_text, enough, signatures};
use super::signoff::{Evidence, NamedFile, SignOff};
use super::signoff_store::StoredSignOff;
use super::ssh::SignatureFault;
use super::trust::Trust;
use crate::domain::canonical::{Json, float_text};
use crate::domain::digest::{
    ArtifactHash, ContentHash, LabelFileHash, ManifestHash, ReportHash, hex, sha256_of_reader,
};
use crate::domain::escape::{escape, escape_os};
use crate::store::file;

/// Largest report and label file, in bytes.
const MAX_EVIDENCE_BYTES: u64 = 64 << 20;

/// How one check went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) enum Status {
    /// As recorded.
    Same,
    /// Something else than recorded.
    Differs {
        /// As recorded.
        expected: String,
        /// As found.
        found: String,
    },
    /// Not as it must be, for a reason that is no pair of values.
    Wrong(String),
    /// Not there, or unreadable: no answer.
    Gone(String),
    /// Not asked for.
    Skipped(String),
    /// Nothing is amiss, and there is something to know.
    Noted(String),
}

impl Status {
    /// Whether the check found nothing amiss.
    pub(in crate::sighted) fn is_fine(&self) -> bool {
        matches!(self, Self::Same | Self::Skipped(_) | Self::Noted(_))
    }

    /// The word for people and JSON.
    pub(in crate::sighted) fn word(&self) -> &'static str {
        match self {
            Self::Same => "ok",
            Self::Differs { .. } | Self::Wrong(_) => "changed",
            Self::Gone(_) => "missing",
            Self::Skipped(_) => "skipped",
            Self::Noted(_) => "note",
        }
    }

    /// What was expected and found, in words; empty when nothing is to be said.
    pub(in crate::sighted) fn detail(&self) -> String {
        match self {
            Self::Same => String::new(),
            Self::Differs { expected, found } => format!("expected {expected}, found {found}"),
            Self::Wrong(reason)
            | Self::Gone(reason)
            | Self::Skipped(reason)
            | Self::Noted(reason) => reason.clone(),
        }
    }
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct Check {
    /// Stable name, e.g. `parity-report`.
    pub name: &'static str,
    /// The file or value it is about, escaped.
    pub subject: String,
    /// How it went.
    pub status: Status,
}

/// What checking needs from other parts of the program.
pub(in crate::sighted) struct Means<'a> {
    /// The folder that recorded paths are relative to.
    pub root: &'a Path,
    /// The artifact's file, when it is not where the record saw it.
    pub artifact: Option<&'a Path>,
    /// Bytes of weights per data type, from a model file's bytes.
    pub weigh: &'a Weigh<'a>,
    /// The score of evidence, again.
    pub score: &'a Rescore<'a>,
    /// Whether a report's own numbers hold together.
    pub audit: &'a Audit<'a>,
    /// Who made the labels of a sealed file.
    pub rater: &'a RaterOf<'a>,
    /// Who may sign; signatures are not checked without.
    pub trust: Option<&'a Trust>,
    /// Whether the pictures are hashed too.
    pub pictures: bool,
}

/// Bytes of weights per data type.
pub(in crate::sighted) type Weigh<'a> = dyn Fn(&Path) -> Result<BTreeMap<String, u64>, String> + 'a;

/// Whether the numbers of a report hold together.
pub(in crate::sighted) type Audit<'a> = dyn Fn(&[u8]) -> Result<(), String> + 'a;

/// The rater a label file names.
pub(in crate::sighted) type RaterOf<'a> = dyn Fn(&[u8]) -> Result<String, String> + 'a;

/// Computes a score.
pub(in crate::sighted) type Rescore<'a> = dyn Fn(&ScoreInputs<'_>) -> Result<Score, String> + 'a;

/// What a score is made of.
#[derive(Debug)]
pub(in crate::sighted) struct ScoreInputs<'a> {
    /// The workspace.
    pub root: &'a Path,
    /// Bytes of the parity report.
    pub report: &'a [u8],
    /// Label files: path and bytes.
    pub labels: &'a [(PathBuf, Vec<u8>)],
    /// The taxonomy file.
    pub taxonomy: Option<&'a Path>,
    /// The file of sources and clusters.
    pub groups: Option<&'a Path>,
    /// The score as it was stored when it was signed.
    pub stored: &'a Json,
    /// The operating point.
    pub operating_point: f64,
}

/// A score, as far as a sign-off looks at one.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Score {
    /// Sha256 of its canonical JSON.
    pub metrics: ContentHash,
    /// Its counts over all labelled fixtures.
    pub labelled: Labelled,
}

/// What verifying a sign-off found.
#[derive(Debug)]
pub(in crate::sighted) struct Verified {
    /// In the fixed order.
    pub checks: Vec<Check>,
    /// The numbers of the evidence; absent when a check on the way to them failed.
    pub numbers: Option<Numbers>,
}

/// The first check that is not fine.
pub(in crate::sighted) fn first_cause(checks: &[Check]) -> Option<&Check> {
    checks.iter().find(|check| !check.status.is_fine())
}

/// Checks a record by itself: what its own file says about it.
pub(in crate::sighted) fn check_file(entry: &Entry) -> Vec<Check> {
    let record = &entry.record;
    let same_or = |expected: String, found: String| {
        if expected == found { Status::Same } else { Status::Differs { expected, found } }
    };
    let stored = record.stored_measured_on_target().unwrap_or_default().to_string();
    let bytes = match entry.bytes {
        FileBytes::AsRegistered => Status::Same,
        FileBytes::NotIndexed => Status::Skipped("not registered here".to_owned()),
        FileBytes::SameContent { registered } => Status::Wrong(format!(
            "same content, other bytes: registered as {registered}, found {}",
            entry.file_hash
        )),
        FileBytes::Changed { registered } => {
            Status::Differs { expected: registered.to_hex(), found: entry.file_hash.to_hex() }
        }
    };
    let file = escape(&entry.file_name).into_owned();
    let check = |name, subject: &str, status| Check { name, subject: subject.to_owned(), status };
    vec![
        check("record-id", &record.record_id.to_hex(), Status::Same),
        check("file-name", &file, same_or(record.file_name(), entry.file_name.clone())),
        check("file-bytes", &file, bytes),
        check(
            "measured-on-target",
            &file,
            same_or(record.measured_on_target().to_string(), stored),
        ),
        check("implied-precision", &file, implied_precision(record)),
    ]
}

/// Whether the word in the evidence follows from its own table.
fn implied_precision(record: &ReleaseRecord) -> Status {
    let Some(evidence) = &record.evidence else {
        return Status::Skipped("nobody looked at the weights".to_owned());
    };
    let word = |word: Option<&str>| word.unwrap_or("null").to_owned();
    let expected = word(Precision::implied_by(&evidence.weights).map(Precision::word));
    let found = word(evidence.implied.as_deref());
    if expected == found { Status::Same } else { Status::Differs { expected, found } }
}

/// Checks the files a record names: artifact, weights, report, comparison.
pub(in crate::sighted) fn check_evidence(record: &ReleaseRecord, means: &Means<'_>) -> Vec<Check> {
    let mut checks = artifact_checks(record, means);
    let parity = &record.parity;
    let report = report_checks(&parity.report, parity.report_hash, means, &mut checks);
    checks.push(comparison_check(record, report.as_ref().map(|(_, tree)| tree)));
    checks
}

/// Checks a sign-off and everything below it.
pub(in crate::sighted) fn check_signoff(
    stored: &StoredSignOff,
    listing: &Listing,
    means: &Means<'_>,
) -> Verified {
    let signoff = &stored.signoff;
    let mut checks = vec![Check {
        name: "sign-off",
        subject: escape_os(stored.path.as_os_str()),
        status: Status::Same,
    }];
    if let Some(version) = means.trust.and_then(|trust| trust.version) {
        checks.push(trust_check(signoff, version));
    }
    let (check, signers) = signature_check(stored, means.trust);
    checks.push(check);
    let (check, entry) = signed_record(signoff, listing);
    checks.push(check);
    let Some(entry) = entry else { return Verified { checks, numbers: None } };
    checks.extend(check_file(entry));
    checks.push(point_check(signoff, &entry.record));
    checks.extend(artifact_checks(&entry.record, means));
    let evidence = &signoff.evidence;
    if let Some(file) = &evidence.sidecar {
        checks.push(file_check::<ContentHash>("sidecar", &file.path, file.hash, means));
    }
    let report = report_checks(&evidence.report.path, evidence.report.hash, means, &mut checks);
    checks.push(comparison_check(&entry.record, report.as_ref().map(|(_, tree)| tree)));
    checks.push(file_check::<ManifestHash>(
        "manifest",
        &evidence.manifest.path,
        evidence.manifest.hash,
        means,
    ));
    if let Some((_, tree)) = &report {
        checks.push(manifest_of_report(evidence, tree));
        checks.push(pictures_check(evidence, tree, means));
    }
    for (name, file) in [
        ("taxonomy", &evidence.taxonomy),
        ("groups", &evidence.groups),
        ("margin", &evidence.margin),
    ] {
        if let Some(file) = file {
            checks.push(file_check::<ContentHash>(name, &file.path, file.hash, means));
        }
    }
    let labels = label_checks(evidence, means, &mut checks);
    if let Some(labels) = &labels {
        checks.push(separation_check(labels, &signers, means));
    }
    let labelled = report
        .as_ref()
        .zip(labels)
        .and_then(|((bytes, _), labels)| score_check(signoff, bytes, &labels, means, &mut checks));
    let numbers = report.and_then(|(_, tree)| {
        let mut numbers = numbers_of(&tree, signoff.operating_point)?;
        numbers.labelled = labelled;
        Some(numbers)
    });
    Verified { checks, numbers }
}

/// What a report counts at an operating point it holds.
pub(in crate::sighted) fn numbers_of(report: &Json, point: f64) -> Option<Numbers> {
    let row_at = |rows: Option<&Json>| -> Option<Json> {
        let here = |row: &&Json| {
            row.get("threshold").and_then(Json::as_f64).is_some_and(|at| same_point(at, point))
        };
        rows?.as_array()?.iter().find(here).cloned()
    };
    let decode = report.get("decode")?;
    let row = row_at(decode.get("byThreshold").or_else(|| decode.get("thresholds")))?;
    let count = |row: &Json, key: &str| -> Option<u64> { row.get(key).and_then(as_count) };
    let sets = row_at(report.at(&["flipside", "setMatching", "byThreshold"]));
    Some(Numbers {
        compared: report.at(&["fixtures", "count"]).and_then(as_count)?,
        listed: report.at(&["flipside", "manifestCount"]).and_then(as_count),
        non_finite: non_finite(report),
        slot_flips: count(&row, "thresholdFlips")?,
        real_flips: sets.and_then(|row| count(&row, "realFlips")),
        class_flips: count(&row, "classArgmaxFlips").or_else(|| count(&row, "classFlips"))?,
        labelled: None,
    })
}

fn as_count(value: &Json) -> Option<u64> {
    value.as_i64().and_then(|value| u64::try_from(value).ok())
}

fn non_finite(report: &Json) -> u64 {
    let outputs = report.at(&["flipside", "nonFinite"]).and_then(Json::as_object);
    let sides =
        outputs.into_iter().flatten().flat_map(|(_, sides)| [sides.get("a"), sides.get("b")]);
    sides.flatten().filter_map(as_count).sum()
}

/// A root of trust older than the one a sign-off was made under may still list a key that was withdrawn.
fn trust_check(signoff: &SignOff, version: u64) -> Check {
    let status = match signoff.trust_version {
        Some(made) if made > version => Status::Wrong(format!(
            "made under version {made} of the trust file, and this is version {version}: an older one"
        )),
        _ => Status::Same,
    };
    Check { name: "trust", subject: format!("version {version}"), status }
}

/// Also who signed: names, or the key of somebody whose name was not asked.
fn signature_check(stored: &StoredSignOff, trust: Option<&Trust>) -> (Check, Vec<String>) {
    let signer = &stored.signoff.signer;
    let found = signatures(stored, trust);
    let mut names = vec![signer.name.clone()];
    names.extend(found.iter().filter_map(|one| one.name.clone().or_else(|| one.key.clone())));
    let status = match (&stored.signature, trust) {
        (None, None) => Status::Skipped("not signed with a key".to_owned()),
        (Some(_), None) => {
            Status::Skipped("signed with a key; no allowed signers were given".to_owned())
        }
        (None, Some(_)) => Status::Wrong("not signed with a key".to_owned()),
        (Some(_), Some(trust)) => match enough(found, trust) {
            Ok(()) => Status::Same,
            Err(fault @ SignatureFault::NoProgram(_)) => Status::Gone(fault.to_string()),
            Err(fault) => Status::Wrong(fault.to_string()),
        },
    };
    (Check { name: "signature", subject: escape(&signer.name).into_owned(), status }, names)
}

/// Whether anybody but the only rater signed. It is said in any case, and refused when that is asked for.
fn separation_check(labels: &[(PathBuf, Vec<u8>)], signers: &[String], means: &Means<'_>) -> Check {
    let raters: Result<Vec<String>, String> =
        labels.iter().map(|(_, bytes)| (means.rater)(bytes)).collect();
    let asked = means.trust.is_some_and(|trust| trust.separation);
    let status = match raters.as_ref().map(|raters| alone(raters, signers)) {
        Err(reason) => Status::Wrong(escape(reason).into_owned()),
        Ok(None) => Status::Same,
        Ok(Some(person)) if asked => Status::Wrong(alone_text(person)),
        Ok(Some(person)) => Status::Noted(alone_text(person)),
    };
    Check { name: "separation", subject: "raters and signers".to_owned(), status }
}

fn signed_record<'a>(signoff: &SignOff, listing: &'a Listing) -> (Check, Option<&'a Entry>) {
    let wanted = &signoff.record;
    let subject = wanted.record_id.to_hex();
    let check = |status| Check { name: "record", subject: subject.clone(), status };
    let Some(entry) =
        listing.records.iter().find(|entry| entry.record.record_id == wanted.record_id)
    else {
        let short = wanted.record_id.short();
        let status = match listing.quarantined.iter().find(|bad| bad.file_name.contains(&short)) {
            Some(bad) => Status::Wrong(format!("{}: {}", escape(&bad.file_name), bad.reason)),
            None => Status::Gone("no such record here".to_owned()),
        };
        return (check(status), None);
    };
    let record = &entry.record;
    let status = if entry.file_hash == wanted.file_hash {
        let agrees = record.identity.artifact == wanted.artifact
            && record.identity.bytes == wanted.bytes
            && record.version == wanted.version
            && record.identity.release_key() == wanted.release_key;
        if agrees {
            Status::Same
        } else {
            Status::Wrong("the sign-off says other things about the record than it does".to_owned())
        }
    } else {
        Status::Differs { expected: wanted.file_hash.to_hex(), found: entry.file_hash.to_hex() }
    };
    (check(status), Some(entry))
}

fn point_check(signoff: &SignOff, record: &ReleaseRecord) -> Check {
    let status = if same_point(signoff.operating_point, record.identity.confidence) {
        Status::Same
    } else {
        Status::Differs {
            expected: float_text(signoff.operating_point),
            found: float_text(record.identity.confidence),
        }
    };
    Check { name: "operating-point", subject: float_text(signoff.operating_point), status }
}

fn artifact_checks(record: &ReleaseRecord, means: &Means<'_>) -> Vec<Check> {
    let recorded = means.root.join(&record.artifact_path);
    let path = means.artifact.map_or(recorded, Path::to_owned);
    let subject = escape_os(means.artifact.unwrap_or(Path::new(&record.artifact_path)).as_os_str());
    let check = |name, status| Check { name, subject: subject.clone(), status };
    let identity = &record.identity;
    let (artifact, fine) = match hash_file(&path) {
        Err(reason) => (Status::Gone(reason), false),
        Ok((_, size)) if i64::try_from(size) != Ok(identity.bytes) => {
            let expected = format!("{} bytes", identity.bytes);
            (Status::Differs { expected, found: format!("{size} bytes") }, false)
        }
        Ok((hash, _)) => same_hash(identity.artifact.to_hex(), &hash),
    };
    let weights = match &record.evidence {
        None => Status::Skipped("nobody looked at the weights".to_owned()),
        Some(_) if !fine => Status::Skipped("the artifact is not the one recorded".to_owned()),
        Some(evidence) if evidence.weights.is_empty() => {
            Status::Skipped("the weights of this format cannot be read".to_owned())
        }
        Some(evidence) => match (means.weigh)(&path) {
            Err(reason) => Status::Wrong(escape(&reason).into_owned()),
            Ok(found) if found == evidence.weights => Status::Same,
            Ok(found) => {
                Status::Differs { expected: table(&evidence.weights), found: table(&found) }
            }
        },
    };
    vec![check("artifact", artifact), check("precision-evidence", weights)]
}

fn table(weights: &BTreeMap<String, u64>) -> String {
    let rows: Vec<String> =
        weights.iter().map(|(name, bytes)| format!("{} {bytes}", escape(name))).collect();
    rows.join(", ")
}

/// The report's bytes and, when they are those recorded, whether its numbers hold together.
fn report_checks(
    recorded: &str,
    hash: ReportHash,
    means: &Means<'_>,
    checks: &mut Vec<Check>,
) -> Option<(Vec<u8>, Json)> {
    let subject = escape(recorded).into_owned();
    let check = |name, status| Check { name, subject: subject.clone(), status };
    let bytes = match file::read(&means.root.join(recorded), MAX_EVIDENCE_BYTES) {
        Ok(bytes) => bytes,
        Err(error) => {
            checks.push(check("parity-report", Status::Gone(error.to_string())));
            return None;
        }
    };
    let (status, _) = same_hash(hash.to_hex(), ReportHash::of(&bytes).as_bytes());
    checks.push(check("parity-report", status));
    let status = match (means.audit)(&bytes) {
        Ok(()) => Status::Same,
        Err(reason) => Status::Wrong(reason),
    };
    checks.push(check("report-sums", status));
    let tree = Json::parse(&bytes).ok()?;
    Some((bytes, tree))
}

fn comparison_check(record: &ReleaseRecord, report: Option<&Json>) -> Check {
    let parity = &record.parity;
    let status = match report {
        None => Status::Skipped("no report to derive it from".to_owned()),
        Some(report) => {
            match comparison::first_difference(&parity.comparison, report, parity.role) {
                Ok(None) => Status::Same,
                Ok(Some(difference)) => Status::Differs {
                    expected: format!("{} {}", escape(&difference.path), difference.expected),
                    found: escape(&difference.found).into_owned(),
                },
                Err(refusal) => Status::Wrong(refusal.to_string()),
            }
        }
    };
    Check { name: "comparison", subject: "parity.comparison".to_owned(), status }
}

/// The report was made on the manifest the sign-off names.
fn manifest_of_report(evidence: &Evidence, report: &Json) -> Check {
    let expected = evidence.manifest.hash.to_hex();
    let status = match report.at(&["fixtures", "manifestSha256"]).and_then(Json::as_str) {
        Some(found) if found == expected => Status::Same,
        Some(found) => Status::Differs { expected, found: escape(found).into_owned() },
        None => Status::Skipped("the report does not pin its pictures".to_owned()),
    };
    Check { name: "report-manifest", subject: "fixtures.manifestSha256".to_owned(), status }
}

fn pictures_check(evidence: &Evidence, report: &Json, means: &Means<'_>) -> Check {
    let check = |subject: &str, status| Check {
        name: "pictures",
        subject: escape(subject).into_owned(),
        status,
    };
    if !means.pictures {
        return check("", Status::Skipped("not asked for".to_owned()));
    }
    let Some(rows) = report.at(&["flipside", "fixtures"]).and_then(Json::as_array) else {
        return check("", Status::Skipped("the report does not pin its pictures".to_owned()));
    };
    let manifest = means.root.join(&evidence.manifest.path);
    let folder = manifest.parent().unwrap_or(means.root);
    for row in rows {
        let text = |key: &str| row.get(key).and_then(Json::as_str).unwrap_or_default();
        let (path, expected) = (text("path"), text("sha256"));
        // A file that could not be read then has no hash to compare with.
        if expected.is_empty() {
            continue;
        }
        match hash_file(&folder.join(path)) {
            Err(reason) => return check(path, Status::Gone(reason)),
            Ok((hash, _)) => {
                let (status, fine) = same_hash(expected.to_owned(), &hash);
                if !fine {
                    return check(path, status);
                }
            }
        }
    }
    check(&format!("{} files", rows.len()), Status::Same)
}

/// Every label file by itself, then all as a set. Returns their bytes when all are as recorded.
fn label_checks(
    evidence: &Evidence,
    means: &Means<'_>,
    checks: &mut Vec<Check>,
) -> Option<Vec<(PathBuf, Vec<u8>)>> {
    let mut files = Vec::new();
    for label in &evidence.labels {
        let path = means.root.join(&label.file.path);
        let subject = escape(&label.file.path).into_owned();
        let status = match file::read(&path, MAX_EVIDENCE_BYTES) {
            Err(error) => Status::Gone(error.to_string()),
            Ok(bytes) => {
                let found = LabelFileHash::of(&bytes);
                files.push((path, bytes));
                if found == label.file.hash {
                    Status::Same
                } else {
                    files.pop();
                    Status::Differs { expected: label.file.hash.to_hex(), found: found.to_hex() }
                }
            }
        };
        checks.push(Check { name: "label-file", subject, status });
    }
    let complete = !evidence.labels.is_empty() && files.len() == evidence.labels.len();
    complete.then_some(files)
}

fn score_check(
    signoff: &SignOff,
    report: &[u8],
    labels: &[(PathBuf, Vec<u8>)],
    means: &Means<'_>,
    checks: &mut Vec<Check>,
) -> Option<Labelled> {
    let Some(recorded) = &signoff.evidence.metrics else {
        let status = Status::Wrong("the sign-off names no score".to_owned());
        checks.push(Check { name: "score", subject: "metricsSha256".to_owned(), status });
        return None;
    };
    let subject = escape(&recorded.path).into_owned();
    let check = |name, status| Check { name, subject: subject.clone(), status };
    let stored = match file::read(&means.root.join(&recorded.path), MAX_EVIDENCE_BYTES) {
        Ok(bytes) => bytes,
        Err(error) => {
            checks.push(check("score-file", Status::Gone(error.to_string())));
            return None;
        }
    };
    let (status, fine) = same_hash(recorded.hash.to_hex(), ContentHash::of(&stored).as_bytes());
    checks.push(check("score-file", status));
    let stored = Json::parse(&stored).ok().filter(|_| fine)?;
    let inside = |file: &Option<NamedFile<ContentHash>>| {
        file.as_ref().map(|file| means.root.join(&file.path))
    };
    let (taxonomy, groups) = (inside(&signoff.evidence.taxonomy), inside(&signoff.evidence.groups));
    let outcome = (means.score)(&ScoreInputs {
        root: means.root,
        report,
        labels,
        taxonomy: taxonomy.as_deref(),
        groups: groups.as_deref(),
        stored: &stored,
        operating_point: signoff.operating_point,
    });
    let (status, labelled) = match outcome {
        Err(reason) => (Status::Wrong(reason), None),
        Ok(score) if score.metrics == recorded.hash => (Status::Same, Some(score.labelled)),
        Ok(score) => {
            let (expected, found) = (recorded.hash.to_hex(), score.metrics.to_hex());
            (Status::Differs { expected, found }, None)
        }
    };
    checks.push(check("score", status));
    labelled
}

fn file_check<H: PartialEq + ToString>(
    name: &'static str,
    recorded: &str,
    expected: H,
    means: &Means<'_>,
) -> Check {
    let status = match hash_file(&means.root.join(recorded)) {
        Err(reason) => Status::Gone(reason),
        Ok((found, _)) => same_hash(expected.to_string(), &found).0,
    };
    Check { name, subject: escape(recorded).into_owned(), status }
}

fn same_hash(expected: String, found: &[u8; 32]) -> (Status, bool) {
    let found = hex(found);
    let fine = expected == found;
    (if fine { Status::Same } else { Status::Differs { expected, found } }, fine)
}

/// Sha256 and size of a file, from one handle.
pub(in crate::sighted) fn hash_file(path: &Path) -> Result<([u8; 32], u64), String> {
    let attempt = || -> std::io::Result<([u8; 32], u64)> {
        let mut file = File::open(path)?;
        let size = file.metadata()?.len();
        Ok((sha256_of_reader(&mut file)?, size))
    };
    attempt().map_err(|error| error.to_string())
}

/// The artifact hash of a file.
///
/// # Errors
/// The file cannot be read.
pub(in crate::sighted) fn artifact_hash(path: &Path) -> Result<ArtifactHash, String> {
    hash_file(path).map(|(hash, _)| ArtifactHash::from_bytes(hash))
}
