//! The programs of a scenario, as readers look for them.

use super::plan::{Program, Scenario, Space};
use super::run::PAGE;
use crate::container::temp_folder::folders_of;
use crate::error::{Error, Result};
use crate::object::folder::{by_build_id, is_of_images, write};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The symbols of the kernel, as `perf report --kallsyms` takes them, and those of guests', for `--guestkallsyms`.
const KALLSYMS: [(Space, &str); 2] = [(Space::Kernel, "kallsyms"), (Space::GuestKernel, "guestkallsyms")];

impl Scenario {
    /// Writes the programs as ELF files into a folder: by their paths, for `perf report --symfs`, and by their build ids, for
    /// `perf --buildid-dir`; beside them, the symbols of kernels.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn write_images(&self, folder: &Path) -> Result<()> {
        for program in self.programs.iter().filter(|program| program.space == Space::User) {
            let by_id = by_build_id(&program.image.build_id(), "elf");
            let by_path = PathBuf::from(program.path.trim_start_matches('/'));
            for path in [by_path, by_id] {
                write(folder, &path, |out| program.image.write(out))?;
            }
        }
        for (space, name) in KALLSYMS {
            let programs: Vec<_> = self.programs.iter().filter(|program| program.space == space).collect();
            if !programs.is_empty() {
                write(folder, Path::new(name), |out| {
                    programs.iter().try_for_each(|program| program.write_symbols(out))
                })?;
            }
        }
        // What tells that the folder is one of images.
        let by_id = by_build_id(&[], "elf");
        folders_of(&by_id, folder)
            .map(drop)
            .map_err(Error::io(folder.join(by_id).display().to_string(), "cannot write"))
    }

    /// Whether a folder is one that [`write_images`](Self::write_images) wrote, as far as that can be known.
    pub fn is_of_images(folder: &Path) -> bool {
        is_of_images(folder, &KALLSYMS.map(|(_, name)| name))
    }
}

impl Program {
    /// A kernel's symbols, as `/proc/kallsyms` has them.
    fn write_symbols(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.is_kernel() {
            let begin = self.base + PAGE;
            writeln!(out, "{begin:016x} T _text\n{begin:016x} T _stext")?;
        }
        for (place, function) in self.image.functions() {
            writeln!(out, "{:016x} t {}", self.base + place, String::from_utf8_lossy(&function.name))?;
        }
        if self.is_kernel() {
            writeln!(out, "{:016x} T _etext", self.base + self.image.end())?;
        }
        Ok(())
    }
}
