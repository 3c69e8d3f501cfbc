//! Profiles for compilers and binary optimizers: `-t llvm`, `gcc`, `bolt`, `profgen`, `autofdo`.

use crate::common::branch_profiles::{Goldens, directory, profile, sorted_lines};
use crate::common::program::{perfconv, run};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A profile of the repository's recording; `arguments` are separated by spaces.
fn sieve(recording: &str, arguments: &str) -> (Vec<u8>, String) {
    let run = profile(&directory().join(recording), &directory().join("files"), arguments);
    assert_eq!(run.status, 0, "{arguments}: {}", run.stderr);
    (run.stdout, run.stderr)
}

#[test]
fn profiles_equal_those_of_llvm() {
    let golden = |name: &str| fs::read(directory().join(name)).unwrap();
    assert!(sieve("sieve.data", "-t llvm --llvm-format text").0 == golden("sieve.llvm.txt"));
    assert!(sieve("sieve.data", "-t llvm").0 == golden("sieve.llvm.extbinary"));
}

#[test]
fn a_report_says_what_was_counted() {
    let (_, report) = sieve("sieve.data", "-t llvm --llvm-format text");
    assert_eq!(
        report,
        "perfconv: 5280 branch entries in 330 branch stacks; 4950 ranges\n\
         perfconv: profile of /srv/bin/sieve, build ID dedc941724e37839f435de6941f08f9950cba0e0: 100.0 % of the branches\n\
         perfconv: counts of 5 functions\n\
         [ perfconv: standard output: 330 samples in, 330 out, 0 dropped ]\n"
    );
}

#[test]
fn without_branch_stacks_instruction_pointers_are_counted() {
    let total = |text: &[u8]| -> u64 {
        let text = String::from_utf8_lossy(text).into_owned();
        let functions = text.lines().filter(|line| !line.starts_with(' '));
        functions.map(|line| line.split(':').nth(1).unwrap().parse::<u64>().unwrap()).sum()
    };
    let (text, report) = sieve("sieve-ip.data", "-t llvm --llvm-format text");
    assert_eq!(total(&text), 330);
    assert!(report.contains("the recording has no branch stacks"), "{report}");
    let (bolt, _) = sieve("sieve-ip.data", "-t bolt --bolt-version 22");
    assert!(bolt.starts_with(b"E br_inst_retired.near_taken:u\nS 4010a0 "));
    for (arguments, problem) in [("-t bolt", "use --bolt-version 22"), ("-t profgen", "has no branch stacks")] {
        let run = profile(&directory().join("sieve-ip.data"), &directory().join("files"), arguments);
        assert_eq!((run.status, run.stdout.len()), (1, 0));
        assert!(run.stderr.contains(problem), "{}", run.stderr);
    }
}

#[test]
fn filters_apply_before_counting() {
    let branches = |arguments: &str| -> u64 {
        let (text, _) = sieve("sieve.data", &format!("-t bolt {arguments}"));
        let text = String::from_utf8(text).unwrap();
        let counts = text.lines().filter(|line| line.starts_with("B ")).map(|line| line.split(' ').nth(3).unwrap());
        counts.map(|count| count.parse::<u64>().unwrap()).sum()
    };
    assert_eq!([branches("--comm sieve"), branches("--head 100")], [5280, 1600]);
    let none = profile(&directory().join("sieve.data"), &directory().join("files"), "-t bolt --comm other");
    assert_eq!((none.status, none.stdout.len()), (1, 0));
    assert!(none.stderr.contains("no samples of thread name 'other'"), "{}", none.stderr);
}

#[test]
fn no_profile_is_written_without_the_recorded_program() {
    let directory = directory();
    let recording = directory.join("sieve.data");
    let empty = tempfile::tempdir().unwrap();
    let missing = profile(&recording, empty.path(), "-t llvm --llvm-format text");
    assert_eq!((missing.status, missing.stdout.len()), (1, 0));
    let id = "dedc941724e37839f435de6941f08f9950cba0e0";
    let expected = format!("/srv/bin/sieve: no such file, build ID {id}; use --symfs DIR with the recorded files\n");
    assert!(missing.stderr.ends_with(&expected), "{}", missing.stderr);
    // Another program at the path.
    fs::create_dir_all(empty.path().join("srv/bin")).unwrap();
    let words = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols/files/opt/words/bin/words");
    fs::copy(words, empty.path().join("srv/bin/sieve")).unwrap();
    let other = profile(&recording, empty.path(), "-t llvm --llvm-format text");
    assert_eq!(other.status, 1);
    assert!(other.stderr.contains("has build ID") && other.stderr.contains(id), "{}", other.stderr);
    let forced = profile(&recording, empty.path(), "-t bolt --symbols force");
    assert!(forced.stderr.contains("although it has build ID"), "{}", forced.stderr);
    let unread = profile(&recording, empty.path(), "-t bolt --symbols no");
    assert_eq!(unread.status, 1, "{}", unread.stderr);
    let unknown = profile(&recording, &directory.join("files"), "-t bolt --binary libz.so");
    assert!(
        unknown.stderr.ends_with("no branches in libz.so; those with most are in /srv/bin/sieve\n"),
        "{}",
        unknown.stderr
    );
    for name in ["sieve", "/srv/bin/sieve", "dedc94"] {
        sieve("sieve.data", &format!("-t bolt --binary {name}"));
    }
    let plain =
        profile(&Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/fixtures/plain.data"), empty.path(), "-t llvm");
    assert_eq!((plain.status, plain.stdout.len()), (1, 0), "{}", plain.stderr);
}

#[test]
fn a_stripped_program_has_no_profile_by_lines() {
    let files = tempfile::tempdir().unwrap();
    let target = files.path().join("srv/bin");
    fs::create_dir_all(&target).unwrap();
    // Without the last bytes of the file, where its section headers are.
    let whole = fs::read(directory().join("files/srv/bin/sieve")).unwrap();
    fs::write(target.join("sieve"), &whole[..whole.len() - 64 * 8]).unwrap();
    let lines = profile(&directory().join("sieve.data"), files.path(), "-t llvm --llvm-format text");
    assert_eq!((lines.status, lines.stdout.len()), (1, 0), "{}", lines.stderr);
    assert!(lines.stderr.contains("-fdebug-info-for-profiling"), "{}", lines.stderr);
    // Addresses need its segments only.
    let profgen = profile(&directory().join("sieve.data"), files.path(), "-t profgen");
    assert_eq!((profgen.status, profgen.stdout), (0, sieve("sieve.data", "-t profgen").0));
}

#[test]
fn profiles_of_all_binaries_are_added_up() {
    let work = tempfile::tempdir().unwrap();
    let (directories, files) = (["a", "b"].map(|name| work.path().join(name)), directory().join("files"));
    for output in &directories {
        let mut command = perfconv();
        command.arg(directory().join("sieve.data")).args(["-t", "bolt", "--all-binaries", "--symfs"]).arg(&files);
        assert_eq!(run(command.arg("-o").arg(output)).status, 0);
    }
    let name = "sieve-dedc941724e37839f435de6941f08f9950cba0e0.preagg";
    let merge = |inputs: &[&Path], output: &str| {
        run(perfconv().arg("merge").args(inputs).arg("-o").arg(work.path().join(output)))
    };
    let [a, b] = directories.each_ref().map(|directory| directory.join(name));
    assert_eq!(merge(&[&a], "one.preagg").status, 0);
    assert!(fs::read(&a).unwrap() == fs::read(work.path().join("one.preagg")).unwrap());
    let two = merge(&[&a, &b], "two.preagg");
    assert!(two.stderr.ends_with("two.preagg: 2 profiles added up ]\n"), "{}", two.stderr);
    let counts = |path: &Path| -> Vec<u64> {
        let text = fs::read_to_string(path).unwrap();
        let last = |line: &str| line.split(' ').skip(3).map(|word| word.parse::<u64>().unwrap()).collect::<Vec<_>>();
        text.lines().flat_map(last).collect()
    };
    let doubled: Vec<_> = counts(&a).into_iter().map(|count| 2 * count).collect();
    assert_eq!(counts(&work.path().join("two.preagg")), doubled);
    let other = work.path().join("sieve-00000000000000000000.preagg");
    fs::copy(&a, &other).unwrap();
    let refused = merge(&[&a, &other], "three.preagg");
    assert_eq!(refused.status, 1);
    assert!(refused.stderr.contains("have different build IDs") && !work.path().join("three.preagg").exists());
}

#[test]
fn profiles_by_callers_need_call_chains_and_probes() {
    for (arguments, problem) in [
        ("-t llvm --context", "srv/bin/sieve has no pseudo probes"),
        ("-t profgen --context", "no samples with call chains and branch stacks; record with"),
    ] {
        let run = profile(&directory().join("sieve.data"), &directory().join("files"), arguments);
        assert_eq!((run.status, run.stdout.len()), (1, 0));
        assert!(run.stderr.contains(problem), "{}", run.stderr);
    }
}

#[test]
fn thousands_of_profiles_are_added_up() {
    const FILES: usize = 3000;
    let work = tempfile::tempdir().unwrap();
    for (extension, arguments) in [("sampleprof", "-t llvm --llvm-format text"), ("preagg", "-t bolt")] {
        let (bytes, _) = sieve("sieve.data", arguments);
        let paths: Vec<_> = (0..FILES).map(|number| work.path().join(format!("{number}.{extension}"))).collect();
        paths.iter().for_each(|path| fs::write(path, &bytes).unwrap());
        let output = work.path().join(format!("sum.{extension}"));
        let merged = run(perfconv().arg("merge").args(&paths).arg("-o").arg(&output));
        assert!(merged.stderr.ends_with("3000 profiles added up ]\n"), "{}", merged.stderr);
        let numbers = |bytes: &[u8]| -> Vec<u64> {
            let text = String::from_utf8_lossy(bytes).into_owned();
            // Counts are behind positions, which stay the same, and names.
            let counts = |line: &str| match line.split_once(": ") {
                Some((_, counts)) => {
                    counts.split([' ', ':']).filter_map(|word| word.parse().ok()).collect::<Vec<u64>>()
                }
                None => line
                    .split([' ', ':'])
                    .skip(if line.starts_with(['B', 'F', 'f']) { 3 } else { 1 })
                    .filter_map(|word| word.parse().ok())
                    .collect(),
            };
            text.lines().flat_map(counts).collect()
        };
        let multiplied: Vec<_> = numbers(&bytes).into_iter().map(|count| count * FILES as u64).collect();
        assert!(multiplied.len() > 20);
        assert_eq!(numbers(&fs::read(&output).unwrap()), multiplied);
    }
}

/// The goldens that must be equal: recording, arguments, golden, whether lines may be in another order.
const GOLDENS: [(&str, &str, &str, bool); 33] = [
    ("interp", "-t llvm --llvm-format text", "interp.llvm.txt", false),
    ("interp-gcc", "-t llvm --llvm-format text", "interp-gcc.llvm.txt", false),
    ("sorter", "-t llvm --llvm-format text", "sorter.llvm.txt", false),
    ("squeeze-nochain", "-t llvm --llvm-format text", "squeeze.llvm.txt", false),
    ("squeeze", "-t llvm --llvm-format text", "squeeze.llvm.txt", false),
    ("squeeze-nochain", "-t llvm --llvm-format text --llvm-correlation lines", "squeeze.dwarf.llvm.txt", false),
    ("mixed", "-t llvm --llvm-format text --binary sorter", "mixed-sorter.llvm.txt", false),
    ("mixed", "-t llvm --llvm-format text --binary interp", "interp.llvm.txt", false),
    ("interp", "-t llvm", "interp.llvm.extbinary", false),
    ("interp-gcc", "-t llvm", "interp-gcc.llvm.extbinary", false),
    ("sorter", "-t llvm", "sorter.llvm.extbinary", false),
    ("interp", "-t llvm --llvm-format md5", "interp.llvm.md5.extbinary", false),
    ("interp-gcc", "-t llvm --llvm-format md5", "interp-gcc.llvm.md5.extbinary", false),
    ("sorter", "-t llvm --llvm-format md5", "sorter.llvm.md5.extbinary", false),
    ("interp", "-t autofdo", "interp.autofdo.txt", false),
    ("interp-gcc", "-t autofdo", "interp-gcc.autofdo.txt", false),
    ("sorter", "-t autofdo", "sorter.autofdo.txt", false),
    ("interp", "-t bolt", "interp.bff.preagg", true),
    ("interp-gcc", "-t bolt", "interp-gcc.bff.preagg", true),
    ("sorter", "-t bolt", "sorter.bff.preagg", true),
    ("interp", "-t bolt --bolt-version 23", "interp.llvm23.preagg", true),
    ("interp-gcc", "-t bolt --bolt-version 23", "interp-gcc.llvm23.preagg", true),
    ("sorter", "-t bolt --bolt-version 23", "sorter.llvm23.preagg", true),
    ("mixed", "-t bolt --binary interp", "interp.bff.preagg", true),
    ("mixed", "-t autofdo --binary interp", "interp.autofdo.txt", false),
    ("interp", "-t profgen", "interp.unsymbolized", false),
    ("interp-gcc", "-t profgen", "interp-gcc.unsymbolized", false),
    ("sorter", "-t profgen", "sorter.unsymbolized", false),
    ("squeeze-nochain", "-t profgen", "squeeze.unsymbolized", false),
    ("squeeze", "-t profgen", "squeeze.unsymbolized", false),
    ("squeeze", "-t profgen --context", "squeeze.context.unsymbolized", false),
    ("squeeze", "-t llvm --context --llvm-format text", "squeeze.context.llvm.txt", false),
    ("squeeze", "-t llvm --context", "squeeze.context.llvm.extbinary", false),
];

#[test]
fn profiles_equal_the_goldens_of_other_tools() {
    let Some(goldens) = Goldens::find() else { return note!("no goldens beside the repository") };
    let files = goldens.files();
    let mut different = Vec::new();
    for (recording, arguments, golden, is_unordered) in GOLDENS {
        let run = profile(&goldens.recording(recording), &files, arguments);
        let expected = goldens.golden(golden);
        let is_equal =
            if is_unordered { sorted_lines(&run.stdout) == sorted_lines(&expected) } else { run.stdout == expected };
        if run.status != 0 || !is_equal {
            different.push(format!("{recording} {arguments}: {golden}: {}", run.stderr));
        }
    }
    assert!(different.is_empty(), "{different:#?}");
}

/// A function for GCC: its total of calls, then its positions (line, discriminator, count), with those of functions inlined into it.
type GccFunctions = BTreeMap<String, (u64, Vec<(u32, u32, u64)>)>;

/// Words of a profile for GCC.
struct GccWords<'a>(&'a [u8]);

impl GccWords<'_> {
    fn word(&mut self) -> u32 {
        let (word, rest) = self.0.split_first_chunk().unwrap();
        self.0 = rest;
        u32::from_le_bytes(*word)
    }

    fn counter(&mut self) -> u64 {
        u64::from(self.word()) | u64::from(self.word()) << 32
    }

    fn function(&mut self, names: &[String], positions: &mut Vec<(u32, u32, u64)>) -> String {
        let name = names[self.word() as usize].clone();
        let (own, calls) = (self.word(), self.word());
        for _ in 0..own {
            let (offset, targets, count) = (self.word(), self.word(), self.counter());
            positions.push((offset >> 16, offset & 0xffff, count));
            (0..targets).for_each(|_| _ = (self.word(), self.counter(), self.counter()));
        }
        for _ in 0..calls {
            self.word();
            self.function(names, positions);
        }
        name
    }
}

fn gcc_functions(profile: &[u8]) -> GccFunctions {
    let mut words = GccWords(profile);
    let header: Vec<u32> = (0..5).map(|_| words.word()).collect();
    assert_eq!(header[..4], [0x6763_6461, 2, 0, 0xaa00_0000]);
    let names: Vec<String> = (0..words.word())
        .map(|_| {
            let len = words.word() as usize;
            let (name, rest) = words.0.split_at(len);
            words.0 = rest;
            String::from_utf8_lossy(&name[..len - 1]).into_owned()
        })
        .collect();
    assert_eq!(words.word(), 0xac00_0000);
    let (_, functions) = (words.word(), words.word());
    let mut function = || {
        let (calls, mut positions) = (words.counter(), Vec::new());
        (words.function(&names, &mut positions), (calls, positions))
    };
    (0..functions).map(|_| function()).collect()
}

/// create_gcov omits functions with few samples, and does not count calls from these.
#[test]
fn positions_for_gcc_equal_those_of_create_gcov() {
    let Some(goldens) = Goldens::find() else { return note!("no goldens beside the repository") };
    let run = profile(&goldens.recording("interp-gcc"), &goldens.files(), "-t gcc");
    let (ours, expected) = (gcc_functions(&run.stdout), gcc_functions(&goldens.golden("interp-gcc.afdo")));
    let mut positions = 0;
    for (name, (calls, expected)) in &expected {
        let (own_calls, own) = &ours[name];
        assert_eq!(own, expected, "{name}");
        assert!(calls <= own_calls, "{name}: {calls}, {own_calls}");
        positions += expected.len();
    }
    assert!(positions >= 58, "{positions}");
}

#[test]
fn sampled_branches_were_taken() {
    let Some(goldens) = Goldens::find() else { return note!("no goldens beside the repository") };
    for program in ["interp", "interp-gcc", "sorter", "squeeze"] {
        let truth = goldens.truth(program);
        let branches = truth.lines().skip_while(|line| !line.starts_with("branches ")).skip(1);
        let pair = |line: &str| line.split(' ').take(2).map(str::to_owned).collect::<Vec<_>>();
        let taken: BTreeSet<Vec<String>> = branches.map(pair).collect();
        let run = profile(&goldens.recording(program), &goldens.files(), &format!("-t bolt --binary {program}"));
        let text = String::from_utf8(run.stdout).unwrap();
        let sampled =
            text.lines().filter_map(|line| line.strip_prefix("B ")).map(|line| pair(&line.replace("X:0", "X")));
        let unknown: Vec<_> = sampled.clone().filter(|pair| !taken.contains(pair)).collect();
        assert!(unknown.is_empty() && sampled.count() > 30, "{program}: {unknown:?}");
    }
}
