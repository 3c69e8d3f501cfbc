//! The tracepoints of a recording.

use super::field::Field;
use super::value::Value;
use crate::abi::feature::tracepoint_format::TracepointFormat;
use crate::abi::feature::tracing_data::TracingData;
use crate::abi::{self, Endian};
use hashbrown::HashMap;

/// A tracepoint: what its samples' RAW bytes hold.
#[derive(Clone, Debug)]
pub struct Tracepoint {
    /// Its system, such as `sched`.
    pub system: String,
    /// Its name, such as `sched_switch`.
    pub name: String,
    /// Fields that all tracepoints have: `common_type`, `common_pid` and the like.
    pub common: Vec<Field>,
    /// Fields of its own.
    pub fields: Vec<Field>,
    /// How its fields are printed: a text with the arguments of printf(3).
    pub print_fmt: String,
    /// Byte order of the traced machine.
    pub endian: Endian,
}

impl Tracepoint {
    /// Its own fields in a payload, with their values; those that lie beyond its end are left out.
    pub fn values<'a>(&'a self, payload: &'a [u8]) -> impl Iterator<Item = (&'a Field, Value<'a>)> {
        self.fields.iter().filter_map(|field| Some((field, Value::read(field, payload, self.endian)?)))
    }
}

/// Tracepoints by their number: `config` of the event's attr.
#[derive(Clone, Debug, Default)]
pub struct Tracepoints {
    by_id: HashMap<u64, Tracepoint>,
}

impl Tracepoints {
    /// Reads tracing data: the content of the feature
    /// [`TRACING_DATA`](crate::abi::feature::FeatureId::TRACING_DATA), or what follows a HEADER_TRACING_DATA. What cannot
    /// be read of it is not there.
    pub fn read(tracing_data: &[u8]) -> Self {
        // The byte order is in the data themselves.
        match abi::parse::<TracingData>(tracing_data, Endian::Little, ()) {
            Ok((data, _)) => Self::new(&data),
            Err(_) => Self::default(),
        }
    }

    /// Takes the formats of tracing data that were read; those that are not written as the kernel does are left out.
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
        Self { by_id }
    }

    /// The tracepoint of that number.
    pub fn get(&self, config: u64) -> Option<&Tracepoint> {
        self.by_id.get(&config)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }
}

fn tracepoint(system: String, format: TracepointFormat, endian: Endian, long_size: usize) -> Tracepoint {
    let fields = |fields: &[_]| fields.iter().map(|field| Field::new(field, long_size)).collect();
    let (common, fields) = (fields(&format.common), fields(&format.fields));
    Tracepoint { system, name: format.name, common, fields, print_fmt: format.print_fmt, endian }
}
