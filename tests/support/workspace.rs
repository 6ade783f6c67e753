//! A small workspace with made-up pictures, and `flipside` run in it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};

use flipside::store::atomic;
use flipside::store::event_chain::{Event, EventLog};
use flipside::store::label_schema::SCHEMA;

/// The clock every run is given.
pub(crate) const NOW: &str = "2026-02-03T04:05:06Z";

/// A workspace in a temporary folder.
pub(crate) struct Workspace {
    folder: tempfile::TempDir,
}

impl Workspace {
    /// One with `count` pictures, cut into `shards`.
    pub(crate) fn new(count: u8, shards: u32, overlap: f64, repeats: f64) -> Self {
        let workspace = Self { folder: tempfile::tempdir().expect("temporary folder") };
        let mut manifest = String::new();
        for number in 0..count {
            let name = format!("images/park {number:02}.png");
            let picture = image::RgbImage::from_fn(24, 18, |x, y| {
                image::Rgb([number.wrapping_mul(37), (x * 9) as u8, (y * 12) as u8])
            });
            let mut png = std::io::Cursor::new(Vec::new());
            picture.write_to(&mut png, image::ImageFormat::Png).expect("encoded");
            workspace.write(&name, png.get_ref());
            manifest.push_str(&format!("{name}\n"));
        }
        workspace.write("manifest.txt", manifest.as_bytes());
        workspace.write(
            "coarse.toml",
            b"schema = 1\n[groups]\nbottles = [\"a.bottle\"]\ncans = [\"a.can\"]\npaper = [\"a.paper\"]\n",
        );
        workspace.write(
            "flipside.toml",
            format!(
                "schema = 1\n[compare]\nreference = \"a.onnx\"\ncandidates = [\"b.onnx\"]\n\
                 sidecar = \"a.meta.json\"\n[fixtures]\nmanifest = \"manifest.txt\"\n[labels]\n\
                 taxonomy = \"coarse.toml\"\nshards = {shards}\noverlap = {overlap}\n\
                 repeats = {repeats}\nseed = 3\n"
            )
            .as_bytes(),
        );
        workspace
    }

    /// The folder.
    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// Writes a file in it.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        atomic::write(&self.path(name), bytes).expect(name);
    }

    /// `flipside` in it, with a fixed clock and nothing else of the caller's environment.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flipside"));
        command
            .args(["-C".as_ref(), self.root().as_os_str()])
            .args(arguments.split_whitespace())
            .env_clear()
            .env("FLIPSIDE_NOW", NOW)
            .env("TERM", "xterm-256color")
            .env("TMPDIR", std::env::temp_dir());
        command
    }

    /// Runs it to its end.
    #[must_use]
    pub(crate) fn run(&self, arguments: &str) -> Output {
        self.command(arguments).stdin(Stdio::null()).output().expect("runs")
    }

    /// Runs it with lines as its input.
    #[must_use]
    pub(crate) fn run_with(&self, arguments: &str, lines: &str) -> Output {
        fed(self.command(arguments), lines)
    }

    /// Runs it with lines as its input, at another time.
    #[must_use]
    pub(crate) fn run_at(&self, now: &str, arguments: &str, lines: &str) -> Output {
        let mut command = self.command(arguments);
        command.env("FLIPSIDE_NOW", now);
        fed(command, lines)
    }

    /// Labels with lines, and asserts that it ended well.
    pub(crate) fn label(&self, rater: &str, shard: &str, lines: &str) -> String {
        let output =
            self.run_with(&format!("label --rater {rater} --shard {shard} --plain"), lines);
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    }

    /// A rater's log, verified.
    pub(crate) fn events(&self, rater: &str) -> Vec<Event> {
        let path = self.path(&format!("sessions/labels/{rater}.db"));
        EventLog::open(&path, &SCHEMA).expect("a whole chain").1
    }

    /// Text of every label file, by name.
    pub(crate) fn label_files(&self) -> Vec<(String, String)> {
        let Ok(listing) = std::fs::read_dir(self.path("labels")) else { return Vec::new() };
        let mut files: Vec<(String, String)> = listing
            .map(|entry| {
                let path = entry.expect("listed").path();
                let name = path.file_name().expect("named").to_string_lossy().into_owned();
                (name, std::fs::read_to_string(path).expect("text"))
            })
            .collect();
        files.sort();
        files
    }

    /// Labels in conversation.
    pub(crate) fn talk(&self, arguments: &str) -> Talk {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("runs");
        let stdin = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().expect("piped"));
        Talk { child, stdin, lines }
    }
}

fn fed(mut command: Command, lines: &str) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("runs");
    let mut stdin = child.stdin.take().expect("piped");
    let lines = lines.to_owned();
    // It may end before it has read everything.
    let writer = std::thread::spawn(move || drop(stdin.write_all(lines.as_bytes())));
    let output = child.wait_with_output().expect("ends");
    writer.join().expect("no panic");
    output
}

/// A running `flipside label --plain`.
pub(crate) struct Talk {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: BufReader<std::process::ChildStdout>,
}

impl Talk {
    /// Sends lines. What a dead process does not read is lost.
    pub(crate) fn send(&mut self, lines: &str) {
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(lines.as_bytes()).and_then(|()| stdin.flush());
        }
    }

    /// The next line; `None` when it has ended.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.lines.read_line(&mut line) {
            Ok(0) | Err(_) => None,
            // Half a line is what a killed process leaves.
            Ok(_) => line.strip_suffix('\n').map(str::to_owned),
        }
    }

    /// Lines up to one that begins with `start`, that one included; `None` when it ended before.
    pub(crate) fn until(&mut self, start: &str) -> Option<String> {
        loop {
            let line = self.line()?;
            if line.starts_with(start) {
                return Some(line);
            }
        }
    }

    /// The next acknowledged event.
    pub(crate) fn saved(&mut self) -> Option<u64> {
        let line = self.until("saved ")?;
        line.split(' ').nth(1)?.parse().ok()
    }

    /// Kills it without warning.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("killed");
    }

    /// Ends its input and waits.
    pub(crate) fn finish(mut self) -> std::process::ExitStatus {
        self.stdin = None;
        while self.line().is_some() {}
        self.child.wait().expect("ends")
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What it printed.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What it said beside.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
