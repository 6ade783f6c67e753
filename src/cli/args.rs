//! Arguments as typed. What a command does with them is in its own file under `command/`.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use super::command;

/// Human review of model-conversion parity and ground truth.
///
/// Without a command: opens the workspace in the terminal UI.
#[derive(Debug, Parser)]
#[command(name = "flipside", version, about, max_term_width = 100, disable_help_subcommand = true)]
pub struct Args {
    /// Folder to look for flipside.toml in, and above
    #[arg(short = 'C', long, global = true, value_name = "DIR", default_value = ".")]
    pub workspace: PathBuf,

    /// ONNX Runtime library to use instead of the managed one
    #[arg(long, global = true, value_name = "FILE", env = "ORT_DYLIB_PATH")]
    pub ort_lib: Option<PathBuf>,

    /// What to do
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// All commands.
#[allow(clippy::large_enum_variant, reason = "one value exists, once")]
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Lay out the demo workspace, compare its artifacts, open it
    Demo(command::demo::Args),
    /// Write flipside.toml after checking every path
    Init(command::init::Args),
    /// Graph facts and contract checks of model files, without running them
    Inspect(command::inspect::Args),
    /// Run both artifacts over the fixtures and report what changed
    Parity(command::parity::Args),
    /// Join reports of shards into the report one run would have given
    Merge(command::merge::Args),
    /// Go through flips and mislabels, one image at a time
    Review(command::review::Args),
    /// Print one picture, with boxes, to the terminal
    Show(command::show::Args),
    /// See all fixtures, leave out what is no photograph, write the next manifest version
    Fixtures(command::fixtures::Args),
    /// Label a shard of fixtures blind
    Label(command::label::Args),
    /// Close a shard: write its label file
    Seal(command::seal::Args),
    /// Agreement between raters, and of each with themselves
    Agreement(command::agreement::Args),
    /// Sealed labels as JSON or CSV
    Labels(command::labels::Args),
    /// Take over labels made with another tool
    ImportLabels(command::import_labels::Args),
    /// Recall and false-positive rate of both artifacts, with intervals
    Score(command::score::Args),
    /// List, show, check or make release records
    Record(command::record::Args),
    /// Place a threshold and sign it
    Sign(command::sign::Args),
    /// Hash again everything a record names; name the first difference
    Verify(command::verify::Args),
    /// Is there a valid sign-off for exactly these bytes?
    Gate(command::gate::Args),
    /// One self-contained HTML or Markdown file
    Report(command::report::Args),
    /// Terminal test card, runtime, workspace health
    Doctor(command::doctor::Args),
    /// Install or show the ONNX Runtime library
    Runtime(command::runtime::Args),
    /// Shell completions
    Completions(command::completions::Args),
    /// The manual page
    Man(command::man::Args),
}
