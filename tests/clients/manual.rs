//! Manual pages cause no warnings of two formatters.

use crate::common::manual::pages;
use crate::common::oracle::has_program;
use crate::common::program::run_other;
use std::process::Command;

#[test]
fn formatters_accept_all_pages() {
    let (_directory, pages) = pages();
    assert!(pages.len() > 15, "{pages:?}");
    let formatters: [&[&str]; 2] =
        [&["man", "--warnings", "-E", "UTF-8", "-Tutf8", "-Z", "-l"], &["mandoc", "-Tlint", "-Wwarning"]];
    for formatter in formatters {
        if !has_program(formatter[0]) {
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
        note!("{} accepts {} pages", formatter[0], pages.len());
    }
}
