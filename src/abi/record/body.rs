//! The body of a record, whatever its type.

use super::descriptor::RecordDescriptor;
use super::*;
use crate::abi::fields::{FieldVisitor, VisitFields};
use crate::abi::sample::{self, SampleArgs};
use crate::abi::{self, Endian};
use crate::open_enum;
use binrw::{BinResult, BinWrite};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::io::{Seek, Write};

/// Declares [`RecordType`] and [`Body`] from the list of types: each with its number, its variant, its definition, the module that
/// has its descriptor, and what the definition needs to know to be read.
macro_rules! bodies {
    ($misc:ident, $bytes:ident, $context:ident; $(
        $(#[doc = $doc:expr])* $(#[cfg($cfg:meta)])?
        $kind:ident = $number:literal => $variant:ident($body:ty) in $module:ident $(with $args:expr)?;
    )*) => {
        open_enum! {
            /// `perf_event_header.type`. The kernel's types are below 64, perf's own from 64 on.
            RecordType: u32 { $($(#[doc = $doc])* $(#[cfg($cfg)])? $kind = $number,)* }
        }

        /// The body of a record: what is between its header and its `sample_id`, without what its definition does not
        /// cover.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Body {
            $(
                $(#[cfg($cfg)])?
                #[doc = concat!("[`", stringify!($kind), "`](RecordType::", stringify!($kind), ").")]
                $variant($body),
            )*
            /// A type that is not known here, or bytes that are not what the type's definition says.
            Opaque(Vec<u8>),
        }

        impl Body {
            fn parse(
                kind: RecordType,
                $misc: Misc,
                $bytes: &[u8],
                $context: &RecordContext,
            ) -> BinResult<Option<(Self, usize)>> {
                Ok(Some(match kind {
                    $(
                        $(#[cfg($cfg)])?
                        RecordType::$kind => {
                            let args = { $($args)? };
                            let (body, used) = abi::parse($bytes, $context.endian, args)?;
                            (Self::$variant(body), used)
                        }
                    )*
                    _ => return Ok(None),
                }))
            }

            /// The type of a record that has this body; `None` of opaque bytes, which do not tell.
            pub fn kind(&self) -> Option<RecordType> {
                match self {
                    $($(#[cfg($cfg)])? Self::$variant(_) => Some(RecordType::$kind),)*
                    Self::Opaque(_) => None,
                }
            }

            /// Passes each field that has a role to the visitor. Opaque bytes have none.
            pub fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
                match self {
                    $($(#[cfg($cfg)])? Self::$variant(body) => body.visit_fields(visitor),)*
                    Self::Opaque(_) => {}
                }
            }

            /// Writes the body.
            ///
            /// # Errors
            /// Those of the writer.
            pub fn write<W: Write + Seek>(&self, writer: &mut W, endian: Endian) -> BinResult<()> {
                match self {
                    $($(#[cfg($cfg)])? Self::$variant(body) => body.write_options(writer, endian, ()),)*
                    Self::Opaque(bytes) => Ok(writer.write_all(bytes)?),
                }
            }

            /// Reads the fields of the body of a record of that type, as [`Serialize`] tells them. There are none of a type
            /// that is not known.
            ///
            /// # Errors
            /// Those of the deserializer.
            pub fn deserialize<'de, D: Deserializer<'de>>(kind: RecordType, deserializer: D) -> Result<Self, D::Error> {
                match kind {
                    $($(#[cfg($cfg)])? RecordType::$kind => Deserialize::deserialize(deserializer).map(Self::$variant),)*
                    _ => Err(D::Error::custom(format_args!("records of type {kind} have no fields that are known"))),
                }
            }
        }

        impl RecordType {
            /// What is known about records of this type; `None` where the type is unknown.
            pub fn descriptor(self) -> Option<&'static RecordDescriptor> {
                match self {
                    $($(#[cfg($cfg)])? Self::$kind => Some(&$module::$kind),)*
                    _ => None,
                }
            }
        }

        impl Serialize for Body {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $($(#[cfg($cfg)])? Self::$variant(body) => body.serialize(serializer),)*
                    Self::Opaque(bytes) => serde_bytes::serialize(bytes, serializer),
                }
            }
        }
    };
}

bodies! { misc, bytes, context;
    /// A file was mapped.
    MMAP = 1 => Mmap(mmap::Mmap) in mmap;
    /// Records were lost.
    LOST = 2 => Lost(lost::Lost) in lost;
    /// A thread was named.
    COMM = 3 => Comm(comm::Comm) in comm;
    /// A thread ended.
    EXIT = 4 => Exit(task::Task) in task;
    /// Sampling was throttled.
    THROTTLE = 5 => Throttle(throttle::Throttle) in throttle;
    /// Sampling went on.
    UNTHROTTLE = 6 => Unthrottle(throttle::Throttle) in throttle;
    /// A thread began.
    FORK = 7 => Fork(task::Task) in task;
    /// Counter values at a thread's end.
    READ = 8 => Read(read::Read) in read with (context.layout.read_format(),);
    /// A sample.
    SAMPLE = 9 => Sample(Box<sample::Sample>) in sample with SampleArgs::new(bytes, &context.layout, context.endian);
    /// A file was mapped, with inode or build id. Since Linux 3.12.
    MMAP2 = 10 => Mmap2(mmap2::Mmap2) in mmap2 with (misc,);
    /// Data arrived in the AUX area. Since Linux 4.1.
    AUX = 11 => Aux(aux_area::Aux) in aux_area;
    /// Instruction tracing of a thread began. Since Linux 4.1.
    ITRACE_START = 12 => ItraceStart(aux_area::ItraceStart) in aux_area;
    /// Samples were lost. Since Linux 4.2.
    LOST_SAMPLES = 13 => LostSamples(lost::LostSamples) in lost;
    /// A context switch of the thread. Since Linux 4.3.
    SWITCH = 14 => Switch(switch::Switch) in switch;
    /// A context switch of the CPU. Since Linux 4.3.
    SWITCH_CPU_WIDE = 15 => SwitchCpuWide(switch::SwitchCpuWide) in switch;
    /// Namespaces of a thread. Since Linux 4.12.
    NAMESPACES = 16 => Namespaces(namespaces::Namespaces) in namespaces;
    /// A kernel symbol came or went. Since Linux 5.1.
    KSYMBOL = 17 => Ksymbol(ksymbol::Ksymbol) in ksymbol;
    /// A BPF program came or went. Since Linux 5.1.
    BPF_EVENT = 18 => BpfEvent(bpf_event::BpfEvent) in bpf_event;
    /// A cgroup was made. Since Linux 5.7.
    CGROUP = 19 => Cgroup(cgroup::Cgroup) in cgroup;
    /// Kernel code was changed. Since Linux 5.9.
    TEXT_POKE = 20 => TextPoke(text_poke::TextPoke) in text_poke;
    /// Hardware id of an event that writes to the AUX area. Since Linux 5.16.
    AUX_OUTPUT_HW_ID = 21 => AuxOutputHwId(aux_area::AuxOutputHwId) in aux_area;
    /// User call chain of earlier samples. Since Linux 6.19.
    CALLCHAIN_DEFERRED = 22 => CallchainDeferred(callchain_deferred::CallchainDeferred) in callchain_deferred;
    /// An event's attr, in a pipe.
    HEADER_ATTR = 64 => HeaderAttr(header_attr::HeaderAttr) in header_attr;
    /// Name of an event, in very old pipes.
    HEADER_EVENT_TYPE = 65 => HeaderEventType(header_attr::HeaderEventType) in header_attr;
    /// Formats of tracepoints follow, in a pipe.
    HEADER_TRACING_DATA = 66 => HeaderTracingData(tracing_data::HeaderTracingData) in tracing_data;
    /// Build id of a file, in a pipe.
    HEADER_BUILD_ID = 67 => HeaderBuildId(build_id::BuildId) in build_id;
    /// All buffers were drained once.
    FINISHED_ROUND = 68 => FinishedRound(finished::FinishedRound) in finished;
    /// CPU and thread of each event id.
    ID_INDEX = 69 => IdIndex(id_index::IdIndex) in id_index;
    /// What wrote the AUX area.
    AUXTRACE_INFO = 70 => AuxtraceInfo(auxtrace_info::AuxtraceInfo) in auxtrace_info;
    /// A piece of AUX area follows.
    AUXTRACE = 71 => Auxtrace(auxtrace::Auxtrace) in auxtrace;
    /// Decoding the AUX area failed.
    AUXTRACE_ERROR = 72 => AuxtraceError(auxtrace_error::AuxtraceError) in auxtrace_error;
    /// Recorded threads.
    THREAD_MAP = 73 => ThreadMap(thread_map::ThreadMap) in thread_map;
    /// Recorded CPUs.
    CPU_MAP = 74 => CpuMap(cpu_map::CpuMap) in cpu_map;
    /// Settings of `perf stat`.
    STAT_CONFIG = 75 => StatConfig(stat::StatConfig) in stat;
    /// A count of `perf stat`.
    STAT = 76 => Stat(stat::Stat) in stat;
    /// End of a round of `perf stat`.
    STAT_ROUND = 77 => StatRound(stat::StatRound) in stat;
    /// Unit, scale, name or CPUs of an event.
    EVENT_UPDATE = 78 => EventUpdate(event_update::EventUpdate) in event_update;
    /// Conversion of the hardware's clock.
    TIME_CONV = 79 => TimeConv(time_conv::TimeConv) in time_conv;
    /// A feature section, in a pipe.
    HEADER_FEATURE = 80 => HeaderFeature(header_feature::HeaderFeature) in header_feature;
    /// Compressed records.
    COMPRESSED = 81 => Compressed(compressed::Compressed) in compressed;
    /// All that existed before the recording has been told. Since perf 6.0.
    FINISHED_INIT = 82 => FinishedInit(finished::FinishedInit) in finished;
    /// Compressed records, padded. Since perf 6.16.
    COMPRESSED2 = 83 => Compressed2(compressed::Compressed2) in compressed;
    /// Variables of a BPF program. Since perf 6.17.
    BPF_METADATA = 84 => BpfMetadata(Box<bpf_metadata::BpfMetadata>) in bpf_metadata;
    /// Scheduler statistics of a CPU. Since perf 7.0.
    SCHEDSTAT_CPU = 85 => SchedstatCpu(schedstat::SchedstatCpu) in schedstat;
    /// Scheduler statistics of a domain. Since perf 7.0.
    SCHEDSTAT_DOMAIN = 86 => SchedstatDomain(schedstat::SchedstatDomain) in schedstat;
    /// An example, in tests.
    #[cfg(test)]
    EXAMPLE = 127 => Example(test_record::Example) in test_record;
}

impl Body {
    /// Reads the body of a record of that type from exactly its bytes, header and `sample_id` taken off; what its
    /// definition does not cover comes second. A type that is not known, and bytes that the definition does not fit, are
    /// [`Opaque`](Self::Opaque).
    pub fn read<'a>(kind: RecordType, misc: Misc, bytes: &'a [u8], context: &RecordContext) -> (Self, &'a [u8]) {
        match Self::parse(kind, misc, bytes, context) {
            Ok(Some((body, used))) => (body, &bytes[used..]),
            Ok(None) | Err(_) => (Self::Opaque(bytes.to_vec()), &[]),
        }
    }
}
