//! A column for tests, the example in docs/contributing.md.

use super::column::{CellSource, Column};
use crate::profile::labels::Label;

/// Whether the number of the CPU is odd.
pub(super) const EXAMPLE: Column = Column {
    labels: &[Label::Cpu],
    access_fields: &[],
    cell: CellSource::Sample(|row, tables| tables.labels.value(row.labels, Label::Cpu).map(|cpu| cpu & 1)),
    text: |value, _, _| if value == 1 { "odd" } else { "even" }.to_owned(),
};

#[test]
fn groups_samples_by_the_column() {
    use super::key::ReportKey;
    use super::location::Locations;
    use super::top::Top;
    use std::path::Path;

    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/fixtures/system-wide.data");
    let recording = crate::Recording::open(file).unwrap();
    let (profile, _) = recording.profile().labels([Label::Cpu]).collect().unwrap();
    let locations = Locations::new(&profile.tables);
    let groups = |key| -> Vec<_> {
        let entries = Top::new(&profile, &locations, None, &[key], false).entries;
        entries.iter().map(|entry| (entry.cells[0].to_string(), entry.usage.own.samples)).collect()
    };
    let count = |odd| {
        groups(ReportKey::Cpu)
            .iter()
            .filter(|(cpu, _)| (cpu.parse::<u32>().unwrap() & 1 == 1) == odd)
            .map(|(_, samples)| samples)
            .sum()
    };
    let mut expected: Vec<(String, u64)> = vec![("even".to_owned(), count(false)), ("odd".to_owned(), count(true))];
    let mut reported = groups(ReportKey::by_name("example").unwrap());
    reported.sort();
    expected.retain(|(_, samples)| *samples > 0);
    assert_eq!(reported, expected);
}
