//! Formats of tracepoints, as far as perf needs them to read events whose samples have no raw data any more: that there are
//! such events, and how they are called.

use super::replace::Replace;
use super::what::What;
use crate::abi;
use crate::abi::Endian;
use crate::abi::feature::tracing_data::{ByteOrder, TraceFile, TraceSystem, TracingData, TracingFiles};
use crate::container::write::encoded;
use crate::error::Result;
use binrw::NullString;

/// What is behind the name and the number of a tracepoint: the fields that all have.
pub const FORMAT: &str = "\
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

print fmt: \"\"
";

/// How a page of the ring buffer begins, where words have 8 bytes and where they have 4: perf reads on only if it is told.
pub const HEADER_PAGE: [&str; 2] = [
    "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n",
    "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n",
];

/// The layout that is written: the first one with names of threads behind it, of which there are none.
const VERSION: &str = "0.6";

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
        let nothing = || TraceFile { text: Vec::new() };
        let mut systems = Vec::new();
        for system in &data.files.systems {
            for format in system.formats.iter().filter_map(TraceFile::format) {
                let whole = [&system.name[..], b":", format.name.as_bytes()].concat();
                let stays = self.is_common_event(&whole, true);
                let named = |name: &[u8]| if stays { name.to_vec() } else { self.names.name(name) };
                let name = named(format.name.as_bytes());
                let text = [b"name: ", &name[..], format!("\nID: {}\n{FORMAT}", format.id).as_bytes()].concat();
                systems.push(TraceSystem { name: NullString(named(&system.name)), formats: vec![TraceFile { text }] });
            }
        }
        let files = TracingFiles {
            page_size: data.files.page_size,
            header_page: TraceFile { text: HEADER_PAGE[usize::from(data.long_size == 4)].into() },
            header_event: nothing(),
            ftrace: Vec::new(),
            systems,
            kallsyms: Vec::new(),
            printk_formats: Vec::new(),
            saved_cmdlines: Some(nothing()),
        };
        let byte_order = ByteOrder(data.byte_order.is_big().into());
        let data = TracingData { version: VERSION.into(), byte_order, long_size: data.long_size, files };
        encoded(abi::to_bytes(&data, Endian::Little)).map(Some)
    }
}
