//! Architectures: the registers that perf samples, their columns in DWARF, and conventions of stacks without CFI.

mod aarch64;
mod arm;
mod i386;
mod loongarch64;
mod mips;
mod ppc64;
mod riscv64;
mod s390x;
mod x86_64;

use super::registers::{RETURN_SLOT, Slot};
use crate::object::machine;
use object::elf;

/// An architecture and ABI.
#[derive(Debug)]
pub struct Architecture {
    /// ELF machines of its programs.
    pub machines: &'static [elf::Machine],
    /// Bytes of a pointer.
    pub pointer_size: u8,
    /// DWARF columns by perf's register number.
    pub columns: &'static [Column],
    /// perf's number of the instruction pointer.
    pub ip: u8,
    /// Column of the stack pointer.
    pub stack_pointer: u8,
    /// Return address column.
    pub return_address: u8,
    /// Distance from the caller's stack pointer to the canonical frame address, for stack pointers without a rule.
    pub frame_bias: u64,
    /// Bits of a return address that are not part of the address.
    pub ignored_bits: u64,
    /// How a function without CFI saves its caller's frame.
    pub frame_chain: Option<FrameChain>,
    /// Whether calls push the return address, so that it is at the stack pointer when a function starts.
    pub pushes_return_address: bool,
    /// The kernel's frame of a signal handler, for trampolines whose CFI is missing or does not restore all registers.
    pub trampoline: Option<Trampoline>,
}

/// DWARF column of a register; `None` if CFI does not refer to it.
pub type Column = Option<u8>;

/// A linked list of frames. Offsets are relative to the register.
#[derive(Clone, Copy, Debug)]
pub struct FrameChain {
    /// The register that points into the newest frame.
    pub register: Slot,
    /// Where its value in the caller is saved.
    pub saved_register: i64,
    /// Where the return address is saved.
    pub return_address: i64,
    /// The stack pointer of the caller.
    pub stack_pointer: i64,
}

/// Code to which signal handlers return, and where the registers of the interrupted function are saved.
#[derive(Clone, Copy, Debug)]
pub struct Trampoline {
    /// Its instructions, in each encoding that is in use.
    pub code: &'static [&'static [u8]],
    /// Offset from the stack pointer of the saved registers.
    pub offset: u64,
    /// Their slots, in order; the instruction pointer follows them.
    pub slots: &'static [Slot],
}

/// All architectures.
const ALL: [&Architecture; 9] = [
    &x86_64::X86_64,
    &i386::I386,
    &aarch64::AARCH64,
    &arm::ARM,
    &riscv64::RISCV64,
    &s390x::S390X,
    &ppc64::PPC64,
    &loongarch64::LOONGARCH64,
    &mips::MIPS64,
];

impl Architecture {
    /// The architecture of a process: by the name of the recorded machine (`uname -m`), or else the ELF machine of its program.
    pub fn find(arch: Option<&str>, machine: Option<u16>, is_64: bool) -> Option<&'static Self> {
        let runs = |of: &Self| match arch.filter(|arch| machine::by_arch(arch).is_some()) {
            Some(arch) => of.machines.iter().any(|machine| machine::runs(arch, machine.0.into())),
            None => machine.is_some_and(|machine| of.machines.iter().any(|supported| supported.0 == machine)),
        };
        let size = if is_64 { 8 } else { 4 };
        ALL.into_iter().find(|of| of.pointer_size == size && runs(of))
    }

    /// The slot of a DWARF column; `None` if it is not tracked.
    #[inline]
    pub fn slot(&self, column: u16) -> Option<Slot> {
        match column {
            0..32 => Some(column as Slot),
            _ if column == u16::from(self.return_address) => Some(RETURN_SLOT),
            _ => None,
        }
    }

    /// perf's number of the register in which a call leaves its return address; `None` if calls push it.
    pub fn link_register(&self) -> Option<u8> {
        let column = Some(self.return_address).filter(|_| !self.pushes_return_address)?;
        let number = self.columns.iter().position(|tracked| *tracked == Some(column))?;
        u8::try_from(number).ok()
    }

    /// The address that a return address register contains.
    #[inline]
    pub fn code_address(&self, value: u64) -> u64 {
        self.wrapped(value & !self.ignored_bits)
    }

    /// An address with the width of this architecture's pointers.
    #[inline]
    pub fn wrapped(&self, address: u64) -> u64 {
        if self.pointer_size == 4 { address & u64::from(u32::MAX) } else { address }
    }
}

/// Columns that equal perf's register numbers, up to `N`.
const fn same<const N: usize>() -> [Column; N] {
    let mut columns = [None; N];
    let mut at = 0;
    while at < N {
        columns[at] = Some(at as u8);
        at += 1;
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_are_found_by_name_machine_and_abi() {
        let find = |arch, machine, is_64| Architecture::find(arch, machine, is_64).map(|of| of.machines[0]);
        assert_eq!(find(Some("x86_64"), None, true), Some(elf::EM_X86_64));
        assert_eq!(find(Some("x86_64"), None, false), Some(elf::EM_386));
        assert_eq!(find(Some("aarch64"), Some(62), false), Some(elf::EM_ARM));
        assert_eq!(find(None, Some(243), true), Some(elf::EM_RISCV));
        assert_eq!(find(Some("ppc64le"), None, true), Some(elf::EM_PPC64));
        assert_eq!(find(Some("armv7l"), None, false), Some(elf::EM_ARM));
        assert_eq!(find(None, None, true), None);
        assert_eq!(find(Some("vax"), Some(75), false), None);
    }

    #[test]
    fn link_registers_have_their_number_in_perf() {
        let numbers = ALL.map(|arch| (arch.machines[0], arch.link_register()));
        let of = |machine| numbers.iter().find(|(other, _)| *other == machine).and_then(|(_, number)| *number);
        assert_eq!([elf::EM_AARCH64, elf::EM_ARM, elf::EM_RISCV].map(of), [Some(30), Some(14), Some(1)]);
        assert_eq!([elf::EM_X86_64, elf::EM_386].map(of), [None, None]);
    }

    #[test]
    fn tables_are_consistent() {
        for of in ALL {
            let ip = of.columns.get(usize::from(of.ip)).unwrap_or_else(|| panic!("{of:?}"));
            let has_ip_column = of.pushes_return_address;
            assert_eq!(ip.is_some(), has_ip_column, "{of:?}");
            assert!(of.columns.contains(&Some(of.stack_pointer)) && of.slot(of.return_address.into()).is_some());
            assert!(of.columns.len() <= 64, "{of:?}");
        }
    }
}
