//! `perfconv dump`.

use super::args::{DumpArgs, OffsetArg, OrderArg};
use super::failure::Failure;
use super::input::Recording;
use super::output::Output;
use super::report::{say, warnings};
use perfconv::inspect::dump::{DumpOptions, Dumper};
use perfconv::stream::ledger::Ledger;
use perfconv::stream::order::Order;
use perfconv::stream::source::Source;
use std::path::Path;
use std::process::ExitCode;

/// The number of the file that a place is in, if one is said.
fn file_of(offset: &OffsetArg, files: &[String]) -> Result<Option<u32>, Failure> {
    let named = |name: &str| files.iter().position(|file| Path::new(file).file_name().is_some_and(|of| of == name));
    match (&offset.file, files.len()) {
        (None, 1) => Ok(None),
        (None, _) if offset.at == 0 => Ok(None),
        (None, _) => {
            Err(Failure::Usage("--offset: the folder has several files; say data:N, data.0:N and so on".into()))
        }
        (Some(name), _) => match named(name) {
            Some(index) => Ok(Some(index as u32)),
            None => Err(Failure::Usage(format!("--offset: there is no file {name} of records"))),
        },
    }
}

/// Shows records on standard output.
///
/// # Errors
/// Where the recording cannot be read, or the records not be written.
pub fn run(args: DumpArgs) -> Result<ExitCode, Failure> {
    let read = args.read.options();
    let recording = Recording::new(args.input, args.read.from.as_deref(), &read)?;
    let source = Source::open(recording.input(), read.clone())?;
    let (file, offset) = (file_of(&args.offset, &source.meta().files)?, args.offset.at);
    let options = DumpOptions { raw: args.raw, types: args.types, head: args.head, file, offset };
    let (mut ledger, mut shown) = (Ledger::default(), 0);
    let written = Output::Stdout.write(|out| {
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
        say(format_args!("perfconv: no record is there that was asked for"));
    }
    Ok(ExitCode::SUCCESS)
}
