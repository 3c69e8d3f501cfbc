//! Fields that few samples have: memory accesses, branch stacks, cgroups, tracepoints and counter values.

use perf_data::abi::attr::AttrType;
use perf_data::abi::sample::branch::{BranchEntry, BranchFlags};
use perf_data::abi::sample::data_src::DataSrc;
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::sample::weight::Weight;
use perf_data::abi::sample_type::SampleType;
use perf_data::session::Session;
use perf_data::stream::events::{Event, EventIndex};
use perf_data::stream::raw::Raw;
use std::sync::Arc;

/// Fields that few samples have.
#[derive(Clone, Default)]
pub(super) struct Details {
    pub weight: Option<u64>,
    pub data_source: Option<DataSrc>,
    pub physical_address: Option<u64>,
    pub cgroup: Option<(u64, Option<Arc<str>>)>,
    pub branches: Vec<BranchEntry>,
    /// The tracepoint's number, and the bytes of its fields.
    pub tracepoint: Option<(u64, Box<[u8]>)>,
    /// The events that the sample counts for by its counter values, if it has any.
    pub counts: Option<Vec<(EventIndex, u64)>>,
}

impl Details {
    /// These fields of a sample; `None` if it has none of them.
    pub(super) fn new(view: &SampleView<'_>, event: &Event, raw: &Raw<'_>, session: &Session) -> Option<Box<Self>> {
        let is_tracepoint = event.attr.kind == AttrType::TRACEPOINT && view.raw.is_some();
        let is_other = view.weight.is_some() || view.data_src.is_some() || view.phys_addr.is_some();
        if !is_tracepoint && !is_other && view.cgroup.is_none() && view.branch_stack.is_none() {
            return None;
        }
        let path = |id| {
            let name = session.names.name(session.cgroup_path(id)?);
            Some(Arc::from(&*String::from_utf8_lossy(name)))
        };
        // Otherwise the word holds two latencies beside the weight.
        let is_one_word = !event.layout.sample_type().contains(SampleType::WEIGHT_STRUCT);
        Some(Box::new(Self {
            weight: view.weight.map(|word| if is_one_word { word } else { Weight(word).get(Weight::VAR1_DW) }),
            data_source: view.data_src.map(DataSrc),
            physical_address: view.phys_addr,
            cgroup: view.cgroup.map(|id| (id, path(id))),
            branches: branches(view, raw),
            tracepoint: view.raw.filter(|_| is_tracepoint).map(|payload| (event.attr.config, payload.into())),
            counts: None,
        }))
    }
}

/// The entries of the branch stack, newest first.
fn branches(view: &SampleView<'_>, raw: &Raw<'_>) -> Vec<BranchEntry> {
    let Some(stack) = view.branch_stack else { return Vec::new() };
    let words: Vec<u64> = stack.entries.iter().collect();
    let entry = |entry: &[u64]| BranchEntry {
        from: entry[0],
        to: entry[1],
        flags: BranchFlags::from_word(entry[2], raw.endian()),
    };
    words.chunks_exact(3).map(entry).collect()
}
