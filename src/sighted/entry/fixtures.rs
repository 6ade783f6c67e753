//! The fixture set, for the command line: on a contact sheet, as lines, as JSON.

use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::Context as _;

use crate::domain::canonical::Json;
use crate::domain::digest::{FixtureId, ManifestHash};
use crate::domain::escape::{escape, escape_os};
use crate::domain::label::NotPhotograph;
use crate::domain::shard::{PlannedFixture, RaterName, ShardPlan};
use crate::media::orientation::Orientation;
use crate::media::resample::{Kernel, resize};
use crate::sighted::fixtures::facts::Facts;
use crate::sighted::fixtures::flags::{Flag, Flags};
use crate::sighted::fixtures::known_facts::KnownFacts;
use crate::sighted::fixtures::sheet::Sheet;
use crate::sighted::fixtures::version::{self, LeftOut, Made};
use crate::sighted::fixtures::waiting::{Waiting, opened_in};
use crate::sighted::fixtures::{plain, twin};
use crate::sighted::labels::read_folder;
use crate::sighted::screen::contact_sheet::{ContactSheet, Effect, Msg, SMALL};
use crate::store::atomic;
use crate::store::clock::Clock;
use crate::store::file;
use crate::store::fixtures::{FixtureSet, PixelSource};
use crate::store::lock::{Lock, LockError, Owner};
use crate::store::workspace::Workspace;
use crate::tui::event_loop::Ended;
use crate::tui::picture::worker::PictureWorker;
use crate::tui::picture::{Picture, PictureId, PictureSource};
use crate::tui::session::Session;

/// Longest side of a picture on the sheet, in pixels: more than the largest cell shows.
const THUMBNAIL: u32 = 640;
/// Pictures whose facts reach the screen at a time.
const BATCH: usize = 8;
/// Most threads that look at pictures.
const MAX_THREADS: usize = 8;
/// Largest file of kept flags, in bytes.
const MAX_KEPT_BYTES: u64 = 64 << 20;

/// A flag as typed: which picture, what it is, why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlagQuestion {
    /// A path or the beginning of a hash.
    pub picture: String,
    /// What it is.
    pub kind: NotPhotograph,
    /// Why; empty for the kind in words.
    pub reason: String,
}

/// A manifest version that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenVersion {
    /// Its file name; not escaped.
    pub name: String,
    /// The line of `flipside.toml` that uses it.
    pub line: String,
    /// The outcome as JSON.
    pub json: String,
    /// Left out, and still in.
    pub counts: (usize, usize),
}

/// How a sitting at the sheet ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixturesEnd {
    /// Why the screen is gone.
    pub ended: Ended,
    /// The lines of `flipside.toml` for what was written, the newest last.
    pub lines: Vec<String>,
    /// Flags that are in no manifest.
    pub unwritten: usize,
    /// The last flags are not on the disk.
    pub unkept: bool,
}

/// The manifest in use, and where its next version goes.
#[derive(Debug, Clone)]
struct Book {
    path: PathBuf,
    /// As `flipside.toml` has it.
    written: PathBuf,
    hash: ManifestHash,
    kept: PathBuf,
    by: Option<String>,
    clock: Clock,
}

/// Everything the sheet works with.
#[derive(Debug)]
pub struct FixtureDesk {
    sheet: Sheet,
    eyes: Eyes,
    book: Book,
    unreadable: usize,
    /// Nobody else changes the flags meanwhile; absent when nothing is to be changed, or cannot be.
    _lock: Option<Lock>,
}

impl FixtureDesk {
    /// Reads the manifest, the flags kept from last time, and how far labelling is.
    ///
    /// `changing` says whether flags may change: only one process at a time may.
    ///
    /// # Errors
    /// The manifest or the kept flags cannot be used, or somebody else is changing flags.
    pub fn open(
        workspace: &Workspace,
        by: Option<&RaterName>,
        changing: bool,
        clock: Clock,
    ) -> anyhow::Result<Self> {
        let config = &workspace.config.fixtures;
        let path = workspace.resolve(&config.manifest);
        let groups = config.groups.as_ref().map(|groups| workspace.resolve(groups));
        let index = workspace.fixture_index();
        let set = FixtureSet::open(&path, groups.as_deref(), Some(&index))?;
        let hash = set.manifest.hash;
        let kept = workspace.fixture_flags(hash);
        let lock = match Lock::acquire(
            &kept.with_extension("lock"),
            &Owner::this_process(clock.stamp()),
        ) {
            _ if !changing => None,
            Ok(lock) => Some(lock),
            Err(LockError::Held { owner, .. }) => {
                let owner = owner.map_or_else(|| "another process".to_owned(), |it| it.to_string());
                anyhow::bail!(
                    "{owner} is flagging these fixtures; `flipside fixtures --json` may look meanwhile"
                );
            }
            // Where nothing can be written, flags cannot be kept; that is said when it is tried.
            Err(LockError::Failed { .. }) => None,
        };
        let flags = read_kept(&kept, hash)?;
        let waiting = waiting(workspace, &set);
        let written = config.manifest.clone();
        let by = by.map(ToString::to_string);
        Ok(Self {
            eyes: Eyes {
                pixels: set.pixels(&set.ids()),
                known: Arc::new(KnownFacts::read(workspace.fixture_facts())),
            },
            unreadable: set.unreadable.len(),
            sheet: Sheet::new(&set, waiting, flags),
            book: Book { path, written, hash, kept, by, clock },
            _lock: lock,
        })
    }

    /// Lines of the manifest whose file cannot be read; they are not on the sheet and stay in the manifest.
    pub fn unreadable(&self) -> usize {
        self.unreadable
    }

    /// Looks at every picture, on all processors.
    fn look(&mut self) {
        let ids: Vec<FixtureId> = self.sheet.entries().iter().map(|entry| entry.id).collect();
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        let next = AtomicUsize::new(0);
        let eyes = &self.eyes;
        let found: Vec<_> = std::thread::scope(|scope| {
            let work = || {
                let mut found = Vec::new();
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(id) = ids.get(place) else { return found };
                    found.push((place, eyes.facts(*id)));
                }
            };
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            // A thread that panicked has reported it; its pictures stay unknown.
            threads.into_iter().filter_map(|thread| thread.join().ok()).flatten().collect()
        });
        self.eyes.known.keep();
        self.sheet.learn(found);
    }

    /// Every picture with what is known of it, as JSON.
    #[must_use]
    pub fn to_json(mut self) -> String {
        self.look();
        let path = self.book.written.to_string_lossy().into_owned();
        twin::to_json(&self.sheet, &path, self.book.hash).to_file()
    }

    /// Flags pictures and writes the manifest version: the flags kept before are in it too.
    ///
    /// # Errors
    /// A picture that is not there, a reason that cannot be read, or a failed write. Nothing is kept then.
    pub fn flag(&mut self, questions: &[FlagQuestion]) -> anyhow::Result<WrittenVersion> {
        let mut flags = Vec::new();
        for question in questions {
            let place = self.sheet.find(&question.picture).map_err(anyhow::Error::msg)?;
            let flag = Flag::new(question.kind, &question.reason).map_err(anyhow::Error::msg)?;
            flags.push((place, flag));
        }
        for (place, flag) in &flags {
            self.sheet.set_flag(&[*place], Some(flag));
        }
        if let Some(name) = self.sheet.flags.written()
            && let Ok(bytes) = std::fs::read(self.book.path.with_file_name(name))
        {
            // Exactly these were written before: a script that runs twice makes no second file.
            let old = std::fs::read(&self.book.path).unwrap_or_default();
            return Ok(self.book.describe("unchanged", name, &old, &bytes));
        }
        let written = self.book.write(&self.sheet.left_out())?;
        self.sheet.flags.set_written(&written.name);
        self.book.keep(&self.sheet.flags)?;
        Ok(written)
    }

    /// Works in lines.
    ///
    /// # Errors
    /// Reading or writing lines failed.
    pub fn in_lines(
        mut self,
        input: &mut impl BufRead,
        output: &mut impl Write,
    ) -> anyhow::Result<Vec<String>> {
        self.look();
        let mut lines = Lines { book: self.book, lines: Vec::new() };
        plain::run(&mut self.sheet, &mut lines, input, output)?;
        Ok(lines.lines)
    }

    /// Works on the screen of `session`.
    ///
    /// # Errors
    /// The terminal or a thread failed.
    pub fn on_screen(self, session: &mut Session) -> anyhow::Result<FixturesEnd> {
        let (sender, answers) = crossbeam_channel::unbounded();
        let ids: Vec<FixtureId> = self.sheet.entries().iter().map(|entry| entry.id).collect();
        let name = self.book.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let to_screen = sender.clone();
        let pictures = PictureWorker::start(Thumbnails(self.eyes.pixels.clone()), move |answer| {
            // A screen that is gone needs no answer.
            drop(to_screen.send(Msg::Picture(answer)));
        })?;
        let stop = Arc::new(AtomicBool::new(false));
        let looker = start_looking(ids, self.eyes, Arc::clone(&stop), sender.clone())?;
        let (writer, jobs) = start_writing(self.book, sender)?;
        let mut screen = ContactSheet::new(self.sheet, &name);
        let ended = session.run(&mut screen, &answers, |effect| match effect {
            Effect::Pictures(requests) => pictures.request_all(requests),
            // The writer ends after this loop only.
            Effect::Keep(flags) => drop(jobs.send(Job::Keep(flags))),
            Effect::Write(left_out) => drop(jobs.send(Job::Write(left_out))),
        });
        stop.store(true, Ordering::Relaxed);
        drop(jobs);
        // What is on its way to the disk is waited for; both have reported a panic of their own.
        let _ = writer.join();
        let _ = looker.join();
        let ended = ended?;
        for msg in answers.try_iter() {
            if matches!(msg, Msg::Kept(_) | Msg::Written(_)) {
                crate::tui::screen::Screen::update(&mut screen, msg, std::time::Duration::ZERO);
            }
        }
        let flags = &screen.sheet().flags;
        Ok(FixturesEnd {
            ended,
            lines: screen.written().iter().map(|(_, line)| line.clone()).collect(),
            unwritten: if flags.is_unwritten() { flags.now().len() } else { 0 },
            unkept: screen.is_unkept(),
        })
    }
}

/// How pictures are looked at.
#[derive(Debug, Clone)]
struct Eyes {
    pixels: PixelSource,
    known: Arc<KnownFacts>,
}

impl Eyes {
    fn facts(&self, id: FixtureId) -> Result<Facts, String> {
        self.known.of(id, || Ok(Facts::of(&self.pixels.picture(id)?)))
    }
}

fn read_kept(path: &std::path::Path, hash: ManifestHash) -> anyhow::Result<Flags> {
    let shown = || escape_os(path.as_os_str());
    let bytes = match file::read(path, MAX_KEPT_BYTES) {
        Err(error) if error.is_missing() => return Ok(Flags::default()),
        bytes => bytes.with_context(shown)?,
    };
    let read = || -> Result<Flags, String> {
        let json = Json::parse(&bytes).map_err(|error| error.to_string())?;
        Flags::from_json(&json, hash)
    };
    read().map_err(|reason| anyhow::anyhow!("{}: {}", shown(), escape(&reason)))
}

/// Who has still to label what; when that cannot be told, everything waits.
fn waiting(workspace: &Workspace, set: &FixtureSet) -> Waiting {
    let found = || -> Result<Waiting, String> {
        let sealed = read_folder(&workspace.labels_dir()).map_err(|error| error.to_string())?;
        let opened = opened_in(&workspace.rater_databases_dir())?;
        let plan = workspace.config.labels.as_ref().map(|labels| ShardPlan {
            manifest: set.manifest.hash,
            of: labels.shards,
            overlap: labels.overlap,
            repeats: labels.repeats,
            seed: labels.seed,
        });
        let planned: Vec<PlannedFixture> = set
            .fixtures
            .iter()
            .map(|it| PlannedFixture { id: it.id, cluster: it.group.pair.clone() })
            .collect();
        Ok(Waiting::of(plan.as_ref(), &planned, &sealed, &opened))
    };
    found().unwrap_or_else(Waiting::everything)
}

impl Book {
    fn keep(&self, flags: &Flags) -> Result<(), atomic::WriteError> {
        atomic::write(&self.kept, flags.to_json(self.hash).to_canonical().as_bytes())
    }

    /// Writes the next version beside the manifest. Neither it nor any other file is changed.
    fn write(&self, left_out: &[LeftOut]) -> anyhow::Result<WrittenVersion> {
        let shown = escape_os(self.path.as_os_str());
        let old = std::fs::read(&self.path).with_context(|| format!("cannot read {shown}"))?;
        anyhow::ensure!(
            ManifestHash::of(&old) == self.hash,
            "{shown} has changed since it was read: expected sha256 {}, found {}",
            self.hash,
            ManifestHash::of(&old)
        );
        let old_name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let at = self.clock.stamp();
        let made = Made { old: &old, old_name: &old_name, at: &at, by: self.by.as_deref() };
        let bytes = version::bytes(&made, left_out)?;
        let path = version::next_path(&self.path, |path| !path.exists());
        atomic::create_new(&path, &bytes)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(self.describe("written", &name, &old, &bytes))
    }

    /// What is said of a version called `name` that holds `bytes`.
    fn describe(&self, status: &str, name: &str, old: &[u8], bytes: &[u8]) -> WrittenVersion {
        let name = name.to_owned();
        let configured = self.written.with_file_name(&name);
        let quoted = toml::Value::String(configured.to_string_lossy().into_owned()).to_string();
        let line = format!("manifest = {quoted}");
        let is_entry = |line: &&[u8]| {
            let text = String::from_utf8_lossy(line);
            !text.trim().is_empty() && !text.trim().starts_with('#')
        };
        let stay = bytes.split(|byte| *byte == b'\n').filter(is_entry).count();
        let all = old.split(|byte| *byte == b'\n').filter(is_entry).count();
        let out = all.saturating_sub(stay);
        let json = Json::object([
            ("status", Json::text(status)),
            ("path", Json::text(configured.to_string_lossy().into_owned())),
            ("sha256", Json::text(ManifestHash::of(bytes).to_hex())),
            ("supersedes", Json::text(self.hash.to_hex())),
            ("leftOut", Json::count(out)),
            ("entries", Json::count(stay)),
        ])
        .to_canonical();
        WrittenVersion { name, line, json, counts: (out, stay) }
    }
}

/// The book, for lines.
struct Lines {
    book: Book,
    lines: Vec<String>,
}

impl plain::Desk for Lines {
    fn keep(&mut self, sheet: &Sheet) -> Result<(), String> {
        self.book.keep(&sheet.flags).map_err(|error| error.to_string())
    }

    fn write(&mut self, sheet: &mut Sheet) -> Result<String, String> {
        let written = self.book.write(&sheet.left_out()).map_err(|error| format!("{error:#}"))?;
        sheet.flags.set_written(&written.name);
        self.lines.push(written.line);
        Ok(written.name)
    }
}

/// What the writer has to do.
enum Job {
    Keep(Flags),
    Write(Vec<LeftOut>),
}

type Writer = (std::thread::JoinHandle<()>, crossbeam_channel::Sender<Job>);

/// The one thread that writes.
fn start_writing(book: Book, to_screen: crossbeam_channel::Sender<Msg>) -> std::io::Result<Writer> {
    let (jobs, inbox) = crossbeam_channel::unbounded::<Job>();
    let thread = std::thread::Builder::new().name("flags".to_owned()).spawn(move || {
        for job in inbox {
            let told = match job {
                Job::Keep(flags) => Msg::Kept(book.keep(&flags).map_err(|error| error.to_string())),
                Job::Write(left_out) => Msg::Written(
                    book.write(&left_out)
                        .map(|written| (written.name, written.line))
                        .map_err(|error| format!("{error:#}")),
                ),
            };
            // A screen that is gone reads it when the writer has ended.
            drop(to_screen.send(told));
        }
    })?;
    Ok((thread, jobs))
}

/// Looks at every picture in the order of the manifest, a few at a time.
fn start_looking(
    ids: Vec<FixtureId>,
    eyes: Eyes,
    stop: Arc<AtomicBool>,
    to_screen: crossbeam_channel::Sender<Msg>,
) -> std::io::Result<std::thread::JoinHandle<()>> {
    std::thread::Builder::new().name("facts".to_owned()).spawn(move || {
        let mut batch = Vec::with_capacity(BATCH);
        for (place, id) in ids.iter().enumerate() {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            batch.push((place, eyes.facts(*id)));
            if batch.len() == BATCH || place + 1 == ids.len() {
                let sent = to_screen.send(Msg::Learned(std::mem::take(&mut batch)));
                if sent.is_err() {
                    break;
                }
            }
        }
        eyes.known.keep();
    })
}

/// Pixels for the sheet: small ones, so that a page of them stays in memory.
struct Thumbnails(PixelSource);

impl PictureSource for Thumbnails {
    fn load(&self, id: &PictureId) -> Result<Picture, String> {
        let upright = self.0.picture(FixtureId::from_bytes(id.content))?;
        let (width, height) = (upright.picture.width(), upright.picture.height());
        let longest = width.max(height);
        let pixels = if id.rendition == SMALL && longest > THUMBNAIL {
            let part = |side: u32| {
                let small = u64::from(side) * u64::from(THUMBNAIL) / u64::from(longest);
                u32::try_from(small).unwrap_or(THUMBNAIL).max(1)
            };
            resize(&upright.picture, part(width), part(height), Kernel::Bilinear)
        } else {
            upright.picture
        };
        // No box is drawn here, so nothing needs to be turned with it.
        Ok(Picture { pixels, orientation: Orientation::default() })
    }
}
