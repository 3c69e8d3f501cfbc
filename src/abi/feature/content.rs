//! The content of a feature section, whatever the feature.

use super::auxtrace::AuxtraceIndex;
use super::bpf_btf::BpfBtf;
use super::bpf_prog_info::BpfProgInfos;
use super::build_ids::BuildIds;
use super::cache::Caches;
use super::cln_size::ClnSize;
use super::clock_data::ClockData;
use super::clockid::ClockId;
use super::compressed::Compression;
use super::cpu_domain_info::CpuDomainInfo;
use super::cpu_topology::CpuTopology;
use super::descriptor::FeatureDescriptor;
use super::dir_format::DirFormat;
use super::e_machine::EMachine;
use super::event_desc::EventDescs;
use super::group_desc::GroupDesc;
use super::hybrid_topology::HybridTopology;
use super::mark::Mark;
use super::mem_topology::MemTopology;
use super::nr_cpus::NrCpus;
use super::numa_topology::NumaTopology;
use super::pmu_caps::{Caps, PmuCaps};
use super::pmu_mappings::PmuMappings;
use super::sample_time::SampleTime;
use super::string::{PerfStr, StrList};
use super::total_mem::TotalMem;
use super::tracing_data::TracingData;
use super::{FeatureContext, FeatureId};
use super::{
    auxtrace, bpf_btf, bpf_prog_info, build_ids, cache, cln_size, clock_data, clockid, compressed, cpu_domain_info,
    cpu_topology, dir_format, e_machine, event_desc, group_desc, hybrid_topology, mark, mem_topology, nr_cpus,
    numa_topology, pmu_caps, pmu_mappings, sample_time, string, total_mem, tracing_data,
};
use crate::abi::fields::{FieldVisitor, TextField, TextRole, VisitFields};
use crate::abi::{self, Endian};
use binrw::{BinResult, BinWrite};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::io::{Seek, Write};

/// Declares [`Feature`] from the list of features: each with its variant, its definition, the module that has its
/// descriptor, the role of one that is a text, and what the definition needs to know to be read.
macro_rules! features {
    ($context:ident; $($id:ident => $variant:ident($content:ty) in $module:ident $(as $role:ident)? $(with $args:expr)?;)*) => {
        /// The content of a feature section, without what its definition does not cover.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Feature {
            $(
                #[doc = concat!("[`", stringify!($id), "`](FeatureId::", stringify!($id), ").")]
                $variant($content),
            )*
            /// A feature that is not known here, or bytes that are not what the feature's definition says.
            Opaque(Vec<u8>),
        }

        impl Feature {
            fn parse(
                id: FeatureId,
                bytes: &[u8],
                endian: Endian,
                $context: &FeatureContext,
            ) -> BinResult<Option<(Self, usize)>> {
                Ok(Some(match id {
                    $(
                        FeatureId::$id => {
                            let args = { $($args)? };
                            let (content, used) = abi::parse(bytes, endian, args)?;
                            (Self::$variant(content), used)
                        }
                    )*
                    _ => return Ok(None),
                }))
            }

            /// Passes each field that has a role to the visitor. Opaque bytes have none.
            pub fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
                match self {
                    $(Self::$variant(content) => roles_of!(visitor, content $(, $role)?),)*
                    Self::Opaque(_) => {}
                }
            }

            /// Writes the content.
            ///
            /// # Errors
            /// Those of the writer.
            pub fn write<W: Write + Seek>(&self, writer: &mut W, endian: Endian) -> BinResult<()> {
                match self {
                    $(Self::$variant(content) => content.write_options(writer, endian, ()),)*
                    Self::Opaque(bytes) => Ok(writer.write_all(bytes)?),
                }
            }

            /// Reads the fields of a feature, as [`Serialize`] tells them. There are none of a feature that is not known.
            ///
            /// # Errors
            /// Those of the deserializer.
            pub fn deserialize<'de, D: Deserializer<'de>>(id: FeatureId, deserializer: D) -> Result<Self, D::Error> {
                match id {
                    $(FeatureId::$id => Deserialize::deserialize(deserializer).map(Self::$variant),)*
                    _ => Err(D::Error::custom(format_args!("feature {id} has no fields that are known"))),
                }
            }
        }

        impl FeatureId {
            /// What is known about the feature; `None` where it is unknown.
            pub fn descriptor(self) -> Option<&'static FeatureDescriptor> {
                match self {
                    $(Self::$id => Some(&$module::$id),)*
                    _ => None,
                }
            }
        }

        impl Serialize for Feature {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$variant(content) => content.serialize(serializer),)*
                    Self::Opaque(bytes) => serde_bytes::serialize(bytes, serializer),
                }
            }
        }
    };
}

/// Visits the fields of a feature; one that is a single text has its role in the table.
macro_rules! roles_of {
    ($visitor:ident, $content:ident) => {
        $content.visit_fields($visitor)
    };
    ($visitor:ident, $content:ident, $role:ident) => {
        $visitor.text(TextRole::$role, TextField::new("text", $content))
    };
}

features! { context;
    TRACING_DATA => TracingData(TracingData) in tracing_data;
    BUILD_ID => BuildIds(BuildIds) in build_ids;
    HOSTNAME => Hostname(PerfStr) in string as Host;
    OSRELEASE => OsRelease(PerfStr) in string as Version;
    VERSION => Version(PerfStr) in string as Version;
    ARCH => Arch(PerfStr) in string as Arch;
    NRCPUS => NrCpus(NrCpus) in nr_cpus;
    CPUDESC => CpuDesc(PerfStr) in string as Hardware;
    CPUID => CpuId(PerfStr) in string as Hardware;
    TOTAL_MEM => TotalMem(TotalMem) in total_mem;
    CMDLINE => Cmdline(StrList) in string;
    EVENT_DESC => EventDescs(EventDescs) in event_desc;
    CPU_TOPOLOGY => CpuTopology(CpuTopology) in cpu_topology with (context.nr_cpus.map(|nr| nr.nr_cpus_avail),);
    NUMA_TOPOLOGY => NumaTopology(NumaTopology) in numa_topology;
    BRANCH_STACK => BranchStack(Mark) in mark;
    PMU_MAPPINGS => PmuMappings(PmuMappings) in pmu_mappings;
    GROUP_DESC => GroupDesc(GroupDesc) in group_desc;
    AUXTRACE => Auxtrace(AuxtraceIndex) in auxtrace;
    STAT => Stat(Mark) in mark;
    CACHE => Caches(Caches) in cache;
    SAMPLE_TIME => SampleTime(SampleTime) in sample_time;
    MEM_TOPOLOGY => MemTopology(MemTopology) in mem_topology;
    CLOCKID => ClockId(ClockId) in clockid;
    DIR_FORMAT => DirFormat(DirFormat) in dir_format;
    BPF_PROG_INFO => BpfProgInfos(BpfProgInfos) in bpf_prog_info;
    BPF_BTF => BpfBtf(BpfBtf) in bpf_btf;
    COMPRESSED => Compression(Compression) in compressed;
    CPU_PMU_CAPS => CpuPmuCaps(Caps) in pmu_caps;
    CLOCK_DATA => ClockData(ClockData) in clock_data;
    HYBRID_TOPOLOGY => HybridTopology(HybridTopology) in hybrid_topology;
    PMU_CAPS => PmuCaps(PmuCaps) in pmu_caps;
    CPU_DOMAIN_INFO => CpuDomainInfo(CpuDomainInfo) in cpu_domain_info with (context.nr_cpus.map(|nr| nr.nr_cpus_online),);
    E_MACHINE => EMachine(EMachine) in e_machine;
    CLN_SIZE => ClnSize(ClnSize) in cln_size;
}

impl Feature {
    /// Reads the content of a section from exactly its bytes; what its definition does not cover comes second. A feature
    /// that is not known, and bytes that the definition does not fit, are [`Opaque`](Self::Opaque).
    pub fn read<'a>(id: FeatureId, bytes: &'a [u8], endian: Endian, context: &FeatureContext) -> (Self, &'a [u8]) {
        match Self::parse(id, bytes, endian, context) {
            Ok(Some((feature, used))) => (feature, &bytes[used..]),
            Ok(None) | Err(_) => (Self::Opaque(bytes.to_vec()), &[]),
        }
    }
}
