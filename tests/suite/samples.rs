//! Every recording is read, and every sample in it is accounted for.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::Stdio;
use std::{fmt, io};

use perfconv::formats::pprof::proto::Profile;

use super::files::{self, Recording};
use super::program::{self, Run};
use super::walk::Walk;

/// As many files are to be compared: of the corpus, and of the fixtures.
const ENOUGH: (usize, usize) = (450, 17);

/// How a recording was judged, in the order of the table.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    /// perf and the walk count the same samples, and so does the program.
    ByPerf,
    /// The program counts what the walk counts. perf does not read the file, as it says.
    ByWalk(String),
    /// The walk finds no record in it, for this reason, and the program says that nothing is readable.
    Refused(String),
    /// What is wrong.
    Failed(String),
}

#[test]
fn every_sample_is_accounted_for() {
    let recordings = files::recordings();
    let verdicts = program::for_each(&recordings, judge);
    let mut table: BTreeMap<&Verdict, usize> = BTreeMap::new();
    let judged = verdicts.iter().filter(|verdict| !matches!(verdict, Verdict::Failed(_)));
    judged.for_each(|verdict| *table.entry(verdict).or_default() += 1);
    // Not through the macros, whose output the test harness hides when the test passes.
    let mut out = io::stderr().lock();
    writeln!(out, "samples in {} recordings:", recordings.len()).unwrap();
    table.iter().for_each(|(verdict, count)| writeln!(out, "{count:6} {verdict}").unwrap());

    let failures: Vec<String> = recordings
        .iter()
        .zip(&verdicts)
        .filter(|(_, verdict)| matches!(verdict, Verdict::Failed(_)))
        .map(|(recording, verdict)| format!("{}: {verdict}", recording.name))
        .collect();
    assert!(failures.is_empty(), "{} of {} recordings:\n{}", failures.len(), recordings.len(), failures.join("\n"));

    let fixtures = files::fixtures().len();
    let compared = |verdicts: &[Verdict]| verdicts.iter().filter(|v| !matches!(v, Verdict::Refused(_))).count();
    let (of_fixtures, of_corpus) = (compared(&verdicts[..fixtures]), compared(&verdicts[fixtures..]));
    assert!(of_fixtures >= ENOUGH.1, "only {of_fixtures} fixtures were compared");
    assert!(
        !files::has_corpus("samples") || of_corpus >= ENOUGH.0,
        "only {of_corpus} files of the corpus were compared"
    );
}

fn judge(recording: &Recording) -> Verdict {
    let walk = Walk::of(&recording.path);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = folder.path().join("out.pb.gz");
    let run = program::convert(&recording.path, &output);
    let judged = if walk.records == 0 {
        refused(recording, &run).and_then(|()| {
            let left = std::fs::read_dir(folder.path()).is_ok_and(|mut left| left.next().is_some());
            if left { Err("a failure leaves an output".into()) } else { Ok(()) }
        })
    } else {
        run.ledger().map(|_| ())
    };
    if let Err(wrong) = judged {
        return Verdict::Failed(wrong);
    }
    if walk.records == 0 {
        return Verdict::Refused(walk.damage.unwrap_or("no record in it".into()));
    }
    let by_perf = samples_by_perf(recording);
    if let Err(wrong) = accounted(&run, &program::profile(&output), &walk, by_perf.as_ref().ok().copied()) {
        return Verdict::Failed(wrong);
    }
    match by_perf {
        Ok(_) => Verdict::ByPerf,
        Err(complaint) => Verdict::ByWalk(complaint),
    }
}

/// Whether the program says in one sentence that the file cannot be read.
fn refused(recording: &Recording, run: &Run) -> Result<(), String> {
    let sentence = run.failure()?;
    let named = sentence.starts_with(&*recording.path.to_string_lossy());
    if named { Ok(()) } else { Err(format!("the sentence does not name the file: {sentence}")) }
}

/// Whether ledger, oracles and profile agree.
fn accounted(run: &Run, profile: &Profile, walk: &Walk, by_perf: Option<u64>) -> Result<(), String> {
    let ledger = run.ledger()?;
    let columns = sample_count_columns(profile);
    let counted: i64 =
        profile.sample.iter().flat_map(|sample| columns.iter().map(|&column| sample.value[column])).sum();
    let reasons: u64 = ledger.reasons.iter().map(|(count, _)| count).sum();
    let wrong = if by_perf.is_some_and(|samples| samples != walk.samples) {
        "perf and the walk disagree"
    } else if ledger.samples_in != walk.samples {
        "the samples in are not those in the file"
    } else if ledger.samples_in != ledger.samples_out + ledger.dropped {
        "samples are neither out nor dropped"
    } else if ledger.dropped != reasons {
        "the reasons do not add up"
    } else if !walk.group_reads && counted != ledger.samples_out as i64 {
        "the columns do not add up to the samples out"
    } else {
        return Ok(());
    };
    Err(format!("{wrong}: {} in the columns, perf {by_perf:?}, {walk:?}, {ledger:?}", counted))
}

/// `samples/count` of the only event, `EVENT_samples/count` of several.
fn sample_count_columns(profile: &Profile) -> Vec<usize> {
    let counts_samples = |&index: &usize| {
        let (kind, unit) = program::column(profile, &profile.sample_type[index]);
        unit == "count" && (kind == "samples" || kind.ends_with("_samples"))
    };
    (0..profile.sample_type.len()).filter(counts_samples).collect()
}

/// The samples that `perf report -D` prints, or why it does not read the file.
///
/// Its lines are counted and not the totals at its end, which are missing where there is no sample.
fn samples_by_perf(recording: &Recording) -> Result<u64, String> {
    let mut perf = program::with_time_limit("perf");
    perf.args(["report", "-D", "--force", "-i"]).arg(&recording.path);
    // A server that is asked for symbols would be waited for.
    perf.env_remove("DEBUGINFOD_URLS").env("LC_ALL", "C").stdin(Stdio::null());
    let output = perf.output().expect("timeout runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    // perf gives status 0 to files that it stopped in, too.
    let complaint = ["incompatible file format", "size field is 0", "failed to process", "unexpected end", "Failed to"]
        .into_iter()
        .find(|complaint| stderr.contains(complaint));
    match (complaint, output.status.code()) {
        (Some(complaint), _) => Err(complaint.into()),
        (None, Some(0)) => {
            let lines = output.stdout.split(|byte| *byte == b'\n');
            let is_sample = |line: &&[u8]| line.windows(19).any(|window| window == b"PERF_RECORD_SAMPLE(");
            Ok(lines.filter(is_sample).count() as u64)
        }
        (None, Some(127)) => Err("not installed".into()),
        (None, Some(124)) => Err("hangs".into()),
        (None, Some(status)) => Err(format!("status {status}")),
        (None, None) => Err("crashes".into()),
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Verdict::ByPerf => write!(f, "compared with perf report -D and the walk"),
            Verdict::ByWalk(complaint) => write!(f, "compared with the walk (perf: {complaint})"),
            Verdict::Refused(reason) => write!(f, "skipped and refused: {reason}"),
            Verdict::Failed(wrong) => write!(f, "failed: {wrong}"),
        }
    }
}
