//! What a release owner comes to ask, answered in one page: what moved, what it cost, how sure that is, who
//! decided, on what, and what it does not say.

use super::claim::NOT_LICENSED;
use super::compute::Score;
use super::presence::Rates;
use super::text::{badge, reach_text, side_text};
use crate::domain::escape::escape;

/// One answer: what it answers, and a line of it. Several lines of one answer repeat its name. Escaped.
pub(in crate::sighted) type Answered = (&'static str, String);

impl Score {
    /// The page. `decided` says, a line each, who signed what about the candidate.
    pub(in crate::sighted) fn summary(&self, decided: &[String]) -> Vec<Answered> {
        let escaped = |texts: &[String]| -> Vec<String> {
            texts.iter().map(|text| escape(text).into_owned()).collect()
        };
        let (moved, said) = self.sentences.split_at(usize::from(self.decisions.is_some()));
        let mut out = Vec::new();
        let mut answer = |name, lines: Vec<String>| {
            out.extend(lines.into_iter().map(|line| (name, line)));
        };
        answer("moved", escaped(moved));
        answer("cost", self.cost());
        answer("how sure", escaped(said));
        answer("decided", escaped(decided));
        answer("on what", escaped(&self.made_of));
        answer("more labels", self.reach());
        let not: Vec<&str> = NOT_LICENSED.iter().filter_map(|it| it.split(':').next()).collect();
        answer("says nothing", vec![format!("of {}", not.join("; of "))]);
        out
    }

    fn cost(&self) -> Vec<String> {
        let Some(all) = self.all() else { return Vec::new() };
        let badge = badge(all.blind);
        let sides = [("reference", false), ("candidate", true)];
        let line = |rates: &Rates, (side, candidate): (&str, bool)| {
            let text = side_text(rates, candidate);
            format!("{} {side} {text} {badge}", rates.measure.name())
        };
        [&all.recall, &all.false_positives]
            .into_iter()
            .flat_map(|rates| sides.map(|side| line(rates, side)))
            .collect()
    }

    fn reach(&self) -> Vec<String> {
        let rates = self.all().into_iter().flat_map(|all| [&all.recall, &all.false_positives]);
        rates
            .filter_map(|rates| Some(format!("{}: {}", rates.measure.name(), reach_text(rates)?)))
            .collect()
    }
}

/// The page as text, the names of answers in a column of [`COLUMNS`].
pub(in crate::sighted) fn summary_text(answers: &[Answered]) -> String {
    let mut out = String::new();
    let mut last = "";
    for (name, line) in answers {
        let shown = if *name == last { "" } else { name };
        out.push_str(&format!("{shown:<COLUMNS$}{line}\n"));
        last = name;
    }
    out
}

/// Columns of the names of answers.
pub(in crate::sighted) const COLUMNS: usize = 14;
