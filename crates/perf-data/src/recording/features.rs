//! Metadata of a recording: machine, command and events.

use crate::abi::Endian;
use crate::abi::attr::Attr;
use crate::abi::feature::{Feature, FeatureId};
use crate::abi::record::Misc;
use crate::abi::record::build_id::BuildId;
use crate::container::read::input::Input;
use crate::container::read::{Container, ReadOptions};
use crate::error::Result;
use crate::stream::Sink;
use crate::stream::event_name::event_name;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use crate::stream::simpleperf_events;
use crate::stream::source::Source;

/// Feature sections and events of a recording.
#[derive(Debug)]
pub struct Features {
    meta: Meta,
}

/// An event of a recording.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedEvent {
    /// Name, as `perf evlist` shows it.
    pub name: String,
    /// The attr that the event was opened with.
    pub attr: Attr,
    /// IDs of its instances: one for each CPU or thread.
    pub ids: Vec<u64>,
}

impl Features {
    /// Reads the features. In a pipe they are records, which may come at its end.
    ///
    /// # Errors
    /// If the recording cannot be read.
    pub fn open(input: Input, read: ReadOptions) -> Result<Self> {
        let source = Source::open(input, read)?;
        let meta = match source.meta().container {
            Container::Pipe => source.run(&mut Ignored)?.0,
            Container::File | Container::Directory => source.meta().clone(),
        };
        Ok(Self { meta })
    }

    /// A feature section, decoded.
    pub fn get(&self, id: FeatureId) -> Option<Feature> {
        let bytes = self.meta.features.get(&id)?;
        Some(Feature::read(id, bytes, self.meta.endian, &self.meta.feature_context()).0)
    }

    /// The IDs of the feature sections, sorted.
    pub fn ids(&self) -> impl Iterator<Item = FeatureId> {
        self.meta.features.keys().copied()
    }

    /// The events, in the order of the recording.
    pub fn events(&self) -> Vec<RecordedEvent> {
        let events = self.meta.events.list().iter();
        events
            .map(|event| RecordedEvent { name: event_name(event), attr: event.attr.clone(), ids: event.ids.clone() })
            .collect()
    }

    /// Byte order of the recorded machine.
    pub fn endian(&self) -> Endian {
        self.meta.endian
    }

    /// Build IDs of files, of which mappings may have none: those of the feature BUILD_ID, then those of records (`perf inject -b`).
    ///
    /// ```
    /// let features = perf_data::Recording::open("tests/recordings/callgraph.data")?.features()?;
    /// for (misc, build_id) in features.build_ids() {
    ///     println!("{:?} {:02x?} {}", build_id.filename.text(), build_id.unpadded_id(misc), misc.cpu_mode());
    /// }
    /// # Ok::<(), perf_data::Error>(())
    /// ```
    pub fn build_ids(&self) -> Vec<(Misc, BuildId)> {
        self.meta.build_ids()
    }

    /// A value of the feature META_INFO of simpleperf, by its key, such as `android_version`.
    pub fn simpleperf_value(&self, key: &str) -> Option<String> {
        let meta_info = self.meta.features.get(&simpleperf_events::META_INFO)?;
        simpleperf_events::value(meta_info, key.as_bytes()).map(|value| String::from_utf8_lossy(value).into_owned())
    }

    /// Host name.
    pub fn hostname(&self) -> Option<String> {
        self.meta.string(FeatureId::HOSTNAME)
    }

    /// Kernel release.
    pub fn os_release(&self) -> Option<String> {
        self.meta.string(FeatureId::OSRELEASE)
    }

    /// Architecture, as `uname -m` prints it.
    pub fn arch(&self) -> Option<String> {
        self.meta.string(FeatureId::ARCH)
    }

    /// Model of the CPU.
    pub fn cpu_desc(&self) -> Option<String> {
        self.meta.string(FeatureId::CPUDESC)
    }

    /// Version of perf.
    pub fn perf_version(&self) -> Option<String> {
        self.meta.string(FeatureId::VERSION)
    }

    /// Command line of perf.
    pub fn command_line(&self) -> Option<Vec<String>> {
        self.meta.cmdline()
    }
}

/// A sink that ignores records; the stream collects the metadata.
struct Ignored;

impl Sink for Ignored {
    fn record(&mut self, _: &Meta, _: &Raw<'_>) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recording;
    use std::collections::BTreeMap;

    #[test]
    fn byte_order_and_build_ids() {
        let features = Recording::open("tests/recordings/callgraph.data").unwrap().features().unwrap();
        assert_eq!(features.endian(), Endian::Little);
        let build_ids = features.build_ids();
        let names: Vec<_> =
            build_ids.iter().map(|(_, entry)| String::from_utf8_lossy(entry.filename.text()).into_owned()).collect();
        assert!(names.iter().any(|name| name.ends_with("/loop-pie")), "{names:?}");
        assert!(build_ids.iter().all(|(misc, entry)| entry.unpadded_id(*misc).len() == 20));
        assert_eq!(features.simpleperf_value("android_version"), None);
    }

    #[test]
    fn values_of_simpleperf() {
        let meta_info = b"android_version\x0014\0timestamp\x001696864401\0".to_vec();
        let features = BTreeMap::from([(simpleperf_events::META_INFO, meta_info.into())]);
        let meta = Meta::synthetic("test".to_owned(), Endian::Little, std::iter::empty(), features);
        let features = Features { meta };
        let value = |key| features.simpleperf_value(key);
        assert_eq!(value("android_version").as_deref(), Some("14"));
        assert_eq!((value("timestamp").as_deref(), value("14")), (Some("1696864401"), None));
    }
}
