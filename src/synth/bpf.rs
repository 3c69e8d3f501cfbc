//! Loaded BPF programs.

use super::metadata::Metadata;
use perf_data::abi::bytes::Integer;
use perf_data::abi::feature::bpf_prog_info::{BpfArrays, BpfProg, BpfProgInfo, BpfProgInfos};
use perf_data::abi::feature::{Feature, FeatureId};
use perf_data::abi::hex::to_hex;
use perf_data::abi::record::Body;
use perf_data::abi::record::bpf_event::{BpfEvent, BpfEventType};
use perf_data::abi::record::ksymbol::{Ksymbol, KsymbolFlags, KsymbolType};
use perf_data::abi::text::PaddedStr;
use perf_data::abi::{self, Endian};

/// A BPF program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BpfProgram {
    /// Name.
    pub name: String,
    /// ID.
    pub id: u32,
    /// Tag: hash of the instructions.
    pub tag: [u8; 8],
    /// Address of the machine code.
    pub addr: u64,
    /// Size of the machine code in bytes.
    pub size: u32,
}

impl BpfProgram {
    /// `BPF_PROG_TYPE_KPROBE`.
    const KPROBE: u32 = 2;
    /// Size of `struct bpf_prog_info` in Linux 6.1.
    const INFO: usize = 232;

    /// The kernel's symbol for its code.
    pub(crate) fn symbol(&self) -> String {
        format!("bpf_prog_{}_{}", to_hex(&self.tag), self.name)
    }

    /// The KSYMBOL record.
    pub(crate) fn ksymbol(&self) -> Body {
        let (kind, flags) = (KsymbolType::BPF, KsymbolFlags::empty());
        let name = PaddedStr::new(self.symbol().as_bytes(), 8);
        Body::Ksymbol(Ksymbol { addr: self.addr, len: self.size, kind, flags, name })
    }

    /// The BPF_EVENT record of the load.
    pub(crate) fn loaded(&self) -> Body {
        Body::BpfEvent(BpfEvent { kind: BpfEventType::PROG_LOAD, flags: 0, id: self.id, tag: self.tag })
    }

    /// Its entry in the feature BPF_PROG_INFO: one function, without code. Always `Some`: the size is sufficient.
    fn info(&self, endian: Endian) -> Option<BpfProg> {
        let (mut info, _) = abi::parse::<BpfProgInfo>(&[0; Self::INFO], endian, Self::INFO).ok()?;
        (info.kind, info.id, info.tag) = (Self::KPROBE, self.id, self.tag);
        (info.jited_prog_len, info.gpl_compatible) = (self.size, 0);
        (info.nr_jited_ksyms, info.nr_jited_func_lens, info.nr_prog_tags) = (1, 1, 1);
        // Each array is padded to a multiple of 8 bytes.
        (info.jited_ksyms, info.jited_func_lens, info.prog_tags) = (0, 8, 16);
        let data = [&self.addr.to_bytes(endian)[..], &self.size.to_bytes(endian), &[0; 4], &self.tag].concat();
        let arrays = BpfArrays::JITED_KSYMS | BpfArrays::JITED_FUNC_LENS | BpfArrays::PROG_TAGS;
        Some(BpfProg { arrays, info, data })
    }
}

/// Sets the feature BPF_PROG_INFO, if there are programs.
pub(crate) fn describe(programs: &[BpfProgram], metadata: &mut Metadata) {
    let infos: Option<Vec<_>> = programs.iter().map(|program| program.info(metadata.endian)).collect();
    if let Some(programs) = infos.filter(|infos| !infos.is_empty()) {
        metadata.set_if_absent(FeatureId::BPF_PROG_INFO, Feature::BpfProgInfos(BpfProgInfos { programs }));
    }
}
