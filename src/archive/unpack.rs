//! A cache of build ids is filled by an archive. The archive is not trusted: nothing is written but into the cache, and nothing at
//! all where it has what an archive does not have.

use super::entry::{Entry, RECORDING, leads_to_object};
use crate::container::temp_folder::TempFolder;
use crate::error::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use tar::{Archive, EntryType};

/// What was unpacked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// Files that are new in the cache.
    pub files: usize,
    /// Files that were there already.
    pub there: usize,
    /// Whether the recording was in the archive.
    pub has_recording: bool,
}

/// Unpacks an archive into a cache, and the recording to where `recording` says.
///
/// # Errors
/// Where the archive cannot be read or has what does not belong into one: then nothing is left. And where something cannot be
/// written.
pub fn unpack(archive: impl Read, name: &str, cache: &Path, recording: &Path, overwrite: bool) -> Result<Unpacked> {
    let is_new = !cache.exists();
    fs::create_dir_all(cache).map_err(Error::io(cache.display().to_string(), "cannot create"))?;
    let unpacked = unpack_into(archive, name, cache, recording, overwrite);
    if unpacked.is_err() && is_new {
        // It is empty, or somebody else's.
        let _ = fs::remove_dir(cache);
    }
    unpacked
}

fn unpack_into(archive: impl Read, name: &str, cache: &Path, recording: &Path, overwrite: bool) -> Result<Unpacked> {
    let folder = TempFolder::new(Some(cache)).map_err(Error::io(cache.display().to_string(), "cannot create in it"))?;
    let (files, links) = extract(archive, name, folder.path())?;
    let mut unpacked = Unpacked::default();
    let target = files.contains(Path::new(RECORDING)).then_some(recording);
    if let Some(target) = target.filter(|target| !overwrite && fs::symlink_metadata(target).is_ok()) {
        return Err(Error::Refused(format!("{}: exists already; -f overwrites it", target.display())));
    }
    for file in &files {
        let from = folder.path().join(file);
        if file.as_os_str() == RECORDING {
            let failed = Error::io(recording.display().to_string(), "cannot put in place");
            // It may be on another disk.
            fs::rename(&from, recording).or_else(|_| fs::copy(&from, recording).map(drop)).map_err(failed)?;
            unpacked.has_recording = true;
            continue;
        }
        let to = cache.join(file);
        if fs::symlink_metadata(&to).is_ok() {
            unpacked.there += 1;
            continue;
        }
        let failed = || Error::io(to.display().to_string(), "cannot put in place");
        folders(cache, file).and_then(|()| fs::rename(&from, &to)).map_err(failed())?;
        unpacked.files += 1;
    }
    for (link, to) in &links {
        let at = cache.join(link);
        if fs::symlink_metadata(&at).is_err() {
            let failed = Error::io(at.display().to_string(), "cannot link");
            folders(cache, link).and_then(|()| symlink(to, &at)).map_err(failed)?;
        }
    }
    Ok(unpacked)
}

/// Files, and links with where they lead.
type Extracted = (BTreeSet<PathBuf>, BTreeMap<PathBuf, PathBuf>);

/// Puts all files into a folder of ours, and says which, and which links there are to be.
fn extract(archive: impl Read, name: &str, folder: &Path) -> Result<Extracted> {
    let (mut files, mut links) = (BTreeSet::new(), BTreeMap::new());
    let cannot_read = |e: io::Error| Error::input(name, None, format!("cannot be read as an archive: {e}"));
    let mut archive = Archive::new(archive);
    for entry in archive.entries().map_err(cannot_read)? {
        let mut entry = entry.map_err(cannot_read)?;
        let path = entry.path().map_err(cannot_read)?.into_owned();
        let foreign = |why: &str| {
            let what = format!("{} {why}; nothing is unpacked", path.display());
            Err(Error::input(name, None, what))
        };
        let kind = entry.header().entry_type();
        // perf archive has the folders too.
        if kind == EntryType::Directory {
            continue;
        }
        let file = match Entry::parse(&path) {
            Some(Entry::Recording) if kind.is_file() => PathBuf::from(RECORDING),
            Some(Entry::File(file)) if kind.is_file() => file,
            Some(Entry::Link(link)) if kind == EntryType::Symlink => {
                let to = entry.link_name().map_err(cannot_read)?.unwrap_or_default().into_owned();
                if !leads_to_object(&link, &to) {
                    return foreign("is a link that leads elsewhere than to its object");
                }
                links.insert(link, to);
                continue;
            }
            _ => return foreign("does not belong into an archive of a recording and its objects"),
        };
        let to = folder.join(&file);
        let failed = || Error::io(to.display().to_string(), "cannot write");
        let out = folders(folder, &file).and_then(|()| File::create_new(&to));
        let mut out = match out {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return foreign("is there twice"),
            out => out.map_err(failed())?,
        };
        let copied = io::copy(&mut entry, &mut out).map_err(cannot_read)?;
        if copied != entry.size() {
            return foreign("is cut");
        }
        files.insert(file);
    }
    if files.is_empty() {
        return Err(Error::input(name, None, "is no archive of a recording and its objects: it has none of these"));
    }
    Ok((files, links))
}

/// Makes the folders of a file below a folder. One that is a link is not gone into.
fn folders(below: &Path, file: &Path) -> io::Result<()> {
    let mut folder = below.to_owned();
    for part in file.parent().into_iter().flat_map(Path::iter) {
        folder.push(part);
        match fs::create_dir(&folder) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && fs::symlink_metadata(&folder)?.is_dir() => {}
            made => made?,
        }
    }
    Ok(())
}

#[cfg(unix)]
fn symlink(to: &Path, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, at)
}

#[cfg(not(unix))]
fn symlink(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
