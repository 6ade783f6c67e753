//! A release record of schema 1: immutable JSON, named by the hash of its identity.
//!
//! Reading keeps the whole tree, unknown keys included, and applies every rule in the peer's order.
//! A record that exists as a value has passed them all.

use std::collections::BTreeMap;

use super::identity::{Fields, Identity, NATIVE_EXPORT, Place, Precision, is_version};
use super::refusal::Refusal;
use crate::domain::canonical::Json;
use crate::domain::digest::{ArtifactHash, RecordId, ReportHash};

/// Largest record file, in bytes.
pub(in crate::sighted) const MAX_BYTES: u64 = 4 << 20;

/// Two operating points closer than this are one.
pub(in crate::sighted) const POINT_TOLERANCE: f64 = 1e-9;

/// Which side of its report a record's artifact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) enum Role {
    /// Side A.
    Reference,
    /// Side B.
    Candidate,
}

impl Role {
    /// The word in files.
    pub(in crate::sighted) fn word(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Candidate => "candidate",
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        [Self::Reference, Self::Candidate].into_iter().find(|role| role.word() == word)
    }
}

/// The report a record stands on.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct ParityReference {
    /// Path as recorded.
    pub report: String,
    /// Sha256 of its bytes.
    pub report_hash: ReportHash,
    /// Which side the artifact is.
    pub role: Role,
    /// The artifact on that side.
    pub artifact: ArtifactHash,
    /// The artifact on the other side.
    pub compared_against: ArtifactHash,
    /// Where the report was measured.
    pub confidence: f64,
    /// On what it was measured.
    pub measured_on: Place,
    /// The numbers taken from it.
    pub comparison: Json,
}

/// What the weights of the artifact are, if anybody looked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct PrecisionEvidence {
    /// Bytes per ONNX data type.
    pub weights: BTreeMap<String, u64>,
    /// The word recorded, when the weights decide one.
    pub implied: Option<String>,
}

/// A record that passed every rule.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct ReleaseRecord {
    tree: Json,
    /// The identity.
    pub identity: Identity,
    /// The evidence.
    pub parity: ParityReference,
    /// `v<major>.<minor>.<patch>-<precision>`
    pub version: String,
    /// Where the artifact was last seen.
    pub artifact_path: String,
    /// Null when nobody looked.
    pub evidence: Option<PrecisionEvidence>,
    /// Sha256 of the canonical identity.
    pub record_id: RecordId,
}

/// What a new record is made of; its id, `measuredOnTarget` and `schemaVersion` follow.
#[derive(Debug, Clone)]
pub(in crate::sighted) struct NewRecord {
    /// The version.
    pub version: String,
    /// Where the artifact lies.
    pub artifact_path: String,
    /// The identity.
    pub identity: Json,
    /// See [`super::comparison::transcribe`].
    pub parity: Json,
    /// See [`evidence_json`].
    pub evidence: Json,
    /// For people.
    pub notes: Vec<String>,
    /// UTC, whole seconds, `+00:00`.
    pub registered_at: String,
}

impl ReleaseRecord {
    /// Reads a record file.
    ///
    /// # Errors
    /// The first rule that fires.
    pub(in crate::sighted) fn parse(bytes: &[u8]) -> Result<Self, Refusal> {
        if bytes.len() as u64 > MAX_BYTES {
            let found = bytes.len();
            return Err(Refusal::Unreadable(format!(
                "expected at most {MAX_BYTES} bytes, found {found}"
            )));
        }
        let tree = Json::parse(bytes).map_err(|error| Refusal::Unreadable(error.to_string()))?;
        Self::from_tree(tree)
    }

    /// Makes a record.
    ///
    /// # Errors
    /// The first rule that fires.
    pub(in crate::sighted) fn assemble(new: NewRecord) -> Result<Self, Refusal> {
        let measured_on = new.parity.get("measuredOn").map(|tree| place(tree, "parity", "host"));
        let target = new.identity.get("target").map(|tree| place(tree, "identity", "hostClass"));
        let on_target =
            matches!((measured_on, target), (Some(Ok(here)), Some(Ok(there))) if here == there);
        let id = RecordId::of(new.identity.to_canonical().as_bytes());
        Self::from_tree(Json::object([
            ("artifactPath", Json::Text(new.artifact_path)),
            ("identity", new.identity),
            ("measuredOnTarget", Json::Bool(on_target)),
            ("notes", Json::Array(new.notes.into_iter().map(Json::Text).collect())),
            ("parity", new.parity),
            ("precisionEvidence", new.evidence),
            ("recordId", Json::Text(id.to_hex())),
            ("registeredAt", Json::Text(new.registered_at)),
            ("schemaVersion", Json::int(1)),
            ("version", Json::Text(new.version)),
        ]))
    }

    /// Applies every rule, in the peer's order, to a tree.
    ///
    /// # Errors
    /// The first rule that fires.
    pub(in crate::sighted) fn from_tree(tree: Json) -> Result<Self, Refusal> {
        match tree.get("schemaVersion").and_then(Json::as_i64) {
            Some(1) => {}
            Some(found) => {
                return Err(Refusal::Unreadable(format!("schemaVersion {found}, expected 1")));
            }
            None => return Err(Refusal::Unreadable("schemaVersion: expected 1".to_owned())),
        }
        let (parity, role) = match tree.get("parity") {
            None | Some(Json::Null) => return Err(Refusal::ParityAbsent),
            Some(parity) => read_parity(parity).map_err(as_parity_fault)?,
        };
        let fields = Fields { tree: &tree, prefix: "record" };
        let identity = Identity::from_tree(fields.get(&["identity"])?.clone())?;
        let version = fields.text(&["version"])?;
        let artifact_path = fields.text(&["artifactPath"])?;
        let evidence = read_evidence(fields.get(&["precisionEvidence"])?)?;
        let stored_id = read_rest(&fields)?;

        let role = Role::of_word(&role).ok_or(Refusal::Role { found: role })?;
        let parity = ParityReference { role, ..parity };
        check_words(&identity, &version, evidence.as_ref())?;
        check_counts(&identity)?;
        check_parity(&identity, &parity)?;
        let record_id = identity.record_id();
        match stored_id {
            None => Err(Refusal::RecordIdMissing { recomputed: record_id.to_hex() }),
            Some(stored) if stored != record_id.to_hex() => {
                Err(Refusal::RecordId { stored, recomputed: record_id.to_hex() })
            }
            Some(_) => {
                Ok(Self { identity, parity, version, artifact_path, evidence, record_id, tree })
            }
        }
    }

    /// The whole tree.
    pub(in crate::sighted) fn tree(&self) -> &Json {
        &self.tree
    }

    /// The bytes on disk.
    pub(in crate::sighted) fn file_text(&self) -> String {
        let mut text = self.tree.to_file();
        text.push('\n');
        text
    }

    /// The name on disk.
    pub(in crate::sighted) fn file_name(&self) -> String {
        format!("{}.{}.{}.json", self.identity.model_name, self.version, self.record_id.short())
    }

    /// Whether the evidence was measured where the artifact is meant to run.
    pub(in crate::sighted) fn measured_on_target(&self) -> bool {
        self.parity.measured_on == self.identity.target
    }

    /// What the file says about it; a reader trusts [`Self::measured_on_target`] only.
    pub(in crate::sighted) fn stored_measured_on_target(&self) -> Option<bool> {
        self.tree.get("measuredOnTarget").and_then(Json::as_bool)
    }

    /// When it was registered, as written.
    pub(in crate::sighted) fn registered_at(&self) -> &str {
        self.tree.get("registeredAt").and_then(Json::as_str).unwrap_or_default()
    }

    /// Notes for people.
    pub(in crate::sighted) fn notes(&self) -> Vec<&str> {
        let notes = self.tree.get("notes").and_then(Json::as_array).unwrap_or_default();
        notes.iter().filter_map(Json::as_str).collect()
    }

    /// Top-level keys in which two records of one identity differ, the time of registering aside.
    pub(in crate::sighted) fn differing_keys(&self, other: &Self) -> Vec<String> {
        let (Json::Object(left), Json::Object(right)) = (&self.tree, &other.tree) else {
            return Vec::new();
        };
        let mut keys: Vec<&String> = left.keys().chain(right.keys()).collect();
        keys.sort_unstable();
        keys.dedup();
        let text = |value: Option<&Json>| value.map(Json::to_canonical);
        keys.into_iter()
            .filter(|key| *key != "registeredAt" && text(left.get(*key)) != text(right.get(*key)))
            .cloned()
            .collect()
    }
}

/// `precisionEvidence` from what a look at the weights found.
pub(in crate::sighted) fn evidence_json(weights: &BTreeMap<String, u64>) -> Json {
    let implied = Precision::implied_by(weights).map(Precision::word);
    let bytes = weights.iter().map(|(name, bytes)| (name.clone(), Json::int(*bytes))).collect();
    Json::object([
        ("impliedPrecision", Json::text_or_null(implied)),
        ("weightBytesByDtype", Json::Object(bytes)),
    ])
}

fn as_parity_fault(refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::Unreadable(reason) => Refusal::ParityShape(reason),
        other => other,
    }
}

fn read_parity(tree: &Json) -> Result<(ParityReference, String), Refusal> {
    let fields = Fields { tree, prefix: "parity" };
    let comparison = fields.get(&["comparison"])?.clone();
    if comparison.as_object().is_none() {
        return Err(Refusal::Unreadable("parity.comparison: expected an object".to_owned()));
    }
    let parity = ParityReference {
        report: fields.text(&["report"])?,
        report_hash: fields.hash(&["reportSha256"])?,
        // Replaced by the caller: the word is judged in its own place in the order.
        role: Role::Candidate,
        artifact: fields.hash(&["artifactSha256"])?,
        compared_against: fields.hash(&["comparedAgainstSha256"])?,
        confidence: fields.number(&["confThreshold"])?,
        measured_on: place(fields.get(&["measuredOn"])?, "parity.measuredOn", "host")?,
        comparison,
    };
    Ok((parity, fields.text(&["role"])?))
}

fn place(tree: &Json, prefix: &str, host: &str) -> Result<Place, Refusal> {
    let fields = Fields { tree, prefix };
    Ok(Place {
        runtime: fields.text(&["runtime"])?,
        runtime_version: fields.text(&["runtimeVersion"])?,
        provider: fields.text(&["executionProvider"])?,
        host: fields.text(&[host])?,
    })
}

fn read_evidence(tree: &Json) -> Result<Option<PrecisionEvidence>, Refusal> {
    if *tree == Json::Null {
        return Ok(None);
    }
    let fields = Fields { tree, prefix: "precisionEvidence" };
    let implied = match fields.get(&["impliedPrecision"])? {
        Json::Null => None,
        _ => Some(fields.text(&["impliedPrecision"])?),
    };
    let listed = fields.get(&["weightBytesByDtype"])?;
    let mut weights = BTreeMap::new();
    for (name, bytes) in listed.as_object().into_iter().flatten() {
        let bytes = bytes.as_i64().and_then(|bytes| u64::try_from(bytes).ok());
        let bytes = bytes.ok_or_else(|| {
            Refusal::Unreadable(
                "precisionEvidence.weightBytesByDtype: expected sizes in bytes".to_owned(),
            )
        })?;
        weights.insert(name.clone(), bytes);
    }
    if listed.as_object().is_none() {
        return Err(Refusal::Unreadable(
            "precisionEvidence.weightBytesByDtype: expected an object".to_owned(),
        ));
    }
    Ok(Some(PrecisionEvidence { weights, implied }))
}

/// Checks the types of what no rule looks at; returns the stored id, when there is one.
fn read_rest(fields: &Fields<'_>) -> Result<Option<String>, Refusal> {
    let wrong = |key: &str, expected: &str| {
        Refusal::Unreadable(format!("record.{key}: expected {expected}"))
    };
    fields
        .get(&["measuredOnTarget"])?
        .as_bool()
        .ok_or_else(|| wrong("measuredOnTarget", "true or false"))?;
    if !fields.array(&["notes"])?.iter().all(|note| note.as_str().is_some()) {
        return Err(wrong("notes", "texts"));
    }
    fields.text(&["registeredAt"])?;
    match fields.tree.get("recordId") {
        None | Some(Json::Null) => Ok(None),
        Some(Json::Text(id)) if id.is_empty() => Ok(None),
        Some(Json::Text(id)) => Ok(Some(id.clone())),
        Some(_) => Err(wrong("recordId", "a text")),
    }
}

fn check_words(
    identity: &Identity,
    version: &str,
    evidence: Option<&PrecisionEvidence>,
) -> Result<(), Refusal> {
    let precision = identity.precision.clone();
    if Precision::of_word(&precision).is_none() {
        return Err(Refusal::PrecisionWord { found: precision });
    }
    if !is_version(version) {
        return Err(Refusal::VersionPattern { found: version.to_owned() });
    }
    if !version.ends_with(&format!("-{precision}")) {
        return Err(Refusal::Suffix { version: version.to_owned(), precision });
    }
    match evidence.and_then(|evidence| evidence.implied.clone()) {
        Some(implied) if implied != precision => Err(Refusal::Evidence { implied, precision }),
        _ => Ok(()),
    }
}

fn check_counts(identity: &Identity) -> Result<(), Refusal> {
    if identity.mechanism != NATIVE_EXPORT && identity.source.is_none() {
        return Err(Refusal::SourceMissing { mechanism: identity.mechanism.clone() });
    }
    if identity.class_count <= 0 {
        return Err(Refusal::ClassCount { found: identity.class_count });
    }
    if identity.output_count == 0 {
        return Err(Refusal::NoOutputs);
    }
    if identity.bytes <= 0 {
        return Err(Refusal::Bytes { found: identity.bytes });
    }
    Ok(())
}

fn check_parity(identity: &Identity, parity: &ParityReference) -> Result<(), Refusal> {
    if parity.artifact != identity.artifact {
        return Err(Refusal::ParityArtifact {
            role: parity.role.word(),
            reported: parity.artifact.to_hex(),
            artifact: identity.artifact.to_hex(),
        });
    }
    if !same_point(parity.confidence, identity.confidence) {
        return Err(Refusal::ParityThreshold {
            measured: parity.confidence,
            recommended: identity.confidence,
        });
    }
    match identity.source {
        Some(source) if parity.role == Role::Candidate && parity.compared_against != source => {
            Err(Refusal::ComparedAgainst {
                compared: parity.compared_against.to_hex(),
                source_hash: source.to_hex(),
            })
        }
        _ => Ok(()),
    }
}

/// Whether two operating points are one. Anything not finite is no point at all.
pub(in crate::sighted) fn same_point(left: f64, right: f64) -> bool {
    (left - right).abs() <= POINT_TOLERANCE
}
