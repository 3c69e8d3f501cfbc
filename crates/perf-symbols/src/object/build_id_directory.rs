//! Directories of object files by build ID, in the layout of perf's cache (`perf --buildid-dir DIR`).

use super::recorded_file;
use perf_data::abi::hex::to_hex;
use perf_data::container::temp_directory::create_parent_directories;
use perf_data::error::{Error, Result};
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// Path of an object file by build ID: `.build-id/ab/cdef.../NAME`. NAME is `elf`, or perf's name for images that are not files.
pub fn by_build_id(build_id: &[u8], name: &str) -> PathBuf {
    let id = to_hex(build_id);
    let (first, rest) = id.split_at(2.min(id.len()));
    [".build-id", first, rest, name].iter().collect()
}

/// Whether a directory contains nothing but object files, in the layout of [`by_build_id`] or elsewhere, and files named in
/// `others`. perf's own cache also contains links.
pub fn has_only_images(directory: &Path, others: &[&str]) -> bool {
    let has_some = directory.join(".build-id").is_dir() || others.iter().any(|name| directory.join(name).exists());
    let mut directories = vec![directory.to_owned()];
    while let Some(current) = directories.pop() {
        let Ok(entries) = fs::read_dir(&current) else { return false };
        for entry in entries {
            let Ok((entry, kind)) = entry.and_then(|entry| entry.file_type().map(|kind| (entry, kind))) else {
                return false;
            };
            let path = entry.path();
            let is_by_id = path.strip_prefix(directory).is_ok_and(|path| path.starts_with(".build-id"));
            if current == directory && others.iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            if kind.is_dir() {
                directories.push(path);
            } else if !kind.is_file()
                || !is_elf(&path)
                || is_by_id && !["elf", "vdso"].iter().any(|name| path.ends_with(name))
            {
                return false;
            }
        }
    }
    has_some
}

/// Whether a file has the magic of ELF.
pub fn is_elf(path: &Path) -> bool {
    let mut magic = [0; 4];
    recorded_file::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == *b"\x7fELF"
}

/// Writes a file below a directory, and creates its parent directories.
///
/// # Errors
/// I/O errors.
pub fn write(directory: &Path, file: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let path = directory.join(file);
    let shown = path.display().to_string();
    let write = || {
        create_parent_directories(file, directory)?;
        let mut out = BufWriter::new(File::create(path)?);
        content(&mut out)?;
        out.flush()
    };
    write().map_err(Error::io(shown, "cannot write"))
}
