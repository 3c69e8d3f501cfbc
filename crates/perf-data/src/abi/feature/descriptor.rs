//! Properties of a feature other than the layout of its section.
//!
//! Each definition has a [`FeatureDescriptor`] and the roles of its fields ([`VisitFields`](crate::abi::fields::VisitFields))
//! next to it. The table in `content` requires both: a feature without them does not compile.

use super::FeatureId;
use crate::abi::version::PerfVersion;

/// Properties of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureDescriptor {
    /// The feature.
    pub id: FeatureId,
    /// First version of perf that supports it.
    pub since: PerfVersion,
    /// Subject.
    pub subject: Subject,
    /// Properties that few features have.
    pub flags: FeatureFlags,
}

bitflags::bitflags! {
    /// Properties that few features have.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FeatureFlags: u8 {
        /// perf does not write it to a pipe, or not as a HEADER_FEATURE record.
        const FILE_ONLY = 1 << 0;
        /// It describes how the records are stored, and is written together with them.
        const STORAGE = 1 << 1;
        /// It describes the events, samples or files of the recording, and changes with them.
        const DERIVED = 1 << 2;
    }
}

/// Subject of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// The recording: its events, times and storage.
    Recording,
    /// The machine: properties that distinguish models.
    Machine,
    /// The time of day.
    WallClock,
    /// Code or traces of code, which can only be omitted from an anonymized recording.
    Code,
}

impl FeatureDescriptor {
    /// A feature that describes the recording.
    pub const fn recording(id: FeatureId, since: (u32, u32)) -> Self {
        Self { id, since: PerfVersion(since.0, since.1), subject: Subject::Recording, flags: FeatureFlags::empty() }
    }

    /// A feature that describes the machine.
    pub const fn machine(id: FeatureId, since: (u32, u32)) -> Self {
        Self { subject: Subject::Machine, ..Self::recording(id, since) }
    }

    /// A feature with the time of day.
    pub const fn wall_clock(id: FeatureId, since: (u32, u32)) -> Self {
        Self { subject: Subject::WallClock, ..Self::recording(id, since) }
    }

    /// A feature with code or traces of code.
    pub const fn code(id: FeatureId, since: (u32, u32)) -> Self {
        Self { subject: Subject::Code, ..Self::recording(id, since) }
    }

    /// Adds properties.
    pub const fn with(self, flags: FeatureFlags) -> Self {
        Self { flags: self.flags.union(flags), ..self }
    }
}

impl FeatureId {
    /// Whether it has one of these properties. Unknown features have none.
    pub fn has(self, flags: FeatureFlags) -> bool {
        self.descriptor().is_some_and(|descriptor| descriptor.flags.intersects(flags))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_feature_has_its_own_descriptor() {
        for &(id, name) in FeatureId::NAMED {
            assert_eq!(id.descriptor().expect(name).id, id);
        }
        assert_eq!(FeatureId(99).descriptor(), None);
    }
}
