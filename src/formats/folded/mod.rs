//! Folded stacks, the input of flame graph tools: `main;work;leaf 12`, one stack per line, root first, with its count.

mod frame_names;
mod import;
mod stacks;

pub(super) use frame_names::FrameNames;
pub use import::{import, recognizes};
pub use stacks::FoldedStacks;

use super::options::{FormatOption, OptionValues, ValueKind};
use super::{Format, Reader, WriteProfile, Writer};
use crate::profile::Profile;
use crate::profile::labels::Label;
use perf_data::error::{Error, Result};
use perf_data::printable;
use std::io::Write;

/// Folded stacks.
pub const FORMAT: Format = Format {
    extensions: &[("folded", None), ("collapsed", None), ("stacks", None)],
    writer: Writer::Profile(WriteProfile { labels: Some(LABELS), ..WriteProfile::new(write) }),
    reader: Reader::Import(import),
    recognizes,
    options: &[WEIGHT, ANNOTATE, ADDRESSES],
    lines: |_| false,
    ..Format::new("folded", "folded stacks, for flame graph tools")
};

/// Labels by default: those that the first frame needs.
pub const LABELS: &[Label] = &[Label::Tid, Label::ThreadComm];

/// What the count of a stack is.
pub const WEIGHT: FormatOption = FormatOption {
    default: Some("period"),
    ..FormatOption::new(
        "weight",
        "WHAT",
        "What the count of a stack is",
        ValueKind::Choice(&[("period", "Sum of the periods of its samples"), ("samples", "Number of its samples")]),
    )
};

/// Suffixes of frames.
pub const ANNOTATE: FormatOption = FormatOption::new(
    "annotate",
    "KINDS",
    "Mark frames of these kinds, separated by commas, with the suffix _[k], _[i] or _[j]",
    ValueKind::List(|| vec!["kernel", "inlined", "jit"]),
);

/// Names of frames without symbols.
pub const ADDRESSES: FormatOption =
    FormatOption::switch("addresses", "Add the address to the names of frames whose function is unknown");

/// Writes a profile as folded stacks, sorted by frame names.
///
/// # Errors
/// If the profile has several events, and errors of `out`.
pub fn write(profile: &Profile, values: &OptionValues, out: &mut dyn Write) -> Result<()> {
    let stacks = FoldedStacks::new(profile, values, printable::escape)?;
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
