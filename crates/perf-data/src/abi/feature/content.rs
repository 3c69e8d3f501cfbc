//! The content of a feature section of any feature.

use super::descriptor::FeatureDescriptor;
use super::*;
use crate::abi::fields::{FieldVisitor, TextField, TextRole, VisitFields};
use crate::abi::open_enum::open_enum;
use crate::abi::{self, Endian};
use binrw::{BinResult, BinWrite};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::io::{Seek, Write};

/// Declares [`FeatureId`] and [`Feature`] from a table of features: number, variant, definition, module with the descriptor, role
/// if the content is a string, and arguments for decoding.
macro_rules! features {
    ($context:ident; $(
        $(#[doc = $doc:expr])* $(#[cfg($cfg:meta)])?
        $id:ident = $number:literal => $variant:ident($content:ty) in $module:ident $(as $role:ident)? $(with $args:expr)?;
    )*) => {
        open_enum! {
            /// Feature ID: the bit in the file header, or `feat_id` in a pipe.
            FeatureId: u32 { $($(#[doc = $doc])* $(#[cfg($cfg)])? $id = $number,)* }
        }

        /// The content of a feature section, up to the end of its definition.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Feature {
            $(
                $(#[cfg($cfg)])?
                #[doc = concat!("[`", stringify!($id), "`](FeatureId::", stringify!($id), ").")]
                $variant($content),
            )*
            /// An unknown feature, or bytes that do not match the definition.
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
                        $(#[cfg($cfg)])?
                        FeatureId::$id => {
                            let args = { $($args)? };
                            let (content, used) = abi::parse(bytes, endian, args)?;
                            (Self::$variant(content), used)
                        }
                    )*
                    _ => return Ok(None),
                }))
            }

            /// Visits each field that has a role. Opaque bytes have none.
            pub fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
                match self {
                    $($(#[cfg($cfg)])? Self::$variant(content) => roles_of!(visitor, content $(, $role)?),)*
                    Self::Opaque(_) => {}
                }
            }

            /// Encodes the content.
            ///
            /// # Errors
            /// Errors of the writer.
            pub fn write<W: Write + Seek>(&self, writer: &mut W, endian: Endian) -> BinResult<()> {
                match self {
                    $($(#[cfg($cfg)])? Self::$variant(content) => content.write_options(writer, endian, ()),)*
                    Self::Opaque(bytes) => Ok(writer.write_all(bytes)?),
                }
            }

            /// Deserializes a feature from its serialized fields. Unknown features have none.
            ///
            /// # Errors
            /// Errors of the deserializer, or if the feature is unknown.
            pub fn deserialize<'de, D: Deserializer<'de>>(id: FeatureId, deserializer: D) -> Result<Self, D::Error> {
                match id {
                    $($(#[cfg($cfg)])? FeatureId::$id => Deserialize::deserialize(deserializer).map(Self::$variant),)*
                    _ => Err(D::Error::custom(format_args!("unknown feature {id}"))),
                }
            }
        }

        impl FeatureId {
            /// Properties of the feature; `None` if it is unknown.
            pub fn descriptor(self) -> Option<&'static FeatureDescriptor> {
                match self {
                    $($(#[cfg($cfg)])? Self::$id => Some(&$module::$id),)*
                    _ => None,
                }
            }

            /// Whether it is decoded with the content of other features, see [`FeatureContext`].
            pub fn needs_context(self) -> bool {
                match self {
                    $($(#[cfg($cfg)])? Self::$id => needs_context!($($args)?),)*
                    _ => false,
                }
            }
        }

        impl Serialize for Feature {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $($(#[cfg($cfg)])? Self::$variant(content) => content.serialize(serializer),)*
                    Self::Opaque(bytes) => crate::abi::serde::byte_string::serialize(bytes, serializer),
                }
            }
        }
    };
}

/// Whether a feature has arguments for decoding.
macro_rules! needs_context {
    () => {
        false
    };
    ($args:expr) => {
        true
    };
}

/// Visits the fields of a feature. A feature that is a single string has its role in the table.
macro_rules! roles_of {
    ($visitor:ident, $content:ident) => {
        $content.visit_fields($visitor)
    };
    ($visitor:ident, $content:ident, $role:ident) => {
        $visitor.text(TextRole::$role, TextField::new("text", $content))
    };
}

features! { context;
    /// Tracepoint formats.
    TRACING_DATA = 1 => TracingData(tracing_data::TracingData) in tracing_data;
    /// Build IDs of files.
    BUILD_ID = 2 => BuildIds(build_ids::BuildIds) in build_ids;
    /// Host name.
    HOSTNAME = 3 => Hostname(string::PerfStr) in string as Host;
    /// Kernel release.
    OSRELEASE = 4 => OsRelease(string::PerfStr) in string as Version;
    /// perf version.
    VERSION = 5 => Version(string::PerfStr) in string as Version;
    /// Architecture, as printed by `uname -m`.
    ARCH = 6 => Arch(string::PerfStr) in string as Arch;
    /// Numbers of CPUs.
    NRCPUS = 7 => NrCpus(nr_cpus::NrCpus) in nr_cpus;
    /// CPU model.
    CPUDESC = 8 => CpuDesc(string::PerfStr) in string as Hardware;
    /// CPU identification.
    CPUID = 9 => CpuId(string::PerfStr) in string as Hardware;
    /// Memory in KiB.
    TOTAL_MEM = 10 => TotalMem(total_mem::TotalMem) in total_mem;
    /// Command line of perf.
    CMDLINE = 11 => Cmdline(string::StrList) in string;
    /// Events with names and IDs.
    EVENT_DESC = 12 => EventDescs(event_desc::EventDescs) in event_desc;
    /// Cores, threads, dies.
    CPU_TOPOLOGY = 13 => CpuTopology(cpu_topology::CpuTopology) in cpu_topology with (context.nr_cpus.map(|nr| nr.nr_cpus_avail),);
    /// Memory nodes.
    NUMA_TOPOLOGY = 14 => NumaTopology(numa_topology::NumaTopology) in numa_topology;
    /// Samples have branch stacks.
    BRANCH_STACK = 15 => BranchStack(mark::Mark) in mark;
    /// Names of dynamic PMU types.
    PMU_MAPPINGS = 16 => PmuMappings(pmu_mappings::PmuMappings) in pmu_mappings;
    /// Groups of events.
    GROUP_DESC = 17 => GroupDesc(group_desc::GroupDesc) in group_desc;
    /// Index of the AUXTRACE records.
    AUXTRACE = 18 => Auxtrace(auxtrace::AuxtraceIndex) in auxtrace;
    /// The recording is of `perf stat`.
    STAT = 19 => Stat(mark::Mark) in mark;
    /// Caches.
    CACHE = 20 => Caches(cache::Caches) in cache;
    /// Times of the first and the last sample.
    SAMPLE_TIME = 21 => SampleTime(sample_time::SampleTime) in sample_time;
    /// Memory blocks.
    MEM_TOPOLOGY = 22 => MemTopology(mem_topology::MemTopology) in mem_topology;
    /// Resolution of the clock.
    CLOCKID = 23 => ClockId(clockid::ClockId) in clockid;
    /// Version of the directory format.
    DIR_FORMAT = 24 => DirFormat(dir_format::DirFormat) in dir_format;
    /// BPF programs.
    BPF_PROG_INFO = 25 => BpfProgInfos(bpf_prog_info::BpfProgInfos) in bpf_prog_info;
    /// BPF type information.
    BPF_BTF = 26 => BpfBtf(bpf_btf::BpfBtf) in bpf_btf;
    /// Compression of records.
    COMPRESSED = 27 => Compression(compressed::Compression) in compressed;
    /// Capabilities of the core PMU.
    CPU_PMU_CAPS = 28 => CpuPmuCaps(pmu_caps::Caps) in pmu_caps;
    /// Recording's clock and wall clock at the same time.
    CLOCK_DATA = 29 => ClockData(clock_data::ClockData) in clock_data;
    /// CPUs of each core PMU on hybrid systems.
    HYBRID_TOPOLOGY = 30 => HybridTopology(hybrid_topology::HybridTopology) in hybrid_topology;
    /// Capabilities of several PMUs.
    PMU_CAPS = 31 => PmuCaps(pmu_caps::PmuCaps) in pmu_caps;
    /// Scheduling domains.
    CPU_DOMAIN_INFO = 32 => CpuDomainInfo(cpu_domain_info::CpuDomainInfo) in cpu_domain_info with (context.nr_cpus.map(|nr| nr.nr_cpus_online),);
    /// ELF machine.
    E_MACHINE = 33 => EMachine(e_machine::EMachine) in e_machine;
    /// Size of a cache line.
    CLN_SIZE = 34 => ClnSize(cln_size::ClnSize) in cln_size;
    /// Example for tests.
    #[cfg(any(test, feature = "testing"))]
    EXAMPLE = 127 => Example(test_feature::ExampleFeature) in test_feature;
}

impl Feature {
    /// Decodes a section from exactly its bytes; also returns the bytes beyond the definition. An unknown feature, or bytes that
    /// do not match the definition, are [`Opaque`](Self::Opaque).
    pub fn read<'a>(id: FeatureId, bytes: &'a [u8], endian: Endian, context: &FeatureContext) -> (Self, &'a [u8]) {
        match Self::parse(id, bytes, endian, context) {
            Ok(Some((feature, used))) => (feature, &bytes[used..]),
            Ok(None) | Err(_) => (Self::Opaque(bytes.to_vec()), &[]),
        }
    }
}
