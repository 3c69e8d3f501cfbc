//! The body of a record, whatever its type.

use super::aux::{Aux, AuxOutputHwId, ItraceStart};
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
use crate::abi::sample::{Sample, SampleArgs};
use crate::abi::{self, Endian};
use binrw::{BinResult, BinWrite};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::io::{Seek, Write};

/// Declares [`Body`] from the list of types: each with its variant, its definition, and what the definition needs to know
/// to be read.
macro_rules! bodies {
    ($misc:ident, $bytes:ident, $context:ident; $($kind:ident => $variant:ident($body:ty) $(with $args:expr)?;)*) => {
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
    MMAP => Mmap(Mmap);
    LOST => Lost(Lost);
    COMM => Comm(Comm);
    EXIT => Exit(Task);
    THROTTLE => Throttle(Throttle);
    UNTHROTTLE => Unthrottle(Throttle);
    FORK => Fork(Task);
    READ => Read(Read) with (context.layout.read_format,);
    SAMPLE => Sample(Box<Sample>) with SampleArgs::new(bytes, &context.layout, context.endian);
    MMAP2 => Mmap2(Mmap2) with (misc,);
    AUX => Aux(Aux);
    ITRACE_START => ItraceStart(ItraceStart);
    LOST_SAMPLES => LostSamples(LostSamples);
    SWITCH => Switch(Switch);
    SWITCH_CPU_WIDE => SwitchCpuWide(SwitchCpuWide);
    NAMESPACES => Namespaces(Namespaces);
    KSYMBOL => Ksymbol(Ksymbol);
    BPF_EVENT => BpfEvent(BpfEvent);
    CGROUP => Cgroup(Cgroup);
    TEXT_POKE => TextPoke(TextPoke);
    AUX_OUTPUT_HW_ID => AuxOutputHwId(AuxOutputHwId);
    CALLCHAIN_DEFERRED => CallchainDeferred(CallchainDeferred);
    HEADER_ATTR => HeaderAttr(HeaderAttr);
    HEADER_EVENT_TYPE => HeaderEventType(HeaderEventType);
    HEADER_TRACING_DATA => HeaderTracingData(HeaderTracingData);
    HEADER_BUILD_ID => HeaderBuildId(BuildId);
    FINISHED_ROUND => FinishedRound(FinishedRound);
    ID_INDEX => IdIndex(IdIndex);
    AUXTRACE_INFO => AuxtraceInfo(AuxtraceInfo);
    AUXTRACE => Auxtrace(Auxtrace);
    AUXTRACE_ERROR => AuxtraceError(AuxtraceError);
    THREAD_MAP => ThreadMap(ThreadMap);
    CPU_MAP => CpuMap(CpuMap);
    STAT_CONFIG => StatConfig(StatConfig);
    STAT => Stat(Stat);
    STAT_ROUND => StatRound(StatRound);
    EVENT_UPDATE => EventUpdate(EventUpdate);
    TIME_CONV => TimeConv(TimeConv);
    HEADER_FEATURE => HeaderFeature(HeaderFeature);
    COMPRESSED => Compressed(Compressed);
    FINISHED_INIT => FinishedInit(FinishedInit);
    COMPRESSED2 => Compressed2(Compressed2);
    BPF_METADATA => BpfMetadata(Box<BpfMetadata>);
    SCHEDSTAT_CPU => SchedstatCpu(SchedstatCpu);
    SCHEDSTAT_DOMAIN => SchedstatDomain(SchedstatDomain);
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
