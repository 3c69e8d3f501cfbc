//! `--header` and `--header-only` of `perf script` and `perf report`.

use super::input;
use super::option::Given;
use crate::cli::failure::Failure;
use crate::cli::output;
use crate::cli::report::printable_line;
use perf_data::container::read::Container;
use perfconv::inspect::info::header::perf_header;
use perfconv::inspect::info::{Info, Parts};
use std::path::Path;

/// What follows the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// The output of the command.
    Output,
    /// Nothing.
    End,
}

/// Prints the header if the options ask for it.
///
/// # Errors
/// If the recording is standard input, which cannot be read again for what follows the header, or cannot be read.
pub(super) fn print(given: &Given, path: &Path) -> Result<Then, Failure> {
    let is_alone = given.has("header-only");
    if !is_alone && !given.has("header") {
        return Ok(Then::Output);
    }
    if input::is_stdin(path) {
        let problem = "--header needs a file, not standard input: the header of a pipe is complete only at its end";
        return Err(Failure::Usage(problem.to_owned()));
    }
    let info = input::info(path, Parts::default())?;
    output::print(text(&info, given.has("show-info"), is_alone).as_bytes())?;
    Ok(if is_alone { Then::End } else { Then::Output })
}

fn text(info: &Info, is_full: bool, is_alone: bool) -> String {
    let (file, features) = perf_header(&info.meta, is_full);
    let [file, features] =
        [file, features].map(|lines| -> String { lines.iter().map(|line| printable_line(line) + "\n").collect() });
    // The features of a pipe are records, which perf prints when it reads them.
    match (info.meta.container, is_alone) {
        (Container::Pipe, true) => format!("# ========\n{file}# ========\n#\n"),
        (Container::Pipe, false) => format!("# ========\n{file}# ========\n#\n{features}"),
        _ => format!("# ========\n{file}{features}# ========\n#\n"),
    }
}
