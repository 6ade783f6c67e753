//! Canonical JSON against pinned hashes, and there and back.

use super::*;
use crate::domain::digest::ContentHash;
use proptest::prelude::*;

fn canonical_hash(text: &str) -> String {
    let value = Json::parse(text.as_bytes()).expect("test text is JSON");
    ContentHash::of(value.to_canonical().as_bytes()).to_hex()[..16].to_owned()
}

#[test]
fn pinned_hashes_of_canonical_text() {
    // Vectors computed with CPython 3.11; do not change them.
    assert_eq!(canonical_hash(r#"{"conf":0.4}"#), "63953dad4e681231");
    assert_eq!(canonical_hash(r#"{"t":1e-05}"#), "f4665672a85d23b1");
    assert_eq!(canonical_hash(r#"{"n":[1e16,-0.0,284.3005409995385]}"#), "1f962a9c13225d1c");
    assert_eq!(canonical_hash(r#"{"😀":5,"a":2,"\ue000":4,"Z":1,"é":3}"#), "f837ba939c8b8f7b");
    assert_eq!(canonical_hash(r#"{"a":1}"#), "015abd7f5cc57a2d");
    assert_eq!(canonical_hash(r#"{"a":1.0}"#), "c29a44abc114a1d7");
}

#[test]
fn floats_are_laid_out_as_python_does() {
    for (value, text) in [
        (0.4, "0.4"),
        (1e-5, "1e-05"),
        (0.0001, "0.0001"),
        (1.04e-7, "1.04e-07"),
        (1e16, "1e+16"),
        (1e15, "1000000000000000.0"),
        (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
        // A tie between two equally short texts: 271065914603534.125.
        (2_168_527_316_828_273.0 / 8.0, "271065914603534.12"),
        (-0.0, "-0.0"),
        (100.0, "100.0"),
        (1.5e300, "1.5e+300"),
        (5e-324, "5e-324"),
    ] {
        assert_eq!(float_text(value), text);
    }
}

#[test]
fn file_layout_is_that_of_python() {
    let value = Json::parse(
        "{\"b\":[],\"a\":[1,2.50],\"\u{e9}\":{},\"c\":\"\u{1f600}\\u007f\"}".as_bytes(),
    );
    assert_eq!(
        value.expect("valid").to_file(),
        "{\n  \"a\": [\n    1,\n    2.5\n  ],\n  \"b\": [],\n  \"c\": \"\\ud83d\\ude00\u{7f}\",\n  \"\\u00e9\": {}\n}"
    );
}

#[test]
fn every_refusal_fires_and_its_twin_passes() {
    for (bad, reason) in [
        (r#"{"a":1,"a":2}"#, "occurs twice"),
        ("1e400", "out of range"),
        ("NaN", "expected a value"),
        (r#""\ud800""#, "lone surrogate"),
        (r#""\ud800\u0041""#, "lone surrogate"),
        ("01", "starts with 0"),
        ("[1,]", "expected a value"),
        ("[1 2]", "expected `,`"),
        ("{1:2}", "key in quotes"),
        ("\"a\nb\"", "control character"),
        ("\"abc", "does not end"),
        ("1 2", "follows"),
        ("", "ends where"),
        (r#""\x""#, "unknown escape"),
        (r#""\u00g0""#, "four hex"),
        ("1.", "expected a digit"),
        ("tru", "expected `true`"),
    ] {
        let error = Json::parse(bad.as_bytes()).expect_err(bad);
        assert!(error.reason.contains(reason), "{bad}: {error}");
    }
    for good in [r#"{"a":1,"b":2}"#, "1e300", "null", r#""\ud83d\ude00""#, "10", "[1,2]", " {} "] {
        assert!(Json::parse(good.as_bytes()).is_ok(), "{good}");
    }
    let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert!(Json::parse(deep(MAX_DEPTH).as_bytes()).is_ok());
    assert!(Json::parse(deep(100_000).as_bytes()).is_err());
    assert_eq!(Json::parse(b"\n\n[\xff]").expect_err("not UTF-8").line, 3);
}

#[test]
fn whole_numbers_keep_their_digits() {
    let big = "123456789012345678901234567890";
    assert_eq!(Json::parse(big.as_bytes()).map(|value| value.to_canonical()), Ok(big.to_owned()));
    assert_eq!(Json::parse(b"-0"), Ok(Json::Int("0".to_owned())));
}

proptest! {
    #[test]
    fn canonical_text_reads_back_equal(value in any::<f64>().prop_filter("finite", |v| v.is_finite()), text in ".*") {
        let tree = Json::Array(vec![Json::Float(value), Json::Text(text)]);
        prop_assert_eq!(Json::parse(tree.to_canonical().as_bytes()), Ok(tree.clone()));
        prop_assert_eq!(Json::parse(tree.to_file().as_bytes()), Ok(tree));
    }

    #[test]
    fn reader_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Json::parse(&bytes);
    }
}
