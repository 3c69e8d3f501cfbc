//! A cache of build ids is filled by an archive. The archive is not trusted: nothing is written but into the cache, and nothing at
//! all where it has what an archive does not have.

use super::entry::{Entry, RECORDING, leads_to_object};
use crate::abi::header;
use crate::container::temp_folder::{TempFolder, folders_of, temporary};
use crate::error::{Error, Result};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use tar::{Archive, EntryType};

/// What was unpacked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// Files that are new in the cache.
    pub files: usize,
    /// Files that were there already.
    pub there: usize,
    /// Where the recording is, if it was in the archive.
    pub recording: Option<PathBuf>,
}

/// What is in an archive, beside where it goes.
#[derive(Debug)]
pub struct Extracted {
    cache: PathBuf,
    folder: TempFolder,
    found: Found,
}

/// Puts all that is in an archive into a folder of ours in a cache, or near it where there is none yet. A recording that
/// `is_private` is for its owner alone.
///
/// # Errors
/// Where the archive cannot be read or has what does not belong into one, or something cannot be written: then nothing is left.
pub fn extract(archive: impl Read, name: &str, cache: &Path, is_private: bool) -> Result<Extracted> {
    let mut folders = cache.ancestors().map(|folder| if folder == Path::new("") { Path::new(".") } else { folder });
    let near = folders.find(|folder| folder.exists()).unwrap_or(cache);
    let folder = TempFolder::new(Some(near)).map_err(Error::io(near.display().to_string(), "cannot create in it"))?;
    let found = extract_into(archive, name, folder.path(), is_private)?;
    Ok(Extracted { cache: cache.to_owned(), folder, found })
}

impl Extracted {
    /// Puts all in place: objects that are not there yet, and the recording, under its name, in the directory `beside`.
    ///
    /// # Errors
    /// Where something cannot be put there, or the recording must not be overwritten. What was put in place is taken away again.
    pub fn put_in_place(self, beside: &Path, overwrite: bool) -> Result<Unpacked> {
        let Self { cache, folder, found } = self;
        let mut placed = Placed::default();
        let is_new = !cache.exists();
        fs::create_dir_all(&cache).map_err(Error::io(cache.display().to_string(), "cannot create"))?;
        let unpacked = put_in_place(&cache, folder.path(), &found, (beside, overwrite), &mut placed);
        drop(folder);
        if unpacked.is_err() {
            placed.take_away();
            if is_new {
                let _ = fs::remove_dir(&cache);
            }
        }
        unpacked
    }
}

/// What was put in place, in this order.
#[derive(Default)]
struct Placed(Vec<PathBuf>);

impl Placed {
    fn take_away(self) {
        for path in self.0.iter().rev() {
            // Folders that somebody else has put something into stay.
            let _ = fs::remove_file(path).or_else(|_| fs::remove_dir(path));
        }
    }

    /// Makes the folders of a file below a folder, as [`folders_of`] does.
    fn folders(&mut self, below: &Path, file: &Path) -> io::Result<()> {
        self.0.extend(folders_of(file, below)?);
        Ok(())
    }
}

fn put_in_place(
    cache: &Path,
    folder: &Path,
    found: &Found,
    (beside, overwrite): (&Path, bool),
    placed: &mut Placed,
) -> Result<Unpacked> {
    let mut unpacked = Unpacked::default();
    for file in &found.files {
        let to = cache.join(file);
        if fs::symlink_metadata(&to).is_ok() {
            unpacked.there += 1;
            continue;
        }
        let failed = || Error::io(to.display().to_string(), "cannot put in place");
        placed.folders(cache, file).and_then(|()| fs::rename(folder.join(file), &to)).map_err(failed())?;
        placed.0.push(to);
        unpacked.files += 1;
    }
    for (link, to) in &found.links {
        let at = cache.join(link);
        if fs::symlink_metadata(&at).is_err() {
            let failed = Error::io(at.display().to_string(), "cannot link");
            placed.folders(cache, link).and_then(|()| symlink(to, &at)).map_err(failed)?;
            placed.0.push(at);
        }
    }
    // Last, since it may take the place of another one.
    if let Some(name) = &found.recording {
        let recording = &beside.join(name);
        if !overwrite && fs::symlink_metadata(recording).is_ok() {
            return Err(Error::output_exists(format!("{}: exists already; -f overwrites it", recording.display())));
        }
        let (from, failed) = (folder.join(name), Error::io(recording.display().to_string(), "cannot put in place"));
        // It may be on another disk.
        fs::rename(&from, recording).or_else(|_| copied(&from, recording)).map_err(failed)?;
        unpacked.recording = Some(recording.clone());
    }
    Ok(unpacked)
}

/// Puts a copy of a file in place: there is never a part of it.
fn copied(from: &Path, to: &Path) -> io::Result<()> {
    let folder = to.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let mut copy = temporary().tempfile_in(folder)?;
    let mut original = File::open(from)?;
    io::copy(&mut original, &mut copy)?;
    copy.as_file().set_permissions(original.metadata()?.permissions())?;
    copy.persist(to).map(drop).map_err(|e| e.error)
}

/// The most bytes of what stands between the contents of two entries. Long names are read as a whole.
const ABOUT: u64 = 1 << 20;

/// The size of a header, and of the zeros that stand at the end.
const BLOCK: u64 = 512;

/// The longest path that Linux knows.
const LONGEST: usize = 4096;

/// An archive of which no more is read than so many bytes.
struct Counted<'a, R> {
    archive: R,
    left: &'a Cell<u64>,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left.get() == 0 {
            return Err(io::Error::other(format!("what tells of an entry takes more than {ABOUT} bytes")));
        }
        let len = usize::try_from(self.left.get()).map_or(buffer.len(), |left| left.min(buffer.len()));
        let read = self.archive.read(&mut buffer[..len])?;
        self.left.set(self.left.get() - read as u64);
        Ok(read)
    }
}

/// What is in an archive.
#[derive(Debug, Default)]
struct Found {
    /// The name of the recording.
    recording: Option<String>,
    /// Files of objects.
    files: BTreeSet<PathBuf>,
    /// With where they lead.
    links: BTreeMap<PathBuf, PathBuf>,
}

/// Puts all files into a folder of ours, and says which, and which links there are to be.
fn extract_into(archive: impl Read, name: &str, folder: &Path, is_private: bool) -> Result<Found> {
    let mut found = Found::default();
    let cannot_read = |e: io::Error| Error::input(name, None, format!("cannot be read as an archive: {e}"));
    let left = Cell::new(u64::MAX);
    let mut archive = Archive::new(Counted { archive, left: &left });
    let mut entries = archive.entries().map_err(cannot_read)?;
    loop {
        left.set(ABOUT);
        let Some(entry) = entries.next() else { break };
        let mut entry = entry.map_err(cannot_read)?;
        left.set(u64::MAX);
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
            Some(Entry::Recording(name)) if kind.is_file() && found.recording.is_none() => {
                PathBuf::from(&*found.recording.insert(name))
            }
            Some(Entry::File(file)) if kind.is_file() => file,
            Some(Entry::Link(link)) if kind == EntryType::Symlink => {
                let to = entry.link_name().map_err(cannot_read)?.unwrap_or_default().into_owned();
                if to.as_os_str().len() > LONGEST || !leads_to_object(&link, &to) {
                    return foreign("is a link that leads elsewhere than to its object");
                }
                found.links.insert(link, to);
                continue;
            }
            _ => return foreign("does not belong into an archive of a recording and its objects"),
        };
        let to = folder.join(&file);
        let failed = || Error::io(to.display().to_string(), "cannot write");
        let is_recording = found.recording.as_deref().is_some_and(|name| file == Path::new(name));
        let out = folders_of(&file, folder).and_then(|_| new_file(&to, is_private && is_recording));
        let mut out = match out {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return foreign("is there twice"),
            out => out.map_err(failed())?,
        };
        let copied = copy(&mut entry, &mut out, cannot_read, failed())?;
        if copied != entry.size() {
            return foreign("is cut");
        }
        if !is_recording {
            found.files.insert(file);
        } else if file != Path::new(RECORDING) && !begins_as_recording(&to).map_err(failed())? {
            // Other programs read files by their names, such as Makefile.
            return foreign("has a name of its own and is no recording");
        }
    }
    if found.files.is_empty() && found.recording.is_none() {
        return Err(Error::input(name, None, "is no archive of a recording and its objects: it has none of these"));
    }
    if ABOUT - left.get() < BLOCK {
        return Err(Error::input(name, None, "is cut: its end is missing; nothing is unpacked"));
    }
    Ok(found)
}

/// Whether a file begins as a perf.data.
fn begins_as_recording(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(path)?.take(16).read_to_end(&mut start)?;
    Ok(header::endian(&start).is_some())
}

/// Copies, and tells where it is that that fails.
fn copy(
    from: &mut impl Read,
    to: &mut impl Write,
    cannot_read: impl FnOnce(io::Error) -> Error,
    cannot_write: impl FnOnce(io::Error) -> Error,
) -> Result<u64> {
    let mut buffer = vec![0; 1 << 16];
    let mut copied = 0;
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok(copied),
            Ok(read) => read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(cannot_read(e)),
        };
        if let Err(e) = to.write_all(&buffer[..read]) {
            return Err(cannot_write(e));
        }
        copied += read as u64;
    }
}

/// Makes a file, with the permissions that new files get, or for its owner alone.
fn new_file(path: &Path, is_private: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if is_private {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(path)
}

#[cfg(unix)]
fn symlink(to: &Path, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, at)
}

#[cfg(not(unix))]
fn symlink(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tar::{Builder, Header};

    fn entry(tar: &mut Builder<Vec<u8>>, kind: EntryType, name: &str, content: impl Read, size: u64) {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_path(name).unwrap();
        header.set_size(size);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append(&header, content).unwrap();
    }

    fn said(tar: &[u8]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        extract(tar, "x.tar", &folder.path().join("cache"), false).err().map(|error| error.to_string())
    }

    #[test]
    fn names_that_take_megabytes_and_an_archive_without_end_are_refused() {
        let mut tar = Builder::new(Vec::new());
        let size = 2 << 20;
        entry(&mut tar, EntryType::Regular, RECORDING, io::repeat(b'x').take(size), size);
        let whole = tar.into_inner().unwrap();
        assert_eq!(said(&whole), None);
        let cut = &whole[..whole.len() - 2 * BLOCK as usize];
        assert!(said(cut).is_some_and(|said| said.contains("is cut: its end is missing")));
        for kind in [EntryType::GNULongName, EntryType::GNULongLink, EntryType::XHeader] {
            let mut tar = Builder::new(Vec::new());
            entry(&mut tar, kind, "././@LongLink", io::repeat(b'x').take(size), size);
            entry(&mut tar, EntryType::Regular, RECORDING, &b"x"[..], 1);
            let said = said(&tar.into_inner().unwrap());
            assert!(said.as_ref().is_some_and(|said| said.contains("takes more than 1048576 bytes")), "{said:?}");
        }
    }
}
