//! A recording as tables, in a folder of them.
//!
//! | file | a row for each | columns |
//! |---|---|---|
//! | `stat.csv` | type of record | `type,records,bytes` |
//! | `overview.csv` | record, in the order of time | `nr,type,pid,tid,time,info` |
//! | `processes.csv` | process | `pid,name,maps,fork_time,exit_time,samples,period` |
//! | `results.csv` | place that samples were taken at, and event | `event,dso,address,file,samples,period`, and `symbol` where the input has names |
//! | `counters.csv` | count of `perf stat record`; no file where there is none | `time,event,cpu,thread,value,enabled,running` |
//!
//! Times are nanoseconds of the recording's clock. What a recording does not tell is empty. `dso` is the short name of
//! `file`, and `address` the offset in it; in the kernel and where nothing is known to be mapped it is the address itself.
//! `maps` counts what was mapped. `samples` and `period` of a process are the sums over all events. A sample of counter
//! values (`:S`) is one of each event in whose counter something was added, as `perf script` prints a line for each.
//! The `time` of a count is when its round ended, in nanoseconds since counting began; it is empty for the final counts of
//! `perf stat record -I`, which no round ends. Counts are sums since counting began, as recorded.
//! `cpu` and `thread` are empty where the counter is of any.

mod counters;
mod overview;
mod processes;
mod results;
mod tables;

pub use tables::{begin, is_alike};

use super::{Format, Writes};

/// Tables in a directory.
pub const FORMAT: Format = Format {
    writes: Writes::Folder { begin, is_alike },
    ..Format::new("csv", "tables in a folder: records by type, records, processes, results")
};
