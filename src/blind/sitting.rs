//! One rater at work on one shard: what is asked, what was marked, where the cursor is. Pure.
//!
//! A mark is a draft until it is saved; saving makes one event, and nothing moves before the journal
//! has acknowledged it. Drafts stay with their picture until the sitting ends.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::domain::label::{
    CategoryState, Certainty, MAX_REASON, NotPhotograph, Presence, is_plain,
};
use crate::domain::shard::Showing;
use crate::store::event_chain::PointerChange;
use crate::store::label_file::SeenAs;
use crate::store::label_schema::{Answer, LabelEvent};

use super::draft::Draft;
use super::history::{Given, History};
use super::journal::News;

/// What a rater can ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ask {
    /// Litter, or clean.
    Presence(Presence),
    /// A category's state; the same again takes it back.
    Category(usize, CategoryState),
    /// How sure.
    Certainty(Certainty),
    /// What it is, when no photograph; `None` when it is one.
    NotPhotograph(Option<NotPhotograph>),
    /// The note.
    Note(String),
    /// Save what is marked, go on.
    Save,
    /// Leave this one out, for a reason.
    Skip(String),
    /// Take back the last answer.
    Undo,
    /// Restore what was taken back.
    Redo,
    /// The picture before.
    Back,
    /// The picture after.
    Forward,
    /// The first picture without an answer.
    FirstUnanswered,
}

/// A line for the rater.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Notice {
    /// Something was done.
    Done(String),
    /// Something was not, and why.
    Refused(String),
    /// Something is not saved.
    NotSaved(String),
}

impl Notice {
    /// The words.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Done(text) | Self::Refused(text) | Self::NotSaved(text) => text,
        }
    }
}

/// How far an event has come.
#[derive(Debug, Clone, PartialEq)]
struct Pending {
    ticket: u64,
    event: LabelEvent,
    handed_in: Duration,
    /// The database is locked by another process.
    locked: bool,
}

/// An event for the journal.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Order {
    /// Number under which the journal answers.
    pub ticket: u64,
    /// The event.
    pub event: LabelEvent,
    /// Pointers that move with it.
    pub changes: Vec<PointerChange>,
}

/// Why nothing can be answered now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Closed {
    /// The shard is sealed.
    Sealed,
    /// Another process labels for this rater, or the place is read-only.
    ReadOnly(String),
    /// The disk failed.
    Failed(String),
}

impl Closed {
    /// The reason in words.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Sealed => {
                "sealed: answers are final; --amend REASON opens it for amendments".to_owned()
            }
            Self::ReadOnly(reason) => format!("to look at only: {reason}"),
            Self::Failed(reason) => format!("nothing more can be saved: {reason}"),
        }
    }
}

/// The state.
#[derive(Debug, Clone)]
pub(super) struct Sitting {
    history: History,
    cursor: usize,
    drafts: BTreeMap<usize, Draft>,
    draft: Draft,
    shown_at: Duration,
    pending: Option<Pending>,
    next_ticket: u64,
    notice: Option<Notice>,
    closed: Option<Closed>,
    amend: Option<String>,
    leaving: bool,
}

impl Sitting {
    /// A sitting that resumes where the history ends.
    pub(super) fn new(history: History, closed: Option<Closed>, amend: Option<String>) -> Self {
        let closed = closed
            .or_else(|| (!history.seals().is_empty() && amend.is_none()).then_some(Closed::Sealed));
        let cursor = history.first_unanswered().unwrap_or(0);
        let groups = history.opening.groups.len();
        let mut sitting = Self {
            history,
            cursor,
            drafts: BTreeMap::new(),
            draft: Draft::empty(groups),
            shown_at: Duration::ZERO,
            pending: None,
            next_ticket: 1,
            notice: None,
            closed,
            amend,
            leaving: false,
        };
        sitting.draft = sitting.saved_draft();
        sitting.notice = match (&sitting.closed, &sitting.amend) {
            (Some(closed), _) => Some(Notice::Refused(closed.text())),
            (None, Some(reason)) => Some(Notice::Done(format!("amending: {reason}"))),
            (None, None) if sitting.history.left_count() == 0 => {
                Some(Notice::Done(ALL_DONE.to_owned()))
            }
            (None, None) => None,
        };
        sitting
    }

    /// What counts.
    pub(super) fn history(&self) -> &History {
        &self.history
    }

    /// Category names, in the order shown.
    pub(super) fn groups(&self) -> &[String] {
        &self.history.opening.groups
    }

    /// The marks on the picture.
    pub(super) fn draft(&self) -> &Draft {
        &self.draft
    }

    /// The picture.
    pub(super) fn showing(&self) -> Option<Showing> {
        self.history.opening.order.get(self.cursor).copied()
    }

    /// The pictures that follow, likeliest first. Depends on the rater's order alone.
    pub(super) fn upcoming(&self) -> Vec<Showing> {
        let order = &self.history.opening.order;
        let ahead = order.iter().skip(self.cursor + 1).take(2);
        let behind = order[..self.cursor.min(order.len())].iter().rev().take(1);
        ahead.chain(behind).copied().collect()
    }

    /// The line for the rater.
    pub(super) fn notice(&self) -> Option<&Notice> {
        self.notice.as_ref()
    }

    /// The line was read; one that says something is not saved stays.
    pub(super) fn clear_notice(&mut self) {
        if !matches!(self.notice, Some(Notice::NotSaved(_))) {
            self.notice = None;
        }
    }

    /// Why nothing can be answered, if so.
    pub(super) fn closed(&self) -> Option<&Closed> {
        self.closed.as_ref()
    }

    /// Is an event on its way?
    pub(super) fn is_saving(&self) -> bool {
        self.pending.is_some()
    }

    /// What is said while an event is on its way for longer than a person would call at once.
    pub(super) fn saving_text(&self, now: Duration) -> Option<String> {
        let pending = self.pending.as_ref()?;
        let waited = now.saturating_sub(pending.handed_in);
        if pending.locked {
            Some(format!(
                "not saved yet: waiting for another process's lock ({} s)",
                waited.as_secs()
            ))
        } else if waited >= Duration::from_secs(1) {
            Some(format!("not saved yet: waiting for the disk ({} s)", waited.as_secs()))
        } else {
            None
        }
    }

    /// Has the current picture an answer or skip that counts?
    pub(super) fn answered(&self) -> Option<&Given> {
        self.history.current(self.showing()?).map(|entry| &entry.given)
    }

    /// Are there marks that differ from what is saved?
    pub(super) fn is_marked(&self) -> bool {
        self.draft != self.saved_draft()
    }

    /// Pictures with marks that are not saved.
    pub(super) fn unsaved(&self) -> usize {
        self.drafts.len() + usize::from(self.is_marked())
    }

    /// Is the sitting over?
    pub(super) fn is_over(&self) -> bool {
        self.leaving
    }

    /// The rater wants to leave. The first time with marks that are not saved, that is said instead.
    pub(super) fn leave(&mut self) {
        let unsaved = self.unsaved();
        let warned = matches!(&self.notice, Some(Notice::NotSaved(text)) if text == LEAVE_AGAIN);
        if unsaved == 0 || warned || self.closed.is_some() {
            self.leaving = true;
        } else {
            self.notice = Some(Notice::NotSaved(LEAVE_AGAIN.to_owned()));
        }
    }

    /// Applies what the rater asks for; an event to be journalled comes back.
    pub(super) fn ask(
        &mut self,
        ask: Ask,
        seen_as: Option<SeenAs>,
        now: Duration,
    ) -> Option<Order> {
        if self.pending.is_some() {
            // The picture of the next answer is not on the screen yet.
            return None;
        }
        self.notice = None;
        match ask {
            Ask::Back => self.go(self.cursor.checked_sub(1), "this is the first one", now),
            Ask::Forward => {
                let next = Some(self.cursor + 1).filter(|next| *next < self.order_len());
                self.go(next, "this is the last one", now);
            }
            Ask::FirstUnanswered => {
                self.go(self.history.first_unanswered(), "every picture is answered", now);
            }
            _ if self.closed.is_some() => {
                let text = self.closed.as_ref().map(Closed::text).unwrap_or_default();
                self.notice = Some(Notice::Refused(text));
            }
            Ask::Save => return self.save(seen_as, now),
            Ask::Skip(reason) => return self.skip(&reason, now),
            Ask::Undo => {
                let Some(target) = self.history.undoable().map(|entry| entry.seq) else {
                    self.notice = Some(Notice::Refused("nothing to take back".to_owned()));
                    return None;
                };
                let opening = self.history.opening_seq;
                return Some(self.hand_in(LabelEvent::Undo { opening, target }, now));
            }
            Ask::Redo => {
                let Some(target) = self.history.redoable().map(|entry| entry.seq) else {
                    self.notice = Some(Notice::Refused("nothing to restore".to_owned()));
                    return None;
                };
                let opening = self.history.opening_seq;
                return Some(self.hand_in(LabelEvent::Redo { opening, target }, now));
            }
            mark => self.mark(mark),
        }
        None
    }

    /// Applies what the journal says.
    pub(super) fn hear(&mut self, news: News, now: Duration) {
        let ticket = match &news {
            News::Saved { ticket, .. }
            | News::Waiting { ticket, .. }
            | News::Failed { ticket, .. } => *ticket,
        };
        let Some(pending) = self.pending.as_mut().filter(|pending| pending.ticket == ticket) else {
            return;
        };
        match news {
            News::Waiting { .. } => pending.locked = true,
            News::Saved { receipt, wall_utc, .. } => {
                let event = pending.event.clone();
                self.pending = None;
                self.saved(&event, receipt.seq, &wall_utc, now);
            }
            News::Failed { reason, fatal, .. } => {
                self.pending = None;
                let end = if fatal { "; nothing more can be saved" } else { "" };
                self.notice = Some(Notice::NotSaved(format!("NOT SAVED: {reason}{end}")));
                if fatal {
                    self.closed = Some(Closed::Failed(reason));
                }
            }
        }
    }

    fn order_len(&self) -> usize {
        self.history.opening.order.len()
    }

    fn mark(&mut self, ask: Ask) {
        let mut draft = self.draft.clone();
        match ask {
            Ask::Presence(presence) => draft.presence = Some(presence),
            Ask::Category(index, state) => {
                let Some(found) = draft.categories.get_mut(index) else { return };
                *found = if *found == state { CategoryState::Absent } else { state };
                if *found == CategoryState::Present && draft.presence.is_none() {
                    // Some of a category is litter.
                    draft.presence = Some(Presence::Litter);
                }
            }
            Ask::Certainty(certainty) => draft.certainty = Some(certainty),
            Ask::NotPhotograph(kind) => draft.not_photograph = kind,
            Ask::Note(note) => draft.note = note.trim().to_owned(),
            _ => return,
        }
        match draft.contradiction(self.groups()) {
            Some(text) => self.notice = Some(Notice::Refused(text)),
            None => self.draft = draft,
        }
    }

    fn save(&mut self, seen_as: Option<SeenAs>, now: Duration) -> Option<Order> {
        let showing = self.showing()?;
        let label = match self.draft.label(self.groups()) {
            Ok(label) => label,
            Err(missing) => {
                self.notice = Some(Notice::Refused(missing));
                return None;
            }
        };
        let fault = label.contradiction(self.groups()).or_else(|| label.gap(self.groups()));
        if let Some(fault) = fault {
            self.notice = Some(Notice::Refused(fault.to_string()));
            return None;
        }
        let same = matches!(self.answered(), Some(Given::Answer(answer)) if answer.label == label);
        if same {
            self.advance(now);
            return None;
        }
        let tenths = now.saturating_sub(self.shown_at).as_millis() / 100;
        let seconds = f64::from(u32::try_from(tenths).unwrap_or(u32::MAX)) / 10.0;
        let amended = self.amend.clone().filter(|_| !self.history.seals().is_empty());
        let answer = Box::new(Answer { showing, label, seconds, seen_as, amended });
        let opening = self.history.opening_seq;
        Some(self.hand_in(LabelEvent::Answer { opening, answer }, now))
    }

    fn skip(&mut self, reason: &str, now: Duration) -> Option<Order> {
        let reason = reason.trim();
        if reason.is_empty() || reason.chars().count() > MAX_REASON || !is_plain(reason) {
            let text = format!("a skip needs a reason of 1 to {MAX_REASON} visible characters");
            self.notice = Some(Notice::Refused(text));
            return None;
        }
        let (opening, showing) = (self.history.opening_seq, self.showing()?);
        let event = LabelEvent::Skip { opening, showing, reason: reason.to_owned() };
        Some(self.hand_in(event, now))
    }

    fn hand_in(&mut self, event: LabelEvent, now: Duration) -> Order {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        let changes = self.history.pointer_changes(&event);
        let kept = event.clone();
        self.pending = Some(Pending { ticket, event: kept, handed_in: now, locked: false });
        Order { ticket, event, changes }
    }

    fn saved(&mut self, event: &LabelEvent, seq: u64, wall_utc: &str, now: Duration) {
        let touched = match event {
            LabelEvent::Undo { .. } => self.history.undoable().map(|entry| entry.showing),
            LabelEvent::Redo { .. } => self.history.redoable().map(|entry| entry.showing),
            _ => None,
        };
        if let Err(fault) = self.history.apply(event, seq, wall_utc) {
            // The log has it, so it stays; what is shown would no longer be what counts.
            self.closed = Some(Closed::Failed(fault));
            return;
        }
        match (event, touched) {
            (LabelEvent::Undo { .. } | LabelEvent::Redo { .. }, Some(showing)) => {
                let place = self.history.opening.order.iter().position(|other| *other == showing);
                if let Some(place) = place {
                    if place != self.cursor {
                        self.keep_draft();
                    }
                    self.drafts.remove(&place);
                    self.cursor = place;
                    self.draft = self.saved_draft();
                    self.shown_at = now;
                }
                let word =
                    if matches!(event, LabelEvent::Undo { .. }) { "undone" } else { "restored" };
                self.notice = Some(Notice::Done(format!("{word}: this is what counts now")));
            }
            _ => {
                self.draft = self.saved_draft();
                self.advance(now);
                let text = if self.history.left_count() == 0 { ALL_DONE } else { "saved" };
                self.notice = Some(Notice::Done(text.to_owned()));
            }
        }
    }

    /// To the next picture without an answer: after this one, else the first; else stay.
    fn advance(&mut self, now: Duration) {
        let order = &self.history.opening.order;
        let open = |place: &usize| self.history.current(order[*place]).is_none();
        let next =
            (self.cursor + 1..order.len()).find(open).or_else(|| self.history.first_unanswered());
        let next = next.or_else(|| Some(self.cursor + 1).filter(|next| *next < order.len()));
        self.go(next, "saved", now);
    }

    fn go(&mut self, place: Option<usize>, otherwise: &str, now: Duration) {
        let Some(place) = place else {
            self.notice = Some(Notice::Done(otherwise.to_owned()));
            return;
        };
        if place == self.cursor {
            return;
        }
        self.keep_draft();
        self.cursor = place;
        self.draft = self.drafts.remove(&place).unwrap_or_else(|| self.saved_draft());
        self.shown_at = now;
    }

    fn keep_draft(&mut self) {
        if self.is_marked() {
            self.drafts.insert(self.cursor, self.draft.clone());
        }
    }

    /// The marks as they are saved.
    fn saved_draft(&self) -> Draft {
        match self.answered() {
            Some(Given::Answer(answer)) => Draft::of(&answer.label, self.groups()),
            Some(Given::Skip(_)) | None => Draft::empty(self.groups().len()),
        }
    }
}

const ALL_DONE: &str = "every picture is answered: leave, then `flipside seal` closes the shard";

const LEAVE_AGAIN: &str =
    "marks that are not saved will be lost: leave again to leave all the same";

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::blind::history::tests::{opening, showing};
    use crate::domain::digest::{ChainHead, LabelFileHash};
    use crate::store::event_chain::Receipt;

    const NOW: Duration = Duration::from_secs(2);

    pub(in crate::blind) fn sitting(count: u8) -> Sitting {
        let history = History::new(1, opening(count), String::new());
        Sitting::new(history, None, None)
    }

    /// Asks, and lets the journal acknowledge at once.
    pub(in crate::blind) fn ask(sitting: &mut Sitting, ask: Ask) -> Option<LabelEvent> {
        let order = sitting.ask(ask, None, NOW)?;
        let receipt = Receipt { seq: 100 + order.ticket, head: ChainHead::of(b"") };
        let news = News::Saved { ticket: order.ticket, receipt, wall_utc: String::new() };
        sitting.hear(news, NOW);
        Some(order.event)
    }

    fn text(sitting: &Sitting) -> &str {
        sitting.notice().map(Notice::text).unwrap_or_default()
    }

    fn answer_clean(sitting: &mut Sitting) {
        for asked in [Ask::Presence(Presence::Clean), Ask::Certainty(Certainty::High), Ask::Save] {
            ask(sitting, asked);
        }
    }

    #[test]
    fn a_plain_picture_takes_four_asks_and_moves_on_after_the_acknowledgement() {
        let mut sitting = sitting(3);
        ask(&mut sitting, Ask::Category(1, CategoryState::Present));
        assert_eq!(sitting.draft().presence, Some(Presence::Litter), "a category is litter");
        ask(&mut sitting, Ask::Certainty(Certainty::Medium));
        let order = sitting.ask(Ask::Save, None, NOW).expect("an event");
        assert!(sitting.is_saving());
        assert_eq!(sitting.showing(), Some(showing(0)), "not before it is saved");
        assert_eq!(sitting.ask(Ask::Presence(Presence::Clean), None, NOW), None);
        assert_eq!(sitting.draft().presence, Some(Presence::Litter), "keys meanwhile do nothing");
        let receipt = Receipt { seq: 2, head: ChainHead::of(b"") };
        let saved = News::Saved { ticket: order.ticket, receipt, wall_utc: String::new() };
        sitting.hear(saved, NOW);
        assert_eq!((sitting.showing(), text(&sitting)), (Some(showing(1)), "saved"));
        assert_eq!(sitting.draft(), &Draft::empty(3), "nothing is carried over");
        let LabelEvent::Answer { answer, .. } = order.event else { panic!("an answer") };
        assert_eq!(answer.label.state("cans"), CategoryState::Present);
        assert!((answer.seconds - 2.0).abs() < 1e-9);
    }

    #[test]
    fn contradictions_are_refused_in_words_and_change_nothing() {
        let mut sitting = sitting(2);
        ask(&mut sitting, Ask::Presence(Presence::Clean));
        ask(&mut sitting, Ask::Category(0, CategoryState::Present));
        assert!(text(&sitting).contains("clean, but bottles marked present"), "{}", text(&sitting));
        assert_eq!(sitting.draft().categories[0], CategoryState::Absent);
        ask(&mut sitting, Ask::Category(0, CategoryState::Unsure));
        assert_eq!(sitting.draft().categories[0], CategoryState::Unsure);
        ask(&mut sitting, Ask::Presence(Presence::Litter));
        ask(&mut sitting, Ask::Category(0, CategoryState::Unsure));
        assert_eq!(ask(&mut sitting, Ask::Save), None);
        assert!(text(&sitting).contains("how sure?"));
        ask(&mut sitting, Ask::Certainty(Certainty::Low));
        assert_eq!(ask(&mut sitting, Ask::Save), None);
        assert!(text(&sitting).contains("no category is marked"), "{}", text(&sitting));
        assert_eq!(ask(&mut self::sitting(1), Ask::Save), None);
        ask(&mut sitting, Ask::Category(2, CategoryState::Present));
        assert!(ask(&mut sitting, Ask::Save).is_some());
        ask(&mut sitting, Ask::Note("bad \u{202e} note".to_owned()));
        assert!(text(&sitting).contains("show nothing"), "{}", text(&sitting));
    }

    #[test]
    fn going_back_shows_what_was_said_and_keeps_drafts() {
        let mut sitting = sitting(3);
        answer_clean(&mut sitting);
        ask(&mut sitting, Ask::Certainty(Certainty::Low));
        ask(&mut sitting, Ask::Back);
        assert_eq!(sitting.draft().presence, Some(Presence::Clean));
        assert_eq!(sitting.unsaved(), 1);
        ask(&mut sitting, Ask::Forward);
        assert_eq!(sitting.draft().certainty, Some(Certainty::Low));
        ask(&mut sitting, Ask::Forward);
        ask(&mut sitting, Ask::FirstUnanswered);
        assert_eq!(sitting.showing(), Some(showing(1)));
        ask(&mut sitting, Ask::Back);
        assert_eq!(ask(&mut sitting, Ask::Save), None, "the same answer is no event");
        ask(&mut sitting, Ask::Back);
        ask(&mut sitting, Ask::Back);
        assert_eq!(text(&sitting), "this is the first one");
    }

    #[test]
    fn undo_and_redo_go_to_the_picture_they_change() {
        let mut sitting = sitting(3);
        answer_clean(&mut sitting);
        ask(&mut sitting, Ask::Skip("too dark".to_owned()));
        assert_eq!(sitting.showing(), Some(showing(2)));
        ask(&mut sitting, Ask::Undo);
        assert_eq!((sitting.showing(), sitting.answered()), (Some(showing(1)), None));
        ask(&mut sitting, Ask::Undo);
        assert_eq!((sitting.showing(), sitting.answered()), (Some(showing(0)), None));
        assert_eq!(sitting.draft(), &Draft::empty(3));
        ask(&mut sitting, Ask::Undo);
        assert_eq!(text(&sitting), "nothing to take back");
        ask(&mut sitting, Ask::Redo);
        assert!(matches!(sitting.answered(), Some(Given::Answer(_))));
        ask(&mut sitting, Ask::Redo);
        assert!(matches!(sitting.answered(), Some(Given::Skip(_))));
        ask(&mut sitting, Ask::Redo);
        assert_eq!(text(&sitting), "nothing to restore");
    }

    #[test]
    fn a_failed_save_stays_on_the_screen_and_can_be_tried_again() {
        let mut sitting = sitting(2);
        for asked in [Ask::Presence(Presence::Clean), Ask::Certainty(Certainty::High)] {
            ask(&mut sitting, asked);
        }
        let order = sitting.ask(Ask::Save, None, NOW).expect("an event");
        sitting.hear(News::Waiting { ticket: order.ticket, since: NOW }, NOW);
        assert!(sitting.saving_text(NOW * 4).is_some_and(|text| text.contains("lock (6 s)")));
        let full = News::Failed {
            ticket: order.ticket,
            reason: "the disk is full".to_owned(),
            fatal: false,
        };
        sitting.hear(full, NOW);
        assert_eq!(text(&sitting), "NOT SAVED: the disk is full");
        assert_eq!((sitting.showing(), sitting.unsaved()), (Some(showing(0)), 1));
        let order = sitting.ask(Ask::Save, None, NOW).expect("again");
        let failed =
            News::Failed { ticket: order.ticket, reason: "I/O error".to_owned(), fatal: true };
        sitting.hear(failed, NOW);
        assert_eq!(text(&sitting), "NOT SAVED: I/O error; nothing more can be saved");
        assert_eq!(sitting.ask(Ask::Save, None, NOW), None);
        assert!(text(&sitting).contains("nothing more can be saved: I/O error"));
        assert_eq!(sitting.draft().presence, Some(Presence::Clean), "still on the screen");
    }

    #[test]
    fn a_sealed_shard_takes_amendments_only_with_a_reason() {
        let mut history = History::new(1, opening(1), String::new());
        let seal = LabelEvent::Seal { opening: 1, file: LabelFileHash::of(b"f") };
        history.apply(&seal, 2, "").expect("follows");
        let mut closed = Sitting::new(history.clone(), None, None);
        assert!(text(&closed).starts_with("sealed: answers are final"), "said from the start");
        ask(&mut closed, Ask::Presence(Presence::Clean));
        assert!(text(&closed).contains("sealed"));
        let mut open = Sitting::new(history, None, Some("looked again".to_owned()));
        assert_eq!(text(&open), "amending: looked again");
        ask(&mut open, Ask::Presence(Presence::Clean));
        ask(&mut open, Ask::Certainty(Certainty::High));
        let Some(LabelEvent::Answer { answer, .. }) = ask(&mut open, Ask::Save) else {
            panic!("an answer")
        };
        assert_eq!(answer.amended.as_deref(), Some("looked again"));
    }

    #[test]
    fn leaving_with_marks_asks_once() {
        let mut sitting = sitting(2);
        ask(&mut sitting, Ask::Certainty(Certainty::High));
        sitting.leave();
        assert!(!sitting.is_over());
        sitting.leave();
        assert!(sitting.is_over());
        let mut clean = self::sitting(1);
        clean.leave();
        assert!(clean.is_over());
    }
}
