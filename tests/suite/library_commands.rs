//! What commands with options write, ten lines of the library write: the same bytes, permissions, and counts of records.

use super::library_outputs::contents;
use crate::common::files::fixture;
use crate::common::program::{perfconv, run};
use perf_data::abi::Endian;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::RecordType;
use perf_data::abi::version::PerfVersion;
use perfconv::formats::callgrind::Callgrind;
use perfconv::formats::csv::Csv;
use perfconv::formats::flamegraph::Flamegraph;
use perfconv::formats::folded::{Folded, FrameKind};
use perfconv::formats::html::Html;
use perfconv::formats::json::{Decoded, JsonLines};
use perfconv::formats::perf_json::PerfJson;
use perfconv::formats::perf_script::PerfScript;
use perfconv::formats::pprof::{Pprof, Program};
use perfconv::formats::quipper::{Fidelity, QuipperProto};
use perfconv::formats::report::{Markdown, Report};
use perfconv::formats::speedscope::Speedscope;
use perfconv::recording::{Container, Key, Label, Ledger, SymbolOptions, Times};
use perfconv::rewrite::framework::output::RecordingOptions;
use perfconv::rewrite::header::edits::FeatureValue;
use perfconv::rewrite::merge::options::MergeOptions;
use perfconv::rewrite::split::criterion::By;
use perfconv::rewrite::{
    Anonymize, BuildIdTable, Comm, Cpu, Dso, Event, ForPerfVersion, Head, HeaderEdit, Pid, Quipper, RecordTypes,
    Repair, SampleEvery, SchedStat, Sort, StripUserStack, Tid, Time, Unwind,
};
use perfconv::{Recording, Result};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Writes to a path with the library.
type Write = fn(&Recording, &Path) -> Result<Ledger>;

/// Commands `perfconv ARGUMENTS -o OUT`, with the input, the name of the output, and the same in the library.
type Command = (&'static str, &'static str, &'static str, Write);

const SECRET: &[u8] = b"0123456789abcdef of a test";

fn filters() -> Vec<Command> {
    vec![
        ("rewrite --comm loop-pie", "callgraph.data", "out.data", |from, to| {
            from.rewrite().keep_comm("loop-pie").write(to)
        }),
        ("rewrite --comm loop,swapper", "system-wide.data", "out.data", |from, to| {
            from.rewrite().apply(Comm::new(["loop", "swapper"].map(String::from))).write(to)
        }),
        ("rewrite --head 3", "callgraph.data", "out.data", |from, to| from.rewrite().apply(Head::new(3)).write(to)),
        ("rewrite --head 3", "big-endian.data", "out.data", |from, to| from.rewrite().apply(Head::new(3)).write(to)),
        ("rewrite --sample-every 2", "pipe.data", "out.data", |from, to| {
            from.rewrite().apply(SampleEvery::new(2)).write(to)
        }),
        ("rewrite --event task-clock", "two-events.data", "out.data", |from, to| {
            from.rewrite().keep_event("task-clock").write(to)
        }),
        ("rewrite --event sched:sched_switch --keep-attrs", "tracepoints.data", "out.data", |from, to| {
            let mut event = Event::new(["sched:sched_switch".to_owned()]);
            event.keep_attrs = true;
            from.rewrite().apply(event).write(to)
        }),
        ("rewrite --cpu 1", "system-wide.data", "out.data", |from, to| {
            let mut cpu = Cpu::default();
            cpu.cpus = vec!["1".parse().unwrap()];
            from.rewrite().apply(cpu).write(to)
        }),
        ("rewrite --dso loop", "system-wide.data", "out.data", |from, to| {
            from.rewrite().apply(Dso::new(["loop".to_owned()])).write(to)
        }),
        ("rewrite --type COMM,MMAP2", "forks.data", "out.data", |from, to| {
            from.rewrite().apply(RecordTypes::new([RecordType::COMM, RecordType::MMAP2])).write(to)
        }),
        ("rewrite --time 10%-60%", "system-wide.data", "out.data", |from, to| {
            from.rewrite().keep_times("10%-60%".parse::<Times>().unwrap()).write(to)
        }),
        ("rewrite --time ,37.65", "two-events.data", "out.data", |from, to| {
            from.rewrite().apply(Time::new(",37.65".parse().unwrap())).write(to)
        }),
        ("rewrite --pid 0", "system-wide.data", "out.data", |from, to| from.rewrite().apply(Pid::new([0])).write(to)),
        ("rewrite --tid 0", "system-wide.data", "out.data", |from, to| from.rewrite().apply(Tid::new([0])).write(to)),
        ("rewrite --dso loop-pie --head 9", "callgraph.data", "out.data", |from, to| {
            from.rewrite().apply(Dso::new(["loop-pie".to_owned()])).apply(Head::new(9)).write(to)
        }),
        ("rewrite --comm loop --sort --compress=1", "system-wide.data", "out.data", |from, to| {
            from.rewrite().keep_comm("loop").apply(Sort::default()).compress(1).write(to)
        }),
        ("rewrite --pid 1", "callgraph.data", "out.data", |from, to| from.rewrite().keep_pid(1).write(to)),
    ]
}

fn changes() -> Vec<Command> {
    vec![
        ("rewrite --sort", "system-wide.data", "out.data", |from, to| from.rewrite().apply(Sort::default()).write(to)),
        ("rewrite --sort", "threads.dir", "out.data", |from, to| from.rewrite().apply(Sort::default()).write(to)),
        ("rewrite --strip-user-stack", "dwarf.data", "out.data", |from, to| {
            from.rewrite().apply(StripUserStack::default()).write(to)
        }),
        ("rewrite --strip-user-stack", "callgraph.data", "out.data", |from, to| {
            from.rewrite().strip_user_stacks().write(to)
        }),
        ("repair", "truncated.data", "out.data", |from, to| from.rewrite().apply(Repair::default()).write(to)),
        ("rewrite --perf-version 5.10", "compressed2.data", "out.data", |from, to| {
            from.rewrite().apply(ForPerfVersion::new("5.10".parse::<PerfVersion>().unwrap())).write(to)
        }),
        ("rewrite --set hostname=build-7", "pipe.data", "out.data", |from, to| {
            let name = FeatureValue::Text("build-7".to_owned());
            from.rewrite().apply(HeaderEdit::Set(FeatureId::HOSTNAME, name)).write(to)
        }),
        ("rewrite --drop-feature cmdline", "callgraph.data", "out.data", |from, to| {
            from.rewrite().apply(HeaderEdit::Drop(FeatureId::CMDLINE)).write(to)
        }),
        ("rewrite --drop-feature hostname --drop-feature cmdline", "threads.dir", "out.data", |from, to| {
            let drop = HeaderEdit::Drop;
            from.rewrite().apply(drop(FeatureId::HOSTNAME)).apply(drop(FeatureId::CMDLINE)).write(to)
        }),
        ("rewrite --pass sort", "system-wide.data", "out.data", |from, to| {
            from.rewrite().apply(Quipper::Sort).write(to)
        }),
        ("rewrite --pass combine", "callgraph.data", "out.data", |from, to| {
            from.rewrite().apply(Quipper::Combine).write(to)
        }),
        ("rewrite --pass remap", "callgraph.data", "out.data", |from, to| {
            from.rewrite().apply(Quipper::Remap).write(to)
        }),
        ("rewrite --sched-stat", "tracepoints.data", "out.data", |from, to| {
            from.rewrite().apply(SchedStat::default()).write(to)
        }),
        ("rewrite --unwind", "callgraph.data", "out.data", |from, to| {
            from.rewrite().apply(Unwind::default()).write(to)
        }),
        ("rewrite --unwind --symfs SYMFS", "dwarf.data", "out.data", |from, to| {
            from.rewrite().apply(Unwind::default()).write(to)
        }),
        ("rewrite --build-ids", "callgraph.data", "out.data", |from, to| {
            from.rewrite().apply(BuildIdTable::default()).write(to)
        }),
        ("rewrite --anonymize --key KEY", "system-wide.data", "out.data", |from, to| {
            from.rewrite().anonymize(Key::new(SECRET).unwrap()).write(to)
        }),
        ("--anonymize --key KEY", "callgraph.data", "out.folded", |from, to| {
            Ok(from.convert().apply(Anonymize::new(Key::new(SECRET).unwrap())).write(to)?.ledger)
        }),
        ("--anonymize --key KEY --head 4", "threads.dir", "out.pb.gz", |from, to| {
            Ok(from.convert().anonymize(Key::new(SECRET).unwrap()).apply(Head::new(4)).write(to)?.ledger)
        }),
    ]
}

fn forms() -> Vec<Command> {
    vec![
        ("rewrite --compress=3", "callgraph.data", "out.data", |from, to| from.rewrite().compress(3).write(to)),
        ("rewrite --decompress", "compressed.data", "out.data", |from, to| from.rewrite().decompress().write(to)),
        ("rewrite --endian big", "plain.data", "out.data", |from, to| {
            from.rewrite().byte_order(Endian::Big).allow_mixed().write(to)
        }),
        ("rewrite --endian little --allow-mixed", "big-endian.data", "out.data", |from, to| {
            from.rewrite().byte_order(Endian::Little).allow_mixed().write(to)
        }),
        ("rewrite --container pipe", "callgraph.data", "out.data", |from, to| {
            from.rewrite().container(Container::Pipe).write(to)
        }),
        ("rewrite --container dir", "system-wide.data", "out.dir", |from, to| {
            from.rewrite().container(Container::Directory).write(to)
        }),
        ("rewrite", "callgraph.data", "out.data.gz", |from, to| from.rewrite().write(to)),
        ("rewrite", "threads.dir", "out.data.zst", |from, to| from.rewrite().write(to)),
        ("split --by pid", "forks.data", "parts", |from, to| Ok(from.split(By::Pid).write(to)?.1)),
        ("split --by event", "two-events.data", "parts", |from, to| Ok(from.split(By::Event).write(to)?.1)),
        ("split --by cpu --compress=1", "system-wide.data", "parts", |from, to| {
            let mut options = RecordingOptions::default();
            options.form.compress = Some(1);
            Ok(from.split(By::Cpu).options(options).write(to)?.1)
        }),
        ("merge --offset-pids INPUT", "two-events.data", "out.data", |from, to| {
            let options = MergeOptions { offset_pids: true, ..MergeOptions::default() };
            Recording::merge(&[from.clone(), from.clone()]).merging(options).write(to)
        }),
        ("merge INPUT", "callgraph.data", "out.data", |from, to| {
            Recording::merge(&[from.clone(), from.clone()]).write(to)
        }),
        ("archive --symfs SYMFS", "words.data", "out.tar.gz", |from, to| from.archive().write(to)),
        ("archive --symfs SYMFS", "words.data", "out.tar.zst", |from, to| from.archive().write(to)),
        ("archive --symfs SYMFS", "c.data", "out.tar", |from, to| from.archive().write(to)),
        ("archive --all --symfs SYMFS", "c.data", "out.tar", |from, to| from.archive().all_objects().write(to)),
    ]
}

fn formats() -> Vec<Command> {
    vec![
        ("--icicle --title T --symfs SYMFS", "words.data", "out.svg", |from, to| {
            let mut graph = Flamegraph::default();
            (graph.icicle, graph.title) = (true, Some("T".to_owned()));
            Ok(from.convert().to(graph).write(to)?.ledger)
        }),
        ("--annotate kernel,inlined --addresses --symfs SYMFS", "words.data", "out.folded", |from, to| {
            let mut folded = Folded::default();
            (folded.annotate, folded.addresses) = (vec![FrameKind::Kernel, FrameKind::Inlined], true);
            Ok(from.convert().to(folded).write(to)?.ledger)
        }),
        ("--compat perf_to_profile", "callgraph.data", "out.pb.gz", |from, to| {
            let mut pprof = Pprof::default();
            pprof.compat = Some(Program::PerfToProfile);
            Ok(from.convert().to(pprof).write(to)?.ledger)
        }),
        ("--labels tid,cpu --symbols no", "system-wide.data", "out.pb.gz", |from, to| {
            Ok(from.convert().labels([Label::Tid, Label::Cpu]).write(to)?.ledger)
        }),
        ("--event task-clock --symbols no", "two-events.data", "out.pb.gz", |from, to| {
            Ok(from.convert().event("task-clock").write(to)?.ledger)
        }),
        ("--to csv --stacks --symbols no", "callgraph.data", "out", |from, to| {
            let mut csv = Csv::default();
            csv.stacks = true;
            Ok(from.convert().to(csv).write(to)?.ledger)
        }),
        ("--decode tracepoints", "tracepoints.data", "out.jsonl", |from, to| {
            let mut lines = JsonLines::default();
            lines.decode = vec![Decoded::Tracepoints];
            Ok(from.convert().to(lines).write(to)?.ledger)
        }),
        ("--quipper strict", "callgraph.data", "out.pb_data", |from, to| {
            let mut quipper = QuipperProto::default();
            quipper.fidelity = Some(Fidelity::Strict);
            Ok(from.convert().to(quipper).write(to)?.ledger)
        }),
        ("--to perf-json --exact --symbols no", "callgraph.data", "out.json", |from, to| {
            let mut json = PerfJson::default();
            json.exact = true;
            Ok(from.convert().to(json).write(to)?.ledger)
        }),
        ("--title T --symfs SYMFS", "words.data", "out.html", |from, to| {
            let mut page = Html::default();
            page.title = Some("T".to_owned());
            Ok(from.convert().to(page).write(to)?.ledger)
        }),
        ("--limit 2 --symfs SYMFS", "words.data", "out.md", |from, to| {
            let mut page = Markdown::default();
            page.limit = Some(2);
            Ok(from.convert().to(page).write(to)?.ledger)
        }),
        ("--ns --symfs SYMFS --to perf-script", "words.data", "out.txt", |from, to| {
            let mut text = PerfScript::default();
            text.nanoseconds = true;
            Ok(from.convert().to(text).write(to)?.ledger)
        }),
        ("--symfs SYMFS", "words.data", "out.speedscope.json", |from, to| {
            Ok(from.convert().to(Speedscope::default()).write(to)?.ledger)
        }),
        ("--symfs SYMFS --to callgrind", "words.data", "out", |from, to| {
            Ok(from.convert().to(Callgrind::default()).write(to)?.ledger)
        }),
        ("--symbols no --to report", "callgraph.data", "out", |from, to| {
            Ok(from.convert().to(Report::default()).write(to)?.ledger)
        }),
    ]
}

/// The recording of this name, and the directory of its object files.
fn input(name: &str) -> (PathBuf, Option<PathBuf>) {
    let symbols = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    match name {
        "words.data" | "dwarf.data" | "c.data" => (symbols.join(name), Some(symbols.join("files"))),
        name => (fixture(name), None),
    }
}

#[test]
fn what_commands_write_is_written_by_the_library() {
    let directory = tempfile::tempdir().unwrap();
    let key = directory.path().join("key");
    fs::write(&key, SECRET).unwrap();
    let mut compared = 0;
    for (arguments, name, output, write) in [filters(), changes(), forms(), formats()].concat() {
        let (ours, theirs) = (directory.path().join("library"), directory.path().join("program"));
        [&ours, &theirs].iter().for_each(|directory| fs::create_dir(directory).unwrap());
        let (path, symfs) = input(name);
        let mut command = perfconv();
        let path_of = |word: &str| match word {
            "KEY" => key.clone(),
            "INPUT" => path.clone(),
            "SYMFS" => symfs.clone().expect("the directory of its objects"),
            word => PathBuf::from(word),
        };
        let words: Vec<_> = arguments.split(' ').map(path_of).collect();
        let (command_name, options) = match arguments.starts_with('-') {
            true => (&words[..0], &words[..]),
            false => words.split_at(1),
        };
        command.args(command_name).arg(&path).args(options).arg("-o").arg(theirs.join(output));
        let mut recording = Recording::open(&path).unwrap();
        if let Some(symfs) = symfs.filter(|_| arguments.contains("SYMFS")) {
            recording = recording.with_symbols(SymbolOptions::default().symfs(symfs));
        }
        let run = run(&mut command);
        match write(&recording, &ours.join(output)) {
            Ok(ledger) => {
                assert_eq!(run.status, 0, "{command:?}: {}", run.stderr);
                let last = format!("[ perfconv: {}: {ledger} ]", theirs.join(output).display());
                // The message on an archive is about the files in it.
                if !arguments.starts_with("archive") {
                    assert_eq!(run.stderr.lines().last(), Some(&*last), "{command:?}");
                }
                assert!(contents(&ours) == contents(&theirs), "{command:?}: other files than by the library");
                let mode = fs::metadata(ours.join(output)).unwrap().permissions().mode();
                assert_ne!(mode & 0o600, 0, "{command:?}");
                compared += 1;
            }
            Err(error) => {
                assert_ne!(run.status, 0, "{command:?}: the library fails: {error}");
                // The program names options by their arguments.
                let message = error.naming_options(|option| format!("--{}", option.replace('_', "-")));
                assert!(run.stderr.contains(&message), "{command:?}: {} instead of {error}", run.stderr);
            }
        }
        [&ours, &theirs].iter().for_each(|directory| fs::remove_dir_all(directory).unwrap());
    }
    note!("library: {compared} commands write what the library writes");
    assert!(compared >= 60, "only {compared} commands succeeded");
}
