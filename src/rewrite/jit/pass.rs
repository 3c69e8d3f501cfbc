//! Functions of jitdumps, told as maps of images: `--jit`.

use super::find::{dump_pid, is_for_code};
use super::images::{ImageOptions, Images};
use super::live::Live;
use super::options::JIT_DUMP;
use super::plan::{Mapped, Plan};
use crate::abi;
use crate::abi::record::time_conv::TimeConv;
use crate::abi::record::{Record, RecordType};
use crate::container::block::Origin;
use crate::container::read::ReadOptions;
use crate::error::Result;
use crate::rewrite::mmap::{Mmap, Names};
use crate::rewrite::option::{Outputs, Parameter, PassOption};
use crate::rewrite::pass::{Pass, PreScan};
use crate::rewrite::replacement::{Place, RecordBuffer};
use crate::rewrite::request::PassFactory;
use crate::stream::Sink;
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;
use crate::stream::order::Order;
use crate::stream::raw::Raw;
use crate::stream::stage::{Before, Stage};
use hashbrown::HashMap;
use std::path::PathBuf;

/// `--jit`.
const NAME: Parameter<()> = Parameter::flag("--jit");

/// The option of this pass.
pub const OPTION: PassOption = PassOption::new(
    &NAME,
    Outputs::All,
    "Tell functions that were compiled at run time by the jitdumps that the recording maps, as maps of images of them",
    |values| {
        let (places, values) = (values.of(&JIT_DUMP), values.clone());
        Ok(PassFactory::new(move |context| {
            JitPass::new(places.clone(), ImageOptions::new(&values, context), context.read.clone())
        }))
    },
)
.short('j');

/// The pass that tells, for each function of a jitdump, from when on it was where: a MMAP2 each, in the order of time, of one
/// image for all functions of a dump. Maps of anonymous memory in which functions are already go, as they would hide these.
#[derive(Debug, Default)]
pub struct JitPass {
    places: Vec<PathBuf>,
    options: ReadOptions,
    found: Found,
    images: Images,
    plan: Plan,
}

impl JitPass {
    /// With jitdumps in these places, or else where they were when the recording was made.
    pub fn new(places: Vec<PathBuf>, images: ImageOptions, options: ReadOptions) -> Self {
        let images = Images::new(images);
        Self { places, options, found: Found::default(), images, plan: Plan::default() }
    }
}

impl Pass for JitPass {
    fn name(&self) -> String {
        NAME.name().to_owned()
    }

    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
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
        self.plan.missing.iter().for_each(|what| ledger.missing(what.clone()));
    }
}

/// What a look finds.
#[derive(Debug, Default)]
struct Found {
    /// The jitdumps, in the order in which they were mapped.
    dumps: Vec<Mapped>,
    /// Which of them is at a path.
    by_path: HashMap<PathBuf, usize>,
    conv: Option<TimeConv>,
    names: Names,
}

/// Looks for jitdumps, and at its end makes the plan.
struct DumpScan<'a>(&'a mut JitPass);

impl Sink for DumpScan<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let found = &mut self.0.found;
        if raw.header().kind == RecordType::TIME_CONV {
            found.conv = abi::parse::<TimeConv>(raw.body(), raw.endian(), ()).ok().map(|(conv, _)| conv);
        }
        if !Mmap::is_mmap(raw.header().kind) {
            return Ok(());
        }
        let (Some(mmap), Some(record)) =
            (Mmap::read(meta, raw, &mut found.names), Record::read(raw.bytes(), &meta.context(raw)))
        else {
            return Ok(());
        };
        let Some(own_pid) = dump_pid(&mmap.filename) else { return Ok(()) };
        // Whoever else maps it is a child, or reads it; that which has its number is the one.
        let Ok(path) = std::str::from_utf8(&mmap.filename).map(PathBuf::from) else { return Ok(()) };
        let mapped = Mapped { pid: mmap.pid, own_pid, path, record };
        match found.by_path.get(&mapped.path).map(|&index| &mut found.dumps[index]) {
            None => {
                found.by_path.insert(mapped.path.clone(), found.dumps.len());
                found.dumps.push(mapped);
            }
            Some(other) if other.pid != own_pid && mapped.pid == own_pid => *other = mapped,
            Some(_) => {}
        }
        Ok(())
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        let JitPass { places, found, images, plan, .. } = &mut *self.0;
        *plan = Plan::new(&found.dumps, places, found.conv, meta, images)?;
        Ok(())
    }
}

/// Tells maps among records that come in the order of time.
struct Inject<'a> {
    plan: &'a Plan,
    /// How many maps are told.
    told: usize,
    /// What is told already, of each process.
    live: HashMap<u32, Live>,
    names: Names,
    changed: RecordBuffer,
}

impl<'a> Inject<'a> {
    fn new(plan: &'a Plan) -> Self {
        let (live, names, changed) = (HashMap::new(), Names::default(), RecordBuffer::default());
        Self { plan, told: 0, live, names, changed }
    }

    /// Tells all maps up to a time.
    fn emit(&mut self, meta: &Meta, time: u64, place: Place, sink: &mut (impl Sink + ?Sized)) -> Result<()> {
        while let Some(map) = self.plan.maps.get(self.told).filter(|map| map.time <= time) {
            self.told += 1;
            self.live.entry(map.pid).or_default().put(map.address, map.address.saturating_add(map.len));
            self.changed.record = self.plan.record(meta, map)?;
            self.changed.pass_at(sink, meta, place)?;
        }
        Ok(())
    }

    /// Whether a record maps memory in which functions are that were told before.
    fn hides(&mut self, meta: &Meta, raw: &Raw<'_>) -> bool {
        if !Mmap::is_mmap(raw.header().kind) {
            return false;
        }
        let Some(mmap) = Mmap::read(meta, raw, &mut self.names) else { return false };
        let Some(live) = self.live.get(&mmap.pid).filter(|_| is_for_code(&mmap.filename)) else { return false };
        live.has(mmap.start, mmap.start.saturating_add(mmap.len))
    }
}

impl<S: Sink + ?Sized> Stage<S> for Inject<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        if let Some(time) = meta.events.time(raw) {
            let place = Place { source: raw.block().source, base: raw.offset(), origin: raw.block().origin };
            self.emit(meta, time, place, sink)?;
        }
        if self.hides(meta, raw) { Ok(()) } else { sink.record(meta, raw) }
    }

    fn end(&mut self, meta: &Meta, sink: &mut S) -> Result<()> {
        self.emit(meta, u64::MAX, Place { source: 0, base: 0, origin: Origin::File }, sink)?;
        sink.end(meta)
    }
}
