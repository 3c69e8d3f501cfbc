//! Writing of containers from events, records and features.

pub(crate) mod compressing;
pub mod envelope;
pub mod file;
pub mod frames;
mod gzip;
pub mod pipe;

use crate::error::{Error, Result};

/// Bytes of a structure encoded to memory. A value that the format cannot represent is an error.
pub fn encoded(bytes: binrw::BinResult<Vec<u8>>) -> Result<Vec<u8>> {
    bytes.map_err(|e| Error::Output(std::io::Error::new(std::io::ErrorKind::InvalidData, e.to_string())))
}
