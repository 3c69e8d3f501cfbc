//! Imports of profiles as recordings: round trips, and the output of `perf` for the recordings.

use super::files;
use super::program::{self, column, for_each, perfconv, run, run_other, with_time_limit};
use object::elf::{FileHeader64, SHT_SYMTAB};
use object::read::elf::{FileHeader, Sym};
use perfconv::formats::pprof::proto::{Location, Mapping, Profile};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// All labels for which samples have a field.
const LABELS: &str = "pid,tid,comm,thread_comm,cpu,timestamp_ns";

/// Recordings whose profiles do not round-trip. Of the first two, samples in files not mapped at their time, or of threads
/// without a name at their time; of the third, kernel addresses outside of any mapping.
const EXCEPTIONS: [(&str, &str); 6] = [
    ("perf_with_trace_offcpu.data", "mappings of a process depend on its parent"),
    ("perf.data.systemwide.1-3.8", "a thread has its name before its COMM record"),
    ("perf.data.lost_samples-4.4", "kernel addresses are in no mapping"),
    ("overwrite-ev.data.script.zst", "not printed in time order"),
    ("shim-nosampleid.data.script.zst", "not printed in time order"),
    ("attrs-mixed-time.data.script.zst", "some samples have no time"),
];

fn exception(name: &str) -> Option<&'static str> {
    EXCEPTIONS.iter().find(|(end, _)| name.ends_with(end)).map(|(_, why)| *why)
}

/// One in `SHARE` recordings is tested.
const SHARE: usize = 4;

/// The path of a profile that another program wrote.
fn profile_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/profiles").join(name)
}

/// Prints a line to standard error, not with the print macros, whose output the test harness captures.
fn print_note(line: String) {
    let mut out = io::stderr();
    writeln!(out, "{line}").unwrap();
}

fn text(profile: &Profile, index: i64) -> &str {
    &profile.string_table[index as usize]
}

/// A frame: address, mapping, its build ID, functions.
type Frame = (u64, String, String, Vec<String>);

/// Values by sample type, by stack and labels.
type Stacks = BTreeMap<(Vec<Frame>, Vec<String>), BTreeMap<String, i64>>;

/// The samples of a profile, regardless of order and numbering.
fn stacks(profile: &Profile) -> Stacks {
    let mappings: HashMap<_, _> = profile.mapping.iter().map(|mapping| (mapping.id, mapping)).collect();
    let functions: HashMap<_, _> = profile.function.iter().map(|function| (function.id, function.name)).collect();
    let frames = profile.location.iter().map(|location| {
        let mapping = mappings.get(&location.mapping_id);
        let of = |index: fn(&perfconv::formats::pprof::proto::Mapping) -> i64| {
            mapping.map_or(String::new(), |mapping| text(profile, index(mapping)).to_owned())
        };
        let names = location.line.iter().map(|line| text(profile, functions[&line.function_id]).to_owned());
        (location.id, (location.address, of(|m| m.filename), of(|m| m.build_id), names.collect()))
    });
    let frames: HashMap<u64, Frame> = frames.collect();
    let mut stacks = Stacks::new();
    for sample in &profile.sample {
        let labels = sample.label.iter().map(|label| {
            let (key, unit) = (text(profile, label.key), text(profile, label.num_unit));
            format!("{key}={}{} {unit}", text(profile, label.str), label.num)
        });
        let stack = sample.location_id.iter().map(|id| frames[id].clone()).collect();
        let values = stacks.entry((stack, labels.collect())).or_default();
        for (kind, value) in profile.sample_type.iter().zip(&sample.value) {
            let (name, unit) = column(profile, kind);
            *values.entry(format!("{name}/{unit}")).or_default() += value;
        }
    }
    stacks
}

/// The properties of a profile as a whole.
fn head(profile: &Profile) -> Vec<String> {
    let types = profile.sample_type.iter().map(|kind| format!("{:?}", column(profile, kind)));
    let period = profile.period_type.as_ref().map(|kind| column(profile, kind));
    let times = format!("{} for {}", profile.time_nanos, profile.duration_nanos);
    let comments = profile.comment.iter().map(|&comment| text(profile, comment).to_owned());
    types.chain([format!("{period:?} {}", profile.period), times]).chain(comments).collect()
}

/// Describes the first differences.
fn differences(one: &Stacks, other: &Stacks) -> Option<String> {
    let only = |a: &Stacks, b: &Stacks| {
        let first = a.iter().find(|(stack, values)| b.get(*stack) != Some(*values));
        first.map_or("nothing".to_owned(), |found| format!("{found:?}").chars().take(1500).collect::<String>())
    };
    (one != other)
        .then(|| format!("{} and {} stacks\n  {}\n  {}", one.len(), other.len(), only(one, other), only(other, one)))
}

#[test]
fn profiles_survive_a_round_trip_through_a_recording() {
    let mut recordings = files::share(SHARE);
    recordings.retain(|recording| exception(&recording.name).is_none());
    let results = for_each(&recordings, |recording| {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = |name: &str| dir.path().join(name);
        let (mut stacks_of_all, mut profiles) = (0, 0);
        for labels in ["comm", LABELS, "tid,cgroup"] {
            // A recording cannot contain inlined functions, which symbols of this machine's files would add.
            let args = ["-q", "-f", "--symbols", "no", "--labels", labels, "-o"];
            let convert = |input: &Path, output: &str| run(perfconv().arg(input).args(args).arg(path(output)));
            // Other tests cover which recordings convert, and with which labels.
            if convert(&recording.path, "original.pb.gz").status != 0 {
                continue;
            }
            let original = program::profile(&path("original.pb.gz"));
            // Skip if a label is missing in the profile: it cannot survive the round trip.
            let has_label = |key: &str| {
                original.sample.iter().any(|sample| sample.label.iter().any(|l| text(&original, l.key) == key))
            };
            if original.sample.is_empty() || labels != "comm" && !labels.split(',').all(has_label) {
                continue;
            }
            let imported =
                run(perfconv().arg(path("original.pb.gz")).args(["-q", "-f", "-o"]).arg(path("imported.data")));
            if imported.status != 0 {
                return Err(imported.stderr);
            }
            let exported = convert(&path("imported.data"), "exported.pb.gz");
            if exported.status != 0 {
                return Err(exported.stderr);
            }
            let exported = program::profile(&path("exported.pb.gz"));
            let (one, mut other) = (stacks(&original), stacks(&exported));
            // Without processes, the import names them after the program.
            if one.keys().all(|(_, labels)| labels.is_empty()) {
                other = other.into_iter().map(|((stack, _), values)| ((stack, Vec::new()), values)).collect();
            }
            if let Some(differences) = differences(&one, &other) {
                return Err(format!("{labels}: {differences}"));
            }
            if head(&original) != head(&exported) {
                return Err(format!("{labels}:\n  {:?}\n  {:?}", head(&original), head(&exported)));
            }
            stacks_of_all += one.len();
            profiles += 1;
        }
        Ok((profiles, stacks_of_all))
    });
    let mut failures = Vec::new();
    let (mut profiles, mut stacks) = (0, 0);
    for (recording, result) in recordings.iter().zip(results) {
        match result {
            Ok((profile_count, stack_count)) => (profiles, stacks) = (profiles + profile_count, stacks + stack_count),
            Err(why) => failures.push(format!("{}: {why}", recording.name)),
        }
    }
    print_note(format!(
        "imports: {profiles} profiles of {} recordings survive a round trip, {stacks} stacks",
        recordings.len()
    ));
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), recordings.len(), failures.join("\n"));
    let enough = if files::has_corpus("imports") { (150, 20_000) } else { (8, 100) };
    assert!(profiles >= enough.0 && stacks >= enough.1, "compared too few profiles");
}

/// The share of each function itself, in percent.
type Shares = BTreeMap<String, f64>;

/// Computes the share of each function as the leaf, from a column of a profile.
fn shares(profile: &Profile, column: usize) -> Shares {
    let functions: HashMap<_, _> = profile.function.iter().map(|function| (function.id, function.name)).collect();
    let leaves = profile
        .location
        .iter()
        .filter_map(|location| Some((location.id, text(profile, functions[&location.line.first()?.function_id]))));
    let leaves: HashMap<_, _> = leaves.collect();
    let mut sums = BTreeMap::<String, i64>::new();
    for sample in &profile.sample {
        *sums.entry(leaves[&sample.location_id[0]].to_owned()).or_default() += sample.value[column];
    }
    let all: i64 = sums.values().sum();
    sums.into_iter().map(|(name, sum)| (name, 100.0 * sum as f64 / all as f64)).collect()
}

/// The shares that perf report prints for an event; `None` if perf is not installed.
fn perf_report(recording: &Path, images: &Path, event: usize, home: &Path) -> Option<Shares> {
    let mut perf = with_time_limit("perf");
    perf.arg("--buildid-dir").arg(images).args(["report", "--stdio", "--force", "--no-children", "-g", "none"]);
    perf.args(["-s", "sym", "-F", "overhead,sym", "-t", "\t", "-i"]).arg(recording);
    let run = run_other(perf.env("LC_ALL", "C").env("HOME", home).env_remove("DEBUGINFOD_URLS"));
    if run.status == 127 {
        return None;
    }
    assert_eq!(run.status, 0, "{}: {}", recording.display(), run.stderr);
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    // There is one heading per event.
    let of_event = text.split("# Samples: ").nth(event + 1).unwrap_or_default();
    let lines = of_event.lines().filter_map(|line| line.split_once('\t'));
    let mut shares = Shares::new();
    for (share, symbol) in lines {
        let Ok(share) = share.trim().trim_end_matches('%').parse::<f64>() else { continue };
        let (_, name) = symbol.split_once("] ").expect("the name should follow the mode");
        *shares.entry(name.trim().to_owned()).or_default() += share;
    }
    Some(shares)
}

/// Describes shares that differ by more than perf's rounding.
fn compare(expected: &Shares, found: &Shares) -> Vec<String> {
    let mut differing = Vec::new();
    for name in expected.keys().chain(found.keys()) {
        let (one, other) = (expected.get(name).copied().unwrap_or(0.0), found.get(name).copied().unwrap_or(0.0));
        if (one - other).abs() > 0.011 {
            differing.push(format!("{name}: {one:.3} and {other:.3}"));
        }
    }
    differing
}

#[test]
fn perf_report_prints_functions_of_imported_profiles() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let folded = "main;work;leaf 30\nmain;work 10\nmain;sys;do_syscall_64_[k];ksys read_[k] 15\nmain;C::f(int, char const*) 45\n";
    fs::write(dir.path().join("in.folded"), folded).unwrap();
    let of_folded = [("leaf", 30.0), ("work", 10.0), ("ksys_read", 15.0), ("C::f(int, char const*)", 45.0)];
    let of_folded: Shares = of_folded.into_iter().map(|(name, share)| (name.to_owned(), share)).collect();
    let go_profile = |name: &str| profile_path(name);
    let mut inputs = vec![(dir.path().join("in.folded"), 0, of_folded)];
    // Profiles of Go: CPU, memory and blocking, with the compared column and the index of its event.
    for (name, column, event) in [("cpu.pprof", 1, 0), ("mem.pprof", 1, 1), ("block.pprof", 1, 1)] {
        inputs.push((go_profile(name), event, shares(&program::profile(&go_profile(name)), column)));
    }
    let pprof = super::pprof::find_pprof();
    let (mut functions, mut exported_stacks) = (0, 0);
    for (input, event, expected) in inputs {
        let output = dir.path().join("out.data");
        let run = run(perfconv().arg(&input).args(["-f", "-o"]).arg(&output));
        assert_eq!(run.status, 0, "{}: {}", input.display(), run.stderr);
        let images = dir.path().join("out.data.images");
        let expected: Shares = expected.into_iter().filter(|(_, share)| *share > 0.0).collect();
        if let Some(found) = perf_report(&output, &images, event, dir.path()) {
            let differing = compare(&expected, &found);
            assert!(differing.is_empty(), "{}:\n{}\n{found:?}", input.display(), differing.join("\n"));
            functions += found.len();
        }
        let back = dir.path().join("back.pb.gz");
        let run = program::run(perfconv().arg(&output).args(["-q", "-f", "-o"]).arg(&back));
        assert_eq!(run.status, 0, "{}: {}", output.display(), run.stderr);
        exported_stacks += assert_named_by_images(&input, &program::profile(&back), &images);
        if let Ok(pprof) = &pprof
            && input.ends_with("cpu.pprof")
        {
            let top = super::pprof::report_by(pprof, "-top", &input).unwrap();
            let first =
                top.lines().skip_while(|line| !line.contains("flat%")).nth(1).expect("there should be a function");
            let words: Vec<_> = first.split_whitespace().collect();
            let share: f64 = words[1].trim_end_matches('%').parse().unwrap();
            assert!((expected[words[5]] - share).abs() < 0.006, "{first}");
        }
    }
    print_note(format!(
        "imports: perf report prints {functions} functions with their shares, {exported_stacks} stacks are exported with names"
    ));
    assert!(exported_stacks > 60, "too few stacks exported with names");
    assert!(functions > 40 || run_other(with_time_limit("perf").arg("--version")).status == 127, "too few functions");
}

/// Asserts that an exported profile has the names, from symbols of the images, and values of the imported one. Returns the
/// number of stacks.
fn assert_named_by_images(input: &Path, back: &Profile, images: &Path) -> usize {
    if input.extension().is_none_or(|extension| extension != "pprof") {
        return 0;
    }
    let original = program::profile(input);
    let functions: HashMap<_, _> = original.function.iter().map(|function| (function.id, function.name)).collect();
    let names_of: HashMap<_, Vec<_>> = original
        .location
        .iter()
        .map(|location| {
            (location.id, location.line.iter().map(|line| text(&original, functions[&line.function_id])).collect())
        })
        .collect();
    let mut expected = BTreeMap::<Vec<String>, Vec<i64>>::new();
    for sample in &original.sample {
        let stack = sample.location_id.iter().flat_map(|id| &names_of[id]).map(|&name| name.to_owned()).collect();
        let sums = expected.entry(stack).or_insert_with(|| vec![0; original.sample_type.len()]);
        sums.iter_mut().zip(&sample.value).for_each(|(sum, value)| *sum += value);
    }
    let symbols: HashMap<i64, Vec<(u64, u64, String)>> =
        back.mapping.iter().map(|mapping| (mapping.build_id, symbols(images, text(back, mapping.build_id)))).collect();
    let mappings: HashMap<_, _> = back.mapping.iter().map(|mapping| (mapping.id, mapping)).collect();
    let name_of = |location: &perfconv::formats::pprof::proto::Location| {
        let mapping = mappings[&location.mapping_id];
        let offset = location.address - mapping.memory_start + mapping.file_offset;
        let found = symbols[&mapping.build_id].iter().find(|(start, size, _)| (*start..start + size).contains(&offset));
        found.map_or(format!("{offset:#x}"), |(_, _, name)| name.clone())
    };
    let names: HashMap<_, _> = back.location.iter().map(|location| (location.id, name_of(location))).collect();
    let mut found = BTreeMap::<Vec<String>, Vec<i64>>::new();
    // The export may have a column that counts samples for a column of the import without values.
    let is_empty = |column: usize| original.sample.iter().all(|sample| sample.value[column] == 0);
    let columns = original.sample_type.iter().enumerate().map(|(index, kind)| {
        let kind = column(&original, kind);
        let found = back.sample_type.iter().position(|other| column(back, other) == kind);
        // No samples are written for a column without values.
        assert!(found.is_some() || is_empty(index), "{kind:?} is missing in the export");
        found
    });
    let columns: Vec<_> = columns.collect();
    for sample in &back.sample {
        let stack = sample.location_id.iter().map(|id| names[id].clone()).collect();
        let sums = found.entry(stack).or_insert_with(|| vec![0; columns.len()]);
        sums.iter_mut().zip(&columns).for_each(|(sum, column)| *sum += column.map_or(0, |column| sample.value[column]));
    }
    expected.retain(|_, values| values.iter().any(|value| *value != 0));
    let only = |a: &BTreeMap<Vec<String>, Vec<i64>>, b: &BTreeMap<Vec<String>, Vec<i64>>| {
        a.iter().find(|(stack, values)| b.get(*stack) != Some(*values)).map(|found| format!("{found:?}"))
    };
    assert_eq!(only(&expected, &found), None, "{}: {:?}", input.display(), only(&found, &expected));
    expected.len()
}

/// Offsets, sizes and names of the functions of an image, found by build ID.
fn symbols(images: &Path, build_id: &str) -> Vec<(u64, u64, String)> {
    let (first, rest) = build_id.split_at(2.min(build_id.len()));
    let Ok(data) = fs::read(images.join(".build-id").join(first).join(rest).join("elf")) else { return Vec::new() };
    let header = FileHeader64::<object::Endianness>::parse(&*data).unwrap();
    let endian = header.endian().unwrap();
    let symbols = header.sections(endian, &*data).unwrap().symbols(endian, &*data, SHT_SYMTAB).unwrap();
    let name = |symbol: &object::elf::Sym64<object::Endianness>| {
        String::from_utf8_lossy(symbol.name(endian, symbols.strings()).unwrap()).into_owned()
    };
    symbols.iter().skip(1).map(|symbol| (symbol.st_value(endian), symbol.st_size(endian), name(symbol))).collect()
}

#[test]
fn other_labels_become_tracepoint_fields() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let output = dir.path().join("out.data");
    let run = run(perfconv().arg(profile_path("mem.pprof")).args(["-q", "-o"]).arg(&output));
    assert_eq!(run.status, 0, "{}", run.stderr);
    let original = program::profile(&profile_path("mem.pprof"));
    let is_counted = |sample: &&perfconv::formats::pprof::proto::Sample| sample.value[1] > 0;
    let mut expected: Vec<_> = original.sample.iter().filter(is_counted).map(|sample| sample.label[0].num).collect();
    expected.sort_unstable();
    let jsonl = dir.path().join("out.jsonl");
    let run = program::run(perfconv().arg(&output).args(["-q", "--decode", "tracepoints", "-o"]).arg(&jsonl));
    assert_eq!(run.status, 0, "{}", run.stderr);
    let text = fs::read_to_string(&jsonl).unwrap();
    let decoded = text.matches("\"bytes\":").count();
    assert!(decoded >= expected.len(), "{decoded} samples of {} have the field", expected.len());
    let Some(printed) = perf_script(&output, None, Some("event,trace"), false, dir.path()) else {
        print_note(format!("imports: labels of {decoded} samples are fields; skipped printing them: no perf"));
        return;
    };
    let of_space = printed.lines().filter_map(|line| line.trim().strip_prefix("alloc_space: bytes="));
    let mut found: Vec<i64> = of_space.map(|bytes| bytes.trim().parse().unwrap()).collect();
    found.sort_unstable();
    assert_eq!(found, expected);
    print_note(format!(
        "imports: labels of {decoded} samples are fields, perf script prints {} of one event",
        found.len()
    ));
}

/// Options -F of perf script; `None` for perf's default.
const FIELD_LISTS: [Option<&str>; 4] = [
    None,
    Some("comm,pid,tid,cpu,time,period,event,ip,sym,symoff,dso"),
    Some("comm,pid,tid,time,period,event,ip,sym,symoff,dso"),
    Some("comm,tid,time,event,ip,sym,dso"),
];

/// The output of perf script, with times in microseconds, or nanoseconds if `nanoseconds` is set.
fn perf_script(
    recording: &Path,
    images: Option<&Path>,
    fields: Option<&str>,
    nanoseconds: bool,
    home: &Path,
) -> Option<String> {
    let mut perf = with_time_limit("perf");
    if let Some(images) = images {
        perf.arg("--buildid-dir").arg(images);
    }
    perf.args(["script", "--force", "--no-inline", "--no-demangle", "-i"]).arg(recording);
    if nanoseconds {
        perf.arg("--ns");
    }
    if let Some(fields) = fields {
        perf.args(["-F", fields]);
    }
    let run = run_other(perf.env("LC_ALL", "C").env("HOME", home).env_remove("DEBUGINFOD_URLS"));
    (run.status == 0).then(|| String::from_utf8_lossy(&run.stdout).into_owned())
}

/// Collapses the spaces that align columns.
fn lines(text: &str) -> Vec<String> {
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Why the round trip of a text is not tested: it contains what common formats do not express, or what perf does not print again.
fn unsupported(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        return Some("perf prints nothing");
    }
    if text.starts_with("CPU   THREAD") {
        return Some("perf prints the counts of perf stat");
    }
    let reasons = [
        ("(inlined)", "inlined frames become separate frames"),
        ("/perf-", "perf reads names only from a map file"),
        ("/lib/modules/", "perf prints module paths in two forms"),
        ("__vdso_", "perf reads names of [vdso] from elsewhere"),
        ("|OP ", "data sources are rejected"),
        ("instruction trace error", "it contains lines that are no samples"),
    ];
    if let Some((_, reason)) = reasons.iter().find(|(what, _)| text.contains(what)) {
        return Some(reason);
    }
    None
}

/// Golden outputs of newer perf versions for recordings of the corpus.
fn printed_by_newer() -> Vec<PathBuf> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/own/golden");
    let dirs = ["p612", "p72"].map(|dir| fs::read_dir(golden.join(dir)));
    let files = dirs.into_iter().flatten().flatten().map(|file| file.expect("the directory should be listable").path());
    let mut texts: Vec<_> = files.filter(|path| path.to_string_lossy().ends_with(".script.zst")).collect();
    texts.sort();
    texts
}

/// The result of a round trip: the number of equal lines or the first difference, or why it was skipped.
type Verdict = Result<Result<usize, String>, String>;

fn round_trip(text: &str, fields: Option<&str>, nanoseconds: bool) -> Verdict {
    if let Some(why) = unsupported(text) {
        return Err(why.to_owned());
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.script"), text).unwrap();
    let run = run(perfconv().arg(path("in.script")).args(["-q", "-f", "-o"]).arg(path("out.data")));
    if run.status != 0 {
        return Ok(Err(run.stderr));
    }
    let exported = perf_script(&path("out.data"), Some(&path("out.data.images")), fields, nanoseconds, dir.path());
    let (one, other) = (lines(text), lines(&exported.unwrap_or_default()));
    let differs = one.iter().zip(&other).position(|(a, b)| a != b);
    Ok(match differs.or((one.len() != other.len()).then_some(one.len().min(other.len()))) {
        None => Ok(one.len()),
        Some(at) => Err(format!("{fields:?} line {}: {:?}, round trip {:?}", at + 1, one.get(at), other.get(at))),
    })
}

#[test]
fn perf_script_text_survives_a_round_trip() {
    if run_other(with_time_limit("perf").arg("--version")).status == 127 {
        print_note("imports: skipped perf script text: no perf".to_owned());
        return;
    }
    let recordings = files::share(12);
    let of_recordings = for_each(&recordings, |recording| {
        let home = tempfile::tempdir().expect("a temporary directory");
        if let Some(why) = exception(&recording.name) {
            return FIELD_LISTS.map(|_| Err(why.to_owned()));
        }
        FIELD_LISTS.map(|fields| match perf_script(&recording.path, None, fields, true, home.path()) {
            Some(text) => round_trip(&text, fields, true),
            None => Err("perf cannot print these fields".to_owned()),
        })
    });
    let one_of = if files::uses_all() { 1 } else { 6 };
    let newer: Vec<_> = printed_by_newer().into_iter().step_by(one_of).collect();
    let of_newer = for_each(&newer, |path| {
        if let Some(why) = exception(&path.to_string_lossy()) {
            return Err(why.to_owned());
        }
        let text = zstd::decode_all(&*fs::read(path).unwrap()).expect("a text should be compressed");
        round_trip(&String::from_utf8_lossy(&text), None, false)
    });
    let names = recordings.iter().flat_map(|recording| [&recording.name; FIELD_LISTS.len()]).cloned();
    let names = names.chain(newer.iter().map(|path| path.display().to_string()));
    let (mut same, mut lines, mut skipped, mut differing) = ([0; 2], 0, BTreeMap::<String, usize>::new(), Vec::new());
    let of_this = of_recordings.into_iter().flatten().map(|verdict| (0, verdict));
    for (name, (by, verdict)) in names.zip(of_this.chain(of_newer.into_iter().map(|verdict| (1, verdict)))) {
        match verdict {
            Err(why) => *skipped.entry(why).or_default() += 1,
            Ok(Ok(count)) => (same[by], lines) = (same[by] + 1, lines + count),
            Ok(Err(why)) => differing.push(format!("{name}: {why}")),
        }
    }
    let [by_installed, by_newer] = same;
    print_note(format!(
        "imports: {by_installed} texts of perf script survive a round trip, {by_newer} of newer perf versions, {lines} lines; skipped {skipped:?}"
    ));
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing.join("\n"));
    let enough = if files::has_corpus("imports") { [50, 20] } else { [3, 0] };
    assert!(by_installed >= enough[0] && by_newer >= enough[1], "compared too few texts");
}

#[test]
fn values_option_selects_the_expansion() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.folded"), "main;work;leaf 30\nmain;work 10\nmain;work 2\n").unwrap();
    let cpu = program::profile(&profile_path("cpu.pprof"));
    let (counted, nanoseconds) = (super::pprof::column_sums(&cpu)[0], super::pprof::column_sums(&cpu)[1]);
    let stacks = cpu.sample.len() as i64;
    assert!(counted > stacks, "some stacks should have several samples");
    let cpu = profile_path("cpu.pprof");
    let all = format!("values in ({nanoseconds} nanoseconds of cpu)");
    for (input, values, samples, sum, read) in [
        (&cpu, None, counted, nanoseconds, "samples in"),
        (&cpu, Some("spread"), counted, nanoseconds, "samples in"),
        (&cpu, Some("single"), stacks, nanoseconds, &*all),
        (&path("in.folded"), None, 3, 42, "values in (42 samples)"),
        (&path("in.folded"), Some("spread"), 42, 42, "samples in"),
        (&path("in.folded"), Some("single"), 3, 42, "values in (42 samples)"),
    ] {
        let values = values.map(|values| ["--values", values]);
        let run = run(perfconv().arg(input).args(values.iter().flatten()).args(["-f", "-o"]).arg(path("out.data")));
        // Warnings about unsupported data come first; the ledger comes last.
        let ledger = run.stderr.lines().last().unwrap_or_default();
        assert!(ledger.contains(&format!("out.data: {samples} {read}, {samples} out")), "{}", run.stderr);
        assert_eq!(program::convert(&path("out.data"), &path(&format!("{samples}.pb.gz"))).status, 0);
        let back = super::pprof::column_sums(&program::profile(&path(&format!("{samples}.pb.gz"))));
        assert_eq!(back, [samples, sum], "{} {values:?}", input.display());
        fs::remove_file(path(&format!("{samples}.pb.gz"))).unwrap();
    }
    let run = run(perfconv().arg(files::fixture("plain.data")).args(["--values", "single", "-o"]).arg(path("no.data")));
    assert_eq!(run.status, 2, "{}", run.stderr);
}

#[test]
fn samples_without_a_time_take_that_of_their_neighbor() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| dir.path().join(name);
    let sample = |head: &str| format!("{head}\n\t 1000 main+0x0 (/bin/a)\n\n");
    let heads = ["a 7 cycles: ", "a 8 [000] 0.000005: faults: ", "a 7 cycles: ", "a 8 [000] 0.551615: faults: "];
    fs::write(path("in.script"), heads.map(sample).concat()).unwrap();
    let imported = run(perfconv().arg(path("in.script")).arg("-o").arg(path("out.data")));
    assert_eq!(imported.status, 0, "{}", imported.stderr);
    let checked = run(perfconv().arg("check").arg(path("out.data")));
    assert_eq!(checked.status, 0, "{}", checked.stderr);
    let dump = run(perfconv().args(["dump", "--type", "SAMPLE"]).arg(path("out.data")));
    let text = String::from_utf8(dump.stdout).expect("text");
    let times: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("  time: ")).collect();
    assert_eq!(times, ["5000", "5000", "5000", "551615000"]);
}

#[test]
fn overlapping_mappings_are_mapped_at_most_once_per_stack() {
    const MAPS: u64 = 3000;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| dir.path().join(name);
    let nested = |number: u64| (0x1000 * number, 0x1000 * (2 * MAPS - number), 0x1000 * number + 8);
    let of_kernel = |number: u64| (1 << 63, (1 << 63) + 0x1000, (1 << 63) + number % 2);
    let same_address = |number: u64| (0x1000, 0x1000 + (1 << 20), 0x1000 + number);
    for (name, range_of) in [
        ("nested", &nested as &dyn Fn(u64) -> (u64, u64, u64)),
        ("of the kernel", &of_kernel),
        ("at the same address", &same_address),
    ] {
        let mut profile = program::profile(&profile_path("block.pprof"));
        let mut sample = profile.sample[0].clone();
        (profile.mapping, profile.location) = (Vec::new(), Vec::new());
        for id in 1..=MAPS {
            let (memory_start, memory_limit, address) = range_of(id);
            profile.string_table.push(format!("/lib/{id}.so"));
            let filename = profile.string_table.len() as i64 - 1;
            profile.mapping.push(Mapping { id, memory_start, memory_limit, filename, ..Mapping::default() });
            profile.location.push(Location { id, mapping_id: id, address, ..Location::default() });
        }
        // One stack from the innermost mapping, and one in another order.
        sample.location_id = (1..=MAPS).rev().collect();
        profile.sample = vec![sample.clone(); 10];
        sample.location_id = (1..=MAPS).map(|id| id * 7 % MAPS + 1).collect();
        profile.sample.extend(vec![sample; 10]);
        fs::write(path("in.pb"), prost::Message::encode_to_vec(&profile)).unwrap();
        let imported =
            run(perfconv().arg(path("in.pb")).args(["--values", "single", "-f", "-o"]).arg(path("out.data")));
        assert_eq!(imported.status, 0, "{name}: {}", imported.stderr);
        let checked = run(perfconv().arg("check").arg(path("out.data")));
        assert_eq!(checked.status, 0, "{name}: {}", checked.stderr);
        let len = fs::metadata(path("out.data")).unwrap().len();
        // A mapping and two words for each frame.
        assert!(len < 20 * MAPS * 150, "{name}: {len} bytes");
    }
}

#[test]
fn errors_name_the_line_or_field() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut profile = program::profile(&profile_path("block.pprof"));
    let encoded = |profile: &Profile| prost::Message::encode_to_vec(profile);
    let complete = encoded(&profile);
    let mut inputs = vec![
        ("truncated.pb", complete[..complete.len() / 2].to_vec(), "not a valid pprof profile: "),
        ("empty.pb", Vec::new(), "not a valid pprof profile: it is empty"),
        ("text.pb", b"main;work 3\n".to_vec(), "not a valid pprof profile: "),
        ("a.folded", b"main;work 3\n\nmain;leaf\n".to_vec(), "line 3: count: missing"),
        ("b.folded", b"main;work 3\nmain;leaf x7\n".to_vec(), "line 2: count: 'x7' is not an unsigned number"),
        ("c.folded", b"\n\n".to_vec(), "it has no stacks"),
        ("a.script", b"\n\n\t401000 main (/bin/a)\n".to_vec(), "line 3 is no part of a sample: '401000 main (/bin/a)'"),
        ("b.script", b"Warning:\nnonsense\n".to_vec(), "line 1 is no part of a sample: 'Warning:'"),
        ("c.script", Vec::new(), "it has no samples"),
    ];
    profile.sample[0].value.pop();
    inputs.push(("values.pb", encoded(&profile), "sample 0 has 1 values; expected 2"));
    profile.sample[0].value.push(1);
    profile.location[1].id = profile.location[0].id;
    inputs.push(("ids.pb", encoded(&profile), "duplicate location ID 1"));
    for (name, bytes, expected) in &inputs {
        let (input, output) = (dir.path().join(name), dir.path().join("out.data"));
        fs::write(&input, bytes).unwrap();
        let run = run(perfconv().arg(&input).arg("-o").arg(&output));
        let failure = run.failure().unwrap();
        assert!(failure.contains(expected) && failure.contains(name), "{name}: {failure}");
        assert!(!output.exists() && !dir.path().join("out.data.images").exists(), "{name}: an output was written");
    }
    print_note(format!("imports: {} invalid inputs are rejected with line or field", inputs.len()));
    let input = dir.path().join("many.folded");
    fs::write(&input, "main;work 1000000000000\n").unwrap();
    let out = dir.path().join("out.data");
    let run = run(perfconv().arg(&input).args(["--values", "spread", "-o"]).arg(&out));
    assert!(run.failure().unwrap().contains("--values single"), "{run:?}");
}

/// The largest remainder that is lost is that of the total, however the counts are divided among lines.
#[test]
fn decimal_counts_of_folded_stacks_keep_their_sum() {
    let dir = tempfile::tempdir().unwrap();
    let converted = |name: &str, text: &str| {
        let input = dir.path().join(name);
        fs::write(&input, text).unwrap();
        let run = run(perfconv().arg(&input).args(["-t", "folded", "-o", "-"]));
        let lines = String::from_utf8(run.stdout).unwrap();
        lines.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(converted("one.folded", "a;b 1.5\n"), [2]);
    assert_eq!(converted("two.folded", "a;b 1.4\na;c 10\n"), [1, 10]);
    let counts = (2..=1001).map(|number| f64::from(number) * 0.3).collect::<Vec<_>>();
    let text = counts.iter().enumerate().map(|(number, count)| format!("a;f{number:04} {count:.1}\n"));
    let rounded = converted("many.folded", &text.collect::<String>());
    assert_eq!((rounded.len(), rounded.iter().sum::<u64>()), (1000, 150_450));
    assert!(rounded.iter().zip(&counts).all(|(&rounded, count)| (rounded as f64 - count).abs() < 1.0));
}
