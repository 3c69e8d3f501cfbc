//! `perf report --header-only -I`: metadata of the machine, the events and the recording.

use super::super::info::sorted_bits;
use super::{Enough, Golden, Verdict, any, compare, compare_records, is_big_endian, own, words};
use crate::common::files::Recording;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::stream::meta::Meta;
use perf_data::stream::source::Source;
use perfconv::inspect::info::{Parts, read_info};
use std::path::Path;

const VIEW: &str = "perf report --header-only -I";

#[test]
fn headers_match_other_perf_versions() {
    let enough = [
        Enough { machines: any, recordings: 400, records: 13_800 },
        Enough { machines: is_big_endian, recordings: 42, records: 1_150 },
    ];
    compare(VIEW, &own(VIEW), compare_header, &enough);
}

fn compare_header(recording: &Recording) -> Option<Verdict> {
    let golden = Golden::native(recording, "header.txt").or_else(|| Golden::newest(recording, "header"))?;
    let Ok(meta) = meta(&recording.path) else {
        return Some(Verdict::Skipped("the recording is truncated in its header".into()));
    };
    if golden.text.contains("# data size      : 0\n# feat offset    : ")
        && !golden.text.contains("# feat offset    : 0")
    {
        return Some(Verdict::Skipped("interrupted recording: perf reads records as features".into()));
    }
    let theirs = parse(&golden.text);
    if theirs.is_empty() {
        return Some(Verdict::Skipped("perf prints no features".into()));
    }
    let mut ours = parse(&perfconv::inspect::info::header::lines(&meta).join("\n"));
    ours.retain(|line| !line.starts_with(MISSING));
    // Restrict perf's list of missing features to those that are missing.
    if let Some(missing) = theirs.iter().find(|line| line.starts_with(MISSING)) {
        let is_missing = |word: &&str| !meta.features.keys().any(|id| id.name() == Some(word));
        ours.push(missing.split(' ').filter(is_missing).collect::<Vec<_>>().join(" "));
    }
    Some(compare_records(golden.by, &theirs, &ours))
}

const MISSING: &str = "# missing features:";

/// Reads the metadata that perf prints: the header of a file, or the header records of a pipe.
fn meta(path: &Path) -> perfconv::Result<Meta> {
    let source = Source::open(Input::Path(path.to_path_buf()), ReadOptions::default())?;
    Ok(read_info(source, Parts { header: true, ..Parts::default() })?.meta)
}

/// The lines about features.
fn parse(text: &str) -> Vec<String> {
    let of_the_file =
        ["captured on", "header version", "data offset", "data size", "feat offset", "=====", "To display"];
    let is_of_the_file = |line: &str| {
        let line = line.trim_start_matches("# ");
        line.trim_end_matches('#').is_empty() || of_the_file.iter().any(|start| line.starts_with(start))
    };
    // Only some perf versions report that there are no BPF programs.
    let is_nothing = |line: &str| ["# bpf_prog_info empty", "# btf info empty"].contains(&line);
    text.lines().filter(|line| !is_of_the_file(line) && !is_nothing(line)).map(canonical).collect()
}

/// Removes what newer perf versions add, and values that are not part of the recording.
fn canonical(line: &str) -> String {
    if let Some((_, time)) = line.split_once("reference time: ") {
        let (_, time) = time.split_once(" = ").expect("the time is recorded in several forms");
        return words(format!("# reference time: {time}"));
    }
    if !line.starts_with("# event :") {
        return words(line);
    }
    let fields = line
        .split(", ")
        .filter(|field| !field.starts_with("config = 0 (") && !["type = 0", "config = 0"].contains(field));
    let fields = fields.map(|field| {
        let is_named = field.starts_with("type = ") || field.starts_with("config = ");
        let field = if is_named { field.split(" (").next().expect("the first part should exist") } else { field };
        sorted_bits(field)
    });
    words(fields.collect::<Vec<_>>().join(", "))
}
