//! `PERF_RECORD_HEADER_TRACING_DATA`.

use binrw::binrw;

/// The formats of tracepoints follow the record, as they are in the feature TRACING_DATA; they are not counted in its
/// size.
///
/// ```c
/// u32 size; u32 pad;  // no pad before perf 6.12
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderTracingData {
    /// How many bytes follow, with their own padding to a multiple of 8.
    pub size: u32,
    /// Unused.
    #[br(try)]
    pub pad: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(&HeaderTracingData { size: 0x1234, pad: None }, (), "34120000", "00001234");
        both_orders(&HeaderTracingData { size: 0x1234, pad: Some(1) }, (), "34120000 01000000", "00001234 00000001");
    }
}
