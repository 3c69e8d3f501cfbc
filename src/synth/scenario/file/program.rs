//! `[[program]]`, `[kernel]`, `[guest_kernel]`, `[[bpf]]`.

use serde::Deserialize;
use toml::Spanned;

/// A program or a library.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProgramTable {
    /// Absolute path.
    pub path: Spanned<String>,
    /// Names of its functions, in address order.
    pub functions: Vec<Spanned<String>>,
    /// Size of each function in bytes.
    #[serde(default = "function_size")]
    pub function_size: Spanned<u64>,
}

/// A kernel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KernelTable {
    /// Names of its functions, in address order.
    pub functions: Vec<Spanned<String>>,
    /// Size of each function in bytes.
    #[serde(default = "function_size")]
    pub function_size: Spanned<u64>,
}

fn function_size() -> Spanned<u64> {
    Spanned::new(0..0, 256)
}

/// A BPF program, loaded at the beginning of the recording.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BpfTable {
    /// Its name. Stacks contain the kernel's name for it, `bpf_prog_TAG_NAME`.
    pub name: Spanned<String>,
    /// ID.
    pub id: u32,
    /// Tag, the hash of its instructions: 16 hexadecimal digits.
    pub tag: Spanned<String>,
    /// Size of its machine code in bytes.
    #[serde(default = "function_size")]
    pub size: Spanned<u64>,
}
