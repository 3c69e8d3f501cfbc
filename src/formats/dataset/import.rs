//! Imports a recording of a dataset: its samples with their stacks and functions.

use super::directory::{FILE, entries, is_dataset};
use super::id::Id;
use super::rows::{Rows, for_each};
use super::schema::table;
use crate::formats::import::source::{
    SourceEvent, SourceFrame, SourceFunction, SourceMapping, SourceProfile, SourceSample,
};
use crate::formats::import::{ImportOptions, ImportedRecording, MAX_FRAMES, MAX_PARTS, record};
use bytes::Bytes;
use hashbrown::{HashMap, HashSet};
use perf_data::abi::hex::from_hex;
use perf_data::abi::sample::field::SampleField;
use perf_data::error::{Error, Result};
use perf_data::session::range_map::RangeMap;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Columns of samples that a recording converted from a dataset lacks, besides those of fields shown as text.
const LOST: [&str; 12] = [
    "addr",
    "phys_addr",
    "weight",
    "ins_lat",
    "retire_lat",
    "data_src",
    "transaction",
    "cgroup_id",
    "code_page_size",
    "data_page_size",
    "branches",
    "labels",
];

fn lost_columns() -> impl Iterator<Item = &'static str> {
    LOST.into_iter().chain(SampleField::SHOWN_AS_TEXT.iter().map(|field| field.name()))
}

/// Whether a directory is a dataset, or a partition of its recordings.
pub(super) fn is_readable(path: &Path) -> bool {
    is_whole(path) || selected(path).is_some()
}

fn is_whole(path: &Path) -> bool {
    is_dataset(path) && [table::SAMPLES, table::RECORDINGS].iter().all(|table| path.join(table).is_dir())
}

/// The dataset and the partition, if a path is a partition of a dataset's recordings.
fn selected(path: &Path) -> Option<(PathBuf, String)> {
    let name = path.file_name()?.to_str().filter(|name| name.starts_with("recording="))?;
    let recordings = path.parent().filter(|parent| parent.ends_with(table::RECORDINGS))?;
    let dataset = recordings.parent().filter(|dataset| is_whole(dataset))?;
    Some((dataset.to_owned(), name.to_owned()))
}

/// Converts the recording of a dataset.
///
/// # Errors
/// If the dataset has several recordings, cannot be read, or exceeds a limit.
pub(super) fn import(path: &Path, options: &ImportOptions) -> Result<ImportedRecording> {
    let name = path.display().to_string();
    let (dataset, partition) = match selected(path) {
        Some(selected) => selected,
        None => (path.to_owned(), only_partition(path)?),
    };
    let importer = Importer { name: name.clone(), dataset, partition, ..Importer::default() };
    record(&name, importer.profile()?, options)
}

/// The partition of the only recording.
fn only_partition(dataset: &Path) -> Result<String> {
    let (name, recordings) = (dataset.display().to_string(), dataset.join(table::RECORDINGS));
    let partitions = entries(&recordings).map_err(Error::io(&name, "cannot read"))?;
    let mut partitions: Vec<_> = partitions.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    partitions.sort();
    match &partitions[..] {
        [] => Err(Error::input(name, None, "the dataset has no recording")),
        [only] => Ok(only.clone()),
        [first, ..] => {
            let (count, first) = (partitions.len(), recordings.join(first));
            let problem = format!("the dataset has {count} recordings; name one, such as {}", first.display());
            Err(Error::input(name, None, problem))
        }
    }
}

#[derive(Default)]
struct Importer {
    name: String,
    dataset: PathBuf,
    partition: String,
    profile: SourceProfile,
    /// Objects with path, build ID and process.
    objects: HashMap<Id, Object>,
    /// Recorded mappings by path.
    mappings: HashMap<String, Vec<Mapping>>,
    /// The same by the offsets in objects that they contain, so that finding the mapping of a frame takes no longer with many.
    offsets: HashMap<OffsetKind, HashMap<String, RangeMap<Mapping>>>,
    /// Mappings of the profile by object and first address.
    known_mappings: HashMap<(Id, u64), u32>,
    /// The functions at each address, innermost first.
    frames: HashMap<Id, BTreeMap<i32, u32>>,
    stacks: HashMap<Id, u32>,
    events: HashMap<String, u32>,
    /// Samples with values in columns that are lost.
    lost: BTreeMap<&'static str, u64>,
}

struct Object {
    dso: String,
    build_id: Option<Bytes>,
    pid: Option<i32>,
    is_kernel: bool,
}

#[derive(Clone, Copy)]
struct Mapping {
    pid: Option<i32>,
    start: u64,
    end: u64,
    offset: u64,
}

/// The reference point of offsets in an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum OffsetKind {
    /// Addresses in a process.
    Process(i32),
    /// Offsets in the kernel, which may be recorded as mapped from 0, and then begins at its reference symbol.
    Kernel,
    /// Offsets in a file.
    File,
}

impl OffsetKind {
    fn in_object(object: &Object) -> Self {
        match (object.pid, object.is_kernel) {
            (Some(pid), _) => Self::Process(pid),
            (None, true) => Self::Kernel,
            (None, false) => Self::File,
        }
    }

    /// The address of offset 0.
    fn base(self, mapping: &Mapping) -> u64 {
        match self {
            Self::Process(_) => 0,
            Self::Kernel => mapping.start.max(mapping.offset & !0xfff),
            Self::File => mapping.start.wrapping_sub(mapping.offset),
        }
    }
}

impl Importer {
    fn path(&self, table: &str) -> PathBuf {
        self.dataset.join(table).join(&self.partition).join(FILE)
    }

    fn invalid(&self, problem: impl Into<String>) -> Error {
        Error::input(&self.name, None, problem.into())
    }

    fn read(
        &mut self,
        table: &str,
        columns: &[&str],
        mut on_rows: impl FnMut(&mut Self, &Rows) -> Result<()>,
    ) -> Result<()> {
        let path = self.path(table);
        self.profile.input_size += path.metadata().map_or(0, |metadata| metadata.len() as usize);
        for_each(&path, columns, |rows| on_rows(self, rows))
    }

    fn profile(mut self) -> Result<SourceProfile> {
        self.read(table::RECORDINGS, &["perf", "command"], Self::recording)?;
        self.read(table::EVENTS, &["event", "unit", "period", "samples"], Self::events)?;
        self.read(table::OBJECTS, &["object", "dso", "build_id", "pid", "kernel"], Self::objects)?;
        self.read(table::MAPPINGS, &["pid", "start", "end", "offset", "dso"], Self::mappings)?;
        self.index_mappings();
        let columns = [
            "frame",
            "depth",
            "object",
            "offset",
            "function",
            "system_name",
            "file",
            "start_line",
            "line",
            "column",
            "inlined",
            "kernel",
        ];
        self.read(table::FRAMES, &columns, Self::frames)?;
        self.read(table::STACKS, &["stack", "frames"], Self::stacks)?;
        let columns = ["stack", "event", "value", "time", "pid", "tid", "comm", "process", "cpu", "cgroup"];
        self.read(table::SAMPLES, &columns.into_iter().chain(lost_columns()).collect::<Vec<_>>(), Self::samples)?;
        let lost: Vec<_> = self.lost.iter().map(|(name, count)| format!("{name} of {count}")).collect();
        if !lost.is_empty() {
            self.profile.lost.push(format!("columns of samples that are not imported: {}", lost.join(", ")));
        }
        if self.dataset.join(table::TRACEPOINTS).is_dir() {
            self.profile.lost.push("fields of tracepoints are not imported".to_owned());
        }
        self.profile
            .lost
            .push("features, records without samples, and mappings without frames are not in a dataset".to_owned());
        Ok(self.profile)
    }

    fn recording(&mut self, rows: &Rows) -> Result<()> {
        let (perf, command) = (rows.text("perf")?, rows.text("command")?);
        for row in 0..rows.len() {
            self.profile.perf_version = perf(row).map(str::to_owned);
            self.profile.command = command(row).map(str::to_owned);
        }
        Ok(())
    }

    fn events(&mut self, rows: &Rows) -> Result<()> {
        let (event, unit) = (rows.text("event")?, rows.text("unit")?);
        let (period, samples) = (rows.int64("period")?, rows.int64("samples")?);
        for row in 0..rows.len() {
            let name = event(row).unwrap_or_default();
            if samples(row).unwrap_or(0) == 0 || self.events.contains_key(name) {
                continue;
            }
            self.events.insert(name.to_owned(), self.profile.events.len() as u32);
            self.profile.events.push(SourceEvent {
                name: name.to_owned(),
                unit: unit(row).unwrap_or("count").to_owned(),
                period: period(row).map_or(0, |period| period.max(0) as u64),
                ..SourceEvent::default()
            });
        }
        Ok(())
    }

    fn objects(&mut self, rows: &Rows) -> Result<()> {
        let (object, dso, build_id) = (rows.id("object")?, rows.text("dso")?, rows.text("build_id")?);
        let (pid, kernel) = (rows.int32("pid")?, rows.flag("kernel")?);
        for row in 0..rows.len() {
            let Some(id) = object(row) else { continue };
            let build_id = build_id(row).and_then(|id| from_hex(id.as_bytes())).map(Bytes::from);
            let dso = dso(row).unwrap_or_default().to_owned();
            self.objects.insert(id, Object { dso, build_id, pid: pid(row), is_kernel: kernel(row) });
        }
        Ok(())
    }

    fn mappings(&mut self, rows: &Rows) -> Result<()> {
        let (pid, dso) = (rows.int32("pid")?, rows.text("dso")?);
        let (start, end, offset) = (rows.uint64("start")?, rows.uint64("end")?, rows.uint64("offset")?);
        for row in 0..rows.len() {
            let (Some(start), Some(end)) = (start(row), end(row)) else { continue };
            let dso = dso(row).unwrap_or_default();
            // As the name of the object.
            let dso = if dso.starts_with("[kernel.kallsyms]") { "[kernel.kallsyms]" } else { dso };
            let mapping = Mapping { pid: pid(row), start, end, offset: offset(row).unwrap_or(0) };
            self.mappings.entry_ref(dso).or_default().push(mapping);
        }
        Ok(())
    }

    /// Indexes the recorded mappings by offset. Of those with the same offset, the first one counts.
    fn index_mappings(&mut self) {
        let kinds: HashSet<OffsetKind> = self.objects.values().map(OffsetKind::in_object).collect();
        for (dso, mappings) in std::mem::take(&mut self.mappings) {
            for mapping in mappings.into_iter().rev().filter(|mapping| mapping.start < mapping.end) {
                let process_kind = mapping.pid.map(OffsetKind::Process);
                for kind in process_kind.into_iter().chain([OffsetKind::Kernel, OffsetKind::File]) {
                    if !kinds.contains(&kind) {
                        continue;
                    }
                    let offsets = self.offsets.entry(kind).or_default().entry_ref(&*dso).or_default();
                    let first = mapping.start.wrapping_sub(kind.base(&mapping));
                    let last = first.wrapping_add(mapping.end - mapping.start - 1);
                    if first <= last {
                        offsets.insert(first, last, mapping);
                    } else {
                        // The offsets of a mapping can wrap around at 2^64.
                        offsets.insert(first, u64::MAX, mapping);
                        offsets.insert(0, last, mapping);
                    }
                }
            }
        }
    }

    /// The mapping and address of an offset in an object, if a recorded mapping contains it.
    fn locate(&mut self, id: Id, offset: u64) -> Option<(u32, u64)> {
        let object = self.objects.get(&id)?;
        let kind = OffsetKind::in_object(object);
        let mapping = self.offsets.get(&kind)?.get(&object.dso)?.find(offset)?.value;
        let address = offset.wrapping_add(kind.base(&mapping));
        let profile = &mut self.profile;
        let number = *self.known_mappings.entry((id, mapping.start)).or_insert_with(|| {
            profile.mappings.push(SourceMapping {
                path: Bytes::copy_from_slice(object.dso.as_bytes()),
                start: mapping.start,
                limit: mapping.end,
                pgoff: mapping.offset,
                build_id: object.build_id.clone(),
                is_kernel: object.is_kernel,
            });
            profile.mappings.len() as u32 - 1
        });
        Some((number, address))
    }

    fn frames(&mut self, rows: &Rows) -> Result<()> {
        let (frame, depth, object) = (rows.id("frame")?, rows.int32("depth")?, rows.id("object")?);
        let (offset, function, system_name) =
            (rows.uint64("offset")?, rows.text("function")?, rows.text("system_name")?);
        let (file, start_line) = (rows.text("file")?, rows.int64("start_line")?);
        let (line, column) = (rows.int64("line")?, rows.int64("column")?);
        let (inlined, kernel) = (rows.flag("inlined")?, rows.flag("kernel")?);
        for row in 0..rows.len() {
            let (Some(id), Some(depth)) = (frame(row), depth(row)) else { continue };
            let offset = offset(row).unwrap_or(0);
            let location = match object(row) {
                Some(object) => self.locate(object, offset),
                None => None,
            };
            let profile = &mut self.profile;
            let function = function(row).map(|name| SourceFunction {
                name: profile.name(name),
                system_name: system_name(row).map(|name| profile.name(name)),
                file: file(row).map(|file| profile.name(file)),
                start_line: start_line(row).unwrap_or(0),
            });
            let function = function.map(|function| profile.function(function));
            profile.frames.push(SourceFrame {
                mapping: location.map(|(mapping, _)| mapping),
                address: location.map(|(_, address)| address).or(object(row).is_none().then_some(offset)),
                function,
                offset: None,
                line: line(row).unwrap_or(0),
                column: column(row).unwrap_or(0),
                is_inlined: inlined(row),
                is_kernel: kernel(row),
            });
            let number = profile.frames.len() as u32 - 1;
            self.frames.entry(id).or_default().insert(depth, number);
        }
        Ok(())
    }

    fn stacks(&mut self, rows: &Rows) -> Result<()> {
        let (stack, frames) = (rows.id("stack")?, rows.ids("frames")?);
        let mut numbers = Vec::new();
        for row in 0..rows.len() {
            let Some(id) = stack(row) else { continue };
            numbers.clear();
            for frame in frames(row) {
                numbers.extend(self.frames.get(&frame).into_iter().flat_map(BTreeMap::values));
            }
            numbers.truncate(MAX_FRAMES);
            self.stacks.insert(id, self.profile.stacks.id(&numbers));
        }
        Ok(())
    }

    fn samples(&mut self, rows: &Rows) -> Result<()> {
        let (stack, event, value) = (rows.id("stack")?, rows.text("event")?, rows.int64("value")?);
        let (time, pid, tid) = (rows.int64("time")?, rows.int32("pid")?, rows.int32("tid")?);
        let (comm, process, cpu) = (rows.text("comm")?, rows.text("process")?, rows.int32("cpu")?);
        let cgroup = rows.text("cgroup")?;
        for row in 0..rows.len() {
            if self.profile.samples.len() == MAX_PARTS {
                return Err(self.invalid(format!("more than {MAX_PARTS} samples")));
            }
            let stack_and_event =
                (stack(row).and_then(|id| self.stacks.get(&id)), event(row).and_then(|name| self.events.get(name)));
            let (Some(&stack), Some(&event)) = stack_and_event else {
                return Err(self.invalid("a sample has a stack or an event that is not in its table"));
            };
            let profile = &mut self.profile;
            let mut name = |text: Option<&str>| text.map(|text| profile.name(text));
            let sample = SourceSample {
                event,
                stack,
                pid: pid(row).map(|pid| pid as u32),
                tid: tid(row).map(|tid| tid as u32),
                comm: name(process(row)),
                thread_comm: name(comm(row)),
                cpu: cpu(row).map(|cpu| cpu as u32),
                time: time(row).map(|time| time.max(0) as u64),
                cgroup: name(cgroup(row)),
                labels: 0,
                count: Some(1),
                value: value(row).unwrap_or(0).max(0) as u64,
            };
            self.profile.samples.push(sample);
        }
        for name in lost_columns() {
            let count = rows.count(name);
            if count > 0 {
                *self.lost.entry(name).or_default() += count;
            }
        }
        Ok(())
    }
}
