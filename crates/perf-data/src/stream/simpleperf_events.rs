//! Names of events in recordings of simpleperf (Android), from the feature META_INFO.

use crate::abi::attr::AttrType;
use crate::abi::feature::FeatureId;

/// The feature META_INFO: keys and values, each a text with a NUL.
pub const META_INFO: FeatureId = FeatureId(129);

/// The key with the events: lines `NAME,TYPE,CONFIG`.
const EVENTS: &[u8] = b"event_type_info";

/// The key that states whether threads were also sampled when they stopped running (`--trace-offcpu`): `true`.
const TRACES_OFF_CPU: &[u8] = b"trace_offcpu";

/// Whether each thread has a sample of `sched:sched_switch` when it stops running (`simpleperf record --trace-offcpu`).
pub fn traces_off_cpu(meta_info: &[u8]) -> bool {
    value(meta_info, TRACES_OFF_CPU) == Some(b"true")
}

/// The value of a key.
pub(crate) fn value<'a>(meta_info: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    let mut texts = meta_info.split(|&byte| byte == 0);
    let mut pairs = std::iter::from_fn(move || Some((texts.next()?, texts.next()?)));
    pairs.find(|(key, _)| *key == wanted).map(|(_, value)| value)
}

/// The type, the configuration and the name of each event.
pub fn names(meta_info: &[u8]) -> impl Iterator<Item = (AttrType, u64, &str)> {
    let events = value(meta_info, EVENTS).unwrap_or_default();
    str::from_utf8(events).unwrap_or_default().lines().filter_map(|line| {
        let (rest, config) = line.rsplit_once(',')?;
        let (name, kind) = rest.rsplit_once(',')?;
        Some((AttrType(kind.parse().ok()?), config.parse().ok()?, name)).filter(|_| !name.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_names() {
        let events = b"clockid\0perf\0event_type_info\0cpu-cycles,0,0\nsched:sched_switch,2,47\nx\n,1,2\na,b,c\0trace_offcpu\0true\0end\0";
        assert!(traces_off_cpu(events) && !traces_off_cpu(b"trace_offcpu\0false\0"));
        let event_names: Vec<_> = names(events).collect();
        let expected = [(AttrType::HARDWARE, 0, "cpu-cycles"), (AttrType::TRACEPOINT, 47, "sched:sched_switch")];
        assert_eq!(event_names, expected);
        for len in 0..events.len() {
            names(&events[..len]).for_each(drop);
        }
    }
}
