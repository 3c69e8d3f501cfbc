//! `perfconv dump`.

use super::args::{DumpArgs, OrderArg};
use super::failure::Failure;
use super::input::Recording;
use super::output::Output;
use super::report::{say, warnings};
use crate::container::read::ReadOptions;
use crate::dump::{DumpOptions, Dumper};
use crate::stream::ledger::Ledger;
use crate::stream::order::Order;
use crate::stream::source::Source;
use std::process::ExitCode;

/// Shows records on standard output.
///
/// # Errors
/// Where the recording cannot be read, or the records not be written.
pub fn run(args: DumpArgs) -> Result<ExitCode, Failure> {
    let read = ReadOptions { spool_dir: args.spool_dir, ..ReadOptions::default() };
    let options = DumpOptions { raw: args.raw, types: args.types, head: args.head, offset: args.offset };
    let recording = Recording::new(args.input, None, &read)?;
    let source = Source::open(recording.input(), read.clone())?;
    let (mut ledger, mut shown) = (Ledger::default(), 0);
    Output::Stdout.write(|out| {
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
    recording.damage().iter().for_each(|damage| ledger.damage(damage.clone()));
    warnings(&ledger, false);
    if shown == 0 {
        say(format_args!("perfconv: no record is there that was asked for"));
    }
    Ok(ExitCode::SUCCESS)
}
