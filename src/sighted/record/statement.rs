//! The conversation: everything about a decision that only a person can say.

use std::io;

use super::limits::{self, AcceptanceLimits, DEFAULT_LEVEL, Labelled, LabelledRate, Numbers};
use super::present;
use super::release::ReleaseRecord;
use super::signature::alone;
use super::signing::{ON_CURVES, Request, SigningFault};
use super::signoff::{Decision, SIGNER_LABELLED, disclaimers};

/// A person, or a test.
pub(in crate::sighted) trait Person {
    /// Shows lines; they are escaped.
    fn say(&mut self, text: &str);
    /// Asks for one line. Nothing when the person is gone.
    ///
    /// # Errors
    /// The terminal.
    fn ask(&mut self, prompt: &str) -> io::Result<Option<String>>;
}

/// What only the person can say.
pub(super) struct Statement {
    pub limits: AcceptanceLimits,
    pub decision: Decision,
    pub reason: String,
    pub licenses: Vec<String>,
    pub does_not_license: Vec<String>,
    pub chosen_on_same_data: bool,
    pub name: String,
}

/// Asks for all of it. `raters` made the labels, one name a label file.
pub(super) fn ask_statement(
    request: &Request,
    record: &ReleaseRecord,
    numbers: &Numbers,
    raters: &[String],
    person: &mut dyn Person,
) -> Result<Statement, SigningFault> {
    let limits = ask_limits(numbers, person)?;
    person.say(&format!("Limits: {}", present::limits_text(&limits)));
    person.say(present::findings_text(&limits::judge(&limits, numbers)).trim_end());
    let chosen_on_same_data = if request.method == ON_CURVES {
        person.say("The point was chosen after looking at curves of these same fixtures.");
        true
    } else {
        ask_yes_no(person, "Was this point chosen by looking at these same fixtures? (yes/no): ")?
    };
    let decision = loop {
        let word = ask(person, "Decision (accept/reject/defer): ")?;
        match Decision::of_word(&word) {
            Some(decision) => break decision,
            None => person.say("  expected accept, reject or defer, spelled out"),
        }
    };
    let reason = ask_filled(person, "Reason: ")?;
    let licenses = match ask(person, "It licenses (Enter for nothing in particular): ")? {
        line if line.is_empty() => Vec::new(),
        line => vec![line],
    };
    let mut does_not_license = disclaimers(record);
    person.say("It does not license:");
    for line in &does_not_license {
        person.say(&format!("  - {line}"));
    }
    loop {
        let line = ask(person, "Nor (Enter when that is all): ")?;
        if line.is_empty() {
            break;
        }
        does_not_license.push(line);
    }
    let name = match &request.name {
        Some(name) => name.clone(),
        None => ask_filled(person, "Your name (as allowed-signers files know you): ")?,
    };
    if alone(raters, std::slice::from_ref(&name)).is_some() {
        person.say("You made every label yourself; the sign-off says so. It does not license:");
        person.say(&format!("  - {SIGNER_LABELLED}"));
        does_not_license.push(SIGNER_LABELLED.to_owned());
    }
    Ok(Statement {
        limits,
        decision,
        reason,
        licenses,
        does_not_license,
        chosen_on_same_data,
        name,
    })
}

fn ask_limits(
    numbers: &Numbers,
    person: &mut dyn Person,
) -> Result<AcceptanceLimits, SigningFault> {
    person.say("Acceptance limits: a number, or `none` for not limited.");
    let real = numbers.real_flips.map_or_else(|| "unknown".to_owned(), |real| real.to_string());
    let (positives, negatives) = numbers
        .labelled
        .map_or((0, 0), |labelled| (labelled.recall.table.n(), labelled.false_positives.table.n()));
    let mut limits = AcceptanceLimits::none();
    limits.slot_flips =
        ask_count(person, &format!("  slot flips at most (now {}): ", numbers.slot_flips))?;
    limits.real_flips = ask_count(person, &format!("  real flips at most (now {real}): "))?;
    limits.class_flips =
        ask_count(person, &format!("  mislabels at most (now {}): ", numbers.class_flips))?;
    let now = |rate: fn(&Labelled) -> LabelledRate| {
        let interval = numbers.labelled.and_then(|found| rate(&found).difference(DEFAULT_LEVEL));
        interval.map_or("not measured".to_owned(), |it| format!("now between {}", limits::span(it)))
    };
    let (recall, false_positives) = (now(|it| it.recall), now(|it| it.false_positives));
    limits.recall_margin =
        ask_share(person, &format!("  recall may fall by, as a share like 0.05 ({recall}): "))?;
    limits.false_positive_margin = ask_share(
        person,
        &format!("  false-positive rate may rise by, as a share like 0.05 ({false_positives}): "),
    )?;
    limits.min_positives =
        ask_count(person, &format!("  images with litter at least (now {positives}): "))?;
    limits.min_negatives =
        ask_count(person, &format!("  clean images at least (now {negatives}): "))?;
    Ok(limits)
}

fn ask_count(person: &mut dyn Person, prompt: &str) -> Result<Option<u64>, SigningFault> {
    loop {
        let line = ask(person, prompt)?;
        match line.parse::<u64>() {
            Ok(limit) => return Ok(Some(limit)),
            Err(_) if line == "none" => return Ok(None),
            Err(_) => person.say("    expected a whole number, or none"),
        }
    }
}

fn ask_share(person: &mut dyn Person, prompt: &str) -> Result<Option<f64>, SigningFault> {
    loop {
        let line = ask(person, prompt)?;
        match line.parse::<f64>() {
            Ok(share) if (0.0..=1.0).contains(&share) => return Ok(Some(share)),
            _ if line == "none" => return Ok(None),
            _ => person.say("    expected a share from 0 to 1, or none"),
        }
    }
}

fn ask_yes_no(person: &mut dyn Person, prompt: &str) -> Result<bool, SigningFault> {
    loop {
        match ask(person, prompt)?.as_str() {
            "yes" => return Ok(true),
            "no" => return Ok(false),
            _ => person.say("  expected yes or no"),
        }
    }
}

fn ask_filled(person: &mut dyn Person, prompt: &str) -> Result<String, SigningFault> {
    loop {
        let line = ask(person, prompt)?;
        if !line.is_empty() {
            return Ok(line);
        }
        person.say("  something must stand here");
    }
}

/// One trimmed line.
pub(super) fn ask(person: &mut dyn Person, prompt: &str) -> Result<String, SigningFault> {
    match person.ask(prompt) {
        Ok(Some(line)) => Ok(line.trim().to_owned()),
        Ok(None) => Err(SigningFault::Gone("the input ended".to_owned())),
        Err(error) => Err(SigningFault::Gone(error.to_string())),
    }
}
