//! Small reports and materials for the tests of review and its screens.

use std::path::Path;

use super::material::Material;
use crate::domain::digest::{FixtureId, ReportHash};
use crate::sighted::decision::report::ParityReport;

#[path = "../../../tests/support/report_json.rs"]
pub(in crate::sighted) mod report_json;

pub(in crate::sighted) use report_json::Fixture;

/// Classes of the test reports; one of them is hostile.
pub(in crate::sighted) const CLASSES: [&str; 3] =
    ["Plastic bottle", "Drink can", "Paper\u{1b}[2J\u{202e}cup"];

/// A typed report.
pub(in crate::sighted) fn parity_report(fixtures: &[Fixture]) -> ParityReport {
    serde_json::from_value(report_json::report(fixtures, &CLASSES)).expect("a report")
}

/// A fixture named by its path.
pub(in crate::sighted) fn fixture(path: &str) -> Fixture {
    Fixture {
        path: path.to_owned(),
        sha256: FixtureId::of(path.as_bytes()).to_hex(),
        ..Fixture::default()
    }
}

/// Five fixtures with every kind of item, a still one, and one with a hostile name.
pub(in crate::sighted) fn fixtures() -> Vec<Fixture> {
    let left = [0.1, 0.1, 0.4, 0.5];
    let right = [0.5, 0.4, 0.9, 0.9];
    vec![
        Fixture {
            a: vec![(12, 0, 0.62, left), (3, 1, 0.55, right)],
            b: vec![(3, 1, 0.57, right)],
            items: vec![("vanished", Some(0), None)],
            ..fixture("images/bottle.jpg")
        },
        Fixture {
            a: vec![(4, 1, 0.48, right)],
            b: vec![(9, 1, 0.46, right), (1, 2, 0.91, left)],
            items: vec![("moved-slot", Some(0), Some(0)), ("appeared", None, Some(1))],
            ..fixture("images/can.jpg")
        },
        Fixture {
            a: vec![(2, 0, 0.71, left)],
            b: vec![(2, 1, 0.52, left)],
            items: vec![("relabelled", Some(0), Some(0))],
            ..fixture("images/evil\u{1b}]0;x\u{7}\u{202e}gpj.jpg")
        },
        Fixture {
            a: vec![(8, 0, 0.9, left)],
            b: vec![(8, 0, 0.9, left)],
            ..fixture("images/still.jpg")
        },
        Fixture {
            a: vec![(5, 0, 0.42, left), (6, 1, 0.8, right)],
            b: vec![(5, 2, 0.44, right), (7, 1, 0.79, right)],
            items: vec![("replaced", Some(0), Some(0)), ("moved-slot", Some(1), Some(1))],
            ..fixture("images/two.jpg")
        },
    ]
}

/// The material of [`fixtures`].
pub(in crate::sighted) fn material() -> Material {
    let report = parity_report(&fixtures());
    Material::from_report(&report, Some(ReportHash::of(b"report")), Path::new("/w/fixtures"))
        .expect("reviewable")
}
