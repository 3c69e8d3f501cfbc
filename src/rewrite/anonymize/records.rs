//! Records other than samples, by their parts: what no definition covers does not go along.

use super::addresses::Mapped;
use super::category::What;
use super::replace::{Replace, START};
use crate::abi::callchain::Context;
use crate::abi::read_format::ReadValues;
use crate::abi::record::build_id::BuildId;
use crate::abi::record::event_update::EventUpdateValue;
use crate::abi::record::namespaces::Namespace;
use crate::abi::record::{Body, CpuMode, Misc, Record, RecordHeader, RecordType};
use crate::abi::sample_id::SampleId;
use crate::abi::text::{FixedStr, PaddedStr};
use crate::container::write::encoded;
use crate::error::Result;
use crate::session::space::Space;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;

/// Padding of text, as the kernel pads.
const ALIGN: usize = 8;

/// What a record has room for behind the number of a feature.
const LONGEST_FEATURE: usize = u16::MAX as usize - RecordHeader::SIZE - size_of::<u64>();

impl Replace {
    /// The record in another one's place; `None` where none is. What follows it and is not counted in its size is not there
    /// yet.
    ///
    /// # Errors
    /// Where what it is then is more than a record can hold.
    pub fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<Option<Vec<u8>>> {
        let kind = raw.header().kind;
        let is_kernels = kind < RecordType::USER_START;
        if is_kernels && !meta.events.list().is_empty() && meta.events.of(raw).is_none() {
            self.leave_out("records of unknown events");
            return Ok(None);
        }
        let Some(mut record) = Record::read(raw.bytes(), &meta.context(raw)) else { return Ok(None) };
        record.tail.clear();
        if let Some(id) = &mut record.id {
            self.trailer(id);
        }
        if !self.body(&mut record, meta)? {
            return Ok(None);
        }
        let mut bytes = encoded(record.to_bytes(raw.endian()))?;
        // Features have the size that they have.
        let missing = bytes.len().next_multiple_of(ALIGN) - bytes.len();
        if missing > 0 && kind != RecordType::HEADER_FEATURE {
            record.tail = vec![0; missing];
            bytes = encoded(record.to_bytes(raw.endian()))?;
        }
        Ok(Some(bytes))
    }

    fn trailer(&mut self, id: &mut SampleId) {
        id.task = id.task.map(|(pid, tid)| (self.pid(pid), self.pid(tid)));
        id.time = id.time.map(|time| self.time(time));
        for id in [&mut id.id, &mut id.stream_id, &mut id.identifier].into_iter().flatten() {
            *id = self.id(*id);
        }
        id.cpu = id.cpu.map(|(cpu, _)| (cpu, 0));
    }

    fn task(&mut self, pid: &mut u32, tid: &mut u32) {
        (*pid, *tid) = (self.pid(*pid), self.pid(*tid));
    }

    /// Replaces what a record tells. False where it goes as a whole.
    fn body(&mut self, record: &mut Record, meta: &Meta) -> Result<bool> {
        let RecordHeader { kind, misc, .. } = record.header;
        match &mut record.body {
            Body::Mmap(map) => {
                let mapped = Mapped::new(misc, map.pid, map.addr, map.len, map.pgoff, map.filename.text());
                self.mapped(&mapped, map.filename.text(), &mut map.addr, &mut map.len, &mut map.pgoff);
                self.task(&mut map.pid, &mut map.tid);
                map.filename = PaddedStr::new(&self.map(map.filename.text()), ALIGN);
            }
            Body::Mmap2(map) => {
                let mapped = Mapped::new(misc, map.pid, map.addr, map.len, map.pgoff, map.filename.text());
                self.mapped(&mapped, map.filename.text(), &mut map.addr, &mut map.len, &mut map.pgoff);
                self.task(&mut map.pid, &mut map.tid);
                map.file = self.file(map.file);
                map.filename = PaddedStr::new(&self.map(map.filename.text()), ALIGN);
            }
            Body::Comm(comm) => {
                comm.comm = PaddedStr::new(&self.comm(comm.comm.text(), comm.tid), ALIGN);
                self.task(&mut comm.pid, &mut comm.tid);
            }
            Body::Fork(task) | Body::Exit(task) => {
                self.task(&mut task.pid, &mut task.tid);
                self.task(&mut task.ppid, &mut task.ptid);
                task.time = self.time(task.time);
            }
            Body::Throttle(throttle) | Body::Unthrottle(throttle) => {
                throttle.time = self.time(throttle.time);
                (throttle.id, throttle.stream_id) = (self.id(throttle.id), self.id(throttle.stream_id));
            }
            Body::Read(read) => {
                self.task(&mut read.pid, &mut read.tid);
                match &mut read.values {
                    ReadValues::Single { id, .. } => *id = id.map(|id| self.id(id)),
                    ReadValues::Group { values, .. } => {
                        values.iter_mut().for_each(|value| value.id = value.id.map(|id| self.id(id)));
                    }
                }
            }
            Body::Lost(lost) => lost.id = self.id(lost.id),
            Body::Stat(stat) => stat.id = self.id(stat.id),
            Body::ItraceStart(start) => self.task(&mut start.pid, &mut start.tid),
            Body::SwitchCpuWide(switch) => self.task(&mut switch.next_prev_pid, &mut switch.next_prev_tid),
            Body::Namespaces(namespaces) => {
                self.task(&mut namespaces.pid, &mut namespaces.tid);
                for Namespace { dev, ino } in &mut namespaces.link_info {
                    (*dev, *ino) = self.namespace(*dev, *ino);
                }
            }
            Body::Ksymbol(symbol) => {
                symbol.addr = self.address(Space::Kernel, symbol.addr);
                symbol.name = PaddedStr::new(&self.symbol(symbol.name.text()), ALIGN);
            }
            Body::BpfEvent(event) => event.tag = self.tag(event.tag),
            Body::Cgroup(cgroup) => {
                cgroup.id = self.cgroup_id(cgroup.id);
                cgroup.path = PaddedStr::new(&self.cgroup_path(cgroup.path.text()), ALIGN);
            }
            Body::CallchainDeferred(chain) => {
                let mut space = Space::User;
                for ip in &mut chain.ips {
                    space = Context::of(*ip).map_or(space, Space::from);
                    *ip = self.address(space, *ip);
                }
            }
            Body::HeaderAttr(event) => {
                event.attr = self.attr(&event.attr);
                event.attr.size = event.attr.stored_size() as u32;
                self.ids(&mut event.ids);
            }
            Body::HeaderEventType(event_type) => {
                event_type.name = PaddedStr::new(&self.tracepoint_name(event_type.name.text()), 64);
            }
            Body::HeaderBuildId(build_id) => {
                // What follows is found by where the name ends.
                *build_id = self.build_id_entry(misc, build_id, 1);
            }
            Body::HeaderFeature(feature) => {
                // The mark of their end is a feature without content.
                if let Some(id) = feature.id().filter(|_| !feature.data.is_empty()) {
                    match self.feature(id, &feature.data, meta)? {
                        Some(data) if data.len() <= LONGEST_FEATURE => feature.data = data,
                        Some(_) => {
                            self.leave_out(format!("the feature {id}, which has become too long for a pipe"));
                            return Ok(false);
                        }
                        None => return Ok(false),
                    }
                }
            }
            Body::IdIndex(index) => {
                for entry in &mut index.entries {
                    (entry.id, entry.tid) = (self.id(entry.id), self.wide_pid(entry.tid));
                }
                let pids = index.guests.iter_mut().map(|guest| &mut guest.machine_pid);
                pids.for_each(|pid| *pid = self.wide_pid(*pid as i64) as u64);
            }
            Body::ThreadMap(map) => {
                for entry in &mut map.entries {
                    entry.comm = FixedStr::new(&self.comm(entry.comm.text(), entry.pid as u32));
                    entry.pid = self.wide_pid(entry.pid);
                }
            }
            Body::EventUpdate(update) => {
                let event = meta.events.by_id(update.id).map(|number| &meta.events.list()[number as usize].attr);
                update.id = self.id(update.id);
                match &mut update.value {
                    Some(EventUpdateValue::Name(name)) => {
                        *name = PaddedStr::new(&self.event_name(name.text(), event), ALIGN);
                    }
                    Some(EventUpdateValue::Unit(unit)) => *unit = PaddedStr::new(&self.unit(unit.text()), ALIGN),
                    Some(EventUpdateValue::Scale(_) | EventUpdateValue::Cpus(_)) => {}
                    None => return Ok(self.drops(kind)),
                }
            }
            Body::TimeConv(conv) => {
                if self.replaces(What::Times) {
                    // Times are this and what is made of cycles.
                    conv.time_zero = conv.time_zero.wrapping_sub(self.first_time).wrapping_add(START);
                }
                if let Some(short) = &mut conv.short {
                    short.reserved = [0; 6];
                }
            }
            Body::SchedstatCpu(cpu) => (cpu.timestamp, cpu.pad) = (self.time(cpu.timestamp), 0),
            Body::SchedstatDomain(domain) => domain.timestamp = self.time(domain.timestamp),
            // Numbers, or nothing.
            Body::Aux(_)
            | Body::LostSamples(_)
            | Body::Switch(_)
            | Body::AuxOutputHwId(_)
            | Body::FinishedRound(_)
            | Body::FinishedInit(_)
            | Body::CpuMap(_)
            | Body::StatConfig(_)
            | Body::StatRound(_) => {}
            // What belongs to it follows it: whoever has that replaces it.
            Body::HeaderTracingData(_) => return Ok(false),
            // Code, traces of code and what is told of it, and what is not known, or not what it should be.
            Body::TextPoke(_)
            | Body::BpfMetadata(_)
            | Body::AuxtraceInfo(_)
            | Body::Auxtrace(_)
            | Body::AuxtraceError(_)
            | Body::Sample(_)
            | Body::Compressed(_)
            | Body::Compressed2(_)
            | Body::Opaque(_) => return Ok(self.drops(kind)),
        }
        Ok(true)
    }

    /// Counts a record that goes.
    fn drops(&mut self, kind: RecordType) -> bool {
        self.leave_out(format!("{kind} records"));
        false
    }

    /// Where a map comes to be.
    fn mapped(&mut self, mapped: &Mapped, filename: &[u8], start: &mut u64, len: &mut u64, pgoff: &mut u64) {
        if self.kept.has(What::Addresses) {
            return;
        }
        *start = self.address(mapped.space, mapped.start);
        *len = mapped.len.min(u64::MAX - *start);
        // What is no file has addresses in the place of offsets, a device what it likes (`/dev/mem` physical ones), and the
        // kernel the address of its first symbol.
        let is_file = filename.starts_with(b"/") && !filename.starts_with(b"//") && !filename.starts_with(b"/dev/");
        if mapped.is_kernel || !is_file || *pgoff >= 1 << 63 {
            *pgoff = self.address(mapped.space, *pgoff);
        }
    }

    /// A build id, and the file that it is of, of which the name is padded to a multiple of so many bytes.
    pub fn build_id_entry(&mut self, misc: Misc, build_id: &BuildId, align: usize) -> BuildId {
        let len = build_id.id(misc).len();
        let mut id = build_id.build_id;
        self.build_id(&mut id[..len]);
        id[len..].fill(0);
        let name = build_id.filename.text();
        let is_kernel = matches!(misc.cpu_mode(), CpuMode::KERNEL | CpuMode::GUEST_KERNEL);
        let filename = if is_kernel || !name.is_empty() { self.map(name) } else { Vec::new() };
        BuildId {
            pid: self.wide_pid(build_id.pid.into()) as i32,
            build_id: id,
            size: if misc.contains(Misc::BUILD_ID_SIZE) { len as u8 } else { 0 },
            reserved_1: 0,
            reserved_2: 0,
            filename: PaddedStr::new(&filename, align),
        }
    }

    /// A unit of an event.
    fn unit(&mut self, unit: &[u8]) -> Vec<u8> {
        let is_common = unit.is_empty() || super::vocabulary::has(super::vocabulary::UNITS, unit);
        if is_common || !self.replaces(What::Events) { unit.to_vec() } else { self.names.name(unit) }
    }
}
