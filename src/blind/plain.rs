//! The twin without a screen: questions and answers as lines, for screen readers, dumb terminals and
//! scripts. Every answer is acknowledged with `saved` and its event number before the next question.

use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;

use crate::domain::label::{CategoryState, Certainty, NotPhotograph, Presence};
use crate::store::clock::Clock;
use crate::store::fixtures::PixelSource;
use crate::store::label_file::SeenAs;
use crate::store::viewing::ViewPlace;

use super::history::Given;
use super::journal::{Journal, News};
use super::sitting::{Ask, Notice, Sitting};
use super::{CATEGORY_KEYS, shown_name};

/// Longest line read, in bytes.
const MAX_LINE: u64 = 16 << 10;

/// What it talks through and works on.
pub(super) struct Plain<'a> {
    /// Lines come from here.
    pub input: &'a mut dyn BufRead,
    /// Lines go here.
    pub output: &'a mut dyn Write,
    /// Pictures.
    pub pixels: PixelSource,
    /// Where a picture is put to be looked at.
    pub view: Option<ViewPlace>,
    /// The writer; none when nothing can be saved.
    pub journal: Option<Journal>,
    /// What the writer says.
    pub news: Receiver<News>,
    /// The time.
    pub clock: Clock,
}

/// What one word of a line means.
#[derive(Debug, PartialEq)]
enum Word {
    Ask(Ask),
    Unknown,
}

impl Plain<'_> {
    /// Asks until the rater leaves or the lines end.
    ///
    /// # Errors
    /// Lines cannot be read or written.
    pub(super) fn run(&mut self, sitting: &mut Sitting) -> std::io::Result<()> {
        let begun = Instant::now();
        let now = |clock: &Clock| match clock {
            Clock::System => begun.elapsed(),
            Clock::Fixed(_) => Duration::ZERO,
        };
        self.say(&format!(
            "{} done, {} left. `help` lists what can be typed; `list` the categories.",
            sitting.history().done_count(),
            sitting.history().left_count()
        ))?;
        if let Some(closed) = sitting.closed() {
            let text = closed.text();
            self.say(&text)?;
        }
        let mut asked = None;
        let mut seen_as = None;
        while !sitting.is_over() {
            if asked != sitting.showing() {
                asked = sitting.showing();
                seen_as = None;
                self.introduce(sitting)?;
            }
            self.say(&question(sitting))?;
            let Some(line) = self.line()? else { break };
            let line = line.trim();
            let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
            match first {
                "" => {}
                "help" => self.help()?,
                "list" => self.list(sitting)?,
                "status" => self.status(sitting)?,
                "view" => {
                    seen_as = self.view(sitting)?;
                }
                "quit" | "q" => {
                    sitting.leave();
                    self.notice(sitting)?;
                }
                "skip" => self.ask(sitting, Ask::Skip(rest.to_owned()), None, now(&self.clock))?,
                "note" => self.ask(sitting, Ask::Note(rest.to_owned()), None, now(&self.clock))?,
                "save" => self.ask(sitting, Ask::Save, seen_as.clone(), now(&self.clock))?,
                "undo" => self.ask(sitting, Ask::Undo, None, now(&self.clock))?,
                "redo" => self.ask(sitting, Ask::Redo, None, now(&self.clock))?,
                "back" => self.ask(sitting, Ask::Back, None, now(&self.clock))?,
                "next" => self.ask(sitting, Ask::Forward, None, now(&self.clock))?,
                "first" => self.ask(sitting, Ask::FirstUnanswered, None, now(&self.clock))?,
                _ => {
                    if self.marks(sitting, line, now(&self.clock))? && is_complete(sitting) {
                        self.ask(sitting, Ask::Save, seen_as.clone(), now(&self.clock))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Applies a line of marks; false when one was refused or not understood, which ends the line.
    fn marks(&mut self, sitting: &mut Sitting, line: &str, now: Duration) -> std::io::Result<bool> {
        for word in line.split_whitespace() {
            match understand(word, sitting.groups()) {
                // A word says what is, so what is so already stays: only on a screen is the same key again
                // a change of mind.
                Word::Ask(Ask::Category(index, state))
                    if sitting.draft().categories.get(index) == Some(&state) => {}
                Word::Ask(ask) => {
                    let _ = sitting.ask(ask, None, now);
                    if matches!(sitting.notice(), Some(Notice::Refused(_) | Notice::NotSaved(_))) {
                        self.notice(sitting)?;
                        return Ok(false);
                    }
                }
                Word::Unknown => {
                    let shown = crate::domain::escape::escape(word);
                    self.say(&format!("{shown:?} is not understood; `help` lists what is"))?;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Asks the sitting for something, and waits until an event that came of it is saved or not.
    fn ask(
        &mut self,
        sitting: &mut Sitting,
        ask: Ask,
        seen_as: Option<SeenAs>,
        now: Duration,
    ) -> std::io::Result<()> {
        if let Some(order) = sitting.ask(ask, seen_as, now) {
            let taken = self
                .journal
                .as_ref()
                .is_some_and(|journal| journal.append(order.ticket, order.event, order.changes));
            if !taken {
                let reason = "nothing can be written now".to_owned();
                sitting.hear(News::Failed { ticket: order.ticket, reason, fatal: true }, now);
            }
            let mut told_of_waiting = false;
            while sitting.is_saving() {
                let Ok(news) = self.news.recv() else {
                    let reason = "the writer has ended".to_owned();
                    sitting.hear(News::Failed { ticket: order.ticket, reason, fatal: true }, now);
                    break;
                };
                match &news {
                    News::Saved { receipt, .. } => {
                        let line = format!("saved {} {}", receipt.seq, receipt.head.short());
                        self.say(&line)?;
                    }
                    News::Waiting { .. } if !told_of_waiting => {
                        told_of_waiting = true;
                        self.say("not saved yet: waiting for another process's lock")?;
                    }
                    News::Waiting { .. } | News::Failed { .. } => {}
                }
                sitting.hear(news, now);
            }
        }
        match sitting.notice() {
            Some(Notice::Done(text)) if text == "saved" => Ok(()),
            _ => self.notice(sitting),
        }
    }

    fn introduce(&mut self, sitting: &Sitting) -> std::io::Result<()> {
        let history = sitting.history();
        let state = match sitting.answered() {
            Some(Given::Answer(_)) => "answered",
            Some(Given::Skip(_)) => "skipped",
            None => "not answered",
        };
        let id = sitting.showing().map(|showing| showing.fixture.to_hex()).unwrap_or_default();
        let line = format!(
            "picture {}, {state}: {} done, {} left",
            id.get(..10).unwrap_or_default(),
            history.done_count(),
            history.left_count()
        );
        self.say(&line)
    }

    /// Puts the picture where it can be looked at.
    fn view(&mut self, sitting: &Sitting) -> std::io::Result<Option<SeenAs>> {
        let Some(showing) = sitting.showing() else { return Ok(None) };
        let put = || -> Result<(String, SeenAs), String> {
            let place = self.view.as_ref().ok_or("there is no place to put it")?;
            let upright = self.pixels.picture(showing.fixture)?;
            let path = place.put(&upright.picture).map_err(|error| error.to_string())?;
            let pixels = [upright.picture.width(), upright.picture.height()];
            let seen = SeenAs { protocol: "viewer".to_owned(), cells: [0, 0], pixels, zoom: 1.0 };
            Ok((crate::domain::escape::escape_os(path.as_os_str()), seen))
        };
        match put() {
            Ok((path, seen)) => {
                self.say(&format!("look at {path}"))?;
                Ok(Some(seen))
            }
            Err(reason) => {
                self.say(&format!("it cannot be shown: {reason}"))?;
                Ok(None)
            }
        }
    }

    fn help(&mut self) -> std::io::Result<()> {
        self.say(
            "y or n: litter, or clean. Letters: that category is present; with ? after it unsure; with - \
             absent. h, m, l: how sure. A line such as `y b g? h` is a whole answer.\n\
             photo, screenshot, illustration, text, game, other: what the picture is.\n\
             view: put the picture where a viewer can open it. note TEXT. skip REASON. undo, redo.\n\
             back, next, first: other pictures. list, status, save, quit.",
        )
    }

    fn list(&mut self, sitting: &Sitting) -> std::io::Result<()> {
        for (key, name) in CATEGORY_KEYS.iter().zip(sitting.groups()) {
            self.say(&format!("{key} {}", shown_name(name)))?;
        }
        Ok(())
    }

    fn status(&mut self, sitting: &Sitting) -> std::io::Result<()> {
        let draft = sitting.draft();
        let presence = draft.presence.map_or("not said", Presence::word);
        let certainty = draft.certainty.map_or("not said", Certainty::word);
        let kind = draft.not_photograph.map_or("photograph", NotPhotograph::word);
        let mut line = format!("{presence}; sure: {certainty}; {kind}");
        for (name, state) in sitting.groups().iter().zip(&draft.categories) {
            if *state != CategoryState::Absent {
                line.push_str(&format!("; {} {state}", shown_name(name)));
            }
        }
        if !draft.note.is_empty() {
            line.push_str(&format!("; note: {}", crate::domain::escape::escape(&draft.note)));
        }
        self.say(&line)
    }

    fn notice(&mut self, sitting: &Sitting) -> std::io::Result<()> {
        match sitting.notice() {
            Some(notice) => {
                let text = notice.text().to_owned();
                self.say(&text)
            }
            None => Ok(()),
        }
    }

    fn say(&mut self, text: &str) -> std::io::Result<()> {
        writeln!(self.output, "{text}")?;
        self.output.flush()
    }

    /// The next line; `None` at the end. A line that is too long ends the conversation.
    fn line(&mut self) -> std::io::Result<Option<String>> {
        let mut bytes = Vec::new();
        let read = std::io::Read::take(&mut *self.input, MAX_LINE).read_until(b'\n', &mut bytes)?;
        if read == 0 {
            return Ok(None);
        }
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }
}

fn is_complete(sitting: &Sitting) -> bool {
    let draft = sitting.draft();
    let marked = draft.categories.iter().any(|state| *state != CategoryState::Absent);
    let kinds = draft.presence == Some(Presence::Clean) || marked || sitting.groups().is_empty();
    draft.presence.is_some() && draft.certainty.is_some() && kinds
}

/// The next thing that is missing.
fn question(sitting: &Sitting) -> String {
    let draft = sitting.draft();
    let marked = draft.categories.iter().any(|state| *state != CategoryState::Absent);
    if sitting.closed().is_some() || (sitting.answered().is_some() && !sitting.is_marked()) {
        "back, next, first, or another answer?".to_owned()
    } else if draft.presence.is_none() {
        "is there litter? y or n".to_owned()
    } else if draft.presence == Some(Presence::Litter) && !marked {
        "which categories? letters, with ? where unsure".to_owned()
    } else if draft.certainty.is_none() {
        "how sure? h, m or l".to_owned()
    } else {
        "save?".to_owned()
    }
}

fn understand(word: &str, groups: &[String]) -> Word {
    let lower = word.to_lowercase();
    let ask = match lower.as_str() {
        "y" | "yes" | "litter" => Ask::Presence(Presence::Litter),
        "n" | "no" | "clean" => Ask::Presence(Presence::Clean),
        "h" | "high" => Ask::Certainty(Certainty::High),
        "m" | "medium" => Ask::Certainty(Certainty::Medium),
        "l" | "low" => Ask::Certainty(Certainty::Low),
        "photo" | "photograph" => Ask::NotPhotograph(None),
        other => {
            if let Some(index) = category(other, groups) {
                return Word::Ask(Ask::Category(index, CategoryState::Present));
            }
            if let Some(kind) = NotPhotograph::from_word(other) {
                return Word::Ask(Ask::NotPhotograph(Some(kind)));
            }
            let split = other.strip_suffix('?').map(|name| (name, CategoryState::Unsure));
            let split =
                split.or_else(|| other.strip_suffix('-').map(|name| (name, CategoryState::Absent)));
            match split.and_then(|(name, state)| Some((category(name, groups)?, state))) {
                Some((index, state)) => Ask::Category(index, state),
                None => return Word::Unknown,
            }
        }
    };
    Word::Ask(ask)
}

/// A category by its letter, or by its name. `other` names the kind of a picture, so a category of that
/// name has its letter only.
fn category(word: &str, groups: &[String]) -> Option<usize> {
    let by_letter =
        groups.iter().zip(CATEGORY_KEYS).position(|(_, key)| key.encode_utf8(&mut [0; 4]) == word);
    let by_name =
        || groups.iter().position(|name| name == word && NotPhotograph::from_word(word).is_none());
    by_letter.or_else(by_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_mean_one_thing_each() {
        let groups = ["bottles", "caps_lids", "other"].map(str::to_owned);
        for (word, ask) in [
            ("y", Ask::Presence(Presence::Litter)),
            ("N", Ask::Presence(Presence::Clean)),
            ("low", Ask::Certainty(Certainty::Low)),
            ("b", Ask::Category(1, CategoryState::Present)),
            ("b?", Ask::Category(1, CategoryState::Unsure)),
            ("caps_lids-", Ask::Category(1, CategoryState::Absent)),
            ("c", Ask::Category(2, CategoryState::Present)),
            ("other", Ask::NotPhotograph(Some(NotPhotograph::Other))),
            ("photo", Ask::NotPhotograph(None)),
        ] {
            assert_eq!(understand(word, &groups), Word::Ask(ask), "{word}");
        }
        for word in ["d", "b!", "", "\u{1b}[2J", "yy"] {
            assert_eq!(understand(word, &groups), Word::Unknown, "{word:?}");
        }
    }
}
