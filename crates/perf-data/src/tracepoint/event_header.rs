//! Fields that describe themselves: tracepoints of user_events in the layout EventHeader.
//!
//! The tracepoint's format has only the header. Names, types and values of the other fields are in each payload:
//!
//! ```c
//! struct eventheader { u8 flags; u8 version; u16 id; u16 tag; u8 opcode; u8 level; };
//! struct extension   { u16 size; u16 kind; u8 data[size]; }; // if flags & 4: names and types of fields; an activity ID
//! ```
//!
//! The name of the tracepoint is that of the provider with level and keyword, such as `TestProvider_L5K1`. Structures and arrays
//! nest. The feature `eventheader` of this crate decodes them; without it, such payloads have only the fields of the header.

/// Name of the decoded fields, beside those of the header.
pub(super) const NAME: &str = "eventheader";

/// The first field of the header, by which such tracepoints are recognized.
pub(super) const FIRST_FIELD: &str = "eventheader_flags";

/// The fields of a payload. Its text is a JSON object: the name of the event, its fields, and, as `meta`, its level and so on. If the
/// fields are damaged, `error` says why they are missing.
///
/// ```json
/// {"n":"TestProvider:Opened","path":"/tmp/a","size":12,"meta":{"level":5,"keyword":"0x1"}}
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventHeader<'a> {
    tracepoint: &'a str,
    /// From the header on.
    bytes: &'a [u8],
}

impl<'a> EventHeader<'a> {
    /// Takes the fields of a payload, from the header on. `None` if the header is invalid or the crate's feature is missing.
    pub(super) fn new(tracepoint: &'a str, bytes: &'a [u8]) -> Option<Self> {
        let header = Self { tracepoint, bytes };
        header.is_valid().then_some(header)
    }

    /// Number of bytes of the payload.
    pub(super) fn size(&self) -> usize {
        self.bytes.len()
    }
}

#[cfg(feature = "eventheader")]
mod decoding {
    use super::EventHeader;
    use std::fmt;
    use tracepoint_decode::{
        EventHeaderEnumerator, EventHeaderEnumeratorContext, EventHeaderEnumeratorError, PerfConvertOptions,
    };

    /// Numbers are numbers, but those that are meant as hexadecimal ones, times and names of errors are strings. No spaces, no tags.
    const OPTIONS: PerfConvertOptions = PerfConvertOptions::RootName
        .or(PerfConvertOptions::IntHexAsString)
        .or(PerfConvertOptions::FloatNonFiniteAsString)
        .or(PerfConvertOptions::UnixTimeWithinRangeAsString)
        .or(PerfConvertOptions::UnixTimeOutOfRangeAsString)
        .or(PerfConvertOptions::ErrnoKnownAsString)
        .or(PerfConvertOptions::ErrnoUnknownAsString);

    impl<'a> EventHeader<'a> {
        fn fields<'c>(
            &self,
            context: &'c mut EventHeaderEnumeratorContext,
        ) -> Result<EventHeaderEnumerator<'c, 'a, 'a>, EventHeaderEnumeratorError> {
            let limit = EventHeaderEnumeratorContext::MOVE_NEXT_LIMIT_DEFAULT;
            context.enumerate_with_name_and_data(self.tracepoint, self.bytes, limit)
        }

        pub(super) fn is_valid(&self) -> bool {
            self.fields(&mut EventHeaderEnumeratorContext::new()).is_ok()
        }
    }

    impl fmt::Display for EventHeader<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let mut context = EventHeaderEnumeratorContext::new();
            let Ok(mut fields) = self.fields(&mut context) else { return f.write_str("{}") };
            let info = fields.event_info();
            let mut text = String::new();
            fields.write_json_item_and_move_next_sibling(&mut text, true, OPTIONS)?;
            if fields.last_error() != EventHeaderEnumeratorError::Success {
                // The text ends in the middle.
                text = format!(",\"error\":\"{}\"", fields.last_error());
            }
            let mut meta = info.json_meta_display(None);
            meta.convert_options(OPTIONS);
            write!(f, "{{\"n\":\"{}\"{text},\"meta\":{{{meta}}}}}", info.json_identity_display())
        }
    }
}

#[cfg(not(feature = "eventheader"))]
mod decoding {
    use super::EventHeader;
    use std::fmt;

    impl EventHeader<'_> {
        #[expect(clippy::unused_self, reason = "decided by the feature")]
        pub(super) fn is_valid(&self) -> bool {
            false
        }
    }

    impl fmt::Display for EventHeader<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("{}")
        }
    }
}

#[cfg(all(test, feature = "eventheader"))]
mod tests {
    use super::*;

    /// An event with the fields `size` and `path`.
    fn payload() -> Vec<u8> {
        let mut fields = b"Opened\0size\0\x04path\0\x07".to_vec();
        let mut bytes = vec![LITTLE_ENDIAN | HAS_EXTENSION, 0, 7, 0, 0, 0, 1, 5];
        bytes.extend((fields.len() as u16).to_le_bytes());
        bytes.extend(METADATA.to_le_bytes());
        bytes.append(&mut fields);
        bytes.extend(12_u32.to_le_bytes());
        bytes.extend(b"/tmp/\"a\"\0");
        bytes
    }

    const LITTLE_ENDIAN: u8 = 2;
    const HAS_EXTENSION: u8 = 4;
    const METADATA: u16 = 1;

    #[test]
    fn fields_are_json() {
        let bytes = payload();
        let text = EventHeader::new("Files_L5K1", &bytes).map(|fields| fields.to_string());
        let json = r#"{"n":"Files:Opened","size":12,"path":"/tmp/\"a\"","meta":{"id":7,"level":5,"keyword":"0x1","opcode":1}}"#;
        assert_eq!(text.as_deref(), Some(json));
    }

    #[test]
    fn damaged_payloads_are_json_too() {
        let bytes = payload();
        for len in 0..bytes.len() {
            for name in ["Files_L5K1", "Files", ""] {
                let Some(fields) = EventHeader::new(name, &bytes[..len]) else { continue };
                let json: serde_json::Value = serde_json::from_str(&fields.to_string()).expect("JSON");
                assert_eq!(json["n"], "Files:Opened", "{len}: {json}");
            }
        }
        let cut = EventHeader::new("Files_L5K1", &bytes[..bytes.len() - 11]).map(|fields| fields.to_string());
        assert!(cut.as_ref().is_some_and(|text| text.contains(r#""error":"InvalidData""#)), "{cut:?}");
        assert_eq!(EventHeader::new("Files", &bytes), None, "not the name of a provider");
    }
}
