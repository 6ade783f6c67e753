//! Pictures become input tensors on other threads than the one that runs models, in manifest order and
//! never more than a few ahead.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;

use crossbeam_channel::{Receiver, bounded};

use super::memory::{Nothing, Pictures};
use super::recipe::{InputTensor, Recipe};
use crate::domain::digest::{FixtureId, TensorHash};
use crate::media::decode::decode_for_model;
use crate::media::limits::LIMITS;
use crate::media::pixels::RgbImage;
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
        /// What the picture was squashed to, unless that is remembered.
        squashed: Option<RgbImage>,
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

/// How lines are prepared.
#[derive(Clone, Copy)]
pub(in crate::sighted) struct Preparation<'a> {
    /// How a picture becomes a tensor.
    pub recipe: &'a Recipe,
    /// Says for which fixtures no tensor is needed, and the hash of the one they had.
    pub known: &'a (dyn Fn(&Line, FixtureId) -> Option<TensorHash> + Sync),
    /// Says what pictures were squashed to before.
    pub pictures: &'a dyn Pictures,
}

impl<'a> Preparation<'a> {
    /// Every picture is decoded.
    pub(in crate::sighted) fn anew(recipe: &'a Recipe) -> Self {
        Self { recipe, known: &|_, _| None, pictures: &Nothing }
    }

    /// Reads, hashes and decodes one picture. The file is read once: the bytes that name the fixture are
    /// the bytes that are decoded.
    pub(in crate::sighted) fn prepare(&self, line: &Line) -> Prepared {
        let bytes = match file::read(&line.path, LIMITS.file_bytes) {
            Ok(bytes) => bytes,
            Err(error) => {
                return Prepared::LeftOut { id: None, reason: format!("cannot be read: {error}") };
            }
        };
        let id = FixtureId::of(&bytes);
        if let Some(hash) = (self.known)(line, id) {
            return Prepared::Ready { id, tensor: Tensor::Known(hash), squashed: None };
        }
        if let Some(tensor) = self.remembered(id) {
            return Prepared::Ready { id, tensor: Tensor::Made(tensor), squashed: None };
        }
        match decode_for_model(&bytes) {
            Ok(decoded) => {
                drop(bytes);
                let squashed = self.recipe.what_the_model_saw(&decoded.picture);
                drop(decoded);
                let tensor = Tensor::Made(self.recipe.tensor(&squashed));
                Prepared::Ready { id, tensor, squashed: Some(squashed) }
            }
            Err(error) => Prepared::LeftOut { id: Some(id), reason: error.to_string() },
        }
    }

    /// The tensor of a squashed picture that is remembered, if it is the one it made then.
    fn remembered(&self, id: FixtureId) -> Option<InputTensor> {
        let (bytes, hash) = self.pictures.squashed(id)?;
        let squashed = RgbImage::new(self.recipe.width(), self.recipe.height(), bytes).ok()?;
        Some(self.recipe.tensor(&squashed)).filter(|tensor| tensor.hash == hash)
    }
}

/// Starts `workers` threads in `scope` that prepare `lines`; what they made comes out in order. At most
/// `workers + 1` lines are ahead of the reader. They stop when `stop` is set or the reader is gone.
pub(in crate::sighted) fn prepare_ahead<'scope, 'env: 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    lines: &'env [Line],
    preparation: Preparation<'env>,
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
                let _ = answer.send(preparation.prepare(line));
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
        let reason = |name: &str, bytes: Option<&[u8]>| {
            let path = folder.path().join(name);
            if let Some(bytes) = bytes {
                atomic::write(&path, bytes).expect("written");
            }
            match Preparation::anew(&recipe()).prepare(&line(path)) {
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
        let good = Preparation::anew(&recipe()).prepare(&line(path));
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
        let recipe = recipe();
        let prepared =
            Preparation { known: &known, ..Preparation::anew(&recipe) }.prepare(&line(path));
        let id = FixtureId::of(b"not a picture");
        let tensor = Tensor::Known(hash);
        assert_eq!(prepared, Prepared::Ready { id, tensor, squashed: None });
    }

    /// Remembers one squashed picture, whatever is asked for.
    struct One(Vec<u8>, TensorHash);

    impl Pictures for One {
        fn squashed(&self, _fixture: FixtureId) -> Option<(Vec<u8>, TensorHash)> {
            Some((self.0.clone(), self.1))
        }
    }

    #[test]
    fn a_remembered_picture_is_not_decoded_and_a_damaged_one_is() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("a.png");
        atomic::write(&path, &picture(9)).expect("written");
        let (line, recipe) = (line(path), recipe());
        let Prepared::Ready { tensor: Tensor::Made(tensor), squashed: Some(squashed), .. } =
            Preparation::anew(&recipe).prepare(&line)
        else {
            panic!("a good picture")
        };
        let with = |bytes: Vec<u8>| {
            let pictures = One(bytes, tensor.hash);
            match (Preparation { pictures: &pictures, ..Preparation::anew(&recipe) }).prepare(&line)
            {
                Prepared::Ready { tensor: Tensor::Made(made), squashed, .. } => {
                    assert_eq!(made, tensor);
                    squashed.is_some()
                }
                other => panic!("{other:?}"),
            }
        };
        let bytes = squashed.rgb().to_vec();
        assert!(!with(bytes.clone()), "taken as it is");
        let mut damaged = bytes.clone();
        damaged[5] ^= 1;
        assert!(with(damaged), "decoded again");
        assert!(with(bytes[1..].to_vec()), "too short: decoded again");
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
        let preparation = Preparation::anew(&recipe);
        let expected: Vec<_> = lines.iter().map(|line| preparation.prepare(line)).collect();
        for workers in [1, 4] {
            let made: Vec<Prepared> = std::thread::scope(|scope| {
                prepare_ahead(scope, &lines, preparation, workers, &stop)
                    .iter()
                    .map(|result| result.recv().expect("an answer"))
                    .collect()
            });
            assert_eq!(made, expected);
            // Leaving early ends every thread, or this scope would not close.
            std::thread::scope(|scope| {
                let ordered = prepare_ahead(scope, &lines, preparation, workers, &stop);
                assert!(ordered.recv().is_ok());
            });
        }
        stop.store(true, Ordering::Relaxed);
        let made = std::thread::scope(|scope| {
            prepare_ahead(scope, &lines, preparation, 2, &stop).iter().count()
        });
        assert_eq!(made, 0);
    }
}
