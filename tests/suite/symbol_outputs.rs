//! Functions, inlined functions and lines in outputs, compared with perf script and pprof.

use super::pprof::find_pprof;
use super::program::{decode, note_missing_oracle, perfconv, profile, run, run_other, with_time_limit};
use perfconv::formats::pprof::proto::Profile;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols").join(name).with_extension("data")
}

fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols/files")
}

/// A conversion with the recorded files. No other home directory has caches.
fn convert(name: &str, args: &[&str]) -> Command {
    let mut command = perfconv();
    command.arg(recording(name)).arg("--symfs").arg(files()).args(args).env("HOME", "/nonexistent");
    command
}

/// The recordings with files beside the repository, if they are there.
fn corpus() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/symbols").canonicalize().ok()?;
    path.join("golden").is_dir().then_some(path)
}

/// A frame of perf script text: function and file.
type Frame = (String, String);

/// The first lines of samples, each with its frames, leaf first.
fn samples(text: &str) -> Vec<(String, Vec<Frame>)> {
    let mut samples: Vec<(String, Vec<Frame>)> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let Some(frame) = line.strip_prefix('\t') else {
            samples.push((line.split_whitespace().collect::<Vec<_>>().join(" "), Vec::new()));
            continue;
        };
        let (_, rest) = frame.trim().split_once(' ').unwrap_or_default();
        let (function, file) = rest.rsplit_once(" (").unwrap_or((rest, ""));
        let function = match function.rsplit_once("+0x") {
            Some((function, _)) => function,
            None => function,
        };
        let (_, frames) = samples.last_mut().expect("a sample");
        frames.push((function.to_owned(), file.trim_end_matches(')').to_owned()));
    }
    samples
}

/// A name without what demanglers show differently: parameters, template arguments, clone suffixes and versions.
pub(super) fn plain(name: &str) -> String {
    let (mut plain, mut depth) = (String::new(), 0);
    let name = name.split(" [clone").next().unwrap_or_default().replace("(anonymous namespace)", "{anonymous}");
    let name = name.replace("operator()", "operator{}");
    for c in name.chars() {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth -= 1,
            _ if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    let version = plain.find('@').filter(|&at| !plain[at..].starts_with("@plt"));
    let plain = plain[..version.unwrap_or(plain.len())].trim_end_matches(" const");
    plain.rsplit(' ').next().unwrap_or_default().to_owned()
}

/// What two versions of perf printed for the recordings: version, and the part of the file names.
const GOLDENS: [(&str, &str); 2] = [("6.1", "p61"), ("6.12", "p612")];

#[test]
fn frames_have_the_functions_of_the_goldens() {
    let Some(corpus) = corpus() else { return println!("symbols: skipped: no recordings beside the repository") };
    let mut recordings: Vec<_> = fs::read_dir(corpus.join("rec")).unwrap().map(|entry| entry.unwrap().path()).collect();
    recordings.sort();
    let mut totals = [(0, 0, 0, 0); GOLDENS.len()];
    for recording in recordings {
        let name = recording.file_stem().unwrap().to_string_lossy().into_owned();
        if name.starts_with("addr-") {
            continue;
        }
        let mut command = perfconv();
        command.arg(&recording).arg("--symfs").arg(corpus.join("symfs"));
        command.arg("--kallsyms").arg(corpus.join("symfs/proc/kallsyms"));
        command.args(["-t", "perf-script", "--no-inline", "-q"]).env("HOME", "/nonexistent");
        let ours = run(&mut command);
        assert_eq!(ours.status, 0, "{name}: {}", ours.stderr);
        let ours = samples(&String::from_utf8(ours.stdout).unwrap());
        for ((version, part), total) in GOLDENS.iter().zip(&mut totals) {
            let Ok(golden) = fs::read(corpus.join("golden").join(format!("{name}.{part}.noinline.txt.zst"))) else {
                continue;
            };
            let golden = samples(&String::from_utf8_lossy(&zstd::decode_all(&golden[..]).unwrap()));
            assert_eq!(golden.len(), ours.len(), "{name}: samples");
            let (mut named, mut same, mut mangled) = (0, 0, 0);
            for ((_, expected), (_, found)) in golden.iter().zip(&ours) {
                for (expected, found) in expected.iter().zip(found).filter(|(expected, _)| expected.0 != "[unknown]") {
                    // perf 6.12 does not demangle all names of Rust, and others in part.
                    if expected.0.starts_with("_R") || expected.0.starts_with("_ZN") || expected.0.contains("$u7b$") {
                        mangled += 1;
                        continue;
                    }
                    named += 1;
                    same += usize::from(plain(&expected.0) == plain(&found.0));
                }
            }
            let skipped = format!("{mangled} that it does not demangle skipped");
            println!(
                "symbols: {name}: {same} of {named} frames have the function that perf {version} prints; {skipped}"
            );
            assert!(same * 100 >= named * 99, "{name}");
            *total = (total.0 + 1, total.1 + named, total.2 + same, total.3 + mangled);
        }
    }
    for ((version, _), (recordings, all, equal, mangled)) in GOLDENS.iter().zip(totals) {
        println!(
            "symbols: {recordings} recordings, {equal} of {all} frames equal to perf {version}, {mangled} skipped"
        );
        assert!(recordings >= 35 && all > 28_000 && mangled * 9 < all, "compared too little");
    }
}

/// Samples of a profile by function of the leaf, as pprof counts inlined functions.
fn by_function(profile: &Profile) -> BTreeMap<String, i64> {
    let functions: HashMap<u64, i64> = profile.function.iter().map(|function| (function.id, function.name)).collect();
    let leaf: HashMap<u64, i64> =
        profile.location.iter().map(|location| (location.id, functions[&location.line[0].function_id])).collect();
    let mut counts = BTreeMap::new();
    for sample in &profile.sample {
        let name = &profile.string_table[leaf[&sample.location_id[0]] as usize];
        *counts.entry(plain(name)).or_default() += sample.value[0];
    }
    counts
}

#[test]
fn pprof_shows_what_it_shows_when_it_symbolizes_itself() {
    let pprof = match find_pprof() {
        Ok(pprof) => pprof,
        Err(why) => return println!("symbols: skipped: no pprof: {why}"),
    };
    let dir = tempfile::tempdir().unwrap();
    let mut functions = 0;
    for name in ["c", "cxx"] {
        let [addresses, named, by_pprof] =
            ["addresses", "named", "by-pprof"].map(|file| dir.path().join(format!("{name}-{file}.pb.gz")));
        let convert_to = |path: &Path, args: &[&str]| {
            let run = run(convert(name, args).arg("-o").arg(path));
            assert_eq!(run.status, 0, "{}", run.stderr);
        };
        // pprof does not read symbols of the kernel.
        convert_to(&named, &["--kallsyms", "/dev/null"]);
        let mut command = perfconv();
        command.arg(recording(name)).args(["--symbols", "no", "-o"]).arg(&addresses);
        assert_eq!(run(&mut command).status, 0);
        let mut command = with_time_limit(&pprof.to_string_lossy());
        command.args(["-symbolize=force:local", "-proto", "-output"]).arg(&by_pprof).arg(&addresses);
        command.env("PPROF_BINARY_PATH", files().join("srv/sym/bin")).env("PPROF_TMPDIR", dir.path());
        let run = run_other(command.stdin(Stdio::null()));
        assert_eq!(run.status, 0, "{}", run.stderr);
        // Functions of libraries that only this machine has depend on it.
        let ours = profile(&named);
        let is_of_program = |name: &String| !name.contains("+0x") && !name.contains("[unknown]");
        let (ours, theirs) = (by_function(&ours), by_function(&decode(&fs::read(&by_pprof).unwrap())));
        let known: BTreeMap<_, _> = ours.iter().filter(|(name, _)| is_of_program(name)).collect();
        for (function, samples) in &known {
            assert_eq!(theirs.get(*function), Some(*samples), "{name}: {function}");
        }
        assert!(known.values().copied().sum::<i64>() > 900, "{name}: {known:?}");
        functions += known.len();
    }
    println!("symbols: {functions} functions have the samples that pprof counts");
    assert!(functions >= 12, "compared too little");
}

#[test]
fn pprof_has_lines_inlined_functions_and_system_names() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.pb.gz");
    let convert_with = |args: &[&str]| {
        let run = run(convert("cxx", &["-f", "-o"]).arg(&path).args(args));
        assert_eq!(run.status, 0, "{}", run.stderr);
        profile(&path)
    };
    let profile = convert_with(&[]);
    let text = |id: i64| &*profile.string_table[id as usize];
    let mapping = profile.mapping.iter().find(|mapping| text(mapping.filename).ends_with("foundry-fp")).unwrap();
    assert!(mapping.has_functions && mapping.has_filenames && mapping.has_line_numbers && mapping.has_inline_frames);
    let libc = profile.mapping.iter().find(|mapping| text(mapping.filename).ends_with("libc.so.6")).unwrap();
    assert!(!libc.has_functions && !libc.has_inline_frames);
    let of_program = profile.location.iter().filter(|location| location.mapping_id == mapping.id);
    assert!(of_program.clone().any(|location| location.line.len() > 2), "inlined functions");
    // Code of the C runtime has no lines.
    assert!(of_program.flat_map(|location| &location.line).filter(|line| line.line > 0).count() > 20);
    let main = profile.function.iter().find(|function| text(function.name) == "main").unwrap();
    assert!(text(main.filename).ends_with("/foundry.cpp") && main.start_line > 0);
    let is_mangled = |function: &&perfconv::formats::pprof::proto::Function| {
        text(function.name).contains("foundry::") && text(function.system_name).starts_with("_ZN")
    };
    assert!(profile.function.iter().any(|function| is_mangled(&function)));
    let without = convert_with(&["--no-inline"]);
    assert!(without.location.iter().all(|location| location.line.len() == 1));
    let short = convert_with(&["--demangle", "short"]);
    assert!(short.string_table.iter().all(|text| !text.contains("pour_into(")));
    // Samples written one by one have the same functions.
    let streamed = convert_with(&["--labels", "timestamp_ns"]);
    assert_eq!(by_function(&streamed), by_function(&profile));
}

#[test]
fn names_are_demangled_as_requested() {
    let mut recordings = vec![("cxx", convert("cxx", &[]))];
    if let Some(corpus) = corpus() {
        let mut command = perfconv();
        command.arg(corpus.join("rec/d-dw-harbor-d2v0.data")).arg("--symfs").arg(corpus.join("symfs"));
        recordings.push(("d-dw-harbor-d2v0", command));
    }
    for (recording, command) in recordings {
        let names = |how: &str| -> Vec<String> {
            let mut with_option = Command::new(command.get_program());
            with_option.args(command.get_args()).args(["-t", "perf-script", "-q", "--demangle", how]);
            let run = run(with_option.env("HOME", "/nonexistent"));
            assert_eq!(run.status, 0, "{}", run.stderr);
            let text = String::from_utf8(run.stdout).unwrap();
            let name = |line: &str| Some(line.strip_prefix('\t')?.trim_start().split_once(' ')?.1.to_owned());
            text.lines().filter_map(name).map(|line| plain_end(&line).to_owned()).collect()
        };
        let (full, short, mangled) = (names("full"), names("short"), names("no"));
        assert_eq!((full.len(), short.len()), (mangled.len(), mangled.len()));
        let mut compared = BTreeSet::new();
        for ((full, short), mangled) in full.iter().zip(&short).zip(&mangled) {
            assert!(!full.starts_with("_Z") && !full.starts_with("_R"), "{full}");
            if !mangled.starts_with("_Z") && !mangled.starts_with("_R") {
                assert!(full == mangled && short == mangled, "{full} | {short} | {mangled}");
                continue;
            }
            // Rust names contain no parameters.
            let is_expected = match recording {
                "cxx" => full.contains(short.trim_end_matches(" const")) && (short != full || !full.ends_with(')')),
                _ => short == full,
            };
            assert!(is_expected, "{full} | {short}");
            compared.insert((mangled.clone(), full.clone()));
        }
        println!("symbols: {recording}: {} demangled names", compared.len());
        assert!(compared.len() >= 10, "{compared:?}");
        if recording != "cxx" {
            continue;
        }
        let mangled: Vec<_> = compared.iter().map(|(mangled, _)| mangled.as_str()).collect();
        match Command::new("c++filt").args(mangled).output() {
            Ok(output) => {
                let expected = String::from_utf8(output.stdout).unwrap();
                let pairs = compared.iter().map(|(_, full)| full).zip(expected.lines());
                // Expressions in types and lambdas are written differently.
                let equal = pairs.filter(|(full, expected)| full == expected).count();
                println!("symbols: {equal} of {} names equal those of c++filt", compared.len());
                assert!(equal * 4 > compared.len() * 3);
            }
            Err(_) => note_missing_oracle("c++filt"),
        }
    }
}

/// A function without its offset and file: `name+0x1f (/bin/app)`, `name (inlined)`.
fn plain_end(line: &str) -> &str {
    let name = line.rsplit_once(" (").map_or(line, |(name, _)| name);
    name.rsplit_once("+0x").map_or(name, |(name, _)| name)
}

/// Flags of the mapping of a file: functions, file names, lines, inlined functions.
fn flags(profile: &Profile, file: &str) -> [bool; 4] {
    let has_name = |mapping: &&perfconv::formats::pprof::proto::Mapping| {
        profile.string_table[mapping.filename as usize].ends_with(file)
    };
    let mapping = profile.mapping.iter().find(has_name).unwrap();
    [mapping.has_functions, mapping.has_filenames, mapping.has_line_numbers, mapping.has_inline_frames]
}

#[test]
fn pprof_mappings_are_marked_as_symbolized_if_any_location_is() {
    let dir = tempfile::tempdir().unwrap();
    let [path, foreign, kallsyms] = ["out.pb.gz", "foreign.data", "kallsyms"].map(|name| dir.path().join(name));
    let converted = |name: &str, args: &[&str]| {
        // The kernel of this machine may be the recorded one.
        let foreign_host = ["-f", "-q", "--set", "hostname=other", "-o"];
        assert_eq!(run(perfconv().arg(recording(name)).args(foreign_host).arg(&foreign)).status, 0);
        let mut command = perfconv();
        command.arg(&foreign).arg("--symfs").arg(files()).args(["-f", "-o"]).arg(&path).args(args);
        let run = run(command.env("HOME", "/nonexistent"));
        assert_eq!(run.status, 0, "{}", run.stderr);
        profile(&path)
    };
    let (all, none) = ([true; 4], [false; 4]);
    let profile = converted("c", &[]);
    assert_eq!((flags(&profile, "mill-fp"), flags(&profile, "libc.so.6")), (all, none));
    assert_eq!(flags(&profile, "[kernel.kallsyms]_text"), none);
    assert_eq!(flags(&converted("words", &[]), "words"), all);
    assert_eq!(flags(&converted("c", &["--no-inline"]), "mill-fp"), [true, true, true, false]);
    assert_eq!(flags(&converted("c", &["--symbols", "no"]), "mill-fp"), none);
    // A symbol table has no lines. A location without a function does not clear the flag of the others.
    let functions = "ffffffff81000000 T _text\nffffffff81000100 T every_function\nffffffff8220bb08 T _etext\n";
    fs::write(&kallsyms, functions).unwrap();
    let of_kernel =
        |kallsyms: &Path| flags(&converted("c", &["--kallsyms", kallsyms.to_str().unwrap()]), "[kernel.kallsyms]_text");
    assert_eq!(of_kernel(&kallsyms), [true, false, false, false]);
    let first = profile.location.iter().filter(|location| location.address >> 63 == 1).map(|place| place.address).min();
    let part = format!("{:x} T later\nffffffff8220bb08 T _etext\n", first.unwrap() + 1);
    fs::write(&kallsyms, part).unwrap();
    assert_eq!(of_kernel(&kallsyms), [true, false, false, false]);
    // In stripped objects, not all functions have names.
    if let Some(corpus) = corpus() {
        let mut command = perfconv();
        command.arg(corpus.join("rec/d-fp-cxx.data")).arg("--symfs").arg(corpus.join("symfs"));
        assert_eq!(run(command.args(["-f", "-q", "-o"]).arg(&path)).status, 0);
        let profile = super::program::profile(&path);
        let of_mapping = |id: u64| profile.location.iter().filter(move |location| location.mapping_id == id);
        for mapping in &profile.mapping {
            let lines = || of_mapping(mapping.id).flat_map(|location| &location.line);
            let name = |line: &perfconv::formats::pprof::proto::Line| {
                let function = &profile.function[line.function_id as usize - 1];
                &*profile.string_table[function.name as usize]
            };
            let file = &profile.string_table[mapping.filename as usize];
            let base = file.rsplit('/').next().unwrap();
            let is_named = lines().any(|line| !name(line).starts_with(&format!("{base}+")));
            assert_eq!(mapping.has_functions, is_named, "{file}");
        }
    }
}

#[test]
fn no_symbols_are_read_if_none_are_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.pb.gz");
    let run_no = run(convert("c", &["--symbols", "no", "-o"]).arg(&path));
    assert_eq!(run_no.status, 0, "{}", run_no.stderr);
    let profile = profile(&path);
    let names = profile.function.iter().map(|function| &*profile.string_table[function.name as usize]);
    let named: Vec<_> = names.filter(|name| !name.contains('+') && *name != "[unknown]").collect();
    assert!(named.is_empty(), "{named:?}");
    assert!(run_no.stderr.contains("100% of samples"), "{}", run_no.stderr);
    // Nor for anonymized outputs, in which names would be disclosed.
    let run = run(convert("c", &["--anonymize", "-t", "perf-script", "-q"]).stdin(Stdio::null()));
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(!text.contains("hand_leaf") && !text.contains("mill-fp") && text.contains("[unknown]"), "{text:.300}");
}

#[test]
fn the_report_names_objects_without_symbols() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.pb.gz");
    let done = run(convert("c", &["-f", "-o"]).arg(&path));
    let expected = "in /usr/lib/x86_64-linux-gnu/libc.so.6 (build ID ";
    let line = done.stderr.lines().find(|line| line.contains(expected)).unwrap_or_default();
    assert!(line.ends_with(": no matching file; use --symfs DIR"), "{line}");
    let verbose = run(convert("c", &["-f", "-v", "-o"]).arg(&path));
    assert!(verbose.stderr.contains("libc.so.6: not found"), "{}", verbose.stderr);
    let json = run(convert("c", &["-f", "--report", "json", "-o"]).arg(&path));
    let json: serde_json::Value = serde_json::from_str(json.stderr.trim()).unwrap();
    let objects = json["objects_without_function_names"].as_array().unwrap();
    assert!(objects.iter().any(|object| object["name"].as_str().unwrap().ends_with("libc.so.6")), "{json}");

    // A file that does not match is only used on request.
    let other = dir.path().join("other");
    fs::create_dir_all(other.join("srv/sym/bin")).unwrap();
    fs::copy(files().join("srv/sym/bin/foundry-fp"), other.join("srv/sym/bin/mill-fp")).unwrap();
    let with_other = |args: &[&str]| {
        let mut command = perfconv();
        command.arg(recording("c")).arg("--symfs").arg(&other).args(["-f", "-v", "-o"]).arg(&path).args(args);
        run(command.env("HOME", "/nonexistent"))
    };
    let mismatched = with_other(&[]);
    assert!(mismatched.stderr.contains("mill-fp: has build ID "), "{}", mismatched.stderr);
    let forced = with_other(&["--symbols", "force"]);
    assert_eq!(forced.status, 0, "{}", forced.stderr);
    let names = profile(&path).string_table;
    assert!(names.iter().any(|name| name.contains("foundry::")), "{names:?}");
}

#[test]
fn json_and_tables_have_functions() {
    let json = run(&mut convert("c", &["-t", "perf-json", "-q"]));
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let frames: Vec<_> =
        json["samples"].as_array().unwrap().iter().flat_map(|sample| sample["callchain"].as_array().unwrap()).collect();
    let inlined = frames.iter().find(|frame| frame["inlined"] == true).expect("an inlined frame");
    assert!(inlined["symbol"].is_string() && inlined["line"].as_u64().unwrap() > 0, "{inlined}");
    assert!(inlined["file"].as_str().unwrap().ends_with("/mill.c") && inlined["dso"] == "mill-fp", "{inlined}");
    let exact = run(&mut convert("c", &["-t", "perf-json", "--exact", "-q"]));
    assert!(!String::from_utf8(exact.stdout).unwrap().contains("\"symbol\""));

    let dir = tempfile::tempdir().unwrap();
    let tables = dir.path().join("tables");
    let done = run(convert("c", &["-t", "csv", "-q", "-o"]).arg(&tables));
    assert_eq!(done.status, 0, "{}", done.stderr);
    let results = fs::read_to_string(tables.join("results.csv")).unwrap();
    let mut lines = results.lines();
    assert!(lines.next().unwrap().ends_with(",symbol,inlined,source_file,line"), "{results:.200}");
    assert!(lines.any(|line| line.contains(",hand_leaf,,/srv/sym/src/mill.c,")), "{results:.2000}");
    assert!(results.contains(",grind,sieve,") || results.contains(",grind,hull,"), "{results:.2000}");
}

#[test]
fn options_of_symbols_need_an_output_with_functions() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.data");
    let run = run(convert("c", &["-o"]).arg(&path));
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("--symfs requires --build-ids") && run.stderr.contains("functions"), "{}", run.stderr);
}

#[test]
fn check_reports_objects_without_functions() {
    let check = |args: &[&str]| {
        let mut command = perfconv();
        command.args(["check", "--symbols"]).arg(recording("c")).args(args).env("HOME", "/nonexistent");
        run(&mut command)
    };
    let files = files();
    let files = files.to_str().unwrap();
    let found = check(&["--symfs", files]);
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    assert_eq!(found.status, 3, "{text} {}", found.stderr);
    let mut lines = text.lines();
    assert!(lines.next().unwrap().contains("c.data: 96% of samples have frames without function names"), "{text}");
    assert!(lines.next().unwrap().starts_with("  96% in /usr/lib/x86_64-linux-gnu/libc.so.6 (build ID "), "{text}");
    assert!(!text.contains("mill-fp"), "{text}");
    let without = check(&[]);
    assert!(String::from_utf8_lossy(&without.stdout).contains(" in /srv/sym/bin/mill-fp (build ID "));
    let json = check(&["--json", "--symfs", files]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["samples"], 1348);
    let mut unrelated = perfconv();
    unrelated.arg("check").arg(recording("c")).args(["--symfs", files]);
    let unrelated = run(&mut unrelated);
    assert!(unrelated.status == 2 && unrelated.stderr.contains("--symfs requires --symbols"), "{}", unrelated.stderr);
}

#[test]
fn a_file_without_build_id_must_be_the_recorded_one() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("program.c");
    let program = dir.path().join("program");
    fs::write(&source, "int spin(void) { volatile int n = 0; while (n < 300000000) n++; return n; }\nint main(void) { return spin() == 0; }\n").unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-g", "-Wl,--build-id=none", "-o"]).arg(&program).arg(&source);
    if !cc.status().is_ok_and(|status| status.success()) {
        note_missing_oracle("a C compiler");
        return println!("symbols: skipped: no C compiler");
    }
    let data = dir.path().join("perf.data");
    let mut record = with_time_limit("perf");
    record.args(["record", "-q", "-e", "cpu-clock", "-o"]).arg(&data).arg(&program).env("HOME", dir.path());
    if run_other(record.stdin(Stdio::null())).status != 0 {
        note_missing_oracle("a perf that can record");
        return println!("symbols: skipped: perf cannot record here");
    }
    let names_spin = || {
        let mut command = perfconv();
        command.arg(&data).args(["-t", "perf-script", "-q"]).env("HOME", dir.path());
        String::from_utf8(run(&mut command).stdout).unwrap().contains("spin+0x")
    };
    assert!(names_spin(), "the recorded file should be used");
    let copy = dir.path().join("copy");
    let modified = fs::metadata(&program).unwrap().modified().unwrap();
    fs::copy(&program, &copy).unwrap();
    fs::File::options().write(true).open(&copy).unwrap().set_modified(modified).unwrap();
    fs::rename(&program, dir.path().join("recorded")).unwrap();
    fs::rename(&copy, &program).unwrap();
    assert!(!names_spin(), "a file with another inode should not be used");
}
