//! The label screen as people see it, and what its keys do.

use std::time::Duration;

use crate::domain::digest::LabelFileHash;
use crate::domain::label::{CategoryState, Certainty, NotPhotograph, Presence};
use crate::domain::shard::Showing;
use crate::store::clock::Clock;
use crate::store::event_chain::{EMPTY_HEAD, Receipt};
use crate::store::label_schema::{LabelEvent, Opening};
use crate::tui::headless::{self, Shot};

use crate::tui::picture::Canvas;
use crate::tui::screen::{Input, Look, Mouse, MouseKind, Screen as _};
use crate::tui::theme::Theme;

use super::history::History;
use super::history::tests::{answer, opening, showing};
use super::journal::News;
use super::screen::{Effect, LabelScreen, Msg};
use super::screen_keys::MARKING;
use super::sitting::{Closed, Sitting};

const GROUPS: [&str; 10] = [
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

fn demo_opening() -> Opening {
    Opening { groups: GROUPS.map(str::to_owned).to_vec(), ..opening(4) }
}

fn sitting_of(opening: Opening) -> Sitting {
    Sitting::new(History::new(1, opening, String::new()), None, None)
}

fn leaves() -> Vec<Vec<String>> {
    let mut leaves = vec![vec!["food.thing".to_owned()]; GROUPS.len()];
    leaves[3] = ["food.crisp_packet", "food.wrapper", "other.bags_litter", "other.plastic_bag"]
        .map(str::to_owned)
        .to_vec();
    leaves
}

/// A screen whose journal and picture worker answer at once.
struct Desk<'a> {
    screen: LabelScreen<'a>,
    events: Vec<LabelEvent>,
    journal_answers: bool,
    pictures_answer: bool,
    seq: u64,
}

impl<'a> Desk<'a> {
    fn new(sitting: &'a mut Sitting) -> Self {
        Self::at(sitting, 80, 24)
    }

    fn at(sitting: &'a mut Sitting, width: u16, height: u16) -> Self {
        let clock = Clock::Fixed("2026-02-03T04:05:06Z".parse().expect("a time"));
        let screen = LabelScreen::new(sitting, "ada".to_owned(), leaves(), clock);
        let mut desk = Self {
            screen,
            events: Vec::new(),
            journal_answers: true,
            pictures_answer: true,
            seq: 1,
        };
        desk.input(Input::Resize { width, height });
        desk.input(Input::Graphics(Canvas::MONO));
        desk
    }

    fn input(&mut self, input: Input) {
        let msg = self.screen.input(input).expect("a message");
        self.tell(msg);
    }

    fn tell(&mut self, msg: Msg) {
        for effect in self.screen.update(msg, Duration::from_secs(1)) {
            match effect {
                Effect::Picture(request) if self.pictures_answer => {
                    self.tell(Msg::Picture(headless::made_up(&request)));
                }
                Effect::Append(order) => {
                    self.events.push(order.event.clone());
                    if self.journal_answers {
                        self.seq += 1;
                        let receipt = Receipt { seq: self.seq, head: EMPTY_HEAD };
                        let (ticket, wall_utc) = (order.ticket, String::new());
                        self.tell(Msg::News(News::Saved { ticket, receipt, wall_utc }));
                    }
                }
                Effect::Picture(_) => {}
            }
        }
    }

    fn press(&mut self, keys: &str) {
        for name in keys.split_whitespace() {
            self.tell(headless::msg_of(&self.screen, name));
        }
    }

    fn shot(&mut self, shot: Shot) -> String {
        shot.inputs().into_iter().for_each(|input| self.input(input));
        shot.of(&self.screen)
    }

    fn mouse(&mut self, kind: MouseKind, column: u16, row: u16) {
        self.input(Input::Mouse(Mouse { kind, column, row }));
    }

    fn text(&self) -> String {
        headless::draw(&self.screen, 80, 24, &Look::plain(Theme::MONO)).text
    }

    fn labels(&self) -> Vec<String> {
        self.events
            .iter()
            .filter_map(|event| match event {
                LabelEvent::Answer { answer, .. } => {
                    let label = &answer.label;
                    let named: Vec<String> = label
                        .categories
                        .iter()
                        .map(|(name, state)| format!("{name}={state}"))
                        .collect();
                    Some(format!("{} {} {}", label.presence, label.certainty, named.join(",")))
                }
                _ => None,
            })
            .collect()
    }
}

/// Frames at every size, with and without colour.
macro_rules! frames {
    ($name:literal, $desk:expr) => {
        for shot in Shot::all() {
            insta::assert_snapshot!(shot.name($name), $desk.shot(shot));
        }
    };
}

#[test]
fn frame_of_a_fresh_picture() {
    let mut sitting = sitting_of(demo_opening());
    let mut desk = Desk::new(&mut sitting);
    frames!("fresh", desk);
}

#[test]
fn frame_with_marks() {
    let mut sitting = sitting_of(demo_opening());
    let mut desk = Desk::new(&mut sitting);
    desk.press("b G d m p g t h i enter down down down down");
    frames!("marked", desk);
}

#[test]
fn frame_with_a_refusal() {
    let mut sitting = sitting_of(demo_opening());
    let mut desk = Desk::new(&mut sitting);
    desk.press("n d");
    frames!("refused", desk);
}

#[test]
fn frame_of_an_unsaved_answer() {
    let mut sitting = sitting_of(demo_opening());
    let mut desk = Desk::new(&mut sitting);
    desk.journal_answers = false;
    desk.press("n h enter");
    let reason = "the disk failed: Input/output error (os error 5)".to_owned();
    desk.tell(Msg::News(News::Failed { ticket: 1, reason, fatal: false }));
    frames!("unsaved", desk);
}

#[test]
fn frames_of_choosing_and_writing() {
    let mut sitting = sitting_of(demo_opening());
    let mut desk = Desk::new(&mut sitting);
    desk.press("p");
    frames!("choosing", desk);
    desk.press("esc s");
    desk.input(Input::Paste("cannot be\ndecoded \u{1b}[2J".to_owned()));
    frames!("skipping", desk);
}

#[test]
fn frames_under_help_while_waiting_and_at_the_end() {
    let mut sitting = sitting_of(demo_opening());
    let mut desk = Desk::new(&mut sitting);
    for shot in Shot::all() {
        desk.shot(shot);
        insta::assert_snapshot!(shot.name("help"), shot.of_help(&desk.screen, ""));
    }
    desk.journal_answers = false;
    desk.press("n h enter");
    desk.tell(Msg::News(News::Waiting { ticket: 1, since: Duration::ZERO }));
    frames!("waiting", desk);
    let mut history = History::new(1, opening(1), String::new());
    history.apply(&answer(0, "seen"), 2, "").expect("follows");
    let mut sitting = Sitting::new(history.clone(), None, None);
    let mut desk = Desk::new(&mut sitting);
    frames!("all_done", desk);
    let seal = LabelEvent::Seal { opening: 1, file: LabelFileHash::of(b"f") };
    history.apply(&seal, 3, "").expect("follows");
    let mut sitting = Sitting::new(history.clone(), None, None);
    let mut desk = Desk::new(&mut sitting);
    frames!("sealed", desk);
    let mut sitting = Sitting::new(history, None, Some("looked again".to_owned()));
    let mut desk = Desk::new(&mut sitting);
    frames!("amending", desk);
}

#[test]
fn frame_to_look_at_only_and_of_many_long_names() {
    let closed = Some(Closed::ReadOnly("process 12 on desk labels as ada".to_owned()));
    let history = History::new(1, demo_opening(), String::new());
    let mut sitting = Sitting::new(history, closed, None);
    let mut desk = Desk::new(&mut sitting);
    desk.press("y");
    frames!("read_only", desk);
    let groups = (0..18).map(|number| format!("a_category_with_a_very_long_name_{number}"));
    let mut sitting = sitting_of(Opening { groups: groups.collect(), ..opening(2) });
    let mut desk = Desk::new(&mut sitting);
    desk.press("y C v up up up up down down down down");
    frames!("many", desk);
}

#[test]
fn a_plain_picture_takes_at_most_four_keys() {
    let mut sitting = sitting_of(demo_opening());
    let mut desk = Desk::new(&mut sitting);
    desk.press("n h enter");
    desk.press("y c m enter");
    desk.press("C y l enter");
    assert_eq!(
        desk.labels(),
        ["clean high ", "litter medium cans=present", "litter low cans=unsure"]
    );
    assert!(desk.text().contains("done 3  left 1"), "{}", desk.text());
}

#[test]
fn cursor_and_space_reach_everything() {
    let mut sitting = sitting_of(demo_opening());
    let mut desk = Desk::new(&mut sitting);
    desk.press("space down space down space space");
    desk.press("down down down down down down down down down space space down space g enter");
    let LabelEvent::Answer { answer, .. } = &desk.events[0] else { panic!("an answer") };
    let label = &answer.label;
    assert_eq!((label.presence, label.certainty), (Presence::Litter, Certainty::Medium));
    assert_eq!(label.state("bottles"), CategoryState::Present);
    assert_eq!(label.state("caps_lids"), CategoryState::Unsure);
    assert_eq!(label.not_photograph, Some(NotPhotograph::Game));
}

#[test]
fn the_mouse_answers_zooms_and_pans() {
    let mut sitting = sitting_of(demo_opening());
    let mut desk = Desk::new(&mut sitting);
    let layout = desk.screen.layout(ratatui::layout::Rect::new(0, 0, 80, 24));
    let place = |index: usize| {
        let (_, rect) = layout.fields[index];
        (rect.x, rect.y)
    };
    let (x, y) = place(0);
    desk.mouse(MouseKind::Press, x + 30, y);
    assert_eq!(desk.screen.sitting().draft().presence, Some(Presence::Clean));
    desk.mouse(MouseKind::Press, x + 1, y);
    let (x, y) = place(3);
    desk.mouse(MouseKind::Press, x + 3, y);
    assert_eq!(desk.screen.sitting().draft().categories[2], CategoryState::Present);
    let (x, y) = place(11);
    desk.mouse(MouseKind::Press, x + 31, y);
    assert_eq!(desk.screen.sitting().draft().certainty, Some(Certainty::Low));
    desk.mouse(MouseKind::ScrollUp, 10, 10);
    desk.mouse(MouseKind::ScrollUp, 10, 10);
    let before = desk.screen.picture().viewport();
    assert!(before.zoom > 2.0);
    desk.mouse(MouseKind::Press, 20, 10);
    desk.mouse(MouseKind::Drag, 10, 10);
    assert!(desk.screen.picture().viewport().centre.0 > before.centre.0);
    desk.press("enter");
    let LabelEvent::Answer { answer, .. } = &desk.events[0] else { panic!("an answer") };
    let seen = answer.seen_as.as_ref().expect("seen");
    assert_eq!(seen.protocol, "blocks");
    assert!(seen.zoom > 2.0);
}

#[test]
fn zoom_reaches_single_pixels_and_is_forgotten_with_the_picture() {
    let mut sitting = sitting_of(demo_opening());
    let mut desk = Desk::new(&mut sitting);
    desk.press(&"+ ".repeat(12));
    let shown = desk.screen.picture().shown().expect("a frame");
    assert!(shown.crop.width() * 64.0 < 40.0, "fewer pixels than columns: {:?}", shown.crop);
    desk.press("alt-right 6 ctrl-down right");
    assert!((desk.screen.picture().viewport().zoom - 1.0).abs() < 1e-9);
}

#[test]
fn nothing_is_answered_before_its_picture_is_there() {
    let mut sitting = sitting_of(demo_opening());
    let mut desk = Desk::new(&mut sitting);
    desk.pictures_answer = false;
    desk.press("n h enter");
    assert_eq!(desk.labels().len(), 1, "the first picture was there");
    desk.press("n h enter enter enter");
    assert_eq!(desk.labels().len(), 1, "keys typed ahead do not answer the next");
    assert_eq!(desk.screen.sitting().draft().presence, None);
    desk.pictures_answer = true;
    desk.press("+");
    desk.press("n h enter");
    assert_eq!(desk.labels().len(), 2);
}

#[test]
fn keys_while_saving_do_nothing() {
    let mut sitting = sitting_of(demo_opening());
    let mut desk = Desk::new(&mut sitting);
    desk.journal_answers = false;
    desk.press("n h enter y enter u");
    assert_eq!(desk.events.len(), 1);
    assert!(desk.screen.tick_every().is_some());
    assert!(desk.text().contains("saving"), "{}", desk.text());
}

#[test]
fn undo_redo_back_forward_and_the_first_unanswered() {
    let mut sitting = sitting_of(demo_opening());
    let mut desk = Desk::new(&mut sitting);
    desk.press("n h enter s d a r k enter left left");
    assert_eq!(desk.screen.sitting().showing(), Some(showing(0)));
    desk.press(".");
    assert_eq!(desk.screen.sitting().showing(), Some(showing(2)));
    desk.press("u u");
    assert_eq!(desk.screen.sitting().showing(), Some(showing(0)));
    assert!(desk.text().contains("done 0  left 4"), "{}", desk.text());
    desk.press("r r");
    assert!(desk.text().contains("done 2  left 2"), "{}", desk.text());
    assert!(desk.text().contains("skipped: dark"), "{}", desk.text());
}

#[test]
fn leaving_with_marks_is_asked_once() {
    let mut sitting = sitting_of(demo_opening());
    let mut desk = Desk::new(&mut sitting);
    desk.press("y q");
    assert!(!desk.screen.is_finished());
    assert!(desk.text().contains("leave again"), "{}", desk.text());
    desk.press("q");
    assert!(desk.screen.is_finished());
}

#[test]
fn a_repeat_looks_like_its_first_showing_but_for_the_count() {
    let first = showing(0);
    let repeat = Showing { pass: 2, ..first };
    let order = vec![first, showing(1), repeat];
    let mut sitting = sitting_of(Opening { order, ..demo_opening() });
    let mut desk = Desk::new(&mut sitting);
    let before = desk.text();
    desk.press("n h enter n h enter");
    assert_eq!(desk.screen.sitting().showing(), Some(repeat));
    // The word "saved" is gone with the next key; so is nothing else.
    desk.press("down up");
    desk.press("tab tab + home");
    let normal = |text: &str| {
        text.replace("done 2  left 1", "done 0  left 3")
            .lines()
            .filter(|line| !line.trim_start().starts_with("saved"))
            .map(|line| line.trim_end().to_owned())
            .collect::<Vec<_>>()
            .join("\n")
    };
    let after = desk.text();
    let blank =
        |text: String| text.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    assert_eq!(blank(normal(&after)), blank(normal(&before)));
}

#[test]
fn every_key_of_the_map_works() {
    let names: Vec<String> = {
        let mut sitting = sitting_of(demo_opening());
        let desk = Desk::new(&mut sitting);
        desk.screen.keymap().in_mode(MARKING).map(|binding| binding.keys[0].to_string()).collect()
    };
    for name in names {
        let mut sitting = sitting_of(demo_opening());
        let mut desk = Desk::new(&mut sitting);
        desk.press("y c h enter y c h");
        let state = |desk: &Desk<'_>| {
            format!(
                "{} {:?} {:?} {:?}",
                headless::draw(&desk.screen, 80, 24, &Look::plain(Theme::MONO)).with_styles(),
                desk.screen.picture().viewport(),
                desk.events,
                desk.screen.takes_text()
            )
        };
        if name.starts_with("alt-") || name == "-" || name == "home" {
            desk.press("+ +");
        }
        if name == "r" {
            desk.press("u");
        }
        if name == "down" || name == "up" {
            desk.press("down");
        }
        let before = state(&desk);
        desk.press(&name);
        let unchanged = ["y", "h", "."];
        assert!(state(&desk) != before || unchanged.contains(&name.as_str()), "{name} did nothing");
    }
}
