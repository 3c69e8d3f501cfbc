//! Recordings of `perf record` in browsers and Node.js. Nothing leaves the machine: there is no network and no file system.

use perf_data::error::Error;
use perfconv::Recording as NativeRecording;
use wasm_bindgen::prelude::{JsError, wasm_bindgen};

/// A recording.
#[wasm_bindgen]
pub struct Recording(NativeRecording);

#[wasm_bindgen]
impl Recording {
    /// Opens a recording, or a profile that perfconv imports. The name appears in messages.
    ///
    /// # Errors
    /// If it is neither.
    #[wasm_bindgen(constructor)]
    pub fn new(name: &str, bytes: Vec<u8>) -> Result<Self, JsError> {
        Ok(Self(NativeRecording::from_bytes(name, bytes).map_err(exception)?))
    }

    /// What `perfconv info --json` prints.
    ///
    /// # Errors
    /// If the recording cannot be read.
    pub fn info(&self) -> Result<String, JsError> {
        self.0.info_json().map_err(exception)
    }

    /// Converts to a format, by its name on the command line, such as `pprof` or `html`.
    ///
    /// # Errors
    /// If there is no such format, or the recording cannot be read.
    pub fn convert(&self, format: &str) -> Result<Vec<u8>, JsError> {
        let convert = self.0.convert().to_named(format).map_err(exception)?;
        let (bytes, _) = convert.into_bytes().map_err(exception)?;
        Ok(bytes)
    }
}

/// An error as an exception.
fn exception(error: Error) -> JsError {
    JsError::new(&error.to_string())
}
