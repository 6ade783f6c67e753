//! The power fails, or the disk does: what was acknowledged is there, and what is not there was never
//! acknowledged.
//!
//! A small library is loaded before the C library of the real program. It tells in which order files are
//! written and synced and what is said on standard output, so that the disk can be put together as a power
//! cut would leave it at any instant: file contents as of their last sync, names as of their folder's last
//! sync, and of what was written since, nothing or any part. Or it lets one call fail.

#![cfg(target_os = "linux")]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is missing"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use flipside::stats::random::Random;
use flipside::store::atomic;
use flipside::store::event_chain::EventLog;
use flipside::store::label_file::LabelFile;
use flipside::store::label_schema::SCHEMA;

mod support;

use support::workspace::{Workspace, stderr, stdout};

const LABEL: &str = "label --rater ada --shard 1/1 --plain";
const SEAL: &str = "seal --rater ada --shard 1/1";
const LINES: &str = "n h\ny a m\nundo\nredo\nskip dark\n";

/// The library, compiled with the compiler that SQLite was.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let made = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("disk-trace-{}.so", std::process::id()));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/disk_trace.c");
        let output = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([made.as_path(), source.as_path(), Path::new("-ldl")])
            .output()
            .expect("a C compiler, which building this program needs too");
        assert!(output.status.success(), "{}", stderr(&output));
        made
    })
}

/// Runs a command with lines as its input and the library in it.
fn run(workspace: &Workspace, arguments: &str, lines: &str, more: &[(&str, &str)]) -> Output {
    let mut child = workspace
        .command(arguments)
        .env("LD_PRELOAD", library())
        .env("TRACE_ROOT", workspace.root())
        .envs(more.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("runs");
    let mut stdin = child.stdin.take().expect("piped");
    let _ = stdin.write_all(lines.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("ends")
}

/// What the process did.
enum Step {
    Write { inode: u64, offset: usize, data: Vec<u8> },
    Truncate { inode: u64, length: usize },
    Sync { inode: u64 },
    SyncFolder { inode: u64, names: BTreeMap<String, u64> },
    Said(String),
    Failed(String),
}

fn steps(trace: &[u8]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut rest = trace;
    while !rest.is_empty() {
        let number = |at: usize| u64::from_le_bytes(rest[at..at + 8].try_into().expect("eight"));
        let (inode, offset, length) = (number(1), number(9) as usize, number(17) as usize);
        let data = rest[25..25 + length].to_vec();
        let text = || String::from_utf8(data.clone()).expect("text");
        steps.push(match rest[0] {
            b'W' => Step::Write { inode, offset, data },
            b'T' => Step::Truncate { inode, length: offset },
            b'S' => Step::Sync { inode },
            b'D' => {
                let text = text();
                let entries = text.split_terminator('\0').map(|entry| {
                    let (inode, name) = entry.split_once(' ').expect("two parts");
                    (name.to_owned(), inode.parse().expect("a number"))
                });
                Step::SyncFolder { inode, names: entries.collect() }
            }
            b'A' => Step::Said(text()),
            b'X' => Step::Failed(text()),
            other => panic!("a record of kind {other}"),
        });
        rest = &rest[25 + length..];
    }
    steps
}

/// What is done to a file and not synced.
#[derive(Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Write(offset, data) => {
                let end = offset + data.len();
                content.resize(content.len().max(end), 0);
                content[*offset..end].copy_from_slice(data);
            }
            Self::Truncate(length) => content.resize(*length, 0),
        }
    }
}

/// The disk as far as it is certain, and what is on its way there.
#[derive(Clone, Default)]
struct Disk {
    root: u64,
    files: BTreeMap<u64, (Vec<u8>, Vec<Change>)>,
    folders: BTreeMap<u64, BTreeMap<String, u64>>,
}

impl Disk {
    /// The disk as it lies there.
    fn of(root: &Path) -> Self {
        let mut disk = Self { root: inode(root), ..Self::default() };
        disk.add(root);
        disk
    }

    fn add(&mut self, path: &Path) {
        if path.is_dir() {
            let mut names = BTreeMap::new();
            for entry in std::fs::read_dir(path).expect("listing") {
                let entry = entry.expect("listed");
                names.insert(entry.file_name().into_string().expect("text"), inode(&entry.path()));
                self.add(&entry.path());
            }
            self.folders.insert(inode(path), names);
        } else {
            let content = std::fs::read(path).expect("readable");
            self.files.insert(inode(path), (content, Vec::new()));
        }
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Write { inode, offset, data } => {
                let change = Change::Write(*offset, data.clone());
                self.files.entry(*inode).or_default().1.push(change);
            }
            Step::Truncate { inode, length } => {
                self.files.entry(*inode).or_default().1.push(Change::Truncate(*length));
            }
            Step::Sync { inode } => {
                let (content, changes) = self.files.entry(*inode).or_default();
                changes.drain(..).for_each(|change| change.apply(content));
            }
            Step::SyncFolder { inode, names } => {
                self.folders.insert(*inode, names.clone());
            }
            Step::Said(_) | Step::Failed(_) => {}
        }
    }

    /// Writes the disk out as it is after a power cut. `survives` says of a change that was not synced how
    /// many of its bytes are there all the same.
    fn after_power_cut(&self, to: &Path, survives: &mut dyn FnMut(usize) -> usize) {
        self.put(self.root, to, survives);
    }

    fn put(&self, inode: u64, to: &Path, survives: &mut dyn FnMut(usize) -> usize) {
        std::fs::create_dir_all(to).expect("made");
        for (name, inode) in &self.folders[&inode] {
            let to = to.join(name);
            // Shared memory is no part of what a database needs to be whole.
            if name.ends_with("-shm") {
                continue;
            }
            if self.folders.contains_key(inode) {
                self.put(*inode, &to, survives);
                continue;
            }
            let (mut content, changes) = self.files.get(inode).cloned().unwrap_or_default();
            for change in changes {
                match change {
                    Change::Write(offset, mut data) => {
                        data.truncate(survives(data.len()));
                        if !data.is_empty() {
                            Change::Write(offset, data).apply(&mut content);
                        }
                    }
                    truncated => {
                        if survives(1) > 0 {
                            truncated.apply(&mut content);
                        }
                    }
                }
            }
            std::fs::File::create(&to).and_then(|mut it| it.write_all(&content)).expect("written");
        }
    }
}

fn inode(path: &Path) -> u64 {
    std::fs::symlink_metadata(path).expect("there").ino()
}

/// Runs a command and calls `check` with the workspace as a power cut leaves it after every step, and with
/// what had been said by then. How many states that were comes back, and what was said at the end.
fn at_every_instant(
    workspace: &Workspace,
    arguments: &str,
    lines: &str,
    mut check: impl FnMut(&Path, &str),
) -> (usize, String) {
    let mut disk = Disk::of(workspace.root());
    let place = tempfile::tempdir().expect("temporary folder");
    let trace = place.path().join("trace");
    let output = run(workspace, arguments, lines, &[("TRACE_FILE", trace.to_str().expect("text"))]);
    assert!(output.status.success(), "{}", stderr(&output));
    let mut random = Random::new(7);
    let mut said = String::new();
    let mut states = 0;
    for step in steps(&std::fs::read(&trace).expect("a trace")) {
        disk.take(&step);
        if let Step::Said(text) = &step {
            said.push_str(text);
        }
        // Nothing that was not synced is there; then two parts of it, whole sectors each.
        for _ in 0..3 {
            let to = place.path().join("disk");
            let strict = states % 3 == 0;
            disk.after_power_cut(&to, &mut |length| match random.below(3) {
                _ if strict => 0,
                0 => length,
                1 => length / 1024 * 512,
                _ => 0,
            });
            check(&to, &said);
            std::fs::remove_dir_all(&to).expect("removed");
            states += 1;
        }
    }
    assert_eq!(said, stdout(&output), "everything that was said is in the trace");
    (states, said)
}

fn acknowledged(text: &str) -> BTreeSet<u64> {
    text.lines()
        .filter_map(|line| line.strip_prefix("saved ")?.split(' ').next()?.parse().ok())
        .collect()
}

/// Numbers of the events in a log that must verify; none where there is no log yet.
fn events(root: &Path) -> BTreeSet<u64> {
    let path = root.join("sessions/labels/ada.db");
    if !path.exists() {
        return BTreeSet::new();
    }
    let (_, events) = EventLog::open(&path, &SCHEMA).expect("a whole chain");
    events.iter().map(|event| event.seq).collect()
}

fn sealed(root: &Path) -> Vec<LabelFile> {
    let Ok(listing) = std::fs::read_dir(root.join("labels")) else { return Vec::new() };
    listing
        .map(|entry| entry.expect("listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .map(|path| LabelFile::read(&path).expect("no half file"))
        .collect()
}

#[test]
fn a_power_cut_while_labelling_takes_nothing_that_was_acknowledged() {
    let workspace = Workspace::new(3, 1, 0.0, 0.0);
    for round in 0..2 {
        let (states, said) = at_every_instant(&workspace, LABEL, LINES, |root, said| {
            let (there, acknowledged) = (events(root), acknowledged(said));
            assert!(acknowledged.is_subset(&there), "round {round}: {acknowledged:?} of {there:?}");
        });
        assert!(states > 100, "only {states} states");
        assert_eq!(acknowledged(&said).len(), 5, "{said}");
    }
}

#[test]
fn a_power_cut_while_sealing_leaves_a_whole_file_or_none() {
    let workspace = Workspace::new(2, 1, 0.0, 0.0);
    workspace.label("ada", "1/1", "n h\ny b m\n");
    let before = events(workspace.root());
    let (states, said) = at_every_instant(&workspace, SEAL, "", |root, said| {
        let files = sealed(root);
        assert!(events(root).is_superset(&before));
        if said.contains("sealed: ") {
            assert_eq!((files.len(), files[0].labels.len()), (1, 2));
            assert_eq!(events(root).len(), before.len() + 1, "the event that names it");
        }
    });
    assert!(said.contains("sealed: "), "{said}");
    assert!(states > 30, "only {states} states");
}

#[test]
fn a_power_cut_while_a_log_is_made_again_leaves_one_or_the_other() {
    let workspace = Workspace::new(2, 1, 0.0, 0.0);
    workspace.label("ada", "1/1", "n h\nskip dark\n");
    assert!(workspace.run(SEAL).status.success());
    let path = workspace.path("sessions/labels/ada.db");
    let mut damaged = std::fs::read(&path).expect("readable");
    damaged[0] = b'X';
    atomic::write(&path, &damaged).expect("written");
    let (states, said) = at_every_instant(&workspace, "labels --rebuild ada", "", |root, said| {
        let read = |name: &str| std::fs::read(root.join("sessions/labels").join(name)).ok();
        let kept = [read("ada.db"), read("ada.damaged-1.db")];
        assert!(kept.contains(&Some(damaged.clone())), "the damaged one is somewhere");
        if kept[0].as_ref() != Some(&damaged) {
            // Announced, or in place.
            let path = root.join("sessions/labels/ada.db");
            flipside::store::replacement::finish(&path).expect("finished");
            assert!(events(root).len() > 3, "the new one is whole");
        }
        if said.contains("chain head") {
            assert_ne!(kept[0], Some(damaged.clone()));
        }
    });
    assert!(said.contains("chain head"), "{said}");
    assert!(states > 100, "only {states} states");
}

/// Lets the n-th call of a kind fail, for every n there is; what failed goes to `check`.
fn with_every_failure(
    kind: &str,
    prepare: impl Fn() -> Workspace,
    arguments: &str,
    lines: &str,
    mut check: impl FnMut(&Workspace, &Output, &str),
) -> usize {
    for number in 1.. {
        let workspace = prepare();
        let place = tempfile::tempdir().expect("temporary folder");
        let trace = place.path().join("trace");
        let fail = format!("{kind} {number}");
        let more = [("TRACE_FAIL", fail.as_str()), ("TRACE_FILE", trace.to_str().expect("text"))];
        let output = run(&workspace, arguments, lines, &more);
        let steps = steps(&std::fs::read(&trace).expect("a trace"));
        let failed = steps.iter().find_map(|step| match step {
            Step::Failed(file) => Some(file.clone()),
            _ => None,
        });
        let Some(failed) = failed else { return number - 1 };
        check(&workspace, &output, &failed);
    }
    unreachable!("numbers do not end")
}

#[test]
fn a_disk_that_fails_ends_the_sitting_and_nothing_is_acknowledged_after() {
    for kind in ["sync", "write"] {
        let mut met = 0;
        let fresh = || Workspace::new(3, 1, 0.0, 0.0);
        let failures =
            with_every_failure(kind, fresh, LABEL, LINES, |workspace, output, failed| {
                let text = stdout(output);
                let acknowledged = acknowledged(&text);
                let there = events(workspace.root());
                assert!(acknowledged.is_subset(&there), "{failed}: {acknowledged:?} of {there:?}");
                let after = text.split_once("NOT SAVED").map_or("", |(_, after)| after);
                assert!(!after.contains("saved "), "{failed}: {text}");
                if !after.is_empty() {
                    met += 1;
                    assert!(after.contains("nothing more can be saved"), "{failed}: {text}");
                    assert_eq!(output.status.code(), Some(2), "{failed}: {}", stderr(output));
                    assert!(stderr(output).contains("nothing more could be saved"), "{failed}");
                } else if acknowledged.len() < 5 {
                    // It did not begin.
                    assert_eq!(output.status.code(), Some(2), "{failed}: {text}");
                    assert!(
                        !stderr(output).is_empty() && acknowledged.is_empty(),
                        "{failed}: {text}"
                    );
                }
                // Everything is well again.
                assert!(workspace.label("ada", "1/1", "").contains(" left"));
            });
        assert!(failures > 10 && met >= 5, "{kind}: {met} of {failures} in the way of an answer");
    }
}

#[test]
fn a_disk_that_fails_while_sealing_is_said_and_sealing_again_ends_well() {
    for kind in ["sync", "write"] {
        let answered = || {
            let workspace = Workspace::new(2, 1, 0.0, 0.0);
            workspace.label("ada", "1/1", "n h\ny b m\n");
            workspace
        };
        let mut refused = 0;
        let failures = with_every_failure(kind, answered, SEAL, "", |workspace, output, failed| {
            let said = stdout(output).contains("sealed: ");
            assert_eq!(output.status.code(), Some(if said { 0 } else { 2 }), "{failed}");
            refused += usize::from(!said);
            let again = workspace.run(SEAL);
            assert!(again.status.success(), "{failed}: {}", stderr(&again));
            let files = sealed(workspace.root());
            assert_eq!((files.len(), files[0].labels.len()), (1, 2), "{failed}");
        });
        assert!(refused >= 3, "{kind}: {refused} of {failures} were refused");
    }
}
