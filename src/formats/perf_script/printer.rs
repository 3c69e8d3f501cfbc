//! Prints the fields of a sample one after the other.

#[cfg(feature = "disassembly")]
use super::branch_blocks::BlockCode;
use super::fields::{FieldSet, Print};
use super::style::Style;
use crate::formats::framework::sample_writer::{SampleState, WrittenSample};
use perf_data::abi::feature::clock_data::ClockData;
use perf_data::abi::record::header::{CpuMode, Misc};
use std::num::NonZeroUsize;

/// What samples and other records have in common.
pub(super) struct Head<'a> {
    /// Name of the thread.
    pub comm: &'a str,
    /// Process and thread.
    pub task: (u32, u32),
    /// CPU.
    pub cpu: u32,
    /// Nanoseconds on the recording's clock.
    pub time: u64,
    /// The time that is printed: the same, or relative to another.
    pub printed_time: u64,
    /// The recording's clock and the wall clock at the same moment.
    pub clock: Option<ClockData>,
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
    /// The wall clock at a time, in nanoseconds since 1970, if the recording has clock data.
    pub(super) fn wall_clock(&self, time: u64) -> Option<u64> {
        let ClockData { wall_clock_ns, clockid_ns, .. } = self.clock?;
        Some(wall_clock_ns.wrapping_add(time).wrapping_sub(clockid_ns))
    }

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
    pub sample: &'a WrittenSample<'a>,
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
    /// Whether only the instruction pointer of a call chain is printed.
    pub hides_call_graph: bool,
    /// Maximum number of frames of a call chain.
    pub max_frames: Option<NonZeroUsize>,
    /// Cookie of deferred user frames.
    pub cookie: Option<u64>,
    /// Code of the blocks between branches.
    #[cfg(feature = "disassembly")]
    pub block_code: &'a mut BlockCode,
}

impl Printer<'_> {
    /// Appends the fields that only samples have: up to the frames to `before`, and the others to `behind`.
    pub(super) fn print(&mut self, before: &mut Vec<u8>, behind: &mut Vec<u8>) {
        let mut is_before = true;
        for (_, field) in self.fields.fields() {
            let out = if is_before { &mut *before } else { &mut *behind };
            match field.print {
                Print::Sample(print) => print(self, out),
                Print::Text(field) => {
                    out.push(b' ');
                    out.extend_from_slice(self.sample.decoded.view.text(field).unwrap_or_default().as_bytes());
                }
                Print::Head(_) | Print::Part | Print::Nothing | Print::Unsupported(_) => {}
            }
            is_before &= field.name != "ip";
        }
    }
}
