//! The entry point of the library: [`Recording`].

mod archive;
mod branches;
mod convert;
#[cfg(all(test, feature = "testing"))]
mod example_tests;
mod inspect;
mod json;
mod profile;
mod rewrite;
mod sample_details;
mod sample_sender;
mod samples;
mod steps;
#[cfg(feature = "parquet")]
mod table;
#[cfg(test)]
mod tests;

pub use archive::{Archive, MergedRecordings, Split};
pub use convert::Convert;
pub use profile::ProfileBuilder;
pub use rewrite::Rewrite;
pub use samples::{Mapping, Sample, Samples, StackFrame};

pub use crate::profile::labels::Label;
pub use crate::rewrite::anonymize::key::Key;
pub use crate::rewrite::filter::time::{Interval, Share, Times};
pub use perf_data::abi::sample::branch::{BranchEntry, BranchFlags};
pub use perf_data::abi::sample::data_src::DataSrc;
pub use perf_data::container::limits::Limits;
pub use perf_data::container::read::{Container, ReadOptions};
pub use perf_data::container::walk::{Damage, DamageKind};
pub use perf_data::progress::{Progress, TaskState, Work};
pub use perf_data::recording::{Features, Record, RecordedEvent, Records};
pub use perf_data::stream::ledger::{Aggregated, Entry, Ledger, Reason};
pub use perf_data::tracepoint::value::FieldValue as TracepointValue;
pub use perf_symbols::symbol::custom::{SymbolObject, SymbolSource};
pub use perf_symbols::symbol::lookup::FunctionFrame as FrameSymbol;
pub use perf_symbols::symbolizer::{FoundFunctions, FunctionLine, SymbolOptions, Symbolizer};

use crate::bundle::open::OpenedArchive;
use crate::bundle::unpack::Members;
use crate::conversion::input::{OpenedInput, RecognizedInput};
use crate::conversion::{convert_with, open_archive, with_archived_objects};
use crate::formats::framework::converter::{ConvertOptions, Converter};
use crate::formats::import::ImportOptions;
use crate::profile::symbolize::SymbolSources;
use crate::rewrite::framework::passes::Passes;
use perf_data::container::output::{Output, OutputRules};
use perf_data::container::read::input::Input;
use perf_data::error::Result;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A recording in any container, or an input in another format that is converted to one.
///
/// It can be read any number of times: a stream is spooled to a temporary file.
#[derive(Clone, Debug)]
pub struct Recording {
    input: Input,
    read: ReadOptions,
    /// What the input has besides the recording; it keeps the temporary files of an imported recording alive.
    opened: Arc<OpenedInput>,
    damage: Vec<Damage>,
    /// The file or directory that was opened, which no output replaces.
    path: Option<PathBuf>,
    symbols: Option<Arc<SymbolOptions>>,
    /// The archive that it is in; it owns temporary files.
    archive: Option<Arc<OpenedArchive>>,
}

impl Recording {
    /// Opens a file or directory: a recording, optionally compressed as a whole, any format that can be imported, or an archive.
    ///
    /// # Errors
    /// If it cannot be opened, or its format is unknown.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::opened(Input::Path(path.as_ref().to_owned()), ReadOptions::default())
    }

    /// Reads a stream, such as standard input. `name` is used in messages.
    ///
    /// # Errors
    /// As [`open`](Self::open), and if no temporary file can be written.
    pub fn from_reader(name: &str, stream: impl Read + Send + 'static) -> Result<Self> {
        Self::opened(Input::stream(name, stream), ReadOptions::default())
    }

    /// Reads the bytes of a file. `name` is used in messages.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_bytes(name: &str, bytes: impl Into<Vec<u8>>) -> Result<Self> {
        let input = Input::Bytes { name: name.to_owned(), bytes: bytes.into().into() };
        Self::opened(input, ReadOptions::default())
    }

    /// Opens a file or directory with limits and a directory for temporary files.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, read: ReadOptions) -> Result<Self> {
        Self::opened(Input::Path(path.as_ref().to_owned()), read)
    }

    fn opened(input: Input, read: ReadOptions) -> Result<Self> {
        let path = if let Input::Path(path) = &input { Some(path.clone()) } else { None };
        let archive = path.as_deref().map(|path| open_archive(path, Members::All, &read)).transpose()?.flatten();
        let input = match &archive {
            Some(archive) => archive.input(&input.name())?,
            None => input,
        };
        let opened = RecognizedInput::new(input, &read)?.import(&ImportOptions::from(&read))?;
        let input = opened.input();
        let (input, damage) = match input {
            Input::Path(path) if path.is_file() || path.is_dir() => (Input::Path(path), None),
            stream => stream.repeatable(&read)?,
        };
        let opened = opened.copied_to(input.clone(), damage);
        Ok(Self {
            damage: opened.damage().to_vec(),
            opened: Arc::new(opened),
            input,
            read,
            path,
            symbols: None,
            archive: archive.map(Arc::new),
        })
    }

    /// Looks up functions, inlined functions and lines of stacks, with these options. By default, only imported profiles have
    /// functions. The object files of an archive are searched first.
    #[must_use]
    pub fn with_symbols(mut self, options: SymbolOptions) -> Self {
        let options = match (&self.archive, &self.path) {
            (Some(archive), Some(path)) => with_archived_objects(options, archive, path),
            _ => options,
        };
        self.symbols = Some(Arc::new(options));
        self
    }

    /// Checks that the files for symbols exist.
    fn check_symbols(&self) -> Result<()> {
        self.symbols.as_deref().map_or(Ok(()), SymbolOptions::check)
    }

    fn symbol_sources(&self) -> SymbolSources {
        SymbolSources { imported: self.opened.imported().cloned(), objects: self.symbols.clone() }
    }

    /// Checks that an output may be written.
    fn output(&self, path: &Path, rules: OutputRules) -> Result<Output> {
        Output::check(path, self.path.as_deref().as_slice(), rules)
    }

    /// Options for writing the recording in another format.
    fn convert_options(&self) -> ConvertOptions {
        ConvertOptions {
            retained: self.opened.retained_fields(),
            symbols: self.symbol_sources(),
            spool_dir: self.read.spool_dir.clone(),
            ..ConvertOptions::default()
        }
    }

    /// Writes the recording to a converter; returns the ledger of the records.
    fn convert_with(&self, converter: &mut dyn Converter) -> Result<Ledger> {
        self.check_symbols()?;
        let mut ledger = convert_with(self.input.clone(), &self.read, &mut Passes::default(), converter)?;
        self.damage.iter().for_each(|damage| ledger.damage(damage.clone()));
        Ok(ledger)
    }

    /// The records, in file order.
    ///
    /// # Errors
    /// If no record can be read.
    pub fn records(&self) -> Result<Records> {
        Records::open(self.input.clone(), self.read.clone())
    }

    /// The samples in time order, with their stacks.
    ///
    /// # Errors
    /// If no record can be read, or a file for symbols does not exist.
    pub fn samples(&self) -> Result<Samples> {
        self.check_symbols()?;
        Samples::new(self.input.clone(), self.read.clone(), self.symbol_sources())
    }

    /// The metadata of the recording: machine, command and events.
    ///
    /// # Errors
    /// If the header cannot be read.
    pub fn features(&self) -> Result<Features> {
        Features::open(self.input.clone(), self.read.clone())
    }

    /// Converts the recording to another format.
    pub fn convert(&self) -> Convert<'_> {
        Convert::new(self)
    }

    /// Rewrites the recording: filtered, compressed, in another container or byte order.
    pub fn rewrite(&self) -> Rewrite<'_> {
        Rewrite::new(self)
    }

    /// Builds a synthetic recording record by record.
    pub fn builder() -> crate::synth::RecordingBuilder {
        crate::synth::RecordingBuilder::new()
    }

    /// Problems found when the input was opened and, if it is of another format, imported. Damage within the records is found when
    /// these are read: see [`Ledger::messages`], [`Recording::check`].
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }
}
