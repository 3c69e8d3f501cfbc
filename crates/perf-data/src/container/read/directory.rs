//! The directory container: a `data` file and, with `perf record --threads`, one `data.N` of bare records for each thread.

use super::input::{Input, Opened};
use super::{Container, ContainerReader, ReadOptions};
use crate::abi::header::{self, FileHeader};
use crate::container::walk::{Damage, DamageKind};
use crate::error::{Error, Result};
use std::fs::{self, DirEntry, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Opens a directory written by perf.
///
/// # Errors
/// If the directory contains no recording.
pub fn open(path: &Path, options: ReadOptions) -> Result<ContainerReader> {
    let main = path.join("data");
    if !main.is_file() {
        let problem = "not a perf.data directory: it has no file named 'data'";
        return Err(Error::input(path.display().to_string(), None, problem));
    }
    let name = main.display().to_string();
    let Opened::Bytes(bytes) = Input::Path(main).open(&options)? else {
        return Err(Error::input(
            name,
            0,
            "the main file of a perf.data directory cannot be compressed; decompress it first",
        ));
    };
    let start = bytes.start(FileHeader::SIZE).map_err(Error::io(&name, "cannot read"))?;
    let Some(endian) = header::endian(&start) else { return Err(super::not_a_recording(&name, &start)) };
    let mut reader = ContainerReader::new(&name, Container::Directory, endian, options);
    reader.directory = Some(path.to_owned());
    reader.add_file(&bytes)?;
    let mut expected = 0;
    for (number, part) in parts(path)? {
        let file = part.display().to_string();
        if number != expected {
            let problem = format!("data.{}, the file before this one, is missing", number - 1);
            reader.damage.push(Damage::new(DamageKind::MissingFile, &file, 0, problem));
        }
        expected = number.saturating_add(1);
        let source = reader.files.len() as u32;
        reader.files.push(file.clone());
        let bytes = if part.is_file() { Input::Path(part).open(&reader.options)? } else { Opened::Directory(part) };
        match bytes {
            Opened::Bytes(bytes) => reader.add_records(source, &bytes, 0..bytes.size()),
            Opened::Stream(stream) => reader.add_spooled(source, &file, stream)?,
            Opened::Directory(_) => {
                let problem = "not a regular file; its records are missing".to_owned();
                reader.damage.push(Damage::new(DamageKind::MissingFile, file, 0, problem));
            }
        }
    }
    Ok(reader)
}

/// Whether a file of the directory belongs to the recording, by its name.
pub fn is_part(name: &str) -> bool {
    name == "data" || number(name).is_some()
}

/// Whether a directory contains a recording, files that perf or this program adds to it, and nothing else.
pub fn is_recording(directory: &Path) -> bool {
    let is_own = |name: &str| is_part(name) || name == "data.old" || name.starts_with("kcore_dir");
    let is_own =
        |entry: std::io::Result<DirEntry>| entry.is_ok_and(|entry| entry.file_name().to_str().is_some_and(is_own));
    let mut magic = [0; 4];
    let read_magic = File::open(directory.join("data")).and_then(|mut data| data.read_exact(&mut magic));
    let is_perf = read_magic.is_ok() && [*b"PERF", *b"2ELI"].contains(&magic);
    is_perf && fs::read_dir(directory).is_ok_and(|mut entries| entries.all(is_own))
}

/// The N of a `data.N`.
pub fn number(name: &str) -> Option<u32> {
    let number = name.strip_prefix("data.")?.parse::<u32>().ok()?;
    // Not data.01 or data.+1: parsing would accept them as second names of data.1.
    (name == format!("data.{number}")).then_some(number)
}

/// The `data.N` files of a directory, sorted by number.
fn parts(path: &Path) -> Result<Vec<(u32, PathBuf)>> {
    let name = path.display().to_string();
    let mut parts = Vec::new();
    for entry in path.read_dir().map_err(Error::io(&name, "cannot list"))? {
        let path = entry.map_err(Error::io(&name, "cannot list"))?.path();
        if let Some(number) = path.file_name().and_then(|name| number(name.to_str()?)) {
            parts.push((number, path));
        }
    }
    parts.sort();
    Ok(parts)
}
