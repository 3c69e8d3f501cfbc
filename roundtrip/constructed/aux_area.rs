//! Records about AUX areas, AUX data in samples, and events that write to an AUX area.

use super::Recording;
use super::bytes::Bytes;
use super::perf::{AUX_ERRORS, DUMP, EVENTS, Perf};
use super::read::Read;
use super::recording::{AUX, AUX_OUTPUT, Event, File, IDENTIFIER, IP, SAMPLE_ID_ALL, SIGTRAP, TID, TIME, record};
use perf_data::abi::Endian;
use perf_data::abi::attr::AttrType;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::record::Body;
use perf_data::abi::record::aux_area::AuxFlags;
use perf_data::abi::record::auxtrace_error::AuxtraceErrorType;

/// A PMU that writes to the AUX area, and an event with `aux_output`.
fn events() -> Vec<Event> {
    let pmu = Event { kind: 8, config: 0x300e, aux_watermark: 0x8000, ids: vec![31], ..Event::cpu_clock(FIELDS) };
    let mut output = Event::cpu_clock(FIELDS);
    output.flags = &[SAMPLE_ID_ALL, AUX_OUTPUT, SIGTRAP];
    (output.precise_ip, output.aux_sample_size) = (2, 0x1020);
    (output.sig_data, output.ids) = (0x1122_3344_5566_7788, vec![32]);
    vec![pmu, output]
}

const FIELDS: u64 = IDENTIFIER | IP | TID | TIME;

fn family(endian: Endian) -> Vec<u8> {
    let new = || Bytes::new(endian);
    let trailer = |body: Bytes, id| body.u32(100).u32(101).u64(5).u64(id);
    let error = |fmt: u32| new().u32(1).u32(9).u32(2).u32(100).u32(101).u32(fmt).u64(0x40_0777);
    let records = [
        (11, trailer(new().u64(0x10_0000).u64(0x2000).u64(0x0105), 31)),
        (12, trailer(new().u32(102).u32(103), 31)),
        (21, trailer(new().u64(0x0102_0304_0506_0708), 32)),
        (72, error(0).text("lost", 16)),
        (72, error(1).u64(7_000_000_008).text("overflow", 16)),
        (72, error(2).u64(7_000_000_009).text("in a guest", 64).u32(4242).u32(3)),
    ];
    let records = records.map(|(kind, body)| record(kind, 0, body, endian)).to_vec();
    File::new(endian, events(), records).into_bytes()
}

fn expect_family(read: &Read) {
    let events = read.events();
    assert_eq!(
        (events[0].attr.kind, events[0].attr.config, events[0].attr.aux_watermark),
        (AttrType(8), 0x300e, 0x8000)
    );
    let output = &events[1].attr;
    let flags = AttrFlags::SAMPLE_ID_ALL | AttrFlags::AUX_OUTPUT | AttrFlags::SIGTRAP | AttrFlags::PRECISE_IP_1;
    assert_eq!((output.flags, output.aux_sample_size, output.sig_data), (flags, 0x1020, 0x1122_3344_5566_7788));
    let ids: Vec<_> = read.records.iter().filter_map(|record| record.id?.identifier).collect();
    assert_eq!(ids, [31, 31, 32]);
    let mut errors = Vec::new();
    for body in read.bodies() {
        match body {
            Body::Aux(aux) => {
                let flags = AuxFlags::TRUNCATED | AuxFlags::PARTIAL | AuxFlags::from_bits_retain(0x100);
                assert_eq!((aux.aux_offset, aux.aux_size, aux.flags), (0x10_0000, 0x2000, flags));
            }
            Body::ItraceStart(start) => assert_eq!((start.pid, start.tid), (102, 103)),
            Body::AuxOutputHwId(output) => assert_eq!(output.hw_id, 0x0102_0304_0506_0708),
            Body::AuxtraceError(error) => {
                let place = (error.kind, error.code, error.cpu, error.pid, error.tid, error.ip);
                assert_eq!(place, (AuxtraceErrorType::ITRACE, 9, 2, 100, 101, 0x40_0777));
                let guest = error.guest.map(|guest| (guest.machine_pid, guest.vcpu));
                errors.push((error.fmt, error.time, error.msg.text(), guest));
            }
            body => panic!("{body:?}"),
        }
    }
    let times = (Some(7_000_000_008), Some(7_000_000_009));
    let expected: [(u32, Option<u64>, &[u8], _); 3] =
        [(0, None, b"lost", None), (1, times.0, b"overflow", None), (2, times.1, b"in a guest", Some((4242, 3)))];
    assert_eq!(errors, expected);
}

const PIECE: [u8; 16] = *b"0123456789abcdef";

fn samples(endian: Endian) -> Vec<u8> {
    let new = || Bytes::new(endian);
    let mut event = Event::cpu_clock(FIELDS | AUX);
    (event.aux_sample_size, event.ids) = (16, vec![41]);
    let sample = |time| new().u64(41).u64(0x40_0123).u32(100).u32(101).u64(time);
    let records = vec![record(9, 2, sample(7).u64(16).raw(&PIECE), endian), record(9, 2, sample(8).u64(0), endian)];
    File::new(endian, vec![event], records).into_bytes()
}

fn expect_samples(read: &Read) {
    let pieces: Vec<_> = read.samples().iter().map(|sample| sample.aux.clone().unwrap().data).collect();
    assert_eq!(pieces, [PIECE.to_vec(), Vec::new()]);
    assert!(read.samples().iter().all(|sample| sample.ip == Some(0x40_0123)));
}

pub(super) fn recordings(endian: Endian) -> Vec<Recording> {
    let family_perf = Perf::shows(
        DUMP,
        &[
            "PERF_RECORD_AUX offset: 0x100000 size: 0x2000 flags: 0x105 [TP]",
            "PERF_RECORD_ITRACE_START pid: 102 tid: 103",
            "PERF_RECORD_AUX_OUTPUT_HW_ID hw_id: 0x102030405060708",
        ],
    );
    let family_perf = family_perf.and(AUX_ERRORS, &[
        "error type 1 time 0 cpu 2 pid 100 tid 101 ip 0x400777 code 9: lost",
        "error type 1 time 7.000000008 cpu 2 pid 100 tid 101 ip 0x400777 code 9: overflow",
        "error type 1 time 7.000000009 machine_pid 4242 vcpu 3 cpu 2 pid 100 tid 101 ip 0x400777 code 9: in a guest",
    ]);
    let family_perf = family_perf.and(
        EVENTS,
        &[
            "type: 8, size: 128, config: 0x300e",
            "aux_watermark: 32768",
            "aux_output: 1, sigtrap: 1",
            "aux_sample_size: 4128",
        ],
    );
    // perf does not swap sig_data, and reads precise_ip of a big-endian machine with its bits reversed.
    let is_own = endian == Endian::NATIVE;
    let own = ["cpu-clock:pp: type: 1", "precise_ip: 2", "sig_data: 1234605616436508552"];
    let family_perf = if is_own { family_perf.and(EVENTS, &own) } else { family_perf };
    let samples_perf = Perf::shows(DUMP, &["PERF_RECORD_SAMPLE(IP, 0x2): 100/101: 0x400123"]);
    let samples_perf = samples_perf.and(EVENTS, &["sample_type: IP|TID|TIME|IDENTIFIER|AUX", "aux_sample_size: 16"]);
    vec![
        Recording { name: "AUX", endian, bytes: family(endian), expect: expect_family, perf: family_perf },
        Recording {
            name: "AUX in samples",
            endian,
            bytes: samples(endian),
            expect: expect_samples,
            perf: samples_perf,
        },
    ]
}
