//! Records, verification and the gate, for the command line.

use std::path::{Path, PathBuf};

use crate::domain::canonical::Json;
use crate::domain::escape::escape_os;
use crate::sighted::record::again::means;
use crate::sighted::record::gate;
use crate::sighted::record::limits::Holds;
use crate::sighted::record::present;
use crate::sighted::record::registry::{Entry, Listing, Registry};
use crate::sighted::record::signoff_store::{SignOffStore, SignOffs, StoredSignOff};
use crate::sighted::record::ssh::SignerLists;
use crate::sighted::record::trust::Trust;
use crate::sighted::record::verify::{self, Check, Status};

/// What the program found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The answer is yes, or it is done.
    Yes,
    /// The answer is no.
    No,
    /// There is no answer.
    CannotTell,
}

/// An answer for people and for programs.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The answer.
    pub verdict: Verdict,
    /// Lines, escaped.
    pub text: String,
    /// The same as JSON.
    pub json: String,
}

impl Answer {
    fn new(verdict: Verdict, text: String, json: &Json) -> Self {
        Self { verdict, text, json: json.to_file() }
    }
}

/// Where records lie and what their paths are relative to.
#[derive(Debug, Clone)]
pub struct RecordPlaces {
    /// The folder of records.
    pub records: PathBuf,
    /// The folder of sign-offs.
    pub signoffs: PathBuf,
    /// What paths in records are relative to.
    pub root: PathBuf,
}

/// Who may sign, when signatures are to be checked.
#[derive(Debug, Clone, Default)]
pub struct SignersQuestion {
    /// Allowed signers, in the format of `ssh-keygen`.
    pub allowed_signers: Option<PathBuf>,
    /// Revoked keys.
    pub revoked: Option<PathBuf>,
    /// A root of trust instead of both.
    pub trust: Option<PathBuf>,
    /// Folder of its later versions; without it, the one it lies in.
    pub trust_updates: Option<PathBuf>,
}

impl SignersQuestion {
    /// Whom to trust at `now`; nobody was named when it is `None`.
    ///
    /// # Errors
    /// A file is missing, or the root of trust is none that holds.
    pub(super) fn answer(&self, now: &str) -> anyhow::Result<Option<Trust>> {
        if let Some(root) = &self.trust {
            return Ok(Some(Trust::of_root(root, self.trust_updates.as_deref(), now)?));
        }
        for file in self.allowed_signers.iter().chain(&self.revoked) {
            anyhow::ensure!(file.is_file(), "{}: no such file", escape_os(file.as_os_str()));
        }
        let revoked = self.revoked.clone();
        let lists = self.allowed_signers.clone().map(|allowed| SignerLists { allowed, revoked });
        Ok(lists.map(Trust::of_lists))
    }
}

/// Lists every record.
///
/// # Errors
/// The folder or its index cannot be read.
pub fn list_records(places: &RecordPlaces) -> anyhow::Result<Answer> {
    let (listing, signoffs) = read(places)?;
    let text = present::listing_text(&listing, &signoffs);
    Ok(Answer::new(Verdict::Yes, text, &present::listing_json(&listing, &signoffs)))
}

/// Shows the records `wanted` names: a prefix of the id, the version, the model's name or the file's.
///
/// # Errors
/// The folder or its index cannot be read.
pub fn show_records(places: &RecordPlaces, wanted: &str) -> anyhow::Result<Answer> {
    let (listing, signoffs) = read(places)?;
    let found: Vec<&Entry> = listing.records.iter().filter(|entry| names(entry, wanted)).collect();
    let texts: Vec<String> =
        found.iter().map(|entry| present::entry_text(entry, &signoffs)).collect();
    let verdict = if found.is_empty() { Verdict::No } else { Verdict::Yes };
    Ok(Answer::new(verdict, texts.join("\n"), &present::entries_json(&found, &signoffs)))
}

/// Checks record files one by one: rules, id, name, bytes, and, unless `identity_only`, what they name.
///
/// `root` is what their paths are relative to; without it, the parent of each file's folder.
///
/// # Errors
/// An index cannot be read.
pub fn check_records(
    files: &[PathBuf],
    root: Option<&Path>,
    identity_only: bool,
) -> anyhow::Result<Answer> {
    let mut text = String::new();
    let mut rows = Vec::new();
    let mut verdict = Verdict::Yes;
    for file in files {
        let checks = check_one(file, root, identity_only)?;
        let name = escape_os(file.as_os_str());
        text.push_str(&format!("{name}\n{}", present::checks_text(&checks)));
        if verify::first_cause(&checks).is_some() {
            verdict = Verdict::No;
        }
        rows.push(Json::object([
            ("file", Json::text(file.to_string_lossy())),
            ("result", present::checks_json(&checks)),
        ]));
    }
    let json = Json::object([("files", Json::Array(rows)), ("schema", Json::int(1))]);
    Ok(Answer::new(verdict, text, &json))
}

fn check_one(file: &Path, root: Option<&Path>, identity_only: bool) -> anyhow::Result<Vec<Check>> {
    anyhow::ensure!(file.is_file(), "{}: no such file", escape_os(file.as_os_str()));
    let absolute = std::path::absolute(file)?;
    let folder = absolute.parent().unwrap_or(Path::new("/"));
    let name = absolute.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let entry = match Registry::at(folder).read(&name)? {
        Ok(entry) => entry,
        Err(reason) => {
            let subject = escape_os(file.as_os_str());
            return Ok(vec![Check { name: "record", subject, status: Status::Wrong(reason) }]);
        }
    };
    let mut checks = verify::check_file(&entry);
    if !identity_only {
        let root = root.or_else(|| folder.parent()).unwrap_or(folder);
        checks.extend(verify::check_evidence(&entry.record, &means(root, None, None, true)));
    }
    Ok(checks)
}

/// What verifying is about and how far it goes.
#[derive(Debug, Clone, Default)]
pub struct VerifyRequest {
    /// A prefix of a sign-off's or a record's id, a version or a model's name; everything without it.
    pub wanted: Option<String>,
    /// Who may sign.
    pub signers: SignersQuestion,
    /// Whether pictures are hashed too.
    pub pictures: bool,
    /// Now: UTC, whole seconds.
    pub now: String,
}

/// Hashes again everything that standing sign-offs name, and what records without one name.
///
/// # Errors
/// The folder, its index or who may sign cannot be read.
pub fn verify_all(places: &RecordPlaces, request: &VerifyRequest) -> anyhow::Result<Answer> {
    let (listing, signoffs) = read(places)?;
    let trust = request.signers.answer(&request.now)?;
    let means = means(&places.root, None, trust.as_ref(), request.pictures);
    let wanted = |entry: Option<&Entry>, id: &str| {
        request.wanted.as_deref().is_none_or(|wanted| {
            (wanted.len() >= 4 && id.starts_with(wanted))
                || entry.is_some_and(|entry| names(entry, wanted))
        })
    };
    let mut subjects: Vec<(String, Vec<Check>)> = Vec::new();
    let standing: Vec<&StoredSignOff> = signoffs.standing().collect();
    for stored in &standing {
        let signoff = &stored.signoff;
        let entry =
            listing.records.iter().find(|entry| entry.record.record_id == signoff.record.record_id);
        if wanted(entry, &signoff.id.to_hex()) {
            let checks = verify::check_signoff(stored, &listing, &means).checks;
            subjects.push((format!("sign-off {}", signoff.id), checks));
        }
    }
    for entry in &listing.records {
        let id = entry.record.record_id;
        let signed = standing.iter().any(|stored| stored.signoff.record.record_id == id);
        if !signed && wanted(Some(entry), "") {
            let mut checks = verify::check_file(entry);
            checks.extend(verify::check_evidence(&entry.record, &means));
            subjects.push((format!("record {id}"), checks));
        }
    }
    if request.wanted.is_none() {
        subjects.extend(broken_files(&listing, &signoffs));
    }
    Ok(verified_answer(&subjects))
}

fn broken_files(listing: &Listing, signoffs: &SignOffs) -> Vec<(String, Vec<Check>)> {
    let wrong = |name, subject: String, reason: &str| Check {
        name,
        subject,
        status: Status::Wrong(reason.to_owned()),
    };
    let records = listing.quarantined.iter().map(|bad| {
        let file = crate::domain::escape::escape(&bad.file_name).into_owned();
        (format!("record file {file}"), vec![wrong("record", file, &bad.reason)])
    });
    let gone = listing.gone.iter().map(|name| {
        let file = crate::domain::escape::escape(name).into_owned();
        let status = Status::Gone("registered, and not there".to_owned());
        (format!("record file {file}"), vec![Check { name: "record", subject: file, status }])
    });
    let signoffs = signoffs.faults.iter().map(|fault| {
        let file = escape_os(fault.path.as_os_str());
        (format!("sign-off file {file}"), vec![wrong("sign-off", file, &fault.reason)])
    });
    records.chain(gone).chain(signoffs).collect()
}

fn verified_answer(subjects: &[(String, Vec<Check>)]) -> Answer {
    let mut text = String::new();
    let mut rows = Vec::new();
    let mut verdict = if subjects.is_empty() { Verdict::CannotTell } else { Verdict::Yes };
    if subjects.is_empty() {
        text.push_str("nothing to verify: no record and no sign-off\n");
    }
    for (subject, checks) in subjects {
        text.push_str(subject);
        match verify::first_cause(checks) {
            None => text.push_str(": ok\n"),
            Some(cause) => {
                verdict = Verdict::No;
                text.push_str(&format!(
                    ": {} {} {}: {}\n",
                    cause.status.word(),
                    cause.name,
                    cause.subject,
                    cause.status.detail()
                ));
            }
        }
        text.push_str(&present::checks_text(checks));
        rows.push(Json::object([
            ("result", present::checks_json(checks)),
            ("subject", Json::text(subject)),
        ]));
    }
    let json = Json::object([("schema", Json::int(1)), ("subjects", Json::Array(rows))]);
    Answer::new(verdict, text, &json)
}

/// What the gate is asked.
#[derive(Debug, Clone)]
pub struct GateRequest {
    /// The artifact's file.
    pub artifact: PathBuf,
    /// Only sign-offs at this operating point count.
    pub threshold: Option<f64>,
    /// Who may sign.
    pub signers: SignersQuestion,
    /// Whether pictures are hashed too.
    pub pictures: bool,
    /// Now: UTC, whole seconds.
    pub now: String,
}

/// Asks the gate. A folder that cannot be read is no answer, not an error.
///
/// # Errors
/// Who may sign cannot be read.
pub fn ask_gate(places: &RecordPlaces, request: &GateRequest) -> anyhow::Result<Answer> {
    let trust = request.signers.answer(&request.now)?;
    let means = means(&places.root, Some(&request.artifact), trust.as_ref(), request.pictures);
    let signoffs = SignOffStore::at(&places.signoffs).list();
    let answer = match Registry::at(&places.records).list() {
        Ok(listing) => gate::ask(&request.artifact, request.threshold, &signoffs, &listing, &means),
        Err(fault) => gate::GateAnswer {
            holds: Holds::CannotTell,
            reason: fault.to_string(),
            looked_at: Vec::new(),
        },
    };
    let verdict = match answer.holds {
        Holds::Yes => Verdict::Yes,
        Holds::No => Verdict::No,
        Holds::CannotTell => Verdict::CannotTell,
    };
    Ok(Answer::new(verdict, present::gate_text(&answer), &present::gate_json(&answer)))
}

fn read(places: &RecordPlaces) -> anyhow::Result<(Listing, SignOffs)> {
    let listing = Registry::at(&places.records).list()?;
    Ok((listing, SignOffStore::at(&places.signoffs).list()))
}

/// Whether a person means this record.
fn names(entry: &Entry, wanted: &str) -> bool {
    let record = &entry.record;
    (wanted.len() >= 4 && record.record_id.to_hex().starts_with(wanted))
        || record.version == wanted
        || record.identity.model_name == wanted
        || entry.file_name == wanted
}
