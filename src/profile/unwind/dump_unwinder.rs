//! Unwinds the stack dumps of a batch of samples on one thread.

use super::dump_batch::{Dump, DumpBatch, Outcome};
use super::link_register::InterruptedFrame;
use super::user_chain::UserChain;
use crate::profile::symbolize::{SymbolOptions, object_key};
use perf_data::abi::bytes::Words;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::sample::callchain::Context;
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample::regs::RegsAbi;
use perf_data::abi::sample::regs::RegsView;
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::sample_type::BranchSampleType;
use perf_data::session::map::Map;
use perf_data::session::space::Space;
use perf_data::session::{ProcessFiles, Session};
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_symbols::symbolizer::recorded_build_ids::BuildIds;
use perf_symbols::unwind::arch::Architecture;
use perf_symbols::unwind::code::AddressSpace;
use perf_symbols::unwind::memory::StackDump;
use perf_symbols::unwind::objects::Objects;
use perf_symbols::unwind::registers::Registers;
use perf_symbols::unwind::walk::{NoCfi, StackEnd, Unwinder, UserState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// The recorded machine, as the threads that unwind its stacks share it.
pub(crate) struct Machine {
    /// Its name, as of `uname -m`.
    pub arch: Option<String>,
    /// Its processes. They do not change while batches are unwound.
    session: Arc<RwLock<Session>>,
    objects: Arc<Mutex<Objects>>,
    max_frames: usize,
    splices: bool,
}

impl Machine {
    /// The machine of a recording.
    pub(crate) fn new(meta: &Meta, options: &SymbolOptions, max_frames: usize, session: &Arc<RwLock<Session>>) -> Self {
        let build_ids = BuildIds::new(meta);
        let map_key = move |map: &Map, process_files: &ProcessFiles| object_key(map, &build_ids, process_files);
        let objects = Objects::new(options.for_recording(meta), Box::new(map_key));
        Self {
            arch: meta.string(FeatureId::ARCH),
            session: Arc::clone(session),
            objects: Arc::new(Mutex::new(objects)),
            max_frames,
            splices: options.splices(),
        }
    }

    pub(crate) fn objects(&self) -> MutexGuard<'_, Objects> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Unwinds samples.
pub(crate) struct DumpUnwinder {
    machine: Arc<Machine>,
    unwinder: Unwinder,
    /// Addresses of the current stack (scratch buffer).
    frames: Vec<u64>,
}

impl DumpUnwinder {
    /// Creates an unwinder for the samples of a machine.
    pub(crate) fn new(machine: &Arc<Machine>) -> Self {
        let unwinder = Unwinder::new(Arc::clone(&machine.objects), machine.max_frames);
        Self { machine: Arc::clone(machine), unwinder, frames: Vec::new() }
    }

    /// Unwinds the samples of a batch.
    pub(crate) fn run(&mut self, batch: &mut DumpBatch) {
        let machine = Arc::clone(&self.machine);
        let session = machine.session.read().unwrap_or_else(PoisonError::into_inner);
        let DumpBatch { records, chains, elf_machine } = batch;
        for (record, dump) in records {
            let Some(dump) = dump else { continue };
            let start = chains.len();
            dump.outcome = self.sample(&session, *elf_machine, &record.raw(), dump, chains);
            dump.chain = start..chains.len();
        }
    }

    /// Appends the call chain of a sample to `chains`, unless it cannot be unwound.
    fn sample(
        &mut self,
        session: &Session,
        elf_machine: Option<u16>,
        raw: &Raw<'_>,
        dump: &Dump,
        chains: &mut Vec<u8>,
    ) -> Outcome {
        let mut view = SampleView::default();
        let Ok(()) = view.fill(raw.body(), &dump.layout, raw.endian()) else { return Outcome::Unchanged };
        let Some(regs) = view.regs_user.filter(|regs| RegsAbi(regs.abi) != RegsAbi::NONE) else {
            return Outcome::Unchanged;
        };
        let is_64 = RegsAbi(regs.abi) != RegsAbi::ABI_32;
        let arch = Architecture::find(self.machine.arch.as_deref(), elf_machine, is_64);
        let space = AddressSpace { session, pid: dump.pid, view: dump.view };
        let Some(stack) = view.stack_user else {
            let chain = UserChain { bytes: chains, endian: raw.endian() };
            return match arch.zip(view.callchain) {
                Some((arch, recorded)) => self.complete(space, arch, raw, dump, regs, recorded, chain),
                None => Outcome::Unchanged,
            };
        };
        if stack.dyn_size == 0 {
            return Outcome::Unchanged;
        }
        let state = arch.and_then(|arch| {
            let (ip, registers) = registers(arch, dump.layout.regs_user(), regs);
            let ip = ip?;
            let start = registers.get(arch.stack_pointer)?;
            let len = stack.data.len().min(usize::try_from(stack.dyn_size).unwrap_or(usize::MAX));
            let dump = StackDump { bytes: &stack.data[..len], start, endian: raw.endian() };
            Some(UserState { arch, ip, registers, dump })
        });
        let Some(state) = state else { return Outcome::WithoutRegisters };
        self.frames.clear();
        let end = self.unwinder.unwind(space, &state, &mut self.frames);
        let chain = UserChain { bytes: chains, endian: raw.endian() };
        if self.write(chain, raw, &view, &dump.layout, end) { Outcome::Continued } else { Outcome::Ended(end) }
    }

    /// Writes the recorded call chain of a sample with the caller that only the link register contains, if that is the case.
    #[expect(clippy::too_many_arguments, reason = "the parts of one sample, and where its chain goes")]
    fn complete(
        &mut self,
        space: AddressSpace<'_>,
        arch: &'static Architecture,
        raw: &Raw<'_>,
        dump: &Dump,
        regs: RegsView<'_>,
        recorded: Words<'_>,
        chain: UserChain<'_>,
    ) -> Outcome {
        let link = arch.link_register().and_then(|_| {
            let (_, registers) = registers(arch, dump.layout.regs_user(), regs);
            registers.get(arch.slot(arch.return_address.into())?)
        });
        let Some(link) = link else { return Outcome::Unchanged };
        let Some(frame) = InterruptedFrame::new(recorded, raw.header().misc.cpu_mode().into()) else {
            return Outcome::Recorded;
        };
        // Hand-written functions save their frame without CFI that says so.
        if frame.next.is_some_and(|next| arch.code_address(next) == arch.code_address(link)) {
            return Outcome::Recorded;
        }
        match self.unwinder.caller_in_register(space, arch, arch.code_address(frame.address), link) {
            Ok(Some(caller)) => frame.write_with_caller(recorded, caller, chain),
            Ok(None) => {}
            Err(NoCfi) => return Outcome::WithoutCfi,
        }
        Outcome::Recorded
    }

    /// Writes the call chain of a sample; returns whether recorded frames continue it.
    fn write(
        &self,
        mut chain: UserChain<'_>,
        raw: &Raw<'_>,
        view: &SampleView<'_>,
        layout: &SampleLayout,
        end: StackEnd,
    ) -> bool {
        let mode: Space = raw.header().misc.cpu_mode().into();
        let recorded = view.callchain.map(|chain| chain.iter());
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
        if matches!(end, StackEnd::Complete | StackEnd::MaxFrames) || !self.machine.splices {
            return false;
        }
        let room = self.machine.max_frames - self.frames.len().min(self.machine.max_frames);
        let calls = view.branch_stack.filter(|_| layout.branch_sample_type().contains(BranchSampleType::CALL_STACK));
        chain.push_after(rest, self.frames.last().copied(), room)
            || calls.is_some_and(|calls| chain.push_calls(&calls, &self.frames, room))
    }
}

/// The instruction pointer and the other registers of a sample.
fn registers(arch: &Architecture, mask: u64, regs: RegsView<'_>) -> (Option<u64>, Registers) {
    let (mut ip, mut registers) = (None, Registers::default());
    for (number, value) in regs.numbered(mask) {
        let value = arch.wrapped(value);
        if number == arch.ip {
            ip = Some(value);
        }
        let column = arch.columns.get(usize::from(number)).copied().flatten();
        if let Some(slot) = column.and_then(|column| arch.slot(column.into())) {
            registers.set(slot, Some(value));
        }
    }
    (ip, registers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_data::abi::Endian;
    use perf_data::abi::bytes::ByteReader;

    #[test]
    fn registers_of_a_mask() {
        let arch = Architecture::find(Some("x86_64"), None, true).unwrap();
        let values: Vec<u8> = [3_u64, 7, 8, 15].iter().flat_map(|value| value.to_le_bytes()).collect();
        let regs = |count| RegsView { abi: 2, regs: ByteReader::new(&values, Endian::Little).words(count).unwrap() };
        // BX, SP, IP, R8.
        let (ip, register_values) = registers(arch, 1 << 1 | 1 << 7 | 1 << 8 | 1 << 16, regs(4));
        let slots = [3, 7, 8, 6].map(|slot| register_values.get(slot));
        assert_eq!((ip, slots), (Some(8), [Some(3), Some(7), Some(15), None]));
        assert_eq!(registers(arch, 1 << 1 | 1 << 7, regs(2)).0, None);
    }
}
