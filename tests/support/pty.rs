//! A program on a pseudo-terminal: keys in, screen out, every byte kept.

use std::io::{Read as _, Write as _};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// How long a state is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long nothing comes after a whole frame.
const QUIET: Duration = Duration::from_millis(120);

struct Seen {
    parser: vt100::Parser,
    bytes: Vec<u8>,
    ended: bool,
}

impl Seen {
    /// The screen as a person sees it: a blank at the end of a line is the same whether it was written there,
    /// over a cursor that has moved on, or never was.
    fn visible(&self) -> String {
        let contents = self.parser.screen().contents();
        let lines: Vec<&str> = contents.lines().map(str::trim_end).collect();
        lines.join("\n")
    }
}

/// The program and its terminal.
pub(crate) struct Pty {
    child: Box<dyn Child + Send + Sync>,
    master: Option<Box<dyn MasterPty + Send>>,
    writer: Option<Box<dyn std::io::Write + Send>>,
    seen: Arc<(Mutex<Seen>, Condvar)>,
    /// The reader lets go of the terminal after its next byte.
    let_go: Arc<AtomicBool>,
}

/// What a program can have changed of a terminal.
#[derive(Debug, PartialEq)]
pub(crate) struct Modes {
    line_discipline: String,
    alternate_screen: bool,
    cursor_hidden: bool,
    bracketed_paste: bool,
    mouse: String,
}

impl Pty {
    /// Starts `command` on a terminal of `columns` x `rows`.
    pub(crate) fn start(command: &Command, columns: u16, rows: u16) -> Self {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a terminal");
        let mut builder = CommandBuilder::new(command.get_program());
        builder.args(command.get_args());
        builder.env_clear();
        if let (false, Some(path)) =
            (command.get_program().to_string_lossy().contains('/'), std::env::var_os("PATH"))
        {
            builder.env("PATH", path);
        }
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                builder.env(name, value);
            }
        }
        let child = pair.slave.spawn_command(builder).expect("runs");
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().expect("readable");
        let writer = pair.master.take_writer().expect("writable");
        let parser = {
            let cells = |count: u16| std::num::NonZero::new(count).expect("at least one cell");
            vt100::Parser::new(cells(rows), cells(columns), 0)
        };
        let seen = Arc::new((
            Mutex::new(Seen { parser, bytes: Vec::new(), ended: false }),
            Condvar::new(),
        ));
        let shared = Arc::clone(&seen);
        let let_go = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&let_go);
        std::thread::spawn(move || {
            let mut buffer = [0_u8; 4096];
            loop {
                let read = reader.read(&mut buffer).unwrap_or(0);
                let mut seen = shared.0.lock().expect("no panic");
                seen.parser.process(&buffer[..read]);
                seen.bytes.extend_from_slice(&buffer[..read]);
                seen.ended |= read == 0;
                shared.1.notify_all();
                if read == 0 || is_over.load(Ordering::SeqCst) {
                    return;
                }
            }
        });
        Self { child, master: Some(pair.master), writer: Some(writer), seen, let_go }
    }

    /// Types.
    pub(crate) fn keys(&mut self, keys: &str) {
        let writer = self.writer.as_mut().expect("not hung up");
        writer.write_all(keys.as_bytes()).and_then(|()| writer.flush()).expect("typed");
    }

    /// What the terminal's modes are now.
    pub(crate) fn modes(&self) -> Modes {
        let master = self.master.as_ref().expect("not hung up");
        let line_discipline = format!("{:?}", master.get_termios().expect("a terminal"));
        let seen = self.seen.0.lock().expect("no panic");
        let screen = seen.parser.screen();
        Modes {
            line_discipline,
            alternate_screen: screen.alternate_screen(),
            cursor_hidden: screen.hide_cursor(),
            bracketed_paste: screen.bracketed_paste(),
            mouse: format!("{:?}", screen.mouse_protocol_mode()),
        }
    }

    /// The process's id.
    pub(crate) fn id(&self) -> u32 {
        self.child.process_id().expect("running")
    }

    /// Sends a signal by name, as `kill` does.
    pub(crate) fn kill(&self, signal: &str) {
        let status = Command::new("kill").args(["-s", signal, &self.id().to_string()]).status();
        assert!(status.expect("kill runs").success(), "{signal}");
    }

    /// Another size.
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let cells = |count: u16| std::num::NonZero::new(count.max(1)).expect("at least one cell");
        self.seen.0.lock().expect("no panic").parser.set_size(cells(rows), cells(columns));
        self.master.as_ref().expect("not hung up").resize(size).expect("resized");
    }

    /// Closes the terminal from outside, as a dropped connection does. `keys` must make the program write.
    pub(crate) fn hang_up(&mut self, keys: &str) {
        self.let_go.store(true, Ordering::SeqCst);
        self.keys(keys);
        let deadline = Instant::now() + PATIENCE;
        // The reader's handle is one of the terminal's; it is gone with the thread.
        while Arc::strong_count(&self.let_go) > 1 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        (self.writer, self.master) = (None, None);
    }

    /// Whether it has ended by `deadline`: its exit code, or the name of the signal.
    pub(crate) fn ended_within(&mut self, patience: Duration) -> Option<Result<u32, String>> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(status) = self.child.try_wait().expect("known") {
                self.wait_for_last_byte(deadline);
                return Some(match status.signal() {
                    Some(signal) => Err(signal.to_owned()),
                    None => Ok(status.exit_code()),
                });
            }
            if Instant::now() >= deadline {
                return None;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// What it wrote may still be on its way when it has ended.
    fn wait_for_last_byte(&self, deadline: Instant) {
        let mut seen = self.seen.0.lock().expect("no panic");
        while !seen.ended && !self.let_go.load(Ordering::SeqCst) && Instant::now() < deadline {
            seen = self.seen.1.wait_timeout(seen, QUIET).expect("no panic").0;
        }
    }

    /// Every byte it wrote so far.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.seen.0.lock().expect("no panic").bytes.clone()
    }

    /// Looks at the screen's cells.
    pub(crate) fn with_screen<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.seen.0.lock().expect("no panic").parser.screen())
    }

    /// What the screen shows now.
    pub(crate) fn screen(&self) -> String {
        self.seen.0.lock().expect("no panic").visible()
    }

    /// Waits until the screen shows `text`, but for blanks at its end, which a line does not have.
    pub(crate) fn wait_for(&self, text: &str) -> String {
        self.wait_until(&format!("{text:?}"), |screen| screen.contains(text.trim_end()))
    }

    /// Waits until the screen is as wanted.
    pub(crate) fn wait_until(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut seen = self.seen.0.lock().expect("no panic");
        loop {
            let screen = seen.visible();
            let left = deadline.saturating_duration_since(Instant::now());
            if wanted(&screen) {
                // A frame comes in pieces; it is whole when nothing follows for a moment.
                let arrived = seen.bytes.len();
                seen = self.seen.1.wait_timeout(seen, QUIET.min(left)).expect("no panic").0;
                if seen.bytes.len() == arrived {
                    return screen;
                }
                continue;
            }
            assert!(!left.is_zero() && !seen.ended, "{what} never came:\n{screen}");
            seen = self.seen.1.wait_timeout(seen, left).expect("no panic").0;
        }
    }

    /// Waits until the screen is as wanted, be it for a moment only, in the middle of a frame.
    pub(crate) fn wait_at_once(&self, what: &str, wanted: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        let mut seen = self.seen.0.lock().expect("no panic");
        loop {
            let screen = seen.visible();
            if wanted(&screen) {
                return;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero() && !seen.ended, "{what} never came:\n{screen}");
            seen = self.seen.1.wait_timeout(seen, left).expect("no panic").0;
        }
    }

    /// Waits for its end; the exit code, and every byte it wrote.
    pub(crate) fn end(mut self) -> (u32, Vec<u8>) {
        let status = self.child.wait().expect("ends");
        let deadline = Instant::now() + PATIENCE;
        let mut seen = self.seen.0.lock().expect("no panic");
        while !seen.ended && Instant::now() < deadline {
            seen = self.seen.1.wait_timeout(seen, Duration::from_secs(1)).expect("no panic").0;
        }
        (status.exit_code(), seen.bytes.clone())
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}
