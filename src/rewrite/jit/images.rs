//! Writes image files to temporary names, and moves them into place at the end.

use crate::rewrite::framework::pass_options::PassContext;
use hashbrown::HashSet;
use perf_data::container::access::Access;
use perf_data::container::output;
use perf_data::container::temp_directory::{TempDirectory, temporary};
use perf_data::error::{Error, Result};
use perf_symbols::object::build_id::Id;
use perf_symbols::object::build_id_directory::is_elf;
use perf_symbols::object::build_id_note::{self, Elf};
use perf_symbols::object::image::Image;
use perf_symbols::object::pending_images::PendingImages;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::TempPath;

/// Where images are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageOptions {
    /// Directory; `None` for that of the source file.
    pub dir: Option<PathBuf>,
    /// Whether existing images may be overwritten.
    pub overwrite: bool,
    /// Who may read the images, if the source file's readers include them.
    pub access: Access,
    /// Where images are listed until they are in place.
    pub pending: PendingImages,
}

impl ImageOptions {
    /// Where to write images: to a given directory, otherwise next to the output.
    pub fn new(dir: Option<&Path>, context: &PassContext) -> Self {
        let dir = dir.map(Path::to_owned).or_else(|| context.output_dir.clone());
        Self { dir, overwrite: context.overwrite, access: context.access, pending: context.images.clone() }
    }
}

/// Images that are written but not yet in place.
#[derive(Debug, Default)]
pub struct Images {
    options: ImageOptions,
    pending: Vec<PendingImage>,
    /// Paths of the images.
    targets: HashSet<PathBuf>,
}

#[derive(Debug)]
struct PendingImage {
    // Closed, because there may be more images than open files are allowed.
    file: TempPath,
    target: PathBuf,
    /// Who may read it.
    access: Access,
    // Dropped after the file that is in it.
    _directory: TempDirectory,
}

impl Images {
    /// Creates an empty set of images.
    pub fn new(options: ImageOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Removes all images that are not in place, before they are written again.
    pub fn discard(&mut self) {
        self.options.pending.clear();
        self.pending.clear();
        self.targets.clear();
    }

    /// Writes an image of a source file under a temporary name; returns its final path.
    ///
    /// # Errors
    /// Fails if it cannot be written, or another file exists and must not be overwritten.
    pub fn add(&mut self, image: &Image, name: &str, source: &Path) -> Result<PathBuf> {
        let beside = || source.parent().filter(|directory| *directory != Path::new("")).unwrap_or(Path::new("."));
        let dir = self.options.dir.as_deref().unwrap_or_else(beside);
        let shown = dir.display().to_string();
        // The path is recorded, and read by programs with other working directories.
        let dir = dir.canonicalize().map_err(Error::io(&shown, "cannot write images there"))?;
        let target = dir.join(name);
        let shown = target.display().to_string();
        if self.targets.contains(&target) {
            return Err(Error::output_exists(format!("{shown}: two images have this name")));
        }
        if fs::symlink_metadata(&target).is_ok() {
            let id = Id::new(&image.build_id());
            if id.is_some_and(|id| build_id_note::read(&target).is_ok_and(|elf| elf == Elf::Id(id))) {
                // An earlier conversion has written the same image.
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
            let directory = TempDirectory::new(Some(&dir))?;
            let file = temporary().tempfile_in(directory.path())?;
            let mut out = BufWriter::with_capacity(1 << 17, file.as_file());
            image.write(&mut out)?;
            out.flush()?;
            drop(out);
            let file = file.into_temp_path();
            let access = self.options.access.and(Access::from_path(source));
            Ok(PendingImage { file, target: target.clone(), access, _directory: directory })
        };
        let image = create().map_err(failed)?;
        self.options.pending.insert(&target, &image.file);
        self.pending.push(image);
        self.targets.insert(target.clone());
        Ok(target)
    }

    /// Moves all images into place. If one cannot be moved, those already moved are removed.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn put_in_place(&mut self) -> Result<()> {
        self.options.pending.clear();
        let mut placed = Vec::new();
        for PendingImage { file, target, access, .. } in self.pending.drain(..) {
            let exists_already = fs::symlink_metadata(&target).is_ok();
            access
                .open_file(&file, &target)
                .map_err(Error::io(target.display().to_string(), "cannot set permissions"))?;
            let done = match (self.options.overwrite && exists_already, is_image(&target)) {
                (true, true) => file.persist(&target).map_err(|e| e.error),
                // The recording itself may have been written there.
                (true, false) => Err(std::io::ErrorKind::AlreadyExists.into()),
                (false, _) => file.persist_noclobber(&target).map_err(|e| e.error),
            };
            if let Err(error) = done {
                placed.iter().for_each(|target: &PathBuf| drop(fs::remove_file(target)));
                return Err(match error.kind() {
                    std::io::ErrorKind::AlreadyExists if self.options.overwrite => is_other(&target),
                    std::io::ErrorKind::AlreadyExists => exists(&target),
                    _ => Error::io(target.display().to_string(), "cannot move into place")(error),
                });
            }
            // An image that replaced an existing file is kept: that file cannot be restored.
            placed.extend((!exists_already).then_some(target));
        }
        Ok(())
    }
}

/// Whether an image may replace this file: an ELF file, not a recording or another file of that name.
fn is_image(target: &Path) -> bool {
    fs::symlink_metadata(target).is_ok_and(|metadata| metadata.is_file()) && is_elf(target)
}

/// The option that names another directory.
const ELSEWHERE: (&str, &str) = ("jit_dir", "DIR to write images elsewhere");

fn is_other(target: &Path) -> Error {
    let target = target.display();
    Error::output_exists(format!("{target}: exists and is not an image")).remedy(ELSEWHERE.0, ELSEWHERE.1)
}

fn exists(target: &Path) -> Error {
    output::exists(&target.display()).remedy(ELSEWHERE.0, ELSEWHERE.1)
}
