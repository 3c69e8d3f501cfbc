//! `--sort`: perf prints the same samples of a sorted recording.

use crate::common::files::{Recording, has_corpus, recordings};
use crate::common::oracle::has_program;
use crate::common::program::{for_each, run_other, with_time_limit};
use crate::common::rewrite::{SortResult, sort};
use perf_data::container::read::{Container, ReadOptions, input::Input};
use perf_data::stream::source::Source;
use std::path::Path;

fn script(path: &Path) -> Option<String> {
    let fields = ["comm,pid,tid,cpu,time,event,ip,sym,dso", "comm,pid,tid,time,event,ip,sym,dso"];
    fields.iter().find_map(|fields| {
        let mut perf = with_time_limit("perf");
        perf.args(["script", "--force", "--no-inline", "--no-itrace", "-F", fields, "-i"]).arg(path).env("LC_ALL", "C");
        let run = run_other(&mut perf);
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        (run.status == 0 && !text.trim().is_empty()).then(|| text.lines().map(words).collect::<Vec<_>>().join("\n"))
    })
}

#[test]
fn perf_prints_the_same_after_sorting() {
    if !has_program("perf") {
        return;
    }
    let all = recordings();
    let (mut compared, mut unsorted, mut printed, mut count, mut differing) = (0, 0, 0, 0, Vec::new());
    for (recording, outcome) in all.iter().zip(for_each(&all, |recording| sort(&recording.path, Some(script)))) {
        match outcome {
            Some(SortResult::Same { records, was_sorted, is_printed }) => {
                (compared, unsorted) = (compared + 1, unsorted + usize::from(!was_sorted));
                (printed, count) = (printed + usize::from(is_printed), count + records);
            }
            Some(SortResult::Differs(what)) => differing.push(format!("{}: {what}", recording.name)),
            None => {}
        }
    }
    note!(
        "sorted {compared} recordings with {count} records, {unsorted} of them unsorted before; perf script prints the same for {printed}"
    );
    assert!(differing.is_empty(), "{} of {}:\n{}", differing.len(), all.len(), differing.join("\n"));
    let enough = if has_corpus("sorting") { (500, 60) } else { (18, 3) };
    assert!(
        compared >= enough.0 && unsorted >= enough.1,
        "sorted only {compared} recordings, {unsorted} of them unsorted before"
    );
    // perf reads neither files of newer versions nor interrupted ones, sorted or not. Of newer pipes, it reads those as recorded, but
    // not the files written from them.
    let is_readable = |recording: &Recording| {
        let source = Source::open(Input::Path(recording.path.clone()), ReadOptions::default());
        source.is_ok_and(|source| source.meta().container == Container::File) && script(&recording.path).is_some()
    };
    let readable = for_each(&all, is_readable).into_iter().filter(|is_readable| *is_readable).count();
    assert!(readable > 0 && printed >= readable, "perf printed only {printed} recordings, expected {readable}");
}
