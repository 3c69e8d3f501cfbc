//! `perfconv report` and `annotate`.

use super::args::{AnnotateArgs, ColorArg, ConvertArgs, ReportArgs};
use super::convert;
use super::failure::Failure;
use super::pager::Pager;
use std::env;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

/// Prints a report; on a terminal in color, through a pager.
///
/// # Errors
/// If the arguments are invalid, the recording cannot be read, or the output cannot be written.
pub(super) fn run(mut args: ReportArgs) -> Result<ExitCode, Failure> {
    args.contents.ascii |= !is_utf8_locale();
    let (has_color, has_pager) = (has_color(args.color, &args.output), !args.no_pager && is_terminal(&args.output));
    paged(has_pager, || args.conversion(has_color).map_err(Failure::Usage))
}

/// Prints an annotated function; on a terminal in color, through a pager.
///
/// # Errors
/// If the arguments are invalid, the recording cannot be read, it has no such function, or the output cannot be written.
pub(super) fn annotate(args: AnnotateArgs) -> Result<ExitCode, Failure> {
    let (has_color, has_pager) = (has_color(args.color, &args.output), !args.no_pager && is_terminal(&args.output));
    paged(has_pager, || args.conversion(has_color, !is_utf8_locale()).map_err(Failure::Usage))
}

/// Whether an output is a terminal.
fn is_terminal(output: &Path) -> bool {
    output == Path::new("-") && io::stdout().is_terminal()
}

fn has_color(color: ColorArg, output: &Path) -> bool {
    match color {
        ColorArg::Auto => is_terminal(output) && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        ColorArg::Always => true,
        ColorArg::Never => false,
    }
}

/// Runs a conversion, whose output is shown in a pager if there is one.
fn paged(has_pager: bool, conversion: impl FnOnce() -> Result<ConvertArgs, Failure>) -> Result<ExitCode, Failure> {
    let pager = if has_pager { Pager::start() } else { None };
    let done = conversion().and_then(convert::run);
    match pager {
        None => done,
        Some(pager) => {
            pager.wait();
            // A reader that quits before the end has seen enough.
            if matches!(done, Err(Failure::BrokenPipe)) { Ok(ExitCode::SUCCESS) } else { done }
        }
    }
}

/// Whether the locale's characters are in UTF-8, by the first of the variables that determine it.
fn is_utf8_locale() -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter();
    let locale = names.filter_map(env::var_os).find(|value| !value.is_empty()).unwrap_or_default();
    let locale = locale.to_string_lossy().to_ascii_lowercase();
    ["utf-8", "utf8"].iter().any(|encoding| locale.contains(encoding))
}
