//! Scores, for the command line.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::report_choice::{report_about, report_of};
use crate::domain::digest::ManifestHash;
use crate::domain::escape::{escape, escape_os};
use crate::domain::manifest;
use crate::sighted::record::present::decided_lines;
use crate::sighted::record::signoff_store::SignOffStore;
use crate::sighted::score::compute::score;
use crate::sighted::score::gather::{Places, files_in, gather, read_report};
use crate::sighted::score::margin::Margin;
use crate::store::file;
use crate::store::workspace::Workspace;

/// What is to be scored. What is not given comes from the workspace.
#[derive(Debug, Clone, Default)]
pub struct ScoreQuestion {
    /// The parity report; without it, the workspace's.
    pub report: Option<PathBuf>,
    /// The artifact it is to be about, when the report is not given.
    pub about: Option<PathBuf>,
    /// Sealed label files; without any, all of the workspace.
    pub labels: Vec<PathBuf>,
    /// The operating point; without it, the recommended threshold of the report.
    pub threshold: Option<f64>,
    /// The taxonomy.
    pub taxonomy: Option<PathBuf>,
    /// Sources and clusters.
    pub groups: Option<PathBuf>,
}

/// How a score is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScoreFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// For tables.
    Csv,
    /// For a pull request.
    Markdown,
}

/// A score, written, and remarks on how it came about.
#[derive(Debug, Clone)]
pub struct ScoreAnswer {
    /// The score.
    pub text: String,
    /// Which files were chosen, what did not join.
    pub notes: Vec<String>,
}

/// Scores.
///
/// # Errors
/// The first file that cannot be used, or files that do not belong together.
pub fn score_labels(
    question: &ScoreQuestion,
    workspace: Option<&Workspace>,
    format: ScoreFormat,
) -> anyhow::Result<ScoreAnswer> {
    let mut notes = Vec::new();
    let places = resolve_places(question, workspace, &mut notes)?;
    let evidence = gather(&places)?;
    let threshold = question.threshold.unwrap_or(evidence.recommended);
    anyhow::ensure!(
        threshold > 0.0 && threshold < 1.0,
        "threshold {threshold}: expected a confidence above 0 and below 1"
    );
    let scored = score(&evidence, threshold);
    if !scored.unjoined.is_empty() && format != ScoreFormat::Text {
        notes.push(format!("{} items did not join; they are listed", scored.unjoined.len()));
    }
    let text = match format {
        ScoreFormat::Text => scored.to_text(&decided(workspace, &scored.artifacts.b)),
        ScoreFormat::Json => scored.to_json().to_file(),
        ScoreFormat::Csv => scored.to_csv()?,
        ScoreFormat::Markdown => scored.to_markdown(&decided(workspace, &scored.artifacts.b)),
    };
    Ok(ScoreAnswer { text, notes })
}

/// Who decided what about a candidate, named by its sha256, a line each.
pub(in crate::sighted) fn decided(workspace: Option<&Workspace>, candidate: &str) -> Vec<String> {
    match workspace {
        Some(workspace) => {
            let signoffs = SignOffStore::at(workspace.signoffs_dir()).list();
            decided_lines(&signoffs, candidate)
        }
        None => vec!["not known: outside a workspace there are no sign-offs".to_owned()],
    }
}

/// Every file of a question, found.
///
/// # Errors
/// A file that is neither given nor in the workspace.
pub(in crate::sighted) fn resolve_places(
    question: &ScoreQuestion,
    workspace: Option<&Workspace>,
    notes: &mut Vec<String>,
) -> anyhow::Result<Places> {
    let report = match (&question.report, workspace) {
        (Some(path), _) => path.clone(),
        (None, Some(workspace)) => {
            let chosen = match &question.about {
                Some(artifact) => report_about(workspace, artifact)?,
                None => report_of(workspace)?,
            };
            notes.push(format!("report: {}", escape_os(chosen.as_os_str())));
            chosen
        }
        (None, None) => anyhow::bail!("outside a workspace: name the report with --report"),
    };
    let labels = match (question.labels.is_empty(), workspace) {
        (false, _) => question.labels.clone(),
        (true, Some(workspace)) => {
            let folder = workspace.labels_dir();
            let found = files_in(&folder, "jsonl")?;
            anyhow::ensure!(
                !found.is_empty(),
                "no sealed label file in {}; `flipside label` and `flipside seal` make them",
                escape_os(folder.as_os_str())
            );
            notes.push(format!("labels: {} files", found.len()));
            found
        }
        (true, None) => anyhow::bail!("outside a workspace: name label files with --labels"),
    };
    let configured = |path: Option<&PathBuf>| {
        workspace.zip(path).map(|(workspace, path)| workspace.resolve(path))
    };
    let config = workspace.map(|workspace| &workspace.config);
    let taxonomy = question.taxonomy.clone().or_else(|| {
        configured(config.and_then(|it| it.labels.as_ref()).map(|labels| &labels.taxonomy))
    });
    let groups = question
        .groups
        .clone()
        .or_else(|| configured(config.and_then(|it| it.fixtures.groups.as_ref())));
    Ok(Places {
        root: workspace.map(|workspace| workspace.root.clone()),
        report,
        labels,
        taxonomy,
        groups,
        margins: workspace.map(margins_dir),
        runs: workspace.map(Workspace::runs_database),
    })
}

fn margins_dir(workspace: &Workspace) -> PathBuf {
    workspace.records_dir().join("margins")
}

/// A margin to be registered.
#[derive(Debug, Clone)]
pub struct MarginQuestion {
    /// As a share: 0.05 for five points.
    pub margin: f64,
    /// What is to be decided.
    pub question: String,
    /// Subsets whose tests count as planned, beside `all`.
    pub subsets: Vec<String>,
    /// The time, as files write it.
    pub now: String,
}

/// A registered margin.
#[derive(Debug, Clone)]
pub struct MarginAnswer {
    /// The file that was written.
    pub path: PathBuf,
    /// Label files that were sealed already, which makes it a margin chosen after.
    pub sealed_already: usize,
}

/// Registers a margin for the workspace's fixture set.
///
/// # Errors
/// A faulty margin, one that exists, or a manifest that cannot be read.
pub fn register_margin(
    question: &MarginQuestion,
    workspace: &Workspace,
) -> anyhow::Result<MarginAnswer> {
    for name in &question.subsets {
        anyhow::ensure!(
            is_subset_name(name),
            "subset {:?}: expected photographs, high-confidence, labelled-twice-agreed, source:NAME or rater:NAME",
            escape(name)
        );
    }
    let manifest = workspace.resolve(&workspace.config.fixtures.manifest);
    let bytes = file::read(&manifest, manifest::MAX_BYTES)
        .with_context(|| escape_os(manifest.as_os_str()))?;
    let manifest = ManifestHash::of(&bytes);
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let margin = Margin {
        margin: question.margin,
        question: question.question.trim().to_owned(),
        subsets: question.subsets.clone(),
        registered_at: question.now.clone(),
        manifest_sha256: manifest.to_hex(),
        sealed_then: files_in(&workspace.labels_dir(), "jsonl")?
            .iter()
            .map(|path| name(path))
            .filter(|name| name.starts_with(&manifest.short()))
            .collect(),
        product: concat!("flipside ", env!("CARGO_PKG_VERSION")).to_owned(),
    };
    let path = margin.create_in(&margins_dir(workspace))?;
    Ok(MarginAnswer { path, sealed_already: margin.sealed_then.len() })
}

fn is_subset_name(name: &str) -> bool {
    ["photographs", "high-confidence", "labelled-twice-agreed"].contains(&name)
        || ["source:", "rater:"]
            .iter()
            .any(|prefix| name.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty()))
}

/// The recommended threshold of a report.
///
/// # Errors
/// The report cannot be used.
pub fn recommended_threshold(report: &Path) -> anyhow::Result<f64> {
    Ok(read_report(report)?.0.decode.conf_threshold_recommended)
}
