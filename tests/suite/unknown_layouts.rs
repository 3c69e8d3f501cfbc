//! Recordings with bits that decide a layout and that perfconv does not know: the fields before the unknown ones are used, the
//! others are bytes, which come back and are named in a warning.

use crate::common::files::uses_all;
use crate::common::program::{for_each, perfconv, run, succeed};
use perf_data::abi::Endian;
use std::fs;
use std::path::Path;

const READ: u64 = 1 << 4;
const BRANCH_STACK: u64 = 1 << 11;
/// IP, TID, TIME, CALLCHAIN, CPU, PERIOD, REGS_USER, STACK_USER and WEIGHT.
const FIELDS: u64 = 0b111_0001_1010_0111;
const ABI_64: u64 = 2;

/// A recording of two samples, with words whose layout depends on unknown bits.
#[derive(Clone, Copy, Debug)]
struct Case {
    sample_type: u64,
    read_format: u64,
    branch_sample_type: u64,
    abi: u64,
    endian: Endian,
    /// Whether trailers have a word that is not known.
    extends_trailers: bool,
}

const KNOWN: Case = Case {
    sample_type: FIELDS,
    read_format: 0,
    branch_sample_type: 0,
    abi: ABI_64,
    endian: Endian::Little,
    extends_trailers: false,
};

impl Case {
    fn u64(self, value: u64) -> [u8; 8] {
        if self.endian == Endian::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    fn u32(self, value: u32) -> [u8; 4] {
        if self.endian == Endian::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    fn u16(self, value: u16) -> [u8; 2] {
        if self.endian == Endian::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    fn words(self, words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|&word| self.u64(word)).collect()
    }

    fn record(self, kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
        [&self.u32(kind)[..], &self.u16(misc), &self.u16(8 + body.len() as u16), body].concat()
    }

    /// A record with a `sample_id` of task, time and CPU.
    fn with_trailer(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let added = if self.extends_trailers { self.words(&[0x7777]) } else { Vec::new() };
        let task = [self.u32(7), self.u32(7)].concat();
        self.record(kind, 2, &[body, &task, &self.u64(900), &self.u64(0), &added].concat())
    }

    fn sample(self, time: u64) -> Vec<u8> {
        let has = |bits| self.sample_type & bits != 0;
        let mut body = [&self.u64(0x40_1000)[..], &self.u32(7), &self.u32(7), &self.u64(time)].concat();
        body.extend([&self.u32(0)[..], &self.u32(0), &self.u64(1000)].concat());
        if has(READ) {
            // With an unknown word behind the value.
            body.extend(self.words(&[5, 0x5555_5555]));
        }
        body.extend(self.words(&[3, 512_u64.wrapping_neg(), 0x40_1000, 0x40_2000]));
        if has(BRANCH_STACK) {
            // With an unknown word before the entry.
            body.extend(self.words(&[1, 0x6666, 0x40_1000, 0x40_2000, 0]));
        }
        body.extend(self.words(&[self.abi, 0x1111]));
        if self.abi != ABI_64 || self.sample_type & !FIELDS & !READ & !BRANCH_STACK != 0 {
            body.extend(self.words(&[2, 0xaaaa, 0xbbbb]));
        }
        body.extend(self.words(&[16, 1, 2, 16, 77]));
        self.record(9, 2, &body)
    }

    fn bytes(self) -> Vec<u8> {
        let flags: u64 = 1 << 8 | 1 << 9 | 1 << 18;
        let flags = if self.endian == Endian::Little { flags } else { flags.reverse_bits() };
        let mut attr = [&self.u32(1)[..], &self.u32(128), &self.words(&[0, 1000])].concat();
        attr.extend(self.words(&[self.sample_type, self.read_format, flags, 0, 0, 0]));
        attr.extend(self.words(&[self.branch_sample_type, 1]));
        attr.extend([&self.u32(16)[..], &self.u32(0), &[0; 32]].concat());
        assert_eq!(attr.len(), 128);
        attr.extend([0; 16]);
        let comm = [&self.u32(7)[..], &self.u32(7), b"prog\0\0\0\0"].concat();
        let mut mmap = [&self.u32(7)[..], &self.u32(7), &self.words(&[0x40_0000, 0x10_0000, 0])].concat();
        mmap.extend(b"/bin/prog\0\0\0\0\0\0\0");
        let data = [self.with_trailer(3, &comm), self.with_trailer(1, &mmap), self.sample(1000), self.sample(2000)];
        let data = data.concat();
        let magic = if self.endian == Endian::Little { b"PERFILE2" } else { b"2ELIFREP" };
        let at = 104 + attr.len() as u64;
        let header = [104, 144, 104, attr.len() as u64, at, data.len() as u64, 0, 0, 0, 0, 0, 0];
        [&magic[..], &self.words(&header), &attr, &data].concat()
    }

    /// The name of the unknown bits in messages.
    fn name(self) -> String {
        let bit = |bits: u64, word| format!("bit {} of {word}", bits.trailing_zeros());
        if self.abi != ABI_64 {
            return format!("register ABI {:#x}", self.abi);
        }
        match (self.read_format, self.branch_sample_type) {
            (0, 0) => bit(self.sample_type & !FIELDS, "sample_type"),
            (0, bits) => bit(bits & !8, "branch_sample_type"),
            (bits, _) => bit(bits, "read_format"),
        }
    }
}

/// Recordings with each unknown bit, by default a third of them, and register ABIs.
fn cases() -> Vec<Case> {
    let one_of = if uses_all() { 1 } else { 3 };
    let sample_types = (25..64).map(|bit| Case { sample_type: FIELDS | 1 << bit, ..KNOWN });
    let read_formats = (5..64).map(|bit| Case { sample_type: FIELDS | READ, read_format: 1 << bit, ..KNOWN });
    let branches =
        (20..64).map(|bit| Case { sample_type: FIELDS | BRANCH_STACK, branch_sample_type: 8 | 1 << bit, ..KNOWN });
    let abis = [3, 4, 5, 6, 8, 1 << 32 | 2, 1 << 63].map(|abi| Case { abi, ..KNOWN });
    let bits = sample_types.chain(read_formats).chain(branches).step_by(one_of);
    let little: Vec<_> = bits.chain(abis).collect();
    let big = little.iter().step_by(7).map(|case| Case { endian: Endian::Big, ..*case });
    little.iter().copied().chain(big).collect()
}

/// What goes wrong with a recording, if anything.
fn problem(case: Case, other_formats: bool) -> Option<String> {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let input = path("in.data");
    fs::write(&input, case.bytes()).unwrap();
    let convert =
        |from: &Path, to: &Path, options: &[&str]| run(perfconv().arg(from).args(options).args(["-f", "-o"]).arg(to));
    let lossless: &[&str] =
        if other_formats { &["out.jsonl", "out.json", "out.quipper", "copy.data"] } else { &["out.jsonl"] };
    for name in lossless {
        let options: &[&str] = if *name == "out.quipper" { &["-t", "quipper"] } else { &[] };
        let (written, back) = (path(name), path("back.data"));
        let export = convert(&input, &written, &[options, &["--strict"]].concat());
        if export.status != 0 || !export.stderr.contains(&case.name()) {
            return Some(format!("{name}: {}", export.stderr));
        }
        let import = convert(&written, &back, &[]);
        if import.status != 0 || fs::read(&back).unwrap() != case.bytes() {
            return Some(format!("{name} gives other bytes back: {}", import.stderr));
        }
    }
    let folded = convert(&input, &path("out.folded"), &["--strict"]);
    if folded.status != 3 || !folded.stderr.contains(&case.name()) || !folded.stderr.contains("2 used in part") {
        return Some(format!("folded: {}", folded.stderr));
    }
    let text = fs::read_to_string(path("out.folded")).unwrap();
    let expected = if case.read_format != 0 { 1 } else { 2 };
    let is_used =
        text.starts_with("prog") && text.lines().next().is_some_and(|line| line.split(';').count() > expected);
    if !is_used {
        return Some(format!("folded: {text}"));
    }
    if other_formats {
        let other = if case.endian == Endian::Little { "big" } else { "little" };
        let swapped = convert(&input, &path("swapped.data"), &["--endian", other]);
        if swapped.status != 1 || !swapped.stderr.contains("the byte order of these contents is unknown") {
            return Some(format!("--endian: {} {}", swapped.status, swapped.stderr));
        }
        let anonymized = convert(&input, &path("anonymized.data"), &["--anonymize"]);
        if anonymized.status == 0
            && memchr::memmem::find(&fs::read(path("anonymized.data")).unwrap(), &case.u64(0xbbbb)).is_some()
        {
            return Some(format!("--anonymize keeps unknown fields: {}", anonymized.stderr));
        }
    }
    None
}

#[test]
fn fields_before_unknown_ones_are_used_and_all_bytes_come_back() {
    let cases = cases();
    let numbered: Vec<_> = cases.iter().copied().enumerate().collect();
    let results = for_each(&numbered, |&(index, case)| problem(case, index % 4 == 0));
    let problems: Vec<_> = cases.iter().zip(results).filter_map(|(case, problem)| Some((case, problem?))).collect();
    note!("{} recordings", cases.len());
    assert!(problems.is_empty(), "{} of {}: {:#?}", problems.len(), cases.len(), &problems[..problems.len().min(4)]);
    assert!(cases.len() > 60, "{}", cases.len());
}

/// The same recording without unknown bits, as a control of the test.
#[test]
fn known_layouts_are_used_as_a_whole() {
    for endian in [Endian::Little, Endian::Big] {
        let dir = tempfile::tempdir().unwrap();
        let [input, output] = ["in.data", "out.folded"].map(|name| dir.path().join(name));
        fs::write(&input, Case { endian, ..KNOWN }.bytes()).unwrap();
        let folded = succeed(perfconv().arg(&input).arg("-o").arg(&output));
        assert!(!folded.stderr.contains("in part"), "{}", folded.stderr);
        assert!(fs::read_to_string(output).unwrap().starts_with("prog;"));
    }
}

#[test]
fn trailers_with_an_unknown_word_are_not_used() {
    let case = Case { sample_type: FIELDS | 1 << 25, extends_trailers: true, ..KNOWN };
    let dir = tempfile::tempdir().unwrap();
    let [input, json, back, quipper] =
        ["in.data", "out.jsonl", "back.data", "out.quipper"].map(|name| dir.path().join(name));
    fs::write(&input, case.bytes()).unwrap();
    let export = succeed(perfconv().arg(&input).args(["--strict", "-o"]).arg(&json));
    assert!(export.stderr.contains("2 records whose sample_id has an unknown layout"), "{}", export.stderr);
    assert!(!fs::read_to_string(&json).unwrap().contains("\"sample_id\""), "they would be misread");
    succeed(perfconv().arg(&input).args(["-t", "quipper", "-o"]).arg(&quipper));
    for lossless in [&json, &quipper] {
        succeed(perfconv().arg(lossless).args(["-f", "-o"]).arg(&back));
        assert!(fs::read(&back).unwrap() == case.bytes(), "{}", lossless.display());
    }
    let known = Case { extends_trailers: false, ..case };
    fs::write(&input, known.bytes()).unwrap();
    let export = run(perfconv().arg(&input).args(["-f", "-o"]).arg(&json));
    assert!(!export.stderr.contains("sample_id"), "{}", export.stderr);
    assert_eq!(fs::read_to_string(&json).unwrap().matches("\"sample_id\"").count(), 2);
}
