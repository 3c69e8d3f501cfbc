//! Splits a recording into several in a directory.

use super::part_file::PartFile;
use crate::rewrite::endian::EndianPass;
use crate::rewrite::framework::output::RecordingOptions;
use crate::rewrite::split::criterion::By;
use crate::rewrite::split::partition::are_parts;
use crate::rewrite::split::run::{SplitOptions, split};
use perf_data::container::output::file_names::FileNames;
use perf_data::container::output::{Output, OutputRules};
use perf_data::container::read::input::Input;
use perf_data::container::read::{Container, ReadOptions};
use perf_data::error::{Error, Result};
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::source::Source;
use perf_data::stream::write::directory::ToDirectory;
use perf_data::stream::write::file::ToFile;
use perf_data::stream::write::form::{CompressedFrames, Form};
use perf_data::stream::write::pipe::ToPipe;
use std::fs;
use std::io::BufWriter;
use std::path::Path;

/// Maximum number of parts, unless more are allowed: a key such as the thread ID can have a value for almost every sample, and
/// more files than a person looks at are seldom what was meant.
const MAX_PARTS: usize = 1000;

/// Maximum number of uncompressed files and pipes written at once. They are not limited by open files: [`PartFile`] opens its
/// file for each write only.
const MAX_PLAIN_PARTS: usize = 4096;

/// Maximum number of compressed parts written at once: each has a compressor of some megabytes.
const MAX_COMPRESSED_PARTS: usize = 16;

/// Maximum number of uncompressed directories written at once: each has two open files.
const MAX_DIRECTORY_PARTS: usize = 100;

/// Size of all write buffers together, in bytes: with the maximum of parts, each still has 8 KiB.
const BUFFER_SIZE: usize = 32 << 20;

/// The existing outputs that a split may replace: a directory of parts.
pub fn split_rules(overwrite: bool) -> OutputRules {
    OutputRules { overwrite, replaceable: Some(is_split), is_directory: true, ..OutputRules::default() }
}

/// Writes the parts of a recording to a directory, by default as files; any number of parts if `unlimited`. Returns their number and
/// the ledger.
///
/// # Errors
/// If the recording cannot be read, samples lack the field to split by, there are too many parts, or the output cannot be
/// written.
pub fn write_parts(
    input: Input,
    read: &ReadOptions,
    by: By,
    unlimited: bool,
    options: &RecordingOptions,
    output: &Output,
) -> Result<(usize, Ledger)> {
    let (input, damage) = input.repeatable(read)?;
    let form = new_form(options);
    // Rejects contents that cannot be converted before the first part is created.
    if let Some(endian) = form.endian {
        let mut pass = EndianPass::new(endian, options.allow_mixed);
        Source::open(input.clone(), read.clone())?.run(&mut pass)?;
    }
    let container = options.form.container.unwrap_or(Container::File);
    let at_once = match (container, form.frames) {
        (Container::Directory, CompressedFrames::Plain) => MAX_DIRECTORY_PARTS,
        (_, CompressedFrames::Compressed(_)) => MAX_COMPRESSED_PARTS,
        _ => MAX_PLAIN_PARTS,
    };
    let options = SplitOptions { by, max_parts: if unlimited { usize::MAX } else { MAX_PARTS }, at_once };
    let (mut count, mut ledger) = (0, Ledger::default());
    let written = output.fill_directory(|directory| {
        let mut names = FileNames::default();
        let mut create = |name: &str, open_parts| {
            let path = directory.join(names.unique(name) + ".data");
            create_part(&path, container, form, open_parts)
        };
        (count, ledger) = split(input, read, options, &mut create)?;
        Ok(())
    })?;
    written.put_in_place()?;
    damage.into_iter().for_each(|damage| ledger.damage(damage));
    Ok((count, ledger))
}

/// The form in which the records of a new recording are written: uncompressed unless asked for.
pub(super) fn new_form(options: &RecordingOptions) -> Form {
    Form { frames: options.form.frames(), endian: options.form.endian, features_known: None }
}

/// Creates the sink for a part that is written together with others, `open_parts` in total.
fn create_part(path: &Path, container: Container, form: Form, open_parts: usize) -> Result<Box<dyn Sink>> {
    let name = path.display().to_string();
    if container == Container::Directory {
        fs::create_dir(path).map_err(Error::io(name, "cannot create"))?;
        return Ok(Box::new(ToDirectory::new(path, form)));
    }
    let file = PartFile::create(path).map_err(Error::io(name, "cannot create"))?;
    // As large as all buffers together allow, since `PartFile` opens the file for each write.
    let file = BufWriter::with_capacity((BUFFER_SIZE / open_parts.max(1)).clamp(1 << 12, 1 << 17), file);
    Ok(match container {
        Container::Pipe => Box::new(ToPipe::new(file, form)),
        Container::File | Container::Directory => Box::new(ToFile::new(file, form)),
    })
}

/// Whether a directory contains nothing but the parts of a split, by their names.
fn is_split(directory: &Path) -> bool {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.ok()?.file_name().into_string().ok();
    let stem = |name: String| name.strip_suffix(".data").map(str::to_owned);
    let stems = fs::read_dir(directory).ok().and_then(|entries| entries.map(|entry| stem(name(entry)?)).collect());
    stems.is_some_and(|mut stems: Vec<String>| {
        stems.sort();
        are_parts(&stems)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_a_directory_of_parts_by_file_names() {
        let are = |names: &[&str]| are_parts(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert!(are(&[]) && are(&["000", "001", "002"]) && are(&["pid-07", "pid-12"]) && are(&["comm-a b"]));
        assert!(!are(&["001", "002"]) && !are(&["0", "1"]) && !are(&["000", "pid-7"]) && !are(&["mine"]));
    }
}
