//! `flipside parity` and `doctor` as a script meets them: bad input of every kind, stops, the gate. Models
//! are a few kilobytes and made here, so a run takes a fraction of a second.

#![allow(clippy::expect_used, reason = "a test stops at the first thing that is not as it must be")]

mod common;
#[path = "support/tiny_onnx.rs"]
mod tiny_onnx;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use common::{flipside, run};
use flipside::store::atomic;
use serde_json::{Value, json};
use tiny_onnx::{SLOTS, Tiny, sidecar};

const CLASSES: [&str; 3] = ["glass.bottle", "metal.can", "paper.cup"];

/// A workspace of tiny models over the small pictures the decoders are tested with.
struct Ws {
    folder: tempfile::TempDir,
}

impl Ws {
    fn new() -> Self {
        let ws = Self { folder: tempfile::tempdir().expect("a folder") };
        ws.write("a.onnx", &Tiny::new(4).bytes());
        ws.write("b.onnx", &Tiny::new(4).shifted(0.05).bytes());
        ws.write("side.json", sidecar(&CLASSES, 0.4).as_bytes());
        ws.manifest(&["rgb.png", "grey.jpg", "sampling2.jpg", "lossy.webp", "rgb.bmp", "rgb.tif"]);
        ws.write(
            "flipside.toml",
            b"schema = 1\n[compare]\nreference = \"a.onnx\"\ncandidates = [\"b.onnx\"]\n\
              sidecar = \"side.json\"\n[fixtures]\nmanifest = \"manifest.txt\"\n",
        );
        ws
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        atomic::write(&self.path(name), bytes).expect(name);
    }

    /// A manifest of pictures of the test data.
    fn manifest(&self, names: &[&str]) {
        let lines: Vec<String> =
            names.iter().map(|name| media().join(name).display().to_string()).collect();
        self.write("manifest.txt", lines.join("\n").as_bytes());
    }

    /// `flipside parity --no-latency` and more words.
    fn parity(&self, words: &[&str]) -> (i32, String, String) {
        let words = [&["parity", "--no-latency"], words].concat();
        let (code, stdout, stderr) = run(self.root(), self.root(), &words);
        assert!(!stderr.contains("panicked"), "{stderr}");
        (code, stdout, stderr)
    }

    fn report(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.path(name)).expect("a report")).expect("JSON")
    }

    /// A report that says nothing of when and how fast.
    fn timeless(&self, name: &str) -> Value {
        let mut report = self.report(name);
        report.as_object_mut().expect("an object").remove("latencyMs");
        report
    }
}

fn media() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/media")
}

/// Refused with exit 2 and one line that holds all of `parts`, on stdout for a row of the table and else
/// on stderr; no report.
fn refused(ws: &Ws, words: &[&str], parts: &[&str]) {
    let words = [words, &["--report", "unwritten.json"]].concat();
    let (code, stdout, stderr) = ws.parity(&words);
    let said = format!("{stdout}{stderr}");
    assert_eq!(code, 2, "{words:?}: {said}");
    let line = said.lines().find(|line| parts.iter().all(|part| line.contains(part)));
    assert!(line.is_some(), "{words:?}: expected {parts:?} in one line of\n{said}");
    let lines = stderr.lines().filter(|line| !line.starts_with("comparing "));
    assert!(lines.count() <= 1, "one line: {stderr}");
    assert!(!ws.path("unwritten.json").exists(), "{words:?}: no report");
}

#[test]
fn models_that_cannot_be_used_are_a_row_each() {
    let ws = Ws::new();
    let whole = Tiny::new(4).bytes();
    let with = |change: fn(&mut Tiny)| {
        let mut tiny = Tiny::new(4);
        change(&mut tiny);
        tiny.bytes()
    };
    fs::create_dir(ws.path("folder.onnx")).expect("a folder");
    // Refused by the look at the file, before any runtime sees it.
    let refusals: [(&str, Vec<u8>, &[&str]); 9] = [
        ("empty", Vec::new(), &["expected an ONNX model, found an empty file"]),
        ("page", b"<html>".to_vec(), &["expected an ONNX model, found a web page"]),
        ("cut", whole[..whole.len() / 2].to_vec(), &["expected an ONNX model", "truncated"]),
        ("new", with(|tiny| tiny.ir_version = 99), &["IR version 99, expected 3 to 13"]),
        ("far", with(|tiny| tiny.external = Some("w.bin")), &["\"far\"", "(location \"w.bin\")"]),
        ("up", with(|tiny| tiny.external = Some("../../x")), &["(location \"../../x\")"]),
        ("abs", with(|tiny| tiny.external = Some("/etc/passwd")), &["\"/etc/passwd\""]),
        ("address", with(|tiny| tiny.external = Some("*/_ORT_MEM_ADDR_/*")), &["address"]),
        ("wide", Tiny::new(91).bytes(), &["labels: 91 columns and 3 classes", "3 or 4 columns"]),
    ];
    for (name, bytes, parts) in refusals {
        let file = format!("{name}.onnx");
        ws.write(&file, &bytes);
        let row = ["candidate", &file, "refused: "];
        refused(&ws, &["--candidate", &file], &[row.as_slice(), parts].concat());
    }
    let unread = ["candidate", "cannot be read"];
    refused(&ws, &["--candidate", "none.onnx"], &[&unread[..], &["none.onnx"]].concat());
    refused(&ws, &["--candidate", "folder.onnx"], &[&unread[..], &["found a folder"]].concat());
    // Refused by the runtime, whose version is part of that fact; as the reference too.
    ws.write("names.onnx", &with(|tiny| tiny.same_names = true));
    let blocked = ["names.onnx", "blocked: ONNX Runtime 1.", "does not load it", "name"];
    refused(&ws, &["--candidate", "names.onnx"], &[&["candidate"], &blocked[..]].concat());
    refused(&ws, &["--reference", "names.onnx"], &[&["reference"], &blocked[..]].concat());
    // Programs get the same row.
    let (code, stdout, _) = ws.parity(&["--candidate", "names.onnx", "--json"]);
    let answer: Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!((code, &answer["status"]), (2, &json!("blocked")));
    assert_eq!(answer["artifacts"][0]["side"], json!("candidate"));
}

#[test]
fn sidecars_manifests_and_settings_that_cannot_be_used_are_one_line() {
    let ws = Ws::new();
    let good = sidecar(&CLASSES, 0.4);
    let sidecars: [(&str, String, &[&str]); 7] = [
        ("text", "no JSON".to_owned(), &["not JSON"]),
        ("none", "{}".to_owned(), &["classes: expected"]),
        ("count", good.replace("\"classCount\":3", "\"classCount\":4"), &["expected 3", "found 4"]),
        ("twice", good.replace("metal.can", "paper.cup"), &["each class once", "paper.cup"]),
        ("high", good.replace("0.4", "1.4"), &["from 0 to 1, found 1.4"]),
        ("axes", good.replace("[1,3,8,8]", "[1,8,8,3]"), &["[1, 3, height, width]", "[1,8,8,3]"]),
        ("size", good.replace("[1,3,8,8]", "[1,3,9,9]"), &["[1,3,8,8]", "[1,3,9,9]"]),
    ];
    for (name, text, parts) in sidecars {
        assert_ne!(text, good, "{name}");
        let file = format!("{name}.json");
        ws.write(&file, text.as_bytes());
        // The size contradicts the models, so those are the rows.
        let names = if name == "size" { "refused: " } else { file.as_str() };
        refused(&ws, &["--sidecar", &file], &[&[names], parts].concat());
    }
    refused(&ws, &["--sidecar", "nowhere.json"], &["nowhere.json"]);
    for (name, bytes, part) in [
        ("empty.txt", &b""[..], "expected at least one path, found none"),
        ("remarks.txt", b"# nothing\n\n", "expected at least one path, found none"),
        ("latin.txt", b"a.jpg\ncaf\xe9.jpg\n", "line 2: expected UTF-8 text"),
    ] {
        ws.write(name, bytes);
        refused(&ws, &["--fixtures", name], &[name, part]);
    }
    refused(&ws, &["--fixtures", "nowhere.txt"], &["nowhere.txt"]);
    refused(&ws, &["--fixtures", "."], &["found a folder"]);
    for (words, parts) in [
        (&["--threshold", "1.5"][..], &["threshold above 0 and at most 1, found 1.5"][..]),
        (&["--threshold", "NaN"], &["found NaN"]),
        (&["--baseline", "none.json"], &["baseline none.json"]),
    ] {
        refused(&ws, words, parts);
    }
    // Nothing but pictures that are none: there is no report of nothing.
    ws.manifest(&["two_bytes.jpg", "page.png"]);
    refused(&ws, &[], &["nothing was compared: 2 fixtures were left out"]);
    // A report that cannot be written is said, and no half of it lies around.
    ws.manifest(&["rgb.png"]);
    fs::create_dir(ws.path("folder")).expect("a folder");
    let (code, _, stderr) = ws.parity(&["--report", "folder"]);
    assert_eq!((code, stderr.contains("cannot write folder")), (2, true), "{stderr}");
    let left: Vec<_> = fs::read_dir(ws.root())
        .expect("listed")
        .map(|entry| entry.expect("listed").file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with(".flipside-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            (sum >> 1) ^ if sum & 1 == 1 { 0xedb8_8320 } else { 0 }
        })
    })
}

/// A PNG that is a header and claims a size.
fn png_header(side: u32) -> Vec<u8> {
    let mut bytes = fs::read(media().join("rgb.png")).expect("a picture");
    bytes[16..20].copy_from_slice(&side.to_be_bytes());
    bytes[20..24].copy_from_slice(&side.to_be_bytes());
    let checksum = crc32(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&checksum.to_be_bytes());
    bytes.truncate(65);
    bytes
}

/// A zlib stream of `count` zeros: fixed codes, one byte and then copies of 258 of it. Its checksum is wrong,
/// which whoever reads as far as that may say.
fn zeros(count: usize) -> Vec<u8> {
    let (mut bytes, mut bits, mut length) = (vec![0x78, 0x01], 0_u64, 0);
    // Codes count from their highest bit, numbers from their lowest.
    let mut put = |code: u64, width: u32| {
        bits |= code << length;
        length += width;
        while length >= 8 {
            bytes.push(bits as u8);
            (bits, length) = (bits >> 8, length - 8);
        }
    };
    put(0b011, 3);
    put(0b0000_1100, 8);
    for _ in 0..count / 258 {
        put(0b1010_0011, 8);
        put(0, 5);
    }
    put(0, 7);
    put(0, 7);
    bytes.extend([0; 4]);
    bytes
}

/// The PNG of the test data with one more chunk.
fn png_with(kind: &[u8; 4], head: &[u8], body: &[u8]) -> Vec<u8> {
    let whole = fs::read(media().join("rgb.png")).expect("a picture");
    let content = [&kind[..], head, body].concat();
    let length = u32::try_from(content.len() - 4).expect("short").to_be_bytes();
    // After the header, before the pixels.
    let (before, after) = whole.split_at(33);
    [before, &length, &content, &crc32(&content).to_be_bytes(), after].concat()
}

/// Text and profiles that unfold to more memory than there is are never unfolded.
#[cfg(target_os = "linux")]
#[test]
fn stuffed_pictures_are_compared_without_unfolding_what_they_carry() {
    let ws = Ws::new();
    let bomb = zeros(1 << 30);
    ws.write("text.png", &png_with(b"zTXt", b"Comment\0\0", &bomb));
    ws.write("words.png", &png_with(b"iTXt", b"Comment\0\x01\0\0\0", &bomb));
    ws.write("profile.png", &png_with(b"iCCP", b"ICC\0\0", &bomb));
    ws.write("manifest.txt", b"text.png\nwords.png\nprofile.png\n");
    let program = flipside(ws.root(), ws.root(), &["parity", "--no-latency", "--report", "r.json"]);
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", "ulimit -v 1000000; exec \"$@\"", "sh"]).arg(program.get_program());
    limited.args(program.get_args()).current_dir(ws.root()).env_clear();
    limited.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ended = limited.output().expect("started");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let report = ws.report("r.json");
    for row in report["flipside"]["fixtures"].as_array().expect("rows") {
        assert_eq!(row["status"], json!("ok"), "{row}");
    }
}

#[cfg(unix)]
#[test]
fn every_kind_of_picture_is_compared_or_left_out_by_name() {
    let ws = Ws::new();
    // What the decoders' own table says of each file, so that all roads say the same.
    let table = fs::read_to_string(media().join("decoded.tsv")).expect("the table");
    let mut expected: Vec<(String, bool)> = Vec::new();
    for line in table.lines() {
        let (name, rest) = line.split_once('\t').expect("two columns");
        expected.push((media().join(name).display().to_string(), rest != "refused"));
    }
    let picture = fs::read(media().join("rgb.png")).expect("a picture");
    let hostile = "\u{1b}]0;owned\u{7}\u{202e}gpj.png";
    let kept = [hostile, "e\u{301}.png", "\u{e9}.png", "\u{1f5d1}.png", "\u{5d0}.png", "png.txt"];
    for name in kept {
        ws.write(name, &picture);
        expected.push((name.to_owned(), true));
    }
    ws.write("bomb.png", &png_header(100_000));
    ws.write("empty.png", b"");
    fs::create_dir(ws.path("folder.png")).expect("a folder");
    std::os::unix::fs::symlink("nowhere", ws.path("dangling.png")).expect("a link");
    for name in ["bomb.png", "empty.png", "folder.png", "dangling.png", "missing.png"] {
        expected.push((name.to_owned(), false));
    }
    let lines: Vec<&str> = expected.iter().map(|(name, _)| name.as_str()).collect();
    ws.write("manifest.txt", lines.join("\n").as_bytes());

    let (code, stdout, stderr) = ws.parity(&["--report", "all.json"]);
    assert_eq!(code, 0, "{stderr}");
    for said in [&stdout, &stderr] {
        let raw = said.chars().find(|c| c.is_control() && *c != '\n' || *c == '\u{202e}');
        assert_eq!(raw, None, "{said}");
    }
    let report = ws.report("all.json");
    let rows = report["flipside"]["fixtures"].as_array().expect("rows");
    assert_eq!(rows.len(), expected.len());
    for (row, (name, good)) in rows.iter().zip(&expected) {
        assert_eq!(row["path"], json!(name));
        assert_eq!(row["status"], json!(if *good { "ok" } else { "left-out" }), "{row}");
        assert_eq!(row["reason"].is_string(), !good, "{row}");
    }
    let reason = |name: &str| {
        let row = rows.iter().find(|row| row["path"] == json!(name)).expect(name);
        row["reason"].as_str().expect("a reason").to_owned()
    };
    assert!(reason("bomb.png").contains("expected at most 12000 pixels"), "{}", reason("bomb.png"));
    assert!(reason("folder.png").contains("found a folder"));
    let good = expected.iter().filter(|(_, good)| *good).count();
    let bad = expected.len() - good;
    let counted = format!("{good} compared, {bad} left out, {} in the manifest", expected.len());
    assert!(stdout.contains(&counted), "{counted}: {stdout}");
    assert!(stdout.contains(&format!("{} more, all named in the report", bad - 10)), "{stdout}");
}

#[test]
fn values_that_are_no_numbers_are_said_first() {
    let ws = Ws::new();
    let mut tiny = Tiny::new(4);
    tiny.bias[0] = f32::NAN;
    ws.write("nan.onnx", &tiny.bytes());
    for side in ["--reference", "--candidate"] {
        let other = if side == "--candidate" { "--reference" } else { "--candidate" };
        let words = [side, "nan.onnx", other, "a.onnx", "--report", "nan.json"];
        let (code, stdout, stderr) = ws.parity(&words);
        assert_eq!(code, 0, "{stderr}");
        let first = stdout.lines().next().expect("a line");
        assert!(first.ends_with("; 6 output values are NaN or infinite"), "{first}");
        assert!(!first.contains("no decision changed"), "{first}");
    }
    let mut nothing = Tiny::new(4);
    nothing.bias.fill(f32::NAN);
    ws.write("nothing.onnx", &nothing.bytes());
    let sentence = "output \"labels\": no element is finite on both sides";
    refused(&ws, &["--candidate", "nothing.onnx"], &[sentence]);
}

#[test]
fn columns_in_another_order_are_told_from_equal_counts() {
    let ws = Ws::new();
    let mut tiny = Tiny::new(4);
    for slot in 0..SLOTS {
        tiny.bias[slot * 4..slot * 4 + 3].rotate_right(1);
    }
    ws.write("rolled.onnx", &tiny.bytes());
    let (code, stdout, stderr) =
        ws.parity(&["--candidate", "rolled.onnx", "--report", "rolled.json", "--json"]);
    assert_eq!(code, 0, "{stderr}");
    let answer: Value = serde_json::from_str(&stdout).expect("JSON");
    let (slots, sets) = (&answer["summary"]["slots"], &answer["summary"]["decisions"]);
    assert_eq!(slots["detections_a"], slots["detections_b"]);
    assert_eq!((&slots["threshold_flips"], &sets["stayed"]), (&json!(0), &json!(0)));
    assert_eq!(sets["relabelled"], slots["detections_a"]);
    let said = answer["summary"]["class_order"].as_str().expect("a sentence");
    let mapping = "glass.bottle as metal.can, metal.can as paper.cup";
    assert!(said.contains(mapping) && said.contains("may be in another order"), "{said}");
    let (_, stdout, _) = ws.parity(&["--report", "plain.json", "--json"]);
    let answer: Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!(answer["summary"]["class_order"], Value::Null);
}

#[test]
fn the_gate_passes_the_same_stops_the_worse_and_refuses_what_is_not_comparable() {
    let ws = Ws::new();
    let (code, _, stderr) = ws.parity(&["--report", "stored.json"]);
    assert_eq!(code, 0, "{stderr}");
    let gate = |words: &[&str]| {
        let words = [&["--report", "now.json", "--baseline", "stored.json"], words].concat();
        ws.parity(&words)
    };
    let (code, stdout, stderr) = gate(&[]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("no regression"), "{stdout}");
    ws.write("worse.onnx", &Tiny::new(4).shifted(-0.6).bytes());
    let (code, stdout, stderr) = gate(&["--candidate", "worse.onnx"]);
    assert_eq!(code, 1, "{stderr}");
    for part in ["got worse", "the candidate is another file", "maxAbsDelta", "thresholdFlips"] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    ws.write("hardly.onnx", &Tiny::new(4).shifted(0.06).bytes());
    for (margin, passes) in [("0.1", 1), ("0.5", 0)] {
        let (code, stdout, _) = gate(&["--candidate", "hardly.onnx", "--margin", margin]);
        assert_eq!(code, passes, "{margin}: {stdout}");
    }

    let refuse = |words: &[&str], parts: &[&str]| {
        refused(&ws, &[&["--baseline", "stored.json"], words].concat(), parts);
    };
    refuse(&["--limit", "3"], &["another number of fixtures", "expected 3, found 6"]);
    ws.write("other.txt", &[&fs::read(ws.path("manifest.txt")).expect("read")[..], b"\n"].concat());
    refuse(&["--fixtures", "other.txt"], &["another fixture manifest"]);
    let scaled = sidecar(&CLASSES, 0.4).replace("0.5,0.5,0.5", "0.25,0.5,0.5");
    ws.write("scaled.json", scaled.as_bytes());
    refuse(&["--sidecar", "scaled.json"], &["another normalisation"]);
    refuse(&["--reference", "b.onnx", "--candidate", "a.onnx"], &["another order of sides"]);
    refuse(&["--reference", "worse.onnx"], &["another reference"]);
    refuse(&["--threshold", "0.45"], &["another recommended threshold"]);
    refuse(&["--margin=-1"], &["expected a margin from 0 on, found -1"]);

    // A stored report that was edited, cut or is something else is no baseline.
    let text = fs::read_to_string(ws.path("stored.json")).expect("text");
    let flips = "\"thresholdFlips\": ";
    let at = text.find(flips).expect("a count") + flips.len();
    let edited = format!("{}9{}", &text[..at], &text[at..]);
    for (name, bytes, part) in [
        ("edited.json", edited.as_bytes(), "thresholdFlips"),
        ("cut.json", &text.as_bytes()[..text.len() / 2], "cut.json"),
        ("other.json", b"{}", "not a parity report"),
        ("twice.json", b"{\"a\": 1, \"a\": 1}", "line 1"),
    ] {
        ws.write(name, bytes);
        refused(&ws, &["--baseline", name], &["baseline ", name, part]);
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_keeps_what_it_finished_and_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path();
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo");
    let model = |kind: &str| demo.join(format!("artifacts/demo-litter.{kind}"));
    let toml = format!(
        "schema = 1\n[compare]\nreference = {:?}\ncandidates = [{:?}]\nsidecar = {:?}\n[fixtures]\nmanifest = {:?}\n",
        model("fp32.onnx"),
        model("int8.onnx"),
        model("fp32.meta.json"),
        demo.join("manifest.txt"),
    );
    atomic::write(&home.join("flipside.toml"), toml.as_bytes()).expect("written");
    let words =
        |report: &'static str| ["parity", "--no-latency", "--limit", "8", "--report", report];
    let mut command = flipside(home, home, &words("first.json"));
    let child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("started");
    // Some pictures are finished when their outputs are in the database.
    let database = home.join("sessions/outputs.db");
    let finished = || {
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        let count = rusqlite::Connection::open_with_flags(&database, flags).and_then(|database| {
            database.query_row("SELECT count(*) FROM output", [], |row| row.get::<_, i64>(0))
        });
        count.unwrap_or(0)
    };
    // 3 rows a picture: both sides and the reference again.
    for _ in 0..6000 {
        if finished() >= 6 {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).expect("running");
    let output = child.wait_with_output().expect("gone");
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    let line = stderr.lines().find_map(|line| line.strip_prefix("stopped after "));
    let line = line.expect("it says where it stopped");
    let done: i64 = line.split(' ').next().and_then(|word| word.parse().ok()).expect("a number");
    assert!((2..8).contains(&done), "{line}");
    assert_eq!(line, format!("{done} of 8 pictures; the same command goes on from there"));
    assert!(!home.join("first.json").exists(), "no report of a stopped run");
    assert_eq!(finished(), 3 * done, "all it finished is there");

    let (code, _, stderr) = run(home, home, &words("resumed.json"));
    assert_eq!(code, 0, "{stderr}");
    let read = |name: &str| -> Value {
        serde_json::from_slice(&fs::read(home.join(name)).expect("a report")).expect("JSON")
    };
    let ran = read("resumed.json")["latencyMs"]["b"]["n"].as_i64();
    assert_eq!(ran, Some(8 - done), "only the rest ran");
    let mut whole = words("straight.json").to_vec();
    whole.push("--no-cache");
    let (code, _, stderr) = run(home, home, &whole);
    assert_eq!(code, 0, "{stderr}");
    let timeless = |name: &str| {
        let mut report = read(name);
        report.as_object_mut().expect("an object").remove("latencyMs");
        report
    };
    assert_eq!(timeless("resumed.json"), timeless("straight.json"));
}

#[test]
fn doctor_says_what_is_there_and_what_is_missing() {
    let ws = Ws::new();
    let (code, stdout, stderr) = run(ws.root(), ws.root(), &["doctor"]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let library = common::runtime_library().display().to_string();
    for part in
        ["ok       runtime", "ONNX Runtime 1.", &library, "CPU", "6 in the manifest, all there"]
    {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    let (_, stdout, _) = run(ws.root(), ws.root(), &["doctor", "--json"]);
    let answer: Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!(answer["healthy"], json!(true));
    let providers = answer["runtime"]["providers"].as_array().expect("a list");
    assert!(providers.iter().any(|name| name == "CPUExecutionProvider"), "{providers:?}");
    assert!(answer["runtime"]["version"].as_str().is_some_and(|it| it.starts_with("1.")));

    // A library that is not there, and one that is none.
    ws.write("text.so", b"no library");
    for (library, part) in [("nowhere.so", "nowhere.so"), ("text.so", "cannot load")] {
        let words = ["--ort-lib", library, "doctor"];
        let (code, stdout, stderr) = run(ws.root(), ws.root(), &words);
        assert_eq!(code, 1, "{stdout}{stderr}");
        let line = stdout.lines().find(|line| line.starts_with("PROBLEM  runtime"));
        assert!(line.is_some_and(|line| line.contains(part)), "{stdout}");
        assert!(stdout.contains("ok       workspace"), "the rest is still looked at: {stdout}");
    }
    // Pictures and models that went missing.
    ws.write("manifest.txt", b"gone \x1b[2J.png\n");
    fs::remove_file(ws.path("b.onnx")).expect("removed");
    let (code, stdout, _) = run(ws.root(), ws.root(), &["doctor"]);
    assert_eq!(code, 1);
    for part in ["PROBLEM  candidate    b.onnx", "1 missing, first gone \\x1b[2J.png"] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    // Outside of a workspace nothing is wrong.
    let elsewhere = tempfile::tempdir().expect("a folder");
    let (code, stdout, _) = run(ws.root(), elsewhere.path(), &["doctor"]);
    assert_eq!(code, 0, "{stdout}");
}

#[test]
fn repeated_pictures_are_said_and_numbers_may_be_negative() {
    let ws = Ws::new();
    let (_, _, stderr) = ws.parity(&["--report", "once.json"]);
    assert!(!stderr.contains("repeat"), "{stderr}");
    ws.manifest(&["rgb.png", "rgb.bmp", "rgb.png", "rgb.png"]);
    let (code, _, stderr) = ws.parity(&["--report", "twice.json"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("2 lines of the manifest repeat pictures"), "{stderr}");
    for (typed, found) in [("-1", "-1"), ("nan", "NaN"), ("1.5", "1.5")] {
        let said = format!("expected a threshold above 0 and at most 1, found {found}");
        refused(&ws, &["--threshold", typed], &[&said]);
    }
    ws.write("manifest.txt", b"a.onnx\n");
    refused(&ws, &[], &["1 fixtures were left out, the first is a.onnx: expected a JPEG"]);
}

#[test]
fn reports_do_not_depend_on_where_outputs_came_from() {
    let ws = Ws::new();
    for (words, name) in [(&[][..], "one.json"), (&[], "two.json"), (&["--no-cache"], "three.json")]
    {
        let words = [words, &["--report", name, "--noise-all"]].concat();
        let (code, _, stderr) = ws.parity(&words);
        assert_eq!(code, 0, "{stderr}");
    }
    assert_eq!(ws.report("two.json")["latencyMs"]["a"]["n"], json!(0), "remembered");
    assert_eq!(ws.timeless("one.json"), ws.timeless("two.json"));
    assert_eq!(ws.timeless("one.json"), ws.timeless("three.json"));
    // Another candidate finds the pictures squashed, and the report is the one without any memory.
    #[expect(clippy::disallowed_methods, reason = "a test's own file")]
    let kept = rusqlite::Connection::open(ws.path("sessions/outputs.db")).expect("opened");
    let pictures = kept.query_row("SELECT count(*) FROM picture", [], |row| row.get::<_, i64>(0));
    assert_eq!(pictures, Ok(6));
    ws.write("c.onnx", &Tiny::new(4).shifted(0.1).bytes());
    for (words, name) in [(&[][..], "four.json"), (&["--no-cache"], "five.json")] {
        let words = [words, &["--report", name, "--noise-all", "--candidate", "c.onnx"]].concat();
        let (code, _, stderr) = ws.parity(&words);
        assert_eq!(code, 0, "{stderr}");
    }
    assert_eq!(ws.report("four.json")["latencyMs"]["a"]["n"], json!(0), "remembered");
    assert_eq!(ws.timeless("four.json"), ws.timeless("five.json"));
}
