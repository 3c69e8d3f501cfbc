//! Metadata of a recording: machine, command and events.

use crate::abi::attr::Attr;
use crate::abi::feature::{Feature, FeatureId};
use crate::container::read::input::Input;
use crate::container::read::{Container, ReadOptions};
use crate::error::Result;
use crate::stream::Sink;
use crate::stream::event_name::event_name;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
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
