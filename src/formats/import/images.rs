//! Function names in a directory, where perf and pprof look for them.

use super::placement::Placement;
use super::symbols::{Kernel, SymbolFile};
use perf_data::abi::hex::to_hex;
use perf_data::container::temp_directory::create_parent_directories;
use perf_data::error::Result;
use perf_symbols::object::build_id_directory::{by_build_id, has_only_images, write};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Function names that a recording cannot store.
#[derive(Debug)]
pub struct Symbols {
    files: Vec<SymbolFile>,
    kernel: Kernel,
}

impl Symbols {
    /// The names of a profile, if there are any.
    pub(super) fn new(placed: Placement) -> Option<Self> {
        let Placement { files, kernel, .. } = placed;
        (!files.is_empty() || !kernel.is_empty()).then_some(Self { files, kernel })
    }

    /// Number of named functions.
    pub fn functions(&self) -> usize {
        self.files.iter().map(SymbolFile::functions).sum::<usize>() + self.kernel.functions()
    }

    /// Writes them to a directory: ELF files by path, for `perf report --symfs` and pprof, and by build ID, for `perf
    /// --buildid-dir`; the kernel's in perf's layout.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&self, directory: &Path) -> Result<()> {
        if !self.kernel.is_empty() {
            let id = to_hex(self.kernel.build_id.as_deref().unwrap_or_default());
            let name = String::from_utf8_lossy(Kernel::NAME).into_owned();
            write(directory, &[&name, &id, "kallsyms"].iter().collect::<PathBuf>(), |out| self.kernel.write(out))?;
        }
        for file in &self.files {
            // perf uses another name for the vDSO.
            let name = if &file.path[..] == b"[vdso]" { "vdso" } else { "elf" };
            let path = by_build_id(file.build_id.as_deref().unwrap_or_default(), name);
            write(directory, &path, |out| file.write(out))?;
            // Two files may have the same path, and the path may be invalid here.
            if let Some(by_path) = relative_path(&file.path).filter(|path| !directory.join(path).exists())
                && create_parent_directories(&by_path, directory).is_ok()
            {
                let (path, by_path) = (directory.join(path), directory.join(by_path));
                let linked = fs::hard_link(&path, &by_path).or_else(|_| fs::copy(&path, &by_path).map(drop));
                // A failure is ignored: the file is found by build ID.
                drop(linked);
            }
        }
        Ok(())
    }

    /// Whether a directory looks like one that [`write`](Self::write) wrote.
    pub fn are_in(directory: &Path) -> bool {
        has_only_images(directory, &["[kernel.kallsyms]"])
    }
}

/// Converts a path to one relative to another root, unless it leads out of it.
fn relative_path(path: &[u8]) -> Option<PathBuf> {
    let path = PathBuf::from(String::from_utf8(path.to_vec()).ok()?);
    let mut inside = PathBuf::new();
    for component in path.components() {
        match component {
            Component::RootDir => {}
            Component::Normal(name) => inside.push(name),
            Component::Prefix(_) | Component::CurDir | Component::ParentDir => return None,
        }
    }
    (!inside.as_os_str().is_empty()).then_some(inside)
}
