//! Mappings shared between processes: each sample resolves to the same file and offset as in the mappings of its own process.

use crate::common::files::{Recording, recordings};
use crate::common::program::for_each;
use perf_data::abi::record::{CpuMode, RecordType};
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::sample_type::SampleType;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::error::Result;
use perf_data::session::Session;
use perf_data::session::map::Map;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::order::Order;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use perfconv::conversion::profile;
use perfconv::profile::options::ProfileOptions;
use std::collections::{BTreeMap, BTreeSet};

/// The number of samples by file and offset of their leaf.
type Locations = BTreeMap<(Box<[u8]>, u64), u64>;

/// Resolves each sample's leaf in the mappings of its process.
#[derive(Default)]
struct Leaves {
    session: Session,
    locations: Locations,
    /// Mappings with samples: start, offset, file.
    maps: BTreeSet<(u64, u64, Box<[u8]>)>,
    /// Whether samples have counter values, which determine the events they count for.
    has_read: bool,
}

impl Sink for Leaves {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if raw.header().kind != RecordType::SAMPLE {
            self.session.apply(meta, raw);
            return Ok(());
        }
        let Some((_, event)) = meta.events.find(raw) else { return Ok(()) };
        self.has_read |= event.layout.sample_type().contains(SampleType::READ);
        let mut view = SampleView::default();
        if view.fill(raw.body(), &event.layout, raw.endian()).is_err() {
            return Ok(());
        }
        if let (Some(ip), Some((pid, _)), CpuMode::USER) = (view.ip, view.task, raw.header().misc.cpu_mode())
            && let Some(id) = self.session.map_at(pid, CpuMode::USER.into(), ip)
        {
            let map = self.session.map(id);
            *self.locations.entry(locate(map, ip)).or_default() += 1;
            self.maps.insert((map.start, map.pgoff, map.filename.clone()));
        }
        Ok(())
    }
}

fn locate(map: &Map, address: u64) -> (Box<[u8]>, u64) {
    assert!((map.start..map.limit).contains(&address), "{map:x?} should contain {address:x}");
    (map.filename.clone(), address - map.start + map.pgoff)
}

/// Compares a recording's profile. Returns the numbers of samples, of mappings of processes and of mappings in the profile.
fn compare(recording: &Recording) -> std::result::Result<(u64, usize, usize), &'static str> {
    let open = || Source::open(Input::Path(recording.path.clone()), ReadOptions::default());
    let Ok(source) = open() else { return Err("unreadable") };
    let mut leaves = Order::new(Leaves::default(), ReadOptions::default());
    if source.run(&mut leaves).is_err() {
        return Err("unreadable");
    }
    let Leaves { locations, maps, has_read, .. } = leaves.into_inner();
    if has_read {
        return Err("samples have counter values");
    }
    let (profile, _) =
        profile(open().expect("it should have been opened"), &ProfileOptions::default()).expect("a profile");
    let tables = &profile.tables;
    let (mut in_profile, mut mappings) = (Locations::new(), BTreeSet::new());
    for row in &profile.rows {
        let leaf = tables.stacks.frames()[tables.stacks.stack(row.stack)[0] as usize];
        if let Some(mapping) = leaf.mapping() {
            let location = locate(&tables.mappings[mapping as usize], leaf.address);
            // Kernel and hypervisor frames were resolved in another mode, and not counted above.
            if locations.contains_key(&location) {
                *in_profile.entry(location).or_default() += row.samples;
                mappings.insert(mapping);
            }
        }
    }
    assert!(
        in_profile == locations,
        "{}: {in_profile:x?}, by the mappings of each process {locations:x?}",
        recording.name
    );
    Ok((locations.values().sum(), maps.len(), mappings.len()))
}

#[test]
fn profiles_resolve_samples_by_the_mappings_of_their_process() {
    let recordings = recordings();
    let (mut files, mut samples, mut shared) = (0, 0, 0);
    let mut skipped = BTreeMap::<_, u32>::new();
    for outcome in for_each(&recordings, compare) {
        match outcome {
            Ok((count, maps, mappings)) => {
                assert!(mappings <= maps);
                (files, samples, shared) = (files + 1, samples + count, shared + usize::from(mappings < maps));
            }
            Err(why) => *skipped.entry(why).or_default() += 1,
        }
    }
    note!("{files} recordings, {samples} user-space samples resolved; in {shared} recordings processes share mappings");
    skipped.iter().for_each(|(why, count)| note!("{count:6} skipped: {why}"));
    assert!(files * 10 >= recordings.len() * 7 && samples >= 1000 && shared >= 3, "compared too few recordings");
}
