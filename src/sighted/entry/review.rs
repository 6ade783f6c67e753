//! Review, for the command line: on a screen, as lines, as JSON.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use crossbeam_channel::{Receiver, Sender};

use super::report_choice::report_of;
use crate::domain::digest::FixtureId;
use crate::domain::escape::escape_os;
use crate::domain::shard::RaterName;
use crate::sighted::review::desk::Desk;
use crate::sighted::review::material::Material;
use crate::sighted::review::pictures::Fixtures;
use crate::sighted::review::recorder::{Recorder, Reply};
use crate::sighted::review::verdict::{Ledger, ReviewEvent};
use crate::sighted::review::{plain, twin};
use crate::sighted::runs::verdicts::{self, VerdictLog, ledger_of};
use crate::sighted::score::gather::read_report;
pub use crate::sighted::screen::review::Place;
use crate::sighted::screen::review::{Effect, Msg, ReviewScreen, Start};
use crate::store::atomic;
use crate::store::clock::Clock;
use crate::store::file;
use crate::store::workspace::Workspace;
use crate::tui::event_loop::Ended;
use crate::tui::headless::{self, Dump};
use crate::tui::picture::PictureSource as _;
use crate::tui::picture::worker::{Answer, PictureWorker, encode};
use crate::tui::screen::{Input, Look, Screen as _};
use crate::tui::session::Session;
use crate::tui::terminal;

/// Answers that may wait for the screen.
const QUEUE: usize = 256;
/// Largest import, in bytes.
const MAX_IMPORT_BYTES: u64 = 64 << 20;

/// What is to be reviewed, and by whom.
#[derive(Debug, Clone)]
pub struct ReviewQuestion {
    /// The parity report; without it, the workspace's.
    pub report: Option<PathBuf>,
    /// Folder the report's pictures are relative to; without it, the workspace manifest's folder.
    pub fixtures: Option<PathBuf>,
    /// Who reviews.
    pub reviewer: RaterName,
    /// Which side is which is not shown.
    pub hidden_sides: bool,
    /// The picture to begin with: part of a name or hash.
    pub at: Option<String>,
    /// Where the reviewer was when they left this review before.
    pub place: Option<Place>,
}

/// How a sitting at the screen ended.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewEnd {
    /// Why the screen is gone.
    pub ended: Ended,
    /// What could not be stored.
    pub unsaved: usize,
    /// Where the reviewer was.
    pub place: Option<Place>,
}

/// A name for whoever runs the program, if the system has one that a rater may have.
pub fn default_reviewer() -> Option<RaterName> {
    let name = ["USER", "LOGNAME", "USERNAME"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        .or_else(account_name)?;
    let plain: String = name
        .to_lowercase()
        .chars()
        .map(|character| if character.is_ascii_alphanumeric() { character } else { '-' })
        .collect();
    plain.trim_matches('-').parse().ok()
}

/// The name of the account we run under, where the environment does not say it.
#[cfg(unix)]
fn account_name() -> Option<String> {
    let own = rustix::process::getuid().as_raw().to_string();
    let accounts = std::fs::read_to_string("/etc/passwd").ok()?;
    accounts.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, id) = (fields.next()?, fields.nth(1)?);
        (id == own).then(|| name.to_owned())
    })
}

#[cfg(not(unix))]
fn account_name() -> Option<String> {
    None
}

/// A number nobody can guess: names a sitting, and decides which side is left.
pub fn new_seed() -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _};
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.finish()
}

fn report_path(question: &ReviewQuestion, workspace: &Workspace) -> anyhow::Result<PathBuf> {
    if let Some(path) = &question.report {
        return Ok(path.clone());
    }
    report_of(workspace)
}

pub(in crate::sighted) fn load(
    question: &ReviewQuestion,
    workspace: &Workspace,
) -> anyhow::Result<Material> {
    let path = report_path(question, workspace)?;
    let (report, hash) = read_report(&path)?;
    let folder = question.fixtures.clone().unwrap_or_else(|| {
        let manifest = workspace.resolve(&workspace.config.fixtures.manifest);
        manifest.parent().map_or_else(|| workspace.root.clone(), Path::to_owned)
    });
    Material::from_report(&report, Some(hash), &folder)
        .map_err(|reason| anyhow::anyhow!("{}: {reason}", escape_os(path.as_os_str())))
}

/// The threads behind a review screen: they read, decode and write, and answer with messages.
pub(in crate::sighted) struct Backstage {
    answers: Receiver<Msg>,
    sender: Sender<Msg>,
    fixtures: Fixtures,
    pictures: PictureWorker,
    recorder: Recorder,
    copies: PathBuf,
}

impl Backstage {
    /// Starts them: from now on the log is being read.
    pub(in crate::sighted) fn start(
        reviewer: &RaterName,
        workspace: &Workspace,
        clock: Clock,
    ) -> anyhow::Result<Self> {
        let (sender, answers) = crossbeam_channel::bounded(QUEUE);
        let fixtures = Fixtures::default();
        // A screen that is gone needs no answer.
        let to_screen = sender.clone();
        let pictures = PictureWorker::start(fixtures.clone(), move |answer| {
            drop(to_screen.send(Msg::Picture(answer)));
        })?;
        let to_screen = sender.clone();
        let recorder =
            Recorder::start(workspace.runs_database(), reviewer.clone(), clock, move |reply| {
                drop(to_screen.send(Msg::Recorded(reply)))
            })?;
        let copies = workspace.sessions_dir().join("copied-change.json");
        Ok(Self { answers, sender, fixtures, pictures, recorder, copies })
    }

    /// Where messages for the screen can be sent, too.
    pub(in crate::sighted) fn sender(&self) -> Sender<Msg> {
        self.sender.clone()
    }

    /// Whoever sends material tells these first where its pictures lie: the screen's thread has no time for
    /// that.
    pub(in crate::sighted) fn fixtures(&self) -> Fixtures {
        self.fixtures.clone()
    }

    /// Runs the screen in `session` until it is left, and lets the writer finish.
    pub(in crate::sighted) fn run(
        self,
        session: &mut Session,
        screen: &mut ReviewScreen,
    ) -> anyhow::Result<ReviewEnd> {
        let last_words = terminal::on_death(self.recorder.flusher());
        let ended = session.run(screen, &self.answers, |effect| match effect {
            Effect::Pictures(requests) => self.pictures.request_all(requests),
            Effect::Copy(text) => copy(text, self.copies.clone(), self.sender.clone()),
            Effect::Write(ticket, event) => {
                if !self.recorder.write(ticket, event) {
                    let reason = "the writer does not answer".to_owned();
                    let failed = Reply::Failed { ticket, reason, fatal: false };
                    // A full queue is being emptied: the screen will ask again.
                    drop(self.sender.try_send(Msg::Recorded(failed)));
                }
            }
        })?;
        drop(last_words);
        // What is still on its way to the disk is waited for, so that the count below is true.
        self.recorder.close(Duration::from_secs(10));
        while let Ok(msg) = self.answers.try_recv() {
            if matches!(msg, Msg::Recorded(_)) {
                screen.update(msg, Duration::ZERO);
            }
        }
        Ok(ReviewEnd { ended, unsaved: screen.unsaved(), place: screen.place() })
    }
}

/// Offers a change to the clipboard, and writes it to a file, for terminals that do not take it. The disk is
/// waited for elsewhere.
fn copy(text: String, file: PathBuf, sender: Sender<Msg>) {
    let offered = terminal::offer_to_clipboard(&text);
    let writer = std::thread::Builder::new().name("copy".to_owned()).spawn({
        let sender = sender.clone();
        move || {
            let written = atomic::write(&file, text.as_bytes()).map_err(|error| error.to_string());
            drop(sender.send(Msg::Copied(offered, written)));
        }
    });
    if let Err(error) = writer {
        drop(sender.try_send(Msg::Copied(offered, Err(error.to_string()))));
    }
}

/// Reviews on the screen of `session`.
///
/// # Errors
/// The terminal failed. A report or database that cannot be used is said on the screen.
pub fn review_on_screen(
    question: &ReviewQuestion,
    workspace: &Workspace,
    session: &mut Session,
    clock: Clock,
) -> anyhow::Result<ReviewEnd> {
    let backstage = begin(question, workspace, clock)?;
    let mut screen = ReviewScreen::new(start(question));
    backstage.run(session, &mut screen)
}

/// A review whose report is being read while the terminal is still being asked what it can.
#[must_use]
pub struct PreparedReview {
    backstage: Backstage,
    screen: ReviewScreen,
}

/// Begins reading before there is a screen.
///
/// # Errors
/// The system gives no threads.
pub fn prepare_review(
    question: &ReviewQuestion,
    workspace: &Workspace,
    clock: Clock,
) -> anyhow::Result<PreparedReview> {
    Ok(PreparedReview {
        backstage: begin(question, workspace, clock)?,
        screen: ReviewScreen::new(start(question)),
    })
}

impl PreparedReview {
    /// Reviews on the screen of `session`.
    ///
    /// # Errors
    /// The terminal failed.
    pub fn run(mut self, session: &mut Session) -> anyhow::Result<ReviewEnd> {
        self.backstage.run(session, &mut self.screen)
    }
}

pub(in crate::sighted) fn start(question: &ReviewQuestion) -> Start {
    Start {
        reviewer: question.reviewer.clone(),
        seed: new_seed(),
        hidden_sides: question.hidden_sides,
        at: question.at.clone(),
        place: question.place.clone(),
    }
}

fn begin(
    question: &ReviewQuestion,
    workspace: &Workspace,
    clock: Clock,
) -> anyhow::Result<Backstage> {
    let backstage = Backstage::start(&question.reviewer, workspace, clock)?;
    let (question, workspace) = (question.clone(), workspace.clone());
    let (sender, fixtures) = (backstage.sender(), backstage.fixtures());
    std::thread::Builder::new().name("report".to_owned()).spawn(move || {
        let material = load(&question, &workspace).map_err(|error| format!("{error:#}"));
        if let Ok(material) = &material {
            fixtures.learn(material);
        }
        drop(sender.send(Msg::Loaded(Box::new(material))));
    })?;
    Ok(backstage)
}

/// Reviews by numbered prompts.
///
/// # Errors
/// The report or the database cannot be used, or input or output failed.
pub fn review_in_lines(
    question: &ReviewQuestion,
    workspace: &Workspace,
    clock: Clock,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let material = load(question, workspace)?;
    let (mut log, events) = VerdictLog::open(&workspace.runs_database())?;
    let ledger = ledger_of(&events, &question.reviewer);
    let mut desk = Desk::new(material, ledger, new_seed(), question.hidden_sides);
    if let Some(at) = &question.at {
        let place = desk.queue.look_up(&desk.material, at);
        let place = place.with_context(|| not_in_queue(at))?;
        desk.queue.go_to(place);
    }
    let started = Instant::now();
    let result = plain::run(&mut desk, input, output, &mut |event: &ReviewEvent| {
        let mono = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        log.append(&question.reviewer, clock.stamp(), mono, event)
            .map(drop)
            .map_err(|error| format!("not saved: {error}"))
    });
    log.close();
    Ok(result?)
}

fn not_in_queue(at: &str) -> String {
    format!("nothing in the queue is called {}", crate::domain::escape::escape(at))
}

fn ledger(question: &ReviewQuestion, workspace: &Workspace) -> anyhow::Result<Ledger> {
    let events = verdicts::read(&workspace.runs_database())?;
    Ok(ledger_of(&events, &question.reviewer))
}

/// Every change with what stands, as JSON.
///
/// # Errors
/// The report or the database cannot be used.
pub fn review_list(
    question: &ReviewQuestion,
    workspace: &Workspace,
    clock: Clock,
) -> anyhow::Result<Shown<String>> {
    let material = load(question, workspace)?;
    let ledger = ledger(question, workspace)?;
    let listed = material.items.iter().map(|item| item.key.fixture).collect();
    Ok(Shown {
        what: twin::list(&material, &ledger, question.reviewer.as_str()).to_file(),
        not_recorded: record(question, workspace, &material, listed, clock),
    })
}

/// Something with what the sides found, made for somebody to see.
#[derive(Debug)]
pub struct Shown<T> {
    /// What.
    pub what: T,
    /// Why it could not be written down that the reviewer has seen it, if so.
    pub not_recorded: Option<String>,
}

/// Seeing what a model said of a fixture is an exposure, wherever it is seen. Why it could not be written
/// down, if so: a workspace that is read-only can be looked at all the same.
fn record(
    question: &ReviewQuestion,
    workspace: &Workspace,
    material: &Material,
    fixtures: Vec<FixtureId>,
    clock: Clock,
) -> Option<String> {
    let (who, now) = (&question.reviewer, clock.stamp());
    let database = workspace.runs_database();
    verdicts::record_sightings(&database, who, &now, material.comparison, fixtures)
        .err()
        .map(|error| format!("that {who} has seen this is not recorded: {error}"))
}

/// What an import did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportAnswer {
    /// Verdicts in the file.
    pub read: usize,
    /// Of those, new or changed.
    pub stored: usize,
}

/// Takes verdicts over from a file of JSON lines: all of them, or none.
///
/// # Errors
/// Every faulty line; or the report or database cannot be used.
pub fn import_verdicts(
    question: &ReviewQuestion,
    workspace: &Workspace,
    file: &Path,
    clock: Clock,
) -> anyhow::Result<ImportAnswer> {
    let name = || escape_os(file.as_os_str());
    let bytes = file::read_once(file, MAX_IMPORT_BYTES).with_context(name)?;
    let material = load(question, workspace)?;
    let imported = twin::parse_import(&material, &bytes).map_err(|faults| {
        anyhow::anyhow!("{}: nothing was taken over: {}", name(), faults.join("; "))
    })?;
    let (mut log, events) = VerdictLog::open(&workspace.runs_database())?;
    let ledger = ledger_of(&events, &question.reviewer);
    let mut desk = Desk::new(material, ledger, new_seed(), false);
    let mut stored = 0;
    for verdict in &imported {
        let event = desk.set(verdict.item, verdict.verdict, verdict.note.clone());
        if let Some(event) = event {
            log.append(&question.reviewer, clock.stamp(), 0, &event)?;
            stored += 1;
        }
    }
    log.close();
    Ok(ImportAnswer { read: imported.len(), stored })
}

/// The review screen as it would be drawn, without a terminal. Nothing is written but that it was seen.
///
/// # Errors
/// The report or the database cannot be used.
pub fn render_review(
    question: &ReviewQuestion,
    workspace: &Workspace,
    (columns, rows): (u16, u16),
    look: Look,
    clock: Clock,
) -> anyhow::Result<Shown<Dump>> {
    let material = load(question, workspace)?;
    let mut seen = Vec::new();
    let events = verdicts::read(&workspace.runs_database())?;
    let mut screen = ReviewScreen::new(start(question));
    let fixtures = Fixtures::default();
    fixtures.learn(&material);
    let mut waiting = vec![
        Msg::Input(Input::Resize { width: columns, height: rows }),
        Msg::Input(Input::Graphics(look.canvas)),
        Msg::Recorded(Reply::Opened { events, read_only: None }),
        Msg::Loaded(Box::new(Ok(material.clone()))),
    ];
    waiting.reverse();
    while let Some(msg) = waiting.pop() {
        for effect in screen.update(msg, Duration::ZERO) {
            match effect {
                Effect::Pictures(requests) => waiting.extend(requests.into_iter().map(|request| {
                    let shown = fixtures
                        .load(&request.id)
                        .and_then(|picture| encode(&picture, &request))
                        .map(Arc::new);
                    Msg::Picture(Answer { generation: request.generation, id: request.id, shown })
                })),
                Effect::Write(_, ReviewEvent::Exposed { fixture, .. }) => seen.push(fixture),
                Effect::Write(..) | Effect::Copy(_) => {}
            }
        }
    }
    Ok(Shown {
        what: headless::draw(&screen, columns, rows, &look),
        not_recorded: record(question, workspace, &material, seen, clock),
    })
}
