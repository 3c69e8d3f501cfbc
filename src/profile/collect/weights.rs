//! Determines the events and values of samples.

use hashbrown::HashMap;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::sample::view::SampleView;
use perf_data::stream::events::{Event, EventIndex, Events};

/// Determines the events and values of samples. Counter values (PERF_SAMPLE_READ) are cumulative, so the value of a sample is the
/// difference from the previous one.
#[derive(Debug, Default)]
pub(crate) struct Weights {
    /// The latest value of each counter, by event ID and, for inherited counters, thread.
    latest: HashMap<(u64, u32), u64>,
}

impl Weights {
    /// Appends the events of a sample with their values: with counter values, those that have increased; otherwise the
    /// sample's own event with its period.
    #[inline]
    pub(crate) fn append(
        &mut self,
        view: &SampleView<'_>,
        index: EventIndex,
        events: &Events,
        weights: &mut Vec<(EventIndex, u64)>,
    ) {
        if view.read.is_some() {
            self.append_counters(view, index, events, weights);
        } else if let Some(event) = events.list().get(index as usize) {
            weights.push((index, weight(view, event)));
        }
    }

    fn append_counters(
        &mut self,
        view: &SampleView<'_>,
        index: EventIndex,
        events: &Events,
        weights: &mut Vec<(EventIndex, u64)>,
    ) {
        let Some(read) = view.read else { return };
        let own_id = view.identifier.or(view.id);
        for counter in read.values() {
            let Some(id) = counter.id.or(own_id) else { continue };
            // A value without an ID belongs to the event of the sample.
            let Some(event) = events.by_id(id).or((counter.id.is_none()).then_some(index)) else { continue };
            let inherits = events.list()[event as usize].attr.flags.contains(AttrFlags::INHERIT);
            let thread = if inherits { view.task.map_or(0, |(_, tid)| tid) } else { 0 };
            let latest = self.latest.entry((id, thread)).or_default();
            // A counter that was reset has counted its current value.
            let added = counter.value.checked_sub(*latest).unwrap_or(counter.value);
            *latest = counter.value;
            if added > 0 {
                weights.push((event, added));
            }
        }
    }
}

/// The sample's period, or else that of the event.
fn weight(view: &SampleView<'_>, event: &Event) -> u64 {
    view.period.or_else(|| event.fixed_period()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_data::abi::Endian;
    use perf_data::abi::attr::Attr;
    use perf_data::abi::bytes::ByteReader;
    use perf_data::abi::read_format::{ReadFormat, ReadView};

    fn events(flags: AttrFlags) -> Events {
        let mut attr = Attr::read(&[0; 64], Endian::Little).unwrap();
        attr.flags = flags;
        let mut events = Events::default();
        events.add(attr.clone(), vec![71]);
        events.add(attr, vec![81]);
        events
    }

    fn group(leader: u64, member: u64, tid: u32) -> SampleView<'static> {
        let words: Vec<u8> = [2, leader, 71, member, 81].iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
        let bytes = Box::leak(words.into_boxed_slice());
        let read = ReadView::take(&mut ByteReader::new(bytes, Endian::Little), ReadFormat::GROUP | ReadFormat::ID);
        SampleView { read, period: Some(1000), task: Some((7, tid)), ..SampleView::default() }
    }

    #[test]
    fn values_of_group_members_are_differences() {
        let (events, mut weights) = (events(AttrFlags::empty()), Weights::default());
        let mut weigh = |view: SampleView<'_>| {
            let mut values = Vec::new();
            weights.append(&view, 0, &events, &mut values);
            values
        };
        assert_eq!(weigh(group(1000, 5, 1)), [(0, 1000), (1, 5)]);
        assert_eq!(weigh(group(2000, 5, 2)), [(0, 1000)], "the second did not increase");
        assert_eq!(weigh(group(30, 6, 2)), [(0, 30), (1, 1)], "the first was reset");
        assert_eq!(weigh(SampleView { period: Some(9), ..SampleView::default() }), [(0, 9)]);
        assert_eq!(weigh(SampleView::default()), [(0, 1)]);
    }

    #[test]
    fn inherited_counters_are_tracked_per_thread() {
        let (events, mut weights) = (events(AttrFlags::INHERIT), Weights::default());
        let mut values = Vec::new();
        [(100, 1), (40, 2), (130, 1)].iter().for_each(|&(value, tid)| {
            weights.append(&group(value, 0, tid), 0, &events, &mut values);
        });
        assert_eq!(values, [(0, 100), (0, 40), (0, 30)]);
    }
}
