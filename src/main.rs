//! The program `perfconv`. See [`perfconv::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    perfconv::cli::main()
}
