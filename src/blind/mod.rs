//! Blind labelling. May not name the other zones that know what a model said, nor open files itself.
//!
//! It is given values, not places: fixtures as ids in the rater's order, pixels by id, the rater's own
//! log. It runs in a process of its own, and closes a sandbox around itself before it shows the first
//! picture. Nothing of what another part of the program found out is ever read here; whether a rater
//! had seen something is joined later, where scores are made.

mod draft;
mod history;
mod journal;
mod plain;
mod rebuild;
mod screen;
mod screen_keys;
mod screen_layout;
#[cfg(test)]
mod screen_tests;
mod screen_view;
mod seal;
mod sitting;

use std::io::{BufRead, Write};

use crate::domain::digest::{ManifestHash, TaxonomyHash};
use crate::domain::shard::{RaterName, Shard};
use crate::store::clock::Clock;
use crate::store::event_chain::{ChainError, EventLog};
use crate::store::fixtures::PixelSource;
use crate::store::label_file::{Confinement, SealPlace};
use crate::store::label_schema::{LabelEvent, LabelRow, Opening};
use crate::store::sandbox::Sandbox;
use crate::store::viewing::ViewPlace;
use crate::store::workspace::PRODUCT;
use crate::tui::session::Options;

use history::History;
use journal::{Journal, Pen, append_now};
use sitting::{Closed, Sitting};

pub use rebuild::{Rebuilt, Remains, rebuild};
pub use seal::{SealError, Sealed};

/// One letter per category, in the order shown. Letters that mean something else are left out.
const CATEGORY_KEYS: [char; 14] =
    ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'i', 'j', 'k', 'v', 'w', 'x', 'z'];

/// A category's name as people read it, inert.
fn shown_name(name: &str) -> String {
    crate::domain::escape::escape(name).replace('_', " ")
}

/// Which shard of which questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardKey {
    /// Whose.
    pub rater: RaterName,
    /// Of which manifest.
    pub manifest: ManifestHash,
    /// Asked by which taxonomy.
    pub taxonomy: TaxonomyHash,
    /// Which part.
    pub shard: Shard,
}

impl ShardKey {
    /// The key of an opening.
    pub fn of(rater: RaterName, opening: &Opening) -> Self {
        let Opening { manifest, taxonomy, shard, .. } = *opening;
        Self { rater, manifest, taxonomy, shard }
    }

    fn is_of(&self, opening: &Opening) -> bool {
        Self::of(self.rater.clone(), opening) == *self
    }
}

/// Everything the labelling process works with. A closed list: what is not here cannot be shown.
#[derive(Debug)]
pub struct LabelArgs {
    /// Who.
    pub rater: RaterName,
    /// The shard as it is opened now; an earlier opening of the same shard wins.
    pub opening: Opening,
    /// Leaf classes of each category, in the order of the taxonomy: what a category means.
    pub leaves: Vec<Vec<String>>,
    /// Pixels of the shard's fixtures.
    pub pixels: PixelSource,
    /// The rater's log.
    pub log: EventLog,
    /// All of it, as read.
    pub rows: Vec<LabelRow>,
    /// Where the rater's own label files of this shard lie.
    pub place: SealPlace,
    /// Closed before anything is shown.
    pub sandbox: Sandbox,
    /// Why nothing may be answered, when the log was opened for reading.
    pub read_only: Option<String>,
    /// Why a sealed shard is opened again.
    pub amend: Option<String>,
    /// The network file system the log lies on, which the rater allowed.
    pub network_disk: Option<String>,
    /// The time.
    pub clock: Clock,
}

/// What the rater talks through.
pub enum Surface<'a> {
    /// The whole terminal.
    Screen(Options),
    /// Lines.
    Plain {
        /// From here.
        input: &'a mut dyn BufRead,
        /// To here.
        output: &'a mut dyn Write,
        /// Where a picture is put to be looked at.
        view: Option<ViewPlace>,
    },
}

/// How a sitting ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Showings answered or skipped.
    pub done: usize,
    /// Showings without an answer.
    pub left: usize,
    /// Marks that were not saved.
    pub unsaved: usize,
    /// What enforced that nothing else was opened.
    pub confinement: Confinement,
    /// Why nothing more could be saved, if so.
    pub failed: Option<String>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// Is the shard sealed?
    pub sealed: bool,
}

/// Why labelling did not begin, or broke off.
#[derive(Debug, thiserror::Error)]
pub enum LabelError {
    /// The log's events do not make sense.
    #[error("the log of {rater} does not hold together: {reason}")]
    Log {
        /// Whose.
        rater: RaterName,
        /// What does not.
        reason: String,
    },
    /// The shard was opened on other terms.
    #[error(
        "shard {shard} was opened with {opened}, flipside.toml now says {now}; put the old terms back, or write a new manifest version"
    )]
    Terms {
        /// The shard.
        shard: Shard,
        /// As it was opened.
        opened: String,
        /// As it would be opened now.
        now: String,
    },
    /// The shard has no fixtures.
    #[error("shard {0} has no fixtures")]
    Empty(Shard),
    /// Amending something that is not sealed.
    #[error("shard {0} is not sealed: answers can be changed without --amend")]
    NotSealed(Shard),
    /// Nothing was ever opened, and nothing may be written.
    #[error("shard {shard} was never opened by {rater}, and {reason}")]
    NothingToRead {
        /// The shard.
        shard: Shard,
        /// Whose.
        rater: RaterName,
        /// Why it cannot be opened now.
        reason: String,
    },
    /// Log and label files disagree.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The log.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The terminal, or a thread.
    #[error("{0}")]
    Surface(#[from] std::io::Error),
}

/// Labels until the rater leaves.
///
/// # Errors
/// See [`LabelError`].
pub fn run(mut args: LabelArgs, surface: Surface<'_>) -> Result<Ended, LabelError> {
    only_by(&args.rater, &args.rows)
        .map_err(|reason| LabelError::Log { rater: args.rater.clone(), reason })?;
    let pen = Pen::new(args.rater.clone(), last_sitting(&args.rows), args.clock);
    let mut history = open_shard(&mut args, &pen)?;
    seal::reconcile(&mut args.log, &mut history, &args.place, &args.rater, &pen)?;
    if args.amend.is_some() && history.seals().is_empty() {
        return Err(LabelError::NotSealed(history.opening.shard));
    }
    // No thread runs yet, so this confines all that will.
    let confinement = args.sandbox.close();
    let closed = args.read_only.map(Closed::ReadOnly);
    if closed.is_none() {
        let event = LabelEvent::Sitting {
            opening: history.opening_seq,
            confinement,
            product: PRODUCT.to_owned(),
            network_disk: args.network_disk.clone(),
        };
        let (receipt, wall_utc) = append_now(&mut args.log, &pen, &event, &[])?;
        apply(&mut history, &event, receipt.seq, &wall_utc, &args.rater)?;
    }
    let mut sitting = Sitting::new(history, closed.clone(), args.amend);
    let (tell, news) = crossbeam_channel::unbounded();
    let start = |tell: Box<dyn Fn(journal::News) + Send>| {
        if closed.is_some() { Ok(None) } else { Journal::start(args.log, pen, tell).map(Some) }
    };
    let signal = match surface {
        Surface::Screen(options) => {
            let rater = args.rater.to_string();
            let (leaves, pixels) = (args.leaves, args.pixels);
            screen::run(&mut sitting, rater, options, leaves, pixels, args.clock, start)?
        }
        Surface::Plain { input, output, view } => {
            let journal = start(Box::new(move |told| drop(tell.send(told))))?;
            let clock = args.clock;
            let pixels = args.pixels;
            plain::Plain { input, output, pixels, view, journal, news, clock }.run(&mut sitting)?;
            None
        }
    };
    Ok(Ended {
        done: sitting.history().done_count(),
        left: sitting.history().left_count(),
        unsaved: sitting.unsaved(),
        confinement,
        failed: match sitting.closed() {
            Some(Closed::Failed(reason)) => Some(reason.clone()),
            _ => None,
        },
        signal,
        sealed: !sitting.history().seals().is_empty() && !sitting.history().changed_since_seal(),
    })
}

/// Seals the rater's shard.
///
/// # Errors
/// See [`SealError`].
pub fn seal(
    key: &ShardKey,
    log: &mut EventLog,
    rows: Vec<LabelRow>,
    place: &SealPlace,
    clock: Clock,
) -> Result<Sealed, SealError> {
    let pen = Pen::new(key.rater.clone(), last_sitting(&rows), clock);
    seal::seal(log, rows, key, place, &pen, clock.stamp())
}

/// How many showings have an answer or skip in a log, over all its shards; for benchmarks.
///
/// # Errors
/// An event that cannot stand where it stands.
pub fn count_answers(rows: Vec<LabelRow>) -> Result<usize, String> {
    Ok(History::fold(rows)?.iter().map(History::done_count).sum())
}

/// A log holds one rater's events. A file put in another's place, or a write-ahead log of another database
/// beside it, verifies all the same: its events are just somebody else's.
fn only_by(rater: &RaterName, rows: &[LabelRow]) -> Result<(), String> {
    match rows.iter().find(|row| row.actor != rater.as_str()) {
        None => Ok(()),
        Some(other) => Err(format!(
            "event {} is by {}",
            other.seq,
            crate::domain::escape::escape(&other.actor)
        )),
    }
}

fn last_sitting(rows: &[LabelRow]) -> u64 {
    rows.iter().map(|row| row.sitting).max().unwrap_or(0)
}

fn apply(
    history: &mut History,
    event: &LabelEvent,
    seq: u64,
    wall_utc: &str,
    rater: &RaterName,
) -> Result<(), LabelError> {
    history
        .apply(event, seq, wall_utc)
        .map_err(|reason| LabelError::Log { rater: rater.clone(), reason })
}

/// The shard's history: the one it has, or a new one.
fn open_shard(args: &mut LabelArgs, pen: &Pen) -> Result<History, LabelError> {
    let fault = |reason: String| LabelError::Log { rater: args.rater.clone(), reason };
    let histories = History::fold(std::mem::take(&mut args.rows)).map_err(fault)?;
    if args.read_only.is_none() {
        let wanted: std::collections::BTreeMap<String, u64> =
            histories.iter().flat_map(History::pointers).collect();
        if args.log.pointers()? != wanted {
            args.log.rebuild_pointers(&wanted)?;
        }
    }
    let shard = args.opening.shard;
    let key = ShardKey::of(args.rater.clone(), &args.opening);
    if let Some(history) = histories.into_iter().find(|history| key.is_of(&history.opening)) {
        if history.opening != args.opening {
            return Err(LabelError::Terms {
                shard,
                opened: terms(&history.opening),
                now: terms(&args.opening),
            });
        }
        return Ok(history);
    }
    if let Some(reason) = &args.read_only {
        return Err(LabelError::NothingToRead {
            shard,
            rater: args.rater.clone(),
            reason: reason.clone(),
        });
    }
    if args.opening.order.is_empty() {
        return Err(LabelError::Empty(shard));
    }
    if args.amend.is_some() {
        return Err(LabelError::NotSealed(shard));
    }
    let event = LabelEvent::Open(Box::new(args.opening.clone()));
    let (receipt, wall_utc) = append_now(&mut args.log, pen, &event, &[])?;
    Ok(History::new(receipt.seq, args.opening.clone(), wall_utc))
}

fn terms(opening: &Opening) -> String {
    format!(
        "seed {}, overlap {}, repeats {}, {} showings of {} fixtures",
        opening.seed,
        opening.overlap,
        opening.repeats,
        opening.order.len(),
        opening.fixture_count
    )
}
