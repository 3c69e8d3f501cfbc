//! Arrow's PyCapsule interface: tables in memory that other packages use without a copy.

use arrow_array::ffi::{FFI_ArrowSchema, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, Schema};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// A schema.
pub fn schema<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(invalid)?;
    PyCapsule::new(py, schema, Some(c"arrow_schema".into()))
}

/// A batch of rows: its schema, and its columns.
pub fn array<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    let (array, schema) = to_ffi(&StructArray::from(batch.clone()).to_data()).map_err(invalid)?;
    let schema = PyCapsule::new(py, schema, Some(c"arrow_schema".into()))?;
    Ok((schema, PyCapsule::new(py, array, Some(c"arrow_array".into()))?))
}

/// Batches that are produced as they are taken.
pub fn stream(py: Python<'_>, reader: impl RecordBatchReader + Send + 'static) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new(py, FFI_ArrowArrayStream::new(Box::new(reader)), Some(c"arrow_array_stream".into()))
}

fn invalid(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
