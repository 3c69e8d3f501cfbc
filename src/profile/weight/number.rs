//! Numeric fields of tracepoints.

use perf_data::abi::Endian;
use perf_data::tracepoint::field::Field;
use perf_data::tracepoint::tracepoints::Tracepoint;
use perf_data::tracepoint::value::FieldValue;

/// A numeric field of a tracepoint.
#[derive(Clone, Debug)]
pub(crate) struct NumberField {
    field: Field,
    endian: Endian,
}

impl NumberField {
    /// The field with this name.
    pub(crate) fn new(tracepoint: &Tracepoint, name: &str) -> Option<Self> {
        let field = tracepoint.fields.iter().find(|field| field.name == name)?.clone();
        Some(Self { field, endian: tracepoint.endian })
    }

    /// Its value in a payload; `None` if it is no number, or beyond the end.
    pub(crate) fn read(&self, payload: &[u8]) -> Option<i64> {
        match FieldValue::read(&self.field, payload, self.endian)? {
            FieldValue::Signed(number) => Some(number),
            FieldValue::Unsigned(number) | FieldValue::Pointer(number) => Some(number as i64),
            _ => None,
        }
    }
}
