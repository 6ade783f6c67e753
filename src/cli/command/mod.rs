//! One file per command: its arguments and what it does with them.

pub mod agreement;
pub mod completions;
pub mod demo;
pub mod doctor;
pub mod fixtures;
pub mod gate;
pub mod import_labels;
pub mod init;
pub mod inspect;
pub mod label;
pub mod labels;
pub mod man;
pub mod merge;
pub mod overview;
pub mod parity;
pub mod record;
pub mod report;
pub mod review;
pub mod runtime;
pub mod score;
pub mod seal;
pub mod show;
pub mod sign;
pub mod verify;

use std::path::PathBuf;

use crate::cli::args::{Args, Command};
use crate::cli::output::Outcome;
use crate::store::clock::Clock;
use crate::store::workspace::{Workspace, WorkspaceError};

/// What every command may use.
#[derive(Debug)]
pub struct Globals {
    /// Where the search for a workspace begins.
    pub start: PathBuf,
    /// An ONNX Runtime library the user named.
    pub ort_lib: Option<PathBuf>,
    /// The time.
    pub clock: Clock,
}

impl Globals {
    /// The workspace we were started in.
    ///
    /// # Errors
    /// None found, unreadable or invalid.
    pub fn workspace(&self) -> Result<Workspace, WorkspaceError> {
        Workspace::find(&self.start)
    }
}

/// Runs one command.
///
/// # Errors
/// Whatever keeps it from an answer; the caller prints it and exits with 2.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let globals =
        Globals { start: args.workspace, ort_lib: args.ort_lib, clock: Clock::from_environment() };
    match args.command {
        None => overview::run(&globals),
        Some(Command::Agreement(args)) => agreement::run(&args, &globals),
        Some(Command::Completions(args)) => completions::run(&args),
        Some(Command::Demo(args)) => demo::run(&args, &globals),
        Some(Command::Doctor(args)) => doctor::run(&args, &globals),
        Some(Command::Fixtures(args)) => fixtures::run(&args, &globals),
        Some(Command::Gate(args)) => gate::run(&args, &globals),
        Some(Command::ImportLabels(args)) => import_labels::run(&args, &globals),
        Some(Command::Init(args)) => init::run(&args, &globals),
        Some(Command::Inspect(args)) => inspect::run(&args, &globals),
        Some(Command::Label(args)) => label::run(&args, &globals),
        Some(Command::Labels(args)) => labels::run(&args, &globals),
        Some(Command::Man(args)) => man::run(&args),
        Some(Command::Merge(args)) => merge::run(&args, &globals),
        Some(Command::Parity(args)) => parity::run(&args, &globals),
        Some(Command::Record(args)) => record::run(&args, &globals),
        Some(Command::Report(args)) => report::run(&args, &globals),
        Some(Command::Review(args)) => review::run(&args, &globals),
        Some(Command::Runtime(args)) => runtime::run(&args, &globals),
        Some(Command::Score(args)) => score::run(&args, &globals),
        Some(Command::Seal(args)) => seal::run(&args, &globals),
        Some(Command::Show(args)) => show::run(&args, &globals),
        Some(Command::Sign(args)) => sign::run(&args, &globals),
        Some(Command::Verify(args)) => verify::run(&args, &globals),
    }
}

/// Whether the terminal cannot move its cursor: screens become lines.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}
