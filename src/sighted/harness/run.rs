//! The loop: each picture once through both artifacts, what came out folded into a report, nothing kept.
//!
//! Three stages on threads of their own, each a bounded few pictures ahead of the next: pictures become
//! tensors, this thread runs the artifacts, a third thread compares and remembers. Knows no database and
//! no screen.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::memory::{Fresh, Keep, Known, Memory, Recall, RunKey, Turn};
use super::prepare::{Line, Preparation, Prepared, Tensor, prepare_ahead};
use super::recipe::{InputTensor, Recipe};
use super::runner::{Outputs, Ran, Runner, RunnerError};
use crate::domain::digest::{ArtifactHash, FixtureId, TensorHash};
use crate::domain::escape::escape;
use crate::media::pixels::RgbImage;
use crate::sighted::decision::report::build::{BuildError, FixtureSeen, ReportBuilder};
use crate::sighted::decision::report::{FixtureRow, Item, Sides};

/// On which fixtures the reference is run a second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) enum NoiseSample {
    /// Those among the first so many of the whole manifest: shards then sample what one run would.
    First(u64),
    /// All.
    All,
}

impl NoiseSample {
    fn wants(self, position: u64) -> bool {
        match self {
            Self::First(count) => position < count,
            Self::All => true,
        }
    }
}

/// What is to be run.
#[derive(Debug, Clone, Copy)]
pub(in crate::sighted) struct RunPlan<'a> {
    /// The fixtures, in manifest order.
    pub lines: &'a [Line],
    /// How a picture becomes a tensor.
    pub recipe: &'a Recipe,
    /// Threads that prepare pictures.
    pub workers: usize,
    /// Where the reference is run again.
    pub noise: NoiseSample,
    /// A fixture that would be left out stops the run instead.
    pub strict: bool,
}

/// One side: its artifact, and what runs it once that is needed.
pub(in crate::sighted) struct Lane {
    artifact: ArtifactHash,
    runner: Option<Box<dyn Runner>>,
    load: Box<Load>,
}

/// Makes a runner; called at most once.
type Load = dyn FnMut() -> Result<Box<dyn Runner>, RunnerError> + Send;

impl Lane {
    /// A side whose runner is made when the first run needs it.
    pub(in crate::sighted) fn new(artifact: ArtifactHash, load: Box<Load>) -> Self {
        Self { artifact, runner: None, load }
    }

    /// The runner, made now if it was not yet.
    ///
    /// # Errors
    /// The runtime does not take the artifact.
    pub(in crate::sighted) fn runner(&mut self) -> Result<&mut dyn Runner, RunnerError> {
        let runner = match self.runner.take() {
            Some(runner) => runner,
            None => (self.load)()?,
        };
        Ok(self.runner.insert(runner).as_mut())
    }
}

/// Which side failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) enum Side {
    /// A.
    Reference,
    /// B.
    Candidate,
}

impl std::fmt::Display for Side {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Reference => "reference",
            Self::Candidate => "candidate",
        })
    }
}

/// How far a run is.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::sighted) struct RunProgress {
    /// Fixtures to go through.
    pub total: u64,
    /// Fixtures gone through.
    pub done: u64,
    /// Of those, left out.
    pub left_out: u64,
    /// Of those, taken from earlier runs on both sides.
    pub remembered: u64,
    /// Slot flips at the recommended threshold so far.
    pub threshold_flips: u64,
    /// Pictures with a changed decision so far.
    pub images_changed: u64,
    /// Fixtures per second, lately.
    pub per_second: Option<f64>,
    /// Time that is left at that pace.
    pub remaining: Option<Duration>,
}

/// Who is told how a run goes, by the comparing thread: whoever waits here holds up the run.
pub(in crate::sighted) trait Follow: Sync {
    /// Where it is now.
    fn went(&self, progress: &RunProgress);

    /// A fixture was gone through: its row, and what changed in it.
    fn saw(&self, _row: &FixtureRow, _items: &[Item]) {}
}

impl<F: Fn(&RunProgress) + Sync> Follow for F {
    fn went(&self, progress: &RunProgress) {
        self(progress);
    }
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub(in crate::sighted) enum RunError {
    /// Somebody asked to stop.
    #[error("stopped after {done} of {total} fixtures")]
    Cancelled {
        /// Fixtures gone through.
        done: u64,
        /// All of them.
        total: u64,
    },
    /// A side does not run.
    #[error("{side}: {source}")]
    Runner {
        /// Which.
        side: Side,
        /// The runtime's reason.
        #[source]
        source: RunnerError,
    },
    /// A fixture cannot take part, and leaving it out was not allowed.
    #[error("{}: {}", escape(.written), escape(.reason))]
    LeftOut {
        /// As the manifest writes it.
        written: String,
        /// Why.
        reason: String,
    },
    /// The two sides cannot be compared.
    #[error("{}: the sides cannot be compared: {source}", escape(.written))]
    Compare {
        /// On which fixture, as the manifest writes it.
        written: String,
        /// Why.
        #[source]
        source: BuildError,
    },
}

/// A run that went through all fixtures.
pub(in crate::sighted) struct Finished {
    /// Everything that was compared.
    pub builder: ReportBuilder,
    /// Times of the runtime's calls, in milliseconds. Outputs of earlier runs have none.
    pub run_ms: Sides<Vec<f64>>,
    /// A fixture that could be compared, for the latency pass.
    pub sample: Option<Line>,
    /// Why outputs are not remembered, when they should be.
    pub not_kept: Option<String>,
}

/// Runs both sides over all lines.
///
/// # Errors
/// See [`RunError`]. What was finished is remembered.
pub(in crate::sighted) fn run(
    plan: &RunPlan<'_>,
    sides: &mut Sides<Lane>,
    memory: Memory,
    builder: ReportBuilder,
    cancel: &AtomicBool,
    follow: &dyn Follow,
) -> Result<Finished, RunError> {
    let Memory { known, pictures, recall, keep } = memory;
    let artifacts = Sides { a: sides.a.artifact, b: sides.b.artifact };
    let needs_no_tensor =
        |line: &Line, id: FixtureId| known_tensor(&known, artifacts, plan, line, id);
    let preparation =
        Preparation { recipe: plan.recipe, known: &needs_no_tensor, pictures: pictures.as_ref() };
    let stop = AtomicBool::new(false);
    let (mut running, folded) = std::thread::scope(|scope| {
        let ordered = prepare_ahead(scope, plan.lines, preparation, plan.workers, &stop);
        let (outcomes, received) = bounded(2);
        let stop = &stop;
        let folding = scope.spawn(move || {
            let mut folding = Folding::new(plan, builder, keep, artifacts);
            let result = folding.all(&received, follow);
            // Dropping `received` tells the running thread when this ended early.
            (folding, result)
        });
        let mut running =
            Running { plan, sides, known: &known, recall, run_ms: Sides::default(), sample: None };
        let result = running.all(&ordered, &outcomes, cancel);
        stop.store(true, Ordering::Relaxed);
        drop((ordered, outcomes));
        let Running { run_ms, sample, .. } = running;
        let folded = folding.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        ((run_ms, sample, result), folded)
    });
    let (folding, folded) = folded;
    // What made the comparing thread stop is the cause; the running thread only noticed.
    folded?;
    std::mem::replace(&mut running.2, Ok(())).map_err(|error| match error {
        RunError::Cancelled { .. } => RunError::Cancelled {
            done: folding.builder.fixtures() as u64,
            total: plan.lines.len() as u64,
        },
        other => other,
    })?;
    let (run_ms, sample, _) = running;
    Ok(Finished { builder: folding.builder, run_ms, sample, not_kept: folding.not_kept })
}

/// The tensor hash of a fixture that no side has to run on any more.
fn known_tensor(
    known: &Known,
    artifacts: Sides<ArtifactHash>,
    plan: &RunPlan<'_>,
    line: &Line,
    fixture: FixtureId,
) -> Option<TensorHash> {
    let of = |artifact, turn| known.get(&RunKey { artifact, fixture, turn });
    let first = of(artifacts.a, Turn::First)?;
    let again = !plan.noise.wants(line.position) || of(artifacts.a, Turn::Again) == Some(first);
    (again && of(artifacts.b, Turn::First) == Some(first)).then_some(*first)
}

/// Outputs of one run.
struct Taken {
    outputs: Outputs,
    /// Not remembered yet.
    fresh: bool,
}

/// What the running thread hands on.
struct Outcome<'a> {
    line: &'a Line,
    fixture: Result<Compared, (Option<FixtureId>, String)>,
}

struct Compared {
    id: FixtureId,
    tensor: TensorHash,
    /// Not remembered yet.
    squashed: Option<RgbImage>,
    a: Taken,
    b: Taken,
    again: Option<Taken>,
}

/// The stage that runs artifacts.
struct Running<'run> {
    plan: &'run RunPlan<'run>,
    sides: &'run mut Sides<Lane>,
    known: &'run Known,
    recall: Box<dyn Recall>,
    run_ms: Sides<Vec<f64>>,
    sample: Option<Line>,
}

impl<'run> Running<'run> {
    fn all(
        &mut self,
        ordered: &Receiver<Receiver<Prepared>>,
        outcomes: &Sender<Outcome<'run>>,
        cancel: &AtomicBool,
    ) -> Result<(), RunError> {
        let plan = self.plan;
        for line in plan.lines {
            if cancel.load(Ordering::Relaxed) {
                return Err(RunError::Cancelled { done: 0, total: 0 });
            }
            let prepared = ordered.recv().ok().and_then(|result| result.recv().ok());
            let prepared = prepared.unwrap_or_else(|| Prepared::LeftOut {
                id: None,
                reason: "the thread that reads pictures stopped".to_owned(),
            });
            let fixture = match prepared {
                Prepared::LeftOut { id, reason } => Err((id, reason)),
                Prepared::Ready { id, tensor, squashed } => match self.line(line, id, tensor) {
                    Ok(compared) => {
                        self.sample.get_or_insert_with(|| line.clone());
                        Ok(Compared { squashed, ..compared })
                    }
                    // A fault on every fixture is a fault of the artifact; a later one is the fixture's.
                    Err(error) if self.sample.is_none() => return Err(error),
                    Err(error) => Err((Some(id), error.to_string())),
                },
            };
            if outcomes.send(Outcome { line, fixture }).is_err() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &Line, id: FixtureId, tensor: Tensor) -> Result<Compared, RunError> {
        let mut input = Input { line, recipe: self.plan.recipe, hash: tensor.hash(), made: None };
        if let Tensor::Made(made) = tensor {
            input.made = Some(made);
        }
        let a = self.side(Side::Reference, Turn::First, id, &mut input)?;
        let b = self.side(Side::Candidate, Turn::First, id, &mut input)?;
        let again = match self.plan.noise.wants(line.position) {
            true => Some(self.side(Side::Reference, Turn::Again, id, &mut input)?),
            false => None,
        };
        Ok(Compared { id, tensor: input.hash, squashed: None, a, b, again })
    }

    /// Outputs of one side: remembered ones, else those of a run.
    fn side(
        &mut self,
        side: Side,
        turn: Turn,
        fixture: FixtureId,
        input: &mut Input<'_>,
    ) -> Result<Taken, RunError> {
        let (lane, run_ms) = match side {
            Side::Reference => (&mut self.sides.a, &mut self.run_ms.a),
            Side::Candidate => (&mut self.sides.b, &mut self.run_ms.b),
        };
        let key = RunKey { artifact: lane.artifact, fixture, turn };
        if self.known.get(&key) == Some(&input.hash)
            && let Some(outputs) = self.recall.outputs(&key)
        {
            return Ok(Taken { outputs, fresh: false });
        }
        let failed = |source| RunError::Runner { side, source };
        let Ran { outputs, elapsed } =
            lane.runner().and_then(|runner| runner.run(input.tensor()?)).map_err(failed)?;
        if turn == Turn::First {
            run_ms.push(elapsed.as_secs_f64() * 1000.0);
        }
        Ok(Taken { outputs, fresh: true })
    }
}

/// A fixture's tensor, made late when remembered outputs turn out to be gone.
struct Input<'a> {
    line: &'a Line,
    recipe: &'a Recipe,
    hash: TensorHash,
    made: Option<InputTensor>,
}

impl Input<'_> {
    fn tensor(&mut self) -> Result<&InputTensor, RunnerError> {
        let made = match self.made.take() {
            Some(made) => made,
            None => match Preparation::anew(self.recipe).prepare(self.line) {
                Prepared::Ready { tensor: Tensor::Made(made), .. } if made.hash == self.hash => {
                    made
                }
                _ => return Err(RunnerError::Failed("its picture changed meanwhile".to_owned())),
            },
        };
        Ok(self.made.insert(made))
    }
}

/// The stage that compares and remembers.
struct Folding<'run> {
    plan: &'run RunPlan<'run>,
    builder: ReportBuilder,
    keep: Box<dyn Keep>,
    artifacts: Sides<ArtifactHash>,
    not_kept: Option<String>,
    left_out: u64,
    remembered: u64,
    /// When the latest fixtures were done.
    lately: VecDeque<Instant>,
}

/// How many fixtures the pace is taken from.
const PACE_WINDOW: usize = 32;

impl<'run> Folding<'run> {
    fn new(
        plan: &'run RunPlan<'run>,
        builder: ReportBuilder,
        keep: Box<dyn Keep>,
        artifacts: Sides<ArtifactHash>,
    ) -> Self {
        let lately = VecDeque::from([Instant::now()]);
        Self { plan, builder, keep, artifacts, not_kept: None, left_out: 0, remembered: 0, lately }
    }

    fn all(
        &mut self,
        outcomes: &Receiver<Outcome<'run>>,
        follow: &dyn Follow,
    ) -> Result<(), RunError> {
        follow.went(&self.progress());
        for Outcome { line, fixture } in outcomes {
            match fixture {
                Ok(compared) => self.compared(line, &compared)?,
                Err((_, reason)) if self.plan.strict => {
                    return Err(RunError::LeftOut { written: line.written.clone(), reason });
                }
                Err((id, reason)) => {
                    self.left_out += 1;
                    self.builder.push_left_out(line.position, line.written.clone(), id, reason);
                }
            }
            if self.lately.len() > PACE_WINDOW {
                self.lately.pop_front();
            }
            self.lately.push_back(Instant::now());
            if let Some((row, items)) = self.builder.latest() {
                follow.saw(row, items);
            }
            follow.went(&self.progress());
        }
        Ok(())
    }

    fn compared(&mut self, line: &Line, compared: &Compared) -> Result<(), RunError> {
        let Compared { id, tensor, a, b, again, .. } = compared;
        self.remember(compared);
        self.remembered += u64::from(!a.fresh && !b.fresh);
        let seen = FixtureSeen {
            position: line.position,
            path: line.written.clone(),
            id: *id,
            tensor: *tensor,
        };
        let pushed = self.builder.push(seen, &a.outputs.views(), &b.outputs.views());
        let compared = pushed.and_then(|()| match again {
            Some(again) => self.builder.push_noise(&a.outputs.views(), &again.outputs.views()),
            None => Ok(()),
        });
        compared.map_err(|source| RunError::Compare { written: line.written.clone(), source })
    }

    /// Keeps what is new. That this fails costs time later, not this run's result.
    fn remember(&mut self, compared: &Compared) {
        if self.not_kept.is_some() {
            return;
        }
        let key = |artifact, turn| RunKey { artifact, fixture: compared.id, turn };
        let mut runs = Vec::new();
        let takens = [
            (self.artifacts.a, Turn::First, Some(&compared.a)),
            (self.artifacts.b, Turn::First, Some(&compared.b)),
            (self.artifacts.a, Turn::Again, compared.again.as_ref()),
        ];
        for (artifact, turn, taken) in takens {
            if let Some(taken) = taken.filter(|taken| taken.fresh) {
                runs.push((key(artifact, turn), &taken.outputs));
            }
        }
        if !runs.is_empty() {
            let squashed = compared.squashed.as_ref().map(|squashed| (compared.id, squashed));
            let fresh = Fresh { tensor: compared.tensor, runs: &runs, squashed };
            self.not_kept = self.keep.keep(&fresh).err();
        }
    }

    fn progress(&self) -> RunProgress {
        let (total, done) = (self.plan.lines.len() as u64, self.builder.fixtures() as u64);
        let sweep = self.builder.so_far();
        let (rows, sets) = (sweep.threshold_rows(), sweep.set_rows());
        let recommended = rows.iter().zip(&sets).find(|(row, _)| row.is_recommended);
        let seconds = match (self.lately.front(), self.lately.back()) {
            (Some(first), Some(last)) => last.duration_since(*first).as_secs_f64(),
            _ => 0.0,
        };
        let per_second = (seconds > 0.0).then(|| (self.lately.len() - 1) as f64 / seconds);
        let remaining = per_second
            .and_then(|pace| Duration::try_from_secs_f64((total - done) as f64 / pace).ok());
        RunProgress {
            total,
            done,
            left_out: self.left_out,
            remembered: self.remembered,
            threshold_flips: recommended.map_or(0, |(row, _)| row.threshold_flips),
            images_changed: recommended.map_or(0, |(_, set)| set.images_changed),
            per_second,
            remaining,
        }
    }
}
