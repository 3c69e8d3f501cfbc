//! Errors of the library as `perfconv.Error`.

use perfconv::{Error, ErrorKind};
use pyo3::prelude::*;

/// Converts an error.
pub fn to_python(py: Python<'_>, error: &Error) -> PyErr {
    let kind = match error.kind() {
        ErrorKind::Io => Some("io"),
        ErrorKind::Input => Some("input"),
        ErrorKind::Output => Some("output"),
        ErrorKind::OutputExists => Some("output_exists"),
        ErrorKind::NotFound => Some("not_found"),
        ErrorKind::Incompatible => Some("incompatible"),
        ErrorKind::InvalidRequest => Some("invalid_request"),
        ErrorKind::TooLarge => Some("too_large"),
        _ => None,
    };
    let class = py.import("perfconv._error").and_then(|module| module.getattr("Error"));
    match class.and_then(|class| class.call1((error.to_string(), kind, error.file(), error.offset()))) {
        Ok(value) => PyErr::from_value(value),
        Err(other) => other,
    }
}
