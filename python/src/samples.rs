//! Samples as Arrow batches.

use crate::arrow;
use crate::background::Background;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::io;
use std::sync::{Arc, Mutex};

/// The samples of a recording, as an Arrow table.
///
/// It has the method ``__arrow_c_stream__``, for ``pyarrow.RecordBatchReader.from_stream``, ``polars.DataFrame``,
/// ``pandas.DataFrame.from_arrow`` and others. Iteration returns ``Batch`` objects, and raises ``Error`` and ``KeyboardInterrupt``.
#[pyclass(frozen, module = "perfconv")]
pub struct Samples {
    recording: Arc<perfconv::Recording>,
    /// Of the last complete reading.
    warnings: Warnings,
}

type Warnings = Arc<Mutex<Option<Vec<String>>>>;

impl Samples {
    /// The samples of a recording.
    pub fn new(recording: Arc<perfconv::Recording>) -> Self {
        Self { recording, warnings: Warnings::default() }
    }

    fn read(&self) -> Reading {
        Reading { recording: Arc::clone(&self.recording), warnings: Arc::clone(&self.warnings), work: None }
    }
}

#[pymethods]
impl Samples {
    fn __iter__(&self) -> Batches {
        Batches(self.read())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows any schema to be returned.
        let _ = requested_schema;
        arrow::stream(py, Stream(self.read()))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        arrow::schema(py, &perfconv::Recording::sample_schema())
    }

    /// What the last complete reading could not read, or the kernel lost; None before.
    #[getter]
    fn warnings(&self) -> Option<Vec<String>> {
        self.warnings.lock().expect("no holder of the lock panics").clone()
    }
}

/// A reading, which starts when its first batch is taken.
struct Reading {
    recording: Arc<perfconv::Recording>,
    warnings: Warnings,
    work: Option<Background<RecordBatch, Vec<String>>>,
}

impl Reading {
    fn next(&mut self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        let work = match &mut self.work {
            Some(work) => work,
            none => {
                let recording = Arc::clone(&self.recording);
                none.insert(Background::start(move |results| {
                    Ok(recording.sample_table(|rows| results.send(rows))?.warnings())
                })?)
            }
        };
        let batch = work.next(py)?;
        if batch.is_none()
            && let Some(warnings) = work.end(py)?
        {
            *self.warnings.lock().expect("no holder of the lock panics") = Some(warnings);
        }
        Ok(batch)
    }
}

/// Iterates over the samples in batches.
#[pyclass(module = "perfconv")]
pub struct Batches(Reading);

#[pymethods]
impl Batches {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Batch>> {
        Ok(self.0.next(py)?.map(Batch))
    }
}

/// Some of the samples, as an Arrow table: for ``pyarrow.record_batch``, ``polars.DataFrame`` and others.
#[pyclass(frozen, module = "perfconv")]
pub struct Batch(RecordBatch);

#[pymethods]
impl Batch {
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        arrow::array(py, &self.0)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        arrow::schema(py, &self.0.schema())
    }
}

/// Batches for a package that calls C functions, with or without the interpreter's lock, on any thread.
struct Stream(Reading);

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let ended = || Err(failed("the interpreter has ended".to_owned()));
        Python::try_attach(|py| self.0.next(py).map_err(|error| describe(py, &error))).unwrap_or_else(ended).transpose()
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        perfconv::Recording::sample_schema()
    }
}

/// The interface passes on a text, and that it is an error of reading. An interrupt is raised once the caller returns to Python.
fn describe(py: Python<'_>, error: &PyErr) -> ArrowError {
    let is_interrupt = error.is_instance_of::<PyKeyboardInterrupt>(py)
        && py.import("_thread").and_then(|module| module.call_method0("interrupt_main")).is_ok();
    failed(if is_interrupt { "interrupted".to_owned() } else { error.value(py).to_string() })
}

fn failed(message: String) -> ArrowError {
    ArrowError::IoError(message.clone(), io::Error::other(message))
}
