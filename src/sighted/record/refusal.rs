//! Why a release record is refused: one variant per rule, named as the peer tool names it.
//!
//! The order in which the rules fire is that of `release::ReleaseRecord::from_tree`, then of
//! `registry::Registry::register`. Rules without a peer number are ours.

use crate::domain::escape::escape;

/// One refusal. The text names what was expected and what was found.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(in crate::sighted) enum Refusal {
    /// Not a record of schema 1 at all.
    #[error("not a release record: {}", escape(.0))]
    Unreadable(String),
    /// No parity evidence.
    #[error("MissingParityError: parity is absent; a record without evidence is refused")]
    ParityAbsent,
    /// `parity` is something else than a reference to a report.
    #[error("MissingParityError: parity is not a reference to a report: {}", escape(.0))]
    ParityShape(String),
    /// Role word.
    #[error("ValueError: role is {:?}, expected \"reference\" or \"candidate\"", escape(.found))]
    Role {
        /// The word found.
        found: String,
    },
    /// Precision word.
    #[error("ValueError: precision is {:?}, expected \"fp32\", \"fp16\" or \"int8\"", escape(.found))]
    PrecisionWord {
        /// The word found.
        found: String,
    },
    /// Version text.
    #[error("ValueError: version is {:?}, expected v<major>.<minor>.<patch>-<precision>", escape(.found))]
    VersionPattern {
        /// The text found.
        found: String,
    },
    /// Version and precision disagree.
    #[error("PrecisionMismatchError: version {:?} does not end in -{precision}", escape(.version))]
    Suffix {
        /// The version.
        version: String,
        /// The precision in the identity.
        precision: String,
    },
    /// The weights are of another precision.
    #[error("PrecisionMismatchError: the weights are {} and the record says {precision}", escape(.implied))]
    Evidence {
        /// What the bytes imply.
        implied: String,
        /// The precision in the identity.
        precision: String,
    },
    /// A conversion without its source.
    #[error("ValueError: mechanism {:?} needs sourceSha256, found null; only \"native-export\" has no source", escape(.mechanism))]
    SourceMissing {
        /// The mechanism.
        mechanism: String,
    },
    /// No classes.
    #[error("ValueError: class count is {found}, expected at least 1")]
    ClassCount {
        /// The count found.
        found: i64,
    },
    /// No outputs.
    #[error("ValueError: no outputs, expected at least one")]
    NoOutputs,
    /// No bytes.
    #[error("ValueError: artifact bytes is {found}, expected at least 1")]
    Bytes {
        /// The size found.
        found: i64,
    },
    /// The evidence is about another artifact.
    #[error("ParityMismatchError: the report's {role} is {reported}, the artifact is {artifact}")]
    ParityArtifact {
        /// The role.
        role: &'static str,
        /// The hash on the report's side for that role.
        reported: String,
        /// The artifact's hash.
        artifact: String,
    },
    /// The evidence was measured at another operating point.
    #[error(
        "ParityMismatchError: parity was measured at {measured}, the record's threshold is {recommended}"
    )]
    ParityThreshold {
        /// Where it was measured.
        measured: f64,
        /// The record's threshold.
        recommended: f64,
    },
    /// The evidence compares with something else than the conversion's source.
    #[error("ParityMismatchError: compared against {compared}, converted from {source_hash}")]
    ComparedAgainst {
        /// The reference of the comparison.
        compared: String,
        /// The conversion's source.
        source_hash: String,
    },
    /// No id at all: the peer would load it unchecked.
    #[error("RegistryError: recordId is missing; recomputed {recomputed}")]
    RecordIdMissing {
        /// What it should be.
        recomputed: String,
    },
    /// Stored and recomputed id differ.
    #[error("RegistryError: recordId is {}, recomputed {recomputed}", escape(.stored))]
    RecordId {
        /// The id in the file.
        stored: String,
        /// What it should be.
        recomputed: String,
    },
    /// One name, one version, one recipe, two artifacts.
    #[error("VersionCollisionError: {} {} exists with artifact {existing}, this one is {new}", escape(.model_name), escape(.version))]
    VersionCollision {
        /// The model.
        model_name: String,
        /// The version.
        version: String,
        /// The artifact recorded.
        existing: String,
        /// The artifact to be recorded.
        new: String,
    },
    /// A record is never changed.
    #[error("ImmutableRecordError: record {record_id} exists and differs in {}", escape(&.differing.join(", ")))]
    Immutable {
        /// The id.
        record_id: String,
        /// Top-level keys that differ.
        differing: Vec<String>,
    },
    /// A report of another tool cannot be transcribed.
    #[error("ValueError: {}, so its numbers cannot be transcribed into a record", escape(.0))]
    ForeignReport(String),
    /// A graph must have one input.
    #[error("ValueError: the graph has {found} inputs, expected 1")]
    InputCount {
        /// How many it has.
        found: usize,
    },
    /// A name that cannot be part of a file name.
    #[error("model name {:?} cannot be part of a file name; expected letters, digits, `.`, `_` and `-`", escape(.found))]
    ModelName {
        /// The name.
        found: String,
    },
}

impl Refusal {
    /// The number of the rule in the peer's order of firing; rules of ours have none.
    #[cfg(test)]
    pub(in crate::sighted) fn peer_row(&self) -> Option<u8> {
        Some(match self {
            Self::Unreadable(_) | Self::ModelName { .. } => return None,
            Self::ParityAbsent => 1,
            Self::ParityShape(_) => 2,
            Self::Role { .. } => 3,
            Self::PrecisionWord { .. } => 4,
            Self::VersionPattern { .. } => 5,
            Self::Suffix { .. } => 6,
            Self::Evidence { .. } => 7,
            Self::SourceMissing { .. } => 8,
            Self::ClassCount { .. } => 9,
            Self::NoOutputs => 10,
            Self::Bytes { .. } => 11,
            Self::ParityArtifact { .. } => 12,
            Self::ParityThreshold { .. } => 13,
            Self::ComparedAgainst { .. } => 14,
            Self::RecordIdMissing { .. } | Self::RecordId { .. } => 15,
            Self::VersionCollision { .. } => 16,
            Self::Immutable { .. } => 17,
            Self::ForeignReport(_) => 18,
            Self::InputCount { .. } => 19,
        })
    }
}
