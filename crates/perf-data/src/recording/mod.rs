//! A recording to read from the front: samples, records, features. See [`Recording`].

mod features;
mod ordered_records;
pub mod pull;
mod records;
mod samples;

pub use features::{Features, RecordedEvent};
pub use records::{Record, Records};
pub use samples::Sample;

use crate::container::read::ReadOptions;
use crate::container::read::input::Input;
use crate::error::Result;
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use std::io::Read;
use std::path::Path;

/// A recording in any container, optionally compressed as a whole.
///
/// It can be read any number of times: a stream is spooled to a temporary file.
#[derive(Clone, Debug)]
pub struct Recording {
    input: Input,
    read: ReadOptions,
}

impl Recording {
    /// Opens a file or directory.
    ///
    /// # Errors
    /// If it is a stream that cannot be read. That a file is no recording is known when it is read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, ReadOptions::default())
    }

    /// Opens a file or directory with limits and a directory for temporary files.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, read: ReadOptions) -> Result<Self> {
        let path = path.as_ref();
        let input = Input::Path(path.to_owned());
        // A pipe can be read only once.
        let input = if path.is_file() || path.is_dir() { input } else { input.repeatable(&read)?.0 };
        Ok(Self { input, read })
    }

    /// Reads a stream, such as standard input. `name` is used in messages.
    ///
    /// # Errors
    /// If it cannot be read, or no temporary file can be written.
    pub fn from_reader(name: &str, stream: impl Read + Send + 'static) -> Result<Self> {
        let read = ReadOptions::default();
        let (input, _) = Input::stream(name, stream).repeatable(&read)?;
        Ok(Self { input, read })
    }

    /// Reads the bytes of a file. `name` is used in messages.
    pub fn from_bytes(name: &str, bytes: impl Into<Vec<u8>>) -> Self {
        let input = Input::Bytes { name: name.to_owned(), bytes: bytes.into().into() };
        Self { input, read: ReadOptions::default() }
    }

    /// Calls a function for each sample in time order, with the processes and mappings at its time. Returns the ledger of the
    /// records.
    ///
    /// # Errors
    /// If the recording cannot be read, and errors of the function.
    pub fn for_each_sample(&self, use_sample: impl FnMut(&Sample<'_>) -> Result<()>) -> Result<Ledger> {
        samples::for_each(self.input.clone(), self.read.clone(), use_sample)
    }

    /// Calls a function for each record of any type in time order, for programs that follow processes and mappings themselves. Returns
    /// the ledger of the records. Nothing is copied or allocated per record; what is decoded, and how, is up to the function:
    ///
    /// ```
    /// use perf_data::abi::record::{Body, Record, RecordType};
    /// use perf_data::abi::sample::view::SampleView;
    ///
    /// let recording = perf_data::Recording::open("tests/recordings/callgraph.data")?;
    /// recording.for_each_record(|meta, raw| {
    ///     let misc = raw.header().misc; // the CPU mode, and flags such as `COMM_EXEC`
    ///     if raw.header().kind == RecordType::SAMPLE {
    ///         // The index is that of `Features::events`.
    ///         let Some((index, event)) = meta.events.find(raw) else { return Ok(()) };
    ///         // Borrows call chain, stack dump and payload from the record.
    ///         if let Ok(sample) = SampleView::read(raw.body(), &event.layout, raw.endian()) {
    ///             println!("event {index}, {:?} in {}", sample.ip, misc.cpu_mode());
    ///         }
    ///     } else if let Some(record) = Record::read(raw.bytes(), &meta.context(raw)) {
    ///         let time = meta.events.time(raw); // that of `record.id`, or of a FORK or EXIT without it
    ///         match record.body {
    ///             Body::Comm(comm) => println!("{time:?}: {} is {:?}", comm.tid, comm.comm.text()),
    ///             Body::Mmap2(map) => println!("{time:?}: {} at {:#x}", map.pid, map.addr),
    ///             _ => {}
    ///         }
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), perf_data::Error>(())
    /// ```
    ///
    /// Records without a time come where they are in the file, and so do all records if only samples have times. Compressed records take the
    /// place of their frames.
    ///
    /// # Errors
    /// If the recording cannot be read, and errors of the function.
    pub fn for_each_record(&self, use_record: impl FnMut(&Meta, &Raw<'_>) -> Result<()>) -> Result<Ledger> {
        ordered_records::for_each(self.input.clone(), self.read.clone(), use_record)
    }

    /// The records in file order.
    ///
    /// # Errors
    /// If the recording cannot be read.
    pub fn records(&self) -> Result<Records> {
        Records::open(self.input.clone(), self.read.clone())
    }

    /// The feature sections and events. In a pipe they are records, which may come at its end.
    ///
    /// # Errors
    /// If the recording cannot be read.
    pub fn features(&self) -> Result<Features> {
        Features::open(self.input.clone(), self.read.clone())
    }
}
