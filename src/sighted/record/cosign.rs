//! One more signature over a decision that is made: another person reads exactly what was signed and puts
//! their key to the same bytes.

use std::path::{Path, PathBuf};

use super::signing::{SigningFault, cannot};
use super::signoff::{CONFIRM_DIGITS, SignRefusal};
use super::signoff_store::{SignOffStore, StoredSignOff};
use super::ssh;
use super::statement::{Person, ask};
use crate::domain::canonical::Json;
use crate::domain::digest::SignOffId;
use crate::domain::escape::escape_os;

/// Fewest letters of an id that name it.
const LEAST_LETTERS: usize = 4;

/// Adds a signature. Nothing is written before the digits are typed.
///
/// # Errors
/// Whatever is in the way.
pub(in crate::sighted) fn cosign(
    signoffs: &Path,
    wanted: &str,
    key: &Path,
    person: &mut dyn Person,
) -> Result<(PathBuf, SignOffId), SigningFault> {
    let found = SignOffStore::at(signoffs).list();
    if let Some(fault) = found.faults.first() {
        let path = escape_os(fault.path.as_os_str());
        return Err(cannot(format!("{path}: {}; mend this first", fault.reason)));
    }
    let named = |stored: &&StoredSignOff| {
        wanted.len() >= LEAST_LETTERS && stored.signoff.id.to_hex().starts_with(wanted)
    };
    let mut standing = found.standing().filter(named);
    let (Some(stored), None) = (standing.next(), standing.next()) else {
        return Err(cannot("no single standing sign-off has an id that begins like that"));
    };
    let signoff = &stored.signoff;
    if signoff.signer.key_id.is_none() {
        return Err(cannot("it was signed without a key, so a second key has nothing to join"));
    }
    let fingerprint = ssh::fingerprint(key)?;
    if signoff.signer.key_id.as_ref() == Some(&fingerprint) {
        return Err(cannot(format!("key {fingerprint} has signed it already")));
    }
    person.say("This is what you sign:");
    // ASCII and laid out: nothing in it can be hidden.
    person.say(&Json::parse(&stored.bytes).map_err(cannot)?.to_file());
    let expected = signoff.id.to_hex()[..CONFIRM_DIGITS].to_owned();
    let typed = ask(person, &format!("Type {expected} to sign, anything else to stop: "))?;
    if typed != expected {
        return Err(SignRefusal::NotConfirmed { expected, typed }.into());
    }
    let signature = ssh::sign(key, &stored.bytes)?;
    let path = SignOffStore::add_signature(stored, &fingerprint, &signature)?;
    Ok((path, signoff.id))
}
