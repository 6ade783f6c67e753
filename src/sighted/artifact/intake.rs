//! A model file becomes an artifact: one read into memory, one hash, one look, and refusals before any
//! runtime sees a byte.
//!
//! The bytes that were hashed are the bytes a session is built from: nothing here gives out a path to
//! load again. Whatever would make a runtime read anything else than these bytes is refused.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use prost::Message as _;

use super::graph::{GraphFacts, required_inputs};
use super::onnx::{Graph, Model, Node, Tensor, is_standard};
use super::walk::{Body, Holder, Met, visit};
use super::wire::{self, WireFault};
use crate::domain::digest::ArtifactHash;
use crate::domain::escape::{escape, escape_os};
use crate::store::file::{self, ReadError};

/// Largest model, in bytes: protobuf holds no more.
pub(in crate::sighted) const MAX_BYTES: u64 = 1 << 31;

/// Versions of the file format that are known.
const IR_VERSIONS: std::ops::RangeInclusive<i64> = 3..=13;

/// Operators that may be used without being defined in the file itself. Anything else would need a
/// library of somebody's.
const DOMAINS: [&str; 2] = ["ai.onnx.ml", "com.microsoft"];

/// How a runtime marks weights that lie at an address of its own process.
const ADDRESS_MARKER: &str = "*/_ORT_MEM";

/// A model, by its bytes.
#[derive(Debug, Clone)]
pub(in crate::sighted) struct Artifact {
    bytes: Bytes,
    hash: ArtifactHash,
    facts: GraphFacts,
}

/// Why a file does not become an artifact.
#[derive(Debug, thiserror::Error)]
pub(in crate::sighted) enum ArtifactError {
    /// It cannot be read.
    #[error("{}: {source}", escape_os(.path.as_os_str()))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: ReadError,
    },
    /// It can be read and is not accepted.
    #[error("{}: {reason}", escape_os(.path.as_os_str()))]
    Refused {
        /// The file.
        path: PathBuf,
        /// Its hash.
        hash: ArtifactHash,
        /// Its size in bytes.
        size: u64,
        /// Why.
        #[source]
        reason: Refusal,
    },
}

/// What is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::sighted) enum Refusal {
    /// Nothing in it.
    #[error("expected an ONNX model, found an empty file")]
    Empty,
    /// Something else that is easily taken for a model.
    #[error("expected an ONNX model, found {0}")]
    SomethingElse(&'static str),
    /// Not protobuf, truncated, or past a limit.
    #[error("expected an ONNX model: {0}")]
    Wire(#[from] WireFault),
    /// Protobuf, but not of the ONNX schema.
    #[error("expected an ONNX model: {0}")]
    NotOnnx(String),
    /// A file format of the future or of the distant past.
    #[error("IR version {found}, expected {} to {}", IR_VERSIONS.start(), IR_VERSIONS.end())]
    IrVersion {
        /// The version found, 0 when there is none.
        found: i64,
    },
    /// Weights in another file.
    #[error(
        "{tensor} names data outside the model (location \"{location}\"); expected all weights in the file, because only the file is hashed"
    )]
    ExternalData {
        /// What names it, escaped.
        tensor: String,
        /// What it names, escaped.
        location: String,
    },
    /// Weights at an address in memory.
    #[error("{tensor} is said to lie at an address in memory; expected all weights in the file")]
    MemoryAddress {
        /// What says so, escaped.
        tensor: String,
    },
    /// Compiled code, or the name of a file that holds it.
    #[error("node \"{node}\" holds a compiled context (EPContext); expected plain operators")]
    CompiledContext {
        /// The node, escaped.
        node: String,
    },
    /// An operator nobody here knows.
    #[error(
        "operator {operator} is of the domain \"{domain}\"; expected ai.onnx, ai.onnx.ml, com.microsoft or a function of the model itself"
    )]
    UnknownDomain {
        /// The operator, escaped.
        operator: String,
        /// Its domain, escaped.
        domain: String,
    },
    /// Not one input.
    #[error("{found} graph inputs{}, expected 1", in_brackets(.names))]
    Inputs {
        /// How many.
        found: usize,
        /// Their names, escaped.
        names: String,
    },
}

impl Artifact {
    /// Reads, hashes and checks the file at `path`.
    ///
    /// # Errors
    /// It cannot be read, or is refused.
    pub(in crate::sighted) fn open(path: &Path) -> Result<Self, ArtifactError> {
        let bytes = file::read(path, MAX_BYTES)
            .map_err(|source| ArtifactError::Unreadable { path: path.to_owned(), source })?;
        Self::from_bytes(path, bytes)
    }

    /// Hashes and checks bytes that were read already; `path` only names them.
    ///
    /// # Errors
    /// They are refused.
    pub(in crate::sighted) fn from_bytes(
        path: &Path,
        bytes: Vec<u8>,
    ) -> Result<Self, ArtifactError> {
        let bytes = Bytes::from(bytes);
        let hash = ArtifactHash::of(&bytes);
        let facts = admit(&bytes).map_err(|reason| ArtifactError::Refused {
            path: path.to_owned(),
            hash,
            size: bytes.len() as u64,
            reason,
        })?;
        Ok(Self { bytes, hash, facts })
    }

    /// The hashed bytes: build sessions from these and from nothing else.
    pub(in crate::sighted) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Size in bytes.
    pub(in crate::sighted) fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// What names it.
    pub(in crate::sighted) fn hash(&self) -> ArtifactHash {
        self.hash
    }

    /// What the bytes say.
    pub(in crate::sighted) fn facts(&self) -> &GraphFacts {
        &self.facts
    }
}

fn in_brackets(names: &str) -> String {
    if names.is_empty() { String::new() } else { format!(" ({names})") }
}

fn admit(bytes: &Bytes) -> Result<GraphFacts, Refusal> {
    if let Some(refusal) = something_else(bytes) {
        return Err(refusal);
    }
    wire::check(bytes)?;
    let model = Model::decode(bytes.clone())
        .map_err(|error| Refusal::NotOnnx(escape(&error.to_string()).into_owned()))?;
    let Some(graph) = &model.graph else {
        return Err(Refusal::NotOnnx("no graph in it".to_owned()));
    };
    let ir_version = model.ir_version.unwrap_or(0);
    if !IR_VERSIONS.contains(&ir_version) {
        return Err(Refusal::IrVersion { found: ir_version });
    }
    refuse_what_is_elsewhere(&model)?;
    one_input(graph)?;
    Ok(GraphFacts::of(&model, graph))
}

/// Files that are downloaded in a model's place.
fn something_else(bytes: &[u8]) -> Option<Refusal> {
    let found = match bytes {
        [] => return Some(Refusal::Empty),
        [0x1f, 0x8b, ..] => "a gzip archive: unpack it first",
        [b'P', b'K', 3, 4, ..] => "a zip archive: unpack it first",
        _ if bytes.starts_with(b"version https://git-lfs") => {
            "a Git LFS pointer: the model itself has not been fetched"
        }
        _ if bytes.starts_with(b"<") => "a web page or XML",
        _ => return None,
    };
    Some(Refusal::SomethingElse(found))
}

fn refuse_what_is_elsewhere(model: &Model) -> Result<(), Refusal> {
    let functions: HashSet<(&str, &str)> = model
        .functions
        .iter()
        .map(|function| (function.domain.as_str(), function.name.as_str()))
        .collect();
    let mut refusal = None;
    visit(model, &mut |met| {
        if refusal.is_none() {
            refusal = match met {
                Met::Tensor(tensor, holder, body) => external(tensor, holder, body),
                Met::Node(node, _) => foreign(node, &functions),
                Met::Doc(_) => None,
            };
        }
    });
    refusal.map_or(Ok(()), Err)
}

fn external(tensor: &Tensor, holder: Holder<'_>, body: Body) -> Option<Refusal> {
    if tensor.data_location == 0 && tensor.external_data.is_empty() {
        return None;
    }
    let name = escape(&tensor.name);
    let tensor_name = match holder {
        Holder::Initializer => format!("initializer \"{name}\"{}", body.suffix()),
        Holder::SparseInitializer => format!("sparse initializer \"{name}\"{}", body.suffix()),
        Holder::Attribute(owner) => {
            format!("an attribute of node \"{}\"{}", escape(owner), body.suffix())
        }
    };
    if tensor.external_data.iter().any(|entry| entry.value.contains(ADDRESS_MARKER)) {
        return Some(Refusal::MemoryAddress { tensor: tensor_name });
    }
    let location = tensor.external_data.iter().find(|entry| entry.key == "location");
    Some(Refusal::ExternalData {
        tensor: tensor_name,
        location: location.map_or_else(String::new, |entry| escape(&entry.value).into_owned()),
    })
}

fn foreign(node: &Node, functions: &HashSet<(&str, &str)>) -> Option<Refusal> {
    if node.op_type == "EPContext" {
        return Some(Refusal::CompiledContext { node: escape(node.label()).into_owned() });
    }
    let known = is_standard(&node.domain)
        || DOMAINS.contains(&node.domain.as_str())
        || functions.contains(&(node.domain.as_str(), node.op_type.as_str()));
    if known {
        return None;
    }
    Some(Refusal::UnknownDomain {
        operator: escape(&node.op_type).into_owned(),
        domain: escape(&node.domain).into_owned(),
    })
}

fn one_input(graph: &Graph) -> Result<(), Refusal> {
    let inputs = required_inputs(graph);
    if inputs.len() == 1 {
        return Ok(());
    }
    let shown: Vec<_> = inputs.iter().take(8).map(|input| escape(&input.name)).collect();
    Err(Refusal::Inputs { found: inputs.len(), names: shown.join(", ") })
}
