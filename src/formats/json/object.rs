//! A parsed object of any kind, which its fields determine.

use super::field_error::{FieldError, read_seed};
use super::objects::{ByteReplacement, ContainerName, EndianName, FileEnd};
use perf_data::abi::attr::Attr;
use perf_data::abi::feature::tracing_data::TracingData;
use perf_data::abi::feature::{Feature, FeatureId};
use perf_data::abi::header::EventType;
use perf_data::abi::record::{Body, CpuMode, Misc, RecordType};
use perf_data::abi::sample::id::SampleId;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_bytes::ByteBuf;
use serde_json::value::RawValue;
use std::fmt;

/// A parsed object. Large, rare fields are boxed to keep the type small.
#[derive(Default)]
pub(super) struct ParsedObject<'a> {
    pub perfconv: Option<u32>,
    pub container: Option<ContainerName>,
    pub endian: Option<EndianName>,
    pub files: Option<Vec<String>>,
    pub attr: Option<Box<Attr>>,
    pub ids: Option<Vec<u64>>,
    pub event_type: Option<Box<EventType>>,
    pub before: Option<Box<ByteReplacement>>,
    pub file: Option<u32>,
    pub record: Option<RecordType>,
    pub nr: Option<u64>,
    pub frame: Option<u64>,
    pub cpumode: Option<CpuMode>,
    pub misc: Option<Misc>,
    pub body: Option<RecordBody<'a>>,
    pub raw: Option<ByteBuf>,
    pub room: Option<usize>,
    pub tail: Option<ByteBuf>,
    pub sample_id: Option<SampleId>,
    pub payload: Option<ByteBuf>,
    pub tracing_data: Option<Box<TracingData>>,
    pub gap: Option<ByteBuf>,
    pub misframed: Option<bool>,
    pub feature: Option<FeatureId>,
    /// Raw, because its type depends on the feature and on whether it is in a record.
    pub content: Option<&'a RawValue>,
    pub other: Option<String>,
    pub bytes: Option<ByteBuf>,
    pub end: Option<Box<FileEnd>>,
}

/// The body of a record, whose type depends on the record's type.
pub(super) enum RecordBody<'a> {
    /// Parsed, because the type came first.
    Body(Box<Body>),
    /// Raw, because the type was not yet known.
    Later(&'a RawValue),
}

impl RecordBody<'_> {
    /// Returns the body, parsing it by the record's type if needed.
    pub(super) fn into_body(self, kind: RecordType) -> Result<Body, FieldError> {
        match self {
            Self::Body(body) => Ok(*body),
            Self::Later(json) => read_seed(json.get(), BodySeed(kind)).map_err(|error| error.within("body")),
        }
    }
}

/// Deserializes the body of a record of this type.
struct BodySeed(RecordType);

impl<'de> DeserializeSeed<'de> for BodySeed {
    type Value = Body;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Body, D::Error> {
        Body::deserialize(self.0, deserializer)
    }
}

/// Deserializes the content of this feature.
pub(super) struct ContentSeed(pub FeatureId);

impl<'de> DeserializeSeed<'de> for ContentSeed {
    type Value = Feature;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Feature, D::Error> {
        Feature::deserialize(self.0, deserializer)
    }
}

/// The name of a field.
#[derive(serde::Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum ObjectField {
    Perfconv,
    Container,
    Endian,
    Files,
    Attr,
    Ids,
    EventType,
    Before,
    File,
    Record,
    Nr,
    Frame,
    Cpumode,
    Misc,
    Body,
    Raw,
    Room,
    Tail,
    SampleId,
    Payload,
    TracingData,
    Tracepoint,
    Symbols,
    Gap,
    Misframed,
    Feature,
    Content,
    Other,
    Bytes,
    End,
    #[serde(other)]
    Unknown,
}

impl<'de: 'a, 'a> Deserialize<'de> for ParsedObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor)
    }
}

/// Visits the fields of an object.
struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = ParsedObject<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ParsedObject<'de>, A::Error> {
        let mut object = ParsedObject::default();
        while let Some(field) = map.next_key()? {
            match field {
                ObjectField::Perfconv => set(&mut object.perfconv, &mut map)?,
                ObjectField::Container => set(&mut object.container, &mut map)?,
                ObjectField::Endian => set(&mut object.endian, &mut map)?,
                ObjectField::Files => set(&mut object.files, &mut map)?,
                ObjectField::Attr => set(&mut object.attr, &mut map)?,
                ObjectField::Ids => set(&mut object.ids, &mut map)?,
                ObjectField::EventType => set(&mut object.event_type, &mut map)?,
                ObjectField::Before => set(&mut object.before, &mut map)?,
                ObjectField::File => set(&mut object.file, &mut map)?,
                ObjectField::Record => set(&mut object.record, &mut map)?,
                ObjectField::Nr => set(&mut object.nr, &mut map)?,
                ObjectField::Frame => set(&mut object.frame, &mut map)?,
                ObjectField::Cpumode => set(&mut object.cpumode, &mut map)?,
                ObjectField::Misc => set(&mut object.misc, &mut map)?,
                ObjectField::Body => match object.record {
                    _ if object.body.is_some() => map.next_value_seed(DuplicateField)?,
                    Some(kind) => object.body = Some(RecordBody::Body(Box::new(map.next_value_seed(BodySeed(kind))?))),
                    None => object.body = Some(RecordBody::Later(map.next_value()?)),
                },
                ObjectField::Raw => set(&mut object.raw, &mut map)?,
                ObjectField::Room => set(&mut object.room, &mut map)?,
                ObjectField::Tail => set(&mut object.tail, &mut map)?,
                ObjectField::SampleId => set(&mut object.sample_id, &mut map)?,
                ObjectField::Payload => set(&mut object.payload, &mut map)?,
                ObjectField::TracingData => set(&mut object.tracing_data, &mut map)?,
                // Derived from other fields.
                ObjectField::Tracepoint | ObjectField::Symbols => drop(map.next_value::<&RawValue>()?),
                ObjectField::Gap => set(&mut object.gap, &mut map)?,
                ObjectField::Misframed => set(&mut object.misframed, &mut map)?,
                ObjectField::Feature => set(&mut object.feature, &mut map)?,
                ObjectField::Content => set(&mut object.content, &mut map)?,
                ObjectField::Other => set(&mut object.other, &mut map)?,
                ObjectField::Bytes => set(&mut object.bytes, &mut map)?,
                ObjectField::End => set(&mut object.end, &mut map)?,
                // An error with the path of the field: the rules reject ignored values.
                ObjectField::Unknown => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(object)
    }
}

/// Deserializes a field, which may be null; rejects a duplicate.
fn set<'de, T: Deserialize<'de>, A: MapAccess<'de>>(field: &mut Option<T>, map: &mut A) -> Result<(), A::Error> {
    if field.is_some() {
        return map.next_value_seed(DuplicateField);
    }
    *field = map.next_value()?;
    Ok(())
}

/// Rejects a duplicate field.
struct DuplicateField;

impl<'de> DeserializeSeed<'de> for DuplicateField {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, _: D) -> Result<(), D::Error> {
        Err(D::Error::custom("duplicate field"))
    }
}
