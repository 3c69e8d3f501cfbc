//! Sets of CPUs as they were told over the years.

use super::Recording;
use super::bytes::Bytes;
use super::perf::{DUMP, Perf};
use super::read::Read;
use super::recording::{Event, File, IDENTIFIER, IP, TID, TIME, record};
use perfconv::abi::Endian;
use perfconv::abi::record::Body;
use perfconv::abi::record::cpu_map::CpuSet;
use perfconv::abi::record::event_update::EventUpdateValue;

const CPUS: u16 = 0;
const MASK: u16 = 1;
const UPDATE_CPUS: u64 = 3;

fn file(endian: Endian) -> Vec<u8> {
    let new = || Bytes::new(endian);
    // The mask stands behind three numbers of 2 bytes, so that its words are not aligned; those of 8 bytes stand as C puts
    // an `unsigned long` behind two numbers of 2 bytes, and all of it behind one.
    let of_4 = |bytes: Bytes| bytes.u16(MASK).u16(2).u16(4).u32(1 << 31 | 1).u32(0b110).align();
    let of_8 = |bytes: Bytes| bytes.u16(MASK).u16(2).u16(8).u32(0).u64(1 << 40 | 1 << 3).u64(1 << 6).align();
    let list = new().u16(CPUS).u16(3).u16(2).u16(0x101).u16(3).align();
    let update = of_4(new().u64(UPDATE_CPUS).u64(91));
    let records = [(74, of_4(new())), (74, of_8(new())), (74, list), (78, update)];
    let records = records.map(|(kind, body)| record(kind, 0, body, endian)).to_vec();
    let event = Event { ids: vec![91], ..Event::cpu_clock(IDENTIFIER | IP | TID | TIME) };
    File::new(endian, vec![event], records).into_bytes()
}

fn expect(read: &Read) {
    let sets = read.bodies().map(|body| match body {
        Body::CpuMap(map) => map.data.cpus.clone(),
        Body::EventUpdate(update) => match &update.value {
            Some(EventUpdateValue::Cpus(data)) => data.cpus.clone(),
            value => panic!("{value:?}"),
        },
        body => panic!("{body:?}"),
    });
    let sets: Vec<_> = sets.map(|set| set.expect("it is known how")).collect();
    let of_4 = CpuSet::Mask32 { mask: vec![1 << 31 | 1, 0b110] };
    let of_8 = CpuSet::Mask64 { pad: [0; 4], mask: vec![1 << 40 | 1 << 3, 1 << 6] };
    assert_eq!(sets, [of_4.clone(), of_8, CpuSet::Cpus { cpu: vec![2, 0x101, 3] }, of_4]);
    assert_eq!(sets[0].numbers(), [0, 31, 33, 34]);
    assert_eq!(sets[1].numbers(), [3, 40, 70]);
}

pub fn recordings(endian: Endian) -> Vec<Recording> {
    let maps = ["PERF_RECORD_CPU_MAP: 0,31,33-34", "PERF_RECORD_CPU_MAP: 3,40,70", "PERF_RECORD_CPU_MAP: 2,257,3"];
    let shown = Perf::shows(DUMP, &maps);
    // perf 6.1 does not swap the CPUs of an EVENT_UPDATE.
    let is_own = endian == Endian::NATIVE;
    let shown = if is_own { shown.and(DUMP, &["PERF_RECORD_EVENT_UPDATE ... id: 91 ... 0,31,33-34"]) } else { shown };
    vec![Recording { name: "CPU_MAP", endian, bytes: file(endian), expect, perf: shown }]
}
