//! Unwound stack dumps compared frame by frame with those of hotspot-perfparser.

use super::stack_readers::{HotspotStack, Key, hotspot};
use crate::common::program::{perfconv, succeed};
use perfconv::Recording;
use perfconv::recording::SymbolOptions;
use std::fs;
use std::path::{Path, PathBuf};

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
    let plain = dir.path().join("plain.data");
    let (mut totals, mut differing) = ([0; 4], Vec::new());
    for (path, symfs) in &recordings {
        let mut decompress = perfconv();
        decompress.arg("rewrite").arg(path).args(["-q", "-f", "--decompress", "--container", "file", "-o"]).arg(&plain);
        succeed(&mut decompress);
        let Some(theirs) = hotspot(&plain, symfs) else { return };
        let theirs = theirs.unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        // Equal; equal except for guessed or invalid frames; without callers of the leaf; others.
        let mut counts = [0; 4];
        for (key, ours) in ours(path, symfs) {
            let HotspotStack { addresses, guessed } =
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
        note!(
            "{name}: {equal} equal, {continued} continue by guess, {without_callers} lack callers of the leaf, {others} others"
        );
        totals.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
    }
    note!("{} recordings: {totals:?}", recordings.len());
    assert!(totals[0] * 100 >= totals.iter().sum::<usize>() * 95, "compared too few: {totals:?}");
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}
