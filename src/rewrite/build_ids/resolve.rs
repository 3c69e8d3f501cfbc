//! Determines the build ID of each object, or why it has none.

use super::find::{FindOptions, Finder, MissingBuildId, Reason};
use super::objects::{FileKey, MappedObject, ObjectScan};
use hashbrown::HashMap;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::CpuMode;
use perf_data::stream::ledger::Ledger;
use perf_symbols::object::build_id::Id;
use perf_symbols::object::host::Host;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Maximum number of names in a note, in about two lines of a terminal.
const MAX_NAMES: usize = 5;

/// The build IDs of objects, and why some have none.
#[derive(Debug, Default)]
pub(crate) struct BuildIdLookups {
    /// The objects with build IDs, in the order of their first mapping.
    pub list: Vec<ResolvedObject>,
    by_name: HashMap<Arc<[u8]>, usize>,
    host: Host,
    missing: BTreeMap<Reason, BTreeSet<String>>,
    /// Code without build ID.
    pub unknown: BTreeSet<Arc<[u8]>>,
}

/// The build IDs of an object.
#[derive(Debug)]
pub(crate) struct ResolvedObject {
    /// Name as in the build ID table.
    pub name: Arc<[u8]>,
    /// Kernel or user space.
    pub mode: CpuMode,
    /// Whether the user gave the build ID.
    pub is_known: bool,
    /// The build IDs of the files that had the name.
    files: BTreeMap<FileKey, Id>,
}

impl ResolvedObject {
    /// The distinct build IDs of the files that had the name.
    pub(crate) fn ids(&self) -> BTreeSet<Id> {
        self.files.values().copied().collect()
    }

    /// The build ID shared by all files that had the name; `None` if they differ.
    pub(crate) fn only_id(&self) -> Option<Id> {
        let mut ids = self.files.values();
        ids.next().copied().filter(|id| ids.all(|other| other == id))
    }
}

impl BuildIdLookups {
    /// Determines the build IDs of the collected objects.
    pub(crate) fn new(scan: &ObjectScan, options: &FindOptions) -> Self {
        let meta = scan.meta.as_ref();
        let string = |id| meta.and_then(|meta| meta.string(id));
        let (hostname, osrelease) = (string(FeatureId::HOSTNAME), string(FeatureId::OSRELEASE));
        let host = Host::new(hostname, osrelease.clone());
        let file = meta.and_then(|meta| meta.files.first()).map(String::as_str);
        let finder = Finder::new(options, file, host.clone(), osrelease);
        let table = meta.map(|meta| meta.build_ids()).unwrap_or_default();
        let table = table.iter().map(|(misc, entry)| (entry.filename.text(), Id::new(entry.id(*misc))));
        let table: HashMap<&[u8], Id> = table.filter_map(|(name, id)| Some((name, id?))).collect();
        let mut resolved = Self { host, ..Self::default() };
        for object in scan.wanted() {
            resolved.add(object, &finder, table.get(&*object.name).copied());
        }
        resolved
    }

    /// Determines the build IDs of an object: as given by the user, else as recorded, else as found.
    fn add(&mut self, object: &MappedObject, finder: &Finder<'_>, in_table: Option<Id>) {
        let known_id = finder.known_build_id(&object.name);
        // The table has one build ID per name, which may be that of any of several files.
        let in_table = in_table.filter(|_| object.files.len() == 1);
        let mut files = BTreeMap::new();
        for (key, &end) in &object.files {
            match known_id
                .or(key.build_id)
                .or(in_table)
                .map_or_else(|| finder.find(object, key, end), |id| Ok(Some(id)))
            {
                Ok(id) => files.extend(id.map(|id| (*key, id))),
                Err(why) => self.miss(object, why),
            }
        }
        if files.is_empty() {
            return;
        }
        self.by_name.insert(Arc::clone(&object.name), self.list.len());
        let (name, mode, is_known) = (Arc::clone(&object.name), object.mode, known_id.is_some());
        self.list.push(ResolvedObject { name, mode, is_known, files });
    }

    /// Notes that an object has no build ID, unless it is not executable.
    fn miss(&mut self, object: &MappedObject, why: impl Into<MissingBuildId>) {
        let MissingBuildId { reason, detail } = why.into();
        if object.is_code {
            self.unknown.insert(Arc::clone(&object.name));
            let name = String::from_utf8_lossy(&object.name);
            let shown = if detail.is_empty() { name.into_owned() } else { format!("{name} ({detail})") };
            self.missing.entry(reason).or_default().insert(shown);
        }
    }

    /// The build ID of a file that had an object's name.
    pub(crate) fn build_id(&self, name: &[u8], file: &FileKey) -> Option<Id> {
        let object = &self.list[*self.by_name.get(name)?];
        object.files.get(file).copied()
    }

    /// Notes that the files of an object have different build IDs, of which the table can hold only one.
    pub(crate) fn note_ambiguous(&mut self, name: &[u8]) {
        self.missing.entry(Reason::Several).or_default().insert(String::from_utf8_lossy(name).into_owned());
    }

    /// Adds notes about objects without a build ID to the ledger, unless another pass already has.
    pub(crate) fn report(&self, ledger: &mut Ledger) {
        for (&reason, names) in &self.missing {
            let why = match reason {
                Reason::OtherHost => {
                    let Host::Other(host) = &self.host else { continue };
                    format!("recorded on another host ({host}); use --symfs DIR to locate its files")
                }
                Reason::Unproven => {
                    "cannot verify that the local file is the recorded one; use --symfs / to accept it".to_owned()
                }
                Reason::OtherFile => "the file is not the recorded one".to_owned(),
                Reason::NotFound => "no such file".to_owned(),
                Reason::Unreadable => "cannot read the file".to_owned(),
                Reason::NoId => "the file has no build ID".to_owned(),
                Reason::Several => "several files had this name during the recording".to_owned(),
            };
            let shown: Vec<_> = names.iter().take(MAX_NAMES).map(String::as_str).collect();
            let further = match names.len().saturating_sub(MAX_NAMES) {
                0 => String::new(),
                further => format!(" and {further} more"),
            };
            let note = format!("no build ID for {}{further}: {why}", shown.join(", "));
            if !ledger.notes().contains(&note) {
                ledger.note(note);
            }
        }
    }
}
