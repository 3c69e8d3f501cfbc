//! Readers find as many samples as each scenario expects.

use crate::common::program::for_each;
use crate::common::scenarios::{Outcome, name, scenarios};
use std::collections::BTreeMap;

#[test]
fn readers_find_the_samples_that_scenarios_expect() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let outcomes = for_each(&scenarios(), |path| {
        let (output, images) = (dir.path().join(format!("{}.data", name(path))), dir.path().join(name(path)));
        let (mut outcome, scenario) = Outcome::read_scenario(path, &output, &images);
        outcome.libraries(&scenario.expect, &output);
        outcome
    });
    let mut readers = BTreeMap::<&str, u64>::new();
    for outcome in &outcomes {
        outcome.readers.iter().for_each(|reader| *readers.entry(reader).or_default() += 1);
    }
    note!("scenarios by readers: {readers:?}");
    let failures: Vec<_> = outcomes.into_iter().flat_map(|outcome| outcome.failures).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(readers["linux-perf-data"] >= 40 && readers["check"] >= 40, "{readers:?}");
}
