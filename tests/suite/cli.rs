//! The command line: inputs, outputs, options and exit statuses.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::common::files::fixture;
use crate::common::oracle::is_on_path;
use crate::common::program::{self, Run, perfconv, run, send_signal};
use crate::common::work_dir::WorkDir;

impl WorkDir {
    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The names of the files in it.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Writes the recording `in.data`, always with the same time, which some outputs contain. It is in the future, so that the search
    /// for symbols gives the same result as for an input without a time.
    fn write_input(&self, name: &str) {
        fs::copy(fixture(name), self.path("in.data")).unwrap();
        let file = fs::File::options().write(true).open(self.path("in.data")).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(4_000_000_000)).unwrap();
    }

    /// Runs the program in it, with a recording as `in.data`.
    fn run(&self, arguments: &[&str]) -> Run {
        self.write_input("callgraph.data");
        run(perfconv().current_dir(&self.0).args(arguments))
    }

    /// Runs a shell command in it, with `perfconv` in PATH.
    fn shell(&self, line: &str) -> Run {
        let dir = Path::new(env!("CARGO_BIN_EXE_perfconv")).parent().unwrap().to_str().unwrap();
        let path = format!("{dir}:{}", std::env::var("PATH").unwrap());
        self.write_input("callgraph.data");
        run(Command::new("sh").args(["-c", line]).current_dir(&self.0).env("PATH", path).stdin(Stdio::null()))
    }
}

/// The profile of a fixture, converted by path.
fn expected(name: &str) -> Vec<u8> {
    let dir = WorkDir::new();
    dir.write_input(name);
    let run = program::convert(&dir.path("in.data"), &dir.path("out.pb.gz"));
    assert_eq!(run.status, 0, "{}", run.stderr);
    dir.read("out.pb.gz")
}

#[test]
fn accepts_an_input_as_argument_or_option() {
    let expected = expected("callgraph.data");
    for arguments in [
        &["in.data", "-o", "out.pb.gz"][..],
        &["-i", "in.data", "-o", "out.pb.gz"],
        &["convert", "in.data", "-o", "out.pb.gz"],
        &["convert", "-i", "in.data", "-o", "out.pb.gz"],
        &["-o", "out.pb.gz", "in.data"],
    ] {
        let dir = WorkDir::new();
        let run = dir.run(arguments);
        assert_eq!(run.ledger().unwrap().output, "out.pb.gz", "{arguments:?}");
        assert_eq!(dir.read("out.pb.gz"), expected, "{arguments:?}");
    }
}

#[test]
fn reads_perf_data_by_default() {
    let dir = WorkDir::new();
    let missing = dir.run(&["-o", "out.pb.gz"]);
    assert!(missing.status == 2 && missing.stderr.contains("perf.data: not found"), "{}", missing.stderr);
    fs::copy(fixture("callgraph.data"), dir.path("perf.data")).unwrap();
    assert_eq!(dir.run(&["-o", "out.pb.gz"]).status, 0);
    assert_eq!(dir.read("out.pb.gz"), expected("callgraph.data"));
}

#[test]
fn standard_input_gives_the_same_output_as_a_path() {
    for name in ["callgraph.data", "compressed.data", "compressed2.data", "tracepoints.data", "big-endian.data"] {
        let dir = WorkDir::new();
        fs::copy(fixture(name), dir.path("recording")).unwrap();
        for line in ["cat recording | perfconv - -o out.pb.gz -f", "perfconv - -o out.pb.gz -f <recording"] {
            let run = dir.shell(line);
            assert_eq!(run.status, 0, "{name}: {line}: {}", run.stderr);
            assert_eq!(dir.read("out.pb.gz"), expected(name), "{name}: {line}");
        }
    }
}

#[test]
fn reads_pipe_mode_from_a_pipe_and_from_a_file() {
    for name in ["pipe.data", "pipe-compressed.data"] {
        let dir = WorkDir::new();
        fs::copy(fixture(name), dir.path("stream")).unwrap();
        let run = dir.shell("cat stream | perfconv -i - -o out.pb.gz");
        assert_eq!(run.status, 0, "{name}: {}", run.stderr);
        assert_eq!(dir.read("out.pb.gz"), expected(name), "{name}");
    }
}

#[test]
fn recognizes_compressed_inputs_by_content() {
    for name in ["callgraph.data", "compressed.data", "pipe.data", "big-endian.data"] {
        let dir = WorkDir::new();
        let bytes = fs::read(fixture(name)).unwrap();
        let mut gzip = GzEncoder::new(File::create(dir.path("gzipped")).unwrap(), Compression::default());
        gzip.write_all(&bytes).unwrap();
        gzip.finish().unwrap();
        fs::write(dir.path("zstandard"), zstd::encode_all(&bytes[..], 3).unwrap()).unwrap();
        for line in [
            "perfconv gzipped -o out.pb.gz -f",
            "perfconv zstandard -o out.pb.gz -f",
            "cat gzipped | perfconv - -o out.pb.gz -f",
            "cat zstandard | perfconv - -o out.pb.gz -f",
        ] {
            let run = dir.shell(line);
            assert_eq!(run.status, 0, "{name}: {line}: {}", run.stderr);
            assert_eq!(dir.read("out.pb.gz"), expected(name), "{name}: {line}");
        }
    }
}

#[test]
fn output_compression_follows_the_extension() {
    let expected = program::decode(&expected("callgraph.data"));
    let dir = WorkDir::new();
    assert_eq!(dir.run(&["in.data", "-o", "out.pb.gz"]).status, 0);
    assert_eq!(program::decode(&dir.read("out.pb.gz")), expected);
    assert_eq!(dir.run(&["in.data", "-o", "out.pb.zst"]).status, 0);
    let message = zstd::decode_all(&dir.read("out.pb.zst")[..]).expect("a zstd stream, by its name");
    assert_eq!(<_ as prost::Message>::decode(&message[..]), Ok(expected.clone()));
    assert_eq!(dir.run(&["in.data", "-o", "OUT.PB.GZ"]).status, 0);
    assert_eq!(program::decode(&dir.read("OUT.PB.GZ")), expected);
    assert_eq!(dir.run(&["in.data", "-o", "out.pb.gz.zst"]).status, 0);
    let gzip = zstd::decode_all(&dir.read("out.pb.gz.zst")[..]).expect("a zstd stream, by its name");
    assert_eq!(program::decode(&gzip), expected);
}

#[test]
fn output_format_follows_the_option_or_extension() {
    let dir = WorkDir::new();
    for arguments in [["-t", "pprof"], ["--to", "pprof"]] {
        let run = dir.run(&[&["in.data", "-f", "-o", "out.txt"], &arguments[..]].concat());
        assert_eq!(run.status, 0, "{}", run.stderr);
        assert_eq!(program::decode(&dir.read("out.txt")), program::decode(&expected("callgraph.data")));
    }
    let unknown = dir.run(&["in.data", "-o", "out.xyz"]);
    assert_eq!(unknown.status, 2, "{}", unknown.stderr);
    assert!(unknown.stderr.contains(".pb.gz") && unknown.stderr.contains("help formats"), "{}", unknown.stderr);
    assert!(!dir.path("out.xyz").exists());
}

#[test]
fn usage_errors_have_status_2() {
    let dir = WorkDir::new();
    for arguments in [
        &["in.data", "-o", "out.pb.gz", "--no-such-option"][..],
        &["in.data", "-o"],
        &["in.data", "-o", "out.pb.gz", "-t", "no-such-format"],
        &["in.data", "-i", "in.data", "-o", "out.pb.gz"],
    ] {
        let run = dir.run(arguments);
        assert_eq!(run.status, 2, "{arguments:?}: {}", run.stderr);
        assert!(!run.stderr.is_empty() && run.stdout.is_empty(), "{arguments:?}");
        assert!(!dir.path("out.pb.gz").exists(), "{arguments:?}");
    }
}

#[test]
fn rejects_a_missing_directory_for_temporary_files() {
    let dir = WorkDir::new();
    for arguments in [
        &["in.data", "-o", "out.pb.gz", "--spool-dir", "none"][..],
        &["check", "in.data", "--spool-dir", "in.data"],
        &["info", "in.data", "--spool-dir", "none"],
        &["dump", "in.data", "--spool-dir", "none"],
    ] {
        let run = dir.run(arguments);
        assert_eq!(run.status, 2, "{arguments:?}: {}", run.stderr);
        let expected = if arguments[0] == "check" { "is a file; expected a directory" } else { "no such directory" };
        assert!(run.stderr.contains(expected), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn files_and_directories_that_options_name_must_exist() {
    let dir = WorkDir::new();
    for (option, wrong_kind) in [
        ("--kallsyms", "."),
        ("--vmlinux", "."),
        ("--thread-types", "."),
        ("--debug-dir", "in.data"),
        ("--symfs", "in.data"),
        ("--buildid-dir", "in.data"),
    ] {
        for (path, expected) in [("none", "no such "), (wrong_kind, "; expected a ")] {
            let run = dir.run(&["in.data", "-o", "out.pb.gz", option, path]);
            assert!(run.status == 2 && run.stderr.contains(expected), "{option} {path}: {}", run.stderr);
        }
    }
}

#[test]
fn an_output_that_is_the_input_is_reported_with_its_other_name() {
    let dir = WorkDir::new();
    dir.write_input("callgraph.data");
    symlink("in.data", dir.path("link.data")).unwrap();
    let run = dir.run(&["in.data", "-f", "-o", "link.data"]);
    assert!(run.stderr.contains("cannot overwrite the input in.data, which is the same file"), "{}", run.stderr);
    let run = dir.run(&["in.data", "-f", "-o", "in.data"]);
    assert!(run.stderr.contains("in.data: cannot overwrite the input; nothing was written"), "{}", run.stderr);
}

/// As in perf.
#[test]
fn a_pipe_on_standard_input_is_read_unless_an_input_is_named() {
    let dir = WorkDir::new();
    let expected = expected("callgraph.data");
    let run = dir.shell("cat in.data | perfconv -q -t pprof -o out.pb.gz");
    assert_eq!((run.status, &*run.stderr), (0, ""));
    assert_eq!(dir.read("out.pb.gz"), expected);
    for line in ["report --sort sym", "info", "dump", "check"] {
        let run = dir.shell(&format!("cat in.data | perfconv {line} >text"));
        assert!(run.status == 0 && !dir.read("text").is_empty(), "{line}: {}", run.stderr);
    }
    let run = dir.shell("echo no recording | perfconv in.data -q -f -o out.pb.gz");
    assert_eq!((run.status, dir.read("out.pb.gz")), (0, expected), "{}", run.stderr);
}

#[test]
fn commands_and_options_of_perf_name_what_to_use() {
    let dir = WorkDir::new();
    for (line, expected) in [
        ("evlist -v", "'perfconv perf evlist -v'"),
        ("buildid-list", "'perfconv perf buildid-list'"),
        ("record -g ./app", "'perf record -g ./app', then 'perfconv report'"),
        ("stat ls", "'perf stat record ls'"),
        ("sched latency", "or 'perf sched latency'"),
        ("list", "use 'perf list'"),
        ("help record", "'perf record -g ./app'"),
        ("flamegraph", "'perfconv -o out.svg'"),
        ("top -p 7", "'perf top -p 7'"),
        ("report -n --no-children in.data", "use 'perfconv perf report -n --no-children -i in.data'"),
        ("report --hierarchy in.data", "perfconv does not support it: "),
        ("report --stdio -g -i in.data", "use 'perfconv perf report --stdio -g -i in.data'"),
        ("report --header in.data", "'perfconv info' prints the header"),
        ("report --stdio in.data", "always prints text"),
        ("report in.data -g", "perfconv report --symbol FUNCTION"),
    ] {
        let arguments: Vec<_> = line.split(' ').collect();
        let run = dir.run(&arguments);
        assert!(run.status == 2 && run.stderr.contains(expected), "{line}: {}", run.stderr);
        assert_eq!(run.stderr.lines().count(), 1, "{line}: {}", run.stderr);
    }
}

#[test]
fn messages_name_what_was_typed_and_what_to_type() {
    let dir = WorkDir::new();
    fs::write(dir.path("notes.txt"), "no recording\n").unwrap();
    for (line, status, expected) in [
        ("in.data -o x", 2, "x: cannot derive the format from the name; use an extension such as .pb.gz"),
        ("in.data -t pprof", 2, "pprof is binary, so name a file with -o, or write it to a pipe with -o -"),
        ("in.data -t csv", 2, "csv is a directory, so name one with -o DIR"),
        ("rewrite in.data -o out.data --compress 3", 2, "a compression level is --compress=3"),
        ("rewrite in.data -o out.data --set hostname=", 2, "HOSTNAME: expected a value after '='"),
        ("in.data -o out.pb.gz --head 99999999999999999999", 2, "too large; expected at most 18446744073709551615"),
        ("notes.txt", 1, "notes.txt: neither a perf.data file nor any other known format"),
        ("synth in.data -o out.data", 1, "in.data: not a scenario, which is TOML text"),
    ] {
        let arguments: Vec<_> = line.split(' ').collect();
        let run = dir.run(&arguments);
        assert!(run.status == status && run.stderr.contains(expected), "{line}: {}", run.stderr);
        assert_eq!(run.stderr.lines().count(), 1, "{line}: {}", run.stderr);
    }
    dir.run(&["in.data", "-q", "-o", "x.pb.gz"]);
    for command in ["dump", "check"] {
        let run = dir.run(&[command, "x.pb.gz"]);
        assert!(run.stderr.starts_with("perfconv: x.pb.gz: pprof, converted to a recording first\n"), "{}", run.stderr);
    }
}

#[test]
fn an_empty_directory_is_filled_without_force() {
    let dir = WorkDir::new();
    fs::create_dir(dir.path("parts")).unwrap();
    for option in ["--out-dir", "-o"] {
        let run = dir.run(&["split", "in.data", "--by", "pid", option, "parts"]);
        assert_eq!(run.status, if option == "--out-dir" { 0 } else { 1 }, "{}", run.stderr);
    }
    assert!(dir.path("parts").join("pid-21998.data").exists());
}

#[test]
fn an_existing_output_needs_force() {
    let dir = WorkDir::new();
    fs::write(dir.path("out.pb.gz"), "precious").unwrap();
    let run = dir.run(&["in.data", "-o", "out.pb.gz"]);
    assert!(run.failure().unwrap().contains("out.pb.gz"), "{}", run.stderr);
    assert!(run.stderr.contains("-f"), "the message should say what to do: {}", run.stderr);
    assert_eq!(dir.read("out.pb.gz"), b"precious");
    assert_eq!(dir.run(&["in.data", "-o", "out.pb.gz", "-f"]).status, 0);
    assert_eq!(dir.read("out.pb.gz"), expected("callgraph.data"));
}

#[test]
fn a_failure_keeps_the_existing_output() {
    let dir = WorkDir::new();
    fs::write(dir.path("out.pb.gz"), "precious").unwrap();
    fs::write(dir.path("text"), "not a recording").unwrap();
    dir.run(&["text", "-o", "out.pb.gz", "-f"]).failure().unwrap();
    assert_eq!(dir.read("out.pb.gz"), b"precious");
}

#[test]
fn never_overwrites_an_input() {
    let dir = WorkDir::new();
    dir.run(&["--version"]);
    symlink("in.data", dir.path("symbolic")).unwrap();
    fs::hard_link(dir.path("in.data"), dir.path("hard")).unwrap();
    for output in ["in.data", "./in.data", "symbolic", "hard"] {
        let run = dir.run(&["in.data", "-t", "pprof", "-f", "-o", output]);
        run.failure().unwrap_or_else(|error| panic!("{output}: {error}"));
        assert_eq!(dir.read("in.data"), fs::read(fixture("callgraph.data")).unwrap(), "{output}");
    }
}

#[test]
fn follows_symbolic_links_and_keeps_the_mode() {
    let dir = WorkDir::new();
    fs::write(dir.path("target.pb.gz"), "old").unwrap();
    fs::set_permissions(dir.path("target.pb.gz"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("target.pb.gz", dir.path("out.pb.gz")).unwrap();
    assert_eq!(dir.run(&["in.data", "-f", "-o", "out.pb.gz"]).status, 0);
    assert!(dir.path("out.pb.gz").is_symlink());
    assert_eq!(dir.read("target.pb.gz"), expected("callgraph.data"));
    assert_eq!(fs::metadata(dir.path("target.pb.gz")).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn a_new_output_has_the_mode_of_the_umask() {
    let dir = WorkDir::new();
    assert_eq!(dir.shell("chmod 644 in.data; umask 027; perfconv in.data -o out.pb.gz").status, 0);
    assert_eq!(fs::metadata(dir.path("out.pb.gz")).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn outputs_of_a_private_recording_are_private() {
    let dir = WorkDir::new();
    let mode = |name: &str| fs::metadata(dir.path(name)).unwrap().permissions().mode() & 0o777;
    let commands = "chmod 600 in.data; umask 022; perfconv in.data -o out.pb.gz && perfconv rewrite in.data -o out.data && \
                perfconv split in.data --by pid -o parts && perfconv merge in.data -o merged.data && \
                perfconv archive in.data -o in.tar --strict; perfconv archive --unpack in.tar -o unpacked; \
                cat in.tar | perfconv archive --unpack - -o public; cat in.data | perfconv - -o piped.pb.gz";
    dir.shell(commands);
    let modes =
        ["out.pb.gz", "out.data", "parts", "merged.data", "in.tar", "unpacked/in.data", "piped.pb.gz"].map(mode);
    assert_eq!(modes, [0o600, 0o600, 0o700, 0o600, 0o600, 0o600, 0o644]);
    assert_eq!(mode("public/in.data"), 0o644);
}

#[test]
fn leaves_no_temporary_files() {
    let dir = WorkDir::new();
    assert_eq!(dir.run(&["in.data", "-o", "out.pb.gz"]).status, 0);
    assert_eq!(dir.names(), ["in.data", "out.pb.gz"]);
}

#[test]
fn standard_output_gets_the_same_as_a_file() {
    let dir = WorkDir::new();
    let run = dir.run(&["in.data", "-t", "pprof", "-o", "-"]);
    assert_eq!(run.ledger().unwrap().samples_in, 377);
    assert_eq!(program::decode(&run.stdout), program::decode(&expected("callgraph.data")));
}

#[test]
fn writes_directly_to_devices_and_fifos() {
    let dir = WorkDir::new();
    let run = dir.run(&["in.data", "-t", "pprof", "-o", "/dev/null"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    let run =
        dir.shell("mkfifo fifo.pb.gz; cat fifo.pb.gz >read & perfconv in.data -o fifo.pb.gz; s=$?; wait; exit $s");
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(dir.read("read"), expected("callgraph.data"));
    assert!(!fs::metadata(dir.path("fifo.pb.gz")).unwrap().is_file());
}

#[test]
fn rejects_binary_output_to_a_terminal() {
    let dir = WorkDir::new();
    if !is_on_path("script") {
        return note!("skipped: script, for a terminal, is missing");
    }
    for output in ["-", "/dev/tty", "/dev/stdout"] {
        let run = dir.shell(&format!("script -qec 'perfconv in.data -t pprof -o {output}' /dev/null"));
        let said = String::from_utf8(run.stdout).expect("no binary output");
        assert_eq!(run.status, 2, "{output}: {said}");
        assert!(said.contains("binary output is not written to a terminal"), "{output}: {said}");
    }
}

#[test]
fn a_broken_pipe_ends_quietly() {
    let dir = WorkDir::new();
    let recording = fixture("killed.data");
    // Larger than a pipe's buffer, so that the program cannot finish before it notices the closed pipe.
    assert!(fs::metadata(&recording).unwrap().len() > 1 << 16);
    fs::copy(recording, dir.path("large.data")).unwrap();
    let run = dir.shell("{ perfconv large.data -q -t perf.data --container file -o -; echo $? >status; } | true");
    assert_eq!(run.stderr, "");
    assert_eq!(dir.read("status"), b"141\n");
}

#[test]
fn a_full_device_is_a_failure() {
    let dir = WorkDir::new();
    let run = dir.run(&["in.data", "-t", "pprof", "-o", "/dev/full"]);
    assert!(run.failure().unwrap().contains("/dev/full"), "{}", run.stderr);
    for name in ["group-read.data", "callgraph.data"] {
        fs::copy(fixture(name), dir.path("recording")).unwrap();
        let run = dir.shell("perfconv recording -t pprof -o - >/dev/full");
        assert!(run.failure().unwrap().contains("standard output"), "{name}: {}", run.stderr);
    }
}

#[test]
fn a_closed_standard_output_is_a_failure() {
    let dir = WorkDir::new();
    for line in [
        "perfconv in.data -o - -t jsonl >&-",
        "perfconv in.data -o - -t pprof >&-",
        "perfconv info in.data >&-",
        "perfconv check in.data >&-",
        "perfconv dump in.data >&-",
        "perfconv --help >&-",
    ] {
        let run = dir.shell(line);
        assert!(
            run.failure().unwrap().starts_with("standard output: cannot write: it is closed"),
            "{line}: {}",
            run.stderr
        );
    }
    // Shells open standard output write-only, Python and Node.js read-write.
    for line in ["perfconv in.data -o - -t jsonl >/dev/null", "perfconv in.data -o - -t jsonl 1<>/dev/null"] {
        let run = dir.shell(line);
        assert_eq!(run.ledger().unwrap().samples_out, 377, "{line}: {}", run.stderr);
    }
    assert_eq!(dir.shell("perfconv in.data -o out.pb.gz >&-").status, 0);
}

#[test]
fn ledger_counts_unreadable_bytes() {
    let dir = WorkDir::new();
    dir.run(&["--version"]);
    let complete = dir.read("in.data");
    fs::write(dir.path("truncated.data"), &complete[..30_000]).unwrap();
    let run = dir.run(&["truncated.data", "-o", "out.pb.gz"]);
    let ledger = run.ledger().unwrap();
    // 80 bytes of a truncated record, and the rest that the header declares.
    assert_eq!((ledger.samples_out, ledger.unread), (304, 80 + 7144), "{}", run.stderr);
    let mut zeros = complete.clone();
    zeros[20_000..24_096].fill(0);
    fs::write(dir.path("zeros.data"), zeros).unwrap();
    assert_eq!(dir.run(&["zeros.data", "-f", "-o", "out.jsonl"]).ledger().unwrap().unread, 4088);
    assert_eq!(dir.run(&["in.data", "-f", "-o", "out.pb.gz"]).ledger().unwrap().unread, 0);
}

#[test]
fn suggests_similar_commands() {
    let dir = WorkDir::new();
    for (arguments, similar) in [
        (&["repot", "in.data"][..], "did you mean 'report'?"),
        (&["repot", "-i", "in.data"], "did you mean 'report'?"),
        (&["functions"], "expected one of: convert, rewrite, "),
        (
            &["kvms", "in.data", "-o", "out.pb.gz"],
            "'kvm' is not a command of perfconv; use 'perf kvm in.data -o out.pb.gz'",
        ),
        (&["anotate", "main"], "did you mean 'annotate'?"),
        (&["chek", "in.data"], "did you mean 'check'?"),
    ] {
        let run = dir.run(arguments);
        assert_eq!(run.status, 2, "{arguments:?}: {}", run.stderr);
        let said = format!("perfconv: '{}' is neither a command nor a file; {similar}", arguments[0]);
        assert!(run.stderr.starts_with(&said), "{arguments:?}: {}", run.stderr);
    }
    fs::copy(fixture("callgraph.data"), dir.path("top-functions")).unwrap();
    assert_eq!(dir.run(&["top-functions", "-o", "out.pb.gz"]).status, 0);
    assert!(dir.run(&["./top", "-f", "-o", "out.pb.gz"]).failure().unwrap().starts_with("./top: cannot open"));
}

#[test]
fn writes_text_to_standard_output_by_default() {
    let dir = WorkDir::new();
    for format in ["jsonl", "json", "perf-json", "quipper-text"] {
        let named = dir.run(&["in.data", "-t", format, "-o", "-"]);
        let run = dir.run(&["in.data", "-t", format]);
        assert_eq!((run.ledger(), named.status), (named.ledger(), 0), "{format}: {}", run.stderr);
        assert!(!run.stdout.is_empty() && run.stdout == named.stdout, "{format}");
    }
    for format in ["pprof", "perf.data", "quipper", "csv"] {
        let run = dir.run(&["in.data", "-t", format]);
        assert_eq!((run.status, &*run.stdout), (2, &b""[..]), "{format}");
        assert!(run.stderr.contains("no output is named"), "{format}: {}", run.stderr);
    }
    let run = dir.run(&["in.data", "-o", "-"]);
    assert!(
        run.status == 2 && run.stderr == "perfconv: standard output: no format; use --to FORMAT\n",
        "{}",
        run.stderr
    );
}

#[test]
fn escapes_control_characters_of_names() {
    let dir = WorkDir::new();
    let sample = |comm: &str| format!("{comm} 7/7 [000] 1.000000: 1 cycles: \n\t401000 ma\x1b[2Jin+0x2 (/bin/a)\n\n");
    fs::write(dir.path("in.script"), [sample("a\x1b[31mb"), sample(":-1"), sample("aux")].concat()).unwrap();
    let run = dir.run(&["in.script", "-o", "named.data"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(dir.run(&["named.data", "-o", "out.pb.gz"]).status, 0);
    let strings = program::profile(&dir.path("out.pb.gz")).string_table;
    assert!(strings.iter().any(|string| string == r"a\u{1b}[31mb"), "{strings:?}");
    assert!(!strings.iter().any(|string| string.contains(char::is_control)), "{strings:?}");
    let run = dir.run(&["named.data", "--split-by", "comm", "-o", "profiles"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let mut names: Vec<_> =
        fs::read_dir(dir.path("profiles")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["_-1.pb.gz", "_aux.pb.gz", "a_[31mb.pb.gz"]);
    let run = dir.run(&["split", "named.data", "--by", "comm", "-o", "parts"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(dir.path("parts/comm-_-1.data").exists() && dir.path("parts/comm-aux.data").exists());
}

#[test]
fn report_json_prints_the_ledger_as_one_object() {
    let dir = WorkDir::new();
    dir.run(&["--version"]);
    let complete = dir.read("in.data");
    fs::write(dir.path("truncated.data"), &complete[..30_000]).unwrap();
    let report = |arguments: &[&str]| -> serde_json::Value {
        let run = dir.run(arguments);
        assert_eq!((run.status, run.stderr.lines().count()), (0, 1), "{arguments:?}: {}", run.stderr);
        serde_json::from_str(&run.stderr).unwrap_or_else(|error| panic!("{error}: {}", run.stderr))
    };
    let json = report(&["truncated.data", "-o", "out.pb.gz", "--report", "json"]);
    assert_eq!(json["samples"], serde_json::json!({ "in": 304, "out": 304, "dropped": 0 }));
    assert_eq!((&json["unreadable_bytes"], &json["complete"]), (&7224.into(), &false.into()));
    assert_eq!((&json["inputs"][0], &json["output"]), (&"truncated.data".into(), &"out.pb.gz".into()));
    assert_eq!(json["warnings"].as_array().map(Vec::len), Some(2), "{json}");
    for (kind, record) in json["records"].as_object().unwrap() {
        let count = |key: &str| record[key].as_u64().unwrap_or_else(|| panic!("{kind}: {key}: {record}"));
        let parts = ["out", "used", "not_applicable", "removed", "dropped"].map(count);
        assert_eq!(count("read") + count("added"), parts.iter().sum::<u64>(), "{kind}");
    }
    let json = report(&["in.data", "-o", "five.data", "--head", "5", "--report", "json"]);
    assert_eq!(json["records"]["SAMPLE"]["removed_by"], serde_json::json!({ "--head": 372 }));
    assert_eq!(json["complete"], true);
    let json = report(&["merge", "in.data", "five.data", "-o", "merged.data", "--report", "json"]);
    assert_eq!(json["inputs"], serde_json::json!(["in.data", "five.data"]));
    let many = dir.run(&["in.data", "five.data", "--out-dir", "many", "--report", "json"]);
    let lines: Vec<serde_json::Value> = many.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.iter().map(|line| &line["samples"]["in"]).collect::<Vec<_>>(), [377, 5]);
    // Control characters in names are escaped.
    fs::write(dir.path("a\u{9b}\n.data"), &complete).unwrap();
    assert_eq!(report(&["a\u{9b}\n.data", "-f", "-o", "out.pb.gz", "--report", "json"])["inputs"][0], "a\u{9b}\n.data");
    assert_eq!(dir.run(&["in.data", "-o", "x.pb", "-q", "--report", "json"]).status, 2);
}

#[test]
fn announces_reading_from_a_terminal() {
    let dir = WorkDir::new();
    if !is_on_path("script") {
        return note!("skipped: script, for a terminal, is missing");
    }
    // Ctrl-D, and the end of the terminal, after the program has said so.
    let run = dir.shell(
        "mkfifo keys; timeout 300 script -qec 'perfconv - -o out.data' /dev/null <keys >said & exec 3>keys
        until grep -q Ctrl-D said || ! kill -0 $!; do sleep 0.01; done
        printf '\\004' >&3; exec 3>&-; wait $!; status=$?; cat said; exit $status",
    );
    let said = String::from_utf8(run.stdout).unwrap();
    assert!(said.contains("perfconv: reading from standard input (terminal); end it with Ctrl-D"), "{said}");
    assert_eq!(run.status, 1, "{said}");
    assert!(!dir.shell("perfconv - -o out.data </dev/null").stderr.contains("terminal"));
}

#[test]
fn writes_to_open_file_descriptors() {
    let dir = WorkDir::new();
    let expected = expected("callgraph.data");
    for line in [
        "perfconv in.data -q -t pprof -o /dev/stdout >out",
        "perfconv in.data -q -t pprof -o /dev/stdout | cat >out",
        "perfconv in.data -q -t pprof -o /dev/fd/3 3>out",
        "{ perfconv in.data -q -t pprof -o /dev/fd/3 3>&1 | cat >out; }",
    ] {
        let run = dir.shell(line);
        assert_eq!((run.status, &*run.stderr), (0, ""), "{line}");
        assert_eq!(dir.read("out"), expected, "{line}");
    }
    let run = dir.shell("echo kept >out; perfconv in.data -q -t pprof -o /dev/stdout >>out");
    assert_eq!((run.status, &*run.stderr), (0, ""));
    assert_eq!(dir.read("out"), [b"kept\n", &*expected].concat());
}

#[test]
fn rejects_an_open_input_as_output() {
    let dir = WorkDir::new();
    for line in ["perfconv in.data -t pprof -o - >>in.data", "perfconv in.data -t pprof -o /dev/fd/3 3>>in.data"] {
        let run = dir.shell(line);
        assert!(run.failure().unwrap().contains("cannot overwrite the input"), "{line}: {}", run.stderr);
        assert_eq!(dir.read("in.data"), fs::read(fixture("callgraph.data")).unwrap(), "{line}");
    }
}

#[test]
fn reads_a_fifo_and_replaces_an_existing_output() {
    let dir = WorkDir::new();
    let run = dir.shell("echo old >out.pb.gz; mkfifo fifo; cat in.data >fifo & perfconv fifo -f -o out.pb.gz");
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(dir.read("out.pb.gz"), expected("callgraph.data"));
}

#[test]
fn errors_name_the_output_as_given() {
    let dir = WorkDir::new();
    symlink("loop.pb", dir.path("loop.pb")).unwrap();
    for (output, expected) in [
        ("loop.pb", "loop.pb: cannot access: "),
        ("in.data/out.pb", "in.data/out.pb: cannot access: "),
        ("no/folder/out.pb", "no/folder/out.pb: cannot create: directory no/folder does not exist"),
        ("/proc/out.pb", "/proc/out.pb: cannot create: no file can be created in /proc; name another"),
    ] {
        let run = dir.run(&["in.data", "-o", output]);
        assert!(run.failure().unwrap().starts_with(expected), "{output}: {}", run.stderr);
        assert!(!run.stderr.contains(".tmp"), "{output}: {}", run.stderr);
    }
}

/// The program during a conversion: it has half of a recording and waits for the rest.
struct Writing {
    program: Child,
    rest: Vec<u8>,
}

impl Writing {
    fn start(dir: &WorkDir, arguments: &[&str]) -> Writing {
        Self::start_command(program::perfconv_with_signals(), dir, arguments)
    }

    fn start_command(mut command: Command, dir: &WorkDir, arguments: &[&str]) -> Writing {
        let mut recording = fs::read(fixture("pipe.data")).unwrap();
        let rest = recording.split_off(recording.len() / 2);
        command.current_dir(&dir.0).args(["-", "-q"]).args(arguments).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut program = command.spawn().unwrap();
        program.stdin.as_mut().unwrap().write_all(&recording).unwrap();
        while dir.names().is_empty() {
            assert!(program.try_wait().unwrap().is_none(), "should start writing");
            thread::sleep(Duration::from_millis(5));
        }
        Writing { program, rest }
    }

    fn finish(mut self) -> Output {
        self.program.stdin.as_mut().unwrap().write_all(&self.rest).unwrap();
        self.program.wait_with_output().unwrap()
    }
}

#[test]
fn a_signal_leaves_no_files() {
    for container in ["pipe", "file", "dir"] {
        for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1), ("QUIT", 3)] {
            let dir = WorkDir::new();
            let mut writing = Writing::start(&dir, &["--container", container, "-o", "out.data"]);
            // Keep the input open, so that the program keeps waiting.
            let _input = writing.program.stdin.take();
            assert!(send_signal(&writing.program, name));
            let ended = writing.program.wait_with_output().unwrap();
            // Shells report this as 128 plus the number.
            assert_eq!(ended.status.signal(), Some(number), "{container}: {:?}", ended);
            assert_eq!(String::from_utf8_lossy(&ended.stderr), "", "{container}");
            let left: Vec<_> = dir.names().into_iter().filter(|name| !name.starts_with("core")).collect();
            assert!(left.is_empty(), "{container}: {left:?}");
        }
    }
}

/// The signal arrives while a directory is imported from JSON, before the end of the input.
#[test]
fn a_signal_leaves_no_temporary_directory() {
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        let (spool, dir) = (tempfile::tempdir().unwrap(), WorkDir::new());
        let json = dir.path("in.jsonl");
        assert_eq!(program::convert(&fixture("threads.dir"), &json).status, 0);
        let lines = fs::read_to_string(&json).unwrap();
        let mut program = program::perfconv_with_signals();
        program.args(["-", "--from", "jsonl", "-o"]).arg(dir.path("out.data")).arg("--spool-dir").arg(spool.path());
        let mut program = program.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut input = program.stdin.take().unwrap();
        input.write_all(lines.rsplit_once("{\"end\"").expect("it should have an end").0.as_bytes()).unwrap();
        // More than is read at once, so that the import makes progress.
        (0..64).for_each(|_| input.write_all(&[b'\n'; 1 << 17]).unwrap());
        let entries = || fs::read_dir(spool.path()).unwrap().count();
        while entries() == 0 {
            let is_running = program.try_wait().unwrap().is_none();
            assert!(is_running, "{name}: a temporary directory should exist before the signal");
            thread::sleep(Duration::from_millis(10));
        }
        assert!(send_signal(&program, name));
        assert_eq!(program.wait().unwrap().signal(), Some(number), "{name}");
        assert_eq!(entries(), 0, "{name}");
    }
}

/// A signal that is ignored at the start, as by `nohup`, stays ignored.
#[test]
fn ignored_signals_stay_ignored() {
    let dir = WorkDir::new();
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_perfconv")]);
    let writing = Writing::start_command(shell, &dir, &["-o", "out.data"]);
    assert!(send_signal(&writing.program, "HUP"));
    let ended = writing.finish();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let uninterrupted = program::convert(&fixture("pipe.data"), &dir.path("uninterrupted.data"));
    assert_eq!(uninterrupted.status, 0, "{}", uninterrupted.stderr);
    assert!(dir.read("out.data") == dir.read("uninterrupted.data"));
}

#[test]
fn does_not_overwrite_a_file_created_meanwhile() {
    for container in ["pipe", "file", "dir"] {
        let dir = WorkDir::new();
        let writing = Writing::start(&dir, &["--container", container, "-o", "out.data"]);
        fs::write(dir.path("out.data"), "precious").unwrap();
        let ended = writing.finish();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(1), "{container}: {said}");
        assert!(said.starts_with("perfconv: out.data: already exists; use -f"), "{container}: {said}");
        assert_eq!(dir.read("out.data"), b"precious", "{container}");
        assert_eq!(dir.names(), ["out.data"], "{container}");
    }
}

#[test]
fn rejects_several_inputs_without_out_dir() {
    let dir = WorkDir::new();
    let run = dir.run(&["in.data", "other.data", "-o", "out.pb.gz"]);
    assert_eq!(run.status, 2, "{}", run.stderr);
    assert!(run.stderr.starts_with("perfconv: other.data: too many inputs"), "{}", run.stderr);
}

#[test]
fn escapes_control_characters_in_messages() {
    let dir = WorkDir::new();
    let name = "\x1b[31mred\n";
    fs::write(dir.path(name), "text").unwrap();
    let run = dir.run(&[name, "-o", "out.pb.gz"]);
    assert!(run.failure().unwrap().starts_with("\\u{1b}[31mred\\n: "), "{}", run.stderr);
    fs::copy(fixture("callgraph.data"), dir.path(name)).unwrap();
    let run = dir.run(&["check", name]);
    assert!(String::from_utf8(run.stdout).unwrap().starts_with("\\u{1b}[31mred\\n: "), "{}", run.stderr);
}

#[test]
fn quiet_prints_nothing_and_verbose_prints_more() {
    let dir = WorkDir::new();
    let quiet = dir.run(&["in.data", "-q", "-o", "out.pb.gz"]);
    assert_eq!((quiet.status, &*quiet.stderr), (0, ""));
    let normal = dir.run(&["in.data", "-f", "-o", "out.pb.gz"]);
    let verbose = dir.run(&["in.data", "-f", "-v", "-o", "out.pb.gz"]);
    assert_eq!(verbose.status, 0);
    assert!(verbose.stderr.len() > normal.stderr.len(), "{}", verbose.stderr);
    let last = |text: &str| text.lines().last().map(str::to_owned);
    assert_eq!(last(&verbose.stderr), last(&normal.stderr), "the ledger should come last");
    assert!(last(&normal.stderr).is_some_and(|line| line.starts_with("[ perfconv: ")), "{}", normal.stderr);
}

#[test]
fn quiet_does_not_hide_a_failure() {
    let dir = WorkDir::new();
    dir.run(&["missing.data", "-q", "-o", "out.pb.gz"]).failure().unwrap();
}

#[test]
fn prints_help_and_version() {
    let dir = WorkDir::new();
    let help = dir.run(&["--help"]);
    assert_eq!((help.status, &*help.stderr), (0, ""));
    let help = String::from_utf8(help.stdout).unwrap();
    for expected in ["--strict", "141", ".pprof", "perf.data     rw  .data"] {
        assert!(help.contains(expected), "{expected}: {help}");
    }
    let version = dir.run(&["--version"]);
    let expected = format!("perfconv {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!((version.status, version.stdout), (0, expected.into_bytes()));
    for args in ["--help", "convert --help", "--version"] {
        let full = dir.shell(&format!("perfconv {args} >/dev/full"));
        assert!(full.failure().unwrap().contains("standard output: cannot write"), "{args}: {}", full.stderr);
    }
}
