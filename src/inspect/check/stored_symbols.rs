//! Rules for names of functions that a recording contains, which perf does not define.

use super::finding::Rule;
use perf_symbols::symbol::stored_lines::{LINES, StoredLines};
use perf_symbols::symbol::stored_object::{StoredObject, stored_objects};
use std::collections::HashSet;

/// Checks the contents of a feature that consists of objects with names.
pub(super) fn check(id: u32, section: &[u8], report: &mut impl FnMut(Rule, String)) {
    let mut objects = HashSet::new();
    for object in stored_objects(id, section) {
        let object = match object {
            Ok(object) => object,
            Err(error) => {
                report(Rule::Undecodable, error.to_string());
                continue;
            }
        };
        let path = String::from_utf8_lossy(object.path);
        if str::from_utf8(object.path).is_err() {
            report(Rule::Inconsistent, format!("{path}: the path is not UTF-8; its names are not used"));
        }
        // Readers join the lines of an object.
        if !objects.insert((object.path, object.build_id)) && id != LINES {
            report(Rule::Inconsistent, format!("{path}: the file is there several times, of which the last is used"));
        }
        check_symbols(&object, &path, report);
        if id == LINES {
            let lines = StoredLines::read(&object);
            if lines.is_corrupt() {
                report(Rule::Undecodable, format!("{path}: its lines do not have the layout of this feature"));
            }
            let problems = lines.problems();
            if problems > 0 {
                report(Rule::Inconsistent, format!("{path}: {problems} indexes of strings or functions do not exist"));
            }
        }
    }
}

fn check_symbols(object: &StoredObject<'_>, path: &str, report: &mut impl FnMut(Rule, String)) {
    let mut ranges: Vec<_> = object
        .symbols
        .iter()
        .map(|symbol| (symbol.address, symbol.address.saturating_add(symbol.size), symbol.name))
        .collect();
    ranges.sort_unstable();
    let overlaps = ranges.windows(2).filter(|pair| pair[1].0 < pair[0].1).count();
    if overlaps > 0 {
        report(Rule::Inconsistent, format!("{path}: {overlaps} functions overlap the one before"));
    }
    let is_text = |name: &[u8]| str::from_utf8(name).is_ok() && !name.is_empty();
    let others = ranges.iter().filter(|(_, _, name)| !is_text(name)).count();
    if others > 0 {
        report(Rule::Inconsistent, format!("{path}: {others} names of functions are empty or not UTF-8"));
    }
}
