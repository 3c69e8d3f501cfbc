//! Guests of a host: samples and maps of theirs, and which event is of which virtual CPU.

use super::Recording;
use super::bytes::Bytes;
use super::perf::{DUMP, Perf};
use super::read::Read;
use super::recording::{Event, File, IDENTIFIER, IP, TID, TIME, record};
use perfconv::abi::Endian;
use perfconv::abi::record::{Body, CpuMode};

const KERNEL_TEXT: u64 = 0xffff_ffff_8100_0000;
const GUEST_KERNEL: u16 = 4;
const GUEST_USER: u16 = 5;

fn file(endian: Endian) -> Vec<u8> {
    let new = || Bytes::new(endian);
    let trailer = |body: Bytes| body.u32(4242).u32(4243).u64(5).u64(52);
    let host = Event { ids: vec![51], ..Event::cpu_clock(IDENTIFIER | IP | TID | TIME) };
    let guest = Event { ids: vec![52, 53], ..host.clone() };
    let index = new().u64(3).u64s(&[51, 0, 2, u64::MAX]).u64s(&[52, 1, u64::MAX, 7]).u64s(&[53, 2, u64::MAX, 8]);
    let index = index.u64s(&[0, 0]).u64s(&[4242, 6]).u64s(&[4242, 9]);
    let text = new().u32(0).u32(0).u64(KERNEL_TEXT).u64(0x100_0000).u64(KERNEL_TEXT);
    let text = trailer(text.text("[guest.kernel.kallsyms]_text", 32));
    let sample = |id, ip, time| new().u64(id).u64(ip).u32(4242).u32(4243).u64(time);
    let records = vec![
        record(69, 0, index, endian),
        record(1, GUEST_KERNEL, text, endian),
        record(9, 2, sample(51, 0x40_0123, 10), endian),
        record(9, GUEST_KERNEL, sample(52, KERNEL_TEXT + 0x123, 11), endian),
        record(9, GUEST_USER, sample(53, 0x55_0123, 12), endian),
    ];
    File::new(endian, vec![host, guest], records).into_bytes()
}

fn expect(read: &Read) {
    let Body::IdIndex(index) = &read.records[0].body else { panic!("the index comes first") };
    let entries: Vec<_> = index.entries.iter().map(|entry| (entry.id, entry.idx, entry.cpu, entry.tid)).collect();
    assert_eq!(entries, [(51, 0, 2, -1), (52, 1, -1, 7), (53, 2, -1, 8)]);
    let guests: Vec<_> = index.guests.iter().map(|guest| (guest.machine_pid, guest.vcpu)).collect();
    assert_eq!(guests, [(0, 0), (4242, 6), (4242, 9)]);
    let modes: Vec<_> = read.records[2..].iter().map(|record| record.header.misc.cpu_mode()).collect();
    assert_eq!(modes, [CpuMode::USER, CpuMode::GUEST_KERNEL, CpuMode::GUEST_USER]);
    let samples: Vec<_> = read.samples().iter().map(|sample| (sample.identifier, sample.ip)).collect();
    let expected = [(51, 0x40_0123), (52, KERNEL_TEXT + 0x123), (53, 0x55_0123)];
    assert_eq!(samples, expected.map(|(id, ip)| (Some(id), Some(ip))));
    assert_eq!(read.profile.rows.len(), 3, "each sample is in the profile");
}

pub fn recordings(endian: Endian) -> Vec<Recording> {
    let shown = Perf::shows(
        DUMP,
        &[
            "PERF_RECORD_ID_INDEX nr: 3",
            "... id: 51 idx: 0 cpu: 2 tid: -1",
            "... id: 52 idx: 1 cpu: -1 tid: 7 machine_pid: 4242 vcpu: 6",
            "... id: 53 idx: 2 cpu: -1 tid: 8 machine_pid: 4242 vcpu: 9",
            "PERF_RECORD_MMAP 0/0: [0xffffffff81000000(0x1000000) @ 0xffffffff81000000]: x [guest.kernel.kallsyms]_text",
            "PERF_RECORD_SAMPLE(IP, 0x2): 4242/4243: 0x400123",
            "PERF_RECORD_SAMPLE(IP, 0x4): 4242/4243: 0xffffffff81000123",
            "PERF_RECORD_SAMPLE(IP, 0x5): 4242/4243: 0x550123",
        ],
    );
    vec![Recording { name: "guests", endian, bytes: file(endian), expect, perf: shown }]
}
