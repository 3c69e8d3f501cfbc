//! Creates archives of a recording and the files that its symbolization needs.

use super::entry::{link, recording_name};
use super::files::{FileSearch, PackedFile, PackedObject};
use super::scan::ArchiveScan;
use crate::profile::symbolize::SymbolOptions;
use crate::profile::unwind::unwinding::Unwinding;
use crate::rewrite::build_ids::find::FindOptions;
use crate::rewrite::build_ids::objects::{ObjectScan, Scope};
use crate::rewrite::build_ids::resolve::BuildIdLookups;
use crate::rewrite::build_ids::table::BuildIdTablePass;
use crate::rewrite::framework::passes::Passes;
use bytes::Bytes;
use perf_data::abi::record::CpuMode;
use perf_data::container::access::Access;
use perf_data::container::read::input::Input;
use perf_data::container::read::{Container, ReadOptions};
use perf_data::container::spool::Spool;
use perf_data::error::{Error, Result};
use perf_data::stream::ledger::Ledger;
use perf_data::stream::order::Order;
use perf_data::stream::source::Source;
use perf_data::stream::stage::Before;
use perf_data::stream::write::file::ToFile;
use perf_data::stream::write::form::Form;
use perf_data::stream::write::verbatim::Verbatim;
use std::collections::BTreeSet;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tar::{Builder, EntryType, Header};

/// The contents of a created archive.
#[derive(Debug, Default)]
pub struct Packed {
    /// Ledger of the recording, and notes about missing objects.
    pub ledger: Ledger,
    /// Number of objects with files.
    pub objects: usize,
    /// The files of objects and processes.
    pub files: Vec<PackedFile>,
    /// Who may read these files.
    pub access: Access,
    zeros: ZeroBudget,
}

/// What to pack.
#[derive(Clone, Debug)]
pub struct PackOptions {
    /// The objects that contain samples, or all mapped objects.
    pub scope: Scope,
    /// Where build IDs are searched.
    pub find: FindOptions,
    /// Where files are searched.
    pub symbols: Arc<SymbolOptions>,
    /// Name of the recording in the archive, if it is a valid name.
    pub name: String,
}

/// Writes an archive of a recording with the files that its symbolization needs.
///
/// The recording is stored with the build IDs of the objects; a directory becomes a file.
///
/// # Errors
/// Fails if the recording cannot be read, or the archive cannot be written.
pub fn pack(input: Input, read: &ReadOptions, options: &PackOptions, out: &mut dyn Write) -> Result<Packed> {
    // The recording is read more than once: to find its objects, then to store it.
    let (input, damage) = input.repeatable(read)?;
    let scan = Before::new(Unwinding::with_objects(&options.symbols), ArchiveScan::new(options.scope));
    // In time order, since the address of a sample belongs to the object that was mapped there at its time.
    let mut ordered = Order::new(scan, read.clone());
    let (meta, _) = Source::open(input.clone(), read.clone())?.run(&mut ordered)?;
    let scan = ordered.into_inner().sink.objects;
    let search = options.symbols.for_recording(&meta);
    // Build IDs are searched below the same root as the objects.
    let symfs = options.find.symfs.clone().or_else(|| search.symfs.clone());
    let find = FindOptions { symfs, ..options.find.clone() };
    let resolved = BuildIdLookups::new(&scan, &find);
    let search = FileSearch::new(search);
    let (mut objects, mut processes, mut missing) = (Vec::new(), Vec::new(), 0);
    for object in scan.objects.iter().filter(|object| resolved.unknown.contains(&object.name)) {
        // Of several files without build ID, nothing shows which one the frames are in.
        let file = Some(&object.files).filter(|files| files.len() == 1).and_then(|files| files.keys().next());
        let packed_objects = file.map_or_else(Vec::new, |file| search.without_build_id(&object.name, file.inode));
        missing += usize::from(packed_objects.is_empty());
        objects.extend(packed_objects);
    }
    for &pid in &scan.jit_processes {
        let files = scan.session().process_files();
        let dump = files.jit_dumps.get(&pid).and_then(|name| str::from_utf8(name).ok()).map(PathBuf::from);
        processes.extend(search.process(pid, dump, files.namespaces.get(&pid).copied()));
    }

    let (recording, mut ledger) = recording(input, read, scan, (options.scope, find))?;
    damage.into_iter().for_each(|damage| ledger.damage(damage));
    let mut packed = Packed { ledger, ..Packed::default() };
    let mut tar = Builder::new(out);
    append(&mut tar, Path::new(recording_name(&options.name)), &recording)?;
    let mut directories = BTreeSet::new();
    for object in &resolved.list {
        for id in object.ids() {
            let packed_objects = search.object(&object.name, id, object.mode == CpuMode::KERNEL);
            if packed_objects.is_empty() {
                let name = String::from_utf8_lossy(&object.name);
                packed.ledger.missing(format!("{name} is not in the archive: no file with build ID {id} found"));
            }
            objects.extend(packed_objects);
        }
    }
    for PackedObject { id, directory, files } in objects {
        // Different names may be the same path, such as /a//b and /a/b, and objects may refer to the same dwz file.
        if !directories.insert(directory.clone()) {
            continue;
        }
        if packed.append(&mut tar, &search, files)? == 0 {
            // No file could be read: a link would have no target.
            continue;
        }
        if let Some(id) = id {
            let (from, to) = link(&directory, id);
            let mut header = header(EntryType::Symlink, 0);
            tar.append_link(&mut header, from, to).map_err(Error::Output)?;
        }
        packed.objects += 1;
    }
    packed.append(&mut tar, &search, processes)?;
    if missing > 0 {
        packed.ledger.missing(format!("{missing} objects are not in the archive: their build IDs are unknown"));
    }
    tar.finish().map_err(Error::Output)?;
    Ok(packed)
}

/// Adds build IDs to the recording; the result is a file or a pipe.
fn recording(
    input: Input,
    read: &ReadOptions,
    scan: ObjectScan,
    (scope, find): (Scope, FindOptions),
) -> Result<(Bytes, Ledger)> {
    let failed = || Error::io("temporary file", "cannot write the recording");
    let spool = Spool::new(read.spool_dir.as_deref()).map_err(failed())?;
    let mut out = BufWriter::new(spool);
    let mut passes = Passes::default();
    passes.push(BuildIdTablePass::from_scan(scope, scan, find));
    let container = Source::open(input.clone(), read.clone())?.meta().container;
    let form = Form::default();
    let (meta, mut ledger) = match container {
        Container::Directory => passes.run(input, read, &mut ToFile::new(&mut out, form))?,
        Container::File | Container::Pipe => passes.run(input, read, &mut Verbatim::new(vec![&mut out]))?,
    };
    form.account(&meta, &mut ledger);
    let spool = out.into_inner().map_err(|e| failed()(e.into_error()))?;
    Ok((spool.into_bytes().map_err(failed())?, ledger))
}

impl Packed {
    /// Appends files, and returns the number of those that could be read.
    fn append(
        &mut self,
        tar: &mut Builder<&mut dyn Write>,
        search: &FileSearch,
        files: Vec<PackedFile>,
    ) -> Result<usize> {
        let before = self.files.len();
        for file in files {
            match search.read(&file) {
                Ok(bytes) if !self.zeros.spend(&bytes) => self.ledger.missing(format!(
                    "{} is not in the archive: it is nearly all zeros, and others have filled the archive with zeros",
                    file.path.display()
                )),
                Ok(bytes) => {
                    self.access = self.access.and(Access::from_path(&file.path));
                    append(tar, &file.entry, &bytes)?;
                    self.files.push(file);
                }
                Err(e) => self.ledger.missing(format!("{} is not in the archive: {e}", file.path.display())),
            }
        }
        Ok(self.files.len() - before)
    }
}

/// How many bytes of zeros files may still add to the archive. A recorded path can be a sparse file of another user, which takes no
/// room on disk and any room in the archive.
#[derive(Clone, Copy, Debug)]
struct ZeroBudget(u64);

impl Default for ZeroBudget {
    fn default() -> Self {
        // More than zero, since object files have some pages of zeros. Beyond the size of the other bytes, an
        // archive takes at most this much more room when it is unpacked.
        Self(1 << 30)
    }
}

impl ZeroBudget {
    /// Takes the zeros of a file from the budget; `false` if they exceed it. Other bytes add to it.
    fn spend(&mut self, bytes: &[u8]) -> bool {
        // Only whole pages of zeros can be holes of a file.
        const PAGE: usize = 4096;
        let zeros = bytes.chunks(PAGE).filter(|page| **page == [0; PAGE][..page.len()]).map(<[u8]>::len).sum::<usize>();
        let others = (bytes.len() - zeros) as u64;
        let left = self.0.saturating_add(others).checked_sub(zeros as u64);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

fn append(tar: &mut Builder<&mut dyn Write>, path: &Path, bytes: &[u8]) -> Result<()> {
    tar.append_data(&mut header(EntryType::Regular, bytes.len() as u64), path, bytes).map_err(Error::Output)
}

/// A header without times or owners, so that the archive is reproducible.
fn header(kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(if kind == EntryType::Symlink { 0o777 } else { 0o644 });
    header.set_mtime(0);
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_have_a_limit_that_other_bytes_raise() {
        let mut budget = ZeroBudget(10_000);
        assert!(budget.spend(&[0; 8000]));
        assert!(!budget.spend(&[0; 8000]));
        assert!(budget.spend(&[1; 8000]) && budget.spend(&[0; 8000]));
        // Zeros within a page are not counted.
        let mut mixed = vec![0; 9000];
        mixed[5] = 1;
        assert!(budget.spend(&mixed));
    }
}
