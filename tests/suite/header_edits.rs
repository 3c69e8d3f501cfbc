//! Setting, adding and dropping features changes nothing else, in any container.

use crate::common::files::{fixture, has_corpus, recordings};
use crate::common::program::rewrite;
use crate::common::program::{for_each, perfconv, succeed};
use perf_data::abi::feature::FeatureId;
use perf_data::container::read::{Container, ReadOptions, input::Input};
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::{Gap, Raw};
use perf_data::stream::source::Source;
use std::path::Path;

const NAME: &str = "a-host-that-is-not";

/// All bytes between header and feature sections, except for feature records of a pipe.
#[derive(Default)]
struct DataBytes(Vec<u8>);

impl Sink for DataBytes {
    fn record(&mut self, _: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        if raw.header().kind != perf_data::abi::record::RecordType::HEADER_FEATURE {
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
    let mut data = DataBytes::default();
    let (meta, _) = Source::open(Input::Path(path.to_owned()), ReadOptions::default())?.run(&mut data)?;
    Ok((meta, data.0))
}

/// Sets the host name of a recording, and compares all else. `None` if the recording is unreadable, or a file with feature
/// records, which perf inject leaves when it converts a pipe to a file.
fn set_host_name(input: &Path) -> Option<Result<Container, String>> {
    let (before, records) = read(input).ok()?;
    let header_features =
        Source::open(Input::Path(input.to_owned()), ReadOptions::default()).ok()?.meta().features.len();
    if before.container != Container::Pipe && before.features.len() > header_features {
        return None;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let output = dir.path().join("out");
    let has_name = before.features.contains_key(&FeatureId::HOSTNAME);
    let option = if has_name { "--set" } else { "--add-feature" };
    if let Err(error) = rewrite(input, &output, &[option, &format!("hostname={NAME}")]) {
        return Some(Err(error));
    }
    let (after, after_records) = match read(&output) {
        Ok(read) => read,
        Err(error) => return Some(Err(error.to_string())),
    };
    let events = |meta: &Meta| meta.events.list().iter().map(|e| (e.attr.clone(), e.ids.clone())).collect::<Vec<_>>();
    // The AUXTRACE index changes with the header's size.
    let features = |meta: &Meta| {
        let others = meta.features.iter().filter(|(id, _)| ![FeatureId::HOSTNAME, FeatureId::AUXTRACE].contains(id));
        others.map(|(id, bytes)| (*id, bytes.clone())).collect::<Vec<_>>()
    };
    Some(if after.string(FeatureId::HOSTNAME).as_deref() != Some(NAME) {
        Err("the host name is not set".to_owned())
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
fn setting_the_host_name_changes_nothing_else() {
    let all = recordings();
    let mut by_container = [0; 3];
    let mut differing = Vec::new();
    for (recording, result) in all.iter().zip(for_each(&all, |recording| set_host_name(&recording.path))) {
        match result {
            Some(Ok(container)) => by_container[container as usize] += 1,
            Some(Err(what)) => differing.push(format!("{}: {what}", recording.name)),
            None => {}
        }
    }
    // Not with the print macros, whose output the test harness captures.
    let [files, pipes, dirs] = by_container;
    note!("{files} files, {pipes} pipes, {dirs} directories with another host name, of {} recordings", all.len());
    assert!(differing.is_empty(), "{} of {}:\n{}", differing.len(), all.len(), differing.join("\n"));
    let enough = if has_corpus("header edits") { [450, 75, 18] } else { [15, 4, 2] };
    assert!(
        by_container.iter().zip(enough).all(|(&count, enough)| count >= enough),
        "too few recordings: {by_container:?}"
    );
}

#[test]
fn command_line_accepts_shell_quoting() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.data");
    let command = r#"cmdline=perf record -- sh -c 'a  b' "c d"e f\ g"#;
    rewrite(&fixture("callgraph.data"), &output, &["--set", command]).unwrap();
    let (meta, _) = read(&output).unwrap();
    let words = ["perf", "record", "--", "sh", "-c", "a  b", "c de", "f g"];
    assert_eq!(meta.cmdline().unwrap_or_default(), words);
    let error = rewrite(&fixture("callgraph.data"), &output, &["--set", "cmdline=perf 'record"]).unwrap_err();
    assert!(error.contains("unclosed quote"), "{error}");
}

#[test]
fn rejects_invalid_edits_without_writing() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.data");
    let input = fixture("plain.data");
    for (args, said) in [
        (["--add-feature", "hostname=x"], "already has HOSTNAME"),
        (["--set", "cln_size=64"], "has no CLN_SIZE; use --add-feature"),
        (["--drop-feature", "auxtrace"], "is required to decode records"),
        (["--drop-feature", "clock_data"], "has no CLOCK_DATA"),
        (["--set", "nrcpus=9/8"], "more CPUs online than available"),
        (["--set", "total_mem=much"], "is not a number"),
        (["--set", "event_desc=x"], "is not a text or a number"),
        (["--set", "hostname"], "expected FEATURE=VALUE"),
    ] {
        let error = rewrite(&input, &output, &args).expect_err("the edit should be rejected");
        assert!(error.contains(said), "{args:?}: {error}");
        assert!(!output.exists(), "{args:?}");
    }
}

#[test]
fn edits_combine_with_container_and_format_conversions() {
    let dir = tempfile::tempdir().unwrap();
    let hostname = |path: &Path| read(path).unwrap().0.string(FeatureId::HOSTNAME);
    let mut compared = 0;
    for name in ["plain.data", "pipe.data", "pipe-compressed.data", "threads.dir", "compressed2.data"] {
        for to in ["file", "pipe", "dir"] {
            let output = dir.path().join(format!("{name}.{to}"));
            rewrite(&fixture(name), &output, &["--set", "hostname=there", "--container", to]).unwrap();
            assert_eq!(hostname(&output).as_deref(), Some("there"), "{name} to {to}");
            compared += 1;
        }
        for ending in ["pb_data", "jsonl"] {
            let (carried, back) = (dir.path().join(format!("{name}.{ending}")), dir.path().join("back"));
            let args = ["--set", "hostname=there", "-o"];
            succeed(perfconv().arg(fixture(name)).args(args).arg(&carried));
            rewrite(&carried, &back, &[]).unwrap();
            assert_eq!(hostname(&back).as_deref(), Some("there"), "{name} via {ending}");
            let direct = dir.path().join("direct");
            rewrite(&fixture(name), &direct, &["--set", "hostname=there"]).unwrap();
            assert!(read(&back).unwrap().1 == read(&direct).unwrap().1, "{name} via {ending}: other records");
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
