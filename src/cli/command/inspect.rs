//! `flipside inspect`.

use std::path::PathBuf;

use super::Globals;
use crate::cli::output::{self, Outcome};
use crate::domain::canonical::Json;
use crate::sighted::entry::inspect::{Inspected, InspectedFile, inspect};

/// Arguments of `flipside inspect`.
///
/// The sidecar of each model is looked for beside it: the same name, ending in `.meta.json`. Class
/// order, input and normalization of the others are compared with the first one's.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 nothing but remarks, 1 a finding of severity error or warn, \
                        2 a file that cannot be read or is refused. One bad file does not keep the \
                        others from being inspected."
)]
pub struct Args {
    /// Model files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Sidecar to compare each model's own with; models that have none are checked against it
    #[arg(long, value_name = "FILE")]
    sidecar: Option<PathBuf>,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// The named sidecar cannot be used, or stdout cannot be written.
pub fn run(args: &Args, _globals: &Globals) -> anyhow::Result<Outcome> {
    let files = inspect(&args.files, args.sidecar.as_deref())?;
    if args.json {
        let list = files.iter().map(|file| file.json.clone()).collect();
        let fields = [("schema", Json::Int("1".to_owned())), ("files", Json::Array(list))];
        let fields = fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        output::result(&Json::Object(fields).to_file())?;
    } else {
        let pages: Vec<String> = files.iter().map(page).collect();
        output::result(&pages.join("\n"))?;
    }
    Ok(match files.iter().map(|file| file.outcome).max() {
        Some(Inspected::Unanswered) => Outcome::Unanswered,
        Some(Inspected::Findings) => Outcome::No,
        Some(Inspected::Clean) | None => Outcome::Done,
    })
}

/// One file for people: its facts, then its findings.
fn page(file: &InspectedFile) -> String {
    let mut lines = vec![file.name.clone()];
    for (label, value) in &file.facts {
        lines.push(format!("  {label:<12} {value}"));
    }
    for finding in &file.findings {
        lines.push(format!("  {:<5} {}: {}", finding.severity, finding.id, finding.text));
    }
    lines.push(String::new());
    lines.join("\n")
}
