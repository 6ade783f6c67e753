//! Small real files and what Pillow 12.2.0 makes of them; `tests/data/media/make.py` made both.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::domain::digest::{hex, sha256};
use crate::media::exif;

fn data_dir() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/media")
}

fn file(name: &str) -> Vec<u8> {
    fs::read(data_dir().join(name)).expect("test file")
}

/// Lines of a table, cut into fields.
fn table(name: &str) -> Vec<Vec<String>> {
    let text = String::from_utf8(file(name)).expect("text");
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

/// As a table has it.
fn told(picture: &RgbImage) -> Vec<String> {
    vec![picture.width().to_string(), picture.height().to_string(), hex(&sha256(picture.rgb()))]
}

fn warnings(name: &str) -> Vec<DecodeWarning> {
    decode_for_model(&file(name)).expect(name).warnings
}

#[test]
fn every_file_gives_the_pixels_or_the_refusal_pillow_gives() {
    let table = table("decoded.tsv");
    assert!(table.len() > 50);
    for line in table {
        let (name, expected) = line.split_first().expect("name");
        match decode_for_model(&file(name)) {
            Ok(decoded) => assert_eq!(told(&decoded.picture), expected, "{name}"),
            Err(error) => assert_eq!(expected, ["refused"], "{name}: {error}"),
        }
    }
}

#[test]
fn people_see_every_orientation_upright() {
    let table = table("upright.tsv");
    assert_eq!(table.len(), 11);
    for line in table {
        let (name, expected) = line.split_first().expect("name");
        let upright = decode_for_people(&file(name)).expect(name);
        assert_eq!(told(&upright.picture), expected, "{name}");
        let value: u16 = name[7..8].parse().expect("digit");
        // A TIFF is turned for the model too, so no box has to be mapped.
        let left_to_turn = if name.ends_with(".tif") { 1 } else { value };
        assert_eq!(upright.orientation.exif(), left_to_turn, "{name}");
    }
    assert!(decode_for_people(&file("orient_3.jpg")).expect("decodes").exif.names_camera);
}

#[test]
fn warnings_name_what_was_done() {
    use DecodeWarning as Warning;
    let turned = Warning::StoredTurned(Orientation::NeedsClockwise);
    for (name, expected) in [
        ("sampling0.jpg", vec![]),
        ("orient_1.jpg", vec![]),
        ("orient_6.jpg", vec![turned]),
        ("orient_6.png", vec![turned]),
        ("orient_6.webp", vec![turned]),
        ("rgb.png", vec![]),
        ("rgba.png", vec![Warning::AlphaDropped]),
        ("grey_alpha.png", vec![Warning::AlphaDropped]),
        ("indexed_transparent.png", vec![Warning::AlphaDropped]),
        ("transparent.gif", vec![Warning::AlphaDropped]),
        ("grey16.png", vec![Warning::GreyClipped]),
        ("grey16.tif", vec![Warning::GreyClipped]),
        ("rgb16.png", vec![Warning::HighByteKept]),
        ("animated.png", vec![Warning::FirstFrameOnly]),
        ("animated.gif", vec![Warning::FirstFrameOnly]),
        ("animated.webp", vec![Warning::FirstFrameOnly]),
    ] {
        assert_eq!(warnings(name), expected, "{name}");
    }
    let whole = file("animated.png");
    let cut = decode_for_model(&whole[..whole.len() - 20]).expect("its first frame is whole");
    assert_eq!(cut.warnings, [Warning::FirstFrameOnly, Warning::EndMissing]);
    let sentences: Vec<String> = [turned, Warning::AlphaDropped, Warning::GreyClipped]
        .iter()
        .map(ToString::to_string)
        .collect();
    insta::assert_snapshot!(sentences.join("\n"));
}

#[test]
fn grey_of_16_bits_is_clipped_for_the_model_and_kept_for_people() {
    let model = decode_for_model(&file("grey16.png")).expect("decodes").picture;
    // The file holds 13 x + 40 y.
    assert_eq!([model.pixel(3, 2), model.pixel(18, 12)], [[119; 3], [255; 3]]);
    let people = decode_for_people(&file("grey16.png")).expect("decodes").picture;
    assert_eq!([people.pixel(3, 2), people.pixel(18, 12)], [[0; 3], [2; 3]]);
}

#[test]
fn kind_is_told_by_content_and_named_with_its_decoder() {
    let decoded = decode_for_model(&file("webp_called.jpg")).expect("decodes");
    assert_eq!(decoded.format, Format::WebP);
    assert!(!decoded.format.matches_extension("jpg"));
    assert_eq!(decoded.decoder.to_string(), "image 0.25.10 WebP");
    let jpeg = decode_for_model(&file("grey.jpg")).expect("decodes");
    assert_eq!(jpeg.decoder.to_string(), "mozjpeg 0.10.13");
}

#[test]
fn refusals_say_what_was_expected_and_found() {
    let mut lines = Vec::new();
    for name in [
        "cut_at_60_percent.jpg",
        "cut_by_2_bytes.jpg",
        "cut_rgb.png",
        "cut_indexed.gif",
        "cut_lossy.webp",
        "cut_rgb.bmp",
        "cut_rgb.tif",
        "two_bytes.jpg",
        "page.png",
    ] {
        let error = decode_for_model(&file(name)).expect_err(name);
        let people = decode_for_people(&file(name)).expect_err(name);
        assert_eq!(error, people);
        lines.push(format!("{name}: {error}"));
    }
    for (name, bytes) in [
        ("empty", Vec::new()),
        ("avif", b"\0\0\0\x18ftypavif\0\0\0\0".to_vec()),
        ("heic", b"\0\0\0\x18ftypheic\0\0\0\0".to_vec()),
        ("12 bit jpeg", patched("grey.jpg", b"\xff\xc0", &[(4, 12)])),
        ("2 component jpeg", patched("sampling0.jpg", b"\xff\xc0", &[(9, 2)])),
        ("flat jpeg", patched("grey.jpg", b"\xff\xc0", &[(5, 0), (6, 0)])),
        ("16 bit bmp", patched("rgb.bmp", b"BM", &[(28, 16)])),
    ] {
        lines.push(format!("{name}: {}", decode_for_model(&bytes).expect_err(name)));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

/// A test file with bytes changed at offsets from the first place of a marker.
fn patched(name: &str, marker: &[u8], changes: &[(usize, u8)]) -> Vec<u8> {
    let mut bytes = file(name);
    let at = bytes.windows(marker.len()).position(|part| part == marker).expect("marker");
    for (offset, value) in changes {
        bytes[at + offset] = *value;
    }
    bytes
}

fn limit(bytes: &[u8]) -> Option<LimitKind> {
    match decode_for_model(bytes) {
        Err(DecodeError::Limit(error)) => Some(error.kind),
        _ => None,
    }
}

/// A PNG that is a header and nothing else.
fn png_header(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = file("rgb.png");
    bytes[16..20].copy_from_slice(&width.to_be_bytes());
    bytes[20..24].copy_from_slice(&height.to_be_bytes());
    let checksum = crc32(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            (sum >> 1) ^ if sum & 1 == 1 { 0xedb8_8320 } else { 0 }
        })
    })
}

#[test]
fn claims_past_a_limit_are_refused_before_any_pixel() {
    assert_eq!(limit(&png_header(19, 13)), None);
    assert_eq!(limit(&png_header(100_000, 100_000)), Some(LimitKind::Width));
    assert_eq!(limit(&png_header(12_000, 5_334)), Some(LimitKind::Pixels));
    assert_eq!(limit(&png_header(1, 12_001)), Some(LimitKind::Width), "image says no which side");

    let size = |width: u16, height: u16| {
        let ([a, b], [c, d]) = (height.to_be_bytes(), width.to_be_bytes());
        patched("sampling2.jpg", b"\xff\xc0", &[(5, a), (6, b), (7, c), (8, d)])
    };
    assert_eq!(limit(&size(65_535, 8)), Some(LimitKind::Width));
    assert_eq!(limit(&size(8, 65_535)), Some(LimitKind::Height));
    assert_eq!(limit(&size(12_000, 9_000)), Some(LimitKind::Pixels));

    let gif = patched("indexed.gif", b"GIF8", &[(6, 255), (7, 255), (8, 255), (9, 255)]);
    assert_eq!(limit(&gif), Some(LimitKind::Width));
    let frame = patched("indexed.gif", b",\0\0\0\0", &[(5, 255), (6, 255), (7, 255), (8, 255)]);
    assert_eq!(limit(&frame), Some(LimitKind::Width));
    let bmp = patched("rgb.bmp", b"BM", &[(19, 0x7f)]);
    assert_eq!(limit(&bmp), Some(LimitKind::Width));

    let tight = Limits { file_bytes: 10, ..LIMITS };
    let error = decode(&file("rgb.png"), &tight, GreyRule::Clip).expect_err("too long a file");
    assert!(matches!(error, DecodeError::Limit(LimitError { kind: LimitKind::FileBytes, .. })));
}

#[test]
fn buffers_and_scans_are_limited_for_each_kind() {
    let pixels = 19 * 13;
    for (name, channels) in
        [("sampling0.jpg", 3), ("inks.jpg", 4), ("rgba.png", 4), ("rgb16.png", 6), ("rgb.bmp", 3)]
    {
        let enough = Limits { buffer_bytes: pixels * channels, ..LIMITS };
        assert!(decode(&file(name), &enough, GreyRule::Clip).is_ok(), "{name}");
        let tight = Limits { buffer_bytes: pixels * channels - 1, ..LIMITS };
        let error = decode(&file(name), &tight, GreyRule::Clip).expect_err(name);
        assert!(
            matches!(error, DecodeError::Limit(LimitError { kind: LimitKind::BufferBytes, .. })),
            "{name}: {error}"
        );
    }
    let progressive = file("progressive.jpg");
    for (limits, kind) in [
        (Limits { jpeg_scans: 9, ..LIMITS }, LimitKind::JpegScans),
        (Limits { jpeg_scan_pixels: 10 * pixels - 1, ..LIMITS }, LimitKind::JpegScanPixels),
        // Coefficients of 4:2:0, two bytes each: 2 x 1 units of 4 + 2 blocks.
        (Limits { buffer_bytes: 2 * 2 * 6 * 64 - 1, ..LIMITS }, LimitKind::BufferBytes),
    ] {
        let error = decode(&progressive, &limits, GreyRule::Clip).expect_err("past the limit");
        assert!(matches!(error, DecodeError::Limit(found) if found.kind == kind), "{error}");
    }
    let enough = Limits { jpeg_scans: 10, jpeg_scan_pixels: 10 * pixels, ..LIMITS };
    assert!(decode(&progressive, &enough, GreyRule::Clip).is_ok());
}

#[test]
fn a_jpeg_cut_anywhere_is_refused_and_rubbish_after_its_end_is_not() {
    for name in ["sampling2.jpg", "progressive.jpg", "restarts.jpg", "inks.jpg"] {
        let whole = file(name);
        for length in 1..whole.len() {
            assert!(decode_for_model(&whole[..length]).is_err(), "{name} cut to {length}");
        }
        let expected = decode_for_model(&whole).expect(name).picture;
        let mut longer = whole.clone();
        for rubbish in [b"\0".as_slice(), b"\xff", b"\xff\xd8\xff", &whole] {
            longer.extend(rubbish);
            assert_eq!(decode_for_model(&longer).expect(name).picture, expected, "{name}");
        }
    }
}

#[test]
fn orientation_is_read_wherever_the_block_lies_first() {
    let plain = file("sampling0.jpg");
    let with_block = |block: &[u8]| {
        let length = u16::try_from(block.len() + 8).expect("short").to_be_bytes();
        let segment = [b"\xff\xe1".as_slice(), &length, b"Exif\0\0", block].concat();
        [&plain[..2], &segment, &plain[2..]].concat()
    };
    let turned = with_block(&exif::tests::block(8, true, false));
    let upright = decode_for_people(&turned).expect("decodes");
    assert_eq!(upright.orientation, Orientation::NeedsCounterClockwise);
    let broken = decode_for_people(&with_block(b"II*\0\xff\xff")).expect("decodes");
    assert_eq!(broken.orientation, Orientation::Upright);
}

#[test]
fn versions_are_those_of_the_lock_file() {
    let lock = include_str!("../../../Cargo.lock");
    for (name, version) in DECODER_VERSIONS {
        let entry = format!("name = \"{name}\"\nversion = \"{version}\"\n");
        let packages = lock.matches(&format!("name = \"{name}\"\n")).count();
        assert_eq!((packages, lock.matches(&entry).count()), (1, 1), "{name} {version}");
    }
}

const MUTATED: [&str; 15] = [
    "sampling2.jpg",
    "progressive.jpg",
    "restarts.jpg",
    "inks.jpg",
    "orient_6.jpg",
    "rgb.png",
    "indexed_transparent.png",
    "animated.png",
    "animated.gif",
    "transparent.gif",
    "animated.webp",
    "lossy_alpha.webp",
    "indexed.bmp",
    "rgb.tif",
    "orient_6.tif",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn no_file_makes_a_panic(
        name in proptest::sample::select(MUTATED.to_vec()),
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..6),
        length in proptest::option::of(any::<proptest::sample::Index>()),
    ) {
        let mut bytes = file(name);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(length) = length {
            bytes.truncate(length.index(bytes.len()));
        }
        if let Ok(decoded) = decode_for_model(&bytes) {
            let (width, height) = (decoded.picture.width(), decoded.picture.height());
            prop_assert!(LIMITS.check_size(width.into(), height.into()).is_ok());
        }
    }
}
