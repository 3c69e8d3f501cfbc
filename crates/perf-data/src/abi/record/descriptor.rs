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
    /// First version of perf that supports it. For a type of the kernel, that is also the first version of Linux that writes it,
    /// with whose source perf is released.
    pub since: PerfVersion,
    /// Minimum size that perf accepts, header included, in bytes.
    pub min_size: usize,
    /// Whether it describes a state or an event.
    pub lifetime: Lifetime,
    /// Properties that few types have.
    pub flags: RecordFlags,
}

bitflags::bitflags! {
    /// Properties that few record types have.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RecordFlags: u16 {
        /// It contains code, traces of code or similar, which can only be omitted from an anonymized recording.
        const CONFIDENTIAL = 1 << 0;
        /// It contains compressed records.
        const FRAME = 1 << 1;
        /// In a pipe, it takes the place of a file's header and sections.
        const HEADER = 1 << 2;
        /// It adds to what the header contains about the recording and its events.
        const METADATA = 1 << 3;
        /// Other records cannot be decoded or sorted correctly without it.
        const NEEDED = 1 << 4;
        /// perf expects at most one.
        const ONCE = 1 << 5;
        /// It describes code of the recorded kernel.
        const KERNEL_CODE = 1 << 6;
        /// Its size need not be a multiple of 8.
        const UNALIGNED = 1 << 7;
        /// Bytes that its size does not count may follow it and belong to it.
        const PAYLOAD = 1 << 8;
        /// It describes the process in its `sample_id`, where other records have the process that was running.
        const TRAILER_PROCESS = 1 << 9;
        /// An occurrence that does not depend on the event with whose ID it was recorded.
        const ANY_EVENT = 1 << 10;
    }
}

/// Validity of the information in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lifetime {
    /// From then on: later records may depend on it, such as a mapping or a name.
    State,
    /// Once: an occurrence that is counted, such as a sample.
    Event,
}

impl RecordDescriptor {
    /// A record that describes a state.
    pub const fn state(kind: RecordType, since: (u32, u32), min_size: usize) -> Self {
        Self {
            kind,
            since: PerfVersion(since.0, since.1),
            min_size,
            lifetime: Lifetime::State,
            flags: RecordFlags::empty(),
        }
    }

    /// A record of an occurrence.
    pub const fn event(kind: RecordType, since: (u32, u32), min_size: usize) -> Self {
        Self { lifetime: Lifetime::Event, ..Self::state(kind, since, min_size) }
    }

    /// Adds properties.
    pub const fn with(self, flags: RecordFlags) -> Self {
        Self { flags: self.flags.union(flags), ..self }
    }
}

/// Types by their properties. Unknown types have none.
impl RecordType {
    /// Whether it has one of these properties.
    pub fn has(self, flags: RecordFlags) -> bool {
        self.descriptor().is_some_and(|descriptor| descriptor.flags.intersects(flags))
    }

    /// Whether it contains compressed records.
    #[inline]
    pub fn is_frame(self) -> bool {
        const FRAMES: u128 = RecordType::set_with(RecordFlags::FRAME);
        self.is_in(FRAMES)
    }

    /// Whether it takes the place of a file's header and sections in a pipe.
    #[inline]
    pub fn is_header(self) -> bool {
        const HEADERS: u128 = RecordType::set_with(RecordFlags::HEADER);
        self.is_in(HEADERS)
    }

    /// Whether it describes the recording or its events.
    #[inline]
    pub fn is_about_recording(self) -> bool {
        const TYPES: u128 = RecordType::set_with(RecordFlags::HEADER.union(RecordFlags::METADATA));
        self.is_in(TYPES)
    }

    /// Whether it is an occurrence of the event with whose ID it was recorded, such as a sample.
    #[inline]
    pub fn is_event_record(self) -> bool {
        self.descriptor().is_some_and(|descriptor| {
            descriptor.lifetime == Lifetime::Event && !descriptor.flags.contains(RecordFlags::ANY_EVENT)
        })
    }

    /// Whether bytes that its size does not count may follow it and belong to it.
    #[inline]
    pub fn may_have_payload(self) -> bool {
        const TYPES: u128 = RecordType::set_with(RecordFlags::PAYLOAD);
        self.is_in(TYPES)
    }

    /// Whether the type is in a set with a bit for each type.
    #[inline]
    fn is_in(self, set: u128) -> bool {
        // With a constant set, one of the branches is constant: none of the kernel's types, below 64, is in most sets.
        let (low, high) = (set as u64, (set >> u64::BITS) as u64);
        if low == 0 || self.0 >= u64::BITS {
            let bit = self.0.wrapping_sub(u64::BITS);
            bit < u64::BITS && high >> bit & 1 != 0
        } else {
            low >> self.0 & 1 != 0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Endian;
    use crate::abi::record::{Record, RecordContext, RecordHeader};
    use crate::abi::sample::layout::SampleLayout;

    #[test]
    fn every_named_type_has_its_own_descriptor() {
        for &(kind, name) in RecordType::NAMED {
            let descriptor = kind.descriptor().expect(name);
            assert_eq!(descriptor.kind, kind);
            assert!(descriptor.min_size >= RecordHeader::SIZE, "{name}");
        }
        assert_eq!(RecordType(63).descriptor(), None);
    }

    /// The smallest size at which a record of zeros matches its definition.
    fn smallest(kind: RecordType) -> Option<usize> {
        let context = RecordContext { endian: Endian::Little, layout: SampleLayout::default(), sample_id_all: false };
        (RecordHeader::SIZE..1024).find(|&size| {
            let mut bytes = vec![0; size];
            bytes[..4].copy_from_slice(&kind.0.to_le_bytes());
            bytes[6..8].copy_from_slice(&(size as u16).to_le_bytes());
            Record::read(&bytes, &context).is_some_and(|record| record.body.kind().is_some())
        })
    }

    #[test]
    fn minimum_sizes_follow_from_definitions_except_where_perf_has_others() {
        // perf's minimum, and the smallest size of the definition: without fields of newer versions, or more than perf requires.
        let exceptions = [
            (RecordType::CALLCHAIN_DEFERRED, 16, 24),
            (RecordType::HEADER_EVENT_TYPE, 8, 16),
            (RecordType::AUXTRACE_ERROR, 49, 40),
            (RecordType::CPU_MAP, 16, 10),
        ];
        for &(kind, name) in RecordType::NAMED {
            let (minimum, smallest) = (kind.descriptor().expect(name).min_size, smallest(kind));
            match exceptions.iter().find(|(exception, ..)| *exception == kind) {
                Some(&(_, expected, of_definition)) => {
                    assert_eq!((minimum, smallest), (expected, Some(of_definition)), "{name}")
                }
                // perf also requires the NUL of a name at the end.
                None => assert!(smallest == Some(minimum) || smallest == Some(minimum - 1), "{name}: {smallest:?}"),
            }
        }
    }

    #[test]
    fn sets_contain_the_types_with_a_property() {
        for kind in (0..300).map(RecordType) {
            assert_eq!(kind.is_frame(), kind.has(RecordFlags::FRAME));
            assert_eq!(kind.is_header(), kind.has(RecordFlags::HEADER));
            assert_eq!(kind.may_have_payload(), kind.has(RecordFlags::PAYLOAD));
        }
        assert!(RecordType::COMPRESSED2.is_frame() && !RecordType::SAMPLE.is_frame());
    }
}
