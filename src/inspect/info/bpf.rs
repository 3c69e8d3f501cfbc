//! BPF programs, in the wording of `perf report --header-only -I`.

use perf_data::abi::Endian;
use perf_data::abi::feature::Feature;
use perf_data::abi::feature::bpf_btf::BpfBtf;
use perf_data::abi::feature::bpf_prog_info::{BpfFunction, BpfProg};
use perf_data::abi::feature::btf::Btf;
use std::collections::BTreeMap;

/// BTF types by BTF ID.
pub(super) struct Types(BTreeMap<u32, Btf>);

impl Types {
    /// The BTF types of a recording.
    pub(super) fn from_features<'a>(features: impl Iterator<Item = &'a Feature>) -> Self {
        let entries = features.flat_map(|feature| match feature {
            Feature::BpfBtf(BpfBtf { entries }) => &entries[..],
            _ => &[],
        });
        Self(entries.filter_map(|entry| Some((entry.id, entry.btf()?))).collect())
    }

    /// Name of a function, by the ID of its type in one of the BTF objects.
    fn name(&self, btf_id: u32, type_id: u32) -> Option<&[u8]> {
        let btf = self.0.get(&btf_id)?;
        let function = btf.types.get(type_id.checked_sub(1)? as usize)?;
        Some(btf.string(function.name_off)).filter(|name| !name.is_empty())
    }
}

/// The lines for a program and its functions.
pub(super) fn program(program: &BpfProg, types: &Types, endian: Endian) -> Vec<String> {
    let info = &program.info;
    let function = |function: BpfFunction<'_>| {
        let BpfFunction { address, size, tag, type_id } = function;
        let name = type_id.and_then(|type_id| types.name(info.btf_id, type_id)).unwrap_or(info.name.text());
        format!("{} addr {address:#x} size {size}", symbol(tag, name))
    };
    let functions: Vec<String> = program.functions(endian).map(function).collect();
    let title = format!("# bpf_prog_info {}:", info.id);
    match &*functions {
        [] => vec![format!("{title} {}", symbol(&info.tag, info.name.text()))],
        [function] => vec![format!("{title} {function}")],
        functions => {
            let part = |(at, function)| format!("#     sub_prog {at}: {function}");
            [title].into_iter().chain(functions.iter().enumerate().map(part)).collect()
        }
    }
}

/// Symbol name that the kernel gives a function of a program.
fn symbol(tag: &[u8], name: &[u8]) -> String {
    let tag: String = tag.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("bpf_prog_{tag}_{}", String::from_utf8_lossy(name))
}
