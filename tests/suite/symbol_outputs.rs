//! Functions, inlined functions and lines in outputs.

use crate::common::program::{perfconv, profile, run, succeed};
use crate::common::symbol_outputs::{by_function, convert, demangled, files, plain, recording, samples};
use perfconv::formats::pprof::proto::Profile;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The recordings with files beside the repository, if they are there.
fn corpus() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/symbols").canonicalize().ok()?;
    path.join("golden").is_dir().then_some(path)
}

/// What two versions of perf printed for the recordings: version, and the part of the file names.
const GOLDENS: [(&str, &str); 2] = [("6.1", "p61"), ("6.12", "p612")];

#[test]
fn frames_have_the_functions_of_the_goldens() {
    let Some(corpus) = corpus() else { return note!("symbols: skipped: no recordings beside the repository") };
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
        let ours = succeed(&mut command);
        let ours = samples(&String::from_utf8(ours.stdout).unwrap());
        for ((version, part), total) in GOLDENS.iter().zip(&mut totals) {
            let Ok(golden) = fs::read(corpus.join("golden").join(format!("{name}.{part}.noinline.txt.zst"))) else {
                continue;
            };
            let golden = samples(&String::from_utf8_lossy(&zstd::decode_all(&golden[..]).unwrap()));
            assert_eq!(golden.len(), ours.len(), "{name}: samples");
            let (mut named, mut same, mut mangled) = (0, 0, 0);
            for ((_, expected), (_, shown)) in golden.iter().zip(&ours) {
                for (expected, shown) in expected.iter().zip(shown).filter(|(expected, _)| expected.0 != "[unknown]") {
                    // perf 6.12 does not demangle all names of Rust, and others in part.
                    if expected.0.starts_with("_R") || expected.0.starts_with("_ZN") || expected.0.contains("$u7b$") {
                        mangled += 1;
                        continue;
                    }
                    named += 1;
                    same += usize::from(plain(&expected.0) == plain(&shown.0));
                }
            }
            let skipped = format!("{mangled} that it does not demangle skipped");
            note!("symbols: {name}: {same} of {named} frames have the function that perf {version} prints; {skipped}");
            assert!(same * 100 >= named * 99, "{name}");
            *total = (total.0 + 1, total.1 + named, total.2 + same, total.3 + mangled);
        }
    }
    for ((version, _), (recordings, all, equal, mangled)) in GOLDENS.iter().zip(totals) {
        note!("symbols: {recordings} recordings, {equal} of {all} frames equal to perf {version}, {mangled} skipped");
        assert!(recordings >= 35 && all > 28_000 && mangled * 9 < all, "compared too little");
    }
}

#[test]
fn pprof_has_lines_inlined_functions_and_system_names() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.pb.gz");
    let convert_with = |args: &[&str]| {
        succeed(convert("cxx", &["-f", "-o"]).arg(&path).args(args));
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
        let names = |how| demangled(&command, how);
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
        note!("symbols: {recording}: {} demangled names", compared.len());
        assert!(compared.len() >= 10, "{compared:?}");
    }
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
        succeed(perfconv().arg(recording(name)).args(foreign_host).arg(&foreign));
        let mut command = perfconv();
        command.arg(&foreign).arg("--symfs").arg(files()).args(["-f", "-o"]).arg(&path).args(args);
        succeed(command.env("HOME", "/nonexistent"));
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
    let first =
        profile.location.iter().filter(|location| location.address >> 63 == 1).map(|location| location.address).min();
    let part = format!("{:x} T later\nffffffff8220bb08 T _etext\n", first.unwrap() + 1);
    fs::write(&kallsyms, part).unwrap();
    assert_eq!(of_kernel(&kallsyms), [true, false, false, false]);
    // In stripped objects, not all functions have names.
    if let Some(corpus) = corpus() {
        let mut command = perfconv();
        command.arg(corpus.join("rec/d-fp-cxx.data")).arg("--symfs").arg(corpus.join("symfs"));
        succeed(command.args(["-f", "-q", "-o"]).arg(&path));
        let profile = crate::common::program::profile(&path);
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
    let run_no = succeed(convert("c", &["--symbols", "no", "-o"]).arg(&path));
    let profile = profile(&path);
    let names = profile.function.iter().map(|function| &*profile.string_table[function.name as usize]);
    let named: Vec<_> = names.filter(|name| !name.contains('+') && *name != "[unknown]").collect();
    assert!(named.is_empty(), "{named:?}");
    assert!(run_no.stderr.contains("100% of frames and 100% of innermost frames"), "{}", run_no.stderr);
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

    let dir = tempfile::tempdir().unwrap();
    let tables = dir.path().join("tables");
    succeed(convert("c", &["-t", "csv", "-q", "-o"]).arg(&tables));
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
    let result = check(&["--symfs", files]);
    let text = String::from_utf8_lossy(&result.stdout).into_owned();
    assert_eq!(result.status, 3, "{text} {}", result.stderr);
    let mut lines = text.lines();
    assert!(
        lines
            .next()
            .unwrap()
            .contains("c.data: 21% of frames and less than 1% of innermost frames have no function name"),
        "{text}"
    );
    assert!(
        lines.next().unwrap().starts_with(
            "  21% of frames, less than 1% of innermost in /usr/lib/x86_64-linux-gnu/libc.so.6 (build ID "
        ),
        "{text}"
    );
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
