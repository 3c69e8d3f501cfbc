//! A dataset: a directory of tables, partitioned by recording.

use super::collect::{Batch, End, StackedSample, Tables, begin};
use super::column::{Columns, saturated};
use super::file::{ParquetFile, TableFile, Target};
use super::id::Id;
use super::record_table::RecordTable;
use super::recording;
use super::records::RecordTables;
use super::schema::{
    EventColumns, FrameColumns, MappingColumns, ObjectColumns, ProcessColumns, RecordColumns, SCHEMA_VERSION,
    SampleTable, StackColumns, StackOfSample, table,
};
use super::stacks::StackTables;
use super::tracepoints::TracepointTable;
use crate::formats::framework::converter::{ConvertOptions, Converter};
use crate::profile::event::{ProfileEvent, Unit};
use crate::rewrite::framework::disclosure::Disclosure;
use arrow_array::RecordBatch;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::RecordType;
use perf_data::container::access::Access;
use perf_data::error::{Error, Result};
use perf_data::session::Session;
use perf_data::stream::events::EventIndex;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::tracepoint::tracepoints::Tracepoints;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Name of the files: one in each partition.
pub(super) const FILE: &str = "part-0.parquet";

/// Rows that are converted to columns at once.
const ROWS: usize = 1 << 13;

/// Size of the rows of all tracepoints in memory at which they are written.
const TRACEPOINTS: usize = 64 << 20;

/// Begins a dataset with one recording in an existing empty directory.
///
/// # Errors
/// None: files are created when they are written.
pub(super) fn begin_dataset(
    has_records: bool,
    directory: &Path,
    options: &ConvertOptions,
) -> Result<Box<dyn Converter>> {
    let create = |name: &str, schema, unique: &[&str]| {
        ParquetFile::new(schema, Target::Path(directory.join(format!("{name}.parquet"))), unique)
    };
    let records_file =
        has_records.then(|| create(table::RECORDS, RecordColumns::schema(), &["time", "timestamp", "json"]));
    let dataset = Dataset {
        directory: directory.to_owned(),
        disclosure: options.passes.disclosure,
        samples: create(table::SAMPLES, SampleRows::schema(), &["time", "timestamp"]),
        stacks: create(table::STACKS, StackColumns::schema(), &["stack"]),
        frames: create(table::FRAMES, FrameColumns::schema(), &["frame"]),
        mappings: create(table::MAPPINGS, MappingColumns::schema(), &[]),
        stack_tables: None,
        records: RecordTables::default(),
        record_table: records_file.map(RecordTable::new),
        counts: Vec::new(),
        times: None,
        types: BTreeMap::new(),
        known_tracepoints: None,
        tracepoints: BTreeMap::new(),
    };
    Ok(begin(dataset, options))
}

/// Whether a directory is a dataset, or empty.
pub(super) fn is_dataset(directory: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(directory) else { return false };
    entries.all(|entry| {
        let name = entry.map(|entry| entry.file_name());
        name.is_ok_and(|name| {
            // Unfinished parts begin with a dot.
            table::ALL.iter().any(|table| name == *table) || name.as_encoded_bytes().starts_with(b".")
        })
    })
}

/// Moves the files of a dataset with one recording into another dataset, where they replace those of the same recording.
///
/// # Errors
/// Errors of the system.
pub(super) fn join(part: &Path, dataset: &Path) -> io::Result<()> {
    for table in table::ALL {
        // The tables of tracepoints are two levels deeper, by system and name.
        if table != table::TRACEPOINTS {
            join_table(&part.join(table), &dataset.join(table))?;
            continue;
        }
        for system in entries(&part.join(table))? {
            for name in entries(&part.join(table).join(&system))? {
                let relative = Path::new(table).join(&system).join(name);
                join_table(&part.join(&relative), &dataset.join(&relative))?;
            }
        }
    }
    Ok(())
}

fn join_table(part: &Path, dataset: &Path) -> io::Result<()> {
    for partition in entries(part)? {
        let to = dataset.join(&partition);
        // The part's directories have the permissions that those of the dataset need.
        Access::from_path(&part.join(&partition)).create_directories(&to)?;
        fs::rename(part.join(partition).join(FILE), to.join(FILE))?;
    }
    Ok(())
}

/// Names in a directory; none if it does not exist.
pub(super) fn entries(directory: &Path) -> io::Result<Vec<OsString>> {
    match fs::read_dir(directory) {
        Ok(entries) => entries.map(|entry| entry.map(|entry| entry.file_name())).collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The name of a recording's partition.
pub(super) fn partition(recording: Id) -> String {
    // Begins with a letter: an identifier of digits would be taken for a number.
    format!("recording=r{recording}")
}

/// The columns of samples.
type SampleRows = (StackOfSample, SampleTable);

/// Writes the tables of a recording.
struct Dataset {
    directory: PathBuf,
    disclosure: Disclosure,
    samples: ParquetFile<'static>,
    stacks: ParquetFile<'static>,
    frames: ParquetFile<'static>,
    mappings: ParquetFile<'static>,
    stack_tables: Option<StackTables>,
    records: RecordTables,
    /// The table of records with all of their fields, if wanted.
    record_table: Option<RecordTable>,
    /// Samples and their values, by event.
    counts: Vec<(u64, u64)>,
    /// Times of the first and the last sample.
    times: Option<(u64, u64)>,
    /// Number of records by type.
    types: BTreeMap<RecordType, u64>,
    /// Read at the first sample of a tracepoint.
    known_tracepoints: Option<Tracepoints>,
    /// Tables by system and name.
    tracepoints: BTreeMap<(String, String), (TracepointTable, ParquetFile<'static>)>,
}

impl Dataset {
    fn note(&mut self, (row, _): &StackedSample) {
        let event = row.event as usize;
        if self.counts.len() <= event {
            self.counts.resize(event + 1, (0, 0));
        }
        let (samples, value) = &mut self.counts[event];
        *samples += 1;
        *value = value.saturating_add(row.value);
        if let Some(time) = row.time {
            let (first, last) = self.times.unwrap_or((time, time));
            self.times = Some((first.min(time), last.max(time)));
        }
        if let Some((pid, tid)) = row.task {
            self.records.sample(pid, tid);
        }
    }

    /// The table of a tracepoint; `None` if its fields are unknown, or its name is not that of a table.
    fn tracepoint(&mut self, meta: &Meta, event: EventIndex) -> Option<&mut TracepointTable> {
        let read = || meta.features.get(&FeatureId::TRACING_DATA).map(|data| Tracepoints::read(data));
        let tracepoints = self.known_tracepoints.get_or_insert_with(|| read().unwrap_or_default());
        let tracepoint = tracepoints.get(meta.events.list().get(event as usize)?.attr.config)?;
        // System and name become parts of paths: a damaged recording must not lead out of the directory.
        let is_name = |name: &str| {
            let mut chars = name.chars();
            chars.all(|char| char.is_ascii_alphanumeric() || char == '_') && !name.is_empty() && name.len() < 128
        };
        if !is_name(&tracepoint.system) || !is_name(&tracepoint.name) {
            return None;
        }
        let key = (tracepoint.system.clone(), tracepoint.name.clone());
        if !self.tracepoints.contains_key(&key) {
            let table = TracepointTable::new(tracepoint.clone());
            let path = self.directory.join(format!("{}.{}.parquet", key.0, key.1));
            let file = ParquetFile::new(table.schema(), Target::Path(path), &["sample_time", "sample_timestamp"]);
            self.tracepoints.insert(key.clone(), (table, file));
        }
        self.tracepoints.get_mut(&key).map(|(table, _)| table)
    }

    /// Writes the rows of tracepoints, to files if they are large.
    fn write_tracepoints(&mut self) -> Result<()> {
        let mut size = 0;
        for (table, file) in self.tracepoints.values_mut() {
            let batch = table.take();
            if batch.num_rows() > 0 {
                file.write(&batch)?;
            }
            size += file.memory();
        }
        if size >= TRACEPOINTS {
            self.tracepoints.values_mut().try_for_each(|(_, file)| file.flush())?;
        }
        Ok(())
    }

    fn events(&self, meta: &Meta) -> RecordBatch {
        let mut columns = EventColumns::default();
        for (index, event) in meta.events.list().iter().enumerate() {
            let ProfileEvent { name, unit, period, .. } = ProfileEvent::from(event);
            let (samples, value) = self.counts.get(index).copied().unwrap_or_default();
            columns.event.push(Some(&name));
            columns.unit.push(Some(match unit {
                Unit::Nanoseconds => "nanoseconds",
                Unit::Bytes => "bytes",
                Unit::Count => "count",
            }));
            columns.attr_type.push(Some(event.attr.kind.0.into()));
            columns.config.push(Some(event.attr.config));
            columns.period.push(period.map(saturated));
            columns.samples.push(Some(saturated(samples)));
            columns.value.push(Some(saturated(value)));
        }
        columns.batch()
    }

    fn recording(&self, end: &End<'_>, ledger: &Ledger) -> Result<RecordBatch> {
        let mut ledger = ledger.clone();
        for (&kind, &count) in &self.types {
            ledger.read(kind, count);
        }
        recording::row(end, self.times, self.disclosure, &ledger)
    }

    /// Writes a table with all of its rows.
    fn table(&self, name: &str, batch: &RecordBatch, metadata: &[(&str, String)]) -> Result<()> {
        let path = self.directory.join(format!("{name}.parquet"));
        let mut file = ParquetFile::new(batch.schema(), Target::Path(path), &[]);
        file.write(batch)?;
        file.finish(metadata)
    }

    /// Moves a file into the partition of a table.
    fn move_to_partition(&self, file: &str, table: &str, partition: &str) -> Result<()> {
        let from = self.directory.join(format!("{file}.parquet"));
        let to = self.directory.join(table).join(partition);
        let failed = |path: &Path| Error::io(path.display().to_string(), "cannot create");
        fs::create_dir_all(&to).map_err(failed(&to))?;
        fs::rename(from, to.join(FILE)).map_err(failed(&to))
    }
}

impl Tables for Dataset {
    fn samples(&mut self, batch: &Batch<'_>) -> Result<()> {
        let mut stack_tables = self.stack_tables.take().unwrap_or_else(|| StackTables::new(batch.origin));
        for chunk in batch.samples.chunks(ROWS) {
            let mut rows = SampleRows::default();
            for sample in chunk {
                self.note(sample);
                let ((row, stack), (stacks, columns)) = (sample, &mut rows);
                let id = stack_tables.stack(batch.resolved, *stack);
                stacks.stack.push(Some(id));
                row.append(columns, &batch.common);
                if let Some(payload) = &row.payload
                    && let Some(table) = self.tracepoint(batch.meta, row.event)
                {
                    table.add(row, payload, id, &batch.common);
                }
            }
            self.samples.write(&rows.batch())?;
            let (stacks, frames) = stack_tables.batches();
            self.stacks.write(&stacks)?;
            self.frames.write(&frames)?;
            self.write_tracepoints()?;
        }
        self.stack_tables = Some(stack_tables);
        Ok(())
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, session: &Session) -> Result<()> {
        *self.types.entry(raw.header().kind).or_default() += 1;
        self.records.add(meta, raw, session);
        if let Some(table) = &mut self.record_table {
            table.add(meta, raw)?;
        }
        if self.records.mappings() >= ROWS {
            let mappings = self.records.take_mappings();
            self.mappings.write(&mappings)?;
        }
        Ok(())
    }

    fn end(&mut self, end: &End<'_>, ledger: &mut Ledger) -> Result<()> {
        let metadata = [("perfconv.schema_version", SCHEMA_VERSION.to_string())];
        // `record` does not count samples: they are passed to `samples`.
        let samples = ledger.counts(RecordType::SAMPLE);
        if samples.emitted + samples.dropped() > 0 {
            self.types.insert(RecordType::SAMPLE, samples.emitted + samples.dropped());
        }
        self.mappings.write(&self.records.take_mappings())?;
        let stack_tables = self.stack_tables.take();
        let objects =
            stack_tables.map_or_else(|| ObjectColumns::default().batch(), |stacks| stacks.objects(end.objects));
        for file in [&mut self.samples, &mut self.stacks, &mut self.frames, &mut self.mappings] {
            file.finish(&metadata)?;
        }
        if let Some(table) = &mut self.record_table {
            table.finish(&metadata)?;
        }
        self.table(table::OBJECTS, &objects, &metadata)?;
        let threads = self.records.threads(end.session);
        debug_assert_eq!(threads.schema(), ProcessColumns::schema());
        self.table(table::PROCESSES, &threads, &metadata)?;
        self.table(table::EVENTS, &self.events(end.meta), &metadata)?;
        self.table(table::RECORDINGS, &self.recording(end, ledger)?, &metadata)?;
        let partition = partition(end.recording);
        for ((system, name), (_, file)) in &mut std::mem::take(&mut self.tracepoints) {
            file.finish(&metadata)?;
            let table = format!("{}/{system}/{name}", table::TRACEPOINTS);
            self.move_to_partition(&format!("{system}.{name}"), &table, &partition)?;
        }
        let has_records = self.record_table.is_some();
        let is_written = |name: &str| name != table::TRACEPOINTS && (name != table::RECORDS || has_records);
        let tables = table::ALL.iter().filter(|name| is_written(name));
        tables.into_iter().try_for_each(|name| self.move_to_partition(name, name, &partition))
    }
}
