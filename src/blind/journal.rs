//! The only writer of a rater's log. One thread owns the database; everybody else hands it events and
//! is told what became of them.
//!
//! It reads back what it wrote, and only the rater whose log it was given: no other can be named here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::domain::shard::RaterName;
use crate::store::clock::Clock;
use crate::store::event_chain::{ChainError, EventLog, NewEvent, PointerChange, Receipt};
use crate::store::label_schema::LabelEvent;

/// How long to wait before a locked database is tried again; the database itself has waited already.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// Most events under way. A screen sends the next one only after the last was acknowledged.
const CAPACITY: usize = 4;

/// What became of an event.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum News {
    /// It stays, whatever happens next.
    Saved {
        /// The number it was handed in under.
        ticket: u64,
        /// Its place and the chain's new head.
        receipt: Receipt,
        /// The time it got.
        wall_utc: String,
    },
    /// Another process is writing; it is still being tried.
    Waiting {
        /// The number it was handed in under.
        ticket: u64,
        /// For how long.
        since: Duration,
    },
    /// It is not saved.
    Failed {
        /// The number it was handed in under.
        ticket: u64,
        /// Why, one line.
        reason: String,
        /// Nothing more can be saved in this sitting.
        fatal: bool,
    },
}

/// An event on its way.
struct Job {
    ticket: u64,
    event: LabelEvent,
    changes: Vec<PointerChange>,
}

/// Who writes, in which sitting, by which clock.
#[derive(Debug, Clone)]
pub(super) struct Pen {
    rater: RaterName,
    sitting: u64,
    clock: Clock,
    begun: Instant,
}

impl Pen {
    /// A new sitting. `last` is the newest one of the log.
    pub(super) fn new(rater: RaterName, last: u64, clock: Clock) -> Self {
        Self { rater, sitting: last + 1, clock, begun: Instant::now() }
    }

    /// The event as the log takes it, stamped now.
    pub(super) fn event(&self, event: &LabelEvent) -> NewEvent {
        let (kind, payload) = event.to_parts();
        NewEvent {
            kind: kind.to_owned(),
            actor: self.rater.to_string(),
            sitting: self.sitting,
            wall_utc: self.clock.stamp(),
            mono_ns: u64::try_from(self.elapsed().as_nanos()).unwrap_or(u64::MAX),
            payload,
        }
    }

    /// Time since the sitting began; none passes by a clock that is held still.
    fn elapsed(&self) -> Duration {
        match self.clock {
            Clock::System => self.begun.elapsed(),
            Clock::Fixed(_) => Duration::ZERO,
        }
    }
}

/// The writer's handle. Dropping it ends the thread after what it is doing.
#[derive(Debug)]
pub(super) struct Journal {
    jobs: Option<Sender<Job>>,
    giving_up: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Journal {
    /// Starts the writer. `tell` is called on its thread.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(super) fn start(
        log: EventLog,
        pen: Pen,
        tell: impl Fn(News) + Send + 'static,
    ) -> std::io::Result<Self> {
        log.wait_briefly();
        let (jobs, inbox) = bounded::<Job>(CAPACITY);
        let giving_up = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&giving_up);
        let thread = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || write(log, &pen, &inbox, &stop, &tell))?;
        Ok(Self { jobs: Some(jobs), giving_up, thread: Some(thread) })
    }

    /// Hands in an event. Never waits: with the writer gone or overloaded it answers false, and the event
    /// was not taken.
    #[must_use]
    pub(super) fn append(
        &self,
        ticket: u64,
        event: LabelEvent,
        changes: Vec<PointerChange>,
    ) -> bool {
        let job = Job { ticket, event, changes };
        self.jobs.as_ref().is_some_and(|jobs| jobs.try_send(job).is_ok())
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // What is being written is finished; what waits for another process's lock is given up.
        self.giving_up.store(true, Ordering::SeqCst);
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // Its own panic was reported where it happened.
            let _ = thread.join();
        }
    }
}

fn write(
    mut log: EventLog,
    pen: &Pen,
    inbox: &Receiver<Job>,
    giving_up: &AtomicBool,
    tell: &(impl Fn(News) + Send),
) {
    let mut broken = false;
    for job in inbox {
        let ticket = job.ticket;
        if broken {
            let reason = "an earlier failure of the disk; start again".to_owned();
            tell(News::Failed { ticket, reason, fatal: true });
            continue;
        }
        let begun = Instant::now();
        let event = pen.event(&job.event);
        loop {
            match log.append(&event, &job.changes) {
                Ok(receipt) => {
                    tell(News::Saved { ticket, receipt, wall_utc: event.wall_utc });
                    break;
                }
                Err(error) if error.is_retryable() && !giving_up.load(Ordering::SeqCst) => {
                    tell(News::Waiting { ticket, since: begun.elapsed() });
                    std::thread::sleep(RETRY_PAUSE);
                }
                Err(error) => {
                    broken = error.is_fatal();
                    tell(News::Failed { ticket, reason: error.without_path(), fatal: broken });
                    break;
                }
            }
        }
    }
    if !broken {
        log.fold_write_ahead_log();
    }
}

/// Writes events one after another and waits for each: for everything that has no screen.
///
/// # Errors
/// The first that was not saved.
pub(super) fn append_now(
    log: &mut EventLog,
    pen: &Pen,
    event: &LabelEvent,
    changes: &[PointerChange],
) -> Result<(Receipt, String), ChainError> {
    let event = pen.event(event);
    log.append(&event, changes).map(|receipt| (receipt, event.wall_utc))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blind::history::tests::{answer, opening};
    use crate::store::event_chain::Event;
    use crate::store::label_schema::SCHEMA;
    use crate::store::sqlite::SqliteError;
    use std::path::Path;

    const PATIENCE: Duration = Duration::from_secs(30);

    fn pen() -> Pen {
        let time = "2026-02-03T04:05:06Z".parse().expect("a time");
        Pen::new("ada".parse().expect("a name"), 0, Clock::Fixed(time))
    }

    fn start(path: &Path) -> (Journal, Receiver<News>) {
        let (log, _) = EventLog::open(path, &SCHEMA).expect("opens");
        let (sender, news) = crossbeam_channel::unbounded();
        let journal = Journal::start(log, pen(), move |told| {
            let _ = sender.send(told);
        });
        (journal.expect("a thread"), news)
    }

    fn events(path: &Path) -> Vec<Event> {
        EventLog::open_read_only(path, &SCHEMA).expect("opens").1
    }

    #[test]
    fn what_is_acknowledged_is_there() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("ada.db");
        let (journal, news) = start(&path);
        assert!(journal.append(1, LabelEvent::Open(Box::new(opening(2))), Vec::new()));
        assert!(journal.append(2, answer(0, "x"), Vec::new()));
        for expected in [1, 2] {
            let told = news.recv_timeout(PATIENCE).expect("an answer");
            let News::Saved { ticket, receipt, wall_utc } = told else { panic!("{told:?}") };
            assert_eq!((ticket, receipt.seq), (expected, expected));
            assert_eq!(wall_utc, "2026-02-03T04:05:06+00:00");
        }
        drop(journal);
        assert!(!folder.path().join("ada.db-wal").exists(), "all of it is in the main file");
        let events = events(&path);
        assert_eq!(events.len(), 2);
        assert_eq!((events[1].actor.as_str(), events[1].sitting, events[1].mono_ns), ("ada", 1, 0));
    }

    #[test]
    fn a_lock_elsewhere_makes_it_wait_and_say_so() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("ada.db");
        let (journal, news) = start(&path);
        let other = crate::store::sqlite::open(&path, &SCHEMA).expect("opens");
        other.execute_batch("BEGIN IMMEDIATE").expect("locked");
        assert!(journal.append(1, LabelEvent::Open(Box::new(opening(2))), Vec::new()));
        let told = news.recv_timeout(PATIENCE).expect("an answer");
        assert!(matches!(told, News::Waiting { ticket: 1, .. }), "{told:?}");
        other.execute_batch("ROLLBACK").expect("free");
        let saved = news.iter().find(|told| !matches!(told, News::Waiting { .. }));
        assert!(matches!(saved, Some(News::Saved { ticket: 1, .. })), "{saved:?}");
        // Leaving while it waits gives up, and says that nothing was saved.
        other.execute_batch("BEGIN IMMEDIATE").expect("locked");
        assert!(journal.append(2, answer(0, "x"), Vec::new()));
        drop(journal);
        let last = news.iter().last();
        assert!(matches!(last, Some(News::Failed { ticket: 2, fatal: false, .. })), "{last:?}");
        other.execute_batch("ROLLBACK").expect("free");
        assert_eq!(events(&path).len(), 1);
    }

    #[test]
    fn only_lock_space_and_permission_can_be_tried_again() {
        let path = std::path::PathBuf::from("x");
        for (error, fatal) in [
            (SqliteError::Busy { path: path.clone() }, false),
            (SqliteError::Full { path: path.clone() }, false),
            (SqliteError::ReadOnly { path: path.clone() }, false),
            (SqliteError::Device { path: path.clone(), reason: String::new() }, true),
            (SqliteError::Damaged { path: path.clone(), reason: String::new() }, true),
        ] {
            assert_eq!(ChainError::from(error).is_fatal(), fatal);
        }
        assert!(ChainError::ReadBack { path, seq: 1 }.is_fatal());
    }
}
