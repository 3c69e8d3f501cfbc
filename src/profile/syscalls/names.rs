//! Names of system calls by their numbers, which differ between architectures.

/// The name of a system call of a machine, as `uname -m` names that.
#[cfg(feature = "syscalls")]
pub(super) fn syscall_name(machine: &str, number: i64) -> Option<&'static str> {
    let number = i32::try_from(number).ok()?.into();
    macro_rules! names {
        ($($pattern:pat => $arch:ident,)*) => {
            match machine {
                $($pattern => syscall_numbers::$arch::sys_call_name(number),)*
                _ => None,
            }
        };
    }
    names! {
        "x86_64" => x86_64,
        "i386" | "i486" | "i586" | "i686" => x86,
        "aarch64" | "aarch64_be" | "arm64" => aarch64,
        "armv5tel" | "armv6l" | "armv7l" | "armv8l" | "arm" => arm,
        "riscv64" => riscv64,
        "riscv32" => riscv32,
        "ppc64" | "ppc64le" => powerpc64,
        "ppc" => powerpc,
        "s390x" => s390x,
        "loongarch64" => loongarch64,
        "mips64" => mips64,
        "mips" => mips,
    }
}

/// Names of system calls need the feature `syscalls`.
#[cfg(not(feature = "syscalls"))]
pub(super) fn syscall_name(_: &str, _: i64) -> Option<&'static str> {
    None
}
