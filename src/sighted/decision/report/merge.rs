//! Joins the reports of all shards into the report that one run would have given.
//!
//! Counts, decisions and items are those of the one run, because they are made again from the listed
//! detections; means come from sums that kept what rounding lost; quantiles from the shards' merge states.
//! Shards must be parts of one comparison on one kind of machine, all there and each once.

use std::collections::BTreeSet;

use super::build::{BuildError, Entry, ReportBuilder, ReportContext};
use super::layout::*;
use super::state::{MergeState, StateError};
use crate::domain::digest::ContentHash;
use crate::sighted::decision::fold::DecisionRules;
use crate::sighted::decision::slot_match::match_sets;
use crate::sighted::decision::tensor_delta::OutputTotals;

/// One shard's report, read and checked, and the bytes of its companion.
#[derive(Debug, Clone)]
pub(in crate::sighted) struct ShardReport {
    /// How messages name it.
    pub name: String,
    /// The report.
    pub report: ParityReport,
    /// Bytes of the file its `mergeState` names.
    pub state: Vec<u8>,
}

/// Why reports are not joined.
#[derive(Debug, thiserror::Error)]
pub(in crate::sighted) enum MergeError {
    /// No report.
    #[error("expected the reports of all shards, found none")]
    Nothing,
    /// A report without what joining needs.
    #[error("{name}: expected the report of a shard, found {found}")]
    NotAShard {
        /// Which.
        name: String,
        /// What it is.
        found: &'static str,
    },
    /// A companion that is not the one the report names, or damaged.
    #[error("{name}: merge state: {reason}")]
    State {
        /// Which report.
        name: String,
        /// What was expected and found.
        reason: String,
    },
    /// Another comparison, or another kind of machine.
    #[error("{name}: {what}: expected {expected} as in {first}, found {found}")]
    Differs {
        /// Which report.
        name: String,
        /// The first report.
        first: String,
        /// Which field.
        what: &'static str,
        /// The first report's.
        expected: String,
        /// This one's.
        found: String,
    },
    /// One shard given twice.
    #[error("shard {index} is given twice: {first} and {second}")]
    Twice {
        /// Counted from 1.
        index: u32,
        /// A report.
        first: String,
        /// Another.
        second: String,
    },
    /// Shards not given.
    #[error("expected all {of} shards, missing {missing}")]
    Missing {
        /// How many there are.
        of: u32,
        /// Their numbers.
        missing: String,
    },
    /// A fixture in two shards.
    #[error("fixture {position} of the manifest is in two shards: {first} and {second}")]
    Overlap {
        /// Counted from 0.
        position: u64,
        /// A report.
        first: String,
        /// Another.
        second: String,
    },
    /// A fixture in no shard.
    #[error("fixture {position} of the manifest is in no shard; it has {count} entries")]
    Gap {
        /// Counted from 0.
        position: u64,
        /// Entries of the manifest.
        count: u64,
    },
    /// Joined, there is nothing to report on.
    #[error("{0}")]
    Build(#[from] BuildError),
}

/// Joins the reports of all shards, in any order.
///
/// # Errors
/// Shards of different comparisons, missing or given twice, or damaged merge states.
pub(in crate::sighted) fn merge(
    mut shards: Vec<ShardReport>,
    generated_at: String,
) -> Result<ParityReport, MergeError> {
    shards.sort_by_key(|shard| shard.report.flipside.as_ref().map(|ours| ours.shard.index));
    let Some(first) = shards.first() else { return Err(MergeError::Nothing) };
    for shard in &shards {
        check_alike(first, shard)?;
    }
    let extensions: Vec<&Extension> =
        shards.iter().filter_map(|shard| shard.report.flipside.as_ref()).collect();
    let Some(ours) = extensions.first().copied() else { return Err(MergeError::Nothing) };
    check_complete(&shards, ours)?;
    check_outputs(&shards)?;
    let rules = DecisionRules {
        classes: ours.classes.len(),
        recommended: first.report.decode.conf_threshold_recommended,
        // Nothing is decoded any more.
        logits_output: String::new(),
        boxes_output: String::new(),
    };
    let mut joined = ReportBuilder::new(rules)?;
    for shard in &shards {
        let state = read_state(shard)?;
        joined.absorb(&shard.report, state);
    }
    let context = joined_context(first, ours, &shards, generated_at, &joined)?;
    Ok(joined.finish(context)?.report)
}

fn check_alike(first: &ShardReport, shard: &ShardReport) -> Result<(), MergeError> {
    let name = || shard.name.clone();
    let (one, two) = (&first.report, &shard.report);
    let (Some(ours), Some(theirs)) = (&one.flipside, &two.flipside) else {
        return Err(MergeError::NotAShard { name: name(), found: "a report of another tool" });
    };
    if theirs.shard.of < 2 {
        return Err(MergeError::NotAShard { name: name(), found: "the report of a whole run" });
    }
    let artifact = |entry: &ArtifactEntry| format!("{} ({} bytes)", entry.sha256, entry.bytes);
    let text = |value: &dyn std::fmt::Debug| format!("{value:?}");
    let fields: [(&'static str, String, String); 17] = [
        ("number of shards", ours.shard.of.to_string(), theirs.shard.of.to_string()),
        (
            "fixture manifest",
            one.fixtures.manifest_sha256.clone(),
            two.fixtures.manifest_sha256.clone(),
        ),
        (
            "entries of the manifest",
            ours.manifest_count.to_string(),
            theirs.manifest_count.to_string(),
        ),
        ("reference", artifact(&one.artifacts.a), artifact(&two.artifacts.a)),
        ("candidate", artifact(&one.artifacts.b), artifact(&two.artifacts.b)),
        ("recipe", text(&ours.recipe), text(&theirs.recipe)),
        ("runtime", ours.runtime.name.clone(), theirs.runtime.name.clone()),
        ("runtime version", ours.runtime.version.clone(), theirs.runtime.version.clone()),
        ("provider", ours.runtime.provider.clone(), theirs.runtime.provider.clone()),
        (
            "threads",
            ours.runtime.intra_op_threads.to_string(),
            theirs.runtime.intra_op_threads.to_string(),
        ),
        ("optimisation", ours.runtime.optimisation.clone(), theirs.runtime.optimisation.clone()),
        (
            "cpu features",
            ours.runtime.cpu_features.join(" "),
            theirs.runtime.cpu_features.join(" "),
        ),
        ("machine", one.environment.machine.clone(), two.environment.machine.clone()),
        (
            "recommended threshold",
            text(&one.decode.conf_threshold_recommended),
            text(&two.decode.conf_threshold_recommended),
        ),
        ("classes", text(&ours.classes), text(&theirs.classes)),
        ("input", input_text(&one.fixtures), input_text(&two.fixtures)),
        ("product", ours.product.clone(), theirs.product.clone()),
    ];
    for (what, expected, found) in fields {
        if expected != found {
            let first = first.name.clone();
            return Err(MergeError::Differs { name: name(), first, what, expected, found });
        }
    }
    Ok(())
}

fn input_text(fixtures: &FixtureSet) -> String {
    let Normalization { mean, std } = &fixtures.normalization;
    format!("{:?}, mean {mean:?}, deviation {std:?}", fixtures.input_shape)
}

/// Every shard once, every fixture once.
fn check_complete(shards: &[ShardReport], ours: &Extension) -> Result<(), MergeError> {
    let of = ours.shard.of;
    let index =
        |shard: &ShardReport| shard.report.flipside.as_ref().map_or(0, |own| own.shard.index);
    for pair in shards.windows(2) {
        if index(&pair[0]) == index(&pair[1]) {
            let (first, second) = (pair[0].name.clone(), pair[1].name.clone());
            return Err(MergeError::Twice { index: index(&pair[0]), first, second });
        }
    }
    let there: BTreeSet<u32> = shards.iter().map(index).collect();
    let missing = (1..=of).filter(|index| !there.contains(index));
    let missing: Vec<String> = missing.take(20).map(|index| index.to_string()).collect();
    if !missing.is_empty() {
        return Err(MergeError::Missing { of, missing: missing.join(", ") });
    }
    let mut positions: Vec<(u64, &str)> = Vec::new();
    for shard in shards {
        let rows = shard.report.flipside.iter().flat_map(|own| &own.fixtures);
        positions.extend(rows.map(|row| (row.position, shard.name.as_str())));
    }
    positions.sort_unstable();
    for pair in positions.windows(2) {
        if pair[0].0 == pair[1].0 {
            let (first, second) = (pair[0].1.to_owned(), pair[1].1.to_owned());
            return Err(MergeError::Overlap { position: pair[0].0, first, second });
        }
    }
    let count = ours.manifest_count;
    let there = (0..).zip(&positions).find(|(expected, (found, _))| expected != found);
    match there {
        Some((position, _)) => Err(MergeError::Gap { position, count }),
        None if positions.len() as u64 == count => Ok(()),
        None => Err(MergeError::Gap { position: positions.len() as u64, count }),
    }
}

/// Shards that compared anything compared the same outputs.
fn check_outputs(shards: &[ShardReport]) -> Result<(), MergeError> {
    let outputs = |shard: &ShardReport| {
        let outputs = shard.report.raw_outputs.iter();
        let names: Vec<&str> = outputs.map(|output| output.name.as_str()).collect();
        format!("{names:?} of {} slots", shard.report.decode.queries_per_image)
    };
    let mut filled = shards.iter().filter(|shard| shard.report.fixtures.count > 0);
    let Some(first) = filled.next() else { return Ok(()) };
    for shard in filled {
        let (expected, found) = (outputs(first), outputs(shard));
        if expected != found {
            return Err(MergeError::Differs {
                name: shard.name.clone(),
                first: first.name.clone(),
                what: "outputs",
                expected,
                found,
            });
        }
    }
    Ok(())
}

/// The shard's merge state, when it is the one its report was made with.
fn read_state(shard: &ShardReport) -> Result<MergeState, MergeError> {
    let fault = |reason: String| MergeError::State { name: shard.name.clone(), reason };
    let entry = shard.report.flipside.as_ref().and_then(|ours| ours.merge_state.as_ref());
    let entry = entry.ok_or_else(|| fault("expected one named in the report".to_owned()))?;
    let found = ContentHash::of(&shard.state).to_hex();
    if found != entry.sha256 {
        return Err(fault(format!("expected sha256 {}, found {found}", entry.sha256)));
    }
    let mut state =
        MergeState::parse(&shard.state).map_err(|StateError { reason }| fault(reason))?;
    let outputs: Vec<OutputDelta> = state.outputs.iter_mut().map(OutputTotals::summarise).collect();
    let decode = &shard.report.decode;
    let same = outputs == shard.report.raw_outputs
        && state.confidence.max == decode.max_confidence_delta_any_query
        && state.confidence.mean() == decode.mean_per_image_max_confidence_delta
        && state.run_ms.a.len() as u64 == shard.report.latency_ms.a.n
        && state.run_ms.b.len() as u64 == shard.report.latency_ms.b.n;
    if same { Ok(state) } else { Err(fault("its totals are not those of the report".to_owned())) }
}

impl ReportBuilder {
    /// Takes in a checked report and its merge state.
    fn absorb(&mut self, report: &ParityReport, state: MergeState) {
        let Some(ours) = &report.flipside else { return };
        let recommended = report.decode.conf_threshold_recommended;
        let mut items = ours.items.iter();
        for row in &ours.fixtures {
            let mut entry = Entry { row: row.clone(), flips: None, items: Vec::new() };
            if let Some(found) = &row.found {
                entry.flips = Some(self.sweep.add(found));
                let matched = match_sets(&found.a.detections, &found.b.detections, recommended);
                let count = matched.items(&row.sha256).len();
                entry.items = items.by_ref().take(count).cloned().collect();
            }
            self.entries.push(entry);
        }
        if report.fixtures.count > 0 {
            self.queries = Some(report.decode.queries_per_image);
        }
        if self.state.outputs.is_empty() {
            self.state.outputs = state.outputs;
        } else {
            for (ours, theirs) in self.state.outputs.iter_mut().zip(&state.outputs) {
                ours.merge(theirs);
            }
        }
        self.state.confidence.merge(&state.confidence);
        self.state.run_ms.a.extend(state.run_ms.a);
        self.state.run_ms.b.extend(state.run_ms.b);
        self.max_box_delta = self.max_box_delta.max(report.decode.max_box_coord_delta_any_query);
        // Counts come out of files: a forged one may be anything.
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.noise.fixtures, ours.noise_floor.fixtures);
        add(&mut self.noise.threshold_flips, ours.noise_floor.threshold_flips);
        add(&mut self.noise.class_flips, ours.noise_floor.class_flips);
        for (name, delta) in &ours.noise_floor.max_abs_delta {
            let largest = self.noise.max_abs_delta.entry(name.clone()).or_default();
            *largest = largest.max(*delta);
        }
    }
}

fn joined_context(
    first: &ShardReport,
    ours: &Extension,
    shards: &[ShardReport],
    generated_at: String,
    joined: &ReportBuilder,
) -> Result<ReportContext, MergeError> {
    let report = &first.report;
    let every = |of: fn(&Environment) -> &String| {
        let all: BTreeSet<&str> =
            shards.iter().map(|shard| of(&shard.report.environment).as_str()).collect();
        all.into_iter().collect::<Vec<_>>().join("; ")
    };
    let count = shards.len();
    Ok(ReportContext {
        generated_at,
        artifacts: report.artifacts.clone(),
        environment: Environment {
            platform: every(|environment| &environment.platform),
            python: every(|environment| &environment.python),
            ..report.environment.clone()
        },
        manifest: report.fixtures.manifest.clone(),
        manifest_hash: report.fixtures.manifest_sha256.parse().map_err(
            |error: crate::domain::digest::ParseDigestError| BuildError::Context(error.to_string()),
        )?,
        manifest_count: ours.manifest_count,
        input_shape: report.fixtures.input_shape.clone(),
        normalization: report.fixtures.normalization.clone(),
        resize_note: report.fixtures.resize_note.clone(),
        run_ms: joined.state.run_ms.clone(),
        latency_note: format!(
            "{} Joined from {count} shards: times of different machines or moments.",
            report.latency_ms.note
        ),
        product: ours.product.clone(),
        recipe: ours.recipe.clone(),
        runtime: ours.runtime.clone(),
        classes: ours.classes.clone(),
        // A ratio of times holds within one run only.
        latency: None,
        shard: ShardEntry { index: 1, of: 1 },
        state_file: String::new(),
    })
}
