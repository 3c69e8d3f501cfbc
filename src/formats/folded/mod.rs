//! Folded stacks, the input of flame graph tools: `main;work;leaf 12`, one stack per line, root first, with its count.

mod frame_names;
mod import;
mod root_frames;
mod stacks;

pub(super) use frame_names::FrameNames;
pub use import::{import, recognizes};
pub use stacks::FoldedStacks;

use super::{Format, FormatReader, ShowsFunctions};
use crate::formats::framework::output::{FormatWriter, OutputFormat, OutputType, ProfileFormat};
use crate::profile::Profile;
use crate::profile::accesses::Accesses;
use crate::profile::labels::Label;
use crate::report::key::ReportKey;
use perf_data::error::{Error, Result};
use perf_data::printable;
use std::io::Write;

/// Folded stacks.
pub const FORMAT: Format = Format {
    extensions: &[("folded", None), ("collapsed", None), ("stacks", None)],
    output: Some(OutputType::of::<Folded>()),
    reader: FormatReader::Import(import),
    recognizes,
    functions: ShowsFunctions::Always,
    ..Format::new("folded", "folded stacks, for flame graph tools")
};

/// Labels by default: that of the first frame. The ID of each thread would be a label of its own, so that memory would grow with
/// their number.
pub const LABELS: &[Label] = &[Label::ThreadName];

/// Folded stacks with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Folded {
    /// Mark frames of these kinds with the suffix `_[k]`, `_[i]` or `_[j]`.
    #[cfg_attr(
        feature = "cli",
        arg(
            long,
            value_enum,
            value_name = "KINDS",
            value_delimiter = ',',
            help = "Mark frames of these kinds, separated by commas, with the suffix _[k], _[i] or _[j]",
        )
    )]
    pub annotate: Vec<FrameKind>,

    /// Add the address to the names of frames whose function is unknown.
    #[cfg_attr(feature = "cli", arg(long))]
    pub addresses: bool,

    /// The frames before the stack: the value of each of these keys, instead of the labels. With the event, the profile may have
    /// several.
    #[cfg_attr(
        feature = "cli",
        arg(
            long,
            value_name = "KEYS",
            value_delimiter = ',',
            value_parser = ReportKey::parser(),
            help = ReportKey::GROUP_BY_HELP,
            conflicts_with_all = ["tree", "labels"]
        )
    )]
    pub group_by: Vec<ReportKey>,
}

impl Folded {
    /// Labels by default: none if the stacks are grouped.
    pub(super) fn default_labels(&self) -> &'static [Label] {
        if self.group_by.is_empty() { LABELS } else { &[] }
    }

    /// The memory accesses that the keys by which stacks are grouped show.
    pub(super) fn group_accesses(&self) -> Accesses {
        Accesses::with_fields(self.group_by.iter().flat_map(|key| key.access_fields()).copied(), false)
    }

    /// The labels of the keys by which stacks are grouped.
    pub(super) fn group_labels(&self) -> Vec<Label> {
        self.group_by.iter().flat_map(|key| key.labels()).copied().collect()
    }
}

/// A kind of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum FrameKind {
    /// Of the kernel.
    Kernel,
    /// Inlined.
    Inlined,
    /// Compiled at run time.
    Jit,
}

impl OutputFormat for Folded {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Profile(self)
    }

    fn shows_lines(&self) -> bool {
        false
    }
}

impl ProfileFormat for Folded {
    fn labels(&self) -> Option<&'static [Label]> {
        Some(self.default_labels())
    }

    fn required_labels(&self) -> Vec<Label> {
        self.group_labels()
    }

    fn accesses(&self) -> Accesses {
        self.group_accesses()
    }

    /// Writes the stacks, sorted by frame names; an error if the profile has several events, by which they are not
    /// grouped.
    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<()> {
        let stacks = FoldedStacks::new(profile, self, printable::escape)?;
        let mut line = Vec::new();
        for (frames, count) in stacks.sorted() {
            line.clear();
            for frame in frames {
                line.extend_from_slice(frame);
                line.push(b';');
            }
            line.pop();
            writeln!(line, " {count}").and_then(|()| out.write_all(&line)).map_err(Error::Output)?;
        }
        Ok(())
    }
}
