//! Conversion of the records of a recording to other formats.

use crate::formats::framework::converter::{ConvertOptions, Converter};
use crate::formats::framework::output::{DirectoryFormat, RecordFormat};
use crate::profile::symbolize::unsymbolized::Unsymbolized;
use crate::rewrite::framework::passes::Passes;
use perf_data::container::read::directory::is_part;
use perf_data::container::read::input::Input;
use perf_data::container::read::{Container, ReadOptions};
use perf_data::error::Result;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use std::io::Write;
use std::path::Path;

/// Applies passes to a recording, and writes its records to another format. Returns the ledger, and the frames without function
/// names if the format has some.
///
/// # Errors
/// If the recording cannot be read, and errors of `out`.
pub fn convert_records(
    input: Input,
    read: &ReadOptions,
    options: &ConvertOptions,
    passes: &mut Passes,
    format: &dyn RecordFormat,
    out: &mut dyn Write,
) -> Result<(Ledger, Option<Unsymbolized>)> {
    let mut converter = format.begin(out, options);
    let ledger = convert_with(input, read, passes, &mut *converter)?;
    Ok((ledger, converter.unnamed()))
}

/// Applies passes to a recording, and writes it to a format with several files, in an existing empty directory.
///
/// # Errors
/// Those of [`convert_records`].
pub fn convert_records_to_directory(
    input: Input,
    read: &ReadOptions,
    options: &ConvertOptions,
    passes: &mut Passes,
    format: &dyn DirectoryFormat,
    directory: &Path,
) -> Result<(Ledger, Option<Unsymbolized>)> {
    let mut converter = format.begin(directory, options)?;
    let ledger = convert_with(input, read, passes, &mut *converter)?;
    Ok((ledger, converter.unnamed()))
}

/// Applies passes to a recording, and writes its records to a converter.
///
/// # Errors
/// If the recording cannot be read, and errors of the converter.
pub fn convert_with(
    input: Input,
    read: &ReadOptions,
    passes: &mut Passes,
    converter: &mut dyn Converter,
) -> Result<Ledger> {
    let mut input = input;
    let mut unreadable = None;
    if let Some(mut scan) = converter.pre_scan() {
        (input, unreadable) = input.repeatable(read)?;
        passes.stream(input.clone(), read, &mut *scan)?;
    }
    let (meta, mut ledger) = passes.run(input, read, &mut *converter)?;
    unreadable.into_iter().for_each(|damage| ledger.damage(damage));
    converter.account(&mut ledger);
    let other_files = if converter.converts_other_files() { Vec::new() } else { other_files(&meta) };
    if !other_files.is_empty() {
        ledger.missing(format!("other files in the directory are not in the output: {}", other_files.join(", ")));
    }
    Ok(ledger)
}

/// Files in the directory that are not part of the recording, such as the `kcore_dir` of `perf record --kcore`.
fn other_files(meta: &Meta) -> Vec<String> {
    if meta.container != Container::Directory {
        return Vec::new();
    }
    let directory = meta.directory.as_ref().and_then(|directory| directory.read_dir().ok());
    let names = directory.into_iter().flatten().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> = names.filter(|name| !is_part(name)).collect();
    names.sort();
    names
}
