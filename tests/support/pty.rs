//! A program on a pseudo-terminal: keys in, screen out, every byte kept.

use std::io::{Read as _, Write as _};
use std::process::Command;
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

/// The program and its terminal.
pub(crate) struct Pty {
    child: Box<dyn Child + Send + Sync>,
    _master: Box<dyn MasterPty + Send>,
    writer: Box<dyn std::io::Write + Send>,
    seen: Arc<(Mutex<Seen>, Condvar)>,
}

impl Pty {
    /// Starts `command` on a terminal of `columns` x `rows`.
    pub(crate) fn start(command: &Command, columns: u16, rows: u16) -> Self {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a terminal");
        let mut builder = CommandBuilder::new(command.get_program());
        builder.args(command.get_args());
        builder.env_clear();
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
        std::thread::spawn(move || {
            let mut buffer = [0_u8; 4096];
            loop {
                let read = reader.read(&mut buffer).unwrap_or(0);
                let mut seen = shared.0.lock().expect("no panic");
                seen.parser.process(&buffer[..read]);
                seen.bytes.extend_from_slice(&buffer[..read]);
                seen.ended |= read == 0;
                shared.1.notify_all();
                if read == 0 {
                    return;
                }
            }
        });
        Self { child, _master: pair.master, writer, seen }
    }

    /// Types.
    pub(crate) fn keys(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).and_then(|()| self.writer.flush()).expect("typed");
    }

    /// Waits until the screen shows `text`.
    pub(crate) fn wait_for(&self, text: &str) -> String {
        self.wait_until(&format!("{text:?}"), |screen| screen.contains(text))
    }

    /// Waits until the screen is as wanted.
    pub(crate) fn wait_until(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut seen = self.seen.0.lock().expect("no panic");
        loop {
            let screen = seen.parser.screen().contents();
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
