//! Making records and signing them, for the command line.

use std::io;
use std::path::{Path, PathBuf};

use crate::domain::canonical::Json;
use crate::domain::digest::{ArtifactHash, ContentHash, ReportHash};
use crate::domain::escape::escape_os;
use crate::sighted::artifact::intake::Artifact;
use crate::sighted::artifact::sidecar::{Sidecar, path_beside};
use crate::sighted::decision::report::read::MAX_REPORT_BYTES;
use crate::sighted::entry::record::{Answer, RecordPlaces, Verdict};
use crate::sighted::record::again::audit;
use crate::sighted::record::cosign;
use crate::sighted::record::make::{self, ReportSource, Stated, StatedTarget};
use crate::sighted::record::registry::{Registry, RegistryFault, Stored};
use crate::sighted::record::release::Role;
use crate::sighted::record::signing::{self, Request};
use crate::sighted::record::signoff::Product;
use crate::sighted::record::statement::Person;
use crate::sighted::record::trust::Trust;
use crate::sighted::record::verify::hash_file;
use crate::sighted::score::gather::{Places, files_in, shown};
use crate::store::file;
use crate::store::workspace::{PRODUCT, Workspace};

/// The method of a sign-off whose point was chosen on the threshold screen.
pub const CHOSEN_ON_CURVES: &str = signing::ON_CURVES;

/// What is stated about an artifact; everything else is read from files.
#[derive(Debug, Clone, Default)]
pub struct RecordStatement {
    /// The version.
    pub version: Option<String>,
    /// The operating point.
    pub threshold: Option<f64>,
    /// `reference` or `candidate`.
    pub role: Option<String>,
    /// What exported or converted it.
    pub exporter: Option<String>,
    /// How.
    pub mechanism: Option<String>,
    /// Sha256 of what it was converted from.
    pub source_sha256: Option<String>,
    /// Sha256 of the checkpoint.
    pub checkpoint_sha256: Option<String>,
    /// Runtime it is meant for.
    pub target_runtime: Option<String>,
    /// Its version.
    pub target_version: Option<String>,
    /// Its provider.
    pub target_provider: Option<String>,
    /// Class of hosts.
    pub target_host: Option<String>,
    /// Of an accelerator.
    pub target_compute_capability: Option<String>,
    /// Of an accelerator.
    pub target_cuda: Option<String>,
    /// Of an accelerator.
    pub target_driver: Option<String>,
    /// For people.
    pub notes: Vec<String>,
}

impl RecordStatement {
    fn to_stated(&self) -> anyhow::Result<Stated> {
        let hash = |text: &Option<String>| -> anyhow::Result<Option<ArtifactHash>> {
            Ok(text.as_deref().map(str::parse).transpose()?)
        };
        let role = match self.role.as_deref() {
            None => None,
            Some("reference") => Some(Role::Reference),
            Some("candidate") => Some(Role::Candidate),
            Some(_) => anyhow::bail!("role: expected reference or candidate"),
        };
        Ok(Stated {
            version: self.version.clone(),
            confidence: self.threshold,
            role,
            exporter: self.exporter.clone(),
            mechanism: self.mechanism.clone(),
            source: hash(&self.source_sha256)?,
            checkpoint: hash(&self.checkpoint_sha256)?.map(|hash| hash.to_hex()),
            target: StatedTarget {
                runtime: self.target_runtime.clone(),
                runtime_version: self.target_version.clone(),
                provider: self.target_provider.clone(),
                host: self.target_host.clone(),
                compute_capability: self.target_compute_capability.clone(),
                cuda: self.target_cuda.clone(),
                driver: self.target_driver.clone(),
            },
            notes: self.notes.clone(),
        })
    }
}

/// What a new record is made of.
#[derive(Debug, Clone)]
pub struct NewRecordRequest {
    /// The artifact.
    pub artifact: PathBuf,
    /// Its sidecar; without it, the one beside the artifact.
    pub sidecar: Option<PathBuf>,
    /// The report it stands on.
    pub report: PathBuf,
    /// What is stated.
    pub statement: RecordStatement,
    /// Now: UTC, whole seconds.
    pub now: String,
    /// Make it, write nothing.
    pub dry_run: bool,
}

/// Makes a record and registers it. A refusal is the answer no.
///
/// # Errors
/// A file that cannot be read.
pub fn new_record(places: &RecordPlaces, request: &NewRecordRequest) -> anyhow::Result<Answer> {
    let artifact = Artifact::open(&request.artifact)?;
    let sidecar = request.sidecar.clone().unwrap_or_else(|| path_beside(&request.artifact));
    let sidecar = Sidecar::open(&sidecar)?;
    let bytes = file::read(&request.report, MAX_REPORT_BYTES)
        .map_err(|error| anyhow::anyhow!("{}: {error}", escape_os(request.report.as_os_str())))?;
    let tree = Json::parse(&bytes)
        .map_err(|error| anyhow::anyhow!("{}: {error}", escape_os(request.report.as_os_str())))?;
    if let Err(reason) = audit(&bytes) {
        let reason = format!("{}: {reason}", escape_os(request.report.as_os_str()));
        return Ok(outcome("refused", Verdict::No, &reason, None));
    }
    let report_path = shown(&request.report, Some(&places.root));
    let report = ReportSource { tree: &tree, hash: ReportHash::of(&bytes), path: &report_path };
    let artifact_path = shown(&request.artifact, Some(&places.root));
    let stated = request.statement.to_stated()?;
    let made = make::make(&artifact, &artifact_path, &sidecar, report, &stated, &request.now);
    let record = match made {
        Ok(record) => record,
        Err(refusal) => return Ok(outcome("refused", Verdict::No, &refusal.to_string(), None)),
    };
    let id = record.record_id.to_hex();
    if request.dry_run {
        return Ok(Answer {
            verdict: Verdict::Yes,
            text: record.file_text(),
            json: record.file_text(),
        });
    }
    match Registry::at(&places.records).register(&record) {
        Ok(Stored::Created { path }) => {
            Ok(outcome("created", Verdict::Yes, &escape_os(path.as_os_str()), Some(&id)))
        }
        Ok(Stored::Idempotent { path, registered_at }) => {
            let text = format!(
                "{} (registered {}; nothing was written)",
                escape_os(path.as_os_str()),
                crate::domain::escape::escape(&registered_at)
            );
            Ok(outcome("idempotent", Verdict::Yes, &text, Some(&id)))
        }
        Err(RegistryFault::Refused(refusal)) => {
            Ok(outcome("refused", Verdict::No, &refusal.to_string(), Some(&id)))
        }
        Err(fault) => Err(fault.into()),
    }
}

fn outcome(word: &str, verdict: Verdict, text: &str, id: Option<&str>) -> Answer {
    let json = Json::object([
        ("detail", Json::text(text)),
        ("outcome", Json::text(word)),
        ("recordId", Json::text_or_null(id)),
        ("schema", Json::int(1)),
    ]);
    let shown = id.map(|id| format!("{word} {id}\n  {text}\n"));
    let shown = shown.unwrap_or_else(|| format!("{word}: {text}\n"));
    Answer { verdict, text: shown, json: json.to_file() }
}

/// Somebody to talk to.
pub trait Talk {
    /// Shows lines; they are escaped.
    fn say(&mut self, text: &str);
    /// Asks for one line. Nothing when the person is gone.
    ///
    /// # Errors
    /// The terminal.
    fn ask(&mut self, prompt: &str) -> io::Result<Option<String>>;
}

struct Voice<'a>(&'a mut dyn Talk);

impl Person for Voice<'_> {
    fn say(&mut self, text: &str) {
        self.0.say(text);
    }

    fn ask(&mut self, prompt: &str) -> io::Result<Option<String>> {
        self.0.ask(prompt)
    }
}

/// What is to be signed. What is not given comes from the workspace.
#[derive(Debug, Clone, Default)]
pub struct SignQuestion {
    /// The artifact; without it, the first candidate.
    pub artifact: Option<PathBuf>,
    /// Its sidecar, for a record that is not there yet.
    pub sidecar: Option<PathBuf>,
    /// The parity report; without it, those of the workspace.
    pub report: Option<PathBuf>,
    /// Sealed label files; without any, all of the workspace.
    pub labels: Vec<PathBuf>,
    /// What is stated about the artifact, for a record that is not there yet.
    pub statement: RecordStatement,
    /// Who signs.
    pub name: Option<String>,
    /// As what.
    pub role: String,
    /// SSH key.
    pub key: Option<PathBuf>,
    /// The sign-off it takes the place of.
    pub supersedes: Option<String>,
    /// Stand beside earlier ones.
    pub alongside: bool,
    /// Root of trust that is signed under.
    pub trust: Option<PathBuf>,
    /// Folder of its later versions; without it, the one it lies in.
    pub trust_updates: Option<PathBuf>,
    /// How the operating point was chosen, in a word.
    pub method: String,
    /// Now: UTC, whole seconds.
    pub now: String,
}

/// Signs, asking `talk`. The answer lists what was written.
///
/// # Errors
/// Whatever is in the way; nothing is signed then.
pub fn sign(
    question: &SignQuestion,
    workspace: &Workspace,
    talk: &mut dyn Talk,
) -> anyhow::Result<Answer> {
    let config = &workspace.config;
    let artifact = match (&question.artifact, config.compare.candidates.first()) {
        (Some(artifact), _) => artifact.clone(),
        (None, Some(first)) => workspace.resolve(first),
        (None, None) => anyhow::bail!("name the artifact with --artifact"),
    };
    let labels = match question.labels.is_empty() {
        false => question.labels.clone(),
        true => files_in(&workspace.labels_dir(), "jsonl")?,
    };
    let beside = path_beside(&artifact);
    let sidecar = match &question.sidecar {
        Some(sidecar) => sidecar.clone(),
        None if beside.is_file() => beside,
        None => workspace.resolve(&config.compare.sidecar),
    };
    let taxonomy = config.labels.as_ref().map(|labels| workspace.resolve(&labels.taxonomy));
    let updates = question.trust_updates.as_deref();
    let trust = question.trust.as_deref().map(|root| Trust::of_root(root, updates, &question.now));
    let request = Request {
        root: workspace.root.clone(),
        records: workspace.records_dir(),
        signoffs: workspace.signoffs_dir(),
        reports: workspace.reports_dir(),
        sidecar,
        artifact,
        manifest: workspace.resolve(&config.fixtures.manifest),
        report: question.report.clone(),
        score: Places {
            root: Some(workspace.root.clone()),
            labels,
            taxonomy,
            groups: config.fixtures.groups.as_ref().map(|groups| workspace.resolve(groups)),
            margins: Some(workspace.records_dir().join("margins")),
            runs: Some(workspace.runs_database()),
            ..Places::default()
        },
        stated: question.statement.to_stated()?,
        name: question.name.clone(),
        role: question.role.clone(),
        key: question.key.clone(),
        supersedes: question.supersedes.clone(),
        alongside: question.alongside,
        method: question.method.clone(),
        now: question.now.clone(),
        product: product(),
        trust: trust.transpose()?,
    };
    let written = signing::sign(&request, &mut Voice(talk))?;
    Ok(signed_answer(&written, &workspace.root))
}

/// Puts one more key to the standing sign-off whose id begins with `wanted`, asking `talk`.
///
/// # Errors
/// Whatever is in the way; nothing is signed then.
pub fn cosign(
    wanted: &str,
    key: &Path,
    workspace: &Workspace,
    talk: &mut dyn Talk,
) -> anyhow::Result<Answer> {
    let (path, id) = cosign::cosign(&workspace.signoffs_dir(), wanted, key, &mut Voice(talk))?;
    let path = shown(&path, Some(&workspace.root));
    let text = format!("signed too: {id}\n  signature {}\n", escape_os(path.as_ref()));
    let json = Json::object([
        ("schema", Json::int(1)),
        ("signature", Json::text(&path)),
        ("signoffId", Json::text(id.to_hex())),
    ]);
    Ok(Answer { verdict: Verdict::Yes, text, json: json.to_file() })
}

fn signed_answer(written: &signing::Written, root: &Path) -> Answer {
    let path = |path: &Path| shown(path, Some(root));
    let signature = written.signature.as_deref().map(path);
    let mut text = format!(
        "signed: {} at {}\n  sign-off  {}\n  record    {}\n",
        written.decision.word(),
        written.point,
        escape_os(path(&written.signoff).as_ref()),
        escape_os(path(&written.record).as_ref()),
    );
    if let Some(signature) = &signature {
        text.push_str(&format!("  signature {}\n", escape_os(signature.as_ref())));
    }
    let json = Json::object([
        ("decision", Json::text(written.decision.word())),
        ("operatingPoint", Json::text(&written.point)),
        ("record", Json::text(path(&written.record))),
        ("schema", Json::int(1)),
        ("signature", Json::text_or_null(signature)),
        ("signoff", Json::text(path(&written.signoff))),
        ("signoffId", Json::text(written.id.to_hex())),
    ]);
    Answer { verdict: Verdict::Yes, text, json: json.to_file() }
}

/// This program: its version, and the hash of its file when that can be read.
fn product() -> Product {
    let build = std::env::current_exe()
        .ok()
        .and_then(|path| hash_file(&path).ok())
        .map(|(hash, _)| ContentHash::from_bytes(hash));
    Product { name: PRODUCT.to_owned(), build }
}
