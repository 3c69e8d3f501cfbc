//! Data of an imported profile that a recording has no field for is preserved in outputs that have one.

use crate::common::program::{self, column, perfconv, run, succeed};
use crate::common::work_dir::WorkDir;
use flate2::Compression;
use flate2::write::GzEncoder;
use perfconv::formats::pprof::proto::Profile;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

fn text(profile: &Profile, index: i64) -> &str {
    &profile.string_table[index as usize]
}

/// A frame: address, file of the mapping, its build ID, and the lines: function, system name, file, first line, line, column.
type Frame = (u64, String, String, Vec<(String, String, String, i64, i64, i64)>);

/// The samples of a profile as a map from stack and labels to values.
fn samples(profile: &Profile) -> BTreeMap<(Vec<Frame>, Vec<String>), Vec<i64>> {
    let mut samples = BTreeMap::new();
    for sample in &profile.sample {
        let frame = |id: &u64| {
            let location = profile.location.iter().find(|location| location.id == *id).unwrap();
            let mapping = profile.mapping.iter().find(|mapping| mapping.id == location.mapping_id);
            let of_mapping = |index: Option<i64>| index.map_or("", |index| text(profile, index)).to_owned();
            let line = |line: &perfconv::formats::pprof::proto::Line| {
                let function = profile.function.iter().find(|function| function.id == line.function_id).unwrap();
                let name = |index| text(profile, index).to_owned();
                let (own, system, file) = (name(function.name), name(function.system_name), name(function.filename));
                (own, system, file, function.start_line, line.line, line.column)
            };
            let (file, id) = (of_mapping(mapping.map(|m| m.filename)), of_mapping(mapping.map(|m| m.build_id)));
            (location.address, file, id, location.line.iter().map(line).collect())
        };
        let stack = sample.location_id.iter().map(frame).collect();
        let label = |label: &perfconv::formats::pprof::proto::Label| {
            let of = |index| text(profile, index);
            format!("{}={}{} {}", of(label.key), of(label.str), label.num, of(label.num_unit))
        };
        let mut labels: Vec<String> = sample.label.iter().map(label).collect();
        labels.sort();
        let values: &mut Vec<i64> = samples.entry((stack, labels)).or_insert_with(|| vec![0; sample.value.len()]);
        values.iter_mut().zip(&sample.value).for_each(|(sum, value)| *sum += value);
    }
    samples
}

/// The properties of a profile as a whole.
fn header(profile: &Profile) -> Vec<String> {
    let types = profile.sample_type.iter().map(|kind| format!("{:?}", column(profile, kind)));
    let period = profile.period_type.as_ref().map(|kind| column(profile, kind));
    let comments = profile.comment.iter().map(|&comment| text(profile, comment));
    let others = [profile.default_sample_type, profile.drop_frames, profile.keep_frames, profile.doc_url];
    let others = others.into_iter().map(|index| text(profile, index));
    let numbers = format!("{period:?} {} {} {}", profile.period, profile.time_nanos, profile.duration_nanos);
    types.chain([numbers]).chain(comments.chain(others).map(str::to_owned)).collect()
}

fn json_of(bytes: &[u8]) -> serde_json::Value {
    serde_json::from_slice(bytes).expect("JSON")
}

impl WorkDir {
    /// Converts an input. Returns the output and the messages.
    fn convert(&self, input: &Path, args: &[&str], output: &str) -> (PathBuf, String) {
        let output = self.path(output);
        let run = succeed(perfconv().arg(input).args(args).arg("-f").arg("-o").arg(&output));
        (output, run.stderr)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }
}

/// A profile that uses all of profile.proto: inlined frames, several columns, all kinds of labels, regular expressions.
fn full_profile() -> Profile {
    use perfconv::formats::pprof::proto::{Function, Label, Line, Location, Mapping, Sample, ValueType};
    let mut table = vec![String::new()];
    let mut id = |text: &str| {
        if let Some(seen) = table.iter().position(|seen| seen == text) {
            return seen as i64;
        }
        table.push(text.to_owned());
        table.len() as i64 - 1
    };
    let count = id("count");
    let kind = |r#type, unit| ValueType { r#type, unit };
    let mut profile = Profile {
        sample_type: vec![kind(id("allocs"), count), kind(id("space"), id("bytes")), kind(id("held"), id("bytes"))],
        default_sample_type: id("space"),
        period_type: Some(kind(id("space"), id("bytes"))),
        period: 524_288,
        time_nanos: 1_700_000_000_000_000_000,
        duration_nanos: 5_000_000_000,
        comment: vec![id("first comment"), id("second")],
        drop_frames: id("runtime\\.mallocgc"),
        keep_frames: id("main\\..*"),
        doc_url: id("https://example.org/profile"),
        ..Profile::default()
    };
    let mapping = |id, start, filename, build_id| Mapping {
        id,
        memory_start: start,
        memory_limit: start + 0x10_0000,
        file_offset: 0x1000,
        filename,
        build_id,
        has_functions: true,
        ..Mapping::default()
    };
    profile.mapping.push(mapping(1, 0x40_0000, id("/usr/bin/program"), id("0123456789abcdef0123456789abcdef01234567")));
    profile.mapping.push(mapping(2, 0x7f00_0000, id("/usr/lib/libother.so"), 0));
    let function =
        |id, name, system_name, filename, start_line| Function { id, name, system_name, filename, start_line };
    profile.function.push(function(1, id("main.work"), id("_Z4workv"), id("/src/work.cc"), 10));
    profile.function.push(function(2, id("inlined(int)"), id("_Z7inlinedi"), id("/src/work.cc"), 3));
    profile.function.push(function(3, id("std::sort"), id("_ZSt4sort"), id("/usr/include/algorithm"), 100));
    profile.function.push(function(4, id("nameless file"), id("nameless file"), 0, 0));
    let line = |function_id, line, column| Line { function_id, line, column };
    let location = |id, mapping_id, address, line| Location { id, mapping_id, address, line, is_folded: false };
    profile.location.push(location(1, 1, 0x40_1234, vec![line(3, 120, 7), line(2, 4, 0), line(1, 17, 9)]));
    profile.location.push(location(2, 1, 0x40_2000, vec![line(1, 21, 0)]));
    profile.location.push(location(3, 2, 0x7f00_0500, vec![line(4, 0, 0)]));
    profile.location.push(location(4, 0, 0, vec![line(3, 0, 0)]));
    profile.location.push(location(5, 2, 0, vec![line(2, 5, 1), line(4, 0, 0)]));
    let number = |key, num, num_unit| Label { key, num, num_unit, str: 0 };
    let texts = |key, str| Label { key, str, ..Label::default() };
    let labels = vec![
        number(id("bytes"), 4096, id("bytes")),
        texts(id("goroutine"), id("worker")),
        number(id("pid"), 7, id("pid")),
    ];
    profile.sample.push(Sample { location_id: vec![1, 2, 3], value: vec![3, 12_288, 4096], label: labels });
    let labels =
        vec![texts(id("goroutine"), id("main")), number(id("negative"), -5, 0), number(id("pid"), 7, id("pid"))];
    profile.sample.push(Sample { location_id: vec![5, 4, 1], value: vec![1, 64, 0], label: labels });
    let labels = vec![number(id("pid"), 8, id("pid"))];
    profile.sample.push(Sample { location_id: vec![3], value: vec![2, 128, 128], label: labels });
    profile.string_table = table;
    profile
}

fn inputs(dir: &WorkDir) -> Vec<PathBuf> {
    let own = |name| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/profiles").join(name);
    let full = dir.path("full.pb.gz");
    let mut out = GzEncoder::new(fs::File::create(&full).unwrap(), Compression::fast());
    out.write_all(&prost::Message::encode_to_vec(&full_profile())).unwrap();
    out.finish().unwrap();
    vec![own("cpu.pprof"), own("mem.pprof"), own("block.pprof"), full]
}

#[test]
fn pprof_to_pprof_preserves_the_profile() {
    let dir = WorkDir::new();
    for input in inputs(&dir) {
        let (output, _) = dir.convert(&input, &["-q"], "same.pb.gz");
        assert_eq!(program::profile(&output), program::profile(&input), "{}", input.display());
    }
}

#[test]
fn filters_of_a_pprof_drop_only_filtered_samples() {
    let dir = WorkDir::new();
    for input in inputs(&dir) {
        let (output, messages) = dir.convert(&input, &["--head", "1000000000"], "filtered.pb.gz");
        let (before, after) = (program::profile(&input), program::profile(&output));
        assert_eq!(samples(&after), samples(&before), "{}", input.display());
        assert_eq!(header(&after), header(&before), "{}", input.display());
        assert!(!messages.contains("warning"), "{messages}");
    }
    let full = dir.path("full.pb.gz");
    let (output, _) = dir.convert(&full, &["-q", "--pid", "7"], "filtered.pb.gz");
    let (before, after) = (program::profile(&full), program::profile(&output));
    let mut expected = samples(&before);
    expected.retain(|(_, labels), _| labels.contains(&"pid=7 pid".to_owned()));
    assert_eq!((samples(&after), expected.len()), (expected, 2));
    assert_eq!(header(&after), header(&before));
}

#[test]
fn folded_stacks_convert_to_one_column_with_functions() {
    let dir = WorkDir::new();
    let input = dir.write("s.folded", "main;a 70\nmain;b 30\nmain;b;sys_read_[k] 719\n");
    let (output, messages) = dir.convert(&input, &[], "s.pb.gz");
    assert!(messages.contains("3 values in (819 samples), 3 out, 0 dropped"), "{messages}");
    assert!(!messages.contains("warning"), "{messages}");
    let (_, report) = dir.convert(&input, &["--report", "json"], "s.pb.gz");
    assert_eq!(json_of(report.as_bytes())["sums"], "819 samples");
    let profile = program::profile(&output);
    let types: Vec<_> = profile.sample_type.iter().map(|kind| column(&profile, kind)).collect();
    assert_eq!(types, [("samples", "count")]);
    assert_eq!(profile.period, 1);
    let stacks: BTreeMap<Vec<String>, Vec<i64>> = samples(&profile)
        .into_iter()
        .map(|((stack, labels), values)| {
            assert!(labels.is_empty() && stack.iter().all(|(address, file, ..)| *address == 0 && file.is_empty()));
            (stack.into_iter().flat_map(|(.., lines)| lines).map(|(name, ..)| name).collect(), values)
        })
        .collect();
    let expected = [(vec!["a", "main"], 70), (vec!["b", "main"], 30), (vec!["sys_read", "b", "main"], 719)];
    let expected: BTreeMap<Vec<String>, Vec<i64>> =
        expected.into_iter().map(|(stack, sum)| (stack.into_iter().map(str::to_owned).collect(), vec![sum])).collect();
    assert_eq!(stacks, expected);
}

const SCRIPT: &str = "\
worker  7/8 [001] 12.000001:     250000 cpu-clock: \n\
\t          401234 inner+0x14 (/usr/bin/app)\n\
\t          402000 outer+0x20 (/usr/bin/app)\n\
\tffffffff81000200 do_syscall_64+0x10 ([kernel.kallsyms])\n\
\n\
worker  7/8 [001] 12.250001:     250000 cpu-clock: \n\
\t          402000 outer+0x20 (/usr/bin/app)\n\
\n";

#[test]
fn pprof_has_functions_and_period_of_perf_script_text() {
    let dir = WorkDir::new();
    let (output, messages) = dir.convert(&dir.write("in.script", SCRIPT), &[], "out.pb.gz");
    assert!(messages.contains("2 samples in, 2 out, 0 dropped"), "{messages}");
    let profile = program::profile(&output);
    let types: Vec<_> = profile.sample_type.iter().map(|kind| column(&profile, kind)).collect();
    assert_eq!((types, profile.period), (vec![("samples", "count"), ("cpu", "nanoseconds")], 250_000));
    let names = |stack: Vec<Frame>| stack.into_iter().flat_map(|(.., lines)| lines).map(|(name, ..)| name).collect();
    let stacks: BTreeSet<Vec<String>> = samples(&profile).into_keys().map(|(stack, _)| names(stack)).collect();
    let expected = [vec!["inner", "outer", "do_syscall_64"], vec!["outer"]];
    assert_eq!(stacks, expected.map(|stack| stack.into_iter().map(str::to_owned).collect()).into());
}

#[test]
fn inlined_frames_of_perf_script_text_share_a_location() {
    let dir = WorkDir::new();
    let text = "worker  7 12.000001:     250000 cpu-clock: \n\
                \t          401234 innermost (inlined)\n\
                \t          401234 inner (inlined)\n\
                \t          401234 outer+0x14 (/usr/bin/app)\n\
                \t          402000 inner (inlined)\n\
                \t          402000 main+0x20 (/usr/bin/app)\n\n";
    let (output, messages) = dir.convert(&dir.write("in.script", text), &[], "out.pb.gz");
    assert!(!messages.contains("warning"), "{messages}");
    let names = |frame: &Frame| frame.3.iter().map(|(name, ..)| name.clone()).collect::<Vec<_>>();
    let profile = program::profile(&output);
    let (stack, _) = samples(&profile).into_keys().next().unwrap();
    let found: Vec<_> = stack.iter().map(names).collect();
    assert_eq!(found, [vec!["innermost", "inner", "outer"], vec!["inner", "main"]]);
}

#[test]
fn perf_json_and_csv_have_functions_of_an_imported_profile() {
    let dir = WorkDir::new();
    let input = dir.write("in.script", SCRIPT);
    let (json, _) = dir.convert(&input, &["-q", "-t", "perf-json"], "out.json");
    let json = json_of(&fs::read(json).unwrap());
    let names: Vec<_> =
        json["samples"][0]["callchain"].as_array().unwrap().iter().map(|frame| frame["symbol"].clone()).collect();
    assert_eq!(names, ["inner", "outer", "do_syscall_64"]);
    let (tables, _) = dir.convert(&input, &["-q", "-t", "csv"], "tables");
    let results = fs::read_to_string(tables.join("results.csv")).unwrap();
    let symbols: Vec<_> = results.lines().map(|line| line.split(',').nth(6).unwrap()).collect();
    assert_eq!(symbols, ["symbol", "inner", "outer"]);
}

#[test]
fn anonymized_profiles_have_no_names_of_the_imported_one() {
    let dir = WorkDir::new();
    for (name, text) in [("in.script", SCRIPT), ("in.folded", "worker;inner;outer 5\n")] {
        let input = dir.write(name, text);
        for (args, output) in
            [(&["-q", "--anonymize"][..], "a.pb"), (&["-q", "--anonymize", "-t", "perf-json"], "a.json")]
        {
            let (output, _) = dir.convert(&input, args, output);
            let bytes = fs::read(&output).unwrap();
            for secret in ["inner", "outer", "worker"] {
                let occurs = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
                assert!(!occurs, "{name}: {} has {secret}", output.display());
            }
        }
    }
}

#[test]
fn info_prints_an_imported_profile_as_a_profile() {
    let dir = WorkDir::new();
    let folded = dir.write("s.folded", "main;a 70\nmain;b 30\n");
    for args in [&["info"][..], &[]] {
        let shown = run(perfconv().args(args).arg(&folded));
        let text = String::from_utf8(shown.stdout).unwrap();
        assert_eq!(shown.status, 0, "{}", shown.stderr);
        assert!(text.contains("a profile (folded)") && text.contains("values    100 samples/count"), "{text}");
        assert!(!text.contains("data offset") && !text.contains("captured on"), "{text}");
    }
    let json = json_of(&run(perfconv().args(["info", "--json"]).arg(&folded)).stdout);
    assert_eq!((&json["format"], &json["values"][0]["sum"]), (&"folded".into(), &100.into()));
    inputs(&dir);
    let full = json_of(&run(perfconv().args(["info", "--json"]).arg(dir.path("full.pb.gz"))).stdout);
    assert_eq!((full["period"].as_i64(), full["values"][1]["sum"].as_i64()), (Some(524_288), Some(12_480)));
}
