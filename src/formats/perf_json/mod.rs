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
//! samples, `build_id` of frames, `file`, `line` and inlined functions of frames with a `symbol`, and `dso` of the others.
//! [`exact`](PerfJson::exact) omits them.
//!
//! Tracepoint fields are strings, as in perf. Where such a field has the name of a sample field (`pid`), perf writes
//! a duplicate key; here it is `_pid`, except with [`exact`](PerfJson::exact).

mod export;
mod headers;
mod objects;
mod text;

use super::{Format, ShowsFunctions};
use crate::formats::framework::converter::{ConvertOptions, Converter};
use crate::formats::framework::output::{FormatWriter, OutputFormat, OutputType, RecordFormat};
use perf_symbols::symbol::demangle::Demangle;
use std::io::Write;

/// The JSON of `perf data convert --to-json`.
pub const FORMAT: Format = Format {
    output: Some(OutputType::of::<PerfJson>()),
    functions: ShowsFunctions::Always,
    recognizes,
    is_distinctive: true,
    ..Format::new("perf-json", "JSON of perf data convert, with more fields")
};

/// The JSON of `perf data convert --to-json` with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct PerfJson {
    /// Write only fields that perf data convert --to-json writes.
    #[cfg_attr(feature = "cli", arg(long))]
    pub exact: bool,
}

impl OutputFormat for PerfJson {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Converter(self)
    }

    fn shows_lines(&self) -> bool {
        !self.exact
    }

    fn demangling(&self) -> Demangle {
        // As perf 6.1.
        if self.exact { Demangle::Short } else { Demangle::Full }
    }
}

impl RecordFormat for PerfJson {
    fn begin<'a>(&self, out: &'a mut dyn Write, options: &ConvertOptions) -> Box<dyn Converter + 'a> {
        export::begin(self.exact, out, options)
    }
}

/// Whether an input with these first bytes is the JSON of `perf data convert --to-json`.
pub fn recognizes(start: &[u8]) -> bool {
    let object = start.trim_ascii_start().strip_prefix(b"{");
    object.is_some_and(|object| object.trim_ascii_start().starts_with(b"\"linux-perf-json-version\""))
}
