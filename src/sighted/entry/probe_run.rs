//! What the runtime's calls cost by themselves, for the benchmark of a whole comparison.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;

use super::parity::NOISE_FIXTURES;
use crate::domain::manifest::Manifest;
use crate::sighted::artifact::intake::Artifact;
use crate::sighted::artifact::sidecar::Sidecar;
use crate::sighted::harness::prepare::{Line, Preparation, Prepared, Tensor};
use crate::sighted::harness::recipe::{InputTensor, Recipe};
use crate::sighted::harness::runner::{OnnxRunner, Runner as _};
use crate::sighted::harness::runtime_library::{ManagedFolder, load, locate};

/// Both sides loaded, and the tensors of a manifest.
pub struct BareRuns {
    reference: OnnxRunner,
    candidate: OnnxRunner,
    inputs: Vec<InputTensor>,
}

impl std::fmt::Debug for BareRuns {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "BareRuns of {} inputs", self.inputs.len())
    }
}

impl BareRuns {
    /// Loads everything; pictures that cannot be decoded are passed over.
    ///
    /// # Errors
    /// A file that cannot be used, or no picture at all.
    pub fn prepare(
        [reference, candidate, sidecar, manifest]: [&Path; 4],
        threads: u32,
    ) -> anyhow::Result<Self> {
        let runtime = load(&locate(None, ManagedFolder::of_this_user().as_ref())?)?;
        let sidecar = Sidecar::open(sidecar)?;
        let scale = sidecar.normalization;
        let recipe = Recipe::new(sidecar.width, sidecar.height, scale.mean, scale.std)?;
        let folder = manifest.parent().context("a manifest in a folder")?;
        let manifest = Manifest::parse(&std::fs::read(manifest)?, folder)?;
        let inputs: Vec<InputTensor> = (0..)
            .zip(manifest.entries)
            .filter_map(|(position, entry)| {
                let line = Line { position, written: entry.written, path: entry.path };
                match Preparation::anew(&recipe).prepare(&line) {
                    Prepared::Ready { tensor: Tensor::Made(input), .. } => Some(input),
                    _ => None,
                }
            })
            .collect();
        anyhow::ensure!(!inputs.is_empty(), "no picture could be decoded");
        let runner = |path: &Path| -> anyhow::Result<OnnxRunner> {
            Ok(OnnxRunner::load(runtime, &Artifact::open(path)?, threads)?)
        };
        Ok(Self { reference: runner(reference)?, candidate: runner(candidate)?, inputs })
    }

    /// Time within the runtime's calls of a comparison of `count` fixtures, which are the manifest's over
    /// and over: both sides, and the reference again where the noise floor is measured.
    ///
    /// # Errors
    /// A call failed.
    pub fn run(&mut self, count: u64) -> anyhow::Result<Duration> {
        let mut spent = Duration::ZERO;
        for (position, input) in (0..count).zip(self.inputs.iter().cycle()) {
            spent += self.reference.run(input)?.elapsed;
            spent += self.candidate.run(input)?.elapsed;
            if position < NOISE_FIXTURES {
                spent += self.reference.run(input)?.elapsed;
            }
        }
        Ok(spent)
    }
}
