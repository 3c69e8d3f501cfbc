//! `perf report --header-only -I`: what a recording tells of the machine, the events and itself.

use std::path::Path;

use perfconv::container::read::ReadOptions;
use perfconv::container::read::input::Input;
use perfconv::inspect::info::{Parts, read_info};
use perfconv::stream::meta::Meta;
use perfconv::stream::source::Source;

use super::super::files::Recording;
use super::super::info::sorted_bits;
use super::{Enough, Golden, Verdict, any, compare, is_big_endian, judged, own, words};

const VIEW: &str = "perf report --header-only -I";

#[test]
fn headers_are_what_other_perfs_show() {
    let enough = [
        Enough { machines: any, recordings: 400, records: 13_800 },
        Enough { machines: is_big_endian, recordings: 42, records: 1_150 },
    ];
    compare(VIEW, &own(VIEW), judge, &enough);
}

fn judge(recording: &Recording) -> Option<Verdict> {
    let golden = Golden::native(recording, "header.txt").or_else(|| Golden::newest(recording, "header"))?;
    let Ok(meta) = meta(&recording.path) else {
        return Some(Verdict::Skipped("the recording is cut in its header".into()));
    };
    if golden.text.contains("# data size      : 0\n# feat offset    : ")
        && !golden.text.contains("# feat offset    : 0")
    {
        return Some(Verdict::Skipped("the recorder was killed: perf takes records for features".into()));
    }
    let theirs = parse(&golden.text);
    if theirs.is_empty() {
        return Some(Verdict::Skipped("perf shows no feature".into()));
    }
    let mut ours = parse(&perfconv::inspect::info::header::lines(&meta).join("\n"));
    ours.retain(|line| !line.starts_with(MISSING));
    // Of the features that perf misses, those that are missing.
    if let Some(missing) = theirs.iter().find(|line| line.starts_with(MISSING)) {
        let has = |word: &&str| !meta.features.keys().any(|id| id.name() == Some(word));
        ours.push(missing.split(' ').filter(has).collect::<Vec<_>>().join(" "));
    }
    Some(judged(golden.by, &theirs, &ours))
}

const MISSING: &str = "# missing features:";

/// What perf looks at: of a file the header, of a pipe the records that tell what is in a file's header.
fn meta(path: &Path) -> perfconv::Result<Meta> {
    let source = Source::open(Input::Path(path.to_path_buf()), ReadOptions::default())?;
    Ok(read_info(source, Parts { header: true, ..Parts::default() })?.meta)
}

/// The lines of features.
fn parse(text: &str) -> Vec<String> {
    let of_the_file =
        ["captured on", "header version", "data offset", "data size", "feat offset", "=====", "To display"];
    let is_of_the_file = |line: &str| {
        let line = line.trim_start_matches("# ");
        line.trim_end_matches('#').is_empty() || of_the_file.iter().any(|start| line.starts_with(start))
    };
    // That there are no BPF programs is said by some perfs only.
    let is_nothing = |line: &str| ["# bpf_prog_info empty", "# btf info empty"].contains(&line);
    text.lines().filter(|line| !is_of_the_file(line) && !is_nothing(line)).map(canonical).collect()
}

/// A line without what newer perfs add to the values, and without what is not of the recording.
fn canonical(line: &str) -> String {
    if let Some((_, time)) = line.split_once("reference time: ") {
        let (_, time) = time.split_once(" = ").expect("the time is told in several ways");
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
        let field = if is_named { field.split(" (").next().expect("there is a first part") } else { field };
        sorted_bits(field)
    });
    words(fields.collect::<Vec<_>>().join(", "))
}
