//! Formats that carry the records of a recording.

use super::options::OptionValues;
use super::retained_fields::RetainedFields;
use crate::error::Result;
use crate::profile::symbols::SymbolSource;
use crate::stream::Sink;
use crate::stream::ledger::Ledger;
use crate::stream::order::Order;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How records are carried.
#[derive(Clone, Debug, Default)]
pub struct CarryOptions {
    /// What was done with the records on their way.
    pub passes: Passed,
    /// Values of the format's own options.
    pub values: OptionValues,
    /// Unknown fields of the input, which a format that [keeps](super::Format::keeps) them writes.
    pub retained: RetainedFields,
    /// Functions of frames, where the input has them.
    pub symbols: Option<Arc<dyn SymbolSource>>,
    /// Where temporary files go that hold what is written later than it comes; the system's folder if not set.
    pub spool_dir: Option<PathBuf>,
}

/// What was done with the records on their way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Passed {
    /// Whether they are other than those of the recording.
    pub change_records: bool,
    /// Whether quipper's [`Remap`](crate::rewrite::quipper::Quipper::Remap) was among the passes.
    pub remap: bool,
    /// Whether what could not be judged is to stay behind: files beside the recording.
    pub anonymize: bool,
}

impl Passed {
    /// Whether any pass changed records.
    pub fn any(&self) -> bool {
        self.change_records
    }
}

/// An output that takes the records of a recording.
pub trait Carry: Sink {
    /// Tells, when all is written, what became of the records.
    fn account(&self, ledger: &mut Ledger);

    /// Whether what a folder holds beside the recording is carried too.
    fn carries_others(&self) -> bool {
        false
    }
}

/// An output that takes the records in the order of time.
impl<S: Carry> Carry for Order<S> {
    fn account(&self, ledger: &mut Ledger) {
        self.sink().account(ledger);
    }
}

/// Begins such an output.
pub type BeginCarry = for<'a> fn(&'a mut dyn Write, &CarryOptions) -> Box<dyn Carry + 'a>;

/// Begins such an output in a folder that is there and empty.
pub type BeginFolder = fn(&Path, &CarryOptions) -> Result<Box<dyn Carry>>;
