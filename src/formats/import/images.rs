//! Names of functions in a folder, where perf and pprof look for them.

use super::placement::Placed;
use super::symbols::{Kernel, SymbolFile};
use crate::abi::hex::to_hex;
use crate::container::temp_folder::folders_of;
use crate::error::Result;
use crate::object::folder::{by_build_id, is_of_images, write};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Names of functions that a recording has no place for.
#[derive(Debug)]
pub struct Symbols {
    files: Vec<SymbolFile>,
    kernel: Kernel,
}

impl Symbols {
    /// Those of a profile, if there are any.
    pub(super) fn new(placed: Placed) -> Option<Self> {
        let Placed { files, kernel, .. } = placed;
        (!files.is_empty() || !kernel.is_empty()).then_some(Self { files, kernel })
    }

    /// How many functions are named.
    pub fn functions(&self) -> usize {
        self.files.iter().map(SymbolFile::functions).sum::<usize>() + self.kernel.functions()
    }

    /// Writes them into a folder: ELF files by their paths, for `perf report --symfs` and pprof, and by their build ids, for
    /// `perf --buildid-dir`; the kernel's as perf keeps them there.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        if !self.kernel.is_empty() {
            let id = to_hex(self.kernel.build_id.as_deref().unwrap_or_default());
            let name = String::from_utf8_lossy(Kernel::NAME).into_owned();
            write(folder, &[&name, &id, "kallsyms"].iter().collect::<PathBuf>(), |out| self.kernel.write(out))?;
        }
        for file in &self.files {
            // perf looks for what no file has by another name.
            let name = if &file.path[..] == b"[vdso]" { "vdso" } else { "elf" };
            let path = by_build_id(file.build_id.as_deref().unwrap_or_default(), name);
            write(folder, &path, |out| file.write(out))?;
            // Two files may have the same path, and a path may be none that is possible here.
            if let Some(by_path) = inside(&file.path).filter(|path| !folder.join(path).exists())
                && folders_of(&by_path, folder).is_ok()
            {
                let (path, by_path) = (folder.join(path), folder.join(by_path));
                let linked = fs::hard_link(&path, &by_path).or_else(|_| fs::copy(&path, &by_path).map(drop));
                // It can be found by its build id.
                drop(linked);
            }
        }
        Ok(())
    }

    /// Whether a folder is one that [`write`](Self::write) wrote, as far as that can be known.
    pub fn are_in(folder: &Path) -> bool {
        is_of_images(folder, &["[kernel.kallsyms]"])
    }
}

/// What a path is below another root, if it stays there.
fn inside(path: &[u8]) -> Option<PathBuf> {
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
