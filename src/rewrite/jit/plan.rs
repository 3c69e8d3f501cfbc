//! Plans the mappings to insert for jitdumps.

use super::clock::Clock;
use super::images::Images;
use crate::rewrite::build_ids::objects::PROT_EXEC;
use hashbrown::{HashMap, HashSet};
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::mmap2::Mmap2;
use perf_data::abi::record::time_conv::TimeConv;
use perf_data::abi::record::{Body, CpuMode, Misc, Record, RecordType};
use perf_data::abi::text::PaddedStr;
use perf_data::container::walk::Damage;
use perf_data::container::write::encoded;
use perf_data::error::{Error, Result};
use perf_data::stream::meta::Meta;
use perf_symbols::object::build_id::Id;
use perf_symbols::object::function_ranges::FunctionRanges;
use perf_symbols::object::image::{Image, ImageFunction};
use perf_symbols::object::jit_dump::{Dump, EventKind, JitDumpEvent};
use perf_symbols::object::jit_files::locate;
use perf_symbols::object::machine;
use perf_symbols::object::recorded_file::{Owner, read_code_map};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A mapping of a jitdump, by which the recording refers to it.
#[derive(Clone, Debug)]
pub(crate) struct Mapped {
    /// Process ID in the recording.
    pub pid: u32,
    /// Process ID in the program's own PID namespace.
    pub own_pid: u32,
    /// Recorded path.
    pub path: PathBuf,
    /// The mapping record.
    pub record: Record,
}

/// A mapping to insert: a function is at an address from a time on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Map {
    /// Time in the recording's clock.
    pub time: u64,
    /// Process ID.
    pub pid: u32,
    /// Thread ID.
    pub tid: u32,
    /// Start address.
    pub address: u64,
    /// Length in bytes.
    pub len: u64,
    /// Offset of the function in its image.
    pub image_offset: u64,
    /// Number of the image.
    image: u32,
}

/// The mappings to insert.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// The mappings in time order.
    pub maps: Vec<Map>,
    /// The template of each image's mapping records.
    records: Vec<Record>,
    /// The jitdumps already read.
    read: HashSet<PathBuf>,
    /// Malformed parts of jitdumps.
    pub damage: Vec<Damage>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Missing functions and jitdumps.
    pub missing: Vec<String>,
}

/// Maximum number of names in a note, in about two lines of a terminal.
const MAX_NAMES: usize = 5;

impl Plan {
    /// Reads the mapped jitdumps, and writes an image of each.
    ///
    /// # Errors
    /// Fails if no jitdump is usable, or an image cannot be written.
    pub(crate) fn new(
        mapped: &[Mapped],
        paths: &[PathBuf],
        conv: Option<TimeConv>,
        meta: &Meta,
        images: &mut Images,
    ) -> Result<Self> {
        let mut plan = Self::default();
        let mut first_failure = None;
        for mapped in mapped {
            match plan.add(mapped, paths, conv, meta, images) {
                Ok(()) => {}
                // Errors of the user's files and of the output are fatal.
                Err(error @ (Error::Refused { .. } | Error::Io { .. } | Error::Output(_))) => return Err(error),
                Err(error) => {
                    plan.missing.push(format!("{error}; its functions are missing"));
                    first_failure.get_or_insert(error);
                }
            }
        }
        if plan.records.is_empty() {
            let none = || {
                let problem = "--jit: the recording maps no jit-PID.dump; enable jitdumps in the recorded program, such as with \
                            node --perf-prof, java -agentpath:.../libperf-jvmti.so, DOTNET_PerfMapEnabled=1";
                Error::not_found(problem.to_owned())
            };
            return Err(first_failure.unwrap_or_else(none));
        }
        plan.maps.sort_by_key(|map| map.time);
        Ok(plan)
    }

    fn add(
        &mut self,
        mapped: &Mapped,
        paths: &[PathBuf],
        conv: Option<TimeConv>,
        meta: &Meta,
        images: &mut Images,
    ) -> Result<()> {
        let recorded = mapped.path.display().to_string();
        let Some(path) = locate(paths, &mapped.path) else {
            let not_found = |problem| Error::input(recorded, None, problem);
            return Err(match paths {
                [] => not_found("jitdump not found").remedy("jit_dump", "DIR to locate it"),
                _ => not_found("jitdump not found, nor in the given directories"),
            });
        };
        let file = path.display().to_string();
        // If the user gives one directory, several jitdumps of the same name cannot be distinguished.
        if !self.read.insert(path.clone()) {
            return Err(Error::input(
                recorded,
                None,
                format!("{file} is already used for another jitdump of this name"),
            ));
        }
        let owner = if paths.is_empty() { Owner::OfProcess(mapped.pid) } else { Owner::Any };
        let bytes = read_code_map(&path, owner).map_err(|error| match error.kind() {
            // A process of another user must not end the conversion.
            ErrorKind::NotFound | ErrorKind::PermissionDenied if paths.is_empty() => {
                Error::input(&file, None, format!("not used: {error}"))
            }
            _ => Error::io(&file, "cannot read")(error),
        })?;
        let dump = Dump::read(&bytes, &file)?;
        check(&dump, &file, mapped.own_pid, meta)?;
        let clock = Clock::new(&dump.header, meta, conv).map_err(|problem| Error::input(&file, None, problem))?;
        self.damage.extend(dump.damage.iter().cloned());

        let machine = machine::for_jit_dump(dump.header.elf_mach, meta.string(FeatureId::ARCH).as_deref());
        let end = dump.events.iter().map(|event| event.address).max().unwrap_or(0);
        let mut image = Image::new(machine::target(machine, dump.endian, end));
        let maps = self.lay_out(dump, mapped, &mut image, &clock);
        let name = format!("jit-{}.so", mapped.pid);
        let at = images.add(&image, &name, &path)?;
        self.records.push(template(&mapped.record, &at, &image)?);
        self.maps.extend(maps);
        Ok(())
    }

    /// Places all functions in an image; returns their mappings.
    fn lay_out(&mut self, dump: Dump, mapped: &Mapped, image: &mut Image, clock: &Clock) -> Vec<Map> {
        // A forked child continues to write its parent's dump. If the process ID in the dump differs from the recorded one (PID
        // namespaces), only the ID of the mapping process is known.
        let is_by_name = dump.header.pid == mapped.pid;
        let (mut maps, mut placed, mut missing) = (Vec::new(), HashMap::<u64, (u64, u64)>::new(), Vec::new());
        let (mut live, mut replaced) = (HashMap::<u32, FunctionRanges<()>>::new(), 0);
        for JitDumpEvent { time, pid, tid, index, address, kind } in dump.events {
            let placement = match kind {
                // It cannot contain samples.
                EventKind::Load(ImageFunction { size: 0, .. }) => continue,
                EventKind::Load(function) => {
                    let (size, name) = (function.size, function.name.clone());
                    let offset = image.push(function);
                    offset.map(|offset| (offset, size)).ok_or_else(|| String::from_utf8_lossy(&name).into_owned())
                }
                EventKind::Move => placed.get(&index).copied().ok_or_else(|| format!("number {index}")),
            };
            match placement {
                Err(name) => missing.push(name),
                Ok((image_offset, len)) => {
                    placed.insert(index, (image_offset, len));
                    let own = if is_by_name { (pid, tid) } else { (mapped.pid, self.thread(mapped)) };
                    let (pid, tid) = own;
                    let image = self.records.len() as u32;
                    replaced +=
                        u64::from(live.entry(pid).or_default().insert(address, address.saturating_add(len), ()));
                    maps.push(Map { time: clock.time(time), pid, tid, address, len, image_offset, image });
                }
            }
        }
        if replaced > 0 {
            let path = mapped.path.display();
            self.notes.push(format!("{path}: {replaced} functions replace others at the same addresses"));
        }
        if !missing.is_empty() {
            let names = missing.iter().take(MAX_NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
            let path = mapped.path.display();
            self.missing.push(format!(
                "{path}: {} functions are too large, or moved without being loaded: {names}",
                missing.len()
            ));
        }
        maps
    }

    /// The thread that mapped a jitdump.
    fn thread(&self, mapped: &Mapped) -> u32 {
        match &mapped.record.body {
            Body::Mmap2(mmap) => mmap.tid,
            Body::Mmap(mmap) => mmap.tid,
            _ => mapped.pid,
        }
    }

    /// Encodes a mapping as a record.
    ///
    /// # Errors
    /// Fails if it exceeds the maximum size of a record.
    pub(crate) fn record(&self, meta: &Meta, map: &Map) -> Result<Vec<u8>> {
        let mut record = self.records[map.image as usize].clone();
        let Map { time, pid, tid, address: addr, len, image_offset: pgoff, .. } = *map;
        if let Body::Mmap2(mmap) = &mut record.body {
            *mmap = Mmap2 { pid, tid, addr, len, pgoff, filename: mmap.filename.clone(), ..*mmap };
        }
        if let Some(id) = &mut record.id {
            id.task = id.task.map(|_| (pid, tid));
            id.time = id.time.map(|_| time);
        }
        encoded(record.to_bytes(meta.endian))
    }
}

/// Checks that a jitdump is from the process that mapped it, and has its byte order.
fn check(dump: &Dump, file: &str, own_pid: u32, meta: &Meta) -> Result<()> {
    let fail = |problem: String| Err(Error::input(file, None, problem));
    let pid = dump.header.pid;
    if pid != own_pid {
        return fail(format!("jitdump of process {pid}, expected {own_pid}"));
    }
    if dump.endian != meta.endian {
        let order = if dump.endian == perf_data::abi::Endian::Big { "big" } else { "little" };
        return fail(format!("jitdump of another machine ({order}-endian); the recording has the other byte order"));
    }
    Ok(())
}

/// The template of an image's mapping records, with the event and CPU of the jitdump's mapping.
fn template(mapped: &Record, path: &Path, image: &Image) -> Result<Record> {
    let mut record = mapped.clone();
    let Some(id) = Id::new(&image.build_id()) else { return Ok(record) };
    record.header.kind = RecordType::MMAP2;
    record.header.misc = Misc::from_bits_retain(CpuMode::USER.0) | Misc::MMAP_BUILD_ID;
    record.tail.clear();
    // PROT_READ, PROT_EXEC and MAP_PRIVATE, as for the code of a file.
    let (prot, flags) = (1 | PROT_EXEC, 2);
    let filename = PaddedStr::new(path.as_os_str().as_encoded_bytes(), 8);
    let (pid, tid, addr, len, pgoff) = (0, 0, 0, 0, 0);
    record.body = Body::Mmap2(Mmap2 { pid, tid, addr, len, pgoff, file: id.into_mapped_file(), prot, flags, filename });
    Ok(record)
}
