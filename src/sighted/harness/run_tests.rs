//! The loop with artifacts that do what a test says: faults, stops and what is remembered.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::memory::{Fresh, Keep, Known, Memory, Recall, RunKey, Turn};
use super::prepare::Line;
use super::recipe::{InputTensor, Recipe};
use super::run::{Finished, Lane, NoiseSample, RunError, RunPlan, RunProgress, Side, run};
use super::runner::{Output, Outputs, RunnerError, Script, ScriptedRunner};
use crate::domain::digest::{ArtifactHash, TensorHash};
use crate::sighted::decision::report::build::{BuildError, ReportBuilder};
use crate::sighted::decision::report::check::check;
use crate::sighted::decision::report::{ParityReport, ShardEntry, Sides};
use crate::sighted::decision::testing::{self, context, rules};
use crate::store::atomic;

const WHOLE: ShardEntry = ShardEntry { index: 1, of: 1 };

/// Pictures in a folder of their own.
struct Set {
    _folder: tempfile::TempDir,
    recipe: Recipe,
    lines: Vec<Line>,
}

impl Set {
    /// `count` pictures, told apart by their red level.
    fn new(count: u8) -> Self {
        let folder = tempfile::tempdir().expect("temporary folder");
        let lines = (0..count).map(|index| {
            let mut bytes = std::io::Cursor::new(Vec::new());
            image::RgbImage::from_pixel(8, 8, image::Rgb([index, 10, 20]))
                .write_to(&mut bytes, image::ImageFormat::Png)
                .expect("encoded");
            let written = format!("{index}.png");
            let path = folder.path().join(&written);
            atomic::write(&path, &bytes.into_inner()).expect("written");
            Line { position: u64::from(index), written, path }
        });
        let lines = lines.collect();
        let recipe = Recipe::new(4, 4, [0.0; 3], [1.0; 3]).expect("a recipe");
        Self { _folder: folder, recipe, lines }
    }

    fn spoil(&self, index: usize, bytes: &[u8]) {
        atomic::write(&self.lines[index].path, bytes).expect("written");
    }

    fn plan(&self) -> RunPlan<'_> {
        RunPlan {
            lines: &self.lines,
            recipe: &self.recipe,
            workers: 2,
            noise: NoiseSample::First(2),
            strict: false,
        }
    }
}

/// Which picture of a [`Set`] a tensor was made from.
fn picture_of(input: &InputTensor) -> u64 {
    (input.data[0] * 255.0).round() as u64
}

/// What a side gives for a picture: made up, and the same each time.
fn made(picture: u64, side: usize) -> Outputs {
    let made = testing::Outputs::made(picture);
    let owned = made.side(side).map(|view| Output {
        name: view.name.to_owned(),
        shape: view.shape.to_vec(),
        values: view.values.to_vec(),
    });
    Outputs(owned.to_vec())
}

fn faithful(side: usize) -> Script {
    Box::new(move |_, input| Ok(made(picture_of(input), side)))
}

fn hash(name: &str) -> ArtifactHash {
    ArtifactHash::of(name.as_bytes())
}

/// One side and the number of its calls.
fn lane(name: &str, script: Script) -> (Lane, Arc<AtomicUsize>) {
    let (artifact, calls) = (hash(name), Arc::new(AtomicUsize::new(0)));
    let mut runner = Some(ScriptedRunner { calls: Arc::clone(&calls), script });
    let load = move || {
        let runner = runner.take().expect("loaded once");
        Ok(Box::new(runner) as Box<dyn super::runner::Runner>)
    };
    (Lane::new(artifact, Box::new(load)), calls)
}

/// Outputs kept from run to run, as a database would.
#[derive(Clone, Default)]
struct Shelf(Arc<Mutex<HashMap<RunKey, (TensorHash, Outputs)>>>);

impl Shelf {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<RunKey, (TensorHash, Outputs)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn memory(&self) -> Memory {
        let known: Known = self.lock().iter().map(|(key, (tensor, _))| (*key, *tensor)).collect();
        let pictures = Box::new(super::memory::Nothing);
        Memory { known, pictures, recall: Box::new(self.clone()), keep: Box::new(self.clone()) }
    }

    fn count(&self, artifact: &str, turn: Turn) -> usize {
        let is = |key: &&RunKey| key.artifact == hash(artifact) && key.turn == turn;
        self.lock().keys().filter(is).count()
    }
}

impl Recall for Shelf {
    fn outputs(&mut self, key: &RunKey) -> Option<Outputs> {
        self.lock().get(key).map(|(_, outputs)| outputs.clone())
    }
}

impl Keep for Shelf {
    fn keep(&mut self, fresh: &Fresh<'_>) -> Result<(), String> {
        let mut shelf = self.lock();
        for (key, outputs) in fresh.runs {
            shelf.insert(*key, (fresh.tensor, (*outputs).clone()));
        }
        Ok(())
    }
}

/// A shelf that is full.
struct Full;

impl Keep for Full {
    fn keep(&mut self, _fresh: &Fresh<'_>) -> Result<(), String> {
        Err("no room".to_owned())
    }
}

fn builder() -> ReportBuilder {
    ReportBuilder::new(rules()).expect("rules")
}

struct Ran {
    result: Result<Finished, RunError>,
    calls: Sides<usize>,
    progress: Vec<RunProgress>,
}

fn compare(plan: &RunPlan<'_>, memory: Memory, scripts: Sides<Script>, cancel: &AtomicBool) -> Ran {
    let (a, calls_a) = lane("a", scripts.a);
    let (b, calls_b) = lane("b", scripts.b);
    let progress = Mutex::new(Vec::new());
    let note = |now: &RunProgress| progress.lock().expect("no panic").push(now.clone());
    let result = run(plan, &mut Sides { a, b }, memory, builder(), cancel, &note);
    let calls = Sides { a: calls_a.load(Ordering::SeqCst), b: calls_b.load(Ordering::SeqCst) };
    Ran { result, calls, progress: progress.into_inner().expect("no panic") }
}

fn compared(plan: &RunPlan<'_>, memory: Memory, scripts: Sides<Script>) -> Ran {
    compare(plan, memory, scripts, &AtomicBool::new(false))
}

fn both() -> Sides<Script> {
    Sides { a: faithful(0), b: faithful(1) }
}

/// The report of a run, checked as a reader would, without the times.
fn report(result: Result<Finished, RunError>, manifest: u64) -> ParityReport {
    let finished = result.map_err(|error| error.to_string()).expect("finished");
    let built = finished.builder.finish(context(manifest, WHOLE)).expect("a report");
    check(&built.report).expect("holds together");
    built.report
}

#[test]
fn rows_that_are_not_finite_are_counted_and_never_pass_for_no_flip() {
    let set = Set::new(4);
    let honest = report(compared(&set.plan(), Memory::none(), both()).result, 4);
    assert_eq!(honest.flipside.as_ref().expect("ours").non_finite["labels"].b, 0);
    // The candidate's logits of picture 1 are all NaN, one of picture 2 is infinite.
    let poisoned = Sides {
        a: faithful(0),
        b: Box::new(|_, input| {
            let mut outputs = made(picture_of(input), 1);
            match picture_of(input) {
                1 => outputs.0[1].values.fill(f32::NAN),
                2 => outputs.0[1].values[0] = f32::INFINITY,
                _ => {}
            }
            Ok(outputs)
        }),
    };
    let found = report(compared(&set.plan(), Memory::none(), poisoned).result, 4);
    let ours = found.flipside.as_ref().expect("ours");
    let elements = testing::QUERIES as u64 * 4;
    assert_eq!(ours.non_finite["labels"], Sides { a: 0, b: elements + 1 });
    let sides = ours.fixtures[1].found.as_ref().expect("compared");
    assert_eq!(sides.b.non_finite_slots, testing::QUERIES as u64);
    assert_eq!((sides.b.best, sides.b.detections.len()), (None, 0));
    assert_eq!(ours.fixtures[2].found.as_ref().expect("compared").b.non_finite_slots, 1);
    // Whatever the reference found there has vanished: that is what the rows and the items say.
    let at = |confidence: f64| confidence >= 0.4;
    let lost = sides.a.detections.iter().filter(|row| at(row.confidence)).count() as u64;
    assert!(lost > 0, "the reference finds something in picture 1");
    assert_eq!(found.per_image[1].flips["0.4"], lost);
    let items = ours.items.iter().filter(|item| item.fixture == ours.fixtures[1].sha256);
    assert_eq!(items.count() as u64, lost);
}

#[test]
fn outputs_without_one_finite_element_make_no_report() {
    let set = Set::new(3);
    let nan = |side| -> Script {
        Box::new(move |_, input| {
            let mut outputs = made(picture_of(input), side);
            outputs.0.iter_mut().for_each(|output| output.values.fill(f32::NAN));
            Ok(outputs)
        })
    };
    let finished = compared(&set.plan(), Memory::none(), Sides { a: nan(0), b: nan(1) }).result;
    let finished = finished.map_err(|error| error.to_string()).expect("goes through");
    let refused = finished.builder.finish(context(3, WHOLE)).expect_err("nothing to report on");
    assert_eq!(refused, BuildError::NothingFinite { output: "dets".to_owned() });
}

#[test]
fn a_stopped_run_keeps_what_it_finished_and_the_next_one_goes_on() {
    let set = Set::new(9);
    let straight = report(compared(&set.plan(), Memory::none(), both()).result, 9);
    let (shelf, cancel) = (Shelf::default(), Arc::new(AtomicBool::new(false)));
    let raise = Arc::clone(&cancel);
    let stopping = Sides {
        a: faithful(0),
        b: Box::new(move |call: usize, input: &InputTensor| {
            // While the fifth picture runs: it is still finished.
            raise.fetch_or(call == 4, Ordering::SeqCst);
            Ok(made(picture_of(input), 1))
        }) as Script,
    };
    let Ran { result, calls, .. } = compare(&set.plan(), shelf.memory(), stopping, &cancel);
    let stopped = result.err().expect("stopped");
    assert_eq!(stopped.to_string(), "stopped after 5 of 9 fixtures");
    // Two of the reference's calls were the noise sample's.
    assert_eq!((calls.a, calls.b), (7, 5));
    assert_eq!(shelf.count("b", Turn::First), 5);
    let Ran { result, calls, .. } = compared(&set.plan(), shelf.memory(), both());
    assert_eq!((calls.a, calls.b), (4, 4), "only what was missing");
    assert_eq!(report(result, 9), straight);
    let Ran { result, calls, .. } = compared(&set.plan(), shelf.memory(), both());
    assert_eq!((calls.a, calls.b), (0, 0), "all of it is remembered");
    assert_eq!(report(result, 9), straight);
}

#[test]
fn a_run_stopped_before_it_began_did_nothing() {
    let set = Set::new(2);
    let shelf = Shelf::default();
    let Ran { result, calls, .. } =
        compare(&set.plan(), shelf.memory(), both(), &AtomicBool::new(true));
    assert!(matches!(result.err(), Some(RunError::Cancelled { done: 0, total: 2 })));
    assert_eq!((calls.a, calls.b, shelf.lock().len()), (0, 0, 0));
}

fn failing_on(picture: u64) -> Script {
    Box::new(move |_, input| match picture_of(input) {
        found if found == picture => Err(RunnerError::Failed("out of luck".to_owned())),
        found => Ok(made(found, 1)),
    })
}

#[test]
fn a_candidate_that_fails_on_the_first_picture_is_at_fault_itself() {
    let set = Set::new(4);
    let shelf = Shelf::default();
    let scripts = Sides { a: faithful(0), b: failing_on(0) };
    let Ran { result, .. } = compared(&set.plan(), shelf.memory(), scripts);
    let error = result.err().expect("failed");
    assert!(matches!(error, RunError::Runner { side: Side::Candidate, .. }), "{error:?}");
    assert_eq!(error.to_string(), "candidate: the run failed: out of luck");
    assert_eq!(shelf.lock().len(), 0, "nothing of a picture that did not run on both sides");
}

#[test]
fn a_failure_on_a_later_picture_leaves_that_one_out_by_name() {
    let set = Set::new(5);
    let shelf = Shelf::default();
    let scripts = Sides { a: faithful(0), b: failing_on(3) };
    let Ran { result, progress, .. } = compared(&set.plan(), shelf.memory(), scripts);
    let found = report(result, 5);
    assert_eq!((found.fixtures.count, found.per_image.len()), (4, 4));
    let row = &found.flipside.as_ref().expect("ours").fixtures[3];
    assert_eq!(row.path, "3.png");
    assert_eq!(row.reason.as_deref(), Some("candidate: the run failed: out of luck"));
    assert_eq!(progress.last().map(|last| (last.done, last.left_out)), Some((5, 1)));
    assert_eq!((shelf.count("a", Turn::First), shelf.count("b", Turn::First)), (4, 4));

    let strict = RunPlan { strict: true, ..set.plan() };
    let scripts = Sides { a: faithful(0), b: failing_on(3) };
    let error = compared(&strict, Memory::none(), scripts).result.err().expect("refused");
    assert_eq!(error.to_string(), "3.png: candidate: the run failed: out of luck");
}

#[test]
fn a_second_candidate_does_not_run_the_reference_again() {
    let set = Set::new(6);
    let shelf = Shelf::default();
    let first = compared(&set.plan(), shelf.memory(), both());
    assert_eq!((first.calls.a, first.calls.b), (6 + 2, 6));
    // The same candidate again would not run either, so this one has another name.
    let (a, calls_a) = lane("a", faithful(0));
    let (c, calls_c) = lane("c", faithful(1));
    let cancel = AtomicBool::new(false);
    let mut sides = Sides { a, b: c };
    let second =
        run(&set.plan(), &mut sides, shelf.memory(), builder(), &cancel, &|_: &RunProgress| {});
    assert_eq!(calls_a.load(Ordering::SeqCst), 0);
    assert_eq!(calls_c.load(Ordering::SeqCst), 6);
    let times = second.as_ref().map(|finished| finished.run_ms.clone()).ok();
    assert_eq!(times.map(|times| (times.a.len(), times.b.len())), Some((0, 6)));
    assert_eq!(report(second, 6), report(first.result, 6));
}

#[test]
fn a_picture_that_changed_since_is_run_again() {
    let set = Set::new(3);
    let shelf = Shelf::default();
    compared(&set.plan(), shelf.memory(), both()).result.map(drop).expect("finished");
    let other = Set::new(8);
    let bytes = std::fs::read(&other.lines[7].path).expect("a picture");
    set.spoil(1, &bytes);
    let Ran { result, calls, .. } = compared(&set.plan(), shelf.memory(), both());
    // First and again, because it is among the first two.
    assert_eq!((calls.a, calls.b), (2, 1));
    assert_eq!(report(result, 3).fixtures.count, 3);
}

#[test]
fn a_picture_that_cannot_be_decoded_is_left_out_and_counted_or_stops_a_strict_run() {
    let set = Set::new(5);
    set.spoil(0, b"");
    set.spoil(3, b"no picture at all");
    let Ran { result, calls, progress } = compared(&set.plan(), Memory::none(), both());
    let found = report(result, 5);
    assert_eq!(found.fixtures.count, 3);
    // Position 0 is left out, so only position 1 is in the noise sample.
    assert_eq!((calls.a, calls.b), (3 + 1, 3));
    let rows = &found.flipside.as_ref().expect("ours").fixtures;
    let reasons: Vec<_> = rows.iter().map(|row| row.reason.as_deref()).collect();
    assert_eq!(reasons[0], Some("expected a picture, found an empty file"));
    assert!(reasons[3].is_some_and(|reason| reason.contains("expected a JPEG")), "{reasons:?}");
    assert_eq!(progress.last().map(|last| (last.done, last.left_out)), Some((5, 2)));
    assert_eq!(found.flipside.as_ref().expect("ours").noise_floor.fixtures, 1);

    let strict = RunPlan { strict: true, ..set.plan() };
    let error = compared(&strict, Memory::none(), both()).result.err().expect("refused");
    assert_eq!(error.to_string(), "0.png: expected a picture, found an empty file");

    (0..5).for_each(|index| set.spoil(index, b""));
    let nothing = compared(&set.plan(), Memory::none(), both());
    assert_eq!((nothing.calls.a, nothing.calls.b), (0, 0));
    let finished = nothing.result.map_err(|error| error.to_string()).expect("goes through");
    assert!(finished.sample.is_none());
    let refused = finished.builder.finish(context(5, WHOLE)).expect_err("refused");
    assert!(matches!(refused, BuildError::NothingCompared { left_out: 5, .. }), "{refused:?}");
}

#[test]
fn a_shelf_that_is_full_costs_time_and_no_result() {
    let set = Set::new(4);
    let memory = Memory { keep: Box::new(Full), ..Memory::none() };
    let Ran { result, .. } = compared(&set.plan(), memory, both());
    assert_eq!(result.as_ref().map(|it| it.not_kept.as_deref()).ok(), Some(Some("no room")));
    let kept = compared(&set.plan(), Memory::none(), both()).result;
    assert_eq!(report(result, 4), report(kept, 4));
}

#[test]
fn outputs_that_change_their_shape_stop_the_run_at_a_named_picture() {
    let set = Set::new(4);
    let changing = |side| -> Script {
        Box::new(move |_, input| {
            let mut outputs = made(picture_of(input), side);
            if picture_of(input) == 2 {
                for output in &mut outputs.0 {
                    let columns = output.shape[2];
                    output.values.truncate((testing::QUERIES - 1) * columns);
                    output.shape[1] -= 1;
                }
            }
            Ok(outputs)
        })
    };
    let scripts = Sides { a: changing(0), b: changing(1) };
    let error = compared(&set.plan(), Memory::none(), scripts).result.err().expect("refused");
    assert_eq!(
        error.to_string(),
        "2.png: the sides cannot be compared: expected 8 slots as in the first fixture, found 7"
    );
}
