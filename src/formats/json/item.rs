//! The content of an object, with records encoded to bytes.

use super::directory_files;
use super::encode::{self, Room};
use super::field_error::{FieldError, read};
use super::layout_check::DescribedLayout;
use super::object::ParsedObject;
use super::objects::{ByteReplacement, ContainerName, FileEnd, Index, VERSION};
use super::sample;
use perf_data::abi::Endian;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::header::EventType;
use perf_data::abi::record::RecordType;
use perf_data::container::read::file::FileAttr;
use serde_bytes::ByteBuf;
use std::ops::Range;
use std::result::Result as StdResult;

/// The content of an object. Large, rare variants are boxed to keep the type small.
pub(super) enum JsonItem {
    /// The container: the first object.
    File { container: ContainerName, endian: Endian, files: Vec<String> },
    /// An event in a file's header.
    Attr(Box<FileAttr>),
    /// A tracepoint name.
    EventType(EventType),
    /// Difference in the bytes before the records.
    Before(Box<ByteReplacement>),
    /// Start of the next file of a directory.
    Source(u32),
    Record {
        /// Range in the bytes of all records.
        bytes: Range<usize>,
        /// Number of an AUXTRACE record.
        nr: Option<u64>,
        frame: InFrame,
        /// The described layout, unless the body is raw.
        described: Option<DescribedLayout>,
    },
    /// Bytes between records.
    Gap {
        /// Range in the bytes of all records.
        bytes: Range<usize>,
        frame: InFrame,
    },
    /// A feature section of a file.
    Feature(FeatureId, Box<JsonSection>),
    /// A piece of another file in the directory.
    Other { name: String, bytes: Vec<u8> },
    /// The last object.
    End(Box<FileEnd>),
}

/// Relation of a record or gap to frames.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InFrame {
    /// Outside frames.
    No,
    /// Inside a frame.
    Inside,
    /// A frame itself.
    Frame { misframed: bool },
}

/// A feature section.
pub(super) enum JsonSection {
    Bytes(Vec<u8>),
    /// The AUXTRACE index, which needs the offsets of records.
    Index {
        index: Index,
        room: Option<usize>,
        tail: Option<ByteBuf>,
    },
}

impl JsonItem {
    /// Reads the object at the start of a text if it is an ordinary sample, and returns it with its length. The bytes
    /// of the record are appended to `out`.
    #[inline]
    pub(super) fn ordinary(text: &str, endian: Endian, out: &mut Vec<u8>) -> Option<(Self, usize)> {
        let start = out.len();
        let scanned = sample::scan(text.as_bytes(), endian, out)?;
        let frame = if scanned.is_in_frame { InFrame::Inside } else { InFrame::No };
        let described = Some(DescribedLayout { fields: scanned.fields, is_all: true });
        Some((Self::Record { bytes: start..out.len(), nr: None, frame, described }, scanned.len))
    }

    /// Converts an object of a recording of this byte order, which is not yet known for the first object. The bytes
    /// of records are appended to `out`.
    ///
    /// # Errors
    /// If fields are missing, contradict each other or have impossible values.
    pub(super) fn from_object(
        object: ParsedObject<'_>,
        endian: Option<Endian>,
        out: &mut Vec<u8>,
    ) -> StdResult<Self, FieldError> {
        let Some(endian) = endian.filter(|_| object.perfconv.is_none()) else { return first(object) };
        if let Some(kind) = object.record {
            let frame = match object.frame {
                Some(_) if kind.is_frame() => InFrame::Frame { misframed: false },
                Some(_) => InFrame::Inside,
                None => InFrame::No,
            };
            let (start, nr) = (out.len(), object.nr.filter(|_| kind == RecordType::AUXTRACE));
            let described = encode::record(kind, object, endian, out)?;
            return Ok(Self::Record { bytes: start..out.len(), nr, frame, described });
        }
        if let Some(gap) = &object.gap {
            let frame = match object.frame {
                Some(_) if object.misframed == Some(true) => InFrame::Frame { misframed: true },
                Some(_) => InFrame::Inside,
                None => InFrame::No,
            };
            let start = out.len();
            out.extend_from_slice(gap);
            return Ok(Self::Gap { bytes: start..out.len(), frame });
        }
        if let Some(attr) = object.attr {
            return Ok(Self::Attr(Box::new(FileAttr { attr: *attr, ids: object.ids.unwrap_or_default() })));
        }
        if let Some(id) = object.feature {
            return Ok(Self::Feature(id, Box::new(section(id, object, endian)?)));
        }
        if let Some(name) = object.other {
            if !directory_files::is_allowed(&name) {
                let problem = "expected a path inside the directory that is not a file of the recording";
                return Err(FieldError::new(problem).within("other"));
            }
            let bytes = object.bytes.ok_or_else(|| FieldError::new("missing field").within("bytes"))?;
            return Ok(Self::Other { name, bytes: bytes.into_vec() });
        }
        let others = [
            object.event_type.map(|event_type| Self::EventType(*event_type)),
            object.before.map(Self::Before),
            object.file.map(Self::Source),
            object.end.map(Self::End),
        ];
        let error = "unknown object; expected a field record, feature, attr, gap or end";
        others.into_iter().flatten().next().ok_or_else(|| FieldError::new(error))
    }
}

fn first(object: ParsedObject<'_>) -> StdResult<JsonItem, FieldError> {
    let Some(version) = object.perfconv else {
        return Err(FieldError::new("the first object has no field perfconv: not a recording as JSON"));
    };
    if version != VERSION {
        return Err(FieldError::new(format!("unknown version {version}; expected {VERSION}")).within("perfconv"));
    }
    let missing = |field: &str| FieldError::new("missing field").within(field);
    let container = object.container.ok_or_else(|| missing("container"))?;
    let endian = object.endian.ok_or_else(|| missing("endian"))?.into();
    let mut files = Vec::new();
    if container == ContainerName::Directory {
        files = object.files.ok_or_else(|| missing("files"))?;
        if files.is_empty() || !files.iter().enumerate().all(|(index, name)| is_recording_file(index, name)) {
            return Err(FieldError::new("expected data, data.0, data.1 and so on").within("files"));
        }
    }
    Ok(JsonItem::File { container, endian, files })
}

/// Whether a name is that of a file of records in a directory. Any other could lead out of the directory.
fn is_recording_file(index: usize, name: &str) -> bool {
    match index {
        0 => name == "data",
        _ => name
            .strip_prefix("data.")
            .is_some_and(|number| number.parse::<u32>().is_ok_and(|n| n.to_string() == number)),
    }
}

fn section(id: FeatureId, object: ParsedObject<'_>, endian: Endian) -> StdResult<JsonSection, FieldError> {
    match (object.content, object.raw) {
        (Some(content), None) if id == FeatureId::AUXTRACE => {
            let index = read(content.get()).map_err(|error| error.within("content"))?;
            Ok(JsonSection::Index { index, room: object.room, tail: object.tail })
        }
        (Some(content), None) => {
            let tail = object.tail.as_deref().map(Vec::as_slice);
            let room = Room { len: object.room, tail, usual: |covered| covered };
            Ok(JsonSection::Bytes(encode::section(id, content, &room, endian)?))
        }
        (None, Some(raw)) => Ok(JsonSection::Bytes(raw.into_vec())),
        _ => Err(FieldError::new("expected exactly one of: content, raw")),
    }
}
