//! What programs call first: [`Recording`].

#[cfg(test)]
mod example_tests;
mod features;
mod output;
mod profile;
mod pull;
mod records;
mod rewrite;
mod samples;
#[cfg(test)]
mod tests;

pub use features::{Features, RecordedEvent};
pub use profile::ProfileBuilder;
pub use records::{Record, Records};
pub use rewrite::Rewrite;
pub use samples::{Mapping, Sample, Samples, StackFrame};

use crate::abi::header;
use crate::container::read::ReadOptions;
use crate::container::read::input::Input;
use crate::container::walk::Damage;
use crate::error::Result;
use crate::formats::Reads;
use crate::formats::import::{ImportOptions, ImportedRecording, import};
use crate::formats::recognize::{START, readable_format};
use crate::profile::symbols::SymbolSource;
use crate::synth;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// A recording, of any container, or a profile or another format that is converted to one.
///
/// It can be read any number of times: what arrives on a stream is kept in a temporary file.
#[derive(Clone, Debug)]
pub struct Recording {
    input: Input,
    read: ReadOptions,
    /// Keeps the recording that another format was converted to.
    imported: Option<Arc<ImportedRecording>>,
    damage: Vec<Damage>,
}

impl Recording {
    /// Opens a file or a directory: a recording, compressed as a whole or not, or any format that can be imported.
    ///
    /// # Errors
    /// Where it cannot be opened, or its format is unknown.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_input(Input::Path(path.as_ref().to_owned()), ReadOptions::default())
    }

    /// Reads a stream, such as standard input. `name` is what messages call it.
    ///
    /// # Errors
    /// As [`open`](Self::open), and where no temporary file can be written.
    pub fn from_reader(name: &str, stream: impl Read + Send + 'static) -> Result<Self> {
        Self::from_input(Input::stream(name, stream), ReadOptions::default())
    }

    /// Takes the bytes of a file. `name` is what messages call it.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_bytes(name: &str, bytes: impl Into<Vec<u8>>) -> Result<Self> {
        let input = Input::Bytes { name: name.to_owned(), bytes: bytes.into().into() };
        Self::from_input(input, ReadOptions::default())
    }

    /// Opens an input with limits and a directory for temporary files.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_input(input: Input, read: ReadOptions) -> Result<Self> {
        let is_recording = |start: &[u8]| header::endian(start).is_some();
        let (input, start) = input.peek(START, is_recording, &read)?;
        let format = readable_format(&start, &input.name())?;
        if let Some(Reads::Import(how)) = format.map(|format| format.reads) {
            let remade = import(how, input, &ImportOptions::from(&read))?;
            let (input, damage) = (remade.input(), remade.damage.clone());
            return Ok(Self { input, read, imported: Some(Arc::new(remade)), damage });
        }
        let (input, damage) = match input {
            Input::Path(path) if path.is_file() || path.is_dir() => (Input::Path(path), None),
            stream => stream.repeatable(&read)?,
        };
        Ok(Self { input, read, imported: None, damage: Vec::from_iter(damage) })
    }

    /// The records, in the order of the file.
    ///
    /// # Errors
    /// Where no record can be read.
    pub fn records(&self) -> Result<Records> {
        Records::new(self.input.clone(), self.read.clone())
    }

    /// The samples in time order, with their stacks.
    ///
    /// # Errors
    /// Where no record can be read.
    pub fn samples(&self) -> Result<Samples> {
        let profile = self.imported.as_ref().and_then(|remade| remade.imported.clone());
        let symbols = profile.map(|profile| profile as Arc<dyn SymbolSource>);
        Samples::new(self.input.clone(), self.read.clone(), symbols)
    }

    /// What the recording says about itself: the machine, the command, the events.
    ///
    /// # Errors
    /// Where the header cannot be read.
    pub fn features(&self) -> Result<Features> {
        Features::new(self.input.clone(), self.read.clone())
    }

    /// Writes the recording anew: filtered, compressed, in another container or byte order.
    pub fn rewrite(&self) -> Rewrite<'_> {
        Rewrite::new(self)
    }

    /// Makes a profile of the stacks.
    pub fn profile(&self) -> ProfileBuilder<'_> {
        ProfileBuilder::new(self)
    }

    /// A recording to be put together record by record.
    pub fn builder() -> synth::RecordingBuilder {
        synth::RecordingBuilder::new()
    }

    /// What of the input could not be read when it was opened.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }
}
