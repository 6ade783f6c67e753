//! Sha256 digests, one newtype per thing that is named by its content.
//!
//! A digest prints and parses as 64 lower-case hex digits. The newtypes keep an artifact's hash from
//! being used where a fixture's is meant.

use std::fmt;
use std::io::Read;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// A text that is not 64 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected 64 lower-case hex digits, found {found:?}")]
pub struct ParseDigestError {
    /// What was found, cut to 80 characters.
    pub found: String,
}

/// The sha256 of `bytes`.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// The sha256 of `parts` one after the other.
pub fn sha256_of_parts(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// The sha256 of everything `reader` still holds.
///
/// # Errors
/// Whatever reading returns.
pub fn sha256_of_reader(reader: &mut impl Read) -> std::io::Result<[u8; 32]> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0_u8; 1 << 16];
    loop {
        let read = reader.read(&mut buffer)?;
        if read == 0 {
            return Ok(hasher.finalize().into());
        }
        hasher.update(&buffer[..read]);
    }
}

/// Lower-case hex of any bytes.
pub fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn parse_hex(text: &str) -> Result<[u8; 32], ParseDigestError> {
    let refuse = || ParseDigestError { found: text.chars().take(80).collect() };
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return Err(refuse());
    }
    let nibble = |digit: u8| match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(refuse()),
    };
    let mut out = [0_u8; 32];
    for (byte, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
    }
    Ok(out)
}

macro_rules! digest_newtypes {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 32]);

        impl $name {
            /// The digest of `bytes`.
            pub fn of(bytes: &[u8]) -> Self {
                Self(sha256(bytes))
            }

            /// A digest already computed.
            pub const fn from_bytes(bytes: [u8; 32]) -> Self {
                Self(bytes)
            }

            /// The 32 bytes.
            pub const fn as_bytes(&self) -> &[u8; 32] {
                &self.0
            }

            /// All 64 hex digits.
            pub fn to_hex(self) -> String {
                hex(&self.0)
            }

            /// The first twelve hex digits, as file names and screens show it.
            pub fn short(self) -> String {
                hex(&self.0[..6])
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.to_hex())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, concat!(stringify!($name), "({})"), self.short())
            }
        }

        impl FromStr for $name {
            type Err = ParseDigestError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                parse_hex(text).map(Self)
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.to_hex())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

digest_newtypes! {
    /// The bytes of a model file.
    ArtifactHash,
    /// The bytes of a fixture's image file; this is what names a fixture.
    FixtureId,
    /// The bytes of a fixture manifest.
    ManifestHash,
    /// The canonical form of a taxonomy.
    TaxonomyHash,
    /// The canonical form of a preprocessing recipe.
    RecipeHash,
    /// The little-endian f32 bytes of one input tensor.
    TensorHash,
    /// The bytes of a parity report.
    ReportHash,
    /// The bytes of a sealed label file.
    LabelFileHash,
    /// The canonical identity of a release record.
    RecordId,
    /// The canonical payload of a sign-off.
    SignOffId,
    /// The newest row of a chain of events.
    ChainHead,
    /// Any other file or value.
    ContentHash,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_prints_and_parses_back() {
        let digest = ArtifactHash::of(b"abc");
        assert_eq!(
            digest.to_hex(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(digest.to_hex().parse(), Ok(digest));
        assert_eq!(digest.short(), "ba7816bf8f01");
    }

    #[test]
    fn anything_else_than_64_lower_case_hex_digits_is_refused() {
        let good = ArtifactHash::of(b"abc").to_hex();
        for bad in ["", "ba78", &good.to_uppercase(), &format!("{good}0"), &good.replace('b', "g")]
        {
            assert!(bad.parse::<ArtifactHash>().is_err(), "{bad}");
        }
    }

    #[test]
    fn reading_in_pieces_gives_the_same_digest() {
        let bytes: Vec<u8> = (0..200_000_u32).map(|value| value.to_le_bytes()[0]).collect();
        let by_reader = sha256_of_reader(&mut bytes.as_slice());
        assert_eq!(by_reader.ok(), Some(sha256(&bytes)));
    }
}
