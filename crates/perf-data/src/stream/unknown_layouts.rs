//! Counts of records that are decoded in part only, because of [unknown bits](crate::abi::sample::unknown_layout).

use crate::abi::read_format::ReadFormat;
use crate::abi::record::RecordType;
use crate::abi::sample::unknown_layout::UnknownBits;
use crate::stream::events::Events;
use crate::stream::ledger::counted;
use crate::stream::raw::Raw;
use std::collections::BTreeMap;

/// Maximum of kinds that are counted each: every sample may have another ABI.
const MAX_KINDS: usize = 8;

/// The counts of one stream.
#[derive(Debug, Default)]
pub(crate) struct UnknownLayouts {
    samples: BTreeMap<UnknownBits, u64>,
    /// Samples beyond the maximum of kinds.
    other_samples: u64,
    /// READ records with unknown bits of `read_format`.
    reads: u64,
    /// Records whose trailer has another size than its known fields.
    trailers: u64,
}

impl UnknownLayouts {
    /// Adds a record of a recording whose events [may have](Events::may_be_partial) unknown layouts.
    pub(crate) fn add(&mut self, events: &Events, raw: &Raw<'_>) {
        let Some((_, event)) = events.find(raw) else { return };
        if raw.header().kind == RecordType::SAMPLE {
            if let Some(unknown) = event.layout.unknown_bits_of(raw.body(), raw.endian()) {
                let has_room = self.samples.len() < MAX_KINDS;
                match self.samples.get_mut(&unknown) {
                    Some(count) => *count += 1,
                    None if has_room => _ = self.samples.insert(unknown, 1),
                    None => self.other_samples += 1,
                }
            }
            return;
        }
        let has_unknown_values = !ReadFormat::KNOWN.contains(event.layout.read_format());
        self.reads += u64::from(raw.header().kind == RecordType::READ && has_unknown_values);
        self.trailers += u64::from(event.lacks_trailer(raw));
    }

    /// A warning for each kind of unknown layout.
    pub(crate) fn warnings(self) -> Vec<String> {
        let samples = self.samples.iter().map(|(unknown, &count)| {
            let (samples, field) = (counted(count, "sample"), unknown.from.name());
            format!(
                "{samples} of unknown layout ({unknown}): the fields from {field} on are bytes, which only lossless formats \
                 keep; a newer version of perfconv may decode them"
            )
        });
        let others = (self.other_samples > 0)
            .then(|| format!("{} of unknown layout for other reasons", counted(self.other_samples, "sample")));
        let trailers = (self.trailers > 0).then(|| {
            let records = counted(self.trailers, "record");
            format!(
                "{records} whose sample_id has an unknown layout, because of unknown bits of sample_type: its time, task and \
                 event are not used"
            )
        });
        let reads = (self.reads > 0).then(|| {
            let records = counted(self.reads, "READ record");
            format!("{records} of unknown layout, because of unknown bits of read_format: they are kept as bytes")
        });
        samples.chain(others).chain(trailers).chain(reads).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::sample::field::SampleField;
    use crate::abi::sample::unknown_layout::LayoutWord;

    #[test]
    fn a_warning_counts_records_and_names_bits() {
        let unknown = UnknownBits { word: LayoutWord::SampleType, bits: 1 << 31, from: SampleField::StackUser };
        let layouts = UnknownLayouts { samples: [(unknown, 2)].into(), trailers: 1, ..UnknownLayouts::default() };
        let warnings = layouts.warnings();
        let starts =
            ["2 samples of unknown layout (bit 31 of sample_type): the fields from stack_user on", "1 record whose"];
        assert_eq!(warnings.len(), 2);
        assert!(warnings.iter().zip(starts).all(|(warning, start)| warning.starts_with(start)), "{warnings:?}");
        assert_eq!(UnknownLayouts::default().warnings(), [""; 0]);
    }
}
