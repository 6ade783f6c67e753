//! The keys of the review screen.

use super::Msg;
use super::act::Act;
use crate::tui::keymap::{KeyMap, Modes};

pub(super) const BROWSE: Modes = Modes::only(0);
pub(super) const MENU: Modes = Modes::only(1);
pub(super) const PROMPT: Modes = Modes::only(2);
pub(super) const TALLY: Modes = Modes::only(3);
/// The menu of what else than a photograph it is: no place for verdicts.
pub(super) const FLAGS: Modes = Modes::only(6);
/// There is no change to say anything of.
pub(super) const EMPTY: Modes = Modes::only(4);
/// There is nothing yet, or never will be.
pub(super) const WAITING: Modes = Modes::only(5);

/// Names of the five verdicts, in the order in which they are offered.
pub(super) const VERDICTS: [&str; 5] =
    ["verdict-first", "verdict-second", "verdict-both", "verdict-neither", "verdict-cannot-tell"];

/// What gives them.
pub(super) const VERDICT_ACTS: [Act; 5] = [
    Act::VerdictFirst,
    Act::VerdictSecond,
    Act::VerdictBoth,
    Act::VerdictNeither,
    Act::VerdictCannotTell,
];

/// All bindings. Words do not name the sides when those are hidden.
pub(super) fn keymap(hidden_sides: bool) -> KeyMap<Msg> {
    let (first_hint, first, second_hint, second) = if hidden_sides {
        ("left", "verdict: the left side is right", "right", "verdict: the right side is right")
    } else {
        (
            "reference",
            "verdict: the reference is right",
            "candidate",
            "verdict: the candidate is right",
        )
    };
    let act = Msg::Act;
    KeyMap::new()
        .bind(MENU | FLAGS, "enter space", "menu-choose", "choose", "choose", act(Act::MenuChoose))
        .bind(BROWSE | MENU, "a", "verdict-first", first_hint, first, act(Act::VerdictFirst))
        .bind(BROWSE | MENU, "d", "verdict-second", second_hint, second, act(Act::VerdictSecond))
        .bind(
            BROWSE | MENU,
            "b",
            "verdict-both",
            "both",
            "verdict: both are acceptable",
            act(Act::VerdictBoth),
        )
        .bind(
            BROWSE | MENU,
            "n",
            "verdict-neither",
            "neither",
            "verdict: neither is right",
            act(Act::VerdictNeither),
        )
        .bind(
            BROWSE | MENU,
            "t",
            "verdict-cannot-tell",
            "unclear",
            "verdict: the picture does not tell",
            act(Act::VerdictCannotTell),
        )
        .bind(
            BROWSE,
            "delete backspace",
            "verdict-clear",
            "",
            "clear the verdict",
            act(Act::VerdictClear),
        )
        .bind(
            BROWSE | EMPTY,
            "u",
            "undo",
            "undo",
            "take back the last action, from any sitting",
            act(Act::Undo),
        )
        .bind(
            BROWSE | EMPTY,
            "U ctrl-r",
            "redo",
            "",
            "do again what was taken back",
            act(Act::Redo),
        )
        .bind(BROWSE, "j down", "next-item", "", "next change", act(Act::NextItem))
        .bind(BROWSE, "k up", "previous-item", "", "previous change", act(Act::PreviousItem))
        .bind(BROWSE, "l right space", "next-image", "", "next picture", act(Act::NextImage))
        .bind(BROWSE, "h left", "previous-image", "", "previous picture", act(Act::PreviousImage))
        .bind(
            BROWSE,
            "o tab",
            "next-open",
            "next open",
            "next change without a verdict",
            act(Act::NextOpen),
        )
        .bind(
            BROWSE,
            "O shift-tab",
            "first-open",
            "",
            "first change without a verdict",
            act(Act::FirstOpen),
        )
        .bind(BROWSE, "g", "jump", "", "jump to a picture by number, name or hash", act(Act::Jump))
        .bind(BROWSE, "home", "first-image", "", "first picture", act(Act::FirstImage))
        .bind(BROWSE, "end G", "last-image", "", "last picture", act(Act::LastImage))
        .bind(BROWSE, "enter", "menu", "", "choose a verdict from a list", act(Act::VerdictMenu))
        .bind(BROWSE, "e", "note", "note", "write a note to this change", act(Act::Note))
        .bind(BROWSE, "f", "flag", "", "flag the picture as not a photograph", act(Act::FlagMenu))
        .bind(
            BROWSE,
            "v",
            "view",
            "view",
            "whose boxes: both, one side, the other, blink, side by side",
            act(Act::NextView),
        )
        .bind(
            BROWSE,
            "w",
            "model-input",
            "model",
            "what the model saw: the squashed input",
            act(Act::ModelInput),
        )
        .bind(
            BROWSE,
            "x",
            "all-boxes",
            "",
            "boxes of everything found, or of the changes only",
            act(Act::AllBoxes),
        )
        .bind(
            BROWSE,
            "z",
            "zoom-to-box",
            "zoom",
            "zoom to the change, and back",
            act(Act::ZoomToBox),
        )
        .bind(BROWSE, "+ =", "zoom-in", "", "zoom in", act(Act::ZoomIn))
        .bind(BROWSE, "-", "zoom-out", "", "zoom out", act(Act::ZoomOut))
        .bind(BROWSE, "Z", "zoom-reset", "", "show all of the picture", act(Act::ZoomReset))
        .bind(BROWSE, "H alt-left", "pan-left", "", "pan left", act(Act::Pan(-1, 0)))
        .bind(BROWSE, "L alt-right", "pan-right", "", "pan right", act(Act::Pan(1, 0)))
        .bind(BROWSE, "K alt-up", "pan-up", "", "pan up", act(Act::Pan(0, -1)))
        .bind(BROWSE, "J alt-down", "pan-down", "", "pan down", act(Act::Pan(0, 1)))
        .bind(
            BROWSE | EMPTY,
            "s",
            "order",
            "",
            "order: worst, nearest to the threshold, most changes, manifest",
            act(Act::NextOrder),
        )
        .bind(
            BROWSE | EMPTY,
            "m",
            "moved-slots",
            "",
            "moved slots in the queue or left out",
            act(Act::MovedSlots),
        )
        .bind(
            BROWSE | EMPTY,
            "/",
            "filter",
            "filter",
            "filter: vanished lost >0.2 open both flagged noted, or any name",
            act(Act::Filter),
        )
        .bind(BROWSE | EMPTY, "\\", "filter-clear", "", "no filter", act(Act::FilterClear))
        .bind(
            BROWSE | EMPTY,
            "y",
            "tally",
            "",
            "how the verdicts stand, with an exact test",
            act(Act::Tally),
        )
        .bind(
            BROWSE,
            "c",
            "copy",
            "",
            "copy the change as JSON: to the clipboard and to sessions/copied-change.json",
            act(Act::Copy),
        )
        .bind(
            BROWSE | EMPTY,
            "ctrl-s",
            "save-again",
            "",
            "write again what is not saved",
            act(Act::SaveAgain),
        )
        .bind(
            BROWSE | EMPTY | WAITING,
            "q esc",
            "quit",
            "quit",
            "leave; everything said saved stays",
            act(Act::Leave),
        )
        .bind(MENU | FLAGS, "j down", "menu-down", "", "down", act(Act::MenuStep(1)))
        .bind(MENU | FLAGS, "k up", "menu-up", "", "up", act(Act::MenuStep(-1)))
        .bind(
            MENU | FLAGS,
            "q esc",
            "menu-close",
            "close",
            "close without choosing",
            act(Act::Close),
        )
        .bind(TALLY, "q esc enter space y", "tally-close", "close", "close", act(Act::Close))
        .bind(TALLY, "u", "tally-undo", "undo", "take back the last action", act(Act::Undo))
}
