//! Sizes at their limits: of attrs, of the recorder's words, of records.

use super::Recording;
use super::bytes::Bytes;
use super::perf::{BUILD_IDS, DUMP, EVENTS, HEADER, Perf};
use super::read::Read;
use super::recording::{CALLCHAIN, CPU, Event, File, IDENTIFIER, IP, PERIOD, RAW, TID, TIME, record};
use perf_data::abi::Endian;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::Body;
use perf_data::abi::sample_type::BranchSampleType;

fn of_attr(endian: Endian, size: usize) -> Vec<u8> {
    let event = Event {
        size,
        config: 1,
        precise_ip: 3,
        branch_sample_type: 0x1234,
        sample_regs_intr: 0x5678,
        aux_watermark: 0x9abc,
        ids: vec![101],
        ..Event::cpu_clock(IDENTIFIER | IP | TID | TIME | CPU | PERIOD)
    };
    let sample = Bytes::new(endian).u64(101).u64(0x40_0123).u32(100).u32(101).u64(7).u32(3).u32(0).u64(4);
    File::new(endian, vec![event], vec![record(9, 2, sample, endian)]).into_bytes()
}

fn expect_attr(read: &Read, size: u32, branches: u64, regs: u64) {
    let attr = &read.events()[0].attr;
    assert_eq!((attr.size, attr.config, attr.wakeup_events, attr.tail.len()), (size, 1, 1, 0));
    let beyond = (attr.branch_sample_type, attr.sample_regs_intr, attr.aux_watermark);
    assert_eq!(beyond, (BranchSampleType::from_bits_retain(branches), regs, 0));
    let sample = read.samples()[0];
    assert_eq!((sample.cpu, sample.period, sample.time), (Some((3, 0)), Some(4), Some(7)));
    assert_eq!(read.profile.tables.events[0].name, "task-clock");
}

/// A recording of a 32-bit machine: words of 4 bytes in the feature bitmap, all addresses below 4 GiB.
fn narrow(endian: Endian, has_hostname: bool) -> Vec<u8> {
    let new = || Bytes::new(endian);
    let event = Event { ids: vec![102], ..Event::cpu_clock(IDENTIFIER | IP | TID | TIME) };
    let sample = new().u64(102).u64(0xc010_0123).u32(100).u32(101).u64(7);
    let mut file = File::new(endian, vec![event], vec![record(9, 1, sample, endian)]);
    file.long_size = 4;
    if has_hostname {
        file.arch("ppc");
        file.feature(HYBRID_TOPOLOGY, new().u32(0));
        file.feature(PMU_CAPS, new().u32(0));
        file.feature(E_MACHINE, new().u32(20).u32(2));
    } else {
        file.features.clear();
    }
    let name = "/bin/old";
    let build_id = new().u32(0).u16(1).u16(52).u32(u32::MAX).raw(&[0x5a; 20]).raw(&[20, 0, 0, 0]).text(name, 16);
    file.feature(BUILD_ID, build_id);
    file.into_bytes()
}

const BUILD_ID: u32 = 2;
const HYBRID_TOPOLOGY: u32 = 30;
const PMU_CAPS: u32 = 31;
const E_MACHINE: u32 = 33;

fn expect_narrow(read: &Read) {
    let features: Vec<_> = read.meta.features.keys().map(|id| id.0).collect();
    assert_eq!(features, [2, 3, 6, 30, 31, 33]);
    assert_eq!(read.meta.string(FeatureId::ARCH).as_deref(), Some("ppc"));
    expect_old_narrow(read);
}

fn expect_old_narrow(read: &Read) {
    assert!(read.meta.features.contains_key(&FeatureId::BUILD_ID));
    let (misc, build_id) = &read.meta.build_ids()[0];
    assert_eq!((misc.bits(), build_id.pid, build_id.filename.text()), (1, -1, &b"/bin/old"[..]));
    assert_eq!(build_id.build_id, [0x5a; 20]);
    assert_eq!(read.samples()[0].ip, Some(0xc010_0123));
}

/// The largest multiple of 8 that fits a record's size, and so the largest record of the kernel.
const LARGEST: usize = 65528;
const CMDLINE: u32 = 11;
/// The number of IDs that fit a HEADER_ATTR with an attr of 128 bytes.
const IDS: u64 = (LARGEST as u64 - 8 - 128) / 8;

fn edge(endian: Endian) -> Vec<u8> {
    let new = || Bytes::new(endian);
    let fields = |sample_type, ids| Event { ids, ..Event::cpu_clock(IDENTIFIER | IP | TID | TIME | sample_type) };
    let events = vec![fields(CALLCHAIN, (1000..1000 + IDS).collect()), fields(RAW, vec![1])];
    let trailer = |body: Bytes| body.u32(100).u32(101).u64(5).u64(1);
    let sample = |id, time| new().u64(id).u64(0x40_0123).u32(100).u32(101).u64(time);
    let ips: Vec<u64> = std::iter::once(-512_i64 as u64).chain(0x40_0000..).take((LARGEST - 48) / 8).collect();
    let raw_size = LARGEST - 8 - 32 - 4;
    let filename = "n".repeat(LARGEST - 8 - 32 - 24 - 1);
    let mmap = new().u32(100).u32(101).u64(0x40_0000).u64(0x1000).u64(0).text(&filename, filename.len() + 1);
    let comm = |name| record(3, 0, trailer(new().u32(100).u32(101).text(name, 8)), endian);
    let records = vec![
        record(1, 2, trailer(mmap), endian),
        comm("between"),
        record(9, 2, sample(1000 + IDS - 1, 7).u64(ips.len() as u64).u64s(&ips), endian),
        comm("among"),
        record(9, 2, sample(1, 8).u32(raw_size as u32).raw(&vec![0xab; raw_size]), endian),
        comm("last"),
    ];
    let mut file = File::new(endian, events, records);
    // With its feature number, it fills a HEADER_FEATURE up to the largest size of a record.
    let argument = 65535 - 8 - 8 - 4 - 4;
    file.feature(CMDLINE, new().u32(1).u32(argument as u32).text("perf", argument));
    file.into_bytes()
}

fn expect_edge(read: &Read) {
    let sizes: Vec<_> = read.records.iter().map(|record| record.header.len()).collect();
    assert_eq!(sizes, [LARGEST, 48, LARGEST, 48, LARGEST, 48]);
    let Body::Mmap(mmap) = &read.records[0].body else { panic!("expected MMAP first") };
    assert_eq!(mmap.filename.text().len(), LARGEST - 65);
    let [chain, raw] = read.samples()[..] else { panic!("expected two samples") };
    let ips = &chain.callchain.as_ref().unwrap().ips;
    assert_eq!((ips.len(), ips[1], *ips.last().unwrap()), (8185, 0x40_0000, 0x40_0000 + 8183));
    assert_eq!(raw.raw.as_ref().unwrap().data, vec![0xab; LARGEST - 44]);
    assert_eq!(read.events()[0].ids.len() as u64, IDS);
    assert_eq!(read.meta.cmdline(), Some(vec!["perf".to_owned()]));
}

pub(super) fn recordings(endian: Endian) -> Vec<Recording> {
    let sample = Perf::shows(DUMP, &["PERF_RECORD_SAMPLE(IP, 0x2): 100/101: 0x400123 period: 4 addr: 0"]);
    let of_64 = sample.clone().and(EVENTS, &["task-clock:ppp: type: 1, size: 64, config: 0x1", "precise_ip: 3"]);
    let branches = "branch_sample_type: HV|ANY_CALL|ANY_RETURN|NO_TX|IND_JUMP, sample_regs_intr: 0x";
    // perf does not swap the registers.
    let regs = if endian == Endian::NATIVE { "5678" } else { "7856000000000000" };
    let of_104 = sample.and(EVENTS, &["task-clock:ppp: type: 1, size: 104, config: 0x1", branches, regs]);
    let narrow_sample = Perf::shows(DUMP, &["PERF_RECORD_SAMPLE(IP, 0x1): 100/101: 0xc0100123"]);
    let narrow_sample = narrow_sample.and(BUILD_IDS, &["5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a /bin/old"]);
    vec![
        Recording {
            name: "attr of 64 bytes",
            endian,
            bytes: of_attr(endian, 64),
            expect: |read| expect_attr(read, 64, 0, 0),
            perf: of_64,
        },
        Recording {
            name: "attr of 104 bytes",
            endian,
            bytes: of_attr(endian, 104),
            expect: |read| expect_attr(read, 104, 0x1234, 0x5678),
            perf: of_104,
        },
        Recording {
            name: "32-bit",
            endian,
            bytes: narrow(endian, true),
            expect: expect_narrow,
            perf: narrow_sample.clone().and(HEADER, &["# hostname : constructed", "# arch : ppc"]),
        },
        Recording {
            name: "32-bit without host name",
            endian,
            bytes: narrow(endian, false),
            expect: expect_old_narrow,
            perf: narrow_sample,
        },
        Recording {
            name: "records of 64 KiB",
            endian,
            bytes: edge(endian),
            expect: expect_edge,
            perf: Perf::shows(
                DUMP,
                &[
                    "PERF_RECORD_MMAP 100/101: [0x400000(0x1000) @ 0]: x nnn",
                    "... FP chain: nr:8185",
                    "..... 8184: 0000000000401ff7",
                    "PERF_RECORD_SAMPLE(IP, 0x2): 100/101: 0x400123",
                ],
            ),
        },
    ]
}
