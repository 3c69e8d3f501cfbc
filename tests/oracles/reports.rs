//! Reports, compared with perf report.

use crate::common::files::{self, enough};
use crate::common::oracle::has_program;
use crate::common::program::{for_each, perfconv, run, run_other, try_run, with_time_limit};
use crate::common::symbol_outputs::plain;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// An entry by its keys: share of the total as perf prints it (of an order with children), samples and period by itself.
type Entries = BTreeMap<String, (String, u64, u64)>;

/// Entries by event.
type Report = BTreeMap<String, Entries>;

/// Adds an entry. Those with equal keys are one, without a share, which is not their sum.
fn add(report: &mut Report, event: &str, keys: String, share: String, samples: u64, period: u64) {
    let entries = report.entry(event.to_owned()).or_default();
    entries
        .entry(keys)
        .and_modify(|entry| *entry = (String::new(), entry.1 + samples, entry.2 + period))
        .or_insert((share, samples, period));
}

/// The report that perf prints, grouped by these keys; or why there is none.
fn perfs(path: &Path, keys: &str, has_children: bool, symfs: Option<&Path>) -> Result<Report, &'static str> {
    let mut perf = with_time_limit("perf");
    let order = if has_children { "--children" } else { "--no-children" };
    let fields = format!("{}overhead,sample,period,{keys}", if has_children { "overhead_children," } else { "" });
    perf.args([
        "report",
        "--stdio",
        "--force",
        "--no-inline",
        "--no-itrace",
        "--no-branch-stack",
        "-g",
        "none",
        "-t",
        "\x01",
    ]);
    // Without widths, perf truncates the names of threads.
    let widths = vec!["200"; fields.split(',').count()].join(",");
    perf.args([order, "-F", &fields, "-w", &widths, "-i"]).arg(path);
    symfs.into_iter().for_each(|symfs| {
        perf.arg("--symfs").arg(symfs);
    });
    let run = run_other(perf.env("LC_ALL", "C").env("HOME", "/nonexistent"));
    if run.status != 0 {
        return Err("perf report fails");
    }
    let (mut report, mut event) = (Report::new(), None);
    for line in String::from_utf8_lossy(&run.stdout).lines() {
        if let Some(heading) = line.strip_prefix("# Samples: ") {
            if heading.contains(" of events ") {
                return Err("a group of events is one list in perf");
            }
            event = heading.split('\'').nth(1).map(str::to_owned);
            continue;
        }
        let cells: Vec<_> = line.split('\x01').map(str::trim).collect();
        let (Some(event), Some(cells)) =
            (&event, Some(cells).filter(|cells| cells.len() > 3 && !line.starts_with('#')))
        else {
            continue;
        };
        let mut cells = cells.into_iter();
        let share = if has_children { cells.next().unwrap_or_default().replace("N/A", "") } else { String::new() };
        let mut number = || cells.next().and_then(|cell| cell.parse::<u64>().ok());
        number();
        let (Some(samples), Some(period)) = (number(), number()) else { return Err("perf prints other columns") };
        let keys: Vec<_> = cells.map(key).collect();
        add(&mut report, event, keys.join(" "), share, samples, period);
    }
    Ok(report)
}

/// A key without the kind of code that perf adds. Unknown functions, which perf lists by address, are one.
fn key(cell: &str) -> &str {
    let is_kind = cell.len() > 4 && cell.starts_with('[') && cell.as_bytes()[2..4] == *b"] ";
    let name = if is_kind { &cell[4..] } else { cell };
    if is_kind && name.starts_with("0x") { "[unknown]" } else { name }
}

/// Our report.
struct Ours {
    report: Report,
    /// Whether samples have stack dumps that are not unwound.
    has_stack_dumps: bool,
}

/// Our report in the same form.
fn ours(path: &Path, keys: &str, symfs: Option<&Path>) -> Result<Ours, String> {
    let mut command = perfconv();
    command.arg("report").arg(path).args(["--json", "-q", "--no-inline", "--sort", keys]).env("HOME", "/nonexistent");
    match symfs {
        Some(symfs) => command.arg("--symfs").arg(symfs),
        None => command.args(["--symbols", "no"]),
    };
    let run = try_run(&mut command)?;
    let report: Value = serde_json::from_slice(&run.stdout).map_err(|error| error.to_string())?;
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    let list = |name: &str| report[name].as_array().cloned().unwrap_or_default();
    let totals: BTreeMap<_, _> =
        list("events").iter().map(|event| (event["event"].to_string(), number(&event["value"]))).collect();
    let mut entries = Report::new();
    for entry in list("entries") {
        let total = totals[&entry["event"].to_string()];
        let share = format!("{:.2}%", number(&entry["total"]["value"]) as f64 * 100.0 / total as f64);
        let names: Vec<_> = keys.split(',').map(|key| entry[key].as_str().unwrap_or_default()).collect();
        let event = entry["event"].as_str().unwrap_or_default();
        let own = &entry["self"];
        add(&mut entries, event, names.join(" "), share, number(&own["samples"]), number(&own["value"]));
    }
    let has_stack_dumps = list("warnings").iter().any(|warning| warning.to_string().contains("user stack dump"));
    Ok(Ours { report: entries, has_stack_dumps })
}

/// The first difference between two reports, and the number of equal entries.
fn compare(ours: &Report, perfs: &Report, has_children: bool) -> Result<usize, String> {
    let mut equal = 0;
    for (event, expected) in perfs {
        let empty = Entries::new();
        // Perf shows the modifiers of events whose names are not recorded.
        let only = || ours.values().next().filter(|_| ours.len() == 1 && perfs.len() == 1);
        let rows = ours.get(event).or_else(only).unwrap_or(&empty);
        for (keys, (share, samples, period)) in expected {
            let entry = rows.get(keys);
            let is_equal = entry.is_some_and(|(our_share, our_samples, our_period)| {
                let has_share = has_children && !share.is_empty() && !our_share.is_empty();
                (our_samples, our_period) == (samples, period) && (!has_share || is_close(share, our_share))
            });
            if !is_equal {
                return Err(format!("{event}: {keys}: {entry:?} instead of {share} {samples} {period}"));
            }
            equal += 1;
        }
        // Of a pipe, perf does not count callers.
        let has_callers = expected.values().any(|(share, ..)| !share.is_empty());
        let is_further = |(keys, entry): &(&String, &(String, u64, u64))| {
            !expected.contains_key(*keys) && (has_callers || entry.1 > 0)
        };
        if let Some((further, _)) = rows.iter().find(is_further) {
            return Err(format!("{event}: {further} is not in the report of perf"));
        }
    }
    Ok(equal)
}

/// A report without what perf assumes: a kernel at all kernel addresses, even those without a mapping, and generated code in all
/// memory without a file. Callers in these are not compared.
fn without_assumptions(report: &Report) -> Report {
    let mut simplified = Report::new();
    for (event, entries) in report {
        for (keys, (_, samples, period)) in entries.iter().filter(|(_, entry)| entry.1 > 0) {
            let keys = keys.replace("[kernel.kallsyms]", "[unknown]");
            let keys = keys.split("[JIT] tid ").next().unwrap_or_default().split("perf-").next().unwrap_or_default();
            add(&mut simplified, event, keys.to_owned(), String::new(), *samples, *period);
        }
    }
    simplified
}

/// Whether percentages are equal, but for the rounding of their last digit.
fn is_close(a: &str, b: &str) -> bool {
    let number = |text: &str| text.trim_end_matches('%').parse::<f64>().unwrap_or(f64::NAN);
    (number(a) - number(b)).abs() < 0.011
}

#[test]
fn counts_of_threads_and_objects_are_those_of_perf_report() {
    const ONE_OF: usize = 8;
    if !has_program("perf") {
        return;
    }
    let recordings = files::share(ONE_OF);
    let results = for_each(&recordings, |recording| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        // Perf 6.1 rejects what later versions added.
        let older = directory.path().join("older.data");
        let rewritten =
            run(perfconv().arg("rewrite").arg(&recording.path).args(["--perf-version", "6.1", "-q", "-o"]).arg(&older));
        let readable = if rewritten.status == 0 { &older } else { &recording.path };
        let has_children = true;
        let expected = match perfs(readable, "comm,dso", has_children, None) {
            Ok(report) if report.values().all(BTreeMap::is_empty) => return Ok(Err("no samples")),
            Ok(report) => report,
            Err(reason) => return Ok(Err(reason)),
        };
        let Ok(report) = ours(&recording.path, "comm,dso", None) else { return Ok(Err("unreadable")) };
        if report.has_stack_dumps {
            return Ok(Err("perf unwinds stack dumps with the files of this machine"));
        }
        let compared = compare(&report.report, &expected, has_children);
        if compared.is_err()
            && compare(&without_assumptions(&report.report), &without_assumptions(&expected), false).is_ok()
        {
            return Ok(Err("equal but for callers and unmapped code"));
        }
        compared.map(Ok).map_err(|error| format!("{}: {error}", recording.name))
    });
    let (mut compared, mut equal, mut skipped, mut failures) = (0, 0, BTreeMap::<&str, usize>::new(), Vec::new());
    for result in results {
        match result {
            Ok(Ok(entries)) => (compared, equal) = (compared + 1, equal + entries),
            Ok(Err(reason)) => *skipped.entry(reason).or_default() += 1,
            Err(failure) => failures.push(failure),
        }
    }
    note!(
        "report: {compared} of {} recordings with {equal} entries equal perf report; skipped: {skipped:?}; different: {}",
        recordings.len(),
        failures.len()
    );
    // Mostly recordings of simpleperf, which perf reads differently.
    let accepted = if files::uses_all() { 3 } else { 1 };
    assert!(failures.len() <= accepted, "{}", failures.join("\n"));
    failures.iter().for_each(|failure| note!("  {failure}"));
    assert!(compared >= enough("reports", ONE_OF, 420, 10), "compared only {compared} recordings");
}

/// A report with names of functions in which demanglers agree.
fn with_plain_names(report: &Report) -> Report {
    let mut plain_report = Report::new();
    for (event, entries) in report {
        for (name, (share, samples, period)) in entries {
            if !name.starts_with('[') {
                add(&mut plain_report, event, plain(name), share.to_owned(), *samples, *period);
            }
        }
    }
    plain_report
}

#[test]
fn counts_of_functions_are_those_of_perf_report() {
    if !has_program("perf") {
        return;
    }
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let symfs = directory.join("files");
    for (name, at_least) in [("c", 15), ("words", 4), ("cxx", 20)] {
        let path = directory.join(name).with_extension("data");
        let mut expected = with_plain_names(&perfs(&path, "sym", true, Some(&symfs)).expect("a report of perf"));
        let mut report = with_plain_names(&ours(&path, "sym", Some(&symfs)).expect("a report").report);
        // Perf does not know the functions of PLT entries, nor those of kernels and libraries whose files are not in the directory.
        report.iter_mut().for_each(|(event, entries)| entries.retain(|name, _| expected[event].contains_key(name)));
        // Demanglers disagree about few names.
        expected.iter_mut().for_each(|(event, entries)| {
            let before = entries.len();
            entries.retain(|name, _| report[event].contains_key(name));
            assert!(before - entries.len() <= 2, "{before} functions in perf, {} of them here", entries.len());
        });
        let equal = compare(&report, &expected, true);
        note!("report: {name}: functions equal to perf report: {equal:?}");
        assert!(equal.expect("equal reports") >= at_least, "{name}");
    }
}
