//! Checks a recording from start to end.

use super::finding::{Finding, Rule, Severity, Subject};
use super::flow::{AuxtraceRecords, CompressedFrame, Rounds};
use super::layout::Layout;
use super::trace_buffers::TraceBuffers;
use super::{attrs, features, records, references, tracepoints};
use perf_data::abi;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::feature::auxtrace::AuxtraceIndex;
use perf_data::abi::feature::compressed::Compression;
use perf_data::abi::feature::tracing_data::TracingData;
use perf_data::abi::header::FileHeader;
use perf_data::abi::record::{Body, RecordType};
use perf_data::container::block::Origin;
use perf_data::container::misframed;
use perf_data::container::read::input::Input;
use perf_data::container::read::{Container, ReadOptions};
use perf_data::error::{Place, Result};
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::{Gap, Raw};
use perf_data::stream::source::Source;
use std::collections::HashMap;

/// Counts of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Records that were read, records in compressed frames included.
    pub records: u64,
    /// Number of errors.
    pub errors: u64,
    /// Number of warnings.
    pub warnings: u64,
    /// Number of notes.
    pub notes: u64,
}

impl Checked {
    /// Whether there are no errors or warnings.
    pub fn is_valid(&self) -> bool {
        self.errors + self.warnings == 0
    }

    fn count(&mut self, severity: Severity) {
        *match severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
            Severity::Note => &mut self.notes,
        } += 1;
    }
}

/// Checks a recording, and calls `on_finding` for each finding.
///
/// # Errors
/// If there is no recording, or none of its records can be read.
pub fn check(input: Input, options: ReadOptions, on_finding: &mut dyn FnMut(Finding)) -> Result<Checked> {
    let source = Source::open(input, options)?;
    let mut checker = Checker::new(Findings { on_finding, checked: Checked::default() });
    checker.container(source.meta());
    let (meta, ledger) = source.run(&mut checker)?;
    checker.damage(&meta, &ledger);
    Ok(checker.findings.checked)
}

/// Counts findings and passes them on.
struct Findings<'a> {
    on_finding: &'a mut dyn FnMut(Finding),
    checked: Checked,
}

impl Findings<'_> {
    fn add(&mut self, file: &str, offset: impl Into<Option<u64>>, subject: Subject, rule: Rule, problem: String) {
        self.checked.count(rule.severity());
        (self.on_finding)(Finding { rule, place: Place::new(file, offset), subject, problem });
    }
}

struct Checker<'a> {
    findings: Findings<'a>,
    /// Offsets of the features in a file. A pipe has them in records.
    feature_offsets: HashMap<FeatureId, u64>,
    rounds: Rounds,
    frame: CompressedFrame,
    frames_announced: bool,
    mmap_len: u32,
    auxtrace: AuxtraceRecords,
    traces: TraceBuffers,
}

impl<'a> Checker<'a> {
    fn new(findings: Findings<'a>) -> Self {
        Self {
            findings,
            feature_offsets: HashMap::new(),
            rounds: Rounds::default(),
            frame: CompressedFrame::default(),
            frames_announced: false,
            mmap_len: 0,
            auxtrace: AuxtraceRecords::default(),
            traces: TraceBuffers::default(),
        }
    }

    /// Checks the sections of a file.
    fn container(&mut self, meta: &Meta) {
        let header = FileHeader::read_from(&meta.image.before, meta.endian);
        let (Ok(header), true) = (header, meta.container != Container::Pipe) else { return };
        let report =
            &mut |rule, at: u64, subject, problem| self.findings.add(&meta.files[0], at, subject, rule, problem);
        let layout = Layout::check(&meta.image, header, meta.endian, report);
        self.feature_offsets = layout.features.iter().map(|&(id, section)| (id, section.offset)).collect();
    }

    fn feature(&mut self, meta: &Meta, id: FeatureId, bytes: &[u8], file: &str, offset: Option<u64>) {
        let context = meta.feature_context();
        let report = |rule, problem| self.findings.add(file, offset, Subject::Feature(id), rule, problem);
        features::check(id, bytes, meta.endian, &context, &meta.perf_reader(meta.container), report);
    }

    /// Checks a record against the ones before it.
    fn flow(&mut self, meta: &Meta, raw: &Raw<'_>, report_at: (&str, Subject)) {
        let (file, subject) = report_at;
        let mut report = |rule, problem| self.findings.add(file, raw.offset(), subject, rule, problem);
        if let Some(late) = meta.events.time(raw).and_then(|time| self.rounds.record(time)) {
            report(
                Rule::RoundOrder,
                format!("its time is {late} ns before that of records that perf has already processed"),
            );
        }
        if raw.block().origin == Origin::Frame
            && let Some(bytes) = self.frame.record(raw.header().len(), self.mmap_len)
            && self.frames_announced
        {
            let problem = format!(
                "its compressed frame contains at least {bytes} bytes, but the feature COMPRESSED gives a maximum of {}",
                self.mmap_len
            );
            report(Rule::FrameTooLarge, problem);
        }
        match raw.header().kind {
            RecordType::FINISHED_ROUND => self.rounds.finish(),
            kind if kind.is_frame() => {
                self.frame = CompressedFrame::default();
                let announced = meta.features.get(&FeatureId::COMPRESSED);
                let announced = announced.and_then(|bytes| abi::parse::<Compression>(bytes, meta.endian, ()).ok());
                self.frames_announced = announced.is_some();
                self.mmap_len = announced.map_or(0, |(compression, _)| compression.mmap_len);
                if !self.frames_announced {
                    report(Rule::CompressionUnannounced, "the feature COMPRESSED is missing or comes later".into());
                }
            }
            RecordType::AUXTRACE if raw.block().source == 0 => {
                self.auxtrace.add(raw.offset(), raw.header().len() as u64);
            }
            _ => {}
        }
    }

    /// Adds the corruption that the reader detected.
    fn damage(&mut self, meta: &Meta, ledger: &Ledger) {
        for damage in ledger.messages() {
            self.findings.add(
                &damage.file,
                damage.offset,
                Subject::Container,
                damage.kind.into(),
                damage.problem.clone(),
            );
        }
        if let Some(last) = ledger.messages().last().filter(|_| ledger.further_messages() > 0) {
            let problem = format!("{} more corrupt places", ledger.further_messages());
            self.findings.add(&meta.files[0], None, Subject::Container, last.kind.into(), problem);
        }
    }
}

impl Sink for Checker<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let file = meta.files[raw.block().source as usize].as_str();
        let subject = Subject::Record { index: self.findings.checked.records, kind: raw.header().kind };
        self.findings.checked.records += 1;
        let mut report = |rule, problem| self.findings.add(file, raw.offset(), subject, rule, problem);
        let record = records::check(raw, &meta.events, &mut report);
        if let Some(record) = &record {
            references::check(&record.body, meta, &mut report);
        }
        if let Some(Body::HeaderAttr(event)) = record.as_ref().map(|record| &record.body) {
            attrs::check(&event.attr, &mut report);
        }
        if let Some((id, bytes)) = record.and_then(|record| records::feature(&record, raw)) {
            self.feature(meta, id, bytes, file, Some(raw.offset()));
        }
        self.flow(meta, raw, (file, subject));
        if matches!(raw.header().kind, RecordType::AUXTRACE_INFO | RecordType::AUX | RecordType::AUXTRACE) {
            self.traces.record(meta, raw, subject);
        }
        Ok(())
    }

    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>) -> Result<()> {
        let bytes = &gap.block.bytes[gap.at..gap.at + gap.len];
        if misframed::size(bytes, meta.endian).is_some() {
            let (file, at) = (&meta.files[gap.block.source as usize], gap.block.offset(gap.at));
            let problem = format!(
                "compressed frames of {} bytes written by perf 6.16 to 7.1 as one record, whose 16-bit size is wrong; perf \
                 cannot read them; 'perfconv rewrite --compress' writes frames that it can",
                gap.len
            );
            self.findings.add(file, at, Subject::Container, Rule::Misframed, problem);
        }
        Ok(())
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        let file = meta.files[0].as_str();
        if meta.container != Container::Pipe {
            for (&id, bytes) in &meta.features {
                if let Some(&offset) = self.feature_offsets.get(&id) {
                    self.feature(meta, id, bytes, file, Some(offset));
                }
            }
            // perf does not compare the events of a pipe or of `perf stat record` either.
            if !meta.features.contains_key(&FeatureId::STAT) {
                let report = |index, rule, problem| self.findings.add(file, None, Subject::Event(index), rule, problem);
                attrs::check_together(meta.events.list(), report);
            }
        }
        if let Some(bytes) = meta.features.get(&FeatureId::TRACING_DATA)
            && let Ok((data, _)) = abi::parse::<TracingData>(bytes, meta.endian, ())
        {
            let report = |index, rule, problem| self.findings.add(file, None, Subject::Event(index), rule, problem);
            tracepoints::check_events(&data, meta.events.list(), report);
        }
        if let Some(bytes) = meta.features.get(&FeatureId::AUXTRACE)
            && let Ok((index, _)) = abi::parse::<AuxtraceIndex>(bytes, meta.endian, ())
        {
            let subject = Subject::Feature(FeatureId::AUXTRACE);
            let report = |offset: u64, problem| self.findings.add(file, offset, subject, Rule::AuxtraceIndex, problem);
            std::mem::take(&mut self.auxtrace).compare(index.entries(), report);
        }
        let report = |rule, offset: u64, subject, problem| self.findings.add(file, offset, subject, rule, problem);
        std::mem::take(&mut self.traces).check(report);
        Ok(())
    }
}
