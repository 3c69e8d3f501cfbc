//! Machines of images.

use super::image::ImageTarget;
use object::elf;
use perf_data::abi::Endian;

/// Prefixes of architecture names from uname(2), with the ELF machines of the programs they run.
const ARCHES: [(&str, &[elf::Machine]); 17] = [
    ("x86_64", &[elf::EM_X86_64, elf::EM_386]),
    ("ia64", &[elf::EM_IA_64, elf::EM_386]),
    // i386 to i686.
    ("i", &[elf::EM_386, elf::EM_X86_64]),
    ("aarch64", &[elf::EM_AARCH64, elf::EM_ARM]),
    ("arm64", &[elf::EM_AARCH64, elf::EM_ARM]),
    ("arm", &[elf::EM_ARM, elf::EM_AARCH64]),
    ("ppc64", &[elf::EM_PPC64, elf::EM_PPC]),
    ("ppc", &[elf::EM_PPC, elf::EM_PPC64]),
    ("s390", &[elf::EM_S390]),
    ("riscv", &[elf::EM_RISCV]),
    ("loongarch", &[elf::EM_LOONGARCH]),
    ("mips", &[elf::EM_MIPS]),
    ("sparc64", &[elf::EM_SPARCV9, elf::EM_SPARC]),
    ("sparc", &[elf::EM_SPARC, elf::EM_SPARCV9]),
    ("parisc", &[elf::EM_PARISC]),
    ("alpha", &[elf::EM_ALPHA]),
    ("csky", &[elf::EM_CSKY]),
];

/// ELF machines that an architecture runs; `None` if it is unknown.
fn machines(arch: &str) -> Option<&'static [elf::Machine]> {
    ARCHES.iter().find(|(prefix, _)| arch.starts_with(prefix)).map(|(_, machines)| *machines)
}

/// Whether a recorded architecture runs programs of a machine; true for unknown architectures.
pub fn runs(arch: &str, machine: u32) -> bool {
    machines(arch).is_none_or(|machines| machines.iter().any(|supported| u32::from(supported.0) == machine))
}

/// ELF machine of native programs.
pub fn by_arch(arch: &str) -> Option<u16> {
    Some(machines(arch)?.first()?.0)
}

/// ELF machine of the code in a jitdump. CPython 3.13 writes 0, and perf does not read the field, so the recorded architecture
/// decides where the two disagree.
pub fn for_jit_dump(elf_mach: u32, arch: Option<&str>) -> u16 {
    let stated = u16::try_from(elf_mach).ok().filter(|&machine| machine != 0);
    let stated = stated.filter(|_| arch.is_none_or(|arch| runs(arch, elf_mach)));
    // The machine is irrelevant for symbols.
    stated.or_else(|| by_arch(arch?)).unwrap_or(elf::EM_X86_64.0)
}

/// Properties of images for a machine and code up to address `end`.
pub fn target(machine: u16, endian: Endian, end: u64) -> ImageTarget {
    let of_4_bytes = [elf::EM_386, elf::EM_ARM, elf::EM_PPC, elf::EM_SPARC, elf::EM_MIPS, elf::EM_PARISC, elf::EM_CSKY];
    let is_64 = !of_4_bytes.contains(&elf::Machine(machine)) || end > u32::MAX.into();
    ImageTarget { machine, is_64, endian }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_architecture_runs_programs_of_its_machines() {
        assert!(runs("x86_64", 62) && runs("x86_64", 3) && runs("i686", 3) && !runs("x86_64", 183));
        assert!(runs("aarch64", 183) && runs("armv7l", 40) && !runs("s390x", 62) && runs("pdp11", 62));
        assert_eq!((by_arch("x86_64"), by_arch("ppc64le"), by_arch("pdp11")), (Some(62), Some(21), None));
        let of_dumps = [(62, None), (0, Some("aarch64")), (3, Some("x86_64")), (183, Some("x86_64")), (1 << 16, None)];
        assert_eq!(of_dumps.map(|(machine, arch)| for_jit_dump(machine, arch)), [62, 183, 3, 62, 62]);
        assert!(target(62, Endian::Little, 0).is_64 && !target(3, Endian::Little, 0).is_64);
    }
}
