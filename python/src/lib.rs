//! The native module of the Python package: reading of recordings. `perfconv/__init__.py` adds what the program does.

mod arrow;
mod background;
mod error;
mod recording;
mod records;
mod samples;

use pyo3::prelude::*;

/// Reading of recordings.
#[pymodule]
mod _perfconv {
    #[pymodule_export]
    use super::recording::{Recording, open};
    #[pymodule_export]
    use super::records::Records;
    #[pymodule_export]
    use super::samples::{Batch, Batches, Samples};
}
