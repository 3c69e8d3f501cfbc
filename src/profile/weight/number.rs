//! Numeric fields of tracepoints.

use perf_data::abi::Endian;
use perf_data::tracepoint::field::{Field, FieldLocation, TracepointKind};
use perf_data::tracepoint::tracepoints::Tracepoint;
use perf_data::tracepoint::value::FieldValue;

/// A numeric field of a tracepoint.
#[derive(Clone, Debug)]
pub(crate) struct NumberField {
    /// Of a plain number: its offset, and whether it has 8 bytes instead of 4. Others are decoded by their description, which takes
    /// several times as long.
    plain: Option<(usize, bool)>,
    field: Field,
    endian: Endian,
}

impl NumberField {
    /// The field with this name.
    pub(crate) fn new(tracepoint: &Tracepoint, name: &str) -> Option<Self> {
        let field = tracepoint.fields.iter().find(|field| field.name == name)?.clone();
        let is_number = matches!(field.kind, TracepointKind::Number(_)) && tracepoint.endian == Endian::Little;
        let plain = match field.location {
            FieldLocation::Here { offset, size: 4 } if is_number && field.is_signed => Some((offset, false)),
            FieldLocation::Here { offset, size: 8 } if is_number => Some((offset, true)),
            _ => None,
        };
        Some(Self { plain, field, endian: tracepoint.endian })
    }

    /// Its value in a payload; `None` if it is no number, or beyond the end.
    #[inline]
    pub(crate) fn read(&self, payload: &[u8]) -> Option<i64> {
        match self.plain {
            Some((offset, true)) => Some(i64::from_le_bytes(*payload.get(offset..)?.first_chunk()?)),
            Some((offset, false)) => Some(i32::from_le_bytes(*payload.get(offset..)?.first_chunk()?).into()),
            None => self.read_described(payload),
        }
    }

    fn read_described(&self, payload: &[u8]) -> Option<i64> {
        match FieldValue::read(&self.field, payload, self.endian)? {
            FieldValue::Signed(number) => Some(number),
            FieldValue::Unsigned(number) | FieldValue::Pointer(number) => Some(number as i64),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_data::abi::feature::tracing_data::TracingData;
    use perf_data::tracepoint::tracepoints::Tracepoints;

    fn tracepoint(endian: Endian) -> Tracepoint {
        let tracepoint = crate::synth::Tracepoint::new("sched", "test");
        let tracepoint = tracepoint.field("int a", 4, true).field("u32 b", 4, false).field("long c", 8, true);
        let tracepoint = tracepoint.field("u64 d", 8, false).field("short e", 2, true).field("char f[4]", 4, false);
        let data: TracingData = crate::synth::tracing_data(&[(7, &tracepoint)], endian);
        let bytes = perf_data::abi::to_bytes(&data, endian).expect("bytes");
        Tracepoints::read(&bytes).get(7).expect("the tracepoint").clone()
    }

    #[test]
    fn plain_numbers_are_those_of_the_description() {
        let payload: Vec<u8> = (0..60_u8).map(|byte| byte.wrapping_mul(37) | 0x80).collect();
        for endian in [Endian::Little, Endian::Big] {
            let tracepoint = tracepoint(endian);
            for name in ["a", "b", "c", "d", "e", "f"] {
                let field = NumberField::new(&tracepoint, name).expect("a field");
                for len in 0..payload.len() {
                    assert_eq!(field.read(&payload[..len]), field.read_described(&payload[..len]), "{name} {len}");
                }
            }
        }
    }
}
