//! `perfconv dump`.

use super::args::{DumpArgs, OffsetArg, OrderArg};
use super::failure::Failure;
use super::input::InputRecording;
use super::output::STDOUT;
use super::report::{print_message, warnings};
use perf_data::stream::ledger::Ledger;
use perf_data::stream::order::Order;
use perf_data::stream::source::Source;
use perfconv::inspect::dump::{DumpOptions, Dumper};
use perfconv::suggest::unknown;
use std::path::Path;
use std::process::ExitCode;

/// The names of a directory's files, without their paths.
fn file_names(files: &[String]) -> Vec<&str> {
    files.iter().filter_map(|file| Path::new(file).file_name()?.to_str()).collect()
}

/// Number of the file that an offset is in, if the argument names one.
fn file_index(offset: &OffsetArg, files: &[String]) -> Result<Option<u32>, Failure> {
    let named = |name: &str| {
        files.iter().position(|file| Path::new(file).file_name().is_some_and(|file_name| file_name == name))
    };
    match (&offset.file, files.len()) {
        (None, 1) => Ok(None),
        // The default: the records of all files.
        (None, _) if offset.at == 0 => Ok(None),
        (None, _) => Err(Failure::Usage(
            "--offset: the recording has several files; name one, such as data:N or data.0:N".into(),
        )),
        (Some(name), _) => match named(name) {
            Some(index) => Ok(Some(index as u32)),
            None => Err(Failure::Usage(format!("--offset: {}", unknown("file", name, &file_names(files))))),
        },
    }
}

/// Prints records to standard output.
///
/// # Errors
/// If the recording cannot be read, or the records cannot be written.
pub(super) fn run(args: DumpArgs) -> Result<ExitCode, Failure> {
    let read = args.read.options();
    let recording = InputRecording::new(args.input, args.read.from.as_deref(), &read)?;
    recording.announce_conversion();
    let source = Source::open(recording.input(), read.clone())?;
    let (file, offset) = (file_index(&args.offset, &source.meta().files)?, args.offset.at);
    let options = DumpOptions { raw: args.raw, types: args.types, head: args.head, file, offset };
    let (mut ledger, mut shown) = (Ledger::default(), 0);
    let written = STDOUT.write(|out| {
        let dumper = Dumper::new(out, options);
        (ledger, shown) = match args.order {
            OrderArg::File => {
                let mut dumper = dumper;
                (source.run(&mut dumper)?.1, dumper.shown())
            }
            OrderArg::Time => {
                let mut ordered = Order::new(dumper, read);
                (source.run(&mut ordered)?.1, ordered.into_inner().shown())
            }
        };
        Ok(())
    })?;
    written.put_in_place()?;
    recording.damage().iter().for_each(|damage| ledger.damage(damage.clone()));
    warnings(&ledger, false);
    if shown == 0 {
        print_message(format_args!("perfconv: no record matches; check --type and --offset"));
    }
    Ok(ExitCode::SUCCESS)
}
