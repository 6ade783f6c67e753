//! Pictures become input tensors on other threads than the one that runs models, in manifest order and
//! never more than a few ahead.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;

use crossbeam_channel::{Receiver, bounded};

use super::recipe::{InputTensor, Recipe};
use crate::domain::digest::{FixtureId, TensorHash};
use crate::media::decode::decode_for_model;
use crate::media::limits::LIMITS;
use crate::store::file;

/// One line of the manifest that is to be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct Line {
    /// Position in the whole manifest, from 0.
    pub position: u64,
    /// As the manifest writes it.
    pub written: String,
    /// The file.
    pub path: PathBuf,
}

/// What became of a line.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) enum Prepared {
    /// It can be compared.
    Ready {
        /// Of the file's bytes.
        id: FixtureId,
        /// Its tensor, or only its hash when no side needs to run.
        tensor: Tensor,
    },
    /// It cannot, and why. The reason may hold a library's words: escape before showing.
    LeftOut {
        /// Of the file's bytes, when they could be read.
        id: Option<FixtureId>,
        /// Why.
        reason: String,
    },
}

/// An input tensor, made or only known by its hash.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) enum Tensor {
    /// Made.
    Made(InputTensor),
    /// Both sides ran on it before.
    Known(TensorHash),
}

impl Tensor {
    /// Its hash.
    pub(in crate::sighted) fn hash(&self) -> TensorHash {
        match self {
            Self::Made(tensor) => tensor.hash,
            Self::Known(hash) => *hash,
        }
    }
}

/// Reads, hashes and decodes one picture. The file is read once: the bytes that name the fixture are
/// the bytes that are decoded. `known` says for which fixtures no tensor is needed.
pub(in crate::sighted) fn prepare(
    line: &Line,
    recipe: &Recipe,
    known: &dyn Fn(&Line, FixtureId) -> Option<TensorHash>,
) -> Prepared {
    let bytes = match file::read(&line.path, LIMITS.file_bytes) {
        Ok(bytes) => bytes,
        Err(error) => {
            return Prepared::LeftOut { id: None, reason: format!("cannot be read: {error}") };
        }
    };
    let id = FixtureId::of(&bytes);
    if let Some(hash) = known(line, id) {
        return Prepared::Ready { id, tensor: Tensor::Known(hash) };
    }
    match decode_for_model(&bytes) {
        Ok(decoded) => {
            drop(bytes);
            Prepared::Ready { id, tensor: Tensor::Made(recipe.tensor(&decoded.picture)) }
        }
        Err(error) => Prepared::LeftOut { id: Some(id), reason: error.to_string() },
    }
}

/// Starts `workers` threads in `scope` that prepare `lines`; what they made comes out in order. At most
/// `workers + 1` lines are ahead of the reader. They stop when `stop` is set or the reader is gone.
pub(in crate::sighted) fn prepare_ahead<'scope, 'env: 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    lines: &'env [Line],
    recipe: &'env Recipe,
    known: &'env (dyn Fn(&Line, FixtureId) -> Option<TensorHash> + Sync),
    workers: usize,
    stop: &'env AtomicBool,
) -> Receiver<Receiver<Prepared>> {
    let workers = workers.max(1);
    // A place in the queue for each line, taken in order; the line's result comes through it.
    let (queue, ordered) = bounded::<Receiver<Prepared>>(workers);
    let (hand_out, jobs) = bounded(0);
    for _ in 0..workers {
        let jobs: Receiver<(&Line, crossbeam_channel::Sender<Prepared>)> = jobs.clone();
        scope.spawn(move || {
            for (line, answer) in jobs {
                // The reader may have stopped; then nobody wants the answer.
                let _ = answer.send(prepare(line, recipe, known));
            }
        });
    }
    scope.spawn(move || {
        for line in lines {
            let (answer, result) = bounded(1);
            if stop.load(Ordering::Relaxed)
                || queue.send(result).is_err()
                || hand_out.send((line, answer)).is_err()
            {
                return;
            }
        }
    });
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::atomic;

    /// A small picture as a file.
    pub(super) fn picture(level: u8) -> Vec<u8> {
        let mut bytes = std::io::Cursor::new(Vec::new());
        image::RgbImage::from_pixel(8, 8, image::Rgb([level, 10, 20]))
            .write_to(&mut bytes, image::ImageFormat::Png)
            .expect("encoded");
        bytes.into_inner()
    }

    fn recipe() -> Recipe {
        Recipe::new(4, 4, [0.5; 3], [0.5; 3]).expect("a recipe")
    }

    fn line(path: PathBuf) -> Line {
        Line { position: 0, written: "a.png".to_owned(), path }
    }

    #[test]
    fn what_cannot_be_decoded_is_left_out_with_its_reason() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let nothing = |_: &Line, _: FixtureId| None;
        let reason = |name: &str, bytes: Option<&[u8]>| {
            let path = folder.path().join(name);
            if let Some(bytes) = bytes {
                atomic::write(&path, bytes).expect("written");
            }
            match prepare(&line(path), &recipe(), &nothing) {
                Prepared::LeftOut { id, reason } => (id.is_some(), reason),
                other => panic!("{other:?}"),
            }
        };
        let whole = picture(1);
        assert!(!reason("missing.png", None).0);
        assert_eq!(
            reason("empty.png", Some(b"")),
            (true, "expected a picture, found an empty file".to_owned())
        );
        assert!(reason("text.png", Some(b"hello")).1.contains("expected a JPEG"));
        assert!(reason("cut.png", Some(&whole[..whole.len() / 2])).1.contains("damaged"));
        std::fs::create_dir(folder.path().join("folder.png")).expect("a folder");
        assert!(reason("folder.png", None).1.contains("found a folder"));
        let path = folder.path().join("good.png");
        atomic::write(&path, &whole).expect("written");
        let good = prepare(&line(path), &recipe(), &nothing);
        assert!(matches!(good, Prepared::Ready { tensor: Tensor::Made(_), .. }), "{good:?}");
    }

    #[test]
    fn a_fixture_that_both_sides_know_is_hashed_and_not_decoded() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("a.png");
        // No decoder would take this.
        atomic::write(&path, b"not a picture").expect("written");
        let hash = TensorHash::of(b"t");
        let known =
            |_: &Line, id: FixtureId| (id == FixtureId::of(b"not a picture")).then_some(hash);
        let prepared = prepare(&line(path), &recipe(), &known);
        let id = FixtureId::of(b"not a picture");
        assert_eq!(prepared, Prepared::Ready { id, tensor: Tensor::Known(hash) });
    }

    #[test]
    fn many_workers_keep_the_order_and_stop_when_nobody_reads() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let lines: Vec<Line> = (0..40_u8)
            .map(|index| {
                let path = folder.path().join(format!("{index}.png"));
                atomic::write(&path, &picture(index)).expect("written");
                Line { position: u64::from(index), written: index.to_string(), path }
            })
            .collect();
        let (recipe, stop) = (recipe(), AtomicBool::new(false));
        let known = |_: &Line, _: FixtureId| None;
        let expected: Vec<_> = lines.iter().map(|line| prepare(line, &recipe, &known)).collect();
        for workers in [1, 4] {
            let made: Vec<Prepared> = std::thread::scope(|scope| {
                prepare_ahead(scope, &lines, &recipe, &known, workers, &stop)
                    .iter()
                    .map(|result| result.recv().expect("an answer"))
                    .collect()
            });
            assert_eq!(made, expected);
            // Leaving early ends every thread, or this scope would not close.
            std::thread::scope(|scope| {
                let ordered = prepare_ahead(scope, &lines, &recipe, &known, workers, &stop);
                assert!(ordered.recv().is_ok());
            });
        }
        stop.store(true, Ordering::Relaxed);
        let made = std::thread::scope(|scope| {
            prepare_ahead(scope, &lines, &recipe, &known, 2, &stop).iter().count()
        });
        assert_eq!(made, 0);
    }
}
