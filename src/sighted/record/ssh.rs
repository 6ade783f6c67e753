//! SSH signatures over sign-off files, made and checked by the system's own `ssh-keygen`.
//!
//! We hold no key and no cryptography: people have SSH keys already, and a file that `ssh-keygen -Y
//! verify` accepts can be checked without this program. A namespace keeps a signature made for one thing
//! from counting for another.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::domain::escape::{escape, escape_os};
use crate::store::file;

/// What a signature is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) enum Namespace {
    /// A decision.
    SignOff,
    /// A new version of the root of trust.
    TrustRoot,
}

impl Namespace {
    /// As `ssh-keygen -n` takes it.
    pub(in crate::sighted) fn word(self) -> &'static str {
        match self {
            Self::SignOff => "signoff@flipside",
            Self::TrustRoot => "trust@flipside",
        }
    }
}

/// Largest signature file, in bytes.
const MAX_SIGNATURE_BYTES: u64 = 64 << 10;

/// Kinds of key that count. RSA counts from [`LEAST_RSA_BITS`] on, DSA never.
const KEY_KINDS: [&str; 7] = [
    "ssh-ed25519",
    "sk-ssh-ed25519@openssh.com",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ecdsa-sha2-nistp256@openssh.com",
    RSA,
];

const RSA: &str = "ssh-rsa";

/// Shortest RSA key that counts.
const LEAST_RSA_BITS: usize = 3072;

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
    #[error("the signature does not cover these bytes in namespace {}{}", .namespace.word(), said(.message))]
    NotOverTheseBytes {
        /// What it should be for.
        namespace: Namespace,
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
    /// Its key is of a kind, or a length, that does not count.
    #[error("signed with a key of kind {}, expected Ed25519, ECDSA, or RSA of {LEAST_RSA_BITS} bits or more", escape(.kind))]
    WeakKey {
        /// As the key names itself, with its bits when it is RSA.
        kind: String,
    },
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

fn said(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(" ({})", escape(message)) }
}

/// Where allowed signers and revoked keys are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct SignerLists {
    /// In the format of `ssh-keygen`.
    pub allowed: PathBuf,
    /// Keys that no longer count.
    pub revoked: Option<PathBuf>,
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

/// An armoured signature of `bytes` as a sign-off. A passphrase is asked for on the terminal.
///
/// # Errors
/// The program is missing, or does not sign.
pub(in crate::sighted) fn sign(key: &Path, bytes: &[u8]) -> Result<Vec<u8>, SignatureFault> {
    let mut command = Command::new(PROGRAM);
    command.args(["-q", "-Y", "sign", "-n", Namespace::SignOff.word(), "-f"]).arg(key);
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
    namespace: Namespace,
) -> Result<String, SignatureFault> {
    let words = ["-Y", "check-novalidate", "-n", namespace.word(), "-s"].map(OsStr::new);
    let output = run(&[&words[..], &[signature_file.as_os_str()]].concat(), bytes)?;
    let print = String::from_utf8_lossy(&output.stdout)
        .split_whitespace()
        .find(|word| word.starts_with("SHA256:"))
        .map(str::to_owned);
    match print {
        Some(print) if output.status.success() => Ok(print),
        _ => {
            let message = last_line(&output.stderr);
            Err(SignatureFault::NotOverTheseBytes { namespace, message })
        }
    }
}

/// Whether a signature file is what the program writes for the bytes in it, and its key one that counts:
/// base64 can encode one thing in several ways, and a signature that can be rewritten is no name for itself.
///
/// # Errors
/// It is not, or cannot be read.
pub(in crate::sighted) fn check_form(signature_file: &Path) -> Result<(), SignatureFault> {
    let blob = file::read(signature_file, MAX_SIGNATURE_BYTES)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .and_then(|text| unarmoured(&text))
        .ok_or(SignatureFault::NotAsWritten)?;
    let key = public_key(&blob).ok_or(SignatureFault::NotAsWritten)?;
    let (kind, rest) = counted_bytes(key).ok_or(SignatureFault::NotAsWritten)?;
    let kind = String::from_utf8_lossy(kind).into_owned();
    let bits = rsa_bits(rest).filter(|_| kind == RSA);
    if KEY_KINDS.contains(&kind.as_str()) && (kind != RSA || bits >= Some(LEAST_RSA_BITS)) {
        return Ok(());
    }
    let kind = bits.map_or(kind.clone(), |bits| format!("{kind} of {bits} bits"));
    Err(SignatureFault::WeakKey { kind })
}

/// What armour encodes, when it is written in the one way the program writes it.
fn unarmoured(text: &str) -> Option<Vec<u8>> {
    let inner = text
        .strip_prefix("-----BEGIN SSH SIGNATURE-----\n")?
        .strip_suffix("-----END SSH SIGNATURE-----\n")?;
    let lines: Vec<&str> = inner.strip_suffix('\n').unwrap_or(inner).split('\n').collect();
    let (last, full) = lines.split_last()?;
    let is_full = full.iter().all(|line| line.len() == ARMOUR_COLUMNS)
        && (1..=ARMOUR_COLUMNS).contains(&last.len());
    // Strict: it refuses other letters, missing padding, and bits that belong to no byte.
    STANDARD.decode(lines.concat()).ok().filter(|_| is_full)
}

/// The public key in a signature: behind the magic word and a version of four bytes.
fn public_key(blob: &[u8]) -> Option<&[u8]> {
    let rest = blob.strip_prefix(b"SSHSIG")?.get(4..)?;
    Some(counted_bytes(rest)?.0)
}

/// Bits of the modulus, which stands behind the exponent.
fn rsa_bits(key: &[u8]) -> Option<usize> {
    let (_, rest) = counted_bytes(key)?;
    let (modulus, _) = counted_bytes(rest)?;
    let first = modulus.iter().position(|byte| *byte != 0)?;
    let zeros = usize::try_from(modulus[first].leading_zeros()).ok()?;
    Some((modulus.len() - first) * 8 - zeros)
}

/// A string of SSH's: its length in four bytes, then itself; and what follows.
fn counted_bytes(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)
}

/// The first name the list allows the key of a signature to sign in.
///
/// # Errors
/// The program is missing, or knows none.
fn name_of(signature_file: &Path, lists: &SignerLists) -> Result<String, SignatureFault> {
    let words: [&OsStr; 6] = [
        OsStr::new("-Y"),
        OsStr::new("find-principals"),
        OsStr::new("-s"),
        signature_file.as_os_str(),
        OsStr::new("-f"),
        lists.allowed.as_os_str(),
    ];
    let output = run(&words, b"")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match text.lines().next().map(str::trim) {
        Some(name) if output.status.success() && !name.is_empty() => Ok(name.to_owned()),
        _ => Err(SignatureFault::NobodysKey {
            file: escape_os(lists.allowed.as_os_str()),
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
    namespace: Namespace,
    name: &str,
    lists: &SignerLists,
) -> Result<(), SignatureFault> {
    let mut words: Vec<&OsStr> =
        ["-Y", "verify", "-n", namespace.word(), "-I", name, "-s"].map(OsStr::new).to_vec();
    words.extend([signature_file.as_os_str(), OsStr::new("-f"), lists.allowed.as_os_str()]);
    if let Some(revoked) = &lists.revoked {
        words.extend([OsStr::new("-r"), revoked.as_os_str()]);
    }
    let output = run(&words, bytes)?;
    if output.status.success() {
        return Ok(());
    }
    Err(SignatureFault::NotAllowed {
        file: escape_os(lists.allowed.as_os_str()),
        name: name.to_owned(),
        message: last_line(&output.stderr),
    })
}

/// Who a signature is of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::sighted) struct SignedBy {
    /// As the list of allowed signers has it.
    pub name: String,
    /// Fingerprint of the key.
    pub key: String,
}

/// Who made the signature in `signature_file` over `bytes`, when it counts by `lists`, now.
///
/// # Errors
/// The program is missing, or the first thing that keeps the signature from counting.
pub(in crate::sighted) fn signed_by(
    signature_file: &Path,
    bytes: &[u8],
    namespace: Namespace,
    lists: &SignerLists,
) -> Result<SignedBy, SignatureFault> {
    let key = check_bytes(signature_file, bytes, namespace)?;
    let name = name_of(signature_file, lists)?;
    check_name(signature_file, bytes, namespace, &name, lists)?;
    check_form(signature_file)?;
    Ok(SignedBy { name, key })
}

/// How many people signed: one person with two keys is one, and so are two names with one key.
pub(in crate::sighted) fn people(signed: &[SignedBy]) -> usize {
    let names: BTreeSet<&str> = signed.iter().map(|by| by.name.as_str()).collect();
    let keys: BTreeSet<&str> = signed.iter().map(|by| by.key.as_str()).collect();
    names.len().min(keys.len())
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
