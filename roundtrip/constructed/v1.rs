//! Version 1 (`PERFFILE`), which perf wrote before 3.4.

use super::Recording;
use super::bytes::Bytes;
use super::perf::{DUMP, Perf};
use super::read::Read;
use super::recording::{Event, File, IP, PERIOD, SAMPLE_ID_ALL, TID, TIME, pipe, record};
use perf_data::abi::Endian;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::Body;
use perf_data::container::read::Container;

/// The header_page file: fields at the start of a ring-buffer page.
const PAGE: &[u8] = b"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
      \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
      \tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";

const TRACEPOINT: u32 = 2;

/// Events of that time: the attr has 72 bytes.
fn events() -> Vec<Event> {
    let event = |kind, config, ids| Event {
        size: 72,
        kind,
        config,
        ids,
        flags: &[SAMPLE_ID_ALL],
        precise_ip: 1,
        ..Event::cpu_clock(IP | TID | TIME | super::recording::ID | PERIOD)
    };
    vec![event(TRACEPOINT, 0x4d, vec![11, 12]), event(0, 0, vec![21])]
}

const EVENT_TYPES: [(u64, &str); 2] = [(0x4d, "sched:sched_switch"), (0x4e, "sched:sched_wakeup")];

fn records(endian: Endian) -> Vec<Vec<u8>> {
    let new = || Bytes::new(endian);
    let trailer = |body: Bytes| body.u32(100).u32(101).u64(5).u64(21);
    let comm = trailer(new().u32(100).u32(101).text("old", 8));
    let mmap = trailer(new().u32(100).u32(101).u64(0x40_0000).u64(0x1000).u64(0x2000).text("/bin/old", 16));
    let sample = |id, time| new().u64(0x40_0123).u32(100).u32(101).u64(time).u64(id).u64(3);
    vec![
        record(3, 0, comm, endian),
        record(1, 2, mmap, endian),
        record(9, 2, sample(12, 7), endian),
        record(9, 2, sample(21, 8), endian),
    ]
}

fn file(endian: Endian) -> Vec<u8> {
    let mut file = File::new(endian, events(), records(endian));
    file.arch("x86_64");
    file.feature(TRACING_DATA, tracing_data());
    file.event_types = EVENT_TYPES.to_vec();
    file.magic_of_v1 = true;
    file.into_bytes()
}

/// perf opens recordings of tracepoints only with their formats, a feature; so this one has no tracepoint.
fn file_without_features(endian: Endian) -> Vec<u8> {
    let mut file = File::new(endian, events().split_off(1), records(endian));
    file.features.clear();
    file.event_types = EVENT_TYPES.to_vec();
    (file.magic_of_v1, file.header_size) = (true, 72);
    file.into_bytes()
}

const TRACING_DATA: u32 = 1;

/// Formats have their own byte order, independent of the recording's.
fn tracing_data() -> Bytes {
    let format = "name: sched_switch\nID: 77\nformat:\n\
                  \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
                  \tfield:int prev_pid;\toffset:8;\tsize:4;\tsigned:1;\n\n\
                  print fmt: \"prev_pid=%d\", REC->prev_pid\n";
    let is_big = 0;
    let data = Bytes::new(Endian::Little).raw(b"\x17\x08\x44tracing0.5\0").u8(is_big).u8(8).u32(4096);
    let data =
        data.raw(b"header_page\0").u64(PAGE.len() as u64).raw(PAGE).raw(b"header_event\0").u64(6).raw(b"event\n");
    let (formats_of_ftrace, systems, formats) = (0, 1, 1);
    let data = data.u32(formats_of_ftrace).u32(systems).raw(b"sched\0").u32(formats);
    let (kallsyms, printk) = (0, 0);
    data.u64(format.len() as u64).raw(format.as_bytes()).u32(kallsyms).u32(printk)
}

fn in_pipe(endian: Endian) -> Vec<u8> {
    // Names had no fixed size.
    let event_type = |(id, name)| record(65, 0, Bytes::new(endian).u64(id).text(name, 24), endian);
    let types = EVENT_TYPES.into_iter().map(event_type);
    pipe(endian, true, &events(), types.chain(records(endian)).collect())
}

pub(super) fn recordings(endian: Endian) -> Vec<Recording> {
    let shown = Perf::shows;
    let values = &[
        "PERF_RECORD_COMM: old:100/101",
        "PERF_RECORD_MMAP 100/101: [0x400000(0x1000) @ 0x2000]: x /bin/old",
        "7 0x",
        "PERF_RECORD_SAMPLE(IP, 0x2): 100/101: 0x400123 period: 3 addr: 0",
        "... thread: old:101",
    ];
    let of_foreign_pipe = "perf assumes its own byte order for every pipe of version 1";
    let pipe_perf = if endian == Endian::NATIVE { shown(DUMP, values) } else { Perf::Unknown(of_foreign_pipe) };
    vec![
        Recording { name: "v1", endian, bytes: file(endian), expect: expect_file, perf: shown(DUMP, values) },
        Recording {
            name: "v1 without features",
            endian,
            bytes: file_without_features(endian),
            expect: expect_without_features,
            perf: shown(DUMP, values),
        },
        Recording { name: "v1 pipe", endian, bytes: in_pipe(endian), expect: expect_pipe, perf: pipe_perf },
    ]
}

fn expect_file(read: &Read) {
    expect(read);
    assert_eq!(read.meta.container, Container::File);
    assert_eq!(read.meta.string(FeatureId::HOSTNAME).as_deref(), Some("constructed"));
    assert_eq!(read.meta.string(FeatureId::ARCH).as_deref(), Some("x86_64"));
}

fn expect_pipe(read: &Read) {
    expect(read);
    assert_eq!(read.meta.container, Container::Pipe);
}

fn expect(read: &Read) {
    let [tracepoint, cycles] = read.events() else { panic!("expected two events") };
    assert_eq!((tracepoint.attr.config, &tracepoint.ids[..]), (0x4d, &[11, 12][..]));
    assert_eq!((cycles.attr.config, &cycles.ids[..]), (0, &[21][..]));
    assert_eq!((tracepoint.name.as_deref(), cycles.name.as_deref()), (Some("sched:sched_switch"), None));
    let names: Vec<_> = read.profile.tables.events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["sched:sched_switch", "cpu-cycles"]);
    expect_records(read);
}

fn expect_without_features(read: &Read) {
    assert!(read.meta.features.is_empty());
    assert_eq!((read.events().len(), &read.events()[0].ids[..]), (1, &[21][..]));
    expect_records(read);
}

fn expect_records(read: &Read) {
    let types = read.meta.event_types.list().iter();
    let types: Vec<_> = types.map(|entry| (entry.event_id, str::from_utf8(entry.name.text()).unwrap())).collect();
    assert_eq!(types, EVENT_TYPES);
    for event in read.events() {
        assert_eq!((event.attr.size, event.attr.tail.len()), (72, 0));
        assert_eq!(event.attr.flags, AttrFlags::SAMPLE_ID_ALL | AttrFlags::PRECISE_IP_0);
    }
    let samples = read.samples();
    let values = samples.iter().map(|sample| (sample.ip, sample.task, sample.time, sample.id, sample.period));
    let values = values.collect::<Vec<_>>();
    let sample = |time, id| (Some(0x40_0123), Some((100, 101)), Some(time), Some(id), Some(3));
    assert_eq!(values, [sample(7, 12), sample(8, 21)]);
    let mmap = read.bodies().find_map(|body| if let Body::Mmap(mmap) = body { Some(mmap) } else { None }).unwrap();
    assert_eq!((mmap.addr, mmap.len, mmap.pgoff, mmap.filename.text()), (0x40_0000, 0x1000, 0x2000, &b"/bin/old"[..]));
}
