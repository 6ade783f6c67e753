//! Labels made with another tool: a CSV becomes sealed label files whose blindness is asserted.
//!
//! All of it or nothing. The columns are those of the export; only `fixture` (or `path`), `rater` and
//! `presence` must be there. Without `present` and `unsure` nobody was asked for categories.

use std::collections::{BTreeMap, BTreeSet};

use super::export::BETWEEN;
use crate::domain::digest::{FixtureId, ManifestHash};
use crate::domain::escape::escape;
use crate::domain::label::{CategoryState, Certainty, Label, NotPhotograph, Presence, is_plain};
use crate::domain::shard::{RaterName, Shard};
use crate::domain::taxonomy::Taxonomy;
use crate::store::label_file::{
    BlindStatus, Confinement, LabelFile, LabelHeader, LabelLine, SkippedLine,
};
use crate::store::workspace::PRODUCT;

/// Largest file taken over, in bytes.
pub(in crate::sighted) const MAX_BYTES: u64 = 64 << 20;

/// Most faults that are listed.
const MAX_FAULTS: usize = 20;

/// What the rows refer to.
#[derive(Debug)]
pub(in crate::sighted) struct Target<'a> {
    /// The manifest's hash.
    pub manifest: ManifestHash,
    /// Every fixture of it.
    pub fixtures: &'a BTreeSet<FixtureId>,
    /// By the path the manifest writes.
    pub by_path: &'a BTreeMap<String, FixtureId>,
    /// For categories.
    pub taxonomy: &'a Taxonomy,
    /// Certainty of rows that say none.
    pub certainty: Option<Certainty>,
    /// The time of the import, UTC: also of rows that say none, so that anything their rater has seen
    /// before counts against them.
    pub now: String,
}

/// One row that cannot be taken over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub(in crate::sighted) struct Fault {
    /// 1-based.
    pub line: u64,
    /// What was expected and found.
    pub reason: String,
}

/// What one row says.
struct Row {
    rater: RaterName,
    shard: Shard,
    fixture: FixtureId,
    pass: u8,
    said: Said,
}

enum Said {
    Label(Box<LabelLine>),
    Skip(String),
}

/// Reads the table.
///
/// # Errors
/// Every fault found, at most [`MAX_FAULTS`]; nothing is taken over then.
pub(in crate::sighted) fn read(
    bytes: &[u8],
    target: &Target<'_>,
) -> Result<Vec<LabelFile>, Vec<Fault>> {
    let whole = |line: u64, reason: String| vec![Fault { line, reason }];
    if bytes.len() as u64 > MAX_BYTES {
        return Err(whole(1, format!("more than {MAX_BYTES} bytes")));
    }
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(bytes);
    let headers = reader.headers().map_err(|error| whole(1, error.to_string()))?.clone();
    let columns = Columns::of(&headers).map_err(|reason| whole(1, reason))?;
    let mut files: BTreeMap<(RaterName, Shard), (Vec<LabelLine>, Vec<SkippedLine>)> =
        BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut faults = Vec::new();
    for record in reader.records() {
        let line = match &record {
            Ok(record) => record.position().map_or(0, csv::Position::line),
            Err(error) => error.position().map_or(0, csv::Position::line),
        };
        let row = record
            .map_err(|error| error.to_string())
            .and_then(|record| columns.row(&record, target));
        match row {
            Ok(row) => {
                if !seen.insert((row.rater.clone(), row.shard, row.fixture, row.pass)) {
                    let reason = format!("{} has answered this fixture already", row.rater);
                    faults.push(Fault { line, reason });
                }
                let (labels, skipped) = files.entry((row.rater, row.shard)).or_default();
                let (fixture, pass) = (row.fixture, row.pass);
                match row.said {
                    Said::Label(label) => labels.push(*label),
                    Said::Skip(reason) => skipped.push(SkippedLine { fixture, pass, reason }),
                }
            }
            Err(reason) => faults.push(Fault { line, reason }),
        }
        if faults.len() >= MAX_FAULTS {
            break;
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    if files.is_empty() {
        return Err(whole(2, "expected at least one row, found none".to_owned()));
    }
    let made = files.into_iter().map(|((rater, shard), (labels, skipped))| {
        LabelFile::new(columns.header(rater, shard, target), labels, skipped)
    });
    Ok(made.collect())
}

/// Where each column is.
struct Columns {
    places: BTreeMap<String, usize>,
}

impl Columns {
    fn of(headers: &csv::StringRecord) -> Result<Self, String> {
        let mut places = BTreeMap::new();
        for (place, name) in headers.iter().enumerate() {
            let name = name.trim_start_matches('\u{feff}').to_owned();
            if places.insert(name.clone(), place).is_some() {
                return Err(format!("column {:?} occurs twice", escape(&name)));
            }
        }
        let columns = Self { places };
        if !columns.has("fixture") && !columns.has("path") {
            return Err("expected a column `fixture` (sha256) or `path`".to_owned());
        }
        for name in ["rater", "presence"] {
            if !columns.has(name) {
                return Err(format!("expected a column `{name}`"));
            }
        }
        Ok(columns)
    }

    fn has(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    fn cell<'a>(&self, record: &'a csv::StringRecord, name: &str) -> &'a str {
        self.places.get(name).and_then(|place| record.get(*place)).unwrap_or_default()
    }

    fn asks_categories(&self) -> bool {
        self.has("present") || self.has("unsure")
    }

    fn header(&self, rater: RaterName, shard: Shard, target: &Target<'_>) -> LabelHeader {
        let groups = if self.asks_categories() {
            target.taxonomy.groups().iter().map(|group| group.name.clone()).collect()
        } else {
            Vec::new()
        };
        LabelHeader {
            product: PRODUCT.to_owned(),
            manifest: target.manifest,
            fixture_count: target.fixtures.len() as u64,
            taxonomy: target.taxonomy.hash(),
            groups,
            shard,
            seed: 0,
            overlap: 0.0,
            repeats: 0.0,
            rater,
            opened_at: target.now.clone(),
            sealed_at: target.now.clone(),
            chain_head: None,
            blind: BlindStatus::Asserted,
            confinement: Confinement::None,
            supersedes: None,
        }
    }

    fn row(&self, record: &csv::StringRecord, target: &Target<'_>) -> Result<Row, String> {
        let cell = |name: &str| self.cell(record, name);
        let fixture = self.fixture(record, target)?;
        let rater = cell("rater").parse::<RaterName>().map_err(|error| error.to_string())?;
        let shard = match cell("shard") {
            "" => Shard::WHOLE,
            text => text.parse().map_err(|error| format!("shard: {error}"))?,
        };
        let pass = match cell("pass") {
            "" | "1" => 1,
            "2" => 2,
            other => return Err(format!("pass: expected 1 or 2, found {:?}", escape(other))),
        };
        let skipped = cell("skipped");
        if !skipped.is_empty() {
            if !is_plain(skipped) {
                return Err("skipped: expected a reason in visible characters".to_owned());
            }
            let said = Said::Skip(skipped.to_owned());
            return Ok(Row { rater, shard, fixture, pass, said });
        }
        let label = self.label(record, target)?;
        let labelled_at =
            match cell("labelled_at") {
                "" => target.now.clone(),
                text => text.parse::<jiff::Timestamp>().map(crate::store::clock::stamp).map_err(
                    |_| format!("labelled_at: expected an RFC 3339 time, found {:?}", escape(text)),
                )?,
            };
        let seconds = match cell("seconds") {
            "" => None,
            text => match text.parse::<f64>() {
                Ok(seconds) if seconds.is_finite() && seconds >= 0.0 => Some(seconds),
                _ => return Err(format!("seconds: expected a number, found {:?}", escape(text))),
            },
        };
        let exposed = match cell("exposed") {
            "" | "false" => false,
            "true" => true,
            other => {
                return Err(format!("exposed: expected true or false, found {:?}", escape(other)));
            }
        };
        let said = Said::Label(Box::new(LabelLine {
            fixture,
            pass,
            label,
            labelled_at,
            seconds,
            exposed,
            seen_as: None,
            amended: None,
        }));
        Ok(Row { rater, shard, fixture, pass, said })
    }

    fn fixture(
        &self,
        record: &csv::StringRecord,
        target: &Target<'_>,
    ) -> Result<FixtureId, String> {
        let written = self.cell(record, "fixture");
        if written.is_empty() {
            let path = self.cell(record, "path");
            return target
                .by_path
                .get(path)
                .copied()
                .ok_or_else(|| format!("path {:?} is not in the manifest", escape(path)));
        }
        let id: FixtureId = written.parse().map_err(|error| format!("fixture: {error}"))?;
        if target.fixtures.contains(&id) {
            Ok(id)
        } else {
            Err(format!("fixture {} is not in the manifest", id.short()))
        }
    }

    fn label(&self, record: &csv::StringRecord, target: &Target<'_>) -> Result<Label, String> {
        let cell = |name: &str| self.cell(record, name);
        let presence = match cell("presence") {
            "yes" | "true" | "1" => Presence::Litter,
            "no" | "false" | "0" => Presence::Clean,
            word => Presence::from_word(word).ok_or_else(|| {
                format!("presence: expected litter or clean, found {:?}", escape(word))
            })?,
        };
        let certainty = match cell("confidence") {
            "" => target.certainty.ok_or(
                "confidence: expected high, medium or low; --confidence says it for rows without",
            )?,
            word => Certainty::from_word(word).ok_or_else(|| {
                format!("confidence: expected high, medium or low, found {:?}", escape(word))
            })?,
        };
        let not_photograph = match cell("not_photograph") {
            "" => None,
            word => Some(NotPhotograph::from_word(word).ok_or_else(|| {
                format!("not_photograph: expected screenshot, illustration, text, game or other, found {:?}", escape(word))
            })?),
        };
        let mut categories = BTreeMap::new();
        for (column, state) in
            [("present", CategoryState::Present), ("unsure", CategoryState::Unsure)]
        {
            for name in cell(column).split(BETWEEN).map(str::trim).filter(|name| !name.is_empty()) {
                if categories.insert(name.to_owned(), state).is_some() {
                    return Err(format!("category {:?} stands twice", escape(name)));
                }
            }
        }
        let label = Label {
            presence,
            categories,
            certainty,
            not_photograph,
            // An export guards cells that look like formulas.
            note: cell("note").strip_prefix('\'').unwrap_or(cell("note")).to_owned(),
        };
        let groups: Vec<String> =
            target.taxonomy.groups().iter().map(|group| group.name.clone()).collect();
        match label.contradiction(&groups) {
            Some(contradiction) => Err(contradiction.to_string()),
            None => Ok(label),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sealed;
    use super::super::export::to_csv;
    use super::*;

    struct Set {
        fixtures: BTreeSet<FixtureId>,
        by_path: BTreeMap<String, FixtureId>,
        taxonomy: Taxonomy,
    }

    impl Set {
        fn new() -> Self {
            let id = |name: &str| FixtureId::of(name.as_bytes());
            let group = |name: &str| (name.to_owned(), vec![format!("leaf.{name}")]);
            Self {
                fixtures: ["a", "b"].map(id).into(),
                by_path: ["a", "b"].map(|name| (format!("{name}.jpg"), id(name))).into(),
                taxonomy: Taxonomy::new(vec![group("bottles"), group("cans")]).expect("valid"),
            }
        }

        fn read(
            &self,
            text: &str,
            certainty: Option<Certainty>,
        ) -> Result<Vec<LabelFile>, Vec<Fault>> {
            read(
                text.as_bytes(),
                &Target {
                    manifest: ManifestHash::of(b"m"),
                    fixtures: &self.fixtures,
                    by_path: &self.by_path,
                    taxonomy: &self.taxonomy,
                    certainty,
                    now: "2026-02-03T04:05:06+00:00".to_owned(),
                },
            )
        }
    }

    const TABLE: &str = "path,rater,shard,presence,present,unsure,confidence,note\n\
        a.jpg,ada,1/2,litter,bottles;cans,,high,\n\
        b.jpg,ada,1/2,clean,,cans,low,'=dim\n\
        a.jpg,bob,,yes,cans,,medium,\"one, two\"\n";

    #[test]
    fn rows_become_one_file_a_rater_and_shard() {
        let files = Set::new().read(TABLE, None).expect("good");
        let shape: Vec<(String, usize)> =
            files.iter().map(|it| (it.header.rater.to_string(), it.labels.len())).collect();
        assert_eq!(shape, [("ada".to_owned(), 2), ("bob".to_owned(), 1)]);
        assert_eq!(files[0].header.blind, BlindStatus::Asserted);
        assert_eq!(files[0].header.shard, Shard { index: 1, of: 2 });
        assert_eq!(files[1].header.chain_head, None);
        let dim = files[0].labels.iter().find(|it| it.label.note == "=dim").expect("there");
        assert_eq!(dim.label.state("cans"), CategoryState::Unsure);
        for file in &files {
            assert_eq!(LabelFile::parse(&file.to_bytes()).as_ref(), Ok(file));
        }
    }

    #[test]
    fn presence_alone_asks_for_no_category() {
        let table = "fixture,rater,presence\n".to_owned()
            + &format!("{},ada,litter\n", FixtureId::of(b"a"));
        let files = Set::new().read(&table, Some(Certainty::High)).expect("good");
        assert!(files[0].header.groups.is_empty());
    }

    #[test]
    fn what_was_exported_can_be_taken_over_again() {
        let set = Set::new();
        let files = set.read(TABLE, None).expect("good");
        let sealed: Vec<Sealed> = files
            .iter()
            .map(|file| Sealed { path: "x.jsonl".into(), file: file.clone() })
            .collect();
        let table = to_csv(&sealed, &BTreeMap::new()).expect("written");
        assert_eq!(set.read(&table, None), Ok(files));
    }

    #[test]
    fn every_fault_is_named_with_its_line_and_nothing_is_taken() {
        let set = Set::new();
        for (from, to, line, message) in [
            ("path,rater", "file,rater", 1, "`fixture` (sha256) or `path`"),
            ("rater,", "who,", 1, "a column `rater`"),
            ("unsure", "present", 1, "occurs twice"),
            ("a.jpg,ada", "c.jpg,ada", 2, "\"c.jpg\" is not in the manifest"),
            ("a.jpg,ada", "a.jpg,Ada", 2, "rater name"),
            ("1/2,litter", "3/2,litter", 2, "shard"),
            ("litter", "maybe", 2, "expected litter or clean"),
            ("clean,,cans", "clean,cans,", 3, "clean, but cans marked present"),
            ("bottles;cans", "tins", 2, "no category is called"),
            ("bottles;cans,", "cans,cans", 2, "stands twice"),
            ("high", "", 2, "--confidence"),
            ("b.jpg,ada", "a.jpg,ada", 3, "already"),
            ("\"one, two\"", "a\u{202e}b", 4, "show nothing"),
            ("a.jpg,bob,,yes,cans,,medium,\"one, two\"\n", "short\n", 4, "fields"),
        ] {
            assert!(TABLE.contains(from), "{from}");
            let faults = set.read(&TABLE.replacen(from, to, 1), None).expect_err(to);
            assert_eq!(faults[0].line, line, "{to}: {}", faults[0]);
            assert!(faults[0].reason.contains(message), "{to}: {}", faults[0]);
        }
        assert!(set.read("path,rater,presence\n", None).is_err(), "no rows");
    }
}
