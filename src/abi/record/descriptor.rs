//! Properties of a record type other than the layout of its fields.
//!
//! Each definition has a [`RecordDescriptor`] and the roles of its fields ([`VisitFields`](crate::abi::fields::VisitFields))
//! next to it. The table in [`body`](super::body) requires both: a record type without them does not compile. Checking,
//! splitting, merging, anonymizing and writing for older versions of perf are derived from them.

use super::RecordType;
use crate::abi::version::PerfVersion;

/// Properties of a record type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordDescriptor {
    /// The type.
    pub kind: RecordType,
    /// First version of perf that supports it.
    pub since: PerfVersion,
    /// Minimum size that perf accepts, header included, in bytes.
    pub min_size: usize,
    /// Whether it describes a state or an event.
    pub lifetime: Lifetime,
    /// Whether it contains code, traces of code or similar, which can only be omitted from an anonymized recording.
    pub is_confidential: bool,
}

/// Validity of the information in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// From then on: later records may depend on it, such as a mapping or a name.
    State,
    /// Once: an occurrence that is counted, such as a sample.
    Event,
}

impl RecordDescriptor {
    /// A record that describes a state.
    pub const fn state(kind: RecordType, since: (u32, u32), min_size: usize) -> Self {
        Self { kind, since: PerfVersion(since.0, since.1), min_size, lifetime: Lifetime::State, is_confidential: false }
    }

    /// A record of an occurrence.
    pub const fn event(kind: RecordType, since: (u32, u32), min_size: usize) -> Self {
        Self { lifetime: Lifetime::Event, ..Self::state(kind, since, min_size) }
    }

    /// Marks the type as confidential.
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
