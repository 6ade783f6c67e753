//! `flipside record`.

use std::path::{Path, PathBuf};

use clap::Subcommand;

use super::Globals;
use crate::cli::output::{self, Outcome};
use crate::domain::escape::escape;
use crate::sighted::entry::record::{self, Answer, RecordPlaces, SignersQuestion, Verdict};
use crate::sighted::entry::sign::{NewRecordRequest, RecordStatement, new_record};
use crate::store::workspace::Workspace;

/// Arguments of `flipside record`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Every record, with its flips, sign-off and file state
    List(ListArgs),
    /// Records in full
    Show(ShowArgs),
    /// Recompute what record files say: rules, id, name, bytes, evidence
    Check(CheckArgs),
    /// Make a record from an artifact, its sidecar and the parity report it stands on
    New(Box<NewArgs>),
}

#[derive(Debug, clap::Args)]
struct FolderArgs {
    /// Folder of records [default: records/ of the workspace]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    #[command(flatten)]
    folder: FolderArgs,
}

#[derive(Debug, clap::Args)]
struct ShowArgs {
    /// Beginning of the id, exact version, exact model name or file name
    #[arg(value_name = "WHAT")]
    wanted: String,
    #[command(flatten)]
    folder: FolderArgs,
}

#[derive(Debug, clap::Args)]
struct CheckArgs {
    /// Record files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What paths in records are relative to [default: the parent of the file's folder]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Only what a file says about itself; open nothing it names
    #[arg(long)]
    identity_only: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct NewArgs {
    /// The artifact
    #[arg(long, value_name = "FILE")]
    artifact: PathBuf,
    /// Its sidecar [default: the one beside the artifact]
    #[arg(long, value_name = "FILE")]
    sidecar: Option<PathBuf>,
    /// The parity report it stands on
    #[arg(long, value_name = "FILE")]
    report: PathBuf,
    /// Operating point; the report must have been measured there [default: the sidecar's]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    threshold: Option<f64>,
    #[command(flatten)]
    statement: StatementArgs,
    #[command(flatten)]
    folder: FolderArgs,
    /// Print the record and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// What is stated about an artifact. What is not stated is marked so in the record's notes.
#[derive(Debug, clap::Args)]
pub(super) struct StatementArgs {
    /// Version of the record [default: the sidecar's, with the suffix of these bytes]
    #[arg(long, value_name = "V", help_heading = "Record")]
    version: Option<String>,
    /// Side of the report, when the hash does not tell: reference or candidate
    #[arg(long = "side", value_name = "SIDE", help_heading = "Record")]
    side: Option<String>,
    /// What exported or converted it
    #[arg(long, value_name = "TEXT", help_heading = "Record")]
    exporter: Option<String>,
    /// How it was made; `native-export` for one that was not converted
    #[arg(long, value_name = "TEXT", help_heading = "Record")]
    mechanism: Option<String>,
    /// Sha256 of what it was converted from [default: the comparison's reference]
    #[arg(long, value_name = "HEX", help_heading = "Record")]
    source_sha256: Option<String>,
    /// Sha256 of the checkpoint it comes from
    #[arg(long, value_name = "HEX", help_heading = "Record")]
    checkpoint_sha256: Option<String>,
    /// Runtime it is meant for [default: where parity was measured]
    #[arg(long, value_name = "NAME", help_heading = "Record")]
    target_runtime: Option<String>,
    /// Version of that runtime
    #[arg(long, value_name = "V", help_heading = "Record")]
    target_version: Option<String>,
    /// Execution provider
    #[arg(long, value_name = "NAME", help_heading = "Record")]
    target_provider: Option<String>,
    /// Class of hosts
    #[arg(long, value_name = "TEXT", help_heading = "Record")]
    target_host: Option<String>,
    /// Compute capability of an accelerator
    #[arg(long, value_name = "V", help_heading = "Record")]
    target_compute_capability: Option<String>,
    /// CUDA version
    #[arg(long, value_name = "V", help_heading = "Record")]
    target_cuda: Option<String>,
    /// Driver version
    #[arg(long, value_name = "V", help_heading = "Record")]
    target_driver: Option<String>,
    /// A note for people; may be given more than once
    #[arg(long = "note", value_name = "TEXT", help_heading = "Record")]
    notes: Vec<String>,
}

impl StatementArgs {
    /// As the entry takes it.
    pub(super) fn statement(&self, threshold: Option<f64>) -> RecordStatement {
        RecordStatement {
            version: self.version.clone(),
            threshold,
            role: self.side.clone(),
            exporter: self.exporter.clone(),
            mechanism: self.mechanism.clone(),
            source_sha256: self.source_sha256.clone(),
            checkpoint_sha256: self.checkpoint_sha256.clone(),
            target_runtime: self.target_runtime.clone(),
            target_version: self.target_version.clone(),
            target_provider: self.target_provider.clone(),
            target_host: self.target_host.clone(),
            target_compute_capability: self.target_compute_capability.clone(),
            target_cuda: self.target_cuda.clone(),
            target_driver: self.target_driver.clone(),
            notes: self.notes.clone(),
        }
    }
}

/// Runs the command.
///
/// # Errors
/// Whatever keeps it from an answer.
pub fn run(args: &Args, globals: &Globals) -> anyhow::Result<Outcome> {
    match &args.what {
        What::List(args) => {
            let places = places(&args.folder, globals)?;
            say(&record::list_records(&places)?, args.folder.json)
        }
        What::Show(args) => {
            let places = places(&args.folder, globals)?;
            let answer = record::show_records(&places, &args.wanted)?;
            if answer.verdict == Verdict::No {
                output::note(&format!("no record is named {:?}", escape(&args.wanted)));
            }
            say(&answer, args.folder.json)
        }
        What::Check(args) => {
            let answer =
                record::check_records(&args.files, args.root.as_deref(), args.identity_only)?;
            say(&answer, args.json)
        }
        What::New(args) => {
            let request = NewRecordRequest {
                artifact: args.artifact.clone(),
                sidecar: args.sidecar.clone(),
                report: args.report.clone(),
                statement: args.statement.statement(args.threshold),
                now: globals.clock.stamp(),
                dry_run: args.dry_run,
            };
            say(&new_record(&places(&args.folder, globals)?, &request)?, args.folder.json)
        }
    }
}

fn places(args: &FolderArgs, globals: &Globals) -> anyhow::Result<RecordPlaces> {
    match &args.folder {
        Some(folder) => {
            let root = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
            Ok(RecordPlaces {
                records: folder.clone(),
                signoffs: folder.join("signoffs"),
                root: root.unwrap_or(Path::new(".")).to_owned(),
            })
        }
        None => Ok(of_workspace(&globals.workspace()?)),
    }
}

/// The places of a workspace.
pub(super) fn of_workspace(workspace: &Workspace) -> RecordPlaces {
    RecordPlaces {
        records: workspace.records_dir(),
        signoffs: workspace.signoffs_dir(),
        root: workspace.root.clone(),
    }
}

/// Prints an answer and turns it into an exit code.
pub(super) fn say(answer: &Answer, json: bool) -> anyhow::Result<Outcome> {
    let text = if json { &answer.json } else { &answer.text };
    if !text.is_empty() {
        output::result(text)?;
    }
    Ok(match answer.verdict {
        Verdict::Yes => Outcome::Done,
        Verdict::No => Outcome::No,
        Verdict::CannotTell => Outcome::Unanswered,
    })
}

/// Who may sign.
#[derive(Debug, clap::Args)]
pub(super) struct SignersArgs {
    /// Check signatures against this allowed-signers file of ssh-keygen
    #[arg(long, value_name = "FILE")]
    allowed_signers: Option<PathBuf>,
    /// Keys that no longer count, as ssh-keygen lists them
    #[arg(long, value_name = "FILE", requires = "allowed_signers")]
    revoked: Option<PathBuf>,
    /// Check signatures against this root of trust: who may sign, how many must, until when
    #[arg(long, value_name = "FILE", conflicts_with = "allowed_signers")]
    trust: Option<PathBuf>,
    /// Folder of its later versions, each signed by enough keys of the one before and of its own
    /// [default: where the root of trust lies]
    #[arg(long, value_name = "DIR", requires = "trust")]
    trust_updates: Option<PathBuf>,
}

impl SignersArgs {
    /// As the program asks it.
    pub(super) fn question(&self) -> SignersQuestion {
        SignersQuestion {
            allowed_signers: self.allowed_signers.clone(),
            revoked: self.revoked.clone(),
            trust: self.trust.clone(),
            trust_updates: self.trust_updates.clone(),
        }
    }
}
