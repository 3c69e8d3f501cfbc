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
use crate::abi::{self, Endian};
use binrw::{BinResult, BinWrite};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::io::{Seek, Write};

/// Declares [`Feature`] from the list of features: each with its variant, its definition, and what the definition needs to
/// know to be read.
macro_rules! features {
    ($context:ident; $($id:ident => $variant:ident($content:ty) $(with $args:expr)?;)*) => {
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

features! { context;
    TRACING_DATA => TracingData(TracingData);
    BUILD_ID => BuildIds(BuildIds);
    HOSTNAME => Hostname(PerfStr);
    OSRELEASE => OsRelease(PerfStr);
    VERSION => Version(PerfStr);
    ARCH => Arch(PerfStr);
    NRCPUS => NrCpus(NrCpus);
    CPUDESC => CpuDesc(PerfStr);
    CPUID => CpuId(PerfStr);
    TOTAL_MEM => TotalMem(TotalMem);
    CMDLINE => Cmdline(StrList);
    EVENT_DESC => EventDescs(EventDescs);
    CPU_TOPOLOGY => CpuTopology(CpuTopology) with (context.nr_cpus.map(|nr| nr.nr_cpus_avail),);
    NUMA_TOPOLOGY => NumaTopology(NumaTopology);
    BRANCH_STACK => BranchStack(Mark);
    PMU_MAPPINGS => PmuMappings(PmuMappings);
    GROUP_DESC => GroupDesc(GroupDesc);
    AUXTRACE => Auxtrace(AuxtraceIndex);
    STAT => Stat(Mark);
    CACHE => Caches(Caches);
    SAMPLE_TIME => SampleTime(SampleTime);
    MEM_TOPOLOGY => MemTopology(MemTopology);
    CLOCKID => ClockId(ClockId);
    DIR_FORMAT => DirFormat(DirFormat);
    BPF_PROG_INFO => BpfProgInfos(BpfProgInfos);
    BPF_BTF => BpfBtf(BpfBtf);
    COMPRESSED => Compression(Compression);
    CPU_PMU_CAPS => CpuPmuCaps(Caps);
    CLOCK_DATA => ClockData(ClockData);
    HYBRID_TOPOLOGY => HybridTopology(HybridTopology);
    PMU_CAPS => PmuCaps(PmuCaps);
    CPU_DOMAIN_INFO => CpuDomainInfo(CpuDomainInfo) with (context.nr_cpus.map(|nr| nr.nr_cpus_online),);
    E_MACHINE => EMachine(EMachine);
    CLN_SIZE => ClnSize(ClnSize);
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
