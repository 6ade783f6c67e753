//! A rater's log made again, in a new file: the events of the damaged one that still verify, then what
//! sealed label files say beyond them.
//!
//! What was answered after the last good event and not sealed is gone; a `rebuilt` event says where that
//! was. The damaged file is none of this module's business.

use crate::domain::shard::{RaterName, Showing};
use crate::store::clock::Clock;
use crate::store::event_chain::{Event, EventLog, NewEvent};
use crate::store::label_file::{LabelFile, LabelHeader};
use crate::store::label_schema::{Answer, LabelEvent, LabelRow, Opening};

use super::history::{Given, History};
use super::journal::Pen;
use super::{LabelError, PRODUCT, ShardKey, last_sitting, only_by};

/// What there is to make a log from.
pub struct Remains<'a> {
    /// Whose.
    pub rater: &'a RaterName,
    /// Events of the damaged log, from the first on, that verify.
    pub events: &'a [Event],
    /// What was wrong with it.
    pub damage: &'a str,
    /// The rater's sealed files, in the order they were sealed.
    pub files: &'a [LabelFile],
    /// The order a shard was shown in, where it can still be worked out.
    pub order: &'a dyn Fn(&LabelHeader) -> Option<Vec<Showing>>,
    /// The time.
    pub clock: Clock,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebuilt {
    /// Events taken over as they were.
    pub kept: usize,
    /// Answers and skips taken from sealed files.
    pub added: usize,
    /// Files the log now names that it did not name before.
    pub files: usize,
}

/// Fills an empty log with what remains of another.
///
/// # Errors
/// Events of somebody else or that make no sense together, or a failed write.
pub fn rebuild(log: &mut EventLog, remains: &Remains<'_>) -> Result<Rebuilt, LabelError> {
    let fault = |reason: String| LabelError::Log { rater: remains.rater.clone(), reason };
    let rows: Vec<LabelRow> = remains.events.iter().cloned().map(LabelRow::of).collect();
    only_by(remains.rater, &rows).map_err(fault)?;
    let pen = Pen::new(remains.rater.clone(), last_sitting(&rows), remains.clock);
    let mut histories = History::fold(rows).map_err(fault)?;
    log.copy(remains.events)?;
    let kept = remains.events.len() as u64;
    let said = LabelEvent::Rebuilt { kept, damage: remains.damage.to_owned() };
    log.append(&pen.event(&said), &[])?;
    let mut rebuilt = Rebuilt { kept: remains.events.len(), added: 0, files: 0 };
    for file in remains.files {
        let key = key_of(remains.rater, &file.header);
        let known = histories.iter().position(|history| key.is_of(&history.opening));
        let at = match known {
            Some(at) => at,
            None => {
                histories.push(open(log, &pen, remains, file)?);
                histories.len() - 1
            }
        };
        let history = &mut histories[at];
        if !history.seals().contains(&file.sha256) {
            rebuilt.added += take(log, &pen, history, file).map_err(|error| error.of(remains))?;
            rebuilt.files += 1;
        }
    }
    let pointers = histories.iter().flat_map(History::pointers).collect();
    log.rebuild_pointers(&pointers)?;
    log.fold_write_ahead_log();
    Ok(rebuilt)
}

fn key_of(rater: &RaterName, header: &LabelHeader) -> ShardKey {
    let LabelHeader { manifest, taxonomy, shard, .. } = *header;
    ShardKey { rater: rater.clone(), manifest, taxonomy, shard }
}

/// Opens the shard of a file as it was opened then.
fn open(
    log: &mut EventLog,
    pen: &Pen,
    remains: &Remains<'_>,
    file: &LabelFile,
) -> Result<History, LabelError> {
    let header = &file.header;
    let mut order: Vec<Showing> = file
        .labels
        .iter()
        .map(|line| Showing { fixture: line.fixture, pass: line.pass })
        .chain(file.skipped.iter().map(|it| Showing { fixture: it.fixture, pass: it.pass }))
        .collect();
    order.sort();
    if let Some(planned) = (remains.order)(header) {
        let mut sorted = planned.clone();
        sorted.sort();
        if sorted == order {
            order = planned;
        }
    }
    let opening = Opening {
        shard: header.shard,
        manifest: header.manifest,
        fixture_count: header.fixture_count,
        taxonomy: header.taxonomy,
        groups: header.groups.clone(),
        seed: header.seed,
        overlap: header.overlap,
        repeats: header.repeats,
        order,
    };
    let event = LabelEvent::Open(Box::new(opening.clone()));
    let receipt = log.append_past(&at(pen, &event, &header.opened_at), &[])?;
    let mut history = History::new(receipt.seq, opening, header.opened_at.clone());
    let sitting = LabelEvent::Sitting {
        opening: receipt.seq,
        confinement: header.confinement,
        product: PRODUCT.to_owned(),
        network_disk: None,
    };
    put(log, pen, &mut history, &sitting, &header.opened_at).map_err(|error| error.of(remains))?;
    Ok(history)
}

/// An event as of a time in the past.
fn at(pen: &Pen, event: &LabelEvent, wall_utc: &str) -> NewEvent {
    NewEvent { wall_utc: wall_utc.to_owned(), ..pen.event(event) }
}

/// Why an event was not put.
enum PutError {
    Chain(crate::store::event_chain::ChainError),
    Log(String),
}

impl PutError {
    fn of(self, remains: &Remains<'_>) -> LabelError {
        match self {
            Self::Chain(error) => error.into(),
            Self::Log(reason) => LabelError::Log { rater: remains.rater.clone(), reason },
        }
    }
}

fn put(
    log: &mut EventLog,
    pen: &Pen,
    history: &mut History,
    event: &LabelEvent,
    wall_utc: &str,
) -> Result<(), PutError> {
    let changes = history.pointer_changes(event);
    let receipt = log.append_past(&at(pen, event, wall_utc), &changes).map_err(PutError::Chain)?;
    history.apply(event, receipt.seq, wall_utc).map_err(PutError::Log)
}

/// Takes what a file says beyond the history, then its seal; how many answers and skips that was.
fn take(
    log: &mut EventLog,
    pen: &Pen,
    history: &mut History,
    file: &LabelFile,
) -> Result<usize, PutError> {
    let opening = history.opening_seq;
    let sealed_at = file.header.sealed_at.as_str();
    let mut events: Vec<(String, LabelEvent)> = Vec::new();
    for line in &file.labels {
        let showing = Showing { fixture: line.fixture, pass: line.pass };
        let same = matches!(
            history.current(showing).map(|entry| &entry.given),
            Some(Given::Answer(answer)) if answer.label == line.label
        );
        if !same {
            let answer = Box::new(Answer {
                showing,
                label: line.label.clone(),
                seconds: line.seconds.unwrap_or(0.0),
                seen_as: line.seen_as.clone(),
                amended: line.amended.clone(),
            });
            events.push((line.labelled_at.clone(), LabelEvent::Answer { opening, answer }));
        }
    }
    for line in &file.skipped {
        let showing = Showing { fixture: line.fixture, pass: line.pass };
        let same = matches!(
            history.current(showing).map(|entry| &entry.given),
            Some(Given::Skip(reason)) if *reason == line.reason
        );
        if !same {
            let reason = line.reason.clone();
            events.push((sealed_at.to_owned(), LabelEvent::Skip { opening, showing, reason }));
        }
    }
    // In the order they were given.
    events.sort_by(|one, two| one.0.cmp(&two.0));
    for (wall_utc, event) in &events {
        put(log, pen, history, event, wall_utc)?;
    }
    let seal = LabelEvent::Seal { opening, file: file.sha256 };
    put(log, pen, history, &seal, sealed_at)?;
    Ok(events.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blind::Sealed;
    use crate::blind::history::tests::{answer, opening, showing};
    use crate::blind::journal::append_now;
    use crate::blind::seal::seal;
    use crate::store::label_file::SealPlace;
    use crate::store::label_schema::SCHEMA;

    fn rater() -> RaterName {
        "ada".parse().expect("a name")
    }

    fn clock() -> Clock {
        Clock::Fixed("2026-02-03T04:05:06Z".parse().expect("a time"))
    }

    fn rows(events: &[Event]) -> Vec<LabelRow> {
        events.iter().cloned().map(LabelRow::of).collect()
    }

    /// A log with `before` answers, a seal of two showings, and one answer after it.
    fn sealed_log(folder: &std::path::Path) -> (Vec<Event>, LabelFile) {
        let path = folder.join("ada.db");
        let (mut log, _) = EventLog::open(&path, &SCHEMA).expect("opens");
        let pen = Pen::new(rater(), 0, clock());
        let skip = LabelEvent::Skip { opening: 1, showing: showing(1), reason: "dark".to_owned() };
        let open = LabelEvent::Open(Box::new(opening(2)));
        for event in [open, answer(0, "a"), skip] {
            append_now(&mut log, &pen, &event, &[]).expect("kept");
        }
        let events = EventLog::open_read_only(&path, &SCHEMA).expect("whole").1;
        let key = ShardKey::of(rater(), &opening(2));
        let place = SealPlace::new(folder.join("labels"), key.manifest, key.shard, rater());
        let at = "2026-02-03T05:05:06+00:00".to_owned();
        let sealed = seal(&mut log, rows(&events), &key, &place, &pen, at).expect("sealed");
        let Sealed::Written { file, .. } = sealed else { panic!("written") };
        (EventLog::open_read_only(&path, &SCHEMA).expect("whole").1, *file)
    }

    fn made_from(
        events: &[Event],
        files: &[LabelFile],
        name: &str,
        folder: &std::path::Path,
    ) -> (Rebuilt, Vec<Event>) {
        let path = folder.join(name);
        let (mut log, _) = EventLog::open(&path, &SCHEMA).expect("new");
        let planned = opening(2).order;
        let order = |_: &LabelHeader| Some(planned.clone());
        let (rater, damage) = (rater(), "cut");
        let remains =
            Remains { rater: &rater, events, damage, files, order: &order, clock: clock() };
        let rebuilt = rebuild(&mut log, &remains).expect("rebuilt");
        drop(log);
        (rebuilt, EventLog::open_read_only(&path, &SCHEMA).expect("a whole chain").1)
    }

    #[test]
    fn whatever_part_of_the_log_is_left_the_sealed_answers_are_there_again() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let (events, file) = sealed_log(folder.path());
        assert_eq!(events.len(), 4);
        for left in 0..=events.len() {
            let name = format!("{left}.db");
            let files = [file.clone()];
            let (rebuilt, found) = made_from(&events[..left], &files, &name, folder.path());
            assert_eq!(found[..left], events[..left], "as they were, hashes too");
            assert_eq!(found[left].kind, "rebuilt");
            assert_eq!(rebuilt.kept, left);
            assert_eq!(rebuilt.added, 3 - left.clamp(1, 3), "{left}");
            let history = History::fold(rows(&found)).expect("folds").remove(0);
            assert_eq!(history.opening.order, opening(2).order);
            assert_eq!(history.seals(), [file.sha256]);
            assert_eq!(history.left_count(), 0);
            let skipped = history.current(showing(1)).map(|entry| &entry.given);
            assert!(matches!(skipped, Some(Given::Skip(reason)) if reason == "dark"));
            // The file and the new log agree, so work can go on.
            let key = ShardKey::of(rater(), &history.opening);
            let (mut log, _) = EventLog::open(&folder.path().join(&name), &SCHEMA).expect("opens");
            let place =
                SealPlace::new(folder.path().join("labels"), key.manifest, key.shard, rater());
            let pen = Pen::new(rater(), 9, clock());
            let sealed = seal(&mut log, rows(&found), &key, &place, &pen, String::new());
            assert!(matches!(sealed, Ok(Sealed::Unchanged { .. })), "{sealed:?}");
        }
    }

    #[test]
    fn events_of_somebody_else_are_refused() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let (mut events, _) = sealed_log(folder.path());
        events[2].actor = "bob".to_owned();
        let (mut log, _) = EventLog::open(&folder.path().join("new.db"), &SCHEMA).expect("new");
        let (rater, order) = (rater(), |_: &LabelHeader| None);
        let remains = Remains {
            rater: &rater,
            events: &events,
            damage: "",
            files: &[],
            order: &order,
            clock: clock(),
        };
        let error = rebuild(&mut log, &remains).expect_err("not ada's").to_string();
        assert!(error.contains("event 3 is by bob"), "{error}");
        assert_eq!(log.length(), 0);
    }
}
