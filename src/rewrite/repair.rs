//! Writes a valid recording from an interrupted or corrupt one: `perfconv repair`.

use super::header::Header;
use crate::rewrite::framework::pass::{Pass, PreScan};
use crate::rewrite::framework::pass_options::{PassContext, PassOptions};
use binrw::BinWrite;
use perf_data::abi;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::feature::event_desc::{EventDesc, EventDescs};
use perf_data::abi::feature::mark::Mark;
use perf_data::abi::feature::nr_cpus::NrCpus;
use perf_data::abi::feature::sample_time::SampleTime;
use perf_data::abi::feature::string::PerfStr;
use perf_data::abi::record::RecordType;
use perf_data::abi::record::cpu_map::CpuMap;
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::sample_type::SampleType;
use perf_data::container::read::Container;
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::event_name::event_name;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use std::ops::RangeInclusive;

/// The repairing pass. It passes on complete records only, and reconstructs missing features that can be derived from records.
/// Features that only the recording machine could supply (host, command line, topology) remain missing.
#[derive(Debug, Default)]
pub struct RepairPass {
    names: Vec<String>,
    times: Option<RangeInclusive<u64>>,
    cpus: Option<u32>,
    is_stat: bool,
    added: Vec<FeatureId>,
}

/// Repairs what other tools cannot read.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Repair {}

impl PassOptions for Repair {
    fn pass(&self, _: &PassContext) -> Box<dyn Pass> {
        Box::new(RepairPass::default())
    }
}

impl RepairPass {
    fn see_cpu(&mut self, cpu: u32) {
        // `u32::MAX` means any CPU.
        let number = cpu.saturating_add(1);
        self.cpus = self.cpus.max((number < u32::from(u16::MAX)).then_some(number));
    }

    fn sample(&mut self, meta: &Meta, raw: &Raw<'_>) -> Option<()> {
        let (_, event) = meta.events.find(raw)?;
        let sample = SampleView::read(raw.body(), &event.layout, raw.endian()).ok()?;
        if let Some((cpu, _)) = sample.cpu {
            self.see_cpu(cpu);
        }
        let time = sample.time?;
        self.times = Some(match self.times.take() {
            Some(times) => time.min(*times.start())..=time.max(*times.end()),
            None => time..=time,
        });
        Some(())
    }

    fn add<T: for<'a> BinWrite<Args<'a> = ()>>(&mut self, header: &mut Header, id: FeatureId, value: &T) -> Result<()> {
        if !header.features.contains_key(&id) {
            header.set(id, value)?;
            self.added.push(id);
        }
        Ok(())
    }
}

impl Pass for RepairPass {
    fn name(&self) -> String {
        "repair".to_owned()
    }

    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        Some(PreScan::in_file_order(self))
    }

    fn edits(&self) -> bool {
        true
    }

    fn edit(&mut self, header: &mut Header) -> Result<()> {
        let events: Vec<_> = header.events.iter().flatten().cloned().collect();
        if events.len() == self.names.len() && !events.is_empty() {
            let attr_size = events.iter().map(|event| event.attr.stored_size()).max().unwrap_or_default();
            let descs = events.iter().zip(&self.names).map(|(event, name)| EventDesc {
                attr: event.attr.resized(attr_size),
                name: PerfStr::new(name.as_bytes()),
                ids: event.ids.clone(),
            });
            let descs = EventDescs { attr_size: attr_size as u32, events: descs.collect() };
            self.add(header, FeatureId::EVENT_DESC, &descs)?;
        }
        if let Some(times) = self.times.clone() {
            let times = SampleTime { first_sample_time: *times.start(), last_sample_time: *times.end() };
            self.add(header, FeatureId::SAMPLE_TIME, &times)?;
        }
        if let Some(cpus) = self.cpus {
            self.add(header, FeatureId::NRCPUS, &NrCpus { nr_cpus_avail: cpus, nr_cpus_online: cpus })?;
        }
        // These features have no content; a pipe cannot store them.
        let has_branches = events.iter().any(|event| event.attr.sample_type.contains(SampleType::BRANCH_STACK));
        for (id, is_present) in [(FeatureId::BRANCH_STACK, has_branches), (FeatureId::STAT, self.is_stat)] {
            if is_present && header.container != Container::Pipe {
                self.add(header, id, &Mark)?;
            }
        }
        Ok(())
    }

    fn report(&self, ledger: &mut Ledger) {
        if !self.added.is_empty() {
            let names: Vec<_> = self.added.iter().map(FeatureId::to_string).collect();
            ledger.change(format!("reconstructed from records: {}", names.join(", ")));
        }
    }
}

impl Sink for RepairPass {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        match raw.header().kind {
            RecordType::SAMPLE => drop(self.sample(meta, raw)),
            RecordType::STAT_CONFIG => self.is_stat = true,
            RecordType::CPU_MAP => {
                let map = abi::parse::<CpuMap>(raw.body(), raw.endian(), ()).ok();
                let cpus = map.and_then(|(map, _)| map.data.cpus).map(|cpus| cpus.numbers()).unwrap_or_default();
                cpus.into_iter().for_each(|cpu| self.see_cpu(cpu));
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.names = meta.events.list().iter().map(event_name).collect();
        Ok(())
    }
}
