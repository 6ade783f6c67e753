//! What counts now, as the fold of a rater's events for one opened shard.
//!
//! The state is never stored as such: applying the events in order gives it, in this process and in the
//! next. Pure.

use std::collections::BTreeMap;

use crate::domain::digest::LabelFileHash;
use crate::domain::shard::Showing;
use crate::store::event_chain::{Pointer, PointerChange};
use crate::store::label_file::Confinement;
use crate::store::label_schema::{Answer, LabelEvent, LabelRow, Opening, subject};

/// What was said of one showing.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Given {
    /// An answer.
    Answer(Box<Answer>),
    /// Left out, with the reason.
    Skip(String),
}

/// An answer or skip of the log.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    /// Its event.
    pub seq: u64,
    /// Of which showing.
    pub showing: Showing,
    /// What.
    pub given: Given,
    /// When. UTC, RFC 3339.
    pub wall_utc: String,
}

/// One opened shard.
#[derive(Debug, Clone)]
pub(super) struct History {
    /// Sequence number of the opening event.
    pub opening_seq: u64,
    /// The terms.
    pub opening: Opening,
    /// When it was opened.
    pub opened_at: String,
    /// Every answer and skip ever given, taken back or not.
    entries: Vec<Entry>,
    /// Those that were not taken back, oldest first: places in `entries`.
    done: Vec<usize>,
    /// Those that were, newest last.
    undone: Vec<usize>,
    /// For every showing of the shard, its part of `done`.
    by_showing: BTreeMap<Showing, Vec<usize>>,
    /// Length of `done` that a seal has made permanent.
    sealed_length: usize,
    /// Files written.
    seals: Vec<LabelFileHash>,
    sittings: usize,
    unconfined: bool,
}

impl History {
    /// A shard that was just opened.
    pub(super) fn new(opening_seq: u64, opening: Opening, opened_at: String) -> Self {
        let by_showing = opening.order.iter().map(|showing| (*showing, Vec::new())).collect();
        Self {
            opening_seq,
            opening,
            opened_at,
            entries: Vec::new(),
            done: Vec::new(),
            undone: Vec::new(),
            by_showing,
            sealed_length: 0,
            seals: Vec::new(),
            sittings: 0,
            unconfined: false,
        }
    }

    /// Every shard opened in a log, in order.
    ///
    /// # Errors
    /// An event that cannot stand where it stands.
    pub(super) fn fold(rows: impl IntoIterator<Item = LabelRow>) -> Result<Vec<Self>, String> {
        let mut opened: Vec<Self> = Vec::new();
        for row in rows {
            let meaning = row.meaning?;
            if let LabelEvent::Open(opening) = meaning {
                opened.push(Self::new(row.seq, *opening, row.wall_utc));
                continue;
            }
            let Some(of) = opening_of(&meaning) else { continue };
            let history = opened
                .iter_mut()
                .find(|history| history.opening_seq == of)
                .ok_or_else(|| format!("event {} belongs to no opened shard", row.seq))?;
            history.take(meaning, row.seq, row.wall_utc)?;
        }
        Ok(opened)
    }

    /// Applies one more event of this shard.
    ///
    /// # Errors
    /// It cannot follow what there is.
    pub(super) fn apply(
        &mut self,
        event: &LabelEvent,
        seq: u64,
        wall_utc: &str,
    ) -> Result<(), String> {
        self.take(event.clone(), seq, wall_utc.to_owned())
    }

    fn take(&mut self, event: LabelEvent, seq: u64, wall_utc: String) -> Result<(), String> {
        let (showing, given) = match event {
            LabelEvent::Answer { answer, .. } => (answer.showing, Given::Answer(answer)),
            LabelEvent::Skip { showing, reason, .. } => (showing, Given::Skip(reason)),
            LabelEvent::Undo { target, .. } => return self.undo(target, seq),
            LabelEvent::Redo { target, .. } => return self.redo(target, seq),
            LabelEvent::Seal { file, .. } => {
                self.seals.push(file);
                self.sealed_length = self.done.len();
                self.undone.clear();
                return Ok(());
            }
            LabelEvent::Sitting { confinement, .. } => {
                self.sittings += 1;
                self.unconfined |= confinement == Confinement::None;
                return Ok(());
            }
            LabelEvent::Open(_) | LabelEvent::Rebuilt { .. } | LabelEvent::Other => {
                return Ok(());
            }
        };
        let places = self
            .by_showing
            .get_mut(&showing)
            .ok_or_else(|| format!("event {seq} is of a fixture that this shard does not show"))?;
        let place = self.entries.len();
        places.push(place);
        self.entries.push(Entry { seq, showing, given, wall_utc });
        self.done.push(place);
        self.undone.clear();
        Ok(())
    }

    fn undo(&mut self, target: u64, seq: u64) -> Result<(), String> {
        let place = self.done.pop().filter(|place| {
            self.entries[*place].seq == target && self.done.len() >= self.sealed_length
        });
        let Some(place) = place else {
            return Err(format!(
                "event {seq} takes back event {target}, which is not the last one"
            ));
        };
        if let Some(places) = self.by_showing.get_mut(&self.entries[place].showing) {
            places.pop();
        }
        self.undone.push(place);
        Ok(())
    }

    fn redo(&mut self, target: u64, seq: u64) -> Result<(), String> {
        let Some(place) = self.undone.pop().filter(|place| self.entries[*place].seq == target)
        else {
            return Err(format!("event {seq} restores event {target}, which was not taken back"));
        };
        self.done.push(place);
        self.by_showing.entry(self.entries[place].showing).or_default().push(place);
        Ok(())
    }

    /// What counts for a showing.
    pub(super) fn current(&self, showing: Showing) -> Option<&Entry> {
        let place = self.by_showing.get(&showing)?.last()?;
        self.entries.get(*place)
    }

    /// Showings that are answered or skipped.
    pub(super) fn done_count(&self) -> usize {
        self.opening.order.iter().filter(|showing| self.current(**showing).is_some()).count()
    }

    /// Showings that are neither.
    pub(super) fn left_count(&self) -> usize {
        self.opening.order.len() - self.done_count()
    }

    /// Place in the order of the first showing without an answer.
    pub(super) fn first_unanswered(&self) -> Option<usize> {
        self.opening.order.iter().position(|showing| self.current(*showing).is_none())
    }

    /// What undo would take back.
    pub(super) fn undoable(&self) -> Option<&Entry> {
        let place = self.done.last().filter(|_| self.done.len() > self.sealed_length)?;
        self.entries.get(*place)
    }

    /// What redo would restore.
    pub(super) fn redoable(&self) -> Option<&Entry> {
        self.entries.get(*self.undone.last()?)
    }

    /// Label files written so far.
    pub(super) fn seals(&self) -> &[LabelFileHash] {
        &self.seals
    }

    /// Has something changed since the last seal?
    pub(super) fn changed_since_seal(&self) -> bool {
        self.done.len() > self.sealed_length
    }

    /// What kept every sitting of this shard from other files.
    pub(super) fn confinement(&self) -> Confinement {
        if self.sittings > 0 && !self.unconfined {
            Confinement::Landlock
        } else {
            Confinement::None
        }
    }

    /// How pointers move with an event that is about to be appended.
    pub(super) fn pointer_changes(&self, event: &LabelEvent) -> Vec<PointerChange> {
        let change = |showing: Showing, to: Pointer| PointerChange {
            subject: subject(self.opening_seq, showing),
            to,
        };
        match event {
            LabelEvent::Answer { answer, .. } => vec![change(answer.showing, Pointer::ThisEvent)],
            LabelEvent::Skip { showing, .. } => vec![change(*showing, Pointer::ThisEvent)],
            LabelEvent::Undo { .. } => self
                .undoable()
                .map(|entry| {
                    let places = self.by_showing.get(&entry.showing);
                    let before = places.and_then(|places| places.iter().rev().nth(1));
                    let to = before
                        .map_or(Pointer::Nothing, |place| Pointer::Event(self.entries[*place].seq));
                    change(entry.showing, to)
                })
                .into_iter()
                .collect(),
            LabelEvent::Redo { target, .. } => self
                .redoable()
                .map(|entry| change(entry.showing, Pointer::Event(*target)))
                .into_iter()
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Where the pointers of this shard should stand.
    pub(super) fn pointers(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        self.by_showing.iter().filter_map(|(showing, places)| {
            let place = places.last()?;
            Some((subject(self.opening_seq, *showing), self.entries[*place].seq))
        })
    }
}

fn opening_of(event: &LabelEvent) -> Option<u64> {
    match event {
        LabelEvent::Sitting { opening, .. }
        | LabelEvent::Answer { opening, .. }
        | LabelEvent::Skip { opening, .. }
        | LabelEvent::Undo { opening, .. }
        | LabelEvent::Redo { opening, .. }
        | LabelEvent::Seal { opening, .. } => Some(*opening),
        LabelEvent::Open(_) | LabelEvent::Rebuilt { .. } | LabelEvent::Other => None,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::domain::digest::{FixtureId, ManifestHash, TaxonomyHash};
    use crate::domain::label::{Certainty, Label, Presence};
    use crate::domain::shard::Shard;
    use proptest::prelude::*;

    pub(in crate::blind) fn showing(number: u8) -> Showing {
        Showing { fixture: FixtureId::of(&[number]), pass: 1 }
    }

    pub(in crate::blind) fn opening(count: u8) -> Opening {
        Opening {
            shard: Shard::WHOLE,
            manifest: ManifestHash::of(b"m"),
            fixture_count: u64::from(count),
            taxonomy: TaxonomyHash::of(b"t"),
            groups: ["bottles", "cans", "paper"].map(str::to_owned).to_vec(),
            seed: 0,
            overlap: 0.0,
            repeats: 0.0,
            order: (0..count).map(showing).collect(),
        }
    }

    pub(in crate::blind) fn answer(number: u8, note: &str) -> LabelEvent {
        LabelEvent::Answer {
            opening: 1,
            answer: Box::new(Answer {
                showing: showing(number),
                label: Label {
                    presence: Presence::Clean,
                    categories: BTreeMap::new(),
                    certainty: Certainty::High,
                    not_photograph: None,
                    note: note.to_owned(),
                },
                seconds: 1.0,
                seen_as: None,
                amended: None,
            }),
        }
    }

    fn note(history: &History, number: u8) -> Option<String> {
        match &history.current(showing(number))?.given {
            Given::Answer(answer) => Some(answer.label.note.clone()),
            Given::Skip(reason) => Some(format!("skipped: {reason}")),
        }
    }

    fn history(count: u8) -> History {
        History::new(1, opening(count), "2026-02-03T04:05:06+00:00".to_owned())
    }

    #[test]
    fn undo_and_redo_walk_the_whole_history() {
        let mut history = history(3);
        let undo = |target| LabelEvent::Undo { opening: 1, target };
        let redo = |target| LabelEvent::Redo { opening: 1, target };
        let skip = LabelEvent::Skip { opening: 1, showing: showing(2), reason: "dark".to_owned() };
        for (seq, event) in [(2, answer(0, "a")), (3, answer(0, "b")), (4, skip)] {
            history.apply(&event, seq, "").expect("follows");
        }
        assert_eq!((history.done_count(), history.left_count()), (2, 1));
        assert_eq!(history.first_unanswered(), Some(1));
        assert_eq!(note(&history, 2).as_deref(), Some("skipped: dark"));
        history.apply(&undo(4), 5, "").expect("the last");
        assert_eq!(note(&history, 2), None);
        assert!(history.apply(&undo(2), 6, "").is_err(), "not the last");
        let mut history = self::history(3);
        for (seq, event) in [(2, answer(0, "a")), (3, answer(0, "b"))] {
            history.apply(&event, seq, "").expect("follows");
        }
        history.apply(&undo(3), 4, "").expect("the last");
        assert_eq!(note(&history, 0).as_deref(), Some("a"));
        history.apply(&undo(2), 5, "").expect("the one before");
        assert_eq!(note(&history, 0), None);
        assert!(history.undoable().is_none());
        history.apply(&redo(2), 6, "").expect("taken back last");
        history.apply(&redo(3), 7, "").expect("taken back before");
        assert_eq!(note(&history, 0).as_deref(), Some("b"));
        assert!(history.apply(&redo(3), 8, "").is_err(), "nothing is left to restore");
    }

    #[test]
    fn a_seal_ends_undo_and_later_answers_are_amendments() {
        let mut history = history(2);
        history.apply(&answer(0, "a"), 2, "").expect("follows");
        let seal = LabelEvent::Seal { opening: 1, file: LabelFileHash::of(b"f") };
        history.apply(&seal, 3, "").expect("follows");
        assert!(history.undoable().is_none() && !history.changed_since_seal());
        history.apply(&answer(0, "b"), 4, "").expect("follows");
        assert!(history.changed_since_seal());
        assert_eq!(history.undoable().map(|entry| entry.seq), Some(4));
        history.apply(&LabelEvent::Undo { opening: 1, target: 4 }, 5, "").expect("the last");
        assert_eq!(note(&history, 0).as_deref(), Some("a"));
        let error = history.clone().apply(&LabelEvent::Undo { opening: 1, target: 2 }, 6, "");
        assert!(error.is_err(), "sealed");
    }

    #[test]
    fn events_of_other_fixtures_and_shards_are_refused() {
        assert!(history(1).apply(&answer(9, ""), 2, "").is_err());
        let row = |seq, meaning: &LabelEvent| LabelRow {
            seq,
            actor: "ada".to_owned(),
            sitting: 1,
            wall_utc: String::new(),
            meaning: Ok(meaning.clone()),
        };
        let open = LabelEvent::Open(Box::new(opening(2)));
        assert!(History::fold([row(1, &open), row(2, &answer(0, ""))]).is_ok());
        assert!(History::fold([row(2, &open), row(3, &answer(0, ""))]).is_err());
    }

    #[test]
    fn confinement_is_that_of_the_weakest_sitting() {
        let sitting = |confinement| LabelEvent::Sitting {
            opening: 1,
            confinement,
            product: String::new(),
            network_disk: None,
        };
        let mut history = history(1);
        assert_eq!(history.confinement(), Confinement::None);
        history.apply(&sitting(Confinement::Landlock), 2, "").expect("follows");
        assert_eq!(history.confinement(), Confinement::Landlock);
        history.apply(&sitting(Confinement::None), 3, "").expect("follows");
        assert_eq!(history.confinement(), Confinement::None);
    }

    proptest! {
        /// Any walk of answers, undos and redos against a model that keeps whole states.
        #[test]
        fn folding_agrees_with_a_model(steps in proptest::collection::vec(0_u8..12, 0..60)) {
            let mut history = history(4);
            let mut pointers: BTreeMap<String, u64> = BTreeMap::new();
            let mut states = vec![BTreeMap::<u8, String>::new()];
            let mut at = 0;
            for (seq, step) in (2_u64..).zip(steps) {
                let event = match step {
                    0..=7 => {
                        states.truncate(at + 1);
                        let mut next = states[at].clone();
                        next.insert(step % 4, seq.to_string());
                        states.push(next);
                        at += 1;
                        answer(step % 4, &seq.to_string())
                    }
                    8..=9 => {
                        prop_assert_eq!(history.undoable().is_some(), at > 0);
                        let Some(target) = history.undoable().map(|entry| entry.seq) else { continue };
                        at -= 1;
                        LabelEvent::Undo { opening: 1, target }
                    }
                    _ => {
                        prop_assert_eq!(history.redoable().is_some(), at + 1 < states.len());
                        let Some(target) = history.redoable().map(|entry| entry.seq) else { continue };
                        at += 1;
                        LabelEvent::Redo { opening: 1, target }
                    }
                };
                for change in history.pointer_changes(&event) {
                    match change.to {
                        Pointer::ThisEvent => pointers.insert(change.subject, seq),
                        Pointer::Event(seq) => pointers.insert(change.subject, seq),
                        Pointer::Nothing => pointers.remove(&change.subject),
                    };
                }
                history.apply(&event, seq, "").expect("follows");
                for number in 0..4 {
                    prop_assert_eq!(note(&history, number), states[at].get(&number).cloned());
                }
                let folded: BTreeMap<String, u64> = history.pointers().collect();
                prop_assert_eq!(&folded, &pointers);
            }
        }
    }
}
