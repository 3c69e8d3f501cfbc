//! A recording as the library decodes it.

use perf_data::abi::feature::{Feature, FeatureContext, FeatureId, FeatureSection};
use perf_data::abi::record::{Body, Record};
use perf_data::abi::sample::Sample;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::events::Event;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use perfconv::conversion;
use perfconv::inspect::check;
use perfconv::profile::Profile;
use perfconv::profile::options::ProfileOptions;
use std::path::Path;

/// A fully decoded recording.
pub(crate) struct Read {
    pub meta: Meta,
    pub records: Vec<Record>,
    /// The payload that follows each record.
    pub payloads: Vec<Vec<u8>>,
    pub profile: Profile,
}

#[derive(Default)]
struct Records(Vec<Record>, Vec<Vec<u8>>);

impl Sink for Records {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        self.0.extend(Record::read(raw.bytes(), &meta.context(raw)));
        self.1.push(raw.payload().to_vec());
        Ok(())
    }
}

fn open(path: &Path) -> Source {
    Source::open(Input::Path(path.to_owned()), ReadOptions::default()).expect("the recording should open")
}

impl Read {
    pub(crate) fn all(path: &Path) -> Self {
        let mut sink = Records::default();
        let (meta, _) = open(path).run(&mut sink).expect("reading should succeed");
        let (profile, _) =
            conversion::profile(open(path), &ProfileOptions::default()).expect("the recording should convert");
        let mut pprof = Vec::new();
        perfconv::formats::pprof::write(&profile, &mut pprof).expect("writing should succeed");
        assert!(!pprof.is_empty());
        Self { meta, records: sink.0, payloads: sink.1, profile }
    }

    pub(crate) fn events(&self) -> &[Event] {
        self.meta.events.list()
    }

    pub(crate) fn samples(&self) -> Vec<&Sample> {
        let samples =
            self.bodies().filter_map(|body| if let Body::Sample(sample) = body { Some(&**sample) } else { None });
        samples.collect()
    }

    pub(crate) fn bodies(&self) -> impl Iterator<Item = &Body> {
        self.records.iter().map(|record| &record.body)
    }

    pub(crate) fn feature(&self, id: FeatureId) -> Feature {
        let bytes = self.meta.features.get(&id).expect("the feature should be present");
        FeatureSection::read(id, bytes, self.meta.endian, &FeatureContext::default()).feature
    }
}

/// Returns the findings of a check.
pub(super) fn findings(path: &Path) -> Vec<String> {
    let mut findings = Vec::new();
    let mut on_finding = |finding: check::Finding| findings.push(finding.to_string());
    check::check(Input::Path(path.to_owned()), ReadOptions::default(), &mut on_finding)
        .expect("the recording should be checked");
    findings
}
