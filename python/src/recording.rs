//! Recordings.

use crate::background::wait;
use crate::records::Records;
use crate::samples::Samples;
use perfconv::recording::{ReadOptions, SymbolOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

/// A recording. It can be read any number of times.
#[pyclass(frozen, module = "perfconv")]
pub struct Recording {
    path: PathBuf,
    inner: Arc<perfconv::Recording>,
}

#[pymethods]
impl Recording {
    /// The samples, in time order: an Arrow table that is read as it is consumed, anew each time.
    fn samples(&self) -> Samples {
        Samples::new(Arc::clone(&self.inner))
    }

    /// Iterates over the records, in file order: dictionaries as in ``perfconv -t jsonl``.
    fn records(&self) -> PyResult<Records> {
        Ok(Records::new(Arc::clone(&self.inner))?)
    }

    /// The object that ``perfconv info --json`` prints: header, features, events, build IDs and statistics.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let recording = Arc::clone(&self.inner);
        let text = wait(py, move || recording.info_json())?;
        py.import("json")?.call_method1("loads", (text,))
    }

    fn __repr__(&self) -> String {
        format!("<perfconv.Recording '{}'>", self.path.display())
    }
}

/// Opens a recording, or a file in another format that perfconv reads.
///
/// The options are those of the program. ``symbols="no"`` reads no object files: functions are unknown, and stack dumps are not
/// unwound. Raises ``Error`` if the file cannot be opened; one that is no recording is an
/// error when it is read.
#[pyfunction]
#[pyo3(signature = (
    path, *, symbols="auto", symfs=None, buildid_dir=None, debug_dir=None, vmlinux=None, kallsyms=None, no_inline=false,
    no_unwind=false, max_stack=None, spool_dir=None
))]
#[expect(clippy::too_many_arguments, reason = "they are keywords")]
pub fn open(
    py: Python<'_>,
    path: PathBuf,
    symbols: &str,
    symfs: Option<PathBuf>,
    buildid_dir: Option<PathBuf>,
    debug_dir: Option<PathBuf>,
    vmlinux: Option<PathBuf>,
    kallsyms: Option<PathBuf>,
    no_inline: bool,
    no_unwind: bool,
    max_stack: Option<NonZeroUsize>,
    spool_dir: Option<PathBuf>,
) -> PyResult<Recording> {
    type With<V> = fn(SymbolOptions, V) -> SymbolOptions;
    fn with<V>(options: SymbolOptions, value: Option<V>, with: With<V>) -> SymbolOptions {
        match value {
            Some(value) => with(options, value),
            None => options,
        }
    }
    if !["auto", "no", "force"].contains(&symbols) {
        let message = format!("symbols: unknown value '{symbols}'; expected one of: auto, no, force");
        return Err(PyValueError::new_err(message));
    }
    let set = |is_set: bool| is_set.then_some(());
    let mut options = SymbolOptions::default();
    options = with(options, symfs, |options, directory| options.symfs(directory));
    options = with(options, buildid_dir, SymbolOptions::build_id_dir);
    options = with(options, debug_dir, SymbolOptions::debug_dir);
    options = with(options, vmlinux, SymbolOptions::vmlinux);
    options = with(options, kallsyms, SymbolOptions::kallsyms);
    options = with(options, max_stack, SymbolOptions::max_stack);
    options = with(options, set(symbols == "force"), |options, ()| options.allow_mismatched_files());
    options = with(options, set(no_inline), |options, ()| options.without_inlined());
    options = with(options, set(no_unwind), |options, ()| options.without_unwinding());
    let read = ReadOptions::default().with_spool_dir(spool_dir);
    let opened = path.clone();
    let recording = wait(py, move || perfconv::Recording::open_with(opened, read))?;
    let recording = if symbols == "no" { recording } else { recording.with_symbols(options) };
    Ok(Recording { path, inner: Arc::new(recording) })
}
