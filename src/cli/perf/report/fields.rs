//! `--sort` and `--fields` of `perf report`.

use crate::cli::failure::Failure;
use perfconv::formats::report::perf::{HistogramKey, PerfColumn};

/// perf's keys, in the order in which it compares a part of a name with them.
const PERF_KEYS: [&str; 49] = [
    "pid",
    "comm",
    "dso",
    "symbol",
    "parent",
    "cpu",
    "socket",
    "srcline",
    "srcfile",
    "local_weight",
    "weight",
    "transaction",
    "trace",
    "symbol_size",
    "dso_size",
    "cgroup",
    "cgroup_id",
    "ipc_null",
    "time",
    "code_page_size",
    "local_ins_lat",
    "ins_lat",
    "local_p_stage_cyc",
    "p_stage_cyc",
    "addr",
    "dso_from",
    "dso_to",
    "symbol_from",
    "symbol_to",
    "mispredict",
    "abort",
    "in_tx",
    "cycles",
    "srcline_from",
    "srcline_to",
    "ipc_lbr",
    "addr_from",
    "addr_to",
    "symbol_daddr",
    "dso_daddr",
    "locked",
    "tlb",
    "mem",
    "snoop",
    "dcacheline",
    "symbol_iaddr",
    "phys_daddr",
    "data_page_size",
    "blocked",
];

/// perf's columns of numbers, with those that are answered.
const PERF_COLUMNS: [(&str, Option<PerfColumn>); 8] = [
    ("overhead", Some(PerfColumn::Overhead)),
    ("overhead_sys", None),
    ("overhead_us", None),
    ("overhead_guest_sys", None),
    ("overhead_guest_us", None),
    ("overhead_children", Some(PerfColumn::Children)),
    ("sample", Some(PerfColumn::Samples)),
    ("period", Some(PerfColumn::Period)),
];

/// The keys of `--sort`.
///
/// # Errors
/// If one is unknown, or is not answered.
pub(in crate::cli::perf) fn keys(list: &str) -> Result<Vec<HistogramKey>, Failure> {
    let key = |name: &str| match column("sort", name)? {
        PerfColumn::Key(key) => Ok(key),
        _ => Err(refused("sort", name, "rows are sorted by overhead anyway; use --fields for the columns")),
    };
    unique(names(list).map(key))
}

/// The key of the column that perf adds if the text of `--sort` has the word, whichever key that is.
pub(super) fn added_key(list: &str, counts_branches: bool) -> Option<HistogramKey> {
    let key = if counts_branches { HistogramKey::BranchIpc } else { HistogramKey::Ipc };
    list.contains("symbol").then_some(key)
}

/// The columns of `--fields`.
///
/// # Errors
/// If one is unknown, or is not answered.
pub(super) fn columns(list: &str) -> Result<Vec<PerfColumn>, Failure> {
    unique(names(list).map(|name| column("fields", name)))
}

fn names(list: &str) -> impl Iterator<Item = &str> {
    list.split([',', ' ']).filter(|name| !name.is_empty())
}

fn unique<T: PartialEq>(list: impl Iterator<Item = Result<T, Failure>>) -> Result<Vec<T>, Failure> {
    let mut unique = Vec::new();
    for value in list {
        let value = value?;
        if !unique.contains(&value) {
            unique.push(value);
        }
    }
    Ok(unique)
}

/// The column with a name or, for keys, a part of it at its start, as in perf.
fn column(option: &str, name: &str) -> Result<PerfColumn, Failure> {
    if name.starts_with('+') {
        return Err(refused(option, name, "name all of them, without '+'"));
    }
    let lower = name.to_ascii_lowercase();
    if let Some((_, column)) = PERF_COLUMNS.iter().find(|(column, _)| *column == lower) {
        return column.ok_or_else(|| refused(option, name, "samples of kernel and user are not separate columns"));
    }
    let Some(key) = PERF_KEYS.iter().find(|key| key.starts_with(&lower)) else {
        return Err(Failure::Usage(format!("unknown --{option} key: '{name}'")));
    };
    let answered = HistogramKey::ALL.iter().filter(|key| !key.is_ipc());
    let names = || answered.clone().map(|key| key.name()).collect::<Vec<_>>().join(", ");
    let reason = || format!("use {}, or the real perf", names());
    let same = answered.clone().find(|answered| answered.name() == *key);
    same.map(|&key| PerfColumn::Key(key)).ok_or_else(|| refused(option, key, &reason()))
}

/// What a key or column of perf's `--sort` is, for people who give it to another command; `None` if perf has none of this name.
pub(in crate::cli::perf) fn sort_key_support(name: &str) -> Option<SortKeySupport> {
    if PERF_COLUMNS.iter().any(|(column, _)| *column == name) {
        return Some(SortKeySupport::Column);
    }
    PERF_KEYS.contains(&name).then(|| match column("sort", name) {
        Ok(_) => SortKeySupport::Answered,
        Err(_) => SortKeySupport::Refused,
    })
}

/// A name that perf accepts in `--sort`.
pub(in crate::cli::perf) enum SortKeySupport {
    /// A column of numbers.
    Column,
    /// A key that is answered.
    Answered,
    /// A key that is not.
    Refused,
}

fn refused(option: &str, name: &str, reason: &str) -> Failure {
    Failure::Usage(format!("--{option} '{name}' is not supported: {reason}"))
}
