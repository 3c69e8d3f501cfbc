//! A stream of records as a folder, as `perf record --threads` writes it.

use super::form::{Form, Frames, events};
use super::records::Records;
use crate::abi::record::RecordType;
use crate::container::read::Container;
use crate::container::write::file::FileWriter;
use crate::error::{Error, Result};
use crate::stream::Sink;
use crate::stream::meta::{Meta, is_header};
use crate::stream::raw::Raw;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes records of any container to a folder: those without a time, and perf's own, to `data`, all others to `data.0`.
/// Rounds do not exist in a folder, which is sorted as a whole.
pub struct ToDirectory {
    form: Form,
    path: PathBuf,
    main: Option<(FileWriter<BufWriter<File>>, Records)>,
    timed: Option<(BufWriter<File>, Records)>,
}

impl ToDirectory {
    /// Takes a folder that is there and empty. Frames cannot be kept: what is in them is written plain, unless it is
    /// compressed anew.
    pub fn new(path: &Path, form: Form) -> Self {
        let frames = if form.frames == Frames::Kept { Frames::Plain } else { form.frames };
        Self { form: Form { frames, ..form }, path: path.to_owned(), main: None, timed: None }
    }

    /// The form in which records are written.
    pub fn form(&self) -> Form {
        self.form
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
        let is_told_elsewhere = meta.container == Container::Pipe && is_header(raw.header.kind);
        if is_told_elsewhere || raw.header.kind == RecordType::FINISHED_ROUND {
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

/// Copies what a folder holds beside the recording, such as `kcore_dir`.
///
/// # Errors
/// What the system says.
pub fn copy_others(from: &Path, to: &Path) -> Result<()> {
    let shown = from.display().to_string();
    for entry in from.read_dir().map_err(Error::io(&shown, "cannot list"))? {
        let path = entry.map_err(Error::io(&shown, "cannot list"))?.path();
        let Some(name) = path.file_name() else { continue };
        let target = to.join(name);
        let is_written = name.to_str().is_some_and(|name| name == "data" || name.starts_with("data."));
        if is_written || target.exists() {
            continue;
        }
        let shown = path.display().to_string();
        if path.is_dir() {
            fs::create_dir(&target).map_err(Error::io(target.display().to_string(), "cannot create"))?;
            copy_others(&path, &target)?;
        } else {
            fs::copy(&path, &target).map_err(Error::io(shown, "cannot copy"))?;
        }
    }
    Ok(())
}
