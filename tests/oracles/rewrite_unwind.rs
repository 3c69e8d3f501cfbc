//! Recordings whose stack dumps were replaced by call chains (`rewrite --unwind`), as perfconv, perf and other readers see them.

use super::consumers::READERS;
use super::stack_readers::{Key, LinuxPerfData, hotspot};
use super::unwind_perf::{Frames, frames};
use crate::common::files::{corpus, has_corpus};
use crate::common::program::{for_each, perfconv, run, run_other, try_run, with_time_limit};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A recording with stack dumps, and the files of its machine.
struct Input {
    name: String,
    path: PathBuf,
    symfs: PathBuf,
}

/// What a recording became.
struct Rewritten {
    samples: usize,
    frames: usize,
    /// Size before and after.
    bytes: [u64; 2],
    /// Samples found by other readers, and why some could not read the recording.
    readers: BTreeMap<&'static str, Result<u64, String>>,
    /// Stacks that perf prints with the same addresses; `None` without perf.
    perf: Option<usize>,
    /// Stacks of other readers that have the frames that perf prints.
    same_stacks: BTreeMap<&'static str, usize>,
}

#[test]
fn rewritten_recordings_have_the_same_stacks() {
    if !has_corpus("rewrite --unwind") {
        return;
    }
    let empty = tempfile::tempdir().unwrap();
    let symbols = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/symbols");
    let mut inputs: Vec<_> = fs::read_dir(symbols.join("rec"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), path))
        .filter(|(name, _)| name.starts_with("d-dw"))
        .map(|(name, path)| Input { name, path, symfs: symbols.join("symfs") })
        .collect();
    inputs.sort_by(|a, b| a.name.cmp(&b.name));
    let with_programs = inputs.len();
    // Recordings of other machines, containers and versions of perf, without their programs.
    let others = corpus().into_iter().filter(|recording| recording.name.ends_with("dwarf.data"));
    inputs.extend(others.map(|other| Input { name: other.name, path: other.path, symfs: empty.path().to_owned() }));
    let outcomes = for_each(&inputs, rewritten);
    let mut out = io::stderr().lock();
    let (mut failures, mut readers, mut of_perf) = (Vec::new(), BTreeMap::new(), 0);
    let mut of_readers: BTreeMap<_, [usize; 2]> = BTreeMap::new();
    for (number, (input, outcome)) in inputs.iter().zip(outcomes).enumerate() {
        let Rewritten { samples, frames, bytes: [before, after], readers: found, perf, same_stacks } = match outcome {
            Ok(rewritten) => rewritten,
            Err(what) => {
                failures.push(format!("{}: {what}", input.name));
                continue;
            }
        };
        let ratio = before as f64 / after as f64;
        writeln!(out, "{}: {samples} samples, {frames} frames, {before} to {after} bytes, 1/{ratio:.0}", input.name)
            .unwrap();
        if number < with_programs && !(20.0..=100.0).contains(&ratio) {
            failures.push(format!("{}: {before} to {after} bytes", input.name));
        }
        of_perf += perf.unwrap_or(0);
        for (name, stacks) in same_stacks {
            let [recordings, sum] = of_readers.entry(name).or_default();
            (*recordings, *sum) = (*recordings + 1, *sum + stacks);
        }
        for (name, found) in found {
            match found {
                Ok(count) if count == samples as u64 => *readers.entry(name).or_insert(0) += 1,
                found => failures.push(format!("{name} with {}: {found:?}, {samples} samples", input.name)),
            }
        }
    }
    writeln!(out, "{} recordings; perf prints the same {of_perf} stacks; read by {readers:?}", inputs.len()).unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    for (name, [recordings, stacks]) in &of_readers {
        writeln!(out, "{name} finds the {stacks} stacks of {recordings} recordings that perf prints").unwrap();
        assert!(*recordings >= 35 && *stacks > 3500, "{name}: compared too few");
    }
    assert!(of_perf == 0 || of_readers.contains_key("linux-perf-data"), "{of_readers:?}");
    assert!(inputs.len() >= 35 && with_programs > 20, "{} recordings", inputs.len());
    assert!(readers.get("linux-perf-data").is_some_and(|&count| count >= 30), "{readers:?}");
}

fn rewritten(input: &Input) -> Result<Rewritten, String> {
    let dir = tempfile::tempdir().unwrap();
    let (plain, output) = (dir.path().join("plain.data"), dir.path().join("unwound.data"));
    let convert = |input: &Path, output: &Path, args: &[&str]| {
        let mut command = perfconv();
        command.arg("rewrite").arg(input).args(["-q", "-o"]).arg(output).args(args).env("HOME", "/nonexistent");
        try_run(&mut command).map(drop)
    };
    let symfs = input.symfs.to_str().unwrap();
    let text = |path: &Path| -> Result<Vec<Frames>, String> {
        let mut command = perfconv();
        command.arg(path).args(["-t", "perf-script", "--no-inline", "-q", "--symfs", symfs]);
        let run = run(command.env("HOME", "/nonexistent"));
        if run.status == 0 { Ok(frames(&String::from_utf8_lossy(&run.stdout))) } else { Err(run.stderr) }
    };
    // The same form, so that sizes can be compared.
    let form = ["--decompress", "--container", "file", "--perf-version", "6.1"];
    convert(&input.path, &plain, &form)?;
    convert(&input.path, &output, &[&["--unwind", "--symfs", symfs], &form[..]].concat())?;
    let (before, after) = (text(&input.path)?, text(&output)?);
    compare(&before, &after)?;
    let checked = run(perfconv().arg("check").arg(&output));
    let checked = String::from_utf8_lossy(&checked.stdout).into_owned();
    if !checked.contains(" 0 errors") {
        return Err(checked);
    }
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    let mut readers = BTreeMap::new();
    // perfparser rejects architectures that it cannot unwind.
    let reads_hotspot = !input.name.contains("guest-");
    for (name, read) in READERS.iter().filter(|(name, _)| *name != "perf") {
        if reads_hotspot {
            readers.extend(read(&output).map(|found| (*name, found)));
        }
    }
    let mut perf = with_time_limit("perf");
    perf.args(["script", "--force", "--no-inline", "--ns", "-F", "tid,time,ip,dso", "--symfs", symfs, "-i"]);
    let run = run_other(perf.arg(&output).env("LC_ALL", "C"));
    let (mut perf, mut same_stacks) = (None, BTreeMap::new());
    if run.status == 0 {
        let text = String::from_utf8_lossy(&run.stdout);
        let printed = frames(&text);
        perf = Some(compare_addresses(&after, &printed)?);
        let keys = text.lines().filter_map(key);
        same_stacks = compare_readers(&output, reads_hotspot.then_some(&*input.symfs), keys.zip(printed).collect())?;
    } else if run.status != 127 {
        return Err(run.stderr);
    }
    let frames = after.iter().map(Vec::len).sum();
    Ok(Rewritten { samples: after.len(), frames, bytes: [size(&plain), size(&output)], readers, perf, same_stacks })
}

/// Callers of unwound stacks are printed with the last byte of their call, those of recorded ones with their return address.
fn compare(before: &[Frames], after: &[Frames]) -> Result<(), String> {
    let is_same = |(before, after): (&Frames, &Frames)| {
        let same = |(a, b): (&(u64, String), &(u64, String))| a.1 == b.1 && (a.0 == b.0 || a.0 + 1 == b.0);
        before.len() == after.len() && before.iter().zip(after).all(same)
    };
    match before.iter().zip(after).position(|pair| !is_same(pair)) {
        None if before.len() == after.len() && !before.is_empty() => Ok(()),
        None => Err(format!("{} samples became {}", before.len(), after.len())),
        Some(at) => Err(format!("sample {at}: {:x?} became {:x?}", before[at], after[at])),
    }
}

/// Compares the addresses that perf prints.
fn compare_addresses(ours: &[Frames], perf: &[Frames]) -> Result<usize, String> {
    let addresses = |frames: &Frames| frames.iter().map(|frame| frame.0).collect::<Vec<_>>();
    match ours.iter().zip(perf).position(|(ours, perf)| addresses(ours) != addresses(perf)) {
        None if ours.len() == perf.len() => Ok(ours.len()),
        None => Err(format!("perf prints {} of {} samples", perf.len(), ours.len())),
        Some(at) => Err(format!("sample {at}: {:x?}, perf prints {:x?}", ours[at], perf[at])),
    }
}

/// Thread and time in the first line of a sample of perf script: `7  12.000000345:`.
fn key(line: &str) -> Option<Key> {
    let (tid, time) = line.trim().strip_suffix(':')?.split_once(' ')?;
    let (seconds, nanoseconds) = time.trim().split_once('.')?;
    let number = |digits: &str| digits.parse::<u64>().ok();
    Some((tid.parse().ok()?, number(seconds)? * 1_000_000_000 + number(nanoseconds)?))
}

/// Compares the stacks that other readers find with those that perf prints; returns their numbers. hotspot needs files of the
/// machine; `None` omits it.
fn compare_readers(
    recording: &Path,
    hotspot_symfs: Option<&Path>,
    mut perf: Vec<(Key, Frames)>,
) -> Result<BTreeMap<&'static str, usize>, String> {
    let mut other = LinuxPerfData::read(recording).map_err(|error| error.to_string())?;
    perf.sort_by_key(|(key, _)| *key);
    other.chains.sort_by_key(|(key, _)| *key);
    let is_same = |((perf_key, printed), (key, chain)): (&(Key, Frames), &(Key, Vec<u64>))| {
        let are_same = chain.iter().zip(printed).all(|(&address, printed)| other.is_printed(address, printed));
        perf_key == key && chain.len() == printed.len() && are_same
    };
    if perf.len() != other.chains.len() {
        return Err(format!("linux-perf-data finds {} of {} samples", other.chains.len(), perf.len()));
    }
    if let Some((perf, other)) = perf.iter().zip(&other.chains).find(|&pair| !is_same(pair)) {
        return Err(format!("linux-perf-data finds {other:x?}, perf prints {perf:x?}"));
    }
    let mut same = BTreeMap::from([("linux-perf-data", perf.len())]);
    if let Some(stacks) = hotspot_symfs.and_then(|symfs| hotspot(recording, symfs)) {
        let mut stacks = stacks?;
        for (key, printed) in &perf {
            let addresses = &mut stacks.get_mut(key).ok_or(format!("hotspot lacks {key:?}"))?.addresses;
            // It repeats the leaf between frames of the kernel and the user.
            let last_of_kernel = addresses.iter().rposition(|&address| address >> 63 == 1).filter(|&at| at > 0);
            if last_of_kernel.is_some_and(|at| addresses.remove(at) != addresses[0]) {
                return Err(format!("hotspot finds {addresses:x?}, perf prints {printed:x?}"));
            }
            let are_same = addresses.iter().zip(printed).all(|(&address, printed)| other.is_printed(address, printed));
            if addresses.len() != printed.len() || !are_same {
                return Err(format!("hotspot finds {addresses:x?}, perf prints {printed:x?}"));
            }
        }
        same.insert("hotspot", perf.len());
    }
    Ok(same)
}
