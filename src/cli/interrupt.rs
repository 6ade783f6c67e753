//! Ctrl-C for commands without a screen: the first asks the work to stop where nothing is lost, the
//! second ends the process.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// What a shell shows for a process that Ctrl-C ended.
const ENDED_BY_SIGINT: i32 = 130;

/// A flag that the first SIGINT or SIGTERM raises. Cluster schedulers send SIGTERM before they kill.
///
/// # Errors
/// The system refuses to hand signals over.
pub fn stop_flag() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // Registered first, so that it sees the flag as it was before this very signal raised it.
        flag::register_conditional_shutdown(signal, ENDED_BY_SIGINT, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}
