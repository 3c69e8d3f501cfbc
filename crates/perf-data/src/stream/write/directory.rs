//! Writes a stream of records as a directory, as `perf record --threads` does.

use super::form::{CompressedFrames, Form, events};
use super::records::Records;
use crate::abi::record::RecordType;
use crate::container::read::Container;
use crate::container::read::directory::is_part;
use crate::container::write::file::FileWriter;
use crate::error::{Error, Result};
use crate::stream::Sink;
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes records of any container to a directory: those without a time, and those of perf, to `data`, all others to `data.0`.
/// Rounds are omitted, since a directory is sorted as a whole.
pub struct ToDirectory {
    form: Form,
    path: PathBuf,
    main: Option<(FileWriter<BufWriter<File>>, Records)>,
    timed: Option<(BufWriter<File>, Records)>,
}

impl ToDirectory {
    /// Takes an existing, empty directory. Compressed frames cannot be kept: their records are written uncompressed, or
    /// compressed again.
    pub fn new(path: &Path, form: Form) -> Self {
        let frames = if form.frames == CompressedFrames::Kept { CompressedFrames::Plain } else { form.frames };
        Self { form: Form { frames, ..form }, path: path.to_owned(), main: None, timed: None }
    }

    /// Accounts for the written records as [`Form::account`] does. Rounds are consumed: a directory has none.
    pub fn account(&self, meta: &Meta, ledger: &mut Ledger) {
        let rounds = ledger.counts(RecordType::FINISHED_ROUND).unaccounted();
        if rounds > 0 {
            ledger.consumed(RecordType::FINISHED_ROUND, rounds);
        }
        self.form.account(meta, ledger);
    }

    fn create(&self, name: &str) -> Result<BufWriter<File>> {
        let path = self.path.join(name);
        let file = File::create_new(&path).map_err(Error::io(path.display().to_string(), "cannot create"))?;
        Ok(BufWriter::with_capacity(1 << 17, file))
    }
}

impl Sink for ToDirectory {
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        let (data, endian) = (self.create("data")?, self.form.endian(meta));
        let main = FileWriter::begin(data, endian, &events(meta), meta.event_types.list())?;
        self.main = Some((main, Records::begin(self.form, meta)?));
        self.timed = Some((self.create("data.0")?, Records::begin(self.form, meta)?));
        Ok(())
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let is_in_header = meta.container == Container::Pipe && raw.header().kind.is_header();
        if is_in_header || raw.header().kind == RecordType::FINISHED_ROUND {
            return Ok(());
        }
        match (meta.events.time(raw), &mut self.timed, &mut self.main) {
            (Some(_), Some((timed, records)), _) => records.write(meta, raw, timed),
            (None, _, Some((main, records))) => records.write(meta, raw, main),
            _ => Ok(()),
        }
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        if let Some((mut main, mut records)) = self.main.take() {
            records.flush(&mut main)?;
            let features = records.features(meta, Container::Directory)?;
            main.finish(&events(meta), meta.event_types.list(), &features)?;
        }
        if let Some((mut timed, mut records)) = self.timed.take() {
            records.flush(&mut timed)?;
            timed.flush().map_err(Error::Output)?;
        }
        Ok(())
    }
}

/// Copies the other files of a directory, such as `kcore_dir`. Returns the names that are not copied, because they are not
/// files, directories or links.
///
/// # Errors
/// I/O errors.
pub fn copy_others(from: &Path, to: &Path) -> Result<Vec<String>> {
    let mut skipped = Vec::new();
    let mut directories = vec![PathBuf::new()];
    while let Some(directory) = directories.pop() {
        let source = from.join(&directory);
        let shown = source.display().to_string();
        for entry in source.read_dir().map_err(Error::io(&shown, "cannot list"))? {
            let entry = entry.map_err(Error::io(&shown, "cannot list"))?;
            let name = directory.join(entry.file_name());
            if name.to_str().is_some_and(is_part) {
                continue;
            }
            let (path, target) = (entry.path(), to.join(&name));
            let kind = entry.file_type().map_err(Error::io(path.display().to_string(), "cannot read"))?;
            if kind.is_dir() {
                fs::create_dir(&target).map_err(Error::io(target.display().to_string(), "cannot create"))?;
                directories.push(name);
            } else if kind.is_file() {
                fs::copy(&path, &target).map_err(Error::io(path.display().to_string(), "cannot copy"))?;
            } else if !kind.is_symlink() || !copy_link(&path, &target)? {
                skipped.push(name.display().to_string());
            }
        }
    }
    skipped.sort();
    Ok(skipped)
}

/// Copies a symbolic link, if the system has them. The target may belong to someone else, so it is not followed.
fn copy_link(path: &Path, target: &Path) -> Result<bool> {
    #[cfg(unix)]
    {
        let copied = fs::read_link(path).and_then(|to| std::os::unix::fs::symlink(to, target));
        copied.map_err(Error::io(path.display().to_string(), "cannot copy")).map(|()| true)
    }
    #[cfg(not(unix))]
    {
        let _ = (path, target);
        Ok(false)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    #[test]
    fn other_files_are_copied_and_links_are_not_followed() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| from.path().join(name);
        fs::create_dir_all(at("kcore_dir/empty")).unwrap();
        for name in ["data", "data.0", "data.old", "data.01", "kcore_dir/data", "kcore_dir/data.0"] {
            fs::write(at(name), name).unwrap();
        }
        symlink("/no/such", at("dangling")).unwrap();
        symlink(from.path(), at("kcore_dir/folder")).unwrap();
        let _socket = UnixListener::bind(at("socket")).unwrap();
        assert_eq!(copy_others(from.path(), to.path()).unwrap(), ["socket"]);
        let to = |name: &str| to.path().join(name);
        for name in ["data.old", "data.01", "kcore_dir/data", "kcore_dir/data.0"] {
            assert_eq!(fs::read_to_string(to(name)).unwrap(), name);
        }
        assert!(["data", "data.0", "socket"].iter().all(|name| !to(name).exists()));
        assert_eq!(fs::read_link(to("dangling")).unwrap(), Path::new("/no/such"));
        assert_eq!(fs::read_link(to("kcore_dir/folder")).unwrap(), from.path());
        assert!(to("kcore_dir/empty").is_dir());
    }
}
