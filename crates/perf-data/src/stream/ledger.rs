//! The ledger of a conversion: what happened to each input record.

use crate::abi::record::RecordType;
use crate::container::walk::Damage;
use crate::stream::is_used_by_stream;
use crate::stream::losses::ReportedLosses;
use crate::stream::traces::Traces;
use std::collections::BTreeMap;
use std::fmt;

/// Why a record was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// There are several events, and none has the record's ID.
    UnknownEvent,
    /// The fields do not fit the size of the record.
    Damaged,
    /// A compressed frame could not be decompressed.
    Undecodable,
    /// A deferred user call chain that is not merged into its sample.
    Deferred,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownEvent => "of unknown event",
            Self::Damaged => "damaged",
            Self::Undecodable => "undecodable",
            Self::Deferred => "deferred",
        })
    }
}

/// Counts of one record type. `read` plus `added` equals the sum of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Records read.
    pub read: u64,
    /// Records created by a pass.
    pub added: u64,
    /// Records that contributed to the output directly.
    pub emitted: u64,
    /// Records used to interpret others.
    pub consumed: u64,
    /// Records that do not apply to the output format.
    pub not_applicable: u64,
    /// Records removed on request, by name of the pass.
    pub removed: BTreeMap<String, u64>,
    /// Records that should have contributed but could not, by reason.
    pub dropped: BTreeMap<Reason, u64>,
}

impl Entry {
    /// Total of dropped records.
    pub fn dropped(&self) -> u64 {
        self.dropped.values().sum()
    }

    /// Total of records removed by passes.
    pub fn removed(&self) -> u64 {
        self.removed.values().sum()
    }

    /// Records that the output must still account for: neither dropped, removed nor consumed.
    pub fn unaccounted(&self) -> u64 {
        (self.read + self.added).saturating_sub(self.dropped() + self.removed() + self.consumed)
    }
}

/// Maximum number of damage messages stored; further ones are only counted: a damaged file can have one for every few bytes.
const MAX_MESSAGES: usize = 100;

/// The ledger of one conversion.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    entries: BTreeMap<RecordType, Entry>,
    /// Records lost by the kernel (LOST).
    pub lost_records: u64,
    /// Samples lost by the kernel or the hardware (LOST_SAMPLES).
    pub lost_samples: u64,
    damage: Vec<Damage>,
    damaged: u64,
    unread: u64,
    /// Samples of which only the first fields were used, because the layout of the others is unknown.
    used_in_part: u64,
    /// Hardware traces, and how much of them is missing from the output.
    pub traces: Traces,
    notes: Vec<String>,
    changes: Vec<String>,
    missing: Vec<String>,
    /// Set if the input is a profile whose samples are aggregates.
    aggregated: Option<Aggregated>,
}

/// Description of input samples that aggregate many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregated {
    /// Noun for the input samples, singular.
    pub noun: &'static str,
    /// Sums over all of them, as text.
    pub totals: String,
}

impl Ledger {
    fn entry(&mut self, kind: RecordType) -> &mut Entry {
        self.entries.entry(kind).or_default()
    }

    /// Counts records read.
    pub fn read(&mut self, kind: RecordType, count: u64) {
        self.entry(kind).read += count;
    }

    /// Counts records created by a pass.
    pub fn added(&mut self, kind: RecordType, count: u64) {
        self.entry(kind).added += count;
    }

    /// Counts records removed by a pass on request.
    pub fn removed(&mut self, kind: RecordType, by: &str, count: u64) {
        *self.entry(kind).removed.entry(by.to_owned()).or_default() += count;
    }

    /// Counts records in the output.
    pub fn emitted(&mut self, kind: RecordType, count: u64) {
        self.entry(kind).emitted += count;
    }

    /// Counts records used to interpret others.
    pub fn consumed(&mut self, kind: RecordType, count: u64) {
        self.entry(kind).consumed += count;
    }

    /// Counts records that do not apply to the output format.
    pub fn not_applicable(&mut self, kind: RecordType, count: u64) {
        self.entry(kind).not_applicable += count;
    }

    /// Counts a dropped record.
    pub fn dropped(&mut self, kind: RecordType, reason: Reason) {
        *self.entry(kind).dropped.entry(reason).or_default() += 1;
    }

    /// Counts samples of which only the first fields are used, because the layout of the others is unknown.
    #[inline]
    pub fn used_in_part(&mut self, count: u64) {
        self.used_in_part += count;
    }

    /// Adds the counts and messages of another ledger.
    pub fn merge(&mut self, other: Self) {
        for (kind, entry) in other.entries {
            let own = self.entry(kind);
            own.read += entry.read;
            own.added += entry.added;
            own.emitted += entry.emitted;
            own.consumed += entry.consumed;
            own.not_applicable += entry.not_applicable;
            for (pass, count) in entry.removed {
                *own.removed.entry(pass).or_default() += count;
            }
            for (reason, count) in entry.dropped {
                *own.dropped.entry(reason).or_default() += count;
            }
        }
        self.lost(ReportedLosses { records: other.lost_records, samples: other.lost_samples });
        self.damaged += other.damaged;
        self.unread = self.unread.saturating_add(other.unread);
        self.damage.extend(other.damage);
        self.damage.truncate(MAX_MESSAGES);
        self.used_in_part += other.used_in_part;
        self.traces.merge(&other.traces);
        self.notes.extend(other.notes);
        self.changes.extend(other.changes);
        self.aggregated = self.aggregated.take().or(other.aggregated);
        self.missing.extend(other.missing);
    }

    /// Counts records and samples lost by the kernel.
    pub fn lost(&mut self, losses: ReportedLosses) {
        self.lost_records = self.lost_records.saturating_add(losses.records);
        self.lost_samples = self.lost_samples.saturating_add(losses.samples);
    }

    /// Counts the records that the stream itself uses as consumed.
    pub fn account_for_stream(&mut self) {
        for (_, entry) in self.entries.iter_mut().filter(|&(&kind, _)| is_used_by_stream(kind)) {
            entry.consumed = 0;
            entry.consumed = entry.unaccounted();
        }
    }

    /// Sets the description of aggregated input samples.
    pub fn aggregated(&mut self, aggregated: Aggregated) {
        self.aggregated = Some(aggregated);
    }

    /// The description of aggregated input samples.
    pub fn aggregate(&self) -> Option<&Aggregated> {
        self.aggregated.as_ref()
    }

    /// Adds a problem of the input.
    pub fn damage(&mut self, damage: Damage) {
        self.damaged += 1;
        self.unread = self.unread.saturating_add(damage.unread);
        if self.damage.len() < MAX_MESSAGES {
            self.damage.push(damage);
        }
    }

    /// Adds a message about what a pass changed as requested.
    pub fn change(&mut self, change: String) {
        self.changes.push(change);
    }

    /// Adds a warning about the result.
    pub fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Adds a note about input data missing from the output without a dropped record.
    pub fn missing(&mut self, note: String) {
        self.missing.push(note);
    }

    /// Prefixes each change and note with the name of the input, unless it begins with it.
    pub fn name_notes(&mut self, input: &str) {
        for note in self
            .changes
            .iter_mut()
            .chain(&mut self.notes)
            .chain(&mut self.missing)
            .filter(|note| !note.starts_with(input))
        {
            note.insert_str(0, &format!("{input}: "));
        }
    }

    /// Problems of the input, up to the maximum stored.
    pub fn messages(&self) -> &[Damage] {
        &self.damage
    }

    /// Number of problems beyond the maximum stored.
    pub fn further_messages(&self) -> u64 {
        self.damaged - self.damage.len() as u64
    }

    /// Number of bytes of the input that could not be read.
    pub fn unread_bytes(&self) -> u64 {
        self.unread
    }

    /// Number of samples of which only the first fields were used, because the layout of the others is unknown.
    pub fn samples_used_in_part(&self) -> u64 {
        self.used_in_part
    }

    /// Number of bytes of hardware traces that are missing from the output, because they are not decoded.
    pub fn undecoded_trace_bytes(&self) -> u64 {
        self.traces.undecoded()
    }

    /// Messages about what passes changed as requested.
    pub fn changes(&self) -> &[String] {
        &self.changes
    }

    /// Warnings about the result.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Notes about input data missing from the output without a dropped record.
    pub fn missing_notes(&self) -> Vec<String> {
        self.missing.iter().cloned().chain(self.traces.messages()).collect()
    }

    /// All warnings, as text: problems of the input, remarks on the result, and what is missing from it.
    pub fn warnings(&self) -> Vec<String> {
        let damage = self.messages().iter().map(ToString::to_string);
        let further = (self.further_messages() > 0).then(|| format!("{} more corrupt places", self.further_messages()));
        damage.chain(further).chain(self.notes.iter().cloned()).chain(self.missing_notes()).collect()
    }

    /// Counts by record type.
    pub fn entries(&self) -> &BTreeMap<RecordType, Entry> {
        &self.entries
    }

    /// Counts of one record type.
    pub fn counts(&self, kind: RecordType) -> Entry {
        self.entries.get(&kind).cloned().unwrap_or_default()
    }

    /// Whether the output is incomplete: records were dropped, parts of records are not supported by the output format, or parts
    /// of the input could not be read.
    pub fn is_incomplete(&self) -> bool {
        !self.missing.is_empty()
            || self.damaged > 0
            || self.used_in_part > 0
            || self.traces.are_incomplete()
            || self.entries.values().any(|entry| entry.dropped() > 0)
    }

    /// Dropped records other than samples, by reason.
    fn dropped_others(&self) -> BTreeMap<Reason, u64> {
        let mut reasons = BTreeMap::new();
        for (_, entry) in self.entries.iter().filter(|&(&kind, _)| kind != RecordType::SAMPLE) {
            for (&reason, count) in &entry.dropped {
                *reasons.entry(reason).or_default() += count;
            }
        }
        reasons
    }
}

/// One line: samples in, out and dropped by reason, unreadable bytes, samples removed by passes, other dropped records, and
/// losses reported by the kernel.
impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let samples = self.counts(RecordType::SAMPLE);
        let (noun, totals) = match &self.aggregated {
            Some(Aggregated { noun, totals }) => (*noun, format!(" ({totals})")),
            None => ("sample", String::new()),
        };
        let read = counted(samples.read, noun);
        write!(f, "{read} in{totals}, {} out, {} dropped", samples.emitted, samples.dropped())?;
        write_reasons(f, &samples.dropped)?;
        if self.unread > 0 {
            write!(f, ", {} unreadable", counted(self.unread, "byte"))?;
        }
        if self.used_in_part > 0 {
            write!(f, "; {} used in part", self.used_in_part)?;
        }
        if samples.removed() > 0 {
            let by = samples.removed.iter().map(|(pass, count)| format!("{count} by {pass}"));
            write!(f, "; {} removed ({})", counted(samples.removed(), noun), by.collect::<Vec<_>>().join(", "))?;
        }
        let others = self.dropped_others();
        if !others.is_empty() {
            let count: u64 = others.values().sum();
            write!(f, "; {} dropped", counted(count, "other record"))?;
            write_reasons(f, &others)?;
        }
        if self.lost_records.max(self.lost_samples) > 0 {
            let [records, samples] =
                [(self.lost_records, "record"), (self.lost_samples, "sample")].map(|(n, noun)| counted(n, noun));
            write!(f, "; lost by the kernel: {records}, {samples}")?;
        }
        Ok(())
    }
}

/// A count with its noun, which is given in the singular.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn write_reasons(f: &mut fmt::Formatter<'_>, reasons: &BTreeMap<Reason, u64>) -> fmt::Result {
    for (index, (reason, count)) in reasons.iter().enumerate() {
        write!(f, "{}{count} {reason}", if index == 0 { " (" } else { ", " })?;
    }
    if reasons.is_empty() { Ok(()) } else { f.write_str(")") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::walk::DamageKind;

    #[test]
    fn formats_the_summary_line() {
        let mut ledger = Ledger::default();
        ledger.read(RecordType::SAMPLE, 10);
        ledger.emitted(RecordType::SAMPLE, 10);
        assert_eq!(ledger.to_string(), "10 samples in, 10 out, 0 dropped");
        assert!(!ledger.is_incomplete());
        ledger.read(RecordType::SAMPLE, 3);
        ledger.dropped(RecordType::SAMPLE, Reason::UnknownEvent);
        ledger.dropped(RecordType::SAMPLE, Reason::Damaged);
        ledger.dropped(RecordType::SAMPLE, Reason::UnknownEvent);
        ledger.dropped(RecordType::COMPRESSED, Reason::Undecodable);
        ledger.read(RecordType::SAMPLE, 5);
        ledger.removed(RecordType::SAMPLE, "--pid", 4);
        ledger.removed(RecordType::SAMPLE, "--cpu", 1);
        ledger.lost_samples = 7;
        assert_eq!(
            ledger.to_string(),
            "18 samples in, 10 out, 3 dropped (2 of unknown event, 1 damaged); 5 samples removed (1 by --cpu, 4 by --pid); \
             1 other record dropped (1 undecodable); \
             lost by the kernel: 0 records, 7 samples"
        );
        assert!(ledger.is_incomplete());
    }

    #[test]
    fn aggregates_are_not_called_samples() {
        let mut ledger = Ledger::default();
        ledger.read(RecordType::SAMPLE, 2);
        ledger.emitted(RecordType::SAMPLE, 2);
        ledger.aggregated(Aggregated { noun: "stack", totals: "100 samples".to_owned() });
        assert_eq!(ledger.to_string(), "2 stacks in (100 samples), 2 out, 0 dropped");
    }

    #[test]
    fn messages_are_bounded() {
        let mut ledger = Ledger::default();
        for offset in 0..1000 {
            ledger.damage(Damage::new(DamageKind::CorruptRecord, "x", offset, "broken").with_unread(8));
        }
        assert_eq!((ledger.messages().len(), ledger.further_messages()), (MAX_MESSAGES, 900));
        let mut both = ledger.clone();
        both.merge(ledger);
        assert_eq!((both.messages().len(), both.further_messages()), (MAX_MESSAGES, 1900));
        assert_eq!(both.to_string(), "0 samples in, 0 out, 0 dropped, 16000 bytes unreadable");
    }

    #[test]
    fn each_loss_makes_the_output_incomplete() {
        let losses: [fn(&mut Ledger); 4] = [
            |ledger| ledger.missing("a table".to_owned()),
            |ledger| ledger.damage(Damage::new(DamageKind::CorruptRecord, "x", 0, "broken")),
            |ledger| ledger.used_in_part(1),
            |ledger| ledger.dropped(RecordType::COMM, Reason::Damaged),
        ];
        for (index, lose) in losses.into_iter().enumerate() {
            let mut ledger = Ledger::default();
            lose(&mut ledger);
            assert!(ledger.is_incomplete(), "loss {index}");
        }
        let mut complete = Ledger::default();
        complete.removed(RecordType::SAMPLE, "--pid", 4);
        assert!(!complete.is_incomplete());
    }
}
