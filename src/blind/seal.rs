//! Closing a shard: the rater's own answers, as they count now, become one label file.
//!
//! The file is written first, then the event that names it. When the process dies in between, the file
//! still names the head of the log it was made from, and the event is added the next time.

use crate::domain::shard::{RaterName, Shard};
use crate::store::event_chain::{ChainError, EventLog};
use crate::store::label_file::{
    BlindStatus, LabelFile, LabelFileError, LabelHeader, LabelLine, SealPlace, SkippedLine,
};
use crate::store::label_schema::{LabelEvent, LabelRow};

use super::PRODUCT;
use super::history::{Given, History};
use super::journal::{Pen, append_now};

/// What sealing came to.
#[derive(Debug, PartialEq)]
pub enum Sealed {
    /// A file was written.
    Written {
        /// Where, for the message.
        path: std::path::PathBuf,
        /// What.
        file: Box<LabelFile>,
    },
    /// It is sealed already and nothing was answered since.
    Unchanged {
        /// The newest file.
        path: std::path::PathBuf,
        /// What it holds.
        file: Box<LabelFile>,
    },
    /// Pictures without an answer.
    Unanswered {
        /// How many.
        left: usize,
        /// Of how many.
        of: usize,
    },
}

/// Why a shard cannot be sealed.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// Nobody has opened it.
    #[error(
        "shard {shard} was never opened by {rater}; `flipside label --rater {rater} --shard {shard}` does"
    )]
    NotOpened {
        /// The shard.
        shard: Shard,
        /// The rater.
        rater: RaterName,
    },
    /// Log and files tell different stories.
    #[error("the log of {rater} and the label files of shard {shard} disagree: {reason}")]
    Disagree {
        /// The shard.
        shard: Shard,
        /// The rater.
        rater: RaterName,
        /// Both sides.
        reason: String,
    },
    /// The log.
    #[error(transparent)]
    Log(#[from] ChainError),
    /// A file.
    #[error(transparent)]
    File(#[from] LabelFileError),
}

/// Brings the log up to date with a seal that was interrupted, and refuses when files and log disagree.
///
/// # Errors
/// They disagree, or something cannot be read or written.
pub(super) fn reconcile(
    log: &mut EventLog,
    history: &mut History,
    place: &SealPlace,
    rater: &RaterName,
    pen: &Pen,
) -> Result<Vec<(std::path::PathBuf, LabelFile)>, SealError> {
    let files = place.existing()?;
    let seals = history.seals().to_vec();
    let shard = history.opening.shard;
    let disagree = |reason: String| SealError::Disagree { shard, rater: rater.clone(), reason };
    for (seal, (path, file)) in seals.iter().zip(&files) {
        if *seal != file.sha256 {
            return Err(disagree(format!(
                "the log names sha256 {seal}, {} has {}",
                name_of(path),
                file.sha256
            )));
        }
    }
    if let Some(missing) = seals.get(files.len()) {
        return Err(disagree(format!(
            "the log names a file with sha256 {missing} that is not there; restore it, from version control say"
        )));
    }
    match files.get(seals.len()..) {
        Some([]) | None => {}
        Some([(_, file)]) if file.header.chain_head == Some(log.head()) && log.is_writable() => {
            let event = LabelEvent::Seal { opening: history.opening_seq, file: file.sha256 };
            let (receipt, wall_utc) = append_now(log, pen, &event, &[])?;
            history.apply(&event, receipt.seq, &wall_utc).map_err(disagree)?;
        }
        Some([(path, _), ..]) => {
            return Err(disagree(format!(
                "{} was not made from this log; if it is from another machine, this shard is sealed there",
                name_of(path)
            )));
        }
    }
    Ok(files)
}

fn name_of(path: &std::path::Path) -> String {
    path.file_name().map(crate::domain::escape::escape_os).unwrap_or_default()
}

/// Seals the shard of `place`.
///
/// # Errors
/// See [`SealError`]. Unanswered pictures are no error but an answer.
pub(super) fn seal(
    log: &mut EventLog,
    rows: Vec<LabelRow>,
    key: &super::ShardKey,
    place: &SealPlace,
    pen: &Pen,
    sealed_at: String,
) -> Result<Sealed, SealError> {
    let rater = &key.rater;
    let histories = super::only_by(rater, &rows)
        .and_then(|()| History::fold(rows))
        .map_err(|reason| SealError::Disagree { shard: key.shard, rater: rater.clone(), reason })?;
    let mut history = histories
        .into_iter()
        .find(|history| key.is_of(&history.opening))
        .ok_or_else(|| SealError::NotOpened { shard: key.shard, rater: rater.clone() })?;
    let mut files = reconcile(log, &mut history, place, rater, pen)?;
    if !history.changed_since_seal()
        && let Some((path, file)) = files.pop()
    {
        return Ok(Sealed::Unchanged { path, file: Box::new(file) });
    }
    let left = history.left_count();
    if left > 0 {
        return Ok(Sealed::Unanswered { left, of: history.opening.order.len() });
    }
    let file = label_file(&history, log, rater, sealed_at);
    let path = place.create(&file)?;
    crate::store::failpoint::pass("seal: file written");
    let event = LabelEvent::Seal { opening: history.opening_seq, file: file.sha256 };
    append_now(log, pen, &event, &[])?;
    log.fold_write_ahead_log();
    Ok(Sealed::Written { path, file: Box::new(file) })
}

fn label_file(
    history: &History,
    log: &EventLog,
    rater: &RaterName,
    sealed_at: String,
) -> LabelFile {
    let opening = &history.opening;
    let header = LabelHeader {
        product: PRODUCT.to_owned(),
        manifest: opening.manifest,
        fixture_count: opening.fixture_count,
        taxonomy: opening.taxonomy,
        groups: opening.groups.clone(),
        shard: opening.shard,
        seed: opening.seed,
        overlap: opening.overlap,
        repeats: opening.repeats,
        rater: rater.clone(),
        opened_at: history.opened_at.clone(),
        sealed_at,
        chain_head: Some(log.head()),
        blind: BlindStatus::Enforced,
        confinement: history.confinement(),
        supersedes: history.seals().last().copied(),
    };
    let mut labels = Vec::new();
    let mut skipped = Vec::new();
    for showing in &opening.order {
        let Some(entry) = history.current(*showing) else { continue };
        let (fixture, pass) = (showing.fixture, showing.pass);
        match &entry.given {
            Given::Answer(answer) => labels.push(LabelLine {
                fixture,
                pass,
                label: answer.label.clone(),
                labelled_at: entry.wall_utc.clone(),
                seconds: Some(answer.seconds),
                // What a rater has seen elsewhere is not known here: it is joined when scores are made.
                exposed: false,
                seen_as: answer.seen_as.clone(),
                amended: answer.amended.clone(),
            }),
            Given::Skip(reason) => {
                skipped.push(SkippedLine { fixture, pass, reason: reason.clone() });
            }
        }
    }
    LabelFile::new(header, labels, skipped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blind::ShardKey;
    use crate::blind::history::tests::{answer, opening, showing};
    use crate::domain::label::Presence;
    use crate::store::clock::Clock;
    use crate::store::event_chain::Access;
    use crate::store::label_schema::SCHEMA;
    use std::path::PathBuf;

    struct Desk {
        folder: tempfile::TempDir,
        log: EventLog,
        history: History,
        pen: Pen,
        labels: &'static str,
    }

    fn rater() -> RaterName {
        "ada".parse().expect("a name")
    }

    impl Desk {
        fn new(count: u8) -> Self {
            let folder = tempfile::tempdir().expect("temporary folder");
            let path = folder.path().join("ada.db");
            let (log, _) = EventLog::open(&path, &SCHEMA).expect("opens");
            let time = "2026-02-03T04:05:06Z".parse().expect("a time");
            let pen = Pen::new(rater(), 0, Clock::Fixed(time));
            let history = History::new(1, opening(count), "2026-02-03T04:05:06+00:00".to_owned());
            let mut desk = Self { folder, log, history, pen, labels: "labels" };
            desk.put(&LabelEvent::Open(Box::new(opening(count))));
            desk
        }

        fn put(&mut self, event: &LabelEvent) {
            let changes = self.history.pointer_changes(event);
            let (receipt, wall) =
                append_now(&mut self.log, &self.pen, event, &changes).expect("kept");
            self.history.apply(event, receipt.seq, &wall).expect("follows");
        }

        fn place(&self) -> SealPlace {
            let opening = &self.history.opening;
            let folder = self.folder.path().join(self.labels);
            SealPlace::new(folder, opening.manifest, opening.shard, rater())
        }

        fn seal(&mut self) -> Result<Sealed, SealError> {
            let path = self.folder.path().join("ada.db");
            let rows =
                || EventLog::open_as(&path, &SCHEMA, Access::Read, &LabelRow::of).expect("opens").1;
            let key = ShardKey::of(rater(), &self.history.opening);
            let at = "2026-02-03T05:05:06+00:00".to_owned();
            let place = self.place();
            let sealed = seal(&mut self.log, rows(), &key, &place, &self.pen, at);
            self.history = History::fold(rows()).expect("folds").remove(0);
            sealed
        }

        fn sealed(&mut self) -> (PathBuf, LabelFile) {
            match self.seal().expect("seals") {
                Sealed::Written { path, file } => (path, *file),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn unanswered_pictures_keep_a_shard_open_unless_skipped() {
        let mut desk = Desk::new(2);
        desk.put(&answer(0, "a"));
        assert_eq!(desk.seal().expect("an answer"), Sealed::Unanswered { left: 1, of: 2 });
        let reason = "cannot be decoded".to_owned();
        desk.put(&LabelEvent::Skip { opening: 1, showing: showing(1), reason });
        let head = desk.log.head();
        let (path, file) = desk.sealed();
        assert_eq!(LabelFile::read(&path).expect("readable"), file);
        assert_eq!((file.labels.len(), file.skipped.len()), (1, 1));
        assert_eq!(file.header.chain_head, Some(head));
        assert_eq!(file.labels[0].label.presence, Presence::Clean);
        assert_eq!(desk.history.seals(), [file.sha256]);
        assert!(matches!(desk.seal().expect("an answer"), Sealed::Unchanged { .. }));
    }

    #[test]
    fn an_amendment_makes_a_second_file_beside_the_first() {
        let mut desk = Desk::new(1);
        desk.put(&answer(0, "a"));
        let (first_path, first) = desk.sealed();
        let LabelEvent::Answer { opening, mut answer } = answer(0, "b") else { panic!() };
        answer.amended = Some("looked again".to_owned());
        desk.put(&LabelEvent::Answer { opening, answer });
        let (second_path, second) = desk.sealed();
        assert_ne!(first_path, second_path);
        assert_eq!(second.header.supersedes, Some(first.sha256));
        assert_eq!(second.labels[0].amended.as_deref(), Some("looked again"));
        assert_eq!(LabelFile::read(&first_path).expect("untouched"), first);
    }

    #[test]
    fn an_interrupted_seal_is_finished_the_next_time() {
        let mut desk = Desk::new(1);
        desk.put(&answer(0, "a"));
        let file =
            label_file(&desk.history, &desk.log, &rater(), "2026-02-03T05:05:06+00:00".to_owned());
        desk.place().create(&file).expect("written");
        // The process died here.
        let Sealed::Unchanged { file: found, .. } = desk.seal().expect("finished") else {
            panic!()
        };
        assert_eq!(*found, file);
        assert_eq!(desk.history.seals(), [file.sha256]);
    }

    #[test]
    fn files_and_log_that_disagree_are_both_named() {
        let mut desk = Desk::new(1);
        desk.put(&answer(0, "a"));
        let file =
            label_file(&desk.history, &desk.log, &rater(), "2026-02-03T05:05:06+00:00".to_owned());
        let path = desk.place().create(&file).expect("written");
        desk.put(&answer(0, "later"));
        let error = desk.seal().expect_err("not of this head").to_string();
        assert!(error.contains("was not made from this log"), "{error}");
        assert!(path.exists());
        desk.labels = "elsewhere";
        let (_, file) = desk.sealed();
        desk.labels = "nowhere";
        let error = desk.seal().expect_err("gone").to_string();
        assert!(error.contains("not there"), "{error}");
        let other = LabelFile::new(file.header.clone(), Vec::new(), Vec::new());
        desk.place().create(&other).expect("another");
        let error = desk.seal().expect_err("another").to_string();
        assert!(error.contains(&file.sha256.to_hex()) && error.contains(&other.sha256.to_hex()));
    }
}
