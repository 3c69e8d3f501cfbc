//! The objects of the format: one for each thing that a recording holds.

use super::tracepoint::TracepointFields;
use crate::abi::Endian;
use crate::abi::feature::FeatureId;
use crate::abi::feature::tracing_data::TracingData;
use crate::abi::header::EventType;
use crate::abi::record::named_misc::NamedMisc;
use crate::abi::record::{Body, CpuMode, RecordType};
use crate::abi::sample_id::SampleId;
use crate::container::read::Container;
use serde::{Deserialize, Serialize};
use serde_bytes::{ByteBuf, Bytes};

/// Version of the format. A reader takes this one alone.
pub const VERSION: u32 = 1;

/// The first object: what the container is.
#[derive(Serialize)]
pub struct FileObject {
    pub perfconv: u32,
    pub container: ContainerName,
    pub endian: EndianName,
    pub files: Option<Vec<String>>,
}

/// An event of a file's header.
#[derive(Serialize)]
pub struct AttrObject<'a> {
    pub attr: &'a crate::abi::attr::Attr,
    pub ids: &'a [u64],
}

/// A name of a tracepoint, of very old files.
#[derive(Serialize)]
pub struct EventTypeObject<'a> {
    pub event_type: &'a EventType,
}

/// How what lies before the records differs from what perf writes now.
#[derive(Serialize)]
pub struct BeforeObject {
    pub before: Change,
}

/// Where the records of the next file of a folder begin.
#[derive(Serialize)]
pub struct SourceObject {
    pub file: u32,
}

/// A record.
#[derive(Serialize)]
pub struct RecordObject<'a> {
    pub record: RecordType,
    /// Number of an AUXTRACE record, by which the index refers to it.
    pub nr: Option<u64>,
    pub frame: Option<u64>,
    pub cpumode: Option<CpuMode>,
    pub misc: Option<NamedMisc>,
    pub body: Option<&'a Body>,
    pub raw: Option<&'a Bytes>,
    pub feature: Option<FeatureId>,
    pub content: Option<&'a crate::abi::feature::Feature>,
    pub room: Option<usize>,
    pub tail: Option<&'a Bytes>,
    pub sample_id: Option<SampleId>,
    pub payload: Option<&'a Bytes>,
    pub tracing_data: Option<&'a TracingData>,
    /// The fields in the payload of a tracepoint's sample; nothing that is read back.
    pub tracepoint: Option<TracepointFields<'a>>,
}

/// Bytes between records that are none.
#[derive(Serialize)]
pub struct GapObject<'a> {
    pub gap: &'a Bytes,
    pub frame: Option<u64>,
    pub misframed: Option<bool>,
}

/// A piece of a file that a folder holds beside the recording.
#[derive(Serialize)]
pub struct OtherObject<'a> {
    pub other: &'a str,
    pub bytes: &'a Bytes,
}

/// A feature section of a file.
#[derive(Serialize)]
pub struct FeatureObject<'a, T> {
    pub feature: FeatureId,
    pub content: Option<&'a T>,
    pub raw: Option<&'a Bytes>,
    pub room: Option<usize>,
    pub tail: Option<&'a Bytes>,
}

/// The last object.
#[derive(Serialize)]
pub struct EndObject {
    pub end: End,
}

/// How what lies behind the records, and what the header says of them, differs from what perf writes now. It holds as long
/// as the rest is as it was.
#[derive(Default, Serialize, Deserialize)]
pub struct End {
    /// Slots of the feature table that no feature takes.
    pub spare_slots: Option<u8>,
    /// Bytes of records.
    pub data: Option<u64>,
    /// What the header says how many these are.
    pub data_size: Option<u64>,
    /// The header's bitmap of features.
    pub adds_features: Option<ByteBuf>,
    /// What lies behind the records.
    pub behind: Option<Change>,
}

/// Bytes that stand in the place of others, in bytes that are made from what else is told.
#[derive(Clone, Serialize, Deserialize)]
pub struct Change {
    /// Checksum (CRC-32) of what is made. Where it is another one, nothing is changed.
    pub of: u32,
    /// Where they stand.
    pub at: usize,
    /// How many there are to be replaced.
    pub instead_of: usize,
    /// What stands there.
    pub bytes: ByteBuf,
}

/// The index of AUXTRACE records, which it tells by their number.
#[derive(Serialize, Deserialize)]
pub struct Index {
    /// Whether it is led by how many entries there are, as perf has it.
    pub counted: bool,
    pub entries: Vec<IndexEntry>,
}

/// An entry of the index.
#[derive(Serialize, Deserialize)]
pub struct IndexEntry {
    /// The record, by its number.
    pub nr: Option<u64>,
    /// The place, where there is no record.
    pub file_offset: Option<u64>,
    pub sz: u64,
}

/// A container by its name.
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

/// A byte order by its name.
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
