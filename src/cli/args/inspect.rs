//! Arguments of `info` and `dump`.

use super::{ReadArgs, default_input};
use clap::{Args, ValueEnum};
use perf_data::abi::record::RecordType;
use perf_data::abi::serde::readable;
use perfconv::formats::framework::bounded_json::MIN_INFO_BYTES;
use perfconv::rewrite::filter::kind::record_type;
use std::path::PathBuf;

/// Arguments of `info`.
#[derive(Args, Debug)]
pub(crate) struct InfoArgs {
    /// Recording to read: a file, a directory, or - for standard input [default: perf.data]
    #[arg(value_name = "FILE", default_value_os_t = default_input(), hide_default_value = true)]
    pub input: PathBuf,

    /// Print only statistics: records by type, samples by event, lost events, processes and threads
    #[arg(long)]
    pub stats: bool,

    /// Print only events and their groups, as perf evlist -v and -g do
    #[arg(long)]
    pub events: bool,

    /// Print only build IDs, as perf buildid-list does; without a build ID table, those of all mapped files
    #[arg(long)]
    pub build_ids: bool,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,

    /// Print at most so many bytes of JSON; the members omitted and next_offset say what follows
    #[arg(long, value_name = "N", requires = "json", value_parser = clap::value_parser!(u32).range(i64::from(MIN_INFO_BYTES)..))]
    pub max_bytes: Option<u32>,

    /// Begin with this entry of each list of JSON [default: 0]
    #[arg(long, value_name = "N", requires = "json")]
    pub offset: Option<u32>,

    #[command(flatten)]
    pub read: ReadArgs,
}

/// Arguments of `dump`.
#[derive(Args, Debug)]
pub(crate) struct DumpArgs {
    /// Recording to read: a file, a directory, or - for standard input [default: perf.data]
    #[arg(value_name = "FILE", default_value_os_t = default_input(), hide_default_value = true)]
    pub input: PathBuf,

    /// Print the bytes of each record too, and opaque fields in full
    #[arg(long)]
    pub raw: bool,

    /// Print only records of these types, by name or number, separated by commas
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',', value_parser = record_type)]
    pub types: Vec<RecordType>,

    /// Print only the first N records
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub head: Option<u64>,

    /// Order of the records
    #[arg(long, value_enum, value_name = "ORDER", default_value = "file")]
    pub order: OrderArg,

    /// Start at the record that contains this byte of the file; in a directory, name the file: data:N, data.0:N
    #[arg(long, value_name = "N", value_parser = offset, default_value = "0")]
    pub offset: OffsetArg,

    #[command(flatten)]
    pub read: ReadArgs,
}

/// Order of records, as named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrderArg {
    /// In file order
    File,
    /// In time order
    Time,
}

/// An offset in a file of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OffsetArg {
    /// Name of the file, if the recording is a directory.
    pub file: Option<String>,
    /// Offset in bytes.
    pub at: u64,
}

fn offset(text: &str) -> Result<OffsetArg, String> {
    let (file, number) = text.rsplit_once(':').map_or((None, text), |(file, number)| (Some(file.to_owned()), number));
    let at = readable::number(number);
    let at = at.ok_or_else(|| "expected a decimal number, or a hexadecimal one with 0x".to_owned())?;
    Ok(OffsetArg { file, at })
}
