//! One reviewer at work on one comparison: material, queue, what stands, and the next event. Pure; the
//! screen and the numbered prompts both sit at it.

use std::sync::Arc;

use super::material::{Material, ReviewItem};
use super::queue::{Queue, title};
use super::tally::Tally;
use super::verdict::{
    Action, ActionId, Flag, ItemKey, Judgement, Ledger, LeftSide, ReviewEvent, Seen, Verdict,
};
use crate::domain::digest::{FixtureId, sha256};
use crate::domain::escape::escape;
use crate::domain::label::{MAX_NOTE, NotPhotograph, is_plain};

/// The state.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Desk {
    /// What there is to review.
    pub material: Arc<Material>,
    /// What stands.
    pub ledger: Ledger,
    /// Order and place.
    pub queue: Queue,
    seed: u64,
    hidden_sides: bool,
    next_action: u64,
}

/// What an undo or redo did, for people.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Reverted {
    /// To be written.
    pub event: ReviewEvent,
    /// The action in words, escaped.
    pub says: String,
}

impl Desk {
    /// Sits down. `seed` is new for every sitting: it names its actions, and decides which side is left
    /// when sides are hidden.
    pub(in crate::sighted) fn new(
        material: impl Into<Arc<Material>>,
        ledger: Ledger,
        seed: u64,
        hidden_sides: bool,
    ) -> Self {
        let material = material.into();
        let queue = Queue::new(&material, &ledger);
        let mut desk = Self { material, ledger, queue, seed, hidden_sides, next_action: 1 };
        desk.go_where_left();
        desk
    }

    /// The event that opens the sitting.
    pub(in crate::sighted) fn opened(&self) -> ReviewEvent {
        ReviewEvent::Opened {
            comparison: self.material.comparison,
            report: self.material.report,
            seed: self.seed,
            hidden_sides: self.hidden_sides,
        }
    }

    /// Takes over a material that holds more; the cursor stays on its change.
    pub(in crate::sighted) fn grow(&mut self, material: Arc<Material>) {
        let key = self.item().map(|item| item.key.clone());
        self.material = material;
        self.rebuild();
        if let Some(key) = key {
            self.go_to_key(&key);
        }
    }

    /// Goes to a change, if it is in the queue.
    pub(in crate::sighted) fn go_to_key(&mut self, key: &ItemKey) {
        if let Some(item) = self.material.items.iter().position(|item| item.key == *key) {
            self.queue.go_to_item(item);
        }
    }

    /// Makes the queue again.
    pub(in crate::sighted) fn rebuild(&mut self) {
        self.queue.rebuild(&self.material, &self.ledger);
    }

    /// To the picture looked at last, and in it to the first item without a verdict.
    fn go_where_left(&mut self) {
        let last = self.ledger.last_seen(self.material.comparison);
        let image = last.and_then(|fixture| {
            self.material.images.iter().position(|image| image.fixture == fixture)
        });
        if image.is_some_and(|image| self.queue.go_to_image(image)) {
            let open = self.queue.entry().and_then(|entry| {
                entry.items.iter().position(|index| {
                    let item = &self.material.items[*index];
                    !item.is_moved() && self.verdict_of(item).is_none()
                })
            });
            if let Some(place) = open {
                self.queue.go_to_item_place(place);
            }
        }
    }

    /// The item under the cursor.
    pub(in crate::sighted) fn item(&self) -> Option<&ReviewItem> {
        self.material.items.get(self.queue.item()?)
    }

    /// The verdict that stands for an item.
    pub(in crate::sighted) fn verdict_of(&self, item: &ReviewItem) -> Option<Verdict> {
        self.ledger.verdict(self.material.comparison, &item.key)
    }

    /// The note that stands for an item.
    pub(in crate::sighted) fn note_of(&self, item: &ReviewItem) -> &str {
        self.ledger
            .judgement(self.material.comparison, &item.key)
            .map_or("", |judgement| judgement.note.as_str())
    }

    /// Whether sides are hidden.
    pub(in crate::sighted) fn hides_sides(&self) -> bool {
        self.hidden_sides
    }

    /// How the verdicts stand; `None` while that would tell which side is which.
    pub(in crate::sighted) fn tally(&self) -> Option<Tally> {
        let tally = Tally::of(&self.material, &self.ledger);
        (!self.hidden_sides || tally.is_done()).then_some(tally)
    }

    /// Which side is shown as left for a fixture; `None` when sides are not hidden. A fair coin that the
    /// seed and the fixture decide.
    pub(in crate::sighted) fn left_side(&self, fixture: FixtureId) -> Option<LeftSide> {
        self.hidden_sides.then(|| {
            let mut bytes = self.seed.to_be_bytes().to_vec();
            bytes.extend(fixture.as_bytes());
            if sha256(&bytes)[0] & 1 == 0 { LeftSide::Reference } else { LeftSide::Candidate }
        })
    }

    /// What a verdict is called on the screen: left and right while sides are hidden.
    pub(in crate::sighted) fn says(&self, fixture: FixtureId, verdict: Verdict) -> &'static str {
        match (self.left_side(fixture), verdict) {
            (Some(LeftSide::Reference), Verdict::Reference)
            | (Some(LeftSide::Candidate), Verdict::Candidate) => "left is right",
            (Some(_), Verdict::Reference | Verdict::Candidate) => "right is right",
            _ => verdict.says(),
        }
    }

    /// The verdict that the first or second key means for a fixture: the reference and the candidate, or
    /// left and right.
    pub(in crate::sighted) fn meant(&self, fixture: FixtureId, first: bool) -> Verdict {
        let swapped = self.left_side(fixture) == Some(LeftSide::Candidate);
        if first == swapped { Verdict::Candidate } else { Verdict::Reference }
    }

    /// The verdicts on a fixture in the order in which they are offered.
    pub(in crate::sighted) fn verdicts(&self, fixture: FixtureId) -> [Verdict; 5] {
        let [first, second] = [true, false].map(|first| self.meant(fixture, first));
        [first, second, Verdict::Both, Verdict::Neither, Verdict::CannotTell]
    }

    fn action_id(&mut self) -> ActionId {
        let id = ActionId(format!("{:016x}-{}", self.seed, self.next_action));
        self.next_action += 1;
        id
    }

    fn apply(&mut self, event: ReviewEvent) -> ReviewEvent {
        self.ledger.apply(&event);
        event
    }

    /// Judges an item; `None` for a verdict clears it. Nothing happens when it stands already.
    pub(in crate::sighted) fn judge(
        &mut self,
        item: usize,
        verdict: Option<Verdict>,
    ) -> Option<ReviewEvent> {
        let found = self.material.items.get(item)?;
        if self.verdict_of(found) == verdict {
            return None;
        }
        let note = self.note_of(found).to_owned();
        self.set(item, verdict, note)
    }

    /// Gives an item a note.
    ///
    /// # Errors
    /// Too long, or with characters that hide what it says.
    pub(in crate::sighted) fn annotate(
        &mut self,
        item: usize,
        note: &str,
    ) -> Result<Option<ReviewEvent>, String> {
        let note = note.trim();
        if note.chars().count() > MAX_NOTE || !is_plain(note) {
            return Err(format!("a note is plain text of at most {MAX_NOTE} characters"));
        }
        let Some(found) = self.material.items.get(item) else { return Ok(None) };
        if self.note_of(found) == note {
            return Ok(None);
        }
        let verdict = self.verdict_of(found);
        Ok(self.set(item, verdict, note.to_owned()))
    }

    /// Gives an item verdict and note at once.
    pub(in crate::sighted) fn set(
        &mut self,
        item: usize,
        verdict: Option<Verdict>,
        note: String,
    ) -> Option<ReviewEvent> {
        let found = self.material.items.get(item)?.clone();
        if self.verdict_of(&found) == verdict && self.note_of(&found) == note {
            return None;
        }
        let judgement = Judgement {
            comparison: self.material.comparison,
            hidden_sides: self.left_side(found.key.fixture),
            key: found.key,
            verdict,
            note,
            a: found.a,
            b: found.b,
        };
        let id = self.action_id();
        Some(self.apply(ReviewEvent::Judged(id, judgement)))
    }

    /// Flags the current picture as something else than a photograph, or takes the flag off.
    pub(in crate::sighted) fn flag(&mut self, kind: Option<NotPhotograph>) -> Option<ReviewEvent> {
        let fixture = self.material.images[self.queue.image()?].fixture;
        if self.ledger.flag(fixture) == kind {
            return None;
        }
        let id = self.action_id();
        Some(self.apply(ReviewEvent::Flagged(id, Flag { fixture, not_photograph: kind })))
    }

    /// Takes the last action back, and goes to what it was about.
    pub(in crate::sighted) fn undo(&mut self) -> Option<Reverted> {
        let (id, action) = self.ledger.last_action()?;
        let (id, action) = (id.clone(), action.clone());
        Some(self.revert(ReviewEvent::Undone(id), &action))
    }

    /// Does the last undone action again, and goes to what it is about.
    pub(in crate::sighted) fn redo(&mut self) -> Option<Reverted> {
        let (id, action) = self.ledger.last_undone()?;
        let (id, action) = (id.clone(), action.clone());
        Some(self.revert(ReviewEvent::Redone(id), &action))
    }

    fn revert(&mut self, event: ReviewEvent, action: &Action) -> Reverted {
        let event = self.apply(event);
        self.rebuild();
        self.go_to_action(action);
        Reverted { event, says: self.words(action) }
    }

    fn go_to_action(&mut self, action: &Action) {
        match action {
            Action::Judged(judgement) => self.go_to_key(&judgement.key),
            Action::Flagged(flag) => {
                let image =
                    self.material.images.iter().position(|image| image.fixture == flag.fixture);
                if let Some(image) = image {
                    self.queue.go_to_image(image);
                }
            }
        }
    }

    /// An action in words, escaped.
    fn words(&self, action: &Action) -> String {
        match action {
            Action::Judged(judgement) => {
                let said = match judgement.verdict {
                    Some(verdict) => self.says(judgement.key.fixture, verdict),
                    None => "verdict cleared",
                };
                let item = self.material.items.iter().find(|item| item.key == judgement.key);
                let (what, place) = match item {
                    Some(item) => (
                        title(&self.material, item),
                        self.material.images[item.image].written.clone(),
                    ),
                    // Of another comparison in the same database.
                    None => (judgement.key.change.clone(), judgement.key.fixture.short()),
                };
                let note = if judgement.note.is_empty() { "" } else { ", with its note" };
                format!("{said}{note}: {}, {}", escape(&what), escape(&place))
            }
            Action::Flagged(flag) => {
                let said = flag.not_photograph.map_or("a photograph", |kind| kind.word());
                format!("flagged {said}: {}", flag.fixture.short())
            }
        }
    }

    /// The event for looking at the current picture.
    pub(in crate::sighted) fn look(&mut self, seen: Seen) -> Option<ReviewEvent> {
        let fixture = self.material.images[self.queue.image()?].fixture;
        let event = ReviewEvent::Exposed { comparison: self.material.comparison, fixture, seen };
        Some(self.apply(event))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::material;
    use super::*;

    fn desk(hidden: bool) -> Desk {
        Desk::new(material(), Ledger::default(), 7, hidden)
    }

    #[test]
    fn every_action_is_one_event_and_can_be_taken_back() {
        let mut desk = desk(false);
        let item = desk.queue.item().expect("an item");
        assert!(desk.judge(item, Some(Verdict::Candidate)).is_some());
        assert!(desk.judge(item, Some(Verdict::Candidate)).is_none(), "it stands already");
        assert!(desk.annotate(item, " seen twice ").expect("plain").is_some());
        assert!(desk.annotate(item, "hid\u{202e}den").is_err());
        assert!(desk.flag(Some(NotPhotograph::Screenshot)).is_some());
        desk.queue.go_to(3);
        let undone = desk.undo().expect("the flag");
        assert!(undone.says.contains("screenshot"), "{}", undone.says);
        assert_eq!(desk.queue.item(), Some(item), "goes to what was undone");
        let undone = desk.undo().expect("the note");
        assert!(undone.says.starts_with("candidate right, with its note"), "{}", undone.says);
        assert!(desk.undo().is_some());
        assert_eq!(desk.verdict_of(&desk.material.items[item]), None);
        assert!(desk.undo().is_none());
        assert!(desk.redo().is_some());
        assert_eq!(desk.verdict_of(&desk.material.items[item]), Some(Verdict::Candidate));
    }

    #[test]
    fn a_reviewer_comes_back_where_they_left() {
        let mut desk = desk(false);
        desk.queue.go_to(2);
        desk.look(Seen::Decisions);
        let again = Desk::new(material(), desk.ledger.clone(), 8, false);
        assert_eq!(again.queue.place(), 2);
    }

    #[test]
    fn hidden_sides_are_a_coin_that_the_seed_decides() {
        let desk = desk(true);
        let mut heads = 0;
        for number in 0..200_u8 {
            let fixture = FixtureId::of(&[number]);
            let left = desk.left_side(fixture).expect("hidden");
            assert_eq!(desk.left_side(fixture), Some(left));
            heads += usize::from(left == LeftSide::Reference);
            let meant = desk.meant(fixture, true);
            assert_eq!(meant == Verdict::Reference, left == LeftSide::Reference);
            assert_eq!(desk.says(fixture, meant), "left is right");
        }
        assert!((70..130).contains(&heads), "{heads} of 200");
        let other = Desk::new(material(), Ledger::default(), 8, true);
        let differ = (0..200_u8).filter(|number| {
            let fixture = FixtureId::of(&[*number]);
            other.left_side(fixture) != desk.left_side(fixture)
        });
        assert!(differ.count() > 50, "another seed, other sides");
    }

    #[test]
    fn a_hidden_verdict_is_stored_as_what_it_means() {
        let mut desk = desk(true);
        let item = desk.queue.item().expect("an item");
        let fixture = desk.material.items[item].key.fixture;
        let meant = desk.meant(fixture, true);
        match desk.judge(item, Some(meant)).expect("an event") {
            ReviewEvent::Judged(_, judgement) => {
                assert_eq!(judgement.verdict, Some(meant));
                assert_eq!(judgement.hidden_sides, desk.left_side(fixture));
            }
            other => panic!("{other:?}"),
        }
        let undone = desk.undo().expect("the verdict");
        assert!(!undone.says.contains("reference") && !undone.says.contains("candidate"));
    }
}
