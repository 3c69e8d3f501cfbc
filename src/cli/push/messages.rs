//! The messages that servers receive and answer.

use prost::Message;
use prost::encoding::{DecodeContext, decode_key, skip_field, uint64};

/// Number of the field of a pprof profile with its time.
pub(super) const TIME_NANOS: u32 = 9;

/// A label. Equal in the messages of both servers.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Label {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

impl Label {
    /// Creates a label.
    pub(super) fn new(name: &str, value: &str) -> Self {
        Self { name: name.to_owned(), value: value.to_owned() }
    }
}

#[derive(Clone, PartialEq, Message)]
struct RawSample {
    #[prost(bytes = "vec", tag = "1")]
    raw_profile: Vec<u8>,
}

/// `push.v1.PushRequest` of Pyroscope.
#[derive(Clone, PartialEq, Message)]
struct PushRequest {
    #[prost(message, repeated, tag = "1")]
    series: Vec<PushedSeries>,
}

#[derive(Clone, PartialEq, Message)]
struct PushedSeries {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<RawSample>,
}

/// `parca.profilestore.v1alpha1.WriteRawRequest` of Parca.
#[derive(Clone, PartialEq, Message)]
struct WriteRawRequest {
    #[prost(message, repeated, tag = "2")]
    series: Vec<WrittenSeries>,
}

#[derive(Clone, PartialEq, Message)]
struct WrittenSeries {
    #[prost(message, optional, tag = "1")]
    labels: Option<LabelSet>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<RawSample>,
}

#[derive(Clone, PartialEq, Message)]
struct LabelSet {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<Label>,
}

/// `opentelemetry.proto.collector.profiles.v1development.ExportProfilesServiceResponse`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ExportResponse {
    #[prost(message, optional, tag = "1")]
    pub partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PartialSuccess {
    #[prost(int64, tag = "1")]
    pub rejected_profiles: i64,
    #[prost(string, tag = "2")]
    pub error_message: String,
}

/// The request of Pyroscope for a compressed profile.
pub(super) fn pyroscope(labels: Vec<Label>, raw_profile: Vec<u8>) -> Vec<u8> {
    let samples = vec![RawSample { raw_profile }];
    PushRequest { series: vec![PushedSeries { labels, samples }] }.encode_to_vec()
}

/// The request of Parca for a compressed profile, whose addresses are those of the process.
pub(super) fn parca(labels: Vec<Label>, raw_profile: Vec<u8>) -> Vec<u8> {
    let (labels, samples) = (Some(LabelSet { labels }), vec![RawSample { raw_profile }]);
    WriteRawRequest { series: vec![WrittenSeries { labels, samples }] }.encode_to_vec()
}

/// Whether a message has a field.
pub(super) fn has_field(mut message: &[u8], wanted: u32) -> bool {
    while let Ok((number, wire_type)) = decode_key(&mut message) {
        if number == wanted {
            return true;
        }
        if skip_field(wire_type, number, &mut message, DecodeContext::default()).is_err() {
            return false;
        }
    }
    false
}

/// The field that gives a profile a time, to be appended to it.
pub(super) fn with_time(nanoseconds: u64) -> Vec<u8> {
    let mut field = Vec::new();
    uint64::encode(TIME_NANOS, &nanoseconds, &mut field);
    field
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfconv::formats::pprof::proto::Profile;

    #[test]
    fn a_time_is_appended_to_a_profile() {
        let profile = Profile { duration_nanos: 5, ..Profile::default() };
        let mut bytes = profile.encode_to_vec();
        assert!(!has_field(&bytes, TIME_NANOS) && has_field(&bytes, 10));
        bytes.extend(with_time(1 << 60));
        assert!(has_field(&bytes, TIME_NANOS));
        assert_eq!(Profile::decode(&*bytes).unwrap(), Profile { time_nanos: 1 << 60, ..profile });
        assert!(!has_field(&bytes[..bytes.len() - 1], 77));
    }
}
