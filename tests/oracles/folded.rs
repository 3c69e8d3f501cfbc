//! Folded stacks, compared with inferno's reading of perf script text.

use crate::common::folded::{Stacks, collapse, convert, stacks, with_symbols, without_operators};
use crate::common::oracle::has_program;
use crate::common::program::{self};
use std::process::Command;

#[test]
fn stacks_with_functions_are_those_of_perf_script_and_inferno() {
    if !has_program("perf") {
        return;
    }
    for name in ["words", "c", "cxx"] {
        let (recording, files) = with_symbols(name);
        let script = program::run_other(
            Command::new("perf").arg("script").arg("--no-inline").arg("--symfs").arg(&files).arg("-i").arg(&recording),
        );
        // Kernel functions depend on whether this machine runs the recorded kernel.
        let user_only = |stacks: Stacks| -> Stacks {
            stacks.into_iter().filter(|(stack, _)| !stack.contains("[kernel") && !stack.contains("entry_")).collect()
        };
        let expected = user_only(collapse(&script.stdout));
        let ours = convert(&recording, &["-t", "folded", "--symfs", &files, "--no-inline", "--demangle", "short"]);
        let ours = user_only(without_operators(stacks(&String::from_utf8_lossy(&ours.stdout))));
        let equal = expected.iter().filter(|(stack, count)| ours.get(*stack) == Some(count)).count();
        note!("folded: {name}: {equal} of {} stacks equal those of perf script", expected.len());
        assert!(equal == expected.len() && equal > 5, "{name}: {ours:#?} instead of {expected:#?}");
    }
}
