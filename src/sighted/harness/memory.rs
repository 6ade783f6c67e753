//! What the harness remembers of earlier runs, without knowing where that is kept.

use std::collections::HashMap;

use super::runner::Outputs;
use crate::domain::digest::{ArtifactHash, FixtureId, TensorHash};
use crate::media::pixels::RgbImage;

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

/// Gives what earlier runs squashed pictures to, to the threads that prepare them.
pub(in crate::sighted) trait Pictures: Sync {
    /// The bytes of the squashed picture, row after row, and the hash of the tensor made of it then. The
    /// asker makes the tensor again, so that damage shows.
    fn squashed(&self, fixture: FixtureId) -> Option<(Vec<u8>, TensorHash)>;
}

/// Gives outputs of earlier runs.
pub(in crate::sighted) trait Recall: Send {
    /// The outputs of a run, unless they are gone or damaged.
    fn outputs(&mut self, key: &RunKey) -> Option<Outputs>;
}

/// What one fixture came to that is not remembered yet.
#[derive(Debug, Clone, Copy)]
pub(in crate::sighted) struct Fresh<'a> {
    /// The tensor all of it is of.
    pub tensor: TensorHash,
    /// Runs and what came out.
    pub runs: &'a [(RunKey, &'a Outputs)],
    /// What the picture was squashed to, when that is new.
    pub squashed: Option<(FixtureId, &'a RgbImage)>,
}

/// Keeps outputs for later runs.
pub(in crate::sighted) trait Keep: Send {
    /// Keeps all that is new of one fixture, or nothing.
    ///
    /// # Errors
    /// What went wrong, escaped; nothing was kept then.
    fn keep(&mut self, fresh: &Fresh<'_>) -> Result<(), String>;
}

/// All of it together.
pub(in crate::sighted) struct Memory {
    /// Which runs are there.
    pub known: Known,
    /// Reads squashed pictures.
    pub pictures: Box<dyn Pictures>,
    /// Reads runs.
    pub recall: Box<dyn Recall>,
    /// Adds to them.
    pub keep: Box<dyn Keep>,
}

impl Memory {
    /// Remembers nothing and keeps nothing.
    pub(in crate::sighted) fn none() -> Self {
        Self {
            known: Known::new(),
            pictures: Box::new(Nothing),
            recall: Box::new(Nothing),
            keep: Box::new(Nothing),
        }
    }
}

/// Remembers nothing.
pub(in crate::sighted) struct Nothing;

impl Pictures for Nothing {
    fn squashed(&self, _fixture: FixtureId) -> Option<(Vec<u8>, TensorHash)> {
        None
    }
}

impl Recall for Nothing {
    fn outputs(&mut self, _key: &RunKey) -> Option<Outputs> {
        None
    }
}

impl Keep for Nothing {
    fn keep(&mut self, _fresh: &Fresh<'_>) -> Result<(), String> {
        Ok(())
    }
}
