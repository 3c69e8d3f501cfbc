//! What a person should know about the branches that a profile is built from.

use super::BranchCounts;
use super::binary::BinaryBranches;
use super::location::ObjectNumber;
use super::tally::BranchTally;
use perf_data::stream::ledger::{Ledger, counted};

/// Share of invalid ranges, in percent, above which the file is probably not the recorded one.
const INVALID: f64 = 10.0;

/// Number of other objects that are reported.
const OTHERS: usize = 3;

/// A share in percent.
pub fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// Reports the objects of a recording, and the one that a profile is for.
pub fn describe(counts: &BranchCounts, number: ObjectNumber, binary: &BinaryBranches, ledger: &mut Ledger) {
    let weights = counts.by_weight();
    let total: u64 = weights.iter().map(|(_, weight)| weight).sum();
    let share =
        |object| weights.iter().find(|(other, _)| *other == object).map_or(0.0, |(_, own)| percent(*own, total));
    let id = binary.object.key.build_id.map(|id| format!(", build ID {id}")).unwrap_or_default();
    let noun = if counts.has_branches() { "branches" } else { "instruction pointers" };
    let name = binary.object.name();
    let mut line = format!("profile of {name}{id}: {:.1} % of the {noun}", share(number));
    let others: Vec<_> = weights.iter().filter(|(other, _)| *other != number).take(OTHERS).collect();
    if !others.is_empty() {
        let other = |&&(number, weight): &&(ObjectNumber, u64)| {
            Some(format!("{} {:.1} %", counts.object(number)?.name(), percent(weight, total)))
        };
        line += &format!("; of others: {}", others.iter().filter_map(other).collect::<Vec<_>>().join(", "));
        let rest = weights.len() - 1 - others.len();
        if rest > 0 {
            line += &format!(" and {rest} more");
        }
    }
    ledger.change(line);
    if binary.without_segment > 0 {
        ledger.note(format!(
            "{name}: {} at offsets that no segment of the file has",
            counted(binary.without_segment, "branch end")
        ));
    }
}

/// Reports what happened to samples and entries of branch stacks.
pub fn account(tally: &BranchTally, ledger: &mut Ledger) {
    let BranchTally { samples, without_stack, call_stacks, guests, .. } = *tally;
    if tally.entries > 0 {
        let counts = [
            (tally.outside, "outside of files"),
            (tally.wrong_path, "on a wrong path"),
            (tally.duplicates, "repeated"),
            (tally.missing_ends, "without source or target"),
        ];
        let counts: Vec<_> = counts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!(", {count} {what}"))
            .collect();
        let ranges = match tally.impossible_ranges {
            0 => String::new(),
            impossible => format!(", {impossible} impossible"),
        };
        ledger.change(format!(
            "{} branch entries in {}{}; {}{ranges}",
            tally.entries,
            counted(samples, "branch stack"),
            counts.concat(),
            counted(tally.ranges, "range"),
        ));
    }
    if tally.remapped > 0 {
        let mappings = counted(tally.remapped, "mapping");
        ledger.change(format!(
            "{mappings} of memory over a file whose code was moved to it; its code counts as that of the file"
        ));
    }
    if call_stacks > 0 {
        ledger.missing(format!(
            "{} of --call-graph lbr, whose branch stacks are call stacks without branches; record with -b, or -j any,u",
            counted(call_stacks, "sample")
        ));
    }
    if samples == 0 && without_stack > 0 {
        ledger.note(
            "the recording has no branch stacks: the profile is built from instruction pointers, without calls and with less detail; \
             record with perf record -b where the processor supports it"
                .to_owned(),
        );
    } else if without_stack > 0 {
        ledger.missing(format!(
            "{} without a branch stack, of {}; their instruction pointers are not used",
            counted(without_stack, "sample"),
            without_stack + samples
        ));
    }
    if guests > 0 {
        ledger.missing(format!("{} of guests, whose mappings are not recorded", counted(guests, "sample")));
    }
    warn_of_invalid_ranges(tally.impossible_ranges, tally.ranges, ledger);
}

/// Warns if so many ranges are invalid that the file is probably not the recorded one.
pub fn warn_of_invalid_ranges(invalid: u64, ranges: u64, ledger: &mut Ledger) {
    let share = percent(invalid, ranges);
    if share > INVALID {
        ledger.note(format!(
            "{share:.1} % of the ranges between branches are invalid; either the file is not the recorded one, or the branch stacks \
             are corrupt"
        ));
    }
}
