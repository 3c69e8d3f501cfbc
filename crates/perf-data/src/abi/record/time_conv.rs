//! `PERF_RECORD_TIME_CONV`.

use super::RecordType;
use super::descriptor::{RecordDescriptor, RecordFlags};
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Conversion of hardware clock ticks to perf's nanoseconds: `time_zero + (ticks * time_mult >> time_shift)`. Since perf 4.7.
///
/// ```c
/// u64 time_shift, time_mult, time_zero;
/// u64 time_cycles, time_mask;                      // since perf 5.10
/// u8 cap_user_time_zero, cap_user_time_short;
/// u8 reserved[6];
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeConv {
    /// Shift in bits.
    pub time_shift: u64,
    /// Factor.
    pub time_mult: u64,
    /// Time at tick 0, in nanoseconds.
    pub time_zero: u64,
    /// Extension of a short clock.
    #[br(try)]
    pub short: Option<TimeConvShort>,
}

/// Extension of a clock with few bits.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeConvShort {
    /// Reference tick count.
    pub time_cycles: u64,
    /// Mask of the valid bits.
    pub time_mask: u64,
    /// Whether `time_zero` is valid.
    pub cap_user_time_zero: u8,
    /// Whether the clock needs extension.
    pub cap_user_time_short: u8,
    /// Unused.
    pub reserved: [u8; 6],
}

/// Descriptor of TIME_CONV.
pub const TIME_CONV: RecordDescriptor =
    RecordDescriptor::state(RecordType::TIME_CONV, (4, 3), 32).with(RecordFlags::NEEDED.union(RecordFlags::ONCE));

roles! { TimeConv { time_shift: number, time_mult: number, time_zero: clock_origin, short: fields } }

roles! {
    TimeConvShort {
        time_cycles: number,
        time_mask: number,
        cap_user_time_zero: number,
        cap_user_time_short: number,
        reserved: opaque,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes_of_the_short_and_the_long_form() {
        let mut conv = TimeConv { time_shift: 31, time_mult: 0x0123, time_zero: 1, short: None };
        let little = "1f00000000000000 2301000000000000 0100000000000000";
        let big = "000000000000001f 0000000000000123 0000000000000001";
        both_orders(&conv, (), little, big);
        conv.short = Some(TimeConvShort {
            time_cycles: 5,
            time_mask: 0xff,
            cap_user_time_zero: 1,
            cap_user_time_short: 2,
            reserved: [0; 6],
        });
        both_orders(
            &conv,
            (),
            &format!("{little} 0500000000000000 ff00000000000000 01 02 00 *6"),
            &format!("{big} 0000000000000005 00000000000000ff 01 02 00 *6"),
        );
    }
}
