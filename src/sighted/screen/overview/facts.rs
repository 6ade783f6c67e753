//! What lies in a workspace, read piece by piece on a thread of its own. Counts only where people label:
//! nothing here shows what anybody answered.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::domain::digest::{FixtureId, ManifestHash};
use crate::domain::escape::escape_os;
use crate::domain::manifest;
use crate::domain::manifest::Manifest;
use crate::domain::shard::{RaterName, Shard, Showing};
use crate::sighted::artifact::intake::Artifact;
use crate::sighted::decision::report::{Item, ItemKind};
use crate::sighted::record::registry::Registry;
use crate::sighted::record::signoff_store::SignOffStore;
use crate::sighted::review::material::comparison_id;
use crate::sighted::review::verdict::{ItemKey, Ledger};
use crate::sighted::runs::verdicts;
use crate::sighted::score::gather::files_in;
use crate::store::event_chain::{Access, EventLog};
use crate::store::file;
use crate::store::label_file::LabelFile;
use crate::store::label_schema::{LabelEvent, LabelRow, SCHEMA};
use crate::store::workspace::Workspace;

/// One artifact of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct ArtifactFact {
    /// `reference` or `candidate`.
    pub side: &'static str,
    /// As configured; not escaped.
    pub path: String,
    /// What the bytes say, or why they are refused.
    pub found: Result<ArtifactBytes, String>,
}

/// What an artifact's bytes say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct ArtifactBytes {
    /// First digits of the hash.
    pub short: String,
    /// Size in bytes.
    pub size: u64,
    /// `fp32`, `fp16`, `int8`, or that there is no majority.
    pub precision: &'static str,
}

/// The fixture manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct FixturesFact {
    /// As configured; not escaped.
    pub path: String,
    /// Entries and hash, or why it cannot be used.
    pub found: Result<(usize, ManifestHash), String>,
}

/// One parity report.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct RunFact {
    /// File name; not escaped.
    pub file: String,
    /// What it says, or why it cannot be used.
    pub found: Result<RunBrief, String>,
}

/// What a report says in one line.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct RunBrief {
    /// When.
    pub generated_at: String,
    /// First digits of both artifacts.
    pub sides: [String; 2],
    /// File name of the candidate; not escaped.
    pub candidate: String,
    /// Fixtures compared.
    pub fixtures: u64,
    /// At which threshold.
    pub threshold: f64,
    /// Detections of both sides.
    pub detections: [u64; 2],
    /// Changes that need a verdict.
    pub changes: usize,
    /// Of those, decided by the reviewer.
    pub decided: usize,
}

/// How far one shard is, by rater.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct ShardFact {
    /// Which.
    pub shard: Shard,
    /// Who, how many answered of how many, sealed or not.
    pub raters: Vec<(RaterName, usize, usize, bool)>,
}

/// One release record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct RecordFact {
    /// First digits of its id.
    pub short: String,
    /// Its version; not escaped.
    pub version: String,
    /// First digits of its artifact.
    pub artifact: String,
    /// Sign-offs that stand.
    pub signed: usize,
}

/// Something that was found out.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) enum Fact {
    /// Artifacts.
    Artifacts(Vec<ArtifactFact>),
    /// Fixtures.
    Fixtures(FixturesFact),
    /// Reports, newest first.
    Runs(Vec<RunFact>),
    /// Labelling.
    Shards(Vec<ShardFact>),
    /// Records, and files that are none.
    Records(Vec<RecordFact>, usize),
}

/// Reads everything, quickest first, and hands out each piece as it is known.
pub(in crate::sighted) fn gather(
    workspace: &Workspace,
    reviewer: Option<&RaterName>,
    tell: &mut impl FnMut(Fact),
) {
    let fixtures = fixtures(workspace);
    let manifest = fixtures.found.as_ref().ok().map(|(_, hash)| *hash);
    tell(Fact::Fixtures(fixtures));
    tell(Fact::Shards(shards(workspace, manifest)));
    let (records, bad) = records(workspace);
    tell(Fact::Records(records, bad));
    tell(Fact::Runs(runs(workspace, reviewer)));
    tell(Fact::Artifacts(artifacts(workspace)));
}

fn fixtures(workspace: &Workspace) -> FixturesFact {
    let written = &workspace.config.fixtures.manifest;
    let path = workspace.resolve(written);
    let folder = path.parent().unwrap_or(&workspace.root);
    let found = file::read(&path, manifest::MAX_BYTES)
        .map_err(|error| error.to_string())
        .and_then(|bytes| Manifest::parse(&bytes, folder).map_err(|error| error.to_string()))
        .map(|manifest| (manifest.entries.len(), manifest.hash));
    FixturesFact { path: written.to_string_lossy().into_owned(), found }
}

fn artifacts(workspace: &Workspace) -> Vec<ArtifactFact> {
    let config = &workspace.config.compare;
    std::iter::once(("reference", &config.reference))
        .chain(config.candidates.iter().map(|path| ("candidate", path)))
        .map(|(side, written)| {
            let found = Artifact::open(&workspace.resolve(written))
                .map(|artifact| ArtifactBytes {
                    short: artifact.hash().short(),
                    size: artifact.size(),
                    precision: artifact
                        .facts()
                        .implied_precision
                        .map_or("no majority", |precision| precision.word()),
                })
                .map_err(|error| error.to_string());
            ArtifactFact { side, path: written.to_string_lossy().into_owned(), found }
        })
        .collect()
}

/// The few fields of a report that are read here; the rest is skipped without being kept.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Brief {
    generated_at: String,
    artifacts: BriefSides,
    fixtures: BriefFixtures,
    decode: BriefDecode,
    flipside: Option<BriefExtension>,
}

#[derive(Debug, Deserialize)]
struct BriefSides {
    a: BriefArtifact,
    b: BriefArtifact,
}

#[derive(Debug, Deserialize)]
struct BriefArtifact {
    path: String,
    sha256: String,
}

#[derive(Debug, Deserialize)]
struct BriefFixtures {
    count: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct BriefDecode {
    conf_threshold_recommended: f64,
    by_threshold: Vec<BriefRow>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct BriefRow {
    is_recommended: bool,
    detections_a: u64,
    detections_b: u64,
}

#[derive(Debug, Deserialize)]
struct BriefExtension {
    recipe: BriefRecipe,
    items: Vec<Item>,
}

#[derive(Debug, Deserialize)]
struct BriefRecipe {
    sha256: String,
}

fn runs(workspace: &Workspace, reviewer: Option<&RaterName>) -> Vec<RunFact> {
    let Ok(files) = files_in(&workspace.reports_dir(), "json") else { return Vec::new() };
    // A log that cannot be read is said where it is used; here it decides nothing.
    let events = verdicts::read(&workspace.runs_database()).unwrap_or_default();
    let ledger = reviewer.map(|reviewer| verdicts::ledger_of(&events, reviewer));
    let mut runs: Vec<RunFact> = files
        .iter()
        .map(|path| RunFact {
            file: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            found: brief(path).map(|brief| run_brief(&brief, ledger.as_ref())),
        })
        .collect();
    let key = |run: &RunFact| run.found.as_ref().ok().map(|brief| brief.generated_at.clone());
    runs.sort_by(|one, two| key(two).cmp(&key(one)).then(two.file.cmp(&one.file)));
    runs
}

fn brief(path: &Path) -> Result<Brief, String> {
    let name = || escape_os(path.as_os_str());
    let file = fs::File::open(path).map_err(|error| format!("{}: {error}", name()))?;
    serde_json::from_reader(std::io::BufReader::new(file))
        .map_err(|error| format!("not a parity report: {error}"))
}

fn run_brief(brief: &Brief, ledger: Option<&Ledger>) -> RunBrief {
    let row = brief.decode.by_threshold.iter().find(|row| row.is_recommended);
    let short = |sha256: &str| sha256.chars().take(12).collect();
    let (a, b) = (&brief.artifacts.a.sha256, &brief.artifacts.b.sha256);
    let threshold = brief.decode.conf_threshold_recommended;
    let items: Vec<&Item> = brief
        .flipside
        .iter()
        .flat_map(|extension| &extension.items)
        .filter(|item| item.kind != ItemKind::MovedSlot)
        .collect();
    let comparison = brief
        .flipside
        .as_ref()
        .map(|extension| comparison_id(a, b, &extension.recipe.sha256, threshold));
    // Another report of the same comparison may hold other pictures: only this one's changes count.
    let is_decided = |item: &&&Item| {
        let fixture = item.fixture.parse::<FixtureId>();
        ledger.zip(comparison).zip(fixture.ok()).is_some_and(|((ledger, comparison), fixture)| {
            ledger.verdict(comparison, &ItemKey::of(fixture, item)).is_some()
        })
    };
    let candidate = Path::new(&brief.artifacts.b.path).file_name().unwrap_or_default();
    RunBrief {
        generated_at: brief.generated_at.clone(),
        sides: [short(a), short(b)],
        fixtures: brief.fixtures.count,
        threshold,
        detections: [row.map_or(0, |row| row.detections_a), row.map_or(0, |row| row.detections_b)],
        candidate: candidate.to_string_lossy().into_owned(),
        changes: items.len(),
        decided: items.iter().filter(is_decided).count(),
    }
}

/// How far labelling is: in the databases of this machine, and by the files others have sealed for the same
/// pictures.
fn shards(workspace: &Workspace, manifest: Option<ManifestHash>) -> Vec<ShardFact> {
    let mut found: BTreeMap<(u32, u32), ShardFact> = BTreeMap::new();
    if let Some(labels) = &workspace.config.labels {
        for index in 1..=labels.shards {
            if let Some(shard) = Shard::new(index, labels.shards) {
                let fact = ShardFact { shard, raters: Vec::new() };
                found.insert((shard.of, shard.index), fact);
            }
        }
    }
    // What cannot be listed or read is said by the commands that need it.
    for path in files_in(&workspace.rater_databases_dir(), "db").unwrap_or_default() {
        let rater = path.file_stem().and_then(|stem| stem.to_str()?.parse::<RaterName>().ok());
        let Some(rater) = rater else { continue };
        let log = EventLog::open_as(&path, &SCHEMA, Access::Read, &LabelRow::of);
        let Ok((_, rows)) = log else { continue };
        for (shard, answered, of, sealed) in count_answers(rows) {
            found
                .entry((shard.of, shard.index))
                .or_insert_with(|| ShardFact { shard, raters: Vec::new() })
                .raters
                .push((rater.clone(), answered, of, sealed));
        }
    }
    for path in files_in(&workspace.labels_dir(), "jsonl").unwrap_or_default() {
        let Ok(file) = LabelFile::read(&path) else { continue };
        let (shard, rater) = (file.header.shard, file.header.rater);
        if manifest != Some(file.header.manifest) {
            continue;
        }
        let raters = &mut found
            .entry((shard.of, shard.index))
            .or_insert_with(|| ShardFact { shard, raters: Vec::new() })
            .raters;
        if raters.iter().all(|(known, ..)| *known != rater) {
            let answered = file.labels.len() + file.skipped.len();
            raters.push((rater, answered, answered, true));
        }
    }
    found.into_values().collect()
}

/// How many showings of each shard have an answer that counts. What was answered is not looked at.
fn count_answers(rows: Vec<LabelRow>) -> Vec<(Shard, usize, usize, bool)> {
    struct Progress {
        shard: Shard,
        of: usize,
        active: BTreeMap<u64, Showing>,
        undone: BTreeMap<u64, Showing>,
        sealed: bool,
    }
    let mut shards: BTreeMap<u64, Progress> = BTreeMap::new();
    for LabelRow { seq, meaning, .. } in rows {
        let Ok(meaning) = meaning else { continue };
        match meaning {
            LabelEvent::Open(opening) => {
                let progress = Progress {
                    shard: opening.shard,
                    of: opening.order.len(),
                    active: BTreeMap::new(),
                    undone: BTreeMap::new(),
                    sealed: false,
                };
                shards.insert(seq, progress);
            }
            LabelEvent::Answer { opening, answer } => {
                if let Some(progress) = shards.get_mut(&opening) {
                    progress.active.insert(seq, answer.showing);
                }
            }
            LabelEvent::Skip { opening, showing, .. } => {
                if let Some(progress) = shards.get_mut(&opening) {
                    progress.active.insert(seq, showing);
                }
            }
            LabelEvent::Undo { opening, target } => {
                if let Some(progress) = shards.get_mut(&opening)
                    && let Some(showing) = progress.active.remove(&target)
                {
                    progress.undone.insert(target, showing);
                }
            }
            LabelEvent::Redo { opening, target } => {
                if let Some(progress) = shards.get_mut(&opening)
                    && let Some(showing) = progress.undone.remove(&target)
                {
                    progress.active.insert(target, showing);
                }
            }
            LabelEvent::Seal { opening, .. } => {
                if let Some(progress) = shards.get_mut(&opening) {
                    progress.sealed = true;
                }
            }
            LabelEvent::Sitting { .. } | LabelEvent::Rebuilt { .. } | LabelEvent::Other => {}
        }
    }
    shards
        .into_values()
        .map(|progress| {
            let answered: BTreeSet<_> =
                progress.active.values().map(|showing| (showing.fixture, showing.pass)).collect();
            (progress.shard, answered.len(), progress.of, progress.sealed)
        })
        .collect()
}

fn records(workspace: &Workspace) -> (Vec<RecordFact>, usize) {
    let Ok(listing) = Registry::at(workspace.records_dir()).list() else {
        return (Vec::new(), 0);
    };
    let signoffs = SignOffStore::at(workspace.signoffs_dir()).list();
    let facts = listing
        .records
        .iter()
        .map(|entry| RecordFact {
            short: entry.record.record_id.short(),
            version: entry.record.version.clone(),
            artifact: entry.record.identity.artifact.short(),
            signed: signoffs
                .standing()
                .filter(|stored| stored.signoff.record.record_id == entry.record.record_id)
                .count(),
        })
        .collect();
    (facts, listing.quarantined.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sighted::review::desk::Desk;
    use crate::sighted::review::testing::{CLASSES, fixtures, material, report_json};
    use crate::sighted::review::verdict::Verdict;

    #[test]
    fn only_verdicts_on_the_changes_of_a_report_count_for_it() {
        let mut desk = Desk::new(material(), Ledger::default(), 7, false);
        let item = desk.queue.item().expect("a change");
        let fixture = desk.material.items[item].key.fixture;
        assert!(desk.judge(item, Some(Verdict::Both)).is_some());
        let decided = |fixtures: &[report_json::Fixture]| {
            let report = report_json::report(fixtures, &CLASSES);
            let brief: Brief = serde_json::from_value(report).expect("a report");
            let brief = run_brief(&brief, Some(&desk.ledger));
            assert_eq!(brief.candidate, "candidate.int8.onnx");
            (brief.changes, brief.decided)
        };
        let mut all = fixtures();
        assert_eq!(decided(&all), (4, 1));
        all.retain(|other| other.sha256 != fixture.to_hex());
        assert_eq!(decided(&all), (3, 0), "it is about another picture");
    }
}
