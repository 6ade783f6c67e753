//! `flipside seal`.

use super::Globals;
use super::label::{Desk, Plan, network_disk};
use crate::blind::{self, Sealed};
use crate::cli::output::{self, Outcome};
use crate::domain::canonical::Json;
use crate::domain::escape::escape_os;
use crate::domain::shard::{RaterName, Shard};
use crate::store::label_file::LabelFile;
use crate::store::place::file_system_of;

/// Arguments of `flipside seal`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Whose answers
    #[arg(long, value_name = "NAME")]
    pub rater: RaterName,

    /// Which part of the manifest
    #[arg(long, value_name = "I/N")]
    pub shard: Shard,

    /// Write to a log on a network file system all the same
    #[arg(long)]
    pub allow_network_disk: bool,

    /// Print the outcome as JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
/// Whatever keeps it from an answer.
pub fn run(args: &Args, globals: &Globals) -> anyhow::Result<Outcome> {
    let workspace = globals.workspace()?;
    let plan = Plan::of(&workspace, args.shard)?;
    network_disk(&workspace, args.allow_network_disk, file_system_of)?;
    Desk::must_exist(&workspace, &args.rater, args.shard)?;
    let mut desk = Desk::open(&workspace, &args.rater, globals)?;
    if let Some(reason) = &desk.read_only {
        anyhow::bail!("cannot seal: {reason}");
    }
    let place = plan.place(&workspace, &args.rater);
    let key = plan.key(&args.rater);
    let sealed = blind::seal(&key, &mut desk.log, desk.rows, &place, globals.clock)?;
    match sealed {
        Sealed::Written { path, file } => {
            output::result(&said(args, "sealed", &path, &file))?;
            Ok(Outcome::Done)
        }
        Sealed::Unchanged { path, file } => {
            output::result(&said(args, "unchanged", &path, &file))?;
            Ok(Outcome::Done)
        }
        Sealed::Unanswered { left, of } => {
            if args.json {
                output::result(
                    &Json::object([
                        ("status", Json::text("unanswered")),
                        ("left", Json::count(left)),
                        ("of", Json::count(of)),
                    ])
                    .to_canonical(),
                )?;
            }
            output::note(&format!(
                "{left} of {of} pictures have no answer: `flipside label --rater {} --shard {}`, and skip with a reason what cannot be answered",
                args.rater, args.shard
            ));
            Ok(Outcome::No)
        }
    }
}

fn said(args: &Args, status: &str, path: &std::path::Path, file: &LabelFile) -> String {
    let head = file.header.chain_head.map(|head| head.to_hex());
    if args.json {
        return Json::object([
            ("status", Json::text(status)),
            ("path", Json::text(path.to_string_lossy())),
            ("sha256", Json::text(file.sha256)),
            ("chainHead", Json::text_or_null(head)),
            ("labels", Json::count(file.labels.len())),
            ("skipped", Json::count(file.skipped.len())),
            ("blind", Json::text(file.header.blind.word())),
            ("confinement", Json::text(file.header.confinement.word())),
        ])
        .to_canonical();
    }
    format!(
        "{status}: {}\n{} labels, {} skipped\nsha256 {}\nchain head {}",
        escape_os(path.as_os_str()),
        file.labels.len(),
        file.skipped.len(),
        file.sha256,
        head.unwrap_or_default()
    )
}
