//! Writes all tables in one pass.

use super::Csv;
use super::accesses::Accesses;
use super::counters::Counters;
use super::overview::Overview;
use super::processes::Processes;
use super::results::Results;
use super::stacks::StackTable;
use crate::formats::framework::converter::{ConvertOptions, Converter};
use crate::inspect::info::stats::Counter;
use crate::profile::collect::weights::Weights;
use crate::profile::symbolize::SymbolSources;
use crate::profile::symbolize::unsymbolized::Unsymbolized;
use crate::profile::unwind::unwinding::Unwinding;
use csv::Writer;
use perf_data::abi::record::RecordType;
use perf_data::abi::sample::view::SampleView;
use perf_data::container::read::ReadOptions;
use perf_data::error::{Error, Result};
use perf_data::session::{Applied, Session};
use perf_data::stream::events::EventIndex;
use perf_data::stream::ledger::{Ledger, Reason};
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::{Sink, is_used_by_stream};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The files in the directory; counts and accesses only if there are any, and stacks only if requested.
const FILES: [&str; 7] =
    ["stat.csv", "overview.csv", "processes.csv", "results.csv", "counters.csv", "stacks.csv", "accesses.csv"];

/// Begins the tables in an existing empty directory.
///
/// # Errors
/// If a file cannot be created.
pub(super) fn begin(format: &Csv, directory: &Path, options: &ConvertOptions) -> Result<Box<dyn Converter>> {
    let read = ReadOptions::default().with_spool_dir(options.spool_dir.clone());
    let symbols = &options.symbols;
    let stacks = format.stacks.then(|| StackTable::new(options));
    // Only tables with callers need those in stack dumps.
    let unwinding = if stacks.is_some() { symbols } else { &SymbolSources::default() };
    let tables = CsvTables {
        directory: directory.to_owned(),
        counter: Counter::default(),
        overview: Overview::new(create(directory, FILES[1])?)?,
        counters: Counters::default(),
        accesses: Accesses::default(),
        processes: Processes::default(),
        results: Results::default(),
        session: Session::default(),
        weights: Weights::default(),
        event_weights: Vec::new(),
        ledger: Ledger::default(),
        symbols: symbols.clone(),
        stacks,
        unnamed: None,
    };
    Ok(Box::new(Unwinding::in_time_order(unwinding, tables, read)))
}

/// Whether a directory contains nothing but tables.
pub(super) fn is_alike(directory: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(directory) else { return false };
    entries.all(|entry| entry.is_ok_and(|entry| FILES.iter().any(|name| entry.file_name() == *name)))
}

fn create(directory: &Path, name: &str) -> Result<Writer<File>> {
    let path = directory.join(name);
    let file = File::create_new(&path).map_err(Error::io(path.display().to_string(), "cannot create"))?;
    Ok(csv::WriterBuilder::new().buffer_capacity(1 << 17).from_writer(file))
}

/// Converts an error of the CSV writer.
pub(super) fn failed(error: csv::Error) -> Error {
    Error::Output(io::Error::from(error))
}

/// Fills the tables from records in time order.
struct CsvTables {
    directory: PathBuf,
    counter: Counter,
    overview: Overview,
    counters: Counters,
    accesses: Accesses,
    processes: Processes,
    results: Results,
    session: Session,
    weights: Weights,
    /// Scratch buffer: the events that the current sample counts for.
    event_weights: Vec<(EventIndex, u64)>,
    ledger: Ledger,
    symbols: SymbolSources,
    stacks: Option<StackTable>,
    /// Sampled addresses without functions, at the end.
    unnamed: Option<Unsymbolized>,
}

impl CsvTables {
    fn sample(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let kind = RecordType::SAMPLE;
        let Some((index, event)) = meta.events.find(raw) else {
            self.ledger.dropped(kind, Reason::UnknownEvent);
            return Ok(());
        };
        let mut view = SampleView::default();
        if let Err(field) = event.fill_sample(&mut view, raw) {
            self.drop(meta, raw, &format!("field {} does not fit its size", field.name()));
            return Ok(());
        }
        self.accesses.add(meta, index, &view, || create(&self.directory, FILES[6]))?;
        self.ledger.used_in_part(view.is_partial.into());
        self.ledger.traces.add(view.aux.map_or(0, |trace| trace.len() as u64));
        self.event_weights.clear();
        self.weights.append(&view, index, &meta.events, &mut self.event_weights);
        let pid = view.task.map(|(pid, _)| pid);
        if let Some(pid) = pid {
            self.event_weights.iter().for_each(|&(_, period)| self.processes.sample(pid, period));
        }
        let (space, ip) = (event.cpu_mode(&view, raw).into(), view.ip.unwrap_or(0));
        let map = self.session.map_at(pid.unwrap_or(u32::MAX), space, ip);
        for &(event, period) in &self.event_weights {
            self.results.add(event, map, ip, period);
        }
        self.ledger.emitted(kind, 1);
        Ok(())
    }

    fn drop(&mut self, meta: &Meta, raw: &Raw<'_>, why: &str) {
        let problem = format!("{} record skipped: {why}", raw.header().kind);
        self.ledger.damage(meta.damage(raw.block(), raw.at(), problem));
        self.ledger.dropped(raw.header().kind, Reason::Damaged);
    }
}

impl Sink for CsvTables {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        self.counter.record(meta, raw)?;
        self.overview.add(meta, raw)?;
        self.counters.add(meta, raw, || create(&self.directory, FILES[4]))?;
        if let Some(stacks) = &mut self.stacks {
            stacks.add(meta, raw)?;
        }
        self.ledger.traces.record(meta, raw);
        match raw.header().kind {
            RecordType::SAMPLE => self.sample(meta, raw)?,
            // The stream accounts for these.
            kind if is_used_by_stream(kind) => {}
            kind => match self.session.apply(meta, raw) {
                Applied::Consumed | Applied::NotApplicable => {
                    self.processes.apply(meta, raw);
                    self.ledger.emitted(kind, 1);
                }
                Applied::Damaged => self.drop(meta, raw, "its fields do not fit its size"),
            },
        }
        Ok(())
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.overview.finish()?;
        self.counters.finish(meta)?;
        self.accesses.finish()?;
        let mut stat = create(&self.directory, FILES[0])?;
        stat.write_record(["type", "records", "bytes"]).map_err(failed)?;
        for (kind, count) in std::mem::take(&mut self.counter).stats(meta).records {
            stat.serialize((kind.to_string(), count.records, count.bytes)).map_err(failed)?;
        }
        stat.flush().map_err(Error::Output)?;
        self.processes.write(create(&self.directory, FILES[2])?)?;
        self.unnamed = self.results.write(create(&self.directory, FILES[3])?, meta, &self.session, &self.symbols)?;
        match self.stacks.take() {
            Some(stacks) => stacks.write(create(&self.directory, FILES[5])?, meta, &mut self.ledger),
            None => Ok(()),
        }
    }
}

impl Converter for CsvTables {
    fn account(&self, ledger: &mut Ledger) {
        ledger.account_for_stream();
        ledger.merge(self.ledger.clone());
    }

    fn unnamed(&self) -> Option<Unsymbolized> {
        self.unnamed.clone()
    }
}
