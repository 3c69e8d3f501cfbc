//! Profiles in pprof format: rules, and the program pprof.

use crate::common::files::{self, Recording};
use crate::common::oracle::note_missing_oracle;
use crate::common::program;
use perfconv::formats::pprof::proto::{Profile, ValueType};
use std::collections::HashSet;
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(PartialEq)]
pub(crate) enum Outcome {
    Accepted,
    /// Not run: there are no samples, or pprof is not installed.
    Skipped,
    NoOutput,
}

/// The outcomes of all recordings, none of which may fail.
pub(crate) fn check_outputs(pprof: Option<&Path>) -> Vec<Outcome> {
    let recordings = files::recordings();
    let results = program::for_each(&recordings, |recording| check_output(recording, pprof));
    let (mut outcomes, mut failures) = (Vec::new(), Vec::new());
    for (recording, result) in recordings.iter().zip(results) {
        match result {
            Ok(outcome) => outcomes.push(outcome),
            Err(problem) => failures.push(format!("{}: {problem}", recording.name)),
        }
    }
    assert!(failures.is_empty(), "{} of {} recordings:\n{}", failures.len(), recordings.len(), failures.join("\n"));
    outcomes
}

fn check_output(recording: &Recording, pprof: Option<&Path>) -> Result<Outcome, String> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let output = dir.path().join("out.pb.gz");
    // The `samples` test covers which recordings have an output.
    if program::convert(&recording.path, &output).status != 0 {
        return Ok(Outcome::NoOutput);
    }
    let profile = program::profile(&output);
    validate(&profile)?;
    let Some(pprof) = pprof.filter(|_| !profile.sample.is_empty()) else {
        return Ok(Outcome::Skipped);
    };
    for report in ["-top", "-traces", "-raw"] {
        let text = report_by(pprof, report, &output)?;
        let is_complete = match report {
            "-top" => text.contains("Showing nodes accounting for"),
            "-traces" => text.contains("-----------+----"),
            _ => column_sums_of(&text)? == column_sums(&profile),
        };
        if !is_complete {
            return Err(format!("the output of pprof {report} is incomplete: {text:.2000}"));
        }
    }
    Ok(Outcome::Accepted)
}

/// The pprof on the PATH, or one built from Debian packages. If there is none, says so.
pub(crate) fn find_pprof() -> Option<PathBuf> {
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pprof");
    let mut programs = std::env::split_paths(&on_path).map(|dir| dir.join("pprof")).chain([built.clone()]);
    if let Some(program) = programs.find(|path| path.is_file()) {
        return Some(program);
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/install-pprof.sh");
    let output = Command::new("sh").arg(script).arg(&built).output().expect("sh should run");
    if !output.status.success() {
        note_missing_oracle("pprof");
        return None;
    }
    Some(built)
}

pub(crate) fn report_by(pprof: &Path, report: &str, profile: &Path) -> Result<String, String> {
    let mut command = program::with_time_limit(&pprof.to_string_lossy());
    command.arg(report).arg(profile).stdin(Stdio::null());
    command.env("PPROF_TMPDIR", profile.parent().expect("the profile should have a parent directory"));
    let run = program::run(&mut command);
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    if run.status == 0 { Ok(text) } else { Err(format!("pprof {report}: {}", run.stderr)) }
}

pub(crate) fn column_sums(profile: &Profile) -> Vec<i64> {
    let sum = |column| profile.sample.iter().map(|sample| sample.value[column]).sum();
    (0..profile.sample_type.len()).map(sum).collect()
}

/// The sums of the columns that `pprof -raw` prints. Numbers of samples differ, as pprof omits those with only zeros.
pub(crate) fn column_sums_of(raw: &str) -> Result<Vec<i64>, String> {
    let mut lines = raw.lines().skip_while(|line| *line != "Samples:").skip(1);
    let columns = lines.next().ok_or("pprof -raw shows no columns")?.split_whitespace().count();
    let mut sums = vec![0; columns];
    for line in lines.take_while(|line| *line != "Locations") {
        // Skip lines of labels.
        let values = line.split_once(": ").map_or("", |(values, _)| values);
        let values: Vec<i64> = values.split_whitespace().map_while(|value| value.parse().ok()).collect();
        if values.len() == columns {
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
    }
    Ok(sums)
}

/// Checks the rules of pprof's own validation, and those on which other consumers of profiles rely.
pub(crate) fn validate(profile: &Profile) -> Result<(), String> {
    let text = |index: i64| usize::try_from(index).ok().and_then(|index| profile.string_table.get(index));
    let is_nonempty = |index| text(index).is_some_and(|text| !text.is_empty());
    let strings = all_strings(profile);
    require(profile.string_table.first().is_some_and(String::is_empty), || "the first string is not empty".into())?;
    require(is_distinct(&profile.string_table), || "a duplicate string".into())?;
    require_each(&strings, |&index| text(index).is_some(), "a string that is not in the table")?;
    let named = |value: &ValueType| [value.r#type, value.unit].iter().all(|&index| is_nonempty(index));
    require_each(&profile.sample_type, named, "a column without type or unit")?;
    require(is_distinct(profile.sample_type.iter().map(|value| (value.r#type, value.unit))), || {
        "a duplicate column".into()
    })?;
    // A recording without events has no columns.
    let is_measured = !profile.sample_type.is_empty();
    require(is_measured || profile.sample.is_empty(), || "samples without columns".into())?;
    require(!is_measured || profile.period_type.as_ref().is_some_and(named), || "no period type".into())?;
    require(profile.time_nanos >= 0 && profile.duration_nanos >= 0, || "a negative time".into())?;

    require_dense("mapping", profile.mapping.iter().map(|mapping| mapping.id))?;
    require_dense("location", profile.location.iter().map(|location| location.id))?;
    require_dense("function", profile.function.iter().map(|function| function.id))?;
    require_each(&profile.mapping, |m| m.memory_start < m.memory_limit, "an empty mapping")?;
    let is_kernel = |name: &String| name.starts_with("[kernel.kallsyms]");
    let kernels = profile.mapping.iter().filter(|mapping| text(mapping.filename).is_some_and(is_kernel)).count();
    require(kernels <= 1, || format!("{kernels} mappings of the kernel"))?;

    let mapping = |id: u64| profile.mapping.get(id as usize - 1);
    let inside = |id: u64, address| mapping(id).is_some_and(|m| (m.memory_start..m.memory_limit).contains(&address));
    require_each(
        &profile.location,
        |l| l.mapping_id == 0 || inside(l.mapping_id, l.address),
        "an address outside its mapping",
    )?;
    let functions = 1..=profile.function.len() as u64;
    let lines: Vec<u64> = profile.location.iter().flat_map(|l| &l.line).map(|line| line.function_id).collect();
    require_each(&lines, |id| functions.contains(id), "a line without function")?;
    let unnamed = profile.location.iter().filter(|location| location.line.is_empty());
    require(is_distinct(unnamed.map(|location| (location.mapping_id, location.address))), || {
        "a duplicate location".into()
    })?;

    let locations = 1..=profile.location.len() as u64;
    require_each(
        &profile.sample,
        |s| s.value.len() == profile.sample_type.len(),
        "a sample with another number of values",
    )?;
    require_each(
        &profile.sample,
        |s| s.location_id.iter().all(|id| locations.contains(id)),
        "a sample with an unknown location",
    )?;
    let labels: Vec<_> = profile.sample.iter().flat_map(|sample| &sample.label).collect();
    require_each(&labels, |label| is_nonempty(label.key), "a label without key")?;
    require_each(
        &labels,
        |label| label.str == 0 || (label.num == 0 && label.num_unit == 0),
        "a label with both text and number",
    )?;
    let stacks = profile.sample.iter().map(|sample| (&sample.location_id, &sample.label));
    require(is_distinct(stacks), || "two samples with the same stack and labels".into())
}

pub(crate) fn all_strings(profile: &Profile) -> Vec<i64> {
    let columns = profile.sample_type.iter().chain(&profile.period_type).flat_map(|value| [value.r#type, value.unit]);
    let mappings = profile.mapping.iter().flat_map(|mapping| [mapping.filename, mapping.build_id]);
    let functions = profile.function.iter().flat_map(|f| [f.name, f.system_name, f.filename]);
    let labels = profile.sample.iter().flat_map(|s| &s.label).flat_map(|label| [label.key, label.str, label.num_unit]);
    let own = [profile.drop_frames, profile.keep_frames, profile.default_sample_type, profile.doc_url];
    columns.chain(mappings).chain(functions).chain(labels).chain(own).chain(profile.comment.iter().copied()).collect()
}

pub(crate) fn require(rule: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if rule { Ok(()) } else { Err(otherwise()) }
}

pub(crate) fn require_each<T: std::fmt::Debug>(
    items: &[T],
    rule: impl Fn(&T) -> bool,
    otherwise: &str,
) -> Result<(), String> {
    items.iter().find(|item| !rule(item)).map_or(Ok(()), |item| Err(format!("{otherwise}: {item:?}")))
}

pub(crate) fn require_dense(what: &str, ids: impl Iterator<Item = u64>) -> Result<(), String> {
    let gap = ids.zip(1..).find(|(id, expected)| id != expected);
    gap.map_or(Ok(()), |(id, expected)| Err(format!("{what} {expected} has id {id}")))
}

pub(crate) fn is_distinct<T: Hash + Eq>(items: impl IntoIterator<Item = T>) -> bool {
    let mut seen = HashSet::new();
    items.into_iter().all(|item| seen.insert(item))
}
