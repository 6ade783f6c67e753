//! The same on systems without Unix signals: the console tells us of its end through events.

use std::io::{self, Write as _};

use crossbeam_channel::Sender;

use crate::tui::event_loop::TerminalEvent;

pub(super) fn set_loop(_sender: Option<Sender<TerminalEvent>>) {}

pub(super) fn write(text: &str) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

#[expect(clippy::unnecessary_wraps, reason = "the same signature as on Unix")]
pub(super) fn start_watching() -> io::Result<()> {
    Ok(())
}

pub(super) fn can_stop() -> bool {
    false
}

pub(super) fn stop() {}

pub(super) fn end_by_signal(_number: i32) {}

/// Standard error is left where it is.
#[derive(Debug)]
pub(super) struct CapturedStderr;

pub(super) fn capture_stderr() -> Option<CapturedStderr> {
    None
}

impl CapturedStderr {
    pub(super) fn give_back(self) {}
}
