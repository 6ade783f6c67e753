//! `flipside score`.

use std::path::PathBuf;

use super::Globals;
use super::review::say_unsaved;
use crate::cli::output::{self, Outcome};
use crate::domain::escape::escape_os;
use crate::domain::shard::RaterName;
use crate::sighted::entry::review::{ReviewQuestion, default_reviewer, review_on_screen};
use crate::sighted::entry::score::{
    MarginQuestion, ScoreFormat, ScoreQuestion, register_margin, score_labels,
};
use crate::sighted::entry::score_screen::{Browse, BrowseEnd, Purpose, prepare_browse};
use crate::store::workspace::{Workspace, WorkspaceError};
use crate::tui::event_loop::Ended;
use crate::tui::picture::probe::Graphics;
use crate::tui::session::{self, Options, Session};
use crate::tui::terminal;

/// Arguments of `flipside score`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Parity report [default: the newest about the first candidate]
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Sealed label files; without any, all of the workspace
    #[arg(long, value_name = "FILE", num_args = 1..)]
    labels: Vec<PathBuf>,
    /// Operating point; without it, the recommended threshold of the report
    #[arg(long, value_name = "CONFIDENCE", allow_negative_numbers = true)]
    threshold: Option<f64>,
    /// Taxonomy, for categories; without it, the workspace's
    #[arg(long, value_name = "FILE")]
    taxonomy: Option<PathBuf>,
    /// CSV `path,source,pair`, for sources and clusters; without it, the workspace's
    #[arg(long, value_name = "FILE")]
    groups: Option<PathBuf>,
    /// Write JSON
    #[arg(long, group = "format")]
    json: bool,
    /// Write one row per subset, rate and side
    #[arg(long, group = "format")]
    csv: bool,
    /// Write Markdown, for a pull request
    #[arg(long, group = "format")]
    markdown: bool,
    /// Page through the numbers and move the threshold, full screen
    #[arg(long, group = "format")]
    browse: bool,
    /// With --browse: who looks; their later labels of images listed there are not blind
    #[arg(long, value_name = "NAME", requires = "browse")]
    reviewer: Option<RaterName>,
    /// Write down, before labels are sealed, within which difference two artifacts will count as
    /// equivalent: a share, like 0.05 for five points. Scores nothing
    #[arg(
        long,
        value_name = "SHARE",
        requires = "question",
        conflicts_with = "format",
        allow_negative_numbers = true
    )]
    register_margin: Option<f64>,
    /// With --register-margin: what is to be decided
    #[arg(long, value_name = "TEXT", requires = "register_margin")]
    question: Option<String>,
    /// With --register-margin: subsets whose tests are planned too, like `photographs`
    #[arg(long = "planned-subset", value_name = "NAME", requires = "register_margin")]
    planned_subsets: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// Whatever keeps it from an answer.
pub fn run(args: &Args, globals: &Globals) -> anyhow::Result<Outcome> {
    if let Some(margin) = args.register_margin {
        return register(margin, args, globals);
    }
    let question = ScoreQuestion {
        report: args.report.clone(),
        about: None,
        labels: args.labels.clone(),
        threshold: args.threshold,
        taxonomy: args.taxonomy.clone(),
        groups: args.groups.clone(),
    };
    if args.browse {
        return browse(&question, args, globals);
    }
    let format = match (args.json, args.csv, args.markdown) {
        (true, _, _) => ScoreFormat::Json,
        (_, true, _) => ScoreFormat::Csv,
        (_, _, true) => ScoreFormat::Markdown,
        _ => ScoreFormat::Text,
    };
    let workspace = workspace_if_any(globals)?;
    let answer = score_labels(&question, workspace.as_ref(), format)?;
    for note in &answer.notes {
        output::note(note);
    }
    output::result(&answer.text)?;
    Ok(Outcome::Done)
}

fn browse(question: &ScoreQuestion, args: &Args, globals: &Globals) -> anyhow::Result<Outcome> {
    if !session::is_possible() {
        output::note(
            "flipside: --browse needs a terminal; `flipside score` and `flipside score --json` print the same numbers",
        );
        return Ok(Outcome::Unanswered);
    }
    let workspace = workspace_if_any(globals)?;
    let mut browse = prepare_browse(question, workspace.as_ref())?;
    let end = {
        let mut session = Session::open(Options::from_environment(Graphics::Auto))?;
        let reviewer = args.reviewer.clone();
        go_around(&mut browse, Purpose::Look, &mut session, workspace.as_ref(), reviewer, globals)?
    };
    write_exposure(&browse, args.reviewer.as_ref(), "--reviewer", globals, workspace.as_ref());
    match end {
        BrowseEnd::Left | BrowseEnd::Chosen(_) => {}
        BrowseEnd::Review { fixture, report } => output::note(&format!(
            "to review it: flipside review --report {} --at {}",
            escape_os(report.as_os_str()),
            &fixture[..12.min(fixture.len())]
        )),
        BrowseEnd::Ended(ended) => terminal::finish(ended),
    }
    Ok(Outcome::Done)
}

/// Goes back and forth between the score's screens and the review of a picture listed there, until
/// something is chosen or left. Where nobody can review, the picture is the end.
pub(super) fn go_around(
    browse: &mut Browse,
    purpose: Purpose,
    session: &mut Session,
    workspace: Option<&Workspace>,
    reviewer: Option<RaterName>,
    globals: &Globals,
) -> anyhow::Result<BrowseEnd> {
    let place = workspace.zip(reviewer.or_else(default_reviewer));
    let mut reviewed_at = None;
    loop {
        let end = browse.run(purpose, session)?;
        let (BrowseEnd::Review { fixture, report }, Some((workspace, reviewer))) = (&end, &place)
        else {
            return Ok(end);
        };
        let question = ReviewQuestion {
            report: Some(report.clone()),
            fixtures: None,
            reviewer: reviewer.clone(),
            hidden_sides: false,
            at: Some(fixture.clone()),
            place: reviewed_at.take(),
        };
        let reviewed = review_on_screen(&question, workspace, session, globals.clock)?;
        say_unsaved(reviewed.unsaved);
        if let Ended::Signal(_) = reviewed.ended {
            return Ok(BrowseEnd::Ended(reviewed.ended));
        }
        reviewed_at = reviewed.place;
    }
}

/// Writes down who looked, or says why not: scores stay honest only if this is known.
pub(super) fn write_exposure(
    browse: &Browse,
    reviewer: Option<&RaterName>,
    option: &str,
    globals: &Globals,
    workspace: Option<&Workspace>,
) {
    let who = reviewer.cloned().or_else(default_reviewer);
    let (Some(who), Some(workspace)) = (who, workspace) else {
        output::note(&format!(
            "who looked is not known, so it is not written down; name them with {option}"
        ));
        return;
    };
    if let Err(error) = browse.record_exposure(&who, &globals.clock.stamp(), workspace) {
        output::note(&format!("that {who} looked could not be written down: {error:#}"));
    }
}

/// A report and label files suffice, so being outside a workspace is no error; a broken one is.
fn workspace_if_any(globals: &Globals) -> anyhow::Result<Option<Workspace>> {
    match globals.workspace() {
        Ok(workspace) => Ok(Some(workspace)),
        Err(WorkspaceError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn register(margin: f64, args: &Args, globals: &Globals) -> anyhow::Result<Outcome> {
    let question = MarginQuestion {
        margin,
        question: args.question.clone().unwrap_or_default(),
        subsets: args.planned_subsets.clone(),
        now: globals.clock.stamp(),
    };
    let answer = register_margin(&question, &globals.workspace()?)?;
    if answer.sealed_already > 0 {
        output::note(&format!(
            "{} label files are sealed already: scores will call this margin chosen after",
            answer.sealed_already
        ));
    }
    output::result(&escape_os(answer.path.as_os_str()))?;
    Ok(Outcome::Done)
}
