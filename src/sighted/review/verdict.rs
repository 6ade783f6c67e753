//! What a reviewer said, as events, and the state that follows from them.
//!
//! State is always the fold of the log. Undo and redo are events too, so they work across restarts; an
//! undo names the action it takes back by the action's own id.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::canonical::Json;
use crate::domain::digest::{ContentHash, FixtureId, ReportHash};
use crate::domain::label::NotPhotograph;
use crate::sighted::decision::report::{DetectionRow, Item, ItemKind};

/// What a reviewer says of one changed decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::sighted) enum Verdict {
    /// What the reference does is right here, and what the candidate does is not.
    Reference,
    /// The other way round.
    Candidate,
    /// Either would do.
    Both,
    /// Neither is right.
    Neither,
    /// The picture does not tell.
    CannotTell,
}

impl Verdict {
    /// All of them, in the order they are offered.
    pub(in crate::sighted) const ALL: [Self; 5] =
        [Self::Reference, Self::Candidate, Self::Both, Self::Neither, Self::CannotTell];

    /// The word in files; frozen.
    pub(in crate::sighted) const fn word(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Candidate => "candidate",
            Self::Both => "both",
            Self::Neither => "neither",
            Self::CannotTell => "cannot-tell",
        }
    }

    /// The words on screens.
    pub(in crate::sighted) const fn says(self) -> &'static str {
        match self {
            Self::Reference => "reference right",
            Self::Candidate => "candidate right",
            Self::Both => "both acceptable",
            Self::Neither => "neither",
            Self::CannotTell => "cannot tell",
        }
    }

    /// The verdict of a word in a file.
    pub(in crate::sighted) fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.word() == word)
    }
}

/// Names one changed decision of one comparison: what became of which slots.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::sighted) struct ItemKey {
    /// The picture.
    pub fixture: FixtureId,
    /// As text: `vanished a12`, `relabelled a3 b9`.
    pub change: String,
}

/// The word of a kind, as reports write it.
pub(in crate::sighted) const fn kind_word(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Vanished => "vanished",
        ItemKind::Appeared => "appeared",
        ItemKind::Relabelled => "relabelled",
        ItemKind::MovedSlot => "moved-slot",
        ItemKind::Replaced => "replaced",
    }
}

impl ItemKey {
    /// The key of a report's item.
    pub(in crate::sighted) fn of(fixture: FixtureId, item: &Item) -> Self {
        let mut change = kind_word(item.kind).to_owned();
        for (side, row) in [('a', &item.a), ('b', &item.b)] {
            if let Some(row) = row {
                change.push_str(&format!(" {side}{}", row.slot));
            }
        }
        Self { fixture, change }
    }
}

/// Who sat where when sides were hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sighted) enum LeftSide {
    /// The reference was shown as left.
    Reference,
    /// The candidate was shown as left.
    Candidate,
}

/// Names an action so that an undo can take it back: which sitting, which number in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::sighted) struct ActionId(pub String);

/// A judgement of one item: all of it, also when only a part changed.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) struct Judgement {
    /// The comparison it belongs to.
    pub comparison: ContentHash,
    /// The item.
    pub key: ItemKey,
    /// The verdict; none when it was cleared.
    pub verdict: Option<Verdict>,
    /// Free text.
    pub note: String,
    /// Set when the sides were hidden.
    pub hidden_sides: Option<LeftSide>,
    /// What the sides said then, so that the event can be read without the report.
    pub a: Option<DetectionRow>,
    /// The candidate's.
    pub b: Option<DetectionRow>,
}

/// A fixture flagged as not a photograph, or not any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) struct Flag {
    /// The picture.
    pub fixture: FixtureId,
    /// What it is instead.
    pub not_photograph: Option<NotPhotograph>,
}

/// What was shown to somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::sighted) enum Seen {
    /// The picture with what the sides found.
    Decisions,
    /// The squashed input, with what the sides found.
    ModelInput,
}

impl Seen {
    const fn word(self) -> &'static str {
        match self {
            Self::Decisions => "decisions",
            Self::ModelInput => "model-input",
        }
    }
}

/// Anything that happens in a review.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) enum ReviewEvent {
    /// A sitting began.
    Opened {
        /// On what.
        comparison: ContentHash,
        /// The report it was read from; none while the run is still going on.
        report: Option<ReportHash>,
        /// Decides which side is left, picture by picture, when sides are hidden.
        seed: u64,
        /// Sides are hidden.
        hidden_sides: bool,
    },
    /// Model output was seen for a fixture: an exposure.
    Exposed {
        /// Of which comparison.
        comparison: ContentHash,
        /// For which picture.
        fixture: FixtureId,
        /// What.
        seen: Seen,
    },
    /// An item was judged.
    Judged(ActionId, Judgement),
    /// A picture was flagged.
    Flagged(ActionId, Flag),
    /// An action was taken back.
    Undone(ActionId),
    /// An undone action was done again.
    Redone(ActionId),
}

impl ReviewEvent {
    /// Kind and payload, as the log keeps them.
    pub(in crate::sighted) fn to_parts(&self) -> (&'static str, Json) {
        match self {
            Self::Opened { comparison, report, seed, hidden_sides } => (
                "review-opened",
                object([
                    ("comparison", text(&comparison.to_hex())),
                    ("report", report.map_or(Json::Null, |report| text(&report.to_hex()))),
                    // A whole u64 does not fit every reader's numbers.
                    ("seed", text(&format!("{seed:016x}"))),
                    ("hiddenSides", Json::Bool(*hidden_sides)),
                ]),
            ),
            Self::Exposed { comparison, fixture, seen } => (
                "exposed",
                object([
                    ("comparison", text(&comparison.to_hex())),
                    ("fixture", text(&fixture.to_hex())),
                    ("seen", text(seen.word())),
                ]),
            ),
            Self::Judged(id, judgement) => ("judged", judgement.to_json(id)),
            Self::Flagged(id, flag) => (
                "flagged",
                object([
                    ("action", text(&id.0)),
                    ("fixture", text(&flag.fixture.to_hex())),
                    (
                        "notPhotograph",
                        flag.not_photograph.map_or(Json::Null, |kind| text(kind.word())),
                    ),
                ]),
            ),
            Self::Undone(id) => ("undone", object([("action", text(&id.0))])),
            Self::Redone(id) => ("redone", object([("action", text(&id.0))])),
        }
    }

    /// The event of a kind and payload; `None` for kinds that are not a review's.
    ///
    /// # Errors
    /// A payload that does not say what its kind should.
    pub(in crate::sighted) fn from_parts(
        kind: &str,
        payload: &Json,
    ) -> Result<Option<Self>, String> {
        Ok(Some(match kind {
            "review-opened" => Self::Opened {
                comparison: digest(payload, "comparison")?,
                report: match payload.get("report") {
                    Some(Json::Null) | None => None,
                    Some(_) => Some(digest(payload, "report")?),
                },
                seed: u64::from_str_radix(string(payload, "seed")?, 16)
                    .map_err(|_| "seed: expected 16 hex digits".to_owned())?,
                hidden_sides: matches!(payload.get("hiddenSides"), Some(Json::Bool(true))),
            },
            "exposed" => Self::Exposed {
                comparison: digest(payload, "comparison")?,
                fixture: digest(payload, "fixture")?,
                seen: match string(payload, "seen")? {
                    "model-input" => Seen::ModelInput,
                    _ => Seen::Decisions,
                },
            },
            "judged" => Self::Judged(action(payload)?, Judgement::from_json(payload)?),
            "flagged" => Self::Flagged(
                action(payload)?,
                Flag {
                    fixture: digest(payload, "fixture")?,
                    not_photograph: match payload.get("notPhotograph") {
                        Some(Json::Text(word)) => {
                            Some(NotPhotograph::from_word(word).ok_or_else(|| {
                                format!("notPhotograph: {word:?} is not a word of this format")
                            })?)
                        }
                        _ => None,
                    },
                },
            ),
            "undone" => Self::Undone(action(payload)?),
            "redone" => Self::Redone(action(payload)?),
            _ => return Ok(None),
        }))
    }
}

impl Judgement {
    fn to_json(&self, id: &ActionId) -> Json {
        let row = |row: &Option<DetectionRow>| {
            row.as_ref().and_then(|row| Json::from_value(row).ok()).unwrap_or(Json::Null)
        };
        object([
            ("action", text(&id.0)),
            ("comparison", text(&self.comparison.to_hex())),
            ("fixture", text(&self.key.fixture.to_hex())),
            ("change", text(&self.key.change)),
            ("verdict", self.verdict.map_or(Json::Null, |verdict| text(verdict.word()))),
            ("note", text(&self.note)),
            (
                "left",
                match self.hidden_sides {
                    None => Json::Null,
                    Some(LeftSide::Reference) => text("reference"),
                    Some(LeftSide::Candidate) => text("candidate"),
                },
            ),
            ("a", row(&self.a)),
            ("b", row(&self.b)),
        ])
    }

    fn from_json(payload: &Json) -> Result<Self, String> {
        let row = |name: &str| -> Result<Option<DetectionRow>, String> {
            match payload.get(name) {
                None | Some(Json::Null) => Ok(None),
                Some(row) => row.to_typed().map(Some).map_err(|error| format!("{name}: {error}")),
            }
        };
        Ok(Self {
            comparison: digest(payload, "comparison")?,
            key: ItemKey {
                fixture: digest(payload, "fixture")?,
                change: string(payload, "change")?.to_owned(),
            },
            verdict: match payload.get("verdict") {
                None | Some(Json::Null) => None,
                Some(Json::Text(word)) => Some(Verdict::from_word(word).ok_or_else(|| {
                    let words: Vec<_> = Verdict::ALL.iter().map(|verdict| verdict.word()).collect();
                    format!("verdict: expected {} or null, found {word:?}", words.join(", "))
                })?),
                Some(_) => return Err("verdict: expected a word or null".to_owned()),
            },
            note: payload.get("note").and_then(Json::as_str).unwrap_or_default().to_owned(),
            hidden_sides: match payload.get("left").and_then(Json::as_str) {
                Some("reference") => Some(LeftSide::Reference),
                Some("candidate") => Some(LeftSide::Candidate),
                _ => None,
            },
            a: row("a")?,
            b: row("b")?,
        })
    }
}

fn object<const N: usize>(fields: [(&str, Json); N]) -> Json {
    Json::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn text(value: &str) -> Json {
    Json::Text(value.to_owned())
}

fn string<'a>(payload: &'a Json, name: &str) -> Result<&'a str, String> {
    payload.get(name).and_then(Json::as_str).ok_or_else(|| format!("{name}: expected a string"))
}

fn digest<D: std::str::FromStr>(payload: &Json, name: &str) -> Result<D, String>
where
    D::Err: std::fmt::Display,
{
    string(payload, name)?.parse().map_err(|error: D::Err| format!("{name}: {error}"))
}

fn action(payload: &Json) -> Result<ActionId, String> {
    string(payload, "action").map(|id| ActionId(id.to_owned()))
}

/// What one reviewer has said, folded from the log.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::sighted) struct Ledger {
    /// Judgements by comparison and item, the newest last: undoing one shows the one before.
    judgements: BTreeMap<ContentHash, BTreeMap<ItemKey, Vec<Judgement>>>,
    flags: BTreeMap<FixtureId, Vec<Option<NotPhotograph>>>,
    done: Vec<(ActionId, Action)>,
    undone: Vec<(ActionId, Action)>,
    /// Fixtures seen, by comparison; and the last one.
    exposed: BTreeSet<(ContentHash, FixtureId, Seen)>,
    last_seen: BTreeMap<ContentHash, FixtureId>,
}

/// An action that can be undone.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sighted) enum Action {
    /// An item was judged.
    Judged(Judgement),
    /// A picture was flagged.
    Flagged(Flag),
}

impl Ledger {
    /// Applies the next event of the log.
    pub(in crate::sighted) fn apply(&mut self, event: &ReviewEvent) {
        match event {
            ReviewEvent::Opened { .. } => {}
            ReviewEvent::Exposed { comparison, fixture, seen } => {
                self.exposed.insert((*comparison, *fixture, *seen));
                self.last_seen.insert(*comparison, *fixture);
            }
            ReviewEvent::Judged(id, judgement) => {
                self.act(id.clone(), Action::Judged(judgement.clone()));
            }
            ReviewEvent::Flagged(id, flag) => self.act(id.clone(), Action::Flagged(flag.clone())),
            ReviewEvent::Undone(id) => {
                // A log that names another action than the last is not ours to repair: it changes nothing.
                if let Some(entry) = self.done.pop_if(|(last, _)| last == id) {
                    self.take_back(&entry.1);
                    self.undone.push(entry);
                }
            }
            ReviewEvent::Redone(id) => {
                if let Some((id, action)) = self.undone.pop_if(|(last, _)| last == id) {
                    self.put(&action);
                    self.done.push((id, action));
                }
            }
        }
    }

    fn act(&mut self, id: ActionId, action: Action) {
        self.put(&action);
        self.done.push((id, action));
        self.undone.clear();
    }

    fn put(&mut self, action: &Action) {
        match action {
            Action::Judged(judgement) => self
                .judgements
                .entry(judgement.comparison)
                .or_default()
                .entry(judgement.key.clone())
                .or_default()
                .push(judgement.clone()),
            Action::Flagged(flag) => {
                self.flags.entry(flag.fixture).or_default().push(flag.not_photograph);
            }
        }
    }

    fn take_back(&mut self, action: &Action) {
        match action {
            Action::Judged(judgement) => {
                let Some(items) = self.judgements.get_mut(&judgement.comparison) else { return };
                if let Some(stack) = items.get_mut(&judgement.key) {
                    stack.pop();
                    if stack.is_empty() {
                        items.remove(&judgement.key);
                    }
                }
                if items.is_empty() {
                    self.judgements.remove(&judgement.comparison);
                }
            }
            Action::Flagged(flag) => {
                if let Some(stack) = self.flags.get_mut(&flag.fixture) {
                    stack.pop();
                    if stack.is_empty() {
                        self.flags.remove(&flag.fixture);
                    }
                }
            }
        }
    }

    /// What stands for an item.
    pub(in crate::sighted) fn judgement(
        &self,
        comparison: ContentHash,
        key: &ItemKey,
    ) -> Option<&Judgement> {
        self.judgements.get(&comparison)?.get(key)?.last()
    }

    /// The verdict that stands for an item.
    pub(in crate::sighted) fn verdict(
        &self,
        comparison: ContentHash,
        key: &ItemKey,
    ) -> Option<Verdict> {
        self.judgement(comparison, key)?.verdict
    }

    /// What a flagged picture is instead of a photograph.
    pub(in crate::sighted) fn flag(&self, fixture: FixtureId) -> Option<NotPhotograph> {
        *self.flags.get(&fixture)?.last()?
    }

    /// All flagged pictures.
    pub(in crate::sighted) fn flagged(&self) -> impl Iterator<Item = (FixtureId, NotPhotograph)> {
        self.flags.iter().filter_map(|(fixture, stack)| Some((*fixture, (*stack.last()?)?)))
    }

    /// The action an undo would take back.
    pub(in crate::sighted) fn last_action(&self) -> Option<(&ActionId, &Action)> {
        self.done.last().map(|(id, action)| (id, action))
    }

    /// The action a redo would do again.
    pub(in crate::sighted) fn last_undone(&self) -> Option<(&ActionId, &Action)> {
        self.undone.last().map(|(id, action)| (id, action))
    }

    /// Whether that was seen already.
    pub(in crate::sighted) fn has_seen(
        &self,
        comparison: ContentHash,
        fixture: FixtureId,
        seen: Seen,
    ) -> bool {
        self.exposed.contains(&(comparison, fixture, seen))
    }

    /// The fixture looked at last.
    pub(in crate::sighted) fn last_seen(&self, comparison: ContentHash) -> Option<FixtureId> {
        self.last_seen.get(&comparison).copied()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn judgement(item: u8, verdict: Option<Verdict>) -> Judgement {
        Judgement {
            comparison: ContentHash::of(b"comparison"),
            key: ItemKey { fixture: FixtureId::of(&[item]), change: format!("vanished a{item}") },
            verdict,
            note: format!("note {item} \u{1b}"),
            hidden_sides: Some(LeftSide::Candidate),
            a: Some(DetectionRow {
                slot: 7,
                class_index: 1,
                confidence: 0.5,
                corners: [0.0, 0.25, 0.5, 1.0],
            }),
            b: None,
        }
    }

    fn id(number: usize) -> ActionId {
        ActionId(format!("s-{number}"))
    }

    /// A log from choices: an item and verdict to judge, a flag, an undo or a redo that fits.
    fn log(choices: &[(u8, u8)]) -> Vec<ReviewEvent> {
        let mut ledger = Ledger::default();
        let mut events = Vec::new();
        for (number, (what, which)) in choices.iter().enumerate() {
            let event = match what % 5 {
                0 | 1 => {
                    let verdict = Verdict::ALL.get(usize::from(which % 6)).copied();
                    ReviewEvent::Judged(id(number), judgement(which % 4, verdict))
                }
                2 => ReviewEvent::Flagged(
                    id(number),
                    Flag {
                        fixture: FixtureId::of(&[which % 3]),
                        not_photograph: NotPhotograph::ALL.get(usize::from(which % 7)).copied(),
                    },
                ),
                3 => match ledger.last_action() {
                    Some((id, _)) => ReviewEvent::Undone(id.clone()),
                    None => continue,
                },
                _ => match ledger.last_undone() {
                    Some((id, _)) => ReviewEvent::Redone(id.clone()),
                    None => continue,
                },
            };
            ledger.apply(&event);
            events.push(event);
        }
        events
    }

    fn fold(events: &[ReviewEvent]) -> Ledger {
        let mut ledger = Ledger::default();
        for event in events {
            ledger.apply(event);
        }
        ledger
    }

    #[test]
    fn words_are_frozen() {
        let words: Vec<_> = Verdict::ALL.iter().map(|verdict| verdict.word()).collect();
        assert_eq!(words, ["reference", "candidate", "both", "neither", "cannot-tell"]);
        for verdict in Verdict::ALL {
            assert_eq!(Verdict::from_word(verdict.word()), Some(verdict));
        }
    }

    #[test]
    fn undo_shows_what_stood_before_and_a_new_action_forgets_redo() {
        let (first, second) =
            (judgement(1, Some(Verdict::Both)), judgement(1, Some(Verdict::Neither)));
        let mut ledger = fold(&[
            ReviewEvent::Judged(id(1), first.clone()),
            ReviewEvent::Judged(id(2), second.clone()),
        ]);
        let verdict = |ledger: &Ledger| ledger.verdict(first.comparison, &first.key);
        assert_eq!(verdict(&ledger), Some(Verdict::Neither));
        ledger.apply(&ReviewEvent::Undone(id(2)));
        assert_eq!(verdict(&ledger), Some(Verdict::Both));
        ledger.apply(&ReviewEvent::Undone(id(1)));
        assert_eq!(verdict(&ledger), None);
        ledger.apply(&ReviewEvent::Redone(id(1)));
        assert_eq!(verdict(&ledger), Some(Verdict::Both));
        ledger.apply(&ReviewEvent::Judged(id(3), second));
        assert!(ledger.last_undone().is_none());
    }

    #[test]
    fn an_undo_of_something_else_changes_nothing() {
        let events = [ReviewEvent::Judged(id(1), judgement(1, Some(Verdict::Both)))];
        let mut ledger = fold(&events);
        let before = ledger.clone();
        ledger.apply(&ReviewEvent::Undone(id(9)));
        ledger.apply(&ReviewEvent::Redone(id(9)));
        assert_eq!(ledger, before);
    }

    #[test]
    fn a_payload_that_is_not_of_its_kind_is_refused() {
        let (kind, good) = ReviewEvent::Judged(id(1), judgement(1, Some(Verdict::Both))).to_parts();
        assert!(ReviewEvent::from_parts(kind, &good).is_ok());
        let bad = Json::parse(br#"{"action":"x","comparison":"zz"}"#).expect("JSON");
        assert!(ReviewEvent::from_parts(kind, &bad).is_err());
        let word = good.to_canonical().replace("\"both\"", "\"maybe\"");
        let wrong = Json::parse(word.as_bytes()).expect("JSON");
        let error = ReviewEvent::from_parts(kind, &wrong).expect_err("no such verdict");
        assert!(error.contains("maybe") && error.contains("cannot-tell"), "{error}");
        assert_eq!(ReviewEvent::from_parts("labelled", &good), Ok(None));
    }

    proptest! {
        #[test]
        fn undo_then_redo_changes_nothing(choices in prop::collection::vec((0_u8..5, 0_u8..42), 0..40)) {
            let events = log(&choices);
            let before = fold(&events);
            let mut after = before.clone();
            let last = after.last_action().map(|(id, _)| id.clone());
            if let Some(id) = last {
                after.apply(&ReviewEvent::Undone(id.clone()));
                after.apply(&ReviewEvent::Redone(id));
            }
            prop_assert_eq!(before, after);
        }

        #[test]
        fn undoing_everything_leaves_nothing(choices in prop::collection::vec((0_u8..5, 0_u8..42), 0..40)) {
            let mut ledger = fold(&log(&choices));
            while let Some((id, _)) = ledger.last_action() {
                let id = id.clone();
                ledger.apply(&ReviewEvent::Undone(id));
            }
            prop_assert!(ledger.judgements.is_empty() && ledger.flags.is_empty());
        }

        #[test]
        fn events_read_back_as_they_were_written(choices in prop::collection::vec((0_u8..5, 0_u8..42), 0..20)) {
            for event in log(&choices) {
                let (kind, payload) = event.to_parts();
                let again = Json::parse(payload.to_canonical().as_bytes()).expect("canonical");
                prop_assert_eq!(ReviewEvent::from_parts(kind, &again), Ok(Some(event)));
            }
        }
    }
}
