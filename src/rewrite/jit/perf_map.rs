//! Functions of `perf-PID.map` files, told by the maps of the memory that they are in: `--perf-map`.

use super::find::{is_for_code, locate};
use super::images::{ImageOptions, Images};
use super::map_file::MapFile;
use crate::abi::feature::FeatureId;
use crate::abi::record::mmap2::Mmap2;
use crate::abi::record::{Body, Misc, Record, RecordType};
use crate::abi::text::PaddedStr;
use crate::container::spool::map;
use crate::container::write::encoded;
use crate::error::{Error, Result};
use crate::object::image::{Function, Image};
use crate::object::machine;
use crate::rewrite::build_ids::id::Id;
use crate::rewrite::build_ids::objects::PROT_EXEC;
use crate::rewrite::each::Each;
use crate::rewrite::mmap::{Mmap, Names};
use crate::rewrite::option::{Outputs, Parameter, PassOption};
use crate::rewrite::option_values::existing_path;
use crate::rewrite::pass::{Pass, PreScan};
use crate::rewrite::replacement::RecordBuffer;
use crate::rewrite::request::PassFactory;
use crate::stream::Sink;
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// `--perf-map`: where map files are; none of them for where programs write them.
const PERF_MAP: Parameter<Vec<PathBuf>> = Parameter::optional("--perf-map", "PATH", |text| {
    if text.is_empty() { Ok(Vec::new()) } else { existing_path(text).map(|path| vec![path]) }
});

/// The option of this pass.
pub const OPTIONS: &[PassOption] = &[PassOption::new(
    &PERF_MAP,
    Outputs::All,
    "Tell functions of /tmp/perf-PID.map files, or of those in a folder, as maps of images of them; may be given more than once",
    |values| {
        let (places, values) = (values.of(&PERF_MAP).concat(), values.clone());
        Ok(PassFactory::new(move |context| PerfMapPass::new(places.clone(), ImageOptions::new(&values, context))))
    },
)];

/// The pass by which maps of anonymous memory become maps of an image, in which the functions are that a `perf-PID.map` tells
/// there. As such a file tells no times, a function is there from the beginning to the end; so no map is added, and none goes.
#[derive(Debug, Default)]
pub struct PerfMapPass {
    places: Vec<PathBuf>,
    images: Images,
    /// Memory that code may be compiled into, by process: ends by beginnings, of which none reaches into another.
    memory: BTreeMap<u32, BTreeMap<u64, u64>>,
    names: Names,
    /// By process.
    made: BTreeMap<u32, Made>,
    notes: Vec<String>,
}

/// The image of a process.
#[derive(Debug)]
struct Made {
    path: PathBuf,
    id: Id,
    /// Ends of memory that it has, and where that is in it, by beginnings.
    memory: BTreeMap<u64, (u64, u64)>,
}

/// As pages are that memory consists of.
const PAGE: u64 = 4096;

impl PerfMapPass {
    /// With map files in these places, or else in `/tmp`, where programs write them.
    pub fn new(places: Vec<PathBuf>, images: ImageOptions) -> Self {
        Self { places, images: Images::new(images), ..Self::default() }
    }

    fn map(&mut self, meta: &Meta, raw: &Raw<'_>) {
        if let Some(mmap) = code_map(meta, raw, &mut self.names) {
            let memory = self.memory.entry(mmap.pid).or_default();
            let (mut start, mut end) = (mmap.start, mmap.start.saturating_add(mmap.len));
            while let Some((&at, &last)) = memory.range(..=end).next_back().filter(|&(_, &last)| last >= start) {
                memory.remove(&at);
                (start, end) = (start.min(at), end.max(last));
            }
            memory.insert(start, end);
        }
    }

    fn make(&mut self, meta: &Meta) -> Result<()> {
        let arch = meta.string(FeatureId::ARCH);
        // Readers of names do not mind the machine.
        let machine = arch.as_deref().and_then(machine::of_arch).unwrap_or(object::elf::EM_X86_64.0);
        for (&pid, memory) in &self.memory {
            let recorded = PathBuf::from(format!("/tmp/perf-{pid}.map"));
            let Some(path) = locate(&self.places, &recorded) else { continue };
            let file = path.display().to_string();
            let bytes = File::open(&path).and_then(|file| map(&file)).map_err(Error::io(&file, "cannot read"))?;
            let functions = MapFile::read(&bytes);
            if functions.unreadable > 0 {
                self.notes.push(format!("{file}: {} lines tell no function", functions.unreadable));
            }
            let end = memory.last_key_value().map_or(0, |(_, &end)| end);
            let mut image = Image::new(machine::target(machine, meta.endian, end));
            let Some((memory, outside)) = lay_out(&functions, memory, &mut image) else {
                self.notes.push(format!("{file}: no function is in memory that was mapped to be executed"));
                continue;
            };
            if outside > 0 {
                self.notes
                    .push(format!("{file}: {outside} functions are not in memory that was mapped to be executed"));
            }
            let path = self.images.add(&image, &format!("perf-{pid}.so"), &path)?;
            if let Some(id) = Id::new(&image.build_id()) {
                self.made.insert(pid, Made { path, id, memory });
            }
        }
        if self.made.is_empty() {
            let hint = match (&self.places[..], self.memory.keys().next()) {
                (_, None) => "no process maps memory that code is compiled into".to_owned(),
                ([], Some(pid)) => format!("there is no /tmp/perf-{pid}.map; --perf-map=DIR tells where it is"),
                (_, Some(pid)) => format!("there is no perf-{pid}.map with functions in such memory"),
            };
            return Err(Error::not_found(format!("--perf-map: {hint}")));
        }
        Ok(())
    }
}

/// The map of memory that code may be compiled into, if a record tells one.
fn code_map(meta: &Meta, raw: &Raw<'_>, names: &mut Names) -> Option<Mmap> {
    if !Mmap::is_mmap(raw.header().kind) {
        return None;
    }
    let mmap = Mmap::read(meta, raw, names)?;
    let is_code = match raw.header().kind {
        RecordType::MMAP2 => mmap.prot & PROT_EXEC != 0,
        _ => !raw.header().misc.contains(Misc::MMAP_DATA),
    };
    (is_code && is_for_code(&mmap.filename)).then_some(mmap)
}

/// Memory of a process, and where each part of it is in the image: end and place by beginning.
type Places = BTreeMap<u64, (u64, u64)>;

/// Gives memory in which functions are a place in the image, and the functions theirs in that; and counts functions outside.
/// `None` where there are none inside.
fn lay_out(file: &MapFile, memory: &BTreeMap<u64, u64>, image: &mut Image) -> Option<(Places, u64)> {
    let (mut places, mut outside) = (Places::new(), 0);
    for (&start, (end, name)) in &file.functions {
        let around = memory.range(..=start).next_back().filter(|&(_, &last)| last >= *end);
        let Some((&from, &to)) = around else {
            outside += 1;
            continue;
        };
        let place = match places.get(&from) {
            Some(&(_, place)) => Some(place),
            None => {
                let place = image.end().next_multiple_of(PAGE) + from % PAGE;
                let reached = place.checked_add(to - from).and_then(|end| image.reach(end));
                reached.map(|()| places.insert(from, (to, place))).map(|_| place)
            }
        };
        let function = Function { name: name.clone(), size: end - start, ..Function::default() };
        if place.and_then(|place| image.place(place + (start - from), function)).is_none() {
            outside += 1;
        }
    }
    (!places.is_empty()).then_some((places, outside))
}

impl Pass for PerfMapPass {
    fn name(&self) -> String {
        PERF_MAP.name().to_owned()
    }

    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        Some(PreScan::in_file_order(MemoryScan(self)))
    }

    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        let (mut names, mut changed) = (Names::default(), RecordBuffer::default());
        let made = &self.made;
        Box::new(Each::new(sink, move |meta, raw, sink| match rewritten(meta, raw, made, &mut names)? {
            None => sink.record(meta, raw),
            Some(record) => {
                changed.record = record;
                changed.pass(sink, meta, raw)
            }
        }))
    }

    fn finish(&mut self) -> Result<()> {
        self.images.put_in_place()
    }

    fn report(&self, ledger: &mut Ledger) {
        self.notes.iter().for_each(|note| ledger.note(note.clone()));
    }
}

/// The record that maps the image in the place of memory; `None` where it stays.
fn rewritten(meta: &Meta, raw: &Raw<'_>, made: &BTreeMap<u32, Made>, names: &mut Names) -> Result<Option<Vec<u8>>> {
    let Some(mmap) = code_map(meta, raw, names) else { return Ok(None) };
    let Some(image) = made.get(&mmap.pid) else { return Ok(None) };
    let around = image.memory.range(..=mmap.start).next_back();
    let Some((&from, &(_, place))) = around.filter(|(_, (to, _))| *to >= mmap.start.saturating_add(mmap.len)) else {
        return Ok(None);
    };
    let Some(mut record) = Record::read(raw.bytes(), &meta.context(raw)) else { return Ok(None) };
    let filename = filename(&image.path);
    let (pgoff, file) = (place + (mmap.start - from), image.id.of_map());
    record.body = match record.body {
        Body::Mmap2(mmap) => Body::Mmap2(Mmap2 { pgoff, file, filename, ..mmap }),
        Body::Mmap(mmap) => {
            let (pid, tid, addr, len) = (mmap.pid, mmap.tid, mmap.addr, mmap.len);
            Body::Mmap2(Mmap2 { pid, tid, addr, len, pgoff, file, prot: PROT_EXEC, flags: 0, filename })
        }
        _ => return Ok(None),
    };
    record.header.kind = RecordType::MMAP2;
    record.header.misc |= Misc::MMAP_BUILD_ID;
    encoded(record.to_bytes(raw.endian())).map(Some)
}

fn filename(path: &Path) -> PaddedStr {
    PaddedStr::new(path.as_os_str().as_encoded_bytes(), 8)
}

/// Looks for memory that code may be compiled into, and at its end makes images.
struct MemoryScan<'a>(&'a mut PerfMapPass);

impl Sink for MemoryScan<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        self.0.map(meta, raw);
        Ok(())
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.0.make(meta)
    }
}
