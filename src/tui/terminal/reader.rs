//! The thread that reads events from the terminal, and the filter between the terminal and the keys.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};
use crossterm::event::{self, KeyCode, KeyModifiers, MouseButton, MouseEventKind};

use crate::tui::event_loop::TerminalEvent;
use crate::tui::keymap::Key;
use crate::tui::screen::{Mouse, MouseKind};

/// Events that wait for the loop.
const QUEUE: usize = 1024;
/// How long one wait for an event takes; a pause is noticed within this.
const SLICE: Duration = Duration::from_millis(40);
/// Longest pasted text that is handed on, in bytes.
const MAX_PASTE: usize = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Reading,
    PauseWanted,
    Paused,
    Ended,
}

#[derive(Debug)]
struct Control {
    state: Mutex<State>,
    changed: Condvar,
}

impl Control {
    fn set(&self, state: State) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
        self.changed.notify_all();
    }
}

/// Reads events until it is dropped.
#[derive(Debug)]
pub struct Reader {
    events: Receiver<TerminalEvent>,
    control: Arc<Control>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// The reader takes nothing from the terminal while this lives.
#[derive(Debug)]
pub struct Paused {
    control: Arc<Control>,
}

impl Drop for Paused {
    fn drop(&mut self) {
        self.control.set(State::Reading);
    }
}

impl Reader {
    /// Starts reading. `typed` are characters that were typed before, while something else was read.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(typed: &str) -> io::Result<Self> {
        let (sender, events) = crossbeam_channel::bounded(QUEUE);
        for key in typed.chars().take(QUEUE / 2).map(Key::char) {
            // The queue is empty and longer than this.
            let _ = sender.try_send(TerminalEvent::Key(key));
        }
        super::system::set_loop(Some(sender.clone()));
        let control =
            Arc::new(Control { state: Mutex::new(State::Reading), changed: Condvar::new() });
        let thread = std::thread::Builder::new().name("terminal-events".to_owned()).spawn({
            let control = Arc::clone(&control);
            move || read(&sender, &control)
        })?;
        Ok(Self { events, control, thread: Some(thread) })
    }

    /// Where events come out.
    pub fn events(&self) -> &Receiver<TerminalEvent> {
        &self.events
    }

    /// Stops reading until the returned value is dropped, so that another program can.
    #[must_use]
    pub fn pause(&self) -> Paused {
        self.control.set(State::PauseWanted);
        let mut state = self.control.state.lock().unwrap_or_else(PoisonError::into_inner);
        while *state == State::PauseWanted {
            let waited = self
                .control
                .changed
                .wait_timeout(state, Duration::from_secs(1))
                .unwrap_or_else(PoisonError::into_inner);
            state = waited.0;
            if waited.1.timed_out() {
                break;
            }
        }
        drop(state);
        Paused { control: Arc::clone(&self.control) }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        super::system::set_loop(None);
        self.control.set(State::Ended);
        // A full queue would keep the thread from seeing that.
        while self.events.try_recv().is_ok() {}
        if let Some(thread) = self.thread.take() {
            let deadline = Instant::now() + Duration::from_millis(200);
            while !thread.is_finished() && Instant::now() < deadline {
                while self.events.try_recv().is_ok() {}
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

fn read(sender: &Sender<TerminalEvent>, control: &Control) {
    let mut filter = Filter::default();
    loop {
        {
            let mut state = control.state.lock().unwrap_or_else(PoisonError::into_inner);
            if *state == State::PauseWanted {
                *state = State::Paused;
                control.changed.notify_all();
            }
            while *state == State::Paused {
                state = control.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if *state == State::Ended {
                return;
            }
        }
        match event::poll(SLICE) {
            Ok(false) => {}
            Ok(true) => {
                let Ok(event) = event::read() else { return };
                if let Some(event) = filter.pass(event, Instant::now())
                    && sender.send(event).is_err()
                {
                    return;
                }
            }
            // Interrupted by a signal, or gone; the watchdog knows which.
            Err(_) => std::thread::sleep(SLICE),
        }
    }
}

/// Longest answer of a terminal that is swallowed, in keys.
const MAX_ANSWER: usize = 512;
/// An answer arrives in one piece; a gap this long ends it.
const ANSWER_GAP: Duration = Duration::from_millis(150);

/// Drops what is not a person's doing: an answer to a probe that comes too late looks like alt-`_`, letters
/// and digits, alt-`\` (or the same with alt-`P`, alt-`]`), and would act as keys.
#[derive(Debug, Default)]
struct Filter {
    answer: Option<(usize, Instant)>,
}

impl Filter {
    fn pass(&mut self, event: event::Event, now: Instant) -> Option<TerminalEvent> {
        match event {
            event::Event::Key(key) => {
                if self.is_answer(&key, now) {
                    return None;
                }
                Key::from_event(&key).map(TerminalEvent::Key)
            }
            event::Event::Paste(text) => {
                let mut end = text.len().min(MAX_PASTE);
                while !text.is_char_boundary(end) {
                    end -= 1;
                }
                Some(TerminalEvent::Paste(text[..end].to_owned()))
            }
            event::Event::Mouse(mouse) => {
                let kind = match mouse.kind {
                    MouseEventKind::Down(MouseButton::Left) => MouseKind::Press,
                    MouseEventKind::Drag(MouseButton::Left) => MouseKind::Drag,
                    MouseEventKind::ScrollUp => MouseKind::ScrollUp,
                    MouseEventKind::ScrollDown => MouseKind::ScrollDown,
                    _ => return None,
                };
                Some(TerminalEvent::Mouse(Mouse { kind, column: mouse.column, row: mouse.row }))
            }
            event::Event::Resize(width, height) => Some(TerminalEvent::Resize { width, height }),
            event::Event::FocusGained | event::Event::FocusLost => None,
        }
    }

    fn is_answer(&mut self, key: &event::KeyEvent, now: Instant) -> bool {
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        if let Some((length, last)) = self.answer {
            let goes_on = length < MAX_ANSWER && now.duration_since(last) < ANSWER_GAP;
            let ends = alt && key.code == KeyCode::Char('\\');
            self.answer = (goes_on && !ends).then_some((length + 1, now));
            if goes_on {
                return true;
            }
        }
        if alt && matches!(key.code, KeyCode::Char('_' | 'P' | ']')) {
            self.answer = Some((0, now));
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyEvent;

    use super::*;

    fn key(character: char, modifiers: KeyModifiers) -> event::Event {
        event::Event::Key(KeyEvent::new(KeyCode::Char(character), modifiers))
    }

    #[test]
    fn a_late_answer_of_the_terminal_is_not_typed() {
        let mut filter = Filter::default();
        let now = Instant::now();
        assert_eq!(filter.pass(key('_', KeyModifiers::ALT), now), None);
        for character in "Gi=31;OK".chars() {
            assert_eq!(filter.pass(key(character, KeyModifiers::NONE), now), None);
        }
        assert_eq!(filter.pass(key('\\', KeyModifiers::ALT), now), None);
        let typed = filter.pass(key('G', KeyModifiers::NONE), now);
        assert_eq!(typed, Some(TerminalEvent::Key(Key::char('G'))));
    }

    #[test]
    fn an_answer_that_never_ends_does_not_take_the_keyboard() {
        let mut filter = Filter::default();
        let now = Instant::now();
        assert_eq!(filter.pass(key('_', KeyModifiers::ALT), now), None);
        assert_eq!(filter.pass(key('G', KeyModifiers::NONE), now), None);
        let later = now + ANSWER_GAP;
        assert_eq!(
            filter.pass(key('j', KeyModifiers::NONE), later),
            Some(TerminalEvent::Key(Key::char('j')))
        );
        assert_eq!(
            filter.pass(key('k', KeyModifiers::NONE), later),
            Some(TerminalEvent::Key(Key::char('k')))
        );
    }

    #[test]
    fn a_long_paste_is_cut_at_a_character() {
        let mut filter = Filter::default();
        let text = "é".repeat(MAX_PASTE);
        match filter.pass(event::Event::Paste(text), Instant::now()) {
            Some(TerminalEvent::Paste(text)) => {
                assert!(text.len() <= MAX_PASTE && !text.is_empty())
            }
            other => panic!("{other:?}"),
        }
    }
}
