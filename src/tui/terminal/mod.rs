//! The terminal's modes, and that they always go back.
//!
//! One [`Guard`] holds raw mode, the alternate screen, the mouse and bracketed paste. They are given back
//! on return, on error, on a panic of the screen's thread (before the panic is printed), on SIGTERM, SIGINT
//! and SIGHUP, and around control-Z. A thread of its own watches the terminal: when it dies, what was
//! registered with [`on_death`] runs and the process ends, whatever the rest of it is doing. Reading events
//! from a dead terminal never returns, so nothing inside the event loop could notice.
//!
//! While a guard is active, standard error goes to a hidden file and is shown afterwards: a line that a
//! library prints would tear the picture.

mod clipboard;
mod reader;
#[cfg(unix)]
mod unix;
#[cfg(not(unix))]
mod windows;

use std::io::{self, IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

pub use clipboard::offer_to_clipboard;
pub use reader::{Paused, Reader};

#[cfg(unix)]
use unix as system;
#[cfg(not(unix))]
use windows as system;

use super::event_loop::Ended;

/// Modes a person may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modes {
    /// Mouse events come to the program.
    pub mouse: bool,
}

/// True while the terminal is ours.
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// True from the first [`Guard::enter`] to its drop, also while another program has the terminal.
static OPEN: AtomicBool = AtomicBool::new(false);
/// The mouse is wanted.
static MOUSE: AtomicBool = AtomicBool::new(false);
/// Pictures were sent with the kitty protocol, which keeps them until told otherwise.
static KITTY: AtomicBool = AtomicBool::new(false);
/// Sequences for the outer terminal must be wrapped for tmux.
static TMUX: AtomicBool = AtomicBool::new(false);

static SHARED: Mutex<Shared> =
    Mutex::new(Shared { stderr: None, screen_thread: None, last_words: Vec::new(), next_id: 0 });

struct Shared {
    stderr: Option<system::CapturedStderr>,
    screen_thread: Option<ThreadId>,
    last_words: Vec<(u64, Box<dyn FnOnce() + Send>)>,
    next_id: u64,
}

/// How long what was registered with [`on_death`] may take.
const LAST_WORDS_LIMIT: Duration = Duration::from_millis(700);

/// The terminal is ours until this is dropped. There is at most one.
#[derive(Debug)]
pub struct Guard {
    _private: (),
}

impl Guard {
    /// Takes the terminal.
    ///
    /// # Errors
    /// It does not take the modes, or there is a guard already.
    pub fn enter(modes: Modes) -> io::Result<Self> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Err(io::Error::other("standard input and output are not a terminal"));
        }
        if OPEN.swap(true, Ordering::SeqCst) {
            return Err(io::Error::other("the terminal is in use by this program already"));
        }
        MOUSE.store(modes.mouse, Ordering::SeqCst);
        shared(|shared| shared.screen_thread = Some(std::thread::current().id()));
        install_panic_hook();
        // The guard exists before the modes do, so that a failure half-way gives them back.
        let guard = Self { _private: () };
        system::start_watching()?;
        take()?;
        Ok(guard)
    }

    /// Gives the terminal back for a while, for another program.
    pub fn release(&self) {
        give_back();
    }

    /// Takes it again.
    ///
    /// # Errors
    /// It does not take the modes.
    pub fn retake(&self) -> io::Result<()> {
        give_back();
        take()
    }

    /// Control-Z: gives the terminal back, stops, and takes it again when continued. Where nobody could
    /// continue us, nothing happens.
    pub fn suspend(&self) {
        if system::can_stop() {
            give_back();
            system::stop();
            // A terminal that does not take its modes any more is noticed by the watchdog.
            let _ = take();
        }
    }

    /// Mouse on or off.
    pub fn toggle_mouse(&self) {
        let wanted = !MOUSE.fetch_xor(true, Ordering::SeqCst);
        system::write(if wanted { MOUSE_ON } else { MOUSE_OFF });
    }

    /// Whether kitty pictures must be deleted when the terminal is given back.
    pub fn set_kitty(&self, used: bool, tmux: bool) {
        KITTY.fetch_or(used, Ordering::SeqCst);
        TMUX.store(tmux, Ordering::SeqCst);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        give_back();
        OPEN.store(false, Ordering::SeqCst);
    }
}

const ENTER: &str = "\x1b[?1049h\x1b[2J\x1b[H\x1b[?25l\x1b[?2004h";
const LEAVE: &str = "\x1b[0m\x1b[?2004l\x1b[?25h\x1b[?1049l";
const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1002l\x1b[?1000l";
const KITTY_DELETE: &str = "\x1b_Ga=d,d=A,q=2\x1b\\";
const KITTY_DELETE_TMUX: &str = "\x1bPtmux;\x1b\x1b_Ga=d,d=A,q=2\x1b\x1b\\\x1b\\";

fn take() -> io::Result<()> {
    crossterm::terminal::enable_raw_mode()?;
    ACTIVE.store(true, Ordering::SeqCst);
    shared(|shared| {
        if shared.stderr.is_none() {
            shared.stderr = system::capture_stderr();
        }
    });
    system::write(ENTER);
    if MOUSE.load(Ordering::SeqCst) {
        system::write(MOUSE_ON);
    }
    Ok(())
}

/// Gives the terminal back. Any thread may call it, any number of times.
fn give_back() {
    if !ACTIVE.swap(false, Ordering::SeqCst) {
        return;
    }
    if KITTY.load(Ordering::SeqCst) {
        let tmux = TMUX.load(Ordering::SeqCst);
        system::write(if tmux { KITTY_DELETE_TMUX } else { KITTY_DELETE });
    }
    // Off whatever we believe: a mouse that stays on makes the shell unusable.
    system::write(MOUSE_OFF);
    system::write(LEAVE);
    // Nothing can be done about a terminal that refuses.
    let _ = crossterm::terminal::disable_raw_mode();
    if let Some(stderr) = shared(|shared| shared.stderr.take()) {
        stderr.give_back();
    }
}

fn shared<T>(work: impl FnOnce(&mut Shared) -> T) -> T {
    work(&mut SHARED.lock().unwrap_or_else(PoisonError::into_inner))
}

fn install_panic_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            // A decoder's panic becomes the error of one picture.
            if crate::media::contain::panics_are_contained() {
                return;
            }
            let current = std::thread::current().id();
            // A worker's panic is caught and reported by its owner; the screen goes on until then.
            if shared(|shared| shared.screen_thread == Some(current)) {
                give_back();
            }
            previous(info);
        }));
    });
}

/// Keeps a function registered with [`on_death`]; dropping it takes the function off the list.
#[derive(Debug)]
pub struct LastWords(u64);

impl Drop for LastWords {
    fn drop(&mut self) {
        let dropped = shared(|shared| {
            let place = shared.last_words.iter().position(|(id, _)| *id == self.0)?;
            Some(shared.last_words.swap_remove(place))
        });
        drop(dropped);
    }
}

/// Registers what must still happen when the terminal dies: telling writers to finish, say. All of it
/// together has 0.7 s; then the process ends.
pub fn on_death(work: impl FnOnce() + Send + 'static) -> LastWords {
    shared(|shared| {
        shared.next_id += 1;
        shared.last_words.push((shared.next_id, Box::new(work)));
        LastWords(shared.next_id)
    })
}

/// Runs the last words, gives the terminal back, ends the process.
fn die(code: i32) -> ! {
    let words = shared(|shared| std::mem::take(&mut shared.last_words));
    let (done, wait) = crossbeam_channel::bounded::<()>(1);
    let spawned = std::thread::Builder::new().name("last-words".to_owned()).spawn(move || {
        for (_, work) in words {
            // One that panics must not keep the others from running.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        }
        drop(done);
    });
    if spawned.is_ok() {
        let _ = wait.recv_timeout(LAST_WORDS_LIMIT);
    }
    give_back();
    #[expect(
        clippy::disallowed_methods,
        reason = "the terminal is dead or the screen's thread does not answer: it cannot return a code, and the guard's work has been done above"
    )]
    std::process::exit(code)
}

/// Ends the process by the signal that ended the loop, after everything was put away. Call it last, with the
/// session dropped. Returns for any other end.
pub fn finish(ended: Ended) {
    if let Ended::Signal(number) = ended {
        system::end_by_signal(number);
    }
}

/// The screen's way to the terminal: collects a frame, writes it whole, and only while the terminal is ours.
#[derive(Debug, Default)]
pub struct Output {
    frame: Vec<u8>,
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.frame.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let frame = std::mem::take(&mut self.frame);
        // After a panic or a signal half a frame must not reach the main screen.
        if ACTIVE.load(Ordering::SeqCst) {
            let mut stdout = io::stdout().lock();
            stdout.write_all(&frame)?;
            stdout.flush()?;
        }
        self.frame = frame;
        self.frame.clear();
        Ok(())
    }
}
