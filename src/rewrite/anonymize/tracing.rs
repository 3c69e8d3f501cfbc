//! Anonymizes tracepoint formats: keeps names, IDs and the common fields; the samples lose all other fields too.

use super::category::Category;
use super::replace::Replacer;
use binrw::NullString;
use perf_data::abi;
use perf_data::abi::Endian;
use perf_data::abi::feature::tracepoint_format::TracepointFormat;
use perf_data::abi::feature::tracing_data::{ByteOrder, TraceFile, TraceSystem, TracingData};
use perf_data::container::write::encoded;
use perf_data::error::Result;

/// A marker in the formats of probes, and of probes only.
const PROBE_MARKER: &[u8] = b"__probe_";

impl Replacer {
    /// Collects the tracepoints that are user-defined probes.
    pub(crate) fn collect_tracepoints(&mut self, bytes: &[u8]) {
        let Ok((data, _)) = abi::parse::<TracingData>(bytes, Endian::Little, ()) else { return };
        for system in &data.files.systems {
            for file in &system.formats {
                let is_probe = file.text.windows(PROBE_MARKER.len()).any(|text| text == PROBE_MARKER);
                if let Some(format) = file.format().filter(|_| is_probe) {
                    self.probes.insert(format.id);
                    self.probe_names.insert([&system.name[..], b":", format.name.as_bytes()].concat());
                }
            }
        }
    }

    /// Anonymizes the tracepoint formats; `None` if they are malformed.
    ///
    /// # Errors
    /// None in practice: writing to memory does not fail.
    pub(crate) fn tracing_data(&mut self, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        if !self.replaces(Category::Raw) {
            return Ok(Some(bytes.to_vec()));
        }
        let Ok((data, _)) = abi::parse::<TracingData>(bytes, Endian::Little, ()) else { return Ok(None) };
        encoded(abi::to_bytes(&self.formats(&data), Endian::Little)).map(Some)
    }

    /// The formats without their own fields, and with custom names replaced.
    pub(super) fn formats(&mut self, data: &TracingData) -> TracingData {
        let mut systems = Vec::new();
        for system in &data.files.systems {
            for format in system.formats.iter().filter_map(TraceFile::format) {
                let full_name = [&system.name[..], b":", format.name.as_bytes()].concat();
                let is_kept = self.is_common_event(&full_name, true);
                let named = |name: &[u8]| if is_kept { name.to_vec() } else { self.names.name(name) };
                let name = named(format.name.as_bytes());
                let format = TracepointFormat::new(String::from_utf8_lossy(&name), format.id);
                systems.push(TraceSystem { name: NullString(named(&system.name)), formats: vec![(&format).into()] });
            }
        }
        let byte_order = ByteOrder(data.byte_order.is_big().into());
        TracingData::new(byte_order, data.long_size, data.files.page_size, systems)
    }
}
