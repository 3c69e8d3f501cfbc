//! The account of a conversion: nothing that went in is lost without a word.

use crate::abi::record::RecordType;
use crate::container::walk::Damage;
use crate::stream::is_used_by_stream;
use std::collections::BTreeMap;
use std::fmt;

/// Why something that should have contributed did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// There are several events, and the record's id is of none of them.
    UnknownEvent,
    /// The record's fields do not fit its size.
    Damaged,
    /// A frame could not be decompressed.
    Undecodable,
    /// User frames that arrived apart from their sample are not put together with it.
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

/// What became of the records of one type. `read` and `added` are the sum of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Records that were read.
    pub read: u64,
    /// Records that a pass made.
    pub added: u64,
    /// Contributed to the output by themselves.
    pub emitted: u64,
    /// Used to understand others.
    pub consumed: u64,
    /// Of no use to this kind of output.
    pub not_applicable: u64,
    /// Not wanted in the output, by the name of the pass that left them out.
    pub left_out: BTreeMap<String, u64>,
    /// Should have contributed and did not.
    pub dropped: BTreeMap<Reason, u64>,
}

impl Entry {
    /// All that were dropped, for whatever reason.
    pub fn dropped(&self) -> u64 {
        self.dropped.values().sum()
    }

    /// All that were left out, by whatever pass.
    pub fn left_out(&self) -> u64 {
        self.left_out.values().sum()
    }

    /// Those that the output has to account for: neither dropped nor left out nor used.
    pub fn unaccounted(&self) -> u64 {
        (self.read + self.added).saturating_sub(self.dropped() + self.left_out() + self.consumed)
    }
}

/// Most messages of damage that are kept; beyond it they are only counted.
const MESSAGES: usize = 100;

/// The account of one conversion.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    entries: BTreeMap<RecordType, Entry>,
    /// Records that the kernel could not write (LOST).
    pub lost_records: u64,
    /// Samples that the kernel or the hardware could not write (LOST_SAMPLES).
    pub lost_samples: u64,
    damage: Vec<Damage>,
    damaged: u64,
    unread: u64,
    notes: Vec<String>,
    missing: Vec<String>,
    /// What the samples are, where the input is a profile that does not count samples one by one.
    aggregated: Option<Aggregated>,
}

/// Samples of a profile, each of which has the sum of many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregated {
    /// What each of them is, in the plural.
    pub noun: &'static str,
    /// The sums over all of them, as text.
    pub totals: String,
}

impl Ledger {
    fn entry(&mut self, kind: RecordType) -> &mut Entry {
        self.entries.entry(kind).or_default()
    }

    /// Counts records that were read.
    pub fn read(&mut self, kind: RecordType, count: u64) {
        self.entry(kind).read += count;
    }

    /// Counts records that a pass made.
    pub fn added(&mut self, kind: RecordType, count: u64) {
        self.entry(kind).added += count;
    }

    /// Counts records that a pass left out, as it was asked to.
    pub fn left_out(&mut self, kind: RecordType, by: &str, count: u64) {
        *self.entry(kind).left_out.entry(by.to_owned()).or_default() += count;
    }

    /// Counts records that are in the output.
    pub fn emitted(&mut self, kind: RecordType, count: u64) {
        self.entry(kind).emitted += count;
    }

    /// Counts records that were used to understand others.
    pub fn consumed(&mut self, kind: RecordType, count: u64) {
        self.entry(kind).consumed += count;
    }

    /// Counts records that this kind of output has no use for.
    pub fn not_applicable(&mut self, kind: RecordType, count: u64) {
        self.entry(kind).not_applicable += count;
    }

    /// Counts a record that should have contributed and did not.
    pub fn dropped(&mut self, kind: RecordType, reason: Reason) {
        *self.entry(kind).dropped.entry(reason).or_default() += 1;
    }

    /// Adds what another part of the program has noted.
    pub fn merge(&mut self, other: Self) {
        for (kind, entry) in other.entries {
            let mine = self.entry(kind);
            mine.read += entry.read;
            mine.added += entry.added;
            mine.emitted += entry.emitted;
            mine.consumed += entry.consumed;
            mine.not_applicable += entry.not_applicable;
            for (pass, count) in entry.left_out {
                *mine.left_out.entry(pass).or_default() += count;
            }
            for (reason, count) in entry.dropped {
                *mine.dropped.entry(reason).or_default() += count;
            }
        }
        self.lost(other.lost_records, other.lost_samples);
        self.damaged += other.damaged;
        self.unread = self.unread.saturating_add(other.unread);
        self.damage.extend(other.damage);
        self.damage.truncate(MESSAGES);
        self.notes.extend(other.notes);
        self.aggregated = self.aggregated.take().or(other.aggregated);
        self.missing.extend(other.missing);
    }

    /// Counts what the kernel could not write.
    pub fn lost(&mut self, records: u64, samples: u64) {
        self.lost_records = self.lost_records.saturating_add(records);
        self.lost_samples = self.lost_samples.saturating_add(samples);
    }

    /// Counts as used what the stream itself used of the records that were read.
    pub fn account_for_stream(&mut self) {
        for (_, entry) in self.entries.iter_mut().filter(|&(&kind, _)| is_used_by_stream(kind)) {
            entry.consumed = 0;
            entry.consumed = entry.unaccounted();
        }
    }

    /// Notes what the samples are, where each has the sum of many.
    pub fn aggregated(&mut self, aggregated: Aggregated) {
        self.aggregated = Some(aggregated);
    }

    /// What the samples are, where each has the sum of many.
    pub fn aggregate(&self) -> Option<&Aggregated> {
        self.aggregated.as_ref()
    }

    /// Notes that something is wrong with the input.
    pub fn damage(&mut self, damage: Damage) {
        self.damaged += 1;
        self.unread = self.unread.saturating_add(damage.unread);
        if self.damage.len() < MESSAGES {
            self.damage.push(damage);
        }
    }

    /// Notes what the user should know of the result.
    pub fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Notes something of the input that is not in the output, though no record was dropped.
    pub fn missing(&mut self, note: String) {
        self.missing.push(note);
    }

    /// Puts the name of an input before each note that does not begin with it, so that notes on several inputs can be told apart.
    pub fn name_notes(&mut self, input: &str) {
        for note in self.notes.iter_mut().chain(&mut self.missing).filter(|note| !note.starts_with(input)) {
            note.insert_str(0, &format!("{input}: "));
        }
    }

    /// What is wrong with the input: the messages that were kept.
    pub fn messages(&self) -> &[Damage] {
        &self.damage
    }

    /// How many messages were not kept.
    pub fn further_messages(&self) -> u64 {
        self.damaged - self.damage.len() as u64
    }

    /// Bytes of the input that could not be read.
    pub fn unread_bytes(&self) -> u64 {
        self.unread
    }

    /// What the user should know of the result.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What of the input is not in the output, though no record was dropped.
    pub fn missing_notes(&self) -> &[String] {
        &self.missing
    }

    /// What became of each type of record.
    pub fn entries(&self) -> &BTreeMap<RecordType, Entry> {
        &self.entries
    }

    /// What became of the records of one type.
    pub fn of(&self, kind: RecordType) -> Entry {
        self.entries.get(&kind).cloned().unwrap_or_default()
    }

    /// Whether anything is missing from the output: records that were dropped, parts of records that this kind of output
    /// does not have yet, or parts of the input that could not be read.
    pub fn is_incomplete(&self) -> bool {
        !self.missing.is_empty() || self.damaged > 0 || self.entries.values().any(|entry| entry.dropped() > 0)
    }

    /// All dropped records other than samples, by reason.
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

/// One line: samples in, out and dropped, by reason, bytes that could not be read; samples that passes left out; other records
/// that were dropped; what the kernel lost.
impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let samples = self.of(RecordType::SAMPLE);
        let (noun, totals) = match &self.aggregated {
            Some(Aggregated { noun, totals }) => (*noun, format!(" ({totals})")),
            None => ("samples", String::new()),
        };
        write!(f, "{} {noun} in{totals}, {} out, {} dropped", samples.read, samples.emitted, samples.dropped())?;
        write_reasons(f, &samples.dropped)?;
        if self.unread > 0 {
            write!(f, ", {} bytes not readable", self.unread)?;
        }
        if samples.left_out() > 0 {
            let by = samples.left_out.iter().map(|(pass, count)| format!("{count} by {pass}"));
            write!(f, "; {} {noun} left out ({})", samples.left_out(), by.collect::<Vec<_>>().join(", "))?;
        }
        let others = self.dropped_others();
        if !others.is_empty() {
            let count: u64 = others.values().sum();
            write!(f, "; {count} other record{} dropped", if count == 1 { "" } else { "s" })?;
            write_reasons(f, &others)?;
        }
        if self.lost_records.max(self.lost_samples) > 0 {
            write!(f, "; lost by the kernel: {} records, {} samples", self.lost_records, self.lost_samples)?;
        }
        Ok(())
    }
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

    #[test]
    fn one_line_tells_it_all() {
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
        ledger.left_out(RecordType::SAMPLE, "--pid", 4);
        ledger.left_out(RecordType::SAMPLE, "--cpu", 1);
        ledger.lost_samples = 7;
        assert_eq!(
            ledger.to_string(),
            "18 samples in, 10 out, 3 dropped (2 of unknown event, 1 damaged); 5 samples left out (1 by --cpu, 4 by --pid); \
             1 other record dropped (1 undecodable); \
             lost by the kernel: 0 records, 7 samples"
        );
        assert!(ledger.is_incomplete());
    }

    #[test]
    fn values_that_are_sums_are_not_called_samples() {
        let mut ledger = Ledger::default();
        ledger.read(RecordType::SAMPLE, 2);
        ledger.emitted(RecordType::SAMPLE, 2);
        ledger.aggregated(Aggregated { noun: "stacks", totals: "100 samples".to_owned() });
        assert_eq!(ledger.to_string(), "2 stacks in (100 samples), 2 out, 0 dropped");
    }

    #[test]
    fn messages_are_bounded() {
        let mut ledger = Ledger::default();
        for offset in 0..1000 {
            ledger.damage(Damage::new("x", offset, "broken").with_unread(8));
        }
        assert_eq!((ledger.messages().len(), ledger.further_messages()), (MESSAGES, 900));
        let mut both = ledger.clone();
        both.merge(ledger);
        assert_eq!((both.messages().len(), both.further_messages()), (MESSAGES, 1900));
        assert_eq!(both.to_string(), "0 samples in, 0 out, 0 dropped, 16000 bytes not readable");
    }
}
