//! Looking is remembered: what a rater labels after having seen model output of it is kept, and stays out of
//! blind scores, whichever way it was seen. What was labelled before stays in.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is missing"
)]

use std::collections::BTreeSet;

use flipside::domain::digest::{FixtureId, ManifestHash};

mod support;

use support::pty::Pty;
use support::workspace::{Workspace, stderr, stdout};

/// Four pictures in which the reference finds something and the candidate does not.
struct Stage {
    workspace: Workspace,
    hashes: Vec<String>,
}

impl Stage {
    fn new() -> Self {
        let workspace = Workspace::new(4, 1, 0.0, 0.0);
        let path = |number: usize| format!("images/park {number:02}.png");
        let read = |name: &str| std::fs::read(workspace.path(name)).expect("readable");
        let hashes: Vec<String> =
            (0..4).map(|number| FixtureId::of(&read(&path(number))).to_hex()).collect();
        let seen = hashes.iter().enumerate().map(|(number, sha256)| support::sound_report::Seen {
            path: path(number),
            sha256: sha256.clone(),
            class: 0,
            a: 0.7,
            b: 0.3,
        });
        let seen: Vec<support::sound_report::Seen> = seen.collect();
        let manifest = ManifestHash::of(&read("manifest.txt")).to_hex();
        let classes = ["a.bottle", "a.can", "a.paper"];
        let mut report = support::sound_report::report(&seen, &classes, &manifest);
        // The artifact that could be signed, as far as it has to be there to choose its threshold.
        workspace.write("b.onnx", b"candidate");
        report["artifacts"]["b"]["sha256"] = FixtureId::of(b"candidate").to_hex().into();
        workspace.write("sessions/reports/parity.json", report.to_string().as_bytes());
        Self { workspace, hashes }
    }

    /// Runs a command at a minute of the day.
    fn at(&self, minute: u32, arguments: &str, lines: &str) -> String {
        let now = format!("2026-02-03T04:{minute:02}:00Z");
        let output = self.workspace.run_at(&now, arguments, lines);
        assert!(output.status.success(), "{arguments}: {}", stderr(&output));
        stdout(&output)
    }

    /// Opens a screen at minute 20, presses each key until it shows what is expected, and leaves.
    fn screen(&self, arguments: &str, first: &str, keys: &[(&str, &str)]) {
        let mut command = self.workspace.command(arguments);
        command.env("FLIPSIDE_NOW", "2026-02-03T04:20:00Z");
        let mut pty = Pty::start(&command, 80, 24);
        pty.wait_for(first);
        for (key, expected) in keys {
            // A page may be further away than the next one.
            for _ in 0..4 {
                let before = pty.screen();
                pty.keys(key);
                if pty.wait_until("another screen", |screen| screen != before).contains(expected) {
                    break;
                }
            }
            pty.wait_for(expected);
        }
        for _ in 0..3 {
            pty.keys("q");
        }
        pty.end();
    }

    /// Ada labels two pictures, looks, labels the others and seals: which of those she labelled after that
    /// does the score call exposed?
    fn exposed_after(&self, look: impl Fn(&Self, &str)) -> (BTreeSet<String>, [String; 2]) {
        self.at(1, "label --rater bob --shard 1/1 --plain", &"n h\n".repeat(4));
        self.at(2, "seal --rater bob --shard 1/1", "");
        let said = self.at(10, "label --rater ada --shard 1/1 --plain", "y b h\nn h\n");
        let shown: Vec<&str> = said.lines().filter_map(|it| it.strip_prefix("picture ")).collect();
        let third = self.full(&shown.last().expect("a third picture")[..10]);
        look(self, &third);
        let said = self.at(30, "label --rater ada --shard 1/1 --plain", "y b h\nn h\n");
        let shown: Vec<&str> = said.lines().filter_map(|it| it.strip_prefix("picture ")).collect();
        let fourth = self.full(&shown[1][..10]);
        self.at(31, "seal --rater ada --shard 1/1", "");
        let score: serde_json::Value =
            serde_json::from_str(&self.at(40, "score --json", "")).expect("JSON");
        let of = |it: &serde_json::Value| {
            assert_eq!(it["rater"], "ada");
            it["fixture"].as_str().expect("text").to_owned()
        };
        let listed = score["evidence"]["exposures"].as_array().expect("a list");
        (listed.iter().map(of).collect(), [third, fourth])
    }

    fn full(&self, short: &str) -> String {
        self.hashes.iter().find(|hash| hash.starts_with(short)).expect("one of ours").clone()
    }
}

/// A way to see what the models said of one picture.
type Look = fn(&Stage, &str);

#[test]
fn whoever_sees_a_picture_with_model_output_is_exposed_to_that_one() {
    let ways: [(&str, Look); 5] = [
        ("review in lines", |stage, picture| {
            stage.at(20, &format!("review --plain --reviewer ada {picture}"), "quit\n");
        }),
        ("the review screen", |stage, picture| {
            let arguments = format!("review --reviewer ada --graphics blocks {picture}");
            stage.screen(&arguments, " px, zoom", &[]);
        }),
        ("the review screen as text", |stage, picture| {
            let arguments = format!("review --render 80x24 --mono --reviewer ada {picture}");
            assert!(stage.at(20, &arguments, "").contains("a.bottle"));
        }),
        ("one picture", |stage, picture| {
            stage.at(20, &format!("show --json --reviewer ada {picture}"), "");
        }),
        ("verdicts from a file", |stage, picture| {
            let row = format!(
                "{{\"fixture\":\"{picture}\",\"change\":\"vanished a0\",\"verdict\":\"reference\",\"note\":\"\"}}\n"
            );
            stage.workspace.write("verdicts.jsonl", row.as_bytes());
            let file = stage.workspace.path("verdicts.jsonl");
            stage.at(20, &format!("review --reviewer ada --verdicts {}", file.display()), "");
        }),
    ];
    for (way, look) in ways {
        let (exposed, [third, _]) = Stage::new().exposed_after(look);
        assert_eq!(exposed, [third].into(), "{way}");
    }
}

#[test]
fn whoever_sees_a_list_is_exposed_to_all_that_is_on_it() {
    let ways: [(&str, Look); 4] = [
        ("every change as JSON", |stage, picture| {
            let listed = stage.at(20, "review --json --reviewer ada", "");
            assert!(listed.contains(picture));
        }),
        ("the page of differences", |stage, _| {
            let browse = "score --browse --reviewer ada";
            stage.screen(browse, "Score at", &[("\t", "only found by")]);
        }),
        ("the curves", |stage, _| {
            stage.screen("score --browse --reviewer ada", "Score at", &[("t", "Threshold 0.4")]);
        }),
        ("the threshold to be signed", |stage, _| {
            stage.screen("sign --name ada", "Threshold 0.4", &[]);
        }),
    ];
    for (way, look) in ways {
        let (exposed, after) = Stage::new().exposed_after(look);
        assert_eq!(exposed, after.into(), "{way}");
    }
}

#[test]
fn whoever_sees_none_of_it_is_not_exposed() {
    let ways: [(&str, Look); 3] = [
        ("nothing", |_, _| {}),
        ("somebody else looks", |stage, _| {
            stage.at(20, "review --json --reviewer cyd", "");
        }),
        ("numbers over all pictures", |stage, _| {
            let agreement = stage.workspace.run("agreement");
            assert_eq!(agreement.status.code(), Some(1), "nobody to compare with yet");
            stage.screen("score --browse --reviewer ada", "Score at", &[("\t", "> categories")]);
        }),
    ];
    for (way, look) in ways {
        let (exposed, _) = Stage::new().exposed_after(look);
        assert_eq!(exposed, BTreeSet::new(), "{way}");
    }
}

#[test]
fn a_label_after_exposure_is_kept_and_out_of_blind_scores() {
    let stage = Stage::new();
    // Two before, two after. Of the first two, one is seen in review afterwards; of the others, one.
    let said = stage.at(10, "label --rater ada --shard 1/1 --plain", "y b h\nn h\n");
    let shown: Vec<&str> = said.lines().filter_map(|it| it.strip_prefix("picture ")).collect();
    let first = &shown[0][..10];
    let seen_late = shown.last().expect("a third picture").get(..10).expect("an id");
    for picture in [first, seen_late] {
        let hash = stage.full(picture);
        let said = stage.at(20, &format!("review --plain --reviewer ada {hash}"), "quit\n");
        let name = stage.hashes.iter().position(|other| *other == hash).expect("one of ours");
        assert!(said.contains(&format!("park {name:02}.png")), "{said}");
    }
    stage.at(30, "label --rater ada --shard 1/1 --plain", "y b h\nn h\n");
    stage.at(31, "seal --rater ada --shard 1/1", "");
    let score = || -> serde_json::Value {
        serde_json::from_str(&stage.at(50, "score --json", "")).expect("JSON")
    };
    let all = &score()["subsets"][0];
    assert_eq!((&all["n"], &all["exposedLeftOut"]), (&3.into(), &1.into()), "{all}");
    // Kept: the sealed file has all four.
    let (_, file) = stage.workspace.label_files().remove(0);
    assert_eq!(file.matches("\"kind\":\"label\"").count(), 4);
    // Another rater, who has seen nothing, brings the picture back in.
    stage.at(40, "label --rater bob --shard 1/1 --plain", &"n h\n".repeat(4));
    stage.at(41, "seal --rater bob --shard 1/1", "");
    let all = &score()["subsets"][0];
    assert_eq!(all["exposedLeftOut"], 0, "{all}");
}
