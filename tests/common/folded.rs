//! Folded stacks.

use crate::common::program::{self, perfconv, run};
use inferno::collapse::Collapse;
use inferno::collapse::perf::{Folder, Options};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Counts by stack.
pub(crate) type Stacks = BTreeMap<String, u64>;

pub(crate) fn stacks(text: &str) -> Stacks {
    let mut stacks = Stacks::new();
    for line in text.lines() {
        let (stack, count) = line.rsplit_once(' ').expect("a count");
        *stacks.entry(stack.to_owned()).or_default() += count.parse::<u64>().expect("a number");
    }
    stacks
}

/// The stacks that inferno reads from perf script text.
pub(crate) fn collapse(text: &[u8]) -> Stacks {
    let mut folded = Vec::new();
    Folder::from(Options::default()).collapse(text, &mut folded).expect("text of perf script");
    stacks(&String::from_utf8(folded).expect("UTF-8"))
}

pub(crate) fn convert(input: &Path, args: &[&str]) -> program::Run {
    run(perfconv().arg(input).args(["-o", "-", "-q"]).args(args).env("HOME", "/nonexistent"))
}

pub(crate) fn with_symbols(name: &str) -> (PathBuf, String) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    (directory.join(name).with_extension("data"), directory.join("files").display().to_string())
}

/// A stack without what inferno omits of operators: `operator()` becomes `operator`.
pub(crate) fn without_operators(stacks: Stacks) -> Stacks {
    let mut equal = Stacks::new();
    for (stack, count) in stacks {
        *equal.entry(stack.replace("operator()", "operator")).or_default() += count;
    }
    equal
}
