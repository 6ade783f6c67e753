//! Who may name whom, checked on tokens: comments and strings do not count, macros and raw identifiers
//! do.
//!
//! The compiler keeps the types of `sighted` inside their folder. It does not keep out a plain number
//! handed through a function, a file read by path, or a source file pulled in twice; this does.

#![allow(clippy::expect_used, reason = "a test stops at the first thing it cannot read")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Zone, what it may import of this crate, and identifiers it may not contain at all.
struct Zone {
    name: &'static str,
    may_import: &'static [&'static str],
    may_not_name: &'static [&'static str],
}

const SIGHTED_WORDS: &[&str] = &["sighted", "cli", "ort"];

const ZONES: &[Zone] = &[
    Zone { name: "domain", may_import: &["domain"], may_not_name: SIGHTED_WORDS },
    Zone { name: "stats", may_import: &["stats"], may_not_name: SIGHTED_WORDS },
    Zone { name: "media", may_import: &["media", "domain"], may_not_name: SIGHTED_WORDS },
    Zone { name: "store", may_import: &["store", "domain", "media"], may_not_name: SIGHTED_WORDS },
    Zone { name: "tui", may_import: &["tui", "domain", "media"], may_not_name: SIGHTED_WORDS },
    Zone {
        name: "blind",
        may_import: &["blind", "domain", "stats", "media", "store", "tui"],
        may_not_name: &[
            "sighted",
            "cli",
            "ort",
            "rusqlite",
            "fs",
            "env",
            "net",
            "process",
            "Any",
            "unsafe",
            "extern",
            "include",
            "include_str",
            "include_bytes",
            "option_env",
            "libloading",
        ],
    },
    Zone {
        name: "sighted",
        may_import: &["sighted", "domain", "stats", "media", "store", "tui"],
        may_not_name: &["blind", "cli"],
    },
];

/// Inside `sighted`: a folder and what it may import of its siblings.
const SIGHTED_LAYERS: &[(&str, &[&str])] = &[
    ("artifact", &["artifact"]),
    ("decision", &["decision"]),
    ("harness", &["harness", "artifact", "decision"]),
    ("fixtures", &["fixtures", "labels"]),
    ("review", &["review", "decision", "runs", "verdict_log"]),
    ("score", &["score", "decision", "labels", "runs", "verdict_log"]),
    ("record", &["record", "score", "decision", "artifact", "labels"]),
];

/// Crates with one home.
const HOMES: &[(&str, &[&str])] = &[
    ("ort", &["sighted/harness/"]),
    ("rusqlite", &["store/", "sighted/runs", "sighted/labels", "sighted/verdict_log"]),
    ("clap", &["cli/"]),
    ("clap_complete", &["cli/"]),
    ("crossterm", &["tui/"]),
    ("mozjpeg", &["media/"]),
    ("ratatui_image", &["tui/picture/"]),
    ("viuer", &["tui/picture/", "cli/command/show"]),
    ("landlock", &["store/sandbox"]),
    ("zip", &["sighted/harness/"]),
];

/// Longest file in lines, without its tests.
const MAX_LINES: usize = 700;

#[derive(Debug, Default)]
struct Found {
    /// Every identifier, raw ones without their prefix.
    identifiers: BTreeSet<String>,
    /// Identifiers that are a segment of some path.
    segments: BTreeSet<String>,
    /// First two segments of every path that starts at the crate.
    crate_paths: BTreeSet<(String, String)>,
    path_attribute: bool,
    crate_glob: bool,
}

fn scan(source: &str, with_tests: bool) -> Found {
    let mut found = Found::default();
    walk(&tokens_of(source), with_tests, &mut found);
    found
}

fn tokens_of(source: &str) -> Vec<TokenTree> {
    TokenStream::from_str(source).expect("source files are valid tokens").into_iter().collect()
}

fn word(token: Option<&TokenTree>) -> Option<String> {
    match token {
        Some(TokenTree::Ident(ident)) => {
            Some(ident.to_string().trim_start_matches("r#").to_owned())
        }
        _ => None,
    }
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

fn is_path_separator(tokens: &[TokenTree]) -> bool {
    is_punct(tokens.first(), ':') && is_punct(tokens.get(1), ':')
}

fn inside(token: Option<&TokenTree>) -> Option<Vec<TokenTree>> {
    match token {
        Some(TokenTree::Group(group)) => Some(group.stream().into_iter().collect()),
        _ => None,
    }
}

fn walk(tokens: &[TokenTree], with_tests: bool, found: &mut Found) {
    let mut at = 0;
    while at < tokens.len() {
        if !with_tests && is_test_module(&tokens[at..]) {
            let is_body = |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
            while at < tokens.len() && !is_body(&tokens[at]) {
                at += 1;
            }
            at += 1;
            continue;
        }
        if is_punct(tokens.get(at), '#') {
            let attribute = inside(tokens.get(at + 1)).or_else(|| inside(tokens.get(at + 2)));
            found.path_attribute |= attribute.is_some_and(|attribute| sets_path(&attribute));
        }
        if let Some(name) = word(tokens.get(at)) {
            if name == "crate" {
                crate_path(&tokens[at + 1..], found);
            }
            let follows = at >= 2 && is_path_separator(&tokens[at - 2..at]);
            if follows || is_path_separator(&tokens[at + 1..]) {
                found.segments.insert(name.clone());
            }
            found.identifiers.insert(name);
        }
        if let Some(inner) = inside(tokens.get(at)) {
            walk(&inner, with_tests, found);
        }
        at += 1;
    }
}

/// `path = …` anywhere in an attribute, so `cfg_attr` hides nothing.
fn sets_path(attribute: &[TokenTree]) -> bool {
    attribute.iter().enumerate().any(|(at, token)| match token {
        TokenTree::Group(_) => inside(Some(token)).is_some_and(|inner| sets_path(&inner)),
        _ => word(Some(token)).as_deref() == Some("path") && is_punct(attribute.get(at + 1), '='),
    })
}

fn is_test_module(tokens: &[TokenTree]) -> bool {
    let Some(attribute) = is_punct(tokens.first(), '#').then(|| inside(tokens.get(1))).flatten()
    else {
        return false;
    };
    let is_cfg_test = word(attribute.first()).as_deref() == Some("cfg")
        && inside(attribute.get(1)).is_some_and(|inner| {
            inner.len() == 1 && word(inner.first()).as_deref() == Some("test")
        });
    is_cfg_test
        && tokens[2..].iter().take(12).any(|token| word(Some(token)).as_deref() == Some("mod"))
}

/// Reads what follows `crate`.
fn crate_path(rest: &[TokenTree], found: &mut Found) {
    if !is_path_separator(rest) {
        return;
    }
    if is_punct(rest.get(2), '*') {
        found.crate_glob = true;
    } else if let Some(first) = word(rest.get(2)) {
        second_segments(&first, &rest[3..], found);
    } else if let Some(group) = inside(rest.get(2)) {
        for part in group.split(|token| is_punct(Some(token), ',')) {
            if is_punct(part.first(), '*') {
                found.crate_glob = true;
            } else if let Some(first) = word(part.first()) {
                second_segments(&first, &part[1..], found);
            }
        }
    }
}

fn second_segments(first: &str, rest: &[TokenTree], found: &mut Found) {
    let mut seconds = Vec::new();
    if !is_path_separator(rest) {
        seconds.push(String::new());
    } else if let Some(second) = word(rest.get(2)) {
        seconds.push(second);
    } else if let Some(group) = inside(rest.get(2)) {
        seconds.extend(
            group.split(|token| is_punct(Some(token), ',')).filter_map(|part| word(part.first())),
        );
    } else {
        seconds.push("*".to_owned());
    }
    found.crate_paths.extend(seconds.into_iter().map(|second| (first.to_owned(), second)));
}

/// What a source text of `zone` may not hold.
fn offences(zone: &Zone, source: &str) -> Vec<String> {
    let everywhere = scan(source, true);
    let outside_tests = scan(source, false);
    // What blind code names counts in its tests too.
    let named = match zone.name {
        "blind" => &everywhere.identifiers,
        // A label's blind status is a value there; only a path can reach the zone.
        "sighted" => &outside_tests.segments,
        _ => &outside_tests.identifiers,
    };
    let mut offences: Vec<String> = zone
        .may_not_name
        .iter()
        .filter(|banned| named.contains(**banned))
        .map(|banned| format!("names `{banned}`"))
        .collect();
    for (first, _) in &outside_tests.crate_paths {
        if !zone.may_import.contains(&first.as_str()) {
            offences.push(format!("imports `crate::{first}`"));
        }
    }
    // Tests of `sighted` lie in files of their own beside the code.
    if outside_tests.path_attribute || (everywhere.path_attribute && zone.name != "sighted") {
        offences.push("has a #[path] attribute".to_owned());
    }
    if everywhere.crate_glob {
        offences.push("imports `crate::*`".to_owned());
    }
    offences
}

fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("source folder") {
            let path = entry.expect("entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path
                    .strip_prefix(&root)
                    .expect("below src")
                    .to_string_lossy()
                    .replace('\\', "/");
                files.push((name, fs::read_to_string(&path).expect("source file")));
            }
        }
    }
    files.sort();
    assert!(files.len() > 30, "the scanner looks at the real sources");
    files
}

fn assert_none(found: &[String]) {
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn zones_name_only_what_they_may() {
    let mut all = Vec::new();
    for (file, source) in sources() {
        // Compiled for tests only.
        let test_files = ["/testing.rs", "_tests.rs", "/tests.rs", "/golden.rs"];
        if test_files.iter().any(|ending| file.ends_with(ending)) {
            continue;
        }
        if let Some(zone) = ZONES.iter().find(|zone| file.starts_with(&format!("{}/", zone.name))) {
            all.extend(
                offences(zone, &source).into_iter().map(|offence| format!("{file}: {offence}")),
            );
        }
    }
    assert_none(&all);
}

#[test]
fn layers_inside_sighted_point_one_way() {
    let mut all = Vec::new();
    for (file, source) in sources() {
        let Some(inner) = file.strip_prefix("sighted/") else { continue };
        let layer =
            SIGHTED_LAYERS.iter().find(|(layer, _)| inner.starts_with(&format!("{layer}/")));
        let Some((_, may)) = layer else { continue };
        for (first, second) in scan(&source, false).crate_paths {
            // The visibility `pub(in crate::sighted)` names nothing of a sibling.
            if first == "sighted" && !second.is_empty() && !may.contains(&second.as_str()) {
                all.push(format!("{file}: imports `sighted::{second}`"));
            }
        }
    }
    assert_none(&all);
}

#[test]
fn crates_with_one_home_stay_there() {
    let mut all = Vec::new();
    for (file, source) in sources() {
        let mut heads = BTreeSet::new();
        path_heads(&tokens_of(&source), &mut heads);
        for (name, homes) in HOMES {
            if heads.contains(*name) && !homes.iter().any(|home| file.starts_with(home)) {
                all.push(format!("{file}: uses `{name}`"));
            }
        }
    }
    assert_none(&all);
}

/// Identifiers that start a path: `name::…`, with no `::` before them.
fn path_heads(tokens: &[TokenTree], heads: &mut BTreeSet<String>) {
    for (at, token) in tokens.iter().enumerate() {
        if let Some(inner) = inside(Some(token)) {
            path_heads(&inner, heads);
        }
        let leads = at == 0 || !is_punct(tokens.get(at - 1), ':');
        if let (Some(name), true, true) =
            (word(Some(token)), leads, is_path_separator(&tokens[at + 1..]))
        {
            heads.insert(name);
        }
    }
}

#[test]
fn every_file_says_what_it_owns_and_is_not_too_long() {
    let mut all = Vec::new();
    for (file, source) in sources() {
        if !source.starts_with("//!") {
            all.push(format!("{file}: does not open with a module doc"));
        }
        let lines =
            source.split("\n#[cfg(test)]\nmod ").next().map_or(0, |code| code.lines().count());
        if lines > MAX_LINES {
            all.push(format!("{file}: {lines} lines, at most {MAX_LINES}"));
        }
    }
    assert_none(&all);
}

#[test]
fn nothing_unfinished_stays_behind() {
    let mut all = Vec::new();
    // Spelled in two parts so that this file does not hold them.
    let marks = [
        ["TO", "DO"],
        ["FIX", "ME"],
        ["todo", "!("],
        ["unimplemented", "!("],
        ["#[ig", "nore"],
        ["not built", " yet"],
    ];
    for (file, source) in sources() {
        for mark in marks.map(|mark| mark.concat()) {
            if source.contains(&mark) {
                all.push(format!("{file}: {mark}"));
            }
        }
    }
    assert_none(&all);
}

#[test]
fn the_scanner_finds_every_planted_leak_and_no_innocent() {
    let blind = ZONES.iter().find(|zone| zone.name == "blind").expect("listed");
    let evasions = [
        "use crate::sighted::decision;",
        "use crate::{domain, sighted as other};",
        "use super::super::sighted::x;",
        "use crate::r#sighted::x;",
        "fn f() { crate::sighted::entry::probe::flips(); }",
        "macro_rules! m { () => { crate::sighted::x() } }",
        "m!(crate::sighted::x);",
        "extern crate self as me; use me::domain;",
        "#[path = \"../other/x.rs\"] mod x;",
        "#[cfg_attr(all(), path = \"x.rs\")] mod x;",
        "#![cfg_attr(all(), path = \"x.rs\")]",
        "include!(\"../x.rs\");",
        "const X: &str = include_str!(\"../../sessions/x\");",
        "use std::fs;",
        "fn f() { std::fs::read(\"runs.db\").ok(); }",
        "use std::{env, io};",
        "use std::net::TcpStream;",
        "fn f() -> Box<dyn std::any::Any> { g() }",
        "use rusqlite::Connection;",
        "unsafe fn f() {}",
        "use crate::*;",
        "use crate::{*};",
        "use crate::cli::output;",
        "mod deep { mod er { use crate::sighted::x; } }",
        "#[cfg(test)] mod tests { use crate::sighted::x; }",
        "use std::process::Command;",
    ];
    for evasion in evasions {
        assert!(!offences(blind, evasion).is_empty(), "not found: {evasion}");
    }
    let innocents = [
        "use crate::domain::label::Label;",
        "// crate::sighted is not for us\nfn f() {}",
        "/// Unlike `sighted::x`.\nfn f() {}",
        "const X: &str = \"crate::sighted::x\";",
        "use super::journal; fn any(x: u32) -> u32 { x }",
        "#[error(\"{path}\")] struct E { path: u8 }",
        "use crate::{domain::digest::FixtureId, tui::screen::Screen};",
    ];
    for innocent in innocents {
        assert_eq!(offences(blind, innocent), Vec::<String>::new(), "{innocent}");
    }
    let sighted = ZONES.iter().find(|zone| zone.name == "sighted").expect("listed");
    assert!(!offences(sighted, "use super::super::blind::sitting;").is_empty());
    assert!(offences(sighted, "struct S { blind: u8 }").is_empty());
    let store = ZONES.iter().find(|zone| zone.name == "store").expect("listed");
    assert!(!offences(store, "use crate::tui::screen;").is_empty());
    assert!(offences(store, "#[cfg(test)] mod tests { use crate::stats::x; }").is_empty());
    let heads = |source: &str| {
        let mut heads = BTreeSet::new();
        path_heads(&tokens_of(source), &mut heads);
        heads
    };
    assert!(heads("use ort::session::Session;").contains("ort"));
    assert!(!heads("fn f(ort: u32) { other::ort::x(); }").contains("ort"));
}
