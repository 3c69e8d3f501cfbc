//! Metadata of a synthetic recording.

use super::event::Event;
use super::tracepoint::tracing_data;
use bytes::Bytes;
use perf_data::abi::attr::AttrType;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::feature::event_desc::{EventDesc, EventDescs};
use perf_data::abi::feature::group_desc::{Group, GroupDesc};
use perf_data::abi::feature::mark::Mark;
use perf_data::abi::feature::nr_cpus::NrCpus;
use perf_data::abi::feature::string::{PerfStr, StrList};
use perf_data::abi::feature::total_mem::TotalMem;
use perf_data::abi::feature::{Feature, FeatureId, FeatureSection};
use perf_data::abi::sample_type::SampleType;
use perf_data::abi::{Endian, attr::Attr};
use perf_data::container::read::file::FileAttr;
use perf_data::container::write::encoded;
use perf_data::error::{Error, Result};
use perf_data::stream::meta::Meta;
use std::collections::BTreeMap;

/// The machine of a synthetic recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Architecture, as printed by `uname -m`.
    pub arch: String,
    /// Number of CPUs, all online.
    pub cpus: u32,
    /// Host name.
    pub hostname: String,
    /// Kernel release.
    pub release: String,
    /// CPU model.
    pub cpu: String,
    /// Memory in KiB.
    pub memory: u64,
    /// perf version.
    pub perf: String,
    /// Command line of perf.
    pub cmdline: Vec<String>,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            arch: "x86_64".to_owned(),
            cpus: 4,
            hostname: "synth".to_owned(),
            release: "6.1.0".to_owned(),
            cpu: "synthetic CPU".to_owned(),
            memory: 16 << 20,
            perf: "6.1.0".to_owned(),
            cmdline: vec!["perf".to_owned(), "record".to_owned()],
        }
    }
}

/// Metadata of a recording: byte order, machine, events, features.
///
/// Derived from these: event IDs; IDs and formats of tracepoints; the features EVENT_DESC, GROUP_DESC, TRACING_DATA and
/// BRANCH_STACK, and those of the machine. A feature that is [set](Self::set) replaces the derived one.
#[derive(Clone, Debug)]
pub struct Metadata {
    /// Byte order.
    pub endian: Endian,
    /// Machine; `None` to omit its features.
    pub machine: Option<Machine>,
    /// Whether to mark rounds, which bound the memory of readers. Otherwise only explicit marks are written.
    pub rounds: bool,
    events: Vec<Event>,
    groups: Vec<(u32, u32)>,
    features: BTreeMap<FeatureId, FeatureSection>,
    omitted: Vec<FeatureId>,
    flags_of_first: AttrFlags,
}

impl Default for Metadata {
    fn default() -> Self {
        Self {
            endian: Endian::Little,
            machine: Some(Machine::default()),
            rounds: true,
            events: Vec::new(),
            groups: Vec::new(),
            features: BTreeMap::new(),
            omitted: Vec::new(),
            flags_of_first: AttrFlags::empty(),
        }
    }
}

impl Metadata {
    /// `config` of the first tracepoint; further ones are consecutive.
    const FIRST_TRACEPOINT: u64 = 1000;

    /// Adds an event; returns its index. The first event owns the non-sample records, as with perf record.
    pub fn event(&mut self, event: Event) -> usize {
        self.events.push(event);
        self.events.len() - 1
    }

    /// Groups `members` events from `leader` on.
    pub fn group(&mut self, leader: usize, members: usize) {
        self.groups.push((leader as u32, members as u32));
    }

    /// Sets a feature.
    pub fn set(&mut self, id: FeatureId, feature: Feature) {
        self.features.insert(id, FeatureSection { id, feature, tail: Vec::new() });
    }

    /// Sets a feature unless it is set.
    pub fn set_if_absent(&mut self, id: FeatureId, feature: Feature) {
        self.features.entry(id).or_insert_with(|| FeatureSection { id, feature, tail: Vec::new() });
    }

    /// Sets flags of the first event's attr, which enable types of records.
    pub fn flag_first(&mut self, flags: AttrFlags) {
        self.flags_of_first |= flags;
    }

    /// Omits a derived feature.
    pub fn omit_feature(&mut self, id: FeatureId) {
        self.omitted.push(id);
    }

    /// The events with derived IDs, tracepoint IDs and, for the first event, flags of non-sample records.
    pub fn events(&self) -> Vec<Event> {
        let cpus = self.machine.as_ref().map_or(1, |machine| u64::from(machine.cpus.max(1)));
        let mut events = self.events.clone();
        let mut numbers: Vec<(String, String)> = Vec::new();
        for (index, event) in events.iter_mut().enumerate() {
            if event.ids.is_empty() {
                let first = 1 + index as u64 * cpus;
                event.ids = (first..first + cpus).collect();
            }
            // A tracepoint whose attr already has an ID keeps it.
            if let Some(tracepoint) = event.tracepoint.as_ref().filter(|_| event.attr.config == 0) {
                let key = (tracepoint.system.clone(), tracepoint.name.clone());
                let existing = numbers.iter().position(|other| *other == key);
                let number = existing.unwrap_or_else(|| {
                    numbers.push(key);
                    numbers.len() - 1
                });
                event.attr.config = Self::FIRST_TRACEPOINT + number as u64;
            }
        }
        if let Some(first) = events.first_mut() {
            first.attr.flags |= self.flags_of_first
                | AttrFlags::MMAP
                | AttrFlags::MMAP2
                | AttrFlags::COMM
                | AttrFlags::COMM_EXEC
                | AttrFlags::TASK;
        }
        events
    }

    /// Metadata as known before the first record.
    ///
    /// # Errors
    /// If there is no event, IDs are not unique, attr sizes differ, or a feature cannot be encoded.
    pub fn meta(&self) -> Result<Meta> {
        let events = self.events();
        check(&events)?;
        let mut features = BTreeMap::new();
        for (id, feature) in self.build_features(&events)? {
            features.insert(id, FeatureSection { id, feature, tail: Vec::new() });
        }
        features.retain(|id, _| !self.omitted.contains(id));
        features.extend(self.features.iter().map(|(&id, section)| (id, section.clone())));
        let encode =
            |(id, section): (FeatureId, FeatureSection)| Ok((id, Bytes::from(encoded(section.to_bytes(self.endian))?)));
        let features = features.into_iter().map(encode).collect::<Result<BTreeMap<_, _>>>()?;
        let attrs = events.into_iter().map(|event| FileAttr { attr: event.attr, ids: event.ids });
        Ok(Meta::synthetic("synth".to_owned(), self.endian, attrs, features))
    }

    /// The derived features.
    fn build_features(&self, events: &[Event]) -> Result<Vec<(FeatureId, Feature)>> {
        let text = |text: &str| PerfStr::new(text.as_bytes());
        let mut made = Vec::new();
        if let Some(machine) = &self.machine {
            let cpus = machine.cpus;
            made.extend([
                (FeatureId::HOSTNAME, Feature::Hostname(text(&machine.hostname))),
                (FeatureId::OSRELEASE, Feature::OsRelease(text(&machine.release))),
                (FeatureId::VERSION, Feature::Version(text(&machine.perf))),
                (FeatureId::ARCH, Feature::Arch(text(&machine.arch))),
                (FeatureId::NRCPUS, Feature::NrCpus(NrCpus { nr_cpus_avail: cpus, nr_cpus_online: cpus })),
                (FeatureId::CPUDESC, Feature::CpuDesc(text(&machine.cpu))),
                (FeatureId::TOTAL_MEM, Feature::TotalMem(TotalMem { total_mem: machine.memory })),
            ]);
            let strings = machine.cmdline.iter().map(|word| text(word)).collect();
            made.push((FeatureId::CMDLINE, Feature::Cmdline(StrList { strings })));
        }
        let attr_size = events.first().map_or(0, |event| event.attr.stored_size() as u32);
        let described = events.iter().map(|event| EventDesc {
            attr: event.attr.clone(),
            name: text(&event.name),
            ids: event.ids.clone(),
        });
        let descs = EventDescs { attr_size, events: described.collect() };
        made.push((FeatureId::EVENT_DESC, Feature::EventDescs(descs)));
        let mut tracepoints: Vec<_> = Vec::new();
        for event in events.iter().filter(|event| event.attr.kind == AttrType::TRACEPOINT) {
            let is_new = !tracepoints.iter().any(|(id, _)| *id == event.attr.config);
            tracepoints.extend(event.tracepoint.as_ref().filter(|_| is_new).map(|point| (event.attr.config, point)));
        }
        if !tracepoints.is_empty() {
            let data = tracing_data(&tracepoints, self.endian);
            made.push((FeatureId::TRACING_DATA, Feature::TracingData(data)));
        }
        if events.iter().any(|event| event.has(SampleType::BRANCH_STACK)) {
            made.push((FeatureId::BRANCH_STACK, Feature::BranchStack(Mark)));
        }
        if !self.groups.is_empty() {
            let mut groups = Vec::new();
            for &(leader_idx, nr_members) in &self.groups {
                if u64::from(leader_idx) + u64::from(nr_members) > events.len() as u64 {
                    let problem = format!("a group of {nr_members} events cannot start at event {leader_idx}");
                    return Err(Error::invalid(format!("{problem}: there are only {}", events.len())));
                }
                groups.push(Group { name: text("{anon_group}"), leader_idx, nr_members });
            }
            made.push((FeatureId::GROUP_DESC, Feature::GroupDesc(GroupDesc { groups })));
        }
        Ok(made)
    }
}

/// Checks that containers can represent the events and that their IDs are unique.
fn check(events: &[Event]) -> Result<()> {
    let Some(first) = events.first() else {
        return Err(Error::invalid("a recording needs at least one event"));
    };
    let size = |attr: &Attr| attr.stored_size();
    if let Some(other) = events.iter().find(|event| size(&event.attr) != size(&first.attr)) {
        let (this, that) = (size(&other.attr), size(&first.attr));
        let problem = format!("the attr of {} has {this} bytes, that of {} has {that}", other.name, first.name);
        return Err(Error::invalid(format!("{problem}; all attrs of a recording must have the same size")));
    }
    let mut ids: Vec<_> = events.iter().flat_map(|event| event.ids.iter().map(move |id| (id, &event.name))).collect();
    ids.sort();
    match ids.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => {
            let (id, one, other) = (pair[0].0, pair[0].1, pair[1].1);
            Err(Error::invalid(format!("{one} and {other} have the same ID {id}; event IDs must be unique")))
        }
        None => Ok(()),
    }
}
