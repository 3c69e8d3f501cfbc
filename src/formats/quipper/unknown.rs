//! Fields that we do not know, of messages at any depth: they are kept from one PerfDataProto to the next.

use super::encode::field;
use super::wire::Fields;
use crate::formats::retained_fields::RetainedFields;
use prost::encoding::{WireType, encode_key, encode_varint};
use std::collections::BTreeMap;

include!(concat!(env!("OUT_DIR"), "/known.rs"));

/// What is not known of a PerfDataProto.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnknownFields {
    /// Of all but the events and what we keep of records ourselves.
    pub message: Unknown,
    /// Of events.
    pub events: UnknownInEvents,
}

/// What is not known of events, by how many of those that records were made of come before.
pub type UnknownInEvents = BTreeMap<u64, Unknown>;

impl UnknownFields {
    /// Whether all is known.
    pub fn is_empty(&self) -> bool {
        self.message.is_empty() && self.events.is_empty()
    }
}

/// Whether a PerfDataProto has a place for these fields.
pub fn are_kept(fields: &RetainedFields) -> bool {
    fields.is_empty() || fields.get::<UnknownFields>().is_some()
}

/// What is not known of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unknown {
    /// Fields of its own, as they are.
    own: Vec<u8>,
    /// What is not known of messages in it: the number of their field, how many of that field come before, and what.
    inside: Vec<(u32, usize, Self)>,
}

impl Unknown {
    /// What is not known of a PerfDataProto, but for events and the records that we keep.
    pub fn of_message(bytes: &[u8]) -> Self {
        Self::of(bytes, PERF_DATA_PROTO)
    }

    /// What is not known of a PerfEvent.
    pub fn of_event(bytes: &[u8]) -> Self {
        Self::of(bytes, PERF_EVENT)
    }

    fn of(bytes: &[u8], message: usize) -> Self {
        let mut unknown = Self::default();
        let mut before = BTreeMap::<u32, usize>::new();
        for known in Fields::new(bytes).flatten() {
            let fields = MESSAGES[message];
            match fields.binary_search_by_key(&known.number, |&(number, _)| number) {
                Err(_) => unknown.own.extend_from_slice(known.whole),
                Ok(at) if fields[at].1 != NO_MESSAGE => {
                    let inside = Self::of(known.value, fields[at].1);
                    let before = before.entry(known.number).or_default();
                    if !inside.is_empty() {
                        unknown.inside.push((known.number, *before, inside));
                    }
                    *before += 1;
                }
                Ok(_) => {}
            }
        }
        unknown
    }

    /// Whether all is known.
    pub fn is_empty(&self) -> bool {
        self.own.is_empty() && self.inside.is_empty()
    }

    /// Of a message only what is not known of messages in it: for one that is written in several pieces.
    pub fn inside(&self) -> Self {
        Self { own: Vec::new(), inside: self.inside.clone() }
    }

    /// How many messages in this one have fields that are not known.
    pub fn messages(&self) -> usize {
        self.inside.iter().map(|(_, _, inside)| usize::from(!inside.own.is_empty()) + inside.messages()).sum()
    }

    /// The fields of the message itself, of which those that are no schema's only where nothing is to be left out.
    pub fn own(&self, is_lossless: bool) -> impl Iterator<Item = &[u8]> {
        let fields = Fields::new(&self.own).flatten();
        fields.filter(move |field| is_lossless || field.number < field::OURS).map(|field| field.whole)
    }

    /// A message with these fields, and how many messages in it have got theirs.
    pub fn merge(&self, bytes: &[u8], is_lossless: bool) -> (Vec<u8>, usize) {
        let (mut merged, mut done) = (Vec::with_capacity(bytes.len() + self.own.len()), 0);
        let mut before = BTreeMap::new();
        let places: BTreeMap<_, _> =
            self.inside.iter().map(|(number, before, inside)| ((*number, *before), inside)).collect();
        for field in Fields::new(bytes).flatten() {
            let count: &mut usize = before.entry(field.number).or_default();
            let place = (field.number, *count);
            *count += 1;
            match places.get(&place) {
                None => merged.extend_from_slice(field.whole),
                Some(inside) => {
                    let (value, inner) = inside.merge(field.value, is_lossless);
                    done += inner + usize::from(!inside.own.is_empty());
                    encode_key(field.number, WireType::LengthDelimited, &mut merged);
                    encode_varint(value.len() as u64, &mut merged);
                    merged.extend_from_slice(&value);
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

    /// An event whose sample has a field 99, and which itself has one.
    fn event() -> Vec<u8> {
        let sample = SampleEvent { pid: Some(1), ..SampleEvent::default() };
        let event = PerfEvent { header: Some(EventHeader::default()), ..PerfEvent::default() };
        let mut bytes = event.encode_to_vec();
        let sample = [&sample.encode_to_vec()[..], &FIELD_99, &FIELD_1500].concat();
        encode_key(3, WireType::LengthDelimited, &mut bytes);
        encode_varint(sample.len() as u64, &mut bytes);
        [&bytes[..], &sample, &FIELD_99].concat()
    }

    #[test]
    fn many_messages_with_fields_that_are_not_known_are_gone_through_once() {
        const BUILD_IDS: u32 = 7;
        let of = |bytes: &[u8]| {
            let mut message = Vec::new();
            encode_key(BUILD_IDS, WireType::LengthDelimited, &mut message);
            encode_varint(bytes.len() as u64, &mut message);
            [&message[..], bytes].concat()
        };
        let [told, known] = [of(&FIELD_99), of(&[])].map(|message| message.repeat(400_000));
        let unknown = Unknown::of_message(&told);
        assert_eq!(unknown.messages(), 400_000);
        assert!(unknown.merge(&known, true) == (told, 400_000));
    }

    #[test]
    fn what_is_not_known_is_put_back_where_it_was() {
        let bytes = event();
        let unknown = Unknown::of_event(&bytes);
        assert_eq!(unknown.messages(), 1);
        let known = PerfEvent::decode(&*bytes).unwrap().encode_to_vec();
        assert!(Unknown::of_event(&known).is_empty());
        assert_eq!(unknown.merge(&known, true), (bytes, 1));
        let (strict, _) = unknown.merge(&known, false);
        assert_eq!(strict.len(), known.len() + 2 * FIELD_99.len());
    }

    #[test]
    fn of_messages_that_repeat_the_right_one_gets_it_back() {
        let attr = |id| PerfFileAttr { ids: vec![id], ..PerfFileAttr::default() };
        let known = PerfDataProto { file_attrs: vec![attr(1), attr(2), attr(3)], ..PerfDataProto::default() };
        let known = known.encode_to_vec();
        let mut bytes = Vec::new();
        for (index, field) in Fields::new(&known).flatten().enumerate() {
            let more: &[u8] = if index == 1 { &FIELD_99 } else { &[] };
            encode_key(field.number, WireType::LengthDelimited, &mut bytes);
            encode_varint((field.value.len() + more.len()) as u64, &mut bytes);
            bytes.extend([field.value, more].concat());
        }
        let unknown = Unknown::of_message(&bytes);
        assert_eq!(unknown.merge(&known, true), (bytes, 1));
        let one = PerfDataProto { file_attrs: vec![attr(1)], ..PerfDataProto::default() };
        assert_eq!(unknown.merge(&one.encode_to_vec(), true), (one.encode_to_vec(), 0), "it is not there any more");
    }
}
