//! Text of perf script, compared byte for byte with that of perf 6.1 and, where it is installed, of later versions.

use super::perf_programs::{Perf, installed};
use crate::common::files::{self, Recording};
use crate::common::program::{Run, for_each, perfconv, run, run_other, with_time_limit};
use perf_data::abi::sample::Sample;
use perf_data::abi::sample::branch::{BranchEntry, BranchFlags, BranchStack};
use perf_data::abi::sample::data_src::DataSrc;
use perf_data::abi::sample_type::SampleType;
use perfconv::synth::{Event, RecordingBuilder};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::iter;
use std::path::{Path, PathBuf};

/// Arguments that both programs take, with the one recording out of so many that is compared with them.
const LISTS: [(&[&str], usize); 18] = [
    (&[], 2),
    (&["-F", "comm,pid,tid,cpu,time,event,ip,sym,dso"], 4),
    (&["-F", "comm,tid,event,ip,sym"], 16),
    (&["-F", "+pid,-comm,+period"], 16),
    (&["-F", "time,period,event"], 16),
    (&["-F", "trace:time,event,trace"], 4),
    (&["-F", "+misc,+flags,-period"], 16),
    (&["-F", "ip,sym,symoff,dso"], 16),
    (&["-F", "pid,brstacksym"], 4),
    (&["-F", "+brstackoff"], 4),
    (&["-F", "ip,sym,addr,data_src,weight"], 4),
    (&["-F", "+phys_addr"], 4),
    (&["-F", "+uregs,-ip,-sym,-symoff,-dso"], 4),
    (&["-F", "+iregs"], 4),
    (&["--ns"], 16),
    (&["--show-task-events", "--show-switch-events", "--show-lost-events"], 4),
    (&["--show-mmap-events", "--show-namespace-events"], 4),
    (&["--show-cgroup-events", "--show-bpf-events", "--show-text-poke-events"], 4),
];

/// Kinds of differences, with how many comparisons may have them: of a part of the corpus and of all of it, with perf 6.1 and with
/// later versions. The numbers may only become smaller.
const ALLOWED: [(&str, [[usize; 2]; 2]); 12] = [
    ("perf omits an instruction pointer that is not in the call chain", [[130, 500], [108, 460]]),
    ("perf ignores the fields in a pipe", [[13, 85]; 2]),
    ("perf does not know the recorded name of an event", [[18, 112], [16, 90]]),
    ("perf swaps no fields of this record of the other byte order", [[12, 46]; 2]),
    ("perf reads callers from the branch stack", [[0, 11]; 2]),
    ("perf prints branches of AUX area traces", [[0, 6]; 2]),
    ("perf prints a kernel module by name or by path", [[0, 21], [0, 23]]),
    ("perf names registers of other architectures wrongly", [[0, 2]; 2]),
    ("perf forgets a thread when it exits", [[0, 0], [115, 400]]),
    ("perf does not print the fields of a tracepoint", [[0, 0], [0, 9]]),
    ("perf takes files that a guest maps for those of the host", [[1, 10]; 2]),
    ("other", [[5, 40], [5, 30]]),
];

/// Numbers of compared texts, and of lines in equal ones, that must be reached.
struct Enough {
    texts: usize,
    lines: usize,
}

const ENOUGH_OF_CORPUS: Enough = Enough { texts: 1200, lines: 1_700_000 };
const ENOUGH_OF_FIXTURES: Enough = Enough { texts: 20, lines: 10_000 };

/// Result of a comparison.
enum Compared {
    /// Equal, with so many samples.
    Equal(usize),
    /// Different.
    Different(&'static str, String),
    /// Not compared.
    Skipped(&'static str),
}

#[test]
fn text_equals_that_of_perf() {
    for perf in installed("perf script text") {
        compare_all(&perf);
    }
}

fn compare_all(perf: &Perf) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let empty = directory.path().join("empty");
    std::fs::create_dir(&empty)
        .and_then(|()| std::fs::write(empty.join("kallsyms"), ""))
        .expect("a writable directory");
    let recordings = files::recordings();
    let usable: Vec<(PathBuf, &Recording)> = for_each(&recordings, |recording| {
        let number = recording.name.replace('/', "_");
        readable_by(perf, &recording.path, &directory.path().join(number))
    })
    .into_iter()
    .zip(&recordings)
    .collect();
    let mut out = io::stderr().lock();
    let (mut files, mut samples) = (0, 0);
    let (mut kinds, mut skipped) = (BTreeMap::<&str, Vec<String>>::new(), BTreeMap::<&str, usize>::new());
    for (args, one_of) in LISTS {
        let one_of = if files::uses_all() { 1 } else { one_of };
        let chosen: Vec<_> = usable.iter().step_by(one_of).collect();
        let results = for_each(&chosen, |(path, _)| compare(perf, path, args, &empty));
        let (mut equal, mut of_list, mut different) = (0, 0, 0);
        for ((_, recording), result) in chosen.iter().zip(results) {
            match result {
                Compared::Equal(count) => (equal, of_list) = (equal + 1, of_list + count),
                Compared::Different(kind, text) => {
                    different += 1;
                    kinds.entry(kind).or_default().push(format!("{} {args:?}: {text}", recording.name));
                }
                Compared::Skipped(reason) => *skipped.entry(reason).or_default() += 1,
            }
        }
        (files, samples) = (files + equal + different, samples + of_list);
        writeln!(
            out,
            "perf {} script {args:?}: {equal} files with {of_list} lines equal, {different} differ",
            perf.style
        )
        .unwrap();
    }
    writeln!(out, "perf {} script text: {files} texts compared, {samples} lines in equal ones", perf.style).unwrap();
    kinds.iter().for_each(|(kind, texts)| writeln!(out, "{:6} differ: {kind}", texts.len()).unwrap());
    skipped.iter().for_each(|(reason, count)| writeln!(out, "{count:6} skipped: {reason}").unwrap());
    for (kind, texts) in &kinds {
        let allowed = ALLOWED
            .iter()
            .find(|(known, _)| known == kind)
            .map_or(0, |(_, counts)| counts[usize::from(perf.style != "6.1")][usize::from(files::uses_all())]);
        let shown = texts.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
        assert!(texts.len() <= allowed, "{}, {allowed} allowed: {kind}:\n{shown}", texts.len());
    }
    let enough = if files::has_corpus("perf script text") { ENOUGH_OF_CORPUS } else { ENOUGH_OF_FIXTURES };
    assert!(files >= enough.texts, "compared only {files} texts, expected {}", enough.texts);
    assert!(samples >= enough.lines, "compared only {samples} lines, expected {}", enough.lines);
}

/// In pipes, perf ignores the fields.
#[test]
fn relative_times_and_times_of_day_equal_those_of_perf() {
    const TIMES: [&[&str]; 3] =
        [&["-F", "tid,tod,time"], &["-F", "tid,time", "--reltime"], &["-F", "tid,time", "--deltatime"]];
    let directory = tempfile::tempdir().expect("a temporary directory");
    let empty = directory.path();
    std::fs::write(empty.join("kallsyms"), "").expect("a writable directory");
    let recordings = files::recordings();
    let files: Vec<_> = recordings.iter().filter(|recording| !is_pipe(&recording.path)).step_by(2).collect();
    let has_corpus = files::has_corpus("times in perf script text");
    // No fixture has clock data.
    let times = if has_corpus { &TIMES[..] } else { &TIMES[1..] };
    for perf in installed("times in perf script text") {
        for &args in times {
            let (mut equal, mut different) = (0, Vec::new());
            for (recording, result) in
                files.iter().zip(for_each(&files, |file| compare(&perf, &file.path, args, empty)))
            {
                match result {
                    Compared::Equal(_) => equal += 1,
                    Compared::Different(_, text) => different.push(format!("{}: {text}", recording.name)),
                    Compared::Skipped(_) => {}
                }
            }
            note!("perf {} script {args:?}: {equal} files equal", perf.style);
            assert!(different.is_empty(), "{args:?}: {}:\n{}", different.len(), different.join("\n"));
            // Few recordings have clock data, which the time of day needs.
            let enough = match (has_corpus, args == TIMES[0]) {
                (true, true) => 7,
                (true, false) => 80,
                (false, _) => 3,
            };
            assert!(equal >= enough, "{args:?}: only {equal} files are equal, expected {enough}");
        }
    }
}

/// The recording, or a copy for this perf if it needs one.
fn readable_by(perf: &Perf, path: &Path, copy: &Path) -> PathBuf {
    let mut command = with_time_limit(&perf.program);
    command.args(["script", "--force", "-F", "event", "-i"]).arg(path).env("LC_ALL", "C").env("HOME", "/nonexistent");
    if run_other(&mut command).status != 0 {
        let mut rewrite = perfconv();
        rewrite.arg("rewrite").arg(path).args(["--perf-version", perf.style, "-q", "-o"]).arg(copy);
        let rewritten = run(&mut rewrite);
        if rewritten.status == 0 {
            return copy.to_owned();
        }
    }
    path.to_owned()
}

/// What perf prints without symbols.
fn text_of(perf: &Perf, path: &Path, args: &[&str], empty: &Path) -> Run {
    let mut command = with_time_limit(&perf.program);
    command.args(["script", "--force", "--no-inline", "--no-itrace", "--symfs"]).arg(empty);
    command.arg("--kallsyms").arg(empty.join("kallsyms")).arg("-i").arg(path).args(args);
    run_other(command.env("LC_ALL", "C").env("HOME", "/nonexistent"))
}

/// What perfconv prints without symbols, in the style of this perf.
fn our_text(perf: &Perf, path: &Path, args: &[&str]) -> Run {
    let mut command = perfconv();
    command.arg(path).args(["-t", "perf-script", "-q", "-o", "-", "--symbols", "no", "--no-unwind"]).args(args);
    run(command.args(["--perf-style", perf.style]).env("HOME", "/nonexistent"))
}

fn compare(perf: &Perf, path: &Path, args: &[&str], empty: &Path) -> Compared {
    let theirs = text_of(perf, path, args, empty);
    if theirs.status != 0 {
        return Compared::Skipped(match &*theirs.stderr {
            text if text.contains("attribute set. Cannot print") => "an event lacks the field",
            text if text.contains("Display of offsets requested") => "an event lacks the field",
            text if text.contains("failed to process type: 64") => "an event lacks the field",
            _ => "perf cannot read it",
        });
    }
    let ours = our_text(perf, path, args);
    if theirs.stdout.starts_with(b"CPU   THREAD") {
        return Compared::Skipped("counters of perf stat");
    }
    if theirs.stdout.iter().all(|&byte| byte == b'\n') {
        return Compared::Skipped("perf prints nothing");
    }
    if ours.status != 0 {
        return Compared::Different("other", ours.stderr);
    }
    if ours.stdout == theirs.stdout {
        return Compared::Equal(ours.stdout.iter().filter(|&&byte| byte == b'\n').count());
    }
    let (ours, perfs) = (String::from_utf8_lossy(&ours.stdout), String::from_utf8_lossy(&theirs.stdout));
    Compared::Different(kind(perf, path, args, &ours, &perfs), first_difference(&ours, &perfs))
}

/// Pseudo-random numbers with few bits set, always the same.
fn numbers() -> impl Iterator<Item = u64> {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    iter::repeat_with(move || next() & next() & next())
}

/// Compares the text of samples with each of these values of a field. Any of them may occur, but recordings have few.
fn compare_values<T>(field: &str, with: SampleType, values: impl Iterator<Item = T>, set: impl Fn(T, &mut Sample)) {
    let directory = tempfile::tempdir().unwrap();
    let (empty, path) = (directory.path(), directory.path().join("perf.data"));
    std::fs::write(empty.join("kallsyms"), "").unwrap();
    let mut recording = RecordingBuilder::new();
    let event = recording.event(Event::named("cycles:u").unwrap().period(1000).with(with));
    for (time, value) in values.enumerate() {
        let (task, time) = (Some((7, 7)), Some(time as u64));
        let mut sample = Sample { ip: Some(0x1000), task, time, ..Sample::default() };
        set(value, &mut sample);
        recording.sample(event, sample);
    }
    std::fs::write(&path, recording.to_bytes().unwrap()).unwrap();
    let fields = format!("time,{field}");
    for perf in installed(&format!("{field} in perf script text")) {
        let args = ["-F", fields.as_str()];
        let [ours, perfs] = [our_text(&perf, &path, &args), text_of(&perf, &path, &args, empty)]
            .map(|run| String::from_utf8_lossy(&run.stdout).into_owned());
        assert!(ours == perfs, "perf {}: {}", perf.style, first_difference(&ours, &perfs));
        note!("perf {}: {} values of {field} are equal", perf.style, perfs.lines().count());
        assert!(perfs.lines().count() > 2000);
    }
}

#[test]
fn data_sources_equal_those_of_perf() {
    const BITS: u32 = 46;
    let single = (0..BITS).map(|bit| 1 << bit);
    let levels = (0..16).flat_map(|level| (0..8).map(move |hops| level << 33 | hops << 43 | 2));
    let random = numbers().map(|number| number & ((1 << BITS) - 1)).take(2000);
    let values = iter::once(0).chain(single).chain(levels).chain(random).map(DataSrc);
    compare_values("data_src", SampleType::DATA_SRC, values, |value, sample| sample.data_src = Some(value));
}

#[test]
fn branches_equal_those_of_perf() {
    const BITS: u32 = 33;
    let types = (0..16).flat_map(|kind| (0..8).map(move |new| kind << 20 | new << 26));
    let random = numbers().map(|number| number & ((1 << BITS) - 1)).filter(|flags| flags >> 29 & 1 == 0).take(2000);
    let values = types.chain(random).map(BranchFlags);
    compare_values("brstack", SampleType::BRANCH_STACK, values, |flags, sample| {
        let entries = vec![BranchEntry { from: 0x1000, to: 0xffff_8000_0000_0000, flags }];
        sample.branch_stack = Some(BranchStack { entries, ..BranchStack::default() });
    });
}

fn first_difference(ours: &str, perfs: &str) -> String {
    let both = ours.lines().zip(perfs.lines()).enumerate();
    match both.filter(|(_, (ours, perfs))| ours != perfs).map(|(line, both)| (line + 1, both)).next() {
        Some((line, (ours, perfs))) => {
            let (ours, perfs): (String, String) = (ours.chars().take(300).collect(), perfs.chars().take(300).collect());
            format!("line {line}:\n  perf {perfs:?}\n  ours {ours:?}")
        }
        None => format!("{} lines, perf has {}", ours.lines().count(), perfs.lines().count()),
    }
}

/// The kind of a difference.
fn kind(perf: &Perf, path: &Path, args: &[&str], ours: &str, perfs: &str) -> &'static str {
    if without_single_frames(ours, perfs) {
        return ALLOWED[0].0;
    }
    if perf.style != "6.1"
        && let Some((ours, perfs)) = without_exited_threads(ours, perfs)
        && (ours == perfs || without_single_frames(&ours, &perfs))
    {
        return ALLOWED[8].0;
    }
    if is_pipe(path) && args.first() == Some(&"-F") {
        return ALLOWED[1].0;
    }
    let (Some(ours), Some(perfs)) = different_lines(ours, perfs) else { return "other" };
    let has_modifiers = |line: &str| [":HG", ":u:", ":u "].iter().any(|suffix| line.contains(suffix));
    if has_modifiers(perfs) && !has_modifiers(ours) {
        return ALLOWED[2].0;
    }
    if is_big_endian(path) && ours.contains("PERF_RECORD") {
        return ALLOWED[3].0;
    }
    if path.to_string_lossy().contains("lbr") {
        return ALLOWED[4].0;
    }
    if perfs.contains(" => ") {
        return ALLOWED[5].0;
    }
    if ours.contains(".ko)") {
        return ALLOWED[6].0;
    }
    if perfs.contains("ABI:") && !is_of_this_architecture(perfs) {
        return ALLOWED[7].0;
    }
    if perf.style != "6.1" && perfs.ends_with("([unknown])") && !ours.ends_with("([unknown])") {
        return ALLOWED[8].0;
    }
    if perfs.ends_with("[UNKNOWN EVENT]") {
        return ALLOWED[9].0;
    }
    if path.to_string_lossy().ends_with("inj-m2b.data") && ours.ends_with("([unknown])") {
        return ALLOWED[10].0;
    }
    "other"
}

fn is_pipe(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|bytes| bytes.get(8..16).is_some_and(|size| size.contains(&16)))
}

/// Whether the registers are those of x86-64, for which the oracle is built.
fn is_of_this_architecture(registers: &str) -> bool {
    registers.contains(" IP:") && !registers.contains("unknown:")
}

fn different_lines<'a>(ours: &'a str, perfs: &'a str) -> (Option<&'a str>, Option<&'a str>) {
    ours.lines().zip(perfs.lines()).find(|(ours, perfs)| ours != perfs).unzip()
}

fn is_big_endian(path: &Path) -> bool {
    let file = if path.is_dir() { path.join("data") } else { path.to_owned() };
    std::fs::read(file).is_ok_and(|bytes| bytes.starts_with(b"2ELIFREP"))
}

/// Both texts without the samples that perf prints with a thread ID instead of a name; `None` if there are none.
fn without_exited_threads(ours: &str, perfs: &str) -> Option<(String, String)> {
    let (ours, perfs) = (samples(ours), samples(perfs));
    let is_known = |sample: &str| !sample.trim_start().starts_with(':');
    let comparable = || ours.iter().zip(&perfs).filter(|(_, perfs)| is_known(perfs));
    let is_any = ours.len() == perfs.len() && comparable().count() < ours.len();
    is_any.then(|| (comparable().map(|(ours, _)| *ours).collect(), comparable().map(|(_, perfs)| *perfs).collect()))
}

/// The lines of each sample.
fn samples(text: &str) -> Vec<&str> {
    let starts = text.match_indices('\n').map(|(at, _)| at + 1).filter(|&at| !text[at..].starts_with(['\t', '\n']));
    let starts: Vec<_> = iter::once(0).chain(starts).collect();
    let ends = starts.iter().copied().skip(1).chain([text.len()]);
    starts.iter().zip(ends).map(|(&start, end)| &text[start..end]).collect()
}

/// Whether the texts are equal but for first frames that perf omits.
fn without_single_frames(ours: &str, perfs: &str) -> bool {
    let mut ours = ours.lines().peekable();
    let mut is_first = false;
    for line in perfs.lines() {
        while ours.peek().is_some_and(|own| *own != line) {
            if !is_first || !ours.next().is_some_and(|own| own.starts_with('\t')) {
                return false;
            }
            is_first = false;
        }
        ours.next();
        is_first = !line.starts_with('\t');
    }
    ours.next().is_none()
}
