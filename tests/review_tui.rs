//! The screens as a person uses them: a run from the overview, its flips reviewed, taken back, left and
//! come back to; and whatever names come along, nothing of them acts on the terminal.

#![cfg(unix)]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is missing"
)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

mod common;
#[path = "support/pty.rs"]
#[allow(dead_code, reason = "shared by several tests, each of which needs a part")]
mod pty;

use pty::Pty;

/// How long an end may take on a machine that does other things besides.
const PATIENCE: Duration = Duration::from_secs(20);

/// Four pictures of the demo set whose decisions differ, the first of them the worst.
const CHANGED: [&str; 4] = ["d94b8654f8.jpg", "ec542b078d.jpg", "a1960fbd31.jpg", "b6aecf2932.jpg"];

/// A workspace over the demo's artifacts and these of its pictures.
fn demo(pictures: &[String]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo");
    let artifact = |name: &str| demo.join(format!("artifacts/demo-litter.{name}"));
    let toml = format!(
        "schema = 1\n[compare]\nreference = {:?}\ncandidates = [{:?}]\nsidecar = {:?}\n[fixtures]\nmanifest = \"manifest.txt\"\n",
        artifact("fp32.onnx"),
        artifact("int8.onnx"),
        artifact("fp32.meta.json"),
    );
    let lines: String = pictures
        .iter()
        .map(|name| format!("{}\n", demo.join("images").join(name).display()))
        .collect();
    for (name, text) in [("flipside.toml", toml), ("manifest.txt", lines)] {
        flipside::store::atomic::write(&folder.path().join(name), text.as_bytes()).expect(name);
    }
    folder
}

fn open(home: &Path, columns: u16, rows: u16) -> Pty {
    let mut command = common::flipside(home, home, &[]);
    command.env("TERM", "xterm-256color").env("USER", "ada").env("TMPDIR", std::env::temp_dir());
    Pty::start(&command, columns, rows)
}

#[test]
fn a_run_is_started_reviewed_taken_back_left_and_come_back_to() {
    let workspace = demo(&CHANGED.map(str::to_owned));
    let home = workspace.path();
    let mut pty = open(home, 80, 24);
    pty.wait_for("none yet: p runs parity");
    pty.keys("p");
    pty.wait_for("of 4 pictures");
    // Leaving the run's screen leaves the run alone; its report appears in the list by itself.
    pty.keys("q");
    pty.wait_for("run ");
    pty.wait_for("4 changed, 0 decided");
    pty.keys("r");
    // Both boxes lie in the same cells, and both are seen: their lines take turns.
    let worst = pty.wait_until("the worst flip with both boxes", |screen| {
        screen.contains("RC") && screen.contains('━') && screen.contains('═')
    });
    for part in
        ["1/4 pictures", "0/4 decided", "worst first", "relabelled", "┃ reference", "║ candidate"]
    {
        assert!(worst.contains(part), "{part}\n{worst}");
    }
    pty.keys("a");
    pty.wait_until("the next", |screen| {
        screen.contains("2/4 pictures") && screen.contains("1/4 decided")
    });
    pty.keys("d");
    pty.wait_for("2/4 decided");
    pty.keys("u");
    let undone = pty.wait_for("undid: candidate right");
    assert!(undone.contains("2/4 pictures") && undone.contains("1/4 decided"), "{undone}");
    pty.keys("q");
    pty.wait_for("4 changed, 1 decided");
    pty.keys("q");
    assert_eq!(pty.ended_within(PATIENCE), Some(Ok(0)));

    let mut pty = open(home, 80, 24);
    pty.wait_for("4 changed, 1 decided");
    pty.keys("r");
    pty.wait_until("where it was", |screen| {
        screen.contains("2/4 pictures") && screen.contains("1/4 decided")
    });
    pty.keys("U");
    pty.wait_for("did again: candidate right");
    pty.wait_for("2/4 decided");
    pty.keys("\u{3}");
    pty.wait_for("4 changed, 2 decided");
    pty.keys("q");
    assert_eq!(pty.ended_within(PATIENCE), Some(Ok(0)));
}

/// The number before `word`.
fn number(screen: &str, word: &str) -> Option<u32> {
    let (before, _) = screen.split_once(word)?;
    before.split(|letter: char| !letter.is_ascii_digit()).next_back()?.parse().ok()
}

#[test]
fn a_run_is_reviewed_while_it_grows_cancelled_and_gone_on_with() {
    let demo_set = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo/manifest.txt");
    let all = std::fs::read_to_string(demo_set).expect("the demo set");
    let mut pictures = CHANGED.map(str::to_owned).to_vec();
    let others = all.lines().filter_map(|line| line.strip_prefix("images/"));
    pictures.extend(others.map(str::to_owned).filter(|name| !CHANGED.contains(&name.as_str())));
    let workspace = demo(&pictures);
    let home = workspace.path();
    let mut pty = open(home, 80, 24);
    pty.wait_for("none yet");
    pty.keys("p");
    pty.wait_until("a change", |screen| {
        number(screen, " decision").is_some_and(|changes| changes > 0)
    });
    pty.keys("r");
    let early = pty.wait_until("its picture", |screen| {
        screen.contains("run going on") && screen.contains("RC")
    });
    let found = number(&early, " pictures").expect("counted");
    pty.keys("a");
    pty.wait_for("1/");
    let later = pty.wait_until("a longer queue", |screen| {
        number(screen, " pictures").is_some_and(|pictures| pictures > found)
    });
    assert!(later.contains("run going on"), "{later}");
    pty.keys("q");
    pty.wait_for("of 48 pictures");
    pty.keys("c");
    pty.wait_for("Stop the run?");
    pty.keys("y");
    let stopped = pty.wait_for("cancelled");
    let done = number(&stopped, " of 48").expect("counted");
    assert!(done < 48, "{stopped}");
    pty.keys("p");
    pty.wait_until("the next run to take over what was done", |screen| {
        number(screen, " from an earlier run").is_some_and(|taken| taken >= done.min(4))
    });
    // Leaving the program asks, and stops the run.
    pty.keys("q");
    pty.wait_for("RECORDS");
    pty.wait_for("run (p looks): ");
    pty.keys("q");
    pty.wait_for("Leaving stops the run");
    pty.keys("y");
    assert_eq!(pty.ended_within(PATIENCE), Some(Ok(0)));
    let reports = std::fs::read_dir(home.join("sessions/reports")).map_or(0, Iterator::count);
    assert_eq!(reports, 0, "no report of a run that was stopped");
    let log = common::run(home, home, &["review", "--json", "--reviewer", "ada"]);
    assert_eq!(log.0, 2, "there is nothing to review yet: {log:?}");
}

/// Everything that could act on a terminal or hide in it, ready for a file name.
const HOSTILE: &str = "x\u{1b}]52;c;aGk=\u{7}\u{1b}[?1337h\u{1b}Pq\u{9b}6n\u{8}\u{7f}\u{202e}\u{2066}\u{200b}\u{feff}z";

/// Escape sequences that are ours, without parameters that hold only numbers.
fn is_ours(sequence: &str) -> bool {
    const PRIVATE: [&str; 6] = ["?25", "?1049", "?2004", "?1000", "?1002", "?1006"];
    let Some(body) = sequence.strip_prefix('[') else { return false };
    let (parameters, last) = body.split_at(body.len() - 1);
    let plain = parameters.chars().all(|letter| letter.is_ascii_digit() || ";:".contains(letter));
    match last {
        "h" | "l" => PRIVATE.contains(&parameters),
        "q" => parameters == ">",
        "A" | "B" | "C" | "D" | "G" | "H" | "J" | "K" | "d" | "m" | "s" | "u" | "c" | "t" => plain,
        _ => false,
    }
}

/// What in these bytes is neither text nor ours.
fn intruders(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes)
        .replace("\u{1b}_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\u{1b}\\", "");
    let mut found = Vec::new();
    let mut rest = text.as_str();
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        match letter {
            '\u{1b}' => {
                let end = rest
                    .char_indices()
                    .skip(1)
                    .find(|(_, letter)| ('@'..='~').contains(letter))
                    .map_or(rest.len(), |(at, letter)| at + letter.len_utf8());
                let sequence = &rest[..end];
                if is_ours(sequence) {
                    rest = &rest[end..];
                } else {
                    found.push(format!("ESC {sequence:?}"));
                }
            }
            '\n' | '\r' | '\t' => {}
            control if control.is_control() => found.push(format!("{control:?}")),
            '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}' => {
                found.push(format!("{letter:?}"));
            }
            _ => {}
        }
    }
    found
}

#[test]
fn the_recorder_sees_what_is_not_ours() {
    assert_eq!(intruders("\u{1b}[?1049h\u{1b}[1;31mplain ▀\r\n\u{1b}[0m".as_bytes()), [""; 0]);
    let found = intruders(HOSTILE.as_bytes());
    assert!(found.len() >= 10, "{found:?}");
    for part in
        ["]52", "?1337h", "\\u{7}", "\\u{9b}", "\\u{8}", "\\u{7f}", "\\u{202e}", "\\u{feff}"]
    {
        assert!(found.iter().any(|one| one.contains(part)), "{part}: {found:?}");
    }
}

/// A workspace in which everything that has a name has a hostile one, and the report of a run in it.
fn hostile() -> tempfile::TempDir {
    let folder = demo(&[]);
    let home = folder.path();
    let write = |name: &str, bytes: &[u8]| {
        flipside::store::atomic::write(&home.join(name), bytes).expect("written");
    };
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo");
    let sidecar = demo.join("artifacts/demo-litter.fp32.meta.json");
    let mut sidecar: serde_json::Value =
        serde_json::from_slice(&std::fs::read(sidecar).expect("read")).expect("JSON");
    for class in sidecar["classes"].as_array_mut().expect("a list") {
        *class = format!("{} {HOSTILE}", class.as_str().expect("text")).into();
    }
    write("classes.json", sidecar.to_string().as_bytes());
    let mut manifest = String::new();
    for (number, picture) in CHANGED.iter().enumerate().take(2) {
        let bytes = std::fs::read(demo.join("images").join(picture)).expect("a picture");
        let name = format!("{number} {HOSTILE}.jpg");
        write(&name, &bytes);
        manifest.push_str(&format!("{name}\n"));
    }
    write(&format!("bad {HOSTILE}.jpg"), b"\x1b]0;no picture\x07");
    manifest.push_str(&format!("bad {HOSTILE}.jpg\n"));
    write("manifest.txt", manifest.as_bytes());
    for side in ["fp32", "int8"] {
        let model = demo.join(format!("artifacts/demo-litter.{side}.onnx"));
        write(&format!("{side} {HOSTILE}.onnx"), &std::fs::read(model).expect("a model"));
    }
    let quoted: String =
        HOSTILE.chars().map(|letter| format!("\\U{:08X}", u32::from(letter))).collect();
    let toml = format!(
        "schema = 1\n[compare]\nreference = \"fp32 {quoted}.onnx\"\ncandidates = [\"int8 {quoted}.onnx\", \"{quoted}\"]\nsidecar = \"classes.json\"\n[fixtures]\nmanifest = \"manifest.txt\"\n"
    );
    write("flipside.toml", toml.as_bytes());
    write(&format!("sessions/reports/bad {HOSTILE}.json"), b"\x1b]0;no report\x07");
    let report = format!("sessions/reports/{HOSTILE}.json");
    let words = ["parity", "--no-latency", "--report", &report];
    let output = common::flipside(home, home, &words).output().expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(intruders(&output.stdout), [""; 0], "parity");
    assert_eq!(intruders(&output.stderr), [""; 0], "parity");
    folder
}

/// Opens a screen, presses keys one after the other, leaves; every byte.
fn bytes_of(command: &Command, first: &str, keys: &[&str]) -> Vec<u8> {
    let mut pty = Pty::start(command, 160, 40);
    pty.wait_for(first);
    for key in keys {
        pty.keys(key);
        pty.wait_until("a frame", |_| true);
    }
    pty.keys("q");
    assert_eq!(pty.ended_within(PATIENCE), Some(Ok(0)), "{}", pty.screen());
    pty.bytes()
}

/// P21: what was recorded holds the names, and nothing of them that acts.
#[test]
fn hostile_names_are_shown_and_do_nothing() {
    let folder = hostile();
    let home = folder.path();
    let command = |words: &[&str]| {
        let mut command = common::flipside(home, home, words);
        command.env("TERM", "xterm-256color").env("USER", "ada");
        command.env("TMPDIR", std::env::temp_dir());
        command
    };
    let overview =
        bytes_of(&command(&[]), "2 changed", &["j", "r", "k", "p", "\u{1b}", "?", "\u{1b}"]);
    let keys = [
        "z", "v", "\r", "\u{1b}", "a", "e\u{1b}", "/x\r", "u", "y", "\u{1b}", "x", "j", "?",
        "\u{1b}",
    ];
    let review = bytes_of(&command(&["review", "--graphics", "blocks"]), "relabelled", &keys);
    for (what, bytes) in [("overview", overview), ("review", review)] {
        assert_eq!(intruders(&bytes), [""; 0], "{what}");
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains("\\x1b]52;c;aGk="), "{what}: the name is seen");
    }
    let show = command(&["show", "0 x", "--graphics", "blocks", "--width", "40"]);
    let mut show = Pty::start(&show, 120, 40);
    assert_eq!(show.ended_within(PATIENCE), Some(Ok(0)), "{}", show.screen());
    assert_eq!(intruders(&show.bytes()), [""; 0]);
    assert!(show.screen().contains("\\x1b]52"), "{}", show.screen());

    for words in [
        &["review", "--json"][..],
        &["review", "--render", "100x30", "--mono"],
        &["show", "0 x", "--json"],
        &["doctor"],
        &["show", "--json", "nothing \u{1b}]52;c;aGk=\u{7}"],
    ] {
        let output = command(words).stdin(Stdio::null()).output().expect("runs");
        in_lines(&words.join(" "), &output);
    }
    let mut plain = command(&["review", "--plain"]);
    let plain = plain.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut plain = plain.spawn().expect("runs");
    let mut input = plain.stdin.take().expect("piped");
    std::io::Write::write_all(&mut input, b"list\nstatus\na\nundo\nshow\nnext\nback\nq\n")
        .expect("taken");
    drop(input);
    in_lines("review --plain", &plain.wait_with_output().expect("ends"));
}

fn in_lines(what: &str, output: &std::process::Output) {
    let both = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    assert_eq!(intruders(&both), [""; 0], "{what}");
    let text = String::from_utf8_lossy(&both);
    assert!(text.contains("52;c;aGk="), "{what}: {text}");
}
