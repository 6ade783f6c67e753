//! The label screen's keys. One key per answer; nothing that cannot be taken back on Enter, Esc or Space.

use crate::domain::label::{CategoryState, Certainty, NotPhotograph, Presence};
use crate::tui::keymap::{KeyMap, Modes};

use super::CATEGORY_KEYS;
use super::screen::{Field, Msg, Text};
use super::sitting::Ask;

/// Marking a picture.
pub(super) const MARKING: Modes = Modes::only(0);
/// Choosing what a picture is that is no photograph.
pub(super) const CHOOSING: Modes = Modes::only(1);

/// For each of [`CATEGORY_KEYS`]: key and name for present, key and name for unsure.
const CATEGORIES: [[&str; 4]; CATEGORY_KEYS.len()] = [
    ["a", "category-a", "A", "unsure-a"],
    ["b", "category-b", "B", "unsure-b"],
    ["c", "category-c", "C", "unsure-c"],
    ["d", "category-d", "D", "unsure-d"],
    ["e", "category-e", "E", "unsure-e"],
    ["f", "category-f", "F", "unsure-f"],
    ["g", "category-g", "G", "unsure-g"],
    ["i", "category-i", "I", "unsure-i"],
    ["j", "category-j", "J", "unsure-j"],
    ["k", "category-k", "K", "unsure-k"],
    ["v", "category-v", "V", "unsure-v"],
    ["w", "category-w", "W", "unsure-w"],
    ["x", "category-x", "X", "unsure-x"],
    ["z", "category-z", "Z", "unsure-z"],
];

/// How far one key moves the view, in shares of what is visible.
const PAN: f64 = 0.25;

/// The keys for a taxonomy of `groups` categories. Those past the last letter have the cursor only.
pub(super) fn keymap(groups: usize) -> KeyMap<Msg> {
    let ask = Msg::Ask;
    let mut map = KeyMap::new()
        .bind(
            MARKING,
            "y",
            "litter",
            "litter",
            "yes, there is litter",
            ask(Ask::Presence(Presence::Litter)),
        )
        .bind(
            MARKING,
            "n",
            "clean",
            "clean",
            "no, it is clean",
            ask(Ask::Presence(Presence::Clean)),
        );
    for (key, name, help, certainty) in [
        ("h", "sure-high", "sure: high", Certainty::High),
        ("m", "sure-medium", "sure: medium", Certainty::Medium),
        ("l", "sure-low", "sure: low", Certainty::Low),
    ] {
        map = map.bind(MARKING, key, name, "", help, ask(Ask::Certainty(certainty)));
    }
    map = map
        .bind(MARKING, "enter", "save", "save", "save the answer and go on", ask(Ask::Save))
        .bind(
            MARKING,
            "p",
            "not-a-photograph",
            "no photo",
            "not a photograph: then say what it is",
            Msg::Choose(true),
        )
        .bind(MARKING, "u", "undo", "undo", "take back the last answer", ask(Ask::Undo))
        .bind(MARKING, "r", "redo", "", "restore what was taken back", ask(Ask::Redo))
        .bind(MARKING, "left page-up", "back", "", "the picture before", ask(Ask::Back))
        .bind(MARKING, "right page-down", "forward", "", "the picture after", ask(Ask::Forward))
        .bind(
            MARKING,
            ". end",
            "first-unanswered",
            "",
            "the first picture without an answer",
            ask(Ask::FirstUnanswered),
        )
        .bind(MARKING, "+ =", "zoom-in", "zoom", "nearer", Msg::Zoom(true))
        .bind(MARKING, "-", "zoom-out", "", "farther", Msg::Zoom(false))
        .bind(MARKING, "home 0", "zoom-all", "", "the whole picture", Msg::ZoomAll)
        .bind(MARKING, "alt-left ctrl-left 4", "pan-left", "", "pan left", Msg::Pan(-PAN, 0.0))
        .bind(MARKING, "alt-right ctrl-right 6", "pan-right", "", "pan right", Msg::Pan(PAN, 0.0))
        .bind(MARKING, "alt-up ctrl-up 8", "pan-up", "", "pan up", Msg::Pan(0.0, -PAN))
        .bind(MARKING, "alt-down ctrl-down 2", "pan-down", "", "pan down", Msg::Pan(0.0, PAN))
        .bind(MARKING, "tab", "alone", "", "the picture alone, or with the questions", Msg::Alone)
        .bind(MARKING, "t", "note", "", "write a note", Msg::Edit(Text::Note))
        .bind(
            MARKING,
            "s",
            "skip",
            "skip",
            "leave this one out, with a reason",
            Msg::Edit(Text::Skip),
        )
        .bind(MARKING, "up", "cursor-up", "", "the question above", Msg::Cursor(-1))
        .bind(MARKING, "down", "cursor-down", "", "the question below", Msg::Cursor(1))
        .bind(
            MARKING,
            "space",
            "change",
            "",
            "change the answer under the cursor",
            Msg::Change(None),
        )
        .bind(MARKING, "q", "quit", "quit", "leave; the shard stays open", Msg::Leave);
    for (index, [key, name, unsure_key, unsure_name]) in
        CATEGORIES.into_iter().enumerate().take(groups)
    {
        let state = |state| ask(Ask::Category(index, state));
        map = map
            .bind(
                MARKING,
                key,
                name,
                "",
                "this category is present; again takes it back",
                state(CategoryState::Present),
            )
            .bind(
                MARKING,
                unsure_key,
                unsure_name,
                "",
                "unsure about this category; again takes it back",
                state(CategoryState::Unsure),
            );
    }
    for (key, name, help, kind) in [
        ("s", "is-screenshot", "a screenshot", Some(NotPhotograph::Screenshot)),
        ("i", "is-illustration", "drawn or painted", Some(NotPhotograph::Illustration)),
        ("t", "is-text", "mostly writing", Some(NotPhotograph::Text)),
        ("g", "is-game", "a rendered scene", Some(NotPhotograph::Game)),
        ("o", "is-other", "something else", Some(NotPhotograph::Other)),
        ("p", "is-photograph", "a photograph after all", None),
    ] {
        map = map.bind(CHOOSING, key, name, "", help, ask(Ask::NotPhotograph(kind)));
    }
    map.bind(
        CHOOSING,
        "esc enter q",
        "choose-nothing",
        "",
        "back to the questions",
        Msg::Choose(false),
    )
}

/// What Space or a click does to a question.
pub(super) fn change(field: Field, draft: &super::draft::Draft) -> Option<Msg> {
    let ask = |ask| Some(Msg::Ask(ask));
    match field {
        Field::Presence => ask(Ask::Presence(match draft.presence {
            Some(Presence::Litter) => Presence::Clean,
            _ => Presence::Litter,
        })),
        Field::Category(index) => match draft.categories.get(index)? {
            CategoryState::Absent => ask(Ask::Category(index, CategoryState::Present)),
            CategoryState::Present => ask(Ask::Category(index, CategoryState::Unsure)),
            // The same again takes it back.
            CategoryState::Unsure => ask(Ask::Category(index, CategoryState::Unsure)),
        },
        Field::Certainty => ask(Ask::Certainty(match draft.certainty {
            None | Some(Certainty::Low) => Certainty::High,
            Some(Certainty::High) => Certainty::Medium,
            Some(Certainty::Medium) => Certainty::Low,
        })),
        Field::Photograph => Some(Msg::Choose(true)),
        Field::Note => Some(Msg::Edit(Text::Note)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things() {
        for groups in [0, 1, 10, 14, 30] {
            assert_eq!(keymap(groups).problems(), Vec::<String>::new(), "{groups} categories");
        }
    }

    #[test]
    fn letters_are_those_of_the_lines() {
        for (letter, [key, ..]) in CATEGORY_KEYS.iter().zip(CATEGORIES) {
            assert_eq!(letter.to_string(), key);
        }
    }

    #[test]
    fn nothing_can_order_or_search_by_anything() {
        let words = ["sort", "score", "filter", "search", "order", "model", "rank"];
        for binding in keymap(14).all() {
            let text = format!("{} {} {}", binding.name, binding.help, binding.hint);
            assert!(!words.iter().any(|word| text.contains(word)), "{text}");
        }
    }
}
