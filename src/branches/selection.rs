//! Which object of a recording a profile is for.

use super::binary::BinaryBranches;
use super::location::ObjectNumber;
use super::{BranchCounts, BranchObject};
use perf_data::error::{Error, Result};
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_symbols::object::build_id::Id;
use perf_symbols::symbol::elf::ElfFiles;
use perf_symbols::symbol::find::attempt::{Attempt, Outcome};
use perf_symbols::symbolizer::SymbolOptions;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

/// Selects an object by its path, its file name or its build ID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BinaryName(String);

impl FromStr for BinaryName {
    type Err = std::convert::Infallible;

    fn from_str(name: &str) -> std::result::Result<Self, Self::Err> {
        Ok(Self(name.to_owned()))
    }
}

impl fmt::Display for BinaryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl BinaryName {
    fn selects(&self, object: &BranchObject) -> bool {
        let Self(name) = self;
        let path = &object.key.path;
        // A prefix of a build ID selects it, too.
        let is_id = |id: &Id| name.len() >= 6 && id.to_string().starts_with(&name.to_ascii_lowercase());
        path == Path::new(name)
            || path.file_name().is_some_and(|file| file == name.as_str())
            || object.key.build_id.as_ref().is_some_and(is_id)
    }
}

/// The object with this name or, by default, that with most branches.
///
/// # Errors
/// If the recording has no branches in it, or the name is that of several objects.
pub fn select(counts: &BranchCounts, name: Option<&BinaryName>) -> Result<ObjectNumber> {
    let weights = counts.by_weight();
    let objects = || weights.iter().filter_map(|&(number, _)| Some((number, counts.object(number)?)));
    let Some(name) = name else {
        return objects().next().map(|(number, _)| number).ok_or_else(|| nothing(counts));
    };
    let selected: Vec<_> = objects().filter(|(_, object)| name.selects(object)).collect();
    match selected[..] {
        [(number, _)] => Ok(number),
        [] if weights.is_empty() => Err(nothing(counts)),
        [] => {
            let names: Vec<_> = objects().take(5).map(|(_, object)| object.name()).collect();
            let problem = format!("no branches in {name}; those with most are in {}", names.join(", "));
            Err(Error::not_found(problem))
        }
        _ => {
            let id = |object: &BranchObject| object.key.build_id.map_or("no build ID".to_owned(), |id| id.to_string());
            let names: Vec<_> =
                selected.iter().map(|(_, object)| format!("{} ({})", object.name(), id(object))).collect();
            let problem = format!("{name} is the name of several objects: {}; name a build ID", names.join(", "));
            Err(Error::invalid(problem))
        }
    }
}

/// Why there are no counts at all.
fn nothing(counts: &BranchCounts) -> Error {
    let tally = &counts.tally;
    let problem = if tally.samples + tally.without_stack + tally.call_stacks + tally.guests == 0 {
        "the recording has no samples"
    } else if tally.call_stacks > 0 && tally.samples == 0 {
        "the recording has call stacks (--call-graph lbr) instead of branches; record with perf record -b, or -j any,u"
    } else {
        "no sample is in a mapped file; the recording has no mappings of its processes, or only of generated code"
    };
    Error::not_found(problem)
}

/// The branches of an object, whose file is searched. Warns in `ledger` of a file that is not the recorded one.
///
/// # Errors
/// If there is no matching file.
pub fn open(
    counts: &BranchCounts,
    number: ObjectNumber,
    symbols: &SymbolOptions,
    meta: &Meta,
    ledger: &mut Ledger,
) -> Result<BinaryBranches> {
    let Some(object) = counts.object(number).cloned() else { return Err(nothing(counts)) };
    let search = Arc::new(symbols.for_recording(meta));
    let mut attempts = Vec::new();
    let files = match object.reference {
        Some(_) => ElfFiles::find_kernel(&search, &object.key, &mut attempts),
        None => ElfFiles::find(&search, &object.key, &mut attempts),
    };
    let Some(files) = files.filter(|files| files.object().is_some()) else {
        return Err(missing(&object, &attempts));
    };
    for attempt in attempts.iter().filter(|attempt| matches!(attempt.outcome, Outcome::Forced(_))) {
        ledger.note(format!("{attempt}; where the code differs, the profile is wrong"));
    }
    Ok(BinaryBranches::new(counts, number, object, files))
}

fn missing(object: &BranchObject, attempts: &[Attempt]) -> Error {
    let mismatch = attempts.iter().find(|attempt| matches!(attempt.outcome, Outcome::Mismatch(_)));
    let recorded = object.key.build_id.map(|id| format!(", build ID {id}")).unwrap_or_default();
    let why = match mismatch {
        Some(attempt) => format!("{attempt}; the recorded one is needed{recorded}"),
        None => format!("no such file{recorded}"),
    };
    let error = Error::not_found(format!("{}: {why}", object.name()));
    match object.reference {
        Some(_) => error.remedy("vmlinux", "FILE of the recorded kernel"),
        None => error.remedy("symfs", "DIR with the recorded files"),
    }
}
