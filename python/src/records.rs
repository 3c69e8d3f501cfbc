//! Records as dictionaries.

use crate::background::{Background, Results};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyList};
use std::io::{self, Write};
use std::sync::Arc;

/// Iterates over the records of a recording, in file order.
#[pyclass(module = "perfconv")]
pub struct Records {
    work: Background<Vec<u8>, ()>,
    /// The start of a line whose end has not been read.
    incomplete: Vec<u8>,
    /// The objects of the last lines.
    objects: Option<Py<PyIterator>>,
}

impl Records {
    /// Starts to read records.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn new(recording: Arc<perfconv::Recording>) -> io::Result<Self> {
        let work = Background::start(move |results| recording.write_json_lines(&mut Chunks(results)).map(|_| ()))?;
        Ok(Self { work, incomplete: Vec::new(), objects: None })
    }

    /// The objects of the next complete lines; `None` at the end.
    fn objects<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyIterator>>> {
        while let Some(chunk) = self.work.next(py)? {
            let Some(end) = chunk.iter().rposition(|&byte| byte == b'\n') else {
                self.incomplete.extend(chunk);
                continue;
            };
            let mut list = vec![b'['];
            list.append(&mut self.incomplete);
            list.extend(&chunk[..end]);
            self.incomplete.extend(&chunk[end + 1..]);
            // A line has no other line ends: they are escaped in texts.
            list.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b',');
            list.push(b']');
            let objects =
                py.import(intern!(py, "json"))?.call_method1(intern!(py, "loads"), (PyBytes::new(py, &list),))?;
            return Ok(Some(objects.cast::<PyList>()?.try_iter()?));
        }
        self.work.end(py)?;
        Ok(None)
    }
}

#[pymethods]
impl Records {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        loop {
            if let Some(objects) = &self.objects {
                for object in objects.bind(py).clone() {
                    let object = object?.cast_into::<PyDict>()?;
                    // Others are the header, events and features.
                    if object.contains(intern!(py, "record"))? {
                        return Ok(Some(object));
                    }
                }
            }
            match self.objects(py)? {
                Some(objects) => self.objects = Some(objects.unbind()),
                None => return Ok(None),
            }
        }
    }
}

/// Sends what is written.
struct Chunks(Results<Vec<u8>>);

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes.to_vec()).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
