//! Joins a parity report with sealed label files, by the hash of each picture.
//!
//! Everything is named by its hash, and whatever does not join is listed in [`Evidence::unjoined`], never
//! dropped in silence. Pure: files are read by `gather`.
//!
//! Rules of the join
//! * A picture counts once, however often the manifest lists it.
//! * Labels are about bytes: a file made for another manifest joins where its pictures do, and is noted.
//! * Only the first showing counts; a hidden repeat measures the rater, not the model.
//! * One answer per rater and picture: the one that was sealed first. An amended answer stands beside it
//!   and is used only where a subset says so.
//! * An answer is exposed when its file says so, or when the ledger shows that the rater saw model output
//!   or another's label before giving it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::margin::{AppliedMargin, Margin};
use crate::domain::canonical::Json;
use crate::domain::digest::{ContentHash, FixtureId, LabelFileHash, ReportHash, TaxonomyHash};
use crate::domain::label::Label;
use crate::domain::manifest::FixtureGroup;
use crate::domain::shard::{RaterName, Shard};
use crate::domain::taxonomy::Taxonomy;
use crate::sighted::decision::report::{
    DetectionRow, Environment, Extension, FixtureStatus, ParityReport, Sides,
};
use crate::store::clock::stamp;
use crate::store::label_file::{BlindStatus, LabelFile, LabelLine};

/// A label file with the path it is shown under.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct NamedLabelFile {
    /// Relative to the workspace when inside it.
    pub path: String,
    /// The file.
    pub file: LabelFile,
}

/// A rater has seen model output, or another's labels, for a fixture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct Exposure {
    /// Who.
    pub rater: RaterName,
    /// Of what.
    pub fixture: FixtureId,
    /// First seen.
    pub seen_at: Timestamp,
}

/// What is joined.
#[derive(Debug, Clone, Copy)]
pub(in crate::sighted) struct Sources<'a> {
    /// The report.
    pub report: &'a ParityReport,
    /// Its hash.
    pub report_hash: ReportHash,
    /// Sealed label files.
    pub label_files: &'a [NamedLabelFile],
    /// Needed for categories only.
    pub taxonomy: Option<&'a Taxonomy>,
    /// Source and cluster by the path the manifest writes.
    pub groups: &'a BTreeMap<String, FixtureGroup>,
    /// Of the file they come from.
    pub groups_hash: Option<ContentHash>,
    /// Who saw what, and when.
    pub exposures: &'a [Exposure],
    /// Fixtures an analyst flagged as not photographs.
    pub not_photographs: &'a BTreeSet<FixtureId>,
    /// Registered margins.
    pub margins: &'a [Margin],
}

/// One answer of one rater for one fixture.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Answer {
    /// Who.
    pub rater: RaterName,
    /// Index into [`Evidence::label_files`].
    pub file: usize,
    /// What.
    pub label: Label,
    /// Given after exposure.
    pub exposed: bool,
    /// The categories that were asked for are those of the taxonomy in use.
    pub categories_join: bool,
}

/// What one rater said of one fixture.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::sighted) struct Said {
    /// As first sealed.
    pub sealed: Option<Answer>,
    /// As amended afterwards.
    pub amended: Option<Answer>,
    /// Left out by the rater.
    pub skipped: bool,
}

/// One fixture of the report with everything known about it.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Row {
    /// Which.
    pub fixture: FixtureId,
    /// As the manifest writes it.
    pub path: String,
    /// Source and cluster.
    pub group: FixtureGroup,
    /// Best confidence of each side; absent when either side has none, which counts for nothing.
    pub best: Option<Sides<f64>>,
    /// Best confidence by category and side, among the detections the report lists.
    pub category_best: BTreeMap<String, Sides<f64>>,
    /// Detections of each side from the report's floor on, in slot order; empty without output.
    pub detections: Sides<Vec<DetectionRow>>,
    /// What raters said, by rater.
    pub said: BTreeMap<RaterName, Said>,
    /// Flagged by an analyst.
    pub flagged: bool,
}

/// A label file as evidence names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct LabelFileEntry {
    /// Where.
    pub path: String,
    /// What.
    pub hash: LabelFileHash,
    /// Who.
    pub rater: RaterName,
    /// Which part.
    pub shard: Shard,
    /// When.
    pub sealed_at: String,
    /// How far blindness is known, held against the time of the report.
    pub blind: BlindStatus,
}

/// Decisions at one threshold.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::sighted) struct DecisionRow {
    /// Inclusive.
    pub threshold: f64,
    /// By slot.
    pub threshold_flips: u64,
    /// By set: flips that no moved slot explains.
    pub real_flips: u64,
    /// Slots that survive on both sides with another class.
    pub mislabels: u64,
    /// With any change of the set.
    pub images_changed: u64,
    /// That went from no detection to some, or back.
    pub images_presence_changed: u64,
}

/// Something that takes no part, and why.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::sighted) struct Unjoined {
    /// `fixture`, `label`, `label-file`, `class`, `group` or `margin`.
    pub kind: &'static str,
    /// Which one.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// The joined evidence.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Evidence {
    /// The report.
    pub report_hash: ReportHash,
    /// When it was made.
    pub generated_at: String,
    /// The fixture set of the report, as it writes it.
    pub manifest_sha256: String,
    /// The artifacts, as the report writes them.
    pub artifacts: Sides<String>,
    /// File names of the artifacts, for people; not escaped, and part of no hash.
    pub names: Sides<String>,
    /// Recommended threshold.
    pub recommended: f64,
    /// The report lists detections from here on.
    pub detection_floor: f64,
    /// Decisions at each threshold of the report.
    pub decisions: Vec<DecisionRow>,
    /// Taxonomy in use.
    pub taxonomy: Option<TaxonomyHash>,
    /// Categories in the taxonomy's order.
    pub categories: Vec<String>,
    /// Label files that were used.
    pub label_files: Vec<LabelFileEntry>,
    /// Every fixture of the report once, in its order.
    pub rows: Vec<Row>,
    /// Exposures that came before an answer, by rater and fixture: the others change nothing.
    pub exposures: Vec<Exposure>,
    /// The groups file.
    pub groups_hash: Option<ContentHash>,
    /// What takes no part.
    pub unjoined: Vec<Unjoined>,
    /// The margin claims are held against.
    pub margin: Option<AppliedMargin>,
    /// Fixtures compared.
    pub compared: u64,
    /// Runtime, provider and host of the report, for people; part of no hash but the report's.
    pub measured_on: String,
}

/// Why evidence cannot be joined at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::sighted) enum JoinError {
    /// Made by another tool.
    #[error(
        "the report lists no fixtures by hash (no \"flipside\" key), so labels cannot be joined; run `flipside parity`"
    )]
    ForeignReport,
    /// Nothing to join.
    #[error("no sealed label file given")]
    NoLabels,
    /// Nothing joined.
    #[error("none of {labels} labels is about a fixture of the report ({fixtures} fixtures)")]
    NothingJoins {
        /// Labels read.
        labels: usize,
        /// Fixtures of the report.
        fixtures: usize,
    },
}

impl Evidence {
    /// Joins.
    ///
    /// # Errors
    /// A report without hashes, no label files, or files none of which is about the report's fixtures.
    pub(in crate::sighted) fn join(sources: &Sources<'_>) -> Result<Self, JoinError> {
        let extension = sources.report.flipside.as_ref().ok_or(JoinError::ForeignReport)?;
        if sources.label_files.is_empty() {
            return Err(JoinError::NoLabels);
        }
        let mut unjoined = Vec::new();
        let mut rows = rows_of(extension, sources, &mut unjoined);
        let mut exposures = Vec::new();
        let label_files = add_labels(&mut rows, sources, &mut unjoined, &mut exposures)?;
        exposures
            .sort_by(|left, right| (&left.rater, left.fixture).cmp(&(&right.rater, right.fixture)));
        exposures.dedup();
        let first_seal = label_files.iter().map(|entry| entry.sealed_at.as_str()).min();
        let manifest = sources.report.fixtures.manifest_sha256.clone();
        for margin in sources.margins.iter().filter(|margin| margin.manifest_sha256 != manifest) {
            unjoined.push(Unjoined {
                kind: "margin",
                name: margin.hash().short(),
                reason: format!("registered for manifest {}", short(&margin.manifest_sha256)),
            });
        }
        unjoined.sort();
        unjoined.dedup();
        Ok(Self {
            report_hash: sources.report_hash,
            generated_at: sources.report.generated_at.clone(),
            artifacts: Sides {
                a: sources.report.artifacts.a.sha256.clone(),
                b: sources.report.artifacts.b.sha256.clone(),
            },
            names: Sides {
                a: file_name(&sources.report.artifacts.a.path),
                b: file_name(&sources.report.artifacts.b.path),
            },
            recommended: sources.report.decode.conf_threshold_recommended,
            detection_floor: extension.detection_floor,
            decisions: decisions_of(sources.report, extension),
            taxonomy: sources.taxonomy.map(Taxonomy::hash),
            categories: sources.taxonomy.map_or_else(Vec::new, |taxonomy| {
                taxonomy.groups().iter().map(|group| group.name.clone()).collect()
            }),
            margin: AppliedMargin::choose(sources.margins, first_seal, &manifest),
            compared: sources.report.fixtures.count,
            measured_on: measured_on(&sources.report.environment),
            manifest_sha256: manifest,
            label_files,
            rows,
            exposures,
            groups_hash: sources.groups_hash,
            unjoined,
        })
    }

    /// Raters, by name.
    pub(in crate::sighted) fn raters(&self) -> BTreeSet<&RaterName> {
        self.rows.iter().flat_map(|row| row.said.keys()).collect()
    }

    /// Sources with a name, in alphabetical order.
    pub(in crate::sighted) fn sources(&self) -> BTreeSet<&str> {
        self.rows
            .iter()
            .map(|row| row.group.source.as_str())
            .filter(|source| !source.is_empty())
            .collect()
    }

    /// What it was made of, a line each, for people. Raw.
    pub(in crate::sighted) fn in_words(&self) -> Vec<String> {
        let files = self.label_files.iter().map(|file| {
            format!(
                "{} (shard {}, {}, {})",
                file.rater,
                file.shard,
                file.blind.word(),
                file.hash.short()
            )
        });
        let files: Vec<String> = files.collect();
        let mut out = vec![
            format!("{} images of manifest {}", self.compared, short(&self.manifest_sha256)),
            format!("report {} of {}", self.report_hash.short(), self.generated_at),
            self.measured_on.clone(),
            format!("labels of {}", files.join(", ")),
        ];
        out.extend(self.margin.as_ref().map(|applied| format!("margin {}", applied.in_words())));
        out
    }

    /// What names the evidence in a score.
    pub(in crate::sighted) fn to_json(&self) -> Json {
        let files = self.label_files.iter().map(|entry| {
            Json::object([
                ("path", Json::text(&entry.path)),
                ("sha256", Json::text(entry.hash.to_hex())),
                ("rater", Json::text(entry.rater.as_str())),
                ("shard", Json::text(entry.shard.to_string())),
                ("sealedAt", Json::text(&entry.sealed_at)),
                ("blind", Json::text(entry.blind.word())),
            ])
        });
        let exposures = self.exposures.iter().map(|exposure| {
            Json::object([
                ("rater", Json::text(exposure.rater.as_str())),
                ("fixture", Json::text(exposure.fixture.to_hex())),
                ("seenAt", Json::text(stamp(exposure.seen_at))),
            ])
        });
        let flagged: BTreeSet<String> =
            self.rows.iter().filter(|row| row.flagged).map(|row| row.fixture.to_hex()).collect();
        Json::object([
            ("exposures", Json::Array(exposures.collect())),
            ("notPhotographs", Json::Array(flagged.into_iter().map(Json::Text).collect())),
            ("groupsSha256", Json::text_or_null(self.groups_hash.map(ContentHash::to_hex))),
            ("parityReportSha256", Json::text(self.report_hash.to_hex())),
            ("generatedAt", Json::text(&self.generated_at)),
            ("manifestSha256", Json::text(&self.manifest_sha256)),
            ("taxonomySha256", Json::text_or_null(self.taxonomy.map(TaxonomyHash::to_hex))),
            ("referenceSha256", Json::text(&self.artifacts.a)),
            ("candidateSha256", Json::text(&self.artifacts.b)),
            ("labelFiles", Json::Array(files.collect())),
            ("margin", self.margin.as_ref().map_or(Json::Null, AppliedMargin::to_json)),
        ])
    }
}

fn measured_on(environment: &Environment) -> String {
    let Environment { platform, machine, onnxruntime, execution_providers, .. } = environment;
    format!(
        "ONNX Runtime {onnxruntime}, {}, on {platform} ({machine})",
        execution_providers.join(", ")
    )
}

/// The last part of a path, whichever way its separators lean.
pub(in crate::sighted) fn file_name(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned()
}

/// The report's own counts: by slot and by set, where it has both.
fn decisions_of(report: &ParityReport, extension: &Extension) -> Vec<DecisionRow> {
    let by_set = |threshold: f64| {
        let mut rows = extension.set_matching.by_threshold.iter();
        rows.find(|row| row.threshold.total_cmp(&threshold).is_eq())
    };
    report
        .decode
        .by_threshold
        .iter()
        .filter_map(|slots| {
            let sets = by_set(slots.threshold)?;
            Some(DecisionRow {
                threshold: slots.threshold,
                threshold_flips: slots.threshold_flips,
                real_flips: sets.real_flips,
                mislabels: slots.class_argmax_flips,
                images_changed: sets.images_changed,
                images_presence_changed: sets.images_presence_changed,
            })
        })
        .collect()
}

fn rows_of(extension: &Extension, sources: &Sources<'_>, unjoined: &mut Vec<Unjoined>) -> Vec<Row> {
    let category_of_class: Vec<Option<&str>> = extension
        .classes
        .iter()
        .map(|class| {
            let taxonomy = sources.taxonomy?;
            let category = taxonomy.category_of(class);
            if category.is_none() {
                unjoined.push(Unjoined {
                    kind: "class",
                    name: class.clone(),
                    reason: "in no category of the taxonomy; counts for presence only".to_owned(),
                });
            }
            category.map(|category| taxonomy.name(category))
        })
        .collect();
    let mut seen = BTreeSet::new();
    let mut rows = Vec::with_capacity(extension.fixtures.len());
    for found in &extension.fixtures {
        let mut leave = |reason: String| {
            unjoined.push(Unjoined { kind: "fixture", name: found.path.clone(), reason });
        };
        let Ok(fixture) = found.sha256.parse::<FixtureId>() else {
            leave(found.reason.clone().unwrap_or_else(|| "could not be read".to_owned()));
            continue;
        };
        if !seen.insert(fixture) {
            leave("the same picture stands in the manifest before; it counts once".to_owned());
            continue;
        }
        let both = found.found.as_ref().filter(|_| found.status == FixtureStatus::Ok);
        let best = both.and_then(|sides| Some(Sides { a: sides.a.best?, b: sides.b.best? }));
        if best.is_none() {
            let reason = found.reason.clone();
            leave(reason.unwrap_or_else(|| "no finite confidence on one of the sides".to_owned()));
        }
        let mut category_best: BTreeMap<String, Sides<f64>> = BTreeMap::new();
        if let Some(sides) = both {
            for (detection, candidate) in (sides.a.detections.iter().map(|row| (row, false)))
                .chain(sides.b.detections.iter().map(|row| (row, true)))
            {
                let index = usize::try_from(detection.class_index).unwrap_or(usize::MAX);
                let Some(Some(category)) = category_of_class.get(index) else { continue };
                let entry = category_best
                    .entry((*category).to_owned())
                    .or_insert(Sides { a: f64::NEG_INFINITY, b: f64::NEG_INFINITY });
                let side = if candidate { &mut entry.b } else { &mut entry.a };
                *side = side.max(detection.confidence);
            }
        }
        rows.push(Row {
            fixture,
            path: found.path.clone(),
            group: sources.groups.get(&found.path).cloned().unwrap_or_default(),
            best,
            detections: both.filter(|_| best.is_some()).map_or_else(Sides::default, |sides| {
                Sides { a: sides.a.detections.clone(), b: sides.b.detections.clone() }
            }),
            category_best,
            said: BTreeMap::new(),
            flagged: sources.not_photographs.contains(&fixture),
        });
    }
    let known: BTreeSet<&str> = extension.fixtures.iter().map(|row| row.path.as_str()).collect();
    for path in sources.groups.keys().filter(|path| !known.contains(path.as_str())) {
        unjoined.push(Unjoined {
            kind: "group",
            name: path.clone(),
            reason: "in the groups file, not in the report".to_owned(),
        });
    }
    rows
}

/// Adds every label to its row, earliest sealed first.
fn add_labels(
    rows: &mut [Row],
    sources: &Sources<'_>,
    unjoined: &mut Vec<Unjoined>,
    applied: &mut Vec<Exposure>,
) -> Result<Vec<LabelFileEntry>, JoinError> {
    let taxonomy = sources.taxonomy.map(Taxonomy::hash);
    let positions: BTreeMap<FixtureId, usize> =
        rows.iter().enumerate().map(|(index, row)| (row.fixture, index)).collect();
    let mut first_seen: BTreeMap<(&RaterName, FixtureId), Timestamp> = BTreeMap::new();
    for exposure in sources.exposures {
        first_seen
            .entry((&exposure.rater, exposure.fixture))
            .and_modify(|seen| *seen = (*seen).min(exposure.seen_at))
            .or_insert(exposure.seen_at);
    }
    let mut entries = Vec::new();
    let (mut labels, mut joined) = (0, 0);
    for named in in_sealing_order(sources.label_files, unjoined) {
        let header = &named.file.header;
        let mut note = |reason: String| {
            unjoined.push(Unjoined { kind: "label-file", name: named.path.clone(), reason });
        };
        if header.manifest.to_hex() != sources.report.fixtures.manifest_sha256 {
            note(format!(
                "made for manifest {}, the report is over {}; its labels join where the pictures are the same",
                header.manifest.short(),
                short(&sources.report.fixtures.manifest_sha256),
            ));
        }
        let categories_join = taxonomy == Some(header.taxonomy) && !header.groups.is_empty();
        if taxonomy.is_some() && !categories_join {
            note(format!(
                "made with taxonomy {}, not the one in use; it counts for presence only",
                header.taxonomy.short()
            ));
        }
        let file = entries.len();
        entries.push(LabelFileEntry {
            path: named.path.clone(),
            hash: named.file.sha256,
            rater: header.rater.clone(),
            shard: header.shard,
            sealed_at: header.sealed_at.clone(),
            blind: held_against_report(
                header.blind,
                &header.sealed_at,
                &sources.report.generated_at,
            ),
        });
        let mut place = |fixture: FixtureId| match positions.get(&fixture) {
            Some(index) => Some(*index),
            None => {
                unjoined.push(Unjoined {
                    kind: "label",
                    name: fixture.to_hex(),
                    reason: format!("labelled by {}, not in the report", header.rater),
                });
                None
            }
        };
        for line in named.file.labels.iter().filter(|line| line.pass == 1) {
            labels += 1;
            let Some(index) = place(line.fixture) else { continue };
            joined += 1;
            let seen = first_seen
                .get(&(&header.rater, line.fixture))
                .copied()
                .filter(|seen| was_before(*seen, line));
            if let Some(seen_at) = seen {
                let rater = header.rater.clone();
                applied.push(Exposure { rater, fixture: line.fixture, seen_at });
            }
            let said = rows[index].said.entry(header.rater.clone()).or_default();
            add_answer(
                said,
                line,
                Answer {
                    rater: header.rater.clone(),
                    file,
                    label: line.label.clone(),
                    exposed: line.exposed || seen.is_some(),
                    categories_join,
                },
            );
        }
        for line in named.file.skipped.iter().filter(|line| line.pass == 1) {
            if let Some(index) = place(line.fixture) {
                rows[index].said.entry(header.rater.clone()).or_default().skipped = true;
            }
        }
    }
    if joined == 0 && labels > 0 {
        return Err(JoinError::NothingJoins { labels, fixtures: rows.len() });
    }
    Ok(entries)
}

/// The first sealed answer stands; an amended one stands beside it, the newest last.
fn add_answer(said: &mut Said, line: &LabelLine, answer: Answer) {
    if line.amended.is_some() {
        said.amended = Some(answer);
    } else if said.sealed.is_none() && !said.skipped {
        said.sealed = Some(answer);
    }
}

/// Files by time of sealing, each once. Notes files given twice and amendments whose first is missing.
fn in_sealing_order<'a>(
    files: &'a [NamedLabelFile],
    unjoined: &mut Vec<Unjoined>,
) -> Vec<&'a NamedLabelFile> {
    let mut order: Vec<&NamedLabelFile> = files.iter().collect();
    order.sort_by(|left, right| {
        let key = |named: &NamedLabelFile| {
            (named.file.header.sealed_at.clone(), named.file.sha256, named.path.clone())
        };
        key(left).cmp(&key(right))
    });
    let given: BTreeSet<LabelFileHash> = files.iter().map(|named| named.file.sha256).collect();
    let mut seen = BTreeSet::new();
    order.retain(|named| {
        let mut note = |reason: String| {
            unjoined.push(Unjoined { kind: "label-file", name: named.path.clone(), reason });
        };
        if let Some(former) = named.file.header.supersedes
            && !given.contains(&former)
        {
            note(format!(
                "amends {}, which is not given: answers changed before it cannot be told from first ones",
                former.short()
            ));
        }
        let new = seen.insert(named.file.sha256);
        if !new {
            note("has the same bytes as another file given; it counts once".to_owned());
        }
        new
    });
    order
}

/// Blind as the file says, but not proven when the report is older than the seal: there was something to
/// see.
fn held_against_report(said: BlindStatus, sealed_at: &str, generated_at: &str) -> BlindStatus {
    let time = |text: &str| text.parse::<Timestamp>().ok();
    let sealed_first = match (time(sealed_at), time(generated_at)) {
        (Some(sealed), Some(generated)) => sealed <= generated,
        _ => false,
    };
    if said == BlindStatus::Proven && !sealed_first { BlindStatus::Enforced } else { said }
}

/// An unreadable time of labelling counts as after.
fn was_before(seen: Timestamp, line: &LabelLine) -> bool {
    line.labelled_at.parse::<Timestamp>().map_or(true, |labelled| seen <= labelled)
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}
