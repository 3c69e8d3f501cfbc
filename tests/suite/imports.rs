//! Profiles that become recordings: what comes back of them, and what `perf` shows that shows them.

use super::files;
use super::program::{self, column, for_each, perfconv, run, run_other, with_time_limit};
use object::elf::{FileHeader64, SHT_SYMTAB};
use object::read::elf::{FileHeader, Sym};
use perfconv::formats::pprof::proto::{Location, Mapping, Profile};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// All labels that samples have a field for.
const LABELS: &str = "pid,tid,comm,thread_comm,cpu,timestamp_ns";

/// Recordings of which something does not come back: of the first two what stood where nothing was mapped yet or any more, or
/// had no name yet, does; of the third, addresses of the kernel in no map.
const OTHERS: [(&str, &str); 6] = [
    ("perf_with_trace_offcpu.data", "what is mapped in a process depends on who began it"),
    ("perf.data.systemwide.1-3.8", "a thread has its name before it is told"),
    ("perf.data.lost_samples-4.4", "addresses of the kernel are in no map, and between those of one"),
    ("overwrite-ev.data.script.zst", "it was printed out of the order of time"),
    ("shim-nosampleid.data.script.zst", "it was printed out of the order of time"),
    ("attrs-mixed-time.data.script.zst", "some of its samples have no times"),
];

fn is_other(name: &str) -> Option<&'static str> {
    OTHERS.iter().find(|(end, _)| name.ends_with(end)).map(|(_, why)| *why)
}

/// One in so many recordings is gone through.
const SHARE: usize = 4;

/// Where profiles are that other programs made.
fn made_by_others(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/profiles").join(name)
}

/// Not through the macros, whose output the test harness hides when the test passes.
fn say(line: String) {
    let mut out = io::stderr();
    writeln!(out, "{line}").unwrap();
}

fn text(profile: &Profile, index: i64) -> &str {
    &profile.string_table[index as usize]
}

/// A frame: address, mapping, its build id, function.
type Frame = (u64, String, String, Vec<String>);

/// Values by sample type, of each stack with its labels.
type Stacks = BTreeMap<(Vec<Frame>, Vec<String>), BTreeMap<String, i64>>;

/// What a profile tells, whatever the order and the numbers of its parts.
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

/// What a profile tells of itself.
fn head(profile: &Profile) -> Vec<String> {
    let types = profile.sample_type.iter().map(|kind| format!("{:?}", column(profile, kind)));
    let period = profile.period_type.as_ref().map(|kind| column(profile, kind));
    let times = format!("{} for {}", profile.time_nanos, profile.duration_nanos);
    let comments = profile.comment.iter().map(|&comment| text(profile, comment).to_owned());
    types.chain([format!("{period:?} {}", profile.period), times]).chain(comments).collect()
}

/// The first differences, as people read them.
fn differences(one: &Stacks, other: &Stacks) -> Option<String> {
    let only = |a: &Stacks, b: &Stacks| {
        let first = a.iter().find(|(stack, values)| b.get(*stack) != Some(*values));
        first.map_or("nothing".to_owned(), |found| format!("{found:?}").chars().take(1500).collect::<String>())
    };
    (one != other)
        .then(|| format!("{} and {} stacks\n  {}\n  {}", one.len(), other.len(), only(one, other), only(other, one)))
}

#[test]
fn a_profile_comes_back_from_the_recording_that_it_becomes() {
    let mut recordings = files::share(SHARE);
    recordings.retain(|recording| is_other(&recording.name).is_none());
    let results = for_each(&recordings, |recording| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = |name: &str| folder.path().join(name);
        let (mut stacks_of_all, mut profiles) = (0, 0);
        for labels in ["comm", LABELS, "tid,cgroup"] {
            let args = ["-q", "-f", "--labels", labels, "-o"];
            let convert = |input: &Path, output: &str| run(perfconv().arg(input).args(args).arg(path(output)));
            // Which files have an output at all, and with which labels, is for other tests to say.
            if convert(&recording.path, "told.pb.gz").status != 0 {
                continue;
            }
            let told = program::profile(&path("told.pb.gz"));
            // Where none is told, there is none to ask for again.
            let has_label =
                |key: &str| told.sample.iter().any(|sample| sample.label.iter().any(|l| text(&told, l.key) == key));
            if told.sample.is_empty() || labels != "comm" && !labels.split(',').all(has_label) {
                continue;
            }
            let imported = run(perfconv().arg(path("told.pb.gz")).args(["-q", "-f", "-o"]).arg(path("made.data")));
            if imported.status != 0 {
                return Err(imported.stderr);
            }
            let again = convert(&path("made.data"), "again.pb.gz");
            if again.status != 0 {
                return Err(again.stderr);
            }
            let again = program::profile(&path("again.pb.gz"));
            let (one, mut other) = (stacks(&told), stacks(&again));
            // Where nothing tells of processes, they are called by the program.
            if one.keys().all(|(_, labels)| labels.is_empty()) {
                other = other.into_iter().map(|((stack, _), values)| ((stack, Vec::new()), values)).collect();
            }
            if let Some(differences) = differences(&one, &other) {
                return Err(format!("{labels}: {differences}"));
            }
            if head(&told) != head(&again) {
                return Err(format!("{labels}:\n  {:?}\n  {:?}", head(&told), head(&again)));
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
            Ok((of_this, in_this)) => (profiles, stacks) = (profiles + of_this, stacks + in_this),
            Err(why) => failures.push(format!("{}: {why}", recording.name)),
        }
    }
    say(format!("imports: {profiles} profiles of {} recordings come back, {stacks} stacks", recordings.len()));
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), recordings.len(), failures.join("\n"));
    let enough = if files::has_corpus("imports") { (150, 20_000) } else { (8, 100) };
    assert!(profiles >= enough.0 && stacks >= enough.1, "too few are compared");
}

/// What of all is in each function itself, in percent.
type Shares = BTreeMap<String, f64>;

/// The share of each function, by a profile's own numbers: of the column's values those of which it is the leaf.
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

/// What perf report shows of an event; `None` where there is no perf.
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
    // Each event has a heading.
    let of_event = text.split("# Samples: ").nth(event + 1).unwrap_or_default();
    let lines = of_event.lines().filter_map(|line| line.split_once('\t'));
    let mut shares = Shares::new();
    for (share, symbol) in lines {
        let Ok(share) = share.trim().trim_end_matches('%').parse::<f64>() else { continue };
        let (_, name) = symbol.split_once("] ").expect("behind the mode is the name");
        *shares.entry(name.trim().to_owned()).or_default() += share;
    }
    Some(shares)
}

/// The shares that differ by more than perf rounds them.
fn compare(expected: &Shares, found: &Shares) -> Vec<String> {
    let mut wrong = Vec::new();
    for name in expected.keys().chain(found.keys()) {
        let (one, other) = (expected.get(name).copied().unwrap_or(0.0), found.get(name).copied().unwrap_or(0.0));
        if (one - other).abs() > 0.011 {
            wrong.push(format!("{name}: {one:.3} and {other:.3}"));
        }
    }
    wrong
}

#[test]
fn perf_report_shows_the_functions_of_what_was_imported() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folded = "main;work;leaf 30\nmain;work 10\nmain;sys;do_syscall_64_[k];ksys read_[k] 15\nmain;C::f(int, char const*) 45\n";
    fs::write(folder.path().join("in.folded"), folded).unwrap();
    let of_folded = [("leaf", 30.0), ("work", 10.0), ("ksys_read", 15.0), ("C::f(int, char const*)", 45.0)];
    let of_folded: Shares = of_folded.into_iter().map(|(name, share)| (name.to_owned(), share)).collect();
    let go = |name: &str| made_by_others(name);
    let mut inputs = vec![(folder.path().join("in.folded"), 0, of_folded)];
    // Go's profiles of the CPU, of memory and of waiting: by sample type the place of the event.
    for (name, column, event) in [("cpu.pprof", 1, 0), ("mem.pprof", 1, 1), ("block.pprof", 1, 1)] {
        inputs.push((go(name), event, shares(&program::profile(&go(name)), column)));
    }
    let pprof = super::pprof::the_real_pprof();
    let (mut functions, mut by_pprof) = (0, 0);
    for (input, event, expected) in inputs {
        let output = folder.path().join("out.data");
        let run = run(perfconv().arg(&input).args(["-f", "-o"]).arg(&output));
        assert_eq!(run.status, 0, "{}: {}", input.display(), run.stderr);
        let images = folder.path().join("out.data.images");
        let expected: Shares = expected.into_iter().filter(|(_, share)| *share > 0.0).collect();
        if let Some(found) = perf_report(&output, &images, event, folder.path()) {
            let wrong = compare(&expected, &found);
            assert!(wrong.is_empty(), "{}:\n{}\n{found:?}", input.display(), wrong.join("\n"));
            functions += found.len();
        }
        let back = folder.path().join("back.pb.gz");
        let run = program::run(perfconv().arg(&output).args(["-q", "-f", "-o"]).arg(&back));
        assert_eq!(run.status, 0, "{}: {}", output.display(), run.stderr);
        by_pprof += named_by_images(&input, &program::profile(&back), &images);
        if let Ok(pprof) = &pprof
            && input.ends_with("cpu.pprof")
        {
            let top = super::pprof::report_by(pprof, "-top", &input).unwrap();
            let first = top.lines().skip_while(|line| !line.contains("flat%")).nth(1).expect("there is a function");
            let words: Vec<_> = first.split_whitespace().collect();
            let share: f64 = words[1].trim_end_matches('%').parse().unwrap();
            assert!((expected[words[5]] - share).abs() < 0.006, "{first}");
        }
    }
    say(format!(
        "imports: perf report shows {functions} functions with their shares, {by_pprof} stacks come back with names"
    ));
    assert!(by_pprof > 60, "too few stacks come back");
    assert!(functions > 40 || run_other(with_time_limit("perf").arg("--version")).status == 127, "too few functions");
}

/// Asserts that a profile of a recording that was imported has the names and values of what it was imported from, by the
/// symbols in the images. Says how many stacks.
fn named_by_images(input: &Path, back: &Profile, images: &Path) -> usize {
    if input.extension().is_none_or(|extension| extension != "pprof") {
        return 0;
    }
    let told = program::profile(input);
    let functions: HashMap<_, _> = told.function.iter().map(|function| (function.id, function.name)).collect();
    let names_of: HashMap<_, Vec<_>> = told
        .location
        .iter()
        .map(|location| {
            (location.id, location.line.iter().map(|line| text(&told, functions[&line.function_id])).collect())
        })
        .collect();
    let mut expected = BTreeMap::<Vec<String>, Vec<i64>>::new();
    for sample in &told.sample {
        let stack = sample.location_id.iter().flat_map(|id| &names_of[id]).map(|&name| name.to_owned()).collect();
        let sums = expected.entry(stack).or_insert_with(|| vec![0; told.sample_type.len()]);
        sums.iter_mut().zip(&sample.value).for_each(|(sum, value)| *sum += value);
    }
    let symbols: HashMap<i64, Vec<(u64, u64, String)>> =
        back.mapping.iter().map(|mapping| (mapping.build_id, symbols(images, text(back, mapping.build_id)))).collect();
    let mappings: HashMap<_, _> = back.mapping.iter().map(|mapping| (mapping.id, mapping)).collect();
    let name_of = |location: &perfconv::formats::pprof::proto::Location| {
        let mapping = mappings[&location.mapping_id];
        let place = location.address - mapping.memory_start + mapping.file_offset;
        let found = symbols[&mapping.build_id].iter().find(|(start, size, _)| (*start..start + size).contains(&place));
        found.map_or(format!("{place:#x}"), |(_, _, name)| name.clone())
    };
    let names: HashMap<_, _> = back.location.iter().map(|location| (location.id, name_of(location))).collect();
    let mut found = BTreeMap::<Vec<String>, Vec<i64>>::new();
    // A column that counts samples is there beside each that nothing is counted of.
    let is_empty = |column: usize| told.sample.iter().all(|sample| sample.value[column] == 0);
    let columns = told.sample_type.iter().enumerate().map(|(place, kind)| {
        let kind = column(&told, kind);
        let found = back.sample_type.iter().position(|other| column(back, other) == kind);
        // Of what nothing was counted there are no samples.
        assert!(found.is_some() || is_empty(place), "{kind:?} does not come back");
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

/// Places, sizes and names of the functions of an image, by its build id.
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
fn other_labels_travel_as_fields_of_a_tracepoint() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = folder.path().join("out.data");
    let run = run(perfconv().arg(made_by_others("mem.pprof")).args(["-q", "-o"]).arg(&output));
    assert_eq!(run.status, 0, "{}", run.stderr);
    let told = program::profile(&made_by_others("mem.pprof"));
    let is_counted = |sample: &&perfconv::formats::pprof::proto::Sample| sample.value[1] > 0;
    let mut expected: Vec<_> = told.sample.iter().filter(is_counted).map(|sample| sample.label[0].num).collect();
    expected.sort_unstable();
    let jsonl = folder.path().join("out.jsonl");
    let run = program::run(perfconv().arg(&output).args(["-q", "--decode", "tracepoints", "-o"]).arg(&jsonl));
    assert_eq!(run.status, 0, "{}", run.stderr);
    let text = fs::read_to_string(&jsonl).unwrap();
    let decoded = text.matches("\"bytes\":").count();
    assert!(decoded >= expected.len(), "{decoded} samples of {} have the field", expected.len());
    let Some(printed) = perf_script(&output, None, Some("event,trace"), false, folder.path()) else {
        say(format!("imports: labels of {decoded} samples are fields; there is no perf to print them"));
        return;
    };
    let of_space = printed.lines().filter_map(|line| line.trim().strip_prefix("alloc_space: bytes="));
    let mut found: Vec<i64> = of_space.map(|bytes| bytes.trim().parse().unwrap()).collect();
    found.sort_unstable();
    assert_eq!(found, expected);
    say(format!("imports: labels of {decoded} samples are fields, perf script prints {} of one event", found.len()));
}

/// A form of perf script's output: the fields that are asked for, none for perf's own choice.
const FORMS: [Option<&str>; 4] = [
    None,
    Some("comm,pid,tid,cpu,time,period,event,ip,sym,symoff,dso"),
    Some("comm,pid,tid,time,period,event,ip,sym,symoff,dso"),
    Some("comm,tid,time,event,ip,sym,dso"),
];

/// What perf script prints, with times to the microsecond or finer.
fn perf_script(
    recording: &Path,
    images: Option<&Path>,
    fields: Option<&str>,
    is_fine: bool,
    home: &Path,
) -> Option<String> {
    let mut perf = with_time_limit("perf");
    if let Some(images) = images {
        perf.arg("--buildid-dir").arg(images);
    }
    perf.args(["script", "--force", "--no-inline", "--no-demangle", "-i"]).arg(recording);
    if is_fine {
        perf.arg("--ns");
    }
    if let Some(fields) = fields {
        perf.args(["-F", fields]);
    }
    let run = run_other(perf.env("LC_ALL", "C").env("HOME", home).env_remove("DEBUGINFOD_URLS"));
    (run.status == 0).then(|| String::from_utf8_lossy(&run.stdout).into_owned())
}

/// Lines without the spaces by which perf makes columns, as wide as the longest name of all events.
fn lines(text: &str) -> Vec<String> {
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Why a text is not gone through: it tells of a sample what has no place in the common forms, or what perf does not show
/// again.
fn is_uncommon(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        return Some("perf prints nothing");
    }
    if text.starts_with("CPU   THREAD") {
        return Some("perf prints the counts of perf stat");
    }
    let reasons = [
        ("(inlined)", "it has inlined frames, which become frames of their own"),
        ("/perf-", "perf looks for names in a map file alone"),
        ("/lib/modules/", "perf prints paths of modules in two ways"),
        ("__vdso_", "perf has the names of [vdso] from elsewhere"),
        ("|OP ", "it tells data sources, which are refused"),
        ("instruction trace error", "it tells what is no sample"),
    ];
    if let Some((_, reason)) = reasons.iter().find(|(what, _)| text.contains(what)) {
        return Some(reason);
    }
    None
}

/// Texts that newer perfs have printed of the corpus' recordings.
fn printed_by_newer() -> Vec<PathBuf> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/own/golden");
    let folders = ["p612", "p72"].map(|folder| fs::read_dir(golden.join(folder)));
    let files = folders.into_iter().flatten().flatten().map(|file| file.expect("a folder can be listed").path());
    let mut texts: Vec<_> = files.filter(|path| path.to_string_lossy().ends_with(".script.zst")).collect();
    texts.sort();
    texts
}

/// What became of a text: how many lines came back, or the first that did not; or why it is not gone through.
type Verdict = Result<Result<usize, String>, String>;

fn comes_back(text: &str, fields: Option<&str>, is_fine: bool) -> Verdict {
    if let Some(why) = is_uncommon(text) {
        return Err(why.to_owned());
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    fs::write(path("in.script"), text).unwrap();
    let run = run(perfconv().arg(path("in.script")).args(["-q", "-f", "-o"]).arg(path("out.data")));
    if run.status != 0 {
        return Ok(Err(run.stderr));
    }
    let again = perf_script(&path("out.data"), Some(&path("out.data.images")), fields, is_fine, folder.path());
    let (one, other) = (lines(text), lines(&again.unwrap_or_default()));
    let differs = one.iter().zip(&other).position(|(a, b)| a != b);
    Ok(match differs.or((one.len() != other.len()).then_some(one.len().min(other.len()))) {
        None => Ok(one.len()),
        Some(at) => Err(format!("{fields:?} line {}: {:?}, again {:?}", at + 1, one.get(at), other.get(at))),
    })
}

#[test]
fn the_text_of_perf_script_comes_back() {
    if run_other(with_time_limit("perf").arg("--version")).status == 127 {
        say("imports: there is no perf to print text".to_owned());
        return;
    }
    let recordings = files::share(12);
    let of_recordings = for_each(&recordings, |recording| {
        let home = tempfile::tempdir().expect("a temporary folder");
        if let Some(why) = is_other(&recording.name) {
            return FORMS.map(|_| Err(why.to_owned()));
        }
        FORMS.map(|fields| match perf_script(&recording.path, None, fields, true, home.path()) {
            Some(text) => comes_back(&text, fields, true),
            None => Err("perf does not print these fields of it".to_owned()),
        })
    });
    let one_of = if files::takes_all() { 1 } else { 6 };
    let newer: Vec<_> = printed_by_newer().into_iter().step_by(one_of).collect();
    let of_newer = for_each(&newer, |path| {
        if let Some(why) = is_other(&path.to_string_lossy()) {
            return Err(why.to_owned());
        }
        let text = zstd::decode_all(&*fs::read(path).unwrap()).expect("a text is compressed");
        comes_back(&String::from_utf8_lossy(&text), None, false)
    });
    let names = recordings.iter().flat_map(|recording| [&recording.name; FORMS.len()]).cloned();
    let names = names.chain(newer.iter().map(|path| path.display().to_string()));
    let (mut same, mut lines, mut skipped, mut wrong) = ([0; 2], 0, BTreeMap::<String, usize>::new(), Vec::new());
    let of_this = of_recordings.into_iter().flatten().map(|verdict| (0, verdict));
    for (name, (by, verdict)) in names.zip(of_this.chain(of_newer.into_iter().map(|verdict| (1, verdict)))) {
        match verdict {
            Err(why) => *skipped.entry(why).or_default() += 1,
            Ok(Ok(count)) => (same[by], lines) = (same[by] + 1, lines + count),
            Ok(Err(why)) => wrong.push(format!("{name}: {why}")),
        }
    }
    let [by_this, by_newer] = same;
    say(format!(
        "imports: {by_this} texts of perf script come back, {by_newer} of newer perfs, {lines} lines; skipped {skipped:?}"
    ));
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    let enough = if files::has_corpus("imports") { [50, 20] } else { [3, 0] };
    assert!(by_this >= enough[0] && by_newer >= enough[1], "too few texts are compared");
}

#[test]
fn values_are_spread_or_carried_as_chosen() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    fs::write(path("in.folded"), "main;work;leaf 30\nmain;work 10\nmain;work 2\n").unwrap();
    let cpu = program::profile(&made_by_others("cpu.pprof"));
    let (counted, nanoseconds) = (super::pprof::column_sums(&cpu)[0], super::pprof::column_sums(&cpu)[1]);
    let stacks = cpu.sample.len() as i64;
    assert!(counted > stacks, "some stacks are of several samples");
    let cpu = made_by_others("cpu.pprof");
    let all = format!("values in ({nanoseconds} nanoseconds of cpu)");
    for (input, values, samples, sum, read) in [
        (&cpu, None, counted, nanoseconds, "samples in"),
        (&cpu, Some("spread"), counted, nanoseconds, "samples in"),
        (&cpu, Some("carry"), stacks, nanoseconds, &*all),
        (&path("in.folded"), None, 3, 42, "values in (42 samples)"),
        (&path("in.folded"), Some("spread"), 42, 42, "samples in"),
        (&path("in.folded"), Some("carry"), 3, 42, "values in (42 samples)"),
    ] {
        let values = values.map(|values| ["--values", values]);
        let run = run(perfconv().arg(input).args(values.iter().flatten()).args(["-f", "-o"]).arg(path("out.data")));
        // Of what is in it that has no place this is told; the ledger comes last.
        let ledger = run.stderr.lines().last().unwrap_or_default();
        assert!(ledger.contains(&format!("out.data: {samples} {read}, {samples} out")), "{}", run.stderr);
        assert_eq!(program::convert(&path("out.data"), &path(&format!("{samples}.pb.gz"))).status, 0);
        let back = super::pprof::column_sums(&program::profile(&path(&format!("{samples}.pb.gz"))));
        assert_eq!(back, [samples, sum], "{} {values:?}", input.display());
        fs::remove_file(path(&format!("{samples}.pb.gz"))).unwrap();
    }
    let run = run(perfconv().arg(files::fixture("plain.data")).args(["--values", "carry", "-o"]).arg(path("no.data")));
    assert_eq!(run.status, 2, "{}", run.stderr);
}

#[test]
fn samples_without_a_time_stand_beside_their_neighbours() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    let sample = |head: &str| format!("{head}\n\t 1000 main+0x0 (/bin/a)\n\n");
    let heads = ["a 7 cycles: ", "a 8 [000] 0.000005: faults: ", "a 7 cycles: ", "a 8 [000] 0.551615: faults: "];
    fs::write(path("in.script"), heads.map(sample).concat()).unwrap();
    let made = run(perfconv().arg(path("in.script")).arg("-o").arg(path("out.data")));
    assert_eq!(made.status, 0, "{}", made.stderr);
    let checked = run(perfconv().arg("check").arg(path("out.data")));
    assert_eq!(checked.status, 0, "{}", checked.stderr);
    let dump = run(perfconv().args(["dump", "--type", "SAMPLE"]).arg(path("out.data")));
    let shown = String::from_utf8(dump.stdout).expect("text");
    let times: Vec<_> = shown.lines().filter_map(|line| line.strip_prefix("  time: ")).collect();
    assert_eq!(times, ["5000", "5000", "5000", "551615000"]);
}

#[test]
fn maps_that_lie_in_each_other_or_at_one_place_are_mapped_once_for_a_stack() {
    const MAPS: u64 = 3000;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    let nested = |number: u64| (0x1000 * number, 0x1000 * (2 * MAPS - number), 0x1000 * number + 8);
    let of_kernel = |number: u64| (1 << 63, (1 << 63) + 0x1000, (1 << 63) + number % 2);
    let at_one_place = |number: u64| (0x1000, 0x1000 + (1 << 20), 0x1000 + number);
    for (name, place) in [
        ("nested", &nested as &dyn Fn(u64) -> (u64, u64, u64)),
        ("of the kernel", &of_kernel),
        ("at one place", &at_one_place),
    ] {
        let mut profile = program::profile(&made_by_others("block.pprof"));
        let mut sample = profile.sample[0].clone();
        (profile.mapping, profile.location) = (Vec::new(), Vec::new());
        for id in 1..=MAPS {
            let (memory_start, memory_limit, address) = place(id);
            profile.string_table.push(format!("/lib/{id}.so"));
            let filename = profile.string_table.len() as i64 - 1;
            profile.mapping.push(Mapping { id, memory_start, memory_limit, filename, ..Mapping::default() });
            profile.location.push(Location { id, mapping_id: id, address, ..Location::default() });
        }
        // From within, and in another order.
        sample.location_id = (1..=MAPS).rev().collect();
        profile.sample = vec![sample.clone(); 10];
        sample.location_id = (1..=MAPS).map(|id| id * 7 % MAPS + 1).collect();
        profile.sample.extend(vec![sample; 10]);
        fs::write(path("in.pb"), prost::Message::encode_to_vec(&profile)).unwrap();
        let made = run(perfconv().arg(path("in.pb")).args(["--values", "carry", "-f", "-o"]).arg(path("out.data")));
        assert_eq!(made.status, 0, "{name}: {}", made.stderr);
        let checked = run(perfconv().arg("check").arg(path("out.data")));
        assert_eq!(checked.status, 0, "{name}: {}", checked.stderr);
        let len = fs::metadata(path("out.data")).unwrap().len();
        // A map and two words for each frame.
        assert!(len < 20 * MAPS * 150, "{name}: {len} bytes");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut profile = program::profile(&made_by_others("block.pprof"));
    let encoded = |profile: &Profile| prost::Message::encode_to_vec(profile);
    let whole = encoded(&profile);
    let mut inputs = vec![
        ("cut.pb", whole[..whole.len() / 2].to_vec(), "not a valid pprof profile: "),
        ("empty.pb", Vec::new(), "not a valid pprof profile: it is empty"),
        ("text.pb", b"main;work 3\n".to_vec(), "not a valid pprof profile: "),
        ("a.folded", b"main;work 3\n\nmain;leaf\n".to_vec(), "line 3: there is no count"),
        ("b.folded", b"main;work 3\nmain;leaf x7\n".to_vec(), "line 2: count: \"x7\" is no whole number"),
        ("c.folded", b"\n\n".to_vec(), "it has no line with a stack"),
        ("a.script", b"a 7 1.000000: cycles: \n\tzz main (/bin/a)\n".to_vec(), "line 2: ip: \"zz\" is no address"),
        ("b.script", b"\n\n\t401000 main (/bin/a)\n".to_vec(), "line 3: ip: it is a frame of no sample"),
        ("c.script", b"a 7 1.000000: cycles: \n\nnonsense\n".to_vec(), "line 3: pid or tid: there is none"),
        ("d.script", Vec::new(), "it has no line of a sample"),
    ];
    profile.sample[0].value.pop();
    inputs.push(("values.pb", encoded(&profile), "sample 0 has 1 values, and there are 2 sample types"));
    profile.sample[0].value.push(1);
    profile.location[1].id = profile.location[0].id;
    inputs.push(("ids.pb", encoded(&profile), "there are two locations with the id 1"));
    for (name, bytes, expected) in &inputs {
        let (input, output) = (folder.path().join(name), folder.path().join("out.data"));
        fs::write(&input, bytes).unwrap();
        let run = run(perfconv().arg(&input).arg("-o").arg(&output));
        let failure = run.failure().unwrap();
        assert!(failure.contains(expected) && failure.contains(name), "{name}: {failure}");
        assert!(!output.exists() && !folder.path().join("out.data.images").exists(), "{name}: something was written");
    }
    say(format!("imports: {} inputs are refused with their places", inputs.len()));
    let input = folder.path().join("many.folded");
    fs::write(&input, "main;work 1000000000000\n").unwrap();
    let out = folder.path().join("out.data");
    let run = run(perfconv().arg(&input).args(["--values", "spread", "-o"]).arg(&out));
    assert!(run.failure().unwrap().contains("--values carry"), "{run:?}");
}
