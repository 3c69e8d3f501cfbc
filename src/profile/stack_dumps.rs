//! Unwinds the stack dumps of samples, each with the mappings of its process at its time.

use super::mappings::BuildIds;
use super::symbolize::{SymbolOptions, object_key};
use super::unwound_stacks::UnwoundStacks;
use crate::abi::Endian;
use crate::abi::branch::BranchStackView;
use crate::abi::bytes::{Reader, Words};
use crate::abi::callchain::Context;
use crate::abi::feature::FeatureId;
use crate::abi::record::RecordType;
use crate::abi::regs::RegsAbi;
use crate::abi::sample_layout::SampleLayout;
use crate::abi::sample_type::{BranchSampleType, SampleType};
use crate::abi::sample_view::{RegsView, SampleView};
use crate::session::map::Map;
use crate::session::space::Space;
use crate::session::{ProcessFiles, Session};
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use crate::unwind::arch::Architecture;
use crate::unwind::code::AddressSpace;
use crate::unwind::memory::StackDump;
use crate::unwind::objects::Objects;
use crate::unwind::registers::Registers;
use crate::unwind::walk::{End, Unwinder, UserState};
use std::sync::Arc;

/// Unwinds the samples of a recording, whose records must arrive in time order.
pub struct StackDumps {
    options: Arc<SymbolOptions>,
    max_frames: usize,
    /// Number of events that were checked for stack dumps, and whether any has them.
    checked: (usize, bool),
    session: Session,
    /// Created at the first dump, when the metadata is known.
    machine: Option<Machine>,
    stacks: UnwoundStacks,
    /// Scratch buffers: addresses of the current stack, and its call chain as recorded.
    frames: Vec<u64>,
    chain: Vec<u8>,
}

/// What unwinding needs of the recorded machine.
struct Machine {
    /// Its name, as of `uname -m`.
    arch: Option<String>,
    /// ELF machine of a program, for recordings without the name.
    of_program: Option<u16>,
    unwinder: Unwinder,
}

impl StackDumps {
    /// `None` if stacks are not to be unwound.
    pub fn new(options: &Arc<SymbolOptions>) -> Option<Self> {
        Some(Self {
            options: Arc::clone(options),
            max_frames: options.max_stack?.get(),
            checked: (0, false),
            session: Session::default(),
            machine: None,
            stacks: UnwoundStacks::default(),
            frames: Vec::new(),
            chain: Vec::new(),
        })
    }

    /// Processes a record; returns the call chain of a sample with a stack dump.
    #[inline]
    pub fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Option<Words<'_>> {
        let events = meta.events.list();
        if self.checked.0 != events.len() {
            let has_dumps = events.iter().any(|event| event.layout.sample_type().contains(SampleType::USER_DUMP));
            self.checked = (events.len(), has_dumps);
        }
        if !self.checked.1 {
            return None;
        }
        if raw.header().kind != RecordType::SAMPLE {
            self.session.apply(meta, raw);
            return None;
        }
        let (_, event) = meta.events.of(raw)?;
        if !event.layout.sample_type().contains(SampleType::USER_DUMP) {
            return None;
        }
        self.sample(meta, raw, &event.layout)
    }

    fn sample(&mut self, meta: &Meta, raw: &Raw<'_>, layout: &SampleLayout) -> Option<Words<'_>> {
        let mut view = SampleView::default();
        view.fill(raw.body(), layout, raw.endian()).ok()?;
        let (regs, stack) = (view.regs_user?, view.stack_user?);
        if stack.dyn_size == 0 || RegsAbi(regs.abi) == RegsAbi::NONE {
            return None;
        }
        let pid = view.task.map_or(u32::MAX, |(pid, _)| pid);
        let version = self.session.mark_running(pid).view;
        let space = AddressSpace { session: &self.session, pid, view: version };
        let machine = self.machine.get_or_insert_with(|| Machine::new(meta, &self.options, self.max_frames));
        let arch = machine.arch(RegsAbi(regs.abi), space, view.ip);
        let state = arch.and_then(|arch| {
            let (ip, registers) = registers(arch, layout.regs_user(), regs)?;
            let start = registers.get(arch.stack_pointer)?;
            let len = stack.data.len().min(usize::try_from(stack.dyn_size).unwrap_or(usize::MAX));
            let dump = StackDump { bytes: &stack.data[..len], start, endian: raw.endian() };
            Some(UserState { arch, ip, registers, dump })
        });
        let Some(state) = state else {
            self.stacks.without_registers += 1;
            return None;
        };
        self.frames.clear();
        let end = machine.unwinder.unwind(space, &state, &mut self.frames);
        let mode: Space = raw.header().misc.cpu_mode().into();
        let recorded = view.callchain.map(|chain| chain.iter());
        let mut chain = Chain { bytes: &mut self.chain, endian: raw.endian() };
        chain.bytes.clear();
        let mut rest = recorded.into_iter().flatten().peekable();
        if let (None, Some(context), Some(ip)) = (view.callchain, mode.context(), view.ip)
            && mode != Space::User
        {
            chain.push(context.0);
            chain.push(ip);
        }
        chain.push_other_spaces(&mut rest, mode);
        chain.push(Context::USER.0);
        self.frames.iter().for_each(|&frame| chain.push(frame));
        let splices = !matches!(end, End::Complete | End::MaxFrames) && !self.options.without_splicing;
        let room = self.max_frames - self.frames.len().min(self.max_frames);
        let calls = view.branch_stack.filter(|_| layout.branch_sample_type().contains(BranchSampleType::CALL_STACK));
        if splices
            && (chain.push_after(rest, self.frames.last().copied(), room)
                || calls.is_some_and(|calls| chain.push_calls(&calls, &self.frames, room)))
        {
            self.stacks.continued += 1;
        } else {
            self.stacks.count(end);
        }
        Reader::new(&self.chain, raw.endian()).words(self.chain.len() as u64 / 8)
    }

    /// Adds to a ledger how many stacks are incomplete, and why.
    pub fn note(&self, ledger: &mut Ledger) {
        let objects = self.machine.as_ref().map(|machine| machine.unwinder.objects());
        self.stacks.note(&self.session, objects, ledger);
    }
}

impl Machine {
    fn new(meta: &Meta, options: &SymbolOptions, max_frames: usize) -> Self {
        let build_ids = BuildIds::new(meta);
        let key_of = move |map: &Map, process_files: &ProcessFiles| object_key(map, &build_ids, process_files);
        let objects = Objects::new(options.for_recording(meta), Box::new(key_of));
        let unwinder = Unwinder::new(objects, max_frames);
        Self { arch: meta.string(FeatureId::ARCH), of_program: None, unwinder }
    }

    /// The architecture of a process.
    fn arch(&mut self, abi: RegsAbi, space: AddressSpace<'_>, ip: Option<u64>) -> Option<&'static Architecture> {
        let is_64 = abi != RegsAbi::ABI_32;
        if self.arch.is_none() && self.of_program.is_none() {
            self.of_program = ip.and_then(|ip| self.unwinder.objects().machine_of(space.map_at(ip)?.1));
        }
        Architecture::of(self.arch.as_deref(), self.of_program, is_64)
    }
}

/// The instruction pointer and the other registers of a sample; `None` without the instruction pointer.
fn registers(arch: &Architecture, mask: u64, regs: RegsView<'_>) -> Option<(u64, Registers)> {
    let (mut ip, mut registers) = (None, Registers::default());
    let numbers = (0..u64::BITS as u8).filter(|number| mask >> number & 1 == 1);
    for (number, value) in numbers.zip(regs.regs.iter()) {
        let value = arch.wrapped(value);
        if number == arch.ip {
            ip = Some(value);
        }
        let column = arch.columns.get(usize::from(number)).copied().flatten();
        if let Some(slot) = column.and_then(|column| arch.slot(column.into())) {
            registers.set(slot, Some(value));
        }
    }
    Some((ip?, registers))
}

/// A call chain in the byte order of a recording.
struct Chain<'a> {
    bytes: &'a mut Vec<u8>,
    endian: Endian,
}

impl Chain<'_> {
    fn push(&mut self, word: u64) {
        self.bytes.extend_from_slice(&match self.endian {
            Endian::Little => word.to_le_bytes(),
            Endian::Big => word.to_be_bytes(),
        });
    }

    /// Appends the part of a recorded chain before its user addresses, and leaves these.
    fn push_other_spaces(&mut self, words: &mut std::iter::Peekable<impl Iterator<Item = u64>>, mut space: Space) {
        while let Some(word) = words.next_if(|&word| {
            let context = Context::of(word);
            context.is_some_and(|context| Space::from(context) != Space::User)
                || context.is_none() && space != Space::User
        }) {
            if let Some(context) = Context::of(word) {
                space = context.into();
            }
            self.push(word);
        }
    }

    /// Appends what a recorded chain, of frame pointers, has after an address, at most `room` frames; returns whether that is anything.
    fn push_after(&mut self, mut words: impl Iterator<Item = u64>, address: Option<u64>, room: usize) -> bool {
        let len = self.bytes.len();
        if words.any(|word| Some(word) == address) {
            words.take_while(|&word| Context::of(word).is_none()).take(room).for_each(|word| self.push(word));
        }
        self.bytes.len() > len
    }

    /// Appends the callers that a hardware call stack has after the last of `frames`, at most `room`; returns whether there are any.
    fn push_calls(&mut self, calls: &BranchStackView<'_>, frames: &[u64], room: usize) -> bool {
        let len = self.bytes.len();
        let mut from = calls.entries.iter().step_by(3);
        let is_found = match frames {
            // The newest call entered the function of the leaf.
            [_leaf] => true,
            [.., last] => from.any(|from| (1..=MAX_INSTRUCTION).contains(&last.wrapping_sub(from))),
            [] => false,
        };
        if is_found {
            // As in call chains, callers have an address after their call.
            from.take(room).for_each(|from| self.push(from.wrapping_add(1)));
        }
        self.bytes.len() > len
    }
}

/// Maximum size of an instruction (x86). Call stacks have the address of a call, frames that to which it returns.
const MAX_INSTRUCTION: u64 = 15;

#[cfg(test)]
mod tests {
    use super::*;

    fn words(bytes: &[u8]) -> Vec<u64> {
        bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
    }

    #[test]
    fn kernel_frames_precede_unwound_ones_and_recorded_ones_follow() {
        let (kernel, user) = (Context::KERNEL.0, Context::USER.0);
        let mut bytes = Vec::new();
        let mut chain = Chain { bytes: &mut bytes, endian: Endian::Little };
        let mut recorded = [kernel, 1, 2, user, 10, 20, 30, 40].into_iter().peekable();
        chain.push_other_spaces(&mut recorded, Space::Kernel);
        chain.push(user);
        assert!(!chain.push_after(recorded.clone(), Some(25), 9));
        assert!(chain.push_after(recorded.clone(), Some(20), 9));
        assert!(chain.push_after(recorded, Some(20), 1));
        assert_eq!(words(&bytes), [kernel, 1, 2, user, 30, 40, 30]);
        let mut recorded = [10, 20].into_iter().peekable();
        let mut chain = Chain { bytes: &mut bytes, endian: Endian::Little };
        chain.bytes.clear();
        chain.push_other_spaces(&mut recorded, Space::User);
        assert!(chain.bytes.is_empty() && recorded.next() == Some(10));
    }

    #[test]
    fn registers_of_a_mask() {
        let arch = Architecture::of(Some("x86_64"), None, true).unwrap();
        let values: Vec<u8> = [3_u64, 7, 8, 15].iter().flat_map(|value| value.to_le_bytes()).collect();
        let regs = |count| RegsView { abi: 2, regs: Reader::new(&values, Endian::Little).words(count).unwrap() };
        // BX, SP, IP, R8.
        let (ip, known) = registers(arch, 1 << 1 | 1 << 7 | 1 << 8 | 1 << 16, regs(4)).unwrap();
        assert_eq!((ip, known.get(3), known.get(7), known.get(8), known.get(6)), (8, Some(3), Some(7), Some(15), None));
        assert!(registers(arch, 1 << 1 | 1 << 7, regs(2)).is_none());
    }
}
