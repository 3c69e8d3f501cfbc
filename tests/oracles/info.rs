//! `perfconv info` prints what perf prints: `perf report --header-only -I`, `perf evlist -v` and `-g`, `perf buildid-list`.

use crate::common::files::{self, Recording};
use crate::common::oracle::has_program;
use crate::common::program::{self, perfconv, run};
use perf_data::abi::Endian;
use perf_data::abi::feature::FeatureId;
use perf_data::container::read::input::Input;
use perf_data::container::read::{Container, ReadOptions};
use perf_data::stream::meta::Meta;
use perf_data::stream::source::Source;
use perfconv::inspect::info::header::file_header;
use perfconv::inspect::info::{Info, Parts, read_info};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::process::Stdio;

/// A perf command, and the options of info that print the same.
struct View {
    perf: &'static [&'static str],
    info: &'static [&'static str],
    /// Selects and normalizes the lines to compare, of either output.
    lines: fn(&Meta, &str) -> Vec<String>,
    /// The reason why perf 6.1 prints something else for an equivalent recording, if any.
    known_difference: fn(&Info) -> Option<&'static str>,
    /// The minimum number of compared recordings: with the corpus, and with the fixtures alone. Close to the actual number, so
    /// that reasons to skip do not silently apply to more recordings.
    enough: (usize, usize),
}

const VIEWS: &[View] = &[
    View {
        perf: &["report", "--header-only", "-I"],
        info: &[],
        lines: header,
        known_difference: header_difference,
        enough: (222, 10),
    },
    View {
        perf: &["evlist", "-v"],
        info: &["--events"],
        lines: events,
        known_difference: |info| {
            let is_small = info.meta.events.list().iter().any(|event| event.attr.size < PERF_6_1_ATTR);
            (is_small && is_pipe(info)).then_some("perf reads IDs in pipes as fields of small attrs")
        },
        enough: (245, 12),
    },
    View {
        perf: &["evlist", "-g"],
        info: &["--events"],
        lines: groups,
        known_difference: |info| (!has_names(&info.meta)).then_some("perf reads event names only from files"),
        enough: (165, 8),
    },
    View {
        perf: &["buildid-list"],
        info: &["--build-ids"],
        lines: build_ids,
        known_difference: |_| None,
        enough: (208, 10),
    },
];

/// One in `SHARE` recordings of the corpus is compared: there are several of every kind.
const SHARE: usize = 2;

#[test]
fn info_matches_perf() {
    if !has_program("perf") {
        return;
    }
    let recordings = files::share(SHARE);
    let results = program::for_each(&recordings, compare_views);
    let (mut compared, mut skipped): (BTreeMap<String, usize>, BTreeMap<&str, usize>) = Default::default();
    let mut failures = Vec::new();
    for (recording, (view, verdict)) in
        recordings.iter().zip(results).flat_map(|(recording, list)| list.into_iter().map(move |of| (recording, of)))
    {
        match verdict {
            Verdict::Same => *compared.entry(view.perf.join(" ")).or_default() += 1,
            Verdict::Skipped(reason) => *skipped.entry(reason).or_default() += 1,
            Verdict::Differs(what) => {
                failures.push(format!("{}: perf {}: {what}", recording.name, view.perf.join(" ")))
            }
        }
    }
    // Not with the print macros, whose output the test harness captures.
    let mut out = io::stderr().lock();
    writeln!(out, "info of {} recordings, compared with perf:", recordings.len()).unwrap();
    compared.iter().for_each(|(view, count)| writeln!(out, "{count:6} equal: perf {view}").unwrap());
    skipped.iter().for_each(|(reason, count)| writeln!(out, "{count:6} skipped: {reason}").unwrap());
    assert!(failures.is_empty(), "{} differences:\n{}", failures.len(), failures.join("\n"));
    for view in VIEWS {
        let enough = files::enough("info", SHARE, view.enough.0, view.enough.1);
        let compared = compared.get(&view.perf.join(" ")).copied().unwrap_or(0);
        assert!(compared >= enough, "perf {:?}: compared only {compared} recordings, expected {enough}", view.perf);
    }
}

enum Verdict {
    Same,
    Skipped(&'static str),
    Differs(String),
}

fn compare_views(recording: &Recording) -> Vec<(&'static View, Verdict)> {
    let source = Source::open(Input::Path(recording.path.clone()), ReadOptions::default());
    let Ok(info) = source.and_then(|source| read_info(source, Parts { header: true, ..Parts::default() })) else {
        return Vec::new();
    };
    VIEWS.iter().map(|view| (view, compare(view, &recording.path, &info))).collect()
}

fn compare(view: &View, path: &Path, info: &Info) -> Verdict {
    let meta = &info.meta;
    let mut perf = program::with_time_limit("perf");
    perf.args(view.perf).args(["--force", "-i"]).arg(path).envs([("LC_ALL", "C"), ("TZ", "UTC")]);
    let shown = program::run_other(perf.env_remove("DEBUGINFOD_URLS").stdin(Stdio::null()));
    let text = String::from_utf8_lossy(&shown.stdout);
    if shown.status != 0 || text.trim().is_empty() {
        return Verdict::Skipped("perf prints nothing");
    }
    if let Some(reason) = (view.known_difference)(info) {
        return Verdict::Skipped(reason);
    }
    let info_run = run(perfconv().arg("info").arg(path).args(view.info));
    // info prints the header even if it fails as there are no records.
    if info_run.status != 0 && info_run.stdout.is_empty() {
        return Verdict::Differs(info_run.stderr);
    }
    let (mut theirs, mut ours) =
        ((view.lines)(meta, &text), (view.lines)(meta, &String::from_utf8_lossy(&info_run.stdout)));
    // perf rejects core IDs beyond the number of CPUs.
    if theirs.iter().any(|line| line == "# Core ID and Socket ID information is not available") {
        theirs.retain(|line| !line.contains("Core ID"));
        ours.retain(|line| !line.contains("Core ID"));
    }
    // Without a build ID table, perf lists only files with samples, and info all files with a build ID.
    let is_part = view.perf == ["buildid-list"] && !meta.features.contains_key(&FeatureId::BUILD_ID);
    if theirs == ours || is_part && theirs.iter().all(|line| ours.contains(line)) {
        return Verdict::Same;
    }
    let only = |lines: &[String], others: &[String]| -> Vec<String> {
        lines.iter().filter(|line| !others.contains(line)).take(3).cloned().collect()
    };
    Verdict::Differs(format!("{:#?} instead of {:#?}", only(&ours, &theirs), only(&theirs, &ours)))
}

/// The size of the attr in perf 6.1.
const PERF_6_1_ATTR: u32 = 128;

fn is_pipe(info: &Info) -> bool {
    info.meta.container == Container::Pipe
}

/// The newest feature that perf 6.1 knows.
const NEWEST: FeatureId = FeatureId::PMU_CAPS;

fn header(meta: &Meta, text: &str) -> Vec<String> {
    let newer = ["# e_", "# cacheline", "# schedstat", "# Maximum sched", "# cpu :", "# nr_domains", "# Domain"];
    // perf does not read these in another byte order.
    let unread = ["# bpf_prog_info", "# btf info"];
    let begins = |line: &str, starts: &[&str]| starts.iter().any(|start| line.starts_with(start));
    let is_skipped = |line: &str| {
        line.trim_matches(['#', ' ', '=']).is_empty()
            || begins(line, &newer)
            || meta.endian == Endian::Big && begins(line, &unread)
    };
    let known = |word: &&str| !FeatureId::NAMED.iter().any(|(id, name)| *id > NEWEST && name == word);
    let header = text.lines().take_while(|line| !line.is_empty() || text.starts_with("# ===="));
    let line = |line: &str| {
        if line.starts_with("# missing features:") {
            return line.split(' ').filter(known).collect::<Vec<_>>().join(" ").trim_end().to_owned();
        }
        attr_fields(meta, line).replace('\t', "    ")
    };
    header.filter(|line| !is_skipped(line)).map(line).collect()
}

fn header_difference(info: &Info) -> Option<&'static str> {
    let (meta, is_pipe) = (&info.meta, is_pipe(info));
    let is_interrupted = file_header(meta).is_some_and(|header| header.data.size == 0);
    let has_no_hostname = !is_pipe && !meta.features.contains_key(&FeatureId::HOSTNAME);
    let reasons = [
        (is_pipe && !info.ledger.messages().is_empty(), "perf stops in corrupt pipes"),
        (is_interrupted, "interrupted recording: perf reads records as features"),
        (is_pipe && meta.endian == Endian::Big, "perf does not read features of pipes in another byte order"),
        (has_no_hostname, "without HOSTNAME, perf misreads the feature bits"),
        (is_pipe && meta.features.contains_key(&FeatureId::STAT), "perf does not recognize pipes of perf stat"),
    ];
    reasons.into_iter().find(|(applies, _)| *applies).map(|(_, reason)| reason)
}

/// Normalizes a line that may have fields of an attr, and drops those that perf 6.1 misreads.
fn attr_fields(meta: &Meta, line: &str) -> String {
    let misread = |field: &str| ["clockid", "sample_regs_intr"].iter().any(|name| field.starts_with(name));
    let is_read = |field: &&str| meta.endian == Endian::Little || !misread(field);
    line.split(", ").filter(is_read).map(sorted_bits).collect::<Vec<_>>().join(", ").trim_end().to_owned()
}

/// Sorts the names of a field's bits.
pub(super) fn sorted_bits(field: &str) -> String {
    for separator in [" = ", ": "] {
        if let Some((name, bits)) = field.rsplit_once(separator).filter(|(_, bits)| bits.contains('|')) {
            let mut bits: Vec<&str> = bits.split('|').collect();
            bits.sort_unstable();
            return format!("{name}{separator}{}", bits.join("|"));
        }
    }
    field.into()
}

/// Whether perf reads names of the events.
fn has_names(meta: &Meta) -> bool {
    meta.container != Container::Pipe && meta.features.contains_key(&FeatureId::EVENT_DESC)
}

fn events(meta: &Meta, text: &str) -> Vec<String> {
    let lines = text.lines().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("# Tip"));
    let fields = |line: &str| {
        let start = [": type:", ": size:"].iter().find_map(|start| line.find(start));
        line[start.filter(|_| !has_names(meta)).unwrap_or(0)..].to_owned()
    };
    lines.map(|line| attr_fields(meta, &fields(line))).collect()
}

fn groups(_: &Meta, text: &str) -> Vec<String> {
    let is_ours = text.contains(": type:") || text.contains(": size:");
    let lines = match text.split_once("\n\n") {
        Some((_, groups)) if is_ours => groups.lines(),
        _ => text.lines(),
    };
    let name = |line: &str| line.find(": type:").or(line.find(": size:")).map_or(line, |at| &line[..at]).to_owned();
    lines.filter(|line| !line.starts_with("# Tip")).map(name).collect()
}

fn build_ids(_: &Meta, text: &str) -> Vec<String> {
    // perf also lists files with samples but without a known build ID; info lists only those with one.
    let mut lines: Vec<String> = text.lines().filter(|line| !line.starts_with(' ')).map(str::to_owned).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}
