//! Creates archives.

use super::entry::{directory, link, recording_name};
use super::files::files;
use crate::container::read::input::Input;
use crate::container::read::{Container, ReadOptions};
use crate::container::spool::Spool;
use crate::error::{Error, Result};
use crate::rewrite::build_ids::find::FindOptions;
use crate::rewrite::build_ids::objects::{ObjectScan, Scope};
use crate::rewrite::build_ids::resolve::BuildIdLookups;
use crate::rewrite::build_ids::table::BuildIdTablePass;
use crate::rewrite::passes::Passes;
use crate::stream::ledger::Ledger;
use crate::stream::order::Order;
use crate::stream::source::Source;
use crate::stream::write::file::ToFile;
use crate::stream::write::form::Form;
use crate::stream::write::verbatim::Verbatim;
use bytes::Bytes;
use std::collections::BTreeSet;
use std::io::{BufWriter, Write};
use std::path::Path;
use tar::{Builder, EntryType, Header};

/// The contents of a created archive.
#[derive(Debug, Default)]
pub struct Packed {
    /// Ledger of the recording, and notes about missing objects.
    pub ledger: Ledger,
    /// Number of objects with files.
    pub objects: usize,
    /// Number of their files.
    pub files: usize,
}

/// Writes an archive of a recording, with the objects that contain its samples or all mapped objects.
///
/// The recording is stored as `name`, if that is a valid name, with the build IDs of the objects; a directory becomes a file.
///
/// # Errors
/// Fails if the recording cannot be read, or the archive cannot be written.
pub fn pack(
    input: Input,
    options: &ReadOptions,
    scope: Scope,
    find: &FindOptions,
    name: &str,
    out: &mut dyn Write,
) -> Result<Packed> {
    let (input, damage) = input.repeatable(options)?;
    let mut scan = ObjectScan::new(scope);
    Source::open(input.clone(), options.clone())?.run(&mut Order::new(&mut scan, options.clone()))?;
    let resolved = BuildIdLookups::new(&scan, find);

    let (recording, mut ledger) = recording(input, options, scope, find)?;
    damage.into_iter().for_each(|damage| ledger.damage(damage));
    let mut packed = Packed { ledger, ..Packed::default() };
    let mut tar = Builder::new(out);
    append(&mut tar, Path::new(recording_name(name)), &recording)?;
    let mut directories = BTreeSet::new();
    for object in &resolved.list {
        for id in object.ids() {
            let name = String::from_utf8_lossy(&object.name);
            let files = files(&object.name, id, find);
            let Some(directory) = directory(&object.name, id).filter(|_| !files.is_empty()) else {
                packed.ledger.missing(format!("{name} is not in the archive: no file with build ID {id} found"));
                continue;
            };
            // Different names may be the same path, such as /a//b and /a/b.
            if !directories.insert(directory.clone()) {
                continue;
            }
            for file in &files {
                let shown = file.path.display().to_string();
                let bytes = file.read().map_err(Error::io(shown, "cannot read"))?;
                append(&mut tar, &directory.join(file.name), &bytes)?;
            }
            let (from, to) = link(&directory, id);
            let mut header = header(EntryType::Symlink, 0);
            tar.append_link(&mut header, from, to).map_err(Error::Output)?;
            packed.objects += 1;
            packed.files += files.len();
        }
    }
    if resolved.missing() > 0 {
        let count = resolved.missing();
        packed.ledger.missing(format!("{count} objects are not in the archive: their build IDs are unknown"));
    }
    tar.finish().map_err(Error::Output)?;
    Ok(packed)
}

/// Adds build IDs to the recording; the result is a file or a pipe.
fn recording(input: Input, options: &ReadOptions, scope: Scope, find: &FindOptions) -> Result<(Bytes, Ledger)> {
    let failed = || Error::io("temporary file", "cannot write the recording");
    let spool = Spool::new(options.spool_dir.as_deref()).map_err(failed())?;
    let mut out = BufWriter::new(spool);
    let mut passes = Passes::default();
    passes.push(BuildIdTablePass::new(scope, find.clone()));
    let container = Source::open(input.clone(), options.clone())?.meta().container;
    let form = Form::default();
    let (meta, mut ledger) = match container {
        Container::Directory => passes.run(input, options, &mut ToFile::new(&mut out, form))?,
        Container::File | Container::Pipe => passes.run(input, options, &mut Verbatim::new(vec![&mut out]))?,
    };
    form.account(&meta, &mut ledger);
    let spool = out.into_inner().map_err(|e| failed()(e.into_error()))?;
    Ok((spool.into_bytes().map_err(failed())?, ledger))
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
