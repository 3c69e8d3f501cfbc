//! Which maps are to be told of jitdumps, and when.

use super::clock::Clock;
use super::dump::{Dump, Event, What};
use super::find::locate;
use super::images::Images;
use super::live::Live;
use crate::abi::feature::FeatureId;
use crate::abi::record::mmap2::Mmap2;
use crate::abi::record::time_conv::TimeConv;
use crate::abi::record::{Body, CpuMode, Misc, Record, RecordType};
use crate::abi::text::PaddedStr;
use crate::container::spool::map;
use crate::container::walk::Damage;
use crate::container::write::encoded;
use crate::error::{Error, Result};
use crate::object::image::{Function, Image};
use crate::object::machine;
use crate::rewrite::build_ids::id::Id;
use crate::rewrite::build_ids::objects::PROT_EXEC;
use crate::stream::meta::Meta;
use hashbrown::{HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};

/// A jitdump that a process has mapped, so that the recording tells of it.
#[derive(Clone, Debug)]
pub struct Mapped {
    /// Process, as the recording has it.
    pub pid: u32,
    /// Process, as it calls itself.
    pub own_pid: u32,
    /// Where it was.
    pub path: PathBuf,
    /// The record that tells of it.
    pub record: Record,
}

/// A function is at an address from a time on.
#[derive(Clone, Copy, Debug)]
pub struct Map {
    /// When, in the recording's clock.
    pub time: u64,
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// First address.
    pub address: u64,
    /// Bytes.
    pub len: u64,
    /// Where the function is in its image.
    pub place: u64,
    /// Number of the image.
    image: u32,
}

/// What is to be told.
#[derive(Debug, Default)]
pub struct Plan {
    /// In the order of time.
    pub maps: Vec<Map>,
    /// For each image the record that all of its maps are like.
    records: Vec<Record>,
    /// The jitdumps that were read.
    read: HashSet<PathBuf>,
    /// What could not be read.
    pub damage: Vec<Damage>,
    /// What the user should know.
    pub notes: Vec<String>,
    /// What is missing.
    pub missing: Vec<String>,
}

/// How much a note tells of.
const TOLD: usize = 5;

impl Plan {
    /// Reads the jitdumps that were mapped, and makes an image of each.
    ///
    /// # Errors
    /// Where not one of them can be used, or an image cannot be made.
    pub fn new(
        mapped: &[Mapped],
        places: &[PathBuf],
        conv: Option<TimeConv>,
        meta: &Meta,
        images: &mut Images,
    ) -> Result<Self> {
        let mut plan = Self::default();
        let mut first_failure = None;
        for mapped in mapped {
            match plan.add(mapped, places, conv, meta, images) {
                Ok(()) => {}
                // Of a file of the user's there is nothing to go on with.
                Err(error @ (Error::Refused { .. } | Error::Io { .. } | Error::Output(_))) => return Err(error),
                Err(error) => {
                    plan.missing.push(format!("{error}; what it tells is missing"));
                    first_failure.get_or_insert(error);
                }
            }
        }
        if plan.records.is_empty() {
            let none = || {
                let what = "--jit: the recording maps no jit-PID.dump: its programs have to be told to write one, such as \
                            node --perf-prof, java -agentpath:.../libperf-jvmti.so, DOTNET_PerfMapEnabled=1";
                Error::not_found(what.to_owned())
            };
            return Err(first_failure.unwrap_or_else(none));
        }
        plan.maps.sort_by_key(|map| map.time);
        Ok(plan)
    }

    fn add(
        &mut self,
        mapped: &Mapped,
        places: &[PathBuf],
        conv: Option<TimeConv>,
        meta: &Meta,
        images: &mut Images,
    ) -> Result<()> {
        let recorded = mapped.path.display().to_string();
        let Some(path) = locate(places, &mapped.path) else {
            let hint =
                if places.is_empty() { "--jit-dump DIR tells where it is" } else { "nor where --jit-dump tells" };
            return Err(Error::input(recorded, None, format!("there is no such jitdump; {hint}")));
        };
        let file = path.display().to_string();
        // Of several with its name, where the user tells one place for all, it can be one alone.
        if !self.read.insert(path.clone()) {
            return Err(Error::input(recorded, None, format!("{file} is taken for another one of this name")));
        }
        let bytes = File::open(&path).and_then(|file| map(&file)).map_err(Error::io(&file, "cannot read"))?;
        let dump = Dump::read(&bytes, &file)?;
        check(&dump, &file, mapped.own_pid, meta)?;
        let clock = Clock::new(&dump.header, meta, conv).map_err(|what| Error::input(&file, None, what))?;
        self.damage.extend(dump.damage.iter().cloned());

        let machine = dump.header.elf_mach as u16;
        let end = dump.events.iter().map(|event| event.address).max().unwrap_or(0);
        let mut image = Image::new(machine::target(machine, dump.endian, end));
        let maps = self.lay_out(dump, mapped, &mut image, &clock);
        let name = format!("jit-{}.so", mapped.pid);
        let at = images.add(&image, &name, &path)?;
        self.records.push(like(&mapped.record, &at, &image)?);
        self.maps.extend(maps);
        Ok(())
    }

    /// Puts all functions into an image, and says which of them is where, when.
    fn lay_out(&mut self, dump: Dump, mapped: &Mapped, image: &mut Image, clock: &Clock) -> Vec<Map> {
        // A forked child goes on to write its parent's dump. Where a process calls itself otherwise than the recording does, it
        // is known by its map alone.
        let is_by_name = dump.header.pid == mapped.pid;
        let (mut maps, mut placed, mut lost) = (Vec::new(), HashMap::<u64, (u64, u64)>::new(), Vec::new());
        let (mut live, mut replaced) = (HashMap::<u32, Live>::new(), 0);
        for Event { time, pid, tid, index, address, what } in dump.events {
            let found = match what {
                // Nothing can be in it.
                What::Load(Function { size: 0, .. }) => continue,
                What::Load(function) => {
                    let (size, name) = (function.size, function.name.clone());
                    let place = image.push(function);
                    place.map(|place| (place, size)).ok_or_else(|| String::from_utf8_lossy(&name).into_owned())
                }
                What::Move => placed.get(&index).copied().ok_or_else(|| format!("number {index}")),
            };
            match found {
                Err(what) => lost.push(what),
                Ok((place, len)) => {
                    placed.insert(index, (place, len));
                    let own = if is_by_name { (pid, tid) } else { (mapped.pid, self.thread(mapped)) };
                    let (pid, tid) = own;
                    let image = self.records.len() as u32;
                    replaced += u64::from(live.entry(pid).or_default().put(address, address.saturating_add(len)));
                    maps.push(Map { time: clock.time(time), pid, tid, address, len, place, image });
                }
            }
        }
        if replaced > 0 {
            let path = mapped.path.display();
            self.notes
                .push(format!("{path}: {replaced} functions are where others were, and take their place from then on"));
        }
        if !lost.is_empty() {
            let names = lost.iter().take(TOLD).map(String::as_str).collect::<Vec<_>>().join(", ");
            let path = mapped.path.display();
            self.missing
                .push(format!("{path}: {} functions are too large, or moved without being there: {names}", lost.len()));
        }
        maps
    }

    /// The thread that mapped a dump.
    fn thread(&self, mapped: &Mapped) -> u32 {
        match &mapped.record.body {
            Body::Mmap2(mmap) => mmap.tid,
            Body::Mmap(mmap) => mmap.tid,
            _ => mapped.pid,
        }
    }

    /// The record that tells a map.
    ///
    /// # Errors
    /// Where a record cannot hold it.
    pub fn record(&self, meta: &Meta, map: &Map) -> Result<Vec<u8>> {
        let mut record = self.records[map.image as usize].clone();
        let Map { time, pid, tid, address: addr, len, place: pgoff, .. } = *map;
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

/// Checks that a jitdump is of the recorded machine, and of the process that mapped it.
fn check(dump: &Dump, file: &str, own_pid: u32, meta: &Meta) -> Result<()> {
    let (machine, pid) = (dump.header.elf_mach, dump.header.pid);
    let fail = |what: String| Err(Error::input(file, None, what));
    if pid != own_pid {
        return fail(format!("is the jitdump of process {pid}, and not of {own_pid}"));
    }
    let arch = meta.string(FeatureId::ARCH);
    let runs = arch.as_deref().is_none_or(|arch| machine::runs(arch, machine));
    if !runs || u16::try_from(machine).is_err() || dump.endian != meta.endian {
        let order = if dump.endian == crate::abi::Endian::Big { "big" } else { "little" };
        let arch = arch.unwrap_or_else(|| "another machine".to_owned());
        return fail(format!(
            "is a jitdump of another machine ({order}-endian, e_machine {machine}): the recording is of {arch}"
        ));
    }
    Ok(())
}

/// A record that maps of an image are like: as the one that tells of the jitdump, of an event and CPU that there are.
fn like(mapped: &Record, path: &Path, image: &Image) -> Result<Record> {
    let mut record = mapped.clone();
    let Some(id) = Id::new(&image.build_id()) else { return Ok(record) };
    record.header.kind = RecordType::MMAP2;
    record.header.misc = Misc::from_bits_retain(CpuMode::USER.0) | Misc::MMAP_BUILD_ID;
    record.tail.clear();
    // As files are mapped of which code is run.
    let (prot, flags) = (1 | PROT_EXEC, 2);
    let filename = PaddedStr::new(path.as_os_str().as_encoded_bytes(), 8);
    let (pid, tid, addr, len, pgoff) = (0, 0, 0, 0, 0);
    record.body = Body::Mmap2(Mmap2 { pid, tid, addr, len, pgoff, file: id.of_map(), prot, flags, filename });
    Ok(record)
}
