//! Fields of records and features by their roles.
//!
//! Each definition states the role of all its fields in [`VisitFields`], mostly by the macro [`roles!`](crate::roles), which
//! rejects a definition with a field that has none. Merging, anonymizing and checking are implementations of [`FieldVisitor`].

use super::attr::Attr;
use super::feature::FeatureId;
use super::feature::string::PerfStr;
use super::feature::tracing_data::TracingData;
use super::record::CpuMode;
use super::record::build_id::BuildId;
use super::text::{FixedStr, PaddedStr, until_nul};

/// Visits the fields of a record or a feature by their roles. By default a visitor passes over them.
pub trait FieldVisitor {
    /// A process or a thread; where it is signed, -1 stands for any.
    fn task(&mut self, _task: TaskField<'_>) {}

    /// The process of a virtual machine on the host; 0 or -1 for the host itself.
    fn guest(&mut self, _task: TaskField<'_>) {}

    /// A time, in nanoseconds of the recording's clock.
    fn time(&mut self, _time: &mut u64) {}

    /// Nanoseconds since counting began.
    fn elapsed(&mut self, _time: &mut u64) {}

    /// The time of the recording's clock when another clock was 0.
    fn clock_origin(&mut self, _time: &mut u64) {}

    /// The ID of the event that the record belongs to.
    fn own_event_id(&mut self, _id: &mut u64) {}

    /// The ID of some event.
    fn event_id(&mut self, _id: &mut u64) {}

    /// How an event was opened. In a record it takes as many bytes as its size says.
    fn attr(&mut self, _attr: &mut Attr) {}

    /// A text.
    fn text(&mut self, _role: TextRole<'_>, _text: TextField<'_>) {}

    /// The words of a command line of perf.
    fn command_line(&mut self, _words: &mut [PerfStr]) {}

    /// A mapped file. Only its name is passed on by default.
    fn mapping(&mut self, mapping: MappingFields<'_>) {
        self.text(TextRole::Path, mapping.filename);
    }

    /// An address, in the address space of that mode; [`CpuMode::UNKNOWN`] where it may be in any of the host.
    fn address(&mut self, _mode: CpuMode, _address: &mut u64) {}

    /// The first address of so many bytes of code.
    fn code(&mut self, mode: CpuMode, start: &mut u64, _len: u64) {
        self.address(mode, start);
    }

    /// Addresses of a call chain, and the marks of the address spaces that they are in; that of the first is given.
    fn callchain(&mut self, _mode: CpuMode, _ips: &mut [u64]) {}

    /// What identifies a file.
    fn inode(&mut self, _inode: InodeFields<'_>) {}

    /// What identifies a namespace: device and inode.
    fn namespace(&mut self, _dev: &mut u64, _ino: &mut u64) {}

    /// A build ID of so many bytes, and zeros.
    fn build_id(&mut self, _id: &mut [u8; 20], _size: &mut u8) {}

    /// The build ID of a file, where the record's misc word says whose file it is and how long the ID is. Only the name of the
    /// file is passed on by default.
    fn file_build_id(&mut self, build_id: &mut BuildId) {
        self.text(TextRole::Path, TextField::new("filename", &mut build_id.filename));
    }

    /// The ID of a cgroup.
    fn cgroup_id(&mut self, _id: &mut u64) {}

    /// Hash of the instructions of a BPF program.
    fn bpf_tag(&mut self, _tag: &mut [u8; 8]) {}

    /// The content of a feature.
    fn feature(&mut self, _id: FeatureId, _content: &mut Vec<u8>) {}

    /// Formats of tracepoints.
    fn tracing_data(&mut self, _data: &mut TracingData) {}

    /// Bytes without a meaning that is defined: reserved, padding, payload. They can be cleared.
    fn opaque(&mut self, _bytes: &mut dyn Clear) {}

    /// The record or feature has something that is not known here.
    fn unknown(&mut self) {}
}

/// A record or feature whose fields can be visited by role.
pub trait VisitFields {
    /// Passes each field that has a role to the visitor.
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

/// Implements [`VisitFields`] by the role of each field, in the order in which they are visited. All fields have to be listed.
///
/// A role is a method of [`FieldVisitor`] that takes the field alone; or `text(ROLE)`, with a [`TextRole`]; `address(MODE)` and
/// `callchain(MODE)`, with a [`CpuMode`]; `event_ids` for a list of them; `fields` for what has fields of its own; and `number`
/// for sizes, counts, CPUs, flags and the like, which no visitor needs.
///
/// ```
/// use perfconv::abi::fields::{FieldVisitor, VisitFields};
///
/// struct Example { pid: u32, count: u64 }
/// perfconv::roles! { Example { pid: task, count: number } }
/// ```
///
/// A field without a role does not compile:
///
/// ```compile_fail,E0027
/// use perfconv::abi::fields::{FieldVisitor, VisitFields};
///
/// struct Example { pid: u32, count: u64 }
/// perfconv::roles! { Example { pid: task } }
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
    (@ $visitor:ident $field:ident guest) => { $visitor.guest($field.into()); };
    (@ $visitor:ident $field:ident event_ids) => { $field.iter_mut().for_each(|id| $visitor.event_id(id)); };
    (@ $visitor:ident $field:ident text $role:ident) => {
        $visitor.text($crate::abi::fields::TextRole::$role, $crate::abi::fields::TextField::new(stringify!($field), $field));
    };
    (@ $visitor:ident $field:ident $role:ident $mode:ident) => {
        $visitor.$role($crate::abi::record::CpuMode::$mode, $field);
    };
    (@ $visitor:ident $field:ident $role:ident) => { $visitor.$role($field); };
}

/// The number of a process or a thread, in the width that there is for it.
#[derive(Debug, PartialEq, Eq)]
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
    /// The number; `None` where it is none of a process or thread.
    pub fn get(&self) -> Option<u32> {
        match self {
            Self::U32(task) => Some(**task),
            Self::I32(task) => Some(**task as u32),
            Self::I64(task) => u32::try_from(**task).ok(),
            Self::U64(task) => u32::try_from(**task).ok(),
        }
    }

    /// Replaces the number.
    pub fn set(&mut self, number: u32) {
        match self {
            Self::U32(task) => **task = number,
            Self::I32(task) => **task = number as i32,
            Self::I64(task) => **task = number.into(),
            Self::U64(task) => **task = number.into(),
        }
    }

    /// Replaces the number by the -1 that stands for none.
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

/// What a text says.
#[derive(Clone, Copy, Debug)]
pub enum TextRole<'a> {
    /// A path, or the name of what is mapped.
    Path,
    /// The name of the thread of that number.
    Comm(u32),
    /// The path of a cgroup.
    Cgroup,
    /// The name of a kernel symbol.
    Symbol,
    /// The name of an event.
    Event(EventRef<'a>),
    /// The name of a tracepoint.
    Tracepoint,
    /// The unit of an event's values.
    Unit,
    /// The name of a PMU.
    Pmu,
    /// The name of the host.
    Host,
    /// A version of kernel or perf.
    Version,
    /// A machine as `uname -m` reports it.
    Arch,
    /// Words that the hardware or its driver has.
    Hardware,
    /// Sets of CPUs, sizes, and words of the kernel for what they are of.
    Topology,
    /// Anything else.
    Any,
}

/// Which event a name is of.
#[derive(Clone, Copy, Debug)]
pub enum EventRef<'a> {
    /// Not stated.
    Unknown,
    /// That of this ID.
    Id(u64),
    /// That of this attr.
    Attr(&'a Attr),
}

/// A text and the name of its field.
#[derive(Debug)]
pub struct TextField<'a> {
    /// The name of the field.
    pub name: &'static str,
    /// The text.
    pub place: TextPlace<'a>,
}

/// A text, in the form that it has.
#[derive(Debug)]
pub enum TextPlace<'a> {
    /// At the end of a record, padded to a multiple of so many bytes.
    Padded(&'a mut PaddedStr, usize),
    /// In a place of a fixed size.
    Fixed(&'a mut [u8]),
    /// In a feature.
    Feature(&'a mut PerfStr),
}

impl<'a> TextField<'a> {
    /// A field of that name.
    pub fn new(name: &'static str, text: impl Into<TextPlace<'a>>) -> Self {
        Self { name, place: text.into() }
    }

    /// The text, without NUL and padding.
    pub fn text(&self) -> &[u8] {
        match &self.place {
            TextPlace::Padded(text, _) => text.text(),
            TextPlace::Fixed(bytes) => until_nul(bytes),
            TextPlace::Feature(text) => text.text(),
        }
    }

    /// Replaces the text, and what follows it by the padding that perf and the kernel write.
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

/// A mapped file.
#[derive(Debug)]
pub struct MappingFields<'a> {
    /// Process; -1 for the kernel.
    pub pid: u32,
    /// First address.
    pub addr: &'a mut u64,
    /// Bytes.
    pub len: &'a mut u64,
    /// Offset in the file, or, of the kernel, the address of the reference symbol.
    pub pgoff: &'a mut u64,
    /// Path, or a name such as `[vdso]`.
    pub filename: TextField<'a>,
}

/// What identifies a file.
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

/// Bytes that can be cleared.
pub trait Clear {
    /// Replaces numbers by 0 and removes what is of variable length.
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

    #[test]
    fn a_text_is_replaced_with_the_padding_of_its_place() {
        let (mut padded, mut fixed, mut feature) =
            (PaddedStr::from(b"abc\0stale".to_vec()), FixedStr::<4>::new(b"abc"), PerfStr { bytes: b"abc".to_vec() });
        let fields = [TextPlace::from(&mut padded), TextPlace::from(&mut fixed), TextPlace::from(&mut feature)];
        for place in fields {
            let mut field = TextField::new("name", place);
            assert_eq!(field.text(), b"abc");
            field.set(b"longer");
        }
        assert_eq!((padded.as_bytes(), &fixed.0, feature), (&b"longer\0\0"[..], b"long", PerfStr::new(b"longer")));
    }

    #[test]
    fn a_number_of_a_process_has_the_width_of_its_field() {
        let (mut signed, mut wide, mut unsigned) = (-1_i32, -1_i64, u64::MAX);
        assert_eq!(TaskField::from(&mut signed).get(), Some(u32::MAX));
        assert_eq!((TaskField::from(&mut wide).get(), TaskField::from(&mut unsigned).get()), (None, None));
        TaskField::from(&mut wide).set(7);
        TaskField::from(&mut unsigned).set_none();
        assert_eq!((wide, unsigned), (7, u64::MAX));
    }
}
