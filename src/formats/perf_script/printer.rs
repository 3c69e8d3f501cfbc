//! Prints the fields of a sample one after the other.

use super::fields::{FieldSet, Print};
use super::style::Style;
use crate::formats::sample_writer::{Sample, SampleState};
use perf_data::abi::record::header::{CpuMode, Misc};

/// What samples and other records have in common.
pub(super) struct Head<'a> {
    /// Name of the thread.
    pub comm: &'a str,
    /// Process and thread.
    pub task: (u32, u32),
    /// CPU.
    pub cpu: u32,
    /// Nanoseconds.
    pub time: u64,
    /// Flags that `misc` shows, after that of the CPU mode.
    pub flags: &'a str,
    /// CPU mode.
    pub misc: Misc,
    /// Whether a call chain follows: the comm is then not aligned.
    pub has_chain: bool,
    /// Whether times have nine decimals.
    pub is_exact: bool,
    /// Form of the text.
    pub style: Style,
}

impl Head<'_> {
    /// Letter of the CPU mode.
    pub(super) fn mode(&self) -> &'static str {
        match self.misc.cpu_mode() {
            CpuMode::KERNEL => "K",
            CpuMode::USER => "U",
            CpuMode::HYPERVISOR => "H",
            CpuMode::GUEST_KERNEL => "G",
            CpuMode::GUEST_USER => "g",
            _ => "",
        }
    }

    /// Appends the fields that all records have.
    pub(super) fn print(&self, fields: FieldSet, out: &mut Vec<u8>) {
        for (_, field) in fields.fields() {
            if let Print::Head(print) = field.print {
                print(self, fields, out);
            }
        }
    }
}

/// A sample, and what its fields need besides.
pub(super) struct Printer<'a> {
    /// Names and mappings.
    pub state: &'a mut SampleState,
    /// The sample.
    pub sample: &'a Sample<'a>,
    /// Fields of its event.
    pub fields: FieldSet,
    /// Form of the text.
    pub style: Style,
    /// Name of the event.
    pub event: &'a str,
    /// Length of the longest name of an event.
    pub longest_event: usize,
    /// Architecture of the recorded machine, as `uname -m` prints it.
    pub arch: &'a str,
    /// Length of the longest data source so far.
    pub longest_source: &'a mut usize,
    /// Cookie of deferred user frames.
    pub cookie: Option<u64>,
}

impl Printer<'_> {
    /// Appends the fields that only samples have: up to the frames to `before`, and the others to `behind`.
    pub(super) fn print(&mut self, before: &mut Vec<u8>, behind: &mut Vec<u8>) {
        let mut is_before = true;
        for (_, field) in self.fields.fields() {
            if let Print::Sample(print) = field.print {
                print(self, if is_before { before } else { behind });
            }
            is_before &= field.name != "ip";
        }
    }
}
