//! A comparison that goes on behind the screens: started from the overview, looked at, reviewed while it
//! grows, cancelled.
//!
//! The thread that runs it never waits for a screen. It leaves news in one place; whoever looks has a
//! thread of its own that hands on the newest, and drops what came between.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::parity::{ParityAnswer, ParityQuestion, compare_followed};
use super::review::{Backstage, ReviewEnd, ReviewQuestion, start};
use super::runtime::{RuntimeState, runtime_state};
use crate::domain::escape::{escape, escape_os};
use crate::sighted::decision::report::{FixtureRow, FixtureStatus, Item};
use crate::sighted::harness::run::{Follow, RunProgress};
use crate::sighted::review::material::{Header, Material};
use crate::sighted::score::gather::read_report;
use crate::sighted::screen::progress::{Effect, Leave, Msg, Progress, RunEnd, Standing};
use crate::sighted::screen::review::{Msg as ReviewMsg, ReviewScreen};
use crate::store::clock::Clock;
use crate::store::workspace::Workspace;
use crate::tui::event_loop::Ended;
use crate::tui::session::Session;

/// How far a run is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParityProgress {
    /// Fixtures to go through.
    pub total: u64,
    /// Fixtures gone through.
    pub done: u64,
    /// Of those, left out.
    pub left_out: u64,
    /// Slot flips at the recommended threshold so far.
    pub threshold_flips: u64,
    /// Pictures with a changed decision so far.
    pub images_changed: u64,
    /// Fixtures per second, lately.
    pub per_second: Option<f64>,
    /// Time that is left at that pace.
    pub remaining: Option<Duration>,
}

impl From<&RunProgress> for ParityProgress {
    fn from(progress: &RunProgress) -> Self {
        let RunProgress {
            total,
            done,
            left_out,
            remembered: _,
            threshold_flips,
            images_changed,
            per_second,
            remaining,
        } = progress.clone();
        Self { total, done, left_out, threshold_flips, images_changed, per_second, remaining }
    }
}

/// Who is told how a comparison goes, from its set-up on.
pub(in crate::sighted) trait Follower: Follow {
    /// Both sides can be run over pictures that lie in `folder`.
    fn ready(&self, header: Header, folder: &Path);
}

/// Somebody who wants numbers only.
pub(in crate::sighted) struct Numbers<'a>(pub &'a (dyn Fn(&ParityProgress) + Sync));

impl Follow for Numbers<'_> {
    fn went(&self, progress: &RunProgress) {
        (self.0)(&progress.into());
    }
}

impl Follower for Numbers<'_> {
    fn ready(&self, _header: Header, _folder: &Path) {}
}

/// Between two pieces of news to one screen. A screen that is drawn more often is no easier to read.
const PACE: Duration = Duration::from_millis(100);
/// The same for the queue of a review, which is sorted again each time.
const QUEUE_PACE: Duration = Duration::from_millis(500);
/// Messages that may wait for a screen.
const QUEUE: usize = 8;

/// What is known of a run.
#[derive(Default)]
struct News {
    /// Changes with every change.
    version: u64,
    standing: Standing,
    folder: PathBuf,
    material: Option<Arc<Material>>,
    report: Option<PathBuf>,
}

#[derive(Default)]
struct Shared {
    news: Mutex<News>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, change: impl FnOnce(&mut News)) {
        let mut news = self.lock();
        change(&mut news);
        news.version += 1;
        drop(news);
        self.changed.notify_all();
    }
}

impl Follow for Shared {
    fn went(&self, progress: &RunProgress) {
        self.tell(|news| {
            let standing = &mut news.standing;
            standing.total = progress.total;
            standing.done = progress.done;
            standing.left_out = progress.left_out;
            standing.remembered = progress.remembered;
            standing.per_second = progress.per_second;
            standing.remaining = progress.remaining;
            if progress.done == progress.total {
                standing.phase = "writing the report";
            }
        });
    }

    fn saw(&self, row: &FixtureRow, items: &[Item]) {
        self.tell(|news| {
            if let (FixtureStatus::LeftOut, Some(reason)) = (row.status, &row.reason) {
                let last = format!("{}: {}", escape(&row.path), escape(reason));
                news.standing.last_left_out = Some(last);
            }
            let (Some(material), Some(found)) = (&mut news.material, &row.found) else { return };
            let material = Arc::make_mut(material);
            let from = material.items.len();
            // A row that was compared has a hash; one without would not be shown, which the report says.
            if material.add(&row.path, &row.sha256, &news.folder, found, items.iter()).is_err() {
                return;
            }
            let moved = material.items[from..].iter().filter(|item| item.is_moved()).count();
            let changed = material.items.len() - from - moved;
            news.standing.moved += moved;
            news.standing.changes += changed;
            news.standing.images_changed += usize::from(changed > 0);
        });
    }
}

impl Follower for Shared {
    fn ready(&self, header: Header, folder: &Path) {
        self.tell(|news| {
            news.standing.phase = "running both artifacts";
            news.folder = folder.to_owned();
            news.material = Some(Arc::new(Material::start(header)));
        });
    }
}

/// A comparison on a thread of its own.
pub struct BackgroundRun {
    shared: Arc<Shared>,
    cancel: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl BackgroundRun {
    /// Starts it.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(question: ParityQuestion) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let name = |path: &Path| escape_os(path.file_name().unwrap_or(path.as_os_str()));
        shared.lock().standing = Standing {
            sides: [name(&question.reference.written), name(&question.candidate.written)],
            phase: "reading both artifacts",
            ..Standing::default()
        };
        let cancel = Arc::new(AtomicBool::new(false));
        let thread = std::thread::Builder::new().name("parity".to_owned()).spawn({
            let (shared, cancel) = (Arc::clone(&shared), Arc::clone(&cancel));
            move || {
                let end = catch_unwind(AssertUnwindSafe(|| run(&question, &cancel, &shared)));
                let end = end.unwrap_or_else(|_| {
                    RunEnd::Failed("the run stopped by a fault of this program".to_owned())
                });
                shared.tell(|news| news.standing.ended = Some(end));
            }
        })?;
        Ok(Self { shared, cancel, thread: Some(thread) })
    }

    /// Whether it has not ended.
    pub fn is_going_on(&self) -> bool {
        self.shared.lock().standing.ended.is_none()
    }

    /// The report, once it was written.
    pub fn report(&self) -> Option<PathBuf> {
        self.shared.lock().report.clone()
    }

    /// Asks it to stop after the picture it is at, and waits until it has.
    pub fn stop(mut self) {
        self.cancel.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Its panics were caught, and there is nobody left to tell.
            let _ = thread.join();
        }
    }

    /// Calls `tell` with the newest news until it says no or the returned value is dropped.
    pub(in crate::sighted) fn follow(
        &self,
        pace: Duration,
        mut tell: impl FnMut(&Standing, Option<&Arc<Material>>) -> bool + Send + 'static,
    ) -> std::io::Result<Following> {
        let shared = Arc::clone(&self.shared);
        let over = Arc::new(AtomicBool::new(false));
        std::thread::Builder::new().name("run-news".to_owned()).spawn({
            let (shared, over) = (Arc::clone(&shared), Arc::clone(&over));
            move || {
                let mut seen = None;
                loop {
                    let mut news = shared.lock();
                    while seen == Some(news.version) && !over.load(Ordering::Relaxed) {
                        news = shared.changed.wait(news).unwrap_or_else(PoisonError::into_inner);
                    }
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                    seen = Some(news.version);
                    let (standing, material) = (news.standing.clone(), news.material.clone());
                    drop(news);
                    if !tell(&standing, material.as_ref()) || standing.ended.is_some() {
                        return;
                    }
                    drop(material);
                    std::thread::sleep(pace);
                }
            }
        })?;
        Ok(Following { shared, over })
    }

    /// Shows how it goes, until the person goes elsewhere.
    ///
    /// # Errors
    /// The terminal failed, or the system gives no thread.
    pub fn show(&self, session: &mut Session) -> anyhow::Result<RunNext> {
        let (sender, answers) = crossbeam_channel::bounded(QUEUE);
        let _following = self.follow(PACE, move |standing, _| {
            sender.send(Msg::Standing(Box::new(standing.clone()))).is_ok()
        })?;
        let mut screen = Progress::new(self.shared.lock().standing.clone());
        let ended = session.run(&mut screen, &answers, |effect| match effect {
            Effect::Cancel => self.cancel.store(true, Ordering::Relaxed),
        })?;
        Ok(match (ended, screen.left()) {
            (Ended::Signal(number), _) => RunNext::Signal(number),
            (Ended::Left, _) | (_, Leave::Back) => RunNext::Back,
            (_, Leave::Review) => RunNext::Review,
            (_, Leave::Install) => RunNext::Install,
            (_, Leave::Again) => RunNext::Again,
        })
    }

    /// Reviews what it found so far, while it goes on.
    ///
    /// # Errors
    /// The terminal failed, or the system gives no threads.
    pub fn review(
        &self,
        question: &ReviewQuestion,
        workspace: &Workspace,
        session: &mut Session,
        clock: Clock,
    ) -> anyhow::Result<ReviewEnd> {
        let backstage = Backstage::start(&question.reviewer, workspace, clock)?;
        let (sender, fixtures) = (backstage.sender(), backstage.fixtures());
        let mut shown = None;
        // What the screen lets go of is freed here, where nobody waits.
        let mut sent: [Option<Arc<Material>>; 2] = [None, None];
        let _following = self.follow(QUEUE_PACE, move |standing, material| {
            // A queue that did not grow need not be sorted again.
            let now = (standing.changes, standing.moved, standing.ended.is_some());
            match material.filter(|_| shown != Some(now)) {
                Some(material) => {
                    shown = Some(now);
                    fixtures.learn(material);
                    sent.rotate_left(1);
                    sent[1] = Some(Arc::clone(material));
                    sender.send(ReviewMsg::Grown(Arc::clone(material))).is_ok()
                }
                None => true,
            }
        })?;
        let mut screen = ReviewScreen::new(start(question));
        backstage.run(session, &mut screen)
    }
}

impl Drop for BackgroundRun {
    fn drop(&mut self) {
        self.cancel.store(true, Ordering::Relaxed);
    }
}

/// Somebody is told of news until this is dropped.
pub(in crate::sighted) struct Following {
    shared: Arc<Shared>,
    over: Arc<AtomicBool>,
}

impl Drop for Following {
    fn drop(&mut self) {
        // Under the lock, so that the thread is either before its look or already waiting.
        let news = self.shared.lock();
        self.over.store(true, Ordering::Relaxed);
        drop(news);
        self.shared.changed.notify_all();
    }
}

/// Where the person goes from the screen of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunNext {
    /// To the overview.
    Back,
    /// To what was found.
    Review,
    /// Fetch the runtime, then start again.
    Install,
    /// Start again.
    Again,
    /// A signal came; the number is the system's.
    Signal(i32),
}

fn run(question: &ParityQuestion, cancel: &AtomicBool, shared: &Shared) -> RunEnd {
    match runtime_state(question.ort_lib.as_deref()) {
        Ok(RuntimeState::Found) => {}
        Ok(RuntimeState::CanInstall { problem, offer }) => {
            return RunEnd::NoRuntime {
                problem,
                offer: format!(
                    "ONNX Runtime {} from the Python package index, {:.1} MB, sha256 {}, into {}",
                    offer.version,
                    offer.bytes as f64 / 1e6,
                    offer.sha256,
                    escape_os(offer.folder.as_os_str())
                ),
            };
        }
        Err(error) => return failed(&error),
    }
    let compared = match compare_followed(question, cancel, shared) {
        Ok(ParityAnswer::Compared(compared)) => compared,
        Ok(ParityAnswer::Stopped { .. }) => return RunEnd::Cancelled,
        Ok(ParityAnswer::Blocked { text, .. }) => {
            return RunEnd::Failed(text.lines().collect::<Vec<_>>().join("; "));
        }
        Err(error) => return failed(&error),
    };
    // From here on a review shows what the report says, totals and all.
    let folder = shared.lock().folder.clone();
    let read = read_report(&compared.report).map_err(anyhow::Error::from);
    let material = read.and_then(|(report, hash)| {
        Material::from_report(&report, Some(hash), &folder).map_err(anyhow::Error::msg)
    });
    let name = compared.report.file_name().unwrap_or_default();
    let (name, sentence) = (escape_os(name), compared.sentence.clone());
    match material {
        Ok(material) => {
            shared.tell(|news| {
                news.material = Some(Arc::new(material));
                news.report = Some(compared.report.clone());
            });
            RunEnd::Finished { report: name, sentence, notes: compared.notes }
        }
        Err(error) => failed(&error.context(format!("{name} was written, but"))),
    }
}

fn failed(error: &anyhow::Error) -> RunEnd {
    RunEnd::Failed(format!("{error:#}"))
}
