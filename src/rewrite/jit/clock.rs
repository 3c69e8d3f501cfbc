//! Converts the times of a jitdump to the recording's clock.

use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::jitdump::header::JitDumpHeader;
use perf_data::abi::record::time_conv::TimeConv;
use perf_data::stream::meta::Meta;

/// `CLOCK_MONOTONIC`.
const MONOTONIC: i32 = 1;

/// The conversion of a jitdump's times.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Clock {
    /// Both use CLOCK_MONOTONIC.
    Monotonic,
    /// CPU timestamps are converted to perf's clock.
    Ticks(TimeConv),
}

impl Clock {
    /// Determines the conversion for a jitdump in a recording.
    ///
    /// # Errors
    /// Fails if the clocks are incompatible; the message says what to do.
    pub(crate) fn new(header: &JitDumpHeader, meta: &Meta, conv: Option<TimeConv>) -> Result<Self, &'static str> {
        let clockid =
            |attr: &perf_data::abi::attr::Attr| attr.flags.contains(AttrFlags::USE_CLOCKID).then_some(attr.clockid);
        let mut clocks = meta.events.list().iter().map(|event| clockid(&event.attr));
        if header.flags & JitDumpHeader::ARCH_TIMESTAMP == 0 {
            let is_monotonic = clocks.all(|clock| clock == Some(MONOTONIC));
            let problem =
                "the jitdump uses CLOCK_MONOTONIC, but the recording does not; record with -k 1 (perf record -k mono)";
            return if is_monotonic { Ok(Self::Monotonic) } else { Err(problem) };
        }
        if clocks.any(|clock| clock.is_some()) {
            return Err("the jitdump uses CPU timestamps, but the recording uses another clock; record without -k");
        }
        conv.map(Self::Ticks)
            .ok_or("the jitdump uses CPU timestamps, but the recording has no TIME_CONV record to convert them")
    }

    /// Converts a time of the jitdump.
    pub(crate) fn time(&self, time: u64) -> u64 {
        match self {
            Self::Monotonic => time,
            Self::Ticks(conv) => nanoseconds(conv, time),
        }
    }
}

fn nanoseconds(conv: &TimeConv, mut ticks: u64) -> u64 {
    if let Some(short) = conv.short.filter(|short| short.cap_user_time_short != 0) {
        // The counter has fewer than 64 bits and may have wrapped: restores the bits above its mask.
        let elapsed = ticks.wrapping_sub(short.time_cycles) & short.time_mask;
        ticks = short.time_cycles.wrapping_add(elapsed);
    }
    // The product may exceed 64 bits.
    let shifted = u32::try_from(conv.time_shift)
        .ok()
        .and_then(|shift| (u128::from(ticks) * u128::from(conv.time_mult)).checked_shr(shift));
    conv.time_zero.wrapping_add(shifted.unwrap_or(0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_data::abi::record::time_conv::TimeConvShort;

    #[test]
    fn converts_ticks_to_nanoseconds() {
        let mut conv = TimeConv { time_shift: 10, time_mult: 512, time_zero: 1000, short: None };
        assert_eq!(nanoseconds(&conv, 4000), 3000);
        assert_eq!(nanoseconds(&conv, u64::MAX / 2), 1000 + u64::MAX / 4, "no overflow");
        let eight_bit_counter = |cap_user_time_short| TimeConvShort {
            time_cycles: 0x1f0,
            time_mask: 0xff,
            cap_user_time_zero: 1,
            cap_user_time_short,
            reserved: [0; 6],
        };
        conv.short = Some(eight_bit_counter(1));
        assert_eq!(nanoseconds(&conv, 0x10), 1000 + 0x210 / 2, "the clock has wrapped");
        conv.short = Some(eight_bit_counter(0));
        assert_eq!(nanoseconds(&conv, 0x10), 1000 + 0x10 / 2);
        conv.time_shift = u64::MAX;
        assert_eq!(nanoseconds(&conv, 7), 1000);
    }
}
