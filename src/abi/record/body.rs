//! The body of a record, whatever its type.

use super::aux_area::{Aux, AuxOutputHwId, ItraceStart};
use super::auxtrace::Auxtrace;
use super::auxtrace_error::AuxtraceError;
use super::auxtrace_info::AuxtraceInfo;
use super::bpf_event::BpfEvent;
use super::bpf_metadata::BpfMetadata;
use super::build_id::BuildId;
use super::callchain_deferred::CallchainDeferred;
use super::cgroup::Cgroup;
use super::comm::Comm;
use super::compressed::{Compressed, Compressed2};
use super::cpu_map::CpuMap;
use super::descriptor::RecordDescriptor;
use super::event_update::EventUpdate;
use super::finished::{FinishedInit, FinishedRound};
use super::header_attr::{HeaderAttr, HeaderEventType};
use super::header_feature::HeaderFeature;
use super::id_index::IdIndex;
use super::ksymbol::Ksymbol;
use super::lost::{Lost, LostSamples};
use super::mmap::Mmap;
use super::mmap2::Mmap2;
use super::namespaces::Namespaces;
use super::read::Read;
use super::schedstat::{SchedstatCpu, SchedstatDomain};
use super::stat::{Stat, StatConfig, StatRound};
use super::switch::{Switch, SwitchCpuWide};
use super::task::Task;
use super::text_poke::TextPoke;
use super::thread_map::ThreadMap;
use super::throttle::Throttle;
use super::time_conv::TimeConv;
use super::tracing_data::HeaderTracingData;
use super::{Misc, RecordContext, RecordType};
use super::{
    aux_area, auxtrace, auxtrace_error, auxtrace_info, bpf_event, bpf_metadata, build_id, callchain_deferred, cgroup,
    comm, compressed, cpu_map, event_update, finished, header_attr, header_feature, id_index, ksymbol, lost, mmap,
    mmap2, namespaces, read, schedstat, stat, switch, task, text_poke, thread_map, throttle, time_conv, tracing_data,
};
use crate::abi::fields::{FieldVisitor, VisitFields};
use crate::abi::sample::{self, Sample, SampleArgs};
use crate::abi::{self, Endian};
use binrw::{BinResult, BinWrite};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::io::{Seek, Write};

/// Declares [`Body`] from the list of types: each with its variant, its definition, the module that has its descriptor, and what
/// the definition needs to know to be read.
macro_rules! bodies {
    ($misc:ident, $bytes:ident, $context:ident; $($kind:ident => $variant:ident($body:ty) in $module:ident $(with $args:expr)?;)*) => {
        /// The body of a record: what is between its header and its `sample_id`, without what its definition does not
        /// cover.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Body {
            $(
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
                    $(Self::$variant(_) => Some(RecordType::$kind),)*
                    Self::Opaque(_) => None,
                }
            }

            /// Passes each field that has a role to the visitor. Opaque bytes have none.
            pub fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
                match self {
                    $(Self::$variant(body) => body.visit_fields(visitor),)*
                    Self::Opaque(_) => {}
                }
            }

            /// Writes the body.
            ///
            /// # Errors
            /// Those of the writer.
            pub fn write<W: Write + Seek>(&self, writer: &mut W, endian: Endian) -> BinResult<()> {
                match self {
                    $(Self::$variant(body) => body.write_options(writer, endian, ()),)*
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
                    $(RecordType::$kind => Deserialize::deserialize(deserializer).map(Self::$variant),)*
                    _ => Err(D::Error::custom(format_args!("records of type {kind} have no fields that are known"))),
                }
            }
        }

        impl RecordType {
            /// What is known about records of this type; `None` where the type is unknown.
            pub fn descriptor(self) -> Option<&'static RecordDescriptor> {
                match self {
                    $(Self::$kind => Some(&$module::$kind),)*
                    _ => None,
                }
            }
        }

        impl Serialize for Body {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$variant(body) => body.serialize(serializer),)*
                    Self::Opaque(bytes) => serde_bytes::serialize(bytes, serializer),
                }
            }
        }
    };
}

bodies! { misc, bytes, context;
    MMAP => Mmap(Mmap) in mmap;
    LOST => Lost(Lost) in lost;
    COMM => Comm(Comm) in comm;
    EXIT => Exit(Task) in task;
    THROTTLE => Throttle(Throttle) in throttle;
    UNTHROTTLE => Unthrottle(Throttle) in throttle;
    FORK => Fork(Task) in task;
    READ => Read(Read) in read with (context.layout.read_format,);
    SAMPLE => Sample(Box<Sample>) in sample with SampleArgs::new(bytes, &context.layout, context.endian);
    MMAP2 => Mmap2(Mmap2) in mmap2 with (misc,);
    AUX => Aux(Aux) in aux_area;
    ITRACE_START => ItraceStart(ItraceStart) in aux_area;
    LOST_SAMPLES => LostSamples(LostSamples) in lost;
    SWITCH => Switch(Switch) in switch;
    SWITCH_CPU_WIDE => SwitchCpuWide(SwitchCpuWide) in switch;
    NAMESPACES => Namespaces(Namespaces) in namespaces;
    KSYMBOL => Ksymbol(Ksymbol) in ksymbol;
    BPF_EVENT => BpfEvent(BpfEvent) in bpf_event;
    CGROUP => Cgroup(Cgroup) in cgroup;
    TEXT_POKE => TextPoke(TextPoke) in text_poke;
    AUX_OUTPUT_HW_ID => AuxOutputHwId(AuxOutputHwId) in aux_area;
    CALLCHAIN_DEFERRED => CallchainDeferred(CallchainDeferred) in callchain_deferred;
    HEADER_ATTR => HeaderAttr(HeaderAttr) in header_attr;
    HEADER_EVENT_TYPE => HeaderEventType(HeaderEventType) in header_attr;
    HEADER_TRACING_DATA => HeaderTracingData(HeaderTracingData) in tracing_data;
    HEADER_BUILD_ID => HeaderBuildId(BuildId) in build_id;
    FINISHED_ROUND => FinishedRound(FinishedRound) in finished;
    ID_INDEX => IdIndex(IdIndex) in id_index;
    AUXTRACE_INFO => AuxtraceInfo(AuxtraceInfo) in auxtrace_info;
    AUXTRACE => Auxtrace(Auxtrace) in auxtrace;
    AUXTRACE_ERROR => AuxtraceError(AuxtraceError) in auxtrace_error;
    THREAD_MAP => ThreadMap(ThreadMap) in thread_map;
    CPU_MAP => CpuMap(CpuMap) in cpu_map;
    STAT_CONFIG => StatConfig(StatConfig) in stat;
    STAT => Stat(Stat) in stat;
    STAT_ROUND => StatRound(StatRound) in stat;
    EVENT_UPDATE => EventUpdate(EventUpdate) in event_update;
    TIME_CONV => TimeConv(TimeConv) in time_conv;
    HEADER_FEATURE => HeaderFeature(HeaderFeature) in header_feature;
    COMPRESSED => Compressed(Compressed) in compressed;
    FINISHED_INIT => FinishedInit(FinishedInit) in finished;
    COMPRESSED2 => Compressed2(Compressed2) in compressed;
    BPF_METADATA => BpfMetadata(Box<BpfMetadata>) in bpf_metadata;
    SCHEDSTAT_CPU => SchedstatCpu(SchedstatCpu) in schedstat;
    SCHEDSTAT_DOMAIN => SchedstatDomain(SchedstatDomain) in schedstat;
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
