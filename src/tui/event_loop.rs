//! The loop: waits for one event, updates the screen, hands out effects, draws when something changed.
//!
//! Everything that can happen is one [`Event`]. Where events and the clock come from is a [`Source`], so
//! the same loop runs on a real terminal and on scripted events. Slow work is none of its business:
//! effects are given away and come back as answers.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, TryRecvError};
use ratatui::Terminal;
use ratatui::backend::Backend;

use super::help::Help;
use super::keymap::{Code, Key};
use super::screen::{self, Input, Look, Mouse, Screen};

/// Most events handled before a frame is drawn.
const MAX_EVENTS_PER_FRAME: usize = 256;

/// Everything the loop can be woken by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<M> {
    /// From the terminal or the system.
    Terminal(TerminalEvent),
    /// From a worker.
    Answer(M),
    /// Nothing happened for as long as was asked.
    Tick,
}

/// What the terminal and the system send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalEvent {
    /// A key.
    Key(Key),
    /// Pasted text.
    Paste(String),
    /// The mouse.
    Mouse(Mouse),
    /// A new size.
    Resize {
        /// Columns.
        width: u16,
        /// Rows.
        height: u16,
    },
    /// A signal.
    Signal(Signal),
}

/// Signals, as the loop sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// End now; the number is the system's.
    End(i32),
    /// Stop until continued.
    Stop,
    /// Continued: the terminal may have lost its modes.
    Continue,
}

/// Where events and the time come from.
pub trait Source<M> {
    /// The next event; [`Event::Tick`] when `wait` passes without one. `None` for `wait` waits for ever.
    fn next(&mut self, wait: Option<Duration>) -> Event<M>;

    /// An event that is there already.
    fn ready(&mut self) -> Option<Event<M>>;

    /// Time since the program began; never goes back.
    fn now(&self) -> Duration;
}

/// What the loop asks of whoever owns the terminal.
pub trait Host {
    /// Gives the terminal back, stops the process, and takes the terminal again when continued.
    fn suspend(&mut self);

    /// Takes the terminal again after something else may have changed its modes.
    fn retake(&mut self);

    /// Measures what may have changed with the window's size.
    fn measure(&mut self, look: &mut Look);

    /// The next way of drawing pictures.
    fn next_graphics(&mut self, look: &mut Look);

    /// Mouse on or off.
    fn toggle_mouse(&mut self);
}

/// Why the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The screen is finished.
    Finished,
    /// Control-C on a screen that has nothing to say about it.
    Left,
    /// A signal.
    Signal(i32),
}

/// Runs `screen` until it is finished or told to end.
///
/// # Errors
/// Drawing failed.
pub fn run<S: Screen, B: Backend>(
    screen: &mut S,
    terminal: &mut Terminal<B>,
    source: &mut impl Source<S::Msg>,
    host: &mut impl Host,
    look: &mut Look,
    effects: &mut impl FnMut(S::Effect),
) -> Result<Ended, B::Error> {
    let mut run = Run { help: Help::default(), dirty: true, wipe: false, ended: None };
    let size = terminal.size()?;
    let starting =
        [Input::Resize { width: size.width, height: size.height }, Input::Graphics(look.canvas)];
    for input in starting {
        let msg = screen.input(input);
        run.apply(screen, msg, source.now(), effects);
    }
    let mut drawn = (screen.picture_token(), false);
    let mut last_tick = source.now();
    loop {
        if screen.is_finished() {
            return Ok(Ended::Finished);
        }
        if let Some(ended) = run.ended {
            return Ok(ended);
        }
        if run.dirty {
            let pixels = (screen.picture_token(), run.help.is_open());
            if run.wipe || (pixels != drawn && look.canvas.method.leaves_pixels()) {
                wipe(terminal)?;
            }
            terminal.draw(|frame| screen::draw(screen, &run.help, frame, look))?;
            drawn = pixels;
            run.dirty = false;
            run.wipe = false;
        }
        let wait =
            screen.tick_every().map(|every| (last_tick + every).saturating_sub(source.now()));
        let mut next = Some(source.next(wait));
        let mut handled = 0;
        while let Some(event) = next {
            if matches!(event, Event::Tick) {
                last_tick = source.now();
            }
            run.event(event, screen, source.now(), host, look, effects);
            handled += 1;
            let stop =
                handled >= MAX_EVENTS_PER_FRAME || run.ended.is_some() || screen.is_finished();
            next = if stop { None } else { source.ready() };
        }
    }
}

/// Clears the terminal and makes the next draw a full one. `Terminal::clear` would ask the terminal for
/// its cursor and wait for an answer that the reader thread takes.
pub(super) fn wipe<B: Backend>(terminal: &mut Terminal<B>) -> Result<(), B::Error> {
    terminal.backend_mut().clear()?;
    terminal.swap_buffers();
    Ok(())
}

/// State of the loop beside the screen's own.
struct Run {
    help: Help,
    dirty: bool,
    wipe: bool,
    ended: Option<Ended>,
}

impl Run {
    fn event<S: Screen>(
        &mut self,
        event: Event<S::Msg>,
        screen: &mut S,
        now: Duration,
        host: &mut impl Host,
        look: &mut Look,
        effects: &mut impl FnMut(S::Effect),
    ) {
        let msg = match event {
            Event::Answer(msg) => Some(msg),
            Event::Tick => screen.input(Input::Tick),
            Event::Terminal(TerminalEvent::Key(key)) => self.key(key, screen, host, look),
            Event::Terminal(TerminalEvent::Paste(text)) if !self.help.is_open() => {
                screen.input(Input::Paste(text))
            }
            Event::Terminal(TerminalEvent::Mouse(mouse)) if !self.help.is_open() => {
                screen.input(Input::Mouse(mouse))
            }
            Event::Terminal(TerminalEvent::Paste(_) | TerminalEvent::Mouse(_)) => None,
            Event::Terminal(TerminalEvent::Resize { width, height }) => {
                // Pixels of a picture stay where they were when the cells move.
                self.dirty = true;
                self.wipe |= look.canvas.method.leaves_pixels();
                let before = look.canvas;
                host.measure(look);
                if before != look.canvas {
                    let msg = screen.input(Input::Graphics(look.canvas));
                    self.apply(screen, msg, now, effects);
                }
                screen.input(Input::Resize { width, height })
            }
            Event::Terminal(TerminalEvent::Signal(signal)) => {
                self.signal(signal, screen, host, look)
            }
        };
        self.apply(screen, msg, now, effects);
    }

    fn apply<S: Screen>(
        &mut self,
        screen: &mut S,
        msg: Option<S::Msg>,
        now: Duration,
        effects: &mut impl FnMut(S::Effect),
    ) {
        if let Some(msg) = msg {
            self.dirty = true;
            for effect in screen.update(msg, now) {
                effects(effect);
            }
        }
    }

    fn key<S: Screen>(
        &mut self,
        key: Key,
        screen: &mut S,
        host: &mut impl Host,
        look: &mut Look,
    ) -> Option<S::Msg> {
        let control = |character| key == Key::ctrl(character);
        if control('c') {
            let msg = screen.leave();
            if msg.is_none() {
                self.ended = Some(Ended::Left);
            }
            return msg;
        }
        if control('z') {
            host.suspend();
            return self.start_over(screen, look);
        }
        if control('l') {
            return self.start_over(screen, look);
        }
        if control('g') {
            host.next_graphics(look);
            (self.dirty, self.wipe) = (true, true);
            return screen.input(Input::Graphics(look.canvas));
        }
        if key == Key::plain(Code::F(10)) {
            host.toggle_mouse();
            return None;
        }
        if self.help.is_open() {
            self.help.key(key);
            self.dirty = true;
            return None;
        }
        if screen.takes_text() {
            return screen.input(Input::Text(key));
        }
        if key == Key::char('?') {
            self.help.open();
            self.dirty = true;
            return None;
        }
        screen.keymap().lookup(screen.mode(), key).map(|binding| binding.msg.clone())
    }

    fn signal<S: Screen>(
        &mut self,
        signal: Signal,
        screen: &S,
        host: &mut impl Host,
        look: &mut Look,
    ) -> Option<S::Msg> {
        match signal {
            Signal::End(number) => {
                self.ended = Some(Ended::Signal(number));
                screen.leave()
            }
            Signal::Stop => {
                host.suspend();
                self.start_over(screen, look)
            }
            Signal::Continue => {
                host.retake();
                self.start_over(screen, look)
            }
        }
    }

    /// Draws everything again, pictures included, which the terminal has forgotten.
    fn start_over<S: Screen>(&mut self, screen: &S, look: &mut Look) -> Option<S::Msg> {
        (self.dirty, self.wipe) = (true, true);
        look.canvas.epoch += 1;
        screen.input(Input::Graphics(look.canvas))
    }
}

/// Events from channels, time from the system.
#[derive(Debug)]
pub struct Live<'a, M> {
    terminal: &'a Receiver<TerminalEvent>,
    answers: Receiver<M>,
    started: Instant,
}

impl<'a, M> Live<'a, M> {
    /// Terminal events first, then answers.
    pub fn new(
        terminal: &'a Receiver<TerminalEvent>,
        answers: &Receiver<M>,
        started: Instant,
    ) -> Self {
        Self { terminal, answers: answers.clone(), started }
    }
}

impl<M> Source<M> for Live<'_, M> {
    fn next(&mut self, wait: Option<Duration>) -> Event<M> {
        let deadline = wait.map(|wait| Instant::now() + wait);
        loop {
            if let Some(event) = self.ready() {
                return event;
            }
            let mut select = crossbeam_channel::Select::new();
            select.recv(self.terminal);
            select.recv(&self.answers);
            let woken = match deadline {
                Some(deadline) => select.ready_deadline(deadline).is_ok(),
                None => {
                    select.ready();
                    true
                }
            };
            if !woken {
                return Event::Tick;
            }
        }
    }

    fn ready(&mut self) -> Option<Event<M>> {
        match self.terminal.try_recv() {
            Ok(event) => return Some(Event::Terminal(event)),
            // The reader is gone, so nobody can press a key any more.
            Err(TryRecvError::Disconnected) => {
                return Some(Event::Terminal(TerminalEvent::Signal(Signal::End(1))));
            }
            Err(TryRecvError::Empty) => {}
        }
        match self.answers.try_recv() {
            Ok(answer) => Some(Event::Answer(answer)),
            Err(TryRecvError::Disconnected) => {
                // No worker is left: wait for keys only.
                self.answers = crossbeam_channel::never();
                None
            }
            Err(TryRecvError::Empty) => None,
        }
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }
}

/// Scripted events for tests: each step may wait for an answer of a real worker.
#[derive(Debug)]
pub struct Scripted<M> {
    steps: VecDeque<Step<M>>,
    answers: Receiver<M>,
    now: Duration,
}

/// One step of a script.
#[derive(Debug, Clone)]
pub enum Step<M> {
    /// This event happens.
    Event(Event<M>),
    /// This much time passes, as a tick.
    Pass(Duration),
    /// The next answer of a worker is awaited, for at most ten seconds.
    Answer,
}

impl<M> Scripted<M> {
    /// Plays `steps`, then ends the loop with signal 15.
    pub fn new(steps: impl IntoIterator<Item = Step<M>>, answers: Receiver<M>) -> Self {
        Self { steps: steps.into_iter().collect(), answers, now: Duration::ZERO }
    }

    /// Keys only, by name.
    pub fn keys(keys: &str) -> Vec<Step<M>> {
        keys.split_whitespace()
            .filter_map(Key::parse)
            .map(|key| Step::Event(Event::Terminal(TerminalEvent::Key(key))))
            .collect()
    }
}

impl<M> Source<M> for Scripted<M> {
    fn next(&mut self, _wait: Option<Duration>) -> Event<M> {
        match self.steps.pop_front() {
            Some(Step::Event(event)) => event,
            Some(Step::Pass(time)) => {
                self.now += time;
                Event::Tick
            }
            Some(Step::Answer) => match self.answers.recv_timeout(Duration::from_secs(10)) {
                Ok(answer) => Event::Answer(answer),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    Event::Terminal(TerminalEvent::Signal(Signal::End(14)))
                }
            },
            None => Event::Terminal(TerminalEvent::Signal(Signal::End(15))),
        }
    }

    fn ready(&mut self) -> Option<Event<M>> {
        None
    }

    fn now(&self) -> Duration {
        self.now
    }
}

/// A host without a terminal, for tests: counts what it was asked.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct NoHost {
    /// Times suspended.
    pub suspended: usize,
    /// Times retaken.
    pub retaken: usize,
}

impl Host for NoHost {
    fn suspend(&mut self) {
        self.suspended += 1;
    }

    fn retake(&mut self) {
        self.retaken += 1;
    }

    fn next_graphics(&mut self, look: &mut Look) {
        look.canvas.method = look.canvas.method.next(&[]);
    }

    fn measure(&mut self, _look: &mut Look) {}

    fn toggle_mouse(&mut self) {}
}

#[cfg(test)]
mod tests {
    use ratatui::Frame;
    use ratatui::backend::TestBackend;
    use ratatui::layout::Rect;

    use super::*;
    use crate::tui::keymap::{KeyMap, Modes};
    use crate::tui::theme::Theme;

    /// Counts; `j` adds, `e` opens a text field, `q` ends.
    struct Counter {
        count: usize,
        text: Option<String>,
        finished: bool,
        ticks: Vec<Duration>,
        keys: KeyMap<Msg>,
    }

    #[derive(Debug, Clone, PartialEq, Eq)]
    enum Msg {
        Add,
        Edit,
        Typed(Key),
        Pasted(String),
        Quit,
        Tick,
        Worker(usize),
    }

    impl Counter {
        fn new() -> Self {
            let keys = KeyMap::new()
                .bind(Modes::ALL, "j down", "add", "add", "count one more", Msg::Add)
                .bind(Modes::ALL, "e", "edit", "edit", "type something", Msg::Edit)
                .bind(Modes::ALL, "q", "quit", "quit", "leave", Msg::Quit);
            Self { count: 0, text: None, finished: false, ticks: Vec::new(), keys }
        }
    }

    impl Screen for Counter {
        type Msg = Msg;
        type Effect = usize;

        fn update(&mut self, msg: Msg, now: Duration) -> Vec<usize> {
            match msg {
                Msg::Add => {
                    self.count += 1;
                    return vec![self.count];
                }
                Msg::Edit => self.text = Some(String::new()),
                Msg::Typed(key) => match key.typed() {
                    Some(character) => self.text.get_or_insert_default().push(character),
                    None => self.text = None,
                },
                Msg::Pasted(text) => {
                    if let Some(field) = &mut self.text {
                        field.push_str(&text);
                    }
                }
                Msg::Quit => self.finished = true,
                Msg::Tick => self.ticks.push(now),
                Msg::Worker(count) => self.count = count,
            }
            Vec::new()
        }

        fn view(&self, frame: &mut Frame<'_>, area: Rect, _look: &Look) {
            let text = format!("count {} {:?}", self.count, self.text);
            frame.buffer_mut().set_stringn(
                0,
                0,
                text,
                usize::from(area.width),
                ratatui::style::Style::new(),
            );
        }

        fn keymap(&self) -> &KeyMap<Msg> {
            &self.keys
        }

        fn is_finished(&self) -> bool {
            self.finished
        }

        fn takes_text(&self) -> bool {
            self.text.is_some()
        }

        fn input(&self, input: Input) -> Option<Msg> {
            match input {
                Input::Text(key) => Some(Msg::Typed(key)),
                Input::Paste(text) => Some(Msg::Pasted(text)),
                Input::Tick => Some(Msg::Tick),
                _ => None,
            }
        }
    }

    struct Played {
        screen: Counter,
        ended: Ended,
        effects: Vec<usize>,
        host: NoHost,
        last_frame: String,
    }

    fn play(steps: Vec<Step<Msg>>) -> Played {
        play_with(steps, crossbeam_channel::never())
    }

    fn play_with(steps: Vec<Step<Msg>>, answers: Receiver<Msg>) -> Played {
        let mut screen = Counter::new();
        let mut terminal = Terminal::new(TestBackend::new(60, 14)).expect("infallible");
        let mut host = NoHost::default();
        let mut effects = Vec::new();
        let mut look = Look::plain(Theme::MONO);
        let ended = run(
            &mut screen,
            &mut terminal,
            &mut Scripted::new(steps, answers),
            &mut host,
            &mut look,
            &mut |effect| effects.push(effect),
        )
        .expect("infallible");
        let last_frame = crate::tui::headless::dump(terminal.backend().buffer()).text;
        Played { screen, ended, effects, host, last_frame }
    }

    fn terminal_event(event: TerminalEvent) -> Step<Msg> {
        Step::Event(Event::Terminal(event))
    }

    #[test]
    fn keys_become_messages_and_effects_are_handed_out() {
        let played = play(Scripted::keys("j down x j q"));
        assert_eq!(played.ended, Ended::Finished);
        assert_eq!(played.effects, [1, 2, 3]);
        assert!(played.last_frame.starts_with("count 3 None"), "{}", played.last_frame);
    }

    #[test]
    fn a_text_field_has_the_keyboard_and_paste_never_acts() {
        let mut steps = Scripted::keys("e j q ?");
        steps.push(terminal_event(TerminalEvent::Paste("jq\n".to_owned())));
        steps.extend(Scripted::keys("esc j"));
        steps.push(terminal_event(TerminalEvent::Paste("jjjq\n".to_owned())));
        let played = play(steps);
        assert_eq!(played.effects, [1], "only the j after esc counted");
        assert_eq!(played.ended, Ended::Signal(15), "q was text");
        assert_eq!(played.screen.text, None);
    }

    #[test]
    fn help_opens_filters_and_keeps_keys_from_acting() {
        let played = play(Scripted::keys("? j q"));
        assert!(played.effects.is_empty());
        assert!(played.last_frame.contains("no action matches"), "{}", played.last_frame);
        let played = play(Scripted::keys("? esc j q"));
        assert_eq!(played.effects, [1]);
        assert_eq!(played.ended, Ended::Finished);
    }

    #[test]
    fn signals_suspend_retake_and_end() {
        let mut steps = Scripted::keys("ctrl-z j");
        steps.push(terminal_event(TerminalEvent::Signal(Signal::Stop)));
        steps.push(terminal_event(TerminalEvent::Signal(Signal::Continue)));
        steps.push(terminal_event(TerminalEvent::Signal(Signal::End(1))));
        steps.extend(Scripted::keys("j"));
        let played = play(steps);
        assert_eq!(played.host, NoHost { suspended: 2, retaken: 1 });
        assert_eq!((played.ended, played.effects.len()), (Ended::Signal(1), 1));
        assert_eq!(play(Scripted::keys("ctrl-c")).ended, Ended::Left);
    }

    #[test]
    fn answers_and_ticks_arrive() {
        let (sender, answers) = crossbeam_channel::bounded(1);
        let worker = std::thread::spawn(move || sender.send(Msg::Worker(40)));
        let steps = vec![Step::Answer, Step::Pass(Duration::from_secs(3))];
        let played = play_with(steps, answers);
        worker.join().expect("no panic").expect("received");
        assert_eq!(played.screen.count, 40);
        assert_eq!(played.screen.ticks, [Duration::from_secs(3)]);
    }

    #[test]
    fn a_small_terminal_says_so_and_keys_still_work() {
        let mut screen = Counter::new();
        for (columns, rows) in [(0, 0), (1, 1), (39, 30), (100, 11)] {
            let dump =
                crate::tui::headless::draw(&screen, columns, rows, &Look::plain(Theme::MONO));
            assert!(!dump.text.contains("count"), "{}", dump.text);
        }
        screen.update(Msg::Add, Duration::ZERO);
        let dump = crate::tui::headless::draw(&screen, 40, 12, &Look::plain(Theme::MONO));
        assert!(dump.text.contains("count 1"));
    }

    #[test]
    fn a_live_source_gives_keys_before_answers_and_ticks_when_idle() {
        let (keys, terminal) = crossbeam_channel::bounded(4);
        let (work, answers) = crossbeam_channel::bounded(4);
        let mut live = Live::new(&terminal, &answers, Instant::now());
        work.send(Msg::Worker(1)).expect("room");
        keys.send(TerminalEvent::Key(Key::char('j'))).expect("room");
        assert_eq!(live.next(None), Event::Terminal(TerminalEvent::Key(Key::char('j'))));
        assert_eq!(live.next(None), Event::Answer(Msg::Worker(1)));
        assert_eq!(live.next(Some(Duration::from_millis(1))), Event::Tick);
        drop(work);
        assert_eq!(live.next(Some(Duration::from_millis(1))), Event::Tick, "no worker is left");
        drop(keys);
        assert_eq!(live.next(None), Event::Terminal(TerminalEvent::Signal(Signal::End(1))));
    }
}
