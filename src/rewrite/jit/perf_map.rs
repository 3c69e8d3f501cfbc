//! Maps the memory of functions in `perf-PID.map` files to images: `--perf-map`.

use super::images::{ImageOptions, Images};
use crate::rewrite::build_ids::objects::PROT_EXEC;
use crate::rewrite::framework::mmap::{Mmap, Names};
use crate::rewrite::framework::pass::{Pass, PreScan};
use crate::rewrite::framework::pass_options::{PassContext, PassOptions};
use crate::rewrite::framework::record_function::RecordFunction;
use crate::rewrite::framework::replacement::RecordBuffer;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::mmap2::Mmap2;
use perf_data::abi::record::{Body, Misc, Record, RecordType};
use perf_data::abi::text::PaddedStr;
use perf_data::container::write::encoded;
use perf_data::error::{Error, Result};
use perf_data::session::map::{Map, PAGE};
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_symbols::object::build_id::Id;
use perf_symbols::object::image::{Image, ImageFunction};
use perf_symbols::object::jit_files::locate;
use perf_symbols::object::machine;
use perf_symbols::object::perf_map::MapFile;
use perf_symbols::object::recorded_file::{Owner, read_code_map};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Adds symbols of JIT-compiled functions from `perf-PID.map` files.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct PerfMap {
    /// Add symbols of JIT-compiled functions from /tmp/perf-PID.map, or from the files at PATH, in the same way; may be given more
    /// than once.
    #[cfg_attr(feature = "cli", arg(
            long = "perf-map",
            id = "perf_map",
            value_name = "PATH",
            value_parser = crate::option_values::existing_path_or_empty,
            num_args = 0..=1,
            require_equals = true,
            default_missing_value = "",
        ))]
    pub paths: Vec<PathBuf>,

    /// Directory to which --jit and --perf-map write their ELF images [default: that of the output].
    #[cfg_attr(feature = "cli", arg(long = "jit-dir", id = "jit_dir", value_name = "DIR", value_parser = crate::option_values::directory()))]
    pub dir: Option<PathBuf>,
}

impl PassOptions for PerfMap {
    fn pass(&self, context: &PassContext) -> Box<dyn Pass> {
        let paths = self.paths.iter().filter(|path| !path.as_os_str().is_empty()).cloned().collect();
        Box::new(PerfMapPass::new(paths, ImageOptions::new(self.dir.as_deref(), context)))
    }

    fn writes_names(&self) -> bool {
        true
    }
}

/// The pass that changes mappings of anonymous memory into mappings of an image with the functions of `perf-PID.map`. The file
/// has no times, so functions are mapped from beginning to end, and no mapping is added or removed.
#[derive(Debug, Default)]
pub(crate) struct PerfMapPass {
    paths: Vec<PathBuf>,
    images: Images,
    /// Memory for compiled code by process: disjoint ranges, end by start.
    memory: BTreeMap<u32, BTreeMap<u64, u64>>,
    names: Names,
    images_by_pid: BTreeMap<u32, ProcessImage>,
    notes: Vec<String>,
}

#[derive(Debug)]
struct ProcessImage {
    path: PathBuf,
    id: Id,
    /// Memory ranges in the image: end and offset in the image, by start.
    memory: BTreeMap<u64, (u64, u64)>,
}

impl PerfMapPass {
    /// Creates the pass. Map files are located in these paths, or in `/tmp` if there are none.
    pub(crate) fn new(paths: Vec<PathBuf>, images: ImageOptions) -> Self {
        Self { paths, images: Images::new(images), ..Self::default() }
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

    fn make_images(&mut self, meta: &Meta) -> Result<()> {
        let arch = meta.string(FeatureId::ARCH);
        // The machine is irrelevant for symbols.
        let machine = arch.as_deref().and_then(machine::by_arch).unwrap_or(object::elf::EM_X86_64.0);
        for (&pid, memory) in &self.memory {
            let recorded = PathBuf::from(format!("/tmp/perf-{pid}.map"));
            let Some(path) = locate(&self.paths, &recorded) else { continue };
            let file = path.display().to_string();
            let owner = if self.paths.is_empty() { Owner::OfProcess(pid) } else { Owner::Any };
            let bytes = match read_code_map(&path, owner) {
                Ok(bytes) => bytes,
                // A process of another user must not end the conversion.
                Err(error) => {
                    self.notes.push(format!("{file}: not used: {error}"));
                    continue;
                }
            };
            let functions = MapFile::read(&bytes);
            if functions.unreadable > 0 {
                self.notes.push(format!("{file}: {} malformed lines", functions.unreadable));
            }
            let end = memory.last_key_value().map_or(0, |(_, &end)| end);
            let mut image = Image::new(machine::target(machine, meta.endian, end));
            let Some((memory, outside)) = lay_out(&functions, memory, &mut image) else {
                self.notes.push(format!("{file}: no functions in executable anonymous memory"));
                continue;
            };
            if outside > 0 {
                self.notes.push(format!("{file}: {outside} functions are outside of executable anonymous memory"));
            }
            let path = self.images.add(&image, &format!("perf-{pid}.so"), &path)?;
            if let Some(id) = Id::new(&image.build_id()) {
                self.images_by_pid.insert(pid, ProcessImage { path, id, memory });
            }
        }
        if self.images_by_pid.is_empty() {
            let hint = match (&self.paths[..], self.memory.keys().next()) {
                (_, None) => "no process maps executable anonymous memory".to_owned(),
                ([], Some(pid)) => format!("no /tmp/perf-{pid}.map; use --perf-map=DIR to locate it"),
                (_, Some(pid)) => format!("no perf-{pid}.map with functions in executable anonymous memory"),
            };
            return Err(Error::not_found(format!("--perf-map: {hint}")));
        }
        Ok(())
    }
}

/// Decodes a mapping of memory for compiled code.
fn code_map(meta: &Meta, raw: &Raw<'_>, names: &mut Names) -> Option<Mmap> {
    if !Mmap::is_mmap(raw.header().kind) {
        return None;
    }
    let mmap = Mmap::read(meta, raw, names)?;
    // MMAP has no protection: perf treats mappings without MMAP_DATA as executable.
    let is_code = match raw.header().kind {
        RecordType::MMAP2 => mmap.prot & PROT_EXEC != 0,
        _ => !raw.header().misc.contains(Misc::MMAP_DATA),
    };
    (is_code && Map::may_be_jit_code(&mmap.filename)).then_some(mmap)
}

/// Memory ranges of a process in the image: end and offset in the image, by start.
type ImageRanges = BTreeMap<u64, (u64, u64)>;

/// Places the memory ranges that contain functions, and the functions in them, into the image; counts functions outside of all
/// ranges. `None` if there are none inside.
fn lay_out(file: &MapFile, memory: &BTreeMap<u64, u64>, image: &mut Image) -> Option<(ImageRanges, u64)> {
    let (mut ranges, mut outside) = (ImageRanges::new(), 0);
    for (start, end, name) in file.functions.iter() {
        let around = memory.range(..=start).next_back().filter(|&(_, &last)| last >= end);
        let Some((&from, &to)) = around else {
            outside += 1;
            continue;
        };
        let offset = match ranges.get(&from) {
            Some(&(_, offset)) => Some(offset),
            None => {
                // As for mmap, an address and its offset in the file are equal within a page.
                let offset = image.end().next_multiple_of(PAGE) + from % PAGE;
                let reached = offset.checked_add(to - from).and_then(|end| image.reach(end));
                reached.map(|()| ranges.insert(from, (to, offset))).map(|_| offset)
            }
        };
        let function = ImageFunction { name: name.clone(), size: end - start, ..ImageFunction::default() };
        if offset.and_then(|base| image.offset(base + (start - from), function)).is_none() {
            outside += 1;
        }
    }
    (!ranges.is_empty()).then_some((ranges, outside))
}

impl Pass for PerfMapPass {
    fn name(&self) -> String {
        "--perf-map".to_owned()
    }

    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        // A conversion may read the recording more than once.
        self.images.discard();
        self.memory.clear();
        self.images_by_pid.clear();
        self.notes.clear();
        Some(PreScan::in_file_order(MemoryScan(self)))
    }

    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        let (mut names, mut changed) = (Names::default(), RecordBuffer::default());
        let images = &self.images_by_pid;
        Box::new(RecordFunction::new(sink, move |meta, raw, sink| match rewritten(meta, raw, images, &mut names)? {
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

/// The record that maps the image; `None` if the record is unchanged.
fn rewritten(
    meta: &Meta,
    raw: &Raw<'_>,
    images: &BTreeMap<u32, ProcessImage>,
    names: &mut Names,
) -> Result<Option<Vec<u8>>> {
    let Some(mmap) = code_map(meta, raw, names) else { return Ok(None) };
    let Some(image) = images.get(&mmap.pid) else { return Ok(None) };
    let around = image.memory.range(..=mmap.start).next_back();
    let Some((&from, &(_, offset))) = around.filter(|(_, (to, _))| *to >= mmap.start.saturating_add(mmap.len)) else {
        return Ok(None);
    };
    let Some(mut record) = Record::read(raw.bytes(), &meta.context(raw)) else { return Ok(None) };
    let filename = filename(&image.path);
    let (pgoff, file) = (offset + (mmap.start - from), image.id.into_mapped_file());
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

/// The pre-scan: collects memory for compiled code, and creates images at its end.
struct MemoryScan<'a>(&'a mut PerfMapPass);

impl Sink for MemoryScan<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        self.0.map(meta, raw);
        Ok(())
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.0.make_images(meta)
    }
}
