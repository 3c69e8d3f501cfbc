//! Which build id each object has, and why some have none.

use super::find::{FindOptions, Finder, Reason, Why};
use super::host::Host;
use super::id::Id;
use super::objects::{FileKey, Object, ObjectScan};
use crate::abi::feature::FeatureId;
use crate::abi::record::CpuMode;
use crate::stream::ledger::Ledger;
use hashbrown::HashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How many names a warning tells.
const NAMES: usize = 5;

/// The build ids of objects, and why some have none.
#[derive(Debug, Default)]
pub struct Resolved {
    /// By the order in which they were mapped first, those that have any.
    pub list: Vec<ResolvedObject>,
    by_name: HashMap<Arc<[u8]>, usize>,
    host: Host,
    missing: BTreeMap<Reason, BTreeSet<String>>,
}

/// The build ids of an object.
#[derive(Debug)]
pub struct ResolvedObject {
    /// As the table of build ids has it.
    pub name: Arc<[u8]>,
    /// Kernel or user space.
    pub mode: CpuMode,
    /// Whether the user told it.
    pub is_known: bool,
    /// Those of the files that had the name.
    files: BTreeMap<FileKey, Id>,
}

impl ResolvedObject {
    /// The build ids of the files that had the name, each once.
    pub fn ids(&self) -> BTreeSet<Id> {
        self.files.values().copied().collect()
    }

    /// The build id of all files that had the name; none where some have another.
    pub fn only_id(&self) -> Option<Id> {
        let mut ids = self.files.values();
        ids.next().copied().filter(|id| ids.all(|other| other == id))
    }
}

impl Resolved {
    /// Looks for the build ids of what was looked at.
    pub fn new(look: &ObjectScan, options: &FindOptions) -> Self {
        let meta = look.meta.as_ref();
        let string = |id| meta.and_then(|meta| meta.string(id));
        let (hostname, osrelease) = (string(FeatureId::HOSTNAME), string(FeatureId::OSRELEASE));
        let host = Host::new(hostname, osrelease.clone());
        let file = meta.and_then(|meta| meta.files.first()).map(String::as_str);
        let finder = Finder::new(options, file, host.clone(), osrelease);
        let table = meta.map(|meta| meta.build_ids()).unwrap_or_default();
        let table = table.iter().map(|(misc, entry)| (entry.filename.text(), Id::new(entry.id(*misc))));
        let table: HashMap<&[u8], Id> = table.filter_map(|(name, id)| Some((name, id?))).collect();
        let mut resolved = Self { host, ..Self::default() };
        for object in look.wanted() {
            resolved.add(object, &finder, table.get(&*object.name).copied());
        }
        resolved
    }

    /// Looks for the build ids of an object: what the user tells, then what the recording tells, then what is found.
    fn add(&mut self, object: &Object, finder: &Finder<'_>, in_table: Option<Id>) {
        let known = finder.known(&object.name);
        let in_table = in_table.filter(|_| object.files.len() == 1);
        let mut files = BTreeMap::new();
        for (key, &end) in &object.files {
            match known.or(key.told).or(in_table).map_or_else(|| finder.find(object, key, end), |id| Ok(Some(id))) {
                Ok(id) => files.extend(id.map(|id| (*key, id))),
                Err(why) => self.miss(object, why),
            }
        }
        if files.is_empty() {
            return;
        }
        self.by_name.insert(Arc::clone(&object.name), self.list.len());
        let (name, mode, is_known) = (Arc::clone(&object.name), object.mode, known.is_some());
        self.list.push(ResolvedObject { name, mode, is_known, files });
    }

    /// Takes note that an object has none. What is not executed need not be a program.
    fn miss(&mut self, object: &Object, why: impl Into<Why>) {
        let Why { reason, detail } = why.into();
        if object.is_code {
            let name = String::from_utf8_lossy(&object.name);
            let shown = if detail.is_empty() { name.into_owned() } else { format!("{name} ({detail})") };
            self.missing.entry(reason).or_default().insert(shown);
        }
    }

    /// The build id of a file that had an object's name.
    pub fn of(&self, name: &[u8], file: &FileKey) -> Option<Id> {
        let object = &self.list[*self.by_name.get(name)?];
        object.files.get(file).copied()
    }

    /// Takes note of an object of which the files have different ids, for all of which there is but one place.
    pub fn note_several(&mut self, name: &[u8]) {
        self.missing.entry(Reason::Several).or_default().insert(String::from_utf8_lossy(name).into_owned());
    }

    /// How many objects have none.
    pub fn missing(&self) -> usize {
        self.missing.values().map(BTreeSet::len).sum()
    }

    /// Tells which objects have none, and why: once, however many passes there are.
    pub fn report(&self, ledger: &mut Ledger) {
        for (&reason, names) in &self.missing {
            let why = match reason {
                Reason::OtherHost => {
                    let Host::Other(host) = &self.host else { continue };
                    format!("the recording is of another host ({host}): --symfs DIR tells where its files are")
                }
                Reason::Unproven => {
                    "nothing shows that what is here was recorded; --symfs / takes it as it is".to_owned()
                }
                Reason::OtherFile => "the file is not the one that was recorded".to_owned(),
                Reason::NotThere => "there is no such file".to_owned(),
                Reason::Unreadable => "the file cannot be read".to_owned(),
                Reason::NoId => "the file has none".to_owned(),
                Reason::Several => "several files had the name while it was recorded".to_owned(),
            };
            let shown: Vec<_> = names.iter().take(NAMES).map(String::as_str).collect();
            let further = match names.len().saturating_sub(NAMES) {
                0 => String::new(),
                further => format!(" and {further} more"),
            };
            let note = format!("no build id for {}{further}: {why}", shown.join(", "));
            if !ledger.notes().contains(&note) {
                ledger.note(note);
            }
        }
    }
}
