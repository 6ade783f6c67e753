//! The contact sheet's keys. Nothing that cannot be taken back on Enter, Esc or Space.

use crate::domain::label::NotPhotograph;
use crate::tui::keymap::{KeyMap, Modes};

use super::Msg;

/// Looking and marking.
pub(super) const BROWSING: Modes = Modes::only(0);
/// Choosing what the marked pictures are.
pub(super) const CHOOSING: Modes = Modes::only(1);
/// Flags are in no manifest, and the person wants to leave.
pub(super) const LEAVING: Modes = Modes::only(2);

pub(super) fn keymap() -> KeyMap<Msg> {
    let mut map = KeyMap::new();
    for (keys, name, hint, help, msg) in [
        ("space", "mark", "mark", "mark the picture, or take its mark away, and go on", Msg::Mark),
        (
            "f",
            "flag",
            "flag",
            "leave the marked pictures out: then say what they are",
            Msg::Choose(true),
        ),
        ("v", "mark-range", "range", "mark all from the last mark to here", Msg::Range),
        ("g", "mark-group", "group", "mark all near copies of this one", Msg::Group),
        ("u", "undo", "undo", "take the last decision back", Msg::Undo(true)),
        ("w", "write", "write", "write the next manifest version", Msg::Write),
        ("o", "order", "order", "another order: manifest, group, suggestion, size", Msg::Order),
        ("tab", "shown", "show", "show all, suggested, near copies, left out, marked", Msg::Shown),
        ("enter", "alone", "large", "this picture alone, or the sheet again", Msg::Alone),
        ("q", "quit", "quit", "leave; flags are kept", Msg::Leave),
        ("r", "redo", "", "restore what was taken back", Msg::Undo(false)),
        ("a", "mark-all", "", "mark all that are shown", Msg::All),
        ("x esc", "unmark", "", "take all marks away", Msg::Unmark),
        ("/", "name", "", "show only names that hold a text", Msg::Name),
        ("+ =", "larger", "", "larger pictures", Msg::Size(true)),
        ("-", "smaller", "", "smaller pictures, more of them", Msg::Size(false)),
        ("left h", "left", "", "one to the left", Msg::Move(-1, 0)),
        ("right l", "right", "", "one to the right", Msg::Move(1, 0)),
        ("up k", "up", "", "one row up", Msg::Move(0, -1)),
        ("down j", "down", "", "one row down", Msg::Move(0, 1)),
        ("page-up", "page-up", "", "one page up", Msg::Page(-1)),
        ("page-down", "page-down", "", "one page down", Msg::Page(1)),
        ("home", "first", "", "the first picture", Msg::End(false)),
        ("end", "last", "", "the last picture", Msg::End(true)),
    ] {
        map = map.bind(BROWSING, keys, name, hint, help, msg);
    }
    for (key, name, help, kind) in [
        ("s", "is-screenshot", "a screenshot", Some(NotPhotograph::Screenshot)),
        ("i", "is-illustration", "drawn or painted", Some(NotPhotograph::Illustration)),
        ("t", "is-text", "mostly writing", Some(NotPhotograph::Text)),
        ("g", "is-game", "a rendered scene", Some(NotPhotograph::Game)),
        ("o", "is-other", "something else", Some(NotPhotograph::Other)),
        ("p", "is-photograph", "a photograph after all: it stays in", None),
    ] {
        map = map.bind(CHOOSING, key, name, "", help, Msg::Kind(kind));
    }
    map.bind(CHOOSING, "esc enter q", "choose-nothing", "", "back to the sheet", Msg::Choose(false))
        .bind(
            LEAVING,
            "w",
            "write-and-leave",
            "write",
            "write the next manifest version, then leave",
            Msg::Write,
        )
        .bind(
            LEAVING,
            "k",
            "keep-and-leave",
            "keep",
            "leave; the flags are there the next time",
            Msg::LeaveAnyway,
        )
        .bind(LEAVING, "esc enter q", "stay", "stay", "back to the sheet", Msg::Stay)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things() {
        assert_eq!(keymap().problems(), Vec::<String>::new());
    }

    #[test]
    fn kinds_have_the_keys_raters_know() {
        let keys: Vec<String> =
            keymap().in_mode(CHOOSING).take(6).map(|it| it.keys[0].to_string()).collect();
        assert_eq!(keys, ["s", "i", "t", "g", "o", "p"]);
    }
}
