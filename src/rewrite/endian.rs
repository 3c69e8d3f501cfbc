//! Whether a recording can be written in another byte order: which bytes would stay as they are.

use super::pass::{Pass, PreScan};
use crate::abi::Endian;
use crate::abi::feature::{Feature, FeatureContext, FeatureId, FeatureSection};
use crate::abi::record::{Body, Record, RecordContext, RecordType};
use crate::abi::sample::Sample;
use crate::error::{Error, Result};
use crate::stream::Sink;
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use crate::stream::write::form::sample_words;
use std::collections::BTreeMap;

/// Looks whether a recording can be [written](crate::stream::write::form::Form::endian) in a byte order, and refuses where it
/// cannot. It changes nothing itself, and is to be the last pass.
///
/// Some bytes belong to the recorder, and nobody else knows what is in them: raw data, user stacks, AUX areas, BPF programs,
/// what is of a type that is not known. They stay as they are. A recording that has such is refused, unless it is allowed that
/// its byte orders are mixed. One that has a record which would not come back is refused in any case.
#[derive(Debug)]
pub struct EndianPass {
    to: Endian,
    allow_mixed: bool,
    /// How often there is what stays as it is.
    staying: BTreeMap<&'static str, u64>,
}

impl EndianPass {
    /// A look for that byte order.
    pub fn new(to: Endian, allow_mixed: bool) -> Self {
        Self { to, allow_mixed, staying: BTreeMap::new() }
    }

    /// What stays as it is, as far as has been looked; `None` where nothing does.
    pub fn staying(&self) -> Option<String> {
        (!self.staying.is_empty()).then(|| self.description())
    }

    fn description(&self) -> String {
        self.staying.iter().map(|(what, count)| format!("{what} ({count})")).collect::<Vec<_>>().join(", ")
    }

    fn stays(&mut self, what: &'static str) {
        *self.staying.entry(what).or_default() += 1;
    }

    fn check_sample(&mut self, sample: &Sample) {
        let is_there = |bytes: Option<usize>| bytes.is_some_and(|len| len > 0);
        for (what, len) in [
            ("raw data of samples", sample.raw.as_ref().map(|raw| raw.data.len())),
            ("user stacks", sample.stack_user.as_ref().map(|stack| stack.data.len())),
            ("AUX data of samples", sample.aux.as_ref().map(|aux| aux.data.len())),
        ] {
            if is_there(len) {
                self.stays(what);
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
        if !self.staying.is_empty() {
            ledger.note(format!("these are in the byte order of the recorder still: {}", self.description()));
        }
    }
}

impl Sink for EndianPass {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if meta.endian == self.to || matches!(raw.header().kind, RecordType::COMPRESSED | RecordType::COMPRESSED2) {
            return Ok(());
        }
        if sample_words(meta, raw).is_some() {
            return Ok(());
        }
        let context = meta.context(raw);
        let Some(record) = Record::read(raw.bytes(), &context) else { return Err(lossy(meta, raw)) };
        match &record.body {
            Body::Opaque(_) => self.stays("records that are not known or not as they should be"),
            Body::Sample(sample) => self.check_sample(sample),
            Body::Auxtrace(_) if raw.payload_len() > 0 => self.stays("AUX areas"),
            _ => {}
        }
        let there = record.to_bytes(self.to).ok();
        let context = RecordContext { endian: self.to, ..context };
        let back = there.and_then(|there| Record::read(&there, &context)?.to_bytes(meta.endian).ok());
        if back.as_deref() == Some(raw.bytes()) { Ok(()) } else { Err(lossy(meta, raw)) }
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        if meta.endian == self.to {
            return Ok(());
        }
        let context = FeatureContext::new(meta.features.get(&FeatureId::NRCPUS).map(AsRef::as_ref), meta.endian);
        for (&id, bytes) in &meta.features {
            match FeatureSection::read(id, bytes, meta.endian, &context).feature {
                Feature::Opaque(_) => self.stays("features that are not known or not as they should be"),
                Feature::BpfProgInfos(infos) if !infos.programs.is_empty() => self.stays("BPF programs"),
                Feature::BpfBtf(btf) if !btf.entries.is_empty() => self.stays("BTF"),
                _ => {}
            }
        }
        if self.staying.is_empty() || self.allow_mixed {
            return Ok(());
        }
        Err(Error::incompatible(format!(
            "--endian: only the recorder knows the byte order of what is in these: {}; --allow-mixed leaves them as they are",
            self.description()
        )))
    }
}

fn lossy(meta: &Meta, raw: &Raw<'_>) -> Error {
    let file = &meta.files[raw.block().source as usize];
    let what = format!("the {} record here would not come back from the other byte order", raw.header().kind);
    Error::input(file, raw.offset(), what)
}
