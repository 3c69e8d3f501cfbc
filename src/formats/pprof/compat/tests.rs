//! One test per rule, each on a generated recording.

use super::{profile, write};
use crate::formats::pprof::proto::{Mapping, Profile};
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::{CpuMode, Misc, RecordType};
use perf_data::abi::sample_type::SampleType;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::stream::source::Source;
use prost::Message;

const FIELDS: SampleType = SampleType::IP.union(SampleType::TID).union(SampleType::TIME).union(SampleType::ID);
const SAMPLE_ID_ALL: u64 = 1 << 18;
const COMM_EXEC: u64 = 1 << 24;
const KERNEL: u32 = u32::MAX;
const IN_KERNEL: Misc = Misc::from_bits_retain(CpuMode::KERNEL.0);
const IN_USER: Misc = Misc::from_bits_retain(CpuMode::USER.0);
const KERNEL_MARK: u64 = 128_u64.wrapping_neg();
const USER_MARK: u64 = 512_u64.wrapping_neg();

/// A recording as a pipe.
struct TestRecording {
    bytes: Vec<u8>,
    sample_type: SampleType,
    time: u64,
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn text(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize((text.len() + 1).next_multiple_of(8), 0);
    bytes
}

fn pair(pid: u32, tid: u32) -> u64 {
    u64::from(tid) << 32 | u64::from(pid)
}

impl TestRecording {
    fn new(more_fields: SampleType, flags: u64) -> Self {
        let mut bytes = b"PERFILE2".to_vec();
        bytes.extend(16_u64.to_le_bytes());
        let mut this = Self { bytes, sample_type: FIELDS | more_fields, time: 0 };
        this.event(1, 50, flags);
        this
    }

    /// Adds an event with this ID and sampling period.
    fn event(&mut self, id: u64, period: u64, flags: u64) -> &mut Self {
        let attr = [64 << 32, 0, period, self.sample_type.bits(), 0, SAMPLE_ID_ALL | flags, 0, 0, id];
        self.record(RecordType::HEADER_ATTR, Misc::empty(), &words(&attr))
    }

    fn record(&mut self, kind: RecordType, misc: Misc, body: &[u8]) -> &mut Self {
        self.bytes.extend(kind.0.to_le_bytes());
        self.bytes.extend(misc.bits().to_le_bytes());
        self.bytes.extend((body.len() as u16 + 8).to_le_bytes());
        self.bytes.extend(body);
        self
    }

    /// Sets the time of the records that follow.
    fn at(&mut self, time: u64) -> &mut Self {
        self.time = time;
        self
    }

    fn with_trailer(&mut self, kind: RecordType, misc: Misc, pid: u32, body: &[u8]) -> &mut Self {
        let trailer = words(&[pair(pid, pid), self.time, 1]);
        self.record(kind, misc, &[body, &trailer].concat())
    }

    fn mmap(&mut self, pid: u32, start: u64, len: u64, pgoff: u64, name: &str) -> &mut Self {
        let body = [words(&[pair(pid, pid), start, len, pgoff]), text(name)].concat();
        self.with_trailer(RecordType::MMAP, Misc::empty(), pid, &body)
    }

    fn comm(&mut self, pid: u32, name: &str, misc: Misc) -> &mut Self {
        self.with_trailer(RecordType::COMM, misc, pid, &[words(&[pair(pid, pid)]), text(name)].concat())
    }

    /// Adds a sample; `rest` follows its ID.
    fn sample(&mut self, pid: u32, misc: Misc, ip: u64, rest: &[u64]) -> &mut Self {
        let body = [&words(&[ip, pair(pid, pid), self.time, 1])[..], &words(rest)].concat();
        self.record(RecordType::SAMPLE, misc, &body)
    }

    fn build_id(&mut self, misc: Misc, id: u8, name: &str) -> &mut Self {
        let id = [[id; 4].as_slice(), &[0; 20]].concat();
        self.record(
            RecordType::HEADER_BUILD_ID,
            misc,
            &[&(-1_i32).to_le_bytes()[..], &id, text(name).as_slice()].concat(),
        )
    }

    fn version(&mut self, version: &str) -> &mut Self {
        let text = text(version);
        let content = [&words(&[FeatureId::VERSION.0.into()])[..], &(text.len() as u32).to_le_bytes(), &text].concat();
        self.record(RecordType::HEADER_FEATURE, Misc::empty(), &content)
    }

    fn profile(&self) -> Profile {
        let input = Input::Bytes { name: "made".into(), bytes: self.bytes.clone().into() };
        let (built, ledger) = profile(Source::open(input, ReadOptions::default()).unwrap()).unwrap();
        assert!(ledger.messages().is_empty(), "{:?}", ledger.messages());
        let mut bytes = Vec::new();
        write(&built, &mut bytes).unwrap();
        Profile::decode(&bytes[..]).unwrap()
    }

    /// The samples, as `ADDRESS@FILE ... : VALUES`.
    fn samples(&self) -> Vec<String> {
        let profile = self.profile();
        let stack = |ids: &[u64]| {
            let frame = |&id: &u64| {
                let location = &profile.location[id as usize - 1];
                let mapping = location.mapping_id.checked_sub(1).map(|at| &profile.mapping[at as usize]);
                format!("{:x}@{}", location.address, mapping.map_or("", |m| &profile.string_table[m.filename as usize]))
            };
            ids.iter().map(frame).collect::<Vec<_>>().join(" ")
        };
        profile.sample.iter().map(|sample| format!("{} : {:?}", stack(&sample.location_id), sample.value)).collect()
    }

    /// The mappings: start, name, build ID.
    fn mappings(&self) -> Vec<(u64, String, String)> {
        let profile = self.profile();
        let text = |index: i64| profile.string_table[index as usize].clone();
        let fields = |mapping: &Mapping| (mapping.memory_start, text(mapping.filename), text(mapping.build_id));
        profile.mapping.iter().map(fields).collect()
    }
}

fn simple() -> TestRecording {
    TestRecording::new(SampleType::empty(), COMM_EXEC)
}

#[test]
fn skips_the_first_frame_and_adjusts_return_addresses() {
    let mut recording = TestRecording::new(SampleType::CALLCHAIN, COMM_EXEC);
    recording.mmap(7, 0x1000, 0x1000, 0, "/bin/x").mmap(KERNEL, 0xffff_0000, 0x1000, 0, "[kernel.kallsyms]_text");
    recording.sample(7, IN_USER, 0x1010, &[4, USER_MARK, 0x1010, 0x1020, 0x1030]);
    recording.sample(7, IN_KERNEL, 0xffff_0010, &[4, KERNEL_MARK, 0xffff_0020, USER_MARK, 0x1030]);
    let kernel = "[kernel.kallsyms]_text";
    assert_eq!(
        recording.samples(),
        ["1010@/bin/x 101f@/bin/x 102f@/bin/x : [1, 50]", &format!("ffff0010@{kernel} 102f@/bin/x : [1, 50]")]
    );
}

#[test]
fn skips_unmapped_frames_but_keeps_the_leaf_as_0() {
    let mut recording = TestRecording::new(SampleType::CALLCHAIN, COMM_EXEC);
    recording.mmap(7, 0x1000, 0x1000, 0, "/bin/x");
    // A return address is never the first address of a map.
    recording.sample(7, IN_USER, 0x9010, &[5, USER_MARK, 0x9010, 0x9020, 0x1000, 0x1001]);
    recording.sample(7, IN_USER, 8 << 60 | 0x1010, &[0]);
    assert_eq!(recording.samples(), ["0@ 1000@/bin/x : [1, 50]", "0@ : [1, 50]"]);
}

#[test]
fn user_mode_does_not_find_kernel_maps_and_guests_find_none() {
    let mut recording = simple();
    recording.mmap(7, 0x1000, 0x1000, 0, "/bin/x").mmap(KERNEL, 0x8000, 0x1000, 0, "[kernel.kallsyms]_text");
    for mode in [CpuMode::KERNEL, CpuMode::USER, CpuMode::GUEST_USER, CpuMode::HYPERVISOR, CpuMode::UNKNOWN] {
        recording.sample(7, Misc::from_bits_retain(mode.0), 0x8010, &[]);
    }
    assert_eq!(recording.samples(), ["8010@[kernel.kallsyms]_text : [2, 100]", "0@ : [3, 150]"]);
}

#[test]
fn branches_become_callers() {
    let mut recording = TestRecording::new(SampleType::CALLCHAIN | SampleType::BRANCH_STACK, COMM_EXEC);
    recording.mmap(7, 0x1000, 0x1000, 0, "/bin/x");
    let branches = [0x1050, 0x1060, 0, 0x9000, 0x1000, 0, 0x1000, 0x1050, 0];
    recording.sample(7, IN_USER, 0x1010, &[&[3, USER_MARK, 0x1010, 0x1020, 3], &branches[..]].concat());
    recording.sample(7, IN_USER, 0x1010, &[3, USER_MARK, 0x1010, 0x1020, 0]);
    let expected = ["1010@/bin/x 1050@/bin/x 1000@/bin/x : [1, 50]", "1010@/bin/x 101f@/bin/x : [1, 50]"];
    assert_eq!(recording.samples(), expected);
}

#[test]
fn records_without_time_come_first_and_mappings_are_per_process() {
    let mut recording = simple();
    recording.at(9).sample(7, IN_USER, 0x1010, &[]).sample(8, IN_USER, 0x1010, &[]);
    recording.at(5).sample(7, IN_USER, 0x1010, &[]).at(7).mmap(7, 0x1000, 0x1000, 0, "/bin/y");
    recording.at(0).mmap(7, 0x1000, 0x1000, 0, "/bin/x").mmap(8, 0x1000, 0x1000, 0, "/bin/x");
    let expected = ["1010@/bin/x : [1, 50]", "1010@/bin/y : [1, 50]", "1010@/bin/x : [1, 50]"];
    assert_eq!(recording.samples(), expected);
    assert_eq!(recording.mappings().len(), 3);
}

#[test]
fn mapping_at_the_fixed_load_address_is_the_main_one() {
    let main = |maps: &[(u64, &str)]| {
        let mut recording = simple();
        for &(start, name) in maps {
            recording.mmap(7, start, 0x1000, 0, name);
        }
        recording.sample(7, IN_USER, 0x10, &[]).mappings().remove(0).1
    };
    assert_eq!(main(&[(0x1000, "/bin/x"), (0x40_0000, "/bin/y"), (0x3000, "/bin/z")]), "/bin/y");
    assert_eq!(main(&[(0x1000, "/bin/x"), (0x804_8000, "/lib/l.so")]), "/lib/l.so");
    let others =
        ["/a/l.so", "/a/l.so.6", "/a/l.so.6 (deleted)", "/m.ko", "//anon", "[vdso]", "/memfd:j", "/j/classes.jsa"];
    for (number, other) in (1..).zip(others) {
        assert_eq!(main(&[(number * 0x1_0000, other), (0x1000, "/bin/x")]), "/bin/x", "{other}");
    }
    assert_eq!(main(&[(0x1000, "//anon")]), "", "an unnamed mapping replaces the missing one");
}

#[test]
fn names_in_brackets_at_both_ends_are_not_programs() {
    let main = |name: &str| {
        let mut recording = simple();
        recording.mmap(0, 0x8000, 0x1000, 0, name).sample(0, IN_USER, 0x10, &[]).mappings().remove(0).1
    };
    for program in ["[guest.kernel.kallsyms]_text", "[guest.kernel.kallsyms.7]_stext", "[x", "x]"] {
        assert_eq!(main(program), program);
    }
    for other in ["[guest.kernel.kallsyms]", "[kernel.kallsyms]", "[kernel.kallsyms]_text", "[anon:heap", "[vdso]"] {
        assert_eq!(main(other), "", "{other}");
    }
}

#[test]
fn unnamed_program_takes_the_name_of_its_next_segment() {
    let mut recording = simple();
    recording.mmap(7, 0x40_0000, 0x1000, 0, "").at(1);
    let part = words(&[pair(7, 7), 0x40_5000, 0x1000, 0x5000]);
    recording.with_trailer(RecordType::MMAP, Misc::empty(), 7, &[part, text("/bin/x")].concat());
    recording.sample(7, IN_USER, 0x40_0010, &[]);
    assert_eq!(recording.samples(), ["400010@/bin/x : [1, 50]"]);
}

#[test]
fn process_without_main_mapping_uses_its_comm() {
    let mut recording = simple();
    recording.build_id(IN_KERNEL, 0xab, "[kernel.kallsyms]");
    recording.mmap(KERNEL, 0x8000, 0x1000, 0, "[kernel.kallsyms]_text").comm(7, "worker", Misc::empty());
    recording.sample(7, IN_KERNEL, 0x8010, &[]);
    let named = |name: &str, start| (start, name.to_owned(), "abababab".to_owned());
    assert_eq!(recording.mappings(), [named("worker", 0), named("[kernel.kallsyms]_text", 0x8000)]);

    let mut idle = simple();
    idle.build_id(IN_KERNEL, 0xab, "[kernel.kallsyms]").mmap(KERNEL, 0x8000, 0x1000, 0, "[kernel.kallsyms]_stext");
    idle.sample(0, IN_KERNEL, 0x8010, &[]);
    assert_eq!(idle.mappings(), [named("[kernel.kallsyms]_stext", 0x8000)]);
}

#[test]
fn build_ids_come_from_the_record_or_the_table() {
    let mut recording = simple();
    recording.build_id(IN_USER, 0x11, "/bin/x").build_id(IN_USER, 0x22, "/bin/y").build_id(IN_USER, 0x33, "/bin/y");
    let inode = words(&[pair(7, 7), 0x1000, 0x1000, 0, 0x0605_0000_0004, 0, 0, 5]);
    let mmap2 = [inode, text("/bin/x")].concat();
    recording.with_trailer(RecordType::MMAP2, IN_USER | Misc::MMAP_BUILD_ID, 7, &mmap2);
    recording.mmap(7, 0x4000, 0x1000, 0, "/bin/y").mmap(7, 0x6000, 0x1000, 0, "/bin/z");
    recording.sample(7, IN_USER, 0x1010, &[]).sample(7, IN_USER, 0x4010, &[]).sample(7, IN_USER, 0x6010, &[]);
    let ids: Vec<_> = recording.mappings().into_iter().map(|(_, _, id)| id).collect();
    assert_eq!(ids, ["05060000", "33333333", ""], "{ids:?}");
}

#[test]
fn old_kernel_begins_at_its_reference_symbol_and_is_split_by_modules() {
    let mut recording = simple();
    let (text, module) = (0xffff_ffff_8100_0000, 0xffff_ffff_a000_0000);
    recording.mmap(KERNEL, 0, u64::MAX, text + 0x198, "[kernel.kallsyms]_text");
    recording.mmap(KERNEL, module, 0x1000, 0, "/m/x.ko");
    for ip in [text, module, module + 0x1000, text - 1] {
        recording.sample(7, IN_KERNEL, ip, &[]);
    }
    let kernel = "[kernel.kallsyms]_text";
    assert_eq!(
        recording.samples(),
        [
            format!("{text:x}@{kernel} : [1, 50]"),
            format!("{module:x}@/m/x.ko : [1, 50]"),
            format!("{:x}@{kernel} : [1, 50]", module + 0x1000),
            "0@ : [1, 50]".to_owned(),
        ]
    );
}

#[test]
fn exec_resets_locations_but_a_rename_does_not() {
    let mut recording = simple();
    recording.mmap(7, 0x1000, 0x1000, 0, "/bin/x").sample(7, IN_USER, 0x1010, &[]);
    recording.comm(7, "renamed", Misc::empty()).sample(7, IN_USER, 0x1010, &[]);
    assert_eq!(recording.samples(), ["1010@/bin/x : [2, 100]"]);
    recording.comm(7, "other", Misc::COMM_EXEC).sample(7, IN_USER, 0x1010, &[]);
    assert_eq!(recording.samples(), ["1010@/bin/x : [2, 100]", "1010@/bin/x : [1, 50]"]);
    let mut without_exec_flag = TestRecording::new(SampleType::empty(), 0);
    without_exec_flag.mmap(0, 0x1000, 0x1000, 0, "/bin/x").sample(0, IN_USER, 0x1010, &[]);
    without_exec_flag.comm(0, "any", Misc::empty()).sample(0, IN_USER, 0x1010, &[]);
    assert_eq!(without_exec_flag.samples().len(), 2);
}

#[test]
fn child_inherits_maps_and_main_mapping() {
    let mut recording = simple();
    recording.mmap(7, 0x1000, 0x1000, 0, "/bin/x");
    recording.with_trailer(RecordType::FORK, Misc::empty(), 8, &words(&[pair(8, 7), pair(8, 7), 0]));
    recording.sample(8, IN_USER, 0x1010, &[]);
    assert_eq!(recording.samples(), ["1010@/bin/x : [1, 50]"]);
    assert_eq!(recording.mappings().len(), 1);
}

#[test]
fn lost_samples_are_in_a_separate_mapping() {
    let lost = |version: &str| {
        let mut recording = simple();
        recording.version(version).sample(7, IN_USER, 0x1010, &[]);
        recording.with_trailer(RecordType::LOST, Misc::empty(), 7, &words(&[1, 10]));
        recording.with_trailer(RecordType::LOST_SAMPLES, Misc::empty(), 7, &words(&[3]));
        recording.samples().remove(1)
    };
    assert_eq!(lost("6.0.9"), "9000000000000000@[lost] : [10, 500]");
    assert_eq!(lost("6.1.25"), "9000000000000000@[lost] : [3, 150]");
    assert_eq!(lost("garbage"), "9000000000000000@[lost] : [10, 500]");
}

#[test]
fn profile_starting_with_lost_samples_has_an_unnamed_first_mapping() {
    let mut recording = simple();
    recording.mmap(7, 0x1000, 0x1000, 0, "/bin/x");
    recording.with_trailer(RecordType::LOST, Misc::empty(), 7, &words(&[1, 10])).sample(7, IN_USER, 0x1010, &[]);
    let names: Vec<_> = recording.mappings().into_iter().map(|(start, name, _)| (start, name)).collect();
    assert_eq!(names, [(0, "".into()), (9 << 60, "[lost]".into()), (0x1000, "/bin/x".into())]);
}

#[test]
fn bpf_programs_are_kernel_mappings() {
    let mut recording = simple();
    let symbol =
        |address: u64, kind_and_flags: u64| [words(&[address, kind_and_flags << 32 | 0x100]), text("prog")].concat();
    for (address, kind_and_flags) in [(0x8000, 1), (0x9000, 2), (0xa000, 1 << 16 | 1)] {
        recording.with_trailer(RecordType::KSYMBOL, Misc::empty(), 0, &symbol(address, kind_and_flags));
        recording.sample(7, IN_KERNEL, address + 0x10, &[]);
    }
    assert_eq!(recording.samples(), ["8010@prog : [1, 50]", "0@ : [2, 100]"]);
}

#[test]
fn events_have_named_columns_and_samples_match_by_id() {
    let mut recording = TestRecording::new(SampleType::PERIOD, COMM_EXEC);
    recording.event(2, 0, 0);
    recording.sample(7, IN_USER, 0, &[7]).sample(7, IN_USER, 0, &[0]);
    let second = words(&[0, pair(7, 7), 0, 2, 0]);
    recording.record(RecordType::SAMPLE, IN_USER, &second);
    assert_eq!(recording.samples(), ["0@ : [2, 57, 1, 1]"]);
    let profile = recording.profile();
    let names: Vec<_> = profile.sample_type.iter().map(|c| &*profile.string_table[c.r#type as usize]).collect();
    assert_eq!(names, ["event_0_sample", "event_0_event", "event_1_sample", "event_1_event"]);
    assert_eq!(profile.default_sample_type, profile.sample_type[3].r#type);
}

#[test]
fn rejects_a_recording_without_samples() {
    let mut recording = simple();
    recording.mmap(7, 0x1000, 0x1000, 0, "/bin/x");
    let input = Input::Bytes { name: "made".into(), bytes: recording.bytes.into() };
    let refused = profile(Source::open(input, ReadOptions::default()).unwrap()).unwrap_err();
    assert!(refused.to_string().starts_with("made: it has no samples"), "{refused}");
}
