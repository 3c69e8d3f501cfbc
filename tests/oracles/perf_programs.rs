//! The versions of perf whose text is compared with ours.

use crate::common::oracle::note_missing_oracle;
use crate::common::program::{run_other, with_time_limit};
use std::env;
use std::ffi::OsString;

/// A perf, and the value of `--perf-style` for its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Perf {
    pub program: String,
    pub style: &'static str,
}

/// The styles, each with how the versions begin that print it.
const STYLES: [(&str, &str); 3] = [("6.1", "6.1."), ("6.12", "6.12."), ("7", "7.")];

/// Libraries without which perf prints less, or unwinds other stacks.
const LIBRARIES: [&str; 3] = ["libtraceevent: [ OFF ]", "libunwind: [ OFF ]", "zstd: [ OFF ]"];

/// `perf`, and the program that `OTHER_PERF` names, if their text has a known style. Prints which styles are not compared.
pub(super) fn installed(test: &str) -> Vec<Perf> {
    let programs = [Some("perf".into()), env::var_os("OTHER_PERF")].into_iter().flatten();
    let perfs: Vec<Perf> = programs.filter_map(style_of).collect();
    for (style, _) in STYLES.iter().filter(|(style, _)| perfs.iter().all(|perf| perf.style != *style)) {
        note!("{test}: style {style} skipped: neither perf nor OTHER_PERF is a perf {style} with all libraries");
    }
    if perfs.is_empty() {
        note_missing_oracle("perf");
    }
    perfs
}

fn style_of(program: OsString) -> Option<Perf> {
    let program = program.into_string().ok()?;
    let run = run_other(with_time_limit(&program).args(["version", "--build-options"]));
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let version = text.trim().strip_prefix("perf version ")?;
    if let Some(library) = LIBRARIES.iter().find(|library| text.contains(*library)) {
        note!("{program} is not compared: {library}");
        return None;
    }
    let (style, _) = STYLES.into_iter().find(|(_, start)| version.starts_with(start))?;
    Some(Perf { program, style })
}
