//! Keeps records of certain types: `--type`.

use super::pass::follow_in_sample_time;
use crate::rewrite::framework::pass::{Pass, PreScan};
use crate::rewrite::framework::pass_options::{PassContext, PassOptions};
use crate::rewrite::framework::record_function::RecordFunction;
use crate::rewrite::header::Header;
use crate::suggest::unknown;
use perf_data::abi::record::RecordType;
use perf_data::abi::record::descriptor::RecordFlags;
use perf_data::abi::serde::readable;
use perf_data::error::{Error, Result};
use perf_data::stream::Sink;
use perf_data::stream::counts::Counts;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;

/// Keeps records of certain types, and those needed to decode them.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct RecordTypes {
    /// Keep only records of these types, by name or number, separated by commas, and those needed to decode them.
    #[cfg_attr(feature = "cli", arg(long = "type", id = "type", value_name = "TYPES", value_delimiter = ',', value_parser = record_type))]
    pub types: Vec<RecordType>,
}

impl RecordTypes {
    /// The filter of these.
    pub fn new(types: impl IntoIterator<Item = RecordType>) -> Self {
        Self { types: types.into_iter().collect() }
    }
}

impl PassOptions for RecordTypes {
    fn pass(&self, _: &PassContext) -> Box<dyn Pass> {
        Box::new(TypePass::new(self.types.clone()))
    }
}

/// Parses a record type: its name in any case, with or without `PERF_RECORD_`, or its number.
///
/// # Errors
/// Fails on an unknown name.
pub fn record_type(text: &str) -> std::result::Result<RecordType, String> {
    let name = text.to_uppercase();
    let name = name.strip_prefix("PERF_RECORD_").unwrap_or(&name);
    let named = RecordType::NAMED.iter().find(|(_, named)| *named == name).map(|(kind, _)| *kind);
    named.or_else(|| readable::number(text)?.try_into().ok().map(RecordType)).ok_or_else(|| {
        let names: Vec<_> = RecordType::NAMED.iter().map(|(_, name)| *name).collect();
        unknown("record type", text, &names)
    })
}

/// Keeps records of certain types, and those needed to decode them.
#[derive(Clone, Debug)]
pub struct TypePass {
    wanted: Vec<RecordType>,
    seen: Counts,
}

impl TypePass {
    /// Creates a filter of these types.
    pub fn new(wanted: Vec<RecordType>) -> Self {
        Self { wanted, seen: Counts::default() }
    }

    fn keeps(&self, kind: RecordType) -> bool {
        // A sample's user call chain may be in a separate record.
        let is_wanted_chain = kind == RecordType::CALLCHAIN_DEFERRED && self.wanted.contains(&RecordType::SAMPLE);
        self.wanted.contains(&kind) || is_needed(kind) || is_wanted_chain
    }
}

/// Whether other records cannot be decoded correctly without records of this type.
fn is_needed(kind: RecordType) -> bool {
    kind.is_frame() || kind.is_about_recording() || kind.has(RecordFlags::NEEDED)
}

impl Pass for TypePass {
    fn name(&self) -> String {
        "--type".to_owned()
    }

    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        self.seen = Counts::default();
        Some(PreScan::in_file_order(TypeScan { wanted: &self.wanted, seen: &mut self.seen }))
    }

    fn edits(&self) -> bool {
        true
    }

    fn edit(&mut self, header: &mut Header) -> Result<()> {
        if self.keeps(RecordType::SAMPLE) { Ok(()) } else { follow_in_sample_time(header, None) }
    }

    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        Box::new(RecordFunction::new(
            sink,
            |meta, raw, sink| {
                if self.keeps(raw.header().kind) { sink.record(meta, raw) } else { Ok(()) }
            },
        ))
    }
}

struct TypeScan<'a> {
    wanted: &'a [RecordType],
    seen: &'a mut Counts,
}

impl Sink for TypeScan<'_> {
    fn record(&mut self, _: &Meta, raw: &Raw<'_>) -> Result<()> {
        self.seen.add(raw.header().kind);
        Ok(())
    }

    fn end(&mut self, _: &Meta) -> Result<()> {
        match self.wanted.iter().find(|&&kind| self.seen.count(kind) == 0) {
            None => Ok(()),
            Some(missing) => {
                let seen: Vec<_> = self.seen.iter().map(|(kind, _)| kind.to_string()).collect();
                Err(Error::not_found(format!(
                    "--type: the recording has no {missing} records; its types are: {}",
                    seen.join(", ")
                )))
            }
        }
    }
}
