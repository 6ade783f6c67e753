//! `flipside doctor`: is what a run needs there?

use std::fs;
use std::io::IsTerminal as _;
use std::path::Path;

use super::Globals;
use crate::cli::output::{self, Outcome};
use crate::domain::digest::sha256_of_reader;
use crate::domain::escape::escape_os;
use crate::domain::manifest;
use crate::domain::manifest::Manifest;
use crate::sighted::entry::runtime::runtime_facts;
use crate::store::file;
use crate::store::workspace::{Workspace, WorkspaceError};
use crate::tui::card;

/// Arguments of `flipside doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print the terminal's test card alone; on a terminal it is printed anyway
    #[arg(long, conflicts_with = "json")]
    card: bool,
}

/// One thing that was looked at.
#[derive(Debug, serde::Serialize)]
struct Check {
    name: String,
    healthy: bool,
    /// Escaped.
    detail: String,
}

/// Runs the command.
///
/// # Errors
/// The answer cannot be written.
pub fn run(args: &Args, globals: &Globals) -> anyhow::Result<Outcome> {
    if args.card {
        card::print()?;
        return Ok(Outcome::Done);
    }
    let mut checks = Vec::new();
    let runtime = runtime_facts(globals.ort_lib.as_deref());
    let runtime_json = match &runtime {
        Ok(facts) => {
            let detail = format!("ONNX Runtime {}", crate::domain::escape::escape(&facts.version));
            checks.push(Check { name: "runtime".to_owned(), healthy: true, detail });
            facts.to_json()
        }
        Err(error) => {
            let detail = error.to_string();
            checks.push(Check { name: "runtime".to_owned(), healthy: false, detail });
            serde_json::Value::Null
        }
    };
    match globals.workspace() {
        Ok(workspace) => of_workspace(&workspace, &mut checks),
        Err(error) => checks.push(Check {
            name: "workspace".to_owned(),
            // Nothing is wrong with not being in one.
            healthy: matches!(error, WorkspaceError::NotFound { .. }),
            detail: error.to_string(),
        }),
    }
    let healthy = checks.iter().all(|check| check.healthy);
    if args.json {
        let json = serde_json::json!({
            "schema": 1, "healthy": healthy, "runtime": runtime_json, "checks": checks,
        });
        output::result(&format!("{json:#}"))?;
    } else {
        let mut text = String::new();
        for Check { name, healthy, detail } in &checks {
            let word = if *healthy { "ok" } else { "PROBLEM" };
            text.push_str(&format!("{word:<8} {name:<12} {detail}\n"));
        }
        if let Ok(facts) = &runtime {
            text.push_str(&format!("\n{}", facts.to_text()));
        }
        output::result(&text)?;
        if std::io::stdout().is_terminal() {
            // Last, because somebody has to look at it.
            card::print()?;
            let problems = checks.iter().filter(|check| !check.healthy).count();
            output::result(&match problems {
                0 => "ok       every check above".to_owned(),
                count => format!("PROBLEM  {count} of the checks above"),
            })?;
        }
    }
    Ok(if healthy { Outcome::Done } else { Outcome::No })
}

fn of_workspace(workspace: &Workspace, checks: &mut Vec<Check>) {
    let config = &workspace.config;
    let detail = escape_os(workspace.root.as_os_str());
    checks.push(Check { name: "workspace".to_owned(), healthy: true, detail });
    let compare = &config.compare;
    let mut files = vec![("reference", &compare.reference), ("sidecar", &compare.sidecar)];
    files.extend(compare.candidates.iter().map(|path| ("candidate", path)));
    files.push(("manifest", &config.fixtures.manifest));
    files.extend(config.fixtures.groups.iter().map(|path| ("groups", path)));
    files.extend(config.labels.iter().map(|labels| ("taxonomy", &labels.taxonomy)));
    for (name, written) in files {
        checks.push(file(name, written, &workspace.resolve(written)));
    }
    checks.push(pictures(&workspace.resolve(&config.fixtures.manifest)));
    let outputs = workspace.outputs_database();
    if let Ok(found) = fs::metadata(&outputs) {
        let megabytes = found.len() as f64 / 1e6;
        checks.push(Check {
            name: "outputs".to_owned(),
            healthy: true,
            detail: format!("{megabytes:.1} MB of remembered outputs; may be deleted"),
        });
    }
}

fn file(name: &str, written: &Path, path: &Path) -> Check {
    let hashed = fs::File::open(path).and_then(|mut file| sha256_of_reader(&mut file));
    let written = escape_os(written.as_os_str());
    let (healthy, detail) = match hashed {
        Ok(hash) => (true, format!("{written}  sha256 {}", crate::domain::digest::hex(&hash))),
        Err(error) => (false, format!("{written}: {error}")),
    };
    Check { name: name.to_owned(), healthy, detail }
}

fn pictures(path: &Path) -> Check {
    let name = "pictures".to_owned();
    let folder = path.parent().unwrap_or_else(|| Path::new(""));
    let manifest = file::read(path, manifest::MAX_BYTES)
        .map_err(|error| error.to_string())
        .and_then(|bytes| Manifest::parse(&bytes, folder).map_err(|error| error.to_string()));
    let manifest = match manifest {
        Ok(manifest) => manifest,
        Err(detail) => return Check { name, healthy: false, detail },
    };
    let missing: Vec<&str> = manifest
        .entries
        .iter()
        .filter(|entry| !entry.path.is_file())
        .map(|entry| entry.written.as_str())
        .collect();
    let count = manifest.entries.len();
    let detail = match missing.first() {
        None => format!("{count} in the manifest, all there"),
        Some(first) => format!(
            "{count} in the manifest, {} missing, first {}",
            missing.len(),
            crate::domain::escape::escape(first)
        ),
    };
    Check { name, healthy: missing.is_empty(), detail }
}
