//! Raw data of AMD's Instruction-Based Sampling: registers of the CPU behind their capabilities. x86 has one byte order.

use super::Recording;
use super::bytes::Bytes;
use super::perf::{DUMP, Perf};
use super::read::Read;
use super::recording::{Event, File, IDENTIFIER, IP, RAW, TID, TIME, record};
use perfconv::abi::Endian;

const CPUID: u32 = 9;
const PMU_MAPPINGS: u32 = 16;
const IBS_FETCH: u32 = 10;
const IBS_OP: u32 = 11;

const CAPS: u32 = 0xff;
/// A fetch: control (physical address valid, enabled, valid, count 0x7d0), linear and physical address, further control (refill
/// took 9 cycles).
const FETCH: [u64; 4] = [1 << 52 | 1 << 49 | 1 << 48 | 0x7d0, 0x40_0200, 0x1_2345_6200, 9];
/// An op: control (enabled, valid, count 0x9c4), address, data (retired branch, taken), data2, data3 (load that missed,
/// latency 0x55), linear and physical address of the data, address that the branch went to.
const OP: [u64; 8] = [
    1 << 18 | 1 << 17 | 0x9c4,
    0x40_0300,
    1 << 37 | 1 << 35 | 0x8_0012,
    0x2,
    0x55 << 32 | 1 << 18 | 1 << 17 | 1 << 7 | 1,
    0x7fff_0000_1000,
    0x1_2345_1000,
    0x40_0800,
];

/// What the kernel gives to a SAMPLE: capabilities, then registers.
fn raw(registers: &[u64]) -> Vec<u8> {
    Bytes::new(Endian::Little).u32(CAPS).u64s(registers).into_vec()
}

fn file(endian: Endian) -> Vec<u8> {
    let new = || Bytes::new(endian);
    let event = |kind, id| Event { kind, ids: vec![id], ..Event::cpu_clock(IDENTIFIER | IP | TID | TIME | RAW) };
    let sample = |id, ip, time, registers: &[u64]| {
        let raw = raw(registers);
        let body = new().u64(id).u64(ip).u32(100).u32(101).u64(time).u32(raw.len() as u32).raw(&raw);
        record(9, 2, body, endian)
    };
    let records = vec![sample(61, FETCH[1], 7, &FETCH), sample(62, OP[1], 8, &OP)];
    let mut file = File::new(endian, vec![event(IBS_FETCH, 61), event(IBS_OP, 62)], records);
    file.arch("x86_64");
    file.feature(CPUID, new().string("AuthenticAMD,25,1,1"));
    file.feature(PMU_MAPPINGS, new().u32(2).u32(IBS_FETCH).string("ibs_fetch").u32(IBS_OP).string("ibs_op"));
    file.into_bytes()
}

fn expect(read: &Read) {
    let raws: Vec<_> = read.samples().iter().map(|sample| sample.raw.clone().unwrap().data).collect();
    assert_eq!(raws, [raw(&FETCH), raw(&OP)]);
    assert!(raws.iter().all(|raw| (4 + raw.len()).is_multiple_of(8)));
}

pub fn recordings(endian: Endian) -> Vec<Recording> {
    let shown = Perf::shows(
        DUMP,
        &[
            "ibs_fetch_ctl: 00130000000007d0",
            "IbsFetchLinAd: 0000000000400200",
            "IbsFetchPhysAd: 0000000123456200",
            "IbsItlbRefillLat 9",
            "PERF_RECORD_SAMPLE(IP, 0x2): 100/101: 0x400200",
            "ibs_op_ctl: 00000000000609c4",
            "IbsOpRip: 0000000000400300",
            "ibs_op_data: 0000002800080012",
            "OpBrnTaken 1",
            "ibs_op_data2: 0000000000000002",
            "ibs_op_data3: 0000005500060081",
            "DcMissLat 85",
            "IbsDCLinAd: 00007fff00001000",
            "IbsDCPhysAd: 0000000123451000",
            "IbsBrTarget: 0000000000400800",
            "PERF_RECORD_SAMPLE(IP, 0x2): 100/101: 0x400300",
        ],
    );
    let of_x86 = endian == Endian::Little;
    of_x86
        .then(|| Recording { name: "AMD IBS", endian, bytes: file(endian), expect, perf: shown })
        .into_iter()
        .collect()
}
