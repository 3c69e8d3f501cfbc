//! `[[program]]`, `[kernel]`, `[guest_kernel]`, `[[bpf]]`.

use serde::Deserialize;
use toml::Spanned;

/// A program or a library.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramTable {
    /// Where it is: an absolute path.
    pub path: Spanned<String>,
    /// Its functions, one behind the other.
    pub functions: Vec<Spanned<String>>,
    /// Bytes that each of them takes.
    #[serde(default = "function_size")]
    pub function_size: Spanned<u64>,
}

/// A kernel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelTable {
    /// Its functions, one behind the other.
    pub functions: Vec<Spanned<String>>,
    /// Bytes that each of them takes.
    #[serde(default = "function_size")]
    pub function_size: Spanned<u64>,
}

fn function_size() -> Spanned<u64> {
    Spanned::new(0..0, 256)
}

/// A BPF program, which is loaded when the recording begins.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BpfTable {
    /// Its name. Stacks have it as `bpf_prog_TAG_NAME`, as the kernel calls it.
    pub name: Spanned<String>,
    /// Its number.
    pub id: u32,
    /// The hash of its instructions: 16 hexadecimal digits.
    pub tag: Spanned<String>,
    /// Bytes of its machine code.
    #[serde(default = "function_size")]
    pub size: Spanned<u64>,
}
