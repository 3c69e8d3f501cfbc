//! Tracepoints with their formats, as in tracefs.

use perf_data::abi::Endian;
use perf_data::abi::feature::tracepoint_format::TracepointFormat;
use perf_data::abi::feature::tracing_data::{ByteOrder, TraceFile, TraceSystem, TracingData};
use serde_json::Value;

/// A tracepoint: system, name, and fields of the RAW bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracepoint {
    /// System, such as `sched`.
    pub system: String,
    /// Name, such as `sched_switch`.
    pub name: String,
    /// Its specific fields, after the common ones.
    pub fields: Vec<TracepointField>,
    /// printf format; by default, each field with its name.
    pub print: Option<String>,
}

/// A field of a tracepoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracepointField {
    /// C declaration: `int prev_pid`, `char prev_comm[16]`.
    pub declaration: String,
    /// Size in bytes.
    pub size: u64,
    /// Whether it is signed.
    pub signed: bool,
}

impl Tracepoint {
    /// Size of the common fields in bytes.
    pub const COMMON_SIZE: u64 = 8;

    /// A tracepoint without specific fields.
    pub fn new(system: impl Into<String>, name: impl Into<String>) -> Self {
        Self { system: system.into(), name: name.into(), fields: Vec::new(), print: None }
    }

    /// Appends a field.
    #[must_use]
    pub fn field(mut self, declaration: impl Into<String>, size: u64, signed: bool) -> Self {
        self.fields.push(TracepointField { declaration: declaration.into(), size, signed });
        self
    }

    /// Size of all fields, including the common ones.
    pub fn size(&self) -> u64 {
        self.fields.iter().fold(Self::COMMON_SIZE, |size, field| size + field.size)
    }

    /// RAW bytes of a sample: the common fields, then `own`, padded with zeros so that they take a multiple of 8 bytes together
    /// with their 4-byte size.
    pub fn raw(id: u64, pid: u32, own: &[u8], endian: Endian) -> Vec<u8> {
        let common = TracepointFormat::common_payload(id, pid, endian);
        let mut raw = [&common[..Self::COMMON_SIZE as usize], own].concat();
        raw.resize((raw.len() + 4).next_multiple_of(8) - 4, 0);
        raw
    }

    /// Its `format` file.
    fn format(&self, id: u64) -> TracepointFormat {
        let mut format = TracepointFormat::new(&self.name, id);
        let (mut shown, mut arguments) = (Vec::new(), String::new());
        for field in &self.fields {
            let TracepointField { declaration, size, signed } = field;
            format.fields.push(format.next_field(declaration, u32::try_from(*size).unwrap_or(u32::MAX), *signed));
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
        format.print_fmt = format!("\"{print}\"{arguments}");
        format
    }
}

impl TracepointField {
    /// Its name.
    pub fn name(&self) -> &str {
        let head = self.declaration.split_once('[').map_or(&self.declaration[..], |(head, _)| head);
        head.rsplit([' ', '*']).next().unwrap_or(head)
    }

    /// Encodes a value: an integer, a string for an array of `char`, or a list of integers for other arrays. `None` if it has the
    /// wrong type or is too large.
    pub(crate) fn bytes(&self, value: &Value, endian: Endian) -> Option<Vec<u8>> {
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

/// The formats of tracepoints with their IDs, as in the feature TRACING_DATA.
pub fn tracing_data(tracepoints: &[(u64, &Tracepoint)], endian: Endian) -> TracingData {
    let mut systems: Vec<TraceSystem> = Vec::new();
    for (id, tracepoint) in tracepoints {
        let format = TraceFile::from(&tracepoint.format(*id));
        match systems.iter_mut().find(|system| system.name.to_string() == tracepoint.system) {
            Some(system) => system.formats.push(format),
            None => systems.push(TraceSystem { name: tracepoint.system.as_str().into(), formats: vec![format] }),
        }
    }
    TracingData::new(ByteOrder(u8::from(endian == Endian::Big)), 8, 0x1000, systems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_can_be_parsed() {
        let tracepoint = Tracepoint::new("sched", "sched_switch").field("char prev_comm[16]", 16, true).field(
            "unsigned int prev_pid",
            4,
            false,
        );
        let format = TraceFile::from(&tracepoint.format(77)).format().unwrap();
        let fields = format.common.iter().chain(&format.fields);
        let fields: Vec<_> = fields.map(|field| (&field.declaration[..], field.offset, field.size)).collect();
        assert_eq!((&format.name[..], format.id), ("sched_switch", 77));
        let own = [("char prev_comm[16]", 8, 16), ("unsigned int prev_pid", 24, 4)];
        assert_eq!((fields[3], &fields[4..]), (("int common_pid", 4, 4), &own[..]));
        assert_eq!(tracepoint.size(), 28);
        assert_eq!(format.print_fmt, "\"prev_comm=%s prev_pid=%u\", REC->prev_comm, REC->prev_pid");
    }

    #[test]
    fn raw_bytes_begin_with_the_common_fields() {
        let raw = Tracepoint::raw(0x102, 7, b"abc", Endian::Big);
        assert_eq!(raw, [&[1, 2, 0, 0, 0, 0, 0, 7][..], b"abc", &[0]].concat());
    }

    #[test]
    fn encodes_values_by_field_type() {
        let field =
            |declaration: &str, size, signed| TracepointField { declaration: declaration.to_owned(), size, signed };
        let bytes = |field: &TracepointField, value: Value| field.bytes(&value, Endian::Little);
        assert_eq!(bytes(&field("char comm[4]", 4, true), "ab".into()), Some(b"ab\0\0".to_vec()));
        assert_eq!(bytes(&field("char comm[4]", 4, true), "abcd".into()), None);
        let number = field("int prev_pid", 4, true);
        assert_eq!(bytes(&number, (-2).into()), Some(vec![0xfe, 0xff, 0xff, 0xff]));
        assert_eq!((bytes(&number, 0x8000_0000_u64.into()), bytes(&number, "7".into())), (None, None));
        assert_eq!(field("u16 x[3]", 6, false).bytes(&vec![1, 2].into(), Endian::Big), Some(vec![0, 1, 0, 2, 0, 0]));
        assert_eq!(bytes(&field("u8 x", 1, false), 256.into()), None);
    }
}
