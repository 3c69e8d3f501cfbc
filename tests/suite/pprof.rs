//! The pprof output: valid by rules of our own, and accepted by the real pprof.

use std::collections::HashSet;
use std::fs;
use std::hash::Hash;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use perfconv::formats::pprof::proto::{Profile, ValueType};

use super::files::{self, Recording};
use super::program;

/// As many outputs are to be valid, and shown with samples to the real pprof where it is there.
const ENOUGH: (usize, usize) = (500, 450);
const ENOUGH_OF_FIXTURES: (usize, usize) = (14, 14);

#[test]
fn every_output_is_valid_and_the_real_pprof_accepts_it() {
    let pprof = the_real_pprof();
    if let Err(reason) = &pprof {
        writeln!(io::stderr(), "the outputs are not shown to the real pprof: {reason}").unwrap();
    }
    let recordings = files::recordings();
    let results = program::for_each(&recordings, |recording| judge(recording, pprof.as_deref().ok()));
    let failures: Vec<String> = recordings
        .iter()
        .zip(&results)
        .filter_map(|(recording, result)| Some(format!("{}: {}", recording.name, result.as_ref().err()?)))
        .collect();
    assert!(failures.is_empty(), "{} of {} recordings:\n{}", failures.len(), recordings.len(), failures.join("\n"));
    let shown = results.iter().filter(|result| **result == Ok(Shown::Accepted)).count();
    let valid = results.iter().filter(|result| **result != Ok(Shown::NoOutput)).count();
    writeln!(io::stderr(), "pprof: {valid} outputs are valid, the real pprof accepts {shown} with samples").unwrap();
    let enough = if files::has_corpus("pprof") { ENOUGH } else { ENOUGH_OF_FIXTURES };
    assert!(valid >= enough.0, "only {valid} outputs of {} are there", enough.0);
    assert!(shown >= enough.1 || pprof.is_err(), "only {shown} outputs of {} were shown to the real pprof", enough.1);
}

#[derive(PartialEq)]
enum Shown {
    Accepted,
    /// It has no samples, or there is no pprof.
    Withheld,
    NoOutput,
}

fn judge(recording: &Recording, pprof: Option<&Path>) -> Result<Shown, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = folder.path().join("out.pb.gz");
    // Which files have an output at all is for the samples' test to say.
    if program::convert(&recording.path, &output).status != 0 {
        return Ok(Shown::NoOutput);
    }
    let profile = program::profile(&output);
    valid(&profile)?;
    let Some(pprof) = pprof.filter(|_| !profile.sample.is_empty()) else {
        return Ok(Shown::Withheld);
    };
    for report in ["-top", "-traces", "-raw"] {
        let text = report_by(pprof, report, &output)?;
        let is_whole = match report {
            "-top" => text.contains("Showing nodes accounting for"),
            "-traces" => text.contains("-----------+----"),
            _ => column_sums_of(&text)? == column_sums(&profile),
        };
        if !is_whole {
            return Err(format!("pprof {report} does not show all of it: {text:.2000}"));
        }
    }
    Ok(Shown::Accepted)
}

/// The pprof on the PATH, or one that is built from Debian's packages; else the reason why there is none.
pub fn the_real_pprof() -> Result<PathBuf, String> {
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pprof");
    let found = std::env::split_paths(&on_path).map(|folder| folder.join("pprof")).chain([built.clone()]);
    if let Some(found) = found.into_iter().find(|path| path.is_file()) {
        return Ok(found);
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/install-pprof.sh");
    let output = Command::new("sh").arg(script).arg(&built).output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        program::oracle_is_missing("pprof");
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(built)
}

pub fn report_by(pprof: &Path, report: &str, profile: &Path) -> Result<String, String> {
    let mut command = program::with_time_limit(&pprof.to_string_lossy());
    command.args(["-symbolize=none", report]).arg(profile).stdin(Stdio::null());
    command.env("PPROF_TMPDIR", profile.parent().expect("the profile is in a folder"));
    let run = program::run(&mut command);
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    if run.status == 0 { Ok(text) } else { Err(format!("pprof {report}: {}", run.stderr)) }
}

pub fn column_sums(profile: &Profile) -> Vec<i64> {
    let sum = |column| profile.sample.iter().map(|sample| sample.value[column]).sum();
    (0..profile.sample_type.len()).map(sum).collect()
}

/// The sums of the columns that `pprof -raw` prints. Not the number of samples: pprof leaves out those of only zeros.
fn column_sums_of(raw: &str) -> Result<Vec<i64>, String> {
    let mut lines = raw.lines().skip_while(|line| *line != "Samples:").skip(1);
    let columns = lines.next().ok_or("pprof -raw shows no columns")?.split_whitespace().count();
    let mut sums = vec![0; columns];
    for line in lines.take_while(|line| *line != "Locations") {
        // A line of labels has another form.
        let values = line.split_once(": ").map_or("", |(values, _)| values);
        let values: Vec<i64> = values.split_whitespace().map_while(|value| value.parse().ok()).collect();
        if values.len() == columns {
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
    }
    Ok(sums)
}

/// The rules of pprof's own check, and those by which consumers other than pprof read a profile.
pub fn valid(profile: &Profile) -> Result<(), String> {
    let text = |index: i64| usize::try_from(index).ok().and_then(|index| profile.string_table.get(index));
    let written = |index| text(index).is_some_and(|text| !text.is_empty());
    let strings = all_strings(profile);
    holds(profile.string_table.first().is_some_and(String::is_empty), || "the first string is not empty".into())?;
    holds(distinct(&profile.string_table), || "a string is in the table twice".into())?;
    each(&strings, |&index| text(index).is_some(), "a string that is not in the table")?;
    let named = |value: &ValueType| [value.r#type, value.unit].iter().all(|&index| written(index));
    each(&profile.sample_type, named, "a column without type or unit")?;
    holds(distinct(profile.sample_type.iter().map(|value| (value.r#type, value.unit))), || "a column twice".into())?;
    // A recording without events has nothing to name.
    let is_measured = !profile.sample_type.is_empty();
    holds(is_measured || profile.sample.is_empty(), || "there are no columns".into())?;
    holds(!is_measured || profile.period_type.as_ref().is_some_and(named), || "no period type".into())?;
    holds(profile.time_nanos >= 0 && profile.duration_nanos >= 0, || "a negative time".into())?;

    dense("mapping", profile.mapping.iter().map(|mapping| mapping.id))?;
    dense("location", profile.location.iter().map(|location| location.id))?;
    dense("function", profile.function.iter().map(|function| function.id))?;
    each(&profile.mapping, |m| m.memory_start < m.memory_limit, "an empty mapping")?;
    let is_kernel = |name: &String| name.starts_with("[kernel.kallsyms]");
    let kernels = profile.mapping.iter().filter(|mapping| text(mapping.filename).is_some_and(is_kernel)).count();
    holds(kernels <= 1, || format!("the kernel is mapped {kernels} times"))?;

    let mapping = |id: u64| profile.mapping.get(id as usize - 1);
    let inside = |id: u64, address| mapping(id).is_some_and(|m| (m.memory_start..m.memory_limit).contains(&address));
    each(
        &profile.location,
        |l| l.mapping_id == 0 || inside(l.mapping_id, l.address),
        "an address outside its mapping",
    )?;
    let functions = 1..=profile.function.len() as u64;
    let lines: Vec<u64> = profile.location.iter().flat_map(|l| &l.line).map(|line| line.function_id).collect();
    each(&lines, |id| functions.contains(id), "a line without function")?;
    let places = profile.location.iter().filter(|location| location.line.is_empty());
    holds(distinct(places.map(|location| (location.mapping_id, location.address))), || "a location twice".into())?;

    let locations = 1..=profile.location.len() as u64;
    each(&profile.sample, |s| s.value.len() == profile.sample_type.len(), "a sample with other columns")?;
    each(&profile.sample, |s| s.location_id.iter().all(|id| locations.contains(id)), "a sample without location")?;
    let labels: Vec<_> = profile.sample.iter().flat_map(|sample| &sample.label).collect();
    each(&labels, |label| written(label.key), "a label without key")?;
    each(&labels, |label| label.str == 0 || (label.num == 0 && label.num_unit == 0), "a label of text and number")?;
    let stacks = profile.sample.iter().map(|sample| (&sample.location_id, &sample.label));
    holds(distinct(stacks), || "two samples with one stack and one set of labels".into())
}

fn all_strings(profile: &Profile) -> Vec<i64> {
    let columns = profile.sample_type.iter().chain(&profile.period_type).flat_map(|value| [value.r#type, value.unit]);
    let mappings = profile.mapping.iter().flat_map(|mapping| [mapping.filename, mapping.build_id]);
    let functions = profile.function.iter().flat_map(|f| [f.name, f.system_name, f.filename]);
    let labels = profile.sample.iter().flat_map(|s| &s.label).flat_map(|label| [label.key, label.str, label.num_unit]);
    let own = [profile.drop_frames, profile.keep_frames, profile.default_sample_type, profile.doc_url];
    columns.chain(mappings).chain(functions).chain(labels).chain(own).chain(profile.comment.iter().copied()).collect()
}

fn holds(rule: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if rule { Ok(()) } else { Err(otherwise()) }
}

fn each<T: std::fmt::Debug>(items: &[T], rule: impl Fn(&T) -> bool, otherwise: &str) -> Result<(), String> {
    items.iter().find(|item| !rule(item)).map_or(Ok(()), |item| Err(format!("{otherwise}: {item:?}")))
}

fn dense(what: &str, ids: impl Iterator<Item = u64>) -> Result<(), String> {
    let wrong = ids.zip(1..).find(|(id, expected)| id != expected);
    wrong.map_or(Ok(()), |(id, expected)| Err(format!("{what} {expected} has id {id}")))
}

fn distinct<T: Hash + Eq>(items: impl IntoIterator<Item = T>) -> bool {
    let mut seen = HashSet::new();
    items.into_iter().all(|item| seen.insert(item))
}

#[test]
fn reports_the_share_of_samples_without_function_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.pb.gz");
    let line = |name: &str, args: &[&str]| {
        let done =
            program::run(program::perfconv().arg(files::fixture(name)).arg("-f").args(args).arg("-o").arg(&path));
        assert_eq!(done.status, 0, "{}", done.stderr);
        done.stderr.lines().find(|line| line.contains("function names")).map(str::to_owned)
    };
    // One of 350 samples is in the kernel.
    let all = "perfconv: 100 % of samples have frames without function names (kernel less than 1 %, user 99 %); \
               pprof can add names where the binaries are";
    assert_eq!(line("plain.data", &[]).as_deref(), Some(all));
    // Samples with unique labels are written one by one.
    assert_eq!(line("plain.data", &["--labels", "timestamp_ns"]).as_deref(), Some(all));
    assert_eq!(line("plain.data", &["-q"]), None);
    assert_eq!(line("plain.data", &["-t", "jsonl"]), None);
    fs::remove_file(&path).unwrap();
    assert!(line("callgraph.data", &["--split-by", "pid"]).is_some());
}
