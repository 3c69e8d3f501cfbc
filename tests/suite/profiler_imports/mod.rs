//! Imports of speedscope files and processed profiles of the Firefox Profiler: round trips, and files of other programs.

mod invalid;

use crate::common::files;
use crate::common::program::{self, Run, perfconv, run};
use crate::common::symbol_outputs::plain;
use crate::common::totals;
use crate::common::work_dir::WorkDir;
use perfconv::formats::pprof::proto::{Line, Location, Profile};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

const SPEEDSCOPE: &str = "x.speedscope.json";
const FIREFOX: &str = "x.fx.json.gz";

fn convert(input: &Path, output: &Path, args: &[&str]) -> Run {
    run(perfconv().arg(input).args(["-f", "-o"]).arg(output).args(args).env("HOME", "/nonexistent"))
}

impl WorkDir {
    /// Converts an input to an output in the directory. Returns its path and the messages.
    fn try_convert(&self, input: &Path, output: &str, args: &[&str]) -> Result<(PathBuf, String), String> {
        let output = self.path(output);
        let run = convert(input, &output, args);
        if run.status == 0 { Ok((output, run.stderr)) } else { Err(run.stderr) }
    }

    /// Imports a text. Returns perf script text of the recording and the messages.
    fn import(&self, name: &str, text: &str) -> Result<(String, String), String> {
        let input = self.path(name);
        fs::write(&input, text).expect("an input");
        let (recording, messages) = self.try_convert(&input, "back.data", &[])?;
        let images = self.path("back.data.images").display().to_string();
        let (script, _) = self.try_convert(&recording, "back.script", &["-q", "--buildid-dir", &images])?;
        Ok((fs::read_to_string(script).expect("text"), messages))
    }
}

fn totals_survive(format: &str, output: &str, enough: (usize, usize)) {
    let recordings = files::recordings();
    let enough = if files::has_corpus("profiler imports") { enough.0 } else { enough.1 };
    totals::compare(&format!("{format} and back"), &recordings, enough, |recording, expected| {
        let dir = WorkDir::new();
        let (profile, _) = dir.try_convert(&recording.path, output, &["-q", "--symbols", "no"])?;
        let (back, _) = dir.try_convert(&profile, "back.data", &["-q"])?;
        totals::check_equal(&totals::like(totals::of_recording(&back)?, expected), expected)
    });
}

#[test]
fn totals_survive_speedscope() {
    totals_survive("speedscope", SPEEDSCOPE, (300, 15));
}

#[test]
fn totals_survive_firefox() {
    totals_survive("firefox", FIREFOX, (500, 20));
}

/// The functions at a location, inlined ones first, each with file and line.
type Functions = Vec<(String, String, i64)>;

/// Values by thread and stack.
type Stacks = BTreeMap<(String, Vec<Functions>), i64>;

/// The named functions of stacks, with the sum of the last value.
fn stacks(profile: &Profile) -> Stacks {
    let text = |index: i64| profile.string_table[index as usize].clone();
    let functions: HashMap<u64, _> = profile.function.iter().map(|function| (function.id, function)).collect();
    let of_line = |line: &Line| {
        let function = functions[&line.function_id];
        // A recording stores files only with lines.
        let file = if line.line > 0 { text(function.filename) } else { String::new() };
        (plain(&text(function.name)), file, line.line)
    };
    let of_location = |location: &Location| location.line.iter().map(of_line).collect();
    let locations: HashMap<u64, Functions> =
        profile.location.iter().map(|location| (location.id, of_location(location))).collect();
    let is_named =
        |functions: &Functions| functions.iter().all(|(name, ..)| !name.starts_with('[') && !name.contains("+0x"));
    let mut stacks = Stacks::new();
    for sample in &profile.sample {
        let labels = sample.label.iter().map(|label| format!("{}={}{}", text(label.key), label.num, text(label.str)));
        let frames = sample.location_id.iter().map(|id| locations[id].clone()).filter(is_named);
        let value = stacks.entry((labels.collect::<Vec<_>>().join(" "), frames.collect())).or_default();
        *value += sample.value.last().copied().unwrap_or(0);
    }
    stacks
}

/// Stacks whose inlined functions are separate frames.
fn flat(stacks: Stacks) -> Stacks {
    let mut all = Stacks::new();
    for ((labels, frames), value) in stacks {
        let frames = frames.into_iter().flatten().map(|function| vec![function]).collect();
        *all.entry((labels, frames)).or_default() += value;
    }
    all
}

/// Stacks of function names only.
fn names(stacks: &Stacks) -> Stacks {
    let mut all = Stacks::new();
    for ((labels, frames), value) in stacks {
        let name = |(name, ..): &(String, String, i64)| (name.clone(), String::new(), 0);
        let frames = frames.iter().map(|functions| functions.iter().map(name).collect()).collect();
        *all.entry((labels.clone(), frames)).or_default() += value;
    }
    all
}

fn check_stacks(found: &Stacks, expected: &Stacks, what: &str) {
    let missing = expected.iter().find(|(stack, value)| found.get(*stack) != Some(*value));
    assert!(
        missing.is_none() && found.len() == expected.len(),
        "{what}: {} and {} stacks; {missing:?}",
        found.len(),
        expected.len()
    );
}

#[test]
fn stacks_survive_with_functions_files_and_lines() {
    let symbols = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let files = symbols.join("files").display().to_string();
    let dir = WorkDir::new();
    let labels = ["-q", "--labels", "pid,tid,thread_comm"];
    let read = |input: &Path, args: &[&str]| {
        let (output, _) = dir.try_convert(input, "out.pb.gz", &[&labels, args].concat()).expect("a profile");
        stacks(&program::profile(&output))
    };
    // No files of this machine, which may run the recorded kernel.
    let no_files = ["--symfs", &dir.path("").display().to_string()];
    // Of no kernel, so that the functions are the same on every machine.
    let kallsyms = dir.path("kallsyms").display().to_string();
    let functions =
        (0..1 << 13).map(|page| format!("{:x} T kernel_{page}\n", 0xffff_ffff_8100_0000_u64 + (page << 12)));
    fs::write(&kallsyms, functions.collect::<String>()).expect("a file");
    let symbolized = ["--symfs", &files, "--kallsyms", &kallsyms];
    let (mut compared, mut inlined, mut in_kernel) = (0, 0, 0);
    for name in ["words", "c", "cxx", "jitmap", "dwarf"] {
        let recording = symbols.join(name).with_extension("data");
        let original = read(&recording, &symbolized);
        let (speedscope, _) = dir
            .try_convert(&recording, SPEEDSCOPE, &[&symbolized[..], &["-q", "--frames", "lines"]].concat())
            .expect("a file");
        let (firefox, _) =
            dir.try_convert(&recording, FIREFOX, &[&["-q"], &symbolized[..]].concat()).expect("a profile");
        let functions = || original.keys().flat_map(|(_, frames)| frames);
        in_kernel += functions().flatten().filter(|(name, ..)| name.starts_with("kernel_")).count();
        // Inlined functions are frames like any other in speedscope, and in a recording with its images.
        check_stacks(&read(&firefox, &no_files), &original, &format!("{name}: firefox"));
        inlined += functions().filter(|functions| functions.len() > 1).count();
        let original = flat(original);
        check_stacks(&flat(read(&speedscope, &no_files)), &original, &format!("{name}: speedscope"));
        for profile in [speedscope, firefox] {
            let (back, _) = dir.try_convert(&profile, "back.data", &["-q"]).expect("a recording");
            let images = dir.path("back.data.images").display().to_string();
            let imported = flat(read(&back, &[&["--buildid-dir", &images], &no_files[..]].concat()));
            let what = format!("{name}: {} in a recording", profile.display());
            check_stacks(&names(&imported), &names(&original), &what);
            // In the line table of an image, code without a line has that of the code before it.
            let has_lines =
                |(_, frames): &(String, Vec<Functions>)| frames.iter().flatten().all(|(.., line)| *line > 0);
            let with_lines = |stacks: &Stacks| stacks.clone().into_iter().filter(|(stack, _)| has_lines(stack));
            let imported: Stacks = with_lines(&imported).collect();
            for (stack, value) in with_lines(&original) {
                assert!(
                    imported.get(&stack) >= Some(&value),
                    "{what}: {stack:?}: {:?}, expected {value}",
                    imported.get(&stack)
                );
            }
            compared += imported.len();
        }
    }
    assert!(
        compared > 150 && inlined > 20 && in_kernel > 10,
        "{compared} stacks, {inlined} locations with inlined functions, {in_kernel} functions of the kernel"
    );
}

#[test]
fn speedscope_keeps_first_lines_of_functions() {
    let symbols = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let files = symbols.join("files").display().to_string();
    let dir = WorkDir::new();
    let frames = |path: &Path| -> BTreeSet<String> {
        let file: serde_json::Value = serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON");
        file["shared"]["frames"].as_array().expect("frames").iter().map(ToString::to_string).collect()
    };
    // A file has no linker symbols, from which the language of a name is known.
    let args = ["-q", "--symfs", &files, "--names", "full"];
    let (original, _) = dir.try_convert(&symbols.join("cxx.data"), SPEEDSCOPE, &args).expect("a file");
    let (again, _) = dir.try_convert(&original, "again.speedscope.json", &["-q"]).expect("a file");
    assert_eq!(frames(&again), frames(&original));
}

const EVENTED: &str = r#"{"version":"0.0.1","exporter":"other","name":"server",
"profiles":[{"type":"evented","name":"main thread","unit":"milliseconds","startValue":0,"endValue":7.5,"events":[
 {"type":"O","frame":0,"at":0.5},{"type":"O","frame":1,"at":1},{"type":"C","frame":1,"at":3.25},
 {"type":"C","frame":0,"at":4},{"type":"O","frame":1,"at":7},{"type":"C","frame":1,"at":7.5}]},
{"type":"sampled","name":"heap","unit":"bytes","startValue":0,"endValue":9,"samples":[[0,1],[0]],"weights":[8,1.5]}],
"shared":{"frames":[{"name":"run","file":"run.js","line":10,"col":3},{"name":"wo\u0072k"}]},
"$schema":"https://www.speedscope.app/file-format-schema.json"}"#;

#[test]
fn imports_speedscope_files_of_other_programs() {
    let dir = WorkDir::new();
    // It is recognized by its content.
    let (script, messages) = dir.import("profile.json", EVENTED).expect("a recording");
    let samples: Vec<Vec<&str>> = script.split("\n\n").map(|sample| sample.lines().map(str::trim).collect()).collect();
    let described: BTreeSet<String> = samples
        .iter()
        .filter(|lines| lines.len() > 1)
        .map(|lines| {
            let words: Vec<_> = lines[0].split_whitespace().collect();
            let functions = lines[1..].iter().map(|line| line.split([' ', '+']).nth(1).unwrap_or_default());
            format!("{} | {}", words[words.len() - 2..].join(" "), functions.collect::<Vec<_>>().join(" "))
        })
        .collect();
    let expected = [
        "500000 cpu-clock: | run",
        "2250000 cpu-clock: | work run",
        "750000 cpu-clock: | run",
        "500000 cpu-clock: | work",
        "8 space: | work run",
        "2 space: | run",
    ];
    assert_eq!(described, expected.map(str::to_owned).into(), "{script}");
    assert!(script.contains("main thread") && script.contains("1.000500:"), "{script}");
    assert!(messages.contains("1 weights are rounded to integers"), "{messages}");
    assert!(messages.contains("6 values in"), "{messages}");
}

/// A processed profile in a version before 56, 60, 66 and 71, and in the last one: with tables in threads, and shared.
fn processed(version: u32) -> String {
    let meta = format!(
        r#"{{"interval":1,"startTime":1700000000000.5,"preprocessedProfileVersion":{version},"product":"Firefox","categories":[{{"name":"Other"}},{{"name":"Kernel"}}]}}"#
    );
    let strings = r#""stringArray":["main","/src/main.c","inner","0x2468","sys_read","lib"]"#;
    let files = match version {
        58.. => r#""source":[0,0,null,null]"#,
        _ => r#""fileName":[1,1,null,null]"#,
    };
    let function_flags = if version >= 75 { r#","flags":[28,28,4,4]"# } else { "" };
    let functions = format!(
        r#""funcTable":{{"length":4,"name":[0,2,3,4],"resource":[0,0,0,1],{files},"lineNumber":[5,3,null,null],"columnNumber":[null,null,null,null]{function_flags}}}"#
    );
    let lib = if version >= 70 { r#","lib":[0,0,0,1]"# } else { "" };
    let depth = if version >= 71 { r#""flags":[22,23,6,6]"# } else { r#""inlineDepth":[0,1,0,0]"# };
    let frames = format!(
        r#""frameTable":{{"length":4,"func":[0,1,2,3],"address":[4660,4660,9320,64],{depth},"category":[0,0,0,1],"line":[7,4,0,0],"column":[null,null,null,null]{lib}}}"#
    );
    let prefixes = if version >= 66 { r#""prefixOffset":[0,1,2,1]"# } else { r#""prefix":[null,0,0,2]"# };
    let stacks = format!(r#""stackTable":{{"length":4,"frame":[0,1,2,3],{prefixes}}}"#);
    let resources = r#""resourceTable":{"length":2,"lib":[0,1],"name":[5,5],"host":[null,null],"type":[1,1]}"#;
    let (shared, own) = match version {
        ..56 => (String::new(), [strings, &stacks, &frames, &functions, resources].join(",") + ","),
        56..60 => (strings.to_owned(), [&stacks, &frames, &functions, resources].join(",") + ","),
        60.. => ([strings, &stacks, &frames, &functions, resources].join(","), String::new()),
    };
    let sources = if version >= 58 { r#","sources":{"length":1,"filename":[1]}"# } else { "" };
    let shared = if shared.is_empty() { String::new() } else { format!(r#""shared":{{{shared}{sources}}},"#) };
    format!(
        r#"{{"meta":{meta},{shared}"libs":[{{"name":"app","path":"/bin/app","breakpadId":"","codeId":"0123456789abcdef0123456789abcdef01234567"}},{{"name":"vmlinux","path":"[kernel.kallsyms]","codeId":null}}],
"threads":[{{{own}"name":"Worker","processName":"Web Content","pid":"12.1","tid":34,"samples":{{"length":4,"stack":[1,3,null,0],"timeDeltas":[0.25,1,1,1],"weight":null,"weightType":"samples"}},"markers":{{"length":3}}}},
{{{own}"name":"Web Content","processName":"Web Content","pid":12,"tid":"12","samples":{{"length":2,"stack":[0,0],"time":[-0.5,7],"weight":[2.5,-1],"weightType":"tracing-ms"}},"markers":{{"length":0}}}}]}}"#
    )
}

/// The samples of these profiles. Callers are printed with their return addresses.
const PROCESSED_AS_SCRIPT: &str = "\
Web Content 12 0.999500: 2500000 cpu-clock:
1234 main+0x0 (/bin/app)

Worker 34 1.000250: 1 samples:
3000 inner+0x0 (/bin/app)
1235 main+0x1 (/bin/app)

Worker 34 1.001250: 1 samples:
ffffffff81000040 sys_read+0x0 ([kernel.kallsyms])
2468 [unknown] (/bin/app)
1235 main+0x1 (/bin/app)

Worker 34 1.002250: 1 samples:
0 [unknown] ([unknown])

Worker 34 1.003250: 1 samples:
1234 main+0x0 (/bin/app)";

#[test]
fn imports_processed_profiles_of_each_layout() {
    let dir = WorkDir::new();
    let mut scripts = BTreeSet::new();
    for version in [41, 55, 57, 59, 60, 66, 70, 75] {
        let (script, messages) = dir.import("x.json", &processed(version)).expect("a recording");
        for what in ["3 markers are omitted", "1 negative weights are omitted", "1 inlined frames became ordinary"] {
            assert!(messages.contains(what), "{version}: {messages}");
        }
        scripts.insert(script);
    }
    assert_eq!(scripts.len(), 1, "{scripts:#?}");
    let script = scripts.pop_first().expect("text");
    let lines = script.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    assert_eq!(lines.collect::<Vec<_>>().join("\n").trim(), PROCESSED_AS_SCRIPT);
    // Without the recording, functions keep files, lines, and what is inlined.
    let (profile, _) =
        dir.try_convert(&dir.path("x.json"), "x.pb.gz", &["-q", "--labels", "pid,tid"]).expect("a profile");
    let profile = program::profile(&profile);
    let inlined =
        vec![("inner".to_owned(), "/src/main.c".to_owned(), 4), ("main".to_owned(), "/src/main.c".to_owned(), 7)];
    assert!(stacks(&profile).contains_key(&("pid=12 tid=34".to_owned(), vec![inlined])), "{:?}", stacks(&profile));
    assert!(profile.function.iter().any(|function| function.start_line == 5));
    let build_ids: BTreeSet<_> =
        profile.mapping.iter().map(|map| &profile.string_table[map.build_id as usize]).collect();
    assert!(build_ids.iter().any(|id| *id == "0123456789abcdef0123456789abcdef01234567"), "{build_ids:?}");
}
