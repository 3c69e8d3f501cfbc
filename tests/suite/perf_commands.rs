//! `perfconv perf`, `perfconv script`, and the program under the name perf: translation of options, refused options, exit status,
//! and the perf behind it in PATH.

use crate::common::files::fixture;
use crate::common::program::{Run, perfconv, run, succeed};
use std::env;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

fn perf(args: &[&str]) -> Run {
    run(perfconv().arg("perf").args(args))
}

/// `perf ARGS -i callgraph.data`, with the text on standard output.
fn on_recording(command: &str, args: &[&str]) -> String {
    let recording = fixture("callgraph.data");
    let output = succeed(perfconv().args(["perf", command, "-i"]).arg(&recording).args(args));
    String::from_utf8(output.stdout).unwrap()
}

/// `perfconv callgraph.data -t perf-script ARGS`.
fn converted(args: &[&str]) -> String {
    let output = succeed(perfconv().arg(fixture("callgraph.data")).args(["-t", "perf-script", "-q"]).args(args));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn script_options_are_those_of_the_conversion() {
    for (perf_args, args) in [
        (&[][..], &[][..]),
        (&["-F", "comm,ip,sym"], &["--fields", "comm,ip,sym"]),
        (&["-F+period", "--ns", "-f"], &["--fields", "+period", "--ns"]),
        (&["--show-mmap-events", "--show-task-events"], &["--show-mmap-events", "--show-task-events"]),
        (&["--no-inline", "--no-demangle"], &["--no-inline", "--demangle", "no"]),
        (&["--perf-style", "6.12"], &["--perf-style", "6.12"]),
        (&["--itrace=i100"], &[]),
        (&["--no-itrace", "--inline", "--demangle"], &[]),
    ] {
        assert_eq!(on_recording("script", perf_args), converted(args), "{perf_args:?}");
    }
}

#[test]
fn script_is_also_a_command_of_its_own() {
    let recording = fixture("callgraph.data");
    let output = run(perfconv().args(["script", "-i"]).arg(&recording).args(["-F", "comm,ip"]));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), on_recording("script", &["-F", "comm,ip"]));
    assert_eq!((output.status, &*output.stderr), (0, ""));
}

#[test]
fn script_selects_samples_and_keeps_other_records() {
    let fields = ["-F", "comm,tid,time,ip", "-G"];
    let all = on_recording("script", &fields);
    let with = |args: &[&str]| on_recording("script", &[&fields[..], args].concat());
    let first = all.lines().next().unwrap();
    let tid = first.split_whitespace().nth(1).unwrap();
    assert_eq!(with(&["--tid", tid]), all);
    assert_eq!(with(&["--comms", "loop-pie,other"]), all);
    assert_eq!(with(&["--dsos", "nothing"]), "");
    // No sample has the value: perf prints nothing, too.
    assert_eq!(with(&["--pid", "1"]), "");
    let records = with(&["--pid", "1", "--show-mmap-events"]);
    assert!(records.lines().count() > 3 && records.lines().all(|line| line.contains("PERF_RECORD_MMAP")), "{records}");
    let part = with(&["--time", "1806.65,1806.70"]);
    assert!(!part.is_empty() && part.len() < all.len() && all.contains(&part), "{part}");
    let relative = with(&["--reltime"]);
    assert!(relative.lines().next().unwrap().contains(" 0.000000: "), "{relative}");
}

#[test]
fn time_of_day_needs_clock_data_except_in_a_pipe() {
    let time_of_day = |name: &str| run(perfconv().args(["script", "-F", "comm,tod,time", "-i"]).arg(fixture(name)));
    let file = time_of_day("callgraph.data");
    assert!(file.status == 255 && file.stderr.contains("the field tod needs clock data"), "{}", file.stderr);
    let pipe = String::from_utf8(time_of_day("pipe.data").stdout).unwrap();
    assert!(pipe.lines().count() > 0 && pipe.lines().all(|line| line.contains(" disabled ")), "{pipe}");
}

#[test]
fn script_limits_and_hides_call_chains() {
    let frames = |args: &[&str]| {
        let text = on_recording("script", &[&["-F", "ip"], args].concat());
        let chains = text.split("\n\n").map(|chain| chain.trim().lines().count());
        (chains.max().unwrap_or(0), text.lines().count())
    };
    assert!(frames(&[]).0 > 3);
    assert_eq!(frames(&["--max-stack", "2"]).0, 2);
    let samples = on_recording("script", &["-F", "time"]).lines().count();
    assert_eq!(frames(&["-G"]), (samples, samples));
}

#[test]
fn header_precedes_the_samples() {
    let header = on_recording("script", &["--header-only"]);
    assert!(header.starts_with("# ========\n# captured on ") && header.ends_with("# ========\n#\n"), "{header}");
    assert!(header.contains("# CPU_TOPOLOGY info available, use -I to display\n"), "{header}");
    assert_eq!(on_recording("script", &["--header"]), header + &on_recording("script", &[]));
    let full = on_recording("script", &["--header-only", "-I"]);
    assert!(full.contains("# sibling sockets : 0-1\n"), "{full}");
}

#[test]
fn reads_standard_input_if_it_is_a_pipe() {
    let recording = fs::File::open(fixture("callgraph.data")).unwrap();
    let mut cat = Command::new("cat").stdin(recording).stdout(Stdio::piped()).spawn().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_perfconv"));
    let output = run(command.args(["script", "-F", "comm,ip"]).stdin(cat.stdout.take().unwrap()));
    cat.wait().unwrap();
    assert_eq!((output.status, &*output.stderr), (0, ""));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), on_recording("script", &["-F", "comm,ip"]));
}

#[test]
fn lists_events_and_build_ids() {
    assert_eq!(on_recording("evlist", &[]), "cpu-clock\n");
    assert_eq!(on_recording("evlist", &["-F"]), "cpu-clock: sample_freq=4000\n");
    assert!(on_recording("evlist", &["-v"]).starts_with("cpu-clock: type: 1, size: 120, "));
    let listed = on_recording("buildid-list", &[]);
    assert!(listed.contains("e95baaeaec8534edc5df3654182ddf12b19d9b23 [vdso]\n"), "{listed}");
    let hit = on_recording("buildid-list", &["-H"]);
    assert!(!hit.contains("[vdso]") && hit.lines().all(|line| listed.contains(line)), "{hit}");
    let unlisted = run(perfconv().args(["perf", "buildid-list", "-i"]).arg(fixture("lost.data")));
    assert_eq!(String::from_utf8(unlisted.stdout).unwrap(), format!("{:40} [kernel.kallsyms]\n", ""));
}

#[test]
fn exit_status_is_that_of_perf() {
    let recording = fixture("callgraph.data");
    let recording = recording.to_str().unwrap();
    for (args, status, message) in [
        (&["--version"][..], 0, ""),
        (&["--help"], 0, ""),
        (&["script", "-i", "missing"], 255, "missing: cannot open"),
        (&["script", "--bogus"], 129, "unexpected argument '--bogus'"),
        (&["script", "-F", "bogus", "-i", recording], 129, "unknown field 'bogus'"),
        (&["script", "--pid", "x", "-i", recording], 129, "--pid 'x'"),
        (&["script", "--reltime", "--deltatime", "-i", recording], 129, "exclude each other"),
        (&["script", "-k", "missing", "-i", recording], 255, "--vmlinux: missing: not found"),
        (&["script", "-C", "0", "-i", recording], 255, "have no CPU"),
        (&["evlist", "-g", "-v", "-i", recording], 129, "--group cannot be used"),
        (&["data", "convert"], 255, "--to-json"),
        (&["diff", "missing", recording], 255, "missing: cannot open"),
        (&["diff", "-c", "cycles", recording, recording], 129, "--compute 'cycles' is not supported"),
        (&["diff", "-s", "bogus", recording, recording], 129, "unknown --sort key: 'bogus'"),
        (&["diff", "-s", "mispredict", recording, recording], 129, "is a key of branches"),
        (&["diff", recording, recording, recording], 129, "two at a time"),
        (&["--bogus"], 129, "unknown option of perf"),
    ] {
        let output = perf(args);
        assert_eq!(output.status, status, "{args:?}: {}", output.stderr);
        assert!(output.stderr.contains(message), "{args:?}: {}", output.stderr);
    }
    let version = String::from_utf8(perf(&["version"]).stdout).unwrap();
    assert!(version.starts_with("perf version 6.1."), "{version}");
    // perf2bolt looks for these words.
    let missing = perf(&["script", "-F", "pid,event,addr,ip", "-i", recording]);
    assert_eq!(missing.status, 255);
    let words = "Samples for 'cpu-clock' event do not have ADDR attribute set. Cannot print 'addr' field.";
    assert!(missing.stderr.contains(words), "{}", missing.stderr);
}

#[test]
fn refuses_what_the_text_cannot_show() {
    let recording = fixture("callgraph.data");
    for option in ["--call-trace", "--show-kernel-path", "--per-event-dump", "-D", "-L", "--stop-bt=main"] {
        let output = run(perfconv().args(["perf", "script", option, "-i"]).arg(&recording));
        assert_eq!((output.status, &output.stdout[..]), (129, &b""[..]), "{option}");
        assert!(output.stderr.contains(" is not supported: "), "{option}: {}", output.stderr);
    }
    let piped = run(perfconv().args(["perf", "script", "--header", "-i", "-"]));
    assert!(piped.status == 129 && piped.stderr.contains("--header needs a file"), "{}", piped.stderr);
}

/// The text was printed by perf 6.1.
#[test]
fn diff_compares_shares_of_functions() {
    let directory = tempfile::tempdir().unwrap();
    let symbols = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let part = |time: &str, name: &str| {
        let path = directory.path().join(name);
        succeed(perfconv().arg("rewrite").arg(symbols.join("words.data")).args(["--time", time, "-o"]).arg(&path));
    };
    part("0%-40%", "perf.data.old");
    part("50%-100%", "perf.data");
    let diff = |args: &[&str]| {
        let mut command = perfconv();
        command.current_dir(directory.path()).args(["perf", "diff", "--symfs"]).arg(symbols.join("files"));
        String::from_utf8(succeed(command.args(args)).stdout).unwrap()
    };
    let expected = "\
# Event 'cpu-clock:u'
#
# Baseline  Delta Abs  Shared Object  Symbol           \n\
# ........  .........  .............  .................
#
    29.35%     +6.27%  words          [.] find
    10.45%     -5.59%  words          [.] count_word
    10.95%     -2.85%  words          [.] hash
    21.89%     +1.59%  words          [.] count_words
     1.00%     +1.03%  words          [.] most_frequent
    26.37%     -0.46%  words          [.] generate_text
";
    assert_eq!(diff(&[]), expected);
    assert_eq!(diff(&["perf.data"]), expected);
    let ratios = "     1.00%         2002002        2.500000         5005005  [.] most_frequent
    29.35%        59059059        1.491525        88088088  [.] find
    21.89%        44044044        1.318182        58058058  [.] count_words
    26.37%        53053053        1.207547        64064064  [.] generate_text
    10.95%        22022022        0.909091        20020020  [.] hash
    10.45%        21021021        0.571429        12012012  [.] count_word
";
    assert_eq!(diff(&["-q", "-p", "-c", "ratio", "-s", "sym", "perf.data.old", "perf.data"]), ratios);
    let selected = "72.84   ;+8.64%   ;words        ;[.] find\n27.16   ;-8.64%   ;words        ;[.] hash\n";
    assert_eq!(diff(&["-q", "-t", ";", "-S", "find,hash", "--percentage", "relative"]), selected);
}

/// The table of docs/perf.md has the numbers of options of each command.
#[test]
fn documented_numbers_of_options_are_those_of_the_lists() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/perf.md")).unwrap();
    let (_, table) = page.split_once("| command | options of perf 6.1 | answered | refused |").unwrap();
    let rows: Vec<_> = table.lines().skip(2).take_while(|line| line.starts_with("| `")).collect();
    assert!(rows.len() >= 7, "{rows:?}");
    for row in rows {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let command: Vec<_> = cells[1].trim_matches('`').split(' ').collect();
        let usage = String::from_utf8(perf(&[&command[..], &["-h"]].concat()).stdout).unwrap();
        // The style is an option of perfconv.
        let options: Vec<_> =
            usage.lines().filter(|line| line.contains("--") && !line.contains("--perf-style")).collect();
        let refused = options.iter().filter(|line| line.contains(" not supported: ")).count();
        let number = |cell: &str| cell.split(',').next().unwrap().parse::<usize>().unwrap();
        let documented = [2, 3, 4].map(|cell| number(cells[cell]));
        assert_eq!(documented, [options.len(), options.len() - refused, refused], "{row}");
    }
}

/// A directory with `perf` linked to this program.
fn linked() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    succeed(perfconv().args(["perf", "--install"]).arg(directory.path()));
    directory
}

/// Runs `perf ARGS` of a directory, with nothing else in the search path than these directories.
fn in_path(directory: &Path, path: &[&Path], args: &[&str]) -> Run {
    let path = env::join_paths(path).unwrap();
    run(Command::new("/usr/bin/timeout").arg("20").arg(directory.join("perf")).args(args).env("PATH", path))
}

fn script(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn behaves_as_perf_under_its_name() {
    let directory = linked();
    let link = directory.path().join("perf");
    assert_eq!(fs::canonicalize(&link).unwrap(), fs::canonicalize(env!("CARGO_BIN_EXE_perfconv")).unwrap());
    succeed(perfconv().args(["perf", "--install"]).arg(directory.path()));
    let recording = fixture("callgraph.data");
    let args = ["script", "-F", "comm,ip", "-i", recording.to_str().unwrap()];
    let output = in_path(directory.path(), &[], &args);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), on_recording("script", &["-F", "comm,ip"]));
}

#[test]
fn does_not_replace_another_perf() {
    let directory = tempfile::tempdir().unwrap();
    script(&directory.path().join("perf"), "#!/bin/sh\n");
    let output = run(perfconv().args(["perf", "--install"]).arg(directory.path()));
    assert!(output.status == 255 && output.stderr.contains("is another program"), "{}", output.stderr);
}

#[test]
fn runs_the_perf_behind_it_for_other_commands() {
    let (ours, theirs) = (linked(), tempfile::tempdir().unwrap());
    script(&theirs.path().join("perf"), "#!/bin/sh\necho \"real: $*\"\nexit 7\n");
    let path = [ours.path(), theirs.path()];
    for args in [
        &["record", "-g", "ls"][..],
        &["bogus"],
        &["stat", "--", "ls"],
        &["script", "-s", "a.py"],
        &["--no-pager", "--buildid-dir", "d", "buildid-cache", "-l"],
        &["--buildid-dir=d", "script", "-s", "a.py"],
    ] {
        let output = in_path(ours.path(), &path, args);
        assert_eq!((output.status, &*output.stdout), (7, format!("real: {}\n", args.join(" ")).as_bytes()), "{args:?}");
    }
}

#[test]
fn never_runs_itself() {
    let (ours, others) = (linked(), tempfile::tempdir().unwrap());
    // Links and copies of this program are not the real perf, however many there are.
    symlink(env!("CARGO_BIN_EXE_perfconv"), others.path().join("perf")).unwrap();
    let copies = tempfile::tempdir().unwrap();
    fs::copy(env!("CARGO_BIN_EXE_perfconv"), copies.path().join("perf")).unwrap();
    let output = in_path(ours.path(), &[ours.path(), others.path(), copies.path()], &["record", "ls"]);
    assert_eq!((output.status, &output.stdout[..]), (1, &b""[..]));
    assert!(output.stderr.contains("recording needs perf: "), "{}", output.stderr);
    // Nor is a script that runs this program.
    let wrapper = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_perfconv");
    script(&wrapper.path().join("perf"), &format!("#!/bin/sh\nexec {program} perf \"$@\"\n"));
    let output = in_path(ours.path(), &[ours.path(), wrapper.path()], &["record", "ls"]);
    assert_eq!(output.status, 255, "{}", output.stderr);
    assert!(output.stderr.contains("the perf in PATH runs perfconv again"), "{}", output.stderr);
}

#[test]
fn unknown_commands_have_the_exit_status_of_perf() {
    let ours = linked();
    for (args, message) in [
        (&["bogus"][..], "'bogus' is not a perf command"),
        (&["record", "ls"], "recording needs perf"),
        (&["c2c", "report"], "perfconv does not answer perf c2c; use "),
    ] {
        let output = in_path(ours.path(), &[ours.path()], args);
        assert_eq!(output.status, 1, "{args:?}");
        assert!(output.stderr.contains(message), "{args:?}: {}", output.stderr);
    }
}

#[test]
fn inject_and_data_convert_write_files() {
    let directory = tempfile::tempdir().unwrap();
    let (recording, injected, json) =
        (fixture("callgraph.data"), directory.path().join("out.data"), directory.path().join("out.json"));
    succeed(perfconv().args(["perf", "inject", "-b", "-i"]).arg(&recording).arg("-o").arg(&injected));
    succeed(perfconv().args(["perf", "data", "convert", "-i"]).arg(&injected).arg("--to-json").arg(&json));
    assert!(fs::read_to_string(&json).unwrap().contains("\"linux-perf-json-version\""));
    // There is no trace.
    let [with, without] = [&["--itrace"][..], &[]]
        .map(|options| succeed(perfconv().args(["perf", "inject"]).args(options).arg("-i").arg(&recording)).stdout);
    assert!(!with.is_empty() && with == without);
}

#[test]
fn script_takes_no_recording_for_the_name_of_a_script() {
    let recording = fixture("callgraph.data");
    let output = run(perfconv().arg("script").arg(&recording));
    let expected = format!("; name a recording with -i {}\n", recording.display());
    assert!(output.status == 129 && output.stderr.ends_with(&expected), "{}", output.stderr);
}

#[test]
fn script_prints_source_files_without_directories() {
    let symbols = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let lines = |more: &[&str]| {
        let mut command = perfconv();
        command.args(["script", "-F", "ip,sym,srcline", "-i"]).arg(symbols.join("cxx.data"));
        let output = succeed(command.arg("--symfs").arg(symbols.join("files")).args(more).env("HOME", "/nonexistent"));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines()
            .filter(|line| line.contains(".cc:") || line.contains(".cpp:"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (short, full) = (lines(&[]), lines(&["--full-source-path"]));
    assert!(short.len() > 100 && short.iter().all(|line| !line.contains('/')), "{short:?}");
    assert!(full.len() == short.len() && full.iter().any(|line| line.contains('/')), "{full:?}");
}
