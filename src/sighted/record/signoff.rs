//! A sign-off: one person's decision on one record, bound by hash to everything it was made on.
//!
//! `Draft` → `Checked` → `Signed` are three types, so nothing unsigned can be stored and nothing
//! unchecked can be signed. Pure: the clock, the name and the evidence are handed in.

use super::identity::Fields;
use super::limits::{self, AcceptanceLimits, Holds, Numbers};
use super::refusal::Refusal;
use super::release::{ReleaseRecord, same_point};
use crate::domain::canonical::{Json, float_text};
use crate::domain::digest::{
    ArtifactHash, ContentHash, LabelFileHash, ManifestHash, RecordId, ReportHash, SignOffId,
};
use crate::domain::escape::escape;
use crate::domain::label::is_plain;
use crate::sighted::score::claim::NOT_LICENSED;

/// What the file says it is; part of what is signed.
pub(in crate::sighted) const PAYLOAD_TYPE: &str = "application/vnd.flipside.signoff+json";

/// Largest sign-off file, in bytes.
pub(in crate::sighted) const MAX_BYTES: u64 = 4 << 20;

/// Digits a person types to confirm.
pub(in crate::sighted) const CONFIRM_DIGITS: usize = 8;

/// Added when the evidence was not measured where the artifact is meant to run.
pub(in crate::sighted) const NOT_ON_TARGET: &str =
    "behaviour on the target: parity was measured on another runtime or host";

/// Added when who signs is the only one who labelled.
pub(in crate::sighted) const SIGNER_LABELLED: &str =
    "a second opinion: the signer made every label this stands on";

/// Accept, reject, or not yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) enum Decision {
    /// May be released at this operating point.
    Accept,
    /// Must not.
    Reject,
    /// Not decided on this evidence.
    Defer,
}

impl Decision {
    /// The word in files.
    pub(in crate::sighted) fn word(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Reject => "reject",
            Self::Defer => "defer",
        }
    }

    /// The decision of a word.
    pub(in crate::sighted) fn of_word(word: &str) -> Option<Self> {
        [Self::Accept, Self::Reject, Self::Defer]
            .into_iter()
            .find(|decision| decision.word() == word)
    }
}

/// A file the evidence names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct NamedFile<H> {
    /// Where it was, relative to the workspace when inside it.
    pub path: String,
    /// Its hash.
    pub hash: H,
}

/// One sealed label file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct LabelFile {
    /// Where and what.
    pub file: NamedFile<LabelFileHash>,
    /// `proven`, `enforced`, `asserted` or `broken`.
    pub blind: String,
    /// The rater's chain of events when it was sealed.
    pub chain_head: Option<String>,
}

/// Everything a decision was made on, by hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct Evidence {
    /// The parity report; it holds the predictions too.
    pub report: NamedFile<ReportHash>,
    /// The fixture manifest.
    pub manifest: NamedFile<ManifestHash>,
    /// The artifact's sidecar: class names in logit order, which whoever serves the artifact goes by.
    pub sidecar: Option<NamedFile<ContentHash>>,
    /// The taxonomy file.
    pub taxonomy: Option<NamedFile<ContentHash>>,
    /// Sealed label files.
    pub labels: Vec<LabelFile>,
    /// Sources and clusters of fixtures.
    pub groups: Option<NamedFile<ContentHash>>,
    /// The margin that was registered.
    pub margin: Option<NamedFile<ContentHash>>,
    /// The score, in canonical form.
    pub metrics: Option<NamedFile<ContentHash>>,
    /// The weakest blind status of any label file; `none` without labels.
    pub blind_status: String,
    /// Fixtures left out, with reasons, in words.
    pub exclusions: Vec<String>,
    /// Names of the subsets the score holds.
    pub subsets: Vec<String>,
}

impl Evidence {
    /// One hash for the set of label files, whatever their order.
    pub(in crate::sighted) fn label_set(&self) -> Option<ContentHash> {
        let mut hashes: Vec<String> =
            self.labels.iter().map(|label| label.file.hash.to_hex()).collect();
        hashes.sort_unstable();
        let list = Json::Array(hashes.into_iter().map(Json::Text).collect());
        (!self.labels.is_empty()).then(|| ContentHash::of(list.to_canonical().as_bytes()))
    }

    fn to_json(&self) -> Json {
        let texts = |list: &[String]| Json::Array(list.iter().map(Json::text).collect());
        let labels = self.labels.iter().map(|label| {
            Json::object([
                ("blind", Json::text(&label.blind)),
                ("chainHead", Json::text_or_null(label.chain_head.as_ref())),
                ("path", Json::text(&label.file.path)),
                ("sha256", Json::text(label.file.hash.to_hex())),
            ])
        });
        let path = |file: &Option<NamedFile<ContentHash>>| {
            Json::text_or_null(file.as_ref().map(|file| &file.path))
        };
        let hash = |file: &Option<NamedFile<ContentHash>>| {
            Json::text_or_null(file.as_ref().map(|file| file.hash.to_hex()))
        };
        Json::object([
            ("blindStatus", Json::text(&self.blind_status)),
            ("exclusions", texts(&self.exclusions)),
            ("groups", path(&self.groups)),
            ("groupsSha256", hash(&self.groups)),
            ("labelFiles", Json::Array(labels.collect())),
            ("labelSetSha256", Json::text_or_null(self.label_set().map(ContentHash::to_hex))),
            ("manifest", Json::text(&self.manifest.path)),
            ("manifestSha256", Json::text(self.manifest.hash.to_hex())),
            ("margin", path(&self.margin)),
            ("marginSha256", hash(&self.margin)),
            ("metrics", path(&self.metrics)),
            ("metricsSha256", hash(&self.metrics)),
            ("parityReport", Json::text(&self.report.path)),
            ("parityReportSha256", Json::text(self.report.hash.to_hex())),
            ("predictionsSha256", Json::text(self.report.hash.to_hex())),
            ("sidecar", path(&self.sidecar)),
            ("sidecarSha256", hash(&self.sidecar)),
            ("subsets", texts(&self.subsets)),
            ("taxonomy", path(&self.taxonomy)),
            ("taxonomySha256", hash(&self.taxonomy)),
        ])
    }

    fn from_json(tree: &Json) -> Result<Self, String> {
        let fields = Fields { tree, prefix: "evidence" };
        let texts = |key: &str| -> Result<Vec<String>, Refusal> {
            fields.array(&[key])?.iter().map(|item| text_of(item, key)).collect()
        };
        let read = || -> Result<Self, Refusal> {
            let mut labels = Vec::new();
            for tree in fields.array(&["labelFiles"])? {
                let label = Fields { tree, prefix: "evidence.labelFiles" };
                labels.push(LabelFile {
                    file: NamedFile {
                        path: label.text(&["path"])?,
                        hash: label.hash(&["sha256"])?,
                    },
                    blind: label.text(&["blind"])?,
                    chain_head: label.text_or_null("chainHead")?,
                });
            }
            let file = |name: &str| -> Result<Option<NamedFile<ContentHash>>, Refusal> {
                let hash = format!("{name}Sha256");
                Ok(match fields.text_or_null(name)? {
                    Some(path) => Some(NamedFile { path, hash: fields.hash(&[&hash])? }),
                    None => None,
                })
            };
            Ok(Self {
                report: NamedFile {
                    path: fields.text(&["parityReport"])?,
                    hash: fields.hash(&["parityReportSha256"])?,
                },
                manifest: NamedFile {
                    path: fields.text(&["manifest"])?,
                    hash: fields.hash(&["manifestSha256"])?,
                },
                sidecar: file("sidecar")?,
                taxonomy: file("taxonomy")?,
                groups: file("groups")?,
                margin: file("margin")?,
                labels,
                metrics: file("metrics")?,
                blind_status: fields.text(&["blindStatus"])?,
                exclusions: texts("exclusions")?,
                subsets: texts("subsets")?,
            })
        };
        let evidence = read().map_err(|refusal| refusal.to_string())?;
        // Everything derived is written for readers and never trusted.
        let again = evidence.to_json();
        for key in [
            "groupsSha256",
            "labelSetSha256",
            "marginSha256",
            "metricsSha256",
            "predictionsSha256",
            "sidecarSha256",
            "taxonomySha256",
        ] {
            if again.get(key) != tree.get(key) {
                return Err(format!("evidence.{key} does not follow from the rest"));
            }
        }
        Ok(evidence)
    }
}

/// Who signs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct Signer {
    /// As in the allowed-signers file, when there is one.
    pub name: String,
    /// Fingerprint of the SSH key, when one signs.
    pub key_id: Option<String>,
    /// What the person is to the release.
    pub role: String,
}

/// The record a sign-off is about, as it names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct RecordReference {
    /// Id of the record.
    pub record_id: RecordId,
    /// Id of its recipe.
    pub release_key: ContentHash,
    /// Sha256 of the record's file.
    pub file_hash: ContentHash,
    /// The artifact.
    pub artifact: ArtifactHash,
    /// Its size.
    pub bytes: i64,
    /// The record's version.
    pub version: String,
}

impl RecordReference {
    /// The reference to a record whose file holds `bytes`.
    pub(in crate::sighted) fn to(record: &ReleaseRecord, file: &[u8]) -> Self {
        Self {
            record_id: record.record_id,
            release_key: record.identity.release_key(),
            file_hash: ContentHash::of(file),
            artifact: record.identity.artifact,
            bytes: record.identity.bytes,
            version: record.version.clone(),
        }
    }
}

/// The product that wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct Product {
    /// `flipside <version>`
    pub name: String,
    /// Sha256 of the program's file, when it could be read.
    pub build: Option<ContentHash>,
}

/// A decision as a person states it, before anything was checked.
#[derive(Debug, Clone)]
pub(in crate::sighted) struct Draft {
    /// Record at the operating point, and the bytes of its file.
    pub record: ReleaseRecord,
    /// The bytes of the record's file.
    pub record_file: Vec<u8>,
    /// Typed by the person.
    pub operating_point: f64,
    /// How the point was chosen, in a word.
    pub method: String,
    /// Whether the point was read off the data that also judges it.
    pub chosen_on_same_data: bool,
    /// What is tolerated.
    pub limits: AcceptanceLimits,
    /// What the decision stands on.
    pub evidence: Evidence,
    /// The numbers of that evidence at the operating point.
    pub numbers: Numbers,
    /// The decision.
    pub decision: Decision,
    /// Why.
    pub reason: String,
    /// What it licenses.
    pub licenses: Vec<String>,
    /// What it does not.
    pub does_not_license: Vec<String>,
    /// The sign-off it takes the place of.
    pub supersedes: Option<SignOffId>,
    /// Who.
    pub signer: Signer,
    /// When: UTC, whole seconds.
    pub signed_at: String,
    /// With what.
    pub product: Product,
    /// Version of the root of trust it is made under.
    pub trust_version: Option<u64>,
}

/// Why a draft is not signed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(in crate::sighted) enum SignRefusal {
    /// The record is at another operating point.
    #[error("the record is at {record}, you typed {typed}")]
    OtherPoint {
        /// Of the record.
        record: String,
        /// As typed.
        typed: String,
    },
    /// The evidence was measured elsewhere.
    #[error(
        "the parity evidence was measured at {measured}, not at {typed}; measure there first: flipside parity --threshold {typed}"
    )]
    NotMeasured {
        /// Where it was measured.
        measured: String,
        /// As typed.
        typed: String,
    },
    /// The record stands on another report.
    #[error("the record stands on report {recorded}, the evidence is report {found}")]
    OtherReport {
        /// The record's.
        recorded: String,
        /// The evidence's.
        found: String,
    },
    /// Something is not filled in.
    #[error("{0}")]
    Missing(&'static str),
    /// A limit is no number that could be held.
    #[error("{0}")]
    Limits(String),
    /// Accepting what the limits exclude.
    #[error("cannot accept: {name}: {detail}")]
    DoesNotHold {
        /// The limit.
        name: &'static str,
        /// Found and limit.
        detail: String,
    },
    /// Other digits than those shown.
    #[error("expected {expected}, found {:?}; nothing was written", escape(.typed))]
    NotConfirmed {
        /// What was shown.
        expected: String,
        /// What was typed.
        typed: String,
    },
}

/// A draft that may be signed.
#[derive(Debug, Clone)]
pub(in crate::sighted) struct Checked {
    payload: Json,
    id: SignOffId,
    record: ReleaseRecord,
}

/// A confirmed decision.
#[derive(Debug, Clone)]
pub(in crate::sighted) struct Signed {
    /// The record it is about.
    pub record: ReleaseRecord,
    /// Its id.
    pub id: SignOffId,
    /// The bytes of its file; an SSH signature covers exactly these.
    pub file: Vec<u8>,
}

impl Draft {
    /// Checks the draft, in this order: point, report, words, limits, whether an acceptance holds.
    ///
    /// # Errors
    /// The first thing in the way.
    pub(in crate::sighted) fn check(self) -> Result<Checked, SignRefusal> {
        let typed = float_text(self.operating_point);
        let parity = &self.record.parity;
        if !same_point(self.record.identity.confidence, self.operating_point) {
            let record = float_text(self.record.identity.confidence);
            return Err(SignRefusal::OtherPoint { record, typed });
        }
        if !same_point(parity.confidence, self.operating_point) {
            return Err(SignRefusal::NotMeasured {
                measured: float_text(parity.confidence),
                typed,
            });
        }
        if parity.report_hash != self.evidence.report.hash {
            return Err(SignRefusal::OtherReport {
                recorded: parity.report_hash.to_hex(),
                found: self.evidence.report.hash.to_hex(),
            });
        }
        let blank = |text: &str| text.trim().is_empty();
        let lines = self.licenses.iter().chain(&self.does_not_license);
        let words = [&self.reason, &self.signer.name, &self.signer.role, &self.method];
        if !words.into_iter().chain(lines).all(|text| is_plain(text)) {
            return Err(SignRefusal::Missing("expected visible characters only"));
        }
        if blank(&self.reason) {
            return Err(SignRefusal::Missing("a reason is needed"));
        }
        if blank(&self.signer.name) {
            return Err(SignRefusal::Missing("a name is needed"));
        }
        if self.does_not_license.iter().all(|line| blank(line)) {
            return Err(SignRefusal::Missing(
                "say at least one thing this sign-off does not license",
            ));
        }
        self.limits.check().map_err(SignRefusal::Limits)?;
        if self.decision == Decision::Accept {
            let basis = limits::judge_basis(&self.numbers);
            let findings = limits::judge(&self.limits, &self.numbers);
            if let Some(bad) =
                basis.iter().chain(&findings).find(|finding| finding.holds != Holds::Yes)
            {
                let detail = bad.detail.clone();
                return Err(SignRefusal::DoesNotHold { name: bad.words(), detail });
            }
        }
        let payload = self.payload();
        let id = SignOffId::of(payload.to_canonical().as_bytes());
        Ok(Checked { payload, id, record: self.record })
    }

    fn payload(&self) -> Json {
        let texts = |list: &[String]| Json::Array(list.iter().map(Json::text).collect());
        let record = RecordReference::to(&self.record, &self.record_file);
        Json::object([
            ("acceptance", self.limits.to_json()),
            ("buildSha256", Json::text_or_null(self.product.build.map(ContentHash::to_hex))),
            ("decision", Json::text(self.decision.word())),
            ("doesNotLicense", texts(&self.does_not_license)),
            ("evidence", self.evidence.to_json()),
            ("licenses", texts(&self.licenses)),
            (
                "operatingPoint",
                Json::object([
                    ("chosenOnSameData", Json::Bool(self.chosen_on_same_data)),
                    ("confidence", Json::text(float_text(self.record.identity.confidence))),
                    ("method", Json::text(&self.method)),
                ]),
            ),
            ("product", Json::text(&self.product.name)),
            ("reason", Json::text(&self.reason)),
            (
                "record",
                Json::object([
                    ("artifactSha256", Json::text(record.artifact.to_hex())),
                    ("bytes", Json::int(record.bytes)),
                    ("fileSha256", Json::text(record.file_hash.to_hex())),
                    ("recordId", Json::text(record.record_id.to_hex())),
                    ("releaseKey", Json::text(record.release_key.to_hex())),
                    ("version", Json::text(&record.version)),
                ]),
            ),
            ("schema", Json::int(1)),
            ("signedAt", Json::text(&self.signed_at)),
            (
                "signer",
                Json::object([
                    ("keyId", Json::text_or_null(self.signer.key_id.as_ref())),
                    ("name", Json::text(&self.signer.name)),
                    ("role", Json::text(&self.signer.role)),
                ]),
            ),
            ("supersedes", Json::text_or_null(self.supersedes.map(SignOffId::to_hex))),
            ("trustVersion", self.trust_version.map_or(Json::Null, Json::int)),
            ("type", Json::text(PAYLOAD_TYPE)),
        ])
    }
}

impl Checked {
    /// The digits a person types to confirm: the first of the payload's hash.
    pub(in crate::sighted) fn digits(&self) -> String {
        self.id.to_hex()[..CONFIRM_DIGITS].to_owned()
    }

    /// The payload, for showing.
    pub(in crate::sighted) fn payload(&self) -> &Json {
        &self.payload
    }

    /// Signs, when the typed digits are those shown.
    ///
    /// # Errors
    /// Other digits.
    pub(in crate::sighted) fn confirm(self, typed: &str) -> Result<Signed, SignRefusal> {
        let expected = self.digits();
        if typed.trim() != expected {
            return Err(SignRefusal::NotConfirmed { expected, typed: typed.to_owned() });
        }
        let mut tree = self.payload;
        if let Json::Object(fields) = &mut tree {
            fields.insert("signoffId".to_owned(), Json::text(self.id.to_hex()));
        }
        let file = tree.to_canonical().into_bytes();
        Ok(Signed { record: self.record, id: self.id, file })
    }
}

/// A sign-off as read back.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct SignOff {
    /// Its id.
    pub id: SignOffId,
    /// The record it is about.
    pub record: RecordReference,
    /// Canonical number text of the operating point.
    pub operating_point: f64,
    /// How it was chosen.
    pub method: String,
    /// Whether on the data that judges it.
    pub chosen_on_same_data: bool,
    /// What is tolerated.
    pub limits: AcceptanceLimits,
    /// What it stands on.
    pub evidence: Evidence,
    /// The decision.
    pub decision: Decision,
    /// Why.
    pub reason: String,
    /// What it licenses.
    pub licenses: Vec<String>,
    /// What it does not.
    pub does_not_license: Vec<String>,
    /// What it takes the place of.
    pub supersedes: Option<SignOffId>,
    /// Who.
    pub signer: Signer,
    /// When, as written.
    pub signed_at: String,
    /// Version of the root of trust it was made under.
    pub trust_version: Option<u64>,
}

impl SignOff {
    /// Reads a sign-off file: size, JSON, canonical bytes, id, schema, in this order.
    ///
    /// # Errors
    /// The first thing that is not as it must be.
    pub(in crate::sighted) fn parse(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() as u64 > MAX_BYTES {
            return Err(format!("expected at most {MAX_BYTES} bytes, found {}", bytes.len()));
        }
        let tree = Json::parse(bytes).map_err(|error| error.to_string())?;
        if tree.to_canonical().as_bytes() != bytes {
            return Err("not in canonical form: other bytes than those that were signed".to_owned());
        }
        let fields = Fields { tree: &tree, prefix: "sign-off" };
        let stored: SignOffId = fields.hash(&["signoffId"]).map_err(plain)?;
        let mut payload = tree.clone();
        if let Json::Object(fields) = &mut payload {
            fields.remove("signoffId");
        }
        let id = SignOffId::of(payload.to_canonical().as_bytes());
        if id != stored {
            return Err(format!("signoffId is {stored}, recomputed {id}"));
        }
        Self::from_tree(&fields, id)
    }

    fn from_tree(fields: &Fields<'_>, id: SignOffId) -> Result<Self, String> {
        let kind = fields.text(&["type"]).map_err(plain)?;
        if kind != PAYLOAD_TYPE {
            return Err(format!("type is {:?}, expected {PAYLOAD_TYPE:?}", escape(&kind)));
        }
        match fields.integer(&["schema"]).map_err(plain)? {
            1 => {}
            found => return Err(format!("schema {found}, expected 1")),
        }
        let point = fields.text(&["operatingPoint", "confidence"]).map_err(plain)?;
        let operating_point = point
            .parse::<f64>()
            .ok()
            .filter(|value| value.is_finite() && float_text(*value) == point)
            .ok_or_else(|| {
                "operatingPoint.confidence: expected canonical number text".to_owned()
            })?;
        let word = fields.text(&["decision"]).map_err(plain)?;
        let decision =
            Decision::of_word(&word).ok_or_else(|| format!("decision is {:?}", escape(&word)))?;
        let tree = |key: &str| fields.get(&[key]).map_err(plain);
        let limits = AcceptanceLimits::from_json(tree("acceptance")?)?;
        let evidence = Evidence::from_json(tree("evidence")?)?;
        let read = || -> Result<Self, Refusal> {
            let texts = |key: &str| -> Result<Vec<String>, Refusal> {
                fields.array(&[key])?.iter().map(|item| text_of(item, key)).collect()
            };
            let supersedes = match fields.text_or_null("supersedes")? {
                Some(_) => Some(fields.hash(&["supersedes"])?),
                None => None,
            };
            let signer = Fields { tree: fields.get(&["signer"])?, prefix: "signer" };
            Ok(Self {
                id,
                record: RecordReference {
                    record_id: fields.hash(&["record", "recordId"])?,
                    release_key: fields.hash(&["record", "releaseKey"])?,
                    file_hash: fields.hash(&["record", "fileSha256"])?,
                    artifact: fields.hash(&["record", "artifactSha256"])?,
                    bytes: fields.integer(&["record", "bytes"])?,
                    version: fields.text(&["record", "version"])?,
                },
                operating_point,
                method: fields.text(&["operatingPoint", "method"])?,
                chosen_on_same_data: fields
                    .get(&["operatingPoint", "chosenOnSameData"])?
                    .as_bool()
                    .unwrap_or(true),
                limits,
                evidence,
                decision,
                reason: fields.text(&["reason"])?,
                licenses: texts("licenses")?,
                does_not_license: texts("doesNotLicense")?,
                supersedes,
                signer: Signer {
                    name: signer.text(&["name"])?,
                    key_id: signer.text_or_null("keyId")?,
                    role: signer.text(&["role"])?,
                },
                signed_at: fields.text(&["signedAt"])?,
                trust_version: match fields.get(&["trustVersion"])? {
                    Json::Null => None,
                    _ => u64::try_from(fields.integer(&["trustVersion"])?).ok(),
                },
            })
        };
        let signoff = read().map_err(plain)?;
        let empty = |text: &String| text.trim().is_empty();
        if signoff.does_not_license.iter().all(empty) {
            return Err("doesNotLicense: expected at least one line".to_owned());
        }
        if empty(&signoff.reason) || empty(&signoff.signer.name) {
            return Err("reason and signer.name: expected text".to_owned());
        }
        Ok(signoff)
    }
}

/// What a sign-off may be prefilled with.
pub(in crate::sighted) fn disclaimers(record: &ReleaseRecord) -> Vec<String> {
    let target = (!record.measured_on_target()).then_some(NOT_ON_TARGET);
    NOT_LICENSED.into_iter().chain(target).map(str::to_owned).collect()
}

fn text_of(item: &Json, key: &str) -> Result<String, Refusal> {
    let text = item.as_str().map(str::to_owned);
    text.ok_or_else(|| Refusal::Unreadable(format!("{key}: expected texts")))
}

/// A fault of the field reader without the words that are about records.
fn plain(refusal: Refusal) -> String {
    match refusal {
        Refusal::Unreadable(reason) => escape(&reason).into_owned(),
        other => other.to_string(),
    }
}
