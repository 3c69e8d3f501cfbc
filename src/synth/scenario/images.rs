//! The programs of a scenario, as readers look for them.

use super::plan::Scenario;
use crate::abi::hex::to_hex;
use crate::error::{Error, Result};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

impl Scenario {
    /// Writes the programs as ELF files with symbols into a folder: by their paths, for `perf report --symfs`, and by their build
    /// ids, for `perf --buildid-dir`.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn write_images(&self, folder: &Path) -> Result<()> {
        for program in &self.programs {
            let id = to_hex(&program.image.build_id());
            let (first, rest) = id.split_at(2);
            let by_id = folder.join(".build-id").join(first).join(rest).join("elf");
            let by_path = folder.join(program.path.trim_start_matches('/'));
            for path in [by_path, by_id] {
                let shown = path.display().to_string();
                let write = || {
                    fs::create_dir_all(path.parent().unwrap_or(folder))?;
                    let mut out = BufWriter::new(File::create(&path)?);
                    program.image.write(&mut out)?;
                    out.flush()
                };
                write().map_err(Error::io(shown, "cannot write"))?;
            }
        }
        Ok(())
    }

    /// Whether a folder is one that [`write_images`](Self::write_images) wrote.
    pub fn is_of_images(folder: &Path) -> bool {
        folder.join(".build-id").is_dir()
    }
}
