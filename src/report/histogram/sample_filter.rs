//! Which samples have rows, with perf's criteria.

use super::code::{CodeSymbol, CodeTable};
use crate::profile::labels::Label;
use crate::profile::{Profile, Row};
use perf_data::session::names::NameId;

/// Criteria of samples, all of which a sample with a row meets. An empty list accepts all samples.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SampleFilter {
    /// Process IDs.
    pub pids: Vec<u32>,
    /// Thread IDs.
    pub tids: Vec<u32>,
    /// Thread names.
    pub comms: Vec<String>,
    /// Files of the instruction pointer, by path or name.
    pub dsos: Vec<String>,
    /// Symbols of the instruction pointer.
    pub symbols: Vec<String>,
}

impl SampleFilter {
    /// Whether the samples of a row have rows in the report.
    pub(super) fn accepts(&self, row: &Row, profile: &Profile, code: &CodeTable) -> bool {
        let Self { pids, tids, comms, dsos, symbols } = self;
        let tables = &*profile.tables;
        let label = |label| tables.labels.value(row.labels, label);
        let has_number = |list: &[u32], key| {
            list.is_empty() || label(key).is_some_and(|value| list.iter().any(|&id| u64::from(id) == value))
        };
        let has_comm = || {
            let comm = label(Label::ThreadName).map(|comm| tables.names.name(NameId(comm as u32)));
            comms.is_empty() || comm.is_some_and(|comm| comms.iter().any(|wanted| wanted.as_bytes() == comm))
        };
        if !(has_number(pids, Label::Pid) && has_number(tids, Label::Tid) && has_comm()) {
            return false;
        }
        let Some(&leaf) = tables.stacks.stack(row.stack).first() else { return false };
        let own = code.get(code.own(leaf));
        let has_dso = || {
            let name = own.dso.map(|dso| code.name(dso));
            let mapping = tables.stacks.frames()[leaf as usize].mapping();
            let path = mapping.map(|mapping| tables.mappings[mapping as usize].printed_file());
            let is_wanted =
                |wanted: &String| name.as_deref() == Some(&**wanted) || path.as_deref() == Some(wanted.as_bytes());
            dsos.is_empty() || dsos.iter().any(is_wanted)
        };
        let has_symbol = || match own.symbol {
            _ if symbols.is_empty() => true,
            CodeSymbol::Function { name, .. } => symbols.iter().any(|wanted| *wanted == code.name(name)),
            CodeSymbol::Address(_) => false,
        };
        has_dso() && has_symbol()
    }
}
