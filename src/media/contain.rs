//! Runs other people's decoders so that a panic in one of them is an error of one picture.
//!
//! The JPEG library reports corrupt input by unwinding. A panic hook would write over the screen, so
//! while a decoder runs, the hook is silent for its thread, and for no other.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

static SILENCE: Once = Once::new();

/// Whether a panic on this thread, now, will be caught and reported as a damaged picture.
///
/// A panic hook installed later than ours must ask this first and do nothing when it is so.
pub fn panics_are_contained() -> bool {
    DEPTH.try_with(Cell::get).is_ok_and(|depth| depth > 0)
}

/// Counts down even when the work unwinds.
struct Contained;

impl Contained {
    fn enter() -> Self {
        DEPTH.set(DEPTH.get() + 1);
        Self
    }
}

impl Drop for Contained {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// What `work` returns, or what it said when it panicked.
pub(in crate::media) fn contain<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    SILENCE.call_once(|| {
        let previous = take_hook();
        set_hook(Box::new(move |panic| {
            if !panics_are_contained() {
                previous(panic);
            }
        }));
    });
    let contained = Contained::enter();
    // Nothing the work touched is used after it unwound: it owns its decoder and its buffers.
    let result = catch_unwind(AssertUnwindSafe(work));
    drop(contained);
    result.map_err(|payload| {
        let said = payload.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| payload.downcast_ref::<&str>().copied());
        said.unwrap_or("the decoder gave up").to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_message_and_the_thread_goes_on() {
        assert_eq!(contain(|| 7), Ok(7));
        let payload = || std::panic::resume_unwind(Box::new("broken".to_owned()));
        assert_eq!(contain::<()>(payload), Err("broken".to_owned()));
        let index = std::hint::black_box(9);
        let said = contain(|| [1, 2, 3][index]).expect_err("out of bounds");
        assert!(said.contains("out of bounds"), "{said}");
        assert!(!panics_are_contained());
    }

    #[test]
    fn containment_holds_for_its_own_thread_only_and_nests() {
        let seen = contain(|| {
            let inner = contain(panics_are_contained);
            let other = std::thread::spawn(panics_are_contained).join();
            (inner, panics_are_contained(), other.unwrap_or(true))
        });
        assert_eq!(seen, Ok((Ok(true), true, false)));
        assert!(!panics_are_contained());
    }

    #[test]
    fn many_threads_panic_at_once() {
        let threads: Vec<_> = (0..8)
            .map(|number| {
                std::thread::spawn(move || {
                    (0..200).all(|round| {
                        let text = format!("{number} {round}");
                        let payload = text.clone();
                        contain::<()>(move || std::panic::resume_unwind(Box::new(payload)))
                            == Err(text)
                    })
                })
            })
            .collect();
        assert!(threads.into_iter().all(|thread| thread.join().unwrap_or(false)));
    }
}
