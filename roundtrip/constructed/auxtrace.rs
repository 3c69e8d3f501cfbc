//! AUX areas of rare hardware: AUXTRACE_INFO, AUXTRACE followed by its area, and the index of AUXTRACE records.

use super::Recording;
use super::bytes::Bytes;
use super::perf::{DUMP, Perf};
use super::read::Read;
use super::recording::{Event, File, IDENTIFIER, IP, TID, TIME, record};
use perf_data::abi::Endian;
use perf_data::abi::feature::{Feature, FeatureId};
use perf_data::abi::record::auxtrace_info::AuxtraceType;
use perf_data::abi::record::{Body, RecordType};

/// What a tracer records: its type, private data for its decoder, and a piece of its trace.
struct Tracer {
    kind: u32,
    private: &'static [u64],
    area: Vec<u8>,
}

/// A file with two AUXTRACE records, so that the index has two entries, and other records between and after them.
fn file(endian: Endian, tracer: &Tracer) -> Vec<u8> {
    let new = || Bytes::new(endian);
    let event = Event { kind: 8, ids: vec![31], ..Event::cpu_clock(IDENTIFIER | IP | TID | TIME) };
    let info = new().u32(tracer.kind).u32(0).u64s(tracer.private);
    let auxtrace = |idx: u32, cpu: u32| {
        let (size, offset) = (tracer.area.len() as u64, 0x1000 * u64::from(idx));
        let header = new().u64(size).u64(offset).u64(0x99).u32(idx).u32(101).u32(cpu).u32(0);
        [record(71, 0, header, endian), tracer.area.clone()].concat()
    };
    let comm = new().u32(100).u32(101).text("traced", 8).u32(100).u32(101).u64(5).u64(31);
    let records = vec![
        record(70, 0, info, endian),
        record(3, 0, comm, endian),
        auxtrace(0, 3),
        auxtrace(1, u32::MAX),
        record(68, 0, new(), endian),
    ];
    File::new(endian, vec![event], records).into_bytes()
}

fn expect(read: &Read, kind: AuxtraceType, private: &[u64], area: &[u8]) {
    let info = read.bodies().find_map(|body| if let Body::AuxtraceInfo(info) = body { Some(info) } else { None });
    let info = info.expect("AUXTRACE_INFO should be present");
    assert_eq!((info.kind, &info.private[..]), (kind, private));
    let mut seen = 0;
    for (record, payload) in read.records.iter().zip(&read.payloads) {
        let Body::Auxtrace(auxtrace) = &record.body else { continue };
        let place = (auxtrace.size, auxtrace.offset, auxtrace.reference, auxtrace.idx, auxtrace.tid, auxtrace.cpu);
        let of = [(0, 0, 3), (1, 0x1000, -1)][seen];
        assert_eq!(place, (area.len() as u64, of.1, 0x99, of.0, 101, of.2));
        assert_eq!(payload, area);
        seen += 1;
    }
    assert_eq!((seen, read.records.last().unwrap().header.kind), (2, RecordType::FINISHED_ROUND));
    let Feature::Auxtrace(index) = read.feature(FeatureId::AUXTRACE) else { panic!("expected an index") };
    let [first, second] = index.entries() else { panic!("expected two index entries") };
    assert_eq!((first.sz, second.sz, second.file_offset - first.file_offset), (48, 48, 48 + area.len() as u64));
}

/// A branch as BTS writes it: from, to, flags. Always little-endian, as x86 is.
fn bts() -> Vec<u8> {
    Bytes::new(Endian::Little).u64s(&[0x40_0100, 0x40_0200, 0x10]).into_vec()
}

const BTS: [u64; 7] = [8, 0, 1, 2, 0x1234, 1, 0];

fn expect_bts(read: &Read) {
    expect(read, AuxtraceType::INTEL_BTS, &BTS, &bts());
}

/// SPE packets: an address (PC at exception level 0), a latency counter, a timestamp, padding.
const SPE: [u8; 32] = [
    0xb0, 0x23, 0x01, 0x40, 0, 0, 0, 0, 0x80, 0x98, 0x2a, 0x00, 0x71, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0,
];
const SPE_PRIVATE: [u64; 2] = [8, 0];

fn expect_spe(read: &Read) {
    expect(read, AuxtraceType::ARM_SPE, &SPE_PRIVATE, &SPE);
}

/// A sampling block of one page: an entry of basic and one of diagnostic mode, and a trailer with their sizes. Always big-endian,
/// as s390 is.
fn cpumsf() -> Vec<u8> {
    let new = || Bytes::new(Endian::Big);
    let (basic_size, diagnostic_size, trailer_size) = (32, 85, 64);
    let (address_space, guest, host) = (0x0123_0000, 0, 7);
    let basic = new().u16(1).u16(0x0300).u32(address_space).u64(0x40_0123).u64(guest).u64(host);
    let mut block = basic.u16(0x8001).into_vec();
    block.resize(4096 - trailer_size, 0);
    let trailer = new().u32(0).u16(basic_size).u16(diagnostic_size).into_vec();
    block.extend(trailer);
    block.resize(4096, 0);
    block
}

const CPUMSF_PRIVATE: [u64; 2] = [8, 0];

fn expect_cpumsf(read: &Read) {
    expect(read, AuxtraceType::S390_CPUMSF, &CPUMSF_PRIVATE, &cpumsf());
}

/// A transaction header of 8 words, as PTT writes it.
fn ptt() -> Vec<u8> {
    Bytes::new(Endian::Little).u32(0xffff_fff1).u32(0x4a00_0001).u64s(&[0x1111_2222, 0x3333_4444, 5]).into_vec()
}

fn expect_ptt(read: &Read) {
    expect(read, AuxtraceType::HISI_PTT, &[8], &ptt());
}

/// An entry of the dispatch trace log: reasons, CPU, times, address.
fn dtl() -> Vec<u8> {
    Bytes::new(Endian::Big).u8(1).u8(2).u16(3).u32(4).u32(5).u32(6).u64s(&[7, 8, 9, 10]).into_vec()
}

fn expect_dtl(read: &Read) {
    expect(read, AuxtraceType::VPA_DTL, &[8], &dtl());
}

pub(super) fn recordings(endian: Endian) -> Vec<Recording> {
    let area = |name, kind, private, area, expect, perf| {
        let bytes = file(endian, &Tracer { kind, private, area });
        Recording { name, endian, bytes, expect, perf }
    };
    let bts_perf = Perf::shows(
        DUMP,
        &[
            "PERF_RECORD_AUXTRACE_INFO type: 2 PMU Type 8 Time Shift 0 Time Muliplier 1 Time Zero 2 Cap Time Zero 4660",
            "PERF_RECORD_AUXTRACE size: 0x18 offset: 0 ref: 0x99 idx: 0 tid: 101 cpu: 3",
            "Intel BTS data: size 24 bytes",
            "400100 -> 400200 pred",
            "PERF_RECORD_AUXTRACE size: 0x18 offset: 0x1000 ref: 0x99 idx: 1 tid: 101 cpu: -1",
        ],
    );
    let spe_perf = Perf::shows(
        DUMP,
        &[
            "PERF_RECORD_AUXTRACE_INFO type: 4 PMU Type 8",
            "PERF_RECORD_AUXTRACE size: 0x20 offset: 0 ref: 0x99 idx: 0 tid: 101 cpu: 3",
            "ARM SPE data: size 0x20 bytes",
            "PC 0x400123 el0 ns=1",
            "LAT 42 TOT",
            "TS 1",
            "PERF_RECORD_AUXTRACE size: 0x20 offset: 0x1000 ref: 0x99 idx: 1 tid: 101 cpu: -1",
        ],
    );
    let cpumsf_perf = Perf::shows(
        DUMP,
        &[
            "PERF_RECORD_AUXTRACE_INFO type: 5",
            "PERF_RECORD_AUXTRACE size: 0x1000 offset: 0 ref: 0x99 idx: 0 tid: 101 cpu: 3",
            "s390 AUX data: size 4096 bytes",
            "Basic Def:0001 Inst:0x03",
            "IA:0x0000000000400123",
            "HPP:0x0000000000000007",
            "Diag Def:8001",
            "PERF_RECORD_AUXTRACE size: 0x1000 offset: 0x1000 ref: 0x99 idx: 1 tid: 101 cpu: -1",
        ],
    );
    let ptt_perf = Perf::shows(
        DUMP,
        &[
            "PERF_RECORD_AUXTRACE_INFO type: 6 PMU Type 8",
            "PERF_RECORD_AUXTRACE size: 0x20 offset: 0 ref: 0x99 idx: 0 tid: 101 cpu: 3",
            "HISI PTT data: size 32 bytes . 00000004: 01 00 00 4a Prefix . 00000008: 22 22 11 11 Header DW0",
            "PERF_RECORD_AUXTRACE size: 0x20 offset: 0x1000 ref: 0x99 idx: 1 tid: 101 cpu: -1",
        ],
    );
    // perf 6.1 does not know this type, and stops here.
    let dtl_perf = Perf::shows(DUMP, &["PERF_RECORD_AUXTRACE_INFO type: 7"]);
    vec![
        area("AUXTRACE of BTS", 2, &BTS, bts(), expect_bts as fn(&Read), bts_perf),
        area("AUXTRACE of SPE", 4, &SPE_PRIVATE, SPE.to_vec(), expect_spe, spe_perf),
        area("AUXTRACE of CPUM_SF", 5, &CPUMSF_PRIVATE, cpumsf(), expect_cpumsf, cpumsf_perf),
        area("AUXTRACE of HiSi PTT", 6, &[8], ptt(), expect_ptt, ptt_perf),
        area("AUXTRACE of VPA", 7, &[8], dtl(), expect_dtl, dtl_perf),
    ]
}
