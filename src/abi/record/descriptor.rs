//! What is known about a record type besides the layout of its fields.
//!
//! Each definition has its [`RecordDescriptor`] and its [`VisitFields`] beside it, and the table in [`body`](super::body) demands
//! both: a record type without them does not compile. Checking, splitting, merging and writing for older versions of perf follow
//! from them.

use super::RecordType;
use crate::abi::text::PaddedStr;
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
        Self { kind, since: PerfVersion(since.0, since.1), min_size, lifetime: Lifetime::State }
    }

    /// A record of something that happened.
    pub const fn event(kind: RecordType, since: (u32, u32), min_size: usize) -> Self {
        Self { lifetime: Lifetime::Event, ..Self::state(kind, since, min_size) }
    }
}

/// Visits the fields of a record by their roles. What a visitor does not care for it passes over.
pub trait FieldVisitor {
    /// A process or a thread; where it is signed, -1 stands for any.
    fn task(&mut self, task: TaskField<'_>) {
        let _ = task;
    }

    /// A time, in nanoseconds of the recording's clock.
    fn time(&mut self, time: &mut u64) {
        let _ = time;
    }

    /// The ID of the event that the record belongs to.
    fn own_event_id(&mut self, id: &mut u64) {
        let _ = id;
    }

    /// The ID of some event.
    fn event_id(&mut self, id: &mut u64) {
        let _ = id;
    }

    /// A text that ends with a NUL and padding, with the name of its field.
    fn text(&mut self, name: &'static str, text: &mut PaddedStr) {
        let _ = (name, text);
    }
}

/// The number of a process or a thread, in the width that the record has for it.
#[derive(Debug, PartialEq, Eq)]
pub enum TaskField<'a> {
    /// 32 bits.
    U32(&'a mut u32),
    /// 32 bits, signed.
    I32(&'a mut i32),
    /// 64 bits, signed.
    I64(&'a mut i64),
}

impl TaskField<'_> {
    /// The number; `None` where it is none of a process or thread.
    pub fn get(&self) -> Option<u32> {
        match self {
            Self::U32(task) => Some(**task),
            Self::I32(task) => Some(**task as u32),
            Self::I64(task) => u32::try_from(**task).ok(),
        }
    }

    /// Replaces the number.
    pub fn set(&mut self, number: u32) {
        match self {
            Self::U32(task) => **task = number,
            Self::I32(task) => **task = number as i32,
            Self::I64(task) => **task = number.into(),
        }
    }
}

/// A record whose fields can be visited by role.
pub trait VisitFields {
    /// Passes each field that has a role to the visitor.
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::record::RecordHeader;
    use crate::abi::record::task::Task;

    #[test]
    fn every_named_type_has_its_own_descriptor() {
        for &(kind, name) in RecordType::NAMED {
            let descriptor = kind.descriptor().expect(name);
            assert_eq!(descriptor.kind, kind);
            assert!(descriptor.min_size >= RecordHeader::SIZE, "{name}");
        }
        assert_eq!(RecordType(63).descriptor(), None);
    }

    #[test]
    fn fields_are_visited_by_role() {
        #[derive(Default)]
        struct Shift(Vec<u32>);
        impl FieldVisitor for Shift {
            fn task(&mut self, mut task: TaskField<'_>) {
                let number = task.get().expect("a number");
                self.0.push(number);
                task.set(number + 100);
            }

            fn time(&mut self, time: &mut u64) {
                *time += 1;
            }
        }
        let mut task = Task { pid: 1, ppid: 2, tid: 3, ptid: 4, time: 5 };
        let mut shift = Shift::default();
        task.visit_fields(&mut shift);
        assert_eq!((shift.0, task), (vec![1, 2, 3, 4], Task { pid: 101, ppid: 102, tid: 103, ptid: 104, time: 6 }));
    }
}
