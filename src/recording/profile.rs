//! Writing of profiles.

use super::Recording;
use crate::conversion::{Converted, decode_trace, passed_profiles};
use crate::formats::FORMATS;
use crate::formats::framework::table::by_file_name;
use crate::profile::Profile;
use crate::profile::labels::Label;
use crate::profile::options::ProfileOptions;
use crate::profile::weight::SampleWeight;
use crate::rewrite::framework::passes::Passes;
use crate::rewrite::itrace::TraceEvents;
use perf_data::container::write::envelope::Envelopes;
use perf_data::error::{Error, Result};
use perf_data::stream::ledger::Ledger;
use std::path::Path;

/// Builder of a profile, created by [`Recording::profile`].
#[must_use = "nothing is read until `write` is called"]
pub struct ProfileBuilder<'a> {
    recording: &'a Recording,
    options: ProfileOptions,
    overwrite: bool,
}

impl Recording {
    /// Builds a profile of the stacks.
    pub fn profile(&self) -> ProfileBuilder<'_> {
        ProfileBuilder::new(self)
    }
}

impl<'a> ProfileBuilder<'a> {
    pub(super) fn new(recording: &'a Recording) -> Self {
        let options = ProfileOptions { symbols: recording.symbol_sources(), ..ProfileOptions::default() };
        Self { recording, options, overwrite: false }
    }

    /// Selects the samples of an event. Several calls select several events.
    pub fn event(mut self, name: impl Into<String>) -> Self {
        self.options.events.push(name.into());
        self
    }

    /// Sets the labels of samples. The default is the name of their process.
    pub fn labels(mut self, labels: impl IntoIterator<Item = Label>) -> Self {
        self.options.labels = Some(labels.into_iter().collect());
        self
    }

    /// Sets what samples are worth. The default is their period.
    pub fn weight(mut self, weight: SampleWeight) -> Self {
        self.options.weight = weight;
        self
    }

    /// Allows overwriting an existing file.
    pub fn overwrite(mut self) -> Self {
        self.overwrite = true;
        self
    }

    /// Builds the profile in memory; returns it with the ledger of the records.
    ///
    /// # Errors
    /// If the recording cannot be read, or has no such event or label.
    pub fn collect(&self) -> Result<(Profile, Ledger)> {
        self.recording.check_symbols()?;
        let Recording { input, read, damage, .. } = self.recording;
        let mut passes = Passes::default();
        let input = decode_trace(input.clone(), read, &mut passes, &TraceEvents::default())?;
        let (profiles, mut ledger) = passed_profiles(input, read, &mut passes, &self.options)?;
        damage.iter().for_each(|damage| ledger.damage(damage.clone()));
        Ok((profiles.into_iter().next().unwrap_or_default(), ledger))
    }

    /// Writes the profile in the format of the file name extension, such as `.pb.gz`; returns the ledger of the records and which
    /// objects have no function names. The file appears when it is complete.
    ///
    /// # Errors
    /// If the recording cannot be read, or has no such event or label; if the extension is not of a profile format; if the file
    /// exists or cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<Converted> {
        let path = path.as_ref();
        let named = by_file_name(FORMATS, &path.to_string_lossy());
        let Some((format, list)) = named.filter(|(format, _)| format.shows_stacks()) else {
            return Err(Error::invalid(format!(
                "{}: unknown profile format: no format has this extension",
                path.display()
            )));
        };
        let events = self.options.events.iter();
        let convert = self.recording.convert().weight(self.options.weight.clone());
        let mut convert = events.fold(convert, |convert, event| convert.event(event));
        if let Some(labels) = &self.options.labels {
            convert = convert.labels(labels.iter().copied());
        }
        if self.overwrite {
            convert = convert.overwrite();
        }
        convert.write_as(format, &Envelopes { list, level: None }, path)
    }
}
