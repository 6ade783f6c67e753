//! The dossier as JSON, and its changes as CSV.

use super::dossier::{Dossier, Fact, Found, Pair};
use crate::domain::canonical::Json;

/// The JSON twin of the page, without pictures.
pub(in crate::sighted) fn json(dossier: &Dossier) -> Json {
    let texts = |list: &[String]| Json::Array(list.iter().map(Json::text).collect());
    let thresholds = dossier.thresholds.iter().map(|row| {
        let sets = row.sets.map_or(Json::Null, |sets| {
            Json::object([
                ("appeared", Json::int(sets.appeared)),
                ("imagesChanged", Json::int(sets.images_changed)),
                ("imagesPresenceChanged", Json::int(sets.images_presence_changed)),
                ("movedSlots", Json::int(sets.moved)),
                ("realFlips", Json::int(sets.real_flips)),
                ("relabelled", Json::int(sets.relabelled)),
                ("vanished", Json::int(sets.vanished)),
            ])
        });
        Json::object([
            ("classFlips", Json::int(row.class_flips)),
            ("detectionsCandidate", Json::int(row.detections.b)),
            ("detectionsReference", Json::int(row.detections.a)),
            ("flipsCandidateOnly", Json::int(row.flips.b)),
            ("flipsReferenceOnly", Json::int(row.flips.a)),
            ("imagesWithFlip", Json::int(row.images_with_flip)),
            ("sets", sets),
            ("threshold", Json::Float(row.threshold)),
        ])
    });
    let rates = dossier.rates.iter().map(|row| {
        Json::object([
            ("blind", Json::text(&row.blind)),
            ("candidate", Json::text(&row.sides[1])),
            ("difference", Json::text(&row.difference)),
            ("measure", Json::text(&row.measure)),
            ("onlyCandidate", Json::int(row.discordant[1])),
            ("onlyReference", Json::int(row.discordant[0])),
            ("reference", Json::text(&row.sides[0])),
            ("subset", Json::text(&row.subset)),
            ("test", Json::text(&row.test)),
        ])
    });
    let categories = dossier.categories.iter().map(|row| {
        Json::object([
            ("blind", Json::text(&row.blind)),
            ("candidate", Json::text(&row.sides[1])),
            ("name", Json::text(&row.name)),
            ("reference", Json::text(&row.sides[0])),
            ("unsure", Json::int(row.unsure)),
            ("verdict", Json::text(&row.verdict)),
        ])
    });
    let differing = dossier.differing.iter().map(|row| {
        Json::object([
            ("bestCandidate", Json::text(&row.best[1])),
            ("bestReference", Json::text(&row.best[0])),
            ("foundBy", Json::text(&row.found_by)),
            ("path", Json::text(&row.path)),
            ("truth", Json::text(&row.truth)),
        ])
    });
    let changes = dossier.changes.iter().map(|change| {
        Json::object([
            ("candidate", found(change.sides.b.as_ref())),
            ("fixture", Json::text(&change.fixture)),
            ("kind", Json::text(&change.kind)),
            ("path", Json::text(&change.path)),
            ("reference", found(change.sides.a.as_ref())),
            ("verdicts", texts(&change.verdicts)),
        ])
    });
    let signoffs = dossier.signoffs.iter().map(|block| {
        Json::object([
            ("decision", Json::text(&block.decision)),
            ("doesNotLicense", texts(&block.does_not_license)),
            ("facts", facts(&block.facts)),
            ("licenses", texts(&block.licenses)),
            ("standing", Json::Bool(block.standing)),
        ])
    });
    Json::object([
        ("agreement", facts(&dossier.agreement)),
        ("candidate", artifact(dossier, Side::Candidate)),
        ("categories", Json::Array(categories.collect())),
        ("changes", Json::Array(changes.collect())),
        ("changesLeftOut", Json::int(dossier.changes_left_out as u64)),
        ("circumstances", facts(&dossier.circumstances)),
        ("coverage", facts(&dossier.coverage)),
        ("differing", Json::Array(differing.collect())),
        ("evidence", facts(&dossier.evidence)),
        ("generatedAt", Json::text(&dossier.generated_at)),
        ("leftOut", facts(&dossier.left_out)),
        ("operatingPoint", Json::Float(dossier.operating_point)),
        ("rates", Json::Array(rates.collect())),
        ("record", facts(&dossier.record)),
        ("reference", artifact(dossier, Side::Reference)),
        ("schema", Json::int(1)),
        ("sentences", texts(&dossier.sentences)),
        ("signoffs", Json::Array(signoffs.collect())),
        ("thresholds", Json::Array(thresholds.collect())),
        ("title", Json::text(&dossier.title)),
        ("warnings", texts(&dossier.warnings)),
    ])
}

enum Side {
    Reference,
    Candidate,
}

fn artifact(dossier: &Dossier, side: Side) -> Json {
    let Pair { a, b } = &dossier.artifacts;
    let line = match side {
        Side::Reference => a,
        Side::Candidate => b,
    };
    Json::object([
        ("bytes", Json::int(line.bytes)),
        ("name", Json::text(&line.name)),
        ("sha256", Json::text(&line.sha256)),
    ])
}

fn facts(list: &[Fact]) -> Json {
    let rows = list.iter().map(|fact| {
        Json::object([("name", Json::text(&fact.name)), ("value", Json::text(&fact.value))])
    });
    Json::Array(rows.collect())
}

fn found(found: Option<&Found>) -> Json {
    found.map_or(Json::Null, |found| {
        Json::object([
            ("class", Json::text(&found.class)),
            ("confidence", Json::Float(found.confidence)),
            ("slot", Json::int(found.slot)),
        ])
    })
}

/// Every change, one a row. A cell that a spreadsheet would take for a formula starts with a quote.
///
/// # Errors
/// Never, as long as memory lasts; the writer says so itself.
pub(in crate::sighted) fn changes_csv(dossier: &Dossier) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "path",
        "fixture",
        "kind",
        "reference_class",
        "reference_confidence",
        "reference_slot",
        "candidate_class",
        "candidate_confidence",
        "candidate_slot",
        "verdicts",
    ])?;
    for change in &dossier.changes {
        let side = |found: &Option<Found>| match found {
            Some(found) => [
                cell(&found.class),
                crate::domain::canonical::float_text(found.confidence),
                found.slot.to_string(),
            ],
            None => [String::new(), String::new(), String::new()],
        };
        let [a_class, a_confidence, a_slot] = side(&change.sides.a);
        let [b_class, b_confidence, b_slot] = side(&change.sides.b);
        writer.write_record([
            cell(&change.path),
            cell(&change.fixture),
            cell(&change.kind),
            a_class,
            a_confidence,
            a_slot,
            b_class,
            b_confidence,
            b_slot,
            cell(&change.verdicts.join("; ")),
        ])?;
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn cell(text: &str) -> String {
    let shown = crate::domain::escape::escape(text);
    if shown.starts_with(['=', '+', '-', '@']) { format!("'{shown}") } else { shown.into_owned() }
}
