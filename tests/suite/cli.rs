//! The person at the terminal: inputs, outputs, options and exit statuses.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::{TempDir, tempdir};

use super::files::fixture;
use super::program::{self, Run, perfconv, run};

/// A folder in which to convert.
struct Desk(TempDir);

impl Desk {
    fn new() -> Desk {
        Desk(tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// What is in the folder.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs the program in the folder, with a recording as `in.data` beside it.
    fn run(&self, arguments: &[&str]) -> Run {
        fs::copy(fixture("callgraph.data"), self.path("in.data")).unwrap();
        run(perfconv().current_dir(&self.0).args(arguments))
    }

    /// Runs a line of shell in the folder, in which `perfconv` is the program.
    fn shell(&self, line: &str) -> Run {
        let folder = Path::new(env!("CARGO_BIN_EXE_perfconv")).parent().unwrap().to_str().unwrap();
        let path = format!("{folder}:{}", std::env::var("PATH").unwrap());
        fs::copy(fixture("callgraph.data"), self.path("in.data")).unwrap();
        run(Command::new("sh").args(["-c", line]).current_dir(&self.0).env("PATH", path).stdin(Stdio::null()))
    }
}

/// What comes out of a fixture that is named by its path.
fn expected(name: &str) -> Vec<u8> {
    let desk = Desk::new();
    let run = program::convert(&fixture(name), &desk.path("out.pb.gz"));
    assert_eq!(run.status, 0, "{}", run.stderr);
    desk.read("out.pb.gz")
}

#[test]
fn an_input_is_named_in_every_way() {
    let expected = expected("callgraph.data");
    for arguments in [
        &["in.data", "-o", "out.pb.gz"][..],
        &["-i", "in.data", "-o", "out.pb.gz"],
        &["convert", "in.data", "-o", "out.pb.gz"],
        &["convert", "-i", "in.data", "-o", "out.pb.gz"],
        &["-o", "out.pb.gz", "in.data"],
    ] {
        let desk = Desk::new();
        let run = desk.run(arguments);
        assert_eq!(run.ledger().unwrap().output, "out.pb.gz", "{arguments:?}");
        assert_eq!(desk.read("out.pb.gz"), expected, "{arguments:?}");
    }
}

#[test]
fn without_a_name_it_is_perf_data() {
    let desk = Desk::new();
    let missing = desk.run(&["-o", "out.pb.gz"]);
    assert!(missing.failure().unwrap().contains("perf.data"), "{}", missing.stderr);
    fs::copy(fixture("callgraph.data"), desk.path("perf.data")).unwrap();
    assert_eq!(desk.run(&["-o", "out.pb.gz"]).status, 0);
    assert_eq!(desk.read("out.pb.gz"), expected("callgraph.data"));
}

#[test]
fn from_standard_input_comes_what_comes_from_the_path() {
    for name in ["callgraph.data", "compressed.data", "compressed2.data", "tracepoints.data", "big-endian.data"] {
        let desk = Desk::new();
        fs::copy(fixture(name), desk.path("recording")).unwrap();
        for line in ["cat recording | perfconv - -o out.pb.gz -f", "perfconv - -o out.pb.gz -f <recording"] {
            let run = desk.shell(line);
            assert_eq!(run.status, 0, "{name}: {line}: {}", run.stderr);
            assert_eq!(desk.read("out.pb.gz"), expected(name), "{name}: {line}");
        }
    }
}

#[test]
fn a_pipe_stream_is_read_from_a_pipe_and_from_a_file() {
    for name in ["pipe.data", "pipe-compressed.data"] {
        let desk = Desk::new();
        fs::copy(fixture(name), desk.path("stream")).unwrap();
        let run = desk.shell("cat stream | perfconv -i - -o out.pb.gz");
        assert_eq!(run.status, 0, "{name}: {}", run.stderr);
        assert_eq!(desk.read("out.pb.gz"), expected(name), "{name}");
    }
}

#[test]
fn compressed_inputs_are_recognised_whatever_their_name() {
    for name in ["callgraph.data", "compressed.data", "pipe.data", "big-endian.data"] {
        let desk = Desk::new();
        let bytes = fs::read(fixture(name)).unwrap();
        let mut gzip = GzEncoder::new(File::create(desk.path("gzipped")).unwrap(), Compression::default());
        gzip.write_all(&bytes).unwrap();
        gzip.finish().unwrap();
        fs::write(desk.path("zstandard"), zstd::encode_all(&bytes[..], 3).unwrap()).unwrap();
        for line in [
            "perfconv gzipped -o out.pb.gz -f",
            "perfconv zstandard -o out.pb.gz -f",
            "cat gzipped | perfconv - -o out.pb.gz -f",
            "cat zstandard | perfconv - -o out.pb.gz -f",
        ] {
            let run = desk.shell(line);
            assert_eq!(run.status, 0, "{name}: {line}: {}", run.stderr);
            assert_eq!(desk.read("out.pb.gz"), expected(name), "{name}: {line}");
        }
    }
}

#[test]
fn the_output_is_compressed_as_its_name_says() {
    let expected = program::decode(&expected("callgraph.data"));
    let desk = Desk::new();
    assert_eq!(desk.run(&["in.data", "-o", "out.pb.gz"]).status, 0);
    assert_eq!(program::decode(&desk.read("out.pb.gz")), expected);
    assert_eq!(desk.run(&["in.data", "-o", "out.pb.zst"]).status, 0);
    let message = zstd::decode_all(&desk.read("out.pb.zst")[..]).expect("zstd by the name");
    assert_eq!(<_ as prost::Message>::decode(&message[..]), Ok(expected.clone()));
    assert_eq!(desk.run(&["in.data", "-o", "OUT.PB.GZ"]).status, 0);
    assert_eq!(program::decode(&desk.read("OUT.PB.GZ")), expected);
    assert_eq!(desk.run(&["in.data", "-o", "out.pb.gz.zst"]).status, 0);
    let gzip = zstd::decode_all(&desk.read("out.pb.gz.zst")[..]).expect("zstd by the name");
    assert_eq!(program::decode(&gzip), expected);
}

#[test]
fn the_format_is_told_by_option_or_extension() {
    let desk = Desk::new();
    for arguments in [["-t", "pprof"], ["--to", "pprof"]] {
        let run = desk.run(&[&["in.data", "-f", "-o", "out.txt"], &arguments[..]].concat());
        assert_eq!(run.status, 0, "{}", run.stderr);
        assert_eq!(program::decode(&desk.read("out.txt")), program::decode(&expected("callgraph.data")));
    }
    let unknown = desk.run(&["in.data", "-o", "out.xyz"]);
    assert_eq!(unknown.status, 2, "{}", unknown.stderr);
    assert!(unknown.stderr.contains("pprof"), "the known formats are not named: {}", unknown.stderr);
    assert!(!desk.path("out.xyz").exists());
}

#[test]
fn usage_errors_have_status_2() {
    let desk = Desk::new();
    for arguments in [
        &["in.data", "-o", "out.pb.gz", "--no-such-option"][..],
        &["in.data", "-o"],
        &["in.data", "-o", "out.pb.gz", "-t", "no-such-format"],
        &["in.data", "-i", "in.data", "-o", "out.pb.gz"],
    ] {
        let run = desk.run(arguments);
        assert_eq!(run.status, 2, "{arguments:?}: {}", run.stderr);
        assert!(!run.stderr.is_empty() && run.stdout.is_empty(), "{arguments:?}");
        assert!(!desk.path("out.pb.gz").exists(), "{arguments:?}");
    }
}

#[test]
fn a_folder_for_temporary_files_must_be_there() {
    let desk = Desk::new();
    for arguments in [
        &["in.data", "-o", "out.pb.gz", "--spool-dir", "none"][..],
        &["check", "in.data", "--spool-dir", "in.data"],
        &["info", "in.data", "--spool-dir", "none"],
        &["dump", "in.data", "--spool-dir", "none"],
    ] {
        let run = desk.run(arguments);
        assert_eq!(run.status, 2, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains("there is no such folder"), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn an_existing_output_needs_force() {
    let desk = Desk::new();
    fs::write(desk.path("out.pb.gz"), "precious").unwrap();
    let run = desk.run(&["in.data", "-o", "out.pb.gz"]);
    assert!(run.failure().unwrap().contains("out.pb.gz"), "{}", run.stderr);
    assert!(run.stderr.contains("-f"), "what to do is not said: {}", run.stderr);
    assert_eq!(desk.read("out.pb.gz"), b"precious");
    assert_eq!(desk.run(&["in.data", "-o", "out.pb.gz", "-f"]).status, 0);
    assert_eq!(desk.read("out.pb.gz"), expected("callgraph.data"));
}

#[test]
fn a_failure_leaves_the_existing_output() {
    let desk = Desk::new();
    fs::write(desk.path("out.pb.gz"), "precious").unwrap();
    fs::write(desk.path("text"), "not a recording").unwrap();
    desk.run(&["text", "-o", "out.pb.gz", "-f"]).failure().unwrap();
    assert_eq!(desk.read("out.pb.gz"), b"precious");
}

#[test]
fn an_input_is_never_overwritten_by_its_own_output() {
    let desk = Desk::new();
    desk.run(&["--version"]);
    symlink("in.data", desk.path("symbolic")).unwrap();
    fs::hard_link(desk.path("in.data"), desk.path("hard")).unwrap();
    for output in ["in.data", "./in.data", "symbolic", "hard"] {
        let run = desk.run(&["in.data", "-t", "pprof", "-f", "-o", output]);
        run.failure().unwrap_or_else(|wrong| panic!("{output}: {wrong}"));
        assert_eq!(desk.read("in.data"), fs::read(fixture("callgraph.data")).unwrap(), "{output}");
    }
}

#[test]
fn a_link_is_followed_and_the_mode_kept() {
    let desk = Desk::new();
    fs::write(desk.path("target.pb.gz"), "old").unwrap();
    fs::set_permissions(desk.path("target.pb.gz"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("target.pb.gz", desk.path("out.pb.gz")).unwrap();
    assert_eq!(desk.run(&["in.data", "-f", "-o", "out.pb.gz"]).status, 0);
    assert!(desk.path("out.pb.gz").is_symlink());
    assert_eq!(desk.read("target.pb.gz"), expected("callgraph.data"));
    assert_eq!(fs::metadata(desk.path("target.pb.gz")).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn a_new_output_has_the_mode_that_the_umask_gives() {
    let desk = Desk::new();
    assert_eq!(desk.shell("chmod 644 in.data; umask 027; perfconv in.data -o out.pb.gz").status, 0);
    assert_eq!(fs::metadata(desk.path("out.pb.gz")).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn what_is_made_of_a_private_recording_is_private() {
    let desk = Desk::new();
    let mode = |name: &str| fs::metadata(desk.path(name)).unwrap().permissions().mode() & 0o777;
    let made = "chmod 600 in.data; umask 022; perfconv in.data -o out.pb.gz && perfconv rewrite in.data -o out.data && \
                perfconv split in.data --by pid -o parts && perfconv merge in.data -o merged.data && \
                perfconv archive in.data -o in.tar --strict; perfconv archive --unpack in.tar -o unpacked; \
                cat in.tar | perfconv archive --unpack - -o public; cat in.data | perfconv - -o piped.pb.gz";
    desk.shell(made);
    let modes =
        ["out.pb.gz", "out.data", "parts", "merged.data", "in.tar", "unpacked/in.data", "piped.pb.gz"].map(mode);
    assert_eq!(modes, [0o600, 0o600, 0o700, 0o600, 0o600, 0o600, 0o644]);
    assert_eq!(mode("public/in.data"), 0o644);
}

#[test]
fn nothing_is_left_beside_the_output() {
    let desk = Desk::new();
    assert_eq!(desk.run(&["in.data", "-o", "out.pb.gz"]).status, 0);
    assert_eq!(desk.names(), ["in.data", "out.pb.gz"]);
}

#[test]
fn standard_output_gets_what_a_file_gets() {
    let desk = Desk::new();
    let run = desk.run(&["in.data", "-t", "pprof", "-o", "-"]);
    assert_eq!(run.ledger().unwrap().samples_in, 377);
    assert_eq!(program::decode(&run.stdout), program::decode(&expected("callgraph.data")));
}

#[test]
fn what_is_no_regular_file_is_written_directly() {
    let desk = Desk::new();
    let run = desk.run(&["in.data", "-t", "pprof", "-o", "/dev/null"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    let run =
        desk.shell("mkfifo fifo.pb.gz; cat fifo.pb.gz >read & perfconv in.data -o fifo.pb.gz; s=$?; wait; exit $s");
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(desk.read("read"), expected("callgraph.data"));
    assert!(!fs::metadata(desk.path("fifo.pb.gz")).unwrap().is_file());
}

#[test]
fn binary_output_to_a_terminal_is_refused() {
    let desk = Desk::new();
    for output in ["-", "/dev/tty", "/dev/stdout"] {
        let run = desk.shell(&format!("script -qec 'perfconv in.data -t pprof -o {output}' /dev/null"));
        if run.status == 127 {
            return writeln!(std::io::stderr(), "not tried on a terminal: there is no script(1)").unwrap();
        }
        let said = String::from_utf8(run.stdout).expect("no binary output");
        assert_eq!(run.status, 2, "{output}: {said}");
        assert!(said.contains("not for terminals"), "{output}: {said}");
    }
}

#[test]
fn a_closed_pipe_is_no_error_message() {
    let desk = Desk::new();
    let recording = fixture("killed.data");
    // More than fits into a pipe, so that it cannot end before it is seen that nobody reads.
    assert!(fs::metadata(&recording).unwrap().len() > 1 << 16);
    fs::copy(recording, desk.path("large.data")).unwrap();
    let run = desk.shell("{ perfconv large.data -q -t perf.data --container file -o -; echo $? >status; } | true");
    assert_eq!(run.stderr, "");
    assert_eq!(desk.read("status"), b"141\n");
}

#[test]
fn a_full_device_is_a_failure() {
    let desk = Desk::new();
    let run = desk.run(&["in.data", "-t", "pprof", "-o", "/dev/full"]);
    assert!(run.failure().unwrap().contains("/dev/full"), "{}", run.stderr);
    for name in ["group-read.data", "callgraph.data"] {
        fs::copy(fixture(name), desk.path("recording")).unwrap();
        let run = desk.shell("perfconv recording -t pprof -o - >/dev/full");
        assert!(run.failure().unwrap().contains("standard output"), "{name}: {}", run.stderr);
    }
}

#[test]
fn a_closed_standard_output_is_a_failure() {
    let desk = Desk::new();
    for line in [
        "perfconv in.data -o - -t jsonl >&-",
        "perfconv in.data -o - -t pprof >&-",
        "perfconv info in.data >&-",
        "perfconv check in.data >&-",
        "perfconv dump in.data >&-",
        "perfconv --help >&-",
    ] {
        let run = desk.shell(line);
        assert!(
            run.failure().unwrap().starts_with("standard output: cannot write: it is closed"),
            "{line}: {}",
            run.stderr
        );
    }
    // Shells open it for writing, Python and Node.js for reading too.
    for line in ["perfconv in.data -o - -t jsonl >/dev/null", "perfconv in.data -o - -t jsonl 1<>/dev/null"] {
        let run = desk.shell(line);
        assert_eq!(run.ledger().unwrap().samples_out, 377, "{line}: {}", run.stderr);
    }
    assert_eq!(desk.shell("perfconv in.data -o out.pb.gz >&-").status, 0);
}

#[test]
fn bytes_that_cannot_be_read_are_in_the_account() {
    let desk = Desk::new();
    desk.run(&["--version"]);
    let whole = desk.read("in.data");
    fs::write(desk.path("truncated.data"), &whole[..30_000]).unwrap();
    let run = desk.run(&["truncated.data", "-o", "out.pb.gz"]);
    let ledger = run.ledger().unwrap();
    // A record of which 80 bytes are there, and what the header says that follows.
    assert_eq!((ledger.samples_out, ledger.unread), (304, 80 + 7144), "{}", run.stderr);
    let mut zeros = whole.clone();
    zeros[20_000..24_096].fill(0);
    fs::write(desk.path("zeros.data"), zeros).unwrap();
    assert_eq!(desk.run(&["zeros.data", "-f", "-o", "out.jsonl"]).ledger().unwrap().unread, 4088);
    assert_eq!(desk.run(&["in.data", "-f", "-o", "out.pb.gz"]).ledger().unwrap().unread, 0);
}

#[test]
fn an_unknown_command_is_reported_with_similar_ones() {
    let desk = Desk::new();
    for (arguments, similar) in [
        (&["report", "in.data"][..], "; similar: repair; "),
        (&["top"], "; the commands are convert, rewrite, "),
        (&["view", "in.data", "-o", "out.pb.gz"], "; the commands are "),
        (&["completions"], "; the commands are "),
        (&["chek", "in.data"], "; similar: check; "),
    ] {
        let run = desk.run(arguments);
        assert_eq!(run.status, 2, "{arguments:?}: {}", run.stderr);
        let said = format!("perfconv: unknown command '{}', and no file has that name", arguments[0]);
        assert!(run.stderr.starts_with(&said) && run.stderr.contains(similar), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.ends_with(&format!("(./{})\n", arguments[0])), "{arguments:?}: {}", run.stderr);
    }
    fs::copy(fixture("callgraph.data"), desk.path("report")).unwrap();
    assert_eq!(desk.run(&["report", "-o", "out.pb.gz"]).status, 0);
    assert!(desk.run(&["./top", "-f", "-o", "out.pb.gz"]).failure().unwrap().starts_with("./top: cannot open"));
}

#[test]
fn text_goes_to_standard_output_by_default() {
    let desk = Desk::new();
    for format in ["jsonl", "json", "perf-json", "quipper-text"] {
        let named = desk.run(&["in.data", "-t", format, "-o", "-"]);
        let run = desk.run(&["in.data", "-t", format]);
        assert_eq!((run.ledger(), named.status), (named.ledger(), 0), "{format}: {}", run.stderr);
        assert!(!run.stdout.is_empty() && run.stdout == named.stdout, "{format}");
    }
    for format in ["pprof", "perf.data", "quipper", "csv"] {
        let run = desk.run(&["in.data", "-t", format]);
        assert_eq!((run.status, &*run.stdout), (2, &b""[..]), "{format}");
        assert!(run.stderr.contains("no output is named"), "{format}: {}", run.stderr);
    }
    let run = desk.run(&["in.data", "-o", "-"]);
    assert!(run.status == 2 && run.stderr.contains("does not tell a format"), "{}", run.stderr);
}

#[test]
fn names_in_the_input_are_safe_in_files_and_profiles() {
    let desk = Desk::new();
    let sample = |comm: &str| format!("{comm} 7/7 [000] 1.000000: 1 cycles: \n\t401000 ma\x1b[2Jin+0x2 (/bin/a)\n\n");
    fs::write(desk.path("in.script"), [sample("a\x1b[31mb"), sample(":-1"), sample("aux")].concat()).unwrap();
    let run = desk.run(&["in.script", "-o", "named.data"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(desk.run(&["named.data", "-o", "out.pb.gz"]).status, 0);
    let strings = program::profile(&desk.path("out.pb.gz")).string_table;
    assert!(strings.iter().any(|string| string == r"a\x1b[31mb"), "{strings:?}");
    assert!(!strings.iter().any(|string| string.contains(char::is_control)), "{strings:?}");
    let run = desk.run(&["named.data", "--split-by", "comm", "-o", "profiles"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let mut names: Vec<_> =
        fs::read_dir(desk.path("profiles")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["_-1.pb.gz", "_aux.pb.gz", "a_[31mb.pb.gz"]);
    let run = desk.run(&["split", "named.data", "--by", "comm", "-o", "parts"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(desk.path("parts/comm-_-1.data").exists() && desk.path("parts/comm-aux.data").exists());
}

#[test]
fn the_account_is_one_json_object_if_asked_for() {
    let desk = Desk::new();
    desk.run(&["--version"]);
    let whole = desk.read("in.data");
    fs::write(desk.path("truncated.data"), &whole[..30_000]).unwrap();
    let account = |arguments: &[&str]| -> serde_json::Value {
        let run = desk.run(arguments);
        assert_eq!((run.status, run.stderr.lines().count()), (0, 1), "{arguments:?}: {}", run.stderr);
        serde_json::from_str(&run.stderr).unwrap_or_else(|error| panic!("{error}: {}", run.stderr))
    };
    let json = account(&["truncated.data", "-o", "out.pb.gz", "--report", "json"]);
    assert_eq!(json["samples"], serde_json::json!({ "in": 304, "out": 304, "dropped": 0 }));
    assert_eq!((&json["unreadable_bytes"], &json["complete"]), (&7224.into(), &false.into()));
    assert_eq!((&json["inputs"][0], &json["output"]), (&"truncated.data".into(), &"out.pb.gz".into()));
    assert_eq!(json["warnings"].as_array().map(Vec::len), Some(2), "{json}");
    for (kind, record) in json["records"].as_object().unwrap() {
        let count = |key: &str| record[key].as_u64().unwrap_or_else(|| panic!("{kind}: {key}: {record}"));
        let parts = ["out", "used", "not_applicable", "left_out", "dropped"].map(count);
        assert_eq!(count("read") + count("added"), parts.iter().sum::<u64>(), "{kind}");
    }
    let json = account(&["in.data", "-o", "five.data", "--head", "5", "--report", "json"]);
    assert_eq!(json["records"]["SAMPLE"]["left_out_by"], serde_json::json!({ "--head": 372 }));
    assert_eq!(json["complete"], true);
    let json = account(&["merge", "in.data", "five.data", "-o", "merged.data", "--report", "json"]);
    assert_eq!(json["inputs"], serde_json::json!(["in.data", "five.data"]));
    let many = desk.run(&["in.data", "five.data", "--out-dir", "many", "--report", "json"]);
    let lines: Vec<serde_json::Value> = many.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.iter().map(|line| &line["samples"]["in"]).collect::<Vec<_>>(), [377, 5]);
    // Control characters of the names are escaped.
    fs::write(desk.path("a\u{9b}\n.data"), &whole).unwrap();
    assert_eq!(
        account(&["a\u{9b}\n.data", "-f", "-o", "out.pb.gz", "--report", "json"])["inputs"][0],
        "a\u{9b}\n.data"
    );
    assert_eq!(desk.run(&["in.data", "-o", "x.pb", "-q", "--report", "json"]).status, 2);
}

#[test]
fn standard_input_from_a_terminal_is_announced() {
    let desk = Desk::new();
    // One Ctrl-D ends it.
    let typed = "{ sleep 0.2; printf '\\004'; sleep 0.2; }";
    let run = desk.shell(&format!("{typed} | timeout 20 script -qec 'perfconv - -o out.data' /dev/null"));
    if run.status == 127 {
        return writeln!(std::io::stderr(), "not tried on a terminal: there is no script(1)").unwrap();
    }
    let said = String::from_utf8(run.stdout).unwrap();
    assert!(said.contains("perfconv: reading from standard input (terminal); end it with Ctrl-D"), "{said}");
    assert_eq!(run.status, 1, "{said}");
    assert!(!desk.shell("perfconv - -o out.data </dev/null").stderr.contains("terminal"));
}

#[test]
fn what_a_process_has_open_is_an_output() {
    let desk = Desk::new();
    let expected = expected("callgraph.data");
    for line in [
        "perfconv in.data -q -t pprof -o /dev/stdout >out",
        "perfconv in.data -q -t pprof -o /dev/stdout | cat >out",
        "perfconv in.data -q -t pprof -o /dev/fd/3 3>out",
        "{ perfconv in.data -q -t pprof -o /dev/fd/3 3>&1 | cat >out; }",
    ] {
        let run = desk.shell(line);
        assert_eq!((run.status, &*run.stderr), (0, ""), "{line}");
        assert_eq!(desk.read("out"), expected, "{line}");
    }
    let run = desk.shell("echo kept >out; perfconv in.data -q -t pprof -o /dev/stdout >>out");
    assert_eq!((run.status, &*run.stderr), (0, ""));
    assert_eq!(desk.read("out"), [b"kept\n", &*expected].concat());
}

#[test]
fn an_open_input_is_not_written_to() {
    let desk = Desk::new();
    for line in ["perfconv in.data -t pprof -o - >>in.data", "perfconv in.data -t pprof -o /dev/fd/3 3>>in.data"] {
        let run = desk.shell(line);
        assert!(run.failure().unwrap().contains("is the input"), "{line}: {}", run.stderr);
        assert_eq!(desk.read("in.data"), fs::read(fixture("callgraph.data")).unwrap(), "{line}");
    }
}

#[test]
fn a_fifo_is_an_input_beside_an_existing_output() {
    let desk = Desk::new();
    let run = desk.shell("echo old >out.pb.gz; mkfifo fifo; cat in.data >fifo & perfconv fifo -f -o out.pb.gz");
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(desk.read("out.pb.gz"), expected("callgraph.data"));
}

#[test]
fn an_output_that_cannot_be_is_told_by_its_own_name() {
    let desk = Desk::new();
    symlink("loop.pb", desk.path("loop.pb")).unwrap();
    for (output, told) in [
        ("loop.pb", "loop.pb: cannot look at it: "),
        ("in.data/out.pb", "in.data/out.pb: cannot look at it: "),
        ("no/folder/out.pb", "no/folder/out.pb: cannot create: the folder no/folder does not exist"),
        ("/proc/out.pb", "/proc/out.pb: cannot create: no file can be created in /proc; name another"),
    ] {
        let run = desk.run(&["in.data", "-o", output]);
        assert!(run.failure().unwrap().starts_with(told), "{output}: {}", run.stderr);
        assert!(!run.stderr.contains(".tmp"), "{output}: {}", run.stderr);
    }
}

/// The program while it writes: it has got the first half of a recording and waits for the other.
struct Writing {
    program: Child,
    rest: Vec<u8>,
}

impl Writing {
    fn start(desk: &Desk, arguments: &[&str]) -> Writing {
        let mut recording = fs::read(fixture("pipe.data")).unwrap();
        let rest = recording.split_off(recording.len() / 2);
        let mut command = program::perfconv_with_signals();
        command.current_dir(&desk.0).args(["-", "-q"]).args(arguments).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut program = command.spawn().unwrap();
        program.stdin.as_mut().unwrap().write_all(&recording).unwrap();
        let started = Instant::now();
        while desk.names().is_empty() {
            assert!(started.elapsed() < Duration::from_secs(60), "it does not begin to write");
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
fn a_signal_leaves_nothing_behind() {
    for container in ["pipe", "file", "dir"] {
        for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1), ("QUIT", 3)] {
            let desk = Desk::new();
            let mut writing = Writing::start(&desk, &["--container", container, "-o", "out.data"]);
            // Open to the end, without which there would be nothing to wait for.
            let _input = writing.program.stdin.take();
            let kill = Command::new("kill").args(["-s", name, &writing.program.id().to_string()]).status();
            assert!(kill.unwrap().success());
            let ended = writing.program.wait_with_output().unwrap();
            // Shells tell this as 128 and the number.
            assert_eq!(ended.status.signal(), Some(number), "{container}: {:?}", ended);
            assert_eq!(String::from_utf8_lossy(&ended.stderr), "", "{container}");
            let left: Vec<_> = desk.names().into_iter().filter(|name| !name.starts_with("core")).collect();
            assert!(left.is_empty(), "{container}: {left:?}");
        }
    }
}

/// A signal that comes while a folder is made of JSON, which waits for more.
#[test]
fn a_signal_leaves_no_temporary_folder_behind() {
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        let (spool, desk) = (tempfile::tempdir().unwrap(), Desk::new());
        let json = desk.path("in.jsonl");
        assert_eq!(program::convert(&fixture("threads.dir"), &json).status, 0);
        let lines = fs::read_to_string(&json).unwrap();
        let mut program = program::perfconv_with_signals();
        program.args(["-", "--from", "jsonl", "-o"]).arg(desk.path("out.data")).arg("--spool-dir").arg(spool.path());
        let mut program = program.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut input = program.stdin.take().unwrap();
        input.write_all(lines.rsplit_once("{\"end\"").expect("it has an end").0.as_bytes()).unwrap();
        // More than is read at once, so that some of it is taken.
        (0..64).for_each(|_| input.write_all(&[b'\n'; 1 << 17]).unwrap());
        let entries = || fs::read_dir(spool.path()).unwrap().count();
        let is_there = (0..1000).any(|_| {
            thread::sleep(Duration::from_millis(10));
            entries() > 0
        });
        assert!(is_there, "{name}: there is no temporary folder to be left");
        let kill = Command::new("kill").args(["-s", name, &program.id().to_string()]).status();
        assert!(kill.unwrap().success());
        assert_eq!(program.wait().unwrap().signal(), Some(number), "{name}");
        assert_eq!(entries(), 0, "{name}");
    }
}

/// What `nohup` has ignored stays ignored.
#[test]
fn a_signal_that_is_to_be_ignored_is_ignored() {
    let desk = Desk::new();
    let line = "trap '' HUP; (sleep 0.3; cat in.data) | perfconv - -o out.pb.gz & sleep 0.1; kill -HUP $!; wait $!";
    let run = desk.shell(line);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(desk.read("out.pb.gz"), expected("callgraph.data"));
}

#[test]
fn what_appears_meanwhile_is_not_overwritten_without_force() {
    for container in ["pipe", "file", "dir"] {
        let desk = Desk::new();
        let writing = Writing::start(&desk, &["--container", container, "-o", "out.data"]);
        fs::write(desk.path("out.data"), "precious").unwrap();
        let ended = writing.finish();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(1), "{container}: {said}");
        assert!(said.starts_with("perfconv: out.data: exists already; -f"), "{container}: {said}");
        assert_eq!(desk.read("out.data"), b"precious", "{container}");
        assert_eq!(desk.names(), ["out.data"], "{container}");
    }
}

#[test]
fn several_inputs_are_told_as_that() {
    let desk = Desk::new();
    let run = desk.run(&["in.data", "other.data", "-o", "out.pb.gz"]);
    assert_eq!(run.status, 2, "{}", run.stderr);
    assert!(run.stderr.starts_with("perfconv: other.data: is one input too many"), "{}", run.stderr);
}

#[test]
fn names_do_not_command_the_terminal() {
    let desk = Desk::new();
    let name = "\x1b[31mred\n";
    fs::write(desk.path(name), "text").unwrap();
    let run = desk.run(&[name, "-o", "out.pb.gz"]);
    assert!(run.failure().unwrap().starts_with("\\u{1b}[31mred\\n: "), "{}", run.stderr);
    fs::copy(fixture("callgraph.data"), desk.path(name)).unwrap();
    let run = desk.run(&["check", name]);
    assert!(String::from_utf8(run.stdout).unwrap().starts_with("\\u{1b}[31mred\\n: "), "{}", run.stderr);
}

#[test]
fn quiet_says_nothing_and_verbose_says_more() {
    let desk = Desk::new();
    let quiet = desk.run(&["in.data", "-q", "-o", "out.pb.gz"]);
    assert_eq!((quiet.status, &*quiet.stderr), (0, ""));
    let normal = desk.run(&["in.data", "-f", "-o", "out.pb.gz"]);
    let verbose = desk.run(&["in.data", "-f", "-v", "-o", "out.pb.gz"]);
    assert_eq!(verbose.status, 0);
    assert!(verbose.stderr.len() > normal.stderr.len(), "{}", verbose.stderr);
    assert!(verbose.stderr.ends_with(&normal.stderr), "the ledger is not last: {}", verbose.stderr);
}

#[test]
fn quiet_does_not_hide_a_failure() {
    let desk = Desk::new();
    desk.run(&["missing.data", "-q", "-o", "out.pb.gz"]).failure().unwrap();
}

#[test]
fn help_and_version_are_told() {
    let desk = Desk::new();
    let help = desk.run(&["--help"]);
    assert_eq!((help.status, &*help.stderr), (0, ""));
    let help = String::from_utf8(help.stdout).unwrap();
    for told in ["--strict", "141", ".pprof", "perf.data    .data"] {
        assert!(help.contains(told), "{told}: {help}");
    }
    let version = desk.run(&["--version"]);
    let expected = format!("perfconv {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!((version.status, version.stdout), (0, expected.into_bytes()));
    for args in ["--help", "convert --help", "--version"] {
        let full = desk.shell(&format!("perfconv {args} >/dev/full"));
        assert!(full.failure().unwrap().contains("standard output: cannot write"), "{args}: {}", full.stderr);
    }
}
