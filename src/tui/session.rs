//! One stretch of full-screen work: guard, terminal, reader of events, theme, picture method.

use std::io;
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

use super::event_loop::{self, Ended, Host, Live};
use super::picture::probe::{self, Graphics, Probe};
use super::picture::{Depth, Method};
use super::screen::{Look, Screen};
use super::terminal::{Guard, Modes, Output, Reader};
use super::theme::Theme;

/// How to open a session.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Colours or not.
    pub theme: Theme,
    /// What the person wants of pictures.
    pub graphics: Graphics,
    /// Take the mouse at the start.
    pub mouse: bool,
}

impl Options {
    /// What the environment asks for: `NO_COLOR`, `TERM`.
    pub fn from_environment(graphics: Graphics) -> Self {
        let theme = Theme::from_environment(|name| std::env::var(name).ok());
        Self { theme, graphics, mouse: true }
    }
}

/// A session. Dropping it gives the terminal back.
#[derive(Debug)]
pub struct Session {
    // Dropped in this order: no more reading, then the modes.
    reader: Reader,
    terminal: Terminal<CrosstermBackend<Output>>,
    owner: Owner,
    look: Look,
    started: Instant,
}

#[derive(Debug)]
struct Owner {
    guard: Guard,
    probe: Probe,
}

/// Whether a full-screen program can run: standard input and output are a terminal that is not dumb.
pub fn is_possible() -> bool {
    use std::io::IsTerminal as _;
    io::stdin().is_terminal()
        && io::stdout().is_terminal()
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

impl Session {
    /// Takes the terminal: raw mode, alternate screen, then one probe for pictures, then the reader.
    ///
    /// # Errors
    /// Standard input or output is not a terminal, or it does not take the modes.
    pub fn open(options: Options) -> io::Result<Self> {
        let guard = Guard::enter(Modes { mouse: options.mouse })?;
        let probe = probe::run(options.graphics);
        guard.set_kitty(probe.method == Method::Kitty, probe.tmux);
        let terminal = Terminal::new(CrosstermBackend::new(Output::default()))?;
        let reader = Reader::start(&probe.typed_meanwhile)?;
        let mut canvas = probe.canvas();
        if options.theme.is_mono() {
            canvas.depth = Depth::Mono;
        }
        let look = Look { theme: options.theme, canvas, covered: false };
        Ok(Self { reader, terminal, owner: Owner { guard, probe }, look, started: Instant::now() })
    }

    /// What was found out about pictures.
    pub fn probe(&self) -> &Probe {
        &self.owner.probe
    }

    /// How screens are drawn now.
    pub fn look(&self) -> Look {
        self.look
    }

    /// Time since the session was opened, as screens see it.
    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Runs one screen. `answers` brings what workers found; `effects` hands work to them and must not
    /// wait.
    ///
    /// # Errors
    /// Drawing failed.
    pub fn run<S: Screen>(
        &mut self,
        screen: &mut S,
        answers: &Receiver<S::Msg>,
        mut effects: impl FnMut(S::Effect),
    ) -> io::Result<Ended> {
        event_loop::wipe(&mut self.terminal)?;
        // Pictures of a screen that is shown again were forgotten, and so was whoever was making them.
        self.look.canvas.epoch += 1;
        let mut source = Live::new(self.reader.events(), answers, self.started);
        event_loop::run(
            screen,
            &mut self.terminal,
            &mut source,
            &mut self.owner,
            &mut self.look,
            &mut effects,
        )
    }

    /// Gives the terminal to `work` (another program, say), then takes it again.
    ///
    /// # Errors
    /// The terminal could not be taken again.
    pub fn outside<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T> {
        let paused = self.reader.pause();
        self.owner.guard.release();
        let value = work();
        self.owner.guard.retake()?;
        drop(paused);
        event_loop::wipe(&mut self.terminal)?;
        Ok(value)
    }
}

impl Host for Owner {
    fn suspend(&mut self) {
        self.guard.suspend();
    }

    fn retake(&mut self) {
        // A terminal that does not take its modes is noticed by the watchdog.
        let _ = self.guard.retake();
    }

    fn next_graphics(&mut self, look: &mut Look) {
        look.canvas.method = look.canvas.method.next(&self.probe.possible);
        self.guard.set_kitty(look.canvas.method == Method::Kitty, self.probe.tmux);
    }

    fn measure(&mut self, look: &mut Look) {
        if let Some(cell) = probe::cell_size() {
            look.canvas.cell = cell;
        }
    }

    fn toggle_mouse(&mut self) {
        self.guard.toggle_mouse();
    }
}
