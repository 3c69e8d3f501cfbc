//! Archives of a recording with its object files: written, and opened where a recording is expected.

use crate::bundle::entry::RECORDING;
use crate::bundle::open::OpenedArchive;
use crate::bundle::pack::{PackOptions, Packed, pack};
use crate::bundle::unpack::Members;
use crate::profile::symbolize::SymbolOptions;
use perf_data::container::output::Output;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::{Input, Opened};
use perf_data::container::write::envelope::{Envelopes, strip};
use perf_data::error::{Error, Result};
use std::fs;
use std::io::Read;
use std::path::Path;

/// Writes an archive of a recording. Only those who may read the recording and its files may read it.
///
/// # Errors
/// If the recording cannot be read, or the output cannot be written.
pub fn write_archive(
    input: Input,
    read: &ReadOptions,
    options: &PackOptions,
    envelopes: &Envelopes,
    output: &Output,
) -> Result<Packed> {
    let mut packed = Packed::default();
    let written = output.write(|out| {
        envelopes.around(out, |mut out| {
            packed = pack(input, read, options, &mut out)?;
            Ok(())
        })
    })?;
    written.restricted(packed.access).put_in_place()?;
    Ok(packed)
}

/// Name of a recording in its archive: its file name without compression extensions.
pub fn name_in_archive(input: &Path) -> String {
    let name = input.file_name().filter(|name| *name != "-").unwrap_or(RECORDING.as_ref());
    strip(&name.to_string_lossy()).0.to_owned()
}

/// Compression of an archive, by its name: `.tar`, `.tar.gz`, `.tar.zst`.
///
/// # Errors
/// If the name is none of an archive.
pub fn archive_envelopes(name: &str) -> Result<Envelopes> {
    match strip(name) {
        (stem, list) if stem.ends_with(".tar") => Ok(Envelopes { list, level: None }),
        _ => Err(Error::invalid(format!(
            "{name}: unknown archive type; expected an extension of: .tar, .tar.gz, .tar.zst"
        ))),
    }
}

/// Opens an input if it is an archive, by its name.
///
/// # Errors
/// If it is not one of a recording, or its files cannot be written.
pub fn open_archive(input: &Path, members: Members, options: &ReadOptions) -> Result<Option<OpenedArchive>> {
    let name = input.to_string_lossy();
    // Of `perf archive`.
    let name = name.strip_suffix(".bz2").unwrap_or(&name);
    let is_archive = strip(name).0.ends_with(".tar");
    if !is_archive || !input.is_file() {
        return Ok(None);
    }
    let (reader, name) = archive_reader(Input::Path(input.to_owned()))?;
    OpenedArchive::new(reader, &name, members, options.spool_dir.as_deref()).map(Some)
}

/// Options for the files of an archive at a path, in addition to those that the user names.
pub fn with_archived_objects(options: SymbolOptions, archive: &OpenedArchive, path: &Path) -> SymbolOptions {
    let modified = fs::metadata(path).and_then(|archive| archive.modified()).ok();
    options.archived_objects(archive.cache(), archive.kallsyms()).recorded_until(modified)
}

/// The uncompressed bytes of an archive, and its name.
///
/// # Errors
/// If it cannot be opened.
pub fn archive_reader(input: Input) -> Result<(Box<dyn Read>, String)> {
    let name = input.name();
    let reader: Box<dyn Read> = match input.open(&ReadOptions::default())? {
        Opened::Bytes(bytes) => bytes.into_reader(),
        Opened::Stream(stream) => stream,
        Opened::Directory(_) => return Err(Error::input(name, None, "is a directory; expected an archive")),
    };
    Ok((reader, name))
}
