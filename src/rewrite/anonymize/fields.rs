//! Anonymizes fields by their role.

use super::addresses::Mapped;
use super::category::Category;
use super::replace::{Replacer, START};
use super::vocabulary::{self, has, has_numbered};
use perf_data::abi::attr::Attr;
use perf_data::abi::feature::string::PerfStr;
use perf_data::abi::feature::tracing_data::TracingData;
use perf_data::abi::feature::{FeatureId, FeatureSection};
use perf_data::abi::fields::{
    Clear, EventRef, FieldVisitor, InodeFields, MappingFields, TaskField, TextField, TextRole, VisitFields,
    ignore_roles,
};
use perf_data::abi::record::build_id::BuildId;
use perf_data::abi::record::{CpuMode, Misc, Record, RecordHeader};
use perf_data::abi::sample::Sample;
use perf_data::abi::sample::callchain::Context;
use perf_data::error::Result;
use perf_data::session::space::Space;
use perf_data::stream::meta::Meta;

/// Maximum size of a feature in a record.
const MAX_FEATURE: usize = u16::MAX as usize - RecordHeader::SIZE - size_of::<u64>();

impl Replacer {
    /// Replaces the fields of a record; returns false if the record is removed.
    pub(super) fn record_fields(&mut self, record: &mut Record, meta: &Meta) -> Result<bool> {
        let record_context = Some((meta, record.header.misc));
        let mut anonymizer = Anonymizer { replace: self, record_context, outcome: Ok(Outcome::Kept) };
        record.body.visit_fields(&mut anonymizer);
        Ok(match anonymizer.outcome? {
            Outcome::Kept => true,
            Outcome::Unknown => self.drop_record(record.header.kind),
            Outcome::Dropped => false,
        })
    }

    /// Replaces the fields of a sample.
    pub(super) fn sample_fields(&mut self, sample: &mut Sample) {
        sample.visit_fields(&mut Anonymizer { replace: self, record_context: None, outcome: Ok(Outcome::Kept) });
    }

    /// Replaces the fields of a feature; returns false if the feature is removed.
    pub(super) fn feature_fields(&mut self, section: &mut FeatureSection) -> bool {
        let mut anonymizer = Anonymizer { replace: self, record_context: None, outcome: Ok(Outcome::Kept) };
        section.feature.visit_fields(&mut anonymizer);
        matches!(anonymizer.outcome, Ok(Outcome::Kept))
    }
}

/// The outcome for a record or feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// Kept, with replaced fields.
    Kept,
    /// Contains unknown data.
    Unknown,
    /// Removed, and already counted.
    Dropped,
}

/// Replaces the fields of a record or feature.
struct Anonymizer<'a> {
    replace: &'a mut Replacer,
    /// For a record: the metadata, and its misc word.
    record_context: Option<(&'a Meta, Misc)>,
    outcome: Result<Outcome>,
}

impl perf_data::abi::fields::InWorkspace for Anonymizer<'_> {}

impl FieldVisitor for Anonymizer<'_> {
    fn task(&mut self, mut task: TaskField<'_>) {
        match task.get() {
            Some(number) => task.set(self.replace.pid(number)),
            None => task.set_none(),
        }
    }

    fn own_process(&mut self, process: TaskField<'_>) {
        self.task(process);
    }

    fn guest(&mut self, task: TaskField<'_>) {
        self.task(task);
    }

    fn time(&mut self, time: &mut u64) {
        *time = self.replace.time(*time);
    }

    fn clock_origin(&mut self, time: &mut u64) {
        if self.replace.replaces(Category::Times) {
            // Times are derived from this origin and a cycle count.
            *time = time.wrapping_sub(self.replace.first_time).wrapping_add(START);
        }
    }

    fn own_event_id(&mut self, id: &mut u64) {
        *id = self.replace.id(*id);
    }

    fn event_id(&mut self, id: &mut u64) {
        *id = self.replace.id(*id);
    }

    fn attr(&mut self, attr: &mut Attr) {
        *attr = self.replace.attr(attr);
        if self.record_context.is_some() {
            attr.size = attr.stored_size() as u32;
        }
    }

    fn text(&mut self, role: TextRole<'_>, mut field: TextField<'_>) {
        let event = match role {
            TextRole::Event(EventRef::Attr(attr)) => Some(attr),
            TextRole::Event(EventRef::Id(id)) => self
                .record_context
                .and_then(|(meta, _)| meta.events.by_id(id).map(|number| &meta.events.list()[number as usize].attr)),
            _ => None,
        };
        let to = self.replace.text(role, field.text(), event);
        field.set(&to);
    }

    fn command_line(&mut self, words: &mut [PerfStr]) {
        self.replace.cmdline(words);
    }

    fn mapping(&mut self, mut mapping: MappingFields<'_>) {
        let misc = self.record_context.map_or(Misc::empty(), |(_, misc)| misc);
        self.replace.mapped(Mapped::from_fields(misc, &mapping), &mut mapping);
        let filename = self.replace.map(mapping.filename.text());
        mapping.filename.set(&filename);
    }

    fn address(&mut self, mode: CpuMode, address: &mut u64) {
        *address = self.replace.address(mode.into(), *address);
    }

    fn code(&mut self, mode: CpuMode, start: &mut u64, _: u64) {
        self.address(mode, start);
    }

    fn callchain(&mut self, mode: CpuMode, ips: &mut [u64]) {
        let mut space = Space::from(mode);
        for ip in ips {
            space = Context::of(*ip).map_or(space, Space::from);
            *ip = self.replace.address(space, *ip);
        }
    }

    fn inode(&mut self, inode: InodeFields<'_>) {
        let parts = [(*inode.maj).into(), (*inode.min).into(), *inode.ino, *inode.generation];
        if let Some(to) = self.replace.inode(parts) {
            (*inode.maj, *inode.min, *inode.ino, *inode.generation) = (0, 0, to, 0);
        }
    }

    fn namespace(&mut self, dev: &mut u64, ino: &mut u64) {
        (*dev, *ino) = self.replace.namespace(*dev, *ino);
    }

    fn build_id(&mut self, id: &mut [u8; 20], size: &mut u8) {
        let len = usize::from(*size).min(id.len());
        self.replace.build_id(&mut id[..len]);
        id[len..].fill(0);
        *size = len as u8;
    }

    fn file_build_id(&mut self, build_id: &mut BuildId) {
        let misc = self.record_context.map_or(Misc::empty(), |(_, misc)| misc);
        // Following entries are located by the end of the name.
        *build_id = self.replace.build_id_entry(misc, build_id, 1);
    }

    fn cgroup_id(&mut self, id: &mut u64) {
        *id = self.replace.cgroup_id(*id);
    }

    fn bpf_tag(&mut self, tag: &mut [u8; 8]) {
        *tag = self.replace.tag(*tag);
    }

    fn feature(&mut self, id: FeatureId, content: &mut Vec<u8>) {
        let Some((meta, _)) = self.record_context else { return };
        match self.replace.feature(id, content, meta) {
            Ok(Some(data)) if data.len() <= MAX_FEATURE => *content = data,
            Ok(Some(_)) => {
                self.replace.note_removal(format!("the feature {id}, whose replacement is too long for a pipe"));
                self.outcome = Ok(Outcome::Dropped);
            }
            Ok(None) => self.outcome = Ok(Outcome::Dropped),
            Err(error) => self.outcome = Err(error),
        }
    }

    fn tracing_data(&mut self, data: &mut TracingData) {
        if self.replace.replaces(Category::Raw) {
            *data = self.replace.formats(data);
        }
    }

    fn opaque(&mut self, bytes: &mut dyn Clear) {
        bytes.clear();
    }

    fn unknown(&mut self) {
        self.outcome = Ok(Outcome::Unknown);
    }

    // A duration identifies neither a person nor a machine.
    ignore_roles! { elapsed }
}

impl Replacer {
    /// Anonymizes a text by its role; `event` is the attr of an event name.
    fn text(&mut self, role: TextRole<'_>, text: &[u8], event: Option<&Attr>) -> Vec<u8> {
        match role {
            TextRole::Path => self.map(text),
            TextRole::Comm(tid) => self.comm(text, tid),
            TextRole::Cgroup => self.cgroup_path(text),
            TextRole::Symbol => self.symbol(text),
            TextRole::Event(_) => self.event_name(text, event),
            TextRole::Tracepoint => self.tracepoint_name(text),
            TextRole::Unit => self.unit(text),
            TextRole::Pmu => self.pmu(text),
            TextRole::Host if self.replaces(Category::Host) => self.names.name(text),
            TextRole::Version if self.replaces(Category::Host) => self.names.version(text),
            TextRole::Arch => self.unless_known(text, |text| has(vocabulary::ARCHES, text)),
            TextRole::Topology => self.unless_known(text, is_topology),
            TextRole::Any => self.names.name(text),
            TextRole::Host | TextRole::Version | TextRole::Hardware => text.to_vec(),
        }
    }

    /// Keeps a text that is common to all machines of a kind.
    fn unless_known(&mut self, text: &[u8], is_known: impl Fn(&[u8]) -> bool) -> Vec<u8> {
        if is_known(text) || !self.replaces(Category::Host) { text.to_vec() } else { self.names.name(text) }
    }

    /// Replaces the addresses of a mapping.
    fn mapped(&mut self, mapped: Mapped, mapping: &mut MappingFields<'_>) {
        if self.kept.has(Category::Addresses) {
            return;
        }
        *mapping.addr = self.address(mapped.space, mapped.start);
        *mapping.len = mapped.len.min(u64::MAX - *mapping.addr);
        // Without a file, the offset is an address; of a device it may be anything (physical for `/dev/mem`); of the kernel it is
        // the address of its first symbol.
        let name = mapping.filename.text();
        let is_file = name.starts_with(b"/") && !name.starts_with(b"//") && !name.starts_with(b"/dev/");
        if mapped.is_kernel || !is_file || *mapping.pgoff >= 1 << 63 {
            *mapping.pgoff = self.address(mapped.space, *mapping.pgoff);
        }
    }

    /// Anonymizes the unit of an event.
    fn unit(&mut self, unit: &[u8]) -> Vec<u8> {
        let is_common = unit.is_empty() || has(vocabulary::UNITS, unit);
        if is_common || !self.replaces(Category::Events) { unit.to_vec() } else { self.names.name(unit) }
    }

    /// Anonymizes a PMU name.
    fn pmu(&mut self, name: &[u8]) -> Vec<u8> {
        let names_model = !self.kept.has(Category::Machine) && vocabulary::names_model(name);
        let is_known = has_numbered(vocabulary::PMUS, name) || self.kept.has(Category::Events);
        if is_known && !names_model {
            return name.to_vec();
        }
        self.replaces(if is_known { Category::Machine } else { Category::Events });
        self.names.name(name)
    }
}

/// Whether this is a list of CPUs, a size or another topology term.
fn is_topology(text: &[u8]) -> bool {
    text.iter().all(|byte| b"0123456789abcdef,-KMGx \n".contains(byte)) || has(vocabulary::TOPOLOGY, text)
}
