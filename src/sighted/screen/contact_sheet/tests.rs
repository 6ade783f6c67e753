//! The contact sheet as people see it, and what its keys do.

use super::*;
use crate::sighted::fixtures::sheet::testing::sheet;
use crate::sighted::fixtures::waiting::Waiting;
use crate::tui::headless::{self, Shot};
use crate::tui::theme::Theme;

/// A screen whose picture worker answers at once.
struct Desk {
    screen: ContactSheet,
    kept: Vec<Flags>,
    written: Vec<Vec<LeftOut>>,
    disk: Result<(), String>,
    asked: usize,
}

impl Desk {
    fn new(count: u8, waiting: Waiting) -> Self {
        let screen = ContactSheet::new(sheet(count, waiting), "manifest.txt");
        let mut desk =
            Self { screen, kept: Vec::new(), written: Vec::new(), disk: Ok(()), asked: 0 };
        desk.input(Input::Resize { width: 80, height: 24 });
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
                Effect::Pictures(requests) => {
                    self.asked = requests.len();
                    for request in requests {
                        self.tell(Msg::Picture(headless::made_up(&request)));
                    }
                }
                Effect::Keep(flags) => {
                    self.kept.push(flags);
                    self.tell(Msg::Kept(self.disk.clone()));
                }
                Effect::Write(left_out) => {
                    self.written.push(left_out);
                    let line = "manifest = \"manifest.2.txt\"".to_owned();
                    let told = self.disk.clone().map(|()| ("manifest.2.txt".to_owned(), line));
                    self.tell(Msg::Written(told));
                }
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

    fn text(&self) -> String {
        headless::draw(&self.screen, 80, 24, &Look::plain(Theme::MONO)).text
    }

    fn out(&self) -> Vec<(String, String)> {
        let out = self.screen.sheet.left_out();
        out.iter().map(|it| (it.paths[0].clone(), it.flag.kind.to_string())).collect()
    }
}

#[test]
fn frames_of_a_sheet_at_work() {
    let mut desk = Desk::new(20, Waiting::default());
    desk.press("right g right right f s enter end space left space v");
    desk.press("home right right right");
    for shot in Shot::all() {
        insta::assert_snapshot!(shot.name("sheet"), desk.shot(shot));
    }
}

#[test]
fn frames_that_ask() {
    for shot in Shot::all() {
        let waiting = Waiting::everything("bob has opened shard 1/4 and not sealed it".to_owned());
        let mut desk = Desk::new(20, waiting);
        insta::assert_snapshot!(shot.name("hidden"), desk.shot(shot));
        desk.press("space space f");
        insta::assert_snapshot!(shot.name("kinds"), desk.shot(shot));
        desk.press("g enter q");
        insta::assert_snapshot!(shot.name("leaving"), desk.shot(shot));
    }
}

#[test]
fn pictures_are_asked_for_a_page_at_a_time_and_never_drawn_for_elsewhere() {
    let mut desk = Desk::new(200, Waiting::default());
    assert_eq!(desk.asked, 8, "two rows of four");
    desk.asked = 0;
    desk.press("right right space");
    assert_eq!(desk.asked, 0, "nothing new to see");
    desk.press("page-down page-down");
    assert_eq!(desk.screen.pictures.len(), 8, "what is gone from the screen is forgotten");
    desk.press("- enter");
    assert_eq!(desk.screen.pictures.len(), 1);
    assert!(desk.screen.pictures.keys().all(|id| id.rendition == WHOLE));
}

#[test]
fn many_are_flagged_with_few_keys_and_one_undo() {
    let mut desk = Desk::new(20, Waiting::default());
    // A range: first, third, everything between; then the near copies of another.
    desk.press("space right v g f i enter");
    let out = desk.out();
    assert_eq!(out.len(), 3, "{out:?}");
    assert!(out.iter().all(|(_, kind)| kind == "illustration"));
    assert!(desk.text().contains("3 left out as illustration"), "{}", desk.text());
    assert_eq!(desk.kept.len(), 1);
    desk.press("u");
    assert_eq!(desk.out(), []);
    desk.press("r f p");
    assert_eq!(desk.out().len(), 2, "the one under the cursor stays in after all");
    assert_eq!(desk.kept.len(), 4, "each is kept");
}

#[test]
fn a_reason_is_asked_for_and_a_bad_one_stays_in_its_field() {
    let mut desk = Desk::new(8, Waiting::default());
    desk.press("f t");
    assert!(desk.text().contains("text, because: mostly writing"), "{}", desk.text());
    desk.input(Input::Paste("\u{202e}".to_owned()));
    desk.press("enter");
    assert!(desk.text().contains("visible characters"), "{}", desk.text());
    desk.press("ctrl-u a space m a p enter");
    assert_eq!(desk.screen.sheet.left_out()[0].flag.reason, "a map");
    desk.press("f t esc");
    assert_eq!(desk.out().len(), 1, "nothing else");
}

#[test]
fn leaving_asks_once_and_writing_ends_it() {
    let mut desk = Desk::new(8, Waiting::default());
    desk.press("f s enter q esc");
    assert!(!desk.screen.is_finished());
    desk.press("q w");
    assert!(desk.screen.is_finished());
    assert_eq!(desk.written[0].len(), 1);
    assert_eq!(desk.screen.written()[0].1, "manifest = \"manifest.2.txt\"");
    // Nothing flagged, or all written: no question.
    let mut desk = Desk::new(8, Waiting::default());
    desk.press("q");
    assert!(desk.screen.is_finished());
    let mut desk = Desk::new(8, Waiting::default());
    desk.press("f s enter w");
    assert!(desk.text().contains("to use it, in flipside.toml: manifest ="), "{}", desk.text());
    desk.press("w");
    assert_eq!(desk.written.len(), 1, "the same again is not written");
    desk.press("q");
    assert!(desk.screen.is_finished());
    let mut desk = Desk::new(8, Waiting::default());
    desk.press("f s enter q k");
    assert!(desk.screen.is_finished() && desk.written.is_empty());
}

#[test]
fn a_disk_that_fails_is_said_and_keeps_the_screen() {
    let mut desk = Desk::new(8, Waiting::default());
    desk.disk = Err("cannot write x: no space".to_owned());
    desk.press("f s enter");
    assert!(desk.text().contains("NOT KEPT: cannot write x"), "{}", desk.text());
    assert!(desk.screen.is_unkept());
    desk.press("right");
    assert!(desk.text().contains("NOT KEPT"), "it stays");
    desk.press("q w");
    assert!(!desk.screen.is_finished());
    assert!(desk.text().contains("NOT WRITTEN: cannot write x"), "{}", desk.text());
    desk.disk = Ok(());
    desk.press("q w");
    assert!(desk.screen.is_finished());
}

#[test]
fn orders_and_choices_keep_the_cursor_on_its_picture() {
    let mut desk = Desk::new(20, Waiting::default());
    desk.press("end");
    let here = desk.screen.here();
    for key in ["o", "o", "o", "o"] {
        desk.press(key);
        assert_eq!(desk.screen.here(), here, "{}", ORDERS[desk.screen.order].1);
    }
    desk.press("o o");
    assert_eq!(desk.screen.shown[0], 3, "most signs first");
    desk.press("o");
    assert_eq!(desk.screen.shown[0], 5, "without pixels first");
    desk.press("o tab");
    assert_eq!(desk.screen.shown, [3, 7, 11, 15, 19]);
    desk.press("tab");
    assert_eq!(desk.screen.shown, [1, 2]);
    desk.press("tab");
    assert!(desk.text().contains("nothing is left out. tab shows"), "{}", desk.text());
    desk.press("f");
    assert!(!desk.text().contains("what is it"), "there is nothing to flag");
    desk.press("tab tab / 0 7 enter");
    assert_eq!(desk.screen.shown, [7]);
}

#[test]
fn nothing_hidden_is_drawn_sorted_or_chosen_by() {
    let waiting = || Waiting::everything("bob has opened shard 1/4".to_owned());
    let mut desk = Desk::new(20, waiting());
    desk.press("right right right");
    let text = desk.text();
    assert!(text.contains("suggestions hidden: bob has opened shard 1/4"), "{text}");
    assert!(!text.contains(" ?  "), "{text}");
    desk.press("o o");
    assert_eq!(desk.screen.shown, (0..20).collect::<Vec<_>>());
    desk.press("tab");
    assert_eq!(desk.screen.shown, [] as [usize; 0]);
    assert!(desk.text().contains("of 20 it is hidden until they are labelled"), "{}", desk.text());
}

#[test]
fn a_click_chooses_and_a_second_one_marks() {
    let mut desk = Desk::new(20, Waiting::default());
    let layout = desk.screen.layout();
    let (at, cell) = layout.cells(0)[5];
    let press =
        Input::Mouse(Mouse { kind: MouseKind::Press, column: cell.picture.x, row: cell.picture.y });
    desk.input(press.clone());
    assert_eq!((desk.screen.cursor, desk.screen.marked.len()), (at, 0));
    desk.input(press);
    assert_eq!((desk.screen.cursor, desk.screen.marked.len()), (at, 1));
}
