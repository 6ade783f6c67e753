//! Signals, hang-up and standard error on Unix.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crossbeam_channel::Sender;
use rustix::event::{PollFd, PollFlags, Timespec};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP};

use super::{ACTIVE, OPEN, die};
use crate::domain::escape::escape;
use crate::tui::event_loop::{Signal, TerminalEvent};

/// How often the watchdog looks.
const WATCH_EVERY: Duration = Duration::from_millis(150);
/// How long the loop may take to end after a signal before it is ended.
const PATIENCE: Duration = Duration::from_millis(1000);
/// Most of standard error that is shown afterwards, in bytes.
const MAX_REPLAY: u64 = 16 << 10;

/// Where signals go while a screen is running.
static LOOP: Mutex<Option<Sender<TerminalEvent>>> = Mutex::new(None);

/// Signals are sent here from now on.
pub(super) fn set_loop(sender: Option<Sender<TerminalEvent>>) {
    *LOOP.lock().unwrap_or_else(PoisonError::into_inner) = sender;
}

/// Writes to the terminal without any lock: the thread that holds one may be the one that hangs.
pub(super) fn write(text: &str) {
    let stdout = rustix::stdio::stdout();
    let mut left = text.as_bytes();
    while !left.is_empty() {
        let mut ready = [PollFd::from_borrowed_fd(stdout, PollFlags::OUT)];
        let wait = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
        let writable = rustix::event::poll(&mut ready, Some(&wait));
        if !matches!(writable, Ok(1..)) || !ready[0].revents().contains(PollFlags::OUT) {
            return;
        }
        match rustix::io::write(stdout, left) {
            Ok(written) => left = &left[written..],
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Starts the watchdog and the signal thread, once per process.
pub(super) fn start_watching() -> io::Result<()> {
    static STARTED: OnceLock<()> = OnceLock::new();
    if STARTED.set(()).is_err() {
        return Ok(());
    }
    let mut signals =
        signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP, SIGTSTP, SIGCONT])?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for number in &mut signals {
            on_signal(number);
        }
    })?;
    std::thread::Builder::new().name("tty-watchdog".to_owned()).spawn(watch)?;
    Ok(())
}

fn on_signal(number: i32) {
    if !OPEN.load(Ordering::SeqCst) {
        // No screen: signals do what they do in any program.
        let _ = signal_hook::low_level::emulate_default_handler(number);
        return;
    }
    let sender = LOOP.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let tell = |signal| {
        sender.as_ref().is_some_and(|sender| sender.try_send(TerminalEvent::Signal(signal)).is_ok())
    };
    match number {
        SIGTSTP => {
            if ACTIVE.load(Ordering::SeqCst) {
                tell(Signal::Stop);
            } else {
                let _ = signal_hook::low_level::emulate_default_handler(number);
            }
        }
        SIGCONT => {
            if ACTIVE.load(Ordering::SeqCst) {
                tell(Signal::Continue);
            }
        }
        // The terminal interrupts the program that has it; we are only waiting for that one.
        SIGINT if !ACTIVE.load(Ordering::SeqCst) => {}
        _ => {
            tell(Signal::End(number));
            let overdue = std::thread::Builder::new().name("overdue".to_owned()).spawn(move || {
                std::thread::sleep(PATIENCE);
                if OPEN.load(Ordering::SeqCst) {
                    die(128 + number);
                }
            });
            if overdue.is_err() {
                die(128 + number);
            }
        }
    }
}

fn watch() {
    let stdin = rustix::stdio::stdin();
    loop {
        let mut ready = [PollFd::from_borrowed_fd(stdin, PollFlags::empty())];
        let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(WATCH_EVERY.subsec_nanos()) };
        let polled = rustix::event::poll(&mut ready, Some(&wait));
        let hung_up = matches!(polled, Ok(1..))
            && ready[0].revents().intersects(PollFlags::HUP | PollFlags::ERR);
        // Some systems do not poll terminals; asking for its settings tells as well.
        let gone = hung_up || rustix::termios::tcgetattr(stdin).is_err();
        if gone {
            if OPEN.load(Ordering::SeqCst) {
                die(128 + SIGHUP);
            }
            return;
        }
        if matches!(polled, Ok(1..) | Err(_)) {
            std::thread::sleep(WATCH_EVERY);
        }
    }
}

/// Whether somebody in our session could continue us after a stop.
pub(super) fn can_stop() -> bool {
    let session_of = |process| rustix::process::getsid(process).ok();
    match rustix::process::getppid() {
        Some(parent) => {
            session_of(Some(parent)).is_some_and(|session| session_of(None) == Some(session))
        }
        None => false,
    }
}

/// Stops the whole job, as the shell expects.
pub(super) fn stop() {
    let stopped = rustix::process::kill_current_process_group(rustix::process::Signal::STOP);
    if stopped.is_err() {
        let _ = signal_hook::low_level::raise(signal_hook::consts::SIGSTOP);
    }
}

/// Ends the process by a signal, so that whoever started it sees why.
pub(super) fn end_by_signal(number: i32) {
    let _ = signal_hook::low_level::emulate_default_handler(number);
}

/// Standard error in a file that has no name.
#[derive(Debug)]
pub(super) struct CapturedStderr {
    terminal: OwnedFd,
    file: File,
}

/// Sends standard error to a file, if it is the terminal. A failure leaves it where it is.
pub(super) fn capture_stderr() -> Option<CapturedStderr> {
    if !io::stderr().is_terminal() {
        return None;
    }
    let terminal = rustix::io::dup(rustix::stdio::stderr()).ok()?;
    let file = tempfile::tempfile().ok()?;
    rustix::stdio::dup2_stderr(file.as_fd()).ok()?;
    Some(CapturedStderr { terminal, file })
}

impl CapturedStderr {
    /// Standard error is the terminal again; what was written meanwhile is shown, made inert.
    pub(super) fn give_back(mut self) {
        if rustix::stdio::dup2_stderr(&self.terminal).is_err() {
            return;
        }
        let mut written = Vec::new();
        let read = self
            .file
            .rewind()
            .and_then(|()| (&self.file).take(MAX_REPLAY).read_to_end(&mut written));
        if read.is_err() || written.is_empty() {
            return;
        }
        let mut terminal = File::from(self.terminal);
        for line in String::from_utf8_lossy(&written).lines() {
            let _ = writeln!(terminal, "{}", escape(line));
        }
    }
}
