//! The same questions as numbered prompts, for terminals and readers that no full-screen program suits.
//! Knows no terminal: lines in, lines out.

use std::io::{self, BufRead, Read as _, Write};

use super::desk::Desk;
use super::material::ReviewItem;
use super::queue::Filter;
use super::tally::{HELD_BACK, Tally, parity_warning};
use super::verdict::{LeftSide, ReviewEvent, Seen, Verdict, kind_word};
use crate::domain::escape::{escape, escape_os};
use crate::domain::label::NotPhotograph;
use crate::sighted::decision::report::{DetectionRow, ItemKind};

/// Longest line of an answer, in bytes.
const MAX_ANSWER: u64 = 16 << 10;

/// What a kind means, in words.
pub(in crate::sighted) const fn kind_says(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Vanished => "only the reference has it",
        ItemKind::Appeared => "only the candidate has it",
        ItemKind::Relabelled => "both have it, as different classes",
        ItemKind::MovedSlot => "both have it, in different slots: nothing changed",
        ItemKind::Replaced => "one slot, two different objects",
    }
}

/// [`kind_says`] without naming the sides.
pub(in crate::sighted) const fn kind_says_hidden(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Vanished | ItemKind::Appeared => "only one side has it",
        other => kind_says(other),
    }
}

/// Asks until the queue is done, the person ends it, or input ends. `store` writes an event before the next
/// question is asked.
///
/// # Errors
/// Reading or writing failed, or an event could not be stored.
pub(in crate::sighted) fn run(
    desk: &mut Desk,
    input: &mut impl BufRead,
    output: &mut impl Write,
    store: &mut impl FnMut(&ReviewEvent) -> Result<(), String>,
) -> io::Result<()> {
    let keep = |store: &mut dyn FnMut(&ReviewEvent) -> Result<(), String>, event: &ReviewEvent| {
        store(event).map_err(io::Error::other)
    };
    keep(store, &desk.opened())?;
    if let Some(warning) = parity_warning(&desk.material.totals) {
        writeln!(output, "{warning}")?;
    }
    let mut shown = None;
    loop {
        let (Some(item), Some(image)) = (desk.queue.item(), desk.queue.image()) else {
            writeln!(output, "Nothing to review with this filter.")?;
            return Ok(());
        };
        if shown != Some((item, image)) {
            if let Some(event) = desk.look(Seen::Decisions) {
                keep(store, &event)?;
            }
            describe(desk, output)?;
            shown = Some((item, image));
        }
        write!(output, "> ")?;
        output.flush()?;
        let mut answer = String::new();
        if (&mut *input).take(MAX_ANSWER).read_line(&mut answer)? == 0 {
            writeln!(output)?;
            return finish(desk, output);
        }
        match act(desk, answer.trim(), output)? {
            Next::Ask => {}
            Next::Again => shown = None,
            Next::Store(event) => {
                keep(store, &event)?;
                writeln!(output, "saved")?;
            }
            Next::StoreAndGoOn(event) => {
                keep(store, &event)?;
                writeln!(output, "saved")?;
                if !desk.queue.go_to_undecided(&desk.material, &desk.ledger, false) {
                    return finish(desk, output);
                }
            }
            Next::End => return finish(desk, output),
        }
    }
}

enum Next {
    /// Nothing changed.
    Ask,
    /// Show the item again.
    Again,
    /// Keep this, stay here.
    Store(ReviewEvent),
    /// Keep this, go to the next open item.
    StoreAndGoOn(ReviewEvent),
    /// That was all.
    End,
}

fn act(desk: &mut Desk, answer: &str, output: &mut impl Write) -> io::Result<Next> {
    let (word, rest) = answer.split_once(' ').unwrap_or((answer, ""));
    let Some(item) = desk.queue.item() else { return Ok(Next::End) };
    let fixture = desk.material.items[item].key.fixture;
    let verdict = match word {
        "1" => Some(desk.meant(fixture, true)),
        "2" => Some(desk.meant(fixture, false)),
        "3" => Some(Verdict::Both),
        "4" => Some(Verdict::Neither),
        "5" => Some(Verdict::CannotTell),
        _ => None,
    };
    if let Some(verdict) = verdict {
        return Ok(match desk.judge(item, Some(verdict)) {
            Some(event) => Next::StoreAndGoOn(event),
            None => {
                writeln!(output, "that stands already")?;
                Next::Ask
            }
        });
    }
    let moved = |did: bool| if did { Next::Again } else { Next::Ask };
    Ok(match word {
        "" | "next" | "s" => moved(desk.queue.step_item(true)),
        "back" | "b" => moved(desk.queue.step_item(false)),
        "open" | "o" => moved(desk.queue.go_to_undecided(&desk.material, &desk.ledger, false)),
        "go" | "g" => match desk.queue.look_up(&desk.material, rest) {
            Some(place) => {
                desk.queue.go_to(place);
                Next::Again
            }
            None => {
                writeln!(output, "nothing in the queue is called that")?;
                Next::Ask
            }
        },
        "filter" | "f" => {
            desk.queue.filter = Filter::parse(rest);
            desk.rebuild();
            writeln!(output, "{} items", desk.queue.len())?;
            Next::Again
        }
        "note" | "n" => match desk.annotate(item, rest) {
            Ok(Some(event)) => Next::Store(event),
            Ok(None) => Next::Ask,
            Err(reason) => {
                writeln!(output, "{reason}")?;
                Next::Ask
            }
        },
        "photo" | "p" => match photo(desk, rest) {
            Ok(Some(event)) => Next::Store(event),
            Ok(None) => Next::Ask,
            Err(reason) => {
                writeln!(output, "{reason}")?;
                Next::Ask
            }
        },
        "undo" | "u" | "redo" | "r" => {
            let is_undo = word.starts_with('u');
            let reverted = if is_undo { desk.undo() } else { desk.redo() };
            match reverted {
                Some(reverted) => {
                    let did = if is_undo { "undid" } else { "did again" };
                    writeln!(output, "{did}: {}", reverted.says)?;
                    Next::Store(reverted.event)
                }
                None => {
                    writeln!(output, "nothing to take back")?;
                    Next::Ask
                }
            }
        }
        "tally" | "t" => {
            let said = desk.tally().map_or_else(|| HELD_BACK.to_owned(), |tally| tally.sentence());
            writeln!(output, "{said}")?;
            Next::Ask
        }
        "quit" | "q" => Next::End,
        _ => {
            writeln!(output, "{HELP}")?;
            Next::Ask
        }
    })
}

fn photo(desk: &mut Desk, word: &str) -> Result<Option<ReviewEvent>, String> {
    let words: Vec<&str> = NotPhotograph::ALL.iter().map(|kind| kind.word()).collect();
    match word {
        "yes" => Ok(desk.flag(None)),
        word => match NotPhotograph::from_word(word) {
            Some(kind) => Ok(desk.flag(Some(kind))),
            None => Err(format!("photo: expected yes, or {}", words.join(", "))),
        },
    }
}

const HELP: &str = "1-5 verdict, next, back, open (next without verdict), go NUMBER|NAME, filter WORDS, note TEXT, photo KIND|yes, undo, redo, tally, quit";

fn describe(desk: &Desk, output: &mut impl Write) -> io::Result<()> {
    let (Some(item), Some(image)) = (desk.item(), desk.queue.image()) else { return Ok(()) };
    let review_image = &desk.material.images[image];
    let items = desk.queue.entry().map_or(0, |entry| entry.items.len());
    writeln!(output)?;
    writeln!(
        output,
        "picture {} of {}: {} ({}), change {} of {items}",
        desk.queue.place() + 1,
        desk.queue.entries().len(),
        escape_os(review_image.path.as_os_str()),
        review_image.fixture.short(),
        desk.queue.item_place() + 1,
    )?;
    let left = desk.left_side(review_image.fixture);
    match left {
        None => writeln!(output, "{}: {}", kind_word(item.kind), kind_says(item.kind))?,
        Some(_) => writeln!(output, "{}", kind_says_hidden(item.kind))?,
    }
    let reference = (&item.a, &item.elsewhere_a);
    let candidate = (&item.b, &item.elsewhere_b);
    let rows = match left {
        None => [("reference", reference), ("candidate", candidate)],
        Some(LeftSide::Reference) => [("left", reference), ("right", candidate)],
        Some(LeftSide::Candidate) => [("left", candidate), ("right", reference)],
    };
    for (name, (row, elsewhere)) in rows {
        writeln!(output, "  {name:<10} {}", side(desk, item, *row, *elsewhere))?;
    }
    if let Some(verdict) = desk.verdict_of(item) {
        writeln!(output, "  verdict: {}", desk.says(review_image.fixture, verdict))?;
    }
    let note = desk.note_of(item);
    if !note.is_empty() {
        writeln!(output, "  note: {}", escape(note))?;
    }
    let [first, second] = if left.is_some() {
        ["left is right", "right is right"]
    } else {
        [Verdict::Reference.says(), Verdict::Candidate.says()]
    };
    writeln!(output, "1 {first}  2 {second}  3 both acceptable  4 neither  5 cannot tell  ? help")
}

fn side(
    desk: &Desk,
    item: &ReviewItem,
    row: Option<DetectionRow>,
    elsewhere: Option<DetectionRow>,
) -> String {
    let distance = |row: &DetectionRow| {
        format!(
            "{:.3} ({:+.3} to the threshold)",
            row.confidence,
            row.confidence - desk.material.threshold
        )
    };
    let name = |row: &DetectionRow| escape(&desk.material.class_name(row.class_index)).into_owned();
    match (row, elsewhere) {
        (Some(row), _) => {
            let [x0, y0, x1, y1] = row.corners;
            format!(
                "{} {}, slot {}, box {x0:.2} {y0:.2} to {x1:.2} {y1:.2}",
                name(&row),
                distance(&row),
                row.slot
            )
        }
        (None, Some(row)) => {
            format!("at most {} {}, slot {}", name(&row), distance(&row), row.slot)
        }
        (None, None) if item.kind == ItemKind::MovedSlot => "the same".to_owned(),
        (None, None) => "nothing there".to_owned(),
    }
}

fn finish(desk: &Desk, output: &mut impl Write) -> io::Result<()> {
    let tally = Tally::of(&desk.material, &desk.ledger);
    writeln!(output, "{} of {} decided", tally.decided(), tally.items)?;
    if tally.is_done() {
        writeln!(output, "{}", tally.sentence())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::material;
    use super::super::verdict::Ledger;
    use super::*;

    fn play(typed: &str, hidden: bool) -> (String, Vec<ReviewEvent>) {
        let mut desk = Desk::new(material(), Ledger::default(), 7, hidden);
        let mut output = Vec::new();
        let mut stored = Vec::new();
        run(&mut desk, &mut typed.as_bytes(), &mut output, &mut |event| {
            stored.push(event.clone());
            Ok(())
        })
        .expect("no failure");
        (String::from_utf8(output).expect("text"), stored)
    }

    #[test]
    fn a_whole_review() {
        let (said, stored) = play("note looks fine\n2\n1\nx\n3\n4\n", false);
        insta::assert_snapshot!(said);
        let judged = stored.iter().filter(|event| matches!(event, ReviewEvent::Judged(..))).count();
        assert_eq!(judged, 5);
        assert!(matches!(stored[0], ReviewEvent::Opened { .. }));
        assert!(matches!(stored[1], ReviewEvent::Exposed { .. }));
    }

    #[test]
    fn hidden_sides_stay_hidden_in_tally_and_undo_until_all_is_decided() {
        let (said, _) = play("1\nundo\nredo\ntally\nquit\n", true);
        assert!(said.contains(HELD_BACK), "{said}");
        assert!(said.contains("undid: left is right"), "{said}");
        for told in ["reference right", "candidate right"] {
            assert!(!said.contains(told), "{told}: {said}");
        }
        let (said, _) = play("1\n1\n1\n1\n1\n1\ntally\nquit\n", true);
        assert!(said.contains("exact sign test"), "{said}");
    }

    #[test]
    fn going_about_and_taking_back() {
        let (said, stored) = play(
            "next\nback\n1\nundo\nredo\nfilter vanished\nphoto screenshot\nphoto x\ngo 99\nquit\n",
            false,
        );
        for part in [
            "undid: reference right",
            "did again",
            "1 items",
            "photo: expected yes",
            "nothing in the queue",
        ] {
            assert!(said.contains(part), "{part} not in\n{said}");
        }
        assert!(stored.iter().any(|event| matches!(event, ReviewEvent::Flagged(..))));
    }

    #[test]
    fn hidden_sides_are_not_named_and_hostile_names_are_inert() {
        let (said, _) = play("next\nnext\nnext\nquit\n", true);
        assert!(!said.contains("reference") && !said.contains("candidate"), "{said}");
        assert!(!said.contains("vanished") && !said.contains("appeared"), "{said}");
        assert!(!said.chars().any(|c| c.is_control() && c != '\n'), "{said:?}");
        assert!(said.contains("\\u{202e}gpj.jpg"));
    }

    #[test]
    fn what_cannot_be_stored_ends_it_with_the_reason() {
        let mut desk = Desk::new(material(), Ledger::default(), 7, false);
        let error = run(&mut desk, &mut &b"1\n"[..], &mut Vec::new(), &mut |event| match event {
            ReviewEvent::Judged(..) => Err("the disk is full".to_owned()),
            _ => Ok(()),
        })
        .expect_err("not stored");
        assert_eq!(error.to_string(), "the disk is full");
    }
}
