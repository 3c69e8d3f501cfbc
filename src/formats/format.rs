//! The description of a format: its name, how it is recognized, and how it is read and written.

use super::carry::{BeginCarry, BeginFolder};
use super::import::{CopyProfile, Import};
use super::options::{FormatOption, OptionValues};
use super::retained_fields::RetainedFields;
use super::{profile_options, recording_options};
use crate::container::write::envelope::Envelope;
use crate::error::Result;
use crate::profile::Profile;
use crate::profile::event::ProfileEvent;
use crate::profile::sample_sink::TakeSamples;
use crate::rewrite::quipper::Quipper;
use crate::stream::events::EventIndex;
use crate::stream::ledger::Ledger;
use crate::stream::source::Source;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

/// A format. Each describes itself in its directory and is listed in [`FORMATS`](super::FORMATS).
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name, for `--to`.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// Endings of file names that choose it, and how a file is compressed whose name ends with just that.
    pub extensions: &'static [(&'static str, Option<Envelope>)],
    /// How it is compressed where no name says.
    pub envelope: Option<Envelope>,
    /// Whether it is for programs, not to be shown on a terminal.
    pub is_binary: bool,
    /// What it is written from.
    pub writes: Writes,
    /// What can be read of it.
    pub reads: Reads,
    /// Copies an input of this format that is valid, where a conversion to the same format changes nothing.
    pub copy: Option<CopyProfile>,
    /// Whether an input that begins like this, [`START`](super::recognize::START) bytes of it at most, is in this format.
    pub recognises: fn(&[u8]) -> bool,
    /// Whether no other input begins like this: then the name of the input does not matter.
    pub is_distinctive: bool,
    /// Whether an output has a place for these fields.
    pub keeps: fn(&RetainedFields) -> bool,
    /// Options of its own; those that [all formats written alike](Writes::options) have are not among them.
    pub options: &'static [FormatOption],
    /// Passes that go without saying.
    pub usual_passes: fn(&OptionValues) -> &'static [Quipper],
}

impl Format {
    /// A text format that is neither read nor written and never recognized: what a description starts from.
    pub const fn new(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            extensions: &[],
            envelope: None,
            is_binary: false,
            writes: Writes::Nothing,
            reads: Reads::Nothing,
            copy: None,
            recognises: |_| false,
            is_distinctive: false,
            keeps: RetainedFields::is_empty,
            options: &[],
            usual_passes: |_| &[],
        }
    }

    /// All options that it takes.
    pub fn all_options(&self) -> impl Iterator<Item = &'static FormatOption> + use<> {
        self.writes.options().iter().chain(self.options)
    }

    /// Whether it is written from a profile.
    pub fn is_of_profiles(&self) -> bool {
        matches!(self.writes, Writes::Profile(_))
    }

    /// How it is written without a [`Profile`], if these values ask for that.
    pub fn direct(&self, values: &OptionValues) -> Option<Direct> {
        match self.writes {
            Writes::Profile(writes) => (writes.direct)(values),
            _ => None,
        }
    }
}

/// What can be read of a format.
#[derive(Clone, Copy, Debug)]
pub enum Reads {
    /// It is a recording.
    Recording,
    /// It carries a recording that can be reconstructed, or is converted to one.
    Import(Import),
    /// Nothing.
    Nothing,
}

/// What a format is written from.
#[derive(Clone, Copy, Debug)]
pub enum Writes {
    /// The stream of records: the format is that of recordings.
    Records,
    /// The stream of records, each in a form of its own.
    Carry(BeginCarry),
    /// The stream of records, to several files in a directory.
    Folder {
        /// Begins them.
        begin: BeginFolder,
        /// Whether a directory has such files and nothing else, so that others may replace it.
        is_alike: fn(&Path) -> bool,
    },
    /// Stacks and values.
    Profile(WriteProfile),
    /// It is not written.
    Nothing,
}

impl Writes {
    /// Options of all formats that are written alike.
    pub fn options(&self) -> &'static [FormatOption] {
        match self {
            Self::Records => recording_options::OPTIONS,
            Self::Profile(_) => profile_options::OPTIONS,
            Self::Carry(_) | Self::Folder { .. } | Self::Nothing => &[],
        }
    }
}

/// How a profile is written.
#[derive(Clone, Copy, Debug)]
pub struct WriteProfile {
    /// Writes a profile.
    pub write: fn(&Profile, &mut dyn Write) -> Result<()>,
    /// Writes samples one by one, where the format can.
    pub streamed: Option<BeginStreamed>,
    /// Writes a recording without a [`Profile`], if these values ask for that.
    pub direct: fn(&OptionValues) -> Option<Direct>,
}

/// Reads a recording, and returns what writes the output.
pub type Direct = fn(Source) -> Result<(WriteOut, Ledger)>;

/// Writes an output of which everything is known.
pub type WriteOut = Box<dyn FnOnce(&mut dyn Write) -> Result<()>>;

/// Begins an output that takes samples one by one, of these events; and which of them have samples.
pub type BeginStreamed =
    for<'a> fn(&'a mut dyn Write, &[ProfileEvent], &BTreeSet<EventIndex>) -> Box<dyn Streamed + 'a>;

/// An output that takes samples one by one.
pub trait Streamed: TakeSamples {
    /// Writes what follows the samples, of a profile without rows.
    ///
    /// # Errors
    /// What the output says.
    fn finish(self: Box<Self>, profile: &Profile) -> Result<()>;
}
