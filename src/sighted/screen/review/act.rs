//! What the review screen's actions do.

use super::keys::VERDICT_ACTS;
use super::layout::{can_split, layout, warning};
use super::{Effect, Menu, Mode, Prompt, ReviewScreen, Shows, inside, panel};
use crate::domain::label::NotPhotograph;
use crate::sighted::decision::report::DetectionRow;
use crate::sighted::review::pictures::{Rendition, picture_id};
use crate::sighted::review::queue::Filter;
use crate::sighted::review::twin;
use crate::sighted::review::verdict::{LeftSide, ReviewEvent, Seen, Verdict};
use crate::tui::picture::overlay::{BoxOverlay, Line};
use crate::tui::picture::viewport::{UnitRect, Viewport};
use crate::tui::screen::{Input, Mouse, MouseKind};
use crate::tui::theme::Role;
use crate::tui::widgets::input::{Edit, TextInput};
use crate::tui::widgets::list::ListState;

/// Actions, as keys name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) enum Act {
    VerdictFirst,
    VerdictSecond,
    VerdictBoth,
    VerdictNeither,
    VerdictCannotTell,
    VerdictClear,
    VerdictMenu,
    FlagMenu,
    MenuStep(i8),
    MenuChoose,
    Close,
    Undo,
    Redo,
    NextItem,
    PreviousItem,
    NextImage,
    PreviousImage,
    FirstImage,
    LastImage,
    NextOpen,
    FirstOpen,
    Jump,
    Note,
    Filter,
    FilterClear,
    NextView,
    ModelInput,
    AllBoxes,
    ZoomToBox,
    ZoomIn,
    ZoomOut,
    ZoomReset,
    Pan(i8, i8),
    NextOrder,
    MovedSlots,
    Tally,
    Copy,
    SaveAgain,
    Leave,
}

/// Share of the visible part one pan step moves.
const PAN_STEP: f64 = 0.25;

impl ReviewScreen {
    pub(super) fn act(&mut self, act: Act) -> Vec<Effect> {
        if act != Act::Leave {
            self.warned_unsaved = false;
        }
        match act {
            Act::Leave => return self.leave_or_warn(),
            Act::Close => {
                self.mode = Mode::Browse;
                return Vec::new();
            }
            Act::SaveAgain => return self.save_again(),
            _ => {}
        }
        if self.desk.is_none() {
            return Vec::new();
        }
        self.notice = None;
        match act {
            Act::VerdictFirst
            | Act::VerdictSecond
            | Act::VerdictBoth
            | Act::VerdictNeither
            | Act::VerdictCannotTell
            | Act::VerdictClear => self.verdict(act),
            Act::VerdictMenu => self.open_menu(Menu::Verdict),
            Act::FlagMenu => self.open_menu(Menu::Flag),
            Act::MenuStep(step) => {
                if let Mode::Menu(_, list) = &mut self.mode {
                    list.step(isize::from(step));
                }
                Vec::new()
            }
            Act::MenuChoose => self.choose(),
            Act::Undo => self.revert(true),
            Act::Redo => self.revert(false),
            Act::Note => {
                let note =
                    self.desk.as_ref().and_then(|desk| Some(desk.note_of(desk.item()?).to_owned()));
                self.open_prompt(Prompt::Note, note.as_deref())
            }
            Act::Jump => self.open_prompt(Prompt::Jump, Some("")),
            Act::Filter => {
                let text = self.desk.as_ref().map(|desk| desk.queue.filter.text.clone());
                self.open_prompt(Prompt::Filter, text.as_deref())
            }
            Act::Tally => {
                self.show_tally();
                Vec::new()
            }
            Act::Copy => self.copy(),
            Act::NextView | Act::ModelInput | Act::AllBoxes => self.change_view(act),
            Act::ZoomToBox | Act::ZoomIn | Act::ZoomOut | Act::ZoomReset | Act::Pan(..) => {
                self.look_nearer(act)
            }
            _ => self.go(act),
        }
    }

    fn leave_or_warn(&mut self) -> Vec<Effect> {
        let unsaved = if self.read_only.is_some() { 0 } else { self.judgements_unsaved() };
        if unsaved > 0 && !self.warned_unsaved {
            self.warned_unsaved = true;
            self.mode = Mode::Browse;
            self.say(Role::Bad, format!("{unsaved} not saved: ctrl-s retries, q gives up"));
        } else {
            self.finished = true;
        }
        Vec::new()
    }

    /// Unsaved events that somebody would miss.
    fn judgements_unsaved(&self) -> usize {
        self.unsaved
            .iter()
            .filter(|(_, event)| {
                !matches!(event, ReviewEvent::Opened { .. } | ReviewEvent::Exposed { .. })
            })
            .count()
    }

    /// Says so when nothing can be written.
    fn is_read_only(&mut self) -> bool {
        let said = self.read_only.as_ref().map(|reason| format!("nothing can be saved: {reason}"));
        said.map(|said| self.say(Role::Bad, said)).is_some()
    }

    fn save_again(&mut self) -> Vec<Effect> {
        if self.is_read_only() {
            return Vec::new();
        }
        self.notice = None;
        self.unsaved.iter().map(|(ticket, event)| Effect::Write(*ticket, event.clone())).collect()
    }

    fn verdict(&mut self, act: Act) -> Vec<Effect> {
        self.mode = Mode::Browse;
        if self.is_read_only() {
            return Vec::new();
        }
        if self.saving.is_some() {
            // The next change has not been seen yet, so this key cannot have meant it.
            self.say(Role::Warning, "still saving the last verdict");
            return Vec::new();
        }
        let Some(desk) = &mut self.desk else { return Vec::new() };
        let Some(item) = desk.queue.item() else { return Vec::new() };
        let fixture = desk.material.items[item].key.fixture;
        let place = VERDICT_ACTS.iter().position(|other| *other == act);
        let verdict = place.map(|place| desk.verdicts(fixture)[place]);
        match desk.judge(item, verdict) {
            Some(event) => {
                self.saving = Some((self.next_ticket, verdict.is_some()));
                self.write(event)
            }
            // It stands already: nothing to write, but the reviewer has decided again.
            None if verdict.is_some() => self.go_on(),
            None => Vec::new(),
        }
    }

    fn copy(&mut self) -> Vec<Effect> {
        let Some(desk) = &self.desk else { return Vec::new() };
        let Some(item) = desk.item() else { return Vec::new() };
        if self.start.hidden_sides {
            self.say(Role::Warning, "not copied: the text would say which side is which");
            return Vec::new();
        }
        vec![Effect::Copy(twin::one(&desk.material, &desk.ledger, item).to_file())]
    }

    fn open_menu(&mut self, menu: Menu) -> Vec<Effect> {
        if self.desk.as_ref().is_some_and(|desk| desk.item().is_some()) {
            let len = match menu {
                Menu::Verdict => Verdict::ALL.len(),
                Menu::Flag => NotPhotograph::ALL.len() + 1,
            };
            self.mode = Mode::Menu(menu, ListState::new(len));
        }
        Vec::new()
    }

    fn choose(&mut self) -> Vec<Effect> {
        let Mode::Menu(menu, list) = &self.mode else { return Vec::new() };
        let (menu, chosen) = (*menu, list.cursor);
        self.mode = Mode::Browse;
        match menu {
            Menu::Verdict => {
                VERDICT_ACTS.get(chosen).map_or_else(Vec::new, |act| self.verdict(*act))
            }
            Menu::Flag => {
                let kind = chosen.checked_sub(1).and_then(|at| NotPhotograph::ALL.get(at).copied());
                self.keep(|desk| desk.flag(kind))
            }
        }
    }

    /// Makes an event at the desk and writes it, unless nothing can be written.
    fn keep(
        &mut self,
        make: impl FnOnce(&mut crate::sighted::review::desk::Desk) -> Option<ReviewEvent>,
    ) -> Vec<Effect> {
        if self.is_read_only() {
            return Vec::new();
        }
        match self.desk.as_mut().and_then(make) {
            Some(event) => self.write(event),
            None => Vec::new(),
        }
    }

    fn revert(&mut self, is_undo: bool) -> Vec<Effect> {
        self.mode = Mode::Browse;
        if self.is_read_only() {
            return Vec::new();
        }
        let Some(desk) = &mut self.desk else { return Vec::new() };
        let reverted = if is_undo { desk.undo() } else { desk.redo() };
        let Some(reverted) = reverted else {
            let text = if is_undo { "nothing to undo" } else { "nothing to redo" };
            self.say(Role::Faint, text);
            return Vec::new();
        };
        let (did, other) = if is_undo { ("undid", "U redoes") } else { ("did again", "u undoes") };
        self.say(Role::Good, format!("{did}: {} ({other})", reverted.says));
        if let Some((_, advance)) = &mut self.saving {
            *advance = false;
        }
        let mut effects = self.write(reverted.event);
        effects.extend(self.arrive());
        effects
    }

    fn open_prompt(&mut self, prompt: Prompt, text: Option<&str>) -> Vec<Effect> {
        if let Some(text) = text {
            self.mode = Mode::Prompt(prompt, TextInput::new(text));
        }
        Vec::new()
    }

    pub(super) fn take_input(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Resize { width, height } => {
                self.size = (width, height);
                if self.shows == Shows::SideBySide && !can_split(self.size) {
                    self.shows = Shows::Both;
                }
                self.refresh()
            }
            Input::Graphics(canvas) => {
                for picture in &mut self.pictures {
                    picture.set_canvas(canvas);
                }
                self.refresh()
            }
            Input::Tick => {
                self.blink_second = !self.blink_second;
                self.refresh()
            }
            Input::Mouse(mouse) => self.mouse(&mouse),
            Input::Paste(text) => {
                if let Mode::Prompt(_, field) = &mut self.mode {
                    field.paste(&text);
                }
                Vec::new()
            }
            Input::Text(key) => {
                let Mode::Prompt(prompt, field) = &mut self.mode else { return Vec::new() };
                match field.key(key) {
                    Edit::Going => Vec::new(),
                    Edit::Cancelled => {
                        self.mode = Mode::Browse;
                        Vec::new()
                    }
                    Edit::Done => {
                        let (prompt, text) = (*prompt, field.text());
                        self.answer(prompt, &text)
                    }
                }
            }
        }
    }

    fn answer(&mut self, prompt: Prompt, text: &str) -> Vec<Effect> {
        self.notice = None;
        let Some(desk) = &mut self.desk else { return Vec::new() };
        match prompt {
            Prompt::Note => {
                let Some(item) = desk.queue.item() else { return Vec::new() };
                if self.read_only.is_some() {
                    self.mode = Mode::Browse;
                    return self.keep(|_| None);
                }
                match desk.annotate(item, text) {
                    Ok(event) => {
                        self.mode = Mode::Browse;
                        event.map_or_else(Vec::new, |event| self.write(event))
                    }
                    // The text stays in the field.
                    Err(reason) => {
                        self.say(Role::Warning, reason);
                        Vec::new()
                    }
                }
            }
            Prompt::Jump => {
                self.mode = Mode::Browse;
                match desk.queue.look_up(&desk.material, text) {
                    Some(place) => {
                        desk.queue.go_to(place);
                        self.moved()
                    }
                    None => {
                        self.say(Role::Warning, "nothing in the queue is called that");
                        Vec::new()
                    }
                }
            }
            Prompt::Filter => {
                self.mode = Mode::Browse;
                desk.queue.filter = Filter::parse(text);
                desk.rebuild();
                self.moved()
            }
        }
    }

    fn go(&mut self, act: Act) -> Vec<Effect> {
        let Some(desk) = &mut self.desk else { return Vec::new() };
        let queue = &mut desk.queue;
        let went = match act {
            Act::NextItem => queue.step_item(true),
            Act::PreviousItem => queue.step_item(false),
            Act::NextImage => queue.step_image(true),
            Act::PreviousImage => queue.step_image(false),
            Act::FirstImage => {
                queue.go_to(0);
                true
            }
            Act::LastImage => {
                queue.go_to(usize::MAX);
                true
            }
            Act::NextOpen => queue.go_to_undecided(&desk.material, &desk.ledger, false),
            Act::FirstOpen => queue.go_to_undecided(&desk.material, &desk.ledger, true),
            Act::NextOrder => {
                queue.order = queue.order.next();
                desk.rebuild();
                true
            }
            Act::MovedSlots => {
                queue.with_moved = !queue.with_moved;
                desk.rebuild();
                true
            }
            Act::FilterClear => {
                queue.filter = Filter::default();
                desk.rebuild();
                true
            }
            _ => false,
        };
        if went {
            return self.moved();
        }
        let text = match act {
            Act::NextOpen | Act::FirstOpen => {
                "every change in the queue has a verdict: y shows the tally"
            }
            Act::NextItem | Act::NextImage => "this is the last",
            Act::PreviousItem | Act::PreviousImage => "this is the first",
            _ => return Vec::new(),
        };
        self.say(Role::Faint, text);
        Vec::new()
    }

    /// The person moved: an ack that comes later must not move them again.
    fn moved(&mut self) -> Vec<Effect> {
        if let Some((_, advance)) = &mut self.saving {
            *advance = false;
        }
        self.arrive()
    }

    fn change_view(&mut self, act: Act) -> Vec<Effect> {
        match act {
            Act::NextView => {
                if self.shows == Shows::Blink && !can_split(self.size) {
                    self.say(Role::Faint, "two pictures side by side need a wider window");
                }
                self.shows = match self.shows {
                    Shows::Both => Shows::First,
                    Shows::First => Shows::Second,
                    Shows::Second => Shows::Blink,
                    Shows::Blink if can_split(self.size) => Shows::SideBySide,
                    Shows::Blink | Shows::SideBySide => Shows::Both,
                };
                self.blink_second = false;
            }
            Act::ModelInput => self.model_input = !self.model_input,
            _ => self.all_boxes = !self.all_boxes,
        }
        self.arrive()
    }

    fn look_nearer(&mut self, act: Act) -> Vec<Effect> {
        if act == Act::ZoomToBox {
            self.zoomed = !self.zoomed;
            self.framed = None;
            if !self.zoomed {
                self.pictures[0].set_viewport(Viewport::default());
            }
            return self.refresh();
        }
        let first = &mut self.pictures[0];
        match act {
            Act::ZoomIn => first.zoom(true),
            Act::ZoomOut => first.zoom(false),
            Act::Pan(across, down) => {
                first.pan(f64::from(across) * PAN_STEP, f64::from(down) * PAN_STEP);
            }
            _ => {
                self.zoomed = false;
                first.set_viewport(Viewport::default());
            }
        }
        self.refresh()
    }

    pub(super) fn seen_kind(&self) -> Seen {
        if self.model_input { Seen::ModelInput } else { Seen::Decisions }
    }

    /// Brings pictures, boxes and areas in line with the state, and asks for what is missing.
    pub(super) fn refresh(&mut self) -> Vec<Effect> {
        let Some(desk) = &self.desk else { return Vec::new() };
        let parts = layout(self.size, warning(desk, self.size).len(), self.shows);
        let rendition = if self.model_input { Rendition::ModelInput } else { Rendition::Upright };
        let Some(image) = desk.queue.image() else {
            self.pictures.iter_mut().for_each(crate::tui::picture::view::PictureView::clear);
            return Vec::new();
        };
        let id = |image: usize| picture_id(desk.material.images[image].fixture, rendition);
        let facts = desk.material.images[image].written.clone();
        let next: Vec<_> = desk.queue.neighbours().into_iter().map(id).collect();
        let boxes = [self.boxes(Some(LeftSide::Reference)), self.boxes(Some(LeftSide::Candidate))];
        let together = self.boxes(None);
        let id = id(image);
        let framed = (id, desk.queue.item());
        let target = desk
            .item()
            .and_then(|item| item.corners().map(UnitRect::from_corners).reduce(UnitRect::union));
        self.pictures[0].show(id, &facts, next);
        self.pictures[0].set_area(parts.pictures[0]);
        if self.zoomed && self.framed != Some(framed) {
            self.framed = Some(framed);
            if let Some(target) = target {
                self.pictures[0].zoom_to(target);
            }
        }
        let splits = self.shows == Shows::SideBySide && !parts.pictures[1].is_empty();
        let [first, second] = boxes;
        let shown = match self.shows {
            Shows::Both => together,
            Shows::First => first.clone(),
            Shows::Second => second.clone(),
            Shows::Blink if self.blink_second => second.clone(),
            Shows::Blink => first.clone(),
            Shows::SideBySide if splits => first,
            Shows::SideBySide => together,
        };
        self.pictures[0].set_boxes(shown);
        if splits {
            let viewport = self.pictures[0].viewport();
            self.pictures[1].show(id, &facts, Vec::new());
            self.pictures[1].set_viewport(viewport);
            self.pictures[1].set_area(parts.pictures[1]);
            self.pictures[1].set_boxes(second);
        } else {
            self.pictures[1].clear();
        }
        self.ask_for_pictures()
    }

    pub(super) fn ask_for_pictures(&mut self) -> Vec<Effect> {
        let asked: Vec<_> = self.pictures.iter_mut().filter_map(|view| view.request()).collect();
        if asked.is_empty() {
            return Vec::new();
        }
        let wanted = self.pictures.iter().filter_map(|view| view.unanswered().cloned()).collect();
        vec![Effect::Pictures(wanted)]
    }

    /// Boxes of one place (left or reference, right or candidate), or of both.
    fn boxes(&self, place: Option<LeftSide>) -> Vec<BoxOverlay> {
        let Some(desk) = &self.desk else { return Vec::new() };
        let (Some(item), Some(image)) = (desk.item(), desk.queue.image()) else {
            return Vec::new();
        };
        let review_image = &desk.material.images[image];
        let left = desk.left_side(review_image.fixture);
        let swapped = left == Some(LeftSide::Candidate);
        let sides = [
            (item.a, item.elsewhere_a, &review_image.found.a),
            (item.b, item.elsewhere_b, &review_image.found.b),
        ];
        let tags = match left {
            None => ["R", "C"],
            Some(_) => ["L", "R"],
        };
        let mut boxes = Vec::new();
        for at in 0..2 {
            let wanted = match place {
                None => true,
                Some(LeftSide::Reference) => at == 0,
                Some(LeftSide::Candidate) => at == 1,
            };
            if !wanted {
                continue;
            }
            let (row, elsewhere, found) = sides[if swapped { 1 - at } else { at }];
            let line = if at == 0 { Line::First } else { Line::Second };
            let overlay = |row: &DetectionRow, tag: &str, faint: bool| BoxOverlay {
                rect: UnitRect::from_corners(row.corners),
                line,
                tag: tag.to_owned(),
                faint,
            };
            if self.all_boxes {
                let others = found
                    .iter()
                    .filter(|other| other.confidence >= desk.material.threshold)
                    .filter(|other| row.is_none_or(|row| row.slot != other.slot));
                boxes.extend(others.map(|other| overlay(other, "", true)));
            }
            boxes.extend(elsewhere.iter().map(|row| overlay(row, "", true)));
            boxes.extend(row.iter().map(|row| overlay(row, tags[at], false)));
        }
        // What matters lies on top.
        boxes.sort_by_key(|overlay| !overlay.faint);
        boxes
    }

    fn mouse(&mut self, mouse: &Mouse) -> Vec<Effect> {
        let Some(desk) = &mut self.desk else { return Vec::new() };
        if self.mode != Mode::Browse {
            return Vec::new();
        }
        let parts = layout(self.size, warning(desk, self.size).len(), self.shows);
        let on_picture = parts.pictures.iter().any(|area| inside(mouse, *area));
        match mouse.kind {
            MouseKind::Press if inside(mouse, parts.panel) => {
                let Some(place) = panel::item_at(desk, parts.panel, mouse.row) else {
                    return Vec::new();
                };
                desk.queue.go_to_item_place(place);
                self.moved()
            }
            MouseKind::Press => {
                self.drag_from = on_picture.then_some((mouse.column, mouse.row));
                Vec::new()
            }
            MouseKind::Drag => {
                let Some((column, row)) = self.drag_from else { return Vec::new() };
                let area = parts.pictures[0];
                let share = |from: u16, to: u16, length: u16| {
                    (f64::from(from) - f64::from(to)) / f64::from(length.max(1))
                };
                let across = share(column, mouse.column, area.width);
                let down = share(row, mouse.row, area.height);
                self.drag_from = Some((mouse.column, mouse.row));
                self.pictures[0].pan(across, down);
                self.refresh()
            }
            MouseKind::ScrollUp if on_picture => self.look_nearer(Act::ZoomIn),
            MouseKind::ScrollDown if on_picture => self.look_nearer(Act::ZoomOut),
            MouseKind::ScrollUp => self.go(Act::PreviousItem),
            MouseKind::ScrollDown => self.go(Act::NextItem),
        }
    }
}
