//! `perf script`: whose each sample is, when and where it was taken, and its stack.

use super::super::files::Recording;
use super::{Enough, Golden, Verdict, any, compare, is_big_endian, judged, own, scripted, tag};

const VIEW: &str = "perf script";

#[test]
fn samples_are_what_other_perfs_print() {
    let enough = [
        Enough { machines: any, recordings: 370, records: 125_000 },
        Enough { machines: is_big_endian, recordings: 39, records: 9_300 },
    ];
    compare(VIEW, &own(VIEW), judge, &enough);
}

fn judge(recording: &Recording) -> Option<Verdict> {
    let (native, newest) = (Golden::native(recording, "script.txt.gz"), Golden::newest(recording, "script"));
    // Of foreign byte orders perf misreads some. Where perf crashes while it unwinds a user stack, a golden is cut.
    let goldens = if is_big_endian(tag(recording)) { [newest, native] } else { [native, newest] };
    let golden = goldens.into_iter().flatten().max_by_key(|golden| parse(&golden.text).len())?;
    if golden.text.starts_with("CPU   THREAD") {
        return Some(Verdict::Skipped("perf prints the counts of perf stat".into()));
    }
    let theirs = parse(&golden.text);
    if theirs.is_empty() {
        return Some(Verdict::Skipped("perf prints no sample".into()));
    }
    if recording.name == LATE_SAMPLE {
        return Some(Verdict::Skipped(
            "perf prints a sample whose user frames never came after its thread's end".into(),
        ));
    }
    let records = match scripted::records(&recording.path) {
        Ok(Ok(records)) => records,
        Ok(Err(reason)) => return Some(Verdict::Skipped(reason.into())),
        Err(error) => return Some(Verdict::Differs(error.to_string())),
    };
    if records.other_stacks.is_some() && !golden.text.ends_with("\n\n") {
        return Some(Verdict::Skipped("the golden is cut where perf unwinds a user stack".into()));
    }
    // Newer perfs forget the names of threads that have ended.
    let ours = [false, true].map(|forgets_ended| records.print(forgets_ended));
    let has_jitted = JITTED.contains(&&*recording.name);
    let other_stacks = if has_jitted { Some("without stacks of jitted code") } else { records.other_stacks };
    let ways: &[(&'static str, Way)] = match other_stacks {
        Some(reason) => &[(reason, without_stack)],
        None if is_big_endian(tag(recording)) => &[(golden.by, str::to_owned)],
        None => &[(golden.by, str::to_owned), ("either, user frames to the page", to_the_page)],
    };
    let shown = |samples: &[String], way: Way| samples.iter().map(|s| way(s)).collect::<Vec<_>>();
    let mut verdicts: Vec<Verdict> = Vec::new();
    for &(by, way) in ways {
        let theirs = shown(&theirs, way);
        verdicts.extend(ours.iter().map(|ours| judged(by, &theirs, &shown(ours, way))));
    }
    let best = verdicts.iter().position(|verdict| matches!(verdict, Verdict::Same { .. }));
    Some(verdicts.swap_remove(best.unwrap_or(0)))
}

/// How samples are looked at.
type Way = fn(&str) -> String;

/// A recording in which a thread ends before the user frames of a sample come.
const LATE_SAMPLE: &str = "own/guest-sid-amd64/defer-tp.data";

/// Recordings of which perf prints some frames of compiled code twice, or where they are in a file that does not begin at
/// a page.
const JITTED: &[&str] = &["own/p61/jit-java-inj.data", "own/p72/jit-java.data", "own/p72/jit-java-inj.data"];

/// The samples, each as `COMM TID [CPU] TIME: PERIOD EVENT: IP...`, without names of functions and files.
fn parse(text: &str) -> Vec<String> {
    let mut samples: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        match (line.strip_prefix('\t'), samples.last_mut()) {
            (Some(frame), Some(sample)) => {
                // Of an inlined function perf makes a frame of its own.
                if !frame.ends_with("(inlined)") {
                    sample.push(' ');
                    sample.push_str(frame.split_whitespace().next().expect("a frame has an address"));
                }
            }
            _ => samples.extend(sample(line)),
        }
    }
    samples
}

/// The first line of a sample: words up to the event's name, which ends with a colon and a blank, and an address.
fn sample(line: &str) -> Option<String> {
    let (head, rest) = match line.split_once(": ") {
        // The first colon is the time's, if there is a time.
        Some((head, rest)) if is_time(head.split_whitespace().last()?) => {
            let (event, rest) = rest.split_once(": ")?;
            (format!("{head}: {event}"), rest)
        }
        Some((head, rest)) => (head.into(), rest),
        None => return None,
    };
    let is_address = |word: &&str| word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let address = rest.split_whitespace().next().filter(is_address).map(|address| format!(" {address}"));
    let head = head.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(format!("{head}:{}", address.unwrap_or_default()))
}

/// `16.162177`.
fn is_time(word: &str) -> bool {
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    word.split_once('.').is_some_and(|(seconds, micros)| is_number(seconds) && micros.len() == 6 && is_number(micros))
}

/// A sample with its user frames in their pages: where perf does not find a file, it may print where in the file a frame
/// is instead of where in memory.
fn to_the_page(sample: &str) -> String {
    let (head, frames) = sample.split_at(stack(sample));
    let frames = frames.split(' ').map(|frame| match u64::from_str_radix(frame, 16) {
        Ok(address) if address < 1 << 63 => format!("{:x}", address & 0xfff),
        _ => frame.into(),
    });
    format!("{head}{}", frames.collect::<Vec<_>>().join(" "))
}

fn without_stack(sample: &str) -> String {
    sample[..stack(sample)].into()
}

/// Where the frames begin: behind the event's name.
fn stack(sample: &str) -> usize {
    if sample.ends_with(':') { sample.len() } else { sample.rfind(": ").map_or(0, |colon| colon + 1) }
}
