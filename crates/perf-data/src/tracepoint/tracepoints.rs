//! The tracepoints of a recording.

use super::event_header::{self, EventHeader};
use super::expression::Payload;
use super::field::{Field, FieldLocation, TracepointKind};
use super::print_format::{KernelStrings, PrintFormat, PrintedText};
use super::value::FieldValue;
use crate::abi::feature::tracepoint_format::TracepointFormat;
use crate::abi::feature::tracing_data::TracingData;
use crate::abi::{self, Endian};
use hashbrown::HashMap;
use std::io::Write;

/// Limit on the total size of values, as a multiple of the payload: fields of a hostile format can all cover the same bytes.
const MAX_REPEATS: usize = 4;

/// Additional allowance for field names, in bytes.
const NAME_ALLOWANCE: usize = 8 << 10;

/// A tracepoint: the layout of the RAW bytes of its samples.
#[derive(Clone, Debug)]
pub struct Tracepoint {
    /// Its system, such as `sched`.
    pub system: String,
    /// Its name, such as `sched_switch`.
    pub name: String,
    /// Fields common to all tracepoints: `common_type`, `common_pid` and so on.
    pub common: Vec<Field>,
    /// Its specific fields.
    pub fields: Vec<Field>,
    /// Format for printing: a printf(3) format with arguments.
    pub print_fmt: String,
    /// The same, parsed; `None` if it has parts that are not understood.
    format: Option<PrintFormat>,
    /// Common and specific fields, to which the format refers.
    all: Vec<Field>,
    /// Byte order of the traced machine.
    pub endian: Endian,
}

impl Tracepoint {
    /// Its specific fields in a payload, with their values. Fields beyond the end are skipped. Overlapping fields, which no
    /// kernel declares, could multiply the payload; iteration ends at a limit on the total size.
    pub fn values<'a>(&'a self, payload: &'a [u8]) -> impl Iterator<Item = (&'a Field, FieldValue<'a>)> {
        let values = self.fields.iter().filter_map(|field| Some((field, self.value(field, payload)?)));
        let mut left = MAX_REPEATS * payload.len() + NAME_ALLOWANCE;
        values.take_while(move |(field, value)| {
            let rest = left.checked_sub(field.name.len() + value.size());
            left = rest.unwrap_or(0);
            rest.is_some()
        })
    }

    fn value<'a>(&'a self, field: &Field, payload: &'a [u8]) -> Option<FieldValue<'a>> {
        match field.kind {
            TracepointKind::EventHeader => self.event_header(payload).map(FieldValue::EventHeader),
            _ => FieldValue::read(field, payload, self.endian),
        }
    }

    /// The fields in a payload that describe themselves. `None` if the tracepoint has none, or the payload is damaged.
    pub fn event_header<'a>(&'a self, payload: &'a [u8]) -> Option<EventHeader<'a>> {
        let field = self.fields.last().filter(|field| field.kind == TracepointKind::EventHeader)?;
        let FieldLocation::Here { offset, .. } = field.location else { return None };
        EventHeader::new(&self.name, payload.get(offset..)?)
    }

    /// Appends a payload as text by the print format, as perf does. If the format is not understood, appends the fields.
    pub fn print(&self, payload: &[u8], strings: &KernelStrings, printed: &mut PrintedText) {
        if let Some(format) = &self.format {
            return format.print(Payload { fields: &self.all, bytes: payload, endian: self.endian }, strings, printed);
        }
        let out = &mut printed.text;
        out.extend_from_slice(b"[FAILED TO PARSE]");
        for (field, value) in self.values(payload) {
            // Writing to a vector cannot fail.
            let _ = match value {
                FieldValue::Unsigned(number) if field.type_name.contains("long") => {
                    write!(out, " {}={number:#x}", field.name)
                }
                value => write!(out, " {}={value}", field.name),
            };
        }
    }
}

/// Tracepoints by ID, which is the `config` of the attr.
#[derive(Clone, Debug, Default)]
pub struct Tracepoints {
    by_id: HashMap<u64, Tracepoint>,
    strings: KernelStrings,
}

impl Tracepoints {
    /// Decodes tracing data: the feature
    /// [`TRACING_DATA`](crate::abi::feature::FeatureId::TRACING_DATA), or the payload of a HEADER_TRACING_DATA. Invalid parts are
    /// skipped.
    pub fn read(tracing_data: &[u8]) -> Self {
        // The byte order is stored in the data.
        match abi::parse::<TracingData>(tracing_data, Endian::Little, ()) {
            Ok((data, _)) => Self::new(&data),
            Err(_) => Self::default(),
        }
    }

    /// Takes the formats of decoded tracing data. Formats that are not in the kernel's syntax are skipped.
    pub fn new(data: &TracingData) -> Self {
        let endian = if data.byte_order.is_big() { Endian::Big } else { Endian::Little };
        let long_size = usize::from(data.long_size);
        let mut by_id = HashMap::new();
        for system in &data.files.systems {
            for format in system.formats.iter().filter_map(|file| file.format()) {
                let name = String::from_utf8_lossy(&system.name).into_owned();
                by_id.insert(format.id, tracepoint(name, format, endian, long_size));
            }
        }
        Self { by_id, strings: kernel_strings(&data.files.printk_formats) }
    }

    /// Strings of the kernel by address.
    pub fn strings(&self) -> &KernelStrings {
        &self.strings
    }

    /// The tracepoint with this ID.
    pub fn get(&self, config: u64) -> Option<&Tracepoint> {
        self.by_id.get(&config)
    }

    /// Whether there are no tracepoints.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }
}

/// The lines `0xffffffff82a1b2c3 : "text\n"` of `printk_formats`. As in perf, a line end is omitted.
fn kernel_strings(lines: &[u8]) -> KernelStrings {
    let line = |line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        let (address, text) = line.split_once(':')?;
        let address = u64::from_str_radix(address.trim().trim_start_matches("0x"), 16).ok()?;
        let text = text.strip_prefix(' ').unwrap_or(text);
        let text = text.strip_prefix('"').unwrap_or(text);
        let text = text.strip_suffix('"').unwrap_or(text);
        Some((address, text.strip_suffix("\\n").unwrap_or(text).as_bytes().to_vec()))
    };
    lines.split(|&byte| byte == b'\n').filter_map(line).collect()
}

fn tracepoint(system: String, format: TracepointFormat, endian: Endian, long_size: usize) -> Tracepoint {
    let fields = |fields: &[_]| fields.iter().map(|field| Field::new(field, long_size)).collect();
    let (common, mut fields): (Vec<_>, Vec<_>) = (fields(&format.common), fields(&format.fields));
    let all = [&common[..], &fields].concat();
    fields.extend(event_header(&fields));
    let parsed = PrintFormat::parse(&format.print_fmt, &all, endian, long_size);
    Tracepoint { system, name: format.name, common, fields, print_fmt: format.print_fmt, format: parsed, all, endian }
}

/// The field for the fields that describe themselves, if the declared ones are an [`event_header`].
fn event_header(fields: &[Field]) -> Option<Field> {
    let first = fields.first().filter(|field| field.name == event_header::FIRST_FIELD)?;
    Some(Field {
        name: event_header::NAME.to_owned(),
        type_name: String::new(),
        location: first.location,
        kind: TracepointKind::EventHeader,
        is_signed: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_fields_are_limited() {
        let field = |offset, size, kind| Field {
            name: "a".into(),
            type_name: "char".into(),
            location: FieldLocation::Here { offset, size },
            kind,
            is_signed: false,
        };
        let of = |fields| Tracepoint {
            system: "s".into(),
            name: "t".into(),
            common: Vec::new(),
            fields,
            print_fmt: String::new(),
            format: None,
            all: Vec::new(),
            endian: Endian::Little,
        };
        let payload = vec![b'x'; 65_000];
        let count = |tracepoint: Tracepoint| tracepoint.values(&payload).count();
        assert_eq!(count(of(vec![field(0, 65_000, TracepointKind::Text); 50_000])), MAX_REPEATS);
        assert!(
            count(of(vec![field(0, 0, TracepointKind::Text); 1_000_000]))
                <= MAX_REPEATS * payload.len() + NAME_ALLOWANCE
        );
        assert_eq!(count(of((0..16_250).map(|at| field(4 * at, 4, TracepointKind::Number(4))).collect())), 16_250);
    }
}
