//! Records, checks and answers as lines for people and as JSON. Every line says the same as the JSON.

use std::fmt::Write as _;

use super::gate::GateAnswer;
use super::limits::{AcceptanceLimits, Holds, LimitFinding};
use super::registry::{Entry, FileBytes, Listing};
use super::signoff::SignOff;
use super::signoff_store::{SignOffs, StoredSignOff};
use super::verify::{Check, first_cause};
use crate::domain::canonical::{Json, float_text};
use crate::domain::escape::{escape, escape_os};

/// Counts at the operating point, from a comparison of either shape.
struct AtPoint {
    flips: Option<i64>,
    class_flips: Option<i64>,
    reference: Option<i64>,
    candidate: Option<i64>,
    images: Option<i64>,
}

fn at_point(entry: &Entry) -> AtPoint {
    let row = entry.record.parity.comparison.get("atRecommendedThreshold");
    let get = |key: &str| row.and_then(|row| row.get(key)).and_then(Json::as_i64);
    AtPoint {
        flips: get("thresholdFlips"),
        class_flips: get("classArgmaxFlips").or_else(|| get("classFlips")),
        reference: get("detectionsReference").or_else(|| get("detectionsA")),
        candidate: get("detectionsCandidate").or_else(|| get("detectionsB")),
        images: get("imagesWithAnyFlip"),
    }
}

fn count(value: Option<i64>) -> String {
    value.map_or_else(|| "?".to_owned(), |value| value.to_string())
}

fn file_word(bytes: FileBytes) -> &'static str {
    match bytes {
        FileBytes::AsRegistered => "as registered",
        FileBytes::SameContent { .. } => "same content, other bytes",
        FileBytes::Changed { .. } => "CHANGED since it was registered",
        FileBytes::NotIndexed => "not registered here",
    }
}

fn on_target_word(entry: &Entry) -> &'static str {
    if entry.record.measured_on_target() { "on target" } else { "NOT on target" }
}

fn decision_of<'a>(entry: &Entry, signoffs: &'a SignOffs) -> Option<&'a SignOff> {
    signoffs
        .standing()
        .filter(|stored| stored.signoff.record.record_id == entry.record.record_id)
        .map(|stored| &stored.signoff)
        .last()
}

/// A registry, one line a record.
pub(in crate::sighted) fn listing_text(listing: &Listing, signoffs: &SignOffs) -> String {
    let mut out = String::new();
    for entry in &listing.records {
        let record = &entry.record;
        let at = at_point(entry);
        let decision = decision_of(entry, signoffs).map_or("not signed".to_owned(), |signoff| {
            format!("signed: {}", signoff.decision.word())
        });
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(
            out,
            "{}  {} {}  at {}  {} slot flips, {} class flips, measured {}  {}  {}",
            record.record_id.short(),
            escape(&record.identity.model_name),
            escape(&record.version),
            float_text(record.identity.confidence),
            count(at.flips),
            count(at.class_flips),
            on_target_word(entry),
            decision,
            file_word(entry.bytes),
        );
    }
    for bad in &listing.quarantined {
        let _ = writeln!(out, "left out    {}: {}", escape(&bad.file_name), bad.reason);
    }
    for gone in &listing.gone {
        let _ = writeln!(out, "gone        {}", escape(gone));
    }
    for fault in &signoffs.faults {
        let _ =
            writeln!(out, "sign-off    {}: {}", escape_os(fault.path.as_os_str()), fault.reason);
    }
    if out.is_empty() {
        out.push_str("no records\n");
    }
    out
}

/// A registry as JSON.
pub(in crate::sighted) fn listing_json(listing: &Listing, signoffs: &SignOffs) -> Json {
    let rows = listing.records.iter().map(|entry| entry_json(entry, signoffs));
    let bad = listing.quarantined.iter().map(|bad| {
        Json::object([("file", Json::text(&bad.file_name)), ("reason", Json::text(&bad.reason))])
    });
    let faults = signoffs.faults.iter().map(|fault| {
        Json::object([
            ("file", Json::text(fault.path.to_string_lossy())),
            ("reason", Json::text(&fault.reason)),
        ])
    });
    Json::object([
        ("gone", Json::Array(listing.gone.iter().map(Json::text).collect())),
        ("leftOut", Json::Array(bad.collect())),
        ("records", Json::Array(rows.collect())),
        ("schema", Json::int(1)),
        ("signoffFaults", Json::Array(faults.collect())),
    ])
}

fn entry_json(entry: &Entry, signoffs: &SignOffs) -> Json {
    let record = &entry.record;
    let decision = decision_of(entry, signoffs);
    Json::object([
        ("decision", Json::text_or_null(decision.map(|signoff| signoff.decision.word()))),
        ("file", Json::text(&entry.file_name)),
        ("fileSha256", Json::text(entry.file_hash.to_hex())),
        ("fileState", Json::text(file_word(entry.bytes))),
        ("measuredOnTarget", Json::Bool(record.measured_on_target())),
        ("record", record.tree().clone()),
        ("recordId", Json::text(record.record_id.to_hex())),
        ("releaseKey", Json::text(record.identity.release_key().to_hex())),
        ("signoffId", Json::text_or_null(decision.map(|signoff| signoff.id.to_hex()))),
        ("targetSha256", Json::text(record.identity.target_digest().to_hex())),
    ])
}

/// Records in full, as JSON.
pub(in crate::sighted) fn entries_json(entries: &[&Entry], signoffs: &SignOffs) -> Json {
    Json::Array(entries.iter().map(|entry| entry_json(entry, signoffs)).collect())
}

/// One record in full.
pub(in crate::sighted) fn entry_text(entry: &Entry, signoffs: &SignOffs) -> String {
    let record = &entry.record;
    let identity = &record.identity;
    let at = at_point(entry);
    let mut out = String::new();
    let mut line = |name: &str, text: String| {
        let _ = writeln!(out, "  {name:<18} {text}");
    };
    let source = identity.source.map_or_else(|| "none".to_owned(), |hash| hash.to_hex());
    line("artifact", format!("{} ({} bytes)", identity.artifact, identity.bytes));
    line("last seen at", escape(&record.artifact_path).into_owned());
    line("precision", escape(&identity.precision).into_owned());
    line("weights", weights_text(entry));
    line("mechanism", escape(&identity.mechanism).into_owned());
    line("converted from", source);
    line("operating point", float_text(identity.confidence));
    let place = |place: &super::identity::Place| {
        format!(
            "{} {}, {}, {}",
            escape(&place.runtime),
            escape(&place.runtime_version),
            escape(&place.provider),
            escape(&place.host)
        )
    };
    line("target", place(&identity.target));
    line("measured on", place(&record.parity.measured_on));
    line("measured on target", if record.measured_on_target() { "yes" } else { "NO" }.to_owned());
    line(
        "parity report",
        format!("{} ({})", escape(&record.parity.report), record.parity.role.word()),
    );
    line("report sha256", record.parity.report_hash.to_hex());
    line("slot flips", count(at.flips));
    line("class flips", count(at.class_flips));
    line("images with a flip", count(at.images));
    line("detections", format!("{} and {}", count(at.reference), count(at.candidate)));
    if at.reference.is_some() && at.reference == at.candidate && at.flips.unwrap_or(0) > 0 {
        let text = format!("equal totals hide {} changed slots", count(at.flips));
        line("", text);
    }
    line("file", format!("{}, {}", escape(&entry.file_name), file_word(entry.bytes)));
    line("file sha256", entry.file_hash.to_hex());
    line("registered", escape(record.registered_at()).into_owned());
    for note in record.notes() {
        line("note", escape(note).into_owned());
    }
    let heading = format!(
        "{} {}  {}\n",
        escape(&identity.model_name),
        escape(&record.version),
        record.record_id
    );
    let mut out = heading + &out;
    for stored in &signoffs.all {
        if stored.signoff.record.record_id == record.record_id {
            out.push_str(&signoff_text(stored, signoffs));
        }
    }
    out
}

fn weights_text(entry: &Entry) -> String {
    match &entry.record.evidence {
        None => "nobody looked".to_owned(),
        Some(evidence) if evidence.weights.is_empty() => "cannot be read".to_owned(),
        Some(evidence) => {
            let rows: Vec<String> = evidence
                .weights
                .iter()
                .map(|(name, bytes)| format!("{} {bytes} bytes", escape(name)))
                .collect();
            rows.join(", ")
        }
    }
}

/// Who decided what about an artifact, a line each; raw. A file that cannot be read may be the newest
/// decision, so it is told as well.
pub(in crate::sighted) fn decided_lines(signoffs: &SignOffs, artifact: &str) -> Vec<String> {
    let mut out: Vec<String> = signoffs
        .standing()
        .filter(|stored| stored.signoff.record.artifact.to_hex() == artifact)
        .flat_map(|stored| {
            let signoff = &stored.signoff;
            [
                format!(
                    "{} at {} by {} ({}), {}, on {}: {}",
                    signoff.decision.word(),
                    float_text(signoff.operating_point),
                    signoff.signer.name,
                    signoff.signer.role,
                    keys_text(stored),
                    signoff.signed_at,
                    signoff.reason
                ),
                format!("limits: {}", limits_text(&signoff.limits)),
            ]
        })
        .collect();
    if out.is_empty() {
        out.push("by nobody: no sign-off stands on this candidate".to_owned());
    } else {
        out.push("whether that still holds: flipside gate".to_owned());
    }
    out.extend(
        signoffs
            .faults
            .iter()
            .map(|fault| format!("unknown: {}: {}", fault.path.to_string_lossy(), fault.reason)),
    );
    out
}

/// How many keys were put to it; whether they count is for [`super::verify`].
fn keys_text(stored: &StoredSignOff) -> String {
    match usize::from(stored.signature.is_some()) + stored.cosignatures.len() {
        0 => "with no SSH key".to_owned(),
        1 => "with an SSH key".to_owned(),
        keys => format!("with {keys} SSH keys"),
    }
}

/// One sign-off, indented below its record.
pub(in crate::sighted) fn signoff_text(stored: &StoredSignOff, signoffs: &SignOffs) -> String {
    let signoff = &stored.signoff;
    let standing = signoffs.standing().any(|other| other.signoff.id == signoff.id);
    let mut out = format!(
        "  sign-off {}  {} at {}, {} by {}, {}{}\n",
        signoff.id.short(),
        signoff.decision.word(),
        float_text(signoff.operating_point),
        escape(&signoff.signed_at),
        escape(&signoff.signer.name),
        keys_text(stored),
        if standing { "" } else { " (superseded)" },
    );
    let mut line = |name: &str, text: &str| {
        let _ = writeln!(out, "    {name:<17} {}", escape(text));
    };
    line("reason", &signoff.reason);
    line("limits", &limits_text(&signoff.limits));
    line(
        "labels",
        &format!("{} files, {}", signoff.evidence.labels.len(), signoff.evidence.blind_status),
    );
    for item in &signoff.licenses {
        line("licenses", item);
    }
    for item in &signoff.does_not_license {
        line("does not license", item);
    }
    out
}

/// Limits in one line.
pub(in crate::sighted) fn limits_text(limits: &AcceptanceLimits) -> String {
    let mut parts = Vec::new();
    let counts = [
        ("slot flips at most", limits.slot_flips),
        ("real flips at most", limits.real_flips),
        ("mislabels at most", limits.class_flips),
        ("litter images at least", limits.min_positives),
        ("clean images at least", limits.min_negatives),
    ];
    for (name, limit) in counts {
        if let Some(limit) = limit {
            parts.push(format!("{name} {limit}"));
        }
    }
    let shares = [
        ("recall may fall by", limits.recall_margin),
        ("false-positive rate may rise by", limits.false_positive_margin),
    ];
    for (name, limit) in shares {
        if let Some(limit) = limit {
            let level = limits.confidence_level * 100.0;
            parts.push(format!("{name} {:.2} points ({level:.0} % interval)", limit * 100.0));
        }
    }
    if parts.is_empty() { "none: nothing is limited".to_owned() } else { parts.join("; ") }
}

/// Checks, one line each.
pub(in crate::sighted) fn checks_text(checks: &[Check]) -> String {
    let mut out = String::new();
    for check in checks {
        let detail = check.status.detail();
        let colon = if detail.is_empty() { "" } else { ": " };
        let _ = writeln!(
            out,
            "{:<8} {:<18} {}{colon}{detail}",
            check.status.word(),
            check.name,
            check.subject
        );
    }
    out
}

/// Checks as JSON, the first cause by its name.
pub(in crate::sighted) fn checks_json(checks: &[Check]) -> Json {
    let rows = checks.iter().map(check_json).collect();
    Json::object([
        ("checks", Json::Array(rows)),
        ("firstCause", first_cause(checks).map_or(Json::Null, check_json)),
    ])
}

fn check_json(check: &Check) -> Json {
    use super::verify::Status;
    let (expected, found) = match &check.status {
        Status::Differs { expected, found } => (Some(expected), Some(found)),
        _ => (None, None),
    };
    Json::object([
        ("detail", Json::text(check.status.detail())),
        ("expected", Json::text_or_null(expected)),
        ("found", Json::text_or_null(found)),
        ("name", Json::text(check.name)),
        ("status", Json::text(check.status.word())),
        ("subject", Json::text(&check.subject)),
    ])
}

/// Limits, one line each.
pub(in crate::sighted) fn findings_text(findings: &[LimitFinding]) -> String {
    let mut out = String::new();
    for finding in findings {
        let _ = writeln!(
            out,
            "{:<8} {:<20} {}",
            holds_word(finding.holds),
            finding.words(),
            finding.detail
        );
    }
    out
}

fn holds_word(holds: Holds) -> &'static str {
    match holds {
        Holds::Yes => "holds",
        Holds::No => "exceeded",
        Holds::CannotTell => "unknown",
    }
}

/// The gate's answer, reason first.
pub(in crate::sighted) fn gate_text(answer: &GateAnswer) -> String {
    let word = match answer.holds {
        Holds::Yes => "pass",
        Holds::No => "no",
        Holds::CannotTell => "cannot tell",
    };
    let mut out = format!("{word}: {}\n", answer.reason);
    for looked_at in &answer.looked_at {
        out.push_str(&findings_text(&looked_at.limits));
    }
    out
}

/// The gate's answer as JSON.
pub(in crate::sighted) fn gate_json(answer: &GateAnswer) -> Json {
    let word = match answer.holds {
        Holds::Yes => "yes",
        Holds::No => "no",
        Holds::CannotTell => "cannot-tell",
    };
    let rows = answer.looked_at.iter().map(|looked_at| {
        let limits = looked_at.limits.iter().map(|finding| {
            Json::object([
                ("detail", Json::text(&finding.detail)),
                ("holds", Json::text(holds_word(finding.holds))),
                ("name", Json::text(finding.name)),
            ])
        });
        Json::object([
            ("limits", Json::Array(limits.collect())),
            ("signoffId", Json::text(&looked_at.id)),
            ("verified", checks_json(&looked_at.checks)),
        ])
    });
    Json::object([
        ("answer", Json::text(word)),
        ("reason", Json::text(&answer.reason)),
        ("schema", Json::int(1)),
        ("signoffs", Json::Array(rows.collect())),
    ])
}
