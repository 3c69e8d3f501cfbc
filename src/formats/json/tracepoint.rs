//! Decoded fields of a tracepoint sample, written in addition to its payload.

use perf_data::abi::serde::readable;
use perf_data::tracepoint::tracepoints::Tracepoint;
use perf_data::tracepoint::value::{FieldValue, Numbers};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_bytes::Bytes as Base64;

/// The fields of a payload by name.
pub(super) struct TracepointFields<'a> {
    pub tracepoint: &'a Tracepoint,
    pub payload: &'a [u8],
}

impl Serialize for TracepointFields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut output = serializer.serialize_map(None)?;
        for (field, value) in self.tracepoint.values(self.payload) {
            output.serialize_entry(&field.name, &SerializedValue(value))?;
        }
        output.end()
    }
}

struct SerializedValue<'a>(FieldValue<'a>);

impl Serialize for SerializedValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            FieldValue::Signed(number) => number.serialize(serializer),
            FieldValue::Unsigned(number) => number.serialize(serializer),
            FieldValue::Pointer(address) => readable::hex(address, serializer),
            FieldValue::Text(text) => readable::text::serialize(text, serializer),
            FieldValue::Numbers(numbers) => serialize_numbers(numbers, serializer),
            FieldValue::EventHeader(fields) => serialize_json(&fields.to_string(), serializer),
            FieldValue::Bytes(bytes) => Base64::new(bytes).serialize(serializer),
        }
    }
}

/// Serializes text that is JSON itself.
fn serialize_json<S: Serializer>(json: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serde_transcode::transcode(&mut serde_json::Deserializer::from_str(json), serializer)
}

fn serialize_numbers<S: Serializer>(numbers: &Numbers<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    let mut output = serializer.serialize_seq(None)?;
    numbers.iter().try_for_each(|number| output.serialize_element(&SerializedValue(number)))?;
    output.end()
}
