//! The terminal comes back, whatever happens: on return, error, panic, a signal, control-Z, a window that
//! changes its size like mad, and a line that is cut.
//!
//! Panics and errors are those of a screen in this file, which the test binary runs when it is started
//! again on a pseudo-terminal; everything else is the real program.

#![cfg(unix)]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is missing"
)]

use std::process::Command;
use std::time::Duration;

use crossbeam_channel::bounded;
use flipside::tui::event_loop::Ended;
use flipside::tui::keymap::{KeyMap, Modes};
use flipside::tui::picture::probe::Graphics;
use flipside::tui::screen::{Input, Look, Screen};
use flipside::tui::session::{Options, Session};
use ratatui::Frame;
use ratatui::layout::Rect;

#[path = "support/pty.rs"]
#[allow(dead_code, reason = "shared by several tests, each of which needs a part")]
mod pty;
#[path = "support/workspace.rs"]
#[allow(dead_code, reason = "shared by several tests, each of which needs a part")]
mod workspace;

use pty::Pty;
use workspace::Workspace;

/// How long an end may take on a machine that does other things besides.
const PATIENCE: Duration = Duration::from_secs(10);

fn overview(workspace: &Workspace) -> Pty {
    let mut command = workspace.command("");
    command.env("USER", "ada");
    Pty::start(&command, 80, 24)
}

/// P13: a signal ends the program as that signal, with the terminal as it was.
#[test]
fn signals_end_it_and_the_terminal_comes_back() {
    let workspace = Workspace::new(2, 1, 0.0, 0.0);
    for (signal, name) in [("TERM", "Terminated"), ("INT", "Interrupt"), ("HUP", "Hangup")] {
        let mut pty = overview(&workspace);
        // Before the program has done anything a fresh terminal is what it finds.
        let before = Pty::start(&Command::new("true"), 80, 24).modes();
        pty.wait_for("RECORDS");
        assert_ne!(pty.modes(), before, "the modes are seen from here");
        pty.kill(signal);
        let ended = pty.ended_within(PATIENCE).expect("ends");
        assert!(
            ended.as_ref().is_err_and(|found| found.contains(name)) || ended == Ok(128),
            "{signal}: {ended:?}"
        );
        assert_eq!(pty.modes(), before, "{signal}");
    }
}

#[test]
fn control_c_and_quitting_end_it_with_nothing() {
    let workspace = Workspace::new(2, 1, 0.0, 0.0);
    for keys in ["q", "\u{3}"] {
        let before = Pty::start(&Command::new("true"), 80, 24).modes();
        let mut pty = overview(&workspace);
        pty.wait_for("RECORDS");
        pty.keys(keys);
        assert_eq!(pty.ended_within(PATIENCE), Some(Ok(0)));
        assert_eq!(pty.modes(), before);
    }
}

/// The mouse is the program's until it is given back for selecting text; the key says so in the help.
#[test]
fn the_mouse_can_be_given_back_and_taken_again() {
    let workspace = Workspace::new(2, 1, 0.0, 0.0);
    let mut pty = overview(&workspace);
    pty.wait_for("RECORDS");
    let taken = pty.modes();
    let mut before = None;
    for round in 0..4 {
        pty.keys("\u{1b}[21~");
        // The key changes nothing on the screen; the page after it comes when it was handled.
        pty.keys("?");
        pty.wait_for("mouse on or off");
        let now = pty.modes();
        assert_eq!(now == taken, round % 2 == 1, "round {round}: {now:?}");
        assert_ne!(before.as_ref(), Some(&now));
        before = Some(now);
        pty.keys("\u{1b}");
        pty.wait_for("RECORDS");
    }
    pty.keys("q");
    assert_eq!(pty.ended_within(PATIENCE), Some(Ok(0)));
}

/// P13: control-Z gives the terminal back, `fg` takes it and draws everything.
#[test]
fn it_stops_and_goes_on_under_a_shell() {
    let workspace = Workspace::new(2, 1, 0.0, 0.0);
    let program = workspace.command("");
    let mut shell = Command::new("bash");
    shell.args(["--norc", "--noprofile", "-i"]).env("PS1", "ready> ");
    for (name, value) in program.get_envs() {
        shell.env(name, value.expect("set"));
    }
    shell.env("USER", "ada").env("PATH", std::env::var_os("PATH").expect("a path"));
    let mut pty = Pty::start(&shell, 80, 24);
    pty.wait_for("ready>");
    let line: Vec<_> = std::iter::once(program.get_program())
        .chain(program.get_args())
        .map(|word| format!("'{}'", word.to_str().expect("text")))
        .collect();
    pty.keys(&format!("{}\r", line.join(" ")));
    pty.wait_for("RECORDS");
    let at_work = pty.modes();
    for _ in 0..2 {
        pty.keys("\u{1a}");
        pty.wait_until("the shell", |screen| {
            screen.contains("Stopped") && screen.trim_end().ends_with("ready>")
        });
        let stopped = pty.modes();
        assert_ne!(stopped, at_work);
        pty.keys("echo is-$((40+2))\r");
        pty.wait_for("is-42");
        pty.keys("fg\r");
        pty.wait_until("the overview", |screen| {
            screen.contains("RECORDS") && !screen.contains("Stopped")
        });
        assert_eq!(pty.modes(), at_work);
    }
    pty.keys("q");
    pty.wait_until("the shell", |screen| {
        !screen.contains("RECORDS") && screen.trim_end().ends_with("ready>")
    });
    pty.keys("exit\r");
    assert_eq!(pty.ended_within(PATIENCE), Some(Ok(0)));
}

/// P10: a line that is cut ends the process, also when nothing tells it by a signal.
#[test]
fn a_dead_terminal_ends_it() {
    let workspace = Workspace::new(2, 1, 0.0, 0.0);
    for deaf in [false, true] {
        let mut command = workspace.command("");
        if deaf {
            // Started as `nohup` starts programs: the hang-up signal is ignored.
            let program = command;
            command = Command::new("sh");
            command.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]);
            command.arg(program.get_program()).args(program.get_args());
            for (name, value) in program.get_envs() {
                command.env(name, value.expect("set"));
            }
        }
        let mut pty = Pty::start(&command, 80, 24);
        pty.wait_for("RECORDS");
        pty.hang_up("\u{c}");
        assert!(pty.ended_within(PATIENCE).is_some(), "it lives on without a terminal");
    }
}

/// P12: whatever sizes a window goes through, the last one is drawn as if it had been so from the start.
#[test]
fn a_storm_of_sizes_leaves_a_clean_screen() {
    let workspace = Workspace::new(2, 1, 0.0, 0.0);
    let fresh = {
        let mut pty = overview(&workspace);
        let screen = pty.wait_until("all of it", |screen| screen.contains("RECORDS   none yet"));
        pty.keys("q");
        screen
    };
    let mut pty = overview(&workspace);
    pty.wait_until("all of it", |screen| screen.contains("RECORDS   none yet"));
    for round in 0_u16..300 {
        let (columns, rows) = match round % 6 {
            0 => (1, 1),
            1 => (300, 100),
            2 => (40, 12),
            3 => (2_000, 1),
            4 => (3, 200),
            _ => (60 + round % 50, 10 + round % 30),
        };
        pty.resize(columns, rows);
    }
    pty.resize(80, 24);
    // Keys still work while sizes are being handled.
    pty.keys("?");
    pty.wait_for("keys: type to filter");
    pty.keys("\u{1b}");
    let last = pty.wait_until("the overview", |screen| {
        screen.contains("RECORDS   none yet") && !screen.contains("type to filter")
    });
    assert_eq!(trimmed(&last), trimmed(&fresh));
    pty.keys("q");
    assert_eq!(pty.ended_within(PATIENCE), Some(Ok(0)));
}

/// A key typed in the very moment the window changes its size is not held back until the next key.
#[test]
fn keys_and_sizes_that_come_together_both_arrive() {
    let workspace = Workspace::new(2, 1, 0.0, 0.0);
    let mut pty = overview(&workspace);
    pty.wait_for("RECORDS");
    for round in 0_u16..100 {
        let (columns, key, open) =
            if round % 2 == 0 { (100, "?", true) } else { (80, "\u{1b}", false) };
        pty.resize(columns, 24);
        pty.keys(key);
        // A new size blanks the screen before it is drawn: only what is drawn says that the key arrived. An
        // escape that the next key follows at once would be another key.
        let shown = if open { "type to filter" } else { "RECORDS" };
        pty.wait_at_once(&format!("round {round}, help {open}"), |screen| screen.contains(shown));
    }
}

/// A cell that was written with a space looks like one that never was.
fn trimmed(screen: &str) -> Vec<&str> {
    screen.lines().map(str::trim_end).collect()
}

/// Says in which way the screen of this file fails.
const FAULT: &str = "FLIPSIDE_TEST_FAULT";

/// What the test binary does when it is started on a terminal of its own; nothing otherwise.
#[test]
fn screen_that_fails() {
    let Ok(fault) = std::env::var(FAULT) else { return };
    let options = Options::from_environment(Graphics::Only(flipside::tui::picture::Method::Blocks));
    let mut session = Session::open(options).expect("a terminal");
    let (sender, answers) = bounded(4);
    if fault == "worker" {
        let worker = std::thread::spawn(|| panic!("a worker fell over"));
        let _ = worker.join();
        sender.send(Msg::Note("the screen goes on")).expect("there");
    }
    let mut screen = Fails { fault: fault.clone(), keys: keymap(), note: "waiting", over: false };
    let ended = session.run(&mut screen, &answers, |()| {}).expect("drawn");
    assert_eq!(ended, Ended::Finished);
    if fault == "error" {
        drop(session);
        panic!("refused: an error after the screen");
    }
}

#[derive(Debug, Clone)]
enum Msg {
    Key,
    Leave,
    Note(&'static str),
}

fn keymap() -> KeyMap<Msg> {
    KeyMap::new().bind(Modes::ALL, "x", "fail", "fail", "fail", Msg::Key).bind(
        Modes::ALL,
        "q",
        "leave",
        "leave",
        "leave",
        Msg::Leave,
    )
}

struct Fails {
    fault: String,
    keys: KeyMap<Msg>,
    note: &'static str,
    over: bool,
}

impl Drop for Fails {
    fn drop(&mut self) {
        assert!(self.fault != "drop", "fell over while being put away");
    }
}

impl Screen for Fails {
    type Msg = Msg;
    type Effect = ();

    fn update(&mut self, msg: Msg, _now: Duration) -> Vec<()> {
        match msg {
            Msg::Key if self.fault == "update" => panic!("fell over at a key"),
            Msg::Key => self.note = "failing",
            Msg::Leave => self.over = true,
            Msg::Note(note) => self.note = note,
        }
        Vec::new()
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _look: &Look) {
        assert!(!(self.fault == "draw" && self.note == "failing"), "fell over while drawing");
        frame.render_widget(self.note, area);
    }

    fn keymap(&self) -> &KeyMap<Msg> {
        &self.keys
    }

    fn is_finished(&self) -> bool {
        self.over
    }

    fn input(&self, _input: Input) -> Option<Msg> {
        None
    }
}

fn failing(fault: &str) -> Pty {
    let mut command = Command::new(std::env::current_exe().expect("this file"));
    command
        .args(["--exact", "screen_that_fails", "--nocapture", "--test-threads=1"])
        .env(FAULT, fault)
        .env("TERM", "xterm-256color")
        .env("TMPDIR", std::env::temp_dir());
    Pty::start(&command, 80, 24)
}

/// P11: a panic anywhere gives the terminal back before it is told, and is told where it can be read.
#[test]
fn panics_and_errors_give_the_terminal_back() {
    let before = Pty::start(&Command::new("true"), 80, 24).modes();
    for (fault, keys, said) in [
        ("draw", "x", "fell over while drawing"),
        ("update", "x", "fell over at a key"),
        ("drop", "q", "fell over while being put away"),
        ("error", "q", "refused: an error after the screen"),
    ] {
        let mut pty = failing(fault);
        pty.wait_for("waiting");
        assert_ne!(pty.modes(), before);
        pty.keys(keys);
        assert_eq!(pty.ended_within(PATIENCE), Some(Ok(101)), "{fault}");
        pty.wait_for(said);
        assert_eq!(pty.modes(), before, "{fault}");
    }
}

/// P11: a worker's panic is its own; the screen goes on, and what was said comes after it.
#[test]
fn a_worker_that_panics_does_not_tear_the_screen() {
    let mut pty = failing("worker");
    let screen = pty.wait_for("the screen goes on");
    assert!(!screen.contains("a worker fell over"), "{screen}");
    pty.keys("q");
    assert_eq!(pty.ended_within(PATIENCE), Some(Ok(0)));
    pty.wait_for("a worker fell over");
}
