//! What an object tells, with records as the bytes that they were.

use super::directory_files;
use super::encode::{self, Room};
use super::field_error::{FieldError, read};
use super::layout_check::DescribedLayout;
use super::object::Object;
use super::objects::{Change, ContainerName, End, Index, VERSION};
use super::sample;
use crate::abi::Endian;
use crate::abi::feature::FeatureId;
use crate::abi::header::EventType;
use crate::abi::record::RecordType;
use crate::container::read::file::FileAttr;
use serde_bytes::ByteBuf;
use std::ops::Range;
use std::result::Result as StdResult;

/// What an object tells. What is rare is boxed, so that the many are small.
pub enum Item {
    /// The container: the first object.
    File { container: ContainerName, endian: Endian, files: Vec<String> },
    /// An event of a file's header.
    Attr(Box<FileAttr>),
    /// A name of a tracepoint.
    EventType(EventType),
    /// How what lies before the records differs.
    Before(Box<Change>),
    /// The next of a folder's files begins.
    Source(u32),
    /// A record.
    Record {
        /// Where its bytes are among those of all.
        bytes: Range<usize>,
        /// Number of an AUXTRACE record.
        nr: Option<u64>,
        frame: InFrame,
        /// By which fields it is told, where it is by any.
        told: Option<DescribedLayout>,
    },
    /// Bytes between records.
    Gap {
        /// Where they are among those of all.
        bytes: Range<usize>,
        frame: InFrame,
    },
    /// A feature section of a file.
    Feature(FeatureId, Box<Section>),
    /// A piece of a file beside the recording.
    Other {
        /// The file's name.
        name: String,
        bytes: Vec<u8>,
    },
    /// The last object.
    End(Box<End>),
}

/// What a record or gap has to do with frames.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum InFrame {
    /// Nothing.
    No,
    /// It is in one.
    Inside,
    /// It is one.
    Frame { misframed: bool },
}

/// A feature section.
pub enum Section {
    Bytes(Vec<u8>),
    /// It waits for the places of records.
    Index {
        index: Index,
        room: Option<usize>,
        tail: Option<ByteBuf>,
    },
}

impl Item {
    /// What the object tells that a text begins with, if it is a usual sample, and how long it is. The record's bytes go to
    /// the end of `out`.
    #[inline]
    pub fn usual(text: &str, endian: Endian, out: &mut Vec<u8>) -> Option<(Self, usize)> {
        let start = out.len();
        let scanned = sample::scan(text.as_bytes(), endian, out)?;
        let frame = if scanned.is_in_frame { InFrame::Inside } else { InFrame::No };
        let told = Some(DescribedLayout { fields: scanned.fields, is_all: true });
        Some((Self::Record { bytes: start..out.len(), nr: None, frame, told }, scanned.len))
    }

    /// What an object of a recording in this byte order tells; of the first one, there is none yet. The bytes of records go
    /// to the end of `out`.
    ///
    /// # Errors
    /// Where fields are missing, contradict each other or cannot be what they tell.
    pub fn of(object: Object<'_>, endian: Option<Endian>, out: &mut Vec<u8>) -> StdResult<Self, FieldError> {
        let Some(endian) = endian.filter(|_| object.perfconv.is_none()) else { return first(object) };
        if let Some(kind) = object.record {
            let is_frame = matches!(kind, RecordType::COMPRESSED | RecordType::COMPRESSED2);
            let frame = match object.frame {
                Some(_) if is_frame => InFrame::Frame { misframed: false },
                Some(_) => InFrame::Inside,
                None => InFrame::No,
            };
            let (start, nr) = (out.len(), object.nr.filter(|_| kind == RecordType::AUXTRACE));
            let told = encode::record(kind, object, endian, out)?;
            return Ok(Self::Record { bytes: start..out.len(), nr, frame, told });
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
                let what = "it must be a path to a file in the folder that is none of the recording's";
                return Err(FieldError::new(what).within("other"));
            }
            let bytes = object.bytes.ok_or_else(|| FieldError::new("the field is missing").within("bytes"))?;
            return Ok(Self::Other { name, bytes: bytes.into_vec() });
        }
        let others = [
            object.event_type.map(|told| Self::EventType(*told)),
            object.before.map(Self::Before),
            object.file.map(Self::Source),
            object.end.map(Self::End),
        ];
        let wrong = "the object is none of this format: it has no field record, feature, attr, gap or end";
        others.into_iter().flatten().next().ok_or_else(|| FieldError::new(wrong))
    }
}

fn first(object: Object<'_>) -> StdResult<Item, FieldError> {
    let Some(version) = object.perfconv else {
        return Err(FieldError::new("the first object has no field perfconv: this is not the JSON of a recording"));
    };
    if version != VERSION {
        return Err(FieldError::new(format!("version {version} is not read; {VERSION} is")).within("perfconv"));
    }
    let missing = |field: &str| FieldError::new("the field is missing").within(field);
    let container = object.container.ok_or_else(|| missing("container"))?;
    let endian = object.endian.ok_or_else(|| missing("endian"))?.into();
    let mut files = Vec::new();
    if container == ContainerName::Directory {
        files = object.files.ok_or_else(|| missing("files"))?;
        if files.is_empty() || !files.iter().enumerate().all(|(index, name)| is_file_of_folder(index, name)) {
            return Err(FieldError::new("expected data, data.0, data.1 and so on").within("files"));
        }
    }
    Ok(Item::File { container, endian, files })
}

/// Whether a name is one that a file of records has in a folder. Any other could be a path to somewhere else.
fn is_file_of_folder(index: usize, name: &str) -> bool {
    match index {
        0 => name == "data",
        _ => name
            .strip_prefix("data.")
            .is_some_and(|number| number.parse::<u32>().is_ok_and(|n| n.to_string() == number)),
    }
}

fn section(id: FeatureId, object: Object<'_>, endian: Endian) -> StdResult<Section, FieldError> {
    match (object.content, object.raw) {
        (Some(content), None) if id == FeatureId::AUXTRACE => {
            let index = read(content.get()).map_err(|wrong| wrong.within("content"))?;
            Ok(Section::Index { index, room: object.room, tail: object.tail })
        }
        (Some(content), None) => {
            let tail = object.tail.as_deref().map(Vec::as_slice);
            let room = Room { told: object.room, tail, usual: |covered| covered };
            Ok(Section::Bytes(encode::section(id, content, &room, endian)?))
        }
        (None, Some(raw)) => Ok(Section::Bytes(raw.into_vec())),
        _ => Err(FieldError::new("a feature has content or raw bytes")),
    }
}
