//! What is fixed before the first fixture: artifacts, recipe, fixtures, rules, runtime.

use std::path::Path;

use anyhow::Context as _;

use super::answer::BlockedRow;
use super::{NOISE_FIXTURES, ParityQuestion, Place};
use crate::domain::canonical::Json;
use crate::domain::escape::escape_os;
use crate::domain::manifest::{MAX_BYTES, Manifest};
use crate::sighted::artifact::contract::{Severity, boundary, of_two_sidecars};
use crate::sighted::artifact::intake::{Artifact, ArtifactError};
use crate::sighted::artifact::sidecar::{Sidecar, path_beside};
use crate::sighted::decision::fold::DecisionRules;
use crate::sighted::decision::report::Sides;
use crate::sighted::harness::environment::cpu_features;
use crate::sighted::harness::memory::{Memory, RunKey};
use crate::sighted::harness::prepare::Line;
use crate::sighted::harness::recipe::Recipe;
use crate::sighted::harness::run::{Lane, NoiseSample, RunPlan, Side};
use crate::sighted::harness::runner::{CPU, OPTIMISATION, OnnxRunner, Runner};
use crate::sighted::harness::runtime_library::Runtime;
use crate::sighted::review::material::{Header, SideName};
use crate::sighted::runs::outputs;
use crate::store::file;

/// Everything that is fixed before the first fixture.
pub(super) struct Setup {
    pub artifacts: Sides<Artifact>,
    pub sidecar: Sidecar,
    pub recipe: Recipe,
    pub manifest: Manifest,
    pub lines: Vec<Line>,
    pub rules: DecisionRules,
    pub runtime: &'static Runtime,
    pub cpu_features: Vec<String>,
}

impl Setup {
    pub(super) fn new(
        question: &ParityQuestion,
        sidecar: Sidecar,
        artifacts: Sides<Artifact>,
        runtime: &'static Runtime,
    ) -> anyhow::Result<Self> {
        let scale = sidecar.normalization;
        let recipe = Recipe::new(sidecar.width, sidecar.height, scale.mean, scale.std)
            .with_context(|| escape_os(question.sidecar.path.as_os_str()))?;
        let manifest = read_manifest(&question.manifest.path)?;
        let lines = lines_of(&manifest, question.shard, question.limit);
        let recommended = question.threshold.unwrap_or(sidecar.confidence_threshold);
        let rules = DecisionRules {
            classes: sidecar.classes.len(),
            recommended,
            logits_output: "labels".to_owned(),
            boxes_output: "dets".to_owned(),
        };
        rules.check()?;
        let cpu_features = cpu_features();
        Ok(Self { artifacts, sidecar, recipe, manifest, lines, rules, runtime, cpu_features })
    }

    /// What the comparison is called, and what its fixtures are named with.
    pub(super) fn header(&self, question: &ParityQuestion) -> Header {
        let side = |place: &Place, artifact: &Artifact| {
            SideName::new(&place.written.to_string_lossy(), &artifact.hash().to_hex())
        };
        Header {
            sides: Sides {
                a: side(&question.reference, &self.artifacts.a),
                b: side(&question.candidate, &self.artifacts.b),
            },
            recipe: self.recipe.hash().to_hex(),
            threshold: self.rules.recommended,
            classes: self.sidecar.classes.clone(),
            input: (self.recipe.width(), self.recipe.height()),
        }
    }

    pub(super) fn artifact(&self, side: Side) -> &Artifact {
        match side {
            Side::Reference => &self.artifacts.a,
            Side::Candidate => &self.artifacts.b,
        }
    }

    pub(super) fn plan(&self, question: &ParityQuestion) -> RunPlan<'_> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        // One core is left to comparing, so many are busy running an artifact. Two workers at least: while
        // the runtime waits for a tensor, its core can prepare one.
        let busy = usize::try_from(question.threads).unwrap_or(1);
        RunPlan {
            lines: &self.lines,
            recipe: &self.recipe,
            workers: cores.saturating_sub(busy + 1).clamp(2, 4),
            noise: match question.noise_on_all {
                true => NoiseSample::All,
                false => NoiseSample::First(NOISE_FIXTURES),
            },
            strict: question.strict,
        }
    }

    /// What earlier runs left. That it cannot be had costs time, nothing else.
    pub(super) fn memory(&self, question: &ParityQuestion, notes: &mut Vec<String>) -> Memory {
        let Some(path) = &question.outputs else { return Memory::none() };
        let runtime = serde_json::json!({
            "name": "onnxruntime",
            "version": self.runtime.version,
            "library": self.runtime.library.sha256,
            "provider": CPU,
            "intraOpThreads": question.threads,
            "optimisation": OPTIMISATION,
            "cpuFeatures": self.cpu_features,
        });
        let circumstances = outputs::Circumstances {
            recipe: self.recipe.hash(),
            runtime: Json::from_value(&runtime).map(|json| json.to_canonical()).unwrap_or_default(),
        };
        let artifacts = [self.artifacts.a.hash(), self.artifacts.b.hash()];
        outputs::open_memory(path, &circumstances, &artifacts, outputs::MAX_BYTES).unwrap_or_else(
            |error| {
                notes.push(format!("outputs are not remembered: {error}"));
                Memory::none()
            },
        )
    }

    /// Both sides. The candidate is loaded now, so that one that does not load is said at once; so is the
    /// reference, unless earlier runs left something of it.
    pub(super) fn lanes(
        &self,
        question: &ParityQuestion,
        memory: &Memory,
    ) -> Result<Sides<Lane>, BlockedRow> {
        let threads = question.threads;
        let lane = |artifact: &Artifact| {
            let (runtime, bytes) = (self.runtime, artifact.clone());
            Lane::new(
                artifact.hash(),
                Box::new(move || {
                    let runner = OnnxRunner::load(runtime, &bytes, threads)?;
                    Ok(Box::new(runner) as Box<dyn Runner>)
                }),
            )
        };
        let mut sides = Sides { a: lane(&self.artifacts.a), b: lane(&self.artifacts.b) };
        let reference = self.artifacts.a.hash();
        let remembered = memory.known.keys().any(|key: &RunKey| key.artifact == reference);
        let mut rows = Vec::new();
        if !remembered {
            rows.push((Side::Reference, sides.a.runner().err()));
        }
        rows.push((Side::Candidate, sides.b.runner().err()));
        for (side, error) in rows {
            if let Some(error) = error {
                let reason = error.to_string();
                return Err(BlockedRow::new(side, question, self.artifact(side), reason));
            }
        }
        Ok(sides)
    }
}

/// Reads and checks both artifacts; every one that is refused has a row.
pub(super) fn open_artifacts(
    question: &ParityQuestion,
    sidecar: &Sidecar,
    notes: &mut Vec<String>,
) -> Result<Sides<Artifact>, Vec<BlockedRow>> {
    let mut rows = Vec::new();
    let mut open = |side: Side| -> Option<Artifact> {
        let place = question.place(side);
        let artifact = match Artifact::open(&place.path) {
            Ok(artifact) => artifact,
            Err(error) => {
                let (sha256, bytes, reason) = match error {
                    ArtifactError::Refused { hash, size, reason, .. } => {
                        (Some(hash.to_hex()), Some(size), format!("refused: {reason}"))
                    }
                    ArtifactError::Unreadable { source, .. } => {
                        (None, None, format!("cannot be read: {source}"))
                    }
                };
                let path = place.written.clone();
                rows.push(BlockedRow { side, path, sha256, bytes, reason });
                return None;
            }
        };
        let faults: Vec<String> = boundary(artifact.facts(), sidecar)
            .into_iter()
            .filter(|finding| finding.severity == Severity::Error)
            .map(|finding| finding.text)
            .collect();
        if !faults.is_empty() {
            let reason = format!("refused: {}", faults.join("; "));
            rows.push(BlockedRow::new(side, question, &artifact, reason));
            return None;
        }
        Some(artifact)
    };
    match (open(Side::Reference), open(Side::Candidate)) {
        (Some(a), Some(b)) => {
            notes.extend(candidate_sidecar(question, sidecar));
            Ok(Sides { a, b })
        }
        _ => Err(rows),
    }
}

/// What the candidate's own sidecar, where there is one, says otherwise. Both sides are decoded by the
/// reference's.
fn candidate_sidecar(question: &ParityQuestion, sidecar: &Sidecar) -> Vec<String> {
    let path = path_beside(&question.candidate.path);
    if path == question.sidecar.path || !path.is_file() {
        return Vec::new();
    }
    match Sidecar::open(&path) {
        Ok(own) => of_two_sidecars(sidecar, &own)
            .into_iter()
            .filter(|finding| finding.severity != Severity::Info)
            .map(|finding| format!("the candidate's own sidecar: {}", finding.text))
            .collect(),
        Err(error) => vec![format!("the candidate's own sidecar is not looked at: {error}")],
    }
}

fn read_manifest(path: &Path) -> anyhow::Result<Manifest> {
    let name = || escape_os(path.as_os_str());
    let bytes = file::read(path, MAX_BYTES).with_context(name)?;
    let folder = path.parent().unwrap_or_else(|| Path::new(""));
    Manifest::parse(&bytes, folder).with_context(name)
}

/// The lines of one shard: every `of`-th, so that shards take equally long when the manifest is sorted by
/// source.
fn lines_of(manifest: &Manifest, (index, of): (u32, u32), limit: Option<u64>) -> Vec<Line> {
    let limit = limit.unwrap_or(u64::MAX);
    (0..)
        .zip(&manifest.entries)
        .filter(|(position, _)| {
            *position < limit && position % u64::from(of.max(1)) + 1 == u64::from(index)
        })
        .map(|(position, entry)| Line {
            position,
            written: entry.written.clone(),
            path: entry.path.clone(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_take_turns_and_cover_the_manifest_once() {
        let text: String = (0..10).map(|line| format!("{line}.jpg\n")).collect();
        let manifest = Manifest::parse(text.as_bytes(), Path::new("/set")).expect("valid");
        let positions = |shard, limit| -> Vec<u64> {
            lines_of(&manifest, shard, limit).iter().map(|line| line.position).collect()
        };
        assert_eq!(positions((1, 1), None), (0..10).collect::<Vec<_>>());
        assert_eq!(positions((2, 3), None), [1, 4, 7]);
        assert_eq!(positions((2, 3), Some(5)), [1, 4]);
        let mut all: Vec<u64> = (1..=3).flat_map(|index| positions((index, 3), None)).collect();
        all.sort_unstable();
        assert_eq!(all, positions((1, 1), None));
    }
}
