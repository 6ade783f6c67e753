//! `flipside demo`.

use std::path::{Path, PathBuf};

use super::parity::{ask, of_workspace};
use super::runtime::ensure_for;
use super::{Globals, overview};
use crate::cli::demo_files::lay_out;
use crate::cli::interrupt::stop_flag;
use crate::cli::output::{self, Outcome};
use crate::domain::escape::escape_os;
use crate::sighted::entry::parity::ParityAnswer;
use crate::store::workspace::Workspace;
use crate::tui::session;

/// Arguments of `flipside demo`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder to lay the demo workspace out in
    #[arg(value_name = "DIR", default_value = "flipside-demo")]
    dir: PathBuf,
    /// Fetch ONNX Runtime without asking when it is missing
    #[arg(long)]
    yes: bool,
    /// Which conversion to compare with the fp32 detector
    #[arg(long, value_enum, default_value_t = Candidate::Both)]
    candidate: Candidate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Candidate {
    Int8,
    Fp16,
    Both,
}

impl Candidate {
    fn takes(self, path: &Path) -> bool {
        let word = match self {
            Self::Both => return true,
            Self::Int8 => ".int8.",
            Self::Fp16 => ".fp16.",
        };
        path.to_string_lossy().contains(word)
    }
}

/// Runs the command.
///
/// # Errors
/// Whatever keeps it from an answer.
pub fn run(args: &Args, globals: &Globals) -> anyhow::Result<Outcome> {
    let name = escape_os(args.dir.as_os_str());
    let laid_out = lay_out(&args.dir)?;
    output::note(&format!("{name}: {} files written, {} there", laid_out.written, laid_out.kept));
    ensure_for(globals, args.yes, "flipside demo --yes")?;
    let workspace = Workspace::open(&args.dir)?;
    let stop = stop_flag()?;
    let mut texts = Vec::new();
    for path in &workspace.config.compare.candidates {
        if !args.candidate.takes(path) {
            continue;
        }
        let question = of_workspace(globals, &workspace, path);
        let file = escape_os(path.file_name().unwrap_or(path.as_os_str()));
        match ask(&question, &file, &stop)? {
            ParityAnswer::Compared(compared) => texts.push(compared.text),
            ParityAnswer::Blocked { text, .. } => {
                output::result(&text)?;
                return Ok(Outcome::Unanswered);
            }
            ParityAnswer::Stopped { done, total, .. } => {
                output::note(&format!(
                    "stopped after {done} of {total} pictures; the same command goes on"
                ));
                return Ok(Outcome::Unanswered);
            }
        }
    }
    texts.push(next_steps(&name));
    output::result(&texts.join("\n\n"))?;
    if session::is_possible() {
        return overview::open(&workspace, globals);
    }
    Ok(Outcome::Done)
}

fn next_steps(name: &str) -> String {
    let mut text = String::from("Next\n");
    for (command, what) in [
        ("review", "go through every decision that moved, picture by picture"),
        ("label --rater YOU --shard 1/4", "say blind which pictures show litter"),
        ("score", "what the moved decisions cost, once a shard is sealed"),
    ] {
        text.push_str(&format!("  flipside -C {name} {command:<30} {what}\n"));
    }
    text
}
