//! Versions of the protocol. It is in development, and the numbers of its fields changed; a file does not state its version.
//!
//! | opentelemetry-proto | samples |
//! |---|---|
//! | after 1.9 | stack, attributes, link, values, times |
//! | 1.8, 1.9 | stack, values, attributes, link, times |
//! | 1.7 | a range of the locations of their profile, values of all sample types, attributes, link, times |
//! | before | tables are not in a dictionary |
//!
//! async-profiler 4.1 and 4.2 write 1.7, 4.3 and 4.4 write 1.9.

use crate::formats::framework::wire::{Fields, WireField};
use crate::protobuf::{put_message, varint};
use prost::encoding::{WireType, decode_key, decode_varint};

/// How samples are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SampleLayout {
    Current,
    /// Versions 1.8 and 1.9: values before attributes.
    ValuesFirst,
    /// Version 1.7 and earlier.
    LocationRanges,
}

/// Resources, scopes, profiles and samples.
const SAMPLES: [u32; 4] = [1, 2, 2, 2];

/// The field of a sample with its times, in all versions that are distinguished.
const TIMES: u32 = 5;

impl SampleLayout {
    /// The layout in which all samples are possible.
    pub(super) fn detect(data: &[u8]) -> Self {
        let has_ranges = |profile: &WireField<'_>| {
            // A list of locations, where later versions have a time of fixed size.
            fields(profile.value).any(|field| field.number == 3 && wire_type(&field) == Some(WireType::LengthDelimited))
        };
        if nested(data, &SAMPLES[..3]).iter().any(has_ranges) {
            return Self::LocationRanges;
        }
        let samples = nested(data, &SAMPLES);
        let table = |number| {
            let dictionary = fields(data).filter(|field| field.number == 2);
            dictionary.flat_map(|dictionary| fields(dictionary.value)).filter(|field| field.number == number).count()
        };
        let sizes = Sizes { links: table(4) as u64, attributes: table(6) as u64 };
        let is_current = samples.iter().all(|sample| is_possible(sample.value, [2, 3, 4], &sizes));
        let has_values_first = || samples.iter().all(|sample| is_possible(sample.value, [3, 4, 2], &sizes));
        if !is_current && has_values_first() { Self::ValuesFirst } else { Self::Current }
    }
}

/// Numbers of entries of tables.
struct Sizes {
    links: u64,
    attributes: u64,
}

/// Whether a sample can have attributes, link and values in these fields: attributes and link exist, and there are values or times.
fn is_possible(sample: &[u8], [attributes, link, values]: [u32; 3], sizes: &Sizes) -> bool {
    let mut has_values = false;
    for field in fields(sample) {
        let number = field.number;
        has_values |= number == values || number == TIMES;
        let fits = match number {
            _ if number == attributes => all_below(&field, sizes.attributes),
            // A single number, which is 0 without a table.
            _ if number == link => wire_type(&field) == Some(WireType::Varint) && all_below(&field, sizes.links.max(1)),
            _ => true,
        };
        if !fits {
            return false;
        }
    }
    has_values
}

/// Profiles of the versions 1.8 and 1.9 in the current layout.
pub(super) fn with_values_last(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len());
    copy(data, &SAMPLES, &mut out);
    out
}

/// Copies a message, in which the messages on a path of fields are samples, whose fields get their current numbers.
fn copy(message: &[u8], path: &[u32], out: &mut Vec<u8>) {
    for field in Fields::new(message) {
        let field = match field {
            Ok(field) => field,
            // Decoding reports it.
            Err(offset) => return out.extend_from_slice(&message[offset as usize..]),
        };
        let mut value = field.whole;
        match (path.split_first(), decode_key(&mut value)) {
            (Some((&number, rest)), _) if field.number == number => {
                put_message(out, number, |out| copy(field.value, rest, out));
            }
            (None, Ok((number, wire))) => {
                let number = match number {
                    2 => 4,
                    3 => 2,
                    4 => 3,
                    other => other,
                };
                varint(out, u64::from(number << 3 | wire as u32));
                out.extend_from_slice(value);
            }
            _ => out.extend_from_slice(field.whole),
        }
    }
}

/// The fields of a message up to the first that is not valid, which decoding reports.
fn fields(message: &[u8]) -> impl Iterator<Item = WireField<'_>> {
    Fields::new(message).map_while(Result::ok)
}

/// The messages on a path of fields.
fn nested<'a>(message: &'a [u8], path: &[u32]) -> Vec<WireField<'a>> {
    let mut messages: Vec<_> = fields(message).filter(|field| Some(&field.number) == path.first()).collect();
    for &number in path.iter().skip(1) {
        messages =
            messages.iter().flat_map(|message| fields(message.value)).filter(|field| field.number == number).collect();
    }
    messages
}

fn wire_type(field: &WireField<'_>) -> Option<WireType> {
    decode_key(&mut &field.whole[..]).ok().map(|(_, wire)| wire)
}

/// Whether the numbers of a field, packed or not, are below a limit.
fn all_below(field: &WireField<'_>, limit: u64) -> bool {
    let mut bytes = field.whole;
    let Ok((_, wire)) = decode_key(&mut bytes) else { return false };
    if wire == WireType::LengthDelimited {
        bytes = field.value;
    }
    while !bytes.is_empty() {
        if decode_varint(&mut bytes).map_or(true, |number| number >= limit) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::proto::{KeyValueAndUnit, Link, ProfilesData, ProfilesDictionary, Sample};
    use super::*;
    use crate::protobuf::put;
    use prost::Message;

    /// A file with samples of these bytes, whose tables have two attributes and one link.
    fn with_samples(samples: &[&[u8]]) -> Vec<u8> {
        let dictionary = ProfilesDictionary {
            attribute_table: vec![KeyValueAndUnit::default(); 2],
            link_table: vec![Link {}],
            ..ProfilesDictionary::default()
        };
        let mut data = Vec::new();
        put_message(&mut data, 1, |out| {
            put_message(out, 2, |out| {
                put_message(out, 2, |out| {
                    samples.iter().for_each(|sample| put_message(out, 2, |out| out.extend_from_slice(sample)))
                });
            });
        });
        put_message(&mut data, 2, |out| out.extend(dictionary.encode_to_vec()));
        data
    }

    /// A sample with these fields, each a list of numbers, packed or one by one.
    fn sample(fields: &[(u32, &[u64])], is_packed: bool) -> Vec<u8> {
        let mut out = Vec::new();
        for (number, values) in fields {
            if is_packed && *number > 1 {
                put_message(&mut out, *number, |out| values.iter().for_each(|&value| varint(out, value)));
            } else {
                values.iter().for_each(|&value| put(&mut out, *number, value));
            }
        }
        out
    }

    fn samples(data: &[u8]) -> Vec<Sample> {
        ProfilesData::decode(data)
            .unwrap()
            .resource_profiles
            .remove(0)
            .scope_profiles
            .remove(0)
            .profiles
            .remove(0)
            .samples
    }

    #[test]
    fn values_before_attributes_are_recognized_and_converted() {
        let expected = |values: &[i64], attributes: &[i32]| Sample {
            stack_index: 3,
            values: values.to_vec(),
            attribute_indices: attributes.to_vec(),
            ..Sample::default()
        };
        for is_packed in [false, true] {
            let current = [
                sample(&[(1, &[3]), (2, &[1]), (4, &[1 << 40])], is_packed),
                sample(&[(1, &[3]), (4, &[7, 8])], is_packed),
            ];
            let earlier = [
                sample(&[(1, &[3]), (2, &[1 << 40]), (3, &[1])], is_packed),
                sample(&[(1, &[3]), (2, &[7, 8])], is_packed),
            ];
            let [current, earlier] =
                [current, earlier].map(|list| with_samples(&list.each_ref().map(|sample| &sample[..])));
            assert_eq!(SampleLayout::detect(&current), SampleLayout::Current);
            assert_eq!(SampleLayout::detect(&earlier), SampleLayout::ValuesFirst);
            let converted = with_values_last(&earlier);
            assert_eq!(samples(&converted), [expected(&[1 << 40], &[1]), expected(&[7, 8], &[])]);
            assert_eq!(samples(&current), samples(&converted));
            // What is not valid is still reported.
            assert!(ProfilesData::decode(&*with_values_last(&earlier[..earlier.len() - 1])).is_err());
        }
    }

    #[test]
    fn samples_with_times_need_no_values() {
        let mut sample = sample(&[(1, &[3]), (2, &[1])], true);
        put_message(&mut sample, TIMES, |out| out.extend_from_slice(&7_u64.to_le_bytes()));
        assert_eq!(SampleLayout::detect(&with_samples(&[&sample])), SampleLayout::Current);
    }
}
