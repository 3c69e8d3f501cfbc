//! A format for tests, the example of docs/contributing.md: one line per record with its type.

use perf_data::error::{Error, Result};
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::{Sink, is_used_by_stream};
use perfconv::formats::framework::converter::{ConvertOptions, Converter};
use perfconv::formats::framework::output::{FormatWriter, OutputFormat, OutputType, RecordFormat};
use perfconv::formats::{Format, json, pprof, recording};
use std::io::Write;

/// A format table with this format.
pub(super) const TABLE: &[Format] = &[recording::FORMAT, pprof::FORMAT, json::LINES_FORMAT, FORMAT];

/// Record types.
pub(super) const FORMAT: Format = Format {
    extensions: &[("types", None)],
    output: Some(OutputType::of::<RecordTypes>()),
    ..Format::new("types", "one line per record with its type")
};

/// Record types with these options.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct RecordTypes {
    /// Also write the size of each record.
    #[arg(long)]
    pub sizes: bool,
}

impl OutputFormat for RecordTypes {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Converter(self)
    }
}

impl RecordFormat for RecordTypes {
    fn begin<'a>(&self, out: &'a mut dyn Write, _: &ConvertOptions) -> Box<dyn Converter + 'a> {
        Box::new(Types { out, has_sizes: self.sizes, ledger: Ledger::default() })
    }
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
