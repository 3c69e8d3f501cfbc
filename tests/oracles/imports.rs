//! Imports of profiles as recordings: the output of perf for the recordings.

use crate::common::files;
use crate::common::imports::{exception, perf_script, profile_path, recording_of_allocations, text};
use crate::common::oracle::has_program;
use crate::common::pprof::{find_pprof, report_by};
use crate::common::program::{self, column, for_each, perfconv, run, run_other, succeed, with_time_limit};
use object::elf::{FileHeader64, SHT_SYMTAB};
use object::read::elf::{FileHeader, Sym};
use perfconv::formats::pprof::proto::Profile;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

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
fn compare(expected: &Shares, reported: &Shares) -> Vec<String> {
    let mut differing = Vec::new();
    for name in expected.keys().chain(reported.keys()) {
        let (one, other) = (expected.get(name).copied().unwrap_or(0.0), reported.get(name).copied().unwrap_or(0.0));
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
    let pprof = find_pprof();
    let (mut functions, mut exported_stacks) = (0, 0);
    for (input, event, expected) in inputs {
        let output = dir.path().join("out.data");
        succeed(perfconv().arg(&input).args(["-f", "-o"]).arg(&output));
        let images = dir.path().join("out.data.images");
        let expected: Shares = expected.into_iter().filter(|(_, share)| *share > 0.0).collect();
        if let Some(reported) = perf_report(&output, &images, event, dir.path()) {
            let differing = compare(&expected, &reported);
            assert!(differing.is_empty(), "{}:\n{}\n{reported:?}", input.display(), differing.join("\n"));
            functions += reported.len();
        }
        let back = dir.path().join("back.pb.gz");
        let run = program::run(perfconv().arg(&output).args(["-q", "-f", "-o"]).arg(&back));
        assert_eq!(run.status, 0, "{}: {}", output.display(), run.stderr);
        exported_stacks += assert_named_by_images(&input, &program::profile(&back), &images);
        if let Some(pprof) = &pprof
            && input.ends_with("cpu.pprof")
        {
            let top = report_by(pprof, "-top", &input).unwrap();
            let first =
                top.lines().skip_while(|line| !line.contains("flat%")).nth(1).expect("there should be a function");
            let words: Vec<_> = first.split_whitespace().collect();
            let share: f64 = words[1].trim_end_matches('%').parse().unwrap();
            assert!((expected[words[5]] - share).abs() < 0.006, "{first}");
        }
    }
    note!(
        "imports: perf report prints {functions} functions with their shares, {exported_stacks} stacks are exported with names"
    );
    assert!(exported_stacks > 60, "too few stacks exported with names");
    assert!(functions > 40 || !has_program("perf"), "too few functions");
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
        let symbol =
            symbols[&mapping.build_id].iter().find(|(start, size, _)| (*start..start + size).contains(&offset));
        symbol.map_or(format!("{offset:#x}"), |(_, _, name)| name.clone())
    };
    let names: HashMap<_, _> = back.location.iter().map(|location| (location.id, name_of(location))).collect();
    let mut stacks = BTreeMap::<Vec<String>, Vec<i64>>::new();
    // The export may have a column that counts samples for a column of the import without values.
    let is_empty = |column: usize| original.sample.iter().all(|sample| sample.value[column] == 0);
    let columns = original.sample_type.iter().enumerate().map(|(index, kind)| {
        let kind = column(&original, kind);
        let column = back.sample_type.iter().position(|other| column(back, other) == kind);
        // No samples are written for a column without values.
        assert!(column.is_some() || is_empty(index), "{kind:?} is missing in the export");
        column
    });
    let columns: Vec<_> = columns.collect();
    for sample in &back.sample {
        let stack = sample.location_id.iter().map(|id| names[id].clone()).collect();
        let sums = stacks.entry(stack).or_insert_with(|| vec![0; columns.len()]);
        sums.iter_mut().zip(&columns).for_each(|(sum, column)| *sum += column.map_or(0, |column| sample.value[column]));
    }
    expected.retain(|_, values| values.iter().any(|value| *value != 0));
    let only = |a: &BTreeMap<Vec<String>, Vec<i64>>, b: &BTreeMap<Vec<String>, Vec<i64>>| {
        a.iter().find(|(stack, values)| b.get(*stack) != Some(*values)).map(|found| format!("{found:?}"))
    };
    assert_eq!(only(&expected, &stacks), None, "{}: {:?}", input.display(), only(&stacks, &expected));
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

/// Options -F of perf script; `None` for perf's default.
const FIELD_LISTS: [Option<&str>; 4] = [
    None,
    Some("comm,pid,tid,cpu,time,period,event,ip,sym,symoff,dso"),
    Some("comm,pid,tid,time,period,event,ip,sym,symoff,dso"),
    Some("comm,tid,time,event,ip,sym,dso"),
];

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
    if !has_program("perf") {
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
    note!(
        "imports: {by_installed} texts of perf script survive a round trip, {by_newer} of newer perf versions, {lines} lines; skipped {skipped:?}"
    );
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing.join("\n"));
    let enough = if files::has_corpus("imports") { [50, 20] } else { [3, 0] };
    assert!(by_installed >= enough[0] && by_newer >= enough[1], "compared too few texts");
}

#[test]
fn perf_prints_tracepoint_fields_of_other_labels() {
    if !has_program("perf") {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (output, expected) = recording_of_allocations(dir.path());
    let printed = perf_script(&output, None, Some("event,trace"), false, dir.path()).expect("perf should print it");
    let of_space = printed.lines().filter_map(|line| line.trim().strip_prefix("alloc_space: bytes="));
    let mut sizes: Vec<i64> = of_space.map(|bytes| bytes.trim().parse().unwrap()).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, expected);
    note!("imports: perf script prints the fields of {} samples of one event", sizes.len());
    assert!(!sizes.is_empty());
}
