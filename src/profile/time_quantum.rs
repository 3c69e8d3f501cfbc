//! The time that samples are grouped by.

use crate::quantity::{TIME_UNITS, scaled};
use std::str::FromStr;

/// An interval to the start of which times are rounded down, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeQuantum {
    /// At least 1.
    nanoseconds: u64,
}

impl TimeQuantum {
    /// The start of the interval that a time is in.
    pub(crate) fn start(self, time: u64) -> u64 {
        time - time % self.nanoseconds
    }
}

/// 0.1 s, as in perf.
impl Default for TimeQuantum {
    fn default() -> Self {
        Self { nanoseconds: 100_000_000 }
    }
}

/// A number with a unit: `10ms`.
impl FromStr for TimeQuantum {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let nanoseconds = scaled(text, &TIME_UNITS).ok_or("expected a time such as 1s, 10ms or 500us")?;
        Ok(Self { nanoseconds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_down() {
        assert_eq!(TimeQuantum::default().start(1_299_999_999), 1_200_000_000);
        assert_eq!("2.5ms".parse::<TimeQuantum>().map(|quantum| quantum.start(7_499_999)), Ok(5_000_000));
        for text in ["", "0s", "1", "s", "-1s"] {
            assert!(text.parse::<TimeQuantum>().is_err(), "{text}");
        }
    }
}
