//! Formats of tracepoints without their own fields, which their samples lose: names, numbers and the fields that all
//! tracepoints have.

use super::category::What;
use super::replace::Replace;
use crate::abi;
use crate::abi::Endian;
use crate::abi::feature::tracepoint_format::TracepointFormat;
use crate::abi::feature::tracing_data::{ByteOrder, TraceFile, TraceSystem, TracingData};
use crate::container::write::encoded;
use crate::error::Result;
use binrw::NullString;

/// What the kernel gives all probes, and nothing else.
const OF_PROBES: &[u8] = b"__probe_";

impl Replace {
    /// Takes note of the tracepoints that are probes of one's own.
    pub fn know_tracepoints(&mut self, bytes: &[u8]) {
        let Ok((data, _)) = abi::parse::<TracingData>(bytes, Endian::Little, ()) else { return };
        for system in &data.files.systems {
            for file in &system.formats {
                let is_probe = file.text.windows(OF_PROBES.len()).any(|text| text == OF_PROBES);
                if let Some(format) = file.format().filter(|_| is_probe) {
                    self.probes.insert(format.id);
                    self.probe_names.insert([&system.name[..], b":", format.name.as_bytes()].concat());
                }
            }
        }
    }

    /// What takes the place of the formats; nothing where they cannot be read.
    ///
    /// # Errors
    /// None in practice: the bytes go to memory.
    pub fn tracing_data(&mut self, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        if !self.replaces(What::Raw) {
            return Ok(Some(bytes.to_vec()));
        }
        let Ok((data, _)) = abi::parse::<TracingData>(bytes, Endian::Little, ()) else { return Ok(None) };
        encoded(abi::to_bytes(&self.formats(&data), Endian::Little)).map(Some)
    }

    /// The same formats without the fields of their own, under names that are no one's own.
    pub(super) fn formats(&mut self, data: &TracingData) -> TracingData {
        let mut systems = Vec::new();
        for system in &data.files.systems {
            for format in system.formats.iter().filter_map(TraceFile::format) {
                let whole = [&system.name[..], b":", format.name.as_bytes()].concat();
                let stays = self.is_common_event(&whole, true);
                let named = |name: &[u8]| if stays { name.to_vec() } else { self.names.name(name) };
                let name = named(format.name.as_bytes());
                let format = TracepointFormat::new(String::from_utf8_lossy(&name), format.id);
                systems.push(TraceSystem { name: NullString(named(&system.name)), formats: vec![(&format).into()] });
            }
        }
        let byte_order = ByteOrder(data.byte_order.is_big().into());
        TracingData::new(byte_order, data.long_size, data.files.page_size, systems)
    }
}
