//! Progress of long work: a line on a real terminal, which leaves nothing behind; lines of text or JSON elsewhere if asked for.

use super::files::fixture;
use super::program::{Run, perfconv, run};
use super::terminal::Terminal;
use serde_json::Value;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// A recording whose JSON does not fit in a pipe and the program's buffers.
fn write_large(path: &Path) {
    let large = run(perfconv().args(["synth", "scenarios/callgraph.toml", "--scale", "20", "-q", "-o"]).arg(path));
    assert_eq!(large.status, 0, "{}", large.stderr);
}

/// A shell with a large recording in its directory.
fn shell() -> Option<Terminal> {
    let terminal = Terminal::start(&["bash", "--norc", "--noprofile"], |home| write_large(&home.join("large.data")))?;
    terminal.wait("prompt", |screen| screen.ends_with('$'));
    Some(terminal)
}

fn enter(terminal: &Terminal, line: &str) {
    terminal.press("C-l");
    terminal.type_text(line);
    terminal.press("Enter");
}

/// Lines of the screen that progress shows.
fn progress(screen: &str) -> Vec<&str> {
    screen.lines().filter(|line| line.starts_with("perfconv: reading large.data  ")).collect()
}

#[test]
fn a_terminal_shows_a_line_that_leaves_nothing_behind() {
    let Some(terminal) = shell() else { return };
    // The reader is slow, so that the program has to wait.
    enter(&terminal, "perfconv large.data -t jsonl -o - | (sleep 4; wc -l); echo \"end $?\"");
    let screen = terminal.wait("progress", |screen| !progress(screen).is_empty());
    let lines = progress(&screen);
    assert!(lines.len() == 1 && lines[0].contains("% [") && lines[0].ends_with(" left"), "{screen}");
    assert!(lines[0].contains("iB of ") && lines[0].contains("iB/s, "), "{screen}");
    eprintln!("{}", lines[0]);
    let screen = terminal.wait("end", |screen| screen.contains("\nend 0"));
    assert!(progress(&screen).is_empty(), "{screen}");
    assert!(screen.lines().any(|line| line.starts_with("[ perfconv: standard output: ")), "{screen}");

    // Also if a signal ends the program.
    enter(&terminal, "perfconv large.data -t jsonl -o - | (sleep 100; cat)");
    terminal.wait("progress", |screen| !progress(screen).is_empty());
    terminal.press("C-c");
    let screen = terminal.wait("prompt", |screen| screen.lines().last().is_some_and(|line| line.trim() == "$"));
    assert!(progress(&screen).is_empty(), "{screen}");

    // Warnings do not mix with the line.
    enter(&terminal, "(head -c 99999 large.data; sleep 3) | perfconv - -o out.pb.gz; echo \"end $?\"");
    terminal.wait("progress", |screen| screen.contains("perfconv: reading "));
    let screen = terminal.wait("end", |screen| screen.contains("\nend "));
    assert!(!screen.contains("perfconv: reading "), "{screen}");
    assert!(screen.lines().any(|line| line.starts_with("perfconv: warning: ") && line.contains("trunc")), "{screen}");

    // Text on the terminal itself takes the place of the line.
    enter(&terminal, "(cat large.data; sleep 3) | perfconv info - --events; echo \"end $?\"");
    terminal.wait("progress", |screen| screen.contains("perfconv: "));
    let screen = terminal.wait("end", |screen| screen.contains("\nend 0"));
    assert!(!screen.lines().any(|line| line.starts_with("perfconv: ")), "{screen}");

    enter(&terminal, "perfconv large.data -q -t jsonl -o - | (sleep 3; wc -l); echo \"end $?\"");
    let screen = terminal.wait("end", |screen| {
        assert!(!screen.lines().any(|line| line.starts_with("perfconv: ")), "{screen}");
        screen.contains("\nend 0")
    });
    assert!(screen.lines().count() <= 5, "{screen}");
}

#[test]
#[cfg(feature = "debuginfod")]
fn a_terminal_shows_downloads_and_ctrl_c_removes_them() {
    use super::symbols::{mill, serve};
    let (recording, program) = mill();
    let id = perf_symbols::symbol::object::Object::open(&program).unwrap().unwrap().build_id().unwrap();
    let path = format!("/buildid/{id}/debuginfo");
    let slow = serve([(path.clone(), program.clone())].into(), Duration::from_millis(80));
    let Some(terminal) = shell() else { return };
    let cache = terminal.home().join(".cache/debuginfod_client").join(id.to_string());
    let files =
        || std::fs::read_dir(&cache).map_or(Vec::new(), |files| files.map(|file| file.unwrap().path()).collect());
    let line = format!("perfconv {} --debuginfod={slow} -f -o out.folded; echo \"end $?\"", recording.display());
    let downloading = |screen: &str| screen.lines().any(|line| line.starts_with("perfconv: downloading debuginfo  "));

    enter(&terminal, &line);
    terminal.wait("download", downloading);
    terminal.press("C-c");
    let screen = terminal.wait("prompt", |screen| screen.lines().last().is_some_and(|line| line.trim() == "$"));
    assert!(!downloading(&screen), "{screen}");
    assert_eq!(files(), Vec::<std::path::PathBuf>::new());
    assert!(!terminal.home().join("out.folded").exists());

    enter(&terminal, &line);
    let screen = terminal.wait("rate", |screen| downloading(screen) && screen.contains(" left"));
    let shown = screen.lines().find(|line| downloading(line)).unwrap();
    assert!(shown.contains("% [") && shown.contains("iB of ") && shown.contains("iB/s, "), "{screen}");
    eprintln!("{shown}");
    let screen = terminal.wait("end", |screen| screen.contains("\nend 0"));
    assert!(!downloading(&screen), "{screen}");
    assert_eq!(std::fs::read(cache.join("debuginfo")).unwrap(), std::fs::read(&program).unwrap());
}

/// Runs a conversion to JSON Lines whose reader waits.
fn slow(input: &Path, options: &[&str]) -> Run {
    let mut command = perfconv();
    command.arg(input).args(["-t", "jsonl", "-o", "-"]).args(options);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    thread::sleep(Duration::from_millis(3500));
    let mut stdout = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
    let done = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(done.stderr).unwrap();
    Run { status: done.status.code().unwrap_or(-1), stdout, stderr }
}

#[test]
fn pipes_get_progress_only_on_request() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("large.data");
    write_large(&input);
    for options in [&[][..], &["--progress", "auto"], &["--progress", "never"]] {
        let run = slow(&input, options);
        assert_eq!((run.status, run.stderr.lines().count()), (0, 1), "{options:?}: {}", run.stderr);
    }

    let text = slow(&input, &["--progress", "always"]);
    let lines: Vec<_> = text.stderr.lines().filter(|line| line.starts_with("perfconv: reading large.data: ")).collect();
    assert!(text.status == 0 && lines.len() >= 2, "{}", text.stderr);
    assert!(lines.iter().all(|line| line.contains("%, ") && line.contains("iB of ")), "{lines:?}");

    let json = slow(&input, &["--progress", "json", "--report", "json"]);
    let lines: Vec<Value> = json.stderr.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let (report, lines) = lines.split_last().expect("a report");
    assert!(json.status == 0 && lines.len() >= 2 && report["samples"].is_object(), "{}", json.stderr);
    let size = std::fs::metadata(&input).unwrap().len();
    for line in lines {
        let progress = &line["progress"];
        assert_eq!((&progress["work"], &progress["unit"]), (&"reading".into(), &"bytes".into()), "{line}");
        let (done, total) = (progress["done"].as_u64().unwrap(), progress["total"].as_u64().unwrap());
        assert!(0 < done && done <= total && total <= size && total > size / 2, "{line}");
        assert!(progress["elapsed_seconds"].as_f64().is_some_and(|seconds| seconds >= 1.0), "{line}");
    }
}

/// Work that takes less than a second shows nothing even if asked for.
#[test]
fn short_work_shows_nothing() {
    let run = run(perfconv().args(["info", "--progress", "always", "--events"]).arg(fixture("plain.data")));
    assert_eq!((run.status, &*run.stderr), (0, ""));
    let wrong = super::program::run(Command::new(env!("CARGO_BIN_EXE_perfconv")).args(["--progress", "maybe"]));
    assert!(wrong.status == 2 && wrong.stderr.contains("invalid value 'maybe'"), "{}", wrong.stderr);
}
