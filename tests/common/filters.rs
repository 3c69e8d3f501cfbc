//! Records before and after a filter.

use perf_data::abi::record::RecordType;
use perf_data::container::read::{ReadOptions, input::Input};
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use perfconv::inspect::check::{Severity, check};
use std::collections::BTreeSet;
use std::path::Path;

/// The rules that a recording breaks.
pub(crate) fn broken_rules(path: &Path) -> BTreeSet<String> {
    let mut rules = BTreeSet::new();
    let input = Input::Path(path.to_owned());
    let checked = check(input, ReadOptions::default(), &mut |finding| {
        if finding.rule.severity() != Severity::Note {
            rules.insert(format!("{:?}", finding.rule));
        }
    });
    if let Err(error) = checked {
        rules.insert(error.to_string());
    }
    rules
}

/// The types and bytes of all records.
pub(crate) type Records = Vec<(RecordType, Vec<u8>)>;

pub(crate) struct All(pub(crate) Records);

impl Sink for All {
    fn record(&mut self, _: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        if !matches!(raw.header().kind, RecordType::COMPRESSED | RecordType::COMPRESSED2) {
            self.0.push((raw.header().kind, [raw.bytes(), raw.payload()].concat()));
        }
        Ok(())
    }
}

pub(crate) fn records(path: &Path) -> Result<(Meta, Records), String> {
    let mut all = All(Vec::new());
    let source = Source::open(Input::Path(path.to_owned()), ReadOptions::default()).map_err(|e| e.to_string())?;
    let (meta, _) = source.run(&mut all).map_err(|e| e.to_string())?;
    Ok((meta, all.0))
}

pub(crate) fn of_type(records: &Records, wanted: RecordType) -> Vec<&[u8]> {
    records.iter().filter(|(kind, _)| *kind == wanted).map(|(_, bytes)| &bytes[..]).collect()
}
