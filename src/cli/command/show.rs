//! `flipside show`.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use anyhow::bail;

use super::Globals;
use crate::cli::output::{self, Outcome};
use crate::domain::shard::RaterName;
use crate::sighted::entry::review::default_reviewer;
use crate::sighted::entry::show::{ShowAnswer, ShowQuestion, show};
use crate::store::workspace::WorkspaceError;
use crate::tui::picture::Depth;
use crate::tui::picture::print;
use crate::tui::picture::probe::{self, Graphics};

/// Arguments of `flipside show`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A picture file, or part of a name or hash in the report
    #[arg(value_name = "IMAGE")]
    image: String,
    /// Parity report [default: the newest about the first candidate]
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Folder the report's pictures are relative to; without it, the folder of the workspace's manifest
    #[arg(long, value_name = "DIR")]
    fixtures: Option<PathBuf>,
    /// Who looks: seeing what a model said is recorded; without it, the user of this machine
    #[arg(long, value_name = "NAME")]
    reviewer: Option<RaterName>,
    /// Write what both sides found as JSON, without the picture
    #[arg(long)]
    json: bool,
    /// How the picture is drawn: auto, kitty, iterm, sixel, blocks or none
    #[arg(long, value_name = "HOW", default_value = "auto")]
    graphics: Graphics,
    /// Width in columns; without it, that of the terminal
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(1..=1000))]
    width: Option<u16>,
}

/// Runs the command.
///
/// # Errors
/// Whatever keeps it from an answer.
pub fn run(args: &Args, globals: &Globals) -> anyhow::Result<Outcome> {
    let workspace = match globals.workspace() {
        Ok(workspace) => Some(workspace),
        Err(WorkspaceError::NotFound { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    if !args.json && !std::io::stdout().is_terminal() {
        bail!(
            "a picture needs a terminal; `flipside show IMAGE --json` writes what was found in it"
        );
    }
    let question = ShowQuestion {
        image: args.image.clone(),
        report: args.report.clone(),
        fixtures: args.fixtures.clone(),
        reviewer: args.reviewer.clone().or_else(default_reviewer),
    };
    let answer = show(&question, workspace.as_ref(), globals.clock)?;
    for note in &answer.notes {
        output::note(note);
    }
    if args.json {
        output::result(&answer.json)?;
    } else {
        draw(args, &answer)?;
        output::result(&answer.text)?;
    }
    Ok(Outcome::Done)
}

fn draw(args: &Args, answer: &ShowAnswer) -> anyhow::Result<()> {
    let probe = probe::run_once(args.graphics);
    let (columns, rows) = probe::terminal_size().unwrap_or((80, 24));
    let room = (args.width.unwrap_or(columns).min(columns), rows.saturating_sub(2).max(1));
    if probe.method == crate::tui::picture::Method::None {
        return Ok(());
    }
    if probe.depth == Depth::Mono {
        let text =
            print::as_text(&answer.picture, &answer.boxes, room).map_err(anyhow::Error::msg)?;
        return output::result(&text);
    }
    print::print(&answer.picture, &answer.boxes, room, &probe)?;
    Ok(())
}
