//! `report --ratio`: recordings whose counts are known.

use crate::common::program::{perfconv, run, succeed};
use perf_data::abi::sample::Sample;
use perfconv::synth::{Event, Map, RecordingBuilder};
use std::fs;
use std::path::{Path, PathBuf};

/// In /bin/app, 20 samples of cycles and 15 of instructions; in /lib/libc.so, 40 and 10; in /lib/libm.so, 5 and 50.
fn recording(directory: &Path, names: [&str; 2]) -> PathBuf {
    let mut recording = RecordingBuilder::new();
    let events = [(names[0], 1000), (names[1], 2000)].map(|(name, period)| {
        let mut event = Event::named("cycles").unwrap().period(period);
        event.name = name.to_owned();
        event.attr.config = u64::from(period == 2000);
        recording.event(event)
    });
    recording.process(7, "app");
    let mut time = 1000;
    for (path, start, counts) in
        [("/bin/app", 0x1000, [20, 15]), ("/lib/libc.so", 0x9000, [40, 10]), ("/lib/libm.so", 0x20000, [5, 50])]
    {
        recording.map(7, Map::new(path, start, 0x1000));
        for (event, count) in events.into_iter().zip(counts) {
            for _ in 0..count {
                time += 1;
                let sample = Sample { ip: Some(start), task: Some((7, 7)), time: Some(time), ..Sample::default() };
                recording.sample(event, sample);
            }
        }
    }
    let path = directory.join("in.data");
    fs::write(&path, recording.to_bytes().unwrap()).unwrap();
    path
}

fn report(input: &Path, args: &[&str]) -> String {
    let run = succeed(perfconv().arg("report").arg(input).args(["--sort", "dso", "--symbols", "no", "-q"]).args(args));
    String::from_utf8(run.stdout).unwrap()
}

#[test]
fn ratios_are_of_sums_and_need_enough_samples() {
    let directory = tempfile::tempdir().unwrap();
    let input = recording(directory.path(), ["cycles", "instructions"]);
    // 150 000 instructions in 65 000 cycles.
    let expected = "\
IPC: 2.308 (instructions: 150000 in 75 samples, cycles: 65000 in 65 samples)
     ratio      instructions            cycles   samples  dso
     0.500             20000             40000        10  libc.so
     1.500             30000             20000        15  app
         -            100000              5000         5  libm.so
-: fewer than 10 samples of an event
";
    for args in [&["--ratio", "ipc"][..], &["--ratio", "instructions/cycles", "--as", "IPC"]] {
        assert_eq!(report(&input, args), expected, "{args:?}");
    }
    let expected = "\
dso,ratio,numerator_value,numerator_samples,denominator_value,denominator_samples
app,1500,30000,15,20000,20
libc.so,500,20000,10,40000,40
libm.so,,100000,50,5000,5
";
    assert_eq!(report(&input, &["--ratio", "instructions/cycles*1000", "--by-ratio", "--csv"]), expected);
}

#[test]
fn a_search_selects_functions_of_a_ratio() {
    let directory = tempfile::tempdir().unwrap();
    let input = recording(directory.path(), ["cycles", "instructions"]);
    let args = ["--ratio", "ipc", "--search", "libc", "--csv", "--sort", "sym"];
    let run = succeed(perfconv().arg("report").arg(&input).args(["--symbols", "no", "-q"]).args(args));
    let text = String::from_utf8(run.stdout).unwrap();
    assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), ["[libc.so],0.5,20000,10,40000,40"]);
}

/// Functions whose short names are equal stay different rows.
#[test]
fn functions_are_distinguished_by_full_names() {
    let rows = |args: &[&str]| {
        let text =
            crate::common::reports::report(&[&["--ratio", "cpu-clock/cpu-clock*1", "--sort", "sym"], args].concat());
        text.lines().filter(|line| !line.starts_with("-:")).count()
    };
    // A heading and a line with the columns, or the latter alone.
    assert_eq!(rows(&[]) - 2, rows(&["--csv"]) - 1);
    assert_eq!(rows(&[]), rows(&["--names", "full"]));
}

#[test]
fn factors_are_numbers() {
    let directory = tempfile::tempdir().unwrap();
    let input = recording(directory.path(), ["cycles", "instructions"]);
    for factor in ["nan", "-1", "1e300", "inf"] {
        let args = ["--ratio".to_owned(), format!("instructions/cycles*{factor}")];
        let run = run(perfconv().arg("report").arg(&input).args(args));
        assert!(run.status == 1 && run.stderr.contains("a factor is between 0 and 1e15"), "{}", run.stderr);
    }
}

#[test]
fn names_of_events_can_contain_slashes() {
    let directory = tempfile::tempdir().unwrap();
    let input = recording(directory.path(), ["cpu/cycles/", "cpu/instructions/"]);
    let text = report(&input, &["--ratio", "cpu/instructions//cpu/cycles/"]);
    assert!(text.starts_with("cpu/instructions//cpu/cycles/: 2.308 ("), "{text}");
}

#[test]
fn unknown_events_of_ratios_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let input = recording(directory.path(), ["cycles", "instructions"]);
    for (ratio, message) in [
        (
            "mpki",
            "--ratio mpki: needs samples of perf record -e '{cache-misses,instructions}'; the recording has samples of: cycles",
        ),
        ("cycles", "expected EVENT/EVENT, EVENT/EVENT*NUMBER or one of ipc, mpki"),
        ("cycles/faults", "the recording has samples of: cycles, instructions"),
    ] {
        let run = run(perfconv().arg("report").arg(&input).args(["--ratio", ratio]));
        assert!(run.status != 0 && run.stderr.contains(message), "{ratio}: {} {}", run.status, run.stderr);
    }
}

/// The color of the rectangle of each title in an image.
fn colors(image: &str) -> Vec<(String, String)> {
    let frames = image.split("<title>").skip(1).map(|frame| {
        let (title, rest) = frame.split_once("</title>").unwrap();
        let (_, fill) = rest.split_once("fill=\"").unwrap();
        (title.to_owned(), fill.split_once('"').unwrap().0.to_owned())
    });
    frames.collect()
}

#[test]
fn flame_graphs_are_colored_by_a_ratio_while_widths_are_cycles() {
    let directory = tempfile::tempdir().unwrap();
    let input = recording(directory.path(), ["cycles", "instructions"]);
    let draw = |args: &[&str]| {
        let args =
            ["-t", "flamegraph", "--symbols", "no", "--labels", "none", "-q", "-o", "-"].iter().chain(args).copied();
        String::from_utf8(succeed(perfconv().arg(&input).args(args)).stdout).unwrap()
    };
    let image = draw(&["--ratio", "ipc"]);
    let legend = "IPC: blue 0.577 or less, white 2.308 as of all, orange 9.231 or more; gray: fewer than 10 samples";
    assert!(image.contains(legend), "{image}");
    let all = colors(&image);
    let frame = |title: &str| {
        let (title, color) =
            all.iter().find(|(shown, _)| shown.starts_with(title)).unwrap_or_else(|| panic!("{title}: {all:?}"));
        (&**title, &**color)
    };
    // log2(0.5 / 2.308) is less than -2; log2(1.5 / 2.308) is -0.622, so that red is 245 - 0.311 * 95.
    assert_eq!(frame("[libc.so]"), ("[libc.so] (40,000 events, 61.54%)", "#5a96d7"));
    assert_eq!(frame("[app]"), ("[app] (20,000 events, 30.77%)", "#c5d7ec"));
    assert_eq!(frame("[libm.so]"), ("[libm.so] (5,000 events, 7.69%)", "#b4b4b4"));
    assert!(!image.contains(['\u{1e}', '\u{1f}']));
    let reversed = colors(&draw(&["--ratio", "ipc", "--reverse"]));
    assert!(reversed.iter().any(|(title, color)| title.starts_with("[libc.so]") && color == "#5a96d7"), "{reversed:?}");
    let args = ["-t", "flamegraph", "--symbols", "no", "-o", "-", "--ratio", "branch-miss-rate"];
    let unknown = run(perfconv().arg(&input).args(args));
    assert!(unknown.status != 0 && unknown.stderr.contains("needs samples of"), "{}", unknown.stderr);
}
