//! `perf report -D`: every record with its fields.

use super::super::files::Recording;
use super::{Enough, Golden, Verdict, compare, dumped, judged};

#[test]
fn records_are_what_newer_perfs_dump() {
    let (enough, of_big_endian) =
        (Enough { recordings: 335, records: 121_000 }, Enough { recordings: 40, records: 12_900 });
    compare("perf report -D", judge, &enough, &of_big_endian);
}

fn judge(recording: &Recording) -> Option<Verdict> {
    let golden = Golden::newest(recording, "dump")?;
    // perf ends with totals, unless it stopped where it could not go on.
    let Some((records, _)) = golden.text.split_once("\nAggregated stats:") else {
        return Some(Verdict::Skipped("perf stops before the end".into()));
    };
    let theirs = parse(records);
    if theirs.is_empty() {
        return Some(Verdict::Skipped("perf finds no record in it".into()));
    }
    Some(match dumped::records(&recording.path) {
        Ok(ours) => judged(golden.by, &theirs, &ours),
        Err(error) => Verdict::Differs(error.to_string()),
    })
}

/// The records in a dump, each as the words of its lines.
fn parse(text: &str) -> Vec<String> {
    let mut records: Vec<String> = Vec::new();
    for line in text.lines() {
        let line = line.trim_end_matches(": unhandled!");
        if line.contains("]: PERF_RECORD_") {
            // Newer perfs tell attrs and features of pipes here, too. They are compared with those of the header.
            let line = if line.contains("PERF_RECORD_ATTR") || line.contains("PERF_RECORD_FEATURE") {
                line.split([',', '#']).next().expect("there is a first part")
            } else {
                line
            };
            // The code that a TEXT_POKE is about has a name, where perf finds one.
            let is_name = |word: &&str| line.contains("PERF_RECORD_TEXT_POKE") && word.contains("+0x");
            records.push(line.split_whitespace().filter(|word| !is_name(word)).collect::<Vec<_>>().join(" "));
        } else if let (false, Some(record)) = (is_not_of_the_record(line), records.last_mut()) {
            let is_register = line.starts_with(".... ") && line.contains(" 0x");
            for word in line.split_whitespace().skip(if is_register { 2 } else { 0 }) {
                // Marks of call chains have names in newer perfs, and registers have.
                if !word.starts_with("(PERF_CONTEXT_") {
                    record.push(' ');
                    record.push_str(word);
                }
            }
        }
    }
    records
}

/// Lines that tell where a record is, its bytes, or what perf makes of it.
fn is_not_of_the_record(line: &str) -> bool {
    let starts = [".  ", ". ...", "#", " ... thread:", " ...... dso:", "...... (deferred)"];
    line.is_empty() || line == "." || line.contains("]: event: ") || starts.iter().any(|start| line.starts_with(start))
}
