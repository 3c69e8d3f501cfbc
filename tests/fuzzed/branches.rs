//! Counts of branches, and sums of the profiles that are written from them.

use perfconv::Recording;
use perfconv::formats::framework::profile_sum::{ProfileSum, SummedFormat};

/// Any bytes as a recording whose branches are counted, and as a text profile, whose sum with itself has twice its counts.
pub fn branches(bytes: &[u8]) {
    if let Ok((counts, _)) = Recording::from_bytes("input", bytes).and_then(|recording| recording.branches()) {
        let taken: u64 = counts.traces.iter().map(|(_, sum)| sum.count).sum();
        let tally = counts.tally;
        assert!(taken + tally.outside + tally.wrong_path + tally.duplicates <= tally.entries);
        assert!(tally.impossible_ranges <= tally.ranges && tally.ranges <= tally.entries);
        assert!(counts.traces.iter().all(|(trace, _)| trace.from.object().or(trace.to.object()).is_some()));
    }
    for format in [SummedFormat::Bolt, SummedFormat::Profgen, SummedFormat::Autofdo, SummedFormat::Llvm] {
        let Some(once) = sum(format, bytes, 1) else { continue };
        assert_eq!(sum(format, &once, 1).as_ref(), Some(&once), "what is written is read");
        assert!(sum(format, &once, 2).is_some());
    }
}

/// The sum of a profile with itself, so many times; `None` if it cannot be read.
fn sum(format: SummedFormat, bytes: &[u8], times: usize) -> Option<Vec<u8>> {
    let mut sum = ProfileSum::new(format);
    for _ in 0..times {
        sum.add("input", &mut &*bytes).ok()?;
    }
    let mut out = Vec::new();
    sum.write(&mut out).expect("memory can be written");
    Some(out)
}
