//! What the threshold screen does with keys, mouse and sizes, and what it looks like.

use crossbeam_channel::unbounded;

use super::*;
use crate::sighted::score::testing::Set;
use crate::tui::event_loop::{self, Ended, NoHost, Scripted};
use crate::tui::headless::{self, Shot};
use crate::tui::theme::Theme;

/// Forty pictures with litter and twenty clean ones; the candidate is a little less sure of most.
fn evidence() -> Evidence {
    let names: Vec<String> = (0..60).map(|index| format!("images/{index:02}-beach")).collect();
    let pictures: Vec<(&str, f64, f64)> = names
        .iter()
        .enumerate()
        .map(|(index, name)| {
            let spread = f64::from(u32::try_from(index * 37 % 60).expect("small")) / 60.0;
            let a = if index < 40 { 0.15 + 0.8 * spread } else { 0.02 + 0.45 * spread };
            let b = if index % 7 == 0 { a + 0.03 } else { a - 0.02 };
            (name.as_str(), a, b)
        })
        .collect();
    let mut set = Set::new(&pictures);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    set.labelled("ada", &names[..40], &names[40..58]);
    set.file("ben", vec![], &names[58..]);
    set.join()
}

fn screen() -> ThresholdScreen {
    ThresholdScreen::new(evidence(), 0.4)
}

fn press(screen: &mut ThresholdScreen, keys: &str) {
    for key in keys.split(' ') {
        let key = Key::parse(key).expect(key);
        let msg = if screen.takes_text() {
            screen.input(Input::Text(key))
        } else {
            screen.keymap().lookup(screen.mode(), key).map(|binding| binding.msg.clone())
        };
        screen.update(msg.unwrap_or_else(|| panic!("{key} does nothing")), Duration::ZERO);
    }
}

#[test]
fn keys_are_sound() {
    assert_eq!(screen().keymap().problems(), Vec::<String>::new());
}

#[test]
fn a_step_is_a_hundredth_and_recounts_everything() {
    let mut screen = screen();
    press(&mut screen, "right");
    assert!(screen.at.total_cmp(&0.41).is_eq(), "{}", screen.at);
    press(&mut screen, "left left L");
    assert!(screen.at.total_cmp(&0.44).is_eq(), "{}", screen.at);
    assert!(screen.from.total_cmp(&0.39).is_eq());
    let fresh = ThresholdScreen::new(evidence(), 0.44);
    assert_eq!(screen.decisions, fresh.decisions);
    assert_eq!(screen.changes, screen.shown().curve.step(0.39, 0.44));
    assert!(!screen.changes.is_empty());
    let listed =
        screen.changes.iter().all(|change| screen.seen().contains(&screen.row(change).fixture));
    assert!(listed, "whoever looks is exposed to what is listed");
}

#[test]
fn the_next_change_changes_at_least_one_picture_and_comes_back() {
    let mut screen = screen();
    press(&mut screen, "n");
    assert!(!screen.changes.is_empty());
    let there = screen.changes.len();
    press(&mut screen, "p");
    assert_eq!(screen.changes.len(), there);
    // From just above a confidence, a step goes to the next whole hundredth.
    press(&mut screen, "n right");
    assert!((screen.at * 100.0 - (screen.at * 100.0).round()).abs() < 1e-9);
}

#[test]
fn a_typed_threshold_is_taken_exactly_and_nonsense_is_refused() {
    let mut screen = screen();
    press(&mut screen, "t 0 . 4 3 7 enter");
    assert!(screen.at.total_cmp(&0.437).is_eq());
    press(&mut screen, "t 7 enter");
    assert!(screen.notice.as_deref().is_some_and(|notice| notice.contains("0.05 to 0.95")));
    assert!(screen.takes_text());
    press(&mut screen, "esc");
    assert!(!screen.takes_text() && screen.at.total_cmp(&0.437).is_eq());
    press(&mut screen, "home");
    assert!(screen.at.total_cmp(&0.4).is_eq());
}

#[test]
fn choosing_asks_first_and_leaving_chooses_nothing() {
    let mut screen = screen();
    press(&mut screen, "right enter n");
    assert_eq!(screen.take_exit(), None);
    press(&mut screen, "enter y");
    assert!(screen.is_finished());
    assert_eq!(screen.take_exit(), Some(ThresholdExit::Chosen(0.41)));
    assert_eq!(screen.mode(), MOVING, "shown again, it does not ask");
    let mut other = self::screen();
    press(&mut other, "q");
    assert_eq!(other.take_exit(), Some(ThresholdExit::Left));
}

#[test]
fn a_listed_picture_opens_in_review_with_the_cursor_where_it_was() {
    let mut screen = screen();
    press(&mut screen, "L j");
    let wanted = screen.evidence.rows[screen.changes[1].row].fixture;
    press(&mut screen, "o");
    assert_eq!(screen.take_exit(), Some(ThresholdExit::Review(wanted)));
    assert!(!screen.is_finished(), "it can be shown again");
    assert!(screen.at.total_cmp(&0.45).is_eq() && screen.list.cursor == 1);
}

#[test]
fn before_the_first_step_and_on_demand_it_lists_what_only_one_side_finds() {
    let mut screen = screen();
    let differing = Curve::differing(&screen.evidence, 0.4);
    assert!(!differing.is_empty());
    assert_eq!(screen.changes, differing);
    let exposed = |screen: &ThresholdScreen| {
        screen.changes.iter().all(|change| screen.seen().contains(&screen.row(change).fixture))
    };
    assert!(exposed(&screen), "whoever looks is exposed to what is listed");
    press(&mut screen, "L");
    let step = screen.changes.clone();
    press(&mut screen, "d");
    assert_eq!(screen.changes, Curve::differing(&screen.evidence, 0.45));
    assert!(exposed(&screen));
    press(&mut screen, "d");
    assert_eq!(screen.changes, step);
}

#[test]
fn a_step_says_what_it_costs_by_label_and_side() {
    let mut screen = screen();
    press(&mut screen, "L");
    let count = |wanted: &str, candidate: bool| {
        let mut changes = screen.changes.clone();
        changes.retain(|it| it.candidate == candidate && screen.label_word(it) == wanted);
        changes.len()
    };
    let said = format!(
        "litter A {} B {}; clean A {} B {}",
        count("litter", false),
        count("litter", true),
        count("clean", false),
        count("clean", true)
    );
    for (columns, rows) in [(80, 24), (120, 40)] {
        let text = headless::draw(&screen, columns, rows, &Look::plain(Theme::MONO)).text;
        assert!(text.contains(&said), "{said}\n{text}");
    }
}

#[test]
fn the_boxes_over_a_picture_are_what_each_side_is_surest_of() {
    let evidence = evidence();
    let row = evidence.rows.iter().find(|row| {
        let found = &row.detections;
        found.a.len() == 1 && found.b.len() == 1 && found.a[0].confidence > found.b[0].confidence
    });
    let mut row = row.expect("the candidate is less sure of most").clone();
    let between = row.detections.b[0].confidence.next_up();
    let shown = |row: &Row| -> Vec<(String, bool)> {
        surest_boxes(row, between).into_iter().map(|it| (it.tag, it.faint)).collect()
    };
    assert_eq!(shown(&row), [("A".to_owned(), false), ("B".to_owned(), true)]);
    let mut surer = row.detections.b[0];
    (surer.slot, surer.confidence) = (1, 0.99);
    row.detections.b.push(surer);
    assert_eq!(shown(&row), [("A".to_owned(), false), ("B".to_owned(), false)]);
    row.detections.a.clear();
    assert_eq!(shown(&row), [("B".to_owned(), false)]);
}

#[test]
fn the_mouse_moves_the_cursor_and_picks_a_row() {
    let mut screen = screen();
    screen.update(Msg::Resize(120, 40), Duration::ZERO);
    let places = threshold_view::Places::of(Rect::new(0, 0, 120, 40), false);
    let plot = places.plot.expect("there is room");
    let press_at = |column, row| Mouse { kind: MouseKind::Press, column, row };
    screen.update(Msg::Mouse(press_at(plot.x + plot.width / 2, plot.y + 2)), Duration::ZERO);
    assert!((screen.at - 0.5).abs() < 0.1, "{}", screen.at);
    screen.update(Msg::Mouse(press_at(places.list.x, places.list.y + 1)), Duration::ZERO);
    assert_eq!(screen.list.cursor, 1);
    assert!(screen.picture.id().is_some());
}

#[test]
fn pictures_are_asked_for_only_where_they_fit() {
    let mut screen = screen();
    screen.update(Msg::Resize(80, 24), Duration::ZERO);
    assert!(screen.update(Msg::Hundredths(5), Duration::ZERO).is_empty());
    assert_eq!(screen.update(Msg::Look, Duration::ZERO).len(), 1, "in place of the curves");
    screen.update(Msg::Look, Duration::ZERO);
    screen.update(Msg::Resize(120, 40), Duration::ZERO);
    assert_eq!(screen.update(Msg::Hundredths(5), Duration::ZERO).len(), 1);
}

#[test]
fn it_says_that_the_threshold_is_chosen_on_the_same_data_at_every_size() {
    let screen = screen();
    for (columns, rows) in [(40, 12), (60, 16), (80, 24), (120, 40), (200, 60)] {
        let text = headless::draw(&screen, columns, rows, &Look::plain(Theme::MONO)).text;
        assert!(text.contains("same data"), "{columns}x{rows}\n{text}");
        assert!(text.contains("[enforced]"), "{columns}x{rows}\n{text}");
        for word in ["best", "optimal", "suggest", "recommend"] {
            assert!(!text.to_lowercase().contains(word), "{word}\n{text}");
        }
    }
}

#[test]
fn no_size_panics() {
    let mut screen = screen();
    press(&mut screen, "L");
    for columns in (0..130).step_by(7) {
        for rows in 0..45 {
            let area = Rect::new(0, 0, columns, rows);
            headless::draw_with(columns.max(1), rows.max(1), |frame| {
                let area = area.intersection(frame.area());
                screen.view(frame, area, &Look::plain(Theme::MONO));
            });
        }
    }
}

#[test]
fn frames() {
    for shot in Shot::all() {
        for (name, keys) in [
            ("start", ""),
            ("moved", "L j"),
            ("looking", "L j v"),
            ("photographs", "L s b"),
            ("asking", "right enter"),
            ("typing", "t 0 ."),
            ("refused", "t 7 enter"),
            ("at_the_end", "H H H H H H H H p p"),
        ] {
            let mut screen = screen();
            screen.update(Msg::Resize(shot.size.0, shot.size.1), Duration::ZERO);
            if !keys.is_empty() {
                press(&mut screen, keys);
            }
            insta::assert_snapshot!(shot.name(name), shot.of(&screen));
        }
        insta::assert_snapshot!(shot.name("help"), shot.of_help(&screen(), ""));
        let few = ThresholdScreen::new(hardly_any_label(), 0.4);
        insta::assert_snapshot!(shot.name("few_labels"), shot.of(&few));
    }
}

fn hardly_any_label() -> Evidence {
    let mut set = Set::new(&[("a", 0.9, 0.3), ("b", 0.5, 0.5)]);
    set.labelled("ada", &["a"], &[]);
    set.join()
}

#[test]
fn with_hardly_any_label_it_draws_no_curve_and_gives_no_rate() {
    let screen = ThresholdScreen::new(hardly_any_label(), 0.4);
    let text = headless::draw(&screen, 80, 24, &Look::plain(Theme::MONO)).text;
    assert!(text.contains("too few labelled images for a curve"), "{text}");
    assert!(text.contains("unmeasured (1 image)") && !text.contains("100.0 %"), "{text}");
}

#[test]
fn the_real_loop_takes_a_number_and_a_yes() {
    let mut screen = screen();
    let (_sender, answers) = unbounded();
    let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(80, 24))
        .unwrap_or_else(|impossible| match impossible {});
    let mut script = Scripted::new(Scripted::<Msg>::keys("t 0 . 3 enter enter y"), answers);
    let ended = event_loop::run(
        &mut screen,
        &mut terminal,
        &mut script,
        &mut NoHost::default(),
        &mut Look::plain(Theme::MONO),
        &mut |_: Effect| {},
    );
    assert_eq!(ended.unwrap_or_else(|impossible| match impossible {}), Ended::Finished);
    assert_eq!(screen.take_exit(), Some(ThresholdExit::Chosen(0.3)));
}
