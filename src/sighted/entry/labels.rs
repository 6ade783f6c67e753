//! Sealed labels, for the command line: agreement, export, import.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;

use crate::domain::escape::{escape, escape_os};
use crate::domain::label::Certainty;
use crate::domain::taxonomy;
use crate::domain::taxonomy::Taxonomy;
use crate::sighted::labels::agreement::agreement;
use crate::sighted::labels::export;
use crate::sighted::labels::import::{MAX_BYTES, Target, read};
use crate::sighted::labels::{Sealed, read_folder};
use crate::store::clock::Clock;
use crate::store::file;
use crate::store::fixtures::FixtureSet;
use crate::store::workspace::Workspace;

/// Faults of a table that are named; a person mends one kind at a time.
const SHOWN_FAULTS: usize = 5;

/// Agreement, written.
#[derive(Debug, Clone)]
pub struct AgreementAnswer {
    /// The numbers.
    pub text: String,
    /// Is there any number about two raters?
    pub has_inter_rater: bool,
}

/// How a table of labels is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelsFormat {
    /// For programs.
    Json,
    /// For tables.
    Csv,
}

fn sealed(workspace: &Workspace) -> anyhow::Result<Vec<Sealed>> {
    let folder = workspace.labels_dir();
    let files = read_folder(&folder)?;
    anyhow::ensure!(
        !files.is_empty(),
        "no sealed label file in {}; `flipside label`, then `flipside seal` make them",
        escape_os(folder.as_os_str())
    );
    Ok(files)
}

/// Agreement over all sealed label files of a workspace.
///
/// # Errors
/// None there, or one that cannot be used.
pub fn label_agreement(workspace: &Workspace, json: bool) -> anyhow::Result<AgreementAnswer> {
    let report = agreement(&sealed(workspace)?);
    let text = if json { report.to_json().to_file() } else { report.to_text() };
    Ok(AgreementAnswer { text, has_inter_rater: report.has_inter_rater() })
}

/// All sealed labels of a workspace as one table.
///
/// # Errors
/// None there, or one that cannot be used.
pub fn export_labels(workspace: &Workspace, format: LabelsFormat) -> anyhow::Result<String> {
    let files = sealed(workspace)?;
    // Paths are a convenience: labels are about bytes.
    let paths = fixtures(workspace)
        .map(|set| {
            let by_id = set.by_id();
            by_id.into_iter().map(|(id, fixture)| (id, fixture.written.clone())).collect()
        })
        .unwrap_or_default();
    Ok(match format {
        LabelsFormat::Json => export::to_json(&files, &paths).to_file(),
        LabelsFormat::Csv => export::to_csv(&files, &paths)?,
    })
}

/// Takes over labels of another tool; the files written, relative to the workspace.
///
/// # Errors
/// The table cannot be used, or a file is there already. Nothing is written then.
pub fn import_labels(
    workspace: &Workspace,
    table: &Path,
    certainty: Option<Certainty>,
    clock: Clock,
) -> anyhow::Result<Vec<String>> {
    let shown = escape_os(table.as_os_str());
    let bytes = file::read_once(table, MAX_BYTES).with_context(|| shown.clone())?;
    let set = fixtures(workspace)?;
    let taxonomy = taxonomy(workspace)?;
    let by_path: BTreeMap<_, _> =
        set.fixtures.iter().map(|fixture| (fixture.written.clone(), fixture.id)).collect();
    let target = Target {
        manifest: set.manifest.hash,
        fixtures: &set.ids(),
        by_path: &by_path,
        taxonomy: &taxonomy,
        certainty,
        now: clock.stamp(),
    };
    let files = read(&bytes, &target).map_err(|faults| {
        let mut lines: Vec<String> =
            faults.iter().take(SHOWN_FAULTS).map(ToString::to_string).collect();
        if faults.len() > SHOWN_FAULTS {
            lines.push("and more".to_owned());
        }
        anyhow::anyhow!("{shown}: nothing was taken over: {}", lines.join("; "))
    })?;
    let folder = workspace.labels_dir();
    for file in &files {
        let header = &file.header;
        let name =
            crate::store::label_file::file_name(header.manifest, header.shard, &header.rater, 1);
        anyhow::ensure!(
            !folder.join(&name).exists(),
            "labels/{name} is there already: a sealed file is never replaced"
        );
    }
    let mut written = Vec::new();
    for file in &files {
        let path = file.create_in(&folder)?;
        let name = path.file_name().map(escape_os).unwrap_or_default();
        let (labels, skipped) = (file.labels.len(), file.skipped.len());
        written.push(format!("labels/{name}: {labels} labels, {skipped} skipped"));
    }
    Ok(written)
}

fn fixtures(workspace: &Workspace) -> anyhow::Result<FixtureSet> {
    let config = &workspace.config.fixtures;
    let index = workspace.fixture_index();
    Ok(FixtureSet::open(&workspace.resolve(&config.manifest), None, Some(&index))?)
}

fn taxonomy(workspace: &Workspace) -> anyhow::Result<Taxonomy> {
    let Some(labels) = &workspace.config.labels else {
        anyhow::bail!("flipside.toml has no [labels]: expected the taxonomy there");
    };
    let path = workspace.resolve(&labels.taxonomy);
    let shown = escape_os(path.as_os_str());
    let text = file::read_text(&path, taxonomy::MAX_BYTES).with_context(|| shown.clone())?;
    Taxonomy::parse(&text)
        .map_err(|error| anyhow::anyhow!("{shown}: {}", escape(&error.to_string())))
}
