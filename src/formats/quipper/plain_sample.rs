//! A fast path for samples of numbers, call chain and raw data, as nearly all are: it writes events without building
//! a message.
//!
//! Its output equals that of [`describe`](super::sample::describe) and prost.

use super::encode::field;
use super::sample::MODELLED;
use crate::protobuf::{LONGEST, put, put_bytes, put_message};
use perf_data::abi::record::RecordHeader;
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::sample_type::SampleType;

/// Supported fields of samples: numbers, call chain, raw data, and the weight as a number.
const PLAIN: SampleType =
    MODELLED.difference(SampleType::READ).difference(SampleType::BRANCH_STACK).difference(SampleType::WEIGHT_STRUCT);

/// Whether the fast path supports a sample, and [`encode`](super::sample::encode) would reproduce its exact bytes.
pub(super) fn is_plain(view: &SampleView<'_>, layout: &SampleLayout) -> bool {
    let same_id = view.identifier.zip(view.id).is_none_or(|(identifier, id)| identifier == id);
    PLAIN.contains(layout.sample_type())
        && same_id
        && view.cpu.is_none_or(|(_, unused)| unused == 0)
        && view.tail.is_empty()
}

/// Appends an event.
pub(super) fn write(header: &RecordHeader, view: &SampleView<'_>, out: &mut Vec<u8>) {
    put_message(out, field::EVENTS, |out| {
        put_message(out, 1, |out| {
            put(out, 1, header.kind.0.into());
            put(out, 2, header.misc.bits().into());
            put(out, 3, header.size.into());
        });
        put_message(out, 3, |out| sample(view, out));
        put(out, 10, view.time.unwrap_or(0));
    });
}

/// Appends the fields of a SampleEvent in order of their numbers.
fn sample(view: &SampleView<'_>, out: &mut Vec<u8>) {
    let (pid, tid) = view.task.unzip();
    put_if(out, 1, view.ip);
    put_if(out, 2, pid.map(u64::from));
    put_if(out, 3, tid.map(u64::from));
    put_if(out, 4, view.time);
    put_if(out, 5, view.addr);
    put_if(out, 6, view.identifier.or(view.id));
    put_if(out, 7, view.stream_id);
    put_if(out, 8, view.period);
    put_if(out, 9, view.cpu.map(|(cpu, _)| cpu.into()));
    put_if(out, 10, view.raw.map(|raw| raw.len() as u64));
    if let Some(chain) = &view.callchain {
        out.reserve(chain.len() * (1 + LONGEST));
        chain.iter().for_each(|address| put(out, 11, address));
    }
    put_if(out, 15, view.weight);
    put_if(out, 16, view.data_src);
    put_if(out, 17, view.transaction);
    put_if(out, 19, view.phys_addr);
    put_if(out, 20, view.cgroup);
    if let Some(raw) = view.raw {
        put_bytes(out, 21, raw);
    }
    put_if(out, 22, view.data_page_size);
    put_if(out, 23, view.code_page_size);
}

fn put_if(out: &mut Vec<u8>, number: u32, value: Option<u64>) {
    if let Some(value) = value {
        put(out, number, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::quipper::proto::perf_data_proto::{EventHeader, PerfEvent, SampleEvent};
    use crate::formats::quipper::sample;
    use crate::protobuf::tests::number;
    use perf_data::abi::Endian;
    use perf_data::abi::record::{Misc, RecordType};
    use proptest::collection::vec;
    use proptest::prelude::*;
    use prost::Message;
    use prost::encoding::message;

    proptest! {
        #[test]
        fn plain_sample_matches_prost_and_round_trips(
            bits in any::<u64>(), numbers in vec(number(), 20), callchain in vec(number(), 0..40), raw in vec(any::<u8>(), 0..200)
        ) {
            let layout = SampleLayout::new(PLAIN & SampleType::from_bits_retain(bits));
            let some = |index: usize| Some(numbers[index]);
            let message = SampleEvent {
                ip: some(0), pid: some(1).map(|n| n as u32), tid: some(2).map(|n| n as u32), sample_time_ns: some(3), addr: some(4),
                id: some(5), stream_id: some(6), cpu: some(7).map(|n| n as u32), period: some(8), callchain, raw: Some(raw),
                weight: some(9), data_src: some(10), transaction: some(11), physical_addr: some(12), cgroup: some(13),
                data_page_size: some(14), code_page_size: some(15), ..SampleEvent::default()
            };
            let mut body = Vec::new();
            sample::encode(&message, &layout, Endian::Little, &mut body);
            let view = SampleView::read(&body, &layout, Endian::Little).expect("the body matches its layout");
            prop_assert!(is_plain(&view, &layout));
            let header = RecordHeader { kind: RecordType::SAMPLE, misc: Misc::from_bits_retain(bits as u16), size: body.len() as u16 };
            let mut fields = SampleEvent::default();
            sample::describe(&view, &layout, Endian::Little, &mut fields);
            let mut reencoded = Vec::new();
            sample::encode(&fields, &layout, Endian::Little, &mut reencoded);
            prop_assert_eq!(reencoded, &body[..]);
            let event = PerfEvent {
                header: Some(EventHeader {
                    r#type: Some(9), misc: Some(header.misc.bits().into()), size: Some(header.size.into())
                }),
                timestamp: Some(fields.sample_time_ns.unwrap_or(0)),
                sample_event: Some(Box::new(fields)),
                ..PerfEvent::default()
            };
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            write(&header, &view, &mut ours);
            message::encode(field::EVENTS, &event, &mut theirs);
            prop_assert_eq!(ours, theirs, "{:?}", event.encoded_len());
        }
    }

    #[test]
    fn samples_that_would_not_round_trip_are_not_plain() {
        let layout = SampleLayout::new;
        let plain = |view: &SampleView<'_>, fields| is_plain(view, &layout(fields));
        let nothing = SampleView::default();
        assert!(plain(&nothing, SampleType::IP));
        assert!(!plain(&nothing, SampleType::IP | SampleType::BRANCH_STACK));
        assert!(!plain(&SampleView { cpu: Some((1, 1)), ..nothing }, SampleType::CPU));
        assert!(!plain(&SampleView { id: Some(1), identifier: Some(2), ..nothing }, SampleType::ID));
        assert!(!plain(&SampleView { tail: &[0], ..nothing }, SampleType::IP));
    }
}
