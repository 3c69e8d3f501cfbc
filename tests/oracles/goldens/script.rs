//! `perf script`: task, CPU, time, event, address and stack of each sample.

use super::{Enough, Golden, Verdict, any, compare, compare_records, is_big_endian, own, tag};
use crate::common::files::Recording;
use crate::common::program::{perfconv, run};
use crate::common::repair;
use perf_data::abi::attr::Attr;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::sample_type::SampleType;
use perf_data::stream::meta::Meta;
use std::collections::{BTreeSet, HashSet};

const VIEW: &str = "perf script";

#[test]
fn samples_match_other_perf_versions() {
    let enough = [
        Enough { machines: any, recordings: 370, records: 125_000 },
        Enough { machines: is_big_endian, recordings: 39, records: 9_300 },
    ];
    compare(VIEW, &own(VIEW), compare_script, &enough);
}

fn compare_script(recording: &Recording) -> Option<Verdict> {
    let (native, newest) = (Golden::native(recording, "script.txt.gz"), Golden::newest(recording, "script"));
    // perf misreads some fields of foreign byte orders. If perf crashes while unwinding a user stack, the golden is truncated.
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
        return Some(Verdict::Skipped("a thread ends before the deferred user frames of a sample".into()));
    }
    let meta = match repair::read(&recording.path) {
        Ok((meta, _)) => meta,
        Err(error) => return Some(Verdict::Differs(error.to_string())),
    };
    if let Some(reason) = prints_differently(&meta) {
        return Some(Verdict::Skipped(reason.into()));
    }
    let other_stacks = prints_other_stacks(&meta);
    if other_stacks.is_some() && !golden.text.ends_with("\n\n") {
        return Some(Verdict::Skipped("the golden is truncated where perf crashes unwinding a user stack".into()));
    }
    let ours = |style: &str| {
        let mut command = perfconv();
        command.arg(&recording.path).args([
            "-t",
            "perf-script",
            "--perf-style",
            style,
            "--symbols",
            "no",
            "--no-unwind",
        ]);
        let printed = run(command.args(["-q", "-o", "-"]));
        (printed.status == 0).then(|| parse(&String::from_utf8_lossy(&printed.stdout))).ok_or(printed.stderr)
    };
    let ours = match ["6.1", "6.12"].into_iter().map(ours).collect::<Result<Vec<_>, _>>() {
        Ok(ours) => ours,
        Err(error) => return Some(Verdict::Differs(error)),
    };
    let has_jit_code = JIT_RECORDINGS.contains(&&*recording.name);
    let other_stacks = if has_jit_code { Some("without stacks of JIT code") } else { other_stacks };
    let projections: &[(&'static str, Projection)] = match other_stacks {
        Some(reason) => &[(reason, without_stack)],
        None if is_big_endian(tag(recording)) => &[(golden.by, str::to_owned)],
        None => &[(golden.by, str::to_owned), ("either, user frames within their pages", to_the_page)],
    };
    let project =
        |samples: &[String], projection: Projection| samples.iter().map(|s| projection(s)).collect::<Vec<_>>();
    let verdicts = ours.into_iter().flat_map(|ours| {
        let (theirs, ours) = without_forgotten_names(&theirs, ours);
        let ours = without_single_frames(&theirs, ours);
        projections.iter().map(move |&(by, projection)| {
            compare_records(by, &project(&theirs, projection), &project(&ours, projection))
        })
    });
    let mut verdicts: Vec<Verdict> = verdicts.collect();
    let best = verdicts.iter().position(|verdict| matches!(verdict, Verdict::Same { .. }));
    Some(verdicts.swap_remove(best.unwrap_or(0)))
}

/// Why perf prints other samples than those that the recording has in time order, if it does.
fn prints_differently(meta: &Meta) -> Option<&'static str> {
    let attrs: Vec<&Attr> = meta.events.list().iter().map(|event| &event.attr).collect();
    let timed = attrs.iter().filter(|attr| attr.sample_type.contains(SampleType::TIME)).count();
    if attrs.iter().any(|attr| !attr.flags.contains(AttrFlags::SAMPLE_ID_ALL)) {
        Some("perf does not sort records if some have no time")
    } else if timed != 0 && timed != attrs.len() {
        Some("perf prints no times if some events have none")
    } else {
        None
    }
}

/// Why perf prints other stacks than those in the samples, if it does.
fn prints_other_stacks(meta: &Meta) -> Option<&'static str> {
    /// The register that perf records on arm64 to find the caller of a leaf function.
    const ARM64_LINK_REGISTER: u64 = 1 << 30;
    let has = |attr: &Attr, field| attr.sample_type.contains(field);
    if meta.string(FeatureId::ARCH).is_some_and(|arch| arch.starts_with("ppc")) {
        return Some("without stacks, from which perf omits possibly stale entries on PowerPC");
    }
    meta.events.list().iter().find_map(|event| match &event.attr {
        attr if has(attr, SampleType::STACK_USER) => Some("without stacks, whose user frames perf unwinds"),
        attr if has(attr, SampleType::CALLCHAIN) && attr.sample_regs_user == ARM64_LINK_REGISTER => {
            Some("without stacks, to which perf adds the caller in the link register")
        }
        _ => None,
    })
}

/// Omits the names of threads whose names newer versions of perf forget when they exit, which they print as `:TID`.
fn without_forgotten_names(theirs: &[String], ours: Vec<String>) -> (Vec<String>, Vec<String>) {
    let thread = |sample: &str| {
        let words: Vec<_> = sample.split(' ').collect();
        // A name may have blanks; the thread follows, before the CPU or the time.
        let index = words.iter().position(|word| word.starts_with('[') || word.ends_with(':')).unwrap_or(0);
        Some((words[..index.checked_sub(1)?].join(" "), words[index - 1].to_owned(), words[index - 1..].join(" ")))
    };
    let forgotten: BTreeSet<_> = theirs
        .iter()
        .filter_map(|sample| thread(sample).filter(|(name, tid, _)| *name == format!(":{tid}")).map(|(_, tid, _)| tid))
        .collect();
    let without = |samples: Vec<String>| {
        let sample = |sample: String| match thread(&sample) {
            Some((_, tid, rest)) if forgotten.contains(&tid) => rest,
            _ => sample,
        };
        samples.into_iter().map(sample).collect()
    };
    (without(theirs.to_vec()), without(ours))
}

/// Omits the instruction pointer of samples whose call chain is empty, for which perf prints no frame.
fn without_single_frames(theirs: &[String], ours: Vec<String>) -> Vec<String> {
    let without_frames: HashSet<_> =
        theirs.iter().filter(|sample| sample.ends_with(':')).map(|sample| &**sample).collect();
    let omit = |sample: String| match sample.rsplit_once(' ') {
        Some((head, _)) if without_frames.contains(head) => head.to_owned(),
        _ => sample,
    };
    ours.into_iter().map(omit).collect()
}

/// Selects the part of a sample to compare.
type Projection = fn(&str) -> String;

/// A recording in which a thread ends before the deferred user frames of a sample.
const LATE_SAMPLE: &str = "own/guest-sid-amd64/defer-tp.data";

/// Recordings for which perf prints some JIT frames twice, or as offsets in a file that does not start at a page.
const JIT_RECORDINGS: &[&str] = &["own/p61/jit-java-inj.data", "own/p72/jit-java.data", "own/p72/jit-java-inj.data"];

/// Parses samples to `COMM TID [CPU] TIME: PERIOD EVENT: IP...`, without names of functions and files.
fn parse(text: &str) -> Vec<String> {
    let mut samples: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        match (line.strip_prefix('\t'), samples.last_mut()) {
            (Some(frame), Some(sample)) => {
                // perf prints inlined functions as separate frames.
                if !frame.ends_with("(inlined)") {
                    sample.push(' ');
                    sample.push_str(frame.split_whitespace().next().expect("a frame should have an address"));
                }
            }
            _ => samples.extend(sample(line)),
        }
    }
    samples
}

/// Parses the first line of a sample: words up to the event's name, which ends with a colon and a blank, and an address.
fn sample(line: &str) -> Option<String> {
    let (head, rest) = match line.split_once(": ") {
        // The first colon follows the time, if there is a time.
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

/// Whether a word is a time such as `16.162177`.
fn is_time(word: &str) -> bool {
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    word.split_once('.').is_some_and(|(seconds, micros)| is_number(seconds) && micros.len() == 6 && is_number(micros))
}

/// Reduces user frames to offsets in their pages: if perf does not find a file, it may print file offsets instead of addresses.
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

/// The index of the first frame, after the event's name.
fn stack(sample: &str) -> usize {
    if sample.ends_with(':') { sample.len() } else { sample.rfind(": ").map_or(0, |colon| colon + 1) }
}
