//! Conversion of a recording to another format.

use super::Recording;
use super::steps::Steps;
use crate::conversion::{Conversion, Converted, output_rules, uses_unselected_samples};
use crate::formats::framework::table::{by_file_name, with_compression};
use crate::formats::omitted::omitted_file_format;
use crate::formats::{FORMATS, Format, OutputFormat};
use crate::profile::labels::Label;
use crate::profile::options::{FunctionNames, ProfileOptions};
use crate::profile::stack_cuts::StackCuts;
use crate::profile::weight::SampleWeight;
use crate::rewrite::Anonymize;
use crate::rewrite::anonymize::key::Key;
use crate::rewrite::framework::pass::Pass;
use crate::rewrite::framework::pass_options::{PassContext, PassOptions};
use crate::rewrite::itrace::TraceEvents;
use perf_data::container::access::FileMode;
use perf_data::container::output::OutputRules;
use perf_data::container::output::path::parent;
use perf_data::container::write::envelope::Envelopes;
use perf_data::error::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Builder of a conversion, created by [`Recording::convert`]. The output is the one that the program writes.
#[must_use = "nothing is written until `write` is called"]
pub struct Convert<'a> {
    recording: &'a Recording,
    profile: ProfileOptions,
    format: Option<Box<dyn OutputFormat>>,
    steps: Steps,
    images: Option<PathBuf>,
    overwrite: bool,
    mode: Option<FileMode>,
}

impl<'a> Convert<'a> {
    pub(super) fn new(recording: &'a Recording) -> Self {
        Self {
            recording,
            profile: ProfileOptions::default(),
            format: None,
            steps: Steps::default(),
            images: None,
            overwrite: false,
            mode: None,
        }
    }

    /// Sets the format with its options. The default is that of the extension, with its default options.
    ///
    /// ```
    /// use perfconv::formats::flamegraph::Flamegraph;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let output = directory.path().join("out.svg");
    /// let mut graph = Flamegraph::default();
    /// graph.title = Some("mill".to_owned());
    /// graph.icicle = true;
    /// perfconv::Recording::open("roundtrip/fixtures/callgraph.data")?.convert().to(graph).write(output)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn to(mut self, format: impl OutputFormat) -> Self {
        self.format = Some(Box::new(format));
        self
    }

    /// Selects the samples of an event, if the output is a profile. Several calls select several events.
    pub fn event(mut self, name: impl Into<String>) -> Self {
        self.profile.events.push(name.into());
        self
    }

    /// Sets the labels of samples, if the output is a profile. The default is the name of their process.
    pub fn labels(mut self, labels: impl IntoIterator<Item = Label>) -> Self {
        self.profile.labels = Some(labels.into_iter().collect());
        self
    }

    /// Sets what samples are worth, if the output is a profile. The default is their period.
    pub fn weight(mut self, weight: SampleWeight) -> Self {
        self.profile.weight = weight;
        self
    }

    /// Cuts frames from stacks, if the output is a profile.
    pub fn cut_stacks(mut self, cuts: StackCuts) -> Self {
        self.profile.cuts = cuts;
        self
    }

    /// Sets how outputs for people show names of functions.
    pub fn names(mut self, names: FunctionNames) -> Self {
        self.profile.names = names;
        self
    }

    /// Adds a pass of the library after the previous ones; [`crate::rewrite`] lists them. Passes that could disclose something
    /// run before anonymization.
    pub fn apply(mut self, pass: impl PassOptions) -> Self {
        self.steps.push_requested(Arc::new(pass));
        self
    }

    /// Adds a pass before the previous ones.
    pub(super) fn apply_first(mut self, pass: impl PassOptions) -> Self {
        self.steps.insert_first(Arc::new(pass));
        self
    }

    /// Adds a pass of your own after the previous ones.
    pub fn pass(mut self, pass: impl Pass + 'static) -> Self {
        self.steps.push_own(Box::new(pass));
        self
    }

    /// Replaces names, paths and addresses, and drops raw data, registers and stacks. Nothing that the input contains besides
    /// its records is in the output or in files next to it.
    pub fn anonymize(self, key: Key) -> Self {
        self.apply(Anonymize::new(key))
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

    /// Sets the permissions of the output and of files next to it, for example to publish them. By default, only users who may read
    /// the input may read them.
    pub fn mode(mut self, mode: FileMode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// Writes the output in the format of the extension, such as `.pb.gz` or `.csv`, compressed as a whole if the path ends in
    /// `.gz` or `.zst`; returns the ledger of the records, and which objects of a profile have no function names. The output
    /// appears when it is complete. Only users who may read the input may read it.
    ///
    /// # Errors
    /// If the extension is of no format, the recording cannot be read, or the file exists or cannot be written.
    pub fn write(self, path: impl AsRef<Path>) -> Result<Converted> {
        let path = path.as_ref();
        let name = path.to_string_lossy();
        let by_extension = by_file_name(FORMATS, &name);
        let (format, list) = match (&self.format, by_extension) {
            (None, Some(by_extension)) => by_extension,
            (None, None) => {
                let unknown = || format!("{name}: unknown format: no format has this extension");
                return Err(Error::invalid(omitted_file_format(&name).unwrap_or_else(unknown)));
            }
            (Some(chosen), by_extension) => with_compression(chosen.format(), by_extension, &name),
        };
        self.write_as(format, &Envelopes { list, level: None }, path)
    }

    pub(super) fn write_as(self, format: &'static Format, envelopes: &Envelopes, path: &Path) -> Result<Converted> {
        let Self { recording, profile, format: chosen, steps, images, overwrite, mode } = self;
        let Some(format) = chosen.or_else(|| format.with_defaults()) else {
            let (path, name) = (path.display(), format.name);
            return Err(Error::invalid(format!("{path}: {name} can be read but not written; choose another format")));
        };
        let rules = output_rules(&*format, profile.split.is_some(), overwrite);
        let output = recording.output(path, OutputRules { mode, ..rules })?;
        recording.check_symbols()?;
        let mut symbols = recording.symbol_sources();
        if !format.shows_lines() {
            symbols.objects = symbols.objects.map(|objects| (*objects).clone().without_lines().into());
        }
        let objects = symbols.objects.clone().unwrap_or_default();
        let context = PassContext {
            read: recording.read.clone(),
            output_dir: Some(parent(path).to_owned()),
            overwrite,
            access: output.access(),
            images: objects.pending_images(),
            objects,
            marks_unselected: uses_unselected_samples(&profile.weight, &*format),
        };
        let traces = (!steps.decide_decoding()).then(TraceEvents::default);
        let passes = steps.build(&context)?;
        let conversion = Conversion {
            format: &*format,
            envelopes,
            passes,
            traces,
            profile,
            read: &recording.read,
            symbols,
            images: images.as_deref(),
            overwrite,
            base: None,
        };
        conversion.run(&recording.opened, &output)
    }
}
