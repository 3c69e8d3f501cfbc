//! Texts of tracepoints.

use super::weight::event_roles::EventRoles;
use perf_data::stream::events::EventIndex;
use perf_data::stream::meta::Meta;
use perf_data::tracepoint::print_format::PrintedText;
use perf_data::tracepoint::tracepoints::Tracepoint;
use std::io::Write;

/// Prints the fields of tracepoints by the formats of the kernel. Functions are addresses, since these texts are made before symbols are
/// looked up.
#[derive(Debug, Default)]
pub(super) struct TracepointTexts {
    formats: EventRoles<Tracepoint>,
    /// The latest text (scratch buffers).
    printed: PrintedText,
    text: Vec<u8>,
}

impl TracepointTexts {
    /// The text of a sample with these raw bytes; `None` if its event is no tracepoint, or one without a format.
    pub(super) fn text(&mut self, meta: &Meta, index: EventIndex, raw: &[u8]) -> Option<&[u8]> {
        let Self { formats, printed, text } = self;
        formats.update(meta, |_, tracepoint| tracepoint.cloned());
        let tracepoint = formats.get(index)?;
        printed.text.clear();
        printed.functions.clear();
        tracepoint.print(raw, formats.strings(), printed);
        text.clear();
        let mut start = 0;
        for function in &printed.functions {
            text.extend_from_slice(&printed.text[start..function.at]);
            // Writing to a vector cannot fail.
            let _ = write!(text, "{:#x}", function.address);
            start = function.at;
        }
        text.extend_from_slice(&printed.text[start..]);
        Some(text)
    }
}
