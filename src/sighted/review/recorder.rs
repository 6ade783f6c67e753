//! The one thread that writes verdicts and exposures. The screen's thread never waits for a disk.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};

use super::verdict::ReviewEvent;
use crate::domain::shard::RaterName;
use crate::sighted::runs::verdicts::{LoggedEvent, VerdictLog, read};
use crate::store::clock::Clock;

/// Events that may wait to be written.
const QUEUE: usize = 4096;
/// How long a write is tried while another process holds the lock, in attempts of five seconds each.
const ATTEMPTS: u32 = 12;

/// What the writer says.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) enum Reply {
    /// The log was read.
    Opened {
        /// Everything in it so far.
        events: Vec<LoggedEvent>,
        /// Why nothing can be written, if so.
        read_only: Option<String>,
    },
    /// That event stays.
    Saved {
        /// As given to [`Recorder::write`].
        ticket: u64,
    },
    /// Another process is writing; it is being tried again.
    Waiting {
        /// As given.
        ticket: u64,
    },
    /// That event was not kept.
    Failed {
        /// As given.
        ticket: u64,
        /// One line, escaped.
        reason: String,
        /// Nothing more will be written.
        fatal: bool,
    },
}

/// Hands events to the writer thread.
#[derive(Debug)]
pub(in crate::sighted) struct Recorder {
    sender: Option<Sender<(u64, ReviewEvent)>>,
    done: Receiver<()>,
}

impl Recorder {
    /// Starts the writer on the database at `path`. Its replies go to `reply`, the first one is
    /// [`Reply::Opened`].
    ///
    /// # Errors
    /// The system gives no thread.
    pub(in crate::sighted) fn start(
        path: PathBuf,
        reviewer: RaterName,
        clock: Clock,
        reply: impl Fn(Reply) + Send + 'static,
    ) -> io::Result<Self> {
        let (sender, inbox) = crossbeam_channel::bounded(QUEUE);
        let (finished, done) = crossbeam_channel::bounded::<()>(1);
        std::thread::Builder::new().name("verdicts".to_owned()).spawn(move || {
            run(&path, &reviewer, clock, &inbox, &reply);
            drop(finished);
        })?;
        Ok(Self { sender: Some(sender), done })
    }

    /// Has `event` written; the reply names `ticket`. False when the writer is gone or drowned.
    #[must_use]
    pub(in crate::sighted) fn write(&self, ticket: u64, event: ReviewEvent) -> bool {
        self.sender.as_ref().is_some_and(|sender| sender.try_send((ticket, event)).is_ok())
    }

    /// What a dying terminal needs: lets the writer finish what it has, for at most `patience`.
    pub(in crate::sighted) fn close(mut self, patience: Duration) {
        self.sender = None;
        // Ends when the thread drops its end, or in time.
        let _ = self.done.recv_timeout(patience);
    }

    /// A handle that waits for the writer to be idle, for use when the terminal dies.
    pub(in crate::sighted) fn flusher(&self) -> impl FnOnce() + Send + 'static {
        let sender = self.sender.clone();
        move || {
            let deadline = Instant::now() + Duration::from_millis(600);
            while sender.as_ref().is_some_and(|sender| !sender.is_empty())
                && Instant::now() < deadline
            {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

fn run(
    path: &std::path::Path,
    reviewer: &RaterName,
    clock: Clock,
    inbox: &Receiver<(u64, ReviewEvent)>,
    reply: &impl Fn(Reply),
) {
    let mut log = match VerdictLog::open(path) {
        Ok((log, events)) => {
            reply(Reply::Opened { events, read_only: None });
            log
        }
        Err(error) => {
            let reason = error.to_string();
            let events = read(path).unwrap_or_default();
            reply(Reply::Opened { events, read_only: Some(reason.clone()) });
            for (ticket, _) in inbox {
                reply(Reply::Failed { ticket, reason: reason.clone(), fatal: true });
            }
            return;
        }
    };
    let started = Instant::now();
    let mut broken: Option<String> = None;
    for (ticket, event) in inbox {
        if let Some(reason) = &broken {
            reply(Reply::Failed { ticket, reason: reason.clone(), fatal: true });
            continue;
        }
        let mono = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let mut attempt = 1;
        let written = loop {
            match log.append(reviewer, clock.stamp(), mono, &event) {
                Err(error) if error.is_retryable() && attempt < ATTEMPTS => {
                    attempt += 1;
                    reply(Reply::Waiting { ticket });
                }
                other => break other,
            }
        };
        match written {
            Ok(_) => reply(Reply::Saved { ticket }),
            Err(error) => {
                let reason = error.to_string();
                let fatal = error.is_fatal();
                if fatal {
                    broken = Some(reason.clone());
                }
                reply(Reply::Failed { ticket, reason, fatal });
            }
        }
    }
    log.close();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::digest::{ContentHash, FixtureId};
    use crate::sighted::review::verdict::Seen;

    fn event(fixture: u8) -> ReviewEvent {
        ReviewEvent::Exposed {
            comparison: ContentHash::of(b"c"),
            fixture: FixtureId::of(&[fixture]),
            seen: Seen::Decisions,
        }
    }

    fn start(path: PathBuf) -> (Recorder, Receiver<Reply>) {
        let (sender, replies) = crossbeam_channel::bounded(64);
        let recorder = Recorder::start(
            path,
            "ada".parse().expect("a name"),
            Clock::Fixed("2026-02-03T04:05:06Z".parse().expect("a time")),
            move |reply| drop(sender.send(reply)),
        )
        .expect("a thread");
        (recorder, replies)
    }

    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn saved_means_there_after_a_restart() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("runs.db");
        let (recorder, replies) = start(path.clone());
        let opened = replies.recv_timeout(PATIENCE).expect("a reply");
        assert_eq!(opened, Reply::Opened { events: Vec::new(), read_only: None });
        for ticket in 1..=3 {
            assert!(recorder.write(ticket, event(1)));
            assert_eq!(replies.recv_timeout(PATIENCE), Ok(Reply::Saved { ticket }));
        }
        recorder.close(PATIENCE);
        let (recorder, replies) = start(path);
        match replies.recv_timeout(PATIENCE).expect("a reply") {
            Reply::Opened { events, read_only: None } => assert_eq!(events.len(), 3),
            other => panic!("{other:?}"),
        }
        recorder.close(PATIENCE);
    }

    #[test]
    fn a_database_that_cannot_be_used_is_said_and_nothing_pretends_to_be_saved() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("runs.db");
        crate::store::atomic::write(&path, b"this is no database at all").expect("written");
        let (recorder, replies) = start(path);
        match replies.recv_timeout(PATIENCE).expect("a reply") {
            Reply::Opened { read_only: Some(reason), .. } => assert!(reason.contains("runs.db")),
            other => panic!("{other:?}"),
        }
        assert!(recorder.write(7, event(1)));
        let reply = replies.recv_timeout(PATIENCE).expect("a reply");
        assert!(matches!(reply, Reply::Failed { ticket: 7, fatal: true, .. }), "{reply:?}");
        recorder.close(PATIENCE);
    }
}
