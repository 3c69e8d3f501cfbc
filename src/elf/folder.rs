//! Folders of images, in which perf finds them: by build id, as its own cache has them (`perf --buildid-dir DIR`).

use crate::abi::hex::to_hex;
use crate::error::{Error, Result};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Where a folder has a file of a build id: `.build-id/ab/cdef.../NAME`, `elf` or what perf calls those that are none.
pub fn by_build_id(folder: &Path, build_id: &[u8], name: &str) -> PathBuf {
    let id = to_hex(build_id);
    let (first, rest) = id.split_at(2.min(id.len()));
    folder.join(".build-id").join(first).join(rest).join(name)
}

/// Writes a file, and the folders that it is in.
///
/// # Errors
/// What the system says.
pub fn write(path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let shown = path.display().to_string();
    let write = || {
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        let mut out = BufWriter::new(File::create(path)?);
        content(&mut out)?;
        out.flush()
    };
    write().map_err(Error::io(shown, "cannot write"))
}
