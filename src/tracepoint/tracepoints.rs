//! The tracepoints of a recording.

use super::field::Field;
use super::value::Value;
use crate::abi::feature::tracepoint_format::TracepointFormat;
use crate::abi::feature::tracing_data::TracingData;
use crate::abi::{self, Endian};
use hashbrown::HashMap;

/// How many times a payload is told at most.
const SEVERAL: usize = 4;

/// Bytes that names may take beside that.
const NAMES: usize = 8 << 10;

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
    /// Its own fields in a payload, with their values; those that lie beyond its end are left out. Fields that lie in each
    /// other, which no kernel declares, could hold the payload any number of times: they end where it was told several times.
    pub fn values<'a>(&'a self, payload: &'a [u8]) -> impl Iterator<Item = (&'a Field, Value<'a>)> {
        let values = self.fields.iter().filter_map(|field| Some((field, Value::read(field, payload, self.endian)?)));
        let mut left = SEVERAL * payload.len() + NAMES;
        values.take_while(move |(field, value)| {
            let rest = left.checked_sub(field.name.len() + value.size());
            left = rest.unwrap_or(0);
            rest.is_some()
        })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracepoint::field::{Kind, Place};

    #[test]
    fn a_payload_is_told_several_times_at_most() {
        let field = |offset, size, kind| Field {
            name: "a".into(),
            type_name: "char".into(),
            place: Place::Here { offset, size },
            kind,
            is_signed: false,
        };
        let of = |fields| Tracepoint {
            system: "s".into(),
            name: "t".into(),
            common: Vec::new(),
            fields,
            print_fmt: String::new(),
            endian: Endian::Little,
        };
        let payload = vec![b'x'; 65_000];
        let told = |tracepoint: Tracepoint| tracepoint.values(&payload).count();
        assert_eq!(told(of(vec![field(0, 65_000, Kind::Text); 50_000])), SEVERAL);
        assert!(told(of(vec![field(0, 0, Kind::Text); 1_000_000])) <= SEVERAL * payload.len() + NAMES);
        assert_eq!(told(of((0..16_250).map(|at| field(4 * at, 4, Kind::Number(4))).collect())), 16_250);
    }
}
