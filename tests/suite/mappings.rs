//! Mappings that many processes share: each sample is at the same place of the same file as in its own process.

use super::files::{Recording, recordings};
use super::program::for_each;
use perfconv::abi::record::{CpuMode, RecordType};
use perfconv::abi::sample_type::SampleType;
use perfconv::abi::sample_view::SampleView;
use perfconv::container::read::ReadOptions;
use perfconv::container::read::input::Input;
use perfconv::convert::profile;
use perfconv::error::Result;
use perfconv::profile::options::ProfileOptions;
use perfconv::session::Session;
use perfconv::session::map::Map;
use perfconv::stream::Sink;
use perfconv::stream::meta::Meta;
use perfconv::stream::order::Order;
use perfconv::stream::raw::Raw;
use perfconv::stream::source::Source;
use std::collections::{BTreeMap, BTreeSet};

/// Samples by the file and the offset in it that their leaf is at.
type Places = BTreeMap<(Box<[u8]>, u64), u64>;

/// Looks up each sample's leaf in the maps of its process.
#[derive(Default)]
struct Leaves {
    session: Session,
    places: Places,
    /// The maps of files that had samples.
    maps: BTreeSet<(u64, u64, Box<[u8]>)>,
    /// Whether samples have values of counters: such count for the events whose counters rose.
    has_read: bool,
}

impl Sink for Leaves {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if raw.header().kind != RecordType::SAMPLE {
            self.session.apply(meta, raw);
            return Ok(());
        }
        let Some((_, event)) = meta.events.of(raw) else { return Ok(()) };
        self.has_read |= event.layout.sample_type().contains(SampleType::READ);
        let mut view = SampleView::default();
        if view.fill(raw.body(), &event.layout, raw.endian()).is_err() {
            return Ok(());
        }
        if let (Some(ip), Some((pid, _)), CpuMode::USER) = (view.ip, view.task, raw.header().misc.cpu_mode())
            && let Some(id) = self.session.map_at(pid, CpuMode::USER.into(), ip)
        {
            let map = self.session.map(id);
            *self.places.entry(place(map, ip)).or_default() += 1;
            self.maps.insert((map.start, map.pgoff, map.filename.clone()));
        }
        Ok(())
    }
}

fn place(map: &Map, address: u64) -> (Box<[u8]>, u64) {
    assert!((map.start..map.limit).contains(&address), "{map:x?} does not hold {address:x}");
    (map.filename.clone(), address - map.start + map.pgoff)
}

/// How many samples were compared, and how many maps of files became how many mappings.
fn compared(recording: &Recording) -> std::result::Result<(u64, usize, usize), &'static str> {
    let open = || Source::open(Input::Path(recording.path.clone()), ReadOptions::default());
    let Ok(source) = open() else { return Err("not readable") };
    let mut leaves = Order::new(Leaves::default(), ReadOptions::default());
    if source.run(&mut leaves).is_err() {
        return Err("not readable");
    }
    let Leaves { places, maps, has_read, .. } = leaves.into_inner();
    if has_read {
        return Err("samples count by their counters");
    }
    let (profile, _) = profile(open().expect("it was opened"), &ProfileOptions::default()).expect("a profile");
    let tables = &profile.tables;
    let (mut in_profile, mut mappings) = (Places::new(), BTreeSet::new());
    for row in &profile.rows {
        let leaf = tables.stacks.frames()[tables.stacks.stack(row.stack)[0] as usize];
        if let Some(mapping) = leaf.mapping() {
            let place = place(&tables.mappings[mapping as usize], leaf.address);
            // What the kernel and the hypervisor have is looked up by another mode.
            if places.contains_key(&place) {
                *in_profile.entry(place).or_default() += row.samples;
                mappings.insert(mapping);
            }
        }
    }
    assert!(in_profile == places, "{}: {in_profile:x?}, by each process's own maps {places:x?}", recording.name);
    Ok((places.values().sum(), maps.len(), mappings.len()))
}

#[test]
fn each_sample_is_where_its_own_process_has_it() {
    let recordings = recordings();
    let (mut files, mut samples, mut shared) = (0, 0, 0);
    let mut skipped = BTreeMap::<_, u32>::new();
    for outcome in for_each(&recordings, compared) {
        match outcome {
            Ok((count, maps, mappings)) => {
                assert!(mappings <= maps);
                (files, samples, shared) = (files + 1, samples + count, shared + usize::from(mappings < maps));
            }
            Err(why) => *skipped.entry(why).or_default() += 1,
        }
    }
    println!(
        "{files} recordings, {samples} samples in user space: each at its place; in {shared} processes share a file"
    );
    skipped.iter().for_each(|(why, count)| println!("{count:6} skipped: {why}"));
    assert!(files * 10 >= recordings.len() * 7 && samples >= 1000 && shared >= 3, "too little was compared");
}
