//! `PERF_RECORD_KSYMBOL`.

use super::descriptor::{RecordDescriptor, RecordFlags};
use super::{CpuMode, RecordType};
use crate::abi::bit_set::bit_set;
use crate::abi::fields::{FieldVisitor, TextField, TextRole, VisitFields};
use crate::abi::open_enum::open_enum;
use crate::abi::serde::readable;
use crate::abi::text::PaddedStr;
use binrw::binrw;
use serde::{Deserialize, Serialize};

open_enum! {
    /// `PERF_RECORD_KSYMBOL_TYPE_*`: type of a kernel symbol.
    KsymbolType: u16 {
        /// Not recorded.
        UNKNOWN = 0,
        /// A BPF program.
        BPF = 1,
        /// Out-of-line code such as kprobes and trampolines.
        OOL = 2,
    }
}

bit_set! {
    /// `PERF_RECORD_KSYMBOL_FLAGS_*`.
    KsymbolFlags: u16 {
        /// The symbol was unregistered.
        UNREGISTER = 1 << 0,
    }
}

/// A kernel symbol was registered or unregistered. Since Linux 5.1.
///
/// ```c
/// u64 addr; u32 len; u16 ksym_type; u16 flags; char name[];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ksymbol {
    /// First address.
    #[serde(serialize_with = "readable::hex")]
    pub addr: u64,
    /// Size in bytes.
    pub len: u32,
    /// Type.
    pub kind: KsymbolType,
    /// Flags.
    pub flags: KsymbolFlags,
    /// Name, such as `bpf_prog_<tag>_<name>`.
    pub name: PaddedStr,
}

/// Descriptor of KSYMBOL.
pub const KSYMBOL: RecordDescriptor =
    RecordDescriptor::state(RecordType::KSYMBOL, (5, 1), 25).with(RecordFlags::KERNEL_CODE);

impl VisitFields for Ksymbol {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        let Self { addr, len, kind: _, flags: _, name } = self;
        visitor.code(CpuMode::KERNEL, addr, (*len).into());
        visitor.text(TextRole::Symbol, TextField::new("name", name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(
            &Ksymbol {
                addr: 0x1000,
                len: 0x20,
                kind: KsymbolType::OOL,
                flags: KsymbolFlags::UNREGISTER,
                name: PaddedStr::new(b"probe", 8),
            },
            (),
            "0010000000000000 20000000 0200 0100 'probe' 000000",
            "0000000000001000 00000020 0002 0001 'probe' 000000",
        );
    }
}
