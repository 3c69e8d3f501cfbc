//! Writing the stacks of a recording as a profile.

use super::Recording;
use super::output::PathOutput;
use crate::container::write::envelope::Envelopes;
use crate::convert::passed_profiles;
use crate::error::{Error, Result};
use crate::formats::table::by_file_name;
use crate::formats::{FORMATS, Writes};
use crate::profile::Profile;
use crate::profile::labels::Label;
use crate::profile::options::ProfileOptions;
use crate::rewrite::output::RecordingOutput;
use crate::rewrite::passes::Passes;
use crate::stream::ledger::Ledger;
use std::path::Path;

/// A profile that is to be made of a recording; begun by [`Recording::profile`].
#[must_use = "nothing is read until `write` or `collect` is called"]
pub struct ProfileBuilder<'a> {
    recording: &'a Recording,
    options: ProfileOptions,
    overwrite: bool,
}

impl Recording {
    /// Makes a profile of the stacks.
    pub fn profile(&self) -> ProfileBuilder<'_> {
        ProfileBuilder::new(self)
    }
}

impl<'a> ProfileBuilder<'a> {
    pub(super) fn new(recording: &'a Recording) -> Self {
        let imported = recording.imported.as_ref().and_then(|remade| remade.imported.clone());
        Self { recording, options: ProfileOptions { imported, ..ProfileOptions::default() }, overwrite: false }
    }

    /// Takes only samples of this event, and of those of further calls.
    pub fn event(mut self, name: impl Into<String>) -> Self {
        self.options.events.push(name.into());
        self
    }

    /// Gives samples these labels instead of the name of their process.
    pub fn labels(mut self, labels: impl IntoIterator<Item = Label>) -> Self {
        self.options.labels = Some(labels.into_iter().collect());
        self
    }

    /// Allows to overwrite a file.
    pub fn overwrite(mut self) -> Self {
        self.overwrite = true;
        self
    }

    /// Reads the recording into a profile in memory, and reports what became of the records.
    ///
    /// # Errors
    /// Where the recording cannot be read, or has no event or label that was asked for.
    pub fn collect(&self) -> Result<(Profile, Ledger)> {
        let Recording { input, read, damage, .. } = self.recording;
        let (profiles, mut ledger) = passed_profiles(input.clone(), read, &mut Passes::default(), &self.options)?;
        damage.iter().for_each(|damage| ledger.damage(damage.clone()));
        Ok((profiles.into_iter().next().unwrap_or_default(), ledger))
    }

    /// Writes a profile in the format that the name of the file ends with, such as `.pb.gz`, and reports what became of the
    /// records. The file appears when it is complete.
    ///
    /// # Errors
    /// As [`collect`](Self::collect), and where the name is of no format of profiles, or the file exists or cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<Ledger> {
        let path = path.as_ref();
        let named = by_file_name(FORMATS, &path.to_string_lossy());
        let Some((Writes::Profile(format), list)) = named.map(|(format, list)| (format.writes, list)) else {
            return Err(Error::invalid(format!("{}: no format of profiles has this ending", path.display())));
        };
        let output = PathOutput::new(path, self.overwrite, &self.recording.input)?;
        let (profile, ledger) = self.collect()?;
        let envelopes = Envelopes { list, level: None };
        output.write_stream(|out| envelopes.around(out, |out| (format.write)(&profile, out)))?.put_in_place()?;
        Ok(ledger)
    }
}
