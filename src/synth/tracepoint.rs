//! Tracepoints: their formats, as tracefs would tell them.

use crate::abi::Endian;
use crate::abi::feature::tracing_data::{ByteOrder, TraceFile, TraceSystem, TracingData, TracingFiles};
use serde_json::Value;

/// What all tracepoints' samples begin with: `unsigned short common_type; unsigned char common_flags, common_preempt_count;
/// int common_pid`.
const COMMON: [(&str, u64, bool); 4] = [
    ("unsigned short common_type", 2, false),
    ("unsigned char common_flags", 1, false),
    ("unsigned char common_preempt_count", 1, false),
    ("int common_pid", 4, true),
];

/// How a page of the kernel's ring buffer begins, by which readers know that of the traced machine.
const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
     \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
     \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
     \tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";

/// A tracepoint: of which system, its name, and the fields of its samples' RAW bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracepoint {
    /// System, such as `sched`.
    pub system: String,
    /// Name, such as `sched_switch`.
    pub name: String,
    /// Its own fields, behind those that all have.
    pub fields: Vec<Field>,
    /// How they are printed, as with `printf`; else each with its name.
    pub print: Option<String>,
}

/// A field of a tracepoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// As in C: `int prev_pid`, `char prev_comm[16]`.
    pub declaration: String,
    /// Bytes that it takes.
    pub size: u64,
    /// Whether it is signed.
    pub signed: bool,
}

impl Tracepoint {
    /// Bytes of the fields that all tracepoints have.
    pub const COMMON_SIZE: u64 = 8;

    /// A tracepoint without fields of its own.
    pub fn new(system: impl Into<String>, name: impl Into<String>) -> Self {
        Self { system: system.into(), name: name.into(), fields: Vec::new(), print: None }
    }

    /// Adds a field behind those that are there.
    #[must_use]
    pub fn field(mut self, declaration: impl Into<String>, size: u64, signed: bool) -> Self {
        self.fields.push(Field { declaration: declaration.into(), size, signed });
        self
    }

    /// Bytes that a sample's fields take, those that all have among them.
    pub fn size(&self) -> u64 {
        self.fields.iter().fold(Self::COMMON_SIZE, |size, field| size + field.size)
    }

    /// The bytes of a sample: what all have, then the bytes of its own fields, and zeros, so that they take a multiple of 8
    /// together with the 4 bytes that tell how many they are.
    pub fn raw(id: u64, pid: u32, own: &[u8], endian: Endian) -> Vec<u8> {
        let (kind, pid) = match endian {
            Endian::Little => ((id as u16).to_le_bytes(), pid.to_le_bytes()),
            Endian::Big => ((id as u16).to_be_bytes(), pid.to_be_bytes()),
        };
        let mut raw = [&kind[..], &[0, 0], &pid, own].concat();
        raw.resize((raw.len() + 4).next_multiple_of(8) - 4, 0);
        raw
    }

    /// Its `format` file.
    fn format(&self, id: u64) -> String {
        let mut format = format!("name: {}\nID: {id}\nformat:\n", self.name);
        let mut offset = 0;
        let mut tell = |format: &mut String, declaration: &str, size: u64, signed: bool| {
            let signed = u8::from(signed);
            *format += &format!("\tfield:{declaration};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n");
            offset += size;
        };
        for (declaration, size, signed) in COMMON {
            tell(&mut format, declaration, size, signed);
        }
        format.push('\n');
        let (mut shown, mut arguments) = (Vec::new(), String::new());
        for field in &self.fields {
            let Field { declaration, size, signed } = field;
            tell(&mut format, declaration, *size, *signed);
            let array = declaration.split_once('[');
            let name = field.name();
            let how = match array {
                Some((head, _)) if head.starts_with("char") => "%s",
                _ if *signed => "%d",
                _ => "%u",
            };
            shown.push(format!("{name}={how}"));
            arguments += &format!(", REC->{name}");
        }
        let print = self.print.clone().unwrap_or_else(|| shown.join(" "));
        format + &format!("\nprint fmt: \"{print}\"{arguments}\n")
    }
}

impl Field {
    /// Its name.
    pub fn name(&self) -> &str {
        let head = self.declaration.split_once('[').map_or(&self.declaration[..], |(head, _)| head);
        head.rsplit([' ', '*']).next().unwrap_or(head)
    }

    /// The bytes of a value: a number, text in an array of `char`, or a list of numbers in one of others. `None` where the value
    /// is not of that kind or has no room.
    pub fn bytes(&self, value: &Value, endian: Endian) -> Option<Vec<u8>> {
        let count = self.declaration.strip_suffix(']').and_then(|text| text.split_once('['));
        let count: u64 = count.map_or(Some(1), |(_, count)| count.parse().ok())?;
        let each = self.size.checked_div(count)?;
        let number = |value: &Value| {
            let value = value.as_i64().map(i64::cast_unsigned).or_else(|| value.as_u64())?;
            let bits = u32::try_from(8 * each).ok().filter(|bits| (8..=64).contains(bits))?;
            let beyond = value.cast_signed().checked_shr(bits - u32::from(self.signed)).unwrap_or_default();
            let fits = bits == 64 || beyond == 0 || (self.signed && beyond == -1);
            let bytes = match endian {
                Endian::Little => value.to_le_bytes()[..each as usize].to_vec(),
                Endian::Big => value.to_be_bytes()[8 - each as usize..].to_vec(),
            };
            fits.then_some(bytes)
        };
        let mut bytes = match value {
            Value::String(text) if each == 1 && count > text.len() as u64 => text.clone().into_bytes(),
            Value::Array(values) if values.len() as u64 <= count => {
                values.iter().map(number).collect::<Option<Vec<_>>>()?.concat()
            }
            value => number(value)?,
        };
        bytes.resize(self.size as usize, 0);
        Some(bytes)
    }
}

/// The formats of tracepoints with their numbers, as feature TRACING_DATA has them.
pub fn tracing_data(tracepoints: &[(u64, &Tracepoint)], endian: Endian) -> TracingData {
    let mut systems: Vec<TraceSystem> = Vec::new();
    for (id, tracepoint) in tracepoints {
        let format = TraceFile { text: tracepoint.format(*id).into_bytes() };
        match systems.iter_mut().find(|system| system.name.to_string() == tracepoint.system) {
            Some(system) => system.formats.push(format),
            None => systems.push(TraceSystem { name: tracepoint.system.as_str().into(), formats: vec![format] }),
        }
    }
    let empty = || TraceFile { text: Vec::new() };
    TracingData {
        version: "0.6".into(),
        byte_order: ByteOrder(u8::from(endian == Endian::Big)),
        long_size: 8,
        files: TracingFiles {
            page_size: 0x1000,
            header_page: TraceFile { text: HEADER_PAGE.into() },
            header_event: empty(),
            ftrace: Vec::new(),
            systems,
            kallsyms: Vec::new(),
            printk_formats: Vec::new(),
            saved_cmdlines: Some(empty()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_read_as_it_was_meant() {
        let tracepoint = Tracepoint::new("sched", "sched_switch").field("char prev_comm[16]", 16, true).field(
            "unsigned int prev_pid",
            4,
            false,
        );
        let format = TraceFile { text: tracepoint.format(77).into_bytes() }.format().unwrap();
        let fields = format.common.iter().chain(&format.fields);
        let fields: Vec<_> = fields.map(|field| (&field.declaration[..], field.offset, field.size)).collect();
        assert_eq!((&format.name[..], format.id), ("sched_switch", 77));
        let own = [("char prev_comm[16]", 8, 16), ("unsigned int prev_pid", 24, 4)];
        assert_eq!((fields[3], &fields[4..]), (("int common_pid", 4, 4), &own[..]));
        assert_eq!(tracepoint.size(), 28);
        assert!(
            tracepoint.format(77).ends_with("print fmt: \"prev_comm=%s prev_pid=%u\", REC->prev_comm, REC->prev_pid\n")
        );
    }

    #[test]
    fn raw_bytes_begin_with_what_all_have() {
        let raw = Tracepoint::raw(0x102, 7, b"abc", Endian::Big);
        assert_eq!(raw, [&[1, 2, 0, 0, 0, 0, 0, 7][..], b"abc", &[0]].concat());
    }

    #[test]
    fn values_have_the_bytes_of_their_fields() {
        let field = |declaration: &str, size, signed| Field { declaration: declaration.to_owned(), size, signed };
        let bytes = |field: &Field, value: Value| field.bytes(&value, Endian::Little);
        assert_eq!(bytes(&field("char comm[4]", 4, true), "ab".into()), Some(b"ab\0\0".to_vec()));
        assert_eq!(bytes(&field("char comm[4]", 4, true), "abcd".into()), None);
        let number = field("int prev_pid", 4, true);
        assert_eq!(bytes(&number, (-2).into()), Some(vec![0xfe, 0xff, 0xff, 0xff]));
        assert_eq!((bytes(&number, 0x8000_0000_u64.into()), bytes(&number, "7".into())), (None, None));
        assert_eq!(field("u16 x[3]", 6, false).bytes(&vec![1, 2].into(), Endian::Big), Some(vec![0, 1, 0, 2, 0, 0]));
        assert_eq!(bytes(&field("u8 x", 1, false), 256.into()), None);
    }
}
