//! Prints registers, with perf's names.

use super::printer::Printer;
use perf_data::abi::sample::regs::RegsView;
use std::borrow::Cow;
use std::io::Write;

/// User registers.
pub(super) fn user_registers(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    let mask = printer.sample.decoded.event.layout.regs_user();
    print(printer.sample.decoded.view.regs_user, mask, printer.arch, out);
}

/// Registers of the interrupted code.
pub(super) fn interrupt_registers(printer: &mut Printer<'_>, out: &mut Vec<u8>) {
    let mask = printer.sample.decoded.event.layout.regs_intr();
    print(printer.sample.decoded.view.regs_intr, mask, printer.arch, out);
}

fn print(regs: Option<RegsView<'_>>, mask: u64, arch: &str, out: &mut Vec<u8>) {
    let Some(regs) = regs.filter(|regs| regs.abi != 0) else { return };
    // Writing to a vector cannot fail.
    let _ = write!(out, " ABI:{} ", regs.abi);
    for (bit, value) in regs.numbered(mask) {
        let _ = write!(out, "{:>5}:{value:#x} ", name(arch, bit.into()));
    }
}

/// Name of the register of a bit in a mask of the attr, by the kernel's `asm/perf_regs.h`.
fn name(arch: &str, bit: usize) -> Cow<'static, str> {
    const X86: [&str; 16] =
        ["AX", "BX", "CX", "DX", "SI", "DI", "BP", "SP", "IP", "FLAGS", "CS", "SS", "DS", "ES", "FS", "GS"];
    const ARM: [&str; 5] = ["fp", "ip", "sp", "lr", "pc"];
    const ARM64: [&str; 3] = ["lr", "sp", "pc"];
    const POWER: [&str; 13] =
        ["nip", "msr", "orig_r3", "ctr", "link", "xer", "ccr", "softe", "trap", "dar", "dsisr", "sier", "mmcra"];
    const S390: [&str; 2] = ["MASK", "PC"];
    const RISCV: [&str; 32] = [
        "pc", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7",
        "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
    ];
    let name: Option<Cow<'static, str>> = match (arch, bit) {
        ("x86_64" | "i386" | "i486" | "i586" | "i686", 0..16) => Some(X86[bit].into()),
        ("x86_64" | "i386" | "i486" | "i586" | "i686", 16..24) => Some(format!("R{}", bit - 8).into()),
        ("x86_64" | "i386" | "i486" | "i586" | "i686", 32..64) => Some(format!("XMM{}", (bit - 32) / 2).into()),
        ("aarch64" | "arm64", 0..30) => Some(format!("x{bit}").into()),
        ("aarch64" | "arm64", 46) => Some("vg".into()),
        ("aarch64" | "arm64", _) => ARM64.get(bit - 30).map(|&name| name.into()),
        ("s390x" | "s390", 0..16) => Some(format!("R{bit}").into()),
        ("s390x" | "s390", 16..32) => Some(format!("FP{}", bit - 16).into()),
        ("s390x" | "s390", _) => S390.get(bit - 32).map(|&name| name.into()),
        (arch, 0..32) if arch.starts_with("ppc") => Some(format!("r{bit}").into()),
        (arch, _) if arch.starts_with("ppc") => POWER.get(bit - 32).map(|&name| name.into()),
        (arch, _) if arch.starts_with("riscv") => RISCV.get(bit).map(|&name| name.into()),
        (arch, 0..11) if arch.starts_with("arm") => Some(format!("r{bit}").into()),
        (arch, _) if arch.starts_with("arm") => ARM.get(bit - 11).map(|&name| name.into()),
        _ => None,
    };
    name.unwrap_or("unknown".into())
}
