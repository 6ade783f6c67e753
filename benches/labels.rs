//! What an answer costs, from the key to the disk, and what opening a long log costs.
//!
//! Bars: an answer is stored within 20 ms at the median, synced to disk and read back; a log of 100,000
//! events opens in under a second. Both depend on the disk the target folder lies on.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is missing"
)]

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use divan::{Bencher, black_box};
use flipside::blind::count_answers;
use flipside::domain::canonical::Json;
use flipside::domain::digest::{FixtureId, ManifestHash, TaxonomyHash};
use flipside::domain::label::{CategoryState, Certainty, Label, Presence};
use flipside::domain::shard::{PlannedFixture, Shard, ShardPlan, Showing};
use flipside::store::event_chain::{
    Access, EventLog, NewEvent, Pointer, PointerChange, Receipt, append,
};
use flipside::store::label_file::SeenAs;
use flipside::store::label_schema::{Answer, LabelEvent, LabelRow, Opening, SCHEMA, subject};
use flipside::store::sqlite;

#[path = "bars/mod.rs"]
mod bars;

/// Showings of the shard.
const SHOWINGS: u32 = 10_000;

/// Events of the long log.
const EVENTS: u32 = 100_000;

fn main() {
    divan::main();
    if bars::wanted() {
        let (_folder, mut log) = empty_log();
        let mut number = 0;
        let times = bars::milliseconds(200, || {
            number += 1;
            black_box(store(&mut log, number));
        });
        let median = bars::quantile(&times, 0.5);
        bars::bar("an answer from key to stored, synced and read back, median", median, "ms", 20.0);
        bars::number("the same, 99 of 100", bars::quantile(&times, 0.99), "ms");
        let path = long_log();
        let times = bars::milliseconds(5, || {
            black_box(open_and_fold(path));
        });
        let median = bars::quantile(&times, 0.5);
        bars::bar("open, verify and fold a log of 100,000 events, median", median, "ms", 1000.0);
    }
}

/// A folder on the disk the program is built on: a folder for temporary files may lie in memory.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("temporary folder")
}

fn empty_log() -> (tempfile::TempDir, EventLog) {
    let folder = folder();
    let (mut log, _) = EventLog::open(&folder.path().join("ada.db"), &SCHEMA).expect("opens");
    log.append(&event(&opening()), &[]).expect("kept");
    (folder, log)
}

/// What the key that saves an answer makes happen before "saved" is shown.
fn store(log: &mut EventLog, number: u32) -> Receipt {
    let change =
        PointerChange { subject: subject(1, showing(number % SHOWINGS)), to: Pointer::ThisEvent };
    log.append(black_box(&event(&answer(number))), &[change]).expect("kept")
}

fn open_and_fold(path: &Path) -> usize {
    let opened = EventLog::open_as(path, &SCHEMA, Access::Write, &LabelRow::of);
    let (log, rows) = opened.expect("opens");
    assert_eq!(log.length(), u64::from(EVENTS));
    count_answers(black_box(rows)).expect("folds")
}

fn showing(number: u32) -> Showing {
    Showing { fixture: FixtureId::of(&number.to_le_bytes()), pass: 1 }
}

fn opening() -> LabelEvent {
    LabelEvent::Open(Box::new(Opening {
        shard: Shard::WHOLE,
        manifest: ManifestHash::of(b"m"),
        fixture_count: u64::from(SHOWINGS),
        taxonomy: TaxonomyHash::of(b"t"),
        groups: ["bottles", "cans", "paper"].map(str::to_owned).to_vec(),
        seed: 0,
        overlap: 0.2,
        repeats: 0.0,
        order: (0..SHOWINGS).map(showing).collect(),
    }))
}

fn answer(number: u32) -> LabelEvent {
    LabelEvent::Answer {
        opening: 1,
        answer: Box::new(Answer {
            showing: showing(number % SHOWINGS),
            label: Label {
                presence: Presence::Litter,
                categories: [("cans".to_owned(), CategoryState::Present)].into(),
                certainty: Certainty::ALL[(number % 3) as usize],
                not_photograph: None,
                note: String::new(),
            },
            seconds: 4.2,
            seen_as: Some(SeenAs {
                protocol: "kitty".to_owned(),
                cells: [120, 40],
                pixels: [960, 720],
                zoom: 2.0,
            }),
            amended: None,
        }),
    }
}

fn event(meaning: &LabelEvent) -> NewEvent {
    let (kind, payload): (_, Json) = meaning.to_parts();
    NewEvent {
        kind: kind.to_owned(),
        actor: "ada".to_owned(),
        sitting: 1,
        wall_utc: "2026-02-03T04:05:06+00:00".to_owned(),
        mono_ns: 1,
        payload,
    }
}

/// One answer: a transaction of its own, synced, read back.
#[divan::bench(sample_count = 200, sample_size = 1)]
fn store_one_answer(bencher: Bencher<'_, '_>) {
    let (_folder, mut log) = empty_log();
    let mut number = 0;
    bencher.bench_local(|| {
        number += 1;
        store(&mut log, number)
    });
}

fn long_log() -> &'static Path {
    static LOG: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let made = LOG.get_or_init(|| {
        let folder = folder();
        let path = folder.path().join("ada.db");
        let mut connection = sqlite::open(&path, &SCHEMA).expect("opens");
        let filled: rusqlite::Result<()> = sqlite::immediate(&mut connection, |transaction| {
            append(transaction, &event(&opening()))?;
            (1..EVENTS)
                .try_for_each(|number| append(transaction, &event(&answer(number))).map(drop))
        });
        filled.expect("made");
        drop(connection);
        (folder, path)
    });
    &made.1
}

/// A log of 100,000 events: opened, checked by the database, verified event by event, folded.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn open_a_hundred_thousand_events(bencher: Bencher<'_, '_>) {
    let path = long_log();
    bencher.bench_local(|| open_and_fold(path));
}

/// The plan of 10,000 fixtures in four shards, for one rater.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn plan_ten_thousand_fixtures(bencher: Bencher<'_, '_>) {
    let fixtures: Vec<PlannedFixture> = (0..SHOWINGS)
        .map(|number| PlannedFixture { id: showing(number).fixture, cluster: String::new() })
        .collect();
    let plan =
        ShardPlan { manifest: ManifestHash::of(b"m"), of: 4, overlap: 0.2, repeats: 0.05, seed: 0 };
    let rater = "ada".parse().expect("a name");
    bencher.bench_local(|| plan.order(black_box(&fixtures), Shard { index: 1, of: 4 }, &rater));
}
