//! Maps the functions of jitdumps to images: `--jit`.

use super::images::{ImageOptions, Images};
use super::plan::{Mapped, Plan};
use crate::rewrite::framework::mmap::{Mmap, Names};
use crate::rewrite::framework::pass::{Pass, PreScan};
use crate::rewrite::framework::pass_options::{PassContext, PassOptions};
use crate::rewrite::framework::replacement::{RecordBuffer, RecordPlacement};
use hashbrown::HashMap;
use perf_data::abi;
use perf_data::abi::record::time_conv::TimeConv;
use perf_data::abi::record::{Record, RecordType};
use perf_data::container::block::Origin;
use perf_data::container::read::ReadOptions;
use perf_data::error::Result;
use perf_data::session::map::Map;
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::order::Order;
use perf_data::stream::raw::Raw;
use perf_data::stream::stage::{Before, Stage};
use perf_symbols::object::function_ranges::FunctionRanges;
use perf_symbols::object::jit_files::dump_pid;
use std::path::PathBuf;

/// Adds symbols of JIT-compiled functions from jitdumps.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Jit {
    /// Jitdump, or directory of jitdumps, that are no longer at their recorded paths; may be given more than once.
    #[cfg_attr(feature = "cli", arg(long = "jit-dump", id = "jit_dump", value_name = "PATH", value_parser = crate::option_values::existing_path()))]
    pub dumps: Vec<PathBuf>,

    /// Directory to which --jit and --perf-map write their ELF images [default: that of the output].
    #[cfg_attr(feature = "cli", arg(long = "jit-dir", id = "jit_dir", value_name = "DIR", value_parser = crate::option_values::directory()))]
    pub dir: Option<PathBuf>,
}

impl PassOptions for Jit {
    fn pass(&self, context: &PassContext) -> Box<dyn Pass> {
        let images = ImageOptions::new(self.dir.as_deref(), context);
        Box::new(JitPass::new(self.dumps.clone(), images, context.read.clone()))
    }

    fn writes_names(&self) -> bool {
        true
    }
}

/// The pass that inserts a MMAP2 record, in time order, for each address that a function of a jitdump had over time. It maps the
/// one image of the jitdump. Mappings of anonymous memory over functions already mapped are removed, as they would hide these.
#[derive(Debug, Default)]
pub struct JitPass {
    paths: Vec<PathBuf>,
    options: ReadOptions,
    scan: JitScan,
    images: Images,
    plan: Plan,
}

impl JitPass {
    /// Creates the pass. Jitdumps are located in these paths, or at their recorded paths if there are none.
    pub fn new(paths: Vec<PathBuf>, images: ImageOptions, options: ReadOptions) -> Self {
        let images = Images::new(images);
        Self { paths, options, scan: JitScan::default(), images, plan: Plan::default() }
    }
}

impl Pass for JitPass {
    fn name(&self) -> String {
        "--jit".to_owned()
    }

    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        // A conversion may read the recording more than once.
        self.scan = JitScan::default();
        self.images.discard();
        Some(PreScan::in_file_order(DumpScan(self)))
    }

    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        Box::new(Order::new(Before::new(Inject::new(&self.plan), sink), self.options.clone()))
    }

    fn finish(&mut self) -> Result<()> {
        self.images.put_in_place()
    }

    fn report(&self, ledger: &mut Ledger) {
        self.plan.damage.iter().for_each(|damage| ledger.damage(damage.clone()));
        self.plan.notes.iter().for_each(|note| ledger.note(note.clone()));
        self.plan.missing.iter().for_each(|missing| ledger.missing(missing.clone()));
    }
}

/// The results of the pre-scan.
#[derive(Debug, Default)]
struct JitScan {
    /// The jitdumps, in the order in which they were mapped.
    dumps: Vec<Mapped>,
    /// Index of each jitdump by path.
    by_path: HashMap<PathBuf, usize>,
    conv: Option<TimeConv>,
    names: Names,
}

/// The pre-scan: finds jitdumps, and creates the plan at its end.
struct DumpScan<'a>(&'a mut JitPass);

impl Sink for DumpScan<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let scan = &mut self.0.scan;
        if raw.header().kind == RecordType::TIME_CONV {
            scan.conv = abi::parse::<TimeConv>(raw.body(), raw.endian(), ()).ok().map(|(conv, _)| conv);
        }
        if !Mmap::is_mmap(raw.header().kind) {
            return Ok(());
        }
        let (Some(mmap), Some(record)) =
            (Mmap::read(meta, raw, &mut scan.names), Record::read(raw.bytes(), &meta.context(raw)))
        else {
            return Ok(());
        };
        let Some(own_pid) = dump_pid(&mmap.filename) else { return Ok(()) };
        // Other processes that map the file are children or readers; the one in the file's name wrote it.
        let Ok(path) = std::str::from_utf8(&mmap.filename).map(PathBuf::from) else { return Ok(()) };
        let mapped = Mapped { pid: mmap.pid, own_pid, path, record };
        match scan.by_path.get(&mapped.path).map(|&index| &mut scan.dumps[index]) {
            None => {
                scan.by_path.insert(mapped.path.clone(), scan.dumps.len());
                scan.dumps.push(mapped);
            }
            Some(other) if other.pid != own_pid && mapped.pid == own_pid => *other = mapped,
            Some(_) => {}
        }
        Ok(())
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        let JitPass { paths, scan, images, plan, .. } = &mut *self.0;
        *plan = Plan::new(&scan.dumps, paths, scan.conv, meta, images)?;
        Ok(())
    }
}

/// Inserts mappings into records in time order.
struct Inject<'a> {
    plan: &'a Plan,
    /// Number of mappings inserted so far.
    inserted: usize,
    /// The functions mapped so far, by process.
    live: HashMap<u32, FunctionRanges<()>>,
    names: Names,
    changed: RecordBuffer,
}

impl<'a> Inject<'a> {
    fn new(plan: &'a Plan) -> Self {
        let (live, names, changed) = (HashMap::new(), Names::default(), RecordBuffer::default());
        Self { plan, inserted: 0, live, names, changed }
    }

    /// Inserts all mappings up to a time.
    fn emit(
        &mut self,
        meta: &Meta,
        time: u64,
        placement: RecordPlacement,
        sink: &mut (impl Sink + ?Sized),
    ) -> Result<()> {
        while let Some(map) = self.plan.maps.get(self.inserted).filter(|map| map.time <= time) {
            self.inserted += 1;
            self.live.entry(map.pid).or_default().insert(map.address, map.address.saturating_add(map.len), ());
            self.changed.record = self.plan.record(meta, map)?;
            self.changed.pass_at(sink, meta, placement)?;
        }
        Ok(())
    }

    /// Whether a record maps memory over functions that are already mapped.
    fn hides(&mut self, meta: &Meta, raw: &Raw<'_>) -> bool {
        if !Mmap::is_mmap(raw.header().kind) {
            return false;
        }
        let Some(mmap) = Mmap::read(meta, raw, &mut self.names) else { return false };
        let Some(live) = self.live.get(&mmap.pid).filter(|_| Map::may_be_jit_code(&mmap.filename)) else {
            return false;
        };
        live.overlaps(mmap.start, mmap.start.saturating_add(mmap.len))
    }
}

impl<S: Sink + ?Sized> Stage<S> for Inject<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        if let Some(time) = meta.events.time(raw) {
            let placement =
                RecordPlacement { source: raw.block().source, base: raw.offset(), origin: raw.block().origin };
            self.emit(meta, time, placement, sink)?;
        }
        if self.hides(meta, raw) { Ok(()) } else { sink.record(meta, raw) }
    }

    fn end(&mut self, meta: &Meta, sink: &mut S) -> Result<()> {
        self.emit(meta, u64::MAX, RecordPlacement { source: 0, base: 0, origin: Origin::File }, sink)?;
        sink.end(meta)
    }
}
