//! Records of all types in time order.

use super::records::passes_on;
use crate::container::read::ReadOptions;
use crate::container::read::input::Input;
use crate::error::Result;
use crate::stream::Sink;
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;
use crate::stream::order::Order;
use crate::stream::raw::Raw;
use crate::stream::source::Source;

/// Passes records on.
struct RecordFunction<F> {
    ledger: Ledger,
    use_record: F,
}

/// See [`Recording::for_each_record`](super::Recording::for_each_record).
pub(super) fn for_each(
    input: Input,
    read: ReadOptions,
    use_record: impl FnMut(&Meta, &Raw<'_>) -> Result<()>,
) -> Result<Ledger> {
    let records = RecordFunction { ledger: Ledger::default(), use_record };
    let mut ordered = Order::new(records, read.clone());
    let (_, mut ledger) = Source::open(input, read)?.run(&mut ordered)?;
    ledger.merge(ordered.into_inner().ledger);
    Ok(ledger)
}

impl<F: FnMut(&Meta, &Raw<'_>) -> Result<()>> Sink for RecordFunction<F> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if passes_on(meta, raw, &mut self.ledger) { (self.use_record)(meta, raw) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use crate::Recording;
    use crate::error::Error;

    fn recording() -> Recording {
        Recording::open("tests/recordings/callgraph.data").unwrap()
    }

    #[test]
    fn records_of_all_types_come_in_time_order() {
        let (mut times, mut positions) = (Vec::new(), Vec::new());
        let ledger = recording().for_each_record(|meta, raw| {
            times.extend(meta.events.time(raw));
            positions.push((raw.offset(), raw.header().kind));
            Ok(())
        });
        assert!(times.is_sorted() && times.len() > 377, "{} times", times.len());
        let mut records = recording().records().unwrap();
        let mut in_file_order = Vec::new();
        while let Some(record) = records.next().unwrap() {
            in_file_order.push((record.offset(), record.record_type()));
        }
        positions.sort_by_key(|(offset, _)| *offset);
        assert_eq!(positions, in_file_order);
        let ledger = ledger.unwrap();
        assert!(!ledger.is_incomplete(), "{ledger}");
        assert_eq!(ledger.entries(), records.ledger().unwrap().entries());
    }

    #[test]
    fn nothing_is_allocated_per_record() {
        let mut count = 0;
        let recording = recording();
        let used = allocation_counter::measure(|| {
            let ledger = recording.for_each_record(|_, _| {
                count += 1;
                Ok(())
            });
            drop(ledger);
        });
        assert!(count > 377 && used.count_total < count / 4, "{} allocations for {count} records", used.count_total);
    }

    #[test]
    fn an_error_ends_reading() {
        let mut count = 0;
        let result = recording().for_each_record(|_, _| {
            count += 1;
            if count < 5 { Ok(()) } else { Err(Error::invalid("enough")) }
        });
        assert!(result.unwrap_err().to_string().contains("enough"));
        assert_eq!(count, 5);
    }
}
