//! Checks whether a recording can be written in another byte order, and which bytes would remain unconverted.

use crate::rewrite::framework::pass::{Pass, PreScan};
use perf_data::abi::Endian;
use perf_data::abi::feature::{Feature, FeatureSection};
use perf_data::abi::record::{Body, Record, RecordContext};
use perf_data::abi::sample::Sample;
use perf_data::abi::sample_type::SampleType;
use perf_data::error::{Error, Result};
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::write::form::sample_words;
use std::collections::BTreeMap;

/// Checks that a recording can be [written](perf_data::stream::write::form::Form::endian) in a byte order.
///
/// Changes nothing itself; must be the last pass. Bytes whose layout only the recorder knows (raw data, user stacks, AUX areas,
/// BPF programs, unknown records and features) are never converted. A recording that contains such bytes is rejected unless
/// mixed byte orders are allowed. A record that cannot be converted and back without loss is always rejected.
#[derive(Debug)]
pub struct EndianPass {
    to: Endian,
    allow_mixed: bool,
    /// Unconverted contents by description, with their number.
    unconverted: BTreeMap<&'static str, u64>,
}

impl EndianPass {
    /// Creates the check for a byte order.
    pub fn new(to: Endian, allow_mixed: bool) -> Self {
        Self { to, allow_mixed, unconverted: BTreeMap::new() }
    }

    /// Describes the unconverted contents found so far; `None` if there are none.
    pub fn unconverted(&self) -> Option<String> {
        (!self.unconverted.is_empty()).then(|| self.description())
    }

    fn description(&self) -> String {
        self.unconverted.iter().map(|(contents, count)| format!("{contents} ({count})")).collect::<Vec<_>>().join(", ")
    }

    fn add_unconverted(&mut self, contents: &'static str) {
        *self.unconverted.entry(contents).or_default() += 1;
    }

    fn check_sample(&mut self, sample: &Sample) {
        let is_present = |bytes: Option<usize>| bytes.is_some_and(|len| len > 0);
        for (contents, len) in [
            ("raw data of samples", sample.raw.as_ref().map(|raw| raw.data.len())),
            ("user stacks", sample.stack_user.as_ref().map(|stack| stack.data.len())),
            ("AUX data of samples", sample.aux.as_ref().map(|aux| aux.data.len())),
        ] {
            if is_present(len) {
                self.add_unconverted(contents);
            }
        }
    }
}

impl Pass for EndianPass {
    fn name(&self) -> String {
        "--endian".to_owned()
    }

    fn changes_records(&self) -> bool {
        false
    }

    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        Some(PreScan::in_file_order(self))
    }

    fn report(&self, ledger: &mut Ledger) {
        if !self.unconverted.is_empty() {
            ledger.note(format!("kept in the recorder's byte order: {}", self.description()));
        }
    }
}

impl Sink for EndianPass {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if meta.endian == self.to || raw.header().kind.is_frame() {
            return Ok(());
        }
        if sample_words(meta, raw).is_some() {
            return Ok(());
        }
        let context = meta.context(raw);
        let Some(record) = Record::read(raw.bytes(), &context) else { return Err(lossy(meta, raw)) };
        match &record.body {
            Body::Opaque(_) => self.add_unconverted("unknown or malformed records"),
            Body::Sample(sample) => self.check_sample(sample),
            Body::Auxtrace(_) if raw.payload_len() > 0 => self.add_unconverted("AUX areas"),
            _ => {}
        }
        let unknown = context.layout.sample_type() - SampleType::KNOWN;
        if !unknown.is_empty() && context.sample_id_all && raw.header().kind.has_sample_id() && record.id.is_none() {
            self.add_unconverted("records whose sample_id has an unknown layout");
        }
        let converted = record.to_bytes(self.to).ok();
        let context = RecordContext { endian: self.to, ..context };
        let back = converted.and_then(|converted| Record::read(&converted, &context)?.to_bytes(meta.endian).ok());
        if back.as_deref() == Some(raw.bytes()) { Ok(()) } else { Err(lossy(meta, raw)) }
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        if meta.endian == self.to {
            return Ok(());
        }
        let context = meta.feature_context();
        for (&id, bytes) in &meta.features {
            match FeatureSection::read(id, bytes, meta.endian, &context).feature {
                Feature::Opaque(_) => self.add_unconverted("unknown or malformed features"),
                Feature::BpfProgInfos(infos) if !infos.programs.is_empty() => self.add_unconverted("BPF programs"),
                Feature::BpfBtf(btf) if !btf.entries.is_empty() => self.add_unconverted("BTF"),
                _ => {}
            }
        }
        if self.unconverted.is_empty() || self.allow_mixed {
            return Ok(());
        }
        let problem = format!("--endian: the byte order of these contents is unknown: {}", self.description());
        Err(Error::incompatible(problem).remedy("allow_mixed", "to keep them unchanged"))
    }
}

fn lossy(meta: &Meta, raw: &Raw<'_>) -> Error {
    let file = &meta.files[raw.block().source as usize];
    let problem = format!("the {} record cannot be converted to the other byte order and back", raw.header().kind);
    Error::input(file, raw.offset(), problem)
}
