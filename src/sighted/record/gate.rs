//! Is there a valid sign-off for exactly these bytes? Fails closed: yes only when everything held.

use std::path::Path;

use super::limits::{self, Holds, LimitFinding};
use super::registry::Listing;
use super::release::{ReleaseRecord, same_point};
use super::signoff::Decision;
use super::signoff_store::{SignOffs, StoredSignOff};
use super::verify::{self, Check, Means, Status};
use crate::domain::canonical::float_text;
use crate::domain::digest::ArtifactHash;
use crate::domain::escape::{escape, escape_os};

/// The gate's answer.
#[derive(Debug)]
pub(in crate::sighted) struct GateAnswer {
    /// Yes, no, or no answer.
    pub holds: Holds,
    /// The reason, first cause first.
    pub reason: String,
    /// Sign-offs that were looked at, with their checks.
    pub looked_at: Vec<LookedAt>,
}

/// One sign-off the gate looked at.
#[derive(Debug)]
pub(in crate::sighted) struct LookedAt {
    /// Its id.
    pub id: String,
    /// Checks, in the fixed order.
    pub checks: Vec<Check>,
    /// Limits on the evidence.
    pub limits: Vec<LimitFinding>,
}

/// Asks.
pub(in crate::sighted) fn ask(
    artifact: &Path,
    threshold: Option<f64>,
    signoffs: &SignOffs,
    listing: &Listing,
    means: &Means<'_>,
) -> GateAnswer {
    let mut looked_at = Vec::new();
    let (holds, reason) = decide(artifact, threshold, signoffs, listing, means, &mut looked_at);
    GateAnswer { holds, reason, looked_at }
}

fn decide(
    artifact: &Path,
    threshold: Option<f64>,
    signoffs: &SignOffs,
    listing: &Listing,
    means: &Means<'_>,
    looked_at: &mut Vec<LookedAt>,
) -> (Holds, String) {
    let hash = match verify::artifact_hash(artifact) {
        Ok(hash) => hash,
        Err(reason) => {
            let path = escape_os(artifact.as_os_str());
            return (Holds::CannotTell, format!("cannot read {path}: {reason}"));
        }
    };
    // A file that cannot be read may be the newest decision.
    if let Some(fault) = signoffs.faults.first() {
        let path = escape_os(fault.path.as_os_str());
        return (Holds::CannotTell, format!("{path}: {}", fault.reason));
    }
    let standing: Vec<&StoredSignOff> = signoffs
        .standing()
        .filter(|stored| stored.signoff.record.artifact == hash)
        .filter(|stored| {
            threshold.is_none_or(|point| same_point(point, stored.signoff.operating_point))
        })
        .collect();
    if standing.is_empty() {
        let point = threshold.map(|point| format!(" at {}", float_text(point))).unwrap_or_default();
        let other = signed_here(artifact, hash, signoffs, listing, means).unwrap_or_default();
        return (Holds::No, format!("no sign-off for artifact {hash}{point}{other}"));
    }
    let mut accepted = Vec::new();
    for stored in standing {
        match look_at(stored, listing, means, looked_at) {
            Ok(line) => accepted.push(line),
            Err(answer) => return answer,
        }
    }
    (Holds::Yes, accepted.join("; "))
}

/// What was signed in this place, when the file that lies there now is another one.
fn signed_here(
    artifact: &Path,
    found: ArtifactHash,
    signoffs: &SignOffs,
    listing: &Listing,
    means: &Means<'_>,
) -> Option<String> {
    let place = std::path::absolute(artifact).ok()?;
    let is_here = |record: &ReleaseRecord| {
        std::path::absolute(means.root.join(&record.artifact_path)).ok().as_ref() == Some(&place)
    };
    signoffs.standing().find_map(|stored| {
        let signoff = &stored.signoff;
        let id = signoff.record.record_id;
        let entry = listing.records.iter().find(|entry| entry.record.record_id == id)?;
        let signed = signoff.record.artifact;
        (signed != found && is_here(&entry.record)).then(|| {
            let (id, who) = (signoff.id.short(), escape(&signoff.signer.name));
            format!("; sign-off {id} by {who} is for {signed} in this place: the file has changed")
        })
    })
}

/// Looks at one sign-off; `Ok` says what was accepted.
fn look_at(
    stored: &StoredSignOff,
    listing: &Listing,
    means: &Means<'_>,
    looked_at: &mut Vec<LookedAt>,
) -> Result<String, (Holds, String)> {
    let signoff = &stored.signoff;
    let who = format!("sign-off {} by {}", signoff.id.short(), escape(&signoff.signer.name));
    let verified = verify::check_signoff(stored, listing, means);
    let cause = verify::first_cause(&verified.checks).map(|check| {
        let holds = match check.status {
            Status::Gone(_) => Holds::CannotTell,
            _ => Holds::No,
        };
        (holds, format!("{who}: {} {}: {}", check.name, check.subject, check.status.detail()))
    });
    let findings = verified.numbers.as_ref().map(|numbers| {
        let mut findings = limits::judge_basis(numbers);
        findings.extend(limits::judge(&signoff.limits, numbers));
        findings
    });
    let noted: Vec<String> = verified
        .checks
        .iter()
        .filter(|check| matches!(check.status, Status::Noted(_)))
        .map(|check| check.status.detail())
        .collect();
    looked_at.push(LookedAt {
        id: signoff.id.to_hex(),
        checks: verified.checks,
        limits: findings.clone().unwrap_or_default(),
    });
    if signoff.decision != Decision::Accept {
        let word = signoff.decision.word();
        return Err((Holds::No, format!("{who}: {word}: {}", escape(&signoff.reason))));
    }
    if let Some(cause) = cause {
        return Err(cause);
    }
    let Some(findings) = findings else {
        let point = float_text(signoff.operating_point);
        return Err((Holds::CannotTell, format!("{who}: the report counts nothing at {point}")));
    };
    if let Some(bad) = findings.iter().find(|finding| finding.holds != Holds::Yes) {
        return Err((bad.holds, format!("{who}: {}: {}", bad.words(), bad.detail)));
    }
    let point = float_text(signoff.operating_point);
    // A name anybody can type is no signature; a pass must not read like one.
    let unchecked = means.trust.is_none();
    let unchecked =
        if unchecked { " (who signed was not checked: no allowed signers)" } else { "" };
    let noted: String = noted.iter().map(|note| format!("; {note}")).collect();
    Ok(format!("{who}: accepted at {point} on {}{unchecked}{noted}", escape(&signoff.signed_at)))
}
