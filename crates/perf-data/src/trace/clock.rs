//! The clock of a trace.

use crate::abi::record::time_conv::TimeConv;

/// Converts ticks of a hardware counter to nanoseconds of the recording's clock.
pub fn nanoseconds(conversion: &TimeConv, ticks: u64) -> u64 {
    let TimeConv { time_shift, time_mult, time_zero, short } = *conversion;
    let ticks = match short {
        // A short counter continues from the reference.
        Some(short) if short.cap_user_time_short != 0 => {
            short.time_cycles.wrapping_add(ticks.wrapping_sub(short.time_cycles) & short.time_mask)
        }
        _ => ticks,
    };
    let shift = time_shift.min(63) as u32;
    let (whole, rest) = (ticks >> shift, ticks & ((1 << shift) - 1));
    // The product of a remainder fits, and so does not wrap; the zero may be negative.
    time_zero.wrapping_add(whole.wrapping_mul(time_mult)).wrapping_add(rest.wrapping_mul(time_mult) >> shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::record::time_conv::TimeConvShort;

    #[test]
    fn scales_and_shifts() {
        let conversion = TimeConv { time_shift: 10, time_mult: 1024 * 4, time_zero: 7, short: None };
        assert_eq!(nanoseconds(&conversion, 1_000_000), 4_000_007);
        let negative = TimeConv { time_zero: 5_u64.wrapping_neg(), ..conversion };
        assert_eq!(nanoseconds(&negative, 10), 35);
        let odd = TimeConv { time_shift: u64::MAX, time_mult: u64::MAX, ..conversion };
        nanoseconds(&odd, u64::MAX);
    }

    #[test]
    fn a_short_counter_is_extended() {
        let short = TimeConvShort {
            time_cycles: 0x1_0000_0010,
            time_mask: 0xffff_ffff,
            cap_user_time_zero: 1,
            cap_user_time_short: 1,
            reserved: [0; 6],
        };
        let conversion = TimeConv { time_shift: 0, time_mult: 1, time_zero: 0, short: Some(short) };
        assert_eq!(nanoseconds(&conversion, 0x20), 0x1_0000_0020);
        assert_eq!(nanoseconds(&conversion, 0x8), 0x2_0000_0008);
    }
}
