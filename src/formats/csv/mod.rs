//! Writes a recording as tables, one file each in a directory.
//!
//! | file | one row per | columns |
//! |---|---|---|
//! | `stat.csv` | record type | `type,records,bytes` |
//! | `overview.csv` | record, in time order | `nr,type,pid,tid,time,info` |
//! | `processes.csv` | process | `pid,name,maps,fork_time,exit_time,samples,period` |
//! | `results.csv` | sampled address and event | `event,dso,address,file,samples,period`; `symbol` if the input has names |
//! | `counters.csv` | count of `perf stat record`, if any | `time,event,cpu,thread,value,enabled,running` |
//!
//! Times are nanoseconds of the recording's clock. Unknown values are empty. `dso` is the short name of `file`, and
//! `address` the offset in it; for the kernel and unmapped code it is the address itself. `maps` is the number of
//! mappings. `samples` and `period` of a process are sums over all events. A sample of counter values (`:S`) counts
//! for each event whose counter increased, as `perf script` prints one line for each. The `time` of a count is the
//! end of its round, in nanoseconds since counting began; it is empty for the final counts of `perf stat record -I`,
//! which are outside any round. Counts are totals since counting began, as recorded. `cpu` and `thread` are empty
//! where the counter covers all of them.

mod counters;
mod overview;
mod processes;
mod results;
mod tables;

pub use tables::{begin, is_alike};

use super::{Format, ShowsFunctions, Writer};

/// Tables in a directory.
pub const FORMAT: Format = Format {
    functions: ShowsFunctions::Always,
    writer: Writer::Directory { begin, is_alike },
    ..Format::new("csv", "directory of tables: records, processes, results")
};
