//! The command line: arguments, output, exit codes, one file per command.

pub mod args;
pub mod command;
pub mod demo_files;
pub mod interrupt;
pub mod output;
pub mod progress;

use std::process::ExitCode;

use clap::Parser as _;

/// Runs the program with the process's own arguments.
pub fn main() -> ExitCode {
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        // Help and version go to stdout with 0, everything else to stderr with 2.
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match command::run(args) {
        Ok(outcome) => outcome.exit_code(),
        Err(error) => {
            output::error(&error);
            ExitCode::from(2)
        }
    }
}
