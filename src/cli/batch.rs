//! `perfconv *.data --out-dir DIR`: converts several recordings, each to its own output.

use super::args::ConvertArgs;
use super::convert::Conversion;
use super::failure::Failure;
use super::output::create_directories;
use super::report::print_message;
use perf_data::container::access::Access;
use perf_data::container::write::envelope::strip;
use perf_data::threads::in_order;
use perfconv::formats::framework::table::{by_file_name, by_name};
use perfconv::formats::{DEFAULT_PROFILE, FORMATS, Format};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

/// Converts each recording to a file in a directory. A recording that cannot be converted does not stop the others.
///
/// # Errors
/// If the arguments are invalid, or the directory cannot be created.
pub(super) fn run(args: &ConvertArgs, directory: &Path) -> Result<ExitCode, Failure> {
    let to = args.to.as_deref().unwrap_or(DEFAULT_PROFILE.name);
    let extension = match (by_name(FORMATS, to), args.profile.split_by) {
        (Some(format), None) => extension(format),
        // Split profiles are a directory each. An unknown format is reported by `Conversion::new`.
        _ => String::new(),
    };
    let inputs = &args.inputs;
    if inputs.is_empty() {
        return Err(Failure::Usage("--out-dir: no recording is named; name some, such as *.data".to_owned()));
    }
    let mut jobs = Vec::new();
    let mut by_output = BTreeMap::new();
    for input in inputs {
        let Some(stem) = stem(input) else {
            let problem = format!("--out-dir: {}: cannot derive an output name; convert it with -o", input.display());
            return Err(Failure::Usage(problem));
        };
        let mut name = stem;
        name.push(&extension);
        let output = directory.join(name);
        if let Some(other) = by_output.insert(output.clone(), input) {
            let (other, input, output) = (other.display(), input.display(), output.display());
            let problem = format!(
                "--out-dir: {other} and {input} have the same output {output}; convert them one by one with -o"
            );
            return Err(Failure::Usage(problem));
        }
        jobs.push((input, output));
    }
    let conversion = Conversion::new(args, &jobs[0].1)?;
    let access = inputs.iter().fold(Access::default(), |access, input| access.and(Access::from_input(input)));
    create_directories(directory, args.mode.into_iter().fold(access, Access::with_mode))?;
    Ok(convert_each(args, &conversion, &jobs))
}

/// Converts each recording to its output, several at a time. A recording that cannot be converted does not stop the others.
pub(super) fn convert_each(args: &ConvertArgs, conversion: &Conversion, jobs: &[(&PathBuf, PathBuf)]) -> ExitCode {
    let (mut failed, mut status) = (0, 0);
    let convert = |(input, output): &(&PathBuf, PathBuf)| conversion.convert(args, (*input).clone(), output);
    let threads = args.read.jobs.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    in_order(threads, jobs, convert, |converted| match converted {
        Ok(converted) => status = converted.report(args).max(status),
        Err(failure) => {
            failure.report();
            failed += 1;
        }
    });
    if failed > 0 {
        print_message(format_args!("perfconv: {failed} of {} recordings could not be converted", jobs.len()));
    }
    if failed > 0 { ExitCode::FAILURE } else { ExitCode::from(status) }
}

/// Extension of an output of this format, compression included.
fn extension(format: &Format) -> String {
    let extension = format.extensions.first().map_or(format.name, |(extension, _)| extension);
    let compressed = format.envelope.map(|envelope| format!(".{}", envelope.extension())).unwrap_or_default();
    format!(".{extension}{compressed}")
}

/// Name of a recording without the extensions of its format and compression; `None` for standard input.
fn stem(input: &Path) -> Option<OsString> {
    if input == Path::new("-") {
        return None;
    }
    let mut name = PathBuf::from(input.file_name()?);
    while let Some(extension) = name.extension() {
        let is_known = |name: &str| by_file_name(FORMATS, name).is_some() || !strip(name).1.is_empty();
        if !is_known(&format!("x.{}", extension.to_string_lossy())) {
            break;
        }
        name.set_extension("");
    }
    Some(name.into_os_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_named_after_their_inputs() {
        let stem = |input: &str| stem(Path::new(input)).map(|stem| stem.into_string().expect("UTF-8"));
        assert_eq!(stem("a/perf.data").as_deref(), Some("perf"));
        assert_eq!(stem("host.1.data.zst").as_deref(), Some("host.1"));
        assert_eq!(stem("of.jsonl.gz").as_deref(), Some("of"));
        assert_eq!(stem("whatever").as_deref(), Some("whatever"));
        assert_eq!(stem(".."), None);
        let extensions: Vec<_> =
            ["pprof", "perf.data", "jsonl", "perf-json"].map(|name| extension(by_name(FORMATS, name).unwrap())).into();
        assert_eq!(extensions, [".pb.gz", ".data", ".jsonl", ".perf-json"]);
    }
}
