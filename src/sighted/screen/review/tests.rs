//! The review screen, driven by messages and looked at as text.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::domain::label::NotPhotograph;
use crate::media::orientation::Orientation;
use crate::media::pixels::RgbImage;
use crate::sighted::review::testing::{Fixture, fixtures, material, report_json};
use crate::sighted::review::verdict::Verdict;
use crate::tui::headless::{self, Shot};
use crate::tui::keymap::Key;
use crate::tui::picture::worker::encode;
use crate::tui::picture::{Canvas, Picture};
use crate::tui::theme::Theme;

/// A screen with a writer that acknowledges and pictures that come at once.
struct Sitting {
    screen: ReviewScreen,
    written: Vec<ReviewEvent>,
    copied: Vec<String>,
    asked: Vec<Request>,
    acks: bool,
    look: Look,
}

impl Sitting {
    fn begin(hidden_sides: bool) -> Self {
        Self::begin_with(hidden_sides, material(), (80, 24), Theme::MONO)
    }

    fn begin_with(
        hidden_sides: bool,
        material: Material,
        (width, height): (u16, u16),
        theme: Theme,
    ) -> Self {
        let start = Start {
            reviewer: "ada".parse().expect("a name"),
            seed: 7,
            hidden_sides,
            at: None,
            place: None,
        };
        Self::start(start, material, (width, height), theme)
    }

    /// The same size and colours, the same material, another sitting.
    fn begin_again(&self, place: Place, at: Option<&str>) -> Self {
        let at = at.map(str::to_owned);
        let start = Start { place: Some(place), at, ..self.screen.start.clone() };
        Self::start(start, material(), self.screen.size, self.look.theme)
    }

    fn start(start: Start, material: Material, (width, height): (u16, u16), theme: Theme) -> Self {
        let look = Look::plain(theme);
        let mut sitting = Self {
            screen: ReviewScreen::new(start),
            written: Vec::new(),
            copied: Vec::new(),
            asked: Vec::new(),
            acks: true,
            look,
        };
        sitting.send(Msg::Input(Input::Resize { width, height }));
        sitting.send(Msg::Input(Input::Graphics(look.canvas)));
        sitting.send(Msg::Loaded(Box::new(Ok(material))));
        sitting.send(Msg::Recorded(Reply::Opened { events: Vec::new(), read_only: None }));
        sitting
    }

    fn send(&mut self, msg: Msg) {
        let effects = self.screen.update(msg, Duration::ZERO);
        for effect in effects {
            match effect {
                Effect::Write(ticket, event) => {
                    self.written.push(event);
                    if self.acks {
                        self.send(Msg::Recorded(Reply::Saved { ticket }));
                    }
                }
                Effect::Pictures(requests) => {
                    for request in requests {
                        let shown = encode(&picture(), &request).map(Arc::new);
                        let (generation, id) = (request.generation, request.id);
                        self.asked.push(request);
                        self.send(Msg::Picture(Answer { generation, id, shown }));
                    }
                }
                Effect::Copy(text) => self.copied.push(text),
            }
        }
    }

    fn keys(&mut self, keys: &str) {
        for text in keys.split_whitespace() {
            let key = Key::parse(text).expect(text);
            let msg = if self.screen.takes_text() {
                self.screen.input(Input::Text(key))
            } else {
                let mode = self.screen.mode();
                self.screen.keymap().lookup(mode, key).map(|binding| binding.msg.clone())
            };
            if let Some(msg) = msg {
                self.send(msg);
            }
        }
    }

    fn types(&mut self, text: &str) {
        for character in text.chars() {
            let msg = self.screen.input(Input::Text(Key::char(character))).expect("a text field");
            self.send(msg);
        }
    }

    fn text(&self) -> String {
        let (width, height) = self.screen.size;
        headless::draw(&self.screen, width, height, &self.look).text
    }

    fn desk(&self) -> &Desk {
        self.screen.desk.as_ref().expect("begun")
    }

    fn verdicts(&self) -> Vec<Option<Verdict>> {
        let desk = self.desk();
        desk.material.items.iter().map(|item| desk.verdict_of(item)).collect()
    }
}

/// A picture with a gradient, so that something is seen.
fn picture() -> Picture {
    let channel = |value: u32| u8::try_from(value).expect("below 256");
    Picture {
        pixels: RgbImage::from_fn(160, 120, |x, y| [channel(x), channel(2 * y), channel(90)]),
        orientation: Orientation::Upright,
    }
}

#[test]
fn frames() {
    for shot in Shot::all() {
        let begin = |hidden| Sitting::begin_with(hidden, material(), shot.size, shot.look.theme);
        let mut sitting = begin(false);
        sitting.keys("m");
        insta::assert_snapshot!(shot.name("open"), shot.of(&sitting.screen));
        sitting.keys("a e");
        sitting.types("twice the same");
        sitting.keys("enter a d b");
        insta::assert_snapshot!(shot.name("tally"), shot.of(&sitting.screen));
        sitting.keys("esc enter");
        insta::assert_snapshot!(shot.name("menu"), shot.of(&sitting.screen));
        sitting.keys("esc /");
        insta::assert_snapshot!(shot.name("filter"), shot.of(&sitting.screen));
        sitting.types("noted");
        sitting.keys("enter");
        insta::assert_snapshot!(shot.name("noted"), shot.of(&sitting.screen));
        sitting.keys("f j");
        insta::assert_snapshot!(shot.name("what_is_it"), shot.of(&sitting.screen));
        sitting.keys("enter");
        insta::assert_snapshot!(shot.name("flagged"), shot.of(&sitting.screen));
        sitting.keys("u");
        insta::assert_snapshot!(shot.name("undone"), shot.of(&sitting.screen));
        sitting.keys("/");
        sitting.types(" nowhere");
        sitting.keys("enter");
        insta::assert_snapshot!(shot.name("filtered_out"), shot.of(&sitting.screen));
        sitting.keys("\\ g");
        insta::assert_snapshot!(shot.name("jump"), shot.of(&sitting.screen));
        sitting.keys("esc home e");
        sitting.types("a note");
        insta::assert_snapshot!(shot.name("note"), shot.of(&sitting.screen));
        sitting.keys("esc v v v");
        insta::assert_snapshot!(shot.name("blink"), shot.of(&sitting.screen));
        insta::assert_snapshot!(shot.name("help"), shot.of_help(&sitting.screen, ""));
        insta::assert_snapshot!(shot.name("help_filtered"), shot.of_help(&sitting.screen, "zoom"));
        sitting.keys("v z w x");
        insta::assert_snapshot!(shot.name("side_by_side"), shot.of(&sitting.screen));
        let mut hidden = begin(true);
        insta::assert_snapshot!(shot.name("hidden"), shot.of(&hidden.screen));
        hidden.keys("enter");
        insta::assert_snapshot!(shot.name("hidden_menu"), shot.of(&hidden.screen));
    }
}

#[test]
fn frames_of_what_goes_wrong_or_has_not_come() {
    for shot in Shot::all() {
        let begin = || Sitting::begin_with(false, material(), shot.size, shot.look.theme);
        let mut unsaved = begin();
        unsaved.acks = false;
        unsaved.keys("a");
        insta::assert_snapshot!(shot.name("saving"), shot.of(&unsaved.screen));
        let ticket = unsaved.screen.saving.expect("in flight").0;
        let reason = "runs.db: the disk is full".to_owned();
        unsaved.send(Msg::Recorded(Reply::Failed { ticket, reason, fatal: false }));
        insta::assert_snapshot!(shot.name("not_saved"), shot.of(&unsaved.screen));
        unsaved.keys("q");
        insta::assert_snapshot!(shot.name("leaving_unsaved"), shot.of(&unsaved.screen));
        let mut growing = begin();
        let more = Material { report: None, ..material() };
        growing.send(Msg::Grown(Arc::new(more)));
        insta::assert_snapshot!(shot.name("growing"), shot.of(&growing.screen));
        let mut waiting = ReviewScreen::new(growing.screen.start.clone());
        insta::assert_snapshot!(shot.name("waiting"), shot.of(&waiting));
        let reason =
            "sessions/reports/a.json: not a parity report: expected value at line 1 column 1";
        waiting.update(Msg::Loaded(Box::new(Err(reason.to_owned()))), Duration::ZERO);
        insta::assert_snapshot!(shot.name("refused"), shot.of(&waiting));
        let still = Sitting::begin_with(false, still(), shot.size, shot.look.theme);
        insta::assert_snapshot!(shot.name("nothing_changed"), shot.of(&still.screen));
    }
}

/// The material of a report in which nothing changed.
fn still() -> Material {
    let still = [Fixture { ..fixtures().remove(3) }];
    let report = serde_json::from_value(report_json::report(&still, &["a"])).expect("a report");
    Material::from_report(&report, None, std::path::Path::new(".")).expect("reviewable")
}

#[test]
fn frames_before_there_is_anything_and_when_there_is_nothing() {
    let start = Start {
        reviewer: "ada".parse().expect("a name"),
        seed: 7,
        hidden_sides: false,
        at: None,
        place: None,
    };
    let mut screen = ReviewScreen::new(start);
    let text =
        |screen: &ReviewScreen| headless::draw(screen, 60, 14, &Look::plain(Theme::MONO)).text;
    assert!(text(&screen).contains("reading the report"));
    screen.update(Msg::Loaded(Box::new(Err("no such report".to_owned()))), Duration::ZERO);
    assert!(text(&screen).contains("no such report"));
    let sitting = Sitting::begin_with(false, still(), (60, 14), Theme::MONO);
    assert!(sitting.text().contains("No decision changed at 0.4."), "{}", sitting.text());
}

#[test]
fn keys_are_listed_do_not_clash_and_none_needs_digits() {
    for hidden in [false, true] {
        assert_eq!(keys::keymap(hidden).problems(), Vec::<String>::new());
    }
}

#[test]
fn no_key_in_any_mode_panics_and_each_mode_can_be_left() {
    for opening in ["", "enter", "f", "y", "e", "g", "/"] {
        let all: Vec<Key> =
            keys::keymap(false).all().iter().flat_map(|binding| binding.keys.clone()).collect();
        let mut sitting = Sitting::begin(false);
        sitting.keys(opening);
        for key in all {
            sitting.keys(&key.to_string());
            let _ = sitting.text();
        }
        let mut sitting = Sitting::begin(false);
        sitting.keys(opening);
        sitting.keys("esc esc");
        assert!(sitting.screen.is_finished(), "{opening}");
    }
}

#[test]
fn a_verdict_is_written_then_the_next_open_change_is_shown() {
    let mut sitting = Sitting::begin(false);
    sitting.acks = false;
    let before = sitting.desk().queue.item();
    sitting.keys("a");
    assert_eq!(sitting.desk().queue.item(), before, "not before it is saved");
    assert!(sitting.text().contains("saving"), "{}", sitting.text());
    sitting.keys("d");
    assert!(sitting.text().contains("still saving"));
    assert_eq!(sitting.verdicts()[2], Some(Verdict::Reference), "the second key meant nothing");
    let ticket = sitting.screen.saving.expect("in flight").0;
    sitting.send(Msg::Recorded(Reply::Saved { ticket }));
    assert_ne!(sitting.desk().queue.item(), before);
}

#[test]
fn walking_away_while_saving_stays_where_the_person_went() {
    let mut sitting = Sitting::begin(false);
    sitting.acks = false;
    sitting.keys("a G");
    let place = sitting.desk().queue.place();
    let ticket = sitting.screen.saving.expect("in flight").0;
    sitting.send(Msg::Recorded(Reply::Saved { ticket }));
    assert_eq!(sitting.desk().queue.place(), place);
}

#[test]
fn what_is_not_saved_is_said_and_can_be_written_again() {
    let mut sitting = Sitting::begin(false);
    sitting.acks = false;
    sitting.keys("a");
    let ticket = sitting.screen.saving.expect("in flight").0;
    let reason = "runs.db: the disk is full".to_owned();
    sitting.send(Msg::Recorded(Reply::Failed { ticket, reason, fatal: false }));
    assert!(
        sitting.text().contains("NOT SAVED (ctrl-s retries): runs.db: the disk is full"),
        "{}",
        sitting.text()
    );
    sitting.keys("q");
    assert!(!sitting.screen.is_finished());
    assert!(sitting.text().contains("1 not saved: ctrl-s retries"));
    sitting.acks = true;
    let written = sitting.written.len();
    sitting.keys("ctrl-s");
    assert!(sitting.written.len() > written);
    sitting.keys("q");
    assert!(sitting.screen.is_finished());
}

#[test]
fn a_read_only_log_shows_everything_and_takes_no_verdict() {
    let mut sitting = Sitting::begin(false);
    let reason = "read-only folder".to_owned();
    sitting.send(Msg::Recorded(Reply::Failed { ticket: 99, reason, fatal: true }));
    let written = sitting.written.len();
    sitting.keys("a u f enter");
    assert_eq!(sitting.written.len(), written);
    assert!(sitting.verdicts().iter().all(Option::is_none));
    assert!(sitting.text().contains("nothing can be saved"), "{}", sitting.text());
}

#[test]
fn undo_says_what_it_undid_and_goes_there() {
    let mut sitting = Sitting::begin(false);
    let first = sitting.desk().queue.item();
    sitting.keys("d G u");
    assert_eq!(sitting.desk().queue.item(), first);
    assert!(sitting.text().contains("undid: candidate right"), "{}", sitting.text());
    assert!(sitting.verdicts().iter().all(Option::is_none));
    sitting.keys("U");
    assert!(sitting.text().contains("did again: candidate right"));
    assert_eq!(sitting.verdicts()[2], Some(Verdict::Candidate));
    sitting.keys("u u");
    assert!(sitting.text().contains("nothing to undo"));
}

#[test]
fn every_look_is_an_event() {
    let mut sitting = Sitting::begin(false);
    sitting.keys("l w h l");
    let looks: Vec<_> = sitting
        .written
        .iter()
        .filter_map(|event| match event {
            ReviewEvent::Exposed { fixture, seen, .. } => Some((fixture.short(), *seen)),
            _ => None,
        })
        .collect();
    let image = |index: usize| sitting.desk().material.images[index].fixture.short();
    use crate::sighted::review::verdict::Seen::{Decisions, ModelInput};
    assert_eq!(
        looks,
        [
            (image(1), Decisions),
            (image(0), Decisions),
            (image(0), ModelInput),
            (image(1), ModelInput),
            (image(0), ModelInput),
        ]
    );
}

#[test]
fn the_first_open_change_is_where_the_reviewer_left() {
    let mut sitting = Sitting::begin(false);
    sitting.keys("a l");
    let log: Vec<LoggedEvent> = (1..)
        .zip(&sitting.written)
        .map(|(seq, event)| LoggedEvent {
            seq,
            actor: "ada".to_owned(),
            wall_utc: String::new(),
            event: event.clone(),
        })
        .collect();
    let place = sitting.desk().queue.place();
    let mut again = ReviewScreen::new(sitting.screen.start.clone());
    again.update(Msg::Recorded(Reply::Opened { events: log, read_only: None }), Duration::ZERO);
    again.update(Msg::Loaded(Box::new(Ok(material()))), Duration::ZERO);
    let desk = again.desk.as_ref().expect("begun");
    assert_eq!(desk.queue.place(), place);
    assert_eq!(desk.verdict_of(&desk.material.items[2]), Some(Verdict::Reference));
}

#[test]
fn one_change_is_copied_whole() {
    let mut sitting = Sitting::begin(false);
    sitting.keys("c");
    let [copied] = sitting.copied.as_slice() else { panic!("copied {}", sitting.copied.len()) };
    let copied: serde_json::Value = serde_json::from_str(copied).expect("JSON");
    let desk = sitting.desk();
    let item = desk.item().expect("a change");
    assert_eq!(copied["item"]["fixture"], item.key.fixture.to_hex());
    assert_eq!(copied["item"]["change"], item.key.change);
    assert_eq!(copied["artifacts"]["a"]["sha256"], desk.material.sides.a.sha256);
    assert_eq!(copied["threshold"], desk.material.threshold);
    sitting.send(Msg::Copied(true, Ok(())));
    assert!(sitting.text().contains("also in sessions/copied-change.json"), "{}", sitting.text());
    sitting.send(Msg::Copied(true, Err("disk full".to_owned())));
    assert!(sitting.text().contains("not copied: disk full"), "{}", sitting.text());
}

#[test]
fn a_copy_does_not_say_which_side_is_which() {
    let mut sitting = Sitting::begin(true);
    sitting.keys("c");
    assert_eq!(sitting.copied, Vec::<String>::new());
    assert!(sitting.text().contains("not copied"), "{}", sitting.text());
}

#[test]
fn hidden_sides_are_named_nowhere() {
    let mut sitting = Sitting::begin_with(true, material(), (120, 40), Theme::MONO);
    for keys in ["", "l", "l", "l", "v", "v", "v", "v", "enter", "esc", "a", "u"] {
        sitting.keys(keys);
        let text = sitting.text();
        for word in ["reference", "candidate", "vanished", "appeared", "C\u{2550}"] {
            assert!(!text.contains(word), "{word} after {keys}:\n{text}");
        }
    }
    assert!(sitting.text().contains("left"));
    sitting.keys("y");
    assert!(sitting.text().contains("the tally waits"), "{}", sitting.text());
    assert!(!sitting.text().contains("reference right"));
    for _ in 0..material().items.len() {
        sitting.keys("a");
    }
    assert!(sitting.text().contains("reference right"), "all is decided: the tally says it");
}

#[test]
fn filter_jump_note_and_flag() {
    let mut sitting = Sitting::begin(false);
    sitting.keys("/");
    sitting.types("bottle lost");
    sitting.keys("enter");
    assert_eq!(sitting.desk().queue.len(), 1);
    assert!(sitting.text().contains("filter: bottle lost"));
    sitting.keys("\\ g");
    sitting.types("two");
    sitting.keys("enter");
    assert_eq!(sitting.desk().queue.image(), Some(4));
    sitting.keys("g");
    sitting.types("nowhere");
    sitting.keys("enter");
    assert!(sitting.text().contains("nothing in the queue is called that"));
    sitting.keys("e");
    let paste = sitting.screen.input(Input::Paste("two\nobjects".to_owned())).expect("a field");
    sitting.send(paste);
    sitting.keys("enter f j enter");
    let item = sitting.desk().item().expect("an item");
    assert_eq!(sitting.desk().note_of(item), "two objects");
    assert_eq!(sitting.desk().ledger.flag(item.key.fixture), NotPhotograph::ALL.first().copied());
    assert!(sitting.text().contains("not a photograph"), "{}", sitting.text());
}

#[test]
fn who_says_what_a_picture_is_gives_no_verdict_by_the_way() {
    let mut sitting = Sitting::begin(false);
    sitting.keys("f a d b n t");
    assert!(sitting.verdicts().iter().all(Option::is_none));
    assert!(sitting.text().contains("what is the picture?"), "{}", sitting.text());
    sitting.keys("j enter enter d");
    assert_eq!(sitting.verdicts().iter().flatten().count(), 1, "in the menu of verdicts they do");
}

#[test]
fn pasted_text_never_acts() {
    let sitting = Sitting::begin(false);
    assert!(sitting.screen.input(Input::Paste("aaadq\n".to_owned())).is_none());
}

#[test]
fn views_boxes_and_linked_zoom() {
    let mut sitting = Sitting::begin_with(false, material(), (160, 40), Theme::MONO);
    sitting.keys("l");
    assert!(sitting.text().contains("┏R") && !sitting.text().contains("╔C"), "only the reference");
    sitting.keys("l");
    let both = sitting.text();
    assert!(both.contains("RC") && both.contains('━') && both.contains('═'), "{both}");
    sitting.keys("v v v v");
    assert_eq!(sitting.screen.shows, Shows::SideBySide);
    sitting.keys("z + L");
    let [first, second] = &sitting.screen.pictures;
    assert_eq!(first.viewport(), second.viewport());
    assert!(first.viewport().zoom > 1.0 && second.shown().is_some());
    sitting.keys("v w");
    assert!(sitting.text().contains("what the model saw"));
    let last = sitting.asked.last().expect("asked");
    assert_eq!(last.id.rendition, 1);
    sitting.keys("z Z");
    assert!((sitting.screen.pictures[0].viewport().zoom - 1.0).abs() < 1e-9);
}

#[test]
fn side_by_side_gives_way_when_the_window_shrinks() {
    let mut sitting = Sitting::begin_with(false, material(), (160, 40), Theme::MONO);
    sitting.keys("v v v v");
    sitting.send(Msg::Input(Input::Resize { width: 50, height: 20 }));
    assert_eq!(sitting.screen.shows, Shows::Both);
    assert!(sitting.screen.pictures[1].id().is_none());
}

#[test]
fn the_mouse_picks_a_change_zooms_and_drags() {
    let mut sitting = Sitting::begin(false);
    sitting.keys("m");
    let panel = layout::layout((80, 24), 1, Shows::Both).panel;
    let event = |kind, column, row| Msg::Input(Input::Mouse(Mouse { kind, column, row }));
    use crate::tui::screen::MouseKind::{Drag, Press, ScrollUp};
    sitting.send(event(Press, panel.x + 3, panel.y + 1));
    assert_eq!(sitting.desk().queue.item_place(), 1);
    sitting.send(event(ScrollUp, 5, 8));
    sitting.send(event(ScrollUp, 5, 8));
    let before = sitting.screen.pictures[0].viewport();
    assert!(before.zoom > 2.0);
    sitting.send(event(Press, 20, 10));
    sitting.send(event(Drag, 10, 10));
    assert!(sitting.screen.pictures[0].viewport().centre.0 > before.centre.0);
}

#[test]
fn any_size_any_mode_is_drawn() {
    for (width, height) in [(40, 12), (41, 13), (75, 12), (76, 12), (77, 60), (200, 12), (300, 100)]
    {
        for opening in ["", "enter", "f", "y", "e", "v v v v"] {
            let mut sitting =
                Sitting::begin_with(false, material(), (width, height), Theme::COLOUR);
            sitting.keys(opening);
            let _ = sitting.text();
        }
    }
}

#[test]
fn nothing_hostile_is_in_any_cell() {
    let mut sitting = Sitting::begin_with(false, material(), (120, 40), Theme::COLOUR);
    for _ in 0..4 {
        let dump = headless::draw(&sitting.screen, 120, 40, &sitting.look);
        for cell in &dump.buffer.content {
            assert!(
                !cell.symbol().chars().any(|c| c.is_control() || c == '\u{202e}'),
                "{:?}",
                cell.symbol()
            );
        }
        sitting.keys("l");
    }
}

#[test]
fn kitty_pictures_carry_their_boxes_and_blocks_do_not_need_to() {
    let mut sitting = Sitting::begin(false);
    assert!(sitting.asked.last().expect("asked").boxes.is_empty());
    let canvas = Canvas { method: crate::tui::picture::Method::Kitty, ..Canvas::PLAIN };
    sitting.send(Msg::Input(Input::Graphics(canvas)));
    assert!(!sitting.asked.last().expect("asked").boxes.is_empty());
}

#[test]
fn a_growing_run_keeps_the_place() {
    let mut sitting = Sitting::begin(false);
    sitting.keys("l");
    let item = sitting.desk().item().expect("an item").key.clone();
    let mut more = fixtures();
    more.push(Fixture {
        a: vec![(1, 0, 0.99, [0.0, 0.0, 1.0, 1.0])],
        items: vec![("vanished", Some(0), None)],
        ..crate::sighted::review::testing::fixture("images/late.jpg")
    });
    let report = crate::sighted::review::testing::parity_report(&more);
    let mut grown = Material::from_report(&report, None, std::path::Path::new("/w/fixtures"))
        .expect("reviewable");
    grown.comparison = sitting.desk().material.comparison;
    sitting.send(Msg::Grown(Arc::new(grown)));
    assert_eq!(sitting.desk().item().expect("an item").key, item);
    assert_eq!(sitting.desk().queue.len(), 5);
    assert!(sitting.text().contains("run going on"));
}

#[test]
fn who_comes_back_is_where_they_were_and_sees_what_they_saw() {
    let mut left = Sitting::begin_with(false, material(), (160, 40), Theme::MONO);
    left.keys("m s s l / ");
    left.types("images/");
    left.keys("enter l j v v v v x z");
    let place = left.screen.place().expect("begun");
    let back = |place: Place, at: Option<&str>| left.begin_again(place, at);
    let again = back(place.clone(), None);
    assert_eq!(again.screen.place(), Some(place.clone()));
    let (header, before) = (again.text(), left.text());
    assert_eq!(header.lines().next(), before.lines().next());
    assert!(header.contains("filter: images/") && header.contains("side by side"), "{header}");
    // What the filter keeps out is shown to who asks for it.
    let mut filtered = place.clone();
    filtered.filter = Filter::parse("relabelled");
    let again = back(filtered.clone(), Some("two"));
    assert!(again.text().contains("images/two.jpg"), "{}", again.text());
    assert!(!again.text().contains("filter:"), "{}", again.text());
    let again = back(filtered, Some("evil"));
    assert!(again.text().contains("filter: relabelled"), "{}", again.text());
    // Another comparison is another place.
    let mut elsewhere = place;
    elsewhere.comparison = crate::domain::digest::ContentHash::of(b"another");
    let again = back(elsewhere, None);
    assert!(!again.text().contains("filter:") && !again.text().contains("side by side"));
}
