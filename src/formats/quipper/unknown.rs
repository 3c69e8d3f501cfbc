//! Unknown fields of messages at any depth, preserved from one PerfDataProto to the next.

use super::encode::field;
use super::schema::{Kind, MESSAGES, PERF_DATA_PROTO, PERF_EVENT};
use crate::formats::framework::retained_fields::RetainedFields;
use crate::formats::framework::wire::Fields;
use crate::protobuf::put_bytes;
use std::collections::BTreeMap;

/// Unknown fields of a PerfDataProto.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnknownFields {
    /// All except those of events and of perfconv's `records`.
    pub message: Unknown,
    /// Those of events.
    pub events: UnknownInEvents,
}

/// Unknown fields of events, by the number of converted events before them.
pub(crate) type UnknownInEvents = BTreeMap<u64, Unknown>;

impl UnknownFields {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.message.is_empty() && self.events.is_empty()
    }
}

/// Whether a PerfDataProto can store these fields.
pub(crate) fn are_supported(fields: &RetainedFields) -> bool {
    fields.is_empty() || fields.get::<UnknownFields>().is_some()
}

/// Unknown fields of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unknown {
    /// The message's own ones, encoded.
    own: Vec<u8>,
    /// Those of submessages: field number, index among the fields of that number, unknown fields.
    nested: Vec<(u32, usize, Self)>,
}

impl Unknown {
    /// Collects the unknown fields of a PerfDataProto, except in events and `records`.
    pub(crate) fn from_message(bytes: &[u8]) -> Self {
        Self::collect(bytes, PERF_DATA_PROTO)
    }

    /// Collects the unknown fields of a PerfEvent.
    pub(crate) fn from_event(bytes: &[u8]) -> Self {
        Self::collect(bytes, PERF_EVENT)
    }

    fn collect(bytes: &[u8], message: usize) -> Self {
        let mut unknown = Self::default();
        let mut before = BTreeMap::<u32, usize>::new();
        for field in Fields::new(bytes).flatten() {
            let fields = MESSAGES[message];
            let Ok(at) = fields.binary_search_by_key(&field.number, |field| field.number) else {
                unknown.own.extend_from_slice(field.whole);
                continue;
            };
            if let Kind::Message(nested) = fields[at].kind {
                let nested = Self::collect(field.value, nested);
                let before = before.entry(field.number).or_default();
                if !nested.is_empty() {
                    unknown.nested.push((field.number, *before, nested));
                }
                *before += 1;
            }
        }
        unknown
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.own.is_empty() && self.nested.is_empty()
    }

    /// Only those of submessages: for a message that is written in several pieces.
    pub(crate) fn nested(&self) -> Self {
        Self { own: Vec::new(), nested: self.nested.clone() }
    }

    /// Number of submessages that have unknown fields themselves.
    pub(crate) fn messages(&self) -> usize {
        self.nested.iter().map(|(_, _, nested)| usize::from(!nested.own.is_empty()) + nested.messages()).sum()
    }

    /// The message's own unknown fields; those in the range of extensions only if lossless.
    pub(crate) fn own(&self, is_lossless: bool) -> impl Iterator<Item = &[u8]> {
        let fields = Fields::new(&self.own).flatten();
        fields.filter(move |field| is_lossless || field.number < field::FIRST_EXTENSION).map(|field| field.whole)
    }

    /// Adds these fields to an encoded message; returns it, and the number of submessages that were changed.
    pub(crate) fn merge(&self, bytes: &[u8], is_lossless: bool) -> (Vec<u8>, usize) {
        let (mut merged, mut done) = (Vec::with_capacity(bytes.len() + self.own.len()), 0);
        let mut before = BTreeMap::new();
        let by_position: BTreeMap<_, _> =
            self.nested.iter().map(|(number, before, nested)| ((*number, *before), nested)).collect();
        for field in Fields::new(bytes).flatten() {
            let count: &mut usize = before.entry(field.number).or_default();
            let position = (field.number, *count);
            *count += 1;
            match by_position.get(&position) {
                None => merged.extend_from_slice(field.whole),
                Some(nested) => {
                    let (value, inner) = nested.merge(field.value, is_lossless);
                    done += inner + usize::from(!nested.own.is_empty());
                    put_bytes(&mut merged, field.number, &value);
                }
            }
        }
        self.own(is_lossless).for_each(|field| merged.extend_from_slice(field));
        (merged, done)
    }
}

#[cfg(test)]
mod tests {
    use super::super::proto::PerfDataProto;
    use super::super::proto::perf_data_proto::{EventHeader, PerfEvent, PerfFileAttr, SampleEvent};
    use super::*;
    use prost::Message;

    const FIELD_99: [u8; 3] = [0x98, 0x06, 7];
    const FIELD_1500: [u8; 3] = [0xe0, 0x5d, 1];

    /// An event with an unknown field 99, whose sample has unknown fields, too.
    fn event() -> Vec<u8> {
        let sample = SampleEvent { pid: Some(1), ..SampleEvent::default() };
        let event = PerfEvent { header: Some(EventHeader::default()), ..PerfEvent::default() };
        let mut bytes = event.encode_to_vec();
        let sample = [&sample.encode_to_vec()[..], &FIELD_99, &FIELD_1500].concat();
        put_bytes(&mut bytes, 3, &sample);
        [&bytes[..], &FIELD_99].concat()
    }

    #[test]
    fn merges_many_messages_in_linear_time() {
        const BUILD_IDS: u32 = 7;
        let build_id_message = |bytes: &[u8]| {
            let mut message = Vec::new();
            put_bytes(&mut message, BUILD_IDS, bytes);
            message
        };
        let [extended, plain] =
            [build_id_message(&FIELD_99), build_id_message(&[])].map(|message| message.repeat(400_000));
        let unknown = Unknown::from_message(&extended);
        assert_eq!(unknown.messages(), 400_000);
        assert!(unknown.merge(&plain, true) == (extended, 400_000));
    }

    #[test]
    fn unknown_fields_round_trip() {
        let bytes = event();
        let unknown = Unknown::from_event(&bytes);
        assert_eq!(unknown.messages(), 1);
        let stripped = PerfEvent::decode(&*bytes).unwrap().encode_to_vec();
        assert!(Unknown::from_event(&stripped).is_empty());
        assert_eq!(unknown.merge(&stripped, true), (bytes, 1));
        let (strict, _) = unknown.merge(&stripped, false);
        assert_eq!(strict.len(), stripped.len() + 2 * FIELD_99.len());
    }

    #[test]
    fn repeated_messages_get_back_their_own_fields() {
        let attr = |id| PerfFileAttr { ids: vec![id], ..PerfFileAttr::default() };
        let message = PerfDataProto { file_attrs: vec![attr(1), attr(2), attr(3)], ..PerfDataProto::default() };
        let encoded = message.encode_to_vec();
        let mut bytes = Vec::new();
        for (index, field) in Fields::new(&encoded).flatten().enumerate() {
            let more: &[u8] = if index == 1 { &FIELD_99 } else { &[] };
            put_bytes(&mut bytes, field.number, &[field.value, more].concat());
        }
        let unknown = Unknown::from_message(&bytes);
        assert_eq!(unknown.merge(&encoded, true), (bytes, 1));
        let one = PerfDataProto { file_attrs: vec![attr(1)], ..PerfDataProto::default() };
        assert_eq!(unknown.merge(&one.encode_to_vec(), true), (one.encode_to_vec(), 0), "the message no longer exists");
    }
}
