//! ELF files and kernel symbols of a scenario, for readers that look them up.

use super::plan::{PlannedSpace, Program, Scenario};
use perf_data::container::temp_directory::create_parent_directories;
use perf_data::error::{Error, Result};
use perf_data::session::map::PAGE;
use perf_symbols::object::build_id_directory::{by_build_id, has_only_images, write};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Kernel symbols, for `perf report --kallsyms`, and those of guests, for `--guestkallsyms`.
const KALLSYMS: [(PlannedSpace, &str); 2] =
    [(PlannedSpace::Kernel, "kallsyms"), (PlannedSpace::GuestKernel, "guestkallsyms")];

impl Scenario {
    /// Writes the programs as ELF files into a directory: by path, for `perf report --symfs`, and by build ID, for
    /// `perf --buildid-dir`; also writes the symbols of kernels.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write_images(&self, directory: &Path) -> Result<()> {
        for program in self.programs.iter().filter(|program| program.space == PlannedSpace::User) {
            let by_id = by_build_id(&program.image.build_id(), "elf");
            let by_path = PathBuf::from(program.path.trim_start_matches('/'));
            for path in [by_path, by_id] {
                write(directory, &path, |out| program.image.write(out))?;
            }
        }
        for (space, name) in KALLSYMS {
            let programs: Vec<_> = self.programs.iter().filter(|program| program.space == space).collect();
            if !programs.is_empty() {
                write(directory, Path::new(name), |out| {
                    programs.iter().try_for_each(|program| program.write_symbols(out))
                })?;
            }
        }
        // `.build-id` identifies a directory of images, even without programs.
        let by_id = by_build_id(&[], "elf");
        create_parent_directories(&by_id, directory)
            .map(drop)
            .map_err(Error::io(directory.join(by_id).display().to_string(), "cannot write"))
    }

    /// Whether a directory looks like one that [`write_images`](Self::write_images) wrote.
    pub fn is_image_directory(directory: &Path) -> bool {
        has_only_images(directory, &KALLSYMS.map(|(_, name)| name))
    }
}

impl Program {
    /// Writes kernel symbols in the format of `/proc/kallsyms`.
    fn write_symbols(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.is_kernel() {
            let start = self.base + PAGE;
            writeln!(out, "{start:016x} T _text\n{start:016x} T _stext")?;
        }
        for (offset, function) in self.image.functions() {
            writeln!(out, "{:016x} t {}", self.base + offset, String::from_utf8_lossy(&function.name))?;
        }
        if self.is_kernel() {
            writeln!(out, "{:016x} T _etext", self.base + self.image.end())?;
        }
        Ok(())
    }
}
