//! The overview, as text and by keys.

use super::facts::{ArtifactBytes, RunBrief};
use super::*;
use crate::domain::digest::ManifestHash;
use crate::domain::shard::Shard;
use crate::tui::headless::{self, Shot};
use crate::tui::keymap::Key;

fn shard(index: u32) -> Shard {
    Shard::new(index, 4).expect("a shard")
}

fn run(file: &str, changes: usize, decided: usize) -> RunFact {
    RunFact {
        file: file.to_owned(),
        found: Ok(RunBrief {
            generated_at: "2026-02-03T04:05:06+00:00".to_owned(),
            sides: ["a59fc4170d2b".to_owned(), "2c11aa0d91ef".to_owned()],
            candidate: "detector.int8.onnx".to_owned(),
            fixtures: 200,
            threshold: 0.4,
            detections: [202, 202],
            changes,
            decided,
        }),
    }
}

fn facts() -> Vec<Fact> {
    vec![
        Fact::Artifacts(vec![
            ArtifactFact {
                side: "reference",
                path: "models/detector.fp32.onnx".to_owned(),
                found: Ok(ArtifactBytes {
                    short: "a59fc4170d2b".to_owned(),
                    size: 119_300_000,
                    precision: "fp32",
                }),
            },
            ArtifactFact {
                side: "candidate",
                path: "models/\u{1b}[2Jdetector.int8.onnx".to_owned(),
                found: Err(
                    "models/detector.int8.onnx: expected an ONNX model, found an empty file"
                        .to_owned(),
                ),
            },
        ]),
        Fact::Fixtures(FixturesFact {
            path: "fixtures/manifest.txt".to_owned(),
            found: Ok((200, ManifestHash::of(b"m"))),
        }),
        Fact::Runs(vec![
            run("b.json", 112, 3),
            run("a.json", 4, 4),
            RunFact {
                file: "bad\u{1b}.json".to_owned(),
                found: Err("not a parity report".to_owned()),
            },
        ]),
        Fact::Shards(vec![
            ShardFact {
                shard: shard(1),
                raters: vec![
                    ("ada".parse().expect("a name"), 12, 18, false),
                    ("bob".parse().expect("a name"), 18, 18, true),
                ],
            },
            ShardFact { shard: shard(2), raters: Vec::new() },
        ]),
        Fact::Records(
            vec![RecordFact {
                short: "0123456789ab".to_owned(),
                version: "v1.0.0-int8".to_owned(),
                artifact: "2c11aa0d91ef".to_owned(),
                signed: 1,
            }],
            1,
        ),
    ]
}

/// A workspace in which nothing was done yet.
fn empty() -> Vec<Fact> {
    let mut facts = facts();
    facts.truncate(2);
    facts.extend([Fact::Runs(Vec::new()), Fact::Shards(Vec::new()), Fact::Records(Vec::new(), 0)]);
    facts
}

fn overview(facts: Vec<Fact>) -> Overview {
    let mut overview = Overview::new(
        "workspace/litter\u{202e}",
        "ada",
        vec!["models/detector.int8.onnx".to_owned()],
    );
    for fact in facts {
        overview.update(Msg::Fact(fact), Duration::ZERO);
    }
    overview.update(Msg::Complete, Duration::ZERO);
    overview
}

fn keys(overview: &mut Overview, keys: &str) {
    for text in keys.split_whitespace() {
        let key = Key::parse(text).expect(text);
        let msg = if overview.takes_text() {
            overview.input(Input::Text(key))
        } else {
            overview.keymap().lookup(overview.mode(), key).map(|binding| binding.msg.clone())
        };
        if let Some(msg) = msg {
            overview.update(msg, Duration::ZERO);
        }
    }
}

#[test]
fn frames() {
    for shot in Shot::all() {
        let mut at_work = overview(facts());
        insta::assert_snapshot!(shot.name("overview"), shot.of(&at_work));
        insta::assert_snapshot!(shot.name("help"), shot.of_help(&at_work, ""));
        tell_run(&mut at_work, true);
        insta::assert_snapshot!(shot.name("running"), shot.of(&at_work));
        keys(&mut at_work, "q");
        insta::assert_snapshot!(shot.name("leaving"), shot.of(&at_work));
        let mut asks = overview(facts());
        keys(&mut asks, "l");
        insta::assert_snapshot!(shot.name("labelling"), shot.of(&asks));
        keys(&mut asks, "ctrl-u x enter");
        insta::assert_snapshot!(shot.name("labelling_refused"), shot.of(&asks));
        let mut chooses = with_candidates(&["int8.onnx", "evil\u{1b}[2J.onnx"]);
        keys(&mut chooses, "p j");
        insta::assert_snapshot!(shot.name("candidates"), shot.of(&chooses));
        let reading = with_candidates(&["int8.onnx"]);
        insta::assert_snapshot!(shot.name("reading"), shot.of(&reading));
        insta::assert_snapshot!(shot.name("empty"), shot.of(&overview(empty())));
    }
}

#[test]
fn an_empty_workspace_says_what_to_do() {
    let overview = overview(empty());
    let text = headless::draw(&overview, 80, 24, &Look::plain(Theme::MONO)).text;
    assert!(text.contains("none yet: p runs parity"), "{text}");
    let mut overview = overview;
    keys(&mut overview, "r");
    assert!(!overview.is_finished());
    let mut reading = with_candidates(&["int8.onnx"]);
    keys(&mut reading, "r");
    let text = headless::draw(&reading, 80, 24, &Look::plain(Theme::MONO)).text;
    assert!(text.contains("still being read") && !text.contains("p runs"), "{text}");
}

#[test]
fn every_screen_is_one_key_away() {
    assert_eq!(keymap().problems(), Vec::<String>::new());
    for (key, choice) in [
        ("r", Choice::Review("b.json".to_owned())),
        ("b", Choice::ReviewHidden("b.json".to_owned())),
        ("p", Choice::Parity(0)),
        ("s", Choice::Score),
        ("t", Choice::Sign),
        ("c", Choice::Records),
        ("x", Choice::Report),
        ("f", Choice::Fixtures),
        ("d", Choice::Doctor),
        ("R", Choice::Again),
        ("q", Choice::Quit),
        ("j enter", Choice::Review("a.json".to_owned())),
        ("l enter", Choice::Label { rater: "ada".to_owned(), shard: "2/4".to_owned() }),
    ] {
        let mut overview = overview(facts());
        keys(&mut overview, key);
        assert_eq!(overview.take_choice(), choice, "{key}");
    }
}

#[test]
fn a_run_that_cannot_be_read_is_not_opened_and_labels_need_a_name_and_a_shard() {
    let mut overview = overview(facts());
    keys(&mut overview, "j j r");
    assert!(!overview.is_finished());
    keys(&mut overview, "l ctrl-u x enter");
    assert!(!overview.is_finished());
    let text = headless::draw(&overview, 80, 24, &Look::plain(Theme::MONO)).text;
    assert!(text.contains("expected a name and a shard"), "{text}");
}

#[test]
fn nothing_hostile_is_in_any_cell_and_any_size_is_drawn() {
    for (columns, rows) in [(40, 12), (41, 13), (80, 24), (300, 100)] {
        let dump = headless::draw(&overview(facts()), columns, rows, &Look::plain(Theme::COLOUR));
        for cell in &dump.buffer.content {
            assert!(!cell.symbol().chars().any(|c| c.is_control() || c == '\u{202e}'));
        }
    }
}

#[test]
fn sizes_for_people() {
    for (bytes, text) in [
        (0, "0 B"),
        (999, "999 B"),
        (1_200, "1.2 kB"),
        (119_300_000, "119.3 MB"),
        (2_000_000_000, "2.00 GB"),
    ] {
        assert_eq!(size(bytes), text);
    }
}

fn with_candidates(names: &[&str]) -> Overview {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    Overview::new("/w", "ada", names)
}

fn tell_run(overview: &mut Overview, going: bool) {
    let text = "run (p looks): 12 of 48, 5 changed".to_owned();
    let line = RunLine { text, role: Role::Strong, going };
    overview.update(Msg::Run(line), Duration::ZERO);
}

#[test]
fn one_of_several_candidates_is_chosen_and_a_run_that_goes_on_is_looked_at() {
    let mut one = with_candidates(&["int8.onnx", "evil\u{1b}[2J.onnx"]);
    keys(&mut one, "p");
    keys(&mut one, "j enter");
    assert_eq!(one.take_choice(), Choice::Parity(1));
    let mut closed = with_candidates(&["int8.onnx", "fp16.onnx"]);
    keys(&mut closed, "p esc");
    assert!(!closed.is_finished());
    tell_run(&mut closed, true);
    keys(&mut closed, "p");
    assert_eq!(closed.take_choice(), Choice::Parity(0), "there is nothing to choose");
}

#[test]
fn leaving_asks_while_a_run_goes_on_and_only_then() {
    let mut running = with_candidates(&["int8.onnx"]);
    tell_run(&mut running, true);
    let text = headless::draw(&running, 80, 24, &Look::plain(Theme::MONO)).text;
    assert!(text.contains("12 of 48, 5 changed"), "{text}");
    keys(&mut running, "q");
    let text = headless::draw(&running, 80, 24, &Look::plain(Theme::MONO)).text;
    assert!(!running.is_finished() && text.contains("Leaving stops the run"), "{text}");
    keys(&mut running, "n");
    assert!(!running.is_finished());
    tell_run(&mut running, false);
    keys(&mut running, "q");
    assert_eq!(running.take_choice(), Choice::Quit);
    let mut insisting = with_candidates(&["int8.onnx"]);
    tell_run(&mut insisting, true);
    keys(&mut insisting, "q y");
    assert_eq!(insisting.take_choice(), Choice::Quit);
}

#[test]
fn the_cursor_starts_at_the_newest_run_with_open_changes() {
    let mut runs = vec![run("c.json", 0, 0), run("b.json", 9, 9), run("a.json", 4, 1)];
    let mut screen = overview(vec![Fact::Runs(runs.clone())]);
    keys(&mut screen, "r");
    assert_eq!(screen.take_choice(), Choice::Review("a.json".to_owned()));
    runs.truncate(2);
    let mut screen = overview(vec![Fact::Runs(runs)]);
    keys(&mut screen, "r");
    assert_eq!(screen.take_choice(), Choice::Review("c.json".to_owned()));
}

#[test]
fn the_report_of_a_run_that_has_just_ended_is_under_the_cursor() {
    let mut overview = overview(facts());
    keys(&mut overview, "j");
    overview.update(Msg::Fact(Fact::Runs(vec![run("b.json", 1, 0)])), Duration::ZERO);
    let more = vec![run("new.json", 1, 0), run("b.json", 1, 0)];
    overview.update(Msg::Fact(Fact::Runs(more)), Duration::ZERO);
    keys(&mut overview, "r");
    assert_eq!(overview.take_choice(), Choice::Review("new.json".to_owned()));
}

#[test]
fn who_comes_back_finds_the_cursor_on_the_run_they_left() {
    let runs = vec![run("c.json", 4, 1), run("b.json", 9, 9), run("a.json", 4, 4)];
    let mut screen = overview(vec![Fact::Runs(runs.clone())]);
    keys(&mut screen, "j j r");
    assert_eq!(screen.take_choice(), Choice::Review("a.json".to_owned()));
    screen.come_back(Some("it went wrong".to_owned()));
    let text = headless::draw(&screen, 80, 24, &Look::plain(Theme::MONO)).text;
    assert!(text.contains("it went wrong") && text.contains("> "), "{text}");
    // One was deleted meanwhile, another was decided.
    let runs = vec![run("b.json", 9, 9), run("a.json", 4, 0)];
    screen.update(Msg::Fact(Fact::Runs(runs.clone())), Duration::ZERO);
    keys(&mut screen, "r");
    assert_eq!(screen.take_choice(), Choice::Review("a.json".to_owned()));
    screen.come_back(None);
    screen.update(Msg::Fact(Fact::Runs(runs[..1].to_vec())), Duration::ZERO);
    keys(&mut screen, "r");
    assert_eq!(screen.take_choice(), Choice::Review("b.json".to_owned()), "the nearest there is");
}
