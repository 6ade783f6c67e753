//! The three EXIF facts this program needs: orientation, and whether a camera signed the picture.
//!
//! Reads the first directory only and follows no pointer out of it, so a hostile block costs nothing.

use super::orientation::Orientation;

/// What a picture says of its making.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExifFacts {
    /// Tag 0x0112, if it is a value from 1 to 8.
    pub orientation: Option<Orientation>,
    /// A maker or a model of a camera is named.
    pub names_camera: bool,
}

const TAG_MAKE: u16 = 0x010f;
const TAG_MODEL: u16 = 0x0110;
const TAG_ORIENTATION: u16 = 0x0112;
const TYPE_SHORT: u16 = 3;

/// One entry of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::media) struct Entry {
    pub(in crate::media) tag: u16,
    kind: u16,
    count: u32,
    /// The value if it is one short or long, else where it lies.
    pub(in crate::media) value: u32,
}

/// Facts from a TIFF block, which may still have the `Exif` prefix some writers leave on.
pub(in crate::media) fn read(block: &[u8]) -> ExifFacts {
    let mut facts = ExifFacts::default();
    for entry in first_directory(block.strip_prefix(b"Exif\0\0").unwrap_or(block)) {
        match entry.tag {
            TAG_ORIENTATION if entry.kind == TYPE_SHORT && entry.count == 1 => {
                facts.orientation =
                    u16::try_from(entry.value).ok().and_then(Orientation::from_exif);
            }
            // Text of one byte is the closing zero alone.
            TAG_MAKE | TAG_MODEL if entry.count > 1 => facts.names_camera = true,
            _ => {}
        }
    }
    facts
}

/// The entries of the first directory of a TIFF block, as far as they are there.
pub(in crate::media) fn first_directory(block: &[u8]) -> impl Iterator<Item = Entry> {
    let little = block.starts_with(b"II*\0");
    let known = little || block.starts_with(b"MM\0*");
    let short = move |at: usize| -> Option<u16> {
        let pair: [u8; 2] = block.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) })
    };
    let long = move |at: usize| -> Option<u32> {
        let four: [u8; 4] = block.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(if little { u32::from_le_bytes(four) } else { u32::from_be_bytes(four) })
    };
    let start = long(4).filter(|_| known).and_then(|start| usize::try_from(start).ok());
    let count = start.and_then(short).unwrap_or(0);
    (0..usize::from(count)).map_while(move |index| {
        let at = start?.checked_add(2 + 12 * index)?;
        let (tag, kind, count) = (short(at)?, short(at + 2)?, long(at + 4)?);
        let value = if kind == TYPE_SHORT { short(at + 8)?.into() } else { long(at + 8)? };
        Some(Entry { tag, kind, count, value })
    })
}

#[cfg(test)]
pub(in crate::media) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A block with one orientation and, if asked, a maker.
    pub(in crate::media) fn block(orientation: u16, little: bool, maker: bool) -> Vec<u8> {
        let short = |value: u16| if little { value.to_le_bytes() } else { value.to_be_bytes() };
        let long = |value: u32| if little { value.to_le_bytes() } else { value.to_be_bytes() };
        let mut out = if little { b"II*\0".to_vec() } else { b"MM\0*".to_vec() };
        out.extend(long(8));
        out.extend(short(1 + u16::from(maker)));
        if maker {
            out.extend(short(TAG_MAKE));
            out.extend(short(2));
            out.extend(long(4));
            out.extend(b"Cam\0");
        }
        out.extend(short(TAG_ORIENTATION));
        out.extend(short(TYPE_SHORT));
        out.extend(long(1));
        out.extend(short(orientation));
        out.extend([0, 0]);
        out.extend(long(0));
        out
    }

    #[test]
    fn both_byte_orders_and_the_prefix_are_read() {
        for value in 1..=8 {
            for little in [true, false] {
                let facts = read(&block(value, little, false));
                assert_eq!(facts.orientation.map(Orientation::exif), Some(value));
                assert!(!facts.names_camera);
            }
        }
        let mut prefixed = b"Exif\0\0".to_vec();
        prefixed.extend(block(6, true, true));
        let facts = read(&prefixed);
        assert_eq!(facts.orientation, Some(Orientation::NeedsClockwise));
        assert!(facts.names_camera);
    }

    #[test]
    fn values_out_of_range_and_other_bytes_say_nothing() {
        assert_eq!(read(&block(0, true, false)), ExifFacts::default());
        assert_eq!(read(&block(9, true, false)), ExifFacts::default());
        assert_eq!(read(b""), ExifFacts::default());
        assert_eq!(read(b"II*\0\xff\xff\xff\xff"), ExifFacts::default());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(
            flips in proptest::collection::vec((0..50_usize, any::<u8>()), 0..8),
            length in 0..50_usize,
        ) {
            let mut bytes = block(6, false, true);
            for (at, value) in flips {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = value;
                }
            }
            bytes.truncate(length);
            let _ = read(&bytes);
        }
    }
}
