//! `flipside init`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::Globals;
use crate::cli::output::{self, Outcome};
use crate::domain::canonical::Json;
use crate::domain::escape::{escape, escape_os};
use crate::domain::manifest::{self, Manifest};
use crate::domain::taxonomy;
use crate::domain::taxonomy::Taxonomy;
use crate::sighted::entry::inspect::check_comparison;
use crate::store::atomic;
use crate::store::file;
use crate::store::workspace::{CONFIG_NAME, CompareConfig, Config, FixturesConfig, LabelsConfig};

/// Most names of one kind in a message.
const MAX_NAMED: usize = 3;

/// Arguments of `flipside init`.
///
/// Writes flipside.toml into the folder given by --workspace, after opening everything it names.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Model the others are compared with
    #[arg(long, value_name = "FILE")]
    reference: PathBuf,
    /// Models to compare with it; the first is the default
    #[arg(long = "candidate", value_name = "FILE", num_args = 1.., required = true)]
    candidates: Vec<PathBuf>,
    /// The reference's sidecar; without it, the .meta.json beside the reference
    #[arg(long, value_name = "FILE")]
    sidecar: Option<PathBuf>,
    /// Pictures, one path a line
    #[arg(long, value_name = "FILE")]
    manifest: PathBuf,
    /// CSV `path,source,pair`: where pictures come from and which belong together
    #[arg(long, value_name = "FILE")]
    groups: Option<PathBuf>,
    /// Coarse categories and the classes in each; needed for labelling
    #[arg(long, value_name = "FILE")]
    taxonomy: Option<PathBuf>,
    /// Number of shards the pictures are cut into for labelling
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    shards: u32,
    /// Share of pictures that two raters see
    #[arg(long, value_name = "SHARE", default_value_t = 0.20, value_parser = share, allow_negative_numbers = true)]
    overlap: f64,
    /// Share of pictures that one rater sees twice
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, value_parser = share, allow_negative_numbers = true)]
    repeats: f64,
    /// Seed of every shuffle
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Write what was done as JSON
    #[arg(long)]
    json: bool,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("expected a share from 0 to 1".to_owned()),
    }
}

/// Runs the command.
///
/// # Errors
/// `flipside.toml` exists already or cannot be written.
pub fn run(args: &Args, globals: &Globals) -> anyhow::Result<Outcome> {
    let place = globals.start.join(CONFIG_NAME);
    let name = escape_os(place.as_os_str());
    if place.symlink_metadata().is_ok() {
        anyhow::bail!("{name} exists already; nothing was written");
    }
    let sidecar =
        args.sidecar.clone().unwrap_or_else(|| args.reference.with_extension("meta.json"));
    let models: Vec<PathBuf> =
        std::iter::once(&args.reference).chain(&args.candidates).cloned().collect();
    let check = check_comparison(&models, &sidecar);
    let mut problems = check.problems;
    problems.extend(manifest_problems(&args.manifest, args.groups.as_deref()));
    if let Some(taxonomy) = &args.taxonomy {
        problems.extend(taxonomy_problems(taxonomy, &check.classes));
    }
    for remark in &check.remarks {
        output::note(&format!("note: {remark}"));
    }
    if !problems.is_empty() {
        for problem in &problems {
            output::note(&format!("flipside: {problem}"));
        }
        output::note(&format!("flipside: {name} was not written"));
        return Ok(Outcome::Unanswered);
    }
    let config = config(args, &sidecar, &globals.start)?;
    let text = toml::to_string(&config).context("a path is not UTF-8")?;
    atomic::create_new(&place, text.as_bytes())?;
    if args.json {
        let remarks = check.remarks.into_iter().map(Json::Text).collect();
        let fields = [
            ("remarks", Json::Array(remarks)),
            ("schema", Json::Int("1".to_owned())),
            ("written", Json::Text(place.to_string_lossy().into_owned())),
        ];
        let fields = fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        output::result(&Json::Object(fields).to_file())?;
    } else {
        output::result(&format!("wrote {name}"))?;
    }
    Ok(Outcome::Done)
}

fn config(args: &Args, sidecar: &Path, root: &Path) -> anyhow::Result<Config> {
    let root = std::path::absolute(root)?;
    let written = |path: &Path| written_path(path, &root);
    let candidates = args.candidates.iter().map(|path| written(path)).collect::<Result<_, _>>()?;
    let labels = match &args.taxonomy {
        None => None,
        Some(taxonomy) => Some(LabelsConfig {
            taxonomy: written(taxonomy)?,
            shards: args.shards,
            overlap: args.overlap,
            repeats: args.repeats,
            seed: args.seed,
        }),
    };
    Ok(Config {
        schema: 1,
        compare: CompareConfig {
            reference: written(&args.reference)?,
            candidates,
            sidecar: written(sidecar)?,
        },
        fixtures: FixturesConfig {
            manifest: written(&args.manifest)?,
            groups: args.groups.as_deref().map(written).transpose()?,
        },
        labels,
    })
}

/// A path as the file says it: relative to the workspace when it lies inside, whole when not.
fn written_path(path: &Path, root: &Path) -> std::io::Result<PathBuf> {
    let whole = std::path::absolute(path)?;
    let shown = whole.strip_prefix(root).unwrap_or(&whole);
    // One spelling on every system, so that the file can be shared.
    Ok(match shown.to_str() {
        Some(text) if cfg!(windows) => PathBuf::from(text.replace('\\', "/")),
        _ => shown.to_owned(),
    })
}

fn manifest_problems(path: &Path, groups: Option<&Path>) -> Vec<String> {
    let name = escape_os(path.as_os_str());
    let read = |path: &Path| {
        file::read(path, manifest::MAX_BYTES)
            .map_err(|error| format!("{}: {error}", escape_os(path.as_os_str())))
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let parsed = read(path).and_then(|bytes| {
        Manifest::parse(&bytes, folder).map_err(|error| format!("{name}: {error}"))
    });
    let manifest = match parsed {
        Ok(manifest) => manifest,
        Err(problem) => return vec![problem],
    };
    let mut problems = Vec::new();
    let missing = manifest.entries.iter().filter(|entry| !entry.path.is_file());
    let missing: Vec<&str> = missing.map(|entry| entry.written.as_str()).collect();
    if !missing.is_empty() {
        problems.push(format!("{name}: no such file: {}", named(&missing)));
    }
    if let Some(groups) = groups {
        let group_name = escape_os(groups.as_os_str());
        let parsed = read(groups).and_then(|bytes| {
            manifest::parse_groups(&bytes).map_err(|error| format!("{group_name}: {error}"))
        });
        match parsed {
            Ok(grouped) => {
                let listed: BTreeSet<&str> =
                    manifest.entries.iter().map(|entry| entry.written.as_str()).collect();
                let strangers: Vec<&str> = grouped
                    .keys()
                    .map(String::as_str)
                    .filter(|path| !listed.contains(path))
                    .collect();
                if !strangers.is_empty() {
                    problems
                        .push(format!("{group_name}: not in the manifest: {}", named(&strangers)));
                }
            }
            Err(problem) => problems.push(problem),
        }
    }
    problems
}

/// Every class must stand in the taxonomy, which itself lets none stand twice, and nothing else.
fn taxonomy_problems(path: &Path, classes: &[String]) -> Vec<String> {
    let name = escape_os(path.as_os_str());
    let parsed = file::read_text(path, taxonomy::MAX_BYTES)
        .map_err(|error| error.to_string())
        .and_then(|text| Taxonomy::parse(&text).map_err(|error| error.to_string()));
    let taxonomy = match parsed {
        Ok(taxonomy) => taxonomy,
        Err(problem) => return vec![format!("{name}: {}", escape(&problem))],
    };
    // Without a readable sidecar there is nothing to hold it against, and that is said already.
    if classes.is_empty() {
        return Vec::new();
    }
    let mut problems = Vec::new();
    let uncovered: Vec<&str> = classes
        .iter()
        .map(String::as_str)
        .filter(|class| taxonomy.category_of(class).is_none())
        .collect();
    if !uncovered.is_empty() {
        problems.push(format!("{name}: classes in no group: {}", named(&uncovered)));
    }
    let known: BTreeSet<&str> = classes.iter().map(String::as_str).collect();
    let strangers: Vec<&str> = taxonomy
        .groups()
        .iter()
        .flat_map(|group| &group.leaves)
        .map(String::as_str)
        .filter(|leaf| !known.contains(leaf))
        .collect();
    if !strangers.is_empty() {
        problems.push(format!("{name}: not among the sidecar's classes: {}", named(&strangers)));
    }
    problems
}

/// The first few, escaped, and how many more.
fn named(names: &[&str]) -> String {
    let shown: Vec<_> = names.iter().take(MAX_NAMED).map(|name| escape(name)).collect();
    let more = names.len().saturating_sub(MAX_NAMED);
    let shown = shown.join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::demo_files;
    use crate::store::clock::Clock;
    use crate::store::workspace::Workspace;
    use clap::Parser as _;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    /// The demo's files in a folder that is no workspace yet.
    fn unmarked_demo() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("temporary folder");
        demo_files::lay_out(folder.path()).expect("laid out");
        std::fs::remove_file(folder.path().join(CONFIG_NAME)).expect("removed");
        folder
    }

    fn init(root: &Path, more: &[&str]) -> anyhow::Result<Outcome> {
        let at = |name: &str| root.join("fixtures/demo").join(name).display().to_string();
        let mut line = vec![
            "init".to_owned(),
            format!("--reference={}", at("artifacts/demo-litter.fp32.onnx")),
            format!("--manifest={}", at("manifest.txt")),
            format!("--taxonomy={}", at("coarse10.toml")),
            format!("--candidate={}", at("artifacts/demo-litter.int8.onnx")),
        ];
        line.extend(more.iter().map(|part| part.replace("DEMO", &at(""))));
        // A flag given again replaces the first.
        let parsed = Line::try_parse_from(line)?;
        let globals =
            Globals { start: root.to_owned(), ort_lib: None, clock: Clock::from_environment() };
        run(&parsed.args, &globals)
    }

    #[test]
    fn what_is_written_opens_and_is_relative() {
        let folder = unmarked_demo();
        assert_eq!(init(folder.path(), &["--shards=3"]).expect("written"), Outcome::Done);
        let workspace = Workspace::open(folder.path()).expect("a workspace");
        let compare = &workspace.config.compare;
        assert_eq!(compare.reference, Path::new("fixtures/demo/artifacts/demo-litter.fp32.onnx"));
        assert_eq!(
            compare.sidecar,
            Path::new("fixtures/demo/artifacts/demo-litter.fp32.meta.json")
        );
        assert_eq!(workspace.config.labels.as_ref().map(|labels| labels.shards), Some(3));
        let error = init(folder.path(), &[]).expect_err("once").to_string();
        assert!(error.contains("flipside.toml exists already"), "{error}");
    }

    #[test]
    fn everything_named_is_opened_first() {
        let folder = unmarked_demo();
        let place = |name: &str| folder.path().join(name);
        let write = |name: &str, text: &str| {
            atomic::write(&place(name), text.as_bytes()).expect("written");
            place(name).display().to_string()
        };
        let manifest = write("fixtures/demo/bad.txt", "images/none.jpg\n");
        let sidecar = write("bad.meta.json", "{}");
        for wrong in [
            "--candidate=DEMO/README.md".to_owned(),
            format!("--sidecar={sidecar}"),
            "--sidecar=DEMO/none.json".to_owned(),
        ] {
            assert_eq!(
                init(folder.path(), &[&wrong]).expect("said"),
                Outcome::Unanswered,
                "{wrong}"
            );
            assert!(!place(CONFIG_NAME).exists(), "{wrong}");
        }
        let problems = manifest_problems(Path::new(&manifest), None);
        assert!(problems[0].ends_with("bad.txt: no such file: images/none.jpg"), "{problems:?}");
        let good = place("fixtures/demo/manifest.txt");
        assert_eq!(manifest_problems(&good, None), [""; 0]);
        let groups = write("g.csv", "path,source,pair\nimages/none.jpg,a,b\n");
        let problems = manifest_problems(&good, Some(Path::new(&groups)));
        assert!(problems[0].contains("not in the manifest: images/none.jpg"), "{problems:?}");
        assert!(Line::try_parse_from(["init", "--shards=0"]).is_err());
        assert!(share("1.5").is_err() && share("NaN").is_err() && share("0.5") == Ok(0.5));
    }

    #[test]
    fn a_taxonomy_covers_each_class_and_nothing_else() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("t.toml");
        let text = "schema = 1\n[groups]\na = [\"x\", \"y\"]\n";
        atomic::write(&path, text.as_bytes()).expect("written");
        let problems = |classes: &[&str]| {
            let classes: Vec<String> = classes.iter().map(|class| (*class).to_owned()).collect();
            taxonomy_problems(&path, &classes)
        };
        assert_eq!(problems(&["y", "x"]), [""; 0]);
        let found = problems(&["x", "a", "b", "c", "d"]);
        assert!(found[0].ends_with("classes in no group: a, b, c and 1 more"), "{found:?}");
        assert!(found[1].ends_with("not among the sidecar's classes: y"), "{found:?}");
        atomic::write(&path, b"schema = 2").expect("written");
        assert!(problems(&["x"])[0].contains("schema 2, expected 1"));
    }
}
