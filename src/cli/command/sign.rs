//! `flipside sign`.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;

use super::Globals;
use super::record::{StatementArgs, say};
use super::score::{go_around, write_exposure};
use crate::cli::output::{self, Outcome};
use crate::domain::canonical::float_text;
use crate::domain::escape::escape_os;
use crate::sighted::entry::score::ScoreQuestion;
use crate::sighted::entry::score_screen::{BrowseEnd, Purpose, prepare_browse};
use crate::sighted::entry::sign::{CHOSEN_ON_CURVES, SignQuestion, Talk, cosign, sign};
use crate::store::workspace::Workspace;
use crate::tui::picture::probe::Graphics;
use crate::tui::session::{self, Options, Session};
use crate::tui::terminal;

/// Arguments of `flipside sign`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The artifact [default: the workspace's first candidate]
    #[arg(long, value_name = "FILE")]
    artifact: Option<PathBuf>,
    /// Its sidecar [default: the one beside it, or the workspace's]
    #[arg(long, value_name = "FILE")]
    sidecar: Option<PathBuf>,
    /// The parity report [default: the workspace's, at the point you type]
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Sealed label files [default: all of the workspace]
    #[arg(long, value_name = "FILE", num_args = 1..)]
    labels: Vec<PathBuf>,
    #[command(flatten)]
    statement: StatementArgs,
    /// Your name, as allowed-signers files know you [default: asked for]
    #[arg(long)]
    name: Option<String>,
    /// What you are to this release
    #[arg(long, default_value = "release owner")]
    role: String,
    /// Sign with this SSH key, through ssh-keygen
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Sign under this root of trust; its version becomes part of what is signed
    #[arg(long, value_name = "FILE", requires = "key")]
    trust: Option<PathBuf>,
    /// Folder of its later versions [default: where the root of trust lies]
    #[arg(long, value_name = "DIR", requires = "trust")]
    trust_updates: Option<PathBuf>,
    /// Put one more key to the standing sign-off whose id begins like this, and decide nothing
    #[arg(long, value_name = "ID", requires = "key", conflicts_with_all = ["alongside", "supersedes", "trust"])]
    cosign: Option<String>,
    /// Beginning of the id of the sign-off this one takes the place of [default: the standing one]
    #[arg(long, value_name = "ID")]
    supersedes: Option<String>,
    /// Stand beside earlier sign-offs on this artifact; the gate then needs all of them to accept
    #[arg(long, conflicts_with = "supersedes")]
    alongside: bool,
    /// Ask line by line, without the full-screen view
    #[arg(long)]
    plain: bool,
    /// Print JSON about what was written
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// Whatever keeps it from an answer.
pub fn run(args: &Args, globals: &Globals) -> anyhow::Result<Outcome> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        output::note(
            "flipside: sign needs a person at a terminal; there is no way to sign without one. \
             `flipside score --json` and `flipside record list --json` show what there is to decide on",
        );
        return Ok(Outcome::Unanswered);
    }
    let workspace = globals.workspace()?;
    if let (Some(wanted), Some(key)) = (&args.cosign, &args.key) {
        return say(&cosign(wanted, key, &workspace, &mut Terminal)?, args.json);
    }
    let screen = !args.plain && session::is_possible();
    let mut method = "typed";
    if screen {
        match on_curves(args, &workspace, globals)? {
            Looked::Stopped(outcome) => return Ok(outcome),
            Looked::Chosen => method = CHOSEN_ON_CURVES,
            Looked::NothingToShow => {}
        }
    }
    let question = SignQuestion {
        artifact: args.artifact.clone(),
        sidecar: args.sidecar.clone(),
        report: args.report.clone(),
        labels: args.labels.clone(),
        statement: args.statement.statement(None),
        name: args.name.clone(),
        role: args.role.clone(),
        key: args.key.clone(),
        supersedes: args.supersedes.clone(),
        alongside: args.alongside,
        trust: args.trust.clone(),
        trust_updates: args.trust_updates.clone(),
        method: method.to_owned(),
        now: globals.clock.stamp(),
    };
    say(&sign(&question, &workspace, &mut Terminal)?, args.json)
}

/// What came of the curves.
enum Looked {
    /// A threshold was chosen; it still has to be typed.
    Chosen,
    /// There are no labels to draw curves of.
    NothingToShow,
    /// The person left.
    Stopped(Outcome),
}

/// Shows recall and false positives over the threshold. What is chosen there is said, and typed when
/// signing: a cursor is too easily one step off.
fn on_curves(args: &Args, workspace: &Workspace, globals: &Globals) -> anyhow::Result<Looked> {
    let first = || workspace.config.compare.candidates.first().map(|it| workspace.resolve(it));
    let question = ScoreQuestion {
        report: args.report.clone(),
        // Curves of another artifact's report would be signed under this one's name.
        about: args.artifact.clone().or_else(first),
        labels: args.labels.clone(),
        ..ScoreQuestion::default()
    };
    let mut browse = match prepare_browse(&question, Some(workspace)) {
        Ok(browse) => browse,
        Err(error) => {
            output::note(&format!("no curves to choose on: {error:#}"));
            return Ok(Looked::NothingToShow);
        }
    };
    let end = {
        let mut session = Session::open(Options::from_environment(Graphics::Auto))?;
        go_around(&mut browse, Purpose::Choose, &mut session, Some(workspace), None, globals)?
    };
    // A name that is none of a rater's belongs to nobody who could label.
    let name = args.name.as_ref().and_then(|name| name.to_lowercase().parse().ok());
    write_exposure(&browse, name.as_ref(), "--name", globals, Some(workspace));
    Ok(match end {
        BrowseEnd::Chosen(threshold) => {
            output::note(&format!(
                "chosen on the curves: {}; it was chosen on the same data as its numbers",
                float_text(threshold)
            ));
            Looked::Chosen
        }
        BrowseEnd::Review { fixture, report } => {
            output::note(&format!(
                "nothing is signed; to review the image: flipside review --report {} --at {}",
                escape_os(report.as_os_str()),
                &fixture[..12.min(fixture.len())]
            ));
            Looked::Stopped(Outcome::Unanswered)
        }
        BrowseEnd::Left => {
            output::note("no threshold was chosen, so nothing is signed");
            Looked::Stopped(Outcome::Unanswered)
        }
        BrowseEnd::Ended(ended) => {
            terminal::finish(ended);
            Looked::Stopped(Outcome::Unanswered)
        }
    })
}

/// The person at the terminal: questions on stderr, so that stdout holds the result alone.
struct Terminal;

impl Talk for Terminal {
    fn say(&mut self, text: &str) {
        for line in text.lines() {
            output::note(line);
        }
    }

    fn ask(&mut self, prompt: &str) -> io::Result<Option<String>> {
        let mut stderr = io::stderr().lock();
        stderr.write_all(prompt.as_bytes())?;
        stderr.flush()?;
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line)?;
        Ok((read > 0).then_some(line))
    }
}
