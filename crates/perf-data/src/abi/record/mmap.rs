//! `PERF_RECORD_MMAP`.

use super::RecordType;
use super::descriptor::RecordDescriptor;
use crate::abi::fields::{FieldVisitor, MappingFields, TextField, VisitFields};
use crate::abi::serde::readable;
use crate::abi::text::PaddedStr;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// An executable mapping, or with [`Misc::MMAP_DATA`](super::Misc::MMAP_DATA) another one. Since Linux 2.6.31.
///
/// ```c
/// u32 pid, tid; u64 addr, len, pgoff; char filename[];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mmap {
    /// Process ID; -1 for the kernel.
    pub pid: u32,
    /// Thread ID.
    pub tid: u32,
    /// First address.
    #[serde(serialize_with = "readable::hex")]
    pub addr: u64,
    /// Length in bytes.
    pub len: u64,
    /// Offset in the file in bytes; for the kernel, the address of the reference symbol.
    #[serde(serialize_with = "readable::hex")]
    pub pgoff: u64,
    /// Path, or a name such as `[vdso]`, `//anon`, `[kernel.kallsyms]_text`.
    pub filename: PaddedStr,
}

/// Descriptor of MMAP.
pub const MMAP: RecordDescriptor = RecordDescriptor::state(RecordType::MMAP, (2, 6), 41);

impl VisitFields for Mmap {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        let Self { pid, tid, addr, len, pgoff, filename } = self;
        let filename = TextField::new("filename", filename);
        visitor.mapping(MappingFields { pid: *pid, addr, len, pgoff, filename });
        visitor.own_process(pid.into());
        visitor.task(tid.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(
            &Mmap { pid: u32::MAX, tid: 2, addr: 0x1000, len: 0x20, pgoff: 3, filename: PaddedStr::new(b"//anon", 8) },
            (),
            "ffffffff 02000000 0010000000000000 2000000000000000 0300000000000000 '//anon' 0000",
            "ffffffff 00000002 0000000000001000 0000000000000020 0000000000000003 '//anon' 0000",
        );
    }
}
