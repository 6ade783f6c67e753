//! A new record from an artifact, its sidecar and the parity report it stands on.
//!
//! What nobody stated gets a default that says so in the record's notes, never one that looks stated.

use super::comparison;
use super::identity::{NATIVE_EXPORT, Precision, class_hash};
use super::refusal::Refusal;
use super::release::{NewRecord, ReleaseRecord, Role, evidence_json};
use crate::domain::canonical::Json;
use crate::domain::digest::{ArtifactHash, ReportHash};
use crate::sighted::artifact::graph::{Dimension, TensorSignature};
use crate::sighted::artifact::intake::Artifact;
use crate::sighted::artifact::sidecar::Sidecar;

/// What a person states; everything else is read from files.
#[derive(Debug, Clone, Default)]
pub(in crate::sighted) struct Stated {
    /// The version; otherwise the sidecar's, with the suffix of the artifact's precision.
    pub version: Option<String>,
    /// The operating point; otherwise the sidecar's.
    pub confidence: Option<f64>,
    /// Which side of the report the artifact is; otherwise told by its hash.
    pub role: Option<Role>,
    /// What exported or converted it.
    pub exporter: Option<String>,
    /// How.
    pub mechanism: Option<String>,
    /// From which artifact.
    pub source: Option<ArtifactHash>,
    /// From which checkpoint.
    pub checkpoint: Option<String>,
    /// Where it is meant to run; what is missing is taken from the report.
    pub target: StatedTarget,
    /// For people.
    pub notes: Vec<String>,
}

/// Where an artifact is meant to run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::sighted) struct StatedTarget {
    /// Name of the runtime.
    pub runtime: Option<String>,
    /// Its version.
    pub runtime_version: Option<String>,
    /// Its provider.
    pub provider: Option<String>,
    /// Class of hosts.
    pub host: Option<String>,
    /// Of an accelerator.
    pub compute_capability: Option<String>,
    /// Of an accelerator.
    pub cuda: Option<String>,
    /// Of an accelerator.
    pub driver: Option<String>,
}

/// The report a record stands on.
#[derive(Debug, Clone, Copy)]
pub(in crate::sighted) struct ReportSource<'a> {
    /// Its content.
    pub tree: &'a Json,
    /// Sha256 of its bytes.
    pub hash: ReportHash,
    /// Path as recorded.
    pub path: &'a str,
}

/// Makes a record.
///
/// # Errors
/// The first rule that fires.
pub(in crate::sighted) fn make(
    artifact: &Artifact,
    artifact_path: &str,
    sidecar: &Sidecar,
    report: ReportSource<'_>,
    stated: &Stated,
    registered_at: &str,
) -> Result<ReleaseRecord, Refusal> {
    let mut notes = stated.notes.clone();
    let hash = artifact.hash().to_hex();
    let parity = comparison::transcribe(report.tree, report.path, report.hash, &hash, stated.role)?;
    let precision = precision(artifact, sidecar);
    let version = version(sidecar, precision, stated, &mut notes);
    let identity = Json::object([
        ("architecture", Json::text(sidecar.architecture.as_deref().unwrap_or("unknown"))),
        (
            "artifact",
            Json::object([("bytes", Json::int(artifact.size())), ("sha256", Json::text(&hash))]),
        ),
        (
            "classes",
            Json::object([
                ("count", Json::int(sidecar.classes.len() as u64)),
                ("sha256", Json::text(class_hash(&sidecar.classes).to_hex())),
            ]),
        ),
        ("conversion", conversion(artifact, &parity, stated, &mut notes)?),
        ("io", signature(artifact)?),
        ("modelName", Json::text(&sidecar.model_name)),
        ("precision", Json::text(precision)),
        ("target", target(&parity, &stated.target, &mut notes)),
        ("thresholds", thresholds(sidecar, stated.confidence)?),
    ]);
    ReleaseRecord::assemble(NewRecord {
        version,
        artifact_path: artifact_path.to_owned(),
        identity,
        parity,
        evidence: evidence_json(&artifact.facts().weight_bytes_by_dtype),
        notes,
        registered_at: registered_at.to_owned(),
    })
}

/// The same artifact at another operating point: the identity of `record` with another threshold, on a
/// report that was measured there.
///
/// # Errors
/// The first rule that fires.
pub(in crate::sighted) fn at_point(
    record: &ReleaseRecord,
    point: f64,
    report: ReportSource<'_>,
    registered_at: &str,
) -> Result<ReleaseRecord, Refusal> {
    let hash = record.identity.artifact.to_hex();
    let role = Some(record.parity.role);
    let parity = comparison::transcribe(report.tree, report.path, report.hash, &hash, role)?;
    let mut identity = record.identity.tree.clone();
    if let Json::Object(fields) = &mut identity
        && let Some(Json::Object(thresholds)) = fields.get_mut("thresholds")
    {
        thresholds.insert("confRecommended".to_owned(), Json::Float(point));
    }
    let evidence = record.tree().get("precisionEvidence").cloned().unwrap_or(Json::Null);
    let mut notes: Vec<String> = record.notes().into_iter().map(str::to_owned).collect();
    notes.push(format!(
        "Operating point {} of the artifact of record {}.",
        crate::domain::canonical::float_text(point),
        record.record_id
    ));
    ReleaseRecord::assemble(NewRecord {
        version: record.version.clone(),
        artifact_path: record.artifact_path.clone(),
        identity,
        parity,
        evidence,
        notes,
        registered_at: registered_at.to_owned(),
    })
}

/// What the bytes imply; the sidecar's word only when they imply nothing.
fn precision(artifact: &Artifact, sidecar: &Sidecar) -> &'static str {
    let implied = artifact.facts().implied_precision.or_else(|| sidecar.version_precision());
    implied.map_or("unknown", Precision::word)
}

fn version(sidecar: &Sidecar, precision: &str, stated: &Stated, notes: &mut Vec<String>) -> String {
    if let Some(version) = &stated.version {
        return version.clone();
    }
    match sidecar.version.rsplit_once('-') {
        Some((numbers, suffix))
            if suffix != precision && Precision::of_word(precision).is_some() =>
        {
            notes.push(format!(
                "The sidecar says {}; the suffix is that of these bytes.",
                sidecar.version
            ));
            format!("{numbers}-{precision}")
        }
        _ => sidecar.version.clone(),
    }
}

fn conversion(
    artifact: &Artifact,
    parity: &Json,
    stated: &Stated,
    notes: &mut Vec<String>,
) -> Result<Json, Refusal> {
    let facts = artifact.facts();
    let opset = facts
        .opset()
        .ok_or_else(|| Refusal::Unreadable("the graph names no operator set version".to_owned()))?;
    let is_reference = parity.get("role").and_then(Json::as_str) == Some(Role::Reference.word());
    let mechanism = stated.mechanism.clone().unwrap_or_else(|| {
        if is_reference && stated.source.is_none() {
            notes.push(
                "The mechanism was not stated; the reference is taken for an export.".to_owned(),
            );
            NATIVE_EXPORT.to_owned()
        } else {
            notes.push("The mechanism of the conversion was not stated.".to_owned());
            "not stated".to_owned()
        }
    });
    let source = match stated.source {
        Some(source) => Some(source.to_hex()),
        None if mechanism == NATIVE_EXPORT => None,
        None => {
            notes.push(
                "The source of the conversion was not stated; it is taken to be the reference of the comparison."
                    .to_owned(),
            );
            parity.get("comparedAgainstSha256").and_then(Json::as_str).map(str::to_owned)
        }
    };
    let exporter = stated.exporter.clone().unwrap_or_else(|| {
        if facts.producer.is_empty() {
            "not stated".to_owned()
        } else {
            format!("not stated (graph producer {})", facts.producer)
        }
    });
    Ok(Json::object([
        ("exporter", Json::Text(exporter)),
        ("mechanism", Json::Text(mechanism)),
        ("opset", Json::int(opset)),
        ("sourceCheckpointSha256", Json::text_or_null(stated.checkpoint.as_ref())),
        ("sourceSha256", Json::text_or_null(source)),
    ]))
}

fn signature(artifact: &Artifact) -> Result<Json, Refusal> {
    let facts = artifact.facts();
    let [input] = facts.inputs.as_slice() else {
        return Err(Refusal::InputCount { found: facts.inputs.len() });
    };
    let outputs = facts.outputs.iter().map(tensor).collect();
    Ok(Json::object([("input", tensor(input)), ("outputs", Json::Array(outputs))]))
}

fn tensor(tensor: &TensorSignature) -> Json {
    let shape = tensor.shape.iter().map(|dimension| match dimension {
        Dimension::Fixed(size) => Json::int(*size),
        Dimension::Symbol(name) => Json::text(name),
        Dimension::Unknown => Json::text("?"),
    });
    Json::object([
        ("dtype", Json::text(&tensor.dtype)),
        ("name", Json::text(&tensor.name)),
        ("shape", Json::Array(shape.collect())),
    ])
}

fn target(parity: &Json, stated: &StatedTarget, notes: &mut Vec<String>) -> Json {
    let measured = |key: &str| {
        let text = parity.at(&["measuredOn", key]).and_then(Json::as_str);
        text.unwrap_or_default().to_owned()
    };
    if *stated == StatedTarget::default() {
        notes.push(
            "No target was stated: it is where parity was measured, so measuredOnTarget is true by construction."
                .to_owned(),
        );
    }
    let or = |stated: &Option<String>, key: &str| {
        Json::Text(stated.clone().unwrap_or_else(|| measured(key)))
    };
    let mut fields = std::collections::BTreeMap::from([
        ("executionProvider".to_owned(), or(&stated.provider, "executionProvider")),
        ("hostClass".to_owned(), or(&stated.host, "host")),
        ("runtime".to_owned(), or(&stated.runtime, "runtime")),
        ("runtimeVersion".to_owned(), or(&stated.runtime_version, "runtimeVersion")),
    ]);
    // Absent, never null: null would be another identity.
    for (key, value) in [
        ("computeCapability", &stated.compute_capability),
        ("cudaVersion", &stated.cuda),
        ("driverVersion", &stated.driver),
    ] {
        if let Some(value) = value {
            fields.insert(key.to_owned(), Json::text(value));
        }
    }
    Json::Object(fields)
}

/// Both numbers as the sidecar writes them: `1` and `1.0` are two identities.
fn thresholds(sidecar: &Sidecar, stated: Option<f64>) -> Result<Json, Refusal> {
    let number = |key: &str| {
        let found = sidecar.tree.get(key).filter(|value| value.as_f64().is_some());
        found
            .cloned()
            .ok_or_else(|| Refusal::Unreadable(format!("sidecar.{key}: expected a number")))
    };
    let confidence = match stated {
        Some(point) => Json::Float(point),
        None => number("confThresholdRecommended")?,
    };
    Ok(Json::object([
        ("confRecommended", confidence),
        ("iouRecommended", number("iouThresholdRecommended")?),
    ]))
}
