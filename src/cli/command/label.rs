//! `flipside label`.
//!
//! Plans, locks and opens; then hands values to the labelling zone and stays out of its way.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, bail};

use super::Globals;
use crate::blind::{self, Ended, LabelArgs, SealError, ShardKey, Surface};
use crate::cli::output::{self, Outcome};
use crate::domain::escape::{escape, escape_os};
use crate::domain::shard::{PlannedFixture, RaterName, Shard, ShardPlan};
use crate::domain::taxonomy;
use crate::domain::taxonomy::Taxonomy;
use crate::store::event_chain::{Access, ChainError, EventLog};
use crate::store::file;
use crate::store::fixtures::FixtureSet;
use crate::store::label_file::{Confinement, SealPlace, files_of};
use crate::store::label_schema::{LabelRow, Opening, SCHEMA};
use crate::store::lock::{Lock, LockError, Owner};
use crate::store::place::{self, NetworkDisk, file_system_of};
use crate::store::replacement;
use crate::store::sandbox::Sandbox;
use crate::store::sqlite::SqliteError;
use crate::store::viewing::ViewPlace;
use crate::store::workspace::{CONFIG_NAME, Workspace};
use crate::tui::picture::probe::Graphics;
use crate::tui::session::{self, Options};

/// Arguments of `flipside label`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Who labels
    #[arg(long, value_name = "NAME")]
    pub rater: RaterName,

    /// Which part of the manifest; N is what flipside.toml says
    #[arg(long, value_name = "I/N")]
    pub shard: Shard,

    /// Open a sealed shard again; changed answers carry this reason and go into a second file
    #[arg(long, value_name = "REASON")]
    pub amend: Option<String>,

    /// Keep the log on a network file system all the same; that is recorded
    #[arg(long)]
    pub allow_network_disk: bool,

    /// Lines instead of a screen: for screen readers, dumb terminals, scripts
    #[arg(long)]
    pub plain: bool,

    /// How pictures are drawn: auto, kitty, iterm, sixel, blocks or none
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub graphics: Graphics,
}

/// Runs the command.
///
/// # Errors
/// Whatever keeps it from an answer.
pub fn run(args: &Args, globals: &Globals) -> anyhow::Result<Outcome> {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let plain = args.plain || dumb;
    if !plain && !session::is_possible() {
        bail!(
            "a screen needs a terminal; `flipside label --rater {} --shard {} --plain` reads and writes lines",
            args.rater,
            args.shard
        );
    }
    if let Some(reason) = &args.amend
        && (reason.trim().is_empty() || !crate::domain::label::is_plain(reason))
    {
        bail!("--amend: expected a reason in visible characters");
    }
    let workspace = globals.workspace()?;
    let plan = Plan::of(&workspace, args.shard)?;
    let network_disk = network_disk(&workspace, args.allow_network_disk, file_system_of)?;
    if args.amend.is_some() {
        Desk::must_exist(&workspace, &args.rater, args.shard)?;
    }
    let desk = Desk::open(&workspace, &args.rater, globals)?;
    if let Some(reason) = &desk.read_only {
        output::note(&format!("{}: to look at only: {reason}", args.rater));
    }
    let opening = plan.opening(&args.rater);
    let shown = opening.order.iter().map(|showing| showing.fixture).collect();
    let view = if plain { ViewPlace::new().ok() } else { None };
    let sandbox = Sandbox::new()
        .reading(plan.set.files(&shown))
        .writing(desk.files.clone())
        .writing(view.iter().map(ViewPlace::folder))
        .proven_by(workspace.root.join(CONFIG_NAME));
    let label_args = LabelArgs {
        rater: args.rater.clone(),
        leaves: plan.leaves(),
        pixels: plan.set.pixels(&shown),
        place: plan.place(&workspace, &args.rater),
        opening,
        log: desk.log,
        rows: desk.rows,
        sandbox,
        read_only: desk.read_only.clone(),
        amend: args.amend.clone(),
        network_disk,
        clock: globals.clock,
    };
    let ended = if plain {
        let mut input = std::io::stdin().lock();
        let mut output = std::io::stdout().lock();
        let surface = Surface::Plain { input: &mut input, output: &mut output, view };
        let ended = blind::run(label_args, surface);
        // The reader may be gone; what was saved is saved.
        let _ = output.flush();
        ended?
    } else {
        let options = Options::from_environment(args.graphics);
        blind::run(label_args, Surface::Screen(options))?
    };
    Ok(report(args, &ended, desk.read_only.is_some()))
}

/// The network file system the logs lie on, when that is allowed.
///
/// # Errors
/// It is not.
pub(super) fn network_disk(
    workspace: &Workspace,
    allowed: bool,
    probe: impl Fn(&std::path::Path) -> Option<String>,
) -> Result<Option<String>, NetworkDisk> {
    match place::network_disk(&workspace.rater_databases_dir(), probe) {
        Some(found) if !allowed => Err(found),
        found => Ok(found.map(|found| found.kind)),
    }
}

fn report(args: &Args, ended: &Ended, read_only: bool) -> Outcome {
    let Args { rater, shard, .. } = args;
    let next = if read_only {
        String::new()
    } else if ended.left > 0 {
        format!("; `flipside label --rater {rater} --shard {shard}` goes on")
    } else if ended.sealed {
        "; sealed".to_owned()
    } else {
        format!("; `flipside seal --rater {rater} --shard {shard}` closes it")
    };
    output::note(&format!("{} done, {} left{next}", ended.done, ended.left));
    if ended.confinement == Confinement::None {
        output::note(
            "this system has no Landlock: nothing but the program kept other files closed",
        );
    }
    if ended.unsaved > 0 {
        let pictures = if ended.unsaved == 1 { "picture" } else { "pictures" };
        output::note(&format!("marks on {} {pictures} were not saved", ended.unsaved));
    }
    match &ended.failed {
        Some(reason) => {
            output::note(&format!("nothing more could be saved: {reason}"));
            Outcome::Unanswered
        }
        None if read_only => Outcome::Unanswered,
        None => Outcome::Done,
    }
}

/// What is asked, of which fixtures.
pub(super) struct Plan {
    set: FixtureSet,
    taxonomy: Taxonomy,
    plan: ShardPlan,
    shard: Shard,
    planned: Vec<PlannedFixture>,
}

impl Plan {
    /// The plan of a workspace for one shard.
    pub(super) fn of(workspace: &Workspace, shard: Shard) -> anyhow::Result<Self> {
        let config = &workspace.config;
        let Some(labels) = &config.labels else {
            bail!("{}: no [labels]: expected taxonomy and shards there", shown_config(workspace));
        };
        if shard.of != labels.shards {
            bail!(
                "{} cuts the manifest into {} shards, --shard says {shard}",
                shown_config(workspace),
                labels.shards
            );
        }
        let taxonomy = read_taxonomy(&workspace.resolve(&labels.taxonomy))?;
        let set = open_fixtures(workspace)?;
        let planned = set
            .fixtures
            .iter()
            .map(|fixture| PlannedFixture { id: fixture.id, cluster: fixture.group.pair.clone() })
            .collect();
        let plan = ShardPlan {
            manifest: set.manifest.hash,
            of: labels.shards,
            overlap: labels.overlap,
            repeats: labels.repeats,
            seed: labels.seed,
        };
        Ok(Self { set, taxonomy, plan, shard, planned })
    }

    /// The terms one rater's shard is opened on.
    pub(super) fn opening(&self, rater: &RaterName) -> Opening {
        Opening {
            shard: self.shard,
            manifest: self.plan.manifest,
            fixture_count: self.set.ids().len() as u64,
            taxonomy: self.taxonomy.hash(),
            groups: self.taxonomy.groups().iter().map(|group| group.name.clone()).collect(),
            seed: self.plan.seed,
            overlap: self.plan.overlap,
            repeats: self.plan.repeats,
            order: self.plan.order(&self.planned, self.shard, rater),
        }
    }

    /// The shard's key.
    pub(super) fn key(&self, rater: &RaterName) -> ShardKey {
        ShardKey {
            rater: rater.clone(),
            manifest: self.plan.manifest,
            taxonomy: self.taxonomy.hash(),
            shard: self.shard,
        }
    }

    /// Where the rater's label files of this shard lie.
    pub(super) fn place(&self, workspace: &Workspace, rater: &RaterName) -> SealPlace {
        SealPlace::new(workspace.labels_dir(), self.plan.manifest, self.shard, rater.clone())
    }

    fn leaves(&self) -> Vec<Vec<String>> {
        self.taxonomy.groups().iter().map(|group| group.leaves.clone()).collect()
    }
}

fn shown_config(workspace: &Workspace) -> String {
    escape_os(workspace.root.join(CONFIG_NAME).as_os_str())
}

/// Reads a taxonomy file.
pub(super) fn read_taxonomy(path: &std::path::Path) -> anyhow::Result<Taxonomy> {
    let shown = escape_os(path.as_os_str());
    let text = file::read_text(path, taxonomy::MAX_BYTES).with_context(|| shown.clone())?;
    Taxonomy::parse(&text)
        .map_err(|error| anyhow::anyhow!("{shown}: {}", escape(&error.to_string())))
}

/// The workspace's fixtures, all of them readable: a plan made from fewer would differ from the one
/// another rater has.
pub(super) fn open_fixtures(workspace: &Workspace) -> anyhow::Result<FixtureSet> {
    let fixtures = &workspace.config.fixtures;
    let groups = fixtures.groups.as_ref().map(|path| workspace.resolve(path));
    let index = workspace.fixture_index();
    let set =
        FixtureSet::open(&workspace.resolve(&fixtures.manifest), groups.as_deref(), Some(&index))?;
    if let Some(first) = set.unreadable.first() {
        bail!(
            "{} of {} fixtures cannot be read, the first is {:?}: {}; labels need them all, so put them back or take them off the manifest",
            set.unreadable.len(),
            set.manifest.entries.len(),
            escape(&first.written),
            escape(&first.reason)
        );
    }
    Ok(set)
}

/// A rater's log, locked and open.
pub(super) struct Desk {
    pub(super) log: EventLog,
    pub(super) rows: Vec<LabelRow>,
    /// Why it is open for reading only.
    pub(super) read_only: Option<String>,
    /// The files it consists of.
    files: Vec<PathBuf>,
    _lock: Option<Lock>,
}

impl Desk {
    /// For what only goes on with a log: making one for a misspelt name would leave it behind.
    pub(super) fn must_exist(
        workspace: &Workspace,
        rater: &RaterName,
        shard: Shard,
    ) -> anyhow::Result<()> {
        let path = workspace.rater_databases_dir().join(format!("{rater}.db"));
        let is_sealed = || -> anyhow::Result<bool> {
            Ok(!files_of(&workspace.labels_dir(), rater)?.is_empty())
        };
        if path.exists() || replacement::is_announced(&path) || is_sealed()? {
            return Ok(());
        }
        Err(SealError::NotOpened { shard, rater: rater.clone() }.into())
    }

    /// Opens a rater's log: to write when nobody else does, else to look at.
    pub(super) fn open(
        workspace: &Workspace,
        rater: &RaterName,
        globals: &Globals,
    ) -> anyhow::Result<Self> {
        let folder = workspace.rater_databases_dir();
        let path = folder.join(format!("{rater}.db"));
        let files =
            ["", "-wal", "-shm"].map(|end| folder.join(format!("{rater}.db{end}"))).to_vec();
        let lock_path = folder.join(format!("{rater}.lock"));
        let open = |access| EventLog::open_as(&path, &SCHEMA, access, &LabelRow::of);
        let reading = |reason: String, access: Access| -> anyhow::Result<Self> {
            if !path.exists() {
                bail!("{} does not exist, and {reason}", escape_os(path.as_os_str()));
            }
            let (log, rows) = open(access)?;
            let files = files.clone();
            Ok(Self { log, rows, read_only: Some(reason), files, _lock: None })
        };
        let lock = match Lock::acquire(&lock_path, &Owner::this_process(globals.clock.stamp())) {
            Ok(lock) => lock,
            Err(LockError::Held { owner, .. }) => {
                let owner =
                    owner.map_or_else(|| "another process".to_owned(), |owner| owner.to_string());
                return reading(format!("{owner} labels as {rater}"), Access::Read);
            }
            Err(LockError::Failed { source, .. }) if is_read_only(&source) => {
                return reading("the workspace is read-only".to_owned(), Access::Copy);
            }
            Err(error) => return Err(error.into()),
        };
        // A rebuild that was interrupted.
        replacement::finish(&path)?;
        match open(Access::Write) {
            Ok((log, rows)) => Ok(Self { log, rows, read_only: None, files, _lock: Some(lock) }),
            Err(ChainError::Database(SqliteError::ReadOnly { .. })) => {
                reading("the workspace is read-only".to_owned(), Access::Copy)
            }
            Err(error) if error.is_damage() => bail!(
                "{error}; it is left as it is, and `flipside labels --rebuild {rater}` makes a new log from what can still be read and from sealed files"
            ),
            Err(error) => Err(error.into()),
        }
    }
}

fn is_read_only(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_disk_is_refused_unless_it_is_allowed_and_then_named() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let text = "schema = 1\n[compare]\nreference = \"a\"\ncandidates = [\"b\"]\nsidecar = \"c\"\n[fixtures]\nmanifest = \"m\"\n";
        crate::store::atomic::write(&folder.path().join(CONFIG_NAME), text.as_bytes())
            .expect("written");
        let workspace = Workspace::open(folder.path()).expect("a workspace");
        let nfs = |_: &std::path::Path| Some("nfs4".to_owned());
        let error = network_disk(&workspace, false, nfs).expect_err("refused").to_string();
        assert!(error.contains("network file system (nfs4)"), "{error}");
        assert_eq!(network_disk(&workspace, true, nfs), Ok(Some("nfs4".to_owned())));
        assert_eq!(network_disk(&workspace, false, |_| Some("ext4".to_owned())), Ok(None));
    }
}
