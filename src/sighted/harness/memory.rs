//! What the harness remembers of earlier runs, without knowing where that is kept.

use std::collections::HashMap;

use super::runner::Outputs;
use crate::domain::digest::{ArtifactHash, FixtureId, TensorHash};

/// Which run of an artifact on a fixture: the reference is run again for the noise floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::sighted) enum Turn {
    /// The one that is compared.
    First,
    /// The one that shows how much the same artifact differs from itself.
    Again,
}

/// Names one run; recipe and runtime are those of the whole memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::sighted) struct RunKey {
    /// What ran.
    pub artifact: ArtifactHash,
    /// On what.
    pub fixture: FixtureId,
    /// Which time.
    pub turn: Turn,
}

/// Which runs are remembered, and the tensor each had. Shared by the threads that prepare pictures.
pub(in crate::sighted) type Known = HashMap<RunKey, TensorHash>;

/// Gives outputs of earlier runs.
pub(in crate::sighted) trait Recall: Send {
    /// The outputs of a run, unless they are gone or damaged.
    fn outputs(&mut self, key: &RunKey) -> Option<Outputs>;
}

/// Keeps outputs for later runs.
pub(in crate::sighted) trait Keep: Send {
    /// Keeps all runs on one fixture, or none of them.
    ///
    /// # Errors
    /// What went wrong, escaped; nothing was kept then.
    fn keep(&mut self, tensor: TensorHash, runs: &[(RunKey, &Outputs)]) -> Result<(), String>;
}

/// The three together.
pub(in crate::sighted) struct Memory {
    /// Which runs are there.
    pub known: Known,
    /// Reads them.
    pub recall: Box<dyn Recall>,
    /// Adds to them.
    pub keep: Box<dyn Keep>,
}

impl Memory {
    /// Remembers nothing and keeps nothing.
    pub(in crate::sighted) fn none() -> Self {
        Self { known: Known::new(), recall: Box::new(Nothing), keep: Box::new(Nothing) }
    }
}

struct Nothing;

impl Recall for Nothing {
    fn outputs(&mut self, _key: &RunKey) -> Option<Outputs> {
        None
    }
}

impl Keep for Nothing {
    fn keep(&mut self, _tensor: TensorHash, _runs: &[(RunKey, &Outputs)]) -> Result<(), String> {
        Ok(())
    }
}
