//! Writes a recording as tables, one file each in a directory.
//!
//! | file | one row per | columns |
//! |---|---|---|
//! | `stat.csv` | record type | `type,records,bytes` |
//! | `overview.csv` | record, in time order | `nr,type,pid,tid,time,info` |
//! | `processes.csv` | process | `pid,name,maps,fork_time,exit_time,samples,period` |
//! | `results.csv` | sampled address and event | `event,dso,address,file,samples,period`; `symbol` if the input has names |
//! | `counters.csv` | count of `perf stat record`, if any | `time,event,cpu,thread,value,enabled,running` |
//! | `accesses.csv` | sample with a data address, source or weight | see `accesses` |
//! | `stacks.csv` | event, process and stack, with `--stacks` | `event,pid,stack,samples,period` |
//!
//! Times are nanoseconds of the recording's clock. Unknown values are empty. `dso` is the short name of `file`, and
//! `address` the offset in it; for the kernel and unmapped code it is the address itself. `maps` is the number of
//! mappings. `samples` and `period` of a process are sums over all events. A sample of counter values (`:S`) counts
//! for each event whose counter increased, as `perf script` prints one line for each. The `time` of a count is the
//! end of its round, in nanoseconds since counting began; it is empty for the final counts of `perf stat record -I`,
//! which are outside any round. Counts are totals since counting began, as recorded. `cpu` and `thread` are empty
//! where the counter covers all of them. A `stack` has the names of [folded stacks](super::folded), root first, separated by `;`.

mod accesses;
mod counters;
mod overview;
mod processes;
mod results;
mod stacks;
mod tables;

use super::{Format, ShowsFunctions};
use crate::formats::framework::converter::{ConvertOptions, Converter};
use crate::formats::framework::output::{DirectoryFormat, FormatWriter, OutputFormat, OutputType};
use perf_data::error::Result;
use std::path::Path;

/// Tables in a directory.
pub const FORMAT: Format = Format {
    output: Some(OutputType::of::<Csv>()),
    functions: ShowsFunctions::Always,
    has_stack_tables: true,
    ..Format::new("csv", "directory of tables: records, processes, results")
};

/// Tables with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Csv {
    /// Also write a table of stacks, stacks.csv, with their callers.
    #[cfg_attr(feature = "cli", arg(long))]
    pub stacks: bool,
}

impl OutputFormat for Csv {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Directory(self)
    }
}

impl DirectoryFormat for Csv {
    fn begin(&self, directory: &Path, options: &ConvertOptions) -> Result<Box<dyn Converter>> {
        tables::begin(self, directory, options)
    }

    fn is_alike(&self) -> fn(&Path) -> bool {
        tables::is_alike
    }
}
