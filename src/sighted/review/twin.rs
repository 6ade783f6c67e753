//! Review without a screen: the list as JSON, and verdicts taken over from JSON lines. Pure.

use std::collections::BTreeMap;

use super::material::{Material, ReviewItem};
use super::tally::{Tally, parity_warning};
use super::verdict::{ItemKey, Ledger, Verdict, kind_word};
use crate::domain::canonical::Json;
use crate::domain::digest::FixtureId;
use crate::domain::escape::escape;
use crate::domain::label::{MAX_NOTE, is_plain};
use crate::sighted::decision::report::DetectionRow;
use crate::sighted::review::material::Direction;

/// Longest line of an import, in bytes.
const MAX_LINE: usize = 64 << 10;

fn object<const N: usize>(fields: [(&str, Json); N]) -> Json {
    Json::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn text(value: &str) -> Json {
    Json::Text(value.to_owned())
}

fn count(value: u64) -> Json {
    Json::Int(value.to_string())
}

/// Everything a reviewer would see, with what stands, as one JSON value.
pub(in crate::sighted) fn list(material: &Material, ledger: &Ledger, reviewer: &str) -> Json {
    let items: Vec<Json> =
        material.items.iter().map(|item| item_json(material, ledger, item)).collect();
    let tally = Tally::of(material, ledger);
    let counts: BTreeMap<String, Json> = Verdict::ALL
        .iter()
        .map(|verdict| (verdict.word().to_owned(), count(tally.count(*verdict))))
        .collect();
    object([
        ("schema", count(1)),
        ("comparison", text(&material.comparison.to_hex())),
        ("report", material.report.map_or(Json::Null, |report| text(&report.to_hex()))),
        ("reviewer", text(reviewer)),
        ("threshold", Json::Float(material.threshold)),
        ("artifacts", artifacts(material)),
        ("warning", parity_warning(&material.totals).map_or(Json::Null, |said| text(&said))),
        (
            "tally",
            object([
                ("items", count(tally.items)),
                ("decided", count(tally.decided())),
                ("counts", Json::Object(counts)),
                ("signTest", Json::Float(tally.p())),
                ("sentence", text(&tally.sentence())),
            ]),
        ),
        ("items", Json::Array(items)),
    ])
}

/// One disputed change with everything another person needs to look at it again: artifacts, threshold,
/// the picture's hash, both detections.
pub(in crate::sighted) fn one(material: &Material, ledger: &Ledger, item: &ReviewItem) -> Json {
    object([
        ("schema", count(1)),
        ("comparison", text(&material.comparison.to_hex())),
        ("report", material.report.map_or(Json::Null, |report| text(&report.to_hex()))),
        ("threshold", Json::Float(material.threshold)),
        ("artifacts", artifacts(material)),
        ("item", item_json(material, ledger, item)),
    ])
}

/// One change with what stands.
pub(in crate::sighted) fn item_json(
    material: &Material,
    ledger: &Ledger,
    item: &ReviewItem,
) -> Json {
    let image = &material.images[item.image];
    let judgement = ledger.judgement(material.comparison, &item.key);
    let row = |row: &Option<DetectionRow>| {
        row.as_ref().map_or(Json::Null, |row| detection(material, row))
    };
    let direction = match item.direction() {
        Direction::Lost => "lost",
        Direction::Gained => "gained",
        Direction::Changed => "changed",
    };
    object([
        ("fixture", text(&item.key.fixture.to_hex())),
        ("path", text(&image.written)),
        ("change", text(&item.key.change)),
        ("kind", text(kind_word(item.kind))),
        ("direction", text(direction)),
        ("size", Json::Float(item.change)),
        ("a", row(&item.a)),
        ("b", row(&item.b)),
        ("elsewhereA", row(&item.elsewhere_a)),
        ("elsewhereB", row(&item.elsewhere_b)),
        (
            "verdict",
            judgement
                .and_then(|judgement| judgement.verdict)
                .map_or(Json::Null, |verdict| text(verdict.word())),
        ),
        ("note", text(judgement.map_or("", |judgement| &judgement.note))),
        (
            "notPhotograph",
            ledger.flag(item.key.fixture).map_or(Json::Null, |kind| text(kind.word())),
        ),
    ])
}

fn artifacts(material: &Material) -> Json {
    object([
        ("a", artifact(&material.sides.a.file, &material.sides.a.sha256)),
        ("b", artifact(&material.sides.b.file, &material.sides.b.sha256)),
    ])
}

fn artifact(file: &str, sha256: &str) -> Json {
    object([("file", text(file)), ("sha256", text(sha256))])
}

fn detection(material: &Material, row: &DetectionRow) -> Json {
    object([
        ("slot", count(u64::from(row.slot))),
        ("class", count(u64::from(row.class_index))),
        ("className", text(&material.class_name(row.class_index))),
        ("confidence", Json::Float(row.confidence)),
        ("box", Json::Array(row.corners.iter().map(|corner| Json::Float(*corner)).collect())),
    ])
}

/// One verdict of an import.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Imported {
    /// Index into the material's items.
    pub item: usize,
    /// The verdict; none clears.
    pub verdict: Option<Verdict>,
    /// The note.
    pub note: String,
}

/// Reads verdicts: one JSON object a line with `fixture`, `change`, `verdict` and optionally `note`; other
/// keys are ignored, so lines of [`list`] can be given back. Blank lines are skipped.
///
/// # Errors
/// Every faulty line, up to twenty: nothing is taken over then.
pub(in crate::sighted) fn parse_import(
    material: &Material,
    bytes: &[u8],
) -> Result<Vec<Imported>, Vec<String>> {
    let known: BTreeMap<&ItemKey, usize> =
        material.items.iter().enumerate().map(|(index, item)| (&item.key, index)).collect();
    let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
    let mut imported = Vec::new();
    let mut faults = Vec::new();
    for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match parse_line(line, &known) {
            Ok(verdict) => match taken.insert(verdict.item, number) {
                Some(before) => faults.push(format!(
                    "line {number}: the same item as line {before}; each may be named once"
                )),
                None => imported.push(verdict),
            },
            Err(reason) => faults.push(format!("line {number}: {reason}")),
        }
        if faults.len() == 20 {
            break;
        }
    }
    if imported.is_empty() && faults.is_empty() {
        faults.push("expected at least one line with a verdict, found none".to_owned());
    }
    if faults.is_empty() { Ok(imported) } else { Err(faults) }
}

fn parse_line(line: &[u8], known: &BTreeMap<&ItemKey, usize>) -> Result<Imported, String> {
    if line.len() > MAX_LINE {
        return Err(format!("expected at most {MAX_LINE} bytes, found {}", line.len()));
    }
    let value = Json::parse(line).map_err(|error| error.reason)?;
    let string = |name: &str| {
        value.get(name).and_then(Json::as_str).ok_or_else(|| format!("{name}: expected a string"))
    };
    let fixture: FixtureId =
        string("fixture")?.parse().map_err(|error| format!("fixture: {error}"))?;
    let change = string("change")?.to_owned();
    let verdict = match value.get("verdict") {
        Some(Json::Null) => None,
        Some(Json::Text(word)) => Some(Verdict::from_word(word).ok_or_else(|| {
            let words: Vec<_> = Verdict::ALL.iter().map(|verdict| verdict.word()).collect();
            format!("verdict: expected {} or null, found \"{}\"", words.join(", "), escape(word))
        })?),
        _ => return Err("verdict: expected a word or null".to_owned()),
    };
    let note = match value.get("note") {
        None | Some(Json::Null) => String::new(),
        Some(Json::Text(note)) if note.chars().count() <= MAX_NOTE && is_plain(note) => {
            note.clone()
        }
        Some(_) => {
            return Err(format!("note: expected plain text of at most {MAX_NOTE} characters"));
        }
    };
    let key = ItemKey { fixture, change };
    let item = *known.get(&key).ok_or_else(|| {
        format!("no item \"{}\" of fixture {} in the report", escape(&key.change), fixture.short())
    })?;
    Ok(Imported { item, verdict, note })
}

#[cfg(test)]
mod tests {
    use super::super::testing::material;
    use super::*;

    #[test]
    fn the_list_names_everything_and_is_inert() {
        let material = material();
        let value = list(&material, &Ledger::default(), "ada");
        let file = value.to_file();
        assert!(file.is_ascii() && !file.chars().any(|c| c.is_control() && c != '\n'));
        let Some(Json::Array(items)) = value.get("items") else { panic!("no items") };
        assert_eq!(items.len(), 6);
        assert_eq!(items[0].get("kind").and_then(Json::as_str), Some("vanished"));
        assert_eq!(items[0].get("verdict"), Some(&Json::Null));
    }

    #[test]
    fn lines_of_the_list_can_be_given_back() {
        let material = material();
        let value = list(&material, &Ledger::default(), "ada");
        let Some(Json::Array(items)) = value.get("items") else { panic!("no items") };
        let lines: Vec<String> = items
            .iter()
            .map(|item| item.to_canonical().replace("\"verdict\":null", "\"verdict\":\"both\""))
            .collect();
        let imported = parse_import(&material, lines.join("\n").as_bytes()).expect("taken over");
        assert_eq!(imported.len(), 6);
        assert!(imported.iter().all(|one| one.verdict == Some(Verdict::Both)));
    }

    #[test]
    fn every_fault_is_named_with_its_line_and_nothing_is_taken_over() {
        let material = material();
        let key = &material.items[0].key;
        let line = |change: &str, verdict: &str| {
            format!(
                "{{\"fixture\":\"{}\",\"change\":\"{change}\",\"verdict\":{verdict}}}",
                key.fixture.to_hex()
            )
        };
        let good = line("vanished a12", "\"neither\"");
        assert_eq!(parse_import(&material, good.as_bytes()).map(|list| list.len()), Ok(1));
        let bad = [
            good.clone(),
            line("vanished a13", "\"both\""),
            line("vanished a12", "\"maybe\""),
            line("vanished a12", "7"),
            good.clone(),
            "{".to_owned(),
        ]
        .join("\n");
        let faults = parse_import(&material, bad.as_bytes()).expect_err("faults").join("\n");
        for part in [
            "line 2: no item",
            "line 3: verdict: expected reference",
            "line 4: verdict",
            "line 5: the same item as line 1",
            "line 6",
        ] {
            assert!(faults.contains(part), "{part} not in\n{faults}");
        }
        assert!(parse_import(&material, b"\n\n").is_err());
    }
}
