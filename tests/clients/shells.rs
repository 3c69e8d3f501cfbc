//! Completions in real shells, in a terminal.

use super::programs;
use super::terminal::Terminal;
use crate::common::files::fixture;
use crate::common::oracle::{has_program, requires_oracles};
use crate::common::program::{perfconv, run, run_other, succeed};
use std::fs;
use std::process::Command;

/// A shell: how it is started without configuration, and how the script is loaded.
struct Shell {
    name: &'static str,
    start: &'static [&'static str],
    load: &'static str,
}

const SHELLS: [Shell; 4] = [
    Shell {
        name: "bash",
        start: &["bash", "--norc", "--noprofile"],
        load: "bind 'set bell-style none'; source <(perfconv completions bash); echo loaded",
    },
    Shell {
        name: "zsh",
        start: &["zsh", "-f"],
        load: "autoload -U compinit; compinit -D -u; source <(perfconv completions zsh); echo loaded",
    },
    Shell { name: "fish", start: &["fish", "--no-config"], load: "perfconv completions fish | source; echo loaded" },
    Shell {
        name: "nushell",
        start: &["nu", "--no-config-file"],
        load: "perfconv completions nushell | save -f p.nu; echo saved",
    },
];

/// An unfinished line, and words that its completions contain.
const LINES: [(&str, &[&str]); 7] = [
    // Commands and options.
    ("perfconv re", &["repair", "report", "rewrite"]),
    ("perfconv merge one.data --feat", &["--features-from"]),
    // Fixed values.
    ("perfconv report --sort comm,src", &["comm,srcline", "comm,srcfile"]),
    ("perfconv -t sp", &["speedscope"]),
    // Values of the recording at hand.
    ("perfconv two.data -o out.pb.gz --event ", &["cpu-clock", "task-clock"]),
    ("perfconv rewrite two.data --drop-feature host", &["hostname"]),
    ("perfconv report forks.data --comm ", &["forky", "perf-exec", "worker-0"]),
];

/// Whether the screen shows a word as a whole.
fn shows(screen: &str, word: &str) -> bool {
    screen.split(|c: char| c.is_whitespace() || "()│|".contains(c)).any(|shown| shown == word)
}

#[test]
fn scripts_complete_in_real_shells() {
    let mut tested = Vec::new();
    for shell in SHELLS {
        let mut start = shell.start.to_vec();
        let nushell;
        if shell.name == "nushell" {
            let Some(clients) = programs::directory() else { continue };
            nushell = clients.join("node_modules/@nushell/linux-x64/bin/nu").display().to_string();
            start[0] = &nushell;
        } else if !has_program(shell.name) {
            continue;
        }
        let terminal = Terminal::start(&start, |home| {
            fs::copy(fixture("two-events.data"), home.join("two.data")).unwrap();
            fs::copy(fixture("forks.data"), home.join("forks.data")).unwrap();
        });
        let Some(terminal) = terminal else { return };
        terminal.type_text(shell.load);
        terminal.press("Enter");
        if shell.name == "nushell" {
            terminal.wait("prompt", |screen| screen.lines().any(|line| line.trim() == "saved"));
            terminal.type_text("source p.nu; echo loaded");
            terminal.press("Enter");
        }
        terminal.wait("prompt", |screen| screen.lines().any(|line| line.trim() == "loaded"));
        for (line, words) in LINES {
            terminal.type_text(line);
            terminal.press("Tab");
            // bash lists the candidates at the second time.
            if shell.name == "bash" && words.len() > 1 {
                terminal.press("Tab");
            }
            let what = format!("completion of '{line}' in {}", shell.name);
            let screen = terminal.wait(&what, |screen| words.iter().all(|word| shows(screen, word)));
            if std::env::var_os("PERFCONV_SHOW_SCREENS").is_some() {
                note!("{}:\n{screen}\n", shell.name);
            }
            // Clears the line and the screen, and before that leaves the list of candidates, which bash does not select from. There
            // the signal could arrive late, and end the next line.
            let keys = ["C-c", "C-u", "C-l"].into_iter().skip(usize::from(shell.name == "bash"));
            keys.for_each(|key| terminal.press(key));
            terminal.wait("empty line", |screen| !screen.contains("perfconv"));
        }
        tested.push(shell.name);
    }
    note!("completions tested in {tested:?}, {} lines each", LINES.len());
    assert!(!requires_oracles() || tested.len() == SHELLS.len(), "only in {tested:?}");
}

/// Names of threads that a shell would run, expand, or end a string at; each at most 15 bytes, the limit of the kernel.
const HOSTILE: [&str; 22] = [
    "$(touch X)",
    "`touch X`",
    "a;touch X",
    "a|touch X",
    "a&touch X",
    "'>X",
    "\">X",
    "a b",
    "*",
    "~root",
    "{a..b}",
    "#a",
    "!1",
    "\\$(touch X)",
    "<(touch X)",
    ">X",
    "=ls",
    "?[a]",
    "%1",
    "^a^b",
    "a:b\\",
    "-x",
];

/// Names in a recording are data: neither completing them nor running the completed line runs anything else.
#[test]
fn completed_names_run_nothing_and_reach_the_program() {
    let mut tested = Vec::new();
    for shell in SHELLS.iter().filter(|shell| shell.name != "nushell") {
        if !has_program(shell.name) {
            continue;
        }
        let terminal = Terminal::start(shell.start, |home| {
            let run = run(perfconv().arg(fixture("callgraph.data")).args(["-t", "jsonl", "-o", "-"]));
            let text = String::from_utf8(run.stdout).unwrap();
            for (number, name) in HOSTILE.iter().enumerate() {
                let named = text.lines().map(|line| {
                    let Some((before, rest)) = line.split_once("\"comm\":\"") else { return format!("{line}\n") };
                    let name = serde_json::to_string(name).unwrap();
                    format!("{before}\"comm\":{name}{}\n", rest.split_once('"').unwrap().1)
                });
                let json = home.join(format!("{number}.jsonl"));
                fs::write(&json, named.collect::<String>()).unwrap();
                let data = home.join(format!("{number}.data"));
                let run = crate::common::program::run(perfconv().arg(&json).arg("-o").arg(data));
                assert_eq!(run.status, 0, "{name}: {}", run.stderr);
            }
        });
        let Some(terminal) = terminal else { return };
        terminal.type_text(shell.load);
        terminal.press("Enter");
        terminal.wait("prompt", |screen| screen.lines().any(|line| line.trim() == "loaded"));
        for (number, name) in HOSTILE.iter().enumerate() {
            terminal.press("C-l");
            terminal.type_text(&format!("perfconv report {number}.data --comm "));
            terminal.press("Tab");
            terminal.type_text(&format!(" --sort comm -q; echo end{number}"));
            terminal.press("Enter");
            let end = format!("end{number}");
            let screen = terminal.wait(&end, |screen| screen.lines().any(|line| line.trim() == end));
            assert!(!terminal.home().join("X").exists(), "{}: {name}: {screen}", shell.name);
            // It would be an option; and fish inserts a tilde without quoting it.
            let is_left_out = name.starts_with('-') || shell.name == "fish" && name.starts_with('~');
            assert_eq!(screen.contains("100.00%"), !is_left_out, "{}: {name}: {screen}", shell.name);
        }
        tested.push(shell.name);
    }
    note!("{} names completed in {tested:?}", HOSTILE.len());
    assert!(!requires_oracles() || tested.len() == 3, "only in {tested:?}");
}

/// Names of all characters that a shell could interpret, at their start, inside and at their end, and mixtures of them.
fn many_names() -> Vec<String> {
    let specials: Vec<char> =
        (' '..='~').filter(|c| !c.is_alphanumeric()).chain(['\u{2019}', '\u{85}', '\u{2028}']).collect();
    let single = specials.iter().flat_map(|c| [format!("{c}a"), format!("a{c}b"), format!("a{c}"), format!("{c}{c}")]);
    let mut state = 1_u32;
    let mut next = move |limit: usize| {
        // Numbers of a linear congruential generator, the same in each run.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % limit
    };
    let mixed = (0..200).map(|_| (0..1 + next(8)).map(|_| specials[next(specials.len())]).collect());
    single.chain(mixed.collect::<Vec<String>>()).collect()
}

/// The words that bash passes on for the completions of an option, as it is in a line or in several.
const COMPLETED: &str = r#"
source <(perfconv completions bash)
COMP_WORDS=(perfconv report names.data "$1" ''); COMP_CWORD=4
_clap_complete_perfconv perfconv '' "$1"
for word in "${COMPREPLY[@]}"; do eval "printf '%s\0' $word"; done
"#;

#[test]
fn names_of_threads_objects_and_events_are_one_word_in_bash() {
    if !has_program("bash") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let text = run(perfconv().arg(fixture("callgraph.data")).args(["-t", "jsonl", "-o", "-"])).stdout;
    let text = String::from_utf8(text).unwrap();
    let names = many_names();
    let line = |kind: &str| text.lines().find(|line| line.starts_with(&format!("{{\"record\":\"{kind}\""))).unwrap();
    let (comm, map) = (line("COMM"), line("MMAP2"));
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let at = lines.iter().position(|line| line == comm).unwrap();
    for (field, line) in [("comm", comm), ("filename", map)] {
        let (before, rest) = line.split_once(&format!("\"{field}\":\"")).unwrap();
        let after = rest.split_once('"').unwrap().1;
        let named = |name: &String| format!("{before}\"{field}\":{}{after}", serde_json::to_string(name).unwrap());
        lines.splice(at..at, names.iter().map(named));
    }
    let event: String = (' '..='~').collect();
    let named = format!("\"name\":{}", serde_json::to_string(&event).unwrap());
    let lines = lines.join("\n").replacen("\"name\":\"cpu-clock\"", &named, 1);
    fs::write(directory.path().join("names.jsonl"), lines).unwrap();
    succeed(perfconv().current_dir(&directory).args(["names.jsonl", "-o", "names.data"]));
    let is_value = |name: &&String| !name.starts_with('-') && !name.chars().any(char::is_control);
    let values: Vec<&String> = names.iter().filter(is_value).collect();
    assert!(values.len() > 250, "{}", values.len());
    for (option, expected) in [("--comm", &values), ("--dso", &values), ("--event", &vec![&event])] {
        let mut bash = Command::new("bash");
        bash.current_dir(&directory).args(["--norc", "--noprofile", "-c", COMPLETED, "bash", option]);
        let path = std::env::var("PATH").unwrap();
        let program = std::path::Path::new(env!("CARGO_BIN_EXE_perfconv")).parent().unwrap();
        let completed = run_other(bash.env("PATH", format!("{}:{path}", program.display())));
        let words: std::collections::BTreeSet<&[u8]> = completed.stdout.split(|&byte| byte == 0).collect();
        let missing: Vec<_> = expected.iter().filter(|name| !words.contains(name.as_bytes())).collect();
        assert!(missing.is_empty(), "{option}: {missing:?} of {}", expected.len());
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 2, "{option}: only the recording and its text");
    }
}
