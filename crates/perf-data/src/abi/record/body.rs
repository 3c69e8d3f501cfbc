//! The body of a record of any type.

use super::descriptor::{RecordDescriptor, RecordFlags};
use super::*;
use crate::abi::fields::{FieldVisitor, VisitFields};
use crate::abi::open_enum::open_enum;
use crate::abi::sample::{self, SampleArgs};
use crate::abi::{self, Endian};
use binrw::{BinResult, BinWrite};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::io::{Seek, Write};

/// Declares [`RecordType`] and [`Body`] from a table of types: number, variant, definition, module with the descriptor, and
/// arguments for decoding.
macro_rules! bodies {
    ($misc:ident, $bytes:ident, $context:ident; $(
        $(#[doc = $doc:expr])* $(#[cfg($cfg:meta)])?
        $kind:ident = $number:literal => $variant:ident($body:ty) in $module:ident $(with $args:expr)?;
    )*) => {
        open_enum! {
            /// `perf_event_header.type`. Types of the kernel are below 64, those of perf start at 64.
            RecordType: u32 { $($(#[doc = $doc])* $(#[cfg($cfg)])? $kind = $number,)* }
        }

        /// The body of a record: the bytes between header and `sample_id`, up to the end of its definition.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Body {
            $(
                $(#[cfg($cfg)])?
                #[doc = concat!("[`", stringify!($kind), "`](RecordType::", stringify!($kind), ").")]
                $variant($body),
            )*
            /// An unknown type, or bytes that do not match the definition.
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

            /// The type of a record with this body; `None` for opaque bytes.
            pub fn kind(&self) -> Option<RecordType> {
                match self {
                    $($(#[cfg($cfg)])? Self::$variant(_) => Some(RecordType::$kind),)*
                    Self::Opaque(_) => None,
                }
            }

            /// Visits each field that has a role. Opaque bytes have none.
            pub fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
                match self {
                    $($(#[cfg($cfg)])? Self::$variant(body) => body.visit_fields(visitor),)*
                    Self::Opaque(_) => {}
                }
            }

            /// Encodes the body.
            ///
            /// # Errors
            /// Errors of the writer.
            pub fn write<W: Write + Seek>(&self, writer: &mut W, endian: Endian) -> BinResult<()> {
                match self {
                    $($(#[cfg($cfg)])? Self::$variant(body) => body.write_options(writer, endian, ()),)*
                    Self::Opaque(bytes) => Ok(writer.write_all(bytes)?),
                }
            }

            /// Deserializes a body from its serialized fields. Unknown types have none.
            ///
            /// # Errors
            /// Errors of the deserializer, or if the type is unknown.
            pub fn deserialize<'de, D: Deserializer<'de>>(kind: RecordType, deserializer: D) -> Result<Self, D::Error> {
                match kind {
                    $($(#[cfg($cfg)])? RecordType::$kind => Deserialize::deserialize(deserializer).map(Self::$variant),)*
                    _ => Err(D::Error::custom(format_args!("unknown record type {kind}"))),
                }
            }
        }

        impl RecordType {
            /// A bit for each type that has one of these properties.
            pub(super) const fn set_with(flags: RecordFlags) -> u128 {
                let mut set = 0;
                $(
                    $(#[cfg($cfg)])?
                    if $module::$kind.flags.intersects(flags) {
                        set |= 1 << $number;
                    }
                )*
                set
            }

            /// Properties of the type; `None` if it is unknown.
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
                    Self::Opaque(bytes) => crate::abi::serde::byte_string::serialize(bytes, serializer),
                }
            }
        }
    };
}

bodies! { misc, bytes, context;
    /// Mapping of a file.
    MMAP = 1 => Mmap(mmap::Mmap) in mmap;
    /// Number of lost records.
    LOST = 2 => Lost(lost::Lost) in lost;
    /// Thread name.
    COMM = 3 => Comm(comm::Comm) in comm;
    /// Thread exit.
    EXIT = 4 => Exit(task::Task) in task;
    /// Sampling was throttled.
    THROTTLE = 5 => Throttle(throttle::Throttle) in throttle;
    /// Sampling was resumed.
    UNTHROTTLE = 6 => Unthrottle(throttle::Throttle) in throttle;
    /// New process or thread.
    FORK = 7 => Fork(task::Task) in task;
    /// Counter values at thread exit.
    READ = 8 => Read(read::Read) in read with (context.layout.read_format(),);
    /// A sample.
    SAMPLE = 9 => Sample(Box<sample::Sample>) in sample with SampleArgs::new(bytes, &context.layout, context.endian);
    /// Mapping of a file, with inode or build ID. Since Linux 3.12.
    MMAP2 = 10 => Mmap2(mmap2::Mmap2) in mmap2 with (misc,);
    /// New data in the AUX area. Since Linux 4.1.
    AUX = 11 => Aux(aux_area::Aux) in aux_area;
    /// Start of instruction tracing of a thread. Since Linux 4.1.
    ITRACE_START = 12 => ItraceStart(aux_area::ItraceStart) in aux_area;
    /// Number of lost samples. Since Linux 4.2.
    LOST_SAMPLES = 13 => LostSamples(lost::LostSamples) in lost;
    /// Context switch of a thread. Since Linux 4.3.
    SWITCH = 14 => Switch(switch::Switch) in switch;
    /// Context switch on a CPU. Since Linux 4.3.
    SWITCH_CPU_WIDE = 15 => SwitchCpuWide(switch::SwitchCpuWide) in switch;
    /// Namespaces of a thread. Since Linux 4.12.
    NAMESPACES = 16 => Namespaces(namespaces::Namespaces) in namespaces;
    /// Kernel symbol registered or unregistered. Since Linux 5.1.
    KSYMBOL = 17 => Ksymbol(ksymbol::Ksymbol) in ksymbol;
    /// BPF program loaded or unloaded. Since Linux 5.1.
    BPF_EVENT = 18 => BpfEvent(bpf_event::BpfEvent) in bpf_event;
    /// New cgroup. Since Linux 5.7.
    CGROUP = 19 => Cgroup(cgroup::Cgroup) in cgroup;
    /// Kernel code modification. Since Linux 5.9.
    TEXT_POKE = 20 => TextPoke(text_poke::TextPoke) in text_poke;
    /// Hardware ID of an event that writes to the AUX area. Since Linux 5.16.
    AUX_OUTPUT_HW_ID = 21 => AuxOutputHwId(aux_area::AuxOutputHwId) in aux_area;
    /// Deferred user call chain of earlier samples. Since Linux 6.19.
    CALLCHAIN_DEFERRED = 22 => CallchainDeferred(callchain_deferred::CallchainDeferred) in callchain_deferred;
    /// Attr of an event, in a pipe.
    HEADER_ATTR = 64 => HeaderAttr(header_attr::HeaderAttr) in header_attr;
    /// Name of an event, in a very old pipe.
    HEADER_EVENT_TYPE = 65 => HeaderEventType(header_attr::HeaderEventType) in header_attr;
    /// Tracepoint formats, in a pipe.
    HEADER_TRACING_DATA = 66 => HeaderTracingData(tracing_data::HeaderTracingData) in tracing_data;
    /// Build ID of a file, in a pipe.
    HEADER_BUILD_ID = 67 => HeaderBuildId(build_id::BuildId) in build_id;
    /// All buffers have been drained once.
    FINISHED_ROUND = 68 => FinishedRound(finished::FinishedRound) in finished;
    /// CPU and thread of each event ID.
    ID_INDEX = 69 => IdIndex(id_index::IdIndex) in id_index;
    /// Source of the AUX data.
    AUXTRACE_INFO = 70 => AuxtraceInfo(auxtrace_info::AuxtraceInfo) in auxtrace_info;
    /// A piece of the AUX area.
    AUXTRACE = 71 => Auxtrace(auxtrace::Auxtrace) in auxtrace;
    /// Error while decoding the AUX area.
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
    /// Conversion of a hardware clock.
    TIME_CONV = 79 => TimeConv(time_conv::TimeConv) in time_conv;
    /// A feature section, in a pipe.
    HEADER_FEATURE = 80 => HeaderFeature(header_feature::HeaderFeature) in header_feature;
    /// Compressed records.
    COMPRESSED = 81 => Compressed(compressed::Compressed) in compressed;
    /// End of the initial, synthesized records. Since perf 6.0.
    FINISHED_INIT = 82 => FinishedInit(finished::FinishedInit) in finished;
    /// Compressed records with padding. Since perf 6.16.
    COMPRESSED2 = 83 => Compressed2(compressed::Compressed2) in compressed;
    /// Metadata variables of a BPF program. Since perf 6.17.
    BPF_METADATA = 84 => BpfMetadata(Box<bpf_metadata::BpfMetadata>) in bpf_metadata;
    /// Scheduler statistics of a CPU. Since perf 7.0.
    SCHEDSTAT_CPU = 85 => SchedstatCpu(schedstat::SchedstatCpu) in schedstat;
    /// Scheduler statistics of a domain. Since perf 7.0.
    SCHEDSTAT_DOMAIN = 86 => SchedstatDomain(schedstat::SchedstatDomain) in schedstat;
    /// Example for tests.
    #[cfg(any(test, feature = "testing"))]
    EXAMPLE = 127 => Example(test_record::Example) in test_record;
}

impl Body {
    /// Decodes a body from exactly its bytes, without header and `sample_id`; also returns the bytes beyond the definition. An
    /// unknown type, or bytes that do not match the definition, are [`Opaque`](Self::Opaque).
    pub fn read<'a>(kind: RecordType, misc: Misc, bytes: &'a [u8], context: &RecordContext) -> (Self, &'a [u8]) {
        match Self::parse(kind, misc, bytes, context) {
            Ok(Some((body, used))) => (body, &bytes[used..]),
            Ok(None) | Err(_) => (Self::Opaque(bytes.to_vec()), &[]),
        }
    }
}
