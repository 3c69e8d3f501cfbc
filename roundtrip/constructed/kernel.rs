//! Records of newer kernels and of clocks: TIME_CONV, TEXT_POKE, CALLCHAIN_DEFERRED.

use super::Recording;
use super::bytes::Bytes;
use super::perf::{DUMP, Perf};
use super::read::Read;
use super::recording::{CALLCHAIN, Event, File, IDENTIFIER, IP, TID, TIME, record};
use perfconv::abi::Endian;
use perfconv::abi::callchain::Context;
use perfconv::abi::record::Body;

const TEXT: u64 = 0xffff_ffff_8100_0040;

fn clocks_and_code(endian: Endian) -> Vec<u8> {
    let new = || Bytes::new(endian);
    let trailer = |body: Bytes| body.u32(0).u32(0).u64(5).u64(81);
    let event = Event { ids: vec![81], ..Event::cpu_clock(IDENTIFIER | IP | TID | TIME) };
    let old_form = new().u64s(&[31, 0x1234_5678, 0x9abc_def0_1234]);
    let new_form = new().u64s(&[30, 0x8765_4321, 0x0fed_cba9, 0x1111_2222_3333, 0xff_ffff]).u8(1).u8(0).raw(&[0; 6]);
    let changed = trailer(new().u64(TEXT).u16(5).u16(3).raw(b"\x0f\x1f\x44\0\0").raw(b"\xe9\x12\x34").align());
    let added = trailer(new().u64(TEXT + 0x100).u16(0).u16(2).raw(b"\xcc\xc3").align());
    let records = [(79, old_form), (79, new_form), (20, changed), (20, added)];
    let records = records.map(|(kind, body)| record(kind, 0, body, endian)).to_vec();
    File::new(endian, vec![event], records).into_bytes()
}

fn expect_clocks_and_code(read: &Read) {
    let [first, second, changed, added] = &read.records[..] else { panic!("there are four records") };
    let (Body::TimeConv(first), Body::TimeConv(second)) = (&first.body, &second.body) else { panic!("clocks first") };
    assert_eq!((first.time_shift, first.time_mult, first.time_zero), (31, 0x1234_5678, 0x9abc_def0_1234));
    assert_eq!((second.time_shift, second.time_mult, second.time_zero), (30, 0x8765_4321, 0x0fed_cba9));
    assert!(first.short.is_none());
    let short = second.short.unwrap();
    assert_eq!((short.time_cycles, short.time_mask), (0x1111_2222_3333, 0xff_ffff));
    assert_eq!((short.cap_user_time_zero, short.cap_user_time_short), (1, 0));
    assert!(changed.id.is_some() && changed.tail.iter().all(|&byte| byte == 0));
    let (Body::TextPoke(changed), Body::TextPoke(added)) = (&changed.body, &added.body) else { panic!("then code") };
    let bytes = (&changed.old[..], &changed.new[..]);
    assert_eq!((changed.addr, bytes), (TEXT, (&b"\x0f\x1f\x44\0\0"[..], &b"\xe9\x12\x34"[..])));
    assert_eq!((added.addr, &added.old[..], &added.new[..]), (TEXT + 0x100, &b""[..], &b"\xcc\xc3"[..]));
}

const COOKIE: u64 = 0x0001_0000_0000_00c0;
const USER: u64 = -512_i64 as u64;
const USER_DEFERRED: u64 = -640_i64 as u64;
const KERNEL: u64 = -128_i64 as u64;

fn deferred(endian: Endian) -> Vec<u8> {
    let new = || Bytes::new(endian);
    let event = Event { ids: vec![82], ..Event::cpu_clock(IDENTIFIER | IP | TID | TIME | CALLCHAIN) };
    let sample = new().u64(82).u64(TEXT).u32(100).u32(101).u64(7).u64(4).u64s(&[KERNEL, TEXT, USER_DEFERRED, COOKIE]);
    let chain = new().u64(COOKIE).u64(3).u64s(&[USER, 0x40_0123, 0x40_0456]).u32(100).u32(101).u64(8).u64(82);
    let records = vec![record(9, 1, sample, endian), record(22, 2, chain, endian)];
    File::new(endian, vec![event], records).into_bytes()
}

fn expect_deferred(read: &Read) {
    let chain = &read.samples()[0].callchain.as_ref().unwrap().ips;
    assert_eq!(chain, &[KERNEL, TEXT, USER_DEFERRED, COOKIE]);
    assert_eq!(Context::of(chain[2]), Some(Context::USER_DEFERRED));
    let Body::CallchainDeferred(deferred) = &read.records[1].body else { panic!("the user frames follow") };
    assert_eq!((deferred.cookie, &deferred.ips[..]), (COOKIE, &[USER, 0x40_0123, 0x40_0456][..]));
    assert_eq!(read.records[1].id.unwrap().identifier, Some(82));
}

pub fn recordings(endian: Endian) -> Vec<Recording> {
    let shown = Perf::shows(
        DUMP,
        &[
            "PERF_RECORD_TIME_CONV",
            "... Time Shift 31",
            "... Time Muliplier 305419896",
            "... Time Zero 170135984804404",
            "... Time Shift 30",
            "... Time Cycles 18765284782899",
            "... Time Mask 0xffffff",
            "... Cap Time Zero 1",
            "PERF_RECORD_TEXT_POKE ffffffff81000040 old len 5 new len 3",
            "Old bytes: 0f 1f 44 00 00",
            "New bytes: e9 12 34",
            "PERF_RECORD_TEXT_POKE ffffffff81000140 old len 0 new len 2",
            "New bytes: cc c3",
        ],
    );
    // perf 6.1 does not know CALLCHAIN_DEFERRED, and reads no further.
    let chain_shown = Perf::shows(
        DUMP,
        &["PERF_RECORD_SAMPLE(IP, 0x1): 100/101", "..... 2: fffffffffffffd80 ..... 3: 00010000000000c0"],
    );
    let bytes = clocks_and_code(endian);
    vec![
        Recording { name: "TIME_CONV, TEXT_POKE", endian, bytes, expect: expect_clocks_and_code, perf: shown },
        Recording {
            name: "CALLCHAIN_DEFERRED",
            endian,
            bytes: deferred(endian),
            expect: expect_deferred,
            perf: chain_shown,
        },
    ]
}
