//! What is known about a feature besides the layout of its section.
//!
//! Each definition has its [`FeatureDescriptor`] and the roles of its fields ([`VisitFields`](crate::abi::fields::VisitFields))
//! beside it, and the table in [`content`](super::content) demands both: a feature without them does not compile.

use super::FeatureId;
use crate::abi::version::PerfVersion;

/// A feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureDescriptor {
    /// The feature.
    pub id: FeatureId,
    /// The first version of perf that knows it.
    pub since: PerfVersion,
    /// What it describes.
    pub subject: Subject,
}

/// What a feature describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The recording: its events, its times, how it is stored.
    Recording,
    /// The machine: what tells one model from another.
    Machine,
    /// The time of day.
    WallClock,
    /// Code, or traces of code: what can only be omitted where a recording is to be shown to others.
    Code,
}

impl FeatureDescriptor {
    /// A feature that describes the recording.
    pub const fn of_recording(id: FeatureId, since: (u32, u32)) -> Self {
        Self { id, since: PerfVersion(since.0, since.1), subject: Subject::Recording }
    }

    /// A feature that describes the machine.
    pub const fn of_machine(id: FeatureId, since: (u32, u32)) -> Self {
        Self { subject: Subject::Machine, ..Self::of_recording(id, since) }
    }

    /// A feature with the time of day.
    pub const fn of_wall_clock(id: FeatureId, since: (u32, u32)) -> Self {
        Self { subject: Subject::WallClock, ..Self::of_recording(id, since) }
    }

    /// A feature with code or traces of code.
    pub const fn of_code(id: FeatureId, since: (u32, u32)) -> Self {
        Self { subject: Subject::Code, ..Self::of_recording(id, since) }
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
