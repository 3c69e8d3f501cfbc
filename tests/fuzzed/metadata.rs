//! Metadata of plausible recordings: names of the machine and of the events, and tracepoint formats.

use perf_data::abi::attr::AttrType;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::feature::event_desc::{EventDesc, EventDescs};
use perf_data::abi::feature::string::{PerfStr, StrList};
use perf_data::abi::{Endian, to_bytes};
use perf_data::container::read::file::FileAttr;
use perfconv::synth::{Tracepoint, TracepointField, tracing_data};
use std::collections::BTreeMap;

/// Sections of features.
pub type Metadata = BTreeMap<FeatureId, Vec<u8>>;

/// Names of the tracepoints.
pub const TRACEPOINTS: [&str; 3] = ["sched_switch", "sched_stat_runtime", "sched_process_exit"];

/// Turns the events into tracepoints, and returns the features that describe them and the machine.
pub fn features(events: &mut [FileAttr], endian: Endian) -> Metadata {
    let mut tracepoints = Vec::new();
    for ((id, name), event) in (1..).zip(TRACEPOINTS).zip(&mut *events) {
        (event.attr.kind, event.attr.config) = (AttrType::TRACEPOINT, id);
        let field = |declaration: &str| TracepointField { declaration: declaration.to_owned(), size: 4, signed: true };
        let fields = vec![field("int pid"), field("int next_pid")];
        tracepoints.push((id, Tracepoint { fields, ..Tracepoint::new("sched", name) }));
    }
    let formats: Vec<_> = tracepoints.iter().map(|(id, tracepoint)| (*id, tracepoint)).collect();
    let descs = events.iter().zip(TRACEPOINTS).map(|(event, name)| EventDesc {
        attr: event.attr.clone(),
        name: PerfStr::new(format!("sched:{name}").as_bytes()),
        ids: event.ids.clone(),
    });
    let descs = EventDescs { attr_size: events[0].attr.size, events: descs.collect() };
    let words = StrList { strings: [&b"perf"[..], b"record"].map(PerfStr::new).into() };
    let written = "writing to memory should succeed";
    BTreeMap::from([
        (FeatureId::TRACING_DATA, to_bytes(&tracing_data(&formats, endian), endian).expect(written)),
        (FeatureId::HOSTNAME, to_bytes(&PerfStr::new(b"machine"), endian).expect(written)),
        (FeatureId::CMDLINE, to_bytes(&words, endian).expect(written)),
        (FeatureId::EVENT_DESC, to_bytes(&descs, endian).expect(written)),
    ])
}
