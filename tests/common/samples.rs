//! Every sample of a recording is accounted for: in the ledger and in the profile.

use crate::common::files::{self, Recording};
use crate::common::independent_scan::Scan;
use crate::common::program::{self, Run};
use perfconv::formats::pprof::proto::Profile;
use std::collections::BTreeMap;
use std::io::Write;
use std::{fmt, io};

/// The minimum numbers of compared files: of the corpus, and of the fixtures.
const ENOUGH: (usize, usize) = (450, 17);

/// Counts the samples of a recording by another program, or returns why that cannot read it.
pub(crate) type CountSamples = fn(&Recording) -> Result<u64, String>;

/// Converts all recordings, and checks the numbers of samples. Returns how many recordings the other program counted.
pub(crate) fn account_for_every_sample(count_by_perf: Option<CountSamples>) -> usize {
    let recordings = files::recordings();
    let verdicts = program::for_each(&recordings, |recording| compare(recording, count_by_perf));
    let mut table: BTreeMap<&Verdict, usize> = BTreeMap::new();
    let passed = verdicts.iter().filter(|verdict| !matches!(verdict, Verdict::Failed(_)));
    passed.for_each(|verdict| *table.entry(verdict).or_default() += 1);
    // Not with the print macros, whose output the test harness captures.
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
    let compared = |verdicts: &[Verdict]| verdicts.iter().filter(|v| !matches!(v, Verdict::Rejected(_))).count();
    let (of_fixtures, of_corpus) = (compared(&verdicts[..fixtures]), compared(&verdicts[fixtures..]));
    assert!(of_fixtures >= ENOUGH.1, "compared only {of_fixtures} fixtures");
    assert!(!files::has_corpus("samples") || of_corpus >= ENOUGH.0, "compared only {of_corpus} files of the corpus");
    verdicts.iter().filter(|verdict| **verdict == Verdict::ByPerf).count()
}

/// The result of a comparison, in the order of the table.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    /// perf, an independent scan and the program count the same samples.
    ByPerf,
    /// The scan and the program count the same samples; perf is not asked, or cannot read the file, for this reason.
    ByScan(String),
    /// The scan finds no record, for this reason, and the program rejects the file.
    Rejected(String),
    /// The comparison failed.
    Failed(String),
}

fn compare(recording: &Recording, count_by_perf: Option<CountSamples>) -> Verdict {
    let scan = Scan::read(&recording.path);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let output = dir.path().join("out.pb.gz");
    let run = program::convert(&recording.path, &output);
    let result = if scan.records == 0 {
        check_rejection(recording, &run).and_then(|()| {
            let left = std::fs::read_dir(dir.path()).is_ok_and(|mut left| left.next().is_some());
            if left { Err("a failure should leave no output".into()) } else { Ok(()) }
        })
    } else {
        run.ledger().map(|_| ())
    };
    if let Err(error) = result {
        return Verdict::Failed(error);
    }
    if scan.records == 0 {
        return Verdict::Rejected(scan.damage.unwrap_or("no records".into()));
    }
    let by_perf = count_by_perf.map_or(Err("not asked".to_owned()), |count| count(recording));
    if let Err(error) = check_counts(&run, &program::profile(&output), &scan, by_perf.as_ref().ok().copied()) {
        return Verdict::Failed(error);
    }
    match by_perf {
        Ok(_) => Verdict::ByPerf,
        Err(problem) => Verdict::ByScan(problem),
    }
}

/// Checks that the program rejects the file in one line.
fn check_rejection(recording: &Recording, run: &Run) -> Result<(), String> {
    let message = run.failure()?;
    let named = message.starts_with(&*recording.path.to_string_lossy());
    if named { Ok(()) } else { Err(format!("the message does not name the file: {message}")) }
}

/// Checks that ledger, profile, scan and perf agree.
fn check_counts(run: &Run, profile: &Profile, scan: &Scan, by_perf: Option<u64>) -> Result<(), String> {
    let ledger = run.ledger()?;
    let columns = sample_count_columns(profile);
    let counted: i64 =
        profile.sample.iter().flat_map(|sample| columns.iter().map(|&column| sample.value[column])).sum();
    let reasons: u64 = ledger.reasons.iter().map(|(count, _)| count).sum();
    let problem = if by_perf.is_some_and(|samples| samples != scan.samples) {
        "perf and the scan disagree"
    } else if ledger.samples_in != scan.samples {
        "the ledger's input samples differ from the scan"
    } else if ledger.samples_in != ledger.samples_out + ledger.dropped {
        "the ledger is not balanced"
    } else if ledger.dropped != reasons {
        "the reasons do not sum up to the dropped samples"
    } else if !scan.group_reads && counted != ledger.samples_out as i64 {
        "the columns do not sum up to the output samples"
    } else {
        return Ok(());
    };
    Err(format!("{problem}: {} in the columns, perf {by_perf:?}, {scan:?}, {ledger:?}", counted))
}

/// The columns that count samples: `samples/count` of a single event, `EVENT_samples/count` of several.
fn sample_count_columns(profile: &Profile) -> Vec<usize> {
    let counts_samples = |&index: &usize| {
        let (kind, unit) = program::column(profile, &profile.sample_type[index]);
        unit == "count" && (kind == "samples" || kind.ends_with("_samples"))
    };
    (0..profile.sample_type.len()).filter(counts_samples).collect()
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Verdict::ByPerf => write!(f, "compared with perf report -D and an independent scan"),
            Verdict::ByScan(problem) => write!(f, "compared with an independent scan (perf: {problem})"),
            Verdict::Rejected(reason) => write!(f, "rejected: {reason}"),
            Verdict::Failed(problem) => write!(f, "failed: {problem}"),
        }
    }
}
