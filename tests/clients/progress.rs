//! Progress of long work: a line on a real terminal, which leaves nothing behind.

use super::terminal::Terminal;
use crate::common::progress::write_large;

/// A shell with a large recording in its directory.
fn shell() -> Option<Terminal> {
    let terminal = Terminal::start(&["bash", "--norc", "--noprofile"], |home| write_large(&home.join("large.data")))?;
    terminal.wait("prompt", |screen| screen.ends_with('$'));
    Some(terminal)
}

/// A shell function that waits until the test has seen what it waits for.
const WAIT: &str = "w() { until [ -e go ]; do sleep 0.1; done; rm go; }";

/// Lets the waiting function go on.
fn go_on(terminal: &Terminal) {
    std::fs::write(terminal.home().join("go"), "").unwrap();
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
    enter(&terminal, WAIT);
    // The reader is slow, so that the program has to wait.
    enter(&terminal, "perfconv large.data -t jsonl -o - | (w; wc -l); echo \"end $?\"");
    let screen = terminal.wait("progress", |screen| !progress(screen).is_empty());
    let lines = progress(&screen);
    assert!(lines.len() == 1 && lines[0].contains("% [") && lines[0].ends_with(" left"), "{screen}");
    assert!(lines[0].contains("iB of ") && lines[0].contains("iB/s, "), "{screen}");
    note!("{}", lines[0]);
    go_on(&terminal);
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
    enter(&terminal, "(head -c 99999 large.data; w) | perfconv - -o out.pb.gz; echo \"end $?\"");
    terminal.wait("progress", |screen| screen.contains("perfconv: reading "));
    go_on(&terminal);
    let screen = terminal.wait("end", |screen| screen.contains("\nend "));
    assert!(!screen.contains("perfconv: reading "), "{screen}");
    assert!(screen.lines().any(|line| line.starts_with("perfconv: warning: ") && line.contains("trunc")), "{screen}");

    // Text on the terminal itself takes the place of the line.
    enter(&terminal, "(cat large.data; w) | perfconv info - --events; echo \"end $?\"");
    terminal.wait("progress", |screen| screen.contains("perfconv: "));
    go_on(&terminal);
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
    use crate::common::symbols::{Gate, mill, serve};
    let (recording, program) = mill();
    let id = perf_symbols::symbol::object::Object::open(&program).unwrap().unwrap().build_id().unwrap();
    let path = format!("/buildid/{id}/debuginfo");
    let gate = Gate::default();
    let slow = serve([(path.clone(), program.clone())].into(), Some(gate.clone()));
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
    note!("{shown}");
    gate.open();
    let screen = terminal.wait("end", |screen| screen.contains("\nend 0"));
    assert!(!downloading(&screen), "{screen}");
    assert_eq!(std::fs::read(cache.join("debuginfo")).unwrap(), std::fs::read(&program).unwrap());
}
