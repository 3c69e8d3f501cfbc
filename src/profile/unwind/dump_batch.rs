//! Batches of samples whose stacks are unwound or completed.

use perf_data::abi::sample::layout::SampleLayout;
use perf_data::session::ViewId;
use perf_data::stream::raw::{OwnedRaw, Raw};
use perf_symbols::unwind::walk::StackEnd;
use std::ops::Range;

/// Consecutive records, of which those with stack dumps are unwound.
#[derive(Default)]
pub(crate) struct DumpBatch {
    pub records: Vec<(OwnedRaw, Option<Dump>)>,
    /// Their call chains, once they are unwound.
    pub chains: Vec<u8>,
    /// ELF machine of a program, for recordings without the name of their machine.
    pub elf_machine: Option<u16>,
}

pub(crate) struct Dump {
    /// Layout of its sample.
    pub layout: SampleLayout,
    /// Its process, and the version of its mappings.
    pub pid: u32,
    /// See `pid`.
    pub view: ViewId,
    pub outcome: Outcome,
    /// Where its call chain is in [`DumpBatch::chains`]; empty if it could not be unwound.
    pub chain: Range<usize>,
}

/// The result of unwinding a sample.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Outcome {
    /// It has no dump, or not yet a result.
    Unchanged,
    /// Registers that unwinding begins with are missing, or the architecture is not supported.
    WithoutRegisters,
    /// Frames of a recorded call chain continue the stack.
    Continued,
    /// The stack ends here.
    Ended(StackEnd),
    /// It has no dump. Its call chain is complete, or was completed from the link register.
    Recorded,
    /// It has no dump. Its caller may be in the link register only, but there is no CFI that tells.
    WithoutCfi,
}

impl DumpBatch {
    /// Appends a record.
    pub(crate) fn add(&mut self, raw: &Raw<'_>, dump: Option<Dump>) {
        self.records.push((raw.to_owned_raw(), dump));
    }
}
