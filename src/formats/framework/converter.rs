//! Formats that are written from the stream of records.

use super::retained_fields::RetainedFields;
use crate::profile::stack_cuts::Unmapped;
use crate::profile::symbolize::SymbolSources;
use crate::profile::symbolize::unsymbolized::Unsymbolized;
use crate::profile::unwind::unwinding::Unwinding;
use crate::rewrite::framework::disclosure::Disclosure;
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::order::Order;
use perf_data::stream::stage::Before;
use std::path::PathBuf;

/// Options for writing records to another format.
#[derive(Clone, Debug, Default)]
pub struct ConvertOptions {
    /// What passes changed.
    pub passes: AppliedPasses,
    /// Unknown fields of the input, written by formats that [keep](crate::formats::Format::keeps) them.
    pub retained: RetainedFields,
    /// Where to look up the symbols of frames.
    pub symbols: SymbolSources,
    /// How tables of stacks show addresses without a mapping.
    pub unmapped: Unmapped,
    /// Directory for temporary files; the system's if not set.
    pub spool_dir: Option<PathBuf>,
}

/// What passes changed.
#[derive(Clone, Copy, Debug, Default)]
pub struct AppliedPasses {
    /// Whether records may differ from those of the input.
    pub change_records: bool,
    /// Whether addresses were replaced, so that object files have no names for them.
    pub replace_addresses: bool,
    /// What the output may contain besides the records.
    pub disclosure: Disclosure,
}

impl AppliedPasses {
    /// Whether any pass changed records.
    pub fn any(&self) -> bool {
        self.change_records
    }
}

/// An output for the records of a recording.
pub trait Converter: Sink {
    /// Adds the counts of written records to a ledger, after the end of the stream.
    fn account(&self, ledger: &mut Ledger);

    /// The frames without function names, after the end of the stream, if names were looked up.
    fn unnamed(&self) -> Option<Unsymbolized> {
        None
    }

    /// The sink of a first pass over the records, if one is needed.
    fn pre_scan(&mut self) -> Option<Box<dyn Sink + '_>> {
        None
    }

    /// Whether other files in the recording's directory are written, too.
    fn converts_other_files(&self) -> bool {
        false
    }
}

/// An output that receives the records in time order.
impl<S: Converter> Converter for Order<S> {
    fn account(&self, ledger: &mut Ledger) {
        self.sink().account(ledger);
    }

    fn unnamed(&self) -> Option<Unsymbolized> {
        self.sink().unnamed()
    }
}

/// An output whose samples are unwound.
impl<S: Converter> Converter for Before<Unwinding, S> {
    fn account(&self, ledger: &mut Ledger) {
        self.sink.account(ledger);
        self.stage.note(ledger);
    }

    fn unnamed(&self) -> Option<Unsymbolized> {
        self.sink.unnamed()
    }
}
