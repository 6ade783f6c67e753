//! `flipside review`.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::bail;

use super::Globals;
use crate::cli::output::{self, Outcome};
use crate::domain::shard::RaterName;
use crate::sighted::entry::review::{
    ReviewEnd, ReviewQuestion, default_reviewer, import_verdicts, prepare_review, render_review,
    review_in_lines, review_list,
};
use crate::store::workspace::Workspace;
use crate::tui::event_loop::Ended;
use crate::tui::picture::probe::Graphics;
use crate::tui::screen::Look;
use crate::tui::session::{self, Options, Session};
use crate::tui::terminal;
use crate::tui::theme::Theme;

/// Arguments of `flipside review`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Picture to begin with: part of its name or hash
    #[arg(value_name = "IMAGE")]
    at: Option<String>,
    /// Parity report [default: the newest about the first candidate]
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Folder the report's pictures are relative to; without it, the folder of the workspace's manifest
    #[arg(long, value_name = "DIR")]
    fixtures: Option<PathBuf>,
    /// Who reviews; without it, the user of this machine
    #[arg(long, value_name = "NAME")]
    reviewer: Option<RaterName>,
    /// Do not show which side is which: left and right in random order, which is recorded
    #[arg(long)]
    blind: bool,
    /// Write every change with its verdict as JSON
    #[arg(long, group = "twin", conflicts_with = "blind")]
    json: bool,
    /// Lines instead of a screen: for screen readers, dumb terminals, scripts
    #[arg(long, group = "twin")]
    plain: bool,
    /// Take over verdicts from a file: one JSON object a line with fixture, change, verdict, note
    #[arg(long, value_name = "FILE", group = "twin")]
    verdicts: Option<PathBuf>,
    /// Write the first screen as text, as it would be drawn at that size, like 80x24
    #[arg(long, value_name = "WxH", group = "twin", value_parser = parse_size)]
    render: Option<(u16, u16)>,
    /// With --render: draw without colours
    #[arg(long, requires = "render")]
    mono: bool,
    /// How pictures are drawn: auto, kitty, iterm, sixel, blocks or none
    #[arg(long, value_name = "HOW", default_value = "auto")]
    graphics: Graphics,
    /// Leave the mouse to the terminal, so that it can select text
    #[arg(long)]
    no_mouse: bool,
}

/// Reads `80x24`.
pub(super) fn parse_size(text: &str) -> Result<(u16, u16), String> {
    let parsed = text
        .split_once('x')
        .and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    match parsed {
        Some(size @ (1..=1000, 1..=1000)) => Ok(size),
        _ => Err("expected columns and rows from 1 to 1000, like 80x24".to_owned()),
    }
}

/// Runs the command.
///
/// # Errors
/// Whatever keeps it from an answer.
pub fn run(args: &Args, globals: &Globals) -> anyhow::Result<Outcome> {
    let question = question(args)?;
    let workspace = globals.workspace()?;
    if args.json {
        let shown = review_list(&question, &workspace, globals.clock)?;
        shown.not_recorded.iter().for_each(|reason| output::note(reason));
        output::result(&shown.what)?;
        return Ok(Outcome::Done);
    }
    if let Some(file) = &args.verdicts {
        let done = import_verdicts(&question, &workspace, file, globals.clock)?;
        output::note(&format!(
            "{} verdicts read, {} new or changed, as {}",
            done.read, done.stored, question.reviewer
        ));
        return Ok(Outcome::Done);
    }
    if let Some(size) = args.render {
        let theme = if args.mono { Theme::MONO } else { Theme::COLOUR };
        let look = Look::plain(theme);
        let shown = render_review(&question, &workspace, size, look, globals.clock)?;
        shown.not_recorded.iter().for_each(|reason| output::note(reason));
        let dump = shown.what;
        output::result(&if args.mono { dump.text } else { dump.with_styles() })?;
        return Ok(Outcome::Done);
    }
    if args.plain || super::is_dumb() {
        let mut stdout = std::io::stdout().lock();
        let mut stdin = std::io::stdin().lock();
        review_in_lines(&question, &workspace, globals.clock, &mut stdin, &mut stdout)?;
        stdout.flush()?;
        return Ok(Outcome::Done);
    }
    on_screen(args, &question, &workspace, globals)
}

fn question(args: &Args) -> anyhow::Result<ReviewQuestion> {
    let Some(reviewer) = args.reviewer.clone().or_else(default_reviewer) else {
        bail!("name the reviewer with --reviewer NAME: the system gives no name that can be used");
    };
    Ok(ReviewQuestion {
        report: args.report.clone(),
        fixtures: args.fixtures.clone(),
        reviewer,
        hidden_sides: args.blind,
        at: args.at.clone(),
        place: None,
    })
}

fn on_screen(
    args: &Args,
    question: &ReviewQuestion,
    workspace: &Workspace,
    globals: &Globals,
) -> anyhow::Result<Outcome> {
    if !session::is_possible() {
        bail!(
            "a screen needs a terminal; `flipside review --plain` asks in lines, `flipside review --json` lists, `flipside review --verdicts FILE` takes verdicts over"
        );
    }
    let prepared = prepare_review(question, workspace, globals.clock)?;
    let options = Options { mouse: !args.no_mouse, ..Options::from_environment(args.graphics) };
    let mut session = Session::open(options)?;
    let end = prepared.run(&mut session);
    drop(session);
    say_end(end?)
}

/// Says what did not reach the disk.
pub(super) fn say_unsaved(events: usize) {
    if events > 0 {
        output::note(&format!("{events} events could not be saved"));
    }
}

/// What a review that was left leaves to say; a signal ends the process as it should.
fn say_end(end: ReviewEnd) -> anyhow::Result<Outcome> {
    say_unsaved(end.unsaved);
    if let Ended::Signal(_) = end.ended {
        terminal::finish(end.ended);
    }
    Ok(if end.unsaved > 0 { Outcome::Unanswered } else { Outcome::Done })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("80x24"), Ok((80, 24)));
        for bad in ["", "80", "0x5", "80x", "x24", "80x24x2", "9999x1"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }
}
