//! Objects of the format, one type for each part of a recording.

use super::ibs::IbsRegisters;
use super::sample_symbols::StackFunctions;
use super::tracepoint::TracepointFields;
use perf_data::abi::Endian;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::feature::tracing_data::TracingData;
use perf_data::abi::header::EventType;
use perf_data::abi::record::named_misc::NamedMisc;
use perf_data::abi::record::{Body, CpuMode, RecordType};
use perf_data::abi::sample::id::SampleId;
use perf_data::container::read::Container;
use serde::{Deserialize, Serialize};
use serde_bytes::{ByteBuf, Bytes};

/// Version of the format. Readers accept only this one.
pub const VERSION: u32 = 1;

/// The first object: describes the container.
#[derive(Serialize)]
pub(super) struct FileObject {
    pub perfconv: u32,
    pub container: ContainerName,
    pub endian: EndianName,
    pub files: Option<Vec<String>>,
}

/// An event in a file's header.
#[derive(Serialize)]
pub(super) struct AttrObject<'a> {
    pub attr: &'a perf_data::abi::attr::Attr,
    pub ids: &'a [u64],
}

/// A tracepoint name, in very old files.
#[derive(Serialize)]
pub(super) struct EventTypeObject<'a> {
    pub event_type: &'a EventType,
}

/// Difference of the bytes before the records from those that perf writes.
#[derive(Serialize)]
pub(super) struct BeforeObject {
    pub before: ByteReplacement,
}

/// Start of the records of the next file of a directory.
#[derive(Serialize)]
pub(super) struct SourceObject {
    pub file: u32,
}

#[derive(Serialize)]
pub(super) struct RecordObject<'a> {
    pub record: RecordType,
    /// Number of an AUXTRACE record, by which the index refers to it.
    pub nr: Option<u64>,
    pub frame: Option<u64>,
    pub cpumode: Option<CpuMode>,
    pub misc: Option<NamedMisc>,
    pub body: Option<&'a Body>,
    pub raw: Option<&'a Bytes>,
    pub feature: Option<FeatureId>,
    pub content: Option<&'a perf_data::abi::feature::Feature>,
    pub room: Option<usize>,
    pub tail: Option<&'a Bytes>,
    pub sample_id: Option<SampleId>,
    pub payload: Option<&'a Bytes>,
    pub tracing_data: Option<&'a TracingData>,
    /// Decoded fields of a tracepoint sample; ignored on import.
    pub tracepoint: Option<TracepointFields<'a>>,
    /// Functions of a sample's stack; ignored on import.
    pub symbols: Option<StackFunctions<'a>>,
    /// Registers of AMD IBS; ignored on import.
    pub ibs: Option<IbsRegisters<'a>>,
}

/// Bytes between records that are not a record.
#[derive(Serialize)]
pub(super) struct GapObject<'a> {
    pub gap: &'a Bytes,
    pub frame: Option<u64>,
    pub misframed: Option<bool>,
}

/// A piece of another file in a directory recording.
#[derive(Serialize)]
pub(super) struct DirectoryPiece<'a> {
    pub other: &'a str,
    pub bytes: &'a Bytes,
}

/// A feature section of a file.
#[derive(Serialize)]
pub(super) struct FeatureObject<'a, T> {
    pub feature: FeatureId,
    pub content: Option<&'a T>,
    pub raw: Option<&'a Bytes>,
    pub room: Option<usize>,
    pub tail: Option<&'a Bytes>,
}

/// The last object.
#[derive(Serialize)]
pub(super) struct EndObject {
    pub end: FileEnd,
}

/// Differences of the bytes after the records, and of the header fields about them, from those that perf writes.
/// Applied only if everything else is unchanged.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct FileEnd {
    /// Unused slots in the feature table.
    pub spare_slots: Option<u8>,
    /// Bytes of records.
    pub data: Option<u64>,
    /// Size of the data section in the header, where it differs.
    pub data_size: Option<u64>,
    /// Feature bitmap in the header.
    pub adds_features: Option<ByteBuf>,
    /// Bytes after the records.
    pub behind: Option<ByteReplacement>,
}

/// A replacement of bytes in bytes that are derived from other objects.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct ByteReplacement {
    /// CRC-32 of the derived bytes. If it differs, nothing is replaced.
    pub of: u32,
    /// Offset.
    pub at: usize,
    /// Number of bytes to replace.
    pub instead_of: usize,
    /// The replacement.
    pub bytes: ByteBuf,
}

/// The index of AUXTRACE records, which refers to them by number.
#[derive(Serialize, Deserialize)]
pub(super) struct Index {
    /// Whether the index begins with the number of entries, as perf writes it.
    pub counted: bool,
    pub entries: Vec<IndexEntry>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct IndexEntry {
    /// Number of the record.
    pub nr: Option<u64>,
    /// File offset, where no record is there.
    pub file_offset: Option<u64>,
    pub sz: u64,
}

/// Name of a container.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContainerName {
    File,
    Pipe,
    Directory,
}

impl From<Container> for ContainerName {
    fn from(container: Container) -> Self {
        match container {
            Container::File => Self::File,
            Container::Pipe => Self::Pipe,
            Container::Directory => Self::Directory,
        }
    }
}

impl From<ContainerName> for Container {
    fn from(name: ContainerName) -> Self {
        match name {
            ContainerName::File => Self::File,
            ContainerName::Pipe => Self::Pipe,
            ContainerName::Directory => Self::Directory,
        }
    }
}

/// Name of a byte order.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndianName {
    Little,
    Big,
}

impl From<Endian> for EndianName {
    fn from(endian: Endian) -> Self {
        match endian {
            Endian::Little => Self::Little,
            Endian::Big => Self::Big,
        }
    }
}

impl From<EndianName> for Endian {
    fn from(name: EndianName) -> Self {
        match name {
            EndianName::Little => Self::Little,
            EndianName::Big => Self::Big,
        }
    }
}
