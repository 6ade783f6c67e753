//! `flipside labels`.

use std::path::Path;

use anyhow::bail;

use super::Globals;
use super::label::{Plan, network_disk};
use crate::blind::{self, Remains};
use crate::cli::output::{self, Outcome};
use crate::domain::escape::{escape, escape_os};
use crate::domain::shard::RaterName;
use crate::sighted::entry::labels::{LabelsFormat, export_labels};
use crate::store::event_chain::{Event, EventLog, salvage};
use crate::store::label_file::{LabelFile, LabelHeader, files_of};
use crate::store::label_schema::SCHEMA;
use crate::store::lock::{Lock, Owner};
use crate::store::place::file_system_of;
use crate::store::replacement;
use crate::store::workspace::Workspace;

/// Arguments of `flipside labels`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print as JSON (the default)
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,

    /// Print as CSV, with the columns `import-labels` reads
    #[arg(long)]
    pub csv: bool,

    /// Make a rater's damaged log again, from what can still be read of it and from sealed files
    #[arg(long, value_name = "NAME", conflicts_with_all = ["json", "csv"])]
    pub rebuild: Option<RaterName>,

    /// With --rebuild: keep the log on a network file system all the same
    #[arg(long, requires = "rebuild")]
    pub allow_network_disk: bool,
}

/// Runs the command.
///
/// # Errors
/// Whatever keeps it from an answer.
pub fn run(args: &Args, globals: &Globals) -> anyhow::Result<Outcome> {
    let workspace = globals.workspace()?;
    if let Some(rater) = &args.rebuild {
        network_disk(&workspace, args.allow_network_disk, file_system_of)?;
        return rebuild(rater, &workspace, globals);
    }
    let format = if args.csv { LabelsFormat::Csv } else { LabelsFormat::Json };
    output::result(&export_labels(&workspace, format)?)?;
    Ok(Outcome::Done)
}

fn rebuild(rater: &RaterName, workspace: &Workspace, globals: &Globals) -> anyhow::Result<Outcome> {
    let folder = workspace.rater_databases_dir();
    let path = folder.join(format!("{rater}.db"));
    let shown = escape_os(path.as_os_str());
    let own = files_of(&workspace.labels_dir(), rater)?;
    if !path.exists() && !replacement::is_announced(&path) && own.is_empty() {
        bail!("{shown}: it is not there, and {rater} has no sealed file to make it from");
    }
    let owner = Owner::this_process(globals.clock.stamp());
    let _lock = Lock::acquire(&folder.join(format!("{rater}.lock")), &owner)?;
    replacement::finish(&path)?;
    let files: Vec<LabelFile> = files_of(&workspace.labels_dir(), rater)?
        .into_iter()
        .map(|(_, file)| file)
        // Labels of another tool never were in a log.
        .filter(|file| file.header.chain_head.is_some())
        .collect();
    let (events, damage) = if path.exists() {
        let left = salvage(&path, &SCHEMA);
        let other = left.events.iter().find(|event| event.actor != rater.as_str());
        let other = other.map(|event| {
            (event.seq, format!("event {} is by {}", event.seq, escape(&event.actor)))
        });
        match (left.fault, other) {
            (_, Some((seq, damage))) => {
                let own = left.events.into_iter().take_while(|event| event.seq < seq);
                (own.collect(), damage)
            }
            (None, None) => {
                output::note(&format!(
                    "{shown} is whole: {} events verify, nothing is to be made again",
                    left.events.len()
                ));
                return Ok(Outcome::No);
            }
            (Some(fault), None) if fault.is_damage() => (left.events, fault.without_path()),
            (Some(fault), None) => return Err(fault.into()),
        }
    } else {
        (Vec::<Event>::new(), "it was not there".to_owned())
    };
    if events.is_empty() && files.is_empty() {
        bail!(
            "{shown}: {damage}; nothing of it can be read, and {rater} has no sealed file to make it from"
        );
    }
    let order = |header: &LabelHeader| {
        let plan = Plan::of(workspace, header.shard).ok()?;
        let opening = plan.opening(rater);
        let same = opening.manifest == header.manifest
            && opening.seed == header.seed
            && opening.overlap.total_cmp(&header.overlap).is_eq()
            && opening.repeats.total_cmp(&header.repeats).is_eq();
        same.then_some(opening.order)
    };
    // A new file under a name of its own; it gets the log's name when it is whole.
    let scratch = scratch_folder(&folder, rater)?;
    let fresh = scratch.path().join(format!("{rater}.db"));
    let (mut log, _) = EventLog::open(&fresh, &SCHEMA)?;
    let clock = globals.clock;
    let remains =
        Remains { rater, events: &events, damage: &damage, files: &files, order: &order, clock };
    let rebuilt = blind::rebuild(&mut log, &remains)?;
    drop(log);
    let (log, _) = EventLog::open_read_only(&fresh, &SCHEMA)?;
    let (length, head) = (log.length(), log.head());
    drop(log);
    replacement::announce(&fresh, &path)?;
    if let Some(aside) = replacement::finish(&path)? {
        output::note(&format!("{shown}: {damage}"));
        output::note(&format!("the damaged file is kept as {}", escape_os(aside.as_os_str())));
    }
    output::result(&format!(
        "{shown}: {length} events\n{} events taken over as they were\n{} answers from {} sealed files\nchain head {head}",
        rebuilt.kept, rebuilt.added, rebuilt.files
    ))?;
    output::note(
        "what was answered after that and not sealed is gone: `flipside label` shows it as left",
    );
    Ok(Outcome::Done)
}

/// A folder to make a rater's log in. What an interrupted rebuild left of one goes: the rater's lock is held.
fn scratch_folder(folder: &Path, rater: &RaterName) -> std::io::Result<tempfile::TempDir> {
    // A rater's name has no point in it.
    let prefix = format!(".rebuild.{rater}.");
    for entry in std::fs::read_dir(folder)?.flatten() {
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(&prefix)) {
            // It only takes up room.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    tempfile::Builder::new().prefix(&prefix).tempdir_in(folder)
}
