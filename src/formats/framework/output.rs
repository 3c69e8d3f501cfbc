//! Formats with their options, as outputs.

use super::converter::{ConvertOptions, Converter};
use super::format::{Format, ShowsFunctions};
use crate::profile::Profile;
use crate::profile::accesses::Accesses;
use crate::profile::collect::sample_sink::SampleSink;
use crate::profile::event::ProfileEvent;
use crate::profile::labels::Label;
use crate::profile::options::Measures;
use crate::profile::time_quantum::TimeQuantum;
use crate::rewrite::framework::output::RecordingOptions;
use crate::rewrite::framework::pass_options::RequestedPass;
use perf_data::abi::sample::branch::BranchFlags;
use perf_data::container::output::JoinDirectory;
use perf_data::error::Result;
use perf_data::stream::events::EventIndex;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::source::Source;
use perf_symbols::symbol::demangle::Demangle;
use std::collections::BTreeSet;
use std::fmt;
use std::io::Write;
use std::path::Path;

/// A format with its options: what a conversion writes. Each format has a type of this kind, whose fields are its options.
pub trait OutputFormat: fmt::Debug + Send + Sync + 'static {
    /// The format.
    fn format(&self) -> &'static Format;

    /// How it is written.
    fn writer(&self) -> FormatWriter<'_>;

    /// Whether it shows the functions of frames with these options.
    fn shows_functions(&self) -> bool {
        self.format().functions == ShowsFunctions::Always
    }

    /// Whether it shows the source lines of functions, if it shows functions.
    fn shows_lines(&self) -> bool {
        true
    }

    /// Whether it has samples of hardware traces instead of the traces, where these are decoded by default.
    fn shows_samples(&self) -> bool {
        match self.writer() {
            FormatWriter::Records(_) => false,
            FormatWriter::Converter(_) | FormatWriter::Directory(_) => true,
            FormatWriter::Profile(format) => format.direct().is_none(),
        }
    }

    /// How it shows names of C++ and Rust by default.
    fn demangling(&self) -> Demangle {
        Demangle::Full
    }

    /// The passes to run: those that the options imply, and the requested ones.
    fn passes(&self, requested: Vec<RequestedPass>) -> Vec<RequestedPass> {
        requested
    }
}

/// The data from which a format is written.
#[derive(Clone, Copy)]
pub enum FormatWriter<'a> {
    /// The stream of records, as a recording.
    Records(&'a RecordingOptions),
    /// The stream of records, in another form.
    Converter(&'a dyn RecordFormat),
    /// The stream of records, as several files in a directory.
    Directory(&'a dyn DirectoryFormat),
    /// A profile: stacks and values.
    Profile(&'a dyn ProfileFormat),
}

/// A format that is written from the stream of records.
pub trait RecordFormat {
    /// Creates the output.
    fn begin<'a>(&self, out: &'a mut dyn Write, options: &ConvertOptions) -> Box<dyn Converter + 'a>;
}

/// A format of several files in a directory, written from the stream of records.
pub trait DirectoryFormat {
    /// Creates the output in an existing empty directory.
    ///
    /// # Errors
    /// If a file cannot be created.
    fn begin(&self, directory: &Path, options: &ConvertOptions) -> Result<Box<dyn Converter>>;

    /// Whether a directory contains nothing but such files, so that they may be overwritten.
    fn is_alike(&self) -> fn(&Path) -> bool;

    /// Moves the files of a directory into another, if a directory can have several recordings.
    fn join(&self) -> Option<JoinDirectory> {
        None
    }

    /// Whether recordings are added to a directory that exists.
    fn appends(&self) -> bool {
        false
    }
}

/// A format that is written from a profile.
pub trait ProfileFormat {
    /// Writes a profile.
    ///
    /// # Errors
    /// If the format cannot represent the profile, and errors of `out`.
    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<()>;

    /// Messages on what exceeds a limit that the options set, such as functions that take longer than before. The profile is written
    /// all the same.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    fn exceeded(&self, _: &Profile) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Labels of samples by default, if not those of [all profiles](crate::profile::options::ProfileOptions::DEFAULT_LABELS).
    fn labels(&self) -> Option<&'static [Label]> {
        None
    }

    /// Whether the format has all labels of imported profiles by default. Others would have a stack for each time.
    fn keeps_imported_labels(&self) -> bool {
        self.labels().is_none()
    }

    /// Labels that the format cannot do without, such as those of its time axis.
    fn required_labels(&self) -> Vec<Label> {
        Vec::new()
    }

    /// Whether it needs the [timeline](crate::profile::options::ProfileOptions::timeline).
    fn has_times(&self) -> bool {
        false
    }

    /// Whether it needs [addresses and events as recorded](crate::profile::options::ProfileOptions::as_recorded).
    fn is_as_recorded(&self) -> bool {
        false
    }

    /// The flags that distinguish branches, if it needs [branches](crate::profile::options::ProfileOptions::branches) instead of
    /// samples.
    fn branches(&self) -> Option<BranchFlags> {
        None
    }

    /// The memory accesses that it shows.
    fn accesses(&self) -> Accesses {
        Accesses::default()
    }

    /// By what the label [`Time`](Label::Time) divides samples.
    fn time_quantum(&self) -> TimeQuantum {
        TimeQuantum::default()
    }

    /// What it shows: samples, or what threads did.
    fn measures(&self) -> Measures {
        Measures::Samples
    }

    /// Whether it shows the [code](crate::profile::options::ProfileOptions::reads_code) of functions.
    fn reads_code(&self) -> bool {
        false
    }

    /// Whether it shows several values of a sample, such as latency beside CPU time.
    fn has_columns(&self) -> bool {
        false
    }

    /// Whether it shows samples beside the waits of threads, where these are measured.
    fn keeps_samples(&self) -> bool {
        false
    }

    /// Whether it shows how long spans are, which then are rows of their own.
    fn shows_lengths(&self) -> bool {
        false
    }

    /// Writes samples one by one, if the format supports that.
    fn streamed(&self) -> Option<BeginStreamed> {
        None
    }

    /// Writes a recording without a [`Profile`], if the options require that.
    fn direct(&self) -> Option<Direct> {
        None
    }
}

/// Reads a recording, and returns a function that writes the output.
pub type Direct = fn(Source) -> Result<(WriteOut, Ledger)>;

/// Writes an output whose contents are complete.
pub type WriteOut = Box<dyn FnOnce(&mut dyn Write) -> Result<()>>;

/// Creates an output for samples one by one, given the events and which of them have samples.
pub type BeginStreamed =
    for<'a> fn(&'a mut dyn Write, &[ProfileEvent], &BTreeSet<EventIndex>) -> Box<dyn Streamed + 'a>;

/// An output for samples one by one.
pub trait Streamed: SampleSink {
    /// Writes everything that follows the samples, of a profile without rows.
    ///
    /// # Errors
    /// Errors of the output.
    fn finish(self: Box<Self>, profile: &Profile) -> Result<()>;
}

/// The type of a format's options.
#[derive(Clone, Copy, Debug)]
pub struct OutputType {
    defaults: fn() -> Box<dyn OutputFormat>,
    #[cfg(feature = "cli")]
    augment: fn(clap::Command) -> clap::Command,
    #[cfg(feature = "cli")]
    parse: fn(&clap::ArgMatches) -> std::result::Result<Box<dyn OutputFormat>, clap::Error>,
}

/// What the options of a format, or of a pass, implement: with the feature `cli`, they are arguments of a command line.
#[cfg(feature = "cli")]
pub trait CliArgs: clap::Args {}

#[cfg(feature = "cli")]
impl<T: clap::Args> CliArgs for T {}

/// What the options of a format, or of a pass, implement: with the feature `cli`, they are arguments of a command line.
#[cfg(not(feature = "cli"))]
pub trait CliArgs {}

#[cfg(not(feature = "cli"))]
impl<T> CliArgs for T {}

impl OutputType {
    /// The type `F`.
    pub const fn of<F: OutputFormat + CliArgs + Default>() -> Self {
        Self {
            defaults: || Box::new(F::default()),
            #[cfg(feature = "cli")]
            augment: F::augment_args,
            #[cfg(feature = "cli")]
            parse: |matches| Ok(Box::new(F::from_arg_matches(matches)?)),
        }
    }

    /// The defaults of all options.
    pub fn with_defaults(self) -> Box<dyn OutputFormat> {
        (self.defaults)()
    }

    /// The options as arguments of a command line.
    #[cfg(feature = "cli")]
    pub fn arguments(self) -> Vec<clap::Arg> {
        (self.augment)(clap::Command::new("")).get_arguments().cloned().collect()
    }

    /// The options that a command line gives.
    ///
    /// # Errors
    /// If an argument is invalid.
    #[cfg(feature = "cli")]
    pub fn parse(self, matches: &clap::ArgMatches) -> std::result::Result<Box<dyn OutputFormat>, clap::Error> {
        (self.parse)(matches)
    }
}
