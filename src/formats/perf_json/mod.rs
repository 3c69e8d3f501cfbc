//! The output of `perf data convert --to-json`: samples with their stacks, without other records.
//!
//! ```json
//! {"linux-perf-json-version":1,
//! "headers":{"header-version":1, ..., "cmdline":["perf", "record", "./app"]},
//! "samples":[
//! {"timestamp":1806624218527,"pid":17,"tid":17,"comm":"app","callchain":[{"ip":"0x7fa6cd25869e"}]}
//! ]}
//! ```
//!
//! Fields that perf omits are added: `event`, `cpumode`, `period`, `addr`, `weight`, `data_src` and `branch_stack` of
//! samples, `dso` and `build_id` of frames. [`EXACT`] omits them. Frames have a `symbol` if the input is a profile
//! with symbols.
//!
//! Tracepoint fields are strings, as in perf. Where such a field has the name of a sample field (`pid`), perf writes
//! a duplicate key; here it is `_pid`, except with [`EXACT`].

mod export;
mod headers;
mod objects;
mod text;

use super::options::FormatOption;
use super::{Format, ShowsFunctions, Writer};

/// The JSON of `perf data convert --to-json`.
pub const FORMAT: Format = Format {
    functions: ShowsFunctions::Always,
    writer: Writer::Converter(export::begin),
    recognizes,
    is_distinctive: true,
    options: &[EXACT],
    ..Format::new("perf-json", "JSON of perf data convert, with more fields")
};

/// The option `--exact`: only fields that perf writes.
pub const EXACT: FormatOption =
    FormatOption::switch("exact", "Write only fields that perf data convert --to-json writes, without functions");

/// Whether an input with these first bytes is the JSON of `perf data convert --to-json`.
pub fn recognizes(start: &[u8]) -> bool {
    let object = start.trim_ascii_start().strip_prefix(b"{");
    object.is_some_and(|object| object.trim_ascii_start().starts_with(b"\"linux-perf-json-version\""))
}
