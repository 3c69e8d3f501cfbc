//! The description of a format: its name, how it is recognized, and how it is read and written.

use super::output::{FormatWriter, OutputFormat, OutputType};
use super::retained_fields::RetainedFields;
use crate::formats::import::{CopyProfile, Import, ImportDirectory};
use perf_data::container::write::envelope::Envelope;
use std::path::Path;

/// A format. Each is defined in its own directory and listed in [`FORMATS`](crate::formats::FORMATS).
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
    /// The type of its options, which write it; `None` if it is only read.
    pub output: Option<OutputType>,
    /// How it is read.
    pub reader: FormatReader,
    /// Copies a valid input of this format, where a conversion to the same format changes nothing.
    pub copy: Option<CopyProfile>,
    /// Whether an input with these first bytes, at most [`START`](crate::formats::framework::recognize::START), has this format.
    pub recognizes: fn(&[u8]) -> bool,
    /// Whether no other format begins like this: then the name of the input is ignored.
    pub is_distinctive: bool,
    /// When it shows the functions of frames.
    pub functions: ShowsFunctions,
    /// Whether it has tables of stacks, in which [unmapped](crate::profile::stack_cuts::Unmapped) addresses may be merged.
    pub has_stack_tables: bool,
    /// Whether it is for people, who may have it show functions with [short](crate::profile::options::FunctionNames) names.
    pub has_short_names: bool,
    /// Whether an output can store these unknown fields.
    pub keeps: fn(&RetainedFields) -> bool,
}

/// When a format can show the functions of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShowsFunctions {
    /// Never.
    Never,
    /// Always.
    Always,
    /// If one of its options has this value.
    With {
        /// Name of the option.
        option: &'static str,
        /// The value.
        value: &'static str,
    },
}

/// How a format is read.
#[derive(Clone, Copy, Debug)]
pub enum FormatReader {
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

impl Format {
    /// A text format that is never read, written or recognized: the base for definitions.
    pub const fn new(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            extensions: &[],
            envelope: None,
            is_binary: false,
            output: None,
            reader: FormatReader::Nothing,
            copy: None,
            recognizes: |_| false,
            is_distinctive: false,
            functions: ShowsFunctions::Never,
            has_stack_tables: false,
            has_short_names: false,
            keeps: RetainedFields::is_empty,
        }
    }

    /// The format with its default options, as an output; `None` if it is only read.
    pub fn with_defaults(&self) -> Option<Box<dyn OutputFormat>> {
        self.output.map(OutputType::with_defaults)
    }

    /// Whether it can show the functions of frames.
    pub fn can_show_functions(&self) -> bool {
        self.functions != ShowsFunctions::Never
    }

    /// Whether it is written from a profile.
    pub fn shows_stacks(&self) -> bool {
        self.with_defaults().is_some_and(|output| matches!(output.writer(), FormatWriter::Profile(_)))
    }

    /// Whether it is written as several files in a directory.
    pub fn is_directory(&self) -> bool {
        self.with_defaults().is_some_and(|output| matches!(output.writer(), FormatWriter::Directory(_)))
    }
}
