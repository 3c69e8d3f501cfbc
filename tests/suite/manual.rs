//! Manual pages: complete, and without warnings of two formatters.

use super::program::{note_missing_oracle, perfconv, run, run_other};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

fn pages() -> (tempfile::TempDir, Vec<PathBuf>) {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("share/man1");
    let written = run(perfconv().arg("man").arg(&target));
    assert_eq!((written.status, &*written.stderr), (0, ""));
    let mut pages: Vec<_> = fs::read_dir(&target).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    let again = run(perfconv().arg("man").arg(&target));
    assert!(again.status == 1 && again.stderr.contains("already exists; use -f to overwrite it"), "{}", again.stderr);
    assert_eq!(run(perfconv().arg("man").arg("-f").arg(&target)).status, 0);
    (directory, pages)
}

#[test]
fn formatters_accept_all_pages() {
    let (_directory, pages) = pages();
    assert!(pages.len() > 15, "{pages:?}");
    let formatters: [&[&str]; 2] =
        [&["man", "--warnings", "-E", "UTF-8", "-Tutf8", "-Z", "-l"], &["mandoc", "-Tlint", "-Wwarning"]];
    for formatter in formatters {
        if run_other(Command::new("sh").args(["-c", &format!("command -v {}", formatter[0])])).status != 0 {
            note_missing_oracle(formatter[0]);
            continue;
        }
        for page in &pages {
            let run = run_other(Command::new(formatter[0]).args(&formatter[1..]).arg(page));
            let lint = if formatter[0] == "mandoc" {
                String::from_utf8_lossy(&run.stdout).into_owned()
            } else {
                String::new()
            };
            assert_eq!((run.status, &*run.stderr, &*lint), (0, "", ""), "{formatter:?} {page:?}");
        }
        eprintln!("{} accepts {} pages", formatter[0], pages.len());
    }
}

/// Every option that `--help` prints is in the page of its command, with its text.
#[test]
fn pages_contain_the_long_help() {
    let (_directory, pages) = pages();
    let mut options = 0;
    for page in pages {
        let name = page.file_stem().unwrap().to_str().unwrap().to_owned();
        let Some(command) = name.strip_prefix("perfconv-") else { continue };
        let text = fs::read_to_string(&page).unwrap().replace("\\-", "-").replace("\\fB", "").replace("\\fR", "");
        for heading in [".SH NAME\n", ".SH SYNOPSIS\n", ".SH OPTIONS\n", ".SH EXAMPLES\n", ".SH \"SEE ALSO\"\n"] {
            assert!(text.contains(heading), "{name} has no {heading}");
        }
        let help = run(perfconv().args([command, "--help"]).env("COLUMNS", "1000"));
        for line in String::from_utf8(help.stdout).unwrap().lines() {
            let line = line.trim_start();
            let Some(at) = line.find("--").filter(|&at| line.starts_with('-') && at < 5) else { continue };
            let option = line[at..].split([' ', '[', '<']).next().unwrap();
            assert!(text.contains(option), "{name} has no {option}");
            options += 1;
        }
    }
    assert!(options > 200, "{options} options");
}
