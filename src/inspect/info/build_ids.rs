//! Build IDs, in the format of `perf buildid-list`.

use hashbrown::HashSet;
use perf_data::abi;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::hex::to_hex;
use perf_data::abi::record::RecordType;
use perf_data::abi::record::mmap2::Mmap2;
use perf_data::container::read::Container;
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use serde::{Serialize, Serializer};
use std::fmt;

/// A file and its build ID.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct FileId {
    /// The build ID.
    #[serde(serialize_with = "digits")]
    pub build_id: Box<[u8]>,
    /// Path of the file, or a name such as `[kernel.kallsyms]`.
    pub filename: String,
}

impl FileId {
    pub(super) fn new(build_id: &[u8], filename: &[u8]) -> Self {
        Self { build_id: build_id.into(), filename: String::from_utf8_lossy(filename).into_owned() }
    }

    /// The build ID in hexadecimal digits; empty if it is unknown.
    pub fn digits(&self) -> String {
        to_hex(&self.build_id)
    }
}

fn digits<S: Serializer>(bytes: &[u8], serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(&to_hex(bytes))
}

/// A line of `perf buildid-list`.
impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.digits(), self.filename)
    }
}

/// Whether a recording is a file with a table of build IDs.
pub fn has_table(meta: &Meta) -> bool {
    meta.features.contains_key(&FeatureId::BUILD_ID) && meta.container != Container::Pipe
}

/// The build IDs in the recording's table or records, each once.
pub fn listed(meta: &Meta) -> Vec<FileId> {
    let mut ids = Ids::default();
    for (misc, id) in meta.build_ids() {
        ids.add(FileId::new(id.id(misc), id.filename.text()));
    }
    ids.list
}

/// Unique build IDs, in order of appearance.
#[derive(Default)]
struct Ids {
    list: Vec<FileId>,
    seen: HashSet<FileId>,
}

impl Ids {
    fn add(&mut self, id: FileId) {
        if self.seen.insert(id.clone()) {
            self.list.push(id);
        }
    }
}

/// Collects the build IDs of MMAP2 records (`perf record --buildid-mmap`).
#[derive(Default)]
pub struct MappedBuildIds(Ids);

impl MappedBuildIds {
    /// The build IDs of a list, followed by those that are not in it.
    pub fn append_to(self, listed: Vec<FileId>) -> Vec<FileId> {
        let mut all = Ids::default();
        listed.into_iter().chain(self.0.list).for_each(|id| all.add(id));
        all.list
    }
}

impl Sink for MappedBuildIds {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if raw.header().kind != RecordType::MMAP2 {
            return Ok(());
        }
        let (body, _) = meta.events.split(raw);
        let Ok((map, _)) = abi::parse::<Mmap2>(body, raw.endian(), (raw.header().misc,)) else { return Ok(()) };
        let Some(id) = map.file.build_id().filter(|id| !id.is_empty()) else { return Ok(()) };
        let name = map.filename.text();
        // The name is followed by the reference symbol, such as `_text`.
        let kernel = b"[kernel.kallsyms]";
        self.0.add(FileId::new(id, if name.starts_with(kernel) { kernel } else { name }));
        Ok(())
    }
}
