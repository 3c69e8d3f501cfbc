//! Durations in scenarios: a number with a unit.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;

/// Nanoseconds, written as `2s`, `10ms`, `500us` or `7ns`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Time(pub u64);

/// Units in nanoseconds.
const UNITS: [(&str, u64); 5] =
    [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000)];

impl Time {
    fn parse(text: &str) -> Option<Self> {
        let digits = text.find(|letter: char| !letter.is_ascii_digit())?;
        let (number, unit) = text.split_at(digits);
        let (_, nanoseconds) = UNITS.iter().find(|(name, _)| *name == unit)?;
        number.parse::<u64>().ok()?.checked_mul(*nanoseconds).map(Self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        let error = || {
            D::Error::custom(format_args!("'{text}' is not a duration; expected for instance 2s, 10ms, 500us or 7ns"))
        };
        Self::parse(&text).ok_or_else(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_a_number_with_a_unit() {
        assert_eq!(Time::parse("2s"), Some(Time(2_000_000_000)));
        assert_eq!(Time::parse("7ns"), Some(Time(7)));
        for text in ["", "2", "s", "-1s", "1.5s", "2 s", "2h", "99999999999999s"] {
            assert_eq!(Time::parse(text), None, "{text:?}");
        }
    }
}
