//! What the compiler keeps from the labelling code: each leak, planted in a copy of the source, must fail
//! to compile, for the reason it should.
//!
//! The copy is built into the target folder this test was built into, with the same profile and features, so
//! that nothing but the library itself is compiled, and no further than to the first stage that refuses it.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is missing"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// One leak: file, line appended to it, error codes either of which is right.
struct Leak {
    file: &'static str,
    line: &'static str,
    codes: &'static [&'static str],
}

/// Caught while names are resolved.
const NAMES: [Leak; 4] = [
    Leak {
        file: "blind/mod.rs",
        line: "use crate::sighted::decision::report::ParityReport as Planted1;",
        codes: &["E0603"],
    },
    Leak {
        file: "blind/mod.rs",
        line: "use super::sighted::runs::SCHEMA as Planted2;",
        codes: &["E0603"],
    },
    Leak {
        file: "tui/mod.rs",
        line: "use crate::sighted::score::evidence::Evidence as Planted3;",
        codes: &["E0603"],
    },
    Leak {
        file: "sighted/mod.rs",
        line: "pub use decision::report::ParityReport as Planted4;",
        codes: &["E0364", "E0365"],
    },
];

/// Caught when interfaces are looked at.
const INTERFACES: [Leak; 3] = [
    Leak {
        file: "sighted/entry/mod.rs",
        line: "#[doc(hidden)] pub fn planted5() -> Option<crate::sighted::decision::report::ParityReport> { None }",
        codes: &["private_interfaces"],
    },
    Leak {
        file: "sighted/entry/mod.rs",
        line: "#[doc(hidden)] pub type Planted6 = crate::sighted::decision::report::ParityReport;",
        codes: &["private_interfaces"],
    },
    Leak {
        file: "sighted/entry/mod.rs",
        line: "#[doc(hidden)] pub struct Planted7 { pub inner: crate::sighted::decision::report::ParityReport }",
        codes: &["private_interfaces"],
    },
];

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("listed") {
        let path = entry.expect("listed").path();
        let target = to.join(path.file_name().expect("named"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).expect("copied");
        }
    }
}

fn copy_file(from: &Path, to: &Path, name: &str) {
    let target = to.join(name);
    std::fs::create_dir_all(target.parent().expect("in a folder")).expect("a folder");
    std::fs::copy(from.join(name), target).expect(name);
}

/// A copy of the package in which `leaks` are planted.
fn planted(leaks: &[Leak]) -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Always the same place, so that what a build leaves behind does not pile up.
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("planted");
    if scratch.exists() {
        std::fs::remove_dir_all(&scratch).expect("emptied");
    }
    std::fs::create_dir_all(&scratch).expect("a folder");
    for entry in std::fs::read_dir(package).expect("listed") {
        let path = entry.expect("listed").path();
        let name = path.file_name().expect("named").to_string_lossy().into_owned();
        // Not what was built, nor what is not part of the package.
        if path.is_dir() && !name.starts_with('.') && name != "target" && name != "sessions" {
            copy(&path, &scratch.join(name));
        } else if path.is_file() {
            std::fs::copy(&path, scratch.join(name)).expect("copied");
        }
    }
    copy_file(package, &scratch, "sessions/README.md");
    for leak in leaks {
        let path = scratch.join("src").join(leak.file);
        let text = std::fs::read_to_string(&path).expect("source");
        let planted = format!("{text}\n{}\n", leak.line);
        flipside::store::atomic::write(&path, planted.as_bytes()).expect("planted");
    }
    scratch
}

/// Every diagnostic that stops the build: its code and the source lines it points at.
fn errors(package: &Path) -> Vec<(String, String)> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder");
    let output = Command::new(env!("CARGO"))
        // Of a test: then the dependencies have the features they have here.
        .args(["build", "--test", "architecture", "--offline", "--message-format=json"])
        .current_dir(package)
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_INCREMENTAL", "0")
        .output()
        .expect("cargo runs");
    assert!(!output.status.success(), "the planted leaks compile");
    let found: Vec<(String, String)> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["message"]["level"] == "error")
        .map(|message| {
            let message = &message["message"];
            let code = message["code"]["code"].as_str().unwrap_or_default().to_owned();
            let lines: Vec<&str> = message["spans"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|span| span["text"][0]["text"].as_str())
                .collect();
            (code, lines.join("\n"))
        })
        .collect();
    assert!(!found.is_empty(), "cargo failed: {}", String::from_utf8_lossy(&output.stderr));
    found
}

#[test]
fn planted_leaks_do_not_compile() {
    for leaks in [&NAMES[..], &INTERFACES[..]] {
        let scratch = planted(leaks);
        let errors = errors(&scratch);
        for leak in leaks {
            let caught = errors.iter().any(|(code, lines)| {
                leak.codes.contains(&code.as_str()) && lines.contains(leak.line)
            });
            assert!(caught, "{} compiles, or fails for another reason: {errors:#?}", leak.line);
        }
    }
}
