//! From a workspace to a signed decision: gathers the evidence, asks a person, writes what was decided.
//!
//! Who answers is handed in, so the whole conversation runs in a test. The one thing that cannot be
//! handed in is consent: the digits typed at the end are those of what was shown.

use std::path::{Path, PathBuf};

use super::again::{self, MARGINS};
use super::comparison::ReportShape;
use super::limits::Numbers;
use super::make::{self, ReportSource, Stated};
use super::present;
use super::registry::Registry;
use super::release::{ReleaseRecord, same_point};
use super::signoff::{
    Checked, Decision, Draft, Evidence, LabelFile, NamedFile, Product, SignRefusal, Signed, Signer,
};
use super::signoff_store::{SignOffStore, StoredSignOff};
use super::ssh::{self, Namespace};
use super::statement::{Person, ask, ask_statement};
use super::trust::Trust;
use super::verify;
use crate::domain::canonical::{Json, float_text};
use crate::domain::digest::{ArtifactHash, ContentHash, ManifestHash, ReportHash, SignOffId};
use crate::domain::escape::{escape, escape_os};
use crate::sighted::artifact::intake::Artifact;
use crate::sighted::artifact::sidecar::Sidecar;
use crate::sighted::decision::report::read::MAX_REPORT_BYTES;
use crate::sighted::score::claim::counted;
use crate::sighted::score::compute::{Score, score};
use crate::sighted::score::evidence::Evidence as Joined;
use crate::sighted::score::gather::{Places, files_in, gather, shown};
use crate::sighted::score::summary::summary_text;
use crate::store::atomic;
use crate::store::file;
use crate::store::label_file;

/// Folder of the scores that sign-offs name, relative to the workspace.
const SCORES: &str = "records/scores";

/// The word for a point that was chosen on the threshold screen.
pub(in crate::sighted) const ON_CURVES: &str = "threshold-screen";

/// What is to be signed, and where everything lies.
#[derive(Debug, Clone)]
pub(in crate::sighted) struct Request {
    /// The workspace's folder.
    pub root: PathBuf,
    /// Records.
    pub records: PathBuf,
    /// Sign-offs.
    pub signoffs: PathBuf,
    /// Folder of parity reports.
    pub reports: PathBuf,
    /// The artifact.
    pub artifact: PathBuf,
    /// Its sidecar, or its reference's.
    pub sidecar: PathBuf,
    /// The manifest.
    pub manifest: PathBuf,
    /// A report the person insists on.
    pub report: Option<PathBuf>,
    /// Where the score's evidence lies; its report is filled in here.
    pub score: Places,
    /// What is stated about the artifact, for a record that is not there yet.
    pub stated: Stated,
    /// Who signs, when stated already.
    pub name: Option<String>,
    /// As what.
    pub role: String,
    /// SSH key to sign with.
    pub key: Option<PathBuf>,
    /// Beginning of the id of the sign-off this one takes the place of.
    pub supersedes: Option<String>,
    /// Stand beside earlier sign-offs instead.
    pub alongside: bool,
    /// How the operating point was chosen, in a word.
    pub method: String,
    /// Now: UTC, whole seconds.
    pub now: String,
    /// What writes.
    pub product: Product,
    /// The root of trust that is signed under.
    pub trust: Option<Trust>,
}

/// What signing wrote.
#[derive(Debug, Clone)]
pub(in crate::sighted) struct Written {
    /// The record.
    pub record: PathBuf,
    /// The sign-off.
    pub signoff: PathBuf,
    /// The signature beside it.
    pub signature: Option<PathBuf>,
    /// The whole id of the sign-off.
    pub id: SignOffId,
    /// The decision.
    pub decision: Decision,
    /// The operating point, as canonical text.
    pub point: String,
}

/// Why nothing was signed.
#[derive(Debug, thiserror::Error)]
pub(in crate::sighted) enum SigningFault {
    /// A rule of signing.
    #[error(transparent)]
    Refused(#[from] SignRefusal),
    /// A rule of records.
    #[error(transparent)]
    Record(#[from] super::refusal::Refusal),
    /// The registry.
    #[error(transparent)]
    Registry(#[from] super::registry::RegistryFault),
    /// The key.
    #[error(transparent)]
    Key(#[from] ssh::SignatureFault),
    /// A write.
    #[error(transparent)]
    Write(#[from] atomic::WriteError),
    /// The person is gone, or the terminal is.
    #[error("nothing was signed: {0}")]
    Gone(String),
    /// Anything that is missing or does not fit.
    #[error("{0}")]
    Cannot(String),
}

/// A fault in plain words.
pub(super) fn cannot(error: impl std::fmt::Display) -> SigningFault {
    SigningFault::Cannot(error.to_string())
}

/// A report about the artifact, at the point it was measured.
#[derive(Debug)]
struct Measured {
    path: PathBuf,
    shown: String,
    hash: ReportHash,
    tree: Json,
    point: f64,
    generated_at: String,
}

impl Measured {
    fn source(&self) -> ReportSource<'_> {
        ReportSource { tree: &self.tree, hash: self.hash, path: &self.shown }
    }
}

/// Holds the whole conversation and writes its outcome. Nothing is written before the digits are typed.
///
/// # Errors
/// Whatever is in the way; nothing is signed then.
pub(in crate::sighted) fn sign(
    request: &Request,
    person: &mut dyn Person,
) -> Result<Written, SigningFault> {
    if request.trust.is_some() && request.key.is_none() {
        return Err(cannot("under a trust file only keys count: name yours with --key"));
    }
    let artifact = Artifact::open(&request.artifact).map_err(cannot)?;
    let measured = measured_reports(request, artifact.hash())?;
    show_points(&request.artifact, &measured, person);
    let point = ask_point(person)?;
    let registry = Registry::at(&request.records);
    let report = choose_report(&measured, point, &registry)?;
    let (record, file) = record_at(request, &artifact, point, report, &registry)?;
    let (joined, scored) = score_at(request, report, point)?;
    let evidence = evidence_of(request, report, joined.as_ref(), scored.as_ref())?;
    let mut numbers = verify::numbers_of(&report.tree, point)
        .ok_or_else(|| cannot(format!("the report counts nothing at {}", float_text(point))))?;
    numbers.labelled = scored.as_ref().and_then(again::labelled);
    let signoffs = SignOffStore::at(&request.signoffs).list();
    let decided = present::decided_lines(&signoffs, &artifact.hash().to_hex());
    show_evidence(&record, &numbers, scored.as_ref(), &decided, person);
    let supersedes = superseded(request, artifact.hash(), person)?;
    let label_files = joined.iter().flat_map(|joined| &joined.label_files);
    let raters: Vec<String> = label_files.map(|file| file.rater.to_string()).collect();
    let statement = ask_statement(request, &record, &numbers, &raters, person)?;
    let key_id = request.key.as_deref().map(ssh::fingerprint).transpose()?;
    let draft = Draft {
        record,
        record_file: file,
        operating_point: point,
        method: request.method.clone(),
        chosen_on_same_data: statement.chosen_on_same_data,
        limits: statement.limits,
        evidence,
        numbers,
        decision: statement.decision,
        reason: statement.reason,
        licenses: statement.licenses,
        does_not_license: statement.does_not_license,
        supersedes,
        signer: Signer { name: statement.name, key_id, role: request.role.clone() },
        signed_at: request.now.clone(),
        product: request.product.clone(),
        trust_version: request.trust.as_ref().and_then(|trust| trust.version),
    };
    let (decision, name) = (draft.decision, draft.signer.name.clone());
    let signed = confirm(draft.check()?, person)?;
    let signature = signature_of(request, &signed, &name)?;
    // What the sign-off names first, the sign-off last.
    if let Some(scored) = &scored {
        scored.store_in(&request.root.join(SCORES))?;
    }
    let record = registry.register(&signed.record)?.path().to_owned();
    let path = SignOffStore::at(&request.signoffs).create(&signed, signature.as_deref())?;
    Ok(Written {
        record,
        signature: signature.map(|_| path.with_extension("sig")),
        signoff: path,
        id: signed.id,
        decision,
        point: float_text(point),
    })
}

fn measured_reports(
    request: &Request,
    artifact: ArtifactHash,
) -> Result<Vec<Measured>, SigningFault> {
    let paths = match &request.report {
        Some(path) => vec![path.clone()],
        None => files_in(&request.reports, "json").map_err(cannot)?,
    };
    let mut found = Vec::new();
    for path in paths {
        let Ok(bytes) = file::read(&path, MAX_REPORT_BYTES) else { continue };
        let Ok(tree) = Json::parse(&bytes) else { continue };
        let audit = again::audit(&bytes);
        let about = |side| tree.at(&["artifacts", side, "sha256"]).and_then(Json::as_str);
        let hash = artifact.to_hex();
        let is_about = about("b") == Some(hash.as_str()) || about("a") == Some(hash.as_str());
        let point = tree.at(&["decode", "confThresholdRecommended"]).and_then(Json::as_f64);
        let (Some(ReportShape::Onnx), true, Some(point)) =
            (ReportShape::of(&tree), is_about, point)
        else {
            continue;
        };
        audit.map_err(|reason| cannot(format!("{}: {reason}", escape_os(path.as_os_str()))))?;
        let generated_at = tree.get("generatedAt").and_then(Json::as_str).unwrap_or_default();
        found.push(Measured {
            shown: shown(&path, Some(&request.root)),
            hash: ReportHash::of(&bytes),
            generated_at: generated_at.to_owned(),
            point,
            tree,
            path,
        });
    }
    // A comparison of the artifact as candidate says what converting it did; as reference it does not.
    let as_candidate = |report: &Measured| {
        report.tree.at(&["artifacts", "b", "sha256"]).and_then(Json::as_str)
            == Some(artifact.to_hex().as_str())
    };
    if found.iter().any(as_candidate) {
        found.retain(as_candidate);
    }
    if found.is_empty() {
        let place = request.report.as_deref().unwrap_or(&request.reports);
        return Err(cannot(format!(
            "no parity report about artifact {artifact} in {}; `flipside parity` makes one",
            escape_os(place.as_os_str())
        )));
    }
    found.sort_by(|left, right| {
        left.point
            .total_cmp(&right.point)
            .then_with(|| left.generated_at.cmp(&right.generated_at))
            .then_with(|| left.path.cmp(&right.path))
    });
    Ok(found)
}

fn show_points(artifact: &Path, measured: &[Measured], person: &mut dyn Person) {
    person.say(&format!("Signing {}", escape_os(artifact.as_os_str())));
    for report in measured {
        person.say(&format!(
            "  measured at {} on {}: {}",
            float_text(report.point),
            escape(&report.generated_at),
            escape(&report.shown)
        ));
    }
}

fn ask_point(person: &mut dyn Person) -> Result<f64, SigningFault> {
    loop {
        let line = ask(person, "Operating point (type the confidence threshold): ")?;
        match line.parse::<f64>() {
            Ok(point) if point > 0.0 && point < 1.0 => return Ok(point),
            _ => person.say("  expected a number above 0 and below 1"),
        }
    }
}

/// The report a record at this point stands on already, else the newest.
fn choose_report<'a>(
    measured: &'a [Measured],
    point: f64,
    registry: &Registry,
) -> Result<&'a Measured, SigningFault> {
    let here: Vec<&Measured> =
        measured.iter().filter(|report| same_point(report.point, point)).collect();
    let listing = registry.list()?;
    let pinned = here.iter().find(|report| {
        listing.records.iter().any(|entry| entry.record.parity.report_hash == report.hash)
    });
    pinned.or(here.last()).copied().ok_or_else(|| {
        let points: Vec<String> = measured.iter().map(|report| float_text(report.point)).collect();
        SigningFault::Refused(SignRefusal::NotMeasured {
            measured: points.join(" and "),
            typed: float_text(point),
        })
    })
}

/// The record at the point and the bytes of its file: one that is there, one made from it, or a new one.
fn record_at(
    request: &Request,
    artifact: &Artifact,
    point: f64,
    report: &Measured,
    registry: &Registry,
) -> Result<(ReleaseRecord, Vec<u8>), SigningFault> {
    let listing = registry.list()?;
    let mut about: Vec<_> = listing
        .records
        .iter()
        .filter(|entry| entry.record.identity.artifact == artifact.hash())
        .collect();
    about.sort_by(|left, right| left.record.registered_at().cmp(right.record.registered_at()));
    let here = about.iter().rev().find(|entry| {
        same_point(entry.record.identity.confidence, point)
            && entry.record.parity.report_hash == report.hash
    });
    if let Some(entry) = here {
        let file = file::read(&entry.path, super::release::MAX_BYTES).map_err(cannot)?;
        return Ok((entry.record.clone(), file));
    }
    let record = match about.last() {
        Some(entry) => make::at_point(&entry.record, point, report.source(), &request.now)?,
        None => {
            let sidecar = Sidecar::open(&request.sidecar).map_err(cannot)?;
            let stated = Stated { confidence: Some(point), ..request.stated.clone() };
            let path = shown(&request.artifact, Some(&request.root));
            make::make(artifact, &path, &sidecar, report.source(), &stated, &request.now)?
        }
    };
    let file = record.file_text().into_bytes();
    Ok((record, file))
}

fn score_at(
    request: &Request,
    report: &Measured,
    point: f64,
) -> Result<(Option<Joined>, Option<Score>), SigningFault> {
    if request.score.labels.is_empty() {
        return Ok((None, None));
    }
    let places = Places { report: report.path.clone(), ..request.score.clone() };
    let joined = gather(&places).map_err(cannot)?;
    let scored = score(&joined, point);
    Ok((Some(joined), Some(scored)))
}

fn evidence_of(
    request: &Request,
    report: &Measured,
    joined: Option<&Joined>,
    scored: Option<&Score>,
) -> Result<Evidence, SigningFault> {
    let named = |path: &Path| -> Result<NamedFile<ContentHash>, SigningFault> {
        let (hash, _) = verify::hash_file(path)
            .map_err(|reason| cannot(format!("{}: {reason}", escape_os(path.as_os_str()))))?;
        let path = shown(path, Some(&request.root));
        Ok(NamedFile { path, hash: ContentHash::from_bytes(hash) })
    };
    let manifest = named(&request.manifest)?;
    let mut labels = Vec::new();
    for entry in joined.iter().flat_map(|joined| &joined.label_files) {
        let file = label_file::LabelFile::read(&request.root.join(&entry.path)).map_err(cannot)?;
        labels.push(LabelFile {
            file: NamedFile { path: entry.path.clone(), hash: entry.hash },
            blind: entry.blind.word().to_owned(),
            chain_head: file.header.chain_head.map(|head| head.to_hex()),
        });
    }
    let used = |path: &Option<PathBuf>| match (path, joined) {
        (Some(path), Some(_)) => named(path).map(Some),
        _ => Ok(None),
    };
    let margin = joined.and_then(|joined| joined.margin.as_ref()).map(|applied| {
        let hash = applied.margin.hash();
        NamedFile { path: format!("{MARGINS}/{}.json", hash.short()), hash }
    });
    let blind = scored.and_then(Score::all).and_then(|all| all.blind);
    let exclusions = scored.map(|scored| &scored.unjoined).into_iter().flatten();
    Ok(Evidence {
        report: NamedFile { path: report.shown.clone(), hash: report.hash },
        manifest: NamedFile {
            path: manifest.path,
            hash: ManifestHash::from_bytes(*manifest.hash.as_bytes()),
        },
        // Beside the artifact there may be none; then a record from it, or its reference's, is used.
        sidecar: request.sidecar.is_file().then(|| named(&request.sidecar)).transpose()?,
        taxonomy: used(&request.score.taxonomy)?,
        groups: used(&request.score.groups)?,
        margin,
        labels,
        metrics: scored.map(|scored| {
            let hash = scored.hash();
            NamedFile { path: score_path(hash), hash }
        }),
        blind_status: blind.map_or("none", label_file::BlindStatus::word).to_owned(),
        exclusions: exclusions
            .map(|item| format!("{} {}: {}", item.kind, item.name, item.reason))
            .collect(),
        subsets: scored
            .map(|scored| scored.subsets.iter().map(|subset| subset.kind.name()).collect())
            .unwrap_or_default(),
    })
}

fn score_path(hash: ContentHash) -> String {
    format!("{SCORES}/{}.json", hash.short())
}

fn show_evidence(
    record: &ReleaseRecord,
    numbers: &Numbers,
    scored: Option<&Score>,
    decided: &[String],
    person: &mut dyn Person,
) {
    person.say(&format!(
        "Record {} ({} {})",
        record.record_id.short(),
        escape(&record.identity.model_name),
        escape(&record.version)
    ));
    if !record.measured_on_target() {
        person.say("  NOT measured on its target: these numbers are about the conversion, not the deployment");
    }
    let Some(scored) = scored else {
        let real = numbers.real_flips.map_or_else(|| "?".to_owned(), |real| real.to_string());
        person.say(&format!(
            "  {}, {real} real; {} over {}",
            counted(numbers.slot_flips, "slot flip"),
            counted(numbers.class_flips, "mislabel"),
            counted(numbers.compared, "fixture")
        ));
        person.say("  no labels: what these changes cost is not known");
        return;
    };
    person.say(&summary_text(&scored.summary(decided)));
}

fn superseded(
    request: &Request,
    artifact: ArtifactHash,
    person: &mut dyn Person,
) -> Result<Option<SignOffId>, SigningFault> {
    let found = SignOffStore::at(&request.signoffs).list();
    if let Some(fault) = found.faults.first() {
        let path = escape_os(fault.path.as_os_str());
        return Err(cannot(format!("{path}: {}; mend this first", fault.reason)));
    }
    let standing: Vec<&StoredSignOff> = found
        .standing()
        .filter(|stored| stored.signoff.record.artifact == artifact)
        .filter(|stored| {
            let wanted = request.supersedes.as_deref();
            wanted.is_none_or(|wanted| stored.signoff.id.to_hex().starts_with(wanted))
        })
        .collect();
    match (standing.as_slice(), request.alongside) {
        ([], _) if request.supersedes.is_some() => {
            Err(cannot("no standing sign-off on this artifact has an id that begins like that"))
        }
        ([], _) | (_, true) => Ok(None),
        ([one], false) => {
            let earlier = &one.signoff;
            person.say(&format!(
                "This takes the place of sign-off {} ({} at {} by {})",
                earlier.id.short(),
                earlier.decision.word(),
                float_text(earlier.operating_point),
                escape(&earlier.signer.name)
            ));
            Ok(Some(earlier.id))
        }
        (several, false) => {
            let ids: Vec<String> = several.iter().map(|stored| stored.signoff.id.short()).collect();
            Err(cannot(format!(
                "several sign-offs stand on this artifact ({}); say which one with --supersedes, or --alongside",
                ids.join(", ")
            )))
        }
    }
}

/// Shows exactly what is signed, and asks for its digits.
fn confirm(checked: Checked, person: &mut dyn Person) -> Result<Signed, SigningFault> {
    person.say("This is what you sign:");
    // ASCII and laid out: nothing in it can be hidden.
    person.say(&checked.payload().to_file());
    let digits = checked.digits();
    let typed = ask(person, &format!("Type {digits} to sign, anything else to stop: "))?;
    Ok(checked.confirm(&typed)?)
}

/// Made before anything is written, since it may fail.
fn signature_of(
    request: &Request,
    signed: &Signed,
    name: &str,
) -> Result<Option<Vec<u8>>, SigningFault> {
    let Some(key) = &request.key else { return Ok(None) };
    let signature = ssh::sign(key, &signed.file)?;
    if let Some(trust) = &request.trust {
        check_counts(trust, &signature, &signed.file, name)?;
    }
    Ok(Some(signature))
}

/// A decision that would not pass under its own root of trust would stand in the way of one that does.
fn check_counts(
    trust: &Trust,
    signature: &[u8],
    bytes: &[u8],
    name: &str,
) -> Result<(), SigningFault> {
    let folder = tempfile::tempdir().map_err(cannot)?;
    let file = folder.path().join("signature.sig");
    atomic::write(&file, signature)?;
    ssh::check_name(&file, bytes, Namespace::SignOff, name, &trust.lists)?;
    Ok(ssh::check_form(&file)?)
}
