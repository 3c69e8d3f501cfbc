//! Features: what the recording tells of the machine, of perf and of its events.

use super::category::What;
use super::replace::Replace;
use super::vocabulary::{self, has, has_numbered};
use crate::abi::attr::Attr;
use crate::abi::feature::descriptor::Subject;
use crate::abi::feature::event_desc::EventDescs;
use crate::abi::feature::pmu_caps::Caps;
use crate::abi::feature::string::PerfStr;
use crate::abi::feature::{Feature, FeatureContext, FeatureId, FeatureSection};
use crate::abi::header::EventType;
use crate::abi::text::FixedStr;
use crate::container::read::file::FileAttr;
use crate::container::write::encoded;
use crate::error::Result;
use crate::rewrite::header::Header;
use crate::stream::meta::Meta;

/// How perf pads names in the table of build ids.
const TABLE_ALIGN: usize = 64;

impl Replace {
    /// Replaces what a file tells in its header and sections. A pipe tells it in records, one by one.
    ///
    /// # Errors
    /// Where what takes its place is more than there is room for.
    pub fn header(&mut self, header: &mut Header) -> Result<()> {
        if let Some(bytes) = header.features.remove(&FeatureId::TRACING_DATA)
            && let Some(bytes) = self.tracing_data(&bytes)?
        {
            header.features.insert(FeatureId::TRACING_DATA, bytes.into());
        }
        let nr_cpus = header.features.get(&FeatureId::NRCPUS).cloned();
        let context = FeatureContext::new(nr_cpus.as_deref(), header.endian);
        for id in header.features.keys().copied().collect::<Vec<_>>() {
            let section = FeatureSection::read(id, &header.features[&id], header.endian, &context);
            match self.section(section) {
                Some(section) => {
                    header.features.insert(id, encoded(section.to_bytes(header.endian))?.into());
                }
                None => {
                    header.features.remove(&id);
                }
            }
        }
        for FileAttr { attr, ids } in header.events.iter_mut().flatten() {
            *attr = self.attr(attr);
            self.ids(ids);
        }
        header.keeps_build_id_table = false;
        for (misc, build_id) in &mut header.build_ids {
            *build_id = self.build_id_entry(*misc, build_id, TABLE_ALIGN);
        }
        for EventType { name, .. } in &mut header.event_types {
            *name = FixedStr::new(&self.tracepoint_name(name.text()));
        }
        Ok(())
    }

    /// What takes the place of a feature that a record tells; `None` where nothing does.
    ///
    /// # Errors
    /// None in practice: the bytes go to memory.
    pub fn feature(&mut self, id: FeatureId, bytes: &[u8], meta: &Meta) -> Result<Option<Vec<u8>>> {
        let context = FeatureContext::new(meta.features.get(&FeatureId::NRCPUS).map(AsRef::as_ref), meta.endian);
        let section = self.section(FeatureSection::read(id, bytes, meta.endian, &context));
        section.map(|section| encoded(section.to_bytes(meta.endian))).transpose()
    }

    /// A feature with what takes the place of its parts; `None` where it goes as a whole. What its definition does not cover
    /// goes too.
    fn section(&mut self, mut section: FeatureSection) -> Option<FeatureSection> {
        section.tail.clear();
        let id = section.id;
        let is_of_machine = id.descriptor().is_some_and(|descriptor| descriptor.subject == Subject::Machine);
        if is_of_machine && self.replaces(What::Machine) {
            return None;
        }
        match &mut section.feature {
            Feature::Hostname(name) if self.replaces(What::Host) => *name = PerfStr::new(&self.names.name(name.text())),
            Feature::Hostname(name) => *name = PerfStr::new(name.text()),
            Feature::OsRelease(version) | Feature::Version(version) => {
                let text = version.text();
                *version =
                    PerfStr::new(&if self.replaces(What::Host) { self.names.version(text) } else { text.to_vec() });
            }
            Feature::Arch(arch) => {
                let is_known = has(vocabulary::ARCHES, arch.text()) || !self.replaces(What::Host);
                *arch = PerfStr::new(&if is_known { arch.text().to_vec() } else { self.names.name(arch.text()) });
            }
            Feature::CpuDesc(text) | Feature::CpuId(text) => *text = PerfStr::new(text.text()),
            Feature::Cmdline(words) => self.cmdline(&mut words.strings),
            Feature::EventDescs(descs) => self.event_descs(descs),
            Feature::GroupDesc(desc) => {
                for group in &mut desc.groups {
                    group.name = PerfStr::new(&self.event_name(group.name.text(), None));
                }
            }
            Feature::PmuMappings(mappings) => {
                for pmu in &mut mappings.pmus {
                    pmu.name = self.pmu(&pmu.name);
                }
            }
            Feature::HybridTopology(topology) => {
                for node in &mut topology.nodes {
                    (node.pmu_name, node.cpus) = (self.pmu(&node.pmu_name), self.plain(&node.cpus));
                }
            }
            Feature::CpuPmuCaps(caps) => self.caps(caps),
            Feature::PmuCaps(caps) => {
                for pmu in &mut caps.pmus {
                    pmu.pmu_name = self.pmu(&pmu.pmu_name);
                    self.caps(&mut pmu.caps);
                }
            }
            Feature::CpuTopology(topology) => {
                let dies = topology.dies.iter_mut().flat_map(|dies| &mut dies.dies.strings);
                let lists = topology.cores.strings.iter_mut().chain(&mut topology.threads.strings).chain(dies);
                lists.for_each(|list| *list = self.plain(list));
            }
            Feature::NumaTopology(topology) => {
                topology.nodes.iter_mut().for_each(|node| node.cpus = self.plain(&node.cpus));
            }
            Feature::Caches(caches) => {
                for cache in &mut caches.caches {
                    for text in [&mut cache.kind, &mut cache.size, &mut cache.map] {
                        *text = self.plain(text);
                    }
                }
            }
            Feature::CpuDomainInfo(info) => {
                for domain in info.cpus.iter_mut().flat_map(|cpu| &mut cpu.domains) {
                    domain.dname = domain.dname.take().map(|name| self.plain(&name));
                    (domain.cpumask, domain.cpulist) = (self.plain(&domain.cpumask), self.plain(&domain.cpulist));
                }
            }
            Feature::SampleTime(times) => {
                times.first_sample_time = self.time(times.first_sample_time);
                times.last_sample_time = self.time(times.last_sample_time);
            }
            // It tells the time of day.
            Feature::ClockData(_) if self.replaces(What::Times) => return None,
            Feature::ClockData(_)
            | Feature::TracingData(_)
            | Feature::NrCpus(_)
            | Feature::TotalMem(_)
            | Feature::BranchStack(_)
            | Feature::Stat(_)
            | Feature::MemTopology(_)
            | Feature::ClockId(_)
            | Feature::DirFormat(_)
            | Feature::Compression(_)
            | Feature::EMachine(_)
            | Feature::ClnSize(_) => {}
            // Told by entries of their own.
            Feature::BuildIds(_) => return None,
            // Code, where traces are that go, and what is not known, or not what it should be.
            Feature::BpfProgInfos(_) | Feature::BpfBtf(_) | Feature::Auxtrace(_) | Feature::Opaque(_) => {
                self.leave_out(format!("the feature {id}"));
                return None;
            }
        }
        Some(section)
    }

    fn event_descs(&mut self, descs: &mut EventDescs) {
        for desc in &mut descs.events {
            desc.name = PerfStr::new(&self.event_name(desc.name.text(), Some(&desc.attr)));
            desc.attr = self.attr(&desc.attr);
            self.ids(&mut desc.ids);
        }
        // All attrs take the same room there.
        descs.attr_size = descs.attr_size.min(Attr::SIZE_KNOWN as u32);
    }

    fn caps(&mut self, caps: &mut Caps) {
        for cap in &mut caps.caps {
            // Both are of the kernel's driver.
            (cap.name, cap.value) = (PerfStr::new(cap.name.text()), PerfStr::new(cap.value.text()));
        }
    }

    /// The name of a source of events.
    fn pmu(&mut self, name: &PerfStr) -> PerfStr {
        let text = name.text();
        let tells_machine = !self.kept.has(What::Machine) && vocabulary::names_model(text);
        let is_known = has_numbered(vocabulary::PMUS, text) || self.kept.has(What::Events);
        if is_known && !tells_machine {
            return PerfStr::new(text);
        }
        self.replaces(if is_known { What::Machine } else { What::Events });
        PerfStr::new(&self.names.name(text))
    }

    /// Lists of CPUs, sizes and the like.
    fn plain(&mut self, text: &PerfStr) -> PerfStr {
        let text = text.text();
        let is_plain = text.iter().all(|byte| b"0123456789abcdef,-KMGx \n".contains(byte));
        let is_known = is_plain || has(vocabulary::TOPOLOGY, text) || !self.replaces(What::Host);
        PerfStr::new(&if is_known { text.to_vec() } else { self.names.name(text) })
    }
}
