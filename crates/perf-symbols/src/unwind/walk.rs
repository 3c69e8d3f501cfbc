//! Walks a stack from its leaf to its root.

use super::arch::Architecture;
use super::code::{AddressSpace, Code, CodeAddress, RecentCode};
use super::expression::{Failed, evaluate};
use super::memory::{StackDump, Unreadable};
use super::objects::Objects;
use super::registers::Registers;
use super::rule::{Cfa, RegisterValue, Rule};
use perf_data::session::map::MapId;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The state of a thread in user space.
#[derive(Clone, Debug)]
pub struct UserState<'a> {
    /// Its architecture.
    pub arch: &'static Architecture,
    /// Instruction pointer.
    pub ip: u64,
    /// The other registers.
    pub registers: Registers,
    /// Its stack.
    pub dump: StackDump<'a>,
}

/// Where a stack ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackEnd {
    /// At the outermost function.
    Complete,
    /// At the maximum number of frames.
    MaxFrames,
    /// Where the dump ends.
    Truncated,
    /// In a mapping whose code has neither CFI nor frame pointers.
    NoCfi(MapId),
    /// Where registers or the stack are corrupt, or CFI is invalid.
    Damaged,
}

/// No CFI covers an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoCfi;

/// Unwinds stacks on one thread.
pub struct Unwinder {
    objects: Arc<Mutex<Objects>>,
    recent: RecentCode,
    max_frames: usize,
}

struct Caller {
    ip: u64,
    registers: Registers,
    /// Whether it was interrupted by a signal.
    is_interrupted: bool,
}

impl Unwinder {
    /// Creates an unwinder for stacks of at most `max_frames` frames.
    pub fn new(objects: Arc<Mutex<Objects>>, max_frames: usize) -> Self {
        Self { objects, recent: RecentCode::default(), max_frames }
    }

    /// Appends the addresses of a stack to `frames`, leaf first. As in call chains, callers have the address to which they return.
    /// For functions that a signal interrupted, this is the address after the first byte of their interrupted instruction.
    pub fn unwind(&mut self, space: AddressSpace<'_>, state: &UserState<'_>, frames: &mut Vec<u64>) -> StackEnd {
        let UserState { arch, ip, dump, .. } = *state;
        let mut registers = state.registers.clone();
        let (mut ip, mut is_interrupted, mut is_leaf) = (arch.code_address(ip), true, true);
        let (first, mut crossed_signal) = (frames.len(), false);
        frames.push(ip);
        loop {
            // Calls are looked up by their last byte: a function can end in a call that does not return.
            let address = if is_interrupted { ip } else { ip.wrapping_sub(1) };
            let code_address = CodeAddress { view: space.view, address, is_call: !is_interrupted };
            let Self { objects, recent, .. } = self;
            let slot = recent.find(code_address, || locked(objects).code(space, arch, code_address));
            let memory = Memory { arch, dump: &dump, space };
            let caller = match self.recent.at(slot) {
                Code::Rule(rule) => self.apply(rule, &registers, &memory),
                Code::Trampoline => interrupted(&registers, &memory),
                Code::Outermost => Err(StackEnd::Complete),
                Code::NoRule(map) => self.without_cfi(*map, is_leaf, &registers, &memory),
                Code::Unmapped => Err(StackEnd::Damaged),
            };
            let is_trampoline = caller.as_ref().is_ok_and(|caller| caller.is_interrupted);
            if is_trampoline && !is_leaf && !is_interrupted {
                // The kernel makes handlers return to the start of the trampoline, which did not call them.
                if let Some(frame) = frames.last_mut() {
                    *frame = ip.wrapping_add(1);
                }
            }
            crossed_signal |= is_trampoline;
            let caller = match caller {
                Ok(caller) => caller,
                // The handler ran on another stack, of which there is no dump.
                Err(StackEnd::Damaged) if crossed_signal => return StackEnd::Truncated,
                Err(StackEnd::Damaged) if locked(&self.objects).is_entry(space, arch, address) => {
                    return StackEnd::Complete;
                }
                Err(end) => return end,
            };
            let stack_pointer = |registers: &Registers| registers.get(arch.stack_pointer);
            let (before, after) = (stack_pointer(&registers), stack_pointer(&caller.registers));
            // A caller's frame is above that of its callee, or at the same address if the callee has pushed nothing. A signal handler
            // may have run on another stack.
            let is_stuck = after <= before && (after < before || caller.ip == ip);
            if is_stuck && !caller.is_interrupted {
                return StackEnd::Damaged;
            }
            (registers, is_leaf) = (caller.registers, false);
            (ip, is_interrupted) = (caller.ip, caller.is_interrupted);
            if frames.len() - first >= self.max_frames {
                return StackEnd::MaxFrames;
            }
            let is_mapped = self.is_code(space, arch, if is_interrupted { ip } else { ip.wrapping_sub(1) });
            if !is_mapped {
                return if crossed_signal {
                    StackEnd::Truncated
                } else if locked(&self.objects).is_entry(space, arch, address) {
                    StackEnd::Complete
                } else {
                    StackEnd::Damaged
                };
            }
            frames.push(if is_interrupted { ip.wrapping_add(1) } else { ip });
        }
    }

    /// The caller of a function that was interrupted at an address, if it is in the link register, whose value is given; `Err` if the
    /// code at the address has no CFI.
    pub fn caller_in_register(
        &mut self,
        space: AddressSpace<'_>,
        arch: &'static Architecture,
        address: u64,
        link: u64,
    ) -> Result<Option<u64>, NoCfi> {
        let code_address = CodeAddress { view: space.view, address, is_call: false };
        let Self { objects, recent, .. } = self;
        let slot = recent.find(code_address, || locked(objects).code(space, arch, code_address));
        match self.recent.at(slot) {
            Code::Rule(rule) if !rule.returns_to_link_register(arch) => return Ok(None),
            Code::Trampoline | Code::Outermost => return Ok(None),
            Code::NoRule(_) | Code::Unmapped => return Err(NoCfi),
            Code::Rule(_) => {}
        }
        let caller = arch.code_address(link);
        // 0 in the outermost function. A function that never returns can have any value in it.
        Ok(Some(caller).filter(|&caller| caller != 0 && self.is_code(space, arch, caller.wrapping_sub(1))))
    }

    /// Whether there is code at an address, as far as is known.
    fn is_code(&self, space: AddressSpace<'_>, arch: &'static Architecture, address: u64) -> bool {
        // Code that was unwound recently is known without waiting for the lock.
        let recent = |is_call| self.recent.get(CodeAddress { view: space.view, address, is_call });
        let is_known = |is_call| matches!(recent(is_call), Some(Code::Rule(_) | Code::Outermost));
        is_known(true) || is_known(false) || locked(&self.objects).is_code(space, arch, address)
    }

    /// The caller by a rule.
    fn apply(&self, rule: &Rule, registers: &Registers, memory: &Memory<'_>) -> Result<Caller, StackEnd> {
        let arch = memory.arch;
        let expression = |range, initial| {
            let read = |address, size| self.read(memory, address, size);
            evaluate(rule.expressions.get(range), arch, registers, initial, read)
        };
        let cfa = match rule.cfa {
            Cfa::Register(slot, offset) => {
                registers.get(slot).map(|value| value.wrapping_add(offset as u64)).ok_or(StackEnd::Damaged)?
            }
            Cfa::Expression(range) => expression(range, None).map_err(end)?,
        };
        let cfa = arch.wrapped(cfa);
        let at = |offset: i64| arch.wrapped(cfa.wrapping_add(offset as u64));
        let word = |address| self.read(memory, address, arch.pointer_size).map_err(Failed::Memory);
        let mut caller = registers.clone();
        caller.set(arch.stack_pointer, Some(arch.wrapped(cfa.wrapping_sub(arch.frame_bias))));
        let mut ip = if arch.pushes_return_address { None } else { registers.get(rule.return_address) };
        for saved in &rule.saved {
            let value = match saved.value {
                RegisterValue::Undefined => Ok(None),
                RegisterValue::At(offset) => match registers.get(arch.stack_pointer) {
                    // GCC does not say that a register was restored where it pops it, so that it seems to be saved below the
                    // stack pointer. There is no dump of that memory.
                    Some(stack_pointer) if at(offset) < stack_pointer => Ok(registers.get(saved.slot)),
                    _ => word(at(offset)).map(Some),
                },
                RegisterValue::Cfa(offset) => Ok(Some(at(offset))),
                RegisterValue::Register(slot) => Ok(registers.get(slot)),
                RegisterValue::AtExpression(range) => expression(range, Some(cfa)).and_then(word).map(Some),
                RegisterValue::Expression(range) => expression(range, Some(cfa)).map(Some),
                RegisterValue::Constant(value) => Ok(Some(value)),
            };
            if saved.slot == rule.return_address {
                ip = value.map_err(end)?;
                caller.set(saved.slot, ip);
            } else {
                // Only registers on which later frames depend matter.
                caller.set(saved.slot, value.unwrap_or(None));
            }
        }
        // The return address of the outermost function is undefined or 0.
        let ip = ip.map(|ip| arch.code_address(ip)).filter(|&ip| ip != 0).ok_or(StackEnd::Complete)?;
        if arch.pushes_return_address {
            caller.set(rule.return_address, Some(ip));
        }
        Ok(Caller { ip, registers: caller, is_interrupted: rule.is_signal })
    }

    /// The caller of code without CFI.
    fn without_cfi(
        &self,
        map: MapId,
        is_leaf: bool,
        registers: &Registers,
        memory: &Memory<'_>,
    ) -> Result<Caller, StackEnd> {
        let Memory { arch, dump, space } = *memory;
        let size = arch.pointer_size;
        let stack_pointer = registers.get(arch.stack_pointer).ok_or(StackEnd::Damaged)?;
        let mut caller = Registers::default();
        if is_leaf && arch.pushes_return_address {
            // Many functions without CFI are short and have no frame.
            let ip = dump.read(stack_pointer, size).map_err(|why| end(Failed::Memory(why)))?;
            if self.is_code(space, arch, ip.wrapping_sub(1)) {
                caller.clone_from(registers);
                caller.set(arch.stack_pointer, Some(stack_pointer.wrapping_add(size.into())));
                caller.set(arch.return_address, Some(ip));
                return Ok(Caller { ip, registers: caller, is_interrupted: false });
            }
        }
        let chain = arch.frame_chain.ok_or(StackEnd::NoCfi(map))?;
        let frame = registers.get(chain.register).ok_or(StackEnd::NoCfi(map))?;
        let at = |offset: i64| arch.wrapped(frame.wrapping_add(offset as u64));
        let after = at(chain.stack_pointer);
        // The code uses the register for something else.
        if after <= stack_pointer {
            return Err(StackEnd::NoCfi(map));
        }
        let read = |offset| dump.read(at(offset), size);
        let (ip, saved) = match (read(chain.return_address), read(chain.saved_register)) {
            (Ok(ip), Ok(saved)) => (arch.code_address(ip), saved),
            _ => return Err(StackEnd::NoCfi(map)),
        };
        if ip == 0 && saved == 0 {
            return Err(StackEnd::Complete);
        }
        if !self.is_code(space, arch, ip.wrapping_sub(1)) {
            return Err(StackEnd::NoCfi(map));
        }
        caller.set(chain.register, Some(saved));
        caller.set(arch.stack_pointer, Some(after));
        if let Some(slot) = arch.slot(arch.return_address.into()) {
            caller.set(slot, Some(ip));
        }
        Ok(Caller { ip, registers: caller, is_interrupted: false })
    }

    /// An integer in the dump, or else in constant data of a file.
    #[inline]
    fn read(&self, memory: &Memory<'_>, address: u64, size: u8) -> Result<u64, Unreadable> {
        let Memory { dump, .. } = memory;
        dump.read(address, size)
            .or_else(|why| locked(&self.objects).constant(memory.space, memory.arch, address, size).ok_or(why))
    }
}

fn locked(objects: &Mutex<Objects>) -> MutexGuard<'_, Objects> {
    objects.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Readable memory of a process.
#[derive(Clone, Copy)]
struct Memory<'a> {
    arch: &'static Architecture,
    dump: &'a StackDump<'a>,
    space: AddressSpace<'a>,
}

/// The end of a stack whose CFI cannot be evaluated.
fn end(why: Failed) -> StackEnd {
    match why {
        Failed::Memory(Unreadable::AfterDump) => StackEnd::Truncated,
        Failed::Memory(Unreadable::Outside) | Failed::Invalid => StackEnd::Damaged,
    }
}

/// The function that a signal interrupted, by the registers that the kernel saved.
fn interrupted(registers: &Registers, memory: &Memory<'_>) -> Result<Caller, StackEnd> {
    let Memory { arch, dump, .. } = *memory;
    let (trampoline, stack_pointer) =
        arch.trampoline.zip(registers.get(arch.stack_pointer)).ok_or(StackEnd::Damaged)?;
    let size = arch.pointer_size;
    let mut at = stack_pointer.wrapping_add(trampoline.offset);
    let mut next = || {
        let value = dump.read(at, size).map_err(|why| end(Failed::Memory(why)));
        at = at.wrapping_add(size.into());
        value
    };
    let mut caller = Registers::default();
    for &slot in trampoline.slots {
        caller.set(slot, Some(next()?));
    }
    let ip = next()?;
    if let Some(slot) = arch.slot(arch.return_address.into()).filter(|_| arch.pushes_return_address) {
        caller.set(slot, Some(ip));
    }
    Ok(Caller { ip, registers: caller, is_interrupted: true })
}
