//! Text of perf script, compared byte for byte with that of perf 6.1.

use super::files::{self, Recording};
use super::program::{for_each, note_missing_oracle, perfconv, run, run_other, with_time_limit};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

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

/// Kinds of differences, with how many comparisons may have them: of a part of the corpus, and of all of it. The numbers may only
/// become smaller.
const ALLOWED: [(&str, [usize; 2]); 10] = [
    ("perf omits an instruction pointer that is not in the call chain", [126, 480]),
    ("perf ignores the fields in a pipe", [13, 85]),
    ("perf does not know the recorded name of an event", [16, 105]),
    ("perf swaps no fields of this record of the other byte order", [15, 54]),
    ("perf names a thread after its parent", [23, 75]),
    ("perf reads callers from the branch stack", [0, 11]),
    ("perf prints branches of AUX area traces", [0, 6]),
    ("perf prints a kernel module by name or by path", [0, 19]),
    ("perf names registers of other architectures wrongly", [0, 2]),
    ("other", [7, 35]),
];

/// Numbers of compared texts and lines that must be reached, with the corpus and with the fixtures alone.
const ENOUGH: [(usize, usize); 2] = [(1200, 20), (1_700_000, 10_000)];

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
    if run(Command::new("sh").args(["-c", "command -v perf"])).status != 0 {
        return note_missing_oracle("perf");
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let empty = directory.path().join("empty");
    std::fs::create_dir(&empty)
        .and_then(|()| std::fs::write(empty.join("kallsyms"), ""))
        .expect("a writable directory");
    let recordings = files::recordings();
    let usable: Vec<(PathBuf, &Recording)> = for_each(&recordings, |recording| {
        let number = recording.name.replace('/', "_");
        readable_by_perf(&recording.path, &directory.path().join(number))
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
        let results = for_each(&chosen, |(path, _)| compare(path, args, &empty));
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
        writeln!(out, "perf script {args:?}: {equal} files with {of_list} lines equal, {different} differ").unwrap();
    }
    writeln!(out, "perf script text: {files} texts compared, {samples} lines in equal ones").unwrap();
    kinds.iter().for_each(|(kind, texts)| writeln!(out, "{:6} differ: {kind}", texts.len()).unwrap());
    skipped.iter().for_each(|(reason, count)| writeln!(out, "{count:6} skipped: {reason}").unwrap());
    for (kind, texts) in &kinds {
        let allowed = ALLOWED
            .iter()
            .find(|(known, _)| known == kind)
            .map_or(0, |(_, counts)| counts[usize::from(files::uses_all())]);
        let shown = texts.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
        assert!(texts.len() <= allowed, "{}, {allowed} allowed: {kind}:\n{shown}", texts.len());
    }
    let [all, fixtures] = ENOUGH;
    let has_corpus = files::has_corpus("perf script text");
    let needed = if has_corpus { all.0 } else { fixtures.0 };
    assert!(files >= needed, "compared only {files} texts, expected {needed}");
    let needed = if has_corpus { all.1 } else { fixtures.1 };
    assert!(samples >= needed, "compared only {samples} lines, expected {needed}");
}

/// The recording, or a copy for perf 6.1 if it needs one.
fn readable_by_perf(path: &Path, copy: &Path) -> PathBuf {
    let mut perf = with_time_limit("perf");
    perf.args(["script", "--force", "-F", "event", "-i"]).arg(path).env("LC_ALL", "C").env("HOME", "/nonexistent");
    if run_other(&mut perf).status != 0 {
        let rewritten = run(perfconv().arg("rewrite").arg(path).args(["--perf-version", "6.1", "-q", "-o"]).arg(copy));
        if rewritten.status == 0 {
            return copy.to_owned();
        }
    }
    path.to_owned()
}

fn compare(path: &Path, args: &[&str], empty: &Path) -> Compared {
    let mut perf = with_time_limit("perf");
    perf.args(["script", "--force", "--no-inline", "--no-itrace", "--symfs"]).arg(empty);
    perf.arg("--kallsyms").arg(empty.join("kallsyms")).arg("-i").arg(path).args(args);
    let perf = run_other(perf.env("LC_ALL", "C").env("HOME", "/nonexistent"));
    if perf.status != 0 {
        return Compared::Skipped(match &*perf.stderr {
            text if text.contains("attribute set. Cannot print") => "an event lacks the field",
            text if text.contains("Display of offsets requested") => "an event lacks the field",
            text if text.contains("failed to process type: 64") => "an event lacks the field",
            _ => "perf cannot read it",
        });
    }
    let mut ours = perfconv();
    ours.arg(path).args(["-t", "perf-script", "-q", "-o", "-", "--symbols", "no", "--no-unwind"]).args(args);
    let ours = run(ours.env("HOME", "/nonexistent"));
    if perf.stdout.starts_with(b"CPU   THREAD") {
        return Compared::Skipped("counters of perf stat");
    }
    if perf.stdout.iter().all(|&byte| byte == b'\n') {
        return Compared::Skipped("perf prints nothing");
    }
    if ours.status != 0 {
        return Compared::Different("other", ours.stderr);
    }
    if ours.stdout == perf.stdout {
        return Compared::Equal(ours.stdout.iter().filter(|&&byte| byte == b'\n').count());
    }
    let (ours, perfs) = (String::from_utf8_lossy(&ours.stdout), String::from_utf8_lossy(&perf.stdout));
    Compared::Different(kind(path, args, &ours, &perfs), first_difference(&ours, &perfs))
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
fn kind(path: &Path, args: &[&str], ours: &str, perfs: &str) -> &'static str {
    if without_single_frames(ours, perfs) {
        return ALLOWED[0].0;
    }
    let is_pipe = std::fs::read(path).is_ok_and(|bytes| bytes.get(8..16).is_some_and(|size| size.contains(&16)));
    if is_pipe && args.first() == Some(&"-F") {
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
    if perfs.contains("swapper") && ours.contains("PERF_RECORD") {
        return ALLOWED[4].0;
    }
    if path.to_string_lossy().contains("lbr") {
        return ALLOWED[5].0;
    }
    if perfs.contains(" => ") {
        return ALLOWED[6].0;
    }
    if ours.contains(".ko)") {
        return ALLOWED[7].0;
    }
    if perfs.contains("ABI:") && !is_of_this_architecture(perfs) {
        return ALLOWED[8].0;
    }
    "other"
}

/// Whether the registers are those of x86-64, for which the oracle is built.
fn is_of_this_architecture(registers: &str) -> bool {
    registers.contains(" IP:") && !registers.contains("unknown:")
}

fn different_lines<'a>(ours: &'a str, perfs: &'a str) -> (Option<&'a str>, Option<&'a str>) {
    ours.lines().zip(perfs.lines()).find(|(ours, perfs)| ours != perfs).unzip()
}

fn is_big_endian(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"2ELIFREP"))
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
