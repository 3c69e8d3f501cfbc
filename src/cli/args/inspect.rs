//! What can be said to `info` and `dump`.

use super::{DEFAULT_INPUT, ReadArgs};
use clap::{Args, ValueEnum};
use perfconv::abi::readable;
use perfconv::abi::record::RecordType;
use perfconv::rewrite::filter::kind::record_type;
use std::path::PathBuf;

/// Options of looking into a recording.
#[derive(Args, Debug)]
pub struct InfoArgs {
    /// Recording to look into: a file, a folder, or - for standard input
    #[arg(value_name = "FILE", default_value = DEFAULT_INPUT)]
    pub input: PathBuf,

    /// Only records by type, samples by event, what was lost, processes and threads
    #[arg(long)]
    pub stats: bool,

    /// Only the events and their groups, as perf evlist -v and -g tell them
    #[arg(long)]
    pub events: bool,

    /// Only build ids of files, as perf buildid-list tells them; without a table, of all files that were mapped
    #[arg(long)]
    pub build_ids: bool,

    /// One JSON object
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub read: ReadArgs,
}

/// Options of showing records.
#[derive(Args, Debug)]
pub struct DumpArgs {
    /// Recording to show: a file, a folder, or - for standard input
    #[arg(value_name = "FILE", default_value = DEFAULT_INPUT)]
    pub input: PathBuf,

    /// Show the bytes of the records too, and all of what is opaque
    #[arg(long)]
    pub raw: bool,

    /// Only records of these types, by name or number, separated by commas
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',', value_parser = record_type)]
    pub types: Vec<RecordType>,

    /// Only so many records
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub head: Option<u64>,

    /// In the order of the file, or of time
    #[arg(long, value_enum, value_name = "ORDER", default_value = "file")]
    pub order: OrderArg,

    /// Only from the record on that this byte of the file is in; of a folder, data:N or data.0:N says which file's
    #[arg(long, value_name = "N", value_parser = offset, default_value = "0")]
    pub offset: OffsetArg,

    #[command(flatten)]
    pub read: ReadArgs,
}

/// The order in which records are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OrderArg {
    /// As they stand in the file
    File,
    /// As they happened
    Time,
}

/// A byte of a file, and which file of a folder that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetArg {
    /// Name of the file.
    pub file: Option<String>,
    /// Bytes from its beginning.
    pub at: u64,
}

fn offset(text: &str) -> Result<OffsetArg, String> {
    let (file, number) = text.rsplit_once(':').map_or((None, text), |(file, number)| (Some(file.to_owned()), number));
    let at = readable::number(number);
    let at = at.ok_or_else(|| "is no number, neither decimal nor hexadecimal behind 0x".to_owned())?;
    Ok(OffsetArg { file, at })
}
