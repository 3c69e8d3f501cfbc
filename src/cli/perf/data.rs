//! `perf data convert --to-json`, by the conversion to `perf-json`.

use super::option::{PerfOption, names};
use super::{Call, input};
use crate::cli::args::{ConvertArgs, SymbolArgs};
use crate::cli::convert;
use crate::cli::failure::Failure;
use perfconv::formats::perf_json::{FORMAT, PerfJson};
use std::process::ExitCode;
use std::sync::Arc;

/// The options of `perf data convert` of perf 6.1.
pub(super) const OPTIONS: &[PerfOption] = &[
    PerfOption::flag(names!("force")).short('f'),
    PerfOption::value(names!("input")).short('i'),
    PerfOption::flag(names!("verbose")).short('v'),
    PerfOption::flag(names!("all")).refused("only samples are converted to JSON, as in perf"),
    PerfOption::value(names!("to-ctf")).refused("use --to-json, or 'perfconv -h' for other formats"),
    PerfOption::value(names!("to-json")),
    PerfOption::flag(names!("tod")).refused("times are of the recording's clock, as in perf"),
];

/// Converts the recording.
///
/// # Errors
/// If the options are invalid, or the recording cannot be read or the output written.
pub(super) fn run(call: &Call<'_>) -> Result<ExitCode, Failure> {
    let given = &call.given;
    if given.operands() != ["convert"] {
        return Err(Failure::Usage("perf data: the only subcommand is 'convert'".to_owned()));
    }
    let Some(output) = given.value("to-json") else {
        return Err(Failure::Failed("perf data convert: name an output with --to-json FILE".to_owned()));
    };
    let mut format = PerfJson::default();
    format.exact = true;
    convert::run(ConvertArgs {
        inputs: vec![input::path(given)],
        output: Some(output.into()),
        to: Some(FORMAT.name.to_owned()),
        force: given.has("force"),
        format: Some(Arc::new(format)),
        // perf converts call chains as the kernel recorded them, and names one function for each address.
        symbols: SymbolArgs { no_inline: true, no_unwind: true, ..SymbolArgs::default() },
        verbose: given.has("verbose"),
        ..ConvertArgs::default()
    })
}
