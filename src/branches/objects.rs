//! The objects that branches are in, and the location of an address.

use super::location::{Location, ObjectNumber};
use crate::profile::symbolize::object_key;
use hashbrown::HashMap;
use perf_data::session::Session;
use perf_data::session::ViewId;
use perf_data::session::map::{Map, MapId, PAGE};
use perf_data::session::space::Space;
use perf_data::stream::meta::Meta;
use perf_symbols::object::build_id::Id;
use perf_symbols::symbol::ObjectKey;
use perf_symbols::symbolizer::recorded_build_ids::BuildIds;

/// An object with code: a program, a library, a kernel or a module.
#[derive(Clone, Debug)]
pub struct BranchObject {
    /// How its file is searched.
    pub key: ObjectKey,
    /// For a kernel, the distance of its reference symbol, such as `_text`, from offset 0.
    pub reference: Option<u64>,
}

impl BranchObject {
    /// The path or name, as recorded.
    pub fn name(&self) -> String {
        self.key.path.display().to_string()
    }

    /// A name for files of it: its file name and, if known, its build ID.
    pub fn file_name(&self) -> String {
        let name = self.key.path.file_name().unwrap_or(self.key.path.as_os_str()).to_string_lossy();
        let id = self.key.build_id.map(|id| format!("-{id}")).unwrap_or_default();
        format!("{name}{id}")
    }

    /// The name of a kernel's reference symbol, which the name of its mapping ends in: `[kernel.kallsyms]_text`.
    pub(super) fn reference_symbol(&self) -> String {
        let name = self.name();
        name.split_once(']').map(|(_, symbol)| symbol).filter(|symbol| !symbol.is_empty()).unwrap_or("_text").to_owned()
    }
}

/// Where the code of a mapping is in its object.
#[derive(Clone, Copy)]
struct MappedObject {
    object: ObjectNumber,
    /// Added to an address, it gives the offset.
    delta: u64,
}

/// Identity of an object: its build ID, whatever its path, or else its path and inode.
type Identity = Result<Id, ObjectKey>;

/// The objects of a recording, numbered from 1.
pub(super) struct Objects {
    build_ids: BuildIds,
    list: Vec<BranchObject>,
    numbers: HashMap<Identity, ObjectNumber>,
    by_map: HashMap<MapId, Option<MappedObject>>,
}

impl Objects {
    pub(super) fn new(meta: &Meta) -> Self {
        Self { build_ids: BuildIds::new(meta), list: Vec::new(), numbers: HashMap::new(), by_map: HashMap::new() }
    }

    /// The object of a mapping; `None` for memory without a file.
    fn mapped(&mut self, session: &Session, id: MapId) -> Option<MappedObject> {
        let Self { build_ids, list, numbers, by_map } = self;
        *by_map.entry(id).or_insert_with(|| {
            let map = session.map(id);
            if map.pid.is_some() || !map.may_be_code() {
                return None;
            }
            let key = object_key(map, build_ids, session.process_files());
            let identity = key.build_id.ok_or_else(|| key.clone());
            let object = match numbers.get(&identity) {
                Some(&number) => number,
                None => {
                    let number = ObjectNumber::try_from(list.len() + 1).ok()?;
                    let reference = map.is_kernel().then(|| map.pgoff.wrapping_sub(map.start));
                    list.push(BranchObject { key: with_load_address(key, map), reference });
                    numbers.insert(identity, number);
                    number
                }
            };
            let origin = if map.belongs_to_kernel() { map.start } else { map.start.wrapping_sub(map.pgoff) };
            Some(MappedObject { object, delta: origin.wrapping_neg() })
        })
    }

    /// The objects.
    pub(super) fn finish(self) -> Vec<BranchObject> {
        self.list
    }
}

/// The key of a module has its address, by which its file is found.
fn with_load_address(key: ObjectKey, map: &Map) -> ObjectKey {
    let is_module = map.belongs_to_kernel() && !map.is_kernel();
    ObjectKey { load_address: is_module.then_some(map.start), ..key }
}

/// Number of pages in the cache. Programs spend most of their time in fewer.
const PAGES: usize = 1 << 10;

/// A page whose mapping is known.
#[derive(Clone, Copy)]
struct CachedPage {
    view: ViewId,
    page: u64,
    mapped: Option<MappedObject>,
}

/// Locations by page, of the mappings that a sample's process sees.
pub(super) struct PageCache {
    view: ViewId,
    pages: Box<[CachedPage]>,
}

impl Default for PageCache {
    fn default() -> Self {
        // No address is in this page.
        let none = CachedPage { view: 0, page: u64::MAX, mapped: None };
        Self { view: 0, pages: vec![none; PAGES].into() }
    }
}

impl PageCache {
    /// Selects the view of a sample's process.
    #[inline]
    pub(super) fn select(&mut self, view: ViewId) {
        self.view = view;
    }

    /// The selected view.
    #[inline]
    pub(super) fn view(&self) -> ViewId {
        self.view
    }

    /// The location of an address of a process.
    pub(super) fn locate(&mut self, session: &Session, objects: &mut Objects, pid: u32, address: u64) -> Location {
        let page = address / PAGE;
        let slot = &mut self.pages[(page ^ self.view << 5) as usize % PAGES];
        let mapped = if (slot.page, slot.view) == (page, self.view) {
            slot.mapped
        } else {
            let space = if address >> 63 == 1 { Space::Kernel } else { Space::User };
            let map = session.map_at(pid, space, address);
            let mapped = map.and_then(|map| objects.mapped(session, map));
            // Mappings of the kernel, such as BPF programs, can share a page.
            let is_whole = |map: &Map| map.start <= page * PAGE && page * PAGE + (PAGE - 1) < map.limit;
            if map.map_or(space == Space::User, |map| is_whole(session.map(map))) {
                *slot = CachedPage { view: self.view, page, mapped };
            }
            mapped
        };
        mapped.map_or(Location::OUTSIDE, |mapped| Location::new(mapped.object, address.wrapping_add(mapped.delta)))
    }
}
