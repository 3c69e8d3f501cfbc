//! Folders of images, in which perf finds them: by build id, as its own cache has them (`perf --buildid-dir DIR`).

use crate::abi::hex::to_hex;
use crate::container::temp_folder::folders_of;
use crate::error::{Error, Result};
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// Where a folder has a file of a build id: `.build-id/ab/cdef.../NAME`, `elf` or what perf calls those that are none.
pub fn by_build_id(build_id: &[u8], name: &str) -> PathBuf {
    let id = to_hex(build_id);
    let (first, rest) = id.split_at(2.min(id.len()));
    [".build-id", first, rest, name].iter().collect()
}

/// Whether a folder holds images as [`by_build_id`] has them, ELF files anywhere, what is called by one of `others`, and nothing
/// else. perf's own cache has links in it.
pub fn is_of_images(folder: &Path, others: &[&str]) -> bool {
    let has_some = folder.join(".build-id").is_dir() || others.iter().any(|name| folder.join(name).exists());
    let mut folders = vec![folder.to_owned()];
    while let Some(inside) = folders.pop() {
        let Ok(entries) = fs::read_dir(&inside) else { return false };
        for entry in entries {
            let Ok((entry, kind)) = entry.and_then(|entry| entry.file_type().map(|kind| (entry, kind))) else {
                return false;
            };
            let path = entry.path();
            let is_by_id = path.strip_prefix(folder).is_ok_and(|path| path.starts_with(".build-id"));
            if inside == folder && others.iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            if kind.is_dir() {
                folders.push(path);
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

/// Whether a file begins as ELF files do.
pub fn is_elf(path: &Path) -> bool {
    let mut magic = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == *b"\x7fELF"
}

/// Writes a file below a folder, and the folders that it is in.
///
/// # Errors
/// What the system says.
pub fn write(folder: &Path, file: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let path = folder.join(file);
    let shown = path.display().to_string();
    let write = || {
        folders_of(file, folder)?;
        let mut out = BufWriter::new(File::create(path)?);
        content(&mut out)?;
        out.flush()
    };
    write().map_err(Error::io(shown, "cannot write"))
}
