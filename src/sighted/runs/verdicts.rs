//! Verdicts and exposures in the event log of `runs.db`.

use std::collections::BTreeSet;
use std::path::Path;

use crate::domain::digest::{ContentHash, FixtureId};
use crate::domain::label::NotPhotograph;
use crate::domain::shard::RaterName;
use crate::sighted::review::verdict::{Ledger, ReviewEvent, Seen};
use crate::store::event_chain::{ChainError, Event, EventLog, NewEvent, Receipt};

use super::SCHEMA;

/// Why verdicts cannot be read.
#[derive(Debug, thiserror::Error)]
pub(in crate::sighted) enum VerdictError {
    /// The log.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// An event that does not say what its kind should.
    #[error("{}: event {seq}: {reason}", crate::domain::escape::escape_os(path.as_os_str()))]
    Event {
        /// The database.
        path: std::path::PathBuf,
        /// Which event.
        seq: u64,
        /// What is wrong, escaped.
        reason: String,
    },
}

/// A review event with who did it and when.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct LoggedEvent {
    /// Its place in the log.
    pub seq: u64,
    /// Who.
    pub actor: String,
    /// When, by the wall clock.
    pub wall_utc: String,
    /// What.
    pub event: ReviewEvent,
}

/// The log, open for writing. One writer thread owns it.
#[derive(Debug)]
pub(in crate::sighted) struct VerdictLog {
    log: EventLog,
    sitting: u64,
}

impl VerdictLog {
    /// Opens or makes the database at `path` and reads every review event of it.
    ///
    /// # Errors
    /// A database that cannot be used, a chain that does not hold, an event that makes no sense.
    pub(in crate::sighted) fn open(path: &Path) -> Result<(Self, Vec<LoggedEvent>), VerdictError> {
        let (log, events) = EventLog::open(path, &SCHEMA)?;
        let sitting = 1 + events.iter().map(|event| event.sitting).max().unwrap_or(0);
        let logged = review_events(path, &events)?;
        Ok((Self { log, sitting }, logged))
    }

    /// Appends an event. When this returns, it stays.
    ///
    /// # Errors
    /// See [`EventLog::append`].
    pub(in crate::sighted) fn append(
        &mut self,
        reviewer: &RaterName,
        wall_utc: String,
        mono_ns: u64,
        event: &ReviewEvent,
    ) -> Result<Receipt, ChainError> {
        let event = self.event(reviewer, wall_utc, mono_ns, event);
        self.log.append(&event, &[])
    }

    fn event(
        &self,
        reviewer: &RaterName,
        wall_utc: String,
        mono_ns: u64,
        event: &ReviewEvent,
    ) -> NewEvent {
        let (kind, payload) = event.to_parts();
        NewEvent {
            kind: kind.to_owned(),
            actor: reviewer.as_str().to_owned(),
            sitting: self.sitting,
            wall_utc,
            mono_ns,
            payload,
        }
    }

    /// Puts everything into the main file.
    pub(in crate::sighted) fn close(self) {
        self.log.fold_write_ahead_log();
    }
}

/// Every review event of the database at `path`, which is not changed; nothing when there is none.
///
/// # Errors
/// As [`VerdictLog::open`].
pub(in crate::sighted) fn read(path: &Path) -> Result<Vec<LoggedEvent>, VerdictError> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let (_, events) = EventLog::open_read_only(path, &SCHEMA)?;
    review_events(path, &events)
}

fn review_events(path: &Path, events: &[Event]) -> Result<Vec<LoggedEvent>, VerdictError> {
    let mut logged = Vec::new();
    for event in events {
        let read = ReviewEvent::from_parts(&event.kind, &event.payload).map_err(|reason| {
            VerdictError::Event {
                path: path.to_owned(),
                seq: event.seq,
                reason: crate::domain::escape::escape(&reason).into_owned(),
            }
        })?;
        if let Some(read) = read {
            logged.push(LoggedEvent {
                seq: event.seq,
                actor: event.actor.clone(),
                wall_utc: event.wall_utc.clone(),
                event: read,
            });
        }
    }
    Ok(logged)
}

/// The state one reviewer's events lead to.
pub(in crate::sighted) fn ledger_of(events: &[LoggedEvent], reviewer: &RaterName) -> Ledger {
    let mut ledger = Ledger::default();
    for logged in events.iter().filter(|logged| logged.actor == reviewer.as_str()) {
        ledger.apply(&logged.event);
    }
    ledger
}

/// Reviewers in the log, in alphabetical order.
pub(in crate::sighted) fn reviewers(events: &[LoggedEvent]) -> Vec<RaterName> {
    let names: std::collections::BTreeSet<&str> =
        events.iter().map(|logged| logged.actor.as_str()).collect();
    names.into_iter().filter_map(|name| name.parse().ok()).collect()
}

/// Somebody saw model output for a fixture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct Sighting {
    /// Who.
    pub who: RaterName,
    /// Of what.
    pub fixture: FixtureId,
    /// Of which comparison.
    pub comparison: ContentHash,
    /// By the wall clock; RFC 3339.
    pub seen_at: String,
}

/// Writes down that `who` saw, at `now`, what the sides of a comparison found in these pictures, so that no
/// later label of theirs counts as blind; how many of them that is new for.
///
/// # Errors
/// The database cannot be written. Nothing is written down then.
pub(in crate::sighted) fn record_sightings(
    path: &Path,
    who: &RaterName,
    now: &str,
    comparison: ContentHash,
    fixtures: impl IntoIterator<Item = FixtureId>,
) -> Result<usize, VerdictError> {
    let (mut log, events) = VerdictLog::open(path)?;
    let mut known: BTreeSet<FixtureId> = sightings(&events)
        .into_iter()
        .filter(|sighting| sighting.who == *who && sighting.comparison == comparison)
        .map(|sighting| sighting.fixture)
        .collect();
    let new: Vec<NewEvent> = fixtures
        .into_iter()
        .filter(|fixture| known.insert(*fixture))
        .map(|fixture| ReviewEvent::Exposed { comparison, fixture, seen: Seen::Decisions })
        .map(|event| log.event(who, now.to_owned(), 0, &event))
        .collect();
    log.log.append_together(&new)?;
    log.close();
    Ok(new.len())
}

/// Who saw model output for what: the first time each. Whoever judges has seen.
pub(in crate::sighted) fn sightings(events: &[LoggedEvent]) -> Vec<Sighting> {
    let mut known = BTreeSet::new();
    events
        .iter()
        .filter_map(|logged| {
            let (comparison, fixture) = match &logged.event {
                ReviewEvent::Exposed { comparison, fixture, .. } => (comparison, fixture),
                ReviewEvent::Judged(_, judgement) => {
                    (&judgement.comparison, &judgement.key.fixture)
                }
                _ => return None,
            };
            let who: RaterName = logged.actor.parse().ok()?;
            known.insert((who.clone(), *fixture)).then(|| Sighting {
                who,
                fixture: *fixture,
                comparison: *comparison,
                seen_at: logged.wall_utc.clone(),
            })
        })
        .collect()
}

/// Fixtures any reviewer's standing flag calls something else than a photograph.
pub(in crate::sighted) fn not_photographs(
    events: &[LoggedEvent],
) -> std::collections::BTreeMap<FixtureId, NotPhotograph> {
    reviewers(events)
        .iter()
        .flat_map(|reviewer| ledger_of(events, reviewer).flagged().collect::<Vec<_>>())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sighted::review::verdict::{ActionId, Flag};

    fn name(text: &str) -> RaterName {
        text.parse().expect("a name")
    }

    fn exposed(fixture: u8) -> ReviewEvent {
        ReviewEvent::Exposed {
            comparison: ContentHash::of(b"c"),
            fixture: FixtureId::of(&[fixture]),
            seen: Seen::Decisions,
        }
    }

    fn flagged(fixture: u8, kind: Option<NotPhotograph>) -> ReviewEvent {
        ReviewEvent::Flagged(
            ActionId(format!("flag-{fixture}-{kind:?}")),
            Flag { fixture: FixtureId::of(&[fixture]), not_photograph: kind },
        )
    }

    #[test]
    fn what_was_acknowledged_is_there_again() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("runs.db");
        assert_eq!(read(&path).expect("no database, no events"), []);
        let kind = NotPhotograph::ALL.first().copied();
        let (mut log, before) = VerdictLog::open(&path).expect("new");
        assert!(before.is_empty());
        let at = |second: u8| format!("2026-02-03T04:05:0{second}+00:00");
        for (who, second, event) in [
            ("ada", 1, exposed(1)),
            ("ada", 2, exposed(1)),
            ("bob", 3, exposed(1)),
            ("bob", 4, flagged(5, kind)),
            ("ada", 5, flagged(6, kind)),
            ("ada", 6, ReviewEvent::Undone(ActionId(format!("flag-6-{kind:?}")))),
        ] {
            log.append(&name(who), at(second), 0, &event).expect("appended");
        }
        log.close();
        let (log, events) = VerdictLog::open(&path).expect("again");
        assert_eq!((log.sitting, events.len()), (2, 6));
        let seen = sightings(&events);
        assert_eq!(seen.len(), 2, "the first time each");
        assert_eq!((seen[0].who.as_str(), seen[0].seen_at.as_str()), ("ada", at(1).as_str()));
        let flags: Vec<_> = not_photographs(&events).into_keys().collect();
        assert_eq!(flags, [FixtureId::of(&[5])]);
        assert_eq!(read(&path).expect("readable").len(), 6);
    }

    #[test]
    fn a_look_is_written_down_once_and_all_of_a_list_together() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("runs.db");
        let look = |who: &str, comparison: &[u8], fixtures: &[u8]| {
            let fixtures = fixtures.iter().map(|number| FixtureId::of(&[*number]));
            let comparison = ContentHash::of(comparison);
            let now = "2026-02-03T04:05:06+00:00";
            record_sightings(&path, &name(who), now, comparison, fixtures).expect("written")
        };
        assert_eq!(look("ada", b"c", &[1, 2, 1]), 2);
        assert_eq!(look("ada", b"c", &[2, 3]), 1);
        assert_eq!(look("ada", b"c", &[1, 2, 3]), 0);
        assert_eq!(look("bob", b"c", &[1]), 1);
        assert_eq!(look("ada", b"another", &[1]), 1);
        assert_eq!(read(&path).expect("a whole chain").len(), 5);
    }

    #[test]
    fn a_changed_database_is_refused() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("runs.db");
        let (mut log, _) = VerdictLog::open(&path).expect("new");
        log.append(&name("ada"), "2026-02-03T04:05:06+00:00".to_owned(), 0, &exposed(1))
            .expect("appended");
        log.close();
        let bytes = std::fs::read(&path).expect("readable");
        let text = b"decisions";
        let place = bytes.windows(text.len()).position(|part| part == text).expect("stored");
        let mut changed = bytes.clone();
        changed[place] ^= 1;
        crate::store::atomic::write(&path, &changed).expect("written");
        assert!(read(&path).is_err());
        crate::store::atomic::write(&path, &bytes).expect("written");
        assert!(read(&path).is_ok());
    }
}
