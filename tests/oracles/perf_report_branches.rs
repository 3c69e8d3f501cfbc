//! Rows of branches of `perf report`, compared byte for byte with those of perf 6.1.

use super::perf_commands::{Answer, ReportDirectory, has_perf, scenario_recordings};
use crate::common::files::{Recording, recordings};
use crate::common::program::{for_each, perfconv, run};
use std::fs;
use std::path::Path;

/// Scenarios with branch stacks.
const SCENARIOS: [&str; 3] =
    ["scenarios/lbr.toml", "scenarios/call-stack.toml", "tests/suite/perf_report/branches.toml"];

/// Options to compare, and the number of recordings whose text may differ: perf prints rows twice because it does not order flags, and
/// begins hardware call stacks differently. The numbers may only become smaller.
const OPTIONS: [(&[&str], usize); 13] = [
    (&[], 0),
    (&["-b", "--percent-limit", "1", "-n"], 0),
    (&["-s", "dso_from,dso_to"], 0),
    (&["-s", "sym,dso"], 0),
    (&["-s", "dso_to,dso_from,cpu,cycles"], 0),
    (&["-s", "comm,mispredict"], 0),
    (&["-s", "mispredict,in_tx,abort,cycles,comm,pid", "-n", "--show-total-period"], 2),
    (&["-F", "overhead,symbol_from,symbol_to,cycles,sample", "-w", "8,10,3,4,1"], 0),
    (&["-F", "overhead,symbol_from,symbol_to,mispredict"], 5),
    (&["-t", ";", "-F", "overhead,sample,dso_from,cycles"], 0),
    (&["-q", "-t", ",", "-F", "comm,overhead,symbol_to,symbol_from"], 0),
    (&["--comms", "loop", "--percentage", "relative", "-g", "none"], 0),
    (&["--no-branch-stack", "-g", "none", "-s", "dso,symbol"], 1),
];

/// Numbers of lines that must be equal, with the recordings in `../shared` and without.
const ENOUGH: [usize; 2] = [14_000, 600];

#[test]
fn branches_equal_those_of_perf() {
    if !has_perf() {
        return;
    }
    let directory = ReportDirectory::new();
    let recordings = recordings_with_branches(directory.path());
    let has_shared = recordings.len() > SCENARIOS.len();
    let (mut lines, mut failures) = (0, Vec::new());
    for (args, allowed) in OPTIONS {
        let results = for_each(&recordings, |recording| directory.compare(args, recording));
        let equal = results.iter().filter(|(answer, _)| *answer == Answer::Equal);
        let (count, more) = equal.fold((0, 0), |(count, sum), (_, lines)| (count + 1, sum + lines));
        println!("{count:3} of {} equal, {more:6} lines: {}", recordings.len(), args.join(" "));
        lines += more;
        let others = results.iter().zip(&recordings).filter(|((answer, _), _)| *answer != Answer::Equal);
        let others: Vec<_> = others.map(|((answer, _), recording)| format!("{}: {answer:?}", recording.name)).collect();
        let has_others = others.iter().any(|other| !other.ends_with("Different"));
        if others.len() > allowed || has_others {
            failures.push(format!("{args:?}: {others:?}, {allowed} may differ"));
        }
    }
    println!("{lines} lines equal");
    assert!(failures.is_empty(), "{failures:#?}");
    assert!(lines >= ENOUGH[usize::from(!has_shared)], "only {lines} lines compared");
}

/// Recordings from scenarios, of the corpus, and of real programs in an emulator.
fn recordings_with_branches(directory: &Path) -> Vec<Recording> {
    let mut list = scenario_recordings(&SCENARIOS, directory);
    let Ok(entries) = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/pgo")) else {
        note!("perf report: no ../shared/pgo; branches of scenarios only");
        return list;
    };
    for entry in entries {
        let packed = entry.expect("the directory should be listable").path();
        let name = packed.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(unpacked) = name.strip_suffix(".data.zst").filter(|name| *name != "sorter-ip") else { continue };
        let path = directory.join(format!("{unpacked}.data"));
        let output = run(perfconv().arg("-q").arg(&packed).arg("-o").arg(&path));
        assert_eq!(output.status, 0, "{}", output.stderr);
        list.push(Recording { name: unpacked.to_owned(), path, listed_samples: None });
    }
    list.extend(recordings().into_iter().filter(|recording| recording.name == "peers/autofdo/perf-kernel.data"));
    list
}
