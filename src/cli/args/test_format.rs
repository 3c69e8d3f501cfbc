//! A format for tests, the example of docs/contributing.md: one line per record with its type.

use perf_data::error::{Error, Result};
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::{Sink, is_used_by_stream};
use perfconv::formats::converter::{ConvertOptions, Converter};
use perfconv::formats::options::FormatOption;
use perfconv::formats::{Format, Writer, json, pprof, recording};
use std::io::Write;

/// A format table with this format.
pub const TABLE: &[Format] = &[recording::FORMAT, pprof::FORMAT, json::LINES_FORMAT, FORMAT];

/// Record types.
pub const FORMAT: Format = Format {
    extensions: &[("types", None)],
    writer: Writer::Converter(begin),
    options: &[SIZES],
    ..Format::new("types", "one line per record with its type")
};

/// The option `--sizes`.
pub const SIZES: FormatOption = FormatOption::switch("sizes", "Also write the size of each record");

fn begin<'a>(out: &'a mut dyn Write, options: &ConvertOptions) -> Box<dyn Converter + 'a> {
    Box::new(Types { out, has_sizes: options.values.is_given(&SIZES), ledger: Ledger::default() })
}

struct Types<'a> {
    out: &'a mut dyn Write,
    has_sizes: bool,
    ledger: Ledger,
}

impl Sink for Types<'_> {
    fn record(&mut self, _: &Meta, raw: &Raw<'_>) -> Result<()> {
        let kind = raw.header().kind;
        if is_used_by_stream(kind) {
            return Ok(());
        }
        self.ledger.emitted(kind, 1);
        let size = if self.has_sizes { format!(" {}", raw.header().len()) } else { String::new() };
        writeln!(self.out, "{kind}{size}").map_err(Error::Output)
    }
}

impl Converter for Types<'_> {
    fn account(&self, ledger: &mut Ledger) {
        ledger.account_for_stream();
        ledger.merge(self.ledger.clone());
    }
}
