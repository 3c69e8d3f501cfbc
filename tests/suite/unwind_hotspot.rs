//! Unwound stack dumps compared frame by frame with those of hotspot-perfparser.

use super::consumers::find_perfparser;
use super::program::{perfconv, run, run_other, with_time_limit};
use perfconv::Recording;
use perfconv::recording::SymbolOptions;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Thread and time of a sample.
type Key = (u32, u64);

/// A stack of hotspot-perfparser: addresses, leaf first, and how many of them it guessed, from other stacks.
struct Stack {
    addresses: Vec<u64>,
    guessed: usize,
}

/// Reads big-endian integers.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn number<const N: usize>(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }
}

/// The samples in the output of hotspot-perfparser: after 16 bytes, messages with their size (little-endian) and a type. A location
/// begins with its ID and address. A sample has the process, thread, time, CPU, locations, and the number of guessed frames.
fn stacks(output: &[u8]) -> Option<HashMap<Key, Stack>> {
    const LOCATION: u8 = 3;
    const SAMPLE: u8 = 13;
    let (mut locations, mut stacks) = (HashMap::new(), HashMap::new());
    let mut rest = output.strip_prefix(b"QPERFSTREAM\0")?.get(4..)?;
    while let Some((size, after)) = rest.split_first_chunk() {
        let (message, after) = after.split_at_checked(u32::from_le_bytes(*size) as usize)?;
        rest = after;
        let (&kind, body) = message.split_first()?;
        let mut fields = Fields(body);
        if kind == LOCATION {
            locations.insert(fields.number::<4>()?, fields.number::<8>()?);
        } else if kind == SAMPLE {
            let [_, tid] = [fields.number::<4>()?, fields.number::<4>()?];
            let time = fields.number::<8>()?;
            let [_, count] = [fields.number::<4>()?, fields.number::<4>()?];
            let addresses =
                (0..count).map(|_| locations.get(&fields.number::<4>()?).copied()).collect::<Option<Vec<_>>>()?;
            stacks.insert((tid as u32, time), Stack { addresses, guessed: fields.number::<1>()? as usize });
        }
    }
    Some(stacks)
}

/// The stacks of a recording by perfconv.
fn ours(path: &Path, symfs: &Path) -> Vec<(Key, Vec<u64>)> {
    let options = SymbolOptions::default().symfs(symfs).without_inlined();
    let mut samples = Recording::open(path).unwrap().with_symbols(options).samples().unwrap();
    let mut stacks = Vec::new();
    while let Some(sample) = samples.next().unwrap() {
        let key = (sample.tid().unwrap(), sample.time().unwrap());
        stacks.push((key, sample.frames().map(|frame| frame.address()).collect()));
    }
    stacks
}

/// An address of data in a Go program, which hotspot-perfparser takes for a frame behind a change of stacks.
const DATA: u64 = 0x53_42ff;

#[test]
fn stacks_equal_those_of_hotspot_except_for_guessed_frames() {
    let Some(perfparser) = find_perfparser() else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut recordings: Vec<(PathBuf, PathBuf)> =
        vec![(root.join("roundtrip/symbols/dwarf.data"), root.join("roundtrip/symbols/files"))];
    let corpus = root.join("../shared/symbols");
    if let Ok(entries) = fs::read_dir(corpus.join("rec")) {
        let paths = entries.map(|entry| entry.unwrap().path());
        let dumps = paths.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("d-dw"));
        recordings.extend(dumps.map(|path| (path, corpus.join("symfs"))));
    }
    recordings.sort();
    let dir = tempfile::tempdir().unwrap();
    let (plain, output) = (dir.path().join("plain.data"), dir.path().join("output"));
    let (mut totals, mut differing) = ([0; 4], Vec::new());
    for (path, symfs) in &recordings {
        let mut decompress = perfconv();
        decompress.arg("rewrite").arg(path).args(["-q", "-f", "--decompress", "--container", "file", "-o"]).arg(&plain);
        assert_eq!(run(&mut decompress).status, 0);
        let mut parser = with_time_limit(perfparser.to_str().unwrap());
        parser.arg("--input").arg(&plain).arg("--output").arg(&output).arg("--sysroot").arg(symfs);
        assert_eq!(run_other(&mut parser).status, 0, "{}", path.display());
        let theirs = stacks(&fs::read(&output).unwrap()).expect("the output of hotspot-perfparser");
        // Equal; equal except for guessed or invalid frames; without callers of the leaf; others.
        let mut counts = [0; 4];
        for (key, ours) in ours(path, symfs) {
            let Stack { addresses, guessed } =
                theirs.get(&key).unwrap_or_else(|| panic!("{}: {key:?}", path.display()));
            let is_same = |(ours, theirs): (&u64, &u64)| ours.abs_diff(*theirs) <= 1;
            let is_prefix = ours.iter().zip(addresses).all(is_same);
            let of_leaf = (1..4).any(|missing| {
                let rest = ours.get(1 + missing..).unwrap_or_default();
                rest.len() + 1 == addresses.len() && rest.iter().zip(&addresses[1..]).all(is_same)
            });
            match addresses.len().checked_sub(ours.len()) {
                Some(0) if is_prefix => counts[0] += 1,
                Some(1..) if is_prefix && (*guessed > 0 || addresses.last() == Some(&DATA)) => counts[1] += 1,
                _ if of_leaf => counts[2] += 1,
                _ => {
                    counts[3] += 1;
                    differing
                        .push(format!("{}: {ours:x?} instead of {addresses:x?}, {guessed} guessed", path.display()));
                }
            }
        }
        let [equal, continued, without_callers, others] = counts;
        let name = path.file_name().unwrap().display();
        println!(
            "{name}: {equal} equal, {continued} continue by guess, {without_callers} lack callers of the leaf, {others} others"
        );
        totals.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
    }
    println!("{} recordings: {totals:?}", recordings.len());
    assert!(totals[0] * 100 >= totals.iter().sum::<usize>() * 95, "compared too few: {totals:?}");
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}
