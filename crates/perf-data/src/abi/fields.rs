//! Fields of records and features by their roles.
//!
//! Each definition assigns roles to all its fields in [`VisitFields`], mostly by the macro [`roles!`](crate::roles), which
//! rejects fields without a role. Merging, anonymizing and checking implement [`FieldVisitor`].

use super::attr::Attr;
use super::feature::FeatureId;
use super::feature::string::PerfStr;
use super::feature::tracing_data::TracingData;
use super::record::CpuMode;
use super::record::build_id::BuildId;
use super::text::{FixedStr, PaddedStr, until_nul};

/// Seals [`FieldVisitor`]: a new role, which each visitor must handle, is no breaking change. Only crates of this workspace implement
/// it.
#[doc(hidden)]
pub trait InWorkspace {}

/// Visitor of the fields of a record or feature by role. It has a method for each role; those that it ignores are listed in
/// `ignore_roles!`, so that a new role does not compile before each visitor handles or ignores it.
pub trait FieldVisitor: InWorkspace {
    /// A process or thread ID; -1 in a signed field means any.
    fn task(&mut self, task: TaskField<'_>);

    /// The ID of the process that the record describes.
    fn own_process(&mut self, process: TaskField<'_>);

    /// The process of a virtual machine on the host; 0 or -1 for the host itself.
    fn guest(&mut self, task: TaskField<'_>);

    /// A time in nanoseconds on the clock of the recording.
    fn time(&mut self, time: &mut u64);

    /// Nanoseconds since the start of counting.
    fn elapsed(&mut self, time: &mut u64);

    /// The time of the recording's clock at the zero of another clock.
    fn clock_origin(&mut self, time: &mut u64);

    /// The ID of the event that the record belongs to.
    fn own_event_id(&mut self, id: &mut u64);

    /// The ID of some event.
    fn event_id(&mut self, id: &mut u64);

    /// An attr. In a record its encoded length is its size field.
    fn attr(&mut self, attr: &mut Attr);

    /// A string.
    fn text(&mut self, role: TextRole<'_>, text: TextField<'_>);

    /// The arguments of a perf command line.
    fn command_line(&mut self, words: &mut [PerfStr]);

    /// A mapping.
    fn mapping(&mut self, mapping: MappingFields<'_>);

    /// An address in the address space of `mode`; [`CpuMode::UNKNOWN`] if it may be in any of the host.
    fn address(&mut self, mode: CpuMode, address: &mut u64);

    /// The start address of `len` bytes of code.
    fn code(&mut self, mode: CpuMode, start: &mut u64, len: u64);

    /// A call chain with context markers; `mode` applies before the first marker.
    fn callchain(&mut self, mode: CpuMode, ips: &mut [u64]);

    /// Identification of a file.
    fn inode(&mut self, inode: InodeFields<'_>);

    /// Identification of a namespace.
    fn namespace(&mut self, dev: &mut u64, ino: &mut u64);

    /// A build ID of `size` bytes, zero-padded.
    fn build_id(&mut self, id: &mut [u8; 20], size: &mut u8);

    /// A build ID of a file whose CPU mode and ID size are in `misc`.
    fn file_build_id(&mut self, build_id: &mut BuildId);

    /// A cgroup ID.
    fn cgroup_id(&mut self, id: &mut u64);

    /// Tag of a BPF program.
    fn bpf_tag(&mut self, tag: &mut [u8; 8]);

    /// Content of a feature.
    fn feature(&mut self, id: FeatureId, content: &mut Vec<u8>);

    /// Tracepoint formats.
    fn tracing_data(&mut self, data: &mut TracingData);

    /// Bytes without a defined meaning: reserved, padding, payload. They can be cleared.
    fn opaque(&mut self, bytes: &mut dyn Clear);

    /// Called if the record or feature contains something unknown.
    fn unknown(&mut self);
}

/// Implements roles of [`FieldVisitor`] by doing nothing: `ignore_roles! { time, elapsed }`.
#[doc(hidden)]
#[macro_export]
macro_rules! ignore_roles {
    ($($role:ident),* $(,)?) => { $($crate::ignore_roles!(@ $role);)* };
    (@ task) => { fn task(&mut self, _: $crate::abi::fields::TaskField<'_>) {} };
    (@ own_process) => { fn own_process(&mut self, _: $crate::abi::fields::TaskField<'_>) {} };
    (@ guest) => { fn guest(&mut self, _: $crate::abi::fields::TaskField<'_>) {} };
    (@ time) => { fn time(&mut self, _: &mut u64) {} };
    (@ elapsed) => { fn elapsed(&mut self, _: &mut u64) {} };
    (@ clock_origin) => { fn clock_origin(&mut self, _: &mut u64) {} };
    (@ own_event_id) => { fn own_event_id(&mut self, _: &mut u64) {} };
    (@ event_id) => { fn event_id(&mut self, _: &mut u64) {} };
    (@ attr) => { fn attr(&mut self, _: &mut $crate::abi::attr::Attr) {} };
    (@ text) => { fn text(&mut self, _: $crate::abi::fields::TextRole<'_>, _: $crate::abi::fields::TextField<'_>) {} };
    (@ command_line) => { fn command_line(&mut self, _: &mut [$crate::abi::feature::string::PerfStr]) {} };
    (@ mapping) => { fn mapping(&mut self, _: $crate::abi::fields::MappingFields<'_>) {} };
    (@ address) => { fn address(&mut self, _: $crate::abi::record::CpuMode, _: &mut u64) {} };
    (@ code) => { fn code(&mut self, _: $crate::abi::record::CpuMode, _: &mut u64, _: u64) {} };
    (@ callchain) => { fn callchain(&mut self, _: $crate::abi::record::CpuMode, _: &mut [u64]) {} };
    (@ inode) => { fn inode(&mut self, _: $crate::abi::fields::InodeFields<'_>) {} };
    (@ namespace) => { fn namespace(&mut self, _: &mut u64, _: &mut u64) {} };
    (@ build_id) => { fn build_id(&mut self, _: &mut [u8; 20], _: &mut u8) {} };
    (@ file_build_id) => { fn file_build_id(&mut self, _: &mut $crate::abi::record::build_id::BuildId) {} };
    (@ cgroup_id) => { fn cgroup_id(&mut self, _: &mut u64) {} };
    (@ bpf_tag) => { fn bpf_tag(&mut self, _: &mut [u8; 8]) {} };
    (@ feature) => { fn feature(&mut self, _: $crate::abi::feature::FeatureId, _: &mut Vec<u8>) {} };
    (@ tracing_data) => { fn tracing_data(&mut self, _: &mut $crate::abi::feature::tracing_data::TracingData) {} };
    (@ opaque) => { fn opaque(&mut self, _: &mut dyn $crate::abi::fields::Clear) {} };
    (@ unknown) => { fn unknown(&mut self) {} };
}
#[doc(hidden)]
pub use ignore_roles;

/// A record or feature whose fields can be visited by role.
pub trait VisitFields {
    /// Visits each field that has a role.
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor);
}

impl<T: VisitFields> VisitFields for Vec<T> {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        self.iter_mut().for_each(|fields| fields.visit_fields(visitor));
    }
}

impl<T: VisitFields> VisitFields for Option<T> {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        self.iter_mut().for_each(|fields| fields.visit_fields(visitor));
    }
}

impl<T: VisitFields> VisitFields for Box<T> {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        (**self).visit_fields(visitor);
    }
}

/// Implements [`VisitFields`] from the roles of the fields, in visiting order. All fields must be listed.
///
/// A role is a method of [`FieldVisitor`] with a single argument; or `text(ROLE)`, with a [`TextRole`]; `address(MODE)` and
/// `callchain(MODE)`, with a [`CpuMode`]; `own_thread` for the process and thread that the record describes; `event_ids` for a list; `fields` for nested fields; `number` for sizes, counts, CPUs,
/// flags and other values that no visitor needs.
///
/// ```
/// use perf_data::abi::fields::{FieldVisitor, VisitFields};
///
/// struct Example { pid: u32, count: u64 }
/// perf_data::roles! { Example { pid: task, count: number } }
/// ```
///
/// A field without a role does not compile:
///
/// ```compile_fail,E0027
/// use perf_data::abi::fields::{FieldVisitor, VisitFields};
///
/// struct Example { pid: u32, count: u64 }
/// perf_data::roles! { Example { pid: task } }
/// ```
#[macro_export]
macro_rules! roles {
    ($type:ident { $($field:ident: $role:ident $(($($arg:tt)*))?),* $(,)? }) => {
        impl $crate::abi::fields::VisitFields for $type {
            fn visit_fields(&mut self, visitor: &mut dyn $crate::abi::fields::FieldVisitor) {
                let _ = &visitor;
                let Self { $($field),* } = self;
                $($crate::roles!(@ visitor $field $role $($($arg)*)?);)*
            }
        }
    };
    (@ $visitor:ident $field:ident number) => { let _ = $field; };
    (@ $visitor:ident $field:ident fields) => { $crate::abi::fields::VisitFields::visit_fields($field, $visitor); };
    (@ $visitor:ident $field:ident task) => { $visitor.task($field.into()); };
    (@ $visitor:ident $field:ident own_process) => { $visitor.own_process($field.into()); };
    (@ $visitor:ident $field:ident guest) => { $visitor.guest($field.into()); };
    (@ $visitor:ident $field:ident own_thread) => {
        $visitor.own_process((&mut $field.0).into());
        $visitor.task((&mut $field.1).into());
    };
    (@ $visitor:ident $field:ident event_ids) => { $field.iter_mut().for_each(|id| $visitor.event_id(id)); };
    (@ $visitor:ident $field:ident text $role:ident) => {
        $visitor.text($crate::abi::fields::TextRole::$role, $crate::abi::fields::TextField::new(stringify!($field), $field));
    };
    (@ $visitor:ident $field:ident $role:ident $mode:ident) => {
        $visitor.$role($crate::abi::record::CpuMode::$mode, $field);
    };
    (@ $visitor:ident $field:ident $role:ident) => { $visitor.$role($field); };
}

/// A process or thread ID, in the width of its field.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskField<'a> {
    /// 32 bits.
    U32(&'a mut u32),
    /// 32 bits, signed.
    I32(&'a mut i32),
    /// 64 bits, signed.
    I64(&'a mut i64),
    /// 64 bits.
    U64(&'a mut u64),
}

impl TaskField<'_> {
    /// The ID; `None` if the value is not a valid ID.
    pub fn get(&self) -> Option<u32> {
        match self {
            Self::U32(task) => Some(**task),
            Self::I32(task) => Some(**task as u32),
            Self::I64(task) => u32::try_from(**task).ok(),
            Self::U64(task) => u32::try_from(**task).ok(),
        }
    }

    /// Replaces the ID.
    pub fn set(&mut self, number: u32) {
        match self {
            Self::U32(task) => **task = number,
            Self::I32(task) => **task = number as i32,
            Self::I64(task) => **task = number.into(),
            Self::U64(task) => **task = number.into(),
        }
    }

    /// Sets the ID to -1, which means none.
    pub fn set_none(&mut self) {
        match self {
            Self::U32(task) => **task = u32::MAX,
            Self::I32(task) => **task = -1,
            Self::I64(task) => **task = -1,
            Self::U64(task) => **task = u64::MAX,
        }
    }
}

impl<'a> From<&'a mut u32> for TaskField<'a> {
    fn from(task: &'a mut u32) -> Self {
        Self::U32(task)
    }
}

impl<'a> From<&'a mut i32> for TaskField<'a> {
    fn from(task: &'a mut i32) -> Self {
        Self::I32(task)
    }
}

impl<'a> From<&'a mut i64> for TaskField<'a> {
    fn from(task: &'a mut i64) -> Self {
        Self::I64(task)
    }
}

impl<'a> From<&'a mut u64> for TaskField<'a> {
    fn from(task: &'a mut u64) -> Self {
        Self::U64(task)
    }
}

/// Meaning of a string.
#[derive(Clone, Copy, Debug)]
pub enum TextRole<'a> {
    /// A path, or the name of a mapping.
    Path,
    /// Name of the thread with this ID.
    Comm(u32),
    /// Path of a cgroup.
    Cgroup,
    /// Name of a kernel symbol.
    Symbol,
    /// Name of an event.
    Event(EventRef<'a>),
    /// Name of a tracepoint.
    Tracepoint,
    /// Unit of an event's values.
    Unit,
    /// Name of a PMU.
    Pmu,
    /// Host name.
    Host,
    /// Version of kernel or perf.
    Version,
    /// Architecture, as printed by `uname -m`.
    Arch,
    /// Text from the hardware or a driver.
    Hardware,
    /// CPU lists, sizes and kernel terms of the topology.
    Topology,
    /// Anything else.
    Any,
}

/// Event that a name belongs to.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum EventRef<'a> {
    /// Not specified.
    Unknown,
    /// The event with this ID.
    Id(u64),
    /// The event with this attr.
    Attr(&'a Attr),
}

/// A string with the name of its field.
#[derive(Debug)]
pub struct TextField<'a> {
    /// The name of the field.
    pub name: &'static str,
    /// The text.
    pub place: TextPlace<'a>,
}

/// A string in its storage form.
#[derive(Debug)]
#[non_exhaustive]
pub enum TextPlace<'a> {
    /// At the end of a record, padded to a multiple of this many bytes.
    Padded(&'a mut PaddedStr, usize),
    /// In an array of fixed size.
    Fixed(&'a mut [u8]),
    /// In a feature.
    Feature(&'a mut PerfStr),
}

impl<'a> TextField<'a> {
    /// A string field.
    pub fn new(name: &'static str, text: impl Into<TextPlace<'a>>) -> Self {
        Self { name, place: text.into() }
    }

    /// The string, without NUL and padding.
    pub fn text(&self) -> &[u8] {
        match &self.place {
            TextPlace::Padded(text, _) => text.text(),
            TextPlace::Fixed(bytes) => until_nul(bytes),
            TextPlace::Feature(text) => text.text(),
        }
    }

    /// Replaces the string and its padding.
    pub fn set(&mut self, to: &[u8]) {
        match &mut self.place {
            TextPlace::Padded(text, align) => **text = PaddedStr::new(to, *align),
            TextPlace::Fixed(bytes) => {
                let len = to.len().min(bytes.len());
                bytes[..len].copy_from_slice(&to[..len]);
                bytes[len..].fill(0);
            }
            TextPlace::Feature(text) => **text = PerfStr::new(to),
        }
    }
}

impl<'a> From<&'a mut PaddedStr> for TextPlace<'a> {
    fn from(text: &'a mut PaddedStr) -> Self {
        Self::Padded(text, 8)
    }
}

impl<'a, const N: usize> From<&'a mut FixedStr<N>> for TextPlace<'a> {
    fn from(text: &'a mut FixedStr<N>) -> Self {
        Self::Fixed(&mut text.0)
    }
}

impl<'a> From<&'a mut PerfStr> for TextPlace<'a> {
    fn from(text: &'a mut PerfStr) -> Self {
        Self::Feature(text)
    }
}

/// Fields of a mapping.
#[derive(Debug)]
pub struct MappingFields<'a> {
    /// Process ID; -1 for the kernel.
    pub pid: u32,
    /// First address.
    pub addr: &'a mut u64,
    /// Length in bytes.
    pub len: &'a mut u64,
    /// Offset in the file; for the kernel, the address of the reference symbol.
    pub pgoff: &'a mut u64,
    /// Path, or a name such as `[vdso]`.
    pub filename: TextField<'a>,
}

/// Identification of a file.
#[derive(Debug)]
pub struct InodeFields<'a> {
    /// Major number of the device.
    pub maj: &'a mut u32,
    /// Minor number of the device.
    pub min: &'a mut u32,
    /// Inode.
    pub ino: &'a mut u64,
    /// Generation of the inode.
    pub generation: &'a mut u64,
}

/// Values that can be cleared.
pub trait Clear {
    /// Replaces numbers by 0 and removes data of variable length.
    fn clear(&mut self);
}

impl<T: Default> Clear for T {
    fn clear(&mut self) {
        *self = T::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::record::task::Task;

    #[test]
    fn fields_are_visited_by_role() {
        #[derive(Default)]
        struct Shift(Vec<u32>);
        impl crate::abi::fields::InWorkspace for Shift {}

        impl FieldVisitor for Shift {
            fn task(&mut self, mut task: TaskField<'_>) {
                let number = task.get().expect("a number");
                self.0.push(number);
                task.set(number + 100);
            }

            fn own_process(&mut self, process: TaskField<'_>) {
                self.task(process);
            }

            fn time(&mut self, time: &mut u64) {
                *time += 1;
            }

            ignore_roles! {
                guest, elapsed, clock_origin, own_event_id, event_id, attr, text, command_line, mapping, address, code, callchain, inode, namespace, build_id, file_build_id, cgroup_id, bpf_tag, feature, tracing_data, opaque, unknown
            }
        }
        let mut task = Task { pid: 1, ppid: 2, tid: 3, ptid: 4, time: 5 };
        let mut shift = Shift::default();
        task.visit_fields(&mut shift);
        assert_eq!((shift.0, task), (vec![1, 2, 3, 4], Task { pid: 101, ppid: 102, tid: 103, ptid: 104, time: 6 }));
    }

    #[test]
    fn strings_are_replaced_with_their_padding() {
        let (mut padded, mut fixed, mut feature) =
            (PaddedStr::from(b"abc\0stale".to_vec()), FixedStr::<4>::new(b"abc"), PerfStr { bytes: b"abc".to_vec() });
        let fields = [TextPlace::from(&mut padded), TextPlace::from(&mut fixed), TextPlace::from(&mut feature)];
        for text in fields {
            let mut field = TextField::new("name", text);
            assert_eq!(field.text(), b"abc");
            field.set(b"longer");
        }
        assert_eq!((padded.as_bytes(), &fixed.0, feature), (&b"longer\0\0"[..], b"long", PerfStr::new(b"longer")));
    }

    #[test]
    fn ids_have_the_width_of_their_fields() {
        let (mut signed, mut wide, mut unsigned) = (-1_i32, -1_i64, u64::MAX);
        assert_eq!(TaskField::from(&mut signed).get(), Some(u32::MAX));
        assert_eq!((TaskField::from(&mut wide).get(), TaskField::from(&mut unsigned).get()), (None, None));
        TaskField::from(&mut wide).set(7);
        TaskField::from(&mut unsigned).set_none();
        assert_eq!((wide, unsigned), (7, u64::MAX));
    }
}
