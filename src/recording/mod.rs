//! The entry point of the library: [`Recording`].

#[cfg(feature = "rewrite")]
mod anonymize;
#[cfg(feature = "formats")]
mod convert;
#[cfg(all(test, feature = "cli"))]
mod example_tests;
mod features;
#[cfg(feature = "json")]
mod json;
#[cfg(feature = "formats")]
mod profile;
mod pull;
mod records;
mod rewrite;
mod sample_sender;
mod samples;
#[cfg(feature = "symbols")]
mod symbolizer;
#[cfg(feature = "parquet")]
mod table;
#[cfg(test)]
mod tests;

#[cfg(feature = "formats")]
pub use convert::Convert;
pub use features::{Features, RecordedEvent};
#[cfg(feature = "formats")]
pub use profile::ProfileBuilder;
pub use records::{Record, Records};
pub use rewrite::Rewrite;
pub use samples::{FunctionLine, Mapping, Sample, Samples, StackFrame};
#[cfg(feature = "symbols")]
pub use symbolizer::{FoundFunctions, Symbolizer};

pub use crate::container::limits::Limits;
pub use crate::container::read::{Container, ReadOptions};
pub use crate::container::walk::{Damage, DamageKind};
#[cfg(feature = "formats")]
pub use crate::profile::labels::Label;
#[cfg(feature = "symbols")]
pub use crate::profile::symbolize::SymbolOptions;
pub use crate::progress::{Progress, TaskState, Work};
#[cfg(feature = "rewrite")]
pub use crate::rewrite::anonymize::key::Key;
pub use crate::rewrite::filter::time::{Interval, Share, Times};
pub use crate::stream::ledger::{Aggregated, Entry, Ledger, Reason};
#[cfg(feature = "symbols")]
pub use crate::symbol::custom::{SymbolObject, SymbolSource};
#[cfg(feature = "symbols")]
pub use crate::symbol::lookup::Frame as FrameSymbol;

use crate::container::output::{Output, OutputRules};
use crate::container::read::input::Input;
#[cfg(feature = "formats")]
use crate::conversion::convert_with;
#[cfg(feature = "formats")]
use crate::conversion::input::{OpenedInput, RecognizedInput};
use crate::error::Result;
#[cfg(feature = "formats")]
use crate::formats::converter::{ConvertOptions, Converter};
#[cfg(feature = "formats")]
use crate::formats::import::ImportOptions;
use crate::profile::symbolize::SymbolSources;
#[cfg(feature = "formats")]
use crate::rewrite::passes::Passes;
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
    #[cfg(feature = "formats")]
    opened: Arc<OpenedInput>,
    damage: Vec<Damage>,
    /// The file or directory that was opened, which no output replaces.
    path: Option<PathBuf>,
    #[cfg(feature = "symbols")]
    symbols: Option<Arc<SymbolOptions>>,
}

impl Recording {
    /// Opens a file or directory: a recording, optionally compressed as a whole, or any format that can be imported.
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
        #[cfg(feature = "formats")]
        let opened = RecognizedInput::new(input, &read)?.import(&ImportOptions::from(&read))?;
        #[cfg(feature = "formats")]
        let input = opened.input();
        let (input, damage) = match input {
            Input::Path(path) if path.is_file() || path.is_dir() => (Input::Path(path), None),
            stream => stream.repeatable(&read)?,
        };
        #[cfg(feature = "formats")]
        let opened = opened.copied_to(input.clone(), damage);
        Ok(Self {
            #[cfg(feature = "formats")]
            damage: opened.damage().to_vec(),
            #[cfg(not(feature = "formats"))]
            damage: Vec::from_iter(damage),
            #[cfg(feature = "formats")]
            opened: Arc::new(opened),
            input,
            read,
            path,
            #[cfg(feature = "symbols")]
            symbols: None,
        })
    }

    /// Looks up functions, inlined functions and lines of stacks, with these options. By default, only imported profiles have
    /// functions.
    #[cfg(feature = "symbols")]
    #[must_use]
    pub fn with_symbols(mut self, options: SymbolOptions) -> Self {
        self.symbols = Some(Arc::new(options));
        self
    }

    fn symbol_sources(&self) -> SymbolSources {
        SymbolSources {
            #[cfg(feature = "formats")]
            imported: self.opened.imported().cloned(),
            #[cfg(not(feature = "formats"))]
            imported: None,
            #[cfg(feature = "symbols")]
            objects: self.symbols.clone(),
        }
    }

    /// Checks that an output may be written.
    fn output(&self, path: &Path, rules: OutputRules) -> Result<Output> {
        Output::check(path, self.path.as_deref().as_slice(), rules)
    }

    /// Options for writing the recording in another format.
    #[cfg(feature = "formats")]
    fn convert_options(&self) -> ConvertOptions {
        ConvertOptions {
            retained: self.opened.retained_fields(),
            symbols: self.symbol_sources(),
            spool_dir: self.read.spool_dir.clone(),
            ..ConvertOptions::default()
        }
    }

    /// Writes the recording to a converter; returns the ledger of the records.
    #[cfg(feature = "formats")]
    fn convert_with(&self, converter: &mut dyn Converter) -> Result<Ledger> {
        let mut ledger = convert_with(self.input.clone(), &self.read, &mut Passes::default(), converter)?;
        self.damage.iter().for_each(|damage| ledger.damage(damage.clone()));
        Ok(ledger)
    }

    /// The records, in file order.
    ///
    /// # Errors
    /// If no record can be read.
    pub fn records(&self) -> Result<Records> {
        Records::new(self.input.clone(), self.read.clone())
    }

    /// The samples in time order, with their stacks.
    ///
    /// # Errors
    /// If no record can be read.
    pub fn samples(&self) -> Result<Samples> {
        Samples::new(self.input.clone(), self.read.clone(), self.symbol_sources())
    }

    /// The metadata of the recording: machine, command and events.
    ///
    /// # Errors
    /// If the header cannot be read.
    pub fn features(&self) -> Result<Features> {
        Features::new(self.input.clone(), self.read.clone())
    }

    /// Converts the recording to another format.
    #[cfg(feature = "formats")]
    pub fn convert(&self) -> Convert<'_> {
        Convert::new(self)
    }

    /// Rewrites the recording: filtered, compressed, in another container or byte order.
    pub fn rewrite(&self) -> Rewrite<'_> {
        Rewrite::new(self)
    }

    /// Builds a synthetic recording record by record.
    #[cfg(feature = "synth")]
    pub fn builder() -> crate::synth::RecordingBuilder {
        crate::synth::RecordingBuilder::new()
    }

    /// Problems found when the input was opened.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }
}
