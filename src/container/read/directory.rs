//! The directory container: `data`, and with `perf record --threads` a `data.N` of bare records for each thread.

use super::input::{Input, Opened};
use super::{Container, ReadOptions, Reader};
use crate::abi::header;
use crate::container::walk::Damage;
use crate::error::{Error, Result};
use std::fs::{self, DirEntry, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Opens a folder that perf recorded into.
///
/// # Errors
/// Where it holds no recording.
pub fn open(path: &Path, options: ReadOptions) -> Result<Reader> {
    let main = path.join("data");
    if !main.is_file() {
        let what = "this folder is no recording: perf.data folders have a file named data in them";
        return Err(Error::input(path.display().to_string(), None, what));
    }
    let name = main.display().to_string();
    let Opened::Bytes(bytes) = Input::Path(main).open(&options)? else {
        return Err(Error::input(name, 0, "the main file of a perf.data folder cannot be compressed"));
    };
    let Some(endian) = header::endian(&bytes) else { return Err(super::not_a_recording(&name, &bytes)) };
    let mut reader = Reader::new(&name, Container::Directory, endian, options);
    reader.folder = Some(path.to_owned());
    reader.add_file(&bytes)?;
    let mut expected = 0;
    for (number, part) in parts(path)? {
        let file = part.display().to_string();
        if number != expected {
            let what = format!("the file before this one, data.{}, is missing", number - 1);
            reader.damage.push(Damage::new(&file, 0, what));
        }
        expected = number.saturating_add(1);
        let source = reader.files.len() as u32;
        reader.files.push(file.clone());
        let bytes = if part.is_file() { Input::Path(part).open(&reader.options)? } else { Opened::Directory(part) };
        match bytes {
            Opened::Bytes(bytes) => reader.add_records(source, 0, bytes),
            Opened::Stream(stream) => reader.add_spooled(source, &file, stream)?,
            Opened::Directory(_) => {
                let what = "this is no file: its records are missing".to_owned();
                reader.damage.push(Damage::new(file, 0, what));
            }
        }
    }
    Ok(reader)
}

/// Whether a file of a folder is a part of the recording, by its path in the folder.
pub fn is_part(name: &str) -> bool {
    name == "data" || number(name).is_some()
}

/// Whether a folder holds a recording, what perf or this program puts beside it, and nothing else.
pub fn is_recording(folder: &Path) -> bool {
    let is_own = |name: &str| is_part(name) || name == "data.old" || name.starts_with("kcore_dir");
    let is_own =
        |entry: std::io::Result<DirEntry>| entry.is_ok_and(|entry| entry.file_name().to_str().is_some_and(is_own));
    let mut magic = [0; 4];
    let begins = File::open(folder.join("data")).and_then(|mut data| data.read_exact(&mut magic));
    let is_perf = begins.is_ok() && [*b"PERF", *b"2ELI"].contains(&magic);
    is_perf && fs::read_dir(folder).is_ok_and(|mut entries| entries.all(is_own))
}

/// The number of a `data.N`, a further file of the recording in `data`.
pub fn number(name: &str) -> Option<u32> {
    let number = name.strip_prefix("data.")?.parse::<u32>().ok()?;
    // Not data.01 or data.+1, which would be read a second time.
    (name == format!("data.{number}")).then_some(number)
}

/// The `data.N` of a folder, by their number.
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
