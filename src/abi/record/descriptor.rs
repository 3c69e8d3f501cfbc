//! What is known about a record type besides the layout of its fields.
//!
//! Each definition has its [`RecordDescriptor`] and the roles of its fields ([`VisitFields`](crate::abi::fields::VisitFields))
//! beside it, and the table in [`body`](super::body) demands both: a record type without them does not compile. Checking,
//! splitting, merging, anonymizing and writing for older versions of perf follow from them.

use super::RecordType;
use crate::abi::version::PerfVersion;

/// A record type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordDescriptor {
    /// The type.
    pub kind: RecordType,
    /// The first version of perf that knows it.
    pub since: PerfVersion,
    /// The smallest size that perf accepts, header included, in bytes.
    pub min_size: usize,
    /// Whether it describes a state or an event.
    pub lifetime: Lifetime,
    /// Whether it is code, traces of code or the like: what can only be omitted where a recording is to be shown to others.
    pub is_confidential: bool,
}

/// For how long what a record says holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// From then on: all that follows may need it, such as a mapping or a name.
    State,
    /// Once: something that happened, and is counted, such as a sample.
    Event,
}

impl RecordDescriptor {
    /// A record that describes a state.
    pub const fn state(kind: RecordType, since: (u32, u32), min_size: usize) -> Self {
        Self { kind, since: PerfVersion(since.0, since.1), min_size, lifetime: Lifetime::State, is_confidential: false }
    }

    /// A record of something that happened.
    pub const fn event(kind: RecordType, since: (u32, u32), min_size: usize) -> Self {
        Self { lifetime: Lifetime::Event, ..Self::state(kind, since, min_size) }
    }

    /// The same, of which nothing can be shown to others.
    pub const fn confidential(self) -> Self {
        Self { is_confidential: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::record::RecordHeader;

    #[test]
    fn every_named_type_has_its_own_descriptor() {
        for &(kind, name) in RecordType::NAMED {
            let descriptor = kind.descriptor().expect(name);
            assert_eq!(descriptor.kind, kind);
            assert!(descriptor.min_size >= RecordHeader::SIZE, "{name}");
        }
        assert_eq!(RecordType(63).descriptor(), None);
    }
}
