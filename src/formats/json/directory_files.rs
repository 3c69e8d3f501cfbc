//! Other files in a directory recording, such as the `kcore_dir` of `perf record --kcore`, read and written in pieces
//! so that none has to fit in memory.

use perf_data::container::read::directory::is_part;
use perf_data::container::temp_directory::create_parent_directories;
use perf_data::error::{Error, Result};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Component, Path, PathBuf};

/// Bytes of a file per object: a multiple of 3, whose base64 has no padding.
pub(super) const PIECE: usize = 3 << 16;

/// A file in the directory that is not part of the recording itself.
pub(super) struct ExtraFile {
    /// Path relative to the directory.
    pub name: String,
    path: PathBuf,
}

impl ExtraFile {
    /// Calls `each` for every piece; an empty file is one empty piece.
    ///
    /// # Errors
    /// If the file cannot be read, and errors of `each`.
    pub(super) fn pieces(&self, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let shown = || self.path.display().to_string();
        let mut file = File::open(&self.path).map_err(Error::io(shown(), "cannot open"))?;
        let (mut piece, mut is_first) = (Vec::with_capacity(PIECE), true);
        loop {
            piece.clear();
            (&mut file).take(PIECE as u64).read_to_end(&mut piece).map_err(Error::io(shown(), "cannot read"))?;
            if piece.is_empty() && !is_first {
                return Ok(());
            }
            each(&piece)?;
            is_first = false;
        }
    }
}

/// Lists the other files of a directory recording by name, and the names that are skipped: entries that are not
/// regular files, and names that are not UTF-8.
///
/// # Errors
/// I/O errors.
pub(super) fn list(directory: &Path) -> Result<(Vec<ExtraFile>, Vec<String>)> {
    let (mut files, mut skipped) = (Vec::new(), Vec::new());
    let mut directories = vec![directory.to_owned()];
    while let Some(next) = directories.pop() {
        let shown = next.display().to_string();
        for entry in next.read_dir().map_err(Error::io(&shown, "cannot list"))? {
            let path = entry.map_err(Error::io(&shown, "cannot list"))?.path();
            let name = path.strip_prefix(directory).unwrap_or(&path);
            // Symbolic links are not followed: they may lead out of the recording.
            match (name.to_str(), fs::symlink_metadata(&path)) {
                (Some(name), _) if is_part(name) => {}
                (Some(_), Ok(metadata)) if metadata.is_dir() => directories.push(path),
                (Some(name), Ok(metadata)) if metadata.is_file() => {
                    files.push(ExtraFile { name: name.to_owned(), path })
                }
                _ => skipped.push(name.display().to_string()),
            }
        }
    }
    // The order of directory entries differs between file systems.
    files.sort_by(|a, b| a.name.cmp(&b.name));
    skipped.sort();
    Ok((files, skipped))
}

/// Whether a file of this name may be written to the directory: it stays inside, and is not part of the recording.
pub(super) fn is_allowed(name: &str) -> bool {
    let path = Path::new(name);
    let stays_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
    stays_inside && !name.is_empty() && !name.ends_with('/') && !name.contains('\0') && !is_part(name)
}

/// Writes the other files of a directory recording.
pub(super) struct ExtraFileWriter {
    directory: PathBuf,
    /// The file being written.
    current: Option<(String, File)>,
}

impl ExtraFileWriter {
    /// Writes to a directory.
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory, current: None }
    }

    /// Appends a piece to the file of that name. `None` if the file exists and is not the one being written.
    ///
    /// # Errors
    /// I/O errors.
    pub(super) fn write(&mut self, name: String, piece: &[u8]) -> Result<Option<()>> {
        let is_next = self.current.as_ref().is_some_and(|(current, _)| *current == name);
        if !is_next {
            let path = self.directory.join(&name);
            if path.exists() {
                return Ok(None);
            }
            create_parent_directories(Path::new(&name), &self.directory).map_err(Error::Output)?;
            self.current = Some((name, File::create_new(&path).map_err(Error::Output)?));
        }
        let file = self.current.as_mut().map(|(_, file)| file);
        file.map_or(Ok(()), |file| file.write_all(piece)).map_err(Error::Output)?;
        Ok(Some(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_names_outside_the_directory() {
        for name in ["kcore_dir/kcore", "a", "a/b/c", "data.old", "data.01"] {
            assert!(is_allowed(name), "{name}");
        }
        for name in ["", "/etc/passwd", "../a", "a/../../b", "./a", "data", "data.0", "a/", "a\0b"] {
            assert!(!is_allowed(name), "{name}");
        }
    }

    #[test]
    fn files_round_trip_in_pieces() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(from.path().join("kcore_dir")).unwrap();
        let large: Vec<u8> = (0..2 * PIECE + 5).map(|at| at as u8).collect();
        fs::write(from.path().join("kcore_dir/kcore"), &large).unwrap();
        fs::write(from.path().join("data.0"), "records").unwrap();
        fs::write(from.path().join("data.old"), "older").unwrap();
        fs::write(from.path().join("empty"), "").unwrap();
        let (files, skipped) = list(from.path()).unwrap();
        let names: Vec<_> = files.iter().map(|file| &*file.name).collect();
        assert_eq!((names, skipped), (vec!["data.old", "empty", "kcore_dir/kcore"], Vec::new()));
        let mut writer = ExtraFileWriter::new(to.path().to_owned());
        for file in &files {
            file.pieces(|piece| writer.write(file.name.clone(), piece).map(|written| assert_eq!(written, Some(()))))
                .unwrap();
        }
        assert!(fs::read(to.path().join("kcore_dir/kcore")).unwrap() == large);
        assert_eq!(fs::read(to.path().join("empty")).unwrap(), b"");
        assert_eq!(writer.write("empty".into(), b"x").unwrap(), None);
    }
}
