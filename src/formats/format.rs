//! The description of a format: its name, how it is recognized, and how it is read and written.

use super::converter::{BeginConverter, BeginDirectoryConverter};
use super::import::{CopyProfile, Import, ImportDirectory};
use super::options::{FormatOption, OptionValues};
use super::retained_fields::RetainedFields;
use super::{profile_options, recording_options, symbol_options};
use crate::profile::Profile;
use crate::profile::event::ProfileEvent;
use crate::profile::labels::Label;
use crate::profile::sample_sink::SampleSink;
use crate::rewrite::request::PassRequest;
use perf_data::container::output::JoinDirectory;
use perf_data::container::write::envelope::Envelope;
use perf_data::error::Result;
use perf_data::stream::events::EventIndex;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::source::Source;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

/// A format. Each is defined in its own directory and listed in [`FORMATS`](super::FORMATS).
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Name, for `--to`.
    pub name: &'static str,
    /// Description in a few words.
    pub about: &'static str,
    /// File name extensions, each with the compression that it implies.
    pub extensions: &'static [(&'static str, Option<Envelope>)],
    /// Default compression.
    pub envelope: Option<Envelope>,
    /// Whether it is binary, and thus not written to a terminal.
    pub is_binary: bool,
    /// What it is written from.
    pub writer: Writer,
    /// How it is read.
    pub reader: Reader,
    /// Copies a valid input of this format, where a conversion to the same format changes nothing.
    pub copy: Option<CopyProfile>,
    /// Whether an input with these first bytes, at most [`START`](super::recognize::START), has this format.
    pub recognizes: fn(&[u8]) -> bool,
    /// Whether no other format begins like this: then the name of the input is ignored.
    pub is_distinctive: bool,
    /// When it shows the functions of frames; formats written from a profile always do.
    pub functions: ShowsFunctions,
    /// Whether it shows the source lines of functions, if it shows functions.
    pub lines: fn(&OptionValues) -> bool,
    /// Whether an output can store these unknown fields.
    pub keeps: fn(&RetainedFields) -> bool,
    /// The format's own options, in addition to those of [its kind](Writer::options).
    pub options: &'static [FormatOption],
    /// Values of options that other values, or their absence, imply; used for options that are not given.
    pub implied: fn(&OptionValues) -> OptionValues,
    /// The passes to run: those that the option values imply, and the requested ones.
    pub passes: fn(&OptionValues, Vec<PassRequest>) -> Vec<PassRequest>,
}

/// When a format shows the functions of frames.
#[derive(Clone, Copy, Debug)]
pub enum ShowsFunctions {
    /// Never.
    Never,
    /// Always.
    Always,
    /// If the list of this option has this value.
    With {
        /// The option.
        option: &'static FormatOption,
        /// The value.
        value: &'static str,
    },
}

impl Format {
    /// A text format that is never read, written or recognized: the base for definitions.
    pub const fn new(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            extensions: &[],
            envelope: None,
            is_binary: false,
            writer: Writer::Nothing,
            reader: Reader::Nothing,
            copy: None,
            recognizes: |_| false,
            is_distinctive: false,
            functions: ShowsFunctions::Never,
            lines: |_| true,
            keeps: RetainedFields::is_empty,
            options: &[],
            implied: |_| OptionValues::default(),
            passes: |_, requested| requested,
        }
    }

    /// All options of the format.
    pub fn all_options(&self) -> impl Iterator<Item = &'static FormatOption> + use<> {
        let of_symbols: &[_] = if self.can_show_functions() { symbol_options::OPTIONS } else { &[] };
        self.writer.options().iter().chain(of_symbols).chain(self.options)
    }

    /// Whether it can show the functions of frames.
    pub fn can_show_functions(&self) -> bool {
        !matches!(self.functions, ShowsFunctions::Never) || self.is_of_profiles()
    }

    /// Whether it shows the functions of frames with these values of its options.
    pub fn shows_functions(&self, values: &OptionValues) -> bool {
        match self.functions {
            ShowsFunctions::Never => self.is_of_profiles(),
            ShowsFunctions::Always => true,
            ShowsFunctions::With { option, value } => {
                values.list(option).is_some_and(|list| list.iter().any(|word| word == value))
            }
        }
    }

    /// Moves the files of an output into another, if an output can have several recordings.
    pub fn join(&self) -> Option<JoinDirectory> {
        match self.writer {
            Writer::Directory { join, .. } => join,
            _ => None,
        }
    }

    /// Whether it is written from a profile.
    pub fn is_of_profiles(&self) -> bool {
        matches!(self.writer, Writer::Profile(_))
    }

    /// How it is written without a [`Profile`], if these values require that.
    pub fn direct(&self, values: &OptionValues) -> Option<Direct> {
        match self.writer {
            Writer::Profile(writes) => (writes.direct)(values),
            _ => None,
        }
    }
}

/// How a format is read.
#[derive(Clone, Copy, Debug)]
pub enum Reader {
    /// As a recording.
    Recording,
    /// By reconstructing a recording, or converting to one.
    Import(Import),
    /// By converting a directory.
    Directory {
        /// Converts it to a recording.
        import: ImportDirectory,
        /// Whether a directory has this format.
        recognizes: fn(&Path) -> bool,
    },
    /// Not at all.
    Nothing,
}

/// What a format is written from.
#[derive(Clone, Copy, Debug)]
pub enum Writer {
    /// The stream of records, as a recording.
    Records,
    /// The stream of records, in another form.
    Converter(BeginConverter),
    /// The stream of records, as several files in a directory.
    Directory {
        /// Creates them.
        begin: BeginDirectoryConverter,
        /// Whether a directory contains nothing but such files, so that they may be overwritten.
        is_alike: fn(&Path) -> bool,
        /// Moves the files of a directory into another, if a directory can have several recordings.
        join: Option<JoinDirectory>,
    },
    /// A profile: stacks and values.
    Profile(WriteProfile),
    /// It is not written.
    Nothing,
}

impl Writer {
    /// Options common to all formats of this kind.
    pub fn options(&self) -> &'static [FormatOption] {
        match self {
            Self::Records => recording_options::OPTIONS,
            Self::Profile(_) => profile_options::OPTIONS,
            Self::Converter(_) | Self::Directory { .. } | Self::Nothing => &[],
        }
    }
}

/// How a profile is written.
#[derive(Clone, Copy, Debug)]
pub struct WriteProfile {
    /// Writes a profile, given the values of the options.
    pub write: fn(&Profile, &OptionValues, &mut dyn Write) -> Result<()>,
    /// Labels of samples by default, if not those of [all profiles](crate::profile::options::ProfileOptions::DEFAULT_LABELS).
    pub labels: Option<&'static [Label]>,
    /// Labels that the format cannot do without, such as those of its time axis.
    pub required_labels: &'static [Label],
    /// Whether it needs the [timeline](crate::profile::options::ProfileOptions::timeline) with these values of its options.
    pub has_times: fn(&OptionValues) -> bool,
    /// Writes samples one by one, if the format supports that.
    pub streamed: Option<BeginStreamed>,
    /// Writes a recording without a [`Profile`], if these values require that.
    pub direct: fn(&OptionValues) -> Option<Direct>,
}

impl WriteProfile {
    /// A format that is only written from a complete profile.
    pub const fn new(write: fn(&Profile, &OptionValues, &mut dyn Write) -> Result<()>) -> Self {
        Self { write, labels: None, required_labels: &[], has_times: |_| false, streamed: None, direct: |_| None }
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
