//! Labelling from the outside: two raters, undo, resume, seal, amend, agreement, export, import, and what
//! is refused.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is missing"
)]

use std::collections::BTreeMap;

use flipside::domain::digest::{FixtureId, ManifestHash};
use flipside::domain::shard::{PlannedFixture, RaterName, Shard, ShardPlan, Showing};
use flipside::store::label_file::{Confinement, LabelFile};
use serde_json::Value;

mod support;

use support::pty::Pty;
use support::workspace::{Workspace, stderr, stdout};

/// Fixtures of a workspace by number.
fn numbers(workspace: &Workspace, count: u8) -> BTreeMap<FixtureId, u8> {
    (0..count)
        .map(|number| {
            let bytes = std::fs::read(workspace.path(&format!("images/park {number:02}.png")));
            (FixtureId::of(&bytes.expect("readable")), number)
        })
        .collect()
}

/// What a rater is shown, as the plan says.
fn order(
    workspace: &Workspace,
    count: u8,
    plan: ShardPlan,
    shard: &str,
    rater: &str,
) -> Vec<Showing> {
    let fixtures: Vec<PlannedFixture> = numbers(workspace, count)
        .into_keys()
        .map(|id| PlannedFixture { id, cluster: String::new() })
        .collect();
    let shard: Shard = shard.parse().expect("a shard");
    plan.order(&fixtures, shard, &rater.parse::<RaterName>().expect("a name"))
}

fn plan(workspace: &Workspace, of: u32, overlap: f64, repeats: f64) -> ShardPlan {
    let manifest = std::fs::read(workspace.path("manifest.txt")).expect("readable");
    ShardPlan { manifest: ManifestHash::of(&manifest), of, overlap, repeats, seed: 3 }
}

fn sealed(workspace: &Workspace, rater: &str) -> LabelFile {
    let files = workspace.label_files();
    let (_, text) = files
        .iter()
        .find(|(name, _)| name.contains(&format!(".{rater}.")))
        .unwrap_or_else(|| panic!("no file of {rater} in {files:?}"));
    LabelFile::parse(text.as_bytes()).expect("whole")
}

#[test]
fn two_raters_on_terminals_agree_as_computed_by_hand() {
    let workspace = Workspace::new(8, 2, 1.0, 0.0);
    let numbers = numbers(&workspace, 8);
    let plan = plan(&workspace, 2, 1.0, 0.0);
    // Both see all eight. yes-yes 2, yes-no 1, no-yes 1, no-no 4.
    let says = |rater: &str, number: u8| match rater {
        "ada" => number < 3,
        _ => number < 2 || number == 3,
    };
    for (rater, shard) in [("ada", "1/2"), ("bob", "2/2")] {
        let order = order(&workspace, 8, plan, shard, rater);
        assert_eq!(order.len(), 8);
        let keys = |showing: &Showing| {
            if says(rater, numbers[&showing.fixture]) { "yah\r" } else { "nh\r" }
        };
        let command =
            workspace.command(&format!("label --rater {rater} --shard {shard} --graphics blocks"));
        let mut pty = Pty::start(&command, 80, 24);
        for (done, showing) in order.iter().enumerate().take(3) {
            pty.wait_until("a picture", |screen| {
                screen.contains(&format!("done {done}  left {}", 8 - done)) && screen.contains('▀')
            });
            pty.keys(keys(showing));
        }
        pty.wait_for("done 3  left 5");
        // A wrong answer, taken back; then the other one.
        pty.wait_until("a picture", |screen| screen.contains('▀'));
        let wrong = if says(rater, numbers[&order[3].fixture]) { "nl\r" } else { "ybl\r" };
        pty.keys(wrong);
        pty.wait_for("done 4  left 4");
        pty.keys("u");
        pty.wait_for("done 3  left 5");
        pty.wait_until("a picture", |screen| screen.contains('▀'));
        pty.keys("q");
        let (code, _) = pty.end();
        assert_eq!(code, 0);
        // It goes on where it stopped.
        let mut pty = Pty::start(&command, 80, 24);
        for (done, showing) in order.iter().enumerate().skip(3) {
            pty.wait_until("a picture", |screen| {
                screen.contains(&format!("done {done}  left {}", 8 - done)) && screen.contains('▀')
            });
            pty.keys(keys(showing));
        }
        pty.wait_for("every picture is answered");
        pty.keys("q");
        assert_eq!(pty.end().0, 0);
        let output = workspace.run(&format!("seal --rater {rater} --shard {shard}"));
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let output = workspace.run("agreement --json");
    assert!(output.status.success(), "{}", stderr(&output));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let presence = &report["between"][0]["questions"][0];
    assert_eq!(presence["question"], "presence");
    assert_eq!((&presence["equal"]["k"], &presence["equal"]["n"]), (&6.into(), &8.into()));
    let near = |value: &Value, expected: f64| {
        let found = value["value"].as_f64().expect("a number");
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    };
    // Both say yes to 3 of 8: p_e = (9 + 25)/64, κ = (48 − 34)/(64 − 34).
    near(&presence["kappa"], 14.0 / 30.0);
    // 16 answers, 6 yes: D_o = 2/8, D_e = 2·6·10/(16·15).
    near(&presence["alpha"], 0.5);
    // p_γ = 2·(3/8)(5/8) = 30/64, so AC1 = (48 − 30)/(64 − 30).
    near(&presence["ac1"], 18.0 / 34.0);
    assert_eq!(report["oneself"].as_array().map(Vec::len), Some(0));
    let text = stdout(&workspace.run("agreement"));
    assert!(text.contains("ada and bob: 8 pictures in common"), "{text}");
    let file = sealed(&workspace, "ada");
    assert_eq!(file.labels[0].seen_as.as_ref().map(|seen| seen.protocol.as_str()), Some("blocks"));
}

#[test]
fn lines_answer_resume_seal_and_amend() {
    let workspace = Workspace::new(10, 1, 0.0, 0.1);
    let said =
        workspace.label("ada", "1/1", "y b g\nh\nn\nm\ny\nb? c\nl\nskip cannot tell\nundo\n");
    // `g` is no category here; the line ends there and nothing is saved of it.
    assert!(said.contains("\"g\" is not understood"), "{said}");
    assert!(said.contains("done, 11 left") || said.contains("0 done"), "{said}");
    let unanswered = workspace.run("seal --rater ada --shard 1/1");
    assert_eq!(unanswered.status.code(), Some(1));
    assert!(
        stderr(&unanswered).contains("of 11 pictures have no answer"),
        "{}",
        stderr(&unanswered)
    );
    let said = workspace.label("ada", "1/1", &"n h\n".repeat(11));
    assert!(said.contains("every picture is answered"), "{said}");
    let output = workspace.run("seal --rater ada --shard 1/1 --json");
    assert!(output.status.success(), "{}", stderr(&output));
    let seal: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&seal["status"], &seal["labels"]), (&"sealed".into(), &11.into()));
    let file = sealed(&workspace, "ada");
    assert_eq!(file.labels.iter().filter(|line| line.pass == 2).count(), 1);
    assert_eq!(
        file.header.chain_head.map(|head| head.to_hex()).as_deref(),
        seal["chainHead"].as_str()
    );
    // Sealed: looking is allowed, answering needs a reason.
    let said = workspace.label("ada", "1/1", "y b h\nback\n");
    assert!(said.contains("sealed: answers are final"), "{said}");
    let output =
        workspace.run_with("label --rater ada --shard 1/1 --plain --amend blurry", "y b l\n");
    assert!(output.status.success(), "{}", stderr(&output));
    let output = workspace.run("seal --rater ada --shard 1/1");
    assert!(stdout(&output).contains(".ada.2.jsonl"), "{}", stdout(&output));
    let files = workspace.label_files();
    let second = files.iter().find(|(name, _)| name.contains(".2.jsonl")).expect("a second file");
    let second = LabelFile::parse(second.1.as_bytes()).expect("whole");
    assert_eq!(second.header.supersedes, Some(file.sha256));
    let amended: Vec<_> = second.labels.iter().filter_map(|line| line.amended.as_deref()).collect();
    assert_eq!(amended, ["blurry"]);
    let output = workspace.run("agreement --json");
    assert_eq!(output.status.code(), Some(1), "one rater");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["oneself"][0]["pictures"], 1);
    assert!(stdout(&workspace.run("agreement")).contains("no inter-rater number exists"));
}

#[test]
fn exported_labels_can_be_taken_over() {
    let workspace = Workspace::new(3, 1, 0.0, 0.0);
    workspace.label("ada", "1/1", "y b c? h\nn m\nn l\n");
    assert!(workspace.run("seal --rater ada --shard 1/1").status.success());
    let table = workspace.run("labels --csv");
    assert!(stdout(&table).contains("images/park 0"), "{}", stdout(&table));
    let json: Value = serde_json::from_slice(&workspace.run("labels --json").stdout).expect("JSON");
    assert_eq!(json["labels"].as_array().map(Vec::len), Some(3));
    let other = Workspace::new(3, 1, 0.0, 0.0);
    other.write("table.csv", &table.stdout);
    let path = other.path("table.csv");
    let import = format!("import-labels {}", path.display());
    let output = other.run(&import);
    assert!(output.status.success(), "{}", stderr(&output));
    let (ours, theirs) = (sealed(&workspace, "ada"), sealed(&other, "ada"));
    assert_eq!(ours.labels.len(), theirs.labels.len());
    for (ours, theirs) in ours.labels.iter().zip(&theirs.labels) {
        assert_eq!((ours.fixture, &ours.label), (theirs.fixture, &theirs.label));
    }
    assert_eq!(theirs.header.blind.word(), "asserted");
    let again = other.run(&import);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("is there already"), "{}", stderr(&again));
    other.write("table.csv", b"path,rater,presence\nimages/none.png,bob,litter\n");
    let refused = other.run(&import);
    assert!(stderr(&refused).contains("line 2: path"), "{}", stderr(&refused));
}

#[test]
fn the_same_rater_twice_is_told_who_and_may_look() {
    let workspace = Workspace::new(2, 1, 0.0, 0.0);
    let mut first = workspace.talk("label --rater ada --shard 1/1 --plain");
    first.send("n h\n");
    assert!(first.saved().is_some());
    let second = workspace.run_with("label --rater ada --shard 1/1 --plain", "back\nn h\n");
    assert_eq!(second.status.code(), Some(2));
    assert!(stderr(&second).contains("to look at only: process"), "{}", stderr(&second));
    assert!(stderr(&second).contains("since 2026-02-03T04:05:06+00:00"), "{}", stderr(&second));
    assert!(stdout(&second).contains("1 done, 1 left"), "{}", stdout(&second));
    assert!(!stdout(&second).contains("saved"), "{}", stdout(&second));
    // Another rater is not held up.
    let other = workspace.label("bob", "1/1", "n h\n");
    assert!(other.contains("saved "), "{other}");
    assert!(first.finish().success());
    let third = workspace.label("ada", "1/1", "n h\n");
    assert!(third.contains("saved "), "{third}");
}

#[test]
fn many_raters_at_once_lose_nothing() {
    let workspace = Workspace::new(6, 1, 0.0, 0.0);
    let script = "n h\nundo\n".repeat(15) + &"n l\n".repeat(6);
    let names = ["ada", "bob", "cyd", "dan"];
    std::thread::scope(|scope| {
        for rater in names {
            let (workspace, script) = (&workspace, &script);
            scope.spawn(move || {
                let said = workspace.label(rater, "1/1", script);
                assert_eq!(said.matches("\nsaved ").count(), 36, "{said}");
            });
        }
    });
    for rater in names {
        let events = workspace.events(rater);
        assert!(events.iter().all(|event| event.actor == rater));
        assert_eq!(events.len(), 38, "opening, sitting, 36 answers and undos");
        assert!(workspace.run(&format!("seal --rater {rater} --shard 1/1")).status.success());
    }
    let output = workspace.run("agreement");
    assert!(stdout(&output).contains("all raters"), "{}", stdout(&output));
}

#[test]
fn refusals_say_what_was_expected() {
    let workspace = Workspace::new(2, 2, 0.0, 0.0);
    for (arguments, message) in [
        ("label --rater ada --shard 1/2", "--plain` reads and writes lines"),
        ("label --rater ada --shard 1/3 --plain", "into 2 shards, --shard says 1/3"),
        ("label --rater Ada --shard 1/2 --plain", "expected a rater name"),
        ("label --rater ada --shard 3/2 --plain", "expected a shard as I/N"),
        ("label --rater ada --shard 1/2 --plain --amend x", "was never opened by ada"),
        ("seal --rater ada --shard 1/2", "was never opened by ada"),
        ("agreement", "no sealed label file"),
        ("labels", "no sealed label file"),
        ("import-labels none.csv", "none.csv: No such file"),
    ] {
        let output = workspace.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(stderr(&output).contains(message), "{arguments}: {}", stderr(&output));
        assert!(output.stdout.is_empty(), "{arguments}: {}", stdout(&output));
    }
    std::fs::remove_file(workspace.path("images/park 01.png")).expect("removed");
    let output = workspace.run("label --rater ada --shard 1/2 --plain");
    assert!(stderr(&output).contains("1 of 2 fixtures cannot be read"), "{}", stderr(&output));
}

#[test]
fn a_name_nobody_labelled_under_leaves_nothing_behind() {
    let workspace = Workspace::new(2, 2, 0.0, 0.0);
    let folder = workspace.path("sessions/labels");
    let files = || std::fs::read_dir(&folder).map_or(0, Iterator::count);
    for arguments in [
        "seal --rater typo --shard 1/2",
        "labels --rebuild typo",
        "label --rater typo --shard 1/2 --plain --amend x",
    ] {
        let output = workspace.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {}", stderr(&output));
        assert_eq!(files(), 0, "{arguments}");
    }
    workspace.label("ada", "1/2", "n h\n");
    assert!(files() > 0);
}

#[test]
fn other_terms_after_opening_are_refused() {
    let workspace = Workspace::new(4, 1, 0.0, 0.0);
    workspace.label("ada", "1/1", "n h\n");
    let config = std::fs::read_to_string(workspace.path("flipside.toml")).expect("text");
    workspace.write("flipside.toml", config.replace("seed = 3", "seed = 4").as_bytes());
    let output = workspace.run_with("label --rater ada --shard 1/1 --plain", "n h\n");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("was opened with seed 3"), "{}", stderr(&output));
    workspace.write("flipside.toml", config.as_bytes());
    assert!(workspace.label("ada", "1/1", "n h\n").contains("saved "));
}

#[test]
fn a_dumb_terminal_gets_lines() {
    let workspace = Workspace::new(2, 1, 0.0, 0.0);
    let mut command = workspace.command("label --rater ada --shard 1/1");
    command.env("TERM", "dumb");
    let mut pty = Pty::start(&command, 80, 24);
    pty.wait_for("is there litter? y or n");
    pty.keys("n h\r");
    pty.wait_for("saved 3");
    pty.keys("quit\r");
    let (code, bytes) = pty.end();
    assert_eq!(code, 0);
    assert!(!bytes.contains(&0x1b), "no sequence reaches it");
}

#[test]
fn confinement_is_recorded_as_it_was() {
    let workspace = Workspace::new(1, 1, 0.0, 0.0);
    workspace.label("ada", "1/1", "n h\n");
    assert!(workspace.run("seal --rater ada --shard 1/1").status.success());
    let sitting = workspace.events("ada").into_iter().find(|event| event.kind == "sitting");
    let recorded = sitting.expect("a sitting").payload.get("confinement").cloned();
    let recorded = recorded.and_then(|word| word.as_str().and_then(Confinement::from_word));
    assert_eq!(Some(sealed(&workspace, "ada").header.confinement), recorded);
}

/// A plain picture takes four keys; the whole taxonomy is in view; what cannot be is said in words.
#[test]
fn a_terminal_of_80_by_24_holds_everything_and_a_second_one_may_look() {
    let workspace = Workspace::new(3, 1, 0.0, 0.0);
    let names = [
        "bottles",
        "caps_lids",
        "cans",
        "bags_film_wrappers",
        "cups_straws",
        "food_containers",
        "paper",
        "glass_broken",
        "smoking",
        "other",
    ];
    let groups: Vec<String> =
        names.iter().map(|name| format!("{name} = [\"a.{name}\"]\n")).collect();
    let taxonomy = format!("schema = 1\n[groups]\n{}", groups.concat());
    workspace.write("coarse.toml", taxonomy.as_bytes());
    let command = workspace.command("label --rater ada --shard 1/1 --graphics blocks");
    let mut pty = Pty::start(&command, 80, 24);
    let screen = pty.wait_until("a picture", |screen| screen.contains('▀'));
    for name in names {
        assert!(screen.contains(&name.replace('_', " ")), "{name}\n{screen}");
    }
    pty.keys("nc");
    pty.wait_for("clean, but cans marked present: choose litter, or take the mark away");
    // One key each: unsure, sure, save.
    pty.keys("yC");
    let screen = pty.wait_for("[?]");
    assert!(screen.contains("unsure"), "{screen}");
    pty.keys("h\r");
    pty.wait_until("the next", |screen| screen.contains("done 1  left 2") && screen.contains('▀'));
    // The same rater elsewhere is told who and since when, and may look.
    let mut second = Pty::start(&command, 80, 24);
    second.wait_until("a picture", |screen| screen.contains("TO LOOK AT") && screen.contains('▀'));
    second.keys("n");
    let screen = second.wait_for("to look at only");
    assert!(screen.contains("since 2026-02-03T04:05:06+00:00"), "{screen}");
    second.keys("q");
    assert_eq!(second.end().0, 2);
    pty.keys("yah\r");
    pty.wait_for("done 2  left 1");
    pty.keys("q");
    assert_eq!(pty.end().0, 0);
    let answers: Vec<String> = workspace
        .events("ada")
        .iter()
        .filter(|event| event.kind == "answer")
        .map(|event| event.payload.get("categories").expect("categories").to_canonical())
        .collect();
    assert_eq!(answers, ["{\"cans\":\"unsure\"}", "{\"bottles\":\"present\"}"]);
}
