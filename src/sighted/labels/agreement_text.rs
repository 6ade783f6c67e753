//! Agreement as text for people and as JSON for programs.

use super::agreement::{AgreementReport, Comparison, Pooled, QuestionAgreement};
use crate::domain::canonical::Json;
use crate::domain::escape::escape;
use crate::stats::agreement::Coefficient;
use crate::stats::estimate::Estimate;
use crate::stats::proportion::Interval;

/// Columns of a question's name.
const NAME: usize = 22;

impl AgreementReport {
    /// For people.
    pub(in crate::sighted) fn to_text(&self) -> String {
        let mut lines = Vec::new();
        for (rater, pictures) in &self.raters {
            lines.push(format!("{rater}: {pictures} pictures labelled"));
        }
        if self.has_inter_rater() {
            for comparison in &self.between {
                let Comparison { first, second, pictures, .. } = comparison;
                lines.push(format!("\n{first} and {second}: {pictures} pictures in common"));
                comparison.lines(&mut lines);
            }
        } else {
            lines.push(
                "\nno inter-rater number exists: no picture was labelled by two raters".to_owned(),
            );
        }
        if !self.pooled.is_empty() {
            lines.push("\nall raters".to_owned());
            lines.extend(self.pooled.iter().map(Pooled::line));
        }
        for comparison in &self.oneself {
            let Comparison { first, pictures, .. } = comparison;
            lines.push(format!("\n{first} with themselves: {pictures} pictures answered twice"));
            comparison.lines(&mut lines);
        }
        if self.oneself.is_empty() {
            lines.push(
                "\nno number about one rater exists: no picture was answered twice by one rater"
                    .to_owned(),
            );
        }
        lines.join("\n")
    }

    /// The same in short: who and which question, and what came of it. Not escaped beyond names.
    pub(in crate::sighted) fn facts(&self) -> Vec<(String, String)> {
        let mut facts = Vec::new();
        for comparison in self.between.iter().chain(&self.oneself) {
            let Comparison { first, second, pictures, .. } = comparison;
            let who = if first == second {
                format!("{first} with themselves, {pictures} images")
            } else {
                format!("{first} and {second}, {pictures} images")
            };
            for question in &comparison.questions {
                facts.push((format!("{who}: {}", question.name()), question.parts().join("; ")));
            }
        }
        if !self.has_inter_rater() {
            let why = "no inter-rater number exists: no image was labelled by two raters";
            facts.push(("between raters".to_owned(), why.to_owned()));
        }
        facts
    }

    /// For programs.
    pub(in crate::sighted) fn to_json(&self) -> Json {
        let raters = self.raters.iter().map(|(rater, pictures)| {
            Json::object([("rater", Json::text(rater)), ("pictures", Json::int(*pictures))])
        });
        Json::object([
            ("schema", Json::int(1)),
            ("interRater", Json::Bool(self.has_inter_rater())),
            ("raters", Json::Array(raters.collect())),
            ("between", Json::Array(self.between.iter().map(Comparison::json).collect())),
            ("pooled", Json::Array(self.pooled.iter().map(Pooled::json).collect())),
            ("oneself", Json::Array(self.oneself.iter().map(Comparison::json).collect())),
        ])
    }
}

impl Comparison {
    fn lines(&self, lines: &mut Vec<String>) {
        for question in &self.questions {
            lines.extend(question.lines());
        }
        if let Some(alpha) = self.set_alpha {
            lines.push(format!("  {:NAME$}alpha {} by shared categories", "sets", number(alpha)));
        }
    }

    fn json(&self) -> Json {
        Json::object([
            ("raters", Json::Array(vec![Json::text(&self.first), Json::text(&self.second)])),
            ("pictures", Json::int(self.pictures)),
            ("questions", Json::Array(self.questions.iter().map(question_json).collect())),
            ("setAlpha", optional(self.set_alpha)),
        ])
    }
}

impl QuestionAgreement {
    fn lines(&self) -> Vec<String> {
        let name = self.name();
        let parts = self.parts().into_iter().enumerate();
        parts
            .map(|(row, part)| {
                format!("  {:NAME$}{part}", if row == 0 { name.as_str() } else { "" })
            })
            .collect()
    }

    fn name(&self) -> String {
        escape(&self.question).replace('_', " ")
    }

    /// How many answers are equal, the coefficients, and α with unsure as a value where that differs.
    fn parts(&self) -> Vec<String> {
        let equal = Estimate::of(self.agreement.agreed, self.agreement.items);
        let unsure = match self.unsure {
            0 => String::new(),
            count => format!("; {count} unsure, left out"),
        };
        let coefficients = [
            ("kappa", self.agreement.kappa),
            ("alpha", self.agreement.alpha),
            ("AC1", self.agreement.ac1),
        ];
        let mut parts = vec![format!("equal {}{unsure}", equal.text())];
        let mut second: Vec<String> = coefficients
            .iter()
            .filter(|(_, coefficient)| coefficient.value.is_some())
            .map(|(name, coefficient)| format!("{name} {}", coefficient_text(*coefficient)))
            .collect();
        let undefined: Vec<&str> = coefficients
            .iter()
            .filter(|(_, coefficient)| coefficient.value.is_none())
            .map(|(name, _)| *name)
            .collect();
        if !undefined.is_empty() {
            second.push(format!("{} undefined", undefined.join(", ")));
        }
        parts.push(second.join("  "));
        if let Some(alpha) = self.alpha_with_unsure.filter(|_| self.unsure > 0) {
            let shown = coefficient_text(alpha);
            parts.push(format!("alpha with unsure as a value {shown}"));
        }
        parts
    }
}

impl Pooled {
    fn line(&self) -> String {
        let name = escape(&self.question).replace('_', " ");
        let alpha = Coefficient { value: self.alpha, interval: self.alpha_interval };
        let ac1 = Coefficient { value: self.ac1, interval: None };
        format!(
            "  {name:NAME$}{} pictures  alpha {}  AC1 {}",
            self.pictures,
            coefficient_text(alpha),
            coefficient_text(ac1)
        )
    }

    fn json(&self) -> Json {
        Json::object([
            ("question", Json::text(&self.question)),
            ("pictures", Json::int(self.pictures)),
            ("alpha", optional(self.alpha)),
            ("alphaInterval", interval(self.alpha_interval)),
            ("ac1", optional(self.ac1)),
        ])
    }
}

fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    if text == "-0.00" { "0.00".to_owned() } else { text }
}

fn coefficient_text(coefficient: Coefficient) -> String {
    match (coefficient.value, coefficient.interval) {
        (None, _) => "undefined".to_owned(),
        (Some(value), None) => number(value),
        (Some(value), Some(interval)) => {
            format!("{} ({} to {})", number(value), number(interval.low), number(interval.high))
        }
    }
}

fn question_json(question: &QuestionAgreement) -> Json {
    let agreement = &question.agreement;
    let coefficient = |it: Coefficient| {
        Json::object([("value", optional(it.value)), ("interval", interval(it.interval))])
    };
    let equal = Json::object([
        ("k", Json::int(agreement.agreed)),
        ("n", Json::int(agreement.items)),
        ("wilson", interval(agreement.interval)),
    ]);
    Json::object([
        ("question", Json::text(&question.question)),
        ("category", Json::Bool(question.is_category)),
        ("equal", equal),
        ("unsure", Json::int(question.unsure)),
        ("kappa", coefficient(agreement.kappa)),
        ("alpha", coefficient(agreement.alpha)),
        ("ac1", coefficient(agreement.ac1)),
        ("alphaWithUnsure", question.alpha_with_unsure.map_or(Json::Null, coefficient)),
    ])
}

fn optional(value: Option<f64>) -> Json {
    value.map_or(Json::Null, Json::Float)
}

fn interval(value: Option<Interval>) -> Json {
    value.map_or(Json::Null, |it| Json::Array(vec![Json::Float(it.low), Json::Float(it.high)]))
}

#[cfg(test)]
mod tests {
    use super::super::agreement::agreement;
    use super::super::testing::{line, sealed};

    #[test]
    fn text_and_json() {
        let ada = ["y b", "y b?", "y c", "n", "n", "y b c", "n", "y c"];
        let bob = ["y b", "y b", "y c", "n", "y c", "y b c?", "n", "n"];
        let lines = |words: [&str; 8]| {
            let first = words.iter().zip(1..).map(|(words, id)| line(id, 1, words));
            first.collect::<Vec<_>>()
        };
        let mut with_repeat = lines(ada);
        with_repeat.push(line(1, 2, "y b"));
        with_repeat.push(line(2, 2, "n"));
        let report = agreement(&[sealed("ada", 1, with_repeat), sealed("bob", 1, lines(bob))]);
        insta::assert_snapshot!("two_raters", report.to_text());
        insta::assert_snapshot!("two_raters_json", report.to_json().to_file());
        let alone = agreement(&[sealed("ada", 1, lines(ada))]);
        insta::assert_snapshot!("one_rater", alone.to_text());
        let facts = report.facts();
        let presence = &facts[0];
        assert_eq!(presence.0, "ada and bob, 8 images: presence");
        assert!(
            presence.1.starts_with("equal 6/8") && presence.1.contains("kappa 0.47"),
            "{facts:?}"
        );
        assert!(facts.iter().any(|(who, _)| who == "ada with themselves, 2 images: bottles"));
        assert!(facts.iter().all(|(who, _)| who != "between raters"));
        assert!(alone.facts()[0].1.contains("no inter-rater number exists"));
    }
}
