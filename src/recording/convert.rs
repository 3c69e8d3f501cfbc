//! Conversion of a recording to another format.

use super::Recording;
use crate::conversion::{Conversion, output_rules};
use crate::formats::options::{OptionValue, OptionValues};
use crate::formats::profile_options::{LABELS, NO_LABELS};
use crate::formats::table::by_file_name;
use crate::formats::{FORMATS, Format};
use crate::profile::labels::Label;
use crate::rewrite::output::RecordingOptions;
use crate::rewrite::pass::Pass;
use crate::rewrite::passes::Passes;
use perf_data::container::write::envelope::Envelopes;
use perf_data::error::{Error, Result};
use perf_data::stream::ledger::Ledger;
use std::path::{Path, PathBuf};

/// Builder of a conversion, created by [`Recording::convert`]. The output is the one that the program writes.
#[must_use = "nothing is written until `write` is called"]
pub struct Convert<'a> {
    recording: &'a Recording,
    events: Vec<String>,
    labels: Option<Vec<Label>>,
    passes: Vec<Box<dyn Pass>>,
    images: Option<PathBuf>,
    overwrite: bool,
}

impl<'a> Convert<'a> {
    pub(super) fn new(recording: &'a Recording) -> Self {
        Self { recording, events: Vec::new(), labels: None, passes: Vec::new(), images: None, overwrite: false }
    }

    /// Selects the samples of an event, if the output is a profile. Several calls select several events.
    pub fn event(mut self, name: impl Into<String>) -> Self {
        self.events.push(name.into());
        self
    }

    /// Sets the labels of samples, if the output is a profile. The default is the name of their process.
    pub fn labels(mut self, labels: impl IntoIterator<Item = Label>) -> Self {
        self.labels = Some(labels.into_iter().collect());
        self
    }

    /// Adds a pass after the previous ones.
    pub fn pass(self, pass: impl Pass + 'static) -> Self {
        self.then(pass)
    }

    pub(super) fn then(mut self, pass: impl Pass + 'static) -> Self {
        self.passes.push(Box::new(pass));
        self
    }

    /// Sets the directory for the function names of an imported profile, as ELF files. By default, a recording has them next to
    /// it, in a directory whose name ends in `.images`; other outputs contain them or need none.
    pub fn images(mut self, directory: impl Into<PathBuf>) -> Self {
        self.images = Some(directory.into());
        self
    }

    /// Allows overwriting existing files.
    pub fn overwrite(mut self) -> Self {
        self.overwrite = true;
        self
    }

    /// Writes the output in the format of the extension, such as `.pb.gz` or `.csv`, compressed as a whole if the path ends in
    /// `.gz` or `.zst`; returns the ledger of the records. The output appears when it is complete. Only users who may read the
    /// input may read it.
    ///
    /// # Errors
    /// If the extension is of no format, the recording cannot be read, or the file exists or cannot be written.
    pub fn write(self, path: impl AsRef<Path>) -> Result<Ledger> {
        let path = path.as_ref();
        let Some((format, list)) = by_file_name(FORMATS, &path.to_string_lossy()) else {
            let path = path.display();
            return Err(Error::invalid(format!("{path}: unknown format: no format has this extension")));
        };
        self.write_as(format, &Envelopes { list, level: None }, path)
    }

    pub(super) fn write_as(self, format: &'static Format, envelopes: &Envelopes, path: &Path) -> Result<Ledger> {
        let Self { recording, events, labels, passes: list, images, overwrite } = self;
        let labels = labels.map(|labels| match &labels[..] {
            [] => vec![NO_LABELS.to_owned()],
            labels => labels.iter().map(|label| label.key().to_owned()).collect(),
        });
        let given = labels
            .into_iter()
            .fold(OptionValues::default(), |values, labels| values.with(&LABELS, OptionValue::List(labels)));
        let values = (format.implied)(&given).and(&given);
        let output = recording.output(path, output_rules(format, &values, overwrite))?;
        let mut passes = Passes::default();
        list.into_iter().for_each(|pass| passes.push_boxed(pass));
        let mut symbols = recording.symbol_sources();
        if !(format.lines)(&values) {
            symbols.objects = symbols.objects.map(|objects| (*objects).clone().without_lines().into());
        }
        let conversion = Conversion {
            format,
            values: &values,
            envelopes,
            recording: RecordingOptions::default(),
            passes,
            events,
            read: &recording.read,
            symbols,
            images: images.as_deref(),
            overwrite,
            base: None,
        };
        Ok(conversion.run(&recording.opened, &output)?.ledger)
    }
}
