//! What `perf data convert --to-json` writes, for the programs that read it: samples with their stacks, and nothing of the
//! other records.
//!
//! ```json
//! {"linux-perf-json-version":1,
//! "headers":{"header-version":1, ..., "cmdline":["perf", "record", "./app"]},
//! "samples":[
//! {"timestamp":1806624218527,"pid":17,"tid":17,"comm":"app","callchain":[{"ip":"0x7fa6cd25869e"}]}
//! ]}
//! ```
//!
//! What perf leaves out stands in further fields: of a sample `event`, `cpumode`, `period`, `addr`, `weight`, `data_src`
//! and `branch_stack`, and of each frame `dso` and `build_id`. [`EXACT`] leaves them out.
//! A frame has a `symbol` where the input is a profile that has one.
//!
//! Fields of tracepoints are texts, as perf has them. perf writes a name twice where a field is called as one of the
//! sample's own (`pid`); here it is `_pid` then, but for [`EXACT`].

mod export;
mod headers;
mod objects;
mod text;

use super::options::FormatOption;
use super::{Format, Writes};
use crate::container::read::ReadOptions;
use crate::formats::carry::{Carry, CarryOptions};
use crate::stream::order::Order;
use export::Export;
use std::io::{BufWriter, Write};

/// perf's own JSON.
pub const FORMAT: Format = Format {
    writes: Writes::Carry(begin),
    recognises,
    is_distinctive: true,
    options: &[EXACT],
    ..Format::new("perf-json", "what perf data convert --to-json writes, and more of each sample")
};

/// Whether there is to be nothing that perf does not write.
pub const EXACT: FormatOption =
    FormatOption::switch("exact", "Write no field to a perf-json that perf data convert --to-json does not write");

/// Whether an input that begins like this is the JSON of `perf data convert --to-json`.
pub fn recognises(start: &[u8]) -> bool {
    let object = start.trim_ascii_start().strip_prefix(b"{");
    object.is_some_and(|object| object.trim_ascii_start().starts_with(b"\"linux-perf-json-version\""))
}

/// Begins a recording as perf's own JSON.
pub fn begin<'a>(out: &'a mut dyn Write, options: &CarryOptions) -> Box<dyn Carry + 'a> {
    let export = Export::new(BufWriter::with_capacity(1 << 17, out), options);
    let read = ReadOptions { spool_dir: options.spool_dir.clone(), ..ReadOptions::default() };
    Box::new(Order::new(export, read))
}
