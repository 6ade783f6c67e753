//! The signatures over a sign-off: the owner's and those of others, one by one and as a whole.

use super::signoff_store::StoredSignOff;
use super::ssh::{self, Namespace, SignatureFault, SignedBy};
use super::trust::Trust;
use crate::domain::escape::escape;

/// One signature, and how far it was checked.
#[derive(Debug)]
pub(in crate::sighted) struct Signature {
    /// The name in the sign-off, or the one the list has for a further key.
    pub name: Option<String>,
    /// Fingerprint of its key, when it covers the sign-off.
    pub key: Option<String>,
    /// What came of it.
    pub standing: Standing,
}

/// What is known of a signature.
#[derive(Debug)]
pub(in crate::sighted) enum Standing {
    /// It covers the sign-off, and its key may sign in this name.
    Counts,
    /// It covers the sign-off; whose key it is was not asked.
    NotAsked,
    /// It does not count.
    Faulty(SignatureFault),
}

impl Signature {
    /// Who, with which key, and whether that was verified, in words. Raw: escaped where it is shown.
    pub(in crate::sighted) fn text(&self) -> String {
        let who = self.name.as_deref().unwrap_or("somebody");
        let key = self.key.as_deref().map(|key| format!(", key {key}")).unwrap_or_default();
        match &self.standing {
            Standing::Counts => format!("{who}{key}: verified"),
            Standing::NotAsked => {
                format!("{who}{key}: covers this decision; whose key it is was NOT checked")
            }
            Standing::Faulty(SignatureFault::NoProgram(error)) => {
                format!("{who}{key}: NOT checked: {error}")
            }
            Standing::Faulty(fault) => format!("{who}{key}: NOT verified: {fault}"),
        }
    }
}

/// Every signature beside a sign-off, the owner's first; without `trust` only what they cover is checked.
pub(in crate::sighted) fn signatures(
    stored: &StoredSignOff,
    trust: Option<&Trust>,
) -> Vec<Signature> {
    let owner = stored.signature.iter().map(|file| of_owner(stored, file, trust));
    let others = stored.cosignatures.iter().map(|file| of_other(stored, file, trust));
    owner.chain(others).collect()
}

/// Bytes first, then the key's right to sign in this name, then whether the payload names this key.
fn of_owner(stored: &StoredSignOff, file: &std::path::Path, trust: Option<&Trust>) -> Signature {
    let signer = &stored.signoff.signer;
    let name = Some(signer.name.clone());
    let key = match ssh::check_bytes(file, &stored.bytes, Namespace::SignOff) {
        Ok(key) => key,
        Err(fault) => return Signature { name, key: None, standing: Standing::Faulty(fault) },
    };
    let check = || -> Result<Standing, SignatureFault> {
        if let Some(trust) = trust {
            let namespace = Namespace::SignOff;
            ssh::check_name(file, &stored.bytes, namespace, &signer.name, &trust.lists)?;
        }
        if signer.key_id.as_ref() != Some(&key) {
            let stated = signer.key_id.clone().unwrap_or_else(|| "none".to_owned());
            return Err(SignatureFault::OtherKey { found: key.clone(), stated });
        }
        ssh::check_form(file)?;
        Ok(if trust.is_some() { Standing::Counts } else { Standing::NotAsked })
    };
    let standing = check().unwrap_or_else(Standing::Faulty);
    Signature { name, key: Some(key), standing }
}

fn of_other(stored: &StoredSignOff, file: &std::path::Path, trust: Option<&Trust>) -> Signature {
    let (bytes, namespace) = (&stored.bytes, Namespace::SignOff);
    let key = ssh::check_bytes(file, bytes, namespace);
    let faulty = |key, fault| Signature { name: None, key, standing: Standing::Faulty(fault) };
    match (key, trust) {
        (Err(fault), _) => faulty(None, fault),
        (Ok(key), None) => match ssh::check_form(file) {
            Ok(()) => Signature { name: None, key: Some(key), standing: Standing::NotAsked },
            Err(fault) => faulty(Some(key), fault),
        },
        (Ok(key), Some(trust)) => match ssh::signed_by(file, bytes, namespace, &trust.lists) {
            Ok(by) => {
                Signature { name: Some(by.name), key: Some(by.key), standing: Standing::Counts }
            }
            Err(fault) => faulty(Some(key), fault),
        },
    }
}

/// Whether as many people signed as must have, and nothing beside the sign-off is no signature over it.
///
/// # Errors
/// The first signature that does not count, or too few people.
pub(in crate::sighted) fn enough(
    signatures: Vec<Signature>,
    trust: &Trust,
) -> Result<(), SignatureFault> {
    let mut signed = Vec::new();
    for signature in signatures {
        if let Standing::Faulty(fault) = signature.standing {
            return Err(fault);
        }
        signed.extend(signature.name.zip(signature.key).map(|(name, key)| SignedBy { name, key }));
    }
    let (found, needed) = (ssh::people(&signed), trust.signatures);
    if found < needed { Err(SignatureFault::TooFew { found, needed }) } else { Ok(()) }
}

/// The one person who made every label and is the only one to have signed, as far as names tell: a
/// rater's name is lower case, and a signer's may be an address.
pub(in crate::sighted) fn alone<'a>(raters: &'a [String], signers: &[String]) -> Option<&'a str> {
    let person = |name: &str| {
        let name = name.split('@').next().unwrap_or_default();
        name.trim().to_lowercase()
    };
    let (rater, others) = raters.split_first()?;
    let only = others.iter().all(|other| person(other) == person(rater));
    let signs_alone = signers.iter().all(|signer| person(signer) == person(rater));
    (only && signs_alone && !signers.is_empty()).then_some(rater.as_str())
}

/// The sentence about a person who labelled and signed alone. Escaped.
pub(in crate::sighted) fn alone_text(person: &str) -> String {
    format!("{} made every label and is the only one who signed", escape(person))
}
