//! Feature CPU_TOPOLOGY.

use super::FeatureId;
use super::descriptor::FeatureDescriptor;
use super::string::StrList;
use crate::abi::counted;
use crate::abi::fields::{FieldVisitor, TextField, TextRole, VisitFields};
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Topology of threads, cores, dies and sockets. Since perf 3.2.
///
/// ```c
/// u32 nr; string cores[nr];
/// u32 nr; string threads[nr];
/// struct { u32 core_id, socket_id; } cpus[nr_cpus_avail];  // since perf 4.4
/// u32 nr; string dies[nr];                                 // since perf 5.3, where there are dies
/// u32 die_ids[nr_cpus_avail];
/// ```
/// Decoding needs the number of CPUs (feature NRCPUS), without which the parts after the threads are left to the caller.
#[binrw]
#[br(import(nr_cpus_avail: Option<u32>))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTopology {
    /// Lists of CPUs that share a socket, such as `0-3`.
    pub cores: StrList,
    /// Lists of CPUs that share a core.
    pub threads: StrList,
    /// Core and socket of each CPU, or empty.
    #[br(try, parse_with = counted::items, args(nr_cpus_avail.unwrap_or(0).into()))]
    pub cpus: Vec<CpuPlace>,
    /// Dies.
    #[br(if(!cpus.is_empty()), try, args(cpus.len() as u64))]
    pub dies: Option<Dies>,
}

/// Location of a CPU.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuPlace {
    /// Core ID, unique within the socket.
    pub core_id: u32,
    /// Socket ID.
    pub socket_id: u32,
}

/// The dies.
#[binrw]
#[br(import(nr_cpus_avail: u64))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dies {
    /// Lists of CPUs that share a die.
    pub dies: StrList,
    /// Die ID of each CPU.
    #[br(parse_with = counted::items, args(nr_cpus_avail))]
    pub die_ids: Vec<u32>,
}

/// Descriptor of CPU_TOPOLOGY.
pub const CPU_TOPOLOGY: FeatureDescriptor = FeatureDescriptor::machine(FeatureId::CPU_TOPOLOGY, (3, 2));

impl VisitFields for CpuTopology {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        let Self { cores, threads, cpus: _, dies } = self;
        let dies = dies.as_mut().map(|Dies { dies, die_ids: _ }| dies);
        for (name, list) in [("cores", Some(cores)), ("threads", Some(threads)), ("dies", dies)] {
            for text in list.into_iter().flat_map(|list| &mut list.strings) {
                visitor.text(TextRole::Topology, TextField::new(name, text));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::feature::string::PerfStr;
    use crate::abi::testing::{both_orders, hex};
    use crate::abi::{self, Endian};

    fn list(text: &[u8]) -> StrList {
        StrList { strings: vec![PerfStr { bytes: text.to_vec() }] }
    }

    #[test]
    fn bytes_of_each_revision() {
        let mut topology = CpuTopology { cores: list(b"0-1"), threads: list(b"0,1"), cpus: Vec::new(), dies: None };
        let (mut little, mut big) = (
            "01000000 03000000 '0-1' 01000000 03000000 '0,1' ".to_owned(),
            "00000001 00000003 '0-1' 00000001 00000003 '0,1' ".to_owned(),
        );
        both_orders(&topology, (Some(2),), &little, &big);
        both_orders(&topology, (None,), &little, &big);
        topology.cpus = vec![CpuPlace { core_id: 0, socket_id: 1 }, CpuPlace { core_id: 2, socket_id: 3 }];
        little += "00000000 01000000 02000000 03000000 ";
        big += "00000000 00000001 00000002 00000003 ";
        both_orders(&topology, (Some(2),), &little, &big);
        topology.dies = Some(Dies { dies: list(b"0-1"), die_ids: vec![5, 6] });
        little += "01000000 03000000 '0-1' 05000000 06000000";
        big += "00000001 00000003 '0-1' 00000005 00000006";
        both_orders(&topology, (Some(2),), &little, &big);
        let (_, used) = abi::parse::<CpuTopology>(&hex(&little), Endian::Little, (None,)).unwrap();
        assert_eq!(used, 22, "without the number of CPUs only the names are read");
    }
}
