//! A record type of newer kernels: CALLCHAIN_DEFERRED.

use super::Recording;
use super::bytes::Bytes;
use super::perf::{DUMP, Perf};
use super::read::Read;
use super::recording::{CALLCHAIN, Event, File, IDENTIFIER, IP, TID, TIME, record};
use perf_data::abi::Endian;
use perf_data::abi::record::Body;
use perf_data::abi::sample::callchain::Context;

const TEXT: u64 = 0xffff_ffff_8100_0040;

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
    let Body::CallchainDeferred(deferred) = &read.records[1].body else { panic!("expected CALLCHAIN_DEFERRED") };
    assert_eq!((deferred.cookie, &deferred.ips[..]), (COOKIE, &[USER, 0x40_0123, 0x40_0456][..]));
    assert_eq!(read.records[1].id.unwrap().identifier, Some(82));
}

pub(super) fn recordings(endian: Endian) -> Vec<Recording> {
    // perf 6.1 does not know CALLCHAIN_DEFERRED, and stops there.
    let chain_perf = Perf::shows(
        DUMP,
        &["PERF_RECORD_SAMPLE(IP, 0x1): 100/101", "..... 2: fffffffffffffd80 ..... 3: 00010000000000c0"],
    );
    vec![Recording {
        name: "CALLCHAIN_DEFERRED",
        endian,
        bytes: deferred(endian),
        expect: expect_deferred,
        perf: chain_perf,
    }]
}
