//! Manual pages are complete.

use crate::common::manual::pages;
use crate::common::program::{perfconv, run};
use std::fs;

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
