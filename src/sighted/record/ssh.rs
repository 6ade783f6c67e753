//! SSH signatures over sign-off files, made and checked by the system's own `ssh-keygen`.
//!
//! We hold no key and no cryptography: people have SSH keys already, and a file that `ssh-keygen -Y
//! verify` accepts can be checked without this program. The namespace keeps a signature made for
//! something else from counting here.

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::registry::read_bounded;
use crate::domain::escape::{escape, escape_os};

/// What signatures are for.
pub(in crate::sighted) const NAMESPACE: &str = "signoff@flipside";

/// Largest signature file, in bytes.
const MAX_SIGNATURE_BYTES: usize = 64 << 10;

/// Columns of base64 in armour.
const ARMOUR_COLUMNS: usize = 70;

/// The program.
const PROGRAM: &str = "ssh-keygen";

/// Why a signature could not be made, or does not count.
#[derive(Debug, thiserror::Error)]
pub(in crate::sighted) enum SignatureFault {
    /// Without the program there is no answer.
    #[error("cannot run {PROGRAM}: {0}; it comes with OpenSSH")]
    NoProgram(#[source] io::Error),
    /// It did not sign.
    #[error("{PROGRAM} did not sign with {}{}", .key, said(.message))]
    NotSigned {
        /// The key file.
        key: String,
        /// What it said.
        message: String,
    },
    /// It says no.
    #[error("the signature does not cover these bytes in namespace {NAMESPACE}{}", said(.message))]
    NotOverTheseBytes {
        /// What it said.
        message: String,
    },
    /// The key is not allowed to sign in this name.
    #[error("{} has no valid entry for {:?} with this key{}", .file, escape(.name), said(.message))]
    NotAllowed {
        /// The allowed-signers file.
        file: String,
        /// The name in the sign-off.
        name: String,
        /// What it said.
        message: String,
    },
    /// Its armour holds more, less or otherwise than what it encodes.
    #[error("the signature is not written as {PROGRAM} writes one: other bytes than were made")]
    NotAsWritten,
    /// The list knows nobody with this key.
    #[error("{} allows nobody with this key{}", .file, said(.message))]
    NobodysKey {
        /// The allowed-signers file.
        file: String,
        /// What it said.
        message: String,
    },
    /// Fewer people than must have.
    #[error("signed by {found} of {needed} people")]
    TooFew {
        /// Different people with different keys.
        found: usize,
        /// As many must have signed.
        needed: usize,
    },
    /// The sign-off names another key.
    #[error("signed with key {}, the sign-off names {}", escape(.found), escape(.stated))]
    OtherKey {
        /// Of the signature.
        found: String,
        /// In the payload.
        stated: String,
    },
}

impl<'a> Trust<'a> {
    /// One signature of anybody the list allows.
    pub(in crate::sighted) fn of(allowed_signers: &'a Path, revoked: Option<&'a Path>) -> Self {
        Self { allowed_signers, revoked, signatures: 1, version: None }
    }
}

fn said(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(" ({})", escape(message)) }
}

/// Where allowed signers and revoked keys are listed.
#[derive(Debug, Clone, Copy)]
pub(in crate::sighted) struct Trust<'a> {
    /// In the format of `ssh-keygen`.
    pub allowed_signers: &'a Path,
    /// Keys that no longer count.
    pub revoked: Option<&'a Path>,
    /// Different people whose keys must have signed.
    pub signatures: usize,
    /// Of the root of trust, when there is one.
    pub version: Option<u64>,
}

/// The fingerprint of a key file.
///
/// # Errors
/// The program is missing, or the file is no key.
pub(in crate::sighted) fn fingerprint(key: &Path) -> Result<String, SignatureFault> {
    let output = run(&[OsStr::new("-l"), OsStr::new("-f"), key.as_os_str()], b"")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match text.split_whitespace().nth(1) {
        Some(print) if output.status.success() && print.starts_with("SHA256:") => {
            Ok(print.to_owned())
        }
        _ => Err(SignatureFault::NotSigned {
            key: escape_os(key.as_os_str()),
            message: last_line(&output.stderr),
        }),
    }
}

/// An armoured signature of `bytes`. A passphrase is asked for on the terminal.
///
/// # Errors
/// The program is missing, or does not sign.
pub(in crate::sighted) fn sign(key: &Path, bytes: &[u8]) -> Result<Vec<u8>, SignatureFault> {
    let mut command = Command::new(PROGRAM);
    command.args(["-q", "-Y", "sign", "-n", NAMESPACE, "-f"]).arg(key);
    // Its own words go to the terminal: a hardware key asks to be touched.
    command.stderr(Stdio::inherit());
    let output = feed(command, bytes)?;
    let is_signature = output.stdout.starts_with(b"-----BEGIN SSH SIGNATURE-----");
    if output.status.success() && is_signature {
        Ok(output.stdout)
    } else {
        let key = escape_os(key.as_os_str());
        Err(SignatureFault::NotSigned { key, message: String::new() })
    }
}

/// Checks that the signature in `signature_file` covers `bytes`, whoever made it.
/// Returns the fingerprint of its key.
///
/// # Errors
/// The program is missing, or says no.
pub(in crate::sighted) fn check_bytes(
    signature_file: &Path,
    bytes: &[u8],
) -> Result<String, SignatureFault> {
    let words = ["-Y", "check-novalidate", "-n", NAMESPACE, "-s"].map(OsStr::new);
    let output = run(&[&words[..], &[signature_file.as_os_str()]].concat(), bytes)?;
    let print = String::from_utf8_lossy(&output.stdout)
        .split_whitespace()
        .find(|word| word.starts_with("SHA256:"))
        .map(str::to_owned);
    match print {
        Some(print) if output.status.success() => Ok(print),
        _ => Err(SignatureFault::NotOverTheseBytes { message: last_line(&output.stderr) }),
    }
}

/// Whether armour is what the program writes for the bytes in it: base64 can encode one thing in several
/// ways, and a signature that can be rewritten is no name for itself.
///
/// # Errors
/// It is not, or cannot be read.
pub(in crate::sighted) fn check_armour(signature_file: &Path) -> Result<(), SignatureFault> {
    let text = read_bounded(signature_file, MAX_SIGNATURE_BYTES)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or(SignatureFault::NotAsWritten)?;
    let inner = text
        .strip_prefix("-----BEGIN SSH SIGNATURE-----\n")
        .and_then(|rest| rest.strip_suffix("-----END SSH SIGNATURE-----\n"))
        .ok_or(SignatureFault::NotAsWritten)?;
    let lines: Vec<&str> = inner.strip_suffix('\n').unwrap_or(inner).split('\n').collect();
    let full = lines.split_last().is_some_and(|(last, full)| {
        full.iter().all(|line| line.len() == ARMOUR_COLUMNS)
            && (1..=ARMOUR_COLUMNS).contains(&last.len())
    });
    // Strict: it refuses other letters, missing padding, and bits that belong to no byte.
    if full && STANDARD.decode(lines.concat()).is_ok() {
        Ok(())
    } else {
        Err(SignatureFault::NotAsWritten)
    }
}

/// The first name the list allows the key of a signature to sign in.
///
/// # Errors
/// The program is missing, or knows none.
pub(in crate::sighted) fn name_of(
    signature_file: &Path,
    trust: Trust<'_>,
) -> Result<String, SignatureFault> {
    let words: [&OsStr; 6] = [
        OsStr::new("-Y"),
        OsStr::new("find-principals"),
        OsStr::new("-s"),
        signature_file.as_os_str(),
        OsStr::new("-f"),
        trust.allowed_signers.as_os_str(),
    ];
    let output = run(&words, b"")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match text.lines().next().map(str::trim) {
        Some(name) if output.status.success() && !name.is_empty() => Ok(name.to_owned()),
        _ => Err(SignatureFault::NobodysKey {
            file: escape_os(trust.allowed_signers.as_os_str()),
            message: last_line(&output.stderr),
        }),
    }
}

/// Checks that the key of a signature may sign in `name`, now.
///
/// # Errors
/// The program is missing, or says no.
pub(in crate::sighted) fn check_name(
    signature_file: &Path,
    bytes: &[u8],
    name: &str,
    trust: Trust<'_>,
) -> Result<(), SignatureFault> {
    let mut words: Vec<&OsStr> =
        ["-Y", "verify", "-n", NAMESPACE, "-I", name, "-s"].map(OsStr::new).to_vec();
    words.extend([signature_file.as_os_str(), OsStr::new("-f"), trust.allowed_signers.as_os_str()]);
    if let Some(revoked) = trust.revoked {
        words.extend([OsStr::new("-r"), revoked.as_os_str()]);
    }
    let output = run(&words, bytes)?;
    if output.status.success() {
        return Ok(());
    }
    Err(SignatureFault::NotAllowed {
        file: escape_os(trust.allowed_signers.as_os_str()),
        name: name.to_owned(),
        message: last_line(&output.stderr),
    })
}

fn run(words: &[&OsStr], input: &[u8]) -> Result<Output, SignatureFault> {
    let mut command = Command::new(PROGRAM);
    command.args(words).stderr(Stdio::piped());
    feed(command, input)
}

fn feed(mut command: Command, input: &[u8]) -> Result<Output, SignatureFault> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(SignatureFault::NoProgram)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that refuses before it read everything closes the pipe; its exit code says so.
        let _ = stdin.write_all(input);
    }
    child.wait_with_output().map_err(SignatureFault::NoProgram)
}

fn last_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
}
