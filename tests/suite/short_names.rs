//! Short names of functions: equal in all outputs for people, which also have the full ones, and not in outputs for programs.

use crate::common::program::{perfconv, succeed};
use crate::common::symbol_outputs::convert;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use perf_data::abi::record::CpuMode;
use perf_data::abi::sample::callchain::Context;
use perf_data::abi::sample::{Callchain, Sample};
use perf_data::abi::sample_type::SampleType;
use perfconv::synth::{Event, Map, RecordingBuilder};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

type Names = BTreeSet<String>;

fn output(name: &str, args: &[&str]) -> String {
    let run = succeed(convert(name, args).args(["-q", "-o", "-"]));
    String::from_utf8(run.stdout).expect("UTF-8")
}

/// The strings of a page.
fn page_strings(page: &str) -> Names {
    let start = "id=\"data\">";
    let data = page.split_once(start).and_then(|(_, rest)| rest.split_once("</script>")).expect("data").0;
    let mut bytes = Vec::new();
    ZlibDecoder::new(&STANDARD.decode(data).expect("Base64")[..]).read_to_end(&mut bytes).expect("deflate");
    let len = u32::from_le_bytes(bytes[..4].try_into().expect("4 bytes")) as usize;
    let header: Value = serde_json::from_slice(&bytes[4..4 + len]).expect("JSON");
    strings(&header["strings"])
}

fn strings(list: &Value) -> Names {
    list.as_array().expect("a list").iter().filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

/// The first and second lines of the titles of an image, without counts.
fn titles(image: &str) -> (Names, Names) {
    let titles = image.split("<title>").skip(1).filter_map(|text| Some(text.split_once("</title>")?.0));
    let unescaped = |text: &str| text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let (mut first, mut second) = (Names::new(), Names::new());
    for title in titles.map(unescaped) {
        let (name, full) = title.split_once('\n').unwrap_or((&title, ""));
        first.insert(name.rsplit_once(" (").expect("counts").0.to_owned());
        second.insert(full.to_owned());
    }
    (first, second)
}

fn report(name: &str, args: &[&str]) -> String {
    output(name, &[&["-t", "report", "--group-by", "sym"], args].concat())
}

/// The functions of a text report.
fn reported(text: &str) -> Names {
    text.lines().skip(2).map(|line| line.chars().skip(28).collect::<String>().trim().to_owned()).collect()
}

const FULL: &str = "void std::sort_heap<unsigned int*, foundry::v2::ByHeat>";
const SHORT: &str = "std::sort_heap<...>";

#[test]
fn outputs_for_people_show_the_same_names() {
    let names = reported(&report("cxx", &[]));
    assert!(names.contains(SHORT) && names.contains("foundry::v2::local_phase::Ladle::scoop"), "{names:?}");
    assert!(names.contains("foundry::v2::(anonymous namespace)::Smith::strike"), "{names:?}");
    let functions: Names = names.iter().filter(|name| !name.starts_with('[')).cloned().collect();

    let markdown = output("cxx", &["-t", "markdown", "--limit", "1000"]);
    let page = page_strings(&output("cxx", &["-t", "html"]));
    let (labels, full_names) = titles(&output("cxx", &["-t", "flamegraph"]));
    let speedscope: Value = serde_json::from_str(&output("cxx", &["-t", "speedscope"])).expect("JSON");
    let frames = speedscope["shared"]["frames"].as_array().expect("frames");
    let in_speedscope = |field: &str| strings(&frames.iter().map(|frame| frame[field].clone()).collect());
    let firefox: Value = serde_json::from_str(&output("cxx", &["-t", "firefox"])).expect("JSON");
    let texts = &firefox["shared"]["stringArray"];
    let in_firefox = |column: &str| {
        let column = firefox["shared"]["funcTable"][column].as_array().expect("a column").iter();
        strings(&column.filter_map(Value::as_u64).map(|text| texts[text as usize].clone()).collect())
    };
    for name in &functions {
        assert!(labels.contains(name), "flamegraph: {name}");
        assert!(page.contains(name), "html: {name}");
        assert!(in_speedscope("name").contains(name), "speedscope: {name}");
        assert!(in_firefox("name").contains(name), "firefox: {name}");
        let last: String = name.chars().rev().take(20).collect::<Vec<_>>().into_iter().rev().collect();
        assert!(markdown.contains(&last), "markdown: {name}");
    }
    for full_names in [full_names, page, in_speedscope("fullName"), in_firefox("fullName")] {
        assert!(full_names.contains(FULL), "{full_names:?}");
    }
    let summary = succeed(&mut convert("cxx", &[]));
    let summary = String::from_utf8(summary.stdout).expect("UTF-8");
    assert!(summary.contains(" foundry::v2::local_phase::Ladle::scoop ("), "{summary}");
}

#[test]
fn full_names_are_those_of_outputs_for_programs() {
    let json: Value = serde_json::from_str(&report("cxx", &["--json"])).expect("JSON");
    let entries = json["entries"].as_array().expect("entries");
    let full = strings(&entries.iter().map(|entry| entry["sym"].clone()).collect());
    assert!(full.contains(FULL) && !full.contains(SHORT));
    assert_eq!(reported(&report("cxx", &["--names", "full"])), full);

    let folded = output("cxx", &["-t", "folded"]);
    let frames: Names = folded
        .lines()
        .filter_map(|line| line.rsplit_once(' '))
        .flat_map(|(stack, _)| stack.split(';'))
        .map(str::to_owned)
        .collect();
    let (mut labels, second_lines) = titles(&output("cxx", &["-t", "flamegraph", "--names", "full"]));
    labels.remove("all");
    assert_eq!((labels, second_lines), (frames, Names::from([String::new()])));

    for format in ["speedscope", "firefox"] {
        let text = output("cxx", &["-t", format, "--names", "full"]);
        assert!(text.contains(FULL) && !text.contains(SHORT) && !text.contains("fullName"), "{format}");
    }
    assert!(!page_strings(&output("cxx", &["-t", "html", "--names", "full"])).contains(SHORT));
    for format in ["folded", "perf-script", "callgrind", "chrome", "perfetto"] {
        let run = succeed(&mut convert("cxx", &["-t", format, "-q", "-o", "-"]));
        let text = String::from_utf8_lossy(&run.stdout);
        assert!(
            text.contains("std::sort_heap<unsigned int*, foundry::v2::ByHeat>") && !text.contains(SHORT),
            "{format}"
        );
    }
    let run = crate::common::program::run(convert("cxx", &["-t", "folded", "--names", "full"]).args(["-o", "-"]));
    assert_eq!((run.status, &*run.stderr), (2, "perfconv: --names does not apply to folded\n"));
}

#[test]
fn functions_are_selected_by_both_names() {
    let callers = |name: &str| report("cxx", &["--callers", name]);
    let expected = callers(FULL);
    assert!(expected.contains(&format!("callers of {SHORT}: ")), "{expected}");
    assert_eq!(callers(SHORT), expected);
    let folded = |name: &str| output("cxx", &["-t", "folded", "--base", name]);
    assert_eq!(folded(SHORT), folded(FULL));
    assert!(folded(FULL).contains(&format!(";{FULL};")) || folded(FULL).contains(&format!(";{FULL} ")));
}

/// A file with full names is read with them.
#[test]
fn imports_have_full_names() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for format in ["speedscope", "firefox"] {
        let file = directory.path().join("x.json");
        succeed(convert("cxx", &["-t", format, "-f", "-q", "-o"]).arg(&file));
        let folded = succeed(perfconv().arg(&file).args(["-t", "folded", "-q", "-o", "-"]));
        let folded = String::from_utf8(folded.stdout).expect("UTF-8");
        assert!(folded.contains(FULL) && !folded.contains(SHORT), "{format}");
    }
}

/// Generated code of a process: each function in a line of its map, at its number times 16 behind 0x10000.
const GENERATED: [&str; 7] = [
    "JS:~total /srv/app/cart.js:10:3",
    "LazyCompile:*total /srv/app/cart.js:10:3",
    "LazyCompile:*total /srv/app/order.js:7:1",
    "py::load:/srv/app/main.py",
    "instance void [App] Shop.Cart::Add(int32)[Tier0]",
    "instance void [App] Shop.Cart::Add(int32)[OptimizedTier1]",
    "int java.util.HashMap.size()",
];

/// A recording with a sample in each of these functions, and the directory with their map.
fn generated() -> (TempDir, PathBuf, PathBuf) {
    let mut recording = RecordingBuilder::new();
    let event = recording.event(Event::named("cycles").unwrap().period(1).with(SampleType::CALLCHAIN));
    recording.process(7, "node");
    recording.map(7, Map::new("//anon", 0x10000, 0x1000));
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut map = String::new();
    for (number, name) in (0..).zip(GENERATED) {
        let address = 0x10000 + 16 * number;
        map += &format!("{address:x} 10 {name}\n");
        let callchain = Some(Callchain { ips: vec![Context::USER.0, address + 1] });
        let (ip, time) = (Some(address + 1), Some(1000 + number));
        recording.sample_in(
            CpuMode::USER,
            event,
            Sample { ip, task: Some((7, 7)), time, callchain, ..Sample::default() },
        );
    }
    let (data, files) = (directory.path().join("perf.data"), directory.path().join("files"));
    fs::write(&data, recording.to_bytes().unwrap()).unwrap();
    fs::create_dir_all(files.join("tmp")).unwrap();
    fs::write(files.join("tmp/perf-7.map"), map).unwrap();
    (directory, data, files)
}

fn converted(data: &Path, files: &Path, args: &[&str]) -> String {
    let mut command = perfconv();
    command.arg(data).arg("--symfs").arg(files).args(args).args(["-q", "-o", "-"]).env("HOME", "/nonexistent");
    String::from_utf8(succeed(&mut command).stdout).expect("UTF-8")
}

#[test]
fn tiers_are_merged_and_files_distinguish_functions() {
    let (_directory, data, files) = generated();
    let report = converted(&data, &files, &["-t", "report", "--group-by", "sym,srcfile"]);
    let rows: Vec<_> =
        report.lines().skip(2).map(|line| line.split_whitespace().skip(2).collect::<Vec<_>>().join(" ")).collect();
    // Equal counts are in the order of names.
    let expected = [
        "2 Cart::Add",
        "2 total (cart.js:10) /srv/app/cart.js",
        "1 HashMap.size",
        "1 load /srv/app/main.py",
        "1 total (order.js:7) /srv/app/order.js",
    ];
    assert_eq!(rows, expected, "{report}");

    let speedscope: Value = serde_json::from_str(&converted(&data, &files, &["-t", "speedscope"])).expect("JSON");
    let frames = speedscope["shared"]["frames"].as_array().expect("frames");
    let frame = frames.iter().find(|frame| frame["line"] == 10).expect("a frame");
    let field = |name: &str| frame[name].clone();
    assert_eq!(
        [field("name"), field("fullName"), field("file")],
        ["total (cart.js:10)", "total /srv/app/cart.js:10:3", "/srv/app/cart.js"]
    );
    let full = converted(&data, &files, &["-t", "report", "--group-by", "sym", "--names", "full"]);
    assert!(GENERATED.iter().all(|name| full.contains(name)), "{full}");
    // The name of one tier selects the function.
    let args = ["-t", "report", "--callers", GENERATED[1]];
    assert!(converted(&data, &files, &args).contains("callers of total (cart.js:10): "));
}
