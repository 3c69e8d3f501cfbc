//! Extracts archives into a build ID cache.
//!
//! Archives are untrusted: only files of the cache are written, and nothing at all if the archive contains anything unexpected.

use super::entry::{ArchiveEntry, RECORDING, points_to_object};
use bzip2::read::MultiBzDecoder;
use perf_data::abi::header;
use perf_data::container::access::Access;
use perf_data::container::output::exists;
use perf_data::container::temp_directory::{TempDirectory, create_parent_directories, temporary};
use perf_data::error::{Error, Result};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use tar::{Archive, EntryType, Header};

/// The result of an extraction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// Files that are new in the cache.
    pub files: usize,
    /// Files that the cache already had.
    pub existing: usize,
    /// Path of the recording, if the archive contained one.
    pub recording: Option<PathBuf>,
}

/// The extracted contents of an archive, not yet in place.
#[derive(Debug)]
pub struct Extracted {
    cache: PathBuf,
    directory: TempDirectory,
    contents: ArchiveEntries,
    access: Access,
}

/// Extracts an archive into a temporary directory in the cache, or near it if it does not exist. The extracted files get the
/// access rights of the archive, `access`.
///
/// # Errors
/// Fails if the archive cannot be read or contains unexpected entries, or a file cannot be written; then nothing remains.
pub fn extract(archive: impl Read, name: &str, cache: &Path, members: Members, access: Access) -> Result<Extracted> {
    let mut directories = cache.ancestors().map(|path| if path == Path::new("") { Path::new(".") } else { path });
    let near = directories.find(|path| path.exists()).unwrap_or(cache);
    let directory = TempDirectory::new(Some(near))
        .map_err(Error::io(near.display().to_string(), "cannot create a temporary directory"))?;
    let contents = extract_into(archive, name, directory.path(), members)?;
    Ok(Extracted { cache: cache.to_owned(), directory, contents, access })
}

/// Members to extract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Members {
    /// All of them.
    All,
    /// All but the files without build ID, since those of other recordings may have the same names.
    Shareable,
    /// The recording.
    Recording,
}

/// Extracts members of an archive into a temporary directory.
///
/// # Errors
/// As [`extract`].
pub fn extract_members(
    archive: impl Read,
    name: &str,
    directory: TempDirectory,
    members: Members,
) -> Result<Extracted> {
    let contents = extract_into(archive, name, directory.path(), members)?;
    Ok(Extracted { cache: directory.path().to_owned(), directory, contents, access: Access::default() })
}

impl Extracted {
    /// The temporary directory, a build ID cache without links.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Path of the recording in the temporary directory.
    pub fn recording(&self) -> Option<PathBuf> {
        self.contents.recording.as_ref().map(|name| self.directory.path().join(name))
    }

    /// Path of the first object's file with this name.
    pub fn file_named(&self, name: &str) -> Option<PathBuf> {
        let mut files = self.contents.files.iter();
        files.find(|file| file.ends_with(name)).map(|file| self.directory.path().join(file))
    }

    /// Number of files that were not extracted because they have no build ID.
    pub fn omitted(&self) -> usize {
        self.contents.omitted
    }

    /// Moves everything into place: objects that the cache lacks, and the recording, into the directory `beside`.
    ///
    /// # Errors
    /// Fails if a file cannot be moved, or the recording exists and must not be overwritten; then the moved files are removed.
    pub fn put_in_place(self, beside: &Path, overwrite: bool) -> Result<Unpacked> {
        let Self { cache, directory, contents, access } = self;
        let mut placed = CreatedPaths { access, list: Vec::new() };
        let is_new = !cache.exists();
        let create = || {
            access.restrict_entries(directory.path())?;
            access.create_directories(&cache)
        };
        create().map_err(Error::io(cache.display().to_string(), "cannot create"))?;
        let unpacked = put_in_place(&cache, directory.path(), &contents, (beside, overwrite), &mut placed);
        drop(directory);
        if unpacked.is_err() {
            placed.remove();
            if is_new {
                let _ = fs::remove_dir(&cache);
            }
        }
        unpacked
    }
}

/// The created files and directories, in this order.
struct CreatedPaths {
    access: Access,
    list: Vec<PathBuf>,
}

impl CreatedPaths {
    fn remove(self) {
        for path in self.list.iter().rev() {
            // Directories with files of other programs are kept.
            let _ = fs::remove_file(path).or_else(|_| fs::remove_dir(path));
        }
    }

    /// Creates the directories of a file, as [`create_parent_directories`] does, accessible as the archive is.
    fn create_directories(&mut self, below: &Path, file: &Path) -> io::Result<()> {
        let created = create_parent_directories(file, below)?;
        self.list.extend_from_slice(&created);
        created.iter().try_for_each(|directory| self.access.restrict_path(directory))
    }
}

fn put_in_place(
    cache: &Path,
    directory: &Path,
    contents: &ArchiveEntries,
    (beside, overwrite): (&Path, bool),
    placed: &mut CreatedPaths,
) -> Result<Unpacked> {
    let mut unpacked = Unpacked::default();
    for file in &contents.files {
        let to = cache.join(file);
        if fs::symlink_metadata(&to).is_ok() {
            unpacked.existing += 1;
            continue;
        }
        let failed = || Error::io(to.display().to_string(), "cannot move into place");
        placed.create_directories(cache, file).and_then(|()| fs::rename(directory.join(file), &to)).map_err(failed())?;
        placed.list.push(to);
        unpacked.files += 1;
    }
    for (link, to) in &contents.links {
        let at = cache.join(link);
        if fs::symlink_metadata(&at).is_err() {
            let failed = Error::io(at.display().to_string(), "cannot link");
            placed.create_directories(cache, link).and_then(|()| symlink(to, &at)).map_err(failed)?;
            placed.list.push(at);
        }
    }
    // Last, because replacing an existing recording cannot be undone.
    if let Some(name) = &contents.recording {
        let recording = &beside.join(name);
        if !overwrite && fs::symlink_metadata(recording).is_ok() {
            return Err(exists(&recording.display()));
        }
        let (from, failed) =
            (directory.join(name), Error::io(recording.display().to_string(), "cannot move into place"));
        // The destination may be on another file system.
        fs::rename(&from, recording).or_else(|_| copy_file(&from, recording)).map_err(failed)?;
        unpacked.recording = Some(recording.clone());
    }
    Ok(unpacked)
}

/// Copies a file; the target is complete or does not exist.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let directory = to.parent().filter(|directory| *directory != Path::new("")).unwrap_or(Path::new("."));
    let mut copy = temporary().tempfile_in(directory)?;
    let mut original = File::open(from)?;
    io::copy(&mut original, &mut copy)?;
    copy.as_file().set_permissions(original.metadata()?.permissions())?;
    copy.persist(to).map(drop).map_err(|e| e.error)
}

/// Maximum bytes between the contents of two entries. Long names are buffered.
const MAX_ENTRY_HEADER: u64 = 1 << 20;

/// Size of a header, and of the zeros at the end.
const BLOCK: u64 = 512;

/// Where a header stores its checksum.
const CHECKSUM: Range<usize> = 148..156;

/// Maximum length of a path on Linux.
const PATH_MAX: usize = 4096;

/// A reader that limits the bytes read of an archive.
struct Limited<'a, R> {
    archive: R,
    left: &'a Cell<u64>,
}

impl<R: Read> Read for Limited<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left.get() == 0 {
            return Err(io::Error::other(format!("an entry's header is larger than {MAX_ENTRY_HEADER} bytes")));
        }
        let len = usize::try_from(self.left.get()).map_or(buffer.len(), |left| left.min(buffer.len()));
        let read = self.archive.read(&mut buffer[..len])?;
        self.left.set(self.left.get() - read as u64);
        Ok(read)
    }
}

#[derive(Debug, Default)]
struct ArchiveEntries {
    /// Name of the recording.
    recording: Option<String>,
    /// Files of objects.
    files: BTreeSet<PathBuf>,
    /// Targets of the links.
    links: BTreeMap<PathBuf, PathBuf>,
    /// Number of files without build ID that are not extracted.
    omitted: usize,
    /// Whether it contains an archive of the objects, of which there is one at most.
    is_nested: bool,
}

/// First bytes of what bzip2 compresses.
const BZIP2: &[u8] = b"BZh";

/// Extracts all files into a directory; returns the entries found.
fn extract_into(archive: impl Read, name: &str, directory: &Path, members: Members) -> Result<ArchiveEntries> {
    let mut contents = ArchiveEntries::default();
    extract_entries(Box::new(archive), name, directory, members, &mut contents)?;
    if contents.files.is_empty() && contents.recording.is_none() {
        return Err(Error::input(name, None, "not an archive of a recording and its objects: contains neither"));
    }
    Ok(contents)
}

/// The bytes of an archive, decompressed if they are compressed with bzip2.
fn decompressed<'a>(mut archive: Box<dyn Read + 'a>) -> io::Result<Box<dyn Read + 'a>> {
    let mut start = Vec::new();
    archive.by_ref().take(BZIP2.len() as u64).read_to_end(&mut start)?;
    let is_compressed = start == BZIP2;
    let whole = io::Cursor::new(start).chain(archive);
    Ok(if is_compressed { Box::new(MultiBzDecoder::new(whole)) } else { Box::new(whole) })
}

/// Extracts the files of an archive, or of one in it, into a directory, and adds the entries found.
fn extract_entries<'a>(
    archive: Box<dyn Read + 'a>,
    name: &str,
    directory: &Path,
    members: Members,
    contents: &mut ArchiveEntries,
) -> Result<()> {
    let cannot_read = |e: io::Error| Error::input(name, None, format!("cannot read archive: {e}"));
    let left = Cell::new(u64::MAX);
    let mut start = Vec::new();
    let mut archive = decompressed(archive).map_err(cannot_read)?;
    archive.by_ref().take(BLOCK).read_to_end(&mut start).map_err(cannot_read)?;
    if !is_tar_header(&start) {
        return Err(Error::input(
            name,
            None,
            "not a tar archive; name an archive written by perfconv archive or perf archive",
        ));
    }
    let mut archive = Archive::new(Limited { archive: start.as_slice().chain(archive), left: &left });
    let mut entries = archive.entries().map_err(cannot_read)?;
    loop {
        // `next` buffers long names and extended headers, whose sizes the archive chooses.
        left.set(MAX_ENTRY_HEADER);
        let Some(entry) = entries.next() else { break };
        let mut entry = entry.map_err(cannot_read)?;
        left.set(u64::MAX);
        let path = entry.path().map_err(cannot_read)?.into_owned();
        let unexpected = |why: &str| {
            let problem = format!("{} {why}; nothing was unpacked", path.display());
            Err(Error::input(name, None, problem))
        };
        let kind = entry.header().entry_type();
        // perf archive also stores directories.
        if kind == EntryType::Directory {
            continue;
        }
        let file = match ArchiveEntry::parse(&path) {
            Some(ArchiveEntry::Recording(name)) if kind.is_file() && contents.recording.is_none() => {
                PathBuf::from(&*contents.recording.insert(name))
            }
            Some(ArchiveEntry::Objects) if kind.is_file() && members != Members::Recording && !contents.is_nested => {
                contents.is_nested = true;
                extract_entries(Box::new(&mut entry), name, directory, members, contents)?;
                // What follows the end of the archive in it.
                io::copy(&mut entry, &mut io::sink()).map_err(cannot_read)?;
                continue;
            }
            Some(ArchiveEntry::Probes) if kind.is_file() => {
                io::copy(&mut entry, &mut io::sink()).map_err(cannot_read)?;
                continue;
            }
            Some(ArchiveEntry::File(_) | ArchiveEntry::Unidentified(_) | ArchiveEntry::Objects)
                if kind.is_file() && members == Members::Recording =>
            {
                // Reading to the next header is limited.
                io::copy(&mut entry, &mut io::sink()).map_err(cannot_read)?;
                continue;
            }
            Some(ArchiveEntry::Unidentified(_)) if kind.is_file() && members == Members::Shareable => {
                contents.omitted += 1;
                io::copy(&mut entry, &mut io::sink()).map_err(cannot_read)?;
                continue;
            }
            Some(ArchiveEntry::File(file) | ArchiveEntry::Unidentified(file)) if kind.is_file() => file,
            Some(ArchiveEntry::Link(link)) if kind == EntryType::Symlink => {
                let to = entry.link_name().map_err(cannot_read)?.unwrap_or_default().into_owned();
                if to.as_os_str().len() > PATH_MAX || !points_to_object(&link, &to) {
                    return unexpected("is a link that does not point to its object");
                }
                contents.links.insert(link, to);
                continue;
            }
            _ => return unexpected("does not belong in an archive of a recording and its objects"),
        };
        let to = directory.join(&file);
        let failed = || Error::io(to.display().to_string(), "cannot write");
        let is_recording = contents.recording.as_deref().is_some_and(|name| file == Path::new(name));
        let out = create_parent_directories(&file, directory).and_then(|_| File::create_new(&to));
        let mut out = match out {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return unexpected("occurs twice"),
            out => out.map_err(failed())?,
        };
        let copied = copy(&mut entry, &mut out, cannot_read, failed())?;
        if copied != entry.size() {
            return unexpected("is truncated");
        }
        if !is_recording {
            contents.files.insert(file);
        } else if file != Path::new(RECORDING) && !begins_as_recording(&to).map_err(failed())? {
            // Other programs interpret files by name, such as Makefile.
            return unexpected("is not a recording");
        }
    }
    // A complete archive ends with blocks of zeros, of which the last `next` read at least one.
    if MAX_ENTRY_HEADER - left.get() < BLOCK {
        return Err(Error::input(name, None, "archive is truncated; nothing was unpacked"));
    }
    Ok(())
}

/// Whether these are the bytes of a tar header, by its checksum, or the zeros at the end of an archive.
fn is_tar_header(block: &[u8]) -> bool {
    let Ok(bytes) = <&[u8; BLOCK as usize]>::try_from(block) else { return false };
    let header = Header::from_byte_slice(bytes);
    // The checksum counts its own bytes as spaces.
    let (before, rest) = block.split_at(CHECKSUM.start);
    let sum: u32 = before.iter().chain(&rest[CHECKSUM.len()..]).map(|&byte| u32::from(byte)).sum();
    let spaces = CHECKSUM.len() as u32 * u32::from(b' ');
    sum == 0 || header.cksum().is_ok_and(|checksum| checksum == sum + spaces)
}

/// Whether a file starts with the magic of perf.data.
fn begins_as_recording(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(path)?.take(16).read_to_end(&mut start)?;
    Ok(header::endian(&start).is_some())
}

/// Copies data, distinguishing errors of reading and writing.
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

    fn extraction_error(tar: &[u8]) -> Option<String> {
        let directory = tempfile::tempdir().unwrap();
        extract(tar, "x.tar", &directory.path().join("cache"), Members::All, Access::default())
            .err()
            .map(|error| error.to_string())
    }

    #[test]
    fn rejects_huge_entry_headers_and_truncated_archives() {
        let mut tar = Builder::new(Vec::new());
        let size = 2 << 20;
        entry(&mut tar, EntryType::Regular, RECORDING, io::repeat(b'x').take(size), size);
        let complete = tar.into_inner().unwrap();
        assert_eq!(extraction_error(&complete), None);
        let truncated = &complete[..complete.len() - 2 * BLOCK as usize];
        assert!(extraction_error(truncated).is_some_and(|error| error.contains("archive is truncated")));
        for kind in [EntryType::GNULongName, EntryType::GNULongLink, EntryType::XHeader] {
            let mut tar = Builder::new(Vec::new());
            entry(&mut tar, kind, "././@LongLink", io::repeat(b'x').take(size), size);
            entry(&mut tar, EntryType::Regular, RECORDING, &b"x"[..], 1);
            let error = extraction_error(&tar.into_inner().unwrap());
            assert!(error.as_ref().is_some_and(|error| error.contains("larger than 1048576 bytes")), "{error:?}");
        }
    }
}
