//! What a folder holds beside the recording, such as the `kcore_dir` of `perf record --kcore`: files in pieces, so that none
//! has to be held as a whole.

use crate::container::read::directory::is_part;
use crate::container::temp_folder::folders_of;
use crate::error::{Error, Result};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Component, Path, PathBuf};

/// How many bytes of a file an object tells.
pub const PIECE: usize = 3 << 16;

/// A file of a folder.
pub struct Other {
    /// Its path in the folder.
    pub name: String,
    path: PathBuf,
}

impl Other {
    /// Calls `each` for every piece; of an empty file there is one.
    ///
    /// # Errors
    /// Where the file cannot be read, and what `each` says.
    pub fn pieces(&self, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
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

/// The files beside the recording in a folder, by their names, and the names of what cannot be told: what is no file, and
/// what has no name in UTF-8.
///
/// # Errors
/// What the system says.
pub fn list(folder: &Path) -> Result<(Vec<Other>, Vec<String>)> {
    let (mut files, mut untold) = (Vec::new(), Vec::new());
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        let shown = next.display().to_string();
        for entry in next.read_dir().map_err(Error::io(&shown, "cannot list"))? {
            let path = entry.map_err(Error::io(&shown, "cannot list"))?.path();
            let name = path.strip_prefix(folder).unwrap_or(&path);
            // What a link leads to may belong to somebody else.
            match (name.to_str(), fs::symlink_metadata(&path)) {
                (Some(name), _) if is_part(name) => {}
                (Some(_), Ok(found)) if found.is_dir() => folders.push(path),
                (Some(name), Ok(found)) if found.is_file() => files.push(Other { name: name.to_owned(), path }),
                _ => untold.push(name.display().to_string()),
            }
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    untold.sort();
    Ok((files, untold))
}

/// Whether a file can be put into a folder by this name: it leads to no other place, and is no part of the recording.
pub fn is_allowed(name: &str) -> bool {
    let path = Path::new(name);
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    is_plain && !name.is_empty() && !name.ends_with('/') && !name.contains('\0') && !is_part(name)
}

/// Writes the files of a folder.
pub struct Others {
    folder: PathBuf,
    /// The one that is being written.
    current: Option<(String, File)>,
}

impl Others {
    /// For a folder.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, current: None }
    }

    /// Writes a piece behind those of the same name. `None` where there is a file of that name already that is another.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&mut self, name: String, piece: &[u8]) -> Result<Option<()>> {
        let is_next = self.current.as_ref().is_some_and(|(current, _)| *current == name);
        if !is_next {
            let path = self.folder.join(&name);
            if path.exists() {
                return Ok(None);
            }
            folders_of(Path::new(&name), &self.folder).map_err(Error::Output)?;
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
    fn names_lead_to_no_other_place() {
        for name in ["kcore_dir/kcore", "a", "a/b/c", "data.old", "data.01"] {
            assert!(is_allowed(name), "{name}");
        }
        for name in ["", "/etc/passwd", "../a", "a/../../b", "./a", "data", "data.0", "a/", "a\0b"] {
            assert!(!is_allowed(name), "{name}");
        }
    }

    #[test]
    fn files_come_back_from_their_pieces() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(from.path().join("kcore_dir")).unwrap();
        let large: Vec<u8> = (0..2 * PIECE + 5).map(|at| at as u8).collect();
        fs::write(from.path().join("kcore_dir/kcore"), &large).unwrap();
        fs::write(from.path().join("data.0"), "records").unwrap();
        fs::write(from.path().join("data.old"), "older").unwrap();
        fs::write(from.path().join("empty"), "").unwrap();
        let (files, untold) = list(from.path()).unwrap();
        let names: Vec<_> = files.iter().map(|file| &*file.name).collect();
        assert_eq!((names, untold), (vec!["data.old", "empty", "kcore_dir/kcore"], Vec::new()));
        let mut others = Others::new(to.path().to_owned());
        for file in &files {
            file.pieces(|piece| others.write(file.name.clone(), piece).map(|written| assert_eq!(written, Some(()))))
                .unwrap();
        }
        assert!(fs::read(to.path().join("kcore_dir/kcore")).unwrap() == large);
        assert_eq!(fs::read(to.path().join("empty")).unwrap(), b"");
        assert_eq!(others.write("empty".into(), b"x").unwrap(), None);
    }
}
