//! Element types of tensors: their ONNX names, sizes, and what they say about an artifact's precision.

use std::collections::BTreeMap;

/// Numeric format of most of the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) enum Precision {
    /// 32-bit floats.
    Fp32,
    /// 16-bit floats.
    Fp16,
    /// 8-bit integers.
    Int8,
}

impl Precision {
    /// The word in files.
    pub(in crate::sighted) fn word(self) -> &'static str {
        match self {
            Self::Fp32 => "fp32",
            Self::Fp16 => "fp16",
            Self::Int8 => "int8",
        }
    }

    /// The precision of a word.
    pub(in crate::sighted) fn of_word(word: &str) -> Option<Self> {
        [Self::Fp32, Self::Fp16, Self::Int8].into_iter().find(|precision| precision.word() == word)
    }

    /// What weights imply, their bytes given by element type: float types vote for their width, 8-bit
    /// integers for int8, others (indices, shapes, flags, sub-byte formats) never; the winner needs more
    /// than half of the voting bytes.
    pub(in crate::sighted) fn implied_by(weights: &BTreeMap<String, u64>) -> Option<Self> {
        let votes = |names: [&str; 2]| -> u128 {
            names.iter().filter_map(|name| weights.get(*name)).map(|bytes| u128::from(*bytes)).sum()
        };
        let counts = [
            (Self::Fp32, votes(["FLOAT", "DOUBLE"])),
            (Self::Fp16, votes(["FLOAT16", "BFLOAT16"])),
            (Self::Int8, votes(["INT8", "UINT8"])),
        ];
        let all: u128 = counts.iter().map(|(_, bytes)| bytes).sum();
        counts.into_iter().find(|(_, bytes)| bytes * 2 > all).map(|(precision, _)| precision)
    }
}

/// `TensorProto.DataType` by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Element(pub(super) i32);

impl Element {
    pub(super) const FLOAT: Self = Self(1);
    pub(super) const UINT8: Self = Self(2);
    pub(super) const INT32: Self = Self(6);
    pub(super) const INT64: Self = Self(7);
    pub(super) const BOOL: Self = Self(9);
    pub(super) const FLOAT16: Self = Self(10);
    pub(super) const DOUBLE: Self = Self(11);
    pub(super) const BFLOAT16: Self = Self(16);

    /// The name in the ONNX schema.
    pub(super) fn name(self) -> String {
        const NAMES: [&str; 27] = [
            "UNDEFINED",
            "FLOAT",
            "UINT8",
            "INT8",
            "UINT16",
            "INT16",
            "INT32",
            "INT64",
            "STRING",
            "BOOL",
            "FLOAT16",
            "DOUBLE",
            "UINT32",
            "UINT64",
            "COMPLEX64",
            "COMPLEX128",
            "BFLOAT16",
            "FLOAT8E4M3FN",
            "FLOAT8E4M3FNUZ",
            "FLOAT8E5M2",
            "FLOAT8E5M2FNUZ",
            "UINT4",
            "INT4",
            "FLOAT4E2M1",
            "FLOAT8E8M0",
            "UINT2",
            "INT2",
        ];
        let known = usize::try_from(self.0).ok().and_then(|index| NAMES.get(index));
        known.map_or_else(|| format!("TYPE_{}", self.0), |name| (*name).to_owned())
    }

    /// Bits of one item; 0 when it has no fixed size.
    pub(super) fn bits(self) -> u64 {
        match self.0 {
            15 => 128,
            7 | 11 | 13 | 14 => 64,
            1 | 6 | 12 => 32,
            4 | 5 | 10 | 16 => 16,
            2 | 3 | 9 | 17..=20 | 24 => 8,
            21..=23 => 4,
            25 | 26 => 2,
            _ => 0,
        }
    }

    /// Whether arithmetic on it is floating point, of a kind that must not be mixed with another.
    pub(super) fn is_float(self) -> bool {
        [Self::FLOAT, Self::FLOAT16, Self::DOUBLE, Self::BFLOAT16].contains(&self)
    }
}

/// Bytes that `dims` items of `element` take: the product times the item's size, rounded up to whole
/// bytes. `None` for a negative dimension or a size past 2⁶⁴.
pub(super) fn tensor_bytes(element: Element, dims: &[i64]) -> Option<u64> {
    let items = dims
        .iter()
        .try_fold(1_u64, |product, dim| product.checked_mul(u64::try_from(*dim).ok()?))?;
    Some(items.checked_mul(element.bits())?.div_ceil(8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_sizes() {
        for (number, name, bits) in [
            (1, "FLOAT", 32),
            (2, "UINT8", 8),
            (3, "INT8", 8),
            (7, "INT64", 64),
            (8, "STRING", 0),
            (10, "FLOAT16", 16),
            (11, "DOUBLE", 64),
            (16, "BFLOAT16", 16),
            (22, "INT4", 4),
            (26, "INT2", 2),
            (99, "TYPE_99", 0),
            (-1, "TYPE_-1", 0),
        ] {
            let element = Element(number);
            assert_eq!((element.name().as_str(), element.bits()), (name, bits));
        }
    }

    #[test]
    fn sizes_round_up_and_refuse_nonsense() {
        assert_eq!(tensor_bytes(Element::FLOAT, &[2, 3]), Some(24));
        assert_eq!(tensor_bytes(Element::FLOAT, &[]), Some(4));
        assert_eq!(tensor_bytes(Element::FLOAT, &[0, 9]), Some(0));
        assert_eq!(tensor_bytes(Element(22), &[3]), Some(2));
        assert_eq!(tensor_bytes(Element::FLOAT, &[-1]), None);
        assert_eq!(tensor_bytes(Element::FLOAT, &[i64::MAX, 3]), None);
    }
}
