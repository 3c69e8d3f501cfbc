//! Archives, parts and merges of recordings.

use super::Recording;
use crate::bundle::pack::PackOptions;
use crate::conversion::{
    archive_envelopes, name_in_archive, new_recording_rules, split_rules, write_archive, write_merged, write_parts,
};
use crate::rewrite::build_ids::find::FindOptions;
use crate::rewrite::build_ids::objects::Scope;
use crate::rewrite::framework::output::RecordingOptions;
use crate::rewrite::merge::options::MergeOptions;
use crate::rewrite::split::criterion::By;
use perf_data::container::output::{Output, OutputRules};
use perf_data::container::read::ReadOptions;
use perf_data::container::write::envelope::{Envelopes, strip};
use perf_data::error::Result;
use perf_data::stream::ledger::Ledger;
use std::path::Path;

/// Builder of an archive of a recording with its object files, created by [`Recording::archive`].
#[must_use = "nothing is written until `write` is called"]
pub struct Archive<'a> {
    recording: &'a Recording,
    scope: Scope,
    overwrite: bool,
}

impl Archive<'_> {
    /// Adds the files of all mapped objects, not only of those with samples.
    pub fn all_objects(mut self) -> Self {
        self.scope = Scope::All;
        self
    }

    /// Allows overwriting an existing file.
    pub fn overwrite(mut self) -> Self {
        self.overwrite = true;
        self
    }

    /// Writes the archive, compressed as its extension says: `.tar`, `.tar.gz` or `.tar.zst`. Returns the ledger of the recording;
    /// it names the objects that were not found. Only users who may read the recording and its files may read the archive.
    ///
    /// # Errors
    /// If the extension is of no archive, the recording cannot be read, or the file exists or cannot be written.
    pub fn write(self, path: impl AsRef<Path>) -> Result<Ledger> {
        let (Self { recording, scope, overwrite }, path) = (self, path.as_ref());
        let envelopes = archive_envelopes(&path.to_string_lossy())?;
        let output = recording.output(path, OutputRules { overwrite, ..OutputRules::default() })?;
        let name = if recording.opened.is_imported() {
            crate::bundle::entry::RECORDING.to_owned()
        } else {
            name_in_archive(Path::new(&recording.input.name()))
        };
        recording.check_symbols()?;
        let symbols = recording.symbols.clone().unwrap_or_default();
        let options = PackOptions { scope, find: FindOptions::default(), symbols, name };
        let packed = write_archive(recording.input.clone(), &recording.read, &options, &envelopes, &output)?;
        let mut ledger = packed.ledger;
        recording.damage.iter().for_each(|damage| ledger.damage(damage.clone()));
        Ok(ledger)
    }
}

/// Builder of the parts of a recording, created by [`Recording::split`].
#[must_use = "nothing is written until `write` is called"]
pub struct Split<'a> {
    recording: &'a Recording,
    by: By,
    options: RecordingOptions,
    overwrite: bool,
}

impl Split<'_> {
    /// Sets how the parts are written; by default as uncompressed files.
    pub fn options(mut self, options: RecordingOptions) -> Self {
        self.options = options;
        self
    }

    /// Allows overwriting an existing directory of parts, and more than 1000 parts.
    pub fn overwrite(mut self) -> Self {
        self.overwrite = true;
        self
    }

    /// Writes the parts to a directory; returns their number and the ledger.
    ///
    /// # Errors
    /// If the recording cannot be read, samples lack the field to split by, there are too many parts, or the directory exists or
    /// cannot be written.
    pub fn write(self, directory: impl AsRef<Path>) -> Result<(usize, Ledger)> {
        let Self { recording, by, options, overwrite } = self;
        let output = recording.output(directory.as_ref(), split_rules(overwrite))?;
        let (count, mut ledger) =
            write_parts(recording.input.clone(), &recording.read, by, overwrite, &options, &output)?;
        recording.damage.iter().for_each(|damage| ledger.damage(damage.clone()));
        Ok((count, ledger))
    }
}

/// Builder of a merged recording, created by [`Recording::merge`].
#[must_use = "nothing is written until `write` is called"]
pub struct MergedRecordings<'a> {
    recordings: &'a [Recording],
    merge: MergeOptions,
    options: RecordingOptions,
    overwrite: bool,
}

impl MergedRecordings<'_> {
    /// Sets how the recordings are merged.
    pub fn merging(mut self, merge: MergeOptions) -> Self {
        self.merge = merge;
        self
    }

    /// Sets how the recording is written; by default as an uncompressed file.
    pub fn options(mut self, options: RecordingOptions) -> Self {
        self.options = options;
        self
    }

    /// Allows overwriting an existing file.
    pub fn overwrite(mut self) -> Self {
        self.overwrite = true;
        self
    }

    /// Writes the recording; returns the ledger of all recordings. A path that ends in `.gz` or `.zst` is compressed as a whole.
    ///
    /// # Errors
    /// If a recording cannot be read, the recordings cannot be merged, or the file exists or cannot be written.
    pub fn write(self, path: impl AsRef<Path>) -> Result<Ledger> {
        let (Self { recordings, merge, options, overwrite }, path) = (self, path.as_ref());
        let paths: Vec<_> = recordings.iter().filter_map(|recording| recording.path.as_deref()).collect();
        let output = Output::check(path, &paths, new_recording_rules(overwrite))?;
        let inputs = recordings.iter().map(|recording| recording.input.clone()).collect();
        let read = recordings.first().map_or_else(ReadOptions::default, |recording| recording.read.clone());
        let envelopes = Envelopes { list: strip(&path.to_string_lossy()).1, level: None };
        let mut ledger = write_merged(inputs, &read, merge, &options, &envelopes, &output)?;
        let damages = recordings.iter().flat_map(|recording| &recording.damage);
        damages.for_each(|damage| ledger.damage(damage.clone()));
        Ok(ledger)
    }
}

impl Recording {
    /// Packs the recording with the object files that its symbolization needs; they are searched as
    /// [for symbols](Self::with_symbols).
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let output = directory.path().join("perf.data.tar.zst");
    /// let recording = perfconv::Recording::open("roundtrip/fixtures/callgraph.data")?;
    /// recording.archive().write(&output)?;
    /// // An archive is a recording with its files.
    /// assert!(perfconv::Recording::open(&output)?.samples()?.next()?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn archive(&self) -> Archive<'_> {
        Archive { recording: self, scope: Scope::Hit, overwrite: false }
    }

    /// Splits the recording by time, size, process, thread, CPU or event.
    pub fn split(&self, by: By) -> Split<'_> {
        Split { recording: self, by, options: RecordingOptions::default(), overwrite: false }
    }

    /// Merges recordings into one, in time order.
    pub fn merge(recordings: &[Self]) -> MergedRecordings<'_> {
        MergedRecordings {
            recordings,
            merge: MergeOptions::default(),
            options: RecordingOptions::default(),
            overwrite: false,
        }
    }
}
