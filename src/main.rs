//! The `flipside` program: everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    flipside::cli::main()
}
