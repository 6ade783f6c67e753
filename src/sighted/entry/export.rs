//! Documents made from evidence, for the command line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::domain::digest::{ContentHash, FixtureId, ReportHash};
use crate::domain::escape::escape_os;
use crate::domain::manifest::Manifest;
use crate::domain::shard::RaterName;
use crate::media::decode::{Upright, decode_for_people};
use crate::media::limits::LIMITS;
use crate::sighted::decision::foreign_report::ForeignReport;
use crate::sighted::decision::report::read::MAX_REPORT_BYTES;
use crate::sighted::decision::report::read::{AnyReport, read_any};
use crate::sighted::decision::report::{Item, ParityReport};
use crate::sighted::entry::record::SignersQuestion;
use crate::sighted::entry::report_choice::report_of;
use crate::sighted::entry::score::{ScoreQuestion, resolve_places};
use crate::sighted::export::build::{Decided, Sources, dossier};
use crate::sighted::export::dossier::Dossier;
use crate::sighted::export::{foreign, html, markdown, wire};
use crate::sighted::labels::agreement::agreement;
use crate::sighted::labels::{Sealed, read_folder};
use crate::sighted::record::registry::{Entry, Registry};
use crate::sighted::record::release::same_point;
use crate::sighted::record::signature::signatures;
use crate::sighted::record::signoff_store::SignOffStore;
use crate::sighted::review::material::Material;
use crate::sighted::review::verdict::{ItemKey, Ledger};
use crate::sighted::runs::verdicts;
use crate::sighted::score::compute::score;
use crate::sighted::score::gather::{files_in, gather, shown};
use crate::store::file;
use crate::store::label_file::LabelFile;
use crate::store::workspace::Workspace;

/// What a document is about. What is not given comes from the workspace.
#[derive(Debug, Clone, Default)]
pub struct ReportQuestion {
    /// The parity report; without it, the workspace's.
    pub report: Option<PathBuf>,
    /// Sealed label files; without any, all of the workspace.
    pub labels: Vec<PathBuf>,
    /// The operating point; without it, the report's.
    pub threshold: Option<f64>,
    /// The manifest, for pictures.
    pub manifest: Option<PathBuf>,
    /// Whether pictures are put in.
    pub pictures: bool,
    /// Most changes shown one by one.
    pub most_changes: usize,
    /// Who may sign; without it, whose key a signature is of is not asked.
    pub signers: SignersQuestion,
    /// Now: UTC, whole seconds.
    pub now: String,
}

/// The document in every form.
#[derive(Debug, Clone)]
pub struct Documents {
    /// One self-contained page.
    pub html: String,
    /// For a pull request.
    pub markdown: String,
    /// For programs.
    pub json: String,
    /// Changes, one a row.
    pub csv: String,
    /// How it came about.
    pub notes: Vec<String>,
}

/// Makes the document.
///
/// # Errors
/// The report or a label file cannot be used. Pictures that cannot are named in the document.
pub fn documents(
    question: &ReportQuestion,
    workspace: Option<&Workspace>,
) -> anyhow::Result<Documents> {
    let mut notes = Vec::new();
    let path = report_path(question, workspace)?;
    let root = workspace.map(|workspace| workspace.root.as_path());
    if let Some(point) = question.threshold {
        anyhow::ensure!(
            point > 0.0 && point < 1.0,
            "threshold {point}: expected a confidence above 0 and below 1"
        );
    }
    let bytes = file::read(&path, MAX_REPORT_BYTES)
        .map_err(|error| anyhow::anyhow!("{}: {error}", escape_os(path.as_os_str())))?;
    let read = read_any(&bytes)
        .map_err(|error| anyhow::anyhow!("{}: {error}", escape_os(path.as_os_str())))?;
    let (report, report_hash) = match read {
        AnyReport::Parity(read) => (read.report, read.hash),
        AnyReport::Foreign(report, hash) => {
            return foreign_documents(question, workspace, &path, &report, hash);
        }
    };
    let point = question.threshold.unwrap_or(report.decode.conf_threshold_recommended);
    let joined = joined(question, workspace, &path, &report, &mut notes)?;
    let scored = joined.as_ref().map(|joined| score(joined, point));
    let (records, signoffs) = match workspace {
        Some(workspace) => {
            let records = Registry::at(workspace.records_dir()).list()?;
            (Some(records), SignOffStore::at(workspace.signoffs_dir()).list())
        }
        None => (None, crate::sighted::record::signoff_store::SignOffs::default()),
    };
    for fault in &signoffs.faults {
        notes.push(format!("left out {}: {}", escape_os(fault.path.as_os_str()), fault.reason));
    }
    let entries = records.as_ref().map(|listing| listing.records.as_slice()).unwrap_or_default();
    let record = entries.iter().rev().find(|entry| {
        entry.record.parity.report_hash == report_hash
            && same_point(entry.record.identity.confidence, point)
    });
    let standing: Vec<_> = signoffs.standing().map(|stored| stored.signoff.id).collect();
    let trust = question.signers.answer(&question.now)?;
    let mut about: Vec<Decided<'_>> = signoffs
        .all
        .iter()
        .filter(|stored| stored.signoff.evidence.report.hash == report_hash)
        .map(|stored| Decided {
            signoff: &stored.signoff,
            standing: standing.contains(&stored.signoff.id),
            signatures: signatures(stored, trust.as_ref()),
        })
        .collect();
    about.reverse();
    let files = picture_files(question, workspace, &report)?;
    let picture = |id: &str| picture(id, &files);
    let reviews = reviews(&report, workspace, &mut notes);
    let said = |item: &Item| reviews.of(item);
    let built = dossier(&Sources {
        report: &report,
        report_hash,
        report_path: &shown(&path, root),
        operating_point: point,
        joined: joined.as_ref(),
        score: scored.as_ref(),
        record,
        signoffs: &about,
        picture: &picture,
        verdicts: &said,
        agreement: &agreement_facts(question, workspace)?,
        most_changes: question.most_changes,
    });
    written(&built, notes)
}

fn written(built: &Dossier, notes: Vec<String>) -> anyhow::Result<Documents> {
    Ok(Documents {
        html: html::page(built),
        markdown: markdown::text(built),
        json: wire::json(built).to_file(),
        csv: wire::changes_csv(built)?,
        notes,
    })
}

/// The document of another tool's report: no labels, no pictures, no decisions matched as sets.
fn foreign_documents(
    question: &ReportQuestion,
    workspace: Option<&Workspace>,
    path: &Path,
    report: &ForeignReport,
    hash: ReportHash,
) -> anyhow::Result<Documents> {
    let mut notes = Vec::new();
    if !question.labels.is_empty() {
        notes.push("this report names no pictures by hash, so labels cannot be joined".to_owned());
    }
    let listing = match workspace {
        Some(workspace) => Some(Registry::at(workspace.records_dir()).list()?),
        None => None,
    };
    let records: Vec<&Entry> = listing
        .iter()
        .flat_map(|listing| &listing.records)
        .filter(|entry| entry.record.parity.report_hash == hash)
        .collect();
    let point = question.threshold.unwrap_or(report.decode.conf_threshold_recommended);
    let shown = shown(path, workspace.map(|workspace| workspace.root.as_path()));
    written(&foreign::dossier(report, hash, &shown, point, &records), notes)
}

/// How far raters agree, over the same label files a score is made of.
fn agreement_facts(
    question: &ReportQuestion,
    workspace: Option<&Workspace>,
) -> anyhow::Result<Vec<(String, String)>> {
    let files = match (question.labels.is_empty(), workspace) {
        (true, None) => Vec::new(),
        (true, Some(workspace)) => read_folder(&workspace.labels_dir())?,
        (false, _) => {
            let read = |path: &PathBuf| -> anyhow::Result<Sealed> {
                Ok(Sealed { path: path.clone(), file: LabelFile::read(path)? })
            };
            question.labels.iter().map(read).collect::<anyhow::Result<_>>()?
        }
    };
    Ok(if files.is_empty() { Vec::new() } else { agreement(&files).facts() })
}

fn report_path(
    question: &ReportQuestion,
    workspace: Option<&Workspace>,
) -> anyhow::Result<PathBuf> {
    match (&question.report, workspace) {
        (Some(path), _) => Ok(path.clone()),
        (None, Some(workspace)) => report_of(workspace),
        (None, None) => anyhow::bail!("outside a workspace: name the report with --report"),
    }
}

/// Labels joined with the report; nothing when there are none to join, or the report names no pictures.
fn joined(
    question: &ReportQuestion,
    workspace: Option<&Workspace>,
    report: &std::path::Path,
    content: &ParityReport,
    notes: &mut Vec<String>,
) -> anyhow::Result<Option<crate::sighted::score::evidence::Evidence>> {
    let sealed = match workspace {
        Some(workspace) => files_in(&workspace.labels_dir(), "jsonl")?,
        None => Vec::new(),
    };
    if question.labels.is_empty() && sealed.is_empty() {
        notes.push(
            "no sealed labels: the document says nothing of recall or false positives".to_owned(),
        );
        return Ok(None);
    }
    if content.flipside.is_none() {
        notes.push("this report names no pictures by hash, so labels cannot be joined".to_owned());
        return Ok(None);
    }
    let score_question = ScoreQuestion {
        report: Some(report.to_owned()),
        labels: question.labels.clone(),
        ..ScoreQuestion::default()
    };
    Ok(Some(gather(&resolve_places(&score_question, workspace, notes)?)?))
}

/// What reviewers said of this comparison.
struct Reviews {
    comparison: Option<ContentHash>,
    ledgers: Vec<(RaterName, Ledger)>,
}

impl Reviews {
    fn of(&self, item: &Item) -> Vec<String> {
        let (Some(comparison), Ok(fixture)) = (self.comparison, item.fixture.parse()) else {
            return Vec::new();
        };
        let key = ItemKey::of(fixture, item);
        let said = self.ledgers.iter().filter_map(|(who, ledger)| {
            let judgement = ledger.judgement(comparison, &key)?;
            let verdict = judgement.verdict?.says();
            let note = if judgement.note.is_empty() { "" } else { ": " };
            Some(format!("{who}: {verdict}{note}{}", judgement.note))
        });
        said.collect()
    }
}

/// A log that cannot be read is noted; the document is made without it.
fn reviews(
    report: &ParityReport,
    workspace: Option<&Workspace>,
    notes: &mut Vec<String>,
) -> Reviews {
    let nothing = Reviews { comparison: None, ledgers: Vec::new() };
    let Some(workspace) = workspace else { return nothing };
    let Ok(material) = Material::from_report(report, None, &workspace.root) else {
        return nothing;
    };
    match verdicts::read(&workspace.runs_database()) {
        Ok(events) => Reviews {
            comparison: Some(material.comparison),
            ledgers: verdicts::reviewers(&events)
                .into_iter()
                .map(|who| {
                    let ledger = verdicts::ledger_of(&events, &who);
                    (who, ledger)
                })
                .collect(),
        },
        Err(error) => {
            notes.push(format!("verdicts left out: {error}"));
            nothing
        }
    }
}

/// Files by fixture id, as the report names them and the manifest places them.
fn picture_files(
    question: &ReportQuestion,
    workspace: Option<&Workspace>,
    report: &ParityReport,
) -> anyhow::Result<BTreeMap<String, PathBuf>> {
    let manifest = question.manifest.clone().or_else(|| {
        workspace.map(|workspace| workspace.resolve(&workspace.config.fixtures.manifest))
    });
    let (Some(manifest), Some(extension), true) = (manifest, &report.flipside, question.pictures)
    else {
        return Ok(BTreeMap::new());
    };
    let folder = manifest.parent().map(std::path::Path::to_owned).unwrap_or_default();
    let bytes = file::read(&manifest, crate::domain::manifest::MAX_BYTES)
        .map_err(|error| anyhow::anyhow!("{}: {error}", escape_os(manifest.as_os_str())))?;
    // Only paths the manifest lists are opened: a report cannot point anywhere else.
    let listed: BTreeMap<String, PathBuf> = Manifest::parse(&bytes, &folder)?
        .entries
        .into_iter()
        .map(|entry| (entry.written, entry.path))
        .collect();
    let rows = extension.fixtures.iter();
    Ok(rows.filter_map(|row| Some((row.sha256.clone(), listed.get(&row.path)?.clone()))).collect())
}

fn picture(id: &str, files: &BTreeMap<String, PathBuf>) -> Result<Upright, String> {
    let path = files.get(id).ok_or("picture not put in")?;
    let bytes = file::read(path, LIMITS.file_bytes).map_err(|error| format!("picture: {error}"))?;
    if FixtureId::of(&bytes).to_hex() != id {
        return Err("the picture has changed since".to_owned());
    }
    decode_for_people(&bytes).map_err(|error| format!("picture: {error}"))
}
