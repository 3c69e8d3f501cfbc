//! The files of images: made under other names, and put in place when all is done.

use crate::container::temp_folder::{TempFolder, temporary};
use crate::error::{Error, Result};
use crate::object::folder::is_elf;
use crate::object::image::Image;
use crate::rewrite::build_ids::elf::{self, Elf};
use crate::rewrite::build_ids::id::Id;
use hashbrown::HashSet;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::TempPath;

/// Where images go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageOptions {
    /// The folder; `None` for that of what they are made of.
    pub dir: Option<PathBuf>,
    /// Whether they may take the place of other files.
    pub overwrite: bool,
}

/// Images that are made and not in place yet.
#[derive(Debug, Default)]
pub struct Images {
    options: ImageOptions,
    made: Vec<Made>,
    /// Where images will be.
    targets: HashSet<PathBuf>,
}

#[derive(Debug)]
struct Made {
    /// Not open: there may be more of them than a program may have open.
    file: TempPath,
    target: PathBuf,
    // Behind the file, which is in it.
    _folder: TempFolder,
}

impl Images {
    /// None yet.
    pub fn new(options: ImageOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Makes the file of an image, which is made of another file, and says where it will be.
    ///
    /// # Errors
    /// Where it cannot be made, or there is another file that must not be overwritten.
    pub fn add(&mut self, image: &Image, name: &str, made_of: &Path) -> Result<PathBuf> {
        let beside = || made_of.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        let dir = self.options.dir.as_deref().unwrap_or_else(beside);
        let shown = dir.display().to_string();
        // The recording tells where it is, to readers that may run elsewhere.
        let dir = dir.canonicalize().map_err(Error::io(&shown, "cannot put images there"))?;
        let target = dir.join(name);
        let shown = target.display().to_string();
        if self.targets.contains(&target) {
            return Err(Error::output_exists(format!("{shown}: two images would have this name")));
        }
        if fs::symlink_metadata(&target).is_ok() {
            let id = Id::new(&image.build_id());
            if id.is_some_and(|id| elf::read(&target).is_ok_and(|found| found == Elf::Id(id))) {
                return Ok(target);
            }
            if !self.options.overwrite {
                return Err(exists(&target));
            }
            if !is_image(&target) {
                return Err(is_other(&target));
            }
        }
        let failed = Error::io(&shown, "cannot create");
        let create = || {
            let folder = TempFolder::new(Some(&dir))?;
            let mut builder = temporary();
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                builder.permissions(fs::Permissions::from_mode(0o666));
            }
            let file = builder.tempfile_in(folder.path())?;
            let mut out = BufWriter::with_capacity(1 << 17, file.as_file());
            image.write(&mut out)?;
            out.flush()?;
            drop(out);
            let file = file.into_temp_path();
            Ok(Made { file, target: target.clone(), _folder: folder })
        };
        self.made.push(create().map_err(failed)?);
        self.targets.insert(target.clone());
        Ok(target)
    }

    /// Puts all in place. What was put there is taken away again where another one cannot be.
    ///
    /// # Errors
    /// What the system says.
    pub fn put_in_place(&mut self) -> Result<()> {
        let mut placed = Vec::new();
        for Made { file, target, .. } in self.made.drain(..) {
            let is_there = fs::symlink_metadata(&target).is_ok();
            let done = match (self.options.overwrite && is_there, is_image(&target)) {
                (true, true) => file.persist(&target).map_err(|e| e.error),
                // The recording itself may be there by now.
                (true, false) => Err(std::io::ErrorKind::AlreadyExists.into()),
                (false, _) => file.persist_noclobber(&target).map_err(|e| e.error),
            };
            if let Err(error) = done {
                placed.iter().for_each(|target: &PathBuf| drop(fs::remove_file(target)));
                return Err(match error.kind() {
                    std::io::ErrorKind::AlreadyExists if self.options.overwrite => is_other(&target),
                    std::io::ErrorKind::AlreadyExists => exists(&target),
                    _ => Error::io(target.display().to_string(), "cannot put in place")(error),
                });
            }
            // What took another one's place stays: there is nothing else there now.
            placed.extend((!is_there).then_some(target));
        }
        Ok(())
    }
}

/// Whether a file is one that an image may take the place of: an ELF file, not a recording or whatever else has the name.
fn is_image(target: &Path) -> bool {
    fs::symlink_metadata(target).is_ok_and(|found| found.is_file()) && is_elf(target)
}

fn is_other(target: &Path) -> Error {
    let target = target.display();
    Error::output_exists(format!(
        "{target}: is no image, and is not overwritten by one; --jit-dir DIR puts images elsewhere"
    ))
}

fn exists(target: &Path) -> Error {
    let target = target.display();
    Error::output_exists(format!("{target}: exists already; -f overwrites it, and --jit-dir DIR puts images elsewhere"))
}
