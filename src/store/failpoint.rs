//! Places where a test lets the process die. Nothing of it is in a release build.
//!
//! `FLIPSIDE_DIE_AT=n` ends the process at the n-th point it passes, without unwinding, as a kill or a
//! power cut would.

/// Environment variable that says at which point to die; debug builds only.
pub const VARIABLE: &str = "FLIPSIDE_DIE_AT";

/// Passes a point.
#[cfg(debug_assertions)]
pub(crate) fn pass(name: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static DIE_AT: OnceLock<Option<u64>> = OnceLock::new();
    static PASSED: AtomicU64 = AtomicU64::new(0);

    let die_at =
        DIE_AT.get_or_init(|| std::env::var(VARIABLE).ok().and_then(|text| text.parse().ok()));
    if let Some(die_at) = die_at {
        let passed = PASSED.fetch_add(1, Ordering::SeqCst) + 1;
        if passed == *die_at {
            use std::io::Write as _;
            let _ = writeln!(std::io::stderr(), "dying at point {passed}: {name}");
            std::process::abort();
        }
    }
}

/// Passes a point.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub(crate) fn pass(_name: &str) {}
