//! Writes a recording as tables, one file each in a directory.
//!
//! | file | one row per | columns |
//! |---|---|---|
//! | `stat.csv` | record type | `type,records,bytes` |
//! | `overview.csv` | record, in time order | `nr,type,pid,tid,time,info` |
//! | `processes.csv` | process | `pid,name,maps,fork_time,exit_time,samples,period` |
//! | `results.csv` | sampled address and event | `event,dso,address,file,samples,period`; `symbol` if the input has names |
//! | `counters.csv` | count of `perf stat record`, if any | `time,event,cpu,thread,value,enabled,running` |
//! | `stacks.csv` | event, process and stack, with `--stacks` | `event,pid,stack,samples,period` |
//!
//! Times are nanoseconds of the recording's clock. Unknown values are empty. `dso` is the short name of `file`, and
//! `address` the offset in it; for the kernel and unmapped code it is the address itself. `maps` is the number of
//! mappings. `samples` and `period` of a process are sums over all events. A sample of counter values (`:S`) counts
//! for each event whose counter increased, as `perf script` prints one line for each. The `time` of a count is the
//! end of its round, in nanoseconds since counting began; it is empty for the final counts of `perf stat record -I`,
//! which are outside any round. Counts are totals since counting began, as recorded. `cpu` and `thread` are empty
//! where the counter covers all of them. A `stack` has the names of [folded stacks](super::folded), root first, separated by `;`.

mod counters;
mod overview;
mod processes;
mod results;
mod stacks;
mod tables;

pub use tables::{begin, is_alike};

use super::options::FormatOption;
use super::{Format, ShowsFunctions, Writer};

/// Tables in a directory.
pub const FORMAT: Format = Format {
    functions: ShowsFunctions::Always,
    writer: Writer::Directory { begin, is_alike, join: None },
    options: &[STACKS],
    ..Format::new("csv", "directory of tables: records, processes, results")
};

/// The table of stacks.
pub const STACKS: FormatOption =
    FormatOption::switch("stacks", "Also write a table of stacks, stacks.csv, with their callers");
