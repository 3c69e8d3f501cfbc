//! Features set, added and left out: nothing else changes, whatever the container.

use crate::suite::files::{fixture, has_corpus, recordings};
use crate::suite::program::{for_each, perfconv, run, run_other, with_time_limit};
use perfconv::abi::feature::FeatureId;
use perfconv::container::read::{Container, ReadOptions, input::Input};
use perfconv::stream::Sink;
use perfconv::stream::meta::Meta;
use perfconv::stream::raw::{Gap, Raw};
use perfconv::stream::source::Source;
use std::io::{self, Write};
use std::path::Path;

const NAME: &str = "a-host-that-is-not";

/// All that lies between header and sections, but for what a pipe tells of features.
#[derive(Default)]
struct Between(Vec<u8>);

impl Sink for Between {
    fn record(&mut self, _: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        if raw.header().kind != perfconv::abi::record::RecordType::HEADER_FEATURE {
            self.0.extend_from_slice(raw.bytes());
            self.0.extend_from_slice(raw.payload());
        }
        Ok(())
    }

    fn gap(&mut self, _: &Meta, gap: &Gap<'_>) -> perfconv::Result<()> {
        self.0.extend_from_slice(&gap.block.bytes[gap.at..gap.at + gap.len]);
        Ok(())
    }
}

fn read(path: &Path) -> perfconv::Result<(Meta, Vec<u8>)> {
    let mut between = Between::default();
    let (meta, _) = Source::open(Input::Path(path.to_owned()), ReadOptions::default())?.run(&mut between)?;
    Ok((meta, between.0))
}

fn edited(input: &Path, output: &Path, args: &[&str]) -> Result<(), String> {
    let run = run(perfconv().arg("rewrite").arg(input).args(["-f", "-q", "-o"]).arg(output).args(args));
    if run.status == 0 { Ok(()) } else { Err(run.stderr) }
}

/// What is wrong with a recording whose host was named otherwise; `None` where there is none, or its features are told in
/// records of a file, as perf inject leaves them there when it makes a file of a pipe.
fn wrong(input: &Path) -> Option<Result<Container, String>> {
    let (before, records) = read(input).ok()?;
    let at_begin = Source::open(Input::Path(input.to_owned()), ReadOptions::default()).ok()?.meta().features.len();
    if before.container != Container::Pipe && before.features.len() > at_begin {
        return None;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = folder.path().join("out");
    let has_name = before.features.contains_key(&FeatureId::HOSTNAME);
    let option = if has_name { "--set" } else { "--add-feature" };
    if let Err(error) = edited(input, &output, &[option, &format!("hostname={NAME}")]) {
        return Some(Err(error));
    }
    let (after, after_records) = match read(&output) {
        Ok(read) => read,
        Err(error) => return Some(Err(error.to_string())),
    };
    let events = |meta: &Meta| meta.events.list().iter().map(|e| (e.attr.clone(), e.ids.clone())).collect::<Vec<_>>();
    // Where the AUXTRACE records are follows the header's size.
    let features = |meta: &Meta| {
        let others = meta.features.iter().filter(|(id, _)| ![FeatureId::HOSTNAME, FeatureId::AUXTRACE].contains(id));
        others.map(|(id, bytes)| (*id, bytes.clone())).collect::<Vec<_>>()
    };
    Some(if after.string(FeatureId::HOSTNAME).as_deref() != Some(NAME) {
        Err("it is not named".to_owned())
    } else if after_records != records {
        Err("other records".to_owned())
    } else if events(&before) != events(&after) || features(&before) != features(&after) {
        Err("other events or features".to_owned())
    } else if after.container != before.container {
        Err(format!("{:?}, not {:?}", after.container, before.container))
    } else {
        Ok(before.container)
    })
}

#[test]
fn another_host_name_changes_nothing_else() {
    let all = recordings();
    let mut by_container = [0; 3];
    let mut differing = Vec::new();
    for (recording, wrong) in all.iter().zip(for_each(&all, |recording| wrong(&recording.path))) {
        match wrong {
            Some(Ok(container)) => by_container[container as usize] += 1,
            Some(Err(what)) => differing.push(format!("{}: {what}", recording.name)),
            None => {}
        }
    }
    // Not through the macros, whose output the test harness hides when the test passes.
    let [files, pipes, folders] = by_container;
    writeln!(io::stderr(), "{files} files, {pipes} pipes, {folders} folders with another host name, of {}", all.len())
        .unwrap();
    assert!(differing.is_empty(), "{} of {}:\n{}", differing.len(), all.len(), differing.join("\n"));
    let enough = if has_corpus("header edits") { [450, 75, 18] } else { [15, 4, 2] };
    assert!(by_container.iter().zip(enough).all(|(&there, enough)| there >= enough), "too few: {by_container:?}");
}

#[test]
fn perf_tells_what_was_set() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.data");
    let args = [
        "--set",
        "hostname=h1",
        "--set",
        "CMDLINE=perf record -g ./app",
        "--set",
        "nrcpus=3/8",
        "--set",
        "os-release=x",
    ];
    assert!(edited(&fixture("callgraph.data"), &output, &args).unwrap_err().contains("there is no such feature"));
    let args = [
        "--set",
        "hostname=h1",
        "--set",
        "CMDLINE=perf record -g ./app",
        "--set",
        "HEADER_NRCPUS=3/8",
        "--set",
        "total_mem=77",
        "--drop-feature",
        "cpuid",
        "--set",
        "hostname=h2",
    ];
    edited(&fixture("callgraph.data"), &output, &args).unwrap();
    let told = run_other(with_time_limit("perf").args(["report", "--header-only", "-i"]).arg(&output));
    if told.status == 127 {
        return;
    }
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    for line in [
        "# hostname : h2",
        "# cmdline : perf record -g ./app",
        "# nrcpus online : 3",
        "# nrcpus avail : 8",
        "# total memory : 77 kB",
    ] {
        assert!(told.lines().any(|found| found.trim_end() == line), "{line}:\n{told}");
    }
    assert!(!told.contains("# cpuid"), "{told}");
}

#[test]
fn a_command_line_is_quoted_as_in_a_shell() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.data");
    let command = r#"cmdline=perf record -- sh -c 'a  b' "c d"e f\ g"#;
    edited(&fixture("callgraph.data"), &output, &["--set", command]).unwrap();
    let (meta, _) = read(&output).unwrap();
    let words = ["perf", "record", "--", "sh", "-c", "a  b", "c de", "f g"];
    assert_eq!(meta.cmdline().unwrap_or_default(), words);
    let error = edited(&fixture("callgraph.data"), &output, &["--set", "cmdline=perf 'record"]).unwrap_err();
    assert!(error.contains("a quote is not closed"), "{error}");
}

#[test]
fn what_cannot_be_edited_is_refused_and_nothing_written() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.data");
    let input = fixture("plain.data");
    for (args, said) in [
        (["--add-feature", "hostname=x"], "has a HOSTNAME already"),
        (["--set", "cln_size=64"], "has no CLN_SIZE to be set"),
        (["--drop-feature", "auxtrace"], "records could not be read any more"),
        (["--drop-feature", "clock_data"], "has no CLOCK_DATA"),
        (["--set", "nrcpus=9/8"], "more CPUs cannot be online"),
        (["--set", "total_mem=much"], "is no number"),
        (["--set", "event_desc=x"], "is no text or number"),
        (["--set", "hostname"], "is not FEATURE=VALUE"),
    ] {
        let error = edited(&input, &output, &args).expect_err("it is refused");
        assert!(error.contains(said), "{args:?}: {error}");
        assert!(!output.exists(), "{args:?}");
    }
}

#[test]
fn features_change_on_the_way_to_another_container_and_format() {
    let folder = tempfile::tempdir().unwrap();
    let told = |path: &Path| read(path).unwrap().0.string(FeatureId::HOSTNAME);
    let mut compared = 0;
    for name in ["plain.data", "pipe.data", "pipe-compressed.data", "threads.dir", "compressed2.data"] {
        for to in ["file", "pipe", "dir"] {
            let output = folder.path().join(format!("{name}.{to}"));
            edited(&fixture(name), &output, &["--set", "hostname=there", "--container", to]).unwrap();
            assert_eq!(told(&output).as_deref(), Some("there"), "{name} to {to}");
            compared += 1;
        }
        for ending in ["pb_data", "jsonl"] {
            let (carried, back) = (folder.path().join(format!("{name}.{ending}")), folder.path().join("back"));
            let args = ["--set", "hostname=there", "-o"];
            let converted = run(perfconv().arg(fixture(name)).args(args).arg(&carried));
            assert_eq!(converted.status, 0, "{name} to {ending}: {}", converted.stderr);
            edited(&carried, &back, &[]).unwrap();
            assert_eq!(told(&back).as_deref(), Some("there"), "{name} by {ending}");
            let direct = folder.path().join("direct");
            edited(&fixture(name), &direct, &["--set", "hostname=there"]).unwrap();
            assert!(read(&back).unwrap().1 == read(&direct).unwrap().1, "{name} by {ending}: other records");
            for path in [&back, &direct] {
                if path.is_dir() {
                    std::fs::remove_dir_all(path).unwrap();
                }
            }
            compared += 1;
        }
    }
    assert_eq!(compared, 25);
}
