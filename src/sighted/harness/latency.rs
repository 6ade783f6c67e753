//! How much time the candidate takes beside the reference, measured with nothing else running.
//!
//! Both sides run on one tensor, in rounds; the side that goes first alternates, so that whatever a first
//! run costs falls on both. Only the ratio within a round is compared: times of another machine, or of
//! another hour, say nothing here.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::recipe::InputTensor;
use super::runner::{Runner, RunnerError};
use crate::sighted::decision::report::{LatencyPass, Sides};
use crate::stats::quantile::of_values;

/// Fewest rounds that give a 95 % interval for a median.
pub(in crate::sighted) const FEWEST_ROUNDS: u32 = 6;

/// Rounds that are run and not counted: buffers are allocated in the first.
const WARM_UP_ROUNDS: u32 = 2;

/// How long a pass may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) struct LatencyPlan {
    /// Rounds that count.
    pub rounds: u32,
    /// No further round begins after this, once there are [`FEWEST_ROUNDS`].
    pub at_most: Duration,
}

impl Default for LatencyPlan {
    fn default() -> Self {
        Self { rounds: 21, at_most: Duration::from_secs(20) }
    }
}

/// Measures both sides; none when it was cancelled before there were enough rounds.
///
/// # Errors
/// A side that fails.
pub(in crate::sighted) fn measure(
    plan: LatencyPlan,
    sides: Sides<&mut dyn Runner>,
    input: &InputTensor,
    cancel: &AtomicBool,
) -> Result<Option<LatencyPass>, RunnerError> {
    let Sides { a, b } = sides;
    let begun = Instant::now();
    let mut ratios = Vec::new();
    for round in 0..WARM_UP_ROUNDS + plan.rounds.max(FEWEST_ROUNDS) {
        let enough = ratios.len() >= FEWEST_ROUNDS as usize;
        if cancel.load(Ordering::Relaxed) || (enough && begun.elapsed() > plan.at_most) {
            break;
        }
        let (reference, candidate) = if round % 2 == 0 {
            let reference = a.run(input)?.elapsed;
            (reference, b.run(input)?.elapsed)
        } else {
            let candidate = b.run(input)?.elapsed;
            (a.run(input)?.elapsed, candidate)
        };
        if round >= WARM_UP_ROUNDS && !reference.is_zero() {
            ratios.push(candidate.as_secs_f64() / reference.as_secs_f64());
        }
    }
    Ok(summarise(&mut ratios))
}

fn summarise(ratios: &mut [f64]) -> Option<LatencyPass> {
    ratios.sort_by(f64::total_cmp);
    let (low, high) = median_interval(ratios.len())?;
    Some(LatencyPass {
        rounds: ratios.len() as u64,
        ratio_p50: of_values(ratios, 0.5)?,
        interval: [ratios[low], ratios[high]],
    })
}

/// Places, counted from 0, of the two order statistics between which the median lies with at least 95 %
/// probability, whatever the distribution: the number of values below the median is binomial (n, 1/2).
fn median_interval(count: usize) -> Option<(usize, usize)> {
    let n = i32::try_from(count).ok()?;
    let mut term = 0.5_f64.powi(n);
    let mut below = 0.0;
    let mut place = None;
    for k in 0..count / 2 {
        below += term;
        if 2.0 * below > 0.05 {
            break;
        }
        place = Some((k, count - 1 - k));
        term *= (count - k) as f64 / (k + 1) as f64;
    }
    place
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::domain::digest::TensorHash;
    use crate::sighted::harness::runner::{Outputs, ScriptedRunner};

    #[test]
    fn places_are_those_of_tables_of_the_sign_test() {
        assert_eq!(median_interval(5), None);
        for (count, places) in [(6, (0, 5)), (8, (0, 7)), (9, (1, 7)), (20, (5, 14)), (21, (5, 15))]
        {
            assert_eq!(median_interval(count), Some(places), "{count}");
        }
    }

    #[test]
    fn the_interval_holds_the_median() {
        let mut ratios: Vec<f64> = (1..=21).rev().map(f64::from).collect();
        let pass = summarise(&mut ratios).expect("enough");
        assert_eq!((pass.rounds, pass.ratio_p50, pass.interval), (21, 11.0, [6.0, 16.0]));
        assert_eq!(summarise(&mut [1.0; 5]), None);
    }

    fn runner(order: &Arc<std::sync::Mutex<Vec<char>>>, name: char) -> ScriptedRunner {
        let order = Arc::clone(order);
        ScriptedRunner {
            calls: Arc::new(AtomicUsize::new(0)),
            script: Box::new(move |_, _| {
                order.lock().expect("not poisoned").push(name);
                Ok(Outputs::default())
            }),
        }
    }

    #[test]
    fn sides_take_turns_at_going_first_and_a_cancelled_pass_says_nothing() {
        let order = Arc::new(std::sync::Mutex::new(Vec::new()));
        let (mut a, mut b) = (runner(&order, 'a'), runner(&order, 'b'));
        let input =
            InputTensor { shape: [1, 3, 1, 1], data: vec![0.0; 3], hash: TensorHash::of(b"") };
        let plan = LatencyPlan { rounds: 8, at_most: Duration::ZERO };
        let mut go = |cancel: bool| {
            measure(plan, Sides { a: &mut a, b: &mut b }, &input, &AtomicBool::new(cancel))
                .expect("no failure")
        };
        // The time is over at once, but six rounds are the fewest that say anything.
        assert_eq!(go(false).map(|pass| (pass.rounds, pass.ratio_p50)), Some((6, 1.0)));
        let text: String = order.lock().expect("not poisoned").iter().collect();
        assert_eq!(text, "abbaabbaabbaabba");
        assert_eq!(go(true), None);
    }
}
