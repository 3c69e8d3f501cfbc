//! BPF programs that were loaded.

use super::about::About;
use crate::abi::feature::bpf_prog_info::{BpfArrays, BpfProg, BpfProgInfo, BpfProgInfos};
use crate::abi::feature::{Feature, FeatureId};
use crate::abi::hex::to_hex;
use crate::abi::record::Body;
use crate::abi::record::bpf_event::{BpfEvent, BpfEventType};
use crate::abi::record::ksymbol::{Ksymbol, KsymbolFlags, KsymbolType};
use crate::abi::text::PaddedStr;
use crate::abi::{self, Endian};

/// A BPF program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BpfProgram {
    /// Its own name.
    pub name: String,
    /// Its number.
    pub id: u32,
    /// Hash of its instructions.
    pub tag: [u8; 8],
    /// Where its machine code is.
    pub addr: u64,
    /// Bytes of its machine code.
    pub size: u32,
}

impl BpfProgram {
    /// `BPF_PROG_TYPE_KPROBE`.
    const KPROBE: u32 = 2;
    /// Bytes of `struct bpf_prog_info` as of Linux 6.1.
    const INFO: usize = 232;

    /// The name that the kernel gives to its code.
    pub fn symbol(&self) -> String {
        format!("bpf_prog_{}_{}", to_hex(&self.tag), self.name)
    }

    /// The record that tells the symbol.
    pub fn ksymbol(&self) -> Body {
        let (kind, flags) = (KsymbolType::BPF, KsymbolFlags::empty());
        let name = PaddedStr::new(self.symbol().as_bytes(), 8);
        Body::Ksymbol(Ksymbol { addr: self.addr, len: self.size, kind, flags, name })
    }

    /// The record that tells that it was loaded.
    pub fn loaded(&self) -> Body {
        Body::BpfEvent(BpfEvent { kind: BpfEventType::PROG_LOAD, flags: 0, id: self.id, tag: self.tag })
    }

    /// What feature BPF_PROG_INFO tells of it: a function, without its code. `None` never: there is room for all of it.
    fn info(&self, endian: Endian) -> Option<BpfProg> {
        let (mut info, _) = abi::parse::<BpfProgInfo>(&[0; Self::INFO], endian, Self::INFO).ok()?;
        (info.kind, info.id, info.tag) = (Self::KPROBE, self.id, self.tag);
        (info.jited_prog_len, info.gpl_compatible) = (self.size, 0);
        (info.nr_jited_ksyms, info.nr_jited_func_lens, info.nr_prog_tags) = (1, 1, 1);
        // Each array is filled up to a multiple of 8.
        (info.jited_ksyms, info.jited_func_lens, info.prog_tags) = (0, 8, 16);
        let (addr, size) = match endian {
            Endian::Little => (self.addr.to_le_bytes(), self.size.to_le_bytes()),
            Endian::Big => (self.addr.to_be_bytes(), self.size.to_be_bytes()),
        };
        let data = [&addr[..], &size, &[0; 4], &self.tag].concat();
        let arrays = BpfArrays::JITED_KSYMS | BpfArrays::JITED_FUNC_LENS | BpfArrays::PROG_TAGS;
        Some(BpfProg { arrays, info, data })
    }
}

/// Has a recording tell programs in its feature BPF_PROG_INFO, if there are any.
pub fn describe(programs: &[BpfProgram], about: &mut About) {
    let infos: Option<Vec<_>> = programs.iter().map(|program| program.info(about.endian)).collect();
    if let Some(programs) = infos.filter(|infos| !infos.is_empty()) {
        about.set_if_absent(FeatureId::BPF_PROG_INFO, Feature::BpfProgInfos(BpfProgInfos { programs }));
    }
}
