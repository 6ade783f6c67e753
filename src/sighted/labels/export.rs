//! Sealed labels as one table, for other tools. The columns are those that `import` reads.

use std::collections::BTreeMap;

use super::Sealed;
use crate::domain::canonical::Json;
use crate::domain::digest::FixtureId;
use crate::domain::escape::escape_os;
use crate::domain::label::{CategoryState, Label};

/// Columns of the table.
pub(in crate::sighted) const COLUMNS: [&str; 21] = [
    "fixture",
    "path",
    "rater",
    "shard",
    "pass",
    "presence",
    "present",
    "unsure",
    "confidence",
    "not_photograph",
    "note",
    "labelled_at",
    "seconds",
    "exposed",
    "amended",
    "skipped",
    "blind",
    "confinement",
    "groups",
    "manifest",
    "file",
];

/// One row, one text per column.
type Row = Vec<String>;

/// Columns, from `presence` to `skipped`, that an answer or the reason for none fills.
const SAID: usize = 11;

/// Between names of one cell.
pub(in crate::sighted) const BETWEEN: &str = ";";

fn named(label: &Label, state: CategoryState) -> String {
    label.named(state).collect::<Vec<_>>().join(BETWEEN)
}

fn rows(files: &[Sealed], paths: &BTreeMap<FixtureId, String>) -> Vec<Row> {
    let mut rows = Vec::new();
    for sealed in files {
        let header = &sealed.file.header;
        let name = sealed.path.file_name().map(escape_os).unwrap_or_default();
        let row = |fixture: FixtureId, pass: u8, said: [String; SAID]| -> Row {
            let about = [
                fixture.to_hex(),
                paths.get(&fixture).cloned().unwrap_or_default(),
                header.rater.to_string(),
                header.shard.to_string(),
                pass.to_string(),
            ];
            let from = [
                header.blind.word().to_owned(),
                header.confinement.word().to_owned(),
                header.groups.join(BETWEEN),
                header.manifest.to_hex(),
                name.clone(),
            ];
            about.into_iter().chain(said).chain(from).collect()
        };
        for line in &sealed.file.labels {
            let label = &line.label;
            let said = [
                label.presence.to_string(),
                named(label, CategoryState::Present),
                named(label, CategoryState::Unsure),
                label.certainty.to_string(),
                label.not_photograph.map(|kind| kind.to_string()).unwrap_or_default(),
                label.note.clone(),
                line.labelled_at.clone(),
                line.seconds.map(|seconds| seconds.to_string()).unwrap_or_default(),
                line.exposed.to_string(),
                line.amended.clone().unwrap_or_default(),
                String::new(),
            ];
            rows.push(row(line.fixture, line.pass, said));
        }
        for line in &sealed.file.skipped {
            let mut said: [String; SAID] = Default::default();
            said[SAID - 1].clone_from(&line.reason);
            rows.push(row(line.fixture, line.pass, said));
        }
    }
    rows
}

/// The table as CSV. `paths` are those of the manifest in use.
///
/// # Errors
/// The writer's, which writes to memory.
pub(in crate::sighted) fn to_csv(
    files: &[Sealed],
    paths: &BTreeMap<FixtureId, String>,
) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    for row in rows(files, paths) {
        writer.write_record(row.iter().map(|cell| guarded(cell)))?;
    }
    let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A cell that a spreadsheet would take for a formula gets an apostrophe before it.
fn guarded(cell: &str) -> String {
    if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{cell}")
    } else {
        cell.to_owned()
    }
}

/// The table as JSON: one object a row.
pub(in crate::sighted) fn to_json(files: &[Sealed], paths: &BTreeMap<FixtureId, String>) -> Json {
    let text = |cell: String| if cell.is_empty() { Json::Null } else { Json::Text(cell) };
    let list = |cell: &str| {
        let names = cell.split(BETWEEN).filter(|name| !name.is_empty());
        Json::Array(names.map(|name| Json::Text(name.to_owned())).collect())
    };
    let object = |row: Row| {
        let fields = COLUMNS.iter().zip(row).map(|(column, cell)| {
            let value = match *column {
                "present" | "unsure" | "groups" => list(&cell),
                "pass" => Json::Int(cell),
                "seconds" => cell.parse().map_or(Json::Null, Json::Float),
                "exposed" => Json::Bool(cell == "true"),
                _ => text(cell),
            };
            ((*column).to_owned(), value)
        });
        Json::Object(fields.collect())
    };
    let rows = rows(files, paths).into_iter().map(object).collect();
    Json::Object(
        [
            ("schema".to_owned(), Json::Int("1".to_owned())),
            ("labels".to_owned(), Json::Array(rows)),
        ]
        .into(),
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{line, sealed};
    use super::*;
    use crate::store::label_file::{LabelFile, SkippedLine};

    #[test]
    fn every_line_is_a_row() {
        let mut first = line(1, 1, "y b c?");
        first.label.note = "=1+1, \"quoted\"".to_owned();
        let mut file = sealed("ada", 2, vec![first, line(2, 1, "n")]);
        let reason = "cannot be decoded".to_owned();
        let skipped = vec![SkippedLine { fixture: FixtureId::of(&[3]), pass: 1, reason }];
        file.file = LabelFile::new(file.file.header, file.file.labels, skipped);
        let paths = [(FixtureId::of(&[1]), "images/a.jpg".to_owned())].into();
        insta::assert_snapshot!("csv", to_csv(&[file.clone()], &paths).expect("written"));
        insta::assert_snapshot!("json", to_json(&[file], &paths).to_file());
    }
}
