//! Register names by their bits in the masks of attrs.

/// x86, 32 and 64 bits: `enum perf_event_x86_regs`.
const X86: [&str; 24] = [
    "AX", "BX", "CX", "DX", "SI", "DI", "BP", "SP", "IP", "FLAGS", "CS", "SS", "DS", "ES", "FS", "GS", "R8", "R9",
    "R10", "R11", "R12", "R13", "R14", "R15",
];

/// 64-bit Arm: `enum perf_event_arm_regs`.
const ARM64: [&str; 33] = [
    "X0", "X1", "X2", "X3", "X4", "X5", "X6", "X7", "X8", "X9", "X10", "X11", "X12", "X13", "X14", "X15", "X16", "X17",
    "X18", "X19", "X20", "X21", "X22", "X23", "X24", "X25", "X26", "X27", "X28", "X29", "LR", "SP", "PC",
];

/// The registers of an architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registers {
    /// Names, indexed by bit.
    pub names: &'static [&'static str],
    /// Bit of the instruction pointer.
    pub ip: usize,
    /// Bit of the stack pointer.
    pub sp: usize,
}

impl Registers {
    /// The registers of an architecture as named by `uname -m`; `None` if it is not supported.
    pub(crate) fn for_arch(arch: &str) -> Option<Self> {
        match arch {
            "x86_64" | "i386" | "i686" => Some(Self { names: &X86, ip: 8, sp: 7 }),
            "aarch64" | "arm64" => Some(Self { names: &ARM64, ip: 32, sp: 31 }),
            _ => None,
        }
    }

    pub(crate) fn bit(self, name: &str) -> Option<usize> {
        self.names.iter().position(|register| *register == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_have_the_kernels_bits() {
        let x86 = Registers::for_arch("x86_64").unwrap();
        assert_eq!((x86.bit("AX"), x86.bit("SP"), x86.bit("R15"), x86.bit("EAX")), (Some(0), Some(7), Some(23), None));
        let arm = Registers::for_arch("aarch64").unwrap();
        assert_eq!((arm.bit("X29"), arm.bit("LR"), arm.names[arm.ip]), (Some(29), Some(30), "PC"));
        assert_eq!(Registers::for_arch("s390x"), None);
    }
}
