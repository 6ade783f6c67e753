//! `flipside fixtures`.

use std::io::Write as _;

use anyhow::bail;

use super::Globals;
use crate::cli::output::{self, Outcome};
use crate::domain::escape::escape;
use crate::domain::label::NotPhotograph;
use crate::domain::shard::RaterName;
use crate::sighted::entry::fixtures::{FixtureDesk, FlagQuestion};
use crate::sighted::entry::review::default_reviewer;
use crate::tui::event_loop::Ended;
use crate::tui::picture::probe::Graphics;
use crate::tui::session::{self, Options, Session};
use crate::tui::terminal;

/// Arguments of `flipside fixtures`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Leave a picture out of the next manifest version: path or hash, then screenshot, illustration, text,
    /// game or other; may be given again
    #[arg(long, num_args = 2, value_names = ["PICTURE", "KIND"])]
    flag: Vec<String>,

    /// Why: once for all flags, or once for each in the same order
    #[arg(long, value_name = "TEXT", requires = "flag")]
    reason: Vec<String>,

    /// Write every picture with near copies and suggestions as JSON; with --flag, the outcome
    #[arg(long, conflicts_with = "plain")]
    json: bool,

    /// Lines instead of a screen: for screen readers, dumb terminals, scripts
    #[arg(long, conflicts_with = "flag")]
    plain: bool,

    /// Who says so; without it, the user of this machine
    #[arg(long, value_name = "NAME")]
    by: Option<RaterName>,

    /// How pictures are drawn: auto, kitty, iterm, sixel, blocks or none
    #[arg(long, value_name = "HOW", default_value = "auto")]
    graphics: Graphics,

    /// Leave the mouse to the terminal, so that it can select text
    #[arg(long)]
    no_mouse: bool,
}

/// Runs the command.
///
/// # Errors
/// Whatever keeps it from an answer.
pub fn run(args: &Args, globals: &Globals) -> anyhow::Result<Outcome> {
    let questions = questions(&args.flag, &args.reason)?;
    let lines = args.plain || super::is_dumb();
    if questions.is_empty() && !args.json && !lines && !session::is_possible() {
        bail!(
            "a screen needs a terminal; `flipside fixtures --plain` reads and writes lines, `flipside fixtures --json` lists, `flipside fixtures --flag PICTURE KIND` leaves pictures out"
        );
    }
    let workspace = globals.workspace()?;
    let by = args.by.clone().or_else(default_reviewer);
    let changing = !args.json || !questions.is_empty();
    let mut desk = FixtureDesk::open(&workspace, by.as_ref(), changing, globals.clock)?;
    if desk.unreadable() > 0 {
        output::note(&format!(
            "{} pictures of the manifest cannot be read; they stay in it",
            desk.unreadable()
        ));
    }
    if !questions.is_empty() {
        let written = desk.flag(&questions)?;
        let (out, stay) = written.counts;
        output::note(&format!("{}: {out} left out, {stay} stay", escape(&written.name)));
        output::result(if args.json { &written.json } else { &written.line })?;
        if !args.json {
            say_how();
        }
        return Ok(Outcome::Done);
    }
    if args.json {
        output::result(&desk.to_json())?;
        return Ok(Outcome::Done);
    }
    if lines {
        let mut stdout = std::io::stdout().lock();
        let written = desk.in_lines(&mut std::io::stdin().lock(), &mut stdout)?;
        stdout.flush()?;
        drop(stdout);
        return say_lines(&written);
    }
    let options = Options { mouse: !args.no_mouse, ..Options::from_environment(args.graphics) };
    let mut session = Session::open(options)?;
    let end = desk.on_screen(&mut session);
    drop(session);
    let end = end?;
    if end.unkept {
        output::note("the last flags could not be kept");
    }
    if end.unwritten > 0 {
        output::note(&format!(
            "{} pictures are flagged and in no manifest yet; `flipside fixtures` goes on, and w writes it",
            end.unwritten
        ));
    }
    let outcome = say_lines(&end.lines)?;
    if let Ended::Signal(_) = end.ended {
        terminal::finish(end.ended);
    }
    Ok(if end.unkept { Outcome::Unanswered } else { outcome })
}

fn say_lines(lines: &[String]) -> anyhow::Result<Outcome> {
    if let Some(line) = lines.last() {
        output::result(line)?;
        say_how();
    }
    Ok(Outcome::Done)
}

fn say_how() {
    output::note(
        "this line under [fixtures] of flipside.toml uses it; the old manifest is as it was, and sealed labels still join where the pictures are the same",
    );
}

/// Pairs flags with reasons.
fn questions(flags: &[String], reasons: &[String]) -> anyhow::Result<Vec<FlagQuestion>> {
    let count = flags.len() / 2;
    if reasons.len() > 1 && reasons.len() != count {
        bail!(
            "--reason: expected one for all, or one for each of {count} flags, found {}",
            reasons.len()
        );
    }
    let question = |(at, pair): (usize, &[String])| {
        let [picture, kind] = pair else { bail!("--flag: expected a picture and a kind") };
        let Some(kind) = NotPhotograph::from_word(kind) else {
            let words: Vec<&str> = NotPhotograph::ALL.iter().map(|kind| kind.word()).collect();
            bail!(
                "--flag {}: expected {}, found {}",
                escape(picture),
                words.join(", "),
                escape(kind)
            );
        };
        let reason = reasons.get(at).or_else(|| reasons.first()).cloned().unwrap_or_default();
        Ok(FlagQuestion { picture: picture.clone(), kind, reason })
    };
    flags.chunks(2).enumerate().map(question).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn reasons_go_with_their_flags() {
        let two = questions(&words("a.png text b.png game"), &words("page menu")).expect("two");
        assert_eq!((two[0].reason.as_str(), two[1].reason.as_str()), ("page", "menu"));
        assert_eq!(two[1].kind, NotPhotograph::Game);
        let same = questions(&words("a.png text b.png game"), &words("both")).expect("one for all");
        assert!(same.iter().all(|question| question.reason == "both"));
        assert_eq!(questions(&words("a.png text"), &[]).expect("none")[0].reason, "");
        assert!(questions(&words("a text b text c text"), &words("x y")).is_err());
        let error = questions(&words("a.png novel"), &[]).expect_err("no kind").to_string();
        assert!(error.contains("expected screenshot, illustration"), "{error}");
    }
}
